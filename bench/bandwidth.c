/* SPDX-License-Identifier: Apache-2.0
 * Kernels that should run at the speed of memory. For each: time, GB/s of the bytes that must move (each input read
 * once, each output written once), and the fraction of what the best loop over the same number of read and write
 * streams reaches, with non-temporal stores where they are faster, measured between the same calls: medians. bandwidth
 * [--rounds 9] [--threads 1,2] [--only text] [--level avx512] [--mib 64]
 * --mib is the size of one array; below 1 (say 0.0625) everything stays in cache. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "determinism/fpenv.h"
#include "kernels/device.h"
#include "limits.h"
#include "kernels/limits.h"

enum { MAX_ROUNDS = 101, ARRAYS = 8 };
static const double block_seconds = 0.004;

static char *array[ARRAYS]; /* [0] to [3] hold reals in 0 .. 1, [4] to [6] are for outputs, [7] small things */
static size_t array_bytes;

/* What a call reads and writes: streams for the limit, and bytes that must move. */
typedef struct job {
    rp_view in[7], out[3];
    rp_attr attr[RP_MAX_ATTR];
    rp_kernel_args args;
    int reads, writes;
    double bytes;
} job;

static rp_view view(void *data, rp_dtype dtype, size_t rows, size_t cols)
{
    return (rp_view){data, dtype, 2, {rows, cols}, {(ptrdiff_t)cols, 1}};
}

static double view_bytes(const rp_view *v)
{
    double bytes = (double)rp_dtype_size(v->dtype);

    for (int d = 0; d < v->rank; d++)
        bytes *= v->stride[d] == 0 ? 1 : (double)v->shape[d];
    return bytes;
}

typedef enum shape_kind {
    FLAT,
    ROWS,
    LABELS,
    NORM,
    REDUCE_ALL,
    REDUCE_LAST,
    REDUCE_FIRST,
    ARGMAX,
    ARGMAX_FIRST,
    SCAN_LAST,
    SCAN_FIRST,
    CAST,
    COPY,
    FILL,
    CONCAT,
    PAD,
    GATHER,
    ONE_HOT,
    RANDOM,
    DROPOUT,
    OPTIMIZER,
    WHERE,
    SCALAR
} shape_kind;

typedef struct entry {
    const char *name;
    rp_kernel_id kernel;
    shape_kind kind;
    size_t cols; /* 0: one row */
    int n_in, n_out;
    rp_dtype from, to;
    bool in_place;
} entry;

static const entry entries[] = {
    {"sum, all", RP_K_sum, REDUCE_ALL, 0, 1, 1, RP_F32, RP_F32, false},
    {"sum, rows", RP_K_sum, REDUCE_LAST, 1024, 1, 1, RP_F32, RP_F32, false},
    {"sum, columns", RP_K_sum, REDUCE_FIRST, 1024, 1, 1, RP_F32, RP_F32, false},
    {"mean, columns f64", RP_K_mean, REDUCE_FIRST, 100, 1, 1, RP_F64, RP_F64, false},
    {"max, all", RP_K_max, REDUCE_ALL, 0, 1, 1, RP_F32, RP_F32, false},
    {"max, rows", RP_K_max, REDUCE_LAST, 1024, 1, 1, RP_F32, RP_F32, false},
    {"max, columns", RP_K_max, REDUCE_FIRST, 1024, 1, 1, RP_F32, RP_F32, false},
    {"argmax, rows", RP_K_argmax, ARGMAX, 1024, 1, 1, RP_F32, RP_I64, false},
    {"argmax, columns", RP_K_argmax, ARGMAX_FIRST, 1024, 1, 1, RP_F32, RP_I64, false},
    {"min, all", RP_K_min, REDUCE_ALL, 0, 1, 1, RP_F32, RP_F32, false},
    {"min, rows", RP_K_min, REDUCE_LAST, 1024, 1, 1, RP_F32, RP_F32, false},
    {"min, columns", RP_K_min, REDUCE_FIRST, 1024, 1, 1, RP_F32, RP_F32, false},
    {"argmin, rows", RP_K_argmin, ARGMAX, 1024, 1, 1, RP_F32, RP_I64, false},
    {"argmin, columns", RP_K_argmin, ARGMAX_FIRST, 1024, 1, 1, RP_F32, RP_I64, false},
    {"var, all", RP_K_var, REDUCE_ALL, 0, 1, 1, RP_F32, RP_F32, false},
    {"var, rows", RP_K_var, REDUCE_LAST, 1024, 1, 1, RP_F32, RP_F32, false},
    {"var, columns", RP_K_var, REDUCE_FIRST, 1024, 1, 1, RP_F32, RP_F32, false},
    {"logsumexp, all", RP_K_logsumexp, REDUCE_ALL, 0, 1, 1, RP_F32, RP_F32, false},
    {"logsumexp, rows", RP_K_logsumexp, REDUCE_LAST, 1024, 1, 1, RP_F32, RP_F32, false},
    {"logsumexp, columns", RP_K_logsumexp, REDUCE_FIRST, 1024, 1, 1, RP_F32, RP_F32, false},
    {"cumsum, rows", RP_K_cumsum, SCAN_LAST, 1000, 1, 1, RP_F32, RP_F32, false},
    {"cumsum, rows", RP_K_cumsum, SCAN_LAST, 1024, 1, 1, RP_F32, RP_F32, false},
    {"cumsum, columns", RP_K_cumsum, SCAN_FIRST, 1024, 1, 1, RP_F32, RP_F32, false},
    {"argmax, 10 classes", RP_K_argmax, ARGMAX, 10, 1, 1, RP_F32, RP_I64, false},
    {"softmax", RP_K_softmax, ROWS, 64, 1, 1, RP_F32, RP_F32, false},
    {"softmax", RP_K_softmax, ROWS, 1024, 1, 1, RP_F32, RP_F32, false},
    {"softmax", RP_K_softmax, ROWS, 32768, 1, 1, RP_F32, RP_F32, false},
    {"softmax", RP_K_softmax, ROWS, 1048576, 1, 1, RP_F32, RP_F32, false},
    {"softmax_grad", RP_K_softmax_grad, ROWS, 1024, 2, 1, RP_F32, RP_F32, false},
    {"log_softmax", RP_K_log_softmax, ROWS, 1024, 1, 1, RP_F32, RP_F32, false},
    {"log_softmax_grad", RP_K_log_softmax_grad, ROWS, 1024, 2, 1, RP_F32, RP_F32, false},
    {"layer_norm", RP_K_layer_norm, NORM, 256, 1, 1, RP_F32, RP_F32, false},
    {"layer_norm", RP_K_layer_norm, NORM, 1024, 1, 1, RP_F32, RP_F32, false},
    {"layer_norm", RP_K_layer_norm, NORM, 8192, 1, 1, RP_F32, RP_F32, false},
    {"layer_norm_grad", RP_K_layer_norm_grad, NORM, 1024, 2, 1, RP_F32, RP_F32, false},
    {"cross_entropy", RP_K_cross_entropy, LABELS, 1024, 1, 1, RP_F32, RP_F32, false},
    {"cross_entropy_grad", RP_K_cross_entropy_grad, LABELS, 1024, 1, 1, RP_F32, RP_F32, false},
    {"add", RP_K_add, FLAT, 0, 2, 1, RP_F32, RP_F32, false},
    {"add, in place", RP_K_add, FLAT, 0, 2, 1, RP_F32, RP_F32, true},
    {"mul by scalar", RP_K_mul, SCALAR, 0, 1, 1, RP_F32, RP_F32, false},
    {"mul f64", RP_K_mul, FLAT, 0, 2, 1, RP_F64, RP_F64, false},
    {"add a row to rows", RP_K_add, NORM, 1024, 1, 1, RP_F32, RP_F32, false},
    {"relu", RP_K_relu, FLAT, 0, 1, 1, RP_F32, RP_F32, false},
    {"relu, in place", RP_K_relu, FLAT, 0, 1, 1, RP_F32, RP_F32, true},
    {"relu_grad", RP_K_relu_grad, FLAT, 0, 2, 1, RP_F32, RP_F32, false},
    {"maximum", RP_K_maximum, FLAT, 0, 2, 1, RP_F32, RP_F32, false},
    {"sqrt", RP_K_sqrt, FLAT, 0, 1, 1, RP_F32, RP_F32, false},
    {"exp", RP_K_exp, FLAT, 0, 1, 1, RP_F32, RP_F32, false},
    {"where", RP_K_where, WHERE, 0, 3, 1, RP_F32, RP_F32, false},
    {"lt", RP_K_lt, FLAT, 0, 2, 1, RP_F32, RP_BOOL, false},
    {"cast f32 to f64", RP_K_cast, CAST, 0, 1, 1, RP_F32, RP_F64, false},
    {"cast f64 to f32", RP_K_cast, CAST, 0, 1, 1, RP_F64, RP_F32, false},
    {"cast f32 to i32", RP_K_cast, CAST, 0, 1, 1, RP_F32, RP_I32, false},
    {"cast f32 to i64", RP_K_cast, CAST, 0, 1, 1, RP_F32, RP_I64, false},
    {"cast i64 to f32", RP_K_cast, CAST, 0, 1, 1, RP_I64, RP_F32, false},
    {"cast bool to f32", RP_K_cast, CAST, 0, 1, 1, RP_BOOL, RP_F32, false},
    {"copy", RP_K_copy, FLAT, 0, 1, 1, RP_F32, RP_F32, false},
    {"copy, transposed", RP_K_copy, COPY, 4096, 1, 1, RP_F32, RP_F32, false},
    {"copy, transposed", RP_K_copy, COPY, 1000, 1, 1, RP_F32, RP_F32, false},
    {"copy, transposed f64", RP_K_copy, COPY, 1000, 1, 1, RP_F64, RP_F64, false},
    {"fill", RP_K_fill, FILL, 0, 0, 1, RP_F32, RP_F32, false},
    {"iota i64", RP_K_iota, FILL, 0, 0, 1, RP_I64, RP_I64, false},
    {"concat", RP_K_concat, CONCAT, 1024, 2, 1, RP_F32, RP_F32, false},
    {"pad", RP_K_pad, PAD, 1000, 1, 1, RP_F32, RP_F32, false},
    {"gather", RP_K_gather, GATHER, 64, 1, 1, RP_F32, RP_F32, false},
    {"gather", RP_K_gather, GATHER, 512, 1, 1, RP_F32, RP_F32, false},
    {"scatter_add", RP_K_scatter_add, GATHER, 64, 1, 1, RP_F32, RP_F32, false},
    {"scatter_add", RP_K_scatter_add, GATHER, 512, 1, 1, RP_F32, RP_F32, false},
    {"one_hot", RP_K_one_hot, ONE_HOT, 1000, 1, 1, RP_I64, RP_F32, false},
    {"sgd, momentum", RP_K_sgd, OPTIMIZER, 0, 3, 2, RP_F32, RP_F32, true},
    {"adam", RP_K_adam, OPTIMIZER, 0, 4, 3, RP_F32, RP_F32, true},
    {"adamw", RP_K_adamw, OPTIMIZER, 0, 4, 3, RP_F32, RP_F32, true},
    {"rmsprop", RP_K_rmsprop, OPTIMIZER, 0, 4, 3, RP_F32, RP_F32, true},
    {"uniform", RP_K_uniform, RANDOM, 0, 1, 1, RP_I64, RP_F32, false},
    {"uniform f64", RP_K_uniform, RANDOM, 0, 1, 1, RP_I64, RP_F64, false},
    {"normal", RP_K_normal, RANDOM, 0, 1, 1, RP_I64, RP_F32, false},
    {"dropout", RP_K_dropout, DROPOUT, 0, 1, 1, RP_F32, RP_F32, false},
};

/* Indices without pattern, below limit. */
static void fill_indices(size_t n, size_t limit)
{
    for (size_t i = 0; i < n; i++)
        ((int64_t *)array[6])[i] = (int64_t)((i * 2654435761u >> 7) % limit);
}

static void fill_arrays(const entry *e)
{
    for (int a = 0; a < ARRAYS; a++)
        for (size_t i = 0; i < array_bytes / 4; i++) {
            const float real = (float)(i * 2654435761u % 1000003) / 1000003;

            if (a > 3)
                ((float *)array[a])[i] = 0;
            else if (e->from == RP_F32)
                ((float *)array[a])[i] = real;
            else if (e->from == RP_F64)
                ((double *)array[a])[i / 2] = real;
            else
                ((uint32_t *)array[a])[i] = e->from == RP_BOOL ? 0x01000100 : (uint32_t)(i % 2 == 0 ? i : 0);
        }
    if (e->kind == WHERE)
        for (size_t i = 0; i < array_bytes; i++)
            array[2][i] = (char)(i * 2654435761u >> 9 & 1);
    for (int i = 0; i < 3; i++)
        ((float *)array[7])[i] = 0.01f; /* rates of optimizers */
}

/* An operand that is an array of the whole shape; bound to the next one. */
static void operands(job *j, const entry *e, size_t rows, size_t cols)
{
    for (int i = 0; i < e->n_in; i++)
        j->in[j->args.n_in++] = view(array[i], e->from, rows, cols);
    for (int i = 0; i < e->n_out; i++)
        j->out[j->args.n_out++] = view(array[e->in_place ? i : 4 + i], e->to, rows, cols);
}

static void shape_reduction(job *j, const entry *e)
{
    const bool first = e->kind == REDUCE_FIRST || e->kind == ARGMAX_FIRST;
    rp_view *out = &j->out[0];

    if (e->kind == SCAN_LAST || e->kind == SCAN_FIRST) {
        j->attr[0].i = e->kind == SCAN_LAST;
        return;
    }
    if (first || e->kind == REDUCE_ALL)
        out->shape[0] = 1;
    if (!first)
        out->shape[1] = 1, out->stride[0] = 1;
    j->attr[0].n = e->kind == REDUCE_ALL ? 2 : 1;
    j->attr[0].i = j->attr[0].list[0] = e->kind == REDUCE_LAST || e->kind == ARGMAX;
    j->attr[0].list[1] = 1;
    if (e->kind == REDUCE_ALL)
        j->attr[0].list[0] = 0;
}

static void shape_rows(job *j, const entry *e, size_t rows, size_t cols)
{
    const rp_view labels = {array[6], RP_I64, 1, {rows}, {1}};
    rp_view vector = {array[7] + 64, RP_F32, 1, {cols}, {1}};

    j->attr[0].r = 1e-5;
    if (e->kernel == RP_K_add) /* a broadcast row */
        vector.rank = 2, vector.shape[0] = rows, vector.shape[1] = cols, vector.stride[0] = 0, vector.stride[1] = 1;
    if (e->kind == NORM)
        j->in[j->args.n_in++] = vector;
    if (e->kernel == RP_K_layer_norm)
        j->in[j->args.n_in++] = vector;
    if (e->kind != LABELS)
        return;
    fill_indices(rows, cols);
    if (e->kernel == RP_K_cross_entropy_grad) {
        j->in[1] = j->in[0];
        j->in[0] = (rp_view){array[1], RP_F32, 1, {rows}, {1}};
        j->args.n_in++;
    } else
        j->out[0] = (rp_view){array[4], RP_F32, 1, {rows}, {1}};
    j->in[j->args.n_in++] = labels;
}

static void shape_moves(job *j, const entry *e, size_t rows, size_t cols)
{
    rp_view *in = j->in, *out = j->out;

    switch (e->kind) {
    case COPY:
        in[0] = (rp_view){array[0], e->from, 2, {rows, cols}, {1, (ptrdiff_t)rows}};
        break;
    case CONCAT:
        j->attr[0].i = 1;
        in[0].shape[1] = in[1].shape[1] = cols / 2;
        in[0].stride[0] = in[1].stride[0] = (ptrdiff_t)cols / 2;
        break;
    case PAD:
        in[0].shape[1] = (size_t)(in[0].stride[0] = (ptrdiff_t)cols - 3);
        j->attr[0] = (rp_attr){.n = 2, .list = {0, 1}};
        j->attr[1] = (rp_attr){.n = 2, .list = {0, 2}};
        break;
    case GATHER:
        fill_indices(rows, rows);
        in[1] = (rp_view){array[6], RP_I64, 1, {rows}, {1}};
        j->args.n_in = 2;
        break;
    case ONE_HOT:
        fill_indices(rows, cols);
        in[0] = (rp_view){array[6], RP_I64, 1, {rows}, {1}};
        break;
    default: /* FILL */
        out[0] = (rp_view){array[4], e->to, 1, {rows * cols}, {1}};
        j->attr[0].r = 0.5;
    }
}

static void shape_draws(job *j, const entry *e)
{
    j->in[e->kind == DROPOUT] = (rp_view){array[7], RP_I64, 1, {2}, {1}};
    j->args.n_in = e->kind == DROPOUT ? 2 : 1;
    j->attr[0].r = e->kind == DROPOUT ? 0.1 : 0;
    j->attr[1] = (rp_attr){.i = 3, .r = 1};
    j->attr[2].i = 3;
}

static void shape_optimizer(job *j, const entry *e)
{
    for (int i = 0; i < 3; i++)
        j->in[j->args.n_in++] = (rp_view){array[7] + 4 * i, e->from, 0, {0}, {0}};
    for (int i = 0; i < 4; i++)
        j->attr[i].r = i < 2 ? 0.9 : i == 2 ? 1e-8 : 0;
    if (e->kernel == RP_K_sgd)
        j->attr[2].r = 0;
}

static void build(job *j, const entry *e)
{
    const size_t wide = rp_dtype_size(e->from) > rp_dtype_size(e->to) ? rp_dtype_size(e->from) : rp_dtype_size(e->to);
    const size_t count = array_bytes / wide, cols = e->cols == 0 || e->cols > count ? count : e->cols;
    const size_t rows = count / cols;

    memset(j, 0, sizeof *j);
    j->args = (rp_kernel_args){j->in, 0, j->out, 0, j->attr};
    fill_arrays(e);
    operands(j, e, rows, cols);
    if (e->kind >= REDUCE_ALL && e->kind <= SCAN_FIRST)
        shape_reduction(j, e);
    else if (e->kind >= ROWS && e->kind <= NORM)
        shape_rows(j, e, rows, cols);
    else if (e->kind >= COPY && e->kind <= ONE_HOT)
        shape_moves(j, e, rows, cols);
    else if (e->kind == RANDOM || e->kind == DROPOUT)
        shape_draws(j, e);
    else if (e->kind == OPTIMIZER)
        shape_optimizer(j, e);
    else if (e->kind == WHERE)
        j->in[0] = view(array[2], RP_BOOL, rows, cols), j->in[2] = view(array[3], e->from, rows, cols);
    else if (e->kind == SCALAR)
        j->in[j->args.n_in++] = (rp_view){array[7], e->from, 2, {rows, cols}, {0, 0}};
    for (size_t v = 0; v < j->args.n_in; v++) {
        j->bytes += view_bytes(&j->in[v]);
        j->reads += view_bytes(&j->in[v]) > 0.3 * (double)array_bytes;
    }
    for (size_t v = 0; v < j->args.n_out; v++) {
        j->bytes += view_bytes(&j->out[v]);
        j->writes += view_bytes(&j->out[v]) > 0.3 * (double)array_bytes;
    }
    if (e->kernel == RP_K_one_hot) /* the labels lie in an array, but few */
        j->reads = 0;
}

/* Seconds a byte that memory allows for the streams of the job. */
static double limit_pass(rp_pool *pool, const job *j, const entry *e, int bypass, size_t repeats)
{
    bench_streams s = {.reads = j->reads, .writes = j->writes, .bytes = array_bytes / 64 * 64};
    double seconds = 0;

    for (int i = 0; i < LIMIT_READS; i++)
        s.in[i] = array[i];
    for (int i = 0; i < LIMIT_WRITES; i++)
        s.out[i] = array[e->in_place ? i : 4 + i];
    (void)bench_pass(pool, &s, bypass); /* so that the caches hold what this kind of pass leaves in them */
    for (size_t r = 0; r < repeats; r++)
        seconds += bench_pass(pool, &s, bypass);
    return seconds / (double)repeats / ((double)s.bytes * (j->reads + j->writes));
}

static double kernel_pass(rp_device *device, rp_kernel_id kernel, const job *j, size_t repeats)
{
    const rp_pool *pool = rp_device_pool(device);
    double start;

    rp_device_launch(device, kernel, &j->args, NULL, NULL);
    start = bench_clock(pool);
    for (size_t r = 0; r < repeats; r++)
        rp_device_launch(device, kernel, &j->args, NULL, NULL);
    return (bench_clock(pool) - start) / (double)repeats;
}

static void measure(rp_device *device, const entry *e, size_t rounds)
{
    static double ours[MAX_ROUNDS], limit[MAX_ROUNDS], ratio[MAX_ROUNDS];
    rp_pool *pool = rp_device_pool(device);
    job j;
    size_t repeats;

    build(&j, e);
    (void)kernel_pass(device, e->kernel, &j, 1);
    repeats = 1 + (size_t)(block_seconds / kernel_pass(device, e->kernel, &j, 1));
    for (size_t i = 0; i < rounds; i++) {
        double plain = limit_pass(pool, &j, e, 0, repeats), bypass = plain;

        if (j.writes > 0)
            bypass = limit_pass(pool, &j, e, 1, repeats);
        if (e->kind == LABELS || e->kind == GATHER || e->kind == ONE_HOT)
            fill_indices(j.in[j.args.n_in - 1].shape[0], e->kind == GATHER ? j.in[0].shape[0] : e->cols);
        ours[i] = kernel_pass(device, e->kernel, &j, repeats);
        limit[i] = (plain < bypass ? plain : bypass) * j.bytes;
        ratio[i] = limit[i] / ours[i];
    }
    printf("%-20s %9zu %u %10.1f %8.2f %8.2f %7.2f\n", e->name,
           e->cols == 0 || e->cols > array_bytes / 4 ? array_bytes / 4 : e->cols, rp_device_threads(device),
           rp_median(ours, rounds) * 1e6, j.bytes / rp_median(ours, rounds) / 1e9,
           j.bytes / rp_median(limit, rounds) / 1e9, rp_median(ratio, rounds));
    fflush(stdout);
}

static int run(unsigned threads, size_t rounds, const char *only, const char *level)
{
    rp_device *device;
    rp_error error = {0};

    if (rp_device_cpu_new(&device, level, threads, &error) != RP_OK)
        return fprintf(stderr, "bandwidth: %s\n", error.text), 1;
    printf("# %u threads, level %s, arrays of %.4g MiB\n", threads, rp_device_level(device),
           (double)array_bytes / 1048576);
    for (size_t i = 0; i < sizeof entries / sizeof entries[0]; i++)
        if (only == NULL || strstr(entries[i].name, only) != NULL)
            measure(device, &entries[i], rounds);
    rp_device_free(device);
    return 0;
}

int main(int argc, char **argv)
{
    const char *only = NULL, *level = NULL, *threads = "1,2";
    size_t rounds = 9;
    double mib = 64;
    rp_fpenv saved;
    int status = 0;

    for (int i = 1; i + 1 < argc; i += 2)
        if (strcmp(argv[i], "--rounds") == 0)
            rounds = (size_t)strtoul(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--threads") == 0)
            threads = argv[i + 1];
        else if (strcmp(argv[i], "--only") == 0)
            only = argv[i + 1];
        else if (strcmp(argv[i], "--level") == 0)
            level = argv[i + 1];
        else if (strcmp(argv[i], "--mib") == 0)
            mib = strtod(argv[i + 1], NULL);
        else
            return fprintf(stderr, "bandwidth: unknown argument %s; see the head of bench/bandwidth.c\n", argv[i]), 2;
    array_bytes = (size_t)(mib * 1048576) / 4096 * 4096;
    if (argc % 2 == 0 || rounds < 1 || rounds > MAX_ROUNDS || array_bytes == 0)
        return fprintf(stderr, "bandwidth: see the head of bench/bandwidth.c\n"), 2;
    for (int a = 0; a < ARRAYS; a++)
        if ((array[a] = aligned_alloc(4096, array_bytes + 65536)) == NULL)
            return 1;
    if (rp_fpenv_enter(&saved, NULL, NULL) != RP_OK)
        return 1;
    printf("%-20s %9s t %10s %8s %8s %7s\n", "kernel", "row", "us", "GB/s", "limit", "ratio");
    for (const char *at = threads; *at != '\0' && status == 0; at += strcspn(at, ","), at += *at == ',')
        status = run((unsigned)strtoul(at, NULL, 10), rounds, only, level);
    rp_fpenv_leave(&saved);
    return status;
}
