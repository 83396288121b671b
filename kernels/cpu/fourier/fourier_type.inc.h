/* SPDX-License-Identifier: Apache-2.0
 * Lines of fft for one type. Stages work on rows of whole vectors: a row is an element of as many transforms side by
 * side, which are lines, or columns of one line.
 * Parameters: T and FN(name) of kernels/type_*.h; VECTOR, NEAR, SIDE_LONGEST. */
typedef T FN(vec) __attribute__((vector_size(VECTOR)));
enum { FN(LANES) = VECTOR / sizeof(T), FN(SQUARE) = 16 / sizeof(T) };

/* Rows of real and imaginary parts, so many elements apart. */
typedef struct FN(rows) {
    T *re, *im;
    ptrdiff_t step;
} FN(rows);

typedef struct FN(pair) {
    FN(vec) re, im;
} FN(pair);

RP_INLINE FN(pair) FN(get)(const FN(rows) * x, ptrdiff_t at)
{
    FN(pair) v;

    memcpy(&v.re, x->re + at, sizeof v.re);
    memcpy(&v.im, x->im + at, sizeof v.im);
    return v;
}

RP_INLINE void FN(put)(const FN(rows) * y, ptrdiff_t at, FN(pair) v)
{
    memcpy(y->re + at, &v.re, sizeof v.re);
    memcpy(y->im + at, &v.im, sizeof v.im);
}

RP_INLINE FN(pair) FN(plus)(FN(pair) a, FN(pair) b)
{
    return (FN(pair)){a.re + b.re, a.im + b.im};
}

RP_INLINE FN(pair) FN(minus)(FN(pair) a, FN(pair) b)
{
    return (FN(pair)){a.re - b.re, a.im - b.im};
}

/* By c + i d, or (back) by c - i d. */
RP_INLINE FN(pair) FN(turned)(FN(pair) a, FN(pair) w, bool back)
{
    if (back)
        return (FN(pair)){a.re * w.re + a.im * w.im, a.im * w.re - a.re * w.im};
    return (FN(pair)){a.re * w.re - a.im * w.im, a.re * w.im + a.im * w.re};
}

/* Results as `out` says, each element times a share but where they are parts as they come; pairs from re on. */
RP_INLINE void FN(put_out)(const FN(rows) * y, ptrdiff_t at, FN(pair) v, int out, T share)
{
    FN(vec) first, second, low, high;

    if (out == OUT_PARTS) {
        FN(put)(y, at, v);
        return;
    }
    v = (FN(pair)){v.re * share, v.im * share};
    if (out == OUT_SHARES) {
        FN(put)(y, at, v);
        return;
    }
    first = out == OUT_PAIRS ? v.re : v.im;
    second = out == OUT_PAIRS ? v.im : v.re;
    low = __builtin_shufflevector(first, second, LANES_ORDER(LOW, LINE_LANES, 1));
    high = __builtin_shufflevector(first, second, LANES_ORDER(HIGH, LINE_LANES, 1));
    memcpy(y->re + 2 * at, &low, sizeof low);
    memcpy(y->re + 2 * at + FN(LANES), &high, sizeof high);
}

/* One pass: stages from transforms of `radix` m rows, s of them between each other, to those of m, or (transposed) the
 * other way. In rows, y[(p radix + h) s + q] is made of x[(h m + p) s + q], all h of it. */
typedef struct FN(pass) {
    FN(rows) y, x;
    size_t m, s, width; /* width: elements of a row */
    const T *c, *d;     /* of all levels */
    size_t span, first; /* turn p of level m is m span + first + p span; one for each lane where span is not 1 */
    int radix;          /* an odd prime */
    const T *root_c, *root_d;
    T share; /* of results that are not OUT_PARTS */
} FN(pass);

typedef void FN(pass_fn)(const FN(pass) * pass);

RP_INLINE FN(pair) FN(turn_at)(const FN(pass) * a, size_t level, size_t p, bool lanes)
{
    const size_t at = level * a->span + a->first + p * a->span;

    if (lanes)
        return FN(get)(&(FN(rows)){(T *)(uintptr_t)a->c, (T *)(uintptr_t)a->d, 0}, (ptrdiff_t)at);
    return (FN(pair)){a->c[at] - (FN(vec)){0}, a->d[at] - (FN(vec)){0}};
}

/* Rows without gaps in both are one row for all q. */
RP_INLINE FN(pass) FN(flat)(const FN(pass) * a)
{
    FN(pass) b = *a;

    if (b.x.step == (ptrdiff_t)b.width && b.y.step == (ptrdiff_t)b.width) {
        b.width *= b.s;
        b.x.step = b.y.step = (ptrdiff_t)b.width;
        b.s = 1;
    }
    return b;
}

/* The vector of a row that begins at element i, or, where there are fewer left, the last one: some of it is made again.
 */
#define WITHIN(i, width) ((i) + FN(LANES) > (width) ? (width)-FN(LANES) : (i))

RP_INLINE void FN(two)(const FN(pass) * given, bool lanes, bool back, bool transposed, int out)
{
    const FN(pass) a = FN(flat)(given);
    const ptrdiff_t x_row = (ptrdiff_t)a.s * a.x.step, y_row = (ptrdiff_t)a.s * a.y.step;
    const ptrdiff_t far = (ptrdiff_t)a.m * x_row;

    for (size_t p = 0; p < a.m; p++) {
        const FN(pair) w = FN(turn_at)(&a, a.m, p, lanes);

        for (size_t q = 0; q < a.s; q++) {
            const ptrdiff_t x = (ptrdiff_t)p * x_row + (ptrdiff_t)q * a.x.step;
            const ptrdiff_t y = (ptrdiff_t)p * 2 * y_row + (ptrdiff_t)q * a.y.step;

            for (ptrdiff_t at = 0; at < (ptrdiff_t)a.width; at += FN(LANES)) {
                const ptrdiff_t i = WITHIN(at, (ptrdiff_t)a.width);
                const FN(pair) e = FN(get)(transposed ? &a.y : &a.x, i + (transposed ? y : x));
                const FN(pair) f = FN(get)(transposed ? &a.y : &a.x, i + (transposed ? y + y_row : x + far));

                if (transposed) {
                    const FN(pair) t = FN(turned)(f, w, back);

                    FN(put)(&a.x, i + x, FN(plus)(e, t));
                    FN(put)(&a.x, i + x + far, FN(minus)(e, t));
                } else {
                    FN(put_out)(&a.y, i + y, FN(plus)(e, f), out, a.share);
                    FN(put_out)(&a.y, i + y + y_row, FN(turned)(FN(minus)(e, f), w, back), out, a.share);
                }
            }
        }
    }
}

/* Two stages of four elements: their parts in the order of the result. */
RP_INLINE void FN(part_four)(FN(pair) * v, FN(pair) near, FN(pair) beyond, FN(pair) next, bool back)
{
    const FN(pair) t = FN(plus)(v[0], v[2]), u = FN(plus)(v[1], v[3]);
    const FN(pair) x = FN(turned)(FN(minus)(v[0], v[2]), near, back);
    const FN(pair) y = FN(turned)(FN(minus)(v[1], v[3]), beyond, back);

    v[0] = FN(plus)(t, u);
    v[1] = FN(plus)(x, y);
    v[2] = FN(turned)(FN(minus)(t, u), next, back);
    v[3] = FN(turned)(FN(minus)(x, y), next, back);
}

RP_INLINE void FN(join_four)(FN(pair) * v, FN(pair) near, FN(pair) beyond, FN(pair) next, bool back)
{
    const FN(pair) t = FN(turned)(v[2], next, back), u = FN(turned)(v[3], next, back);
    const FN(pair) x = FN(turned)(FN(plus)(v[1], u), near, back);
    const FN(pair) y = FN(turned)(FN(minus)(v[1], u), beyond, back);
    const FN(pair) sum = FN(plus)(v[0], t), rest = FN(minus)(v[0], t);

    v[0] = FN(plus)(sum, x);
    v[1] = FN(plus)(rest, y);
    v[2] = FN(minus)(sum, x);
    v[3] = FN(minus)(rest, y);
}

/* Two stages in registers. */
RP_INLINE void FN(four)(const FN(pass) * given, bool lanes, bool back, bool transposed, int out)
{
    const FN(pass) a = FN(flat)(given);
    const ptrdiff_t x_row = (ptrdiff_t)a.s * a.x.step, y_row = (ptrdiff_t)a.s * a.y.step;
    const ptrdiff_t far = (ptrdiff_t)a.m * x_row;

    for (size_t p = 0; p < a.m; p++) {
        const FN(pair) near = FN(turn_at)(&a, 2 * a.m, p, lanes), beyond = FN(turn_at)(&a, 2 * a.m, p + a.m, lanes);
        const FN(pair) next = FN(turn_at)(&a, a.m, p, lanes);

        for (size_t q = 0; q < a.s; q++) {
            const ptrdiff_t x = (ptrdiff_t)p * x_row + (ptrdiff_t)q * a.x.step;
            const ptrdiff_t y = (ptrdiff_t)p * 4 * y_row + (ptrdiff_t)q * a.y.step;

            for (ptrdiff_t begin = 0; begin < (ptrdiff_t)a.width; begin += FN(LANES)) {
                const ptrdiff_t i = WITHIN(begin, (ptrdiff_t)a.width);
                const FN(rows) *from = transposed ? &a.y : &a.x, *to = transposed ? &a.x : &a.y;
                const ptrdiff_t of = i + (transposed ? y : x), at = i + (transposed ? x : y);
                const ptrdiff_t of_row = transposed ? y_row : far, row = transposed ? far : y_row;
                FN(pair) v[4];

                RP_UNROLL for (int h = 0; h < 4; h++) v[h] = FN(get)(from, of + h * of_row);
                if (transposed)
                    FN(join_four)(v, near, beyond, next, back);
                else
                    FN(part_four)(v, near, beyond, next, back);
                RP_UNROLL for (int h = 0; h < 4; h++) FN(put_out)(to, at + h * row, v[h], out, a.share);
            }
        }
    }
}

#define PASSES(lanes, back, transposed) \
    static void FN(two_##lanes##_##back##_##transposed)(const FN(pass) * a) \
    { \
        FN(two)(a, lanes, back, transposed, OUT_PARTS); \
    } \
    static void FN(four_##lanes##_##back##_##transposed)(const FN(pass) * a) \
    { \
        FN(four)(a, lanes, back, transposed, OUT_PARTS); \
    }
PASSES(0, 0, 0)
PASSES(0, 0, 1)
PASSES(0, 1, 0)
PASSES(0, 1, 1)
PASSES(1, 0, 0)
PASSES(1, 0, 1)
PASSES(1, 1, 0)
PASSES(1, 1, 1)
#undef PASSES
#define BOTH(lanes, back, transposed) \
    { \
        FN(two_##lanes##_##back##_##transposed), FN(four_##lanes##_##back##_##transposed) \
    }

static FN(pass_fn) *const FN(passes)[2][2][2][2] = {
    {{BOTH(0, 0, 0), BOTH(0, 0, 1)}, {BOTH(0, 1, 0), BOTH(0, 1, 1)}},
    {{BOTH(1, 0, 0), BOTH(1, 0, 1)}, {BOTH(1, 1, 0), BOTH(1, 1, 1)}},
};
#undef BOTH

/* Last passes, whose results are finished and put where they go. */
#define END(back, out) \
    static void FN(two_end_##back##_##out)(const FN(pass) * a) \
    { \
        FN(two)(a, false, back, false, out); \
    } \
    static void FN(four_end_##back##_##out)(const FN(pass) * a) \
    { \
        FN(four)(a, false, back, false, out); \
    }
#define ENDS(back) \
    END(back, OUT_SHARES) \
    END(back, OUT_PAIRS) \
    END(back, OUT_EXCHANGED)
ENDS(0)
ENDS(1)
#undef ENDS
#undef END
#define END(back, out) \
    { \
        FN(two_end_##back##_##out), FN(four_end_##back##_##out) \
    }
#define ENDS(back) \
    { \
        END(back, OUT_SHARES), END(back, OUT_PAIRS), END(back, OUT_EXCHANGED) \
    }
static FN(pass_fn) *const FN(ends)[2][3][2] = {ENDS(0), ENDS(1)};
#undef ENDS
#undef END

#include "kernels/cpu/fourier/fourier_odd.inc.h"

/* What the lines of a call have in common. */
typedef struct FN(work) {
    size_t n;
    const rp_fourier_factors *factors; /* of n */
    bool inverse, transposed, pairs;   /* pairs: results lie as such */
    const T *c, *d;
    FN(rows) a, b, whole; /* to and fro; and (transposed) for a line between its halves */
} FN(work);

/* That of one radix, 4 being two stages of 2; roots of an odd one to `a`. */
static FN(pass_fn) * FN(pass_of)(const FN(work) * w, FN(pass) * a, int radix, bool lanes)
{
    const bool back = w->inverse != w->transposed;
    const size_t root = fourier_root(w->factors, w->n, radix);

    if (radix % 2 == 0)
        return FN(passes)[lanes][back][w->transposed][radix == 4];
    a->radix = radix;
    a->root_c = w->c + root;
    a->root_d = w->d + root;
    return FN(odd_passes)[radix == 3 ? 0 : radix == 5 ? 1 : radix == 7 ? 2 : 3][lanes][back][w->transposed];
}

/* The same as last pass of a line that is not transposed, its results as `out` says; NULL: there is none. */
static FN(pass_fn) * FN(end_of)(const FN(work) * w, int radix, int out)
{
    if (out == OUT_PARTS || w->transposed || radix > 7)
        return NULL;
    return radix % 2 == 0 ? FN(ends)[w->inverse][out - 1][radix == 4]
                          : FN(odd_ends)[radix == 3   ? 0
                                         : radix == 5 ? 1
                                                      : 2][w->inverse][out - 1];
}

/* All stages of rows, from one place to another, or (no place) to wherever they come to be; b may be the first. */
static FN(rows) FN(stages)(const FN(work) * w, const FN(rows) * to, FN(rows) from, const fourier_passes *list,
                           size_t width, size_t span, size_t first)
{
    FN(pass) a = {.width = width, .c = w->c, .d = w->d, .span = span, .first = first};
    bool in_a = false;
    size_t done = 1; /* transforms of so many rows are made, or so many are between each other */

    for (int k = 0; k < list->count; k++) {
        const int radix = list->radix[w->transposed ? list->count - 1 - k : k];
        FN(pass_fn) *pass = FN(pass_of)(w, &a, radix, span > 1);
        FN(rows) next = in_a ? w->b : w->a;

        next.step = (ptrdiff_t)width;
        if (to && k + 1 == list->count)
            next = *to;
        a.m = w->transposed ? done : list->rows / done / (size_t)radix;
        a.s = w->transposed ? list->rows / done / (size_t)radix : done;
        a.x = w->transposed ? next : from;
        a.y = w->transposed ? from : next;
        pass(&a);
        done *= (size_t)radix;
        from = next;
        in_a = !in_a;
    }
    return from;
}

/* Columns of `from` become rows of `to`. */
static void FN(turn)(T *to, ptrdiff_t to_step, const T *from, ptrdiff_t from_step, size_t rows, size_t columns)
{
    const ptrdiff_t high = (ptrdiff_t)(rows - rows % FN(SQUARE)), wide = (ptrdiff_t)(columns - columns % FN(SQUARE));

    for (ptrdiff_t c = 0; c < wide; c += FN(SQUARE))
        for (ptrdiff_t r = 0; r < high; r += FN(SQUARE))
            FN(turn_square)(to + c * to_step + r, to_step, from + r * from_step + c, from_step);
    for (ptrdiff_t c = 0; c < (ptrdiff_t)columns; c++)
        for (ptrdiff_t r = c < wide ? high : 0; r < (ptrdiff_t)rows; r++)
            to[c * to_step + r] = from[r * from_step + c];
}

static void FN(turn_both)(FN(rows) to, FN(rows) from, size_t rows, size_t columns)
{
    FN(turn)(to.re, to.step, from.re, from.step, rows, columns);
    FN(turn)(to.im, to.step, from.im, from.step, rows, columns);
}

/* Whether a line's results have a last step. */
static bool FN(finishes)(const FN(work) * w)
{
    return w->transposed || w->inverse;
}

/* to = x with a share of each element at the inverse's end, +0 for -0 at the transposed one's; to may be x. */
static void FN(finish)(const FN(work) * w, T *to, const T *x, size_t count)
{
    const T share = (T)(1 / (double)w->n);

    if (w->transposed)
        RP_EACH(i, count) to[i] = x[i] + 0;
    else if (w->inverse)
        RP_EACH(i, count) to[i] = x[i] * share;
}

/* Results, finished, as pairs of which those of u and v are the parts. */
static void FN(pair_up)(const FN(work) * w, T *u, T *v, const T *of_u, const T *of_v, bool finished)
{
    const bool exchanged = v < u;
    T *const to = exchanged ? v : u;
    const T *const re = exchanged ? of_v : of_u, *const im = exchanged ? of_u : of_v;
    const T share = w->inverse && !w->transposed && !finished ? (T)(1 / (double)w->n) : 1;
    const T none = w->transposed && !finished ? (T)0 : (T)-0.0;
    size_t i = 0;

    for (; i + FN(LANES) <= w->n; i += FN(LANES)) {
        FN(pair) a = FN(get)(&(FN(rows)){(T *)(uintptr_t)re, (T *)(uintptr_t)im, 0}, (ptrdiff_t)i);
        FN(vec) low, high;

        a = (FN(pair)){a.re * share + none, a.im * share + none};
        low = __builtin_shufflevector(a.re, a.im, LANES_ORDER(LOW, LINE_LANES, 1));
        high = __builtin_shufflevector(a.re, a.im, LANES_ORDER(HIGH, LINE_LANES, 1));
        memcpy(to + 2 * i, &low, sizeof low);
        memcpy(to + 2 * i + FN(LANES), &high, sizeof high);
    }
    for (; i < w->n; i++) {
        to[2 * i] = re[i] * share + none;
        to[2 * i + 1] = im[i] * share + none;
    }
}

static void FN(load)(T *to, const T *from, ptrdiff_t step, size_t n, T share)
{
    if (step == 1)
        RP_EACH(i, n) to[i] = from[i] * share;
    else if (step == 2) /* of complex numbers one part */
        RP_EACH(i, n) to[i] = from[2 * i] * share;
    else
        RP_EACH(i, n) to[i] = from[i * step] * share;
}

/* LANES columns of a matrix of which neighbours in a row are `step` apart. */
static void FN(load_apart)(T *to, const T *from, ptrdiff_t step, size_t rows, size_t row)
{
    if (step == 1)
        for (size_t i = 0; i < rows; i++)
            memcpy(to + i * FN(LANES), from + i * row, FN(LANES) * sizeof(T));
    else if (step == 0)
        RP_EACH(i, rows * FN(LANES)) to[i] = *from;
    else
        for (size_t i = 0; i < rows; i++)
            for (ptrdiff_t j = 0; j < FN(LANES); j++)
                to[(ptrdiff_t)i * FN(LANES) + j] = from[((ptrdiff_t)(i * row) + j) * step];
}

/* A line as a matrix: its result has `high` rows and `wide` columns. Blocks of columns go through the caches near by.
 */
typedef struct FN(matrix) {
    size_t wide, high, width; /* width: of a block of columns */
    fourier_passes of_wide, of_high;
    FN(rows) in, out, middle; /* in with the line's steps; middle: between the halves */
} FN(matrix);

/* The columns of x that become row r and those behind it of the middle. */
static void FN(columns_to_rows)(const FN(work) * w, const FN(matrix) * a, const fourier_line *l, size_t r)
{
    const FN(rows) rows = {a->middle.re + r * a->wide, a->middle.im + r * a->wide, (ptrdiff_t)a->wide};
    FN(rows) columns = {a->in.re + r, a->in.im + r, (ptrdiff_t)a->high}, made;

    if (l->x_step != 1 || l->y_step != 1) {
        columns = w->b;
        columns.step = FN(LANES);
        FN(load_apart)(columns.re, a->in.re + (ptrdiff_t)r * l->x_step, l->x_step, a->wide, a->high);
        FN(load_apart)(columns.im, a->in.im + (ptrdiff_t)r * l->y_step, l->y_step, a->wide, a->high);
    }
    made = FN(stages)(w, NULL, columns, &a->of_wide, FN(LANES), a->high, r);
    FN(turn_both)(rows, made, a->wide, FN(LANES));
}

static void FN(rows_to_columns)(const FN(work) * w, const FN(matrix) * a, size_t r)
{
    const FN(rows) rows = {a->middle.re + r * a->wide, a->middle.im + r * a->wide, (ptrdiff_t)a->wide};
    const FN(rows) columns = {a->out.re + r, a->out.im + r, (ptrdiff_t)a->high};
    FN(rows) from = w->b;

    from.step = FN(LANES);
    FN(turn_both)(from, rows, FN(LANES), a->wide);
    (void)FN(stages)(w, &columns, from, &a->of_wide, FN(LANES), a->high, r);
}

/* The last block may hold columns of the one before: what is transformed stays where it is, or columns come out even.
 */
static void FN(column_stages)(const FN(work) * w, const FN(matrix) * a, FN(rows) to, FN(rows) from)
{
    for (size_t q = 0; q < a->wide; q += a->width) {
        const size_t left = a->wide - q,
                     width = left < a->width ? (left + FN(LANES) - 1) / FN(LANES) * FN(LANES) : a->width;
        const size_t begin = left < width ? a->wide - width : q;
        const FN(rows) of = {from.re + begin, from.im + begin, (ptrdiff_t)a->wide};
        const FN(rows) at = {to.re + begin, to.im + begin, (ptrdiff_t)a->wide};

        (void)FN(stages)(w, &at, of, &a->of_high, width, 1, 0);
    }
}

/* The first of the columns from r on, of which there are `high`, that a vector takes. */
#define COLUMNS(r, high) ((r) + FN(LANES) > (high) ? (high)-FN(LANES) : (r))

/* The line as a matrix of `wide` columns of results. */
static FN(matrix) FN(matrix_of)(const FN(work) * w, const fourier_line *l, size_t wide)
{
    FN(matrix) a = {.wide = wide, .high = w->n / wide, .in = {(T *)(uintptr_t)l->x, (T *)(uintptr_t)l->y, 0}};
    const size_t most = NEAR / (4 * sizeof(T)) / a.high / FN(LANES) * FN(LANES);

    a.width = most >= wide ? wide / FN(LANES) * FN(LANES) : most > FN(LANES) ? most : FN(LANES);
    a.of_wide = fourier_passes_of(a.wide, false);
    a.of_high = fourier_passes_of(a.high, false);
    a.out = (FN(rows)){l->u, l->v, 0};
    a.middle = w->n * sizeof(T) <= FOURIER_KEPT ? w->whole : a.out; /* the results are only written where it can be */
    return a;
}

static void FN(long_line)(const FN(work) * w, const fourier_line *l, size_t wide)
{
    FN(matrix) a = FN(matrix_of)(w, l, wide);
    const size_t high = a.high;

    if (!w->transposed) {
        for (size_t r = 0; r < high; r += FN(LANES))
            FN(columns_to_rows)(w, &a, l, COLUMNS(r, high));
        FN(column_stages)(w, &a, a.out, a.middle);
    } else {
        if (l->x_step != 1 || l->y_step != 1 || w->inverse) {
            a.in = a.out;
            FN(load)(a.in.re, l->x, l->x_step, w->n, w->inverse ? (T)(1 / (double)w->n) : 1);
            FN(load)(a.in.im, l->y, l->y_step, w->n, w->inverse ? (T)(1 / (double)w->n) : 1);
        }
        FN(column_stages)(w, &a, a.middle, a.in);
        for (size_t r = 0; r < high; r += FN(LANES))
            FN(rows_to_columns)(w, &a, COLUMNS(r, high));
    }
    FN(finish)(w, a.out.re, a.out.re, w->n);
    FN(finish)(w, a.out.im, a.out.im, w->n);
}
#undef COLUMNS

/* How many columns a line has as a matrix, the product of the first of its radices; 0: it is none. Of vectors that hold
 * more than what is left, fewer are best. Without memory for all of it between the halves columns come out even. */
static size_t FN(columns_of)(const FN(work) * w)
{
    const bool even = w->n * sizeof(T) > FOURIER_KEPT;
    const size_t most = (FOURIER_KEPT / 2) / (FN(LANES) * sizeof(T));
    size_t best = 0, least = (size_t)-1, wide = 1;

    for (int k = 0; k < w->factors->count; k++) {
        size_t high, work;

        wide *= w->factors->radix[k];
        high = w->n / wide;
        if (wide < FN(LANES) || high < FN(LANES) || wide > most || high > most || (even && wide % FN(LANES) != 0))
            continue;
        work = (high + FN(LANES) - 1) / FN(LANES) * FN(LANES) * wide * (size_t)(k + 2) +
               (wide + FN(LANES) - 1) / FN(LANES) * FN(LANES) * high * (size_t)(w->factors->count - k) +
               w->n / 64 * (wide > high ? wide / high : high / wide);
        if (work < least) {
            least = work;
            best = wide;
        }
    }
    return best;
}

/* Of a power of two. */
static size_t FN(columns_of_twos)(size_t n)
{
    const size_t bits = (size_t)__builtin_ctzll(n), half = (size_t)1 << bits / 2;

    return bits % 4 == 2 && half > FN(LANES) ? half / 2 : half;
}

/* Operand x of `count` lines, at most LANES, as columns. */
static void FN(load_columns)(const FN(work) * w, T *to, const T *x, ptrdiff_t line, ptrdiff_t step, size_t count)
{
    if (step == 0 && line == 0)
        RP_EACH(i, w->n * FN(LANES)) to[i] = *x;
    else if (step == 1 && count == FN(LANES))
        FN(turn)(to, FN(LANES), x, line, FN(LANES), w->n);
    else if (line == 1 && count == FN(LANES))
        for (size_t i = 0; i < w->n; i++)
            memcpy(to + i * FN(LANES), x + (ptrdiff_t)i * step, FN(LANES) * sizeof(T));
    else
        for (size_t i = 0; i < w->n; i++)
            for (size_t j = 0; j < FN(LANES); j++)
                to[i * FN(LANES) + j] = j < count ? x[(ptrdiff_t)i * step + (ptrdiff_t)j * line] : 0;
    if (w->inverse && w->transposed)
        FN(load)(to, to, 1, w->n * FN(LANES), (T)(1 / (double)w->n));
}

/* The line that operands or results of a run begin at, i lines on. */
#define LINE(walk, k, i) ((T *)(walk)->at[k] + (ptrdiff_t)(i) * (walk)->step[k])

/* Lines side by side, from number i on. */
static void FN(short_lines)(const FN(work) * w, const fourier_passes *list, const rp_walk *walk, const fourier_line *l,
                            size_t i, size_t count)
{
    FN(rows) from = w->b, made;

    from.step = FN(LANES);
    FN(load_columns)(w, from.re, LINE(walk, 2, i), walk->step[2], l->x_step, count);
    FN(load_columns)(w, from.im, LINE(walk, 3, i), walk->step[3], l->y_step, count);
    made = FN(stages)(w, NULL, from, list, FN(LANES), 1, 0);
    FN(finish)(w, made.re, made.re, w->n * FN(LANES));
    FN(finish)(w, made.im, made.im, w->n * FN(LANES));
    if (w->pairs) {
        const FN(rows) free = made.re == w->a.re ? w->b : w->a;

        FN(turn)(free.re, (ptrdiff_t)w->n, made.re, FN(LANES), w->n, FN(LANES));
        FN(turn)(free.im, (ptrdiff_t)w->n, made.im, FN(LANES), w->n, FN(LANES));
        for (size_t j = 0; j < count; j++)
            FN(pair_up)(w, LINE(walk, 0, i + j), LINE(walk, 1, i + j), free.re + j * w->n, free.im + j * w->n, true);
        return;
    }
    if (count == FN(LANES)) {
        FN(turn)(LINE(walk, 0, i), walk->step[0], made.re, FN(LANES), w->n, FN(LANES));
        FN(turn)(LINE(walk, 1, i), walk->step[1], made.im, FN(LANES), w->n, FN(LANES));
    }
    for (size_t j = 0; j < count; j++) {
        T *u = LINE(walk, 0, i + j), *v = LINE(walk, 1, i + j);

        for (size_t k = 0; k < w->n && count < FN(LANES); k++) {
            u[k] = made.re[k * FN(LANES) + j];
            v[k] = made.im[k * FN(LANES) + j];
        }
    }
}

#include "kernels/cpu/fourier/fourier_alone.inc.h"

/* Whether a line's own elements fill vectors in all stages: of 4 elements, of 8 or 16 where vectors have more. Of those
 * whose first stages are of 4, 2 and r elements more than one vector has, that of r needs a vector of each part. */
static bool FN(is_alone)(size_t n, const rp_fourier_factors *f)
{
    if (n < 4 * FN(LANES) || n > ALONE_LONGEST)
        return false;
    if (FN(LANES) <= 4 || n % 16 == 0)
        return n % 4 == 0;
    return n % 8 == 0 && (FN(LANES) == 8 || n / f->radix[3] >= FN(LANES));
}

static void FN(fourier_lines)(const rp_walk *walk, const rp_kernel_args *args, const rp_turns *turns,
                              const rp_fourier_factors *factors, void *scratch)
{
    const fourier_line first = fourier_line_at(walk, 0, args);
    const bool side = walk->run >= FN(LANES) && walk->step[2] == 1 && first.x_step != 1 && first.n <= SIDE_LONGEST;
    const size_t room = RP_SCRATCH_BYTES / 2 / 4 / sizeof(T) - APART / sizeof(T);
    T *const memory = scratch;
    const FN(work) w = {.n = first.n,
                        .factors = factors,
                        .inverse = first.inverse,
                        .transposed = first.transposed,
                        .pairs = first.u_step == 2,
                        .c = turns->c,
                        .d = turns->d,
                        .a = {memory, memory + room, 0},
                        .b = {memory + 2 * room, memory + 3 * room, 0},
                        .whole = {memory + 4 * room, memory + 6 * room, 0}};
    const bool twos = (first.n & (first.n - 1)) == 0;
    size_t columns = 0, i = 0;

    if (FN(is_alone)(first.n, factors) && !side) {
        FN(lines_alone)(&w, walk, &first);
        return;
    }
    if (!side)
        columns = !twos                                      ? FN(columns_of)(&w)
                  : first.n >= (size_t)FN(LANES) * FN(LANES) ? FN(columns_of_twos)(first.n)
                                                             : 0;
    /* Many lines that are no powers of two go side by side sooner than as matrices whose columns fill no vectors. */
    if (columns == 0 || w.pairs || (!twos && first.n <= SIDE_LONGEST)) {
        const fourier_passes list = fourier_passes_of(first.n, false);
        const size_t fewest = columns > 0 && !w.pairs ? FN(LANES) / 2 : 1;

        while (first.n <= room / FN(LANES) && i < walk->run && walk->run - i >= fewest) {
            const size_t count = walk->run - i < FN(LANES) ? walk->run - i : FN(LANES);

            FN(short_lines)(&w, &list, walk, &first, i, count);
            i += count;
        }
    }
    for (; i < walk->run; i++) {
        const fourier_line line = fourier_line_at(walk, i, args);

        if (columns > 0)
            FN(long_line)(&w, &line, columns);
        else
            fourier_of_reference(&line, args->in[0].dtype);
    }
}
#undef LINE
#undef WITHIN
