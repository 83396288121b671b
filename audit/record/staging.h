/* SPDX-License-Identifier: Apache-2.0
 * What lets the hash read a device's memory: two windows of host memory and a stream of copies for each, beside what
 * the device computes. A device that hashes does so on these streams, and digests come to the windows. */
#ifndef AUDIT_RECORD_STAGING_H
#define AUDIT_RECORD_STAGING_H

#include "audit/digest/fetch.h"
#include "kernels/device.h"

typedef struct rp_staging rp_staging;

/* *out is NULL where the host shares the device's memory and reads it as it is. Errors: RP_ENOMEM, the device's. */
rp_status rp_staging_new(rp_staging **out, rp_device *device, rp_error *err);
void rp_staging_free(rp_staging *staging); /* NULL is fine */
/* Copies wait for all that the device was given before this call. One hash at a time. staging may be NULL. */
rp_status rp_staging_begin(rp_staging *staging, rp_error *err);
/* NULL for NULL. */
const rp_fetch *rp_staging_fetch(const rp_staging *staging);
/* The error to give when a hash through it returned false. staging may be NULL. */
rp_status rp_staging_failed(const rp_staging *staging, rp_error *err);

#endif
