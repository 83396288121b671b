/* SPDX-License-Identifier: Apache-2.0
 * Looking for kernels that a device does not have, by operation and type, each once a program. */
#include "core/run/lacks/lacks.h"

#include <stdio.h>
#include <string.h>

#include "core/program/execute.h"
#include "core/program/function.h"

typedef struct look {
    rp_lacks *lacks;
    const rp_device *device;
    bool told; /* something of this program */
    bool seen[RP_K_COUNT][RP_DTYPE_COUNT];
} look;

static void tell(look *l, const char *name, rp_dtype dtype)
{
    rp_lacks *lacks = l->lacks;
    const size_t at = strlen(lacks->text), room = sizeof lacks->text - at;
    char head[48] = ", ";

    if (!l->told)
        (void)snprintf(head, sizeof head, "%sprogram %zu: ", at > 0 ? "; " : "", lacks->programs);
    if ((size_t)snprintf(lacks->text + at, room, "%s%s %s", head, name, rp_dtype_name(dtype)) < room) {
        l->told = true;
        return;
    }
    lacks->text[at] = '\0'; /* in part it would be another name */
    lacks->untold++;
}

static void need(look *l, rp_kernel_id kernel, const char *name, rp_dtype dtype)
{
    if (l->seen[kernel][dtype])
        return;
    l->seen[kernel][dtype] = true;
    if (!rp_device_has(l->device, kernel, dtype))
        tell(l, name, dtype);
}

/* What is a view where it can be is copied where it cannot, and so are outputs that become states. */
static void look_at(look *l, const rp_program *p)
{
    for (size_t k = 0; k < p->n_instrs; k++) {
        const rp_instr *instr = &p->instr[k];
        rp_dtype dtype;

        if (instr->region)
            continue;
        dtype = rp_kernel_dtype(instr->n_in > 0 ? &p->value[instr->in[0]].dtype : NULL, p->value[instr->out[0]].dtype);
        if (instr->op->alias)
            need(l, RP_K_copy, rp_kernel_name(RP_K_copy), dtype);
        else
            need(l, instr->op->kernel, instr->op->name, dtype);
    }
    for (size_t i = 0; i < p->n_outputs; i++)
        need(l, RP_K_copy, rp_kernel_name(RP_K_copy), p->value[p->output[i].value].dtype);
}

static bool has_regions(const rp_program *p)
{
    size_t k = 0;

    while (k < p->n_instrs && !p->instr[k].region)
        k++;
    return k < p->n_instrs;
}

rp_status rp_lacks_look(rp_lacks *lacks, const rp_device *device, const rp_program *program, rp_error *err)
{
    look l = {.lacks = lacks, .device = device};
    rp_functions functions = {0};
    rp_status status = RP_OK;

    if (rp_device_has_all(device))
        return RP_OK;
    look_at(&l, program);
    if (has_regions(program)) {
        status = rp_functions_of(&functions, program, err);
        for (size_t i = 0; i < functions.n && status == RP_OK; i++)
            look_at(&l, functions.function[i]->body);
        rp_functions_free(&functions);
    }
    lacks->programs++;
    return status;
}

rp_status rp_lacks_refuse(const rp_lacks *lacks, const rp_device *device, rp_error *err)
{
    char more[48] = "";

    if (lacks->text[0] == '\0' && lacks->untold == 0)
        return RP_OK;
    if (lacks->untold > 0)
        (void)snprintf(more, sizeof more, " and %zu more", lacks->untold);
    return rp_fail(err, RP_EUNSUPPORTED, "device %s has no kernels for %s%s: choose another device, such as cpu",
                   rp_device_kind(device), lacks->text, more);
}
