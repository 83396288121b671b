/* SPDX-License-Identifier: Apache-2.0
 * Who signed what, when and as whom, for one clause of a policy. Where it is in doubt whether two signers are one
 * person or which of two decisions is the later one, the answer is the one by which less is met. */
#include "audit/trust/policy_check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "audit/sign/utc_time.h"
#include "base/memory.h"
#include "base/text.h"

enum { NOTES = 40 };

/* ---- standings ---- */

/* A statement's name, and its place among the statements and then the others. */
typedef struct place {
    const char *member;
    size_t at;
} place;

static int by_member(const void *a, const void *b)
{
    return strcmp(((const place *)a)->member, ((const place *)b)->member);
}

/* One pass over the standings: with thousands of statements, which anyone may have put in, a search for each would take
 * minutes. */
static void place_standings(rp_check *c, place *list, size_t n)
{
    const rp_verification *v = c->verified;

    for (size_t i = 0; i < n; i++)
        list[i] = (place){i < v->statements ? v->statement[i].member : v->other[i - v->statements].member, i};
    qsort(list, n, sizeof *list, by_member);
    for (size_t k = 0; k < v->standings; k++) {
        const place wanted = {v->standing[k].statement, 0};
        const place *found = strcmp(v->standing[k].clause, c->clause->name) == 0
                                 ? bsearch(&wanted, list, n, sizeof *list, by_member)
                                 : NULL;

        if (found != NULL)
            c->standing[found->at] = &v->standing[k];
    }
}

rp_status rp_evidence_open(rp_check *out, const rp_policy *policy, const rp_clause *clause,
                           const rp_verification *verified, rp_error *err)
{
    const rp_verification *v = verified;
    const size_t n = v->statements + v->others;
    place *list = NULL;

    *out = (rp_check){.policy = policy, .clause = clause, .group = &policy->group[clause->group], .verified = v};
    out->standing = rp_calloc(n, sizeof *out->standing);
    if (out->standing == NULL)
        return rp_no_memory(err);
    if (n == 0 || strcmp(v->judged_by, policy->digest) != 0)
        return RP_OK;
    if ((list = rp_reallocarray(NULL, n, sizeof *list)) == NULL)
        return rp_no_memory(err);
    place_standings(out, list, n);
    rp_free(list);
    return RP_OK;
}

void rp_evidence_close(rp_check *check)
{
    rp_free(check->standing);
    rp_buffer_free(&check->found);
}

/* ---- who ---- */

bool rp_evidence_has_key(const rp_check *c, const char *key_id)
{
    for (size_t i = 0; i < c->group->keys; i++)
        if (strcmp(c->group->id[i], key_id) == 0)
            return true;
    return false;
}

bool rp_evidence_in_group(const rp_check *c, size_t i)
{
    if (c->group->kind == RP_GROUP_KEYS)
        return rp_evidence_has_key(c, c->verified->statement[i].key_id);
    return c->standing[i] != NULL && c->standing[i]->certified;
}

/* Of certificates the subject, without the difference of capitals, which none is in names of people. */
static bool same_subject(const char *a, const char *b)
{
    for (; *a && *b; a++, b++) {
        char x = *a >= 'A' && *a <= 'Z' ? (char)(*a + 32) : *a, y = *b >= 'A' && *b <= 'Z' ? (char)(*b + 32) : *b;

        if (x != y)
            return false;
    }
    return *a == *b;
}

/* The key that began the line of hand-overs which the verifier was given. */
static const char *first_key(const rp_verification *v, const char *key_id)
{
    for (size_t step = 0; step < 64; step++) {
        const char *before = NULL;

        for (size_t i = 0; i < v->certificates && before == NULL; i++)
            if (*v->certificate[i].predecessor != '\0' && strcmp(v->certificate[i].key_id, key_id) == 0)
                before = v->certificate[i].predecessor;
        if (before == NULL)
            break;
        key_id = before;
    }
    return key_id;
}

static bool same_person(const rp_verification *v, const char *key, const char *subject, const char *other_key,
                        const char *other_subject)
{
    return strcmp(first_key(v, key), first_key(v, other_key)) == 0 ||
           (subject != NULL && other_subject != NULL && same_subject(subject, other_subject));
}

static const char *subject_of(const rp_check *c, size_t i)
{
    return c->group->kind == RP_GROUP_CERTIFIED && c->standing[i] != NULL ? c->standing[i]->subject : NULL;
}

bool rp_evidence_same_signer(const rp_check *c, size_t i, size_t j)
{
    return same_person(c->verified, c->verified->statement[i].key_id, NULL, c->verified->statement[j].key_id, NULL);
}

static bool signed_by(const rp_check *c, const rp_verified_statement *one, size_t i)
{
    const rp_verification *v = c->verified;
    const char *subject = subject_of(c, i), *key_id = v->statement[i].key_id;

    if (same_person(v, key_id, NULL, one->key_id, NULL))
        return true;
    for (size_t k = 0; k < v->standings; k++)
        if (strcmp(v->standing[k].statement, one->member) == 0 &&
            same_person(v, key_id, subject, one->key_id, v->standing[k].subject))
            return true;
    for (size_t k = 0; k < v->certificates; k++)
        if (!v->certificate[k].rotation && strcmp(v->certificate[k].statement, one->member) == 0 &&
            same_person(v, key_id, subject, one->key_id, v->certificate[k].subject))
            return true;
    return false;
}

/* Who made it is whoever signed the provenance, counted or not. Where none counts, because who made the run has left it
 * out or has put another's in its place, it may be anyone: nobody is independent then. */
const char *rp_evidence_made_run(const rp_check *c, size_t i)
{
    const rp_verification *v = c->verified;
    bool known = false;

    for (size_t k = 0; k < v->statements + v->others; k++) {
        const rp_verified_statement *one = k < v->statements ? &v->statement[k] : &v->other[k - v->statements];

        if (one->kind != RP_STATEMENT_PROVENANCE)
            continue;
        known = known || k < v->statements;
        if (signed_by(c, one, i))
            return "made the run itself";
    }
    return known ? NULL : "may have made the run itself: there is no provenance of it that counts";
}

/* ---- when ---- */

const char *rp_evidence_date_lacks(rp_check *c, size_t i)
{
    const rp_verified_standing *one = c->standing[i];
    const char *said = c->verified->statement[i].time;
    char bound[RP_MOMENT_TEXT];
    int64_t own;

    if (!c->clause->dated)
        return NULL;
    if (one == NULL || !one->dated) {
        const char *note = one && one->timestamp_note ? one->timestamp_note : "not looked at";

        (void)snprintf(c->why, sizeof c->why, "is not dated as asked: %.*s", rp_fits(note, 280), note);
        return c->why;
    }
    if (one->seconds > c->clause->not_after) {
        (void)snprintf(c->why, sizeof c->why, "is dated %s, after %s", one->time,
                       rp_moment_text(bound, c->clause->not_after));
        return c->why;
    }
    (void)rp_moment_text(bound, c->clause->not_before);
    if (one->seconds < c->clause->not_before) {
        (void)snprintf(c->why, sizeof c->why, "is dated %s, before %s", one->time, bound);
        return c->why;
    }
    /* anyone can have an old statement dated anew */
    if (rp_moment_parse(&own, said) && own < c->clause->not_before) {
        (void)snprintf(c->why, sizeof c->why, "is dated %s but says of itself %s, before %s", one->time, said, bound);
        return c->why;
    }
    return NULL;
}

static bool dated(const rp_check *c, size_t i)
{
    return c->standing[i] != NULL && c->standing[i]->dated;
}

/* What takes an approval away needs less than what takes a rejection away: anyone can have an old approval dated anew
 * or take a timestamp out of the archive, and neither may help. */
bool rp_evidence_to_come(const rp_check *c, size_t i)
{
    int64_t said;

    return rp_moment_parse(&said, c->verified->statement[i].time) && said > (int64_t)time(NULL) + 600;
}

bool rp_evidence_replaced(const rp_check *c, size_t i, size_t j)
{
    const rp_verified_statement *one = &c->verified->statement[i], *other = &c->verified->statement[j];
    bool clock = strcmp(other->time, one->time) > 0;
    bool relaxes = one->approval->decision == RP_REJECT, later;

    if (strcmp(other->approval->role, one->approval->role) != 0 ||
        other->approval->decision == one->approval->decision ||
        !same_person(c->verified, one->key_id, relaxes ? NULL : subject_of(c, i), other->key_id, subject_of(c, j)) ||
        (relaxes && rp_evidence_to_come(c, j)))
        return false;
    if (!c->clause->dated)
        return clock;
    later = dated(c, i) && dated(c, j) && c->standing[j]->seconds > c->standing[i]->seconds;
    return relaxes ? clock && later : clock || later || !dated(c, j);
}

/* ---- telling ---- */

void rp_evidence_describe_dates(const rp_check *c, rp_buffer *text)
{
    const rp_clause *clause = c->clause;
    char bound[RP_MOMENT_TEXT];

    if (!clause->dated)
        return;
    rp_buffer_printf(text, ", dated by one of %s", c->policy->group[clause->authorities].name);
    if (clause->not_before > 0)
        rp_buffer_printf(text, " not before %s", rp_moment_text(bound, clause->not_before));
    if (clause->not_after < INT64_MAX)
        rp_buffer_printf(text, " not after %s", rp_moment_text(bound, clause->not_after));
}

void rp_evidence_note(rp_check *c, const char *key_id, const rp_verified_standing *standing, const char *what)
{
    if (c->notes++ == NOTES)
        rp_buffer_text(&c->found, ", and more");
    if (c->notes > NOTES)
        return;
    rp_buffer_printf(&c->found, "%skey %.16s ", c->found.size ? ", " : "", key_id);
    if (c->group->kind == RP_GROUP_CERTIFIED && standing != NULL && standing->subject != NULL)
        rp_buffer_printf(&c->found, "(%s) ", standing->subject);
    rp_buffer_text(&c->found, what);
}

void rp_evidence_note_statement(rp_check *c, size_t i, const char *what)
{
    rp_evidence_note(c, c->verified->statement[i].key_id, c->standing[i], what);
}

static bool counts_already(const rp_check *c, const char *key_id, const char *subject)
{
    for (size_t k = 0; k < c->counted; k++)
        if (same_person(c->verified, c->who[k].key_id, c->who[k].subject, key_id, subject))
            return true;
    return c->counted == RP_POLICY_GROUP_KEYS;
}

void rp_evidence_count_key(rp_check *c, const char *key_id, const char *what)
{
    if (counts_already(c, key_id, NULL))
        return;
    c->who[c->counted++].key_id = key_id;
    rp_evidence_note(c, key_id, NULL, what);
}

void rp_evidence_count(rp_check *c, size_t i, const char *what)
{
    const rp_verified_standing *standing = c->standing[i];
    const char *key_id = c->verified->statement[i].key_id, *subject = subject_of(c, i);

    if (counts_already(c, key_id, subject)) {
        if (!counts_already(c, key_id, NULL))
            rp_evidence_note(c, key_id, standing, "has the subject of one who counts already");
        return;
    }
    c->who[c->counted].key_id = key_id;
    c->who[c->counted++].subject = subject;
    rp_evidence_note(c, key_id, standing, what);
    if (c->notes > NOTES || standing == NULL)
        return;
    if (c->clause->dated)
        rp_buffer_printf(&c->found, " (dated %s by %s%s%s)", standing->time, standing->authority,
                         standing->timestamp_note ? "; " : "",
                         standing->timestamp_note ? standing->timestamp_note : "");
    if (c->group->kind == RP_GROUP_CERTIFIED && standing->certificate_note != NULL)
        rp_buffer_printf(&c->found, " (%s)", standing->certificate_note);
}

static void note_outsider(rp_check *c, const char *key_id, const rp_verified_standing *standing)
{
    rp_buffer text = {0};

    rp_buffer_printf(&text, "does not count: %s",
                     standing != NULL && standing->certificate_note != NULL ? standing->certificate_note
                                                                            : "no certificate of it in the archive");
    rp_buffer_u8(&text, 0);
    if (text.failed)
        c->found.failed = true;
    else
        rp_evidence_note(c, key_id, standing, (const char *)text.data);
    rp_buffer_free(&text);
}

/* Why a statement by a key of the group counts for nothing. */
const char *rp_evidence_why_not(rp_check *c, const rp_verified_statement *one)
{
    const rp_verification *v = c->verified;

    for (size_t i = 0; i < v->certificates; i++)
        if (!v->certificate[i].accepted && strcmp(v->certificate[i].statement, one->member) == 0) {
            const char *note = v->certificate[i].note ? v->certificate[i].note : "";

            (void)snprintf(c->why, sizeof c->why, "does not count: %.*s", rp_fits(note, 280), note);
            return c->why;
        }
    return "is in the group but its public key was not given";
}

static bool denies(const rp_verified_statement *one)
{
    return (one->verdict != NULL && !one->verdict->identical) || (one->finding != NULL && !one->finding->closed) ||
           (one->approval != NULL && one->approval->decision == RP_REJECT);
}

/* Whether a rejection that does not count was taken back by a decision that does. */
static bool taken_back(const rp_check *c, const rp_verified_statement *one)
{
    const rp_verification *v = c->verified;

    for (size_t j = 0; c->clause->against == RP_AGAINST_SUPERSEDED && !c->clause->dated && j < v->statements; j++) {
        const rp_verified_statement *other = &v->statement[j];

        if (one->approval != NULL && other->approval != NULL && other->approval->decision != RP_REJECT &&
            strcmp(other->approval->role, one->approval->role) == 0 && strcmp(other->time, one->time) > 0 &&
            !rp_evidence_to_come(c, j) && same_person(v, one->key_id, NULL, other->key_id, NULL))
            return true;
    }
    return false;
}

/* Whoever says no need not be known as well as who says yes: else a clause would be met because a key was not given,
 * has handed over or its certificate has expired since. */
void rp_evidence_refuse(rp_check *c)
{
    const rp_verification *v = c->verified;

    for (size_t i = 0; c->clause->against != RP_AGAINST_IGNORED && i < v->statements + v->others; i++) {
        const rp_verified_statement *one = i < v->statements ? &v->statement[i] : &v->other[i - v->statements];
        const bool certified = c->group->kind == RP_GROUP_CERTIFIED;
        const bool once = certified
                              ? c->standing[i] != NULL && c->standing[i]->was_certified && !c->standing[i]->certified
                              : i >= v->statements && rp_evidence_has_key(c, one->key_id);

        if (!rp_clause_about(c->clause, one->kind) || !denies(one) || !once || taken_back(c, one))
            continue;
        c->refuted = true;
        rp_evidence_note(c, one->key_id, c->standing[i],
                         one->verdict != NULL   ? "found that bits differ"
                         : one->finding != NULL ? "has a finding, and nobody can tell whether it is settled"
                                                : "rejected");
    }
}

void rp_evidence_note_outsiders(rp_check *c)
{
    const rp_verification *v = c->verified;
    bool certified = c->group->kind == RP_GROUP_CERTIFIED;

    for (size_t i = 0; certified && c->counted < c->clause->count && i < v->statements; i++)
        if (rp_clause_about(c->clause, v->statement[i].kind) && !rp_evidence_in_group(c, i))
            note_outsider(c, v->statement[i].key_id, c->standing[i]);
    for (size_t i = 0; i < v->others; i++) {
        const char *key_id = v->other[i].key_id;

        if (!rp_clause_about(c->clause, v->other[i].kind))
            continue;
        if (certified && c->counted < c->clause->count)
            note_outsider(c, key_id, c->standing[v->statements + i]);
        else if (!certified && rp_evidence_has_key(c, key_id))
            rp_evidence_note(c, key_id, NULL, rp_evidence_why_not(c, &v->other[i]));
    }
}
