/* SPDX-License-Identifier: Apache-2.0
 * Operands whose elements do not lie side by side (broadcast, transposed, cut out), written out piece by piece, so that
 * what reads them is one contiguous loop: a walk turns for each run of neighbours, which costs more than the arithmetic
 * where runs are short. What repeats, as a vector over rows does, is written once for many pieces. */
#ifndef KERNELS_CPU_SPREAD_H
#define KERNELS_CPU_SPREAD_H

#include <string.h>

#include "kernels/kernel.h"

/* Elements: the longest period that is kept, and the shortest stretch of equal periods that it pays for. */
enum { RP_SPREAD_PERIOD = 1024, RP_SPREAD_GROUP = 512, RP_SPREAD_VECTORS = 8 /* the shortest row by vectors */ };

typedef struct rp_spread {
    const char *data;
    size_t size; /* of an element, in bytes */
    int rank;    /* of the merged axes, at least 1 */
    size_t shape[RP_MAX_RANK];
    ptrdiff_t bytes[RP_MAX_RANK];
    size_t period, group; /* element i is element i + period, within each group of elements; 0: nothing repeats */
    size_t held;          /* the group that the memory holds from its first element on; SIZE_MAX: none */
} rp_spread;

/* The elements of a view in row-major order. */
static inline void rp_spread_begin(rp_spread *s, const rp_view *view)
{
    size_t inner = 1;

    *s = (rp_spread){.data = view->data, .size = rp_dtype_size(view->dtype), .held = SIZE_MAX};
    for (int d = 0; d < view->rank; d++) {
        const ptrdiff_t bytes = view->stride[d] * (ptrdiff_t)s->size;

        if (view->shape[d] == 1)
            continue;
        if (s->rank > 0 && s->bytes[s->rank - 1] == bytes * (ptrdiff_t)view->shape[d]) {
            s->shape[s->rank - 1] *= view->shape[d];
        } else {
            s->shape[s->rank++] = view->shape[d];
        }
        s->bytes[s->rank - 1] = bytes;
    }
    if (s->rank == 0) {
        s->shape[s->rank] = 1;
        s->bytes[s->rank++] = 0;
    }
    for (int d = s->rank - 1; d >= 0 && inner <= RP_SPREAD_PERIOD; d--) {
        if (s->bytes[d] == 0 && inner * s->shape[d] >= RP_SPREAD_GROUP) {
            s->period = inner;
            s->group = inner * s->shape[d];
        }
        inner *= s->shape[d];
    }
}

/* A row of elements of 4 or 8 bytes that lie backwards, or of which each second one is meant, by vectors: nothing is
 * read before the first or behind the last of them. */
#define RP_SPREAD_ROW(BITS, LANES, BACK, EVEN, EVEN_BACK) \
    static inline void rp_spread_row_##BITS(char *to, const char *from, size_t cols, ptrdiff_t col) \
    { \
        typedef BITS bits __attribute__((may_alias)); \
        typedef BITS vector __attribute__((vector_size(16))); \
        size_t c = 0; \
\
        if (col == -(ptrdiff_t)sizeof(BITS)) \
            for (; c + (LANES) <= cols; c += (LANES), to += sizeof(vector), from -= sizeof(vector)) { \
                vector v; \
\
                memcpy(&v, from - (sizeof v - sizeof(BITS)), sizeof v); \
                v = __builtin_shufflevector(v, v, BACK); \
                memcpy(to, &v, sizeof v); \
            } \
        else if (col == 2 * (ptrdiff_t)sizeof(BITS)) \
            for (; c + (LANES) < cols; c += (LANES), to += sizeof(vector), from += 2 * sizeof(vector)) { \
                vector v[2]; \
\
                memcpy(v, from, sizeof v); \
                v[0] = __builtin_shufflevector(v[0], v[1], EVEN); \
                memcpy(to, v, sizeof *v); \
            } \
        else if (col == -2 * (ptrdiff_t)sizeof(BITS)) \
            for (; c + (LANES) < cols; c += (LANES), to += sizeof(vector), from -= 2 * sizeof(vector)) { \
                vector v[2]; \
\
                memcpy(v, from - (sizeof v - sizeof(BITS)), sizeof v); \
                v[0] = __builtin_shufflevector(v[0], v[1], EVEN_BACK); \
                memcpy(to, v, sizeof *v); \
            } \
        for (; c < cols; c++, to += sizeof(BITS), from += col) \
            *(bits *)(void *)to = *(const bits *)(const void *)from; \
    }
#define RP_SPREAD_LIST(...) __VA_ARGS__
RP_SPREAD_ROW(uint32_t, 4, RP_SPREAD_LIST(3, 2, 1, 0), RP_SPREAD_LIST(0, 2, 4, 6), RP_SPREAD_LIST(7, 5, 3, 1))
RP_SPREAD_ROW(uint64_t, 2, RP_SPREAD_LIST(1, 0), RP_SPREAD_LIST(0, 2), RP_SPREAD_LIST(3, 1))
#undef RP_SPREAD_LIST
#undef RP_SPREAD_ROW

#define RP_SPREAD_ROWS(BITS) \
    do { \
        typedef BITS rp_spread_bits __attribute__((may_alias)); \
        for (size_t r = 0; r < rows; r++, from += row) \
            for (size_t c = 0; c < cols; c++, to += sizeof(BITS)) \
                *(rp_spread_bits *)(void *)to = *(const rp_spread_bits *)(const void *)(from + (ptrdiff_t)c * col); \
    } while (0)

/* rows x cols elements, `row` and `col` bytes apart. */
static inline char *rp_spread_rows(char *to, const char *from, size_t size, size_t rows, size_t cols, ptrdiff_t row,
                                   ptrdiff_t col)
{
    const bool strange = col == -(ptrdiff_t)size || col == 2 * (ptrdiff_t)size || col == -2 * (ptrdiff_t)size;

    if (cols >= RP_SPREAD_VECTORS && col == (ptrdiff_t)size)
        for (size_t r = 0; r < rows; r++, from += row, to += cols * size)
            memcpy(to, from, cols * size);
    else if (cols >= RP_SPREAD_VECTORS && size == 4 && strange)
        for (size_t r = 0; r < rows; r++, from += row, to += cols * size)
            rp_spread_row_uint32_t(to, from, cols, col);
    else if (cols >= RP_SPREAD_VECTORS && size == 8 && strange)
        for (size_t r = 0; r < rows; r++, from += row, to += cols * size)
            rp_spread_row_uint64_t(to, from, cols, col);
    else if (size == 4)
        RP_SPREAD_ROWS(uint32_t);
    else if (size == 8)
        RP_SPREAD_ROWS(uint64_t);
    else if (size == 2)
        RP_SPREAD_ROWS(uint16_t);
    else
        RP_SPREAD_ROWS(uint8_t);
    return to;
}
#undef RP_SPREAD_ROWS

/* Elements [first, first + n). */
static inline void rp_spread_write(const rp_spread *s, char *to, size_t first, size_t n)
{
    const int last = s->rank - 1;
    const size_t cols = s->shape[last], rows = last > 0 ? s->shape[last - 1] : 1;
    const ptrdiff_t row = last > 0 ? s->bytes[last - 1] : 0, col = s->bytes[last];

    while (n > 0) {
        const size_t c = first % cols, r = first / cols % rows;
        const char *from = s->data + (ptrdiff_t)c * col + (ptrdiff_t)r * row;
        size_t rest = first / cols / rows, done;

        for (int d = last - 2; d >= 0; rest /= s->shape[d--])
            from += (ptrdiff_t)(rest % s->shape[d]) * s->bytes[d];
        if (c > 0 || n < cols) { /* a row's part */
            done = n < cols - c ? n : cols - c;
            to = rp_spread_rows(to, from, s->size, 1, done, 0, col);
        } else {
            const size_t whole = n / cols < rows - r ? n / cols : rows - r;

            done = whole * cols;
            to = rp_spread_rows(to, from, s->size, whole, cols, row, col);
        }
        first += done;
        n -= done;
    }
}

/* One group's elements from its first on, as many as there is room for. */
static inline void rp_spread_hold(rp_spread *s, char *memory, size_t room, size_t group)
{
    const size_t most = room < s->group ? room : s->group;

    rp_spread_write(s, memory, group * s->group, s->period);
    for (size_t done = s->period, more; done < most; done += more) {
        more = most - done < done ? most - done : done;
        memcpy(memory + done * s->size, memory, more * s->size);
    }
    s->held = group;
}

/* Where elements [first, first + n) lie: where they are, or in the memory, of `room` elements, at least n +
 * RP_SPREAD_PERIOD. */
static inline const char *rp_spread_at(rp_spread *s, char *memory, size_t room, size_t first, size_t n)
{
    const int last = s->rank - 1;
    const size_t at = first % s->shape[last];

    if (s->bytes[last] == (ptrdiff_t)s->size && at + n <= s->shape[last]) {
        const char *from = s->data + at * s->size;

        first /= s->shape[last];
        for (int d = last - 1; d >= 0; first /= s->shape[d--])
            from += (ptrdiff_t)(first % s->shape[d]) * s->bytes[d];
        return from;
    }
    if (s->period && first / s->group == (first + n - 1) / s->group) {
        if (s->held != first / s->group)
            rp_spread_hold(s, memory, room, first / s->group);
        return memory + first % s->period * s->size;
    }
    s->held = SIZE_MAX;
    rp_spread_write(s, memory, first, n);
    return memory;
}

#endif
