/* SPDX-License-Identifier: Apache-2.0
 * Lines of one type in order. KEY_OF(value) is an unsigned integer KEY of the same order, VALUE_OF(key, again) the
 * value, which is read again where a key has two (the zeros). An ITEM is a key with a place: ITEM_OF, ITEM_KEY,
 * ITEM_PLACE, ITEM_BEFORE; ITEM_KEEP and ITEM_KEPT store it in element i of the outputs. Of a descending line keys are
 * complements, so that it ascends in them. */

enum { FN(CAPACITY) = RP_SCRATCH_BYTES / 2 / sizeof(ITEM) }; /* items of half of the scratch */

static inline KEY FN(key_at)(const order_line *l, size_t i, KEY turn)
{
    return KEY_OF(((const T *)l->x)[(ptrdiff_t)i * l->x_step]) ^ turn;
}

/* The item that is element `to` of the line in order; base was taken off its key. */
static inline void FN(give)(const order_line *l, size_t to, ITEM item, KEY base, KEY turn)
{
    const KEY key = (KEY)(ITEM_KEY(item) + base) ^ turn;

    ((T *)l->y)[to] = VALUE_OF(key, ((const T *)l->x)[(ptrdiff_t)ITEM_PLACE(item) * l->x_step]);
    l->place[to] = (int64_t)ITEM_PLACE(item);
}

static void FN(insert_each)(ITEM *item, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        const ITEM moved = item[i];
        size_t at = i;

        for (; at > 0 && ITEM_BEFORE(moved, item[at - 1]); at--)
            item[at] = item[at - 1];
        item[at] = moved;
    }
}

/* Items by `width` bits of their keys from `shift` on; counts become the places where each digit's next one goes. */
static void FN(distribute)(ITEM *restrict to, const ITEM *restrict from, size_t n, unsigned shift, KEY mask,
                           uint32_t *restrict next)
{
    for (size_t i = 0; i < n; i++)
        to[next[(size_t)(ITEM_KEY(from[i]) >> shift & mask)]++] = from[i];
}

static void FN(distribute_out)(const order_line *l, size_t first, const ITEM *from, size_t n, unsigned shift, KEY mask,
                               uint32_t *restrict next, KEY base, KEY turn)
{
    for (size_t i = 0; i < n; i++) {
        const size_t to = first + next[(size_t)(ITEM_KEY(from[i]) >> shift & mask)]++;

        if (to < l->k)
            FN(give)(l, to, from[i], base, turn);
    }
}

/* n items, at the beginning of the scratch, equal but for the lowest `bits` of their keys, become elements first, .. of
 * the line in order. */
static void FN(order_items)(const order_line *l, size_t first, ITEM *item, size_t n, unsigned bits, KEY base, KEY turn)
{
    uint32_t count[DIGITS][1 << DIGIT_MOST];
    const unsigned width = digit_width(bits, n);
    const KEY mask = width == 0 ? 0 : (KEY)(((KEY)1 << width) - 1);
    ITEM *from = item, *to = item + FN(CAPACITY);
    unsigned used[DIGITS], n_used = 0;

    if (n <= INSERTED || width == 0) {
        if (width != 0)
            FN(insert_each)(item, n);
        for (size_t i = 0; i < n && first + i < l->k; i++)
            FN(give)(l, first + i, item[i], base, turn);
        return;
    }
    for (unsigned d = 0; d * width < bits; d++)
        memset(count[d], 0, sizeof count[d][0] << width);
    for (size_t i = 0; i < n; i++)
        for (unsigned d = 0; d * width < bits; d++)
            count[d][(size_t)(ITEM_KEY(item[i]) >> d * width & mask)]++;
    for (unsigned d = 0; d * width < bits; d++) {
        uint32_t sum = 0;

        if (count[d][(size_t)(ITEM_KEY(item[0]) >> d * width & mask)] == n)
            continue; /* all have this digit */
        used[n_used++] = d;
        for (size_t v = 0; v <= mask; v++) {
            const uint32_t own = count[d][v];

            count[d][v] = sum;
            sum += own;
        }
    }
    for (unsigned u = 0; u + 1 < n_used; u++) {
        ITEM *other = from;

        FN(distribute)(to, from, n, used[u] * width, mask, count[used[u]]);
        from = to;
        to = other;
    }
    if (n_used > 0)
        FN(distribute_out)(l, first, from, n, used[n_used - 1] * width, mask, count[used[n_used - 1]], base, turn);
    else
        for (size_t i = 0; i < n && first + i < l->k; i++)
            FN(give)(l, first + i, from[i], base, turn);
}

/* The elements of the line with keys from low to high, `n` of them, become elements first, .. in order. They are read
 * from the line, in order of their places. */
static void FN(order_range)(const order_line *l, size_t first, size_t n, KEY low, KEY high, ITEM *scratch, KEY turn);

/* Divides them by the highest bits in which low and high differ, moves those of the first k to their part of the
 * outputs, and orders part by part. A part that the first k end in, or that is too long for the scratch, is read again.
 */
static void FN(divide)(const order_line *l, size_t first, KEY low, KEY high, ITEM *scratch, KEY turn)
{
    const unsigned bits = bits_of((uint64_t)(high - low)), most = bits_of(DIVISIONS) - 1;
    const unsigned shift = bits > most ? bits - most : 0;
    const size_t parts = (size_t)((high - low) >> shift) + 1;
    uint32_t start[DIVISIONS + 1], next[DIVISIONS];

    memset(start, 0, sizeof start);
    for (size_t i = 0; i < l->n; i++) {
        const KEY key = FN(key_at)(l, i, turn);

        if (key >= low && key <= high)
            start[(size_t)((KEY)(key - low) >> shift) + 1]++;
    }
    for (size_t p = 0; p < parts; p++)
        start[p + 1] += start[p];
#define READ_AGAIN(p) (first + start[(p) + 1] > l->k || start[(p) + 1] - start[p] > FN(CAPACITY))
    for (size_t p = 0; p < parts; p++) /* where the next one goes; nowhere */
        next[p] = READ_AGAIN(p) ? UINT32_MAX : start[p];
    for (size_t i = 0; i < l->n; i++) {
        const KEY key = FN(key_at)(l, i, turn);
        size_t p;

        if (key < low || key > high)
            continue;
        p = (size_t)((KEY)(key - low) >> shift);
        if (next[p] != UINT32_MAX) {
            const ITEM item = ITEM_OF(key - low, i);
            const size_t to = first + next[p]++;

            ITEM_KEEP((T *)l->y, l->place, to, item);
        }
    }
    for (size_t p = 0; p < parts && first + start[p] < l->k; p++) {
        const size_t n = start[p + 1] - start[p], at = first + start[p];
        const KEY from = (KEY)(low + (KEY)((KEY)p << shift)), rest = (KEY)(high - from);
        const KEY last = (KEY)(((KEY)1 << shift) - 1);

        if (n == 0)
            continue;
        if (READ_AGAIN(p)) {
            FN(order_range)(l, at, n, from, (KEY)(from + (last < rest ? last : rest)), scratch, turn);
            continue;
        }
        for (size_t i = 0; i < n; i++)
            scratch[i] = ITEM_KEPT((T *)l->y, l->place, at + i);
        FN(order_items)(l, at, scratch, n, shift, low, turn);
    }
#undef READ_AGAIN
}

static void FN(order_range)(const order_line *l, size_t first, size_t n, KEY low, KEY high, ITEM *scratch, KEY turn)
{
    const bool same = low == high;
    size_t at = 0;

    if (!same && n > FN(CAPACITY)) {
        FN(divide)(l, first, low, high, scratch, turn);
        return;
    }
    for (size_t i = 0; i < l->n && at < (same ? l->k - first : n); i++) {
        const KEY key = FN(key_at)(l, i, turn);

        if (key < low || key > high)
            continue;
        if (same)
            FN(give)(l, first + at, ITEM_OF(0, i), low, turn);
        else
            scratch[at] = ITEM_OF(key - low, i);
        at++;
    }
    if (!same)
        FN(order_items)(l, first, scratch, n, bits_of((uint64_t)(high - low)), low, turn);
}

/* ---- the first few of many: a heap, whose root is the last of them ---- */

static void FN(settle)(ITEM *heap, size_t at, size_t n, ITEM item)
{
    for (size_t child; (child = 2 * at + 1) < n; at = child) {
        if (child + 1 < n && ITEM_BEFORE(heap[child], heap[child + 1]))
            child++;
        if (!ITEM_BEFORE(item, heap[child]))
            break;
        heap[at] = heap[child];
    }
    heap[at] = item;
}

/* Whether one of the next AHEAD elements comes before `last`; of equal ones the earlier stays. */
static bool FN(any_before)(const T *x, ptrdiff_t step, KEY last, KEY turn)
{
    unsigned any = 0;

    if (step == 1)
        for (ptrdiff_t i = 0; i < AHEAD; i++)
            any |= (KEY)(KEY_OF(x[i]) ^ turn) < last;
    else
        for (ptrdiff_t i = 0; i < AHEAD; i++)
            any |= (KEY)(KEY_OF(x[i * step]) ^ turn) < last;
    return any != 0;
}

static void FN(first_few)(const order_line *l, ITEM *heap, KEY turn)
{
    const T *x = (const T *)l->x;
    const size_t k = l->k;
    size_t i = k;

    for (size_t j = 0; j < k; j++)
        heap[j] = ITEM_OF(FN(key_at)(l, j, turn), j);
    for (size_t j = k / 2; j > 0; j--)
        FN(settle)(heap, j - 1, k, heap[j - 1]);
    while (i < l->n) {
        const size_t end = l->n - i < AHEAD ? l->n : i + AHEAD;

        if (end - i == AHEAD && !FN(any_before)(x + (ptrdiff_t)i * l->x_step, l->x_step, ITEM_KEY(heap[0]), turn)) {
            i = end;
            continue;
        }
        for (; i < end; i++) {
            const KEY key = FN(key_at)(l, i, turn);

            if (key < ITEM_KEY(heap[0]))
                FN(settle)(heap, 0, k, ITEM_OF(key, i));
        }
    }
    for (size_t last = k; last > 1; last--) {
        const ITEM item = heap[last - 1];

        heap[last - 1] = heap[0];
        FN(settle)(heap, 0, last - 1, item);
    }
    for (size_t j = 0; j < k; j++)
        FN(give)(l, j, heap[j], 0, turn);
}

/* The line's outputs have no gaps. */
static void FN(sorted)(const order_line *l, void *memory)
{
    const KEY turn = l->descending ? (KEY)-1 : 0;
    ITEM *scratch = (ITEM *)memory;
    KEY low = (KEY)-1, high = 0;

    if (l->k == 0)
        return;
    if (l->k <= HEAP_MOST && l->k * HEAP_SHARE <= l->n) {
        FN(first_few)(l, scratch, turn);
        return;
    }
    if (l->n < DIVIDED) {
        for (size_t i = 0; i < l->n; i++)
            scratch[i] = ITEM_OF(FN(key_at)(l, i, turn), i);
        FN(order_items)(l, 0, scratch, l->n, 8 * sizeof(KEY), 0, turn);
        return;
    }
    for (size_t i = 0; i < l->n; i++) {
        const KEY key = FN(key_at)(l, i, turn);

        low = key < low ? key : low;
        high = key > high ? key : high;
    }
    FN(divide)(l, 0, low, high, scratch, turn);
}
