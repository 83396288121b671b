/* SPDX-License-Identifier: Apache-2.0
 * Template parameters for u32: T is the element type, WIDE the type its arithmetic is done in (it wraps), FN(name) the
 * name of its variant. No include guard: each inclusion replaces the parameters of the one before. */
#undef T
#undef WIDE
#undef FN
#define T uint32_t
#define WIDE uint32_t
#define FN(name) name##_u32
