/* SPDX-License-Identifier: Apache-2.0
 * A tile of conv.cu: 128 rows by WIDTH columns, 8 x TN a thread. Parameters: TILE(name), TN, WIDTH = 16 TN, WIDE
 * (weights of neighbouring columns are neighbours and are copied 16 bytes at a time). Bit i of a row word's four low
 * bits and four bits from 16 on is row i, 4 + i of the thread. */
#define SB (WIDTH + 4)
#define STAGE (BK * (SA + SB))
#define B_COPIES (WIDTH * BK / THREADS)

RP_GPU_FN void TILE(take)(float *fa, float *fb, const float *a, const float *b)
{
    RP_GPU_UNROLL for (int q = 0; q < TM / 4; q++) rp_gpu_take16(fa + q * 4, a + q * 16);
    RP_GPU_UNROLL for (int q = 0; q < TN / 4; q++) rp_gpu_take16(fb + q * 4, b + q * 32);
}

RP_GPU_FN int TILE(bit)(int i)
{
    return i < 4 ? i : i + 12;
}

/* y = y + acc where a row had a term in this chunk; `seen`: it had one before; `ever`: it has one in some chunk. In the
 * end a row that never has is +0. A chunk apart without a term is -0 where another has one: added, it changes nothing.
 */
RP_GPU_FN void TILE(put)(const rp_gpu_conv_tile &p, float *y, float acc[TM][TN], int row, int col, u32 has, u32 seen,
                         u32 ever, bool end)
{
    RP_GPU_UNROLL for (int i = 0; i < TM; i++)
    {
        const int r = row + i / 4 * 16 + i % 4;
        const bool put = has >> TILE(bit)(i) & 1, on = seen >> TILE(bit)(i) & 1;
        const float none = ever >> TILE(bit)(i) & 1 ? -0.0f : 0.0f;

        if (r < p.rows && (put || (end && !on))) {
            const place at_row = place_of(p, r);
            float *to = y + at_row.n * p.to_stride[0] + at_row.i * p.to_stride[1] + at_row.j * p.to_stride[2];

            RP_GPU_UNROLL for (int j = 0; j < TN; j++)
            {
                const int c = col + j / 4 * 32 + j % 4;
                float *at = to + c * p.to_stride[3];

                if (c < p.columns)
                    *at = put ? (on ? *at : -0.0f) + acc[i][j] : none;
            }
        }
        RP_GPU_UNROLL for (int j = 0; j < TN; j++) acc[i][j] = 0.0f;
    }
}

RP_GPU_KERNEL(THREADS, 2) TILE(rp_gpu_conv_tile)(const RP_GPU_PARAMETER rp_gpu_conv_tile p)
{
    RP_GPU_SHARED_GIVEN(float, conv_shared,
                        STAGES *STAGE + RP_GPU_CONV_TAPS * (ROWS + 4 + 1)); /* stages, then what make_table makes */
    int *const table = (int *)(conv_shared + STAGES * STAGE);
    u32 *const words = (u32 *)(table + p.taps * ROWS);
    int *const weights = (int *)(words + p.taps * 4);
    const int t = (int)RP_GPU_THREAD, lane = t % 32, warp = t / 32, wy = warp % 4;
    const int ly = lane / 16 * 2 + lane % 2, lx = lane / 2 % 8;
    const int in_row = wy * 32 + ly * 4, in_col = warp / 4 * 8 * TN + lx * 4;
    const int wide = (p.columns + WIDTH - 1) / WIDTH, block = (int)RP_GPU_BLOCK_X;
    const int row0 = block / wide * ROWS, col0 = block % wide * WIDTH;
    /* terms begin .. k - 1: all, or those of a chunk */
    const int begin = p.apart ? (int)RP_GPU_BLOCK_Z * RP_GPU_CONV_CHUNK : 0, terms = p.taps * p.inner;
    const int k = p.apart && begin + RP_GPU_CONV_CHUNK < terms ? begin + RP_GPU_CONV_CHUNK : terms;
    const int tiles = (k - begin + BK - 1) / BK;
    const int a_row = t / BK, b_side = WIDE ? t * 4 % WIDTH : t / BK, b_l = WIDE ? t * 4 / WIDTH : t % BK;
    const float *a = p.a + RP_GPU_BLOCK_Y * p.a_group;
    const float *b = p.weight + RP_GPU_BLOCK_Y * p.weight_group + (i64)(col0 + b_side) * p.weight_column;
    float acc[TM][TN], fa[2][TM], fb[2][TN];
    term of_a = term_at(begin + t % BK, p.inner), of_b = term_at(begin + b_l, p.inner), now = term_at(begin, p.inner);
    u32 has = 0, seen = 0;
    int filling = 0, stage = 0;

    RP_GPU_BEGIN(p);
    make_table(p, row0, table, words, weights);
    RP_GPU_UNROLL for (int i = 0; i < TM; i++) RP_GPU_UNROLL for (int j = 0; j < TN; j++) acc[i][j] = 0.0f;

#define FETCH() \
    { \
        const rp_gpu_shared_at to = RP_GPU_SHARED_AT(conv_shared) + 4 * filling * STAGE; \
        const rp_gpu_shared_at to_a = to + 4 * (t % BK * SA + a_row), to_b = to + 4 * (BK * SA + b_l * SB + b_side); \
\
        if (of_a.index < k) \
            RP_GPU_UNROLL for (int s = 0; s < 4; s++) \
            { \
                const int at = table[of_a.tap * ROWS + a_row + s * 32]; \
\
                if (at >= 0) \
                    RP_GPU_COPY4(to_a + 4 * 32 * s, a + at + (i64)of_a.inner * p.a_inner); \
            } \
        if (of_b.index < k && b_l < BK) { \
            const float *from = b + weights[of_b.tap] + (i64)of_b.inner * p.weight_inner; \
\
            FETCH_B() \
        } \
        term_next(&of_a, p.inner); \
        term_next(&of_b, p.inner); \
        filling = filling + 1 == STAGES ? 0 : filling + 1; \
    }
#if WIDE
#define FETCH_B() \
    if (col0 + b_side < p.columns) \
        RP_GPU_COPY16(to_b, from);
#else
#define FETCH_B() \
    RP_GPU_UNROLL for (int s = 0; s < B_COPIES; s++) if (col0 + b_side + 32 * s < p.columns) \
        RP_GPU_COPY4(to_b + 4 * 32 * s, from + (i64)(32 * s) * p.weight_column);
#endif

    RP_GPU_NO_UNROLL for (int s = 0; s < STAGES - 1; s++)
    {
        if (s < tiles)
            FETCH()
        RP_GPU_COPY_COMMIT();
    }
    RP_GPU_NO_UNROLL for (int kt = 0; kt < tiles; kt++)
    {
        RP_GPU_COPY_WAIT(STAGES - 2);
        RP_GPU_BARRIER();
        if (kt + STAGES - 1 < tiles)
            FETCH()
        RP_GPU_COPY_COMMIT();
        const float *from_a = conv_shared + stage * STAGE + in_row;
        const float *from_b = conv_shared + stage * STAGE + BK * SA + in_col;
        const int steps = k - now.index < BK ? k - now.index : BK;
        u32 all = 0xFFFFFFFFu, any = 0; /* which of the warp's rows meet all of the stage's taps, or one of them */

        for (int tap = now.tap, left = now.inner + steps - 1; left >= 0; tap++, left -= p.inner) {
            all &= words[tap * 4 + wy];
            any |= words[tap * 4 + wy];
        }
        if (all == 0xFFFFFFFFu && steps == BK) {
            has = 0x000F000Fu;
            TILE(take)(fa[0], fb[0], from_a, from_b);
            RP_GPU_UNROLL for (int l = 0; l < BK; l++)
            {
                if (l + 1 < BK)
                    TILE(take)(fa[(l + 1) % 2], fb[(l + 1) % 2], from_a + (l + 1) * SA, from_b + (l + 1) * SB);
                RP_GPU_UNROLL for (int i = 0; i < TM; i++) RP_GPU_UNROLL for (int j = 0; j < TN; j++) acc[i][j] =
                    RP_GPU_FMA_F32(fa[l % 2][i], fb[l % 2][j], acc[i][j]);
            }
        } else if (any != 0) {
            int tap = now.tap, inner = now.inner;

            RP_GPU_NO_UNROLL for (int l = 0; l < steps; l++)
            {
                const u32 there = words[tap * 4 + wy] >> (ly * 4);

                has |= there & 0x000F000Fu;
                TILE(take)(fa[0], fb[0], from_a + l * SA, from_b + l * SB);
                RP_GPU_UNROLL for (int i = 0; i < TM; i++) if (there >> TILE(bit)(i) & 1)
                    RP_GPU_UNROLL for (int j = 0; j < TN; j++) acc[i][j] =
                        RP_GPU_FMA_F32(fa[0][i], fb[0][j], acc[i][j]);
                inner = inner + 1 == p.inner ? 0 : inner + 1;
                tap += inner == 0;
            }
        }
        term_next(&now, p.inner);
        stage = stage + 1 == STAGES ? 0 : stage + 1;
        if ((kt + 1) % (RP_GPU_CONV_CHUNK / BK) == 0 || kt + 1 == tiles) {
            u32 ever = 0; /* asked for only in the end: kept, it costs sm_80 a move of registers in every step */

            for (int tap = 0; kt + 1 == tiles && tap < p.taps; tap++)
                ever |= words[tap * 4 + wy] >> (ly * 4);
            TILE(put)
            (p, p.to + RP_GPU_BLOCK_Y * p.to_group + RP_GPU_BLOCK_Z * p.to_chunk, acc, row0 + in_row, col0 + in_col,
             has, seen, ever, kt + 1 == tiles);
            seen |= has;
            has = 0;
        }
    }
}

#undef SB
#undef STAGE
#undef B_COPIES
#undef FETCH
#undef FETCH_B
#undef TILE
#undef TN
#undef WIDTH
#undef WIDE
