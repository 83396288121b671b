/* SPDX-License-Identifier: Apache-2.0
 * Hashing tensors beside the computation, on processors that would be idle: one thread, with a pool of its own where
 * more than one is free. */
#ifndef AUDIT_RECORD_ASYNC_DIGEST_H
#define AUDIT_RECORD_ASYNC_DIGEST_H

#include "audit/digest/digest.h"

typedef struct rp_beside rp_beside;

/* NULL when no thread can be had: the caller then hashes as before. threads: at least 1. */
rp_beside *rp_beside_new(unsigned threads);
void rp_beside_free(rp_beside *beside); /* waits for what was begun; NULL is fine */
/* Starts hashing, tensor after tensor; work, of so many (at least one), and the tensors' memory stay as they are until
 * they were waited for. One at a time. */
void rp_beside_begin(rp_beside *beside, rp_tensors_work *work, size_t tensors);
/* Waits until one tensor of what was begun is hashed, or it failed, which rp_beside_wait tells. */
void rp_beside_wait_for(rp_beside *beside, const rp_tensors_work *work, size_t tensor);
/* Waits for it. False when the hash failed. */
bool rp_beside_wait(rp_beside *beside);

#endif
