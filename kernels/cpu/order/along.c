/* SPDX-License-Identifier: Apache-2.0
 * Taking and scattering along an axis for one instruction set: loops of their own for indices that lie one after the
 * other, and of neighbouring lines a few at a time in memory of their own, where rows do not fall on one another in the
 * caches. And places in lines in order, several searched for side by side, as each step of a search waits for memory.
 */
#include <string.h>

#include "kernels/cpu/matmul/matmul_scratch.h"
#include "kernels/level.h"
#include "kernels/ref/functions/map.h"
#include "kernels/ref/order/along.h"
#include "kernels/ref/order/along.inc.h"

extern const rp_kernel rp_kernel_take_along_ref, rp_kernel_scatter_along_ref, rp_kernel_searchsorted_ref;

enum {
    TILE = 64,   /* lines side by side */
    SEARCHES = 8 /* side by side */
};

/* ---- taking ---- */

RP_FLAT static void take_line(rp_dtype dtype, void *to, const void *from, const int64_t *index, size_t n)
{
    const along_index at = {index, 1, 1, true};

    along_take(dtype, to, 1, from, 0, &at, n);
}

RP_FLAT static void take_neighbours(rp_dtype dtype, void *to, const void *from, const int64_t *index,
                                    ptrdiff_t axis_stride, size_t n)
{
    const along_index at = {index, 1, axis_stride, true};

    along_take(dtype, to, 1, from, 1, &at, n);
}

static size_t take_along_items(const rp_kernel_args *args)
{
    return rp_kernel_take_along_ref.items(args);
}

static size_t take_along_cost(const rp_kernel_args *args)
{
    return rp_kernel_take_along_ref.cost(args);
}

static void take_along_run(const rp_kernel_args *args, size_t begin, size_t end)
{
    const size_t axis = (size_t)RP_AT(args->attr, take_along, axis).i;
    const rp_dtype dtype = args->out[0].dtype;
    const ptrdiff_t axis_stride = args->in[0].stride[axis];
    rp_view from = args->in[0]; /* what an index counts from: no step along the axis */
    const rp_view *views[3] = {&args->out[0], &args->in[1], &from};
    rp_walk walk;

    from.stride[axis] = 0;
    rp_walk_begin(&walk, views, 3, begin, end);
    while (rp_walk_next(&walk)) {
        const bool close = walk.step[0] == 1 && walk.step[1] == 1 && args->in[1].dtype == RP_I64;
        const along_index at = {walk.at[1], walk.step[1], axis_stride, args->in[1].dtype == RP_I64};

        if (close && walk.step[2] == 0 && axis_stride == 1)
            take_line(dtype, walk.at[0], walk.at[2], (const int64_t *)walk.at[1], walk.run);
        else if (close && walk.step[2] == 1)
            take_neighbours(dtype, walk.at[0], walk.at[2], (const int64_t *)walk.at[1], axis_stride, walk.run);
        else
            along_take(dtype, walk.at[0], walk.step[0], walk.at[2], walk.step[2], &at, walk.run);
    }
}

RP_DEFINE_KERNEL(take_along, take_along_items, take_along_run, take_along_cost);

/* ---- scattering ---- */

static size_t scatter_along_items(const rp_kernel_args *args)
{
    return rp_kernel_scatter_along_ref.items(args);
}

static size_t scatter_along_cost(const rp_kernel_args *args)
{
    return rp_kernel_scatter_along_ref.cost(args);
}

RP_FLAT static void scatter_line(int64_t mode, rp_dtype dtype, void *to, const void *from, const int64_t *index,
                                 size_t n)
{
    const along_index at = {index, 1, 1, true};

    along_scatter(mode, dtype, to, 0, from, 1, &at, n);
}

/* What lies in lines side by side: its first element, from line to line and along the axis, in elements. */
typedef struct side_by_side {
    char *first;
    ptrdiff_t line, step;
} side_by_side;

/* Every source of `width` lines in its order; of a tile [length, TILE] the lines are neighbours. */
RP_FLAT static void scatter_sources(int64_t mode, rp_dtype dtype, const side_by_side *to, const side_by_side *source,
                                    const side_by_side *index, bool wide, size_t n, size_t width)
{
    const ptrdiff_t size = (ptrdiff_t)rp_dtype_size(dtype), index_size = wide ? 8 : 4;
    const bool close = wide && to->line == 1 && to->step == TILE && source->line == 1 && index->line == 1;

    for (ptrdiff_t j = 0; j < (ptrdiff_t)n; j++) {
        const char *from = source->first + j * source->step * size;
        along_index at = {index->first + j * index->step * index_size, index->line, to->step, wide};

        if (close) {
            at = (along_index){at.index, 1, TILE, true};
            along_scatter(mode, dtype, to->first, 1, from, 1, &at, width);
        } else {
            along_scatter(mode, dtype, to->first, to->line, from, source->line, &at, width);
        }
    }
}

/* The same elements of `width` lines, row by row. */
static void copy_rows(rp_dtype dtype, const side_by_side *to, const side_by_side *from, size_t length, size_t width)
{
    const ptrdiff_t size = (ptrdiff_t)rp_dtype_size(dtype);

    for (ptrdiff_t j = 0; j < (ptrdiff_t)length; j++) {
        char *y = to->first + j * to->step * size;
        const char *x = from->first + j * from->step * size;

        if (to->line == 1 && from->line == 1)
            memcpy(y, x, width * (size_t)size);
        else
            along_copy(dtype, y, to->line, x, from->line, width);
    }
}

/* Neighbouring lines of the walk's run, through a tile if there is one. */
static void scatter_neighbours(const scattering *s, int64_t mode, rp_dtype dtype, const rp_walk *walk, char *tile)
{
    const ptrdiff_t size = (ptrdiff_t)rp_dtype_size(dtype), index_size = (ptrdiff_t)rp_dtype_size(s->index.dtype);
    const size_t most = tile != NULL ? TILE : walk->run;
    const bool wide = s->index.dtype == RP_I64;

    for (size_t i = 0; i < walk->run; i += most) {
        const size_t width = walk->run - i < most ? walk->run - i : most;
        const ptrdiff_t at = (ptrdiff_t)i;
        const side_by_side out = {(char *)walk->at[0] + at * walk->step[0] * size, walk->step[0], s->out_step};
        const side_by_side x = {(char *)walk->at[1] + at * walk->step[1] * size, walk->step[1], s->x_step};
        const side_by_side index = {(char *)walk->at[2] + at * walk->step[2] * index_size, walk->step[2],
                                    s->index_step};
        const side_by_side source = {(char *)walk->at[3] + at * walk->step[3] * size, walk->step[3], s->source_step};
        const side_by_side there = tile != NULL ? (side_by_side){tile, 1, TILE} : out;

        copy_rows(dtype, &there, &x, s->length, width);
        scatter_sources(mode, dtype, &there, &source, &index, wide, s->n, width);
        if (tile != NULL)
            copy_rows(dtype, &out, &there, s->length, width);
    }
}

/* Line by line. */
static void scatter_lines(const scattering *s, int64_t mode, rp_dtype dtype, const rp_walk *walk)
{
    const ptrdiff_t size = (ptrdiff_t)rp_dtype_size(dtype), index_size = (ptrdiff_t)rp_dtype_size(s->index.dtype);
    const bool close = s->out_step == 1 && s->source_step == 1 && s->index_step == 1 && s->index.dtype == RP_I64;

    for (ptrdiff_t i = 0; i < (ptrdiff_t)walk->run; i++) {
        char *to = (char *)walk->at[0] + i * walk->step[0] * size;
        const char *x = (const char *)walk->at[1] + i * walk->step[1] * size;
        const char *from = (const char *)walk->at[3] + i * walk->step[3] * size;
        const along_index at = {(const char *)walk->at[2] + i * walk->step[2] * index_size, s->index_step, s->out_step,
                                s->index.dtype == RP_I64};

        if (s->out_step == 1 && s->x_step == 1)
            memcpy(to, x, s->length * (size_t)size);
        else
            along_copy(dtype, to, s->out_step, x, s->x_step, s->length);
        if (close)
            scatter_line(mode, dtype, to, from, (const int64_t *)at.index, s->n);
        else
            along_scatter(mode, dtype, to, 0, from, s->source_step, &at, s->n);
    }
}

static void scatter_along_run(const rp_kernel_args *args, size_t begin, size_t end)
{
    const scattering s = scattering_of(args);
    const rp_dtype dtype = args->out[0].dtype;
    const int64_t mode = RP_AT(args->attr, scatter_along, mode).i;
    const bool tiles = s.out_step != 1 && s.length <= RP_SCRATCH_BYTES / TILE / rp_dtype_size(dtype);
    char *tile = tiles ? rp_scratch_borrow() : NULL;
    rp_walk walk;

    scattering_walk(&walk, &s, begin, end);
    while (rp_walk_next(&walk))
        if (s.out_step != 1 && walk.step[0] == 1 && walk.run > 1)
            scatter_neighbours(&s, mode, dtype, &walk, tile);
        else
            scatter_lines(&s, mode, dtype, &walk);
    rp_scratch_return(tile);
}

RP_DEFINE_KERNEL(scatter_along, scatter_along_items, scatter_along_run, scatter_along_cost);

/* ---- searches ---- */

/* Below of CONTRACT 4.8 as the reference has it, without branches; the steps of a search are the reference's, so lines
 * in no order have its results too. */
#define SEARCH(T, type, IS_NAN) \
    RP_INLINE void search_##type(int64_t *out, ptrdiff_t out_step, const T *x, ptrdiff_t x_step, const T *line, \
                                 size_t n, size_t count, bool right) \
    { \
        size_t low[SEARCHES], left[SEARCHES]; \
        T value[SEARCHES]; \
\
        for (size_t i = 0; i < count; i++) { \
            low[i] = 0; \
            left[i] = n; \
            value[i] = x[(ptrdiff_t)i * x_step]; \
        } \
        for (size_t most = n; most > 0; most /= 2) /* the longest that is left */ \
            for (size_t i = 0; i < count; i++) { \
                const size_t some = left[i] > 0, half = left[i] / 2; \
                const T v = value[i], m = line[(low[i] + half) * some]; \
                const size_t is = right ? !((v < m) | (IS_NAN(m) & !IS_NAN(v))) : (m < v) | (IS_NAN(v) & !IS_NAN(m)); \
                const size_t on = is & some; \
\
                low[i] += (half + 1) * on; \
                left[i] = half - (on & ~left[i] & 1); \
            } \
        for (size_t i = 0; i < count; i++) \
            out[(ptrdiff_t)i * out_step] = (int64_t)low[i]; \
    } \
\
    static void search_all_##type(int64_t *out, ptrdiff_t out_step, const T *x, ptrdiff_t x_step, const T *line, \
                                  size_t n, size_t count, bool right) \
    { \
        size_t i = 0; \
\
        for (; i + SEARCHES <= count; i += SEARCHES) { \
            int64_t *const to = out + (ptrdiff_t)i * out_step; \
            const T *const from = x + (ptrdiff_t)i * x_step; \
\
            if (right) \
                search_##type(to, out_step, from, x_step, line, n, SEARCHES, true); \
            else \
                search_##type(to, out_step, from, x_step, line, n, SEARCHES, false); \
        } \
        search_##type(out + (ptrdiff_t)i * out_step, out_step, x + (ptrdiff_t)i * x_step, x_step, line, n, count - i, \
                      right); \
    }
#define REAL_NAN(x) ((x) != (x))
#define NO_NAN(x) ((void)(x), false)
SEARCH(float, f32, REAL_NAN)
SEARCH(double, f64, REAL_NAN)
SEARCH(int32_t, i32, NO_NAN)
SEARCH(int64_t, i64, NO_NAN)

static size_t searchsorted_items(const rp_kernel_args *args)
{
    return rp_kernel_searchsorted_ref.items(args);
}

static size_t searchsorted_cost(const rp_kernel_args *args)
{
    return rp_kernel_searchsorted_ref.cost(args);
}

/* Of one line for all, whose elements are neighbours. */
static void searchsorted_run(const rp_kernel_args *args, size_t begin, size_t end)
{
    const bool right = RP_AT(args->attr, searchsorted, right).i != 0;
    const rp_view *line = &args->in[0];
    const rp_view *views[2] = {&args->out[0], &args->in[1]};
    rp_walk walk;

    if (line->rank != 1 || line->stride[0] != 1) {
        rp_kernel_searchsorted_ref.run(args, begin, end);
        return;
    }
    rp_walk_begin(&walk, views, 2, begin, end);
    while (rp_walk_next(&walk))
        switch (line->dtype) {
#define OF(D, T, type) \
    case D: \
        search_all_##type((int64_t *)walk.at[0], walk.step[0], (const T *)walk.at[1], walk.step[1], \
                          (const T *)line->data, line->shape[0], walk.run, right); \
        break;
            OF(RP_F32, float, f32)
            OF(RP_F64, double, f64)
            OF(RP_I32, int32_t, i32)
        default:
            search_all_i64((int64_t *)walk.at[0], walk.step[0], (const int64_t *)walk.at[1], walk.step[1],
                           (const int64_t *)line->data, line->shape[0], walk.run, right);
#undef OF
        }
}

RP_DEFINE_KERNEL(searchsorted, searchsorted_items, searchsorted_run, searchsorted_cost);
