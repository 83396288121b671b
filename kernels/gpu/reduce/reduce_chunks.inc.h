/* SPDX-License-Identifier: Apache-2.0
 * The sums of chunks of CONTRACT 4.1, and other reductions in the same shape. Parameters:
 *   CHUNKS(way)      the kernels' names, across and along
 *   T                element type; NONE: what a lane begins with; JOIN(a, b): b joins lane a
 *   TERM(v, w, center, scale)  the term of element v and, of the other operand, w; the rest is the output's
 *   OTHER            1: there is an other operand
 *   FINISH(p, s, center)  the result of the last sum s
 * along: an output's elements are what neighbours in a block read; 16 threads a chunk, 4 lanes each.
 * across: outputs are neighbours; a block takes a chunk of 32 of them, each warp eight lanes. */

#define ELEMENT(base, stride, pointer, r) ((const T *)p.pointer)[base + rp_gpu_offset(&p.reduced, p.stride, r)]
#if OTHER
#define TERM_AT(r) TERM(ELEMENT(at, x_reduced, x, r), ELEMENT(at_other, other_reduced, other, r), center, scale)
#else
#define TERM_AT(r) TERM(ELEMENT(at, x_reduced, x, r), (T)0, center, scale)
#endif

RP_GPU_FN void CHUNKS(put)(const rp_gpu_reduce &p, u32 output, u32 chunk, T s, T center)
{
    if (p.last)
        ((T *)p.y)[rp_gpu_offset(&p.kept, p.y_kept, output)] = FINISH(p, s, center);
    else
        ((T *)p.y)[(u64)output * p.chunks + chunk] = s;
}

RP_GPU_KERNEL(256, 4) CHUNKS(rp_gpu_along)(const RP_GPU_PARAMETER rp_gpu_reduce p)
{
    /* the threads before this one may be more than 32 bits hold, the teams are not */
    const u32 team = RP_GPU_BLOCK_X * (RP_GPU_THREADS / 16) + RP_GPU_THREAD / 16, t = RP_GPU_THREAD % 16;
    const u32 output = team / p.chunks, chunk = team - output * p.chunks;
    const bool there = output < p.outputs; /* threads without one go through the shuffles too */
    const u32 begin = chunk * RP_GPU_CHUNK, left = there ? p.n - begin : 0;
    const u32 end = begin + (left < RP_GPU_CHUNK ? left : RP_GPU_CHUNK);
    T lane[4] = {NONE, NONE, NONE, NONE}, center = 0, scale = 0;
    const i64 at = there ? rp_gpu_offset(&p.kept, p.x_kept, output) : 0;
#if OTHER
    const i64 at_other = there ? rp_gpu_offset(&p.kept, p.other_kept, output) : 0;
#endif

    RP_GPU_BEGIN(p);
    if (there) {
        center = p.center != NULL ? ((const T *)p.center)[output] : (T)0;
        scale = p.scale != NULL ? ((const T *)p.scale)[output] : (T)0;
    }
    u32 i = begin + 4 * t;
#if !OTHER
    if (p.wide)
        for (; i + 4 <= end; i += RP_GPU_LANES) {
            T v[4];

            RP_GPU_UNROLL for (int e = 0; e < 4; e += 16 / (int)sizeof(T))
                rp_gpu_take16(v + e, (const T *)p.x + at + i + e);
            RP_GPU_UNROLL for (int e = 0; e < 4; e++) lane[e] = JOIN(lane[e], TERM(v[e], (T)0, center, scale));
        }
#endif
    for (; i < end; i += RP_GPU_LANES)
        RP_GPU_UNROLL for (int e = 0; e < 4; e++) if (i + e < end) lane[e] = JOIN(lane[e], TERM_AT(i + e));
    /* lanes 4t .. 4t + 3 of all threads fold by widths 32, 16, 8, 4, and then in the thread */
    RP_GPU_UNROLL for (int half = 8; half > 0; half /= 2) RP_GPU_UNROLL for (int e = 0; e < 4; e++) lane[e] =
        JOIN(lane[e], SHUFFLE_XOR(lane[e], half));
    lane[0] = JOIN(lane[0], lane[2]);
    lane[1] = JOIN(lane[1], lane[3]);
    lane[0] = JOIN(lane[0], lane[1]);
    if (there && t == 0)
        CHUNKS(put)(p, output, chunk, lane[0], center);
}

RP_GPU_KERNEL(256, 4) CHUNKS(rp_gpu_across)(const RP_GPU_PARAMETER rp_gpu_reduce p)
{
    RP_GPU_SHARED(T, CHUNKS(folding), RP_GPU_LANES * 32);
    T *const folding = CHUNKS(folding);
    const u32 groups = (p.outputs + 31) / 32, chunk = RP_GPU_BLOCK_X / groups;
    const u32 o = RP_GPU_THREAD % 32, g = RP_GPU_THREAD / 32, output = (RP_GPU_BLOCK_X - chunk * groups) * 32 + o;
    const bool there = output < p.outputs;
    const u32 begin = chunk * RP_GPU_CHUNK, left = p.n - begin;
    const u32 end = begin + (left < RP_GPU_CHUNK ? left : RP_GPU_CHUNK);
    T lane[8] = {NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE}, center = 0, scale = 0;

    RP_GPU_BEGIN(p);
    if (there) {
        const i64 at = rp_gpu_offset(&p.kept, p.x_kept, output);
#if OTHER
        const i64 at_other = rp_gpu_offset(&p.kept, p.other_kept, output);
#endif

        center = p.center != NULL ? ((const T *)p.center)[output] : (T)0;
        scale = p.scale != NULL ? ((const T *)p.scale)[output] : (T)0;
        for (u32 i = begin + 8 * g; i < end; i += RP_GPU_LANES)
            RP_GPU_UNROLL for (int e = 0; e < 8; e++) if (i + e < end) lane[e] = JOIN(lane[e], TERM_AT(i + e));
    }
    RP_GPU_UNROLL for (int e = 0; e < 8; e++) folding[(8 * g + e) * 32 + o] = lane[e];
    RP_GPU_NO_UNROLL for (u32 width = RP_GPU_LANES / 2; width > 0; width /= 2)
    {
        RP_GPU_BARRIER();
        for (u32 l = g; l < width; l += 8)
            folding[l * 32 + o] = JOIN(folding[l * 32 + o], folding[(l + width) * 32 + o]);
    }
    if (there && g == 0)
        CHUNKS(put)(p, output, chunk, folding[o], center);
}

#undef ELEMENT
#undef TERM_AT
#undef CHUNKS
#undef NONE
#undef TERM
#undef OTHER
#undef JOIN
#undef FINISH
