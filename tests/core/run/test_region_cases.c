/* SPDX-License-Identifier: Apache-2.0
 * Regions at their edges, by name: loops that end at once, at their limit or behind it, scans of no and of one
 * iteration, of nothing carried and nothing sliced, branches that fail and those beside them, dropout inside a scan
 * inside a map. What integers give is worked out here a second time. At every level, on 1 to 64 threads, on the tape
 * and compiled. */
#include "tests/core/run/region_examples.h"

static devices all;

static const rp_type integer = {.dtype = RP_I64}, pair = {.dtype = RP_I64, .rank = 1, .shape = {2}};

static rp_graph *graph(void)
{
    rp_graph *g;

    assert_int_equal(rp_graph_symbolic(&g, NULL), RP_OK);
    return g;
}

static rp_program *finished(rp_graph *g)
{
    rp_program *p;
    rp_error err = {0};

    if (rp_graph_finish(g, &p, &err) != RP_OK)
        fail_msg("%s", err.text);
    return p;
}

static rp_function *function(rp_graph *g)
{
    rp_function *f;
    rp_error err = {0};

    if (rp_function_finish(g, &f, &err) != RP_OK)
        fail_msg("%s", err.text);
    return f;
}

/* One step of p on the memory of its inputs, everywhere: all agree on the status and the bytes. */
static rp_status everywhere(const rp_program *p, void *const *memory, record *out, rp_error *err)
{
    rp_status status = RP_OK;

    for (size_t i = 0; i < 2 * all.n; i++) {
        rp_device *device = all.device[i / 2];
        rp_graph *trace = NULL;
        rp_error found = {0};
        rp_plan *plan;
        void *none[8] = {NULL};
        rp_status now = rp_graph_trace(&trace, p, device, memory, &found), compiled;

        if (i == 0) {
            status = now;
            *err = found;
            *out = record_new(p);
            for (size_t o = 0; o < p->n_outputs && status == RP_OK; o++)
                put(&out->bytes[o], &p->value[p->output[o].value], trace->view[p->output[o].value].data);
        }
        plan_passes = i % 2 ? RP_PASSES : RP_PASSES & ~(unsigned)RP_PASS_WRITE_OUT;
        assert_int_equal(rp_plan_new_in(&plan, p, device, none, NULL, plan_passes, NULL), RP_OK);
        for (size_t k = 0; k < p->n_inputs; k++)
            if (rp_type_bytes(&p->value[p->input[k].value]))
                memcpy(rp_plan_feed(plan, k), memory[k], rp_type_bytes(&p->value[p->input[k].value]));
        compiled = rp_plan_run(plan, &found);
        assert_int_equal(now, status);
        assert_int_equal(compiled, status);
        assert_string_equal(found.text, err->text);
        for (size_t o = 0; o < p->n_outputs && status == RP_OK; o++) {
            const rp_type *type = &p->value[p->output[o].value];
            rp_buffer bytes = {0};

            put(&bytes, type, trace->view[p->output[o].value].data);
            assert_int_equal(bytes.size, out->bytes[o].size);
            assert_memory_equal(bytes.data, out->bytes[o].data, bytes.size);
            rp_buffer_free(&bytes);
            put(&bytes, type, rp_plan_output(plan, o));
            assert_memory_equal(bytes.data, out->bytes[o].data, bytes.size);
            rp_buffer_free(&bytes);
        }
        rp_plan_free(plan);
        rp_graph_free(trace);
    }
    return status;
}

static void assert_integers(const record *r, size_t output, const int64_t *expected, size_t n)
{
    assert_int_equal(r->bytes[output].size, n * sizeof *expected);
    for (size_t i = 0; i < n; i++) {
        int64_t found;

        memcpy(&found, r->bytes[output].data + i * sizeof found, sizeof found);
        if (found != expected[i])
            fail_msg("output %zu, element %zu: %lld, expected %lld", output, i, (long long)found,
                     (long long)expected[i]);
    }
}

/* ---- while ---- */

enum { FLAGS = 3 };

/* flags[index + shift] != 0: an error where there is no such flag. */
static rp_function *flagged(void)
{
    rp_graph *g = graph();
    const rp_type flags = {.dtype = RP_I64, .rank = 1, .shape = {FLAGS}};
    rp_tensor index = rp_function_parameter(g, &integer), x, shift;

    (void)rp_function_parameter(g, &pair);
    x = rp_function_parameter(g, &flags);
    shift = rp_function_parameter(g, &integer);
    x = rp_gather(x, rp_add(index, shift), 0);
    rp_function_return(g, rp_ne(x, rp_fill(g, RP_I64, 0, NULL, 0)));
    return function(g);
}

/* h * 3 + index */
static rp_function *tripled(void)
{
    rp_graph *g = graph();
    const rp_type flags = {.dtype = RP_I64, .rank = 1, .shape = {FLAGS}};
    rp_tensor index = rp_function_parameter(g, &integer), h = rp_function_parameter(g, &pair);

    (void)rp_function_parameter(g, &flags);
    (void)rp_function_parameter(g, &integer);
    rp_function_return(g, rp_add(rp_scale(h, 3), index));
    return function(g);
}

static rp_program *while_program(uint64_t limit)
{
    const rp_type flags = {.dtype = RP_I64, .rank = 1, .shape = {FLAGS}};
    rp_function *triple = tripled(), *predicate = flagged();
    rp_graph *g = graph();
    rp_tensor h = rp_graph_declare(g, RP_INPUT_FEED, "h", &pair), out[2];
    rp_tensor shared[2] = {rp_graph_declare(g, RP_INPUT_FEED, "flags", &flags),
                           rp_graph_declare(g, RP_INPUT_FEED, "shift", &integer)};

    rp_while(g,
             &(rp_while_options){.body = triple,
                                 .predicate = predicate,
                                 .carried = &h,
                                 .n_carried = 1,
                                 .shared = shared,
                                 .n_shared = 2,
                                 .limit = limit},
             out);
    rp_graph_result(g, "count", out[0]);
    rp_graph_result(g, "h", out[1]);
    rp_function_free(triple);
    rp_function_free(predicate);
    return finished(g);
}

static void assert_while(uint64_t limit, const int64_t *flags, int64_t shift, int64_t count)
{
    int64_t h[2] = {5, -7}, given[2] = {5, -7}, f[FLAGS];
    rp_program *p = while_program(limit);
    record r;
    rp_error err = {0};

    memcpy(f, flags, sizeof f);
    assert_int_equal(everywhere(p, (void *[]){given, f, &shift}, &r, &err), count < 0 ? RP_EDATA : RP_OK);
    if (count < 0) {
        assert_non_null(strstr(err.text, "gather: index"));
    } else {
        for (int64_t i = 0; i < count; i++)
            for (size_t k = 0; k < 2; k++)
                h[k] = h[k] * 3 + i;
        assert_integers(&r, 0, &count, 1);
        assert_integers(&r, 1, h, 2);
    }
    record_free(&r);
    rp_program_free(p);
}

static void a_while_that_is_false_at_once_keeps_what_it_carries(void **state)
{
    (void)state;
    assert_while(9, (int64_t[]){0, 1, 1}, 0, 0);
    assert_while(9, (int64_t[]){1, 1, 0}, 2, 0);
}

static void a_while_ends_where_its_predicate_says(void **state)
{
    (void)state;
    assert_while(9, (int64_t[]){1, 1, 0}, 0, 2);
    assert_while((uint64_t)1 << 37, (int64_t[]){1, 0, 1}, 0, 1);
}

static void at_its_limit_a_while_does_not_ask_again(void **state)
{
    (void)state;
    assert_while(3, (int64_t[]){1, 1, 1}, 0, 3); /* a fourth question would be an error */
    assert_while(2, (int64_t[]){1, 1, 1}, 1, 2);
    assert_while(0, (int64_t[]){1, 1, 1}, 9, 0);
}

static void a_while_that_could_go_on_stops_at_its_limit(void **state)
{
    (void)state;
    assert_while(1, (int64_t[]){1, 1, 1}, 0, 1);
    assert_while(2, (int64_t[]){1, 1, 1}, 0, 2);
}

static void a_predicate_that_fails_is_the_error_of_the_step(void **state)
{
    (void)state;
    assert_while(4, (int64_t[]){1, 1, 1}, 0, -1);
    assert_while(1, (int64_t[]){1, 1, 1}, 3, -1);
    assert_while(1, (int64_t[]){1, 1, 1}, -1, -1);
}

/* ---- scan ---- */

typedef struct loop {
    uint64_t times;
    bool reverse, history, carries, slices;
} loop;

/* h' = h * 3 + index + row; y = h' * 10 - shared. What is not there is left out; without carried y is of the sum. */
static rp_function *loop_body(const loop *l)
{
    rp_graph *g = graph();
    rp_tensor index = rp_function_parameter(g, &integer), h = index, row = index, shared, sum;

    if (l->carries)
        h = rp_function_parameter(g, &pair);
    if (l->slices)
        row = rp_function_parameter(g, &pair);
    shared = rp_function_parameter(g, &pair);
    sum = rp_add(l->carries ? rp_scale(h, 3) : shared, index);
    if (l->slices)
        sum = rp_add(sum, row);
    if (l->carries)
        rp_function_return(g, sum);
    rp_function_return(g, rp_sub(rp_scale(sum, 10), shared));
    return function(g);
}

static rp_program *loop_program(const loop *l)
{
    const rp_type rows = {.dtype = RP_I64, .rank = 2, .shape = {(size_t)l->times, 2}};
    rp_function *f = loop_body(l);
    rp_graph *g = graph();
    rp_tensor h = rp_graph_declare(g, RP_INPUT_FEED, "h", &pair), x = rp_graph_declare(g, RP_INPUT_FEED, "x", &rows);
    rp_tensor shared = rp_graph_declare(g, RP_INPUT_FEED, "shared", &pair), out[3];
    char name[8];

    rp_scan(g,
            &(rp_scan_options){.function = f,
                               .carried = &h,
                               .n_carried = l->carries,
                               .sliced = &x,
                               .n_sliced = l->slices,
                               .shared = &shared,
                               .n_shared = 1,
                               .times = l->times,
                               .reverse = l->reverse,
                               .history = l->history},
            out);
    for (size_t i = 0; i < 1u + l->carries + (l->history && l->carries); i++) {
        snprintf(name, sizeof name, "y%zu", i);
        rp_graph_result(g, name, out[i]);
    }
    rp_function_free(f);
    return finished(g);
}

enum { MOST = 5 };

static void assert_loop(const loop *l)
{
    int64_t h[2] = {5, -7}, x[MOST][2], shared[2] = {100, 200}, y[MOST][2], entered[MOST][2];
    rp_program *p = loop_program(l);
    record r;
    rp_error err = {0};

    for (size_t i = 0; i < MOST; i++)
        for (size_t k = 0; k < 2; k++)
            x[i][k] = (int64_t)(i * i + 7 * k) - 3;
    if (everywhere(p, (void *[]){h, x, shared}, &r, &err) != RP_OK)
        fail_msg("%s", err.text);
    for (uint64_t t = 0; t < l->times; t++) {
        const size_t i = (size_t)(l->reverse ? l->times - 1 - t : t);

        for (size_t k = 0; k < 2; k++) {
            const int64_t sum = (l->carries ? h[k] * 3 : shared[k]) + (int64_t)i + (l->slices ? x[i][k] : 0);

            entered[i][k] = h[k];
            h[k] = l->carries ? sum : h[k];
            y[i][k] = sum * 10 - shared[k];
        }
    }
    if (l->carries)
        assert_integers(&r, 0, h, 2);
    assert_integers(&r, l->carries, y[0], 2 * (size_t)l->times);
    if (l->carries && l->history)
        assert_integers(&r, 2, entered[0], 2 * (size_t)l->times);
    record_free(&r);
    rp_program_free(p);
}

#define SCAN_TEST(name, ...) \
    static void name(void **state) \
    { \
        static const loop loops[] = {__VA_ARGS__}; \
\
        (void)state; \
        for (size_t i = 0; i < 2 * COUNT(loops); i++) { \
            loop l = loops[i / 2]; \
\
            l.reverse = i % 2; \
            assert_loop(&l); \
        } \
    }

SCAN_TEST(a_scan_of_no_iteration_gives_what_it_carries, {.times = 0, .carries = true, .slices = true},
          {.times = 0, .carries = true, .slices = true, .history = true}, {.times = 0, .carries = true},
          {.times = 0, .slices = true})
SCAN_TEST(a_scan_of_one_iteration_is_a_call, {.times = 1, .carries = true, .slices = true},
          {.times = 1, .carries = true, .slices = true, .history = true}, {.times = 1})
SCAN_TEST(a_scan_goes_either_way, {.times = 5, .carries = true, .slices = true},
          {.times = 4, .carries = true, .slices = true, .history = true})
SCAN_TEST(a_scan_may_carry_nothing, {.times = 5, .slices = true}, {.times = 2, .slices = true, .history = true})
SCAN_TEST(a_scan_may_slice_nothing, {.times = 5, .carries = true}, {.times = 3, .carries = true, .history = true},
          {.times = 3})

/* ---- cond in a run: states are kept ---- */

/* x [2] -> x gathered at `at`, doubled. */
static rp_function *taking(int64_t at)
{
    const rp_type vector = {.dtype = RP_F32, .rank = 1, .shape = {2}};
    rp_graph *g = graph();
    rp_tensor x = rp_function_parameter(g, &vector);

    rp_function_return(g, rp_scale(rp_gather(x, rp_fill(g, RP_I64, 1, (size_t[]){2}, (double)at), 0), 2));
    return function(g);
}

/* s' = cond of the feed `which`: row 0 or 1 of s doubled, or a gather of row 99; t' = s + t, which does not fail. */
static rp_program *branch_program(void)
{
    const rp_type vector = {.dtype = RP_F32, .rank = 1, .shape = {2}};
    rp_function *f[3] = {taking(0), taking(1), taking(99)};
    rp_graph *g = graph();
    rp_tensor which = rp_graph_declare(g, RP_INPUT_FEED, "which", &integer);
    rp_tensor s = rp_graph_declare(g, RP_INPUT_STATE, "s", &vector),
              t = rp_graph_declare(g, RP_INPUT_STATE, "t", &vector);
    rp_tensor y;

    rp_graph_update(g, "t", rp_add(s, t));
    rp_cond(g, which, (const rp_function *const *)f, 3, &s, 1, &y);
    rp_graph_update(g, "s", y);
    rp_graph_result(g, "y", y);
    for (size_t i = 0; i < 3; i++)
        rp_function_free(f[i]);
    return finished(g);
}

static void assert_states(const rp_run *run, const float *s, const float *t)
{
    float found[2];

    assert_int_equal(rp_run_get_state(run, "s", found, sizeof found, NULL), RP_OK);
    assert_memory_equal(found, s, sizeof found);
    assert_int_equal(rp_run_get_state(run, "t", found, sizeof found, NULL), RP_OK);
    assert_memory_equal(found, t, sizeof found);
}

static rp_status branch_step(rp_compiled *c, int64_t which, rp_error *err)
{
    assert_int_equal(rp_compiled_write(c, "which", &which, sizeof which, NULL), RP_OK);
    return rp_compiled_step(c, err);
}

/* Before anything failed, after a failure, and on. What is reported is the step's error; nothing of it stays. */
static void a_failing_branch_leaves_the_states_and_one_that_is_not_taken_is_silent(void **state)
{
    static const struct {
        int64_t which;
        const char *said;
    } wrong[] = {{2, "gather: index 99 at position 0 is out of range, expected 0 to 1"},
                 {3, "selector 3 is out of range, expected 0 to 2"},
                 {-1, "selector -1 is out of range, expected 0 to 2"},
                 {INT64_MIN, "is out of range, expected 0 to 2"}};
    const float s0[2] = {1.5f, -0.25f}, t0[2] = {10, 20}, s1[2] = {3, 3}, t1[2] = {11.5f, 19.75f};
    rp_program *p = branch_program();

    (void)state;
    for (size_t i = 0; i < COUNT(wrong); i++) {
        rp_run *run;
        rp_compiled *c;
        rp_error err = {0};

        assert_int_equal(rp_run_new(&run, &(rp_run_options){.threads = 1 + (unsigned)i}, NULL), RP_OK);
        assert_int_equal(rp_run_add_state(run, "s", RP_F32, 1, (size_t[]){2}, s0, NULL), RP_OK);
        assert_int_equal(rp_run_add_state(run, "t", RP_F32, 1, (size_t[]){2}, t0, NULL), RP_OK);
        assert_int_equal(rp_compile(&c, run, p, NULL), RP_OK);
        assert_int_equal(branch_step(c, wrong[i].which, &err), RP_EDATA);
        assert_non_null(strstr(err.text, wrong[i].said));
        assert_states(run, s0, t0);
        assert_int_equal(rp_run_steps(run), 0);
        assert_int_equal(branch_step(c, 0, &err), RP_OK);
        assert_states(run, s1, t1);
        assert_int_equal(branch_step(c, wrong[i].which, &err), RP_EDATA);
        assert_states(run, s1, t1);
        assert_int_equal(rp_run_steps(run), 1);
        rp_compiled_free(c);
        rp_run_free(run);
    }
    rp_program_free(p);
}

/* ---- dropout in a scan in a map ---- */

enum { TIMES = 3, WIDE = 4, ROWS = 12, STREAM = 7 };

static const uint64_t cuts[] = {0, 3, 3, 7, 12}; /* one is empty, and keeps its number */
static const float keep = 0.75f;

/* index, h [n, WIDE], number of the shard, rng: dropout on the stream of shard and iteration, then a tanh. */
static rp_function *dropping(size_t rows)
{
    const rp_type h_type = f32_type(rows, WIDE);
    rp_graph *g = graph();
    rp_tensor index = rp_function_parameter(g, &integer), h = rp_function_parameter(g, &h_type);
    rp_tensor shard = rp_function_parameter(g, &integer), rng = rp_function_parameter(g, &pair);
    rp_tensor offset = rp_add(rp_scale(shard, TIMES), index);

    offset = rp_concat((rp_tensor[]){rng, rp_reshape(offset, 1, (size_t[]){1})}, 2, 0);
    rp_function_return(g, rp_tanh(rp_dropout(h, 1 - (double)keep, offset, STREAM)));
    return function(g);
}

/* index, slice [n, WIDE], rng */
static rp_function *scanning(size_t rows)
{
    const rp_type h_type = f32_type(rows, WIDE);
    rp_function *inner = dropping(rows);
    rp_graph *g = graph();
    rp_tensor index = rp_function_parameter(g, &integer), h = rp_function_parameter(g, &h_type);
    rp_tensor shared[2] = {index, rp_function_parameter(g, &pair)};

    rp_scan(g,
            &(rp_scan_options){
                .function = inner, .carried = &h, .n_carried = 1, .shared = shared, .n_shared = 2, .times = TIMES},
            &h);
    rp_function_return(g, h);
    rp_function_free(inner);
    return function(g);
}

static rp_tensor mapped(rp_graph *g, rp_tensor x, rp_tensor rng, uint64_t first)
{
    rp_function *f[3] = {scanning(3), scanning(4), scanning(5)};
    rp_tensor y;

    rp_map(g,
           &(rp_map_options){.function = (const rp_function *const *)f,
                             .n_function = 3,
                             .sliced = &x,
                             .n_sliced = 1,
                             .shared = &rng,
                             .n_shared = 1,
                             .cuts = cuts,
                             .n_cuts = COUNT(cuts),
                             .first = first,
                             .combine = (rp_combine[]){RP_COMBINE_CONCAT},
                             .n_combine = 1},
           &y);
    for (size_t i = 0; i < 3; i++)
        rp_function_free(f[i]);
    return y;
}

/* Each draw by a stream of its own, without offsets. */
static rp_tensor unrolled(rp_tensor x, rp_tensor rng, uint64_t first)
{
    rp_tensor part[3];
    size_t n = 0;

    for (size_t s = 0; s + 1 < COUNT(cuts); s++) {
        rp_tensor h;

        if (cuts[s] == cuts[s + 1])
            continue;
        h = rows_at(x, cuts[s], cuts[s + 1]);
        for (uint64_t t = 0; t < TIMES; t++)
            h = rp_tanh(rp_dropout(h, 1 - (double)keep, rng, (int64_t)(STREAM + (first + s) * TIMES + t)));
        part[n++] = h;
    }
    return rp_concat(part, n, 0);
}

/* y, and the gradient of x, which draws a second time: inside f', in iterations that run the other way. */
static rp_program *dropout_program(bool regions, uint64_t first)
{
    const rp_type wide = f32_type(ROWS, WIDE);
    rp_graph *g = graph();
    rp_tensor x = rp_graph_declare(g, RP_INPUT_FEED, "x", &wide),
              rng = rp_graph_declare(g, RP_INPUT_FEED, "rng", &pair);
    rp_tensor seed = rp_graph_declare(g, RP_INPUT_FEED, "seed", &wide);
    rp_tensor y = regions ? mapped(g, x, rng, first) : unrolled(x, rng, first), grad;

    rp_vjp(&y, &seed, 1, &x, 1, &grad);
    rp_graph_result(g, "y", y);
    rp_graph_result(g, "g", rp_add(grad, rp_fill(g, RP_F32, 0, NULL, 0))); /* a dropped -0 is +0 */
    return finished(g);
}

static void dropout_in_a_scan_in_a_map_is_that_of_its_frames(void **state)
{
    (void)state;
    for (uint64_t first = 0; first < 200; first += 67) {
        rp_program *flat = dropout_program(false, first), *p = dropout_program(true, first);
        float x[ROWS * WIDE], seed[ROWS * WIDE];
        int64_t rng[2] = {42, (int64_t)first};
        record expected, found;
        rp_error err = {0};
        size_t zeros = 0;

        for (size_t i = 0; i < ROWS * WIDE; i++) {
            x[i] = (float)i / 16 - 1.03f;
            seed[i] = 1 - (float)i / 32;
        }
        assert_int_equal(everywhere(flat, (void *[]){x, rng, seed}, &expected, &err), RP_OK);
        assert_int_equal(everywhere(p, (void *[]){x, rng, seed}, &found, &err), RP_OK);
        for (size_t o = 0; o < 2; o++) {
            assert_int_equal(found.bytes[o].size, sizeof x);
            assert_memory_equal(found.bytes[o].data, expected.bytes[o].data, sizeof x);
        }
        memcpy(x, found.bytes[0].data, sizeof x);
        for (size_t i = 0; i < ROWS * WIDE; i++)
            zeros += x[i] == 0;
        assert_true(zeros > 5 && zeros < ROWS * WIDE - 5); /* something was dropped, and not all */
        record_free(&expected);
        record_free(&found);
        rp_program_free(flat);
        rp_program_free(p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_while_that_is_false_at_once_keeps_what_it_carries),
        cmocka_unit_test(a_while_ends_where_its_predicate_says),
        cmocka_unit_test(at_its_limit_a_while_does_not_ask_again),
        cmocka_unit_test(a_while_that_could_go_on_stops_at_its_limit),
        cmocka_unit_test(a_predicate_that_fails_is_the_error_of_the_step),
        cmocka_unit_test(a_scan_of_no_iteration_gives_what_it_carries),
        cmocka_unit_test(a_scan_of_one_iteration_is_a_call),
        cmocka_unit_test(a_scan_goes_either_way),
        cmocka_unit_test(a_scan_may_carry_nothing),
        cmocka_unit_test(a_scan_may_slice_nothing),
        cmocka_unit_test(a_failing_branch_leaves_the_states_and_one_that_is_not_taken_is_silent),
        cmocka_unit_test(dropout_in_a_scan_in_a_map_is_that_of_its_frames),
    };
    int failed;

    rp_set_allocator(&poisoning);
    all = devices_new();
    failed = cmocka_run_group_tests_name("regions by name", tests, NULL, NULL);
    devices_free(&all);
    return failed;
}
