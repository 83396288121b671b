/* SPDX-License-Identifier: Apache-2.0
 * Sums of counts: of the classes, of each column with its missing cells, of each score. */
#include "audit/trust/figures/reference_counts.h"

#include <stdio.h>
#include <string.h>

#include "audit/archive/archive_private.h"

static const int64_t most = (int64_t)1 << 31;

/* False where a count is none. */
static bool add(int64_t *sum, const rp_json *counts)
{
    for (size_t i = 0; i < rp_json_array_size(counts); i++) {
        const rp_json *count = rp_json_array_get(counts, i);

        if (!rp_json_is_integer(count) || rp_json_integer_value(count) < 0 || rp_json_integer_value(count) > most)
            return false;
        *sum += rp_json_integer_value(count);
    }
    return rp_json_is_array(counts);
}

static rp_status differ(const char *place, size_t i, int64_t rows, int64_t sum, rp_error *err)
{
    return rp_fail(err, RP_EFORMAT,
                   RP_REFERENCE_MEMBER
                   ": %s[%zu]: expected counts that sum to the %lld training rows, found %lld: no run "
                   "writes such; replay the archive",
                   place, i, (long long)rows, (long long)sum);
}

/* A list of objects with counts, and with missing cells beside them where missing says so. */
static rp_status check_list(const rp_json *list, const char *place, bool missing, int64_t rows, rp_error *err)
{
    for (size_t i = 0; i < rp_json_array_size(list); i++) {
        const rp_json *one = rp_json_array_get(list, i), *none = rp_json_object_get(one, "missing");
        int64_t sum = missing && rp_json_is_integer(none) ? rp_json_integer_value(none) : 0;

        if (sum < 0 || sum > most || !add(&sum, rp_json_object_get(one, "counts")))
            return rp_fail(err, RP_EFORMAT, RP_REFERENCE_MEMBER ": %s[%zu]: expected counts of 0 to 2^31", place, i);
        if (sum != rows)
            return differ(place, i, rows, sum, err);
    }
    return RP_OK;
}

rp_status rp_reference_adds_up(const rp_json *reference, rp_error *err)
{
    const rp_json *rows = rp_json_object_get(reference, "rows"), *classes = rp_json_object_get(reference, "classes");
    int64_t sum = 0;
    rp_status status;

    if (!rp_json_is_integer(rows) || rp_json_integer_value(rows) < 1 || rp_json_integer_value(rows) > most)
        return rp_fail(err, RP_EFORMAT, RP_REFERENCE_MEMBER ": rows: expected 1 to 2^31 training rows");
    if (classes && !add(&sum, classes))
        return rp_fail(err, RP_EFORMAT, RP_REFERENCE_MEMBER ": classes: expected counts of 0 to 2^31");
    if (classes && sum != rp_json_integer_value(rows))
        return differ("classes", 0, rp_json_integer_value(rows), sum, err);
    status = check_list(rp_json_object_get(reference, "columns"), "columns", true, rp_json_integer_value(rows), err);
    return status == RP_OK
               ? check_list(rp_json_object_get(reference, "scores"), "scores", false, rp_json_integer_value(rows), err)
               : status;
}

/* One that is not canonical JSON is no run's either. */
rp_status rp_reference_check(const rp_archive *archive, rp_error *err)
{
    const rp_member *member = rp_archive_find(archive, RP_REFERENCE_MEMBER);
    rp_json *reference = NULL;
    rp_buffer text = {0};
    rp_status status;

    if (!member)
        return RP_OK;
    if (member->size > rp_member_kind_of(RP_REFERENCE_MEMBER)->held)
        return rp_fail(err, RP_EFORMAT, RP_REFERENCE_MEMBER ": %llu bytes, no run writes so many",
                       (unsigned long long)member->size);
    status = rp_archive_member_body(archive, member, &text, err);
    if (status == RP_OK)
        status = rp_json_parse_within(&reference, text.data, text.size, RP_JSON_MEMORY, true, RP_REFERENCE_MEMBER, err);
    if (status == RP_OK)
        status = rp_reference_adds_up(reference, err);
    rp_json_free(reference);
    rp_buffer_free(&text);
    return status;
}
