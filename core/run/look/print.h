/* SPDX-License-Identifier: Apache-2.0
 * Values that a program of the caller's wants to see at step time. */
#ifndef CORE_RUN_LOOK_PRINT_H
#define CORE_RUN_LOOK_PRINT_H

#include "core/program/graph.h"
#include "core/run/device_tensor.h"

/* Shows a tensor of the step. Errors: the device's, RP_ENOMEM. */
rp_status rp_print_tensor(const rp_print_to *to, const rp_device_tensor *tensor, rp_error *err);
/* The program with a result more for each value that is to be printed, in order, behind its own outputs: what is
 * planned in its place. Its own outputs keep their bits and places. Errors: RP_ENOMEM. */
rp_status rp_print_program(rp_program **out, const rp_program *program, rp_error *err);

#endif
