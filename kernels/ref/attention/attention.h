/* SPDX-License-Identifier: Apache-2.0
 * What the kernels of attention share: where the matrices of a head lie, which places of a row of scores are seen, and
 * the dropout of weights (CONTRACT 7.13). */
#ifndef KERNELS_REF_ATTENTION_ATTENTION_H
#define KERNELS_REF_ATTENTION_ATTENTION_H

#include "kernels/walk.h"

/* A matrix of a head: element (i, j) is i * row + j * col elements from data. */
typedef struct rp_attention_matrix {
    void *data;
    ptrdiff_t row, col;
} rp_attention_matrix;

/* Operands q, k, v and what follows them, the same for all heads. */
typedef struct rp_attending {
    const rp_view *q, *k, *v, *mask, *rng; /* mask and rng may be NULL */
    size_t heads;                          /* of q, those of all leading axes */
    size_t m, n, d, e;
    double scale;
    bool causal;
    size_t window; /* 0: none */
    double rate;
    uint64_t seed, step;
    uint32_t stream;
} rp_attending;

/* One head of it. */
typedef struct rp_attention_head {
    const rp_attending *a;
    rp_attention_matrix q, k, v, mask; /* mask.data NULL: none */
    bool chosen;                       /* the mask is of bool */
    uint64_t first;                    /* the position of weight (0, 0) among those of all heads */
} rp_attention_head;

/* first: the operand that is q; the attributes are those of attention. */
RP_KERNEL_FN rp_attending rp_attention_of(const rp_kernel_args *args, size_t first);
RP_KERNEL_FN rp_attention_head rp_attention_head_of(const rp_attending *a, size_t head);
/* The matrix of that head of a view with the leading axes of q. */
RP_KERNEL_FN rp_attention_matrix rp_attention_matrix_of(const rp_view *view, size_t head);

/* The keys that query i sees: [begin, end). */
static inline size_t rp_attention_begin(const rp_attending *a, size_t i)
{
    return a->window > 0 && i >= a->window ? (i - a->window + 1 < a->n ? i - a->window + 1 : a->n) : 0;
}

static inline size_t rp_attention_end(const rp_attending *a, size_t i)
{
    const size_t past = a->causal ? 0 : a->window > 0 ? a->window - 1 : a->n;

    return i < a->n && past < a->n - i ? i + past + 1 : a->n;
}

/* Items of the gradient: heads. */
RP_KERNEL_FN size_t rp_attention_grad_items(const rp_kernel_args *args);
RP_KERNEL_FN size_t rp_attention_cost(const rp_kernel_args *args);
RP_KERNEL_FN size_t rp_attention_grad_cost(const rp_kernel_args *args);

#endif
