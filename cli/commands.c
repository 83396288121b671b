/* SPDX-License-Identifier: Apache-2.0
 * The commands of `reprise`. */
#include "cli/cli.h"
#include "cli/options.h"

const rp_command rp_commands[] = {
    {"data", "show what a table holds and how it would be read", rp_command_data},
    {"run", "train by a recipe and write the archive", rp_command_run},
    {"retrain", "train an archive's recipe again on new rows", rp_command_retrain},
    {"verify", "check an archive's signature and every hash", rp_command_verify},
    {"replay", "compute an archive's run again and compare every bit", rp_command_replay},
    {"diff", "say where two archives part: step, operation, element", rp_command_diff},
    {"compare", "put runs side by side: recipes, rows, figures, coefficients", rp_command_compare},
    {"inspect", "show what an archive holds, or take a member out", rp_command_inspect},
    {"profile", "say where the time of a run's steps goes, beside the limits of this host", rp_command_profile},
    {"predict", "score the rows of a CSV with an archive's model", rp_command_predict},
    {"continue", "go on with a text by an archive's language model", rp_command_continue},
    {"validate", "say what a model is worth on rows with outcomes", rp_command_validate},
    {"monitor", "say how far new rows are from the training rows", rp_command_monitor},
    {"explain", "say which columns a model needs, and how they move its score", rp_command_explain},
    {"scorecard", "show a linear model of two classes as a table of points", rp_command_scorecard},
    {"report", "write an archive as one HTML page for people who decide", rp_command_report},
    {"export", "write an archive's scalars for other tools", rp_command_export},
    {"inventory", "list archives and a log as a register", rp_command_inventory},
    {"golden", "record archives as goldens, and check that nothing drifts", rp_command_golden},
    {"sign", "vouch for a finished archive with a further key", rp_command_sign},
    {"approve", "add a person's signed decision to an archive", rp_command_approve},
    {"finding", "add what was found wrong to an archive, or that it is settled", rp_command_finding},
    {"log", "keep a log of runs that cannot forget, and prove what it holds", rp_command_log},
    {"cert", "put a signer's certificates into an archive", rp_command_cert},
    {"timestamp", "have an authority date a signature", rp_command_timestamp},
    {"keygen", "make a signing key pair", rp_command_keygen},
    {"doctor", "check this host: versions, CPU, floating point, kernels", rp_command_doctor},
    {"bench", "time the kernels beside the limits of this host", rp_command_bench},
    {"help", "say how a command is called; manual pages and completion", rp_command_help},
};
const size_t rp_commands_count = RP_COUNT(rp_commands);
_Static_assert(RP_COUNT(rp_commands) <= RP_COMMANDS_MAX, "room for every name");

const char rp_command_name[] = "reprise";
const bool rp_program_manual = true;
const char rp_program_about[] = "Reprise trains models so that anyone can replay the run and get the same bits.\n\n"
                                "usage: reprise COMMAND [options]     reprise help COMMAND     reprise --version\n\n";
const char rp_program_examples[] =
    "\nResults go to stdout, progress and errors to stderr; every command takes --json and --help.\n"
    "Exit code: 0 fine, 1 failed to run, 2 usage, 3 bits differ, 4 signature or hash wrong,\n"
    "5 not supported here, 130 interrupted.\n\n"
    "example:\n  reprise keygen me\n  reprise run loans.yaml -o loans.reprise --key me.pem\n"
    "  reprise verify loans.reprise --trust me.pub.pem\n  reprise replay loans.reprise\n";
