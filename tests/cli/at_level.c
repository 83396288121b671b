/* SPDX-License-Identifier: Apache-2.0
 * Runs a program with RP_ISA set. Exit 77 (skipped) where this host does not have the level, and where the level is the
 * one that the program, run plainly, takes by itself.
 * Usage: at_level LEVEL PROGRAM
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernels/kernel.h"

enum { SKIPPED = 77 };

int main(int argc, char **argv)
{
    const rp_kernel_table *table, *own;
    rp_error err = {0};
    rp_status status;

    if (argc != 3) {
        fprintf(stderr, "usage: at_level LEVEL PROGRAM\n");
        return 2;
    }
    status = rp_kernel_table_get(&table, argv[1], &err);
    if (status == RP_EUNSUPPORTED) {
        printf("skipped: %s\n", err.text);
        return SKIPPED;
    }
    if (status != RP_OK || rp_kernel_table_get(&own, NULL, &err) != RP_OK) {
        fprintf(stderr, "at_level: %s\n", err.text);
        return 1;
    }
    if (own == table) {
        printf("skipped: %s is what the test without a level runs here\n", argv[1]);
        return SKIPPED;
    }
    if (setenv("RP_ISA", argv[1], 1) == 0)
        execv(argv[2], argv + 2);
    fprintf(stderr, "at_level: %s: %s\n", argv[2], strerror(errno));
    return 1;
}
