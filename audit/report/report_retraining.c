/* SPDX-License-Identifier: Apache-2.0
 * Comparisons with a parent that trusted keys have signed into the archive: figures of both on the same rows, how
 * scores migrate between the parent's bands, which decisions change, and the drift between both trainings. */
#include <string.h>

#include "audit/report/report.h"
#include "rp/statement.h"

enum { STATED_MAX = 4, SCORES_MAX = 4, COLUMNS_MAX = 30 };

static const rp_json *at(const rp_json *object, const char *key)
{
    return rp_json_object_get(object, key);
}

static void put_count(rp_buffer *out, const rp_json *object, const char *key)
{
    rp_html_count(out, (uint64_t)rp_json_integer_value(at(object, key)));
}

/* ---- figures of both ---- */

typedef struct figure {
    const char *label, *in, *key; /* in NULL: on the first level */
} figure;

static const rp_json *figure_at(const rp_json *figures, const figure *f)
{
    const rp_json *in = f->in ? at(figures, f->in) : figures;

    return at(rp_json_is_array(in) ? rp_json_array_get(in, 0) : in, f->key); /* of thresholds one half's */
}

static void put_row(rp_buffer *out, const char *label, const rp_json *parent, const rp_json *child,
                    const rp_json *paired)
{
    double before, now;

    rp_buffer_printf(out, "<tr><th scope=\"row\">%s</th><td class=\"n\">", label);
    if (parent)
        rp_html_real(out, parent);
    rp_buffer_text(out, "</td><td class=\"n\">");
    if (child)
        rp_html_real(out, child);
    rp_buffer_text(out, "</td><td class=\"n\">");
    if (paired)
        rp_html_real(out, at(paired, "difference"));
    else if (rp_report_real(parent, &before) && rp_report_real(child, &now))
        rp_html_number(out, now - before);
    rp_buffer_text(out, "</td><td class=\"n w\">");
    if (rp_json_is_string(at(paired, "low"))) {
        rp_html_real(out, at(paired, "low"));
        rp_buffer_text(out, " to ");
        rp_html_real(out, at(paired, "high"));
    }
    rp_buffer_text(out, "</td></tr>\n");
}

static void put_figures(rp_buffer *out, const rp_json *predicate)
{
    static const figure two[] = {{"AUC", "discrimination", "auc"},
                                 {"KS", "discrimination", "ks"},
                                 {"Brier", "calibration", "brier"},
                                 {"Log loss", "calibration", "log_loss"},
                                 {"Accuracy at 0.5", "thresholds", "accuracy"}};
    static const figure more[] = {
        {"Accuracy", NULL, "accuracy"}, {"Mean AUC", NULL, "macro_auc"}, {"Log loss", NULL, "log_loss"}};
    static const figure quantity[] = {
        {"R\xC2\xB2", NULL, "r2"}, {"RMSE", NULL, "rmse"}, {"MAE", NULL, "mae"}, {"Bias", NULL, "bias"}};
    const rp_json *parent = at(at(predicate, "figures"), "parent"), *child = at(at(predicate, "figures"), "child");
    const rp_json *difference = at(predicate, "difference");
    const bool binary = at(child, "discrimination") != NULL, classes = binary || at(child, "by_class") != NULL;
    const figure *list = binary ? two : classes ? more : quantity;
    const size_t n = binary ? sizeof two / sizeof *two : classes ? sizeof more / sizeof *more : 4;

    rp_buffer_text(out, "<div class=\"wide\">");
    rp_html_table(out, "slim", NULL, "|#Parent|#This run|#Change|#95\xC2\xA0%");
    for (size_t i = 0; i < n; i++)
        put_row(out, list[i].label, figure_at(parent, &list[i]), figure_at(child, &list[i]),
                binary && i == 0 ? at(difference, "auc") : NULL);
    put_row(out, "Squared error a row", NULL, NULL, at(difference, "loss"));
    rp_buffer_text(out, "</tbody>\n</table></div>\n");
}

/* ---- scores ---- */

static void put_migration(rp_buffer *out, const rp_json *score)
{
    const rp_json *rows = at(score, "migration"), *moved = at(score, "moved");
    const size_t n = rp_json_array_size(rows);

    if (n == 0)
        return;
    rp_buffer_text(out, "<p>Bands of the parent&#39;s training scores: ");
    put_count(out, moved, "same");
    rp_buffer_text(out, " rows stay in theirs, ");
    put_count(out, moved, "up");
    rp_buffer_text(out, " go up, ");
    put_count(out, moved, "down");
    rp_buffer_text(out, " down, ");
    put_count(out, moved, "beyond_next");
    rp_buffer_text(out, " of them beyond the next band. Down the side the parent&#39;s band, across this run&#39;s."
                        "</p>\n<div class=\"wide\"><table class=\"slim\"><thead><tr><td></td>");
    for (size_t i = 0; i < n; i++)
        rp_buffer_printf(out, "<th scope=\"col\" class=\"n\">%zu</th>", i + 1);
    rp_buffer_text(out, "</tr></thead>\n<tbody>\n");
    for (size_t i = 0; i < n; i++) {
        const rp_json *row = rp_json_array_get(rows, i);

        rp_buffer_printf(out, "<tr><th scope=\"row\">%zu</th>", i + 1);
        for (size_t k = 0; k < rp_json_array_size(row); k++) {
            rp_buffer_text(out, k == i ? "<td class=\"n\"><strong>" : "<td class=\"n\">");
            rp_html_count(out, (uint64_t)rp_json_integer_value(rp_json_array_get(row, k)));
            rp_buffer_text(out, k == i ? "</strong></td>" : "</td>");
        }
        rp_buffer_text(out, "</tr>\n");
    }
    rp_buffer_text(out, "</tbody>\n</table></div>\n");
}

static void put_scores(rp_buffer *out, const rp_json *predicate)
{
    const rp_json *list = at(predicate, "scores"), *classes = at(predicate, "classes");
    const size_t n = rp_json_array_size(list), shown = n < SCORES_MAX ? n : SCORES_MAX;

    for (size_t i = 0; i < shown; i++) {
        const rp_json *score = rp_json_array_get(list, i);

        rp_buffer_text(out, n > 1 ? "<h4>Score of " : "<h4>Scores");
        if (n > 1)
            rp_html_name(out, rp_json_string_value(rp_json_array_get(classes, i)));
        rp_buffer_text(out, "</h4>\n<p>Rank correlation: Spearman ");
        rp_html_real(out, at(score, "spearman"));
        rp_buffer_text(out, ", Kendall ");
        rp_html_real(out, at(score, "kendall"));
        rp_buffer_text(out, "; this run&#39;s less the parent&#39;s on average ");
        rp_html_real(out, at(score, "mean"));
        rp_buffer_text(out, ", nine rows in ten between ");
        rp_html_real(out, rp_json_array_get(at(score, "quantiles"), 1));
        rp_buffer_text(out, " and ");
        rp_html_real(out, rp_json_array_get(at(score, "quantiles"), 5));
        rp_buffer_text(out, ".</p>\n");
        put_migration(out, score);
    }
    rp_html_note_first(out, shown, n, "scores");
}

static void put_decisions(rp_buffer *out, const rp_json *predicate)
{
    const rp_json *d = at(predicate, "decisions"), *threshold = at(at(predicate, "options"), "threshold");

    if (!rp_json_is_object(d))
        return;
    rp_buffer_text(out, "<p>Decisions");
    if (rp_json_is_string(threshold)) {
        rp_buffer_text(out, " at the threshold that was given, ");
        rp_html_real(out, threshold);
    } else if (rp_json_array_size(at(predicate, "classes")) == 2) {
        rp_buffer_text(out, " at threshold 0.5");
    }
    rp_buffer_text(out, ": ");
    put_count(out, d, "changed");
    rp_buffer_text(out, " of ");
    put_count(out, at(predicate, "data"), "rows");
    rp_buffer_text(out, " change. Rows that are decided right: by both ");
    put_count(out, d, "both_right");
    rp_buffer_text(out, ", by this run alone ");
    put_count(out, d, "child_alone");
    rp_buffer_text(out, ", by the parent alone ");
    put_count(out, d, "parent_alone");
    rp_buffer_text(out, ", by neither ");
    put_count(out, d, "neither_right");
    rp_buffer_text(out, ".</p>\n");
}

/* ---- what both are ---- */

static void put_names(rp_buffer *out, const rp_json *list)
{
    for (size_t i = 0; i < rp_json_array_size(list); i++) {
        const rp_json *one = rp_json_array_get(list, i);

        rp_buffer_text(out, i ? ", " : "");
        if (rp_json_is_string(one))
            rp_html_name(out, rp_json_string_value(one));
        else
            rp_html_count(out, (uint64_t)rp_json_integer_value(one));
    }
}

static void put_side(rp_buffer *out, const rp_json *column, const char *side, const char *word)
{
    const rp_json *one = at(column, side);

    if (rp_json_integer_value(at(one, "count")) == 0)
        return;
    rp_buffer_printf(out, "; %s ", word);
    put_names(out, at(one, "first"));
    if (rp_json_integer_value(at(one, "count")) > (int64_t)rp_json_array_size(at(one, "first"))) {
        rp_buffer_text(out, " and others, ");
        put_count(out, one, "count");
        rp_buffer_text(out, " in all");
    }
}

static void put_changes(rp_buffer *out, const rp_json *changes)
{
    const rp_json *list = at(changes, "categories"), *fresh = at(changes, "columns_new");

    for (size_t i = 0; i < rp_json_array_size(list) && i < 12; i++) {
        const rp_json *column = rp_json_array_get(list, i), *name = at(column, "column");
        rp_json *alone = rp_json_pack("[O]", name);

        rp_buffer_text(out, "<p>Categories of ");
        put_names(out, alone);
        put_side(out, column, "new", "new:");
        put_side(out, column, "gone", "gone:");
        rp_buffer_text(out, ".</p>\n");
        rp_json_free(alone);
    }
    rp_html_note_first(out, rp_json_array_size(list) < 12 ? rp_json_array_size(list) : 12, rp_json_array_size(list),
                       "columns whose categories changed");
    if (rp_json_array_size(fresh)) {
        rp_buffer_text(out, "<p>Columns of the new table that no model saw: ");
        put_names(out, fresh);
        rp_buffer_text(out, ".</p>\n");
    }
}

static void put_standing(rp_buffer *out, const rp_json *predicate)
{
    const rp_json *predecessor = at(predicate, "predecessor"), *differs = at(predecessor, "recipe_differs");
    const rp_json *seen = at(at(predicate, "data"), "seen_by_parent");

    rp_buffer_text(out, "<p>");
    rp_buffer_text(out, rp_json_is_true(at(predecessor, "named"))
                            ? "This run names it as its predecessor. "
                            : "<strong>This run does not name it as its predecessor.</strong> ");
    if (rp_json_is_array(differs) && rp_json_array_size(differs) == 0) {
        rp_buffer_text(out, "Its recipe is the parent&#39;s on the new table. ");
    } else if (rp_json_array_size(differs)) {
        rp_buffer_text(out, "Its recipe is another one than the parent&#39;s in: ");
        put_names(out, differs);
        rp_buffer_text(out, ". ");
    }
    if (rp_json_is_integer(seen)) {
        put_count(out, at(predicate, "data"), "seen_by_parent");
        rp_buffer_text(out, " of the rows equal a training row of the parent.");
    } else {
        rp_buffer_text(out, "How many of the rows trained the parent is not known.");
    }
    rp_buffer_text(out, "</p>\n");
}

void rp_report_column_drift(rp_report_view *r, const rp_json *columns, const char *of_whom)
{
    const size_t n = rp_json_array_size(columns), shown = n < COLUMNS_MAX ? n : COLUMNS_MAX;
    rp_buffer *out = r->out;
    double psi;

    rp_buffer_printf(out,
                     "<h4>Drift, feature by feature</h4>\n<p class=\"note\">%s against edges frozen at training; bars "
                     "end at 0.5. Custom calls less than 0.1 stable, more than 0.25 a shift.</p>\n",
                     of_whom);
    rp_html_table(out, "slim", NULL, "Feature|#PSI||#KS");
    for (size_t i = 0; i < shown; i++) {
        const rp_json *c = rp_json_array_get(columns, i);
        const bool known = rp_report_real(at(c, "psi"), &psi);

        rp_buffer_text(out, "<tr><th scope=\"row\">");
        if (rp_json_is_string(at(c, "name")))
            rp_html_name(out, rp_json_string_value(at(c, "name")));
        else
            rp_html_count(out, (uint64_t)rp_json_integer_value(at(c, "column")));
        rp_buffer_text(out, "</th>");
        rp_buffer_text(out, "<td class=\"n\">");
        rp_html_real(out, at(c, "psi"));
        rp_buffer_text(out, "</td><td class=\"bars\">");
        if (known)
            rp_svg_bar(out, (uint64_t)((psi < 0 ? 0 : psi < 0.5 ? psi : 0.5) * 10000), 5000);
        rp_buffer_text(out, "</td><td class=\"n\">");
        rp_html_real(out, at(c, "ks"));
        rp_buffer_text(out, "</td></tr>\n");
    }
    rp_buffer_text(out, "</tbody>\n</table>\n");
    rp_html_note_first(out, shown, n, "features");
}

static void put_one(rp_report_view *r, const rp_verified_statement *one)
{
    const rp_json *predicate = one->figures->predicate;

    rp_buffer_text(r->out, "<p>");
    rp_report_figures_words(r->out, one->figures);
    rp_report_by(r, one);
    rp_buffer_text(r->out, "</p>\n");
    put_standing(r->out, predicate);
    put_figures(r->out, predicate);
    put_scores(r->out, predicate);
    put_decisions(r->out, predicate);
    put_changes(r->out, at(predicate, "changes"));
    if (rp_json_is_object(at(predicate, "drift")))
        rp_report_column_drift(r, at(at(predicate, "drift"), "columns"),
                               "This run&#39;s training rows held against the parent&#39;s,");
}

void rp_report_retrainings(rp_report_view *r)
{
    size_t shown = 0, all = 0;

    for (size_t i = 0; r->verified && i < r->verified->statements; i++) {
        const rp_verified_statement *one = &r->verified->statement[i];

        if (one->kind != RP_STATEMENT_RETRAINING || !one->figures->predicate || all++ >= STATED_MAX)
            continue;
        if (shown++ == 0)
            rp_buffer_text(r->out, "<h3>Against its parent, by trusted keys</h3>\n");
        put_one(r, one);
    }
    rp_html_note_first(r->out, shown, all, "comparisons");
}
