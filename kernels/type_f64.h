/* SPDX-License-Identifier: Apache-2.0
 * Template parameters for f64: T is the element type, WIDE the type its arithmetic is done in, FN(name) the name of
 * its variant. No include guard: each inclusion replaces the parameters of the one before. */
#undef T
#undef WIDE
#undef FN
#undef SQRT
#undef FABS
#define T double
#define WIDE T
#define FN(name) name##_f64
#define SQRT(x) __builtin_sqrt(x) /* correctly rounded, as IEEE 754 requires */
#define FABS(x) __builtin_fabs(x)
