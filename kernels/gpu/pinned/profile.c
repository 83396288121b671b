/* SPDX-License-Identifier: Apache-2.0
 * A device enters the pinned profile: what its products will depend on. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "kernels/gpu/device_gpu.h"
#include "kernels/gpu/pinned/cublaslt.h"

/* They say that a product is something else than the profile's name for it, or where to look that up. */
static const char *const refused[] = {"CUBLAS_EMULATE_SINGLE_PRECISION", "CUBLAS_EMULATE_DOUBLE_PRECISION",
                                      "CUBLAS_EMULATION_STRATEGY", "CUBLASLT_HEURISTICS_LUT_FILE",
                                      "NVIDIA_TF32_OVERRIDE"};

static rp_status look_at_environment(rp_pinned *pinned, rp_error *err)
{
    const char *config = getenv("CUBLAS_WORKSPACE_CONFIG");

    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        const char *value = getenv(refused[i]);

        if (value != NULL && *value != '\0')
            return rp_fail(
                err, RP_EUNSUPPORTED,
                "profile pinned: the environment has %s=%.64s, which changes what the library computes: unset "
                "it",
                refused[i], value);
    }
    if (config != NULL && strlen(config) >= sizeof pinned->variable)
        return rp_fail(err, RP_EUNSUPPORTED,
                       "profile pinned: CUBLAS_WORKSPACE_CONFIG: expected at most %zu bytes, found %zu",
                       sizeof pinned->variable - 1, strlen(config));
    for (const char *c = config; c != NULL && *c != '\0'; c++)
        if (*c < ' ' || *c > '~')
            return rp_fail(err, RP_EUNSUPPORTED,
                           "profile pinned: CUBLAS_WORKSPACE_CONFIG: expected printable ASCII, since the archive has "
                           "it, found byte 0x%02X",
                           (unsigned char)*c);
    (void)snprintf(pinned->variable, sizeof pinned->variable, "%s", config ? config : "");
    return RP_OK;
}

static rp_status identify(rp_pinned *p, rp_gpu_device *d, rp_error *err)
{
    static const int which[] = {RP_CU_DEVICE_CAPABILITY_MAJOR, RP_CU_DEVICE_CAPABILITY_MINOR,
                                RP_CU_DEVICE_MULTIPROCESSORS};
    int *const to[] = {&p->capability[0], &p->capability[1], &p->multiprocessors};
    rp_status status =
        rp_gpu_result(d, d->driver->cuDeviceGetName(p->chip, (int)sizeof p->chip, d->device), "cuDeviceGetName", err);

    p->chip[sizeof p->chip - 1] = '\0';
    for (size_t i = 0; i < sizeof which / sizeof *which && status == RP_OK; i++)
        status =
            rp_gpu_result(d, d->driver->cuDeviceGetAttribute(to[i], which[i], d->device), "cuDeviceGetAttribute", err);
    p->driver.name = d->driver->kind;
    p->driver.version = (uint64_t)d->driver->version;
    return status == RP_OK ? rp_loaded_file(p->driver.path, *(void **)&d->driver->cuInit, "the driver", err) : status;
}

rp_status rp_gpu_use_pinned(rp_device *device, rp_pinned_compute compute, uint64_t workspace, rp_error *err)
{
    rp_gpu_device *d = (rp_gpu_device *)device;
    rp_pinned *p = rp_calloc(1, sizeof *p);
    rp_status status = p ? rp_gpu_enter(d, err) : rp_no_memory(err);

    if (status == RP_OK) {
        p->compute = compute;
        p->workspace = workspace;
        status = look_at_environment(p, err);
    }
    if (status == RP_OK)
        status = identify(p, d, err);
    if (status == RP_OK)
        status = rp_cublaslt_load(&d->cublaslt, &p->library, d->driver->kind, p->driver.path, err);
    if (status == RP_OK) {
        status =
            rp_cublaslt_result(d->cublaslt, d->cublaslt->cublasLtCreate(&d->cublaslt->handle), "cublasLtCreate", err);
        if (status != RP_OK)
            (void)rp_fail_at(err, status, "profile pinned, device %s", device->kind);
    }
    if (status == RP_OK)
        d->base.pinned = p;
    else
        rp_pinned_free(p);
    return status;
}
