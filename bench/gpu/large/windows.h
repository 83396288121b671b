/* SPDX-License-Identifier: Apache-2.0
 * What bench/gpu/large/large.c holds against this CPU: parts of a device's tensors that are too large to be fetched as
 * a whole, and the kernel on those parts alone. A case ends in one printed line, and the next goes on. */
#ifndef BENCH_GPU_LARGE_WINDOWS_H
#define BENCH_GPU_LARGE_WINDOWS_H

#include "kernels/device.h"

enum { LARGE_VIEWS = 8 };

/* A view on the device. Of a window's rows [a, b) of the outputs it has the rows [scale a, scale b + halo); 0: it is
 * needed as a whole. */
typedef struct large_operand {
    rp_view view;
    size_t scale, halo;
} large_operand;

typedef struct large_case {
    const char *name;
    rp_kernel_id kernel;
    large_operand in[LARGE_VIEWS], out[LARGE_VIEWS];
    size_t n_in, n_out;
    const rp_attr *attr;
    int axis;      /* of which windows are taken, of all views that are not needed whole */
    bool by_items; /* what an element is depends on its place: the CPU's kernel computes those items of all */
} large_case;

typedef struct large {
    rp_device *device, *cpu;
    const rp_kernel_table *table; /* of the CPU */
    size_t half;                  /* 2^31, or what stands for it where sizes are reduced */
    double ends;                  /* when no case begins any more */
    bool different, lost;
    rp_error err;
} large;

/* Whether there is time and a device for a case; else it is told as skipped. */
bool large_begins(large *l, const char *name);
void large_print(large *l, const char *name, double seconds, double bytes, bool same);
/* The case ended in l->err: memory that is not there is a case that was skipped. */
void large_failed(large *l, const char *name, rp_status status);

/* Device memory [memory, memory + bytes), rounded up to words, gets a pattern that no kernel gives. */
rp_status large_poison(large *l, void *memory, size_t bytes);
/* A view of the host with the elements of one of the device, as they lie there, without gaps; free here->data's block.
 */
rp_status large_fetch(large *l, rp_view *here, const rp_view *there);
rp_view large_slice(const rp_view *view, int axis, size_t first, size_t rows);
/* The first elements of windows, ascending or not: the beginning, where offsets pass 2^30, 2^31, 2^32 and bytes 2^32,
 * 2^33 and 2^34, some place, the end. Returns how many. */
enum { LARGE_PLACES = 64 };
size_t large_places(const large *l, size_t place[LARGE_PLACES], const large_case *c);

/* Poisons the outputs, launches, and compares windows. */
void large_run(large *l, const large_case *c);
/* The same of whole outputs: the operands lie at the same distance from `host` as from `there`. */
void large_run_whole(large *l, const large_case *c, const void *there, const void *host);
/* Windows of bytes on the device beside bytes of the host, or (host NULL) beside others of the device. */
rp_status large_same_bytes(large *l, const void *there, const void *host, const void *other, size_t bytes, bool *same);

#endif
