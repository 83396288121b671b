/* SPDX-License-Identifier: Apache-2.0
 * Charts as inline SVG: axes with round ticks, lines, a legend, and a title and description for those who cannot see
 * them. Colours are classes of the page's style sheet, so that dark screens and paper have their own. */
#include <string.h>

#include "audit/report/report.h"

enum { WIDTH = 360, HEIGHT = 260, TOP = 44, BOTTOM = 46, POINTS_MAX = 1200, SCATTER_MAX = 500 };
/* Of a digit in a label of 12 px, generously: labels are measured before anything is placed, so that none is cut. */
static const double digit_width = 6.8;

typedef struct axis {
    double low, high, step;
    int decimals;
    double from, to; /* in the drawing */
} axis;

static bool drawable(double v)
{
    return v > -1e30 && v < 1e30;
}

/* The smallest of 1, 2, 5 times a power of ten that makes at most that many steps. */
static double round_step(double range, int steps)
{
    static const double factor[] = {1, 2, 5};
    double power = 1;

    while (power * steps < range)
        power *= 10;
    while (power * steps >= range * 10)
        power /= 10;
    power /= 10;
    for (int round = 0; round < 2; round++, power *= 10)
        for (size_t i = 0; i < 3; i++)
            if (factor[i] * power * steps >= range)
                return factor[i] * power;
    return power;
}

static double floor_to(double x, double step)
{
    double n = x / step;
    double whole = (double)(int64_t)n;

    return (whole > n ? whole - 1 : whole) * step;
}

/* Ends are multiples of the step; a range of nothing is widened. whole: ticks are integers. */
static void fit_axis(axis *a, int steps, bool whole)
{
    double size = a->high > -a->low ? a->high : -a->low;

    if (!(a->high - a->low > size * 1e-6) || a->high - a->low < 1e-30) {
        a->high += size > 1e-28 ? size * 0.05 : 1;
        a->low -= size > 1e-28 ? size * 0.05 : 0;
    }
    if (a->low > 0 && a->low < 0.5 * a->high)
        a->low = 0;
    a->step = round_step(a->high - a->low, steps);
    if (whole && a->step < 1)
        a->step = 1;
    a->decimals = 0;
    for (double s = a->step; s < 0.99999 && a->decimals < 9; s *= 10)
        a->decimals++;
    if (whole)
        return;
    a->low = floor_to(a->low, a->step);
    a->high = -floor_to(-a->high, a->step);
}

static double place(const axis *a, double v)
{
    return a->from + (v - a->low) / (a->high - a->low) * (a->to - a->from);
}

static void take(double *low, double *high, bool any, double v)
{
    *low = any && *low < v ? *low : v;
    *high = any && *high > v ? *high : v;
}

static void fit_lines(const rp_chart *chart, axis *x, axis *y, bool *any)
{
    for (size_t k = 0; k < chart->lines; k++) {
        const rp_chart_line *line = &chart->line[k];

        for (size_t i = 0; i < line->n; i++) {
            if (!drawable(line->x[i]) || !drawable(line->y[i]))
                continue;
            take(&x->low, &x->high, *any, line->x[i]);
            take(&y->low, &y->high, *any, line->y[i]);
            *any = true;
            if (line->low && drawable(line->low[i]) && drawable(line->high[i])) {
                take(&y->low, &y->high, true, line->low[i]);
                take(&y->low, &y->high, true, line->high[i]);
            }
        }
    }
}

static void fit_bars(const rp_chart *chart, axis *x, axis *y, bool *any)
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

static void fit_axes(const rp_chart *chart, axis *x, axis *y)
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
    fit_axis(x, chart->whole_x ? 4 : 5, chart->whole_x);
    fit_axis(y, 5, false);
}

/* All its digits count: a label that is rounded or cut is another number. */
static void put_tick_label(rp_buffer *out, const axis *a, double v)
{
    double size = v < 0 ? -v : v;

    if (size < 1e-3 * a->step) {
        rp_buffer_u8(out, '0');
        return;
    }
    if (v < 0)
        rp_buffer_text(out, "\xE2\x88\x92");
    if (a->decimals > 9 || (a->decimals > 5 && size < 100 * a->step) || size >= 1e9)
        rp_html_number(out, size);
    else if (a->decimals == 0)
        rp_html_count(out, (uint64_t)(size + 0.5));
    else
        rp_html_fixed(out, size, a->decimals);
}

static double text_width(const unsigned char *text, size_t size)
{
    size_t characters = 0;

    for (size_t i = 0; i < size; i++)
        characters += (text[i] & 0xC0) != 0x80;
    return digit_width * (double)characters;
}

static double tick(const axis *a, int i)
{
    return -floor_to(-a->low, a->step) + i * a->step;
}

/* Of the axis's widest label. */
static double widest_label(const axis *a)
{
    double widest = 0;

    for (int i = 0; i <= 12 && tick(a, i) <= a->high + a->step * 1e-6; i++) {
        rp_buffer label = {0};
        double width;

        put_tick_label(&label, a, tick(a, i));
        width = text_width(label.data, label.size);
        widest = width > widest ? width : widest;
        rp_buffer_free(&label);
    }
    return widest;
}

static void put_text(rp_buffer *out, double x, double y, const char *attributes)
{
    rp_buffer_text(out, "<text x=\"");
    rp_html_fixed(out, x, 1);
    rp_buffer_text(out, "\" y=\"");
    rp_html_fixed(out, y, 1);
    rp_buffer_printf(out, "\"%s>", attributes);
}

static void put_rule(rp_buffer *out, const char *style, double x1, double y1, double x2, double y2)
{
    const double at[] = {x1, y1, x2, y2};
    static const char *const name[] = {"x1", "y1", "x2", "y2"};

    rp_buffer_printf(out, "<line class=\"%s\"", style);
    for (int i = 0; i < 4; i++) {
        rp_buffer_printf(out, " %s=\"", name[i]);
        rp_html_fixed(out, at[i], 1);
        rp_buffer_u8(out, '"');
    }
    rp_buffer_text(out, "/>\n");
}

static void put_axes(rp_buffer *out, const rp_chart *chart, const axis *x, const axis *y)
{
    for (int i = 0; i <= 12 && tick(y, i) <= y->high + y->step / 2; i++) {
        double at = place(y, tick(y, i));

        put_rule(out, i ? "grid" : "axis", x->from, at, x->to, at);
        put_text(out, x->from - 8, at + 4, " class=\"end\"");
        put_tick_label(out, y, tick(y, i));
        rp_buffer_text(out, "</text>\n");
    }
    for (int i = 0; i <= 12 && tick(x, i) <= x->high + x->step * 1e-6; i++) {
        double at = place(x, tick(x, i));

        put_rule(out, "axis", at, y->from, at, y->from + 5);
        put_text(out, at, y->from + 19, " class=\"middle\"");
        put_tick_label(out, x, tick(x, i));
        rp_buffer_text(out, "</text>\n");
    }
    put_text(out, (x->from + x->to) / 2, HEIGHT - 8, " class=\"middle label\"");
    rp_buffer_printf(out, "%s</text>\n", chart->x_label);
    put_text(out, 0, 13, " class=\"label\"");
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
            put_rule(out, style, at, 27, at + 20, 27);
        } else {
            rp_buffer_printf(out, "<rect class=\"%s\" x=\"", style);
            rp_html_fixed(out, at + 4, 1);
            rp_buffer_text(out, "\" y=\"22\" width=\"12\" height=\"10\"/>\n");
        }
        put_text(out, at + 25, 31, "");
        rp_buffer_printf(out, "%s</text>\n", label);
        at += 25 + 6.3 * (double)strlen(label) + 14;
    }
}

static void put_bar(rp_buffer *out, const rp_chart_bars *bars, size_t i, size_t series, size_t all, const axis *x,
                    const axis *y)
{
    double left = place(x, bars->edge[i]), width = (place(x, bars->edge[i + 1]) - left) / (double)all;
    double top = place(y, bars->height[i]), foot = place(y, 0);
    const double at[] = {left + width * (double)series + 0.3, top, width > 1 ? width - 0.6 : 0.4, foot - top};
    static const char *const name[] = {"x", "y", "width", "height"};

    rp_buffer_printf(out, "<rect class=\"%s\"", bars->style);
    for (int k = 0; k < 4; k++) {
        rp_buffer_printf(out, " %s=\"", name[k]);
        rp_html_fixed(out, at[k] < 0 ? 0 : at[k], 1);
        rp_buffer_u8(out, '"');
    }
    rp_buffer_text(out, "/>\n");
}

static void put_point(rp_buffer *out, const axis *x, const axis *y, double u, double v)
{
    rp_html_fixed(out, place(x, u), 1);
    rp_buffer_u8(out, ',');
    rp_html_fixed(out, place(y, v), 1);
}

static void put_dot(rp_buffer *out, const rp_chart_line *line, size_t i, const axis *x, const axis *y)
{
    if (!drawable(line->x[i]) || !drawable(line->y[i]))
        return;
    if (line->low && drawable(line->low[i]) && drawable(line->high[i]))
        put_rule(out, line->style, place(x, line->x[i]), place(y, line->low[i]), place(x, line->x[i]),
                 place(y, line->high[i]));
    rp_buffer_printf(out, "<circle class=\"%s\" r=\"%s\" cx=\"", line->style, line->scatter ? "1.8" : "2.6");
    rp_html_fixed(out, place(x, line->x[i]), 1);
    rp_buffer_text(out, "\" cy=\"");
    rp_html_fixed(out, place(y, line->y[i]), 1);
    rp_buffer_text(out, "\"/>\n");
}

/* More points than the drawing can show become the lowest and the highest of each bucket. */
static void put_path(rp_buffer *out, const rp_chart_line *line, const axis *x, const axis *y)
{
    size_t bucket = line->n > POINTS_MAX ? (line->n + POINTS_MAX / 2 - 1) / (POINTS_MAX / 2) : 1;
    size_t drawn = 0;

    rp_buffer_printf(out, "<polyline class=\"%s\" points=\"", line->style);
    for (size_t at = 0; at < line->n; at += bucket) {
        size_t low = line->n, high = line->n;

        for (size_t i = at; i < line->n && i < at + bucket; i++) {
            if (!drawable(line->y[i]))
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

static void put_line(rp_buffer *out, const rp_chart_line *line, const axis *x, const axis *y)
{
    size_t every = line->n > SCATTER_MAX ? (line->n + SCATTER_MAX - 1) / SCATTER_MAX : 1;

    if (!line->scatter)
        put_path(out, line, x, y);
    for (size_t i = 0; (line->scatter || (line->dots && line->n <= 60)) && i < line->n; i += every)
        put_dot(out, line, i, x, y);
}

void rp_svg_chart(rp_buffer *out, const rp_chart *chart, const rp_buffer *desc)
{
    axis x = {0}, y = {0};

    fit_axes(chart, &x, &y);
    x.from = widest_label(&y) + 12;
    x.to = WIDTH - 4 - widest_label(&x) / 2;
    y.from = HEIGHT - BOTTOM;
    y.to = TOP;
    rp_buffer_printf(out,
                     "<figure><svg class=\"chart\" viewBox=\"0 0 %d %d\" role=\"img\" aria-labelledby=\"%s-t %s-d\">\n"
                     "<title id=\"%s-t\">%s</title>\n<desc id=\"%s-d\">",
                     WIDTH, HEIGHT, chart->id, chart->id, chart->id, chart->title, chart->id);
    rp_buffer_append(out, desc->data, desc->size);
    rp_buffer_text(out, "</desc>\n");
    put_axes(out, chart, &x, &y);
    for (size_t k = 0; k < chart->bars; k++)
        for (size_t i = 0; i < chart->bar[k].n; i++)
            put_bar(out, &chart->bar[k], i, k, chart->bars, &x, &y);
    for (size_t k = 0; k < chart->lines; k++)
        put_line(out, &chart->line[k], &x, &y);
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
