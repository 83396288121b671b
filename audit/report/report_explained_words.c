/* SPDX-License-Identifier: Apache-2.0
 * What a report says of an explanation in a sentence, and the words that its table and its plots share. */
#include <string.h>

#include "audit/report/report_explained.h"
#include "rp/statement.h"

static const rp_json *at(const rp_json *object, const char *key)
{
    return rp_json_object_get(object, key);
}

/* A figure by its name in the statement, in words, and whether more of it is worse. */
static const struct {
    const char *name, *words;
    bool loss;
} metrics[] = {{"auc", "area under the ROC curve", false},
               {"log_loss", "log loss", true},
               {"brier", "Brier score", true},
               {"accuracy", "accuracy", false},
               {"macro_auc", "mean area under the ROC curves", false},
               {"r2", "R\xC2\xB2", false},
               {"rmse", "root mean square error", true},
               {"mae", "mean absolute error", true}};

bool rp_explained_metric(rp_buffer *out, const rp_json *predicate)
{
    const char *name = rp_json_string_value(at(predicate, "metric"));

    for (size_t i = 0; name && i < sizeof metrics / sizeof *metrics; i++)
        if (strcmp(name, metrics[i].name) == 0) {
            rp_buffer_text(out, metrics[i].words);
            return metrics[i].loss;
        }
    rp_html_name(out, name);
    return false;
}

bool rp_explained_mean(const rp_json *column, double *mean)
{
    return rp_report_real(at(at(column, "importance"), "mean"), mean);
}

void rp_explained_name(rp_buffer *out, const rp_json *column)
{
    const char *name = rp_json_string_value(at(column, "name"));

    if (name)
        rp_html_text(out, name);
    else
        rp_buffer_printf(out, "column %lld", (long long)rp_json_integer_value(at(column, "column")));
}

void rp_report_explanation_words(rp_buffer *out, const rp_stated_figures *f)
{
    const rp_json *columns = at(f->predicate, "columns"), *most = NULL;
    double best = 0, mean;

    for (size_t i = 0; i < rp_json_array_size(columns); i++)
        if (rp_explained_mean(rp_json_array_get(columns, i), &mean) && (!most || mean > best)) {
            best = mean;
            most = rp_json_array_get(columns, i);
        }
    rp_buffer_text(out, f->test ? "Explanation on the run&#39;s test part: " : "Explanation: ");
    rp_html_count(out, f->rows);
    rp_buffer_text(out, " rows");
    if (f->seen > 0) {
        rp_buffer_text(out, ", <strong>");
        rp_html_count(out, (uint64_t)f->seen);
        rp_buffer_printf(out, " of them equal%s a training row in every feature</strong>", f->seen == 1 ? "s" : "");
    } else if (f->seen < 0) {
        rp_buffer_text(out, ", <strong>how many of them trained the model is not known</strong>");
    }
    if (rp_json_is_true(at(at(f->predicate, "data"), "unfiltered")))
        rp_buffer_text(out, " (the recipe&#39;s <code>where</code> was not applied to them)");
    if (!most)
        return;
    rp_buffer_text(out, "; most needed: <bdi>");
    rp_explained_name(out, most);
    rp_buffer_text(out, "</bdi> (");
    rp_buffer_text(out, rp_explained_metric(out, f->predicate) ? " rises by " : " falls by ");
    rp_html_number(out, best);
    rp_buffer_text(out, " when it is dealt out anew)");
}
