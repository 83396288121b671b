/* SPDX-License-Identifier: Apache-2.0
 * 3 x 3 convolution by minimal filtering beside the direct one and beside oneDNN's two, on ResNet-50's 3 x 3 layers of
 * stride 1, interleaved in one process: medians and ratios of time, and the rounding errors against binary64. oneDNN
 * works in the layouts it likes best, and the conversion into them is not counted against it. winograd [--rounds 9]
 * [--threads 1] [--batch 2] [--block 20 ms] */
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

enum { MAX_ROUNDS = 101, X = 0, WEIGHT, Y };
typedef enum who { DIRECT, WINOGRAD, DNNL_DIRECT, DNNL_WINOGRAD, WHO } who;
static const size_t layers[][2] = {{56, 64}, {28, 128}, {14, 256}, {7, 512}}; /* side, channels */
static double block_seconds = 0.02;
static double (*seconds)(void) = rp_seconds_cpu; /* with one thread the time it ran */

typedef struct layer {
    rp_view view[3], exact[3];
    rp_attr attr[RP_MAX_ATTR];
    rp_device *device;
    conv_peer *peer[WHO]; /* NULL: oneDNN has none */
} layer;

static size_t count_of(const rp_view *v)
{
    return v->shape[0] * v->shape[1] * v->shape[2] * v->shape[3];
}

/* The same random values in either type. */
static rp_view plain(rp_dtype dtype, const size_t size[4])
{
    rp_view v = {.dtype = dtype, .rank = 4};
    size_t count = 1;

    for (int d = 3; d >= 0; d--) {
        v.shape[d] = size[d];
        v.stride[d] = (ptrdiff_t)count;
        count *= size[d];
    }
    v.data = aligned_alloc(64, (count * rp_dtype_size(dtype) + 63) / 64 * 64);
    if (v.data == NULL)
        exit(1);
    for (uint32_t i = 0, word = 12345; i < count; i++) {
        const float value = (float)((word = word * 1664525u + 1013904223u) >> 8) * 0x1p-24f - 0.5f;

        if (dtype == RP_F32)
            ((float *)v.data)[i] = value;
        else
            ((double *)v.data)[i] = (double)value;
    }
    return v;
}

static void call(layer *l, who w)
{
    const rp_kernel_args args = {l->view, 2, &l->view[Y], 1, l->attr};

    if (w == DIRECT || w == WINOGRAD) {
        rp_device_launch(l->device, w == DIRECT ? RP_K_conv2d : RP_K_conv2d_winograd, &args, NULL, NULL);
        return;
    }
    conv_peer_call(l->peer[w]);
}

/* Root mean square of the error, and the greatest, relative to the root mean square of the result. */
static void error_of(layer *l, who w, double error[2])
{
    const float *y = l->view[Y].data;
    const double *want = l->exact[Y].data;
    double square = 0, most = 0, size = 0;

    call(l, w);
    if (w >= DNNL_DIRECT)
        conv_peer_result(l->peer[w], l->view[Y].data);
    for (size_t i = 0; i < count_of(&l->view[Y]); i++) {
        const double d = (double)y[i] - want[i];

        square += d * d;
        size += want[i] * want[i];
        most = fabs(d) > most ? fabs(d) : most;
    }
    error[0] = sqrt(square / size);
    error[1] = most / sqrt(size / (double)count_of(&l->view[Y]));
}

static void make(layer *l, size_t side, size_t channels, size_t batch, rp_device *device)
{
    const size_t image[4] = {batch, side, side, channels}, weight[4] = {3, 3, channels, channels};
    const rp_kernel_args args = {l->exact, 2, &l->exact[Y], 1, l->attr};

    *l = (layer){.attr = {{.n = 2, .list = {1, 1}}, {.n = 4, .list = {1, 1, 1, 1}}, {.n = 2, .list = {1, 1}}, {.i = 1}},
                 .device = device};
    for (int i = 0; i < 3; i++) {
        l->view[i] = plain(RP_F32, i == WEIGHT ? weight : image);
        l->exact[i] = plain(RP_F64, i == WEIGHT ? weight : image);
    }
    rp_device_launch(device, RP_K_conv2d, &args, NULL, NULL);
    l->peer[DNNL_DIRECT] = conv_peer_new(l->view, 0, l->attr);
    l->peer[DNNL_WINOGRAD] = conv_peer_new(l->view, 3, l->attr);
}

static void drop(layer *l)
{
    for (int i = 0; i < 3; i++) {
        free(l->view[i].data);
        free(l->exact[i].data);
    }
    for (who w = DNNL_DIRECT; w < WHO; w++)
        conv_peer_free(l->peer[w]);
}

static double time_block(layer *l, who w, size_t repeats)
{
    const struct timespec pause = {.tv_nsec = 3000000}; /* until the other library's threads have stopped spinning */
    double start;

    nanosleep(&pause, NULL);
    call(l, w);
    start = seconds();
    for (size_t i = 0; i < repeats; i++)
        call(l, w);
    return (seconds() - start) / (double)repeats;
}

static void measure(layer *l, size_t rounds, double median[WHO])
{
    static double times[WHO][MAX_ROUNDS];
    size_t repeats[WHO];

    for (who w = 0; w < WHO; w++)
        repeats[w] = w >= DNNL_DIRECT && l->peer[w] == NULL ? 0 : 1 + (size_t)(block_seconds / time_block(l, w, 1));
    for (size_t i = 0; i < rounds; i++)
        for (who w = 0; w < WHO; w++)
            times[w][i] = repeats[w] == 0 ? 0 : time_block(l, w, repeats[w]);
    for (who w = 0; w < WHO; w++)
        median[w] = rp_median(times[w], rounds);
}

static int run(unsigned threads, size_t rounds, size_t batch)
{
    rp_device *device;
    rp_error error = {0};
    double ratio = 0;

    if (rp_device_cpu_new(&device, NULL, threads, &error) != RP_OK)
        return fprintf(stderr, "winograd: %s\n", error.text), 1;
    printf("# %u threads, level %s, batch %zu, medians of %zu; ms; errors: root mean square, greatest\n", threads,
           rp_device_level(device), batch, rounds);
    printf("%-14s %8s %8s %7s %9s %9s   %-17s  %-17s  %s\n", "layer", "direct", "winograd", "x", "dnnl dir.",
           "dnnl win.", "direct", "winograd", "dnnl winograd");
    for (size_t i = 0; i < sizeof layers / sizeof layers[0]; i++) {
        double ms[WHO], e[WHO][2] = {{0}};
        layer l;

        make(&l, layers[i][0], layers[i][1], batch, device);
        for (who w = 0; w < WHO; w++)
            if (w < DNNL_DIRECT || l.peer[w] != NULL)
                error_of(&l, w, e[w]);
        measure(&l, rounds, ms);
        printf("%4zu at %-6zu %8.3f %8.3f %7.2f %9.3f %9.3f   %.1e %.1e  %.1e %.1e  %.1e %.1e\n", layers[i][1],
               layers[i][0], ms[DIRECT] * 1e3, ms[WINOGRAD] * 1e3, ms[DIRECT] / ms[WINOGRAD], ms[DNNL_DIRECT] * 1e3,
               ms[DNNL_WINOGRAD] * 1e3, e[DIRECT][0], e[DIRECT][1], e[WINOGRAD][0], e[WINOGRAD][1], e[DNNL_WINOGRAD][0],
               e[DNNL_WINOGRAD][1]);
        fflush(stdout);
        ratio += log(ms[DIRECT] / ms[WINOGRAD]);
        drop(&l);
    }
    printf("# geometric mean: winograd %.2f x direct\n", exp(ratio / (double)(sizeof layers / sizeof layers[0])));
    rp_device_free(device);
    return 0;
}

int main(int argc, char **argv)
{
    size_t rounds = 9, batch = 2;
    unsigned threads = 1;
    rp_fpenv saved;
    int status;

    for (int i = 1; i + 1 < argc; i += 2)
        if (strcmp(argv[i], "--rounds") == 0)
            rounds = (size_t)strtoul(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--block") == 0)
            block_seconds = strtod(argv[i + 1], NULL) / 1000;
        else if (strcmp(argv[i], "--batch") == 0)
            batch = (size_t)strtoul(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--threads") == 0)
            threads = (unsigned)strtoul(argv[i + 1], NULL, 10);
        else
            return fprintf(stderr, "winograd: unknown argument %s; see the head of bench/winograd.c\n", argv[i]), 2;
    if (argc % 2 == 0 || rounds < 1 || rounds > MAX_ROUNDS || batch < 1 || threads < 1)
        return fprintf(stderr, "winograd: see the head of bench/winograd.c\n"), 2;
    seconds = threads == 1 ? rp_seconds_cpu : rp_seconds_now;
    if (rp_fpenv_enter(&saved, NULL, NULL) != RP_OK || !conv_peer_start())
        return 1;
    conv_peer_threads(threads);
    status = run(threads, rounds, batch);
    rp_fpenv_leave(&saved);
    return status;
}
