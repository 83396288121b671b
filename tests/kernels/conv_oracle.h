/* SPDX-License-Identifier: Apache-2.0
 * A second convolution, written from the text of CONTRACT 4.5 alone: the existing terms of one output are listed with
 * their indices and summed by the rule. Binary32, row-major tensors, nothing fast. */
#ifndef TESTS_KERNELS_CONV_ORACLE_H
#define TESTS_KERNELS_CONV_ORACLE_H

#include <math.h>
#include <stddef.h>

typedef struct conv_shape {
    int n, h, w, c, k; /* c and k of all groups */
    int r, s, groups;
    int stride[2], pad[4], dilation[2];
} conv_shape;

typedef struct term_list {
    size_t n, index[20000];
    float a[20000], b[20000];
} term_list;

static inline int conv_out(const conv_shape *p, int d)
{
    const int in = d == 0 ? p->h : p->w, taps = d == 0 ? p->r : p->s;
    const int room = in + p->pad[d] + p->pad[d + 2] - p->dilation[d] * (taps - 1) - 1;

    return room < 0 ? 0 : room / p->stride[d] + 1;
}

static inline void add_term(term_list *t, size_t index, float a, float b)
{
    t->index[t->n] = index;
    t->a[t->n] = a;
    t->b[t->n++] = b;
}

static inline float sum_terms(const term_list *t)
{
    float total = 0;

    for (size_t i = 0, chunks = 0; i < t->n; chunks++) {
        const size_t chunk = t->index[i] / 512;
        float c = 0;

        for (; i < t->n && t->index[i] / 512 == chunk; i++)
            c = fmaf(t->a[i], t->b[i], c);
        total = chunks == 0 ? c : total + c;
    }
    return total;
}

/* Whether output (oh, ow) and tap (r, s) meet at an element of x; *h, *w is which. */
static inline int meets(const conv_shape *p, int oh, int ow, int r, int s, int *h, int *w)
{
    *h = oh * p->stride[0] + r * p->dilation[0] - p->pad[0];
    *w = ow * p->stride[1] + s * p->dilation[1] - p->pad[1];
    return *h >= 0 && *h < p->h && *w >= 0 && *w < p->w;
}

#define X_AT(n_, h_, w_, c_) ((((size_t)(n_)*p->h + (h_)) * p->w + (w_)) * p->c + (c_))
#define Y_AT(n_, h_, w_, k_) ((((size_t)(n_)*conv_out(p, 0) + (h_)) * conv_out(p, 1) + (w_)) * p->k + (k_))
#define W_AT(r_, s_, c_, k_) ((((size_t)(r_)*p->s + (s_)) * (p->c / p->groups) + (c_)) * p->k + (k_))

static inline float oracle_forward(const conv_shape *p, const float *x, const float *w, int n, int oh, int ow, int k)
{
    static term_list t;
    const int depth = p->c / p->groups, first = k / (p->k / p->groups) * depth;
    int h, v;

    t.n = 0;
    for (int r = 0; r < p->r; r++)
        for (int s = 0; s < p->s; s++)
            for (int c = 0; c < depth; c++)
                if (meets(p, oh, ow, r, s, &h, &v))
                    add_term(&t, (size_t)((r * p->s + s) * depth + c), x[X_AT(n, h, v, first + c)],
                             w[W_AT(r, s, c, k)]);
    return sum_terms(&t);
}

static inline float oracle_grad_input(const conv_shape *p, const float *g, const float *w, int n, int h, int v, int c)
{
    static term_list t;
    const int depth = p->k / p->groups, group = c / (p->c / p->groups);
    int at_h, at_w;

    t.n = 0;
    for (int r = 0; r < p->r; r++)
        for (int s = 0; s < p->s; s++)
            for (int oh = 0; oh < conv_out(p, 0); oh++)
                for (int ow = 0; ow < conv_out(p, 1); ow++) /* at most one of them meets (h, v) by this tap */
                    for (int k = 0; k < depth && meets(p, oh, ow, r, s, &at_h, &at_w) && at_h == h && at_w == v; k++)
                        add_term(&t, (size_t)((r * p->s + s) * depth + k), g[Y_AT(n, oh, ow, group * depth + k)],
                                 w[W_AT(r, s, c % (p->c / p->groups), group * depth + k)]);
    return sum_terms(&t);
}

static inline float oracle_grad_weight(const conv_shape *p, const float *x, const float *g, int r, int s, int c, int k)
{
    static term_list t;
    const int channel = k / (p->k / p->groups) * (p->c / p->groups) + c;
    int h, v;

    t.n = 0;
    for (int n = 0; n < p->n; n++)
        for (int oh = 0; oh < conv_out(p, 0); oh++)
            for (int ow = 0; ow < conv_out(p, 1); ow++)
                if (meets(p, oh, ow, r, s, &h, &v))
                    add_term(&t, (size_t)((n * conv_out(p, 0) + oh) * conv_out(p, 1) + ow), x[X_AT(n, h, v, channel)],
                             g[Y_AT(n, oh, ow, k)]);
    return sum_terms(&t);
}

#endif
