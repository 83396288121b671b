/* SPDX-License-Identifier: Apache-2.0
 * The host's CUDA driver in the place of the emulated one, so that the tests of the emulated device run on a chip:
 *
 *   RP_EMULATED_LIBRARY=build/release/tests/emu/libreprise-chip.so build/release/tests/emu/emulated_tiles
 *
 * Every call goes on to libcuda.so.1 and is counted, launches by their kernels' names too; a result that was asked for
 * is given instead of the call. The order of threads and copies is the chip's. */
#define _GNU_SOURCE
#include "tests/emu/chip/chip.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/gpu/driver_abi.h"

enum { NAMES = 4096, STACKED = 128 /* bytes of arguments that do not fit registers, at most */ };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct {
    char name[64];
    unsigned long times;
} counted[NAMES];

static struct {
    char call[64];
    unsigned left; /* 0: none */
    int result;
} wanted;

void *chip_driver(const char *name)
{
    static void *library;
    void *found = NULL;

    pthread_mutex_lock(&lock);
    if (library == NULL)
        library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library != NULL)
        found = dlsym(library, name);
    pthread_mutex_unlock(&lock);
    if (found == NULL) {
        fprintf(stderr, "chip: the driver has no %s: %s\n", name, library ? "an old one" : "no libcuda.so.1");
        exit(1);
    }
    return found;
}

static bool is_call(const char *name, const char *call) /* without the number of its version */
{
    const size_t length = strlen(call);

    return strncmp(name, call, length) == 0 && (name[length] == '\0' || strncmp(name + length, "_v", 2) == 0);
}

int chip_enter(const char *name)
{
    int result = 0;
    size_t i = 0;

    pthread_mutex_lock(&lock);
    while (i < NAMES - 1 && counted[i].name[0] != '\0' && strcmp(counted[i].name, name) != 0)
        i++;
    (void)snprintf(counted[i].name, sizeof counted[i].name, "%s", name);
    counted[i].times++;
    if (wanted.left > 0 &&
        (is_call(name, wanted.call) || (strcmp(wanted.call, "any") == 0 && strncmp(name, "cu", 2) == 0)))
        result = --wanted.left == 0 ? wanted.result : 0;
    pthread_mutex_unlock(&lock);
    return result;
}

CHIP_API unsigned long rp_emulated_calls(const char *call)
{
    const bool any = strcmp(call, "any") == 0;
    unsigned long sum = 0;

    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < NAMES && counted[i].name[0] != '\0'; i++)
        if (any ? strncmp(counted[i].name, "cu", 2) == 0 : is_call(counted[i].name, call))
            sum += counted[i].times;
    pthread_mutex_unlock(&lock);
    return sum;
}

CHIP_API void rp_emulated_fail(const char *call, unsigned nth, int result)
{
    pthread_mutex_lock(&lock);
    (void)snprintf(wanted.call, sizeof wanted.call, "%s", call ? call : "");
    wanted.left = call ? nth : 0;
    wanted.result = result;
    pthread_mutex_unlock(&lock);
}

CHIP_API void rp_emulated_order(int order)
{
    (void)order;
}

CHIP_API const char *rp_emulated_trouble(void)
{
    return "";
}

/* What was made and not given back, by calls; none of these fails and is called again. */
CHIP_API unsigned long rp_emulated_alive(void)
{
    static const char *const made[] = {"cuMemAlloc", "cuMemHostAlloc", "cuStreamCreate", "cuEventCreate",
                                       "cuGraphInstantiateWithFlags"};
    static const char *const dropped[] = {"cuMemFree", "cuMemFreeHost", "cuStreamDestroy", "cuEventDestroy",
                                          "cuGraphExecDestroy"};
    unsigned long sum = 0;

    for (size_t i = 0; i < sizeof made / sizeof *made; i++)
        sum += rp_emulated_calls(made[i]) - rp_emulated_calls(dropped[i]);
    return sum;
}

/* ---- the driver's calls ---- */

/* The same arguments and the same result, whatever they are. Weak: chip_calls.c has those of which more is known. */
#define CALL(name, parameters) \
    CHIP_API __attribute__((weak)) int name(void) \
    { \
        void *const arguments = __builtin_apply_args(); \
        static void *driver; \
        const int asked = chip_enter(#name); \
\
        if (asked != RP_CU_SUCCESS) \
            return asked; \
        if (driver == NULL) \
            driver = chip_driver(#name); \
        __builtin_return(__builtin_apply((void (*)())driver, arguments, STACKED)); \
    }
RP_DRIVER_CALLS(CALL)
#undef CALL
