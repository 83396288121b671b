/* SPDX-License-Identifier: Apache-2.0
 * Rows that a filter took away before anything was learnt: they are in no figure, so that whoever reads the figures is
 * told. What the archive holds is untrusted here: a count that does not add up is as good as none. */
#include "cli/data/used_rows.h"

#include <string.h>

#include "cli/archive_files.h"

typedef struct used_rows {
    bool known;
    int64_t rows, left_out, missing_target, used;
    int64_t hidden; /* lines that look like rows and were passed over */
} used_rows;

/* What is no JSON is as if it were not there. */
static rp_status load(const rp_archive *archive, const char *name, rp_json **out, rp_error *err)
{
    rp_status status = rp_member_load_json(archive, name, out, err);

    if (status == RP_OK || status == RP_ENOMEM || status == RP_EIO)
        return status;
    *out = NULL;
    return RP_OK;
}

static bool count(const rp_json *object, const char *key, int64_t *out)
{
    const rp_json *value = rp_json_object_get(object, key);

    *out = rp_json_integer_value(value);
    return rp_json_is_integer(value) && *out >= 0 && *out <= INT32_MAX;
}

static rp_status read_counts(const rp_archive *archive, used_rows *out, rp_error *err)
{
    rp_json *quality = NULL;
    const rp_json *counts;
    rp_status status = load(archive, RP_QUALITY_MEMBER, &quality, err);

    counts = rp_json_object_get(quality, "availability");
    *out = (used_rows){.known = false};
    out->known = count(counts, "rows", &out->rows) && count(counts, "left_out", &out->left_out) &&
                 count(counts, "missing_target", &out->missing_target) && count(counts, "used", &out->used) &&
                 out->used == out->rows - out->left_out - out->missing_target;
    if (!count(quality, "hidden_rows", &out->hidden))
        out->hidden = 0;
    rp_json_free(quality);
    return status;
}

/* Whether the recipe may leave rows out at all. */
static rp_status read_filter(const rp_archive *archive, bool *filters, rp_error *err)
{
    rp_json *recipe = NULL;
    const rp_json *data;
    rp_status status = load(archive, RP_RECIPE_MEMBER, &recipe, err);

    data = rp_json_object_get(recipe, "data");
    *filters = rp_json_object_get(data, "where") || rp_json_object_get(data, "missing_target");
    rp_json_free(recipe);
    return status;
}

static void put(rp_session *session, const used_rows *n, bool again)
{
    const int64_t out = n->left_out + n->missing_target;
    char share[RP_NUMBER_TEXT];

    rp_put_verdict(session, false, "rows",
                   "%lld of %lld used: %s %% are in no figure, %lld left out by data.where, %lld for want of a "
                   "target%s",
                   (long long)n->used, (long long)n->rows, rp_fixed(share, 100 * (double)out / (double)n->rows, 1),
                   (long long)n->left_out, (long long)n->missing_target,
                   again ? "; counted again" : " (as recorded: a replay counts again)");
}

rp_status rp_used_rows_put_line(rp_session *session, const rp_archive *archive, bool again, rp_error *err)
{
    used_rows n;
    bool filters = false;
    rp_status status = read_counts(archive, &n, err);

    if (status == RP_OK && !n.known)
        status = read_filter(archive, &filters, err);
    if (status == RP_OK && n.hidden > 0)
        rp_put_hidden(session, n.hidden, " of the table",
                      again ? "; counted again" : " (as recorded: a replay counts again)");
    if (status == RP_OK && n.known && n.used < n.rows)
        put(session, &n, again);
    else if (status == RP_OK && filters)
        rp_put_verdict(session, false, "rows",
                       "the recipe leaves some out, and nothing here says how many: data/quality.json is withheld, "
                       "missing or unreadable");
    return status;
}

rp_status rp_used_rows_put_json(rp_session *session, const rp_archive *archive, rp_error *err)
{
    rp_buffer *out = &session->out;
    used_rows n;
    rp_status status = read_counts(archive, &n, err);

    if (!n.known) {
        rp_put_json(out, "rows", NULL);
        return status;
    }
    rp_put_open(out, "rows", '{');
    rp_put_integer(out, "hidden", (uint64_t)n.hidden);
    rp_put_integer(out, "left_out", (uint64_t)n.left_out);
    rp_put_integer(out, "missing_target", (uint64_t)n.missing_target);
    rp_put_integer(out, "rows", (uint64_t)n.rows);
    rp_put_integer(out, "used", (uint64_t)n.used);
    rp_put_close(out, '}');
    return status;
}
