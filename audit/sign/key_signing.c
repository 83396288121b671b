/* SPDX-License-Identifier: Apache-2.0
 * Private keys: making, reading, saving and signing with them. What verifies has none of this. */
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/pkcs12.h>
#include <openssl/x509.h>
#include <string.h>

#include "audit/sign/key_private.h"
#include "audit/sign/pkcs11.h"
#include "base/file.h"
#include "base/handle.h"
#include "base/memory.h"

enum { PBKDF2_ROUNDS = 600000 };

rp_status rp_key_generate(rp_key **out, rp_error *err)
{
    EVP_PKEY *pkey;

    *out = NULL;
    ERR_clear_error();
    pkey = EVP_EC_gen("P-256");
    ERR_clear_error();
    if (pkey == NULL)
        return rp_fail(err, RP_ENOMEM, "new key: OpenSSL cannot make an ECDSA P-256 key");
    return rp_key_wrap(out, pkey, true, "new key", err);
}

rp_status rp_key_private_from_pem(rp_key **out, const char *pem, size_t size, const char *passphrase, const char *where,
                                  rp_error *err)
{
    rp_passphrase source = {.text = passphrase};
    EVP_PKEY *pkey;
    char label[64];
    rp_status status = rp_pem_read(&pkey, PEM_read_bio_PrivateKey, &source, pem, size, where, err);

    *out = NULL;
    if (status != RP_OK)
        return status;
    if (pkey != NULL)
        return rp_key_wrap(out, pkey, true, where, err);
    if (source.asked && passphrase == NULL)
        return rp_fail(err, RP_EARG, "%s: the private key is encrypted and no passphrase was given", where);
    if (source.asked)
        return rp_fail(err, RP_EARG, "%s: the private key cannot be decrypted: wrong passphrase?", where);
    return rp_fail(err, RP_EARG, "%s: found %s, expected a private key in PEM (PKCS#8)", where,
                   rp_pem_label(label, sizeof label, pem, size));
}

static rp_status load(rp_key **out, const char *path, const char *passphrase, rp_error *err)
{
    rp_buffer pem = {0};
    rp_status status = rp_pem_file(&pem, path, err);

    *out = NULL;
    if (status == RP_OK)
        status = rp_key_private_from_pem(out, (const char *)pem.data, pem.size, passphrase, path, err);
    OPENSSL_cleanse(pem.data, pem.size);
    rp_buffer_free(&pem);
    return status;
}

/* The public half as an ordinary key: a token's handle is of a kind of its own, which not all of OpenSSL takes. */
static rp_status public_half(EVP_PKEY **out, const EVP_PKEY *token, const char *where, rp_error *err)
{
    unsigned char *der = NULL;
    const unsigned char *at;
    int size;

    ERR_clear_error();
    size = i2d_PUBKEY(token, &der);
    at = der;
    *out = size > 0 ? d2i_PUBKEY(NULL, &at, size) : NULL;
    OPENSSL_free(der);
    ERR_clear_error();
    return *out != NULL ? RP_OK
                        : rp_fail(err, RP_EARG,
                                  "%.200s: the token does not tell the key's public half, " RP_EXPECTED_KINDS, where);
}

static rp_status load_token(rp_key **out, const char *uri, const char *pin, rp_error *err)
{
    EVP_PKEY *token, *half;
    rp_status status = rp_pkcs11_load(&token, uri, pin, err);

    *out = NULL;
    if (status == RP_OK)
        status = public_half(&half, token, uri, err);
    if (status == RP_OK)
        status = rp_key_wrap(out, half, true, uri, err);
    if (status == RP_OK)
        (*out)->token = token;
    else
        EVP_PKEY_free(token);
    return status;
}

rp_status rp_key_load_private(rp_key **out, const char *path, const char *passphrase, rp_error *err)
{
    if (!path) {
        *out = NULL;
        return rp_no_value(err, __func__, "path");
    }
    if (rp_pkcs11_is_uri(path))
        return load_token(out, path, passphrase, err);
    return load(out, path, passphrase, err);
}

/* OpenSSL's own default is 2048 rounds; this is what current guidance asks of PBKDF2-HMAC-SHA-256. */
static bool write_encrypted(BIO *bio, const EVP_PKEY *pkey, const char *passphrase)
{
    PKCS8_PRIV_KEY_INFO *plain = EVP_PKEY2PKCS8(pkey);
    X509_ALGOR *scheme = PKCS5_pbe2_set_iv(EVP_aes_256_cbc(), PBKDF2_ROUNDS, NULL, 16, NULL, NID_hmacWithSHA256);
    X509_SIG *sealed = NULL;
    bool done;

    if (plain != NULL && scheme != NULL)
        sealed = PKCS8_set0_pbe(passphrase, (int)strlen(passphrase), plain, scheme);
    if (sealed == NULL)
        X509_ALGOR_free(scheme); /* else sealed owns it */
    done = sealed != NULL && PEM_write_bio_PKCS8(bio, sealed) == 1;
    X509_SIG_free(sealed);
    PKCS8_PRIV_KEY_INFO_free(plain);
    return done;
}

static rp_status save(BIO *bio, bool written, const char *path, bool force, unsigned mode, rp_error *err)
{
    char *text = NULL;
    long size = written ? BIO_get_mem_data(bio, &text) : 0;
    rp_status status = written ? rp_file_save(path, text, (size_t)size, force, mode, err)
                               : rp_fail(err, RP_ENOMEM, "%s: OpenSSL cannot write the key", path);

    BIO_free(bio); /* wipes the text */
    return status;
}

rp_status rp_key_save_private(const rp_key *key, const char *path, const char *passphrase, bool force, rp_error *err)
{
    if (!key)
        return rp_no_handle(err, __func__, "key");
    BIO *bio;
    bool written;

    if (!key->is_private)
        return rp_fail(err, RP_EARG, "%s: a public key cannot be saved as a private one", path);
    if (key->token != NULL)
        return rp_fail(err, RP_EARG, "%s: a private key does not leave its token", path);
    if (passphrase != NULL && (*passphrase == '\0' || strlen(passphrase) > 1024))
        return rp_fail(err, RP_EARG, "%s: a passphrase has 1 to 1024 bytes", path);
    bio = BIO_new(BIO_s_mem());
    if (bio == NULL)
        return rp_no_memory(err);
    ERR_clear_error();
    written = passphrase ? write_encrypted(bio, key->pkey, passphrase)
                         : PEM_write_bio_PKCS8PrivateKey(bio, key->pkey, NULL, NULL, 0, NULL, NULL) == 1;
    ERR_clear_error();
    return save(bio, written, path, force, 0600, err);
}

rp_status rp_key_save_public(const rp_key *key, const char *path, bool force, rp_error *err)
{
    if (!key)
        return rp_no_handle(err, __func__, "key");
    BIO *bio = BIO_new(BIO_s_mem());

    if (bio == NULL)
        return rp_no_memory(err);
    return save(bio, PEM_write_bio_PUBKEY(bio, key->pkey) == 1, path, force, 0644, err);
}

rp_status rp_key_sign(const rp_key *key, const void *message, size_t size, rp_buffer *signature, rp_error *err)
{
    unsigned char bytes[256]; /* P-521 in DER takes at most 139 */
    size_t length = sizeof bytes;
    EVP_MD_CTX *context;
    bool done;

    if (!key->is_private)
        return rp_fail(err, RP_EARG, "a public key cannot sign: give the private key");
    context = EVP_MD_CTX_new();
    if (context == NULL)
        return rp_no_memory(err);
    ERR_clear_error();
    done = EVP_DigestSignInit_ex(context, NULL, key->kind->hash, NULL, NULL, key->token ? key->token : key->pkey,
                                 NULL) == 1 &&
           EVP_DigestSign(context, bytes, &length, message, size) == 1 &&
           length <= sizeof bytes; /* where memory runs out, OpenSSL 3.0 calls it done with a length of 2^32 - 1 */
    ERR_clear_error();
    EVP_MD_CTX_free(context);
    if (!done && key->token != NULL)
        return rp_fail(err, RP_EIO, "the token does not sign with its %s key: taken out, or may the key not sign?",
                       key->kind->type);
    if (!done)
        return rp_fail(err, RP_ENOMEM, "OpenSSL cannot sign with this %s key", key->kind->type);
    /* what a token does is not ours to know, and a file's two halves need not belong together */
    if (rp_key_check(key, message, size, bytes, length, NULL) != RP_OK)
        return key->token != NULL
                   ? rp_fail(err, RP_EIO, "the token's signature is not one by its public key %s", key->id)
                   : rp_fail(err, RP_EARG, "the key's private half does not belong to its public half %s", key->id);
    rp_buffer_append(signature, bytes, length);
    return rp_buffer_status(signature, err);
}
