/* SPDX-License-Identifier: Apache-2.0
 * Batch norm and its gradient for one instruction set (CONTRACT 7.8): vectors lie across channels, each of which keeps
 * its own 64 lanes. Operands whose channels lie apart, as those of weights [k, n] that are normalised one by one do,
 * are turned a few channels at a time; other views go to the reference. */
#include "determinism/math.h"
#include "determinism/sum.h"
#include "kernels/cpu/matmul/matmul_scratch.h"
#include "kernels/cpu/vec.h"
#include "kernels/level.h"
#include "kernels/walk.h"

/* One view as rows of channels. */
typedef struct rows {
    size_t n;
    ptrdiff_t step;
} rows;

/* False where the view's rows do not lie at one step. */
static bool lie_at_one_step(const rp_view *view, rows *r)
{
    *r = (rows){1, view->rank > 1 ? view->stride[view->rank - 2] : 0};
    for (int d = view->rank - 2; d >= 0; d--) {
        if (view->shape[d] == 1)
            continue;
        if (r->n == 1)
            r->step = view->stride[d];
        else if (view->stride[d] != r->step * (ptrdiff_t)r->n)
            return false;
        r->n *= view->shape[d];
    }
    return view->rank > 1 && r->n > 0 && r->n <= (size_t)RP_CHUNK * RP_CHUNK; /* what channel_sums.inc.h takes */
}

/* Or where its channels do not lie beside one another. */
static bool rows_of(const rp_view *view, rows *r)
{
    return view->rank > 0 && view->stride[view->rank - 1] == 1 && lie_at_one_step(view, r);
}

enum { TURNED = 256, TURNED_ROWS = 16 }; /* bytes of a row that is turned, which the loops know; rows at a time */

#define TURN(T) \
    for (size_t i = 0; i < r->n; i += TURNED_ROWS) \
        for (size_t j = 0; j < width; j++) \
            for (size_t k = i; k < r->n && k < i + TURNED_ROWS; k++) \
    ((T *)to)[k * (TURNED / sizeof(T)) + j] = ((const T *)from)[(ptrdiff_t)k * r->step + (ptrdiff_t)j * apart]

/* width channels from `from` on as rows of TURNED bytes. */
static void turn(void *to, const void *from, const rows *r, ptrdiff_t apart, size_t width, size_t size)
{
    if (size == sizeof(uint32_t))
        TURN(uint32_t);
    else
        TURN(uint64_t);
}
#undef TURN

static void advance(rp_view *view, size_t channels)
{
    if (view->rank > 0)
        view->data = (char *)view->data +
                     (ptrdiff_t)channels * view->stride[view->rank - 1] * (ptrdiff_t)rp_dtype_size(view->dtype);
}

typedef void channels_run(const rp_kernel_args *args, const rows *r, size_t begin, size_t end);

/* Blocks of channels whose operands are turned first. False: they do not lie so, or there is no memory for it. */
static bool run_turned(const rp_kernel_args *args, size_t images, size_t begin, size_t end, channels_run *run)
{
    const size_t size = rp_dtype_size(args->out[0].dtype), most = TURNED / size;
    char *scratch;
    rows r[3] = {{0, 0}};

    if (!rows_of(&args->out[0], &r[0]) || images * r[0].n > RP_SCRATCH_BYTES / TURNED)
        return false;
    for (size_t i = 0; i < images; i++)
        if (!lie_at_one_step(&args->in[i], &r[1 + i]))
            return false;
    if (!(scratch = rp_scratch_borrow()))
        return false;
    for (size_t c = begin, width; c < end; c += width) {
        rp_view in[5], out[3];
        rows now[3] = {r[0], r[1], r[2]};
        const rp_kernel_args part = {in, args->n_in, out, args->n_out, args->attr};

        width = end - c < most ? end - c : most;
        for (size_t i = 0; i < args->n_in; i++) {
            in[i] = args->in[i];
            advance(&in[i], c);
        }
        for (size_t i = 0; i < args->n_out; i++) {
            out[i] = args->out[i];
            advance(&out[i], c);
        }
        for (size_t i = 0; i < images; i++) {
            char *to = scratch + i * r[0].n * TURNED;

            turn(to, in[i].data, &r[1 + i], in[i].stride[in[i].rank - 1], width, size);
            in[i].data = to;
            now[1 + i].step = (ptrdiff_t)most;
        }
        run(&part, now, 0, width);
    }
    rp_scratch_return(scratch);
    return true;
}

#include "kernels/type_f32.h"
#include "kernels/cpu/channels/batch_norm_type.inc.h"
#include "kernels/type_f64.h"
#include "kernels/cpu/channels/batch_norm_type.inc.h"

#define BATCH_NORM(name, inputs) \
    extern const rp_kernel rp_kernel_##name##_ref; \
    static size_t name##_items(const rp_kernel_args *args) \
    { \
        return rp_kernel_##name##_ref.items(args); \
    } \
    static size_t name##_cost(const rp_kernel_args *args) \
    { \
        return 1 + rp_kernel_##name##_ref.cost(args) / 8; \
    } \
    static void name##_run(const rp_kernel_args *args, size_t begin, size_t end) \
    { \
        rows r[1 + inputs]; \
        channels_run *run = args->out[0].dtype == RP_F32 ? name##_f32 : name##_f64; \
        bool plain = rows_of(&args->out[0], &r[0]); \
\
        for (size_t i = 0; i < inputs; i++) \
            plain = plain && rows_of(&args->in[i], &r[i + 1]); \
        if (plain) \
            run(args, r, begin, end); \
        else if (!run_turned(args, inputs, begin, end, run)) \
            rp_kernel_##name##_ref.run(args, begin, end); \
    } \
    RP_DEFINE_KERNEL(name, name##_items, name##_run, name##_cost)

BATCH_NORM(batch_norm, 1);
BATCH_NORM(batch_norm_train, 1);
BATCH_NORM(batch_norm_grad, 2);
