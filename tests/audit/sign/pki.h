/* SPDX-License-Identifier: Apache-2.0
 * Authorities, certificates, revocation lists and timestamps made on the spot, of whatever kind a test wants. All keys
 * are ECDSA P-256, what is not said is as it should be, and a failure ends the test. */
#ifndef TESTS_AUDIT_SIGN_PKI_H
#define TESTS_AUDIT_SIGN_PKI_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ts.h>
#include <openssl/x509v3.h>

#define PKI_FROM "20250101000000Z"
#define PKI_UNTIL "20450101000000Z"

typedef struct pki_party {
    EVP_PKEY *key;
    X509 *certificate;
} pki_party;

/* What a certificate says; NULL: the extension is left out. */
typedef struct pki_form {
    const char *constraints, *usage, *purpose;
    const char *from, *until;
    const EVP_MD *digest; /* NULL: SHA-256 */
} pki_form;

static const pki_form
    pki_authority = {"critical,CA:TRUE", "critical,keyCertSign,cRLSign", NULL, PKI_FROM, PKI_UNTIL, NULL},
    pki_signer = {"critical,CA:FALSE", "critical,digitalSignature", NULL, PKI_FROM, PKI_UNTIL, NULL},
    pki_stamper = {
        "critical,CA:FALSE", "critical,digitalSignature", "critical,timeStamping", PKI_FROM, PKI_UNTIL, NULL};

static inline void pki_extension(X509 *to, X509V3_CTX *context, int nid, const char *value)
{
    X509_EXTENSION *one;

    if (value == NULL)
        return;
    one = X509V3_EXT_conf_nid(NULL, context, nid, value);
    assert_non_null(one);
    assert_int_equal(X509_add_ext(to, one, -1), 1);
    X509_EXTENSION_free(one);
}

/* The certificate of a key by an authority; by NULL: its own. */
static inline X509 *pki_certify(const char *name, EVP_PKEY *key, const pki_party *by, const pki_form *form)
{
    static long serial;
    X509 *one = X509_new();
    X509_NAME *subject = X509_get_subject_name(one);
    X509V3_CTX context;

    assert_int_equal(X509_set_version(one, 2), 1);
    assert_int_equal(ASN1_INTEGER_set(X509_get_serialNumber(one), ++serial), 1);
    assert_int_equal(ASN1_TIME_set_string_X509(X509_getm_notBefore(one), form->from), 1);
    assert_int_equal(ASN1_TIME_set_string_X509(X509_getm_notAfter(one), form->until), 1);
    assert_int_equal(X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, (const unsigned char *)name, -1, -1, 0),
                     1);
    assert_int_equal(X509_set_issuer_name(one, by ? X509_get_subject_name(by->certificate) : subject), 1);
    assert_int_equal(X509_set_pubkey(one, key), 1);
    X509V3_set_ctx(&context, by ? by->certificate : one, one, NULL, NULL, 0);
    pki_extension(one, &context, NID_subject_key_identifier, "hash");
    pki_extension(one, &context, NID_authority_key_identifier, "keyid");
    pki_extension(one, &context, NID_basic_constraints, form->constraints);
    pki_extension(one, &context, NID_key_usage, form->usage);
    pki_extension(one, &context, NID_ext_key_usage, form->purpose);
    assert_true(X509_sign(one, by ? by->key : key, form->digest ? form->digest : EVP_sha256()) > 0);
    return one;
}

static inline pki_party pki_make(const char *name, const pki_party *by, const pki_form *form)
{
    pki_party made = {.key = EVP_EC_gen("P-256")};

    assert_non_null(made.key);
    made.certificate = pki_certify(name, made.key, by, form);
    return made;
}

static inline void pki_free(pki_party *party)
{
    EVP_PKEY_free(party->key);
    X509_free(party->certificate);
    memset(party, 0, sizeof *party);
}

/* ---- revocation ---- */

typedef struct pki_revocation {
    X509 *certificate;               /* NULL: none is revoked */
    const char *date, *invalid_from; /* NULL: no invalidity date */
    int reason;                      /* -1: none given */
} pki_revocation;

static inline void pki_revoke(X509_CRL *list, const pki_revocation *revocation)
{
    X509_REVOKED *entry = X509_REVOKED_new();
    ASN1_TIME *date = ASN1_TIME_new();
    ASN1_GENERALIZEDTIME *invalid = ASN1_GENERALIZEDTIME_new();
    ASN1_ENUMERATED *reason = ASN1_ENUMERATED_new();

    assert_int_equal(ASN1_TIME_set_string_X509(date, revocation->date), 1);
    assert_int_equal(X509_REVOKED_set_serialNumber(entry, X509_get_serialNumber(revocation->certificate)), 1);
    assert_int_equal(X509_REVOKED_set_revocationDate(entry, date), 1);
    if (revocation->invalid_from) {
        assert_int_equal(ASN1_GENERALIZEDTIME_set_string(invalid, revocation->invalid_from), 1);
        assert_int_equal(X509_REVOKED_add1_ext_i2d(entry, NID_invalidity_date, invalid, 0, 0), 1);
    }
    if (revocation->reason >= 0) {
        assert_int_equal(ASN1_ENUMERATED_set(reason, revocation->reason), 1);
        assert_int_equal(X509_REVOKED_add1_ext_i2d(entry, NID_crl_reason, reason, 0, 0), 1);
    }
    assert_int_equal(X509_CRL_add0_revoked(list, entry), 1);
    ASN1_TIME_free(date);
    ASN1_GENERALIZEDTIME_free(invalid);
    ASN1_ENUMERATED_free(reason);
}

static inline X509_CRL *pki_list(const pki_party *by, const pki_revocation *revocation, const char *from,
                                 const char *until)
{
    X509_CRL *list = X509_CRL_new();
    ASN1_TIME *time = ASN1_TIME_new();

    assert_int_equal(X509_CRL_set_version(list, 1), 1);
    assert_int_equal(X509_CRL_set_issuer_name(list, X509_get_subject_name(by->certificate)), 1);
    assert_int_equal(ASN1_TIME_set_string_X509(time, from), 1);
    assert_int_equal(X509_CRL_set1_lastUpdate(list, time), 1);
    if (until) {
        assert_int_equal(ASN1_TIME_set_string_X509(time, until), 1);
        assert_int_equal(X509_CRL_set1_nextUpdate(list, time), 1);
    }
    ASN1_TIME_free(time);
    if (revocation->certificate)
        pki_revoke(list, revocation);
    assert_true(X509_CRL_sign(list, by->key, EVP_sha256()) > 0);
    return list;
}

/* ---- timestamps ---- */

static inline int pki_clock(TS_RESP_CTX *context, void *seconds, long *sec, long *usec)
{
    (void)context;
    *sec = *(const long *)seconds;
    *usec = 0;
    return 1;
}

/* The authority's response to a request, at that second; *response is freed with OPENSSL_free. */
static inline size_t pki_stamp(unsigned char **response, const pki_party *by, const void *request, size_t size,
                               long seconds)
{
    TS_RESP_CTX *context = TS_RESP_CTX_new();
    ASN1_OBJECT *policy = OBJ_txt2obj("1.3.6.1.4.1.13762.3", 1);
    BIO *asked = BIO_new_mem_buf(request, (int)size);
    TS_RESP *answer;
    int length;

    assert_int_equal(TS_RESP_CTX_set_signer_cert(context, by->certificate), 1);
    assert_int_equal(TS_RESP_CTX_set_signer_key(context, by->key), 1);
    assert_int_equal(TS_RESP_CTX_set_signer_digest(context, EVP_sha256()), 1);
    assert_int_equal(TS_RESP_CTX_set_ess_cert_id_digest(context, EVP_sha256()), 1);
    assert_int_equal(TS_RESP_CTX_set_def_policy(context, policy), 1);
    assert_int_equal(TS_RESP_CTX_add_md(context, EVP_sha256()), 1);
    TS_RESP_CTX_set_time_cb(context, pki_clock, &seconds);
    answer = TS_RESP_create_response(context, asked);
    assert_non_null(answer);
    *response = NULL;
    length = i2d_TS_RESP(answer, response);
    assert_true(length > 0);
    TS_RESP_free(answer);
    TS_RESP_CTX_free(context);
    ASN1_OBJECT_free(policy);
    BIO_free(asked);
    return (size_t)length;
}

/* ---- files ---- */

/* As many certificates, then lists, as there are; both end in NULL. */
static inline void pki_write(const char *path, X509 *const *certificate, X509_CRL *const *list)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    for (; certificate && *certificate; certificate++)
        assert_int_equal(PEM_write_X509(file, *certificate), 1);
    for (; list && *list; list++)
        assert_int_equal(PEM_write_X509_CRL(file, *list), 1);
    assert_int_equal(fclose(file), 0);
}

#endif
