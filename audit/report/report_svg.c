/* SPDX-License-Identifier: Apache-2.0
 * Charts as inline SVG: axes with round ticks, lines, a legend, and a title and description for those who cannot see
 * them. Colours are classes of the page's style sheet, so that dark screens and paper have their own. */
#include <string.h>

#include "audit/report/report.h"

enum { WIDTH = 720, LEFT = 64, RIGHT = 14, TOP = 34, BOTTOM = 46, POINTS_MAX = 1200 };

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

static void fit_axes(const rp_chart *chart, axis *x, axis *y)
{
    bool any = false;

    for (size_t k = 0; k < chart->lines; k++) {
        for (size_t i = 0; i < chart->line[k].n; i++) {
            double u = chart->line[k].x[i], v = chart->line[k].y[i];

            if (!drawable(u) || !drawable(v))
                continue;
            x->low = any && x->low < u ? x->low : u;
            x->high = any && x->high > u ? x->high : u;
            y->low = any && y->low < v ? y->low : v;
            y->high = any && y->high > v ? y->high : v;
            any = true;
        }
    }
    fit_axis(x, 8, true);
    fit_axis(y, 5, false);
}

static void put_tick_label(rp_buffer *out, const axis *a, double v)
{
    double size = v < 0 ? -v : v;

    if (size < 1e-3 * a->step) {
        rp_buffer_u8(out, '0');
        return;
    }
    if (v < 0)
        rp_buffer_text(out, "\xE2\x88\x92");
    if (a->decimals > 5 || size >= 1e9)
        rp_html_number(out, size);
    else if (a->decimals == 0)
        rp_html_count(out, (uint64_t)(size + 0.5));
    else
        rp_html_fixed(out, size, a->decimals);
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
    for (int i = 0; i <= 12 && y->low + i * y->step <= y->high + y->step / 2; i++) {
        double at = place(y, y->low + i * y->step);

        put_rule(out, i ? "grid" : "axis", x->from, at, x->to, at);
        put_text(out, x->from - 8, at + 4, " class=\"end\"");
        put_tick_label(out, y, y->low + i * y->step);
        rp_buffer_text(out, "</text>\n");
    }
    for (int i = 0; i <= 12; i++) {
        double v = -floor_to(-x->low, x->step) + i * x->step, at = place(x, v);

        if (v > x->high + x->step * 1e-6)
            break;
        put_rule(out, "axis", at, y->from, at, y->from + 5);
        put_text(out, at, y->from + 19, " class=\"middle\"");
        put_tick_label(out, x, v);
        rp_buffer_text(out, "</text>\n");
    }
    put_text(out, (x->from + x->to) / 2, chart->height - 8, " class=\"middle label\"");
    rp_buffer_printf(out, "%s</text>\n", chart->x_label);
    put_text(out, 0, 14, " class=\"label\"");
    rp_buffer_printf(out, "%s</text>\n", chart->y_label);
}

static void put_legend(rp_buffer *out, const rp_chart *chart)
{
    double at = WIDTH - RIGHT;

    for (size_t k = chart->lines; chart->lines > 1 && k-- > 0;) {
        at -= 6.4 * (double)strlen(chart->line[k].label);
        put_text(out, at, 14, "");
        rp_buffer_printf(out, "%s</text>\n", chart->line[k].label);
        at -= 30;
        put_rule(out, chart->line[k].style, at, 10, at + 24, 10);
        at -= 16;
    }
}

static void put_point(rp_buffer *out, const axis *x, const axis *y, double u, double v)
{
    rp_html_fixed(out, place(x, u), 1);
    rp_buffer_u8(out, ',');
    rp_html_fixed(out, place(y, v), 1);
}

/* More points than the drawing can show become the lowest and the highest of each bucket. */
static void put_line(rp_buffer *out, const rp_chart_line *line, const axis *x, const axis *y)
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
    for (size_t i = 0; line->dots && line->n <= 60 && i < line->n; i++) {
        if (!drawable(line->y[i]))
            continue;
        rp_buffer_printf(out, "<circle class=\"%s\" r=\"2.6\" cx=\"", line->style);
        rp_html_fixed(out, place(x, line->x[i]), 1);
        rp_buffer_text(out, "\" cy=\"");
        rp_html_fixed(out, place(y, line->y[i]), 1);
        rp_buffer_text(out, "\"/>\n");
    }
}

void rp_svg_chart(rp_buffer *out, const rp_chart *chart, const rp_buffer *desc)
{
    axis x = {0}, y = {0};

    x.from = LEFT;
    x.to = WIDTH - RIGHT;
    y.from = chart->height - BOTTOM;
    y.to = TOP;
    fit_axes(chart, &x, &y);
    rp_buffer_printf(out,
                     "<figure><svg class=\"chart\" viewBox=\"0 0 %d %d\" role=\"img\" aria-labelledby=\"%s-t %s-d\">\n"
                     "<title id=\"%s-t\">%s</title>\n<desc id=\"%s-d\">",
                     WIDTH, chart->height, chart->id, chart->id, chart->id, chart->title, chart->id);
    rp_buffer_append(out, desc->data, desc->size);
    rp_buffer_text(out, "</desc>\n");
    put_axes(out, chart, &x, &y);
    for (size_t k = 0; k < chart->lines; k++)
        put_line(out, &chart->line[k], &x, &y);
    put_legend(out, chart);
    rp_buffer_text(out, "</svg></figure>\n");
}

void rp_svg_bar(rp_buffer *out, uint64_t part, uint64_t whole)
{
    rp_buffer_text(out, "<svg class=\"bar\" viewBox=\"0 0 100 8\" preserveAspectRatio=\"none\" aria-hidden=\"true\">"
                        "<rect class=\"rest\" width=\"100\" height=\"8\"/><rect class=\"part\" height=\"8\" width=\"");
    rp_html_fixed(out, whole ? 100.0 * ((double)part / (double)whole) : 0, 1);
    rp_buffer_text(out, "\"/></svg>");
}
