/* SPDX-License-Identifier: Apache-2.0
 * Which kinds of run there are, and opening an archive of any: a further kind is a row here and a file of its own. */
#include "audit/archive/periods.h"
#include "audit/archive/withheld.h"
#include "audit/drive/driver_private.h"
#include "audit/pinned/host.h"

static const rp_source_ops *const kinds[] = {&rp_recipe_source, &rp_tape_source, &rp_text_source};

/* The manifest says a checkpoint period only where there are checkpoints; what the source asks for it always says. */
static rp_status settle_periods(rp_driver *d, const rp_archive *archive, rp_error *err)
{
    uint64_t state, checkpoint;
    rp_status status = rp_archive_state_period(archive, &state, err);

    if (status == RP_OK)
        status = rp_archive_checkpoint_period(archive, &checkpoint, err);
    if (status != RP_OK)
        return status;
    if (d->ops->periods && d->state_period != state)
        return rp_fail(err, RP_EFORMAT, RP_MANIFEST_NAME ": run.state_period is %llu, but the recipe says %llu",
                       (unsigned long long)state, (unsigned long long)d->state_period);
    if (d->ops->periods && checkpoint && checkpoint != d->checkpoint_period)
        return rp_fail(err, RP_EFORMAT, RP_MANIFEST_NAME ": run.checkpoint_every is %llu, but the recipe says %llu",
                       (unsigned long long)checkpoint, (unsigned long long)d->checkpoint_period);
    if (!d->ops->periods) {
        d->state_period = state;
        d->checkpoint_period = checkpoint;
    }
    return RP_OK;
}

rp_status rp_driver_from_archive(rp_driver **out, const rp_archive *archive, const rp_run_options *options,
                                 rp_error *err)
{
    const rp_source_ops *ops = NULL;
    void *source = NULL;
    rp_run_options own;
    rp_status status = rp_archive_inputs_present(archive, err);

    *out = NULL;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        ops = kinds[i]->kind == rp_archive_manifest(archive)->kind ? kinds[i] : ops;
    if (status == RP_OK)
        status = rp_pinned_admit(&own, archive, options, err);
    if (status == RP_OK)
        status = ops->open(&source, archive, &own, err);
    if (status == RP_OK)
        status = rp_driver_make(out, ops, source, err);
    if (status == RP_OK)
        status = rp_pinned_bind(rp_driver_run(*out), archive, err);
    if (status == RP_OK)
        status = settle_periods(*out, archive, err);
    if (status != RP_OK) {
        rp_driver_free(*out);
        *out = NULL;
    }
    return status;
}

rp_status rp_driver_clone(rp_driver **out, const rp_driver *from, const rp_archive *archive,
                          const rp_run_options *options, rp_error *err)
{
    void *source = NULL;
    rp_status status;

    *out = NULL;
    if (!from->ops->clone)
        return rp_driver_from_archive(out, archive, options, err);
    status = from->ops->clone(&source, from->source, options, err);
    if (status == RP_OK)
        status = rp_driver_make(out, from->ops, source, err);
    if (status == RP_OK)
        status = rp_pinned_bind(rp_driver_run(*out), archive, err);
    if (status != RP_OK) {
        rp_driver_free(*out);
        *out = NULL;
    }
    return status;
}
