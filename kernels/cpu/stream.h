/* SPDX-License-Identifier: Apache-2.0
 * Large outputs past the caches: a store to a line that no cache holds reads the line first, which non-temporal stores
 * spare. The maps of ref/map.h write a small block that stays in the first cache, and the block is streamed out. */
#ifndef KERNELS_CPU_STREAM_H
#define KERNELS_CPU_STREAM_H

#include <string.h>

#include "kernels/chain_plan.h"
#include "kernels/cpu/spread.h"
#include "kernels/ref/functions/map.h"
/* The widest store of the level: fewer of them leave room in the processor's queue for the next loads. */
#if defined(__AVX512F__)
#include <immintrin.h>
#define STREAM_STORE(to, from) _mm512_stream_si512((void *)(to), _mm512_loadu_si512(from))
enum { STREAM_WIDTH = 64 };
#elif defined(__AVX2__)
#include <immintrin.h>
#define STREAM_STORE(to, from) _mm256_stream_si256((void *)(to), _mm256_loadu_si256((const void *)(from)))
enum { STREAM_WIDTH = 32 };
#elif defined(__SSE2__)
#include <emmintrin.h>
#define STREAM_STORE(to, from) _mm_stream_si128((void *)(to), _mm_loadu_si128((const void *)(from)))
enum { STREAM_WIDTH = 16 };
#endif

/* An output below STREAM_LEAST may well be read from a cache next. */
enum { STREAM_LEAST = 32 << 20, STREAM_BLOCK = 4096, STREAM_LINE = 64, STREAM_PIECE = 256 };
enum { STREAM_FEW = RP_CHAIN_BLOCK };

static inline bool stream_pays(const rp_view *out)
{
#if defined(__SSE2__)
    return rp_view_count(out) * rp_dtype_size(out->dtype) >= STREAM_LEAST;
#else
    (void)out;
    return false;
#endif
}

/* The same for items [begin, end) alone: as few as a chain runs at a time go to its scratch, which is read next. */
static inline bool stream_pays_for(const rp_view *out, size_t begin, size_t end)
{
    return end - begin > STREAM_FEW && stream_pays(out);
}

/* memcpy past the caches; stream_end makes what was written visible to other threads in order. */
static inline void stream_copy(void *to, const void *from, size_t bytes)
{
#if defined(__SSE2__)
    const size_t head = (size_t)(-(uintptr_t)to % STREAM_WIDTH);
    char *y = to;
    const char *x = from;
    size_t i = head < bytes ? head : bytes;

    if (i > 0)
        memcpy(y, x, i);
    for (; i + STREAM_WIDTH <= bytes; i += STREAM_WIDTH)
        STREAM_STORE(y + i, x + i);
    if (i < bytes)
        memcpy(y + i, x + i, bytes - i);
#else
    memcpy(to, from, bytes);
#endif
}

/* Runs of these bytes are short for the C library's memcpy, which may have the processor copy them by its microcode, at
 * half the speed of stores that are aligned. */
enum { STREAM_SHORT_LEAST = 256, STREAM_SHORT_MOST = 1 << 16 };

#if defined(__SSE2__)
typedef char stream_line __attribute__((vector_size(STREAM_WIDTH), may_alias));
typedef stream_line stream_line_at_any __attribute__((aligned(1)));

static inline void stream_short(char *to, const char *from, size_t bytes)
{
    const size_t head = STREAM_WIDTH - (uintptr_t)to % STREAM_WIDTH;
    size_t i = head;

    *(stream_line_at_any *)to = *(const stream_line_at_any *)from;
    for (; i + 4 * STREAM_WIDTH <= bytes; i += 4 * STREAM_WIDTH)
        RP_UNROLL for (size_t k = 0; k < 4; k++) * (stream_line *)(to + i + k * STREAM_WIDTH) =
            *(const stream_line_at_any *)(from + i + k * STREAM_WIDTH);
    for (; i + STREAM_WIDTH <= bytes; i += STREAM_WIDTH)
        *(stream_line *)(to + i) = *(const stream_line_at_any *)(from + i);
    *(stream_line_at_any *)(to + bytes - STREAM_WIDTH) = *(const stream_line_at_any *)(from + bytes - STREAM_WIDTH);
}
#else
#define stream_short memcpy
#endif

/* memcpy, of none too. */
static inline void stream_move(void *to, const void *from, size_t bytes)
{
    if (bytes >= STREAM_SHORT_LEAST && bytes < STREAM_SHORT_MOST)
        stream_short(to, from, bytes);
    else if (bytes > 0)
        memcpy(to, from, bytes);
}

static inline void stream_end(void)
{
#if defined(__SSE2__)
    _mm_sfence();
#endif
}

/* Elements of a first block after which the next begins a cache line. */
static inline size_t stream_head(const void *to, size_t size)
{
    const size_t head = (size_t)(-(uintptr_t)to % STREAM_LINE) / size;

    return head > 0 ? head : STREAM_BLOCK / size;
}

/* A block goes to y past the caches. Between its lines, as much of what comes after it is asked for, in each view that
 * lies side by side: the next block's or, behind the last of a run, the next run's, wherever that begins. The
 * processor's own fetching ahead goes by the places of instructions, and where those of the map's loop and of this one
 * meet there it sees no stream. Functions that take longer than memory have it fetched while they compute, and asking
 * would take room from that. */
static inline void stream_block(const rp_walk *walk, const size_t *size, char *y, bool ask, bool last)
{
    const char *block = walk->at[0];
    const size_t bytes = walk->run * size[0], piece = STREAM_PIECE / size[0];

    for (size_t i = 0, done = 0; i < bytes; i += STREAM_PIECE, done += piece) {
        const size_t part = walk->run - done < piece ? walk->run - done : piece;

        for (size_t v = 1; ask && v < walk->n_views; v++) {
            const uintptr_t after = last ? (uintptr_t)walk->next[v] : (uintptr_t)walk->at[v] + walk->run * size[v];

            for (size_t k = 0; walk->step[v] == 1 && k < part * size[v]; k += STREAM_LINE)
                __builtin_prefetch((const void *)(after + done * size[v] + k));
        }
        stream_copy(y + i, block + i, part * size[0]);
    }
}

/* One run of a walk whose output is contiguous and no input. */
static inline void stream_run(rp_walk *walk, const size_t *size, rp_map *map, bool ask)
{
    _Alignas(STREAM_LINE) char block[STREAM_BLOCK];
    const size_t run = walk->run, first = walk->first;
    char *y = walk->at[0];

    walk->at[0] = block;
    for (size_t i = 0; i < run; i += walk->run) {
        const size_t most = i == 0 ? stream_head(y, size[0]) : STREAM_BLOCK / size[0];

        walk->run = run - i < most ? run - i : most;
        walk->first = first + i;
        map(walk);
        stream_block(walk, size, y + i * size[0], ask, i + walk->run == run);
        for (size_t v = 1; v < walk->n_views; v++)
            walk->at[v] = (char *)walk->at[v] + (ptrdiff_t)walk->run * walk->step[v] * (ptrdiff_t)size[v];
    }
    walk->run = run;
    walk->first = first;
}

static inline bool stream_in_place(const rp_walk *walk)
{
    for (size_t v = 1; v < walk->n_views; v++)
        if (walk->at[v] == walk->at[0])
            return true;
    return false;
}

/* ---- operands written out (kernels/cpu/spread.h) ---- */

enum { SPREAD_RUN = 32, SPREAD_BLOCK = 1024, SPREAD_VIEWS = 3, SPREAD_ROOM = SPREAD_BLOCK + RP_SPREAD_PERIOD };

/* Whether runs are short, or steps such that no loop is a vector's, of an output in order. */
static inline bool spread_pays(const rp_walk *walk, const rp_kernel_args *args, size_t n_in)
{
    const int last = walk->rank - 1;
    bool odd = false;

    for (size_t v = 1; v < walk->n_views; v++)
        odd = odd || (walk->step[v] != 1 && (walk->step[v] != 0 || (v == 1 && n_in > 1)));
    return n_in <= SPREAD_VIEWS && walk->left > SPREAD_RUN && (walk->shape[last] < SPREAD_RUN || odd) &&
           rp_chain_whole(&args->out[0], rp_view_count(&args->out[0]));
}

/* Blocks in which every operand lies side by side. */
static inline void spread_items(rp_walk *walk, const rp_kernel_args *args, size_t n_in, size_t begin, size_t end,
                                rp_map *map)
{
    _Alignas(STREAM_LINE) char memory[SPREAD_VIEWS][SPREAD_ROOM * sizeof(double)];
    const size_t size = rp_dtype_size(args->out[0].dtype);
    rp_spread spread[SPREAD_VIEWS];

    for (size_t v = 0; v < n_in; v++)
        rp_spread_begin(&spread[v], &args->in[v]);
    for (size_t v = 0; v <= n_in; v++)
        walk->step[v] = 1;
    for (size_t i = begin; i < end; i += walk->run) {
        walk->run = end - i < SPREAD_BLOCK ? end - i : SPREAD_BLOCK;
        walk->first = i;
        walk->at[0] = (char *)args->out[0].data + i * size;
        for (size_t v = 0; v < n_in; v++)
            walk->at[v + 1] = (void *)(uintptr_t)rp_spread_at(&spread[v], memory[v], SPREAD_ROOM, i, walk->run);
        map(walk);
    }
}

/* Whether the elements lie one after the other; the stride of an axis of length 1 says nothing. */
static inline bool in_order(const rp_view *view)
{
    ptrdiff_t step = 1;

    for (int d = view->rank - 1; d >= 0; d--) {
        if (view->shape[d] != 1 && view->stride[d] != step)
            return false;
        step *= (ptrdiff_t)view->shape[d];
    }
    return true;
}

/* A few elements that lie in order in every view are one run, and looking for that as a walk does takes longer than
 * they do. False, with nothing done, where they are more or lie otherwise. */
static inline bool map_few(const rp_kernel_args *args, size_t n_in, size_t begin, size_t end, rp_map *map, void *owed)
{
    rp_walk walk;

    if (end - begin > STREAM_FEW || begin == end || !in_order(&args->out[0]))
        return false;
    for (size_t v = 0; v < n_in; v++)
        if (!in_order(&args->in[v]))
            return false;
    walk.run = end - begin;
    walk.left = 0;
    walk.first = begin;
    walk.attr = args->attr;
    walk.owed = owed;
    walk.n_views = n_in + 1;
    walk.rank = 1;
    for (size_t v = 0; v <= n_in; v++) {
        const rp_view *view = v == 0 ? &args->out[0] : &args->in[v - 1];

        walk.at[v] = (char *)view->data + begin * rp_dtype_size(view->dtype);
        walk.step[v] = 1;
    }
    map(&walk);
    return true;
}

/* owed: what maps may put off to the end (the walk's own), NULL for nothing. What is streamed out has to be whole. */
static inline void map_items_owing(const rp_kernel_args *args, size_t n_in, size_t begin, size_t end, rp_map *map,
                                   int cost, void *owed)
{
    size_t size[RP_WALK_VIEWS] = {rp_dtype_size(args->out[0].dtype)};
    rp_walk walk;

    if (args->n_out == 1 && map_few(args, n_in, begin, end, map, owed))
        return;
    rp_walk_args(&walk, args, n_in, begin, end);
    walk.owed = stream_pays_for(&args->out[0], begin, end) ? NULL : owed;
    if (walk.left && spread_pays(&walk, args, n_in)) {
        spread_items(&walk, args, n_in, begin, end, map);
        return;
    }
    if (!stream_pays_for(&args->out[0], begin, end)) {
        while (rp_walk_next(&walk))
            map(&walk);
        return;
    }
    for (size_t v = 0; v < n_in; v++)
        size[v + 1] = rp_dtype_size(args->in[v].dtype);
    while (rp_walk_next(&walk))
        if (walk.step[0] == 1 && !stream_in_place(&walk))
            stream_run(&walk, size, map, cost == MAP_light && walk.run * size[0] >= STREAM_LINE);
        else
            map(&walk);
    stream_end();
}

static inline void map_items_streamed(const rp_kernel_args *args, size_t n_in, size_t begin, size_t end, rp_map *map,
                                      int cost)
{
    map_items_owing(args, n_in, begin, end, map, cost, NULL);
}

/* for the kernels that ref/ defines with RP_ELEMENTWISE */
#define map_items map_items_streamed

#endif
