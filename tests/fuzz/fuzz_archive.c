/* SPDX-License-Identifier: Apache-2.0
 * Fuzz target: opening and verifying an archive, reading every member of one that opens, its sets of tensors, and the
 * door that it names. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "audit/archive/archive.h"
#include "audit/archive/tensor_set.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static rp_status count(void *self, const rp_safetensor *tensor, size_t first, const void *host, size_t n, rp_error *err)
{
    size_t *elements = self;

    (void)host, (void)err;
    if (first + n > tensor->size / rp_dtype_size(tensor->dtype))
        abort();
    *elements += n;
    return RP_OK;
}

/* Names ascend, each is found at its place, and what is streamed is what the headers say. */
static void read_set(const rp_archive *archive, const char *name)
{
    rp_tensor_set *set;
    size_t elements = 0, expected = 0;
    const rp_element_sink to = {count, &elements};

    if (rp_tensor_set_open(&set, archive, name, NULL) != RP_OK)
        return;
    for (size_t i = 0; i < rp_tensor_set_count(set); i++) {
        const rp_safetensor *t = rp_tensor_set_at(set, i);

        expected += t->size / rp_dtype_size(t->dtype);
        if (rp_tensor_set_find(set, t->name) != t)
            abort();
    }
    if (rp_tensor_set_stream(set, &to, NULL) != RP_OK || elements != expected)
        abort();
    rp_tensor_set_free(set);
}

/* What it says goes to terminals and pages as it stands. */
static void read_door(const rp_archive *archive)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.+-_";
    rp_door door;

    if (rp_archive_door(archive, &door, NULL) != RP_OK || door.name[strspn(door.name, allowed)] != '\0' ||
        door.version[strspn(door.version, allowed)] != '\0' || (*door.version && !*door.name))
        abort();
}

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
        read_set(archive, RP_FINAL_MEMBER);
        read_set(archive, RP_INIT_MEMBER);
        read_set(archive, RP_FEEDS_MEMBER);
        read_door(archive);
        rp_archive_close(archive);
    }
    if (rp_verify_memory(data, size, "input", NULL, 0, &options, &result, NULL, &err) == RP_OK)
        rp_verification_free(result);
    return 0;
}
