/* SPDX-License-Identifier: Apache-2.0
 * --parent: the archive that a run started from. */
#include <stdio.h>

#include "cli/archive_files.h"

/* One generation: *child is closed where it is ours, and becomes the parent. */
static rp_status go_back(rp_lineage *out, const rp_archive **child, rp_archive **held, const char *path,
                         const rp_job_options *options, rp_error *err)
{
    rp_archive *parent = NULL;
    rp_job *job = NULL;
    rp_status status = rp_archive_open_confirmed(&parent, path, err);

    if (status == RP_OK)
        status = rp_check_parent(*child, parent, err);
    if (status == RP_OK && (status = rp_replay(parent, options, &job, err)) != RP_OK)
        (void)rp_fail_at(err, status, "%s: the parent", path);
    rp_job_free(job);
    if (status != RP_OK) {
        rp_archive_close(parent);
        return status;
    }
    out->replayed++;
    rp_archive_close(*held);
    *child = *held = parent;
    return RP_OK;
}

rp_status rp_lineage_replay(rp_lineage *out, const rp_archive *child, const rp_text_list *parents,
                            const rp_job_options *options, rp_error *err)
{
    rp_job_options all = *options;
    rp_archive *held = NULL;
    rp_status status = RP_OK;
    const char *next;

    all.begun = NULL;
    all.choice = NULL;
    *out = (rp_lineage){.parent = parents->count ? parents->item[0] : NULL};
    for (size_t i = 0; i < parents->count && status == RP_OK; i++)
        status = go_back(out, &child, &held, parents->item[i], &all, err);
    next = rp_parent_id(child);
    out->whole = status == RP_OK && out->replayed > 0 && next == NULL;
    (void)snprintf(out->next, sizeof out->next, "%s", next ? next : "");
    rp_archive_close(held);
    return status;
}

rp_status rp_parent_check(const rp_archive *child, const char *path, rp_error *err)
{
    rp_archive *parent = NULL;
    rp_status status;

    if (!path)
        return RP_OK;
    status = rp_archive_open_confirmed(&parent, path, err);
    if (status == RP_OK)
        status = rp_check_parent(child, parent, err);
    rp_archive_close(parent);
    return status;
}
