/* SPDX-License-Identifier: Apache-2.0
 * Comparisons, conversions, moves, random numbers and optimizers as device code, by the formulas of kernels/ref. A walk
 * of one element makes a thread's part of what there is a loop. */
#include "kernels/gpu/device_map.h"

#include "kernels/gpu/device_begin.h"

/* ---- compare, select, convert ---- */
#include "kernels/ref/compare.inc.h"
#include "kernels/ref/casts/casts.inc.h"
#include "kernels/ref/casts/casts_stored.inc.h"
#include "kernels/ref/casts/bitcasts.inc.h"

#define WHERE(type) RP_GPU_MAP(rp_gpu_where_##type, 4, where_map_##type(walk);)
WHERE(f32)
WHERE(f64)
WHERE(i32)
WHERE(i64)
WHERE(bool)
WHERE(bf16)

/* ---- move: bits are kept, so elements of one size are one type ---- */
#define RP_MOVED(name)
#include "kernels/gpu/move_kernels.inc.h"

/* ---- indices: the first in row-major order that is not below the bound (own[0]); extra[0] is the fault ---- */
RP_GPU_MAP(rp_gpu_index_find, 1, rp_gpu_fault *fault = (rp_gpu_fault *)p.extra[0];
           if ((u64)rp_gpu_index_at(&p, walk->at[0]) >= (u64)p.own[0]) RP_GPU_ATOMIC_MIN_U64(&fault->element, i);)

/* After it, for one thread: element 0 of the walk is the one that was found; own[1] is where. */
RP_GPU_KERNEL(32, 1) rp_gpu_index_note(const RP_GPU_PARAMETER rp_gpu_map p)
{
    rp_gpu_fault *fault = (rp_gpu_fault *)p.extra[0];
    rp_walk walk;

    RP_GPU_BEGIN(p);
    if (RP_GPU_THREAD != 0 || fault->element == ~(u64)0)
        return;
    rp_gpu_walk_to(&walk, &p, fault->element, 1);
    fault->value = rp_gpu_index_at(&p, walk.at[0]);
    fault->bound = (u64)p.own[0];
    fault->where = (u64)p.own[1];
    fault->faulted = 1;
}

/* ---- random numbers: p.extra[0] is the random state, own[0] its length, own[1] the elements between two ---- */
#include "kernels/walk.c" /* it has loops of its own besides */
#include "kernels/ref/random.c"

#define DRAW(name, n, type, a, b) \
    RP_GPU_MAP(rp_gpu_##name##_##type, n, rp_view rng; \
               rng.data = (void *)p.extra[0]; rng.shape[0] = (size_t)p.own[0]; rng.stride[0] = p.own[1]; \
               const draw d = draw_of(&rng, RP_AT(walk->attr, name, stream).i, a, b); name##_map_##type(walk, &d);)
#define DRAWS(name, n, a, b) DRAW(name, n, f32, a, b) DRAW(name, n, f64, a, b)
DRAWS(uniform, 1, RP_AT(walk->attr, uniform, low).r, RP_AT(walk->attr, uniform, high).r)
DRAWS(normal, 1, RP_AT(walk->attr, normal, mean).r, RP_AT(walk->attr, normal, deviation).r)
DRAWS(dropout, 2, RP_AT(walk->attr, dropout, rate).r, 0)

/* ---- optimizers: the scalars are p.extra, in order ---- */
#include "kernels/type_f32.h"
#include "kernels/ref/optimizer_type.inc.h"
#include "kernels/type_f64.h"
#include "kernels/ref/optimizer_type.inc.h"


#define STEP(name, outs, n, type) \
    RP_GPU_MAP(rp_gpu_##name##_##type, outs + n, rp_view in[RP_GPU_MAP_VIEWS + RP_GPU_EXTRAS]; \
               rp_kernel_args args; args.in = in; args.attr = walk->attr; in[n].data = (void *)p.extra[0]; \
               in[n + 1].data = (void *)p.extra[1]; in[n + 2].data = (void *)p.extra[2]; \
               name##_map_##type(walk, &args, true);)
#define STEPS(name, outs, n) STEP(name, outs, n, f32) STEP(name, outs, n, f64)
STEPS(sgd, 2, 3)
STEPS(adam, 3, 4)
STEPS(adamw, 3, 4)
STEPS(rmsprop, 3, 4)
STEPS(lion, 2, 3)
STEPS(adagrad, 2, 3)

#include "kernels/gpu/device_end.h"
