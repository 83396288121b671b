/* SPDX-License-Identifier: Apache-2.0
 * Group norm and its gradient for one instruction set (CONTRACT 7.11): vectors lie across channels, whose sums over the
 * positions are then added group by group. What does not lie as rows of neighbouring channels goes to the reference. */
#include <string.h>

#include "determinism/math.h"
#include "determinism/sum.h"
#include "kernels/cpu/row_views.h"
#include "kernels/cpu/vec.h"
#include "kernels/level.h"
#include "kernels/walk.h"

/* Channels of a sample at a time, in whole groups; positions that channel_sums.inc.h takes. */
enum { HELD = 1024, MOST = RP_CHUNK * RP_CHUNK };

#include "kernels/type_f32.h"
#include "kernels/cpu/channels/group_norm_type.inc.h"
#include "kernels/type_f64.h"
#include "kernels/cpu/channels/group_norm_type.inc.h"

#define GROUP_NORM(name, big) \
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
        const size_t groups = (size_t)RP_AT(args->attr, group_norm, groups).i, c = rp_view_last(&args->out[0]); \
        row_views r[3]; \
        bool plain = row_views_from(&args->out[0], 1, &r[0]) && c <= HELD * groups && r[0].n <= MOST; \
\
        for (size_t i = 0; i < big; i++) \
            plain = plain && row_views_from(&args->in[i], 1, &r[i + 1]); \
        if (!plain) { \
            rp_kernel_##name##_ref.run(args, begin, end); \
            return; \
        } \
        for (size_t i = begin, here; i < end; i += here) { \
            const size_t most = c > groups ? HELD / (c / groups) : HELD, first = i % groups; \
\
            here = groups - first < end - i ? groups - first : end - i; \
            here = here < most ? here : most; \
            if (args->out[0].dtype == RP_F32) \
                name##_f32(args, r, i / groups, first, here, c / groups); \
            else \
                name##_f64(args, r, i / groups, first, here, c / groups); \
        } \
    } \
    RP_DEFINE_KERNEL(name, name##_items, name##_run, name##_cost)

GROUP_NORM(group_norm, 1);
GROUP_NORM(group_norm_grad, 2);
