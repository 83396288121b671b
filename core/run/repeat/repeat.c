/* SPDX-License-Identifier: Apache-2.0
 * Sequences of calls: made the second time, so that what a kernel needs besides its arguments is there already, and
 * made again where an address has changed. */
#include "core/run/repeat/repeat.h"

#include "base/memory.h"

static rp_repeat *find(rp_repeat *list, size_t begin, size_t end)
{
    while (list != NULL && (list->begin != begin || list->end != end))
        list = list->next;
    return list;
}

static rp_status note(rp_repeat **list, rp_device *device, const void *arena, size_t begin, size_t end, rp_error *err)
{
    rp_repeat *r = rp_calloc(1, sizeof *r);

    if (r == NULL)
        return rp_no_memory(err);
    *r = (rp_repeat){*list, device, NULL, begin, end, arena, false, false};
    *list = r;
    return RP_OK;
}

static rp_status capture(rp_repeat *r, rp_repeat_launch *launch, void *plan, size_t *i, rp_error *err)
{
    rp_status status = rp_sequence_begin(r->device, NULL, err), ended;

    if (status != RP_OK)
        return status;
    status = launch(plan, i, r->end, err);
    ended = rp_sequence_end(r->device, &r->sequence, NULL, status == RP_OK ? err : NULL);
    if (status != RP_OK && r->sequence != NULL) {
        rp_sequence_free(r->device, r->sequence);
        r->sequence = NULL;
    }
    return status == RP_OK ? ended : status;
}

static void forget(rp_repeat *r, const void *arena)
{
    rp_sequence_free(r->device, r->sequence);
    r->sequence = NULL;
    r->arena = arena;
    r->launched = r->plain = false;
}

rp_status rp_repeat_calls(rp_repeat **list, rp_device *device, const void *arena, size_t *i, size_t end,
                          rp_repeat_launch *launch, void *plan, rp_error *err)
{
    rp_repeat *r = find(*list, *i, end);
    const size_t begin = *i;
    rp_status status;

    if (r == NULL) {
        status = note(list, device, arena, begin, end, err);
        if (status != RP_OK)
            return status;
        r = *list;
    } else if (r->arena != arena || (r->sequence != NULL && !rp_sequence_current(device, r->sequence))) {
        forget(r, arena);
    }
    if (!r->launched) { /* what a call that failed would have needed is not there yet */
        status = launch(plan, i, end, err);
        r->launched = status == RP_OK;
        return status;
    }
    if (r->sequence == NULL && !r->plain) {
        status = capture(r, launch, plan, i, err);
        if (status != RP_OK && status != RP_ENOMEM)
            return status;
        r->plain = status != RP_OK; /* no memory for a sequence is no reason not to go on without one */
        *i = begin;
    }
    if (r->plain)
        return launch(plan, i, end, err);
    status = rp_sequence_launch(device, r->sequence, NULL, err);
    *i = status == RP_OK ? end : begin;
    return status;
}

void rp_repeat_free(rp_repeat *list)
{
    while (list != NULL) {
        rp_repeat *next = list->next;

        rp_sequence_free(list->device, list->sequence);
        rp_free(list);
        list = next;
    }
}
