/* SPDX-License-Identifier: Apache-2.0
 * Matrix products beside OpenBLAS and oneDNN, interleaved in one process: medians, the fraction of the FMA peak measured
 * between the same calls, and ratios of throughput (above 1: we are faster). Ours run through rp_device_launch, so
 * packing and threads are what users get. With one thread the clock is that thread's CPU time, with more it is the wall's.
 *   gemm [--f64] [--rounds 9] [--threads 1,2] [--only text] [--level avx512] */
#include <dlfcn.h>
#include <math.h>
#include <oneapi/dnnl/dnnl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "determinism/fpenv.h"
#include "kernels/device.h"
#include "peaks.h"

enum { MAX_ROUNDS = 101 };
static const double block_seconds = 0.02;

typedef struct shape {
    const char *name;
    size_t batch, m, n, k;
    bool ta, tb; /* the operand lies transposed */
} shape;

static const shape shapes[] = {
    {"square 256", 1, 256, 256, 256, false, false},
    {"square 384", 1, 384, 384, 384, false, false},
    {"square 512", 1, 512, 512, 512, false, false},
    {"square 768", 1, 768, 768, 768, false, false},
    {"square 1024", 1, 1024, 1024, 1024, false, false},
    {"square 1536", 1, 1536, 1536, 1536, false, false},
    {"square 2048", 1, 2048, 2048, 2048, false, false},
    {"square 3000", 1, 3000, 3000, 3000, false, false},
    {"square 4096", 1, 4096, 4096, 4096, false, false},
    {"layer, batch 32", 1, 32, 64, 61, false, false},
    {"layer, batch 256", 1, 256, 1024, 784, false, false},
    {"layer, batch 256", 1, 256, 1024, 1024, false, false},
    {"its weight gradient", 1, 784, 1024, 256, true, false},
    {"its input gradient", 1, 256, 784, 1024, false, true},
    {"few rows", 1, 64, 4096, 4096, false, false},
    {"matrix-vector", 1, 1, 4096, 4096, false, false},
    {"its transpose", 1, 4096, 1, 4096, false, false},
    {"long k", 1, 32, 32, 1000000, false, false},
    {"attention scores", 96, 128, 128, 64, false, true},
    {"attention values", 96, 128, 64, 128, false, false},
    {"transformer, wide", 1, 2048, 3072, 768, false, false},
    {"convolution 3x3", 1, 3136, 64, 576, false, false},
    {"convolution 7x7", 1, 100352, 64, 147, false, false},
};

typedef struct data {
    const shape *s;
    size_t size; /* of an element */
    void *a, *b, *y[3];
    rp_view in[2], out;
    rp_device *device;
    dnnl_primitive_t primitive;
    dnnl_exec_arg_t arg[3];
} data;

typedef void call(data *d);

/* OpenBLAS, loaded after its environment is set. CBLAS enumerations: row-major 101, no 111, transposed 112. */
static struct {
    void (*sgemm)(int, int, int, int, int, int, float, const float *, int, const float *, int, float, float *, int);
    void (*dgemm)(int, int, int, int, int, int, double, const double *, int, const double *, int, double, double *, int);
    void (*sgemv)(int, int, int, int, float, const float *, int, const float *, int, float, float *, int);
    void (*dgemv)(int, int, int, int, double, const double *, int, const double *, int, double, double *, int);
    void (*threads)(int);
    char *(*core)(void);
} blas;

static dnnl_engine_t engine;
static dnnl_stream_t stream;
static void (*omp_threads)(int);

static bool load(void *handle, const char *name, void *to)
{
    void *symbol = dlsym(handle, name);

    memcpy(to, &symbol, sizeof symbol);
    return symbol != NULL;
}

static bool load_blas(const char *core)
{
    void *handle;

    setenv("OPENBLAS_CORETYPE", core, 1);
    setenv("OPENBLAS_THREAD_TIMEOUT", "20", 1); /* its idle threads spin for a millisecond, not through our turn */
    handle = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
    return handle != NULL && load(handle, "cblas_sgemm", &blas.sgemm) && load(handle, "cblas_dgemm", &blas.dgemm) &&
           load(handle, "cblas_sgemv", &blas.sgemv) && load(handle, "cblas_dgemv", &blas.dgemv) &&
           load(handle, "openblas_set_num_threads", &blas.threads) &&
           load(handle, "openblas_get_corename", &blas.core);
}

static void call_blas(data *d)
{
    const shape *s = d->s;
    const int m = (int)s->m, n = (int)s->n, k = (int)s->k, ta = s->ta ? 112 : 111, tb = s->tb ? 112 : 111;
    const int lda = s->ta ? m : k, ldb = s->tb ? k : n;

    for (size_t i = 0; i < s->batch; i++) {
        const float *af = (const float *)d->a + i * s->m * s->k, *bf = (const float *)d->b + i * s->k * s->n;
        const double *ad = (const double *)d->a + i * s->m * s->k, *bd = (const double *)d->b + i * s->k * s->n;
        float *yf = (float *)d->y[1] + i * s->m * s->n;
        double *yd = (double *)d->y[1] + i * s->m * s->n;

        if (n == 1 && d->size == 4) /* it has functions of their own for vectors: compare with the best */
            blas.sgemv(101, ta, m, k, 1, af, lda, bf, 1, 0, yf, 1);
        else if (n == 1)
            blas.dgemv(101, ta, m, k, 1, ad, lda, bd, 1, 0, yd, 1);
        else if (m == 1 && d->size == 4)
            blas.sgemv(101, s->tb ? 111 : 112, s->tb ? n : k, s->tb ? k : n, 1, bf, ldb, af, 1, 0, yf, 1);
        else if (m == 1)
            blas.dgemv(101, s->tb ? 111 : 112, s->tb ? n : k, s->tb ? k : n, 1, bd, ldb, ad, 1, 0, yd, 1);
        else if (d->size == 4)
            blas.sgemm(101, ta, tb, m, n, k, 1, af, lda, bf, ldb, 0, yf, n);
        else
            blas.dgemm(101, ta, tb, m, n, k, 1, ad, lda, bd, ldb, 0, yd, n);
    }
}

/* Times one square product under each core type in a child, since OpenBLAS chooses once in a process. */
static const char *best_core(void)
{
    static const char *const names[] = {"SkylakeX", "Cooperlake", "SapphireRapids", "Zen", "Haswell", "NeoverseN1"};
    const char *best = "";
    double least = 0;

    for (size_t c = 0; c < sizeof names / sizeof names[0]; c++) {
        double took = 0;
        int fd[2];
        pid_t child;

        if (pipe(fd) != 0 || (child = fork()) < 0)
            return names[0];
        if (child == 0) {
            enum { N = 1024 };
            float *x = calloc(3 * N * N, sizeof *x);

            if (x != NULL && load_blas(names[c]) && strcmp(blas.core(), names[c]) == 0)
                for (int i = 0; i < 6; i++) {
                    const double start = bench_cpu();

                    blas.threads(1);
                    blas.sgemm(101, 111, 111, N, N, N, 1, x, N, x + N * N, N, 0, x + 2 * N * N, N);
                    if (took == 0 || bench_cpu() - start < took)
                        took = bench_cpu() - start;
                }
            _exit(write(fd[1], &took, sizeof took) != sizeof took);
        }
        close(fd[1]);
        if (read(fd[0], &took, sizeof took) == sizeof took && took > 0 && (least == 0 || took < least)) {
            least = took;
            best = names[c];
        }
        close(fd[0]);
        waitpid(child, NULL, 0);
    }
    return best;
}

static void call_ours(data *d)
{
    static const rp_attr none[RP_MAX_ATTR];
    const rp_kernel_args args = {d->in, 2, &d->out, 1, none};

    rp_device_launch(d->device, RP_K_matmul, &args, NULL, NULL);
}

static void call_dnnl_primitive(data *d)
{
    dnnl_primitive_execute(d->primitive, stream, 3, d->arg);
    dnnl_stream_wait(stream);
}

static void call_dnnl_sgemm(data *d)
{
    const shape *s = d->s;

    for (size_t i = 0; i < s->batch; i++)
        dnnl_sgemm(s->ta ? 'T' : 'N', s->tb ? 'T' : 'N', (dnnl_dim_t)s->m, (dnnl_dim_t)s->n, (dnnl_dim_t)s->k, 1,
                   (float *)d->a + i * s->m * s->k, (dnnl_dim_t)(s->ta ? s->m : s->k),
                   (float *)d->b + i * s->k * s->n, (dnnl_dim_t)(s->tb ? s->k : s->n), 0,
                   (float *)d->y[2] + i * s->m * s->n, (dnnl_dim_t)s->n);
}

static dnnl_memory_desc_t dnnl_matrix(const rp_view *view)
{
    dnnl_memory_desc_t md;
    dnnl_dims_t dims, strides;

    for (int i = 0; i < view->rank; i++) {
        dims[i] = (dnnl_dim_t)view->shape[i];
        strides[i] = view->stride[i];
    }
    dnnl_memory_desc_init_by_strides(&md, view->rank, dims, dnnl_f32, strides);
    return md;
}

static bool make_dnnl(data *d)
{
    const dnnl_memory_desc_t md[3] = {dnnl_matrix(&d->in[0]), dnnl_matrix(&d->in[1]), dnnl_matrix(&d->out)};
    void *const at[3] = {d->a, d->b, d->y[2]};
    const int name[3] = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST};
    dnnl_matmul_desc_t desc;
    dnnl_primitive_desc_t pd;

    d->primitive = NULL;
    if (dnnl_matmul_desc_init(&desc, &md[0], &md[1], NULL, &md[2]) != dnnl_success ||
        dnnl_primitive_desc_create(&pd, &desc, NULL, engine, NULL) != dnnl_success)
        return false;
    if (dnnl_primitive_create(&d->primitive, pd) != dnnl_success)
        return false;
    dnnl_primitive_desc_destroy(pd);
    for (int i = 0; i < 3; i++) {
        d->arg[i].arg = name[i];
        dnnl_memory_create(&d->arg[i].memory, &md[i], engine, at[i]);
    }
    return true;
}

static void free_dnnl(data *d)
{
    if (d->primitive == NULL)
        return;
    for (int i = 0; i < 3; i++)
        dnnl_memory_destroy(d->arg[i].memory);
    dnnl_primitive_destroy(d->primitive);
}

static rp_view matrix(void *at, size_t size, size_t batch, size_t rows, size_t columns, bool transposed)
{
    rp_view v = {.data = at, .dtype = size == 4 ? RP_F32 : RP_F64, .rank = 2};

    if (batch > 1) {
        v.shape[0] = batch;
        v.stride[0] = (ptrdiff_t)(rows * columns);
        v.rank = 3;
    }
    v.shape[v.rank - 2] = rows;
    v.shape[v.rank - 1] = columns;
    v.stride[v.rank - 2] = transposed ? 1 : (ptrdiff_t)columns;
    v.stride[v.rank - 1] = transposed ? (ptrdiff_t)rows : 1;
    return v;
}

static void *filled(size_t count, size_t size)
{
    char *x = aligned_alloc(64, (count * size + 63) / 64 * 64);

    if (x == NULL)
        exit(1);
    for (size_t i = 0; i < count; i++) {
        const double value = (double)(i * 2654435761u % 1000) / 1000 - 0.5;
        const float narrow = (float)value;

        memcpy(x + i * size, size == 4 ? (const void *)&narrow : (const void *)&value, size);
    }
    return x;
}

static void make(data *d, const shape *s, size_t size)
{
    *d = (data){.s = s, .size = size};
    d->a = filled(s->batch * s->m * s->k, size);
    d->b = filled(s->batch * s->k * s->n, size);
    for (int i = 0; i < 3; i++)
        d->y[i] = filled(s->batch * s->m * s->n, size);
    d->in[0] = matrix(d->a, size, s->batch, s->m, s->k, s->ta);
    d->in[1] = matrix(d->b, size, s->batch, s->k, s->n, s->tb);
    d->out = matrix(d->y[0], size, s->batch, s->m, s->n, false);
}

static void drop(data *d)
{
    free(d->a);
    free(d->b);
    for (int i = 0; i < 3; i++)
        free(d->y[i]);
}

/* All must have computed the same product, up to rounding. */
static bool agree(const data *d, int other)
{
    const size_t count = d->s->batch * d->s->m * d->s->n;
    const double limit = 1e-4 * sqrt((double)d->s->k);

    for (size_t i = 0; i < count; i++) {
        const double x = d->size == 4 ? (double)((float *)d->y[0])[i] : ((double *)d->y[0])[i];
        const double y = d->size == 4 ? (double)((float *)d->y[other])[i] : ((double *)d->y[other])[i];

        if (!(fabs(x - y) <= limit))
            return fprintf(stderr, "%s: element %zu differs: %g and %g\n", d->s->name, i, x, y), false;
    }
    return true;
}

static void rest(void)
{
    const struct timespec pause = {.tv_nsec = 3000000}; /* until the other libraries' threads have stopped spinning */

    nanosleep(&pause, NULL);
}

enum { OURS, BLAS, DNNL, DNNL_GEMM, CONTENDERS };

/* A contender's time for one call in this round: a warming call, then as many as fill the block. */
static double time_block(call *f, data *d, size_t repeats)
{
    double (*const clock_of)(void) = rp_device_threads(d->device) == 1 ? bench_cpu : bench_now;
    double start;

    rest();
    f(d);
    start = clock_of();
    for (size_t i = 0; i < repeats; i++)
        f(d);
    return (clock_of() - start) / (double)repeats;
}

typedef struct result {
    double time[CONTENDERS], peak;
} result;

static result measure(data *d, rp_pool *pool, size_t rounds)
{
    call *f[CONTENDERS] = {call_ours, call_blas, d->primitive ? call_dnnl_primitive : NULL,
                           d->size == 4 ? call_dnnl_sgemm : NULL};
    static double times[CONTENDERS][MAX_ROUNDS], peak[MAX_ROUNDS];
    size_t repeats[CONTENDERS];
    result r = {{0}, 0};

    for (int c = 0; c < CONTENDERS; c++)
        if (f[c] != NULL)
            repeats[c] = 1 + (size_t)(block_seconds / time_block(f[c], d, 1));
    for (size_t i = 0; i < rounds; i++) {
        rest();
        peak[i] = bench_peak_fma(pool, d->size);
        for (int c = 0; c < CONTENDERS; c++)
            if (f[c] != NULL)
                times[c][i] = time_block(f[c], d, repeats[c]);
    }
    for (int c = 0; c < CONTENDERS; c++)
        r.time[c] = f[c] != NULL ? bench_median(times[c], rounds) : 0;
    r.peak = bench_median(peak, rounds);
    return r;
}

typedef struct means {
    double blas, dnnl, least;
    size_t n, n_dnnl;
} means;

static void report(const shape *s, unsigned threads, const result *r, means *sum)
{
    const double flops = 2.0 * (double)s->batch * (double)s->m * (double)s->n * (double)s->k;
    const double *t = r->time;
    const double dnnl = t[DNNL] > 0 && t[DNNL] < t[DNNL_GEMM] ? t[DNNL] : t[DNNL_GEMM];
    const double to_blas = t[BLAS] / t[OURS], to_dnnl = dnnl / t[OURS];
    const double worst = dnnl > 0 && to_dnnl < to_blas ? to_dnnl : to_blas;

    printf("%-19s %3zu %6zu %5zu %7zu %c%c %2u %10.4f %7.1f %5.2f %8.2f", s->name, s->batch, s->m, s->n, s->k,
           s->ta ? 'T' : 'N', s->tb ? 'T' : 'N', threads, t[OURS] * 1e3, flops / t[OURS] / 1e9,
           flops / t[OURS] / r->peak, to_blas);
    if (dnnl > 0)
        printf(" %7.2f\n", to_dnnl);
    else
        printf("       -\n");
    fflush(stdout);
    sum->blas += log(to_blas);
    sum->n++;
    if (dnnl > 0) {
        sum->dnnl += log(to_dnnl);
        sum->n_dnnl++;
    }
    if (sum->least == 0 || worst < sum->least)
        sum->least = worst;
}

/* All shapes with one number of threads. */
static int run(unsigned threads, size_t size, size_t rounds, const char *only, const char *level)
{
    rp_device *device;
    rp_error error = {0};
    means sum = {0};

    if (rp_device_cpu_new(&device, level, threads, &error) != RP_OK)
        return fprintf(stderr, "gemm: %s\n", error.text), 1;
    blas.threads((int)threads);
    if (omp_threads != NULL)
        omp_threads((int)threads);
    printf("# %u threads, level %s, FMA peak %.1f GFLOP/s\n", threads, rp_device_level(device),
           bench_peak_fma(rp_device_pool(device), size) / 1e9);
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        data d;
        result r;

        if (only != NULL && strstr(shapes[i].name, only) == NULL)
            continue;
        make(&d, &shapes[i], size);
        d.device = device;
        if (size == 4)
            make_dnnl(&d);
        call_ours(&d);
        call_blas(&d);
        if (!agree(&d, 1))
            return 1;
        r = measure(&d, rp_device_pool(device), rounds);
        report(&shapes[i], threads, &r, &sum);
        free_dnnl(&d);
        drop(&d);
    }
    if (sum.n > 0)
        printf("# geometric mean: %.3f x OpenBLAS", exp(sum.blas / (double)sum.n));
    if (sum.n_dnnl > 0)
        printf(", %.3f x oneDNN", exp(sum.dnnl / (double)sum.n_dnnl));
    printf("; least ratio to the better %.2f\n", sum.least);
    rp_device_free(device);
    return 0;
}

int main(int argc, char **argv)
{
    const char *only = NULL, *level = NULL, *threads = "1,2", *core;
    size_t size = 4, rounds = 9;
    rp_fpenv saved;
    int status = 0;

    for (int i = 1; i < argc; i++) {
        const bool value = i + 1 < argc;

        if (strcmp(argv[i], "--f64") == 0)
            size = 8;
        else if (value && strcmp(argv[i], "--rounds") == 0)
            rounds = (size_t)strtoul(argv[++i], NULL, 10);
        else if (value && strcmp(argv[i], "--threads") == 0)
            threads = argv[++i];
        else if (value && strcmp(argv[i], "--only") == 0)
            only = argv[++i];
        else if (value && strcmp(argv[i], "--level") == 0)
            level = argv[++i];
        else
            return fprintf(stderr, "gemm: unknown argument %s; see the head of bench/gemm.c\n", argv[i]), 2;
    }
    if (rounds < 1 || rounds > MAX_ROUNDS)
        return fprintf(stderr, "gemm: --rounds: expected 1 to %d\n", MAX_ROUNDS), 2;
    unsetenv("OPENBLAS_L2_SIZE");
    core = best_core();
    if (!load_blas(core))
        return fprintf(stderr, "gemm: cannot load libopenblas.so.0\n"), 1;
    load(dlopen(NULL, RTLD_NOW), "omp_set_num_threads", &omp_threads);
    if (rp_fpenv_enter(&saved, NULL, NULL) != RP_OK || dnnl_engine_create(&engine, dnnl_cpu, 0) != dnnl_success ||
        dnnl_stream_create(&stream, engine, dnnl_stream_default_flags) != dnnl_success)
        return 1;
    printf("# OpenBLAS core %s; oneDNN %d.%d.%d; medians of %zu\n", blas.core(), dnnl_version()->major,
           dnnl_version()->minor, dnnl_version()->patch, rounds);
    printf("%-19s %3s %6s %5s %7s %2s %2s %10s %7s %5s %8s %7s\n", "shape", "b", "m", "n", "k", "ab", "t", "ms",
           "GFLOP/s", "peak", "OpenBLAS", "oneDNN");
    for (const char *at = threads; *at != '\0' && status == 0; at += strcspn(at, ","), at += *at == ',')
        status = run((unsigned)strtoul(at, NULL, 10), size, rounds, only, level);
    rp_fpenv_leave(&saved);
    return status;
}
