/* SPDX-License-Identifier: Apache-2.0
 * Clauses that bound what a run says of its model. Where it says nothing, or nothing that can be read, the clause is
 * not met. */
#include <math.h>
#include <string.h>
#include <time.h>

#include "audit/sign/utc_time.h"
#include "audit/trust/facts.h"
#include "audit/trust/policy_check.h"
#include "base/text.h"
#include "determinism/decimal.h"

static void put_number(rp_buffer *text, double value)
{
    char digits[RP_DECIMAL_SIZE];

    (void)rp_print_f64(digits, value);
    rp_buffer_text(text, digits);
}

static void put_bounds(rp_buffer *text, const rp_model_bound *bound)
{
    if (bound->has_low) {
        rp_buffer_text(text, " at least ");
        put_number(text, bound->low);
    }
    if (bound->has_high) {
        rp_buffer_text(text, bound->has_low ? " and at most " : " at most ");
        put_number(text, bound->high);
    }
}

/* False for what is no number, NaN among it. */
static bool within(const rp_model_bound *bound, double value)
{
    return value == value && (!bound->has_low || value >= bound->low) && (!bound->has_high || value <= bound->high);
}

/* Of the variant that is the run's recipe: the chosen one of a search. */
static const rp_json *mean_over_folds(const rp_json *metrics)
{
    const rp_json *trials = rp_json_object_get(metrics, "trials"), *folds = rp_json_object_get(trials, "folds");
    const int64_t chosen = rp_json_integer_value(rp_json_object_get(trials, "chosen"));
    const rp_json *variant = rp_json_array_get(rp_json_object_get(trials, "variants"), chosen > 0 ? (size_t)chosen : 0);

    return folds ? rp_json_object_get(variant, "mean") : NULL;
}

static const rp_json *figure(const rp_check *c, const char *part)
{
    const rp_json *metrics = c->verified->facts ? c->verified->facts->metrics : NULL;

    return rp_fact_at(strcmp(part, "folds") ? rp_json_object_get(metrics, part) : mean_over_folds(metrics),
                      c->clause->bound.path);
}

/* What a run was judged by may be what the one that it started from was trained on: nothing here tells. */
void rp_note_started(rp_check *c)
{
    if (*c->verified->parent)
        rp_buffer_text(&c->found, "; it started from another run's states, which may have been trained on these rows");
}

static void put_found(rp_check *c, const char *part, const rp_json *value)
{
    const char *text = rp_json_string_value(value);

    rp_buffer_printf(&c->found, "%s%s has ", c->found.size ? ", " : "", part);
    if (value == NULL || rp_json_is_object(value))
        rp_buffer_text(&c->found, "no such figure");
    else if (rp_json_is_array(value) || (text != NULL && strlen(text) > 40)) /* of any length */
        rp_buffer_text(&c->found, "no number there");
    else
        rp_fact_text(value, &c->found);
}

static void check_gap(rp_check *c)
{
    const rp_json *training = figure(c, "training"), *validation = figure(c, "validation");
    double t, v;

    put_found(c, "training", training);
    put_found(c, "validation", validation);
    c->refuted = c->refuted || !rp_fact_number(training, &t) || !rp_fact_number(validation, &v) ||
                 !(fabs(t - v) <= c->clause->bound.gap);
}

void rp_check_metrics(rp_check *c, rp_buffer *text)
{
    const rp_model_bound *bound = &c->clause->bound;
    const char *part = bound->training ? "training" : bound->folds ? "folds" : "validation";
    double value;

    rp_buffer_text(text, bound->path);
    if (bound->has_low || bound->has_high) {
        const rp_json *found = figure(c, part);

        rp_buffer_printf(text, " of %s", part);
        put_bounds(text, bound);
        put_found(c, part, found);
        c->refuted = !rp_fact_number(found, &value) || !within(bound, value);
    }
    if (bound->has_gap) {
        rp_buffer_text(text, bound->has_low || bound->has_high ? ", and" : "");
        rp_buffer_text(text, " of training and validation no further apart than ");
        put_number(text, bound->gap);
        c->found.size = 0;
        check_gap(c);
    }
    if (!bound->training)
        rp_note_started(c);
}

/* As texts, or as numbers: 0.010 is 0.01. */
static bool same(const char *wanted, const rp_json *value, const char *found)
{
    double a, b;

    return strcmp(wanted, found) == 0 ||
           (rp_parse_f64(&a, wanted, strlen(wanted)) && rp_fact_number(value, &b) && a == b);
}

static bool is_one(const rp_check *c, const rp_json *value, const char *found)
{
    for (size_t i = 0; i < c->clause->words; i++)
        if (same(c->clause->word[i], value, found))
            return true;
    return false;
}

void rp_put_words(const rp_check *c, rp_buffer *text)
{
    for (size_t i = 0; i < c->clause->words; i++)
        rp_buffer_printf(text, "%s%s", i ? ", " : "", c->clause->word[i]);
}

void rp_check_recipe(rp_check *c, rp_buffer *text)
{
    const rp_model_bound *bound = &c->clause->bound;
    const rp_json *recipe = c->verified->facts ? c->verified->facts->recipe : NULL;
    const rp_json *value = rp_fact_at(recipe, bound->path);
    rp_buffer found = {0};
    const char *is;
    double number;

    rp_fact_text(value, &found);
    rp_buffer_u8(&found, 0);
    c->found.failed = c->found.failed || found.failed;
    is = found.failed || *found.data == '\0' ? "a section" : (char *)found.data;
    rp_buffer_printf(text, "the recipe's %s", bound->path);
    put_bounds(text, bound);
    if (c->clause->words)
        rp_buffer_text(text, c->clause->words > 1 ? " one of " : " is ");
    rp_put_words(c, text);
    rp_buffer_text(text, bound->absent ? " is not there" : "");
    if (recipe == NULL)
        rp_buffer_text(&c->found, "no recipe that can be read");
    else if (value == NULL)
        rp_buffer_text(&c->found, "it is not there");
    else
        rp_buffer_printf(&c->found, "it is %.*s", rp_fits(is, 200), is);
    if (bound->absent)
        c->refuted = recipe == NULL || value != NULL;
    else if (bound->has_low || bound->has_high)
        c->refuted = !rp_fact_number(value, &number) || !within(bound, number);
    else
        c->refuted = value == NULL || found.failed || !is_one(c, value, (char *)found.data);
    rp_buffer_free(&found);
}

/* ---- the card ---- */

static const char *on_card(const rp_check *c, const char *key)
{
    const rp_json *recipe = c->verified->facts ? c->verified->facts->recipe : NULL;

    return rp_json_string_value(rp_json_object_get(rp_json_object_get(recipe, "card"), key));
}

/* Whether there is more than blanks: space and line feed, U+00A0, U+1680, U+2000 to U+200A, U+202F, U+205F, U+3000.
 * What is not seen at all a recipe does not take. */
static bool says_something(const char *text)
{
    static const char *const blank[] = {" ",      "\n",     "\u00a0", "\u1680", "\u2000", "\u2001",
                                        "\u2002", "\u2003", "\u2004", "\u2005", "\u2006", "\u2007",
                                        "\u2008", "\u2009", "\u200a", "\u202f", "\u205f", "\u3000"};
    size_t i = 0;

    while (text && *text) {
        for (i = 0; i < sizeof blank / sizeof *blank && strncmp(text, blank[i], strlen(blank[i])) != 0; i++)
            ;
        if (i == sizeof blank / sizeof *blank)
            return true;
        text += strlen(blank[i]);
    }
    return false;
}

void rp_check_card(rp_check *c, rp_buffer *text)
{
    rp_buffer_text(text, "its recipe's card says ");
    rp_put_words(c, text);
    for (size_t i = 0; i < c->clause->words; i++) {
        if (says_something(on_card(c, c->clause->word[i])))
            continue;
        rp_buffer_printf(&c->found, "%s%s", c->found.size ? ", " : "it does not say ", c->clause->word[i]);
        c->refuted = true;
    }
    if (c->found.size == 0)
        rp_buffer_text(&c->found, "it does");
}

/* The whole day counts. */
void rp_check_valid(rp_check *c, rp_buffer *text)
{
    const char *until = on_card(c, "valid_until");
    char moment[RP_MOMENT_TEXT] = "";
    int64_t last = 0;

    rp_buffer_text(text, "valid, by its recipe's card");
    if (until != NULL && strlen(until) == 10) {
        memcpy(moment, until, 10);
        memcpy(moment + 10, "T23:59:59Z", 11);
    }
    c->refuted = !rp_moment_parse(&last, moment) || last < (int64_t)time(NULL);
    if (until == NULL)
        rp_buffer_text(&c->found, "it does not say valid_until");
    else
        rp_buffer_printf(&c->found, "until %.*s", rp_fits(until, 40), until);
}

static uint64_t count_kind(const rp_json *variants, const char *kind)
{
    uint64_t found = 0;

    for (size_t i = 0; i < rp_json_array_size(variants); i++) {
        const char *one = rp_json_string_value(rp_json_object_get(rp_json_array_get(variants, i), "kind"));

        found += one != NULL && strcmp(one, kind) == 0;
    }
    return found;
}

static bool same_at(const rp_json *a, const rp_json *b, const char *key)
{
    const rp_json *x = rp_json_object_get(a, key), *y = rp_json_object_get(b, key);

    return x == NULL || y == NULL ? x == y : rp_json_equal(x, y);
}

/* Whether the member of trials has those that the metrics sum up. */
static bool trials_agree(const rp_json *summary, const rp_json *trials)
{
    const rp_json *a = rp_json_object_get(summary, "variants"), *b = rp_json_object_get(trials, "variants");
    bool same = rp_json_array_size(a) == rp_json_array_size(b);

    if (summary == NULL)
        return trials == NULL;
    for (const char *const *key = (const char *const[]){"number", "chosen", "folds", NULL}; *key; key++)
        same = same && same_at(summary, trials, *key);
    for (size_t i = 0; same && i < rp_json_array_size(a); i++)
        for (const char *const *key = (const char *const[]){"kind", "set", "mean", NULL}; *key; key++)
            same = same && same_at(rp_json_array_get(a, i), rp_json_array_get(b, i), *key);
    return same;
}

/* What was tried outside of the run no archive shows; that of this one's trials none is missing, a replay does. */
void rp_check_trials(rp_check *c, rp_buffer *text)
{
    const rp_clause *clause = c->clause;
    const rp_json *metrics = c->verified->facts ? c->verified->facts->metrics : NULL;
    const rp_json *trials = rp_json_object_get(metrics, "trials"), *variants = rp_json_object_get(trials, "variants");
    const double number = trials ? (double)rp_json_integer_value(rp_json_object_get(trials, "number")) : 0;
    const uint64_t seeds = count_kind(variants, "seed"), linear = count_kind(variants, "linear");
    const bool agree = metrics == NULL || trials_agree(trials, c->verified->facts->trials);

    rp_buffer_text(text, "trials before the run");
    put_bounds(text, &clause->bound);
    if (clause->seeds)
        rp_buffer_printf(text, ", %llu other seeds among them", (unsigned long long)clause->seeds);
    if (clause->linear)
        rp_buffer_text(text, ", the linear challenger among them");
    c->refuted = metrics == NULL || !agree || !within(&clause->bound, number) || seeds < clause->seeds ||
                 (clause->linear && linear == 0);
    if (metrics == NULL)
        rp_buffer_text(&c->found, "no metrics that can be read");
    else if (!agree)
        rp_buffer_text(&c->found, "outputs/metrics.json and outputs/trials.json do not have the same trials");
    else
        rp_buffer_printf(&c->found, "it records %.0f trials, %llu of them other seeds, %s linear challenger%s", number,
                         (unsigned long long)seeds, linear ? "one a" : "none a",
                         rp_fact_at(c->verified->facts->recipe, "predecessor")
                             ? "; those of its predecessor, whose settings it may have, are not among them"
                         : *c->verified->parent
                             ? "; those of the run that it started from, whose states it has, are not among them"
                             : "");
    if (linear && c->clause->linear && rp_json_is_false(rp_fact_at(c->verified->facts->recipe, "data.standardize")))
        rp_buffer_text(&c->found, "; that one's columns are not standardised (data.standardize), so that its penalty "
                                  "hangs on their units and may have crushed it");
}
