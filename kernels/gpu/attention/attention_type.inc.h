/* SPDX-License-Identifier: Apache-2.0
 * The kernels of attention.cu for one type. Parameters: T, PASTE(name), BATCH (even), SHUFFLE_XOR, EXP, LOWEST,
 * SIGN_BIT. A thread meets the same elements of a row in every pass, so what it wrote in one it may read in the next.
 */

/* CONTRACT 2.4: a NaN wins, and of zeros +0. */
RP_GPU_FN T PASTE(attention_greater)(T a, T b)
{
    const T most = a > b ? a : b, equal = SIGN_BIT(a) ? b : a;

    return a != a ? a : a == b ? equal : b != b ? b : most;
}

/* The fold of 64 lanes, of which thread t holds t and t + 32: every thread has the sum. */
RP_GPU_FN T PASTE(attention_fold)(T low, T high)
{
    T sum = low + high;

    RP_GPU_UNROLL for (int half = 16; half > 0; half /= 2) sum = sum + SHUFFLE_XOR(sum, half);
    return sum;
}

/* The maximum over a team of each thread's. */
RP_GPU_FN T PASTE(attention_most)(const rp_gpu_attention &p, const attending &a, T *sums, T most)
{
    RP_GPU_UNROLL for (int half = 16; half > 0; half /= 2) most =
        PASTE(attention_greater)(most, SHUFFLE_XOR(most, half));
    if (p.block) {
        if (a.lane == 0)
            sums[a.warp] = most;
        RP_GPU_BARRIER();
        for (u32 w = 0; w < WARPS; w++)
            most = PASTE(attention_greater)(most, sums[w]);
        RP_GPU_BARRIER();
    }
    return most;
}

/* The sum of a row of several chunks, whose sums the warps left in shared memory. */
RP_GPU_FN T PASTE(attention_total)(const attending &a, const T *sums)
{
    T low = 0, high = 0, sum;

    RP_GPU_BARRIER();
    for (u32 c = a.lane; c < a.chunks; c += LANES) {
        low = low + sums[c];
        if (c + WARP < a.chunks)
            high = high + sums[c + WARP];
    }
    sum = PASTE(attention_fold)(low, high);
    RP_GPU_BARRIER(); /* the sums are about to be written anew */
    return sum;
}

/* A thread's keys j0, j0 + 32, ..., BATCH of them, that their loads are on the way together; those not below end are
 * not there. A chunk is a multiple of a warp's. */
#define BATCHES(j0, end) \
    for (u32 chunk_ = a.warp; chunk_ < a.chunks; chunk_ += a.warps) \
        for (u32 j0 = chunk_ * CHUNK + a.lane, end = a.n - chunk_ * CHUNK < CHUNK ? a.n : (chunk_ + 1) * CHUNK; \
             j0 < end; j0 += BATCH * WARP)
#define EACH(u) RP_GPU_UNROLL for (u32 u = 0; u < BATCH; u++)
#define KEY(u) (j0 + (u)*WARP)

/* sum = the sum (CONTRACT 4.1) of what statement `let` leaves in term[] of each batch. */
#define SUM(sum, let) \
    T sum = 0; \
    for (u32 chunk_ = a.warp; chunk_ < a.chunks; chunk_ += a.warps) { \
        const u32 begin_ = chunk_ * CHUNK, end = a.n - begin_ < CHUNK ? a.n : begin_ + CHUNK; \
        T low_ = 0, high_ = 0; \
\
        for (u32 j0 = begin_ + a.lane; j0 < end; j0 += BATCH * WARP) { \
            T term[BATCH]; \
\
            let; \
            EACH(u) \
            { \
                if (u % 2 == 0 && KEY(u) < end) \
                    low_ = low_ + term[u]; \
                if (u % 2 == 1 && KEY(u) < end) \
                    high_ = high_ + term[u]; \
            } \
        } \
        sum = PASTE(attention_fold)(low_, high_); \
        if (p.block && a.lane == 0) \
            sums[chunk_] = sum; \
    } \
    if (p.block) \
        sum = PASTE(attention_total)(a, sums);

/* What both row kernels begin with. */
#define ROW_BEGIN(name) \
    RP_GPU_SHARED(T, PASTE(name##_sums), RP_GPU_ATTENTION_CHUNKS); \
    T *const sums = PASTE(name##_sums); \
    const u32 row = p.block ? RP_GPU_BLOCK_X : RP_GPU_BLOCK_X * WARPS + RP_GPU_THREAD / WARP; \
\
    RP_GPU_BEGIN(p); \
    if (row >= p.count) \
        return; /* all of a team */ \
    const attending a = attending_of(p, row); \
    T *const s = (T *)p.s + a.at;

RP_GPU_FN void PASTE(attention_take)(T *x, const T *from, u32 j0, u32 end)
{
    EACH(u) x[u] = KEY(u) < end ? from[KEY(u)] : (T)0;
}

/* The scores of a batch, of the products that s has; -inf of keys that are not there. */
RP_GPU_FN void PASTE(attention_scores)(const rp_gpu_attention &p, const attending &a, T *z, const T *s, u32 j0, T scale)
{
    const u32 seen = attention_seen(p, a, j0, BATCH);

    PASTE(attention_take)(z, s, j0, a.to);
    EACH(u) z[u] = seen >> u & 1 ? z[u] * scale : LOWEST;
    if (p.mask == NULL || p.chosen)
        return;
    EACH(u) if (seen >> u & 1) z[u] = z[u] + ((const T *)p.mask)[a.mask + (i64)KEY(u) * p.mask_col];
}

/* exp(z - most), which is +0 for -inf below anything else. */
RP_GPU_FN T PASTE(attention_exp)(T z, T most)
{
    return z == LOWEST && most > LOWEST ? (T)0 : EXP(z - most);
}

/* What weights that stay are multiplied with. */
RP_GPU_FN T PASTE(attention_kept_scale)(const rp_gpu_attention &p, bool drops)
{
    return drops ? (T)(1.0 / (1.0 - p.rate)) : (T)1;
}

/* Products to weights where a thread's keys are one batch, which stays in registers. */
RP_GPU_FN void PASTE(attention_short)(const rp_gpu_attention &p, const attending &a, T *s, T scale, bool drops, T keep)
{
    const u32 j0 = a.lane, kept = drops ? attention_kept(p, a, j0, BATCH) : ~0u;
    T z[BATCH], most = LOWEST, low = 0, high = 0;

    PASTE(attention_scores)(p, a, z, s, j0, scale);
    EACH(u) most = PASTE(attention_greater)(most, z[u]);
    RP_GPU_UNROLL for (int half = 16; half > 0; half /= 2) most =
        PASTE(attention_greater)(most, SHUFFLE_XOR(most, half));
    EACH(u) z[u] = PASTE(attention_exp)(z[u], most);
    EACH(u)
    {
        if (u % 2 == 0 && KEY(u) < a.n)
            low = low + z[u];
        if (u % 2 == 1 && KEY(u) < a.n)
            high = high + z[u];
    }
    const T sum = PASTE(attention_fold)(low, high);

    EACH(u) if (KEY(u) < a.n) s[KEY(u)] = kept >> u & 1 ? z[u] / sum * keep : (T)0;
}

/* Products to weights, dropped already where there is no gradient to follow. */
RP_GPU_KERNEL(WARP *WARPS, 3) PASTE(rp_gpu_attention_weights)(const RP_GPU_PARAMETER rp_gpu_attention p)
{
    ROW_BEGIN(attention_weights)
    const bool drops = p.rng != NULL && p.d == NULL;
    const T scale = (T)p.scale, keep = PASTE(attention_kept_scale)(p, drops);
    T most = LOWEST;

    if (a.n <= BATCH * WARP) {
        PASTE(attention_short)(p, a, s, scale, drops, keep);
        return;
    }
    BATCHES(j0, end)
    {
        T z[BATCH];

        PASTE(attention_scores)(p, a, z, s, j0, scale);
        EACH(u) most = PASTE(attention_greater)(most, z[u]);
    }
    most = PASTE(attention_most)(p, a, sums, most);
    SUM(
        sum, PASTE(attention_scores)(p, a, term, s, j0, scale); EACH(u) {
            term[u] = PASTE(attention_exp)(term[u], most);
            if (KEY(u) < end)
                s[KEY(u)] = term[u];
        })
    BATCHES(j0, end)
    {
        const u32 kept = drops ? attention_kept(p, a, j0, BATCH) : ~0u;
        T x[BATCH];

        PASTE(attention_take)(x, s, j0, end);
        EACH(u) if (KEY(u) < end) s[KEY(u)] = kept >> u & 1 ? x[u] / sum * keep : (T)0;
    }
}

/* In d the gradient of dropped weights becomes that of the products, and what is in s is dropped. */
RP_GPU_KERNEL(WARP *WARPS, 3) PASTE(rp_gpu_attention_slopes)(const RP_GPU_PARAMETER rp_gpu_attention p)
{
    ROW_BEGIN(attention_slopes)
    const bool drops = p.rng != NULL;
    const T scale = (T)p.scale, keep = PASTE(attention_kept_scale)(p, drops);
    T *const d = (T *)p.d + a.at;

    SUM(slope, const u32 kept = drops ? attention_kept(p, a, j0, BATCH) : ~0u; T x[BATCH];
        PASTE(attention_take)(term, d, j0, end); PASTE(attention_take)(x, s, j0, end);
        EACH(u) term[u] = (kept >> u & 1 ? term[u] * keep : (T)0) * x[u];)
    BATCHES(j0, end)
    {
        const u32 kept = drops ? attention_kept(p, a, j0, BATCH) : ~0u, seen = attention_seen(p, a, j0, BATCH);
        T x[BATCH], dp[BATCH];

        PASTE(attention_take)(dp, d, j0, end);
        PASTE(attention_take)(x, s, j0, end);
        EACH(u)
        {
            const T dz = ((kept >> u & 1 ? dp[u] * keep : (T)0) - slope) * x[u];

            if (KEY(u) >= end)
                continue;
            d[KEY(u)] = (seen >> u & 1 ? dz : (T)0) * scale;
            if (drops)
                s[KEY(u)] = kept >> u & 1 ? x[u] * keep : (T)0;
        }
    }
}

RP_GPU_KERNEL(WARP *WARPS, 4) PASTE(rp_gpu_attention_join)(const rp_gpu_attention_join p)
{
    RP_GPU_BEGIN(p);
    for (u64 i = (u64)RP_GPU_BLOCK_X * (WARP * WARPS) + RP_GPU_THREAD; i < p.count;
         i += (u64)RP_GPU_BLOCKS_X * (WARP * WARPS)) {
        T *const y = (T *)p.y + (i64)(i / p.columns) * p.y_row + (i64)(i % p.columns) * p.y_col;
        const T *const parts = (const T *)p.parts + i;
        T sum = p.onto ? *y + parts[0] : parts[0];

        for (u32 c = 1; c < p.chunks; c++)
            sum = sum + parts[c * p.count];
        *y = sum;
    }
}

#undef T
#undef PASTE
#undef SHUFFLE_XOR
#undef EXP
#undef LOWEST
#undef SIGN_BIT
#undef BATCHES
#undef EACH
#undef KEY
#undef BATCH
#undef SUM
#undef ROW_BEGIN
