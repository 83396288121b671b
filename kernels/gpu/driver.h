/* SPDX-License-Identifier: Apache-2.0
 * The CUDA driver, found when a device is opened: a table of its functions, filled from a shared object. The emulated
 * driver (tests/emu) exports the same names, so all that stands on this is the same code with a GPU and without. */
#ifndef KERNELS_GPU_DRIVER_H
#define KERNELS_GPU_DRIVER_H

#include "base/memory.h"
#include "kernels/gpu/driver_abi.h"

typedef struct rp_driver {
    void *library;
    const char *kind; /* "cuda" or "emulated": what --device says */
    int version;      /* 1000 major + 10 minor of the CUDA that it serves */
#define CALL(name, parameters) int(*name) parameters;
    RP_DRIVER_CALLS(CALL)
#undef CALL
} rp_driver;

/* kind: "cuda" is the host's driver, "emulated" the one that RP_EMULATED_LIBRARY names, or that was built beside the
 * command. Initialized. Errors: RP_EUNSUPPORTED when there is none, it lacks a function, or it finds no device. */
rp_status rp_driver_open(rp_driver **out, const char *kind, rp_error *err);
void rp_driver_close(rp_driver *driver); /* NULL is fine */

/* RP_OK for 0; else the error names the call and what the driver says of it. RP_ENOMEM is out of its memory. */
rp_status rp_driver_result(const rp_driver *driver, int result, const char *call, rp_error *err);

#endif
