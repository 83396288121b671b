/* SPDX-License-Identifier: Apache-2.0
 * What the subcommands share: a session that collects results, which reach stdout only when the command has succeeded,
 * and the table of commands. A command never prints; it fills session->out or returns an error. */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include <stdbool.h>

#include "base/buffer.h"
#include "rp/rp.h"

typedef struct rp_usage_reader rp_usage_reader; /* options.h */

typedef struct rp_session {
    bool json;               /* results as one JSON object */
    bool colour;             /* stdout is a terminal and NO_COLOR is not set */
    bool helped;             /* out holds the help that was asked for: nothing else is to be done */
    rp_usage_reader *reader; /* NULL, or what wants the command's table and nothing else */
    int exit;                /* exit code of a result that is not an error: 3 where two archives differ */
    rp_buffer out;
    const char *environment_key, *environment_trust; /* signing/defaults.h: what was taken from there, or NULL */
    rp_host_table host; /* beside an error: what a pinned run's host has otherwise than this one */
    rp_buffer remark;   /* one line for stderr beside the results, e.g. which golden differs; may be empty */
} rp_session;

typedef rp_status rp_command_main(rp_session *session, int argc, char **argv, rp_error *err);

/* argv[0] is the command's name. */
rp_command_main rp_command_run, rp_command_data, rp_command_verify, rp_command_replay, rp_command_diff,
    rp_command_inspect, rp_command_predict, rp_command_continue, rp_command_report, rp_command_inventory,
    rp_command_golden, rp_command_keygen, rp_command_doctor, rp_command_bench, rp_command_log, rp_command_sign,
    rp_command_approve, rp_command_help, rp_command_finding, rp_command_timestamp, rp_command_cert, rp_command_validate,
    rp_command_monitor, rp_command_scorecard, rp_command_explain, rp_command_compare, rp_command_retrain,
    rp_command_profile, rp_command_export;

enum { RP_COMMANDS_MAX = 32 };

typedef struct rp_command {
    const char *name, *summary;
    rp_command_main *main;
} rp_command;

/* What the program has, in the order of its help; what the help begins and ends with. */
extern const rp_command rp_commands[];
extern const size_t rp_commands_count;
extern const char rp_command_name[], rp_program_about[], rp_program_examples[];
/* Whether the program has manual pages: those of reprise are reprise-verify's too, and reprise-verify.1 is one of them.
 */
extern const bool rp_program_manual;
/* Errors: RP_EARG, with the nearest name there is. */
rp_status rp_command_find(const rp_command **out, const char *name, rp_error *err);

#endif
