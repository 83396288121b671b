/* SPDX-License-Identifier: Apache-2.0
 * Chains with outputs that are streamed past the caches, at every level and length: the bits of each kernel alone. (The
 * planner streams outputs of 16 MiB and more only, which random programs do not have.) */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/pool.h"
#include "determinism/bits.h"
#include "kernels/chain.h"

enum { MOST = 3 * RP_CHAIN_BLOCK + 300, STEPS = 6 };

static float x[MOST], kept[STEPS][MOST], constant[2] = {0.37f, -1.5f};
_Alignas(64) static float out[2][MOST + 64];

static rp_view vector(float *data, size_t count, ptrdiff_t stride)
{
    return (rp_view){data, RP_F32, 1, {count}, {stride}};
}

/* ((x * c0 - x) ...): step i works on the value before it and, by turns, x or a constant; the last two are abs and
 * relu. */
static const rp_kernel_id operation[STEPS] = {RP_K_mul, RP_K_sub, RP_K_maximum, RP_K_add, RP_K_abs, RP_K_relu};

static rp_view operand(size_t step, size_t count)
{
    return step % 2 ? vector(x, count, 1) : vector(&constant[step / 2 % 2], count, 0);
}

static void alone(size_t count)
{
    const rp_kernel_table *table;
    rp_error err;

    assert_int_equal(rp_kernel_table_get(&table, "ref", &err), RP_OK);
    for (size_t i = 0; i < STEPS; i++) {
        const rp_view in[2] = {vector(i ? kept[i - 1] : x, count, 1), operand(i, count)}, y = vector(kept[i], count, 1);
        const rp_kernel_args args = {in, i < 4 ? 2 : 1, &y, 1, NULL};

        table->kernel[operation[i]]->run(&args, 0, count);
    }
}

/* slot: RP_CHAIN_SLOTS for none. */
static void add_view(rp_chain *c, rp_view view, size_t slot, void *stream)
{
    if (slot < RP_CHAIN_SLOTS)
        c->scratch[c->n_scratch++] = (rp_chain_scratch){c->n_views, slot, stream};
    c->view[c->n_views++] = view;
}

/* Steps [0, steps) with the last output streamed; early: that of step 2 as well, which is used further and keeps its
 * slot. away: floats between the beginning of a line and the outputs'. */
static rp_chain chain_of(size_t count, size_t steps, bool early, size_t away)
{
    rp_chain c = {.count = count, .slots = 2, .size = sizeof(float)};

    for (size_t i = 0; i < steps; i++) {
        rp_chain_step *s = &c.step[c.n_steps++];
        void *stream = i + 1 == steps ? out[0] + away : early && i == 2 ? out[1] + away : NULL;

        *s = (rp_chain_step){.kernel = operation[i], .in = c.n_views, .n_in = i < 4 ? 2 : 1};
        add_view(&c, vector(i ? NULL : x, count, 1), i == 0 ? RP_CHAIN_SLOTS : early && i == 3, NULL);
        if (i < 4)
            add_view(&c, operand(i, count), RP_CHAIN_SLOTS, NULL);
        s->out = c.n_views;
        s->n_out = 1;
        add_view(&c, vector(stream, count, 1), early && i == 2, stream);
    }
    return c;
}

/* Outputs that begin lines, as a plan's own memory does, and others: a row of a scan, what lies inside a concat. */
static void streamed_outputs_have_the_bits_of_the_kernels_alone(void **state)
{
    static const size_t aways[] = {0, 1, 4, 8, 13};
    static const size_t counts[] = {1, 63, 64, 255, 256, 257, 511, 2047, 2048, 2049, 2304, 4096, 5000, MOST};
    const char *const *level;
    const size_t levels = rp_kernel_levels(&level);
    rp_error err;
    rp_pool *pool;

    (void)state;
    assert_int_equal(rp_pool_new(&pool, 3, NULL, &err), RP_OK);
    for (size_t i = 0; i < MOST; i++)
        x[i] = (float)((int)(i * 7919 % 2003) - 1001) * 0.01f;
    for (size_t n = 0; n < sizeof counts / sizeof *counts; n++) {
        alone(counts[n]);
        for (size_t l = 0; l < levels; l++)
            for (size_t steps = 1; steps <= STEPS; steps++)
                for (size_t kind = 0; kind < 4 * (sizeof aways / sizeof *aways); kind++) {
                    const bool early = kind % 2 && steps > 3;
                    const size_t away = aways[kind / 4];
                    const rp_chain c = chain_of(counts[n], steps, early, away);
                    const rp_kernel_table *table;

                    assert_int_equal(rp_kernel_table_get(&table, level[l], &err), RP_OK);
                    memset(out, 0x7e, sizeof out);
                    rp_chain_run(&c, table, kind % 4 < 2 ? NULL : pool, 1);
                    assert_memory_equal(out[0] + away, kept[steps - 1], counts[n] * sizeof(float));
                    if (early)
                        assert_memory_equal(out[1] + away, kept[2], counts[n] * sizeof(float));
                    assert_int_equal(((unsigned char *)(out[0] + away + counts[n]))[0], 0x7e);
                    for (size_t i = 0; i < away * sizeof(float); i++)
                        assert_int_equal(((unsigned char *)out)[i], 0x7e);
                }
    }
    rp_pool_free(pool);
}

/* ---- many outputs ---- */

enum { MANY = 12, INNER = 5 };

static float many[MANY][MOST];
_Alignas(64) static float past[MANY][(MOST + 63) / 64 * 64]; /* each at a cache line */

static rp_kernel_id kernel_of(size_t step)
{
    return operation[step % 4];
}

/* All steps but INNER have outputs that are streamed, each with a slot; elements count as `size` bytes. */
static rp_chain chain_of_many(size_t count, size_t size)
{
    rp_chain c = {.count = count, .slots = MANY, .size = size};

    for (size_t i = 0; i < MANY; i++) {
        rp_chain_step *s = &c.step[c.n_steps++];
        void *stream = i == INNER ? NULL : past[i];

        *s = (rp_chain_step){.kernel = kernel_of(i), .in = c.n_views, .n_in = 2};
        add_view(&c, vector(i ? NULL : x, count, 1), i ? i - 1 : RP_CHAIN_SLOTS, NULL);
        add_view(&c, operand(i, count), RP_CHAIN_SLOTS, NULL);
        s->out = c.n_views;
        s->n_out = 1;
        add_view(&c, vector(stream, count, 1), i, stream);
    }
    return c;
}

/* So many pieces of scratch that a block is shorter than what registers take at a time. */
static void many_streamed_outputs_are_their_own(void **state)
{
    const size_t count = 5000;
    const char *const *level;
    const size_t levels = rp_kernel_levels(&level);
    const rp_kernel_table *table;
    rp_error err;

    (void)state;
    assert_int_equal(rp_kernel_table_get(&table, "ref", &err), RP_OK);
    for (size_t i = 0; i < MANY; i++) {
        const rp_view in[2] = {vector(i ? many[i - 1] : x, count, 1), operand(i, count)}, y = vector(many[i], count, 1);
        const rp_kernel_args args = {in, 2, &y, 1, NULL};

        table->kernel[kernel_of(i)]->run(&args, 0, count);
    }
    for (size_t l = 0; l < levels; l++)
        for (size_t size = sizeof(float); size <= sizeof(double); size *= 2) {
            const rp_chain c = chain_of_many(count, size);

            assert_int_equal(rp_kernel_table_get(&table, level[l], &err), RP_OK);
            memset(past, 0x7e, sizeof past);
            rp_chain_run(&c, table, NULL, 1);
            for (size_t i = 0; i < MANY; i++)
                if (i != INNER)
                    assert_memory_equal(past[i], many[i], count * sizeof(float));
        }
}

/* ---- selections of what one value makes ---- */

/* A side of a selection: the value, plus or times a constant or x (by `operand`), its square; 0: the end. */
typedef struct side_step {
    rp_kernel_id kernel;
    int operand; /* SELF, CONSTANT, ELEMENTS, turned (the value second) where it is negative */
} side_step;
enum { SELF = 1, CONSTANT, ELEMENTS, SIDE_STEPS = 4 };

typedef struct selection {
    side_step side[2][SIDE_STEPS];
    bool value_kept; /* the value is an output too */
    bool first_kept; /* and so is the first side's first step */
} selection;

static const selection selections[] = {
    {{{{RP_K_mul, SELF}, {RP_K_mul, CONSTANT}}, {{RP_K_mul, CONSTANT}, {RP_K_add, CONSTANT}}}, false, false},
    {{{{RP_K_mul, SELF}, {RP_K_mul, CONSTANT}}, {{RP_K_mul, CONSTANT}, {RP_K_add, CONSTANT}}}, true, false},
    {{{{RP_K_mul, SELF}, {RP_K_mul, CONSTANT}}, {{RP_K_mul, CONSTANT}, {RP_K_add, CONSTANT}}}, false, true},
    {{{{RP_K_add, -CONSTANT}, {RP_K_mul, ELEMENTS}, {RP_K_mul, SELF}}, {{RP_K_mul, -ELEMENTS}}}, false, false},
    {{{{RP_K_mul, ELEMENTS}}, {{0}}}, false, false},
    {{{{0}}, {{RP_K_mul, -CONSTANT}, {RP_K_add, -ELEMENTS}}}, false, false},
    {{{{0}}, {{RP_K_mul, SELF}}}, true, false},
    {{{{RP_K_add, ELEMENTS}, {RP_K_add, SELF}}, {{RP_K_add, CONSTANT}}}, false, false},
    {{{{RP_K_sub, CONSTANT}}, {{RP_K_mul, CONSTANT}}}, false, false}};

enum { SELECTED = sizeof selections / sizeof *selections, PLACES = 12 };

/* What is made, in memory or in a slot: whole, or of the chain's blocks. */
static float made[PLACES][MOST], expected[PLACES][MOST];
static unsigned char mask[MOST];
static float below[1] = {0.25f}, strange[MOST];

typedef struct builder {
    rp_chain chain;
    size_t count, n;        /* steps so far: step n makes place n */
    bool in_memory[PLACES]; /* an output, not in slot n alone */
} builder;

static void put_operand(builder *b, size_t place)
{
    add_view(&b->chain, vector(b->in_memory[place] ? made[place] : NULL, b->count, 1),
             b->in_memory[place] ? RP_CHAIN_SLOTS : place, NULL);
}

static void put_constant(builder *b, float *at, ptrdiff_t stride)
{
    add_view(&b->chain, vector(at, b->count, stride), RP_CHAIN_SLOTS, NULL);
}

static rp_chain_step *begin_step(builder *b, rp_kernel_id kernel)
{
    rp_chain_step *s = &b->chain.step[b->chain.n_steps++];

    *s = (rp_chain_step){.kernel = kernel, .in = b->chain.n_views, .n_out = 1};
    return s;
}

static size_t end_step(builder *b, rp_chain_step *s, bool in_memory, rp_dtype dtype)
{
    rp_view result = vector(in_memory ? made[b->n] : NULL, b->count, 1);

    s->n_in = b->chain.n_views - s->in;
    s->out = b->chain.n_views;
    result.dtype = dtype;
    b->in_memory[b->n] = in_memory;
    add_view(&b->chain, result, in_memory ? RP_CHAIN_SLOTS : b->n, NULL);
    return b->n++;
}

static size_t put_side_step(builder *b, const side_step *step, size_t value, bool keep)
{
    const int operand = step->operand < 0 ? -step->operand : step->operand;
    rp_chain_step *s = begin_step(b, step->kernel);

    for (int i = 0; i < 2; i++)
        if ((i == 0) == (step->operand > 0) || operand == SELF)
            put_operand(b, value);
        else
            put_constant(b, operand == CONSTANT ? &constant[1] : strange, operand == CONSTANT ? 0 : 1);
    return end_step(b, s, keep, RP_F32);
}

/* Side by side, or by turns. */
static void put_sides(builder *b, const selection *c, size_t value, bool turns, size_t end[2])
{
    size_t done[2] = {0, 0};

    end[0] = end[1] = value;
    for (int side = 0; c->side[0][done[0]].operand != 0 || c->side[1][done[1]].operand != 0;) {
        if (c->side[side][done[side]].operand != 0) {
            end[side] =
                put_side_step(b, &c->side[side][done[side]], end[side], side == 0 && done[0] == 0 && c->first_kept);
            done[side]++;
        }
        if (turns || c->side[side][done[side]].operand == 0)
            side = !side;
    }
}

/* |x + strange| is the value, below a bound the first side. way: bit 0: the second there; bit 1: sides by turns. */
static builder chain_of_selection(const selection *c, size_t count, unsigned way)
{
    builder b = {.chain = {.count = count, .slots = PLACES, .size = sizeof(float)}, .count = count};
    rp_chain_step *s = begin_step(&b, RP_K_add);
    rp_view condition = vector(NULL, count, 1);
    const bool turned = way % 2;
    size_t value, low, end[2];

    put_constant(&b, x, 1);
    put_constant(&b, strange, 1);
    value = end_step(&b, s, false, RP_F32);
    s = begin_step(&b, RP_K_abs);
    put_operand(&b, value);
    value = end_step(&b, s, c->value_kept, RP_F32);
    s = begin_step(&b, RP_K_lt);
    put_operand(&b, value);
    put_constant(&b, below, 0);
    low = end_step(&b, s, false, RP_BOOL);
    put_sides(&b, c, value, way / 2 % 2, end);
    s = begin_step(&b, RP_K_where);
    condition.dtype = RP_BOOL;
    add_view(&b.chain, condition, low, NULL);
    put_operand(&b, end[turned]);
    put_operand(&b, end[!turned]);
    (void)end_step(&b, s, true, RP_F32);
    return b;
}

/* Whether a step from `from` on reads the slot. */
static bool read_later(const rp_chain *c, size_t slot, size_t from)
{
    for (size_t i = 0; i < c->n_scratch; i++)
        if (c->scratch[i].slot == slot && c->scratch[i].view >= c->step[from].in)
            return true;
    return false;
}

/* Each step's result takes the place of an operand that nobody reads any more, as the planner has it. */
static void in_place(rp_chain *c)
{
    for (size_t k = 0; k + 1 < c->n_steps; k++)
        for (size_t i = 0; i < c->n_scratch; i++) {
            const size_t slot = c->scratch[i].slot, v = c->scratch[i].view;
            size_t result = RP_CHAIN_SLOTS;

            if (v < c->step[k].in || v >= c->step[k].out || c->view[v].dtype != c->view[c->step[k].out].dtype ||
                read_later(c, slot, k + 1))
                continue;
            for (size_t o = 0; o < c->n_scratch; o++)
                result = c->scratch[o].view == c->step[k].out ? c->scratch[o].slot : result;
            for (size_t o = 0; o < c->n_scratch && result < RP_CHAIN_SLOTS; o++)
                if (c->scratch[o].slot == result)
                    c->scratch[o].slot = slot;
            break;
        }
}

/* The steps one by one, each over all elements, from memory to memory. */
static void selection_alone(const builder *b)
{
    const rp_kernel_table *table;
    rp_error err;

    assert_int_equal(rp_kernel_table_get(&table, "ref", &err), RP_OK);
    for (size_t k = 0; k < b->chain.n_steps; k++) {
        const rp_chain_step *s = &b->chain.step[k];
        rp_view view[4];
        const rp_kernel_args args = {view, s->n_in, &view[s->n_in], 1, NULL};

        for (size_t v = s->in; v < s->in + s->n_in + 1; v++) {
            rp_view *to = &view[v - s->in];

            *to = b->chain.view[v];
            for (size_t i = 0; i < b->chain.n_scratch; i++)
                if (b->chain.scratch[i].view == v)
                    to->data = to->dtype == RP_BOOL ? (void *)mask : expected[b->chain.scratch[i].slot];
            for (size_t i = 0; i < PLACES; i++)
                if (to->data == made[i])
                    to->data = expected[i];
        }
        table->kernel[s->kernel]->run(&args, 0, b->count);
    }
}

static void sides_of_a_selection_have_the_bits_of_the_kernels_alone(void **state)
{
    static const size_t counts[] = {1, 255, 256, 2048, MOST};
    const char *const *level;
    const size_t levels = rp_kernel_levels(&level);
    const rp_kernel_table *table;
    rp_error err;

    (void)state;
    for (size_t i = 0; i < MOST; i++) {
        static const float rare[] = {__builtin_nanf("1"), HUGE_VALF, -HUGE_VALF, -0.0f, 0x1p-140f, 0x1p100f};

        x[i] = (float)((int)(i * 7919 % 2003) - 1001) * 0.001f;
        strange[i] = i % 13 ? (float)((int)(i * 104729 % 1009) - 504) * 0.001f : rare[i / 13 % 6];
    }
    for (size_t n = 0; n < 8 * SELECTED * (sizeof counts / sizeof *counts); n++) {
        const size_t count = counts[n / (8 * SELECTED)];
        builder b = chain_of_selection(&selections[n / 8 % SELECTED], count, n % 8);

        selection_alone(&b);
        if (n / 4 % 2)
            in_place(&b.chain);
        for (size_t l = 0; l < levels; l++) {
            assert_int_equal(rp_kernel_table_get(&table, level[l], &err), RP_OK);
            memset(made, 0x7e, sizeof made);
            rp_chain_run(&b.chain, table, NULL, 1);
            for (size_t i = 0; i < b.n; i++)
                for (size_t e = 0; b.in_memory[i] && e < count; e++)
                    assert_int_equal(rp_bits_f32(rp_canonical_f32(made[i][e])),
                                     rp_bits_f32(rp_canonical_f32(expected[i][e])));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(streamed_outputs_have_the_bits_of_the_kernels_alone),
                                       cmocka_unit_test(many_streamed_outputs_are_their_own),
                                       cmocka_unit_test(sides_of_a_selection_have_the_bits_of_the_kernels_alone)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
