/* SPDX-License-Identifier: Apache-2.0
 * Eager steps of a run: updates of states wait for the step's end and are made in place there; nothing of that shows in
 * a bit. Memory of values is used again, by the next step at the latest. */
#include "core/run/run_private.h"
#include "rp/rp.h"
#include "tests/core/run/plan_steps.h"
#include "tests/core/run/random_program.h"

enum { PROGRAMS = 300 };

/* ---- random programs, written through the calls of an application ---- */

static rp_run *run_of(const rp_program *p, const store *s)
{
    rp_run *run;

    assert_int_equal(rp_run_new(&run, &(rp_run_options){.threads = 1}, NULL), RP_OK);
    for (size_t i = 0; i < p->n_inputs; i++) {
        const rp_type *type = &p->value[p->input[i].value];

        if (p->input[i].kind != RP_INPUT_FEED)
            assert_int_equal((p->input[i].kind == RP_INPUT_STATE ? rp_run_add_state : rp_run_add_data)(
                                 run, p->input[i].name, type->dtype, type->rank, type->shape, s->memory[i], NULL),
                             RP_OK);
    }
    return run;
}

static rp_tensor input_of(rp_run *run, const rp_program *p, size_t i, const store *s)
{
    const rp_type *type = &p->value[p->input[i].value];

    switch (p->input[i].kind) {
    case RP_INPUT_STATE:
        return rp_state(run, p->input[i].name);
    case RP_INPUT_DATA:
        return rp_data(run, p->input[i].name);
    default:
        return rp_feed(run, p->input[i].name, type->dtype, type->rank, type->shape, s->memory[i]);
    }
}

/* What a result was when its step was told of. */
typedef struct seen {
    const rp_program *p;
    record *r;
} seen;

static rp_status look(void *self, const rp_step_event *event, rp_error *err)
{
    seen *s = self;
    size_t n = 0;

    for (size_t o = 0; o < s->p->n_outputs; o++)
        if (s->p->output[o].kind == RP_OUTPUT_RESULT) {
            const rp_device_tensor *t = &event->result[n++];
            void *host = rp_malloc(rp_type_bytes(&t->type));

            if (rp_device_tensor_read(t, host, err) != RP_OK)
                return RP_EIO;
            put(&s->r->bytes[o], &t->type, host);
            rp_free(host);
        }
    return RP_OK;
}

/* Lets go of some of the values so far: of any, also those that are read again. */
static void release_some(const rp_tensor *value, size_t n, uint64_t *draw)
{
    for (int i = 0; i < 3 && n; i++) {
        *draw = *draw * 6364136223846793005u + 1442695040888963407u;
        rp_tensor_release(value[(*draw >> 33) % n]);
    }
}

/* draw: NULL: nothing is released. */
static record run_step(const rp_program *p, rp_run *run, const store *s, uint64_t *draw)
{
    rp_tensor *value = calloc(p->n_values, sizeof *value), in[8];
    record r = record_new(p);
    seen watcher = {p, &r};
    size_t inputs = 0, n = 0;
    rp_error err = {0};

    assert_int_equal(rp_run_observe(run, (rp_observer){look, &watcher}, NULL), RP_OK);
    assert_int_equal(rp_step_begin(run, NULL), RP_OK);
    run->graph->swept = draw != NULL; /* as behind gradients: nothing is kept for them */
    for (size_t k = 0; inputs < p->n_inputs || k < p->n_instrs;) {
        if (inputs < p->n_inputs && p->input[inputs].value == n) {
            value[n++] = input_of(run, p, inputs, s);
            inputs++;
            continue;
        }
        for (size_t i = 0; i < p->instr[k].n_in; i++)
            in[i] = value[p->instr[k].in[i]];
        rp_emit(rp_step_graph(run), rp_op_index(p->instr[k].op), p->instr[k].attr, in, p->instr[k].n_in, &value[n]);
        n += (size_t)p->instr[k++].n_out;
        if (draw)
            release_some(value, n, draw);
    }
    for (size_t o = 0; o < p->n_outputs; o++)
        (p->output[o].kind == RP_OUTPUT_STATE ? rp_set_state : rp_result)(run, p->output[o].name,
                                                                          value[p->output[o].value]);
    if (draw)
        release_some(value, n, draw);
    if (rp_step_end(run, &err) != RP_OK)
        fail_msg("%s", err.text);
    rp_run_unobserve(run, &watcher);
    free(value);
    return r;
}

/* Every state after the step, and every result of it. */
static void assert_run_is(const rp_program *p, rp_run *run, const record *expected, record *found, const char *what)
{
    for (size_t o = 0; o < p->n_outputs; o++)
        if (p->output[o].kind == RP_OUTPUT_RESULT) {
            assert_int_equal(expected->bytes[o].size, found->bytes[o].size);
            if (found->bytes[o].size &&
                memcmp(expected->bytes[o].data, found->bytes[o].data, found->bytes[o].size) != 0)
                fail_msg("%s: result %s differs", what, p->output[o].name);
        }
    for (size_t i = 0; i < p->n_inputs; i++) {
        const rp_type *type = &p->value[p->input[i].value];
        void *host;
        rp_buffer stored = {0};

        if (p->input[i].kind != RP_INPUT_STATE)
            continue;
        host = rp_malloc(rp_type_bytes(type));
        assert_int_equal(rp_run_get_state(run, p->input[i].name, host, rp_type_bytes(type), NULL), RP_OK);
        put(&stored, type, host);
        if (memcmp(stored.data, expected->bytes[p->n_outputs + i].data, stored.size) != 0)
            fail_msg("%s: state %s differs", what, p->input[i].name);
        rp_buffer_free(&stored);
        rp_free(host);
    }
    record_free(found);
}

static void check_random_programs(bool releases)
{
    rp_device *device;
    size_t waited = 0;
    uint64_t draw = 1;

    assert_int_equal(rp_device_cpu_new(&device, NULL, 1, NULL), RP_OK);
    for (uint64_t seed = 0; seed < PROGRAMS; seed++) {
        rp_program *p = random_program_new(seed + 9000, 4 + seed % 2, 6 - seed % 2);
        store s = store_new(p);
        rp_run *run = run_of(p, &s);
        char what[40];

        for (size_t step = 0; step < 3; step++) {
            record expected, found;

            next_feeds(p, &s, step);
            found = run_step(p, run, &s, releases ? &draw : NULL);
            waited += run->graph->n_late;
            expected = eager_step(p, device, &s);
            snprintf(what, sizeof what, "seed %d, step %zu", (int)seed, step);
            assert_run_is(p, run, &expected, &found, what);
            record_free(&expected);
        }
        rp_run_free(run);
        store_free(&s);
        rp_program_free(p);
    }
    assert_true(waited > PROGRAMS);
    rp_device_free(device);
}

static void eager_steps_of_a_run_give_the_bits_of_the_tape(void **state)
{
    (void)state;
    check_random_programs(false);
}

static void released_values_change_no_bit(void **state)
{
    (void)state;
    check_random_programs(true);
}

/* ---- steps by hand ---- */

static const float start[3] = {1, 2, 3};

static rp_run *small_run(void)
{
    rp_run *run;

    assert_int_equal(rp_run_new(&run, &(rp_run_options){.threads = 1}, NULL), RP_OK);
    assert_int_equal(rp_run_add_state(run, "w", RP_F32, 1, (size_t[]){3}, start, NULL), RP_OK);
    assert_int_equal(rp_run_add_state(run, "m", RP_F32, 1, (size_t[]){3}, NULL, NULL), RP_OK);
    return run;
}

static rp_tensor begin_update(rp_run *run, rp_tensor *m)
{
    rp_tensor w, lr;

    assert_int_equal(rp_step_begin(run, NULL), RP_OK);
    w = rp_state(run, "w");
    *m = rp_state(run, "m");
    lr = rp_fill(rp_step_graph(run), RP_F32, 0, NULL, 0.5);
    w = rp_sgd(w, m, rp_add(w, w), lr, 0.5, false, 0);
    rp_set_state(run, "w", w);
    rp_set_state(run, "m", *m);
    return w;
}

static void an_abandoned_step_leaves_states_that_were_to_be_updated(void **state)
{
    rp_run *run = small_run();
    rp_tensor m;
    float w[3];

    (void)state;
    (void)begin_update(run, &m);
    (void)rp_matmul(m, rp_state(run, "nothing"));
    assert_int_equal(rp_step_end(run, NULL), RP_EARG);
    assert_int_equal(rp_run_get_state(run, "w", w, sizeof w, NULL), RP_OK);
    assert_memory_equal(w, start, sizeof w);
    rp_run_free(run);
}

static void a_new_state_can_be_read_and_used_within_its_step(void **state)
{
    rp_run *run = small_run();
    rp_tensor m, w;
    float x[3], old[3];

    (void)state;
    w = begin_update(run, &m);
    rp_result(run, "twice", rp_add(w, w));
    assert_int_equal(rp_read(run, m, x, sizeof x, NULL), RP_OK);
    assert_memory_equal(x, ((float[]){2, 4, 6}), sizeof x);
    assert_int_equal(rp_read(run, rp_state(run, "w"), old, sizeof old, NULL), RP_OK);
    assert_memory_equal(old, start, sizeof old);
    assert_int_equal(rp_step_end(run, NULL), RP_OK);
    assert_int_equal(rp_run_get_state(run, "w", x, sizeof x, NULL), RP_OK);
    assert_memory_equal(x, ((float[]){0, 0, 0}), sizeof x);
    rp_run_free(run);
}

static void an_update_that_waits_may_need_one_that_nobody_asked_for(void **state)
{
    rp_run *run = small_run();
    rp_tensor w, m;
    float x[3];

    (void)state;
    for (int step = 0; step < 2; step++) {
        assert_int_equal(rp_step_begin(run, NULL), RP_OK);
        w = rp_state(run, "w");
        m = rp_state(run, "m");
        rp_set_state(run, "m", rp_add(m, rp_neg(w)));
        assert_int_equal(rp_step_end(run, NULL), RP_OK);
        assert_int_equal(rp_run_get_state(run, "m", x, sizeof x, NULL), RP_OK);
        for (int i = 0; i < 3; i++)
            assert_true(x[i] == -start[i] * (float)(step + 1));
    }
    rp_run_free(run);
}

/* ---- memory ---- */

static size_t large_allocations;

static void *counted(void *self, size_t bytes)
{
    large_allocations += bytes > 8192;
    return poisoning.allocate(self, bytes);
}

/* Values and gradients of a step lie where those of the step before lay. */
static void a_step_like_the_one_before_asks_the_device_for_nothing(void **state)
{
    const size_t shape[] = {64, 64};
    const rp_allocator counting = {counted, resize, release, NULL};
    rp_run *run;

    (void)state;
    rp_set_allocator(&counting);
    assert_int_equal(rp_run_new(&run, &(rp_run_options){.threads = 1}, NULL), RP_OK);
    assert_int_equal(rp_run_add_state(run, "w", RP_F32, 2, shape, NULL, NULL), RP_OK);
    for (int step = 0; step < 4; step++) {
        rp_tensor w, x, g;

        if (step == 2)
            large_allocations = 0;
        assert_int_equal(rp_step_begin(run, NULL), RP_OK);
        w = rp_state(run, "w");
        x = rp_tanh(rp_matmul(w, rp_add(w, w)));
        rp_gradients(rp_sum(x, NULL, 0, false), &w, 1, &g);
        rp_set_state(run, "w", rp_sub(w, g));
        assert_int_equal(rp_step_end(run, NULL), RP_OK);
    }
    assert_int_equal(large_allocations, 0);
    rp_run_free(run);
    rp_set_allocator(&poisoning);
}

/* ---- released values ---- */

enum { SIDE = 128, DEPTH = 16 };

/* Values of SIDE x SIDE of which the graph has memory, free or not. */
static size_t pieces_of(const rp_run *run)
{
    const rp_graph *g = run->graph;
    size_t n = 0;

    for (size_t i = 0; i < g->n_views; i++)
        n += g->memory[i].piece && g->memory[i].piece->bytes >= SIDE * SIDE * sizeof(float);
    for (size_t c = 0; c < RP_CACHE_CLASSES; c++)
        for (const rp_cached *piece = g->cache->free[c]; piece; piece = piece->next)
            n += piece->bytes >= SIDE * SIDE * sizeof(float);
    return n;
}

static rp_run *square_run(rp_tensor *w)
{
    float values[SIDE * SIDE];
    rp_run *run;

    for (size_t i = 0; i < SIDE * SIDE; i++)
        values[i] = (float)((int)(i * 29 % 61) - 30) / 300.0f;
    assert_int_equal(rp_run_new(&run, &(rp_run_options){.threads = 1}, NULL), RP_OK);
    assert_int_equal(rp_run_add_state(run, "w", RP_F32, 2, (size_t[]){SIDE, SIDE}, values, NULL), RP_OK);
    assert_int_equal(rp_step_begin(run, NULL), RP_OK);
    *w = rp_state(run, "w");
    return run;
}

/* DEPTH layers; what each made on its way is released when it is known. */
static rp_tensor layers(rp_tensor w, bool releases)
{
    rp_tensor x = w;

    for (int i = 0; i < DEPTH; i++) {
        rp_tensor product = rp_matmul(x, w), y = rp_tanh(product);

        if (releases) {
            rp_tensor_release(product);
            rp_tensor_release(x);
        }
        x = y;
    }
    return x;
}

static void end_square(rp_run *run, rp_tensor value, float out[SIDE * SIDE])
{
    rp_error err = {0};

    rp_set_state(run, "w", value);
    if (rp_step_end(run, &err) != RP_OK)
        fail_msg("%s", err.text);
    assert_int_equal(rp_run_get_state(run, "w", out, SIDE * SIDE * sizeof *out, NULL), RP_OK);
    rp_run_free(run);
}

/* Behind stop_gradient nothing is kept for gradients. */
static void what_no_gradient_passes_goes_at_once(void **state)
{
    static float kept[SIDE * SIDE], released[SIDE * SIDE];
    size_t pieces[2];

    (void)state;
    for (int releases = 0; releases < 2; releases++) {
        rp_tensor w, y;
        rp_run *run = square_run(&w);

        y = layers(rp_stop_gradient(w), releases);
        pieces[releases] = pieces_of(run);
        end_square(run, y, releases ? released : kept);
    }
    assert_int_equal(pieces[0], 2 * DEPTH);
    assert_in_range(pieces[1], 1, 4);
    assert_memory_equal(kept, released, sizeof kept);
}

/* The elements in f32 that a type without a one_hot of its own is made of. */
static void what_one_hot_makes_on_its_way_goes(void **state)
{
    static int64_t index[SIDE];
    rp_tensor w, x, hot;
    rp_run *run = square_run(&w);

    (void)state;
    x = rp_feed(run, "index", RP_I64, 1, (size_t[]){SIDE}, index);
    hot = rp_one_hot(x, SIDE, RP_U8);
    for (size_t i = 0; i < run->graph->n_views; i++)
        assert_false(i != w.value && run->graph->memory[i].piece && run->graph->view[i].data &&
                     run->graph->memory[i].piece->bytes >= SIDE * SIDE * sizeof(float));
    assert_true(rp_tensor_ok(hot));
    assert_int_equal(rp_step_end(run, NULL), RP_OK);
    rp_run_free(run);
}

/* The tape keeps what the gradients read until they have read it; their own values go on the way. */
static void what_gradients_read_goes_when_they_have_read_it(void **state)
{
    static float bits[2][SIDE * SIDE];
    size_t before[2], after[2];

    (void)state;
    for (int releases = 0; releases < 2; releases++) {
        rp_tensor w, y, g, loss;
        rp_run *run = square_run(&w);

        y = layers(w, releases);
        loss = rp_sum(y, NULL, 0, false);
        if (releases)
            rp_tensor_release(y);
        before[releases] = pieces_of(run);
        rp_gradients(loss, &w, 1, &g);
        after[releases] = pieces_of(run);
        end_square(run, g, bits[releases]);
    }
    assert_int_equal(before[0], 2 * DEPTH);
    assert_int_equal(before[1], 2 * DEPTH);
    assert_in_range(after[0], 2 * DEPTH + 2, 2 * DEPTH + 6); /* of 3 values a layer no more than some */
    assert_in_range(after[1], 2 * DEPTH, 2 * DEPTH + 6);
    assert_memory_equal(bits[0], bits[1], sizeof bits[0]);
}

/* Gradients of gradients read what the first ones let go of. */
static void what_has_gone_is_computed_again(void **state)
{
    static float bits[2][SIDE * SIDE], values[2][SIDE * SIDE];

    (void)state;
    for (int releases = 0; releases < 2; releases++) {
        rp_tensor w, y, g, second;
        rp_run *run = square_run(&w);

        y = layers(w, releases);
        rp_gradients(rp_sum(y, NULL, 0, false), &w, 1, &g);
        if (releases) {
            rp_tensor_release(y);
            assert_null(run->graph->view[y.value].data);
        }
        assert_int_equal(rp_read(run, y, values[releases], sizeof values[0], NULL), RP_OK);
        rp_gradients(rp_sum(rp_mul(g, g), NULL, 0, false), &w, 1, &second);
        end_square(run, second, bits[releases]);
    }
    assert_memory_equal(bits[0], bits[1], sizeof bits[0]);
    assert_memory_equal(values[0], values[1], sizeof values[0]);
}

/* A chain longer than any stack of calls. */
static void a_long_chain_that_has_gone_is_computed_again(void **state)
{
    enum { LONG = 100000 };
    rp_tensor one, x;
    rp_run *run = small_run();
    float found;

    (void)state;
    assert_int_equal(rp_step_begin(run, NULL), RP_OK);
    one = rp_fill(rp_step_graph(run), RP_F32, 0, NULL, 1);
    x = one;
    for (int i = 0; i < LONG; i++) {
        rp_tensor next = rp_add(x, one);

        rp_tensor_release(x);
        x = next;
    }
    rp_tensor_release(x);
    assert_null(run->graph->view[x.value].data);
    assert_int_equal(rp_read(run, x, &found, sizeof found, NULL), RP_OK);
    assert_true(found == LONG + 1);
    assert_int_equal(rp_step_end(run, NULL), RP_OK);
    rp_run_free(run);
}

/* A view lies in the memory of what was released. */
static void a_view_outlives_what_it_is_a_view_of(void **state)
{
    static float bits[2][SIDE * SIDE];

    (void)state;
    for (int releases = 0; releases < 2; releases++) {
        rp_tensor w, x, view, other;
        rp_run *run = square_run(&w);

        x = rp_tanh(rp_stop_gradient(w));
        view = rp_transpose(x, NULL);
        if (releases)
            rp_tensor_release(x);
        other = rp_neg(rp_stop_gradient(w)); /* would lie where x lay */
        if (releases)
            rp_tensor_release(other);
        end_square(run, rp_add(view, view), bits[releases]);
    }
    assert_memory_equal(bits[0], bits[1], sizeof bits[0]);
}

/* What the step's end still reads stays, however often it is released. */
static void outputs_and_what_updates_read_stay(void **state)
{
    rp_run *run = small_run();
    rp_tensor w, m, g, lr;
    float x[3];

    (void)state;
    assert_int_equal(rp_step_begin(run, NULL), RP_OK);
    w = rp_state(run, "w");
    m = rp_state(run, "m");
    g = rp_add(w, w);
    rp_gradients(rp_sum(rp_mul(w, w), NULL, 0, false), &w, 1, &g);
    lr = rp_fill(rp_step_graph(run), RP_F32, 0, NULL, 0.5);
    rp_tensor_release(g); /* made again for the update */
    w = rp_sgd(w, &m, g, lr, 0.5, false, 0);
    rp_tensor_release(g);
    rp_tensor_release(lr);
    rp_set_state(run, "w", w);
    rp_set_state(run, "m", m);
    rp_result(run, "m", m);
    rp_tensor_release(m);
    rp_tensor_release(w);
    rp_tensor_release((rp_tensor){NULL, 0, 0});
    assert_int_equal(rp_step_end(run, NULL), RP_OK);
    rp_tensor_release(g); /* of an earlier step */
    assert_int_equal(rp_run_get_state(run, "w", x, sizeof x, NULL), RP_OK);
    assert_memory_equal(x, ((float[]){0, 0, 0}), sizeof x);
    assert_int_equal(rp_run_get_state(run, "m", x, sizeof x, NULL), RP_OK);
    assert_memory_equal(x, ((float[]){2, 4, 6}), sizeof x);
    rp_run_free(run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(eager_steps_of_a_run_give_the_bits_of_the_tape),
        cmocka_unit_test(released_values_change_no_bit),
        cmocka_unit_test(what_no_gradient_passes_goes_at_once),
        cmocka_unit_test(what_one_hot_makes_on_its_way_goes),
        cmocka_unit_test(what_gradients_read_goes_when_they_have_read_it),
        cmocka_unit_test(what_has_gone_is_computed_again),
        cmocka_unit_test(a_long_chain_that_has_gone_is_computed_again),
        cmocka_unit_test(a_view_outlives_what_it_is_a_view_of),
        cmocka_unit_test(outputs_and_what_updates_read_stay),
        cmocka_unit_test(an_abandoned_step_leaves_states_that_were_to_be_updated),
        cmocka_unit_test(a_new_state_can_be_read_and_used_within_its_step),
        cmocka_unit_test(an_update_that_waits_may_need_one_that_nobody_asked_for),
        cmocka_unit_test(a_step_like_the_one_before_asks_the_device_for_nothing),
    };

    rp_set_allocator(&poisoning);
    return cmocka_run_group_tests_name("eager steps", tests, NULL, NULL);
}
