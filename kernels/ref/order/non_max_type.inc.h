/* SPDX-License-Identifier: Apache-2.0
 * Boxes of one type: their edges, and whether two overlap by more than a bound (CONTRACT 7.15). */
typedef struct FN(box) {
    T low[2], high[2];
} FN(box);

/* Along each of the two axes a box has two corners in any order, or a middle and a length, which come the other way
 * round: (x, y, width, height). */
static FN(box) FN(box_at)(const void *at, ptrdiff_t step, bool centred)
{
    const T *b = (const T *)at;
    FN(box) box;

    for (int d = 0; d < 2; d++) {
        const T first = b[d * step], second = b[(d + 2) * step], half = second * (T)0.5;
        const T a = centred ? first - half : first, c = centred ? first + half : second;

        box.low[d] = a < c ? a : c;
        box.high[d] = a < c ? c : a;
    }
    return box;
}

static bool FN(box_overlaps)(const FN(box) * a, const FN(box) * b, T bound)
{
    T shared[2], area_a, area_b, both;

    for (int d = 0; d < 2; d++)
        shared[d] =
            (a->high[d] < b->high[d] ? a->high[d] : b->high[d]) - (a->low[d] > b->low[d] ? a->low[d] : b->low[d]);
    if (!(shared[0] > 0) || !(shared[1] > 0))
        return false;
    area_a = (a->high[0] - a->low[0]) * (a->high[1] - a->low[1]);
    area_b = (b->high[0] - b->low[0]) * (b->high[1] - b->low[1]);
    both = shared[0] * shared[1];
    return both / ((area_a + area_b) - both) > bound;
}

/* One class of one image: places of kept boxes to `kept`, those that are not filled -1. */
static void FN(keep_boxes)(const non_max_class *c, int64_t *kept, ptrdiff_t kept_step, size_t k)
{
    const T bound = (T)c->overlap, least = (T)c->least;
    size_t n = 0;

    for (size_t i = 0; i < c->m && n < k; i++) {
        const T score = *(const T *)(c->score + (ptrdiff_t)i * c->score_step);
        const int64_t place = index_value(c->order, c->place + (ptrdiff_t)i * c->place_step);
        const FN(box) box = FN(box_at)(c->box + place * c->box_step, c->edge_step, c->centred);
        bool keep = score > least;

        for (size_t j = 0; j < n && keep; j++) {
            const int64_t other = kept[(ptrdiff_t)j * kept_step];
            const FN(box) before = FN(box_at)(c->box + other * c->box_step, c->edge_step, c->centred);

            keep = !FN(box_overlaps)(&before, &box, bound);
        }
        if (keep)
            kept[(ptrdiff_t)n++ * kept_step] = place;
    }
    for (; n < k; n++)
        kept[(ptrdiff_t)n * kept_step] = -1;
}
