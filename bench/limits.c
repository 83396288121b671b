/* SPDX-License-Identifier: Apache-2.0
 * Loops over memory, as wide as the processor has vectors. */
#include "limits.h"

#include <stdbool.h>

#include "kernels/limits.h"
#if defined(__x86_64__)
#include <immintrin.h>
#endif

typedef struct pass {
    const bench_streams *streams;
    bool bypass;
} pass;

static volatile long long sink, zero; /* so that reads count as used and writes as new */
/* What is written where nothing was read. Not zero bits: this processor (Zen 4) stores whole lines of zeros past the
 * caches at 50 to 88 GB/s, two to three times as fast as any other line, which is no limit for kernels that store
 * values. */
static volatile long long pattern = 0x3f8123453f812345;

/* Constant reads, writes and bypass make straight code of it. */
#define PASS(name, isa, vec, store) \
    isa static inline __attribute__((always_inline)) void name##_of(const bench_streams *s, size_t begin, size_t end, \
                                                                    int reads, int writes, bool bypass) \
    { \
        vec nothing = {0}, made = {0}, seen = {0}; \
\
        made |= pattern; \
        nothing |= zero; \
        for (size_t i = begin; i < end; i += sizeof(vec)) { \
            vec value[LIMIT_READS] = {{0}}; \
\
            for (int r = 0; r < reads; r++) { \
                value[r] = *(const vec *)((const char *)s->in[r] + i); \
                seen |= value[r]; \
            } \
            for (int w = 0; w < writes; w++) { \
                vec *to = (vec *)((char *)s->out[w] + i); \
                const vec v = (w < reads ? value[w] : made) | nothing; \
\
                if (bypass) \
                    store(to, v); \
                else \
                    *to = v; \
            } \
        } \
        sink = seen[0]; \
    } \
    isa static void name(const pass *p, size_t begin, size_t end) \
    { \
        const bench_streams *s = p->streams; \
\
        FORMS(name, 1, 0) \
        FORMS(name, 2, 0) \
        FORMS(name, 0, 1) FORMS(name, 1, 1) FORMS(name, 2, 1) FORMS(name, 3, 1) FORMS(name, 3, 2) FORMS(name, 4, 3) \
    }

#define FORMS(name, r, w) \
    if (s->reads == (r) && s->writes == (w) && p->bypass) \
        name##_of(s, begin, end, r, w, true); \
    else if (s->reads == (r) && s->writes == (w)) \
        name##_of(s, begin, end, r, w, false);

#if defined(__x86_64__)
typedef long long vec64 __attribute__((vector_size(64), may_alias));
typedef long long vec16 __attribute__((vector_size(16), may_alias));
#define STORE_64(to, v) _mm512_stream_si512((__m512i *)(to), (__m512i)(v))
#define STORE_16(to, v) _mm_stream_si128((__m128i *)(to), (__m128i)(v))
PASS(wide, __attribute__((target("avx512f"))), vec64, STORE_64)
PASS(narrow, , vec16, STORE_16)

static void run(void *arg, size_t begin, size_t end)
{
    /* not ?:, as the wide loop must not be touched without AVX-512 */
    if (__builtin_cpu_supports("avx512f"))
        wide(arg, 64 * begin, 64 * end);
    else
        narrow(arg, 64 * begin, 64 * end);
    _mm_sfence();
}
#else
typedef long long vec16 __attribute__((vector_size(16), may_alias));
#define STORE_16(to, v) (*(to) = (v))
PASS(narrow, , vec16, STORE_16)

static void run(void *arg, size_t begin, size_t end)
{
    narrow(arg, 64 * begin, 64 * end);
}
#endif

double bench_clock(const rp_pool *pool)
{
    return pool == NULL ? rp_seconds_cpu() : rp_seconds_now();
}

double bench_pass(rp_pool *pool, const bench_streams *streams, int bypass)
{
    pass p = {streams, bypass != 0};
    const double start = bench_clock(pool);

    rp_pool_run(pool, streams->bytes / 64, 1, run, &p);
    return bench_clock(pool) - start;
}
