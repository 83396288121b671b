/* SPDX-License-Identifier: Apache-2.0
 * Running sums and products for one instruction set. Every one waits for the one before it, so several lines go side by
 * side: down columns that lie beside one another in vectors, else a few lines at a time. */
#include <string.h>

#include "kernels/level.h"
#include "kernels/walk.h"

/* Columns in vectors, from so many; bytes of a strip of them; lines at a time where they lie apart. */
enum { COLUMNS_LEAST = 8, COLUMN_STRIP = 8192, LINES = 4 };

/* `count` lines of n elements; steps in elements, from line to line and along it. */
typedef struct lines {
    void *y;
    const void *x;
    ptrdiff_t y_line, x_line, y_step, x_step;
    size_t count, n;
} lines;

#include "kernels/type_f32.h"
#define RUN(name) FN(cumsum_##name)
#define JOIN(a, b) ((a) + (b))
#include "kernels/cpu/cumsum_type.inc.h"
#define RUN(name) FN(cumprod_##name)
#define JOIN(a, b) ((a) * (b))
#include "kernels/cpu/cumsum_type.inc.h"
#include "kernels/type_f64.h"
#define RUN(name) FN(cumsum_##name)
#define JOIN(a, b) ((a) + (b))
#include "kernels/cpu/cumsum_type.inc.h"
#define RUN(name) FN(cumprod_##name)
#define JOIN(a, b) ((a) * (b))
#include "kernels/cpu/cumsum_type.inc.h"
#include "kernels/type_i32.h"
#define RUN(name) FN(cumsum_##name)
#define JOIN(a, b) ((a) + (b))
#include "kernels/cpu/cumsum_type.inc.h"
#define RUN(name) FN(cumprod_##name)
#define JOIN(a, b) ((a) * (b))
#include "kernels/cpu/cumsum_type.inc.h"
#include "kernels/type_i64.h"
#define RUN(name) FN(cumsum_##name)
#define JOIN(a, b) ((a) + (b))
#include "kernels/cpu/cumsum_type.inc.h"
#define RUN(name) FN(cumprod_##name)
#define JOIN(a, b) ((a) * (b))
#include "kernels/cpu/cumsum_type.inc.h"
#include "kernels/type_end.h"

extern const rp_kernel rp_kernel_cumsum_ref;

/* As in the reference, an item is a line along the axis, forward or backward. */
static size_t cumsum_items(const rp_kernel_args *args)
{
    return rp_kernel_cumsum_ref.items(args);
}

static size_t cumsum_cost(const rp_kernel_args *args)
{
    return rp_kernel_cumsum_ref.cost(args);
}

typedef void run_lines(const lines *l);

static void run_items(const rp_kernel_args *args, run_lines *const *run, size_t begin, size_t end)
{
    const rp_view *out = &args->out[0], *in = &args->in[0];
    const int64_t axis = RP_AT(args->attr, cumsum, axis).i;
    const ptrdiff_t size = (ptrdiff_t)rp_dtype_size(out->dtype), last = (ptrdiff_t)out->shape[axis] - 1;
    const bool reverse = RP_AT(args->attr, cumsum, reverse).i != 0;
    const ptrdiff_t start = reverse ? last : 0, way = reverse ? -1 : 1;
    const rp_view kept_out = rp_view_axes(out, 1u << axis, false), kept_in = rp_view_axes(in, 1u << axis, false);
    const rp_view *kept[2] = {&kept_out, &kept_in};
    rp_walk walk;

    rp_walk_begin(&walk, kept, 2, begin, end);
    while (rp_walk_next(&walk))
        run[out->dtype](&(lines){.y = (char *)walk.at[0] + start * out->stride[axis] * size,
                                 .x = (const char *)walk.at[1] + start * in->stride[axis] * size,
                                 .y_line = walk.step[0],
                                 .x_line = walk.step[1],
                                 .y_step = way * out->stride[axis],
                                 .x_step = way * in->stride[axis],
                                 .count = walk.run,
                                 .n = (size_t)last + 1});
}

#define RUNNING(name) \
    static void name##_run(const rp_kernel_args *args, size_t begin, size_t end) \
    { \
        static run_lines *const run[RP_DTYPE_COUNT] = {name##_lines_f32, name##_lines_f64, name##_lines_i32, \
                                                       name##_lines_i64}; \
\
        run_items(args, run, begin, end); \
    } \
    RP_DEFINE_KERNEL(name, cumsum_items, name##_run, cumsum_cost)

RUNNING(cumsum);
RUNNING(cumprod);
