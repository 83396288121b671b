/* SPDX-License-Identifier: Apache-2.0
 * Information values, and weights of evidence by bin, of the columns that are treated so (CONTRACT 9.5a). */
#include <stdio.h>

#include "audit/report/report.h"

enum { PLOTTED_MAX = 6, BINS_MAX = 64, LISTED_MAX = 60 };

static const rp_json *at(const rp_json *object, const char *key)
{
    return rp_json_object_get(object, key);
}

static const rp_json *columns_of(const rp_report_view *r)
{
    return r->schema ? at(r->schema->json, "columns") : NULL;
}

static double iv_of(const rp_json *column)
{
    double iv;

    return rp_json_is_array(at(column, "woe")) && rp_report_real(at(column, "iv"), &iv) ? iv : -1;
}

static void put_name(rp_buffer *out, const rp_json *columns, size_t i)
{
    const char *name = rp_json_string_value(at(rp_json_array_get(columns, i), "name"));

    if (name)
        rp_html_name(out, name);
    else
        rp_buffer_printf(out, "column %zu", i);
}

/* The column of the greatest value below the last one listed; of equal ones the first not listed. */
static size_t next_of(const rp_json *columns, double below, size_t behind)
{
    size_t found = rp_json_array_size(columns);

    for (size_t i = 0; i < rp_json_array_size(columns); i++) {
        const double iv = iv_of(rp_json_array_get(columns, i));

        if (iv < 0 || iv > below || (iv == below && i <= behind))
            continue;
        if (found == rp_json_array_size(columns) || iv > iv_of(rp_json_array_get(columns, found)))
            found = i;
    }
    return found;
}

static void put_bin_name(rp_buffer *out, const rp_json *column, size_t i)
{
    const rp_json *edges = at(column, "edges"), *categories = at(column, "categories");
    const size_t n = rp_json_array_size(edges);
    const char *category = rp_json_string_value(rp_json_array_get(categories, i));

    if (category) {
        rp_html_name(out, category);
    } else if (categories && i >= rp_json_array_size(categories)) {
        rp_buffer_text(out, "other");
    } else if (categories || i > n) {
        rp_buffer_text(out, "missing");
    } else if (i == 0) {
        rp_buffer_text(out, "below ");
        rp_html_real(out, rp_json_array_get(edges, 0));
    } else {
        rp_buffer_text(out, "from ");
        rp_html_real(out, rp_json_array_get(edges, i - 1));
    }
}

static void draw(rp_report_view *r, const rp_json *columns, size_t i)
{
    char id[32];
    const rp_json *column = rp_json_array_get(columns, i), *woe = at(column, "woe");
    const size_t n = rp_json_array_size(woe);
    double edge[BINS_MAX + 1], y[BINS_MAX];
    const rp_chart_bars bar = {.edge = edge, .height = y, .n = n, .style = "dark"};
    const rp_chart chart = {.id = id,
                            .title = "Weight of evidence by bin",
                            .x_label = "bin",
                            .y_label = "weight of evidence",
                            .bar = &bar,
                            .bars = 1,
                            .whole_x = true};
    rp_buffer desc = {0};

    if (n < 2 || n > BINS_MAX)
        return;
    (void)snprintf(id, sizeof id, "woe-%zu", i);
    for (size_t k = 0; k <= n; k++)
        edge[k] = (double)k + 0.5;
    for (size_t k = 0; k < n; k++)
        if (!rp_report_real(rp_json_array_get(woe, k), &y[k]))
            return;
    put_name(&desc, columns, i);
    rp_buffer_text(&desc, ": ");
    for (size_t k = 0; k < n && k < 12; k++) {
        rp_buffer_printf(&desc, "%s%zu: ", k ? ", " : "", k + 1);
        put_bin_name(&desc, column, k);
    }
    rp_buffer_text(&desc, n > 12 ? ", ..." : ". Above 0 the positive class is more frequent than on the whole.");
    rp_svg_chart(r->out, &chart, &desc);
    rp_buffer_free(&desc);
}

void rp_report_woe(rp_report_view *r)
{
    const rp_json *columns = columns_of(r);
    size_t i = next_of(columns, 1e300, 0), shown = 0;
    double most = iv_of(rp_json_array_get(columns, i));
    rp_buffer *out = r->out;

    if (i == rp_json_array_size(columns))
        return;
    rp_buffer_text(out, "<h3>Information values</h3>\n<p class=\"note\">Of the columns that weights of evidence stand "
                        "for; custom keeps 0.02 and more, and looks twice above 0.5.</p>\n");
    rp_html_table(out, "slim", NULL, "Column|#Information value||#Bins");
    for (; i < rp_json_array_size(columns) && shown < LISTED_MAX; shown++) {
        const rp_json *column = rp_json_array_get(columns, i);
        const double iv = iv_of(column);

        rp_buffer_text(out, "<tr><th scope=\"row\">");
        put_name(out, columns, i);
        rp_buffer_text(out, "</th><td class=\"n\">");
        rp_html_number(out, iv);
        rp_buffer_text(out, "</td><td class=\"bars\">");
        rp_svg_bar(out, most > 0 ? (uint64_t)(iv / most * 10000) : 0, 10000);
        rp_buffer_text(out, "</td><td class=\"n\">");
        rp_html_count(out, rp_json_array_size(at(column, "woe")));
        rp_buffer_text(out, "</td></tr>\n");
        i = next_of(columns, iv, i);
    }
    rp_buffer_text(out, "</tbody>\n</table>\n<div class=\"pair\">\n");
    i = next_of(columns, 1e300, 0);
    for (size_t k = 0; k < PLOTTED_MAX && i < rp_json_array_size(columns); k++) {
        draw(r, columns, i);
        i = next_of(columns, iv_of(rp_json_array_get(columns, i)), i);
    }
    rp_buffer_text(out, "</div>\n");
}
