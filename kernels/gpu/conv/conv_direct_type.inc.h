/* SPDX-License-Identifier: Apache-2.0
 * The kernels of conv_direct.cu for one type. Parameters: T, PASTE(name), FMA, LOWEST, SIGN_BIT. */

/* A chain with gaps: the sum of the chunks before, this chunk's, and whether either has a term. */
typedef struct PASTE(chain) {
    T total, sum;
    int chunk, chunks;
} PASTE(chain);

RP_GPU_FN void PASTE(chain_add)(PASTE(chain) * s, int index, T a, T b)
{
    const int chunk = index / RP_GPU_CONV_CHUNK;

    if (s->chunks == 0 || chunk != s->chunk) {
        if (s->chunks > 0)
            s->total = s->chunks == 1 ? s->sum : s->total + s->sum;
        s->chunk = chunk;
        s->chunks++;
        s->sum = 0;
    }
    s->sum = FMA(a, b, s->sum);
}

RP_GPU_FN T PASTE(chain_total)(const PASTE(chain) * s)
{
    return s->chunks > 1 ? s->total + s->sum : s->sum;
}

RP_GPU_KERNEL(THREADS, 4) PASTE(rp_gpu_conv_direct)(const RP_GPU_PARAMETER rp_gpu_conv p)
{
    RP_GPU_BEGIN(p);
    EACH(i)
    {
        const place at = place_of(i, p.h.out, p.w.out, p.groups * p.k);
        const int first = at.c / p.k * p.c;
        PASTE(chain) chain = {0, 0, 0, 0};
        int h, w;

        for (int r = 0; r < p.h.taps; r++) {
            if (!RP_GPU_CONV_INPUT(p.h, at.h, r, h))
                continue;
            for (int s = 0; s < p.w.taps; s++) {
                if (!RP_GPU_CONV_INPUT(p.w, at.w, s, w))
                    continue;
                const T *x = (const T *)p.x + offset(p.x_stride, at.n, h, w, first);
                const T *weight = (const T *)p.weight + offset(p.weight_stride, r, s, 0, at.c);

                for (int c = 0; c < p.c; c++)
                    PASTE(chain_add)
                (&chain, (r * p.w.taps + s) * p.c + c, x[c * p.x_stride[3]], weight[c * p.weight_stride[2]]);
            }
        }
        ((T *)p.to)[offset(p.y_stride, at.n, at.h, at.w, at.c)] = PASTE(chain_total)(&chain);
    }
}

RP_GPU_KERNEL(THREADS, 4) PASTE(rp_gpu_conv_direct_input)(const RP_GPU_PARAMETER rp_gpu_conv p)
{
    RP_GPU_BEGIN(p);
    EACH(i)
    {
        const place at = place_of(i, p.h.in, p.w.in, p.groups * p.c);
        const int first = at.c / p.c * p.k;
        PASTE(chain) chain = {0, 0, 0, 0};
        int oh, ow;

        for (int r = 0; r < p.h.taps; r++) {
            if (!RP_GPU_CONV_OUTPUT(p.h, at.h, r, oh))
                continue;
            for (int s = 0; s < p.w.taps; s++) {
                if (!RP_GPU_CONV_OUTPUT(p.w, at.w, s, ow))
                    continue;
                const T *g = (const T *)p.y + offset(p.y_stride, at.n, oh, ow, first);
                const T *weight = (const T *)p.weight + offset(p.weight_stride, r, s, at.c % p.c, first);

                for (int k = 0; k < p.k; k++)
                    PASTE(chain_add)
                (&chain, (r * p.w.taps + s) * p.k + k, g[k * p.y_stride[3]], weight[k * p.weight_stride[3]]);
            }
        }
        ((T *)p.to)[offset(p.x_stride, at.n, at.h, at.w, at.c)] = PASTE(chain_total)(&chain);
    }
}

RP_GPU_KERNEL(THREADS, 4) PASTE(rp_gpu_conv_direct_weight)(const RP_GPU_PARAMETER rp_gpu_conv p)
{
    RP_GPU_BEGIN(p);
    EACH(i)
    {
        /* [r, s, c, groups k] as [n, h, w, c] */
        const place at = place_of(i, p.w.taps, p.c, p.groups * p.k);
        const int r = at.n, s = at.h, channel = at.c / p.k * p.c + at.w;
        PASTE(chain) chain = {0, 0, 0, 0};
        int h, w;

        for (int n = 0; n < p.images; n++)
            for (int oh = 0; oh < p.h.out; oh++) {
                if (!RP_GPU_CONV_INPUT(p.h, oh, r, h))
                    continue;
                for (int ow = 0; ow < p.w.out; ow++)
                    if (RP_GPU_CONV_INPUT(p.w, ow, s, w))
                        PASTE(chain_add)
                (&chain, (n * p.h.out + oh) * p.w.out + ow, ((const T *)p.x)[offset(p.x_stride, n, h, w, channel)],
                 ((const T *)p.y)[offset(p.y_stride, n, oh, ow, at.c)]);
            }
        ((T *)p.to)[offset(p.weight_stride, r, s, at.w, at.c)] = PASTE(chain_total)(&chain);
    }
}

/* CONTRACT 2.4: a NaN wins, and of zeros +0. */
RP_GPU_FN T PASTE(pool_greater)(T a, T b)
{
    const T most = a > b ? a : b, equal = SIGN_BIT(a) ? b : a;

    return a != a ? a : a == b ? equal : b != b ? b : most;
}

RP_GPU_KERNEL(THREADS, 4) PASTE(rp_gpu_max_pool)(const RP_GPU_PARAMETER rp_gpu_conv p)
{
    RP_GPU_BEGIN(p);
    EACH(i)
    {
        const place at = place_of(i, p.h.out, p.w.out, p.c);
        T most = LOWEST;
        int h, w;

        for (int r = 0; r < p.h.taps; r++)
            for (int s = 0; s < p.w.taps; s++)
                if (RP_GPU_CONV_INPUT(p.h, at.h, r, h) && RP_GPU_CONV_INPUT(p.w, at.w, s, w))
                    most = PASTE(pool_greater)(most, ((const T *)p.x)[offset(p.x_stride, at.n, h, w, at.c)]);
        ((T *)p.to)[offset(p.y_stride, at.n, at.h, at.w, at.c)] = most;
    }
}

/* How many taps of a window exist along an axis. */
RP_GPU_FN int PASTE(existing)(const rp_gpu_conv_axis *axis, int o)
{
    int count = 0, i;

    for (int t = 0; t < axis->taps; t++)
        count += RP_GPU_CONV_INPUT(*axis, o, t, i) ? 1 : 0;
    return count;
}

RP_GPU_KERNEL(THREADS, 4) PASTE(rp_gpu_avg_pool)(const RP_GPU_PARAMETER rp_gpu_conv p)
{
    RP_GPU_BEGIN(p);
    EACH(i)
    {
        const place at = place_of(i, p.h.out, p.w.out, p.c);
        T sum = 0;
        int h, w;

        for (int r = 0; r < p.h.taps; r++)
            for (int s = 0; s < p.w.taps; s++)
                if (RP_GPU_CONV_INPUT(p.h, at.h, r, h) && RP_GPU_CONV_INPUT(p.w, at.w, s, w))
                    sum = sum + ((const T *)p.x)[offset(p.x_stride, at.n, h, w, at.c)];
        ((T *)p.to)[offset(p.y_stride, at.n, at.h, at.w, at.c)] =
            sum / (T)((i64)PASTE(existing)(&p.h, at.h) * PASTE(existing)(&p.w, at.w));
    }
}

/* Whether (h, w) is the first greatest element of the window of (oh, ow), in the order of argmax. */
RP_GPU_FN bool PASTE(wins)(const rp_gpu_conv *p, const T *x, int oh, int ow, int h, int w)
{
    T best = 0;
    int best_h = -1, best_w = -1, at_h, at_w;

    for (int r = 0; r < p->h.taps; r++)
        for (int s = 0; s < p->w.taps; s++)
            if (RP_GPU_CONV_INPUT(p->h, oh, r, at_h) && RP_GPU_CONV_INPUT(p->w, ow, s, at_w)) {
                const T v = x[at_h * p->x_stride[1] + at_w * p->x_stride[2]];

                if (best_h < 0 || v > best || (v != v && best == best))
                    best = v, best_h = at_h, best_w = at_w;
            }
    return best_h == h && best_w == w;
}

/* An element of dx gathers from the outputs whose windows hold it, in ascending (oh, ow): taps descending. */
#define GATHER(name, value) \
    RP_GPU_KERNEL(THREADS, 4) PASTE(rp_gpu_##name)(const RP_GPU_PARAMETER rp_gpu_conv p) \
    { \
        RP_GPU_BEGIN(p); \
        EACH(i) \
        { \
            const place at = place_of(i, p.h.in, p.w.in, p.c); \
            T sum = 0; \
            int oh, ow; \
\
            for (int r = p.h.taps - 1; r >= 0; r--) { \
                if (!RP_GPU_CONV_OUTPUT(p.h, at.h, r, oh)) \
                    continue; \
                for (int s = p.w.taps - 1; s >= 0; s--) \
                    if (RP_GPU_CONV_OUTPUT(p.w, at.w, s, ow)) { \
                        const T g = ((const T *)p.y)[offset(p.y_stride, at.n, oh, ow, at.c)]; \
\
                        value; \
                    } \
            } \
            ((T *)p.to)[offset(p.weight_stride, at.n, at.h, at.w, at.c)] = sum; \
        } \
    }

/* weight_stride: that of dx */
GATHER(avg_pool_grad, sum = sum + g / (T)((i64)PASTE(existing)(&p.h, oh) * PASTE(existing)(&p.w, ow)))
GATHER(max_pool_grad, if (PASTE(wins)(&p, (const T *)p.x + at.n * p.x_stride[0] + at.c * p.x_stride[3], oh, ow, at.h,
                                      at.w)) sum = sum + g)

#undef T
#undef PASTE
#undef FMA
#undef LOWEST
#undef SIGN_BIT
#undef GATHER
