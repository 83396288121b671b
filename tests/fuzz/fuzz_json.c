/* SPDX-License-Identifier: Apache-2.0
 * Fuzz target: JSON. What the tolerant reader takes has one canonical form, which reads back as itself; what the strict
 * reader takes is that form already, counted as rp_json_memory says; copies are equal. Whoever takes the parts of a
 * text one by one gets what the text has, and no other text is taken. */
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

static rp_status collect(void *self, const char *key, rp_json *value, rp_error *err)
{
    rp_json *list = rp_json_object_get(self, key);

    (void)err;
    if (list == NULL) {
        list = rp_json_array();
        expect(rp_json_object_set_new(self, key, list) == 0);
    }
    expect(rp_json_array_append(list, value) == 0);
    return RP_OK;
}

/* Two lists by name, as a manifest's; and every member, doubled ones too. */
static void check_parts(const uint8_t *data, size_t size, const rp_json *whole, bool canonical)
{
    static const char *const lists[] = {"members", "a"};
    rp_json *taken = rp_json_object(), *rest;
    const rp_json_taker to = {lists, 2, collect, taken};
    const rp_status status = rp_json_parse_parts(&rest, data, size, RP_JSON_MEMORY, canonical, &to, "input", NULL);

    expect((status == RP_OK) == (whole != NULL));
    for (size_t i = 0; whole != NULL && i < 2; i++) {
        const rp_json *list = rp_json_object_get(whole, lists[i]);

        expect(rp_json_is_array(list) == rp_json_is_array(rp_json_object_get(rest, lists[i])));
        if (rp_json_array_size(list) > 0)
            expect(rp_json_equal(list, rp_json_object_get(taken, lists[i])));
        else
            expect(rp_json_object_get(taken, lists[i]) == NULL);
    }
    expect(rp_json_object_size(whole) == rp_json_object_size(rest));
    rp_json_free(rest);
    rp_json_free(taken);
}

static void check_members(const uint8_t *data, size_t size, const rp_json *whole)
{
    rp_json *taken = rp_json_object(), *rest;
    const rp_json_taker to = {.take = collect, .self = taken};
    const rp_status status = rp_json_parse_parts(&rest, data, size, RP_JSON_MEMORY, false, &to, "input", NULL);

    expect(!rp_json_is_object(whole) || status == RP_OK);
    if (rp_json_is_object(whole))
        expect(rp_json_object_size(taken) == rp_json_object_size(whole) && rp_json_object_size(rest) == 0);
    rp_json_free(rest);
    rp_json_free(taken);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    rp_json *value, *strict;
    rp_error err;
    const rp_status status = rp_json_parse(&value, data, size, false, "input", &err);

    if (rp_json_parse(&strict, data, size, true, "input", &err) == RP_OK) {
        expect(status == RP_OK && rp_json_equal(value, strict));
        check_strict(strict, data, size);
    }
    check_parts(data, size, strict, true);
    check_parts(data, size, value, false);
    check_members(data, size, value);
    rp_json_free(strict);
    if (status == RP_OK)
        check_tolerant(value);
    rp_json_free(value);
    return 0;
}
