/* SPDX-License-Identifier: Apache-2.0
 * Rows to features (CONTRACT 9.6), the one way they are made, for training, validation and new rows alike: a column at
 * a time over a block of rows. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "core/data/treat/treat.h"

typedef struct encoded_column {
    size_t source, place; /* of the table; among the features */
    uint32_t *group;      /* [words]: of each of the table's words; not_learnt: of none */
} encoded_column;

struct rp_encoder {
    const rp_schema *schema;
    rp_cells cells;
    encoded_column *column; /* [n_columns] */
};

static const uint32_t not_learnt = UINT32_MAX;

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool map_words(encoded_column *out, const rp_schema_column *column, const rp_dictionary *words)
{
    out->group = rp_reallocarray(NULL, words->count, sizeof *out->group);
    for (size_t i = 0; i < words->count && out->group != NULL; i++) {
        const char *const *found = column->categories == 0
                                       ? NULL
                                       : bsearch(&words->word[i].at, column->category, column->categories,
                                                 sizeof *column->category, compare_texts);

        out->group[i] = found != NULL ? (uint32_t)(found - column->category) : not_learnt;
    }
    return out->group != NULL;
}

rp_status rp_encoder_new(rp_encoder **out, const rp_schema *schema, const rp_cells *cells, const size_t *source)
{
    rp_encoder *e = rp_calloc(1, sizeof *e);
    size_t place = 0;

    *out = NULL;
    if (e == NULL)
        return rp_no_memory(cells->err);
    e->schema = schema;
    e->cells = *cells;
    e->column = rp_calloc(schema->n_columns, sizeof *e->column);
    for (size_t i = 0; i < schema->n_columns && e->column != NULL; i++) {
        const rp_schema_column *column = &schema->columns[i];

        e->column[i].source = source[i];
        e->column[i].place = place;
        place += column->kind == RP_COL_IGNORE ? 0 : column->width; /* a target that is standardised has one too */
        if (column->kind == RP_COL_CATEGORICAL &&
            !map_words(&e->column[i], column, &cells->table->column[source[i]].words)) {
            rp_encoder_free(e);
            return rp_no_memory(cells->err);
        }
    }
    if (e->column == NULL) {
        rp_free(e);
        return rp_no_memory(cells->err);
    }
    *out = e;
    return RP_OK;
}

void rp_encoder_free(rp_encoder *e)
{
    if (e == NULL)
        return;
    for (size_t i = 0; i < e->schema->n_columns; i++)
        rp_free(e->column[i].group);
    rp_free(e->column);
    rp_free(e);
}

/* The first feature of a number, NaN for a missing cell. */
static double standardised(const rp_schema_column *column, double number)
{
    double value = number == number  ? rp_treat_number(column, number)
                   : column->offset  ? 0 /* of a row that is left out: none else is scored without */
                   : column->imputes ? column->missing
                                     : column->mean;

    return column->standardize ? (value - column->mean) / column->divisor : value;
}

static bool wanted(rp_features x)
{
    return x.narrow != NULL || x.wide != NULL;
}

/* Whether it is finite there. */
static bool put(rp_features x, size_t i, double value)
{
    float rounded = (float)value;

    if (x.wide != NULL) {
        x.wide[i] = value;
        return value - value == 0;
    }
    x.narrow[i] = rounded;
    return rounded - rounded == 0;
}

/* One feature a group, or the group's weight. */
void rp_encode_group(rp_features x, const rp_schema_column *column, size_t place, size_t group)
{
    (void)put(x, column->woe != NULL ? place : place + group, column->woe != NULL ? column->woe[group] : 1);
}

/* Whether what is written is finite. */
bool rp_encode_number(const rp_schema_column *column, size_t place, double number, rp_features x)
{
    size_t group = column->binned ? rp_group_of(column, number) : SIZE_MAX;

    if (column->indicator && number != number)
        (void)put(x, place + column->width - 1, 1);
    if (group != SIZE_MAX)
        rp_encode_group(x, column, place, group);
    return column->binned || put(x, place, standardised(column, number));
}

/* Returns n, or the first row whose feature is not finite. */
static size_t encode_numbers(const rp_encoder *e, size_t i, size_t first, size_t n, const rp_features *x)
{
    double number[RP_ENCODED_ROWS];

    rp_table_numbers(e->cells.table, e->column[i].source, first, n, number);
    for (size_t k = 0; k < n; k++)
        if (wanted(x[k]) && !rp_encode_number(&e->schema->columns[i], e->column[i].place, number[k], x[k]))
            return k;
    return n;
}

static void encode_categories(const rp_encoder *e, size_t i, size_t first, size_t n, const rp_features *x,
                              const bool *counted, atomic_size_t *unseen)
{
    const rp_schema_column *column = &e->schema->columns[i];
    size_t not_met = 0;
    uint32_t code[RP_ENCODED_ROWS];

    rp_table_codes(e->cells.table, e->column[i].source, first, n, code);
    for (size_t k = 0; k < n; k++) {
        uint32_t group = code[k] != (uint32_t)RP_NO_CODE ? e->column[i].group[code[k]]
                         : column->null_category         ? (uint32_t)column->categories
                                                         : not_learnt;

        not_met += wanted(x[k]) && group == not_learnt && unseen != NULL && counted[k];
        if (group == not_learnt && code[k] != (uint32_t)RP_NO_CODE && column->other)
            group = (uint32_t)(column->categories + column->null_category);
        if (wanted(x[k]) && group != not_learnt)
            rp_encode_group(x[k], column, e->column[i].place, group);
    }
    if (not_met > 0)
        atomic_fetch_add(&unseen[i], not_met);
}

size_t rp_encoder_rows(const rp_encoder *e, size_t first, size_t n, const rp_features *x, const bool *counted,
                       atomic_size_t *unseen)
{
    size_t good = n;

    for (size_t i = 0; i < e->schema->n_columns; i++) {
        if (e->schema->columns[i].kind == RP_COL_CATEGORICAL)
            encode_categories(e, i, first, n, x, counted, unseen);
        else if (e->schema->columns[i].kind == RP_COL_NUMERIC)
            good = encode_numbers(e, i, first, good, x);
    }
    for (size_t k = 0; k < good && e->schema->n_pairs > 0; k++)
        if (wanted(x[k]) && !rp_interact(e->schema, x[k]))
            return k;
    return good;
}

rp_status rp_encoder_fail(const rp_encoder *e, size_t row, bool wide, rp_error *err)
{
    char label[RP_LABEL_SIZE];

    for (size_t i = 0; i < e->schema->n_columns; i++) {
        double number, value;
        float rounded;

        if (e->schema->columns[i].kind != RP_COL_NUMERIC || e->schema->columns[i].binned)
            continue;
        rp_table_numbers(e->cells.table, e->column[i].source, row, 1, &number);
        value = standardised(&e->schema->columns[i], number);
        rounded = (float)value;
        if (wide ? value - value != 0 : rounded - rounded != 0)
            return rp_fail(err, RP_EDATA, "%s:%zu: %s: the encoded number is beyond %s; correct or rescale it",
                           e->cells.where, rp_table_line(e->cells.table, row),
                           rp_column_label(label, sizeof label, e->cells.table, e->column[i].source),
                           wide ? "binary64" : "binary32");
    }
    return rp_fail(err, RP_EDATA, "%s:%zu: a product of data.interactions is not finite; rescale the columns",
                   e->cells.where, rp_table_line(e->cells.table, row));
}
