/* SPDX-License-Identifier: Apache-2.0
 * libFuzzer entry: any bytes as a statement of validation or monitoring, signed or not, and as outputs/reference.json.
 * What is accepted as a payload is accepted again as itself. */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "core/data/later/reference.h"
#include "core/train/figures.h"
#include "rp/validation.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void open_statement(const uint8_t *data, size_t size)
{
    char *text = NULL, *again = NULL;
    size_t length = 0, again_length = 0;
    rp_error err;

    if (rp_validation_open(data, size, "fuzz", NULL, 0, &text, &length, &err) != RP_OK)
        return;
    if (rp_validation_open(text, length, "fuzz", NULL, 0, &again, &again_length, &err) == RP_OK &&
        again_length == length && memcmp(again, text, length) != 0)
        abort();
    rp_text_free(text);
    rp_text_free(again);
}

static void read_reference(const rp_json *json)
{
    const rp_json *scores = rp_json_object_get(json, "scores");
    rp_yardstick *yardstick = NULL;
    rp_error err;

    for (size_t classes = 0; classes < 4; classes++)
        if (rp_yardstick_read(&yardstick, json, classes, &err) == RP_OK)
            rp_free(yardstick);
    for (size_t i = 0; i < rp_json_array_size(scores); i++) {
        rp_reference_column column;

        (void)rp_reference_read_numbers(&column, rp_json_array_get(scores, i), "fuzz", &err);
        rp_reference_clear(&column);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    rp_json *json = NULL;
    rp_error err;

    open_statement(data, size);
    if (rp_json_parse(&json, data, size, true, "fuzz", &err) == RP_OK)
        read_reference(json);
    rp_json_free(json);
    return 0;
}
