/* SPDX-License-Identifier: Apache-2.0
 * Completion for zsh: a function of its completion system, in which _arguments knows each command's options. */
#include <string.h>

#include "cli/manual/manual.h"

/* Within single quotes, and within a specification of _arguments, where brackets and colons mean something. */
static void put(rp_buffer *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '\'')
            rp_buffer_text(out, "'\\''");
        else if (strchr("[]:\\", *text))
            rp_buffer_printf(out, "\\%c", *text);
        else
            rp_buffer_u8(out, (uint8_t)*text);
    }
}

static void put_value(rp_buffer *out, const char *argument)
{
    const char *words;
    const rp_value value = rp_value_of(argument, &words);

    rp_buffer_u8(out, ':');
    put(out, argument);
    rp_buffer_u8(out, ':');
    if (value == RP_VALUE_FILE)
        rp_buffer_text(out, "_files");
    else if (value == RP_VALUE_FOLDER)
        rp_buffer_text(out, "_files -/");
    else if (value == RP_VALUE_WORDS)
        rp_buffer_printf(out, "(%s)", words);
    else
        rp_buffer_u8(out, ' ');
}

static void put_option(rp_buffer *out, const rp_option *o)
{
    const char *repeat = o->kind == RP_OPTION_LIST ? "*" : "";

    rp_buffer_text(out, " \\\n                ");
    if (o->letter && !*repeat)
        rp_buffer_printf(out, "'(-%c --%s)'{-%c%s,--%s%s}'[", o->letter, o->name, o->letter, o->argument ? "+" : "",
                         o->name, o->argument ? "=" : "");
    else if (o->letter)
        rp_buffer_printf(out, "'*'{-%c+,--%s=}'[", o->letter, o->name);
    else
        rp_buffer_printf(out, "'%s--%s%s[", repeat, o->name, o->argument ? "=" : "");
    put(out, o->help);
    rp_buffer_u8(out, ']');
    if (o->argument)
        put_value(out, o->argument);
    rp_buffer_u8(out, '\'');
}

static void branch(void *self, const rp_usage_entry *entry)
{
    rp_buffer *out = self;
    char text[64];
    const char *literal = rp_operand_words(text, entry->usage);

    rp_buffer_printf(out, "        '%s')\n            _arguments -s -S", entry->name);
    for (size_t i = 0; i < rp_usage_options(entry); i++)
        put_option(out, rp_usage_option(entry, i));
    if (entry->actions) {
        rp_buffer_text(out, " \\\n                '1:action:(");
        for (size_t i = 0; i < entry->actions; i++)
            rp_buffer_printf(out, "%s%s", i ? " " : "", entry->action[i]);
        rp_buffer_text(out, ")'");
    } else if (literal) {
        rp_buffer_printf(out, " \\\n                '1:action:(%s)'", literal);
    }
    rp_buffer_text(out, " \\\n                '*:operand:_files'\n            ;;\n");
}

/* "log init" is a command of two words. */
static void action_names(void *self, const rp_usage_entry *entry)
{
    if (strchr(entry->name, ' '))
        rp_buffer_printf(self, " '%s'", entry->name);
}

void rp_complete_zsh(rp_buffer *out)
{
    rp_buffer_printf(out,
                     "#compdef %s\n# SPDX-License-Identifier: Apache-2.0\n# Completion of %s for zsh. Made by %s "
                     "help --completion zsh.\n\nlocal curcontext=$curcontext command\nlocal -a commands actions\n"
                     "commands=(\n",
                     rp_command_name, rp_command_name, rp_command_name);
    for (size_t i = 0; i < rp_commands_count; i++) {
        rp_buffer_printf(out, "    '%s:", rp_commands[i].name);
        put(out, rp_commands[i].summary);
        rp_buffer_text(out, "'\n");
    }
    rp_buffer_text(out, ")\nactions=(");
    rp_usages_visit(NULL, action_names, out);
    rp_buffer_text(out, ")\nif (( CURRENT == 2 )); then\n    _describe command commands\n    return\nfi\n"
                        "command=$words[2]\nif (( CURRENT > 3 && ${actions[(Ie)$command $words[3]]} )); then\n"
                        "    command=\"$command $words[3]\"\n    shift words\n    (( CURRENT-- ))\nfi\n"
                        "shift words\n(( CURRENT-- ))\ncase $command in\n");
    rp_usages_visit(NULL, branch, out);
    rp_buffer_text(out, "        *) _files ;;\nesac\n");
}
