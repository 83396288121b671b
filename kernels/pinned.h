/* SPDX-License-Identifier: Apache-2.0
 * A device in the pinned profile: matrix products of one kind are a library's, each by the algorithm that is recorded
 * for its shape; every other kernel is the contract's. What decides their bits is all here, so that a run can say it.
 */
#ifndef KERNELS_PINNED_H
#define KERNELS_PINNED_H

#include "determinism/pinned.h"
#include "kernels/device.h"

/* y[m, n] = a[m, k] b[k, n], `batch` times: an algorithm belongs to a shape, wherever the operands lie. */
typedef struct rp_pinned_product {
    uint64_t batch, m, n, k;
    unsigned char algorithm[RP_PINNED_ALGORITHM];
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

/* From now on, before the first launch. Errors: RP_EUNSUPPORTED for a device without such a library, a host where it is
 * not installed, or a variable of the environment that would change what it computes; the text says the way out. */
rp_status rp_device_use_pinned(rp_device *device, rp_pinned_compute compute, uint64_t workspace, rp_error *err);
/* NULL: the portable profile. Borrowed until the device is used again. */
const rp_pinned *rp_device_pinned(const rp_device *device);
/* Another run's products, copied, in order: a shape that is not among them is RP_EBITS, an algorithm that the library
 * itself does not propose for its shape RP_EUNSUPPORTED, before either is computed. */
rp_status rp_device_expect_products(rp_device *device, const rp_pinned_product *product, size_t count, rp_error *err);

/* For devices. The one of that shape, or NULL; and a further one. */
const rp_pinned_product *rp_pinned_find(const rp_pinned_product *product, size_t count, const rp_pinned_product *shape);
rp_status rp_pinned_add(rp_pinned *pinned, const rp_pinned_product *product, rp_error *err);
void rp_pinned_free(rp_pinned *pinned); /* NULL is fine */
int rp_pinned_compare(const void *a, const void *b);

#endif
