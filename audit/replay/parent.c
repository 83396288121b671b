/* SPDX-License-Identifier: Apache-2.0
 * Recipes that start from another archive's states. A run that goes on from final weights needs the last moments, which
 * are in no member: the end of the parent is computed again for them, so this stands above recording. */
#include "audit/record/lineage.h"
#include "audit/replay/replay.h"

static rp_status start_from_last(rp_driver *driver, uint64_t updates, const rp_archive *parent,
                                 const rp_run_options *options, rp_error *err)
{
    rp_driver *last = NULL;
    rp_start_states from = {.set = NULL};
    rp_status status;

    if (rp_archive_inputs_present(parent, NULL) != RP_OK)
        return rp_fail(err, RP_EARG,
                       "was made without its data, from which the last moments would be computed: name one of its "
                       "checkpoints (parent.weights), or take its weights alone (parent.mode: retrain)");
    status = rp_replay_last_states(&last, parent, options, err);
    if (status == RP_OK) {
        from.state = rp_run_states(rp_driver_run(last), &from.n);
        status = rp_driver_start_from(driver, rp_archive_id(parent), updates, &from, err);
    }
    rp_driver_free(last);
    return status;
}

static rp_status start_from_member(rp_driver *driver, uint64_t updates, const rp_archive *parent, rp_error *err)
{
    char name[RP_MEMBER_NAME];
    rp_start_states from = {.set = NULL};
    rp_tensor_set *set = NULL;
    rp_status status = rp_lineage_origin(name, rp_driver_recipe(driver), parent, err);

    if (status == RP_OK)
        status = rp_tensor_set_open(&set, parent, name, err);
    from.set = set;
    if (status == RP_OK)
        status = rp_driver_start_from(driver, rp_archive_id(parent), updates, &from, err);
    rp_tensor_set_free(set);
    return status;
}

rp_status rp_start_from_parent(rp_driver *driver, const char *path, const rp_run_options *options, rp_error *err)
{
    const rp_recipe *child = rp_driver_recipe(driver);
    rp_archive *parent = NULL;
    uint64_t updates = 0;
    rp_status status = rp_archive_open(&parent, path, err);

    if (status != RP_OK)
        return rp_fail_at(err, status, "parent");
    status = rp_lineage_updates(&updates, parent, child, err);
    if (status == RP_OK && !child->parent.retrain && child->parent.checkpoint == 0)
        status = start_from_last(driver, updates, parent, options, err);
    else if (status == RP_OK)
        status = start_from_member(driver, updates, parent, err);
    if (status != RP_OK)
        status = rp_fail_at(err, status, "%s", path);
    rp_archive_close(parent);
    return status;
}
