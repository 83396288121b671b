/* SPDX-License-Identifier: Apache-2.0
 * Holding what was verified against a policy: every clause is looked at, and one that is not met says what was found
 * instead, statement by statement. Only statements by signers of the clause's group are looked at, each signer once. */
#include "audit/trust/policy_check.h"

#include <string.h>

#include "base/handle.h"
#include "base/memory.h"

enum { MEMBERS_MAX = 256 };

/* ---- builder ---- */

/* Whoever signed but is not of the group: a list of keys has its own words for it. */
static void note_strangers(rp_check *c)
{
    const rp_verification *v = c->verified;

    if (c->group->kind == RP_GROUP_CERTIFIED) {
        rp_evidence_note_outsiders(c);
        return;
    }
    for (size_t i = 0; i < v->statements; i++)
        if (rp_clause_about(c->clause, v->statement[i].kind) && !rp_evidence_in_group(c, i))
            rp_evidence_note_statement(c, i, "signed and is not of that group");
    for (size_t i = 0; i < v->others; i++)
        if (rp_clause_about(c->clause, v->other[i].kind))
            rp_evidence_note(c, v->other[i].key_id, NULL,
                             rp_evidence_has_key(c, v->other[i].key_id) ? rp_evidence_why_not(c, &v->other[i])
                                                                        : "signed and is not trusted");
}

static void check_builder(rp_check *c, rp_buffer *text)
{
    const rp_verification *v = c->verified;

    rp_buffer_printf(text, "made by a key of %s%s", c->group->name,
                     c->clause->endorsement ? ", or endorsed by one" : "");
    rp_evidence_describe_dates(c, text);
    for (size_t i = 0; i < v->statements && c->counted == 0; i++) {
        const char *lacks;

        if (!rp_clause_about(c->clause, v->statement[i].kind) || !rp_evidence_in_group(c, i))
            continue;
        lacks = rp_evidence_date_lacks(c, i);
        if (lacks)
            rp_evidence_note_statement(c, i, lacks);
        else
            rp_evidence_count(c, i, "signed");
    }
    if (c->counted == 0)
        note_strangers(c);
    if (c->found.size == 0)
        rp_buffer_text(&c->found,
                       c->clause->endorsement ? "nobody vouches for the archive" : "the archive has no provenance");
}

/* ---- approvals ---- */

/* Whether the signer of a decision has later decided otherwise in the same role. Times of one second are equal: then a
 * rejection stands. */
static bool decided_again(const rp_check *c, size_t one, bool to_reject)
{
    const rp_verification *v = c->verified;

    for (size_t i = 0; i < v->statements; i++) {
        if (v->statement[i].kind != RP_STATEMENT_APPROVAL ||
            (v->statement[i].approval->decision == RP_REJECT && !to_reject))
            continue;
        if (rp_evidence_replaced(c, one, i))
            return true;
    }
    return false;
}

static const char *approval_lacks(rp_check *c, size_t i)
{
    const rp_approval *a = c->verified->statement[i].approval;
    const char *made = c->clause->independent ? rp_evidence_made_run(c, i) : NULL;

    if (a->decision == RP_REJECT)
        return c->clause->against == RP_AGAINST_SUPERSEDED && decided_again(c, i, false) ? "had rejected before"
                                                                                         : "rejected";
    if (*c->clause->role && strcmp(c->clause->role, a->role) != 0)
        return "decided in another role";
    if (a->decision == RP_ABSTAIN)
        return "abstained";
    if (made)
        return made;
    if (rp_evidence_to_come(c, i))
        return "says a time that has not come";
    if (decided_again(c, i, c->clause->against != RP_AGAINST_IGNORED))
        return c->clause->dated ? "decided otherwise later, or nobody can tell that it was before"
                                : "decided otherwise later";
    return rp_evidence_date_lacks(c, i);
}

static bool rejects(const rp_check *c, size_t i)
{
    if (c->verified->statement[i].approval->decision != RP_REJECT || c->clause->against == RP_AGAINST_IGNORED)
        return false;
    return c->clause->against == RP_AGAINST_FAILS || !decided_again(c, i, false);
}

static void check_approvals(rp_check *c, rp_buffer *text)
{
    const rp_verification *v = c->verified;

    rp_buffer_printf(text, "approved by %llu of %s", (unsigned long long)c->clause->count, c->group->name);
    if (*c->clause->role)
        rp_buffer_printf(text, " as %s", c->clause->role);
    if (c->clause->independent)
        rp_buffer_text(text, ", not by who made the run");
    rp_evidence_describe_dates(c, text);
    for (size_t i = 0; i < v->statements; i++) {
        const char *lacks;

        if (v->statement[i].kind != RP_STATEMENT_APPROVAL || !rp_evidence_in_group(c, i))
            continue;
        lacks = approval_lacks(c, i);
        c->refuted = c->refuted || rejects(c, i);
        if (lacks)
            rp_evidence_note_statement(c, i, lacks);
        else
            rp_evidence_count(c, i, "approved");
    }
    rp_evidence_refuse(c);
    rp_evidence_note_outsiders(c);
    if (c->found.size == 0)
        rp_buffer_text(&c->found, "no decision by any of them");
}

/* ---- log ---- */

static void check_log(rp_check *c, rp_buffer *text)
{
    const rp_verification *v = c->verified;

    rp_buffer_printf(text, "in the log of %llu of %s", (unsigned long long)c->clause->count, c->group->name);
    for (size_t i = 0; i < v->proofs; i++)
        if (rp_evidence_has_key(c, v->proof[i].key_id))
            rp_evidence_count_key(c, v->proof[i].key_id, "has it logged");
    if (c->found.size == 0)
        rp_buffer_text(&c->found, v->proofs ? "no proof by any of them" : "no log's proof in the archive");
}

/* ---- all ---- */

static void (*const checks[RP_CLAUSE_KINDS])(rp_check *c, rp_buffer *text) = {
    [RP_CLAUSE_FINDINGS] = rp_check_findings,
    [RP_CLAUSE_BUILDER] = check_builder,
    [RP_CLAUSE_REPLAY] = rp_check_replay,
    [RP_CLAUSE_APPROVALS] = check_approvals,
    [RP_CLAUSE_LOG] = check_log,
    [RP_CLAUSE_PARENT] = rp_check_parent_clause,
    [RP_CLAUSE_CONFORMANT] = rp_check_conformant,
    [RP_CLAUSE_PROFILE] = rp_check_profile,
    [RP_CLAUSE_LIBRARY] = rp_check_library,
    [RP_CLAUSE_EMULATED] = rp_check_emulated,
    [RP_CLAUSE_RUN_KIND] = rp_check_run_kind,
    [RP_CLAUSE_METRICS] = rp_check_metrics,
    [RP_CLAUSE_RECIPE] = rp_check_recipe,
    [RP_CLAUSE_COLUMNS] = rp_check_columns,
    [RP_CLAUSE_CARD] = rp_check_card,
    [RP_CLAUSE_VALIDATION] = rp_check_validation,
    [RP_CLAUSE_DRIFT] = rp_check_drift,
    [RP_CLAUSE_SLICES] = rp_check_slices,
    [RP_CLAUSE_SELECTION] = rp_check_selection,
    [RP_CLAUSE_FALL] = rp_check_fall,
    [RP_CLAUSE_VALID] = rp_check_valid,
    [RP_CLAUSE_TRIALS] = rp_check_trials,
};

static rp_status check_clause(const rp_policy *policy, const rp_clause *clause, const rp_verification *verified,
                              rp_policy_clause *out, rp_error *err)
{
    rp_check c;
    rp_buffer text = {0};
    rp_status status = rp_evidence_open(&c, policy, clause, verified, err);

    if (status == RP_OK) {
        checks[clause->kind](&c, &text);
        rp_buffer_text(&text, ": ");
        if (c.found.size)
            rp_buffer_append(&text, c.found.data, c.found.size);
        rp_buffer_u8(&text, 0);
        if (text.failed || c.found.failed)
            status = rp_no_memory(err);
    }
    if (status == RP_OK) {
        memcpy(out->clause, clause->name, sizeof out->clause);
        out->met = !c.refuted && c.counted >= clause->count;
        out->text = (char *)text.data;
    } else
        rp_buffer_free(&text);
    rp_evidence_close(&c);
    return status;
}

/* Whether a clause that nobody wrote has anything to say of this archive. */
static bool concerns(const rp_clause *clause, const rp_verification *verified)
{
    const rp_pinned_to *to = &verified->pinned;

    if (clause->kind == RP_CLAUSE_PROFILE)
        return strcmp(verified->profile, "pinned") == 0 || *to->line != '\0';
    return *verified->parent != '\0';
}

static bool named_already(const rp_policy_result *result, const char *key_id, const char *group)
{
    for (size_t i = 0; i < result->members; i++)
        if (strcmp(result->member[i].key_id, key_id) == 0 && strcmp(result->member[i].group, group) == 0)
            return true;
    return false;
}

static void name_member(rp_policy_result *result, const char *key_id, const rp_group *group)
{
    if (result->members == MEMBERS_MAX || named_already(result, key_id, group->name))
        return;
    memcpy(result->member[result->members].key_id, key_id, RP_DIGEST_HEX);
    memcpy(result->member[result->members++].group, group->name, sizeof group->name);
}

/* Who signed is told by the names that the policy has for them. */
static rp_status name_members(rp_policy_result *result, const rp_policy *policy, const rp_verification *v,
                              rp_error *err)
{
    result->member = rp_calloc(MEMBERS_MAX, sizeof *result->member);
    if (result->member == NULL)
        return rp_no_memory(err);
    for (size_t i = 0; i < v->statements; i++)
        for (size_t g = 0; g < policy->groups; g++)
            for (size_t k = 0; k < policy->group[g].keys; k++)
                if (strcmp(policy->group[g].id[k], v->statement[i].key_id) == 0)
                    name_member(result, v->statement[i].key_id, &policy->group[g]);
    for (size_t i = 0; i < v->standings; i++)
        for (size_t c = 0; v->standing[i].certified && c < policy->clauses; c++)
            if (strcmp(policy->clause[c].name, v->standing[i].clause) == 0)
                name_member(result, v->standing[i].key_id, &policy->group[policy->clause[c].group]);
    return RP_OK;
}

rp_status rp_policy_check(const rp_policy *policy, const rp_verification *verified, rp_policy_result **out,
                          rp_error *err)
{
    if (!policy) {
        *out = NULL;
        return rp_no_handle(err, __func__, "policy");
    }

    rp_policy_result *made = rp_calloc(1, sizeof *made);
    rp_status status = RP_OK;

    *out = NULL;
    if (made == NULL)
        return rp_no_memory(err);
    memcpy(made->digest, policy->digest, sizeof made->digest);
    made->name = rp_strdup(policy->name);
    made->clause = rp_calloc(policy->clauses, sizeof *made->clause);
    if (made->name == NULL || made->clause == NULL)
        status = rp_no_memory(err);
    for (size_t i = 0; i < policy->clauses && status == RP_OK; i++) {
        rp_policy_clause *one = &made->clause[made->clauses];

        if (policy->clause[i].implied && !concerns(&policy->clause[i], verified))
            continue;
        status = check_clause(policy, &policy->clause[i], verified, one, err);
        made->clauses++;
        made->unmet += !one->met;
    }
    if (status == RP_OK)
        status = name_members(made, policy, verified, err);
    if (status != RP_OK) {
        rp_policy_result_free(made);
        return status;
    }
    *out = made;
    return RP_OK;
}

void rp_policy_result_free(rp_policy_result *result)
{
    if (result == NULL)
        return;
    for (size_t i = 0; i < result->clauses; i++)
        rp_free(result->clause[i].text);
    rp_free(result->clause);
    rp_free(result->member);
    rp_free(result->name);
    rp_free(result);
}
