/* SPDX-License-Identifier: Apache-2.0
 * A device for tests whose memory the host cannot touch: its addresses lie in pages without any right, and copies and
 * launches go to other addresses of the same memory, which nobody else knows. It computes with the kernels of the CPU
 * device, as late as it may: what is put on a stream happens when somebody waits for it. A touch by the host is noted
 * with its place and let through, so that a test ends with a number and places instead of a signal. Not across fork. */
#ifndef TESTS_KERNELS_FAR_DEVICE_H
#define TESTS_KERNELS_FAR_DEVICE_H

#include <stddef.h>
#include <stdio.h>

/* Makes the device known as "far", and begins to note. Ends the process when the system has no room for it. */
void far_device_register(void);
/* The device that a test of far memory is about: "far", or what RP_FAR_DEVICE says. "emulated" is the emulated GPU of
 * tests/emu (RP_EMULATED_LIBRARY): a touch of its memory ends the test. */
const char *far_device_name(void);
/* Touches of device memory by the host, and host memory given to the device as its own, since the last call. */
size_t far_device_faults(void);
/* Where they were, as far as that is known: function, file offset, times. */
void far_device_places(FILE *out);
/* Work that such devices have done, to see that they were used at all. */
size_t far_device_launches(void);
/* Launches of the hash of its own, of a device that has one; SIZE_MAX: it has none. */
size_t far_device_hashes(void);
/* Blocks of device memory that are not released; of the emulated one also pinned memory, streams and events. */
size_t far_device_blocks(void);

#endif
