/* SPDX-License-Identifier: Apache-2.0
 * Results: metrics of both parts side by side, and the confusion matrix with what follows from it by class. */
#include "audit/report/report.h"

enum { MATRIX_MAX = 16, LISTED_MAX = 12, CLASSES_LISTED = 50 };

typedef struct metric {
    const char *key, *label;
} metric;

static const metric metrics[] = {
    {"bits_per_byte", "Bits per byte"},
    {"perplexity", "Perplexity of a token"},
    {"accuracy", "Accuracy"},
    {"auc", "Area under the ROC curve"},
    {"loss", "Loss"},
    {"mse", "Mean squared error"},
    {"mae", "Mean absolute error"},
    {"r2", "R\xC2\xB2"},
};

static void put_metric_row(rp_report_view *r, const metric *m, const rp_json *training, const rp_json *validation)
{
    if (!rp_json_object_get(training, m->key) && !rp_json_object_get(validation, m->key))
        return;
    rp_buffer_printf(r->out, "<tr><th scope=\"row\">%s</th><td class=\"n\">", m->label);
    rp_html_real(r->out, rp_json_object_get(training, m->key));
    if (validation) {
        rp_buffer_text(r->out, "</td><td class=\"n\">");
        rp_html_real(r->out, rp_json_object_get(validation, m->key));
    }
    rp_buffer_text(r->out, "</td></tr>\n");
}

static void put_rows(rp_buffer *out, const rp_json *part)
{
    const rp_json *tokens = rp_json_object_get(part, "tokens");
    int64_t rows = rp_json_integer_value(tokens ? tokens : rp_json_object_get(part, "rows"));

    rp_buffer_text(out, "<td class=\"n\">");
    rp_html_count(out, rows > 0 ? (uint64_t)rows : 0);
    rp_buffer_text(out, "</td>");
}

static void put_metrics(rp_report_view *r, const rp_json *training, const rp_json *validation)
{
    rp_buffer *out = r->out;
    const bool evaluate = r->recipe && r->recipe->program.named && r->recipe->program.of->function[RP_ROLE_EVALUATE];

    rp_html_table(out, "slim",
                  evaluate                                    ? "Of the final model, by model.evaluate"
                  : r->recipe && r->recipe->model.dropout > 0 ? "Of the final model, with dropout off"
                                                              : "Of the final model",
                  validation ? "Metric|#Training|#Validation" : "Metric|#Training");
    for (size_t i = 0; i < sizeof metrics / sizeof *metrics; i++)
        put_metric_row(r, &metrics[i], training, validation);
    rp_buffer_printf(out, "<tr><th scope=\"row\">%s</th>", rp_json_object_get(training, "tokens") ? "Tokens" : "Rows");
    put_rows(out, training);
    if (validation)
        put_rows(out, validation);
    rp_buffer_text(out, "</tr>\n</tbody>\n</table>\n");
    if (!validation)
        rp_buffer_text(out, "<p class=\"note\">No part of the data was kept for validation.</p>\n");
}

/* ---- confusion ---- */

typedef struct confusion {
    const rp_json *rows, *classes;
    size_t n;
} confusion;

/* A matrix of counts with as many names; anything else is not shown. */
static bool confusion_of(const rp_report_view *r, const rp_json *part, confusion *out)
{
    out->rows = rp_json_object_get(part, "confusion");
    out->classes = rp_json_object_get(r->metrics, "classes");
    out->n = rp_json_array_size(out->rows);
    if (out->n < 2 || out->n > RP_CLASSES_MAX || rp_json_array_size(out->classes) != out->n)
        return false;
    for (size_t i = 0; i < out->n; i++) {
        if (rp_json_array_size(rp_json_array_get(out->rows, i)) != out->n ||
            !rp_json_is_string(rp_json_array_get(out->classes, i)))
            return false;
        for (size_t k = 0; k < out->n; k++)
            if (rp_json_integer_value(rp_json_array_get(rp_json_array_get(out->rows, i), k)) < 0)
                return false;
    }
    return true;
}

static uint64_t cell(const confusion *c, size_t truth, size_t predicted)
{
    return (uint64_t)rp_json_integer_value(rp_json_array_get(rp_json_array_get(c->rows, truth), predicted));
}

static uint64_t total(const confusion *c, size_t k, bool truth)
{
    uint64_t n = 0;

    for (size_t i = 0; i < c->n; i++)
        n += truth ? cell(c, k, i) : cell(c, i, k);
    return n;
}

static const char *class_name(const confusion *c, size_t k)
{
    return rp_json_string_value(rp_json_array_get(c->classes, k));
}

static void put_matrix(rp_report_view *r, const confusion *c, const char *title)
{
    rp_buffer *out = r->out;

    rp_buffer_text(out, "<div class=\"wide\">");
    rp_html_table_begin(out, "matrix", title);
    rp_buffer_text(out, "<td></td>");
    for (size_t k = 0; k < c->n; k++) {
        rp_buffer_text(out, "<th scope=\"col\">");
        rp_html_name(out, class_name(c, k));
        rp_buffer_text(out, "</th>");
    }
    rp_buffer_text(out, "</tr></thead>\n<tbody>\n");
    for (size_t i = 0; i < c->n; i++) {
        uint64_t all = total(c, i, true);

        rp_buffer_text(out, "<tr><th scope=\"row\">");
        rp_html_name(out, class_name(c, i));
        rp_buffer_text(out, "</th>");
        for (size_t k = 0; k < c->n; k++) {
            uint64_t n = cell(c, i, k);
            double share = all ? (double)n / (double)all : 0;
            int shade = n == 0 ? 0 : share < 0.1 ? 1 : share < 0.4 ? 2 : share < 0.8 ? 3 : 4;

            rp_buffer_printf(out, "<td class=\"q%d%s\">", shade, i == k ? " hit" : "");
            rp_html_count(out, n);
            rp_buffer_text(out, "</td>");
        }
        rp_buffer_text(out, "</tr>\n");
    }
    rp_buffer_text(out, "</tbody>\n</table></div>\n");
}

/* With too many classes for a matrix: the pairs that were mistaken most often, by falling count, then by class. */
static void put_mistakes(rp_report_view *r, const confusion *c, const char *title)
{
    uint64_t below = UINT64_MAX;
    size_t last = 0, listed = 0;

    rp_buffer_printf(r->out, "<p class=\"note lead\">%s: the most frequent mistakes among %zu classes.</p>\n", title,
                     c->n);
    rp_html_table(r->out, NULL, NULL, "True class|Predicted|#Rows");
    for (; listed < LISTED_MAX; listed++) {
        uint64_t best = 0;
        size_t at = 0;

        for (size_t i = 0; i < c->n * c->n; i++) {
            uint64_t n = i / c->n == i % c->n ? 0 : cell(c, i / c->n, i % c->n);

            if (n > best && (n < below || (n == below && i > last))) {
                best = n;
                at = i;
            }
        }
        if (!best)
            break;
        below = best;
        last = at;
        rp_buffer_text(r->out, "<tr><td>");
        rp_html_name(r->out, class_name(c, at / c->n));
        rp_buffer_text(r->out, "</td><td>");
        rp_html_name(r->out, class_name(c, at % c->n));
        rp_buffer_text(r->out, "</td><td class=\"n\">");
        rp_html_count(r->out, best);
        rp_buffer_text(r->out, "</td></tr>\n");
    }
    if (!listed)
        rp_buffer_text(r->out, "<tr><td colspan=\"3\">none</td></tr>\n");
    rp_buffer_text(r->out, "</tbody>\n</table>\n");
}

static void put_by_class(rp_report_view *r, const confusion *c, const char *title)
{
    rp_buffer_printf(
        r->out,
        "<h3>By class</h3>\n<p class=\"note lead\">%s. Recall is the share of a class that was found, precision "
        "the share of the predictions of a class that were right.</p>\n",
        title);
    rp_html_table(r->out, NULL, NULL, "Class|#Rows|#Predicted|#Recall|#Precision");
    for (size_t k = 0; k < c->n && k < CLASSES_LISTED; k++) {
        rp_buffer_text(r->out, "<tr><th scope=\"row\">");
        rp_html_name(r->out, class_name(c, k));
        rp_buffer_text(r->out, "</th><td class=\"n\">");
        rp_html_count(r->out, total(c, k, true));
        rp_buffer_text(r->out, "</td><td class=\"n\">");
        rp_html_count(r->out, total(c, k, false));
        rp_buffer_text(r->out, "</td><td class=\"n\">");
        rp_html_share(r->out, cell(c, k, k), total(c, k, true));
        rp_buffer_text(r->out, "</td><td class=\"n\">");
        rp_html_share(r->out, cell(c, k, k), total(c, k, false));
        rp_buffer_text(r->out, "</td></tr>\n");
    }
    rp_buffer_text(r->out, "</tbody>\n</table>\n");
    rp_html_note_first(r->out, CLASSES_LISTED, c->n, "classes");
}

static void put_confusion(rp_report_view *r, const rp_json *training, const rp_json *validation)
{
    confusion c;
    const rp_json *main_part = validation ? validation : training;
    const char *title = validation ? "Validation rows" : "Training rows";

    if (!rp_json_object_get(r->metrics, "classes") && !rp_json_object_get(main_part, "confusion"))
        return;
    rp_html_section(r->out, "confusion", "Confusion matrix");
    if (!confusion_of(r, main_part, &c)) {
        rp_buffer_text(r->out, "<p>None was recorded: only classifications have one.</p>\n");
        return;
    }
    if (c.n <= MATRIX_MAX)
        rp_buffer_text(r->out, "<p class=\"note lead\">A row is a true class, a column a predicted one.</p>\n");
    rp_buffer_text(r->out, "<div class=\"pair\">\n");
    (c.n > MATRIX_MAX ? put_mistakes : put_matrix)(r, &c, title);
    if (validation && c.n <= 4 && confusion_of(r, training, &c) && c.n <= 4)
        put_matrix(r, &c, "Training rows");
    rp_buffer_text(r->out, "</div>\n");
    (void)confusion_of(r, main_part, &c);
    put_by_class(r, &c, title);
}

void rp_report_metrics_section(rp_report_view *r)
{
    const rp_json *training = rp_json_object_get(r->metrics, "training"),
                  *validation = rp_json_object_get(r->metrics, "validation");

    rp_html_section(r->out, "metrics", "Metrics");
    rp_html_problem(r->out, "The metrics", &r->problem.metrics);
    if (!rp_json_is_object(validation))
        validation = NULL;
    if (!rp_json_is_object(training)) {
        if (r->problem.metrics.status == RP_OK)
            rp_buffer_text(r->out,
                           "<p>The archive records no metrics. A run of a program has what its steps return, and a "
                           "recipe&#39;s run its metrics of training and validation.</p>\n");
        return;
    }
    put_metrics(r, training, validation);
    rp_report_figures(r, rp_json_object_get(validation ? validation : training, "figures"),
                      validation ? "Validation rows" : "Training rows");
    rp_report_slices(r, validation ? validation : training);
    put_confusion(r, training, validation);
}
