/* SPDX-License-Identifier: Apache-2.0
 * The row kernels of one type. Parameters: T, PASTE(name), SHUFFLE_XOR, COPY, EXP, LOG, ROOT, LOWEST, SIGN_BIT. A row
 * comes to shared memory once where a warp has it, a pass of a block's fetches its pieces anew. A thread meets the same
 * elements in every pass, and fetches them itself, so none waits for another. Values are made for BATCH elements at
 * once; additions alone have an order. */

/* CONTRACT 2.4: a NaN wins, and of zeros +0. */
RP_GPU_FN T PASTE(row_greater)(T a, T b)
{
    const T most = a > b ? a : b, equal = SIGN_BIT(a) ? b : a;

    return a != a ? a : a == b ? equal : b != b ? b : most;
}

/* The fold of 64 lanes, of which thread t holds t and t + 32: every thread has the sum. */
RP_GPU_FN T PASTE(fold)(T low, T high)
{
    T sum = low + high;

    RP_GPU_UNROLL for (int half = 16; half > 0; half /= 2) sum = sum + SHUFFLE_XOR(sum, half);
    return sum;
}

/* The sum of the row's chunk sums: `one` where a warp has the row, which then is one chunk, else those in shared
 * memory. */
RP_GPU_FN T PASTE(chunks_sum)(const team &team, const T *sums, u32 chunks, T one)
{
    T low = 0, high = 0;

    if (!team.block)
        return one;
    RP_GPU_BARRIER();
    if (chunks > 1) {
        for (u32 c = team.lane; c < chunks; c += RP_GPU_LANES) {
            low = low + sums[c];
            if (c + WARP < chunks)
                high = high + sums[c + WARP];
        }
        one = PASTE(fold)(low, high);
    } else {
        one = sums[0];
    }
    RP_GPU_BARRIER(); /* the sums are about to be written anew */
    return one;
}

#define ROW_KERNEL(name) RP_GPU_KERNEL(WARP *WARPS, 3) PASTE(rp_gpu_##name)(const RP_GPU_PARAMETER rp_gpu_rows p)

/* What every row kernel begins with. Its warps' caches hold views first, first + 1, ... of count. */
#define ROW_BEGIN(name, first, count_) \
    RP_GPU_SHARED_GIVEN(T, PASTE(name##_given), 0); \
    T *const sums = PASTE(name##_given); \
    const u32 in_block = RP_GPU_THREAD / WARP, in_blocks = RP_GPU_THREADS / WARP; \
    const u32 n = p.n, chunks = (n + RP_GPU_CHUNK - 1) / RP_GPU_CHUNK; \
    const team team = {RP_GPU_THREAD % WARP, p.block ? in_block : 0, p.block ? in_blocks : 1, p.block != 0}; \
    const u32 row = p.block ? RP_GPU_BLOCK_X : RP_GPU_BLOCK_X * in_blocks + in_block; \
    enum { FIRST = first, COUNT = count_ }; \
    T *const cache = sums + p.sums + in_block * COUNT * p.piece; \
    const T *from_[COUNT]; \
    bool there_ = false; \
\
    RP_GPU_BEGIN(p); \
    if (row >= p.count) \
        return; /* all of a team */ \
    RP_GPU_UNROLL for (int v = 0; v < COUNT; v++) from_[v] = ROW(FIRST + v);

/* View v of the row, and its element i. */
#define ROW(v) ((T *)p.at[v] + rp_gpu_offset(&p.rows, p.row[v], row))
#define AT(pointer, v, i) (pointer)[(i64)(i)*p.step[v]]

/* The thread's elements of [begin, end) of a view: on their way to its part of the cache. */
RP_GPU_FN void PASTE(row_fetch)(T *cache, const T *from, i64 step, u32 lane, u32 begin, u32 end)
{
    rp_gpu_shared_at to = RP_GPU_SHARED_AT(cache + lane);
    u32 i = begin + lane;

    from += (i64)i * step;
    for (; i + (BATCH - 1) * WARP < end; i += BATCH * WARP) {
        RP_GPU_UNROLL for (u32 e = 0; e < BATCH; e++)
        {
            COPY(to + e * WARP * (u32)sizeof(T), from);
            from += step * WARP;
        }
        to += BATCH * WARP * (u32)sizeof(T);
    }
    RP_GPU_NO_UNROLL for (; i < end; i += WARP)
    {
        COPY(to, from);
        to += WARP * (u32)sizeof(T);
        from += step * WARP;
    }
}

/* The pieces [begin_, last_) of the team's chunks, as many elements as the cache holds. A warp's row is one piece,
 * fetched once; `again` is done to each of a block's elements when they are fetched another time. */
#define CHUNKS for (u32 chunk_ = team.warp; chunk_ < chunks; chunk_ += team.warps)
#define PIECES(again) \
    for (u32 begin_ = chunk_ * RP_GPU_CHUNK, end_ = n - begin_ < RP_GPU_CHUNK ? n : begin_ + RP_GPU_CHUNK, last_ = 0; \
         begin_ < end_ && (last_ = end_ - begin_ < p.piece ? end_ : begin_ + p.piece) != 0; begin_ += p.piece) { \
        if (team.block || !there_) { \
            RP_GPU_UNROLL for (int v = 0; v < COUNT; v++) \
                PASTE(row_fetch)(cache + (u32)v * p.piece, from_[v], p.step[FIRST + v], team.lane, begin_, last_); \
            RP_GPU_COPY_COMMIT(); \
            RP_GPU_COPY_WAIT(0); \
            there_ = true; \
        } \
        again
#define PIECES_END }

/* Of the thread's elements: that of cached view v; statement `let` for BATCH of them, or half as many, whose values
 * `each` is done with in their order, and for those that are left. */
#define HERE(v) cache[(u32)(v)*p.piece + (i - begin_)]
#define BATCH_OF(size, value, let, each) \
    RP_GPU_NO_UNROLL for (; i_ + (size - 1) * WARP < last_; i_ += size * WARP) \
    { \
        T values_[size]; \
\
        RP_GPU_UNROLL for (u32 e = 0; e < size; e++) \
        { \
            const u32 i = i_ + e * WARP; \
            T value; \
\
            let; \
            values_[e] = value; \
        } \
        RP_GPU_UNROLL for (u32 e = 0; e < size; e++) \
        { \
            const u32 i = i_ + e * WARP; \
            const T value = values_[e]; \
\
            each; \
        } \
    }
#define BATCHES(value, let, each) \
    u32 i_ = begin_ + team.lane; \
\
    BATCH_OF(BATCH, value, let, each) \
    BATCH_OF(BATCH / 2, value, let, each) \
    RP_GPU_NO_UNROLL for (u32 e = 0; i_ < last_; i_ += WARP, e ^= 1) \
    { \
        const u32 i = i_; \
        T value; \
\
        let; \
        each; \
    }

/* sum = the sum (CONTRACT 4.1) over i of what statement `let` leaves in `term`. */
#define SUM(sum, let) \
    T sum = 0; \
    CHUNKS \
    { \
        T low_ = 0, high_ = 0; \
\
        PIECES() \
        BATCHES(term, let, (void)i; if (e % 2 == 0) low_ = low_ + term; else high_ = high_ + term) \
        PIECES_END \
        sum = PASTE(fold)(low_, high_); \
        if (team.block && team.lane == 0) \
            sums[chunk_] = sum; \
    } \
    sum = PASTE(chunks_sum)(team, sums, chunks, sum);

/* Element i of output y is what statement `let` leaves in `made`. */
#define MAKE(y, let) MAKE_AGAIN(y, , let)
#define MAKE_AGAIN(y, again, let) \
    CHUNKS \
    { \
        PIECES(again) \
        BATCHES(made, let, AT(y, 0, i) = made) \
        PIECES_END \
    }
/* A block's elements of a cached row are what `let` makes of them, as the sum before made them in a warp's. */
#define AGAIN(let) \
    if (team.block) \
        RP_GPU_NO_UNROLL for (u32 i = begin_ + team.lane; i < last_; i += WARP) let;

/* most = the maximum over cached view 0. */
#define MAXIMUM(most) \
    T most = LOWEST, other_ = LOWEST; \
    CHUNKS \
    { \
        PIECES() \
        BATCHES(x_, x_ = HERE(0), (void)i; if (e % 2 == 0) most = PASTE(row_greater)(most, x_); \
                else other_ = PASTE(row_greater)(other_, x_)) \
        PIECES_END \
    } \
    most = PASTE(team_max)(team, sums, PASTE(row_greater)(most, other_));

RP_GPU_FN T PASTE(team_max)(const team &team, T *sums, T most)
{
    RP_GPU_UNROLL for (int half = 16; half > 0; half /= 2) most = PASTE(row_greater)(most, SHUFFLE_XOR(most, half));
    if (team.block) {
        if (team.lane == 0)
            sums[team.warp] = most;
        RP_GPU_BARRIER();
        for (u32 w = 0; w < team.warps; w++)
            most = PASTE(row_greater)(most, sums[w]);
        RP_GPU_BARRIER();
    }
    return most;
}

/* y_i = exp(x_i - m) / s */
ROW_KERNEL(softmax)
{
    ROW_BEGIN(softmax, 1, 1)
    T *const y = ROW(0);

    MAXIMUM(m)
    SUM(s, term = HERE(0) = EXP(HERE(0) - m))
    MAKE_AGAIN(y, AGAIN(HERE(0) = EXP(HERE(0) - m)), made = HERE(0) / s)
}

/* y_i = (x_i - m) - log s */
ROW_KERNEL(log_softmax)
{
    ROW_BEGIN(log_softmax, 1, 1)
    T *const y = ROW(0);

    MAXIMUM(m)
    SUM(s, term = EXP(HERE(0) - m))
    const T log_s = LOG(s);

    MAKE(y, made = (HERE(0) - m) - log_s)
}

/* dx_i = (g_i - d) y_i, d the sum of g_i y_i */
ROW_KERNEL(softmax_grad)
{
    ROW_BEGIN(softmax_grad, 1, 2)
    T *const dx = ROW(0);

    SUM(d, term = HERE(0) * HERE(1))
    MAKE(dx, made = (HERE(0) - d) * HERE(1))
}

/* dx_i = g_i - exp(y_i) s, s the sum of g_i */
ROW_KERNEL(log_softmax_grad)
{
    ROW_BEGIN(log_softmax_grad, 1, 2)
    T *const dx = ROW(0);

    SUM(s, term = HERE(0))
    MAKE(dx, made = HERE(0) - EXP(HERE(1)) * s)
}

RP_GPU_FN u64 PASTE(label)(const rp_gpu_rows &p, u32 row, int v)
{
    const i64 at = rp_gpu_offset(&p.rows, p.row[v], row);

    return p.label_i32 ? (u64)((const int32_t *)p.at[v])[at] : (u64)((const i64 *)p.at[v])[at];
}

/* log s - (x_label - m) */
ROW_KERNEL(cross_entropy)
{
    ROW_BEGIN(cross_entropy, 1, 1)
    T *const y = ROW(0);

    MAXIMUM(m)
    SUM(s, term = EXP(HERE(0) - m))
    if (team.warp == 0 && team.lane == 0)
        *y = LOG(s) - (AT(from_[0], 1, PASTE(label)(p, row, 2)) - m);
}

/* dx_i = g (exp(x_i - m) / s - [i = label]) */
ROW_KERNEL(cross_entropy_grad)
{
    ROW_BEGIN(cross_entropy_grad, 2, 1)
    T *const dx = ROW(0);
    const T g = *ROW(1);
    const u64 label = PASTE(label)(p, row, 3);

    MAXIMUM(m)
    SUM(s, term = HERE(0) = EXP(HERE(0) - m))
    MAKE_AGAIN(dx, AGAIN(HERE(0) = EXP(HERE(0) - m)), made = HERE(0) / s; made = g * (i == label ? made - (T)1 : made))
}

/* mean = sum(x)/n, then r = 1 / sqrt(sum((x - mean)^2)/n + eps), of cached view v */
#define MOMENTS(v) \
    const T count = (T)n; \
    SUM(x_sum, term = HERE(v)) \
    const T mean = x_sum / count; \
    SUM(square, term = HERE(v) - mean; term = term * term) \
    const T r = (T)1 / ROOT(square / count + (T)p.eps);

/* y_i = ((x_i - mean) r) gamma_i + beta_i */
ROW_KERNEL(layer_norm)
{
    ROW_BEGIN(layer_norm, 1, 1)
    T *const y = ROW(0);
    const T *const gamma = (const T *)p.at[2], *const beta = (const T *)p.at[3];

    MOMENTS(0)
    MAKE(y, made = ((HERE(0) - mean) * r) * AT(gamma, 2, i) + AT(beta, 3, i))
}

/* With h_i = g_i gamma_i and z_i = (x_i - mean) r: a = sum(h)/n, b = sum(h z)/n, dx_i = ((h_i - a) - z_i b) r */
ROW_KERNEL(layer_norm_grad)
{
    ROW_BEGIN(layer_norm_grad, 1, 2)
    T *const dx = ROW(0);
    const T *const gamma = (const T *)p.at[3];

    MOMENTS(1)
    if (p.scale != NULL && team.warp == 0 && team.lane == 0) {
        ((T *)p.center)[row] = mean;
        ((T *)p.scale)[row] = r;
    }
    SUM(h_sum, term = HERE(0) * AT(gamma, 3, i))
    SUM(hz_sum, term = HERE(0) * AT(gamma, 3, i); term = term * ((HERE(1) - mean) * r))
    const T a = h_sum / count, b = hz_sum / count;

    MAKE(dx, const T h = HERE(0) * AT(gamma, 3, i); const T z = (HERE(1) - mean) * r; made = ((h - a) - z * b) * r)
}

/* r = 1 / sqrt(sum(x^2)/n + eps), of cached view v */
#define SCALE(v) \
    const T count = (T)n; \
    SUM(square, term = HERE(v) * HERE(v)) \
    const T r = (T)1 / ROOT(square / count + (T)p.eps);

/* y_i = (x_i r) gamma_i */
ROW_KERNEL(rms_norm)
{
    ROW_BEGIN(rms_norm, 1, 1)
    T *const y = ROW(0);
    const T *const gamma = (const T *)p.at[2];

    SCALE(0)
    MAKE(y, made = (HERE(0) * r) * AT(gamma, 2, i))
}

/* With h_i = g_i gamma_i and z_i = x_i r: b = sum(h z)/n, dx_i = (h_i - z_i b) r */
ROW_KERNEL(rms_norm_grad)
{
    ROW_BEGIN(rms_norm_grad, 1, 2)
    T *const dx = ROW(0);
    const T *const gamma = (const T *)p.at[3];

    SCALE(1)
    if (team.warp == 0 && team.lane == 0)
        ((T *)p.scale)[row] = r;
    SUM(hz_sum, term = (HERE(0) * AT(gamma, 3, i)) * (HERE(1) * r))
    const T b = hz_sum / count;

    MAKE(dx, made = (HERE(0) * AT(gamma, 3, i) - (HERE(1) * r) * b) * r)
}

/* A thread takes an element of the lanes: the rows that join it, in order. */
RP_GPU_KERNEL(WARP *WARPS, 2) PASTE(rp_gpu_norm_lanes)(const RP_GPU_PARAMETER rp_gpu_norm_lanes p)
{
    RP_GPU_BEGIN(p);
    for (u64 i = (u64)RP_GPU_BLOCK_X * (WARP * WARPS) + RP_GPU_THREAD; i < p.count;
         i += (u64)RP_GPU_BLOCKS_X * (WARP * WARPS)) {
        const u64 item = i / p.n;
        const u32 c = (u32)(i - item * p.n), chunk = (u32)(item / p.lanes), lane = (u32)(item - (u64)chunk * p.lanes);
        const u64 begin = (u64)chunk * RP_GPU_CHUNK, end = p.all - begin < RP_GPU_CHUNK ? p.all : begin + RP_GPU_CHUNK;
        T gz_sum = 0, g_sum = 0;

        for (u64 row = begin + lane; row < end; row += RP_GPU_LANES) {
            const T g = ((const T *)p.g)[rp_gpu_offset(&p.rows, p.g_row, (u32)row) + (i64)c * p.g_last];
            const T x = ((const T *)p.x)[rp_gpu_offset(&p.rows, p.x_row, (u32)row) + (i64)c * p.x_last];
            const T mean = p.center != NULL ? ((const T *)p.center)[row] : (T)0;

            gz_sum = gz_sum + g * ((x - mean) * ((const T *)p.scale)[row]);
            g_sum = g_sum + g;
        }
        ((T *)p.q)[(i64)chunk * p.q_step[0] + (i64)lane * p.q_step[1] + (i64)c * p.q_step[2]] = gz_sum;
        if (p.p != NULL)
            ((T *)p.p)[(i64)chunk * p.p_step[0] + (i64)lane * p.p_step[1] + (i64)c * p.p_step[2]] = g_sum;
    }
}

#undef T
#undef PASTE
#undef SHUFFLE_XOR
#undef COPY
#undef EXP
#undef LOG
#undef ROOT
#undef LOWEST
#undef SIGN_BIT
#undef ROW_KERNEL
#undef ROW_BEGIN
#undef ROW
#undef AT
#undef CHUNKS
#undef PIECES
#undef PIECES_END
#undef HERE
#undef BATCHES
#undef BATCH_OF
#undef SUM
#undef MAKE
#undef MAKE_AGAIN
#undef AGAIN
#undef MAXIMUM
#undef MOMENTS
#undef SCALE
