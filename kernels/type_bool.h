/* SPDX-License-Identifier: Apache-2.0
 * Template parameters for bool, one byte 0 or 1: T is the element type, FN(name) the name of its variant. No include
 * guard: each inclusion replaces the parameters of the one before. */
#undef T
#undef WIDE
#undef FN
#define T uint8_t
#define FN(name) name##_bool
