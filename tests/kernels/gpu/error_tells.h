/* SPDX-License-Identifier: Apache-2.0
 * Whether an error of the library says which call of the driver failed, and with what. */
#ifndef TESTS_KERNELS_GPU_ERROR_TELLS_H
#define TESTS_KERNELS_GPU_ERROR_TELLS_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* call: as rp_emulated_fail takes it (tests/emu/emulated.h). A call of the driver stands in the text as the CUDA
 * documentation calls it, without _v2; of a kernel's launch its name and cuLaunchKernel do; what fails when it is
 * executed is told by any call that comes after. */
static inline bool error_tells(const char *text, const char *call, const char *result)
{
    char wanted[160];

    if (strncmp(call, "rp_gpu_", 7) == 0) {
        (void)snprintf(wanted, sizeof wanted, "kernel %s: ", call);
        text = strstr(text, wanted);
        call = "cuLaunchKernel";
    } else if (strncmp(call, "cu", 2) != 0) {
        text = strstr(text, ": cu");
        call = "";
    }
    (void)snprintf(wanted, sizeof wanted, "%.*s: %s", (int)strcspn(call, "_"), call, result);
    return text && strstr(text, wanted);
}

#endif
