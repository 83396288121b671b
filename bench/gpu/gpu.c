/* SPDX-License-Identifier: Apache-2.0
 * Kernels of a device at the sizes for which they were made, each held bit for bit against this CPU: matrix products of
 * four layouts, beside cuBLAS in its pedantic mode where its library is found (gpu_peer.c), convolution, sums, rows,
 * functions; chains, beside their steps launched one after the other. Part of scripts/gpu-report.sh.
 *
 *   build/release/bench/gpu DEVICE [reduced] [TEXT]
 *
 * TEXT: only works that have it in their section or name.
 *
 * Prints a line a work, fields apart by tabs: section, work, seconds (median), amount a second, its unit, seconds of
 * the peer (of a chain: of its steps) or "-", "equal" or "DIFFERENT". Exit 1 when anything differs. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "gpu_peer.h"
#include "determinism/fpenv.h"
#include "kernels/device.h"
#include "kernels/walk.h"

enum { ROUNDS = 7, COMPARED_ROWS = 64 };
static const double round_seconds = 0.02;

static rp_error err;
static rp_device *device, *cpu;
static gpu_peer *peer; /* NULL: not here */
static bool different;
static const char *only = ""; /* part of a work's section or name */

static bool asked(const char *section, const char *name)
{
    return strstr(section, only) != NULL || strstr(name, only) != NULL;
}

static void stop(const char *what)
{
    fprintf(stderr, "gpu: %s: %s\n", what, err.text);
    exit(2);
}

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- tensors here and there ---- */

typedef struct tensor {
    rp_view here, there;
    size_t bytes;
} tensor;

static tensor make(int rank, const size_t *shape)
{
    tensor t = {.here = {.dtype = RP_F32, .rank = rank}};
    size_t count = 1;
    float *x;

    for (int d = rank - 1; d >= 0; d--) {
        t.here.shape[d] = shape[d];
        t.here.stride[d] = (ptrdiff_t)count;
        count *= shape[d];
    }
    t.bytes = count * sizeof *x;
    x = malloc(t.bytes);
    if (x == NULL || rp_device_allocate(device, &t.there.data, t.bytes, &err) != RP_OK)
        stop("memory");
    for (size_t i = 0; i < count; i++)
        x[i] = (float)((int32_t)((uint32_t)i * 2654435761u >> 8 & 0xFFFFu) - 0x8000) * 0x1p-16f;
    t.here.data = x;
    if (rp_device_upload(device, t.there.data, x, t.bytes, NULL, &err) != RP_OK)
        stop("upload");
    x = t.there.data;
    t.there = t.here;
    t.there.data = x;
    return t;
}

static void drop(tensor *t)
{
    rp_device_release(device, t->there.data);
    free(t->here.data);
}

static tensor turned(tensor t)
{
    rp_view *const views[2] = {&t.here, &t.there};

    for (int v = 0; v < 2; v++) {
        rp_view old = *views[v];

        views[v]->shape[0] = old.shape[1], views[v]->shape[1] = old.shape[0];
        views[v]->stride[0] = old.stride[1], views[v]->stride[1] = old.stride[0];
    }
    return t;
}

/* ---- time ---- */

typedef void work(void *self);

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* The median time of one, the device waited for. The first call is not counted. */
static double time_of(work *run, void *self, bool reduced)
{
    double times[ROUNDS];
    size_t repeats = 1;

    run(self);
    if (rp_device_synchronize(device, NULL, &err) != RP_OK)
        stop("synchronize");
    for (int r = 0; r < (reduced ? 1 : ROUNDS); r++) {
        const double begin = now();

        for (size_t i = 0; i < repeats; i++)
            run(self);
        if (rp_device_synchronize(device, NULL, &err) != RP_OK)
            stop("synchronize");
        times[r] = (now() - begin) / (double)repeats;
        if (r == 0 && !reduced && times[0] < round_seconds)
            repeats = 1 + (size_t)(round_seconds / times[0]);
    }
    if (reduced)
        return times[0];
    qsort(times, ROUNDS, sizeof *times, ascending);
    return times[ROUNDS / 2];
}

typedef struct launch {
    rp_kernel_id kernel;
    rp_kernel_args args;
} launch;

static void run_launch(void *self)
{
    const launch *l = self;

    if (rp_device_launch(device, l->kernel, &l->args, NULL, &err) != RP_OK)
        stop("launch");
}

static void print(const char *section, const char *name, double seconds, double amount, const char *unit, double beside,
                  bool same)
{
    char text[32] = "-";

    if (beside > 0)
        snprintf(text, sizeof text, "%.9g", beside);
    printf("%s\t%s\t%.9g\t%.6g\t%s\t%s\t%s\n", section, name, seconds, amount / seconds, unit, text,
           same ? "equal" : "DIFFERENT");
    fflush(stdout);
    different = different || !same;
}

/* Computes args on this CPU and compares with what the device made of the same, elements [0, count) of the output. */
static bool same_as_here(rp_kernel_id kernel, const rp_kernel_args *args, const tensor *out, size_t first, size_t count)
{
    const size_t size = rp_dtype_size(out->here.dtype);
    char *found = malloc(count * size);
    bool same;

    if (found == NULL || rp_device_launch(cpu, kernel, args, NULL, &err) != RP_OK ||
        rp_device_read(device, found, (char *)out->there.data + first * size, count * size, NULL, &err) != RP_OK)
        stop("compare");
    same = memcmp(found, (char *)out->here.data + first * size, count * size) == 0;
    free(found);
    return same;
}

/* ---- products ---- */

/* The first and the last rows of the product; rows do not know of each other. */
static bool same_rows(const tensor *a, const tensor *b, const tensor *y)
{
    const size_t m = y->here.shape[0], n = y->here.shape[1], rows = m < COMPARED_ROWS ? m : COMPARED_ROWS;
    bool same = true;

    for (size_t first = 0; first < m && same; first = first == 0 && m > rows ? m - rows : m) {
        rp_view in[2] = {a->here, b->here}, out = y->here;
        const rp_kernel_args args = {in, 2, &out, 1, NULL};

        in[0].shape[0] = out.shape[0] = rows;
        in[0].data = rp_view_at(&in[0], (ptrdiff_t)first * in[0].stride[0]);
        out.data = rp_view_at(&out, (ptrdiff_t)first * out.stride[0]);
        same = same_as_here(RP_K_matmul, &args, y, first * n, rows * n);
    }
    return same;
}

static void product(size_t m, size_t n, size_t k, int way, bool reduced)
{
    char name[64];

    snprintf(name, sizeof name, "%zu x %zu x %zu %c%c", m, n, k, way & 1 ? 't' : 'n', way & 2 ? 't' : 'n');
    if (!asked("product", name))
        return;
    tensor a = make(2, way & 1 ? (const size_t[]){k, m} : (const size_t[]){m, k});
    tensor b = make(2, way & 2 ? (const size_t[]){n, k} : (const size_t[]){k, n});
    tensor y = make(2, (const size_t[]){m, n});
    const tensor a_way = way & 1 ? turned(a) : a, b_way = way & 2 ? turned(b) : b;
    const rp_view in[2] = {a_way.there, b_way.there};
    launch l = {RP_K_matmul, {in, 2, &y.there, 1, NULL}};
    const double seconds = time_of(run_launch, &l, reduced);
    const bool same = same_rows(&a_way, &b_way, &y);
    gpu_product p = {peer, a.there.data, b.there.data, y.there.data, m, n, k, (way & 1) != 0, (way & 2) != 0};

    print("product", name, seconds, 2.0 * (double)m * (double)n * (double)k, "FLOP/s",
          peer ? time_of(gpu_peer_multiply, &p, reduced) : 0, same);
    drop(&a), drop(&b), drop(&y);
}

static void products(bool reduced)
{
    static const size_t full[][3] = {{1024, 1024, 1024}, {2048, 2048, 2048}, {4096, 4096, 4096}, {8192, 8192, 8192},
                                     {4096, 4096, 512},  {4096, 4096, 513},  {512, 512, 4096},   {2048, 2048, 4096},
                                     {1, 4096, 4096},    {16, 4096, 4096},   {64, 4096, 4096},   {1, 4096, 513}};
    static const size_t few[][3] = {{128, 1024, 77}, {128, 128, 513}, {1, 512, 600}, {16, 128, 64}};

    for (size_t i = 0; i < (reduced ? sizeof few / sizeof *few : sizeof full / sizeof *full); i++)
        for (int way = 0; way < 4; way++) {
            const size_t *s = reduced ? few[i] : full[i];

            product(s[0], s[1], s[2], way, reduced);
        }
}

/* ---- the rest ---- */

/* A kernel that is timed once for its shapes; amount: what it does, in units. */
typedef struct kernel_work {
    const char *section, *name;
    rp_kernel_id kernel;
    const tensor *in;
    size_t n_in;
    tensor *out;
    const rp_attr *attr;
    double amount;
    const char *unit;
} kernel_work;

static void one(const kernel_work *w, bool reduced)
{
    if (!asked(w->section, w->name))
        return;
    const rp_view there[3] = {w->in[0].there, w->n_in > 1 ? w->in[1].there : w->in[0].there};
    const rp_view here[3] = {w->in[0].here, w->n_in > 1 ? w->in[1].here : w->in[0].here};
    launch l = {w->kernel, {there, w->n_in, &w->out->there, 1, w->attr}};
    const double seconds = time_of(run_launch, &l, reduced);
    const rp_kernel_args args = {here, w->n_in, &w->out->here, 1, w->attr};

    print(w->section, w->name, seconds, w->amount, w->unit, 0,
          same_as_here(w->kernel, &args, w->out, 0, w->out->bytes / rp_dtype_size(w->out->here.dtype)));
}

/* Images of n, size x size, c channels by taps x taps to k, padded to their size. */
static void convolution(size_t n, size_t size, size_t c, size_t k, size_t taps, bool reduced)
{
    const int64_t pad = (int64_t)(taps / 2);
    const rp_attr attr[RP_MAX_ATTR] = {
        {.n = 2, .list = {1, 1}}, {.n = 4, .list = {pad, pad, pad, pad}}, {.n = 2, .list = {1, 1}}, {.i = 1}};
    const double flops = 2.0 * (double)(n * size * size) * (double)(c * k) * (double)(taps * taps);
    tensor x = make(4, (const size_t[]){n, size, size, c}), w = make(4, (const size_t[]){taps, taps, c, k});
    tensor y = make(4, (const size_t[]){n, size, size, k});
    char name[96];

    snprintf(name, sizeof name, "%zu x %zu x %zu x %zu by %zu x %zu to %zu", n, size, size, c, taps, taps, k);
    one(&(const kernel_work){"conv2d", name, RP_K_conv2d, (const tensor[]){x, w}, 2, &y, attr, flops, "FLOP/s"},
        reduced);
    one(&(const kernel_work){"conv2d_grad_input", name, RP_K_conv2d_grad_input, (const tensor[]){y, w}, 2, &x, attr,
                             flops, "FLOP/s"},
        reduced);
    one(&(const kernel_work){"conv2d_grad_weight", name, RP_K_conv2d_grad_weight, (const tensor[]){x, y}, 2, &w, attr,
                             flops, "FLOP/s"},
        reduced);
    drop(&x), drop(&w), drop(&y);
}

/* Causal attention of so many heads and its gradient; unseen products count. */
static void attention(size_t heads, size_t m, size_t d, bool reduced)
{
    const size_t shape[] = {heads, m, d};
    const double flops = 4.0 * (double)heads * (double)(m * m) * (double)d;
    rp_attr attr[RP_MAX_ATTR] = {{0}};
    tensor t[7]; /* g, q, k, v and what is made */
    rp_view there[7], here[7];
    char name[64];

    snprintf(name, sizeof name, "%zu x %zu x %zu, causal", heads, m, d);
    if (!asked("attention", name))
        return;
    for (int i = 0; i < 7; i++) {
        t[i] = make(3, shape);
        there[i] = t[i].there, here[i] = t[i].here;
    }
    RP_AT(attr, attention, scale).r = 0.125;
    RP_AT(attr, attention, causal).i = 1;
    for (int grad = 0; grad < 2; grad++) {
        const rp_kernel_id kernel = grad ? RP_K_attention_grad : RP_K_attention;
        const size_t first = grad ? 0 : 1, n_in = grad ? 4 : 3, n_out = grad ? 3 : 1;
        launch l = {kernel, {there + first, n_in, there + 4, n_out, attr}};
        const double seconds = time_of(run_launch, &l, reduced);
        const rp_kernel_args args = {here + first, n_in, here + 4, n_out, attr};
        bool same = true;

        for (size_t i = 0; i < n_out; i++)
            same = same_as_here(kernel, &args, &t[4 + i], 0, heads * m * d) && same;
        print(grad ? "attention_grad" : "attention", name, seconds, grad ? 2.5 * flops : flops, "FLOP/s", 0, same);
    }
    for (int i = 0; i < 7; i++)
        drop(&t[i]);
}

/* ---- chains, beside the kernels of their steps one after the other ---- */

enum { CHAIN_STEPS = 5 };

typedef struct chain_step {
    rp_kernel_id kernel;
    size_t n_in; /* of two the second is the row and x by turns */
} chain_step;

typedef struct chain_work {
    rp_device *device;
    rp_chain chain;
    rp_view alone[CHAIN_STEPS][3]; /* operands and output of the steps by themselves */
} chain_work;

static void run_chain(void *self)
{
    const chain_work *w = self;

    if (rp_device_launch_chain(w->device, &w->chain, NULL, &err) != RP_OK)
        stop("chain");
}

static void run_steps(void *self)
{
    const chain_work *w = self;

    for (size_t k = 0; k < w->chain.n_steps; k++) {
        const rp_kernel_args args = {w->alone[k], w->chain.step[k].n_in, &w->alone[k][2], 1, NULL};

        if (rp_device_launch(w->device, w->chain.step[k].kernel, &args, NULL, &err) != RP_OK)
            stop("step");
    }
}

/* between: memory of the steps' results, of which the chain's last goes to `last`. */
static chain_work chain_of(rp_device *on, const chain_step *step, rp_view x, rp_view row, const rp_view *between,
                           rp_view last)
{
    chain_work w = {.device = on,
                    .chain = {.count = rp_view_count(&x), .slots = 2, .size = sizeof(float), .n_steps = CHAIN_STEPS}};
    rp_chain *c = &w.chain;

    for (size_t k = 0; k < CHAIN_STEPS; k++) {
        const rp_view second = k % 2 ? x : row;

        c->step[k] = (rp_chain_step){step[k].kernel, c->n_views, step[k].n_in, c->n_views + step[k].n_in, 1, NULL};
        if (k > 0)
            c->scratch[c->n_scratch++] = (rp_chain_scratch){c->n_views, (k - 1) % 2, NULL};
        c->view[c->n_views++] = x;
        if (step[k].n_in > 1)
            c->view[c->n_views++] = second;
        if (k + 1 < CHAIN_STEPS)
            c->scratch[c->n_scratch++] = (rp_chain_scratch){c->n_views, k % 2, NULL};
        c->view[c->n_views++] = last;
        w.alone[k][0] = k > 0 ? between[k - 1] : x;
        w.alone[k][1] = second;
        w.alone[k][2] = between[k];
    }
    return w;
}

static void chain(const char *name, const chain_step *step, bool reduced)
{
    if (!asked("chain", name))
        return;
    const size_t rows = reduced ? 64 : 8192, cols = reduced ? 300 : 4096;
    tensor x = make(2, (const size_t[]){rows, cols}), row = make(2, (const size_t[]){1, cols});
    tensor y = make(2, (const size_t[]){rows, cols}), made[CHAIN_STEPS];
    rp_view between[CHAIN_STEPS];
    chain_work there, here;
    double seconds, alone;
    char *found = malloc(y.bytes);

    row.here.shape[0] = row.there.shape[0] = rows;
    row.here.stride[0] = row.there.stride[0] = 0;
    for (size_t k = 0; k < CHAIN_STEPS; k++) {
        made[k] = make(2, (const size_t[]){rows, cols});
        between[k] = made[k].there;
    }
    there = chain_of(device, step, x.there, row.there, between, y.there);
    here = chain_of(cpu, step, x.here, row.here, between, y.here);
    seconds = time_of(run_chain, &there, reduced);
    alone = time_of(run_steps, &there, reduced);
    run_chain(&here);
    if (found == NULL || rp_device_read(device, found, y.there.data, y.bytes, NULL, &err) != RP_OK)
        stop("compare");
    print("chain", name, seconds, 2.0 * (double)y.bytes, "B/s", alone, memcmp(found, y.here.data, y.bytes) == 0);
    free(found);
    for (size_t k = 0; k < CHAIN_STEPS; k++)
        drop(&made[k]);
    drop(&x), drop(&row), drop(&y);
}

static void chains(bool reduced)
{
    chain("mul add sub maximum relu",
          (const chain_step[]){{RP_K_mul, 2}, {RP_K_add, 2}, {RP_K_sub, 2}, {RP_K_maximum, 2}, {RP_K_relu, 1}},
          reduced);
    chain("add gelu mul tanh sub",
          (const chain_step[]){{RP_K_add, 2}, {RP_K_gelu, 1}, {RP_K_mul, 2}, {RP_K_tanh, 1}, {RP_K_sub, 2}}, reduced);
}

static void memory_bound(bool reduced)
{
    const size_t rows = reduced ? 64 : 8192, cols = reduced ? 300 : 4096, count = rows * cols;
    const rp_attr last[RP_MAX_ATTR] = {{.n = 1, .list = {1}}}, both[RP_MAX_ATTR] = {{.n = 2, .list = {0, 1}}};
    tensor x = make(2, (const size_t[]){rows, cols}), y = make(2, (const size_t[]){rows, cols});
    tensor row = make(2, (const size_t[]){rows, 1}), single = make(2, (const size_t[]){1, 1});
    char name[48];

    snprintf(name, sizeof name, "%zu x %zu", rows, cols);
    one(&(const kernel_work){"copy", name, RP_K_copy, &x, 1, &y, NULL, 8.0 * (double)count, "B/s"}, reduced);
    one(&(const kernel_work){"exp", name, RP_K_exp, &x, 1, &y, NULL, 8.0 * (double)count, "B/s"}, reduced);
    one(&(const kernel_work){"tanh", name, RP_K_tanh, &x, 1, &y, NULL, 8.0 * (double)count, "B/s"}, reduced);
    one(&(const kernel_work){"softmax", name, RP_K_softmax, &x, 1, &y, NULL, 8.0 * (double)count, "B/s"}, reduced);
    one(&(const kernel_work){"sum of rows", name, RP_K_sum, &x, 1, &row, last, 4.0 * (double)count, "B/s"}, reduced);
    one(&(const kernel_work){"sum of all", name, RP_K_sum, &x, 1, &single, both, 4.0 * (double)count, "B/s"}, reduced);
    drop(&x), drop(&y), drop(&row), drop(&single);
}

int main(int argc, char **argv)
{
    const bool reduced = argc > 2 && strcmp(argv[2], "reduced") == 0;
    static rp_fpenv saved;

    double begin;

    if (argc < 2 || argc > 3 + reduced) {
        fprintf(stderr, "usage: gpu DEVICE [reduced] [TEXT]\n");
        return 2;
    }
    if (argc > 2 + reduced)
        only = argv[2 + reduced];
    begin = now();
    if (rp_fpenv_enter(&saved, NULL, &err) != RP_OK || rp_device_open(&device, argv[1], NULL, 1, &err) != RP_OK ||
        rp_device_cpu_new(&cpu, NULL, reduced ? 1 : 8, &err) != RP_OK)
        stop(argv[1]);
    fprintf(stderr, "gpu: %s, open after %.3f s, beside %s\n", rp_device_identity(device), now() - begin,
            rp_device_identity(cpu));
    peer = strncmp(argv[1], "cuda", 4) == 0 ? gpu_peer_open() : NULL;
    fprintf(stderr, "gpu: %s\n", peer ? gpu_peer_name(peer) : "cuBLAS is not here: no times of its own");
    products(reduced);
    if (reduced) {
        convolution(2, 9, 20, 20, 3, true);
        convolution(3, 13, 32, 36, 3, true);
        attention(3, 40, 8, true);
    } else {
        convolution(32, 56, 64, 64, 3, false);
        convolution(32, 28, 128, 128, 3, false);
        convolution(32, 14, 256, 256, 3, false);
        convolution(32, 7, 512, 512, 3, false);
        convolution(32, 56, 64, 256, 1, false);
        attention(128, 256, 64, false);
        attention(32, 1024, 64, false);
    }
    memory_bound(reduced);
    chains(reduced);
    gpu_peer_close(peer);
    rp_device_free(device);
    rp_device_free(cpu);
    return different;
}
