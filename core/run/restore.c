/* SPDX-License-Identifier: Apache-2.0
 * Giving a run its states or data again, piece by piece: neither a file of them nor a tensor is held besides. */
#include "core/run/run_private.h"

#include "base/memory.h"

struct rp_filling {
    const rp_slots *slots;
    size_t *given; /* elements of each slot so far; none: not even an empty piece */
};
static const size_t none = SIZE_MAX;

rp_status rp_run_put(rp_run *run, const char *name, const rp_type *type, size_t first, const void *elements,
                     size_t count, rp_error *err)
{
    const struct rp_filling *f = run->filling;
    const rp_device_tensor *slot = f ? rp_slots_find(f->slots, name) : NULL;
    size_t *given, all;

    if (!slot)
        return rp_fail(err, RP_EDATA, "there is no %.96s in the run", name);
    if (!rp_type_equal(&slot->type, type))
        return rp_fail(err, RP_EDATA, "%.96s has another shape or dtype", name);
    given = &f->given[slot - f->slots->tensor];
    all = rp_type_count(type);
    if (first != (*given == none ? 0 : *given) || count > all - first || (*given != none && count == 0))
        return rp_fail(err, RP_EDATA, "%.96s is given twice, or in another order", name);
    *given = first + count;
    return rp_slot_write_part(slot, first, elements, count, err);
}

static rp_status check_given(const struct rp_filling *f, rp_error *err)
{
    for (size_t i = 0; i < f->slots->n; i++) {
        const rp_device_tensor *slot = &f->slots->tensor[i];

        if (f->given[i] == none)
            return rp_fail(err, RP_EDATA, "%.96s is missing", slot->name);
        if (f->given[i] != rp_type_count(&slot->type))
            return rp_fail(err, RP_EDATA, "%.96s: %zu elements of %zu are missing", slot->name,
                           rp_type_count(&slot->type) - f->given[i], rp_type_count(&slot->type));
    }
    return RP_OK;
}

static rp_status fill(rp_run *run, const rp_slots *slots, const rp_value_source *from, rp_error *err)
{
    struct rp_filling f = {slots, rp_reallocarray(NULL, slots->n ? slots->n : 1, sizeof *f.given)};
    rp_status status;

    if (!f.given)
        return rp_no_memory(err);
    for (size_t i = 0; i < slots->n; i++)
        f.given[i] = none;
    run->filling = &f;
    status = from->give(from->self, run, err);
    run->filling = NULL;
    if (status == RP_OK)
        status = check_given(&f, err);
    rp_free(f.given);
    return status;
}

rp_status rp_run_restore(rp_run *run, uint64_t steps, const rp_value_source *from, rp_error *err)
{
    rp_status status;

    if (run->in_step)
        return rp_fail(err, RP_EARG, "a step is in progress");
    status = rp_run_settle(run, RP_ALL_STATES, err); /* someone may still be reading the old ones */
    if (status == RP_OK)
        status = fill(run, &run->states, from, err);
    if (status == RP_OK)
        run->steps = steps;
    return status;
}

rp_status rp_run_fill_data(rp_run *run, const rp_value_source *from, rp_error *err)
{
    return run->in_step ? rp_fail(err, RP_EARG, "a step is in progress") : fill(run, &run->data, from, err);
}
