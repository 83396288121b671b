/* SPDX-License-Identifier: Apache-2.0
 * Template parameters for bf16 as data: T holds its bits and there is no arithmetic, FN(name) is the name of its
 * variant. No include guard: each inclusion replaces the parameters of the one before. */
#undef T
#undef WIDE
#undef FN
#define T uint16_t
#define FN(name) name##_bf16
