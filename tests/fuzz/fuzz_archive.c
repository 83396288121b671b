/* SPDX-License-Identifier: Apache-2.0
 * Fuzz target: opening and verifying an archive, and reading every member of one that opens. */
#include <stdint.h>
#include <stdlib.h>

#include "audit/archive/archive.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const rp_verify_options options = {.allow_unsigned = true};
    rp_archive *archive;
    rp_verification *result;
    rp_error err;

    if (rp_archive_open_memory(&archive, data, size, "input", &err) == RP_OK) {
        for (size_t i = 0; i < rp_archive_member_count(archive); i++) {
            rp_buffer body = {0};
            if (rp_archive_read_member(archive, rp_archive_member(archive, i)->name, size, &body, &err) != RP_OK)
                abort(); /* what was opened can be read */
            rp_buffer_free(&body);
        }
        rp_archive_close(archive);
    }
    if (rp_verify_memory(data, size, "input", NULL, 0, &options, &result, NULL, &err) == RP_OK)
        rp_verification_free(result);
    return 0;
}
