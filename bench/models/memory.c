/* SPDX-License-Identifier: Apache-2.0
 * What a network's training step takes in memory, told before anything is allocated, and what less of it costs in time.
 *
 *   build/release/bench/memory NAME THREADS ROUNDS [PERCENT ...]
 *
 * PERCENT: of what the step takes as it is beside states and data (its activations, gradients and what else it computes
 * on the way), so much is its budget. ROUNDS 0: plans alone. Each row is a run; runs take turns, and all must have the
 * same states in the end. Prints told and held MiB, the share of the step as it is, operations computed again, launches
 * are left out of account, seconds to look, median seconds of a step, and its ratio to the first row's. NAME: as bench/
 * models has them, and unet512. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/run/run.h"
#include "network.h"

enum { ROWS_MAX = 16, ROUNDS_MAX = 64 };

typedef struct row {
    rp_memory_needed needed;
    double look, step[ROUNDS_MAX];
    rp_run *run;
    rp_compiled *compiled;
} row;

static const network large = {"unet512", "U-Net with group norm, one image of 512 x 512", build_unet_512};
static net symbolic;

static double seconds(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static const network *named(const char *name)
{
    for (size_t i = 0; networks[i].name; i++)
        if (strcmp(networks[i].name, name) == 0)
            return &networks[i];
    return strcmp(name, large.name) == 0 ? &large : NULL;
}

static double mib(uint64_t bytes)
{
    return (double)bytes / (1 << 20);
}

static uint64_t step_bytes(const row *r)
{
    return r->needed.own + r->needed.values;
}

/* False: it cannot do with so little, which is told. */
static bool look(row *r, const row *whole, double percent, const rp_program *p)
{
    const uint64_t held = whole->needed.states + whole->needed.data;
    rp_run_options options = {.threads = 1};
    const double start = seconds();
    rp_error err = {0};
    rp_status status;

    if (r != whole)
        options.memory = held + (uint64_t)((double)step_bytes(whole) * percent / 100);
    status = rp_program_memory(p, &options, &r->needed, &err);
    r->look = seconds() - start;
    if (status != RP_OK)
        printf("%5.1f %%: %s\n", percent, err.text);
    return status == RP_OK;
}

static void begin(row *r, const row *whole, unsigned threads, const rp_program *p)
{
    const rp_run_options options = {.threads = threads, .memory = r == whole ? 0 : r->needed.total};
    rp_error err = {0};

    if (rp_run_new(&r->run, &options, &err) != RP_OK)
        net_stop("run", &err);
    net_add(&symbolic, r->run);
    if (rp_compile(&r->compiled, r->run, p, &err) != RP_OK)
        net_stop("compile", &err);
}

static double step(row *r, size_t taken)
{
    static const char *const names[] = {"lr", "c1", "c2"};
    const double start = seconds();
    rp_error err = {0};

    for (int i = 0; i < 3; i++) {
        const float rate = net_rate(i, taken);

        if (rp_compiled_write(r->compiled, names[i], &rate, sizeof rate, &err) != RP_OK)
            net_stop(names[i], &err);
    }
    if (rp_compiled_step(r->compiled, &err) != RP_OK)
        net_stop("step", &err);
    return seconds() - start;
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *x, size_t n)
{
    qsort(x, n, sizeof *x, by_size);
    return x[n / 2];
}

static void compare(const row *a, const row *b)
{
    for (size_t i = 0; i < symbolic.n; i++) {
        const net_tensor *t = &symbolic.tensor[i];
        size_t bytes = rp_dtype_size(t->dtype);
        void *x, *y;

        for (int d = 0; d < t->rank; d++)
            bytes *= t->shape[d];
        x = malloc(bytes);
        y = malloc(bytes);
        if (x && y && rp_run_get_state(a->run, t->name, x, bytes, NULL) == RP_OK &&
            rp_run_get_state(b->run, t->name, y, bytes, NULL) == RP_OK && memcmp(x, y, bytes) != 0)
            net_stop("the runs' states differ", NULL);
        free(x);
        free(y);
    }
}

static void print(row *r, row *whole, size_t rounds, double base)
{
    const double share = (double)step_bytes(r) / (double)step_bytes(whole);

    printf("%9.1f %9.1f %6.3f %8.2f %8.4f", mib(r->needed.total), mib(step_bytes(r)), share,
           (double)r->needed.work_again / 1e9, r->look);
    if (rounds)
        printf(" %9.1f %8.4f %6.3f", mib(rp_run_memory(r->run)), median(r->step, rounds), r->step[rounds / 2] / base);
    printf("\n");
}

int main(int argc, char **argv)
{
    const network *of = argc > 3 ? named(argv[1]) : NULL;
    const size_t rounds = argc > 3 ? strtoul(argv[3], NULL, 10) : 0;
    static row rows[ROWS_MAX];
    rp_program *p;
    size_t n = 0;
    rp_error err = {0};

    if (!of || argc - 3 > ROWS_MAX || rounds > ROUNDS_MAX) {
        fprintf(stderr, "memory: NAME THREADS ROUNDS [PERCENT ...]\n");
        return 2;
    }
    if (rp_graph_symbolic(&symbolic.graph, &err) != RP_OK)
        net_stop("graph", &err);
    net_step(&symbolic, of);
    if (rp_graph_finish(symbolic.graph, &p, &err) != RP_OK)
        net_stop(of->name, &err);
    n = look(&rows[0], &rows[0], 100, p);
    for (int i = 4; i < argc; i++)
        n += look(&rows[n], &rows[0], strtod(argv[i], NULL), p);
    for (size_t i = 0; i < n && rounds; i++)
        begin(&rows[i], &rows[0], (unsigned)strtoul(argv[2], NULL, 10), p);
    for (size_t round = 0; round <= rounds && rounds; round++) /* the first is not counted */
        for (size_t i = 0; i < n; i++)
            rows[i].step[round ? round - 1 : 0] = step(&rows[i], round);
    printf("%9s %9s %6s %8s %8s %9s %8s %6s\n", "told", "step", "share", "again", "look s", "held", "step s", "ratio");
    for (size_t i = 0; i < n; i++) {
        print(&rows[i], &rows[0], rounds, rows[0].step[rounds / 2]);
        if (rounds)
            compare(&rows[0], &rows[i]);
    }
    for (size_t i = 0; i < n; i++) {
        rp_compiled_free(rows[i].compiled);
        rp_run_free(rows[i].run);
    }
    rp_program_free(p);
    return 0;
}
