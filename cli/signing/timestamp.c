/* SPDX-License-Identifier: Apache-2.0
 * reprise timestamp: asks a timestamp authority when a statement was there, and keeps the answer in the archive. The
 * authority is reached by any tool; this command touches no network. */
#include <string.h>

#include "base/file.h"
#include "cli/signing/key_files.h"
#include "cli/print.h"
#include "rp/audit.h"
#include "rp/trust.h"

enum { RESPONSE_LIMIT = 1 << 16 };

typedef struct request {
    const char *operand[2], *statement, *hash, *out, *asked;
    bool force;
} request;

static rp_status ask(rp_session *session, const request *r, rp_error *err)
{
    rp_archive *archive;
    char *der = NULL;
    size_t size;
    const char *statement = r->statement ? r->statement : RP_RUN_STATEMENT;
    rp_status status = rp_archive_open_confirmed(&archive, r->operand[0], err);

    if (status == RP_OK)
        status = rp_timestamp_request(archive, statement, r->hash, &der, &size, err);
    if (status == RP_OK)
        status = rp_file_save(r->out, der, size, r->force, 0644, err);
    if (status == RP_OK && session->json) {
        rp_put_open(&session->out, NULL, '{');
        rp_put_text(&session->out, "archive_id", rp_archive_id(archive));
        rp_put_text(&session->out, "path", r->out);
        rp_put_text(&session->out, "statement", statement);
        rp_put_close(&session->out, '}');
    } else if (status == RP_OK) {
        rp_put_line(session, "written", "%s: asks to date %s", r->out, statement);
    }
    rp_text_free(der);
    rp_archive_close(archive);
    return status;
}

static rp_status read_der(rp_buffer *out, const char *path, rp_error *err)
{
    rp_status status = rp_file_read(path, RESPONSE_LIMIT, out, err);

    return status == RP_EDATA ? rp_fail(err, RP_ESIGN, "%s: too large for a timestamp", path) : status;
}

static rp_status attach(rp_session *session, const request *r, rp_error *err)
{
    rp_buffer response = {0}, asked = {0};
    char member[RP_MEMBER_NAME];
    rp_status status = read_der(&response, r->operand[1], err);

    if (status == RP_OK && r->asked)
        status = read_der(&asked, r->asked, err);
    if (status == RP_OK)
        status = rp_timestamp_attach(r->operand[0], response.data, response.size, r->operand[1],
                                     r->asked ? asked.data : NULL, asked.size, r->force, member, err);
    if (status == RP_OK && session->json) {
        rp_put_open(&session->out, NULL, '{');
        rp_put_text(&session->out, "member", member);
        rp_put_text(&session->out, "path", r->operand[0]);
        rp_put_close(&session->out, '}');
    } else if (status == RP_OK) {
        rp_put_line(session, "attached", "%s: %s; reprise verify --tsa checks whose it is", r->operand[0], member);
    }
    rp_buffer_free(&response);
    rp_buffer_free(&asked);
    return status;
}

static rp_status request_action(rp_session *session, int argc, char **argv, rp_error *err)
{
    static const char *const names[] = {"ARCHIVE"};
    request r = {.out = NULL};
    const rp_option options[] = {
        {'o', "output", RP_OPTION_TEXT, "FILE", "the request to write", &r.out, true},
        {0, "statement", RP_OPTION_TEXT, "MEMBER", "date this statement (default: signatures/run.dsse.json)",
         &r.statement, false},
        {0, "hash", RP_OPTION_TEXT, "HASH", "sha256 (default), sha384 or sha512", &r.hash, false},
        {0, "force", RP_OPTION_FLAG, NULL, "replace FILE", &r.force, false},
    };
    const rp_usage usage = {
        "timestamp request ARCHIVE -o REQUEST.tsq [--statement MEMBER]",
        "Writes a request (RFC 3161) to date a statement of the archive: its digest and a random number, nothing "
        "else.\n"
        "Any tool can send it to an authority.",
        "  reprise timestamp request loans.reprise -o loans.tsq\n"
        "  curl -sSf -H 'Content-Type: application/timestamp-query' --data-binary @loans.tsq https://tsa.example -o "
        "loans.tsr",
        names,
        1,
        options,
        RP_COUNT(options)};
    rp_status status = rp_options_parse(session, &usage, argc, argv, r.operand, err);

    return status == RP_OK && !session->helped ? ask(session, &r, err) : status;
}

static rp_status attach_action(rp_session *session, int argc, char **argv, rp_error *err)
{
    static const char *const names[] = {"ARCHIVE", "RESPONSE.tsr"};
    request r = {.out = NULL};
    const rp_option options[] = {
        {0, "request", RP_OPTION_TEXT, "REQUEST.tsq", "the request that was sent: the response must answer it",
         &r.asked, false},
        {0, "force", RP_OPTION_FLAG, NULL, "replace an older timestamp of the same statement", &r.force, false},
    };
    const rp_usage usage = {"timestamp attach ARCHIVE RESPONSE.tsr [--request REQUEST.tsq] [--force]",
                            "Puts an authority's response into the archive beside the statement that it dates, as "
                            "signatures/NAME.dsse.tsr.\n"
                            "Nothing else of the archive changes, its id included.",
                            "  reprise timestamp attach loans.reprise loans.tsr --request loans.tsq",
                            names,
                            2,
                            options,
                            RP_COUNT(options)};
    rp_status status = rp_options_parse(session, &usage, argc, argv, r.operand, err);

    return status == RP_OK && !session->helped ? attach(session, &r, err) : status;
}

rp_status rp_command_timestamp(rp_session *session, int argc, char **argv, rp_error *err)
{
    static const char *const names[] = {"ACTION"}, *const actions[] = {"request", "attach"};
    static char asks[] = "timestamp request", attaches[] = "timestamp attach";
    const rp_usage usage = {
        "timestamp ACTION [operands] [options]        reprise timestamp ACTION --help",
        "Dates signatures by a timestamp authority (RFC 3161), so that nobody has to take the signer's word for when.\n"
        "\n"
        "  request   write the request for an authority\n  attach    put its response into the archive",
        "  reprise timestamp request loans.reprise -o loans.tsq\n"
        "  reprise timestamp attach loans.reprise loans.tsr --request loans.tsq\n"
        "  reprise verify loans.reprise --trust me.pub.pem --tsa authority.pem",
        names,
        1,
        NULL,
        0};
    const char *operand = NULL;
    rp_status status;

    if (argc > 1 && strcmp(argv[1], "request") == 0) {
        argv[1] = asks;
        return request_action(session, argc - 1, argv + 1, err);
    }
    if (argc > 1 && strcmp(argv[1], "attach") == 0) {
        argv[1] = attaches;
        return attach_action(session, argc - 1, argv + 1, err);
    }
    rp_options_actions(session, actions, RP_COUNT(actions));
    status = rp_options_parse(session, &usage, argc, argv, &operand, err);
    if (status != RP_OK || session->helped)
        return status;
    return rp_fail(err, RP_EARG,
                   "timestamp: unknown action %.40s, expected request or attach; see reprise timestamp --help",
                   operand);
}
