/* SPDX-License-Identifier: Apache-2.0
 * Lines in order by the bits of their elements: mapped to integers of the same order, equal where elements are equal,
 * and counted into place digit by digit from the lowest, which keeps equal elements in their order. Long lines are
 * first divided by their highest bits. The order leaves nothing open, so the bits are the reference's however it is
 * found. */
#include <string.h>

#include "kernels/cpu/matmul/matmul_scratch.h"
#include "kernels/level.h"
#include "kernels/ref/order/order.h"

extern const rp_kernel rp_kernel_sort_ref, rp_kernel_topk_ref;

enum {
    LONGEST = 1 << 28,   /* dividing reads a line once for each part that its memory does not hold */
    INSERTED = 40,       /* up to so many elements each goes in among those before it */
    DIVIDED = 1 << 15,   /* lines from so many elements are divided first */
    DIVISIONS = 1 << 12, /* into so many parts */
    DIGIT_MOST = 11,     /* bits counted at once */
    DIGITS = 8,          /* at most: 64 bits by 8 and more */
    HEAP_MOST = 1 << 12, /* first ones that are kept as a heap, */
    HEAP_SHARE = 16,     /* if they are at most this part of the line */
    AHEAD = 64           /* elements held against the heap's last at once */
};

typedef struct wide_item {
    uint64_t key, place;
} wide_item;

static unsigned bits_of(uint64_t n)
{
    return n == 0 ? 0 : 64 - (unsigned)__builtin_clzll(n);
}

/* Bits of a digit for so many elements, of `bits` that differ: as few digits as pay for their counters. */
static unsigned digit_width(unsigned bits, size_t n)
{
    const unsigned pays = n < 4096 ? 8 : n < 1 << 14 ? 9 : DIGIT_MOST;
    const unsigned digits = (bits + pays - 1) / pays;

    return digits == 0 ? 0 : (bits + digits - 1) / digits;
}

/* Of 32 bits an element and its place are one integer; of 64 they are two. */
#define KEY uint32_t
#define ITEM uint64_t
#define ITEM_OF(key, place) ((uint64_t)(key) << 32 | (uint32_t)(place))
#define ITEM_KEY(item) ((uint32_t)((item) >> 32))
#define ITEM_PLACE(item) ((uint32_t)(item))
#define ITEM_BEFORE(a, b) ((a) < (b))
#define ITEM_KEEP(y, place, i, item) ((place)[i] = (int64_t)(item))
#define ITEM_KEPT(y, place, i) ((uint64_t)(place)[i])

#include "kernels/type_f32.h"
#define KEY_OF(value) real_key_f32(value)
#define VALUE_OF(key, again) ((key) == 0x80000000u ? (again) : real_value_f32(key))
static inline uint32_t real_key_f32(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof bits);
    bits = value == 0 ? 0 : bits;
    bits ^= (uint32_t)((int32_t)bits >> 31) | 0x80000000u;
    return value != value ? UINT32_MAX : bits;
}
static inline float real_value_f32(uint32_t key)
{
    uint32_t bits = key >> 31 ? key ^ 0x80000000u : ~key;
    float value;

    memcpy(&value, &bits, sizeof value);
    return value;
}
#include "kernels/cpu/order/sort_type.inc.h"
#undef KEY_OF
#undef VALUE_OF

#include "kernels/type_i32.h"
#define KEY_OF(value) ((uint32_t)(value) ^ 0x80000000u)
#define VALUE_OF(key, again) ((int32_t)((key) ^ 0x80000000u))
#include "kernels/cpu/order/sort_type.inc.h"
#undef KEY_OF
#undef VALUE_OF
#undef KEY
#undef ITEM
#undef ITEM_OF
#undef ITEM_KEY
#undef ITEM_PLACE
#undef ITEM_BEFORE
#undef ITEM_KEEP
#undef ITEM_KEPT

#define KEY uint64_t
#define ITEM wide_item
#define ITEM_OF(key, place) ((wide_item){key, (uint64_t)(place)})
#define ITEM_KEY(item) ((item).key)
#define ITEM_PLACE(item) ((item).place)
#define ITEM_BEFORE(a, b) ((a).key < (b).key || ((a).key == (b).key && (a).place < (b).place))
#define ITEM_KEEP(y, at, i, item) (memcpy(&(y)[i], &(item).key, 8), (at)[i] = (int64_t)(item).place)
#define ITEM_KEPT(y, place, i) kept_item(&(y)[i], (place)[i])
static inline wide_item kept_item(const void *key, int64_t place)
{
    wide_item item = {0, (uint64_t)place};

    memcpy(&item.key, key, sizeof item.key);
    return item;
}

#include "kernels/type_f64.h"
#define KEY_OF(value) real_key_f64(value)
#define VALUE_OF(key, again) ((key) == 0x8000000000000000u ? (again) : real_value_f64(key))
static inline uint64_t real_key_f64(double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof bits);
    bits = value == 0 ? 0 : bits;
    bits ^= (uint64_t)((int64_t)bits >> 63) | 0x8000000000000000u;
    return value != value ? UINT64_MAX : bits;
}
static inline double real_value_f64(uint64_t key)
{
    uint64_t bits = key >> 63 ? key ^ 0x8000000000000000u : ~key;
    double value;

    memcpy(&value, &bits, sizeof value);
    return value;
}
#include "kernels/cpu/order/sort_type.inc.h"
#undef KEY_OF
#undef VALUE_OF

#include "kernels/type_i64.h"
#define KEY_OF(value) ((uint64_t)(value) ^ 0x8000000000000000u)
#define VALUE_OF(key, again) ((int64_t)((key) ^ 0x8000000000000000u))
#include "kernels/cpu/order/sort_type.inc.h"
#include "kernels/type_end.h"

static void order_line_of(rp_dtype dtype, const order_line *line, void *scratch)
{
    switch (dtype) {
    case RP_F32:
        sorted_f32(line, scratch);
        break;
    case RP_F64:
        sorted_f64(line, scratch);
        break;
    case RP_I32:
        sorted_i32(line, scratch);
        break;
    default:
        sorted_i64(line, scratch);
    }
}

/* Outputs whose lines have gaps, lines that are too long for 32 bits, and threads without scratch: the reference. */
static void order_run(const rp_kernel *ref, const rp_kernel_args *args, size_t begin, size_t end, bool descending)
{
    const bool beside = rp_view_last_stride(&args->out[0]) == 1 && rp_view_last_stride(&args->out[1]) == 1;
    void *scratch = beside && rp_view_last(&args->in[0]) < LONGEST ? rp_scratch_borrow() : NULL;
    rp_walk walk;

    if (!scratch) {
        ref->run(args, begin, end);
        return;
    }
    order_walk(&walk, args, begin, end);
    while (rp_walk_next(&walk))
        for (size_t i = 0; i < walk.run; i++) {
            const order_line line = order_line_at(&walk, i, args, descending);

            order_line_of(args->in[0].dtype, &line, scratch);
        }
    rp_scratch_return(scratch);
}

static void sort_run(const rp_kernel_args *args, size_t begin, size_t end)
{
    order_run(&rp_kernel_sort_ref, args, begin, end, RP_AT(args->attr, sort, descending).i != 0);
}

static void topk_run(const rp_kernel_args *args, size_t begin, size_t end)
{
    order_run(&rp_kernel_topk_ref, args, begin, end, RP_AT(args->attr, topk, largest).i != 0);
}

/* A few passes, each of some operations. */
static size_t order_cost(const rp_kernel_args *args)
{
    return 100 + 24 * rp_view_last(&args->in[0]);
}

RP_DEFINE_KERNEL(sort, rp_items_rows, sort_run, order_cost);
RP_DEFINE_KERNEL(topk, rp_items_rows, topk_run, order_cost);
