/* SPDX-License-Identifier: Apache-2.0
 * Keys, signatures and statements: keys of the wrong kind, and envelopes with one thing wrong at a time. */
#include "tests/audit/archive/archive_sample.h"

#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

static const char id[] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
static rp_key *key;
static char folder[] = "/tmp/reprise-test-XXXXXX";

static int setup(void **state)
{
    (void)state;
    return mkdtemp(folder) == NULL || rp_key_generate(&key, NULL) != RP_OK;
}

static int teardown(void **state)
{
    (void)state;
    rp_key_free(key);
    return rmdir(folder);
}

/* ---- keys ---- */

static const char *in_folder(const char *name)
{
    static char path[128];

    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void keys_survive_saving_and_loading(void **state)
{
    static const char *const passphrase[] = {NULL, "correct horse"};
    rp_error err;
    struct stat info;

    (void)state;
    for (int i = 0; i < 2; i++) {
        rp_key *back, *back_public;
        rp_buffer signature = {0};
        assert_ok(rp_key_save_private(key, in_folder("k.pem"), passphrase[i], false, &err));
        assert_int_equal(stat(in_folder("k.pem"), &info), 0);
        assert_int_equal(info.st_mode & 0777, 0600);
        assert_int_equal(rp_key_save_private(key, in_folder("k.pem"), NULL, false, &err), RP_EEXIST);
        assert_ok(rp_key_save_public(key, in_folder("k.pub.pem"), false, &err));
        assert_ok(rp_key_load_private(&back, in_folder("k.pem"), passphrase[i], &err));
        assert_ok(rp_key_load_public(&back_public, in_folder("k.pub.pem"), &err));
        assert_string_equal(rp_key_id(back), rp_key_id(key));
        assert_string_equal(rp_key_id(back_public), rp_key_id(key));
        assert_true(rp_key_is_private(back));
        assert_false(rp_key_is_private(back_public));
        assert_ok(rp_key_sign(back, "abc", 3, &signature, &err));
        assert_ok(rp_key_check(back_public, "abc", 3, signature.data, signature.size, &err));
        assert_int_equal(rp_key_check(back_public, "abd", 3, signature.data, signature.size, &err), RP_ESIGN);
        assert_int_equal(rp_key_sign(back_public, "abc", 3, &signature, &err), RP_EARG);
        assert_int_equal(rp_key_save_private(back_public, in_folder("n.pem"), NULL, false, &err), RP_EARG);
        rp_buffer_free(&signature);
        rp_key_free(back);
        rp_key_free(back_public);
        unlink(in_folder("k.pem"));
        unlink(in_folder("k.pub.pem"));
    }
}

static void key_id_is_the_hash_of_the_public_pem(void **state)
{
    rp_buffer text = {0};
    rp_digest digest;
    char hex[RP_DIGEST_HEX];
    rp_error err;

    (void)state;
    assert_ok(rp_key_save_public(key, in_folder("k.pub.pem"), false, &err));
    assert_ok(rp_file_read(in_folder("k.pub.pem"), 4096, &text, &err));
    assert_ok(rp_sha256(&digest, text.data, text.size, &err));
    rp_digest_hex(hex, &digest);
    assert_string_equal(hex, rp_key_id(key));
    rp_buffer_free(&text);
    unlink(in_folder("k.pub.pem"));
}

static void encrypted_key_without_the_passphrase_is_a_clear_error(void **state)
{
    rp_key *back;
    rp_error err;

    (void)state;
    assert_ok(rp_key_save_private(key, in_folder("k.pem"), "secret", false, &err));
    assert_int_equal(rp_key_load_private(&back, in_folder("k.pem"), NULL, &err), RP_EARG);
    assert_null(back);
    assert_non_null(strstr(err.text, "is encrypted and no passphrase"));
    assert_int_equal(rp_key_load_private(&back, in_folder("k.pem"), "guess", &err), RP_EARG);
    assert_non_null(strstr(err.text, "wrong passphrase"));
    assert_int_equal(rp_key_load_public(&back, in_folder("k.pem"), &err), RP_EARG);
    assert_non_null(strstr(err.text, "found ENCRYPTED PRIVATE KEY, expected a public key"));
    assert_int_equal(rp_key_load_private(&back, in_folder("absent.pem"), NULL, &err), RP_EIO);
    assert_int_equal(rp_key_save_private(key, in_folder("k2.pem"), "", false, &err), RP_EARG);
    unlink(in_folder("k.pem"));
}

/* A foreign key as PEM. */
/* Bounds, and texts that begin like a key. */
static void what_is_too_large_or_no_key_is_refused_by_name(void **state)
{
    static const struct {
        const char *text, *says;
    } bad[] = {
        {"", "empty, expected a key in PEM"},
        {"-----BEGIN ", "found no PEM block"},
        {"-----BEGIN PRIVATE", "found no PEM block"},
        {"-----BEGIN X\x01Y-----\n", "found X"},
        {"x-----BEGIN CERTIFICATE-----\n", "found CERTIFICATE"},
        {"-----BEGIN PRIVATE KEY-----\nMAA=\n-----END PRIVATE KEY-----\n", "found PRIVATE KEY"},
        {"-----BEGIN PUBLIC KEY-----\nMAA=\n-----END PUBLIC KEY-----\n", "found PUBLIC KEY"},
    };
    char *large = calloc(1, 70000), long_text[1100];
    rp_key *none;
    rp_error err;

    (void)state;
    assert_non_null(large);
    memset(large, '\n', 69999);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        for (int is_private = 0; is_private < 2; is_private++) {
            rp_status status =
                is_private ? rp_key_private_from_pem(&none, bad[i].text, strlen(bad[i].text), NULL, "text", &err)
                           : rp_key_public_from_pem(&none, bad[i].text, strlen(bad[i].text), "text", &err);

            assert_int_equal(status, RP_EARG);
            assert_null(none);
            if (!strstr(err.text, bad[i].says) || strchr(err.text, '\x01'))
                fail_msg("%zu: %s", i, err.text);
        }
    assert_int_equal(rp_key_private_from_pem(&none, large, 65537, NULL, "text", &err), RP_EARG);
    assert_non_null(strstr(err.text, "65537 bytes, too large for a key"));
    assert_int_equal(rp_key_public_from_pem(&none, large, 65537, "text", &err), RP_EARG);
    assert_non_null(strstr(err.text, "65537 bytes, too large for a key"));
    assert_ok(rp_file_save(in_folder("large.pem"), large, 69999, false, 0600, &err));
    assert_int_equal(rp_key_load_private(&none, in_folder("large.pem"), NULL, &err), RP_EARG);
    assert_non_null(strstr(err.text, "too large for a key"));
    assert_int_equal(rp_key_load_public(&none, in_folder("large.pem"), &err), RP_EARG);
    assert_int_equal(unlink(in_folder("large.pem")), 0);
    memset(long_text, 'p', sizeof long_text - 1);
    long_text[sizeof long_text - 1] = '\0';
    assert_int_equal(rp_key_save_private(key, in_folder("p.pem"), long_text, false, &err), RP_EARG);
    assert_non_null(strstr(err.text, "1 to 1024 bytes"));
    assert_int_equal(rp_key_save_private(key, in_folder("p.pem"), "", false, &err), RP_EARG);
    long_text[1024] = '\0';
    assert_ok(rp_key_save_private(key, in_folder("p.pem"), long_text, false, &err));
    assert_ok(rp_key_load_private(&none, in_folder("p.pem"), long_text, &err));
    assert_string_equal(rp_key_id(none), rp_key_id(key));
    rp_key_free(none);
    long_text[1024] = 'p'; /* longer than any passphrase: wrong, and nothing is cut off */
    assert_int_equal(rp_key_load_private(&none, in_folder("p.pem"), long_text, &err), RP_EARG);
    assert_non_null(strstr(err.text, "wrong passphrase"));
    assert_int_equal(unlink(in_folder("p.pem")), 0);
    free(large);
}

static void make_pem(rp_buffer *out, EVP_PKEY *pkey, bool is_private)
{
    BIO *bio = BIO_new(BIO_s_mem());
    char *text;
    long size;

    assert_non_null(pkey);
    assert_int_equal(is_private ? PEM_write_bio_PKCS8PrivateKey(bio, pkey, NULL, NULL, 0, NULL, NULL)
                                : PEM_write_bio_PUBKEY(bio, pkey),
                     1);
    size = BIO_get_mem_data(bio, &text);
    out->size = 0;
    rp_buffer_append(out, text, (size_t)size);
    BIO_free(bio);
    EVP_PKEY_free(pkey);
}

static void keys_of_every_allowed_kind_sign_and_others_are_named(void **state)
{
    static const struct {
        const char *curve; /* NULL: Ed25519 */
        const char *type;  /* NULL: refused */
    } kind[] = {
        {"P-256", "ECDSA P-256"}, {"P-384", "ECDSA P-384"}, {"P-521", "ECDSA P-521"},
        {NULL, "Ed25519"},        {"secp256k1", NULL},      {"P-224", NULL},
    };
    rp_buffer pem = {0};
    rp_key *found;
    rp_error err;

    (void)state;
    for (size_t i = 0; i < sizeof kind / sizeof *kind; i++) {
        make_pem(&pem, kind[i].curve ? EVP_EC_gen(kind[i].curve) : EVP_PKEY_Q_keygen(NULL, NULL, "ED25519"), true);
        rp_status status = rp_key_private_from_pem(&found, (const char *)pem.data, pem.size, NULL, "key.pem", &err);
        if (kind[i].type == NULL) {
            assert_int_equal(status, RP_EARG);
            assert_non_null(strstr(err.text, "key.pem: an EC key on curve"));
            continue;
        }
        rp_buffer signature = {0};
        assert_ok(status);
        assert_string_equal(rp_key_type(found), kind[i].type);
        assert_ok(rp_key_sign(found, id, 64, &signature, &err));
        assert_ok(rp_key_check(found, id, 64, signature.data, signature.size, &err));
        signature.data[signature.size - 1] ^= 1;
        assert_int_equal(rp_key_check(found, id, 64, signature.data, signature.size, &err), RP_ESIGN);
        rp_buffer_free(&signature);
        rp_key_free(found);
    }
    make_pem(&pem, EVP_RSA_gen(1024), true);
    assert_int_equal(rp_key_private_from_pem(&found, (const char *)pem.data, pem.size, NULL, "key.pem", &err), RP_EARG);
    assert_non_null(strstr(err.text, "of type RSA, expected ECDSA P-256"));
    make_pem(&pem, EVP_RSA_gen(1024), false);
    assert_int_equal(rp_key_public_from_pem(&found, (const char *)pem.data, pem.size, "key.pem", &err), RP_EARG);
    assert_int_equal(rp_key_private_from_pem(&found, (const char *)pem.data, pem.size, NULL, "key.pem", &err), RP_EARG);
    assert_non_null(strstr(err.text, "found PUBLIC KEY, expected a private key"));
    assert_int_equal(rp_key_private_from_pem(&found, "hello", 5, NULL, "key.pem", &err), RP_EARG);
    assert_non_null(strstr(err.text, "no PEM block"));
    assert_int_equal(rp_key_public_from_pem(&found, "", 0, "key.pem", &err), RP_EARG);
    rp_buffer_free(&pem);
}

/* FORMAT.md 5: of (r, s) anybody makes (r, n - s), and neither is asked to be the lower. */
static void both_signatures_that_a_signature_makes_are_valid(void **state)
{
    rp_buffer signature = {0};
    rp_error err;
    BIGNUM *order = NULL, *other = BN_new();
    ECDSA_SIG *pair;
    const unsigned char *at;
    unsigned char *twin = NULL;
    int size;

    (void)state;
    assert_int_equal(BN_hex2bn(&order, "FFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551"), 64);
    assert_ok(rp_key_sign(key, id, 64, &signature, &err));
    at = signature.data;
    pair = d2i_ECDSA_SIG(NULL, &at, (long)signature.size);
    assert_true(pair != NULL && BN_sub(other, order, ECDSA_SIG_get0_s(pair)) == 1);
    assert_int_equal(ECDSA_SIG_set0(pair, BN_dup(ECDSA_SIG_get0_r(pair)), other), 1);
    size = i2d_ECDSA_SIG(pair, &twin);
    assert_true(size > 0 && ((size_t)size != signature.size || memcmp(twin, signature.data, (size_t)size) != 0));
    assert_ok(rp_key_check(key, id, 64, signature.data, signature.size, &err));
    assert_ok(rp_key_check(key, id, 64, twin, (size_t)size, &err));
    OPENSSL_free(twin);
    ECDSA_SIG_free(pair);
    BN_free(order);
    rp_buffer_free(&signature);
}

/* ---- statements ---- */

static rp_status check(const void *bytes, size_t size, rp_error *err)
{
    const rp_key *trusted[] = {key};
    rp_statement statement;
    rp_status status = rp_statement_check(&statement, bytes, size, "signatures/x.dsse.json", trusted, 1, err);

    rp_statement_clear(&statement);
    return status;
}

static void statement_reads_back(void **state)
{
    const rp_key *trusted[] = {key};
    rp_json *predicate = rp_json_pack("{s:s}", "host", "h");
    rp_buffer text = {0};
    rp_statement statement;
    rp_error err;

    (void)state;
    assert_ok(rp_statement_write(&text, key, id, RP_PROVENANCE_TYPE, predicate, &err));
    assert_ok(rp_statement_check(&statement, text.data, text.size, "x", trusted, 1, &err));
    assert_string_equal(statement.subject, id);
    assert_string_equal(statement.predicate_type, RP_PROVENANCE_TYPE);
    assert_true(rp_json_equal(rp_json_object_get(statement.payload, "predicate"), predicate));
    assert_ptr_equal(statement.key, key);
    rp_statement_clear(&statement);
    assert_int_equal(rp_statement_check(&statement, text.data, text.size, "x", NULL, 0, &err), RP_ESIGN);
    assert_int_equal(rp_statement_write(&text, key, id, "t", NULL, &err), RP_EARG);
    rp_json_free(predicate);
    rp_buffer_free(&text);
}

/* An envelope around any payload, signed properly. */
static void envelope(rp_buffer *out, const char *payload, const char *type)
{
    rp_buffer message = {0}, signature = {0};
    unsigned char payload64[4096], signature64[512];
    rp_error err;

    rp_buffer_printf(&message, "DSSEv1 %zu %s %zu %s", strlen(type), type, strlen(payload), payload);
    assert_ok(rp_key_sign(key, message.data, message.size, &signature, &err));
    EVP_EncodeBlock(payload64, (const unsigned char *)payload, (int)strlen(payload));
    EVP_EncodeBlock(signature64, signature.data, (int)signature.size);
    out->size = 0;
    rp_buffer_printf(out,
                     "{\"payload\":\"%s\",\"payloadType\":\"%s\",\"signatures\":[{\"keyid\":\"%s\",\"sig\":\"%s\"}]}",
                     (char *)payload64, type, rp_key_id(key), (char *)signature64);
    rp_buffer_free(&message);
    rp_buffer_free(&signature);
}

#define STATEMENT(type, predicate, name, hash) \
    "{\"_type\":\"" type "\",\"predicate\":" predicate ",\"predicateType\":\"t\",\"subject\":[{\"digest\":{" \
    "\"sha256\":\"" hash "\"},\"name\":\"" name "\"}]}"
#define HASH "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void signed_payloads_of_another_form_are_refused(void **state)
{
    static const char good[] = STATEMENT(RP_STATEMENT_TYPE, "{}", "manifest.json", HASH);
    static const char *const bad[] = {
        STATEMENT("https://in-toto.io/Statement/v0.1", "{}", "manifest.json", HASH),
        STATEMENT(RP_STATEMENT_TYPE, "[]", "manifest.json", HASH),
        STATEMENT(RP_STATEMENT_TYPE, "{}", "manifest.jsom", HASH),
        STATEMENT(RP_STATEMENT_TYPE, "{}", "manifest.json", "0123"),
        STATEMENT(RP_STATEMENT_TYPE, "{}", "manifest.json", HASH) " ",
        "{\"_type\":\"" RP_STATEMENT_TYPE "\",\"predicate\":{},\"predicateType\":\"t\",\"subject\":[]}",
        "[]",
        "x",
    };
    rp_buffer text = {0};
    rp_error err;

    (void)state;
    envelope(&text, good, RP_PAYLOAD_TYPE);
    assert_ok(check(text.data, text.size, &err));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        envelope(&text, bad[i], RP_PAYLOAD_TYPE);
        if (check(text.data, text.size, &err) != RP_ESIGN)
            fail_msg("accepted: %s", bad[i]);
        assert_non_null(strstr(err.text, "signatures/x.dsse.json"));
    }
    envelope(&text, good, "text/plain");
    assert_int_equal(check(text.data, text.size, &err), RP_ESIGN);
    rp_buffer_free(&text);
}

/* Replaces the first occurrence of a by b. */
static void replace(rp_buffer *text, const char *a, const char *b)
{
    rp_buffer out = {0};
    rp_buffer_u8(text, 0);
    char *at = strstr((char *)text->data, a);

    assert_non_null(at);
    rp_buffer_append(&out, text->data, (size_t)(at - (char *)text->data));
    rp_buffer_text(&out, b);
    rp_buffer_text(&out, at + strlen(a));
    rp_buffer_free(text);
    *text = out;
}

static void envelopes_with_another_text_are_refused(void **state)
{
    static const char good[] = STATEMENT(RP_STATEMENT_TYPE, "{}", "manifest.json", HASH);
    static const char *const change[][2] = {
        {"{\"payload\":\"", "{ \"payload\":\""},          /* not canonical */
        {"{\"payload\":\"", "{\"payload\":\" "},          /* base64 with a space */
        {"{\"payload\":\"ey", "{\"payload\":\"e\\u0079"}, /* the same string, otherwise escaped */
        {"\"signatures\":[", "\"signatures\":[{\"keyid\":\"a\",\"sig\":\"AAAA\"},"},
        {"}]}", "},{\"keyid\":\"a\",\"sig\":\"AAAA\"}]}"}, /* a second signature */
        {"\"keyid\"", "\"keyie\""},
        {"\"signatures\"", "\"more\":1,\"signatures\""},
        {"\"sig\":\"M", "\"sig\":\"N"}, /* a SEQUENCE no more */
        {"\"sig\":\"", "\"sig\":\"MA=="},
        {"]}", "]}\n"},
    };
    rp_buffer text = {0};
    rp_error err;

    (void)state;
    for (size_t i = 0; i < sizeof change / sizeof *change; i++) {
        envelope(&text, good, RP_PAYLOAD_TYPE);
        replace(&text, change[i][0], change[i][1]);
        if (check(text.data, text.size, &err) != RP_ESIGN)
            fail_msg("accepted after %s became %s", change[i][0], change[i][1]);
    }
    envelope(&text, good, RP_PAYLOAD_TYPE);
    rp_buffer_u8(&text, 0);
    assert_int_equal(check(text.data, text.size, &err), RP_ESIGN);
    rp_buffer_free(&text);
}

/* The bits of the last digit that no byte uses are set: the payload, and so the signature, stays the same. */
static void base64_with_unused_bits_is_refused(void **state)
{
    static const char *const payload[] = {STATEMENT(RP_STATEMENT_TYPE, "{\"a\":\"\"}", "manifest.json", HASH),
                                          STATEMENT(RP_STATEMENT_TYPE, "{\"a\":\"b\"}", "manifest.json", HASH),
                                          STATEMENT(RP_STATEMENT_TYPE, "{\"a\":\"bc\"}", "manifest.json", HASH)};
    rp_buffer text = {0};
    int changed = 0;
    rp_error err;

    (void)state;
    for (size_t i = 0; i < sizeof payload / sizeof *payload; i++) {
        envelope(&text, payload[i], RP_PAYLOAD_TYPE);
        assert_ok(check(text.data, text.size, &err));
        unsigned char *padding = memchr(text.data, '=', text.size);
        if (padding == NULL || padding > (unsigned char *)strstr((char *)text.data, "payloadType"))
            continue;  /* a payload of full threes has no such bits */
        padding[-1]++; /* the digits of '}' with its zeros end in 0 or Q: the next one differs in an unused bit */
        assert_int_equal(check(text.data, text.size, &err), RP_ESIGN);
        assert_non_null(strstr(err.text, "base64"));
        changed++;
    }
    assert_int_equal(changed, 2);
    rp_buffer_free(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_survive_saving_and_loading),
        cmocka_unit_test(key_id_is_the_hash_of_the_public_pem),
        cmocka_unit_test(encrypted_key_without_the_passphrase_is_a_clear_error),
        cmocka_unit_test(what_is_too_large_or_no_key_is_refused_by_name),
        cmocka_unit_test(keys_of_every_allowed_kind_sign_and_others_are_named),
        cmocka_unit_test(both_signatures_that_a_signature_makes_are_valid),
        cmocka_unit_test(statement_reads_back),
        cmocka_unit_test(signed_payloads_of_another_form_are_refused),
        cmocka_unit_test(envelopes_with_another_text_are_refused),
        cmocka_unit_test(base64_with_unused_bits_is_refused),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
