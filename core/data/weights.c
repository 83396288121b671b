/* SPDX-License-Identifier: Apache-2.0
 * What rows count in the loss (CONTRACT 9.10): a column's number times the weight of the row's class, of counts times
 * the row's trials; brought to mean 1 in each part, so that learning rates keep their meaning, or as given where the
 * minimum itself is computed. */
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "core/data/schema.h"
#include "determinism/sum.h"

/* Of an exact fit: below it sums of weights times features have lost digits, and their reciprocals overflow. */
#define LEAST_TOTAL 0x1p-1000

typedef struct weights {
    const rp_cells *cells;
    const rp_target *target;
    size_t col;    /* SIZE_MAX: no column */
    double *class; /* [classes]; NULL: classes weigh alike */
} weights;

static rp_status fail_cell(const weights *w, size_t row)
{
    char label[RP_LABEL_SIZE], quoted[RP_QUOTED_SIZE];
    const rp_table *table = w->cells->table;

    return rp_fail(w->cells->err, RP_EDATA,
                   "%s:%zu: weight %s: expected a finite number from 0, found \"%s\"; correct the cell, or leave out "
                   "data.weight",
                   w->cells->where, rp_table_line(table, row), rp_column_label(label, sizeof label, table, w->col),
                   rp_cell_quoted(quoted, sizeof quoted, table, row, w->col));
}

/* Numbers in all rows, of no part too. */
static rp_status check_column(const weights *w)
{
    static const rp_cell_sort wrong[] = {RP_SORT_MISSING, RP_SORT_NOT_FINITE, RP_SORT_TEXT};
    const rp_tally *sort = w->cells->table->column[w->col].sort;
    size_t row = SIZE_MAX;

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (sort[wrong[i]].count > 0 && sort[wrong[i]].first < row)
            row = sort[wrong[i]].first;
    return row == SIZE_MAX ? RP_OK : fail_cell(w, row);
}

/* value[0..n): of the rows. */
static rp_status weigh_rows(const weights *w, const int64_t *row, size_t n, double *value)
{
    for (size_t i = 0; i < n; i++)
        value[i] = 1;
    if (w->col != SIZE_MAX)
        rp_table_numbers_of(w->cells->table, w->col, row, n, value);
    for (size_t i = 0; i < n; i++) {
        if (value[i] < 0)
            return fail_cell(w, (size_t)row[i]);
        if (w->class != NULL)
            value[i] *= w->class[w->target->label[row[i]]];
        if (w->target->trials != NULL)
            value[i] *= w->target->trials[row[i]];
    }
    return RP_OK;
}

/* n / (k n_c): k classes have training rows, n_c of the n are of this one. */
static rp_status balance(weights *w, const rp_dataset *d)
{
    size_t classes = w->target->classes, present = 0;
    size_t *count = rp_calloc(classes, sizeof *count);

    if (count == NULL)
        return rp_no_memory(w->cells->err);
    for (size_t i = 0; i < d->train_rows; i++)
        count[w->target->label[d->train_row[i]]]++;
    for (size_t c = 0; c < classes; c++)
        present += count[c] > 0;
    for (size_t c = 0; c < classes; c++)
        w->class[c] = count[c] > 0 ? (double)d->train_rows / (double)(present * count[c]) : 1;
    rp_free(count);
    return RP_OK;
}

static rp_status take_given(weights *w)
{
    const rp_recipe *recipe = w->cells->recipe;

    for (size_t c = 0; c < w->target->classes; c++)
        w->class[c] = 1;
    for (size_t i = 0; i < recipe->train.n_class_weights; i++) {
        const rp_class_weight *given = &recipe->train.class_weight[i];
        char quoted[64];
        size_t c = 0;

        while (c < w->target->classes && strcmp(w->target->class_name[c], given->name) != 0)
            c++;
        if (c == w->target->classes)
            return rp_fail(w->cells->err, RP_EARG,
                           "%s: key train.class_weights: the target has no class \"%s\"; its first is \"%.*s\"",
                           w->cells->where, rp_printable(quoted, sizeof quoted, given->name, strlen(given->name)),
                           rp_fits(w->target->class_name[0], 64), w->target->class_name[0]);
        w->class[c] = given->weight;
    }
    return RP_OK;
}

static rp_status weigh_classes(weights *w, const rp_dataset *d)
{
    const rp_recipe *recipe = w->cells->recipe;

    if (!recipe->train.balanced && recipe->train.n_class_weights == 0)
        return RP_OK;
    w->class = rp_calloc(w->target->classes, sizeof *w->class);
    if (w->class == NULL)
        return rp_no_memory(w->cells->err);
    return recipe->train.balanced ? balance(w, d) : take_given(w);
}

/* In binary64, as given; their sum. */
static rp_status weigh_part(const weights *w, const char *part, const int64_t *row, size_t rows, double **out,
                            double *total)
{
    rp_status status;

    *out = rp_reallocarray(NULL, rows, sizeof **out);
    if (*out == NULL)
        return rp_no_memory(w->cells->err);
    status = weigh_rows(w, row, rows, *out);
    if (status != RP_OK)
        return status;
    *total = rp_sum_f64(*out, rows, 1);
    if (*total > 0 && *total < LEAST_TOTAL && w->cells->recipe->train.exact)
        return rp_fail(w->cells->err, RP_EDATA,
                       "%s: the weights of the %s part's %zu rows sum to %g, too little to compute with: multiply all "
                       "of them by one number",
                       w->cells->where, part, rows, *total);
    if (*total > 0 && *total - *total == 0)
        return RP_OK;
    return rp_fail(w->cells->err, RP_EDATA, "%s: the weights of the %s part's %zu rows sum to nothing finite above 0",
                   w->cells->where, part, rows);
}

/* Brought to mean 1 in binary32. */
static rp_status level(const weights *w, double **given, size_t rows, double *total, float **out)
{
    const double mean = *total / (double)rows;

    if (!(mean > 0))
        return rp_fail(w->cells->err, RP_EDATA, "%s: the mean of the weights of %zu rows is too small a number",
                       w->cells->where, rows);
    *out = rp_reallocarray(NULL, rows, sizeof **out);
    if (*out == NULL)
        return rp_no_memory(w->cells->err);
    for (size_t i = 0; i < rows; i++)
        (*out)[i] = (float)((*given)[i] / mean);
    rp_free(*given);
    *given = NULL;
    *total = (double)rows;
    return RP_OK;
}

/* Whether anything but the loss changes where all weights are multiplied by a number: beside a penalty all does, and
 * standard errors where the dispersion is 1. */
static bool size_matters(const rp_recipe *recipe)
{
    return recipe->train.exact &&
           (recipe->train.l1 > 0 || recipe->train.l2 > 0 || !recipe->train.regression ||
            recipe->train.family == RP_FAMILY_POISSON || recipe->train.family == RP_FAMILY_BINOMIAL);
}

static rp_status warn_mean(const weights *w, const rp_dataset *d)
{
    const rp_warning warning = {.kind = RP_WARN_WEIGHTS, .column = w->col, .count = d->train_rows};
    double *given, mean;

    if (w->col == SIZE_MAX || !size_matters(w->cells->recipe) || w->cells->warnings == NULL)
        return RP_OK;
    given = rp_reallocarray(NULL, d->train_rows, sizeof *given);
    if (given == NULL)
        return rp_no_memory(w->cells->err);
    rp_table_numbers_of(w->cells->table, w->col, d->train_row, d->train_rows, given);
    mean = rp_sum_f64(given, d->train_rows, 1) / (double)d->train_rows;
    rp_free(given);
    if (mean >= 0.1 && mean <= 10)
        return RP_OK;
    return rp_warnings_add(w->cells->warnings, &warning, w->cells->err,
                           "the weights of the %zu training rows have the mean %.3g: an exact fit counts each row that "
                           "often, beside its penalty (train.l2) and in standard errors; divide them by their mean "
                           "unless they are counts of rows",
                           d->train_rows, mean);
}

rp_status rp_weights_read(const rp_cells *cells, const rp_target *target, rp_dataset *d)
{
    const rp_recipe *recipe = cells->recipe;
    weights w = {cells, target, SIZE_MAX, NULL};
    rp_status status = RP_OK;

    d->train_total = (double)d->train_rows;
    d->valid_total = (double)d->valid_rows;
    if (!rp_recipe_weighs(recipe))
        return RP_OK;
    if (recipe->data.weight.given)
        status = rp_column_find(cells, &recipe->data.weight, "data.weight", &w.col);
    if (status == RP_OK && w.col != SIZE_MAX)
        status = check_column(&w);
    if (status == RP_OK)
        status = weigh_classes(&w, d);
    if (status == RP_OK)
        status = weigh_part(&w, "training", d->train_row, d->train_rows, &d->train_wide_weight, &d->train_total);
    if (status == RP_OK && d->valid_rows > 0)
        status = weigh_part(&w, "validation", d->valid_row, d->valid_rows, &d->valid_wide_weight, &d->valid_total);
    if (status == RP_OK)
        status = warn_mean(&w, d);
    if (status == RP_OK && !recipe->train.exact)
        status = level(&w, &d->train_wide_weight, d->train_rows, &d->train_total, &d->train_weight);
    if (status == RP_OK && !recipe->train.exact && d->valid_rows > 0)
        status = level(&w, &d->valid_wide_weight, d->valid_rows, &d->valid_total, &d->valid_weight);
    rp_free(w.class);
    return status;
}
