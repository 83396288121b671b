/* SPDX-License-Identifier: Apache-2.0
 * Shape rules and view rules of the op table. */
#ifndef CORE_PROGRAM_INFER_H
#define CORE_PROGRAM_INFER_H

#include "core/program/op.h"

rp_infer_fn infer_map, infer_map_with, infer_compare, infer_grad_pair;
#define OP(name, level, n_in, n_out, flags, types, kernel_types, specimen, infer, gradient) rp_infer_fn infer_##infer;
#define VIEW(name, infer, view, flags, gradient) \
    rp_infer_fn infer_##infer; \
    rp_alias_fn alias_##view;
#include "kernels/operations.def"

#endif
