/* SPDX-License-Identifier: Apache-2.0
 * Plans: a compiled program gives the bits of the eager tape at every level and number of threads, whatever its memory
 * held before, and states keep their old values until the step ends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "core/run.h"
#include "determinism/bits.h"
#include "tests/random_chain.h"
#include "tests/sample_program.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum { RANDOM_PROGRAMS = 400, RANDOM_CHAINS = 240, LARGE_EVERY = 50, LEVELS = 8 };

/* ---- memory that starts as NaNs, so that nothing can lean on zeros ---- */

static void *poisoned(void *self, size_t bytes)
{
    void *block = malloc(bytes);

    (void)self;
    if (block)
        memset(block, 0xFF, bytes);
    return block;
}

static void *resize(void *self, void *block, size_t bytes)
{
    (void)self;
    return realloc(block, bytes);
}

static void release(void *self, void *block)
{
    (void)self;
    free(block);
}

static const rp_allocator poisoning = {poisoned, resize, release, NULL};

/* ---- eager and compiled ---- */

/* Memory of a program's states, data and feeds, filled from the seed. */
typedef struct store {
    size_t n;
    void **memory;
} store;

static void fill_input(void *memory, const rp_input *in, const rp_type *type, size_t step)
{
    size_t count = rp_type_count(type);

    for (size_t i = 0; i < count; i++) {
        float u = rp_uniform_f32(rp_random_u32(11, step, (uint32_t)in->value, i)) * 2 - 0.75f;

        switch (type->dtype) {
        case RP_F32: ((float *)memory)[i] = u; break;
        case RP_F64: ((double *)memory)[i] = (double)u * 1.1; break;
        case RP_I64: ((int64_t *)memory)[i] = strcmp(in->name, "rng") == 0 ? (int64_t)(step + i) : (int64_t)((i + step) % 2); break;
        case RP_I32: ((int32_t *)memory)[i] = (int32_t)(i % 2); break;
        default: ((unsigned char *)memory)[i] = u > 0;
        }
    }
}

static store store_new(const rp_program *p)
{
    store s = {p->n_inputs, calloc(p->n_inputs + 1, sizeof(void *))};

    for (size_t i = 0; i < s.n; i++) {
        s.memory[i] = calloc(rp_type_bytes(&p->value[p->input[i].value]) + 1, 1);
        fill_input(s.memory[i], &p->input[i], &p->value[p->input[i].value], 0);
    }
    return s;
}

static void store_free(store *s)
{
    for (size_t i = 0; i < s->n; i++)
        free(s->memory[i]);
    free(s->memory);
}

/* The values of every output, then of every input (so of the states too), stored: NaNs canonical. */
typedef struct record {
    size_t n;
    rp_buffer *bytes;
} record;

static void put(rp_buffer *out, const rp_type *type, const void *host)
{
    size_t size = rp_type_bytes(type);
    void *stored = rp_malloc(size);

    rp_to_stored(stored, host, type->dtype, rp_type_count(type));
    rp_buffer_append(out, stored, size);
    rp_free(stored);
}

static record record_new(const rp_program *p)
{
    return (record){p->n_outputs + p->n_inputs, rp_calloc(p->n_outputs + p->n_inputs + 1, sizeof(rp_buffer))};
}

static void record_free(record *r)
{
    for (size_t i = 0; i < r->n; i++)
        rp_buffer_free(&r->bytes[i]);
    rp_free(r->bytes);
}

static void put_inputs(record *r, const rp_program *p, const store *s)
{
    for (size_t i = 0; i < s->n; i++)
        if (p->input[i].kind != RP_INPUT_FEED)
            put(&r->bytes[p->n_outputs + i], &p->value[p->input[i].value], s->memory[i]);
}

static size_t state_of(const rp_program *p, const char *name)
{
    size_t i = 0;

    while (p->input[i].kind != RP_INPUT_STATE || strcmp(p->input[i].name, name) != 0)
        i++;
    return i;
}

/* The reference: the eager tape, then the states take their new values all at once. */
static record eager_step(const rp_program *p, rp_device *device, store *s)
{
    record r = record_new(p);
    rp_graph *g = NULL;
    rp_error err = {0};

    if (rp_graph_trace(&g, p, device, s->memory, &err) != RP_OK)
        fail_msg("%s", err.text);
    for (size_t o = 0; o < p->n_outputs; o++) {
        const rp_view *view = &g->view[p->output[o].value];

        assert_true(rp_view_contiguous(view));
        put(&r.bytes[o], &p->value[p->output[o].value], view->data);
    }
    for (size_t o = 0; o < p->n_outputs; o++)
        if (p->output[o].kind == RP_OUTPUT_STATE)
            memcpy(s->memory[state_of(p, p->output[o].name)], g->view[p->output[o].value].data,
                   rp_type_bytes(&p->value[p->output[o].value]));
    put_inputs(&r, p, s);
    rp_graph_free(g);
    return r;
}

static rp_plan *plan_new(const rp_program *p, rp_device *device, const store *s)
{
    void **memory = calloc(s->n + 1, sizeof *memory);
    rp_plan *plan;
    rp_error err = {0};

    for (size_t i = 0; i < s->n; i++)
        memory[i] = p->input[i].kind == RP_INPUT_FEED ? NULL : s->memory[i];
    if (rp_plan_new(&plan, p, device, memory, &err) != RP_OK) {
        rp_buffer text = text_of(p);

        fail_msg("%s\n%.*s", err.text, (int)text.size, (const char *)text.data);
    }
    free(memory);
    return plan;
}

static record plan_step(const rp_program *p, rp_plan *plan, store *s)
{
    record r = record_new(p);
    rp_error err = {0};

    for (size_t i = 0; i < s->n; i++)
        if (p->input[i].kind == RP_INPUT_FEED && rp_type_bytes(&p->value[p->input[i].value]))
            memcpy(rp_plan_feed(plan, i), s->memory[i], rp_type_bytes(&p->value[p->input[i].value]));
    if (rp_plan_run(plan, &err) != RP_OK)
        fail_msg("%s", err.text);
    for (size_t o = 0; o < p->n_outputs; o++)
        put(&r.bytes[o], &p->value[p->output[o].value], rp_plan_output(plan, o));
    for (size_t i = 0; i < s->n; i++) /* observers look at the feeds after the step */
        if (p->input[i].kind == RP_INPUT_FEED)
            assert_memory_equal(rp_plan_feed(plan, i), s->memory[i], rp_type_bytes(&p->value[p->input[i].value]));
    put_inputs(&r, p, s);
    return r;
}

static void assert_same(const rp_program *p, const record *expected, record *found, const char *what)
{
    for (size_t i = 0; i < expected->n; i++) {
        const rp_buffer *a = &expected->bytes[i], *b = &found->bytes[i];
        bool output = i < p->n_outputs;

        if (a->size != b->size || (a->size && memcmp(a->data, b->data, a->size) != 0)) {
            rp_buffer text = text_of(p);

            fail_msg("%s: %s %s differs\n%.*s", what, output ? "output" : "input",
                     output ? p->output[i].name : p->input[i - p->n_outputs].name, (int)text.size,
                     (const char *)text.data);
        }
    }
    record_free(found);
}

static void next_feeds(const rp_program *p, store *s, size_t step)
{
    for (size_t i = 0; i < s->n; i++)
        if (p->input[i].kind == RP_INPUT_FEED)
            fill_input(s->memory[i], &p->input[i], &p->value[p->input[i].value], step);
}

/* Two steps on one plan, and the second step again on a fresh one, whose arena is poisoned like the first's was. */
static void assert_plan_is_eager(const rp_program *p, rp_device *reference, rp_device *device, const char *what)
{
    store s = store_new(p), eager = store_new(p);
    rp_plan *plan = plan_new(p, device, &s);
    record expected[2], found;

    for (size_t step = 0; step < 2; step++) {
        next_feeds(p, &s, step);
        next_feeds(p, &eager, step);
        expected[step] = eager_step(p, reference, &eager);
        found = plan_step(p, plan, &s);
        assert_same(p, &expected[step], &found, what);
        if (step == 0) {
            rp_plan_free(plan);
            plan = plan_new(p, device, &s);
        }
    }
    rp_plan_free(plan);
    store_free(&s);
    s = store_new(p);
    plan = plan_new(p, device, &s);
    for (size_t step = 0; step < 2; step++) {
        next_feeds(p, &s, step);
        found = plan_step(p, plan, &s);
        assert_same(p, &expected[step], &found, what);
        record_free(&expected[step]);
    }
    rp_plan_free(plan);
    store_free(&s);
    store_free(&eager);
}

typedef struct devices {
    rp_device *device[4 * LEVELS];
    char what[4 * LEVELS][40];
    size_t n;
} devices;

static const unsigned thread_counts[] = {1, 2, 3, 7};

static devices devices_new(void)
{
    devices d = {.n = 0};
    const char *const *levels;
    size_t n = rp_kernel_levels(&levels);

    assert_true(n <= LEVELS);
    for (size_t l = 0; l < n; l++)
        for (size_t t = 0; t < COUNT(thread_counts); t++) {
            assert_int_equal(rp_device_cpu_new(&d.device[d.n], levels[l], thread_counts[t], NULL), RP_OK);
            snprintf(d.what[d.n++], sizeof d.what[0], "%s, %u threads", levels[l], thread_counts[t]);
        }
    return d;
}

static void devices_free(devices *d)
{
    for (size_t i = 0; i < d->n; i++)
        rp_device_free(d->device[i]);
}

static void compiled_programs_give_the_bits_of_the_eager_tape(void **state)
{
    devices d = devices_new();
    size_t in_place = 0;

    (void)state;
    for (uint64_t seed = 0; seed < RANDOM_PROGRAMS; seed++) {
        bool large = seed % LARGE_EVERY == 0;
        rp_program *p = random_program_new(seed, large ? 80 : seed % 2 ? 5 : 4, large ? 80 : seed % 2 ? 5 : 6);
        char what[80];

        assert_non_null(p);
        for (size_t i = 0; i < d.n; i++)
            if (large || i % COUNT(thread_counts) == seed % COUNT(thread_counts)) {
                snprintf(what, sizeof what, "seed %d, %s", (int)seed, d.what[i]);
                assert_plan_is_eager(p, d.device[0], d.device[i], what);
            }
        for (size_t o = 0; o < p->n_outputs; o++) {
            const rp_instr *maker;
            int at;

            if (p->output[o].kind == RP_OUTPUT_STATE && made_by_kernel(p, p->output[o].value, &maker, &at))
                in_place += (size_t)at < maker->n_in && maker->op->flags & RP_OP_INPLACE &&
                            maker->in[at] == p->input[state_of(p, p->output[o].name)].value;
        }
        rp_program_free(p);
    }
    assert_true(in_place > RANDOM_PROGRAMS / 4); /* the programs do contain what could go wrong */
    devices_free(&d);
}

static void chains_give_the_bits_of_the_eager_tape(void **state)
{
    /* below, at and above the length from which there are chains; odd, empty, narrow, square */
    static const size_t shape[][2] = {{45, 46}, {2, 1024}, {47, 47}, {1, 2049}, {2053, 1}, {63, 65},
                                      {0, 5},   {1, 1},    {64, 96}, {99, 101}, {3, 6001}, {137, 137}};
    devices d = devices_new();
    size_t shorter = 0;

    (void)state;
    for (uint64_t seed = 0; seed < RANDOM_CHAINS; seed++) {
        const size_t *s = shape[seed % COUNT(shape)];
        rp_program *p = random_chain_new(seed, s[0], s[1]);
        store in = store_new(p);
        rp_plan *plan = plan_new(p, d.device[0], &in);
        char what[80];

        shorter += rp_plan_launches(plan) + 3 < p->n_instrs;
        rp_plan_free(plan);
        store_free(&in);
        for (size_t i = 0; i < d.n; i++)
            if (i % COUNT(thread_counts) == seed / COUNT(shape) % COUNT(thread_counts)) {
                snprintf(what, sizeof what, "chain %d [%zu, %zu], %s", (int)seed, s[0], s[1], d.what[i]);
                assert_plan_is_eager(p, d.device[0], d.device[i], what);
            }
        rp_program_free(p);
    }
    assert_true(shorter > RANDOM_CHAINS / 4); /* there are chains */
    devices_free(&d);
}

/* y = relu(x + row) * x - x; nothing but y and the feed is stored. */
static void what_lives_within_a_chain_has_no_memory(void **state)
{
    enum { ROWS = 50, COLS = 60 };
    const rp_type whole = {RP_F32, 2, {ROWS, COLS}}, row = {RP_F32, 1, {COLS}};
    rp_graph *g = rp_graph_new(NULL);
    rp_tensor x = rp_graph_input(g, RP_INPUT_FEED, "x", &whole, NULL);
    rp_tensor r = rp_graph_input(g, RP_INPUT_FEED, "row", &row, NULL), y;
    rp_program *p;
    rp_device *device;
    rp_plan *plan;
    void *none[2] = {NULL, NULL};

    (void)state;
    y = rp_relu(rp_add(x, r));
    y = rp_mul(y, x);
    rp_graph_set(g, RP_OUTPUT_RESULT, "y", rp_sub(y, x));
    p = rp_graph_take_program(g, NULL);
    assert_non_null(p);
    assert_int_equal(rp_device_cpu_new(&device, NULL, 1, NULL), RP_OK);
    assert_int_equal(rp_plan_new(&plan, p, device, none, NULL), RP_OK);
    assert_int_equal(rp_plan_launches(plan), 1);
    assert_true(rp_plan_arena_bytes(plan) < 2 * sizeof(float[ROWS][COLS]) + 512);
    rp_plan_free(plan);
    rp_device_free(device);
    rp_program_free(p);
}

/* Outputs past the size from which they are streamed, one of them read again in the chain, one bool, with a tail. */
static void streamed_outputs_have_the_same_bits(void **state)
{
    const rp_type whole = {RP_F32, 2, {2051, 2053}}, row = {RP_F32, 1, {2053}};
    const unsigned threads[] = {1, 3};

    (void)state;
    for (size_t i = 0; i < COUNT(threads); i++) {
        rp_graph *g = rp_graph_new(NULL);
        rp_tensor x = rp_graph_input(g, RP_INPUT_FEED, "x", &whole, NULL);
        rp_tensor r = rp_graph_input(g, RP_INPUT_FEED, "row", &row, NULL), y = rp_add(x, r), z;
        rp_device *device;
        rp_program *p;

        rp_graph_set(g, RP_OUTPUT_RESULT, "y", y);
        z = rp_mul(rp_relu(y), y);
        rp_graph_set(g, RP_OUTPUT_RESULT, "z", rp_cast(z, RP_F64));
        rp_graph_set(g, RP_OUTPUT_RESULT, "w", rp_lt(z, x));
        p = rp_graph_take_program(g, NULL);
        assert_int_equal(rp_device_cpu_new(&device, NULL, threads[i], NULL), RP_OK);
        assert_plan_is_eager(p, device, device, "streamed");
        rp_device_free(device);
        rp_program_free(p);
    }
}

/* The transposed state is read by the chain that makes its new value: an earlier block must not have overwritten it. */
static void a_state_read_across_its_chain_keeps_its_old_value(void **state)
{
    enum { N = 80 };
    const rp_type type = {RP_F32, 2, {N, N}};
    static float x[N][N], expected[N][N];
    rp_graph *g = rp_graph_new(NULL);
    rp_tensor s = rp_graph_input(g, RP_INPUT_STATE, "s", &type, NULL), y = rp_neg(rp_transpose(s, NULL));
    rp_program *p;
    rp_device *device;
    rp_plan *plan;
    void *memory = x;

    (void)state;
    rp_graph_set(g, RP_OUTPUT_STATE, "s", rp_sub(s, y));
    p = rp_graph_take_program(g, NULL);
    for (int i = 0; i < N; i++)
        for (int k = 0; k < N; k++) {
            x[i][k] = (float)(i * N + k);
            expected[i][k] = (float)(i * N + k + k * N + i);
        }
    assert_int_equal(rp_device_cpu_new(&device, NULL, 1, NULL), RP_OK);
    assert_int_equal(rp_plan_new(&plan, p, device, &memory, NULL), RP_OK);
    assert_int_equal(rp_plan_run(plan, NULL), RP_OK);
    assert_memory_equal(x, expected, sizeof x);
    rp_plan_free(plan);
    rp_device_free(device);
    rp_program_free(p);
}

static void every_operation_runs_the_same_eager_and_compiled(void **state)
{
    rp_device *device;

    (void)state;
    assert_int_equal(rp_device_cpu_new(&device, NULL, 1, NULL), RP_OK);
    for (size_t i = 0; i < OP_SAMPLES; i++) {
        const op_sample *s = &op_samples[i];
        rp_program *p = sample_program(s), *again;
        rp_buffer text = text_of(p);
        store in = store_new(p);
        rp_plan *plan;
        record expected, found;

        for (size_t k = 0; k < in.n; k++)
            sample_fill(s, k, in.memory[k]);
        expected = eager_step(p, device, &in);
        assert_int_equal(rp_program_parse(&again, text.data, text.size, "p", NULL), RP_OK);
        plan = plan_new(again, device, &in);
        found = plan_step(again, plan, &in);
        assert_same(p, &expected, &found, rp_op_get(s->op)->name);
        record_free(&expected);
        rp_plan_free(plan);
        store_free(&in);
        rp_buffer_free(&text);
        rp_program_free(p);
        rp_program_free(again);
    }
    rp_device_free(device);
}

/* ---- states ---- */

static void add_states(rp_run *run, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const float x[3] = {(float)i + 1, (float)i * 10, (float)-(int)i};
        char name[24];

        snprintf(name, sizeof name, "s%zu", i);
        assert_int_equal(rp_run_add_state(run, name, RP_F32, 1, (size_t[]){3}, x, NULL), RP_OK);
    }
}

/* What a step does to its states, written once for both graphs. */
typedef void body(rp_tensor *s, rp_tensor *to);

static void exchange(rp_tensor *s, rp_tensor *to) /* a, b, c, d = b, a, d, c */
{
    to[0] = s[1], to[1] = s[0], to[2] = s[3], to[3] = s[2];
}

static void rotate_sums(rp_tensor *s, rp_tensor *to) /* each from two old ones, in positions that invite overwriting */
{
    for (int i = 0; i < 4; i++)
        to[i] = rp_add(s[i], s[(i + 1) % 4]);
}

static void read_after_update(rp_tensor *s, rp_tensor *to) /* s0 is read again after its new value was made */
{
    to[0] = rp_neg(s[0]);
    to[1] = rp_mul(s[1], s[0]);
    to[2] = rp_add(to[0], s[0]);
    to[3] = rp_sub(s[3], rp_broadcast_to(rp_slice(s[0], (size_t[]){1}, (size_t[]){2}), 1, (size_t[]){3}));
}

static void one_value_for_all(rp_tensor *s, rp_tensor *to) /* made in place of s0, copied to the others */
{
    to[0] = to[1] = to[2] = rp_tanh(s[0]);
    to[3] = rp_add(s[3], to[0]);
}

static void crossed_optimizer(rp_tensor *s, rp_tensor *to) /* parameter and moment change places */
{
    rp_tensor lr = rp_fill(s[0].graph, RP_F32, 0, NULL, 0.5), m = s[1];

    to[1] = rp_sgd(s[0], &m, s[2], lr, 0.5, false, 0);
    to[0] = m;
    m = s[3];
    to[2] = rp_sgd(s[2], &m, s[2], lr, 0.5, true, 0);
    to[3] = m;
}

static body *const bodies[] = {exchange, rotate_sums, read_after_update, one_value_for_all, crossed_optimizer};

static void read_states(rp_run *run, float x[4][3])
{
    for (size_t i = 0; i < 4; i++) {
        char name[24];

        snprintf(name, sizeof name, "s%zu", i);
        assert_int_equal(rp_run_get_state(run, name, x[i], sizeof x[i], NULL), RP_OK);
    }
}

static void run_eager(rp_run *run, body *b)
{
    rp_tensor s[4], to[4];
    rp_error err = {0};

    assert_int_equal(rp_step_begin(run, NULL), RP_OK);
    for (size_t i = 0; i < 4; i++)
        s[i] = rp_state(run, (const char *[]){"s0", "s1", "s2", "s3"}[i]);
    b(s, to);
    for (size_t i = 0; i < 4; i++)
        rp_set_state(run, (const char *[]){"s0", "s1", "s2", "s3"}[i], to[i]);
    if (rp_step_end(run, &err) != RP_OK)
        fail_msg("%s", err.text);
}

static rp_compiled *compile_body(rp_run *run, body *b)
{
    rp_graph *g = rp_graph_new(NULL);
    rp_tensor s[4], to[4];
    rp_program *program;
    rp_compiled *compiled = NULL;
    rp_error err = {0};

    for (size_t i = 0; i < 4; i++)
        s[i] = rp_graph_state(g, run, (const char *[]){"s0", "s1", "s2", "s3"}[i]);
    b(s, to);
    for (size_t i = 0; i < 4; i++)
        rp_graph_set(g, RP_OUTPUT_STATE, (const char *[]){"s0", "s1", "s2", "s3"}[i], to[i]);
    program = rp_graph_take_program(g, &err);
    if (!program || rp_run_compile(&compiled, run, program, &err) != RP_OK)
        fail_msg("%s", err.text);
    return compiled;
}

static void states_see_their_old_values_everywhere_in_the_step(void **state)
{
    (void)state;
    for (size_t k = 0; k < COUNT(bodies); k++) {
        rp_run *eager, *run;
        rp_compiled *compiled;
        float a[4][3], b[4][3];

        assert_int_equal(rp_run_new(&eager, &(rp_run_options){.threads = 1}, NULL), RP_OK);
        assert_int_equal(rp_run_new(&run, &(rp_run_options){.threads = 1}, NULL), RP_OK);
        add_states(eager, 4);
        add_states(run, 4);
        compiled = compile_body(run, bodies[k]);
        for (int step = 0; step < 3; step++) {
            run_eager(eager, bodies[k]);
            assert_int_equal(rp_compiled_step(compiled, NULL), RP_OK);
            read_states(eager, a);
            read_states(run, b);
            if (memcmp(a, b, sizeof a) != 0)
                fail_msg("body %zu, step %d: eager and compiled differ", k, step);
            if (step == 0 && k == 0) /* by hand: the values are really exchanged */
                assert_memory_equal(a, ((float[4][3]){{2, 10, -1}, {1, 0, 0}, {4, 30, -3}, {3, 20, -2}}), sizeof a);
            if (step == 0 && k == 1)
                assert_memory_equal(a, ((float[4][3]){{3, 10, -1}, {5, 30, -3}, {7, 50, -5}, {5, 30, -3}}), sizeof a);
        }
        rp_compiled_free(compiled);
        rp_run_free(eager);
        rp_run_free(run);
    }
}

static void assert_plan_refused(const char *text, const char *fragment)
{
    rp_program *p;
    rp_run *run;
    rp_compiled *compiled;
    rp_error err = {0};
    rp_status status;

    assert_int_equal(rp_program_parse(&p, text, strlen(text), "p", NULL), RP_OK);
    assert_int_equal(rp_run_new(&run, &(rp_run_options){.threads = 1}, NULL), RP_OK);
    assert_int_equal(rp_run_add_state(run, "w", RP_F32, 2, (size_t[]){2, 3}, NULL, NULL), RP_OK);
    status = rp_run_compile(&compiled, run, p, &err);
    if (status != RP_EFORMAT || !strstr(err.text, fragment))
        fail_msg("expected \"%s\", found %s: %s", fragment, rp_status_name(status), err.text);
    assert_null(compiled);
    rp_run_free(run);
}

static void programs_that_do_not_fit_the_run_are_refused(void **state)
{
#define W "{\"contract\":1,\"inputs\":[[0,\"state\",\"w\",\"f32\",[2,3]]],\"instructions\":"
    (void)state;
    assert_plan_refused(W "[],\"outputs\":[[\"state\",\"w\",0]]}", "state itself");
    assert_plan_refused(W "[],\"outputs\":[[\"result\",\"r\",0]]}", "state itself");
    assert_plan_refused(W "[[\"reshape\",{\"shape\":[6]},[0],[1]]],\"outputs\":[[\"result\",\"r\",1]]}", "state itself");
    assert_plan_refused(W "[[\"neg\",{},[0],[1]],[\"transpose\",{\"permutation\":[1,0]},[1],[2]]],"
                          "\"outputs\":[[\"result\",\"r\",2]]}", "not contiguous");
    assert_plan_refused(W "[[\"sum\",{\"axes\":[0]},[0],[1]]],\"outputs\":[[\"state\",\"w\",1]]}", "same type");
    assert_plan_refused(W "[[\"neg\",{},[0],[1]]],\"outputs\":[[\"state\",\"v\",1]]}", "same type");
    assert_plan_refused("{\"contract\":1,\"inputs\":[[0,\"state\",\"w\",\"f32\",[3,2]]],\"instructions\":[],\"outputs\":[]}",
                        "input w");
    assert_plan_refused("{\"contract\":1,\"inputs\":[[0,\"data\",\"w\",\"f32\",[2,3]]],\"instructions\":[],\"outputs\":[]}",
                        "input w");
#undef W
}

static void an_empty_program_runs(void **state)
{
    static const char text[] = "{\"contract\":1,\"inputs\":[],\"instructions\":[],\"outputs\":[]}";
    rp_program *p;
    rp_run *run;
    rp_compiled *compiled;

    (void)state;
    assert_int_equal(rp_program_parse(&p, text, strlen(text), "p", NULL), RP_OK);
    assert_int_equal(rp_run_new(&run, &(rp_run_options){.threads = 1}, NULL), RP_OK);
    assert_int_equal(rp_run_compile(&compiled, run, p, NULL), RP_OK);
    assert_int_equal(rp_compiled_step(compiled, NULL), RP_OK);
    assert_int_equal(rp_run_steps(run), 1);
    rp_compiled_free(compiled);
    rp_run_free(run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(compiled_programs_give_the_bits_of_the_eager_tape),
        cmocka_unit_test(chains_give_the_bits_of_the_eager_tape),
        cmocka_unit_test(what_lives_within_a_chain_has_no_memory),
        cmocka_unit_test(streamed_outputs_have_the_same_bits),
        cmocka_unit_test(a_state_read_across_its_chain_keeps_its_old_value),
        cmocka_unit_test(every_operation_runs_the_same_eager_and_compiled),
        cmocka_unit_test(states_see_their_old_values_everywhere_in_the_step),
        cmocka_unit_test(programs_that_do_not_fit_the_run_are_refused),
        cmocka_unit_test(an_empty_program_runs),
    };

    rp_set_allocator(&poisoning);
    return cmocka_run_group_tests_name("plans", tests, NULL, NULL);
}
