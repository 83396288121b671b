/* SPDX-License-Identifier: Apache-2.0
 * A tile of conv_weight.cu for one chunk of pixels where channels and filters are neighbours in 16 bytes and 32 rows
 * have one tap: 128 rows by 8 * TN columns of four warps, 8 x TN a thread, in the way of matmul_large.inc.h.
 * Parameters: TILE(name), TN (columns of a thread, 8 or 16), BK and STAGES (pixels of a stage of shared memory, 8 or
 * 16, and how many stages there are), BLOCKS (that shall fit a multiprocessor). A warp's rows meet a pixel or they do
 * not, so that a stage with gaps is the same loop with a branch of the whole warp around each pixel's multiply-adds:
 * loads go on behind it, and where lines are short every second stage has a gap. */
#define WIDTH (8 * TN)
#define THREADS RP_GPU_WEIGHT_EVEN_THREADS
#define SB (WIDTH + 4)
#define STAGE (BK * (SA + SB))
#define WORDS (CHUNK / BK) /* of bits, of a warp's rows */
#define A_COPIES (ROWS * BK / THREADS / 4)
#define B_COPIES (WIDTH * BK / THREADS / 4)
#define A_STEPS (THREADS * 4 / ROWS) /* that a copy of all threads brings */
#define B_STEPS (THREADS * 4 / WIDTH)

RP_GPU_FN void TILE(take)(float *fa, float *fb, const float *a, const float *b)
{
    RP_GPU_UNROLL for (int q = 0; q < TM / 4; q++) rp_gpu_take16(fa + q * 4, a + q * 16);
    RP_GPU_UNROLL for (int q = 0; q < TN / 4; q++) rp_gpu_take16(fb + q * 4, b + q * 32);
}

/* To and fro along the rows, so that neighbours among the multiply-adds share an operand. */
RP_GPU_FN void TILE(multiply)(float acc[TM][TN], const float *fa, const float *fb)
{
    RP_GPU_UNROLL for (int i = 0; i < TM; i++) RP_GPU_UNROLL for (int n = 0; n < TN; n++)
    {
        const int j = i % 2 ? TN - 1 - n : n;

        acc[i][j] = RP_GPU_FMA_F32(fa[i], fb[j], acc[i][j]);
    }
}

RP_GPU_KERNEL(THREADS, BLOCKS) TILE(rp_gpu_conv_weight)(const RP_GPU_PARAMETER rp_gpu_conv_weight p)
{
    RP_GPU_SHARED_GIVEN(float, weight_shared, RP_GPU_WEIGHT_EVEN_SHARED(WIDTH, BK, STAGES)); /* stages, pixels, bits */
    pixel *const pixels = (pixel *)(weight_shared + STAGES * STAGE);
    u32 *const bits = (u32 *)(pixels + CHUNK);
    const int t = (int)RP_GPU_THREAD, lane = t % 32, warp = t / 32;
    const int ly = lane / 16 * 2 + lane % 2, lx = lane / 2 % 8; /* as matmul_large.inc.h */
    const int in_row = warp * 32 + ly * 4, in_col = lx * 4;
    const int rows = p.taps * p.c, columns = p.k, wide = (columns + WIDTH - 1) / WIDTH;
    /* what this thread copies: rows of x, of one tap, and columns of g */
    const int a_side = t * 4 % ROWS, a_l = t * 4 / ROWS, b_side = t * 4 % WIDTH, b_l = t * 4 / WIDTH;
    const u32 a_bit = 1u << a_l;
    const u32 *const a_bits = bits + a_side / 32 * WORDS, *const warp_bits = bits + warp * WORDS;
    const rp_gpu_shared_at to_a = RP_GPU_SHARED_AT(weight_shared) + 4 * (a_l * SA + a_side);
    const rp_gpu_shared_at to_b = RP_GPU_SHARED_AT(weight_shared) + 4 * (BK * SA + b_l * SB + b_side);
    float acc[TM][TN], fa[2][TM], fb[2][TN];

    RP_GPU_BEGIN(p);
    const u32 chunk = RP_GPU_BLOCK_Z, pixel0 = (p.first + chunk) * CHUNK;
    const int k = p.pixels - pixel0 < CHUNK ? (int)(p.pixels - pixel0) : CHUNK, tiles = (k + BK - 1) / BK;
    const int group = (int)RP_GPU_BLOCK_Y, block = (int)RP_GPU_BLOCK_X;
    const int row0 = block / wide * ROWS, col0 = block % wide * WIDTH;
    const int row = row0 + a_side < rows ? row0 + a_side : rows - 4;
    const offset tap = offset_of(p, row);
    /* in x and g, which lie near, behind a pixel's own place */
    const int x_at = (int)((group * p.c + row % p.c) * p.x_stride[3] + tap.r * p.x_stride[1] + tap.s * p.x_stride[2]);
    const int g_at = (int)((group * p.k + col0 + b_side) * p.g_stride[3]);
    const int b_k = col0 + b_side < columns ? k - b_l : 0; /* pixels of g for this thread, from its own on */
    const float *from_a = weight_shared + in_row, *from_b = weight_shared + BK * SA + in_col;
    int filling = 0, stage = 0; /* where a stage begins */
    u32 has = 0;                /* pixels that this warp's rows met */

    for (int l = t; l < k; l += THREADS)
        pixels[l] = pixel_of(p, pixel0 + (u32)l);
    RP_GPU_BARRIER();
    for (int i = t; i < ROWS / 32 * WORDS; i += THREADS)
        make_bits(p, pixels, bits, i, BK, row0, rows, k);
    RP_GPU_BARRIER();

    /* Begins to copy a stage's pixels, if there is one: where they lie is read before it is asked who meets them. */
#define FETCH(of) \
    { \
        const int at = (of); \
\
        if (at < tiles) { \
            const pixel *const first = pixels + at * BK; \
            const u32 met = a_bits[at]; \
            int from_x[A_COPIES], from_g[B_COPIES]; \
\
            RP_GPU_UNROLL for (int u = 0; u < A_COPIES; u++) from_x[u] = first[a_l + u * A_STEPS].x; \
            RP_GPU_UNROLL for (int u = 0; u < B_COPIES; u++) from_g[u] = first[b_l + u * B_STEPS].g; \
            RP_GPU_UNROLL for (int u = 0; u < A_COPIES; u++) if (met >> (u * A_STEPS) & a_bit) \
                RP_GPU_COPY16(to_a + 4 * (filling + u * A_STEPS * SA), p.x + (x_at + from_x[u])); \
            RP_GPU_UNROLL for (int u = 0; u < B_COPIES; u++) if (at * BK + u * B_STEPS < b_k) \
                RP_GPU_COPY16(to_b + 4 * (filling + u * B_STEPS * SB), p.g + (g_at + from_g[u])); \
        } \
        RP_GPU_COPY_COMMIT(); \
        filling = filling == (STAGES - 1) * STAGE ? 0 : filling + STAGE; \
    }

    RP_GPU_NO_UNROLL for (int ahead = 0; ahead < STAGES - 1; ahead++) FETCH(ahead);
    RP_GPU_UNROLL for (int i = 0; i < TM; i++) RP_GPU_UNROLL for (int j = 0; j < TN; j++) acc[i][j] = 0.0f;
    RP_GPU_COPY_WAIT(STAGES - 2);
    RP_GPU_BARRIER();
    TILE(take)(fa[0], fb[0], from_a, from_b);
    /* A stage's first pixel is taken during the last one of the stage before. */
    RP_GPU_NO_UNROLL for (int kt = 0; kt < tiles; kt++)
    {
        const u32 there = warp_bits[kt];

        FETCH(kt + STAGES - 1)
        has |= there;
        if (there >> BK & 1) {
            RP_GPU_UNROLL for (int l = 0; l < BK - 1; l++)
            {
                TILE(take)(fa[(l + 1) % 2], fb[(l + 1) % 2], from_a + (l + 1) * SA, from_b + (l + 1) * SB);
                TILE(multiply)(acc, fa[l % 2], fb[l % 2]);
            }
        } else {
            RP_GPU_UNROLL for (int l = 0; l < BK - 1; l++)
            {
                TILE(take)(fa[(l + 1) % 2], fb[(l + 1) % 2], from_a + (l + 1) * SA, from_b + (l + 1) * SB);
                if (there >> l & 1)
                    TILE(multiply)(acc, fa[l % 2], fb[l % 2]);
            }
        }
        stage = stage == (STAGES - 1) * STAGE ? 0 : stage + STAGE;
        from_a = weight_shared + in_row + stage;
        from_b = weight_shared + BK * SA + in_col + stage;
        RP_GPU_COPY_WAIT(STAGES - 2);
        RP_GPU_BARRIER();
        TILE(take)(fa[0], fb[0], from_a, from_b);
        if (there >> (BK - 1) & 1)
            TILE(multiply)(acc, fa[(BK - 1) % 2], fb[(BK - 1) % 2]);
    }
    /* Rows without a term here: -0, which added changes nothing; +0 where no chunk has one. */
    if (row0 + warp * 32 < rows) {
        const offset of_warp = offset_of(p, row0 + warp * 32);
        const float none = is_ever_met(p.h, of_warp.r) && is_ever_met(p.w, of_warp.s) ? -0.0f : 0.0f;
        float *to = p.parts +
                    (((u64)chunk * (u32)p.groups + (u32)group) * (u32)rows + (u32)(row0 + in_row)) * (u32)columns +
                    col0 + in_col;

        RP_GPU_UNROLL for (int i = 0; i < TM; i++) RP_GPU_UNROLL for (int q = 0; q < TN / 4; q++)
        {
            float sum[4];

            RP_GPU_UNROLL for (int e = 0; e < 4; e++) sum[e] = has != 0 ? acc[i][q * 4 + e] : none;
            if (col0 + in_col + q * 32 < columns)
                rp_gpu_put16(to + (u64)(i / 4 * 16 + i % 4) * (u32)columns + q * 32, sum);
        }
    }
}

#undef WIDTH
#undef THREADS
#undef SB
#undef STAGE
#undef WORDS
#undef A_COPIES
#undef B_COPIES
#undef A_STEPS
#undef B_STEPS
#undef FETCH
#undef TILE
#undef TN
#undef BK
#undef STAGES
#undef BLOCKS
