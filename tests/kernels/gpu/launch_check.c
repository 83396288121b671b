/* SPDX-License-Identifier: Apache-2.0
 * One function a family of kernels: what its grid covers, by the way in which the kernels of kernels/gpu count. */
#include "tests/kernels/gpu/launch_check.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "kernels/gpu/args.h"
#include "kernels/gpu/attention/attention_args.h"
#include "kernels/gpu/conv/conv_tile_args.h"
#include "kernels/gpu/conv/conv_weight_args.h"
#include "kernels/gpu/conv/winograd_args.h"
#include "kernels/gpu/matmul/matmul_args.h"
#include "kernels/gpu/move/move_args.h"
#include "kernels/gpu/reduce/batch_norm_args.h"
#include "kernels/gpu/reduce/group_norm_args.h"
#include "kernels/gpu/reduce/rows_args.h"
#include "kernels/walk.h"

typedef unsigned __int128 wide;

static void want(launch_check *c, bool right, const char *format, ...) RP_PRINTF(3, 4);
static void want(launch_check *c, bool right, const char *format, ...)
{
    va_list args;
    int at;

    if (right || c->wrong[0] != '\0')
        return;
    at = snprintf(c->wrong, sizeof c->wrong, "%s: ", c->name);
    va_start(args, format);
    (void)vsnprintf(c->wrong + at, sizeof c->wrong - (size_t)at, format, args);
    va_end(args);
}

static wide blocks(wide count, wide of)
{
    return (count + of - 1) / of;
}

static wide elements(const rp_view *v)
{
    wide n = 1;

    for (int d = 0; d < v->rank; d++)
        n *= v->shape[d];
    return n;
}

/* Elements between the first and the last of a view. */
static __int128 extent(const rp_view *v)
{
    __int128 at = 0;

    for (int d = 0; d < v->rank; d++)
        at += v->shape[d] > 0 ? (__int128)(v->shape[d] - 1) * v->stride[d] : 0;
    return at;
}

/* Threads that go through all elements in turns: one is enough to cover them. */
static void see_map(launch_check *c, const rp_gpu_map *p, wide count)
{
    wide all = 1;

    for (int d = 0; d < p->rank; d++)
        all *= p->shape[d];
    want(c, p->count == count && all == count, "counts %llu elements", (unsigned long long)p->count);
    want(c, p->first < p->count, "begins at %llu", (unsigned long long)p->first);
}

static void see_reference(launch_check *c, const rp_recorded *l, const rp_gpu_args *p)
{
    want(c, p->begin == c->reference_items, "begins at item %llu", (unsigned long long)p->begin);
    want(c, (wide)l->blocks[0] * l->threads >= p->end - p->begin, "%u blocks", l->blocks[0]);
    c->reference_items = p->end;
}

/* A piece of a long sum: it follows the one before, and all but the last are whole chunks. */
static void see_piece(launch_check *c, const rp_gpu_reduce *p)
{
    const rp_view *x = &c->args->in[0];
    const wide at = (wide)c->pieces * rp_dtype_size(x->dtype) * (wide)p->x_reduced[0];

    want(c, p->outputs == 1 && p->all == elements(x), "a piece of %llu elements", (unsigned long long)p->all);
    want(c, p->x == (const char *)x->data + at, "another piece");
    c->pieces += p->n;
    want(c, c->pieces <= p->all && (p->n % RP_GPU_CHUNK == 0 || c->pieces == p->all), "ends within a chunk");
    if (c->pieces == p->all) /* the next reduction's begin again */
        c->pieces = 0;
}

/* Teams are counted in 32 bits, threads are not; a level's values are what the next one reads. */
static void see_reduction(launch_check *c, const rp_recorded *l, const rp_gpu_reduce *p, bool places)
{
    const bool across = strncmp(c->name, "rp_gpu_across_", 14) == 0;
    const wide values = (wide)p->outputs * p->chunks, team = places ? 32 : 16;
    const rp_view *x = &c->args->in[0];
    wide of_kept = 1, of_reduced = 1;
    __int128 last = 0;

    for (u32 d = 0; d < p->kept.rank; d++) {
        of_kept *= p->kept.shape[d];
        last += (__int128)(p->kept.shape[d] - 1) * p->x_kept[d];
    }
    for (u32 d = 0; d < p->reduced.rank; d++) {
        of_reduced *= p->reduced.shape[d];
        last += p->reduced.shape[d] ? (__int128)(p->reduced.shape[d] - 1) * p->x_reduced[d] : 0;
    }
    want(c, of_kept == p->outputs && of_reduced == p->n, "axes of %u times %u", p->outputs, p->n);
    want(c, p->chunks == blocks(p->n, RP_GPU_CHUNK) || (p->n == 0 && p->chunks == 1), "%u chunks of %u", p->chunks,
         p->n);
    if (p->all != p->n)
        see_piece(c, p);
    want(c, p->x != x->data || p->all != p->n || (of_kept * of_reduced == elements(x) && last == extent(x)),
         "reads other elements");
    if (across) {
        want(c, l->blocks[0] == p->chunks * blocks(p->outputs, places ? l->threads : l->threads / p->rows), "%u blocks",
             l->blocks[0]);
        return;
    }
    want(c, (wide)l->blocks[0] * (l->threads / team) >= values, "%u blocks", l->blocks[0]);
    want(c, (wide)l->blocks[0] * (l->threads / team) <= (wide)1 << 32, "more teams than 32 bits count");
}

/* Blocks take ranges of the axis and items in turn. */
static void see_scatter(launch_check *c, const rp_gpu_scatter *p)
{
    want(c, p->index.count == elements(&c->args->in[1]), "another count");
    want(c, (wide)p->items.count * (wide)p->items.own[1] == elements(&c->args->out[0]), "other items");
    want(c, p->ranges == blocks((wide)p->items.own[1], p->places), "%llu ranges", (unsigned long long)p->ranges);
    want(c, p->places >= 1 && p->places <= RP_GPU_SCATTER_PLACES, "%u places", p->places);
}

/* Of a copy that may be a part of what is made. */
static void see_tiles(launch_check *c, const rp_gpu_transpose *p)
{
    want(c, p->tiles_a == blocks(p->a, RP_GPU_TRANSPOSE_SIDE) && p->tiles_b == blocks(p->b, RP_GPU_TRANSPOSE_SIDE),
         "%llu x %llu tiles", (unsigned long long)p->tiles_a, (unsigned long long)p->tiles_b);
    want(c, (wide)p->tiles_a * p->tiles_b * p->outer.count == p->tiles, "%llu tiles", (unsigned long long)p->tiles);
    want(c, (wide)p->a * p->b * p->outer.count <= elements(&c->args->out[0]), "more than there is");
}

static void see_rows(launch_check *c, const rp_recorded *l, const rp_gpu_rows *p)
{
    const rp_view *y = &c->args->out[0];
    const wide all = strcmp(c->name + 7, "cross_entropy_f32") == 0 ? (wide)p->count : (wide)p->count * p->n;

    want(c, all == elements(y), "%u rows of %u", p->count, p->n);
    want(c, (wide)l->blocks[0] * (p->block ? 1 : l->threads / 32) >= p->count, "%u blocks", l->blocks[0]);
    want(c, p->block || p->n <= RP_GPU_CHUNK, "a warp has %u", p->n);
    want(c, p->n <= RP_GPU_CHUNK * RP_GPU_ROW_CHUNKS, "more chunks than shared memory holds");
}

static void see_batch_norm(launch_check *c, const rp_recorded *l, const rp_gpu_batch_norm *p)
{
    want(c, p->count == elements(&c->args->out[0]), "counts %llu", (unsigned long long)p->count);
    if (strstr(c->name, "channels") || strstr(c->name, "sums"))
        want(c, (wide)l->blocks[0] * l->threads >= p->channels, "%u blocks", l->blocks[0]);
}

static void see_group_norm(launch_check *c, const rp_gpu_group_norm *p)
{
    const wide width = p->wide ? 16 / rp_dtype_size(c->args->out[0].dtype) : 1;

    want(c, p->items * width == elements(&c->args->out[0]), "%u items", p->items);
}

static void see_group_numbers(launch_check *c, const rp_recorded *l, const rp_gpu_group_numbers *p)
{
    const rp_view *x = &c->args->in[0];

    want(c, (wide)p->items * p->width == (wide)x->shape[0] * x->shape[x->rank - 1], "%u groups", p->items);
    want(c, (wide)l->blocks[0] * (l->threads / 32) >= p->items, "%u blocks", l->blocks[0]);
}

/* Rows and columns of a tile's kernel are counted in 31 bits, those beyond the last one too. */
static void see_conv_tile(launch_check *c, const rp_recorded *l, const rp_gpu_conv_tile *p)
{
    const unsigned width = strstr(c->name, "_128_") ? 128 : 64;
    const wide tiles = blocks((wide)p->rows, RP_GPU_CONV_ROWS) * blocks((wide)p->columns, width);

    want(c, (wide)p->rows * (wide)p->columns * l->blocks[1] == elements(&c->args->out[0]), "%d rows, %d columns",
         p->rows, p->columns);
    want(c, l->blocks[0] == tiles, "%u blocks", l->blocks[0]);
    want(c, l->blocks[2] == (p->apart ? blocks((wide)p->taps * (wide)p->inner, RP_GPU_CONV_CHUNK) : 1), "%u chunks",
         l->blocks[2]);
    want(c, blocks((wide)p->rows, RP_GPU_CONV_ROWS) * RP_GPU_CONV_ROWS <= INT32_MAX, "rows beyond 31 bits");
    want(c, extent(&c->args->out[0]) < INT32_MAX, "results beyond 31 bits");
}

static void see_conv_weight(launch_check *c, const rp_recorded *l, const rp_gpu_conv_weight *p)
{
    const wide rows = (wide)p->taps * (wide)p->c, size = rows * (wide)p->groups * (wide)p->k;
    const unsigned width = strstr(c->name, "_128_") ? 128 : 64;

    const bool even = strstr(c->name, "_e") == c->name + strlen(c->name) - 2;

    want(c, size == elements(&c->args->out[0]), "%d taps, %d channels", p->taps, p->c);
    want(c, !even || (p->c % 32 == 0 && p->uneven == 0), "%d channels in a tile whose warps have one tap", p->c);
    want(c, l->threads == (even ? RP_GPU_WEIGHT_EVEN_THREADS : RP_GPU_WEIGHT_THREADS(width)), "%u threads", l->threads);
    want(c, p->chunks == blocks(p->pixels, RP_GPU_CONV_CHUNK), "%u chunks of %u pixels", p->chunks, p->pixels);
    c->chunks_wanted = p->chunks;
    want(c, l->blocks[0] == blocks(rows, RP_GPU_WEIGHT_ROWS) * blocks((wide)p->k, width), "%u blocks", l->blocks[0]);
    want(c, l->blocks[1] == (unsigned)p->groups && l->blocks[2] == p->here, "%u groups, %u chunks", l->blocks[1],
         l->blocks[2]);
    want(c, p->first == c->chunks, "begins at chunk %u", p->first);
    c->chunks = (uint64_t)p->first + p->here;
}

static void see_winograd(launch_check *c, const rp_recorded *l, const rp_gpu_winograd *p)
{
    const char *what = c->name + strlen("rp_gpu_winograd_");
    const wide threads = (wide)l->blocks[0] * l->threads;
    const wide tiles = (wide)p->x.shape[0] * p->across * p->down;

    want(c, (wide)p->first + p->tiles <= tiles, "tiles %u and %u", p->first, p->tiles);
    if (strncmp(what, "input", 5) == 0)
        want(c, threads >= (wide)p->tiles * p->channels, "%u blocks", l->blocks[0]);
    else if (strncmp(what, "weight", 6) == 0)
        want(c, threads >= (wide)p->channels * p->filters, "%u blocks", l->blocks[0]);
    else {
        want(c, threads >= (wide)p->tiles * p->filters, "%u blocks", l->blocks[0]);
        want(c, c->products == 36 && p->first == c->chunks, "of %llu products, tile %u",
             (unsigned long long)c->products, p->first);
        c->chunks = (uint64_t)p->first + p->tiles;
        c->chunks_wanted = (uint64_t)tiles;
        c->products = 0;
        c->products_wanted = 0;
    }
}

static const struct tile {
    const char *name;
    unsigned rows, columns;
} tiles[] = {{"f32_large", 128, 128}, {"f32_middle", 128, 64}, {"f32_small", 32, 64}, {"f32_thin", 16, 128},
             {"bf16_small", 32, 64},  {"bf16_thin", 16, 128},  {"f64_middle", 64, 64}};

static void see_product(launch_check *c, const rp_recorded *l, const rp_gpu_matmul *p)
{
    const struct tile *t = tiles, *const beyond = tiles + sizeof tiles / sizeof *tiles;
    wide batch = 1, all;

    while (t < beyond && strncmp(c->name + strlen("rp_gpu_matmul_"), t->name, strlen(t->name)) != 0)
        t++;
    want(c, t < beyond, "a tile that is not known here");
    if (t == beyond)
        return;
    all = blocks(p->m, t->rows) * blocks(p->n, t->columns);
    for (int d = 0; d < RP_GPU_MATMUL_BATCH_AXES; d++)
        batch *= p->batch[d];
    want(c, l->blocks[0] == all, "%u blocks for %u x %u", l->blocks[0], p->m, p->n);
    want(c, 8 * blocks(p->n, t->columns) <= INT32_MAX && all <= INT32_MAX, "bands beyond 31 bits");
    want(c, l->blocks[2] == (p->apart ? blocks(p->k, RP_GPU_MATMUL_CHUNK) : 1), "%u chunks", l->blocks[2]);
    if (c->args->n_in >= 3 && p->first == 0 && c->products == c->products_wanted)
        c->products = 0; /* attention has several */
    want(c, p->first == c->products, "begins at product %u", p->first);
    c->products = (uint64_t)p->first + l->blocks[1];
    c->products_wanted = (uint64_t)batch;
}

/* Rows of scores, in order of heads and queries; the gradient has a second pass over those of its block. */
static void see_attention(launch_check *c, const rp_recorded *l, const rp_gpu_attention *p)
{
    const wide first = (wide)p->first * p->m + p->begin, heads = elements(&c->args->out[0]) / p->m;

    want(c, (wide)l->blocks[0] * (p->block ? 1 : l->threads / 32) >= p->count, "%u blocks", l->blocks[0]);
    want(c, p->rows > 0 && p->count % p->rows == 0 && (p->rows == p->m || p->count == p->rows), "%u rows", p->rows);
    want(c, first == (strstr(c->name, "_weights_") ? c->chunks : c->chunks - p->count), "begins at head %llu",
         (unsigned long long)p->first);
    c->chunks = (uint64_t)first + p->count;
    c->chunks_wanted = (uint64_t)(heads / c->args->out[0].shape[c->args->out[0].rank - 1] * p->m);
}

/* Elements of all products, which threads go through in turns. */
static void see_join(launch_check *c, const rp_gpu_matmul_join *p)
{
    wide batch = 1;

    for (int d = 0; d < RP_GPU_MATMUL_BATCH_AXES; d++)
        batch *= p->batch[d];
    want(c, p->count == batch * p->m * p->n, "%llu results", (unsigned long long)p->count);
    want(c, (wide)p->m * p->n <= UINT32_MAX, "a product beyond 32 bits");
}

static void see_pack(launch_check *c, const rp_gpu_matmul_pack *p)
{
    wide batch = 1;

    for (int d = 0; d < RP_GPU_MATMUL_BATCH_AXES; d++)
        batch *= p->batch[d];
    want(c, p->count == batch * p->rows * p->inner && p->pitch >= p->inner, "%llu elements",
         (unsigned long long)p->count);
}

static bool begins(const launch_check *c, const char *with)
{
    return strncmp(c->name + strlen("rp_gpu_"), with, strlen(with)) == 0;
}

void launch_check_see(void *check, const rp_recorded *l)
{
    static const char *const rows[] = {"softmax", "log_softmax", "layer_norm", "rms_norm", "cross_entropy"};
    launch_check *c = check;
    bool is_rows = false;

    (void)snprintf(c->name, sizeof c->name, "%s", l->name);
    c->launches++;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        is_rows = is_rows || begins(c, rows[i]);
    if (begins(c, "ref_"))
        see_reference(c, l, l->parameters);
    else if (begins(c, "along_") || begins(c, "across_"))
        see_reduction(c, l, l->parameters, strstr(l->name, "_arg") != NULL);
    else if (begins(c, "cumsum_") || begins(c, "cumprod_"))
        want(c, (wide)l->blocks[0] * l->threads >= ((const rp_gpu_reduce *)l->parameters)->outputs, "%u blocks",
             l->blocks[0]);
    else if (is_rows)
        see_rows(c, l, l->parameters);
    else if (begins(c, "norm_lanes_"))
        want(c, ((const rp_gpu_norm_lanes *)l->parameters)->count == elements(&c->args->out[1]), "another count");
    else if (begins(c, "batch_"))
        see_batch_norm(c, l, l->parameters);
    else if (begins(c, "group_numbers_"))
        see_group_numbers(c, l, l->parameters);
    else if (begins(c, "group_"))
        see_group_norm(c, l->parameters);
    else if (begins(c, "conv_tile_"))
        see_conv_tile(c, l, l->parameters);
    else if (begins(c, "conv_weight_"))
        see_conv_weight(c, l, l->parameters);
    else if (begins(c, "conv_direct") || strstr(l->name, "_pool"))
        want(c, ((const rp_gpu_conv *)l->parameters)->count == elements(&c->args->out[0]), "another count");
    else if (begins(c, "attention_join_"))
        return; /* a thread an element, in turns */
    else if (begins(c, "attention_"))
        see_attention(c, l, l->parameters);
    else if (begins(c, "winograd_"))
        see_winograd(c, l, l->parameters);
    else if (begins(c, "matmul_pack_"))
        see_pack(c, l->parameters);
    else if (begins(c, "matmul_join_"))
        see_join(c, l->parameters);
    else if (begins(c, "matmul_"))
        see_product(c, l, l->parameters);
    else if (begins(c, "scatter_add_"))
        see_scatter(c, l->parameters);
    else if (begins(c, "transpose_"))
        see_tiles(c, l->parameters);
    else if (!begins(c, "copy_") && !begins(c, "fill_")) /* of a concatenation, padding or operand: a part */
        see_map(c, l->parameters, elements(&c->args->out[0]));
}

const char *launch_check_end(launch_check *c)
{
    want(c, c->launches > 0, "nothing was launched");
    want(c, c->pieces == 0, "pieces of a sum are left");
    want(c, c->products == c->products_wanted, "%llu products of %llu", (unsigned long long)c->products,
         (unsigned long long)c->products_wanted);
    want(c, c->chunks == c->chunks_wanted, "%llu chunks or tiles of %llu", (unsigned long long)c->chunks,
         (unsigned long long)c->chunks_wanted);
    return c->wrong[0] != '\0' ? c->wrong : NULL;
}
