/* SPDX-License-Identifier: Apache-2.0
 * Places of extremes (argmax, argmin of CONTRACT 4.3), chunk by chunk. Parameters: PLACES(way), T, BEATS(x, best).
 * Which of the elements compared first is free: of equal ones the least place is kept. Beyond the first level x is
 * [outputs, chunks] of values, with their places. */
RP_GPU_FN void PLACES(better)(T *best, i64 *place, T x, i64 at)
{
    const bool wins = BEATS(x, *best), loses = BEATS(*best, x);

    if (*place < 0 || (at >= 0 && (wins || (!loses && at < *place)))) {
        *best = x;
        *place = at;
    }
}

RP_GPU_FN void PLACES(put)(const rp_gpu_reduce &p, u32 output, u32 chunk, T best, i64 place)
{
    if (p.last) {
        ((i64 *)p.y)[rp_gpu_offset(&p.kept, p.y_kept, output)] = place < 0 ? 0 : place; /* 0 of none */
    } else {
        ((T *)p.y)[(u64)output * p.chunks + chunk] = best;
        p.y_places[(u64)output * p.chunks + chunk] = place;
    }
}

RP_GPU_FN i64 PLACES(place_of)(const rp_gpu_reduce &p, u32 output, u32 i)
{
    return p.places != NULL ? p.places[(u64)output * p.n + i] : (i64)i;
}

/* A warp takes a chunk. */
RP_GPU_KERNEL(256, 4) PLACES(rp_gpu_along)(const RP_GPU_PARAMETER rp_gpu_reduce p)
{
    /* the threads before this one may be more than 32 bits hold, the teams are not */
    const u32 team = RP_GPU_BLOCK_X * (RP_GPU_THREADS / 32) + RP_GPU_THREAD / 32, t = RP_GPU_THREAD % 32;
    const u32 output = team / p.chunks, chunk = team - output * p.chunks;
    const u32 begin = chunk * RP_GPU_CHUNK;
    T best = 0;
    i64 place = -1;

    RP_GPU_BEGIN(p);
    if (output < p.outputs) {
        const i64 at = rp_gpu_offset(&p.kept, p.x_kept, output);
        const u32 end = p.n - begin < RP_GPU_CHUNK ? p.n : begin + RP_GPU_CHUNK;

        for (u32 i = begin + t; i < end; i += 32)
            PLACES(better)
        (&best, &place, ((const T *)p.x)[at + rp_gpu_offset(&p.reduced, p.x_reduced, i)],
         PLACES(place_of)(p, output, i));
    }
    RP_GPU_UNROLL for (int half = 16; half > 0; half /= 2)
    {
        const T x = SHUFFLE_XOR(best, half);
        const i64 its = (i64)RP_GPU_SHUFFLE_XOR_U64((u64)place, half);

        if (its >= 0)
            PLACES(better)(&best, &place, x, its);
    }
    if (output < p.outputs && t == 0)
        PLACES(put)(p, output, chunk, best, place);
}

/* A thread takes a chunk of its output; neighbours read neighbours. */
RP_GPU_KERNEL(256, 4) PLACES(rp_gpu_across)(const RP_GPU_PARAMETER rp_gpu_reduce p)
{
    const u32 groups = (p.outputs + RP_GPU_THREADS - 1) / RP_GPU_THREADS, chunk = RP_GPU_BLOCK_X / groups;
    const u32 output = (RP_GPU_BLOCK_X - chunk * groups) * RP_GPU_THREADS + RP_GPU_THREAD;
    const u32 begin = chunk * RP_GPU_CHUNK, end = p.n - begin < RP_GPU_CHUNK ? p.n : begin + RP_GPU_CHUNK;
    T best = 0;
    i64 place = -1;

    RP_GPU_BEGIN(p);
    if (output >= p.outputs)
        return;
    const i64 at = rp_gpu_offset(&p.kept, p.x_kept, output);

    for (u32 i = begin; i < end; i++)
        PLACES(better)
    (&best, &place, ((const T *)p.x)[at + rp_gpu_offset(&p.reduced, p.x_reduced, i)], PLACES(place_of)(p, output, i));
    PLACES(put)(p, output, chunk, best, place);
}

#undef PLACES
#undef BEATS
