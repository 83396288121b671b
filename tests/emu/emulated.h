/* SPDX-License-Identifier: Apache-2.0
 * What tests may ask of the emulated driver (libreprise-emulated.so) beside the driver's own interface. The same by
 * variables of the environment: RP_EMULATED_ORDER=0|1|2, read at every cuInit; RP_EMULATED_FAIL=CALL:N:RESULT,
 * RP_EMULATED_DEVICES, RP_EMULATED_MEMORY (bytes each), RP_EMULATED_MULTIPROCESSORS (of each), RP_EMULATED_THREADS (of
 * the host), read at the first. */
#ifndef TESTS_EMU_EMULATED_H
#define TESTS_EMU_EMULATED_H

/* The n-th call from now (from 1) of that name gives the result and does nothing. "any": of whatever name. "kernel",
 * "copy": the n-th one that is executed fails, and whoever waits for it is told. A kernel's
 * name: its n-th launch. A result that a device does not recover from (a failed launch, a lost device) is every later
 * call's too. NULL: none. */
void rp_emulated_fail(const char *call, unsigned nth, int result);
/* Calls since the library was loaded, of a name or of "any"; or launches of the kernel of that name. */
unsigned long rp_emulated_calls(const char *call);
/* Bytes that copies brought to the host since the library was loaded. */
unsigned long rp_emulated_to_host(void);
/* The order of threads, blocks and copies: 0, 1 or 2 (tests/emu/block.h). */
void rp_emulated_order(int order);
/* What was wrong with the last kernel that failed; "" when none did. */
const char *rp_emulated_trouble(void);
/* Allocations of device and pinned memory, streams, events and graphs that are there. */
unsigned long rp_emulated_alive(void);

#endif
