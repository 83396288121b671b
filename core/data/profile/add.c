/* SPDX-License-Identifier: Apache-2.0
 * Findings as they stand in a profile. */
#include <string.h>

#include "base/memory.h"
#include "core/data/profile/private.h"

enum { EXAMPLE_BYTES = 64 };

/* A cell, cut at a character where it is long. */
rp_json *rp_cell_json(const char *text)
{
    size_t n = strlen(text), end = n;

    if (n > EXAMPLE_BYTES)
        for (end = EXAMPLE_BYTES; end > 0 && ((unsigned char)text[end] & 0xC0) == 0x80;)
            end--;
    return rp_json_stringn(text, end);
}

rp_status rp_profile_add(rp_json *profile, const rp_cells *cells, const rp_finding *finding)
{
    builder b = {.object = rp_json_object()};

    put(&b, "code", rp_json_string(finding->code));
    put(&b, "level", rp_json_string(finding->note ? "note" : "warning"));
    if (finding->column != SIZE_MAX)
        put(&b, "column", rp_json_integer((int64_t)finding->column));
    if (finding->row != SIZE_MAX)
        put(&b, "line", rp_json_integer((int64_t)rp_table_line(cells->table, finding->row)));
    if (finding->count != SIZE_MAX)
        put(&b, "count", rp_json_integer((int64_t)finding->count));
    if (finding->text != NULL)
        put(&b, "text", rp_cell_json(finding->text));
    if (finding->words != NULL)
        put(&b, "words", rp_json_string(finding->words));
    append(&b, rp_json_object_get(profile, "findings"), b.object);
    return b.failed ? rp_no_memory(cells->err) : RP_OK;
}

static rp_status add_warning(rp_json *profile, const rp_warning *w, rp_error *err)
{
    builder b = {.object = rp_json_object()};

    put(&b, "code", rp_json_string(rp_warning_names[w->kind]));
    put(&b, "level", rp_json_string(w->kind == RP_WARN_CUT || w->kind == RP_WARN_POOLED ? "note" : "warning"));
    if (w->column != (size_t)RP_NO_COLUMN)
        put(&b, "column", rp_json_integer((int64_t)w->column));
    if (w->line > 0)
        put(&b, "line", rp_json_integer((int64_t)w->line));
    put(&b, "count", rp_json_integer((int64_t)w->count));
    put(&b, "text", rp_cell_json(w->cell));
    put(&b, "words", rp_json_string(w->text));
    append(&b, rp_json_object_get(profile, "findings"), b.object);
    return b.failed ? rp_no_memory(err) : RP_OK;
}

rp_status rp_profile_add_warnings(rp_json *profile, const rp_warnings *warnings, rp_error *err)
{
    rp_status status = RP_OK;

    for (size_t i = 0; i < warnings->count && status == RP_OK; i++)
        status = add_warning(profile, &warnings->item[i], err);
    return status;
}
