/* SPDX-License-Identifier: Apache-2.0
 * Optimizers for one instruction set: the reference's loops, which vectorise across elements. A gradient that does not
 * lie as the weights do, as that of a convolution's weights [k, c, r, s] is made [r, s, c, k], is turned tile by tile,
 * each of its lines read once: down its columns a line would be read for each of its elements. */
#include "kernels/chain_plan.h"
#include "kernels/cpu/spread.h"
#include "kernels/ref/optimizer_maps.h"

/* A tile: as many elements as lie side by side in two lines, and columns. It stays in the first cache beside what is
 * read with it. */
enum { TILE_LINE = 128, TILE_COLUMNS = 128 };

/* A gradient as [outer, rows, inner] in the order of the weights; its rows lie side by side. */
typedef struct turned {
    rp_spread axes;
    int side; /* the axis of rows */
    size_t rows, inner;
} turned;

static bool in_order(const rp_view *view)
{
    return rp_chain_whole(view, rp_view_count(view));
}

/* Whether everything else lies in order, and the gradient so that tiles of it can be turned. */
static bool is_turned(turned *t, const rp_kernel_args *args, size_t n_in)
{
    const rp_view *gradient = &args->in[n_in - 1];

    if (rp_view_count(gradient) == 0 || in_order(gradient))
        return false;
    for (size_t i = 0; i < args->n_out; i++)
        if (!in_order(&args->out[i]))
            return false;
    for (size_t i = 0; i + 1 < n_in; i++)
        if (!in_order(&args->in[i]))
            return false;
    rp_spread_begin(&t->axes, gradient);
    t->inner = 1;
    for (t->side = t->axes.rank - 1; t->side >= 0 && t->axes.bytes[t->side] != (ptrdiff_t)t->axes.size; t->side--)
        t->inner *= t->axes.shape[t->side];
    if (t->side < 0 || t->side == t->axes.rank - 1)
        return false;
    t->rows = t->axes.shape[t->side];
    return true;
}

/* The first element of row r, counted over all outer axes. */
static const char *row_at(const turned *t, size_t r)
{
    const char *at = t->axes.data + r % t->rows * t->axes.size;

    r /= t->rows;
    for (int d = t->side - 1; d >= 0; r /= t->axes.shape[d--])
        at += (ptrdiff_t)(r % t->axes.shape[d]) * t->axes.bytes[d];
    return at;
}

#define TURN(T, ROWS) \
    for (size_t i = 0; i < run; i++, from += step, to += sizeof(T)) \
        for (size_t r = 0; r < (ROWS); r++) \
    memcpy(to + r * TILE_COLUMNS * sizeof(T), from + r * sizeof(T), sizeof(T))

/* Columns [first, first + n) of as many rows become rows of the tile. */
static void turn_tile(const turned *t, const char *row, size_t rows, size_t first, size_t n, char *tile)
{
    const int last = t->axes.rank - 1;
    const size_t size = t->axes.size, length = t->axes.shape[last];
    const ptrdiff_t step = t->axes.bytes[last];

    for (size_t done = 0, run; done < n; done += run) {
        const size_t c = (first + done) % length;
        const char *from = row + (ptrdiff_t)c * step;
        char *to = tile + done * size;
        size_t rest = (first + done) / length;

        run = n - done < length - c ? n - done : length - c;
        for (int d = last - 1; d > t->side; rest /= t->axes.shape[d--])
            from += (ptrdiff_t)(rest % t->axes.shape[d]) * t->axes.bytes[d];
        if (size == sizeof(uint32_t) && rows == TILE_LINE / sizeof(uint32_t))
            TURN(uint32_t, TILE_LINE / sizeof(uint32_t));
        else if (size == sizeof(uint32_t))
            TURN(uint32_t, rows);
        else
            TURN(uint64_t, rows);
    }
}
#undef TURN

/* Whole rows [begin, end) of one outer index. */
static void turn_rows(const turned *t, const rp_kernel_args *args, size_t n_in, size_t begin, size_t end,
                      optimizer_map *map)
{
    _Alignas(64) char tile[TILE_LINE * TILE_COLUMNS];
    const size_t size = t->axes.size, high = TILE_LINE / size;
    rp_walk walk = {.n_views = args->n_out + n_in, .attr = args->attr};

    for (size_t v = 0; v < walk.n_views; v++)
        walk.step[v] = 1;
    for (size_t r = begin; r < end; r += high)
        for (size_t c = 0; c < t->inner; c += TILE_COLUMNS) {
            const size_t rows = end - r < high ? end - r : high;

            walk.run = t->inner - c < TILE_COLUMNS ? t->inner - c : TILE_COLUMNS;
            turn_tile(t, row_at(t, r), rows, c, walk.run, tile);
            for (size_t k = 0; k < rows; k++) {
                walk.first = (r + k) * t->inner + c;
                for (size_t v = 0; v + 1 < walk.n_views; v++)
                    walk.at[v] =
                        (char *)(v < args->n_out ? args->out[v] : args->in[v - args->n_out]).data + walk.first * size;
                walk.at[walk.n_views - 1] = tile + k * TILE_COLUMNS * size;
                map(&walk, args);
            }
        }
}

/* Rows that are whole go by tiles, what is before and behind them by the walk. */
static void turned_items(const rp_kernel_args *args, size_t n_in, size_t begin, size_t end, optimizer_maps maps)
{
    turned t;
    size_t first, last;

    if (!is_turned(&t, args, n_in)) {
        walk_optimizer(args, n_in, begin, end, maps);
        return;
    }
    first = (begin + t.inner - 1) / t.inner;
    last = end / t.inner;
    if (first >= last) {
        walk_optimizer(args, n_in, begin, end, maps);
        return;
    }
    walk_optimizer(args, n_in, begin, first * t.inner, maps);
    for (size_t r = first, next; r < last; r = next) {
        next = (r / t.rows + 1) * t.rows;
        next = next < last ? next : last;
        turn_rows(&t, args, n_in, r, next, maps.even);
    }
    walk_optimizer(args, n_in, last * t.inner, end, maps);
}

#define optimizer_items turned_items
#include "kernels/ref/optimizer.inc.h"
