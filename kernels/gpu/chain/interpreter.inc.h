/* SPDX-License-Identifier: Apache-2.0
 * A kernel that computes a chain: decodes a step once for ELEMENTS elements of a thread, which lie as far apart as a
 * block has threads. Parameters: CHAIN(name), its names; REG, what holds a value; ELEMENTS; WITH_WIDE, that it
 * knows values of 64 bits. They end with it. Before it: chain.cu down to there. */

#define LANES(e) RP_GPU_UNROLL for (int e = 0; e < ELEMENTS; e++)
#define KEPT(slot, e) kept[((u32)(slot)*ELEMENTS + (e)) * RP_GPU_BLOCK + RP_GPU_THREAD]

/* Element `turn` of the thread, of which `first` is the first. Where fewer are left the first one is computed again,
 * with the same result in the same place. */
RP_GPU_FN u64 CHAIN(element)(const rp_gpu_chain *p, u64 first, u32 turn)
{
    const u64 element = first + (u64)turn * RP_GPU_BLOCK;

    return element < p->count ? element : first;
}

/* Bytes from element 0 of a view to each of the elements. */
RP_GPU_FN void CHAIN(by_axes)(i64 *bytes, const rp_gpu_chain *p, const rp_gpu_step_view *v, const u64 *index)
{
    u64 rest[ELEMENTS];

    LANES(e)
    {
        rest[e] = index[e];
        bytes[e] = 0;
    }
    RP_GPU_NO_UNROLL for (int d = (int)v->axes - 1; d >= 0; d--)
    {
        const rp_gpu_step_axis *const axis = &p->axis[v->axis + d];
        const u64 length = axis->length;
        const i64 apart = axis->bytes;

        LANES(e)
        {
            const u64 at = d > 0 ? rp_gpu_split(&rest[e], length) : rest[e];

            bytes[e] += (i64)at * apart;
        }
    }
}

#define LOAD(type) LANES(e) x[e] = (REG) * (const type *)rp_gpu_beyond(v->at, bytes[e])

RP_GPU_FN void CHAIN(load)(REG *x, const rp_gpu_step_view *v, const i64 *bytes)
{
    switch (v->size) {
    case 1:
        LOAD(uint8_t);
        break;
    case 2:
        LOAD(uint16_t);
        break;
#if defined(WITH_WIDE)
    case 8:
        LOAD(u64);
        break;
#endif
    default:
        LOAD(u32);
        break;
    }
}
#undef LOAD

#define STORE(type) LANES(e)((type *)v->at)[index[e]] = (type)y[e]

RP_GPU_FN void CHAIN(store)(const rp_gpu_step_view *v, const REG *y, const u64 *index)
{
    switch (v->size) {
    case 1:
        STORE(uint8_t);
        break;
    case 2:
        STORE(uint16_t);
        break;
#if defined(WITH_WIDE)
    case 8:
        STORE(u64);
        break;
#endif
    default:
        STORE(u32);
        break;
    }
}
#undef STORE

/* Operand n of the step. */
RP_GPU_FN void CHAIN(take)(REG *x, const rp_gpu_chain *p, const rp_gpu_step *s, int n, const REG *last, const REG *kept,
                           const u64 *index)
{
    const u32 at = s->at[n];
    const rp_gpu_step_view *const v = &p->view[at];
    i64 bytes[ELEMENTS];

    switch (s->from[n]) {
    case RP_GPU_FROM_LAST:
        LANES(e) x[e] = last[e];
        return;
    case RP_GPU_FROM_KEPT:
        LANES(e) x[e] = KEPT(at, e);
        return;
    case RP_GPU_FROM_WHOLE:
        LANES(e) bytes[e] = (i64)(index[e] * v->size);
        break;
    default:
        CHAIN(by_axes)(bytes, p, v, index);
        break;
    }
    CHAIN(load)(x, v, bytes);
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
        TURNS(FN(rp_gpu_put)(FN(rp_gpu_dropped)(p, s, FN(rp_gpu_get)(IN0), CHAIN(element)(p, index[0], turn)))) \
        break; \
    }

RP_GPU_FN void CHAIN(compute)(REG *y, const rp_gpu_chain *p, const rp_gpu_step *s, const u64 *index, REG *a, REG *b,
                              const REG *c)
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

/* The last operand is taken first and moves on, so that the code that takes one stands there once. */
RP_GPU_KERNEL(RP_GPU_BLOCK, 4) CHAIN(run)(const RP_GPU_PARAMETER rp_gpu_chain p)
{
    const u64 apart = (u64)RP_GPU_BLOCKS_X * ELEMENTS * RP_GPU_BLOCK;
    RP_GPU_SHARED_GIVEN(REG, CHAIN(kept), RP_GPU_CHAIN_KEPT * ELEMENTS * RP_GPU_BLOCK);
    REG *const kept = CHAIN(kept);

    RP_GPU_BEGIN(p);
    RP_GPU_NO_UNROLL for (u64 i = p.first + (u64)RP_GPU_BLOCK_X * ELEMENTS * RP_GPU_BLOCK + RP_GPU_THREAD; i < p.count;
                          i += apart)
    {
        REG a[ELEMENTS], b[ELEMENTS], c[ELEMENTS], y[ELEMENTS];
        u64 index[ELEMENTS];

        LANES(e)
        {
            a[e] = b[e] = c[e] = y[e] = 0;
            index[e] = CHAIN(element)(&p, i, (u32)e);
        }
        RP_GPU_NO_UNROLL for (u32 k = 0; k < p.n_steps; k++)
        {
            const rp_gpu_step *const s = &p.step[k];

            RP_GPU_NO_UNROLL for (int n = (int)s->n_in - 1; n >= 0; n--)
            {
                LANES(e)
                {
                    c[e] = b[e];
                    b[e] = a[e];
                }
                CHAIN(take)(a, &p, s, n, y, kept, index);
            }
            CHAIN(compute)(y, &p, s, index, a, b, c);
            if (s->keep != RP_GPU_NOWHERE)
                LANES(e) KEPT(s->keep, e) = y[e];
            if (s->store != RP_GPU_NOWHERE)
                CHAIN(store)(&p.view[s->store], y, index);
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
#undef WITH_WIDE
