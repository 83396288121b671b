/* SPDX-License-Identifier: Apache-2.0
 * Who signed what about an archive, for people and for programs. */
#include <stdio.h>
#include <string.h>

#include "cli/print.h"

/* Of a run that started from another's states. */
static const char *parent_words(const rp_verdict *v)
{
    return *v->parent == '\0' ? "" : v->parent_checked ? "; its parent replayed too" : "; its parent was not replayed";
}

/* Of a run that tried something before it. */
static const char *trials_words(char out[64], const rp_replay_scope *scope)
{
    *out = '\0';
    if (scope->trials_total)
        (void)snprintf(out, 64, "; %llu of its %llu trials", (unsigned long long)scope->trials,
                       (unsigned long long)scope->trials_total);
    return out;
}

/* Whose they were: a level of the processor's, or a device. */
static const char *kernels(const rp_verdict *v)
{
    return *v->device ? v->device : v->level;
}

/* What a verdict is about, and what it found. */
static void put_verdict_line(rp_session *session, const rp_verified_statement *one)
{
    const rp_verdict *v = one->verdict;
    const rp_replay_scope *scope = &v->scope;
    unsigned long long steps = scope->steps, total = scope->steps_total, segments = scope->segments,
                       all = scope->segments_total;
    char trials[64];

    if (!v->identical)
        rp_put_verdict(session, false, "differs", "replayed by key %s (%s) at %s: %s", one->key_id, one->key_type,
                       one->time, v->difference);
    else if (scope->mode == RP_REPLAY_FULL)
        rp_put_line(session, "replayed", "by key %s (%s) at %s: identical, all %llu steps, kernels %s%s%s%s",
                    one->key_id, one->key_type, one->time, total, kernels(v),
                    v->conforms ? "" : ", which do not conform there", parent_words(v), trials_words(trials, scope));
    else
        rp_put_line(
            session, "replayed",
            "by key %s (%s) at %s: identical, %llu of %llu segments (%llu of %llu steps) %s%s, kernels %s%s%s%s",
            one->key_id, one->key_type, one->time, segments, all, steps, total,
            scope->mode == RP_REPLAY_SAMPLE ? "drawn by seed " : "chosen by the replayer", scope->seed, kernels(v),
            v->conforms ? "" : ", which do not conform there", parent_words(v), trials_words(trials, scope));
}

static void put_approval_line(rp_session *session, const rp_verified_statement *one)
{
    static const char *const done[] = {"approved", "rejected", "abstained"};
    const rp_approval *a = one->approval;

    if (a->decision == RP_REJECT)
        rp_put_verdict(session, false, done[a->decision], "as %s by key %s (%s) at %s: %s", a->role, one->key_id,
                       one->key_type, one->time, a->reason);
    else
        rp_put_line(session, done[a->decision], "as %s by key %s (%s) at %s: %s", a->role, one->key_id, one->key_type,
                    one->time, a->reason);
}

static void put_finding_line(rp_session *session, const rp_verified_statement *one, bool settled)
{
    const rp_stated_finding *f = one->finding;

    if (f->closed)
        rp_put_line(session, "closed", "finding %s (%s): by key %s (%s) at %s: %s", f->id,
                    rp_severity_name(f->severity), one->key_id, one->key_type, one->time, f->text);
    else if (settled)
        rp_put_line(session, "settled", "finding %s (%s), since: by key %s (%s) at %s: %s", f->id,
                    rp_severity_name(f->severity), one->key_id, one->key_type, one->time, f->text);
    else
        rp_put_verdict(session, false, "finding", "%s, %s, owner %s%s%s: by key %s (%s) at %s: %s", f->id,
                       rp_severity_name(f->severity), f->owner, *f->due ? ", due " : "", f->due, one->key_id,
                       one->key_type, one->time, f->text);
}

enum { SEEN = 384 };

/* That rows trained the model flatters their figures; "" where none did. */
static const char *seen_words(char text[SEEN], const rp_stated_figures *f)
{
    int used = 0;

    if (f->seen < 0)
        return ", how many trained the model not known";
    text[0] = '\0';
    if (f->seen > 0)
        used = snprintf(text, SEEN, ", %lld of which trained the model", (long long)f->seen);
    if (f->other > 0)
        used +=
            snprintf(text + used, SEEN - (size_t)used, ", %lld of which the model was chosen by", (long long)f->other);
    if (f->own > 0 && !f->test && !f->validation)
        used +=
            snprintf(text + used, SEEN - (size_t)used, ", %lld of which are the run's own besides", (long long)f->own);
    if (f->called_missing > 0)
        used += snprintf(text + used, SEEN - (size_t)used, ", %lld more whose outcome the recipe calls missing",
                         (long long)f->called_missing);
    if (f->hidden > 0)
        (void)snprintf(text + used, SEEN - (size_t)used, ", %lld more passed over as no rows", (long long)f->hidden);
    return text;
}

static void put_figures_line(rp_session *session, const rp_verification *verified, const rp_verified_statement *one)
{
    const rp_stated_figures *f = one->figures;
    char seen[SEEN];

    if (*f->predecessor)
        rp_put_line(session, "retrained", "held against %s on %llu rows%s: by key %s (%s) at %s", f->predecessor,
                    (unsigned long long)f->rows,
                    f->test         ? " of the test part"
                    : f->validation ? " of the validation part"
                                    : "",
                    one->key_id, one->key_type, one->time);
    else if (f->number)
        rp_put_line(session, "monitored", "%llu rows%s%s, number %llu%s: by key %s (%s) at %s",
                    (unsigned long long)f->rows, *f->period ? ", " : "", f->period, (unsigned long long)f->number,
                    rp_period_repeated(verified, one) ? ", a period that another statement names too" : "", one->key_id,
                    one->key_type, one->time);
    else
        rp_put_line(session, one->kind == RP_STATEMENT_EXPLANATION ? "explained" : "validated",
                    "%llu rows%s%s: by key %s (%s) at %s", (unsigned long long)f->rows,
                    f->test ? " of the test part" : "", seen_words(seen, f), one->key_id, one->key_type, one->time);
}

static void put_others(rp_session *session, const rp_verification *verified)
{
    for (size_t i = 0; i < verified->others; i++)
        rp_put_line(session, "not counted", "%s: by key %s, which is not trusted here", verified->other[i].member,
                    verified->other[i].key_id);
}

void rp_put_signers(rp_session *session, const rp_verification *verified)
{
    static const char scheme[] = "https://";

    for (size_t i = 0; i < verified->statements; i++) {
        const rp_verified_statement *one = &verified->statement[i];
        bool long_form = strncmp(one->predicate_type, scheme, sizeof scheme - 1) == 0;

        if (one->verdict)
            put_verdict_line(session, one);
        else if (one->approval)
            put_approval_line(session, one);
        else if (one->finding)
            put_finding_line(session, one, rp_finding_settled(verified, i));
        else if (one->figures)
            put_figures_line(session, verified, one);
        else if (one->kind == RP_STATEMENT_ENDORSEMENT)
            rp_put_line(session, "endorsed", "by key %s (%s) at %s", one->key_id, one->key_type, one->time);
        else
            rp_put_line(session, "signed", "by key %s (%s), %s: %.200s%s%s%s", one->key_id, one->key_type, one->member,
                        one->predicate_type + (long_form ? sizeof scheme - 1 : 0), *one->device ? "; made on " : "",
                        one->device,
                        one->kind == RP_STATEMENT_PROVENANCE && !one->conforms
                            ? "; it does not say that its kernels conformed"
                            : "");
    }
    put_others(session, verified);
}

static void put_verdict_json(rp_buffer *out, const rp_verdict *v)
{
    static const char *const modes[] = {"full", "range", "sample"};
    const rp_replay_scope *scope = &v->scope;

    rp_put_open(out, "verdict", '{');
    rp_put_bool(out, "conforms", v->conforms);
    rp_put_text(out, "device", *v->device ? v->device : NULL);
    rp_put_text(out, "difference", v->identical ? NULL : v->difference);
    rp_put_integer(out, "first", scope->first);
    rp_put_bool(out, "healthy", v->healthy);
    rp_put_bool(out, "identical", v->identical);
    rp_put_text(out, "kind", v->kind);
    rp_put_integer(out, "last", scope->last);
    rp_put_text(out, "level", v->level);
    rp_put_text(out, "mode", modes[scope->mode]);
    if (*v->parent) {
        rp_put_open(out, "parent", '{');
        rp_put_text(out, "archive_id", v->parent);
        rp_put_bool(out, "checked", v->parent_checked);
        rp_put_close(out, '}');
    } else {
        rp_put_text(out, "parent", NULL);
    }
    rp_put_text(out, "seed", *scope->seed ? scope->seed : NULL);
    rp_put_scope_counts(out, scope);
    rp_put_close(out, '}');
}

static void put_statement_json(rp_buffer *out, const rp_verified_statement *one)
{
    static const char *const kinds[] = {"provenance", "endorsement", "verdict",    "approval", "finding", "validation",
                                        "monitoring", "explanation", "retraining", "bundle",   "other"};

    rp_put_open(out, NULL, '{');
    if (one->approval) {
        rp_put_open(out, "approval", '{');
        rp_put_text(out, "decision", rp_decision_name(one->approval->decision));
        rp_put_text(out, "reason", one->approval->reason);
        rp_put_text(out, "role", one->approval->role);
        rp_put_close(out, '}');
    }
    if (one->kind == RP_STATEMENT_PROVENANCE) {
        rp_put_bool(out, "conforms", one->conforms);
        rp_put_text(out, "device", *one->device ? one->device : NULL);
    }
    if (one->finding) {
        rp_put_open(out, "finding", '{');
        rp_put_text(out, "due", *one->finding->due ? one->finding->due : NULL);
        rp_put_text(out, "id", one->finding->id);
        rp_put_text(out, "owner", one->finding->owner);
        rp_put_text(out, "severity", rp_severity_name(one->finding->severity));
        rp_put_text(out, "state", one->finding->closed ? "closed" : "open");
        rp_put_text(out, "text", one->finding->text);
        rp_put_close(out, '}');
    }
    if (one->figures) {
        rp_put_open(out, "figures", '{');
        rp_put_text(out, "data", one->figures->data);
        rp_put_integer(out, "number", one->figures->number);
        if (*one->figures->predecessor)
            rp_put_text(out, "predecessor", one->figures->predecessor);
        rp_put_text(out, "period", *one->figures->period ? one->figures->period : NULL);
        rp_put_integer(out, "rows", one->figures->rows);
        rp_put_bool(out, "test", one->figures->test);
        rp_put_close(out, '}');
    }
    rp_put_text(out, "key_id", one->key_id);
    rp_put_text(out, "key_type", one->key_type);
    rp_put_text(out, "kind", kinds[one->kind]);
    rp_put_text(out, "member", one->member);
    rp_put_text(out, "predicate_type", one->predicate_type);
    rp_put_text(out, "time", *one->time ? one->time : NULL);
    if (one->verdict)
        put_verdict_json(out, one->verdict);
    rp_put_close(out, '}');
}

void rp_put_statements_json(rp_buffer *out, const char *key, const rp_verified_statement *list, size_t count)
{
    rp_put_open(out, key, '[');
    for (size_t i = 0; i < count; i++)
        put_statement_json(out, &list[i]);
    rp_put_close(out, ']');
}

void rp_put_policy_lines(rp_session *session, const rp_policy_result *policy)
{
    if (!policy)
        return;
    rp_put_line(session, "policy", "%.200s: %zu of %zu clauses met (SHA-256 %s)", policy->name,
                policy->clauses - policy->unmet, policy->clauses, policy->digest);
    for (size_t i = 0; i < policy->clauses; i++)
        rp_put_verdict(session, policy->clause[i].met, policy->clause[i].met ? "met" : "unmet", "%s: %s",
                       policy->clause[i].clause, policy->clause[i].text);
}

void rp_put_policy_json(rp_buffer *out, const char *key, const rp_policy_result *policy)
{
    if (!policy) {
        rp_put_text(out, key, NULL);
        return;
    }
    rp_put_open(out, key, '{');
    rp_put_open(out, "clauses", '[');
    for (size_t i = 0; i < policy->clauses; i++) {
        rp_put_open(out, NULL, '{');
        rp_put_text(out, "clause", policy->clause[i].clause);
        rp_put_bool(out, "met", policy->clause[i].met);
        rp_put_text(out, "text", policy->clause[i].text);
        rp_put_close(out, '}');
    }
    rp_put_close(out, ']');
    rp_put_text(out, "digest", policy->digest);
    rp_put_bool(out, "met", policy->unmet == 0);
    rp_put_text(out, "name", policy->name);
    rp_put_integer(out, "unmet", policy->unmet);
    rp_put_close(out, '}');
}

void rp_policy_verdict(rp_session *session, const char *path, const rp_policy_result *policy)
{
    if (!policy || policy->unmet == 0)
        return;
    session->exit = 4;
    rp_buffer_printf(&session->remark, "%s: %zu of %zu clauses of the policy %.200s are not met", path, policy->unmet,
                     policy->clauses, policy->name);
    rp_buffer_u8(&session->remark, 0);
}
