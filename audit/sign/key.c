/* SPDX-License-Identifier: Apache-2.0
 * Keys on OpenSSL's EVP_PKEY: which kinds are allowed, reading and writing PEM without ever prompting, and signatures
 * whose DER has one encoding only. OpenSSL's error queue is left as it was found. */
#include "audit/sign/key.h"

#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/pkcs12.h>
#include <openssl/x509.h>
#include <string.h>

#include "audit/digest/digest.h"
#include "audit/sign/pkcs11.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"

enum { PEM_LIMIT = 65536, PBKDF2_ROUNDS = 600000 };
#define EXPECTED_KINDS "expected ECDSA P-256, P-384 or P-521, or Ed25519"

typedef struct key_kind {
    const char *type;
    const char *group; /* OpenSSL's name of the curve; NULL: Ed25519 */
    const char *hash;
} key_kind;

static const key_kind kinds[] = {
    {"ECDSA P-256", "prime256v1", "SHA256"},
    {"ECDSA P-384", "secp384r1", "SHA384"},
    {"ECDSA P-521", "secp521r1", "SHA512"},
    {"Ed25519", NULL, NULL},
};

struct rp_key {
    EVP_PKEY *pkey;
    EVP_PKEY *token; /* signs instead of pkey, which is its public half; else NULL */
    const key_kind *kind;
    bool is_private;
    char id[RP_DIGEST_HEX];
    rp_buffer certificates; /* PEM, or empty */
};

/* Whether OpenSSL's trouble was memory: its first or its last word says so. Before ERR_pop_to_mark. */
static bool ran_out_of_memory(void)
{
    return ERR_GET_REASON(ERR_peek_last_error()) == ERR_R_MALLOC_FAILURE ||
           ERR_GET_REASON(ERR_peek_error()) == ERR_R_MALLOC_FAILURE;
}

static rp_status find_kind(rp_key *key, const char *where, rp_error *err)
{
    const char *type = EVP_PKEY_get0_type_name(key->pkey);
    bool curve = EVP_PKEY_get_base_id(key->pkey) == EVP_PKEY_EC;
    char group[64] = "";
    int parameters = 0; /* written out instead of the curve's name: the same key would have another id */

    ERR_clear_error();
    if (curve)
        (void)EVP_PKEY_get_int_param(key->pkey, OSSL_PKEY_PARAM_EC_DECODED_FROM_EXPLICIT_PARAMS, &parameters);
    if (curve && EVP_PKEY_get_group_name(key->pkey, group, sizeof group, NULL) != 1)
        memcpy(group, "unnamed", sizeof "unnamed");
    ERR_clear_error();
    if (parameters)
        return rp_fail(err, RP_EARG,
                       "%s: an EC key with its curve's parameters written out, " EXPECTED_KINDS
                       ", with the curve's name (openssl ec -param_enc named_curve writes it so)",
                       where);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (curve ? kinds[i].group != NULL && strcmp(group, kinds[i].group) == 0
                  : kinds[i].group == NULL && EVP_PKEY_get_base_id(key->pkey) == EVP_PKEY_ED25519)
            key->kind = &kinds[i];
    if (key->kind == NULL && curve)
        return rp_fail(err, RP_EARG, "%s: an EC key on curve %s, " EXPECTED_KINDS, where, group);
    if (key->kind == NULL)
        return rp_fail(err, RP_EARG, "%s: a key of type %s, " EXPECTED_KINDS, where, type ? type : "unknown");
    return RP_OK;
}

/* The id hashes one text: points uncompressed, the final newline included. */
static rp_status find_id(rp_key *key, const char *where, rp_error *err)
{
    BIO *bio = BIO_new(BIO_s_mem());
    rp_digest digest;
    rp_status status;
    char *text = NULL;

    if (bio == NULL)
        return rp_no_memory(err);
    ERR_clear_error();
    if ((key->kind->group != NULL &&
         EVP_PKEY_set_utf8_string_param(key->pkey, OSSL_PKEY_PARAM_EC_POINT_CONVERSION_FORMAT, "uncompressed") != 1) ||
        PEM_write_bio_PUBKEY(bio, key->pkey) != 1) {
        status = rp_fail(err, RP_ENOMEM, "%s: OpenSSL cannot write the public key", where);
    } else {
        long size = BIO_get_mem_data(bio, &text);
        status = rp_sha256(&digest, text, (size_t)size, err);
    }
    ERR_clear_error();
    BIO_free(bio);
    if (status == RP_OK)
        rp_digest_hex(key->id, &digest);
    return status;
}

/* Takes pkey, whatever the result. */
static rp_status wrap(rp_key **out, EVP_PKEY *pkey, bool is_private, const char *where, rp_error *err)
{
    rp_key *key = rp_calloc(1, sizeof *key);
    rp_status status;

    if (key == NULL) {
        EVP_PKEY_free(pkey);
        return rp_no_memory(err);
    }
    key->pkey = pkey;
    key->is_private = is_private;
    status = find_kind(key, where, err);
    if (status == RP_OK)
        status = find_id(key, where, err);
    if (status != RP_OK) {
        rp_key_free(key);
        return status;
    }
    *out = key;
    return RP_OK;
}

void rp_key_free(rp_key *key)
{
    if (key == NULL)
        return;
    EVP_PKEY_free(key->pkey);
    EVP_PKEY_free(key->token);
    rp_buffer_free(&key->certificates);
    rp_free(key);
}

rp_status rp_key_of_certificate(rp_key **out, X509 *certificate, const char *where, rp_error *err)
{
    EVP_PKEY *pkey = X509_get_pubkey(certificate);

    *out = NULL;
    return pkey != NULL ? wrap(out, pkey, false, where, err) : rp_no_memory(err);
}

void rp_key_set_certificates(rp_key *key, rp_buffer *text)
{
    rp_buffer_free(&key->certificates);
    key->certificates = *text;
    memset(text, 0, sizeof *text);
}

const rp_buffer *rp_key_certificates(const rp_key *key)
{
    return key->certificates.size > 0 ? &key->certificates : NULL;
}

const char *rp_key_id(const rp_key *key)
{
    return key->id;
}

const char *rp_key_type(const rp_key *key)
{
    return key->kind->type;
}

bool rp_key_is_ecdsa(const rp_key *key)
{
    return key->kind->group != NULL;
}

bool rp_key_is_private(const rp_key *key)
{
    return key->is_private;
}

rp_status rp_key_generate(rp_key **out, rp_error *err)
{
    EVP_PKEY *pkey;

    *out = NULL;
    ERR_clear_error();
    pkey = EVP_EC_gen("P-256");
    ERR_clear_error();
    if (pkey == NULL)
        return rp_fail(err, RP_ENOMEM, "new key: OpenSSL cannot make an ECDSA P-256 key");
    return wrap(out, pkey, true, "new key", err);
}

/* OpenSSL asks here for a passphrase, and never at a terminal. */
typedef struct passphrase_source {
    const char *passphrase;
    bool asked;
} passphrase_source;

static int give_passphrase(char *out, int size, int writing, void *arg)
{
    passphrase_source *source = arg;
    size_t length = source->passphrase ? strlen(source->passphrase) : 0;

    (void)writing;
    source->asked = true;
    if (source->passphrase == NULL || length > (size_t)size)
        return -1;
    memcpy(out, source->passphrase, length);
    return (int)length;
}

/* What the first PEM block calls itself, for errors. */
static const char *pem_label(char *out, size_t size, const char *pem, size_t length)
{
    static const char begin[] = "-----BEGIN ";
    const size_t skip = sizeof begin - 1;

    for (size_t i = 0; i + skip < length; i++) {
        const char *label = pem + i + skip, *end;
        if (memcmp(pem + i, begin, skip) == 0 && (end = memchr(label, '-', length - i - skip)) != NULL)
            return rp_printable(out, size, label, (size_t)(end - label));
    }
    return "no PEM block";
}

rp_status rp_key_private_from_pem(rp_key **out, const char *pem, size_t size, const char *passphrase, const char *where,
                                  rp_error *err)
{
    passphrase_source source = {.passphrase = passphrase};
    EVP_PKEY *pkey = NULL;
    bool no_memory;
    char label[64];
    BIO *bio;

    *out = NULL;
    if (size == 0)
        return rp_fail(err, RP_EARG, "%s: empty, expected a key in PEM", where);
    if (size > PEM_LIMIT)
        return rp_fail(err, RP_EARG, "%s: %zu bytes, too large for a key", where, size);
    bio = BIO_new_mem_buf(pem, (int)size);
    if (bio == NULL)
        return rp_no_memory(err);
    ERR_clear_error();
    pkey = PEM_read_bio_PrivateKey(bio, NULL, give_passphrase, &source);
    no_memory = pkey == NULL && ran_out_of_memory();
    ERR_clear_error();
    BIO_free(bio);
    if (no_memory)
        return rp_no_memory(err);
    if (pkey != NULL)
        return wrap(out, pkey, true, where, err);
    if (source.asked && passphrase == NULL)
        return rp_fail(err, RP_EARG, "%s: the private key is encrypted and no passphrase was given", where);
    if (source.asked)
        return rp_fail(err, RP_EARG, "%s: the private key cannot be decrypted: wrong passphrase?", where);
    return rp_fail(err, RP_EARG, "%s: found %s, expected a private key in PEM (PKCS#8)", where,
                   pem_label(label, sizeof label, pem, size));
}

rp_status rp_key_public_from_pem(rp_key **out, const char *pem, size_t size, const char *where, rp_error *err)
{
    passphrase_source source = {0};
    EVP_PKEY *pkey = NULL;
    bool no_memory;
    char label[64];
    BIO *bio;

    *out = NULL;
    if (size == 0)
        return rp_fail(err, RP_EARG, "%s: empty, expected a key in PEM", where);
    if (size > PEM_LIMIT)
        return rp_fail(err, RP_EARG, "%s: %zu bytes, too large for a key", where, size);
    bio = BIO_new_mem_buf(pem, (int)size);
    if (bio == NULL)
        return rp_no_memory(err);
    ERR_clear_error();
    pkey = PEM_read_bio_PUBKEY(bio, NULL, give_passphrase, &source);
    no_memory = pkey == NULL && ran_out_of_memory();
    ERR_clear_error();
    BIO_free(bio);
    if (no_memory)
        return rp_no_memory(err);
    if (pkey != NULL)
        return wrap(out, pkey, false, where, err);
    return rp_fail(err, RP_EARG, "%s: found %s, expected a public key in PEM (PUBLIC KEY)", where,
                   pem_label(label, sizeof label, pem, size));
}

static rp_status load(rp_key **out, const char *path, bool is_private, const char *passphrase, rp_error *err)
{
    rp_buffer pem = {0};
    rp_status status = rp_file_read(path, PEM_LIMIT, &pem, err);

    *out = NULL;
    if (status == RP_EDATA)
        status = rp_fail(err, RP_EARG, "%s: too large for a key", path);
    if (status == RP_OK && is_private)
        status = rp_key_private_from_pem(out, (const char *)pem.data, pem.size, passphrase, path, err);
    else if (status == RP_OK)
        status = rp_key_public_from_pem(out, (const char *)pem.data, pem.size, path, err);
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
    return *out != NULL
               ? RP_OK
               : rp_fail(err, RP_EARG, "%.200s: the token does not tell the key's public half, " EXPECTED_KINDS, where);
}

static rp_status load_token(rp_key **out, const char *uri, const char *pin, rp_error *err)
{
    EVP_PKEY *token, *half;
    rp_status status = rp_pkcs11_load(&token, uri, pin, err);

    *out = NULL;
    if (status == RP_OK)
        status = public_half(&half, token, uri, err);
    if (status == RP_OK)
        status = wrap(out, half, true, uri, err);
    if (status == RP_OK)
        (*out)->token = token;
    else
        EVP_PKEY_free(token);
    return status;
}

rp_status rp_key_load_private(rp_key **out, const char *path, const char *passphrase, rp_error *err)
{
    if (rp_pkcs11_is_uri(path))
        return load_token(out, path, passphrase, err);
    return load(out, path, true, passphrase, err);
}

rp_status rp_key_load_public(rp_key **out, const char *path, rp_error *err)
{
    return load(out, path, false, NULL, err);
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
    BIO *bio = BIO_new(BIO_s_mem());

    if (bio == NULL)
        return rp_no_memory(err);
    return save(bio, PEM_write_bio_PUBKEY(bio, key->pkey) == 1, path, force, 0644, err);
}

rp_status rp_key_public_text(const rp_key *key, rp_buffer *out, rp_error *err)
{
    BIO *bio = BIO_new(BIO_s_mem());
    char *text;
    long size = bio != NULL && PEM_write_bio_PUBKEY(bio, key->pkey) == 1 ? BIO_get_mem_data(bio, &text) : 0;

    if (size > 0)
        rp_buffer_append(out, text, (size_t)size);
    BIO_free(bio);
    return size > 0 ? rp_buffer_status(out, err) : rp_no_memory(err);
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
    no_memory = verdict < 0 || (!form && ran_out_of_memory());
    ERR_clear_error();
    if (no_memory)
        return rp_fail(err, RP_ENOMEM, "OpenSSL has no memory to check a signature by this %s key", key->kind->type);
    if (!form)
        return rp_fail(err, RP_ESIGN, "the signature is not strict DER");
    return verdict == 1 ? RP_OK
                        : rp_fail(err, RP_ESIGN, "the signature is wrong: not made by %s key %s over these bytes",
                                  key->kind->type, key->id);
}

/* What is hashed: the ECDSA form is older than the scheme and leaves the name out. */
static rp_status note_text(rp_buffer *text, const rp_key *key, const char *name, rp_error *err)
{
    unsigned char raw[32], *der = NULL;
    size_t size = sizeof raw;
    int length;
    bool done;

    ERR_clear_error();
    if (key->kind->group == NULL) {
        done = EVP_PKEY_get_raw_public_key(key->pkey, raw, &size) == 1;
        rp_buffer_printf(text, "%s\n%c", name, 1);
        rp_buffer_append(text, raw, size);
    } else {
        length = i2d_PUBKEY(key->pkey, &der);
        done = length > 0;
        if (done)
            rp_buffer_append(text, der, (size_t)length);
        OPENSSL_free(der);
    }
    ERR_clear_error();
    return done ? rp_buffer_status(text, err) : rp_fail(err, RP_ENOMEM, "OpenSSL cannot write the public key");
}

rp_status rp_key_note_id(const rp_key *key, const char *name, unsigned char id[4], rp_error *err)
{
    rp_buffer text = {0};
    rp_digest digest;
    rp_status status = note_text(&text, key, name, err);

    if (status == RP_OK)
        status = rp_sha256(&digest, text.data, text.size, err);
    if (status == RP_OK)
        memcpy(id, digest.bytes, 4);
    rp_buffer_free(&text);
    return status;
}
