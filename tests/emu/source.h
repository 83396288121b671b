/* SPDX-License-Identifier: Apache-2.0
 * kernels/gpu/gpu.h for the host's C++: the text of the kernels under the emulated device's fibers, so that sanitizers
 * read it. Its driver is built with EMU_SOURCE: device memory is then the host's own, each allocation with nothing
 * behind it that is anybody's. A file of kernels is compiled with RP_GPU_HOST naming this header. */
#ifndef TESTS_EMU_SOURCE_H
#define TESTS_EMU_SOURCE_H

extern "C" {
#include "tests/emu/block.h"
}

#define RP_GPU_KERNEL(threads, blocks) static void
#define RP_GPU_FN static inline
#define RP_GPU_PARAMETER
/* One host thread runs a block at a time, and all of its threads. */
#define RP_GPU_SHARED(type, name, count) static thread_local __attribute__((aligned(16))) type name[count]
#define RP_GPU_SHARED_GIVEN(type, name, most) type *const name = (type *)(void *)(emu_now->shared + emu_now->dynamic)
#define RP_GPU_BLOCK_X (emu_now->ctaid[0])
#define RP_GPU_BLOCK_Y (emu_now->ctaid[1])
#define RP_GPU_BLOCK_Z (emu_now->ctaid[2])
#define RP_GPU_BLOCKS_X (emu_now->nctaid[0])
#define RP_GPU_BLOCKS_Y (emu_now->nctaid[1])
#define RP_GPU_BLOCKS_Z (emu_now->nctaid[2])
#define RP_GPU_THREAD (emu_now->tid[0])
#define RP_GPU_THREADS (emu_now->ntid[0])
#define RP_GPU_BARRIER() emu_barrier(emu_now, 0, __LINE__)

static inline uint32_t emu_xor_u32(uint32_t v, uint32_t mask)
{
    bool in_range;

    return emu_shuffle(emu_now, EMU_BFLY, v, mask, 31, 0xFFFFFFFFu, &in_range);
}

static inline uint64_t emu_xor_u64(uint64_t v, uint32_t mask)
{
    const uint32_t low = emu_xor_u32((uint32_t)v, mask);

    return (uint64_t)emu_xor_u32((uint32_t)(v >> 32), mask) << 32 | low;
}

#define RP_GPU_SHUFFLE_XOR_U32(v, mask) emu_xor_u32(v, mask)
#define RP_GPU_SHUFFLE_XOR_U64(v, mask) emu_xor_u64(v, mask)
#define RP_GPU_SHUFFLE_XOR_F32(v, mask) emu_f32(emu_xor_u32(emu_b32(v), mask))
#define RP_GPU_SHUFFLE_XOR_F64(v, mask) emu_f64(emu_xor_u64(emu_b64(v), mask))
#define RP_GPU_ATOMIC_MIN_U64(p, v) ((void)emu_atom_min_u64((char *)(p), v))
#define RP_GPU_FMA_F32(a, b, c) __builtin_fmaf(a, b, c)
#define RP_GPU_FMA_F64(a, b, c) __builtin_fma(a, b, c)
#define RP_GPU_SQRT_F32(x) __builtin_sqrtf(x)
#define RP_GPU_SQRT_F64(x) __builtin_sqrt(x)
#define RP_GPU_BITS_F32(x) emu_b32(x)
#define RP_GPU_FROM_BITS_F32(u) emu_f32(u)
#define RP_GPU_BITS_F64(x) emu_b64(x)
#define RP_GPU_FROM_BITS_F64(u) emu_f64(u)
#define RP_GPU_PERMUTE(a, b, selector) emu_prmt(a, b, selector)
#define RP_GPU_UNROLL
#define RP_GPU_NO_UNROLL
#define RP_GPU_RESTRICT __restrict__

typedef char *rp_gpu_shared_at;
#define RP_GPU_SHARED_AT(p) ((char *)(p))
#define RP_GPU_COPY4(to, from) emu_copy_host(emu_now, to, (const char *)(from), 4)
#define RP_GPU_COPY8(to, from) emu_copy_host(emu_now, to, (const char *)(from), 8)
#define RP_GPU_COPY16(to, from) emu_copy_host(emu_now, to, (const char *)(from), 16)
#define RP_GPU_COPY_COMMIT() emu_copy_commit(emu_now)
#define RP_GPU_COPY_WAIT(n) emu_copy_wait(emu_now, n)

struct rp_gpu_f32x4 {
    float x, y, z, w;
};
struct rp_gpu_f64x2 {
    double x, y;
};
struct rp_gpu_u32x4 {
    uint32_t x, y, z, w;
};

template <class V> static inline V emu_load16(const void *at)
{
    V v;

    if ((uintptr_t)at % 16 != 0)
        emu_trap("an access that is not aligned to its size");
    memcpy(&v, at, sizeof v);
    return v;
}

template <class V> static inline void emu_store16(void *at, V v)
{
    if ((uintptr_t)at % 16 != 0)
        emu_trap("an access that is not aligned to its size");
    memcpy(at, &v, sizeof v);
}

#define RP_GPU_LOAD16(type, p) emu_load16<type>(p)
#define RP_GPU_STORE16(type, p, v) emu_store16<type>(p, v)

/* A kernel has one parameter, by value. */
template <class P> static inline void emu_call(void (*kernel)(P), const char *const *param)
{
    kernel(*(const P *)(const void *)param[0]);
}

template <class P> constexpr uint32_t emu_parameter_size(void (*)(P))
{
    return sizeof(P);
}

/* Rows of a file's table (source_table.py). */
#define EMU_SOURCE_KERNEL(name, threads, meets) \
    static void run_##name(emu_thread *, const char *const *param) \
    { \
        emu_call(name, param); \
    } \
    static const uint32_t size_##name[] = {emu_parameter_size(name)};
#define EMU_SOURCE_ROW(name, threads, meets) {#name, run_##name, size_##name, 1, 0, threads, meets},

#endif
