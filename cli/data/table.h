/* SPDX-License-Identifier: Apache-2.0
 * What a table holds (rp_describe_data), for people. */
#ifndef CLI_TABLE_H
#define CLI_TABLE_H

#include "base/json.h"
#include "cli/cli.h"

/* A line a column under a line of headings. */
void rp_put_table(rp_buffer *out, const rp_json *table);
/* A line a finding. */
void rp_put_findings(rp_session *session, const rp_json *table);

#endif
