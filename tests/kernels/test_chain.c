/* SPDX-License-Identifier: Apache-2.0
 * Chains with outputs that are streamed past the caches, at every level and length: the bits of each kernel alone. (The
 * planner streams outputs of 16 MiB and more only, which random programs do not have.) */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/pool.h"
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
 * slot. */
static rp_chain chain_of(size_t count, size_t steps, bool early)
{
    rp_chain c = {.count = count, .slots = 2, .size = sizeof(float)};

    for (size_t i = 0; i < steps; i++) {
        rp_chain_step *s = &c.step[c.n_steps++];
        void *stream = i + 1 == steps ? out[0] : early && i == 2 ? out[1] : NULL;

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

static void streamed_outputs_have_the_bits_of_the_kernels_alone(void **state)
{
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
                for (int kind = 0; kind < 4; kind++) {
                    const bool early = kind % 2 && steps > 3;
                    const rp_chain c = chain_of(counts[n], steps, early);
                    const rp_kernel_table *table;

                    assert_int_equal(rp_kernel_table_get(&table, level[l], &err), RP_OK);
                    memset(out, 0x7e, sizeof out);
                    rp_chain_run(&c, table, kind < 2 ? NULL : pool, 1);
                    assert_memory_equal(out[0], kept[steps - 1], counts[n] * sizeof(float));
                    if (early)
                        assert_memory_equal(out[1], kept[2], counts[n] * sizeof(float));
                    assert_int_equal(((unsigned char *)(out[0] + counts[n]))[0], 0x7e);
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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(streamed_outputs_have_the_bits_of_the_kernels_alone),
                                       cmocka_unit_test(many_streamed_outputs_are_their_own)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
