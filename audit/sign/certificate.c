/* SPDX-License-Identifier: Apache-2.0
 * Reading and writing a signer's certificates. */
#include "audit/sign/certificate.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "rp/trust.h"

/* Each is another than those before it, and the one before it names it as its issuer. */
static const char *link_fault(const STACK_OF(X509) * chain, X509 *next)
{
    int n = sk_X509_num(chain);

    if (n >= RP_CHAIN_LENGTH)
        return "more certificates than a chain has";
    for (int i = 0; i < n; i++)
        if (X509_cmp(sk_X509_value(chain, i), next) == 0)
            return "a certificate is there twice";
    if (n > 0 && X509_NAME_cmp(X509_get_issuer_name(sk_X509_value(chain, n - 1)), X509_get_subject_name(next)) != 0)
        return "not in order: each certificate must be issued by the next";
    return NULL;
}

typedef struct reading {
    rp_certificate *out;
    rp_status code;
} reading;

static rp_status take(void *self, const unsigned char *der, size_t size, const char *where, rp_error *err)
{
    reading *r = self;
    const unsigned char *at = der;
    X509 *one = d2i_X509(NULL, &at, (long)size);
    const char *fault = one != NULL ? link_fault(r->out->chain, one) : "a certificate that OpenSSL cannot read";
    rp_status status;

    if (fault == NULL)
        fault = rp_x509_extension_fault(one);
    if (fault == NULL && sk_X509_push(r->out->chain, one) > 0)
        return RP_OK;
    status =
        fault == NULL || rp_openssl_no_memory() ? rp_no_memory(err) : rp_fail(err, r->code, "%s: %s", where, fault);
    X509_free(one);
    return status;
}

static rp_status find_key(rp_certificate *out, const char *where, rp_status code, rp_error *err)
{
    X509 *leaf = sk_X509_value(out->chain, 0);
    const char *fault = rp_x509_key_fault(leaf, false, true);
    rp_status status;

    if (fault != NULL)
        return rp_fail(err, code, "%s: a certificate of %s", where, fault);
    status = rp_key_of_certificate(&out->key, leaf, where, err);
    if (status == RP_EARG && err != NULL)
        err->status = code;
    return status == RP_EARG ? code : status;
}

static rp_status check_text(const rp_certificate *certificate, const void *pem, size_t size, const char *where,
                            rp_status code, rp_error *err)
{
    rp_buffer again = {0};
    rp_status status = rp_certificate_write(&again, certificate, err);

    if (status == RP_OK && (again.size != size || memcmp(again.data, pem, size) != 0))
        status = rp_fail(err, code, "%s: not the one text of these certificates", where);
    rp_buffer_free(&again);
    return status;
}

rp_status rp_certificate_parse(rp_certificate *out, const void *pem, size_t size, bool exact, const char *where,
                               rp_status code, rp_error *err)
{
    reading r = {out, code};
    rp_status status = RP_OK;

    memset(out, 0, sizeof *out);
    if (size > RP_CERTIFICATE_LIMIT)
        return rp_fail(err, code, "%s: %zu bytes, at most %d are allowed", where, size, (int)RP_CERTIFICATE_LIMIT);
    ERR_clear_error();
    out->chain = sk_X509_new_null();
    if (out->chain == NULL)
        status = rp_no_memory(err);
    if (status == RP_OK)
        status = rp_pem_blocks(pem, size, "CERTIFICATE", where, code, take, &r, err);
    if (status == RP_OK)
        status = find_key(out, where, code, err);
    if (status == RP_OK && exact)
        status = check_text(out, pem, size, where, code, err);
    ERR_clear_error();
    return status;
}

void rp_certificate_clear(rp_certificate *certificate)
{
    sk_X509_pop_free(certificate->chain, X509_free);
    rp_key_free(certificate->key);
    memset(certificate, 0, sizeof *certificate);
}

rp_status rp_certificate_write(rp_buffer *out, const rp_certificate *certificate, rp_error *err)
{
    BIO *bio = BIO_new(BIO_s_mem());
    bool done = bio != NULL;
    char *text;
    long size;

    for (int i = 0; done && i < sk_X509_num(certificate->chain); i++)
        done = PEM_write_bio_X509(bio, sk_X509_value(certificate->chain, i)) == 1;
    if (done && (size = BIO_get_mem_data(bio, &text)) > 0)
        rp_buffer_append(out, text, (size_t)size);
    BIO_free(bio);
    return done ? rp_buffer_status(out, err) : rp_no_memory(err);
}
