/* SPDX-License-Identifier: Apache-2.0
 * The sums of chunks of CONTRACT 4.1, and other reductions in the same shape. Parameters:
 *   CHUNKS(way)      the kernels' names, across and along
 *   T                element type; NONE: what a lane begins with; JOIN(a, b): b joins lane a
 *   TERM(v, w, center, scale)  the term of element v and, of the other operand, w; the rest is the output's
 *   OTHER            1: there is an other operand
 *   AHEAD_BYTES      64, or 32 of terms that take many registers
 *   RESIDENT         blocks of 256 threads a multiprocessor: 4, or 3 where registers would not do
 *   FINISH(p, s, center)  the result of the last sum s
 * along: an output's elements are what neighbours in a block read; 16 threads a chunk, 4 lanes each.
 * across: outputs are neighbours, columns of a block; p.rows threads share a column's chunk: 64 of a lane each, 16 of
 * four, or one that has a lane for each of at most HELD elements (the lanes that none joins change no fold).
 * Memory answers after hundreds of cycles, so a thread asks for AHEAD elements before it joins the first. Those behind
 * the last are read at its place, and not joined: no branch parts the loads. */

#define ELEMENT(base, stride, pointer, r) ((const T *)p.pointer)[base + rp_gpu_offset(&p.reduced, p.stride, r)]
#ifndef AHEAD_BYTES
#define AHEAD_BYTES 64
#endif
#ifndef RESIDENT
#define RESIDENT 4
#endif
#define AHEAD (AHEAD_BYTES / (int)sizeof(T))
#define HELD (RP_GPU_HELD_BYTES / (int)sizeof(T))
#if OTHER
#define TERM_OF(v, r) TERM(v, ELEMENT(at_other, other_reduced, other, r), center, scale)
#else
#define TERM_OF(v, r) TERM(v, (T)0, center, scale)
#endif

RP_GPU_FN void CHUNKS(put)(const rp_gpu_reduce &p, u32 output, u32 chunk, T s, T center)
{
    if (p.last)
        ((T *)p.y)[rp_gpu_offset(&p.kept, p.y_kept, output)] = FINISH(p, s, center);
    else
        ((T *)p.y)[(u64)output * p.chunks + chunk] = s;
}

RP_GPU_KERNEL(256, RESIDENT) CHUNKS(rp_gpu_along)(const RP_GPU_PARAMETER rp_gpu_reduce p)
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
    if (p.wide) {
        for (; i + 4 + (AHEAD / 4 - 1) * RP_GPU_LANES <= end; i += AHEAD / 4 * RP_GPU_LANES) {
            T v[AHEAD];

            RP_GPU_UNROLL for (int e = 0; e < AHEAD; e += 16 / (int)sizeof(T))
                rp_gpu_take16(v + e, (const T *)p.x + at + i + e / 4 * RP_GPU_LANES + e % 4);
            RP_GPU_UNROLL for (int e = 0; e < AHEAD; e++) lane[e % 4] =
                JOIN(lane[e % 4], TERM(v[e], (T)0, center, scale));
        }
        for (; i + 4 <= end; i += RP_GPU_LANES) {
            T v[4];

            RP_GPU_UNROLL for (int e = 0; e < 4; e += 16 / (int)sizeof(T))
                rp_gpu_take16(v + e, (const T *)p.x + at + i + e);
            RP_GPU_UNROLL for (int e = 0; e < 4; e++) lane[e] = JOIN(lane[e], TERM(v[e], (T)0, center, scale));
        }
    }
#endif
    for (; i < end; i += RP_GPU_LANES) {
        T v[4];

        RP_GPU_UNROLL for (int e = 0; e < 4; e++)
        {
            const u32 r = i + e < end ? i + e : end - 1;

            v[e] = ELEMENT(at, x_reduced, x, r);
            v[e] = TERM_OF(v[e], r);
        }
        RP_GPU_UNROLL for (int e = 0; e < 4; e++) lane[e] = i + e < end ? JOIN(lane[e], v[e]) : lane[e];
    }
    /* lanes 4t .. 4t + 3 of all threads fold by widths 32, 16, 8, 4, and then in the thread */
    RP_GPU_UNROLL for (int half = 8; half > 0; half /= 2) RP_GPU_UNROLL for (int e = 0; e < 4; e++) lane[e] =
        JOIN(lane[e], SHUFFLE_XOR(lane[e], half));
    lane[0] = JOIN(lane[0], lane[2]);
    lane[1] = JOIN(lane[1], lane[3]);
    lane[0] = JOIN(lane[0], lane[1]);
    if (there && t == 0)
        CHUNKS(put)(p, output, chunk, lane[0], center);
}

/* Joins elements first + m p.rows of the reduced axes, m of [0, mine), to the thread's lanes. */
RP_GPU_FN void CHUNKS(join_rows)(const rp_gpu_reduce &p, T *lane, i64 at, i64 at_other, u32 first, u32 mine, T center,
                                 T scale)
{
    const i64 step = p.rows * p.x_reduced[0];
    const T *const x = (const T *)p.x + at + first * p.x_reduced[0];
#if OTHER
    const i64 step_other = p.rows * p.other_reduced[0];
    const T *const other = (const T *)p.other + at_other + first * p.other_reduced[0];
#endif

    (void)at_other;
    RP_GPU_NO_UNROLL for (u32 m = 0; m < mine; m += AHEAD)
    {
        T v[AHEAD];
#if OTHER
        T w[AHEAD];
#endif

        RP_GPU_UNROLL for (int e = 0; e < AHEAD; e++)
        {
            const u32 k = m + e < mine ? m + e : mine - 1;

            v[e] = x[k * step];
#if OTHER
            w[e] = other[k * step_other];
#endif
        }
#if OTHER
        RP_GPU_UNROLL for (int e = 0; e < AHEAD; e++) v[e] = TERM(v[e], w[e], center, scale);
#else
        RP_GPU_UNROLL for (int e = 0; e < AHEAD; e++) v[e] = TERM(v[e], (T)0, center, scale);
#endif
        if (p.rows == RP_GPU_LANES)
            RP_GPU_UNROLL for (int e = 0; e < AHEAD; e++) lane[0] = m + e < mine ? JOIN(lane[0], v[e]) : lane[0];
        else if (p.rows == RP_GPU_LANES / 4)
            RP_GPU_UNROLL for (int e = 0; e < AHEAD; e++) lane[e % 4] =
                m + e < mine ? JOIN(lane[e % 4], v[e]) : lane[e % 4];
        else
            RP_GPU_UNROLL for (int e = 0; e < HELD; e++) lane[e] = m + e < mine ? JOIN(lane[e], v[e]) : lane[e];
    }
}

/* The same where elements have no one distance; p.rows is 64. */
RP_GPU_FN T CHUNKS(join_far)(const rp_gpu_reduce &p, T lane, i64 at, i64 at_other, u32 first, u32 end, T center,
                             T scale)
{
    (void)at_other;
    RP_GPU_NO_UNROLL for (u32 i = first; i < end; i += 4 * RP_GPU_LANES)
    {
        T v[4];

        RP_GPU_UNROLL for (int e = 0; e < 4; e++)
        {
            const u32 r = i + e * RP_GPU_LANES < end ? i + e * RP_GPU_LANES : first;

            v[e] = ELEMENT(at, x_reduced, x, r);
            v[e] = TERM_OF(v[e], r);
        }
        RP_GPU_UNROLL for (int e = 0; e < 4; e++) lane = i + e * RP_GPU_LANES < end ? JOIN(lane, v[e]) : lane;
    }
    return lane;
}

RP_GPU_KERNEL(RP_GPU_ACROSS, RESIDENT / 2) CHUNKS(rp_gpu_across)(const RP_GPU_PARAMETER rp_gpu_reduce p)
{
    RP_GPU_SHARED(T, CHUNKS(folding), 4 * RP_GPU_ACROSS);
    T *const folding = CHUNKS(folding);
    const u32 columns = RP_GPU_THREADS / p.rows, groups = (p.outputs + columns - 1) / columns;
    const u32 chunk = RP_GPU_BLOCK_X / groups, g = RP_GPU_THREAD / columns, o = RP_GPU_THREAD - g * columns;
    const u32 output = (RP_GPU_BLOCK_X - chunk * groups) * columns + o, begin = chunk * RP_GPU_CHUNK;
    const u32 count = p.n - begin < RP_GPU_CHUNK ? p.n - begin : RP_GPU_CHUNK;
    const bool there = output < p.outputs;
    T lane[HELD], center = 0, scale = 0;

    RP_GPU_BEGIN(p);
    RP_GPU_UNROLL for (int e = 0; e < HELD; e++) lane[e] = NONE;
    if (there) {
        const i64 at = rp_gpu_offset(&p.kept, p.x_kept, output);
        const i64 at_other = OTHER ? rp_gpu_offset(&p.kept, p.other_kept, output) : 0;

        center = p.center != NULL ? ((const T *)p.center)[output] : (T)0;
        scale = p.scale != NULL ? ((const T *)p.scale)[output] : (T)0;
        if (p.reduced.rank > 1)
            lane[0] = CHUNKS(join_far)(p, lane[0], at, at_other, begin + g, begin + count, center, scale);
        else if (g < count)
            CHUNKS(join_rows)(p, lane, at, at_other, begin + g, (count - g + p.rows - 1) / p.rows, center, scale);
    }
    if (p.rows == 1) {
        RP_GPU_UNROLL for (int half = HELD / 2; half > 0; half /= 2) RP_GPU_UNROLL for (int e = 0; e < half; e++)
            lane[e] = JOIN(lane[e], lane[e + half]);
        if (there)
            CHUNKS(put)(p, output, chunk, lane[0], center);
        return;
    }
    folding[RP_GPU_THREAD] = lane[0];
    if (p.rows == RP_GPU_LANES / 4)
        RP_GPU_UNROLL for (int e = 1; e < 4; e++) folding[e * RP_GPU_THREADS + RP_GPU_THREAD] = lane[e];
    RP_GPU_NO_UNROLL for (u32 width = RP_GPU_LANES / 2; width > 0; width /= 2)
    {
        RP_GPU_BARRIER();
        for (u32 l = g; l < width; l += p.rows)
            folding[l * columns + o] = JOIN(folding[l * columns + o], folding[(l + width) * columns + o]);
    }
    if (there && g == 0)
        CHUNKS(put)(p, output, chunk, folding[o], center);
}

#undef ELEMENT
#undef TERM_OF
#undef AHEAD
#undef AHEAD_BYTES
#undef RESIDENT
#undef HELD
#undef CHUNKS
#undef NONE
#undef TERM
#undef OTHER
#undef JOIN
#undef FINISH
