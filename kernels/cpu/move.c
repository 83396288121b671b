/* SPDX-License-Identifier: Apache-2.0
 * Moving data for one instruction set: by the size of an element, as bits are only carried. Contiguous runs are copied
 * whole, transposes go by tiles, and what is strange goes to the reference. */
#include <string.h>

#include "kernels/cpu/stream.h"

extern const rp_kernel rp_kernel_copy_ref, rp_kernel_concat_ref, rp_kernel_pad_ref, rp_kernel_fill_ref,
    rp_kernel_iota_ref, rp_kernel_one_hot_ref;

static void move_bytes(void *to, const void *from, size_t bytes, bool stream)
{
    if (stream)
        stream_copy(to, from, bytes);
    else
        stream_move(to, from, bytes);
}

/* Repeats a block of STREAM_BLOCK bytes. */
static void repeat_block(char *to, const char *block, size_t bytes, bool stream)
{
    for (size_t i = 0; i < bytes; i += STREAM_BLOCK)
        move_bytes(to + i, block, bytes - i < STREAM_BLOCK ? bytes - i : STREAM_BLOCK, stream);
}

static const _Alignas(STREAM_LINE) char zeros[STREAM_BLOCK];

/* The columns of a square of elements that fill a 16-byte vector become its rows. */
typedef uint32_t quad __attribute__((vector_size(16)));
typedef uint64_t pair __attribute__((vector_size(16)));
typedef uint16_t eight __attribute__((vector_size(16)));

static inline void turn_uint32_t(uint32_t *y, ptrdiff_t ys, const uint32_t *x, ptrdiff_t xs)
{
    quad a[4], b[4];

    for (int i = 0; i < 4; i++)
        memcpy(&a[i], x + i * xs, sizeof a[i]);
    b[0] = __builtin_shufflevector(a[0], a[1], 0, 4, 1, 5);
    b[1] = __builtin_shufflevector(a[2], a[3], 0, 4, 1, 5);
    b[2] = __builtin_shufflevector(a[0], a[1], 2, 6, 3, 7);
    b[3] = __builtin_shufflevector(a[2], a[3], 2, 6, 3, 7);
    for (int i = 0; i < 4; i += 2) {
        a[i] = __builtin_shufflevector(b[i], b[i + 1], 0, 1, 4, 5);
        a[i + 1] = __builtin_shufflevector(b[i], b[i + 1], 2, 3, 6, 7);
    }
    for (int i = 0; i < 4; i++)
        memcpy(y + i * ys, &a[i], sizeof a[i]);
}

static inline void turn_uint64_t(uint64_t *y, ptrdiff_t ys, const uint64_t *x, ptrdiff_t xs)
{
    pair a[2], b[2];

    for (int i = 0; i < 2; i++)
        memcpy(&a[i], x + i * xs, sizeof a[i]);
    b[0] = __builtin_shufflevector(a[0], a[1], 0, 2);
    b[1] = __builtin_shufflevector(a[0], a[1], 1, 3);
    for (int i = 0; i < 2; i++)
        memcpy(y + i * ys, &b[i], sizeof b[i]);
}

/* Zipping row i with row i + 4 moves the top bit of a place (row, column) to the bottom: thrice swaps row and column.
 */
static inline void turn_uint16_t(uint16_t *y, ptrdiff_t ys, const uint16_t *x, ptrdiff_t xs)
{
    eight a[8], b[8];

    for (int i = 0; i < 8; i++)
        memcpy(&a[i], x + i * xs, sizeof a[i]);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 4; i++) {
            b[2 * i] = __builtin_shufflevector(a[i], a[i + 4], 0, 8, 1, 9, 2, 10, 3, 11);
            b[2 * i + 1] = __builtin_shufflevector(a[i], a[i + 4], 4, 12, 5, 13, 6, 14, 7, 15);
        }
        memcpy(a, b, sizeof a);
    }
    for (int i = 0; i < 8; i++)
        memcpy(y + i * ys, &a[i], sizeof a[i]);
}

static inline void turn_uint8_t(uint8_t *y, ptrdiff_t ys, const uint8_t *x, ptrdiff_t xs)
{
    (void)ys, (void)xs;
    *y = *x;
}

/* Row c of `from` (fs apart) becomes column c of `to` (ts apart), by tiles: a line's length of each of TILE rows passes
 * through a buffer, so that whole stretches of `to` are written. SIDE is that of the square that is turned at once. */
enum { TILE = 64 };
#define TRANSPOSE(T, SIDE) \
    static void transpose_##T(void *to, ptrdiff_t ts, const void *from, ptrdiff_t fs, size_t rows, size_t cols, \
                              bool stream) \
    { \
        enum { HEIGHT = STREAM_LINE / sizeof(T) }; \
        _Alignas(STREAM_LINE) T tile[HEIGHT][TILE]; \
\
        for (size_t c = 0, width = 0; c < cols; c += width) \
            for (size_t r = 0, height = 0; r < rows; r += height) { \
                const T *x = (const T *)from + (ptrdiff_t)c * fs + (ptrdiff_t)r; \
                T *y = (T *)to + (ptrdiff_t)r * ts + (ptrdiff_t)c; \
\
                height = rows - r < HEIGHT ? rows - r : HEIGHT; \
                width = cols - c < TILE ? cols - c : TILE; \
                if (height == HEIGHT && width == TILE) \
                    for (size_t j = 0; j < TILE; j += SIDE) \
                        for (size_t i = 0; i < HEIGHT; i += SIDE) \
                            turn_##T(&tile[i][j], TILE, x + (ptrdiff_t)j * fs + (ptrdiff_t)i, fs); \
                else \
                    for (size_t j = 0; j < width; j++) \
                        for (size_t i = 0; i < height; i++) \
                            tile[i][j] = x[(ptrdiff_t)j * fs + (ptrdiff_t)i]; \
                for (size_t i = 0; i < height; i++) \
                    move_bytes(y + (ptrdiff_t)i * ts, tile[i], width * sizeof(T), stream); \
            } \
    }

TRANSPOSE(uint8_t, 1)
TRANSPOSE(uint16_t, 8)
TRANSPOSE(uint32_t, 4)
TRANSPOSE(uint64_t, 2)

/* Backwards, of one element again and again and of each second one, backwards too, are loops of vectors, any other step
 * is not. */
#define MOVE_RUN(T) \
    static void move_##T(T *restrict y, ptrdiff_t sy, const T *restrict x, ptrdiff_t sx, size_t n) \
    { \
        if (sy == 1 && sx == -1) \
            RP_EACH(i, n) y[i] = x[-i]; \
        else if (sy == 1 && sx == 0) \
            RP_EACH(i, n) y[i] = *x; \
        else if (sy == 1 && sx == 2) \
            RP_EACH(i, n) y[i] = x[2 * i]; \
        else if (sy == 1 && sx == -2) \
            RP_EACH(i, n) y[i] = x[-2 * (ptrdiff_t)i]; \
        else \
            RP_EACH(i, n) y[i * sy] = x[i * sx]; \
    }

MOVE_RUN(uint8_t)
MOVE_RUN(uint16_t)
MOVE_RUN(uint32_t)
MOVE_RUN(uint64_t)

/* Runs that lie apart, in what may be more than the caches near by hold: a processor's own fetching ahead stops where a
 * run ends, so those that come next are asked for. */
enum { APART_LEAST = 1 << 18 /* bytes moved */, APART_RUN = 4096 /* bytes at most */, APART_AHEAD = 4 /* runs */ };

static inline bool lies_apart(const rp_walk *walk, size_t size)
{
    const int last = walk->rank - 1;
    const size_t bytes = walk->shape[last] * size;

    return last > 0 && bytes >= STREAM_SHORT_LEAST && bytes <= APART_RUN &&
           walk->bytes[1][last - 1] != (ptrdiff_t)bytes;
}

/* Element by element; the runs are what the walk gives. */
static void copy_walk(const rp_view *const views[2], size_t begin, size_t end, bool stream)
{
    const size_t size = rp_dtype_size(views[0]->dtype);
    rp_walk walk;

    rp_walk_begin(&walk, views, 2, begin, end);
    while (rp_walk_next(&walk)) {
        const ptrdiff_t sy = walk.step[0], sx = walk.step[1];

        if (sy == 1 && sx == 1)
            move_bytes(walk.at[0], walk.at[1], walk.run * size, stream);
        else if (size == 4)
            move_uint32_t(walk.at[0], sy, walk.at[1], sx, walk.run);
        else if (size == 2)
            move_uint16_t(walk.at[0], sy, walk.at[1], sx, walk.run);
        else if (size == 8)
            move_uint64_t(walk.at[0], sy, walk.at[1], sx, walk.run);
        else
            move_uint8_t(walk.at[0], sy, walk.at[1], sx, walk.run);
    }
}

/* The views without the last axis of a walk over them. */
static void drop_last(rp_view row[2], const rp_walk *of, const rp_view *const views[2])
{
    const ptrdiff_t size = (ptrdiff_t)rp_dtype_size(views[0]->dtype);

    for (int v = 0; v < 2; v++) {
        row[v].data = views[v]->data;
        row[v].dtype = views[v]->dtype;
        row[v].rank = of->rank - 1;
        for (int d = 0; d < row[v].rank; d++) {
            row[v].shape[d] = of->shape[d];
            row[v].stride[d] = of->bytes[v][d] / size;
        }
    }
}

/* Whole runs [first, past) of a walk whose last axis lies in order: step by step, as a walk from each to the next takes
 * longer than the few lines that they are. */
static void copy_runs(const rp_walk *of, const rp_view *const views[2], size_t first, size_t past, bool ask,
                      bool stream)
{
    const size_t size = rp_dtype_size(views[0]->dtype), bytes = of->shape[of->rank - 1] * size;
    rp_view row[2];
    const rp_view *rows[2] = {&row[0], &row[1]};
    rp_walk walk;

    drop_last(row, of, views);
    rp_walk_begin(&walk, rows, 2, first, past);
    while (rp_walk_next(&walk)) {
        const ptrdiff_t to_step = walk.step[0] * (ptrdiff_t)size, from_step = walk.step[1] * (ptrdiff_t)size;
        const char *from = walk.at[1];
        char *to = walk.at[0];

        for (size_t i = 0; i < walk.run; i++, to += to_step, from += from_step) {
            const uintptr_t ahead = (uintptr_t)from + (uintptr_t)(APART_AHEAD * from_step);

            for (size_t k = 0; ask && k < bytes; k += STREAM_LINE)
                __builtin_prefetch((const void *)(ahead + k));
            move_bytes(to, from, bytes, stream);
        }
    }
}

static void copy_elements(const rp_view *out, const rp_view *in, size_t begin, size_t end, bool stream)
{
    const size_t size = rp_dtype_size(out->dtype);
    const rp_view *views[2] = {out, in};
    rp_walk walk;

    rp_walk_begin(&walk, views, 2, begin, end);
    if (begin < end && walk.rank > 1 && walk.step[0] == 1 && walk.step[1] == 1) {
        const size_t run = walk.shape[walk.rank - 1], first = (begin + run - 1) / run, past = end / run;

        if (first < past) {
            copy_walk(views, begin, first * run, stream);
            copy_runs(&walk, views, first, past, (end - begin) * size >= APART_LEAST && lies_apart(&walk, size),
                      stream);
            begin = past * run;
        }
    }
    copy_walk(views, begin, end, stream);
}

/* Whole rows [begin, end) of out's planes, a plane being its last two (merged) axes, where the input's rows lie along
 * out's columns. `walk` has begun at element 0. */
static void transpose_rows(const rp_view *const views[2], const rp_walk *axes, size_t begin, size_t end, bool stream)
{
    const int last = axes->rank - 1;
    const size_t size = rp_dtype_size(views[0]->dtype), cols = axes->shape[last], height = axes->shape[last - 1];
    const ptrdiff_t ts = axes->bytes[0][last - 1] / (ptrdiff_t)size, fs = axes->bytes[1][last] / (ptrdiff_t)size;

    while (begin < end) {
        const size_t room = height - begin % height, rows = end - begin < room ? end - begin : room;
        rp_walk at;

        rp_walk_begin(&at, views, 2, begin * cols, (begin + 1) * cols);
        (void)rp_walk_next(&at);
        (size == 4   ? transpose_uint32_t
         : size == 2 ? transpose_uint16_t
         : size == 8 ? transpose_uint64_t
                     : transpose_uint8_t)(at.at[0], ts, at.at[1], fs, rows, cols, stream);
        begin += rows;
    }
}

/* Elements [begin, end) of out, which may be a part of what stream_pays was asked of. */
static void copy_part(const rp_view *out, const rp_view *in, size_t begin, size_t end, bool stream)
{
    const rp_view *views[2] = {out, in};
    const ptrdiff_t size = (ptrdiff_t)rp_dtype_size(out->dtype);
    rp_walk axes;
    int last;

    rp_walk_begin(&axes, views, 2, 0, rp_view_count(out));
    last = axes.rank - 1;
    if (begin < end && last > 0 && axes.bytes[0][last] == size && axes.bytes[1][last] != size &&
        axes.bytes[1][last] != 0 && axes.bytes[1][last - 1] == size) {
        const size_t cols = axes.shape[last], first = (begin + cols - 1) / cols, past = end / cols;

        if (first < past) {
            copy_elements(out, in, begin, first * cols, false);
            transpose_rows(views, &axes, first, past, stream);
            begin = past * cols;
        }
    }
    copy_elements(out, in, begin, end, stream);
}

static void copy_run(const rp_kernel_args *args, size_t begin, size_t end)
{
    copy_part(&args->out[0], &args->in[0], begin, end, stream_pays(&args->out[0]));
    stream_end();
}

/* Pairs of an element of each of two inputs: parts of complex numbers. */
#define ZIP_RUN(T) \
    static void zip_##T(T *restrict y, ptrdiff_t sy, const T *restrict a, ptrdiff_t sa, const T *restrict b, \
                        ptrdiff_t sb, size_t n) \
    { \
        if (sy == 2 && sa == 1 && sb == 1) \
            RP_EACH(i, n) \
            { \
                y[2 * i] = a[i]; \
                y[2 * i + 1] = b[i]; \
            } \
        else \
            RP_EACH(i, n) \
            { \
                y[i * sy] = a[i * sa]; \
                y[i * sy + 1] = b[i * sb]; \
            } \
    }

ZIP_RUN(uint32_t)
ZIP_RUN(uint64_t)

static bool concat_zips(const rp_kernel_args *args)
{
    const rp_view *out = &args->out[0];
    const size_t size = rp_dtype_size(out->dtype);

    return args->n_in == 2 && (size == 4 || size == 8) && RP_AT(args->attr, concat, axis).i == out->rank - 1 &&
           rp_view_last(&args->in[0]) == 1 && rp_view_last(&args->in[1]) == 1 && rp_view_last_stride(out) == 1 &&
           args->in[0].data != out->data && args->in[1].data != rp_view_at(out, 1);
}

/* A pair is made by whoever has the item of twice its number. */
static void zip_run(const rp_kernel_args *args, size_t begin, size_t end)
{
    const rp_view y = rp_view_rows(&args->out[0]), a = rp_view_rows(&args->in[0]), b = rp_view_rows(&args->in[1]);
    const rp_view *views[3] = {&y, &a, &b};
    rp_walk walk;

    rp_walk_begin(&walk, views, 3, (begin + 1) / 2, (end + 1) / 2);
    while (rp_walk_next(&walk))
        if (rp_dtype_size(y.dtype) == 4)
            zip_uint32_t(walk.at[0], walk.step[0], walk.at[1], walk.step[1], walk.at[2], walk.step[2], walk.run);
        else
            zip_uint64_t(walk.at[0], walk.step[0], walk.at[1], walk.step[1], walk.at[2], walk.step[2], walk.run);
}

/* Items are the inputs' elements one input after the other, as in the reference; an input that lies where it goes stays
 * there. */
static void concat_run(const rp_kernel_args *args, size_t begin, size_t end)
{
    const rp_view *out = &args->out[0];
    const size_t axis = (size_t)RP_AT(args->attr, concat, axis).i;
    ptrdiff_t offset = 0;
    size_t first = 0;

    if (concat_zips(args)) {
        zip_run(args, begin, end);
        return;
    }
    for (size_t v = 0; v < args->n_in && first < end; v++) {
        const rp_view *in = &args->in[v];
        const size_t count = rp_view_count(in);
        rp_view part = *out;

        part.data = rp_view_at(out, offset * out->stride[axis]);
        part.shape[axis] = in->shape[axis];
        if (first + count > begin && part.data != in->data)
            copy_part(&part, in, begin > first ? begin - first : 0, end - first < count ? end - first : count,
                      stream_pays(out));
        first += count;
        offset += (ptrdiff_t)in->shape[axis];
    }
    stream_end();
}

static void fill_run(const rp_kernel_args *args, size_t begin, size_t end)
{
    const rp_view *out = &args->out[0];
    const size_t size = rp_dtype_size(out->dtype);
    const bool stream = stream_pays(out);
    _Alignas(STREAM_LINE) char block[STREAM_BLOCK];
    rp_view whole = {block, out->dtype, 1, {STREAM_BLOCK / size}, {1}};
    const rp_kernel_args filled = {.out = &whole, .n_out = 1, .attr = args->attr};
    rp_walk walk;

    rp_kernel_fill_ref.run(&filled, 0, end - begin < STREAM_BLOCK / size ? end - begin : STREAM_BLOCK / size);
    rp_walk_args(&walk, args, 0, begin, end);
    while (rp_walk_next(&walk))
        if (walk.step[0] == 1)
            repeat_block(walk.at[0], block, walk.run * size, stream);
        else
            rp_kernel_fill_ref.run(args, walk.first, walk.first + walk.run);
    stream_end();
}

/* Where row `row` of the padded output comes from; NULL for a row of zeros. */
static const char *pad_source(const rp_kernel_args *args, size_t row)
{
    const rp_view *out = &args->out[0], *in = &args->in[0];
    ptrdiff_t offset = 0;

    for (int d = out->rank - 2; d >= 0; d--) {
        const size_t at = row % out->shape[d], before = (size_t)RP_AT(args->attr, pad, before).list[d];

        row /= out->shape[d];
        if (at < before || at - before >= in->shape[d])
            return NULL;
        offset += (ptrdiff_t)(at - before) * in->stride[d];
    }
    return rp_view_at(in, offset);
}

static void pad_run(const rp_kernel_args *args, size_t begin, size_t end)
{
    const rp_view *out = &args->out[0], *in = &args->in[0], rows = rp_view_rows(out), *walked = &rows;
    const size_t size = rp_dtype_size(out->dtype), length = rp_view_last(out) * size, middle = rp_view_last(in) * size;
    const size_t before = out->rank > 0 ? (size_t)RP_AT(args->attr, pad, before).list[out->rank - 1] * size : 0;
    const bool stream = stream_pays(out);
    rp_walk walk;

    if (rp_view_last_stride(out) != 1 || rp_view_last_stride(in) != 1) {
        rp_kernel_pad_ref.run(args, begin, end);
        return;
    }
    rp_walk_begin(&walk, &walked, 1, begin, end);
    while (rp_walk_next(&walk))
        for (size_t i = 0; i < walk.run; i++) {
            char *y = (char *)walk.at[0] + (ptrdiff_t)i * walk.step[0] * (ptrdiff_t)size;
            const char *x = pad_source(args, walk.first + i);

            repeat_block(y, zeros, x == NULL ? length : before, stream);
            if (x == NULL)
                continue;
            move_bytes(y + before, x, middle, stream);
            repeat_block(y + before + middle, zeros, length - before - middle, stream);
        }
    stream_end();
}

#define COUNT(T, kind) \
    case kind: \
        RP_EACH(j, count)((T *)to)[j] = (T)((int64_t)i + (int64_t)j); \
        break

static void iota_run(const rp_kernel_args *args, size_t begin, size_t end)
{
    const rp_view *out = &args->out[0];
    const size_t size = rp_dtype_size(out->dtype);
    const bool stream = stream_pays(out);
    _Alignas(STREAM_LINE) char block[STREAM_BLOCK];

    if (out->stride[0] != 1) {
        rp_kernel_iota_ref.run(args, begin, end);
        return;
    }
    for (size_t i = begin, count; i < end; i += count) {
        char *y = (char *)out->data + i * size, *to = stream ? block : y;

        count = i == begin ? stream_head(y, size) : STREAM_BLOCK / size;
        count = end - i < count ? end - i : count;
        switch (out->dtype) {
            COUNT(float, RP_F32);
            COUNT(double, RP_F64);
            COUNT(int32_t, RP_I32);
            COUNT(uint32_t, RP_U32);
        default:
            RP_EACH(j, count)((int64_t *)to)[j] = (int64_t)i + (int64_t)j;
        }
        if (stream)
            stream_copy(y, block, count * size);
    }
    stream_end();
}

/* Rows that lie behind one another are zeroed together; then come the ones. */
static void one_hot_run(const rp_kernel_args *args, size_t begin, size_t end)
{
    const rp_view *out = &args->out[0], rows = rp_view_rows(out), *views[2] = {&rows, &args->in[0]};
    const size_t size = rp_dtype_size(out->dtype), depth = rp_view_last(out);
    const bool stream = stream_pays(out);
    rp_walk walk;

    if (rp_view_last_stride(out) != 1) {
        rp_kernel_one_hot_ref.run(args, begin, end);
        return;
    }
    rp_walk_begin(&walk, views, 2, begin, end);
    while (rp_walk_next(&walk)) {
        const bool dense = walk.step[0] == (ptrdiff_t)depth;

        if (dense)
            repeat_block(walk.at[0], zeros, walk.run * depth * size, stream);
        stream_end(); /* a plain store to a streamed line must come after it */
        for (size_t i = 0; i < walk.run; i++) {
            const ptrdiff_t at = (ptrdiff_t)i * walk.step[1];
            const int64_t label =
                args->in[0].dtype == RP_I32 ? ((const int32_t *)walk.at[1])[at] : ((const int64_t *)walk.at[1])[at];
            char *y = (char *)walk.at[0] + (ptrdiff_t)i * walk.step[0] * (ptrdiff_t)size;

            if (!dense)
                repeat_block(y, zeros, depth * size, false);
            if (label < 0 || (uint64_t)label >= depth)
                continue;
            switch (out->dtype) {
            case RP_F32:
                ((float *)y)[label] = 1;
                break;
            case RP_F64:
                ((double *)y)[label] = 1;
                break;
            case RP_I32:
                ((int32_t *)y)[label] = 1;
                break;
            default:
                ((int64_t *)y)[label] = 1;
            }
        }
    }
}

RP_DEFINE_KERNEL(copy, rp_items_elements, copy_run, rp_cost_light);
RP_DEFINE_KERNEL(concat, rp_items_elements, concat_run, rp_cost_light);
RP_DEFINE_KERNEL(fill, rp_items_elements, fill_run, rp_cost_light);
RP_DEFINE_KERNEL(pad, rp_items_rows, pad_run, rp_cost_row);
RP_DEFINE_KERNEL(iota, rp_items_elements, iota_run, rp_cost_light);
RP_DEFINE_KERNEL(one_hot, rp_items_rows, one_hot_run, rp_cost_row);
