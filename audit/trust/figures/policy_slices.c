/* SPDX-License-Identifier: Apache-2.0
 * Clauses on slices and on groups: the worst part of a column, and how selection treats its groups, by the run's own
 * figures or by those that somebody of a group has signed. A column that was left out meets no clause. */
#include <stdio.h>
#include <string.h>

#include "audit/trust/figures/figure_text.h"
#include "base/text.h"

/* The cut by that column among slices and groups, or among groups alone; NULL: there is none. */
static const rp_json *find_cut(const rp_json *holder, const char *column, bool groups)
{
    static const char *const lists[] = {"groups", "slices"};

    for (size_t k = 0; k < (groups ? 1 : 2); k++) {
        const rp_json *list = rp_json_object_get(holder, lists[k]);

        for (size_t i = 0; i < rp_json_array_size(list); i++) {
            const char *by = rp_json_string_value(rp_json_object_get(rp_json_array_get(list, i), "by"));

            if (by != NULL && strcmp(by, column) == 0)
                return rp_json_array_get(list, i);
        }
    }
    return NULL;
}

static void put_part(rp_buffer *out, const rp_json *part)
{
    const rp_json *value = rp_json_object_get(part, "value");

    if (rp_json_is_string(value)) {
        rp_buffer_printf(out, "%.*s", rp_fits(rp_json_string_value(value), 60), rp_json_string_value(value));
    } else if (value != NULL) {
        rp_buffer_text(out, "missing");
    } else {
        rp_buffer_text(out, "from ");
        rp_fact_text(rp_json_object_get(part, "from"), out);
        rp_buffer_text(out, " to ");
        rp_fact_text(rp_json_object_get(part, "to"), out);
    }
}

static bool worse(const rp_model_bound *bound, double a, double b)
{
    return bound->has_low ? a < b : a > b;
}

/* Says what the worst part is. False where a part is out of bounds (*beyond then) or has no such figure, or none has
 * rows enough. */
static bool judge_parts(rp_buffer *said, const rp_json *cut, const rp_clause *clause, bool *beyond)
{
    const rp_json *list = rp_json_object_get(cut, "parts"), *worst = NULL;
    double least = 0, value, rows;
    size_t few = 0, looked = 0;
    bool fine = true;

    for (size_t i = 0; i < rp_json_array_size(list); i++) {
        const rp_json *part = rp_json_array_get(list, i), *figures = rp_json_object_get(part, "figures");
        const rp_json *found = rp_fact_at(figures, clause->bound.path);

        if (!rp_fact_number(rp_json_object_get(figures, "rows"), &rows) || rows < (double)clause->figures.few) {
            few += rp_json_is_object(figures);
            continue;
        }
        looked++;
        fine = fine && rp_within(&clause->bound, found);
        *beyond = *beyond || rp_beyond(&clause->bound, found);
        if (!rp_fact_number(found, &value) || value != value) {
            rp_buffer_printf(said, "%sno such figure in part ", said->size ? ", " : "");
            put_part(said, part);
        } else if (worst == NULL || worse(&clause->bound, value, least)) {
            worst = part;
            least = value;
        }
    }
    if (worst != NULL) {
        rp_buffer_printf(said, "%sworst of %zu parts: ", said->size ? ", " : "", looked);
        put_part(said, worst);
        rp_buffer_text(said, " with ");
        rp_put_bound(said, least);
    }
    if (looked == 0)
        rp_buffer_text(said, "no part has rows enough");
    if (few)
        rp_buffer_printf(said, ", %zu of fewer than %llu rows not judged", few,
                         (unsigned long long)clause->figures.few);
    return fine && looked > 0;
}

static bool at_threshold(const rp_clause *clause, const rp_json *threshold)
{
    double value = 0.5;

    return (rp_json_is_null(threshold) || rp_fact_number(threshold, &value)) && value == clause->figures.threshold;
}

static bool judge_selection(rp_buffer *said, const rp_json *cut, const rp_clause *clause, const rp_json *threshold,
                            bool *beyond)
{
    const rp_figure_rule *rule = &clause->figures;
    const rp_json *summary = rp_json_object_get(cut, "summary");
    const char *favourable = rp_json_string_value(rp_json_object_get(cut, "favourable"));
    double ratio, difference;
    bool fine = true;

    if (favourable == NULL || strcmp(favourable, rule->favourable) != 0) {
        const char *class = favourable ? favourable : "no class";

        rp_buffer_printf(said, "took %.*s as favourable", rp_fits(class, 60), class);
        return false;
    }
    if (!at_threshold(clause, threshold)) {
        rp_buffer_text(said, "selected at threshold ");
        rp_fact_text(threshold, said);
        return false;
    }
    if (!rp_fact_number(rp_json_object_get(summary, "ratio"), &ratio) ||
        !rp_fact_number(rp_json_object_get(summary, "difference"), &difference)) {
        rp_buffer_text(said, "fewer than two groups of 30 rows have rates: nothing was compared");
        return false;
    }
    fine = (!rule->has_ratio || ratio >= rule->ratio) && (!rule->has_difference || difference <= rule->difference);
    *beyond = !fine;
    rp_buffer_text(said, "ratio ");
    rp_put_bound(said, ratio);
    rp_buffer_text(said, ", difference ");
    rp_put_bound(said, difference);
    return fine;
}

/* holder: metrics' validation part, or a statement's predicate. threshold: of its selection. *beyond: a figure that is
 * there is out of bounds. */
static bool judge_holder(rp_buffer *said, const rp_json *holder, const rp_json *threshold, const rp_clause *clause,
                         bool *beyond)
{
    const bool groups = clause->kind == RP_CLAUSE_SELECTION;
    const rp_json *cut = find_cut(holder, clause->figures.column, groups);

    *beyond = false;
    if (cut == NULL) {
        rp_buffer_printf(said, "no %s by %s", groups ? "groups" : "slices", clause->figures.column);
        return false;
    }
    return groups ? judge_selection(said, cut, clause, threshold, beyond) : judge_parts(said, cut, clause, beyond);
}

static void of_run(rp_check *c)
{
    const rp_run_facts *facts = c->verified->facts;
    const rp_json *part = facts ? rp_json_object_get(facts->metrics, "validation") : NULL;
    rp_buffer said = {0};
    bool beyond;

    if (part == NULL) {
        c->refuted = true;
        rp_buffer_text(&c->found, "the run has no figures of a validation part");
        return;
    }
    c->refuted = !judge_holder(&said, part, rp_fact_at(facts->recipe, "validation.threshold"), c->clause, &beyond);
    rp_buffer_text(&c->found, "the run: ");
    if (said.size)
        rp_buffer_append(&c->found, said.data, said.size);
    if (find_cut(part, c->clause->figures.column, c->clause->kind == RP_CLAUSE_SELECTION) == NULL)
        rp_buffer_text(&c->found, " (recipe: validation)");
    rp_note_started(c);
    c->found.failed = c->found.failed || said.failed;
    rp_buffer_free(&said);
}

/* One that did not look at the column says nothing of it; one that did and found it wanting is not outvoted. */
static void of_statement(rp_check *c, size_t i)
{
    const rp_json *predicate = c->verified->statement[i].figures->predicate;
    const rp_json *threshold = rp_fact_at(predicate, "options.threshold");
    bool unknown, beyond, fine;
    const char *lacks = rp_figures_lack(c, i), *seen = rp_seen_lacks(c, i, &unknown);
    const bool groups = c->clause->kind == RP_CLAUSE_SELECTION;
    rp_buffer said = {0};

    if (lacks || (seen && !unknown)) {
        rp_note_figures(c, i, lacks ? lacks : seen);
        return;
    }
    fine = judge_holder(&said, predicate, threshold, c->clause, &beyond);
    rp_settle_figures(
        c, i,
        &(rp_finding_of_figures){.unknown = seen,
                                 .fine = fine,
                                 .refutes = !fine && find_cut(predicate, c->clause->figures.column, groups) != NULL,
                                 .beyond = beyond},
        &said);
}

static void check(rp_check *c, rp_buffer *text)
{
    if (!c->clause->figures.stated) {
        of_run(c);
        return;
    }
    rp_buffer_printf(text, ", by a validation of %llu of %s", (unsigned long long)c->clause->count, c->group->name);
    if (c->clause->figures.seen < 1 || c->clause->figures.left_out < 1)
        rp_buffer_text(text, " on rows");
    rp_put_seen(c, text);
    rp_evidence_describe_dates(c, text);
    for (size_t i = 0; i < c->verified->statements; i++)
        if (c->verified->statement[i].kind == RP_STATEMENT_VALIDATION && rp_evidence_in_group(c, i))
            of_statement(c, i);
    rp_evidence_note_outsiders(c);
    if (c->found.size == 0)
        rp_buffer_text(&c->found, "no validation by any of them is in the archive: reprise validate --attach adds one");
}

void rp_check_slices(rp_check *c, rp_buffer *text)
{
    rp_buffer_printf(text, "%s in every part of %s", c->clause->bound.path, c->clause->figures.column);
    rp_put_bounds(text, &c->clause->bound);
    check(c, text);
}

void rp_check_selection(rp_check *c, rp_buffer *text)
{
    const rp_figure_rule *rule = &c->clause->figures;

    rp_buffer_printf(text, "groups of %s are selected for %s at threshold ", rule->column, rule->favourable);
    rp_put_bound(text, rule->threshold);
    if (rule->has_ratio) {
        rp_buffer_text(text, " with a ratio of at least ");
        rp_put_bound(text, rule->ratio);
    }
    if (rule->has_difference) {
        rp_buffer_text(text, rule->has_ratio ? " and a difference of at most " : " with a difference of at most ");
        rp_put_bound(text, rule->difference);
    }
    check(c, text);
}
