/* SPDX-License-Identifier: Apache-2.0
 * Manual pages in the man macros (man(7)), as groff and mandoc read them. */
#include <ctype.h>
#include <string.h>

#include "cli/manual/environment.h"
#include "cli/manual/manual.h"

#ifndef RP_VERSION
#define RP_VERSION "unknown"
#endif

/* Text of a paragraph: a backslash, a dash and what would begin a request must not reach the formatter as such. */
static void put(rp_buffer *out, const char *text)
{
    bool line_start = out->size == 0 || out->data[out->size - 1] == '\n';

    for (; *text; text++) {
        if (line_start && (*text == '.' || *text == '\''))
            rp_buffer_text(out, "\\&");
        if (*text == '\\')
            rp_buffer_text(out, "\\e");
        else if (*text == '-')
            rp_buffer_text(out, "\\-");
        else if (*text == '\'')
            rp_buffer_text(out, "\\(aq");
        else
            rp_buffer_u8(out, (uint8_t)*text);
        line_start = *text == '\n';
    }
}

static void heading(rp_buffer *out, const char *macro, const char *text)
{
    rp_buffer_printf(out, "%s \"", macro);
    put(out, text);
    rp_buffer_text(out, "\"\n");
}

/* Lines kept as they are: synopses, examples, lists that are aligned by spaces. */
static void verbatim(rp_buffer *out, const char *text)
{
    rp_buffer_text(out, ".nf\n");
    put(out, text);
    rp_buffer_text(out, "\n.fi\n");
}

/* Up to an empty line, which begins a list kept as it is. */
static void about(rp_buffer *out, const char *text)
{
    const char *list = strstr(text, "\n\n");
    rp_buffer head = {0};

    rp_buffer_append(&head, text, list ? (size_t)(list - text) : strlen(text));
    rp_buffer_u8(&head, 0);
    if (!head.failed)
        put(out, (const char *)head.data);
    rp_buffer_u8(out, '\n');
    if (list) {
        rp_buffer_text(out, ".PP\n");
        verbatim(out, list + 2);
    }
    rp_buffer_free(&head);
}

static void options(rp_buffer *out, const rp_usage_entry *entry)
{
    for (size_t i = 0; i < rp_usage_options(entry); i++) {
        const rp_option *o = rp_usage_option(entry, i);

        rp_buffer_text(out, ".TP\n");
        if (o->letter)
            rp_buffer_printf(out, "\\fB\\-%c\\fR, ", o->letter);
        rp_buffer_text(out, "\\fB\\-\\-");
        put(out, o->name);
        rp_buffer_text(out, "\\fR");
        if (o->argument) {
            rp_buffer_text(out, " \\fI");
            put(out, o->argument);
            rp_buffer_text(out, "\\fR");
        }
        rp_buffer_u8(out, '\n');
        put(out, o->help);
        rp_buffer_text(out, o->required ? " (required)" : "");
        rp_buffer_text(out, o->kind == RP_OPTION_LIST ? " (may be repeated)\n" : "\n");
    }
}

static void title(rp_buffer *out, const char *command, const char *summary)
{
    rp_buffer_text(out, ".\\\" SPDX-License-Identifier: Apache-2.0\n.TH ");
    for (const char *at = rp_command_name; *at; at++)
        rp_buffer_u8(out, (uint8_t)toupper((unsigned char)*at));
    rp_buffer_u8(out, command ? '-' : ' ');
    for (const char *at = command ? command : ""; *at; at++)
        rp_buffer_u8(out, (uint8_t)toupper((unsigned char)*at));
    rp_buffer_printf(out, " 1 %s \"%s %s\" \"Reprise\"\n.SH NAME\n%s%s%s \\- ", RP_VERSION_DATE, rp_command_name,
                     RP_VERSION, rp_command_name, command ? "\\-" : "", command ? command : "");
    put(out, summary);
    rp_buffer_u8(out, '\n');
}

static void one(void *self, const rp_usage_entry *entry)
{
    rp_buffer *out = self;
    const bool action = strchr(entry->name, ' ') != NULL;

    if (action) {
        heading(out, ".SH", entry->name);
    } else {
        title(out, entry->name, entry->summary);
        rp_buffer_text(out, ".SH SYNOPSIS\n");
    }
    rp_buffer_text(out, ".nf\n\\fB");
    put(out, rp_command_name);
    rp_buffer_text(out, "\\fR ");
    put(out, entry->usage->synopsis);
    rp_buffer_text(out, "\n.fi\n");
    rp_buffer_text(out, action ? ".PP\n" : ".SH DESCRIPTION\n");
    about(out, entry->usage->about);
    rp_buffer_text(out, action ? "" : ".SH OPTIONS\n");
    options(out, entry);
    rp_buffer_text(out, action ? ".PP\nExample:\n" : ".SH EXAMPLES\n");
    verbatim(out, entry->usage->example);
}

static void exit_status(rp_buffer *out)
{
    static const char *const codes[][2] = {
        {"0", "fine"},
        {"1", "failed to run: a file cannot be read or written, the data are wrong, memory ran out"},
        {"2", "the call or the recipe is wrong"},
        {"3", "bits differ"},
        {"4", "a signature, a hash or a form is wrong, or a policy is not met: what was given is not what it says"},
        {"5", "not supported here"},
        {"130", "interrupted"}};

    rp_buffer_text(out, ".SH EXIT STATUS\n");
    for (size_t i = 0; i < RP_COUNT(codes); i++) {
        rp_buffer_printf(out, ".TP\n\\fB%s\\fR\n", codes[i][0]);
        put(out, codes[i][1]);
        rp_buffer_u8(out, '\n');
    }
}

static void environment(rp_buffer *out)
{
    rp_buffer_text(out, ".SH ENVIRONMENT\n");
    for (size_t i = 0; i < rp_environment_count; i++) {
        rp_buffer_printf(out, ".TP\n\\fB%s\\fR\n", rp_environment[i].name);
        put(out, rp_environment[i].help);
        rp_buffer_u8(out, '\n');
    }
}

static void program(rp_buffer *out)
{
    title(out, NULL, "deterministic, replayable machine learning for audit");
    rp_buffer_printf(out,
                     ".SH SYNOPSIS\n\\fB%s\\fR \\fICOMMAND\\fR [options]\n.br\n\\fB%s help\\fR \\fICOMMAND\\fR\n.br\n"
                     "\\fB%s \\-\\-version\\fR\n.SH DESCRIPTION\n",
                     rp_command_name, rp_command_name, rp_command_name);
    rp_buffer_append(out, rp_program_about, strcspn(rp_program_about, "\n"));
    rp_buffer_text(out, "\nResults go to stdout, progress and errors to stderr. Every command takes "
                        "\\fB\\-\\-json\\fR and \\fB\\-\\-help\\fR.\n.SH COMMANDS\n");
    for (size_t i = 0; i < rp_commands_count; i++) {
        rp_buffer_printf(out, ".TP\n\\fB%s\\fR\n", rp_commands[i].name);
        put(out, rp_commands[i].summary);
        rp_buffer_u8(out, '\n');
    }
}

void rp_manual_page(rp_buffer *out, const rp_command *command)
{
    if (command)
        rp_usages_visit(command, one, out);
    else
        program(out);
    exit_status(out);
    environment(out);
    rp_buffer_text(out, ".SH SEE ALSO\n");
    if (command) {
        rp_buffer_printf(out, "\\fB%s\\fR(1)\n", rp_command_name);
        return;
    }
    for (size_t i = 0; i < rp_commands_count; i++)
        rp_buffer_printf(out, "\\fB%s\\-%s\\fR(1)%s\n", rp_command_name, rp_commands[i].name,
                         i + 1 < rp_commands_count ? "," : "");
}
