/* SPDX-License-Identifier: Apache-2.0
 * The weight gradient of channels that do not mix, for one type: vectors lie across channels, and all taps of a window
 * share what they read of a pixel. Items are vectors of channels.
 *
 * Parameters, from kernels/type_f32.h or type_f64.h: T the type of the elements, FN(name) the name of its variant.
 * Before it: conv_tile.inc.h and conv_weight_type.inc.h, for FN(taps), FN(find_runs), FN(weight_row). Gives
 * FN(channels_weight). */
#if !defined(T) || !defined(FN)
#error "a template: include one of kernels/type_f32.h and kernels/type_f64.h before it"
#endif

#include "kernels/cpu/functions/inline_math.h"
#include "kernels/cpu/conv/conv_pixels.h"
#include "kernels/level.h"

#define WIDTH (WIDEST / sizeof(T))
#define PANEL (2 * WIDTH)

#ifdef VEC_BYTES
/* Up to 3 x 3 taps [row, column + ...) of one or two vectors of channels. */
typedef struct FN(window) {
    const rp_conv *conv;
    size_t row, rows, column, columns, vecs;
    size_t runs;
    const same_taps *run;                 /* of a row of y */
    T chain[9 * PANEL], total[9 * PANEL]; /* 3 x 3 times two vectors */
    bool touched[9], begun[9];            /* has a term in this chunk; has had a chunk */
} FN(window);

/* n pixels that have `rows` x `columns` taps; steps are in elements. */
RP_INLINE void FN(window_terms)(size_t rows, size_t columns, size_t vecs, const T *x, ptrdiff_t x_row, ptrdiff_t x_col,
                                ptrdiff_t x_step, const T *y, ptrdiff_t y_step, size_t n, T *chain)
{
    FN(vec) sum[3][3][2];

    RP_UNROLL
    for (size_t i = 0; i < rows * columns * vecs; i++)
        sum[i / vecs / columns][i / vecs % columns][i % vecs] =
            FN(vec_load)(chain + (i / vecs / columns * 3 + i / vecs % columns) * PANEL + i % vecs * WIDTH);
    for (; n > 0; n--, x += x_step, y += y_step) {
        FN(vec) g[2];

        RP_UNROLL
        for (size_t v = 0; v < vecs; v++) {
            g[v] = FN(vec_load)(y + v * WIDTH);
            VEC_KEEP(g[v]);
        }
        RP_UNROLL
        for (size_t i = 0; i < rows * columns * vecs; i++) {
            const T *at = x + (ptrdiff_t)(i / vecs / columns) * x_row + (ptrdiff_t)(i / vecs % columns) * x_col;
            FN(vec) *to = &sum[i / vecs / columns][i / vecs % columns][i % vecs];

            *to = FN(vec_fma)(FN(vec_load)(at + i % vecs * WIDTH), g[i % vecs], *to);
        }
    }
    RP_UNROLL
    for (size_t i = 0; i < rows * columns * vecs; i++)
        FN(vec_store)
    (chain + (i / vecs / columns * 3 + i / vecs % columns) * PANEL + i % vecs * WIDTH,
     sum[i / vecs / columns][i / vecs % columns][i % vecs]);
}

#define SIZES_CASE(r, s) \
    case 3 * (r) + (s): \
        FN(window_terms)(r, s, vecs, x, x_row, x_col, x_step, y, y_step, n, chain); \
        break;
RP_INLINE void FN(window_sizes)(size_t rows, size_t columns, size_t vecs, const T *x, ptrdiff_t x_row, ptrdiff_t x_col,
                                ptrdiff_t x_step, const T *y, ptrdiff_t y_step, size_t n, T *chain)
{
    switch (3 * rows + columns) {
        SIZES_CASE(1, 1)
        SIZES_CASE(1, 2)
        SIZES_CASE(1, 3)
        SIZES_CASE(2, 1) SIZES_CASE(2, 2) SIZES_CASE(2, 3) SIZES_CASE(3, 1) SIZES_CASE(3, 2) SIZES_CASE(3, 3)
    }
}
#undef SIZES_CASE

/* Which of the taps first, ... (n of them) lie in a window's [begin, begin + most): the first's place in the window. */
static size_t FN(cut)(const rp_taps *t, size_t begin, size_t most, size_t *skip, size_t *n)
{
    const size_t end = t->first + t->count;
    const size_t from = t->first > begin ? t->first : begin, to = end < begin + most ? end : begin + most;

    *n = to > from ? to - from : 0;
    *skip = from - t->first;
    return from - begin;
}

/* Pixels [low, high) of one row of y, which lies at term `index`; x is its image. */
static void FN(window_line)(FN(window) * w, const T *x, const T *y, size_t row, size_t low, size_t high)
{
    const rp_conv *conv = w->conv;
    const rp_taps h = rp_conv_taps(&conv->h, row);
    const ptrdiff_t down = conv->x->stride[1], across = conv->x->stride[2], y_step = conv->y->stride[2];
    size_t skip, rows;
    const size_t first = FN(cut)(&h, w->row, w->rows, &skip, &rows);

    x += (h.at + (ptrdiff_t)skip * h.move) * down;
    for (const same_taps *run = w->run; rows > 0 && run < w->run + w->runs; run++) {
        const size_t from = low > run->start ? low : run->start;
        const size_t to = high < run->start + run->count ? high : run->start + run->count;
        size_t past, columns;
        const size_t column = FN(cut)(&run->taps, w->column, w->columns, &past, &columns);
        const T *at = x + (run->taps.at + (ptrdiff_t)past * run->taps.move +
                           ((ptrdiff_t)from - (ptrdiff_t)run->start) * conv->w.stride) *
                              across;

        if (from >= to || columns == 0)
            continue;
        for (size_t i = 0; i < rows * columns; i++)
            w->touched[(first + i / columns) * 3 + column + i % columns] = true;
        if (w->vecs == 2)
            FN(window_sizes)
        (rows, columns, 2, at, h.move * down, run->taps.move * across, conv->w.stride * across,
         y + (ptrdiff_t)from * y_step, y_step, to - from, w->chain + (first * 3 + column) * PANEL);
        else FN(window_sizes)(rows, columns, 1, at, h.move * down, run->taps.move * across, conv->w.stride * across,
                              y + (ptrdiff_t)from * y_step, y_step, to - from, w->chain + (first * 3 + column) * PANEL);
    }
}

/* The end of a chunk: chains that had a term join their totals. */
static void FN(window_settle)(FN(window) * w)
{
    for (size_t i = 0; i < 9; i++) {
        const T *chain = w->chain + i * PANEL;
        T *total = w->total + i * PANEL;

        if (!w->touched[i])
            continue;
        for (size_t j = 0; j < PANEL; j++)
            total[j] = w->begun[i] ? total[j] + chain[j] : chain[j];
        w->begun[i] = true;
    }
    memset(w->chain, 0, sizeof w->chain); /* all bits 0 is +0 */
    memset(w->touched, 0, sizeof w->touched);
}

/* The terms of one image; x and y are its own, from the first channel on. */
static void FN(window_image)(FN(window) * w, size_t image, const T *x, const T *y)
{
    const size_t width = w->conv->w.out, height = w->conv->h.out;

    for (size_t row = 0; row < height; row++, y += w->conv->y->stride[1]) {
        const size_t index = (image * height + row) * width;

        for (size_t at = 0, n; at < width; at += n) {
            const size_t room = RP_CONV_CHUNK - (index + at) % RP_CONV_CHUNK;

            n = width - at < room ? width - at : room;
            FN(window_line)(w, x, y, row, at, at + n);
            if (n == room)
                FN(window_settle)(w);
        }
    }
}

/* Lanes [skip, skip + n) of the totals become channels [channel, channel + n). */
static void FN(window_end)(FN(window) * w, size_t channel, size_t skip, size_t n)
{
    const rp_view *weight = w->conv->weight;

    FN(window_settle)(w);
    for (size_t i = 0; i < w->rows * w->columns; i++) {
        const size_t r = i / w->columns, s = i % w->columns;
        const T *total = w->total + (r * 3 + s) * PANEL + skip;
        T *to = (T *)weight->data + (ptrdiff_t)(w->row + r) * weight->stride[0] +
                (ptrdiff_t)(w->column + s) * weight->stride[1] + (ptrdiff_t)channel * weight->stride[3];

        for (size_t j = 0; j < n; j++)
            to[(ptrdiff_t)j * weight->stride[3]] = total[j];
    }
}

/* Where vectors of channels get their pixels: an image of x or of y, packed where its channels lie apart. */
typedef struct FN(pixels) {
    rp_view view; /* as the windows see it */
    const rp_view *own;
    T *packed; /* NULL: as it lies */
} FN(pixels);

static const T *FN(image_of)(const FN(pixels) * p, size_t image, size_t channel, size_t channels, size_t lanes)
{
    const rp_view *v = p->own;
    const T *from = (const T *)v->data + (ptrdiff_t)image * v->stride[0] + (ptrdiff_t)channel * v->stride[3];
    const size_t width = v->shape[2];
    const bool flat = v->stride[1] == (ptrdiff_t)width * v->stride[2];

    if (p->packed == NULL)
        return from;
    if (channels < lanes)
        memset(p->packed, 0, v->shape[1] * width * lanes * sizeof(T)); /* for lanes that nobody stores */
    for (size_t row = 0; row < v->shape[1]; row += flat ? v->shape[1] : 1)
        FN(turn)
    (p->packed + row * width * lanes, (ptrdiff_t)lanes, from + (ptrdiff_t)row * v->stride[1], v->stride[3],
     v->stride[2], channels, flat ? v->shape[1] * width : width);
    return p->packed;
}

/* Room for a packed image, in elements. */
static T *FN(pack_into)(FN(pixels) * p, T *room, size_t lanes)
{
    p->packed = room;
    p->view.stride[1] = (ptrdiff_t)(p->view.shape[2] * lanes);
    p->view.stride[2] = (ptrdiff_t)lanes;
    return room + p->view.shape[1] * p->view.shape[2] * lanes;
}

/* Windows [begin, end) of `lanes` channels, of which `channels` exist; those of them behind the first `skip` are
 * stored. */
static void FN(run_windows)(FN(window) * w, const FN(window) * shared, size_t begin, size_t end, const FN(pixels) * x,
                            const FN(pixels) * y, size_t channel, size_t channels, size_t skip)
{
    const rp_conv *conv = shared->conv;
    const size_t across = (conv->w.taps + 2) / 3, lanes = shared->vecs * WIDTH;

    for (size_t i = begin; i < end; i++, w++) {
        memset(w, 0, sizeof *w);
        w->conv = conv;
        w->vecs = shared->vecs;
        w->runs = shared->runs;
        w->run = shared->run;
        w->row = i / across * 3;
        w->column = i % across * 3;
        w->rows = conv->h.taps - w->row < 3 ? conv->h.taps - w->row : 3;
        w->columns = conv->w.taps - w->column < 3 ? conv->w.taps - w->column : 3;
    }
    w -= end - begin;
    for (size_t image = 0; image < conv->images; image++) {
        const T *x_image = FN(image_of)(x, image, channel, channels, lanes);
        const T *y_image = FN(image_of)(y, image, channel, channels, lanes);

        for (size_t i = 0; i < end - begin; i++)
            FN(window_image)(w + i, image, x_image, y_image);
    }
    for (size_t i = 0; i < end - begin; i++)
        FN(window_end)(w + i, channel + skip, skip, channels - skip);
}

/* Whether an image of x and one of y have room. */
static bool FN(fit_packed)(const rp_conv *conv)
{
    const size_t pixels = conv->h.in * conv->w.in + conv->h.out * conv->w.out;

    return pixels <= (RP_SCRATCH_BYTES - MOST_WINDOWS * sizeof(FN(window))) / (PANEL * sizeof(T));
}

/* ... and a row of y falls into few parts. */
static bool FN(may_pack)(const rp_conv *conv)
{
    return FN(fit_packed)(conv) && few_runs(&conv->w);
}

/* Channels [channel, end) by windows. False without room for it. */
static bool FN(channels_by_windows)(const rp_conv *conv, size_t channel, size_t end)
{
    const size_t windows = ((conv->h.taps + 2) / 3) * ((conv->w.taps + 2) / 3), all = conv->groups;
    const bool must_x = all < WIDTH || conv->x->stride[3] != 1, pack_y = all < WIDTH || conv->y->stride[3] != 1;
    const side across = side_of(&conv->w, false);
    FN(pixels) x = {.view = *conv->x, .own = conv->x}, y = {.view = *conv->y, .own = conv->y};
    rp_conv seen = *conv;
    FN(window) one, *w = rp_scratch_borrow(), shared = {.conv = &seen};
    const size_t most = w != NULL ? MOST_WINDOWS : 1;
    const bool room_for_both = w != NULL && FN(fit_packed)(conv);
    const bool pack_x = must_x || (room_for_both && crowd_out(conv->x)); /* which is only faster */
    same_taps run[MOST_RUNS];
    T *const scratch = (T *)w;

    if (!room_for_both && (must_x || pack_y)) {
        rp_scratch_return(w);
        return false;
    }
    seen.x = &x.view;
    seen.y = &y.view;
    shared.run = run;
    for (same_taps next = {0}; next_same(&across, &next);)
        run[shared.runs++] = next;
    for (size_t n; channel < end; channel += n) {
        /* as registers go; the last vector begins earlier where it would not be full */
        shared.vecs = WIDEST == 64 && channel + 2 * WIDTH <= end ? 2 : 1;
        const size_t lanes = shared.vecs * WIDTH, past = channel + lanes;
        const size_t skip = past > all && all >= WIDTH ? past - all : 0;
        T *room = scratch + MOST_WINDOWS * sizeof *w / sizeof(T);

        n = past < end ? lanes : end - channel;
        if (pack_x)
            room = FN(pack_into)(&x, room, lanes);
        if (pack_y)
            room = FN(pack_into)(&y, room, lanes);
        for (size_t i = 0; i < windows; i += most)
            FN(run_windows)
        (w != NULL ? w : &one, &shared, i, i + most < windows ? i + most : windows, &x, &y, channel - skip, n + skip,
         skip);
    }
    rp_scratch_return(scratch);
    return true;
}

/* One channel however it lies, without any memory. */
static void FN(channel_alone)(const rp_conv *conv, size_t channel)
{
    const rp_view *x = conv->x, *y = conv->y, *weight = conv->weight;

    for (size_t tap = 0; tap < conv->h.taps * conv->w.taps; tap++) {
        const size_t r = tap / conv->w.taps, s = tap % conv->w.taps;
        size_t top, bottom, left, right, number = 0;
        T total = 0, chain = 0;
        bool any = false, begun = false;

        rp_conv_outputs(&conv->h, r, &top, &bottom);
        rp_conv_outputs(&conv->w, s, &left, &right);
        for (size_t i = 0; i < conv->images * (bottom - top) * (right - left); i++) {
            const size_t column = left + i % (right - left), row = top + i / (right - left) % (bottom - top);
            const size_t image = i / (right - left) / (bottom - top);
            const size_t index = (image * conv->h.out + row) * conv->w.out + column;
            const int64_t h = (int64_t)row * conv->h.stride + (int64_t)r * conv->h.dilation - conv->h.pad;
            const int64_t v = (int64_t)column * conv->w.stride + (int64_t)s * conv->w.dilation - conv->w.pad;
            const T *a = (const T *)x->data + (ptrdiff_t)image * x->stride[0] + h * x->stride[1] + v * x->stride[2];
            const T *b = (const T *)y->data + (ptrdiff_t)image * y->stride[0] + (ptrdiff_t)row * y->stride[1] +
                         (ptrdiff_t)column * y->stride[2];

            if (any && index / RP_CONV_CHUNK != number) {
                total = begun ? total + chain : chain;
                begun = true;
                chain = 0;
            }
            any = true;
            number = index / RP_CONV_CHUNK;
            chain = FN(rp_fma)(a[(ptrdiff_t)channel * x->stride[3]], b[(ptrdiff_t)channel * y->stride[3]], chain);
        }
        ((T *)weight->data)[(ptrdiff_t)r * weight->stride[0] + (ptrdiff_t)s * weight->stride[1] +
                            (ptrdiff_t)channel * weight->stride[3]] = begun ? total + chain : chain;
    }
}
#endif

/* n < WIDTH channels, and all for levels without vectors: the runs of one tap in one chunk. */
RP_INLINE void FN(channel_few)(const FN(taps) * w, size_t n, size_t channel, T *total, bool fresh)
{
    const ptrdiff_t x_step = w->conv->w.stride * w->conv->x->stride[2], y_step = w->conv->y->stride[2];
    T chain[WIDTH] = {0};

    for (size_t r = 0; r < w->runs; r++) {
        const T *x = w->x + w->run[r].a + (ptrdiff_t)channel;
        const T *y = w->y + ((ptrdiff_t)w->start + w->run[r].b) * y_step + (ptrdiff_t)channel;

        for (size_t l = 0; l < w->run[r].n; l++, x += x_step, y += y_step)
            RP_EACH(j, n) chain[j] = FN(rp_fma)(x[j], y[j], chain[j]);
    }
    RP_EACH(j, n) total[j] = fresh ? chain[j] : total[j] + chain[j];
}

/* Channels [channel, end) of a tap; a tap without any term is +0. */
static void FN(channel_tap)(FN(taps) * w, size_t tap, size_t channel, size_t end)
{
    T *total = FN(weight_row)(w, tap, 0);
    size_t top, bottom, left, right;
    bool fresh;

    rp_conv_outputs(&w->conv->h, tap / w->conv->w.taps, &top, &bottom);
    rp_conv_outputs(&w->conv->w, tap % w->conv->w.taps, &left, &right);
    if (top >= bottom || left >= right || w->conv->images == 0) {
        if (w->start == 0)
            memset(total + channel, 0, (end - channel) * sizeof *total); /* all bits 0 is +0 */
        return;
    }
    fresh = top * w->conv->w.out + left >= w->start && top * w->conv->w.out + left < w->stop;
    FN(find_runs)(w, tap);
    if (w->runs == 0)
        return;
    for (size_t n; channel < end; channel += n) {
        n = end - channel < WIDTH ? end - channel : WIDTH;
        if (n == WIDTH)
            FN(channel_few)(w, WIDTH, channel, total + channel, fresh);
        else
            FN(channel_few)(w, n, channel, total + channel, fresh);
    }
}

/* Channels [channel, end), tap by tap. */
static void FN(channels_one_by_one)(const rp_conv *conv, size_t channel, size_t end)
{
    const size_t pixels = conv->images * conv->h.out * conv->w.out;
    FN(taps) w;

    w.conv = conv;
    w.x = conv->x->data;
    w.y = conv->y->data;
    w.weight = conv->weight->data;
    w.start = 0;
    do { /* once also without pixels */
        w.stop = pixels - w.start < RP_CONV_CHUNK ? pixels : w.start + RP_CONV_CHUNK;
        for (size_t tap = 0; tap < conv->h.taps * conv->w.taps; tap++)
            FN(channel_tap)(&w, tap, channel, end);
        w.start = w.stop;
    } while (w.start < pixels);
}

/* Items [begin, end): vectors of channels, the last of which may not be full. */
static void FN(channels_weight)(const rp_conv *conv, bool beside, size_t begin, size_t end)
{
    const size_t channel = begin * WIDTH, last = end * WIDTH < conv->groups ? end * WIDTH : conv->groups;
#ifdef VEC_BYTES

    if (channel >= last || (few_runs(&conv->w) && FN(channels_by_windows)(conv, channel, last)))
        return;
    if (!beside) {
        for (size_t i = channel; i < last; i++)
            FN(channel_alone)(conv, i);
        return;
    }
#else
    (void)beside;
#endif
    if (channel < last)
        FN(channels_one_by_one)(conv, channel, last);
}

#undef PANEL
#undef WIDTH
