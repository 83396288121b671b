/* SPDX-License-Identifier: Apache-2.0
 * For tests of the emulated driver, which they are linked to: its calls by the driver's names, and short forms of what
 * each of them does. */
#ifndef TESTS_EMU_CALLS_H
#define TESTS_EMU_CALLS_H

#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "kernels/gpu/driver_abi.h"
#include "tests/emu/emulated.h"

#define CALL(name, parameters) int name parameters;
RP_DRIVER_CALLS(CALL)
#undef CALL

#define ok(call) assert_int_equal(call, RP_CU_SUCCESS)

static const char *const image = ".version"; /* any image of the kernels will do */
static rp_cu_module module;

static inline void open_device(int index)
{
    rp_cu_context context;

    ok(cuInit(0));
    ok(cuDevicePrimaryCtxRetain(&context, index));
    ok(cuCtxSetCurrent(context));
    ok(cuModuleLoadData(&module, image));
}

static inline void close_device(int index)
{
    (void)cuModuleUnload(module);
    ok(cuDevicePrimaryCtxRelease_v2(index));
    ok(cuCtxSetCurrent(NULL));
}

static inline rp_cu_stream new_stream(void)
{
    rp_cu_stream s;

    ok(cuStreamCreate(&s, RP_CU_STREAM_NON_BLOCKING));
    return s;
}

static inline rp_cu_pointer on_device(const void *host, size_t bytes, rp_cu_stream s)
{
    rp_cu_pointer p;

    ok(cuMemAlloc_v2(&p, bytes));
    if (host)
        ok(cuMemcpyHtoDAsync_v2(p, host, bytes, s));
    return p;
}

static inline int launch(const char *name, unsigned blocks_x, unsigned blocks_y, unsigned threads, void *parameters,
                         rp_cu_stream s)
{
    rp_cu_function f;
    void *given[] = {parameters};

    ok(cuModuleGetFunction(&f, module, name));
    return cuLaunchKernel(f, blocks_x, blocks_y, 1, threads, 1, 1, 0, s, given, NULL);
}

/* Numbers of many sizes, signs and kinds, the same for a seed. */
static inline uint64_t next_random(uint64_t *seed)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *seed >> 33 ^ *seed << 20;
}

#endif
