/* SPDX-License-Identifier: Apache-2.0
 * Outputs of their own. A program's output may be an input or a view of anything (CONTRACT 11.1): states may exchange
 * their values, a result may be what a state was before the step. Such outputs become copies here, instructions like
 * any other, so that all that follows knows only outputs that nothing overwrites and that lie in order. */
#include <string.h>

#include "base/memory.h"
#include "core/run/plan_private.h"

/* Where a value's elements are, as far as an output minds. */
enum { OF_ITS_OWN, OF_A_STATE, OF_A_FEED, OUT_OF_ORDER };

static void find_places(const rp_program *p, unsigned char *place)
{
    for (size_t i = 0; i < p->n_inputs; i++)
        place[p->input[i].value] = p->input[i].kind == RP_INPUT_STATE  ? OF_A_STATE
                                   : p->input[i].kind == RP_INPUT_FEED ? OF_A_FEED
                                                                       : OF_ITS_OWN;
    for (size_t k = 0; k < p->n_instrs; k++) {
        const rp_instr *instr = &p->instr[k];
        const bool in_order = instr->op->flags & RP_OP_IN_ORDER;

        for (int i = 0; i < instr->n_out; i++)
            place[instr->out[i]] = OF_ITS_OWN;
        if (instr->op->alias)
            place[instr->out[0]] = in_order || place[instr->in[0]] == OF_A_STATE ? place[instr->in[0]] : OUT_OF_ORDER;
    }
}

/* A new state is copied when all has run, from wherever it is, but not after another state's new value came there. */
static bool needs_copy(const rp_program *p, const rp_output *output, const unsigned char *place)
{
    const rp_input *state;

    if (output->kind == RP_OUTPUT_RESULT)
        return place[output->value] != OF_ITS_OWN;
    state = rp_program_state_of(p, output);
    return place[output->value] == OF_A_STATE && output->value != state->value;
}

/* The copy that calls make (CONTRACT 11.2). */
static rp_status append_copy(rp_program *p, uint32_t *value, rp_error *err)
{
    const bool scalar = p->value[*value].rank == 0;
    const rp_attr none[RP_MAX_ATTR] = {{0}}, one[RP_MAX_ATTR] = {{.n = 1, .list = {1}}};
    rp_status status = RP_OK;

    if (scalar)
        status = rp_program_add_instr(p, rp_op_get(RP_OP_reshape), one, value, 1, value, err);
    if (status == RP_OK)
        status = rp_program_add_instr(p, rp_op_get(RP_OP_concat), none, value, 1, value, err);
    if (status == RP_OK && scalar)
        status = rp_program_add_instr(p, rp_op_get(RP_OP_reshape), none, value, 1, value, err);
    return status;
}

/* The plan's own program, if it has none yet: the caller's as it is. */
static rp_status own_program(rp_plan *plan, rp_error *err)
{
    const size_t n = plan->program->n_instrs;

    if (plan->written)
        return RP_OK;
    plan->written = rp_program_copy(plan->program);
    plan->number = rp_reallocarray(NULL, n, sizeof *plan->number);
    if (!plan->written || !plan->number)
        return rp_no_memory(err);
    for (size_t k = 0; k < n; k++)
        plan->number[k] = (uint32_t)k;
    plan->program = plan->written;
    return RP_OK;
}

/* Copies cannot fail, so what their numbers are no error tells. */
static rp_status number_copies(rp_plan *plan, size_t before, rp_error *err)
{
    const size_t n = plan->written->n_instrs;
    uint32_t *number = rp_reallocarray(plan->number, n, sizeof *number);

    if (!number)
        return rp_no_memory(err);
    plan->number = number;
    for (size_t k = before; k < n; k++)
        number[k] = UINT32_MAX;
    return RP_OK;
}

static rp_status copy_outputs(rp_plan *plan, const unsigned char *place, rp_error *err)
{
    const size_t outputs = plan->program->n_outputs;
    size_t before = 0;
    rp_status status = RP_OK;

    for (size_t o = 0; o < outputs && status == RP_OK; o++) {
        rp_output output = plan->program->output[o];

        if (!needs_copy(plan->program, &output, place))
            continue;
        if (before == 0) {
            status = own_program(plan, err);
            before = plan->program->n_instrs + 1;
        }
        if (status == RP_OK)
            status = append_copy(plan->written, &output.value, err);
        if (status == RP_OK)
            status = rp_program_add_output(plan->written, output.kind, output.name, output.value, err);
    }
    return status == RP_OK && before ? number_copies(plan, before - 1, err) : status;
}

rp_status rp_plan_outputs(rp_plan *plan, rp_error *err)
{
    unsigned char *place;
    rp_status status = rp_program_check_states(plan->program, err);

    if (status != RP_OK)
        return status;
    place = rp_malloc(plan->program->n_values);
    if (!place)
        return rp_no_memory(err);
    find_places(plan->program, place);
    status = copy_outputs(plan, place, err);
    rp_free(place);
    return status;
}
