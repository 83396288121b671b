/* SPDX-License-Identifier: Apache-2.0
 * What building a program and compiling it cost as it grows, and what each new length of a sequence does.
 *
 *   build/release/bench/planning [LAYERS ...]
 *   build/release/bench/planning lengths MOST [KEPT]
 *   build/release/bench/planning networks
 *
 * The first prints instructions, states, seconds of the process to add the states and build the program, and to compile
 * it. The second compiles a small transformer's training step for every length from 1 to MOST in a random order, as
 * one who meets a new length does, and keeps the last so many, or all: milliseconds of the process to build and compile
 * one, of each length the least of three such runs, since other work on the machine makes some lengths slow in one run
 * and others in the next; memory of the run beside that of a run of the longest alone. The third plans transformers of
 * shapes alone. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/core/run/deep_program.h"
#include "tests/core/run/gpt_program.h"

static const gpt small = {4, 256, 4, 1024, 0, false, 0};

static int stop(const rp_error *err)
{
    fprintf(stderr, "planning: %s\n", err->text);
    return 1;
}

/* ---- lengths ---- */

static rp_program *program_of(size_t tokens, size_t longest)
{
    gpt size = small;

    size.tokens = tokens;
    size.longest = longest;
    return gpt_program(&size);
}

/* A run with what the programs of all lengths take. */
static rp_status new_run(rp_run **run, size_t longest, rp_error *err)
{
    rp_program *p = program_of(longest, longest);
    rp_status status = rp_run_new(run, &(rp_run_options){.threads = 1}, err);

    for (size_t i = 0; i < p->n_inputs && status == RP_OK; i++) {
        const rp_input *in = &p->input[i];
        const rp_type *type = &p->value[in->value];
        void *zeros = in->kind == RP_INPUT_DATA ? calloc(1, rp_type_bytes(type)) : NULL;

        if (in->kind == RP_INPUT_STATE)
            status = rp_run_add_state(*run, in->name, type->dtype, type->rank, type->shape, NULL, err);
        else if (in->kind == RP_INPUT_DATA)
            status = rp_run_add_data(*run, in->name, type->dtype, type->rank, type->shape, zeros, err);
        free(zeros);
    }
    rp_program_free(p);
    return status;
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

enum { RUNS = 3 };

/* Compiles all lengths in order, and writes what each took, then the run's memory: doubles, by a process of its own,
 * as pages that another run left would be found again. */
static int one_run(const size_t *order, size_t most, size_t kept, FILE *to)
{
    rp_compiled **compiled = calloc(most, sizeof *compiled);
    rp_error err = {0};
    rp_run *run;
    double took;

    if (!compiled || new_run(&run, most, &err) != RP_OK)
        return stop(&err);
    for (size_t i = 0; i < most; i++) {
        const double start = deep_seconds();

        rp_compiled_free(compiled[i % kept]);
        if (rp_run_compile(&compiled[i % kept], run, program_of(order[i], most), &err) != RP_OK)
            return stop(&err);
        took = (deep_seconds() - start) * 1e3;
        (void)fwrite(&took, sizeof took, 1, to);
    }
    took = (double)rp_run_memory(run);
    return fwrite(&took, sizeof took, 1, to) == 1 && fclose(to) == 0 ? 0 : 1;
}

/* The least of each length so far, and the run's memory. */
static bool measure(const size_t *order, size_t most, size_t kept, double *cost)
{
    int ends[2], status = 1;
    double took = 0;
    pid_t child;
    FILE *from;

    fflush(stdout);
    if (pipe(ends) != 0 || (child = fork()) < 0)
        return false;
    if (child == 0) {
        (void)close(ends[0]);
        _exit(one_run(order, most, kept, fdopen(ends[1], "wb")));
    }
    (void)close(ends[1]);
    from = fdopen(ends[0], "rb");
    for (size_t i = 0; i <= most && fread(&took, sizeof took, 1, from) == 1; i++)
        cost[i] = took < cost[i] ? took : cost[i];
    (void)fclose(from);
    return waitpid(child, &status, 0) == child && status == 0;
}

static int lengths(size_t most, size_t kept)
{
    size_t *order = calloc(most, sizeof *order), alone;
    double *cost = calloc(most + 1, sizeof *cost);
    rp_compiled *longest;
    uint64_t state = 1;
    rp_error err = {0};
    rp_run *run;

    if (!order || !cost || new_run(&run, most, &err) != RP_OK ||
        rp_run_compile(&longest, run, program_of(most, most), &err) != RP_OK)
        return stop(&err);
    alone = rp_run_memory(run);
    rp_compiled_free(longest);
    rp_run_free(run);
    for (size_t i = 0; i < most; i++) {
        const size_t k = (state = state * 6364136223846793005u + 1442695040888963407u, (state >> 33) % (i + 1));

        order[i] = order[k];
        order[k] = i + 1;
    }
    for (size_t i = 0; i <= most; i++)
        cost[i] = INFINITY;
    for (int i = 0; i < RUNS; i++)
        if (!measure(order, most, kept, cost))
            return fprintf(stderr, "planning: a run failed\n"), 1;
    qsort(cost, most, sizeof *cost, by_size);
    printf("%zu lengths: median %.3f ms, 99 of 100 below %.3f ms, most %.3f ms; memory %.3f of the longest alone\n",
           most, cost[most / 2], cost[most * 99 / 100], cost[most - 1], cost[most] / (double)alone);
    free(order);
    free(cost);
    return 0;
}

/* ---- networks ---- */

static int shapes(void)
{
    static const gpt size[] = {
        {8, 512, 8, 24000, 512, false, 0}, {24, 1024, 16, 50257, 1024, true, 0}, {32, 4096, 32, 50257, 2048, false, 0}};

    printf("%14s %12s %10s %10s %12s %12s\n", "parameters", "instructions", "build s", "plan s", "states GiB",
           "step GiB");
    for (size_t i = 0; i < sizeof size / sizeof *size; i++) {
        const double start = deep_seconds();
        rp_program *p = gpt_program(&size[i]);
        const double built = deep_seconds();
        rp_memory_needed needed;
        rp_error err = {0};

        if (rp_program_memory(p, NULL, &needed, &err) != RP_OK)
            return stop(&err);
        printf("%14.0f %12zu %10.4f %10.4f %12.2f %12.2f\n", (double)needed.states / 12, p->n_instrs, built - start,
               deep_seconds() - built, (double)needed.states / (1 << 30), (double)needed.values / (1 << 30));
        rp_program_free(p);
    }
    return 0;
}

/* ---- depth ---- */
int main(int argc, char **argv)
{
    static const size_t usual[] = {1000, 2000, 4000, 8000, 16000, 112000};
    const bool networks = argc == 2 && strcmp(argv[1], "networks") == 0;
    const size_t n = argc > 1 ? (size_t)argc - 1 : sizeof usual / sizeof *usual;

    if (networks)
        return shapes();
    if (argc > 2 && strcmp(argv[1], "lengths") == 0 && strtoul(argv[2], NULL, 10) > 0)
        return lengths(strtoul(argv[2], NULL, 10), strtoul(argv[argc - 1], NULL, 10));
    printf("%12s %10s %10s %10s %14s\n", "instructions", "states", "build s", "compile s", "us/instruction");
    for (size_t i = 0; i < n; i++) {
        const size_t layers = argc > 1 ? strtoul(argv[i + 1], NULL, 10) : usual[i];
        deep_cost cost = {0};
        rp_error err = {0};

        if (layers == 0 || deep_measure(layers, &cost, &err) != RP_OK)
            return stop(&err);
        printf("%12zu %10zu %10.3f %10.3f %14.2f\n", cost.instructions, cost.states, cost.build, cost.compile,
               (cost.build + cost.compile) / (double)cost.instructions * 1e6);
    }
    return 0;
}
