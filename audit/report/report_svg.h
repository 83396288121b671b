/* SPDX-License-Identifier: Apache-2.0
 * What drawings of a report share: axes with round ticks, and texts and lines at places with one decimal. */
#ifndef AUDIT_REPORT_REPORT_SVG_H
#define AUDIT_REPORT_REPORT_SVG_H

#include "audit/report/report.h"

typedef struct rp_axis {
    double low, high, step;
    int decimals;
    double from, to; /* in the drawing */
} rp_axis;

/* What can be drawn at all: not infinite, not a NaN, nowhere near overflow. */
bool rp_svg_drawable(double v);
/* Ends become multiples of the step, of which there are about so many; a range of nothing is widened. whole: ticks are
 * integers. */
void rp_axis_fit(rp_axis *axis, int steps, bool whole);
double rp_axis_place(const rp_axis *axis, double v);
/* Tick i from 0; they end where one is above axis->high. */
double rp_axis_tick(const rp_axis *axis, int i);
/* All its digits count: a label that is rounded or cut is another number. */
void rp_axis_label(rp_buffer *out, const rp_axis *axis, double v);
double rp_axis_widest(const rp_axis *axis); /* of its labels, in the drawing's units */
/* <text ...> up to its content; attributes: with a space in front. */
void rp_svg_text(rp_buffer *out, double x, double y, const char *attributes);
void rp_svg_rule(rp_buffer *out, const char *style, double x1, double y1, double x2, double y2);
void rp_svg_dot(rp_buffer *out, const char *style, const char *radius, double x, double y);
/* <svg> with its title and description, both HTML, named by id. */
void rp_svg_open(rp_buffer *out, const char *id, const char *title, const rp_buffer *desc, int width, int height);

#endif
