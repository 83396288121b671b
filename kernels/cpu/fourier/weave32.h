/* SPDX-License-Identifier: Apache-2.0
 * Vectors of 32 bytes woven and taken apart by what their instructions do at once: within halves of 16 bytes, then
 * halves whole. As one order of all elements compilers make up to twice as many instructions of each. */
#ifndef KERNELS_CPU_FOURIER_WEAVE32_H
#define KERNELS_CPU_FOURIER_WEAVE32_H

typedef float eight __attribute__((vector_size(32)));
typedef double four __attribute__((vector_size(32)));

#define ORDERED(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)

/* Of four vectors, element i of each in turn. */
RP_INLINE void weave32_f32(eight *v)
{
    const eight a = ORDERED(v[0], v[1], 0, 8, 1, 9, 4, 12, 5, 13), b = ORDERED(v[0], v[1], 2, 10, 3, 11, 6, 14, 7, 15);
    const eight c = ORDERED(v[2], v[3], 0, 8, 1, 9, 4, 12, 5, 13), d = ORDERED(v[2], v[3], 2, 10, 3, 11, 6, 14, 7, 15);
    const eight e = ORDERED(a, c, 0, 1, 8, 9, 4, 5, 12, 13), f = ORDERED(a, c, 2, 3, 10, 11, 6, 7, 14, 15);
    const eight g = ORDERED(b, d, 0, 1, 8, 9, 4, 5, 12, 13), h = ORDERED(b, d, 2, 3, 10, 11, 6, 7, 14, 15);

    v[0] = ORDERED(e, f, 0, 1, 2, 3, 8, 9, 10, 11);
    v[1] = ORDERED(g, h, 0, 1, 2, 3, 8, 9, 10, 11);
    v[2] = ORDERED(e, f, 4, 5, 6, 7, 12, 13, 14, 15);
    v[3] = ORDERED(g, h, 4, 5, 6, 7, 12, 13, 14, 15);
}

RP_INLINE void weave32_f64(four *v)
{
    const four a = ORDERED(v[0], v[1], 0, 4, 2, 6), b = ORDERED(v[0], v[1], 1, 5, 3, 7);
    const four c = ORDERED(v[2], v[3], 0, 4, 2, 6), d = ORDERED(v[2], v[3], 1, 5, 3, 7);

    v[0] = ORDERED(a, c, 0, 1, 4, 5);
    v[1] = ORDERED(b, d, 0, 1, 4, 5);
    v[2] = ORDERED(a, c, 2, 3, 6, 7);
    v[3] = ORDERED(b, d, 2, 3, 6, 7);
}

/* Halves of each in turn. */
RP_INLINE void weave32_halves(eight *v)
{
    const eight a = v[0], b = v[1], c = v[2], d = v[3];

    v[0] = ORDERED(a, b, 0, 1, 2, 3, 8, 9, 10, 11);
    v[1] = ORDERED(c, d, 0, 1, 2, 3, 8, 9, 10, 11);
    v[2] = ORDERED(a, b, 4, 5, 6, 7, 12, 13, 14, 15);
    v[3] = ORDERED(c, d, 4, 5, 6, 7, 12, 13, 14, 15);
}

/* Every second element of two vectors, from the first and from the second on. */
RP_INLINE void part32_f32(eight *first, eight *second, eight a, eight b)
{
    const eight c = ORDERED(a, b, 0, 1, 2, 3, 8, 9, 10, 11), d = ORDERED(a, b, 4, 5, 6, 7, 12, 13, 14, 15);

    *first = ORDERED(c, d, 0, 2, 8, 10, 4, 6, 12, 14);
    *second = ORDERED(c, d, 1, 3, 9, 11, 5, 7, 13, 15);
}

RP_INLINE void part32_f64(four *first, four *second, four a, four b)
{
    const four c = ORDERED(a, b, 0, 1, 4, 5), d = ORDERED(a, b, 2, 3, 6, 7);

    *first = ORDERED(c, d, 0, 4, 2, 6);
    *second = ORDERED(c, d, 1, 5, 3, 7);
}

#undef ORDERED

#endif
