/* SPDX-License-Identifier: Apache-2.0
 * Named tensors on a device: a run's states, data and feeds. Found by name in constant time, kept in the order in which
 * they were added. */
#ifndef CORE_RUN_SLOTS_H
#define CORE_RUN_SLOTS_H

#include "base/index.h"
#include "core/run/run.h"

typedef struct rp_slots {
    rp_device_tensor *tensor; /* names and memory are owned */
    size_t n, capacity;
    rp_index index;
} rp_slots;

/* Adds a slot with its own memory, filled from bytes (host) or zeros. Errors: RP_EARG (the name), RP_ENOMEM. */
rp_status rp_slots_add(rp_slots *s, rp_device *device, const char *name, const rp_type *type, const void *bytes,
                       rp_error *err);
/* The same with memory of the device that holds canonical elements already, and is the slot's then; on failure it stays
 * the caller's. */
rp_status rp_slots_take(rp_slots *s, rp_device *device, const char *name, const rp_type *type, void *memory,
                        rp_error *err);
const rp_device_tensor *rp_slots_find(const rp_slots *s, const char *name); /* NULL when there is none */
/* A slot's elements from and to host memory, canonical on the way (CONTRACT 2.3). */
rp_status rp_slot_write(const rp_device_tensor *slot, const void *bytes, rp_error *err);
rp_status rp_slot_read(const rp_device_tensor *slot, void *bytes, rp_error *err);
/* Whether such elements in host memory are canonical as they lie; false where nobody looks. */
bool rp_is_canonical(const void *bytes, const rp_type *type);
/* Makes them so. */
void rp_canonicalise(void *bytes, const rp_type *type);
rp_status rp_slot_write_part(const rp_device_tensor *slot, size_t first, const void *elements, size_t count,
                             rp_error *err);
void rp_slots_clear(rp_slots *s, rp_device *device); /* keeps room for as many again */
void rp_slots_free(rp_slots *s, rp_device *device);

/* A caller's dtype, rank and shape as a type. Errors: RP_EARG. */
rp_status rp_type_make(rp_type *type, rp_dtype dtype, int rank, const size_t *shape, rp_error *err);
/* Copies a contiguous value of the device to the host, with canonical NaNs. */
rp_status rp_read_out(rp_device *device, void *bytes, const void *memory, const rp_type *type, rp_error *err);

#endif
