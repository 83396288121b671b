/* SPDX-License-Identifier: Apache-2.0
 * Softmax, cross-entropy, layer norm and RMS norm for one instruction set, where rows are contiguous. Rows that are not
 * are brought together first, and long ones of them go to the reference. */
#include "kernels/cpu/functions/inline_math.h"

#include "determinism/bits.h"
#include "determinism/sum.h"
#include "kernels/cpu/row_views.h"
#include "kernels/cpu/stream.h"
#include "kernels/cpu/functions/fast_rows.h"
#include "kernels/ref/rows.h"

/* Elements written at a time; bytes of exponentials kept on the stack, to be divided by their sum. */
enum { ROW_BLOCK = 256, ROW_HELD = 64 << 10 };

/* Bytes of rows of norms that stay in the first cache with what is made of them. */
enum { ROWS_HELD = 8 << 10 };

/* Whether the output is large, and whole lines of it are written. */
static bool row_streams(const rp_row *row, size_t size)
{
    const size_t bytes = row->n * size;

    return stream_pays(&row->args->out[0]) && (bytes >= 1024 || bytes % STREAM_LINE == 0);
}

static size_t label_of(const rp_row *row, int v)
{
    return row->args->in[v - 1].dtype == RP_I32 ? (size_t) * (const int32_t *)row->at[v]
                                                : (size_t) * (const int64_t *)row->at[v];
}

#include "kernels/type_f32.h"
#define BITS uint32_t
#include "kernels/cpu/rows_type.inc.h"
#include "kernels/cpu/norm_type.inc.h"
#include "kernels/type_f64.h"
#undef BITS
#define BITS uint64_t
#include "kernels/cpu/rows_type.inc.h"
#include "kernels/cpu/norm_type.inc.h"

/* Of the views with a row (bit clear in single), those whose rows are not contiguous. */
static unsigned rows_apart(const rp_kernel_args *args, size_t n_in, unsigned single)
{
    unsigned apart = 0;

    for (size_t v = 0; v <= n_in; v++) {
        const rp_view *view = v == 0 ? &args->out[0] : &args->in[v - 1];

        if ((single >> v & 1) == 0 && rp_view_last_stride(view) != 1)
            apart |= 1u << v;
    }
    return apart;
}

/* Elements that lie apart, of a row's axis that another follows, come in neighbours into `near`, and go from there. */
enum { NEAR_VIEWS = 4, NEAR_BYTES = 16 << 10 };

typedef struct near_rows {
    rp_kernel_args args, near; /* of the views as they are, first, and as `work` sees them */
    rp_view out;
    rp_row_work *work;
    size_t n_in;
    unsigned apart;
} near_rows;

#define MOVE_ROW(T) \
    static void move_row_##T(void *to, ptrdiff_t to_step, const void *from, ptrdiff_t from_step, size_t n) \
    { \
        T *y = to; \
        const T *x = from; \
\
        RP_EACH(i, n) y[i * to_step] = x[i * from_step]; \
    }
MOVE_ROW(uint32_t)
MOVE_ROW(uint64_t)

static void work_near(const rp_row *row)
{
    const near_rows *of = (const near_rows *)(const void *)row->args;
    _Alignas(STREAM_LINE) char memory[NEAR_VIEWS][NEAR_BYTES];
    const bool narrow = of->out.dtype == RP_F32;
    rp_row near = *row;

    near.args = &of->near;
    for (size_t v = 0; v <= of->n_in; v++) {
        if ((of->apart >> v & 1) == 0)
            continue;
        near.at[v] = memory[v];
        near.step[v] = 1;
        if (v > 0)
            (narrow ? move_row_uint32_t : move_row_uint64_t)(memory[v], 1, row->at[v], row->step[v], row->n);
    }
    of->work(&near);
    if (of->apart & 1)
        (narrow ? move_row_uint32_t : move_row_uint64_t)(row->at[0], row->step[0], memory[0], 1, row->n);
}

/* Rows [begin, end) by `fast`, which needs them contiguous. False where they are too long to be brought together. */
static bool run_fast(const rp_kernel_args *args, size_t n_in, unsigned single, size_t length_of, size_t begin,
                     size_t end, rp_row_work *fast)
{
    near_rows of = {*args, *args, args->out[0], fast, n_in, rows_apart(args, n_in, single)};

    if (of.apart == 0) {
        rp_rows_run(args, n_in, single, length_of, begin, end, fast);
        return true;
    }
    if (n_in >= NEAR_VIEWS || rp_view_last(&args->in[length_of]) > NEAR_BYTES / rp_dtype_size(of.out.dtype))
        return false;
    if (of.apart & 1) { /* what is brought together is not streamed past the caches */
        of.out.rank = 0;
        of.near.out = &of.out;
    }
    rp_rows_run(&of.args, n_in, single, length_of, begin, end, work_near);
    return true;
}

/* The vectors gamma and beta, repeated for every row of `over`. */
static rp_view spread(const rp_view *vector, const rp_view *over)
{
    rp_view view = *over;

    view.data = vector->data;
    for (int d = 0; d < view.rank - 1; d++)
        view.stride[d] = 0;
    view.stride[view.rank - 1] = vector->stride[0];
    return view;
}

static void run_rows(const rp_kernel_args *args, size_t begin, size_t end, unsigned single, size_t length_of,
                     size_t first_vector, rp_row_work *fast, const rp_kernel *ref)
{
    rp_view in[3];
    const rp_kernel_args rows = {in, args->n_in, args->out, 1, args->attr};

    for (size_t v = 0; v < args->n_in; v++)
        in[v] = v < first_vector ? args->in[v] : spread(&args->in[v], &args->in[0]);
    if (run_fast(&rows, args->n_in, single, length_of, begin, end, fast))
        stream_end();
    else
        ref->run(args, begin, end);
}

/* single and length_of as for rp_rows_run; inputs from first_vector on are vectors shared by all rows. */
#define ROWS(name, items, single, length_of, first_vector) \
    extern const rp_kernel rp_kernel_##name##_ref; \
    static void name##_run(const rp_kernel_args *args, size_t begin, size_t end) \
    { \
        run_rows(args, begin, end, single, length_of, first_vector, \
                 args->out[0].dtype == RP_F32 ? name##_fast_f32 : name##_fast_f64, &rp_kernel_##name##_ref); \
    } \
    RP_DEFINE_KERNEL(name, items, name##_run, rp_cost_row)

ROWS(softmax, rp_items_rows, 0, 0, 3);
ROWS(softmax_grad, rp_items_rows, 0, 0, 3);
ROWS(log_softmax, rp_items_rows, 0, 0, 3);
ROWS(log_softmax_grad, rp_items_rows, 0, 0, 3);
ROWS(cross_entropy_grad, rp_items_rows, 1u << 1 | 1u << 3, 1, 3);
ROWS(layer_norm_grad, rp_items_rows, 0, 0, 2);

/* With a second output the rows' logsumexp, as in the reference. */
extern const rp_kernel rp_kernel_cross_entropy_ref;
static void cross_entropy_run(const rp_kernel_args *args, size_t begin, size_t end)
{
    const bool narrow = args->out[0].dtype == RP_F32, both = args->n_out == 2;
    const unsigned single = 1u << 0 | 1u << 2 | 1u << 3;
    rp_view in[3] = {args->in[0], args->in[1], args->out[both]};
    const rp_kernel_args all = {in, both ? 3 : 2, args->out, 1, args->attr};

    if (!run_fast(&all, all.n_in, single, 0, begin, end,
                  both     ? (narrow ? cross_entropy_both_fast_f32 : cross_entropy_both_fast_f64)
                  : narrow ? cross_entropy_fast_f32
                           : cross_entropy_fast_f64))
        rp_kernel_cross_entropy_ref.run(args, begin, end);
}
RP_DEFINE_KERNEL(cross_entropy, rp_items_elements, cross_entropy_run, rp_cost_row);

/* Norms whose big operands lie as rows at one step, and vectors in neighbours. big: the inputs before the vectors. */
static bool plain_rows(const rp_kernel_args *args, row_views *r, size_t big)
{
    bool plain = row_views_from(&args->out[0], 0, &r[0]);

    for (size_t i = 0; i < args->n_in && plain; i++)
        plain = i < big ? row_views_from(&args->in[i], 0, &r[i + 1]) : args->in[i].stride[0] == 1;
    for (size_t i = 1; i < args->n_out && plain; i++)
        plain = args->out[i].stride[2] == 1;
    return plain;
}

/* plain: by a few rows at once; other: the function for the rest. */
#define NORM(name, big, work, other) \
    extern const rp_kernel rp_kernel_##name##_ref; \
    static void name##_run(const rp_kernel_args *args, size_t begin, size_t end) \
    { \
        row_views r[4]; \
\
        if (!plain_rows(args, r, big)) \
            other(args, begin, end); \
        else if (args->out[0].dtype == RP_F32) \
            work##_f32(args, r, begin, end), stream_end(); \
        else \
            work##_f64(args, r, begin, end), stream_end(); \
    } \
    static size_t name##_items(const rp_kernel_args *args) \
    { \
        return rp_kernel_##name##_ref.items(args); \
    } \
    static size_t name##_cost(const rp_kernel_args *args) \
    { \
        return 1 + rp_kernel_##name##_ref.cost(args) / 4; \
    } \
    RP_DEFINE_KERNEL(name, name##_items, name##_run, name##_cost)

static void layer_norm_row_by_row(const rp_kernel_args *args, size_t begin, size_t end)
{
    extern const rp_kernel rp_kernel_layer_norm_ref;

    run_rows(args, begin, end, 0, 0, 1, args->out[0].dtype == RP_F32 ? layer_norm_fast_f32 : layer_norm_fast_f64,
             &rp_kernel_layer_norm_ref);
}

NORM(layer_norm, 1, layer_norm_rows, layer_norm_row_by_row);
NORM(rms_norm, 1, rms_norm_rows, rp_kernel_rms_norm_ref.run);
NORM(layer_norm_backward, 2, layer_norm_lanes, rp_kernel_layer_norm_backward_ref.run);
NORM(rms_norm_grad, 2, rms_norm_lanes, rp_kernel_rms_norm_grad_ref.run);
