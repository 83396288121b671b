/* SPDX-License-Identifier: Apache-2.0
 * What tells the tables of two recipes' runs apart: the first cell that differs, by line and column; and the cells that
 * an element of their prepared data was made of. */
#include <string.h>

#include "audit/replay/diff_private.h"
#include "base/memory.h"
#include "base/text.h"
#include "core/data/dataset.h"
#include "core/data/schema.h"
#include "core/recipe/recipe.h"

enum { SHOWN = 60 }; /* bytes of a cell */

/* A table that is read row by row. */
typedef struct source {
    rp_recipe *recipe;
    rp_buffer csv;
    rp_table *table; /* NULL where there is none that can be read; whoever computes says why */
    rp_csv rows;
} source;

static void close_source(source *t)
{
    rp_csv_close(&t->rows);
    rp_table_free(t->table);
    rp_buffer_free(&t->csv);
    rp_recipe_free(t->recipe);
}

static rp_status open_source(source *out, const side *s, rp_error *err)
{
    rp_json *json = NULL;
    rp_status status = rp_archive_read_json(s->archive, RP_RECIPE_MEMBER, &json, err);

    if (status == RP_OK)
        status = rp_recipe_from_json(&out->recipe, json, RP_RECIPE_MEMBER, err);
    if (status == RP_OK)
        status = rp_archive_read_member(s->archive, RP_TABLE_MEMBER, SIZE_MAX / 2, &out->csv, err);
    if (status == RP_OK)
        status = rp_table_open(&out->table, out->csv.data, out->csv.size, out->recipe, RP_TABLE_MEMBER, err);
    if (status == RP_OK)
        status = rp_table_rows(&out->rows, out->table, err);
    rp_json_free(json);
    return status == RP_ENOMEM || status == RP_EIO || status == RP_EHASH ? status : RP_OK;
}

/* As JSON writes it, so that it is one line whatever it holds. */
static void put_text(rp_buffer *out, const char *text)
{
    size_t length = strlen(text);
    rp_json *json;

    if (length > SHOWN) /* not inside a character */
        for (length = SHOWN; length > 0 && ((unsigned char)text[length] & 0xC0) == 0x80;)
            length--;
    json = rp_json_stringn(text, length);
    if (!json || rp_json_write(json, out, NULL) != RP_OK)
        rp_buffer_text(out, "(no UTF-8)");
    rp_buffer_text(out, text[length] ? "..." : "");
    rp_json_free(json);
}

static void put_column(rp_buffer *out, const rp_table *t, size_t column)
{
    rp_buffer_text(out, "column ");
    if (t->names)
        put_text(out, t->names[column]);
    else
        rp_buffer_printf(out, "%zu", column);
}

/* Columns by their place. */
static bool same_columns(const rp_table *a, const rp_table *b, rp_buffer *out)
{
    if (a->cols != b->cols || !a->names != !b->names) {
        rp_buffer_printf(out, "table     A has %zu columns%s, B %zu%s\n", a->cols, a->names ? "" : " without names",
                         b->cols, b->names ? "" : " without names");
        return false;
    }
    for (size_t i = 0; a->names && i < a->cols; i++)
        if (strcmp(a->names[i], b->names[i]) != 0) {
            rp_buffer_printf(out, "table     column %zu: A ", i);
            put_text(out, a->names[i]);
            rp_buffer_text(out, ", B ");
            put_text(out, b->names[i]);
            rp_buffer_u8(out, '\n');
            return false;
        }
    return true;
}

/* What the rows of two tables of the same columns have in common. */
typedef struct comparison {
    source *side[2];
    size_t rows[2];      /* read so far */
    size_t differ;       /* cells */
    size_t line, column; /* of the first that does */
    rp_buffer text[2];   /* what stands there */
    char *cell[2];       /* [RP_CELL_MAX + 1] */
    bool unreadable;
} comparison;

/* The next row of a side; false at its end. */
static bool next_row(comparison *c, int k)
{
    rp_csv *csv = &c->side[k]->rows;

    if (c->unreadable || !rp_csv_more(csv))
        return false;
    c->unreadable = rp_csv_row(csv) != RP_OK || csv->cells != c->side[k]->table->cols;
    c->rows[k]++;
    return !c->unreadable;
}

static void compare_row(comparison *c)
{
    for (size_t col = 0; col < c->side[0]->table->cols; col++) {
        size_t n = rp_text_copy(c->cell[0], &c->side[0]->rows.cell[col]);

        if (n == rp_text_copy(c->cell[1], &c->side[1]->rows.cell[col]) && memcmp(c->cell[0], c->cell[1], n) == 0)
            continue;
        if (c->differ++ > 0)
            continue;
        c->column = col;
        put_text(&c->text[0], c->cell[0]);
        put_text(&c->text[1], c->cell[1]);
    }
}

static void compare_rows(comparison *c)
{
    for (;;) {
        size_t begin = rp_csv_more(&c->side[0]->rows) ? c->side[0]->rows.at : 0;
        bool a = next_row(c, 0), b = next_row(c, 1);

        if (!a && !b)
            return;
        if (a && b) {
            size_t before = c->differ;

            compare_row(c);
            if (before == 0 && c->differ > 0)
                c->line = rp_csv_line(&c->side[0]->rows, begin);
        }
    }
}

static void put_comparison(const comparison *c, rp_buffer *out)
{
    const rp_table *a = c->side[0]->table;
    const size_t rows = c->rows[0] < c->rows[1] ? c->rows[0] : c->rows[1];

    if (c->differ) {
        rp_buffer_printf(out, "table     line %zu, ", c->line);
        put_column(out, a, c->column);
        rp_buffer_text(out, ": A ");
        rp_buffer_append(out, c->text[0].data, c->text[0].size);
        rp_buffer_text(out, ", B ");
        rp_buffer_append(out, c->text[1].data, c->text[1].size);
        if (c->rows[0] == c->rows[1]) /* else rows may have moved, and cells are not the same ones */
            rp_buffer_printf(out, "; %zu of %zu cells differ%s", c->differ, rows * a->cols, c->differ == 1 ? "s" : "");
        rp_buffer_u8(out, '\n');
    }
    if (c->rows[0] != c->rows[1])
        rp_buffer_printf(out, "table     A has %zu rows, B %zu%s\n", c->rows[0], c->rows[1],
                         c->differ ? "" : ", of which the first are the same");
    else if (!c->differ)
        rp_buffer_text(out, "table     all cells are the same: the files differ in how they are written\n");
}

static rp_status compare_cells(source *a, source *b, rp_buffer *out, rp_error *err)
{
    comparison c = {.side = {a, b}, .cell = {rp_malloc(RP_CELL_MAX + 1), rp_malloc(RP_CELL_MAX + 1)}};
    rp_status status = c.cell[0] && c.cell[1] ? RP_OK : rp_no_memory(err);

    if (status == RP_OK)
        compare_rows(&c);
    if (status == RP_OK && !c.unreadable)
        put_comparison(&c, out);
    for (int k = 0; k < 2; k++) {
        rp_buffer_free(&c.text[k]);
        rp_free(c.cell[k]);
    }
    return status;
}

rp_status rp_diff_tables(const side *a, const side *b, rp_buffer *out, rp_error *err)
{
    const rp_member *x = rp_archive_find(a->archive, RP_TABLE_MEMBER),
                    *y = rp_archive_find(b->archive, RP_TABLE_MEMBER);
    source left = {.recipe = NULL}, right = {.recipe = NULL};
    rp_status status = RP_OK;

    if (!x || !y || rp_digest_equal(&x->digest, &y->digest))
        return RP_OK;
    status = open_source(&left, a, err);
    if (status == RP_OK)
        status = open_source(&right, b, err);
    if (status == RP_OK && left.rows.cell && right.rows.cell && same_columns(left.table, right.table, out))
        status = compare_cells(&left, &right, out, err);
    close_source(&left);
    close_source(&right);
    return status;
}

/* ---- where an element of the prepared data comes from ---- */

enum { NO_COLUMN = -1 };

/* The table's column, or NO_COLUMN: a product of columns. */
static int64_t column_of(const rp_dataset *d, const char *input, size_t feature)
{
    for (size_t i = 0; i < d->schema->n_columns; i++) {
        const rp_schema_column *c = &d->schema->columns[i];

        if (strcmp(input + strlen(input) - 2, "_y") == 0 ? c->target : feature >= c->at && feature < c->at + c->width)
            return (int64_t)(c->derived ? c->source : i);
    }
    return NO_COLUMN;
}

/* The element's row in the file, or -1 where the input is none of the table's parts. */
static int64_t row_of(const rp_dataset *d, const char *input, size_t row)
{
    const size_t length = strlen(input);
    const bool train = strncmp(input, "train_", 6) == 0, valid = strncmp(input, "valid_", 6) == 0;

    if (length != 7 || (!train && !valid) || (input[6] != 'x' && input[6] != 'y'))
        return -1;
    if (row >= (train ? d->train_rows : d->valid_rows))
        return -1;
    return (train ? d->train_row : d->valid_row)[row];
}

/* The cell's text, and its line; *found stays false where the table cannot be read that far. */
static rp_status find_cell(const side *s, int64_t row, int64_t column, rp_buffer *cell, size_t *line, bool *found,
                           rp_error *err)
{
    source t = {.recipe = NULL};
    char *text = rp_malloc(RP_CELL_MAX + 1);
    rp_status status = text ? open_source(&t, s, err) : rp_no_memory(err);

    for (int64_t i = 0; status == RP_OK && t.rows.cell && i <= row && rp_csv_more(&t.rows); i++) {
        const size_t begin = t.rows.at;

        if (rp_csv_row(&t.rows) != RP_OK || t.rows.cells != t.table->cols || (size_t)column >= t.rows.cells)
            break;
        if (i < row)
            continue;
        *line = rp_csv_line(&t.rows, begin);
        (void)rp_text_copy(text, &t.rows.cell[column]);
        rp_make_utf8(text);
        rp_buffer_text(cell, text);
        rp_buffer_u8(cell, '\0');
        status = rp_buffer_status(cell, err);
        *found = true;
    }
    close_source(&t);
    rp_free(text);
    return status;
}

static rp_status put_cells(const side *const s[2], const char *input, size_t row, int64_t column, rp_buffer *out,
                           rp_json *value, rp_error *err)
{
    const rp_schema *schema = rp_driver_dataset(s[0]->driver)->schema;
    const char *name = schema->columns[column].name;
    rp_buffer cell[2] = {{0}, {0}};
    size_t line[2];
    bool found[2] = {false, false};
    rp_status status = RP_OK;

    for (int k = 0; k < 2 && status == RP_OK; k++)
        status = find_cell(s[k], row_of(rp_driver_dataset(s[k]->driver), input, row), column, &cell[k], &line[k],
                           &found[k], err);
    if (status == RP_OK && found[0] && found[1]) {
        rp_json *both[2];

        rp_buffer_text(out, "cell      column ");
        if (name)
            put_text(out, name);
        else
            rp_buffer_printf(out, "%lld", (long long)column);
        for (int k = 0; k < 2; k++) {
            rp_buffer_printf(out, "%s %s line %zu: ", k ? "," : ":", s[k]->label, line[k]);
            put_text(out, (const char *)cell[k].data);
            both[k] = rp_json_pack("{s:s, s:I}", "cell", (const char *)cell[k].data, "line", (int64_t)line[k]);
        }
        if (strcmp((const char *)cell[0].data, (const char *)cell[1].data) == 0)
            rp_buffer_text(out, "; the same, but prepared otherwise");
        rp_buffer_u8(out, '\n');
        if (rp_json_object_set_new(value, "cell",
                                   rp_json_pack("{s:o, s:o, s:I, s:s?}", "a", both[0], "b", both[1], "column",
                                                (int64_t)column, "name", name)) != 0)
            status = rp_no_memory(err);
    }
    rp_buffer_free(&cell[0]);
    rp_buffer_free(&cell[1]);
    return status;
}

rp_status rp_diff_put_cells(const side *a, const side *b, const rp_diff_value *value, findings *f, rp_error *err)
{
    const side *const s[2] = {a, b};
    const rp_program *body = value->body[0];
    const rp_input *input = value->depth ? NULL : rp_program_input_of(body, value->value);
    const rp_type *type = &body->value[value->value];
    const rp_dataset *of[2] = {rp_driver_dataset(a->driver), rp_driver_dataset(b->driver)};
    const size_t rows = type->rank ? type->shape[0] : 0, width = rows ? rp_type_count(type) / rows : 0;
    int64_t column;

    if (!input || input->kind != RP_INPUT_DATA || !of[0] || !of[1] || width == 0)
        return RP_OK;
    for (int k = 0; k < 2; k++)
        if (row_of(of[k], input->name, value->element / width) < 0)
            return RP_OK;
    column = column_of(of[0], input->name, value->element % width);
    if (column == NO_COLUMN || column != column_of(of[1], input->name, value->element % width))
        return RP_OK;
    return put_cells(s, input->name, value->element / width, column, &f->text, f->value, err);
}
