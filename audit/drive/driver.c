/* SPDX-License-Identifier: Apache-2.0
 * All kinds of run behind one interface. */
#include "audit/archive/periods.h"
#include "audit/drive/driver_private.h"

#include "base/memory.h"

rp_status rp_driver_make(rp_driver **out, const rp_source_ops *ops, void *source, rp_error *err)
{
    rp_driver *d = rp_calloc(1, sizeof *d);

    *out = d;
    if (!d) {
        ops->free(source);
        return rp_no_memory(err);
    }
    *d = (rp_driver){.ops = ops, .source = source, .state_period = 1};
    if (ops->periods)
        ops->periods(source, &d->state_period, &d->checkpoint_period);
    return RP_OK;
}

void rp_driver_free(rp_driver *d)
{
    if (!d)
        return;
    d->ops->free(d->source);
    rp_free(d);
}

rp_run *rp_driver_run(const rp_driver *d)
{
    return d->ops->run(d->source);
}

rp_run_kind rp_driver_kind(const rp_driver *d)
{
    return d->ops->kind;
}

void *rp_driver_recipe_source(const rp_driver *d)
{
    return d->ops->kind == RP_RUN_RECIPE ? d->source : NULL;
}

const rp_recipe *rp_driver_recipe(const rp_driver *d)
{
    return d->ops->recipe ? d->ops->recipe(d->source) : NULL;
}

uint64_t rp_driver_evaluates_from(const rp_driver *d)
{
    return d->ops->trainer ? rp_trainer_evaluates_from(d->ops->trainer(d->source)) : rp_driver_total(d);
}

rp_status rp_driver_add_known(const rp_driver *d, rp_archive_writer *writer, bool data, rp_error *err)
{
    return d->ops->add_known(d->source, writer, data, err);
}

rp_status rp_driver_price(rp_driver *d, uint64_t step, rp_price *price, char member[RP_MEMBER_NAME], rp_error *err)
{
    if (step >= rp_driver_total(d))
        return rp_fail(err, RP_EARG, "step %llu of a run of %llu", (unsigned long long)step,
                       (unsigned long long)rp_driver_total(d));
    return d->ops->price(d->source, step, price, member, err);
}

uint64_t rp_driver_state_period(const rp_driver *d)
{
    return d->state_period;
}

uint64_t rp_driver_checkpoint_period(const rp_driver *d)
{
    return d->checkpoint_period;
}

uint64_t rp_driver_checkpoint_end(const rp_driver *d)
{
    return rp_checkpoint_end(d->ops->kind, rp_driver_total(d), rp_driver_evaluates_from(d));
}

uint64_t rp_driver_total(const rp_driver *d)
{
    return d->ops->total(d->source);
}

rp_status rp_driver_check_feeds(const rp_driver *d, rp_error *err)
{
    return d->ops->check_inputs(d->source, err);
}

rp_status rp_driver_step(rp_driver *d, rp_error *err)
{
    return d->ops->step(d->source, err);
}

rp_status rp_driver_restore(rp_driver *d, uint64_t step, const rp_tensor_set *set, const char *where, rp_error *err)
{
    rp_set_values values = {.set = set};
    const rp_value_source from = rp_values_of(&values);
    rp_status status = d->ops->restore(d->source, step, &from, err);

    return status == RP_EDATA || status == RP_EARG ? rp_fail_at(err, RP_EFORMAT, "%s", where) : status;
}

rp_status rp_driver_restore_checkpoint(rp_driver *d, uint64_t step, const rp_archive *archive, rp_error *err)
{
    char name[RP_MEMBER_NAME];
    rp_tensor_set *set;
    rp_status status = rp_tensor_set_open(&set, archive, rp_checkpoint_name(name, step), err);

    if (status == RP_OK)
        status = rp_driver_restore(d, step, set, name, err);
    rp_tensor_set_free(set);
    return status == RP_EDATA ? rp_fail_at(err, RP_EFORMAT, "%s", name) : status;
}

rp_status rp_driver_restore_final(rp_driver *d, const rp_archive *archive, rp_error *err)
{
    rp_set_values values = {.fresh_moments = true};
    const rp_value_source from = rp_values_of(&values);
    rp_tensor_set *set;
    rp_status status = rp_tensor_set_open(&set, archive, RP_FINAL_MEMBER, err);

    values.set = set;
    if (status == RP_OK) {
        status = d->ops->restore(d->source, rp_driver_evaluates_from(d), &from, err);
        status = status == RP_EDATA ? rp_fail_at(err, RP_EFORMAT, RP_FINAL_MEMBER) : status;
    }
    rp_tensor_set_free(set);
    return status;
}

float rp_driver_loss(const rp_driver *d)
{
    return d->ops->loss(d->source);
}

rp_status rp_driver_add_init(const rp_driver *d, rp_archive_writer *writer, rp_error *err)
{
    return d->ops->add_init(d->source, writer, err);
}

rp_status rp_driver_add_members(const rp_driver *d, rp_archive_writer *writer, rp_json *run, rp_error *err)
{
    return d->ops->add_members(d->source, writer, run, err);
}

rp_status rp_driver_metrics(const rp_driver *d, char **out, rp_error *err)
{
    rp_json *json = NULL;
    rp_buffer text = {0};
    rp_status status = d->ops->metrics(d->source, &json, err);

    *out = NULL;
    if (status == RP_OK)
        status = rp_json_write(json, &text, err);
    rp_json_free(json);
    return rp_buffer_finish(&text, status, out, err);
}
