/* SPDX-License-Identifier: Apache-2.0
 * An eager training step beside the same step compiled: time and memory of a multi-layer perceptron 784-512-512-10,
 * batch 128, AdamW.
 *
 *   build/release/bench/eager
 *
 * Both sides take turns on one thread; seconds are those of the process, the ratio is the median over the rounds.
 * Memory is the most that the library held at once in a run of three steps, states included. The states are compared at
 * the end, bit for bit. */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/run/run.h"
#include "rp/rp.h"

enum { BATCH = 128, LAYERS = 3, PARAMETERS = 2 * LAYERS, ROUNDS = 21, STEPS = 8 };
static const size_t width[LAYERS + 1] = {784, 512, 512, 10};

/* ---- memory ---- */

static size_t held, peak;

static void note(size_t more, size_t less)
{
    held += more - less;
    peak = held > peak ? held : peak;
}

static void *take(void *self, size_t bytes)
{
    void *block = malloc(bytes);

    (void)self;
    note(block ? malloc_usable_size(block) : 0, 0);
    return block;
}

static void *resize(void *self, void *block, size_t bytes)
{
    const size_t before = block ? malloc_usable_size(block) : 0;
    void *bigger = realloc(block, bytes);

    (void)self;
    if (bigger)
        note(malloc_usable_size(bigger), before);
    return bigger;
}

static void give(void *self, void *block)
{
    (void)self;
    note(0, malloc_usable_size(block));
    free(block);
}

static const rp_allocator counting = {take, resize, give, NULL};

/* ---- the step ---- */

static float x[BATCH * 784];
static int64_t labels[BATCH];

static void stop(const char *what, const rp_error *err)
{
    fprintf(stderr, "eager: %s: %s\n", what, err->text);
    exit(1);
}

static const char *name_of(char out[16], char part, size_t i)
{
    (void)snprintf(out, 16, "%c%zu", part, i);
    return out;
}

static rp_run *new_run(void)
{
    rp_error err = {0};
    char name[16];
    rp_run *run;

    if (rp_run_new(&run, &(rp_run_options){.threads = 1}, &err) != RP_OK)
        stop("run", &err);
    for (size_t i = 0; i < PARAMETERS; i++)
        for (int part = 0; part < 3; part++) {
            const size_t shape[2] = {i % 2 ? width[i / 2 + 1] : width[i / 2], width[i / 2 + 1]};
            float *w = calloc(shape[0] * shape[1], sizeof *w);

            for (size_t k = 0; k < shape[0] * shape[1] && part == 0 && i % 2 == 0; k++)
                w[k] = (float)((int)(k * 29 % 61) - 30) / 900.0f;
            if (rp_run_add_state(run, name_of(name, "pmv"[part], i), RP_F32, i % 2 ? 1 : 2, shape, w, &err) != RP_OK)
                stop(name, &err);
            free(w);
        }
    return run;
}

static void eager_step(rp_run *run)
{
    static const float lr = 0.001f, c1 = 0.1f, c2 = 0.001f;
    rp_tensor p[PARAMETERS], grad[PARAMETERS], h, loss, rate[3], target;
    rp_error err = {0};
    char name[16];

    if (rp_step_begin(run, &err) != RP_OK)
        stop("step", &err);
    for (size_t i = 0; i < PARAMETERS; i++)
        p[i] = rp_state(run, name_of(name, 'p', i));
    h = rp_feed(run, "x", RP_F32, 2, (size_t[]){BATCH, 784}, x);
    target = rp_feed(run, "labels", RP_I64, 1, (size_t[]){BATCH}, labels);
    rate[0] = rp_feed(run, "lr", RP_F32, 0, NULL, &lr);
    rate[1] = rp_feed(run, "c1", RP_F32, 0, NULL, &c1);
    rate[2] = rp_feed(run, "c2", RP_F32, 0, NULL, &c2);
    for (size_t l = 0; l < LAYERS; l++) {
        h = rp_linear(h, p[2 * l], p[2 * l + 1]);
        h = l + 1 < LAYERS ? rp_relu(h) : h;
    }
    loss = rp_cross_entropy(h, target);
    rp_gradients(loss, p, PARAMETERS, grad);
    for (size_t i = 0; i < PARAMETERS; i++) {
        rp_tensor m = rp_state(run, name_of(name, 'm', i)), v = rp_state(run, name_of(name, 'v', i)), w;

        w = rp_adam(p[i], &m, &v, grad[i], rate[0], rate[1], rate[2], &(rp_adam_options){0.9, 0.999, 1e-8, 0.01, true});
        rp_set_state(run, name_of(name, 'p', i), w);
        rp_set_state(run, name_of(name, 'm', i), m);
        rp_set_state(run, name_of(name, 'v', i), v);
    }
    rp_result(run, "loss", loss);
    if (rp_step_end(run, &err) != RP_OK)
        stop("step", &err);
}

static void compiled_step(rp_compiled *c)
{
    static const float rate[3] = {0.001f, 0.1f, 0.001f};
    rp_error err = {0};

    if (rp_compiled_write(c, "x", x, sizeof x, &err) != RP_OK ||
        rp_compiled_write(c, "labels", labels, sizeof labels, &err) != RP_OK ||
        rp_compiled_write(c, "lr", &rate[0], sizeof *rate, &err) != RP_OK ||
        rp_compiled_write(c, "c1", &rate[1], sizeof *rate, &err) != RP_OK ||
        rp_compiled_write(c, "c2", &rate[2], sizeof *rate, &err) != RP_OK || rp_compiled_step(c, &err) != RP_OK)
        stop("compiled step", &err);
}

static rp_status keep_program(void *self, const rp_step_event *event, rp_error *err)
{
    *(rp_program **)self = rp_program_copy(event->program);
    return *(rp_program **)self ? RP_OK : rp_fail(err, RP_ENOMEM, "out of memory");
}

static rp_program *program_of_a_step(void)
{
    rp_run *run = new_run();
    rp_program *program = NULL;
    rp_error err = {0};

    if (rp_run_observe(run, (rp_observer){keep_program, &program}, &err) != RP_OK)
        stop("observer", &err);
    eager_step(run);
    rp_run_free(run);
    return program;
}

static rp_compiled *compile(rp_run *run, const rp_program *program)
{
    rp_compiled *c;
    rp_error err = {0};

    if (rp_compile(&c, run, program, &err) != RP_OK)
        stop("compile", &err);
    return c;
}

static size_t peak_of(const rp_program *program)
{
    const size_t before = held;
    rp_run *run = new_run();
    rp_compiled *c = program ? compile(run, program) : NULL;

    peak = held; /* states are there by now; what adding them took meanwhile does not count */
    for (int i = 0; i < 3; i++) {
        if (c)
            compiled_step(c);
        else
            eager_step(run);
    }
    rp_compiled_free(c);
    rp_run_free(run);
    return peak - before;
}

static void check_same_bits(const rp_run *a, const rp_run *b)
{
    static float one[784 * 512], other[784 * 512];
    char name[16];
    rp_error err = {0};

    for (size_t i = 0; i < PARAMETERS; i++) {
        const size_t n = (i % 2 ? 1 : width[i / 2]) * width[i / 2 + 1] * sizeof *one;

        for (int part = 0; part < 3; part++)
            if (rp_run_get_state(a, name_of(name, "pmv"[part], i), one, n, &err) != RP_OK ||
                rp_run_get_state(b, name, other, n, &err) != RP_OK || memcmp(one, other, n) != 0)
                stop("eager and compiled states differ", &err);
    }
}

static int ascending(const void *a, const void *b)
{
    double u = *(const double *)a, v = *(const double *)b;

    return (u > v) - (u < v);
}

static double seconds(void)
{
    return (double)clock() / CLOCKS_PER_SEC;
}

int main(void)
{
    double eager[ROUNDS], compiled[ROUNDS], ratio[ROUNDS];
    size_t eager_peak, compiled_peak;
    rp_program *program;
    rp_compiled *c;
    rp_run *a, *b;

    rp_set_allocator(&counting);
    for (size_t i = 0; i < BATCH * 784; i++)
        x[i] = (float)((int)(i * 37 % 101) - 50) / 50.0f;
    for (int64_t i = 0; i < BATCH; i++)
        labels[i] = i % 10;
    program = program_of_a_step();
    eager_peak = peak_of(NULL);
    compiled_peak = peak_of(program);
    a = new_run();
    b = new_run();
    c = compile(b, program);
    for (int round = 0; round < ROUNDS; round++) {
        double start = seconds();

        for (int i = 0; i < STEPS; i++)
            eager_step(a);
        eager[round] = (seconds() - start) / STEPS;
        start = seconds();
        for (int i = 0; i < STEPS; i++)
            compiled_step(c);
        compiled[round] = (seconds() - start) / STEPS;
        ratio[round] = eager[round] / compiled[round];
    }
    check_same_bits(a, b);
    qsort(eager, ROUNDS, sizeof *eager, ascending);
    qsort(compiled, ROUNDS, sizeof *compiled, ascending);
    qsort(ratio, ROUNDS, sizeof *ratio, ascending);
    printf("step, ms:    eager %.2f, compiled %.2f, ratio %.3f (%.3f to %.3f)\n", eager[ROUNDS / 2] * 1e3,
           compiled[ROUNDS / 2] * 1e3, ratio[ROUNDS / 2], ratio[ROUNDS / 4], ratio[ROUNDS - 1 - ROUNDS / 4]);
    printf("memory, MiB: eager %.2f, compiled %.2f, ratio %.3f\n", (double)eager_peak / 1048576,
           (double)compiled_peak / 1048576, (double)eager_peak / (double)compiled_peak);
    rp_compiled_free(c);
    rp_run_free(a);
    rp_run_free(b);
    rp_program_free(program);
    return 0;
}
