/* SPDX-License-Identifier: Apache-2.0
 * The driver's calls whose arguments are looked at: kernels by their names, bytes that come to the host; a second
 * device, which is the first once more where there is one; the end of a capture, which ends whatever result is asked
 * for. */
#include "tests/emu/chip/chip.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "kernels/gpu/driver_abi.h"

enum { KERNELS = 8192, BLOCKS = 65536, MULTIPROCESSORS = 4 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    rp_cu_function function;
    char name[64];
} kernel[KERNELS]; /* later ones of a handle are the ones that count: a module may have been unloaded between */
static size_t n_kernels;
static unsigned long to_host;
static struct {
    rp_cu_pointer memory;
    size_t bytes;
} block[BLOCKS];
static size_t n_blocks, given; /* bytes of all */

#define DRIVER(name, function) (*(void **)&(function) = chip_driver(name))

CHIP_API int cuModuleGetFunction(rp_cu_function *function, rp_cu_module module, const char *name)
{
    int (*driver)(rp_cu_function *, rp_cu_module, const char *);
    int result = chip_enter("cuModuleGetFunction");

    if (result != RP_CU_SUCCESS)
        return result;
    DRIVER("cuModuleGetFunction", driver);
    result = driver(function, module, name);
    pthread_mutex_lock(&lock);
    if (result == RP_CU_SUCCESS && n_kernels < KERNELS) {
        kernel[n_kernels].function = *function;
        (void)snprintf(kernel[n_kernels++].name, sizeof kernel->name, "%s", name);
    }
    pthread_mutex_unlock(&lock);
    return result;
}

CHIP_API int cuLaunchKernel(rp_cu_function function, unsigned blocks_x, unsigned blocks_y, unsigned blocks_z,
                            unsigned threads_x, unsigned threads_y, unsigned threads_z, unsigned shared,
                            rp_cu_stream stream, void **parameters, void **extra)
{
    static int (*driver)(rp_cu_function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                         rp_cu_stream, void **, void **);
    size_t i;
    int asked, of_name = RP_CU_SUCCESS;

    asked = chip_enter("cuLaunchKernel");
    pthread_mutex_lock(&lock);
    for (i = n_kernels; i > 0 && kernel[i - 1].function != function; i--)
        continue;
    pthread_mutex_unlock(&lock);
    if (i > 0)
        of_name = chip_enter(kernel[i - 1].name);
    if (asked != RP_CU_SUCCESS || of_name != RP_CU_SUCCESS)
        return asked != RP_CU_SUCCESS ? asked : of_name;
    if (driver == NULL)
        DRIVER("cuLaunchKernel", driver);
    return driver(function, blocks_x, blocks_y, blocks_z, threads_x, threads_y, threads_z, shared, stream, parameters,
                  extra);
}

CHIP_API int cuMemcpyDtoHAsync_v2(void *to, rp_cu_pointer from, size_t bytes, rp_cu_stream stream)
{
    static int (*driver)(void *, rp_cu_pointer, size_t, rp_cu_stream);
    const int asked = chip_enter("cuMemcpyDtoHAsync_v2");

    if (asked != RP_CU_SUCCESS)
        return asked;
    if (driver == NULL)
        DRIVER("cuMemcpyDtoHAsync_v2", driver);
    pthread_mutex_lock(&lock);
    to_host += bytes;
    pthread_mutex_unlock(&lock);
    return driver(to, from, bytes, stream);
}

static int devices(int *count)
{
    int (*driver)(int *);

    DRIVER("cuDeviceGetCount", driver);
    return driver(count);
}

CHIP_API int cuDeviceGetCount(int *count)
{
    const int asked = chip_enter("cuDeviceGetCount"), result = asked == RP_CU_SUCCESS ? devices(count) : asked;

    if (result == RP_CU_SUCCESS && *count == 1)
        *count = 2;
    return result;
}

CHIP_API int cuDeviceGet(int *device, int ordinal)
{
    int (*driver)(int *, int), count = 0, result = chip_enter("cuDeviceGet");

    if (result == RP_CU_SUCCESS)
        result = devices(&count);
    if (result != RP_CU_SUCCESS)
        return result;
    DRIVER("cuDeviceGet", driver);
    return driver(device, count == 1 && ordinal == 1 ? 0 : ordinal);
}

CHIP_API int cuDeviceGetAttribute(int *value, int attribute, int device)
{
    int (*driver)(int *, int, int), result = chip_enter("cuDeviceGetAttribute");

    if (result != RP_CU_SUCCESS)
        return result;
    DRIVER("cuDeviceGetAttribute", driver);
    result = driver(value, attribute, device);
    if (result == RP_CU_SUCCESS && attribute == RP_CU_DEVICE_MULTIPROCESSORS)
        *value = MULTIPROCESSORS;
    return result;
}

/* RP_EMULATED_MEMORY bytes in all, of both devices. */
CHIP_API int cuMemAlloc_v2(rp_cu_pointer *memory, size_t bytes)
{
    const char *most = getenv("RP_EMULATED_MEMORY");
    const size_t limit = most != NULL ? strtoull(most, NULL, 10) : SIZE_MAX;
    int (*driver)(rp_cu_pointer *, size_t), result = chip_enter("cuMemAlloc_v2");

    if (result != RP_CU_SUCCESS)
        return result;
    DRIVER("cuMemAlloc_v2", driver);
    pthread_mutex_lock(&lock);
    result = n_blocks == BLOCKS || given > limit || bytes > limit - given ? RP_CU_OUT_OF_MEMORY : driver(memory, bytes);
    if (result == RP_CU_SUCCESS) {
        block[n_blocks].memory = *memory;
        block[n_blocks++].bytes = bytes;
        given += bytes;
    }
    pthread_mutex_unlock(&lock);
    return result;
}

CHIP_API int cuMemFree_v2(rp_cu_pointer memory)
{
    int (*driver)(rp_cu_pointer), result = chip_enter("cuMemFree_v2");

    if (result != RP_CU_SUCCESS)
        return result;
    DRIVER("cuMemFree_v2", driver);
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < n_blocks; i++)
        if (block[i].memory == memory) {
            given -= block[i].bytes;
            block[i] = block[--n_blocks];
            break;
        }
    result = driver(memory);
    pthread_mutex_unlock(&lock);
    return result;
}

CHIP_API int cuStreamEndCapture(rp_cu_stream stream, rp_cu_graph *graph)
{
    int (*driver)(rp_cu_stream, rp_cu_graph *), (*destroy)(rp_cu_graph), result;
    const int asked = chip_enter("cuStreamEndCapture");

    DRIVER("cuStreamEndCapture", driver);
    result = driver(stream, graph);
    if (asked == RP_CU_SUCCESS || result != RP_CU_SUCCESS)
        return asked == RP_CU_SUCCESS ? result : asked;
    DRIVER("cuGraphDestroy", destroy);
    (void)destroy(*graph);
    *graph = NULL;
    return asked;
}

CHIP_API unsigned long rp_emulated_to_host(void)
{
    unsigned long bytes;

    pthread_mutex_lock(&lock);
    bytes = to_host;
    pthread_mutex_unlock(&lock);
    return bytes;
}
