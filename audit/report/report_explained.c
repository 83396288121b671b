/* SPDX-License-Identifier: Apache-2.0
 * Explanations that trusted keys have attached (FORMAT.md 15.4): which columns the model needs on the rows named, as a
 * table with bars, then how each moves the score (report_effects.c). */
#include "audit/report/report_explained.h"

#include <string.h>

#include "base/memory.h"
#include "rp/statement.h"

enum { SHOWN_MAX = 3, COLUMNS_MAX = 30, SORTED_MAX = 4096 };

static const rp_json *at(const rp_json *object, const char *key)
{
    return rp_json_object_get(object, key);
}

/* By falling importance, of equal ones the first; those without one come last. mean: [n], room for it. */
static void sort_columns(size_t *order, double *mean, const rp_json *columns, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        size_t k = i;

        if (!rp_explained_mean(rp_json_array_get(columns, i), &mean[i]))
            mean[i] = -1e300;
        for (; k > 0 && mean[i] > mean[order[k - 1]]; k--)
            order[k] = order[k - 1];
        order[k] = i;
    }
}

/* ---- importance ---- */

static void put_importance(rp_buffer *out, const rp_json *column, double low, double high)
{
    const rp_json *importance = at(column, "importance");
    double mean = 0, deviation = 0;
    const bool known = rp_explained_mean(column, &mean) && rp_report_real(at(importance, "deviation"), &deviation);

    rp_buffer_text(out, "<tr><th scope=\"row\"><bdi>");
    rp_explained_name(out, column);
    rp_buffer_text(out, "</bdi></th><td class=\"n\">");
    rp_html_real(out, at(importance, "mean"));
    rp_buffer_text(out, "</td><td class=\"bars\">");
    if (known)
        rp_svg_spread(out, low, high, mean, deviation);
    rp_buffer_text(out, "</td><td class=\"n\">");
    rp_html_real(out, at(importance, "deviation"));
    rp_buffer_text(out, "</td></tr>\n");
}

/* What all bars have in common: 0, and every mean with its deviation. */
static void range_of(const rp_json *columns, const size_t *order, size_t n, double *low, double *high)
{
    double mean, deviation;

    *low = *high = 0;
    for (size_t i = 0; i < n; i++) {
        const rp_json *column = rp_json_array_get(columns, order[i]);

        if (!rp_explained_mean(column, &mean) || !rp_report_real(at(at(column, "importance"), "deviation"), &deviation))
            continue;
        *low = mean - deviation < *low ? mean - deviation : *low;
        *high = mean + deviation > *high ? mean + deviation : *high;
    }
}

static void put_table(rp_report_view *r, const rp_json *predicate, const size_t *order, size_t n)
{
    const rp_json *columns = at(predicate, "columns");
    const size_t shown = n < COLUMNS_MAX ? n : COLUMNS_MAX;
    rp_buffer *out = r->out;
    double low, high;
    bool loss;

    rp_buffer_text(out, "<h4>Importance</h4>\n<p class=\"note\">The ");
    loss = rp_explained_metric(out, predicate);
    rp_buffer_text(out, " is ");
    rp_html_real(out, at(predicate, "value"));
    rp_buffer_printf(out,
                     " on these rows, and %s by so much when one column&#39;s cells are dealt out anew among them: the "
                     "mean of ",
                     loss ? "rises" : "falls");
    rp_html_count(out, (uint64_t)rp_json_integer_value(at(at(predicate, "options"), "repeats")));
    rp_buffer_text(out, " times, and their deviation (the dark line). Where that is the greater, the change says "
                        "nothing. Columns that tell the same share what they are worth.</p>\n");
    range_of(columns, order, shown, &low, &high);
    rp_html_table(out, "slim", NULL, loss ? "Column|#Rise||#Deviation" : "Column|#Fall||#Deviation");
    for (size_t i = 0; i < shown; i++)
        put_importance(out, rp_json_array_get(columns, order[i]), low, high);
    rp_buffer_text(out, "</tbody>\n</table>\n");
    rp_html_note_first(out, shown, n, "columns; the statement has all");
}

/* ---- the section ---- */

static void put_explanation(rp_report_view *r, const rp_verified_statement *one, size_t number)
{
    const rp_json *predicate = one->figures->predicate, *columns = at(predicate, "columns");
    const size_t all = rp_json_array_size(columns), n = all < SORTED_MAX ? all : SORTED_MAX;
    size_t *order = rp_reallocarray(NULL, n + 1, sizeof *order);
    double *mean = rp_reallocarray(NULL, n + 1, sizeof *mean);

    if (!order || !mean) {
        r->out->failed = true;
        rp_free(order);
        rp_free(mean);
        return;
    }
    sort_columns(order, mean, columns, n);
    rp_free(mean);
    rp_buffer_text(r->out, "<p>");
    rp_report_explanation_words(r->out, one->figures);
    rp_buffer_printf(r->out, "; SHA-256 of the rows&#39; file <span class=\"hash\">%.16s\xE2\x80\xA6</span>",
                     one->figures->data);
    rp_report_by(r, one);
    rp_buffer_text(r->out, "</p>\n");
    put_table(r, predicate, order, n);
    rp_explained_effects(r, predicate, order, n, number);
    rp_free(order);
}

/* The newest of those not shown yet; of equal times the first. */
static const rp_verified_statement *newest(const rp_report_view *r, const rp_verified_statement *behind)
{
    const rp_verified_statement *found = NULL;

    for (size_t i = 0; r->verified && i < r->verified->statements; i++) {
        const rp_verified_statement *one = &r->verified->statement[i];
        const int order = behind ? strcmp(one->time, behind->time) : -1;

        if (one->kind != RP_STATEMENT_EXPLANATION || !one->figures->predicate || order > 0 ||
            (order == 0 && one <= behind))
            continue;
        if (!found || strcmp(one->time, found->time) > 0)
            found = one;
    }
    return found;
}

void rp_report_explained_section(rp_report_view *r)
{
    const rp_verified_statement *one = newest(r, NULL);
    size_t shown = 0;

    if (!one)
        return;
    rp_html_section(r->out, "explained", "What moves the score");
    rp_buffer_text(r->out,
                   "<p class=\"note\">As trusted keys have stated it of the rows named; whoever has the rows makes "
                   "it again (<code>reprise explain --check</code>). It tells what the model does with its "
                   "columns, not what causes what: a cell put in another&#39;s place may make a row that never "
                   "occurs, and changing it in life need change no outcome.</p>\n");
    for (; one && shown < SHOWN_MAX; one = newest(r, one))
        put_explanation(r, one, shown++);
    if (one)
        rp_buffer_text(r->out, "<p class=\"note\">Older explanations are listed among the signed statements.</p>\n");
}
