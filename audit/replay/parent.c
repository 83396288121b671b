/* SPDX-License-Identifier: Apache-2.0
 * Recipes that start from another archive's states. A run that goes on from final weights needs the last moments, which
 * are in no member: the end of the parent is computed again for them, so this stands above recording. */
#include <stdio.h>

#include "audit/profile/identity.h"
#include "audit/record/lineage.h"
#include "audit/replay/replay.h"

/* Those after the last step go to a file, so that two runs' states are not held at a time. */
static rp_status last_states(rp_start **start, const rp_archive *parent, const rp_run_options *options, rp_error *err)
{
    rp_driver *last = NULL;
    rp_status status;

    if (rp_archive_inputs_present(parent, NULL) != RP_OK)
        return rp_fail(err, RP_EARG,
                       "was made without its data, from which the last moments would be computed: name one of its "
                       "checkpoints (parent.weights), or take its weights alone (parent.mode: retrain)");
    status = rp_replay_last_states(&last, parent, options, err);
    if (status == RP_OK)
        status = rp_start_of_run(start, rp_driver_run(last), err);
    rp_driver_free(last);
    return status;
}

/* The archive stays open as long as its states may be asked for. */
static rp_status open_start(rp_start **start, char id[RP_DIGEST_HEX], uint64_t *updates, const rp_recipe *child,
                            const char *path, const rp_run_options *options, rp_error *err)
{
    rp_archive *parent = NULL;
    rp_json *line = NULL;
    char set[RP_MEMBER_NAME];
    rp_status status = rp_archive_open(&parent, path, err);

    if (status != RP_OK)
        return rp_fail_at(err, status, "parent");
    (void)snprintf(id, RP_DIGEST_HEX, "%s", rp_archive_id(parent));
    status = rp_pinned_line(&line, rp_archive_manifest(parent)->run, id, err);
    if (status == RP_OK)
        status = rp_lineage_updates(updates, parent, child, err);
    if (status == RP_OK && !child->parent.retrain && child->parent.checkpoint == 0) {
        status = last_states(start, parent, options, err);
    } else if (status == RP_OK) {
        status = rp_lineage_origin(set, child, parent, err);
        if (status == RP_OK)
            status = rp_start_open(start, parent, set, err);
        if (status == RP_OK) {
            rp_start_keep(*start, parent);
            parent = NULL;
        }
    }
    if (status == RP_OK)
        rp_start_say_line(*start, line);
    else
        rp_json_free(line);
    rp_archive_close(parent);
    return status == RP_OK ? status : rp_fail_at(err, status, "%s", path);
}

rp_status rp_start_from_parent(rp_driver *driver, const char *path, const rp_run_options *options, rp_error *err)
{
    char id[RP_DIGEST_HEX];
    rp_start *start = NULL;
    uint64_t updates = 0;
    rp_status status = open_start(&start, id, &updates, rp_driver_recipe(driver), path, options, err);

    if (status != RP_OK)
        return status;
    status = rp_driver_start_from(driver, id, updates, start, err);
    return status == RP_OK ? status : rp_fail_at(err, status, "%s", path);
}
