/* SPDX-License-Identifier: Apache-2.0
 * What the table holds, looked at again from the CSV in the archive (CONTRACT 9.9): figures a column, and findings. */
#include <string.h>

#include "audit/report/report.h"
#include "base/memory.h"
#include "core/data/learnt.h"
#include "core/data/profile/quality.h"

enum { ROWS_MAX = 1000, FINDINGS_MAX = 200, DAY_TEXT = 16 };

/* Of a test table what the run counted: only a replay reads that table again. */
static rp_status copy_test_counts(rp_report_view *r, rp_error *err)
{
    rp_json *recorded = NULL, *counts;
    rp_status status = RP_OK;

    if (!r->recipe->data.test_csv || !rp_archive_find(r->archive, RP_QUALITY_MEMBER))
        return RP_OK;
    status = rp_archive_read_json(r->archive, RP_QUALITY_MEMBER, &recorded, err);
    counts = rp_json_object_get(recorded, "test_table");
    if (counts && rp_json_object_set(r->data.quality, "test_table", counts) != 0)
        status = rp_no_memory(err);
    rp_json_free(recorded);
    return status;
}

/* What the run told of reading and dividing the table. A table that this version would refuse has nothing to tell. */
static rp_status retell(rp_report_view *r, rp_error *err)
{
    rp_error refused = {0};
    const rp_cells cells = {.recipe = r->recipe, .table = r->data.table, .where = RP_TABLE_MEMBER, .err = &refused};
    rp_status status = rp_dataset_tell(r->data.profile, &cells, r->schema);

    return status == RP_ENOMEM ? rp_no_memory(err) : RP_OK;
}

rp_status rp_report_read_profile(rp_report_view *r, rp_error *err)
{
    const rp_cells cells = {.recipe = r->recipe, .table = r->data.table, .where = RP_TABLE_MEMBER, .err = err};
    rp_column_kind *kind = rp_calloc(r->schema->n_columns, sizeof *kind);
    size_t target = SIZE_MAX;
    rp_status status = kind ? RP_OK : rp_no_memory(err);

    for (size_t i = 0; i < r->schema->n_columns && status == RP_OK; i++) {
        kind[i] = r->schema->columns[i].date ? RP_COL_DATE : r->schema->columns[i].kind;
        target = r->schema->columns[i].target ? i : target;
    }
    if (status == RP_OK)
        status = rp_profile_table(&r->data.profile, &cells, kind, target);
    if (status == RP_OK)
        status = retell(r, err);
    if (status == RP_OK)
        status = rp_quality(&r->data.quality, &cells, r->data.profile, r->schema->json);
    if (status == RP_OK)
        status = copy_test_counts(r, err);
    rp_free(kind);
    return status;
}

/* A quantile between two dates has a time of the day, which would take the room of the next column. */
static void put_day(rp_buffer *out, const char *date)
{
    char day[DAY_TEXT + 1];
    const size_t n = strcspn(date, "T") < DAY_TEXT ? strcspn(date, "T") : DAY_TEXT;

    memcpy(day, date, n);
    day[n] = '\0';
    rp_html_name(out, day);
}

static void put_quantile(rp_buffer *out, const rp_json *quantiles, size_t at)
{
    const rp_json *quantile = rp_json_array_get(quantiles, at);
    double number;

    rp_buffer_text(out, "<td class=\"n\">");
    if (rp_report_real(quantile, &number))
        rp_html_real(out, quantile);
    else if (rp_json_is_string(quantile)) /* of a date */
        put_day(out, rp_json_string_value(quantile));
    rp_buffer_text(out, "</td>");
}

static void put_row(rp_buffer *out, const rp_json *column, size_t at)
{
    const char *name = rp_json_string_value(rp_json_object_get(column, "name"));
    const rp_json *quantiles = rp_json_object_get(column, "quantiles"), *examples;
    rp_json *example;
    size_t i;

    rp_buffer_text(out, "<tr><th scope=\"row\">");
    if (name)
        rp_html_name(out, name);
    else
        rp_buffer_printf(out, "column %zu", at);
    rp_buffer_text(out, "</th><td class=\"n\">");
    rp_html_count(out, (uint64_t)rp_json_integer_value(rp_json_object_get(column, "missing")));
    rp_buffer_text(out, "</td><td class=\"n\">");
    rp_html_count(out, (uint64_t)rp_json_integer_value(rp_json_object_get(column, "distinct")));
    rp_buffer_text(out, "</td>");
    for (size_t k = 0; k < RP_QUANTILES; k += k == 0 || k == 4 ? 2 : 1)
        put_quantile(out, quantiles, k);
    rp_buffer_text(out, "<td class=\"text\">");
    examples = rp_json_object_get(column, "examples");
    rp_json_array_foreach (examples, i, example) {
        rp_buffer_text(out, i ? ", " : "");
        rp_html_name(out, rp_json_string_value(example));
    }
    rp_buffer_text(out, "</td></tr>\n");
}

static void put_findings(rp_buffer *out, const rp_json *profile)
{
    const rp_json *list = rp_json_object_get(profile, "findings");
    size_t n = rp_json_array_size(list), i;
    rp_json *finding;

    if (n == 0) {
        rp_buffer_text(out, "<p>Nothing in the table stood out by the rules of CONTRACT 9.9.</p>\n");
        return;
    }
    rp_buffer_text(out, "<ul>\n");
    rp_json_array_foreach (list, i, finding) {
        const char *level = rp_json_string_value(rp_json_object_get(finding, "level"));
        rp_buffer words = {0};

        if (i == FINDINGS_MAX)
            break;
        rp_finding_words(&words, profile, finding);
        rp_buffer_u8(&words, 0);
        rp_buffer_printf(out, "<li>%s: ", level && strcmp(level, "warning") == 0 ? "<strong>warning</strong>" : "note");
        rp_html_long(out, words.failed ? "" : (const char *)words.data);
        rp_buffer_text(out, "</li>\n");
        out->failed |= words.failed;
        rp_buffer_free(&words);
    }
    rp_buffer_text(out, "</ul>\n");
    rp_html_note_first(out, FINDINGS_MAX, n, "findings");
}

void rp_report_table(rp_report_view *r)
{
    const rp_json *columns = rp_json_object_get(r->data.profile, "columns");
    size_t n = rp_json_array_size(columns);

    if (!r->data.profile)
        return;
    rp_buffer_text(r->out, "<h3>What the table holds</h3>\n");
    put_findings(r->out, r->data.profile);
    rp_report_quality(r->out, r->data.quality);
    rp_buffer_text(r->out, "<div class=\"wide\">");
    rp_html_table(r->out, "dense", "All rows; quantiles of the cells that are numbers",
                  "Column|#Missing|#Distinct|#Minimum|#25 %|#Median|#75 %|#Maximum|Examples");
    for (size_t i = 0; i < n && i < ROWS_MAX; i++)
        put_row(r->out, rp_json_array_get(columns, i), i);
    rp_buffer_text(r->out, "</tbody>\n</table></div>\n");
    rp_html_note_first(r->out, ROWS_MAX, n, "columns");
}
