/* SPDX-License-Identifier: Apache-2.0
 * The tables of the commands as JSON: what other tools, and our own tests, know the command line by. */
#include "cli/manual/environment.h"
#include "cli/manual/manual.h"
#include "cli/print.h"

static void put_option(rp_buffer *out, const rp_option *o)
{
    const char letter[2] = {o->letter, '\0'};

    rp_put_open(out, NULL, '{');
    rp_put_text(out, "argument", o->argument);
    rp_put_text(out, "help", o->help);
    rp_put_text(out, "letter", o->letter ? letter : NULL);
    rp_put_text(out, "name", o->name);
    rp_put_bool(out, "repeatable", o->kind == RP_OPTION_LIST);
    rp_put_bool(out, "required", o->required);
    rp_put_close(out, '}');
}

static void put_entry(void *self, const rp_usage_entry *entry)
{
    rp_buffer *out = self;

    rp_put_open(out, NULL, '{');
    rp_put_text(out, "about", entry->usage->about);
    rp_put_open(out, "actions", '[');
    for (size_t i = 0; i < entry->actions; i++)
        rp_put_text(out, NULL, entry->action[i]);
    rp_put_close(out, ']');
    rp_put_text(out, "example", entry->usage->example);
    rp_put_text(out, "name", entry->name);
    rp_put_open(out, "operands", '[');
    for (size_t i = 0; i < entry->usage->operands; i++)
        rp_put_text(out, NULL, entry->usage->operand[i]);
    rp_put_close(out, ']');
    rp_put_open(out, "options", '[');
    for (size_t i = 0; i < rp_usage_options(entry); i++)
        put_option(out, rp_usage_option(entry, i));
    rp_put_close(out, ']');
    rp_put_text(out, "summary", entry->summary);
    rp_put_text(out, "synopsis", entry->usage->synopsis);
    rp_put_close(out, '}');
}

void rp_usages_put_json(rp_buffer *out, const rp_command *only)
{
    rp_put_open(out, NULL, '{');
    rp_put_open(out, "commands", '[');
    rp_usages_visit(only, put_entry, out);
    rp_put_close(out, ']');
    rp_put_open(out, "environment", '[');
    for (size_t i = 0; i < rp_environment_count; i++) {
        rp_put_open(out, NULL, '{');
        rp_put_text(out, "help", rp_environment[i].help);
        rp_put_text(out, "name", rp_environment[i].name);
        rp_put_close(out, '}');
    }
    rp_put_close(out, ']');
    rp_put_close(out, '}');
}
