/* SPDX-License-Identifier: Apache-2.0
 * Kinds of statements: which type goes by which name, and reading what each says. */
#include "audit/statements/statement.h"

#include <stdio.h>
#include <string.h>

#include "audit/archive/manifest.h"
#include "audit/sign/rotation.h"
#include "audit/statements/oms.h"
#include "base/memory.h"

/* Those that can be added later. */
static const struct {
    rp_statement_kind kind;
    const char *name, *type;
} later[] = {
    {RP_STATEMENT_ENDORSEMENT, "endorsement", RP_ENDORSEMENT_TYPE},
    {RP_STATEMENT_VERDICT, "verdict", RP_VERDICT_TYPE},
    {RP_STATEMENT_APPROVAL, "approval", RP_APPROVAL_TYPE},
    {RP_STATEMENT_FINDING, "finding", RP_FINDING_TYPE},
    {RP_STATEMENT_VALIDATION, "validation", RP_VALIDATION_TYPE},
    {RP_STATEMENT_MONITORING, "monitoring", RP_MONITORING_TYPE},
    {RP_STATEMENT_EXPLANATION, "explanation", RP_EXPLANATION_TYPE},
    {RP_STATEMENT_RETRAINING, "retraining", RP_RETRAINING_TYPE},
};
enum { LATER = sizeof later / sizeof *later };

const char *rp_statement_type(rp_statement_kind kind)
{
    for (size_t i = 0; i < LATER; i++)
        if (later[i].kind == kind)
            return later[i].type;
    return NULL;
}

void rp_statement_member(char out[RP_MEMBER_NAME], rp_statement_kind kind, const char *key_id, const rp_digest *body)
{
    char hex[RP_DIGEST_HEX];
    const char *name = "";

    for (size_t i = 0; i < LATER; i++)
        if (later[i].kind == kind)
            name = later[i].name;
    rp_digest_hex(hex, body);
    (void)snprintf(out, RP_MEMBER_NAME, RP_SIGNATURES "%s-%.16s-%.16s.dsse.json", name, key_id, hex);
}

/* Whether the name begins as those of a kind do: signatures/KIND-... */
static bool has_kind(const char *member, const char *kind)
{
    const char *name = member + strlen(RP_SIGNATURES);
    size_t length = strlen(kind);

    return strncmp(name, kind, length) == 0 && name[length] == '-';
}

/* Types that FORMAT.md defines for what is no such member: the bundle's, and hand-overs of keys. */
static bool defined_elsewhere(const char *type)
{
    return strcmp(type, RP_OMS_TYPE) == 0 || strcmp(type, RP_ROTATION_TYPE) == 0;
}

static rp_status check_name(const rp_statement *statement, rp_statement_kind kind, const rp_member *member,
                            rp_error *err)
{
    bool is_run = strcmp(member->name, RP_RUN_STATEMENT) == 0;
    char name[RP_MEMBER_NAME];

    if (is_run && kind != RP_STATEMENT_PROVENANCE)
        return rp_fail(err, RP_ESIGN, "%s: a statement of another type, expected the run's provenance (%s)",
                       member->name, RP_PROVENANCE_TYPE);
    if (!is_run && kind == RP_STATEMENT_PROVENANCE)
        return rp_fail(err, RP_ESIGN, "%s: the run's provenance, whose name is " RP_RUN_STATEMENT, member->name);
    for (size_t i = 0; i < LATER; i++)
        if (later[i].kind != kind && has_kind(member->name, later[i].name))
            return rp_fail(err, RP_ESIGN, "%s: a statement of another type than its name says (%s)", member->name,
                           later[i].type);
    if (kind == RP_STATEMENT_OTHER && defined_elsewhere(statement->predicate_type))
        return rp_fail(err, RP_ESIGN, "%s: a statement of the type %s, which no member of this name has", member->name,
                       statement->predicate_type);
    if (kind == RP_STATEMENT_PROVENANCE || kind == RP_STATEMENT_OTHER)
        return RP_OK;
    rp_statement_member(name, kind, statement->key_id, &member->digest);
    return strcmp(name, member->name) == 0
               ? RP_OK
               : rp_fail(err, RP_EHASH, "%s: its key and its bytes make the name %s: it was changed or renamed",
                         member->name, name);
}

rp_statement_kind rp_statement_kind_of(const char *type)
{
    if (strcmp(type, RP_PROVENANCE_TYPE) == 0)
        return RP_STATEMENT_PROVENANCE;
    for (size_t i = 0; i < LATER; i++)
        if (strcmp(type, later[i].type) == 0)
            return later[i].kind;
    return RP_STATEMENT_OTHER;
}

static rp_status read_predicate(rp_verified_statement *out, rp_json *predicate, const char *where, rp_error *err)
{
    rp_fields f;
    rp_status status = RP_OK;

    if (out->kind == RP_STATEMENT_VERDICT) {
        if ((out->verdict = rp_calloc(1, sizeof *out->verdict)) == NULL)
            return rp_no_memory(err);
        status = rp_verdict_read(out->verdict, predicate, where, err);
        memcpy(out->time, out->verdict->finished, sizeof out->time);
    } else if (out->kind == RP_STATEMENT_APPROVAL) {
        if ((out->approval = rp_calloc(1, sizeof *out->approval)) == NULL)
            return rp_no_memory(err);
        status = rp_approval_read(out->approval, predicate, where, err);
        memcpy(out->time, out->approval->time, sizeof out->time);
    } else if (out->kind == RP_STATEMENT_FINDING) {
        if ((out->finding = rp_calloc(1, sizeof *out->finding)) == NULL)
            return rp_no_memory(err);
        status = rp_finding_read(out->finding, predicate, where, err);
        memcpy(out->time, out->finding->time, sizeof out->time);
    } else if (out->kind == RP_STATEMENT_VALIDATION || out->kind == RP_STATEMENT_MONITORING ||
               out->kind == RP_STATEMENT_EXPLANATION || out->kind == RP_STATEMENT_RETRAINING) {
        if ((out->figures = rp_calloc(1, sizeof *out->figures)) == NULL)
            return rp_no_memory(err);
        status = rp_figures_read(out->figures, predicate, out->kind, where, err);
        memcpy(out->time, out->figures->time, sizeof out->time);
    } else if (out->kind == RP_STATEMENT_PROVENANCE) {
        out->conforms = rp_provenance_conforms(predicate);
        rp_provenance_device(predicate, out->device, sizeof out->device);
    } else if (out->kind == RP_STATEMENT_ENDORSEMENT) {
        f = rp_fields_begin(predicate, "predicate", where, err);
        rp_fields_time(&f, "time", out->time);
        status = rp_fields_end(&f);
    }
    return status;
}

rp_status rp_statement_classify(rp_verified_statement *out, const rp_statement *statement, const rp_member *member,
                                rp_error *err)
{
    rp_status status;

    memset(out, 0, sizeof *out);
    out->kind = rp_statement_kind_of(statement->predicate_type);
    status = check_name(statement, out->kind, member, err);
    if (status == RP_OK)
        status = read_predicate(out, rp_json_object_get(statement->payload, "predicate"), member->name, err);
    if (status == RP_OK && (out->predicate_type = rp_strdup(statement->predicate_type)) == NULL)
        status = rp_no_memory(err);
    if (status != RP_OK) {
        rp_verified_statement_clear(out);
        return status;
    }
    memcpy(out->member, member->name, sizeof out->member);
    memcpy(out->key_id, statement->key_id, sizeof out->key_id);
    out->key_type = statement->key ? rp_key_type(statement->key) : NULL;
    return RP_OK;
}

void rp_verified_statement_clear(rp_verified_statement *statement)
{
    rp_free(statement->predicate_type);
    rp_free(statement->verdict);
    rp_free(statement->approval);
    rp_free(statement->finding);
    rp_figures_clear(statement->figures);
    memset(statement, 0, sizeof *statement);
}
