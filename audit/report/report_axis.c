/* SPDX-License-Identifier: Apache-2.0
 * Axes of drawings, with round ticks and whole labels, and the few shapes that all drawings are made of. */
#include <string.h>

#include "audit/report/report_svg.h"

/* Of a digit in a label of 12 px, generously: labels are measured before anything is placed, so that none is cut. */
static const double digit_width = 6.8;

bool rp_svg_drawable(double v)
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

void rp_axis_fit(rp_axis *a, int steps, bool whole)
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

double rp_axis_place(const rp_axis *a, double v)
{
    return a->from + (v - a->low) / (a->high - a->low) * (a->to - a->from);
}

void rp_axis_label(rp_buffer *out, const rp_axis *a, double v)
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

double rp_axis_tick(const rp_axis *a, int i)
{
    return -floor_to(-a->low, a->step) + i * a->step;
}

/* Of the axis's widest label. */
double rp_axis_widest(const rp_axis *a)
{
    double widest = 0;

    for (int i = 0; i <= 12 && rp_axis_tick(a, i) <= a->high + a->step * 1e-6; i++) {
        rp_buffer label = {0};
        double width;

        rp_axis_label(&label, a, rp_axis_tick(a, i));
        width = text_width(label.data, label.size);
        widest = width > widest ? width : widest;
        rp_buffer_free(&label);
    }
    return widest;
}

void rp_svg_text(rp_buffer *out, double x, double y, const char *attributes)
{
    rp_buffer_text(out, "<text x=\"");
    rp_html_fixed(out, x, 1);
    rp_buffer_text(out, "\" y=\"");
    rp_html_fixed(out, y, 1);
    rp_buffer_printf(out, "\"%s>", attributes);
}

void rp_svg_rule(rp_buffer *out, const char *style, double x1, double y1, double x2, double y2)
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

void rp_svg_dot(rp_buffer *out, const char *style, const char *radius, double x, double y)
{
    rp_buffer_printf(out, "<circle class=\"%s\" r=\"%s\" cx=\"", style, radius);
    rp_html_fixed(out, x, 1);
    rp_buffer_text(out, "\" cy=\"");
    rp_html_fixed(out, y, 1);
    rp_buffer_text(out, "\"/>\n");
}

void rp_svg_open(rp_buffer *out, const char *id, const char *title, const rp_buffer *desc, int width, int height)
{
    rp_buffer_printf(out,
                     "<svg class=\"chart\" viewBox=\"0 0 %d %d\" role=\"img\" aria-labelledby=\"%s-t %s-d\">\n"
                     "<title id=\"%s-t\">%s</title>\n<desc id=\"%s-d\">",
                     width, height, id, id, id, title, id);
    rp_buffer_append(out, desc->data, desc->size);
    rp_buffer_text(out, "</desc>\n");
    out->failed |= desc->failed;
}
