/* SPDX-License-Identifier: Apache-2.0
 * A tile of a large binary32 product in the order of CONTRACT 4.4, for operands that lie in 16 bytes. Parameters:
 *   TILE(name)          the name of what belongs to this tile, by SIDES
 *   TM, TN              outputs of a thread, multiples of 4; a warp is 4 x 8 threads
 *   WM, WN              warps of a block: it makes WM * 4 * TM rows and WN * 8 * TN columns
 *   BK, STAGES          steps of k a stage of shared memory holds (8 or 16), and how many there are
 *   BLOCKS              that shall fit a multiprocessor
 *   A_ALONG, B_ALONG    1: the operand's steps of k are neighbours; a thread loads 16 bytes of them and puts them
 *                       into a stage one below the other; 0: its rows (of a), columns (of b) are, and are copied
 *
 * The sum of the chunks before lies in y itself and is met once in 512 steps, as in matmul_tile.inc.h, and so is the
 * rest of k that fills no stage. What is loaded waits in registers for a whole stage, and its loads stand before a
 * barrier: behind it the compiler begins them as late as it can, and all of the warp waits for memory. */
#define BM (WM * 4 * TM)
#define BN (WN * 8 * TN)
#define THREADS (WM * WN * 32)
#define SA (BM + 4) /* so that neighbours in k lie in other banks */
#define SB (BN + 4)
#define STAGE (BK * (SA + SB))
#define A_COPIES (BM * BK / THREADS / 4) /* of 16 bytes a thread, for a stage */
#define B_COPIES (BN * BK / THREADS / 4)
#define PIECES (BK / 8) /* along k two threads have eight steps of a line: so no banks meet when they are put */

/* What a thread brings of one operand to each stage: at one step of k the side's neighbours, and again `apart` steps
 * later; or along k, and again at places of the side that are THREADS / 2 apart. */
typedef struct TILE(part) {
    const float *from;
    int apart, to, to_apart; /* elements between copies; place in shared memory, and between copies */
    int l, l_apart;          /* steps of k */
    int count;               /* copies inside the matrix, or places of the side */
    float held[A_COPIES > B_COPIES ? 4 * A_COPIES : 4 * B_COPIES]; /* along k */
} TILE(part);

/* size: the tile's side; left: how much of it is inside; stride: of the operand's other axis; pitch: between steps of k
 * in a stage. */
RP_GPU_FN void TILE(part_begin)(TILE(part) * part, const float *from, int size, int left, int stride, int pitch,
                                bool along, int copies)
{
    const int t = (int)RP_GPU_THREAD, side = along ? t / 2 : t * 4 % size, lines = THREADS / 2;

    part->l = along ? t % 2 * 4 : t * 4 / size;
    part->l_apart = along ? 0 : THREADS * 4 / size;
    part->apart = along ? lines * stride : THREADS * 4 / size * stride;
    part->to = part->l * pitch + side;
    part->to_apart = along ? lines : THREADS * 4 / size * pitch;
    part->count = side >= left ? 0 : along ? (left - side + lines - 1) / lines : copies;
    part->from = from + (along ? (int64_t)side * stride + part->l : (int64_t)part->l * stride + side);
    RP_GPU_UNROLL for (int s = 0; s < 4 * copies; s++) part->held[s] = 0;
}

/* One multiply-add makes a copy's address. */
#define AT(part, s) ((const float *)((const char *)(part)->from + (int64_t)(part)->apart * (int)(4 * (s))))

/* Loads the next steps of k of a part that lies along k, if there is a stage of them (go); of the last the steps that
 * there are, one by one. */
RP_GPU_FN void TILE(load)(TILE(part) * part, int copies, int steps, bool whole, bool go)
{
    RP_GPU_UNROLL for (int s = 0; s < copies; s++)
    {
        const float *const from = AT(part, s / PIECES) + 8 * (s % PIECES);
        const bool there = go && s / PIECES < part->count;

        if (there && whole)
            rp_gpu_take16(part->held + 4 * s, from);
        if (there && !whole)
            RP_GPU_UNROLL for (int e = 0; e < 4; e++) if (part->l + 8 * (s % PIECES) + e < steps)
                part->held[4 * s + e] = from[e];
    }
    part->from += BK;
}

RP_GPU_FN void TILE(put_held)(TILE(part) * part, float *shared, int copies, int pitch)
{
    RP_GPU_UNROLL for (int s = 0; s < copies; s++) RP_GPU_UNROLL for (int e = 0; e < 4; e++)
        shared[part->to + (8 * (s % PIECES) + e) * pitch + THREADS / 2 * (s / PIECES)] = part->held[4 * s + e];
}

/* Begins to copy the next steps of k of a part whose sides are neighbours. */
RP_GPU_FN void TILE(copy)(TILE(part) * part, float *shared, int copies, int64_t stride, int steps, bool whole, bool go)
{
    const rp_gpu_shared_at to = RP_GPU_SHARED_AT(shared);

    RP_GPU_UNROLL for (int s = 0; s < copies;
                       s++) if (go && s < part->count && (whole || part->l + s * part->l_apart < steps))
        RP_GPU_COPY16(to + 4 * part->to + 4 * s * part->to_apart, AT(part, s));
    part->from += BK * stride;
}

typedef struct TILE(feed) {
    TILE(part) a, b;
    int filling; /* the stage to be filled next, where the places are */
} TILE(feed);

RP_GPU_FN void TILE(load_next)(TILE(feed) * f, int steps, bool whole, bool go)
{
    if (A_ALONG)
        TILE(load)(&f->a, A_COPIES, steps, whole, go);
    if (B_ALONG)
        TILE(load)(&f->b, B_COPIES, steps, whole, go);
}

RP_GPU_FN void TILE(copy_next)(TILE(feed) * f, const rp_gpu_matmul *p, float *shared, int steps, bool whole, bool go)
{
    if (!A_ALONG)
        TILE(copy)(&f->a, shared, A_COPIES, p->a_col, steps, whole, go);
    if (!B_ALONG)
        TILE(copy)(&f->b, shared, B_COPIES, p->b_row, steps, whole, go);
    RP_GPU_COPY_COMMIT();
}

/* What was loaded goes to the stage that is being filled; what is put for a stage that is not there, nobody reads. */
RP_GPU_FN void TILE(deliver)(TILE(feed) * f, float *shared)
{
    if (A_ALONG)
        TILE(put_held)(&f->a, shared, A_COPIES, SA);
    if (B_ALONG)
        TILE(put_held)(&f->b, shared, B_COPIES, SB);
    f->filling = f->filling + 1 == STAGES ? 0 : f->filling + 1;
    f->a.to = f->filling == 0 ? f->a.to - (STAGES - 1) * STAGE : f->a.to + STAGE;
    f->b.to = f->filling == 0 ? f->b.to - (STAGES - 1) * STAGE : f->b.to + STAGE;
}

/* One step of k: a thread's rows and columns are stripes of 4, 16 and 32 apart. */
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

#define ROW(i) ((i) / 4 * 16 + (i) % 4)

/* Four results beside each other, those of them that exist. */
RP_GPU_FN void TILE(take_y)(const rp_gpu_matmul *p, float *to, const float *y, int r, int c)
{
    const float *const from = y + r * p->y_row + c * p->y_col;

    if (r < (int)p->m && c < (int)p->n && p->wide)
        rp_gpu_take16(to, from);
    else if (r < (int)p->m)
        RP_GPU_UNROLL for (int e = 0; e < 4; e++) if (c + e < (int)p->n) to[e] = from[e * p->y_col];
}

RP_GPU_FN void TILE(put_y)(const rp_gpu_matmul *p, float *y, const float *from, int r, int c)
{
    float *const to = y + r * p->y_row + c * p->y_col;

    if (r < (int)p->m && c < (int)p->n && p->wide)
        rp_gpu_put16(to, from);
    else if (r < (int)p->m)
        RP_GPU_UNROLL for (int e = 0; e < 4; e++) if (c + e < (int)p->n) to[e * p->y_col] = from[e];
}

/* y = y + acc, -0 + acc in the first chunk, two of a thread's rows on their way at a time; acc begins anew. Sums are
 * registers of their own in the first chunk too: stored as they are, accumulators would have to lie in fours as b's
 * values do, and every second multiply-add would read two registers of one bank. */
RP_GPU_FN void TILE(put)(const rp_gpu_matmul *p, float *y, float acc[TM][TN], int row, int col, bool first)
{
    RP_GPU_UNROLL for (int i = 0; i < TM; i += 2)
    {
        float old[2][TN];

        RP_GPU_UNROLL for (int u = 0; u < 2; u++) RP_GPU_UNROLL for (int j = 0; j < TN; j++) old[u][j] = -0.0f;
        if (!first)
            RP_GPU_UNROLL for (int u = 0; u < 2; u++) RP_GPU_UNROLL for (int q = 0; q < TN / 4; q++)
                TILE(take_y)(p, &old[u][q * 4], y, row + ROW(i + u), col + q * 32);
        RP_GPU_UNROLL for (int u = 0; u < 2; u++) RP_GPU_UNROLL for (int q = 0; q < TN / 4; q++)
        {
            RP_GPU_UNROLL for (int e = q * 4; e < q * 4 + 4; e++) old[u][e] = old[u][e] + acc[i + u][e];
            TILE(put_y)(p, y, &old[u][q * 4], row + ROW(i + u), col + q * 32);
        }
    }
    RP_GPU_UNROLL for (int i = 0; i < TM; i++) RP_GPU_UNROLL for (int j = 0; j < TN; j++) acc[i][j] = 0;
}

RP_GPU_KERNEL(THREADS, BLOCKS) TILE(rp_gpu_matmul)(const rp_gpu_matmul p)
{
    RP_GPU_SHARED_GIVEN(float, matmul_shared_f32, STAGES *STAGE);
    float *const shared = matmul_shared_f32;
    const int t = (int)RP_GPU_THREAD, lane = t % 32, warp = t / 32;
    const int ly = lane / 16 * 2 + lane % 2,
              lx = lane / 2 % 8; /* neighbours share columns: two passes a 16-byte load */
    const int in_row = warp % WM * 4 * TM + ly * 4, in_col = warp / WM * 8 * TN + lx * 4;
    int row0, col0;
    const rp_gpu_matmul_place at = rp_gpu_matmul_place_of(&p);
    float *y = (float *)p.y + at.y, acc[TM][TN], fa[2][TM], fb[2][TN];
    const int k = at.k, full = k / BK, rest = k % BK, tiles = full + (rest > 0);
    TILE(feed) feed;

    RP_GPU_BEGIN(p);
    rp_gpu_matmul_tile_of(&p, BM, BN, &row0, &col0);
    TILE(part_begin)
    (&feed.a, (const float *)p.a + at.a + (int64_t)row0 * p.a_row, BM, (int)p.m - row0, A_ALONG ? p.a_row : p.a_col, SA,
     A_ALONG, A_COPIES);
    TILE(part_begin)
    (&feed.b, (const float *)p.b + at.b + (int64_t)col0 * p.b_col, BN, (int)p.n - col0, B_ALONG ? p.b_col : p.b_row, SB,
     B_ALONG, B_COPIES);
    feed.b.to += BK * SA;
    feed.filling = 0;
    RP_GPU_UNROLL for (int i = 0; i < TM; i++) RP_GPU_UNROLL for (int j = 0; j < TN; j++) acc[i][j] = 0;
    RP_GPU_NO_UNROLL for (int s = 0; s < STAGES - 1; s++)
    {
        TILE(load_next)(&feed, BK, true, s < full);
        TILE(copy_next)(&feed, &p, shared, BK, true, s < full);
        TILE(deliver)(&feed, shared);
    }
    TILE(load_next)(&feed, BK, true, STAGES - 1 < full);

    int stage = 0, kt = 0;
    const float *from_a = shared + in_row, *from_b = shared + BK * SA + in_col;

    RP_GPU_COPY_WAIT(STAGES - 2);
    RP_GPU_BARRIER();
    TILE(take)(fa[0], fb[0], from_a, from_b);
    /* once also for k = 0 */
    for (int chunk = 0; chunk == 0 || chunk * (RP_GPU_MATMUL_CHUNK / BK) < tiles; chunk++) {
        const int next = (chunk + 1) * (RP_GPU_MATMUL_CHUNK / BK), end = next < full ? next : full;

        /* A stage's first step is taken during the last one of the stage before. */
        RP_GPU_NO_UNROLL for (; kt < end; kt++)
        {
            TILE(copy_next)(&feed, &p, shared, BK, true, kt + STAGES - 1 < full);
            RP_GPU_UNROLL for (int l = 0; l < BK - 1; l++)
            {
                TILE(take)(fa[(l + 1) % 2], fb[(l + 1) % 2], from_a + (l + 1) * SA, from_b + (l + 1) * SB);
                TILE(multiply)(acc, fa[l % 2], fb[l % 2]);
            }
            TILE(deliver)(&feed, shared);
            TILE(load_next)(&feed, BK, true, kt + STAGES < full);
            stage = stage + 1 == STAGES ? 0 : stage + 1;
            from_a = stage == 0 ? from_a - (STAGES - 1) * STAGE : from_a + STAGE;
            from_b = stage == 0 ? from_b - (STAGES - 1) * STAGE : from_b + STAGE;
            RP_GPU_COPY_WAIT(STAGES - 2);
            RP_GPU_BARRIER();
            TILE(take)(fa[0], fb[0], from_a, from_b);
            TILE(multiply)(acc, fa[(BK - 1) % 2], fb[(BK - 1) % 2]);
        }
        if (rest > 0 && full / (RP_GPU_MATMUL_CHUNK / BK) == chunk) {
            RP_GPU_BARRIER();
            feed.a.from -= A_ALONG ? STAGES * BK : (int64_t)((STAGES - 1) * BK) * p.a_col; /* behind the whole stages */
            feed.b.from -= B_ALONG ? STAGES * BK : (int64_t)((STAGES - 1) * BK) * p.b_row;
            feed.a.to += (stage - feed.filling) * STAGE;
            feed.b.to += (stage - feed.filling) * STAGE;
            TILE(load_next)(&feed, rest, false, true);
            TILE(copy_next)(&feed, &p, shared, rest, false, true);
            TILE(deliver)(&feed, shared);
            RP_GPU_COPY_WAIT(0);
            RP_GPU_BARRIER();
            RP_GPU_NO_UNROLL for (int l = 0; l < rest; l++)
            {
                TILE(take)(fa[0], fb[0], from_a + l * SA, from_b + l * SB);
                TILE(multiply)(acc, fa[0], fb[0]);
            }
        }
        TILE(put)(&p, y, acc, row0 + in_row, col0 + in_col, chunk == 0);
    }
}

#undef BM
#undef BN
#undef THREADS
#undef SA
#undef SB
#undef STAGE
#undef A_COPIES
#undef B_COPIES
#undef PIECES
#undef AT
#undef ROW
#undef SIDES
#undef A_ALONG
#undef B_ALONG
