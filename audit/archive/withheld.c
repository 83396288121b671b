/* SPDX-License-Identifier: Apache-2.0
 * Salted digests, the folder of what was left out, and giving it back to an open archive. */
#include "audit/archive/withheld.h"

#include <errno.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "audit/archive/archive_private.h"
#include "base/memory.h"

#define SALT_FILE "salt"
#define RECIPE_FILE "recipe"
enum {
    SALT_TEXT = 2 * RP_SALT_SIZE + 1,
    SALT_FILE_LIMIT = 4096,
    FOLDER_MAX = 3000,
    PATH_ROOM = FOLDER_MAX + RP_MEMBER_NAME + 2
};
enum { KIND_MEMBER = 5, KIND_FEEDS = 6 }; /* FORMAT.md 3: a first byte keeps kinds of message apart */

static rp_status hmac(rp_digest *out, const rp_salt *salt, const rp_buffer *message, rp_error *err)
{
    size_t length = 0;
    rp_status status = rp_buffer_status(message, err);

    if (status == RP_OK && (!EVP_Q_mac(NULL, "HMAC", NULL, "SHA256", NULL, salt->bytes, sizeof salt->bytes,
                                       message->data, message->size, out->bytes, sizeof out->bytes, &length) ||
                            length != sizeof out->bytes))
        status = rp_fail(err, RP_ENOMEM, "HMAC-SHA-256 failed");
    return status;
}

rp_status rp_salted_member(rp_digest *out, const rp_salt *salt, const char *name, const rp_digest *plain, rp_error *err)
{
    rp_buffer message = {0};
    rp_status status;

    rp_buffer_u8(&message, KIND_MEMBER);
    rp_buffer_u16(&message, (uint16_t)strlen(name));
    rp_buffer_text(&message, name);
    rp_buffer_append(&message, plain->bytes, sizeof plain->bytes);
    status = hmac(out, salt, &message, err);
    rp_buffer_free(&message);
    return status;
}

rp_status rp_salted_feeds(rp_digest *digest, const rp_salt *salt, rp_error *err)
{
    rp_buffer message = {0};
    rp_status status;

    rp_buffer_u8(&message, KIND_FEEDS);
    rp_buffer_append(&message, digest->bytes, sizeof digest->bytes);
    status = hmac(digest, salt, &message, err);
    rp_buffer_free(&message);
    return status;
}

/* ---- the folder ---- */

static rp_status path_in(char path[PATH_ROOM], const char *folder, const char *name, rp_error *err)
{
    if (strlen(folder) > FOLDER_MAX)
        return rp_fail(err, RP_EARG, "%.40s...: a folder's path has at most %d bytes here", folder, (int)FOLDER_MAX);
    (void)snprintf(path, PATH_ROOM, "%s/%s", folder, name);
    return RP_OK;
}

static rp_status make_folder(const char *path, rp_error *err)
{
    if (mkdir(path, 0700) == 0 || errno == EEXIST)
        return RP_OK;
    return rp_fail(err, RP_EIO, "%s: cannot make the folder: %s", path, strerror(errno));
}

static rp_status salt_read(rp_salt *out, const char *path, rp_error *err)
{
    rp_buffer text = {0};
    char hex[SALT_TEXT];
    rp_status status = rp_file_read(path, SALT_FILE_LIMIT, &text, err);
    bool right = status == RP_OK && text.size >= SALT_TEXT - 1 && text.size <= SALT_TEXT &&
                 (text.size < SALT_TEXT || text.data[SALT_TEXT - 1] == '\n');

    if (right) {
        memcpy(hex, text.data, SALT_TEXT - 1);
        hex[SALT_TEXT - 1] = '\0';
        right = rp_unhex(out->bytes, sizeof out->bytes, hex);
    }
    rp_buffer_free(&text);
    if (status == RP_OK && !right)
        status =
            rp_fail(err, RP_EDATA, "%s: expected a salt: one line of %d lowercase hex digits", path, SALT_TEXT - 1);
    return status;
}

rp_status rp_salt_open(rp_salt *out, const char *folder, rp_error *err)
{
    char path[PATH_ROOM], text[SALT_TEXT + 1];
    rp_status status = path_in(path, folder, SALT_FILE, err);

    if (status != RP_OK || rp_file_exists(path))
        return status != RP_OK ? status : salt_read(out, path, err);
    status = make_folder(folder, err);
    if (status == RP_OK && RAND_bytes(out->bytes, sizeof out->bytes) != 1)
        status = rp_fail(err, RP_EIO, "%s: the system gives no random bytes for a salt", folder);
    if (status != RP_OK)
        return status;
    rp_hex(text, out->bytes, sizeof out->bytes);
    text[SALT_TEXT - 1] = '\n';
    return rp_file_save(path, text, SALT_TEXT, false, 0600, err);
}

/* A member's folders; names have components and no dots, so nothing leads out of folder. */
static rp_status make_parents(const char *path, size_t folder, rp_error *err)
{
    char parent[PATH_ROOM];
    rp_status status = RP_OK;

    (void)snprintf(parent, sizeof parent, "%s", path);
    for (char *at = parent + folder + 1; status == RP_OK && (at = strchr(at, '/')) != NULL; *at++ = '/') {
        *at = '\0';
        status = make_folder(parent, err);
    }
    return status;
}

/* *there: a file of these bytes is there already. One of other bytes is RP_EEXIST: an archive was made without it, and
 * only whoever owns the folder can know that none needs it any more. */
static rp_status compare_file(const char *path, const rp_member *member, bool *there, rp_error *err)
{
    rp_buffer found = {0};
    rp_digest digest;
    rp_status status;

    *there = false;
    if (!rp_file_exists(path))
        return RP_OK;
    status = rp_file_read(path, SIZE_MAX / 2, &found, err);
    if (status == RP_OK)
        status = rp_sha256(&digest, found.data, found.size, err);
    *there = status == RP_OK && found.size == member->size && rp_digest_equal(&digest, &member->digest);
    rp_buffer_free(&found);
    if (status == RP_OK && !*there)
        status = rp_fail(err, RP_EEXIST,
                         "%s: holds what another archive was made without, and is not replaced: choose another "
                         "folder",
                         path);
    return status;
}

rp_status rp_withheld_room(const char *folder, const rp_member *member, rp_error *err)
{
    char path[PATH_ROOM];
    bool there;
    rp_status status = path_in(path, folder, member->name, err);

    return status == RP_OK ? compare_file(path, member, &there, err) : status;
}

rp_status rp_withheld_save(rp_archive_writer *writer, const char *folder, rp_error *err)
{
    size_t count;
    const rp_member *member = rp_archive_writer_withheld(writer, &count);
    rp_status status = make_folder(folder, err);

    for (size_t i = 0; status == RP_OK && i < count; i++) {
        char path[PATH_ROOM];
        rp_buffer body = {0};
        bool there = false;

        status = path_in(path, folder, member[i].name, err);
        if (status == RP_OK)
            status = make_parents(path, strlen(folder), err);
        if (status == RP_OK)
            status = compare_file(path, &member[i], &there, err);
        if (status == RP_OK && !there)
            status = rp_archive_writer_read(writer, &member[i], &body, err);
        if (status == RP_OK && !there)
            status = rp_file_save(path, body.data, body.size, false, 0600, err);
        rp_buffer_free(&body);
    }
    return status;
}

/* The recipe's digest is no secret beside the data; without a file the scores are compared when they are made. */
rp_status rp_withheld_claimed(const char *folder, const rp_digest *recipe, rp_error *err)
{
    char path[PATH_ROOM], hex[RP_DIGEST_HEX];
    rp_buffer text = {0};
    rp_status status = path_in(path, folder, RECIPE_FILE, err);

    if (status != RP_OK || !rp_file_exists(path))
        return status;
    rp_digest_hex(hex, recipe);
    status = rp_file_read(path, SALT_FILE_LIMIT, &text, err);
    if (status == RP_OK && (text.size < RP_DIGEST_HEX - 1 || memcmp(text.data, hex, RP_DIGEST_HEX - 1) != 0))
        status = rp_fail(err, RP_EEXIST,
                         "%s: holds what the run of another recipe left out, its scores among it: choose another "
                         "folder",
                         folder);
    rp_buffer_free(&text);
    return status;
}

rp_status rp_withheld_claim(const char *folder, const rp_digest *recipe, rp_error *err)
{
    char path[PATH_ROOM], hex[RP_DIGEST_HEX + 1];
    rp_status status = path_in(path, folder, RECIPE_FILE, err);

    if (status != RP_OK || rp_file_exists(path))
        return status;
    rp_digest_hex(hex, recipe);
    hex[RP_DIGEST_HEX - 1] = '\n';
    return rp_file_save(path, hex, RP_DIGEST_HEX, false, 0600, err);
}

/* ---- disclosure ---- */

const rp_salt *rp_archive_salt(const rp_archive *archive)
{
    return archive->disclosed.salted ? &archive->disclosed.salt : NULL;
}

size_t rp_archive_withheld_count(const rp_archive *archive)
{
    return archive->manifest->n_withheld;
}

const char *rp_archive_withheld(const rp_archive *archive, size_t index)
{
    return index < archive->manifest->n_withheld ? archive->manifest->withheld[index].name : NULL;
}

/* Appends one file to what is disclosed; to is private until the caller commits it. */
static rp_status disclose_file(rp_disclosed *to, uint64_t archive_size, const rp_member *expected, const char *path,
                               rp_error *err)
{
    rp_buffer body = {0};
    rp_member member = *expected;
    rp_digest salted;
    char e[RP_DIGEST_HEX], f[RP_DIGEST_HEX];
    rp_status status = rp_file_read(path, SIZE_MAX / 2, &body, err);

    if (status == RP_OK)
        status = rp_sha256(&member.digest, body.data, body.size, err);
    if (status == RP_OK)
        status = rp_salted_member(&salted, &to->salt, member.name, &member.digest, err);
    if (status == RP_OK && !rp_digest_equal(&salted, &expected->digest)) {
        rp_digest_hex(e, &expected->digest);
        rp_digest_hex(f, &salted);
        status = rp_fail(err, RP_EHASH,
                         "%s: not the %s that was left out of this archive, or another salt: salted digest "
                         "recorded %s, found %s",
                         path, member.name, e, f);
    }
    if (status == RP_OK) {
        member.size = body.size;
        member.offset = archive_size + to->bytes.size;
        rp_buffer_append(&to->bytes, body.data, body.size);
        status = rp_buffer_status(&to->bytes, err);
    }
    if (status == RP_OK)
        to->member[to->members++] = member;
    rp_buffer_free(&body);
    return status;
}

void rp_disclosed_free(rp_disclosed *disclosed)
{
    rp_free(disclosed->member);
    rp_buffer_free(&disclosed->bytes);
    memset(disclosed, 0, sizeof *disclosed);
}

rp_status rp_archive_disclose(rp_archive *archive, const char *folder, rp_error *err)
{
    const rp_manifest *manifest = archive->manifest;
    rp_disclosed made = {.salted = true};
    char path[PATH_ROOM];
    rp_status status = path_in(path, folder, SALT_FILE, err);

    if (status == RP_OK && manifest->n_withheld == 0)
        return rp_fail(err, RP_EARG, "%s: nothing was left out of this archive", archive->where);
    if (status == RP_OK)
        status = salt_read(&made.salt, path, err);
    if (status == RP_OK) {
        made.member = rp_calloc(manifest->n_withheld, sizeof *made.member);
        status = made.member ? RP_OK : rp_no_memory(err);
    }
    for (size_t i = 0; status == RP_OK && i < manifest->n_withheld; i++) {
        status = path_in(path, folder, manifest->withheld[i].name, err);
        if (status == RP_OK && rp_file_exists(path))
            status = disclose_file(&made, archive->size, &manifest->withheld[i], path, err);
    }
    if (status == RP_OK && made.members == 0)
        status = rp_fail(err, RP_EARG, "%s: holds none of what was left out of this archive, for instance %s", folder,
                         manifest->withheld[0].name);
    if (status != RP_OK) {
        rp_disclosed_free(&made);
        return status;
    }
    rp_disclosed_free(&archive->disclosed);
    archive->disclosed = made;
    return RP_OK;
}

rp_status rp_withheld_missing(const rp_archive *archive, const char *name, rp_error *err)
{
    for (size_t i = 0; archive->manifest && i < archive->manifest->n_withheld; i++)
        if (strcmp(archive->manifest->withheld[i].name, name) == 0)
            return rp_fail(err, RP_EARG,
                           "%.100s: was left out of this archive: give --withheld DIR, the folder with it and "
                           "its salt",
                           name);
    return RP_OK;
}

/* All of what the run read must be there; predictions are made again. A recipe's run needs the table alone. */
rp_status rp_archive_inputs_present(const rp_archive *archive, rp_error *err)
{
    const rp_manifest *manifest = archive->manifest;
    rp_status status = RP_OK;

    for (size_t i = 0; status == RP_OK && i < manifest->n_withheld; i++) {
        const char *name = manifest->withheld[i].name;
        bool needed = (rp_member_kind_of(name)->needed & (1u << manifest->kind)) != 0;

        if (needed && !rp_archive_find(archive, name))
            status = rp_withheld_missing(archive, name, err);
    }
    return status;
}

static rp_status compare_salted(const rp_archive *archive, const rp_member *recorded, const rp_member *made,
                                rp_error *err)
{
    char e[RP_DIGEST_HEX], f[RP_DIGEST_HEX];
    rp_digest salted;
    rp_status status = rp_salted_member(&salted, rp_archive_salt(archive), made->name, &made->digest, err);

    if (status != RP_OK || rp_digest_equal(&recorded->digest, &salted))
        return status;
    rp_digest_hex(e, &recorded->digest);
    rp_digest_hex(f, &salted);
    return rp_fail(err, RP_EBITS, "%s: salted digest recorded %s, recomputed %s", made->name, e, f);
}

rp_status rp_withheld_compare_member(const rp_archive *archive, const rp_member *made, rp_error *err)
{
    const rp_manifest *manifest = archive->manifest;

    for (size_t i = 0; i < manifest->n_withheld; i++)
        if (strcmp(manifest->withheld[i].name, made->name) == 0)
            return compare_salted(archive, &manifest->withheld[i], made, err);
    return rp_fail(err, RP_EBITS, "%s: made by the replay, but not in the archive, nor left out of it", made->name);
}

rp_status rp_withheld_compare(const rp_archive *archive, const rp_archive_writer *writer, size_t *compared,
                              rp_error *err)
{
    const rp_manifest *manifest = archive->manifest;
    size_t count;
    const rp_member *made = rp_archive_writer_withheld(writer, &count);

    for (size_t i = 0; i < count || i < manifest->n_withheld; i++) {
        const rp_member *recorded = i < manifest->n_withheld ? &manifest->withheld[i] : NULL;
        const rp_member *found = i < count ? &made[i] : NULL;
        int order = !recorded ? 1 : !found ? -1 : rp_member_compare(recorded, found);
        rp_status status;

        if (order)
            return rp_fail(err, RP_EBITS, "%s: left out of %s only", order < 0 ? recorded->name : found->name,
                           order < 0 ? "the recorded run" : "the replay");
        status = compare_salted(archive, recorded, found, err);
        if (status != RP_OK)
            return status;
        ++*compared;
    }
    return RP_OK;
}
