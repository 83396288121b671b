/* SPDX-License-Identifier: Apache-2.0
 * CONTRACT 4.5 for one type, forward beside gradients: x [n, h, w, c], weight [r, s, c / groups, k], y [n, oh, ow, k].
 * Only terms that exist are met; each carries its index, which alone decides the chunk it belongs to. */

/* The chain of CONTRACT 4.4 over terms with ascending indices, some missing. */
typedef struct FN(chain) {
    T total, sum;
    size_t chunk, chunks; /* the current chunk, and how many have had a term */
} FN(chain);

static void FN(chain_add)(FN(chain) * s, size_t index, T a, T b)
{
    if (s->chunks == 0 || index / RP_CONV_CHUNK != s->chunk) {
        if (s->chunks > 0)
            s->total = s->chunks == 1 ? s->sum : s->total + s->sum;
        s->chunk = index / RP_CONV_CHUNK;
        s->chunks++;
        s->sum = 0;
    }
    s->sum = FN(rp_fma)(a, b, s->sum);
}

static T FN(chain_total)(const FN(chain) * s)
{
    return s->chunks > 1 ? s->total + s->sum : s->sum;
}

static T *FN(at)(const rp_view *view, size_t i, size_t j, size_t k, size_t l)
{
    return (T *)view->data + (ptrdiff_t)i * view->stride[0] + (ptrdiff_t)j * view->stride[1] +
           (ptrdiff_t)k * view->stride[2] + (ptrdiff_t)l * view->stride[3];
}

/* y[n, oh, ow, :]: the terms of an output are (r, s, c), c innermost. */
static void FN(conv2d)(const rp_conv *p, size_t n, size_t oh, size_t ow)
{
    for (size_t k = 0; k < p->groups * p->k; k++) {
        const size_t first = k / p->k * p->c;
        FN(chain) chain = {0};
        size_t h, w;

        for (size_t r = 0; r < p->h.taps; r++)
            for (size_t s = 0; s < p->w.taps; s++) {
                const T *x, *weight = FN(at)(p->weight, r, s, 0, k);

                if (!input_of(&p->h, oh, r, &h) || !input_of(&p->w, ow, s, &w))
                    continue;
                x = FN(at)(p->x, n, h, w, first);
                for (size_t c = 0; c < p->c; c++)
                    FN(chain_add)
                (&chain, (r * p->w.taps + s) * p->c + c, x[(ptrdiff_t)c * p->x->stride[3]],
                 weight[(ptrdiff_t)c * p->weight->stride[2]]);
            }
        *FN(at)(p->y, n, oh, ow, k) = FN(chain_total)(&chain);
    }
}

/* dx[n, h, w, :]: the terms are (r, s, k), k innermost, over the outputs that read this pixel. */
static void FN(conv2d_grad_input)(const rp_conv *p, size_t n, size_t h, size_t w)
{
    for (size_t c = 0; c < p->groups * p->c; c++) {
        const size_t first = c / p->c * p->k;
        FN(chain) chain = {0};
        size_t oh, ow;

        for (size_t r = 0; r < p->h.taps; r++)
            for (size_t s = 0; s < p->w.taps; s++) {
                const T *dy, *weight = FN(at)(p->weight, r, s, c % p->c, first);

                if (!output_of(&p->h, h, r, &oh) || !output_of(&p->w, w, s, &ow))
                    continue;
                dy = FN(at)(p->y, n, oh, ow, first);
                for (size_t k = 0; k < p->k; k++)
                    FN(chain_add)
                (&chain, (r * p->w.taps + s) * p->k + k, dy[(ptrdiff_t)k * p->y->stride[3]],
                 weight[(ptrdiff_t)k * p->weight->stride[3]]);
            }
        *FN(at)(p->x, n, h, w, c) = FN(chain_total)(&chain);
    }
}

/* dweight[r, s, c, :]: the terms are the output pixels (n, oh, ow). */
static void FN(conv2d_grad_weight)(const rp_conv *p, size_t r, size_t s, size_t c)
{
    for (size_t k = 0; k < p->groups * p->k; k++) {
        const size_t channel = k / p->k * p->c + c;
        FN(chain) chain = {0};
        size_t h, w;

        for (size_t n = 0; n < p->images; n++)
            for (size_t oh = 0; oh < p->h.out; oh++)
                for (size_t ow = 0; ow < p->w.out && input_of(&p->h, oh, r, &h); ow++)
                    if (input_of(&p->w, ow, s, &w))
                        FN(chain_add)
        (&chain, (n * p->h.out + oh) * p->w.out + ow, *FN(at)(p->x, n, h, w, channel), *FN(at)(p->y, n, oh, ow, k));
        *FN(at)(p->weight, r, s, c, k) = FN(chain_total)(&chain);
    }
}
