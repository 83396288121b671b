/* SPDX-License-Identifier: Apache-2.0
 * The kernel table of the level being compiled, entry by entry as variants.def says. */
#include "kernels/kernel.h"
#include "kernels/level.h"

#define CPU(name) extern const rp_kernel RP_KERNEL(name);
#define REF(name) extern const rp_kernel rp_kernel_##name##_ref;
#include "kernels/cpu/variants.def"
#undef CPU
#undef REF

#define CPU(name) [RP_K_##name] = &RP_KERNEL(name),
#define REF(name) [RP_K_##name] = &rp_kernel_##name##_ref,
#define RP_TEXT(level) RP_TEXT_OF(level)
#define RP_TEXT_OF(level) #level

extern rp_fused_run RP_LEVEL_NAME(rp_fused_run, RP_LEVEL);
extern const rp_kernel_table RP_LEVEL_NAME(rp_kernel_table, RP_LEVEL);
const rp_kernel_table RP_LEVEL_NAME(rp_kernel_table, RP_LEVEL) = {RP_TEXT(RP_LEVEL),
                                                                  {
#include "kernels/cpu/variants.def"
                                                                  },
                                                                  RP_LEVEL_NAME(rp_fused_run, RP_LEVEL)};
