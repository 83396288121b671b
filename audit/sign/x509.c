/* SPDX-License-Identifier: Apache-2.0
 * PEM blocks, names, and the list of what is strong enough. OpenSSL's error queue is left as it was found. */
#include "audit/sign/x509.h"

#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <string.h>

#include "audit/sign/der.h"
#include "base/memory.h"
#include "base/text.h"

enum { RSA_BITS = 3072, RSA_BITS_MOST = 8192, RSA_EXPONENT_MOST = 65537 };

bool rp_openssl_no_memory(void)
{
    return ERR_GET_REASON(ERR_peek_last_error()) == ERR_R_MALLOC_FAILURE ||
           ERR_GET_REASON(ERR_peek_error()) == ERR_R_MALLOC_FAILURE;
}

static rp_status check_block(const char *name, const char *header, const unsigned char *der, size_t size,
                             const char *label, const char *where, rp_status code, rp_error *err)
{
    const char *fault;
    char shown[40];

    if (strcmp(name, label) != 0)
        return rp_fail(err, code, "%s: found %s, expected %s in PEM", where,
                       rp_printable(shown, sizeof shown, name, strlen(name)), label);
    if (*header != '\0')
        return rp_fail(err, code, "%s: a %s with PEM headers", where, label);
    fault = rp_der_fault(der, size);
    return fault == NULL ? RP_OK : rp_fail(err, code, "%s: a %s that is not DER: %s", where, label, fault);
}

rp_status rp_pem_blocks(const char *pem, size_t size, const char *label, const char *where, rp_status code,
                        rp_pem_take *take, void *self, rp_error *err)
{
    BIO *bio = size > 0 && size <= RP_PEM_LIMIT ? BIO_new_mem_buf(pem, (int)size) : NULL;
    rp_status status = RP_OK;
    size_t blocks = 0;

    if (size == 0)
        return rp_fail(err, code, "%s: empty, expected %s", where, label);
    if (size > RP_PEM_LIMIT)
        return rp_fail(err, code, "%s: %zu bytes, at most %d are allowed", where, size, (int)RP_PEM_LIMIT);
    if (bio == NULL)
        return rp_no_memory(err);
    ERR_clear_error();
    while (status == RP_OK) {
        char *name = NULL, *header = NULL;
        unsigned char *der = NULL;
        long length = 0;

        if (PEM_read_bio(bio, &name, &header, &der, &length) != 1) {
            bool end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;

            if (rp_openssl_no_memory())
                status = rp_no_memory(err);
            else if (!end)
                status = rp_fail(err, code, "%s: a broken PEM block behind %zu good ones", where, blocks);
            break;
        }
        status = check_block(name, header, der, (size_t)length, label, where, code, err);
        if (status == RP_OK && ++blocks > RP_PEM_BLOCKS)
            status = rp_fail(err, code, "%s: more than %d blocks", where, (int)RP_PEM_BLOCKS);
        if (status == RP_OK)
            status = take(self, der, (size_t)length, where, err);
        OPENSSL_free(name);
        OPENSSL_free(header);
        OPENSSL_free(der);
    }
    ERR_clear_error();
    BIO_free(bio);
    if (status == RP_OK && blocks == 0)
        status = rp_fail(err, code, "%s: found no PEM block, expected %s", where, label);
    return status;
}

const char *rp_x509_name(char out[RP_NAME_TEXT], const X509_NAME *name)
{
    BIO *bio = BIO_new(BIO_s_mem());
    char *text = NULL;
    long size = 0;

    ERR_clear_error();
    if (bio != NULL && X509_NAME_print_ex(bio, name, 0, XN_FLAG_RFC2253) >= 0)
        size = BIO_get_mem_data(bio, &text);
    ERR_clear_error();
    rp_printable(out, RP_NAME_TEXT, size > 0 ? text : "(no name)", size > 0 ? (size_t)size : strlen("(no name)"));
    BIO_free(bio);
    return out;
}

/* A large one makes a signature cost a thousand times as much to check, whoever signed. */
static bool small_exponent(const EVP_PKEY *pkey)
{
    BIGNUM *e = NULL;
    const bool small = EVP_PKEY_get_bn_param(pkey, OSSL_PKEY_PARAM_RSA_E, &e) == 1 && BN_num_bits(e) <= 32 &&
                       BN_get_word(e) <= RSA_EXPONENT_MOST;

    BN_free(e);
    return small;
}

const char *rp_x509_extension_fault(const X509 *certificate)
{
    for (int i = 0; i < X509_get_ext_count(certificate); i++) {
        X509_EXTENSION *extension = X509_get_ext(certificate, i);
        const ASN1_OCTET_STRING *value = X509_EXTENSION_get_data(extension);
        const X509V3_EXT_METHOD *method = X509V3_EXT_get(extension);
        const unsigned char *bytes = ASN1_STRING_get0_data(value), *at = bytes;
        const int size = ASN1_STRING_length(value);
        unsigned char *again = NULL;
        ASN1_VALUE *read;
        bool same;
        int length;

        if (method == NULL || method->it == NULL)
            continue; /* nothing is asked of those that OpenSSL does not know */
        if (rp_der_fault(bytes, (size_t)size) != NULL)
            return "an extension that is not strict DER";
        read = ASN1_item_d2i(NULL, &at, size, ASN1_ITEM_ptr(method->it));
        length = read != NULL && at == bytes + size ? ASN1_item_i2d(read, &again, ASN1_ITEM_ptr(method->it)) : -1;
        same = length == size && memcmp(again, bytes, (size_t)size) == 0;
        OPENSSL_free(again);
        ASN1_item_free(read, ASN1_ITEM_ptr(method->it));
        if (!same)
            return "an extension that is not in its one form";
    }
    return NULL;
}

const char *rp_x509_key_fault(X509 *certificate, bool rsa, bool ed25519)
{
    static const char *const groups[] = {"prime256v1", "secp384r1", "secp521r1"};
    const EVP_PKEY *pkey = X509_get0_pubkey(certificate);
    char group[64] = "";
    int explicit_curve = 0;
    const char *fault = "a key on a curve other than P-256, P-384 and P-521";

    if (pkey == NULL)
        return "a key that OpenSSL does not know";
    if (EVP_PKEY_get_base_id(pkey) == EVP_PKEY_ED25519)
        return ed25519 ? NULL : "an Ed25519 key: only a signer's own key may be one";
    if (EVP_PKEY_get_base_id(pkey) == EVP_PKEY_RSA) {
        if (!rsa)
            return "an RSA key: expected ECDSA on P-256, P-384 or P-521";
        if (EVP_PKEY_get_bits(pkey) > RSA_BITS_MOST || !small_exponent(pkey))
            return "an RSA key of more than 8192 bits, or with an exponent above 65537";
        return EVP_PKEY_get_bits(pkey) >= RSA_BITS ? NULL : "an RSA key of fewer than 3072 bits";
    }
    if (EVP_PKEY_get_base_id(pkey) != EVP_PKEY_EC)
        return "a key that is not ECDSA on P-256, P-384 or P-521";
    ERR_clear_error();
    (void)EVP_PKEY_get_int_param(pkey, OSSL_PKEY_PARAM_EC_DECODED_FROM_EXPLICIT_PARAMS, &explicit_curve);
    if (explicit_curve == 0 && EVP_PKEY_get_group_name(pkey, group, sizeof group, NULL) == 1)
        for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
            if (strcmp(group, groups[i]) == 0)
                fault = NULL;
    ERR_clear_error();
    return fault;
}

const char *rp_x509_signature_fault(int signature_nid, bool rsa)
{
    switch (signature_nid) {
    case NID_ecdsa_with_SHA256:
    case NID_ecdsa_with_SHA384:
    case NID_ecdsa_with_SHA512:
        return NULL;
    case NID_sha256WithRSAEncryption:
    case NID_sha384WithRSAEncryption:
    case NID_sha512WithRSAEncryption:
        return rsa ? NULL : "a signature by RSA: expected ECDSA with SHA-256, SHA-384 or SHA-512";
    default:
        return "a signature other than ECDSA with SHA-256, SHA-384 or SHA-512";
    }
}
