/* SPDX-License-Identifier: Apache-2.0
 * Template parameters for products of bf16 operands in binary32: T is the type of the arithmetic and the result, SOURCE
 * holds an operand's bits, OF(x) is its value, FN(name) the name of its variant. No include guard. */
#undef T
#undef WIDE
#undef FN
#undef SOURCE
#undef OF
#define T float
#define FN(name) name##_bf16
#define SOURCE uint16_t
#define OF(x) rp_f32_of_bf16(x)
#define rp_fma_bf16 rp_fma_f32
