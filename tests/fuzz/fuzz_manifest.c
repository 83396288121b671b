/* SPDX-License-Identifier: Apache-2.0
 * Fuzz target: manifests. One that is taken is what would be written for its parts. Their JSON as such: fuzz_json.c.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "audit/archive/manifest.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(bool fine)
{
    if (!fine)
        abort();
}

static bool same(const rp_buffer *text, const void *bytes, size_t size)
{
    return text->size == size && memcmp(text->data, bytes, size) == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    rp_manifest *manifest;
    rp_buffer text = {0};
    rp_error err;

    if (rp_manifest_parse(&manifest, data, size, &err) != RP_OK)
        return 0;
    for (size_t i = 1; i < manifest->members; i++)
        expect(rp_member_compare(&manifest->member[i - 1], &manifest->member[i]) < 0);
    expect(rp_manifest_write(&text, manifest->kind, manifest->run, manifest->member, manifest->members,
                             manifest->withheld, manifest->n_withheld, &err) == RP_OK);
    expect(same(&text, data, size));
    rp_buffer_free(&text);
    rp_manifest_free(manifest);
    return 0;
}
