/* SPDX-License-Identifier: Apache-2.0
 * Figures by slice and by group of the run, validations and monitorings that trusted keys have signed into the archive,
 * and the drift that the newest of these found, feature by feature. */
#include <stdlib.h>
#include <string.h>

#include "audit/report/report.h"
#include "base/memory.h"
#include "rp/statement.h"

enum { PARTS_MAX = 24, STATED_MAX = 6 };

static const rp_json *at(const rp_json *object, const char *key)
{
    return rp_json_object_get(object, key);
}

static void put_cell(rp_buffer *out, const rp_json *value)
{
    rp_buffer_text(out, "<td class=\"n\">");
    if (rp_json_is_integer(value))
        rp_html_count(out, (uint64_t)rp_json_integer_value(value));
    else
        rp_html_real(out, value);
    rp_buffer_text(out, "</td>");
}

static void put_part_name(rp_buffer *out, const rp_json *part)
{
    const rp_json *value = at(part, "value");

    rp_buffer_text(out, "<th scope=\"row\">");
    if (rp_json_is_string(value)) {
        rp_html_name(out, rp_json_string_value(value));
    } else if (value) {
        rp_buffer_text(out, "(missing)");
    } else {
        rp_buffer_text(out, rp_json_is_null(at(part, "from")) ? "below " : "from ");
        rp_html_real(out, rp_json_is_null(at(part, "from")) ? at(part, "to") : at(part, "from"));
        if (!rp_json_is_null(at(part, "from")) && !rp_json_is_null(at(part, "to"))) {
            rp_buffer_text(out, " to below ");
            rp_html_real(out, at(part, "to"));
        }
    }
    rp_buffer_text(out, "</th>");
}

/* ---- slices and groups ---- */

static const rp_json *figure_of(const rp_json *figures, size_t k)
{
    if (at(figures, "discrimination"))
        return k == 0   ? at(at(figures, "discrimination"), "auc")
               : k == 1 ? at(at(figures, "calibration"), "rate")
                        : at(at(figures, "calibration"), "mean_score");
    if (at(figures, "rmse"))
        return at(figures, k == 0 ? "r2" : k == 1 ? "mae" : "bias");
    return at(figures, k == 0 ? "accuracy" : k == 1 ? "macro_auc" : "log_loss");
}

/* Of an AUC in parts of few rows above all. */
static void put_interval(rp_buffer *out, const rp_json *object, const char *low, const char *high)
{
    rp_buffer_text(out, "<td class=\"n w\">");
    if (rp_json_is_string(at(object, low))) {
        rp_html_real(out, at(object, low));
        rp_buffer_text(out, " to ");
        rp_html_real(out, at(object, high));
    }
    rp_buffer_text(out, "</td>");
}

static const char *heads_of(const rp_json *figures)
{
    return at(figures, "discrimination") ? "|#Rows|#AUC|#Rate|#Score|#AUC, 95\xC2\xA0%"
           : at(figures, "rmse")         ? "|#Rows|#R\xC2\xB2|#MAE|#Bias"
                                         : "|#Rows|#Accuracy|#Mean AUC|#Log loss";
}

static void put_cut(rp_report_view *r, const rp_json *cut, const rp_json *whole)
{
    const rp_json *parts = at(cut, "parts");
    const size_t n = rp_json_array_size(parts), shown = n < PARTS_MAX ? n : PARTS_MAX;
    rp_buffer *out = r->out;

    rp_buffer_text(out, "<h4>By ");
    rp_html_name(out, rp_json_string_value(at(cut, "by")));
    rp_buffer_text(out, "</h4>\n");
    rp_html_table(out, "slim", NULL, heads_of(whole));
    for (size_t i = 0; i < shown; i++) {
        const rp_json *part = rp_json_array_get(parts, i), *figures = at(part, "figures");

        rp_buffer_text(out, "<tr>");
        put_part_name(out, part);
        put_cell(out, at(figures, "rows"));
        for (size_t k = 0; k < 3; k++)
            put_cell(out, figure_of(figures, k));
        if (at(whole, "discrimination"))
            put_interval(out, at(figures, "discrimination"), "auc_low", "auc_high");
        rp_buffer_text(out, "</tr>\n");
    }
    rp_buffer_text(out, "</tbody>\n</table>\n");
    rp_html_note_first(out, shown, n, "parts");
}

/* At which threshold rows are selected, and where another than the recipe's was given. */
static void put_threshold(rp_report_view *r, const rp_json *whole)
{
    const rp_json *list = at(whole, "thresholds"), *given = NULL;
    rp_buffer *out = r->out;
    double value;

    for (size_t i = 0; i < rp_json_array_size(list); i++) {
        const char *rule = rp_json_string_value(at(rp_json_array_get(list, i), "rule"));

        if (rule && strcmp(rule, "given") == 0)
            given = at(rp_json_array_get(list, i), "threshold");
    }
    if (!list)
        return;
    rp_buffer_text(out, " at threshold ");
    if (!given)
        rp_buffer_text(out, "0.5");
    else
        rp_html_real(out, given);
    value = 0.5;
    if (given && !rp_report_real(given, &value))
        return;
    if (value != (r->recipe && r->recipe->validation.has_threshold ? r->recipe->validation.threshold : 0.5))
        rp_buffer_text(out, ", <strong>which is not the recipe&#39;s</strong>: whoever made this statement chose it");
}

static void put_selection(rp_report_view *r, const rp_json *cut, const rp_json *whole)
{
    const rp_json *parts = at(cut, "parts"), *summary = at(cut, "summary");
    rp_buffer *out = r->out;

    if (!summary)
        return;
    rp_buffer_text(out, "<p class=\"note\">Selected: predicted ");
    rp_html_name(out, rp_json_string_value(at(cut, "favourable")));
    put_threshold(r, whole);
    rp_buffer_text(out,
                   ". Groups of fewer than 30 rows are few: they are no standard for others and no part of the "
                   "ratio in all. A screening, to be read with its counts and intervals.</p>\n<div class=\"wide\">");
    rp_html_table(out, "slim", NULL, "|#Rows|#Selected|#Rate|#Ratio|#95\xC2\xA0%|Few");
    for (size_t i = 0; i < rp_json_array_size(parts) && i < PARTS_MAX; i++) {
        const rp_json *part = rp_json_array_get(parts, i), *s = at(part, "selection");

        if (!s)
            continue;
        rp_buffer_text(out, "<tr>");
        put_part_name(out, part);
        put_cell(out, at(s, "rows"));
        put_cell(out, at(s, "selected"));
        put_cell(out, at(s, "rate"));
        put_cell(out, at(s, "ratio"));
        put_interval(out, s, "ratio_low", "ratio_high");
        rp_buffer_printf(out, "<td>%s</td></tr>\n", rp_json_is_true(at(s, "small")) ? "few" : "");
    }
    rp_buffer_text(out, "</tbody>\n</table></div>\n");
    if (!rp_json_is_string(at(summary, "ratio"))) {
        rp_buffer_text(out, "<p>Nothing was compared: fewer than two groups of 30 rows have rates.</p>\n");
        return;
    }
    rp_buffer_text(out, "<p>Lowest to highest rate: ratio ");
    rp_html_real(out, at(summary, "ratio"));
    rp_buffer_text(out, ", difference ");
    rp_html_real(out, at(summary, "difference"));
    rp_buffer_text(out, "; difference of odds ");
    rp_html_real(out, at(summary, "odds"));
    rp_buffer_text(out, ".</p>\n");
}

static void put_cuts(rp_report_view *r, const rp_json *holder, const rp_json *whole)
{
    const rp_json *slices = at(holder, "slices"), *groups = at(holder, "groups");

    for (size_t i = 0; i < rp_json_array_size(slices); i++)
        put_cut(r, rp_json_array_get(slices, i), whole);
    for (size_t i = 0; i < rp_json_array_size(groups); i++) {
        put_cut(r, rp_json_array_get(groups, i), whole);
        put_selection(r, rp_json_array_get(groups, i), whole);
    }
}

/* ---- statements ---- */

static const rp_verified_statement *newest(const rp_report_view *r)
{
    const rp_verified_statement *found = NULL;

    for (size_t i = 0; r->verified && i < r->verified->statements; i++) {
        const rp_verified_statement *one = &r->verified->statement[i];

        if (one->kind == RP_STATEMENT_MONITORING && one->figures->predicate &&
            (!found || one->figures->number > found->figures->number))
            found = one;
    }
    return found;
}

/* The newest first, of one time by the names that they have in the archive. */
static int newest_first(const void *a, const void *b)
{
    const rp_verified_statement *x = *(const rp_verified_statement *const *)a;
    const rp_verified_statement *y = *(const rp_verified_statement *const *)b;
    const int times = strcmp(y->time, x->time);

    return times ? times : strcmp(x->member, y->member);
}

/* NULL when memory runs out. */
static const rp_verified_statement **validations(const rp_verification *v, size_t *n)
{
    const rp_verified_statement **list = rp_reallocarray(NULL, v->statements + 1, sizeof *list);

    *n = 0;
    for (size_t i = 0; list && i < v->statements; i++)
        if (v->statement[i].kind == RP_STATEMENT_VALIDATION && v->statement[i].figures->predicate)
            list[(*n)++] = &v->statement[i];
    if (list)
        qsort(list, *n, sizeof *list, newest_first);
    return list;
}

static void put_validations(rp_report_view *r)
{
    const rp_verified_statement **list;
    size_t n = 0;

    if (!r->verified)
        return;
    list = validations(r->verified, &n);
    r->out->failed = r->out->failed || !list;
    if (n)
        rp_buffer_text(r->out, "<h3>Validations by trusted keys</h3>\n");
    for (size_t i = 0; i < n && i < STATED_MAX; i++) {
        rp_buffer_text(r->out, "<p>");
        rp_report_figures_words(r->out, list[i]->figures);
        rp_report_by(r, list[i]);
        rp_buffer_text(r->out, "</p>\n");
        put_cuts(r, list[i]->figures->predicate, at(list[i]->figures->predicate, "figures"));
    }
    if (n > STATED_MAX)
        rp_buffer_printf(r->out, "<p class=\"note\">The newest %d of %zu, the newest first.</p>\n", (int)STATED_MAX, n);
    rp_free(list);
}

static void put_stated(rp_report_view *r)
{
    const rp_verified_statement *last = newest(r);

    put_validations(r);
    if (!last)
        return;
    rp_buffer_text(r->out, "<h3>Monitoring by trusted keys</h3>\n<p>");
    rp_report_figures_words(r->out, last->figures);
    rp_report_by(r, last);
    rp_buffer_text(r->out, "</p>\n");
    rp_report_column_drift(r, at(last->figures->predicate, "columns"), "The newest monitoring");
}

void rp_report_slices(rp_report_view *r, const rp_json *part)
{
    const rp_json *mean, *deviation;
    const bool held = rp_json_is_object(at(r->metrics, "validation"));

    if (rp_json_array_size(at(part, "slices")) + rp_json_array_size(at(part, "groups")) > 0) {
        rp_buffer_printf(r->out,
                         "<h3>By slice and by group</h3>\n<p class=\"note\">Of the %s. Each part&#39;s own "
                         "figures%s.</p>\n",
                         held ? "validation rows"
                         : rp_report_folds(r->metrics, &mean, &deviation)
                             ? "rows that the final model <strong>was trained on</strong>, which flatters: "
                               "<code>reprise validate --part folds</code> takes slices of the folds&#39; scores"
                             : "rows that it <strong>was trained on</strong>, which flatters: no others were kept",
                         rp_json_object_get(at(part, "figures"), "discrimination")
                             ? "; the rate of the positive class as observed, beside the mean score"
                         : rp_json_object_get(at(part, "figures"), "bias")
                             ? "; the bias is the mean of prediction less truth"
                             : "");
        put_cuts(r, part, at(part, "figures"));
    }
    put_stated(r);
    rp_report_retrainings(r);
}
