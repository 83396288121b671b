/* SPDX-License-Identifier: Apache-2.0
 * Keys as PEM text, read without ever prompting; of public ones all there is. */
#include <openssl/err.h>
#include <string.h>

#include "audit/sign/key_private.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"

static int give_passphrase(char *out, int size, int writing, void *passphrase)
{
    rp_passphrase *source = passphrase;
    size_t length = source->text ? strlen(source->text) : 0;

    (void)writing;
    source->asked = true;
    if (source->text == NULL || length > (size_t)size)
        return -1;
    memcpy(out, source->text, length);
    return (int)length;
}

/* What the first PEM block calls itself, for errors. */
const char *rp_pem_label(char *out, size_t size, const char *pem, size_t length)
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

rp_status rp_pem_read(EVP_PKEY **out, rp_pem_reader *read, rp_passphrase *passphrase, const char *pem, size_t size,
                      const char *where, rp_error *err)
{
    bool no_memory;
    BIO *bio;

    *out = NULL;
    if (size == 0)
        return rp_fail(err, RP_EARG, "%s: empty, expected a key in PEM", where);
    if (size > RP_PEM_LIMIT)
        return rp_fail(err, RP_EARG, "%s: %zu bytes, too large for a key", where, size);
    bio = BIO_new_mem_buf(pem, (int)size);
    if (bio == NULL)
        return rp_no_memory(err);
    ERR_clear_error();
    *out = read(bio, NULL, give_passphrase, passphrase);
    no_memory = *out == NULL && rp_key_no_memory();
    ERR_clear_error();
    BIO_free(bio);
    return no_memory ? rp_no_memory(err) : RP_OK;
}

rp_status rp_pem_file(rp_buffer *out, const char *path, rp_error *err)
{
    rp_status status = rp_file_read(path, RP_PEM_LIMIT, out, err);

    return status == RP_EDATA ? rp_fail(err, RP_EARG, "%s: too large for a key", path) : status;
}

rp_status rp_key_public_from_pem(rp_key **out, const char *pem, size_t size, const char *where, rp_error *err)
{
    rp_passphrase none = {0};
    EVP_PKEY *pkey;
    char label[64];
    rp_status status = rp_pem_read(&pkey, PEM_read_bio_PUBKEY, &none, pem, size, where, err);

    *out = NULL;
    if (status != RP_OK)
        return status;
    if (pkey != NULL)
        return rp_key_wrap(out, pkey, false, where, err);
    return rp_fail(err, RP_EARG, "%s: found %s, expected a public key in PEM (PUBLIC KEY)", where,
                   rp_pem_label(label, sizeof label, pem, size));
}

rp_status rp_key_load_public(rp_key **out, const char *path, rp_error *err)
{
    rp_buffer pem = {0};
    rp_status status = rp_pem_file(&pem, path, err);

    *out = NULL;
    if (status == RP_OK)
        status = rp_key_public_from_pem(out, (const char *)pem.data, pem.size, path, err);
    rp_buffer_free(&pem);
    return status;
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
