/* SPDX-License-Identifier: Apache-2.0
 * The kinds of statements (FORMAT.md 5): type, name and predicate of each. The name of a statement that was added later
 * is made of its kind, its key and its own bytes, so that statements of different people or times never meet under one
 * name and none can pass for another kind. */
#ifndef AUDIT_STATEMENTS_STATEMENT_H
#define AUDIT_STATEMENTS_STATEMENT_H

#include "audit/archive/archive.h"
#include "audit/sign/dsse.h"
#include "audit/sign/signed_json.h"
#include "rp/statement.h"

#define RP_VERDICT_TYPE "https://reprise.invalid/replay-verdict/v1"
#define RP_APPROVAL_TYPE "https://reprise.invalid/approval/v1"
#define RP_FINDING_TYPE "https://reprise.invalid/finding/v1"
#define RP_VALIDATION_TYPE "https://reprise.invalid/validation/v1"
#define RP_MONITORING_TYPE "https://reprise.invalid/monitoring/v1"
#define RP_EXPLANATION_TYPE "https://reprise.invalid/explanation/v1"
#define RP_RETRAINING_TYPE "https://reprise.invalid/retraining/v1"
#define RP_ENDORSEMENT_TYPE "https://reprise.invalid/endorsement/v1"

/* The type of a kind that can be added, or NULL. */
const char *rp_statement_type(rp_statement_kind kind);
/* The kind of a type; what nobody knows to be one: RP_STATEMENT_OTHER. */
rp_statement_kind rp_statement_kind_of(const char *type);
/* signatures/KIND-KKKKKKKKKKKKKKKK-CCCCCCCCCCCCCCCC.dsse.json: the first 16 digits of the key's id, and of the body's
 * SHA-256. kind: one that can be added. */
void rp_statement_member(char out[RP_MEMBER_NAME], rp_statement_kind kind, const char *key_id, const rp_digest *body);

/* What kind of statement was read from member, whose name must be that of its kind; its predicate, where the kind has a
 * form, is read into *out, all but member and keys. Errors: RP_ESIGN, RP_EHASH for bytes that the name was not made of.
 * Frees with rp_verified_statement_clear. */
rp_status rp_statement_classify(rp_verified_statement *out, const rp_statement *statement, const rp_member *member,
                                rp_error *err);
void rp_verified_statement_clear(rp_verified_statement *statement);

/* Signs a predicate about the archive at path and adds it, with the key's certificates. archive_id: what the archive
 * must be. member may be NULL. Errors: those of rp_archive_add_statement; RP_EHASH: another archive. */
rp_status rp_statement_add(const char *path, rp_statement_kind kind, const char *archive_id, const rp_key *key,
                           const rp_json *predicate, char member[RP_MEMBER_NAME], rp_error *err);
/* A finished writer: adds signatures/NAME.dsse.json, a signed in-toto statement about its archive. member: e.g.
 * RP_RUN_STATEMENT, which by an ECDSA key brings RP_OMS_BUNDLE with it. predicate is borrowed. */
rp_status rp_archive_writer_sign(rp_archive_writer *writer, const char *member, const rp_key *key,
                                 const char *predicate_type, const rp_json *predicate, rp_error *err);

/* Predicates. The JSON is a new reference. host: as rp_host_describe tells it, healthy too. */
rp_status rp_verdict_write(rp_json **out, const rp_replay_outcome *outcome, const rp_json *host, bool healthy,
                           rp_error *err);
rp_status rp_verdict_read(rp_verdict *out, const rp_json *predicate, const char *where, rp_error *err);
/* What a run's provenance says of the kernels that made it. */
bool rp_provenance_conforms(const rp_json *predicate);
/* And of what computed, where that was not the processor; "": it was. "unknown": there is a device without a name. */
void rp_provenance_device(const rp_json *predicate, char *out, size_t size);
/* Whether kernels of that name exist: ref, sse2, avx2, avx512, neon. */
bool rp_level_known(const char *level);
rp_status rp_approval_write(rp_json **out, const rp_approval *approval, int64_t now, rp_error *err);
rp_status rp_finding_write(rp_json **out, const rp_stated_finding *finding, int64_t now, rp_error *err);
rp_status rp_finding_read(rp_stated_finding *out, const rp_json *predicate, const char *where, rp_error *err);
/* A chain of monitorings has at most so many. */
enum { RP_PERIODS_MAX = 1 << 30 };
/* Of a validation, a monitoring, an explanation or a retraining; shares the predicate. Clears with rp_figures_clear. */
rp_status rp_figures_read(rp_stated_figures *out, rp_json *predicate, rp_statement_kind kind, const char *where,
                          rp_error *err);
void rp_figures_clear(rp_stated_figures *figures); /* NULL is fine; frees what it holds, and it */
rp_status rp_approval_read(rp_approval *out, const rp_json *predicate, const char *where, rp_error *err);

#endif
