/* SPDX-License-Identifier: Apache-2.0
 * The row kernels of one type. Parameters: T, PASTE(name), SHUFFLE_XOR, EXP, LOG, ROOT, LOWEST, SIGN_BIT. A thread
 * meets the same elements of a row in every pass, so what it wrote in one it may read in the next. */

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

#define ROW_KERNEL(name) RP_GPU_KERNEL(WARP *WARPS, 2) PASTE(rp_gpu_##name)(const RP_GPU_PARAMETER rp_gpu_rows p)

/* What every row kernel begins with. */
#define ROW_BEGIN(name) \
    RP_GPU_SHARED(T, PASTE(name##_sums), RP_GPU_ROW_CHUNKS); \
    T *const sums = PASTE(name##_sums); \
    const u32 in_block = RP_GPU_THREAD / WARP, n = p.n, chunks = (n + RP_GPU_CHUNK - 1) / RP_GPU_CHUNK; \
    const team team = {RP_GPU_THREAD % WARP, p.block ? in_block : 0, p.block ? WARPS : 1, p.block != 0}; \
    const u32 row = p.block ? RP_GPU_BLOCK_X : RP_GPU_BLOCK_X * WARPS + in_block; \
\
    (void)sums, (void)chunks; \
    RP_GPU_BEGIN(p); \
    if (row >= p.count) \
        return; /* all of a team */

/* View v of the row, and its element i. */
#define ROW(v) ((T *)p.at[v] + rp_gpu_offset(&p.rows, p.row[v], row))
#define AT(pointer, v, i) (pointer)[(i64)(i)*p.step[v]]

/* For each of the thread's elements i. */
#define EACH(i) \
    for (u32 chunk_ = team.warp; chunk_ < chunks; chunk_ += team.warps) \
        for (u32 i = chunk_ * RP_GPU_CHUNK + team.lane, \
                 end_ = n - chunk_ * RP_GPU_CHUNK < RP_GPU_CHUNK ? n : (chunk_ + 1) * RP_GPU_CHUNK; \
             i < end_; i += WARP)

/* sum = the sum (CONTRACT 4.1) over i of what statement `let` leaves in `term`. */
#define SUM(sum, let) \
    T sum = 0; \
    for (u32 chunk_ = team.warp; chunk_ < chunks; chunk_ += team.warps) { \
        const u32 begin_ = chunk_ * RP_GPU_CHUNK, end_ = n - begin_ < RP_GPU_CHUNK ? n : begin_ + RP_GPU_CHUNK; \
        T low_ = 0, high_ = 0; \
\
        for (u32 i = begin_ + team.lane; i < end_; i += WARP) { \
            T term; \
\
            let; \
            low_ = low_ + term; \
            i += WARP; \
            if (i < end_) { \
                let; \
                high_ = high_ + term; \
            } \
        } \
        sum = PASTE(fold)(low_, high_); \
        if (team.block && team.lane == 0) \
            sums[chunk_] = sum; \
    } \
    sum = PASTE(chunks_sum)(team, sums, chunks, sum);

/* The maximum over a row's view. */
RP_GPU_FN T PASTE(row_max)(const rp_gpu_rows &p, const team &team, T *sums, const T *x, int v)
{
    const u32 n = p.n, chunks = (n + RP_GPU_CHUNK - 1) / RP_GPU_CHUNK;
    T most = LOWEST;

    EACH(i) most = PASTE(row_greater)(most, AT(x, v, i));
    RP_GPU_UNROLL for (int half = 16; half > 0; half /= 2) most = PASTE(row_greater)(most, SHUFFLE_XOR(most, half));
    if (team.block) {
        if (team.lane == 0)
            sums[team.warp] = most;
        RP_GPU_BARRIER();
        for (u32 w = 0; w < WARPS; w++)
            most = PASTE(row_greater)(most, sums[w]);
        RP_GPU_BARRIER();
    }
    return most;
}

/* y_i = exp(x_i - m) / s */
ROW_KERNEL(softmax)
{
    ROW_BEGIN(softmax)
    T *y = ROW(0);
    const T *x = ROW(1), m = PASTE(row_max)(p, team, sums, x, 1);

    SUM(s, term = AT(y, 0, i) = EXP(AT(x, 1, i) - m))
    EACH(i) AT(y, 0, i) = AT(y, 0, i) / s;
}

/* y_i = (x_i - m) - log s */
ROW_KERNEL(log_softmax)
{
    ROW_BEGIN(log_softmax)
    T *y = ROW(0);
    const T *x = ROW(1), m = PASTE(row_max)(p, team, sums, x, 1);

    SUM(s, term = EXP(AT(x, 1, i) - m))
    const T log_s = LOG(s);

    EACH(i) AT(y, 0, i) = (AT(x, 1, i) - m) - log_s;
}

/* dx_i = (g_i - d) y_i, d the sum of g_i y_i */
ROW_KERNEL(softmax_grad)
{
    ROW_BEGIN(softmax_grad)
    T *dx = ROW(0);
    const T *g = ROW(1), *y = ROW(2);

    SUM(d, term = AT(g, 1, i) * AT(y, 2, i))
    EACH(i) AT(dx, 0, i) = (AT(g, 1, i) - d) * AT(y, 2, i);
}

/* dx_i = g_i - exp(y_i) s, s the sum of g_i */
ROW_KERNEL(log_softmax_grad)
{
    ROW_BEGIN(log_softmax_grad)
    T *dx = ROW(0);
    const T *g = ROW(1), *y = ROW(2);

    SUM(s, term = AT(g, 1, i))
    EACH(i) AT(dx, 0, i) = AT(g, 1, i) - EXP(AT(y, 2, i)) * s;
}

RP_GPU_FN u64 PASTE(label)(const rp_gpu_rows &p, u32 row, int v)
{
    const i64 at = rp_gpu_offset(&p.rows, p.row[v], row);

    return p.label_i32 ? (u64)((const int32_t *)p.at[v])[at] : (u64)((const i64 *)p.at[v])[at];
}

/* log s - (x_label - m) */
ROW_KERNEL(cross_entropy)
{
    ROW_BEGIN(cross_entropy)
    T *y = ROW(0);
    const T *x = ROW(1), m = PASTE(row_max)(p, team, sums, x, 1);

    SUM(s, term = EXP(AT(x, 1, i) - m))
    if (team.warp == 0 && team.lane == 0)
        *y = LOG(s) - (AT(x, 1, PASTE(label)(p, row, 2)) - m);
}

/* dx_i = g (exp(x_i - m) / s - [i = label]) */
ROW_KERNEL(cross_entropy_grad)
{
    ROW_BEGIN(cross_entropy_grad)
    T *dx = ROW(0);
    const T *x = ROW(2), g = *ROW(1), m = PASTE(row_max)(p, team, sums, x, 2);
    const u64 label = PASTE(label)(p, row, 3);

    SUM(s, term = AT(dx, 0, i) = EXP(AT(x, 2, i) - m))
    EACH(i)
    {
        const T e = AT(dx, 0, i) / s;

        AT(dx, 0, i) = g * (i == label ? e - (T)1 : e);
    }
}

/* mean = sum(x)/n, then r = 1 / sqrt(sum((x - mean)^2)/n + eps) */
#define MOMENTS(x, v) \
    const T count = (T)n; \
    SUM(x_sum, term = AT(x, v, i)) \
    const T mean = x_sum / count; \
    SUM(square, term = AT(x, v, i) - mean; term = term * term) \
    const T r = (T)1 / ROOT(square / count + (T)p.eps);

/* y_i = ((x_i - mean) r) gamma_i + beta_i */
ROW_KERNEL(layer_norm)
{
    ROW_BEGIN(layer_norm)
    T *y = ROW(0);
    const T *x = ROW(1), *gamma = (const T *)p.at[2], *beta = (const T *)p.at[3];

    MOMENTS(x, 1)
    EACH(i) AT(y, 0, i) = ((AT(x, 1, i) - mean) * r) * AT(gamma, 2, i) + AT(beta, 3, i);
}

/* With h_i = g_i gamma_i and z_i = (x_i - mean) r: a = sum(h)/n, b = sum(h z)/n, dx_i = ((h_i - a) - z_i b) r */
ROW_KERNEL(layer_norm_grad)
{
    ROW_BEGIN(layer_norm_grad)
    T *dx = ROW(0);
    const T *g = ROW(1), *x = ROW(2), *gamma = (const T *)p.at[3];

    MOMENTS(x, 2)
    if (p.scale != NULL && team.warp == 0 && team.lane == 0) {
        ((T *)p.center)[row] = mean;
        ((T *)p.scale)[row] = r;
    }
    SUM(h_sum, term = AT(g, 1, i) * AT(gamma, 3, i))
    SUM(hz_sum, term = AT(g, 1, i) * AT(gamma, 3, i); term = term * ((AT(x, 2, i) - mean) * r))
    const T a = h_sum / count, b = hz_sum / count;

    EACH(i)
    {
        const T h = AT(g, 1, i) * AT(gamma, 3, i), z = (AT(x, 2, i) - mean) * r;

        AT(dx, 0, i) = ((h - a) - z * b) * r;
    }
}

/* r = 1 / sqrt(sum(x^2)/n + eps) */
#define SCALE(x, v) \
    const T count = (T)n; \
    SUM(square, term = AT(x, v, i) * AT(x, v, i)) \
    const T r = (T)1 / ROOT(square / count + (T)p.eps);

/* y_i = (x_i r) gamma_i */
ROW_KERNEL(rms_norm)
{
    ROW_BEGIN(rms_norm)
    T *y = ROW(0);
    const T *x = ROW(1), *gamma = (const T *)p.at[2];

    SCALE(x, 1)
    EACH(i) AT(y, 0, i) = (AT(x, 1, i) * r) * AT(gamma, 2, i);
}

/* With h_i = g_i gamma_i and z_i = x_i r: b = sum(h z)/n, dx_i = (h_i - z_i b) r */
ROW_KERNEL(rms_norm_grad)
{
    ROW_BEGIN(rms_norm_grad)
    T *dx = ROW(0);
    const T *g = ROW(1), *x = ROW(2), *gamma = (const T *)p.at[3];

    SCALE(x, 2)
    if (team.warp == 0 && team.lane == 0)
        ((T *)p.scale)[row] = r;
    SUM(hz_sum, term = (AT(g, 1, i) * AT(gamma, 3, i)) * (AT(x, 2, i) * r))
    const T b = hz_sum / count;

    EACH(i) AT(dx, 0, i) = (AT(g, 1, i) * AT(gamma, 3, i) - (AT(x, 2, i) * r) * b) * r;
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
#undef EXP
#undef LOG
#undef ROOT
#undef LOWEST
#undef SIGN_BIT
#undef ROW_KERNEL
#undef ROW_BEGIN
#undef ROW
#undef AT
#undef EACH
#undef SUM
#undef MOMENTS
#undef SCALE
