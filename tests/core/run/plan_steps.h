/* SPDX-License-Identifier: Apache-2.0
 * Steps of a program, by the eager tape and by a compiled plan, as the bytes of all that they leave; memory that starts
 * as NaNs. For tests of plans. */
#ifndef TESTS_CORE_RUN_PLAN_STEPS_H
#define TESTS_CORE_RUN_PLAN_STEPS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "core/run/run.h"
#include "determinism/bits.h"
#include "tests/core/program/sample_program.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

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

static inline void release(void *self, void *block)
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

/* blocks drawn at once; values kept; numbers kept of all of them together */
enum { FED_BLOCKS = 256, FED_VALUES = 64, FED_MOST = 1 << 25 };

static inline float *fed_new(size_t step, uint32_t value, size_t count)
{
    rp_philox4 block[FED_BLOCKS];
    float *u = malloc(count * sizeof *u + 1);

    assert_non_null(u);
    for (size_t i = 0; i < count; i++) {
        if (i % (4 * FED_BLOCKS) == 0) {
            const size_t blocks = (count - i + 3) / 4;

            rp_random_blocks(block, 11, step, value, i / 4, blocks < FED_BLOCKS ? blocks : FED_BLOCKS);
        }
        u[i] = rp_uniform_f32(block[i / 4 % FED_BLOCKS].v[i % 4]) * 2 - 0.75f;
    }
    return u;
}

/* The draws of a value at a step. Every plan of a program is fed the same ones, so they are drawn once and kept: to
 * draw them again for each was half of what some programs did. */
static inline const float *fed(size_t step, uint32_t value, size_t count)
{
    static struct {
        size_t step, count;
        uint32_t value;
        float *u;
    } kept[FED_VALUES], *k;
    static size_t held;

    k = &kept[(value + 31 * step) % FED_VALUES];
    if (k->u && k->step == step && k->value == value && k->count >= count)
        return k->u;
    for (size_t i = 0; i < FED_VALUES; i++)
        if (&kept[i] == k || held + count > FED_MOST) {
            free(kept[i].u);
            held -= kept[i].count;
            memset(&kept[i], 0, sizeof kept[i]);
        }
    k->u = fed_new(step, value, count);
    k->step = step;
    k->value = value;
    k->count = count;
    held += count;
    return k->u;
}

/* Elements of 8 and 16 bits, and u32: integers of their whole range, floats of either sign from 2^-3 to 2. */
static inline void fill_narrow(void *memory, rp_dtype dtype, const float *u, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const double whole = ((double)u[i] + 0.75) / 2; /* 0 to 1 */
        uint32_t bits;

        memcpy(&bits, &u[i], sizeof bits);
        if (dtype == RP_I8 || dtype == RP_U8)
            ((uint8_t *)memory)[i] = (uint8_t)(whole * 255.9);
        else if (dtype == RP_U32)
            ((uint32_t *)memory)[i] = (uint32_t)(whole * 4294967295.0);
        else if (dtype == RP_BF16)
            ((uint16_t *)memory)[i] = (uint16_t)((bits >> 16 & 0x807f) | (124 + (bits >> 3 & 3)) << 7);
        else if (dtype == RP_F16)
            ((uint16_t *)memory)[i] =
                (uint16_t)((bits >> 16 & 0x8000) | (12 + (bits >> 3 & 3)) << 10 | (bits >> 8 & 0x3ff));
        else
            ((uint16_t *)memory)[i] = (uint16_t)(whole * 65535.9);
    }
}

static inline void fill_input(void *memory, const rp_input *in, const rp_type *type, size_t step)
{
    const size_t count = rp_type_count(type);
    const float *u = fed(step, (uint32_t)in->value, count);

    switch (type->dtype) {
    case RP_F32:
        memcpy(memory, u, count * sizeof *u);
        break;
    case RP_F64:
        for (size_t i = 0; i < count; i++)
            ((double *)memory)[i] = (double)u[i] * 1.1;
        break;
    case RP_I64:
        for (size_t i = 0; i < count; i++)
            ((int64_t *)memory)[i] = strcmp(in->name, "rng") == 0 ? (int64_t)(step + i) : (int64_t)((i + step) % 2);
        break;
    case RP_I32:
        for (size_t i = 0; i < count; i++)
            ((int32_t *)memory)[i] = (int32_t)(i % 2);
        break;
    case RP_BOOL:
        for (size_t i = 0; i < count; i++)
            ((unsigned char *)memory)[i] = u[i] > 0;
        break;
    default:
        fill_narrow(memory, type->dtype, u, count);
    }
}

static inline store store_new(const rp_program *p)
{
    store s = {p->n_inputs, calloc(p->n_inputs + 1, sizeof(void *))};

    for (size_t i = 0; i < s.n; i++) {
        s.memory[i] = calloc(rp_type_bytes(&p->value[p->input[i].value]) + 1, 1);
        fill_input(s.memory[i], &p->input[i], &p->value[p->input[i].value], 0);
    }
    return s;
}

static inline void store_free(store *s)
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

static inline void put(rp_buffer *out, const rp_type *type, const void *host)
{
    size_t size = rp_type_bytes(type);
    void *stored = rp_malloc(size);

    rp_to_stored(stored, host, type->dtype, rp_type_count(type));
    rp_buffer_append(out, stored, size);
    rp_free(stored);
}

static inline record record_new(const rp_program *p)
{
    return (record){p->n_outputs + p->n_inputs, rp_calloc(p->n_outputs + p->n_inputs + 1, sizeof(rp_buffer))};
}

static inline void record_free(record *r)
{
    for (size_t i = 0; i < r->n; i++)
        rp_buffer_free(&r->bytes[i]);
    rp_free(r->bytes);
}

static inline void put_inputs(record *r, const rp_program *p, const store *s)
{
    for (size_t i = 0; i < s->n; i++)
        if (p->input[i].kind != RP_INPUT_FEED)
            put(&r->bytes[p->n_outputs + i], &p->value[p->input[i].value], s->memory[i]);
}

static inline size_t state_of(const rp_program *p, const char *name)
{
    size_t i = 0;

    while (p->input[i].kind != RP_INPUT_STATE || strcmp(p->input[i].name, name) != 0)
        i++;
    return i;
}

/* A value's elements in order, wherever they are; rp_free. */
static inline void *in_order(rp_device *device, const rp_type *type, const rp_view *view)
{
    void *bytes = rp_malloc(rp_type_bytes(type));
    const rp_view to = rp_view_of(type, bytes);

    assert_int_equal(rp_execute_copy(device, view, &to, NULL), RP_OK);
    assert_int_equal(rp_device_synchronize(device, NULL, NULL), RP_OK);
    return bytes;
}

/* The reference: the eager tape, then the states take their new values all at once. */
static inline record eager_step(const rp_program *p, rp_device *device, store *s)
{
    record r = record_new(p);
    rp_graph *g = NULL;
    rp_error err = {0};
    void **value;

    if (rp_graph_trace(&g, p, device, s->memory, &err) != RP_OK)
        fail_msg("%s", err.text);
    value = calloc(p->n_outputs + 1, sizeof *value);
    for (size_t o = 0; o < p->n_outputs; o++) {
        const uint32_t number = p->output[o].value;

        value[o] = in_order(device, &p->value[number], &g->view[number]);
        put(&r.bytes[o], &p->value[number], value[o]);
    }
    for (size_t o = 0; o < p->n_outputs; o++) {
        if (p->output[o].kind == RP_OUTPUT_STATE)
            memcpy(s->memory[state_of(p, p->output[o].name)], value[o], rp_type_bytes(&p->value[p->output[o].value]));
        rp_free(value[o]);
    }
    free(value);
    put_inputs(&r, p, s);
    rp_graph_free(g);
    return r;
}

/* The passes of the plans that follow, and what their scans may store. */
static unsigned plan_passes = RP_PASSES;
static size_t plan_stored = RP_PLAN_STORED_MAX;
static uint64_t plan_every;

static inline rp_plan *plan_new(const rp_program *p, rp_device *device, const store *s)
{
    void **memory = calloc(s->n + 1, sizeof *memory);
    rp_plan *plan;
    rp_error err = {0};

    for (size_t i = 0; i < s->n; i++)
        memory[i] = p->input[i].kind == RP_INPUT_FEED ? NULL : s->memory[i];
    if (rp_plan_new_with(&plan, p, device, memory,
                         &(rp_plan_options){.passes = plan_passes, .stored = plan_stored, .every = plan_every},
                         &err) != RP_OK) {
        rp_buffer text = text_of(p);

        fail_msg("%s\n%.*s", err.text, (int)text.size, (const char *)text.data);
    }
    free(memory);
    return plan;
}

/* Something of a plan that is made by some passes. */
static inline size_t of_plan(const rp_program *p, rp_device *device, unsigned passes, size_t what(const rp_plan *plan))
{
    store s = store_new(p);
    rp_plan *plan;
    size_t n;

    plan_passes = passes;
    plan = plan_new(p, device, &s);
    n = what(plan);
    rp_plan_free(plan);
    store_free(&s);
    plan_passes = RP_PASSES;
    return n;
}

static inline record plan_step(const rp_program *p, rp_plan *plan, store *s)
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

static inline void assert_same(const rp_program *p, const record *expected, record *found, const char *what)
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

static inline void next_feeds(const rp_program *p, store *s, size_t step)
{
    for (size_t i = 0; i < s->n; i++)
        if (p->input[i].kind == RP_INPUT_FEED)
            fill_input(s->memory[i], &p->input[i], &p->value[p->input[i].value], step);
}

/* Two steps of the eager tape: the same for every plan of the program, whatever its passes and device. */
typedef struct tape {
    record step[2];
} tape;

static inline tape tape_new(const rp_program *p, rp_device *reference)
{
    store s = store_new(p);
    tape t;

    for (size_t step = 0; step < 2; step++) {
        next_feeds(p, &s, step);
        t.step[step] = eager_step(p, reference, &s);
    }
    store_free(&s);
    return t;
}

static inline void tape_free(tape *t)
{
    for (size_t step = 0; step < 2; step++)
        record_free(&t->step[step]);
}

/* Two steps on one plan, and the second step again on a fresh one, whose arena is poisoned like the first's was. */
static inline void assert_plan_is(const rp_program *p, const tape *expected, rp_device *device, const char *what)
{
    store s = store_new(p);
    rp_plan *plan = plan_new(p, device, &s);
    record found;

    for (size_t step = 0; step < 2; step++) {
        next_feeds(p, &s, step);
        found = plan_step(p, plan, &s);
        assert_same(p, &expected->step[step], &found, what);
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
        assert_same(p, &expected->step[step], &found, what);
    }
    rp_plan_free(plan);
    store_free(&s);
}

static inline void assert_plan_is_eager(const rp_program *p, rp_device *reference, rp_device *device, const char *what)
{
    tape expected = tape_new(p, reference);

    assert_plan_is(p, &expected, device, what);
    tape_free(&expected);
}

#endif
