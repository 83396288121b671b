/* SPDX-License-Identifier: Apache-2.0
 * The clause on validations: somebody of the group has judged the model, on rows that the clause names, and every such
 * statement says that it is good enough. One that says otherwise is not outvoted by others. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "audit/sign/utc_time.h"
#include "audit/trust/figures/figure_text.h"
#include "base/text.h"
#include "determinism/decimal.h"

enum { DAY = 86400 };

void rp_put_bound(rp_buffer *out, double value)
{
    char digits[RP_DECIMAL_SIZE];

    (void)rp_print_f64(digits, value);
    rp_buffer_text(out, digits);
}

void rp_put_bounds(rp_buffer *out, const rp_model_bound *bound)
{
    if (bound->has_low) {
        rp_buffer_text(out, " at least ");
        rp_put_bound(out, bound->low);
    }
    if (bound->has_high) {
        rp_buffer_text(out, bound->has_low ? " and at most " : " at most ");
        rp_put_bound(out, bound->high);
    }
}

bool rp_within(const rp_model_bound *bound, const rp_json *value)
{
    double found;

    return rp_fact_number(value, &found) && found == found && (!bound->has_low || found >= bound->low) &&
           (!bound->has_high || found <= bound->high);
}

bool rp_beyond(const rp_model_bound *bound, const rp_json *value)
{
    double found;

    return rp_fact_number(value, &found) && found == found && !rp_within(bound, value);
}

void rp_settle_figures(rp_check *c, size_t i, const rp_finding_of_figures *found, rp_buffer *said)
{
    const bool refutes = found->unknown ? found->beyond : found->refutes;

    if (refutes && found->unknown)
        rp_buffer_printf(said, "; it %s", found->unknown);
    rp_buffer_u8(said, 0);
    c->found.failed = c->found.failed || said->failed;
    c->refuted = c->refuted || refutes;
    if (!said->failed && found->unknown && !refutes)
        rp_note_figures(c, i, found->unknown);
    else if (!said->failed && found->fine)
        rp_evidence_count(c, i, (const char *)said->data);
    else if (!said->failed)
        rp_note_figures(c, i, (const char *)said->data);
    rp_buffer_free(said);
}

void rp_note_figures(rp_check *c, size_t i, const char *what)
{
    const rp_stated_figures *f = c->verified->statement[i].figures;
    const char *scope = *f->period ? f->period : f->test ? "test part" : "no period";
    char text[400];

    (void)snprintf(text, sizeof text, "(%llu rows, sha256 %.12s, %.*s, %s) %.*s", (unsigned long long)f->rows, f->data,
                   rp_fits(scope, 40), scope, f->time, rp_fits(what, 200), what);
    rp_evidence_note_statement(c, i, text);
}

/* The signer's word on time is looked at where the clause asks for an age; without a timestamp it is no more than that.
 */
static const char *too_old(rp_check *c, const rp_verified_statement *one)
{
    int64_t said;

    if (c->clause->figures.days == 0)
        return NULL;
    if (!rp_moment_parse(&said, one->time))
        return "says no time";
    if ((int64_t)time(NULL) - said <= (int64_t)c->clause->figures.days * DAY)
        return NULL;
    (void)snprintf(c->why, sizeof c->why, "is %lld days old", (long long)(((int64_t)time(NULL) - said) / DAY));
    return c->why;
}

const char *rp_figures_lack(rp_check *c, size_t i)
{
    const rp_verified_statement *one = &c->verified->statement[i];
    const char *why = c->clause->independent ? rp_evidence_made_run(c, i) : NULL;

    if (why != NULL)
        return why;
    if (one->figures->predicate == NULL)
        return "is not by a key that counts";
    if (rp_evidence_to_come(c, i))
        return "says a time that has not come";
    why = too_old(c, one);
    return why != NULL ? why : rp_evidence_date_lacks(c, i);
}

void rp_judge_figures(rp_check *c, rp_statement_kind kind, rp_scope_lacks *scope_lacks, rp_judge *judge)
{
    for (size_t i = 0; i < c->verified->statements; i++) {
        const char *lacks;
        bool unknown = false;

        if (c->verified->statement[i].kind != kind || !rp_evidence_in_group(c, i))
            continue;
        lacks = rp_figures_lack(c, i);
        lacks = lacks ? lacks : scope_lacks(c, i, &unknown);
        if (lacks && !unknown)
            rp_note_figures(c, i, lacks);
        else
            judge(c, i, lacks);
    }
    rp_evidence_note_outsiders(c);
}

/* A monitoring looks at the run's own rows alone, a comparison at those of the one parent that it is given. */
static const char *not_counted(const rp_check *c, rp_statement_kind kind)
{
    if (kind == RP_STATEMENT_MONITORING)
        return "does not say how many of its rows were trained on: where the table was withheld, reprise monitor "
               "--withheld DIR counts them";
    if (kind == RP_STATEMENT_RETRAINING)
        return "does not say how many of its rows trained the run or one that it started from: reprise retrain --child "
               "counts them with --withheld, --parent-withheld and --parent (of the parent's own)";
    return *c->verified->parent ? "does not say how many of its rows trained the run or the one that it started "
                                  "from: reprise validate --parent PARENT counts them, with --parent-withheld DIR "
                                  "where that left its table out"
                                : "does not say how many of its rows were trained on";
}

/* Rows of the run's own table are no others; and what a predecessor's rows chose (its recipe's settings, that a
 * retraining has taken on) may be among them, where both are of one table. A part of it says itself that it is one. */
static bool own_count(const rp_check *c, size_t i)
{
    const rp_json *recipe = c->verified->facts ? c->verified->facts->recipe : NULL;
    const rp_verified_statement *one = &c->verified->statement[i];

    if (one->figures->test || one->figures->validation || one->kind == RP_STATEMENT_MONITORING)
        return false;
    return c->clause->figures.others || (c->clause->kind != RP_CLAUSE_FALL && rp_fact_at(recipe, "predecessor"));
}

/* A run and its predecessor may be held against each other on the run's own validation part, whatever that decided. */
static const char *other_lacks(const rp_check *c, size_t i)
{
    const rp_stated_figures *f = c->verified->statement[i].figures;
    const bool monitors = c->verified->statement[i].kind == RP_STATEMENT_MONITORING;

    if (own_count(c, i) && f->own < 0)
        return "does not say how many of its rows are of the run's own table: reprise validate and retrain count them, "
               "where the table was withheld with --withheld DIR";
    if (c->clause->kind == RP_CLAUSE_FALL)
        return NULL;
    if (f->other < 0)
        return monitors ? "does not say how many of its rows are of the run's own table: reprise monitor counts them"
                        : "does not say by how many of its rows the model was chosen: reprise validate counts them";
    return NULL;
}

static bool allows_any_left_out(const rp_check *c)
{
    return c->clause->kind == RP_CLAUSE_FALL || c->clause->figures.left_out >= 1;
}

/* Counts that are there, and more than the clause allows. */
static const char *exceeds(const rp_check *c, size_t i)
{
    const rp_figure_rule *rule = &c->clause->figures;
    const rp_stated_figures *f = c->verified->statement[i].figures;
    const double rows = (double)f->rows, seen = f->seen > 0 ? (double)f->seen : 0;
    const bool others = own_count(c, i);
    const double other = (others || c->clause->kind != RP_CLAUSE_FALL) && f->other > 0 ? (double)f->other : 0;
    const double own = others && f->own > 0 ? (double)f->own : 0;
    const double unread = (double)f->hidden + (f->called_missing > 0 ? (double)f->called_missing : 0);
    const double left_out = f->left_out > 0 ? (double)f->left_out : 0;

    if (rule->seen < 1 && seen > rule->seen * rows)
        return "judged rows that the model was trained on";
    if (rule->seen < 1 && seen + other > rule->seen * rows)
        return c->verified->statement[i].kind == RP_STATEMENT_MONITORING
                   ? "looked at rows of the run's own table, which are of no later time"
                   : "judged rows by which the model was chosen (early stopping, search)";
    if (rule->seen < 1 && seen + other + own > rule->seen * rows)
        return c->clause->figures.others ? "judged rows of the run's own table, which are no others"
                                         : "judged rows of the run's own table, by which its predecessor may have been "
                                           "chosen: take rows that neither of them had";
    if (allows_any_left_out(c))
        return NULL;
    if (left_out > rule->left_out * rows)
        return "judged rows that the recipe's conditions (data.where) leave out: leave them out of the file";
    return left_out + unread > rule->left_out * (rows + unread)
               ? "passed over rows whose outcome the recipe calls missing (data.missing), or lines that may be rows "
                 "and are read as none (data.comment, data.skip_lines, quotes)"
               : NULL;
}

const char *rp_seen_lacks(const rp_check *c, size_t i, bool *unknown)
{
    const rp_stated_figures *f = c->verified->statement[i].figures;
    const char *lacks = exceeds(c, i);

    *unknown = lacks == NULL;
    if (lacks == NULL && c->clause->figures.seen < 1)
        lacks = f->seen < 0 ? not_counted(c, c->verified->statement[i].kind) : other_lacks(c, i);
    if (lacks == NULL && !allows_any_left_out(c) && f->left_out < 0)
        lacks = "does not say how many of its rows the recipe's conditions (data.where) leave out: a policy takes any "
                "with left_out: 1";
    if (lacks == NULL && !allows_any_left_out(c) && f->called_missing < 0)
        lacks = "does not say how many outcomes the recipe calls missing (data.missing): reprise validate counts them, "
                "and a policy takes any with left_out: 1";
    return lacks;
}

void rp_put_seen(const rp_check *c, rp_buffer *text)
{
    const rp_figure_rule *rule = &c->clause->figures;
    const char *what = c->clause->kind == RP_CLAUSE_DRIFT  ? " are of the run's own table"
                       : c->clause->kind == RP_CLAUSE_FALL ? " were trained on"
                                                           : " were trained on or chose the model";

    if (rule->seen < 1) {
        rp_buffer_text(text, ", of which at most ");
        rp_put_bound(text, rule->seen);
        rp_buffer_text(text, what);
        rp_buffer_text(text, rule->others && c->clause->kind == RP_CLAUSE_FALL ? " or are of its own table"
                             : rule->others                                    ? " or are of the run's own table"
                                                                               : "");
    }
    if (rule->left_out < 1 && c->clause->kind != RP_CLAUSE_FALL) {
        rp_buffer_text(text, rule->seen < 1 ? ", and at most " : ", of which at most ");
        rp_put_bound(text, rule->left_out);
        rp_buffer_text(text, " are none that its conditions keep, or passed over");
    }
}

static const char *scope_lacks(const rp_check *c, size_t i, bool *unknown)
{
    const rp_figure_rule *rule = &c->clause->figures;
    const rp_stated_figures *f = c->verified->statement[i].figures;

    if (rule->test && !f->test)
        return "judged other rows than the test part";
    if (rule->others && f->test)
        return "judged the run's own test part";
    if (f->rows < rule->rows)
        return "judged too few rows";
    return rp_seen_lacks(c, i, unknown);
}

/* A test part that is drawn nobody chooses row by row; one that is a table of its own, or a column's word, somebody
 * has, and a recipe's conditions leave rows out of it. */
static const char *chosen(const rp_check *c, size_t i)
{
    const rp_json *recipe = c->verified->facts ? c->verified->facts->recipe : NULL;

    if (!c->verified->statement[i].figures->test)
        return rp_fact_at(recipe, "predecessor") ? ", its predecessor not looked at: what chose that one is not counted"
                                                 : "";
    if (rp_fact_at(recipe, "data.test_csv"))
        return ", its test part a table of its own (data.test_csv), which who made the run chose";
    if (rp_fact_at(recipe, "data.split"))
        return ", its test part named row by row in a column (data.split), which who made the table chose";
    return rp_fact_at(recipe, "data.where")
               ? ", its test part without what the recipe's conditions leave out (data.where)"
               : "";
}

/* A figure that is out of bounds refutes, and in scope one that is not there. */
static void judge(rp_check *c, size_t i, const char *unknown)
{
    const rp_model_bound *bound = &c->clause->bound;
    const rp_json *predicate = c->verified->statement[i].figures->predicate;
    const rp_json *value = rp_fact_at(rp_json_object_get(predicate, "figures"), bound->path);
    const bool bounded = bound->has_low || bound->has_high, fine = !bounded || rp_within(bound, value);
    rp_buffer text = {0};

    if (!bounded) {
        rp_buffer_text(&text, "validated it");
    } else {
        rp_buffer_printf(&text, "found %s ", bound->path);
        if (value == NULL || rp_json_is_object(value) || rp_json_is_array(value))
            rp_buffer_text(&text, "nowhere");
        else
            rp_fact_text(value, &text);
    }
    rp_buffer_text(&text, chosen(c, i));
    rp_settle_figures(
        c, i,
        &(rp_finding_of_figures){
            .unknown = unknown, .fine = fine, .refutes = !fine, .beyond = bounded && rp_beyond(bound, value)},
        &text);
}

static void put_demand(const rp_check *c, rp_buffer *text)
{
    const rp_figure_rule *rule = &c->clause->figures;

    rp_buffer_printf(text, "validated by %llu of %s on %s", (unsigned long long)c->clause->count, c->group->name,
                     rule->test     ? "the test part"
                     : rule->others ? "rows that are not the run's"
                                    : "the test part or other rows");
    if (rule->rows > 1)
        rp_buffer_printf(text, ", %llu or more", (unsigned long long)rule->rows);
    rp_put_seen(c, text);
    if (rule->days)
        rp_buffer_printf(text, ", at most %llu days ago", (unsigned long long)rule->days);
    if (c->clause->bound.has_low || c->clause->bound.has_high) {
        rp_buffer_printf(text, ", with %s", c->clause->bound.path);
        rp_put_bounds(text, &c->clause->bound);
    }
    rp_buffer_text(text, c->clause->independent ? ", not by who made the run" : "");
    rp_evidence_describe_dates(c, text);
}

void rp_check_validation(rp_check *c, rp_buffer *text)
{
    put_demand(c, text);
    rp_judge_figures(c, RP_STATEMENT_VALIDATION, scope_lacks, judge);
    if (c->found.size == 0)
        rp_buffer_text(&c->found, "no validation by any of them is in the archive: reprise validate --attach adds one");
}
