/* SPDX-License-Identifier: Apache-2.0
 * libFuzzer entry: any bytes as the programs of a recipe's model, {"program", "initial", "evaluate"}. What is accepted
 * has functions of the shapes that it tells, and a price within bounds. */
#include <stdlib.h>

#include "core/recipe/recipe_program.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(bool fine)
{
    if (!fine)
        abort();
}

static void read_model(rp_json *const *text, bool on_text)
{
    rp_model_program *m;
    const rp_function *f, *first;
    rp_error err;

    if (rp_model_program_new(&m, text, on_text, "fuzz", &err) != RP_OK)
        return;
    f = m->function[RP_ROLE_FORWARD];
    first = m->function[RP_ROLE_INITIAL];
    expect(m->n_states > 0 && rp_function_params(f) == 1 + m->random + m->n_states);
    expect(rp_type_equal(rp_function_param(f, 0), &m->x) && rp_type_equal(rp_function_out(f, 0), &m->logits));
    expect(rp_function_outs(first) == m->n_states && rp_function_params(first) == (size_t)m->initial_random);
    for (size_t i = 0; i < m->n_states; i++)
        expect(rp_type_equal(rp_function_out(first, i), &m->state[i].type));
    expect(m->x.shape[0] == m->logits.shape[0] && f->price.memory <= (uint64_t)1 << 41);
    expect(!on_text || (m->x.rank == 2 && m->logits.rank == 3 && m->x.shape[1] == m->logits.shape[1]));
    rp_model_program_free(m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    rp_json *json, *text[RP_ROLES];
    rp_error err;

    if (rp_json_parse(&json, data, size, false, "fuzz", &err) != RP_OK)
        return 0;
    for (size_t i = 0; i < RP_ROLES; i++)
        text[i] = rp_json_object_get(json, rp_role_names[i]);
    if (text[RP_ROLE_FORWARD] && text[RP_ROLE_INITIAL]) {
        read_model(text, false);
        read_model(text, true);
    }
    rp_json_free(json);
    return 0;
}
