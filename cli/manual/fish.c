/* SPDX-License-Identifier: Apache-2.0
 * Completion for fish: one line an option, for the command (and action) that stands in front. */
#include <string.h>

#include "cli/manual/manual.h"

static void put(rp_buffer *out, const char *text)
{
    rp_buffer_u8(out, '\'');
    for (; *text; text++) {
        if (*text == '\'' || *text == '\\')
            rp_buffer_u8(out, '\\');
        rp_buffer_u8(out, (uint8_t)*text);
    }
    rp_buffer_u8(out, '\'');
}

static void begin(rp_buffer *out, const char *name)
{
    rp_buffer_printf(out, "complete -c %s -n '__reprise_at %s'", rp_command_name, name);
}

static void put_option(rp_buffer *out, const char *name, const rp_option *o)
{
    const char *words;
    const rp_value value = rp_value_of(o->argument, &words);

    begin(out, name);
    rp_buffer_printf(out, " -l %s", o->name);
    if (o->letter)
        rp_buffer_printf(out, " -s %c", o->letter);
    if (value == RP_VALUE_FILE)
        rp_buffer_text(out, " -r -F");
    else if (value == RP_VALUE_FOLDER)
        rp_buffer_text(out, " -x -a '(__fish_complete_directories)'");
    else if (value == RP_VALUE_WORDS)
        rp_buffer_printf(out, " -x -a '%s'", words);
    else if (value == RP_VALUE_FREE)
        rp_buffer_text(out, " -x");
    rp_buffer_text(out, " -d ");
    put(out, o->help);
    rp_buffer_u8(out, '\n');
}

static void branch(void *self, const rp_usage_entry *entry)
{
    rp_buffer *out = self;
    char text[64];
    const char *literal = rp_operand_words(text, entry->usage);

    if (!strchr(entry->name, ' ')) {
        rp_buffer_printf(out, "complete -c %s -n '__reprise_first' -f -a %s -d ", rp_command_name, entry->name);
        put(out, entry->summary);
        rp_buffer_u8(out, '\n');
    }
    for (size_t i = 0; i < entry->actions; i++) {
        rp_buffer_printf(out, "complete -c %s -n '__reprise_only %s' -f -a %s\n", rp_command_name, entry->name,
                         entry->action[i]);
    }
    if (literal)
        rp_buffer_printf(out, "complete -c %s -n '__reprise_only %s' -f -a '%s'\n", rp_command_name, entry->name,
                         literal);
    for (size_t i = 0; i < rp_usage_options(entry); i++)
        put_option(out, entry->name, rp_usage_option(entry, i));
}

void rp_complete_fish(rp_buffer *out)
{
    rp_buffer_printf(
        out,
        "# SPDX-License-Identifier: Apache-2.0\n# Completion of %s for fish. Made by %s help --completion "
        "fish.\n\nfunction __reprise_first\n    test (count (commandline -opc)) -eq 1\nend\n"
        "function __reprise_at\n    set -l said (commandline -opc)\n    set -l n (count $argv)\n"
        "    set -l last (math $n + 1)\n    test (count $said) -gt $n; and test \"$said[2..$last]\" = \"$argv\"\nend\n"
        "function __reprise_only\n    __reprise_at $argv; and test (count (commandline -opc)) -eq (math "
        "(count $argv) + 1)\nend\n",
        rp_command_name, rp_command_name);
    rp_usages_visit(NULL, branch, out);
}
