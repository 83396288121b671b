/* SPDX-License-Identifier: Apache-2.0
 * The commands of `reprise-verify`, and what it has instead of the parts of `reprise` that need more than
 * libreprise-verify.
 */
#include "cli/archive_files.h"
#include "cli/cli.h"
#include "cli/inside/step.h"
#include "cli/second_reader.h"

const rp_command rp_commands[] = {
    {"verify", "check an archive's signature and every hash", rp_command_verify},
    {"inspect", "show what an archive holds, or take a member out", rp_command_inspect},
    {"help", "say how a command is called; manual pages and completion", rp_command_help},
};
const size_t rp_commands_count = RP_COUNT(rp_commands);

const char rp_command_name[] = "reprise-verify";
const bool rp_program_manual = false;
const char rp_program_about[] =
    "Checks archives of Reprise, and computes nothing: the same answers as reprise gives.\n\n"
    "usage: reprise-verify COMMAND [options]     reprise-verify help COMMAND     "
    "reprise-verify --version\n\n";
const char rp_program_examples[] =
    "\nResults go to stdout, errors to stderr; every command takes --json and --help.\n"
    "Exit code: 0 fine, 1 failed to run, 2 usage, 4 signature or hash wrong, 5 not supported here.\n\n"
    "example:\n  reprise-verify verify loans.reprise --trust me.pub.pem\n"
    "  reprise-verify inspect loans.reprise --member run/recipe.json\n";

rp_status rp_second_reader(rp_archive **archive, const char *path, rp_error *err)
{
    (void)archive;
    (void)path;
    (void)err;
    return RP_OK;
}

/* Whoever prices a text must know every operation. */
rp_status rp_programs_put(rp_session *session, const rp_archive *archive, rp_error *err)
{
    (void)session;
    (void)archive;
    return rp_fail(err, RP_EUNSUPPORTED, "--programs: reprise-verify computes nothing: use reprise inspect");
}

/* No options: nothing is ever given. */
const bool rp_program_computes = false;

rp_status rp_inspect_step_resolve(rp_inspect_step *step, rp_error *err)
{
    (void)step;
    (void)err;
    return RP_OK;
}

rp_status rp_inspect_step_put(rp_session *session, const rp_inspect_step *step, rp_archive *archive, const char *path,
                              bool force, rp_error *err)
{
    (void)session;
    (void)step;
    (void)archive;
    (void)path;
    (void)force;
    return rp_fail(err, RP_EUNSUPPORTED, "--step: reprise-verify computes nothing: use reprise inspect");
}

/* Whether a child's states are its parent's may take a replay of the parent's last step. */
rp_status rp_parent_check(const rp_archive *child, const char *path, rp_error *err)
{
    (void)child;
    return path == NULL
               ? RP_OK
               : rp_fail(err, RP_EUNSUPPORTED, "--parent: reprise-verify computes nothing: use reprise verify");
}
