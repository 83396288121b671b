/* SPDX-License-Identifier: Apache-2.0
 * Timestamps beside statements: what is accepted, and that nothing weaker, changed or moved is. The responses are those
 * of tests/fuzz/corpus/timestamp, made by `openssl ts` under the roots there; tests/cli/cli_timestamp.sh runs an
 * authority of its own. */
#include "tests/audit/archive/archive_sample.h"

#include "audit/sign/der.h"
#include "audit/trust/timestamp.h"
#include "base/file.h"

#define CORPUS RP_SOURCE_DIR "/tests/fuzz/corpus/timestamp/"

static rp_error err;

static void load(rp_buffer *out, const char *name)
{
    char path[512];

    (void)snprintf(path, sizeof path, CORPUS "%s", name);
    assert_ok(rp_file_read(path, 1 << 20, out, &err));
}

static rp_trust_store *store_of(const char *root)
{
    rp_trust_store *store;
    char path[512];

    assert_ok(rp_trust_store_new(&store, &err));
    (void)snprintf(path, sizeof path, CORPUS "%s", root);
    assert_ok(rp_trust_store_add(store, RP_TRUST_TSA, path, &err));
    return store;
}

static rp_status parse(const char *name)
{
    rp_buffer bytes = {0};
    rp_timestamp timestamp;
    rp_status status;

    load(&bytes, name);
    status = rp_timestamp_parse(&timestamp, bytes.data, bytes.size, name, &err);
    rp_timestamp_clear(&timestamp);
    rp_buffer_free(&bytes);
    return status;
}

static void der_has_one_form(void **state)
{
    static const struct {
        const char *bytes;
        size_t size;
        bool good;
    } cases[] = {
        {"\x30\x03\x02\x01\x05", 5, true},
        {"\x30\x03\x02\x01\x05\x00", 6, false},     /* followed by a byte */
        {"\x30\x03\x02\x01", 4, false},             /* cut short */
        {"\x30\x80\x02\x01\x05\x00\x00", 7, false}, /* indefinite length */
        {"\x30\x81\x03\x02\x01\x05", 6, false},     /* longer length than need be */
        {"\x30\x82\x00\x03\x02\x01\x05", 7, false},
        {"\x30\x04\x02\x02\x00\x05", 6, false}, /* longer integer than need be */
        {"\x30\x04\x02\x02\xFF\x85", 6, false},
        {"\x30\x02\x02\x00", 4, false},
        {"\x01\x01\x01", 3, false}, /* true is FF */
        {"\x01\x01\xFF", 3, true},
        {"\x05\x01\x00", 3, false},
        {"\x06\x02\x80\x01", 4, false}, /* identifier with a leading zero */
        {"\x06\x01\x81", 3, false},
        {"\x03\x02\x01\x01", 4, false}, /* an unused bit is set */
        {"\x03\x01\x01", 3, false},
        {"\x24\x03\x04\x01\x00", 5, false}, /* a string in pieces */
        {"\x10\x00", 2, false},             /* a sequence that is none */
        {"\x1F\x01\x00", 3, false},         /* high tag */
        {"\x00\x00", 2, false},
        {"\x18\x0F"
         "20261121150405Z",
         17, true},
        {"\x18\x11"
         "20261121150405.5Z",
         19, true},
        {"\x18\x11"
         "20261121150405.0Z",
         19, false},
        {"\x18\x10"
         "20261121150405.Z",
         18, false},
        {"\x18\x0F"
         "20240229235959Z",
         17, true},
        {"\x18\x0F"
         "20230229000000Z",
         17, false}, /* no such day */
        {"\x18\x0F"
         "20261301000000Z",
         17, false},
        {"\x18\x0F"
         "20260100000000Z",
         17, false},
        {"\x18\x0F"
         "20261121240000Z",
         17, false},
        {"\x18\x0F"
         "20261121150460Z",
         17, false},
        {"\x17\x0D"
         "000229000000Z",
         15, true}, /* 2000 */
        {"\x17\x0D"
         "500229000000Z",
         15, false}, /* 1950 */
        {"\x17\x0D"
         "991131000000Z",
         15, false},
        {"\x17\x0B"
         "2611211504Z",
         13, false},
        {"\x17\x11"
         "261121150405+0100",
         19, false},
    };
    unsigned char deep[200];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if ((rp_der_fault((const unsigned char *)cases[i].bytes, cases[i].size) == NULL) != cases[i].good)
            fail_msg("case %zu", i);
    assert_non_null(rp_der_fault((const unsigned char *)"", 0));
    for (size_t i = 0; i < 60; i++) { /* 60 sequences in each other */
        deep[2 * i] = 0x30;
        deep[2 * i + 1] = (unsigned char)(2 * (59 - i));
    }
    assert_non_null(rp_der_fault(deep, 120));
}

static void times_have_one_text(void **state)
{
    static const char *const bad[] = {"",
                                      "2026-11-21 15:04:05Z",
                                      "2026-11-21T15:04:05",
                                      "2026-11-21T15:04:05+00:00",
                                      "2026-02-29T00:00:00Z",
                                      "2026-13-01T00:00:00Z",
                                      "2026-00-01T00:00:00Z",
                                      "2026-11-00T00:00:00Z",
                                      "2026-11-21T24:00:00Z",
                                      "2026-11-21T15:60:00Z",
                                      "2026-11-21T15:04:60Z",
                                      "1969-12-31T23:59:59Z",
                                      "+026-11-21T15:04:05Z",
                                      "2026-11-21T15:04:05ZZ"};
    static const struct {
        const char *text;
        int64_t seconds;
    } good[] = {{"1970-01-01T00:00:00Z", 0},
                {"2000-02-29T12:00:00Z", 951825600},
                {"2026-11-21T15:04:05Z", 1795273445},
                {"2100-03-01T00:00:00Z", 4107542400},
                {"9999-12-31T23:59:59Z", 253402300799}};
    char text[RP_MOMENT_TEXT];
    int64_t at;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(rp_trust_time(&at, bad[i], &err), RP_EARG);
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_ok(rp_trust_time(&at, good[i].text, &err));
        assert_true(at == good[i].seconds);
        assert_string_equal(rp_moment_text(text, at), good[i].text);
    }
    for (at = 0; at < 4200000000; at += 86400 * 13 + 4567) { /* there and back */
        int64_t again = -1;
        assert_true(rp_moment_parse(&again, rp_moment_text(text, at)) && again == at);
    }
    assert_string_equal(rp_moment_text(text, -1), "?");
    assert_string_equal(rp_moment_text(text, 253402300800), "?");
}

static void only_sha2_responses_in_strict_der_are_read(void **state)
{
    static const char *const good[] = {"good.tsr", "good-sha512.tsr", "good-rsa.tsr"};
    static const struct {
        const char *name, *says;
    } bad[] = {
        {"bad-sha1.tsr", "a digest other than"},
        {"bad-ess-sha1.tsr", "by a SHA-2 digest"},
        {"bad-trailing.tsr", "something follows"},
        {"bad-truncated.tsr", "cut short"},
        {"bad-refused.tsr", "refused"},
        {"bad-no-certificate.tsr", "certificate is not in it"},
        {"bad-bare-token.tsr", "not a timestamp response"},
        {"statement.json", "timestamp: "},
        {"request.tsq", "timestamp: "},
    };

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_ok(parse(good[i]));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(parse(bad[i].name), RP_ESIGN);
        if (strstr(err.text, bad[i].says) == NULL)
            fail_msg("%s: %s", bad[i].name, err.text);
    }
}

static void rsa_authorities_count_only_where_they_are_admitted(void **state)
{
    rp_trust_store *store = store_of("rsaroot.pem");
    rp_buffer bytes = {0};
    rp_timestamp timestamp;
    rp_chain_verdict verdict;

    (void)state;
    load(&bytes, "good-rsa.tsr");
    assert_ok(rp_timestamp_parse(&timestamp, bytes.data, bytes.size, "rsa", &err));
    assert_int_equal(rp_timestamp_judge(&verdict, &timestamp, store, &err), RP_ESIGN);
    assert_non_null(strstr(err.text, "an RSA key"));
    rp_trust_store_allow_rsa_timestamps(store);
    assert_ok(rp_timestamp_judge(&verdict, &timestamp, store, &err));
    assert_string_equal(verdict.anchor, "CN=rsaroot,O=Tests");
    rp_timestamp_clear(&timestamp);
    rp_buffer_free(&bytes);
    rp_trust_store_free(store);
}

/* Some bits are in no signature: OpenSSL's CMS has version numbers and a list of hashes that say nothing. They change
 * nothing that is believed. */
static void no_flipped_bit_changes_what_a_timestamp_says(void **state)
{
    rp_trust_store *store = store_of("root.pem");
    rp_buffer bytes = {0}, statement = {0};
    rp_timestamp timestamp;
    rp_chain_verdict verdict;
    int64_t time;
    size_t harmless = 0;

    (void)state;
    load(&bytes, "good.tsr");
    load(&statement, "statement.json");
    assert_ok(rp_timestamp_parse(&timestamp, bytes.data, bytes.size, "good", &err));
    assert_ok(rp_timestamp_covers(&timestamp, statement.data, statement.size, "good", &err));
    assert_ok(rp_timestamp_judge(&verdict, &timestamp, store, &err));
    time = timestamp.time;
    rp_timestamp_clear(&timestamp);
    for (size_t bit = 0; bit < 8 * bytes.size; bit++) {
        bytes.data[bit / 8] ^= (unsigned char)(1u << bit % 8);
        if (rp_timestamp_parse(&timestamp, bytes.data, bytes.size, "flipped", &err) == RP_OK &&
            rp_timestamp_judge(&verdict, &timestamp, store, &err) == RP_OK) {
            assert_true(timestamp.time == time);
            assert_ok(rp_timestamp_covers(&timestamp, statement.data, statement.size, "flipped", &err));
            assert_string_equal(verdict.subject, "CN=tsa,O=Tests");
            harmless++;
        }
        rp_timestamp_clear(&timestamp);
        bytes.data[bit / 8] ^= (unsigned char)(1u << bit % 8);
    }
    assert_true(harmless < 100);
    for (size_t size = 0; size < bytes.size; size++) {
        assert_int_equal(rp_timestamp_parse(&timestamp, bytes.data, size, "cut", &err), RP_ESIGN);
        rp_timestamp_clear(&timestamp);
    }
    rp_buffer_free(&bytes);
    rp_buffer_free(&statement);
    rp_trust_store_free(store);
}

static rp_status verify(const rp_buffer *archive, const rp_trust_store *store, rp_verification **result)
{
    rp_buffer pem = {0};
    rp_key *key;
    const rp_key *trusted[1];
    const rp_verify_options options = {.trust = store};
    rp_status status;

    load(&pem, "key.pub.txt");
    assert_ok(rp_key_public_from_pem(&key, (const char *)pem.data, pem.size, "key", &err));
    trusted[0] = key;
    status = rp_verify_memory(archive->data, archive->size, "archive", trusted, 1, &options, result, NULL, &err);
    rp_key_free(key);
    rp_buffer_free(&pem);
    return status;
}

static void a_dated_archive_tells_when_and_by_whom(void **state)
{
    rp_trust_store *store = store_of("root.pem"), *other = store_of("rsaroot.pem");
    rp_buffer archive = {0};
    rp_verification *result;

    (void)state;
    load(&archive, "dated.reprise");
    assert_ok(verify(&archive, store, &result));
    assert_int_equal(result->timestamps, 1);
    assert_string_equal(result->timestamp[0].member, "signatures/run.dsse.tsr");
    assert_string_equal(result->timestamp[0].statement, RP_RUN_STATEMENT);
    assert_string_equal(result->timestamp[0].authority, "CN=tsa,O=Tests");
    assert_string_equal(result->timestamp[0].anchor, "CN=tsaroot,O=Tests");
    rp_verification_free(result);
    assert_ok(verify(&archive, NULL, &result)); /* nobody asked: shown, and counted for nothing */
    assert_null(result->timestamp[0].anchor);
    rp_verification_free(result);
    assert_int_equal(verify(&archive, other, &result), RP_ESIGN);
    assert_non_null(strstr(err.text, "signatures/run.dsse.tsr: timestamp not accepted: "));
    rp_trust_store_require_crl(store);
    assert_int_equal(verify(&archive, store, &result), RP_ESIGN);
    assert_non_null(strstr(err.text, "no revocation list"));
    rp_trust_store_free(store);
    rp_trust_store_free(other);
    rp_buffer_free(&archive);
}

static void a_timestamp_of_other_bytes_or_of_no_statement_is_an_error(void **state)
{
    static const char name[] = "signatures/run.dsse.tsr", moved[] = "signatures/sun.dsse.tsr";
    unsigned char header[512];
    rp_buffer archive = {0};
    size_t at = 0;

    (void)state;
    load(&archive, "dated.reprise");
    while (memcmp(archive.data + at, name, sizeof name) != 0)
        at += 512;
    assert_true(rp_ustar_header(header, moved, 962));
    memcpy(archive.data + at, header, sizeof header);
    assert_int_equal(verify(&archive, NULL, NULL), RP_ESIGN);
    assert_non_null(strstr(err.text, "signatures/sun.dsse.tsr: timestamp: the statement that it dates"));
    assert_true(rp_ustar_header(header, name, 962));
    memcpy(archive.data + at, header, sizeof header);
    assert_ok(verify(&archive, NULL, NULL));
    rp_buffer_free(&archive);
}

static void requests_are_strict_der_and_never_the_same(void **state)
{
    static const char *const hashes[] = {NULL, "sha256", "sha384", "sha512"};
    rp_buffer bytes = {0};
    rp_archive *archive;
    char *first, *second;
    size_t size, again;

    (void)state;
    load(&bytes, "dated.reprise");
    assert_ok(rp_archive_open_memory(&archive, bytes.data, bytes.size, "dated", &err));
    for (size_t i = 0; i < 4; i++) {
        assert_ok(rp_timestamp_request(archive, NULL, hashes[i], &first, &size, &err));
        assert_ok(rp_timestamp_request(archive, RP_RUN_STATEMENT, hashes[i], &second, &again, &err));
        assert_null(rp_der_fault((unsigned char *)first, size));
        assert_true(size != again || memcmp(first, second, size) != 0);
        free(first);
        free(second);
    }
    assert_int_equal(rp_timestamp_request(archive, NULL, "sha1", &first, &size, &err), RP_EARG);
    assert_int_equal(rp_timestamp_request(archive, "signatures/none.dsse.json", NULL, &first, &size, &err), RP_EARG);
    assert_int_equal(rp_timestamp_request(archive, "data/hello.txt", NULL, &first, &size, &err), RP_EARG);
    rp_archive_close(archive);
    rp_buffer_free(&bytes);
}

static void names_of_timestamps_follow_from_statements(void **state)
{
    char name[RP_MEMBER_NAME];

    (void)state;
    assert_ok(rp_timestamp_member(name, RP_RUN_STATEMENT, &err));
    assert_string_equal(name, "signatures/run.dsse.tsr");
    assert_true(rp_timestamp_member_valid(name));
    rp_timestamp_statement(name, "signatures/a.b.dsse.tsr");
    assert_string_equal(name, "signatures/a.b.dsse.json");
    assert_int_equal(rp_timestamp_member(name, "signatures/run.tsr", &err), RP_EARG);
    assert_false(rp_timestamp_member_valid("signatures/.dsse.tsr"));
    assert_false(rp_timestamp_member_valid("signatures/a/b.dsse.tsr"));
    assert_false(rp_timestamp_member_valid("data/run.dsse.tsr"));
    assert_false(rp_timestamp_member_valid("signatures/run.dsse.tsr2"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(der_has_one_form),
        cmocka_unit_test(times_have_one_text),
        cmocka_unit_test(only_sha2_responses_in_strict_der_are_read),
        cmocka_unit_test(rsa_authorities_count_only_where_they_are_admitted),
        cmocka_unit_test(no_flipped_bit_changes_what_a_timestamp_says),
        cmocka_unit_test(a_dated_archive_tells_when_and_by_whom),
        cmocka_unit_test(a_timestamp_of_other_bytes_or_of_no_statement_is_an_error),
        cmocka_unit_test(requests_are_strict_der_and_never_the_same),
        cmocka_unit_test(names_of_timestamps_follow_from_statements),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
