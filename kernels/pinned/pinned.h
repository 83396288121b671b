/* SPDX-License-Identifier: Apache-2.0
 * A device in the pinned profile: matrix products of one kind are a library's, each by the algorithm that is recorded
 * for its shape; every other kernel is the contract's. What decides their bits is all here, so that a run can say it.
 */
#ifndef KERNELS_PINNED_PINNED_H
#define KERNELS_PINNED_PINNED_H

#include <stddef.h>

#include "determinism/pinned.h"
#include "rp/dtype.h"
#include "rp/error.h"

/* y[m, n] = a[m, k] b[k, n], `batch` times: an algorithm belongs to a shape, wherever the operands lie. Its attributes
 * are its name; `own` is the library's, which is of this process alone: it may differ in the next. */
typedef struct rp_pinned_product {
    uint64_t batch, m, n, k;
    unsigned char algorithm[RP_PINNED_ALGORITHM];
    uint64_t own[8];
} rp_pinned_product;

typedef struct rp_pinned_library {
    const char *name;
    uint64_t version; /* as it says itself */
    char path[4096];  /* of the file that is loaded */
} rp_pinned_library;

typedef struct rp_pinned {
    rp_pinned_compute compute;
    uint64_t workspace; /* bytes that an algorithm may have */
    char chip[RP_PINNED_TEXT];
    int capability[2], multiprocessors;
    rp_pinned_library driver, library;
    char variable[RP_PINNED_TEXT]; /* CUBLAS_WORKSPACE_CONFIG; "": not set */
    rp_pinned_product *product;    /* computed so far, each shape once, ascending by batch, k, m, n */
    size_t products;
    rp_pinned_product *expected; /* closed: no others, and by these algorithms */
    size_t n_expected;
    bool closed;
} rp_pinned;

/* The type of the operands whose products are the library's. */
rp_dtype rp_pinned_operands(rp_pinned_compute compute);
/* The one of that shape, or NULL; and a further one. */
const rp_pinned_product *rp_pinned_find(const rp_pinned_product *product, size_t count, const rp_pinned_product *shape);
rp_status rp_pinned_add(rp_pinned *pinned, const rp_pinned_product *product, rp_error *err);
void rp_pinned_free(rp_pinned *pinned); /* NULL is fine */
int rp_pinned_compare(const void *a, const void *b);

#endif
