/* SPDX-License-Identifier: Apache-2.0
 * Programs of one scan whose frames are drawn at random: two matrices that frames carry, one and vectors of its columns
 * that they share, and what each frame makes kept. */
#ifndef TESTS_CORE_RUN_EPILOGUES_FRAMES_H
#define TESTS_CORE_RUN_EPILOGUES_FRAMES_H

#include "tests/core/run/plan_steps.h"

enum { FRAME_MATRICES = 3, FRAME_VECTORS = 2 };

static inline rp_program *finished(rp_graph *g, const char *name)
{
    rp_error err = {0};
    rp_program *p;

    if (rp_graph_status(g, &err) != RP_OK)
        fail_msg("%s: %s", name, err.text);
    p = rp_graph_take_program(g, &err);
    assert_non_null(p);
    return p;
}

static inline rp_type frame_vector(const rp_type *matrix)
{
    return (rp_type){matrix->dtype, 1, {matrix->shape[1]}};
}

static inline void count_call(void *self, const rp_plan *plan, size_t call)
{
    (void)plan;
    (void)call;
    ++*(size_t *)self;
}

static inline void leave_call(void *self, const rp_plan *plan, size_t call)
{
    (void)self;
    (void)plan;
    (void)call;
}

/* The calls of a run by some passes, those of all frames too. */
static inline size_t calls_made(const rp_program *p, rp_device *device, unsigned passes)
{
    size_t n = 0;
    const rp_plan_watch watch = {&n, count_call, leave_call};
    store s = store_new(p);
    record r;
    rp_plan *plan;

    plan_passes = passes;
    plan = plan_new(p, device, &s);
    rp_plan_set_watch(plan, &watch);
    r = plan_step(p, plan, &s);
    record_free(&r);
    rp_plan_free(plan);
    store_free(&s);
    plan_passes = RP_PASSES;
    return n;
}

/* The graph of a frame, with its matrices and vectors. */
static inline rp_graph *frame_begin(const rp_type *matrix, rp_tensor *x, rp_tensor *vector)
{
    const rp_type type = frame_vector(matrix);
    rp_graph *g;

    assert_int_equal(rp_graph_symbolic(&g, NULL), RP_OK);
    (void)rp_function_parameter(g, &(rp_type){.dtype = RP_I64});
    for (size_t i = 0; i < FRAME_MATRICES; i++)
        x[i] = rp_function_parameter(g, matrix);
    for (size_t i = 0; i < FRAME_VECTORS; i++)
        vector[i] = rp_function_parameter(g, &type);
    return g;
}

/* The program of a frame that gives two matrices for those that it got first, and a third; the graph is taken. */
static inline rp_program *frames_new(rp_graph *frame, const rp_tensor *given, const rp_type *matrix, uint64_t seed)
{
    const rp_type type = frame_vector(matrix);
    rp_graph *g = rp_graph_new(NULL);
    const rp_tensor carried[2] = {rp_graph_input(g, RP_INPUT_STATE, "s0", matrix, NULL),
                                  rp_graph_input(g, RP_INPUT_STATE, "s1", matrix, NULL)};
    const rp_tensor shared[] = {rp_graph_input(g, RP_INPUT_DATA, "d", matrix, NULL),
                                rp_graph_input(g, RP_INPUT_DATA, "row", &type, NULL),
                                rp_graph_input(g, RP_INPUT_DATA, "beta", &type, NULL)};
    rp_scan_options options = {.carried = carried,
                               .shared = shared,
                               .n_carried = 2,
                               .n_shared = COUNT(shared),
                               .times = 2 + seed % 2,
                               .reverse = seed / 2 % 2};
    rp_tensor out[FRAME_MATRICES];
    rp_function *body;
    rp_error err = {0};

    for (size_t i = 0; i < FRAME_MATRICES; i++)
        rp_function_return(frame, given[i]);
    if (rp_function_finish(frame, &body, &err) != RP_OK)
        fail_msg("%s", err.text);
    options.function = body;
    rp_scan(g, &options, out);
    rp_function_free(body);
    rp_graph_set(g, RP_OUTPUT_STATE, "s0", out[0]);
    rp_graph_set(g, RP_OUTPUT_STATE, "s1", out[1]);
    rp_graph_set(g, RP_OUTPUT_RESULT, "history", out[2]);
    return finished(g, "frames");
}

#endif
