/* SPDX-License-Identifier: Apache-2.0
 * Which taps the pixels of a convolution have, forward or in the input gradient. Pixels whose taps are the same make a
 * class; within one chunk of terms several classes often agree, and their pixels share tiles. */
#ifndef KERNELS_CPU_CONV_CONV_PIXELS_H
#define KERNELS_CPU_CONV_CONV_PIXELS_H

#include <string.h>

#include "kernels/cpu/conv/conv_sizes.h"

/* Consecutive terms: where the first lies in either operand, see their users. */
typedef struct segment {
    ptrdiff_t a, b;
    size_t n;
} segment;

/* Coordinates start, start + step, ... (count of them) that have the same taps. */
typedef struct same_taps {
    size_t start, count, step;
    rp_taps taps;
} same_taps;

/* One side of the image: the pixels being computed, and whether they are inputs (the input gradient). */
typedef struct side {
    const rp_conv_axis *axis;
    bool back;
    size_t length, step, move; /* neighbours with the same taps are step apart, and move apart on the other side */
    size_t low, high;          /* the coordinates that are gone through: [low, high), else all */
} side;

static side side_of(const rp_conv_axis *axis, bool back)
{
    const size_t stride = (size_t)axis->stride;

    const size_t length = back ? axis->in : axis->out;

    return (side){axis, back, length, back ? stride : 1, back ? 1 : stride, 0, length};
}

static size_t within(int64_t at, size_t length)
{
    return at < 0 ? 0 : (size_t)at < length ? (size_t)at : length;
}

/* The same for those coordinates alone that may have one of taps [tap, end): all others lie outside of [low, high). A
 * filter that is larger than what it makes has as many different coordinates as taps, and each has few of them. */
static side side_with(const side *s, size_t tap, size_t end)
{
    const int64_t stride = s->axis->stride, first = (int64_t)tap * s->axis->dilation - s->axis->pad;
    const int64_t last = (int64_t)(end - 1) * s->axis->dilation - s->axis->pad;
    side part = *s;

    part.low = within(s->back ? first : -last / stride, s->length);
    part.high = within(s->back ? last + (int64_t)s->axis->out * stride : ((int64_t)s->axis->in - first) / stride + 1,
                       s->length);
    return part;
}

static rp_taps taps_of(const side *s, size_t at)
{
    return s->back ? rp_conv_taps_back(s->axis, at) : rp_conv_taps(s->axis, at);
}

/* Goes through all coordinates; a run with count 0 begins. */
static bool next_same(const side *s, same_taps *run)
{
    size_t at = run->count > 0 ? run->start + run->count * s->step : s->low;

    if (run->count > 0 && at >= s->high) {
        at = s->low + (run->start - s->low) % s->step + 1; /* the next residue */
        if (at >= s->low + s->step)
            return false;
    }
    if (at >= s->high)
        return false;
    run->start = at;
    run->count = 1;
    run->step = s->step;
    run->taps = taps_of(s, at);
    for (at += s->step; at < s->high; at += s->step) {
        const rp_taps taps = taps_of(s, at);

        if (taps.first != run->taps.first || taps.count != run->taps.count)
            break;
        run->count++;
    }
    return true;
}

/* All of a side. */
enum { MOST_LINES = 160 };
typedef struct runs_of_taps {
    size_t n;
    same_taps run[MOST_LINES];
} runs_of_taps;

/* False where there are too many. */
static bool list_runs(const side *s, runs_of_taps *list)
{
    list->n = 0;
    for (same_taps run = {0}; next_same(s, &run);) {
        if (list->n == MOST_LINES)
            return false;
        list->run[list->n++] = run;
    }
    return true;
}

/* The pixels of `to` from those of `from`, one group. Steps are in elements. */
typedef struct plan {
    const rp_conv *conv;
    rp_view to, from, weight; /* data at the group's first channel */
    ptrdiff_t from_at;        /* of the first image's first row in `from`, which may begin behind it: usually 0 */
    size_t depth, columns;    /* terms a tap, outputs a pixel */
    ptrdiff_t a_step, b_step, b_col, y_col;
    side h, w;
} plan;

/* The rows [*first, *last) of `from` that may meet rows [low, high) of `to`. */
static void rows_met(const plan *p, size_t low, size_t high, size_t *first, size_t *last)
{
    const rp_conv_axis *h = p->h.axis;
    const int64_t reach = (int64_t)(h->taps - 1) * h->dilation, end = (int64_t)high - 1;
    const int64_t least = (int64_t)low + h->pad - reach; /* what a row times the stride is, of one that reaches low */

    if (p->h.back) {
        *first = within(least > 0 ? (least - 1) / h->stride + 1 : 0, h->out);
        *last = within((end + h->pad) / h->stride + 1, h->out);
    } else {
        *first = within((int64_t)low * h->stride - h->pad, h->in);
        *last = within(end * h->stride - h->pad + reach + 1, h->in);
    }
}

/* Pixels of `from`, and of `to`, that are packed for `band` rows of `to`, at most. */
static size_t packed_pixels(const plan *p, bool from, bool to, size_t band)
{
    const rp_conv_axis *h = p->h.axis;
    const size_t reach = (h->taps - 1) * (size_t)h->dilation + 1, stride = (size_t)h->stride;
    const size_t met = p->h.back ? (band - 1 + reach) / stride + 1 : (band - 1) * stride + reach;
    const size_t rows = met < p->from.shape[1] ? met : p->from.shape[1];

    return (from ? rows * p->from.shape[2] : 0) + (to ? band * p->to.shape[2] : 0);
}

/* Pixels with the same taps, and a summary of those taps that a chunk has. */
typedef struct pixel_class {
    same_taps h, w;
    size_t n, first, last;
    bool now, done; /* being computed; has been */
} pixel_class;

enum { MOST_CLASSES = 64 }; /* at a time; there may be more */

/* Goes through the classes of these rows and columns; h and w with count 0 begin. */
static bool next_class(const side *rows, const side *columns, same_taps *h, same_taps *w)
{
    if (h->count == 0 && !next_same(rows, h))
        return false;
    while (!next_same(columns, w)) {
        *w = (same_taps){0};
        if (!next_same(rows, h))
            return false;
    }
    return true;
}

/* Terms [start, stop) of all, and the taps [tap, tap_end) that have some of them. */
typedef struct chunk {
    size_t number, start, stop, tap, tap_end;
} chunk;

static chunk chunk_of(const plan *p, size_t number)
{
    const size_t terms = p->conv->h.taps * p->conv->w.taps * p->depth, start = number * RP_CONV_CHUNK;
    const size_t stop = terms - start < RP_CONV_CHUNK ? terms : start + RP_CONV_CHUNK;

    if (p->depth == 0)
        return (chunk){0};
    return (chunk){number, start, stop, start / p->depth, (stop + p->depth - 1) / p->depth};
}

/* Taps of a chunk that exist for a class, ascending. */
typedef struct tap_list {
    size_t n;
    size_t tap[RP_CONV_CHUNK + 1];
} tap_list;

/* The first of a row's taps that is `tap` or a later one. */
static size_t tap_from(const rp_taps *taps, size_t tap)
{
    return tap > taps->first ? (tap - taps->first + taps->step - 1) / taps->step : 0;
}

static void list_taps(const plan *p, const chunk *c, const pixel_class *k, tap_list *list)
{
    const rp_taps *r = &k->h.taps, *s = &k->w.taps;
    const size_t width = p->conv->w.taps;

    list->n = 0;
    for (size_t i = tap_from(r, c->tap / width); i < r->count; i++) {
        const size_t row = (r->first + i * r->step) * width;

        if (row >= c->tap_end)
            break;
        for (size_t j = c->tap > row ? tap_from(s, c->tap - row) : 0; j < s->count; j++) {
            const size_t tap = row + s->first + j * s->step;

            if (tap >= c->tap_end)
                break;
            list->tap[list->n++] = tap;
        }
    }
}

static bool lists_equal(const tap_list *a, const tap_list *b)
{
    return a->n == b->n && memcmp(a->tap, b->tap, a->n * sizeof a->tap[0]) == 0;
}

static bool has_no_term(const plan *p, const pixel_class *k)
{
    return k->h.taps.count == 0 || k->w.taps.count == 0 || p->depth == 0;
}

/* Whether the class's first term lies in this chunk. */
static bool is_fresh(const plan *p, const chunk *c, const pixel_class *k)
{
    return (k->h.taps.first * p->conv->w.taps + k->w.taps.first) * p->depth / RP_CONV_CHUNK == c->number;
}

/* Where on the other side tap t lies, for the first coordinate of a run. */
static ptrdiff_t place(const same_taps *run, size_t t)
{
    return run->taps.at + (ptrdiff_t)((t - run->taps.first) / run->taps.step) * run->taps.move;
}

/* The offset in elements, from the start of `from`, of the pixel that tap t of the class's first pixel meets. */
static ptrdiff_t tap_offset(const plan *p, const pixel_class *k, size_t t)
{
    return place(&k->h, t / p->conv->w.taps) * p->from.stride[1] +
           place(&k->w, t % p->conv->w.taps) * p->from.stride[2];
}

/* How a chunk's listed taps lie: `a` in memory from the first one's pixel on, `b` in the chunk. Neighbours join, in
 * each of the two apart. */
typedef struct layout {
    segment a[RP_CONV_CHUNK + 1], b[RP_CONV_CHUNK + 1]; /* b[].a: where its terms lie in a packed row */
    segment both[RP_CONV_CHUNK + 1];                    /* where they join in both */
    size_t a_runs, b_runs, runs, n;
} layout;

static void lay_out(const plan *p, const chunk *c, const pixel_class *k, const tap_list *list, layout *t)
{
    const ptrdiff_t origin = tap_offset(p, k, list->tap[0]);

    t->a_runs = t->b_runs = t->runs = t->n = 0;
    for (size_t i = 0; i < list->n; i++) {
        const size_t tap = list->tap[i] * p->depth, begin = tap > c->start ? tap : c->start;
        const size_t end = tap + p->depth < c->stop ? tap + p->depth : c->stop;
        const ptrdiff_t a = tap_offset(p, k, list->tap[i]) - origin + (ptrdiff_t)(begin - tap) * p->a_step;
        const ptrdiff_t b = (ptrdiff_t)(begin - c->start);
        segment *last_a = &t->a[t->a_runs], *last_b = &t->b[t->b_runs];

        if (t->a_runs > 0 && a == last_a[-1].a + (ptrdiff_t)last_a[-1].n * p->a_step)
            last_a[-1].n += end - begin;
        else
            t->a[t->a_runs++] = (segment){a, 0, end - begin};
        if (t->b_runs > 0 && b == last_b[-1].b + (ptrdiff_t)last_b[-1].n)
            last_b[-1].n += end - begin;
        else
            t->b[t->b_runs++] = (segment){(ptrdiff_t)t->n, b, end - begin};
        if (t->runs > 0 && b == t->both[t->runs - 1].b + (ptrdiff_t)t->both[t->runs - 1].n &&
            a == t->both[t->runs - 1].a + (ptrdiff_t)t->both[t->runs - 1].n * p->a_step)
            t->both[t->runs - 1].n += end - begin;
        else
            t->both[t->runs++] = (segment){a, b, end - begin};
        t->n += end - begin;
    }
}

/* The weight's taps along s as one row of rows, for few channels: where each row of x lies in order. */
enum { MOST_BESIDE = 32, MOST_RUNS = 32 };

typedef struct tap_line {
    size_t c, begin, end, runs;
    ptrdiff_t x_step, x_move, y_step; /* from pixel to pixel, from term to term; of y both are one */
    same_taps run[MOST_RUNS];
} tap_line;

#ifdef VEC_BYTES
/* Whether neighbouring pixels share the few sets of the first cache, so that a window's push each other out. */
static bool crowd_out(const rp_view *v)
{
    return v->stride[2] != 0 && v->stride[2] * (ptrdiff_t)rp_dtype_size(v->dtype) % 2048 == 0;
}

/* Whether a row of y falls into few enough parts that have the same taps. */
static bool few_runs(const rp_conv_axis *axis)
{
    const side across = side_of(axis, false);
    size_t n = 0;

    for (same_taps run = {0}; n <= MOST_RUNS && next_same(&across, &run);)
        n++;
    return n <= MOST_RUNS;
}
#endif

#endif
