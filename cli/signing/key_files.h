/* SPDX-License-Identifier: Apache-2.0
 * What commands sign with: keys and passphrases. */
#ifndef CLI_SIGNING_KEY_FILES_H
#define CLI_SIGNING_KEY_FILES_H

#include "cli/archive_files.h"

/* The first line of a file, without its line end, 1 to 1024 bytes. Free with rp_passphrase_free, which wipes it.
 * Errors: RP_EIO, RP_EARG. */
rp_status rp_passphrase_load(char **out, const char *path, rp_error *err);
void rp_passphrase_free(char *passphrase);

/* The private key, opened with the passphrase in passphrase_file when that is not NULL. */
rp_status rp_signing_key_load(rp_key **out, const char *path, const char *passphrase_file, rp_error *err);

#endif
