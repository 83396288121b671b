/* SPDX-License-Identifier: Apache-2.0
 * Gather and scatter_add for one instruction set, where what lies behind the indexed axis is contiguous, as rows of an
 * embedding are; the rest goes to the reference. Rows come from anywhere, so the next ones are asked for ahead. */
#include <string.h>

#include "kernels/cpu/stream.h"
#include "kernels/ref/taking.h"

extern const rp_kernel rp_kernel_gather_ref, rp_kernel_scatter_add_ref;

enum { FETCH_BYTES = 2048, FETCH_MOST = 16 }; /* how far ahead, in bytes of rows and in rows */
enum { ROWS_LEAST = 64 };                     /* of a table, to be cut by rows */

static bool contiguous(const rp_view *view)
{
    ptrdiff_t step = 1;

    for (int d = view->rank - 1; d >= 0; d--) {
        if (view->shape[d] != 1 && view->stride[d] != step)
            return false;
        step *= (ptrdiff_t)view->shape[d];
    }
    return true;
}

static int64_t index_at(const rp_view *index, const rp_walk *walk, size_t i)
{
    const ptrdiff_t at = (ptrdiff_t)i * walk->step[1];

    return index->dtype == RP_I32 ? ((const int32_t *)walk->at[1])[at] : ((const int64_t *)walk->at[1])[at];
}

static void fetch_row(const char *row, size_t bytes)
{
    for (size_t i = 0; i < bytes && i < FETCH_BYTES; i += STREAM_LINE)
        __builtin_prefetch(row + i);
}

/* The walk over places in `taken` (view 0) and the index (view 1), source positions [begin, end) of outer block
 * `outer`. */
static void walk_index(rp_walk *walk, const taking *t, size_t outer, size_t begin, size_t end)
{
    rp_view place = t->taken_index;
    const rp_view *views[2] = {&place, t->index};

    place.data = address(&t->taken_outer, outer);
    rp_walk_begin(walk, views, 2, begin, end);
}

static size_t fetch_distance(size_t bytes)
{
    const size_t rows = 1 + FETCH_BYTES / (bytes > 0 ? bytes : 1);

    return rows < FETCH_MOST ? rows : FETCH_MOST;
}

/* Rows of one element: so many independent loads that nothing has to be asked for ahead. */
#define GATHER_ONES(T, INDEX) \
    static void gather_##T##_by_##INDEX(T *to, ptrdiff_t ts, const T *table, ptrdiff_t row, const INDEX *at, \
                                        ptrdiff_t step, size_t n) \
    { \
        for (ptrdiff_t i = 0; i < (ptrdiff_t)n; i++) \
            to[i * ts] = table[at[i * step] * row]; \
    }

GATHER_ONES(uint32_t, int32_t)
GATHER_ONES(uint32_t, int64_t)
GATHER_ONES(uint64_t, int32_t)
GATHER_ONES(uint64_t, int64_t)

static bool gather_ones(const taking *t, const rp_walk *walk, const char *table, size_t size)
{
    const bool narrow = t->index->dtype == RP_I32;
    const ptrdiff_t ts = walk->step[0], step = walk->step[1], row = t->axis_stride;

    if (t->inner != 1 || (size != 4 && size != 8))
        return false;
    if (size == 4)
        narrow ? gather_uint32_t_by_int32_t(walk->at[0], ts, (const void *)table, row, walk->at[1], step, walk->run)
               : gather_uint32_t_by_int64_t(walk->at[0], ts, (const void *)table, row, walk->at[1], step, walk->run);
    else
        narrow ? gather_uint64_t_by_int32_t(walk->at[0], ts, (const void *)table, row, walk->at[1], step, walk->run)
               : gather_uint64_t_by_int64_t(walk->at[0], ts, (const void *)table, row, walk->at[1], step, walk->run);
    return true;
}

static void gather_block(const taking *t, size_t outer, size_t begin, size_t end, size_t size, bool stream)
{
    const char *table = address(&t->table_outer, outer);
    const size_t bytes = t->inner * size, ahead = fetch_distance(bytes);
    const ptrdiff_t row = t->axis_stride * (ptrdiff_t)size;
    rp_walk walk;

    walk_index(&walk, t, outer, begin, end);
    while (rp_walk_next(&walk)) {
        if (gather_ones(t, &walk, table, size))
            continue;
        for (size_t i = 0; i < walk.run; i++) {
            const char *from = table + index_at(t->index, &walk, i) * row;
            char *to = (char *)walk.at[0] + (ptrdiff_t)i * walk.step[0] * (ptrdiff_t)size;

            if (i + ahead < walk.run)
                fetch_row(table + index_at(t->index, &walk, i + ahead) * row, bytes);
            if (stream && bytes % STREAM_LINE == 0)
                stream_copy(to, from, bytes);
            else
                stream_move(to, from, bytes);
        }
    }
}

static void gather_run(const rp_kernel_args *args, size_t begin, size_t end)
{
    const taking t = taking_of(&args->in[0], &args->in[1], &args->out[0], (size_t)RP_AT(args->attr, gather, axis).i);
    const size_t size = rp_dtype_size(args->out[0].dtype);

    if (!contiguous(&t.table_inner) || !contiguous(&t.taken_inner)) {
        rp_kernel_gather_ref.run(args, begin, end);
        return;
    }
    while (begin < end) {
        const size_t at = begin % t.n, count = end - begin < t.n - at ? end - begin : t.n - at;

        gather_block(&t, begin / t.n, at, at + count, size, stream_pays(&args->out[0]));
        begin += count;
    }
    stream_end();
}

#define ADD_ROW(T, WIDE) \
    static void add_row_##T(void *to, const void *from, size_t n) \
    { \
        T *y = to; \
        const T *x = from; \
\
        RP_EACH(i, n) y[i] = (T)((WIDE)y[i] + (WIDE)x[i]); \
    }

ADD_ROW(float, float)
ADD_ROW(double, double)
ADD_ROW(int32_t, uint32_t)
ADD_ROW(int64_t, uint64_t)

/* What a thread makes of outer block `outer`: inner elements [begin, end) of rows [low, high) of the table. */
typedef struct part {
    size_t outer, begin, end, low, high;
} part;

/* In ascending source order from zero. */
static void scatter_part(const taking *t, const part *p, rp_dtype dtype)
{
    static void (*const add[RP_DTYPE_COUNT])(void *, const void *, size_t) = {
        [RP_F32] = add_row_float, [RP_F64] = add_row_double, [RP_I32] = add_row_int32_t, [RP_I64] = add_row_int64_t};
    const size_t size = rp_dtype_size(dtype), bytes = (p->end - p->begin) * size, ahead = fetch_distance(bytes);
    const ptrdiff_t row = t->axis_stride * (ptrdiff_t)size;
    char *table = (char *)address(&t->table_outer, p->outer) + p->begin * size;
    rp_walk walk;

    if (row == (ptrdiff_t)bytes)
        memset(table + p->low * bytes, 0, (p->high - p->low) * bytes); /* all bits 0 is +0 */
    else
        for (size_t j = p->low; j < p->high; j++)
            memset(table + (ptrdiff_t)j * row, 0, bytes);
    walk_index(&walk, t, p->outer, 0, t->n);
    while (rp_walk_next(&walk))
        for (size_t i = 0; i < walk.run; i++) {
            const size_t to = (size_t)index_at(t->index, &walk, i);
            const char *from =
                (const char *)walk.at[0] + (ptrdiff_t)i * walk.step[0] * (ptrdiff_t)size + p->begin * size;

            if (i + ahead < walk.run) {
                const size_t next = (size_t)index_at(t->index, &walk, i + ahead);

                if (next - p->low < p->high - p->low)
                    fetch_row(table + (ptrdiff_t)next * row, bytes);
            }
            if (to - p->low < p->high - p->low)
                add[dtype](table + (ptrdiff_t)to * row, from, p->end - p->begin);
        }
}

static taking scatter_taking(const rp_kernel_args *args)
{
    return taking_of(&args->out[0], &args->in[1], &args->in[0], (size_t)RP_AT(args->attr, gather, axis).i);
}

static bool scatter_fast(const taking *t)
{
    return contiguous(&t->table_inner) && contiguous(&t->taken_inner);
}

/* Long tables are cut by rows: threads that each took a part of every row would share its cache lines and pages. */
static bool scatter_by_rows(const taking *t)
{
    return scatter_fast(t) && t->axis_length >= ROWS_LEAST;
}

static void scatter_add_run(const rp_kernel_args *args, size_t begin, size_t end)
{
    const taking t = scatter_taking(args);
    const bool rows = scatter_by_rows(&t);
    const size_t n = rows ? t.axis_length : t.inner;

    if (!scatter_fast(&t)) {
        rp_kernel_scatter_add_ref.run(args, begin, end);
        return;
    }
    while (begin < end) {
        const size_t at = begin % n, count = end - begin < n - at ? end - begin : n - at;
        const part p =
            rows ? (part){begin / n, 0, t.inner, at, at + count} : (part){begin / n, at, at + count, 0, t.axis_length};

        scatter_part(&t, &p, args->out[0].dtype);
        begin += count;
    }
}

static size_t gather_items(const rp_kernel_args *args)
{
    return rp_kernel_gather_ref.items(args);
}

static size_t gather_cost(const rp_kernel_args *args)
{
    return rp_kernel_gather_ref.cost(args);
}

static size_t scatter_items(const rp_kernel_args *args)
{
    const taking t = scatter_taking(args);

    if (!scatter_by_rows(&t))
        return rp_kernel_scatter_add_ref.items(args);
    return t.inner == 0 ? 0 : t.outer * t.axis_length;
}

static size_t scatter_cost(const rp_kernel_args *args)
{
    const taking t = scatter_taking(args);

    if (!scatter_by_rows(&t))
        return rp_kernel_scatter_add_ref.cost(args);
    return 1 + t.inner + 2 * t.n * t.inner / t.axis_length;
}

RP_DEFINE_KERNEL(gather, gather_items, gather_run, gather_cost);
RP_DEFINE_KERNEL(scatter_add, scatter_items, scatter_add_run, scatter_cost);
