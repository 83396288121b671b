/* SPDX-License-Identifier: Apache-2.0
 * Runs the conformance vectors at every level of this host: the part of `reprise doctor` that needs nothing but base,
 * determinism and kernels, for processors to which only a C compiler has come so far. Exit 0 when all levels conform.
 */
#include <stdio.h>
#include <string.h>

#include "determinism/fpenv.h"
#include "kernels/conformance/conformance.h"
#include "kernels/kernel.h"

int main(void)
{
    const char *const *level;
    const unsigned probe = 1;
    const size_t levels = rp_kernel_levels(&level);
    unsigned char first;
    rp_fpenv saved;
    rp_error err = {0};
    int failed = 0;

    memcpy(&first, &probe, 1);
    if (rp_fpenv_enter(&saved, NULL, &err) != RP_OK) {
        printf("floating-point environment: %s\n", err.text);
        return 1;
    }
    for (size_t i = 0; i < levels; i++) {
        size_t checked = 0;

        if (rp_conformance_run(level[i], &checked, &err) == RP_OK) {
            printf("%s: %zu vectors conform (%s-endian)\n", level[i], checked, first ? "little" : "big");
        } else {
            printf("%s: %s\n", level[i], err.text);
            failed = 1;
        }
    }
    rp_fpenv_leave(&saved);
    return failed;
}
