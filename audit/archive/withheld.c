/* SPDX-License-Identifier: Apache-2.0
 * What a run leaves out of its archive (FORMAT.md 13): into a folder, and compared when it is made again. */
#include "audit/archive/withheld.h"

#include <string.h>

#include "audit/archive/archive_private.h"
#include "base/memory.h"

#define RECIPE_FILE "recipe"
enum { RECIPE_FILE_LIMIT = 4096, WINDOW = 1 << 16 };

/* A member's folders; names have components and no dots, so nothing leads out of folder. path is as it was afterwards.
 */
static rp_status make_parents(char *path, size_t folder, rp_error *err)
{
    rp_status status = RP_OK;

    for (char *at = path + folder + 1; status == RP_OK && (at = strchr(at, '/')) != NULL; *at++ = '/') {
        *at = '\0';
        status = rp_withheld_folder(path, err);
    }
    return status;
}

rp_status rp_file_digest(const char *path, rp_digest *digest, uint64_t *size, rp_error *err)
{
    unsigned char window[WINDOW];
    rp_sha256_stream *hash = NULL;
    rp_reader reader;
    rp_status status = rp_reader_file(&reader, path, err);

    if (status != RP_OK)
        return status;
    *size = reader.size;
    status = rp_sha256_stream_new(&hash, err);
    for (uint64_t at = 0; at < reader.size && status == RP_OK; at += WINDOW) {
        const size_t part = reader.size - at < WINDOW ? (size_t)(reader.size - at) : WINDOW;

        status = reader.read(reader.self, at, window, part, err);
        rp_sha256_stream_update(hash, window, status == RP_OK ? part : 0);
    }
    if (status == RP_OK)
        status = rp_sha256_stream_finish(hash, digest, err);
    rp_sha256_stream_free(hash);
    rp_reader_close(&reader);
    return status == RP_OK ? RP_OK : rp_fail_at(err, status, "%s", path);
}

/* *there: a file of these bytes is there already. One of other bytes is RP_EEXIST: an archive was made without it, and
 * only whoever owns the folder can know that none needs it any more. */
static rp_status compare_file(const char *path, const rp_member *member, bool *there, rp_error *err)
{
    rp_digest digest;
    uint64_t size;
    rp_status status;

    *there = false;
    if (!rp_file_exists(path))
        return RP_OK;
    status = rp_file_digest(path, &digest, &size, err);
    *there = status == RP_OK && size == member->size && rp_digest_equal(&digest, &member->digest);
    if (status == RP_OK && !*there)
        status = rp_fail(err, RP_EEXIST,
                         "%s: holds what another archive was made without, and is not replaced: choose another "
                         "folder",
                         path);
    return status;
}

rp_status rp_withheld_room(const char *folder, const rp_member *member, rp_error *err)
{
    char *path = rp_path_in(folder, member->name);
    bool there;
    rp_status status = path != NULL ? compare_file(path, member, &there, err) : rp_no_memory(err);

    rp_free(path);
    return status;
}

static rp_status write_file(rp_archive_writer *writer, const rp_member *member, const char *path, rp_error *err)
{
    rp_file_writer *file;
    rp_status status = rp_file_create(&file, path, false, 0600, err);

    if (status != RP_OK)
        return status;
    status = rp_archive_writer_body(writer, member, file, err);
    if (status == RP_OK)
        return rp_file_commit(file, err);
    rp_file_abort(file);
    return status;
}

static rp_status save_one(rp_archive_writer *writer, const char *folder, const rp_member *member, rp_error *err)
{
    char *path = rp_path_in(folder, member->name);
    bool there = false;
    rp_status status = path != NULL ? make_parents(path, strlen(folder), err) : rp_no_memory(err);

    if (status == RP_OK)
        status = compare_file(path, member, &there, err);
    if (status == RP_OK && !there)
        status = write_file(writer, member, path, err);
    rp_free(path);
    return status;
}

rp_status rp_withheld_save(rp_archive_writer *writer, const char *folder, rp_error *err)
{
    size_t count;
    const rp_member *member = rp_archive_writer_withheld(writer, &count);
    rp_status status = rp_withheld_folder(folder, err);

    for (size_t i = 0; status == RP_OK && i < count; i++)
        status = save_one(writer, folder, &member[i], err);
    return status;
}

/* The recipe's digest is no secret beside the data; without a file the scores are compared when they are made. */
static rp_status compare_recipe(const char *folder, const char *path, const rp_digest *recipe, rp_error *err)
{
    char hex[RP_DIGEST_HEX];
    rp_buffer text = {0};
    rp_status status = rp_file_read(path, RECIPE_FILE_LIMIT, &text, err);

    rp_digest_hex(hex, recipe);
    if (status == RP_OK && (text.size < RP_DIGEST_HEX - 1 || memcmp(text.data, hex, RP_DIGEST_HEX - 1) != 0))
        status = rp_fail(err, RP_EEXIST,
                         "%s: holds what the run of another recipe left out, its scores among it: choose another "
                         "folder",
                         folder);
    rp_buffer_free(&text);
    return status;
}

rp_status rp_withheld_claimed(const char *folder, const rp_digest *recipe, rp_error *err)
{
    char *path = rp_path_in(folder, RECIPE_FILE);
    rp_status status = path != NULL ? RP_OK : rp_no_memory(err);

    if (status == RP_OK && rp_file_exists(path))
        status = compare_recipe(folder, path, recipe, err);
    rp_free(path);
    return status;
}

rp_status rp_withheld_claim(const char *folder, const rp_digest *recipe, rp_error *err)
{
    char *path = rp_path_in(folder, RECIPE_FILE), hex[RP_DIGEST_HEX + 1];
    rp_status status = path != NULL ? RP_OK : rp_no_memory(err);

    if (status == RP_OK && !rp_file_exists(path)) {
        rp_digest_hex(hex, recipe);
        hex[RP_DIGEST_HEX - 1] = '\n';
        status = rp_file_save(path, hex, RP_DIGEST_HEX, false, 0600, err);
    }
    rp_free(path);
    return status;
}

/* ---- what a replay left out ---- */

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
    return rp_differs(err, -1, made->name, "salted digest", e, f);
}

rp_status rp_withheld_compare_member(const rp_archive *archive, const rp_member *made, rp_error *err)
{
    const rp_manifest *manifest = archive->manifest;

    for (size_t i = 0; i < manifest->n_withheld; i++)
        if (strcmp(manifest->withheld[i].name, made->name) == 0)
            return compare_salted(archive, &manifest->withheld[i], made, err);
    (void)rp_fail(err, RP_EBITS, "%s: made by the replay, but not in the archive, nor left out of it", made->name);
    return rp_note_difference(err, -1, made->name, NULL, NULL, "present");
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
