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

static record run_step(const rp_program *p, rp_run *run, const store *s)
{
    rp_tensor *value = calloc(p->n_values, sizeof *value), in[8];
    record r = record_new(p);
    seen watcher = {p, &r};
    size_t inputs = 0, n = 0;
    rp_error err = {0};

    assert_int_equal(rp_run_observe(run, (rp_observer){look, &watcher}, NULL), RP_OK);
    assert_int_equal(rp_step_begin(run, NULL), RP_OK);
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
    }
    for (size_t o = 0; o < p->n_outputs; o++)
        (p->output[o].kind == RP_OUTPUT_STATE ? rp_set_state : rp_result)(run, p->output[o].name,
                                                                          value[p->output[o].value]);
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

static void eager_steps_of_a_run_give_the_bits_of_the_tape(void **state)
{
    rp_device *device;
    size_t waited = 0;

    (void)state;
    assert_int_equal(rp_device_cpu_new(&device, NULL, 1, NULL), RP_OK);
    for (uint64_t seed = 0; seed < PROGRAMS; seed++) {
        rp_program *p = random_program_new(seed + 9000, 4 + seed % 2, 6 - seed % 2);
        store s = store_new(p);
        rp_run *run = run_of(p, &s);
        char what[40];

        for (size_t step = 0; step < 3; step++) {
            record expected, found;

            next_feeds(p, &s, step);
            found = run_step(p, run, &s);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(eager_steps_of_a_run_give_the_bits_of_the_tape),
        cmocka_unit_test(an_abandoned_step_leaves_states_that_were_to_be_updated),
        cmocka_unit_test(a_new_state_can_be_read_and_used_within_its_step),
        cmocka_unit_test(an_update_that_waits_may_need_one_that_nobody_asked_for),
        cmocka_unit_test(a_step_like_the_one_before_asks_the_device_for_nothing),
    };

    rp_set_allocator(&poisoning);
    return cmocka_run_group_tests_name("eager steps", tests, NULL, NULL);
}
