/* SPDX-License-Identifier: Apache-2.0
 * Loops of the elementary functions in binary32 over contiguous data: all of it the fast way of fast_f32.h, then the
 * lanes which that left uncertain exactly. FAST_MAP(name) defines name_fast_f32, a map for elementwise.inc.h. */
#ifndef KERNELS_CPU_FAST_MAP_INC_H
#define KERNELS_CPU_FAST_MAP_INC_H

#include "kernels/cpu/functions/fast_f32.h"
#include "kernels/ref/functions/map.h"

#ifdef FAST_LANES

/* Elements between two mendings: so many that the uncertain lanes of a block fill about a vector. */
enum { FAST_BLOCK = 4096, FAST_GROUP = 64 };

/* Addresses of elements that are read or written soon, here or by other kernels: each turn of a loop asks for theirs,
 * as it computes long enough for memory to answer. The same address as another's costs nothing. */
enum { FAST_SOON = 3 };
typedef struct fast_soon {
    uintptr_t at[FAST_SOON];
} fast_soon;

/* Of element i of the run: the next row's, and those of views beyond the kernel's own (elementwise.c). */
RP_INLINE fast_soon fast_soon_from(const rp_walk *walk, size_t i)
{
    const uintptr_t own = (uintptr_t)walk->at[1] + i * sizeof(float);
    fast_soon soon = {{own, own, own}};

    if (walk->rank > 1)
        soon.at[0] += (uintptr_t)walk->bytes[1][walk->rank - 2];
    for (size_t v = 2; v < walk->n_views && v <= FAST_SOON; v++)
        soon.at[v - 1] = (uintptr_t)walk->at[v] + i * sizeof(float);
    return soon;
}

RP_INLINE void fast_ask(const fast_soon *soon, size_t element)
{
    for (size_t k = 0; soon != NULL && k < FAST_SOON; k++)
        __builtin_prefetch((const void *)(soon->at[k] + element * sizeof(float)), 0, 3);
}

/* The lanes that are certain, and a result that is right in these. */
typedef fast_mask fast_way(fast_f *y, fast_f x);
typedef void fast_exact(float *y); /* FAST_LANES elements in place */

/* The uncertain lanes of y (bitmaps of vectors, in groups of 64) hold their inputs. They are gathered, computed exactly
 * side by side, and put back. The loop turns once for each vector that has any: a branch for each lane would cost more.
 */
static __attribute__((noinline)) void fast_mend(float *y, const fast_lanes *uncertain, size_t vectors,
                                                fast_exact *exact)
{
    float some[FAST_BLOCK + FAST_LANES];
    uint32_t where[FAST_BLOCK + FAST_LANES];
    size_t count = 0;

    for (size_t first = 0; first < vectors; first += FAST_GROUP)
        for (uint64_t which = fast_nonzero(uncertain + first); which != 0; which &= which - 1) {
            size_t v = first + (size_t)__builtin_ctzll(which);

            count +=
                fast_pick(some + count, where + count, y + v * FAST_LANES, (uint32_t)(v * FAST_LANES), uncertain[v]);
        }
    fast_store(some + count, fast_all(0.5f)); /* an easy input of every function */
    for (size_t i = 0; i < count; i += FAST_LANES)
        exact(some + i);
    for (size_t i = 0; i < count; i++)
        y[where[i]] = some[i];
}

/* Vectors whose uncertain lanes are mended later, with those of the next rows: a row of some hundred elements leaves a
 * lane or none, and looking for it and an exact vector for it take a fifth of the row's time. */
typedef struct fast_owed {
    float *y;       /* of the first vector; the others lie behind one another */
    size_t vectors; /* at most FAST_BLOCK / FAST_LANES */
    fast_exact *exact;
    fast_lanes uncertain[FAST_BLOCK / FAST_LANES];
} fast_owed;

static inline void fast_pay(fast_owed *owed)
{
    size_t v = owed->vectors;

    if (v == 0)
        return;
    for (; v % FAST_GROUP != 0; v++)
        owed->uncertain[v] = 0;
    fast_mend(owed->y, owed->uncertain, owed->vectors, owed->exact);
    owed->vectors = 0;
}

/* Room for the lanes of `vectors` more of y. */
static inline fast_lanes *fast_owe(fast_owed *owed, float *y, size_t vectors, fast_exact *exact)
{
    fast_lanes *room;

    if (owed->vectors > 0 &&
        (owed->vectors + vectors > FAST_BLOCK / FAST_LANES || y != owed->y + owed->vectors * FAST_LANES))
        fast_pay(owed);
    if (owed->vectors == 0)
        owed->y = y, owed->exact = exact;
    room = owed->uncertain + owed->vectors;
    owed->vectors += vectors;
    return room;
}

/* Vectors a turn of the loop. The chain of operations of one vector is longer than the processor looks ahead, so some
 * are woven into each other, by a compiler that schedules before it allocates registers: GCC with -fschedule-insns, as
 * kernels/CMakeLists.txt has it for this level. Without that, and with clang, one by one is as fast or faster. Two, and
 * four of the functions with the fewest values at a time, which the others would spill. */
#if FAST_LANES == 16 && defined(__GNUC__) && !defined(__clang__)
enum { FAST_TURN = 2, FAST_TURN_MOST = 4 };
#else
enum { FAST_TURN = 1, FAST_TURN_MOST = 1 };
#endif

/* Vectors v to v + n - 1. An uncertain lane is stored as its input, as y may be x. soon: NULL, or of vector 0. */
RP_INLINE void fast_vectors(float *y, const float *x, fast_lanes *uncertain, size_t v, size_t n, fast_way *fast,
                            const fast_soon *soon)
{
    fast_f in[FAST_TURN_MOST], result[FAST_TURN_MOST];
    fast_mask certain[FAST_TURN_MOST];

    for (size_t k = 0; k < n; k++) {
        in[k] = fast_load(x + (v + k) * FAST_LANES);
        fast_ask(soon, (v + k) * FAST_LANES);
        certain[k] = fast(&result[k], in[k]);
    }
    for (size_t k = 0; k < n; k++) {
        uncertain[v + k] = fast_others(certain[k]);
        fast_store(y + (v + k) * FAST_LANES, fast_select(certain[k], result[k], in[k]));
    }
}

/* At most FAST_BLOCK / FAST_LANES vectors. No branch in the loop depends on the data: one that fails once in 30 vectors
 * would throw away the work on those behind it. owed: who mends later; NULL: it is done here. */
RP_INLINE void fast_block(float *y, const float *x, size_t vectors, fast_way *fast, fast_exact *exact,
                          const fast_soon *soon, fast_owed *owed)
{
    fast_lanes own[FAST_BLOCK / FAST_LANES], *uncertain = owed ? fast_owe(owed, y, vectors, exact) : own;
    const size_t turn = fast == fast_sigmoid || fast == fast_exp || fast == fast_log ? FAST_TURN_MOST : FAST_TURN;
    size_t v = 0;

    for (; v + turn <= vectors; v += turn)
        fast_vectors(y, x, uncertain, v, turn, fast, soon);
    for (; v < vectors; v++)
        fast_vectors(y, x, uncertain, v, 1, fast, soon);
    if (owed != NULL)
        return;
    for (; v % FAST_GROUP != 0; v++)
        uncertain[v] = 0;
    fast_mend(y, uncertain, vectors, exact);
}

/* What is less than a vector. */
RP_INLINE void fast_rest(float *y, const float *x, size_t n, fast_way *fast, fast_exact *exact)
{
    float part[FAST_LANES];
    fast_f result;

    for (size_t j = 0; j < FAST_LANES; j++)
        part[j] = j < n ? x[j] : 0.5f;
    if (fast_others(fast(&result, fast_load(part))) != 0)
        exact(part);
    else
        fast_store(part, result);
    for (size_t j = 0; j < n; j++)
        y[j] = part[j];
}

RP_INLINE void fast_run(float *y, const float *x, size_t n, fast_way *fast, fast_exact *exact, const fast_soon *soon,
                        fast_owed *owed)
{
    size_t whole = n / FAST_LANES * FAST_LANES;

    for (size_t i = 0, count; i < whole; i += count) {
        count = whole - i < FAST_BLOCK ? whole - i : FAST_BLOCK;
        if (soon == NULL) {
            fast_block(y + i, x + i, count / FAST_LANES, fast, exact, NULL, owed);
        } else {
            fast_soon from = *soon;

            for (size_t k = 0; k < FAST_SOON; k++)
                from.at[k] += i * sizeof(float);
            fast_block(y + i, x + i, count / FAST_LANES, fast, exact, &from, owed);
        }
    }
    if (whole < n)
        fast_rest(y + whole, x + whole, n - whole, fast, exact);
}

#define FAST_MAP(name) \
    RP_FLAT static void name##_exact(float *y) \
    { \
        RP_EACH(i, FAST_LANES) y[i] = rp_##name##_f32(y[i]); \
    } \
\
    static void name##_fast_f32(const rp_walk *walk) \
    { \
        const fast_soon soon = fast_soon_from(walk, 0); \
\
        if (walk->step[0] == 1 && walk->step[1] == 1) \
            fast_run(walk->at[0], walk->at[1], walk->run, fast_##name, name##_exact, &soon, walk->owed); \
        else \
            name##_map_f32(walk); \
    }

#endif
#endif
