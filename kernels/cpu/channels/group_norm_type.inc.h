/* SPDX-License-Identifier: Apache-2.0
 * The steps of ref/conv/group_norm_type.inc.h for some groups of a sample at once, in blocks of neighbouring channels.
 */
#include "kernels/cpu/channels/channel_sums.inc.h"
#include "kernels/cpu/channels/normalised.inc.h"

/* What the elements of a sample's channels meet. */
typedef struct FN(sample) {
    size_t n; /* channels */
    T mean[HELD], r[HELD], gamma[HELD], beta[HELD], a[HELD], b[HELD];
} FN(sample);

/* The sum (CONTRACT 4.1) of a group's channels, at most a chunk of them and mostly few: lanes that nothing joins stay
 * out of the fold. */
static T FN(sum_of_channels)(const T *x, size_t n)
{
    T lane[RP_LANES];
    size_t used = n < RP_LANES ? n : RP_LANES;

    for (size_t l = 0; l < used; l++)
        lane[l] = (T)0 + x[l];
    for (size_t i = RP_LANES; i < n; i++)
        lane[i % RP_LANES] += x[i];
    for (size_t half = RP_LANES / 2; half > 0; half /= 2) {
        for (size_t l = 0; l + half < used; l++)
            lane[l] += lane[l + half];
        used = used < half ? used : half;
    }
    return n > 0 ? lane[0] : 0;
}

static T FN(root_of)(T var, const rp_attr *eps)
{
    return (T)1 / SQRT(var + (T)eps->r);
}

/* A vector's elements [first, first + n). */
static void FN(take)(T *to, const rp_view *vector, size_t first, size_t n)
{
    const T *from = (const T *)vector->data + (ptrdiff_t)first * vector->stride[0];

    for (size_t i = 0; i < n; i++)
        to[i] = from[(ptrdiff_t)i * vector->stride[0]];
}

static T *FN(cell)(const rp_view *matrix, size_t sample, size_t i)
{
    return (T *)matrix->data + (ptrdiff_t)sample * matrix->stride[0] + (ptrdiff_t)i * matrix->stride[1];
}

static T *FN(sample_at)(const rp_view *view, size_t sample, size_t c)
{
    return (T *)view->data + (ptrdiff_t)sample * view->stride[0] + c;
}

/* The sums over the positions, block by block. */
static void FN(sample_sums)(T *sum, T *second, const FN(channel_rows) * rows, FN(term) term, size_t n)
{
    for (size_t c = 0; c < n; c += FN(BLOCK)) {
        FN(channel_rows) part = *rows;

        part.x += c;
        if (term == FN(SLOPE))
            part.g += c;
        part.mean += c;
        part.r += c;
        FN(channel_sums)
        (sum + c, term == FN(SLOPE) ? second + c : NULL, &part, term, n - c < FN(BLOCK) ? n - c : FN(BLOCK));
    }
}

/* y = ((x - mean) r) gamma + beta */
static void FN(apply)(const FN(sample) * s, T *y, const T *x, const row_views *r)
{
    const FN(scaling) scaling = {s->mean, s->r, s->gamma, s->beta, r[0].step, r[1].step, s->n};

    FN(normalised)(&scaling, y, x, r[0].n);
}

/* in: x, gamma, beta; out: y, mean, var. Groups [first, first + groups) of a sample. */
static void FN(group_norm)(const rp_kernel_args *args, const row_views *r, size_t sample, size_t first, size_t groups,
                           size_t width)
{
    const T *x = FN(sample_at)(&args->in[0], sample, first * width), n = (T)(r[0].n * width);
    FN(sample) s;
    const FN(channel_rows) rows = {.x = x, .x_step = r[1].step, .n = r[0].n, .mean = s.mean, .r = s.r};
    T sum[HELD];

    s.n = groups * width;
    FN(take)(s.gamma, &args->in[1], first * width, s.n);
    FN(take)(s.beta, &args->in[2], first * width, s.n);
    FN(sample_sums)(sum, NULL, &rows, FN(ELEMENT), s.n);
    for (size_t k = 0; k < groups; k++) {
        const T mean = FN(sum_of_channels)(sum + k * width, width) / n;

        *FN(cell)(&args->out[1], sample, first + k) = mean;
        for (size_t j = 0; j < width; j++)
            s.mean[k * width + j] = mean;
    }
    FN(sample_sums)(sum, NULL, &rows, FN(SQUARE), s.n);
    for (size_t k = 0; k < groups; k++) {
        const T var = FN(sum_of_channels)(sum + k * width, width) / n;
        const T root = FN(root_of)(var, &RP_AT(args->attr, group_norm, eps));

        *FN(cell)(&args->out[2], sample, first + k) = var;
        for (size_t j = 0; j < width; j++)
            s.r[k * width + j] = root;
    }
    FN(apply)(&s, FN(sample_at)(&args->out[0], sample, first * width), x, r);
}

/* dx = ((g gamma - a) - ((x - mean) r) b) r */
static void FN(slopes)(const FN(sample) * s, T *dx, const T *g, const T *x, const row_views *r)
{
    for (size_t i = 0; i < r[0].n; i++, dx += r[0].step, g += r[1].step, x += r[2].step)
        RP_EACH(j, s->n)
    dx[j] = ((g[j] * s->gamma[j] - s->a[j]) - ((x[j] - s->mean[j]) * s->r[j]) * s->b[j]) * s->r[j];
}

/* Of a group, the channels [at, at + width): a and b from their sums q and p. */
static void FN(group_slopes)(FN(sample) * s, const T *q, const T *p, size_t at, size_t width, T n)
{
    T term[HELD], a, b;

    for (size_t j = 0; j < width; j++)
        term[j] = s->gamma[at + j] * p[at + j];
    a = FN(sum_of_channels)(term, width) / n;
    for (size_t j = 0; j < width; j++)
        term[j] = s->gamma[at + j] * q[at + j];
    b = FN(sum_of_channels)(term, width) / n;
    for (size_t j = 0; j < width; j++) {
        s->a[at + j] = a;
        s->b[at + j] = b;
    }
}

/* in: g, x, gamma, mean, var; out: dx, q, p */
static void FN(group_norm_grad)(const rp_kernel_args *args, const row_views *r, size_t sample, size_t first,
                                size_t groups, size_t width)
{
    const T *g = FN(sample_at)(&args->in[0], sample, first * width);
    const T *x = FN(sample_at)(&args->in[1], sample, first * width), n = (T)(r[0].n * width);
    FN(sample) s;
    const FN(channel_rows) rows = {x, g, r[2].step, r[1].step, r[0].n, s.mean, s.r};
    T q[HELD], p[HELD];

    s.n = groups * width;
    FN(take)(s.gamma, &args->in[2], first * width, s.n);
    for (size_t k = 0; k < groups; k++) {
        const T mean = *FN(cell)(&args->in[3], sample, first + k);
        const T root =
            FN(root_of)(*FN(cell)(&args->in[4], sample, first + k), &RP_AT(args->attr, group_norm_grad, eps));

        for (size_t j = 0; j < width; j++) {
            s.mean[k * width + j] = mean;
            s.r[k * width + j] = root;
        }
    }
    FN(sample_sums)(q, p, &rows, FN(SLOPE), s.n);
    for (size_t k = 0; k < groups; k++)
        FN(group_slopes)(&s, q, p, k * width, width, n);
    for (size_t j = 0; j < s.n; j++) {
        *FN(cell)(&args->out[1], sample, first * width + j) = q[j];
        *FN(cell)(&args->out[2], sample, first * width + j) = p[j];
    }
    FN(slopes)(&s, FN(sample_at)(&args->out[0], sample, first * width), g, x, r);
}
