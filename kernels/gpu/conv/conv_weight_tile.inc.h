/* SPDX-License-Identifier: Apache-2.0
 * A tile of conv_weight.cu for one chunk of pixels: 128 rows by WIDTH columns, 8 x TN a thread. Parameters: TILE(name),
 * TN, WIDTH = 16 TN, WIDE (g's filters are neighbours, copied 16 bytes at a time). */
#define SB (WIDTH + 4)
#define STAGE (BK * (SA + SB))
#define FLAGS (BK * ROWS)
#define A_COPIES (ROWS * BK / THREADS)
#define B_COPIES (WIDTH * BK / THREADS)

RP_GPU_FN void TILE(take)(float *fa, float *fb, const float *a, const float *b)
{
    RP_GPU_UNROLL for (int q = 0; q < TM / 4; q++) rp_gpu_take16(fa + q * 4, a + q * 16);
    RP_GPU_UNROLL for (int q = 0; q < TN / 4; q++) rp_gpu_take16(fb + q * 4, b + q * 32);
}

RP_GPU_KERNEL(THREADS, 1) TILE(rp_gpu_conv_weight)(const RP_GPU_PARAMETER rp_gpu_conv_weight p)
{
    RP_GPU_SHARED_GIVEN(float, weight_shared, STAGES *(STAGE + FLAGS) + CHUNK * 4); /* stages, flags, pixels */
    int32_t *const flags = (int32_t *)(weight_shared + STAGES * STAGE);
    pixel *const pixels = (pixel *)(flags + STAGES * FLAGS);
    const int t = (int)RP_GPU_THREAD, lane = t % 32, warp = t / 32;
    const int ly = lane / 16 * 2 + lane % 2, lx = lane / 2 % 8;
    const int in_row = warp % 4 * 32 + ly * 4, in_col = warp / 4 * 8 * TN + lx * 4;
    const int rows = p.taps * p.c, columns = p.k, group = (int)RP_GPU_BLOCK_Y;
    const int wide = (columns + WIDTH - 1) / WIDTH, block = (int)RP_GPU_BLOCK_X;
    const int row0 = block / wide * ROWS, col0 = block % wide * WIDTH;
    const u32 begin = (p.first + RP_GPU_BLOCK_Z) * CHUNK;
    const int k = p.pixels - begin < CHUNK ? (int)(p.pixels - begin) : CHUNK, tiles = (k + BK - 1) / BK;
    /* this thread's row of x, its tap and channel */
    const int side = t % ROWS, row = row0 + side < rows ? row0 + side : rows - 1, tap = row / p.c;
    const int r = tap / p.w.taps * p.h.dilation, s = tap % p.w.taps * p.w.dilation;
    const float *x = p.x + (i64)(group * p.c + row % p.c) * p.x_stride[3] + r * p.x_stride[1] + s * p.x_stride[2];
    const int b_side = WIDE ? t * 4 % WIDTH : t % WIDTH, b_l = WIDE ? t * 4 / WIDTH : t / WIDTH;
    const float *g = p.g + (i64)(group * p.k + col0 + b_side) * p.g_stride[3];
    const bool b_there = col0 + b_side < columns;
    float acc[TM][TN], fa[2][TM], fb[2][TN];
    int filling = 0, stage = 0;

    RP_GPU_BEGIN(p);
    for (int l = t; l < k; l += THREADS)
        pixels[l] = pixel_of(p, begin + (u32)l);
    RP_GPU_UNROLL for (int i = 0; i < TM; i++) RP_GPU_UNROLL for (int j = 0; j < TN; j++) acc[i][j] = 0.0f;
    RP_GPU_BARRIER();

#if WIDE
#define FETCH_B(first) \
    if (b_l < BK && (first) + b_l < k && b_there) \
        RP_GPU_COPY16(to_b, g + pixels[(first) + b_l].g);
#else
#define FETCH_B(first) \
    RP_GPU_UNROLL for (int u = 0; u < B_COPIES; u++) if ((first) + b_l + u * (THREADS / WIDTH) < k && b_there) \
        RP_GPU_COPY4(to_b + 4 * u * (THREADS / WIDTH) * SB, g + pixels[(first) + b_l + u * (THREADS / WIDTH)].g);
#endif
#define FETCH(first) \
    { \
        const rp_gpu_shared_at to = RP_GPU_SHARED_AT(weight_shared) + 4 * filling * STAGE; \
        const rp_gpu_shared_at to_b = to + 4 * (BK * SA + b_l * SB + b_side); \
\
        RP_GPU_UNROLL for (int u = 0; u < A_COPIES; u++) \
        { \
            const int l = t / ROWS + u * (THREADS / ROWS); \
            bool there = (first) + l < k; \
\
            if (there) { \
                const pixel at = pixels[(first) + l]; \
\
                there = at.h + r >= 0 && at.h + r < p.h.in && at.w + s >= 0 && at.w + s < p.w.in; \
                if (there) \
                    RP_GPU_COPY4(to + 4 * (l * SA + side), x + at.x); \
            } \
            if (p.gaps) \
                flags[filling * FLAGS + l * ROWS + side] = there; \
        } \
        FETCH_B(first) \
        filling = filling + 1 == STAGES ? 0 : filling + 1; \
    }

    RP_GPU_NO_UNROLL for (int ahead = 0; ahead < STAGES - 1; ahead++)
    {
        if (ahead < tiles)
            FETCH(ahead * BK)
        RP_GPU_COPY_COMMIT();
    }
    RP_GPU_NO_UNROLL for (int kt = 0; kt < tiles; kt++)
    {
        RP_GPU_COPY_WAIT(STAGES - 2);
        RP_GPU_BARRIER();
        if (kt + STAGES - 1 < tiles)
            FETCH((kt + STAGES - 1) * BK)
        RP_GPU_COPY_COMMIT();
        const float *from_a = weight_shared + stage * STAGE + in_row;
        const float *from_b = weight_shared + stage * STAGE + BK * SA + in_col;
        const int steps = k - kt * BK < BK ? k - kt * BK : BK;

        if (!p.gaps && steps == BK) {
            TILE(take)(fa[0], fb[0], from_a, from_b);
            RP_GPU_UNROLL for (int l = 0; l < BK; l++)
            {
                if (l + 1 < BK)
                    TILE(take)(fa[(l + 1) % 2], fb[(l + 1) % 2], from_a + (l + 1) * SA, from_b + (l + 1) * SB);
                RP_GPU_UNROLL for (int i = 0; i < TM; i++) RP_GPU_UNROLL for (int j = 0; j < TN; j++) acc[i][j] =
                    RP_GPU_FMA_F32(fa[l % 2][i], fb[l % 2][j], acc[i][j]);
            }
        } else {
            RP_GPU_NO_UNROLL for (int l = 0; l < steps; l++)
            {
                int32_t there[TM];

                TILE(take)(fa[0], fb[0], from_a + l * SA, from_b + l * SB);
                RP_GPU_UNROLL for (int i = 0; i < TM; i++) there[i] = 1;
                if (p.gaps)
                    RP_GPU_UNROLL for (int q = 0; q < TM / 4; q++)
                        rp_gpu_take16(there + q * 4, flags + stage * FLAGS + l * ROWS + in_row + q * 16);
                RP_GPU_UNROLL for (int i = 0; i < TM; i++) if (there[i] != 0) RP_GPU_UNROLL for (int j = 0; j < TN; j++)
                    acc[i][j] = RP_GPU_FMA_F32(fa[0][i], fb[0][j], acc[i][j]);
            }
        }
        stage = stage + 1 == STAGES ? 0 : stage + 1;
    }
    RP_GPU_UNROLL for (int i = 0; i < TM; i++)
    {
        const int at = row0 + in_row + i / 4 * 16 + i % 4;
        float *to = p.parts + (((u64)RP_GPU_BLOCK_Z * (u32)p.groups + (u32)group) * (u32)rows + (u32)at) * (u32)columns;

        if (at < rows)
            RP_GPU_UNROLL for (int j = 0; j < TN; j++)
            {
                const int c = col0 + in_col + j / 4 * 32 + j % 4;

                if (c < columns)
                    to[c] = acc[i][j];
            }
    }
}

#undef SB
#undef STAGE
#undef FLAGS
#undef A_COPIES
#undef B_COPIES
#undef FETCH
#undef FETCH_B
#undef TILE
#undef TN
#undef WIDTH
#undef WIDE
