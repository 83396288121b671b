/* SPDX-License-Identifier: Apache-2.0
 * What happens to the scores of a block of queries, for one type: scale, masks, maximum, exponentials and their sums,
 * dropout. A row holds one key's scores with PANEL queries, so that all of it is done for as many queries at once and
 * no order of CONTRACT 4 and 7 is touched.
 *
 * Parameters, from kernels/type_f32.h or type_f64.h: T the type of the elements, FN(name) the name of its variant.
 * Before it: matmul_pack.inc.h, attention_tile.inc.h. Gives FN(block) and what works on it. */
#if !defined(T) || !defined(FN)
#error "a template: include one of kernels/type_f32.h and kernels/type_f64.h before it"
#endif

#define WIDTH (VEC_BYTES / sizeof(T))
#define PANEL (2 * WIDTH)

/* Rows of a matrix whose elements lie beside one another. */
typedef struct FN(rows_of) {
    const T *data;
    ptrdiff_t row;
} FN(rows_of);

/* CONTRACT 4.1 for PANEL sums at once. */
typedef struct FN(sums) {
    T *lane, *upper; /* LANE_ROWS rows each: of the elements, and of the sums of chunks */
    bool of_chunks;  /* there are several: those left out add +0 */
} FN(sums);

/* A block of at most PANEL queries of a head and what is known of it. Keys are taken from a multiple of KEYS on, KEYS
 * at a time. */
typedef struct FN(block) {
    const rp_attention_head *h;
    FN(rows_of) k, v;
    bool skip;           /* keys that no query of the block sees are left out */
    size_t first, count; /* queries */
    bool narrow;         /* so few that the second vector has none: what it holds is nobody's */
    size_t begin, end;   /* keys that count, */
    size_t base;         /* and the key of row 0 of the scores */
    T *scores, *grads;   /* rows of keys */
    T *queries, *arrive; /* packed for FN(products): the queries, the gradient that arrives */
    T *chain, *total;    /* of a combination: the chunk under way, and those before it */
    T *piece;            /* weights of KEYS keys as dropout leaves them */
    uint32_t *stays;     /* of the gradient, like its rows: the weights that dropout leaves, a bit for each query */
    FN(sums) sums;
    T most[PANEL], sum[PANEL], slope[PANEL];
} FN(block);

static void FN(sums_begin)(FN(sums) * s, size_t n)
{
    s->of_chunks = n > RP_CHUNK;
    memset(s->lane, 0, LANE_ROWS * PANEL * sizeof(T));
    if (s->of_chunks)
        memset(s->upper, 0, LANE_ROWS * PANEL * sizeof(T));
}

/* The lanes fold by halves into lane 0, and are cleared. */
static void FN(sums_fold)(T *lane, T *to)
{
    for (size_t width = LANE_ROWS / 2; width > 0; width /= 2)
        RP_EACH(i, width * PANEL) lane[i] += lane[(size_t)i + width * PANEL];
    memcpy(to, lane, PANEL * sizeof(T));
    memset(lane, 0, LANE_ROWS * PANEL * sizeof(T));
}

/* A chunk of elements, the c-th, is done. */
static void FN(sums_chunk)(FN(sums) * s, size_t c)
{
    T chunk[PANEL];

    FN(sums_fold)(s->lane, chunk);
    for (size_t i = 0; i < PANEL; i++)
        s->upper[c % LANE_ROWS * PANEL + i] += chunk[i];
}

/* The sums, where the elements from `end` on were left out. */
static void FN(sums_total)(FN(sums) * s, size_t end, T *to)
{
    if (!s->of_chunks) {
        FN(sums_fold)(s->lane, to);
        return;
    }
    if (end % RP_CHUNK != 0)
        FN(sums_chunk)(s, end / RP_CHUNK);
    FN(sums_fold)(s->upper, to);
}

/* The chunk that ends before `key`, if one does. */
static void FN(sums_pass)(FN(sums) * s, size_t key)
{
    if (key % RP_CHUNK == 0 && s->of_chunks)
        FN(sums_chunk)(s, key / RP_CHUNK - 1);
}

/* `count` <= KEYS rows of elements from `key` on, a multiple of KEYS. Rows LANE_ROWS apart share their lanes. */
static void FN(sums_add)(FN(sums) * s, size_t key, size_t count, const T *x)
{
    const size_t both = count > LANE_ROWS ? (count - LANE_ROWS) * PANEL : 0;
    size_t i = 0;

    for (; i < both; i += WIDTH)
        FN(vec_store)
    (s->lane + i, (FN(vec_load)(s->lane + i) + FN(vec_load)(x + i)) + FN(vec_load)(x + i + LANE_ROWS * PANEL));
    for (; i < count * PANEL && i < LANE_ROWS * PANEL; i += WIDTH)
        FN(vec_store)(s->lane + i, FN(vec_load)(s->lane + i) + FN(vec_load)(x + i));
    FN(sums_pass)(s, key + count);
}

/* Whether one of `count` keys from `key` on may be hidden from a query of the block. */
static bool FN(hides)(const FN(block) * w, size_t key, size_t count)
{
    return (w->h->mask.data && w->h->chosen) || key < rp_attention_begin(w->h->a, w->first + w->count - 1) ||
           key + count > rp_attention_end(w->h->a, w->first);
}

/* The mask's element of query i of the block and key, as a pointer to bytes. */
static const unsigned char *FN(mask_at)(const FN(block) * w, size_t i, size_t key)
{
    const rp_attention_matrix *mask = &w->h->mask;
    const ptrdiff_t at = (ptrdiff_t)(w->first + i) * mask->row + (ptrdiff_t)key * mask->col;

    return (const unsigned char *)mask->data + at * (w->h->chosen ? 1 : (ptrdiff_t)sizeof(T));
}

/* Puts `value` where the mask of bool is false. */
static void FN(choose)(const FN(block) * w, T *x, size_t key, size_t count, T value)
{
    const ptrdiff_t col = w->h->mask.col;
    T rows[KEYS * PANEL], columns[KEYS * PANEL];

    for (size_t i = 0; i < w->count; i++) {
        const unsigned char *from = FN(mask_at)(w, i, key);

        if (col == 1)
            RP_EACH(j, count) rows[i * KEYS + (size_t)j] = from[j] != 0;
        else
            for (size_t j = 0; j < count; j++)
                rows[i * KEYS + j] = from[(ptrdiff_t)j * col] != 0;
    }
    memset(columns, 0, w->count < PANEL ? sizeof columns : 0);
    FN(pack)(columns, PANEL, PANEL, rows, KEYS, 1, w->count, count);
    RP_EACH(i, count * PANEL) x[i] = columns[i] != 0 ? x[i] : value;
}

/* Puts `value` where a place is hidden: `count` keys from `key` on. */
static void FN(hide)(const FN(block) * w, T *x, size_t key, size_t count, T value)
{
    const rp_attending *a = w->h->a;

    if (!FN(hides)(w, key, count))
        return;
    if (w->h->mask.data && w->h->chosen)
        FN(choose)(w, x, key, count, value);
    for (size_t i = 0; i < w->count; i++) {
        const size_t begin = rp_attention_begin(a, w->first + i), end = rp_attention_end(a, w->first + i);

        for (size_t j = 0; j < count && key + j < begin; j++)
            x[j * PANEL + i] = value;
        for (size_t j = end > key ? end - key : 0; j < count; j++)
            x[j * PANEL + i] = value;
    }
}

/* Adds the mask of reals. */
static void FN(add_mask)(const FN(block) * w, T *x, size_t key, size_t count)
{
    const rp_attention_matrix *mask = &w->h->mask;
    T columns[KEYS * PANEL];

    memset(columns, 0, w->count < PANEL ? sizeof columns : 0);
    FN(pack)
    (columns, PANEL, PANEL, (const T *)(const void *)FN(mask_at)(w, 0, key), mask->row, mask->col, w->count, count);
    for (size_t i = 0; i < count * PANEL; i += WIDTH)
        FN(vec_store)(x + i, FN(vec_load)(x + i) + FN(vec_load)(columns + i));
}

/* The masked scores of keys [begin, end), and what of them is the greatest so far. */
static void FN(make_scores)(FN(block) * w, size_t begin, size_t end)
{
    const T scale = (T)w->h->a->scale;
    FN(vec) left = FN(vec_load)(w->most), right = FN(vec_load)(w->most + WIDTH);

    for (size_t key = begin, count; key < end; key += count) {
        T *x = w->scores + (key - w->base) * PANEL;

        count = end - key < KEYS ? end - key : KEYS;
        FN(products)
        (x, w->k.data + (ptrdiff_t)key * w->k.row, w->k.row, count, w->queries, w->h->a->d, scale, w->narrow);
        if (w->h->mask.data && !w->h->chosen)
            FN(add_mask)(w, x, key, count);
        FN(hide)(w, x, key, count, (T)-__builtin_inf());
        for (size_t i = 0; i < count * PANEL; i += PANEL) {
            left = FN(vec_max)(FN(vec_load)(x + i), left);
            right = w->narrow ? right : FN(vec_max)(FN(vec_load)(x + i + WIDTH), right);
        }
    }
    FN(vec_store)(w->most, left);
    FN(vec_store)(w->most + WIDTH, right);
}

/* Scores become exponentials, which are added up if `sum`. */
static void FN(make_exponentials)(FN(block) * w, size_t begin, size_t end, bool sum)
{
    for (size_t key = begin, count; key < end; key += count) {
        T *x = w->scores + (key - w->base) * PANEL;

        count = end - key < KEYS ? end - key : KEYS;
        FN(exponentials)(x, w->most, count, w->narrow);
        if (sum)
            FN(sums_add)(&w->sums, key, count, x);
    }
}

/* to[j] = e[j] / sum for `count` rows; to may be e. */
static void FN(divide)(const FN(block) * w, T *to, const T *e, size_t count)
{
    const FN(vec) left = FN(vec_load)(w->sum), right = FN(vec_load)(w->sum + WIDTH);

    for (size_t i = 0; i < count * PANEL; i += PANEL) {
        FN(vec_store)(to + i, FN(vec_load)(e + i) / left);
        FN(vec_store)(to + i + WIDTH, FN(vec_load)(e + i + WIDTH) / right);
    }
}

/* Which weights of `count` <= KEYS keys dropout leaves, a bit for each query. Draws lie query by query. */
static void FN(draw)(const FN(block) * w, uint32_t *stays, size_t key, size_t count)
{
    const rp_attending *a = w->h->a;
    const philox_source source = {a->seed, a->step, a->stream};
    const double least = a->rate * 0x1p24;
    uint32_t buffer[KEYS + 4 * PHILOX_WIDE + 4], kept = (uint32_t)least;

    kept += (double)kept < least;
    memset(stays, 0, count * sizeof *stays);
    for (size_t i = 0; i < w->count; i++) {
        const uint64_t at = w->h->first + (uint64_t)(w->first + i) * a->n + key;
        const uint32_t *word = philox_words(&source, at, count, buffer), bit = UINT32_C(1) << i;

        RP_EACH(j, count) stays[j] |= word[j] >> 8 >= kept ? bit : 0;
    }
}

/* to = x as dropout leaves it; to may be x. */
static void FN(drop)(const FN(block) * w, T *to, const T *x, const uint32_t *stays, size_t count)
{
    const T scale = (T)(1.0 / (1.0 - w->h->a->rate));

    for (size_t j = 0; j < count; j++)
        RP_EACH(i, PANEL) to[j * PANEL + i] = stays[j] >> i & 1 ? x[j * PANEL + i] * scale : (T)0;
}

/* Whether a block that left keys out may have: no sum is a NaN, which the keys left out would have shared. */
static bool FN(sums_are_numbers)(const FN(block) * w)
{
    for (size_t i = 0; i < w->count; i++)
        if (w->sum[i] != w->sum[i])
            return false;
    return true;
}

/* Joins `count` keys from `key` on to the block's combination of rows of a matrix with `columns` columns, by weights
 * or, with `over`, by their quotients. */
static void FN(join)(FN(block) * w, const T *weights, const T *over, FN(rows_of) rows, size_t key, size_t count,
                     size_t columns, size_t begin, size_t end, bool *more)
{
    const bool onto = key % RP_MATMUL_CHUNK != 0 && key != begin;

    FN(combine)
    (w->chain, onto, weights, over, w->piece, count, rows.data + (ptrdiff_t)key * rows.row, rows.row, columns,
     w->narrow);
    if ((key + count) % RP_MATMUL_CHUNK != 0 && key + count != end)
        return;
    for (size_t i = 0; i < columns * PANEL; i++)
        w->total[i] = *more ? w->total[i] + w->chain[i] : w->chain[i];
    *more = true;
}

/* Rows [first, first + count) of x, each of `width` elements, as the columns of a panel; the rest of it is 0. */
static void FN(pack_panel)(T *to, const rp_attention_matrix *x, size_t first, size_t count, size_t width)
{
    if (count < PANEL)
        memset(to, 0, width * PANEL * sizeof(T));
    FN(pack)
    (to, PANEL, PANEL, (const T *)x->data + (ptrdiff_t)first * x->row, x->row, x->col, count, width);
}

/* Whether one of n elements beside one another is -0. */
static bool FN(has_minus_zero)(const T *x, size_t n)
{
    BITS found = 0;

    RP_EACH(i, n) found |= FN(rp_bits)(x[i]) == FN(rp_bits)((T)-0.0) ? 1 : 0;
    return found != 0;
}

/* Columns [column, column + wide) of the block's combination, at most a vector's, as parts of so many rows of y. */
static void FN(put_square)(const FN(block) * w, const rp_attention_matrix *y, size_t query, size_t rows, size_t column,
                           size_t wide)
{
    T *to = (T *)y->data + (ptrdiff_t)(w->first + query) * y->row + (ptrdiff_t)column * y->col;
    const T *from = w->total + column * PANEL + query;
    T square[WIDTH * WIDTH];

    if (wide == WIDTH && y->col == 1) {
        FN(transpose)(to, (size_t)y->row, from, PANEL, WIDTH, rows);
        return;
    }
    FN(transpose)(square, WIDTH, from, PANEL, wide, rows);
    for (size_t i = 0; i < rows; i++, to += y->row)
        for (size_t c = 0; c < wide; c++)
            to[(ptrdiff_t)c * y->col] = square[i * WIDTH + c];
}

/* The block's combination as rows of y. Whether keys were left out and an element is -0, which they may have changed.
 */
static bool FN(put_panel)(const FN(block) * w, const rp_attention_matrix *y, size_t columns)
{
    bool found = false;

    for (size_t c = 0; w->skip && c < columns; c++)
        found |= FN(has_minus_zero)(w->total + c * PANEL, w->count);
    for (size_t c = 0; c < columns; c += WIDTH)
        for (size_t i = 0; i < w->count; i += WIDTH)
            FN(put_square)
    (w, y, i, w->count - i < WIDTH ? w->count - i : WIDTH, c, columns - c < WIDTH ? columns - c : WIDTH);
    return found;
}

/* The greatest magnitude of `rows` rows of a matrix; infinity where one is no finite number. */
static double FN(greatest)(const rp_attention_matrix *x, size_t rows, size_t columns)
{
    BITS most = 0;

    for (size_t i = 0; i < rows; i++) {
        const T *from = (const T *)x->data + (ptrdiff_t)i * x->row;

        if (x->col == 1)
            for (size_t c = 0; c < columns; c++) {
                const BITS bits = FN(rp_bits)(FABS(from[c])); /* those of magnitudes ascend, a NaN's last */

                most = bits > most ? bits : most;
            }
        else
            for (size_t c = 0; c < columns; c++) {
                const BITS bits = FN(rp_bits)(FABS(from[(ptrdiff_t)c * x->col]));

                most = bits > most ? bits : most;
            }
    }
    return most < FN(rp_bits)((T)__builtin_inf()) ? (double)FN(rp_from_bits)(most) : __builtin_inf();
}

#undef PANEL
#undef WIDTH
