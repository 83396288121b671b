/* SPDX-License-Identifier: Apache-2.0
 * Settings of the environment (emulated.h). */
#ifndef TESTS_EMU_SETTINGS_DRIVER_SETTINGS_H
#define TESTS_EMU_SETTINGS_DRIVER_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>

/* The variable's number, where it is set. false: it is none from low to high, and that was told. */
bool emu_setting(const char *name, size_t low, size_t high, size_t *out);
/* The variable's CALL:N:RESULT, for rp_emulated_fail. */
bool emu_setting_fail(const char *name);

#endif
