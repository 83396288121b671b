/* SPDX-License-Identifier: Apache-2.0
 * Turns are made level by level, m = 1, 2, 4, ..: every second one of a level is one of the level before, to the bit,
 * as its angle is the same product of which only the factors' powers of two differ. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "kernels/cpu/fourier/turns.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "determinism/math.h"

#ifndef MAP_NORESERVE
#define MAP_NORESERVE 0
#endif

typedef struct store {
    void *c, *d;
    atomic_size_t made; /* elements; what is in front of it does not change any more */
} store;

static store stores[2]; /* of f32 and f64 */
static pthread_mutex_t making = PTHREAD_MUTEX_INITIALIZER;

#define MAKE(T, name) \
    static void name(const store *s, size_t m) \
    { \
        T *const c = s->c, *const d = s->d; \
\
        for (size_t p = 0; p < m; p++) { \
            const double angle = (double)p * (6.2831853071795862 / (2 * (double)m)); \
            const bool known = p % 2 == 0 && m > 1; \
\
            c[m + p] = known ? c[m / 2 + p / 2] : (T)rp_cos_f64(angle); \
            d[m + p] = known ? d[m / 2 + p / 2] : (T)-rp_sin_f64(angle); \
        } \
    }
MAKE(float, make_f32)
MAKE(double, make_f64)

static bool reserve(store *s, size_t element)
{
    char *mapped;

    if (s->c)
        return true;
    mapped = mmap(NULL, 2 * element * RP_TURNS_LONGEST, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED)
        return false;
    s->c = mapped;
    s->d = mapped + element * RP_TURNS_LONGEST;
    return true;
}

bool rp_turns_get(rp_turns *turns, rp_dtype dtype, size_t n)
{
    store *const s = &stores[dtype == RP_F64];
    bool granted = true;
    size_t made;

    if (atomic_load_explicit(&s->made, memory_order_acquire) < n) {
        (void)pthread_mutex_lock(&making);
        granted = reserve(s, rp_dtype_size(dtype));
        made = atomic_load_explicit(&s->made, memory_order_relaxed);
        for (size_t m = made > 0 ? made : 1; granted && m < n; m *= 2) {
            (dtype == RP_F64 ? make_f64 : make_f32)(s, m);
            atomic_store_explicit(&s->made, 2 * m, memory_order_release);
        }
        (void)pthread_mutex_unlock(&making);
    }
    *turns = (rp_turns){s->c, s->d};
    return granted;
}
