/* SPDX-License-Identifier: Apache-2.0
 * Turns of powers of two are made level by level, m = 1, 2, 4, ..: every second one of a level is one of the level
 * before, to the bit, as its angle is the same product of which only the factors' powers of two differ. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "kernels/cpu/fourier/turns.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "determinism/math.h"
#include "kernels/fourier/factors.h"

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

/* ---- lengths that are no powers of two ---- */

enum { PLACES = 32, MOST_BYTES = 1 << 26, NOT_KEPT = -1 };

typedef struct place {
    void *turns;                  /* c, then d */
    size_t n, bytes, used, since; /* used: by so many callers; since: when it was last asked for */
    rp_dtype dtype;
} place;

static place places[PLACES];
static size_t asked;

/* cos and -sin of 2 pi k / n, as the reference's turn_by. */
static void put_turn(void *c, void *d, rp_dtype dtype, size_t at, size_t k, size_t n)
{
    const bool mirrored = k > n / 2;
    const double angle = (double)(mirrored ? n - k : k) * (6.2831853071795862 / (double)n);
    const double re = rp_cos_f64(angle), im = mirrored ? rp_sin_f64(angle) : -rp_sin_f64(angle);

    if (dtype == RP_F64) {
        ((double *)c)[at] = re;
        ((double *)d)[at] = im;
    } else {
        ((float *)c)[at] = (float)re;
        ((float *)d)[at] = (float)im;
    }
}

/* Elements of c, and of d; some more, which a vector beyond the last may read. */
static size_t others(const rp_fourier_factors *f, size_t n)
{
    size_t count = n + 64;

    for (int k = 0; k < f->count; k++)
        if (f->radix[k] > 2 && (k == 0 || f->radix[k] != f->radix[k - 1]))
            count += f->radix[k];
    return count;
}

static void fill_place(const place *at, const rp_fourier_factors *f)
{
    const size_t n = at->n;
    void *const c = at->turns, *const d = (char *)at->turns + at->bytes / 2;
    size_t s = 1, root = n;

    for (int k = 0; k < f->count; k++) {
        const size_t r = f->radix[k], m = n / s / r;

        for (size_t h = 1; h < r; h++)
            for (size_t p = 0; p < m; p++)
                put_turn(c, d, at->dtype, h * m + p, p * h * s, n);
        if (r > 2 && (k == 0 || r != f->radix[k - 1])) {
            for (size_t h = 0; h < r; h++)
                put_turn(c, d, at->dtype, root + h, h * (n / r), n);
            root += r;
        }
        s *= r;
    }
}

/* That of n and dtype, or the one that was asked for longest ago of those that are not in use; -1: none. */
static int place_of(rp_dtype dtype, size_t n)
{
    int oldest = NOT_KEPT;

    for (int i = 0; i < PLACES; i++) {
        if (places[i].turns && places[i].n == n && places[i].dtype == dtype)
            return i;
        if (places[i].used == 0 && (oldest < 0 || places[i].since < places[oldest].since))
            oldest = i;
    }
    return oldest;
}

/* Frees what was asked for longest ago until what is kept, or being made, is no more than the most. */
static void make_room(void)
{
    for (int left = PLACES; left > 0; left--) {
        size_t sum = 0;
        int oldest = NOT_KEPT;

        for (int i = 0; i < PLACES; i++) {
            sum += places[i].bytes;
            if (places[i].turns && places[i].used == 0 && (oldest < 0 || places[i].since < places[oldest].since))
                oldest = i;
        }
        if (sum <= MOST_BYTES || oldest < 0)
            return;
        free(places[oldest].turns);
        places[oldest] = (place){0};
    }
}

static bool make_place(place *at, rp_dtype dtype, size_t n)
{
    rp_fourier_factors factors;

    (void)rp_fourier_factor(&factors, n);
    free(at->turns);
    *at = (place){.n = n, .dtype = dtype, .bytes = 2 * rp_dtype_size(dtype) * others(&factors, n)};
    make_room();
    at->turns = calloc(1, at->bytes);
    if (!at->turns) {
        *at = (place){0};
        return false;
    }
    fill_place(at, &factors);
    return true;
}

static bool get_other(rp_turns *turns, rp_dtype dtype, size_t n)
{
    bool granted;
    int i;

    (void)pthread_mutex_lock(&making);
    i = place_of(dtype, n);
    granted = i >= 0 && ((places[i].n == n && places[i].dtype == dtype) || make_place(&places[i], dtype, n));
    if (granted) {
        places[i].used++;
        places[i].since = ++asked;
        *turns = (rp_turns){places[i].turns, (char *)places[i].turns + places[i].bytes / 2, i};
    }
    (void)pthread_mutex_unlock(&making);
    return granted;
}

void rp_turns_return(const rp_turns *turns)
{
    if (turns->kept == NOT_KEPT)
        return;
    (void)pthread_mutex_lock(&making);
    places[turns->kept].used--;
    (void)pthread_mutex_unlock(&making);
}

bool rp_turns_get(rp_turns *turns, rp_dtype dtype, size_t n)
{
    store *const s = &stores[dtype == RP_F64];
    bool granted = true;
    size_t made;

    if ((n & (n - 1)) != 0)
        return get_other(turns, dtype, n);
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
    *turns = (rp_turns){s->c, s->d, NOT_KEPT};
    return granted;
}
