/* SPDX-License-Identifier: Apache-2.0
 * Finding cuBLASLt, and which file it is. */
#define _GNU_SOURCE
#include "kernels/gpu/pinned/cublaslt.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

#define SONAME "libcublasLt.so.13"
#define STAND_IN "libreprise-standin-cublaslt.so"

enum { PLACE = 4096, MAJOR = 13, PER_MAJOR = 10000 };

/* Whether the file that a function was loaded from has since been removed or another put in its place: what its path
 * leads to now is then not what computes. The kernel marks such a mapping; where it shows none nothing is known. */
static bool was_replaced(const void *function)
{
    static const char mark[] = " (deleted)\n";
    FILE *maps = fopen("/proc/self/maps", "re");
    char line[PLACE + 256];
    bool replaced = false;

    while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
        const size_t length = strlen(line);
        unsigned long long begin, end;

        if (sscanf(line, "%llx-%llx ", &begin, &end) == 2 && (uintptr_t)function >= begin && (uintptr_t)function < end)
            replaced = length >= sizeof mark && strcmp(line + length - (sizeof mark - 1), mark) == 0;
    }
    if (maps != NULL)
        (void)fclose(maps);
    return replaced;
}

rp_status rp_loaded_file(char path[4096], void *function, const char *name, rp_error *err)
{
    char resolved[PATH_MAX];
    Dl_info info;

    if (dladdr(function, &info) == 0 || info.dli_fname == NULL || realpath(info.dli_fname, resolved) == NULL ||
        was_replaced(function))
        return rp_fail(
            err, RP_EUNSUPPORTED,
            "profile pinned: %s: the file that is loaded cannot be found again, and its digest is part of the "
            "run's identity: was it replaced meanwhile?",
            name);
    (void)snprintf(path, PLACE, "%s", resolved);
    return RP_OK;
}

/* The emulated device's library lies beside its driver. */
static const char *stand_in(char path[PLACE], const char *driver)
{
    const char *slash = strrchr(driver, '/');
    const int folder = slash ? (int)(slash + 1 - driver) : 0;

    return snprintf(path, PLACE, "%.*s" STAND_IN, folder, driver) < PLACE ? path : STAND_IN;
}

static rp_status find_functions(rp_cublaslt *l, const char *path, rp_error *err)
{
#define CALL(result, name, parameters) \
    *(void **)&l->name = dlsym(l->file, #name); \
    if (l->name == NULL) \
        return rp_fail(err, RP_EUNSUPPORTED, "profile pinned: %.300s lacks %s: expected cuBLASLt 13", path, #name);
    RP_CUBLASLT_CALLS(CALL)
#undef CALL
    return RP_OK;
}

rp_status rp_cublaslt_load(rp_cublaslt **out, rp_pinned_library *identity, const char *kind, const char *driver,
                           rp_error *err)
{
    const char *named = getenv("RP_CUBLASLT_LIBRARY");
    const bool emulated = strcmp(kind, "emulated") == 0;
    char place[PLACE];
    const char *path = named && *named ? named : emulated ? stand_in(place, driver) : SONAME;
    rp_cublaslt *l = rp_calloc(1, sizeof *l);
    rp_status status;

    *out = NULL;
    if (l == NULL)
        return rp_no_memory(err);
    /* Never unloaded: it keeps threads and device memory of its own, which do not survive their code. */
    l->file = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    status = l->file
                 ? find_functions(l, path, err)
                 : rp_fail(err, RP_EUNSUPPORTED,
                           "profile pinned: cuBLASLt is not here (%.300s): install it (CUDA 13, or the wheel "
                           "nvidia-cublas), name its file by RP_CUBLASLT_LIBRARY, or choose profile: portable, which "
                           "needs none",
                           dlerror());
    if (status == RP_OK && l->cublasLtGetVersion() / PER_MAJOR != MAJOR) /* a file that is named may be any */
        status = rp_fail(err, RP_EUNSUPPORTED, "profile pinned: %.300s is cuBLASLt %zu: expected 13 (CUDA 13)", path,
                         l->cublasLtGetVersion());
    if (status == RP_OK) {
        identity->name = emulated ? "stand-in" : "cublasLt";
        identity->version = l->cublasLtGetVersion();
        status = rp_loaded_file(identity->path, *(void **)&l->cublasLtMatmul, identity->name, err);
    }
    if (status == RP_OK)
        *out = l;
    else
        rp_cublaslt_close(l);
    return status;
}

void rp_cublaslt_close(rp_cublaslt *library)
{
    if (library == NULL)
        return;
    if (library->handle != NULL)
        (void)library->cublasLtDestroy(library->handle);
    if (library->file != NULL)
        (void)dlclose(library->file);
    rp_free(library);
}

rp_status rp_cublaslt_result(const rp_cublaslt *library, int result, const char *call, rp_error *err)
{
    const char *text = result == 0 ? NULL : library->cublasLtGetStatusString(result);

    if (result == 0)
        return RP_OK;
    return rp_fail(err,
                   result == 15  ? RP_EUNSUPPORTED
                   : result == 3 ? RP_ENOMEM
                                 : RP_EIO,
                   "%s: %s (%d)", call, text ? text : "no text", result);
}
