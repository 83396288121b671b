/* SPDX-License-Identifier: Apache-2.0
 * Norms, compiled: the result alone, or the result and the gradients of x, gamma and beta for a gradient that comes as
 * data. bench/peers/norms_torch.py starts it and lets PyTorch take turns.
 *
 *   build/release/bench/norms layer|rms|batch|group|instance SHAPE GROUPS forward|both THREADS
 *
 * SHAPE is that of x, channels last: 8x64x64x64. For every line read it executes a round of steps and prints the
 * seconds of one, of one thread those of the process; at the end of its input it ends. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/run/run.h"
#include "kernels/limits.h"
#include "rp/rp.h"

static const double round_seconds = 0.02;

typedef struct norm {
    const char *kind;
    int rank;
    size_t shape[RP_MAX_RANK], groups;
    bool both;
    unsigned threads;
} norm;

static void stop(const char *what, const rp_error *err)
{
    fprintf(stderr, "norms: %s: %s\n", what, err->text);
    exit(1);
}

static bool read_norm(norm *n, char **argv)
{
    char *at = argv[2];

    *n = (norm){.kind = argv[1], .groups = strtoul(argv[3], NULL, 10), .threads = (unsigned)strtoul(argv[5], NULL, 10)};
    n->both = strcmp(argv[4], "both") == 0;
    do
        n->shape[n->rank++] = strtoul(at, &at, 10);
    while (*at++ == 'x' && n->rank < RP_MAX_RANK);
    return n->threads > 0 && n->rank > 0 && n->shape[n->rank - 1] > 0;
}

static void add_data(rp_run *run, const char *name, int rank, const size_t *shape, unsigned seed)
{
    rp_error err = {0};
    size_t count = 1;
    float *x;

    for (int d = 0; d < rank; d++)
        count *= shape[d];
    x = malloc(count * sizeof *x);
    for (size_t i = 0; x && i < count; i++)
        x[i] = (float)((int)((i + seed) * 2654435761u >> 9 & 4095) - 2000) / 1024;
    if (!x || rp_run_add_data(run, name, RP_F32, rank, shape, x, &err) != RP_OK)
        stop(name, &err);
    free(x);
}

static rp_tensor normed(const norm *n, rp_tensor x, rp_tensor gamma, rp_tensor beta)
{
    if (strcmp(n->kind, "layer") == 0)
        return rp_layer_norm(x, gamma, beta, 1e-5);
    if (strcmp(n->kind, "rms") == 0)
        return rp_rms_norm(x, gamma, 1e-5);
    if (strcmp(n->kind, "batch") == 0)
        return rp_batch_norm_train(x, gamma, beta, 1e-5, NULL, NULL);
    if (strcmp(n->kind, "group") == 0)
        return rp_group_norm(x, gamma, beta, n->groups, 1e-5);
    return rp_instance_norm(x, gamma, beta, 1e-5);
}

static rp_compiled *compile(rp_run *run, const norm *n)
{
    rp_graph *graph = rp_graph_new(NULL);
    rp_tensor x = rp_graph_data(graph, run, "x"), gamma = rp_graph_data(graph, run, "gamma");
    rp_tensor beta = rp_graph_data(graph, run, "beta"), wrt[3] = {x, gamma, beta}, grad[3], y;
    const size_t parameters = strcmp(n->kind, "rms") == 0 ? 2 : 3;
    rp_compiled *compiled = NULL;
    rp_error err = {0};
    rp_program *program;

    y = normed(n, x, gamma, beta);
    rp_graph_set(graph, RP_OUTPUT_RESULT, "y", y);
    if (n->both) {
        rp_tensor g = rp_graph_data(graph, run, "g");

        rp_vjp(&y, &g, 1, wrt, parameters, grad);
        for (size_t i = 0; i < parameters; i++)
            rp_graph_set(graph, RP_OUTPUT_RESULT, (const char *[]){"dx", "dgamma", "dbeta"}[i], grad[i]);
    }
    program = rp_graph_take_program(graph, &err);
    if (!program || rp_run_compile(&compiled, run, program, &err) != RP_OK)
        stop("compile", &err);
    return compiled;
}

static double seconds_now(unsigned threads)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return threads > 1 ? rp_seconds_now() : (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double seconds_of(rp_compiled *compiled, unsigned threads, size_t steps)
{
    const double start = seconds_now(threads);
    rp_error err = {0};

    for (size_t i = 0; i < steps; i++)
        if (rp_compiled_step(compiled, &err) != RP_OK)
            stop("step", &err);
    return (seconds_now(threads) - start) / (double)steps;
}

int main(int argc, char **argv)
{
    rp_compiled *compiled;
    rp_error err = {0};
    rp_run *run;
    size_t steps;
    char line[16];
    norm n;

    if (argc != 6 || !read_norm(&n, argv))
        return fputs("norms layer|rms|batch|group|instance SHAPE GROUPS forward|both THREADS\n", stderr), 2;
    if (rp_run_new(&run, &(rp_run_options){.threads = n.threads}, &err) != RP_OK)
        stop("run", &err);
    add_data(run, "x", n.rank, n.shape, 1);
    add_data(run, "g", n.rank, n.shape, 77);
    add_data(run, "gamma", 1, &n.shape[n.rank - 1], 5);
    add_data(run, "beta", 1, &n.shape[n.rank - 1], 9);
    compiled = compile(run, &n);
    (void)seconds_of(compiled, n.threads, 2);
    steps = 1 + (size_t)(round_seconds / seconds_of(compiled, n.threads, 2));
    while (fgets(line, sizeof line, stdin)) {
        printf("%.9f\n", seconds_of(compiled, n.threads, steps));
        fflush(stdout);
    }
    rp_compiled_free(compiled);
    rp_run_free(run);
    return 0;
}
