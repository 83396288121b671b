/* SPDX-License-Identifier: Apache-2.0
 * Calls that are written in others, and compositions of docs/coverage.md, 1M elements on one thread, compiled and
 * eager. bench/peers/compositions.py starts it and lets PyTorch take turns.
 *
 *   build/release/bench/compositions
 *
 * For every line "compiled NAME" or "eager NAME" it executes a round of steps and prints the seconds of one, those of
 * the process. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/run/run.h"
#include "rp/rp.h"

enum { SIDE = 1024, COUNT = SIDE * SIDE };
static const double round_seconds = 0.02;

/* What the rows name. */
typedef struct operands {
    rp_tensor x, y, z, p, q, w, vector, s, i, m, labels, places, bags, pairs;
} operands;

#define LAST (const int[]){1}, 1
#define TWO \
    (const size_t[]) \
    { \
        2, 2 \
    }
#define NO_TENSOR \
    (rp_tensor) \
    { \
        0 \
    }

static rp_tensor both(rp_tensor x)
{
    rp_tensor least, most;

    rp_aminmax(x, LAST, false, &least, &most);
    return rp_add(least, most); /* a vector: it costs nothing */
}

/* Rows [begin, end) of x. */
static rp_tensor band(rp_tensor x, size_t begin, size_t end)
{
    return rp_slice(x, (const size_t[]){begin, 0}, (const size_t[]){end, SIDE});
}

static rp_tensor row(rp_tensor x)
{
    return rp_reshape(x, 1, (const size_t[]){COUNT});
}

static rp_tensor sum_of(rp_tensor a, rp_tensor b)
{
    return rp_add(a, b);
}

/* The real part, as each row says once what it makes; the other part comes with it. */
static rp_tensor transformed(rp_tensor re, rp_tensor im, bool inverse)
{
    rp_fft(re, im, inverse, &re, &im);
    return re;
}

/* Along both axes. */
static rp_tensor transformed_twice(rp_tensor re, rp_tensor im)
{
    const int turned[2] = {1, 0};

    rp_fft(re, im, false, &re, &im);
    re = rp_transpose(re, turned);
    im = rp_transpose(im, turned);
    rp_fft(re, im, false, &re, &im);
    return rp_transpose(re, turned);
}

static rp_tensor addmm(rp_tensor x, rp_tensor w)
{
    rp_tensor part = rp_slice(x, (const size_t[]){0, 0}, (const size_t[]){SIDE / 2, SIDE / 2});
    rp_tensor bias = rp_slice(w, (const size_t[]){0, 0}, (const size_t[]){1, SIDE / 2});

    return rp_add(bias, rp_matmul(part, part));
}

static rp_tensor swiglu(rp_tensor x)
{
    rp_tensor first = rp_slice(x, (const size_t[]){0, 0}, (const size_t[]){SIDE, SIDE / 2});
    rp_tensor second = rp_slice(x, (const size_t[]){0, SIDE / 2}, (const size_t[]){SIDE, SIDE}), gate = rp_silu(first);

    return rp_mul(gate, second);
}

typedef struct call {
    const char *name;
    rp_tensor (*make)(const operands *o);
} call;

#define OPERANDS \
    const rp_tensor x = o->x, y = o->y, z = o->z, p = o->p, q = o->q, w = o->w, vector = o->vector, s = o->s, \
                    i = o->i, m = o->m, labels = o->labels, places = o->places, bags = o->bags, pairs = o->pairs;
#define USED \
    (void)x, (void)y, (void)z, (void)p, (void)q, (void)w, (void)vector, (void)s, (void)i, (void)m, (void)labels, \
        (void)places, (void)bags, (void)pairs
#define ROW(id, name, ...) \
    static rp_tensor make_##id(const operands *o) \
    { \
        OPERANDS \
        USED; \
        return __VA_ARGS__; \
    }
#include "rows.def"
#undef ROW

static const call calls[] = {
#define ROW(id, name, ...) {name, make_##id},
#include "rows.def"
#undef ROW
};

static void stop(const char *what, const rp_error *err)
{
    fprintf(stderr, "compositions: %s: %s\n", what, err->text);
    exit(1);
}

/* ---- data ---- */

static uint32_t hash(uint32_t i, uint32_t seed)
{
    i = (i + seed * 0x9e3779b9u) * 2654435761u;
    i = (i ^ i >> 15) * 2246822519u;
    return i ^ i >> 13;
}

/* kind n: about normal; p: between 0 and 1; a: above 1; s: -1 or 1. */
static void add_reals(rp_run *run, const char *name, size_t rows, uint32_t seed, char kind)
{
    float *x = malloc(rows * SIDE * sizeof *x);
    rp_error err = {0};

    for (uint32_t i = 0; x && i < rows * SIDE; i++) {
        const float unit = ((float)(hash(i, seed) >> 8) + 0.5f) / (1 << 24);

        x[i] = kind == 'p' ? unit : kind == 'a' ? 1 + 4 * unit : kind == 's' ? (unit < 0.5f ? -1.0f : 1.0f) : 0;
        for (uint32_t k = 0; k < 4 && kind == 'n'; k++)
            x[i] += (float)(hash(i, seed + 10 * k) >> 8) / (1 << 23) - 1;
    }
    if (!x || rp_run_add_data(run, name, RP_F32, rows == 1 ? 1 : 2, (const size_t[]){rows == 1 ? SIDE : rows, SIDE}, x,
                              &err) != RP_OK)
        stop(name, &err);
    free(x);
}

static void add_integers(rp_run *run, const char *name, rp_dtype dtype, size_t rows, size_t columns, uint32_t below)
{
    const int rank = columns > 0 ? 2 : 1;
    const size_t shape[2] = {rows, columns}, count = columns > 0 ? rows * columns : rows;
    int64_t *x = malloc(count * sizeof *x);
    rp_error err = {0};

    for (uint32_t i = 0; x && i < count; i++) {
        const int64_t at = hash(i, 99) % below;

        if (dtype == RP_I64)
            x[i] = at;
        else if (dtype == RP_I32)
            ((int32_t *)(void *)x)[i] = (int32_t)at;
        else
            ((uint8_t *)x)[i] = (uint8_t)at;
    }
    if (!x || rp_run_add_data(run, name, dtype, rank, shape, x, &err) != RP_OK)
        stop(name, &err);
    free(x);
}

static rp_run *new_run(void)
{
    rp_error err = {0};
    rp_run *run;

    if (rp_run_new(&run, &(rp_run_options){.threads = 1}, &err) != RP_OK)
        stop("run", &err);
    add_reals(run, "x", SIDE, 1, 'n');
    add_reals(run, "y", SIDE, 2, 'n');
    add_reals(run, "z", SIDE, 3, 'a');
    add_reals(run, "p", SIDE, 4, 'p');
    add_reals(run, "q", SIDE, 5, 'p');
    add_reals(run, "s", SIDE, 6, 's');
    add_reals(run, "vector", 1, 7, 'p');
    add_integers(run, "i", RP_I32, SIDE, SIDE, 1000);
    add_integers(run, "m", RP_BOOL, SIDE, SIDE, 2);
    add_integers(run, "labels", RP_I64, SIDE, 0, SIDE);
    add_integers(run, "places", RP_I64, SIDE, SIDE, SIDE);
    add_integers(run, "bags", RP_I64, 512, 16, SIDE);
    add_integers(run, "pairs", RP_I64, COUNT, 2, SIDE);
    return run;
}

/* ---- steps ---- */

static rp_tensor data(rp_graph *graph, const rp_run *run, const char *name)
{
    return graph ? rp_graph_data(graph, run, name) : rp_data((rp_run *)(uintptr_t)run, name);
}

static operands operands_of(rp_graph *graph, const rp_run *run)
{
    operands o;

    o.x = data(graph, run, "x");
    o.y = data(graph, run, "y");
    o.z = data(graph, run, "z");
    o.p = data(graph, run, "p");
    o.q = data(graph, run, "q");
    o.s = data(graph, run, "s");
    o.vector = data(graph, run, "vector");
    o.w = rp_reshape(o.vector, 2, (const size_t[]){1, SIDE});
    o.i = data(graph, run, "i");
    o.m = data(graph, run, "m");
    o.labels = data(graph, run, "labels");
    o.places = data(graph, run, "places");
    o.bags = data(graph, run, "bags");
    o.pairs = data(graph, run, "pairs");
    return o;
}

static rp_compiled *compile(rp_run *run, const call *c)
{
    rp_graph *graph = rp_graph_new(NULL);
    const operands o = operands_of(graph, run);
    rp_compiled *compiled = NULL;
    rp_error err = {0};
    rp_program *program;

    rp_graph_set(graph, RP_OUTPUT_RESULT, "y", c->make(&o));
    program = rp_graph_take_program(graph, &err);
    if (!program || rp_run_compile(&compiled, run, program, &err) != RP_OK)
        stop(c->name, &err);
    return compiled;
}

static void eager_step(rp_run *run, const call *c)
{
    rp_error err = {0};
    operands o;

    if (rp_step_begin(run, &err) != RP_OK)
        stop(c->name, &err);
    o = operands_of(NULL, run);
    rp_result(run, "y", c->make(&o));
    if (rp_step_end(run, &err) != RP_OK)
        stop(c->name, &err);
}

static double now(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double seconds_of(rp_run *run, rp_compiled *compiled, const call *c, size_t steps)
{
    const double start = now();
    rp_error err = {0};

    for (size_t i = 0; i < steps; i++)
        if (compiled == NULL)
            eager_step(run, c);
        else if (rp_compiled_step(compiled, &err) != RP_OK)
            stop(c->name, &err);
    return (now() - start) / (double)steps;
}

static const call *call_named(const char *name)
{
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (strcmp(calls[i].name, name) == 0)
            return &calls[i];
    return NULL;
}

int main(void)
{
    rp_run *run = new_run();
    rp_compiled *compiled = NULL;
    char line[64], before[64] = "";
    size_t steps = 1;

    while (fgets(line, sizeof line, stdin)) {
        const bool eager = strncmp(line, "eager ", 6) == 0;
        const call *c;

        line[strcspn(line, "\n")] = 0;
        c = call_named(line + (eager ? 6 : 9));
        if (c == NULL)
            return fprintf(stderr, "compositions: no call %s\n", line), 2;
        if (strcmp(line, before) != 0) {
            rp_compiled_free(compiled);
            compiled = eager ? NULL : compile(run, c);
            (void)seconds_of(run, compiled, c, 3);
            steps = 1 + (size_t)(round_seconds / seconds_of(run, compiled, c, 2));
            memcpy(before, line, sizeof before);
        }
        printf("%.9f\n", seconds_of(run, compiled, c, steps));
        fflush(stdout);
    }
    rp_compiled_free(compiled);
    rp_run_free(run);
    return 0;
}
