/* SPDX-License-Identifier: Apache-2.0
 * Golden kernel vectors: small inputs from Philox through every kernel of a level, digests compared with a constant
 * table that was made from the reference. Runs in well under a second, so doctor can say on any host whether this
 * build keeps the contract. The table changes only together with the contract. */
#ifndef KERNELS_CONFORMANCE_CONFORMANCE_H
#define KERNELS_CONFORMANCE_CONFORMANCE_H

#include "kernels/conformance/specimen.h"
#include "kernels/device.h"

/* FNV-1a over the stored form (little-endian, canonical NaN) of all outputs of one kernel and element type. */
rp_status rp_conformance_digest(const rp_kernel *kernel, rp_kernel_id id, rp_dtype dtype, uint64_t *digest,
                                rp_error *err);

/* Compares every kernel of a level (as rp_kernel_table_get); *checked (may be NULL) counts kernel and type pairs.
 * The caller has entered the floating-point environment. Errors: those of the level, RP_ENOMEM; RP_EBITS names the
 * first kernel and type that differ. */
rp_status rp_conformance_run(const char *level, size_t *checked, rp_error *err);

/* Every kernel of a device against the reference of this host: of each vector's specimens all, or a few that take a
 * fraction of a second. Errors: RP_EBITS names the first kernel and type that differ; those of the device; RP_ENOMEM.
 */
rp_status rp_conformance_device(rp_device *device, bool all, size_t *checked, rp_error *err);

/* The digests that a device makes (kernels/device.h, rp_device_hash), where it makes any: a part of the above. Errors:
 * as there. */
rp_status rp_conformance_hash(rp_device *device, rp_error *err);

/* The specimens behind the table: of vector i below the first figure, in rounds below the second. */
size_t rp_conformance_vectors(void);
int rp_conformance_rounds(void);
rp_specimen_plan rp_conformance_plan(size_t vector, int round);

/* One level of several. */
typedef struct rp_conformance {
    const char *level;
    size_t checked;
    rp_status status; /* with error: what rp_conformance_run would say */
    rp_error error;
} rp_conformance;

/* The same for n levels together (at most RP_CONFORMANCE_LEVELS), over so many threads: inputs are made once, and
 * outputs equal to the first level's are not digested again. Errors: RP_EARG, RP_ENOMEM; the levels' own are in result.
 */
enum { RP_CONFORMANCE_LEVELS = 8 };
rp_status rp_conformance_run_many(rp_conformance *result, size_t n, unsigned threads, rp_error *err);

#endif
