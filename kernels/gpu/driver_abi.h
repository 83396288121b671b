/* SPDX-License-Identifier: Apache-2.0
 * What Reprise uses of the CUDA driver's binary interface: types, numbers and functions by the names that the library
 * exports, so that neither building nor loading needs NVIDIA's headers. The numbers are those of the driver's public
 * interface, which it keeps for ever. */
#ifndef KERNELS_GPU_DRIVER_ABI_H
#define KERNELS_GPU_DRIVER_ABI_H

#include <stddef.h>
#include <stdint.h>

/* Handles of the driver; opaque. */
typedef struct rp_cu_context_s *rp_cu_context;
typedef struct rp_cu_module_s *rp_cu_module;
typedef struct rp_cu_function_s *rp_cu_function;
typedef struct rp_cu_stream_s *rp_cu_stream;
typedef struct rp_cu_event_s *rp_cu_event;
typedef struct rp_cu_graph_s *rp_cu_graph;
typedef struct rp_cu_graph_exec_s *rp_cu_graph_exec;
typedef uint64_t rp_cu_pointer; /* memory of the device */

/* Results. 0 is success. */
enum {
    RP_CU_SUCCESS = 0,
    RP_CU_INVALID_VALUE = 1,
    RP_CU_OUT_OF_MEMORY = 2,
    RP_CU_NOT_INITIALIZED = 3,
    RP_CU_NO_DEVICE = 100,
    RP_CU_INVALID_DEVICE = 101,
    RP_CU_INVALID_IMAGE = 200,
    RP_CU_NO_BINARY_FOR_GPU = 209,
    RP_CU_NOT_FOUND = 500,
    RP_CU_NOT_READY = 600,
    RP_CU_ILLEGAL_ADDRESS = 700,
    RP_CU_LAUNCH_FAILED = 719,
    RP_CU_UNKNOWN = 999
};

/* Attributes of a device and of a function, flags. */
enum {
    RP_CU_DEVICE_CLOCK_RATE = 13, /* kHz */
    RP_CU_DEVICE_MULTIPROCESSORS = 16,
    RP_CU_DEVICE_MEMORY_CLOCK_RATE = 36, /* kHz */
    RP_CU_DEVICE_MEMORY_BUS_WIDTH = 37,  /* bits */
    RP_CU_DEVICE_L2_CACHE = 38,          /* bytes */
    RP_CU_DEVICE_CAPABILITY_MAJOR = 75,
    RP_CU_DEVICE_CAPABILITY_MINOR = 76,
    RP_CU_DEVICE_SHARED_MEMORY = 97, /* bytes that a block may ask for */
    RP_CU_FUNCTION_LOCAL_BYTES = 3,
    RP_CU_FUNCTION_REGISTERS = 4,
    RP_CU_FUNCTION_DYNAMIC_SHARED = 8,
    RP_CU_STREAM_NON_BLOCKING = 1,
    RP_CU_EVENT_DISABLE_TIMING = 2,
    RP_CU_HOST_PORTABLE = 1,
    RP_CU_CAPTURE_THREAD_LOCAL = 1
};

/* CALL(name, parameters): each returns a result. */
#define RP_DRIVER_CALLS(CALL) \
    CALL(cuInit, (unsigned flags)) \
    CALL(cuDriverGetVersion, (int *version)) \
    CALL(cuDeviceGetCount, (int *count)) \
    CALL(cuDeviceGet, (int *device, int ordinal)) \
    CALL(cuDeviceGetName, (char *name, int size, int device)) \
    CALL(cuDeviceGetAttribute, (int *value, int attribute, int device)) \
    CALL(cuDeviceTotalMem_v2, (size_t * bytes, int device)) \
    CALL(cuDevicePrimaryCtxRetain, (rp_cu_context * context, int device)) \
    CALL(cuDevicePrimaryCtxRelease_v2, (int device)) \
    CALL(cuCtxSetCurrent, (rp_cu_context context)) \
    CALL(cuGetErrorName, (int result, const char **name)) \
    CALL(cuGetErrorString, (int result, const char **text)) \
    CALL(cuModuleLoadData, (rp_cu_module * module, const void *image)) \
    CALL(cuModuleUnload, (rp_cu_module module)) \
    CALL(cuModuleGetFunction, (rp_cu_function * function, rp_cu_module module, const char *name)) \
    CALL(cuFuncGetAttribute, (int *value, int attribute, rp_cu_function function)) \
    CALL(cuFuncSetAttribute, (rp_cu_function function, int attribute, int value)) \
    CALL(cuLaunchKernel, (rp_cu_function function, unsigned blocks_x, unsigned blocks_y, unsigned blocks_z, \
                          unsigned threads_x, unsigned threads_y, unsigned threads_z, unsigned shared, \
                          rp_cu_stream stream, void **parameters, void **extra)) \
    CALL(cuMemAlloc_v2, (rp_cu_pointer * memory, size_t bytes)) \
    CALL(cuMemFree_v2, (rp_cu_pointer memory)) \
    CALL(cuMemGetInfo_v2, (size_t * free, size_t * total)) \
    CALL(cuMemHostAlloc, (void **host, size_t bytes, unsigned flags)) \
    CALL(cuMemFreeHost, (void *host)) \
    CALL(cuMemcpyHtoDAsync_v2, (rp_cu_pointer to, const void *from, size_t bytes, rp_cu_stream stream)) \
    CALL(cuMemcpyDtoHAsync_v2, (void *to, rp_cu_pointer from, size_t bytes, rp_cu_stream stream)) \
    CALL(cuMemcpyDtoDAsync_v2, (rp_cu_pointer to, rp_cu_pointer from, size_t bytes, rp_cu_stream stream)) \
    CALL(cuMemsetD8Async, (rp_cu_pointer to, unsigned char value, size_t bytes, rp_cu_stream stream)) \
    CALL(cuStreamCreate, (rp_cu_stream * stream, unsigned flags)) \
    CALL(cuStreamDestroy_v2, (rp_cu_stream stream)) \
    CALL(cuStreamSynchronize, (rp_cu_stream stream)) \
    CALL(cuStreamWaitEvent, (rp_cu_stream stream, rp_cu_event event, unsigned flags)) \
    CALL(cuStreamBeginCapture_v2, (rp_cu_stream stream, int mode)) \
    CALL(cuStreamEndCapture, (rp_cu_stream stream, rp_cu_graph * graph)) \
    CALL(cuEventCreate, (rp_cu_event * event, unsigned flags)) \
    CALL(cuEventDestroy_v2, (rp_cu_event event)) \
    CALL(cuEventRecord, (rp_cu_event event, rp_cu_stream stream)) \
    CALL(cuEventSynchronize, (rp_cu_event event)) \
    CALL(cuEventElapsedTime, (float *milliseconds, rp_cu_event start, rp_cu_event end)) \
    CALL(cuGraphInstantiateWithFlags, (rp_cu_graph_exec * exec, rp_cu_graph graph, unsigned long long flags)) \
    CALL(cuGraphLaunch, (rp_cu_graph_exec exec, rp_cu_stream stream)) \
    CALL(cuGraphExecDestroy, (rp_cu_graph_exec exec)) \
    CALL(cuGraphDestroy, (rp_cu_graph graph))

#endif
