/* SPDX-License-Identifier: Apache-2.0
 * Evaluating a network 784-512-512-10 on a table: by blocks of rows as recipes do, beside all rows at once, in turn.
 *
 *   build/release/bench/evaluation [ROWS [ROUNDS]]      10,000 and 5; ROUNDS 0: blocks alone, once
 *
 * Prints seconds of the processor (one thread; medians) and what the compiled programs need beside weights and table.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "base/memory.h"
#include "core/run/slots.h"
#include "core/train/evaluate.h"

enum { FEATURES = 784, CLASSES = 10, ROUNDS_MAX = 99 };

static rp_error err;

static void must(rp_status status)
{
    if (status == RP_OK)
        return;
    (void)fprintf(stderr, "evaluation: %s\n", err.text);
    exit(1);
}

static double processor_seconds(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Numbers between -0.5 and 0.5 without a pattern that a kernel could profit from. */
static void fill(float *out, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = (float)(i * 2654435761u % 65536) / 65536 - 0.5f;
}

/* The table is filled where it lies, so that there is one of it. */
static void add_inputs(rp_run *run, const rp_model *m, size_t rows)
{
    const size_t shape[2] = {rows, FEATURES}, most = FEATURES * FEATURES;
    float *values = rp_malloc(most * sizeof *values);
    int64_t *label = rp_calloc(rows, sizeof *label);
    const rp_device_tensor *data;
    size_t n;

    if (!values || !label)
        exit(1);
    fill(values, most);
    for (size_t i = 0; i < m->n_parameters; i++) {
        const rp_parameter *p = &m->parameter[i];

        must(rp_run_add_state(run, p->name, RP_F32, p->rank, p->shape, values, &err));
    }
    must(rp_run_add_data(run, "x", RP_F32, 2, shape, NULL, &err));
    must(rp_run_add_data(run, "y", RP_I64, 1, shape, label, &err));
    data = rp_run_data(run, &n);
    for (size_t at = 0; at < rows * FEATURES; at += most)
        must(rp_slot_write_part(&data[0], at, values, rows * FEATURES - at < most ? rows * FEATURES - at : most, &err));
    rp_free(values);
    rp_free(label);
}

static rp_compiled *compile(rp_run *run, const rp_model *m, size_t rows, bool blocks)
{
    const rp_part part = {"x", "y", NULL, rows, 0};
    rp_graph *g = rp_graph_new(NULL);
    rp_program *program;
    rp_compiled *out;

    if (!g)
        exit(1);
    if (blocks) {
        must(rp_evaluation(m, run, g, &part, &err));
    } else {
        rp_tensor weight[RP_MAX_PARAMETERS], logits;

        rp_model_weights(m, run, g, weight);
        logits = rp_model_forward(m, weight, rp_graph_data(g, run, "x"), rp_no_tensor(), 0);
        rp_graph_set(g, RP_OUTPUT_RESULT, "loss",
                     rp_model_loss(rp_model_row_losses(m, logits, rp_graph_data(g, run, "y"), rp_no_tensor()), rows));
        rp_graph_set(g, RP_OUTPUT_RESULT, "scores", rp_model_scores(m, logits));
    }
    program = rp_graph_take_program(g, &err);
    must(program ? RP_OK : err.status);
    must(rp_run_compile(&out, run, program, &err));
    return out;
}

static double step(rp_compiled *c)
{
    const double start = processor_seconds();

    must(rp_compiled_step(c, &err));
    return processor_seconds() - start;
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    static const char yaml[] = "reprise: 1\ndata: {csv: a, target: y}\nmodel: {hidden: [512, 512]}\n";
    const size_t rows = argc > 1 ? strtoul(argv[1], NULL, 10) : 10000;
    const int rounds = argc > 2 ? atoi(argv[2]) : 5;
    double took[2][ROUNDS_MAX];
    rp_compiled *compiled[2] = {NULL, NULL};
    struct rusage usage;
    rp_recipe *recipe;
    rp_model model;
    rp_run *run;

    if (rows == 0 || rounds < 0 || rounds > ROUNDS_MAX)
        return 2;
    must(rp_recipe_from_yaml(&recipe, yaml, strlen(yaml), "evaluation", &err));
    must(rp_model_init(&model, recipe, FEATURES, CLASSES, &err));
    must(rp_run_new(&run, &(rp_run_options){.threads = 1}, &err));
    add_inputs(run, &model, rows);
    for (int k = rounds ? 0 : 1; k < 2; k++) {
        compiled[k] = compile(run, &model, rows, k == 1);
        (void)step(compiled[k]);
    }
    for (int i = 0; i < rounds; i++)
        for (int k = 0; k < 2; k++)
            took[k][i] = step(compiled[k]);
    for (int k = 0; k < 2 && rounds; k++) {
        qsort(took[k], (size_t)rounds, sizeof **took, ascending);
        printf("%-10s %10.4f s %10.1f MiB\n", k ? "blocks" : "at once", took[k][rounds / 2],
               (double)rp_compiled_memory(compiled[k]) / (1 << 20));
    }
    if (rounds)
        printf("%-10s %10.3f\n", "ratio", took[1][rounds / 2] / took[0][rounds / 2]);
    (void)getrusage(RUSAGE_SELF, &usage);
    printf("%-10s %23.1f MiB, of which the table %.1f\n", "resident", (double)usage.ru_maxrss / 1024,
           (double)rows * FEATURES * sizeof(float) / (1 << 20));
    rp_compiled_free(compiled[0]);
    rp_compiled_free(compiled[1]);
    rp_run_free(run);
    rp_recipe_free(recipe);
    return 0;
}
