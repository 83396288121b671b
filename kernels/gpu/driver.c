/* SPDX-License-Identifier: Apache-2.0
 * Finding the driver and saying what it says. */
#include "kernels/gpu/driver.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH = 4096, VERSION_LEAST = 13000 /* whose machine code and PTX the fat binaries hold */ };

/* Where the emulated driver is built or installed, seen from the folder of the program that runs. */
static const char *const beside[] = {"libreprise-emulated.so", "../lib/libreprise-emulated.so",
                                     "../tests/emu/libreprise-emulated.so", "emu/libreprise-emulated.so"};

/* The library beside the program, or only its name, for the loader to look for. */
static const char *emulated_path(char path[PATH])
{
    const char *named = getenv("RP_EMULATED_LIBRARY");
    ssize_t length;
    char *name;

    if (named != NULL && *named != '\0')
        return named;
    length = readlink("/proc/self/exe", path, PATH - 64);
    path[length > 0 ? length : 0] = '\0';
    name = strrchr(path, '/');
    for (size_t i = 0; name != NULL && i < sizeof beside / sizeof *beside; i++) {
        (void)snprintf(name + 1, 64, "%s", beside[i]);
        if (access(path, R_OK) == 0)
            return path;
    }
    return beside[0];
}

static rp_status find_functions(rp_driver *driver, const char *path, rp_error *err)
{
#define CALL(name, parameters) \
    *(void **)&driver->name = dlsym(driver->library, #name); \
    if (driver->name == NULL) \
        return rp_fail(err, RP_EUNSUPPORTED, "device %s: %s lacks %s: expected the driver of CUDA 13 or later", \
                       driver->kind, path, #name);
    RP_DRIVER_CALLS(CALL)
#undef CALL
    return RP_OK;
}

static rp_status start(rp_driver *driver, rp_error *err)
{
    int count = 0;
    rp_status status = rp_driver_result(driver, driver->cuInit(0), "cuInit", err);

    if (status == RP_OK)
        status = rp_driver_result(driver, driver->cuDriverGetVersion(&driver->version), "cuDriverGetVersion", err);
    if (status == RP_OK && driver->version < VERSION_LEAST)
        return rp_fail(err, RP_EUNSUPPORTED, "device %s: expected a driver of CUDA %d.%d or later, found %d.%d",
                       driver->kind, VERSION_LEAST / 1000, VERSION_LEAST % 1000 / 10, driver->version / 1000,
                       driver->version % 1000 / 10);
    if (status == RP_OK)
        status = rp_driver_result(driver, driver->cuDeviceGetCount(&count), "cuDeviceGetCount", err);
    if (status == RP_OK && count == 0)
        return rp_fail(err, RP_EUNSUPPORTED, "device %s: the driver finds no device", driver->kind);
    return status;
}

rp_status rp_driver_open(rp_driver **out, const char *kind, rp_error *err)
{
    const bool emulated = strcmp(kind, "emulated") == 0;
    char place[PATH];
    const char *path = emulated ? emulated_path(place) : "libcuda.so.1";
    rp_driver *driver = rp_calloc(1, sizeof *driver);
    rp_status status = RP_OK;

    *out = NULL;
    if (driver == NULL)
        return rp_no_memory(err);
    driver->kind = emulated ? "emulated" : "cuda";
    driver->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (driver->library == NULL)
        status = emulated
                     ? rp_fail(err, RP_EUNSUPPORTED,
                               "device emulated: libreprise-emulated.so is not here (%.300s); it is built with the "
                               "tests, and RP_EMULATED_LIBRARY may name it",
                               dlerror())
                     : rp_fail(err, RP_EUNSUPPORTED, "device cuda: this host has no NVIDIA driver (%.300s)", dlerror());
    if (status == RP_OK)
        status = find_functions(driver, path, err);
    if (status == RP_OK)
        status = start(driver, err);
    if (status == RP_OK)
        *out = driver;
    else
        rp_driver_close(driver);
    return status;
}

void rp_driver_close(rp_driver *driver)
{
    /* The library stays: a driver keeps threads of its own, which do not survive their code. */
    rp_free(driver);
}

rp_status rp_driver_result(const rp_driver *driver, int result, const char *call, rp_error *err)
{
    const char *name = NULL, *text = NULL;

    if (result == RP_CU_SUCCESS)
        return RP_OK;
    if (driver->cuGetErrorName(result, &name) != RP_CU_SUCCESS || name == NULL)
        name = "an error without a name";
    if (driver->cuGetErrorString(result, &text) != RP_CU_SUCCESS || text == NULL)
        text = "no text";
    return rp_fail(err,
                   result == RP_CU_OUT_OF_MEMORY                                 ? RP_ENOMEM
                   : result == RP_CU_NO_DEVICE || result == RP_CU_INVALID_DEVICE ? RP_EUNSUPPORTED
                                                                                 : RP_EIO,
                   "device %s: %s: %s (%d): %s", driver->kind, call, name, result, text);
}
