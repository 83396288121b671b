/* SPDX-License-Identifier: Apache-2.0
 * Inputs that are left out of an archive (FORMAT.md 13): the manifest binds them by salted digests, a folder beside the
 * archive keeps salt and files, and whoever is given that folder discloses them to an open archive again. */
#ifndef AUDIT_ARCHIVE_WITHHELD_H
#define AUDIT_ARCHIVE_WITHHELD_H

#include "audit/archive/archive.h"

enum { RP_SALT_SIZE = 32 };

typedef struct rp_salt {
    unsigned char bytes[RP_SALT_SIZE];
} rp_salt;

/* HMAC-SHA-256 under the salt: of a member's name and plain digest; of the digest of a step's feeds, in place. */
rp_status rp_salted_member(rp_digest *out, const rp_salt *salt, const char *name, const rp_digest *plain,
                           rp_error *err);
rp_status rp_salted_feeds(rp_digest *digest, const rp_salt *salt, rp_error *err);

/* The salt of a folder, made (with the folder, for the owner alone) when there is none. Errors: RP_EIO, RP_EDATA. */
rp_status rp_salt_open(rp_salt *out, const char *folder, rp_error *err);
/* One that is there. */
rp_status rp_salt_read(rp_salt *out, const char *folder, rp_error *err);
/* Makes the folder, for the owner alone, unless it is there. */
rp_status rp_withheld_folder(const char *path, rp_error *err);

/* All members that hold inputs, those added already too, go to the manifest's `withheld`, not into the archive. */
rp_status rp_archive_writer_withhold(rp_archive_writer *writer, const rp_salt *salt, rp_error *err);
/* After finish: what was left out, in archive order; digests are plain, the manifest has them salted. */
const rp_member *rp_archive_writer_withheld(const rp_archive_writer *writer, size_t *count);
/* After finish: the files, mode 0600, each at its member's path under folder. A file that is there already must have
 * the same bytes. */
rp_status rp_withheld_save(rp_archive_writer *writer, const char *folder, rp_error *err);

/* RP_EEXIST when folder holds other bytes under the member's name: asked before a long training, not after it. */
rp_status rp_withheld_room(const char *folder, const rp_member *member, rp_error *err);
/* Scores are known only when a run is over, but another recipe's differ: once all is saved the folder's file `recipe`
 * names the run/recipe.json, and a run of another is RP_EEXIST before its first step. */
rp_status rp_withheld_claimed(const char *folder, const rp_digest *recipe, rp_error *err);
rp_status rp_withheld_claim(const char *folder, const rp_digest *recipe, rp_error *err);

/* Of the folder that rp_archive_disclose was given; NULL: nothing was disclosed. */
const rp_salt *rp_archive_salt(const rp_archive *archive);
/* RP_EARG when an input that a replay needs was left out and not disclosed; the error says what to give. */
rp_status rp_archive_inputs_present(const rp_archive *archive, rp_error *err);
/* Whether a member that was made again is one that the archive was made without. Errors: RP_EBITS names it. */
rp_status rp_withheld_compare_member(const rp_archive *archive, const rp_member *made, rp_error *err);
/* Whether the writer, finished, withholds what the archive does. Errors: RP_EBITS names the member. */
rp_status rp_withheld_compare(const rp_archive *archive, const rp_archive_writer *writer, size_t *compared,
                              rp_error *err);

/* SHA-256 and size of a file, read in windows. Errors: RP_EIO, RP_ENOMEM. */
rp_status rp_file_digest(const char *path, rp_digest *digest, uint64_t *size, rp_error *err);

#endif
