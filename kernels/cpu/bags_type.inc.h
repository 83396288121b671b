/* SPDX-License-Identifier: Apache-2.0
 * Bags (kernels/bags.h) for one type: strips of columns of a bag's rows are summed as neighbouring columns are, while
 * those of the next bag are asked for.
 *
 * Parameters, from kernels/type_f32.h or type_f64.h: T the type of the elements, FN(name) the name of its variant.
 * Before it: reduce_type.inc.h, for FN(columns). Gives FN(bags). */
#if !defined(T) || !defined(FN)
#error "a template: include one of kernels/type_f32.h and kernels/type_f64.h before it"
#endif

enum { FN(BAG_STRIP) = BAG_BYTES / sizeof(T) };

/* Row j of bag i. */
static const T *FN(bag_row)(const rp_bags *b, size_t i, size_t j)
{
    const ptrdiff_t at = (ptrdiff_t)i * b->index.stride[0] + (ptrdiff_t)j * b->index.stride[1];
    const int64_t row =
        b->index.dtype == RP_I32 ? ((const int32_t *)b->index.data)[at] : ((const int64_t *)b->index.data)[at];

    return (const T *)b->table.data + row * b->table.stride[0];
}

/* As FN(sum_few), of rows that lie anywhere. */
#define LANE(i) ((T)0 + row[i][c])
#define FOLD2(i, n) (LANE(i) + LANE(i + (n)))
#define FOLD4(i, n) (FOLD2(i, 2 * (n)) + FOLD2(i + (n), 2 * (n)))
#define FOLD8(i, n) (FOLD4(i, 2 * (n)) + FOLD4(i + (n), 2 * (n)))
#define FOLD16(i, n) (FOLD8(i, 2 * (n)) + FOLD8(i + (n), 2 * (n)))
#define FEW(rows) \
    case rows: \
        RP_EACH(c, width) sum[c] = FOLD##rows(0, 1); \
        return true;
static bool FN(bag_few)(T *restrict sum, const rp_bags *b, size_t i, size_t first, size_t width)
{
    const size_t length = b->index.shape[1];
    const T *row[16];

    if (length > sizeof row / sizeof *row)
        return false;
    for (size_t j = 0; j < length; j++)
        row[j] = FN(bag_row)(b, i, j) + first;
    switch (length) {
        FEW(2)
        FEW(4)
        FEW(8)
        FEW(16)
    }
    return false;
}
#undef LANE
#undef FOLD2
#undef FOLD4
#undef FOLD8
#undef FOLD16
#undef FEW

static const T *FN(bag_sum)(T *memory, const rp_bags *b, size_t i, size_t first, size_t width)
{
    const size_t length = b->index.shape[1];
    FN(columns) s;

    if (FN(bag_few)(memory, b, i, first, width))
        return memory;
    s = FN(columns_begin)(memory, width, length);
    for (size_t j = 0; j < length; j++)
        FN(columns_push)(&s, FN(bag_row)(b, i, j) + first, 0, 1, NULL);
    return FN(columns_total)(&s);
}

static void FN(bag_fetch)(const rp_bags *b, size_t i, size_t first, size_t width)
{
    if (i == b->index.shape[0])
        return;
    for (size_t j = 0; j < b->index.shape[1]; j++) {
        const T *row = FN(bag_row)(b, i, j) + first;

        for (size_t c = 0; c < width; c += 64 / sizeof(T))
            __builtin_prefetch(row + c, 0, 2);
    }
}

/* memory has 2 * 64 strips of FN(BAG_STRIP) columns. */
static void FN(bags)(const rp_bags *b, size_t inner, T *memory, size_t begin, size_t end)
{
    const T divisor = b->mean ? (T)b->index.shape[1] : (T)1;

    for (size_t i = begin; i < end; i++) {
        T *y = (T *)b->out.data + (ptrdiff_t)i * b->out.stride[0];

        for (size_t first = 0, width; first < inner; first += width) {
            const T *sum;

            width = inner - first < FN(BAG_STRIP) ? inner - first : FN(BAG_STRIP);
            FN(bag_fetch)(b, i + 1, first, width);
            sum = FN(bag_sum)(memory, b, i, first, width);
            RP_EACH(c, width) y[first + c] = sum[c] / divisor; /* by 1 changes nothing */
        }
    }
}
