/* SPDX-License-Identifier: Apache-2.0
 * A table of works, each one kernel call that training and inference are made of, timed beside the limits of the host.
 */
#include "base/handle.h"
#include "rp/bench.h"

#include <string.h>

#include "determinism/fpenv.h"
#include "base/memory.h"
#include "kernels/device.h"
#include "kernels/limits.h"
#include "kernels/walk.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum { ROUNDS = 7, VIEWS = 10 };
static const double work_seconds = 0.3;

typedef enum limit { NONE, FMA32, FMA64, MEMORY } limit;

/* A row-major operand; rank -1 ends the list. */
typedef struct operand {
    rp_dtype dtype;
    int rank;
    size_t shape[4];
} operand;

typedef struct work {
    const char *name;
    rp_kernel_id kernel;
    limit limit;
    double amount; /* flops or elements; 0 with MEMORY: the bytes of all operands, each moved once */
    int n_in;
    operand operand[VIEWS]; /* inputs, then outputs, up to the first of rank -1 */
    rp_attr attr[RP_MAX_ATTR];
} work;

#define END \
    { \
        .rank = -1 \
    }
#define F32(n, ...) \
    { \
        RP_F32, n, \
        { \
            __VA_ARGS__ \
        } \
    }
#define F64(n, ...) \
    { \
        RP_F64, n, \
        { \
            __VA_ARGS__ \
        } \
    }
#define MATMUL(type, label, m, n, k, fma) \
    { \
        "matmul " label, RP_K_matmul, fma, 2.0 * (m) * (n) * (k), 2, \
            {type(2, m, k), type(2, k, n), type(2, m, n), END}, \
        { \
            { \
                0 \
            } \
        } \
    }
#define CONV_ATTR \
    { \
        {.n = 2, .list = {1, 1}}, {.n = 4, .list = {1, 1, 1, 1}}, {.n = 2, .list = {1, 1}}, \
        { \
            .i = 1 \
        } \
    }
#define CONV_FLOPS (2.0 * 2 * 28 * 28 * 128 * 128 * 9)
#define FUNCTION(name) \
    { \
#name " f32 4096", RP_K_##name, NONE, 4096, 1, {F32(1, 4096), F32(1, 4096), END }, \
        { \
            { \
                0 \
            } \
        } \
    }
enum { LARGE = 1 << 24, ROWS = 1 << 14, WIDTH = 1 << 10 }; /* 64 MiB of binary32: more than caches hold */

static const work works[] = {
    MATMUL(F32, "f32 1024 x 1024 x 1024", 1024, 1024, 1024, FMA32),
    MATMUL(F32, "f32 256 x 1024 x 1024", 256, 1024, 1024, FMA32),
    MATMUL(F32, "f32 32 x 64 x 64", 32, 64, 64, FMA32),
    MATMUL(F32, "f32 1 x 4096 x 4096", 1, 4096, 4096, MEMORY),
    MATMUL(F64, "f64 1024 x 1024 x 1024", 1024, 1024, 1024, FMA64),
    {"conv2d f32 28 x 28 x 128, 3 x 3",
     RP_K_conv2d,
     FMA32,
     CONV_FLOPS,
     2,
     {F32(4, 2, 28, 28, 128), F32(4, 3, 3, 128, 128), F32(4, 2, 28, 28, 128), END},
     CONV_ATTR},
    {"conv2d_grad_input, the same",
     RP_K_conv2d_grad_input,
     FMA32,
     CONV_FLOPS,
     2,
     {F32(4, 2, 28, 28, 128), F32(4, 3, 3, 128, 128), F32(4, 2, 28, 28, 128), END},
     CONV_ATTR},
    {"conv2d_grad_weight, the same",
     RP_K_conv2d_grad_weight,
     FMA32,
     CONV_FLOPS,
     2,
     {F32(4, 2, 28, 28, 128), F32(4, 2, 28, 28, 128), F32(4, 3, 3, 128, 128), END},
     CONV_ATTR},
    {"sum f32 2^24", RP_K_sum, MEMORY, 0, 1, {F32(1, LARGE), F32(1, 1), END}, {{.n = 1, .list = {0}}}},
    {"softmax f32 2^14 x 2^10", RP_K_softmax, MEMORY, 0, 1, {F32(2, ROWS, WIDTH), F32(2, ROWS, WIDTH), END}, {{0}}},
    {"layer_norm f32 2^14 x 2^10",
     RP_K_layer_norm,
     MEMORY,
     0,
     3,
     {F32(2, ROWS, WIDTH), F32(1, WIDTH), F32(1, WIDTH), F32(2, ROWS, WIDTH), END},
     {{.r = 1e-5}}},
    {"add f32 2^24", RP_K_add, MEMORY, 0, 2, {F32(1, LARGE), F32(1, LARGE), F32(1, LARGE), END}, {{0}}},
    {"relu f32 2^24", RP_K_relu, MEMORY, 0, 1, {F32(1, LARGE), F32(1, LARGE), END}, {{0}}},
    {"adamw f32 2^24",
     RP_K_adamw,
     MEMORY,
     0,
     7,
     {F32(1, LARGE), F32(1, LARGE), F32(1, LARGE), F32(1, LARGE), F32(0, 0), F32(0, 0), F32(0, 0), F32(1, LARGE),
      F32(1, LARGE), F32(1, LARGE)},
     {{.r = 0.9}, {.r = 0.999}, {.r = 1e-8}, {.r = 0.01}}},
    FUNCTION(exp),
    FUNCTION(log),
    FUNCTION(tanh),
    FUNCTION(sigmoid),
    FUNCTION(erf),
    FUNCTION(gelu),
    FUNCTION(sin),
};

typedef struct bench {
    rp_device *device;
    rp_view view[VIEWS];
    int n_views;
    double fma[2], read, copy; /* limits; 0: not yet measured */
} bench;

static void drop_views(bench *b)
{
    for (int i = 0; i < b->n_views; i++)
        rp_device_release(b->device, b->view[i].data);
    b->n_views = 0;
}

/* Values between 0.5 and 1.5 that differ: neither subnormals nor a branch that always goes the same way. */
static rp_status fill(bench *b, const rp_view *view, size_t count, rp_error *err)
{
    void *host = rp_reallocarray(NULL, count, rp_dtype_size(view->dtype));
    rp_status status;

    if (!host)
        return rp_no_memory(err);
    for (size_t i = 0; i < count; i++) {
        double value = 0.5 + (double)(i * 2654435761u % 1024) / 1024;

        if (view->dtype == RP_F32)
            ((float *)host)[i] = (float)value;
        else
            ((double *)host)[i] = value;
    }
    status = rp_device_upload(b->device, view->data, host, count * rp_dtype_size(view->dtype), NULL, err);
    rp_free(host);
    return status;
}

static rp_status make_views(bench *b, const work *w, rp_error *err)
{
    for (b->n_views = 0; b->n_views < VIEWS && w->operand[b->n_views].rank >= 0; b->n_views++) {
        const operand *o = &w->operand[b->n_views];
        rp_view *v = &b->view[b->n_views];
        ptrdiff_t stride = 1;
        rp_status status;

        *v = (rp_view){.dtype = o->dtype, .rank = o->rank};
        memcpy(v->shape, o->shape, sizeof o->shape);
        for (int d = o->rank - 1; d >= 0; d--) {
            v->stride[d] = stride;
            stride *= (ptrdiff_t)o->shape[d];
        }
        status = rp_device_allocate(b->device, &v->data, (size_t)stride * rp_dtype_size(o->dtype), err);
        if (status == RP_OK)
            status = fill(b, v, (size_t)stride, err);
        if (status != RP_OK)
            return status;
    }
    return RP_OK;
}

static double bytes_moved(const bench *b)
{
    double bytes = 0;

    for (int i = 0; i < b->n_views; i++)
        bytes += (double)rp_view_count(&b->view[i]) * (double)rp_dtype_size(b->view[i].dtype);
    return bytes;
}

/* The median of at least ROUNDS rounds of as many calls as make a round long enough for the clock. */
static rp_status measure(bench *b, const work *w, double *seconds, rp_error *err)
{
    const rp_kernel_args args = {b->view, (size_t)w->n_in, b->view + w->n_in, (size_t)(b->n_views - w->n_in), w->attr};
    double took[64], total = 0, first;
    size_t calls = 1, rounds = 0;

    for (int warm = 0; warm < 2; warm++) {
        rp_status status;

        first = rp_seconds_now();
        status = rp_device_launch(b->device, w->kernel, &args, NULL, err);
        if (status == RP_OK)
            status = rp_device_synchronize(b->device, NULL, err);
        if (status != RP_OK)
            return status;
        first = rp_seconds_now() - first;
    }
    if (first < 2e-4)
        calls = (size_t)(2e-4 / (first + 1e-7)) + 1;
    while (rounds < ROUNDS || (total < work_seconds && rounds < COUNT(took))) {
        double start = rp_seconds_now();

        for (size_t i = 0; i < calls; i++)
            (void)rp_device_launch(b->device, w->kernel, &args, NULL, NULL);
        (void)rp_device_synchronize(b->device, NULL, NULL);
        took[rounds] = rp_seconds_now() - start;
        total += took[rounds];
        took[rounds++] /= (double)calls;
    }
    *seconds = rp_median(took, rounds);
    return RP_OK;
}

/* The limit's rate. Memory: of what is read against what is copied, by the share of the outputs in the bytes. */
static double limit_rate(bench *b, const work *w)
{
    const size_t bytes = (size_t)LARGE * 4;
    rp_pool *pool = rp_device_pool(b->device);
    double out = 0, all = bytes_moved(b), writes;

    if (w->limit == FMA32 || w->limit == FMA64) {
        double *fma = &b->fma[w->limit == FMA64];

        if (*fma == 0)
            *fma = rp_limit_fma(pool, w->limit == FMA64 ? 8 : 4);
        return *fma;
    }
    if (w->limit != MEMORY)
        return 0;
    if (b->read == 0) {
        b->read = rp_limit_read(pool, bytes);
        b->copy = rp_limit_copy(pool, bytes);
    }
    for (int i = w->n_in; i < b->n_views; i++)
        out += (double)rp_view_count(&b->view[i]) * (double)rp_dtype_size(b->view[i].dtype);
    if (b->read == 0 || b->copy == 0)
        return 0;
    /* A copy writes one byte for each it reads; what goes beyond that is reading alone. */
    writes = 2 * out < all ? 2 * out : all;
    return all / (writes / b->copy + (all - writes) / b->read);
}

static rp_status measure_work(bench *b, const work *w, rp_bench_row *row, rp_error *err)
{
    rp_status status = make_views(b, w, err);
    double rate;

    *row = (rp_bench_row){.work = w->name};
    if (status == RP_OK)
        status = measure(b, w, &row->seconds, err);
    if (status == RP_OK) {
        row->amount = w->limit == MEMORY ? bytes_moved(b) : w->amount;
        row->unit = w->limit == MEMORY ? "byte" : w->limit == NONE ? "element" : "flop";
        row->limit = w->limit == MEMORY ? "memory" : w->limit == NONE ? NULL : "fma";
        rate = limit_rate(b, w);
        row->fraction = rate > 0 ? row->amount / row->seconds / rate : 0;
    }
    drop_views(b);
    return status;
}

static bool wanted(const work *w, const char *only)
{
    return !only || strstr(w->name, only);
}

rp_status rp_bench(const rp_bench_options *options, bool (*row)(void *self, const rp_bench_row *row), void *self,
                   rp_error *err)
{
    const char *only = options ? options->only : NULL;
    unsigned threads = options ? options->threads : 0;
    bench b = {0};
    size_t index = 0, count = 0;
    rp_fpenv saved;
    rp_status status = row ? rp_fpenv_enter(&saved, NULL, err) : rp_no_value(err, __func__, "row");

    if (status != RP_OK)
        return status;
    if (threads == 0)
        threads = rp_processors(64);
    status = rp_device_open(&b.device, options ? options->device : NULL, options ? options->level : NULL, threads, err);
    for (size_t i = 0; i < COUNT(works); i++)
        count += wanted(&works[i], only);
    if (status == RP_OK && count == 0)
        status = rp_fail(err, RP_EARG, "bench: no work has \"%s\" in its name; without a name all of them are measured",
                         only);
    for (size_t i = 0; i < COUNT(works) && status == RP_OK; i++) {
        rp_bench_row result;

        if (!wanted(&works[i], only))
            continue;
        status = measure_work(&b, &works[i], &result, err);
        result.index = index++;
        result.count = count;
        result.level = rp_device_level(b.device);
        result.device = rp_device_shares_memory(b.device) ? NULL : rp_device_identity(b.device);
        if (status == RP_OK && !row(self, &result))
            status = rp_fail(err, RP_ECANCELED, "bench: stopped after %s", result.work);
    }
    rp_device_free(b.device);
    rp_fpenv_leave(&saved);
    return status;
}
