/* SPDX-License-Identifier: Apache-2.0
 * Clauses of a policy on the run itself: what kind it is, where its first states came from, and which columns it takes
 * in. Who signed what is the matter of the others (policy_clauses.c, policy_check.c). */
#include <stdio.h>
#include <string.h>

#include "audit/trust/facts.h"
#include "audit/trust/policy_check.h"
#include "base/text.h"

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

/* Whether a run that names no parent started from nothing all the same: only what draws its first states by keys of a
 * recipe does. */
static const char *starts_unseen(const rp_verification *v)
{
    if (strcmp(v->kind, "api") == 0)
        return "the first states of a C API run are taken as given: they may be another run's (kind: recipe rules that "
               "out)";
    if (v->facts == NULL || v->facts->recipe == NULL)
        return "whether its recipe makes its first states by a program is not known: there is no recipe that can be "
               "read";
    if (rp_fact_at(v->facts->recipe, "weights") != NULL)
        return "its first states are the weights of a file, which can be another run's";
    if (rp_fact_at(v->facts->recipe, "model.initial") != NULL)
        return "its first states are what model.initial of its recipe makes, which can hold another run's";
    return NULL;
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
    if (*v->parent == '\0') {
        const char *unseen = c->clause->parent == RP_PARENT_NONE ? starts_unseen(v) : NULL;

        rp_buffer_printf(&c->found, "it names no parent%s%s", unseen ? ", but " : "", unseen ? unseen : "");
        c->refuted = unseen != NULL;
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

void rp_check_run_kind(rp_check *c, rp_buffer *text)
{
    rp_buffer_printf(text, "a run of kind %s", c->clause->run_kind);
    rp_buffer_printf(&c->found, "it is of kind %s", *c->verified->kind ? c->verified->kind : "unknown");
    c->refuted = strcmp(c->verified->kind, c->clause->run_kind) != 0;
    if (c->refuted && strcmp(c->verified->kind, "api") == 0)
        rp_buffer_text(&c->found, ": what its programs compute, and what it calls a loss, is what its author wrote");
    if (c->verified->facts && rp_fact_at(c->verified->facts->recipe, "model.program") != NULL)
        rp_buffer_text(&c->found, ", and its model is programs: what they compute, and what its figures are computed "
                                  "by, is what their author wrote");
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

/* ---- columns ---- */

enum { NUMBER = 24 };

/* A column by its name, or where its table has no header by its number from 0, which recipes may give in any case. */
static const char *name_of(const rp_json *ref, const rp_json *columns, char number[NUMBER])
{
    const char *name = rp_json_string_value(ref);
    const int64_t i = rp_json_integer_value(ref);

    if (name != NULL || !rp_json_is_integer(ref) || i < 0)
        return name;
    name = rp_json_string_value(rp_json_object_get(rp_json_array_get(columns, (size_t)i), "name"));
    if (name == NULL)
        (void)snprintf(number, NUMBER, "%lld", (long long)i);
    return name != NULL ? name : number;
}

static bool is_kind(const rp_json *column, const char *kind)
{
    const char *found = rp_json_string_value(rp_json_object_get(column, "kind"));

    return found != NULL && strcmp(found, kind) == 0;
}

/* Whether there is a date of that name: asked once a word, as a schema may have as many columns as somebody likes. */
static bool is_date(const char *word, const rp_json *columns)
{
    for (size_t i = 0; i < rp_json_array_size(columns); i++) {
        const rp_json *column = rp_json_array_get(columns, i);
        const char *name = rp_json_string_value(rp_json_object_get(column, "name"));

        if (name != NULL && strcmp(name, word) == 0 && is_kind(column, "date"))
            return true;
    }
    return false;
}

typedef struct asked {
    const rp_json *columns;
    bool date[RP_POLICY_WORDS]; /* the clause's word is the name of one */
} asked;

/* Whether the clause's word k means the column of that name: a date's means its parts (NAME.month) too. */
static bool means(const rp_check *c, const asked *a, size_t k, const char *name)
{
    const char *word = c->clause->word[k];
    const size_t n = strlen(word);

    return strncmp(word, name, n) == 0 && (name[n] == '\0' || (name[n] == '.' && a->date[k]));
}

/* The clause's word for a column of the recipe, or NULL. */
static const char *word_for(const rp_check *c, const rp_json *ref, const asked *a)
{
    char number[NUMBER];
    const char *name = name_of(ref, a->columns, number);

    for (size_t k = 0; name != NULL && k < c->clause->words; k++)
        if (means(c, a, k, name))
            return c->clause->word[k];
    return NULL;
}

/* Columns that choose or weigh rows shape the model too. Which rows train hangs on others, of which the model may know
 * or not: that is told. */
static void note_rules_on_rows(rp_check *c, const asked *a)
{
    static const char *const weighs[] = {"weight", "denominator"}, *const parts[] = {"split", "time", "group"};
    const rp_json *data = rp_fact_at(c->verified->facts ? c->verified->facts->recipe : NULL, "data");
    const rp_json *where = rp_json_object_get(data, "where");
    const char *word;

    for (size_t i = 0; i < rp_json_array_size(where); i++)
        if ((word = word_for(c, rp_json_object_get(rp_json_array_get(where, i), "column"), a)) != NULL) {
            c->refuted = true;
            rp_buffer_printf(&c->found, "; rows are chosen by %s", word);
        }
    for (size_t i = 0; i < sizeof weighs / sizeof *weighs; i++)
        if ((word = word_for(c, rp_json_object_get(data, weighs[i]), a)) != NULL) {
            c->refuted = true;
            rp_buffer_printf(&c->found, "; rows are weighed by %s", word);
        }
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if ((word = word_for(c, rp_json_object_get(data, parts[i]), a)) != NULL)
            rp_buffer_printf(&c->found, "; which rows train goes by %s (data.%s)", word, parts[i]);
}

/* A column's number as it is told: 3, not 03. Another text would be no column's, and so never taken in. */
static bool is_number(const char *word)
{
    return *word && strspn(word, "0123456789") == strlen(word) && (*word != '0' || word[1] == '\0');
}

/* Names say nothing of columns that have none. */
static void refuse_names(rp_check *c)
{
    for (size_t k = 0; k < c->clause->words; k++) {
        const char *word = c->clause->word[k];

        if (is_number(word))
            continue;
        c->refuted = true;
        rp_buffer_printf(&c->found,
                         "; its table has no header, so that nobody can tell whether one is \"%s\": give "
                         "their numbers, from 0",
                         word);
        return;
    }
}

/* A name that is nobody's may be a slip of the pen: it is not used, as was asked, and that is told. */
static void note_strangers(rp_check *c, const asked *a)
{
    enum { SHOWN = 8 };
    size_t told = 0;

    for (size_t k = 0; k < c->clause->words && told < SHOWN; k++) {
        bool known = false;

        for (size_t i = 0; i < rp_json_array_size(a->columns) && !known; i++) {
            const char *name = rp_json_string_value(rp_json_object_get(rp_json_array_get(a->columns, i), "name"));

            known = name != NULL && means(c, a, k, name);
        }
        if (!known)
            rp_buffer_printf(&c->found, "%s%s", told++ ? ", " : "; its table has no column ", c->clause->word[k]);
    }
}

/* A column that is taken in under another name cannot be told from here: the names of all that are stand in the text.
 */
void rp_check_columns(rp_check *c, rp_buffer *text)
{
    enum { SHOWN = 40 };
    const rp_json *columns = c->verified->facts ? rp_json_object_get(c->verified->facts->schema, "columns") : NULL;
    asked a = {.columns = columns};
    bool nameless = false;
    size_t taken = 0;

    for (size_t k = 0; k < c->clause->words; k++)
        a.date[k] = is_date(c->clause->word[k], columns);
    rp_buffer_text(text, "takes in none of the columns ");
    rp_put_words(c, text);
    c->refuted = !rp_json_is_array(columns);
    if (c->refuted)
        rp_buffer_text(&c->found, "no schema that can be read");
    for (size_t i = 0; i < rp_json_array_size(columns); i++) {
        const rp_json *column = rp_json_array_get(columns, i);
        const char *name = rp_json_string_value(rp_json_object_get(column, "name"));
        char number[NUMBER];

        nameless = nameless || name == NULL;
        if (is_kind(column, "ignore") || is_kind(column, "target"))
            continue;
        if (name == NULL) {
            (void)snprintf(number, sizeof number, "%zu", i);
            name = number;
        }
        for (size_t k = 0; k < c->clause->words; k++)
            c->refuted = c->refuted || means(c, &a, k, name);
        if (taken++ < SHOWN)
            rp_buffer_printf(&c->found, "%s%.*s", taken == 1 ? "it takes in " : ", ", rp_fits(name, 100), name);
    }
    if (taken > SHOWN)
        rp_buffer_printf(&c->found, " and %zu more", taken - SHOWN);
    if (taken == 0 && !c->refuted)
        rp_buffer_text(&c->found, "it takes in no column");
    if (nameless)
        refuse_names(c);
    else if (rp_json_is_array(columns))
        note_strangers(c, &a);
    note_rules_on_rows(c, &a);
}
