/* SPDX-License-Identifier: Apache-2.0
 * Random examples of the five regions, each as a region and as its frames. */
#ifndef TESTS_CORE_RUN_REGION_EXAMPLES_H
#define TESTS_CORE_RUN_REGION_EXAMPLES_H

#include <math.h>

#include "tests/core/run/region_bodies.h"

enum { TIMES_MAX = 6 };

typedef struct example {
    body b;
    size_t carried, times, rows;
    bool reverse, history;
    size_t n_cuts;
    uint64_t cuts[12];
    uint64_t first;
    int64_t branch;
    bool tied; /* operands of one kind that are one value; of a scan, shared ones */
} example;

typedef void build_fn(rp_graph *g, const example *e, bool frames);

/* What a builder took and gave, for those who differentiate it. */
static struct {
    rp_tensor in[4 * BODY_PARAMS], out[4 * BODY_PARAMS];
    size_t n_in, n_out;
} seen;

static inline rp_tensor input(rp_graph *g, const char *name, size_t i, rp_type type)
{
    char text[64];

    snprintf(text, sizeof text, "%s%zu", name, i);
    seen.in[seen.n_in] = rp_graph_declare(g, i % 2 ? RP_INPUT_DATA : RP_INPUT_FEED, text, &type);
    return seen.in[seen.n_in++];
}

/* x [wide, then shared]: a weight in two places, and two of the wide ones where `wide` is told. */
static inline void tie(const example *e, rp_tensor *x, bool wide)
{
    if (e->tied && wide && e->b.wide > 1)
        x[1] = x[0];
    for (size_t i = 2; i < e->b.shared && e->tied; i++)
        x[e->b.wide + i] = x[e->b.wide + i - 2];
}

static inline void result(rp_graph *g, const char *name, size_t i, rp_tensor x)
{
    char text[64];

    snprintf(text, sizeof text, "%s%zu", name, i);
    rp_graph_result(g, text, x);
    seen.out[seen.n_out++] = x;
}

/* ---- each region in both forms ---- */

static inline void build_call(rp_graph *g, const example *e, bool frames)
{
    rp_tensor arg[BODY_PARAMS], out[BODY_PARAMS];
    body b = e->b;

    for (size_t i = 0; i < b.wide + b.shared; i++)
        arg[1 + i] = input(g, "x", i, i < b.wide ? f32_type(b.rows, COLS) : shared_type(i - b.wide));
    if (b.wide > 1 && b.seed % 3 == 0)
        arg[2] = arg[1]; /* an operand twice */
    tie(e, arg + 1, true);
    arg[0] = index_of(g, 7);
    b.frames = frames;
    for (size_t i = 0; i < 2; i++) { /* twice, the second time on what the first gave */
        if (frames) {
            body_emit(g, &b, arg[0], arg + 1, out);
        } else {
            rp_function *f = body_function(&b);

            rp_call(g, f, arg, 1 + b.wide + b.shared, out);
            rp_function_free(f);
        }
        if (b.outs)
            arg[1] = out[0];
    }
    for (size_t i = 0; i < b.outs + b.narrow; i++)
        result(g, "y", i, out[i]);
}

static inline rp_type rows_type(size_t times, rp_type row)
{
    rp_type type = {.dtype = row.dtype, .rank = row.rank + 1, .shape = {times}};

    memcpy(type.shape + 1, row.shape, 7 * sizeof *row.shape);
    return type;
}

static inline void scan_frames(rp_graph *g, const example *e, body b, rp_tensor *carried, const rp_tensor *rows,
                               const rp_tensor *shared, rp_tensor *out)
{
    const size_t sliced = b.wide - e->carried, stacked = b.outs + b.narrow - e->carried;
    rp_tensor y[BODY_PARAMS][TIMES_MAX], h[BODY_PARAMS][TIMES_MAX];

    for (size_t t = 0; t < e->times; t++) {
        const size_t at = e->reverse ? e->times - 1 - t : t;
        rp_tensor param[BODY_PARAMS], now[BODY_PARAMS];

        for (size_t i = 0; i < e->carried; i++)
            param[i] = h[i][at] = carried[i];
        for (size_t i = 0; i < sliced; i++)
            param[e->carried + i] = row_at(rows[i], at);
        for (size_t i = 0; i < b.shared; i++)
            param[b.wide + i] = shared[i];
        body_emit(g, &b, index_of(g, (int64_t)at), param, now);
        for (size_t i = 0; i < e->carried; i++)
            carried[i] = now[i];
        for (size_t i = 0; i < stacked; i++)
            y[i][at] = now[e->carried + i];
    }
    for (size_t i = 0; i < e->carried; i++)
        out[i] = carried[i];
    for (size_t i = 0; i < stacked && e->times; i++)
        out[e->carried + i] = stack_of(y[i], e->times);
    for (size_t i = 0; i < e->carried && e->history && e->times; i++)
        out[e->carried + stacked + i] = stack_of(h[i], e->times);
}

static inline void build_scan(rp_graph *g, const example *e, bool frames)
{
    body b = e->b;
    rp_tensor x[BODY_PARAMS], out[2 * BODY_PARAMS];
    const size_t sliced = b.wide - e->carried, stacked = b.outs + b.narrow - e->carried;
    size_t values = e->carried;

    b.frames = frames;
    for (size_t i = 0; i < b.wide + b.shared; i++) {
        rp_type type = i < b.wide ? f32_type(b.rows, COLS) : shared_type(i - b.wide);

        x[i] = input(g, "x", i, i >= e->carried && i < b.wide ? rows_type(e->times, type) : type);
    }
    tie(e, x, false); /* rows that are one value have two uses: other sums */
    if (frames) {
        scan_frames(g, e, b, x, x + e->carried, x + b.wide, out);
    } else {
        rp_function *f = body_function(&b);

        rp_scan(g,
                &(rp_scan_options){.function = f,
                                   .carried = x,
                                   .n_carried = e->carried,
                                   .sliced = x + e->carried,
                                   .n_sliced = sliced,
                                   .shared = x + b.wide,
                                   .n_shared = b.shared,
                                   .times = e->times,
                                   .reverse = e->reverse,
                                   .history = e->history},
                out);
        rp_function_free(f);
    }
    if (e->times) /* rows of nothing have no bits */
        values += stacked + (e->history ? e->carried : 0);
    for (size_t i = 0; i < values; i++)
        result(g, "y", i, out[i]);
}

static const rp_combine modes[] = {RP_COMBINE_TREE, RP_COMBINE_STACK};

static inline size_t lengths_of(const example *e, uint64_t *length)
{
    size_t n = 0;

    for (uint64_t rows = 1; rows <= 64; rows++)
        for (size_t s = 0; s + 1 < e->n_cuts; s++)
            if (e->cuts[s + 1] - e->cuts[s] == rows) {
                length[n++] = rows;
                break;
            }
    return n;
}

static inline void build_map(rp_graph *g, const example *e, bool frames)
{
    body b = e->b;
    rp_tensor x[BODY_PARAMS], part[BODY_PARAMS][12], out[BODY_PARAMS];
    const size_t outs = b.outs + b.narrow;
    rp_combine combine[BODY_PARAMS];
    size_t n = 0;

    b.frames = frames;
    for (size_t i = 0; i < b.wide + b.shared; i++)
        x[i] = input(g, "x", i, i < b.wide ? f32_type(e->rows, COLS) : shared_type(i - b.wide));
    tie(e, x, true);
    for (size_t i = 0; i < outs; i++)
        combine[i] = i < b.outs ? RP_COMBINE_CONCAT : modes[(b.seed + i) % 2];
    if (!frames) {
        uint64_t length[12];
        const size_t lengths = lengths_of(e, length);
        rp_function *f[12];

        for (size_t k = 0; k < lengths; k++) {
            b.rows = length[k];
            f[k] = body_function(&b);
        }
        rp_map(g,
               &(rp_map_options){.function = (const rp_function *const *)f,
                                 .n_function = lengths,
                                 .sliced = x,
                                 .n_sliced = b.wide,
                                 .shared = x + b.wide,
                                 .n_shared = b.shared,
                                 .cuts = e->cuts,
                                 .n_cuts = e->n_cuts,
                                 .first = e->first,
                                 .combine = combine,
                                 .n_combine = outs},
               out);
        for (size_t k = 0; k < lengths; k++)
            rp_function_free(f[k]);
    }
    for (size_t s = 0; s + 1 < e->n_cuts && frames; s++) {
        rp_tensor param[BODY_PARAMS], now[BODY_PARAMS];

        if (e->cuts[s] == e->cuts[s + 1])
            continue;
        for (size_t i = 0; i < b.wide + b.shared; i++)
            param[i] = i < b.wide ? rows_at(x[i], e->cuts[s], e->cuts[s + 1]) : x[i];
        b.rows = e->cuts[s + 1] - e->cuts[s];
        body_emit(g, &b, index_of(g, (int64_t)(e->first + s)), param, now);
        for (size_t i = 0; i < outs; i++)
            part[i][n] = now[i];
        n++;
    }
    for (size_t i = 0; i < outs; i++) {
        if (frames)
            out[i] = combine[i] == RP_COMBINE_TREE    ? tree_of(part[i], n)
                     : combine[i] == RP_COMBINE_STACK ? stack_of(part[i], n)
                                                      : rp_concat(part[i], n, 0);
        result(g, "y", i, out[i]);
    }
}

static inline void build_cond(rp_graph *g, const example *e, bool frames)
{
    rp_tensor arg[BODY_PARAMS], out[BODY_PARAMS];
    body b[3] = {e->b, e->b, e->b};
    rp_function *f[3];
    const size_t branches = e->branch < 2 && e->b.seed % 2 ? 2 : 3;

    for (size_t k = 0; k < 3; k++) {
        b[k].seed += 1000 * k;
        b[k].frames = frames;
    }
    for (size_t i = 0; i < b->wide + b->shared; i++)
        arg[1 + i] = input(g, "x", i, i < b->wide ? f32_type(b->rows, COLS) : shared_type(i - b->wide));
    tie(e, arg + 1, true);
    arg[0] = index_of(g, 3);
    if (frames) {
        body_emit(g, &b[e->branch], arg[0], arg + 1, out);
    } else {
        rp_tensor selector = branches == 2 ? rp_fill(g, RP_BOOL, 0, NULL, (double)e->branch) : index_of(g, e->branch);

        for (size_t k = 0; k < branches; k++)
            f[k] = body_function(&b[k]);
        rp_cond(g, selector, (const rp_function *const *)f, branches, arg, 1 + b->wide + b->shared, out);
        for (size_t k = 0; k < branches; k++)
            rp_function_free(f[k]);
    }
    for (size_t i = 0; i < b->outs + b->narrow; i++)
        result(g, "y", i, out[i]);
}

/* index < stop */
static inline rp_function *below(const body *b, double stop)
{
    rp_graph *g;
    rp_function *f;
    rp_type type = {.dtype = RP_I64};
    rp_tensor index;

    assert_int_equal(rp_graph_symbolic(&g, NULL), RP_OK);
    index = rp_function_parameter(g, &type);
    for (size_t i = 0; i < b->wide + b->shared; i++) {
        type = i < b->wide ? f32_type(b->rows, COLS) : shared_type(i - b->wide);
        (void)rp_function_parameter(g, &type);
    }
    rp_function_return(g, rp_lt(index, rp_fill(g, RP_I64, 0, NULL, stop)));
    assert_int_equal(rp_function_finish(g, &f, NULL), RP_OK);
    return f;
}

/* Stops at the predicate, or at the limit before it. */
static inline void build_while(rp_graph *g, const example *e, bool frames)
{
    body b = e->b;
    rp_tensor x[BODY_PARAMS], out[1 + BODY_PARAMS], count;
    const size_t limit = e->times + e->b.seed % 3, stop = e->times;

    b.frames = frames;
    b.wide = b.outs = e->carried + (e->carried == 0);
    b.narrow = 0;
    for (size_t i = 0; i < b.wide + b.shared; i++)
        x[i] = input(g, "x", i, i < b.wide ? f32_type(b.rows, COLS) : shared_type(i - b.wide));
    if (frames) {
        count = index_of(g, (int64_t)e->times);
        for (size_t t = 0; t < e->times; t++) {
            body_emit(g, &b, index_of(g, (int64_t)t), x, out);
            memcpy(x, out, b.wide * sizeof *x);
        }
    } else {
        rp_function *f = body_function(&b), *p = below(&b, (double)(limit > stop ? stop : 99));

        rp_while(g,
                 &(rp_while_options){.body = f,
                                     .predicate = p,
                                     .carried = x,
                                     .n_carried = b.wide,
                                     .shared = x + b.wide,
                                     .n_shared = b.shared,
                                     .limit = limit > stop ? limit : stop},
                 out);
        rp_function_free(f);
        rp_function_free(p);
        count = out[0];
        memcpy(x, out + 1, b.wide * sizeof *x);
    }
    result(g, "count", 0, count);
    for (size_t i = 0; i < b.wide; i++)
        result(g, "y", i, x[i]);
}

/* ---- every level, on 1 to 64 threads ---- */

enum { LEVELS = 8 };

typedef struct devices {
    rp_device *device[4 * LEVELS];
    size_t n;
} devices;

static inline devices devices_new(void)
{
    static const unsigned threads[] = {1, 3, 7, 64};
    devices d = {.n = 0};
    const char *const *levels;
    size_t n = rp_kernel_levels(&levels);

    for (size_t l = 0; l < n && l < LEVELS; l++)
        for (size_t t = 0; t < COUNT(threads); t++)
            assert_int_equal(rp_device_cpu_new(&d.device[d.n++], levels[l], threads[t], NULL), RP_OK);
    return d;
}

static inline void devices_free(devices *d)
{
    for (size_t i = 0; i < d->n; i++)
        rp_device_free(d->device[i]);
}

/* ---- comparing ---- */

static inline example example_of(uint64_t seed)
{
    uint64_t r = seed * 77 + 5;
    example e = {.b = {.seed = seed, .rows = 1 + chance(&r, 4), .depth = (int)(seed % 3)}};

    e.carried = chance(&r, 4);
    e.b.wide = e.carried + chance(&r, 3);
    e.b.wide += e.b.wide == 0;
    e.b.shared = chance(&r, 4);
    e.b.outs = e.carried + chance(&r, 3);
    e.b.narrow = 1 + chance(&r, 2);
    e.times = chance(&r, TIMES_MAX);
    e.reverse = chance(&r, 2);
    e.history = chance(&r, 2);
    e.branch = (int64_t)chance(&r, 3);
    e.first = chance(&r, 100);
    e.n_cuts = 2 + chance(&r, 9);
    e.cuts[0] = chance(&r, 3);
    for (size_t i = 1; i < e.n_cuts; i++)
        e.cuts[i] = e.cuts[i - 1] + chance(&r, 4);
    e.cuts[e.n_cuts - 1]++;
    e.rows = e.cuts[e.n_cuts - 1] + chance(&r, 3);
    return e;
}

static inline rp_program *program_of(build_fn *build, const example *e, bool frames)
{
    rp_graph *g;
    rp_program *p;
    rp_error err = {0};

    assert_int_equal(rp_graph_symbolic(&g, NULL), RP_OK);
    seen.n_in = seen.n_out = 0;
    build(g, e, frames);
    if (rp_graph_finish(g, &p, &err) != RP_OK)
        fail_msg("seed %d: %s", (int)e->b.seed, err.text);
    return p;
}

static inline rp_program *read_again(const rp_program *p)
{
    rp_buffer text = text_of(p);
    rp_program *again;
    rp_error err = {0};

    if (rp_program_parse(&again, text.data, text.size, "p.json", &err) != RP_OK)
        fail_msg("%s\n%.*s", err.text, (int)text.size, (const char *)text.data);
    rp_buffer_free(&text);
    return again;
}

/* -0, infinities and NaNs among the inputs of every third seed. */
static inline void strew(const rp_program *p, store *s, uint64_t seed)
{
    static const float special[] = {-0.0f, INFINITY, -INFINITY, NAN, 0.0f, 0x1p-140f};

    for (size_t i = 0; i < s->n && seed % 3 == 0; i++) {
        const rp_type *type = &p->value[p->input[i].value];

        if (type->dtype == RP_F32 && rp_type_count(type))
            ((float *)s->memory[i])[seed * 7 % rp_type_count(type)] = special[(seed / 3 + i) % 6];
    }
}

#endif
