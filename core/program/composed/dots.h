/* SPDX-License-Identifier: Apache-2.0
 * Products that are made for one sum alone: where the device can, the sum's call makes them in registers
 * (kernels/dots.h). The same products in the same order: no bit depends on it. */
#ifndef CORE_PROGRAM_COMPOSED_DOTS_H
#define CORE_PROGRAM_COMPOSED_DOTS_H

#include "core/program/program.h"
#include "kernels/dots.h"

/* Whether `sum` is one of products that `product` makes of whole rows, in a program of these types, and it pays. */
bool rp_dots_fit(const rp_program *p, const rp_instr *product, const rp_instr *sum);
/* Of the product's operands as they lie and the sum's result. False: they do not lie in order. */
bool rp_dots_of_views(rp_dots *dots, const rp_view *x, const rp_view *y, const rp_view *out);

#endif
