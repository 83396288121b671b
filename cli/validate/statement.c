/* SPDX-License-Identifier: Apache-2.0
 * A statement about a model: made, or made again, signed, written and shown. */
#include "cli/validate/statement.h"

#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "cli/data/input.h"
#include "cli/signing/defaults.h"
#include "cli/signing/key_files.h"

static const size_t csv_limit = (size_t)4 << 30;

rp_status rp_statement_look(rp_session *session, rp_statement_request *r, rp_error *err)
{
    rp_status status = rp_default_trust(session, &r->trust, true, err);

    if (status == RP_OK)
        status = rp_default_key(session, &r->key, !r->check && (r->out || r->attach), err);
    if (status != RP_OK)
        return status;
    if (r->check && (r->out || r->key || r->attach || r->part || r->asked))
        return rp_fail(err, RP_EARG, "%s: --check makes a statement again as it was asked for: leave out other options",
                       r->command);
    if (r->rows && !r->check && !r->csv == !r->part)
        return rp_fail(err, RP_EARG, "%s: expected either --csv FILE or --part test: whose rows?", r->command);
    if (r->passphrase && !r->key)
        return rp_fail(err, RP_EARG, "%s: --passphrase-file belongs to a key: give --key FILE too", r->command);
    if (r->key && !r->out && !r->attach)
        return rp_fail(err, RP_EARG, "%s: --key signs the statement that --out FILE writes%s", r->command,
                       r->attachable ? " or --attach adds: give one of them too" : ": give that too");
    if (r->attach && !r->key)
        return rp_fail(err, RP_EARG, "%s: --attach adds a signed statement: give --key KEY.pem too", r->command);
    if (r->out && !r->force && rp_file_exists(r->out))
        return rp_fail(err, RP_EEXIST, "%s: already exists: choose another name, or give --force to replace it",
                       r->out);
    if ((status = rp_file_keep(r->out, r->archive, "the archive", err)) != RP_OK ||
        (status = rp_file_keep(r->out, r->csv, "--csv", err)) != RP_OK ||
        (status = rp_file_keep(r->out, r->previous, "--previous", err)) != RP_OK)
        return status;
    for (size_t i = 0; i < r->parents.count; i++)
        if ((status = rp_file_keep(r->out, r->parents.item[i], "--parent", err)) != RP_OK)
            return status;
    return rp_device_option(r->command, r->device, err);
}

/* What is loaded before anything is computed. */
typedef struct inputs {
    rp_archive *archive;
    rp_verification *verified;
    rp_trust trust;
    rp_key *key;
    rp_archive **parent;
    size_t parents;
    rp_buffer csv, check;
} inputs;

/* What goes on from it says of its number no more than it does: where anybody is to believe that, it is signed. */
static rp_status load_before(const inputs *in, const rp_statement_request *r, rp_error *err)
{
    const rp_key **by;
    size_t n = in->trust.count, length = 0;
    char *payload = NULL;
    rp_status status = rp_file_read(r->previous, RP_STATEMENT_FILE_MAX, r->before, err);

    if (status != RP_OK || (!r->attach && n == 0))
        return status;
    by = rp_reallocarray(NULL, n + 1, sizeof *by);
    if (!by)
        return rp_no_memory(err);
    for (size_t i = 0; i < n; i++)
        by[i] = in->trust.key[i];
    if (in->key)
        by[n++] = in->key;
    status = rp_validation_open(r->before->data ? (const char *)r->before->data : "", r->before->size, r->previous, by,
                                n, &payload, &length, err);
    rp_text_free(payload);
    rp_free(by);
    return status;
}

rp_status rp_line_disclose(rp_archive *archive, const rp_text_list *folders, size_t *given, rp_error *err)
{
    if (rp_archive_withheld_count(archive) == 0 || *given == folders->count)
        return RP_OK;
    return rp_archive_disclose(archive, folders->item[(*given)++], err);
}

rp_status rp_line_disclosed(const rp_text_list *folders, size_t given, rp_error *err)
{
    return given == folders->count
               ? RP_OK
               : rp_fail(
                     err, RP_EARG,
                     "--parent-withheld %s: nothing was left out of a parent that it could be of: folders belong, in "
                     "their order, to the parents that left something out",
                     folders->item[given]);
}

static rp_status open_parents(inputs *in, const rp_statement_request *r, rp_error *err)
{
    size_t given = 0;
    rp_status status = rp_parents_open(&in->parent, &in->parents, in->archive, &r->parents, err);

    for (size_t i = 0; i < in->parents && status == RP_OK; i++)
        status = rp_line_disclose(in->parent[i], &r->parent_withheld, &given, err);
    return status == RP_OK ? rp_line_disclosed(&r->parent_withheld, given, err) : status;
}

static rp_status load(inputs *in, const rp_statement_request *r, rp_error *err)
{
    rp_status status = rp_archive_open_trusted(&in->archive, &in->verified, r->archive, &r->trust, err);

    if (status == RP_OK && r->withheld)
        status = rp_archive_disclose(in->archive, r->withheld, err);
    if (status == RP_OK)
        status = open_parents(in, r, err);
    if (status == RP_OK)
        status = rp_trust_load(&in->trust, &r->trust, err);
    if (status == RP_OK && r->key)
        status = rp_signing_key_load(&in->key, r->key, r->passphrase, err);
    if (status == RP_OK && r->csv)
        status = rp_input_read(r->csv, csv_limit, &in->csv, err);
    if (status == RP_OK && r->check)
        status = rp_file_read(r->check, RP_STATEMENT_FILE_MAX, &in->check, err);
    return status == RP_OK && r->previous ? load_before(in, r, err) : status;
}

static rp_status make(const rp_statement_request *r, const inputs *in, const rp_job_options *job, char **statement,
                      size_t *length, rp_error *err)
{
    rp_status status;

    if (!r->check)
        return r->make(r->self, in->archive, r->csv ? &in->csv : NULL, rp_input_name(r->csv), job, statement, length,
                       err);
    /* an empty file has bytes too, none of them */
    status = rp_validation_open(in->check.data ? (const char *)in->check.data : "", in->check.size, r->check,
                                (const rp_key *const *)in->trust.key, in->trust.count, statement, length, err);
    return status == RP_OK ? r->again(r->self, in->archive, r->csv ? &in->csv : NULL, rp_input_name(r->csv), *statement,
                                      *length, job, err)
                           : status;
}

static rp_status save(const rp_statement_request *r, const inputs *in, const char *statement, size_t length,
                      rp_error *err)
{
    char *signed_text = NULL;
    size_t signed_length = 0;
    rp_status status = RP_OK;

    if (!r->out)
        return RP_OK;
    if (in->key)
        status = rp_validation_sign(statement, length, in->key, &signed_text, &signed_length, err);
    if (status == RP_OK)
        status = in->key ? rp_file_save(r->out, signed_text, signed_length, r->force, 0644, err)
                         : rp_file_save(r->out, statement, length, r->force, 0644, err);
    rp_text_free(signed_text);
    return status;
}

static rp_status attach(const rp_statement_request *r, const inputs *in, const char *statement, size_t length,
                        char member[RP_MEMBER_NAME], rp_error *err)
{
    rp_status status;

    if (!r->attach)
        return RP_OK;
    rp_signals_hold(true);
    status = rp_validation_attach(r->archive, rp_archive_id(in->archive), statement, length, in->key, member, err);
    rp_signals_hold(false);
    return status;
}

static void show_json(rp_session *session, const rp_statement_request *r, const inputs *in, const char *member,
                      const rp_json *json)
{
    rp_buffer *out = &session->out;

    rp_put_open(out, NULL, '{');
    rp_put_text(out, "archive_id", rp_archive_id(in->archive));
    rp_put_bool(out, "checked", r->check != NULL);
    rp_put_text(out, "key_id", in->key ? rp_key_id(in->key) : NULL);
    rp_put_text(out, "member", *member ? member : NULL);
    rp_put_text(out, "path", r->out);
    rp_put_json(out, "statement", json);
    rp_put_bool(out, "verified", in->verified != NULL);
    rp_put_close(out, '}');
}

static void show(rp_session *session, const rp_statement_request *r, const inputs *in, const char *member,
                 const rp_json *json)
{
    if (session->json) {
        show_json(session, r, in, member, json);
        return;
    }
    rp_put_line(session, "model", "%s", rp_archive_id(in->archive));
    r->show(session, rp_json_object_get(json, "predicate"));
    if (r->check || r->out || r->attach)
        rp_buffer_text(&session->out, "\n");
    if (r->check)
        rp_put_verdict(session, true, "checked", "%s: made again, every byte the same", r->check);
    if (r->out)
        rp_put_line(session, "written", "%s%s", r->out, in->key ? "" : ", unsigned: no --key was given");
    if (r->attach)
        rp_put_line(session, "attached", "%s in %s", member, r->archive);
    if (in->key)
        rp_put_line(session, "signed", "by key %s", rp_key_id(in->key));
    if (in->verified)
        rp_put_signers(session, in->verified);
}

rp_status rp_statement_run(rp_session *session, const rp_statement_request *r, rp_error *err)
{
    rp_job_options job = {.threads = r->threads, .level = r->level, .device = r->device};
    rp_status status = rp_limits_resolve(&r->limits, r->command, &job, err);
    inputs in = {.archive = NULL};
    char *statement = NULL, member[RP_MEMBER_NAME] = "";
    size_t length = 0;
    rp_json *json = NULL;

    if (status == RP_OK)
        status = load(&in, r, err);
    job.parents = (const rp_archive *const *)in.parent;
    job.n_parents = in.parents;
    if (status == RP_OK)
        status = make(r, &in, &job, &statement, &length, err);
    if (status == RP_OK)
        status = save(r, &in, statement, length, err);
    if (status == RP_OK)
        status = attach(r, &in, statement, length, member, err);
    if (status == RP_OK)
        status = rp_json_parse(&json, statement, length, true, "the statement", err);
    if (status == RP_OK)
        show(session, r, &in, member, json);
    rp_json_free(json);
    rp_text_free(statement);
    rp_parents_close(in.parent, in.parents);
    rp_archive_close(in.archive);
    rp_verification_free(in.verified);
    rp_trust_free(&in.trust);
    rp_key_free(in.key);
    rp_buffer_free(&in.csv);
    rp_buffer_free(&in.check);
    return status;
}
