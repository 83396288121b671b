/* SPDX-License-Identifier: Apache-2.0
 * manifest.json: what recipe, data and contract determine, and every member's path, size and SHA-256. Its own SHA-256
 * is the archive id, so it holds nothing of host, time or signer. */
#ifndef AUDIT_ARCHIVE_MANIFEST_H
#define AUDIT_ARCHIVE_MANIFEST_H

#include "audit/archive/member.h"
#include "base/json.h"

enum { RP_MANIFEST_LIMIT = 16 << 20, RP_MEMBER_LIMIT = 1 << 16, RP_SIGNATURE_LIMIT = 1 << 12 };
/* Of all statements together: whoever reads an archive parses each, whoever signed it. */
enum { RP_STATEMENTS_LIMIT = 8 << 20 };

typedef struct rp_manifest {
    rp_run_kind kind;
    bool pinned;       /* the profile: run has the object pinned, which was checked */
    rp_json *run;      /* object, opaque here: steps, journal_root, ... */
    rp_member *member; /* in archive order; offset is not set */
    size_t members;
    rp_member *withheld; /* what was left out, in archive order: name and salted digest alone */
    size_t n_withheld;
} rp_manifest;

/* As the manifest says it. */
const char *rp_run_kind_name(rp_run_kind kind);
/* Appends the canonical JSON; the profile is pinned where run has an object pinned. members, and withheld with salted
 * digests, must be in archive order. Errors: RP_EARG, RP_ENOMEM. */
rp_status rp_manifest_write(rp_buffer *out, rp_run_kind kind, const rp_json *run, const rp_member *member,
                            size_t members, const rp_member *withheld, size_t n_withheld, rp_error *err);
/* Strict: canonical bytes, known keys only, members in archive order without doubles. Errors: RP_EFORMAT;
 * RP_EUNSUPPORTED for a newer format or contract (both versions named) or another profile. */
rp_status rp_manifest_parse(rp_manifest **out, const void *bytes, size_t size, rp_error *err);
void rp_manifest_free(rp_manifest *manifest);

/* That a recipe is one of the run's kind (FORMAT.md 6, step 3). NULL, one that was left out, is. Errors: RP_EFORMAT. */
rp_status rp_run_kind_check(rp_run_kind kind, const rp_json *recipe, rp_error *err);

#endif
