/* SPDX-License-Identifier: Apache-2.0
 * The emulated driver's calls about itself, its devices and its contexts, and the errors that it is told to give. Links
 * to libreprise-emulated.so, which exports the CUDA driver's own names. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/emu/driver_private.h"
#include "tests/emu/settings/driver_settings.h"

static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static emu_device device[EMU_DEVICES];
static int n_devices;
static size_t multiprocessors = 4;
static bool initialized;
static emu_order order;
static __thread emu_device *current;

/* ---- errors on request ---- */

enum { NAMES = 2048 };

static struct {
    char call[64];
    unsigned long left; /* 0: none */
    int result;
} wanted;

static struct {
    const char *name;
    unsigned long times;
} counted[NAMES];

void emu_count(const char *call)
{
    size_t i = 0;

    while (i < NAMES - 1 && counted[i].name && strcmp(counted[i].name, call) != 0)
        i++;
    counted[i].name = call;
    counted[i].times++;
}

EMU_API unsigned long rp_emulated_calls(const char *call)
{
    const bool any = strcmp(call, "any") == 0;
    unsigned long sum = 0;

    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < NAMES && counted[i].name; i++)
        if (any ? strncmp(counted[i].name, "cu", 2) == 0 : strcmp(counted[i].name, call) == 0)
            sum += counted[i].times;
    pthread_mutex_unlock(&lock);
    return sum;
}

EMU_API void rp_emulated_fail(const char *call, unsigned nth, int result)
{
    pthread_mutex_lock(&lock);
    (void)snprintf(wanted.call, sizeof wanted.call, "%s", call ? call : "");
    wanted.left = call ? nth : 0;
    wanted.result = result;
    pthread_mutex_unlock(&lock);
}

EMU_API void rp_emulated_order(int chosen)
{
    pthread_mutex_lock(&lock);
    order = (emu_order)((unsigned)chosen % EMU_ORDERS);
    pthread_mutex_unlock(&lock);
}

emu_order emu_order_chosen(void)
{
    return order;
}

bool emu_is_lasting(int result)
{
    switch (result) {
    case EMU_CU_DEVICE_UNAVAILABLE:
    case EMU_CU_ECC_UNCORRECTABLE:
    case RP_CU_ILLEGAL_ADDRESS:
    case EMU_CU_ILLEGAL_INSTRUCTION:
    case EMU_CU_MISALIGNED:
    case RP_CU_LAUNCH_FAILED:
    case RP_CU_UNKNOWN:
        return true;
    default:
        return false;
    }
}

static int fails(const char *call, bool any)
{
    emu_count(call);
    if (wanted.left == 0 || (strcmp(wanted.call, call) != 0 && !(any && strcmp(wanted.call, "any") == 0)))
        return RP_CU_SUCCESS;
    return --wanted.left == 0 ? wanted.result : RP_CU_SUCCESS;
}

int emu_work_fails(const char *kind)
{
    return fails(kind, false);
}

int emu_enter_any(const char *call)
{
    int result;

    pthread_mutex_lock(&lock);
    result = fails(call, true);
    if (current && emu_is_lasting(result))
        current->failed = result;
    if (result == RP_CU_SUCCESS && !initialized && strcmp(call, "cuInit") != 0)
        result = RP_CU_NOT_INITIALIZED;
    return result;
}

int emu_enter(const char *call)
{
    const int result = emu_enter_any(call);

    if (result != RP_CU_SUCCESS)
        return result;
    return current ? current->failed : EMU_CU_INVALID_CONTEXT;
}

int emu_leave(int result)
{
    pthread_mutex_unlock(&lock);
    return result;
}

static const struct {
    int result;
    const char *name, *text;
} known[] = {
    {RP_CU_SUCCESS, "CUDA_SUCCESS", "no error"},
    {RP_CU_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {RP_CU_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {RP_CU_NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {EMU_CU_DEVICE_UNAVAILABLE, "CUDA_ERROR_DEVICE_UNAVAILABLE", "device is busy or unavailable"},
    {RP_CU_NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no device"},
    {RP_CU_INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {RP_CU_INVALID_IMAGE, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {EMU_CU_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {EMU_CU_ECC_UNCORRECTABLE, "CUDA_ERROR_ECC_UNCORRECTABLE", "uncorrectable memory error"},
    {EMU_CU_INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {RP_CU_NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {RP_CU_NOT_READY, "CUDA_ERROR_NOT_READY", "device not ready"},
    {RP_CU_ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access"},
    {EMU_CU_OUT_OF_RESOURCES, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "too many resources requested for launch"},
    {EMU_CU_ILLEGAL_INSTRUCTION, "CUDA_ERROR_ILLEGAL_INSTRUCTION", "an illegal instruction"},
    {EMU_CU_MISALIGNED, "CUDA_ERROR_MISALIGNED_ADDRESS", "misaligned address"},
    {RP_CU_LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {EMU_CU_CAPTURE_UNSUPPORTED, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", "not permitted while a stream captures"},
    {EMU_CU_CAPTURE_INVALIDATED, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED", "capture has failed before"},
    {EMU_CU_CAPTURE_MERGE, "CUDA_ERROR_STREAM_CAPTURE_MERGE", "two captures would become one"},
    {EMU_CU_CAPTURE_UNMATCHED, "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED", "another stream began the capture"},
    {EMU_CU_CAPTURE_UNJOINED, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED", "a captured stream did not join again"},
    {EMU_CU_CAPTURE_ISOLATION, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION", "a capture cannot wait for what is outside"},
    {EMU_CU_CAPTURE_IMPLICIT, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT", "the legacy stream would wait for a capture"},
    {EMU_CU_CAPTURED_EVENT, "CUDA_ERROR_CAPTURED_EVENT", "the event was recorded in a capture"},
    {EMU_CU_CAPTURE_WRONG_THREAD, "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD", "another thread began the capture"},
    {RP_CU_UNKNOWN, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

/* These two answer on a device that has failed. */
static int describe(const char *call, int result, const char **out, bool name)
{
    int status = emu_enter_any(call);

    status = status == RP_CU_NOT_INITIALIZED ? RP_CU_SUCCESS : status;
    *out = NULL;
    for (size_t i = 0; status == RP_CU_SUCCESS && i < sizeof known / sizeof *known; i++)
        if (known[i].result == result)
            *out = name ? known[i].name : known[i].text;
    return emu_leave(status != RP_CU_SUCCESS ? status : *out ? RP_CU_SUCCESS : RP_CU_INVALID_VALUE);
}

int emu_error_of(const char *name)
{
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i].name, name) == 0)
            return known[i].result;
    return RP_CU_SUCCESS;
}

int cuGetErrorName(int result, const char **name)
{
    return describe("cuGetErrorName", result, name, true);
}

int cuGetErrorString(int result, const char **text)
{
    return describe("cuGetErrorString", result, text, false);
}

/* ---- the driver ---- */

static bool host_can(void)
{
#if defined(__x86_64__)
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); /* as its kernels were compiled */
#else
    return true;
#endif
}

/* Of the environment, each time it is asked for. */
static bool read_order(void)
{
    size_t chosen = order;
    const bool right = emu_setting("RP_EMULATED_ORDER", 0, EMU_ORDERS - 1, &chosen);

    order = (emu_order)chosen;
    return right;
}

/* The rest: once. */
static bool read_settings(void)
{
    size_t devices = 2, bytes = (size_t)4 << 30, threads;

    if (!emu_setting("RP_EMULATED_DEVICES", 0, EMU_DEVICES, &devices) ||
        !emu_setting("RP_EMULATED_MEMORY", 1, SIZE_MAX, &bytes) ||
        !emu_setting("RP_EMULATED_MULTIPROCESSORS", 1, 1024, &multiprocessors) ||
        !emu_setting("RP_EMULATED_THREADS", 1, EMU_THREADS, &threads) || !emu_setting_fail("RP_EMULATED_FAIL"))
        return false;
    n_devices = (int)devices;
    for (int i = 0; i < n_devices; i++) {
        device[i].index = i;
        device[i].total = bytes;
    }
    return true;
}

int cuInit(unsigned flags)
{
    bool right;
    int result;

    pthread_mutex_lock(&lock);
    right = read_order() && (initialized || read_settings());
    result = right ? fails("cuInit", true) : RP_CU_INVALID_VALUE;
    if (result == RP_CU_SUCCESS && flags != 0)
        result = RP_CU_INVALID_VALUE;
    if (result == RP_CU_SUCCESS && !host_can())
        result = RP_CU_NO_DEVICE;
    initialized = initialized || result == RP_CU_SUCCESS;
    return emu_leave(result);
}

int cuDriverGetVersion(int *version)
{
    const int result = emu_enter_any("cuDriverGetVersion");

    *version = 13000;
    return emu_leave(result == RP_CU_NOT_INITIALIZED ? RP_CU_SUCCESS : result);
}

/* ---- devices ---- */

emu_device *emu_device_at(int index)
{
    return index >= 0 && index < n_devices ? &device[index] : NULL;
}

int cuDeviceGetCount(int *n)
{
    int result = emu_enter_any("cuDeviceGetCount");

    *n = result == RP_CU_SUCCESS ? n_devices : 0;
    return emu_leave(result);
}

int cuDeviceGet(int *out, int ordinal)
{
    int result = emu_enter_any("cuDeviceGet");

    if (result == RP_CU_SUCCESS && emu_device_at(ordinal) == NULL)
        result = RP_CU_INVALID_DEVICE;
    *out = ordinal;
    return emu_leave(result);
}

int cuDeviceGetName(char *name, int size, int index)
{
    int result = emu_enter_any("cuDeviceGetName");

    if (result == RP_CU_SUCCESS && (size < 1 || emu_device_at(index) == NULL))
        result = RP_CU_INVALID_DEVICE;
    if (result == RP_CU_SUCCESS)
        (void)snprintf(name, (size_t)size, "Emulated");
    return emu_leave(result);
}

int cuDeviceTotalMem_v2(size_t *bytes, int index)
{
    int result = emu_enter_any("cuDeviceTotalMem_v2");

    if (result == RP_CU_SUCCESS && emu_device_at(index) == NULL)
        result = RP_CU_INVALID_DEVICE;
    *bytes = result == RP_CU_SUCCESS ? device[index].total : 0;
    return emu_leave(result);
}

/* As the smallest chip of the generation that the PTX is for. */
static const int attribute[][2] = {{1, 1024}, /* threads of a block, along x, y, z */
                                   {2, 1024},
                                   {3, 1024},
                                   {4, 64},
                                   {8, 49152}, /* shared memory without asking */
                                   {10, 32},
                                   {12, 65536}, /* registers */
                                   {RP_CU_DEVICE_CLOCK_RATE, 1000000},
                                   {RP_CU_DEVICE_MULTIPROCESSORS, 0}, /* as many as are set */
                                   {RP_CU_DEVICE_MEMORY_CLOCK_RATE, 1000000},
                                   {RP_CU_DEVICE_MEMORY_BUS_WIDTH, 256},
                                   {RP_CU_DEVICE_L2_CACHE, 4 << 20},
                                   {39, 2048},
                                   {RP_CU_DEVICE_CAPABILITY_MAJOR, 8},
                                   {RP_CU_DEVICE_CAPABILITY_MINOR, 0},
                                   {81, 167936},
                                   {RP_CU_DEVICE_SHARED_MEMORY, 166912}};

int cuDeviceGetAttribute(int *value, int which, int index)
{
    int result = emu_enter_any("cuDeviceGetAttribute");
    size_t i = 0;

    if (result == RP_CU_SUCCESS && emu_device_at(index) == NULL)
        result = RP_CU_INVALID_DEVICE;
    while (i < sizeof attribute / sizeof *attribute && attribute[i][0] != which)
        i++;
    if (result == RP_CU_SUCCESS && i == sizeof attribute / sizeof *attribute)
        result = RP_CU_INVALID_VALUE;
    *value = result == RP_CU_SUCCESS ? attribute[i][1] : 0;
    if (result == RP_CU_SUCCESS && which == RP_CU_DEVICE_MULTIPROCESSORS)
        *value = (int)multiprocessors;
    return emu_leave(result);
}

/* ---- contexts: each device has its primary one, whose handle is the device ---- */

emu_device *emu_current(void)
{
    return current;
}

int cuDevicePrimaryCtxRetain(rp_cu_context *context, int index)
{
    int result = emu_enter_any("cuDevicePrimaryCtxRetain");
    emu_device *d = emu_device_at(index);

    *context = NULL;
    if (result == RP_CU_SUCCESS && d == NULL)
        result = RP_CU_INVALID_DEVICE;
    if (result == RP_CU_SUCCESS && d->retained == 0)
        d->legacy = emu_stream_make(d, false);
    if (result == RP_CU_SUCCESS) {
        d->retained++;
        *context = (rp_cu_context)(void *)d;
    }
    return emu_leave(result);
}

int cuDevicePrimaryCtxRelease_v2(int index)
{
    int result = emu_enter_any("cuDevicePrimaryCtxRelease_v2");
    emu_device *d = emu_device_at(index);

    if (d == NULL || d->retained == 0)
        return emu_leave(result != RP_CU_SUCCESS ? result : EMU_CU_INVALID_CONTEXT);
    if (--d->retained == 0) { /* and with the last use all that it held, and what was wrong with it */
        (void)emu_drain_all(d);
        emu_streams_drop(d);
        emu_memory_drop(d);
        d->failed = RP_CU_SUCCESS;
        if (current == d)
            current = NULL;
    }
    return emu_leave(result);
}

int cuCtxSetCurrent(rp_cu_context context)
{
    int result = emu_enter_any("cuCtxSetCurrent");
    emu_device *d = (emu_device *)(void *)context;

    if (result == RP_CU_SUCCESS && d && d->retained == 0)
        result = EMU_CU_INVALID_CONTEXT;
    if (result == RP_CU_SUCCESS)
        current = d;
    return emu_leave(result);
}
