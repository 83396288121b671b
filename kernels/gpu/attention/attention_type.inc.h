/* SPDX-License-Identifier: Apache-2.0
 * The kernels of attention.cu for one type. Parameters: T, PASTE(name), SHUFFLE_XOR, EXP, LOWEST, SIGN_BIT. A thread
 * meets the same elements of a row in every pass, so what it wrote in one it may read in the next. */

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

/* For each of the thread's keys j. */
#define EACH(j) \
    for (u32 chunk_ = a.warp; chunk_ < a.chunks; chunk_ += a.warps) \
        for (u32 j = chunk_ * CHUNK + a.lane, end_ = a.n - chunk_ * CHUNK < CHUNK ? a.n : (chunk_ + 1) * CHUNK; \
             j < end_; j += WARP)

/* sum = the sum (CONTRACT 4.1) over j of what statement `let` leaves in `term`. */
#define SUM(sum, let) \
    T sum = 0; \
    for (u32 chunk_ = a.warp; chunk_ < a.chunks; chunk_ += a.warps) { \
        const u32 begin_ = chunk_ * CHUNK, end_ = a.n - begin_ < CHUNK ? a.n : begin_ + CHUNK; \
        T low_ = 0, high_ = 0; \
\
        for (u32 j = begin_ + a.lane; j < end_; j += WARP) { \
            T term; \
\
            let; \
            low_ = low_ + term; \
            j += WARP; \
            if (j < end_) { \
                let; \
                high_ = high_ + term; \
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

/* The score of key j, of the product that s has. */
RP_GPU_FN T PASTE(attention_score)(const rp_gpu_attention &p, const attending &a, const T *s, u32 j)
{
    if (!attention_sees(p, a, j))
        return LOWEST;

    const T z = s[j] * (T)p.scale;

    return p.mask != NULL && !p.chosen ? z + ((const T *)p.mask)[a.mask + (i64)j * p.mask_col] : z;
}

/* exp(z - most), which is +0 for -inf below anything else. */
RP_GPU_FN T PASTE(attention_exp)(T z, T most)
{
    return z == LOWEST && most > LOWEST ? (T)0 : EXP(z - most);
}

/* Products to weights, dropped already where there is no gradient to follow. */
RP_GPU_KERNEL(WARP *WARPS, 3) PASTE(rp_gpu_attention_weights)(const RP_GPU_PARAMETER rp_gpu_attention p)
{
    ROW_BEGIN(attention_weights)
    const T keep = (T)(1.0 / (1.0 - p.rate));
    T most = LOWEST;

    EACH(j) most = PASTE(attention_greater)(most, PASTE(attention_score)(p, a, s, j));
    most = PASTE(attention_most)(p, a, sums, most);
    SUM(sum, term = s[j] = PASTE(attention_exp)(PASTE(attention_score)(p, a, s, j), most))
    EACH(j)
    {
        const T weight = s[j] / sum;

        s[j] = p.rng == NULL || p.d != NULL ? weight : attention_keeps(p, a, j) ? weight * keep : (T)0;
    }
}

/* In d the gradient of dropped weights becomes that of the products, and what is in s is dropped. */
RP_GPU_KERNEL(WARP *WARPS, 3) PASTE(rp_gpu_attention_slopes)(const RP_GPU_PARAMETER rp_gpu_attention p)
{
    ROW_BEGIN(attention_slopes)
    const T keep = (T)(1.0 / (1.0 - p.rate)), scale = (T)p.scale;
    T *const d = (T *)p.d + a.at;

    if (p.rng != NULL)
        EACH(j) d[j] = attention_keeps(p, a, j) ? d[j] * keep : (T)0;
    SUM(slope, term = d[j] * s[j])
    EACH(j)
    {
        const T weight = s[j], dz = (d[j] - slope) * weight;

        d[j] = (attention_sees(p, a, j) ? dz : (T)0) * scale;
        if (p.rng != NULL)
            s[j] = attention_keeps(p, a, j) ? weight * keep : (T)0;
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
#undef EACH
#undef SUM
#undef ROW_BEGIN
