/* SPDX-License-Identifier: Apache-2.0
 * Attention forward for one type: blocks of PANEL queries, of which the whole row of scores is there at once; where
 * there is no room for it, in parts that are made again for the maximum, the sum and the weights.
 *
 * Parameters, from kernels/type_f32.h or type_f64.h: T the type of the elements, FN(name) the name of its variant.
 * Before it: attention_tile.inc.h, attention_rows.inc.h. Gives FN(attend), FN(rows_ready). */
#if !defined(T) || !defined(FN)
#error "a template: include one of kernels/type_f32.h and kernels/type_f64.h before it"
#endif

#define WIDTH (VEC_BYTES / sizeof(T))
#define PANEL (2 * WIDTH)

/* Takes n elements of a borrowed block, at a line's beginning. */
static T *FN(take)(char **at, size_t n)
{
    T *memory = (T *)(void *)*at;

    *at += (n * sizeof(T) + 63) / 64 * 64;
    return memory;
}

/* What a block takes beside its rows of scores, of results with so many columns. */
static size_t FN(room_of_block)(const rp_attending *a, size_t columns)
{
    return (a->d + a->e + 2 * columns + 2 * LANE_ROWS + KEYS) * PANEL * sizeof(T) + 512;
}

static void FN(place_block)(FN(block) * w, char **at, size_t columns)
{
    const rp_attending *a = w->h->a;

    w->queries = FN(take)(at, a->d * PANEL);
    w->arrive = FN(take)(at, a->e * PANEL);
    w->chain = FN(take)(at, columns * PANEL);
    w->total = FN(take)(at, columns * PANEL);
    w->sums.lane = FN(take)(at, LANE_ROWS * PANEL);
    w->sums.upper = FN(take)(at, LANE_ROWS * PANEL);
    w->piece = FN(take)(at, KEYS * PANEL);
}

/* Whether the rows of a matrix are better copied: elements that lie apart have to be, and rows that lie apart keep
 * driving each other out of the first cache. */
static bool FN(rows_lie_apart)(const rp_attention_matrix *x, size_t columns)
{
    return x->col != 1 || x->row != (ptrdiff_t)columns;
}

/* The rows of keys or of values, copied to *at if that pays and fits; false where they can not be had. */
static bool FN(rows_ready)(FN(rows_of) * rows, const rp_attention_matrix *x, size_t n, size_t columns, bool often,
                           char **at, const char *end)
{
    const T *from = (const T *)x->data;
    const bool fits = *at <= end && n * columns * sizeof(T) + 64 <= (size_t)(end - *at);

    *rows = (FN(rows_of)){from, x->row};
    if (x->col == 1 && !(often && fits && FN(rows_lie_apart)(x, columns)))
        return true;
    if (!fits)
        return false;
    T *to = FN(take)(at, n * columns);

    *rows = (FN(rows_of)){to, (ptrdiff_t)columns};
    for (size_t j = 0; j < n; j++, from += x->row, to += columns)
        if (x->col == 1)
            memcpy(to, from, columns * sizeof(T));
        else
            for (size_t c = 0; c < columns; c++)
                to[c] = from[(ptrdiff_t)c * x->col];
    return true;
}

/* The queries of a block, and the keys that they see. */
static void FN(begin_block)(FN(block) * w, size_t first, size_t count, bool skip)
{
    const rp_attending *a = w->h->a;

    w->first = first;
    w->count = count;
    w->narrow = count <= WIDTH;
    w->begin = skip ? rp_attention_begin(a, first) / KEYS * KEYS : 0;
    w->end = skip ? rp_attention_end(a, first + count - 1) : a->n;
    if (w->begin >= w->end) { /* nothing is seen: the weights are NaNs all the same */
        w->begin = 0;
        w->end = a->n;
    }
    w->skip = w->begin > 0 || w->end < a->n;
    for (size_t i = 0; i < PANEL; i++)
        w->most[i] = (T)-__builtin_inf();
    FN(pack_panel)(w->queries, &w->h->q, first, count, a->d);
}

/* Exponentials of keys [from, to), to which w->scores has come if they all fit. */
static void FN(exponentials_of)(FN(block) * w, size_t from, size_t to, bool again, bool sum)
{
    if (again) {
        T most[PANEL];

        memcpy(most, w->most, sizeof most);
        w->base = from;
        FN(make_scores)(w, from, to);
        memcpy(w->most, most, sizeof most);
    }
    FN(make_exponentials)(w, from, to, sum);
}

/* The maximum and the sum of each row, room being for so many keys. Where all fit, their exponentials are left. */
static void FN(weigh)(FN(block) * w, size_t room)
{
    const bool parts = w->end - w->begin > room;

    w->base = w->begin;
    for (size_t from = w->begin, to; from < w->end; from = to) {
        to = w->end - from < room ? w->end : from + room;
        w->base = from;
        FN(make_scores)(w, from, to);
    }
    FN(sums_begin)(&w->sums, w->h->a->n);
    for (size_t from = w->begin, to; from < w->end; from = to) {
        to = w->end - from < room ? w->end : from + room;
        FN(exponentials_of)(w, from, to, parts, true);
    }
    FN(sums_total)(&w->sums, w->end, w->sum);
}

/* Weights times values, into w->total. */
static void FN(mix)(FN(block) * w, size_t room)
{
    const bool parts = w->end - w->begin > room;
    uint32_t stays[KEYS];
    bool more = false;

    for (size_t from = w->begin, to; from < w->end; from = to) {
        to = w->end - from < room ? w->end : from + room;
        if (parts)
            FN(exponentials_of)(w, from, to, true, false);
        for (size_t key = from, count; key < to; key += count) {
            const T *e = w->scores + (key - w->base) * PANEL;

            count = to - key < KEYS ? to - key : KEYS;
            if (w->h->a->rng) {
                FN(divide)(w, w->piece, e, count);
                FN(draw)(w, stays, key, count);
                FN(drop)(w, w->piece, w->piece, stays, count);
                FN(join)(w, w->piece, NULL, w->v, key, count, w->h->a->e, w->begin, w->end, &more);
            } else
                FN(join)(w, e, w->sum, w->v, key, count, w->h->a->e, w->begin, w->end, &more);
        }
    }
}

/* Keys at a time, of n, where each takes so much of a room. */
static size_t FN(keys_of_room)(size_t n, size_t room, size_t each)
{
    const size_t whole = (n + KEYS - 1) / KEYS * KEYS, fits = room / each / RP_MATMUL_CHUNK * RP_MATMUL_CHUNK;

    return whole <= room / each ? whole : fits > 0 ? fits : RP_MATMUL_CHUNK;
}

/* Rows [row, row_end) of a head's y. False where the block of memory does not do. */
static bool FN(attend)(const rp_attention_head *h, size_t row, size_t row_end, const rp_attention_matrix *y,
                       char *memory, size_t bytes)
{
    const rp_attending *a = h->a;
    char *at = memory;
    const char *end = memory + bytes;
    const bool often = row_end - row > 2 * PANEL;
    const bool hides = a->causal || a->window > 0;
    FN(block) w = {.h = h};
    size_t room;
    bool skip;

    if (a->n > (size_t)RP_CHUNK * RP_CHUNK || FN(room_of_block)(a, a->e) > bytes / 2)
        return false;
    FN(place_block)(&w, &at, a->e);
    room = FN(keys_of_room)(a->n, bytes / 2, PANEL * sizeof(T));
    w.scores = FN(take)(&at, room * PANEL);
    if (at > end || !FN(rows_ready)(&w.k, &h->k, a->n, a->d, often, &at, end) ||
        !FN(rows_ready)(&w.v, &h->v, a->n, a->e, often, &at, end))
        return false;
    skip = hides && FN(greatest)(&h->v, a->n, a->e) < __builtin_inf();
    for (size_t first = row, count; first < row_end; first += count) {
        count = row_end - first < PANEL ? row_end - first : PANEL;
        for (bool here = skip;; here = false) {
            FN(begin_block)(&w, first, count, here);
            FN(weigh)(&w, room);
            FN(mix)(&w, room);
            if (!FN(put_panel)(&w, y, a->e) && FN(sums_are_numbers)(&w))
                break;
            if (!w.skip) /* nothing was left out, so -0 and NaN are right */
                break;
        }
    }
    return true;
}

#undef PANEL
#undef WIDTH
