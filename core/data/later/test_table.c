/* SPDX-License-Identifier: Apache-2.0
 * A test table is read as later rows are: by the schema alone. */
#include "core/data/later/test_table.h"

#include <stdio.h>

#include "base/memory.h"
#include "base/text.h"
#include "core/data/later/seen.h"
#include "core/data/later/written.h"
#include "core/data/profile/profile.h"
#include "core/data/schema.h"

enum { VALUES_AT_A_TIME = 1 << 17 };

/* Every row is encoded, and forgotten: a cell that cannot be is told by its line now and not when somebody validates.
 */
static rp_status encode_all(const rp_rows *rows, const rp_schema *schema, rp_error *err)
{
    const size_t width = schema->features, n = rp_rows_count(rows);
    const size_t most = width < VALUES_AT_A_TIME ? VALUES_AT_A_TIME / width : 1;
    double *x = rp_reallocarray(NULL, most, width * sizeof *x); /* room for either format */
    rp_status status = x ? RP_OK : rp_no_memory(err);

    for (size_t first = 0; first < n && status == RP_OK; first += most)
        status = rp_rows_encode(rows, first, n - first < most ? n - first : most, x, err);
    rp_free(x);
    return status;
}

static rp_status look_at_target(const rp_written *texts, const rp_schema *schema, const rp_table_bytes *test,
                                size_t *without, rp_error *err)
{
    const size_t n = rp_written_rows(texts);
    int64_t *label = schema->classes ? rp_calloc(n + 1, sizeof *label) : NULL;
    double *value = schema->classes ? NULL : rp_calloc(n + 1, sizeof *value);
    bool *known = rp_calloc(n + 1, sizeof *known);
    rp_status status = known && (label || value) ? RP_OK : rp_no_memory(err);

    if (status == RP_OK)
        status = rp_written_outcomes(texts, NULL, 0, label, value, known, err);
    *without = n;
    for (size_t i = 0; i < n && status == RP_OK; i++)
        *without -= known[i];
    if (status == RP_OK && *without == n)
        status = rp_fail(err, RP_EDATA,
                         "%s: key data.test_csv: expected rows with an outcome, found none: the target's column is not "
                         "there or empty",
                         test->where);
    rp_free(label);
    rp_free(value);
    rp_free(known);
    return status;
}

static rp_status count_outcomes(const rp_schema *schema, const rp_recipe *recipe, const rp_table_bytes *test,
                                size_t *without, rp_error *err)
{
    rp_written *texts = NULL;
    rp_status status = rp_written_open(&texts, schema, recipe, test->bytes, test->size, test->where, err);

    if (status == RP_OK)
        status = rp_written_load(texts, NULL, err);
    if (status == RP_OK)
        status = look_at_target(texts, schema, test, without, err);
    rp_written_free(texts);
    return status;
}

/* Rows that somebody may have left out of what the run is judged by. */
static rp_status tell_hidden(const rp_dataset *d, const rp_cells *cells, size_t count)
{
    char words[RP_ERROR_TEXT];

    (void)snprintf(words, sizeof words,
                   "%zu %s of data.test_csv %s as many cells as a row, and %s passed over by data.comment or "
                   "data.skip_lines",
                   count, count == 1 ? "line" : "lines", count == 1 ? "has" : "have", count == 1 ? "is" : "are");
    return rp_profile_add(d->profile, cells,
                          &(rp_finding){"test_hidden", false, SIZE_MAX, SIZE_MAX, count, NULL, words});
}

static rp_status tell(const rp_dataset *d, const rp_recipe *recipe, const rp_rows *rows, const rp_tally *seen,
                      size_t without, rp_error *err)
{
    const rp_cells cells = {.table = rp_rows_table(rows), .err = err};
    const size_t n = rp_rows_count(rows), hidden = rp_rows_table(rows)->hidden;
    char words[RP_ERROR_TEXT];
    rp_status status = RP_OK;
    rp_json *counts = rp_json_pack("{s:I, s:I, s:I}", "rows", (int64_t)n, "seen", (int64_t)seen->count,
                                   "without_outcome", (int64_t)without);

    if ((hidden > 0 && rp_json_object_set_new(counts, "hidden_rows", rp_json_integer((int64_t)hidden)) != 0) ||
        rp_json_object_set(rp_json_object_get(d->profile, "quality"), "test_table", counts) != 0)
        status = rp_no_memory(err);
    rp_json_free(counts);
    if (status == RP_OK && hidden > 0)
        status = tell_hidden(d, &cells, hidden);
    if (status != RP_OK)
        return status;
    if (recipe->data.reading.n_where > 0 &&
        rp_profile_add(
            d->profile, &cells,
            &(rp_finding){"test_unfiltered", true, SIZE_MAX, SIZE_MAX, n, NULL,
                          "data.where is not applied to the rows of data.test_csv: all of them are judged"}) != RP_OK)
        return RP_ENOMEM;
    if (seen->count == 0)
        return RP_OK;
    (void)snprintf(
        words, sizeof words,
        "%zu of the %zu rows of data.test_csv have in every feature what a training row has, the first in its "
        "line %zu: if they are the same cases, figures of them flatter the model",
        seen->count, n, rp_table_line(rp_rows_table(rows), seen->first));
    return rp_profile_add(d->profile, &cells,
                          &(rp_finding){"test_seen", false, SIZE_MAX, SIZE_MAX, seen->count, NULL, words});
}

rp_status rp_test_table_check(const rp_dataset *d, const rp_recipe *recipe, const rp_table_bytes *own,
                              const rp_table_bytes *test, rp_error *err)
{
    rp_rows *rows = NULL, *trained = NULL;
    rp_tally seen = {.count = 0};
    size_t without = 0;
    rp_status status = rp_rows_open(&rows, d->schema, recipe, test->bytes, test->size, test->where, NULL, err);

    if (status == RP_OK)
        status = encode_all(rows, d->schema, err);
    if (status == RP_OK)
        status = count_outcomes(d->schema, recipe, test, &without, err);
    if (status == RP_OK)
        status = rp_rows_open(&trained, d->schema, recipe, own->bytes, own->size, own->where, recipe, err);
    if (status == RP_OK)
        status = rp_rows_seen(&seen, d->schema, rows, trained, d->train_row, d->train_rows, err);
    if (status == RP_OK)
        status = tell(d, recipe, rows, &seen, without, err);
    rp_rows_free(trained);
    rp_rows_free(rows);
    return status;
}
