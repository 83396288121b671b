/* SPDX-License-Identifier: Apache-2.0
 * Salted digests, and the salt in the folder of what was left out. */
#include <errno.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <string.h>
#include <sys/stat.h>

#include "audit/archive/withheld.h"
#include "base/memory.h"

#define SALT_FILE "salt"
enum { SALT_TEXT = 2 * RP_SALT_SIZE + 1, SALT_FILE_LIMIT = 4096 };
enum { KIND_MEMBER = 5, KIND_FEEDS = 6 }; /* FORMAT.md 3: a first byte keeps kinds of message apart */

static rp_status hmac(rp_digest *out, const rp_salt *salt, const rp_buffer *message, rp_error *err)
{
    size_t length = 0;
    rp_status status = rp_buffer_status(message, err);

    if (status == RP_OK && (!EVP_Q_mac(NULL, "HMAC", NULL, "SHA256", NULL, salt->bytes, sizeof salt->bytes,
                                       message->data, message->size, out->bytes, sizeof out->bytes, &length) ||
                            length != sizeof out->bytes))
        status = rp_fail(err, RP_ENOMEM, "HMAC-SHA-256 failed");
    return status;
}

rp_status rp_salted_member(rp_digest *out, const rp_salt *salt, const char *name, const rp_digest *plain, rp_error *err)
{
    rp_buffer message = {0};
    rp_status status;

    rp_buffer_u8(&message, KIND_MEMBER);
    rp_buffer_u16(&message, (uint16_t)strlen(name));
    rp_buffer_text(&message, name);
    rp_buffer_append(&message, plain->bytes, sizeof plain->bytes);
    status = hmac(out, salt, &message, err);
    rp_buffer_free(&message);
    return status;
}

rp_status rp_salted_feeds(rp_digest *digest, const rp_salt *salt, rp_error *err)
{
    rp_buffer message = {0};
    rp_status status;

    rp_buffer_u8(&message, KIND_FEEDS);
    rp_buffer_append(&message, digest->bytes, sizeof digest->bytes);
    status = hmac(digest, salt, &message, err);
    rp_buffer_free(&message);
    return status;
}

rp_status rp_withheld_folder(const char *path, rp_error *err)
{
    if (mkdir(path, 0700) == 0 || errno == EEXIST)
        return RP_OK;
    return rp_fail(err, RP_EIO, "%s: cannot make the folder: %s", path, strerror(errno));
}

static rp_status salt_read(rp_salt *out, const char *path, rp_error *err)
{
    rp_buffer text = {0};
    char hex[SALT_TEXT];
    rp_status status = rp_file_read(path, SALT_FILE_LIMIT, &text, err);
    bool right = status == RP_OK && text.size >= SALT_TEXT - 1 && text.size <= SALT_TEXT &&
                 (text.size < SALT_TEXT || text.data[SALT_TEXT - 1] == '\n');

    if (right) {
        memcpy(hex, text.data, SALT_TEXT - 1);
        hex[SALT_TEXT - 1] = '\0';
        right = rp_unhex(out->bytes, sizeof out->bytes, hex);
    }
    rp_buffer_free(&text);
    if (status == RP_OK && !right)
        status =
            rp_fail(err, RP_EDATA, "%s: expected a salt: one line of %d lowercase hex digits", path, SALT_TEXT - 1);
    return status;
}

static rp_status salt_make(rp_salt *out, const char *folder, const char *path, rp_error *err)
{
    char text[SALT_TEXT + 1];
    rp_status status = rp_withheld_folder(folder, err);

    if (status == RP_OK && RAND_bytes(out->bytes, sizeof out->bytes) != 1)
        status = rp_fail(err, RP_EIO, "%s: the system gives no random bytes for a salt", folder);
    if (status != RP_OK)
        return status;
    rp_hex(text, out->bytes, sizeof out->bytes);
    text[SALT_TEXT - 1] = '\n';
    return rp_file_save(path, text, SALT_TEXT, false, 0600, err);
}

rp_status rp_salt_open(rp_salt *out, const char *folder, rp_error *err)
{
    char *path = rp_path_in(folder, SALT_FILE);
    rp_status status = path == NULL           ? rp_no_memory(err)
                       : rp_file_exists(path) ? salt_read(out, path, err)
                                              : salt_make(out, folder, path, err);

    rp_free(path);
    return status;
}

rp_status rp_salt_read(rp_salt *out, const char *folder, rp_error *err)
{
    char *path = rp_path_in(folder, SALT_FILE);
    rp_status status = path != NULL ? salt_read(out, path, err) : rp_no_memory(err);

    rp_free(path);
    return status;
}
