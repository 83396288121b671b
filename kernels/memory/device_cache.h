/* SPDX-License-Identifier: Apache-2.0
 * Device memory for values that come and go: what is given back is kept for the next that wants as much, so that a step
 * like the one before asks the device for nothing. Sizes are rounded up to sixteen to a power of two. */
#ifndef KERNELS_MEMORY_DEVICE_CACHE_H
#define KERNELS_MEMORY_DEVICE_CACHE_H

#include "kernels/device.h"

enum { RP_CACHE_CLASSES = 1024 };

typedef struct rp_cached {
    struct rp_cached *next;
    void *memory;
    size_t bytes;
    uint64_t used; /* the turn in which it was taken last */
    unsigned class_of;
} rp_cached;

typedef struct rp_device_cache {
    rp_device *device;                 /* borrowed */
    rp_cached *free[RP_CACHE_CLASSES]; /* by size, the one given back last in front */
    unsigned classes;                  /* those from here on never had a piece */
    uint64_t turn;
} rp_device_cache;

/* Errors: RP_ENOMEM. */
rp_status rp_device_cache_take(rp_device_cache *cache, rp_cached **out, size_t bytes, rp_error *err);
void rp_device_cache_give(rp_device_cache *cache, rp_cached *piece);
/* A turn (a step) is over: what is free and was not used in it goes back to the device. */
void rp_device_cache_turn(rp_device_cache *cache);
void rp_device_cache_release(rp_device_cache *cache); /* all that is free */

#endif
