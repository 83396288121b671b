/* SPDX-License-Identifier: Apache-2.0
 * Batch norm and its gradient for one instruction set (CONTRACT 7.8): vectors lie across channels, each of which keeps
 * its own 64 lanes. Views that are not rows of neighbouring channels go to the reference. */
#include "determinism/math.h"
#include "determinism/sum.h"
#include "kernels/level.h"
#include "kernels/walk.h"

/* One view as rows of channels. */
typedef struct rows {
    size_t n;
    ptrdiff_t step;
} rows;

/* False where the view's rows do not lie at one step, or its channels not beside one another. */
static bool rows_of(const rp_view *view, rows *r)
{
    const int last = view->rank - 1;

    if (last < 1 || view->stride[last] != 1)
        return false;
    r->n = view->shape[last - 1];
    r->step = view->stride[last - 1];
    for (int d = last - 2; d >= 0; d--) {
        if (view->stride[d] != view->stride[d + 1] * (ptrdiff_t)view->shape[d + 1])
            return false;
        r->n *= view->shape[d];
    }
    return r->n > 0 && r->n <= (size_t)RP_CHUNK * RP_CHUNK; /* what channel_sums.inc.h takes */
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
        bool plain = rows_of(&args->out[0], &r[0]); \
\
        for (size_t i = 0; i < inputs; i++) \
            plain = plain && rows_of(&args->in[i], &r[i + 1]); \
        if (!plain) \
            rp_kernel_##name##_ref.run(args, begin, end); \
        else if (args->out[0].dtype == RP_F32) \
            name##_f32(args, r, begin, end); \
        else \
            name##_f64(args, r, begin, end); \
    } \
    RP_DEFINE_KERNEL(name, name##_items, name##_run, name##_cost)

BATCH_NORM(batch_norm, 1);
BATCH_NORM(batch_norm_train, 1);
BATCH_NORM(batch_norm_grad, 2);
