/* SPDX-License-Identifier: Apache-2.0
 * For tests of the public operations: an eager step in progress, tensors put into it, and what they are expected to be.
 */
#ifndef TESTS_CORE_PROGRAM_EAGER_STEP_H
#define TESTS_CORE_PROGRAM_EAGER_STEP_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/run/run.h"
#include "determinism/bits.h"
#include "rp/rp.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define SHAPE(...) \
    (int)COUNT(((size_t[]){__VA_ARGS__})), (size_t[]) \
    { \
        __VA_ARGS__ \
    }
#define AXES(...) (int[]){__VA_ARGS__}, (int)COUNT(((int[]){__VA_ARGS__}))

static inline rp_run *step_new(void)
{
    rp_run *run = NULL;
    rp_error err = {0};

    if (rp_run_new(&run, &(rp_run_options){.threads = 1}, &err) != RP_OK)
        fail_msg("%s", err.text);
    assert_int_equal(rp_step_begin(run, NULL), RP_OK);
    return run;
}

static inline rp_tensor put(rp_run *run, rp_dtype dtype, int rank, const size_t *shape, const void *bytes)
{
    static unsigned n;
    char name[24];

    snprintf(name, sizeof name, "t%u", n++);
    return rp_feed(run, name, dtype, rank, shape, bytes);
}

static inline rp_tensor put_f32(rp_run *run, int rank, const size_t *shape, const float *x)
{
    return put(run, RP_F32, rank, shape, x);
}

static inline void assert_shape(rp_tensor x, rp_dtype dtype, int rank, const size_t *shape)
{
    rp_type found = {0}, expected = {.dtype = dtype, .rank = rank};
    char a[192], b[192];
    rp_error err = {0};

    if (!rp_shape_of(x, &found.dtype, &found.rank, found.shape)) {
        if (x.graph)
            (void)rp_graph_status(x.graph, &err);
        fail_msg("no tensor: %s", err.text);
    }
    if (rank)
        memcpy(expected.shape, shape, (size_t)rank * sizeof *shape);
    rp_type_text(&found, a, sizeof a);
    rp_type_text(&expected, b, sizeof b);
    assert_string_equal(a, b);
}

static inline void assert_values(rp_run *run, rp_tensor x, rp_dtype dtype, int rank, const size_t *shape,
                                 const void *expected)
{
    rp_type type = {.dtype = dtype, .rank = rank};
    char found[512], a[64], b[64];
    size_t n, at;
    rp_error err = {0};

    assert_shape(x, dtype, rank, shape);
    if (rank)
        memcpy(type.shape, shape, (size_t)rank * sizeof *shape);
    n = rp_type_count(&type);
    assert_true(rp_type_bytes(&type) <= sizeof found);
    if (rp_read(run, x, found, rp_type_bytes(&type), &err) != RP_OK)
        fail_msg("%s", err.text);
    at = rp_first_difference(found, expected, dtype, n);
    if (at < n) {
        rp_describe_element(a, sizeof a, (const char *)expected + at * rp_dtype_size(dtype), dtype);
        rp_describe_element(b, sizeof b, found + at * rp_dtype_size(dtype), dtype);
        fail_msg("element %zu: expected %s, found %s", at, a, b);
    }
}

static inline void assert_f32(rp_run *run, rp_tensor x, int rank, const size_t *shape, const float *expected)
{
    assert_values(run, x, RP_F32, rank, shape, expected);
}

#endif
