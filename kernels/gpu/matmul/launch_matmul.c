/* SPDX-License-Identifier: Apache-2.0
 * Launches of matrix products: which tile of matmul.cu, how its operands lie, and whether chunks of k go to blocks of
 * their own. Only speed depends on what is chosen here; every way has the order of CONTRACT 4.4. */
#include "kernels/gpu/matmul/launch_matmul.h"

#include <stdio.h>
#include <string.h>

#include "kernels/gpu/launch_tuned.h"
#include "kernels/gpu/matmul/matmul_args.h"
#include "kernels/ref/matmul.h"

enum { ROW_BYTES = 16, FEW_STEPS = 64, PACK_THREADS = 256, MOST_BLOCKS_YZ = 65535, AXES = RP_GPU_MATMUL_BATCH_AXES };

/* An operand as [side, k]: rows of a, columns of b. */
typedef struct operand {
    const void *data;
    int64_t side_stride, k_stride;
    int64_t batch[AXES];
    size_t side;
    bool half; /* bf16 */
} operand;

typedef struct product {
    operand a, b;
    void *y;
    int64_t y_row, y_col, y_batch[AXES];
    uint32_t batch[AXES];
    size_t m, n, k, count; /* count: products of the batch */
    rp_dtype dtype;        /* of the operands; of bf16 with binary32 that, and the bf16 one is laid out anew as such */
} product;

typedef struct tile {
    const char *name;
    unsigned rows, columns, steps, stages, threads, vec;
    bool free;         /* takes operands that lie anyhow, else those that lie in 16 bytes along k or wide */
    bool columns_wide; /* of the free: there is one for wide columns */
    unsigned resident, alone, full; /* as rp_gpu_tile_speed */
} tile;

static const tile large = {"f32_large", 128, 128, 8, 4, 128, 4, false, false, 2, 66, 72};
static const tile middle = {"f32_middle", 128, 64, 16, 2, 128, 4, false, false, 3, 52, 70};
static const tile small[] = {[RP_F32] = {"f32_small", 32, 64, 16, 4, 128, 4, true, true, 6, 34, 50},
                             [RP_F64] = {"f64_middle", 64, 64, 8, 4, 128, 2, true, true, 3, 15, 30},
                             [RP_BF16] = {"bf16_small", 32, 64, 16, 2, 128, 4, true, false, 5, 30, 44}};
static const tile thin[] = {[RP_F32] = {"f32_thin", 16, 128, 16, 4, 128, 4, true, true, 4, 30, 44},
                            [RP_F64] = {"f64_middle", 64, 64, 8, 4, 128, 2, true, true, 3, 15, 30},
                            [RP_BF16] = {"bf16_thin", 16, 128, 16, 2, 128, 4, true, false, 5, 26, 40}};

/* false: a shape or stride that the kernels' numbers do not hold. */
static bool product_of(product *p, const rp_kernel_args *args)
{
    const rp_view *a = &args->in[0], *b = &args->in[1], *y = &args->out[0];
    const int r = y->rank - 2;

    if (r > AXES)
        return false;
    *p = (product){.a = {a->data, a->stride[r], a->stride[r + 1], {0}, y->shape[r], a->dtype == RP_BF16},
                   .b = {b->data, b->stride[r + 1], b->stride[r], {0}, y->shape[r + 1], b->dtype == RP_BF16},
                   .y = y->data,
                   .y_row = y->stride[r],
                   .y_col = y->stride[r + 1],
                   .m = y->shape[r],
                   .n = y->shape[r + 1],
                   .k = a->shape[r + 1],
                   .count = 1,
                   .dtype = a->dtype == b->dtype ? a->dtype : RP_F32};
    for (int d = 0; d < AXES; d++) {
        const int from = d - (AXES - r);

        p->batch[d] = from < 0 ? 1 : (uint32_t)y->shape[from];
        p->a.batch[d] = from < 0 ? 0 : a->stride[from];
        p->b.batch[d] = from < 0 ? 0 : b->stride[from];
        p->y_batch[d] = from < 0 ? 0 : y->stride[from];
        if (from >= 0 && y->shape[from] > INT32_MAX)
            return false;
        p->count *= p->batch[d];
        if (p->count > INT32_MAX)
            return false;
    }
    return p->m <= INT32_MAX / 2 && p->n <= INT32_MAX / 2 && p->k <= INT32_MAX / 2;
}

static bool fits(int64_t stride)
{
    return stride > -RP_GPU_MATMUL_STRIDE && stride < RP_GPU_MATMUL_STRIDE;
}

static bool strides_fit(const product *p)
{
    return fits(p->a.side_stride) && fits(p->a.k_stride) && fits(p->b.side_stride) && fits(p->b.k_stride);
}

/* The transposed product: fma(a, b, c) is fma(b, a, c). */
static void transpose(product *p)
{
    const operand a = p->a;
    const int64_t row = p->y_row;
    const size_t m = p->m;

    p->a = p->b;
    p->b = a;
    p->y_row = p->y_col;
    p->y_col = row;
    p->m = p->n;
    p->n = m;
}

static size_t blocks(size_t length, unsigned of)
{
    return (length + of - 1) / of;
}

static rp_gpu_tiling tiling_of(const rp_gpu_queue *queue, const product *p, const tile *t)
{
    const rp_gpu_tile_speed speed = {t->rows, t->columns, t->resident, t->alone, t->full};
    const rp_gpu_tiled_product all = {p->m, p->n, p->k, p->count};

    return rp_gpu_tiling_of(queue, &speed, &all, p->dtype == RP_F64 ? sizeof(double) : sizeof(float));
}

/* The tile that a model finds the fastest, where there is a choice, and whether chunks go to blocks of their own. */
static const tile *choose(const rp_gpu_queue *queue, const product *p, rp_gpu_tiling *tiling)
{
    const tile *const larger[] = {&large, &middle}, *best = &small[p->dtype];

    if (p->m <= thin[p->dtype].rows)
        best = &thin[p->dtype];
    *tiling = tiling_of(queue, p, best);
    if (p->m <= thin[p->dtype].rows || p->dtype == RP_F64 || p->k < FEW_STEPS)
        return best;
    for (size_t i = 0; i < sizeof larger / sizeof *larger; i++) {
        const rp_gpu_tiling found = tiling_of(queue, p, larger[i]);

        if (found.cycles < tiling->cycles) {
            *tiling = found;
            best = larger[i];
        }
    }
    return best;
}

/* Whether lines `stride` elements apart begin at 16 bytes, in each product. */
static bool in_16_bytes(const operand *o, int64_t stride, size_t element)
{
    const int64_t vec = ROW_BYTES / (int64_t)element;
    bool in = stride % vec == 0 && (uintptr_t)o->data % ROW_BYTES == 0;

    for (int d = 0; d < AXES; d++)
        in = in && o->batch[d] % vec == 0;
    return in;
}

static bool is_wide(const operand *o, size_t element)
{
    return o->side_stride == 1 && o->side % (ROW_BYTES / element) == 0 && in_16_bytes(o, o->k_stride, element);
}

static bool is_along(const operand *o)
{
    return o->k_stride == 1 && in_16_bytes(o, o->side_stride, sizeof(float));
}

/* Elements of an operand laid out anew: neighbours along k stay so, else its sides become neighbours. */
typedef struct layout {
    size_t rows, inner, pitch, products;
} layout;

static layout layout_of(const product *p, const operand *o)
{
    const bool along_k = o->k_stride == 1;
    layout l = {along_k ? o->side : p->k, along_k ? p->k : o->side, 0, 1};

    l.pitch = blocks(l.inner, 4) * 4;
    for (int d = 0; d < AXES; d++)
        l.products *= o->batch[d] == 0 ? 1 : p->batch[d];
    return l;
}

/* Lays operand o out anew at `to`, in binary32; o is then that. */
static void pack(rp_gpu_queue *queue, const product *p, operand *o, float *to)
{
    const layout l = layout_of(p, o);
    const bool along_k = o->k_stride == 1;
    rp_gpu_matmul_pack params = {.from = o->data,
                                 .to = to,
                                 .row = along_k ? o->side_stride : o->k_stride,
                                 .stride = along_k ? o->k_stride : o->side_stride,
                                 .rows = (uint32_t)l.rows,
                                 .inner = (uint32_t)l.inner,
                                 .pitch = (uint32_t)l.pitch,
                                 .count = (uint64_t)l.products * l.rows * l.inner};
    const uint64_t wanted = (params.count + PACK_THREADS - 1) / PACK_THREADS,
                   most = 32u * rp_gpu_multiprocessors(queue);
    int64_t next = (int64_t)(l.rows * l.pitch);

    for (int d = AXES - 1; d >= 0; d--) {
        const bool spread = o->batch[d] == 0;

        params.batch[d] = spread ? 1 : p->batch[d];
        params.stride_batch[d] = o->batch[d];
        o->batch[d] = spread ? 0 : next;
        next *= params.batch[d];
    }
    o->data = to;
    o->side_stride = along_k ? (int64_t)l.pitch : 1;
    o->k_stride = along_k ? 1 : (int64_t)l.pitch;
    rp_gpu_run(queue, o->half ? "rp_gpu_matmul_pack_bf16" : "rp_gpu_matmul_pack_f32",
               (rp_gpu_grid){(uint32_t)(wanted < most ? wanted : most), 1, 1, PACK_THREADS, 0}, &params, sizeof params);
}

static size_t packed_bytes(const product *p, const operand *o)
{
    const layout l = layout_of(p, o);

    return l.products * l.rows * l.pitch * sizeof(float);
}

/* Whether the tile takes the operand as it is. */
static bool lies_well(const product *p, const tile *t, const operand *o)
{
    if (t->free)
        return !o->half || p->dtype == RP_BF16;
    return !o->half && (is_wide(o, sizeof(float)) || is_along(o));
}

static bool y_is_wide(const product *p, unsigned vec)
{
    bool wide = p->y_col == 1 && p->y_row % vec == 0 && p->n % vec == 0 && (uintptr_t)p->y % ROW_BYTES == 0;

    for (int d = 0; d < AXES; d++)
        wide = wide && p->y_batch[d] % (int64_t)vec == 0;
    return wide;
}

/* The tile's kernel for operands packed or as they are; chunks > 1: each to its own place in `parts`. */
static void run_tile(rp_gpu_queue *queue, const product *p, const tile *t, const char sides[3], size_t chunks,
                     void *parts)
{
    const size_t element = p->dtype == RP_F64 ? sizeof(double) : sizeof(float);
    const unsigned shared = t->stages * t->steps * (t->rows + t->columns + 2 * t->vec) * (unsigned)element;
    rp_gpu_matmul params = {.a = p->a.data,
                            .b = p->b.data,
                            .y = chunks > 1 ? parts : p->y,
                            .a_row = (int32_t)p->a.side_stride,
                            .a_col = (int32_t)p->a.k_stride,
                            .b_row = (int32_t)p->b.k_stride,
                            .b_col = (int32_t)p->b.side_stride,
                            .y_row = chunks > 1 ? (int64_t)p->n : p->y_row,
                            .y_col = chunks > 1 ? 1 : p->y_col,
                            .y_chunk = (int64_t)(p->count * p->m * p->n),
                            .m = (uint32_t)p->m,
                            .n = (uint32_t)p->n,
                            .k = (uint32_t)p->k,
                            .apart = chunks > 1,
                            .wide = chunks > 1 ? p->n % t->vec == 0 : y_is_wide(p, t->vec)};
    char name[48];

    memcpy(params.a_batch, p->a.batch, sizeof params.a_batch);
    memcpy(params.b_batch, p->b.batch, sizeof params.b_batch);
    memcpy(params.y_batch, p->y_batch, sizeof params.y_batch);
    memcpy(params.batch, p->batch, sizeof params.batch);
    snprintf(name, sizeof name, "rp_gpu_matmul_%s_%s", t->name, sides);
    for (size_t first = 0; first < p->count; first += MOST_BLOCKS_YZ) {
        const size_t left = p->count - first;
        const rp_gpu_grid grid = {(uint32_t)(blocks(p->m, t->rows) * blocks(p->n, t->columns)),
                                  (uint32_t)(left < MOST_BLOCKS_YZ ? left : MOST_BLOCKS_YZ), (uint32_t)chunks,
                                  t->threads, shared};

        params.first = (uint32_t)first;
        rp_gpu_run(queue, name, grid, &params, sizeof params);
    }
}

void rp_gpu_matmul_add(rp_gpu_queue *queue, rp_dtype dtype, rp_gpu_matmul_join *p)
{
    const int64_t vec = ROW_BYTES / (int64_t)(dtype == RP_F64 ? sizeof(double) : sizeof(float));
    const uint64_t most = 32u * rp_gpu_multiprocessors(queue);
    uint64_t wanted;

    p->count = (uint64_t)p->m * p->n;
    p->wide = p->n % vec == 0 && p->part % vec == 0 && p->y_col == 1 && p->y_row % vec == 0 &&
              (uintptr_t)p->y % ROW_BYTES == 0;
    for (int d = 0; d < AXES; d++) {
        p->count *= p->batch[d];
        p->wide = p->wide && p->y_batch[d] % vec == 0;
    }
    wanted = (p->count / (p->wide ? (uint64_t)vec : 1) + PACK_THREADS - 1) / PACK_THREADS;
    rp_gpu_run(queue, dtype == RP_F64 ? "rp_gpu_matmul_join_f64" : "rp_gpu_matmul_join_f32",
               (rp_gpu_grid){(uint32_t)(wanted < most ? wanted : most), 1, 1, PACK_THREADS, 0}, p, sizeof *p);
}

static void join(rp_gpu_queue *queue, const product *p, size_t chunks, const void *parts)
{
    rp_gpu_matmul_join params = {.parts = parts,
                                 .y = p->y,
                                 .y_row = p->y_row,
                                 .y_col = p->y_col,
                                 .part = (int64_t)(p->count * p->m * p->n),
                                 .m = (uint32_t)p->m,
                                 .n = (uint32_t)p->n,
                                 .chunks = (uint32_t)chunks};

    memcpy(params.y_batch, p->y_batch, sizeof params.y_batch);
    memcpy(params.batch, p->batch, sizeof params.batch);
    rp_gpu_matmul_add(queue, p->dtype, &params);
}

/* A product with its tile, its chunks and what it needs of a workspace. */
typedef struct plan {
    product p;
    const tile *t;
    size_t chunks, bytes_parts, bytes_a, bytes_b;
} plan;

/* Laid out anew an operand has a stride of its own: its rows' pitch. */
static bool packs(const product *p, const tile *t, const operand *o)
{
    return lies_well(p, t, o) || fits((int64_t)layout_of(p, o).pitch);
}

/* false: the kernels do not take it. */
static bool plan_of(const rp_gpu_queue *queue, plan *l, const rp_kernel_args *args)
{
    product *p = &l->p;
    rp_gpu_tiling tiling;

    *l = (plan){.chunks = 1};
    if (!product_of(p, args) || !strides_fit(p))
        return false;
    if (p->m == 0 || p->n == 0 || p->count == 0)
        return true;
    if (p->n < p->m && p->n <= thin[p->dtype].rows)
        transpose(p);
    l->t = choose(queue, p, &tiling);
    if (tiling.tiles / p->count > INT32_MAX)
        return false;
    l->chunks = tiling.chunks;
    if (l->chunks > 1)
        l->bytes_parts = l->chunks * p->count * p->m * p->n * (p->dtype == RP_F64 ? sizeof(double) : sizeof(float));
    l->bytes_parts = blocks(l->bytes_parts, ROW_BYTES) * ROW_BYTES;
    if (!packs(p, l->t, &p->a) || !packs(p, l->t, &p->b))
        return false;
    l->bytes_a = lies_well(p, l->t, &p->a) ? 0 : packed_bytes(p, &p->a);
    l->bytes_b = lies_well(p, l->t, &p->b) ? 0 : packed_bytes(p, &p->b);
    return true;
}

static void run_plan(rp_gpu_queue *queue, plan *l, char *memory)
{
    product *p = &l->p;
    char sides[3] = "ss";

    if (l->bytes_a > 0)
        pack(queue, p, &p->a, (float *)(void *)(memory + l->bytes_parts));
    if (l->bytes_b > 0)
        pack(queue, p, &p->b, (float *)(void *)(memory + l->bytes_parts + l->bytes_a));
    if (!l->t->free)
        sides[0] = is_along(&p->a) ? 'k' : 'w', sides[1] = is_along(&p->b) ? 'k' : 'w';
    else if (l->t->columns_wide && is_wide(&p->b, p->dtype == RP_F64 ? sizeof(double) : sizeof(float)))
        sides[1] = 'w';
    run_tile(queue, p, l->t, sides, l->chunks, memory);
    if (l->chunks > 1)
        join(queue, p, l->chunks, memory);
}

bool rp_gpu_launch_matmul(rp_gpu_queue *queue, rp_kernel_id kernel, const rp_kernel_args *args)
{
    char *memory = NULL;
    size_t bytes;
    plan l;

    (void)kernel;
    if (!plan_of(queue, &l, args))
        return false;
    if (l.t == NULL) /* no results */
        return true;
    bytes = l.bytes_parts + l.bytes_a + l.bytes_b;
    if (bytes > 0 && (memory = rp_gpu_workspace(queue, bytes)) == NULL)
        return true; /* queue->status tells */
    run_plan(queue, &l, memory);
    return true;
}

size_t rp_gpu_matmul_most(size_t m, size_t k, size_t n, size_t count, size_t size)
{
    const size_t chunks = blocks(k, RP_MATMUL_CHUNK), pitch = blocks(k, 4) * 4;
    const size_t parts = chunks > 1 ? blocks(chunks * count * m * n * size, ROW_BYTES) * ROW_BYTES : 0;

    return parts + (pitch == k ? 0 : count * m * pitch * size); /* rows of a that do not begin at 16 bytes */
}

bool rp_gpu_matmul_takes(size_t k, size_t n)
{
    return k < RP_GPU_MATMUL_STRIDE && n < RP_GPU_MATMUL_STRIDE;
}

bool rp_gpu_matmul_needs(const rp_gpu_queue *queue, const rp_kernel_args *args, size_t *bytes)
{
    plan l;

    if (!plan_of(queue, &l, args))
        return false;
    *bytes = l.bytes_parts + l.bytes_a + l.bytes_b;
    return true;
}

void rp_gpu_matmul_here(rp_gpu_queue *queue, const rp_kernel_args *args, void *memory)
{
    plan l;

    if (queue->status != RP_OK)
        return;
    if (!plan_of(queue, &l, args))
        queue->status = rp_fail(queue->err, RP_EUNSUPPORTED, "matrix product: its rows lie too far apart");
    else if (l.t != NULL)
        run_plan(queue, &l, memory);
}
