/* SPDX-License-Identifier: Apache-2.0
 * Where an element of a resized axis lies on the axis that it comes from, and what its taps weigh (CONTRACT 7.12).
 * Places are fractions of integers, so no scale is ever rounded. */
#ifndef KERNELS_REF_RESIZE_H
#define KERNELS_REF_RESIZE_H

#include "kernels/walk.h"

enum { RP_RESIZE_TAPS = 4, RP_RESIZE_LENGTH = INT32_MAX }; /* lengths of both axes: products of three fit 64 bits */

/* From an axis of `in` elements to one of `out`. */
typedef struct resizing {
    int64_t in, out;
    int mode, coordinates, rounding; /* as in rp_resize */
} resizing;

typedef struct resize_taps {
    int n;
    int64_t at[RP_RESIZE_TAPS];
    double weight[RP_RESIZE_TAPS];
} resize_taps;

static inline resizing resizing_of(const rp_attr *attr, size_t in, size_t out)
{
    resizing r;

    r.in = (int64_t)in;
    r.out = (int64_t)out;
    r.mode = (int)RP_AT(attr, resize, mode).i;
    r.coordinates = (int)RP_AT(attr, resize, coordinates).i;
    r.rounding = (int)RP_AT(attr, resize, rounding).i;
    return r;
}

/* Element o lies at p / q. */
static inline void resize_place(const resizing *r, int64_t o, int64_t *p, int64_t *q)
{
    *q = r->coordinates == 0 ? 2 * r->out : r->coordinates == 2 ? r->out : r->out > 1 ? r->out - 1 : 1;
    *p = r->coordinates == 0 ? (2 * o + 1) * r->in - r->out : r->coordinates == 2 ? o * r->in : o * (r->in - 1);
    if (r->mode == 1) { /* of two neighbours: none is beyond the axis */
        const int64_t last = (r->in - 1) * *q;

        *p = *p < 0 ? 0 : *p > last ? last : *p;
    }
}

static inline int64_t resize_floor(int64_t p, int64_t q)
{
    return p / q - (p % q < 0);
}

static inline int64_t resize_inside(const resizing *r, int64_t i)
{
    return i < 0 ? 0 : i >= r->in ? r->in - 1 : i;
}

static inline int64_t resize_nearest(const resizing *r, int64_t floor, int64_t rest, int64_t q)
{
    const bool up = r->rounding == 1   ? rest > 0
                    : r->rounding == 2 ? rest > q - rest
                                       : r->rounding == 3 && rest >= q - rest;

    return resize_inside(r, floor + up);
}

/* Keys' kernel with a = -3/4, at distances up to 1 and from 1 to 2. */
static inline double resize_near(double d)
{
    return (1.25 * d - 2.25) * d * d + 1;
}

static inline double resize_far(double d)
{
    return ((-0.75 * d + 3.75) * d - 6) * d + 3;
}

static inline resize_taps resize_taps_of(const resizing *r, int64_t o)
{
    int64_t p, q;
    resize_taps t = {0};

    resize_place(r, o, &p, &q);
    const int64_t floor = resize_floor(p, q), rest = p - floor * q;
    const double part = (double)rest / (double)q;

    t.n = r->mode == 0 ? 1 : 2 * r->mode;
    for (int k = 0; k < t.n; k++)
        t.at[k] = resize_inside(r, floor + k - (r->mode == 2));
    t.weight[0] = 1;
    if (r->mode == 0)
        t.at[0] = resize_nearest(r, floor, rest, q);
    if (r->mode == 1) {
        t.weight[0] = 1 - part;
        t.weight[1] = part;
    }
    if (r->mode == 2) {
        t.weight[0] = resize_far(part + 1);
        t.weight[1] = resize_near(part);
        t.weight[2] = resize_near(1 - part);
        t.weight[3] = resize_far(2 - part);
    }
    return t;
}

/* The first element of the resized axis whose place is floor or later; out when there is none. Places ascend by the
 * same fraction, but for those that mode 1 moves to the ends. */
static inline int64_t resize_first(const resizing *r, int64_t floor)
{
    const int64_t rise = r->coordinates == 0 ? 2 * r->in : r->coordinates == 2 ? r->in : r->in - 1;
    const int64_t q = r->coordinates == 0 ? 2 * r->out : r->coordinates == 2 ? r->out : r->out > 1 ? r->out - 1 : 1;
    int64_t missing, first;

    if (r->mode == 1 && (floor <= 0 || floor >= r->in))
        return floor <= 0 ? 0 : r->out;
    missing = floor * q - (r->coordinates == 0 ? r->in - r->out : 0); /* of element 0, in units of 1 / q */
    if (missing <= 0)
        return 0;
    if (rise == 0)
        return r->out;
    first = missing / rise + (missing % rise != 0);
    return first < r->out ? first : r->out;
}

/* The elements [*begin, *end) that may have taps at element i: their floors are from i - 2 to i + 1, and those beyond
 * the ends come to the last. */
static inline void resize_reached(const resizing *r, int64_t i, int64_t *begin, int64_t *end)
{
    *begin = i == 0 ? 0 : resize_first(r, i - 2);
    *end = i == r->in - 1 ? r->out : resize_first(r, i + 2);
}

#endif
