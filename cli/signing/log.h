/* SPDX-License-Identifier: Apache-2.0
 * What the two files of reprise log share: the request, and the actions that make it happen. */
#ifndef CLI_SIGNING_LOG_H
#define CLI_SIGNING_LOG_H

#include "cli/options.h"

typedef struct rp_log_request {
    const char *operand[2];
    rp_text_list trust;
    const char *key, *passphrase, *origin, *proof, *out;
    bool force;
} rp_log_request;

typedef rp_status rp_log_action(rp_session *session, const rp_log_request *r, rp_error *err);

/* Keeping a log. */
rp_log_action rp_log_command_init, rp_log_command_add, rp_log_command_prove, rp_log_command_consistency,
    rp_log_command_list, rp_log_command_verify;
/* Without one. */
rp_log_action rp_log_command_check, rp_log_command_attach;

#endif
