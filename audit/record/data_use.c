/* SPDX-License-Identifier: Apache-2.0
 * Marks the data of a run that its programs take in, and writes those. */
#include "audit/record/data_use.h"

#include <string.h>

#include "audit/record/states.h"
#include "base/memory.h"

rp_status rp_data_use_begin(rp_data_use *out, const rp_run *run, rp_error *err)
{
    *out = (rp_data_use){.run = run};
    out->data = rp_run_data(run, &out->n);
    out->used = rp_calloc(out->n ? out->n : 1, sizeof *out->used);
    return out->used ? RP_OK : rp_no_memory(err);
}

void rp_data_use_free(rp_data_use *use)
{
    rp_free(use->used);
    use->used = NULL;
}

void rp_data_use_program(rp_data_use *use, const rp_program *program)
{
    for (size_t i = 0; i < program->n_inputs; i++)
        for (size_t k = 0; program->input[i].kind == RP_INPUT_DATA && k < use->n; k++)
            use->used[k] = use->used[k] || strcmp(use->data[k].name, program->input[i].name) == 0;
}

rp_status rp_data_use_text(rp_data_use *use, const rp_buffer *text, const char *where, rp_error *err)
{
    rp_program *program = NULL;
    rp_status status = use->n ? rp_program_parse(&program, text->data, text->size, where, err) : RP_OK;

    if (status == RP_OK && program)
        rp_data_use_program(use, program);
    rp_program_free(program);
    return status;
}

rp_status rp_data_add(rp_archive_writer *writer, const rp_data_use *use, rp_error *err)
{
    rp_device_tensor *list = rp_calloc(use->n ? use->n : 1, sizeof *list);
    size_t n = 0;
    rp_status status = list ? RP_OK : rp_no_memory(err);

    for (size_t i = 0; status == RP_OK && i < use->n; i++)
        if (use->used[i])
            list[n++] = use->data[i];
    if (status == RP_OK && n)
        status = rp_tensors_add(writer, RP_TENSORS_MEMBER, list, n, err);
    rp_free(list);
    return status;
}
