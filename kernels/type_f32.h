/* SPDX-License-Identifier: Apache-2.0
 * Template parameters for f32: T is the element type, WIDE the type its arithmetic is done in, FN(name) the name of
 * its variant. No include guard: each inclusion replaces the parameters of the one before. */
#undef T
#undef WIDE
#undef FN
#undef SQRT
#undef FABS
#define T float
#define WIDE T
#define FN(name) name##_f32
#define SQRT(x) __builtin_sqrtf(x) /* correctly rounded, as IEEE 754 requires */
#define FABS(x) __builtin_fabsf(x)
