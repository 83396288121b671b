/* SPDX-License-Identifier: Apache-2.0
 * Modules and functions: whatever image of our kernels is loaded, its functions are those that were translated from the
 * same PTX, found by name. */
#include <stdlib.h>
#include <string.h>

#include "tests/emu/driver_private.h"

enum { FUNCTION_THREADS = 0, FUNCTION_SHARED = 1, PLAIN_SHARED = 48 * 1024, MOST_SHARED = 166912, MOST_GRID = 65535 };

struct rp_cu_module_s {
    emu_device *device;
    unsigned long image;
};

struct rp_cu_function_s {
    const emu_kernel *kernel;
    uint32_t most_dynamic;
    struct rp_cu_function_s *next;
};

static emu_module *modules;
static struct rp_cu_function_s *functions; /* stay: the most that they may ask for is kept with them */

EMU_API void emu_register(emu_module *module)
{
    module->next = modules;
    modules = module;
}

/* A fat binary, an ELF file of machine code, or PTX. */
static bool is_image(const void *image)
{
    static const unsigned char fat[] = {0x50, 0xED, 0x55, 0xBA}, elf[] = {0x7F, 'E', 'L', 'F'};

    return memcmp(image, fat, sizeof fat) == 0 || memcmp(image, elf, sizeof elf) == 0 || strncmp(image, "//", 2) == 0 ||
           strncmp(image, ".version", 8) == 0;
}

int cuModuleLoadData(rp_cu_module *module, const void *image)
{
    int result = emu_enter_unsafe("cuModuleLoadData");

    *module = NULL;
    if (result == RP_CU_SUCCESS && (image == NULL || !is_image(image)))
        result = RP_CU_INVALID_IMAGE;
    if (result == RP_CU_SUCCESS && (*module = calloc(1, sizeof **module)) == NULL)
        result = RP_CU_OUT_OF_MEMORY;
    if (result == RP_CU_SUCCESS)
        (*module)->device = emu_current();
    return emu_leave(result);
}

int cuModuleUnload(rp_cu_module module)
{
    int result = emu_enter_unsafe("cuModuleUnload");

    if (result == EMU_CU_CAPTURE_UNSUPPORTED)
        return emu_leave(result);
    if (result == RP_CU_SUCCESS)
        result = emu_drain_all(emu_current());
    free(module);
    return emu_leave(result);
}

static const emu_kernel *find_kernel(const char *name)
{
    for (const emu_module *m = modules; m != NULL; m = m->next)
        for (size_t i = 0; i < m->n_kernels; i++)
            if (strcmp(m->kernel[i].name, name) == 0)
                return &m->kernel[i];
    return NULL;
}

int cuModuleGetFunction(rp_cu_function *function, rp_cu_module module, const char *name)
{
    int result = emu_enter("cuModuleGetFunction");
    const emu_kernel *kernel = result == RP_CU_SUCCESS ? find_kernel(name) : NULL;
    rp_cu_function f = functions;

    *function = NULL;
    if (result == RP_CU_SUCCESS && (module == NULL || module->device != emu_current()))
        result = EMU_CU_INVALID_HANDLE;
    if (result == RP_CU_SUCCESS && kernel == NULL)
        result = RP_CU_NOT_FOUND;
    if (result != RP_CU_SUCCESS)
        return emu_leave(result);
    while (f != NULL && f->kernel != kernel)
        f = f->next;
    if (f == NULL && (f = calloc(1, sizeof *f)) != NULL) {
        f->kernel = kernel;
        f->most_dynamic = PLAIN_SHARED - (kernel->shared < PLAIN_SHARED ? kernel->shared : PLAIN_SHARED);
        f->next = functions;
        functions = f;
    }
    *function = f;
    return emu_leave(f ? RP_CU_SUCCESS : RP_CU_OUT_OF_MEMORY);
}

int cuFuncGetAttribute(int *value, int attribute, rp_cu_function f)
{
    int result = emu_enter("cuFuncGetAttribute");

    *value = 0;
    if (result != RP_CU_SUCCESS)
        return emu_leave(result);
    if (attribute == FUNCTION_THREADS)
        *value = f->kernel->max_threads ? (int)f->kernel->max_threads : EMU_MAX_THREADS;
    else if (attribute == FUNCTION_SHARED)
        *value = (int)f->kernel->shared;
    else if (attribute == RP_CU_FUNCTION_DYNAMIC_SHARED)
        *value = (int)f->most_dynamic;
    else if (attribute != RP_CU_FUNCTION_LOCAL_BYTES && attribute != RP_CU_FUNCTION_REGISTERS)
        result = RP_CU_INVALID_VALUE;
    return emu_leave(result);
}

int cuFuncSetAttribute(rp_cu_function f, int attribute, int value)
{
    int result = emu_enter("cuFuncSetAttribute");

    if (result == RP_CU_SUCCESS &&
        (attribute != RP_CU_FUNCTION_DYNAMIC_SHARED || value < 0 || (uint32_t)value + f->kernel->shared > MOST_SHARED))
        result = RP_CU_INVALID_VALUE;
    if (result == RP_CU_SUCCESS)
        f->most_dynamic = (uint32_t)value;
    return emu_leave(result);
}

size_t emu_param_bytes(const emu_kernel *k)
{
    size_t sum = 0;

    for (uint32_t i = 0; i < k->n_params; i++)
        sum += (k->param_size[i] + 15) / 16 * 16;
    return sum;
}

static int launch(rp_cu_function f, emu_work *w, void **parameters)
{
    const emu_kernel *k = f->kernel;
    const uint64_t threads = (uint64_t)w->threads[0] * w->threads[1] * w->threads[2];
    size_t at = 0;
    int result;

    if (threads == 0 || threads > EMU_MAX_THREADS || w->blocks[0] == 0 || w->blocks[1] == 0 || w->blocks[2] == 0 ||
        w->blocks[0] > INT32_MAX || w->blocks[1] > MOST_GRID || w->blocks[2] > MOST_GRID || w->shared > f->most_dynamic)
        return RP_CU_INVALID_VALUE;
    if (k->max_threads && threads > k->max_threads)
        return RP_CU_INVALID_VALUE;
    result = emu_work_fails(k->name); /* counts it too */
    if (result != RP_CU_SUCCESS)
        return result;
    w->kernel = k;
    w->params = malloc(emu_param_bytes(k) + 16);
    if (w->params == NULL)
        return RP_CU_OUT_OF_MEMORY;
    for (uint32_t i = 0; i < k->n_params; i++) {
        memcpy(w->params + at, parameters[i], k->param_size[i]);
        at += (k->param_size[i] + 15) / 16 * 16;
    }
    return RP_CU_SUCCESS;
}

int cuLaunchKernel(rp_cu_function f, unsigned blocks_x, unsigned blocks_y, unsigned blocks_z, unsigned threads_x,
                   unsigned threads_y, unsigned threads_z, unsigned shared, rp_cu_stream stream, void **parameters,
                   void **extra)
{
    int result = emu_enter("cuLaunchKernel");
    emu_stream *s = result == RP_CU_SUCCESS ? emu_stream_of(emu_current(), stream) : NULL;
    emu_work w = {.kind = EMU_KERNEL,
                  .blocks = {blocks_x, blocks_y, blocks_z},
                  .threads = {threads_x, threads_y, threads_z},
                  .shared = shared};

    if (result == RP_CU_SUCCESS && (s == NULL || f == NULL))
        result = EMU_CU_INVALID_HANDLE;
    if (result == RP_CU_SUCCESS)
        result = extra ? RP_CU_INVALID_VALUE : launch(f, &w, parameters);
    return emu_leave(result == RP_CU_SUCCESS ? emu_put(s, w) : result);
}
