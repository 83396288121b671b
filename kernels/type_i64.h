/* SPDX-License-Identifier: Apache-2.0
 * Template parameters for i64: T is the element type, WIDE the type its arithmetic is done in (it wraps), FN(name) the
 * name of its variant. No include guard: each inclusion replaces the parameters of the one before. */
#undef T
#undef WIDE
#undef FN
#define T int64_t
#define WIDE uint64_t
#define FN(name) name##_i64
