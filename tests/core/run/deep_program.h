/* SPDX-License-Identifier: Apache-2.0
 * Training steps of any size, to measure how building, planning and compiling grow: layers of one scale each on a short
 * vector, mean square, gradients, Adam. A layer is one parameter with two moments and makes nine instructions. */
#ifndef TESTS_CORE_RUN_DEEP_PROGRAM_H
#define TESTS_CORE_RUN_DEEP_PROGRAM_H

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "core/run/run.h"
#include "rp/rp.h"

typedef struct deep_cost {
    size_t instructions, states;
    double build, compile; /* seconds of the process */
} deep_cost;

static inline double deep_seconds(void)
{
    return (double)clock() / CLOCKS_PER_SEC;
}

static inline const char *deep_name(char out[32], char part, size_t layer)
{
    (void)snprintf(out, 32, "%c.layer%zu", part, layer);
    return out;
}

/* States of the run and the program of a step; NULL with err. */
static inline rp_program *deep_program(rp_run *run, size_t layers, rp_error *err)
{
    const size_t width = 4;
    rp_graph *g;
    rp_tensor *w = malloc(layers * sizeof *w), *grad = malloc(layers * sizeof *grad), rate[3], x, one;
    char name[32];

    for (size_t i = 0; i < layers; i++)
        for (int part = 0; part < 3; part++)
            if (rp_run_add_state(run, deep_name(name, "pmv"[part], i), RP_F32, 1, &width, NULL, err) != RP_OK) {
                free(w);
                free(grad);
                return NULL;
            }
    g = rp_graph_new(NULL);
    for (int i = 0; i < 3; i++)
        rate[i] =
            rp_graph_input(g, RP_INPUT_FEED, (const char *[]){"lr", "c1", "c2"}[i], &(rp_type){.dtype = RP_F32}, NULL);
    x = one = rp_fill(g, RP_F32, 1, &width, 1);
    for (size_t i = 0; i < layers; i++) {
        w[i] = rp_graph_state(g, run, deep_name(name, 'p', i));
        x = rp_tanh(rp_neg(rp_add(rp_mul(x, w[i]), one)));
    }
    x = rp_sum(x, NULL, 0, false);
    rp_graph_set(g, RP_OUTPUT_RESULT, "loss", x);
    rp_gradients(x, w, layers, grad);
    for (size_t i = 0; i < layers; i++) {
        rp_tensor m = rp_graph_state(g, run, deep_name(name, 'm', i)), p;
        rp_tensor v = rp_graph_state(g, run, deep_name(name, 'v', i));

        p = rp_adam(w[i], &m, &v, grad[i], rate[0], rate[1], rate[2], &(rp_adam_options){0.9, 0.999, 1e-8, 0, false});
        rp_graph_set(g, RP_OUTPUT_STATE, deep_name(name, 'p', i), p);
        rp_graph_set(g, RP_OUTPUT_STATE, deep_name(name, 'm', i), m);
        rp_graph_set(g, RP_OUTPUT_STATE, deep_name(name, 'v', i), v);
    }
    free(w);
    free(grad);
    return rp_graph_take_program(g, err);
}

static inline rp_status deep_measure(size_t layers, deep_cost *cost, rp_error *err)
{
    double start = deep_seconds();
    rp_compiled *compiled = NULL;
    rp_program *p;
    rp_run *run;
    rp_status status = rp_run_new(&run, &(rp_run_options){.threads = 1}, err);

    if (status != RP_OK)
        return status;
    p = deep_program(run, layers, err);
    cost->build = deep_seconds() - start;
    if (p) {
        cost->instructions = p->n_instrs;
        cost->states = 3 * layers;
        start = deep_seconds();
        status = rp_run_compile(&compiled, run, p, err);
        cost->compile = deep_seconds() - start;
    } else {
        status = err->status;
    }
    rp_compiled_free(compiled);
    rp_run_free(run);
    return status;
}

#endif
