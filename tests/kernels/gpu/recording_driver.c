/* SPDX-License-Identifier: Apache-2.0
 * The recording driver: what the library asks of a driver, with its rules on launches, and nothing done. */
#define _GNU_SOURCE
#include "tests/kernels/gpu/recording.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/gpu/driver_abi.h"

#define API __attribute__((visibility("default")))
#define CALL(name, parameters) API int name parameters;
RP_DRIVER_CALLS(CALL)
#undef CALL

#define FIRST UINT64_C(0x200000000000)
#define TOTAL ((size_t)1 << 56) /* bytes; no test gets to its end */
enum { DEVICES = 2, GRAIN = 512, MOST_SHARED = 166912, MOST_THREADS = 1024, MOST_YZ = 65535 };

struct rp_cu_function_s {
    char name[96];
    struct rp_cu_function_s *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct rp_cu_function_s *functions;
static uint64_t given = FIRST;
static int device[DEVICES];
static rp_recording_launch *shown;
static void *shown_to;

API void rp_recording_on_launch(rp_recording_launch *launch, void *context)
{
    shown = launch;
    shown_to = context;
}

/* Handles that are opaque: memory of their own, so that one that is used after it was given back is seen. */
static int handle(void *out)
{
    void *made = calloc(1, 16);

    memcpy(out, &made, sizeof made);
    return made ? RP_CU_SUCCESS : RP_CU_OUT_OF_MEMORY;
}

static int used(const void *handle_of)
{
    return handle_of && *(const char *)handle_of == 0 ? RP_CU_SUCCESS : RP_CU_INVALID_VALUE;
}

static int given_back(void *handle_of)
{
    free(handle_of);
    return RP_CU_SUCCESS;
}

/* ---- driver, devices, contexts ---- */

int cuInit(unsigned flags)
{
    return flags == 0 ? RP_CU_SUCCESS : RP_CU_INVALID_VALUE;
}

int cuDriverGetVersion(int *version)
{
    *version = 13000;
    return RP_CU_SUCCESS;
}

int cuGetErrorName(int result, const char **name)
{
    *name = result == RP_CU_SUCCESS ? "CUDA_SUCCESS" : "CUDA_ERROR";
    return RP_CU_SUCCESS;
}

int cuGetErrorString(int result, const char **text)
{
    return cuGetErrorName(result, text);
}

int cuDeviceGetCount(int *count)
{
    *count = DEVICES;
    return RP_CU_SUCCESS;
}

int cuDeviceGet(int *out, int ordinal)
{
    *out = ordinal;
    return ordinal < DEVICES ? RP_CU_SUCCESS : RP_CU_INVALID_DEVICE;
}

int cuDeviceGetName(char *name, int size, int index)
{
    (void)index;
    (void)snprintf(name, (size_t)size, "Recording");
    return RP_CU_SUCCESS;
}

/* As a large chip. */
int cuDeviceGetAttribute(int *value, int attribute, int index)
{
    (void)index;
    *value = attribute == RP_CU_DEVICE_CAPABILITY_MAJOR  ? 9
             : attribute == RP_CU_DEVICE_MULTIPROCESSORS ? 132
             : attribute == RP_CU_DEVICE_SHARED_MEMORY   ? MOST_SHARED
                                                         : 0;
    return RP_CU_SUCCESS;
}

int cuDeviceTotalMem_v2(size_t *bytes, int index)
{
    (void)index;
    *bytes = TOTAL;
    return RP_CU_SUCCESS;
}

int cuDevicePrimaryCtxRetain(rp_cu_context *context, int index)
{
    *context = (rp_cu_context)(void *)&device[index];
    return RP_CU_SUCCESS;
}

int cuDevicePrimaryCtxRelease_v2(int index)
{
    return index < DEVICES ? RP_CU_SUCCESS : RP_CU_INVALID_DEVICE;
}

int cuCtxSetCurrent(rp_cu_context context)
{
    (void)context;
    return RP_CU_SUCCESS;
}

/* ---- functions ---- */

int cuModuleLoadData(rp_cu_module *module, const void *image)
{
    (void)image;
    return handle(module);
}

int cuModuleUnload(rp_cu_module module)
{
    return given_back(module);
}

int cuModuleGetFunction(rp_cu_function *function, rp_cu_module module, const char *name)
{
    rp_cu_function f;

    (void)module;
    pthread_mutex_lock(&lock);
    f = functions;
    while (f != NULL && strcmp(f->name, name) != 0)
        f = f->next;
    if (f == NULL && (f = calloc(1, sizeof *f)) != NULL) {
        (void)snprintf(f->name, sizeof f->name, "%s", name);
        f->next = functions;
        functions = f;
    }
    pthread_mutex_unlock(&lock);
    *function = f;
    return f ? RP_CU_SUCCESS : RP_CU_OUT_OF_MEMORY;
}

int cuFuncGetAttribute(int *value, int attribute, rp_cu_function function)
{
    (void)attribute, (void)function;
    *value = 0;
    return RP_CU_SUCCESS;
}

int cuFuncSetAttribute(rp_cu_function function, int attribute, int value)
{
    (void)function, (void)attribute;
    return value <= MOST_SHARED ? RP_CU_SUCCESS : RP_CU_INVALID_VALUE;
}

int cuLaunchKernel(rp_cu_function function, unsigned blocks_x, unsigned blocks_y, unsigned blocks_z, unsigned threads_x,
                   unsigned threads_y, unsigned threads_z, unsigned shared, rp_cu_stream stream, void **parameters,
                   void **extra)
{
    const rp_recorded launch = {function->name, {blocks_x, blocks_y, blocks_z}, threads_x, shared, parameters[0]};

    if (blocks_x == 0 || blocks_x > INT32_MAX || blocks_y == 0 || blocks_y > MOST_YZ || blocks_z == 0 ||
        blocks_z > MOST_YZ || threads_x == 0 || threads_x > MOST_THREADS || threads_y != 1 || threads_z != 1 ||
        shared > MOST_SHARED || extra != NULL || used(stream) != RP_CU_SUCCESS)
        return RP_CU_INVALID_VALUE;
    if (shown)
        shown(shown_to, &launch);
    return RP_CU_SUCCESS;
}

/* ---- memory ---- */

int cuMemAlloc_v2(rp_cu_pointer *memory, size_t bytes)
{
    *memory = 0;
    if (bytes == 0 || bytes > TOTAL)
        return bytes == 0 ? RP_CU_INVALID_VALUE : RP_CU_OUT_OF_MEMORY;
    pthread_mutex_lock(&lock);
    *memory = given;
    given += (bytes + GRAIN - 1) / GRAIN * GRAIN;
    pthread_mutex_unlock(&lock);
    return RP_CU_SUCCESS;
}

int cuMemFree_v2(rp_cu_pointer memory)
{
    return memory == 0 || memory >= FIRST ? RP_CU_SUCCESS : RP_CU_INVALID_VALUE;
}

int cuMemGetInfo_v2(size_t *free_bytes, size_t *total)
{
    *free_bytes = *total = TOTAL;
    return RP_CU_SUCCESS;
}

int cuMemHostAlloc(void **host, size_t bytes, unsigned flags)
{
    (void)flags;
    *host = calloc(1, bytes);
    return *host ? RP_CU_SUCCESS : RP_CU_OUT_OF_MEMORY;
}

int cuMemFreeHost(void *host)
{
    return given_back(host);
}

/* What is read of the host, and zeros for it: a sanitizer sees both. */
int cuMemcpyHtoDAsync_v2(rp_cu_pointer to, const void *from, size_t bytes, rp_cu_stream stream)
{
    static atomic_uchar sum;
    unsigned char x = 0;

    for (size_t i = 0; i < bytes; i++)
        x ^= ((const unsigned char *)from)[i];
    atomic_fetch_xor(&sum, x);
    return to >= FIRST ? used(stream) : RP_CU_INVALID_VALUE;
}

int cuMemcpyDtoHAsync_v2(void *to, rp_cu_pointer from, size_t bytes, rp_cu_stream stream)
{
    memset(to, 0, bytes);
    return from >= FIRST ? used(stream) : RP_CU_INVALID_VALUE;
}

int cuMemcpyDtoDAsync_v2(rp_cu_pointer to, rp_cu_pointer from, size_t bytes, rp_cu_stream stream)
{
    (void)bytes;
    return to >= FIRST && from >= FIRST ? used(stream) : RP_CU_INVALID_VALUE;
}

int cuMemsetD8Async(rp_cu_pointer to, unsigned char value, size_t bytes, rp_cu_stream stream)
{
    (void)value, (void)bytes;
    return to >= FIRST ? used(stream) : RP_CU_INVALID_VALUE;
}

/* ---- streams, events, graphs ---- */

int cuStreamCreate(rp_cu_stream *stream, unsigned flags)
{
    (void)flags;
    return handle(stream);
}

int cuStreamDestroy_v2(rp_cu_stream stream)
{
    return given_back(stream);
}

int cuStreamSynchronize(rp_cu_stream stream)
{
    return used(stream);
}

int cuStreamWaitEvent(rp_cu_stream stream, rp_cu_event event, unsigned flags)
{
    (void)flags;
    return used(stream) == RP_CU_SUCCESS ? used(event) : RP_CU_INVALID_VALUE;
}

int cuStreamBeginCapture_v2(rp_cu_stream stream, int mode)
{
    (void)mode;
    return used(stream);
}

int cuStreamEndCapture(rp_cu_stream stream, rp_cu_graph *graph)
{
    return used(stream) == RP_CU_SUCCESS ? handle(graph) : RP_CU_INVALID_VALUE;
}

int cuEventCreate(rp_cu_event *event, unsigned flags)
{
    (void)flags;
    return handle(event);
}

int cuEventDestroy_v2(rp_cu_event event)
{
    return given_back(event);
}

int cuEventRecord(rp_cu_event event, rp_cu_stream stream)
{
    return used(stream) == RP_CU_SUCCESS ? used(event) : RP_CU_INVALID_VALUE;
}

int cuEventSynchronize(rp_cu_event event)
{
    return used(event);
}

int cuEventElapsedTime(float *milliseconds, rp_cu_event start, rp_cu_event end)
{
    *milliseconds = 0;
    return used(start) == RP_CU_SUCCESS ? used(end) : RP_CU_INVALID_VALUE;
}

int cuGraphInstantiateWithFlags(rp_cu_graph_exec *exec, rp_cu_graph graph, unsigned long long flags)
{
    (void)flags;
    return used(graph) == RP_CU_SUCCESS ? handle(exec) : RP_CU_INVALID_VALUE;
}

int cuGraphLaunch(rp_cu_graph_exec exec, rp_cu_stream stream)
{
    return used(exec) == RP_CU_SUCCESS ? used(stream) : RP_CU_INVALID_VALUE;
}

int cuGraphExecDestroy(rp_cu_graph_exec exec)
{
    return given_back(exec);
}

int cuGraphDestroy(rp_cu_graph graph)
{
    return given_back(graph);
}
