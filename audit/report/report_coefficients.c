/* SPDX-License-Identifier: Apache-2.0
 * Coefficients of an exact fit (audit/FORMAT.md 9.7), as validators read them; where there is a penalty the estimates
 * alone. */
#include <string.h>

#include "audit/report/report.h"

enum { TERMS_LISTED = 200 };

static void put_cell(rp_report_view *r, const rp_json *term, const char *key)
{
    rp_buffer_text(r->out, "<td class=\"n\">");
    rp_html_real(r->out, rp_json_object_get(term, key));
    rp_buffer_text(r->out, "</td>");
}

static void put_edge(rp_report_view *r, const rp_json *edge, const char *otherwise)
{
    if (rp_json_is_string(edge))
        rp_html_real(r->out, edge);
    else
        rp_buffer_text(r->out, otherwise);
}

static void put_part(rp_report_view *r, const rp_json *term)
{
    const rp_json *column = rp_json_object_get(term, "column"), *category = rp_json_object_get(term, "category");
    const rp_json *bin = rp_json_object_get(term, "bin");

    if (rp_json_is_string(column))
        rp_html_name(r->out, rp_json_string_value(column));
    else
        rp_buffer_printf(r->out, "%lld", (long long)rp_json_integer_value(column));
    if (bin) {
        rp_buffer_text(r->out, " from ");
        put_edge(r, rp_json_array_get(bin, 0), "the least");
        rp_buffer_text(r->out, " to below ");
        put_edge(r, rp_json_array_get(bin, 1), "any");
    }
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

static void put_term(rp_report_view *r, const rp_json *term, bool tests)
{
    static const char *const columns[] = {"error", "statistic", "p", "low", "high", "odds", "inflation"};
    const bool ratio = rp_json_object_get(term, "ratio") != NULL;
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
    for (size_t i = 0; tests && i < sizeof columns / sizeof *columns; i++)
        put_cell(r, term, ratio && strcmp(columns[i], "odds") == 0 ? "ratio" : columns[i]);
    if (!tests)
        put_cell(r, term, "encoded");
    rp_buffer_text(r->out, "</tr>\n");
}

static void put_output(rp_report_view *r, const rp_json *output, bool tests)
{
    const rp_json *terms = rp_json_object_get(output, "terms");
    const char *class = rp_json_string_value(rp_json_object_get(output, "class"));
    const size_t n = rp_json_array_size(terms), listed = n < TERMS_LISTED ? n : TERMS_LISTED;

    if (class) {
        rp_buffer_text(r->out, "<h3>Class ");
        rp_html_name(r->out, class);
        rp_buffer_text(r->out, "</h3>\n");
    }
    rp_buffer_text(r->out, "<div class=\"wide\">");
    rp_html_table(
        r->out, NULL, "In the units of the table",
        tests ? "Term|#Estimate|#Standard error|#z or t|#p|#95 % from|#to|#Odds or rate ratio|#Variance inflation"
              : "Term|#Estimate|#Of the feature as encoded");
    for (size_t i = 0; i < listed; i++)
        put_term(r, rp_json_array_get(terms, i), tests);
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

    if (!r->recipe || !r->recipe->train.exact)
        return;
    rp_html_section(r->out, "coefficients", "Coefficients");
    rp_html_problem(r->out, "The table of coefficients", &r->problem.coefficients);
    if (!rp_json_is_object(table))
        return;
    for (size_t k = 0; k < rp_json_array_size(outputs); k++)
        put_output(r, rp_json_array_get(outputs, k), tests);
    put_fit(r, table);
    if (!tests)
        rp_buffer_text(r->out,
                       "<p class=\"note\">Estimates are shrunk by a penalty, so they have no standard errors; a fit "
                       "with train.l2: 0 has.</p>\n");
}
