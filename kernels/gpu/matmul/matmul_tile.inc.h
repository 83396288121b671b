/* SPDX-License-Identifier: Apache-2.0
 * A tiled matrix product in the order of CONTRACT 4.4. Parameters:
 *   SHARED            the name of shared memory, one a type
 *   TILE(name)        the name of what belongs to this tile, by SIDES
 *   T, FMA            type of the chains and their step; VEC: how many T are 16 bytes; COPY_ONE copies one
 *   SOURCE, OF(x)     what operands are stored as, and its value in T; CONVERTED: 1 if that is not itself
 *   TM, TN            outputs of a thread, multiples of VEC; a warp is 4 x 8 threads
 *   WM, WN            warps of a block: it makes WM * 4 * TM rows and WN * 8 * TN columns
 *   BK, STAGES        steps of k a stage of shared memory holds (512 is a multiple), and how many there are
 *   BLOCKS            that shall fit a multiprocessor
 *   B_WIDE            1: columns of b are neighbours and copied 16 bytes at a time
 *   FREE              1: another operand is walked along its side where its rows, columns are neighbours; 0: along k
 * The sum of the chunks before lies in y itself and is met once in 512 steps, so no register holds it: -0 + c is c for
 * every c, so the first chunk is added to -0 without a branch. The rest of k that fills no stage has a counted loop:
 * nothing is ever multiplied that is not a term. */
#define BM (WM * 4 * TM)
#define BN (WN * 8 * TN)
#define THREADS (WM * WN * 32)
#define SA (BM + VEC) /* so that neighbours in k lie in other banks */
#define SB (BN + VEC)
#define STAGE (BK * (SA + SB))
#define A_COPIES (BM * BK / THREADS) /* of a thread, for a stage */
#define B_COPIES (BN * BK / THREADS / (B_WIDE ? VEC : 1))

/* What a thread brings of one operand to each stage: copies that go along k, at one place of its side, or along the
 * side at one step of k. */
typedef struct TILE(part) {
    const SOURCE *from;
    int apart, to, to_apart; /* elements between copies; place in shared memory, and between copies */
    int l, l_apart;          /* steps of k */
    int count;               /* copies inside the matrix */
} TILE(part);

typedef struct TILE(feed) {
    TILE(part) a, b;
    int filling; /* the stage to be filled next, where the places are */
    SOURCE a_held[CONVERTED ? A_COPIES : 1], b_held[CONVERTED ? B_COPIES : 1];
} TILE(feed);

/* size: the tile's side; left: how much of it is inside; side_stride, l_stride: of the operand; pitch: between steps of
 * k in a stage. */
RP_GPU_FN void TILE(part_begin)(TILE(part) * part, const SOURCE *from, int size, int left, int side_stride,
                                int l_stride, int pitch, int wide, int copies)
{
    const int t = (int)RP_GPU_THREAD, vec = wide ? VEC : 1, along_side = wide || (FREE && side_stride == 1);
    const int side = along_side ? t * vec % size : t / BK;

    part->l = along_side ? t * vec / size : t % BK;
    part->l_apart = along_side ? THREADS * vec / size : 0;
    part->apart = along_side ? THREADS * vec / size * l_stride : THREADS / BK * side_stride;
    part->to = part->l * pitch + side;
    part->to_apart = along_side ? THREADS * vec / size * pitch : THREADS / BK;
    part->count = side >= left ? 0 : along_side ? copies : (left - side + THREADS / BK - 1) / (THREADS / BK);
    part->from = from + (int64_t)side * side_stride + (int64_t)part->l * l_stride;
}

/* Copy s exists in a stage that has `steps` steps of k, all of them if `whole`. One multiply-add makes its address. */
#define THERE(part, s) ((s) < (part).count && (whole || (part).l + (s) * (part).l_apart < steps))
#define AT(part, s) ((const SOURCE *)((const char *)(part).from + (int64_t)(part).apart * (int)((s) * sizeof(SOURCE))))
#define TO(part, s) (to + BYTES((part).to) + BYTES(s) * (part).to_apart)
#define BYTES(n) ((int)sizeof(T) * (n))

/* Begins to bring the next steps of k into a stage. */
RP_GPU_FN void TILE(fetch)(TILE(feed) * f, T *shared, int steps, bool whole)
{
#if CONVERTED
    (void)shared;
    RP_GPU_UNROLL for (int s = 0; s < A_COPIES; s++) if (THERE(f->a, s)) f->a_held[s] = *AT(f->a, s);
    RP_GPU_UNROLL for (int s = 0; s < B_COPIES; s++) if (THERE(f->b, s)) f->b_held[s] = *AT(f->b, s);
#else
    const rp_gpu_shared_at to = RP_GPU_SHARED_AT(shared);

    RP_GPU_UNROLL for (int s = 0; s < A_COPIES; s++) if (THERE(f->a, s)) COPY_ONE(TO(f->a, s), AT(f->a, s));
#if B_WIDE
    RP_GPU_UNROLL for (int s = 0; s < B_COPIES; s++) if (THERE(f->b, s)) RP_GPU_COPY16(TO(f->b, s), AT(f->b, s));
#else
    RP_GPU_UNROLL for (int s = 0; s < B_COPIES; s++) if (THERE(f->b, s)) COPY_ONE(TO(f->b, s), AT(f->b, s));
#endif
#endif
}

/* The stage that was fetched is complete when its copies have been waited for, or, converted, when this has put it. */
RP_GPU_FN void TILE(deliver)(TILE(feed) * f, const rp_gpu_matmul *p, T *shared)
{
#if CONVERTED
    RP_GPU_UNROLL for (int s = 0; s < A_COPIES; s++) shared[f->a.to + s * f->a.to_apart] = OF(f->a_held[s]);
    RP_GPU_UNROLL for (int s = 0; s < B_COPIES; s++) shared[f->b.to + s * f->b.to_apart] = OF(f->b_held[s]);
#else
    (void)shared;
#endif
    f->filling = f->filling + 1 == STAGES ? 0 : f->filling + 1;
    f->a.to = f->filling == 0 ? f->a.to - (STAGES - 1) * STAGE : f->a.to + STAGE;
    f->b.to = f->filling == 0 ? f->b.to - (STAGES - 1) * STAGE : f->b.to + STAGE;
    f->a.from += (int64_t)BK * p->a_col;
    f->b.from += (int64_t)BK * p->b_row;
}

/* One step of k: a thread's rows and columns are stripes of VEC, 4 * VEC and 8 * VEC apart. */
RP_GPU_FN void TILE(take)(T *fa, T *fb, const T *a, const T *b)
{
    RP_GPU_UNROLL for (int q = 0; q < TM / VEC; q++) rp_gpu_take16(fa + q * VEC, a + q * 4 * VEC);
    RP_GPU_UNROLL for (int q = 0; q < TN / VEC; q++) rp_gpu_take16(fb + q * VEC, b + q * 8 * VEC);
}

RP_GPU_FN void TILE(multiply)(T acc[TM][TN], const T *fa, const T *fb)
{
    RP_GPU_UNROLL for (int i = 0; i < TM; i++) RP_GPU_UNROLL for (int j = 0; j < TN; j++) acc[i][j] =
        FMA(fa[i], fb[j], acc[i][j]);
}

/* y = y + acc, or acc in the first chunk; acc begins anew. */
RP_GPU_FN void TILE(put)(const rp_gpu_matmul *p, T *y, T acc[TM][TN], int row, int col, bool first)
{
    RP_GPU_UNROLL for (int i = 0; i < TM; i++)
    {
        const int r = row + i / VEC * 4 * VEC + i % VEC;

        if (r >= (int)p->m)
            continue;
        RP_GPU_UNROLL for (int q = 0; q < TN / VEC; q++)
        {
            const int c = col + q * 8 * VEC;
            T *to = y + r * p->y_row + c * p->y_col, old[VEC];

            RP_GPU_UNROLL for (int e = 0; e < VEC; e++) old[e] = (T)-0.0;
            if (p->wide && c < (int)p->n) {
                if (!first)
                    rp_gpu_take16(old, to);
                RP_GPU_UNROLL for (int e = 0; e < VEC; e++) old[e] = old[e] + acc[i][q * VEC + e];
                rp_gpu_put16(to, old);
            } else {
                RP_GPU_UNROLL for (int e = 0; e < VEC; e++) if (c + e < (int)p->n) to[e * p->y_col] =
                    (first ? (T)-0.0 : to[e * p->y_col]) + acc[i][q * VEC + e];
            }
        }
    }
    RP_GPU_UNROLL for (int i = 0; i < TM; i++) RP_GPU_UNROLL for (int j = 0; j < TN; j++) acc[i][j] = 0;
}

RP_GPU_KERNEL(THREADS, BLOCKS) TILE(rp_gpu_matmul)(const rp_gpu_matmul p)
{
    RP_GPU_SHARED_GIVEN(T, SHARED, STAGES * STAGE);
    T *const shared = SHARED;
    const int t = (int)RP_GPU_THREAD, lane = t % 32, warp = t / 32;
    const int ly = lane / 16 * 2 + lane % 2,
              lx = lane / 2 % 8; /* neighbours share columns: two passes a 16-byte load */
    const int in_row = warp % WM * 4 * TM + ly * VEC, in_col = warp / WM * 8 * TN + lx * VEC;
    int row0, col0;
    const rp_gpu_matmul_place at = rp_gpu_matmul_place_of(&p);
    T *y = (T *)p.y + at.y, acc[TM][TN], fa[2][TM], fb[2][TN];
    const int k = at.k, full = k / BK, rest = k % BK, tiles = full + (rest > 0);
    TILE(feed) feed;

    RP_GPU_BEGIN(p);
    rp_gpu_matmul_tile_of(&p, BM, BN, &row0, &col0);
    TILE(part_begin)
    (&feed.a, (const SOURCE *)p.a + at.a + (int64_t)row0 * p.a_row, BM, (int)p.m - row0, p.a_row, p.a_col, SA, 0,
     A_COPIES);
    TILE(part_begin)
    (&feed.b, (const SOURCE *)p.b + at.b + (int64_t)col0 * p.b_col, BN, (int)p.n - col0, p.b_col, p.b_row, SB, B_WIDE,
     B_COPIES);
    feed.b.to += BK * SA;
    feed.filling = 0;
    RP_GPU_UNROLL for (int i = 0; i < TM; i++) RP_GPU_UNROLL for (int j = 0; j < TN; j++) acc[i][j] = 0;
    RP_GPU_NO_UNROLL for (int s = 0; s < STAGES - 1; s++)
    {
        if (s < full) {
            TILE(fetch)(&feed, shared, BK, true);
            TILE(deliver)(&feed, &p, shared);
        }
        RP_GPU_COPY_COMMIT();
    }

    int stage = 0, kt = 0;
    const T *from_a = shared + in_row, *from_b = shared + BK * SA + in_col;

    /* once also for k = 0 */
    for (int chunk = 0; chunk == 0 || chunk * (RP_GPU_MATMUL_CHUNK / BK) < tiles; chunk++) {
        const int next = (chunk + 1) * (RP_GPU_MATMUL_CHUNK / BK), end = next < full ? next : full;

        RP_GPU_NO_UNROLL for (; kt < end; kt++)
        {
            RP_GPU_COPY_WAIT(STAGES - 2);
            RP_GPU_BARRIER();
            TILE(take)(fa[0], fb[0], from_a, from_b);
            if (kt + STAGES - 1 < full)
                TILE(fetch)(&feed, shared, BK, true);
            RP_GPU_COPY_COMMIT();
            RP_GPU_UNROLL for (int l = 0; l < BK; l++)
            {
                if (l + 1 < BK)
                    TILE(take)(fa[(l + 1) % 2], fb[(l + 1) % 2], from_a + (l + 1) * SA, from_b + (l + 1) * SB);
                TILE(multiply)(acc, fa[l % 2], fb[l % 2]);
            }
            if (kt + STAGES - 1 < full)
                TILE(deliver)(&feed, &p, shared);
            stage = stage + 1 == STAGES ? 0 : stage + 1;
            from_a = stage == 0 ? from_a - (STAGES - 1) * STAGE : from_a + STAGE;
            from_b = stage == 0 ? from_b - (STAGES - 1) * STAGE : from_b + STAGE;
        }
        if (rest > 0 && full / (RP_GPU_MATMUL_CHUNK / BK) == chunk) {
            RP_GPU_BARRIER();
            TILE(fetch)(&feed, shared, rest, false);
            TILE(deliver)(&feed, &p, shared);
            RP_GPU_COPY_COMMIT();
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
#undef THERE
#undef AT
#undef TO
#undef BYTES
#undef SIDES
#undef B_WIDE
