/* SPDX-License-Identifier: Apache-2.0
 * Order and places along an axis: milliseconds a call of binary32 at this host's best level, on one thread, medians.
 * bench/peers/order.py gives the same rows of PyTorch. order [REPEATS] */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "determinism/fpenv.h"
#include "determinism/philox.h"
#include "kernels/kernel.h"

enum { SIDE = 1024, MOST = 101 };
static const size_t rows[2] = {SIDE, SIDE}, line[1] = {1000000};

typedef struct row {
    const char *name;
    rp_kernel_id id;
    bool is_line;
    size_t k; /* of topk; else 0 */
    int64_t axis, mode;
} row;

static const row table[] = {
    {"sort, 1024 lines of 1024", RP_K_sort, false, 0, 0, 0},
    {"sort, a line of 1e6", RP_K_sort, true, 0, 0, 0},
    {"topk 10, 1024 lines of 1024", RP_K_topk, false, 10, 0, 0},
    {"topk 100, 1024 lines of 1024", RP_K_topk, false, 100, 0, 0},
    {"topk 1000, a line of 1e6", RP_K_topk, true, 1000, 0, 0},
    {"take_along rows", RP_K_take_along, false, 0, 1, 0},
    {"take_along columns", RP_K_take_along, false, 0, 0, 0},
    {"take_along, a line of 1e6", RP_K_take_along, true, 0, 0, 0},
    {"scatter_along rows, set", RP_K_scatter_along, false, 0, 1, 0},
    {"scatter_along rows, add", RP_K_scatter_along, false, 0, 1, 1},
    {"scatter_along columns, add", RP_K_scatter_along, false, 0, 0, 1},
    {"scatter_along, a line of 1e6, add", RP_K_scatter_along, true, 0, 0, 1},
    {"scatter_along rows, maximum", RP_K_scatter_along, false, 0, 1, 3},
    {"searchsorted, 1e6 in 1e6", RP_K_searchsorted, true, 0, 0, 0},
};

static void *room(size_t bytes)
{
    void *memory = malloc(bytes);

    if (!memory)
        exit(1);
    return memory;
}

static rp_view view_of(void *data, rp_dtype dtype, bool is_line, size_t last)
{
    rp_view v = {data, dtype, is_line ? 1 : 2, {SIDE, last}, {(ptrdiff_t)last, 1}};

    if (is_line) {
        v.shape[0] = last;
        v.stride[0] = 1;
    }
    return v;
}

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median_ms(const rp_kernel *kernel, const rp_kernel_args *args, int repeats)
{
    double took[MOST];

    for (int i = -2; i < repeats; i++) {
        const double begin = now();

        kernel->run(args, 0, kernel->items(args));
        if (i >= 0)
            took[i] = now() - begin;
    }
    qsort(took, (size_t)repeats, sizeof *took, by_size);
    return took[repeats / 2] * 1e3;
}

static void measure(const row *r, const rp_kernel_table *kernels, int repeats)
{
    const size_t n = r->is_line ? line[0] : rows[0] * rows[1], last = r->is_line ? line[0] : rows[1];
    float *x = room(n * sizeof *x), *y = room(n * sizeof *y);
    int64_t *index = room(n * sizeof *index), *place = room(n * sizeof *place);
    rp_view in[3] = {view_of(x, RP_F32, r->is_line, last), view_of(index, RP_I64, r->is_line, last),
                     view_of(x, RP_F32, r->is_line, last)};
    rp_view out[2] = {view_of(y, RP_F32, r->is_line, last), view_of(place, RP_I64, r->is_line, last)};
    rp_attr attr[RP_MAX_ATTR] = {{0}};
    rp_kernel_args args = {in, 1, out, 1, attr};

    for (size_t i = 0; i < n; i++) {
        x[i] = (float)rp_normal_f64(rp_random_block(1, 0, 0, i));
        index[i] = (int64_t)(rp_random_u32(2, 0, 0, i) % last);
    }
    if (r->id == RP_K_sort || r->id == RP_K_topk) {
        args.n_out = 2;
        attr[0].i = (int64_t)r->k; /* not descending; the largest */
        attr[1].i = 1;
        for (int o = 0; o < 2 && r->k; o++)
            out[o] = view_of(out[o].data, out[o].dtype, r->is_line, r->k);
    } else if (r->id == RP_K_searchsorted) {
        const rp_view ordered[2] = {out[0], {place, RP_I64, 1, {last}, {1}}};
        const rp_kernel_args sort = {in, 1, ordered, 2, attr};

        kernels->kernel[RP_K_sort]->run(&sort, 0, 1);
        in[1] = in[0];
        in[0] = out[0];
        out[0] = out[1];
        args.n_in = 2;
    } else {
        attr[0].i = r->axis;
        attr[1].i = r->mode;
        args.n_in = r->id == RP_K_take_along ? 2 : 3;
    }
    printf("%-34s %9.3f ms\n", r->name, median_ms(kernels->kernel[r->id], &args, repeats));
    free(x), free(y), free(index), free(place);
}

int main(int argc, char **argv)
{
    const int repeats = argc > 1 ? atoi(argv[1]) : 11;
    const rp_kernel_table *kernels;
    rp_fpenv saved;

    if (repeats < 1 || repeats > MOST || rp_kernel_table_get(&kernels, NULL, NULL) != RP_OK ||
        rp_fpenv_enter(&saved, NULL, NULL) != RP_OK)
        return 1;
    printf("level %s, one thread\n", kernels->level);
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        measure(&table[i], kernels, repeats);
    rp_fpenv_leave(&saved);
    return 0;
}
