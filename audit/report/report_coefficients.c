/* SPDX-License-Identifier: Apache-2.0
 * Coefficients of an exact fit (audit/FORMAT.md 9.7), as validators read them; where there is a penalty the estimates
 * alone. */
#include <string.h>

#include "audit/report/report.h"

enum { TERMS_LISTED = 200, TERMS_TOGETHER = 25 /* on one sheet of paper */ };

static void put_cell(rp_report_view *r, const rp_json *term, const char *key)
{
    rp_buffer_text(r->out, "<td class=\"n\">");
    rp_html_real(r->out, rp_json_object_get(term, key));
    rp_buffer_text(r->out, "</td>");
}

/* [low, high): either may be no number, where there is none. */
static void put_bin(rp_report_view *r, const rp_json *bin)
{
    const rp_json *low = rp_json_array_get(bin, 0), *high = rp_json_array_get(bin, 1);

    if (rp_json_is_string(low)) {
        rp_buffer_text(r->out, " from ");
        rp_html_real(r->out, low);
    }
    if (rp_json_is_string(high)) {
        rp_buffer_text(r->out, rp_json_is_string(low) ? " to below " : " below ");
        rp_html_real(r->out, high);
    }
    if (!rp_json_is_string(low) && !rp_json_is_string(high))
        rp_buffer_text(r->out, " is a number");
}

static void put_part(rp_report_view *r, const rp_json *term)
{
    const rp_json *column = rp_json_object_get(term, "column"), *category = rp_json_object_get(term, "category");
    const rp_json *bin = rp_json_object_get(term, "bin");

    if (rp_json_is_string(column))
        rp_html_name(r->out, rp_json_string_value(column));
    else
        rp_buffer_printf(r->out, "%lld", (long long)rp_json_integer_value(column));
    if (bin)
        put_bin(r, bin);
    if (rp_json_object_get(term, "indicator"))
        rp_buffer_text(r->out, " is missing");
    if (rp_json_object_get(term, "woe"))
        rp_buffer_text(r->out, ", weight of evidence");
    if (rp_json_object_get(term, "other"))
        rp_buffer_text(r->out, " is rare");
    if (!category)
        return;
    rp_buffer_text(r->out, " = ");
    if (rp_json_is_string(category))
        rp_html_name(r->out, rp_json_string_value(category));
    else
        rp_buffer_text(r->out, "missing");
}

static void put_name(rp_report_view *r, const rp_json *term)
{
    const rp_json *times = rp_json_object_get(term, "times");

    if (!rp_json_object_get(term, "column")) {
        rp_buffer_text(r->out, "intercept");
        return;
    }
    put_part(r, term);
    if (times) {
        rp_buffer_text(r->out, " times ");
        put_part(r, times);
    }
}

/* The columns behind the estimate, and their heads: by the family, as statistics programs have them. */
typedef struct layout {
    const char *heads, *key[8]; /* up to a NULL */
} layout;

static layout lay_out(const rp_json *table)
{
    const char *family = rp_json_string_value(rp_json_object_get(table, "family"));

    if (!rp_json_object_get(table, "dispersion")) /* there is a penalty */
        return (layout){"Term|#Estimate|#Of the feature as encoded", {"encoded"}};
    if (family && strcmp(family, "gaussian") == 0)
        return (layout){"Term|#Estimate|#Standard error|#t|#p|#95 % from|#to|#Variance inflation",
                        {"error", "statistic", "p", "low", "high", "inflation"}};
    if (family && strstr(family, "nomial"))
        return (layout){"Term|#Estimate|#Standard error|#z|#p|#95 % from|#to|#Odds ratio|#Variance inflation",
                        {"error", "statistic", "p", "low", "high", "odds", "inflation"}};
    return (layout){"Term|#Estimate|#Standard error|#z|#p|#95 % from|#to|#Rate ratio|#Variance inflation",
                    {"error", "statistic", "p", "low", "high", "ratio", "inflation"}};
}

static void put_term(rp_report_view *r, const rp_json *term, const layout *l)
{
    const char *standing = rp_json_string_value(rp_json_object_get(term, "standing"));

    rp_buffer_text(r->out, "<tr><th scope=\"row\">");
    put_name(r, term);
    if (standing && strcmp(standing, "estimated") != 0)
        rp_buffer_text(r->out, strcmp(standing, "reference") == 0 ? " (reference)"
                               : strcmp(standing, "zero") == 0    ? " (zero by l1)"
                               : strcmp(standing, "offset") == 0  ? " (offset)"
                                                                  : " (left out)");
    rp_buffer_text(r->out, "</th>");
    put_cell(r, term, "estimate");
    for (size_t i = 0; l->key[i]; i++)
        put_cell(r, term, l->key[i]);
    rp_buffer_text(r->out, "</tr>\n");
}

/* The first of several classes, without a penalty: a table of zeros would say no more than a sentence. */
static bool is_reference(const rp_json *terms)
{
    bool all = rp_json_array_size(terms) > 0;
    rp_json *term;
    size_t i;

    rp_json_array_foreach (terms, i, term) {
        const char *standing = rp_json_string_value(rp_json_object_get(term, "standing"));

        all = all && standing && strcmp(standing, "reference") == 0;
    }
    return all;
}

static void put_output(rp_report_view *r, const rp_json *output, const layout *l)
{
    const rp_json *terms = rp_json_object_get(output, "terms");
    const char *class = rp_json_string_value(rp_json_object_get(output, "class"));
    const size_t n = rp_json_array_size(terms), listed = n < TERMS_LISTED ? n : TERMS_LISTED;

    if (class) {
        rp_buffer_text(r->out, "<h3>Class ");
        rp_html_name(r->out, class);
        rp_buffer_text(r->out, "</h3>\n");
    }
    if (is_reference(terms)) {
        rp_buffer_text(r->out, "<p>The reference: all of its coefficients are 0, and those of the other classes are "
                               "differences from it.</p>\n");
        return;
    }
    rp_buffer_text(r->out, "<div class=\"wide\">");
    rp_html_table(r->out, listed > TERMS_TOGETHER ? "long" : NULL, "In the units of the table", l->heads);
    for (size_t i = 0; i < listed; i++)
        put_term(r, rp_json_array_get(terms, i), l);
    rp_buffer_text(r->out, "</tbody>\n</table></div>\n");
    rp_html_note_first(r->out, listed, n, "terms");
}

static void put_fit(rp_report_view *r, const rp_json *table)
{
    static const struct {
        const char *key, *label;
    } rows[] = {{"deviance", "Deviance"},
                {"null_deviance", "Deviance of the constant model"},
                {"log_likelihood", "Log likelihood"},
                {"dispersion", "Dispersion"},
                {"pearson_dispersion", "Pearson's chi squared / degrees of freedom"},
                {"aic", "AIC"},
                {"bic", "BIC"},
                {"mcfadden", "McFadden's R\xC2\xB2"},
                {"r2", "R\xC2\xB2"},
                {"condition", "Condition number"}};

    const char *family = rp_json_string_value(rp_json_object_get(table, "family"));
    const bool measured = family && (strcmp(family, "gaussian") == 0 || strcmp(family, "gamma") == 0);

    rp_html_table(r->out, "slim", "Of the training rows", "Figure|#Value");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (!rp_json_object_get(table, rows[i].key))
            continue;
        rp_buffer_printf(r->out, "<tr><th scope=\"row\">%s%s</th>", rows[i].label,
                         strcmp(rows[i].key, "dispersion") == 0 && !measured ? ", as the family has it" : "");
        put_cell(r, table, rows[i].key);
        rp_buffer_text(r->out, "</tr>\n");
    }
    rp_buffer_text(r->out, "</tbody>\n</table>\n");
}

void rp_report_coefficients_section(rp_report_view *r)
{
    const rp_json *table = r->coefficients, *outputs = rp_json_object_get(table, "outputs");
    const bool tests = rp_json_object_get(table, "dispersion") != NULL;
    const layout l = lay_out(table);

    if (!r->recipe || !r->recipe->train.exact)
        return;
    rp_html_section(r->out, "coefficients", "Coefficients");
    rp_html_problem(r->out, "The table of coefficients", &r->problem.coefficients);
    if (rp_report_withheld(r, RP_COEFFICIENTS_MEMBER))
        rp_buffer_text(r->out,
                       "<p>Left out of the archive with the data, since it names categories and edges of columns. "
                       "The numbers are in <code>weights/final.safetensors</code>.</p>\n");
    if (!rp_json_is_object(table))
        return;
    for (size_t k = 0; k < rp_json_array_size(outputs); k++)
        put_output(r, rp_json_array_get(outputs, k), &l);
    put_fit(r, table);
    if (!tests)
        rp_buffer_text(r->out,
                       "<p class=\"note\">Estimates are shrunk by a penalty, so they have no standard errors; a fit "
                       "with train.l2: 0 has.</p>\n");
}
