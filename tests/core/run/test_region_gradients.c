/* SPDX-License-Identifier: Apache-2.0
 * Gradients of regions (CONTRACT 11.7) beside those of their frames: of calls the same bits, of maps those of shards
 * that are differentiated apart, of loops and branches the same values, zeros' signs aside; second derivatives as close
 * as another order of sums allows. */
#include <time.h>

#include "tests/core/run/region_examples.h"
#include "tests/house/sanitized.h"

enum { SEEDS = SANITIZED ? 150 : 400 };

/* Values of an output as floats. */
static const float *floats(const record *r, size_t i)
{
    return (const float *)(const void *)r->bytes[i].data;
}

static bool same_values(const record *a, const record *b, size_t i)
{
    if (a->bytes[i].size != b->bytes[i].size)
        return false;
    for (size_t k = 0; k < a->bytes[i].size / 4; k++)
        if (!(floats(a, i)[k] == floats(b, i)[k]) && memcmp(floats(a, i) + k, floats(b, i) + k, 4) != 0)
            return false;
    return true;
}

static bool close_values(const record *a, const record *b, size_t i)
{
    double largest = 0;

    for (size_t k = 0; k < a->bytes[i].size / 4; k++)
        largest = fabs((double)floats(a, i)[k]) > largest ? fabs((double)floats(a, i)[k]) : largest;
    for (size_t k = 0; k < a->bytes[i].size / 4; k++)
        if (fabs((double)floats(a, i)[k] - (double)floats(b, i)[k]) > 2e-4 * (largest + 1))
            return false;
    return true;
}

/* Seeds for everything that was given, and the gradients of all that was taken. */
static void differentiate(rp_graph *g, const char *name)
{
    const size_t n_out = seen.n_out, n_in = seen.n_in;
    rp_tensor seed[4 * BODY_PARAMS], grad[4 * BODY_PARAMS], y[4 * BODY_PARAMS];
    char text[32];
    size_t n = 0;

    for (size_t i = 0; i < n_out; i++) {
        const rp_type type = *rp_tensor_type(seen.out[i]);

        if (type.dtype != RP_F32)
            continue;
        snprintf(text, sizeof text, "%s.seed", name);
        y[n] = seen.out[i];
        seed[n++] = input(g, text, i, type);
    }
    seen.n_in = n_in; /* the seeds are no variables */
    rp_vjp_or_zeros(y, seed, n, seen.in, n_in, grad);
    seen.n_out = 0;
    for (size_t i = 0; i < n_in; i++)
        result(g, name, i, grad[i]);
}

/* A use of a weight after the region: its gradient exists when the region is visited. */
static void use_again(rp_graph *g, const example *e)
{
    rp_tensor w = seen.in[seen.n_in - 1];

    if (e->b.seed % 2 && e->b.shared)
        result(g, "again", 0, rp_mul(w, rp_tanh(w)));
}

typedef void check_fn(const record *expected, const record *found, size_t i, const char *what);

static rp_program *differentiated(build_fn *build, const example *e, bool frames, int order)
{
    rp_graph *g;
    rp_program *p;
    rp_error err = {0};

    assert_int_equal(rp_graph_symbolic(&g, NULL), RP_OK);
    seen.n_in = seen.n_out = 0;
    build(g, e, frames);
    use_again(g, e);
    for (int i = 0; i < order; i++)
        differentiate(g, i ? "gg" : "g");
    if (rp_graph_finish(g, &p, &err) != RP_OK)
        fail_msg("seed %d: %s", (int)e->b.seed, err.text);
    return p;
}

/* The inputs are declared in the same order in both, but may have other numbers: filled by name. */
static store filled(const rp_program *p, uint64_t seed)
{
    store s = store_new(p);

    for (size_t i = 0; i < s.n; i++) {
        const size_t count = rp_type_count(&p->value[p->input[i].value]);
        uint64_t r = seed;

        for (const char *c = p->input[i].name; *c; c++)
            r = r * 131 + (unsigned char)*c;
        for (size_t k = 0; k < count && p->value[p->input[i].value].dtype == RP_F32; k++)
            ((float *)s.memory[i])[k] = (float)chance(&r, 2001) / 1000 - 1;
    }
    return s;
}

static void check_bits(const record *expected, const record *found, size_t i, const char *what)
{
    if (expected->bytes[i].size != found->bytes[i].size ||
        memcmp(expected->bytes[i].data, found->bytes[i].data, found->bytes[i].size) != 0)
        fail_msg("%s: other bits", what);
}

static void check_values(const record *expected, const record *found, size_t i, const char *what)
{
    if (!same_values(expected, found, i))
        fail_msg("%s: other values", what);
}

static void check_close(const record *expected, const record *found, size_t i, const char *what)
{
    if (!close_values(expected, found, i))
        fail_msg("%s: not close", what);
}

enum { PLAIN, STREWN, TIED };

/* At every level, on 1 to 64 threads in turn. */
static void compare(build_fn *build, const char *name, int order, check_fn *check, int kind)
{
    const bool strewn = kind == STREWN;
    devices all = devices_new();

    for (uint64_t seed = 0; seed < SEEDS / (uint64_t)order; seed++) {
        rp_device *device = all.device[seed % all.n];
        example e = example_of(seed);
        rp_program *flat, *p, *again;
        store s, t;
        record expected, found;
        char what[160];

        e.tied = kind == TIED;
        e.b.smooth = !strewn;
        e.b.calls = check != check_close; /* sums of a loop within a body associate otherwise: one contribution each */
        e.times += e.times == 0;
        flat = differentiated(build, &e, true, order);
        p = differentiated(build, &e, false, order);
        again = read_again(p);
        s = filled(flat, seed);
        t = filled(p, seed);
        if (strewn) {
            strew(flat, &s, seed);
            strew(p, &t, seed);
        }
        expected = eager_step(flat, device, &s);
        found = eager_step(again, device, &t);
        assert_int_equal(flat->n_outputs, p->n_outputs);
        for (size_t i = 0; i < p->n_outputs; i++) {
            assert_string_equal(flat->output[i].name, p->output[i].name);
            snprintf(what, sizeof what, "%s, seed %d, %s", name, (int)seed, p->output[i].name);
            if (p->output[i].name[0] == 'g')
                check(&expected, &found, i, what);
        }
        record_free(&found);
        for (int i = 0; i < 4; i++) { /* compiled too: all, some and nothing stored, scans as the text has them */
            rp_plan *plan;
            record compiled;

            plan_passes = i == 3 ? RP_PASSES & ~(unsigned)RP_PASS_SCANS
                          : i    ? RP_PASSES
                                 : RP_PASSES & ~(unsigned)RP_PASS_WRITE_OUT;
            plan_stored = i == 1 ? 0 : i == 2 ? 4 * seed : RP_PLAN_STORED_MAX;
            plan = plan_new(p, device, &t);
            compiled = plan_step(p, plan, &t);
            if (i)
                record_free(&found);
            found = eager_step(p, device, &t);
            assert_same(p, &found, &compiled, what);
            rp_plan_free(plan);
        }
        record_free(&found);
        record_free(&expected);
        store_free(&s);
        store_free(&t);
        rp_program_free(flat);
        rp_program_free(p);
        rp_program_free(again);
    }
    devices_free(&all);
}

static void gradients_of_calls_have_the_bits_of_what_they_call(void **state)
{
    (void)state;
    compare(build_call, "call", 1, check_bits, STREWN);
}

static void gradients_of_scans_have_the_values_of_their_frames(void **state)
{
    (void)state;
    compare(build_scan, "scan", 1, check_values, PLAIN);
}

static void gradients_of_conds_have_the_values_of_the_branch(void **state)
{
    (void)state;
    compare(build_cond, "cond", 1, check_values, PLAIN);
}

static void tied_operands_add_up_as_in_the_frames(void **state)
{
    (void)state;
    compare(build_call, "call", 1, check_bits, TIED);
    compare(build_cond, "cond", 1, check_values, TIED);
    compare(build_scan, "scan", 1, check_values, TIED);
    compare(build_map, "map", 1, check_close, TIED);
}

static void infinities_and_nans_spread_as_in_the_frames(void **state)
{
    (void)state;
    compare(build_cond, "cond", 1, check_values, STREWN);
    compare(build_scan, "scan", 1, check_values, STREWN);
}

static void second_derivatives_are_those_of_the_frames(void **state)
{
    (void)state;
    compare(build_call, "call", 2, check_close, PLAIN);
    compare(build_scan, "scan", 2, check_close, PLAIN);
    compare(build_cond, "cond", 2, check_close, PLAIN);
    compare(build_map, "map", 2, check_close, PLAIN);
}

/* Shards differentiated apart and added by the tree, as CONTRACT 12.3 has it; or the gradient of the map. */
static void build_map_gradient(rp_graph *g, const example *e, bool frames)
{
    const size_t outs = e->b.outs + e->b.narrow, n_in = e->b.wide + e->b.shared;
    rp_tensor seed[BODY_PARAMS], y[BODY_PARAMS], grad[BODY_PARAMS], part[BODY_PARAMS][12], x[BODY_PARAMS];
    size_t shards = 0, row = 0;
    body b = e->b;

    if (!frames)
        build_map(g, e, false);
    for (size_t i = 0; i < n_in && frames; i++)
        (void)input(g, "x", i, i < b.wide ? f32_type(e->rows, COLS) : shared_type(i - b.wide));
    for (size_t s = 0; s + 1 < e->n_cuts; s++)
        shards += e->cuts[s] < e->cuts[s + 1];
    memcpy(x, seen.in, n_in * sizeof *x);
    memcpy(y, seen.out, outs * sizeof *y);
    for (size_t i = 0; i < outs; i++) {
        rp_type type = f32_type(e->cuts[e->n_cuts - 1] - e->cuts[0], COLS);

        if (i >= b.outs)
            type =
                modes[(b.seed + i) % 2] == RP_COMBINE_TREE ? f32_type(1, COLS) : rows_type(shards, f32_type(1, COLS));
        seed[i] = input(g, "seed", i, type);
    }
    if (!frames)
        rp_vjp_or_zeros(y, seed, outs, x, n_in, grad);
    b.frames = true;
    shards = 0;
    for (size_t s = 0; s + 1 < e->n_cuts && frames; s++) {
        rp_tensor param[BODY_PARAMS], d[BODY_PARAMS], of[BODY_PARAMS];

        b.rows = e->cuts[s + 1] - e->cuts[s];
        if (b.rows == 0)
            continue;
        for (size_t i = 0; i < n_in; i++)
            param[i] = i < b.wide ? rows_at(x[i], e->cuts[s], e->cuts[s + 1]) : x[i];
        body_emit(g, &b, index_of(g, (int64_t)(e->first + s)), param, y);
        for (size_t i = 0; i < outs; i++)
            of[i] = i < b.outs                                    ? rows_at(seed[i], row, row + b.rows)
                    : modes[(b.seed + i) % 2] == RP_COMBINE_STACK ? row_at(seed[i], shards)
                                                                  : seed[i];
        rp_vjp_or_zeros(y, of, outs, param, n_in, d);
        for (size_t i = 0; i < n_in; i++)
            part[i][shards] = d[i];
        row += b.rows;
        shards++;
    }
    for (size_t i = 0; i < n_in && frames; i++) {
        grad[i] = i < b.wide ? rp_concat(part[i], shards, 0) : tree_of(part[i], shards);
        if (i < b.wide && (e->cuts[0] || e->rows > e->cuts[e->n_cuts - 1]))
            grad[i] = rp_pad(grad[i], (size_t[]){e->cuts[0], 0}, (size_t[]){e->rows - e->cuts[e->n_cuts - 1], 0});
    }
    for (size_t i = 0; i < n_in; i++)
        result(g, "g", i, grad[i]);
}

static void gradients_of_maps_are_those_of_their_shards(void **state)
{
    rp_device *device;

    (void)state;
    assert_int_equal(rp_device_cpu_new(&device, NULL, 2, NULL), RP_OK);
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        example e = example_of(seed);
        rp_program *apart, *p;
        store s, t;
        record expected, found;

        e.b.calls = true;
        apart = program_of(build_map_gradient, &e, true);
        p = program_of(build_map_gradient, &e, false);
        s = filled(apart, seed);
        t = filled(p, seed);
        expected = eager_step(apart, device, &s);
        found = eager_step(p, device, &t);
        for (size_t i = 0; i < apart->n_outputs; i++) {
            char what[64];
            size_t at = p->n_outputs - apart->n_outputs + i; /* the map's own results come first */

            snprintf(what, sizeof what, "seed %d, %.20s", (int)seed, p->output[at].name);
            if (expected.bytes[i].size != found.bytes[at].size)
                fail_msg("%s: other sizes", what);
            for (size_t k = 0; k < expected.bytes[i].size / 4; k++)
                if (!(floats(&expected, i)[k] == floats(&found, at)[k]))
                    fail_msg("%s: element %zu is %a, expected %a", what, k, (double)floats(&found, at)[k],
                             (double)floats(&expected, i)[k]);
        }
        record_free(&expected);
        record_free(&found);
        store_free(&s);
        store_free(&t);
        rp_program_free(apart);
        rp_program_free(p);
    }
    rp_device_free(device);
}

static void a_while_has_no_gradient(void **state)
{
    const example e = example_of(1);
    rp_graph *g;
    rp_tensor grad[4 * BODY_PARAMS], seed;
    rp_error err = {0};

    (void)state;
    assert_int_equal(rp_graph_symbolic(&g, NULL), RP_OK);
    seen.n_in = seen.n_out = 0;
    build_while(g, &e, false);
    seed = rp_fill(g, RP_F32, 2, (size_t[]){e.b.rows, COLS}, 1);
    rp_vjp_or_zeros(&seen.out[1], &seed, 1, seen.in, seen.n_in, grad);
    assert_int_equal(rp_graph_status(g, &err), RP_EUNSUPPORTED);
    assert_non_null(strstr(err.text, "write a bounded loop as a scan of a cond"));
    rp_graph_discard(g);
}

/* What a plan may store instead of computing again is found by comparing: f' begins with f, of every order. */
static void derivatives_begin_with_what_they_derive(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 60; seed++) {
        const example e = example_of(seed);
        rp_program *p = differentiated(build_call, &e, false, 2);
        const rp_region *first = NULL;

        for (size_t k = 0; k < p->n_instrs; k++) {
            const rp_region *r = p->instr[k].region;
            const rp_program *f, *d;

            if (!r)
                continue;
            first = first ? first : r;
            f = first->function[0]->body;
            d = r->function[0]->body;
            assert_true(d->n_instrs >= f->n_instrs);
            for (size_t i = 0; i < f->n_instrs; i++) {
                assert_ptr_equal(f->instr[i].op, d->instr[i].op);
                assert_int_equal(f->instr[i].n_in, d->instr[i].n_in);
            }
        }
        rp_program_free(p);
    }
}

static void gradients_of_maps_are_close_to_those_of_one_program(void **state)
{
    (void)state;
    compare(build_map, "map", 1, check_close, PLAIN);
}

/* ---- how long it takes ---- */

enum { NEST_DEPTH = 32 };

/* One region of f on x, [2]. */
static rp_tensor execute_once(rp_graph *g, rp_region_kind kind, const rp_function *f, rp_tensor index, rp_tensor x)
{
    const rp_function *const both[2] = {f, f};
    const rp_combine tree = RP_COMBINE_TREE;
    rp_tensor out[2];

    switch (kind) {
    case RP_CALL:
        rp_call(g, f, (rp_tensor[]){index, x}, 2, out);
        break;
    case RP_SCAN:
        rp_scan(g, &(rp_scan_options){.function = f, .carried = &x, .n_carried = 1, .times = 1}, out);
        break;
    case RP_MAP:
        rp_map(g,
               &(rp_map_options){.function = both,
                                 .n_function = 1,
                                 .shared = &x,
                                 .n_shared = 1,
                                 .cuts = (uint64_t[]){0, 1},
                                 .n_cuts = 2,
                                 .combine = &tree,
                                 .n_combine = 1},
               out);
        break;
    default:
        rp_cond(g, rp_gt(index, index), both, 2, (rp_tensor[]){index, x}, 2, out);
    }
    return out[0];
}

/* Function n of x is sin, or regions of function n - 1 twice. */
static rp_function *nest(rp_region_kind kind, int n)
{
    rp_function *f = NULL;

    for (int i = 0; i < n; i++) {
        const rp_type index = {.dtype = RP_I64}, type = {.dtype = RP_F32, .rank = 1, .shape = {2}};
        rp_graph *g;
        rp_tensor at, x, y;
        rp_error err;

        assert_int_equal(rp_graph_symbolic(&g, NULL), RP_OK);
        at = rp_function_parameter(g, &index);
        x = rp_function_parameter(g, &type);
        y = f ? execute_once(g, kind, f, at, execute_once(g, kind, f, at, x)) : rp_sin(x);
        rp_function_return(g, y);
        rp_function_free(f);
        if (rp_function_finish(g, &f, &err) != RP_OK)
            fail_msg("%s", err.text);
    }
    return f;
}

static void gradients_of_nested_regions_take_linear_time(void **state)
{
    static const rp_region_kind kinds[] = {RP_CALL, RP_SCAN, RP_MAP, RP_COND};

    (void)state;
    for (size_t k = 0; k < COUNT(kinds); k++) {
        const int depth = kinds[k] == RP_SCAN ? NEST_DEPTH / 2 : NEST_DEPTH; /* 2^40 instructions are the limit */
        rp_function *f = nest(kinds[k], depth);
        const clock_t begin = clock();
        rp_graph *g;
        rp_program *p;
        rp_tensor x, index, dx;
        rp_error err;

        assert_int_equal(rp_graph_symbolic(&g, NULL), RP_OK);
        index = rp_graph_declare(g, RP_INPUT_FEED, "i", &(rp_type){.dtype = RP_I64});
        x = rp_graph_declare(g, RP_INPUT_FEED, "x", &(rp_type){.dtype = RP_F32, .rank = 1, .shape = {2}});
        rp_gradients(rp_sum(execute_once(g, kinds[k], f, index, x), NULL, 0, false), &x, 1, &dx);
        rp_graph_result(g, "dx", dx);
        if (rp_graph_finish(g, &p, &err) != RP_OK)
            fail_msg("%s", err.text);
        assert_true(clock() - begin < 2 * CLOCKS_PER_SEC); /* milliseconds; 2^31 derivations else */
        rp_program_free(p);
        rp_function_free(f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_of_calls_have_the_bits_of_what_they_call),
        cmocka_unit_test(gradients_of_scans_have_the_values_of_their_frames),
        cmocka_unit_test(gradients_of_conds_have_the_values_of_the_branch),
        cmocka_unit_test(gradients_of_maps_are_close_to_those_of_one_program),
        cmocka_unit_test(gradients_of_maps_are_those_of_their_shards),
        cmocka_unit_test(a_while_has_no_gradient),
        cmocka_unit_test(derivatives_begin_with_what_they_derive),
        cmocka_unit_test(tied_operands_add_up_as_in_the_frames),
        cmocka_unit_test(infinities_and_nans_spread_as_in_the_frames),
        cmocka_unit_test(second_derivatives_are_those_of_the_frames),
        cmocka_unit_test(gradients_of_nested_regions_take_linear_time),
    };

    rp_set_allocator(&poisoning);
    return cmocka_run_group_tests_name("gradients of regions", tests, NULL, NULL);
}
