/* SPDX-License-Identifier: Apache-2.0
 * What trust refuses, by certificates and lists made for it on the spot: lists that say nothing, entries that decide by
 * their date and reason, certificates made for something else, files that are no certificates.
 * tests/audit/sign/test_x509.c has the usual ones. */
#include "tests/audit/archive/archive_sample.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "audit/sign/certificate.h"
#include "audit/trust/trust.h"
#include "base/file.h"
#include "tests/audit/sign/pki.h"

#define IN_2030 INT64_C(1893456000)
#define LISTED_FROM "20290101000000Z"
#define LISTED_UNTIL "20350101000000Z"

static rp_error err;
static pki_party top, middle, signer;
static STACK_OF(X509) * anchors, *between;

static int setup(void **state)
{
    (void)state;
    top = pki_make("top", NULL, &pki_authority);
    middle = pki_make("middle", &top, &pki_authority);
    signer = pki_make("signer", &middle, &pki_signer);
    anchors = sk_X509_new_null();
    between = sk_X509_new_null();
    return anchors && between && sk_X509_push(anchors, top.certificate) > 0 &&
                   sk_X509_push(between, middle.certificate) > 0
               ? 0
               : -1;
}

static int teardown(void **state)
{
    (void)state;
    sk_X509_free(anchors);
    sk_X509_free(between);
    pki_free(&signer);
    pki_free(&middle);
    pki_free(&top);
    return 0;
}

static rp_status judge(X509 *leaf, X509_CRL *list, rp_chain_verdict *verdict)
{
    STACK_OF(X509_CRL) *lists = sk_X509_CRL_new_null();
    const rp_chain_rules rules = {.anchors = anchors, .untrusted = between, .crls = lists, .time = IN_2030};
    rp_status status;

    assert_true(list == NULL || sk_X509_CRL_push(lists, list) > 0);
    status = rp_chain_judge(verdict, leaf, &rules, &err);
    sk_X509_CRL_free(lists);
    return status;
}

/* says NULL: accepted. */
static void expect(X509 *leaf, X509_CRL *list, const char *says)
{
    rp_chain_verdict verdict;
    rp_status status = judge(leaf, list, &verdict);

    if (status != (says ? RP_ESIGN : RP_OK) || (says && !strstr(err.text, says)))
        fail_msg("found %s \"%s\", expected \"%s\"", rp_status_name(status), status ? err.text : "",
                 says ? says : "accepted");
}

/* ---- lists ---- */

static const pki_revocation no_revocation = {NULL, NULL, NULL, 0};

static void expect_list(X509_CRL *list, const char *says)
{
    expect(signer.certificate, list, says);
    X509_CRL_free(list);
}

static void a_list_that_cannot_tell_is_no_list(void **state)
{
    pki_party other = pki_make("middle", NULL, &pki_authority),
              rsa = {.key = EVP_RSA_gen(2048), .certificate = middle.certificate};
    X509_CRL *list;
    ISSUING_DIST_POINT *part = ISSUING_DIST_POINT_new();

    (void)state;
    expect_list(pki_list(&middle, &no_revocation, LISTED_FROM, LISTED_UNTIL), NULL);
    expect_list(pki_list(&other, &no_revocation, LISTED_FROM, LISTED_UNTIL), "wrong signature");
    expect_list(pki_list(&rsa, &no_revocation, LISTED_FROM, LISTED_UNTIL), "a signature other than ECDSA");
    expect_list(pki_list(&middle, &no_revocation, LISTED_FROM, NULL), "without its times");
    expect_list(pki_list(&middle, &no_revocation, LISTED_FROM, "20291231000000Z"), "stale");
    expect_list(pki_list(&middle, &no_revocation, "20460101000000Z", "20470101000000Z"),
                "issued after the certificate's end");
    list = pki_list(&middle, &no_revocation, LISTED_FROM, LISTED_UNTIL);
    part->onlyattr = 0xFF;
    assert_int_equal(X509_CRL_add1_ext_i2d(list, NID_issuing_distribution_point, part, 1, 0), 1);
    assert_true(X509_CRL_sign(list, middle.key, EVP_sha256()) > 0);
    expect_list(list, "a critical extension");
    ISSUING_DIST_POINT_free(part);
    EVP_PKEY_free(rsa.key);
    pki_free(&other);
}

/* An authority for certificates alone. */
static void a_list_by_an_issuer_that_may_not_sign_lists_is_refused(void **state)
{
    pki_form form = pki_authority;
    pki_party issuer, leaf;
    X509_CRL *list;

    (void)state;
    form.usage = "critical,keyCertSign";
    issuer = pki_make("issuer", &top, &form);
    leaf = pki_make("leaf", &issuer, &pki_signer);
    assert_true(sk_X509_push(between, issuer.certificate) > 0);
    list = pki_list(&issuer, &no_revocation, LISTED_FROM, LISTED_UNTIL);
    expect(leaf.certificate, NULL, NULL);
    expect(leaf.certificate, list, "may not sign revocation lists");
    (void)sk_X509_pop(between);
    X509_CRL_free(list);
    pki_free(&leaf);
    pki_free(&issuer);
}

static void the_earlier_date_of_an_entry_decides(void **state)
{
    static const struct {
        const char *date, *invalid_from, *says;
    } cases[] = {
        {"20290601000000Z", NULL, "revoked on 2029-06-01"},
        {"20310101000000Z", NULL, NULL},
        {"20310101000000Z", "20290701000000Z", "revoked on 2029-07-01"},
        {"20310101000000Z", "20300701000000Z", NULL},
        {"20290601000000Z", "20310101000000Z", "revoked on 2029-06-01"}, /* the later one frees nobody */
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const pki_revocation revoked = {signer.certificate, cases[i].date, cases[i].invalid_from,
                                        CRL_REASON_KEY_COMPROMISE};

        expect_list(pki_list(&middle, &revoked, LISTED_FROM, LISTED_UNTIL), cases[i].says);
    }
}

/* What an entry says besides, nobody here can know: it is revoked from the beginning. */
static void an_entry_with_an_unknown_critical_extension_is_revoked_at_any_time(void **state)
{
    const pki_revocation revoked = {signer.certificate, "20340101000000Z", NULL, -1};
    X509_CRL *list = pki_list(&middle, &revoked, LISTED_FROM, LISTED_UNTIL);
    X509_REVOKED *entry;
    ASN1_ENUMERATED *reason = ASN1_ENUMERATED_new();

    (void)state;
    assert_int_equal(X509_CRL_get0_by_cert(list, &entry, signer.certificate), 1);
    assert_int_equal(ASN1_ENUMERATED_set(reason, CRL_REASON_SUPERSEDED), 1);
    assert_int_equal(X509_REVOKED_add1_ext_i2d(entry, NID_crl_reason, reason, 1, 0), 1);
    assert_true(X509_CRL_sign(list, middle.key, EVP_sha256()) > 0);
    expect_list(list, "revoked on ?");
    ASN1_ENUMERATED_free(reason);
}

/* Later than what is judged. A signer's own key was good until then; an authority's only if it ended in order. */
static void a_lost_authority_leaves_nothing_of_before(void **state)
{
    static const struct {
        int reason;
        bool in_order;
    } cases[] = {
        {-1, false},
        {CRL_REASON_UNSPECIFIED, true},
        {CRL_REASON_KEY_COMPROMISE, false},
        {CRL_REASON_CA_COMPROMISE, false},
        {CRL_REASON_AFFILIATION_CHANGED, true},
        {CRL_REASON_SUPERSEDED, true},
        {CRL_REASON_CESSATION_OF_OPERATION, true},
        {CRL_REASON_CERTIFICATE_HOLD, false},
        {CRL_REASON_AA_COMPROMISE, false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const pki_revocation authority = {middle.certificate, "20310101000000Z", NULL, cases[i].reason},
                             own = {signer.certificate, "20310101000000Z", NULL, cases[i].reason};

        expect_list(pki_list(&top, &authority, LISTED_FROM, LISTED_UNTIL),
                    cases[i].in_order ? NULL : "for a reason that leaves nothing of before to be believed");
        expect_list(pki_list(&middle, &own, LISTED_FROM, LISTED_UNTIL), NULL);
    }
}

/* ---- certificates ---- */

static void a_certificate_is_for_signing_or_for_nothing(void **state)
{
    static const struct {
        const char *constraints, *usage, *purpose, *says;
    } cases[] = {
        {"critical,CA:FALSE", "critical,digitalSignature", NULL, NULL},
        {"critical,CA:FALSE", "critical,digitalSignature", "codeSigning", NULL},
        {"critical,CA:FALSE", "critical,digitalSignature", "1.3.6.1.5.5.7.3.36", NULL},
        {"critical,CA:FALSE", "critical,digitalSignature", "serverAuth,codeSigning", NULL},
        {"critical,CA:FALSE", "critical,digitalSignature", "serverAuth,clientAuth",
         "neither codeSigning nor documentSigning"},
        {"critical,CA:FALSE", "critical,digitalSignature", "timeStamping", "neither codeSigning nor documentSigning"},
        {"critical,CA:FALSE", "critical,keyAgreement", NULL, "not digitalSignature"},
        {"critical,CA:FALSE", NULL, NULL, "not digitalSignature"},
        {"critical,CA:TRUE", "critical,digitalSignature,keyCertSign", NULL, "is an authority's"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pki_form form = pki_signer;
        pki_party leaf;

        form.constraints = cases[i].constraints;
        form.usage = cases[i].usage;
        form.purpose = cases[i].purpose;
        leaf = pki_make("leaf", &middle, &form);
        expect(leaf.certificate, NULL, cases[i].says);
        pki_free(&leaf);
    }
}

static void weak_links_are_refused_wherever_they_are(void **state)
{
    pki_form form = pki_signer;
    pki_party leaf, stranger = pki_make("stranger", NULL, &pki_authority);

    (void)state;
    form.digest = EVP_sha1();
    leaf = pki_make("leaf", &middle, &form);
    expect(leaf.certificate, NULL, "");
    pki_free(&leaf);
    leaf = pki_make("leaf", &stranger, &pki_signer);
    expect(leaf.certificate, NULL, "unable to get");
    pki_free(&leaf);
    pki_free(&stranger);
}

/* ---- files ---- */

static rp_status add_text(rp_trust_kind kind, const char *text, size_t size)
{
    rp_trust_store *store;
    rp_status status;

    assert_ok(rp_trust_store_new(&store, &err));
    status = rp_trust_store_add_pem(store, kind, text, size, "text", &err);
    if (status != RP_OK)
        assert_int_equal(sk_X509_num(store->ca) + sk_X509_num(store->tsa) + sk_X509_CRL_num(store->crls), 0);
    rp_trust_store_free(store);
    return status;
}

static void expect_text(rp_trust_kind kind, const char *text, const char *says)
{
    if (add_text(kind, text, strlen(text)) != RP_EARG || !strstr(err.text, says))
        fail_msg("found \"%s\", expected \"%s\"", err.text, says);
}

static void what_is_no_certificate_and_no_list_is_not_added(void **state)
{
    static const char der[] = "\nMAA=\n"; /* SEQUENCE {} */
    char text[400];

    (void)state;
    for (int kind = RP_TRUST_CA; kind <= RP_TRUST_CRL; kind++) {
        const char *label = kind == RP_TRUST_CRL ? "X509 CRL" : "CERTIFICATE";

        (void)snprintf(text, sizeof text, "-----BEGIN %s-----%s-----END %s-----\n", label, der, label);
        expect_text((rp_trust_kind)kind, text, "that OpenSSL cannot read");
        (void)snprintf(text, sizeof text, "-----BEGIN %s-----\nProc-Type: 4,ENCRYPTED\n%s-----END %s-----\n", label,
                       der, label);
        expect_text((rp_trust_kind)kind, text, "with PEM headers");
        (void)snprintf(text, sizeof text, "-----BEGIN %s-----\nBQD/\n-----END %s-----\n", label, label);
        expect_text((rp_trust_kind)kind, text, "that is not DER");
        expect_text((rp_trust_kind)kind, "nothing of the kind\n", "found no PEM block");
        expect_text((rp_trust_kind)kind, "", "empty, expected ");
    }
}

static void files_beyond_all_bounds_are_refused(void **state)
{
    char path[] = "/tmp/rp-trust-XXXXXX";
    char *big = calloc(1, RP_PEM_LIMIT + 2);
    rp_trust_store *store;
    rp_certificate certificate;
    int file = mkstemp(path);

    (void)state;
    assert_non_null(big);
    assert_true(file >= 0);
    memset(big, '\n', RP_PEM_LIMIT + 1);
    assert_int_equal(add_text(RP_TRUST_CA, big, RP_PEM_LIMIT + 1), RP_EARG);
    assert_non_null(strstr(err.text, "at most"));
    assert_int_equal(write(file, big, RP_PEM_LIMIT + 1), RP_PEM_LIMIT + 1);
    assert_int_equal(close(file), 0);
    assert_ok(rp_trust_store_new(&store, &err));
    assert_int_equal(rp_trust_store_add(store, RP_TRUST_CA, path, &err), RP_EARG);
    assert_non_null(strstr(err.text, "too large for certificates"));
    assert_int_equal(rp_trust_store_add_rotation(store, path, &err), RP_ESIGN);
    assert_non_null(strstr(err.text, "too large for a hand-over"));
    assert_int_equal(rp_archive_add_certificates("none.reprise", path, false, NULL, &err), RP_EARG);
    assert_non_null(strstr(err.text, "too large for a chain"));
    assert_int_equal(rp_certificate_parse(&certificate, big, RP_CERTIFICATE_LIMIT + 1, true, "big", RP_ESIGN, &err),
                     RP_ESIGN);
    rp_certificate_clear(&certificate);
    assert_int_equal(unlink(path), 0);
    rp_trust_store_free(store);
    free(big);
}

/* As PEM, `times` times over. */
static char *repeated(X509 *certificate, size_t times)
{
    BIO *bio = BIO_new(BIO_s_mem());
    char *text, *copy;
    long size;

    for (size_t i = 0; i < times; i++)
        assert_int_equal(PEM_write_bio_X509(bio, certificate), 1);
    size = BIO_get_mem_data(bio, &text);
    copy = calloc(1, (size_t)size + 1);
    assert_non_null(copy);
    memcpy(copy, text, (size_t)size);
    BIO_free(bio);
    return copy;
}

static void more_blocks_than_anyone_needs_are_refused(void **state)
{
    char *text = repeated(top.certificate, RP_PEM_BLOCKS);

    (void)state;
    assert_ok(add_text(RP_TRUST_CA, text, strlen(text)));
    free(text);
    text = repeated(top.certificate, RP_PEM_BLOCKS + 1);
    expect_text(RP_TRUST_CA, text, "more than 64 blocks");
    free(text);
}

static void a_chain_has_an_end(void **state)
{
    enum { LONG = RP_CHAIN_LENGTH + 1 };
    pki_party chain[LONG];
    BIO *bio = BIO_new(BIO_s_mem());
    rp_certificate certificate;
    char *text;
    long size;

    (void)state;
    for (int i = LONG - 1; i >= 0; i--)
        chain[i] = pki_make(i ? "link" : "leaf", i < LONG - 1 ? &chain[i + 1] : NULL, i ? &pki_authority : &pki_signer);
    for (int i = 0; i < LONG; i++)
        assert_int_equal(PEM_write_bio_X509(bio, chain[i].certificate), 1);
    size = BIO_get_mem_data(bio, &text);
    assert_int_equal(rp_certificate_parse(&certificate, text, (size_t)size, true, "long", RP_ESIGN, &err), RP_ESIGN);
    assert_non_null(strstr(err.text, "more certificates than a chain has"));
    rp_certificate_clear(&certificate);
    BIO_free(bio);
    for (int i = 0; i < LONG; i++)
        pki_free(&chain[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_list_that_cannot_tell_is_no_list),
        cmocka_unit_test(a_list_by_an_issuer_that_may_not_sign_lists_is_refused),
        cmocka_unit_test(the_earlier_date_of_an_entry_decides),
        cmocka_unit_test(an_entry_with_an_unknown_critical_extension_is_revoked_at_any_time),
        cmocka_unit_test(a_lost_authority_leaves_nothing_of_before),
        cmocka_unit_test(a_certificate_is_for_signing_or_for_nothing),
        cmocka_unit_test(weak_links_are_refused_wherever_they_are),
        cmocka_unit_test(what_is_no_certificate_and_no_list_is_not_added),
        cmocka_unit_test(files_beyond_all_bounds_are_refused),
        cmocka_unit_test(more_blocks_than_anyone_needs_are_refused),
        cmocka_unit_test(a_chain_has_an_end),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
