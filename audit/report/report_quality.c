/* SPDX-License-Identifier: Apache-2.0
 * The quality of the table by the eight dimensions of the ECB's guide: what CONTRACT 9.11 counts, in words. */
#include "audit/report/report.h"

enum { NAMED_MAX = 8 };

static void put_name(rp_buffer *out, const rp_json *columns, int64_t at)
{
    const char *name = rp_json_string_value(rp_json_object_get(rp_json_array_get(columns, (size_t)at), "name"));

    if (name)
        rp_html_name(out, name);
    else
        rp_buffer_printf(out, "column %lld", (long long)at);
}

static void put_columns(rp_buffer *out, const rp_json *columns, const rp_json *of, const char *key)
{
    const rp_json *places = rp_json_object_get(of, key);
    const size_t n = rp_json_array_size(places);

    rp_html_count(out, n);
    for (size_t i = 0; i < n && i < NAMED_MAX; i++) {
        rp_buffer_text(out, i ? ", " : " (");
        put_name(out, columns, rp_json_integer_value(rp_json_array_get(places, i)));
    }
    rp_buffer_text(out, n > NAMED_MAX ? " and more)" : n > 0 ? ")" : "");
}

static void put_text(rp_buffer *out, const rp_json *of, const char *key)
{
    const char *text = rp_json_string_value(rp_json_object_get(of, key));

    if (text)
        rp_html_long(out, text);
    else
        rp_buffer_text(out, "<em>not said</em>");
}

static void put_dates(rp_buffer *out, const rp_json *columns, const rp_json *list)
{
    rp_json *one;
    size_t i;

    rp_json_array_foreach (list, i, one) {
        if (i == NAMED_MAX)
            return;
        put_name(out, columns, rp_json_integer_value(rp_json_object_get(one, "column")));
        rp_buffer_printf(out, " from %s to %s; ", rp_json_string_value(rp_json_object_get(one, "first")),
                         rp_json_string_value(rp_json_object_get(one, "last")));
    }
}

/* A count and what of. */
static void put_count(rp_buffer *out, const rp_json *of, const char *key, const char *words)
{
    rp_html_count(out, (uint64_t)rp_json_integer_value(rp_json_object_get(of, key)));
    rp_buffer_text(out, words);
}

static const rp_json *open_row(rp_buffer *out, const rp_json *quality, const char *title, const char *key)
{
    rp_html_row_open(out, title);
    return rp_json_object_get(quality, key);
}

void rp_report_quality(rp_buffer *out, const rp_json *quality)
{
    const rp_json *columns = rp_json_object_get(quality, "columns"), *of;

    rp_html_table(out, NULL, "Quality of the table by dimension (CONTRACT 9.11)", "Dimension|Counted");
    of = open_row(out, quality, "Accuracy", "accuracy");
    put_count(out, of, "outliers",
              " numbers beyond the quartiles by 1.5 of their distance; columns that give the "
              "target away: ");
    put_columns(out, columns, of, "leaks");
    rp_html_row_close(out);
    of = open_row(out, quality, "Completeness", "completeness");
    put_count(out, of, "missing", " of ");
    put_count(out, of, "cells", " cells are missing, columns with such cells: ");
    put_count(out, of, "columns", "");
    rp_html_row_close(out);
    of = open_row(out, quality, "Consistency", "consistency");
    put_count(out, of, "conflicts", " rows with another row's features and another target; ");
    put_count(out, of, "spellings", " classes that another one differs from only in spelling");
    rp_html_row_close(out);
    of = open_row(out, quality, "Timeliness", "timeliness");
    put_dates(out, columns, rp_json_object_get(of, "dates"));
    rp_buffer_text(out, "period by the card: ");
    put_text(out, of, "period");
    rp_html_row_close(out);
    of = open_row(out, quality, "Uniqueness", "uniqueness");
    put_count(out, of, "duplicates", " rows that repeat an earlier one; constant columns: ");
    put_columns(out, columns, of, "constants");
    rp_buffer_text(out, "; columns like ids: ");
    put_columns(out, columns, of, "identifiers");
    rp_html_row_close(out);
    of = open_row(out, quality, "Validity", "validity");
    put_count(
        out, of, "unseen",
        " cells of the validation part in categories without a feature of their own: training had not met them, or "
        "they are rare and pooled");
    rp_html_row_close(out);
    of = open_row(out, quality, "Availability", "availability");
    put_count(out, of, "used", " of ");
    put_count(out, of, "rows", " rows are used; ");
    put_count(out, of, "left_out", " left out by conditions, ");
    put_count(out, of, "missing_target", " for want of a target");
    rp_html_row_close(out);
    if (rp_json_object_get(quality, "test_table")) {
        of = open_row(out, quality, "Test table", "test_table");
        put_count(out, of, "rows", " rows; ");
        put_count(out, of, "without_outcome", " without an outcome, ");
        put_count(out, of, "seen", " that repeat a training row in every feature, as recorded");
        rp_html_row_close(out);
    }
    of = open_row(out, quality, "Traceability", "traceability");
    rp_buffer_text(out, "source by the card: ");
    put_text(out, of, "source");
    rp_html_row_close(out);
    rp_buffer_text(out, "</tbody>\n</table>\n");
}
