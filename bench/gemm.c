/* SPDX-License-Identifier: Apache-2.0
 * Matrix products beside OpenBLAS and oneDNN, interleaved in one process: medians, the fraction of the limit measured
 * between the same calls (of the FMA peak; of reading memory, marked r, where an operand is used at most 4 times), and
 * ratios of throughput (above 1: we are faster), last to our own with the first number of threads. Ours run through
 * rp_device_launch, so packing and threads are what users get. With one thread the clock is that thread's CPU time,
 * with more it is the wall's. gemm [--f64] [--rounds 9] [--threads 1,2] [--only text] [--level avx512] */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "determinism/fpenv.h"
#include "gemm_peers.h"
#include "kernels/limits.h"

enum { MAX_ROUNDS = 101 };
static const double block_seconds = 0.02;

static const bench_product products[] = {
    {"square 256", 1, 256, 256, 256, false, false},          {"square 384", 1, 384, 384, 384, false, false},
    {"square 512", 1, 512, 512, 512, false, false},          {"square 768", 1, 768, 768, 768, false, false},
    {"square 1024", 1, 1024, 1024, 1024, false, false},      {"square 1536", 1, 1536, 1536, 1536, false, false},
    {"square 2048", 1, 2048, 2048, 2048, false, false},      {"square 3000", 1, 3000, 3000, 3000, false, false},
    {"square 4096", 1, 4096, 4096, 4096, false, false},      {"layer, batch 32", 1, 32, 64, 61, false, false},
    {"layer, batch 256", 1, 256, 1024, 784, false, false},   {"layer, batch 256", 1, 256, 1024, 1024, false, false},
    {"its weight gradient", 1, 784, 1024, 256, true, false}, {"its input gradient", 1, 256, 784, 1024, false, true},
    {"few rows", 1, 64, 4096, 4096, false, false},           {"few rows, lines cut", 1, 20, 8210, 1024, false, false},
    {"a tile's, lines cut", 1, 8, 8210, 1024, false, false}, {"matrix-vector", 1, 1, 4096, 4096, false, false},
    {"its transpose", 1, 4096, 1, 4096, false, false},       {"long k", 1, 32, 32, 1000000, false, false},
    {"attention scores", 96, 128, 128, 64, false, true},     {"attention values", 96, 128, 64, 128, false, false},
    {"transformer, wide", 1, 2048, 3072, 768, false, false}, {"convolution 3x3", 1, 3136, 64, 576, false, false},
    {"convolution 7x7", 1, 100352, 64, 147, false, false},
};

static void call_ours(bench_data *d)
{
    static const rp_attr none[RP_MAX_ATTR];
    const rp_kernel_args args = {d->in, 2, &d->out, 1, none};

    rp_device_launch(d->device, RP_K_matmul, &args, NULL, NULL);
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

static void make(bench_data *d, const bench_product *s, size_t size)
{
    *d = (bench_data){.s = s, .size = size};
    d->a = filled(s->batch * s->m * s->k, size);
    d->b = filled(s->batch * s->k * s->n, size);
    for (int i = 0; i < 3; i++)
        d->y[i] = filled(s->batch * s->m * s->n, size);
    d->in[0] = matrix(d->a, size, s->batch, s->m, s->k, s->ta);
    d->in[1] = matrix(d->b, size, s->batch, s->k, s->n, s->tb);
    d->out = matrix(d->y[0], size, s->batch, s->m, s->n, false);
}

static void drop(bench_data *d)
{
    free(d->a);
    free(d->b);
    for (int i = 0; i < 3; i++)
        free(d->y[i]);
}

/* All must have computed the same product, up to rounding. */
static bool agree(const bench_data *d, int other)
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

/* A contender's time for one call in this round: a warming call, then as many as fill the block. */
static double time_block(bench_call *f, bench_data *d, size_t repeats)
{
    double (*const clock_of)(void) = rp_device_threads(d->device) == 1 ? rp_seconds_cpu : rp_seconds_now;
    double start;

    rest();
    f(d);
    start = clock_of();
    for (size_t i = 0; i < repeats; i++)
        f(d);
    return (clock_of() - start) / (double)repeats;
}

typedef struct result {
    double time[BENCH_CONTENDERS], peak;
    bool reads; /* peak is bytes read a second, else floating-point operations a second */
} result;

static result measure(bench_data *d, rp_pool *pool, size_t rounds)
{
    static double times[BENCH_CONTENDERS][MAX_ROUNDS], peak[MAX_ROUNDS];
    bench_call *f[BENCH_CONTENDERS];
    size_t repeats[BENCH_CONTENDERS];
    result r = {.reads = d->s->m <= 4 || d->s->n <= 4};

    for (int c = 0; c < BENCH_CONTENDERS; c++)
        if ((f[c] = c == BENCH_OURS ? call_ours : bench_peer(d, c)) != NULL)
            repeats[c] = 1 + (size_t)(block_seconds / time_block(f[c], d, 1));
    for (size_t i = 0; i < rounds; i++) {
        rest();
        peak[i] = r.reads ? rp_limit_read(pool, (size_t)64 << 20) : rp_limit_fma(pool, d->size);
        for (int c = 0; c < BENCH_CONTENDERS; c++)
            if (f[c] != NULL)
                times[c][i] = time_block(f[c], d, repeats[c]);
    }
    for (int c = 0; c < BENCH_CONTENDERS; c++)
        r.time[c] = f[c] != NULL ? rp_median(times[c], rounds) : 0;
    r.peak = rp_median(peak, rounds);
    return r;
}

typedef struct means {
    double blas, dnnl, least;
    size_t n, n_dnnl;
} means;

/* first: our time with the first number of threads; 0 until it is known. */
static void report(const bench_data *d, const result *r, means *sum, double *first)
{
    const bench_product *s = d->s;
    const double flops = 2.0 * (double)s->batch * (double)s->m * (double)s->n * (double)s->k;
    const double bytes = (double)(s->batch * (s->m * s->k + s->k * s->n + s->m * s->n) * d->size);
    const double *t = r->time;
    const double dnnl = t[BENCH_DNNL] > 0 && t[BENCH_DNNL] < t[BENCH_DNNL_GEMM] ? t[BENCH_DNNL] : t[BENCH_DNNL_GEMM];
    const double to_blas = t[BENCH_BLAS] / t[BENCH_OURS], to_dnnl = dnnl / t[BENCH_OURS];
    const double worst = dnnl > 0 && to_dnnl < to_blas ? to_dnnl : to_blas;

    printf("%-19s %3zu %6zu %5zu %7zu %c%c %2u %10.4f %7.1f %5.2f%c %8.2f", s->name, s->batch, s->m, s->n, s->k,
           s->ta ? 'T' : 'N', s->tb ? 'T' : 'N', rp_device_threads(d->device), t[BENCH_OURS] * 1e3,
           flops / t[BENCH_OURS] / 1e9, (r->reads ? bytes : flops) / t[BENCH_OURS] / r->peak, r->reads ? 'r' : ' ',
           to_blas);
    if (dnnl > 0)
        printf(" %7.2f", to_dnnl);
    else
        printf("       -");
    if (*first > 0)
        printf(" %6.2f", *first / t[BENCH_OURS]);
    else
        *first = t[BENCH_OURS];
    printf("\n");
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

/* All products with one number of threads. */
static int run(unsigned threads, size_t size, size_t rounds, const char *only, const char *level)
{
    static double first[sizeof products / sizeof products[0]];
    rp_device *device;
    rp_error error = {0};
    means sum = {0};

    if (rp_device_cpu_new(&device, level, threads, &error) != RP_OK)
        return fprintf(stderr, "gemm: %s\n", error.text), 1;
    bench_peers_threads(threads);
    printf("# %u threads, level %s, FMA peak %.1f GFLOP/s\n", threads, rp_device_level(device),
           rp_limit_fma(rp_device_pool(device), size) / 1e9);
    for (size_t i = 0; i < sizeof products / sizeof products[0]; i++) {
        bench_data d;
        result r;

        if (only != NULL && strstr(products[i].name, only) == NULL)
            continue;
        make(&d, &products[i], size);
        d.device = device;
        bench_dnnl_make(&d);
        call_ours(&d);
        bench_peer(&d, BENCH_BLAS)(&d);
        if (!agree(&d, 1))
            return 1;
        r = measure(&d, rp_device_pool(device), rounds);
        report(&d, &r, &sum, &first[i]);
        bench_dnnl_free(&d);
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
    const char *only = NULL, *level = NULL, *threads = "1,2";
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
    if (!bench_peers_open() || rp_fpenv_enter(&saved, NULL, NULL) != RP_OK)
        return 1;
    printf("# %s; medians of %zu\n", bench_peers_names(), rounds);
    printf("%-19s %3s %6s %5s %7s %2s %2s %10s %7s %6s %8s %7s %6s\n", "shape", "b", "m", "n", "k", "ab", "t", "ms",
           "GFLOP/s", "limit", "OpenBLAS", "oneDNN", "first");
    for (const char *at = threads; *at != '\0' && status == 0; at += strcspn(at, ","), at += *at == ',')
        status = run((unsigned)strtoul(at, NULL, 10), size, rounds, only, level);
    rp_fpenv_leave(&saved);
    return status;
}
