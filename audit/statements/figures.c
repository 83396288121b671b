/* SPDX-License-Identifier: Apache-2.0
 * Statements of figures (FORMAT.md 5.9, 15): what a validation, a monitoring, an explanation or a retraining found.
 * What the figures are is the matter of the rooms of those names; here only their form is looked at, and what tells one
 * statement from another. */
#include <string.h>

#include "audit/statements/statement.h"
#include "base/memory.h"
#include "base/text.h"

/* All that a predicate has, and nothing else. */
static bool has_keys(const rp_json *object, const char *const *keys, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (rp_json_object_get(object, keys[i]) == NULL)
            return false;
    return rp_json_object_size(object) == count;
}

static bool in_form(const rp_json *predicate, rp_statement_kind kind)
{
    static const char *const validation[] = {"classes", "contract", "data",   "development", "figures",
                                             "groups",  "options",  "slices", "time"};
    static const char *const monitoring[] = {"classes", "columns", "contract", "data",    "development", "figures",
                                             "number",  "period",  "previous", "samples", "scores",      "time"};
    static const char *const explanation[] = {"columns", "contract", "curve_rows", "data", "favourable", "metric",
                                              "options", "score",    "scored",     "time", "value"};
    static const char *const retraining[] = {"changes", "classes", "contract", "data",        "decisions", "difference",
                                             "drift",   "figures", "options",  "predecessor", "scores",    "time"};

    switch (kind) {
    case RP_STATEMENT_VALIDATION:
        return has_keys(predicate, validation, sizeof validation / sizeof *validation) &&
               rp_json_is_array(rp_json_object_get(predicate, "slices")) &&
               rp_json_is_array(rp_json_object_get(predicate, "groups")) &&
               rp_json_is_object(rp_json_object_get(predicate, "figures"));
    case RP_STATEMENT_MONITORING:
        return has_keys(predicate, monitoring, sizeof monitoring / sizeof *monitoring) &&
               rp_json_is_array(rp_json_object_get(predicate, "scores")) &&
               rp_json_is_array(rp_json_object_get(predicate, "columns"));
    case RP_STATEMENT_RETRAINING:
        return has_keys(predicate, retraining, sizeof retraining / sizeof *retraining) &&
               rp_json_is_array(rp_json_object_get(predicate, "scores")) &&
               rp_json_is_object(rp_json_object_get(rp_json_object_get(predicate, "figures"), "child")) &&
               rp_json_is_object(rp_json_object_get(rp_json_object_get(predicate, "figures"), "parent"));
    default:
        return has_keys(predicate, explanation, sizeof explanation / sizeof *explanation) &&
               rp_json_is_array(rp_json_object_get(predicate, "columns")) &&
               rp_json_is_string(rp_json_object_get(predicate, "metric"));
    }
}

/* -1: it does not say. */
static int64_t count_of(const rp_json *data, const char *key)
{
    const rp_json *count = rp_json_object_get(data, key);

    return rp_json_is_integer(count) && rp_json_integer_value(count) >= 0 ? rp_json_integer_value(count) : -1;
}

/* {bytes, rows, sha256, without_outcome} and what else is told of rows. The rows that count are those that were judged:
 * but in a monitoring those with an outcome, so that rows without one, which enter no figure, make up no number of
 * them. */
static bool read_data(rp_stated_figures *out, const rp_json *data, rp_statement_kind kind)
{
    const rp_json *rows = rp_json_object_get(data, "rows");
    const rp_json *without = rp_json_object_get(data, "without_outcome");
    const char *hex = rp_json_string_value(rp_json_object_get(data, "sha256"));
    unsigned char digest[32];

    if (!rp_json_is_integer(rows) || !rp_json_is_integer(without) || rp_json_integer_value(without) < 0 ||
        rp_json_integer_value(rows) < rp_json_integer_value(without) || hex == NULL ||
        !rp_unhex(digest, sizeof digest, hex))
        return false;
    out->rows = (uint64_t)rp_json_integer_value(rows);
    if (kind != RP_STATEMENT_MONITORING)
        out->rows -= (uint64_t)rp_json_integer_value(without);
    out->seen = count_of(data, "seen");
    out->other = count_of(data, kind == RP_STATEMENT_MONITORING ? "own" : "chose");
    out->own = kind == RP_STATEMENT_MONITORING ? 0 : count_of(data, "own");
    out->left_out = count_of(data, "left_out");
    out->called_missing = kind == RP_STATEMENT_VALIDATION ? count_of(data, "called_missing") : 0;
    out->hidden = count_of(data, "hidden") > 0 ? count_of(data, "hidden") : 0;
    memcpy(out->data, hex, RP_DIGEST_HEX);
    return true;
}

/* Whether the rows are the child's own, and whom it is held against. */
static bool read_retraining(rp_stated_figures *out, const rp_json *predicate, const rp_json *part)
{
    const char *own = rp_json_string_value(part);
    const char *id =
        rp_json_string_value(rp_json_object_get(rp_json_object_get(predicate, "predecessor"), "archive_id"));
    unsigned char digest[32];

    if (id == NULL || !rp_unhex(digest, sizeof digest, id))
        return false;
    memcpy(out->predecessor, id, RP_DIGEST_HEX);
    out->test = own != NULL && strcmp(own, "test") == 0;
    out->validation = own != NULL && strcmp(own, "validation") == 0;
    return out->test || out->validation || rp_json_is_null(part);
}

/* Of a monitoring its place in the chain; of others whether their rows are the run's own. */
static bool read_scope(rp_stated_figures *out, const rp_json *predicate, rp_statement_kind kind)
{
    const rp_json *part = rp_json_object_get(rp_json_object_get(predicate, "options"), "part");
    const rp_json *number = rp_json_object_get(predicate, "number"), *period = rp_json_object_get(predicate, "period");
    const char *name = rp_json_string_value(period), *own = rp_json_string_value(part);

    if (kind == RP_STATEMENT_RETRAINING)
        return read_retraining(out, predicate, part);
    if (kind != RP_STATEMENT_MONITORING) {
        out->test = own != NULL && strcmp(own, "test") == 0;
        return out->test || rp_json_is_null(part);
    }
    if (!rp_json_is_integer(number) || rp_json_integer_value(number) < 1 ||
        rp_json_integer_value(number) > RP_PERIODS_MAX ||
        (name ? !rp_line_fits(name, sizeof out->period) : !rp_json_is_null(period)))
        return false;
    out->number = (uint64_t)rp_json_integer_value(number);
    if (name)
        memcpy(out->period, name, strlen(name) + 1);
    return true;
}

rp_status rp_figures_read(rp_stated_figures *out, rp_json *predicate, rp_statement_kind kind, const char *where,
                          rp_error *err)
{
    const char *time = rp_json_string_value(rp_json_object_get(predicate, "time"));

    memset(out, 0, sizeof *out);
    if (!in_form(predicate, kind) || !read_data(out, rp_json_object_get(predicate, "data"), kind) ||
        !read_scope(out, predicate, kind))
        return rp_fail(err, RP_ESIGN, "%s: predicate: expected the keys and values of %s by FORMAT 15", where,
                       kind == RP_STATEMENT_VALIDATION   ? "a validation"
                       : kind == RP_STATEMENT_MONITORING ? "a monitoring"
                       : kind == RP_STATEMENT_RETRAINING ? "a retraining"
                                                         : "an explanation");
    if (time == NULL || !rp_time_valid(time))
        return rp_fail(err, RP_ESIGN, "%s: predicate.time: expected a time as 2026-11-21T15:04:05Z", where);
    memcpy(out->time, time, sizeof out->time);
    out->predicate = rp_json_share(predicate);
    return RP_OK;
}

void rp_figures_clear(rp_stated_figures *figures)
{
    if (figures == NULL)
        return;
    rp_json_free(figures->predicate);
    rp_free(figures);
}
