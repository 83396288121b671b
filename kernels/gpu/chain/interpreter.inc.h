/* SPDX-License-Identifier: Apache-2.0
 * A kernel that computes a chain: decodes a step once for ELEMENTS elements of a thread, which lie beside each other.
 * Parameters: CHAIN(name), its names; REG, what holds a value; ELEMENTS; RESIDENT, blocks on a multiprocessor;
 * WITH_WIDE, that it knows values of 64 bits. They end with it. Before it: chain.cu down to there. */

#define LANES(e) RP_GPU_UNROLL for (int e = 0; e < ELEMENTS; e++)
#define KEPT(slot, e) kept[((u32)(slot)*ELEMENTS + (e)) * RP_GPU_THREADS + RP_GPU_THREAD]

/* The thread's elements; behind the last of all there may be fewer. Then values are those of the first again, which
 * nobody stores. */
typedef struct CHAIN(elements) {
    u64 first;
    u32 count;
} CHAIN(elements);

RP_GPU_FN u64 CHAIN(element)(const CHAIN(elements) * of, u32 turn)
{
    return of->first + (turn < of->count ? turn : 0);
}

/* Where an element of a view lies; and whether as many from it on as a thread has lie evenly, `apart` bytes from one to
 * the next. */
RP_GPU_FN const void *CHAIN(place)(const rp_gpu_chain *p, const rp_gpu_step_view *v, bool whole, u64 element,
                                   i64 *apart, bool *even)
{
    u64 rest = element;
    i64 bytes = 0;

    *even = true;
    *apart = whole ? v->size : 0;
    if (whole)
        return rp_gpu_beyond(v->at, (i64)(element * v->size));
    RP_GPU_NO_UNROLL for (int d = (int)v->axes - 1; d >= 0; d--)
    {
        const rp_gpu_step_axis *const axis = &p->axis[v->axis + d];
        const u64 at = d > 0 ? rp_gpu_split(&rest, axis->length) : rest;

        bytes += (i64)at * axis->bytes;
        if (d == (int)v->axes - 1) {
            *even = axis->length - at >= ELEMENTS;
            *apart = axis->bytes;
        }
    }
    return rp_gpu_beyond(v->at, bytes);
}

/* An element of so many bytes. */
RP_GPU_FN REG CHAIN(load)(const void *at, u32 size)
{
    switch (size) {
    case 1:
        return *(const uint8_t *)at;
    case 2:
        return *(const uint16_t *)at;
#if defined(WITH_WIDE)
    case 8:
        return (REG) * (const u64 *)at;
#endif
    default:
        return *(const u32 *)at;
    }
}

RP_GPU_FN bool CHAIN(is_aligned)(const void *at)
{
    return ((uintptr_t)at & 15) == 0;
}

#define LOAD(type) LANES(e) x[e] = (REG) * (const type *)rp_gpu_beyond(at, e * apart)

/* Elements that lie evenly: one, neighbours as wide as registers, others. */
RP_GPU_FN void CHAIN(load_even)(REG *x, const void *at, i64 apart, u32 size)
{
    if (apart == 0) {
        const REG one = CHAIN(load)(at, size);

        LANES(e) x[e] = one;
    } else if (size == sizeof(REG)) {
        if (ELEMENTS * sizeof(REG) >= 16 && apart == (i64)sizeof(REG) && CHAIN(is_aligned)(at))
            RP_GPU_UNROLL for (int e = 0; e < ELEMENTS; e += 16 / (int)sizeof(REG)) CHAIN(take16)(x + e, at, e);
        else
            LOAD(REG);
    } else {
        switch (size) {
        case 1:
            LOAD(uint8_t);
            break;
        case 2:
            LOAD(uint16_t);
            break;
        default:
            LOAD(u32);
            break;
        }
    }
}
#undef LOAD

#define STORE(type) LANES(e) if ((u32)e < of->count)((type *)at)[e] = (type)y[e]

RP_GPU_FN void CHAIN(store)(const rp_gpu_step_view *v, const REG *y, const CHAIN(elements) * of)
{
    void *const at = rp_gpu_beyond(v->at, (i64)(of->first * v->size));

    switch (v->size) {
    case 1:
        STORE(uint8_t);
        break;
    case 2:
        STORE(uint16_t);
        break;
#if defined(WITH_WIDE)
    case 4:
        STORE(u32);
        break;
#endif
    default:
        if (ELEMENTS * sizeof(REG) >= 16 && of->count == ELEMENTS && CHAIN(is_aligned)(at))
            RP_GPU_UNROLL for (int e = 0; e < ELEMENTS; e += 16 / (int)sizeof(REG)) CHAIN(put16)(y + e, at, e);
        else
            STORE(REG);
        break;
    }
}
#undef STORE

/* Operand n of the step. Where elements do not lie evenly they take turns, each moving on to the front. */
RP_GPU_FN void CHAIN(take)(REG *x, const rp_gpu_chain *p, const rp_gpu_step *s, int n, const REG *last, const REG *kept,
                           const CHAIN(elements) * of)
{
    const u32 from = s->from[n];
    const rp_gpu_step_view *const v = &p->view[s->at[n]];

    if (from == RP_GPU_FROM_LAST) {
        LANES(e) x[e] = last[e];
        return;
    }
    if (from == RP_GPU_FROM_KEPT) {
        LANES(e) x[e] = KEPT(s->at[n], e);
        return;
    }
    RP_GPU_NO_UNROLL for (u32 turn = 0; turn < ELEMENTS; turn++)
    {
        bool even;
        i64 apart;
        const void *const at = CHAIN(place)(p, v, from == RP_GPU_FROM_WHOLE, CHAIN(element)(of, turn), &apart, &even);

        if (turn == 0 && even && of->count == ELEMENTS) {
            CHAIN(load_even)(x, at, apart, v->size);
            return;
        }
        RP_GPU_UNROLL for (int e = 0; e + 1 < ELEMENTS; e++) x[e] = x[e + 1];
        x[ELEMENTS - 1] = CHAIN(load)(at, v->size);
    }
}

#define IN0 a[e]
#define IN1 b[e]
#define IN2 c[e]
#define REAL(k) ((T)s->real[k])
#define WHOLE s->whole
#define STEP_light(name, value) \
    case FN(RP_GPU_STEP_##name): { \
        LANES(e) y[e] = (REG)(value); \
        break; \
    }
#define STEP_cast(from, to, value) \
    case RP_GPU_STEP_cast##from##to: { \
        LANES(e) y[e] = (REG)(value); \
        break; \
    }
#define STEP_where(value) \
    case RP_GPU_STEP_where: { \
        LANES(e) y[e] = (value); \
        break; \
    }
/* What is long stands there once: the elements take turns, each moving on to the front of the registers. */
RP_GPU_FN void CHAIN(turn)(REG *a, REG *b, REG *y, REG made)
{
    RP_GPU_UNROLL for (int e = 0; e + 1 < ELEMENTS; e++)
    {
        a[e] = a[e + 1];
        b[e] = b[e + 1];
        y[e] = y[e + 1];
    }
    y[ELEMENTS - 1] = made;
}
#define TURNS(value) \
    RP_GPU_NO_UNROLL for (u32 turn = 0; turn < ELEMENTS; turn++) \
    { \
        const int e = 0; \
\
        CHAIN(turn)(a, b, y, (REG)(value)); \
    }
#define STEP_function(name, value) \
    case FN(RP_GPU_STEP_##name): { \
        TURNS(value) \
        break; \
    }
#define STEP_dropout() \
    case FN(RP_GPU_STEP_dropout): { \
        TURNS(FN(rp_gpu_put)(FN(rp_gpu_dropped)(p, s, FN(rp_gpu_get)(IN0), CHAIN(element)(of, turn)))) \
        break; \
    }

RP_GPU_FN void CHAIN(compute)(REG *y, const rp_gpu_chain *p, const rp_gpu_step *s, const CHAIN(elements) * of, REG *a,
                              REG *b, const REG *c)
{
    switch (s->code) {
#include "kernels/gpu/chain/steps_narrow.inc.h"
#if defined(WITH_WIDE)
#include "kernels/gpu/chain/steps_wide.inc.h"
#endif
    default:
        break;
    }
}

RP_GPU_KERNEL(RP_GPU_BLOCK, RESIDENT) CHAIN(run)(const RP_GPU_PARAMETER rp_gpu_chain p)
{
    const u64 apart = (u64)RP_GPU_BLOCKS_X * ELEMENTS * RP_GPU_THREADS;
    RP_GPU_SHARED_GIVEN(REG, CHAIN(kept), RP_GPU_CHAIN_KEPT * ELEMENTS * RP_GPU_BLOCK);
    REG *const kept = CHAIN(kept);

    RP_GPU_BEGIN(p);
    RP_GPU_NO_UNROLL for (u64 i = p.first + ((u64)RP_GPU_BLOCK_X * RP_GPU_THREADS + RP_GPU_THREAD) * ELEMENTS;
                          i < p.count; i += apart)
    {
        const CHAIN(elements) of = {i, p.count - i < ELEMENTS ? (u32)(p.count - i) : ELEMENTS};
        REG y[ELEMENTS];

        LANES(e) y[e] = 0;
        RP_GPU_NO_UNROLL for (u32 k = 0; k < p.n_steps; k++)
        {
            const rp_gpu_step *const s = &p.step[k];
            REG a[ELEMENTS], b[ELEMENTS], c[ELEMENTS];

            LANES(e) a[e] = b[e] = c[e] = 0; /* no step's operands stay in registers for the next */
            if (s->n_in > 2)
                CHAIN(take)(c, &p, s, 2, y, kept, &of);
            if (s->n_in > 1)
                CHAIN(take)(b, &p, s, 1, y, kept, &of);
            CHAIN(take)(a, &p, s, 0, y, kept, &of);
            CHAIN(compute)(y, &p, s, &of, a, b, c);
            if (s->keep != RP_GPU_NOWHERE)
                LANES(e) KEPT(s->keep, e) = y[e];
            if (s->store != RP_GPU_NOWHERE)
                CHAIN(store)(&p.view[s->store], y, &of);
        }
    }
}

#undef LANES
#undef KEPT
#undef IN0
#undef IN1
#undef IN2
#undef REAL
#undef WHOLE
#undef STEP_light
#undef STEP_function
#undef STEP_cast
#undef STEP_where
#undef STEP_dropout
#undef TURNS
#undef CHAIN
#undef REG
#undef ELEMENTS
#undef RESIDENT
#undef WITH_WIDE
