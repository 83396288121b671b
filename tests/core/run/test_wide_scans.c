/* SPDX-License-Identifier: Apache-2.0
 * Scans of a cell with gates, wide enough for chains, and their gradients: whatever values lie together in a plan, and
 * whatever passes make it, it has the bits of the eager tape, the first time and again. */
#include "tests/core/run/plan_steps.h"

enum { TIMES = 5, N = 48 /* squared it is more than a block of a chain */ };

/* How a program differs from another. */
typedef struct variant {
    int axis;           /* along which gates lie side by side */
    bool reverse, seen; /* seen: the rows are a result too */
    bool known;         /* what the first step gets is data */
} variant;

static rp_type f32(size_t rows, size_t cols)
{
    return (rp_type){.dtype = RP_F32, .rank = 2, .shape = {rows, cols}};
}

static rp_type wide(const variant *v)
{
    return v->axis ? f32(N, 4 * N) : f32(4 * N, N);
}

static rp_tensor gate(const variant *v, rp_tensor z, size_t k)
{
    const size_t begin[] = {v->axis ? 0 : k * N, v->axis ? k * N : 0};

    return rp_slice(z, begin, (size_t[]){begin[0] + N, begin[1] + N});
}

static rp_function *cell(const variant *v)
{
    const rp_type index = {.dtype = RP_I64}, state = f32(N, N), all = wide(v);
    rp_tensor h, c, z, u, in;
    rp_function *f;
    rp_graph *g;

    assert_int_equal(rp_graph_symbolic(&g, NULL), RP_OK);
    (void)rp_function_parameter(g, &index);
    h = rp_function_parameter(g, &state);
    c = rp_function_parameter(g, &state);
    z = rp_function_parameter(g, &all);
    u = rp_function_parameter(g, &all);
    z = rp_add(z, v->axis ? rp_matmul(h, u) : rp_matmul(u, h));
    in = rp_mul(rp_sigmoid(gate(v, z, 0)), rp_tanh(gate(v, z, 2)));
    c = rp_add(rp_mul(rp_sigmoid(gate(v, z, 1)), c), in);
    h = rp_mul(rp_sigmoid(gate(v, z, 3)), rp_tanh(c));
    rp_function_return(g, h);
    rp_function_return(g, c);
    rp_function_return(g, h);
    assert_int_equal(rp_function_finish(g, &f, NULL), RP_OK);
    return f;
}

static rp_program *program(const variant *v)
{
    const rp_type state = f32(N, N), all = wide(v);
    const rp_type rows = {.dtype = RP_F32, .rank = 3, .shape = {TIMES, all.shape[0], all.shape[1]}};
    rp_function *f = cell(v);
    rp_tensor in[4], out[3], loss, grad[4];
    char name[8];
    rp_graph *g;
    rp_program *p;
    rp_error err = {0};

    assert_int_equal(rp_graph_symbolic(&g, NULL), RP_OK);
    in[0] = v->known ? rp_graph_declare(g, RP_INPUT_DATA, "h", &state) : rp_fill(g, RP_F32, 2, (size_t[]){N, N}, 0);
    in[1] = v->known ? rp_graph_declare(g, RP_INPUT_FEED, "c", &state) : in[0];
    in[2] = rp_graph_declare(g, RP_INPUT_FEED, "x", &rows);
    in[3] = rp_graph_declare(g, RP_INPUT_DATA, "u", &all);
    rp_scan(g,
            &(rp_scan_options){.function = f,
                               .carried = in,
                               .n_carried = 2,
                               .sliced = in + 2,
                               .n_sliced = 1,
                               .shared = in + 3,
                               .n_shared = 1,
                               .times = TIMES,
                               .reverse = v->reverse},
            out);
    rp_function_free(f);
    loss = rp_add(rp_sum(rp_mul(out[2], out[2]), NULL, 0, false), rp_sum(rp_mul(out[0], out[1]), NULL, 0, false));
    rp_graph_result(g, "c", out[1]);
    if (v->seen)
        rp_graph_result(g, "rows", out[2]);
    rp_gradients(loss, in, 4, grad);
    for (size_t i = v->known ? 0 : 2; i < 4; i++) {
        (void)snprintf(name, sizeof name, "g%zu", i);
        rp_graph_result(g, name, grad[i]);
    }
    if (rp_graph_finish(g, &p, &err) != RP_OK)
        fail_msg("%s", err.text);
    return p;
}

static void plans_have_the_bits_of_the_tape(const variant *v, rp_device *device)
{
    static const unsigned without[] = {0, RP_PASS_INPLACE, RP_PASS_FUSE, RP_PASS_COMMON, RP_PASS_PADS, RP_PASS_SCANS};
    rp_program *p = program(v);
    store s = store_new(p);
    record expected = eager_step(p, device, &s);

    for (size_t i = 0; i < COUNT(without); i++)
        for (size_t stored = 0; stored < 2; stored++) {
            rp_plan *plan;
            char what[96];

            plan_passes = RP_PASSES & ~without[i];
            plan_stored = stored * RP_PLAN_STORED_MAX;
            plan = plan_new(p, device, &s);
            for (int again = 0; again < 2; again++) {
                record found = plan_step(p, plan, &s);

                (void)snprintf(what, sizeof what, "axis %d, reverse %d, seen %d, known %d, without %u, stored %zu",
                               v->axis, v->reverse, v->seen, v->known, without[i], stored);
                assert_same(p, &expected, &found, what);
            }
            rp_plan_free(plan);
        }
    record_free(&expected);
    store_free(&s);
    rp_program_free(p);
}

static void values_that_lie_together_show_in_no_bit(void **state)
{
    rp_device *device;

    (void)state;
    rp_set_allocator(&poisoning);
    for (unsigned threads = 1; threads < 4; threads += 2) {
        assert_int_equal(rp_device_cpu_new(&device, NULL, threads, NULL), RP_OK);
        for (int k = 0; k < 16; k++)
            plans_have_the_bits_of_the_tape(
                &(variant){.axis = k % 2, .reverse = k / 2 % 2, .seen = k / 4 % 2, .known = k / 8 % 2}, device);
        rp_device_free(device);
    }
}

/* ---- operands of a concat that others read too ---- */

/* A cell that gives [a; b] + c, of which a and b are read when that is made; or that makes others of them before, which
 * take over their memory. */
static rp_function *cell_with_other_readers(bool before)
{
    const rp_type index = {.dtype = RP_I64}, state = f32(N, N), weight = f32(N, 2 * N);
    rp_tensor h, x, w, ab[2], both, c;
    rp_function *f;
    rp_graph *g;

    assert_int_equal(rp_graph_symbolic(&g, NULL), RP_OK);
    (void)rp_function_parameter(g, &index);
    h = rp_function_parameter(g, &state);
    x = rp_function_parameter(g, &state);
    w = rp_function_parameter(g, &weight);
    h = rp_add(h, x);
    ab[0] = rp_tanh(h);
    ab[1] = rp_sigmoid(h);
    both = rp_concat(ab, 2, 0);
    if (before) {
        c = rp_sum(rp_matmul(ab[1], x), NULL, 0, false);
        c = rp_sum(rp_matmul(rp_mul(ab[0], c), rp_mul(ab[1], c)), NULL, 0, false);
        both = rp_add(both, rp_scale(c, 0x1p-60)); /* which leaves something of [a; b] */
        h = rp_matmul(w, both);
    } else {
        both = rp_add(both, rp_fill(g, RP_F32, 0, NULL, 0.5));
        h = rp_matmul(rp_matmul(w, both), x);
        h = rp_add(rp_mul(h, ab[0]), ab[1]);
    }
    rp_function_return(g, h);
    rp_function_return(g, both);
    assert_int_equal(rp_function_finish(g, &f, NULL), RP_OK);
    return f;
}

static void operands_of_a_concat_that_others_read_are_what_they_were(void **state)
{
    const rp_type first = f32(N, N), weight = f32(N, 2 * N);
    const rp_type rows = {.dtype = RP_F32, .rank = 3, .shape = {TIMES, N, N}};
    rp_device *device;

    (void)state;
    rp_set_allocator(&poisoning);
    plan_passes = RP_PASSES;
    assert_int_equal(rp_device_cpu_new(&device, NULL, 1, NULL), RP_OK);
    for (int before = 0; before < 2; before++) {
        rp_function *f = cell_with_other_readers(before);
        rp_tensor in[3], out[2];
        rp_graph *g;
        rp_program *p;

        assert_int_equal(rp_graph_symbolic(&g, NULL), RP_OK);
        in[0] = rp_graph_declare(g, RP_INPUT_DATA, "h", &first);
        in[1] = rp_graph_declare(g, RP_INPUT_FEED, "x", &rows);
        in[2] = rp_graph_declare(g, RP_INPUT_DATA, "w", &weight);
        rp_scan(g,
                &(rp_scan_options){.function = f,
                                   .carried = in,
                                   .n_carried = 1,
                                   .sliced = in + 1,
                                   .n_sliced = 1,
                                   .shared = in + 2,
                                   .n_shared = 1,
                                   .times = TIMES},
                out);
        rp_function_free(f);
        rp_graph_result(g, "h", out[0]);
        rp_graph_result(g, "rows", out[1]);
        assert_int_equal(rp_graph_finish(g, &p, NULL), RP_OK);
        assert_plan_is_eager(p, device, device, before ? "overwritten before" : "read later");
        rp_program_free(p);
    }
    rp_device_free(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(values_that_lie_together_show_in_no_bit),
                                       cmocka_unit_test(operands_of_a_concat_that_others_read_are_what_they_were)};

    return cmocka_run_group_tests_name("wide scans", tests, NULL, NULL);
}
