/* SPDX-License-Identifier: Apache-2.0
 * One source of device code for two compilers: CUDA C (nvcc), and C++ of the host, where tests run a block's threads as
 * fibers (RP_GPU_HOST names the header that does). Rules for what is written with it: no templates; no function of a
 * mathematical library; fma only as RP_GPU_FMA; every other operator of reals is one IEEE operation to nearest, which
 * the flags of the build and the tests of the PTX hold. Blocks have one axis of threads. */
#ifndef KERNELS_GPU_GPU_H
#define KERNELS_GPU_GPU_H

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef uint32_t u32;
typedef uint64_t u64;
typedef int64_t i64;

/* What every launch carries: a word that is not 0 when an index was wrong, and then nothing more is executed
 * (kernels/device.h, rp_device_check). The first member of each kernel's parameters; each kernel but the hash and the
 * pack, which are what copies to the host are, begins with RP_GPU_BEGIN(p). All threads of a block find the same there.
 */
typedef struct rp_gpu_head {
    const u32 *fault;
} rp_gpu_head;

#define RP_GPU_BEGIN(p) \
    do { \
        if (*(p).head.fault != 0) \
            return; \
    } while (0)

#if defined(__CUDACC__)

/* RP_GPU_KERNEL(256, 2) rp_gpu_name(const struct parameters p): blocks of 256 threads, 2 resident a multiprocessor.
 * rp_gpu_ is every kernel's prefix; names are unique over all files, and the launch code finds kernels by them. */
#define RP_GPU_KERNEL(threads, blocks) extern "C" __global__ void __launch_bounds__(threads, blocks)
#define RP_GPU_FN static __device__ __forceinline__
/* Of a parameter whose address is taken: it is read where it lies. */
#define RP_GPU_PARAMETER __grid_constant__
#define RP_GPU_SHARED(type, name, count) __shared__ __align__(16) type name[count]
/* As large as the launch says; `most` is for the host's form. One a kernel. */
#define RP_GPU_SHARED_GIVEN(type, name, most) extern __shared__ __align__(16) type name[]
#define RP_GPU_BLOCK_X blockIdx.x
#define RP_GPU_BLOCK_Y blockIdx.y
#define RP_GPU_BLOCK_Z blockIdx.z
#define RP_GPU_BLOCKS_X gridDim.x
#define RP_GPU_BLOCKS_Y gridDim.y
#define RP_GPU_BLOCKS_Z gridDim.z
#define RP_GPU_THREAD threadIdx.x
#define RP_GPU_THREADS blockDim.x
#define RP_GPU_BARRIER() __syncthreads()
#define RP_GPU_SHUFFLE_XOR_U32(v, mask) __shfl_xor_sync(0xFFFFFFFFu, (u32)(v), mask)
#define RP_GPU_SHUFFLE_XOR_U64(v, mask) ((u64)__shfl_xor_sync(0xFFFFFFFFu, (unsigned long long)(v), mask))
#define RP_GPU_SHUFFLE_XOR_F32(v, mask) __shfl_xor_sync(0xFFFFFFFFu, (float)(v), mask)
#define RP_GPU_SHUFFLE_XOR_F64(v, mask) __shfl_xor_sync(0xFFFFFFFFu, (double)(v), mask)
/* Integers only: sums of reals have an order. */
#define RP_GPU_ATOMIC_MIN_U64(p, v) ((void)atomicMin((unsigned long long *)(p), (unsigned long long)(v)))
#define RP_GPU_FMA_F32(a, b, c) __fmaf_rn(a, b, c)
#define RP_GPU_FMA_F64(a, b, c) __fma_rn(a, b, c)
#define RP_GPU_SQRT_F32(x) __fsqrt_rn(x)
#define RP_GPU_SQRT_F64(x) __dsqrt_rn(x)
#define RP_GPU_BITS_F32(x) __float_as_uint(x)
#define RP_GPU_FROM_BITS_F32(u) __uint_as_float(u)
#define RP_GPU_BITS_F64(x) ((u64)__double_as_longlong(x))
#define RP_GPU_FROM_BITS_F64(u) __longlong_as_double((long long)(u))
/* The bytes of two words that a selector names, four bits each, the least first: 0 to 3 are a's, 4 to 7 b's. */
#define RP_GPU_PERMUTE(a, b, selector) __byte_perm(a, b, selector)
#define RP_GPU_UNROLL _Pragma("unroll")
#define RP_GPU_NO_UNROLL _Pragma("unroll 1")
#define RP_GPU_RESTRICT __restrict__

/* Asynchronous copies into shared memory; a kernel keeps an address of its own there, in bytes. */
typedef u32 rp_gpu_shared_at;
#define RP_GPU_SHARED_AT(p) ((u32)__cvta_generic_to_shared(p))
#define RP_GPU_COPY4(to, from) asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(from) : "memory")
#define RP_GPU_COPY8(to, from) asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"(to), "l"(from) : "memory")
#define RP_GPU_COPY16(to, from) \
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory")
#define RP_GPU_COPY_COMMIT() asm volatile("cp.async.commit_group;" ::: "memory")
#define RP_GPU_COPY_WAIT(n) asm volatile("cp.async.wait_group %0;" ::"n"(n) : "memory")

/* 16 bytes at once, aligned. */
typedef float4 rp_gpu_f32x4;
typedef double2 rp_gpu_f64x2;
typedef uint4 rp_gpu_u32x4;
#define RP_GPU_LOAD16(type, p) (*(const type *)(p))
#define RP_GPU_STORE16(type, p, v) (*(type *)(p) = (v))

#elif defined(RP_GPU_HOST)
/* Defines all of the names above for the host, RP_GPU_KERNEL as a static function with the launch by the header's own.
 */
#include RP_GPU_HOST
#endif

#endif
