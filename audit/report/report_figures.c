/* SPDX-License-Identifier: Apache-2.0
 * The figures of validation that metrics.json holds (CONTRACT 14, audit/FORMAT.md 9.5), beside the trivial model's. */
#include <string.h>

#include "audit/report/report.h"

enum { LISTED_MAX = 64 };

/* A row of figures: where the model's and the trivial model's stand. b is a key inside a, or of figures where a is
 * NULL. */
typedef struct row {
    const char *label, *a, *b, *trivial;
    const char *low, *high; /* of an interval of 95 %, beside b */
} row;

static const row two[] = {
    {"Area under the ROC curve, 95\xC2\xA0% by DeLong", "discrimination", "auc", NULL, "auc_low", "auc_high"},
    {"Gini (accuracy ratio)", "discrimination", "gini", NULL, NULL, NULL},
    {"Kolmogorov-Smirnov", "discrimination", "ks", NULL, NULL, NULL},
    {"Brier score (less is better)", "calibration", "brier", "brier", NULL, NULL},
    {"Brier skill: share of the trivial model&#39;s taken away", "calibration", "brier_skill", NULL, NULL, NULL},
    {"Log loss (less is better)", "calibration", "log_loss", "log_loss", NULL, NULL},
    {"Mean score", "calibration", "mean_score", NULL, NULL, NULL},
    {"Rate of the positives, 95\xC2\xA0% by Jeffreys", "calibration", "rate", "rate", "rate_low", "rate_high"},
    {"Calibration error, mean over bands", "calibration", "error", NULL, NULL, NULL},
};

static const row many[] = {
    {"Accuracy", NULL, "accuracy", "accuracy", NULL, NULL},
    {"Log loss (less is better)", NULL, "log_loss", "log_loss", NULL, NULL},
    {"Area under the ROC curve, mean over classes", NULL, "macro_auc", NULL, NULL, NULL},
};

static const row quantity[] = {
    {"R\xC2\xB2", NULL, "r2", "r2", NULL, NULL},
    {"Root mean squared error", NULL, "rmse", "rmse", NULL, NULL},
    {"Mean absolute error", NULL, "mae", "mae", NULL, NULL},
    {"Skill: share of the trivial model&#39;s squared error taken away", NULL, "skill", NULL, NULL, NULL},
    {"Bias: mean of prediction less truth", NULL, "bias", NULL, NULL, NULL},
    {"Mean of the truth", NULL, "mean", NULL, NULL, NULL},
    {"Mean of the predictions", NULL, "mean_prediction", NULL, NULL, NULL},
};

static void put_cell(rp_buffer *out, const rp_json *value)
{
    rp_buffer_text(out, "<td class=\"n\">");
    rp_html_real(out, value);
    rp_buffer_text(out, "</td>");
}

static void put_count(rp_buffer *out, const rp_json *value)
{
    int64_t n = rp_json_integer_value(value);

    rp_buffer_text(out, "<td class=\"n\">");
    rp_html_count(out, n > 0 ? (uint64_t)n : 0);
    rp_buffer_text(out, "</td>");
}

static void put_interval(rp_buffer *out, const rp_json *low, const rp_json *high)
{
    rp_buffer_text(out, "<td class=\"n\">");
    if (rp_json_is_string(low) && rp_json_is_string(high)) {
        rp_html_real(out, low);
        rp_buffer_text(out, " to ");
        rp_html_real(out, high);
    }
    rp_buffer_text(out, "</td>");
}

static void put_rows(rp_report_view *r, const rp_json *figures, const row *list, size_t n)
{
    const rp_json *trivial = rp_json_object_get(figures, "trivial");
    rp_buffer *out = r->out;

    for (size_t i = 0; i < n; i++) {
        const rp_json *from = list[i].a ? rp_json_object_get(figures, list[i].a) : figures;

        if (!rp_json_object_get(from, list[i].b))
            continue;
        rp_buffer_printf(out, "<tr><th scope=\"row\">%s</th>", list[i].label);
        put_cell(out, rp_json_object_get(from, list[i].b));
        put_interval(out, list[i].low ? rp_json_object_get(from, list[i].low) : NULL,
                     list[i].high ? rp_json_object_get(from, list[i].high) : NULL);
        if (list[i].trivial)
            put_cell(out, rp_json_object_get(trivial, list[i].trivial));
        else
            rp_buffer_text(out, "<td></td>");
        rp_buffer_text(out, "</tr>\n");
    }
}

/* Tests of calibration: what each found, without a word on what to make of it. */
static void put_tests(rp_report_view *r, const rp_json *figures)
{
    const rp_json *found = rp_json_object_get(figures, "calibration");
    const rp_json *lemeshow = rp_json_object_get(found, "hosmer_lemeshow");
    const rp_json *spiegelhalter = rp_json_object_get(found, "spiegelhalter");
    int64_t freedom = rp_json_integer_value(rp_json_object_get(lemeshow, "freedom"));
    rp_buffer *out = r->out;

    rp_buffer_text(out, "<h3>Tests of calibration</h3>\n<div class=\"wide\">");
    rp_html_table(out, NULL, NULL, "Test|#Statistic|#p|Asks whether");
    rp_buffer_text(out, "<tr><th scope=\"row\">Jeffreys</th><td></td>");
    put_cell(out, rp_json_object_get(found, "jeffreys_p"));
    rp_buffer_text(out, "<td>the rate is above the mean score; small: the scores are too low</td></tr>\n"
                        "<tr><th scope=\"row\">Hosmer-Lemeshow</th>");
    put_cell(out, rp_json_object_get(lemeshow, "statistic"));
    put_cell(out, rp_json_object_get(lemeshow, "p"));
    rp_buffer_printf(out, "<td>the bands&#39; rates are their scores (%lld degrees of freedom); small: they are not",
                     (long long)(freedom > 0 ? freedom : 0));
    rp_buffer_text(out, "</td></tr>\n<tr><th scope=\"row\">Spiegelhalter</th>");
    put_cell(out, rp_json_object_get(spiegelhalter, "statistic"));
    put_cell(out, rp_json_object_get(spiegelhalter, "p"));
    rp_buffer_text(out, "<td>the Brier score is what such scores give; small: it is not</td></tr>\n"
                        "</tbody>\n</table></div>\n");
}

static const char *rule_name(const char *rule)
{
    static const char *const name[][2] = {
        {"half", "one half"}, {"youden_training", "Youden, on the training rows"}, {"given", "given"}};

    for (size_t i = 0; rule && i < sizeof name / sizeof *name; i++)
        if (strcmp(rule, name[i][0]) == 0)
            return name[i][1];
    return NULL;
}

/* A row a figure, a column a rule: as narrow as may be. */
static void put_thresholds(rp_report_view *r, const rp_json *figures)
{
    static const struct {
        const char *label, *key;
        bool count;
    } rows[] = {{"Threshold", "threshold", false},
                {"True positives", "true_positives", true},
                {"False positives", "false_positives", true},
                {"False negatives", "false_negatives", true},
                {"True negatives", "true_negatives", true},
                {"Accuracy", "accuracy", false},
                {"from, 95\xC2\xA0% by Jeffreys", "accuracy_low", false},
                {"to", "accuracy_high", false},
                {"Balanced accuracy", "balanced_accuracy", false},
                {"Precision", "precision", false},
                {"Recall", "recall", false},
                {"Specificity", "specificity", false},
                {"F1", "f1", false},
                {"Matthews correlation", "mcc", false}};
    const rp_json *list = rp_json_object_get(figures, "thresholds");
    size_t n = rp_json_array_size(list) < 8 ? rp_json_array_size(list) : 8;
    rp_buffer *out = r->out;

    if (n == 0)
        return;
    rp_buffer_text(out, "<h3>At a threshold</h3>\n<div class=\"wide\">");
    rp_html_table_begin(out, "slim", "Positive from the threshold up");
    rp_buffer_text(out, "<th scope=\"col\">Rule</th>");
    for (size_t i = 0; i < n; i++) {
        const char *rule = rp_json_string_value(rp_json_object_get(rp_json_array_get(list, i), "rule"));

        rp_buffer_text(out, "<th scope=\"col\" class=\"n\">");
        if (rule_name(rule))
            rp_buffer_text(out, rule_name(rule));
        else
            rp_html_name(out, rule);
        rp_buffer_text(out, "</th>");
    }
    rp_buffer_text(out, "</tr></thead>\n<tbody>\n");
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        rp_buffer_printf(out, "<tr><th scope=\"row\">%s</th>", rows[k].label);
        for (size_t i = 0; i < n; i++)
            (rows[k].count ? put_count : put_cell)(out, rp_json_object_get(rp_json_array_get(list, i), rows[k].key));
        rp_buffer_text(out, "</tr>\n");
    }
    rp_buffer_text(out, "</tbody>\n</table></div>\n");
}

static void put_bands(rp_report_view *r, const rp_json *figures)
{
    const rp_json *list = rp_json_object_get(rp_json_object_get(figures, "calibration"), "bands");
    rp_buffer *out = r->out;

    if (rp_json_array_size(list) == 0)
        return;
    rp_buffer_text(out, "<h3>Bands of scores</h3>\n<div class=\"wide\">");
    rp_html_table(out, NULL, NULL, "#From|#To|#Rows|#Positives|#Mean score|#Observed rate|#95\xC2\xA0%|#Jeffreys p");
    for (size_t i = 0; i < rp_json_array_size(list) && i < LISTED_MAX; i++) {
        const rp_json *one = rp_json_array_get(list, i);

        rp_buffer_text(out, "<tr>");
        put_cell(out, rp_json_object_get(one, "lowest"));
        put_cell(out, rp_json_object_get(one, "highest"));
        put_count(out, rp_json_object_get(one, "rows"));
        put_count(out, rp_json_object_get(one, "positives"));
        put_cell(out, rp_json_object_get(one, "mean_score"));
        put_cell(out, rp_json_object_get(one, "rate"));
        put_interval(out, rp_json_object_get(one, "rate_low"), rp_json_object_get(one, "rate_high"));
        put_cell(out, rp_json_object_get(one, "jeffreys_p"));
        rp_buffer_text(out, "</tr>\n");
    }
    rp_buffer_text(out, "</tbody>\n</table></div>\n");
}

static void put_by_class(rp_report_view *r, const rp_json *figures)
{
    const rp_json *list = rp_json_object_get(figures, "by_class"), *classes = rp_json_object_get(r->metrics, "classes");
    rp_buffer *out = r->out;

    if (rp_json_array_size(list) == 0 || !rp_json_object_get(rp_json_array_get(list, 0), "auc"))
        return;
    rp_html_table(out, "slim", "Each class against all others", "Class|#Area under the ROC curve|#95\xC2\xA0%");
    for (size_t i = 0; i < rp_json_array_size(list) && i < LISTED_MAX; i++) {
        const rp_json *one = rp_json_array_get(list, i);

        rp_buffer_text(out, "<tr><th scope=\"row\">");
        rp_html_name(out, rp_json_string_value(rp_json_array_get(classes, i)));
        rp_buffer_text(out, "</th>");
        put_cell(out, rp_json_object_get(one, "auc"));
        put_interval(out, rp_json_object_get(one, "auc_low"), rp_json_object_get(one, "auc_high"));
        rp_buffer_text(out, "</tr>\n");
    }
    rp_buffer_text(out, "</tbody>\n</table>\n");
}

/* The seven that CONTRACT 14.5 names. */
static void put_residuals(rp_report_view *r, const rp_json *figures)
{
    const rp_json *list = rp_json_object_get(figures, "residual_quantiles");

    if (rp_json_array_size(list) != 7)
        return;
    rp_buffer_text(r->out, "<div class=\"wide\">");
    rp_html_table(r->out, "dense", "Residuals: truth less prediction",
                  "#Least|#5\xC2\xA0%|#25\xC2\xA0%|#Median|#75\xC2\xA0%|#95\xC2\xA0%|#Greatest");
    rp_buffer_text(r->out, "<tr>");
    for (size_t i = 0; i < 7; i++)
        put_cell(r->out, rp_json_array_get(list, i));
    rp_buffer_text(r->out, "</tr>\n</tbody>\n</table></div>\n");
}

void rp_report_figures(rp_report_view *r, const rp_json *figures, const char *rows)
{
    rp_buffer *out = r->out;

    if (!rp_json_is_object(figures))
        return;
    rp_buffer_printf(out,
                     "<h3>Against the trivial model</h3>\n<p class=\"note lead\">%s. The trivial model knows no "
                     "column: it gives every row what the training rows have on the whole. A cell is empty where "
                     "it has no such figure.</p>\n",
                     rows);
    rp_html_table(out, NULL, NULL, "Figure|#Model|#95\xC2\xA0%|#Trivial model");
    put_rows(r, figures, two, sizeof two / sizeof *two);
    put_rows(r, figures, many, sizeof many / sizeof *many);
    put_rows(r, figures, quantity, sizeof quantity / sizeof *quantity);
    rp_buffer_text(out, "</tbody>\n</table>\n");
    rp_report_plots(r, figures);
    put_thresholds(r, figures);
    if (rp_json_object_get(figures, "calibration"))
        put_tests(r, figures);
    put_bands(r, figures);
    put_by_class(r, figures);
    put_residuals(r, figures);
}
