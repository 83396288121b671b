/* SPDX-License-Identifier: Apache-2.0
 * Training steps in mixed precision beside the same steps in binary32: time, memory that the plan needs, and loss.
 *
 *   build/release/bench/mixed [--threads N] [--rounds N] [NAME ..]
 *
 * The two runs take steps in turn, in rounds of about a tenth of a second each; the ratio is the median of the rounds'.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "network.h"

enum { ROUNDS_MOST = 101 };

typedef struct side {
    net net;
    rp_program *program;
    rp_run *run;
    rp_compiled *compiled;
    size_t steps;
    float loss, first;
} side;

static double now(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void begin(side *s, const network *of, bool mixed, unsigned threads)
{
    rp_error err = {0};

    memset(s, 0, sizeof *s);
    s->net.mixed = mixed;
    if (rp_graph_symbolic(&s->net.graph, &err) != RP_OK)
        net_stop("graph", &err);
    net_step(&s->net, of);
    if (rp_graph_finish(s->net.graph, &s->program, &err) != RP_OK ||
        rp_run_new(&s->run, &(rp_run_options){.threads = threads}, &err) != RP_OK)
        net_stop(of->name, &err);
    net_add(&s->net, s->run);
    if (rp_compile(&s->compiled, s->run, s->program, &err) != RP_OK)
        net_stop(of->name, &err);
}

static void end(side *s)
{
    rp_compiled_free(s->compiled);
    rp_run_free(s->run);
    rp_program_free(s->program);
}

/* Seconds of so many steps. */
static double take(side *s, size_t steps)
{
    static const char *const name[3] = {"lr", "c1", "c2"};
    const double start = now();
    rp_error err = {0};

    for (size_t i = 0; i < steps; i++, s->steps++) {
        for (int k = 0; k < 3; k++) {
            const float rate = net_rate(k, s->steps);

            if (rp_compiled_write(s->compiled, name[k], &rate, sizeof rate, &err) != RP_OK)
                net_stop(name[k], &err);
        }
        if (rp_compiled_step(s->compiled, &err) != RP_OK ||
            rp_compiled_read(s->compiled, "loss", &s->loss, sizeof s->loss, &err) != RP_OK)
            net_stop("step", &err);
        if (s->steps == 0)
            s->first = s->loss;
    }
    return now() - start;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void measure(const network *of, unsigned threads, size_t rounds)
{
    static side wide, mixed;
    double ratio[ROUNDS_MOST], time[ROUNDS_MOST], once;
    size_t steps;

    begin(&wide, of, false, threads);
    begin(&mixed, of, true, threads);
    (void)take(&wide, 2);
    (void)take(&mixed, 2);
    once = take(&wide, 1);
    (void)take(&mixed, 1);
    steps = once > 0.1 ? 1 : 1 + (size_t)(0.1 / once);
    for (size_t i = 0; i < rounds; i++) {
        time[i] = take(&wide, steps) / (double)steps;
        ratio[i] = take(&mixed, steps) / (double)steps / time[i];
    }
    qsort(time, rounds, sizeof *time, compare);
    qsort(ratio, rounds, sizeof *ratio, compare);
    printf("%-7s %9.3f %6.3f %10.1f %10.1f %6.3f   %9.6f %9.6f %9.6f\n", of->name, 1e3 * time[rounds / 2],
           ratio[rounds / 2], (double)rp_compiled_memory(wide.compiled) / 1048576,
           (double)rp_compiled_memory(mixed.compiled) / 1048576,
           (double)rp_compiled_memory(mixed.compiled) / (double)rp_compiled_memory(wide.compiled), (double)wide.first,
           (double)wide.loss, (double)mixed.loss);
    (void)fflush(stdout);
    end(&wide);
    end(&mixed);
}

int main(int argc, char **argv)
{
    unsigned threads = 1;
    size_t rounds = 11;
    int first = 1;

    while (first + 1 < argc && strncmp(argv[first], "--", 2) == 0) {
        const unsigned long value = strtoul(argv[first + 1], NULL, 10);

        if (strcmp(argv[first], "--threads") == 0)
            threads = (unsigned)value;
        else
            rounds = value >= 1 && value <= ROUNDS_MOST ? value : 1;
        first += 2;
    }
    printf("%-7s %9s %6s %10s %10s %6s   %9s %9s %9s\n", "model", "f32 ms", "mixed", "f32 MiB", "mixed MiB", "ratio",
           "loss", "f32", "mixed");
    for (const network *of = networks; of->name; of++) {
        bool named = first >= argc;

        for (int i = first; i < argc; i++)
            named = named || strcmp(argv[i], of->name) == 0;
        if (named)
            measure(of, threads, rounds);
    }
    return 0;
}
