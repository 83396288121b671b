/* SPDX-License-Identifier: Apache-2.0
 * Limits of the host, each the best of a few short runs: a limit is what the machine can do, not what it does on
 * average beside other work. */
#include "kernels/limits.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TRIES = 5, CHAINS = 12 };
static const size_t fma_rounds = 400000;

static double seconds(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double rp_seconds_now(void)
{
    return seconds(CLOCK_MONOTONIC);
}

double rp_seconds_cpu(void)
{
    return seconds(CLOCK_THREAD_CPUTIME_ID);
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

double rp_median(double *times, size_t n)
{
    qsort(times, n, sizeof *times, compare);
    return n % 2 ? times[n / 2] : (times[n / 2 - 1] + times[n / 2]) / 2;
}

/* CHAINS independent chains cover latency times width on every processor to date. The asm makes the compiler keep each
 * fma in the loop; the unrolling keeps the chains in registers. */
#define EACH_CHAIN _Pragma("GCC unroll 12") for (int i = 0; i < CHAINS; i++)
#define FMA_LOOP(name, isa, vec, set, fma, kept) \
    isa static double name(size_t rounds) \
    { \
        vec chain[CHAINS], x = set(0.999), y = set(0.5); \
\
        EACH_CHAIN chain[i] = set(i); \
        for (size_t r = 0; r < rounds; r++) \
            EACH_CHAIN \
            { \
                chain[i] = fma(chain[i], x, y); \
                __asm__ volatile("" : "+" kept(chain[i])); \
            } \
        return (double)rounds; \
    }

#if defined(__x86_64__)
#include <immintrin.h>
#define AVX512 __attribute__((target("avx512f")))
#define AVX2 __attribute__((target("avx2,fma")))
#define SET_F32_512(x) _mm512_set1_ps((float)(x))
#define SET_F32_256(x) _mm256_set1_ps((float)(x))
#define SET_F64_512(x) _mm512_set1_pd((double)(x))
#define SET_F64_256(x) _mm256_set1_pd((double)(x))
FMA_LOOP(fma_f32_avx512, AVX512, __m512, SET_F32_512, _mm512_fmadd_ps, "v")
FMA_LOOP(fma_f64_avx512, AVX512, __m512d, SET_F64_512, _mm512_fmadd_pd, "v")
FMA_LOOP(fma_f32_avx2, AVX2, __m256, SET_F32_256, _mm256_fmadd_ps, "x")
FMA_LOOP(fma_f64_avx2, AVX2, __m256d, SET_F64_256, _mm256_fmadd_pd, "x")
#elif defined(__aarch64__)
#include <arm_neon.h>
#define SET_F32_128(x) vdupq_n_f32((float)(x))
#define SET_F64_128(x) vdupq_n_f64((double)(x))
FMA_LOOP(fma_f32_neon, , float32x4_t, SET_F32_128, vfmaq_f32, "w")
FMA_LOOP(fma_f64_neon, , float64x2_t, SET_F64_128, vfmaq_f64, "w")
#endif

typedef double fma_loop(size_t rounds);

static fma_loop *widest(size_t size, size_t *bytes)
{
#if defined(__x86_64__)
    *bytes = 64;
    if (__builtin_cpu_supports("avx512f"))
        return size == 4 ? fma_f32_avx512 : fma_f64_avx512;
    *bytes = 32;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return size == 4 ? fma_f32_avx2 : fma_f64_avx2;
#elif defined(__aarch64__)
    *bytes = 16;
    return size == 4 ? fma_f32_neon : fma_f64_neon;
#endif
    (void)size;
    *bytes = 0;
    return NULL;
}

typedef struct job {
    fma_loop *loop;
    char *to;
    const char *from;
    size_t size; /* bytes an item */
    volatile double sink;
} job;

static void run_fma(void *arg, size_t begin, size_t end)
{
    job *j = arg;

    for (size_t i = begin; i < end; i++)
        j->sink = j->loop(fma_rounds);
}

static void run_read(void *arg, size_t begin, size_t end)
{
    job *j = arg;
    const uint64_t *x = (const uint64_t *)(const void *)(j->from + begin * j->size);
    uint64_t sum[32] = {0};

    for (size_t i = 0; i < (end - begin) * j->size / sizeof *x; i += 32)
        for (size_t lane = 0; lane < 32; lane++)
            sum[lane] += x[i + lane];
    for (size_t lane = 0; lane < 32; lane++)
        j->sink = (double)sum[lane];
}

static void run_copy(void *arg, size_t begin, size_t end)
{
    job *j = arg;

    memcpy(j->to + begin * j->size, j->from + begin * j->size, (end - begin) * j->size);
}

static double best_of(rp_pool *pool, size_t items, rp_pool_work *work, job *j)
{
    double best = 0;

    for (int t = 0; t < TRIES; t++) {
        const double start = rp_seconds_now();
        double took;

        rp_pool_run(pool, items, 1, work, j);
        took = rp_seconds_now() - start;
        if (best == 0 || took < best)
            best = took;
    }
    return best;
}

double rp_limit_fma(rp_pool *pool, size_t size)
{
    const unsigned threads = rp_pool_threads(pool);
    size_t bytes;
    job j = {.loop = widest(size, &bytes)};
    double took;

    if (j.loop == NULL)
        return 0;
    took = best_of(pool, threads, run_fma, &j);
    return 2.0 * (double)(bytes / size) * CHAINS * (double)fma_rounds * threads / took;
}

static double peak_memory(rp_pool *pool, size_t bytes, bool copy)
{
    enum { ITEM = 4096 };
    job j = {.size = ITEM};
    char *from = malloc(bytes), *to = copy ? malloc(bytes) : NULL;
    double took = 0;

    if (from != NULL && (!copy || to != NULL)) {
        memset(from, 1, bytes);
        if (copy)
            memset(to, 2, bytes);
        j.from = from;
        j.to = to;
        took = best_of(pool, bytes / ITEM, copy ? run_copy : run_read, &j);
    }
    free(from);
    free(to);
    return took > 0 ? (double)bytes * (copy ? 2 : 1) / took : 0;
}

double rp_limit_read(rp_pool *pool, size_t bytes)
{
    return peak_memory(pool, bytes, false);
}

double rp_limit_copy(rp_pool *pool, size_t bytes)
{
    return peak_memory(pool, bytes, true);
}
