/* SPDX-License-Identifier: Apache-2.0
 * reprise cert: puts the certificates of a signer's key into a finished archive. */
#include "cli/options.h"
#include "cli/print.h"

rp_status rp_command_cert(rp_session *session, int argc, char **argv, rp_error *err)
{
    static const char *const names[] = {"ARCHIVE", "CHAIN.pem"};
    const char *operand[2];
    bool force = false;
    const rp_option options[] = {
        {0, "force", RP_OPTION_FLAG, NULL, "replace older certificates of the same key", &force, false},
    };
    const rp_usage usage = {
        "cert ARCHIVE CHAIN.pem [--force]",
        "Puts the certificates of a signer's key into the archive: the key's own first, each one issued by the next. "
        "Then\n"
        "reprise verify --ca ROOT.pem needs no public key of the signer. The archive's id does not change.\n"
        "Signing commands do the same at once: --cert CHAIN.pem.",
        "  reprise cert loans.reprise me.chain.pem",
        names,
        2,
        options,
        RP_COUNT(options)};
    char member[RP_MEMBER_NAME];
    rp_status status = rp_options_parse(session, &usage, argc, argv, operand, err);

    if (status != RP_OK || session->helped)
        return status;
    status = rp_archive_add_certificates(operand[0], operand[1], force, member, err);
    if (status == RP_OK && session->json) {
        rp_put_open(&session->out, NULL, '{');
        rp_put_text(&session->out, "member", member);
        rp_put_text(&session->out, "path", operand[0]);
        rp_put_close(&session->out, '}');
    } else if (status == RP_OK) {
        rp_put_line(session, "attached", "%s: %s; reprise verify --ca checks whose it is", operand[0], member);
    }
    return status;
}
