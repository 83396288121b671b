/* SPDX-License-Identifier: Apache-2.0
 * Small kernels by which the emulated device itself is tested: one of each thing that a kernel can do wrong. */
#include <stdint.h>

#define KERNEL(threads) extern "C" __global__ void __launch_bounds__(threads)

/* y[i] = a[i] + b[i], with a bound */
struct add_parameters {
    const float *a, *b;
    float *y;
    uint64_t n;
};

KERNEL(128) emu_add(const struct add_parameters p)
{
    const uint64_t i = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x;

    if (i < p.n)
        p.y[i] = p.a[i] + p.b[i];
}

/* y[i] = a[i] * b[i] + y[i]: two roundings */
KERNEL(128) emu_scale(const struct add_parameters p)
{
    const uint64_t i = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x;

    if (i < p.n)
        p.y[i] = p.a[i] * p.b[i] + p.y[i];
}

/* y [m, n] = a [m, k] b [k, n], each output one ascending chain: tiles of 16 x 16 outputs and 8 steps of k, copied
 * asynchronously into two stages; the last steps of k, which are no whole tile, are not padded. */
struct product_parameters {
    const float *a, *b;
    float *y;
    uint32_t m, n, k;
};

enum { TILE = 16, DEEP = 8 };

static __device__ __forceinline__ void copy4(float *to, const float *from)
{
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"((uint32_t)__cvta_generic_to_shared(to)), "l"(from)
                 : "memory");
}

/* What is beyond an edge of the matrices is not copied: a and b have 256 threads, half of them for each. */
static __device__ __forceinline__ void fetch(const struct product_parameters &p, float (*a)[DEEP + 1],
                                             float (*b)[TILE], uint32_t row, uint32_t col, uint32_t l)
{
    const uint32_t t = threadIdx.x;

    if (t < TILE * DEEP) {
        const uint32_t i = t / DEEP, s = t % DEEP;

        if (row + i < p.m && l + s < p.k)
            copy4(&a[i][s], p.a + (uint64_t)(row + i) * p.k + l + s);
    } else {
        const uint32_t s = (t - TILE * DEEP) / TILE, j = t % TILE;

        if (col + j < p.n && l + s < p.k)
            copy4(&b[s][j], p.b + (uint64_t)(l + s) * p.n + col + j);
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
}

KERNEL(TILE *TILE) emu_product(const struct product_parameters p)
{
    __shared__ float a[2][TILE][DEEP + 1], b[2][DEEP][TILE];
    const uint32_t row = blockIdx.y * TILE, col = blockIdx.x * TILE, i = threadIdx.x / TILE, j = threadIdx.x % TILE;
    float sum = 0;

    fetch(p, a[0], b[0], row, col, 0);
    for (uint32_t l = 0, stage = 0; l < p.k; l += DEEP, stage ^= 1) {
        const uint32_t left = p.k - l;

        fetch(p, a[stage ^ 1], b[stage ^ 1], row, col, l + DEEP);
        asm volatile("cp.async.wait_group 1;" ::: "memory");
        __syncthreads();
#ifdef PAD_PRODUCT
        const uint32_t steps = DEEP;
#else
        const uint32_t steps = left < DEEP ? left : DEEP;
#endif
#pragma unroll 1
        for (uint32_t s = 0; s < steps; s++)
            sum = __fmaf_rn(s < left ? a[stage][i][s] : 0.0f, s < left ? b[stage][s][j] : 0.0f, sum);
        __syncthreads();
    }
    if (row + i < p.m && col + j < p.n)
        p.y[(uint64_t)(row + i) * p.n + col + j] = sum;
}

/* y[warp of x] = the fold by halves of 32 numbers, by shuffles; lane i takes x[i] of what its warp begins at */
struct fold_parameters {
    const float *x;
    float *y;
    uint32_t *votes;
};

KERNEL(96) emu_fold(const struct fold_parameters p)
{
    const uint32_t warp = blockIdx.x * 3 + threadIdx.x / 32, lane = threadIdx.x % 32;
    float v = p.x[blockIdx.x * 96 + threadIdx.x];
    const uint32_t negative = __ballot_sync(0xFFFFFFFFu, v < 0);

    for (int step = 16; step > 0; step /= 2)
        v = v + __shfl_down_sync(0xFFFFFFFFu, v, step);
    if (lane == 0) {
        p.y[warp] = v;
        p.votes[warp] = negative;
    }
}

/* Each real instruction once: what the list of instructions says of its rounding. y [18, n] of 64 bits. */
struct arithmetic_parameters {
    const double *a, *b;
    uint64_t *y;
    uint32_t n;
};

KERNEL(64) emu_arithmetic(const struct arithmetic_parameters p)
{
    const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x, n = p.n;

    if (i >= n)
        return;
    const double a = p.a[i], b = p.b[i];
    const float x = __double2float_rn(a), z = __double2float_rn(b);
    uint64_t *y = p.y + i;
    y[0] = __float_as_uint(__fadd_rn(x, z));
    y[n] = __float_as_uint(__fsub_rn(x, z));
    y[2 * n] = __float_as_uint(__fmul_rn(x, z));
    y[3 * n] = __float_as_uint(__fdiv_rn(x, z));
    y[4 * n] = __float_as_uint(__fsqrt_rn(x));
    y[5 * n] = __float_as_uint(__fmaf_rn(x, z, x));
    y[6 * n] = (uint64_t)__double_as_longlong(__dadd_rn(a, b));
    y[7 * n] = (uint64_t)__double_as_longlong(__dmul_rn(a, b));
    y[8 * n] = (uint64_t)__double_as_longlong(__ddiv_rn(a, b));
    y[9 * n] = (uint64_t)__double_as_longlong(__dsqrt_rn(a));
    y[10 * n] = (uint64_t)__double_as_longlong(__fma_rn(a, b, a));
    y[11 * n] = __float_as_uint(x);
    y[12 * n] = (uint64_t)(int64_t)__float2int_rz(x);
    y[13 * n] = (uint64_t)__double2ll_rz(a);
    y[14 * n] = (uint64_t)__double2ull_rz(a);
    y[15 * n] = __float_as_uint(__ll2float_rn(__double_as_longlong(a)));
    y[16 * n] = __float_as_uint(__ull2float_rn((uint64_t)__double_as_longlong(a)));
    y[17 * n] = (uint64_t)__double_as_longlong(__ll2double_rn(__double_as_longlong(a)));
}

/* Counts without an order: integers. */
KERNEL(64) emu_count(const uint32_t *x, unsigned long long *least, uint32_t *sum, uint32_t n)
{
    const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n) {
        atomicAdd(sum, x[i]);
        atomicMin(least, (unsigned long long)x[i] << 32 | i);
    }
}

/* An access in words of 16 bytes. */
KERNEL(32) emu_wide(const float4 *x, float4 *y)
{
    y[threadIdx.x] = x[threadIdx.x];
}

/* Half of the block leaves before the others' barrier. */
KERNEL(64) emu_leave_early(float *x)
{
    if (threadIdx.x < 32)
        return;
    x[threadIdx.x] = 1;
    __syncthreads();
    x[threadIdx.x] = x[95 - threadIdx.x] + 1;
}

/* Two halves of a block at two barriers. */
KERNEL(64) emu_two_barriers(float *x)
{
    if (threadIdx.x < 32) {
        x[threadIdx.x] = 1;
        __syncthreads();
        x[threadIdx.x] += x[63 - threadIdx.x];
    } else {
        x[threadIdx.x] = 2;
        __syncthreads();
        x[threadIdx.x] *= x[63 - threadIdx.x];
    }
}
