/* SPDX-License-Identifier: Apache-2.0
 * Giving back to an open archive what was left out of it (FORMAT.md 13). */
#include <string.h>

#include "audit/archive/archive_private.h"
#include "base/handle.h"
#include "base/memory.h"

/* Appends one file to what is disclosed; to is private until the caller commits it. */
static rp_status disclose_file(rp_disclosed *to, uint64_t archive_size, const rp_member *expected, const char *path,
                               rp_error *err)
{
    rp_member member = *expected;
    rp_digest salted;
    char e[RP_DIGEST_HEX], f[RP_DIGEST_HEX];
    rp_status status = rp_file_digest(path, &member.digest, &member.size, err);

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
    if (status != RP_OK)
        return status;
    member.offset = archive_size + to->size;
    to->size += member.size;
    to->member[to->members++] = member;
    return RP_OK;
}

rp_status rp_archive_disclose(rp_archive *archive, const char *folder, rp_error *err)
{
    if (!archive)
        return rp_no_handle(err, __func__, "archive");

    const rp_manifest *manifest = archive->manifest;
    rp_disclosed made = {.salted = true};
    rp_status status;

    if (manifest->n_withheld == 0)
        return rp_fail(err, RP_EARG, "%s: nothing was left out of this archive", archive->where);
    status = rp_salt_read(&made.salt, folder, err);
    if (status == RP_OK) {
        made.member = rp_calloc(manifest->n_withheld, sizeof *made.member);
        made.folder = rp_strdup(folder);
        status = made.member && made.folder ? RP_OK : rp_no_memory(err);
    }
    for (size_t i = 0; status == RP_OK && i < manifest->n_withheld; i++) {
        char *path = rp_path_in(folder, manifest->withheld[i].name);

        status = path != NULL ? RP_OK : rp_no_memory(err);
        if (status == RP_OK && rp_file_exists(path))
            status = disclose_file(&made, archive->size, &manifest->withheld[i], path, err);
        rp_free(path);
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
