/* SPDX-License-Identifier: Apache-2.0
 * The clause on a fall against the parent: somebody of the group has held the run against the archive whose place it
 * takes, on rows that the clause names, and every such statement says that no figure is worse by more than its bound.
 */
#include <stdio.h>
#include <string.h>

#include "audit/trust/figures/figure_text.h"
#include "base/text.h"

/* Where a figure stands in those of two classes, and where that has nothing in those of more classes or quantities. */
static const struct {
    const char *path[2];
    bool less; /* is better */
} falls[RP_FALLS] = {
    [RP_FALL_AUC] = {{"discrimination.auc", NULL}, false},
    [RP_FALL_GINI] = {{"discrimination.gini", NULL}, false},
    [RP_FALL_KS] = {{"discrimination.ks", NULL}, false},
    [RP_FALL_ACCURACY] = {{"accuracy", NULL}, false},
    [RP_FALL_MACRO_AUC] = {{"macro_auc", NULL}, false},
    [RP_FALL_R2] = {{"r2", NULL}, false},
    [RP_FALL_BRIER] = {{"calibration.brier", NULL}, true},
    [RP_FALL_LOG_LOSS] = {{"calibration.log_loss", "log_loss"}, true},
    [RP_FALL_RMSE] = {{"rmse", NULL}, true},
    [RP_FALL_MAE] = {{"mae", NULL}, true},
};

/* Of two classes the accuracy is that at 0.5. */
static const rp_json *accuracy_at_half(const rp_json *figures)
{
    rp_json *threshold;
    size_t i;

    rp_json_array_foreach (rp_json_object_get(figures, "thresholds"), i, threshold) {
        const char *rule = rp_json_string_value(rp_json_object_get(threshold, "rule"));

        if (rule != NULL && strcmp(rule, "half") == 0)
            return rp_json_object_get(threshold, "accuracy");
    }
    return NULL;
}

static bool figure_of(const rp_json *figures, size_t k, double *out)
{
    const rp_json *value = rp_fact_at(figures, falls[k].path[0]);

    if (value == NULL && falls[k].path[1] != NULL)
        value = rp_fact_at(figures, falls[k].path[1]);
    if (value == NULL && k == RP_FALL_ACCURACY)
        value = accuracy_at_half(figures);
    return rp_fact_number(value, out) && *out - *out == 0;
}

/* Which archive the run itself says it takes the place of; "": none. */
static const char *predecessor_of(const rp_check *c)
{
    const rp_json *recipe = c->verified->facts ? c->verified->facts->recipe : NULL;
    const char *id = rp_json_string_value(rp_json_object_get(recipe, "predecessor"));

    return id != NULL ? id : "";
}

/* The test part may be a table of its own, which somebody has chosen. */
static bool tests_a_table(const rp_run_facts *facts)
{
    return facts && rp_fact_at(facts->recipe, "data.test_csv");
}

/* A part of the run's own rows must be that: the table is the archive's, and of the validation part as many rows as the
 * run itself judged. */
static const char *rows_lack(const rp_check *c, const rp_stated_figures *f, bool *unknown)
{
    const rp_run_facts *facts = c->verified->facts;
    const rp_json *part = rp_json_object_get(facts ? facts->metrics : NULL, "validation");
    const char *table = !facts ? "" : f->test && tests_a_table(facts) ? facts->tested : facts->table;

    *unknown = table[0] == '\0';
    if (!f->test && !f->validation)
        return NULL;
    if (*unknown)
        return "judged rows of the archive, which does not hold them: nobody can tell";
    if (strcmp(f->data, table) != 0)
        return "judged another table than the archive's";
    if (f->validation && (uint64_t)rp_json_integer_value(rp_json_object_get(part, "rows")) != f->rows)
        return "judged more or fewer rows than the run's validation part has";
    return NULL;
}

/* *unknown: the statement does not say, and so is not known to be out of scope. */
static const char *scope_lacks(const rp_check *c, size_t i, bool *unknown)
{
    const rp_stated_figures *f = c->verified->statement[i].figures;
    const rp_figure_rule *rule = &c->clause->figures;
    const rp_json *differs = rp_fact_at(f->predicate, "predecessor.recipe_differs");
    bool untold, unheld;
    const char *seen = rp_seen_lacks(c, i, &untold), *rows = rows_lack(c, f, &unheld);

    if (strcmp(f->predecessor, predecessor_of(c)) != 0)
        return "held it against another archive than its predecessor";
    if (rule->test && !f->test)
        return "judged other rows than the test part";
    if (rule->validation && !f->validation)
        return "judged other rows than the validation part";
    if (rule->others && (f->test || f->validation))
        return "judged the run's own rows";
    if (f->rows < rule->rows)
        return "judged too few rows";
    if (seen != NULL && !untold)
        return seen;
    if (rows != NULL && !unheld)
        return rows;
    if (rule->same_recipe && rp_json_array_size(differs) != 0)
        return "does not say that its recipe is the predecessor's";
    *unknown = true;
    if (seen != NULL)
        return seen;
    return rule->same_recipe && !rp_json_is_array(differs) ? "does not say that its recipe is the predecessor's" : rows;
}

/* Both models' figure k. */
static bool figures_of(const rp_json *figures, size_t k, double *child, double *parent)
{
    return figure_of(rp_json_object_get(figures, "child"), k, child) &&
           figure_of(rp_json_object_get(figures, "parent"), k, parent);
}

/* Which of the figures that can be asked for there are of both. */
static void put_figures(rp_buffer *said, const rp_json *figures)
{
    bool first = true;
    double child, parent;

    for (size_t k = 0; k < RP_FALLS; k++)
        if (figures_of(figures, k, &child, &parent)) {
            rp_buffer_printf(said, "%s%s", first ? ": there are " : ", ", rp_fall_names[k]);
            first = false;
        }
}

/* A figure that fell too far refutes, and in scope one that is not there. */
static void judge(rp_check *c, size_t i, const char *unknown)
{
    const rp_figure_rule *rule = &c->clause->figures;
    const rp_json *figures = rp_json_object_get(c->verified->statement[i].figures->predicate, "figures");
    rp_buffer said = {0};
    bool fine = true, missing = false;

    for (size_t k = 0; k < RP_FALLS; k++) {
        double child, parent, worse;

        if (!rule->has_fall[k])
            continue;
        rp_buffer_printf(&said, "%s%s ", said.size ? ", " : "found ", rp_fall_names[k]);
        if (!figures_of(figures, k, &child, &parent)) {
            rp_buffer_text(&said, "nowhere");
            missing = true;
            continue;
        }
        worse = falls[k].less ? child - parent : parent - child;
        rp_put_bound(&said, child);
        rp_buffer_text(&said, " after ");
        rp_put_bound(&said, parent);
        fine = fine && worse <= rule->fall[k];
    }
    if (missing)
        put_figures(&said, figures);
    if (c->verified->statement[i].figures->test && tests_a_table(c->verified->facts))
        rp_buffer_text(&said, ", its test part a table of its own (data.test_csv), which who made the run chose");
    if (c->verified->statement[i].figures->other > 0)
        rp_buffer_printf(&said, ", by %lld of whose rows the run was chosen (early stopping, search)",
                         (long long)c->verified->statement[i].figures->other);
    rp_settle_figures(c, i,
                      &(rp_finding_of_figures){
                          .unknown = unknown, .fine = fine && !missing, .refutes = !fine || missing, .beyond = !fine},
                      &said);
}

static void put_demand(const rp_check *c, rp_buffer *text)
{
    const rp_figure_rule *rule = &c->clause->figures;
    bool first = true;

    rp_buffer_printf(text, "held by %llu of %s against %s%s on %s", (unsigned long long)c->clause->count,
                     c->group->name, rule->predecessor[0] ? "archive " : "its predecessor", rule->predecessor,
                     rule->test         ? "the test part"
                     : rule->validation ? "the validation part"
                     : rule->others     ? "rows that are not the run's"
                                        : "the same rows");
    if (rule->rows > 1)
        rp_buffer_printf(text, ", %llu or more", (unsigned long long)rule->rows);
    if (rule->days)
        rp_buffer_printf(text, ", at most %llu days ago", (unsigned long long)rule->days);
    for (size_t k = 0; k < RP_FALLS; k++) {
        if (!rule->has_fall[k])
            continue;
        rp_buffer_printf(text, first ? ", no worse than by %s " : ", %s ", rp_fall_names[k]);
        rp_put_bound(text, rule->fall[k]);
        first = false;
    }
    rp_buffer_text(text, rule->same_recipe ? ", by its recipe" : "");
    rp_buffer_text(text, c->clause->independent ? ", not by who made the run" : "");
    rp_evidence_describe_dates(c, text);
}

void rp_check_fall(rp_check *c, rp_buffer *text)
{
    const char *predecessor = predecessor_of(c), *pinned = c->clause->figures.predecessor;

    put_demand(c, text);
    if (*predecessor == '\0' || (*pinned != '\0' && strcmp(pinned, predecessor) != 0)) {
        c->refuted = true;
        rp_buffer_printf(&c->found, "the run names %.64s as its predecessor", *predecessor ? predecessor : "none");
        return;
    }
    rp_judge_figures(c, RP_STATEMENT_RETRAINING, scope_lacks, judge);
    if (c->found.size == 0)
        rp_buffer_text(&c->found, "no comparison with its predecessor by any of them is in the archive: reprise "
                                  "retrain PARENT --child ARCHIVE --attach adds one");
    if (*pinned == '\0')
        rp_buffer_printf(&c->found, ", its predecessor being %s", predecessor);
}
