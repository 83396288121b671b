/* SPDX-License-Identifier: Apache-2.0
 * rp_program_split: steps of the rest, given what the first half makes, have the bits of the whole program's; and what
 * goes where. Programs of a seed: states that stay and that are updated, data, feeds, and operations among all of them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "determinism/philox.h"
#include "rp/program.h"
#include "rp/rp.h"

enum { SEEDS = 300, N = 6, STEPS = 3, MOST = 40, RESULTS = 4 };

static size_t draw(uint64_t seed, uint32_t i, size_t below)
{
    return rp_random_u32(77, seed, 1, i) % below;
}

static rp_tensor declared(rp_graph *g, rp_input_kind kind, const char *name)
{
    const rp_type square = {RP_F32, 2, {N, N}};

    return rp_graph_declare(g, kind, name, &square);
}

/* Squares of N x N throughout, so that everything meets everything. */
static rp_program *program_of(uint64_t seed)
{
    rp_graph *g;
    rp_tensor x[MOST];
    rp_program *p;
    rp_error err = {0};
    size_t n = 0;

    assert_int_equal(rp_graph_symbolic(&g, &err), RP_OK);
    x[n++] = declared(g, RP_INPUT_STATE, "w");
    x[n++] = declared(g, RP_INPUT_STATE, "settled.3"); /* a name that the halves would like to have */
    x[n++] = declared(g, RP_INPUT_STATE, "moves");
    x[n++] = declared(g, RP_INPUT_DATA, "d");
    if (draw(seed, 0, 4))
        x[n++] = declared(g, RP_INPUT_FEED, "x");
    for (uint32_t i = 1; n + 1 < MOST; i++) {
        const rp_tensor a = x[draw(seed, 4 * i, n)], b = x[draw(seed, 4 * i + 1, n)];

        switch (draw(seed, 4 * i + 2, 9)) {
        case 0:
            x[n++] = rp_transpose(a, NULL);
            break;
        case 1:
            x[n++] = rp_scale(rp_matmul(a, b), 0.125);
            break;
        case 2:
            x[n++] = rp_maximum(a, b);
            break;
        case 3:
            x[n++] = rp_sub(a, rp_iota(g, RP_F32, N));
            break;
        case 4: /* makes more than it is made of */
            x[n++] = rp_add(rp_broadcast_to(rp_sum(a, (int[]){1}, 1, true), 2, (size_t[]){N, N}), b);
            break;
        case 5: /* can fail */
            x[n++] = rp_gather(a, rp_iota(g, RP_I64, N), 0);
            break;
        case 6: {
            rp_tensor halves[2];

            rp_split(a, (size_t[]){2, N - 2}, 2, 1, halves);
            x[n++] = rp_concat((rp_tensor[]){halves[1], halves[0]}, 2, 1);
            break;
        }
        case 7:
            x[n++] = rp_tanh(a);
            break;
        default:
            x[n++] = rp_mul(a, b);
        }
    }
    for (uint32_t i = 0; i < RESULTS; i++) {
        char name[8];

        snprintf(name, sizeof name, "r%u", i);
        rp_graph_result(g, name, x[draw(seed, 1000 + i, n)]);
    }
    rp_graph_update(g, "moves", rp_tanh(x[n - 1]));
    assert_int_equal(rp_graph_finish(g, &p, &err), RP_OK);
    return p;
}

static void fill(float *x, const char *name, size_t step)
{
    for (size_t i = 0; i < (size_t)N * N; i++)
        x[i] = rp_uniform_f32(rp_random_u32(5, (uint64_t)(unsigned char)name[0], (uint32_t)step, i)) - 0.5f;
}

static size_t bytes_of(const rp_type *type) /* of binary32 */
{
    size_t n = sizeof(float);

    for (int d = 0; d < type->rank; d++)
        n *= type->shape[d];
    return n;
}

/* A run with the inputs that a program has; given: results of another one by name. */
static rp_run *run_of(const rp_program *p, float given[][N * N], const rp_program *first)
{
    rp_run *run;
    rp_error err = {0};
    rp_input_info in;

    assert_int_equal(rp_run_new(&run, &(rp_run_options){.threads = 1}, &err), RP_OK);
    for (size_t i = 0; rp_program_input(p, i, &in); i++) {
        rp_output_info out;
        float x[N * N];

        fill(x, in.name, 0);
        for (size_t k = 0; first && rp_program_output(first, k, &out); k++)
            if (in.kind == RP_INPUT_DATA && strcmp(out.name, in.name) == 0 && bytes_of(&in.type) <= sizeof x)
                memcpy(x, given[k], sizeof x);
        if (in.kind == RP_INPUT_STATE)
            assert_int_equal(rp_run_add_state(run, in.name, in.type.dtype, in.type.rank, in.type.shape, x, &err),
                             RP_OK);
        else if (in.kind == RP_INPUT_DATA)
            assert_int_equal(rp_run_add_data(run, in.name, in.type.dtype, in.type.rank, in.type.shape, x, &err), RP_OK);
    }
    return run;
}

static void step(rp_compiled *c, const rp_program *p, size_t at, float result[RESULTS][N * N])
{
    rp_error err = {0};
    rp_input_info in;

    for (size_t i = 0; rp_program_input(p, i, &in); i++)
        if (in.kind == RP_INPUT_FEED) {
            float x[N * N];

            fill(x, in.name, at);
            assert_int_equal(rp_compiled_write(c, in.name, x, sizeof x, &err), RP_OK);
        }
    assert_int_equal(rp_compiled_step(c, &err), RP_OK);
    for (uint32_t i = 0; result && i < RESULTS; i++) {
        char name[8];

        snprintf(name, sizeof name, "r%u", i);
        assert_int_equal(rp_compiled_read(c, name, result[i], sizeof result[i], &err), RP_OK);
    }
}

static size_t first_results(const rp_program *first, float given[][N * N])
{
    rp_run *run = run_of(first, NULL, NULL);
    rp_compiled *c;
    rp_error err = {0};
    rp_output_info out;
    size_t n = 0;

    assert_int_equal(rp_compile(&c, run, first, &err), RP_OK);
    assert_int_equal(rp_compiled_step(c, &err), RP_OK);
    for (; rp_program_output(first, n, &out); n++) {
        assert_int_equal(out.kind, RP_OUTPUT_RESULT);
        assert_int_equal(rp_compiled_read(c, out.name, given[n], bytes_of(&out.type), &err), RP_OK);
    }
    rp_compiled_free(c);
    rp_run_free(run);
    return n;
}

static void halves_have_the_bits_of_the_whole(void **state)
{
    size_t halved = 0, fewer = 0;

    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        static float given[2 * MOST][N * N], whole[RESULTS][N * N], found[RESULTS][N * N];
        rp_program *p = program_of(seed), *first, *rest;
        rp_run *run[2];
        rp_compiled *c[2];
        rp_error err = {0};

        assert_int_equal(rp_program_split(p, &first, &rest, &err), RP_OK);
        if (!first) {
            assert_null(rest);
            rp_program_free(p);
            continue;
        }
        halved++;
        assert_in_range(first_results(first, given), 1, 2 * MOST);
        run[0] = run_of(p, NULL, NULL);
        run[1] = run_of(rest, given, first);
        assert_int_equal(rp_compile(&c[0], run[0], p, &err), RP_OK);
        assert_int_equal(rp_compile(&c[1], run[1], rest, &err), RP_OK);
        for (size_t i = 1; i <= STEPS; i++) {
            step(c[0], p, i, whole);
            step(c[1], rest, i, found);
            if (memcmp(whole, found, sizeof whole) != 0)
                fail_msg("seed %d, step %zu", (int)seed, i);
        }
        fewer += rp_program_price(rest).work < rp_program_price(p).work;
        for (int k = 0; k < 2; k++) {
            rp_compiled_free(c[k]);
            rp_run_free(run[k]);
        }
        rp_program_free(first);
        rp_program_free(rest);
        rp_program_free(p);
    }
    assert_in_range(halved, SEEDS / 2, SEEDS);
    assert_in_range(fewer, SEEDS / 2, SEEDS);
}

static rp_program *linear(bool prints, bool updates)
{
    rp_graph *g;
    rp_program *p;
    rp_tensor w, t;
    rp_error err = {0};

    assert_int_equal(rp_graph_symbolic(&g, &err), RP_OK);
    w = declared(g, RP_INPUT_STATE, "w");
    t = rp_transpose(w, NULL);
    if (prints)
        rp_print(t, "t");
    rp_graph_result(g, "y", rp_matmul(declared(g, RP_INPUT_FEED, "x"), t));
    if (updates)
        rp_graph_update(g, "w", rp_scale(w, 0.5));
    assert_int_equal(rp_graph_finish(g, &p, &err), RP_OK);
    return p;
}

static void what_goes_where(void **state)
{
    rp_program *p = linear(false, false), *first, *rest;
    rp_error err = {0};
    rp_input_info in;

    (void)state;
    assert_int_equal(rp_program_split(p, &first, &rest, &err), RP_OK);
    assert_int_equal(rp_program_count(first).instructions, 1);
    assert_int_equal(rp_program_count(rest).instructions, 1);
    assert_int_equal(rp_program_count(rest).inputs, 2); /* w itself is read no more */
    for (size_t i = 0; rp_program_input(rest, i, &in); i++)
        assert_true(in.kind == RP_INPUT_FEED || in.kind == RP_INPUT_DATA);
    rp_program_free(first);
    rp_program_free(rest);
    rp_program_free(p);
    for (int k = 0; k < 2; k++) { /* printed values, and weights that a step changes */
        p = linear(k == 0, k == 1);
        assert_int_equal(rp_program_split(p, &first, &rest, &err), RP_OK);
        assert_null(first);
        assert_null(rest);
        rp_program_free(p);
    }
    assert_int_equal(rp_program_split(NULL, &first, &rest, &err), RP_EARG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(halves_have_the_bits_of_the_whole),
        cmocka_unit_test(what_goes_where),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
