/* SPDX-License-Identifier: Apache-2.0
 * The clause on drift: the newest monitoring by the group is recent enough and within the bounds. The newest is the one
 * that stands last in its chain of periods, so that no new beginning hides what an older chain came to. */
#include <stdio.h>
#include <string.h>

#include "audit/trust/figures/figure_text.h"
#include "base/text.h"

bool rp_period_repeated(const rp_verification *v, const rp_verified_statement *one)
{
    for (size_t i = 0; v != NULL && one->figures && *one->figures->period && i < v->statements; i++) {
        const rp_verified_statement *other = &v->statement[i];

        if (other != one && other->figures && strcmp(other->figures->period, one->figures->period) == 0)
            return true;
    }
    return false;
}

static bool is_ours(const rp_check *c, size_t i)
{
    return c->verified->statement[i].kind == RP_STATEMENT_MONITORING && rp_evidence_in_group(c, i);
}

typedef struct figures {
    double most;
    const char *name;    /* whose it is; NULL: it has none */
    const char *without; /* the first that should have the figure and has none; NULL: all have it */
    bool any;
} figures;

/* The largest of the figures, and where. A category has no KS. A number without one has moved
 * completely, to no value at all, or nobody has looked. */
static figures largest(const rp_json *list, const char *key)
{
    figures f = {.any = false};

    for (size_t i = 0; i < rp_json_array_size(list); i++) {
        const rp_json *one = rp_json_array_get(list, i), *value = rp_json_object_get(one, key);
        const char *name = rp_json_string_value(rp_json_object_get(one, "name"));
        double figure;

        if (value == NULL && strcmp(key, "ks") == 0)
            continue;
        if (!rp_fact_number(value, &figure) || figure != figure) {
            if (f.without == NULL)
                f.without = name ? name : "";
            continue;
        }
        if (!f.any || figure > f.most) {
            f.most = figure;
            f.name = name;
        }
        f.any = true;
    }
    return f;
}

static void put_without(rp_buffer *said, const figures *f, const char *figure)
{
    rp_buffer_printf(said, "%sno %s", said->size ? ", " : "", figure);
    if (f->without != NULL && *f->without)
        rp_buffer_printf(said, " of %.*s", rp_fits(f->without, 60), f->without);
}

/* True where nothing is asked. *beyond is set where a figure is out of bounds. */
static bool hold(rp_buffer *said, const rp_json *predicate, const char *list, const char *figure, bool asked,
                 double bound, bool *beyond)
{
    const figures f = largest(rp_json_object_get(predicate, list), "psi");

    if (!asked)
        return true;
    *beyond = *beyond || (f.any && f.most > bound);
    if (!f.any || f.without != NULL) {
        put_without(said, &f, figure);
        return false;
    }
    rp_buffer_printf(said, "%s%s ", said->size ? ", " : "", figure);
    rp_put_bound(said, f.most);
    if (f.name != NULL)
        rp_buffer_printf(said, " of %.*s", rp_fits(f.name, 60), f.name);
    return f.most <= bound;
}

/* Bins do not see what moves within one, and one may hold a fifth of the training rows: the distance of the samples
 * does, and is told wherever features are asked for. */
static bool hold_samples(rp_buffer *said, const rp_json *predicate, const rp_figure_rule *rule, bool *beyond)
{
    const figures columns = largest(rp_json_object_get(predicate, "columns"), "ks"),
                  scores = largest(rp_json_object_get(predicate, "scores"), "ks");
    const bool of_score = scores.any && (!columns.any || (rule->has_ks && scores.most > columns.most));
    const figures *most = of_score ? &scores : &columns;

    if (!rule->has_ks && (!rule->has_csi || !columns.any))
        return true;
    if (!columns.any && !scores.any) {
        put_without(said, columns.without ? &columns : &scores, "KS");
        if (!rp_json_is_true(rp_json_object_get(predicate, "samples")))
            rp_buffer_text(said, ": the training rows were not at hand (reprise monitor --withheld DIR)");
        return false;
    }
    *beyond = *beyond || (rule->has_ks && most->most > rule->ks);
    rp_buffer_printf(said, "%sKS ", said->size ? ", " : "");
    rp_put_bound(said, most->most);
    if (of_score)
        rp_buffer_text(said, " of a score");
    else
        rp_buffer_printf(said, " of %.*s", most->name ? rp_fits(most->name, 60) : 8,
                         most->name ? most->name : "a column");
    if (columns.without != NULL)
        put_without(said, &columns, "KS");
    if (scores.without != NULL)
        rp_buffer_text(said, ", no KS of a score");
    return !rule->has_ks || (columns.without == NULL && scores.without == NULL && most->most <= rule->ks);
}

static void judge(rp_check *c, size_t i)
{
    const rp_figure_rule *rule = &c->clause->figures;
    const rp_stated_figures *f = c->verified->statement[i].figures;
    const char *lacks = rp_figures_lack(c, i);
    rp_buffer said = {0};
    bool fine, beyond = false, unknown = false;

    if (!lacks && f->rows < rule->rows)
        lacks = "looked at too few rows";
    if (!lacks)
        lacks = rp_seen_lacks(c, i, &unknown);
    if (lacks && !unknown) {
        rp_note_figures(c, i, lacks);
        return;
    }
    fine = hold(&said, f->predicate, "scores", "PSI", rule->has_psi, rule->psi, &beyond);
    fine = hold(&said, f->predicate, "columns", "CSI", rule->has_csi, rule->csi, &beyond) && fine;
    fine = hold_samples(&said, f->predicate, rule, &beyond) && fine;
    rp_buffer_printf(&said, "%speriod %llu", said.size ? ", " : "", (unsigned long long)f->number);
    rp_settle_figures(
        c, i, &(rp_finding_of_figures){.unknown = lacks, .fine = fine, .refutes = !fine, .beyond = beyond}, &said);
}

static void put_demand(const rp_check *c, rp_buffer *text)
{
    const rp_figure_rule *rule = &c->clause->figures;

    rp_buffer_printf(text, "the newest monitoring by %llu of %s", (unsigned long long)c->clause->count, c->group->name);
    if (rule->has_psi) {
        rp_buffer_text(text, ", PSI of scores at most ");
        rp_put_bound(text, rule->psi);
    }
    if (rule->has_csi) {
        rp_buffer_text(text, ", CSI of every feature at most ");
        rp_put_bound(text, rule->csi);
    }
    if (rule->has_ks) {
        rp_buffer_text(text, ", KS of every score and number at most ");
        rp_put_bound(text, rule->ks);
    }
    if (rule->rows > 1)
        rp_buffer_printf(text, ", of %llu rows or more", (unsigned long long)rule->rows);
    rp_put_seen(c, text);
    if (rule->days)
        rp_buffer_printf(text, ", at most %llu days old", (unsigned long long)rule->days);
    rp_buffer_text(text, c->clause->independent ? ", not by who made the run" : "");
    rp_evidence_describe_dates(c, text);
}

void rp_check_drift(rp_check *c, rp_buffer *text)
{
    uint64_t last = 0;

    put_demand(c, text);
    for (size_t i = 0; i < c->verified->statements; i++)
        if (is_ours(c, i) && c->verified->statement[i].figures->number > last)
            last = c->verified->statement[i].figures->number;
    for (size_t i = 0; i < c->verified->statements; i++)
        if (is_ours(c, i) && c->verified->statement[i].figures->number == last)
            judge(c, i);
    rp_evidence_note_outsiders(c);
    if (c->found.size == 0)
        rp_buffer_text(&c->found, "no monitoring by any of them is in the archive: reprise monitor --attach adds one");
}
