/* SPDX-License-Identifier: Apache-2.0
 * Holding what was verified against a policy: every clause is looked at, and one that is not met says what was found instead,
 * statement by statement. Only statements that a key of the clause's group has signed are looked at, each key once. */
#include <string.h>

#include "audit/policy.h"
#include "base/buffer.h"
#include "base/memory.h"

enum { NOTES = 40 };

/* One clause under check. */
typedef struct check {
    const rp_policy *policy;
    const rp_clause *clause;
    const rp_verification *verified;
    rp_buffer found;   /* what speaks against it, or for it; ", " in between */
    size_t notes;
    uint64_t counted;  /* different keys */
    uint64_t seen;     /* which of the group's: at most 64 */
    bool refuted;
} check;

/* Its place in the clause's group; RP_POLICY_GROUP_KEYS when it has none. */
static size_t place(const check *c, const char *key_id)
{
    const rp_group *group = &c->policy->group[c->clause->group];

    for (size_t i = 0; i < group->keys; i++)
        if (strcmp(group->id[i], key_id) == 0)
            return i;
    return RP_POLICY_GROUP_KEYS;
}

static bool in_group(const check *c, const char *key_id)
{
    return place(c, key_id) < RP_POLICY_GROUP_KEYS;
}

static const char *group_name(const check *c)
{
    return c->policy->group[c->clause->group].name;
}

/* What a key of the group did; of very many the first ones. */
static void note(check *c, const char *key_id, const char *what)
{
    if (c->notes++ == NOTES)
        rp_buffer_text(&c->found, ", and more");
    if (c->notes > NOTES)
        return;
    rp_buffer_printf(&c->found, "%skey %.16s %s", c->found.size ? ", " : "", key_id, what);
}

/* Each key once, however much it has signed. */
static void count(check *c, const char *key_id, const char *what)
{
    uint64_t bit = (uint64_t)1 << place(c, key_id); /* the key is in the group */

    if (c->seen & bit)
        return;
    c->seen |= bit;
    c->counted++;
    note(c, key_id, what);
}

/* The key of the provenance, counted or not; "" when there is none. */
static const char *builder_of(const rp_verification *v)
{
    for (size_t i = 0; i < v->statements; i++)
        if (v->statement[i].kind == RP_STATEMENT_PROVENANCE)
            return v->statement[i].key_id;
    for (size_t i = 0; i < v->others; i++)
        if (v->other[i].kind == RP_STATEMENT_PROVENANCE)
            return v->other[i].key_id;
    return "";
}

/* A key that the policy names by id alone, and nobody has given. */
static void note_unknown(check *c, rp_statement_kind kind)
{
    for (size_t i = 0; i < c->verified->others; i++)
        if (c->verified->other[i].kind == kind && in_group(c, c->verified->other[i].key_id))
            note(c, c->verified->other[i].key_id, "is in the group but its public key was not given");
}

/* ---- builder ---- */

static bool builds(const check *c, const rp_verified_statement *one)
{
    return one->kind == RP_STATEMENT_PROVENANCE || (c->clause->endorsement && one->kind == RP_STATEMENT_ENDORSEMENT);
}

static void check_builder(check *c, rp_buffer *text)
{
    const rp_verification *v = c->verified;

    rp_buffer_printf(text, "made by a key of %s%s", group_name(c), c->clause->endorsement ? ", or endorsed by one" : "");
    for (size_t i = 0; i < v->statements && c->counted == 0; i++) {
        if (!builds(c, &v->statement[i]))
            continue;
        c->counted += in_group(c, v->statement[i].key_id);
        note(c, v->statement[i].key_id, c->counted ? "signed" : "signed and is not of that group");
    }
    for (size_t i = 0; i < v->others && c->counted == 0; i++)
        if (builds(c, &v->other[i]))
            note(c, v->other[i].key_id, in_group(c, v->other[i].key_id) ? "is in the group but its public key was not given"
                                                                        : "signed and is not trusted");
    if (c->found.size == 0)
        rp_buffer_text(&c->found, c->clause->endorsement ? "nobody vouches for the archive" : "the archive has no provenance");
}

/* ---- replay ---- */

/* By segments, which are what a sample draws: one of them may be shorter than the others. */
static bool enough(const rp_replay_scope *scope, uint64_t share)
{
    __extension__ typedef unsigned __int128 wide; /* segments have up to 53 bits, the share 20 */

    return (wide)scope->segments * RP_SHARE_ONE >= (wide)share * scope->segments_total;
}

static bool level_fits(const rp_clause *clause, const char *level)
{
    for (size_t i = 0; i < clause->levels; i++)
        if (strcmp(clause->level[i], level) == 0)
            return true;
    return clause->levels == 0;
}

/* Why a verdict "identical" does not meet the clause, or NULL. A range is not a sample: whoever chose it could choose around
 * what was forged. */
static const char *verdict_lacks(const check *c, const rp_verified_statement *one)
{
    const rp_verdict *v = one->verdict;

    if (c->clause->independent && strcmp(one->key_id, builder_of(c->verified)) == 0)
        return "made the run itself";
    if (v->scope.mode != RP_REPLAY_FULL && c->clause->full)
        return "replayed only a part";
    if (v->scope.mode == RP_REPLAY_RANGE)
        return "replayed steps of its own choice";
    if (v->scope.mode == RP_REPLAY_SAMPLE && !enough(&v->scope, c->clause->share))
        return "replayed a smaller sample";
    if (v->scope.mode == RP_REPLAY_SAMPLE && *c->clause->seed && strcmp(c->clause->seed, v->scope.seed) != 0)
        return "drew the sample by another seed";
    if (!level_fits(c->clause, v->level))
        return "replayed with other kernels";
    return v->conforms ? NULL : "replayed with kernels that do not conform";
}

static const char *verdict_against(const check *c, const rp_verified_statement *one)
{
    return one->verdict->identical ? verdict_lacks(c, one) : "found that bits differ";
}

static void put_share(rp_buffer *text, uint64_t share)
{
    char digits[8];
    size_t length = 6;

    for (size_t i = 6; i-- > 0; share /= 10)
        digits[i] = (char)('0' + share % 10);
    while (length > 1 && digits[length - 1] == '0')
        length--;
    digits[length] = '\0';
    rp_buffer_printf(text, share ? "all" : "at least 0.%s", digits);
}

static void describe_replay(const check *c, rp_buffer *text)
{
    const rp_clause *clause = c->clause;

    if (clause->full)
        rp_buffer_text(text, "replayed in full");
    else {
        rp_buffer_text(text, "replayed in full or by a sample of ");
        put_share(text, clause->share);
        rp_buffer_text(text, " of the segments");
    }
    if (*clause->seed)
        rp_buffer_printf(text, " drawn by seed %s", clause->seed);
    rp_buffer_printf(text, " by %llu of %s", (unsigned long long)clause->count, group_name(c));
    for (size_t i = 0; i < clause->levels; i++)
        rp_buffer_printf(text, "%s%s", i ? " or " : " with kernels ", clause->level[i]);
    if (clause->independent)
        rp_buffer_text(text, ", not by who made the run");
}

static void check_replay(check *c, rp_buffer *text)
{
    const rp_verification *v = c->verified;

    describe_replay(c, text);
    for (size_t i = 0; i < v->statements; i++) {
        const rp_verified_statement *one = &v->statement[i];
        const char *against;

        if (one->kind != RP_STATEMENT_VERDICT || !in_group(c, one->key_id))
            continue;
        against = verdict_against(c, one);
        if (!one->verdict->identical && c->clause->against == RP_AGAINST_FAILS)
            c->refuted = true;
        if (against)
            note(c, one->key_id, against);
        else
            count(c, one->key_id, "found every bit the same");
    }
    note_unknown(c, RP_STATEMENT_VERDICT);
    if (c->found.size == 0)
        rp_buffer_text(&c->found, "no verdict by any of them");
}

/* ---- approvals ---- */

/* Whether the same key has later decided otherwise in the same role. Times of one second are equal: then a rejection stands. */
static bool decided_again(const check *c, const rp_verified_statement *one, bool to_reject)
{
    const rp_verification *v = c->verified;

    for (size_t i = 0; i < v->statements; i++) {
        const rp_verified_statement *later = &v->statement[i];

        if (later->kind != RP_STATEMENT_APPROVAL || strcmp(later->key_id, one->key_id) != 0 ||
            strcmp(later->approval->role, one->approval->role) != 0 || strcmp(later->time, one->time) <= 0)
            continue;
        if (later->approval->decision != one->approval->decision &&
            (later->approval->decision != RP_REJECT || to_reject))
            return true;
    }
    return false;
}

static const char *approval_lacks(const check *c, const rp_verified_statement *one)
{
    const rp_approval *a = one->approval;

    if (a->decision == RP_REJECT)
        return c->clause->against == RP_AGAINST_SUPERSEDED && decided_again(c, one, false) ? "had rejected before" : "rejected";
    if (*c->clause->role && strcmp(c->clause->role, a->role) != 0)
        return "decided in another role";
    if (a->decision == RP_ABSTAIN)
        return "abstained";
    if (c->clause->independent && strcmp(one->key_id, builder_of(c->verified)) == 0)
        return "made the run itself";
    return decided_again(c, one, c->clause->against != RP_AGAINST_IGNORED) ? "decided otherwise later" : NULL;
}

static bool rejects(const check *c, const rp_verified_statement *one)
{
    if (one->approval->decision != RP_REJECT || c->clause->against == RP_AGAINST_IGNORED)
        return false;
    return c->clause->against == RP_AGAINST_FAILS || !decided_again(c, one, false);
}

static void check_approvals(check *c, rp_buffer *text)
{
    const rp_verification *v = c->verified;

    rp_buffer_printf(text, "approved by %llu of %s", (unsigned long long)c->clause->count, group_name(c));
    if (*c->clause->role)
        rp_buffer_printf(text, " as %s", c->clause->role);
    if (c->clause->independent)
        rp_buffer_text(text, ", not by who made the run");
    for (size_t i = 0; i < v->statements; i++) {
        const rp_verified_statement *one = &v->statement[i];
        const char *lacks;

        if (one->kind != RP_STATEMENT_APPROVAL || !in_group(c, one->key_id))
            continue;
        lacks = approval_lacks(c, one);
        c->refuted = c->refuted || rejects(c, one);
        if (lacks)
            note(c, one->key_id, lacks);
        else
            count(c, one->key_id, "approved");
    }
    note_unknown(c, RP_STATEMENT_APPROVAL);
    if (c->found.size == 0)
        rp_buffer_text(&c->found, "no decision by any of them");
}

/* ---- log ---- */

static void check_log(check *c, rp_buffer *text)
{
    const rp_verification *v = c->verified;

    rp_buffer_printf(text, "in the log of %llu of %s", (unsigned long long)c->clause->count, group_name(c));
    for (size_t i = 0; i < v->proofs; i++)
        if (in_group(c, v->proof[i].key_id))
            count(c, v->proof[i].key_id, "has it logged");
    if (c->found.size == 0)
        rp_buffer_text(&c->found, v->proofs ? "no proof by any of them" : "no log's proof in the archive");
}

/* ---- all ---- */

static void (*const checks[RP_CLAUSE_KINDS])(check *c, rp_buffer *text) = {
    [RP_CLAUSE_BUILDER] = check_builder,
    [RP_CLAUSE_REPLAY] = check_replay,
    [RP_CLAUSE_APPROVALS] = check_approvals,
    [RP_CLAUSE_LOG] = check_log,
};

static rp_status check_clause(const rp_policy *policy, const rp_clause *clause, const rp_verification *verified,
                              rp_policy_clause *out, rp_error *err)
{
    check c = {.policy = policy, .clause = clause, .verified = verified};
    rp_buffer text = {0};

    checks[clause->kind](&c, &text);
    rp_buffer_text(&text, ": ");
    if (c.found.size)
        rp_buffer_append(&text, c.found.data, c.found.size);
    rp_buffer_u8(&text, 0);
    if (text.failed || c.found.failed) {
        rp_buffer_free(&text);
        rp_buffer_free(&c.found);
        return rp_no_memory(err);
    }
    rp_buffer_free(&c.found);
    memcpy(out->clause, clause->name, sizeof out->clause);
    out->met = !c.refuted && c.counted >= clause->count;
    out->text = (char *)text.data;
    return RP_OK;
}

rp_status rp_policy_check(const rp_policy *policy, const rp_verification *verified, rp_policy_result **out, rp_error *err)
{
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
        status = check_clause(policy, &policy->clause[i], verified, &made->clause[i], err);
        made->clauses++;
        made->unmet += !made->clause[i].met;
    }
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
    rp_free(result->name);
    rp_free(result);
}
