/* SPDX-License-Identifier: Apache-2.0
 * The kernel table of the level being compiled: a variant of its own for each kernel, but for those whose row says that
 * the reference serves. */
#include "kernels/kernel.h"
#include "kernels/level.h"

#define VARIANT_CPU(name) RP_KERNEL(name)
#define VARIANT_REF(name) rp_kernel_##name##_ref

#define ROW(name) extern const rp_kernel RP_KERNEL(name);
#define OP(name, level, ...) extern const rp_kernel VARIANT_##level(name);
#define KERNEL OP
#include "kernels/operations.def"

#define RP_TEXT(level) RP_TEXT_OF(level)
#define RP_TEXT_OF(level) #level

extern rp_fused_run RP_LEVEL_NAME(rp_fused_run, RP_LEVEL);
extern const rp_kernel_table RP_LEVEL_NAME(rp_kernel_table, RP_LEVEL);
const rp_kernel_table RP_LEVEL_NAME(rp_kernel_table, RP_LEVEL) = {RP_TEXT(RP_LEVEL),
                                                                  {
#define ROW(name) [RP_K_##name] = &RP_KERNEL(name),
#define OP(name, level, ...) [RP_K_##name] = &VARIANT_##level(name),
#define KERNEL OP
#include "kernels/operations.def"
                                                                  },
                                                                  RP_LEVEL_NAME(rp_fused_run, RP_LEVEL)};
