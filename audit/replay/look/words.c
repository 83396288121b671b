/* SPDX-License-Identifier: Apache-2.0
 * What a list of a program and a value that is shown both say: the name of a value, a text as JSON. */
#include <inttypes.h>

#include "audit/replay/look/look.h"
#include "base/json.h"

static const char *const kinds[] = {"state", "data", "feed"};

void rp_look_put_name(rp_buffer *out, const rp_program *body, uint32_t value)
{
    const uint32_t k = body->maker[value];

    if (k == RP_NO_INSTR) {
        const rp_input *input = rp_program_input_of(body, value);

        if (input && input->name[0])
            rp_buffer_printf(out, "%s %s", kinds[input->kind], input->name);
        else
            rp_buffer_printf(out, "p%" PRIu32, value);
        return;
    }
    rp_buffer_printf(out, "%" PRIu32, k);
    if (value != body->instr[k].out[0])
        rp_buffer_printf(out, ".%" PRIu32, value - body->instr[k].out[0]);
}

rp_json *rp_look_words(rp_buffer *text)
{
    rp_json *json = NULL;

    rp_buffer_u8(text, 0);
    if (!text->failed)
        json = rp_json_string((char *)text->data);
    rp_buffer_free(text);
    return json;
}
