/* SPDX-License-Identifier: Apache-2.0
 * Fuzz target: canonical JSON, and manifests. What is read as JSON has one canonical form, which reads back as itself;
 * what the strict reader takes is that form already; a manifest that is taken is what would be written for its parts.
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

/* Any JSON: if it can be written, what is written is a fixed point. */
static void check_json(const uint8_t *data, size_t size, rp_error *err)
{
    rp_buffer text = {0}, again = {0};
    rp_json *value, *strict;
    rp_status status = rp_json_parse(&value, data, size, false, "input", err);

    if (rp_json_parse(&strict, data, size, true, "input", err) == RP_OK) {
        expect(status == RP_OK && rp_json_equal(value, strict));
        expect(rp_json_write(strict, &text, err) == RP_OK && same(&text, data, size));
        rp_buffer_free(&text);
        rp_json_free(strict);
    }
    if (status != RP_OK)
        return;
    status = rp_json_write(value, &text, err);
    expect(status == RP_OK || status == RP_EARG); /* reals, large integers and keys beyond ASCII are not written */
    if (status == RP_OK && rp_json_parse(&strict, text.data, text.size, true, "canonical", err) == RP_OK) {
        expect(rp_json_write(strict, &again, err) == RP_OK && same(&again, text.data, text.size));
        rp_json_free(strict);
    }
    rp_json_free(value);
    rp_buffer_free(&text);
    rp_buffer_free(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    rp_manifest *manifest;
    rp_buffer text = {0};
    rp_error err;

    check_json(data, size, &err);
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
