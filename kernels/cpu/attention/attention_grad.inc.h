/* SPDX-License-Identifier: Apache-2.0
 * The gradient of attention for one type. A block of PANEL queries makes its scores again, then all that they give: a
 * row of dq, and a part of the chains of every row of dk and dv, which lie in a borrowed block until the chunk of 512
 * queries is done. Where not all keys have room there, a first pass over them finds maximum, sums and slopes of each
 * query, and a second takes the keys in parts.
 *
 * Parameters, from kernels/type_f32.h or type_f64.h: T the type of the elements, FN(name) the name of its variant.
 * Before it: attention_tile.inc.h, attention_rows.inc.h, attention_type.inc.h. Gives FN(attend_back). */
#if !defined(T) || !defined(FN)
#error "a template: include one of kernels/type_f32.h and kernels/type_f64.h before it"
#endif

#define WIDTH (VEC_BYTES / sizeof(T))
#define PANEL (2 * WIDTH)

typedef struct FN(backward) {
    FN(block) w;
    const rp_attention_matrix *g, *out; /* dq, dk, dv */
    bool skip, parts;                   /* as of a block; keys are taken in parts */
    size_t room, wide_d, wide_e;        /* keys of a part; d and e in whole panels */
    T *rows_q, *rows_g;                 /* a block's queries and gradients, row by row */
    T *chain_k, *chain_v;               /* a row for each key of the part */
    T *known;                           /* of each query, if in parts: maximum, sum, slope */
    size_t from, to;                    /* the part */
} FN(backward);

static void FN(pack_rows_of)(T *to, const rp_attention_matrix *x, size_t first, size_t count, size_t width, size_t wide)
{
    for (size_t i = 0; i < count; i++, to += wide) {
        const T *from = (const T *)x->data + (ptrdiff_t)(first + i) * x->row;

        if (x->col == 1)
            memcpy(to, from, width * sizeof(T));
        for (size_t c = x->col == 1 ? width : 0; c < wide; c++)
            to[c] = c < width ? from[(ptrdiff_t)c * x->col] : (T)0;
    }
}

/* The gradients of the weights before dropout, of keys [from, to). */
static void FN(weight_grads)(FN(block) * w, size_t from, size_t to)
{
    for (size_t key = from, count; key < to; key += count) {
        T *x = w->grads + (key - w->base) * PANEL;

        count = to - key < KEYS ? to - key : KEYS;
        FN(products)(x, w->v.data + (ptrdiff_t)key * w->v.row, w->v.row, count, w->arrive, w->h->a->e, 1, w->narrow);
        if (w->h->a->rng) {
            FN(draw)(w, w->stays + (key - w->base), key, count);
            FN(drop)(w, x, x, w->stays + (key - w->base), count);
        }
    }
}

/* Exponentials become weights; their products with the gradients are added up if `sum`. */
static void FN(weigh_grads)(FN(block) * w, size_t from, size_t to, bool sum)
{
    const FN(vec) left = FN(vec_load)(w->sum), right = FN(vec_load)(w->sum + WIDTH);

    for (size_t key = from, count; key < to; key += count) {
        T *p = w->scores + (key - w->base) * PANEL;
        const T *g = w->grads + (key - w->base) * PANEL;

        count = to - key < KEYS ? to - key : KEYS;
        for (size_t i = 0; i < count * PANEL; i += PANEL) {
            T *lane = w->sums.lane + i % (LANE_ROWS * PANEL);
            const FN(vec) a = FN(vec_load)(p + i) / left, b = FN(vec_load)(p + i + WIDTH) / right;

            FN(vec_store)(p + i, a);
            FN(vec_store)(p + i + WIDTH, b);
            if (sum) {
                FN(vec_store)(lane, FN(vec_load)(lane) + FN(vec_load)(g + i) * a);
                FN(vec_store)(lane + WIDTH, FN(vec_load)(lane + WIDTH) + FN(vec_load)(g + i + WIDTH) * b);
            }
        }
        if (sum)
            FN(sums_pass)(&w->sums, key + count);
    }
}

/* Maximum, sum and slope of each query; without parts weights and their gradients are left. */
static void FN(know)(FN(backward) * b)
{
    FN(block) *w = &b->w;
    const bool parts = w->end - w->begin > b->room;

    FN(weigh)(w, b->room);
    FN(sums_begin)(&w->sums, w->h->a->n);
    for (size_t from = w->begin, to; from < w->end; from = to) {
        to = w->end - from < b->room ? w->end : from + b->room;
        if (parts)
            FN(exponentials_of)(w, from, to, true, false);
        FN(weight_grads)(w, from, to);
        FN(weigh_grads)(w, from, to, true);
    }
    FN(sums_total)(&w->sums, w->end, w->slope);
}

/* ds = (ds - slope) p, 0 where a place is hidden, times scale: `count` keys from `key` on. */
static void FN(score_grads)(const FN(block) * w, T *ds, const T *p, size_t key, size_t count)
{
    const FN(vec) scale = FN(vec_all)((T)w->h->a->scale);
    const FN(vec) left = FN(vec_load)(w->slope), right = FN(vec_load)(w->slope + WIDTH);
    const bool hides = FN(hides)(w, key, count);
    const FN(vec) first = hides ? FN(vec_all)(1) : scale;

    for (size_t i = 0; i < count * PANEL; i += PANEL) {
        FN(vec_store)(ds + i, ((FN(vec_load)(ds + i) - left) * FN(vec_load)(p + i)) * first);
        FN(vec_store)(ds + i + WIDTH, ((FN(vec_load)(ds + i + WIDTH) - right) * FN(vec_load)(p + i + WIDTH)) * first);
    }
    if (!hides)
        return;
    FN(hide)(w, ds, key, count, 0);
    for (size_t i = 0; i < count * PANEL; i += WIDTH)
        FN(vec_store)(ds + i, FN(vec_load)(ds + i) * scale);
}

/* What keys [from, to) of the part give: the gradients of the scores, and through them all else. */
static void FN(give_keys)(FN(backward) * b, size_t from, size_t to, bool *more)
{
    FN(block) *w = &b->w;
    const rp_attending *a = w->h->a;

    for (size_t key = from, count; key < to; key += count) {
        T *p = w->scores + (key - w->base) * PANEL, *ds = w->grads + (key - w->base) * PANEL;
        const T *dropped = p;

        count = to - key < KEYS ? to - key : KEYS;
        FN(score_grads)(w, ds, p, key, count);
        if (a->rng) {
            FN(drop)(w, w->piece, p, w->stays + (key - w->base), count);
            dropped = w->piece;
        }
        FN(join)
        (w, ds, NULL, w->k, key, count, a->d, w->begin > b->from ? w->begin : b->from, w->end < b->to ? w->end : b->to,
         more);
        FN(spread)(b->chain_k + (key - b->from) * b->wide_d, count, ds, b->rows_q, b->wide_d, w->count);
        FN(spread)(b->chain_v + (key - b->from) * b->wide_e, count, dropped, b->rows_g, b->wide_e, w->count);
    }
}

/* The chains of the part's keys are those of a chunk of queries: they join dk or dv. Whether an element is -0, where
 * this is the last chunk and keys may have been left out. */
static bool FN(put_chains)(const FN(backward) * b, T *chain, size_t wide, size_t width, bool more, bool last,
                           const rp_attention_matrix *out)
{
    bool found = false;

    for (size_t j = b->from; j < b->to; j++, chain += wide) {
        T *to = (T *)out->data + (ptrdiff_t)j * out->row;

        if (more && out->col == 1)
            RP_EACH(c, width) chain[c] = to[c] + chain[c];
        else if (more)
            for (size_t c = 0; c < width; c++)
                chain[c] = to[(ptrdiff_t)c * out->col] + chain[c];
        if (out->col == 1)
            memcpy(to, chain, width * sizeof(T));
        else
            for (size_t c = 0; c < width; c++)
                to[(ptrdiff_t)c * out->col] = chain[c];
        found |= last && b->skip && FN(has_minus_zero)(chain, width);
    }
    return found;
}

static void FN(begin_back)(FN(backward) * b, size_t first, size_t count)
{
    const rp_attending *a = b->w.h->a;

    FN(begin_block)(&b->w, first, count, b->skip);
    FN(pack_panel)(b->w.arrive, b->g, first, count, a->e);
}

/* The total of the parts before this one, as dq holds it. */
static void FN(resume_panel)(FN(block) * w, const rp_attention_matrix *dq)
{
    for (size_t i = 0; i < w->count; i++)
        for (size_t c = 0; c < w->h->a->d; c++)
            w->total[c * PANEL + i] =
                ((const T *)dq->data)[(ptrdiff_t)(w->first + i) * dq->row + (ptrdiff_t)c * dq->col];
}

/* One block of queries with the part's keys. False where leaving keys out may have shown. */
static bool FN(back_block)(FN(backward) * b, size_t first, size_t count)
{
    FN(block) *w = &b->w;
    const rp_attending *a = w->h->a;
    size_t from, to;
    bool more;

    FN(begin_back)(b, first, count);
    FN(pack_rows_of)(b->rows_q, &w->h->q, first, count, a->d, b->wide_d);
    FN(pack_rows_of)(b->rows_g, b->g, first, count, a->e, b->wide_e);
    from = w->begin > b->from ? w->begin : b->from;
    to = w->end < b->to ? w->end : b->to;
    if (from >= to)
        return true;
    if (!b->parts)
        FN(know)(b);
    else {
        for (size_t i = 0; i < PANEL; i++) {
            const T *known = b->known + 3 * (first + (i < count ? i : 0));

            w->most[i] = known[0];
            w->sum[i] = known[1];
            w->slope[i] = known[2];
        }
        FN(exponentials_of)(w, from, to, true, false);
        FN(weight_grads)(w, from, to);
        FN(weigh_grads)(w, from, to, false);
    }
    if (w->skip && !FN(sums_are_numbers)(w))
        return false;
    more = from > w->begin;
    if (more)
        FN(resume_panel)(w, &b->out[0]);
    FN(give_keys)(b, from, to, &more);
    return !FN(put_panel)(w, &b->out[0], a->d) || !w->skip;
}

/* The first pass, where keys are taken in parts. */
static void FN(know_all)(FN(backward) * b)
{
    FN(block) *w = &b->w;
    const size_t m = w->h->a->m;

    for (size_t first = 0, count; first < m; first += count) {
        count = m - first < PANEL ? m - first : PANEL;
        FN(begin_back)(b, first, count);
        FN(know)(b);
        for (size_t i = 0; i < count; i++) {
            b->known[3 * (first + i)] = w->most[i];
            b->known[3 * (first + i) + 1] = w->sum[i];
            b->known[3 * (first + i) + 2] = w->slope[i];
        }
    }
}

/* All queries with the part's keys. */
static bool FN(back_part)(FN(backward) * b)
{
    const rp_attending *a = b->w.h->a;
    const size_t keys = b->to - b->from;
    size_t start = 0;

    do { /* once also without queries */
        const size_t stop = a->m - start < RP_MATMUL_CHUNK ? a->m : start + RP_MATMUL_CHUNK;
        const bool last = stop == a->m;
        bool zero;

        memset(b->chain_k, 0, keys * b->wide_d * sizeof(T));
        memset(b->chain_v, 0, keys * b->wide_e * sizeof(T));
        for (size_t first = start, count; first < stop; first += count) {
            count = stop - first < PANEL ? stop - first : PANEL;
            if (!FN(back_block)(b, first, count))
                return false;
        }
        zero = FN(put_chains)(b, b->chain_k, b->wide_d, a->d, start > 0, last, &b->out[1]);
        zero = FN(put_chains)(b, b->chain_v, b->wide_e, a->e, start > 0, last, &b->out[2]) || zero;
        if (zero)
            return false;
        start += RP_MATMUL_CHUNK;
    } while (start < a->m);
    return true;
}

static bool FN(back_parts)(FN(backward) * b)
{
    const size_t n = b->w.h->a->n;

    if (b->parts)
        FN(know_all)(b);
    for (b->from = 0; b->from < n; b->from = b->to) {
        b->to = n - b->from < b->room ? n : b->from + b->room;
        if (!FN(back_part)(b))
            return false;
    }
    return true;
}

/* Whether a place that is hidden gives nothing but zeros to all sums: no operand is infinite or a NaN, and no gradient
 * of a weight overflows. */
static bool FN(may_skip)(const rp_attention_head *h, const rp_attention_matrix *g)
{
    const rp_attending *a = h->a;
    const double limit = sizeof(T) == sizeof(float) ? 1e37 : 1e300;
    const double largest_g = FN(greatest)(g, a->m, a->e), largest_v = FN(greatest)(&h->v, a->n, a->e);
    const double others = FN(greatest)(&h->q, a->m, a->d) + FN(greatest)(&h->k, a->n, a->d);
    const T scale = (T)a->scale;

    return (a->causal || a->window > 0) && others < __builtin_inf() && scale * 0 == 0 &&
           largest_g * largest_v * (double)a->e / (1 - a->rate) < limit;
}

/* dq, dk and dv of a head. False where the block of memory does not do. */
static bool FN(attend_back)(const rp_attention_head *h, const rp_attention_matrix *g, const rp_attention_matrix out[3],
                            char *memory, size_t bytes)
{
    const rp_attending *a = h->a;
    char *at = memory;
    const char *end = memory + bytes;
    FN(backward)
    b = {.w = {.h = h},
         .g = g,
         .out = out,
         .wide_d = (a->d + PANEL - 1) / PANEL * PANEL,
         .wide_e = (a->e + PANEL - 1) / PANEL * PANEL};
    const size_t each = (2 * PANEL + b.wide_d + b.wide_e + (a->rng ? 1 : 0)) * sizeof(T);
    const size_t known = 3 * a->m * sizeof(T) + 64;
    size_t left;

    if (a->n > (size_t)RP_CHUNK * RP_CHUNK ||
        FN(room_of_block)(a, a->d) + PANEL * (b.wide_d + b.wide_e) * sizeof(T) > bytes / 4)
        return false;
    FN(place_block)(&b.w, &at, a->d);
    b.rows_q = FN(take)(&at, PANEL * b.wide_d);
    b.rows_g = FN(take)(&at, PANEL * b.wide_e);
    left = (size_t)(end - at) - 512;
    b.room = FN(keys_of_room)(a->n, left, each);
    b.parts = b.room < a->n;
    if (b.parts) {
        if (known > bytes / 4)
            return false;
        b.known = FN(take)(&at, 3 * a->m);
        left -= known;
        b.room = FN(keys_of_room)(a->n, left, each);
    }
    if (b.room * each > left)
        return false;
    b.w.scores = FN(take)(&at, b.room * PANEL);
    b.w.grads = FN(take)(&at, b.room * PANEL);
    b.w.stays = a->rng ? (uint32_t *)FN(take)(&at, b.room) : NULL;
    b.chain_k = FN(take)(&at, b.room * b.wide_d);
    b.chain_v = FN(take)(&at, b.room * b.wide_e);
    if (!FN(rows_ready)(&b.w.k, &h->k, a->n, a->d, true, &at, end) ||
        !FN(rows_ready)(&b.w.v, &h->v, a->n, a->e, true, &at, end))
        return false;
    b.skip = FN(may_skip)(h, g);
    if (!FN(back_parts)(&b)) {
        b.skip = false;
        (void)FN(back_parts)(&b);
    }
    return true;
}

#undef PANEL
#undef WIDTH
