/* SPDX-License-Identifier: Apache-2.0
 * Philox and its draws: known answers, the worked examples of CONTRACT 6, and the properties the contract states. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "determinism/bits.h"
#include "determinism/philox.h"

static void assert_block(const uint32_t counter[4], const uint32_t key[2], const uint32_t expected[4])
{
    rp_philox4 found = rp_philox(counter, key);

    for (int i = 0; i < 4; i++)
        assert_int_equal(found.v[i], expected[i]);
}

static void philox_gives_the_published_known_answers(void **state)
{
    (void)state;
    assert_block((uint32_t[4]){0}, (uint32_t[2]){0}, (uint32_t[4]){0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
    assert_block((uint32_t[4]){~0u, ~0u, ~0u, ~0u}, (uint32_t[2]){~0u, ~0u},
                 (uint32_t[4]){0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
    assert_block((uint32_t[4]){0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, (uint32_t[2]){0xa4093822, 0x299f31d0},
                 (uint32_t[4]){0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

/* Values from a separate implementation written from the contract's text. */
static void words_match_the_worked_examples(void **state)
{
    static const uint32_t first[8] = {0xb83a9026, 0x09b49a48, 0xa38e6fca, 0x298b8554,
                                      0x4ce5e833, 0x3c8d0ea4, 0xdab1d617, 0x81202c08};
    static const uint32_t wide[4] = {0xac894b2a, 0x9d5b08cf, 0x3158b5aa, 0x7b929ed2};
    const uint64_t block = 0x800000000003;

    (void)state;
    for (uint64_t i = 0; i < 8; i++)
        assert_int_equal(rp_random_u32(42, 3, 1, i), first[i]);
    for (uint64_t i = 0; i < 4; i++)
        assert_int_equal(rp_random_u32(0x0123456789ABCDEF, 0xA1B2C3D4E5F6, 7, 4 * block + i), wide[i]);
}

static void every_argument_reaches_the_words(void **state)
{
    uint32_t base = rp_random_u32(5, 6, 7, 8);

    (void)state;
    for (int bit = 0; bit < 64; bit++) {
        uint64_t one = (uint64_t)1 << bit;

        assert_int_not_equal(rp_random_u32(5 ^ one, 6, 7, 8), base);
        if (bit < 48)
            assert_int_not_equal(rp_random_u32(5, 6 ^ one, 7, 8), base);
        if (bit < 32)
            assert_int_not_equal(rp_random_u32(5, 6, 7 ^ (uint32_t)one, 8), base);
        if (bit < 50)
            assert_int_not_equal(rp_random_u32(5, 6, 7, 8 ^ one), base);
    }
}

static void blocks_together_are_the_blocks_alone(void **state)
{
    static const uint64_t first[] = {0, 1, 0xFFFFFFFFu - 5, ((uint64_t)1 << 48) - 30};
    const uint64_t seed = 0x0123456789ABCDEFu, step = ((uint64_t)1 << 40) + 7;

    (void)state;
    for (size_t f = 0; f < sizeof first / sizeof first[0]; f++)
        for (size_t count = 0; count <= 27; count++) {
            rp_philox4 together[28];

            memset(together, 0xA5, sizeof together);
            rp_random_blocks(together, seed, step, 3, first[f], count);
            for (size_t i = 0; i < count; i++) {
                const rp_philox4 alone = rp_random_block(seed, step, 3, first[f] + i);

                assert_memory_equal(&together[i], &alone, sizeof alone);
            }
            assert_int_equal(together[count].v[0], 0xA5A5A5A5u);
        }
}

static void uniforms_take_the_top_bits_and_never_reach_one(void **state)
{
    (void)state;
    assert_true(rp_uniform_f32(0) == 0.0f);
    assert_true(rp_uniform_f32(0xFF) == 0.0f);
    assert_int_equal(rp_bits_f32(rp_uniform_f32(0x100)), rp_bits_f32(0x1p-24f));
    assert_int_equal(rp_bits_f32(rp_uniform_f32(0x80000000)), rp_bits_f32(0.5f));
    assert_int_equal(rp_bits_f32(rp_uniform_f32(UINT32_MAX)), 0x3F7FFFFF);
    assert_int_equal(rp_bits_f32(rp_uniform_f32(0xb83a9026)), 0x3F383A90);
    assert_true(rp_uniform_f64(0xb83a9026, 0x09b49a48) * 0x1p53 == 0x17075204C13693);
    assert_true(rp_uniform_f64(0, 0x7FF) == 0.0);
    assert_int_equal(rp_bits_f64(rp_uniform_f64(0, 0x800)), rp_bits_f64(0x1p-53));
    assert_int_equal(rp_bits_f64(rp_uniform_f64(1, 0)), rp_bits_f64(0x1p-32));
    assert_int_equal(rp_bits_f64(rp_uniform_f64(UINT32_MAX, UINT32_MAX)), 0x3FEFFFFFFFFFFFFF);
}

/* The contract's log and cospi are within a few ulps of the true ones; the references are true values, rounded. */
static void normals_are_box_muller_of_their_block(void **state)
{
    static const double truth[4] = {-0x1.066c7815fe2e8p+0, 0x1.07b019a87f32fp-1, 0x1.ecdd2bb50497bp+0,
                                    -0x1.f25b70d40c3d5p-2};
    static const rp_philox4 corner = {{0, 0, 0, 0}};
    static const rp_philox4 far = {{~0u, ~0u, 0, 0}};
    double largest = rp_normal_f64(far), reference = 0x1.124b2800eda48p+3;

    (void)state;
    for (uint64_t i = 0; i < 4; i++) {
        double found = rp_normal_f64(rp_random_block(42, 3, 1, i));

        assert_in_range(rp_ulps(&found, &truth[i], RP_F64), 0, 8);
    }
    assert_true(rp_normal_f64(corner) == 0.0);
    assert_in_range(rp_ulps(&largest, &reference, RP_F64), 0, 4);
}

static void normals_have_the_moments_of_a_normal(void **state)
{
    enum { N = 100000 };
    double sum = 0, squares = 0;

    (void)state;
    for (uint64_t i = 0; i < N; i++) {
        double z = rp_normal_f64(rp_random_block(1, 0, 0, i));

        sum += z;
        squares += z * z;
    }
    assert_true(sum / N < 0.015 && sum / N > -0.015);
    assert_true(squares / N < 1.02 && squares / N > 0.98);
}

static void permutation_of_ten_matches_the_worked_example(void **state)
{
    static const int64_t expected[10] = {7, 3, 4, 6, 9, 0, 8, 2, 5, 1};
    int64_t found[10];

    (void)state;
    rp_permutation(found, 10, 42, 0, 1);
    assert_memory_equal(found, expected, sizeof found);
    rp_permutation(found, 0, 42, 0, 1);
    assert_memory_equal(found, expected, sizeof found);
    rp_permutation(found, 1, 42, 0, 1);
    assert_int_equal(found[0], 0);
}

static uint64_t fnv(const int64_t *value, size_t n)
{
    uint64_t hash = 0xcbf29ce484222325;

    for (size_t i = 0; i < n; i++)
        for (int byte = 0; byte < 8; byte++)
            hash = (hash ^ (uint8_t)((uint64_t)value[i] >> 8 * byte)) * 0x100000001b3;
    return hash;
}

/* FNV-1a of the indices from the separate implementation, which rejected six words on the way. */
static void a_long_permutation_matches_including_rejected_words(void **state)
{
    enum { N = 300000 };
    int64_t *p = malloc(N * sizeof *p);
    unsigned char *seen = calloc(N, 1);

    (void)state;
    assert_non_null(p);
    assert_non_null(seen);
    rp_permutation(p, N, 42, 0, 1);
    assert_true(fnv(p, N) == 0x55e9813444fb9639);
    for (size_t i = 0; i < N; i++) {
        assert_in_range(p[i], 0, N - 1);
        assert_false(seen[p[i]]);
        seen[p[i]] = 1;
    }
    free(seen);
    free(p);
}

/* 6 orders of 3 elements over 60000 seeds: chi-squared with 5 degrees of freedom stays below its 0.999 quantile. */
static void permutations_of_three_are_equally_frequent(void **state)
{
    enum { TRIALS = 60000 };
    unsigned count[27] = {0};
    double chi = 0;

    (void)state;
    for (uint64_t seed = 0; seed < TRIALS; seed++) {
        int64_t p[3];

        rp_permutation(p, 3, seed, 0, 0);
        count[9 * p[0] + 3 * p[1] + p[2]]++;
    }
    for (int i = 0; i < 27; i++) {
        double off = count[i] - TRIALS / 6.0;

        chi += count[i] ? off * off / (TRIALS / 6.0) : 0;
    }
    assert_true(chi < 20.52);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(philox_gives_the_published_known_answers),
        cmocka_unit_test(words_match_the_worked_examples),
        cmocka_unit_test(every_argument_reaches_the_words),
        cmocka_unit_test(blocks_together_are_the_blocks_alone),
        cmocka_unit_test(uniforms_take_the_top_bits_and_never_reach_one),
        cmocka_unit_test(normals_are_box_muller_of_their_block),
        cmocka_unit_test(normals_have_the_moments_of_a_normal),
        cmocka_unit_test(permutation_of_ten_matches_the_worked_example),
        cmocka_unit_test(a_long_permutation_matches_including_rejected_words),
        cmocka_unit_test(permutations_of_three_are_equally_frequent),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
