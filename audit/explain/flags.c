/* SPDX-License-Identifier: Apache-2.0
 * Cells of new rows held against the reference that the run recorded of its training rows (audit/FORMAT.md 9.6). */
#include "audit/explain/flags.h"

#include "audit/archive/member.h"
#include "base/memory.h"
#include "core/data/later/reference.h"

enum { NOTHING, UNSEEN, OTHER, OUTSIDE, MISSING, KINDS };

static const char *const kind_name[KINDS] = {
    [UNSEEN] = "unseen", [OTHER] = "rare_or_new", [OUTSIDE] = "outside", [MISSING] = "missing"};

/* Columns of all rows, one at a time. */
typedef struct column_cells {
    double *number;
    size_t *category;
    const char **text;
} column_cells;

static unsigned char flag_number(const rp_reference_column *r, double x)
{
    if (x != x)
        return r->count[r->bins - 1] == 0 ? MISSING : NOTHING;
    return x < r->minimum || x > r->maximum ? OUTSIDE : NOTHING;
}

static unsigned char flag_category(const rp_reference_column *r, const rp_schema_column *c, const char *text,
                                   size_t category)
{
    if (text == NULL)
        return r->count[r->bins - 1] == 0 ? MISSING : NOTHING;
    if (category < c->categories)
        return NOTHING;
    return c->other ? OTHER : UNSEEN; /* which texts were pooled nothing in the archive but its table says */
}

static void flag_column(const rp_flags *f, const rp_scoring *s, const rp_reference_column *r, const column_cells *cells,
                        uint64_t *count)
{
    const rp_schema_column *c = &f->schema->columns[r->column];
    unsigned char *flag = f->cell + r->column * f->rows;

    rp_rows_features(s->rows, r->column, cells->number, cells->category, cells->text);
    for (size_t i = 0; i < f->rows; i++) {
        flag[i] = c->kind == RP_COL_NUMERIC ? flag_number(r, cells->number[i])
                                            : flag_category(r, c, cells->text[i], cells->category[i]);
        count[flag[i]]++;
    }
}

static rp_status flag_columns(const rp_flags *f, const rp_scoring *s, const rp_json *list, uint64_t *count,
                              rp_error *err)
{
    const column_cells cells = {rp_reallocarray(NULL, f->rows + 1, sizeof *cells.number),
                                rp_reallocarray(NULL, f->rows + 1, sizeof *cells.category),
                                rp_reallocarray(NULL, f->rows + 1, sizeof *cells.text)};
    rp_status status = cells.number && cells.category && cells.text ? RP_OK : rp_no_memory(err);
    const rp_json *json;
    size_t i;

    rp_json_array_foreach (list, i, json) {
        rp_reference_column r = {.column = 0};

        if (status == RP_OK)
            status = rp_reference_read(&r, json, f->schema, RP_REFERENCE_MEMBER, err);
        if (status == RP_OK)
            flag_column(f, s, &r, &cells, count);
        rp_reference_clear(&r);
    }
    rp_free(cells.number);
    rp_free(cells.category);
    rp_free(cells.text);
    return status;
}

static uint64_t count_rows(const rp_flags *f)
{
    uint64_t n = 0;

    for (size_t row = 0; row < f->rows; row++)
        for (size_t i = 0; i < f->schema->n_columns; i++)
            if (f->cell[i * f->rows + row] != NOTHING) {
                n++;
                break;
            }
    return n;
}

rp_status rp_flags_find(rp_flags *out, const rp_archive *archive, const rp_scoring *s, bool wanted,
                        rp_prediction *prediction, rp_error *err)
{
    uint64_t count[KINDS] = {0};
    rp_json *json = NULL;
    rp_status status;

    *out = (rp_flags){.schema = s->schema, .rows = rp_rows_count(s->rows)};
    if (!rp_archive_find(archive, RP_REFERENCE_MEMBER))
        return wanted ? rp_fail(err, RP_EUNSUPPORTED,
                                "predict: warnings want " RP_REFERENCE_MEMBER
                                ", what the training rows were like, which this archive does not hold")
                      : RP_OK;
    out->cell = rp_calloc(out->schema->n_columns, out->rows + 1);
    if (!out->cell)
        return rp_no_memory(err);
    status = rp_archive_read_json(archive, RP_REFERENCE_MEMBER, &json, err);
    if (status == RP_OK)
        status = flag_columns(out, s, rp_json_object_get(json, "columns"), count, err);
    rp_json_free(json);
    prediction->checked = status == RP_OK;
    prediction->unseen = count[UNSEEN];
    prediction->rare_or_new = count[OTHER];
    prediction->outside = count[OUTSIDE];
    prediction->missing = count[MISSING];
    prediction->flagged_rows = status == RP_OK ? count_rows(out) : 0;
    return status;
}

void rp_flags_clear(rp_flags *f)
{
    rp_free(f->cell);
    f->cell = NULL;
}

void rp_flags_put(const rp_flags *f, size_t row, rp_buffer *out)
{
    bool first = true;

    for (size_t i = 0; i < f->schema->n_columns; i++) {
        const unsigned char flag = f->cell[i * f->rows + row];

        if (flag == NOTHING)
            continue;
        rp_buffer_printf(out, "%s%s:", first ? "" : ";", kind_name[flag]);
        if (f->schema->columns[i].name)
            rp_buffer_text(out, f->schema->columns[i].name);
        else
            rp_buffer_printf(out, "%zu", i);
        first = false;
    }
}
