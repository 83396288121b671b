/* SPDX-License-Identifier: Apache-2.0
 * Attention and its gradient for one instruction set (CONTRACT 7.13): queries lie across the vectors, keys and columns
 * beside one another in memory, so that every sum and chain runs in its order. What a borrowed block of memory does not
 * hold goes to the reference. */
#include "kernels/cpu/functions/inline_math.h"

#include "determinism/bits.h"
#include "determinism/sum.h"
#include "kernels/cpu/attention/attention_exp.h"
#include "kernels/cpu/attention/attention_vec.h"
#include "kernels/cpu/matmul/matmul_scratch.h"
#include "kernels/cpu/philox.h"
#include "kernels/ref/attention/attention.h"
#include "kernels/ref/matmul.h"

#include "kernels/type_f32.h"
#define BITS uint32_t
#include "kernels/cpu/matmul/matmul_pack.inc.h"
#include "kernels/cpu/attention/attention_tile.inc.h"
#include "kernels/cpu/attention/attention_rows.inc.h"
#include "kernels/cpu/attention/attention_type.inc.h"
#include "kernels/cpu/attention/attention_grad.inc.h"
#include "kernels/type_f64.h"
#undef BITS
#define BITS uint64_t
#include "kernels/cpu/matmul/matmul_pack.inc.h"
#include "kernels/cpu/attention/attention_tile.inc.h"
#include "kernels/cpu/attention/attention_rows.inc.h"
#include "kernels/cpu/attention/attention_type.inc.h"
#include "kernels/cpu/attention/attention_grad.inc.h"
#include "kernels/type_end.h"

extern const rp_kernel rp_kernel_attention_ref, rp_kernel_attention_grad_ref;

static void attention_run(const rp_kernel_args *args, size_t begin, size_t end)
{
    const rp_attending a = rp_attention_of(args, 0);
    const bool single = args->out[0].dtype == RP_F32;
    char *memory = rp_scratch_borrow();

    for (size_t count; begin < end; begin += count) {
        const size_t head = begin / a.m, row = begin % a.m;
        const rp_attention_head h = rp_attention_head_of(&a, head);
        const rp_attention_matrix y = rp_attention_matrix_of(&args->out[0], head);

        count = end - begin < a.m - row ? end - begin : a.m - row;
        if (!memory || !(single ? attend_f32 : attend_f64)(&h, row, row + count, &y, memory, RP_SCRATCH_BYTES))
            rp_kernel_attention_ref.run(args, begin, begin + count);
    }
    rp_scratch_return(memory);
}

static void attention_grad_run(const rp_kernel_args *args, size_t begin, size_t end)
{
    const rp_attending a = rp_attention_of(args, 1);
    const bool single = args->out[0].dtype == RP_F32;
    char *memory = rp_scratch_borrow();

    for (; begin < end; begin++) {
        const rp_attention_head h = rp_attention_head_of(&a, begin);
        const rp_attention_matrix g = rp_attention_matrix_of(&args->in[0], begin);
        const rp_attention_matrix out[3] = {rp_attention_matrix_of(&args->out[0], begin),
                                            rp_attention_matrix_of(&args->out[1], begin),
                                            rp_attention_matrix_of(&args->out[2], begin)};

        if (!memory || !(single ? attend_back_f32 : attend_back_f64)(&h, &g, out, memory, RP_SCRATCH_BYTES))
            rp_kernel_attention_grad_ref.run(args, begin, begin + 1);
    }
    rp_scratch_return(memory);
}

RP_DEFINE_KERNEL(attention, rp_items_rows, attention_run, rp_attention_cost);
RP_DEFINE_KERNEL(attention_grad, rp_attention_grad_items, attention_grad_run, rp_attention_grad_cost);
