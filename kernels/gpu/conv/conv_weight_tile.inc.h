/* SPDX-License-Identifier: Apache-2.0
 * A tile of conv_weight.cu for one chunk of pixels: 128 rows by WIDTH columns, 128 or 64, 8 x 8 a thread. Parameters:
 * TILE(name), WIDTH, WIDE (x's channels and g's filters are neighbours, copied 16 bytes at a time). */
#define TN 8
#define BK RP_GPU_WEIGHT_STEPS
#define STAGES RP_GPU_WEIGHT_STAGES
#define THREADS RP_GPU_WEIGHT_THREADS(WIDTH)
#define SB (WIDTH + 4)
#define STAGE (BK * (SA + SB))
#define FLAGS (BK * ROWS)
#define A_COPIES (ROWS * BK / THREADS / (WIDE ? 4 : 1))
#define B_COPIES (WIDTH * BK / THREADS)
#define A_STEPS (THREADS * (WIDE ? 4 : 1) / ROWS) /* that a copy of all threads brings */

RP_GPU_FN void TILE(take)(float *fa, float *fb, const float *a, const float *b)
{
    RP_GPU_UNROLL for (int q = 0; q < TM / 4; q++) rp_gpu_take16(fa + q * 4, a + q * 16);
    RP_GPU_UNROLL for (int q = 0; q < TN / 4; q++) rp_gpu_take16(fb + q * 4, b + q * 32);
}

RP_GPU_KERNEL(THREADS, 512 / THREADS) TILE(rp_gpu_conv_weight)(const RP_GPU_PARAMETER rp_gpu_conv_weight p)
{
    RP_GPU_SHARED_GIVEN(float, weight_shared, RP_GPU_WEIGHT_SHARED(WIDTH, true)); /* stages, pixels, bits, flags */
    pixel *const pixels = (pixel *)(weight_shared + STAGES * STAGE);
    u32 *const bits = (u32 *)(pixels + CHUNK);
    int32_t *const flags = (int32_t *)(bits + ROWS / 32 * (CHUNK / BK));
    const int t = (int)RP_GPU_THREAD, lane = t % 32, warp = t / 32;
    const int ly = lane / 16 * 2 + lane % 2, lx = lane / 2 % 8;
    const int in_row = warp % 4 * 32 + ly * 4, in_col = warp / 4 * 8 * TN + lx * 4;
    const int rows = p.taps * p.c, columns = p.k, group = (int)RP_GPU_BLOCK_Y;
    const int wide = (columns + WIDTH - 1) / WIDTH, block = (int)RP_GPU_BLOCK_X;
    const int row0 = block / wide * ROWS, col0 = block % wide * WIDTH;
    const u32 begin = (p.first + RP_GPU_BLOCK_Z) * CHUNK;
    const int k = p.pixels - begin < CHUNK ? (int)(p.pixels - begin) : CHUNK, tiles = (k + BK - 1) / BK;
    /* what this thread copies: rows of x from here, of one tap, and columns of g */
    const int a_side = WIDE ? t * 4 % ROWS : t % ROWS, a_l = WIDE ? t * 4 / ROWS : t / ROWS;
    const int row = row0 + a_side < rows ? row0 + a_side : rows - (WIDE ? 4 : 1);
    const offset tap = offset_of(p, row);
    const float *x =
        p.x + (i64)(group * p.c + row % p.c) * p.x_stride[3] + tap.r * p.x_stride[1] + tap.s * p.x_stride[2];
    const int b_side = WIDE ? t * 4 % WIDTH : t % WIDTH, b_l = WIDE ? t * 4 / WIDTH : t / WIDTH;
    const float *g = p.g + (i64)(group * p.k + col0 + b_side) * p.g_stride[3];
    const bool b_there = col0 + b_side < columns;
    float acc[TM][TN], fa[2][TM], fb[2][TN];
    int filling = 0, stage = 0;
    u32 has = 0; /* which of this thread's rows have a term */

    RP_GPU_BEGIN(p);
    for (int l = t; l < k; l += THREADS)
        pixels[l] = pixel_of(p, begin + (u32)l);
    RP_GPU_UNROLL for (int i = 0; i < TM; i++) RP_GPU_UNROLL for (int j = 0; j < TN; j++) acc[i][j] = 0.0f;
    RP_GPU_BARRIER();
    for (int i = t; i < ROWS / 32 * (CHUNK / BK); i += THREADS)
        make_bits(p, pixels, bits, i, BK, row0, rows, k); /* the first stage's barrier is its end */

#if WIDE
#define COPY_A RP_GPU_COPY16
#define FETCH_B(first) \
    if (b_l < BK && (first) + b_l < k && b_there) \
        RP_GPU_COPY16(to_b, g + pixels[(first) + b_l].g);
#else
#define COPY_A RP_GPU_COPY4
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
            const int l = a_l + u * A_STEPS; \
            bool there = (first) + l < k; \
\
            if (there) { \
                const pixel at = pixels[(first) + l]; \
\
                there = is_met(p, at, tap); \
                if (there) \
                    COPY_A(to + 4 * (l * SA + a_side), x + at.x); \
            } \
            if (p.uneven) \
                RP_GPU_UNROLL for (int e = 0; e < (WIDE ? 4 : 1); e++) \
                    flags[filling * FLAGS + l * ROWS + a_side + e] = there; \
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
        const u32 there = bits[warp % 4 * (CHUNK / BK) + kt];

        if (there >> BK & 1) {
            has = (1u << TM) - 1;
            TILE(take)(fa[0], fb[0], from_a, from_b);
            RP_GPU_UNROLL for (int l = 0; l < BK; l++)
            {
                if (l + 1 < BK)
                    TILE(take)(fa[(l + 1) % 2], fb[(l + 1) % 2], from_a + (l + 1) * SA, from_b + (l + 1) * SB);
                RP_GPU_UNROLL for (int i = 0; i < TM; i++) RP_GPU_UNROLL for (int j = 0; j < TN; j++) acc[i][j] =
                    RP_GPU_FMA_F32(fa[l % 2][i], fb[l % 2][j], acc[i][j]);
            }
        } else if (p.uneven) {
            RP_GPU_NO_UNROLL for (int l = 0; l < BK && there >> l & 1; l++)
            {
                int32_t met[TM];

                TILE(take)(fa[0], fb[0], from_a + l * SA, from_b + l * SB);
                RP_GPU_UNROLL for (int q = 0; q < TM / 4; q++)
                    rp_gpu_take16(met + q * 4, flags + stage * FLAGS + l * ROWS + in_row + q * 16);
                RP_GPU_UNROLL for (int i = 0; i < TM; i++) if (met[i] != 0)
                {
                    has |= 1u << i;
                    RP_GPU_UNROLL for (int j = 0; j < TN; j++) acc[i][j] =
                        RP_GPU_FMA_F32(fa[0][i], fb[0][j], acc[i][j]);
                }
            }
        } else if (there != 0) {
            has = (1u << TM) - 1;
            RP_GPU_NO_UNROLL for (int l = 0; l < BK; l++) if (there >> l & 1)
            {
                TILE(take)(fa[0], fb[0], from_a + l * SA, from_b + l * SB);
                RP_GPU_UNROLL for (int i = 0; i < TM; i++) RP_GPU_UNROLL for (int j = 0; j < TN; j++) acc[i][j] =
                    RP_GPU_FMA_F32(fa[0][i], fb[0][j], acc[i][j]);
            }
        }
        stage = stage + 1 == STAGES ? 0 : stage + 1;
    }
    /* A row without a term here: -0, which added changes nothing; +0 where no chunk has one. */
    RP_GPU_UNROLL for (int i = 0; i < TM; i++)
    {
        const int at = row0 + in_row + i / 4 * 16 + i % 4;
        float *to = p.parts + (((u64)RP_GPU_BLOCK_Z * (u32)p.groups + (u32)group) * (u32)rows + (u32)at) * (u32)columns;

        if (at < rows) {
            const offset of_row = offset_of(p, at);
            const bool ever = is_ever_met(p.h, of_row.r) && is_ever_met(p.w, of_row.s);

            RP_GPU_UNROLL for (int q = 0; q < TN / 4; q++)
            {
                const int c = col0 + in_col + q * 32;
                float sum[4];

                RP_GPU_UNROLL for (int e = 0; e < 4; e++) sum[e] = has >> i & 1 ? acc[i][q * 4 + e]
                                                                   : ever       ? -0.0f
                                                                                : 0.0f;
                if (WIDE && c < columns)
                    rp_gpu_put16(to + c, sum);
                else
                    RP_GPU_UNROLL for (int e = 0; e < 4; e++) if (c + e < columns) to[c + e] = sum[e];
            }
        }
    }
}

#undef TN
#undef BK
#undef STAGES
#undef THREADS
#undef SB
#undef STAGE
#undef FLAGS
#undef A_COPIES
#undef B_COPIES
#undef A_STEPS
#undef FETCH
#undef FETCH_B
#undef COPY_A
#undef TILE
#undef WIDTH
#undef WIDE
