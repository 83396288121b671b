/* SPDX-License-Identifier: Apache-2.0
 * Bisecting two journals through their Merkle trees: the first record that differs, with one pair of digests a level. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "audit/journal.h"
#include "audit/record_tree.h"
#include "base/memory.h"

enum { MOST = 300 };

static unsigned char left[MOST * RP_RECORD_SIZE], right[MOST * RP_RECORD_SIZE];

static int setup(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof left; i++)
        left[i] = (unsigned char)(i * 2654435761u >> 13);
    memcpy(right, left, sizeof left);
    return 0;
}

static size_t levels_of(size_t n)
{
    size_t levels = 0;

    while (((size_t)1 << levels) < n)
        levels++;
    return levels;
}

static void the_tree_has_the_root_that_the_manifest_records(void **state)
{
    (void)state;
    for (size_t n = 1; n <= MOST; n++) {
        rp_record_tree *tree;
        rp_digest root;

        assert_int_equal(rp_record_tree_new(&tree, left, RP_RECORD_SIZE, n, NULL), RP_OK);
        assert_int_equal(rp_merkle_records(&root, left, RP_RECORD_SIZE, n, NULL), RP_OK);
        assert_memory_equal(rp_record_tree_root(tree), &root, sizeof root);
        rp_record_tree_free(tree);
    }
}

static size_t bisect(size_t n, uint64_t *compared)
{
    rp_record_tree *a, *b;
    size_t at;

    *compared = 0;
    assert_int_equal(rp_record_tree_new(&a, left, RP_RECORD_SIZE, n, NULL), RP_OK);
    assert_int_equal(rp_record_tree_new(&b, right, RP_RECORD_SIZE, n, NULL), RP_OK);
    at = rp_record_tree_bisect(a, b, compared);
    rp_record_tree_free(a);
    rp_record_tree_free(b);
    return at;
}

static void equal_journals_take_one_comparison(void **state)
{
    uint64_t compared;

    (void)state;
    for (size_t n = 1; n <= 40; n++) {
        assert_int_equal(bisect(n, &compared), n);
        assert_int_equal(compared, 1);
    }
}

static void the_first_of_many_differences_is_found_in_log_n_comparisons(void **state)
{
    static const size_t sizes[] = {1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 31, 33, 64, 65, 100, 255, 256, 257, 300};
    uint64_t compared;

    (void)state;
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
        for (size_t first = 0; first < sizes[k]; first += sizes[k] > 40 ? 3 : 1) {
            for (size_t i = first; i < sizes[k]; i += 1 + first % 5)
                right[i * RP_RECORD_SIZE + i % RP_RECORD_SIZE] ^= 0x10;
            assert_int_equal(bisect(sizes[k], &compared), first);
            assert_true(compared <= 1 + levels_of(sizes[k]));
            memcpy(right, left, sizeof left);
        }
}

static void a_tree_of_nothing_is_refused(void **state)
{
    rp_record_tree *tree;
    rp_error err = {0};

    (void)state;
    assert_int_equal(rp_record_tree_new(&tree, left, RP_RECORD_SIZE, 0, &err), RP_EARG);
    assert_null(tree);
    assert_int_equal(rp_record_tree_new(&tree, left, RP_RECORD_SIZE, SIZE_MAX, &err), RP_EARG);
    rp_record_tree_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_tree_has_the_root_that_the_manifest_records),
        cmocka_unit_test(equal_journals_take_one_comparison),
        cmocka_unit_test(the_first_of_many_differences_is_found_in_log_n_comparisons),
        cmocka_unit_test(a_tree_of_nothing_is_refused),
    };

    return cmocka_run_group_tests(tests, setup, NULL);
}
