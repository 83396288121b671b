/* SPDX-License-Identifier: Apache-2.0
 * Naming of a kernel's variants: RP_KERNEL(add) is rp_kernel_add_<level>, where RP_LEVEL is the level this source is
 * being compiled for. Also the loop that compilers may vectorise although out may be the same array as an input. */
#ifndef KERNELS_LEVEL_H
#define KERNELS_LEVEL_H

#ifndef RP_LEVEL
#define RP_LEVEL ref
#endif
#define RP_LEVEL_PASTE(name, level) name##_##level
#define RP_LEVEL_NAME(name, level) RP_LEVEL_PASTE(name, level)
#define RP_KERNEL(name) RP_LEVEL_NAME(rp_kernel_##name, RP_LEVEL)

#define RP_DEFINE_KERNEL(name, items, run, cost) \
    extern const rp_kernel RP_KERNEL(name); \
    const rp_kernel RP_KERNEL(name) = {items, run, cost}

/* Always inlined, so that a constant argument specialises the body. */
#define RP_INLINE static inline __attribute__((always_inline))

/* What is seldom run: called, so that its frame and registers are not those of what calls it. */
#define RP_APART static __attribute__((noinline))

/* Element i of the result depends on element i of the inputs only, and an input is the output itself or apart from it,
 * so the iterations are independent and any vector width gives the same bits. */
#if defined(__CUDACC__)
#define RP_INDEPENDENT
#define RP_UNROLL _Pragma("unroll")
#define RP_NO_UNROLL _Pragma("unroll 1")
#elif defined(__clang__)
#define RP_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#define RP_UNROLL _Pragma("clang loop unroll(full)") /* so that arrays of vectors stay in registers */
#define RP_NO_UNROLL _Pragma("clang loop unroll(disable)")
#else
#define RP_INDEPENDENT _Pragma("GCC ivdep")
#define RP_UNROLL _Pragma("GCC unroll 64")
#define RP_NO_UNROLL _Pragma("GCC unroll 1")
#endif
/* The end is read once: stores of bytes or of 64-bit integers may write any memory, so that of a member read in each
 * round no compiler knows how often there are rounds, and none vectorises. */
#define RP_EACH(i, n) RP_INDEPENDENT for (ptrdiff_t i = 0, i##_end = (ptrdiff_t)(n); i < i##_end; i++)

#endif
