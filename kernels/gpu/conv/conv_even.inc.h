/* SPDX-License-Identifier: Apache-2.0
 * A tile of conv.cu where channels are neighbours in multiples of BK, so that a stage has one tap: 128 rows by 64
 * columns, 8 x 8 a thread, three blocks of four warps a multiprocessor. A thread loads 16 bytes of a pixel's channels
 * and puts them into the stage one below the other. Parameters: TILE(name), ALONG (1: so it does with weights; 0:
 * weights of neighbouring columns are neighbours and copied 16 bytes at a time). The bits of rows are as in
 * conv_tile.inc.h. */
#define TN 8
#define WIDTH 64
#define BK RP_GPU_CONV_EVEN_STEPS
#define STAGES RP_GPU_CONV_EVEN_STAGES
#define THREADS RP_GPU_CONV_EVEN_THREADS
#define SB (WIDTH + 4)
#define STAGE (BK * (SA + SB))
#define PIECES (BK / 8) /* two threads have eight channels at a time: so no banks meet when they are put */
#define A_PASSES (ROWS * 2 / THREADS)
#define B_PASSES (WIDTH * 2 / THREADS)
#define B_COPIES (WIDTH * BK / THREADS / 4)
#define B_STEPS (THREADS * 4 / WIDTH) /* that a copy of all threads brings */

RP_GPU_FN void TILE(take)(float *fa, float *fb, const float *a, const float *b)
{
    RP_GPU_UNROLL for (int q = 0; q < TM / 4; q++) rp_gpu_take16(fa + q * 4, a + q * 16);
    RP_GPU_UNROLL for (int q = 0; q < TN / 4; q++) rp_gpu_take16(fb + q * 4, b + q * 32);
}

RP_GPU_FN int TILE(bit)(int i)
{
    return i < 4 ? i : i + 12;
}

/* As make_table, a thread a row; places[row]: where its results lie. */
RP_GPU_FN void TILE(make_table)(const rp_gpu_conv_tile &p, int row0, int *table, u32 *words, int *weights, int *places)
{
    const int row = (int)RP_GPU_THREAD;
    const bool inside = row0 + row < p.rows;
    const place at_row = place_of(p, inside ? row0 + row : 0);

    places[row] = (int)(at_row.n * p.to_stride[0] + at_row.i * p.to_stride[1] + at_row.j * p.to_stride[2]);
    for (int tap = 0, r = 0, s = 0; tap < p.taps; tap++) {
        int h = 0, w = 0, at = -1;
        bool met;

        if (p.back)
            met = RP_GPU_CONV_OUTPUT(p.h, at_row.i, r, h) && RP_GPU_CONV_OUTPUT(p.w, at_row.j, s, w);
        else
            met = RP_GPU_CONV_INPUT(p.h, at_row.i, r, h) && RP_GPU_CONV_INPUT(p.w, at_row.j, s, w);
        if (met && inside)
            at = (int)(at_row.n * p.a_stride[0] + h * p.a_stride[1] + w * p.a_stride[2]);
        table[tap * ROWS + row] = at;
        if (row == 0)
            weights[tap] = (int)(r * p.tap_stride[0] + s * p.tap_stride[1]);
        s = s + 1 == p.w.taps ? 0 : s + 1;
        r += s == 0;
    }
    RP_GPU_BARRIER();
    for (int word = row; word < 4 * p.taps; word += THREADS) {
        u32 bits = 0;

        for (int b = 0; b < 32; b++)
            bits |= (u32)(table[word / 4 * ROWS + word % 4 * 32 + b] >= 0) << b;
        words[word] = bits;
    }
    RP_GPU_BARRIER();
}

/* As in conv_tile.inc.h; what lies there of two of a thread's rows is on its way at a time. */
RP_GPU_FN void TILE(put)(const rp_gpu_conv_tile &p, float *y, float acc[TM][TN], const int *places, int rows, int col,
                         u32 has, u32 seen, u32 ever, bool end)
{
    RP_GPU_UNROLL for (int i0 = 0; i0 < TM; i0 += 2)
    {
        float old[2][TN];

        RP_GPU_UNROLL for (int u = 0; u < 2; u++)
        {
            const int i = i0 + u, row = i / 4 * 16 + i % 4;
            const bool on = (has & seen) >> TILE(bit)(i) & 1;

            RP_GPU_UNROLL for (int j = 0; j < TN; j++) old[u][j] = -0.0f;
            if (on && row < rows)
                RP_GPU_UNROLL for (int q = 0; q < TN / 4; q++)
                {
                    const int c = col + q * 32;
                    const float *const from = y + places[row] + c * p.to_stride[3];

                    if (p.to_wide && c < p.columns)
                        rp_gpu_take16(&old[u][q * 4], from);
                    else
                        RP_GPU_UNROLL for (int e = 0; e < 4; e++) if (c + e < p.columns) old[u][q * 4 + e] =
                            from[e * p.to_stride[3]];
                }
        }
        RP_GPU_UNROLL for (int u = 0; u < 2; u++)
        {
            const int i = i0 + u, row = i / 4 * 16 + i % 4;
            const bool put = has >> TILE(bit)(i) & 1, on = seen >> TILE(bit)(i) & 1;
            const float none = ever >> TILE(bit)(i) & 1 ? -0.0f : 0.0f;

            if (row < rows && (put || (end && !on)))
                RP_GPU_UNROLL for (int q = 0; q < TN / 4; q++)
                {
                    const int c = col + q * 32;
                    float *const to = y + places[row] + c * p.to_stride[3], sum[4];

                    RP_GPU_UNROLL for (int e = 0; e < 4; e++) sum[e] =
                        put ? old[u][q * 4 + e] + acc[i][q * 4 + e] : none;
                    if (p.to_wide && c < p.columns)
                        rp_gpu_put16(to, sum);
                    else
                        RP_GPU_UNROLL for (int e = 0; e < 4; e++) if (c + e < p.columns) to[e * p.to_stride[3]] =
                            sum[e];
                }
            RP_GPU_UNROLL for (int j = 0; j < TN; j++) acc[i][j] = 0.0f;
        }
    }
}

RP_GPU_KERNEL(THREADS, 3) TILE(rp_gpu_conv_tile)(const RP_GPU_PARAMETER rp_gpu_conv_tile p)
{
    RP_GPU_SHARED_GIVEN(float, conv_shared,
                        STAGES *STAGE + RP_GPU_CONV_TAPS * (ROWS + 4 + 1) + ROWS); /* stages, then make_table's */
    int *const table = (int *)(conv_shared + STAGES * STAGE);
    u32 *const words = (u32 *)(table + p.taps * ROWS);
    int *const weights = (int *)(words + p.taps * 4), *const places = weights + p.taps;
    const int t = (int)RP_GPU_THREAD, lane = t % 32, wy = t / 32;
    const int ly = lane / 16 * 2 + lane % 2, lx = lane / 2 % 8, in_row = wy * 32 + ly * 4, in_col = lx * 4;
    const int wide = (p.columns + WIDTH - 1) / WIDTH, block = (int)RP_GPU_BLOCK_X;
    const int row0 = block / wide * ROWS, col0 = block % wide * WIDTH;
    /* terms begin .. k - 1: all, or those of a chunk */
    const int begin = p.apart ? (int)RP_GPU_BLOCK_Z * RP_GPU_CONV_CHUNK : 0, terms = p.taps * p.inner;
    const int k = p.apart && begin + RP_GPU_CONV_CHUNK < terms ? begin + RP_GPU_CONV_CHUNK : terms;
    const int tiles = (k - begin) / BK;
    const int a_row = t / 2, a_l = t % 2 * 4, b_side = ALONG ? t / 2 : t * 4 % WIDTH;
    const int b_l = ALONG ? t % 2 * 4 : t * 4 / WIDTH;
    const float *a = p.a + RP_GPU_BLOCK_Y * p.a_group + a_l;
    const float *b =
        p.weight + RP_GPU_BLOCK_Y * p.weight_group + (i64)(col0 + b_side) * p.weight_column + (i64)b_l * p.weight_inner;
    float acc[TM][TN], fa[2][TM], fb[2][TN], a_held[A_PASSES * PIECES * 4], b_held[B_PASSES * PIECES * 4];
    int f_tap = begin / p.inner, f_inner = begin - f_tap * p.inner, f_left = tiles, tap = f_tap, inner = f_inner;
    int filling = 0, stage = 0;
    u32 has = 0, seen = 0, ever = 0;

    RP_GPU_BEGIN(p);
    TILE(make_table)(p, row0, table, words, weights, places);
    for (int i = 0; i < p.taps; i++)
        ever |= words[i * 4 + wy] >> (ly * 4);
    RP_GPU_UNROLL for (int i = 0; i < TM; i++) RP_GPU_UNROLL for (int j = 0; j < TN; j++) acc[i][j] = 0.0f;
    RP_GPU_UNROLL for (int i = 0; i < A_PASSES * PIECES * 4; i++) a_held[i] = 0.0f;
    RP_GPU_UNROLL for (int i = 0; i < B_PASSES * PIECES * 4; i++) b_held[i] = 0.0f;

    /* The next stage, if there is one: its loads and copies; and what was loaded, into the stage. */
#define FETCH() \
    { \
        const rp_gpu_shared_at to = \
            RP_GPU_SHARED_AT(conv_shared) + 4 * (filling * STAGE + BK * SA + b_l * SB + b_side); \
        const int of_tap = f_left > 0 ? f_tap : 0; \
        const float *from = b + weights[of_tap] + (i64)f_inner * p.weight_inner; \
\
        RP_GPU_UNROLL for (int s = 0; s < A_PASSES; s++) \
        { \
            const int at = table[of_tap * ROWS + a_row + s * (THREADS / 2)]; \
\
            RP_GPU_UNROLL for (int q = 0; q < PIECES; q++) if (f_left > 0 && at >= 0) \
                rp_gpu_take16(a_held + 4 * (s * PIECES + q), a + at + f_inner + 8 * q); \
        } \
        FETCH_B() \
        f_left--; \
        f_inner = f_inner + BK == p.inner ? 0 : f_inner + BK; \
        f_tap += f_inner == 0; \
    }
#if ALONG
#define FETCH_B() \
    (void)to; \
    RP_GPU_UNROLL for (int s = 0; s < B_PASSES * PIECES; \
                       s++) if (f_left > 0 && col0 + b_side + s / PIECES * (THREADS / 2) < p.columns) \
        rp_gpu_take16(b_held + 4 * s, from + (i64)(s / PIECES * (THREADS / 2)) * p.weight_column + 8 * (s % PIECES));
#else
#define FETCH_B() \
    RP_GPU_UNROLL for (int s = 0; s < B_COPIES; s++) if (f_left > 0 && col0 + b_side < p.columns) \
        RP_GPU_COPY16(to + 4 * s * B_STEPS * SB, from + (i64)(s * B_STEPS) * p.weight_inner);
#endif
#define DELIVER() \
    { \
        float *const to_a = conv_shared + filling * STAGE + a_l * SA + a_row; \
        float *const to_b = conv_shared + filling * STAGE + BK * SA + b_l * SB + b_side; \
\
        RP_GPU_UNROLL for (int s = 0; s < A_PASSES * PIECES; s++) RP_GPU_UNROLL for (int e = 0; e < 4; e++) \
            to_a[(8 * (s % PIECES) + e) * SA + s / PIECES * (THREADS / 2)] = a_held[4 * s + e]; \
        if (ALONG) \
            RP_GPU_UNROLL for (int s = 0; s < B_PASSES * PIECES; s++) RP_GPU_UNROLL for (int e = 0; e < 4; e++) \
                to_b[(8 * (s % PIECES) + e) * SB + s / PIECES * (THREADS / 2)] = b_held[4 * s + e]; \
        filling = filling + 1 == STAGES ? 0 : filling + 1; \
    }

    RP_GPU_NO_UNROLL for (int s = 0; s < STAGES - 1; s++)
    {
        FETCH()
        DELIVER()
        RP_GPU_COPY_COMMIT();
    }
    RP_GPU_NO_UNROLL for (int kt = 0; kt < tiles; kt++)
    {
        RP_GPU_COPY_WAIT(STAGES - 2);
        RP_GPU_BARRIER();
        FETCH()
        RP_GPU_COPY_COMMIT();
        const float *from_a = conv_shared + stage * STAGE + in_row;
        const float *from_b = conv_shared + stage * STAGE + BK * SA + in_col;
        const u32 word = words[tap * 4 + wy];

        if (word == 0xFFFFFFFFu) {
            has = 0x000F000Fu;
            TILE(take)(fa[0], fb[0], from_a, from_b);
            RP_GPU_UNROLL for (int l = 0; l < BK; l++)
            {
                if (l + 1 < BK)
                    TILE(take)(fa[(l + 1) % 2], fb[(l + 1) % 2], from_a + (l + 1) * SA, from_b + (l + 1) * SB);
                RP_GPU_UNROLL for (int i = 0; i < TM; i++) RP_GPU_UNROLL for (int j = 0; j < TN; j++) acc[i][j] =
                    RP_GPU_FMA_F32(fa[l % 2][i], fb[l % 2][j], acc[i][j]);
            }
        } else if (word != 0) {
            const u32 there = word >> (ly * 4);

            has |= there & 0x000F000Fu;
            RP_GPU_NO_UNROLL for (int l = 0; l < BK; l++)
            {
                TILE(take)(fa[0], fb[0], from_a + l * SA, from_b + l * SB);
                RP_GPU_UNROLL for (int i = 0; i < TM; i++) if (there >> TILE(bit)(i) & 1)
                    RP_GPU_UNROLL for (int j = 0; j < TN; j++) acc[i][j] =
                        RP_GPU_FMA_F32(fa[0][i], fb[0][j], acc[i][j]);
            }
        }
        DELIVER()
        inner = inner + BK == p.inner ? 0 : inner + BK;
        tap += inner == 0;
        stage = stage + 1 == STAGES ? 0 : stage + 1;
        if ((kt + 1) % (RP_GPU_CONV_CHUNK / BK) == 0 || kt + 1 == tiles) {
            TILE(put)
            (p, p.to + RP_GPU_BLOCK_Y * p.to_group + RP_GPU_BLOCK_Z * p.to_chunk, acc, places + in_row,
             p.rows - row0 - in_row, col0 + in_col, has, seen, ever, kt + 1 == tiles);
            seen |= has;
            has = 0;
        }
    }
}

#undef TN
#undef WIDTH
#undef BK
#undef STAGES
#undef THREADS
#undef SB
#undef STAGE
#undef PIECES
#undef A_PASSES
#undef B_PASSES
#undef B_COPIES
#undef B_STEPS
#undef FETCH
#undef FETCH_B
#undef DELIVER
#undef TILE
#undef ALONG
