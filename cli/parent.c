/* SPDX-License-Identifier: Apache-2.0
 * --parent: the archive that a run started from. */
#include "cli/archive_files.h"

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
