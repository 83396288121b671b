/* SPDX-License-Identifier: Apache-2.0
 * Nanoseconds of the thread an element of every one-argument function in binary32, and of the formulas built on them,
 * at each level of this host, on one core with data in cache; the C library's function, called in a loop, is the peer,
 * and SLEEF's AVX-512 function where it is built in. Medians, levels interleaved; the last column is the last level
 * over SLEEF. functions [REPEATS] [NAME ...] */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "determinism/fpenv.h"
#include "determinism/philox.h"
#include "kernels/device.h"
#include "kernels/limits.h"
#ifdef RP_SLEEF
#include "sleef_peer.h"
#else
typedef void sleef_run(float *y, const float *x, size_t n);
static sleef_run *sleef_peer(const char *name)
{
    (void)name;
    return NULL;
}
#endif

enum { N = 4096, INNER = 20, MOST = 101, LEVELS = 8 };

typedef struct function {
    const char *name;
    rp_kernel_id id;
    float (*peer)(float);
    float low, high;
    size_t n_in;
} function;

static float peer_sigmoid(float x)
{
    return 1.0f / (1.0f + expf(-x));
}
static float peer_rsqrt(float x)
{
    return 1.0f / sqrtf(x);
}

static float peer_gelu(float x)
{
    return 0.5f * x * (1.0f + erff(x * 0.70710678f));
}
static float peer_gelu_grad(float x)
{
    return x * (0.5f * (1.0f + erff(x * 0.70710678f)) + x * (0.39894228f * expf(-0.5f * x * x)));
}
static float peer_bce_logits(float x)
{
    return fmaxf(x, 0.0f) - x * x + log1pf(expf(-fabsf(x)));
}

/* The last is the number of inputs; a second is the first again. */
static const function functions[] = {
    {"exp", RP_K_exp, expf, -20, 20, 1},
    {"log", RP_K_log, logf, 0, 100, 1},
    {"log1p", RP_K_log1p, log1pf, -1, 100, 1},
    {"tanh", RP_K_tanh, tanhf, -4, 4, 1},
    {"sigmoid", RP_K_sigmoid, peer_sigmoid, -10, 10, 1},
    {"erf", RP_K_erf, erff, -4, 4, 1},
    {"expm1", RP_K_expm1, expm1f, -20, 20, 1},
    {"exp2", RP_K_exp2, exp2f, -20, 20, 1},
    {"log2", RP_K_log2, log2f, 0, 100, 1},
    {"log10", RP_K_log10, log10f, 0, 100, 1},
    {"sin", RP_K_sin, sinf, -10, 10, 1},
    {"cos", RP_K_cos, cosf, -10, 10, 1},
    {"tan", RP_K_tan, tanf, -10, 10, 1},
    {"sinh", RP_K_sinh, sinhf, -10, 10, 1},
    {"cosh", RP_K_cosh, coshf, -10, 10, 1},
    {"asin", RP_K_asin, asinf, -1, 1, 1},
    {"acos", RP_K_acos, acosf, -1, 1, 1},
    {"atan", RP_K_atan, atanf, -10, 10, 1},
    {"erfc", RP_K_erfc, erfcf, -4, 10, 1},
    {"rsqrt", RP_K_rsqrt, peer_rsqrt, 0, 100, 1},
    {"cbrt", RP_K_cbrt, cbrtf, -100, 100, 1},
    {"gelu", RP_K_gelu, peer_gelu, -4, 4, 1},
    {"gelu_grad", RP_K_gelu_grad, peer_gelu_grad, -4, 4, 2},
    {"bce_logits", RP_K_bce_logits, peer_bce_logits, -10, 10, 2},
};
enum { FUNCTIONS = sizeof functions / sizeof functions[0] };

/* Other work on the machine does not count. */
static double thread_seconds(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double time_kernel(const rp_kernel *kernel, size_t n_in, float *x, float *y)
{
    rp_view out = {.data = y, .dtype = RP_F32, .rank = 1, .shape = {N}, .stride = {1}}, in[2] = {out, out};
    rp_attr attr[RP_MAX_ATTR] = {{0}};
    rp_kernel_args args = {in, n_in, &out, 1, attr};
    const double start = thread_seconds();

    in[0].data = in[1].data = x;
    for (int i = 0; i < INNER; i++)
        kernel->run(&args, 0, N);
    return (thread_seconds() - start) * 1e9 / (INNER * (double)N);
}

static double time_peer(float (*volatile peer)(float), const float *x, float *y)
{
    float (*f)(float) = peer;
    const double start = thread_seconds();

    for (int i = 0; i < INNER; i++)
        for (int j = 0; j < N; j++)
            y[j] = f(x[j]);
    return (thread_seconds() - start) * 1e9 / (INNER * (double)N);
}

static double time_sleef(sleef_run *run, const float *x, float *y)
{
    const double start = thread_seconds();

    for (int i = 0; i < INNER; i++)
        run(y, x, N);
    return (thread_seconds() - start) * 1e9 / (INNER * (double)N);
}

static void measure(const function *f, const rp_kernel_table **tables, size_t levels, int repeats)
{
    static float x[N], y[N];
    static double times[LEVELS + 2][MOST];
    sleef_run *sleef = sleef_peer(f->name);

    for (uint32_t i = 0; i < N; i++)
        x[i] = f->low + (f->high - f->low) * ((float)(rp_random_u32(1, 0, 0, i) >> 8) * 0x1p-24f);
    for (int r = 0; r < repeats; r++) {
        for (size_t l = 0; l < levels; l++)
            times[l][r] = time_kernel(tables[l]->kernel[f->id], f->n_in, x, y);
        times[levels][r] = time_peer(f->peer, x, y);
        if (sleef)
            times[levels + 1][r] = time_sleef(sleef, x, y);
    }
    printf("%-10s", f->name);
    for (size_t l = 0; l <= levels; l++)
        printf(" %8.2f", rp_median(times[l], (size_t)repeats));
    if (sleef) {
        double peer = rp_median(times[levels + 1], (size_t)repeats);

        printf(" %8.2f %8.2f", peer, times[levels - 1][repeats / 2] / peer);
    }
    putchar('\n');
}

static int wanted(const char *name, int argc, char **argv)
{
    for (int i = 2; i < argc; i++)
        if (strcmp(argv[i], name) == 0)
            return 1;
    return argc <= 2;
}

int main(int argc, char **argv)
{
    const char *const *names;
    const size_t levels = rp_kernel_levels(&names);
    const rp_kernel_table *tables[LEVELS];
    int repeats = argc > 1 ? atoi(argv[1]) : 15;
    rp_fpenv saved;
    rp_error err;

    if (repeats < 1 || repeats > MOST || levels > LEVELS) {
        fprintf(stderr, "functions: REPEATS is 1 to %d\n", MOST);
        return 2;
    }
    if (rp_fpenv_enter(&saved, NULL, &err) != RP_OK) {
        fprintf(stderr, "functions: %s\n", err.text);
        return 1;
    }
    printf("binary32, ns of the thread an element, %d elements, one core, median of %d\n%-10s", N, repeats, "");
    for (size_t l = 0; l < levels; l++) {
        if (rp_kernel_table_get(&tables[l], names[l], &err) != RP_OK) {
            fprintf(stderr, "functions: %s\n", err.text);
            return 1;
        }
        printf(" %8s", names[l]);
    }
    printf(" %8s %8s %8s\n", "libm", "SLEEF", "ratio");
    for (int f = 0; f < FUNCTIONS; f++)
        if (wanted(functions[f].name, argc, argv))
            measure(&functions[f], tables, levels, repeats);
    return 0;
}
