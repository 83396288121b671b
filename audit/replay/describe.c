/* SPDX-License-Identifier: Apache-2.0
 * What a table holds before anything is learnt from it: of a recipe's table, or of a CSV that no recipe speaks of yet.
 */
#include <string.h>

#include "audit/drive/arrays.h"
#include "audit/drive/recipe_files.h"
#include "audit/replay/replay.h"
#include "base/file.h"
#include "base/handle.h"
#include "base/json.h"
#include "base/memory.h"
#include "core/data/later/test_table.h"
#include "core/data/profile/profile.h"

static const char plain[] = "reprise: 1\ndata: {csv: a, target: 0}\n";

typedef struct description {
    rp_recipe *recipe;
    rp_buffer csv;
    char *where;
    rp_table *table;
    rp_json *profile;
    bool by_recipe;
    const char *path; /* of recipe or table */
} description;

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);

    return n >= m && strcmp(text + n - m, end) == 0;
}

static rp_status load(description *d, const char *path, const rp_job_options *options, rp_error *err)
{
    rp_status status;

    d->path = path;
    d->by_recipe = ends_with(path, ".yaml") || ends_with(path, ".yml") || ends_with(path, ".json");
    if (d->by_recipe) {
        status = rp_recipe_load(path, &d->recipe, &d->where, err);
        if (status == RP_OK && d->recipe->text.path)
            status = rp_fail(err, RP_EUNSUPPORTED,
                             "%s: key data.text: a text has no columns to tell of: reprise run trains on it", path);
        if (status == RP_OK && options)
            status = rp_recipe_keep(options->parts, path, d->recipe, d->where, err);
        if (status == RP_OK && options && options->parts && strcmp(d->where, "-") == 0)
            status = rp_fail(err, RP_EARG,
                             "%s: key data.csv: expected a file, found -: standard input is read once, and parts and "
                             "what is told of the table want it twice; save it first",
                             path);
    } else {
        status = rp_recipe_from_yaml(&d->recipe, plain, sizeof plain - 1, path, err);
        d->where = rp_strdup(path);
        if (status == RP_OK && !d->where)
            status = rp_no_memory(err);
    }
    return status == RP_OK ? rp_recipe_stream(d->recipe, path, d->where, options, rp_buffer_take, &d->csv, err)
                           : status;
}

static rp_status look_at_test(description *d, const rp_dataset *dataset, const rp_job_options *options, rp_error *err)
{
    const rp_table_bytes own = {d->csv.data, d->csv.size, d->where};
    char *path = rp_recipe_table_path(d->path, d->recipe, d->recipe->data.test_csv);
    rp_buffer test = {0};
    rp_status status = path ? rp_table_stream(options, path, rp_buffer_take, &test, err) : rp_no_memory(err);

    if (status == RP_OK)
        status = rp_test_table_check(dataset, d->recipe, &own, &(rp_table_bytes){test.data, test.size, path}, err);
    rp_buffer_free(&test);
    rp_free(path);
    return status;
}

/* What only preparation sees: how rows were divided and what they weigh, and the test table. */
static rp_status take_findings(description *d, const rp_dataset *dataset)
{
    static const char *const codes[] = {"dropped_rows", "hidden_rows",     "split_share", "mean_weight",
                                        "set_aside",    "test_unfiltered", "test_seen",   "test_hidden",
                                        "flat",         "faint",           "time_cut",    "pooled"};
    rp_json *finding;
    size_t i;

    rp_json_array_foreach (rp_json_object_get(dataset->profile, "findings"), i, finding) {
        const char *code = rp_json_string_value(rp_json_object_get(finding, "code"));

        for (size_t k = 0; code && k < sizeof codes / sizeof *codes; k++)
            if (strcmp(code, codes[k]) == 0 &&
                rp_json_array_append(rp_json_object_get(d->profile, "findings"), finding) != 0)
                return RP_ENOMEM;
    }
    return RP_OK;
}

/* Why a run would be refused: the words of the first error that preparation meets. */
static rp_status put_refusal(description *d, const rp_job_options *options, rp_error *err)
{
    rp_dataset *dataset = NULL;
    rp_error refusal = {0};
    rp_json *words = NULL;
    rp_status status = RP_OK;

    if (d->by_recipe)
        status = rp_dataset_prepare(&dataset, d->recipe, d->csv.data, d->csv.size, d->where,
                                    &(rp_table_options){.pool = NULL}, &refusal);
    if (status == RP_OK && d->by_recipe && d->recipe->data.test_csv)
        status = look_at_test(d, dataset, options, &refusal);
    if (dataset != NULL && take_findings(d, dataset) != RP_OK)
        status = RP_ENOMEM;
    if (dataset != NULL &&
        rp_json_object_set(d->profile, "quality", rp_json_object_get(dataset->profile, "quality")) != 0)
        status = RP_ENOMEM;
    rp_dataset_free(dataset);
    if (status == RP_ENOMEM)
        return rp_no_memory(err);
    words = status == RP_OK ? rp_json_null() : rp_json_string(refusal.text);
    return rp_json_object_set_new(d->profile, "error", words) ? rp_no_memory(err) : RP_OK;
}

static rp_status describe(description *d, const char *path, const rp_job_options *options, rp_buffer *out,
                          rp_error *err)
{
    rp_cells cells = {.err = err};
    size_t target = SIZE_MAX;
    rp_status status = load(d, path, options, err);

    if (status == RP_OK)
        status = rp_table_open(&d->table, d->csv.data, d->csv.size, d->recipe, d->where, err);
    cells.recipe = d->recipe;
    cells.table = d->table;
    cells.where = d->where;
    if (status == RP_OK && d->by_recipe)
        (void)rp_dates_declare(&cells, d->table); /* what is wrong there preparation says */
    if (status == RP_OK && d->by_recipe && rp_column_find(&cells, &d->recipe->data.target, "data.target", &target))
        target = SIZE_MAX; /* preparation says the same: it becomes "error" */
    if (status == RP_OK)
        status = rp_profile_load(d->table, d->recipe, target, err);
    if (status == RP_OK)
        status = rp_profile_table(&d->profile, &cells, NULL, target);
    if (status == RP_OK)
        status = put_refusal(d, options, err);
    if (status == RP_OK)
        status = rp_profile_tell(out, d->profile, err);
    rp_buffer_u8(out, 0);
    return status == RP_OK ? rp_buffer_status(out, err) : status;
}

static void clear(description *d)
{
    rp_json_free(d->profile);
    rp_table_free(d->table);
    rp_buffer_free(&d->csv);
    rp_free(d->where);
    rp_recipe_free(d->recipe);
}

rp_status rp_describe_data(const char *path, const rp_job_options *options, char **json, rp_error *err)
{
    description d = {.recipe = NULL};
    rp_buffer out = {0};
    rp_status status = path ? describe(&d, path, options, &out, err) : rp_no_value(err, __func__, "path");

    *json = NULL;
    if (status == RP_OK)
        *json = (char *)out.data;
    else
        rp_buffer_free(&out);
    clear(&d);
    return status;
}

/* ---- rows by part ---- */

enum { LEFT_OUT, TRAINS, VALIDATES, TESTS };

static void mark(unsigned char *part, const int64_t *row, size_t rows, unsigned char as)
{
    for (size_t i = 0; i < rows; i++)
        part[row[i]] = as;
}

/* Rows and their lines in one walk: to ask for each row's line would read its chunk again for each. */
static rp_status write_rows(const description *d, const unsigned char *part, rp_buffer *out, rp_error *err)
{
    static const char *const names[] = {"left_out", "train", "validation", "test"};
    size_t line = 1, counted = 0;
    rp_csv rows = {.in = NULL};
    rp_status status = rp_table_rows(&rows, d->table, err);

    rp_buffer_text(out, "row,line,part\n");
    for (size_t row = 0; row < d->table->rows && status == RP_OK; row++) {
        (void)rp_csv_more(&rows);
        line += rp_csv_count(rows.in + counted, rows.at - counted, '\n');
        counted = rows.at;
        rp_buffer_printf(out, "%zu,%zu,%s\n", row, line, names[part[row]]);
        status = rp_csv_row(&rows);
    }
    rp_csv_close(&rows);
    rp_buffer_u8(out, 0);
    return status == RP_OK ? rp_buffer_status(out, err) : status;
}

static rp_status write_parts(const description *d, const rp_dataset *dataset, rp_buffer *out, rp_error *err)
{
    unsigned char *part = rp_calloc(d->table->rows, 1);
    rp_status status;

    if (!part)
        return rp_no_memory(err);
    mark(part, dataset->train_row, dataset->train_rows, TRAINS);
    mark(part, dataset->valid_row, dataset->valid_rows, VALIDATES);
    mark(part, dataset->test_row, dataset->test_rows, TESTS);
    status = write_rows(d, part, out, err);
    rp_free(part);
    return status;
}

static rp_status divide(description *d, const char *path, const rp_job_options *options, rp_buffer *out, rp_error *err)
{
    rp_dataset *dataset = NULL;
    rp_status status = load(d, path, options, err);

    if (status == RP_OK && !d->by_recipe)
        status =
            rp_fail(err, RP_EARG, "%s: parts are a recipe's: expected a name that ends in .yaml, .yml or .json", path);
    if (status == RP_OK)
        status = rp_table_open(&d->table, d->csv.data, d->csv.size, d->recipe, d->where, err);
    if (status == RP_OK) /* all rows, so that a row's place is its number in the file */
        status = rp_profile_load(d->table, d->recipe, SIZE_MAX, err);
    if (status == RP_OK)
        status = rp_dataset_prepare(&dataset, d->recipe, d->csv.data, d->csv.size, d->where,
                                    &(rp_table_options){.pool = NULL}, err);
    if (status == RP_OK)
        status = write_parts(d, dataset, out, err);
    rp_dataset_free(dataset);
    return status;
}

rp_status rp_describe_parts(const char *path, const rp_job_options *options, char **csv, rp_error *err)
{
    description d = {.recipe = NULL};
    rp_buffer out = {0};
    rp_status status = path ? divide(&d, path, options, &out, err) : rp_no_value(err, __func__, "path");

    *csv = NULL;
    if (status == RP_OK)
        *csv = (char *)out.data;
    else
        rp_buffer_free(&out);
    clear(&d);
    return status;
}
