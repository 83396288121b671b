/* SPDX-License-Identifier: Apache-2.0
 * Charts as inline SVG: axes with round ticks, lines, a legend, and a title and description for those who cannot see
 * them. Colours are classes of the page's style sheet, so that dark screens and paper have their own. */
#include <string.h>

#include "audit/report/report_svg.h"

enum { POINTS_MAX = 1200, SCATTER_MAX = 500, EACH_BIN = 10, GAP = 6 };

/* Without legend and the x axis's name where it is one of many. */
typedef struct drawing {
    int width, height, top, bottom, steps;
} drawing;

static const drawing drawings[] = {{360, 260, 44, 46, 5}, {200, 150, 24, 26, 3}};

static void take(double *low, double *high, bool any, double v)
{
    *low = any && *low < v ? *low : v;
    *high = any && *high > v ? *high : v;
}

static void fit_lines(const rp_chart *chart, rp_axis *x, rp_axis *y, bool *any)
{
    for (size_t k = 0; k < chart->lines; k++) {
        const rp_chart_line *line = &chart->line[k];

        for (size_t i = 0; i < line->n; i++) {
            if (!rp_svg_drawable(line->x[i]) || !rp_svg_drawable(line->y[i]))
                continue;
            take(&x->low, &x->high, *any, line->x[i]);
            take(&y->low, &y->high, *any, line->y[i]);
            *any = true;
            if (line->low && rp_svg_drawable(line->low[i]) && rp_svg_drawable(line->high[i])) {
                take(&y->low, &y->high, true, line->low[i]);
                take(&y->low, &y->high, true, line->high[i]);
            }
        }
    }
}

static void fit_bars(const rp_chart *chart, rp_axis *x, rp_axis *y, bool *any)
{
    for (size_t k = 0; k < chart->bars; k++)
        for (size_t i = 0; i < chart->bar[k].n; i++) {
            take(&x->low, &x->high, *any, chart->bar[k].edge[i]);
            take(&x->low, &x->high, true, chart->bar[k].edge[i + 1]);
            take(&y->low, &y->high, *any, 0);
            take(&y->low, &y->high, true, chart->bar[k].height[i]);
            *any = true;
        }
}

static void fit_axes(const rp_chart *chart, rp_axis *x, rp_axis *y)
{
    bool any = false;

    fit_bars(chart, x, y, &any);
    fit_lines(chart, x, y, &any);
    if (chart->unit_x) {
        x->low = 0;
        x->high = 1;
    }
    if (chart->unit_y) {
        y->low = 0;
        y->high = 1;
    }
    if (chart->range) {
        y->low = chart->range[0];
        y->high = chart->range[1];
    }
    rp_axis_fit(x, chart->whole_x ? drawings[chart->small].steps - 1 : drawings[chart->small].steps, chart->whole_x);
    rp_axis_fit(y, drawings[chart->small].steps, false);
    /* every bin has its number, and nothing else has */
    if (chart->whole_x && chart->bars && x->high - chart->bar[0].edge[0] <= EACH_BIN) {
        x->low = chart->bar[0].edge[0];
        x->step = 1;
    }
}

static void put_axes(rp_buffer *out, const rp_chart *chart, const rp_axis *x, const rp_axis *y)
{
    for (int i = 0; i <= 12 && rp_axis_tick(y, i) <= y->high + y->step / 2; i++) {
        double at = rp_axis_place(y, rp_axis_tick(y, i));

        rp_svg_rule(out, i ? "grid" : "axis", x->from, at, x->to, at);
        rp_svg_text(out, x->from - 8, at + 4, " class=\"end\"");
        rp_axis_label(out, y, rp_axis_tick(y, i));
        rp_buffer_text(out, "</text>\n");
    }
    for (int i = 0; i <= 12 && rp_axis_tick(x, i) <= x->high + x->step * 1e-6; i++) {
        double at = rp_axis_place(x, rp_axis_tick(x, i));

        rp_svg_rule(out, "axis", at, y->from, at, y->from + 5);
        rp_svg_text(out, at, y->from + 19, " class=\"middle\"");
        rp_axis_label(out, x, rp_axis_tick(x, i));
        rp_buffer_text(out, "</text>\n");
    }
    if (!chart->small) {
        rp_svg_text(out, (x->from + x->to) / 2, drawings[0].height - 8, " class=\"middle label\"");
        rp_buffer_printf(out, "%s</text>\n", chart->x_label);
    }
    rp_svg_text(out, 0, 13, " class=\"label\"");
    rp_buffer_printf(out, "%s</text>\n", chart->y_label);
}

/* Below the axis's name, from the left; lines first. */
static void put_legend(rp_buffer *out, const rp_chart *chart)
{
    size_t named = 0;
    double at = 0;

    for (size_t k = 0; k < chart->lines + chart->bars; k++)
        named += (k < chart->lines ? chart->line[k].label : chart->bar[k - chart->lines].label) != NULL;
    for (size_t k = 0; named > 1 && k < chart->lines + chart->bars; k++) {
        bool line = k < chart->lines;
        const char *style = line ? chart->line[k].style : chart->bar[k - chart->lines].style;
        const char *label = line ? chart->line[k].label : chart->bar[k - chart->lines].label;

        if (!label)
            continue;
        if (line && !chart->line[k].scatter) {
            rp_svg_rule(out, style, at, 27, at + 20, 27);
        } else {
            rp_buffer_printf(out, "<rect class=\"%s\" x=\"", style);
            rp_html_fixed(out, at + 4, 1);
            rp_buffer_text(out, "\" y=\"22\" width=\"12\" height=\"10\"/>\n");
        }
        rp_svg_text(out, at + 25, 31, "");
        rp_buffer_printf(out, "%s</text>\n", label);
        at += 25 + 6.3 * (double)strlen(label) + 14;
    }
}

static void put_bar(rp_buffer *out, const rp_chart_bars *bars, size_t i, size_t series, size_t all, const rp_axis *x,
                    const rp_axis *y)
{
    double left = rp_axis_place(x, bars->edge[i]), width = (rp_axis_place(x, bars->edge[i + 1]) - left) / (double)all;
    double top = rp_axis_place(y, bars->height[i]), foot = rp_axis_place(y, 0);
    const double at[] = {left + width * (double)series + 0.3, top < foot ? top : foot, width > 1 ? width - 0.6 : 0.4,
                         top < foot ? foot - top : top - foot};
    static const char *const name[] = {"x", "y", "width", "height"};

    rp_buffer_printf(out, "<rect class=\"%s\"", bars->style);
    for (int k = 0; k < 4; k++) {
        rp_buffer_printf(out, " %s=\"", name[k]);
        rp_html_fixed(out, at[k] < 0 ? 0 : at[k], 1);
        rp_buffer_u8(out, '"');
    }
    rp_buffer_text(out, "/>\n");
}

static void put_point(rp_buffer *out, const rp_axis *x, const rp_axis *y, double u, double v)
{
    rp_html_fixed(out, rp_axis_place(x, u), 1);
    rp_buffer_u8(out, ',');
    rp_html_fixed(out, rp_axis_place(y, v), 1);
}

static void put_dot(rp_buffer *out, const rp_chart_line *line, size_t i, const rp_axis *x, const rp_axis *y)
{
    if (!rp_svg_drawable(line->x[i]) || !rp_svg_drawable(line->y[i]))
        return;
    if (line->low && rp_svg_drawable(line->low[i]) && rp_svg_drawable(line->high[i]))
        rp_svg_rule(out, line->style, rp_axis_place(x, line->x[i]), rp_axis_place(y, line->low[i]),
                    rp_axis_place(x, line->x[i]), rp_axis_place(y, line->high[i]));
    rp_svg_dot(out, line->style, line->scatter ? "1.8" : "2.6", rp_axis_place(x, line->x[i]),
               rp_axis_place(y, line->y[i]));
}

/* More points than the drawing can show become the lowest and the highest of each bucket. */
static void put_path(rp_buffer *out, const rp_chart_line *line, const rp_axis *x, const rp_axis *y)
{
    size_t bucket = line->n > POINTS_MAX ? (line->n + POINTS_MAX / 2 - 1) / (POINTS_MAX / 2) : 1;
    size_t drawn = 0;

    rp_buffer_printf(out, "<polyline class=\"%s\" points=\"", line->style);
    for (size_t at = 0; at < line->n; at += bucket) {
        size_t low = line->n, high = line->n;

        for (size_t i = at; i < line->n && i < at + bucket; i++) {
            if (!rp_svg_drawable(line->y[i]))
                continue;
            low = low == line->n || line->y[i] < line->y[low] ? i : low;
            high = high == line->n || line->y[i] >= line->y[high] ? i : high;
        }
        if (low == line->n)
            continue;
        for (int end = 0; end < (low == high ? 1 : 2); end++) {
            size_t i = (end == 0) == (low < high) || low == high ? low : high;

            rp_buffer_text(out, drawn++ ? " " : "");
            put_point(out, x, y, line->x[i], line->y[i]);
        }
    }
    rp_buffer_text(out, "\"/>\n");
}

/* A band between low and high, under everything. */
static void put_band(rp_buffer *out, const rp_chart_line *line, const rp_axis *x, const rp_axis *y)
{
    size_t drawn = 0;

    rp_buffer_printf(out, "<polygon class=\"%s\" points=\"", line->style);
    for (size_t k = 0; k < 2 * line->n; k++) {
        const size_t i = k < line->n ? k : 2 * line->n - 1 - k;
        const double v = k < line->n ? line->low[i] : line->high[i];

        if (!rp_svg_drawable(line->x[i]) || !rp_svg_drawable(v))
            continue;
        rp_buffer_text(out, drawn++ ? " " : "");
        put_point(out, x, y, line->x[i], v);
    }
    rp_buffer_text(out, "\"/>\n");
}

static void put_line(rp_buffer *out, const rp_chart_line *line, const rp_axis *x, const rp_axis *y)
{
    if (line->band) {
        put_band(out, line, x, y);
        return;
    }

    size_t every = line->n > SCATTER_MAX ? (line->n + SCATTER_MAX - 1) / SCATTER_MAX : 1;

    if (!line->scatter)
        put_path(out, line, x, y);
    for (size_t i = 0; (line->scatter || (line->dots && line->n <= 60)) && i < line->n; i += every)
        put_dot(out, line, i, x, y);
}

/* Between the labels of y and half a label of x at either end. */
static void place_x(rp_axis *x, const rp_axis *y, const drawing *size)
{
    const double half = rp_axis_widest(x) / 2, beside = rp_axis_widest(y) + 12;

    x->from = beside > half ? beside : half;
    x->to = size->width - 4 - half;
}

/* Whether labels that follow each other touch, which makes other numbers of them. */
static bool overlaps(const rp_axis *x)
{
    return (x->to - x->from) / (x->high - x->low) * x->step < rp_axis_widest(x) + GAP;
}

void rp_svg_chart(rp_buffer *out, const rp_chart *chart, const rp_buffer *desc)
{
    const drawing *size = &drawings[chart->small];
    rp_axis x = {0}, y = {0};

    fit_axes(chart, &x, &y);
    if (chart->small && rp_axis_widest(&x) > size->width / 5.0)
        rp_axis_fit(&x, 2, chart->whole_x); /* labels keep apart */
    place_x(&x, &y, size);
    for (int steps = size->steps - 1; steps > 0 && overlaps(&x); steps--) {
        rp_axis_fit(&x, steps, chart->whole_x);
        place_x(&x, &y, size);
    }
    y.from = size->height - size->bottom;
    y.to = size->top;
    rp_buffer_text(out, "<figure>");
    rp_svg_open(out, chart->id, chart->title, desc, size->width, size->height);
    put_axes(out, chart, &x, &y);
    for (size_t k = 0; k < chart->bars; k++)
        for (size_t i = 0; i < chart->bar[k].n; i++)
            put_bar(out, &chart->bar[k], i, k, chart->bars, &x, &y);
    for (size_t k = 0; k < chart->lines; k++)
        put_line(out, &chart->line[k], &x, &y);
    if (!chart->small)
        put_legend(out, chart);
    rp_buffer_printf(out, "</svg><figcaption><strong>%s.</strong> ", chart->title);
    rp_buffer_append(out, desc->data, desc->size);
    rp_buffer_text(out, "</figcaption></figure>\n");
    out->failed |= desc->failed;
}

void rp_svg_bar(rp_buffer *out, uint64_t part, uint64_t whole)
{
    rp_buffer_text(out, "<svg class=\"bar\" viewBox=\"0 0 100 8\" preserveAspectRatio=\"none\" aria-hidden=\"true\">"
                        "<rect class=\"rest\" width=\"100\" height=\"8\"/><rect class=\"part\" height=\"8\" width=\"");
    rp_html_fixed(out, whole ? 100.0 * ((double)part / (double)whole) : 0, 1);
    rp_buffer_text(out, "\"/></svg>");
}

static void put_span(rp_buffer *out, const char *style, const char *place, const rp_axis *axis, double from, double to)
{
    const double a = rp_axis_place(axis, from < to ? from : to), b = rp_axis_place(axis, from < to ? to : from);

    rp_buffer_printf(out, "<rect class=\"%s\" %s x=\"", style, place);
    rp_html_fixed(out, a, 1);
    rp_buffer_text(out, "\" width=\"");
    rp_html_fixed(out, b - a > 0.4 ? b - a : 0.4, 1);
    rp_buffer_text(out, "\"/>");
}

void rp_svg_spread(rp_buffer *out, double low, double high, double mean, double deviation)
{
    const rp_axis axis = {.low = low, .high = high > low ? high : low + 1, .from = 0, .to = 100};

    rp_buffer_text(out, "<svg class=\"bar\" viewBox=\"0 0 100 8\" preserveAspectRatio=\"none\" aria-hidden=\"true\">");
    put_span(out, "soft", "height=\"8\"", &axis, 0, mean);
    put_span(out, "spread", "y=\"3\" height=\"2\"", &axis, mean - deviation, mean + deviation);
    put_span(out, "spread", "height=\"8\"", &axis, 0, 0);
    rp_buffer_text(out, "</svg>");
}
