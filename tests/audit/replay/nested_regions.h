/* SPDX-License-Identifier: Apache-2.0
 * A map over shards of scans over rows, whose body has one instruction that a wrong device gets wrong. */
#ifndef TESTS_AUDIT_REPLAY_NESTED_REGIONS_H
#define TESTS_AUDIT_REPLAY_NESTED_REGIONS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "rp/rp.h"

enum { WIDTH = 3, TIMES = 50, SHARDS = 5 };

static rp_error err;

#define OK(call) need((call), #call)

static inline void need(rp_status status, const char *what)
{
    if (status != RP_OK)
        fail_msg("%s: %s", what, err.text);
}

static inline rp_type rows(int rank, size_t a, size_t b)
{
    const size_t shape[3][3] = {{WIDTH}, {a, WIDTH}, {a, b, WIDTH}};
    rp_type type = {.dtype = RP_F32, .rank = rank};

    memcpy(type.shape, shape[rank - 1], sizeof shape[0]);
    return type;
}

static const rp_type index_type = {.dtype = RP_I64};

static inline rp_graph *begin(void)
{
    rp_graph *g;

    OK(rp_graph_symbolic(&g, &err));
    return g;
}

static inline rp_function *function(rp_graph *g)
{
    rp_function *f;

    OK(rp_function_finish(g, &f, &err));
    return f;
}

static inline rp_tensor parameter(rp_graph *g, rp_type type)
{
    return rp_function_parameter(g, &type);
}

/* (index, carried, row) -> carried + cumsum(row), and its negative for stacking. cumsum is instruction 0. */
static inline rp_function *step_function(bool stacked)
{
    rp_graph *g = begin();
    rp_tensor c, row, sum;

    (void)parameter(g, index_type);
    c = parameter(g, rows(1, 0, 0));
    row = parameter(g, rows(1, 0, 0));
    sum = rp_cumsum(row, 0, false);
    sum = rp_add(c, sum);
    rp_function_return(g, sum);
    if (stacked)
        rp_function_return(g, rp_neg(sum));
    return function(g);
}

/* (index, slice [1, TIMES, WIDTH]) -> a scan over it. The scan is instruction 2. */
static inline rp_function *shard_function(void)
{
    rp_graph *g = begin();
    rp_function *f = step_function(true);
    rp_tensor slice, carried, out[2];

    (void)parameter(g, index_type);
    slice = rp_reshape(parameter(g, rows(3, 1, TIMES)), 2, (size_t[]){TIMES, WIDTH});
    carried = rp_fill(g, RP_F32, 1, (size_t[]){WIDTH}, 1);
    rp_scan(g,
            &(rp_scan_options){
                .function = f, .carried = &carried, .n_carried = 1, .sliced = &slice, .n_sliced = 1, .times = TIMES},
            out);
    rp_function_return(g, out[0]);
    rp_function_return(g, rp_reshape(rp_concat(&out[1], 1, 0), 3, (size_t[]){1, TIMES, WIDTH}));
    rp_function_free(f);
    return function(g);
}

/* Shard s has the index s + first; shard 1 is empty, so shard 3 is row 2. The map is instruction 0. */
static inline void map_of_scans(rp_graph *g, rp_tensor sliced, const rp_combine *combine, uint64_t first,
                                rp_tensor out[2])
{
    rp_function *f = shard_function();
    uint64_t cuts[SHARDS + 2];

    for (uint64_t s = 0; s <= SHARDS; s++)
        cuts[s + (s > 0)] = s;
    cuts[1] = 1;
    rp_map(g,
           &(rp_map_options){.function = (const rp_function *const *)&f,
                             .n_function = 1,
                             .sliced = &sliced,
                             .n_sliced = 1,
                             .cuts = cuts,
                             .n_cuts = SHARDS + 2,
                             .first = first,
                             .combine = combine,
                             .n_combine = 2},
           out);
    rp_function_free(f);
}

static float x_of[SHARDS * TIMES * WIDTH];

/* Numbers without a mark. */
static inline float *unmarked(void)
{
    for (size_t i = 0; i < SHARDS * TIMES * WIDTH; i++)
        x_of[i] = (float)(i * 37 % 101) / 8;
    return x_of;
}

#endif
