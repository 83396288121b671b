/* SPDX-License-Identifier: Apache-2.0
 * The kinds of statements (FORMAT.md 5): type, name and predicate of each. The name of a statement that was added later
 * is made of its kind, its key and its own bytes, so that statements of different people or times never meet under one
 * name and none can pass for another kind. */
#ifndef AUDIT_STATEMENTS_STATEMENT_H
#define AUDIT_STATEMENTS_STATEMENT_H

#include "audit/sign/dsse.h"
#include "audit/sign/signed_json.h"
#include "rp/statement.h"

#define RP_VERDICT_TYPE "https://reprise.invalid/replay-verdict/v1"
#define RP_APPROVAL_TYPE "https://reprise.invalid/approval/v1"
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

/* Predicates. The JSON is a new reference. */
rp_status rp_verdict_write(rp_json **out, const rp_replay_outcome *outcome, rp_error *err);
rp_status rp_verdict_read(rp_verdict *out, const rp_json *predicate, const char *where, rp_error *err);
rp_status rp_approval_write(rp_json **out, const rp_approval *approval, int64_t now, rp_error *err);
rp_status rp_approval_read(rp_approval *out, const rp_json *predicate, const char *where, rp_error *err);

#endif
