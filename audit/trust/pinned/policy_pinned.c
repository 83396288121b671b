/* SPDX-License-Identifier: Apache-2.0
 * Clauses of a policy on what computed a run: its profile, the library of a pinned one, and that nothing was emulated.
 * Of a portable run the line counts that it started from: one epoch behind a pinned run makes that one no other. */
#include <stdio.h>
#include <string.h>

#include "audit/trust/facts.h"
#include "audit/trust/policy_check.h"

static const char *const rules[RP_LIBRARY_RULES] = {"name", "version", "sha256", "chip"};

/* ---- the profile ---- */

/* The states that came first are in the run's own, so who can make those again matters as much. That a child says
 * nothing of a pinned one before it is its maker's word, until the parent is looked at. */
static void put_line(rp_check *c, const rp_pinned_to *to)
{
    rp_buffer_printf(&c->found, "; it started from archive %s", c->verified->parent);
    if (*to->line == '\0')
        rp_buffer_text(&c->found, c->verified->parent_given
                                      ? ", which is portable and names none pinned before it"
                                      : ", whose profile is unknown from this archive alone: it names none pinned, and "
                                        "verify or replay with --parent shows it");
    else if (strcmp(to->line_id, c->verified->parent) == 0)
        rp_buffer_printf(&c->found, ", which is pinned to %s", to->line);
    else
        rp_buffer_printf(&c->found, ", in whose line archive %s is pinned to %s", to->line_id, to->line);
}

/* A pinned run is repeated on one chip with one library alone: whoever cannot has only the word of those who can. */
void rp_check_profile(rp_check *c, rp_buffer *text)
{
    const bool pinned = strcmp(c->verified->profile, "pinned") == 0;
    const rp_pinned_to *to = &c->verified->pinned;

    rp_buffer_text(text, c->clause->pinned ? "portable, or pinned to one host's library"
                                           : "portable, down to the first run of its line: anyone can replay it");
    rp_buffer_text(&c->found, pinned ? "it is pinned" : "it is portable");
    if (*to->run != '\0') /* which may be nobody's chip */
        rp_buffer_printf(&c->found, " to %s", to->run);
    if (*c->verified->parent != '\0')
        put_line(c, to);
    c->refuted = (pinned || *to->line != '\0') && !c->clause->pinned;
    if (c->refuted)
        rp_buffer_text(&c->found, " (profile: pinned in a policy takes such runs)");
}

/* ---- the library ---- */

static void put_rules(const rp_clause *clause, rp_buffer *text)
{
    static const char *const words[RP_LIBRARY_RULES] = {"the library", "version", "SHA-256", "on"};
    size_t k = 0;

    rp_buffer_text(text, "pinned, where it is, to");
    for (int rule = 0; rule < RP_LIBRARY_RULES; rule++) {
        if (clause->library[rule] > 0)
            rp_buffer_printf(text, " %s", words[rule]);
        for (size_t i = 0; i < clause->library[rule]; i++)
            rp_buffer_printf(text, "%s %s", i ? " or" : "", clause->word[k++]);
    }
}

static const rp_json *at(const rp_json *pinned, const char *outer, const char *key)
{
    return rp_json_object_get(rp_json_object_get(pinned, outer), key);
}

/* The first rule that none of its values meets; RP_LIBRARY_RULES: all are met. */
static rp_library_rule first_unmet(const rp_clause *clause, const char *const value[RP_LIBRARY_RULES])
{
    size_t k = 0;

    for (int rule = 0; rule < RP_LIBRARY_RULES; rule++) {
        bool met = clause->library[rule] == 0;

        for (size_t i = 0; i < clause->library[rule]; i++, k++)
            met = met || strcmp(clause->word[k], value[rule]) == 0;
        if (!met)
            return (rp_library_rule)rule;
    }
    return RP_LIBRARY_RULES;
}

/* Of a checked identity, or of that which a line names. */
static void hold_library(rp_check *c, const rp_json *pinned, const char *whose)
{
    const rp_json *version = at(pinned, "library", "version");
    char number[24];
    const char *const value[RP_LIBRARY_RULES] = {rp_json_string_value(at(pinned, "library", "name")), number,
                                                 rp_json_string_value(at(pinned, "library", "sha256")),
                                                 rp_json_string_value(at(pinned, "chip", "name"))};
    rp_library_rule unmet;

    if (pinned == NULL)
        return;
    (void)snprintf(number, sizeof number, "%lld", (long long)rp_json_integer_value(version));
    unmet = first_unmet(c->clause, value);
    rp_buffer_printf(&c->found, "%s%s to %s %s, SHA-256 %s, on %s", c->found.size ? "; " : "", whose, value[0], number,
                     value[2], value[3]);
    if (unmet != RP_LIBRARY_RULES) {
        rp_buffer_printf(&c->found, ": another %s", rules[unmet]);
        c->refuted = true;
    }
}

void rp_check_library(rp_check *c, rp_buffer *text)
{
    const rp_run_facts *facts = c->verified->facts;

    put_rules(c->clause, text);
    if (facts == NULL) {
        rp_buffer_text(&c->found, "what it is pinned to was not read");
        c->refuted = true;
        return;
    }
    hold_library(c, facts->pinned, "it is pinned");
    hold_library(c, facts->line, "what it started from is pinned");
    if (facts->line != NULL && !c->verified->parent_met)
        rp_buffer_text(&c->found, "; what lies behind that one its own archive says (parent: met asks)");
    if (c->found.size == 0)
        rp_buffer_text(&c->found, "it is portable: no library computed its products");
}

/* ---- emulation ---- */

/* What identifies a device begins with its kind. */
static bool is_emulated(const char *device)
{
    static const char kind[] = "emulated";

    return strncmp(device, kind, sizeof kind - 1) == 0;
}

static void look_at_identity(rp_check *c, const rp_json *pinned, const char *whose)
{
    const char *driver = rp_json_string_value(at(pinned, "driver", "name")),
               *library = rp_json_string_value(at(pinned, "library", "name"));

    if (pinned == NULL || (!is_emulated(driver) && strcmp(library, "stand-in") != 0))
        return;
    rp_buffer_printf(&c->found, "%s%s is pinned to the driver %s and the library %s", c->found.size ? "; " : "", whose,
                     driver, library);
    c->refuted = true;
}

void rp_check_emulated(rp_check *c, rp_buffer *text)
{
    const rp_verification *v = c->verified;
    bool said = false;

    rp_buffer_text(text, "made, and replayed, on no emulated device and with no stand-in library, by the word of its "
                         "provenance and of verdicts");
    if (v->facts != NULL) {
        look_at_identity(c, v->facts->pinned, "it");
        look_at_identity(c, v->facts->line, "what it started from");
    }
    c->refuted = c->refuted || v->facts == NULL;
    for (size_t i = 0; i < v->statements; i++) {
        const rp_verified_statement *one = &v->statement[i];
        const bool made = one->kind == RP_STATEMENT_PROVENANCE;
        const char *device = made ? one->device : one->verdict ? one->verdict->device : "";

        said = said || made;
        if (is_emulated(device))
            rp_evidence_note_statement(c, i, made ? "made it on an emulated device" : "replayed it on one");
        c->refuted = c->refuted || is_emulated(device);
    }
    if (!said) {
        rp_buffer_printf(&c->found, "%sno provenance that counts says what computed it", c->found.size ? "; " : "");
        c->refuted = true;
    }
    if (c->found.size == 0)
        rp_buffer_text(&c->found, "none of them says one");
}
