/* SPDX-License-Identifier: Apache-2.0
 * Matrix product in binary32, of binary32 or bf16 operands, and in binary64, batched and strided (CONTRACT 4.4). */
#include "kernels/ref/matmul.h"
#include "determinism/bits.h"
#include "determinism/math.h"
#include "kernels/level.h"

RP_KERNEL_FN size_t rp_matmul_items(const rp_kernel_args *args)
{
    return rp_items_rows(args);
}

RP_KERNEL_FN size_t rp_matmul_cost(const rp_kernel_args *args)
{
    return 1 + rp_view_last(&args->in[0]) * rp_view_last(&args->out[0]);
}

RP_KERNEL_FN rp_matmul rp_matmul_of(const rp_kernel_args *args, size_t batch)
{
    const rp_view *a = &args->in[0], *b = &args->in[1], *y = &args->out[0];
    const int r = y->rank - 2;
    rp_matmul p = {.m = y->shape[r],
                   .k = a->shape[r + 1],
                   .n = y->shape[r + 1],
                   .a_row = a->stride[r],
                   .a_col = a->stride[r + 1],
                   .b_row = b->stride[r],
                   .b_col = b->stride[r + 1],
                   .y_row = y->stride[r],
                   .y_col = y->stride[r + 1]};
    ptrdiff_t at_a = 0, at_b = 0, at_y = 0;

    for (int d = r - 1; d >= 0; d--) {
        const ptrdiff_t i = (ptrdiff_t)(batch % y->shape[d]);

        batch /= y->shape[d];
        at_a += i * a->stride[d];
        at_b += i * b->stride[d];
        at_y += i * y->stride[d];
    }
    p.a = rp_view_at(a, at_a);
    p.b = rp_view_at(b, at_b);
    p.a_half = a->dtype == RP_BF16;
    p.b_half = b->dtype == RP_BF16;
    p.y = rp_view_at(y, at_y);
    return p;
}

RP_KERNEL_FN RP_KERNEL_CALLER void rp_matmul_run(const rp_kernel_args *args, size_t begin, size_t end,
                                                 void (*rows)(const rp_matmul *product, size_t begin, size_t end))
{
    const size_t m = args->out[0].shape[args->out[0].rank - 2];

    while (begin < end) {
        const rp_matmul product = rp_matmul_of(args, begin / m);
        const size_t row = begin % m, room = m - row, count = end - begin < room ? end - begin : room;

        rows(&product, row, row + count);
        begin += count;
    }
}

/* FN of the variants with bf16 operands, whose arithmetic is that of binary32. */
#define rp_fma_bf16 rp_fma_f32
#define rp_fma_bf16_f32 rp_fma_f32
#define rp_fma_f32_bf16 rp_fma_f32

#define SOURCE T
#define OF(x) (x)
#include "kernels/type_f64.h"
#include "kernels/ref/matmul_type.inc.h"
#include "kernels/type_f32.h"
#include "kernels/ref/matmul_type.inc.h"
#define SOURCE_B uint16_t
#define OF_B(x) rp_f32_of_bf16(x)
#undef FN
#define FN(name) name##_f32_bf16
#include "kernels/ref/matmul_type.inc.h"
#undef SOURCE
#undef OF
#define SOURCE uint16_t
#define OF(x) rp_f32_of_bf16(x)
#undef FN
#define FN(name) name##_bf16
#include "kernels/ref/matmul_type.inc.h"
#define SOURCE_B T
#define OF_B(x) (x)
#undef FN
#define FN(name) name##_bf16_f32
#include "kernels/ref/matmul_type.inc.h"
#include "kernels/type_end.h"

static void matmul_run(const rp_kernel_args *args, size_t begin, size_t end)
{
    const bool a_half = args->in[0].dtype == RP_BF16, b_half = args->in[1].dtype == RP_BF16;

    if (args->out[0].dtype == RP_F64) /* each call names its function: a GPU has no pointers to them */
        rp_matmul_run(args, begin, end, rows_f64);
    else if (a_half && b_half)
        rp_matmul_run(args, begin, end, rows_bf16);
    else if (a_half)
        rp_matmul_run(args, begin, end, rows_bf16_f32);
    else if (b_half)
        rp_matmul_run(args, begin, end, rows_f32_bf16);
    else
        rp_matmul_run(args, begin, end, rows_f32);
}

RP_DEFINE_KERNEL(matmul, rp_matmul_items, matmul_run, rp_matmul_cost);
