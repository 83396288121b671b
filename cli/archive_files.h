/* SPDX-License-Identifier: Apache-2.0
 * What commands load before they work: archives, trusted keys, members as text. */
#ifndef CLI_ARCHIVE_FILES_H
#define CLI_ARCHIVE_FILES_H

#include "base/json.h"
#include "cli/options.h"

typedef struct rp_trust {
    rp_key *key[RP_TEXT_LIST_MAX];
    size_t count;
} rp_trust;

rp_status rp_trust_load(rp_trust *out, const rp_text_list *paths, rp_error *err);
void rp_trust_free(rp_trust *trust);
/* Opens, and asks the second reader too. */
rp_status rp_archive_open_confirmed(rp_archive **archive, const char *path, rp_error *err);
/* Opens an archive; with trusted keys it is the verified one, from the same open file, and *verified is set. */
rp_status rp_archive_open_trusted(rp_archive **archive, rp_verification **verified, const char *path,
                                  const rp_text_list *trusted, rp_error *err);
/* The same held against a policy: whether it is met is in the verification. parents: as of rp_parents_verify. */
rp_status rp_archive_open_policy(rp_archive **archive, rp_verification **verified, const char *path,
                                 const rp_text_list *trusted, const char *policy_path, const rp_text_list *parents,
                                 rp_error *err);

#define RP_OPTION_PARENT(where) \
    { \
        0, "parent", RP_OPTION_TEXT, "PARENT", "the run started from this archive: check its id and its states", \
            where, false \
    }
#define RP_OPTION_PARENT_LINE(where) \
    { \
        0, "parent", RP_OPTION_LIST, "PARENT", \
            "the run started from this archive: check its id and its states; then its own parent's", where, false \
    }
#define RP_OPTION_PARENTS(where) \
    { \
        0, "parent", RP_OPTION_LIST, "PARENT", \
            "the run started from this archive: check it, and replay it too; then its own parent's", where, false \
    }

/* Where a run's first states came from, as far as it was looked at. */
typedef struct rp_lineage {
    const char *parent;       /* the archive that was given, or NULL */
    size_t replayed;          /* parents, their parents and so on that were replayed in full */
    bool whole;               /* the last of them started from nothing else: nothing is hidden behind it */
    char next[RP_DIGEST_HEX]; /* else the id of the one that was not given */
} rp_lineage;

/* Each archive of the list is the parent of the one before it, the first one child's, and replays in full. Errors:
 * those of opening and rp_check_parent; those of rp_replay, RP_EBITS among them, with the parent's name. */
rp_status rp_lineage_replay(rp_lineage *out, const rp_archive *child, const rp_text_list *parents,
                            const rp_job_options *options, rp_error *err);
/* Where the policy asks for it (parent: met): each archive of a line, the last first, is held against options' policy,
 * so that each knows whether its parent meets it; *out is the first one's, NULL where nothing is asked or was given.
 * Each is the parent of the one before it. */
rp_status rp_parents_verify(rp_verification **out, const rp_text_list *parents, const rp_trust *trust,
                            const rp_verify_options *options, rp_error *err);
/* Opens each archive of a line: the first is what child started from, and each the parent of the one before it. *out
 * [n] is closed by rp_parents_close, also on failure. Errors: those of opening; RP_EARG, RP_EHASH: it is not. */
rp_status rp_parents_open(rp_archive ***out, size_t *n, const rp_archive *child, const rp_text_list *paths,
                          rp_error *err);
void rp_parents_close(rp_archive **parents, size_t n); /* NULL is fine */
/* path NULL: nothing is checked. Errors: those of opening, and of rp_check_parent. */
rp_status rp_parent_check(const rp_archive *child, const char *path, rp_error *err);
/* "parent  ID, checked" where there is one, and what the runs before are pinned to; nothing else. In JSON null or
 * {"archive_id", "checked", "pinned_to", "replayed"}. */
void rp_parent_put_line(rp_session *session, const rp_archive *child, const rp_lineage *lineage);
void rp_parent_put_json(rp_session *session, const rp_archive *child, const rp_lineage *lineage);
/* What a pinned run is pinned to: "stand-in 130000 on Emulated (4 multiprocessors)", or ""; nothing for that. */
void rp_pinned_put_line(rp_session *session, const char *to);
/* "C API", or "PyTorch door (2.15.0)" where the run says that (rp_archive_door). Returns whether it does: whoever shows
 * the text says then whose word it is. */
enum { RP_DOOR_TEXT = 64 };
bool rp_door_text(const rp_archive *archive, char out[RP_DOOR_TEXT]);
/* That a run of the C API shows less than a recipe's; nothing for a recipe's. */
void rp_kind_put_line(rp_session *session, const rp_archive *archive);

/* What the archive's programs cost: lines, or with --json the member "programs" of an open object. Errors: those of
 * rp_program_list; RP_EUNSUPPORTED where nothing reads programs. */
rp_status rp_programs_put(rp_session *session, const rp_archive *archive, rp_error *err);

/* A job's metrics, for its summary: what was computed and written or signed by then stands without them too. NULL: they
 * cannot be had. */
rp_json *rp_metrics_of(const rp_job *job);

/* A whole member; *out is replaced. */
rp_status rp_member_load(const rp_archive *archive, const rp_member *member, rp_buffer *out, rp_error *err);
/* A JSON member; *out is NULL when the archive has no such member. */
rp_status rp_member_load_json(const rp_archive *archive, const char *name, rp_json **out, rp_error *err);
/* manifest.json without its lists (members, withheld), however long they are. */
rp_status rp_manifest_load_head(const rp_archive *archive, rp_json **out, rp_error *err);

#endif
