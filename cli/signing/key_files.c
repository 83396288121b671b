/* SPDX-License-Identifier: Apache-2.0
 * Loading keys, passphrases and members. */
#include "cli/signing/key_files.h"

#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"

enum { PASSPHRASE_MAX = 1024, PASSPHRASE_FILE_MAX = 65536 };

/* A plain memset before free may be optimised away. */
static void wipe(void *bytes, size_t size)
{
    volatile unsigned char *at = bytes;

    while (size--)
        *at++ = 0;
}

rp_status rp_passphrase_load(char **out, const char *path, rp_error *err)
{
    rp_buffer text = {0};
    rp_status status = rp_file_read(path, PASSPHRASE_FILE_MAX, &text, err);
    size_t length = 0;

    *out = NULL;
    if (status != RP_OK)
        return status;
    while (length < text.size && text.data[length] != '\n')
        length++;
    if (length && text.data[length - 1] == '\r')
        length--;
    if (length == 0 || length > PASSPHRASE_MAX || memchr(text.data, '\0', length))
        status = rp_fail(err, RP_EARG, "%s: expected a passphrase of 1 to %d bytes in the first line, found %zu%s",
                         path, PASSPHRASE_MAX, length, length && length <= PASSPHRASE_MAX ? " with a zero byte" : "");
    if (status == RP_OK) {
        *out = rp_strndup((const char *)text.data, length);
        status = *out ? RP_OK : rp_no_memory(err);
    }
    if (text.data)
        wipe(text.data, text.size);
    rp_buffer_free(&text);
    return status;
}

void rp_passphrase_free(char *passphrase)
{
    if (passphrase)
        wipe(passphrase, strlen(passphrase));
    rp_free(passphrase);
}

rp_status rp_signing_key_load(rp_key **out, const char *path, const char *passphrase_file, rp_error *err)
{
    char *passphrase = NULL;
    rp_status status = passphrase_file ? rp_passphrase_load(&passphrase, passphrase_file, err) : RP_OK;

    *out = NULL;
    if (status == RP_OK)
        status = rp_key_load_private(out, path, passphrase, err);
    /* the library cannot know how this program is given one */
    if (status == RP_EARG && !passphrase_file && err &&
        (strstr(err->text, "encrypted") || strstr(err->text, "wants a PIN")))
        strncat(err->text, ": give --passphrase-file FILE", sizeof err->text - strlen(err->text) - 1);
    rp_passphrase_free(passphrase);
    return status;
}
