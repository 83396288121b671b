/* SPDX-License-Identifier: Apache-2.0
 * The target column (CONTRACT 9.3): class names in their order and a label a row, or a binary32 value a row. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "core/data/text/dress.h"
#include "core/data/schema.h"
#include "determinism/decimal.h"

static rp_status fail_cell(const rp_cells *cells, size_t row, size_t col, const char *expected, const char *advice)
{
    char label[RP_LABEL_SIZE], quoted[RP_QUOTED_SIZE];

    return rp_fail(cells->err, RP_EDATA, "%s:%zu: target %s: expected %s, found \"%s\"; %s", cells->where,
                   rp_table_line(cells->table, row), rp_column_label(label, sizeof label, cells->table, col), expected,
                   rp_cell_quoted(quoted, sizeof quoted, cells->table, row, col), advice);
}

static rp_status fail_value(const rp_cells *cells, size_t row, size_t col)
{
    char keys[RP_DRESS_KEYS], advice[RP_DRESS_KEYS + 32], text[RP_QUOTED_SIZE];
    rp_dress_seen seen = {0};

    rp_table_text(cells->table, row, col, text, sizeof text);
    if (rp_dress_look(text, &seen) != RP_LOOK_NUMBER)
        return fail_cell(cells, row, col, "a finite binary32 number",
                         "correct the cell, or train: {task: classification} if the target names classes");
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

/* Distinct cell texts in ascending bytes. */
static rp_status distinct_texts(const rp_cells *cells, size_t col, const char ***out, size_t *count)
{
    const rp_dictionary *words = &cells->table->column[col].words;
    const char **text = rp_reallocarray(NULL, words->count, sizeof *text);

    if (text == NULL)
        return rp_no_memory(cells->err);
    for (size_t i = 0; i < words->count; i++)
        text[i] = words->word[i].at;
    qsort(text, words->count, sizeof *text, compare_texts);
    *out = text;
    *count = words->count;
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

static rp_status label_rows(const rp_cells *cells, size_t col, rp_target *out)
{
    const rp_table *table = cells->table;
    const rp_word *word = table->column[col].words.word;
    int64_t class_of[RP_CLASSES_MAX];
    uint32_t code[RP_BLOCK];

    out->label = rp_reallocarray(NULL, table->rows, sizeof *out->label);
    if (out->label == NULL)
        return rp_no_memory(cells->err);
    for (size_t i = 0; i < out->classes; i++)
        for (size_t k = 0; k < out->classes; k++)
            if (word[i].at == out->class_name[k])
                class_of[i] = (int64_t)k;
    for (size_t row = 0; row < table->rows; row += RP_BLOCK) {
        size_t n = table->rows - row < RP_BLOCK ? table->rows - row : RP_BLOCK;

        rp_table_codes(table, col, row, n, code);
        for (size_t i = 0; i < n; i++)
            out->label[row + i] = class_of[code[i]];
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
        status = label_rows(cells, col, out);
    rp_free(text);
    return status;
}

static rp_status read_values(const rp_cells *cells, size_t col, rp_target *out)
{
    const rp_table *table = cells->table;
    const rp_tally *text = &table->column[col].sort[RP_SORT_TEXT], *odd = &table->column[col].sort[RP_SORT_NOT_FINITE];

    if (text->count > 0 && (odd->count == 0 || text->first < odd->first))
        return fail_value(cells, text->first, col);
    if (odd->count > 0)
        return fail_value(cells, odd->first, col);
    out->value = rp_reallocarray(NULL, table->rows, sizeof *out->value);
    if (cells->recipe->train.exact)
        out->wide = rp_reallocarray(NULL, table->rows, sizeof *out->wide);
    if (out->value == NULL || (cells->recipe->train.exact && out->wide == NULL))
        return rp_no_memory(cells->err);
    rp_table_floats(table, col, 0, table->rows, out->value);
    if (out->wide != NULL) /* finite, as it is in binary32 */
        rp_table_numbers(table, col, 0, table->rows, out->wide);
    return cells->recipe->data.denominator.given ? rp_counts_read(cells, col, out) : RP_OK;
}

rp_status rp_target_read(const rp_cells *cells, size_t target, rp_target *out)
{
    const rp_tally *missing = &cells->table->column[target].sort[RP_SORT_MISSING];
    rp_status status;

    memset(out, 0, sizeof *out);
    if (missing->count > 0)
        return fail_cell(
            cells, missing->first, target, "a value",
            "it means missing: fill it in, remove the row, or data.missing_target: drop leaves such rows out");
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
    rp_free(target->trials);
    memset(target, 0, sizeof *target);
}
