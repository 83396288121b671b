/* SPDX-License-Identifier: Apache-2.0
 * Order, places along an axis, and rearranging (CONTRACT 3.4, 4.8, 7.14 and 11.2). They append to the graph as those of
 * rp/tensor.h do, and their errors are sticky likewise: RP_ESHAPE for shapes and numbers that do not fit. What has real
 * operands has gradients, which have gradients themselves. An index that names no place is an error of the step. */
#ifndef RP_INDEXING_H
#define RP_INDEXING_H

#include "rp/tensor.h"

/* ---- order: a NaN is above every number, zeros are equal, and of equal elements the first comes first ---- */

/* x in order along an axis; index (NULL: not wanted) gets the places, i64, where the elements were. */
RP_API rp_tensor rp_sort(rp_tensor x, int axis, bool descending, rp_tensor *index);
RP_API rp_tensor rp_argsort(rp_tensor x, int axis, bool descending); /* those places alone */
/* The k largest, or smallest, along an axis, in order; index as above. */
RP_API rp_tensor rp_topk(rp_tensor x, size_t k, int axis, bool largest, rp_tensor *index);
/* For each element of x [.., m] how many of sorted [.., n], or [n] for all, which ascends, come before it; right: those
 * equal to it too. i64. No gradient passes. */
RP_API rp_tensor rp_searchsorted(rp_tensor sorted, rp_tensor x, bool right);

/* Boxes that no better one covers: boxes [n, m, 4], scores [n, classes, m] to the places of kept boxes [n, classes, k],
 * i64, by falling score, of equal ones the first; -1 behind the last. A box is left out if its score is not above least
 * (-INFINITY: none) or if, over a kept one, the common area is more than overlap of both together. A box is (a, b, c,
 * d): two corners (a, b) and (c, d), or, centred, a middle and two lengths. No gradient passes. */
RP_API rp_tensor rp_non_max_suppression(rp_tensor boxes, rp_tensor scores, size_t k, double overlap, double least,
                                        bool centred);

/* ---- places along an axis ---- */

/* How what is scattered is combined with what is there. Several sources of one place come in their order along the
 * axis, so of those that are set the last stays. What is
 * multiplied has the gradient y / x, and y / source: NaN where that is 0 / 0. */
typedef enum rp_scatter {
    RP_SCATTER_SET,
    RP_SCATTER_ADD,
    RP_SCATTER_MULTIPLY,
    RP_SCATTER_MAX,
    RP_SCATTER_MIN
} rp_scatter;

/* y[.., j, ..] = x[.., index[.., j, ..], ..]: index, i32 or i64, has x's lengths on all axes but this one. */
RP_API rp_tensor rp_take_along(rp_tensor x, rp_tensor index, int axis);
/* x, in which source [.., j, ..] is set, added, .. at [.., index[.., j, ..], ..]; source has the index's shape. */
RP_API rp_tensor rp_scatter_along(rp_tensor x, rp_tensor index, rp_tensor source, int axis, rp_scatter how);
/* x, in which what rp_gather(.., index, axis) would take is set, added, .. from source, which has that shape. */
RP_API rp_tensor rp_index_put(rp_tensor x, rp_tensor index, rp_tensor source, int axis, rp_scatter how);
/* index [.., r] holds places along x's first r axes: y [.., the other axes of x]. */
RP_API rp_tensor rp_gather_nd(rp_tensor x, rp_tensor index);
RP_API rp_tensor rp_scatter_nd(rp_tensor x, rp_tensor index, rp_tensor source, rp_scatter how);

/* How often each of 0 .. n - 1 is in index, i64, or, with weights of its shape, the sum of those (weights.graph NULL:
 * none). */
RP_API rp_tensor rp_bincount(rp_tensor index, rp_tensor weights, size_t n);
/* How many elements of x, real, lie in each of n equal parts of low .. high, i64; high belongs to the last part, what
 * lies outside and a NaN to none. */
RP_API rp_tensor rp_histogram(rp_tensor x, size_t n, double low, double high);

typedef enum rp_bag { RP_BAG_SUM, RP_BAG_MEAN, RP_BAG_MAX } rp_bag;
/* Rows of table [v, d] taken by index [b, l] and reduced over each bag of l: [b, d]. */
RP_API rp_tensor rp_embedding_bag(rp_tensor table, rp_tensor index, rp_bag how);

/* ---- as many as there are: a program is static, so the number is told beforehand, and another one at a later step, or
 * in a replay, is an error of the step. Eagerly it is read first: rp_read(run, rp_count_true(mask), &n, ..) ---- */

RP_API rp_tensor rp_count_true(rp_tensor mask); /* i64, rank 0 */
/* The places [n, rank], i64, of the true elements of a bool mask, in row-major order; n must be their number. */
RP_API rp_tensor rp_nonzero(rp_tensor mask, size_t n);
/* The n elements of x [n] where mask, of x's shape, is true, in row-major order. */
RP_API rp_tensor rp_masked_select(rp_tensor x, rp_tensor mask, size_t n);
RP_API rp_tensor rp_count_unique(rp_tensor x); /* i64, rank 0; every NaN is one of its own */
/* The n different elements of x, ascending. inverse, of x's shape, their places in it, and counts [n], i64; NULL: not
 * wanted. */
RP_API rp_tensor rp_unique(rp_tensor x, size_t n, rp_tensor *inverse, rp_tensor *counts);

/* ---- rearranging ---- */

/* size[d] elements along each axis from begin[d] on, step[d] apart, which may be negative: a view. rank entries each.
 */
RP_API rp_tensor rp_slice_step(rp_tensor x, const size_t *begin, const size_t *size, const int64_t *step);
RP_API rp_tensor rp_flip(rp_tensor x, const int *axes, int n);     /* n axes turned round */
RP_API rp_tensor rp_roll(rp_tensor x, int64_t shift, int axis);    /* element i goes to i + shift, round the end */
RP_API rp_tensor rp_stack(const rp_tensor *x, size_t n, int axis); /* along a new axis */
RP_API void rp_unstack(rp_tensor x, int axis, rp_tensor *out, size_t n);                   /* n is the axis' length */
RP_API void rp_split(rp_tensor x, const size_t *size, size_t n, int axis, rp_tensor *out); /* the sizes add up to it */
RP_API void rp_chunk(rp_tensor x, size_t n, int axis, rp_tensor *out); /* n parts, the first ones longer by one */
RP_API rp_tensor rp_tile(rp_tensor x, const size_t *times);            /* rank entries; the whole one after the other */
RP_API rp_tensor rp_repeat_interleave(rp_tensor x, size_t times, int axis); /* each element so often */
RP_API rp_tensor rp_tril(rp_tensor x, int64_t diagonal); /* [.., r, c]: 0 above the diagonal, counted upwards from 0 */
RP_API rp_tensor rp_triu(rp_tensor x, int64_t diagonal); /* 0 below it */
RP_API rp_tensor rp_diagonal(rp_tensor x, int64_t diagonal);           /* [.., r, c] to its elements [..] along it */
RP_API void rp_meshgrid(const rp_tensor *x, size_t n, rp_tensor *out); /* n of rank 1; out[i] varies along axis i */

typedef enum rp_pad_mode { RP_PAD_CONSTANT, RP_PAD_REFLECT, RP_PAD_EDGE, RP_PAD_CIRCULAR } rp_pad_mode;
/* before[d] and after[d] elements along each axis: value, the elements mirrored at the first and last (below the
 * length), the first and last themselves, or those from the other end (up to the length). */
RP_API rp_tensor rp_pad_with(rp_tensor x, const size_t *before, const size_t *after, rp_pad_mode how, double value);

/* ---- products over named axes, of f32 or f64 ---- */

/* "bij,bjk->bik": a letter an axis; what is not behind the arrow is summed. Without an arrow the letters that occur
 * once, in the alphabet's order. A letter twice in one operand is its diagonal. Several operands are multiplied from
 * the left. Errors: RP_EARG for a text that is none, RP_ESHAPE. */
RP_API rp_tensor rp_einsum(const char *equation, const rp_tensor *x, size_t n);
/* The axes of a and of b that are multiplied and summed, n each: [a's others.., b's others..]. */
RP_API rp_tensor rp_tensordot(rp_tensor a, rp_tensor b, const int *axes_a, const int *axes_b, int n);

/* Calls say where they stand: see rp_site. Written by scripts/sites.py. */
#if !defined(RP_BUILDING) && !defined(RP_NO_SITES)
#define rp_sort(...) RP_SITED(rp_sort, __VA_ARGS__)
#define rp_argsort(...) RP_SITED(rp_argsort, __VA_ARGS__)
#define rp_topk(...) RP_SITED(rp_topk, __VA_ARGS__)
#define rp_searchsorted(...) RP_SITED(rp_searchsorted, __VA_ARGS__)
#define rp_non_max_suppression(...) RP_SITED(rp_non_max_suppression, __VA_ARGS__)
#define rp_take_along(...) RP_SITED(rp_take_along, __VA_ARGS__)
#define rp_scatter_along(...) RP_SITED(rp_scatter_along, __VA_ARGS__)
#define rp_index_put(...) RP_SITED(rp_index_put, __VA_ARGS__)
#define rp_gather_nd(...) RP_SITED(rp_gather_nd, __VA_ARGS__)
#define rp_scatter_nd(...) RP_SITED(rp_scatter_nd, __VA_ARGS__)
#define rp_bincount(...) RP_SITED(rp_bincount, __VA_ARGS__)
#define rp_histogram(...) RP_SITED(rp_histogram, __VA_ARGS__)
#define rp_embedding_bag(...) RP_SITED(rp_embedding_bag, __VA_ARGS__)
#define rp_count_true(...) RP_SITED(rp_count_true, __VA_ARGS__)
#define rp_nonzero(...) RP_SITED(rp_nonzero, __VA_ARGS__)
#define rp_masked_select(...) RP_SITED(rp_masked_select, __VA_ARGS__)
#define rp_count_unique(...) RP_SITED(rp_count_unique, __VA_ARGS__)
#define rp_unique(...) RP_SITED(rp_unique, __VA_ARGS__)
#define rp_slice_step(...) RP_SITED(rp_slice_step, __VA_ARGS__)
#define rp_flip(...) RP_SITED(rp_flip, __VA_ARGS__)
#define rp_roll(...) RP_SITED(rp_roll, __VA_ARGS__)
#define rp_stack(...) RP_SITED(rp_stack, __VA_ARGS__)
#define rp_unstack(...) RP_SITE(rp_unstack, __VA_ARGS__)
#define rp_split(...) RP_SITE(rp_split, __VA_ARGS__)
#define rp_chunk(...) RP_SITE(rp_chunk, __VA_ARGS__)
#define rp_tile(...) RP_SITED(rp_tile, __VA_ARGS__)
#define rp_repeat_interleave(...) RP_SITED(rp_repeat_interleave, __VA_ARGS__)
#define rp_tril(...) RP_SITED(rp_tril, __VA_ARGS__)
#define rp_triu(...) RP_SITED(rp_triu, __VA_ARGS__)
#define rp_diagonal(...) RP_SITED(rp_diagonal, __VA_ARGS__)
#define rp_meshgrid(...) RP_SITE(rp_meshgrid, __VA_ARGS__)
#define rp_pad_with(...) RP_SITED(rp_pad_with, __VA_ARGS__)
#define rp_einsum(...) RP_SITED(rp_einsum, __VA_ARGS__)
#define rp_tensordot(...) RP_SITED(rp_tensordot, __VA_ARGS__)
#endif

#endif
