/* SPDX-License-Identifier: Apache-2.0
 * Layer norm and RMS norm over contiguous rows for one type: the formulas of ref/norm_type.inc.h. A few short rows go
 * through each step together, since their folds, divisions and square roots would be waited for; as many as stay in the
 * first cache. Needs the sums of rows_type.inc.h. */

enum { FN(FEW) = 4 };

/* What a few rows of n elements are made of. next: rows on to those that come after. */
typedef struct FN(few) {
    size_t rows, most, n;
    const T *x, *g, *gamma, *beta;
    T *y;
    ptrdiff_t x_step, g_step, y_step, next;
    T mean[FN(FEW)], r[FN(FEW)], a[FN(FEW)], b[FN(FEW)];
    bool stream;
} FN(few);

/* Of rows that `tensors` tensors have, 1 to FEW. */
static size_t FN(rows_together)(size_t n, size_t tensors)
{
    const size_t fit = n > 0 ? ROWS_HELD / (tensors * n * sizeof(T)) : 0;

    return fit < 1 ? 1 : fit < FN(FEW) ? fit : FN(FEW);
}

static T FN(inverse_root)(T mean_square, double eps)
{
    return (T)1 / SQRT(mean_square + (T)eps);
}

RP_INLINE void FN(few_moments)(FN(few) * f, double eps, bool rms)
{
    const size_t n = f->n;

    for (size_t k = 0; k < f->rows && !rms; k++)
        f->mean[k] = FN(sum_contiguous)(f->x + (ptrdiff_t)k * f->x_step, n) / (T)n;
    for (size_t k = 0; k < f->rows; k++) {
        const T *x = f->x + (ptrdiff_t)k * f->x_step;
        const T sum = rms ? FN(product_sum)(x, x, x, n, 0, 0) : FN(square_sum)(x, n, f->mean[k]);

        f->r[k] = FN(inverse_root)(sum / (T)n, eps);
    }
}

/* Blocks of a row, which go past the caches where the output is large: `value` of element i, then `and`. */
#define EACH_BLOCK(f, k, value, and) \
    for (size_t at = 0, count; at < (f)->n; at += count) { \
        T block[ROW_BLOCK], *row = (f)->y + (ptrdiff_t)(k) * (f)->y_step + at, *to = (f)->stream ? block : row; \
\
        count = (f)->n - at < ROW_BLOCK ? (f)->n - at : ROW_BLOCK; \
        RP_EACH(j, count) \
        { \
            const size_t i = at + (size_t)j; \
\
            value; \
        } \
        and; \
        if ((f)->stream) \
            stream_copy(row, block, count * sizeof(T)); \
    }

RP_INLINE void FN(few_normalised)(const FN(few) * f, bool rms)
{
    const T *gamma = f->gamma, *beta = f->beta;

    for (size_t k = 0; k < f->rows; k++) {
        const T *x = f->x + (ptrdiff_t)k * f->x_step, mean = f->mean[k], r = f->r[k];
        const ptrdiff_t next = f->next * f->x_step;

        if (rms)
            EACH_BLOCK(f, k, to[j] = (x[i] * r) * gamma[i], FN(fetch)(x + at, next, count))
        else
            EACH_BLOCK(f, k, to[j] = ((x[i] - mean) * r) * gamma[i] + beta[i], FN(fetch)(x + at, next, count))
    }
}

/* Rows [begin, end) of the forward pass. */
RP_INLINE void FN(norm_rows)(const rp_kernel_args *args, const row_views *r, size_t begin, size_t end, bool rms)
{
    FN(few)
    f = {.n = rp_view_last(&args->in[0]),
         .gamma = args->in[1].data,
         .beta = rms ? NULL : args->in[2].data,
         .x_step = r[1].step,
         .y_step = r[0].step};
    const size_t bytes = f.n * sizeof(T);

    f.stream = stream_pays(&args->out[0]) && (bytes >= 1024 || bytes % STREAM_LINE == 0);
    f.next = (ptrdiff_t)(f.most = FN(rows_together)(f.n, 1));
    for (size_t i = begin; i < end; i += f.rows) {
        f.rows = end - i < f.most ? end - i : f.most;
        f.x = (const T *)args->in[0].data + (ptrdiff_t)i * r[1].step;
        f.y = (T *)args->out[0].data + (ptrdiff_t)i * r[0].step;
        FN(few_moments)(&f, RP_AT(args->attr, layer_norm, eps).r, rms);
        FN(few_normalised)(&f, rms);
    }
}

static void FN(layer_norm_rows)(const rp_kernel_args *args, const row_views *r, size_t begin, size_t end)
{
    FN(norm_rows)(args, r, begin, end, false);
}

static void FN(rms_norm_rows)(const rp_kernel_args *args, const row_views *r, size_t begin, size_t end)
{
    FN(norm_rows)(args, r, begin, end, true);
}

/* ---- backward, lane by lane ---- */

/* dx of a few rows, and their terms into the lanes q and p, a row each from the first on. */
RP_INLINE void FN(few_slopes)(const FN(few) * f, T *q, ptrdiff_t q_step, T *p, ptrdiff_t p_step, bool rms)
{
    const T *gamma = f->gamma;

    for (size_t k = 0; k < f->rows; k++) {
        const T *x = f->x + (ptrdiff_t)k * f->x_step, *g = f->g + (ptrdiff_t)k * f->g_step;
        const T mean = f->mean[k], r = f->r[k], a = f->a[k], b = f->b[k];
        const ptrdiff_t x_next = f->next * f->x_step, g_next = f->next * f->g_step;
        T *qk = q + (ptrdiff_t)k * q_step, *pk = rms ? p : p + (ptrdiff_t)k * p_step; /* NULL then */

        if (rms)
            EACH_BLOCK(f, k, const T gi = g[i]; const T z = x[i] * r; qk[i] += gi * z;
                       to[j] = (gi * gamma[i] - z * b) * r,
                       (FN(fetch)(x + at, x_next, count), FN(fetch)(g + at, g_next, count)))
        else
            EACH_BLOCK(f, k, const T gi = g[i]; const T z = (x[i] - mean) * r; qk[i] += gi * z; pk[i] += gi;
                       to[j] = ((gi * gamma[i] - a) - z * b) * r,
                       (FN(fetch)(x + at, x_next, count), FN(fetch)(g + at, g_next, count)))
    }
}
#undef EACH_BLOCK

RP_INLINE void FN(few_backward)(FN(few) * f, T *q, ptrdiff_t q_step, T *p, ptrdiff_t p_step, double eps, bool rms)
{
    const size_t n = f->n;

    FN(few_moments)(f, eps, rms);
    for (size_t k = 0; k < f->rows; k++) {
        const T *x = f->x + (ptrdiff_t)k * f->x_step, *g = f->g + (ptrdiff_t)k * f->g_step;

        if (!rms)
            f->a[k] = FN(product_sum)(g, f->gamma, f->gamma, n, 0, 0) / (T)n;
        f->b[k] = (rms ? FN(scaled_slope_sum)(g, f->gamma, x, n, f->r[k], 0)
                       : FN(slope_sum)(g, f->gamma, x, n, f->mean[k], f->r[k])) /
                  (T)n;
    }
    FN(few_slopes)(f, q, q_step, p, p_step, rms);
}

/* Lanes [lane, lane + few) of a chunk of rows [first, last), in the rows' order: memory is read as it lies, and the
 * lanes stay in the second cache. */
RP_INLINE void FN(norm_chunk)(const rp_kernel_args *args, const row_views *r, FN(few) * f, size_t first, size_t last,
                              size_t lane, size_t few, T *const *lanes, const ptrdiff_t *step, bool rms)
{
    for (size_t base = first + lane; base < last; base += RP_LANES) {
        const size_t here = last - base < few ? last - base : few;

        for (size_t k = 0; k < here; k += f->rows) {
            const ptrdiff_t row = (ptrdiff_t)(base + k);

            f->rows = here - k < f->most ? here - k : f->most;
            f->next = k + f->rows < here ? (ptrdiff_t)f->rows : RP_LANES - (ptrdiff_t)k;
            f->g = (const T *)args->in[0].data + row * r[1].step;
            f->x = (const T *)args->in[1].data + row * r[2].step;
            f->y = (T *)args->out[0].data + row * r[0].step;
            FN(few_backward)
            (f, lanes[0] + (ptrdiff_t)k * step[0], step[0], rms ? NULL : lanes[1] + (ptrdiff_t)k * step[1],
             rms ? 0 : step[1], RP_AT(args->attr, layer_norm_backward, eps).r, rms);
        }
    }
}

/* Items [begin, end), the lanes of all chunks. */
RP_INLINE void FN(norm_lanes)(const rp_kernel_args *args, const row_views *r, size_t begin, size_t end, bool rms)
{
    const size_t lanes = args->out[1].shape[1], all = r[1].n;
    FN(few)
    f = {.n = rp_view_last(&args->in[0]),
         .gamma = args->in[2].data,
         .g_step = r[1].step,
         .x_step = r[2].step,
         .y_step = r[0].step};
    const size_t bytes = f.n * sizeof(T);

    f.stream = stream_pays(&args->out[0]) && (bytes >= 1024 || bytes % STREAM_LINE == 0);
    f.most = FN(rows_together)(f.n, 2);
    for (size_t i = begin, few; i < end; i += few) {
        const size_t chunk = i / lanes, lane = i % lanes, first = chunk * RP_CHUNK;
        const size_t last = all - first < RP_CHUNK ? all : first + RP_CHUNK;
        const ptrdiff_t step[2] = {args->out[1].stride[1], rms ? 0 : args->out[2].stride[1]};
        T *to[2] = {0};

        few = lanes - lane < end - i ? lanes - lane : end - i;
        for (int v = 0; v < (rms ? 1 : 2); v++) {
            to[v] =
                (T *)args->out[1 + v].data + (ptrdiff_t)chunk * args->out[1 + v].stride[0] + (ptrdiff_t)lane * step[v];
            for (size_t k = 0; k < few; k++)
                memset(to[v] + (ptrdiff_t)k * step[v], 0, bytes);
        }
        FN(norm_chunk)(args, r, &f, first, last, lane, few, to, step, rms);
    }
}

static void FN(layer_norm_lanes)(const rp_kernel_args *args, const row_views *r, size_t begin, size_t end)
{
    FN(norm_lanes)(args, r, begin, end, false);
}

static void FN(rms_norm_lanes)(const rp_kernel_args *args, const row_views *r, size_t begin, size_t end)
{
    FN(norm_lanes)(args, r, begin, end, true);
}
