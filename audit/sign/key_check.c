/* SPDX-License-Identifier: Apache-2.0
 * Whether a signature is one by a key: its DER has one encoding only. OpenSSL's error queue is left empty. */
#include <openssl/ec.h>
#include <openssl/err.h>
#include <string.h>

#include "audit/sign/key_private.h"

/* OpenSSL parses some BER too; decoding and encoding again leaves one accepted form. */
static bool strict_der(const unsigned char *bytes, size_t size)
{
    const unsigned char *at = bytes;
    unsigned char again[256], *to = again;
    ECDSA_SIG *parsed;
    bool same = false;

    if (size > sizeof again - 16)
        return false;
    parsed = d2i_ECDSA_SIG(NULL, &at, (long)size);
    if (parsed != NULL && at == bytes + size) {
        int length = i2d_ECDSA_SIG(parsed, NULL);
        if (length > 0 && (size_t)length == size)
            same = i2d_ECDSA_SIG(parsed, &to) == length && memcmp(again, bytes, size) == 0;
    }
    ECDSA_SIG_free(parsed);
    return same;
}

/* 1 valid, 0 wrong, negative: OpenSSL could not tell. */
static int verdict_of(const rp_key *key, const void *message, size_t size, const void *signature, size_t signature_size)
{
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    int verdict = -1;

    if (context != NULL && EVP_DigestVerifyInit_ex(context, NULL, key->kind->hash, NULL, NULL, key->pkey, NULL) == 1)
        verdict = EVP_DigestVerify(context, signature, signature_size, message, size);
    EVP_MD_CTX_free(context);
    return verdict;
}

rp_status rp_key_check(const rp_key *key, const void *message, size_t size, const void *signature,
                       size_t signature_size, rp_error *err)
{
    bool form, no_memory;
    int verdict = 0;

    ERR_clear_error();
    form = key->kind->group == NULL || strict_der(signature, signature_size);
    /* OpenSSL also calls wrong what it had no memory to copy; nobody is accused for that, so a wrong signature is wrong
     * twice. */
    for (int i = 0; i < 2 && form && verdict == 0; i++)
        verdict = verdict_of(key, message, size, signature, signature_size);
    no_memory = verdict < 0 || (!form && rp_key_no_memory());
    ERR_clear_error();
    if (no_memory)
        return rp_fail(err, RP_ENOMEM, "OpenSSL has no memory to check a signature by this %s key", key->kind->type);
    if (!form)
        return rp_fail(err, RP_ESIGN, "the signature is not strict DER");
    return verdict == 1 ? RP_OK
                        : rp_fail(err, RP_ESIGN, "the signature is wrong: not made by %s key %s over these bytes",
                                  key->kind->type, key->id);
}
