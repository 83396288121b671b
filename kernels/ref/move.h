/* SPDX-License-Identifier: Apache-2.0
 * Moving and setting elements [begin, end) of a view, for kernels that do it as a part of their work. */
#ifndef KERNELS_REF_MOVE_H
#define KERNELS_REF_MOVE_H

#include "kernels/kernel.h"

/* Same shape and dtype, no overlap. */
void rp_copy_elements(const rp_view *out, const rp_view *in, size_t begin, size_t end);
/* value->r for reals (rounded to the dtype), value->i for integers and bool. */
void rp_set_elements(const rp_view *out, const rp_attr *value, size_t begin, size_t end);

#endif
