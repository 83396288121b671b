/* SPDX-License-Identifier: Apache-2.0
 * Clauses of a policy on the run itself: what kind it is, and where its first states came from. Who signed what is the
 * matter of the others (policy_clauses.c, policy_check.c). */
#include <string.h>

#include "audit/trust/policy_check.h"

/* Whether a verdict that counts for that clause on replays says that the parent was replayed too. */
static bool parent_replayed(rp_check *c, const rp_clause *replay)
{
    rp_check each;
    bool found = false;
    rp_error err;

    if (rp_evidence_open(&each, c->policy, replay, c->verified, &err) != RP_OK)
        c->found.failed = true;
    for (size_t i = 0; !c->found.failed && i < c->verified->statements; i++) {
        const rp_verdict *verdict = c->verified->statement[i].verdict;

        if (verdict == NULL || !verdict->identical || !rp_evidence_in_group(&each, i) ||
            rp_verdict_lacks(&each, i) != NULL)
            continue;
        rp_evidence_note_statement(c, i, verdict->parent_checked ? "replayed it too" : "did not replay it");
        found = found || verdict->parent_checked;
    }
    rp_evidence_close(&each);
    return found;
}

/* What a parent did is in the weights that the child started from: rows and answers that the child never saw. So it has
 * to be as well known as the child, by the word of those who may replay. */
void rp_check_parent_clause(rp_check *c, rp_buffer *text)
{
    const rp_verification *v = c->verified;
    const bool met = c->clause->parent == RP_PARENT_MET, checked = met || c->clause->parent == RP_PARENT_CHECKED;
    bool known = false;

    rp_buffer_text(text, c->clause->parent == RP_PARENT_NONE  ? "starts from no other run's states"
                         : c->clause->parent == RP_PARENT_ANY ? "may start from another run's states"
                                                              : "what it started from was replayed too, by whoever's "
                                                                "replay counts");
    rp_buffer_text(text, met ? ", and meets this policy itself" : "");
    if (*v->parent == '\0' && strcmp(v->kind, "api") == 0 && c->clause->parent == RP_PARENT_NONE) {
        c->refuted = true;
        rp_buffer_text(&c->found,
                       "it names no parent, but the first states of a C API run are taken as given: they may "
                       "be another run's (kind: recipe rules that out)");
        return;
    }
    if (*v->parent == '\0') {
        rp_buffer_text(&c->found, "it names no parent");
        return;
    }
    for (size_t i = 0; checked && i < c->policy->clauses; i++)
        if (c->policy->clause[i].kind == RP_CLAUSE_REPLAY)
            known = parent_replayed(c, &c->policy->clause[i]) || known;
    c->refuted = c->clause->parent == RP_PARENT_NONE || (checked && !known) || (met && !v->parent_met);
    rp_buffer_printf(&c->found, "%sit started from archive %s", c->found.size ? ", " : "", v->parent);
    if (checked && !known)
        rp_buffer_text(&c->found, ": whoever may replay does reprise replay ARCHIVE --parent PARENT --attest; a policy "
                                  "that takes unchecked parents says parent: any");
    if (met)
        rp_buffer_text(&c->found, v->parent_met     ? "; that archive meets this policy"
                                  : v->parent_given ? "; that archive does not meet this policy"
                                                    : "; that archive was not given: reprise verify ARCHIVE --policy "
                                                      "POLICY --parent PARENT, its own parents behind it");
}

/* A pinned run is repeated on one chip with one library alone: whoever cannot has only the word of those who can. */
void rp_check_profile(rp_check *c, rp_buffer *text)
{
    const bool pinned = strcmp(c->verified->profile, "pinned") == 0;

    rp_buffer_text(text,
                   c->clause->pinned ? "portable, or pinned to one host's library" : "portable: anyone can replay it");
    rp_buffer_text(&c->found, pinned ? "it is pinned" : "it is portable");
    if (pinned && !c->clause->pinned)
        rp_buffer_text(&c->found, " (profile: pinned in a policy takes such runs)");
    c->refuted = pinned && !c->clause->pinned;
}

void rp_check_run_kind(rp_check *c, rp_buffer *text)
{
    rp_buffer_printf(text, "a run of kind %s", c->clause->run_kind);
    rp_buffer_printf(&c->found, "it is of kind %s", *c->verified->kind ? c->verified->kind : "unknown");
    c->refuted = strcmp(c->verified->kind, c->clause->run_kind) != 0;
    if (c->refuted && strcmp(c->verified->kind, "api") == 0)
        rp_buffer_text(&c->found, ": what its programs compute, and what it calls a loss, is what its author wrote");
}

void rp_check_conformant(rp_check *c, rp_buffer *text)
{
    const rp_verification *v = c->verified;

    rp_buffer_text(text, "made with kernels that conform on the host that made it, by the word of its provenance");
    c->refuted = true;
    for (size_t i = 0; i < v->statements; i++) {
        if (v->statement[i].kind != RP_STATEMENT_PROVENANCE)
            continue;
        rp_evidence_note_statement(c, i, v->statement[i].conforms ? "says so" : "does not say so");
        c->refuted = !v->statement[i].conforms;
    }
    if (c->found.size == 0)
        rp_buffer_text(&c->found, "no provenance that counts");
}
