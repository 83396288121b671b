/* SPDX-License-Identifier: Apache-2.0
 * How many of a table's rows a run used, and what left the others out: from data/quality.json, which a replay counts
 * again. */
#ifndef CLI_DATA_USED_ROWS_H
#define CLI_DATA_USED_ROWS_H

#include "cli/print.h"

/* A line where the recipe left rows out, or may have and nobody here can say how many; else nothing. again: the archive
 * was replayed. Errors: RP_ENOMEM, RP_EIO; what the members hold is none. */
rp_status rp_used_rows_put_line(rp_session *session, const rp_archive *archive, bool again, rp_error *err);
/* "rows": {"hidden", "left_out", "missing_target", "rows", "used"}, null where they are not known. Errors: as above. */
rp_status rp_used_rows_put_json(rp_session *session, const rp_archive *archive, rp_error *err);

#endif
