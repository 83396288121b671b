/* SPDX-License-Identifier: Apache-2.0
 * What a report says of replays, decisions and policies: of what a trusted key has signed, in words; the rest is listed
 * with its type alone (report_verdict.c). */
#include <string.h>

#include "audit/report/report.h"
#include "rp/policy.h"
#include "rp/statement.h"

/* The policy's groups that the key is in, by their names. */
static void put_groups(rp_buffer *out, const rp_policy_result *policy, const char *key_id)
{
    size_t shown = 0;

    for (size_t i = 0; policy && i < policy->members; i++) {
        if (strcmp(policy->member[i].key_id, key_id) != 0)
            continue;
        rp_buffer_text(out, shown++ ? ", " : " (");
        rp_html_name(out, policy->member[i].group);
    }
    rp_buffer_text(out, shown ? ")" : "");
}

void rp_report_by(const rp_report_view *r, const rp_verified_statement *one)
{
    if (rp_period_repeated(r->verified, one))
        rp_buffer_text(r->out, ", <strong>a period that another statement names too</strong>");
    rp_buffer_text(r->out, "<br/><span class=\"soft\">");
    rp_html_text(r->out, one->time);
    rp_buffer_printf(r->out, " by key <span class=\"hash\">%.16s</span>", one->key_id);
    put_groups(r->out, r->verified ? r->verified->policy : NULL, one->key_id);
    rp_buffer_text(r->out, "</span>");
}

/* "7 of 15 steps" and how they were chosen. */
static void put_extent(rp_buffer *out, const rp_replay_scope *scope)
{
    if (scope->mode == RP_REPLAY_FULL) {
        rp_buffer_text(out, "all ");
        rp_html_count(out, scope->steps);
        rp_buffer_text(out, " steps and every member");
        return;
    }
    rp_html_count(out, scope->steps);
    rp_buffer_text(out, " of ");
    rp_html_count(out, scope->steps_total);
    rp_buffer_text(out, " steps (");
    rp_html_share(out, scope->steps, scope->steps_total);
    rp_buffer_text(out, scope->mode == RP_REPLAY_SAMPLE ? "), drawn by the seed " : "), chosen by the replayer");
    rp_html_name(out, scope->seed);
}

void rp_report_verdict_words(rp_buffer *out, const rp_verdict *v)
{
    rp_buffer_text(out, v->identical ? "Replay: every bit the same; " : "<strong>Replay: bits differ</strong>; ");
    put_extent(out, &v->scope);
    rp_buffer_text(out, ", kernels ");
    rp_html_text(out, *v->device ? v->device : v->level);
    rp_buffer_text(out, " on ");
    rp_html_text(out, v->cpu);
    if (!v->conforms)
        rp_buffer_text(out, "; kernels there do not conform");
    else if (!v->healthy)
        rp_buffer_text(out, "; libraries there are others than built against");
    if (*v->parent)
        rp_buffer_text(out, v->parent_checked ? "; the run it started from was replayed too"
                                              : "; the run it started from was <strong>not</strong> replayed");
    if (!v->identical) {
        rp_buffer_text(out, "<br/>");
        rp_html_text(out, v->difference);
    }
}

void rp_report_approval_words(rp_buffer *out, const rp_approval *a)
{
    static const char *const done[] = {"Approved", "<strong>Rejected</strong>", "Abstained"};

    rp_buffer_printf(out, "%s as ", done[a->decision]);
    rp_html_name(out, a->role);
    rp_buffer_text(out, ": ");
    rp_html_name(out, a->reason);
}

void rp_report_finding_words(rp_buffer *out, const rp_stated_finding *f)
{
    rp_buffer_text(out, f->closed ? "Finding settled: " : "<strong>Finding open</strong>: ");
    rp_html_name(out, f->id);
    rp_buffer_printf(out, ", %s, owner ", rp_severity_name(f->severity));
    rp_html_name(out, f->owner);
    if (*f->due)
        rp_buffer_printf(out, ", due %s", f->due);
    rp_buffer_text(out, ": ");
    rp_html_name(out, f->text);
}

/* What the task is first asked for. */
static const rp_json *main_figure(const rp_json *figures)
{
    const rp_json *d = rp_json_object_get(figures, "discrimination");

    return d ? rp_json_object_get(d, "auc")
             : rp_json_object_get(figures, rp_json_object_get(figures, "rmse") ? "r2" : "accuracy");
}

/* The first figure that the task has, with its interval. */
static void put_headline(rp_buffer *out, const rp_json *figures)
{
    const rp_json *d = rp_json_object_get(figures, "discrimination");

    rp_buffer_text(out, d                                     ? "area under the ROC curve "
                        : rp_json_object_get(figures, "rmse") ? "R\xC2\xB2 "
                                                              : "accuracy ");
    rp_html_real(out, main_figure(figures));
    if (d && rp_json_is_string(rp_json_object_get(d, "auc_low"))) {
        rp_buffer_text(out, " (95\xC2\xA0%: ");
        rp_html_real(out, rp_json_object_get(d, "auc_low"));
        rp_buffer_text(out, " to ");
        rp_html_real(out, rp_json_object_get(d, "auc_high"));
        rp_buffer_text(out, ")");
    }
}

static double largest(const rp_json *list)
{
    double most = 0, psi;

    for (size_t i = 0; i < rp_json_array_size(list); i++)
        if (rp_report_real(rp_json_object_get(rp_json_array_get(list, i), "psi"), &psi) && psi > most)
            most = psi;
    return most;
}

static void retraining_words(rp_buffer *out, const rp_stated_figures *f)
{
    const rp_json *figures = rp_json_object_get(f->predicate, "figures");

    rp_buffer_printf(out, "Held against archive <span class=\"hash\">%s</span> on ", f->predecessor);
    rp_html_count(out, f->rows);
    rp_buffer_text(out, f->test         ? " rows of the test part: "
                        : f->validation ? " rows of the validation part: "
                                        : " rows of a file: ");
    put_headline(out, rp_json_object_get(figures, "child"));
    rp_buffer_text(out, ", the parent ");
    rp_html_real(out, main_figure(rp_json_object_get(figures, "parent")));
}

/* What else may make figures of these rows better, or of others than the model is for. */
static void put_rows_words(rp_buffer *out, const rp_stated_figures *f)
{
    const rp_json *data = rp_json_object_get(f->predicate, "data");
    const int64_t hidden = rp_json_integer_value(rp_json_object_get(data, "hidden"));

    if (f->other > 0) {
        rp_buffer_text(out, ", <strong>");
        rp_html_count(out, (uint64_t)f->other);
        rp_buffer_text(out, f->number ? " more equal a row of the run&#39;s own table</strong>"
                                      : " more equal one that early stopping or a search chose the model by</strong>");
    }
    if (f->own > 0 && !f->test && !f->validation) {
        rp_buffer_text(out, ", <strong>");
        rp_html_count(out, (uint64_t)f->own);
        rp_buffer_text(out, " more equal a row of the run&#39;s own table</strong>");
    }
    if (f->called_missing > 0) {
        rp_buffer_text(out, ", <strong>");
        rp_html_count(out, (uint64_t)f->called_missing);
        rp_buffer_text(out, " more have an outcome that the recipe&#39;s <code>missing</code> calls missing</strong>");
    }
    if (hidden > 0) {
        rp_buffer_text(out, ", <strong>");
        rp_html_count(out, (uint64_t)hidden);
        rp_buffer_text(out, " lines that may be rows are read as none, by <code>data.comment</code>, "
                            "<code>data.skip_lines</code> or quotes</strong>");
    }
    if (!rp_json_is_true(rp_json_object_get(data, "unfiltered")))
        return;
    rp_buffer_text(out, " (the recipe&#39;s <code>where</code> was not applied to them");
    if (f->left_out >= 0) {
        rp_buffer_text(out, ": it leaves out ");
        rp_html_count(out, (uint64_t)f->left_out);
    }
    rp_buffer_text(out, ")");
}

void rp_report_figures_words(rp_buffer *out, const rp_stated_figures *f)
{
    if (*f->predecessor) {
        retraining_words(out, f);
        return;
    }
    rp_buffer_text(out, f->number ? "Monitoring " : f->test ? "Validation on the run&#39;s test part" : "Validation");
    if (f->number)
        rp_html_count(out, f->number);
    if (*f->period) {
        rp_buffer_text(out, ", ");
        rp_html_name(out, f->period);
    }
    rp_buffer_text(out, ": ");
    rp_html_count(out, f->rows);
    rp_buffer_text(out, " rows");
    if (!f->number && f->seen > 0) {
        rp_buffer_text(out, ", <strong>");
        rp_html_count(out, (uint64_t)f->seen);
        rp_buffer_printf(out, " of them equal%s a training row in every feature</strong>", f->seen == 1 ? "s" : "");
    } else if (!f->number && f->seen < 0) {
        rp_buffer_text(out, ", <strong>how many of them trained the model is not known</strong>");
    }
    put_rows_words(out, f);
    if (f->number) {
        rp_buffer_text(out, ", stability index of scores ");
        rp_html_number(out, largest(rp_json_object_get(f->predicate, "scores")));
        rp_buffer_text(out, ", largest of a feature ");
        rp_html_number(out, largest(rp_json_object_get(f->predicate, "columns")));
    }
    if (rp_json_is_object(rp_json_object_get(f->predicate, "figures"))) {
        rp_buffer_text(out, ", ");
        put_headline(out, rp_json_object_get(f->predicate, "figures"));
    }
}

/* Whether it speaks against the archive. */
static bool is_against(const rp_verification *v, size_t i)
{
    const rp_verified_statement *one = &v->statement[i];

    return (one->finding && !rp_finding_settled(v, i)) || (one->verdict && !one->verdict->identical) ||
           (one->approval && one->approval->decision == RP_REJECT);
}

void rp_report_objections(rp_report_view *r)
{
    enum { SHOWN_MAX = 8 };
    size_t shown = 0, all = 0;

    for (size_t i = 0; r->verified && i < r->verified->statements; i++) {
        const rp_verified_statement *one = &r->verified->statement[i];

        if (!is_against(r->verified, i) || all++ >= SHOWN_MAX)
            continue;
        if (shown++ == 0)
            rp_buffer_text(r->out, "<div class=\"verdict bad\"><strong>Trusted keys have spoken against this archive."
                                   "</strong>\n");
        rp_buffer_text(r->out, "<p>");
        if (one->verdict)
            rp_report_verdict_words(r->out, one->verdict);
        else if (one->approval)
            rp_report_approval_words(r->out, one->approval);
        else if (one->finding)
            rp_report_finding_words(r->out, one->finding);
        rp_report_by(r, one);
        rp_buffer_text(r->out, "</p>\n");
    }
    rp_html_note_first(r->out, shown, all, "of them; all are listed below");
    rp_buffer_text(r->out, shown ? "</div>\n" : "");
}

/* All that speak against the archive before all others: the order of members is that of hashes, which a signer can
 * choose. */
static size_t put_kind(const rp_report_view *r, rp_statement_kind kind)
{
    enum { ROWS_MAX = 16 };
    size_t shown = 0, all = 0;

    for (int fine = 0; fine < 2; fine++)
        for (size_t i = 0; r->verified && i < r->verified->statements; i++) {
            const rp_verified_statement *one = &r->verified->statement[i];

            if (one->kind != kind || is_against(r->verified, i) == (fine != 0) || all++ >= ROWS_MAX)
                continue;
            if (shown++)
                rp_buffer_text(r->out, "<br/>");
            if (one->verdict)
                rp_report_verdict_words(r->out, one->verdict);
            else if (one->approval)
                rp_report_approval_words(r->out, one->approval);
            else if (one->finding)
                rp_report_finding_words(r->out, one->finding);
            else if (one->kind == RP_STATEMENT_EXPLANATION)
                rp_report_explanation_words(r->out, one->figures);
            else if (one->figures)
                rp_report_figures_words(r->out, one->figures);
            if (one->finding && !one->finding->closed && fine != 0)
                rp_buffer_text(r->out, " (settled since)");
            rp_report_by(r, one);
        }
    rp_html_note_first(r->out, shown, all,
                       kind == RP_STATEMENT_FINDING ? "findings; all are listed below"
                       : kind == RP_STATEMENT_VALIDATION || kind == RP_STATEMENT_MONITORING ||
                               kind == RP_STATEMENT_EXPLANATION || kind == RP_STATEMENT_RETRAINING
                           ? "statements; all are listed below"
                       : kind == RP_STATEMENT_APPROVAL ? "decisions; all are listed below"
                                                       : "replays; all are listed below");
    return shown;
}

void rp_report_replay_row(rp_report_view *r)
{
    rp_html_row_open(r->out, "Replay");
    if (put_kind(r, RP_STATEMENT_VERDICT))
        rp_buffer_text(r->out, "<br/>As signed by trusted keys; not repeated for this report");
    else
        rp_buffer_text(r->out,
                       "Not done here; <code>reprise replay</code> computes the run again from the archive alone and "
                       "compares every bit");
    rp_html_row_close(r->out);
}

void rp_report_decision_row(rp_report_view *r)
{
    size_t before = r->out->size;

    rp_html_row_open(r->out, "Decisions");
    if (put_kind(r, RP_STATEMENT_APPROVAL) == 0) {
        r->out->size = before; /* no row */
        return;
    }
    rp_html_row_close(r->out);
}

void rp_report_finding_row(rp_report_view *r)
{
    size_t before = r->out->size;

    rp_html_row_open(r->out, "Findings");
    if (put_kind(r, RP_STATEMENT_FINDING) == 0) {
        r->out->size = before; /* no row */
        return;
    }
    rp_html_row_close(r->out);
}

void rp_report_figures_rows(rp_report_view *r)
{
    static const rp_statement_kind kinds[] = {RP_STATEMENT_VALIDATION, RP_STATEMENT_MONITORING,
                                              RP_STATEMENT_EXPLANATION, RP_STATEMENT_RETRAINING};
    static const char *const heads[] = {"Validated", "Monitored", "Explained", "Retrained"};

    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        size_t before = r->out->size;

        rp_html_row_open(r->out, heads[k]);
        if (put_kind(r, kinds[k]) == 0)
            r->out->size = before; /* no row */
        else
            rp_html_row_close(r->out);
    }
}

void rp_report_policy(rp_report_view *r)
{
    const rp_policy_result *policy = r->verified ? r->verified->policy : NULL;
    rp_buffer *out = r->out;

    if (!policy)
        return;
    rp_buffer_text(out, "<h3>Policy</h3>\n<p>");
    rp_html_name(out, policy->name);
    rp_buffer_printf(out, ", SHA-256 <span class=\"hash\">%s</span></p>\n", policy->digest);
    rp_html_table(out, "policy", NULL, "Clause|What it asks for, and what was found");
    for (size_t i = 0; i < policy->clauses; i++) {
        const rp_policy_clause *clause = &policy->clause[i];

        rp_buffer_printf(out, "<tr><td>%s<br/>%s</td><td>", clause->clause,
                         clause->met ? "met" : "<strong>not met</strong>");
        rp_html_long(out, clause->text);
        rp_buffer_text(out, "</td></tr>\n");
    }
    rp_buffer_text(out, "</tbody>\n</table>\n");
}
