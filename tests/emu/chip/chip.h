/* SPDX-License-Identifier: Apache-2.0
 * What the two files of libreprise-chip.so know of each other. */
#ifndef TESTS_EMU_CHIP_CHIP_H
#define TESTS_EMU_CHIP_CHIP_H

#include <stdbool.h>

#define CHIP_API __attribute__((visibility("default")))

/* A function of the host's driver. */
void *chip_driver(const char *name);
/* Counts a call or a kernel's launch. Returns the result that it is to give instead, or 0. */
int chip_enter(const char *name);

#endif
