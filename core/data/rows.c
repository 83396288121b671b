/* SPDX-License-Identifier: Apache-2.0
 * New rows under a recorded schema: a table whose columns are those of the training, encoded as many rows at a time as
 * the caller has room for (CONTRACT 9.6). */
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "core/data/later/reference.h"
#include "core/data/treat/treat.h"
#include "determinism/fpenv.h"

struct rp_rows {
    const rp_schema *schema;
    const rp_recipe *recipe;
    const char *where;
    rp_table *table;
    size_t *source;                 /* the table's column of each of the schema's */
    const rp_treatment **treatment; /* [the table's columns] */
    rp_encoder *encoder;
};

static rp_status find_source(const rp_schema *schema, const rp_cells *cells, size_t i, size_t *source)
{
    const rp_table *table = cells->table;
    const char *name = schema->columns[i].name;
    char quoted[64];

    for (size_t col = 0; col < table->cols; col++)
        if (strcmp(table->names[col], name) == 0) {
            source[i] = col;
            return RP_OK;
        }
    return rp_fail(cells->err, RP_EDATA,
                   "%s:1: expected a column \"%s\" in the header as in training, found none; the new "
                   "rows need every input column of the training data",
                   cells->where, rp_printable(quoted, sizeof quoted, name, strlen(name)));
}

/* A date without parts that are features is not wanted. */
static bool is_read_date(const rp_schema *schema, size_t i)
{
    for (size_t k = 0; k < schema->n_columns; k++)
        if (schema->columns[k].derived && schema->columns[k].source == i && schema->columns[k].kind != RP_COL_IGNORE)
            return true;
    return false;
}

static rp_status map_columns(const rp_schema *schema, const rp_cells *cells, size_t *source)
{
    size_t cols = cells->table->own_cols, col = 0;
    const size_t own = rp_schema_own(schema);
    bool named = cells->table->names != NULL;
    rp_status status = RP_OK;

    if (named != (schema->columns[0].name != NULL))
        return rp_fail(cells->err, RP_EFORMAT, "the schema and the recipe disagree about a header line");
    if (!named && cols != own && cols + 1 != own)
        return rp_fail(cells->err, RP_EDATA,
                       "%s:1: expected %zu cells as in training (or one less, without the target), "
                       "found %zu",
                       cells->where, own, cols);
    for (size_t i = 0; i < own && status == RP_OK; i++) {
        if (!named)
            source[i] = schema->columns[i].target && cols < own ? 0 : col++;
        else if (schema->columns[i].kind != RP_COL_IGNORE || is_read_date(schema, i))
            status = find_source(schema, cells, i, source);
    }
    return status;
}

static const rp_store store_of[] = {[RP_COL_NUMERIC] = RP_STORE_NUMBERS, [RP_COL_CATEGORICAL] = RP_STORE_TEXTS};

/* Of the table only what the schema's columns need. */
static rp_status load(rp_rows *r, const rp_cells *cells, const rp_cells *filter_of)
{
    const rp_schema *schema = r->schema;
    rp_filter *filter = NULL;
    rp_store *store = rp_calloc(r->table->cols, sizeof *store);
    rp_status status = store != NULL ? RP_OK : rp_no_memory(cells->err);

    for (size_t i = 0; i < schema->n_columns && status == RP_OK; i++)
        if (schema->columns[i].kind != RP_COL_IGNORE)
            store[r->source[i]] = store_of[schema->columns[i].kind];
    if (status == RP_OK && filter_of)
        status = rp_filter_own(&filter, filter_of);
    if (status == RP_OK)
        status = rp_table_load(r->table, store, r->recipe, &(rp_table_options){.filter = filter}, cells->err);
    for (size_t i = 0; i < schema->n_columns && status == RP_OK; i++)
        if (schema->columns[i].offset == RP_OFFSET_NONE)
            status = rp_column_check(cells, r->source[i], schema->columns[i].kind);
        else if (!filter_of) /* the run's own table was looked at when it was made, but for what it leaves out */
            status = rp_offset_check(cells, r->source[i], schema->columns[i].offset);
    rp_filter_free(filter);
    rp_free(store);
    return status;
}

/* The recipe's columns are those of training, by name or by place. */
static void map_treatments(rp_rows *r)
{
    for (size_t i = 0; i < r->schema->n_columns; i++) {
        const rp_schema_column *column = &r->schema->columns[i];
        const rp_column_rule *rule = rp_schema_rule(r->recipe, r->schema, i);

        if (rule == NULL && column->derived)
            rule = rp_schema_rule(r->recipe, r->schema, column->source);
        if (column->kind != RP_COL_IGNORE && rule != NULL && rule->treated)
            r->treatment[r->source[i]] = &rule->treatment;
    }
}

static bool same_reading(const rp_recipe *a, const rp_recipe *b)
{
    const rp_reading *x = &a->data.reading, *y = &b->data.reading;

    return a->data.header == b->data.header && a->data.delimiter == b->data.delimiter && x->strip == y->strip &&
           x->encoding == y->encoding && x->comment == y->comment && x->skip_lines == y->skip_lines;
}

/* Line of the next row of a walk, whose lines were counted up to *counted. */
static size_t next_line(const rp_csv *csv, size_t *line, size_t *counted)
{
    *line += rp_csv_count(csv->in + *counted, csv->at - *counted, '\n');
    *counted = csv->at;
    return *line;
}

/* Both walks give rows of the same lines. */
static rp_status compare_lines(rp_csv *own, rp_csv *other, const char *where, rp_error *err)
{
    size_t line[2] = {1, 1}, counted[2] = {0, 0}, row = 0;
    bool more[2];
    rp_status status = RP_OK;

    for (;; row++) {
        more[0] = rp_csv_more(own);
        more[1] = rp_csv_more(other);
        if (!more[0] || !more[1] || next_line(own, &line[0], &counted[0]) != next_line(other, &line[1], &counted[1]))
            break;
        status = rp_csv_row(own);
        if (status == RP_OK)
            status = rp_csv_row(other);
        if (status != RP_OK)
            return status;
    }
    if (!more[0] && !more[1])
        return RP_OK;
    return rp_fail(err, RP_EDATA,
                   "%s: row %zu is in line %zu%s by the recipe of the run that the table is of, in line %zu%s by this "
                   "one: they do not read the same rows (data.comment, data.skip_lines, data.header)",
                   where, row, line[1], more[1] ? "" : ", the last,", line[0], more[0] ? "" : ", the last,");
}

/* A row must be the same to both, and so must its cells be: what is numbered by the one is looked up by the other. */
static rp_status check_rows(const rp_table *own, const rp_table *other, const char *where, rp_error *err)
{
    rp_csv a = {.in = NULL}, b = {.in = NULL};
    rp_status status = rp_table_rows(&a, own, err);

    if (own->own_cols != other->own_cols)
        status = rp_fail(err, RP_EDATA,
                         "%s: the recipe of the run that the table is of cuts it into %zu columns, this one into %zu "
                         "(data.delimiter)",
                         where, other->own_cols, own->own_cols);
    if (status == RP_OK)
        status = rp_table_rows(&b, other, err);
    if (status == RP_OK)
        status = compare_lines(&a, &b, where, err);
    rp_csv_close(&a);
    rp_csv_close(&b);
    return status;
}

/* Another recipe's conditions have the table's columns to themselves: what are dates to it need be none to the model,
 * or count from another day. */
static rp_status open_conditions(rp_table **apart, rp_cells *of, const rp_rows *r, const void *csv, size_t size)
{
    rp_status status = RP_OK;

    if (of->recipe != r->recipe)
        status = rp_table_open(apart, csv, size, of->recipe, r->where, of->err);
    if (status == RP_OK && *apart != NULL && !same_reading(of->recipe, r->recipe))
        status = check_rows(r->table, *apart, r->where, of->err);
    if (status != RP_OK)
        return status;
    of->table = *apart != NULL ? *apart : r->table;
    return rp_dates_declare(of, *apart != NULL ? *apart : r->table);
}

static rp_status open_rows(rp_rows *r, rp_cells *cells, const void *csv, size_t size, const rp_recipe *filter)
{
    rp_cells others = *cells;
    rp_table *apart = NULL;
    rp_status status = rp_table_open(&r->table, csv, size, r->recipe, r->where, cells->err);

    if (status != RP_OK)
        return status;
    cells->table = r->table;
    others.recipe = filter;
    r->source = rp_calloc(r->schema->n_columns, sizeof *r->source);
    if (r->source == NULL)
        status = rp_no_memory(cells->err);
    if (status == RP_OK && filter != NULL) /* conditions may be on parts that are no features */
        status = open_conditions(&apart, &others, r, csv, size);
    if (status == RP_OK)
        status = map_columns(r->schema, cells, r->source);
    if (status == RP_OK)
        status = rp_dates_follow(r->schema, cells, r->table, r->source);
    r->treatment = rp_calloc(r->table->cols, sizeof(const rp_treatment *));
    cells->treatment = r->treatment;
    if (status == RP_OK && r->treatment == NULL)
        status = rp_no_memory(cells->err);
    if (status == RP_OK) {
        map_treatments(r);
        status = load(r, cells, filter != NULL ? &others : NULL);
    }
    rp_table_free(apart);
    return status == RP_OK ? rp_encoder_new(&r->encoder, r->schema, cells, r->source) : status;
}

rp_status rp_rows_open(rp_rows **out, const rp_schema *schema, const rp_recipe *recipe, const void *csv, size_t size,
                       const char *where, const rp_recipe *filter, rp_error *err)
{
    rp_cells cells = {.recipe = recipe, .where = where, .err = err, .recorded = true};
    rp_rows *r = rp_calloc(1, sizeof *r);
    rp_status status;

    *out = NULL;
    if (r == NULL)
        return rp_no_memory(err);
    *r = (rp_rows){.schema = schema, .recipe = recipe, .where = where};
    status = open_rows(r, &cells, csv, size, filter);
    if (status != RP_OK)
        rp_rows_free(r);
    else
        *out = r;
    return status;
}

void rp_rows_free(rp_rows *r)
{
    if (r == NULL)
        return;
    rp_encoder_free(r->encoder);
    rp_table_free(r->table);
    rp_free(r->source);
    rp_free(r->treatment);
    rp_free(r);
}

size_t rp_rows_count(const rp_rows *r)
{
    return r->table->rows;
}

const rp_table *rp_rows_table(const rp_rows *r)
{
    return r->table;
}

rp_status rp_rows_encode(const rp_rows *r, size_t first, size_t count, void *x, rp_error *err)
{
    const size_t width = r->schema->features;
    const bool wide = r->recipe->train.exact;
    const rp_features all = wide ? (rp_features){.wide = x} : (rp_features){.narrow = x};
    rp_features row[RP_ENCODED_ROWS];
    rp_fpenv saved;
    rp_status status = rp_fpenv_enter(&saved, NULL, err);

    if (status != RP_OK)
        return status;
    memset(x, 0, count * width * (wide ? sizeof(double) : sizeof(float)));
    for (size_t i = 0; i < count && status == RP_OK; i += RP_ENCODED_ROWS) {
        size_t n = count - i < RP_ENCODED_ROWS ? count - i : RP_ENCODED_ROWS, good;

        for (size_t k = 0; k < n; k++)
            row[k] = rp_features_at(all, (i + k) * width);
        good = rp_encoder_rows(r->encoder, first + i, n, row, NULL, NULL);
        if (good < n)
            status = rp_encoder_fail(r->encoder, first + i + good, wide, err);
    }
    rp_fpenv_leave(&saved);
    return status;
}

void rp_rows_features(const rp_rows *r, size_t column, double *number, size_t *category, const char **text)
{
    const rp_schema_column *c = &r->schema->columns[column];
    const rp_dictionary *words = &r->table->column[r->source[column]].words;
    uint32_t code[RP_BLOCK];

    if (c->kind == RP_COL_NUMERIC) {
        rp_table_numbers(r->table, r->source[column], 0, r->table->rows, number);
        return;
    }
    for (size_t first = 0; first < r->table->rows; first += RP_BLOCK) {
        const size_t n = r->table->rows - first < RP_BLOCK ? r->table->rows - first : RP_BLOCK;

        rp_table_codes(r->table, r->source[column], first, n, code);
        for (size_t i = 0; i < n; i++) {
            const bool missing = code[i] == (uint32_t)RP_NO_CODE;

            text[first + i] = missing ? NULL : words->word[code[i]].at;
            category[first + i] = missing ? c->categories : rp_category_find(c, text[first + i]);
        }
    }
}

rp_status rp_rows_offsets(double **out, const rp_rows *r, rp_error *err)
{
    const rp_schema_column *column = NULL;
    size_t col = 0;

    *out = NULL;
    for (; col < r->schema->n_columns && !column; col++)
        if (r->schema->columns[col].offset != RP_OFFSET_NONE)
            column = &r->schema->columns[col];
    if (!column)
        return RP_OK;
    *out = rp_reallocarray(NULL, r->table->rows + 1, sizeof **out);
    if (!*out)
        return rp_no_memory(err);
    rp_table_numbers(r->table, r->source[col - 1], 0, r->table->rows, *out);
    for (size_t i = 0; i < r->table->rows; i++)
        (*out)[i] = rp_treat_number(column, (*out)[i]);
    return RP_OK;
}
