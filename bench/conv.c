/* SPDX-License-Identifier: Apache-2.0
 * Convolution and its gradients beside oneDNN on ResNet-50's layers, interleaved in one process: medians, the fraction
 * of the FMA peak measured between the same calls, and the ratio of throughput (above 1: we are faster). oneDNN uses
 * its direct algorithms in the layouts it likes best, and the conversion into them is not counted against it. A
 * multiply-add with padding counts as work for both. conv [--rounds 7] [--threads 1,2] [--only text] [--level avx512]
 * [--batch 2] [--block 20 ms]
 *        [--parts n] instead: how evenly the work is cut
 *        [--layers resnet|other|answer]: other is MobileNet's depth-wise layers and rows of samples, answer those of
 * ResNet-18 on one image of 112 x 112 and of a U-Net on one of 64 x 64, which bench/models answers (--batch 1) */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "conv_peer.h"
#include "determinism/fpenv.h"
#include "kernels/device.h"
#include "kernels/limits.h"

enum { MAX_ROUNDS = 101, OURS = 0, DNNL = 1, KINDS = 3 };
static double block_seconds = 0.02;
static size_t parts; /* 0, or measure the partition into so many */
static double (*seconds)(void) =
    rp_seconds_now; /* with one thread the time it ran: less disturbed by other processes */
static const char *const kind_names[KINDS] = {"forward", "grad_input", "grad_weight"};
static const rp_kernel_id kernels[KINDS] = {RP_K_conv2d, RP_K_conv2d_grad_input, RP_K_conv2d_grad_weight};

typedef enum form { PLAIN, APART, LINE } form; /* APART: channels do not mix; LINE: a row of side x side samples */

typedef struct shape {
    size_t side, taps, stride, c, k; /* padding keeps the side, or halves it */
    form kind;
} shape;

static const shape shapes[] = {
    {224, 7, 2, 3, 64, PLAIN},    {56, 1, 1, 64, 64, PLAIN},     {56, 3, 1, 64, 64, PLAIN},
    {56, 1, 1, 64, 256, PLAIN},   {56, 1, 1, 256, 64, PLAIN},    {56, 1, 1, 256, 128, PLAIN},
    {56, 3, 2, 128, 128, PLAIN},  {56, 1, 2, 256, 512, PLAIN},   {28, 1, 1, 128, 512, PLAIN},
    {28, 1, 1, 512, 128, PLAIN},  {28, 3, 1, 128, 128, PLAIN},   {28, 1, 1, 512, 256, PLAIN},
    {28, 3, 2, 256, 256, PLAIN},  {28, 1, 2, 512, 1024, PLAIN},  {14, 1, 1, 256, 1024, PLAIN},
    {14, 1, 1, 1024, 256, PLAIN}, {14, 3, 1, 256, 256, PLAIN},   {14, 1, 1, 1024, 512, PLAIN},
    {14, 3, 2, 512, 512, PLAIN},  {14, 1, 2, 1024, 2048, PLAIN}, {7, 1, 1, 512, 2048, PLAIN},
    {7, 1, 1, 2048, 512, PLAIN},  {7, 3, 1, 512, 512, PLAIN}};

/* Beside ResNet-50: MobileNet's depth-wise layers, and rows of samples. */
static const shape others[] = {{112, 3, 1, 32, 32, APART},  {112, 3, 2, 64, 64, APART},  {56, 3, 1, 128, 128, APART},
                               {28, 3, 1, 256, 256, APART}, {14, 3, 1, 512, 512, APART}, {7, 3, 1, 1024, 1024, APART},
                               {64, 9, 1, 64, 64, LINE},    {32, 3, 1, 256, 256, LINE},  {32, 5, 2, 128, 256, LINE}};

static const shape answers[] = {{112, 7, 2, 3, 64, PLAIN},   {28, 3, 1, 64, 64, PLAIN},   {28, 3, 2, 64, 128, PLAIN},
                                {28, 1, 2, 64, 128, PLAIN},  {14, 3, 1, 128, 128, PLAIN}, {14, 3, 2, 128, 256, PLAIN},
                                {14, 1, 2, 128, 256, PLAIN}, {7, 3, 1, 256, 256, PLAIN},  {7, 3, 2, 256, 512, PLAIN},
                                {7, 1, 2, 256, 512, PLAIN},  {4, 3, 1, 512, 512, PLAIN},  {64, 3, 1, 3, 32, PLAIN},
                                {64, 3, 1, 32, 32, PLAIN},   {32, 3, 1, 64, 64, PLAIN},   {16, 3, 1, 128, 128, PLAIN},
                                {32, 3, 1, 192, 64, PLAIN},  {64, 3, 1, 96, 32, PLAIN}};

typedef struct data {
    rp_view view[3]; /* x, weight, y */
    float *theirs;   /* the result of oneDNN, in our layout */
    size_t count[3];
    int kind, out; /* out: which view is written */
    rp_attr attr[RP_MAX_ATTR];
    rp_device *device;
    conv_peer *peer;
} data;

static rp_view plain(const size_t size[4], size_t *count)
{
    rp_view v = {.dtype = RP_F32, .rank = 4};

    *count = 1;
    for (int d = 3; d >= 0; d--) {
        v.shape[d] = size[d];
        v.stride[d] = (ptrdiff_t)*count;
        *count *= size[d];
    }
    v.data = aligned_alloc(64, (*count * sizeof(float) + 63) / 64 * 64);
    if (v.data == NULL)
        exit(1);
    for (size_t i = 0; i < *count; i++)
        ((float *)v.data)[i] = (float)(i * 2654435761u % 1000) / 1000 - 0.5f;
    return v;
}

static void call_dnnl(data *d)
{
    conv_peer_call(d->peer);
}

static void call_ours(data *d)
{
    const rp_view in[2] = {d->view[d->kind == 1 ? 2 : 0], d->view[d->kind == 2 ? 2 : 1]};
    const rp_kernel_args args = {in, 2, &d->view[d->out], 1, d->attr};

    rp_device_launch(d->device, kernels[d->kind], &args, NULL, NULL);
}

static void make(data *d, const shape *s, int kind, size_t batch, rp_device *device)
{
    const size_t in[2] = {s->kind == LINE ? 1 : s->side, s->kind == LINE ? s->side * s->side : s->side};
    const size_t taps[2] = {s->kind == LINE ? 1 : s->taps, s->taps};
    const size_t stride[2] = {s->kind == LINE ? 1 : s->stride, s->stride};
    const size_t out[2] = {(in[0] - 1) / stride[0] + 1, (in[1] - 1) / stride[1] + 1};
    const size_t sizes[3][4] = {{batch, in[0], in[1], s->c},
                                {taps[0], taps[1], s->kind == APART ? 1 : s->c, s->k},
                                {batch, out[0], out[1], s->k}};

    *d = (data){.kind = kind, .out = kind == 0 ? 2 : kind == 1 ? 0 : 1, .device = device};
    for (int i = 0; i < 3; i++)
        d->view[i] = plain(sizes[i], &d->count[i]);
    for (int i = 0; i < 2; i++) {
        const size_t pad = taps[i] / 2, reach = (out[i] - 1) * stride[i] + taps[i];

        d->attr[0].list[i] = (int64_t)stride[i];
        d->attr[1].list[i] = (int64_t)pad;
        d->attr[1].list[i + 2] = reach > in[i] + pad ? (int64_t)(reach - in[i] - pad) : 0;
        d->attr[2].list[i] = 1;
    }
    d->attr[3].i = s->kind == APART ? (int64_t)s->c : 1;
    d->theirs = calloc(d->count[d->out], sizeof *d->theirs);
    if (d->theirs == NULL)
        exit(1);
    d->peer = conv_peer_new(d->view, kind, d->attr);
}

static void drop(data *d)
{
    for (int i = 0; i < 3; i++)
        free(d->view[i].data);
    free(d->theirs);
    conv_peer_free(d->peer);
}

/* Both must have computed the same thing, up to rounding; says how many elements have the same bits. */
static double agreement(data *d)
{
    const float *ours = d->view[d->out].data;
    size_t same = 0;

    call_ours(d);
    call_dnnl(d);
    conv_peer_result(d->peer, d->theirs);
    for (size_t i = 0; i < d->count[d->out]; i++) {
        same += memcmp(&ours[i], &d->theirs[i], sizeof *ours) == 0;
        if (!(fabsf(ours[i] - d->theirs[i]) <=
              fmaxf(1e-2f, 1e-4f * fabsf(d->theirs[i])))) { /* some sums are near 1000 */
            fprintf(stderr, "conv: element %zu differs: %g and %g\n", i, (double)ours[i], (double)d->theirs[i]);
            exit(1);
        }
    }
    return (double)same / (double)d->count[d->out];
}

static void rest(void)
{
    const struct timespec pause = {.tv_nsec = 3000000}; /* until the other library's threads have stopped spinning */

    nanosleep(&pause, NULL);
}

static double time_block(void (*f)(data *), data *d, size_t repeats)
{
    double start;

    rest();
    f(d);
    start = seconds();
    for (size_t i = 0; i < repeats; i++)
        f(d);
    return (seconds() - start) / (double)repeats;
}

static void measure(data *d, size_t rounds, double time[2], double *peak)
{
    static double times[2][MAX_ROUNDS], peaks[MAX_ROUNDS];
    void (*const f[2])(data *) = {call_ours, call_dnnl};
    size_t repeats[2];

    for (int c = 0; c < 2; c++)
        repeats[c] = 1 + (size_t)(block_seconds / time_block(f[c], d, 1));
    for (size_t i = 0; i < rounds; i++) {
        rest();
        peaks[i] = rp_limit_fma(rp_device_pool(d->device), sizeof(float));
        for (int c = 0; c < 2; c++)
            times[c][i] = time_block(f[c], d, repeats[c]);
    }
    for (int c = 0; c < 2; c++)
        time[c] = rp_median(times[c], rounds);
    rp_median(peaks, rounds); /* sorts */
    *peak = peaks[rounds - 1];
}

/* How much faster n threads could be: the time of all items at once, over that of the slowest of n parts, each run
 * alone. The partition's own losses (uneven parts, work that every part repeats), whatever else the host is doing. */
static double partition(data *d, size_t rounds, size_t n)
{
    const rp_view in[2] = {d->view[d->kind == 1 ? 2 : 0], d->view[d->kind == 2 ? 2 : 1]};
    const rp_kernel_args args = {in, 2, &d->view[d->out], 1, d->attr};
    double whole[MAX_ROUNDS], part[MAX_ROUNDS], slowest = 0;
    const rp_kernel_table *table;

    if (rp_kernel_table_get(&table, NULL, NULL) != RP_OK)
        return 0;
    for (size_t p = 0; p <= n; p++) { /* p == n: all */
        const rp_kernel *kernel = table->kernel[kernels[d->kind]];
        const size_t items = kernel->items(&args), begin = p == n ? 0 : items * p / n;
        const size_t end = p == n ? items : items * (p + 1) / n;
        double *times = p == n ? whole : part;

        for (size_t i = 0; i < rounds; i++) {
            const double start = rp_seconds_cpu();

            kernel->run(&args, begin, end);
            times[i] = rp_seconds_cpu() - start;
        }
        if (p < n && rp_median(part, rounds) > slowest)
            slowest = rp_median(part, rounds);
    }
    return rp_median(whole, rounds) / slowest;
}

static int run(const shape *table, size_t count, unsigned threads, size_t rounds, size_t batch, const char *only,
               const char *level)
{
    rp_device *device;
    rp_error error = {0};
    double sum[KINDS] = {0}, least = 0;
    size_t n[KINDS] = {0};

    if (rp_device_cpu_new(&device, level, threads, &error) != RP_OK)
        return fprintf(stderr, "conv: %s\n", error.text), 1;
    seconds = threads == 1 ? rp_seconds_cpu : rp_seconds_now;
    conv_peer_threads(threads);
    printf("# %u threads, level %s, batch %zu\n", threads, rp_device_level(device), batch);
    for (size_t i = 0; i < KINDS * count; i++) {
        const shape *s = &table[i / KINDS];
        const int kind = (int)(i % KINDS);
        double time[2], peak, same, flops;
        char name[64];
        data d;

        snprintf(name, sizeof name, "%s%zux%zu/%zu %zu->%zu at %zu %s", s->kind == APART ? "depth-wise " : "",
                 s->kind == LINE ? 1 : s->taps, s->taps, s->stride, s->c, s->k,
                 s->kind == LINE ? s->side * s->side : s->side, kind_names[kind]);
        if (only != NULL && strstr(name, only) == NULL)
            continue;
        make(&d, s, kind, batch, device);
        same = agreement(&d);
        if (parts > 0) {
            const double speed = partition(&d, rounds, parts);

            printf("%-40s %8.2f\n", name, speed);
            sum[kind] += log(speed);
            n[kind]++;
            drop(&d);
            continue;
        }
        measure(&d, rounds, time, &peak);
        flops = 2.0 * (double)d.count[2] * (double)(d.count[1] / s->k);
        printf("%-40s %u %9.3f %8.1f %6.2f %8.2f %9.0f %%\n", name, threads, time[OURS] * 1e3, flops / time[OURS] / 1e9,
               flops / time[OURS] / peak, time[DNNL] / time[OURS], 100 * same);
        fflush(stdout);
        sum[kind] += log(time[DNNL] / time[OURS]);
        n[kind]++;
        if (least == 0 || time[DNNL] / time[OURS] < least)
            least = time[DNNL] / time[OURS];
        drop(&d);
    }
    for (int kind = 0; kind < KINDS; kind++)
        if (n[kind] > 0)
            printf("# geometric mean, %s: %.3f x %s\n", kind_names[kind], exp(sum[kind] / (double)n[kind]),
                   parts > 0 ? "all at once" : "oneDNN");
    if (parts == 0)
        printf("# least ratio %.2f\n", least);
    rp_device_free(device);
    return 0;
}

int main(int argc, char **argv)
{
    const char *only = NULL, *level = NULL, *threads = "1,2";
    size_t rounds = 7, batch = 2;
    rp_fpenv saved;
    int status = 0;
    const shape *table = shapes;
    size_t count = sizeof shapes / sizeof shapes[0];

    for (int i = 1; i + 1 < argc; i += 2)
        if (strcmp(argv[i], "--rounds") == 0)
            rounds = (size_t)strtoul(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--block") == 0)
            block_seconds = strtod(argv[i + 1], NULL) / 1000;
        else if (strcmp(argv[i], "--parts") == 0)
            parts = (size_t)strtoul(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--layers") == 0) {
            if (strcmp(argv[i + 1], "other") == 0)
                table = others, count = sizeof others / sizeof others[0];
            else if (strcmp(argv[i + 1], "answer") == 0)
                table = answers, count = sizeof answers / sizeof answers[0];
        } else if (strcmp(argv[i], "--batch") == 0)
            batch = (size_t)strtoul(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--threads") == 0)
            threads = argv[i + 1];
        else if (strcmp(argv[i], "--only") == 0)
            only = argv[i + 1];
        else if (strcmp(argv[i], "--level") == 0)
            level = argv[i + 1];
        else
            return fprintf(stderr, "conv: unknown argument %s; see the head of bench/conv.c\n", argv[i]), 2;
    if (argc % 2 == 0 || rounds < 1 || rounds > MAX_ROUNDS || batch < 1)
        return fprintf(stderr, "conv: see the head of bench/conv.c\n"), 2;
    if (rp_fpenv_enter(&saved, NULL, NULL) != RP_OK || !conv_peer_start())
        return 1;
    printf("# medians of %zu\n", rounds);
    printf("%-40s t %9s %8s %6s %8s %11s\n", "layer", "ms", "GFLOP/s", "peak", "x oneDNN", "same bits");
    for (const char *at = threads; *at != '\0' && status == 0; at += strcspn(at, ","), at += *at == ',')
        status = run(table, count, (unsigned)strtoul(at, NULL, 10), rounds, batch, only, level);
    rp_fpenv_leave(&saved);
    return status;
}
