/* SPDX-License-Identifier: Apache-2.0
 * Nanoseconds an element of the functions of two arguments at each level of this host, on one core with data in cache;
 * the C library's function, called in a loop, is the peer. Medians, levels interleaved.
 *   functions_bivariate [REPEATS] */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "determinism/fpenv.h"
#include "determinism/philox.h"
#include "kernels/device.h"
#include "kernels/limits.h"

enum { N = 4096, INNER = 10, MOST = 101, LEVELS = 8 };

typedef struct function {
    const char *name;
    rp_kernel_id id;
    float (*narrow)(float, float);
    double (*wide)(double, double);
    double low_a, high_a, low_b, high_b;
} function;

static const function functions[] = {
    {"pow", RP_K_pow, powf, pow, 0, 10, -5, 5},
    {"atan2", RP_K_atan2, atan2f, atan2, -10, 10, -10, 10},
    {"hypot", RP_K_hypot, hypotf, hypot, -10, 10, -10, 10},
};
enum { FUNCTIONS = sizeof functions / sizeof functions[0] };

static float a32[N], b32[N], y32[N];
static double a64[N], b64[N], y64[N];

static double time_kernel(const rp_kernel *kernel, rp_dtype dtype)
{
    const int narrow = dtype == RP_F32;
    rp_view in[2] = {{.data = narrow ? (void *)a32 : a64, .dtype = dtype, .rank = 1, .shape = {N}, .stride = {1}},
                     {.data = narrow ? (void *)b32 : b64, .dtype = dtype, .rank = 1, .shape = {N}, .stride = {1}}};
    rp_view out = {.data = narrow ? (void *)y32 : y64, .dtype = dtype, .rank = 1, .shape = {N}, .stride = {1}};
    rp_attr attr[RP_MAX_ATTR] = {{0}};
    rp_kernel_args args = {in, 2, &out, 1, attr};
    const double start = rp_seconds_now();

    for (int i = 0; i < INNER; i++)
        kernel->run(&args, 0, N);
    return (rp_seconds_now() - start) * 1e9 / (INNER * (double)N);
}

static double time_peer(const function *f, rp_dtype dtype)
{
    float (*volatile narrow)(float, float) = f->narrow;
    double (*volatile wide)(double, double) = f->wide;
    const double start = rp_seconds_now();

    for (int i = 0; i < INNER; i++)
        for (int j = 0; j < N; j++)
            if (dtype == RP_F32)
                y32[j] = narrow(a32[j], b32[j]);
            else
                y64[j] = wide(a64[j], b64[j]);
    return (rp_seconds_now() - start) * 1e9 / (INNER * (double)N);
}

static void measure(const function *f, rp_dtype dtype, const rp_kernel_table **tables, size_t levels, int repeats)
{
    static double times[LEVELS + 1][MOST];

    for (uint32_t i = 0; i < N; i++) {
        a64[i] = f->low_a + (f->high_a - f->low_a) * ((double)rp_random_u32(1, 0, 0, i) * 0x1p-32);
        b64[i] = f->low_b + (f->high_b - f->low_b) * ((double)rp_random_u32(1, 0, 1, i) * 0x1p-32);
        a32[i] = (float)a64[i];
        b32[i] = (float)b64[i];
    }
    for (int r = 0; r < repeats; r++) {
        for (size_t l = 0; l < levels; l++)
            times[l][r] = time_kernel(tables[l]->kernel[f->id], dtype);
        times[levels][r] = time_peer(f, dtype);
    }
    printf("%-6s %s", f->name, rp_dtype_name(dtype));
    for (size_t l = 0; l <= levels; l++)
        printf(" %8.2f", rp_median(times[l], (size_t)repeats));
    putchar('\n');
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
        fprintf(stderr, "functions_bivariate: REPEATS is 1 to %d\n", MOST);
        return 2;
    }
    if (rp_fpenv_enter(&saved, NULL, &err) != RP_OK) {
        fprintf(stderr, "functions_bivariate: %s\n", err.text);
        return 1;
    }
    printf("ns an element, %d elements, one core, median of %d\n%10s", N, repeats, "");
    for (size_t l = 0; l < levels; l++) {
        if (rp_kernel_table_get(&tables[l], names[l], &err) != RP_OK) {
            fprintf(stderr, "functions_bivariate: %s\n", err.text);
            return 1;
        }
        printf(" %8s", names[l]);
    }
    printf(" %8s\n", "libm");
    for (int f = 0; f < FUNCTIONS; f++) {
        measure(&functions[f], RP_F32, tables, levels, repeats);
        measure(&functions[f], RP_F64, tables, levels, repeats);
    }
    return 0;
}
