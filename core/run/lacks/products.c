/* SPDX-License-Identifier: Apache-2.0
 * Looking for products that a pinned device's library computes: a run without one gains nothing by its profile. */
#include "core/program/function.h"
#include "core/run/lacks/lacks.h"

static bool is_empty(const rp_type *type)
{
    size_t axis = 0;

    while (axis < (size_t)type->rank && type->shape[axis] > 0)
        axis++;
    return axis < (size_t)type->rank;
}

/* An empty product is no library's. */
static bool multiplies(const rp_program *p, rp_dtype operands)
{
    for (size_t k = 0; k < p->n_instrs; k++) {
        const rp_instr *instr = &p->instr[k];

        if (instr->op->role == RP_PLAYS_PRODUCT && p->value[instr->in[0]].dtype == operands &&
            p->value[instr->in[1]].dtype == operands && !is_empty(&p->value[instr->in[0]]) &&
            !is_empty(&p->value[instr->in[1]]))
            return true;
    }
    return false;
}

rp_status rp_products_look(bool *found, const rp_device *device, const rp_program *program, rp_error *err)
{
    const rp_pinned *pinned = rp_device_pinned(device);
    rp_functions functions = {0};
    rp_status status;

    if (pinned == NULL || *found)
        return RP_OK;
    *found = multiplies(program, rp_pinned_operands(pinned->compute));
    status = rp_functions_of(&functions, program, err);
    for (size_t i = 0; i < functions.n && status == RP_OK && !*found; i++)
        *found = multiplies(functions.function[i]->body, rp_pinned_operands(pinned->compute));
    rp_functions_free(&functions);
    return status;
}
