/* SPDX-License-Identifier: Apache-2.0
 * Hand-overs of keys: one text, one signer, nothing else that passes for one. What they decide: tests/cli_rotation.sh. */
#include "archive_sample.h"

#include "audit/rotation.h"
#include "rp/trust.h"

static rp_error err;

static void make(rp_key **old, rp_key **successor, char **text)
{
    assert_ok(rp_key_generate(old, &err));
    assert_ok(rp_key_generate(successor, &err));
    assert_ok(rp_key_rotation(*old, *successor, INT64_C(1893456000), text, &err));
}

static void a_hand_over_says_who_and_from_when(void **state)
{
    rp_key *old, *successor;
    const rp_key *by, *trusted[1];
    rp_rotation read;
    char *text;

    (void)state;
    make(&old, &successor, &text);
    trusted[0] = old;
    assert_ok(rp_rotation_read(&read, &by, text, strlen(text), "text", trusted, 1, &err));
    assert_ptr_equal(by, old);
    assert_string_equal(read.old_id, rp_key_id(old));
    assert_string_equal(rp_key_id(read.successor), rp_key_id(successor));
    assert_true(read.from == INT64_C(1893456000));
    rp_rotation_clear(&read);
    trusted[0] = successor;
    assert_ok(rp_rotation_read(&read, &by, text, strlen(text), "text", trusted, 1, &err));
    assert_null(by); /* a claim */
    rp_rotation_clear(&read);
    free(text);
    assert_int_equal(rp_key_rotation(old, old, 0, &text, &err), RP_EARG);
    assert_int_equal(rp_key_rotation(old, successor, -1, &text, &err), RP_EARG);
    rp_key_free(old);
    rp_key_free(successor);
}

static void a_hand_over_has_one_text_and_no_flipped_bit_is_taken(void **state)
{
    rp_key *old, *successor;
    const rp_key *by, *trusted[1];
    rp_rotation read;
    char *text;
    size_t size;

    (void)state;
    make(&old, &successor, &text);
    trusted[0] = old;
    size = strlen(text);
    for (size_t bit = 0; bit < 8 * size; bit++) {
        text[bit / 8] = (char)(text[bit / 8] ^ 1 << bit % 8);
        if (rp_rotation_read(&read, &by, text, size, "flipped", trusted, 1, &err) == RP_OK && by != NULL)
            fail_msg("bit %zu", bit);
        rp_rotation_clear(&read);
        text[bit / 8] = (char)(text[bit / 8] ^ 1 << bit % 8);
    }
    for (size_t cut = 0; cut < size; cut += 7) {
        assert_int_equal(rp_rotation_read(&read, &by, text, cut, "cut", trusted, 1, &err), RP_ESIGN);
        rp_rotation_clear(&read);
    }
    free(text);
    rp_key_free(old);
    rp_key_free(successor);
}

static void a_statement_about_an_archive_is_no_hand_over(void **state)
{
    static const char id[] = "91e31f5ee1647d803ed8a9b134cd2436c2d20ff0bafb631c7c99291d1054b7a5";
    rp_key *old, *successor;
    const rp_key *by, *trusted[1];
    json_t *predicate;
    rp_buffer statement = {0};
    rp_statement checked;
    rp_rotation read;
    char *text;

    (void)state;
    make(&old, &successor, &text);
    trusted[0] = old;
    /* nor a hand-over a statement, whatever its type says */
    assert_int_equal(rp_statement_check(&checked, text, strlen(text), "text", trusted, 1, &err), RP_ESIGN);
    predicate = json_pack("{s:s, s:s}", "from", "2030-01-01T00:00:00Z", "key", "");
    assert_ok(rp_statement_write(&statement, old, id, RP_ROTATION_TYPE, predicate, &err));
    assert_int_equal(rp_rotation_read(&read, &by, statement.data, statement.size, "statement", trusted, 1, &err), RP_ESIGN);
    rp_rotation_clear(&read);
    json_decref(predicate);
    rp_buffer_free(&statement);
    free(text);
    rp_key_free(old);
    rp_key_free(successor);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_hand_over_says_who_and_from_when),
        cmocka_unit_test(a_hand_over_has_one_text_and_no_flipped_bit_is_taken),
        cmocka_unit_test(a_statement_about_an_archive_is_no_hand_over),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
