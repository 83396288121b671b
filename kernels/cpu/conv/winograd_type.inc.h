/* SPDX-License-Identifier: Apache-2.0
 * conv2d_winograd for one type. A block of tiles is transformed once; then come the panels of filters, and for each,
 * six points at a time, so that the transformed weight never leaves the second cache: it is larger than the weight, and
 * would be written and read at the speed of memory. Transforms have vectors of channels or filters; the products are
 * the matrix product's kernel, six in a batch.
 *
 * Parameters, from kernels/type_f32.h or type_f64.h: T the type of the elements, FN(name) the name of its variant.
 * Before it: nothing. Gives FN(block). */
#if !defined(T) || !defined(FN)
#error "a template: include one of kernels/type_f32.h and kernels/type_f64.h before it"
#endif

#include "kernels/cpu/conv/winograd_sizes.h"
#include "kernels/cpu/conv/winograd_vec.inc.h"
#include "kernels/level.h"

#define LANES LANES_OF(T)
#define PANEL WINOGRAD_PANEL(T)

extern const rp_kernel RP_KERNEL(matmul);

/* Where everything lies: u [point][channel][PANEL] of six points, v [point][tile][room], m [point][tile][PANEL]. Points
 * lie an odd number of cache lines apart, or the 36 values that a transform writes would meet in one set of the cache.
 */
typedef struct FN(work) {
    const rp_conv *conv;
    size_t tile, tiles;    /* of the block */
    size_t channel, depth; /* the chunk of channels */
    size_t room;           /* from tile to tile of v */
    size_t u_point, v_point, m_point;
    T *raw, *u, *v, *m, *more;
} FN(work);

/* Lanes of the view's last axis, zeros from `count` on. */
RP_INLINE FN(lanes) FN(fetch)(const T *from, ptrdiff_t step, size_t count)
{
    T part[LANES];

    if (step == 1 && count >= LANES)
        return FN(lanes_load)(from);
    for (size_t i = 0; i < LANES; i++)
        part[i] = i < count ? from[(ptrdiff_t)i * step] : 0;
    return FN(lanes_load)(part);
}

/* One vector of channels of one tile; from: where the 6 x 6 values lie, NULL for the zeros outside the image. */
static void FN(input_lanes)(T *v, size_t point_step, const T *const *from, size_t channel, ptrdiff_t step, size_t count)
{
    FN(lanes) d[POINTS], line[IN], out[IN];

    for (size_t j = 0; j < IN; j++) {
        RP_UNROLL
        for (size_t i = 0; i < IN; i++)
            line[i] = from[i * IN + j] == NULL ? (FN(lanes)){0}
                                               : FN(fetch)(from[i * IN + j] + (ptrdiff_t)channel * step, step, count);
        FN(turn_input)(out, line);
        RP_UNROLL
        for (size_t i = 0; i < IN; i++)
            d[i * IN + j] = out[i];
    }
    for (size_t i = 0; i < IN; i++) {
        FN(turn_input)(out, &d[i * IN]);
        RP_UNROLL
        for (size_t j = 0; j < IN; j++)
            FN(lanes_store)(v + (i * IN + j) * point_step, out[j]);
    }
}

/* Image, and the first output's row and column, of a tile. */
typedef struct FN(place) {
    size_t n, h, w;
} FN(place);

static FN(place) FN(place_of)(const rp_conv *conv, size_t tile)
{
    const size_t across = rp_winograd_tiles(&conv->w), down = rp_winograd_tiles(&conv->h);

    return (FN(place)){tile / across / down, tile / across % down * OUT, tile % across * OUT};
}

static void FN(inputs)(const FN(work) * w)
{
    const rp_conv *conv = w->conv;
    const rp_view *x = conv->x;

    for (size_t t = 0; t < w->tiles; t++) {
        const FN(place) at = FN(place_of)(conv, w->tile + t);
        const T *from[POINTS];

        for (size_t i = 0; i < POINTS; i++) {
            const int64_t h = (int64_t)(at.h + i / IN) - conv->h.pad, v = (int64_t)(at.w + i % IN) - conv->w.pad;
            const bool inside = h >= 0 && h < (int64_t)conv->h.in && v >= 0 && v < (int64_t)conv->w.in;

            from[i] = inside ? (const T *)x->data + (ptrdiff_t)at.n * x->stride[0] + h * x->stride[1] +
                                   v * x->stride[2] + (ptrdiff_t)w->channel * x->stride[3]
                             : NULL;
        }
        for (size_t c = 0; c < w->depth; c += LANES)
            FN(input_lanes)(w->v + t * w->room + c, w->v_point, from, c, x->stride[3], w->depth - c);
    }
}

/* A panel of the weight for one chunk of channels, [channel][tap][PANEL]: all six passes read it from the second cache.
 */
static void FN(gather_weights)(const FN(work) * w, size_t column)
{
    const rp_view *weight = w->conv->weight;
    const ptrdiff_t along = weight->stride[2], ahead = AHEAD * along;
    const size_t columns = w->conv->k - column < PANEL ? w->conv->k - column : PANEL;
    const T *from = (const T *)weight->data + (ptrdiff_t)w->channel * along + (ptrdiff_t)column * weight->stride[3];
    T *to = w->raw;

    for (size_t c = 0; c < w->depth; c++, from += along)
        for (size_t tap = 0; tap < TAPS; tap++, to += PANEL) {
            const T *at = from + (ptrdiff_t)(tap / 3) * weight->stride[0] + (ptrdiff_t)(tap % 3) * weight->stride[1];

            __builtin_prefetch(at + ahead, 0, 2);
            __builtin_prefetch(at + ahead + 64 / sizeof(T), 0, 2);
            for (size_t j = 0; j < PANEL; j += LANES)
                FN(lanes_store)
            (to + j,
             FN(fetch)(at + (ptrdiff_t)j * weight->stride[3], weight->stride[3], j < columns ? columns - j : 0));
        }
}

/* Values i * 6 .. i * 6 + 5 of the transformed weight. */
RP_INLINE void FN(weight_lanes)(size_t i, T *u, size_t point_step, const T *raw)
{
    FN(lanes) g[3], line[3], out[IN];

    RP_UNROLL
    for (size_t s = 0; s < 3; s++) {
        RP_UNROLL
        for (size_t r = 0; r < 3; r++)
            line[r] = FN(lanes_load)(raw + (r * 3 + s) * PANEL);
        FN(turn_weight)(out, line);
        g[s] = out[i];
    }
    FN(turn_weight)(out, g);
    RP_UNROLL
    for (size_t j = 0; j < IN; j++)
        FN(lanes_store)(u + j * point_step, out[j]);
}

RP_INLINE void FN(weights_at)(size_t i, const FN(work) * w)
{
    for (size_t c = 0; c < w->depth; c++)
        for (size_t j = 0; j < PANEL; j += LANES)
            FN(weight_lanes)(i, w->u + c * PANEL + j, w->u_point, w->raw + c * TAPS * PANEL + j);
}

/* A constant i leaves of the first transform only what is needed. */
static void FN(weights)(const FN(work) * w, size_t i)
{
    switch (i) {
    case 0:
        FN(weights_at)(0, w);
        break;
    case 1:
        FN(weights_at)(1, w);
        break;
    case 2:
        FN(weights_at)(2, w);
        break;
    case 3:
        FN(weights_at)(3, w);
        break;
    case 4:
        FN(weights_at)(4, w);
        break;
    default:
        FN(weights_at)(5, w);
        break;
    }
}

/* m = v u at points i * 6 .. i * 6 + 5; of a later chunk of channels, m = m + v u. */
static void FN(products)(const FN(work) * w, size_t i)
{
    const ptrdiff_t tile = (ptrdiff_t)w->room, filter = (ptrdiff_t)PANEL;
    const rp_dtype dtype = w->conv->x->dtype;
    T *m = w->m + i * IN * w->m_point, *to = w->channel == 0 ? m : w->more;
    const rp_view in[2] = {
        {w->v + i * IN * w->v_point, dtype, 3, {IN, w->tiles, w->depth}, {(ptrdiff_t)w->v_point, tile, 1}},
        {w->u, dtype, 3, {IN, w->depth, PANEL}, {(ptrdiff_t)w->u_point, filter, 1}}};
    const rp_view out = {to, dtype, 3, {IN, w->tiles, PANEL}, {(ptrdiff_t)w->m_point, filter, 1}};
    const rp_kernel_args args = {.in = in, .n_in = 2, .out = &out, .n_out = 1};

    RP_KERNEL(matmul).run(&args, 0, RP_KERNEL(matmul).items(&args));
    for (size_t j = 0; j < IN && to != m; j++)
        RP_EACH(l, w->tiles * PANEL) m[j * w->m_point + l] = m[j * w->m_point + l] + to[j * w->m_point + l];
}

/* A vector of filters of one tile: rows x columns of its outputs exist. */
static void FN(output_lanes)(const T *m, size_t point_step, T *y, const rp_view *view, size_t rows, size_t columns,
                             size_t count)
{
    FN(lanes) d[OUT * IN], line[IN], out[IN];

    for (size_t j = 0; j < IN; j++) {
        RP_UNROLL
        for (size_t i = 0; i < IN; i++)
            line[i] = FN(lanes_load)(m + (i * IN + j) * point_step);
        FN(turn_output)(out, line);
        RP_UNROLL
        for (size_t i = 0; i < OUT; i++)
            d[i * IN + j] = out[i];
    }
    for (size_t i = 0; i < rows; i++) {
        FN(turn_output)(out, &d[i * IN]);
        for (size_t j = 0; j < columns; j++) {
            T *to = y + (ptrdiff_t)i * view->stride[1] + (ptrdiff_t)j * view->stride[2], part[LANES];

            if (view->stride[3] == 1 && count >= LANES) {
                FN(lanes_store)(to, out[j]);
                continue;
            }
            FN(lanes_store)(part, out[j]);
            for (size_t l = 0; l < LANES && l < count; l++)
                to[(ptrdiff_t)l * view->stride[3]] = part[l];
        }
    }
}

static void FN(outputs)(const FN(work) * w, size_t first)
{
    const rp_conv *conv = w->conv;
    const rp_view *y = conv->y;
    const size_t last = first + PANEL < conv->k ? first + PANEL : conv->k;

    for (size_t t = 0; t < w->tiles; t++) {
        const FN(place) at = FN(place_of)(conv, w->tile + t);
        const size_t rows = conv->h.out - at.h < OUT ? conv->h.out - at.h : OUT;
        const size_t columns = conv->w.out - at.w < OUT ? conv->w.out - at.w : OUT;

        for (size_t k = first; k < last; k += LANES)
            FN(output_lanes)
        (w->m + t * PANEL + (k - first), w->m_point,
         (T *)y->data + (ptrdiff_t)at.n * y->stride[0] + (ptrdiff_t)at.h * y->stride[1] +
             (ptrdiff_t)at.w * y->stride[2] + (ptrdiff_t)k * y->stride[3],
         y, rows, columns, last - k);
    }
}

/* One block of tiles for one panel of filters. */
static void FN(panel)(FN(work) * w, size_t column, bool first, size_t chunk)
{
    const size_t c = w->conv->c;

    /* once also for no channels, whose sums are +0 */
    for (w->channel = 0; w->channel == 0 || w->channel < c; w->channel += RP_CONV_CHUNK) {
        w->depth = c - w->channel < chunk ? c - w->channel : chunk;
        if (first || c > chunk) /* with one chunk of channels v stays */
            FN(inputs)(w);
        FN(gather_weights)(w, column);
        for (size_t i = 0; i < IN; i++) {
            FN(weights)(w, i);
            FN(products)(w, i);
        }
    }
    FN(outputs)(w, column);
}

/* At least n values, and an odd number of cache lines. */
static size_t FN(odd_lines)(size_t n)
{
    const size_t line = 64 / sizeof(T);

    return ((n + line - 1) / line | 1) * line;
}

/* Tiles [tile, tile_end) and filters [column, column_end): whole panels, or up to the last filter. */
static void FN(block)(const rp_conv *conv, size_t tile, size_t tile_end, size_t column, size_t column_end)
{
    const size_t chunk = conv->c < RP_CONV_CHUNK ? conv->c : RP_CONV_CHUNK;
    FN(work) w = {.conv = conv, .room = FN(odd_lines)(chunk), .u_point = FN(odd_lines)(chunk * PANEL)};
    const size_t values =
        RP_SCRATCH_CACHED / sizeof(T) - TAPS * PANEL * chunk - IN * w.u_point - POINTS * 4 * 64 / sizeof(T);
    const size_t most = values / (POINTS * w.room + (POINTS + IN) * PANEL), tiles = tile_end - tile;
    const size_t blocks = (tiles + most - 1) / most;
    T *memory = rp_scratch_borrow();

    if (memory == NULL) {
        FN(rp_winograd_tiles)(conv, tile, tile_end, column, column_end);
        return;
    }
    w.u = memory;
    w.raw = w.u + IN * w.u_point;
    w.v = w.raw + TAPS * PANEL * chunk;
    w.v_point = FN(odd_lines)((tiles + blocks - 1) / blocks * w.room);
    w.m_point = FN(odd_lines)((tiles + blocks - 1) / blocks * PANEL);
    w.m = w.v + POINTS * w.v_point;
    w.more = w.m + POINTS * w.m_point;
    for (size_t b = 0; b < blocks; b++) {
        w.tile = tile + tiles * b / blocks;
        w.tiles = tile + tiles * (b + 1) / blocks - w.tile;
        for (size_t k = column; k < column_end; k += PANEL)
            FN(panel)(&w, k, k == column, chunk);
    }
    rp_scratch_return(memory);
}

#undef PANEL
#undef LANES
