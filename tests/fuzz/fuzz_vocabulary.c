/* SPDX-License-Identifier: Apache-2.0
 * libFuzzer entry: the first byte how many tokens are wanted, the rest a text. What is learnt is written and read as
 * itself, and gives every text its bytes back; and the text as a vocabulary's file, which is read or refused. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "core/text/vocabulary.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(bool fine)
{
    if (!fine)
        abort();
}

static void round_trip(const rp_vocabulary *v, const uint8_t *text, size_t size)
{
    rp_buffer back = {0};
    uint16_t *token;
    size_t n;

    expect(rp_vocabulary_encode(v, text, size, &token, &n, NULL) == RP_OK);
    for (size_t i = 0; i < n; i++)
        rp_vocabulary_decode(v, token[i], &back);
    expect(back.size == size && (size == 0 || memcmp(back.data, text, size) == 0));
    rp_buffer_free(&back);
    rp_free(token);
}

static void read_file(const uint8_t *text, size_t size)
{
    rp_vocabulary *v = NULL;
    rp_json *json = NULL;
    rp_error err;

    if (rp_json_parse(&json, text, size, false, "fuzz", &err) == RP_OK && rp_vocabulary_read(&v, json, &err) == RP_OK)
        round_trip(v, text, size);
    rp_vocabulary_free(v);
    rp_json_free(json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    rp_vocabulary *v, *again = NULL;
    rp_json *json = NULL;

    if (size == 0 || size > 1 << 14)
        return 0;
    expect(rp_vocabulary_learn(&v, data + 1, size - 1, 256 + (size_t)data[0], NULL) == RP_OK);
    round_trip(v, data + 1, size - 1);
    expect(rp_vocabulary_write(&json, v, NULL) == RP_OK && rp_vocabulary_read(&again, json, NULL) == RP_OK);
    expect(again->merges == v->merges && memcmp(again->merge, v->merge, v->merges * sizeof *v->merge) == 0);
    rp_json_free(json);
    rp_vocabulary_free(again);
    rp_vocabulary_free(v);
    read_file(data + 1, size - 1);
    return 0;
}
