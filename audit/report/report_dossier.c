/* SPDX-License-Identifier: Apache-2.0
 * A dossier: heading by heading what a text asks, what the archive shows for it with member and value, and what is left
 * to the firm. It supports; whether anything is complied with is not for a program to say. */
#include "audit/report/report_dossier.h"

#include <string.h>

#include "rp/statement.h"

enum { STATED_MAX = 6 };

static void put_card(rp_report_view *r)
{
    const rp_json *card = r->recipe ? rp_json_object_get(r->recipe->json, "card") : NULL;
    const char *key;
    rp_json *value;
    size_t shown = 0;

    if (!rp_json_is_object(card)) {
        rp_buffer_text(r->out,
                       "<strong>No card</strong>: owner, version, limits, oversight and monitoring are not stated");
        return;
    }
    rp_json_object_foreach (card, key, value) {
        if (!rp_json_is_string(value) || shown == 32)
            continue;
        rp_buffer_text(r->out, shown++ ? "; " : "Card: ");
        rp_html_name(r->out, key);
        rp_buffer_text(r->out, " ");
        rp_html_long(r->out, rp_json_string_value(value));
    }
}

static void put_data(rp_report_view *r)
{
    const rp_member *member = rp_archive_find(r->archive, RP_TABLE_MEMBER);
    char hex[RP_DIGEST_HEX];

    if (!r->data.table || !member) {
        rp_buffer_text(r->out, rp_report_withheld(r, RP_TABLE_MEMBER)
                                   ? "The table was left out of the archive, bound by a salted digest"
                                   : "No table that can be read in the archive");
        return;
    }
    rp_digest_hex(hex, &member->digest);
    rp_html_count(r->out, r->data.table->rows);
    rp_buffer_printf(r->out, " rows of %zu columns, SHA-256 <span class=\"hash\">%s</span>", r->schema->n_columns, hex);
}

static void put_quality(rp_report_view *r)
{
    const rp_json *list = rp_json_object_get(r->data.profile, "findings"), *finding;
    size_t i, warnings = 0;

    if (!r->data.profile) {
        rp_buffer_text(r->out, "Not known: the table cannot be looked at");
        return;
    }
    rp_json_array_foreach (list, i, finding) {
        const char *level = rp_json_string_value(rp_json_object_get(finding, "level"));

        warnings += level && strcmp(level, "warning") == 0;
    }
    rp_buffer_printf(
        r->out,
        "Findings by the rules of CONTRACT 9.9: %zu, of them warnings: %zu; these and what was counted by the "
        "eight dimensions of data quality stand under Data",
        rp_json_array_size(list), warnings);
}

static void put_settings(rp_report_view *r)
{
    if (!r->recipe) {
        rp_buffer_text(r->out, "No recipe: first states and feeds are as given");
        return;
    }
    rp_buffer_printf(r->out, "Seed %llu, from which first weights and split are drawn",
                     (unsigned long long)r->recipe->seed);
    if (r->recipe->train.shuffle)
        rp_buffer_text(r->out, ", and the order of the rows in every epoch (CONTRACT 6)");
    rp_buffer_text(r->out, "; every default written out");
}

static void put_programs(rp_report_view *r)
{
    size_t n = 0;

    for (size_t i = 0; i < rp_archive_member_count(r->archive); i++)
        n += rp_member_rank_of(rp_archive_member(r->archive, i)->name) == RP_RANK_PROGRAM;
    rp_buffer_printf(r->out, "%zu distinct programs, operation by operation, each defined to the bit by CONTRACT.md",
                     n);
}

static void put_journal(rp_report_view *r)
{
    rp_html_count(r->out, r->steps);
    rp_buffer_text(r->out, " records, one a step: program, inputs, results, states, loss; root <span class=\"hash\">");
    rp_html_text(r->out,
                 rp_json_string_value(rp_json_object_get(rp_archive_manifest(r->archive)->run, "journal_root")));
    rp_buffer_text(r->out, "</span>");
}

static void put_calibration(rp_report_view *r)
{
    const rp_json *figures = rp_json_object_get(rp_report_main_part(r->metrics), "figures");
    const rp_json *found = rp_json_object_get(figures, "calibration");

    if (!found) {
        rp_buffer_text(r->out, "No figures of calibration: they are those of two classes");
        return;
    }
    rp_buffer_text(r->out, "Brier score ");
    rp_html_real(r->out, rp_json_object_get(found, "brier"));
    rp_buffer_text(r->out, ", Jeffreys p ");
    rp_html_real(r->out, rp_json_object_get(found, "jeffreys_p"));
    rp_buffer_text(r->out, ", Hosmer-Lemeshow p ");
    rp_html_real(r->out, rp_json_object_get(rp_json_object_get(found, "hosmer_lemeshow"), "p"));
}

static void put_coefficients(rp_report_view *r)
{
    rp_buffer_text(r->out, r->coefficients ? "The table of coefficients, under Coefficients"
                           : rp_report_withheld(r, RP_COEFFICIENTS_MEMBER)
                               ? "The table of coefficients was left out of the archive with the data"
                               : "No table of coefficients: the model is not an exact fit");
}

static void put_split(rp_report_view *r)
{
    if (!r->data.table || !r->recipe) {
        rp_buffer_text(r->out, "Not known: the table cannot be looked at");
        return;
    }
    rp_report_split_words(r);
    if (!r->recipe->data.time.given && !r->recipe->data.test_csv)
        rp_buffer_text(r->out, "; no part is of another period unless the file&#39;s order or a column made it so");
}

/* What trials there were before the run; FORMAT 9.8. The recipe says whether there were any, the metrics how many. */
static void put_tried(rp_report_view *r)
{
    const rp_json *trials = rp_json_object_get(r->metrics, "trials");

    if (!r->recipe) {
        rp_buffer_text(r->out, r->problem.recipe.status != RP_OK
                                   ? "Not known: the recipe cannot be read"
                                   : "Not known: a run without a recipe does not say what was tried");
        return;
    }
    if (!rp_recipe_tries(r->recipe)) {
        rp_buffer_text(r->out, "Nothing was tried by this recipe: no search, no challengers, one fold");
        return;
    }
    if (!rp_json_is_object(trials)) {
        rp_buffer_text(r->out,
                       "<strong>Not known</strong>: the recipe tries something before the run, and its metrics, "
                       "which say how often, are not there or cannot be read");
        return;
    }
    rp_html_count(r->out, (uint64_t)rp_json_integer_value(rp_json_object_get(trials, "number")));
    rp_buffer_text(r->out, " whole trainings before this one, every one recorded: under What was tried");
}

/* By the times that they say, whole seconds; of monitorings then by their places in the chain. */
static bool later(const rp_stated_figures *a, const rp_stated_figures *b)
{
    const int order = strcmp(a->time, b->time);

    return order > 0 || (order == 0 && a->number > b->number);
}

/* Statements of a kind by keys that the page trusts: by the time they say, the newest last, of which the last are
 * kept. An archive has them by their names, which are digests. Returns how many there are. */
static size_t stated(const rp_report_view *r, rp_statement_kind kind, const rp_stated_figures *last[STATED_MAX])
{
    size_t all = 0, kept = 0;

    for (size_t i = 0; r->verified && i < r->verified->statements; i++) {
        const rp_verified_statement *one = &r->verified->statement[i];
        size_t at;

        if (one->kind != kind || !one->figures || !one->figures->predicate)
            continue;
        all++;
        for (at = kept; at > 0 && later(last[at - 1], one->figures); at--)
            ;
        if (kept < STATED_MAX)
            memmove(&last[at + 1], &last[at], (kept++ - at) * sizeof *last);
        else if (at-- > 0)
            memmove(last, last + 1, at * sizeof *last);
        else
            continue;
        last[at] = one->figures;
    }
    return all;
}

static void put_stated(rp_report_view *r, rp_statement_kind kind, const char *none)
{
    const rp_stated_figures *last[STATED_MAX];
    const size_t all = stated(r, kind, last), shown = all < STATED_MAX ? all : STATED_MAX;

    for (size_t i = 0; i < shown; i++) {
        rp_buffer_text(r->out, i ? "<br/>" : "");
        if (kind == RP_STATEMENT_EXPLANATION)
            rp_report_explanation_words(r->out, last[i]);
        else
            rp_report_figures_words(r->out, last[i]);
    }
    if (all == 0)
        rp_buffer_text(r->out, none);
    if (all > shown)
        rp_buffer_printf(r->out, "<p class=\"note\">The last %zu of %zu statements.</p>\n", shown, all);
}

static void put_validated(rp_report_view *r)
{
    put_stated(r, RP_STATEMENT_VALIDATION, "<strong>None</strong>: no validation by a trusted key is attached");
}

static void put_monitored(rp_report_view *r)
{
    put_stated(r, RP_STATEMENT_MONITORING, "<strong>None</strong>: no monitoring by a trusted key is attached");
}

static void put_explained(rp_report_view *r)
{
    put_stated(r, RP_STATEMENT_EXPLANATION, "<strong>None</strong>: no explanation by a trusted key is attached");
}

static void put_retrained(rp_report_view *r)
{
    put_stated(r, RP_STATEMENT_RETRAINING, "No comparison with a predecessor by a trusted key is attached");
}

static void put_findings(rp_report_view *r)
{
    size_t open = 0, all = 0;

    for (size_t i = 0; r->verified && i < r->verified->statements; i++) {
        const rp_verified_statement *one = &r->verified->statement[i];

        all += one->finding && !one->finding->closed;
        open += one->finding && !one->finding->closed && !rp_finding_settled(r->verified, i);
    }
    rp_buffer_printf(r->out, "Findings by trusted keys: %zu, of which %zu open", all, open);
}

static void put_reference(rp_report_view *r)
{
    rp_buffer_text(r->out, r->reference
                               ? "Edges and counts of scores and features of the training rows, frozen: what later "
                                 "rows are held against"
                               : "None in the archive");
}

static void put_signed(rp_report_view *r)
{
    if (!r->verified) {
        rp_buffer_text(r->out, "<strong>Not checked</strong>: no trusted key was given for this page");
        return;
    }
    rp_buffer_printf(r->out, "%zu statements by keys that the maker of this page trusts, each with its signer's time",
                     r->verified->statements);
}

static void put_environment(rp_report_view *r)
{
    rp_buffer_text(r->out, rp_archive_find(r->archive, RP_RUN_STATEMENT)
                               ? "Host, versions and times as the signer states them, under Environment"
                               : "Not recorded: there is no provenance");
}

static void put_id(rp_report_view *r)
{
    rp_buffer_printf(r->out, "Archive id <span class=\"hash\">%s</span>, SHA-256 of the list of all members' digests",
                     rp_archive_id(r->archive));
}

typedef struct source {
    const char *member;
    void (*put)(rp_report_view *);
    rp_report_question question; /* where put is NULL */
    const char *label;           /* before its answer */
} source;

static const source sources[] = {
    [RP_SHOWS_MODEL] = {RP_RECIPE_MEMBER, NULL, RP_ASK_MODEL, "Model"},
    [RP_SHOWS_USE] = {RP_RECIPE_MEMBER, NULL, RP_ASK_USE, "Use"},
    [RP_SHOWS_CARD] = {RP_RECIPE_MEMBER, put_card, 0, NULL},
    [RP_SHOWS_DATA] = {RP_TABLE_MEMBER, put_data, 0, NULL},
    [RP_SHOWS_QUALITY] = {RP_TABLE_MEMBER, put_quality, 0, NULL},
    [RP_SHOWS_SPLIT] = {RP_METRICS_MEMBER, put_split, 0, NULL},
    [RP_SHOWS_SETTINGS] = {RP_RECIPE_MEMBER, put_settings, 0, NULL},
    [RP_SHOWS_PROGRAMS] = {RP_PROGRAMS, put_programs, 0, NULL},
    [RP_SHOWS_JOURNAL] = {RP_JOURNAL_MEMBER, put_journal, 0, NULL},
    [RP_SHOWS_GOOD] = {RP_METRICS_MEMBER, NULL, RP_ASK_GOOD, "Performance"},
    [RP_SHOWS_TRIVIAL] = {RP_METRICS_MEMBER, NULL, RP_ASK_TRIVIAL, "Against the trivial model"},
    [RP_SHOWS_CALIBRATION] = {RP_METRICS_MEMBER, put_calibration, 0, NULL},
    [RP_SHOWS_COEFFICIENTS] = {RP_COEFFICIENTS_MEMBER, put_coefficients, 0, NULL},
    [RP_SHOWS_STABLE] = {RP_METRICS_MEMBER, NULL, RP_ASK_STABLE, "Stability"},
    [RP_SHOWS_FAIR] = {RP_METRICS_MEMBER, NULL, RP_ASK_FAIR, "Groups"},
    [RP_SHOWS_PARENT] = {RP_MANIFEST_NAME, NULL, RP_ASK_PARENT, "Parent"},
    [RP_SHOWS_REFERENCE] = {RP_REFERENCE_MEMBER, put_reference, 0, NULL},
    [RP_SHOWS_SIGNED] = {RP_SIGNATURES, put_signed, 0, NULL},
    [RP_SHOWS_REPLAYED] = {RP_SIGNATURES, NULL, RP_ASK_REPLAYED, "Replayed"},
    [RP_SHOWS_DECIDED] = {RP_SIGNATURES, NULL, RP_ASK_DECIDED, "Decided"},
    [RP_SHOWS_ENVIRONMENT] = {RP_RUN_STATEMENT, put_environment, 0, NULL},
    [RP_SHOWS_ID] = {RP_MANIFEST_NAME, put_id, 0, NULL},
    [RP_SHOWS_TRIED] = {RP_METRICS_MEMBER, put_tried, 0, NULL},
    [RP_SHOWS_VALIDATED] = {RP_SIGNATURES, put_validated, 0, NULL},
    [RP_SHOWS_MONITORED] = {RP_SIGNATURES, put_monitored, 0, NULL},
    [RP_SHOWS_EXPLAINED] = {RP_SIGNATURES, put_explained, 0, NULL},
    [RP_SHOWS_RETRAINED] = {RP_SIGNATURES, put_retrained, 0, NULL},
    [RP_SHOWS_FINDINGS] = {RP_SIGNATURES, put_findings, 0, NULL},
};

static void put_answer(rp_report_view *r, const source *s)
{
    rp_buffer_printf(r->out, "%s: ", s->label);
    rp_report_answer(r, s->question);
}

static void put_evidence(rp_report_view *r, rp_evidence shows)
{
    const source *s = &sources[shows];

    rp_buffer_text(r->out, "<li>");
    if (s->put)
        s->put(r);
    else
        put_answer(r, s);
    rp_buffer_printf(r->out, " <span class=\"soft\">[%s]</span></li>\n", s->member);
}

static void put_heading(rp_report_view *r, const rp_dossier_heading *h)
{
    rp_buffer_printf(
        r->out,
        "<h3>%s</h3>\n<table class=\"facts\">\n<tbody>\n<tr><th scope=\"row\">Asks for</th><td>%s</td></tr>\n"
        "<tr><th scope=\"row\">The archive supports it with</th><td><ul class=\"evidence\">\n",
        h->reference, h->asks);
    for (size_t i = 0; i < RP_EVIDENCE_MAX && h->shows[i] != RP_SHOWS_NOTHING; i++)
        put_evidence(r, h->shows[i]);
    rp_buffer_text(r->out, "</ul></td></tr>\n<tr><th scope=\"row\">Left to the firm</th><td>");
    rp_html_long(r->out, h->left);
    rp_buffer_text(r->out, "</td></tr>\n</tbody>\n</table>\n");
}

void rp_report_dossier(rp_report_view *r)
{
    const rp_dossier_text *text = &rp_dossier_texts[r->dossier];

    rp_html_section(r->out, "dossier", "Dossier");
    rp_buffer_printf(r->out, "<p><strong>%s.</strong> ", text->title);
    rp_html_long(r->out, text->read);
    rp_buffer_text(
        r->out, "</p>\n<p>Below, the evidence of this archive in the order of that text: what it asks, in our words; "
                "what the archive shows, with the member that holds it; what is left to the firm. It "
                "<em>supports</em>; whether the text is met is for people to say.</p>\n");
    for (size_t i = 0; i < text->headings; i++)
        put_heading(r, &text->heading[i]);
}
