/* SPDX-License-Identifier: Apache-2.0
 * Certificates of signers: what of them is read, and what chains, times and revocation lists decide. The certificates
 * are those of tests/fuzz/corpus/x509, valid from 2025 to 2044; tests/cli/cli_x509.sh makes many more with OpenSSL. */
#include "tests/audit/archive/archive_sample.h"

#include "audit/sign/certificate.h"
#include "audit/trust/trust.h"
#include "base/file.h"

#define CORPUS RP_SOURCE_DIR "/tests/fuzz/corpus/x509/"
#define IN_2030 INT64_C(1893456000)

static rp_error err;

static void load(rp_buffer *out, const char *name)
{
    char path[512];

    (void)snprintf(path, sizeof path, CORPUS "%s", name);
    assert_ok(rp_file_read(path, 1 << 20, out, &err));
}

static rp_trust_store *store_of(const char *const *lists, size_t n)
{
    rp_trust_store *store;
    char path[512];

    assert_ok(rp_trust_store_new(&store, &err));
    assert_ok(rp_trust_store_add(store, RP_TRUST_CA, CORPUS "root.pem", &err));
    for (size_t i = 0; i < n; i++) {
        (void)snprintf(path, sizeof path, CORPUS "%s", lists[i]);
        assert_ok(rp_trust_store_add(store, RP_TRUST_CRL, path, &err));
    }
    return store;
}

static rp_status judge(const rp_buffer *pem, const rp_trust_store *store, int64_t time, rp_chain_verdict *verdict)
{
    rp_certificate certificate;
    rp_status status = rp_certificate_parse(&certificate, pem->data, pem->size, true, "chain", RP_ESIGN, &err);

    if (status == RP_OK) {
        const rp_chain_rules rules = {.anchors = store->ca,
                                      .untrusted = certificate.chain,
                                      .crls = store->crls,
                                      .time = time,
                                      .require_crl = store->require_crl};
        status = rp_chain_judge(verdict, sk_X509_value(certificate.chain, 0), &rules, &err);
    }
    rp_certificate_clear(&certificate);
    return status;
}

static rp_status judge_file(const char *name, const rp_trust_store *store, int64_t time, rp_chain_verdict *verdict)
{
    rp_buffer pem = {0};
    rp_status status;

    load(&pem, name);
    status = judge(&pem, store, time, verdict);
    rp_buffer_free(&pem);
    return status;
}

static void only_strong_keys_in_one_text_are_read(void **state)
{
    static const struct {
        const char *name, *says;
    } bad[] = {
        {"bad-rsa.pem", "an RSA key"},
        {"bad-brainpool.pem", "a curve other than"},
        {"bad-explicit-curve.pem", "a curve other than"},
        {"bad-twice.pem", "there twice"},
        {"bad-order.pem", "not in order"},
        {"bad-text.pem", "not the one text"},
        {"bad-short.pem", "a broken PEM block"},
        {"bad-trailing.pem", "something follows"},
        {"bad-label.pem", "found TRUSTED"},
        {"middle.crl", "found X509 CRL"},
    };
    rp_trust_store *store = store_of(NULL, 0);
    rp_chain_verdict verdict;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(judge_file(bad[i].name, store, IN_2030, &verdict), RP_ESIGN);
        if (strstr(err.text, bad[i].says) == NULL)
            fail_msg("%s: %s", bad[i].name, err.text);
    }
    rp_trust_store_free(store);
}

/* What OpenSSL reads and no DER says: a constructed bit on a string under a tag of the context, a default that is
 * written out, an integer that is not the shortest, something behind the value. */
static void extensions_have_one_form(void **state)
{
    static const struct {
        int nid;
        const char *bytes;
        size_t size;
        bool good;
    } form[] = {
        {NID_authority_key_identifier, "\x30\x06\x80\x04\x01\x02\x03\x04", 8, true},
        {NID_authority_key_identifier, "\x30\x08\xA0\x06\x04\x04\x01\x02\x03\x04", 10, false},
        {NID_authority_key_identifier, "\x30\x06\xA0\x04\x01\x02\x03\x04", 8, false},
        {NID_subject_alt_name, "\x30\x03\x82\x01\x61", 5, true},
        {NID_subject_alt_name, "\x30\x05\xA2\x03\x16\x01\x61", 7, false},
        {NID_basic_constraints, "\x30\x00", 2, true},
        {NID_basic_constraints, "\x30\x03\x01\x01\x00", 5, false},
        {NID_basic_constraints, "\x30\x06\x01\x01\xFF\x02\x01\x00", 8, true},
        {NID_basic_constraints, "\x30\x07\x01\x01\xFF\x02\x02\x00\x00", 9, false},
        {NID_key_usage, "\x03\x02\x07\x80", 4, true},
        {NID_key_usage, "\x03\x02\x07\x80\x05\x00", 6, false},
        {NID_key_usage, "\x23\x04\x03\x02\x07\x80", 6, false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof form / sizeof *form; i++) {
        X509 *one = X509_new();
        ASN1_OCTET_STRING *value = ASN1_OCTET_STRING_new();
        X509_EXTENSION *extension;

        assert_int_equal(ASN1_OCTET_STRING_set(value, (const unsigned char *)form[i].bytes, (int)form[i].size), 1);
        extension = X509_EXTENSION_create_by_NID(NULL, form[i].nid, 0, value);
        assert_int_equal(X509_add_ext(one, extension, -1), 1);
        if ((rp_x509_extension_fault(one) == NULL) != form[i].good)
            fail_msg("form %zu: %s", i, form[i].good ? rp_x509_extension_fault(one) : "was taken");
        X509_EXTENSION_free(extension);
        ASN1_OCTET_STRING_free(value);
        X509_free(one);
    }
}

static void a_chain_is_judged_at_the_time_in_question(void **state)
{
    rp_trust_store *store = store_of(NULL, 0);
    rp_chain_verdict verdict;
    int64_t first, last;

    (void)state;
    assert_ok(rp_trust_time(&first, "2025-01-01T00:00:00Z", &err));
    assert_ok(rp_trust_time(&last, "2045-01-01T00:00:00Z", &err));
    assert_ok(judge_file("good-chain.pem", store, IN_2030, &verdict));
    assert_string_equal(verdict.subject, "CN=alice,O=Tests");
    assert_string_equal(verdict.anchor, "CN=top,O=Tests");
    assert_false(verdict.revocation_checked);
    assert_ok(judge_file("good-ed25519.pem", store, IN_2030, &verdict));
    assert_int_equal(judge_file("good-chain.pem", store, first - 1, &verdict), RP_ESIGN);
    assert_non_null(strstr(err.text, "not yet valid"));
    assert_int_equal(judge_file("good-chain.pem", store, last + 1, &verdict), RP_ESIGN);
    assert_non_null(strstr(err.text, "expired"));
    rp_trust_store_free(store);
}

static void a_certificate_for_another_purpose_or_by_sha1_is_refused(void **state)
{
    rp_trust_store *store = store_of(NULL, 0);
    rp_chain_verdict verdict;

    (void)state;
    assert_int_equal(judge_file("bad-web.pem", store, IN_2030, &verdict), RP_ESIGN);
    assert_non_null(strstr(err.text, "extended key usage"));
    assert_int_equal(judge_file("bad-sha1.pem", store, IN_2030, &verdict), RP_ESIGN);
    rp_trust_store_free(store);
}

static void revocation_counts_from_its_date(void **state)
{
    static const char *const none[] = {"middle.crl", "top.crl"}, *const revoked[] = {"revoked.crl", "top.crl"};
    rp_trust_store *clean = store_of(none, 2), *store = store_of(revoked, 2), *half = store_of(none, 1);
    rp_chain_verdict verdict;
    int64_t before, after;

    (void)state;
    assert_ok(rp_trust_time(&before, "2027-01-01T00:00:00Z", &err));
    assert_ok(rp_trust_time(&after, "2031-06-01T00:00:00Z", &err));
    rp_trust_store_require_crl(clean);
    assert_ok(judge_file("good-chain.pem", clean, IN_2030, &verdict));
    assert_true(verdict.revocation_checked);
    assert_int_equal(judge_file("good-chain.pem", clean, after, &verdict), RP_ESIGN); /* its next update was due */
    assert_non_null(strstr(err.text, "stale"));
    assert_ok(judge_file("good-chain.pem", half, IN_2030, &verdict));
    assert_false(verdict.revocation_checked);
    rp_trust_store_require_crl(half);
    assert_int_equal(judge_file("good-chain.pem", half, IN_2030, &verdict), RP_ESIGN);
    assert_int_equal(judge_file("good-chain.pem", store, IN_2030, &verdict), RP_ESIGN);
    assert_non_null(strstr(err.text, "revoked on"));
    assert_ok(judge_file("good-chain.pem", store, before, &verdict));
    assert_non_null(strstr(verdict.note, "after this"));
    rp_trust_store_free(clean);
    rp_trust_store_free(store);
    rp_trust_store_free(half);
}

static void no_flipped_bit_of_a_chain_is_accepted(void **state)
{
    rp_trust_store *store = store_of(NULL, 0);
    rp_chain_verdict verdict;
    rp_buffer pem = {0};

    (void)state;
    load(&pem, "good-chain.pem");
    assert_ok(judge(&pem, store, IN_2030, &verdict));
    for (size_t bit = 0; bit < 8 * pem.size; bit++) {
        pem.data[bit / 8] ^= (unsigned char)(1u << bit % 8);
        if (judge(&pem, store, IN_2030, &verdict) != RP_ESIGN)
            fail_msg("bit %zu", bit);
        pem.data[bit / 8] ^= (unsigned char)(1u << bit % 8);
    }
    rp_buffer_free(&pem);
    rp_trust_store_free(store);
}

/* Nothing of a file is added unless all of it is good. */
static void a_store_takes_a_file_whole_or_not_at_all(void **state)
{
    rp_trust_store *store = store_of(NULL, 0);
    rp_buffer text = {0}, more = {0};

    (void)state;
    load(&text, "root.pem");
    load(&more, "bad-rsa.pem");
    rp_buffer_append(&text, more.data, more.size);
    assert_int_equal(sk_X509_num(store->ca), 1);
    assert_int_equal(rp_trust_store_add_pem(store, RP_TRUST_CA, (char *)text.data, text.size, "two", &err), RP_EARG);
    assert_int_equal(sk_X509_num(store->ca), 1);
    assert_int_equal(rp_trust_store_add(store, RP_TRUST_CA, CORPUS "good-ed25519.pem", &err), RP_EARG); /* no root */
    assert_int_equal(rp_trust_store_add(store, RP_TRUST_CRL, CORPUS "root.pem", &err), RP_EARG);
    assert_int_equal(rp_trust_store_add(store, RP_TRUST_CA, CORPUS "none.pem", &err), RP_EIO);
    rp_buffer_free(&text);
    rp_buffer_free(&more);
    rp_trust_store_free(store);
}

static void names_of_certificates_follow_from_keys(void **state)
{
    char name[RP_MEMBER_NAME];

    (void)state;
    rp_certificate_member(name, "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef");
    assert_string_equal(name, "signatures/0123456789abcdef.x509.pem");
    assert_true(rp_certificate_member_valid(name));
    assert_true(rp_signature_kind_known(name));
    assert_false(rp_certificate_member_valid("signatures/0123456789ABCDEF.x509.pem"));
    assert_false(rp_certificate_member_valid("signatures/0123456789abcde.x509.pem"));
    assert_false(rp_certificate_member_valid("signatures/0123456789abcdef.x509.pemx"));
    assert_false(rp_certificate_member_valid("data/0123456789abcdef.x509.pem"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_strong_keys_in_one_text_are_read),
        cmocka_unit_test(extensions_have_one_form),
        cmocka_unit_test(a_chain_is_judged_at_the_time_in_question),
        cmocka_unit_test(a_certificate_for_another_purpose_or_by_sha1_is_refused),
        cmocka_unit_test(revocation_counts_from_its_date),
        cmocka_unit_test(no_flipped_bit_of_a_chain_is_accepted),
        cmocka_unit_test(a_store_takes_a_file_whole_or_not_at_all),
        cmocka_unit_test(names_of_certificates_follow_from_keys),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
