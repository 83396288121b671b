/* SPDX-License-Identifier: Apache-2.0
 * One line of fft, for one type: it lies in the nearest caches, and its own elements fill the vectors. The first stages
 * have 1, then 4 transforms between each other, fewer than lanes: what comes of four vectors is woven into four.
 * Parameters: those of fourier_type.inc.h, which includes it; LINE_LANES, the number of lanes in digits. */
#define ORDER(order, chunk) LANES_ORDER(order, LINE_LANES, chunk)
#define WEAVE(chunk) \
    RP_INLINE void FN(weave_##chunk)(FN(vec) * v) \
    { \
        const FN(vec) a = __builtin_shufflevector(v[0], v[2], ORDER(LOW, chunk)); \
        const FN(vec) b = __builtin_shufflevector(v[0], v[2], ORDER(HIGH, chunk)); \
        const FN(vec) c = __builtin_shufflevector(v[1], v[3], ORDER(LOW, chunk)); \
        const FN(vec) d = __builtin_shufflevector(v[1], v[3], ORDER(HIGH, chunk)); \
\
        v[0] = __builtin_shufflevector(a, c, ORDER(LOW, chunk)); \
        v[1] = __builtin_shufflevector(a, c, ORDER(HIGH, chunk)); \
        v[2] = __builtin_shufflevector(b, d, ORDER(LOW, chunk)); \
        v[3] = __builtin_shufflevector(b, d, ORDER(HIGH, chunk)); \
    } \
    RP_INLINE void FN(part_##chunk)(FN(vec) * v) \
    { \
        const FN(vec) a = __builtin_shufflevector(v[0], v[1], ORDER(EVEN, chunk)); \
        const FN(vec) b = __builtin_shufflevector(v[2], v[3], ORDER(EVEN, chunk)); \
        const FN(vec) c = __builtin_shufflevector(v[0], v[1], ORDER(ODD, chunk)); \
        const FN(vec) d = __builtin_shufflevector(v[2], v[3], ORDER(ODD, chunk)); \
\
        v[0] = __builtin_shufflevector(a, b, ORDER(EVEN, chunk)); \
        v[1] = __builtin_shufflevector(c, d, ORDER(EVEN, chunk)); \
        v[2] = __builtin_shufflevector(a, b, ORDER(ODD, chunk)); \
        v[3] = __builtin_shufflevector(c, d, ORDER(ODD, chunk)); \
    }
WEAVE(1)
WEAVE(4)
#undef WEAVE

/* Four vectors by chunks of so many elements. */
RP_INLINE void FN(weave)(FN(vec) * v, int chunk)
{
#if LANES_F32 == 8
    if (chunk == 1)
        FN(weave32)(v);
    else
        weave32_halves((eight *)v); /* of f32 alone: f64 has no more lanes than a chunk */
#else
    (chunk == 1 ? FN(weave_1) : FN(weave_4))(v);
#endif
}

/* The turns of a stage of four, for each of its n / 4 places; next: of the second half. */
typedef struct FN(turns) {
    FN(rows) near, beyond, next;
} FN(turns);

RP_INLINE FN(turns) FN(turns_in)(T *memory, size_t quarter)
{
    return (FN(turns)){{memory, memory + quarter, 0},
                       {memory + 2 * quarter, memory + 3 * quarter, 0},
                       {memory + 4 * quarter, memory + 5 * quarter, 0}};
}

/* m turns, each for four places, a vector of more than four lanes at a time: a line alone pays for all of it. */
RP_INLINE void FN(spread_part)(T *to, const T *from, size_t m)
{
    for (size_t i = 0; i < m; i += FN(LANES) / 4) {
        FN(vec) v; /* whole, of which the first quarter counts: what lies behind are other turns */

        memcpy(&v, from + i, sizeof v);
        v = __builtin_shufflevector(v, v, ORDER(FOURFOLD, 1));
        memcpy(to + 4 * i, &v, sizeof v);
    }
}

static void FN(spread)(FN(turns) to, const FN(work) * w, size_t m)
{
    FN(spread_part)(to.near.re, w->c + 2 * m, m);
    FN(spread_part)(to.near.im, w->d + 2 * m, m);
    FN(spread_part)(to.beyond.re, w->c + 3 * m, m);
    FN(spread_part)(to.beyond.im, w->d + 3 * m, m);
    FN(spread_part)(to.next.re, w->c + m, m);
    FN(spread_part)(to.next.im, w->d + m, m);
}

/* LANES pairs from x on, taken apart. */
RP_INLINE FN(pair) FN(get_pairs)(const T *x, bool exchanged)
{
    FN(vec) a, b, first, second;

    memcpy(&a, x, sizeof a);
    memcpy(&b, x + FN(LANES), sizeof b);
#if LANES_F32 == 8
    FN(part32)(&first, &second, a, b);
#else
    first = __builtin_shufflevector(a, b, ORDER(EVEN, 1));
    second = __builtin_shufflevector(a, b, ORDER(ODD, 1));
#endif
    return exchanged ? (FN(pair)){second, first} : (FN(pair)){first, second};
}

/* A stage of four with chunk 1 or 4 transforms between each other: y[4 (chunk p + ..)] of x, or the other way. Where
 * all imaginary parts are one number they are not in memory, but where x.im points; pairs lie where their first parts
 * do. */
RP_INLINE void FN(woven)(const FN(rows) * y, const FN(rows) * x, size_t n, const FN(turns) * t, int chunk, bool back,
                         bool transposed, int given)
{
    const ptrdiff_t quarter = (ptrdiff_t)n / 4;
    const FN(vec) one = given == ONE_NUMBER ? *x->im - (FN(vec)){0} : (FN(vec)){0};

    for (ptrdiff_t begin = 0; begin < quarter; begin += FN(LANES)) {
        const ptrdiff_t i = begin + FN(LANES) > quarter ? quarter - FN(LANES) : begin; /* the last may be made again */
        const FN(pair) near = FN(get)(&t->near, i), beyond = FN(get)(&t->beyond, i), next = FN(get)(&t->next, i);
        FN(vec) re[4], im[4];
        FN(pair) v[4];

        RP_UNROLL for (int h = 0; h < 4; h++)
        {
            const ptrdiff_t at = transposed ? 4 * i + h * FN(LANES) : i + h * quarter;
            const FN(rows) *from = transposed ? y : x;

            if (given >= IN_PAIRS) {
                v[h] = FN(get_pairs)((given == IN_PAIRS ? from->re : from->im) + 2 * at, given == EXCHANGED);
                continue;
            }
            memcpy(&re[h], from->re + at, sizeof re[h]);
            im[h] = one;
            if (given == IN_PARTS)
                memcpy(&im[h], from->im + at, sizeof im[h]);
        }
        if (transposed) {
            (chunk == 1 ? FN(part_1) : FN(part_4))(re);
            (chunk == 1 ? FN(part_1) : FN(part_4))(im);
        }
        for (int h = 0; h < 4 && given < IN_PAIRS; h++)
            v[h] = (FN(pair)){re[h], im[h]};
        if (transposed)
            FN(join_four)(v, near, beyond, next, back);
        else
            FN(part_four)(v, near, beyond, next, back);
        RP_UNROLL for (int h = 0; h < 4; h++)
        {
            re[h] = v[h].re;
            im[h] = v[h].im;
        }
        if (!transposed) {
            FN(weave)(re, chunk);
            FN(weave)(im, chunk);
        }
        for (int h = 0; h < 4; h++)
            FN(put)(transposed ? x : y, transposed ? i + h * quarter : 4 * i + h * FN(LANES), (FN(pair)){re[h], im[h]});
    }
}

#include "kernels/cpu/fourier/fourier_woven.inc.h"
#undef ORDER

typedef void FN(woven_fn)(const FN(rows) * y, const FN(rows) * x, size_t n, const FN(turns) * t);
#define WOVEN(chunk, back, transposed, given) \
    static void FN(woven_##chunk##_##back##_##transposed##_##given)(const FN(rows) * y, const FN(rows) * x, size_t n, \
                                                                    const FN(turns) * t) \
    { \
        FN(woven)(y, x, n, t, chunk, back, transposed, given); \
    }
WOVEN(1, 0, 0, IN_PARTS)
WOVEN(1, 0, 0, ONE_NUMBER)
WOVEN(1, 0, 0, IN_PAIRS)
WOVEN(1, 0, 0, EXCHANGED)
WOVEN(1, 1, 0, IN_PARTS)
WOVEN(1, 1, 0, ONE_NUMBER)
WOVEN(1, 1, 0, IN_PAIRS)
WOVEN(1, 1, 0, EXCHANGED)
WOVEN(4, 0, 0, IN_PARTS)
WOVEN(4, 1, 0, IN_PARTS)
WOVEN(1, 0, 1, IN_PARTS)
WOVEN(1, 1, 1, IN_PARTS)
WOVEN(4, 0, 1, IN_PARTS)
WOVEN(4, 1, 1, IN_PARTS)
#undef WOVEN

/* A stage of all lines of a call: woven, or a pass. */
typedef struct FN(stage) {
    FN(woven_fn) * woven;
    FN(turns) turns;
    FN(pass_fn) * pass, *end; /* end: the pass that finishes results as well, or NULL */
    FN(pass) given;
} FN(stage);

/* Of 2 or an odd prime with fewer transforms between each other than lanes. */
static FN(pass_fn) * FN(woven_pass_of)(const FN(work) * w, FN(pass) * a, int radix)
{
    static FN(pass_fn) *const two[2][2] = {{FN(woven_two_0_0), FN(woven_two_0_1)},
                                           {FN(woven_two_1_0), FN(woven_two_1_1)}};
    const bool back = w->inverse != w->transposed;
#if LINE_LANES == 16
    static FN(pass_fn) *const odd[2][2] = {{FN(woven_odd_0_0), FN(woven_odd_0_1)},
                                           {FN(woven_odd_1_0), FN(woven_odd_1_1)}};

    if (radix > 2) {
        (void)FN(pass_of)(w, a, radix, false);
        return odd[back][w->transposed];
    }
#endif
    (void)a;
    (void)radix;
    return two[back][w->transposed];
}

/* That with s transforms between each other; given: how operands lie that it may read. */
static FN(stage) FN(stage_of)(const FN(work) * w, const FN(turns) * fours, size_t s, int radix, int given)
{
    static FN(woven_fn) *const first[2][4] = {
        {FN(woven_1_0_0_IN_PARTS), FN(woven_1_0_0_ONE_NUMBER), FN(woven_1_0_0_IN_PAIRS), FN(woven_1_0_0_EXCHANGED)},
        {FN(woven_1_1_0_IN_PARTS), FN(woven_1_1_0_ONE_NUMBER), FN(woven_1_1_0_IN_PAIRS), FN(woven_1_1_0_EXCHANGED)}};
    static FN(woven_fn) *const last[2] = {FN(woven_1_0_1_IN_PARTS), FN(woven_1_1_1_IN_PARTS)};
    static FN(woven_fn) *const second[2][2] = {{FN(woven_4_0_0_IN_PARTS), FN(woven_4_0_1_IN_PARTS)},
                                               {FN(woven_4_1_0_IN_PARTS), FN(woven_4_1_1_IN_PARTS)}};
    const bool back = w->inverse != w->transposed;
    const size_t m = w->n / s / (size_t)radix;
    FN(stage) a = {.given = {.m = m, .s = 1, .width = s, .c = w->c, .d = w->d, .span = 1}};

    a.given.x.step = a.given.y.step = (ptrdiff_t)s;
    if (s == 1) {
        T *const c = (T *)(uintptr_t)w->c, *const d = (T *)(uintptr_t)w->d;

        a.turns = (FN(turns)){{c + 2 * m, d + 2 * m, 0}, {c + 3 * m, d + 3 * m, 0}, {c + m, d + m, 0}};
        a.woven = w->transposed ? last[back] : first[back][given];
    } else if (s < FN(LANES) && radix == 4) {
        a.turns = *fours;
        a.woven = second[back][w->transposed];
    } else if (s < FN(LANES)) {
        a.pass = FN(woven_pass_of)(w, &a.given, radix);
    } else {
        a.pass = FN(pass_of)(w, &a.given, radix, false);
    }
    return a;
}

static void FN(make_stage)(const FN(stage) * a, size_t n, FN(rows) y, FN(rows) x)
{
    if (a->woven) {
        a->woven(&y, &x, n, &a->turns);
    } else {
        FN(pass) pass = a->given;

        pass.y.re = y.re;
        pass.y.im = y.im;
        pass.x.re = x.re;
        pass.x.im = x.im;
        (a->end ? a->end : a->pass)(&pass);
    }
}

/* A part of a line in memory, in order. */
static T *FN(line_part)(T *to, const T *from, ptrdiff_t step, size_t n, T share)
{
    if (step == 1 && share == 1)
        return (T *)(uintptr_t)from;
    FN(load)(to, from, step, n, share);
    return to;
}

/* Quarter i of `span` elements of the line that comes next: a processor's own fetching ahead stops at a page's end,
 * where a line may end too, and does not find four quarters that are read in turn. */
static void FN(ask)(const T *next, size_t span, size_t i)
{
    const char *at = (const char *)(next + i * span / 4);

    for (size_t k = 0; k < span * sizeof(T) / 4; k += 64)
        __builtin_prefetch(at + k, 0, 2);
}

/* A line that is_alone, by its stages in order; x_next, y_next: parts of the next line, or NULL. */
static void FN(line_alone)(const FN(work) * w, const FN(stage) * stage, size_t stages, const fourier_line *l, int given,
                           T share, const T *x_next, const T *y_next)
{
    const bool ends = stage[stages - 1].end != NULL;
    const bool apart = !ends && (w->pairs || FN(finishes)(w)); /* results may be far: finished on their way there */
    const FN(rows) out = {l->u, l->v, 0};
    const FN(rows) end = {w->pairs && l->v < l->u ? l->v : l->u, l->v, 0};
    FN(rows) from = {(T *)(uintptr_t)l->x, (T *)(uintptr_t)l->y, 0};

    if (given < IN_PAIRS)
        from.re = FN(line_part)(w->b.re, l->x, l->x_step, w->n, share);
    if (given == IN_PARTS)
        from.im = FN(line_part)(w->b.im, l->y, l->y_step, w->n, share);
    for (size_t i = 0; i < stages; i++) {
        const bool last = i + 1 == stages;
        const FN(rows) to = last && ends ? end : last && !apart ? out : i % 2 == 0 ? w->a : w->b;

        if (x_next && i < 4)
            FN(ask)(x_next, w->n * (size_t)l->x_step, i);
        if (y_next && i < 4)
            FN(ask)(y_next, w->n, i);
        FN(make_stage)(&stage[i], w->n, w->transposed ? from : to, w->transposed ? to : from);
        from = to;
    }
    if (ends)
        return;
    if (w->pairs) {
        FN(pair_up)(w, out.re, out.im, from.re, from.im, false);
    } else if (apart) {
        FN(finish)(w, out.re, from.re, w->n);
        FN(finish)(w, out.im, from.im, w->n);
    }
}

/* How the operands of lines lie, of which the first is l: parts that are pairs there are pairs in all of them where
 * both go on by one step. */
static int FN(given)(const FN(work) * w, const rp_walk *walk, const fourier_line *l)
{
    const T *const x = (const T *)l->x, *const y = (const T *)l->y;
    const bool together = walk->run == 1 || walk->step[2] == walk->step[3];
    const bool every_second = together && l->x_step == 2 && l->y_step == 2;

    if (w->transposed)
        return IN_PARTS;
    if (l->y_step == 0)
        return ONE_NUMBER;
    return every_second && x + 1 == y ? IN_PAIRS : every_second && y + 1 == x ? EXCHANGED : IN_PARTS;
}

/* What their last stage makes. */
static int FN(out_of)(const FN(work) * w, const fourier_line *l)
{
    if (w->pairs)
        return l->v < l->u ? OUT_EXCHANGED : OUT_PAIRS;
    return w->inverse ? OUT_SHARES : OUT_PARTS;
}

static void FN(lines_alone)(const FN(work) * w, const rp_walk *walk, const fourier_line *first)
{
    const FN(turns) fours = FN(turns_in)(w->whole.re, w->n / 4);
    const T share = w->inverse && w->transposed ? (T)(1 / (double)w->n) : 1;
    const bool asks = (first->x_step == 1 || first->x_step == 2) && w->n * sizeof(T) >= ASK_LEAST;
    const bool both = asks && first->y_step == 1; /* parts of pairs come with each other */
    const int given = FN(given)(w, walk, first);
    const fourier_passes list = fourier_passes_of(w->n, true);
    const size_t stages = (size_t)list.count;
    FN(stage) stage[ALONE_STAGES];
    size_t s = 1;

    if (FN(LANES) > 4 && w->n % 16 == 0)
        FN(spread)(fours, w, w->n / 16);
    for (size_t i = 0; i < stages; i++) {
        stage[w->transposed ? stages - 1 - i : i] = FN(stage_of)(w, &fours, s, list.radix[i], given);
        s *= list.radix[i];
    }
    if (stage[stages - 1].pass && s / list.radix[stages - 1] >= FN(LANES))
        stage[stages - 1].end = FN(end_of)(w, list.radix[stages - 1], FN(out_of)(w, first));
    stage[stages - 1].given.share = w->inverse ? (T)(1 / (double)w->n) : 1;
    for (size_t i = 0; i < walk->run; i++) {
        const bool last = i + 1 == walk->run;
        const T *x_next = asks && !last ? LINE(walk, 2, i + 1) : NULL;
        const T *y_next = both && !last ? LINE(walk, 3, i + 1) : NULL;
        fourier_line line = *first;

        line.u = LINE(walk, 0, i);
        line.v = LINE(walk, 1, i);
        line.x = LINE(walk, 2, i);
        line.y = LINE(walk, 3, i);
        FN(line_alone)(w, stage, stages, &line, given, share, x_next, y_next);
    }
}
