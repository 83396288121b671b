/* SPDX-License-Identifier: Apache-2.0
 * Batches as maps beside their parts written out (CONTRACT 12.3, 12.7): every batch below 60 rows in every number of
 * shards and micro-batches up to 8, of which many are empty; under sanitizers every
 * batch in every number of parts once. */
#include "tests/core/train/shard_programs.h"
#include "tests/house/sanitized.h"

enum { ROWS_MAX = 60, PARTS_MAX = 8 };

static void assert_parts(small_model *m, rp_device *device, size_t count, size_t shards, size_t micro)
{
    rp_program *flat = batch_program(m, count, shards, micro, false), *p = batch_program(m, count, shards, micro, true);
    store s = named_store(flat), t = named_store(p);
    record expected = eager_step(flat, device, &s), found;
    rp_plan *plan = plan_new(p, device, &t);
    char what[96];

    snprintf(what, sizeof what, "%zu rows, %zu shards, %zu micro-batches", count, shards, micro);
    assert_int_equal(p->n_outputs, flat->n_outputs);
    expected.n = p->n_outputs; /* the inputs may stand in another order */
    found = plan_step(p, plan, &t);
    assert_same(p, &expected, &found, what);
    rp_plan_free(plan);
    plan_passes = RP_PASSES & ~(unsigned)RP_PASS_WRITE_OUT; /* and frame by frame */
    plan = plan_new(p, device, &t);
    plan_passes = RP_PASSES;
    found = plan_step(p, plan, &t);
    assert_same(p, &expected, &found, what);
    rp_plan_free(plan);
    expected.n = flat->n_outputs + flat->n_inputs;
    record_free(&expected);
    store_free(&s);
    store_free(&t);
    rp_program_free(flat);
    rp_program_free(p);
}

/* Whether of the ways to make as many parts this one is up: they take turns from batch to batch. */
static bool takes_its_turn(size_t count, size_t shards, size_t micro)
{
    size_t ways = 0, before = 0;

    for (size_t s = 1; s <= PARTS_MAX; s++)
        if (shards * micro % s == 0 && shards * micro / s <= PARTS_MAX) {
            ways++;
            before += s < shards;
        }
    return count % ways == before;
}

static void maps_have_the_bits_of_their_parts_for_every_cut_of_a_batch(void **state)
{
    small_model *m = small_model_new();
    rp_device *device;

    (void)state;
    assert_int_equal(rp_device_cpu_new(&device, NULL, 2, NULL), RP_OK);
    for (size_t count = 1; count < ROWS_MAX; count++)
        for (size_t shards = 1; shards <= PARTS_MAX; shards++)
            for (size_t micro = 1; micro <= PARTS_MAX; micro++)
                if (!SANITIZED || takes_its_turn(count, shards, micro))
                    assert_parts(m, device, count, shards, micro);
    rp_device_free(device);
    small_model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(maps_have_the_bits_of_their_parts_for_every_cut_of_a_batch)};

    rp_set_allocator(&poisoning);
    return cmocka_run_group_tests_name("shards", tests, NULL, NULL);
}
