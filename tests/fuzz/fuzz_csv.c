/* SPDX-License-Identifier: Apache-2.0
 * libFuzzer entry: the first byte chooses a recipe, the rest is the CSV. What can be prepared can be encoded again as
 * new rows, to the same bits; counts have the same outcomes as those of later rows. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "core/data/dataset.h"
#include "core/data/later/written.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const yaml[] = {
    "reprise: 1\ndata: {csv: a, target: 0, header: false, train_on_all: true}\ntrain: {batch: 1}\n",
    "reprise: 1\ndata: {csv: a, target: y, train_on_all: true}\ntrain: {batch: 1}\n",
    "reprise: 1\ndata: {csv: a, target: 1, delimiter: ;, folds: 2}\ntrain: {batch: 1}\n",
    ("{reprise: 1, data: {csv: a, target: 0, header: false, folds: 2, standardize: false},"
     " train: {batch: 1, task: regression}}"),
    ("{reprise: 1, data: {csv: a, target: 0, header: false, train_on_all: true, delimiter: ;, decimal: ',',"
     " thousands: ., strip: true, prefix: [$, EUR], suffix: '%'}, train: {batch: 1, task: regression}}"),
    ("{reprise: 1, data: {csv: a, target: y, folds: 2, thousands: ',', strip: true, suffix: [kg, g], missing: [x]},"
     " train: {batch: 1}}"),
    ("{reprise: 1, data: {csv: a, target: 1, header: false, train_on_all: true,"
     " columns: {0: {bins: monotonic, woe: true}}}, train: {batch: 1}}"),
    ("{reprise: 1, data: {csv: a, target: 1, header: false, train_on_all: true,"
     " columns: {0: {rare: 0.3, woe: true}}, interactions: [[0, 0]]}, train: {batch: 1}}"),
    ("{reprise: 1, data: {csv: a, target: 1, header: false, train_on_all: true, missing_numeric: median,"
     " columns: {0: {cap: [0.1, 0.9], log: true, indicator: true}}}, train: {batch: 1}}"),
    ("{reprise: 1, data: {csv: a, target: 1, header: false, train_on_all: true, comment: '#', skip_lines: 1,"
     " missing_target: drop, where: [{column: 0, is: '!=', value: 3}, {column: 1, is: present}]}, train: {batch: 1}}"),
    "{reprise: 1, data: {csv: a, target: 0, header: false, train_on_all: true, encoding: utf-16}, train: {batch: 1}}",
    ("{reprise: 1, data: {csv: a, target: 1, header: false, train_on_all: true, columns: {0: {kind: date,"
     " parts: [days, weekday, seconds], missing: median}, 4: categorical, 2: {kind: date, format: '%d.%b %y'}},"
     " where: [{column: 2, is: '<', value: 2060-01-01}]}, train: {batch: 1}}"),
};

/* Of the first byte n: successes of trials. */
static const char counts[] =
    "{reprise: 1, data: {csv: a, header: false, target: 1, denominator: 2, train_on_all: true, missing_target: drop},"
    " train: {task: regression, family: binomial}}";

/* All rows that were kept are known again, and no other. */
static void read_again(const rp_dataset *dataset, const rp_recipe *recipe, const void *csv, size_t size)
{
    rp_written *texts = NULL;
    rp_error err;
    size_t rows, known_rows = 0;
    double *value;
    bool *known;

    if (rp_written_open(&texts, dataset->schema, recipe, csv, size, "fuzz", &err) != RP_OK ||
        rp_written_load(texts, NULL, &err) != RP_OK)
        abort();
    rows = rp_written_rows(texts);
    value = rp_calloc(rows + 1, sizeof *value);
    known = rp_calloc(rows + 1, sizeof *known);
    if (!value || !known || rp_written_outcomes(texts, NULL, 0, NULL, value, known, &err) != RP_OK)
        abort();
    for (size_t i = 0; i < rows; i++)
        known_rows += known[i];
    for (size_t i = 0; i < dataset->train_rows; i++)
        if (!known[dataset->train_row[i]] || value[dataset->train_row[i]] != dataset->train_target[i] ||
            !(dataset->train_wide_weight[i] >= 1) || !(value[dataset->train_row[i]] <= 1))
            abort();
    if (known_rows != dataset->train_rows)
        abort();
    rp_free(value);
    rp_free(known);
    rp_written_free(texts);
}

static void encode_again(const rp_dataset *dataset, const rp_recipe *recipe, const void *csv, size_t size)
{
    size_t width = dataset->schema->features * sizeof(float);
    rp_error err;
    rp_rows *rows;
    float *x = rp_malloc(width);

    if (recipe->data.reading.n_where > 0) { /* rows that it leaves out may hold what no column takes */
        rp_free(x);
        return;
    }
    if (!x || rp_rows_open(&rows, dataset->schema, recipe, csv, size, "fuzz", NULL, &err) != RP_OK)
        abort();
    for (size_t i = 0; i < dataset->train_rows; i++)
        if (rp_rows_encode(rows, (size_t)dataset->train_row[i], 1, x, &err) != RP_OK ||
            memcmp(x, (char *)dataset->train_x + i * width, width) != 0)
            abort();
    rp_rows_free(rows);
    rp_free(x);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    rp_recipe *recipe = NULL;
    rp_dataset *dataset = NULL;
    const char *text;
    rp_error err;

    if (size == 0)
        return 0;
    text = data[0] == 'n' ? counts : yaml[data[0] % (sizeof yaml / sizeof *yaml)];
    if (rp_recipe_from_yaml(&recipe, text, strlen(text), "fuzz", &err) != RP_OK)
        abort();
    if (rp_dataset_prepare(&dataset, recipe, data + 1, size - 1, "fuzz", &(rp_table_options){.pool = NULL}, &err) ==
        RP_OK)
        (recipe->train.exact ? read_again : encode_again)(dataset, recipe, data + 1, size - 1);
    rp_dataset_free(dataset);
    rp_recipe_free(recipe);
    return 0;
}
