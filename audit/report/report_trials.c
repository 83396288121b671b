/* SPDX-License-Identifier: Apache-2.0
 * What was tried before the run (audit/FORMAT.md 9.8): each variant with the mean of its figures, which one was chosen,
 * and how far nothing but the seed moves them. */
#include <string.h>

#include "audit/report/report.h"
#include "base/buffer.h"

enum { VARIANTS_LISTED = 200 };

static const char *const figures[] = {"loss", "accuracy", "auc", "mse", "mae", "r2"};
static const char *const words[] = {"Loss",     "Accuracy", "AUC", "Mean squared error", "Mean absolute error",
                                    "R\xC2\xB2"};

static const char *kind_words(const char *kind)
{
    static const char *const kinds[][2] = {{"recipe", "the recipe"},
                                           {"search", "searched"},
                                           {"linear", "challenger: linear model"},
                                           {"seed", "challenger: other seed"}};

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (kind && strcmp(kind, kinds[i][0]) == 0)
            return kinds[i][1];
    return "unknown";
}

/* Which of the figures the variants have, as they all are of one task. */
static bool has(const rp_json *variants, const char *figure)
{
    for (size_t i = 0; i < rp_json_array_size(variants); i++)
        if (rp_json_object_get(rp_json_object_get(rp_json_array_get(variants, i), "mean"), figure))
            return true;
    return false;
}

static bool has_linear(const rp_json *variants)
{
    for (size_t i = 0; i < rp_json_array_size(variants); i++) {
        const char *kind = rp_json_string_value(rp_json_object_get(rp_json_array_get(variants, i), "kind"));

        if (kind && strcmp(kind, "linear") == 0)
            return true;
    }
    return false;
}

/* "lr 0.01, hidden [16]": a text as it is, all else as JSON. */
static void put_set(rp_report_view *r, const rp_json *set)
{
    const char *key;
    rp_json *value;
    size_t shown = 0;

    rp_json_object_foreach ((rp_json *)set, key, value) {
        rp_buffer text = {0};

        rp_buffer_text(r->out, shown++ ? ", " : "");
        rp_html_name(r->out, key);
        rp_buffer_u8(r->out, ' ');
        if (rp_json_is_string(value))
            rp_buffer_text(&text, rp_json_string_value(value));
        else if (rp_json_write(value, &text, NULL) != RP_OK)
            r->out->failed = true;
        rp_buffer_u8(&text, 0);
        rp_html_name(r->out, text.failed ? NULL : (const char *)text.data);
        rp_buffer_free(&text);
    }
}

static void put_variant(rp_report_view *r, const rp_json *variants, size_t i, bool chosen)
{
    const rp_json *variant = rp_json_array_get(variants, i), *mean = rp_json_object_get(variant, "mean");
    const rp_json *deviation = rp_json_object_get(variant, "deviation");

    rp_buffer_printf(r->out, "<tr><th scope=\"row\" class=\"n\">%zu</th><td>%s%s</td><td>", i + 1,
                     kind_words(rp_json_string_value(rp_json_object_get(variant, "kind"))), chosen ? ", chosen" : "");
    put_set(r, rp_json_object_get(variant, "set"));
    rp_buffer_text(r->out, "</td>");
    for (size_t k = 0; k < sizeof figures / sizeof *figures; k++) {
        if (!has(variants, figures[k]))
            continue;
        rp_buffer_text(r->out, "<td class=\"n\">");
        rp_html_real(r->out, rp_json_object_get(mean, figures[k]));
        if (deviation) {
            rp_buffer_text(r->out, " &plusmn; ");
            rp_html_real(r->out, rp_json_object_get(deviation, figures[k]));
        }
        rp_buffer_text(r->out, "</td>");
    }
    rp_buffer_text(r->out, "</tr>\n");
}

static void put_spread(rp_report_view *r, const rp_json *spread)
{
    const rp_json *of = rp_json_object_get(spread, "figures"), *scores = rp_json_object_get(spread, "scores");

    rp_html_table(r->out, NULL, "Spread over seeds", "|#Mean|#Deviation|#Least|#Greatest");
    for (size_t k = 0; k < sizeof figures / sizeof *figures; k++) {
        static const char *const keys[] = {"mean", "deviation", "minimum", "maximum"};
        const rp_json *one = rp_json_object_get(of, figures[k]);

        if (!one)
            continue;
        rp_buffer_printf(r->out, "<tr><th scope=\"row\">%s</th>", words[k]);
        for (size_t i = 0; i < 4; i++) {
            rp_buffer_text(r->out, "<td class=\"n\">");
            rp_html_real(r->out, rp_json_object_get(one, keys[i]));
            rp_buffer_text(r->out, "</td>");
        }
        rp_buffer_text(r->out, "</tr>\n");
    }
    rp_buffer_text(r->out, "</tbody>\n</table>\n");
    if (!rp_json_is_object(scores))
        return;
    rp_buffer_text(r->out, "<p>A row&rsquo;s score deviates between seeds by ");
    rp_html_real(r->out, rp_json_object_get(scores, "median"));
    rp_buffer_text(r->out, " in the median, by more than ");
    rp_html_real(r->out, rp_json_object_get(scores, "q95"));
    rp_buffer_text(r->out, " for one row of twenty, and by ");
    rp_html_real(r->out, rp_json_object_get(scores, "maximum"));
    rp_buffer_text(r->out, " at most");
    if (rp_json_object_get(scores, "decided_otherwise")) {
        rp_buffer_text(r->out, "; the class of ");
        rp_html_count(r->out, (uint64_t)rp_json_integer_value(rp_json_object_get(scores, "decided_otherwise")));
        rp_buffer_text(r->out, " rows of ");
        rp_html_count(r->out, (uint64_t)rp_json_integer_value(rp_json_object_get(scores, "rows")));
        rp_buffer_text(r->out, " depends on the seed");
    }
    rp_buffer_text(r->out, ".</p>\n");
}

static void put_head(rp_report_view *r, const rp_json *trials, const rp_json *variants)
{
    const rp_json *folds = rp_json_object_get(trials, "folds");

    rp_buffer_text(r->out, "<p>");
    rp_html_count(r->out, (uint64_t)rp_json_integer_value(rp_json_object_get(trials, "number")));
    rp_buffer_text(r->out, " whole trainings came before this one, on the same table; all are in the archive");
    if (folds) {
        rp_buffer_text(r->out, ", each variant on ");
        rp_html_count(r->out, (uint64_t)rp_json_integer_value(folds));
        rp_buffer_text(r->out, " folds: figures are means over them");
    }
    rp_buffer_text(r->out, ". What was tried elsewhere, before the recipe was written, no archive can show.</p>\n");
    rp_html_table_begin(r->out, NULL, "Variants");
    rp_html_heads(r->out, "#Number|Variant|Settings");
    for (size_t k = 0; k < sizeof figures / sizeof *figures; k++)
        if (has(variants, figures[k]))
            rp_buffer_printf(r->out, "<th scope=\"col\" class=\"n\">%s</th>", words[k]);
    rp_buffer_text(r->out, "</tr></thead>\n<tbody>\n");
}

void rp_report_trials_section(rp_report_view *r)
{
    const rp_json *trials = rp_json_object_get(r->metrics, "trials"), *chosen = rp_json_object_get(trials, "chosen");
    const rp_json *variants = rp_json_object_get(trials, "variants"), *spread = rp_json_object_get(trials, "spread");
    const size_t n = rp_json_array_size(variants);

    if (!rp_json_is_object(trials))
        return;
    rp_html_section(r->out, "trials", "What was tried");
    put_head(r, trials, variants);
    for (size_t i = 0; i < n && i < VARIANTS_LISTED; i++)
        put_variant(r, variants, i, chosen && rp_json_integer_value(chosen) == (int64_t)i);
    rp_buffer_text(r->out, "</tbody>\n</table>\n");
    rp_html_note_first(r->out, n < VARIANTS_LISTED ? n : VARIANTS_LISTED, n, "variants");
    if (has_linear(variants) && r->recipe && !r->recipe->data.standardize)
        rp_buffer_text(r->out, "<p>The linear model&rsquo;s columns are not standardised, so that its penalty hangs on "
                               "their units: in small units it leaves little of the model.</p>\n");
    if (rp_json_is_object(spread))
        put_spread(r, spread);
}
