/* SPDX-License-Identifier: Apache-2.0
 * What tells the tables of two recipes' runs apart: the first cell that differs, by line and column. */
#include <string.h>

#include "audit/replay/diff_private.h"
#include "core/data/dataset.h"
#include "core/recipe/recipe.h"

enum { SHOWN = 60 }; /* bytes of a cell */

/* *out stays NULL where there is no table that can be read; whoever computes says why. */
static rp_status read_table(rp_table **out, const side *s, rp_error *err)
{
    rp_json *json = NULL;
    rp_recipe *recipe = NULL;
    rp_buffer csv = {0};
    rp_status status = rp_archive_read_json(s->archive, RP_RECIPE_MEMBER, &json, err);

    *out = NULL;
    if (status == RP_OK)
        status = rp_recipe_from_json(&recipe, json, RP_RECIPE_MEMBER, err);
    if (status == RP_OK)
        status = rp_archive_read_member(s->archive, RP_TABLE_MEMBER, SIZE_MAX / 2, &csv, err);
    if (status == RP_OK)
        status = rp_table_parse(out, csv.data, csv.size, recipe, RP_TABLE_MEMBER, err);
    rp_buffer_free(&csv);
    rp_recipe_free(recipe);
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

static void compare_cells(const rp_table *a, const rp_table *b, rp_buffer *out)
{
    const size_t rows = a->rows < b->rows ? a->rows : b->rows;
    size_t first = rows * a->cols, differ = 0;

    for (size_t i = rows * a->cols; i-- > 0;)
        if (strcmp(a->cell[i], b->cell[i]) != 0) {
            first = i;
            differ++;
        }
    if (differ) {
        rp_buffer_printf(out, "table     line %zu, ", a->line[first / a->cols]);
        put_column(out, a, first % a->cols);
        rp_buffer_text(out, ": A ");
        put_text(out, a->cell[first]);
        rp_buffer_text(out, ", B ");
        put_text(out, b->cell[first]);
        if (a->rows == b->rows) /* else rows may have moved, and cells are not the same ones */
            rp_buffer_printf(out, "; %zu of %zu cells differ%s", differ, rows * a->cols, differ == 1 ? "s" : "");
        rp_buffer_u8(out, '\n');
    }
    if (a->rows != b->rows)
        rp_buffer_printf(out, "table     A has %zu rows, B %zu%s\n", a->rows, b->rows,
                         differ ? "" : ", of which the first are the same");
    else if (!differ)
        rp_buffer_text(out, "table     all cells are the same: the files differ in how they are written\n");
}

rp_status rp_diff_tables(const side *a, const side *b, rp_buffer *out, rp_error *err)
{
    const rp_member *x = rp_archive_find(a->archive, RP_TABLE_MEMBER),
                    *y = rp_archive_find(b->archive, RP_TABLE_MEMBER);
    rp_table *left = NULL, *right = NULL;
    rp_status status = RP_OK;

    if (!x || !y || rp_digest_equal(&x->digest, &y->digest))
        return RP_OK;
    status = read_table(&left, a, err);
    if (status == RP_OK)
        status = read_table(&right, b, err);
    if (status == RP_OK && left && right && same_columns(left, right, out))
        compare_cells(left, right, out);
    rp_table_free(left);
    rp_table_free(right);
    return status;
}
