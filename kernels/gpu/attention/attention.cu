/* SPDX-License-Identifier: Apache-2.0
 * What attention and its gradient do with scores between matrix products (CONTRACT 7.13), in place: a team, which is a
 * warp or a block, takes a row. Sums are those of 4.1: each warp makes the sums of some of the row's chunks, two of the
 * 64 lanes a thread, and one warp adds these. */
#include "kernels/gpu/attention/attention_args.h"
#include "kernels/gpu/contract.h"

#define WARP 32u
#define WARPS 8u
#define LANES 64u
#define CHUNK RP_GPU_ATTENTION_CHUNK

/* A thread's part of a row: of query i, which sees the keys [from, to) that the mask leaves. */
typedef struct attending {
    u32 lane, warp, warps; /* this thread, and the team's warps */
    u32 n, chunks;
    u32 from, to;
    u64 at, place; /* the row's first element in memory, and among all weights */
    i64 mask;
    u64 seed, step;
    u32 stream;
} attending;

RP_GPU_FN attending attending_of(const rp_gpu_attention &p, u32 row)
{
    const u32 in_block = RP_GPU_THREAD / WARP;
    const u64 n = p.n, head = p.first + row / p.rows, i = p.begin + row % p.rows;
    const u64 past = p.causal ? 0 : p.window > 0 ? p.window - 1 : n;
    const u64 from = p.window > 0 && i >= p.window ? i - p.window + 1 : 0;
    attending a;
    u64 rest = head;

    a.lane = RP_GPU_THREAD % WARP;
    a.warp = p.block ? in_block : 0;
    a.warps = p.block ? WARPS : 1;
    a.n = (u32)n;
    a.chunks = (a.n + CHUNK - 1) / CHUNK;
    a.from = (u32)(from < n ? from : n);
    a.to = (u32)(i < n && past < n - i ? i + past + 1 : n);
    a.at = row * p.pitch;
    a.place = (head * p.m + i) * n;
    a.mask = 0;
    a.seed = a.step = a.stream = 0;
    if (p.mask != NULL) {
        a.mask = (i64)i * p.mask_row;
        RP_GPU_NO_UNROLL for (int axis = RP_GPU_ATTENTION_AXES - 1; axis >= 0; axis--)
        {
            a.mask += (i64)(rest % p.lead[axis]) * p.mask_lead[axis];
            rest /= p.lead[axis];
        }
    }
    if (p.rng != NULL) {
        a.seed = (u64)p.rng[0];
        a.step = (u64)p.rng[p.rng_step];
        a.stream = (u32)(p.stream + (p.rng_offset ? (u64)p.rng[2 * p.rng_step] : 0));
    }
    return a;
}

/* Bit u: key j0 + 32 u is seen. The mask is read behind a branch, so that without one nothing waits for it. */
RP_GPU_FN u32 attention_seen(const rp_gpu_attention &p, const attending &a, u32 j0, u32 batch)
{
    u32 seen = 0, chosen = 0;

    RP_GPU_UNROLL for (u32 u = 0; u < batch; u++) seen |= (u32)(j0 + u * WARP >= a.from && j0 + u * WARP < a.to) << u;
    if (!p.chosen)
        return seen;
    RP_GPU_UNROLL for (u32 u = 0; u < batch; u++) if (seen >> u & 1) chosen |=
        (u32)(((const unsigned char *)p.mask)[a.mask + (i64)(j0 + u * WARP) * p.mask_col] != 0) << u;
    return chosen;
}
/* Bit u: key j0 + 32 u is kept by dropout. Words are chosen by comparisons, since registers have no numbers. */
RP_GPU_FN u32 attention_kept(const rp_gpu_attention &p, const attending &a, u32 j0, u32 batch)
{
    u32 kept = 0;

    RP_GPU_NO_UNROLL for (u32 u = 0; u < batch; u++)
    {
        const u64 at = a.place + j0 + u * WARP;
        const rp_philox4 words = rp_random_block(a.seed, a.step, a.stream, at / 4);
        const u32 low = at & 1 ? words.v[1] : words.v[0], high = at & 1 ? words.v[3] : words.v[2];

        kept |= (u32)((double)rp_uniform_f32(at & 2 ? high : low) >= p.rate) << u;
    }
    return kept;
}

#define T float
#define PASTE(name) name##_f32
#define BATCH 8u
#define SHUFFLE_XOR RP_GPU_SHUFFLE_XOR_F32
#define EXP rp_exp_f32
#define LOWEST (-RP_GPU_FROM_BITS_F32(0x7F800000u))
#define SIGN_BIT(x) (RP_GPU_BITS_F32(x) >> 31)
#include "kernels/gpu/attention/attention_type.inc.h"

#define T double
#define PASTE(name) name##_f64
#define BATCH 4u
#define SHUFFLE_XOR RP_GPU_SHUFFLE_XOR_F64
#define EXP rp_exp_f64
#define LOWEST (-RP_GPU_FROM_BITS_F64(UINT64_C(0x7FF0000000000000)))
#define SIGN_BIT(x) (RP_GPU_BITS_F64(x) >> 63)
#include "kernels/gpu/attention/attention_type.inc.h"
