/* SPDX-License-Identifier: Apache-2.0
 * Convolution to few channels (an input gradient down to the colours of a picture) for one type: the channels of a
 * pixel would fill a small part of a vector, so vectors lie across neighbouring pixels. Rows of the other side are
 * turned for that, channel by channel, and kept for as long as rows of outputs meet them.
 *
 * Parameters, from kernels/type_f32.h or type_f64.h: T the type of the elements, FN(name) the name of its variant.
 * Before it: conv_tile.inc.h, for FN(turn_square). Gives FN(narrow_pixels). */
#if !defined(T) || !defined(FN)
#error "a template: include one of kernels/type_f32.h and kernels/type_f64.h before it"
#endif

#include "kernels/cpu/conv/conv_pixels.h"
#include "kernels/level.h"

#define WIDTH (WIDEST / sizeof(T))

#ifdef VEC_BYTES
typedef struct FN(narrow) {
    const plan *p;
    T *turned; /* [slots][depth][line]: behind a row's end lies anything, for lanes that nobody stores */
    size_t line;
    size_t held[NARROW_SLOTS]; /* which row of which image, plus one */
    size_t runs;
    same_taps run[MOST_RUNS]; /* of the pixels of a row */
} FN(narrow);

/* A row of the other side, turned. */
static const T *FN(turned_row)(FN(narrow) * w, size_t image, size_t row)
{
    const plan *p = w->p;
    const rp_view *from = &p->from;
    const size_t slot = row % p->conv->h.taps, width = from->shape[2], id = image * from->shape[1] + row + 1;
    T *const to = w->turned + slot * p->depth * w->line;
    const T *at = (const T *)from->data + (ptrdiff_t)image * from->stride[0] + (ptrdiff_t)row * from->stride[1];

    if (w->held[slot] == id)
        return to;
    w->held[slot] = id;
    for (size_t i = 0, n; i < width; i += n) {
        size_t l = 0;

        n = width - i < WIDTH ? width - i : WIDTH;
        for (; n == WIDTH && p->a_step == 1 && l + WIDTH <= p->depth; l += WIDTH)
            FN(turn_square)
        (to + l * w->line + i, (ptrdiff_t)w->line, at + (ptrdiff_t)i * from->stride[2] + l, from->stride[2]);
        for (; l < p->depth; l++)
            for (size_t j = 0; j < n; j++)
                to[l * w->line + i + j] = at[(ptrdiff_t)(i + j) * from->stride[2] + (ptrdiff_t)l * p->a_step];
    }
    return to;
}

/* The chains of n terms of one tap: `outs` channels of `vecs` vectors of pixels. */
RP_INLINE void FN(narrow_terms)(size_t outs, size_t vecs, const FN(narrow) * w, const T *a, const T *b, size_t n,
                                FN(vec) sum[NARROW][NARROW_VECTORS])
{
    const ptrdiff_t b_step = w->p->b_step, b_col = w->p->b_col;

    for (; n > 0; n--, a += w->line, b += b_step) {
        FN(vec) x[NARROW_VECTORS];

        RP_UNROLL
        for (size_t v = 0; v < vecs; v++) {
            x[v] = FN(vec_load)(a + v * WIDTH);
            VEC_KEEP(x[v]);
        }
        RP_UNROLL
        for (size_t c = 0; c < outs; c++) {
            const FN(vec) weight = FN(vec_all)(b[(ptrdiff_t)c * b_col]);

            RP_UNROLL
            for (size_t v = 0; v < vecs; v++)
                sum[c][v] = FN(vec_fma)(x[v], weight, sum[c][v]);
        }
    }
}

/* The pixels of a run from the first on, in lanes: total[c] gets those of channel c. Lanes past the run's end hold
 * anything. rows: of the row's taps, turned. */
RP_INLINE void FN(narrow_tile)(size_t outs, size_t vecs, const FN(narrow) * w, const rp_taps *h, const T *const *rows,
                               const same_taps *run, size_t first, T total[NARROW][NARROW_VECTORS * WIDTH])
{
    const plan *p = w->p;
    const rp_taps *v = &run->taps;
    size_t now = (h->first * p->conv->w.taps + v->first) * p->depth / RP_CONV_CHUNK;
    FN(vec) sum[NARROW][NARROW_VECTORS];
    bool begun = false;

    RP_UNROLL
    for (size_t i = 0; i < outs * vecs; i++)
        sum[i / vecs][i % vecs] = FN(vec_all)(0);
    for (size_t r = 0; r < h->count; r++)
        for (size_t s = 0; s < v->count; s++) {
            const size_t row = h->first + r * h->step, column = v->first + s * v->step;
            const size_t term = (row * p->conv->w.taps + column) * p->depth;
            const T *a = rows[r] + place(run, column) + (ptrdiff_t)first;
            const T *b = (const T *)p->weight.data + (ptrdiff_t)row * p->weight.stride[0] +
                         (ptrdiff_t)column * p->weight.stride[1];

            for (size_t l = 0, n; l < p->depth; l += n) {
                const size_t left = p->depth - l, room = RP_CONV_CHUNK - (term + l) % RP_CONV_CHUNK;

                n = left < room ? left : room;
                if ((term + l) / RP_CONV_CHUNK != now) {
                    RP_UNROLL
                    for (size_t i = 0; i < outs * vecs; i++) {
                        T *to = total[i / vecs] + i % vecs * WIDTH;
                        const FN(vec) chain = sum[i / vecs][i % vecs];

                        FN(vec_store)(to, begun ? FN(vec_add)(FN(vec_load)(to), chain) : chain);
                        sum[i / vecs][i % vecs] = FN(vec_all)(0);
                    }
                    begun = true;
                    now = (term + l) / RP_CONV_CHUNK;
                }
                FN(narrow_terms)(outs, vecs, w, a + l * w->line, b + (ptrdiff_t)l * p->b_step, n, sum);
            }
        }
    RP_UNROLL
    for (size_t i = 0; i < outs * vecs; i++) {
        T *to = total[i / vecs] + i % vecs * WIDTH;
        const FN(vec) chain = sum[i / vecs][i % vecs];

        FN(vec_store)(to, begun ? FN(vec_add)(FN(vec_load)(to), chain) : chain);
    }
}

#define OUTS_CASE(n) \
    case n: \
        FN(narrow_tile)(n, vecs, w, h, rows, run, first, total); \
        break;
RP_INLINE void FN(narrow_outs)(size_t vecs, const FN(narrow) * w, const rp_taps *h, const T *const *rows,
                               const same_taps *run, size_t first, T total[NARROW][NARROW_VECTORS * WIDTH])
{
    _Static_assert(NARROW == 4, "the cases below");
    switch (w->p->columns) {
        OUTS_CASE(1) OUTS_CASE(2) OUTS_CASE(3) OUTS_CASE(4)
    }
}
#undef OUTS_CASE

/* Pixels [first, last) of a run in one row of outputs, y being the run's first. */
static void FN(narrow_run)(const FN(narrow) * w, const rp_taps *h, const T *const *rows, const same_taps *run,
                           size_t first, size_t last, T *y)
{
    const plan *p = w->p;
    const ptrdiff_t step = (ptrdiff_t)run->step * p->to.stride[2];
    T total[NARROW][NARROW_VECTORS * WIDTH];

    for (size_t n; first < last; first += n) {
        const size_t left = last - first, vecs = left > 2 * WIDTH ? NARROW_VECTORS : (left + WIDTH - 1) / WIDTH;

        n = left < vecs * WIDTH ? left : vecs * WIDTH;
        if (h->count == 0 || run->taps.count == 0)
            memset(total, 0, sizeof total); /* without a tap: +0 */
        else if (vecs == NARROW_VECTORS)
            FN(narrow_outs)(NARROW_VECTORS, w, h, rows, run, first, total);
        else if (vecs == 2)
            FN(narrow_outs)(2, w, h, rows, run, first, total);
        else
            FN(narrow_outs)(1, w, h, rows, run, first, total);
        for (size_t c = 0; c < p->columns; c++)
            for (size_t j = 0; j < n; j++)
                y[(ptrdiff_t)(first + j) * step + (ptrdiff_t)c * p->y_col] = total[c][j];
    }
}

/* Whether few channels may be computed so: rows of the other side do not crowd each other out of their slots, and
 * neighbouring pixels meet neighbouring ones there. */
static bool FN(is_narrow)(FN(narrow) * w, const plan *p)
{
    same_taps run = {0};

    w->line = ((p->from.shape[2] + WIDTH - 1) / WIDTH + NARROW_VECTORS) | 1; /* odd: spread over the cache */
    w->line *= WIDTH;
    if (p->columns == 0 || p->columns > NARROW || p->depth == 0 || p->w.move != 1 || p->conv->h.dilation != 1 ||
        p->w.length < p->w.step * WIDTH || p->conv->h.taps > NARROW_SLOTS ||
        w->line > RP_SCRATCH_CACHED / sizeof(T) / p->depth / p->conv->h.taps)
        return false;
    for (w->runs = 0; next_same(&p->w, &run);) {
        if (w->runs == MOST_RUNS)
            return false;
        w->run[w->runs++] = run;
    }
    w->p = p;
    return true;
}

/* Pixels [begin, end); false where they must be computed otherwise. */
static bool FN(narrow_pixels)(const plan *p, size_t begin, size_t end)
{
    const rp_view *to = &p->to;
    const size_t width = p->w.length;
    FN(narrow) w = {.held = {0}};

    if (!FN(is_narrow)(&w, p) || (w.turned = rp_scratch_borrow()) == NULL)
        return false;
    for (size_t line = begin / width; line * width < end; line++) {
        const size_t image = line / p->h.length, row = line % p->h.length;
        const size_t low = begin > line * width ? begin - line * width : 0;
        const size_t high = end < (line + 1) * width ? end - line * width : width;
        const rp_taps h = taps_of(&p->h, row);
        const T *rows[NARROW_SLOTS];
        T *y = (T *)to->data + (ptrdiff_t)image * to->stride[0] + (ptrdiff_t)row * to->stride[1];

        for (size_t r = 0; r < h.count; r++)
            rows[r] = FN(turned_row)(&w, image, (size_t)(h.at + (ptrdiff_t)r * h.move));
        for (const same_taps *run = w.run; run < w.run + w.runs; run++) {
            const size_t first = low > run->start ? (low - run->start + run->step - 1) / run->step : 0;
            const size_t last = high > run->start ? (high - run->start + run->step - 1) / run->step : 0;

            FN(narrow_run)
            (&w, &h, rows, run, first, last < run->count ? last : run->count,
             y + (ptrdiff_t)run->start * to->stride[2]);
        }
    }
    rp_scratch_return(w.turned);
    return true;
}
#else
static bool FN(narrow_pixels)(const plan *p, size_t begin, size_t end)
{
    (void)p, (void)begin, (void)end;
    return false;
}
#endif

#undef WIDTH
