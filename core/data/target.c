/* SPDX-License-Identifier: Apache-2.0
 * The target column (CONTRACT 9.3): class names in their order and a label a row, or a binary32 value a row. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "core/data/dress.h"
#include "core/data/schema.h"
#include "determinism/decimal.h"

static rp_status fail_cell(const rp_cells *cells, size_t row, size_t col, const char *expected, const char *advice)
{
    const char *text = cells->table->cell[row * cells->table->cols + col];
    char label[RP_LABEL_SIZE], quoted[64];

    return rp_fail(cells->err, RP_EDATA, "%s:%zu: target %s: expected %s, found \"%s\"; %s", cells->where,
                   cells->table->line[row], rp_column_label(label, sizeof label, cells->table, col), expected,
                   rp_printable(quoted, sizeof quoted, text, strlen(text)), advice);
}

static rp_status fail_value(const rp_cells *cells, size_t row, size_t col, const char *text)
{
    char keys[RP_DRESS_KEYS], advice[RP_DRESS_KEYS + 32];
    rp_dress_seen seen = {0};

    if (rp_dress_look(text, &seen) != RP_LOOK_NUMBER)
        return fail_cell(cells, row, col, "a finite binary32 number", "correct the cell");
    snprintf(advice, sizeof advice, "to read it as one: %s", rp_dress_keys(keys, sizeof keys, &seen));
    return fail_cell(cells, row, col, "a number", advice);
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Equal numbers spelt differently are different classes, told apart by their bytes. */
static int compare_numbers(const void *a, const void *b)
{
    const char *x = *(const char *const *)a, *y = *(const char *const *)b;
    double u = 0, v = 0;

    rp_parse_f64(&u, x, strlen(x));
    rp_parse_f64(&v, y, strlen(y));
    return u < v ? -1 : u > v ? 1 : strcmp(x, y);
}

/* Distinct cell texts in ascending bytes: a sorted array with the repeats squeezed out. */
static rp_status distinct_texts(const rp_cells *cells, size_t col, const char ***out, size_t *count)
{
    const rp_table *table = cells->table;
    const char **text = rp_reallocarray(NULL, table->rows, sizeof *text);
    size_t n = 0;

    if (text == NULL)
        return rp_no_memory(cells->err);
    for (size_t row = 0; row < table->rows; row++)
        text[row] = table->cell[row * table->cols + col];
    qsort(text, table->rows, sizeof *text, compare_texts);
    for (size_t i = 0; i < table->rows; i++)
        if (i == 0 || strcmp(text[i], text[n - 1]) != 0)
            text[n++] = text[i];
    *out = text;
    *count = n;
    return RP_OK;
}

static rp_status check_classes(const rp_cells *cells, size_t col, const char *const *text, size_t count)
{
    char label[RP_LABEL_SIZE], quoted[64];

    rp_column_label(label, sizeof label, cells->table, col);
    if (count == 1)
        return rp_fail(cells->err, RP_EDATA,
                       "%s: target %s: expected two classes or more, found only \"%s\"; check "
                       "data.target",
                       cells->where, label, rp_printable(quoted, sizeof quoted, text[0], strlen(text[0])));
    if (count > RP_CLASSES_MAX)
        return rp_fail(cells->err, RP_EDATA,
                       "%s: target %s: expected at most %d classes, found %zu; is it a regression "
                       "(train.task)?",
                       cells->where, label, RP_CLASSES_MAX, count);
    if (count > 2 && cells->recipe->train.loss == RP_LOSS_BCE)
        return rp_fail(cells->err, RP_EARG,
                       "%s: key train.loss: bce expects two classes, found %zu in target %s; use "
                       "auto or cross_entropy",
                       cells->where, count, label);
    if (count > 2 && cells->recipe->data.positive != NULL)
        return rp_fail(cells->err, RP_EARG,
                       "%s: key data.positive: expects two classes, found %zu in target %s; remove "
                       "it",
                       cells->where, count, label);
    return RP_OK;
}

static rp_status move_positive_last(const rp_cells *cells, const char **name)
{
    const char *positive = cells->recipe->data.positive, *first = name[0];
    char a[64], b[64], c[64];

    if (positive == NULL || strcmp(positive, name[1]) == 0)
        return RP_OK;
    if (strcmp(positive, first) != 0)
        return rp_fail(cells->err, RP_EARG, "%s: key data.positive: expected \"%s\" or \"%s\", found \"%s\"",
                       cells->where, rp_printable(a, sizeof a, name[0], strlen(name[0])),
                       rp_printable(b, sizeof b, name[1], strlen(name[1])),
                       rp_printable(c, sizeof c, positive, strlen(positive)));
    name[0] = name[1];
    name[1] = first;
    return RP_OK;
}

static rp_status order_classes(const rp_cells *cells, const char *const *text, size_t count, rp_target *out)
{
    bool numbers = true;
    double value;

    out->class_name = rp_reallocarray(NULL, count, sizeof *out->class_name);
    if (out->class_name == NULL)
        return rp_no_memory(cells->err);
    memcpy(out->class_name, text, count * sizeof *text);
    out->classes = count;
    for (size_t i = 0; i < count; i++)
        numbers = numbers && rp_parse_f64(&value, text[i], strlen(text[i])) && value - value == 0;
    if (numbers)
        qsort(out->class_name, count, sizeof *out->class_name, compare_numbers);
    return count == 2 ? move_positive_last(cells, out->class_name) : RP_OK;
}

static rp_status label_rows(const rp_cells *cells, size_t col, const char *const *text, size_t count, rp_target *out)
{
    const rp_table *table = cells->table;
    int64_t class_of[RP_CLASSES_MAX];

    out->label = rp_reallocarray(NULL, table->rows, sizeof *out->label);
    if (out->label == NULL)
        return rp_no_memory(cells->err);
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < count; k++)
            if (strcmp(text[i], out->class_name[k]) == 0)
                class_of[i] = (int64_t)k;
    for (size_t row = 0; row < table->rows; row++) {
        const char *const *found =
            bsearch(&table->cell[row * table->cols + col], text, count, sizeof *text, compare_texts);

        out->label[row] = class_of[found - text];
    }
    return RP_OK;
}

static rp_status read_classes(const rp_cells *cells, size_t col, rp_target *out)
{
    const char **text = NULL;
    size_t count = 0;
    rp_status status = distinct_texts(cells, col, &text, &count);

    if (status == RP_OK)
        status = check_classes(cells, col, text, count);
    if (status == RP_OK)
        status = order_classes(cells, text, count, out);
    if (status == RP_OK)
        status = label_rows(cells, col, text, count, out);
    rp_free(text);
    return status;
}

static rp_status read_values(const rp_cells *cells, size_t col, rp_target *out)
{
    const rp_table *table = cells->table;

    out->value = rp_reallocarray(NULL, table->rows, sizeof *out->value);
    if (cells->recipe->train.exact)
        out->wide = rp_reallocarray(NULL, table->rows, sizeof *out->wide);
    if (out->value == NULL || (cells->recipe->train.exact && out->wide == NULL))
        return rp_no_memory(cells->err);
    for (size_t row = 0; row < table->rows; row++) {
        const char *text = table->cell[row * table->cols + col];

        if (!rp_number_f32(&cells->recipe->data.reading, text, strlen(text), &out->value[row], NULL) ||
            out->value[row] - out->value[row] != 0)
            return fail_value(cells, row, col, text);
        if (out->wide != NULL) /* finite, as it is in binary32 */
            (void)rp_number_f64(&cells->recipe->data.reading, text, strlen(text), &out->wide[row], NULL);
    }
    return RP_OK;
}

rp_status rp_target_read(const rp_cells *cells, size_t target, rp_target *out)
{
    const rp_table *table = cells->table;
    rp_status status;

    memset(out, 0, sizeof *out);
    for (size_t row = 0; row < table->rows; row++)
        if (rp_cell_missing(cells->recipe, table->cell[row * table->cols + target]))
            return fail_cell(cells, row, target, "a value", "it means missing: fill it in or remove the row");
    status = cells->recipe->train.regression ? read_values(cells, target, out) : read_classes(cells, target, out);
    if (status != RP_OK)
        rp_target_clear(out);
    return status;
}

void rp_target_clear(rp_target *target)
{
    rp_free(target->class_name);
    rp_free(target->label);
    rp_free(target->value);
    rp_free(target->wide);
    memset(target, 0, sizeof *target);
}
