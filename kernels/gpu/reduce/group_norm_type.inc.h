/* SPDX-License-Identifier: Apache-2.0
 * The kernels of group norm of one type. Parameters: T, PASTE(name), SHUFFLE_XOR, ROOT. A warp makes a group's numbers;
 * of elements a thread takes 16 bytes of neighbouring channels, or one. */

/* The fold of 64 lanes, of which thread t holds t and t + 32: every thread has the sum. */
RP_GPU_FN T PASTE(group_fold)(T low, T high)
{
    T sum = low + high;

    RP_GPU_UNROLL for (int half = 16; half > 0; half /= 2) sum = sum + SHUFFLE_XOR(sum, half);
    return sum;
}

/* The sum (CONTRACT 4.1) over the channels [first, first + width) of the channels' sums, by gamma where there is one.
 * At most 4096 chunks, which join the lanes of another level; one alone is not changed by that. */
RP_GPU_FN T PASTE(group_sum)(const rp_gpu_group_numbers &p, const T *sums, u32 first_channel, u32 lane)
{
    T low = 0, high = 0;
    u32 chunk = 0;

    for (u32 begin = 0; begin < p.width; begin += RP_GPU_CHUNK, chunk++) {
        const u32 end = p.width - begin < RP_GPU_CHUNK ? p.width : begin + RP_GPU_CHUNK;
        T lanes[2] = {0, 0}, sum;

        RP_GPU_NO_UNROLL for (u32 i = begin + lane; i < end; i += AHEAD * WARP)
        {
            T term[AHEAD];

            RP_GPU_UNROLL for (u32 e = 0; e < AHEAD; e++)
            {
                const u32 at = i + e * WARP < end ? i + e * WARP : i;

                term[e] = sums[at];
                if (p.gamma != NULL)
                    term[e] = ((const T *)p.gamma)[(i64)(first_channel + at) * p.gamma_step] * term[e];
            }
            RP_GPU_UNROLL for (u32 e = 0; e < AHEAD; e++) lanes[e % 2] =
                i + e * WARP < end ? lanes[e % 2] + term[e] : lanes[e % 2];
        }
        sum = PASTE(group_fold)(lanes[0], lanes[1]);
        if (chunk % RP_GPU_LANES == lane)
            low = low + sum;
        if (chunk % RP_GPU_LANES == lane + WARP)
            high = high + sum;
    }
    return PASTE(group_fold)(low, high);
}

/* A warp a group: its number, and what each of its channels has of it. */
RP_GPU_KERNEL(THREADS, 4) PASTE(rp_gpu_group_numbers)(const RP_GPU_PARAMETER rp_gpu_group_numbers p)
{
    const u32 lane = RP_GPU_THREAD % WARP, item = RP_GPU_BLOCK_X * (THREADS / WARP) + RP_GPU_THREAD / WARP;
    const u32 sample = item / p.groups, group = item - sample * p.groups, channel = group * p.width;
    const rp_gpu_group_number &of = p.number[RP_GPU_BLOCK_Y];
    const u64 first = (u64)item * p.width; /* in [samples, channels] */
    T number;

    RP_GPU_BEGIN(p);
    if (item >= p.items)
        return; /* all of a warp */
    if (of.sums != NULL)
        number = PASTE(group_sum)(p, (const T *)of.sums + first, channel, lane) / (T)p.n;
    else
        number = ((const T *)of.given)[sample * of.given_step[0] + group * of.given_step[1]];
    if (of.out != NULL && lane == 0)
        ((T *)of.out)[sample * of.out_step[0] + group * of.out_step[1]] = number;
    if (of.inverse)
        number = (T)1 / ROOT(number + (T)p.eps);
    for (u32 i = lane; i < p.width; i += WARP) {
        ((T *)of.spread)[first + i] = number;
        if (of.sums_out != NULL)
            ((T *)of.sums_out)[sample * of.sums_out_step[0] + (i64)(channel + i) * of.sums_out_step[1]] =
                ((const T *)of.sums)[first + i];
    }
}

#define WIDTH (16 / (int)sizeof(T))

/* The item's row of the operands, its first channel, and that channel's place in [samples, channels]. */
#define EACH_ITEM \
    const u32 pieces = p.wide ? p.channels / WIDTH : p.channels; \
\
    RP_GPU_BEGIN(p); \
    for (u32 item = RP_GPU_BLOCK_X * THREADS + RP_GPU_THREAD, row, c, at; \
         item < p.items && (row = item / pieces, c = (item - row * pieces) * (p.wide ? WIDTH : 1), \
                           at = row / p.positions * p.channels + c, true); \
         item += RP_GPU_BLOCKS_X * THREADS)
#define PLACE(v) (rp_gpu_offset(&p.rows, p.v##_row, row) + (i64)c * p.v##_last)

RP_GPU_FN T PASTE(group_normal)(T x, T mean, T r, T gamma, T beta)
{
    return ((x - mean) * r) * gamma + beta;
}

/* y = ((x - mean) r) gamma + beta */
RP_GPU_KERNEL(THREADS, 4) PASTE(rp_gpu_group_apply)(const RP_GPU_PARAMETER rp_gpu_group_norm p)
{
    EACH_ITEM
    {
        const T *const x = (const T *)p.x + PLACE(x), *const mean = (const T *)p.center + at;
        const T *const r = (const T *)p.scale + at, *const gamma = (const T *)p.gamma + (i64)c * p.gamma_step;
        const T *const beta = (const T *)p.beta + (i64)c * p.beta_step;
        T *const y = (T *)p.y + PLACE(y), v[5][WIDTH];

        if (!p.wide) {
            *y = PASTE(group_normal)(*x, *mean, *r, *gamma, *beta);
            continue;
        }
        rp_gpu_take16(v[0], x);
        rp_gpu_take16(v[1], mean);
        rp_gpu_take16(v[2], r);
        rp_gpu_take16(v[3], gamma);
        rp_gpu_take16(v[4], beta);
        RP_GPU_UNROLL for (int e = 0; e < WIDTH; e++) v[0][e] =
            PASTE(group_normal)(v[0][e], v[1][e], v[2][e], v[3][e], v[4][e]);
        rp_gpu_put16(y, v[0]);
    }
}

RP_GPU_FN T PASTE(group_slope)(T g, T x, T mean, T r, T gamma, T a, T b)
{
    return ((g * gamma - a) - ((x - mean) * r) * b) * r;
}

/* dx = ((g gamma - a) - z b) r, z = (x - mean) r */
RP_GPU_KERNEL(THREADS, 4) PASTE(rp_gpu_group_grad)(const RP_GPU_PARAMETER rp_gpu_group_norm p)
{
    EACH_ITEM
    {
        const T *const g = (const T *)p.g + PLACE(g), *const x = (const T *)p.x + PLACE(x);
        const T *const mean = (const T *)p.center + at, *const r = (const T *)p.scale + at;
        const T *const a = (const T *)p.a + at, *const b = (const T *)p.b + at;
        const T *const gamma = (const T *)p.gamma + (i64)c * p.gamma_step;
        T *const dx = (T *)p.y + PLACE(y), v[7][WIDTH];

        if (!p.wide) {
            *dx = PASTE(group_slope)(*g, *x, *mean, *r, *gamma, *a, *b);
            continue;
        }
        rp_gpu_take16(v[0], g);
        rp_gpu_take16(v[1], x);
        rp_gpu_take16(v[2], mean);
        rp_gpu_take16(v[3], r);
        rp_gpu_take16(v[4], gamma);
        rp_gpu_take16(v[5], a);
        rp_gpu_take16(v[6], b);
        RP_GPU_UNROLL for (int e = 0; e < WIDTH; e++) v[0][e] =
            PASTE(group_slope)(v[0][e], v[1][e], v[2][e], v[3][e], v[4][e], v[5][e], v[6][e]);
        rp_gpu_put16(dx, v[0]);
    }
}

#undef T
#undef PASTE
#undef SHUFFLE_XOR
#undef ROOT
#undef WIDTH
#undef EACH_ITEM
#undef PLACE
