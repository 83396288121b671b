/* SPDX-License-Identifier: Apache-2.0
 * Matrix products with bf16 operands beside the same in binary32: the shapes of a linear layer's forward pass and of
 * its two gradients.
 *
 *   build/release/bench/mixed_products [ROUNDS]
 *
 * Prints the time of binary32 and, as ratios of times, medians over rounds that take turns, of products whose first,
 * second, or both operands are bf16. One thread. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "determinism/bits.h"
#include "determinism/fpenv.h"
#include "kernels/kernel.h"

enum { KINDS = 4, ROUNDS_MOST = 101 }; /* kind: bit i, operand i is bf16 */

typedef struct product {
    const char *name;
    size_t m, k, n;
    bool turned_a, turned_b; /* the operand lies with its axes exchanged */
} product;

static double now(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static rp_view matrix(void *data, rp_dtype dtype, size_t rows, size_t cols, bool turned)
{
    rp_view v = {.data = data, .dtype = dtype, .rank = 2, .shape = {rows, cols}};

    v.stride[0] = turned ? 1 : (ptrdiff_t)cols;
    v.stride[1] = turned ? (ptrdiff_t)rows : 1;
    return v;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double middle(double *x, size_t n)
{
    qsort(x, n, sizeof *x, compare);
    return x[n / 2];
}

static double once(const rp_kernel *kernel, const rp_kernel_args *args, size_t times)
{
    const double begin = now();

    for (size_t i = 0; i < times; i++)
        kernel->run(args, 0, kernel->items(args));
    return (now() - begin) / (double)times;
}

static void measure(const rp_kernel *kernel, const product *p, size_t rounds)
{
    const size_t count[2] = {p->m * p->k, p->k * p->n};
    static double time[KINDS][ROUNDS_MOST];
    float *wide[2], *y = malloc(p->m * p->n * sizeof *y);
    uint16_t *half[2];
    size_t times;

    for (int i = 0; i < 2; i++) {
        wide[i] = malloc(count[i] * sizeof **wide);
        half[i] = malloc(count[i] * sizeof **half);
        if (!wide[i] || !half[i] || !y)
            exit(1);
        for (size_t e = 0; e < count[i]; e++) {
            half[i][e] = rp_bf16_of_f32((float)(e * 2654435761u >> 8 & 0xFFFF) / 65536 - 0.5f);
            wide[i][e] = rp_f32_of_bf16(half[i][e]);
        }
    }
    times = 1 + (size_t)(2e8 / (2.0 * (double)p->m * (double)p->k * (double)p->n));
    for (size_t r = 0; r < rounds; r++)
        for (unsigned kind = 0; kind < KINDS; kind++) {
            const rp_view in[2] = {
                matrix(kind & 1 ? (void *)half[0] : wide[0], kind & 1 ? RP_BF16 : RP_F32, p->m, p->k, p->turned_a),
                matrix(kind & 2 ? (void *)half[1] : wide[1], kind & 2 ? RP_BF16 : RP_F32, p->k, p->n, p->turned_b)};
            const rp_view out = matrix(y, RP_F32, p->m, p->n, false);

            time[kind][r] = once(kernel, &(rp_kernel_args){in, 2, &out, 1, NULL}, times);
        }
    for (size_t r = 0; r < rounds; r++)
        for (unsigned kind = 1; kind < KINDS; kind++)
            time[kind][r] /= time[0][r];
    printf("%-26s %5zu x %5zu x %5zu %10.4f %8.3f %8.3f %8.3f\n", p->name, p->m, p->k, p->n,
           1e3 * middle(time[0], rounds), middle(time[1], rounds), middle(time[2], rounds), middle(time[3], rounds));
    for (int i = 0; i < 2; i++) {
        free(wide[i]);
        free(half[i]);
    }
    free(y);
}

int main(int argc, char **argv)
{
    static const product of[] = {{"square", 1024, 1024, 1024, false, false},
                                 {"layer", 256, 1024, 1024, false, false},
                                 {"its weight gradient", 1024, 256, 1024, true, false},
                                 {"its input gradient", 256, 1024, 1024, false, true},
                                 {"transformer, up", 1024, 256, 1024, false, false},
                                 {"its weight gradient", 256, 1024, 1024, true, false},
                                 {"transformer, down", 1024, 1024, 256, false, false},
                                 {"its weight gradient", 1024, 1024, 256, true, false},
                                 {"last layer", 256, 1024, 10, false, false},
                                 {"its weight gradient", 1024, 256, 10, true, false},
                                 {"small layer", 512, 113, 256, false, false},
                                 {"its weight gradient", 113, 512, 256, true, false},
                                 {"one row", 1, 4096, 4096, false, false},
                                 {"one row, turned", 1, 4096, 4096, false, true},
                                 {"four rows", 4, 4096, 4096, false, false},
                                 {"one column", 4096, 4096, 1, false, false}};
    const size_t rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 11;
    const rp_kernel_table *table;
    rp_fpenv saved;
    rp_error err = {0};

    if (rounds < 1 || rounds > ROUNDS_MOST || rp_fpenv_enter(&saved, NULL, &err) != RP_OK ||
        rp_kernel_table_get(&table, NULL, &err) != RP_OK) {
        fprintf(stderr, "mixed_products: %s\n", err.text);
        return 1;
    }
    printf("%-26s %21s %10s %8s %8s %8s\n", "product", "m x k x n", "f32 ms", "a bf16", "b bf16", "both");
    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        measure(table->kernel[RP_K_matmul], &of[i], rounds);
    return 0;
}
