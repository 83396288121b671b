/* SPDX-License-Identifier: Apache-2.0
 * Fuzz target: JSON. What the tolerant reader takes has one canonical form, which reads back as itself; what the strict
 * reader takes is that form already, counted as rp_json_memory says; copies are equal. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(bool fine)
{
    if (!fine)
        abort();
}

static void expect_written(const rp_json *value, const void *bytes, size_t size)
{
    rp_buffer text = {0};

    expect(rp_json_write(value, &text, NULL) == RP_OK && text.size == size && memcmp(text.data, bytes, size) == 0);
    rp_buffer_free(&text);
}

static void check_strict(const rp_json *strict, const uint8_t *data, size_t size)
{
    const size_t price = rp_json_memory(data, size);
    rp_json *again, *copy = rp_json_deep_copy(strict);

    expect_written(strict, data, size);
    expect(rp_json_equal(strict, copy));
    expect_written(copy, data, size);
    expect(rp_json_parse_within(&again, data, size, price, true, "input", NULL) == RP_OK);
    rp_json_free(again);
    expect(rp_json_parse_within(&again, data, size, price - 1, true, "input", NULL) == RP_EFORMAT);
    rp_json_free(copy);
}

/* What any text says, unless an integer in it has no canonical form. */
static void check_tolerant(const rp_json *value)
{
    rp_buffer text = {0};
    rp_json *again;
    rp_error err;
    rp_status status = rp_json_write(value, &text, &err);

    expect(status == RP_OK || (status == RP_EARG && strstr(err.text, "2^53")));
    if (status == RP_OK) {
        expect(rp_json_parse(&again, text.data, text.size, true, "canonical", &err) == RP_OK);
        expect(rp_json_equal(value, again));
        expect_written(again, text.data, text.size);
        rp_json_free(again);
    }
    rp_buffer_free(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    rp_json *value, *strict;
    rp_error err;
    const rp_status status = rp_json_parse(&value, data, size, false, "input", &err);

    if (rp_json_parse(&strict, data, size, true, "input", &err) == RP_OK) {
        expect(status == RP_OK && rp_json_equal(value, strict));
        check_strict(strict, data, size);
        rp_json_free(strict);
    }
    if (status == RP_OK)
        check_tolerant(value);
    rp_json_free(value);
    return 0;
}
