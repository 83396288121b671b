/* SPDX-License-Identifier: Apache-2.0
 * reprise keygen: an ECDSA P-256 key pair in two PEM files, both of them or none. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "cli/signing/key_files.h"
#include "cli/print.h"
#include "cli/progress.h"

typedef struct request {
    const char *name, *passphrase, *token, *rotate, *rotate_passphrase, *from;
    bool force;
    char *private_path, *public_path, *rotation_path;
} request;

static rp_status parse(rp_session *session, int argc, char **argv, request *r, rp_error *err)
{
    static const char *const names[] = {"NAME"};
    const rp_option options[] = {
        {0, "passphrase-file", RP_OPTION_TEXT, "FILE",
         "encrypt the private key; the passphrase is the first line of FILE", &r->passphrase, false},
        {0, "token", RP_OPTION_TEXT, "URI",
         "no new key: only write NAME.pub.pem of the key on a PKCS#11 token, pkcs11:...; its PIN is "
         "the passphrase",
         &r->token, false},
        {0, "rotate", RP_OPTION_TEXT, "OLD.pem", "the old key hands over to the new one: write NAME.rotation.json too",
         &r->rotate, false},
        {0, "rotate-passphrase-file", RP_OPTION_TEXT, "FILE", "first line: the passphrase of OLD.pem",
         &r->rotate_passphrase, false},
        {0, "from", RP_OPTION_TEXT, "TIME", "with --rotate: from when, as 2026-11-21T15:04:05Z in UTC (default: now)",
         &r->from, false},
        {0, "force", RP_OPTION_FLAG, NULL, "replace keys of this name, which are then lost", &r->force, false},
    };
    const rp_usage usage = {
        "keygen NAME [--passphrase-file FILE] [options]",
        "Makes an ECDSA P-256 key pair: NAME.pem signs and stays secret (mode 0600), NAME.pub.pem goes to those\n"
        "who verify.",
        "  reprise keygen me --passphrase-file secret.txt\n"
        "  reprise keygen new --rotate me.pem\n"
        "  reprise keygen me --token 'pkcs11:token=firm;object=me' --passphrase-file pin.txt",
        names,
        1,
        options,
        RP_COUNT(options)};

    rp_status status = rp_options_parse(session, &usage, argc, argv, &r->name, err);

    if (status == RP_OK && !session->helped && !r->rotate && (r->from || r->rotate_passphrase))
        return rp_fail(err, RP_EARG, "keygen: --from and --rotate-passphrase-file are of use only with --rotate");
    if (status == RP_OK && !session->helped && r->rotate && (r->force || r->token))
        return rp_fail(err, RP_EARG,
                       "keygen: --rotate makes a new key under a new name: leave out --force and --token");
    return status;
}

static rp_status make_paths(request *r, rp_error *err)
{
    rp_buffer secret = {0}, open = {0}, rotation = {0};

    rp_buffer_printf(&secret, "%s.pem", r->name);
    rp_buffer_printf(&open, "%s.pub.pem", r->name);
    rp_buffer_u8(&secret, 0);
    rp_buffer_u8(&open, 0);
    rp_buffer_printf(&rotation, "%s.rotation.json", r->name);
    rp_buffer_u8(&rotation, 0);
    r->rotation_path = (char *)rotation.data;
    r->private_path = (char *)secret.data;
    r->public_path = (char *)open.data;
    if (secret.failed || open.failed || rotation.failed)
        return rp_no_memory(err);
    for (int i = r->token ? 1 : 0; i < (r->rotate ? 3 : 2) && !r->force; i++) {
        const char *path = i == 2 ? r->rotation_path : i ? r->public_path : r->private_path;

        if (rp_file_exists(path))
            return rp_fail(err, RP_EEXIST, "%s: already exists: choose another name, or give --force to replace it",
                           path);
    }
    return RP_OK;
}

static rp_status save_new(const request *r, const rp_key *key, const char *passphrase, rp_error *err)
{
    rp_status status = rp_key_save_private(key, r->private_path, passphrase, false, err);

    if (status != RP_OK)
        return status;
    status = rp_key_save_public(key, r->public_path, false, err);
    /* a private key without its public half is of no use and would be taken for a whole pair */
    if (status != RP_OK)
        (void)unlink(r->private_path);
    return status;
}

/* A folder beside the pair, only for its owner: the new keys before they replace the old ones, and the old public key
 * until both have. */
typedef struct staging {
    char *folder, *private_path, *public_path, *old_public;
} staging;

static char *join(const char *folder, const char *end)
{
    rp_buffer path = {0};

    rp_buffer_printf(&path, "%s%s", folder, end);
    rp_buffer_u8(&path, 0);
    if (path.failed)
        rp_buffer_free(&path);
    return (char *)path.data;
}

static rp_status stage(staging *s, const request *r, rp_error *err)
{
    s->folder = join(r->name, ".new-XXXXXX");
    if (!s->folder)
        return rp_no_memory(err);
    if (!mkdtemp(s->folder)) {
        rp_status status = rp_fail(err, RP_EIO, "%s: cannot write here: %s", r->private_path, strerror(errno));

        rp_free(s->folder);
        s->folder = NULL;
        return status;
    }
    s->private_path = join(s->folder, "/private");
    s->public_path = join(s->folder, "/public");
    s->old_public = join(s->folder, "/old-public");
    return s->private_path && s->public_path && s->old_public ? RP_OK : rp_no_memory(err);
}

static void unstage(staging *s)
{
    char *const file[] = {s->private_path, s->public_path, s->old_public};

    for (size_t i = 0; i < RP_COUNT(file); i++) {
        if (file[i])
            (void)unlink(file[i]);
        rp_free(file[i]);
    }
    if (s->folder)
        (void)rmdir(s->folder);
    rp_free(s->folder);
}

static rp_status move(const char *from, const char *to, const char *name, rp_error *err)
{
    if (rename(from, to) == 0)
        return RP_OK;
    return rp_fail(err, RP_EIO, "%s: cannot replace it: %s; the old keys are kept", name, strerror(errno));
}

/* Best effort, as in rp_file_commit. */
static void sync_parent(const staging *s)
{
    char *parent = join(s->folder, "/..");
    int fd = parent ? open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

    if (fd >= 0) {
        (void)fsync(fd);
        close(fd);
    }
    rp_free(parent);
}

/* The private key comes last: it is the one that nothing can bring back. */
static rp_status swap(const staging *s, const request *r, rp_error *err)
{
    bool had_public = rp_file_exists(r->public_path);
    rp_status status = had_public ? move(r->public_path, s->old_public, r->public_path, err) : RP_OK;

    if (status != RP_OK)
        return status;
    status = move(s->public_path, r->public_path, r->public_path, err);
    if (status == RP_OK)
        status = move(s->private_path, r->private_path, r->private_path, err);
    if (status == RP_OK)
        sync_parent(s);
    else if (had_public)
        (void)rename(s->old_public, r->public_path);
    else
        (void)unlink(r->public_path);
    return status;
}

static rp_status save_over(const request *r, const rp_key *key, const char *passphrase, rp_error *err)
{
    staging s = {0};
    rp_status status = RP_OK;

    for (int i = 0; i < 2; i++) {
        const char *path = i ? r->public_path : r->private_path;
        struct stat info;

        if (stat(path, &info) == 0 && S_ISDIR(info.st_mode))
            return rp_fail(err, RP_EARG, "%s: is a directory, expected a file name", path);
    }
    rp_signals_hold(true);
    status = stage(&s, r, err);
    if (status == RP_OK)
        status = rp_key_save_private(key, s.private_path, passphrase, false, err);
    if (status == RP_OK)
        status = rp_key_save_public(key, s.public_path, false, err);
    if (status == RP_OK)
        status = swap(&s, r, err);
    unstage(&s);
    rp_signals_hold(false);
    return status;
}

static rp_status save(const request *r, const rp_key *key, rp_error *err)
{
    char *passphrase = NULL;
    rp_status status = r->passphrase ? rp_passphrase_load(&passphrase, r->passphrase, err) : RP_OK;

    if (status == RP_OK)
        status = (r->force ? save_over : save_new)(r, key, passphrase, err);
    rp_passphrase_free(passphrase);
    return status;
}

static rp_status write_public(const request *r, rp_key **key, rp_error *err)
{
    rp_status status = rp_signing_key_load(key, r->token, r->passphrase, err);

    return status == RP_OK ? rp_key_save_public(*key, r->public_path, r->force, err) : status;
}

/* The hand-over comes first, so that a wrong old key leaves nothing behind, and a pair without it is never left. */
static rp_status save_rotation(const request *r, const rp_key *key, rp_error *err)
{
    rp_key *old = NULL;
    char *text = NULL;
    int64_t from = (int64_t)time(NULL);
    rp_status status = r->from ? rp_trust_time(&from, r->from, err) : RP_OK;

    if (status == RP_OK)
        status = rp_signing_key_load(&old, r->rotate, r->rotate_passphrase, err);
    if (status == RP_OK)
        status = rp_key_rotation(old, key, from, &text, err);
    if (status == RP_OK)
        status = rp_file_save(r->rotation_path, text, strlen(text), false, 0644, err);
    if (status == RP_OK && (status = save(r, key, err)) != RP_OK)
        (void)unlink(r->rotation_path);
    rp_text_free(text);
    rp_key_free(old);
    return status;
}

static void put_token(rp_session *session, const request *r, const rp_key *key)
{
    if (session->json) {
        rp_put_open(&session->out, NULL, '{');
        rp_put_text(&session->out, "key_id", rp_key_id(key));
        rp_put_text(&session->out, "key_type", rp_key_type(key));
        rp_put_text(&session->out, "public", r->public_path);
        rp_put_close(&session->out, '}');
        return;
    }
    rp_put_line(session, "key", "%s (%s), on a token", rp_key_id(key), rp_key_type(key));
    rp_put_line(session, "public", "%s: give it to those who verify", r->public_path);
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
        rp_put_text(&session->out, "rotation", r->rotate ? r->rotation_path : NULL);
        rp_put_close(&session->out, '}');
        return;
    }
    rp_put_line(session, "key", "%s (%s)", rp_key_id(key), rp_key_type(key));
    rp_put_line(session, "private", "%s, %s: signs; keep it secret", r->private_path,
                r->passphrase ? "encrypted" : "not encrypted");
    rp_put_line(session, "public", "%s: give it to those who verify", r->public_path);
    if (r->rotate)
        rp_put_line(session, "hand-over", "%s: with it, those who trust the old key verify by the new one",
                    r->rotation_path);
}

rp_status rp_command_keygen(rp_session *session, int argc, char **argv, rp_error *err)
{
    request r = {0};
    rp_key *key = NULL;
    rp_status status = parse(session, argc, argv, &r, err);

    if (status != RP_OK || session->helped)
        return status;
    status = make_paths(&r, err);
    if (status == RP_OK && r.token) {
        status = write_public(&r, &key, err);
    } else if (status == RP_OK) {
        status = rp_key_generate(&key, err);
        if (status == RP_OK)
            status = (r.rotate ? save_rotation : save)(&r, key, err);
    }
    if (status == RP_OK)
        (r.token ? put_token : put)(session, &r, key);
    rp_key_free(key);
    rp_free(r.private_path);
    rp_free(r.public_path);
    rp_free(r.rotation_path);
    return status;
}
