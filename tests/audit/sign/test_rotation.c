/* SPDX-License-Identifier: Apache-2.0
 * Hand-overs of keys: one text, one signer, nothing else that passes for one. What they decide:
 * tests/cli/cli_rotation.sh. */
#include "tests/audit/archive/archive_sample.h"

#include <stdlib.h>

#include "audit/sign/rotation.h"
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
    rp_json *predicate;
    rp_buffer statement = {0};
    rp_statement checked;
    rp_rotation read;
    char *text;

    (void)state;
    make(&old, &successor, &text);
    trusted[0] = old;
    /* nor a hand-over a statement, whatever its type says */
    assert_int_equal(rp_statement_check(&checked, text, strlen(text), "text", trusted, 1, &err), RP_ESIGN);
    predicate = rp_json_pack("{s:s, s:s}", "from", "2030-01-01T00:00:00Z", "key", "");
    assert_ok(rp_statement_write(&statement, old, id, RP_ROTATION_TYPE, predicate, &err));
    assert_int_equal(rp_rotation_read(&read, &by, statement.data, statement.size, "statement", trusted, 1, &err),
                     RP_ESIGN);
    rp_rotation_clear(&read);
    rp_json_free(predicate);
    rp_buffer_free(&statement);
    free(text);
    rp_key_free(old);
    rp_key_free(successor);
}

/* ---- signed by the right key, and still none ---- */

/* The payload of a hand-over, with one thing about it changed by what is merged in or put in its place. */
static rp_json *payload_of(const rp_key *successor, const char *pem)
{
    return rp_json_pack("{s:s, s:{s:s, s:s}, s:s, s:[{s:{s:s}, s:s}]}", "_type", RP_STATEMENT_TYPE, "predicate", "from",
                        "2030-01-01T00:00:00Z", "key", pem, "predicateType", RP_ROTATION_TYPE, "subject", "digest",
                        "sha256", rp_key_id(successor), "name", "key");
}

static rp_status read_signed(const rp_key *old, const rp_json *payload)
{
    const rp_key *by, *trusted[] = {old};
    rp_json *envelope;
    rp_buffer text = {0}, out = {0};
    rp_rotation read;
    rp_status status;

    assert_ok(rp_json_write(payload, &text, &err));
    assert_ok(rp_envelope_make(&envelope, old, text.data, text.size, &err));
    assert_ok(rp_json_write(envelope, &out, &err));
    status = rp_rotation_read(&read, &by, out.data, out.size, "forged", trusted, 1, &err);
    rp_rotation_clear(&read);
    rp_json_free(envelope);
    rp_buffer_free(&text);
    rp_buffer_free(&out);
    return status;
}

/* value NULL: the member is taken away. */
static void expect_forged(const rp_key *old, rp_json *payload, rp_json *object, const char *member, rp_json *value,
                          const char *says)
{
    if (value)
        assert_int_equal(rp_json_object_set_new(object, member, value), 0);
    else
        assert_int_equal(rp_json_object_del(object, member), 0);
    if (read_signed(old, payload) != RP_ESIGN || !strstr(err.text, says))
        fail_msg("%s: found \"%s\", expected \"%s\"", member, err.text, says);
    rp_json_free(payload);
}

static void a_signed_text_of_another_form_is_no_hand_over(void **state)
{
    static const char form[] = "not a hand-over of a key", exactly[] = "says exactly from when";
    rp_key *old, *successor;
    rp_buffer pem = {0};
    char *text;
    rp_json *p;

#define FORGE(object, member, value, says) \
    (p = payload_of(successor, (char *)pem.data), expect_forged(old, p, object, member, value, says))
#define SUBJECT rp_json_array_get(rp_json_object_get(p, "subject"), 0)
#define DIGEST rp_json_object_get(SUBJECT, "digest")
#define PREDICATE rp_json_object_get(p, "predicate")
    (void)state;
    make(&old, &successor, &text);
    assert_ok(rp_key_public_text(successor, &pem, &err));
    rp_buffer_u8(&pem, 0);
    p = payload_of(successor, (char *)pem.data);
    assert_ok(read_signed(old, p));
    rp_json_free(p);
    FORGE(p, "_type", rp_json_string("https://in-toto.io/Statement/v0.1"), form);
    FORGE(p, "_type", NULL, form);
    FORGE(p, "predicateType", rp_json_string("https://reprise.invalid/key-rotation/v2"), form);
    FORGE(p, "predicateType", rp_json_null(), form);
    FORGE(p, "more", rp_json_boolean(true), form);
    FORGE(SUBJECT, "name", rp_json_string("manifest.json"), form);
    FORGE(SUBJECT, "name", rp_json_integer(1), form);
    FORGE(SUBJECT, "more", rp_json_boolean(true), form);
    FORGE(DIGEST, "sha256", rp_json_integer(7), form);
    FORGE(DIGEST, "sha512", rp_json_string("00"), form);
    FORGE(p, "subject", rp_json_pack("[O, O]", SUBJECT, SUBJECT), form);
    FORGE(PREDICATE, "more", rp_json_boolean(true), exactly);
    FORGE(PREDICATE, "from", rp_json_string("2030-01-01"), exactly);
    FORGE(PREDICATE, "from", rp_json_integer(1893456000), exactly);
    FORGE(PREDICATE, "key", rp_json_integer(1), exactly);
    FORGE(PREDICATE, "key", NULL, exactly);
    FORGE(PREDICATE, "key", rp_json_string("-----BEGIN PUBLIC KEY-----\n"), "not one that can be trusted");
    FORGE(DIGEST, "sha256", rp_json_string(rp_key_id(old)), "not the one whose id it names");
    pem.data[pem.size - 1] = '\n'; /* the same key by another text */
    rp_buffer_u8(&pem, 0);
    FORGE(p, "_type", rp_json_string(RP_STATEMENT_TYPE), "not the one whose id it names");
    pem.size = 0;
    assert_ok(rp_key_public_text(old, &pem, &err));
    rp_buffer_u8(&pem, 0);
    p = payload_of(old, (char *)pem.data);
    assert_int_equal(read_signed(old, p), RP_ESIGN);
    assert_non_null(strstr(err.text, "a key cannot succeed itself"));
    rp_json_free(p);
#undef FORGE
#undef SUBJECT
#undef DIGEST
#undef PREDICATE
    rp_buffer_free(&pem);
    free(text);
    rp_key_free(old);
    rp_key_free(successor);
}

static void a_store_takes_so_many_hand_overs_and_no_larger_ones(void **state)
{
    rp_key *old, *successor;
    rp_trust_store *store;
    char *text, *large = calloc(1, RP_ROTATION_LIMIT + 2);

    (void)state;
    assert_non_null(large);
    make(&old, &successor, &text);
    assert_ok(rp_trust_store_new(&store, &err));
    for (size_t i = 0; i < RP_ROTATIONS_MAX; i++)
        assert_ok(rp_trust_store_add_rotation_text(store, text, strlen(text), "text", &err));
    assert_int_equal(rp_trust_store_add_rotation_text(store, text, strlen(text), "text", &err), RP_EARG);
    assert_non_null(strstr(err.text, "more than 64 hand-overs"));
    memset(large, ' ', RP_ROTATION_LIMIT + 1);
    assert_int_equal(rp_trust_store_add_rotation_text(store, large, RP_ROTATION_LIMIT + 1, "large", &err), RP_ESIGN);
    assert_non_null(strstr(err.text, "at most 16384"));
    free(large);
    free(text);
    rp_trust_store_free(store);
    rp_key_free(old);
    rp_key_free(successor);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_hand_over_says_who_and_from_when),
        cmocka_unit_test(a_hand_over_has_one_text_and_no_flipped_bit_is_taken),
        cmocka_unit_test(a_statement_about_an_archive_is_no_hand_over),
        cmocka_unit_test(a_signed_text_of_another_form_is_no_hand_over),
        cmocka_unit_test(a_store_takes_so_many_hand_overs_and_no_larger_ones),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
