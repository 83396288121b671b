/* SPDX-License-Identifier: Apache-2.0
 * reprise keygen: an ECDSA P-256 key pair in two PEM files, both of them or none. */
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "cli/material.h"
#include "cli/print.h"

typedef struct request {
    const char *name, *passphrase;
    bool force;
    char *private_path, *public_path;
} request;

static rp_status parse(rp_session *session, int argc, char **argv, request *r, rp_error *err)
{
    static const char *const names[] = {"NAME"};
    const rp_option options[] = {
        {0, "passphrase-file", RP_OPTION_TEXT, "FILE", "encrypt the private key; the passphrase is the first line of FILE",
         &r->passphrase, false},
        {0, "force", RP_OPTION_FLAG, NULL, "replace keys of this name, which are then lost", &r->force, false},
    };
    const rp_usage usage = {
        "keygen NAME [--passphrase-file FILE] [options]",
        "Makes an ECDSA P-256 key pair: NAME.pem signs and stays secret (mode 0600), NAME.pub.pem goes to those\n"
        "who verify.",
        "  reprise keygen me --passphrase-file secret.txt",
        names, 1, options, RP_COUNT(options)};

    return rp_options_parse(session, &usage, argc, argv, &r->name, err);
}

static rp_status make_paths(request *r, rp_error *err)
{
    rp_buffer secret = {0}, open = {0};

    rp_buffer_printf(&secret, "%s.pem", r->name);
    rp_buffer_printf(&open, "%s.pub.pem", r->name);
    rp_buffer_u8(&secret, 0);
    rp_buffer_u8(&open, 0);
    r->private_path = (char *)secret.data;
    r->public_path = (char *)open.data;
    if (secret.failed || open.failed)
        return rp_no_memory(err);
    for (int i = 0; i < 2 && !r->force; i++) {
        const char *path = i ? r->public_path : r->private_path;

        if (rp_file_exists(path))
            return rp_fail(err, RP_EEXIST, "%s: already exists: choose another name, or give --force to replace it", path);
    }
    return RP_OK;
}

static rp_status save(const request *r, const rp_key *key, rp_error *err)
{
    char *passphrase = NULL;
    rp_status status = r->passphrase ? rp_passphrase_load(&passphrase, r->passphrase, err) : RP_OK;

    if (status == RP_OK)
        status = rp_key_save_private(key, r->private_path, passphrase, r->force, err);
    rp_passphrase_free(passphrase);
    if (status != RP_OK)
        return status;
    status = rp_key_save_public(key, r->public_path, r->force, err);
    /* a private key without its public half is of no use and would be taken for a whole pair */
    if (status != RP_OK)
        (void)unlink(r->private_path);
    return status;
}

static void put(rp_session *session, const request *r, const rp_key *key)
{
    if (session->json) {
        rp_put_open(&session->out, NULL, '{');
        rp_put_bool(&session->out, "encrypted", r->passphrase != NULL);
        rp_put_text(&session->out, "key_id", rp_key_id(key));
        rp_put_text(&session->out, "key_type", rp_key_type(key));
        rp_put_text(&session->out, "private", r->private_path);
        rp_put_text(&session->out, "public", r->public_path);
        rp_put_close(&session->out, '}');
        return;
    }
    rp_put_line(session, "key", "%s (%s)", rp_key_id(key), rp_key_type(key));
    rp_put_line(session, "private", "%s, %s: signs; keep it secret", r->private_path,
                r->passphrase ? "encrypted" : "not encrypted");
    rp_put_line(session, "public", "%s: give it to those who verify", r->public_path);
}

rp_status rp_command_keygen(rp_session *session, int argc, char **argv, rp_error *err)
{
    request r = {0};
    rp_key *key = NULL;
    rp_status status = parse(session, argc, argv, &r, err);

    if (status != RP_OK || session->helped)
        return status;
    status = make_paths(&r, err);
    if (status == RP_OK)
        status = rp_key_generate(&key, err);
    if (status == RP_OK)
        status = save(&r, key, err);
    if (status == RP_OK)
        put(session, &r, key);
    rp_key_free(key);
    rp_free(r.private_path);
    rp_free(r.public_path);
    return status;
}
