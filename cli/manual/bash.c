/* SPDX-License-Identifier: Apache-2.0
 * Completion for bash: one function, with a branch for each command and action. It calls nothing but bash itself. */
#include <string.h>

#include "cli/manual/manual.h"

/* reprise-verify gets a function name without a dash: sh would not take it. */
static void put_name(rp_buffer *out)
{
    for (const char *at = rp_command_name; *at; at++)
        rp_buffer_u8(out, *at == '-' ? '_' : (uint8_t)*at);
}

static void pattern(rp_buffer *out, const rp_option *o, bool first)
{
    rp_buffer_printf(out, "%s--%s", first ? "                " : " | ", o->name);
    if (o->letter)
        rp_buffer_printf(out, " | -%c", o->letter);
}

/* One line of the inner case: the options whose values are of this kind. Those with words have a line each. */
static void values(rp_buffer *out, const rp_usage_entry *entry, rp_value kind, const char *call)
{
    bool first = true;

    for (size_t i = 0; i < rp_usage_options(entry); i++) {
        const rp_option *o = rp_usage_option(entry, i);
        const char *words;

        if (!o->argument || rp_value_of(o->argument, &words) != kind)
            continue;
        pattern(out, o, first);
        first = false;
        if (kind == RP_VALUE_WORDS) {
            rp_buffer_printf(out, ") __reprise_words '%s'; return ;;\n", words);
            first = true;
        }
    }
    if (!first)
        rp_buffer_printf(out, ") %s ;;\n", call);
}

static void branch(void *self, const rp_usage_entry *entry)
{
    rp_buffer *out = self;
    char text[64];
    const char *literal = rp_operand_words(text, entry->usage);

    rp_buffer_printf(out, "        '%s')\n            options='", entry->name);
    for (size_t i = 0; i < rp_usage_options(entry); i++) {
        const rp_option *o = rp_usage_option(entry, i);

        rp_buffer_printf(out, "%s--%s", i ? " " : "", o->name);
        if (o->letter)
            rp_buffer_printf(out, " -%c", o->letter);
    }
    rp_buffer_text(out, "'\n");
    if (entry->actions) {
        rp_buffer_text(out, "            operands='");
        for (size_t i = 0; i < entry->actions; i++)
            rp_buffer_printf(out, "%s%s", i ? " " : "", entry->action[i]);
        rp_buffer_text(out, "'\n");
    } else if (literal) {
        rp_buffer_printf(out, "            operands='%s'\n", literal);
    }
    rp_buffer_text(out, "            case $prev in\n");
    values(out, entry, RP_VALUE_FILE, "__reprise_paths -f; return");
    values(out, entry, RP_VALUE_FOLDER, "__reprise_paths -d; return");
    values(out, entry, RP_VALUE_WORDS, "");
    values(out, entry, RP_VALUE_FREE, "return");
    rp_buffer_text(out, "                *) ;;\n            esac\n            ;;\n");
}

static void put_commands(rp_buffer *out)
{
    for (size_t i = 0; i < rp_commands_count; i++)
        rp_buffer_printf(out, "%s%s", i ? " " : "", rp_commands[i].name);
}

/* "log init" where the second word is an action of the first. */
static void action_names(void *self, const rp_usage_entry *entry)
{
    if (strchr(entry->name, ' '))
        rp_buffer_printf(self, "%s'%s'",
                         ((rp_buffer *)self)->data[((rp_buffer *)self)->size - 1] == '\n' ? "        " : " | ",
                         entry->name);
}

/* They see the caller's cur; names of their own, as they stay in the user's shell. */
static const char helpers[] =
    "__reprise_words() { mapfile -t COMPREPLY < <(compgen -W \"$1\" -- \"$cur\"); }\n"
    "__reprise_paths() { compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen \"$1\" -- \"$cur\"); }\n\n";

void rp_complete_bash(rp_buffer *out)
{
    rp_buffer_printf(out,
                     "# SPDX-License-Identifier: Apache-2.0\n# Completion of %s for bash. Made by %s help "
                     "--completion bash.\n\n%s_",
                     rp_command_name, rp_command_name, helpers);
    put_name(out);
    rp_buffer_text(out,
                   "()\n{\n    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}\n"
                   "    local command=${COMP_WORDS[1]} options='' operands='' first=2\n\n    COMPREPLY=()\n"
                   "    # --name=value: bash cuts at '=', which is then a word\n"
                   "    if [[ $cur == = ]]; then\n        cur=\n    elif [[ $prev == = && $COMP_CWORD -gt 2 ]]; then\n"
                   "        prev=${COMP_WORDS[COMP_CWORD - 2]}\n    fi\n");
    rp_buffer_text(out, "    if ((COMP_CWORD == 1)); then\n        __reprise_words '");
    put_commands(out);
    rp_buffer_text(out, " --help --version'\n        return\n    fi\n"
                        "    ((COMP_CWORD > 2)) && case \"$command ${COMP_WORDS[2]}\" in\n");
    rp_usages_visit(NULL, action_names, out);
    rp_buffer_text(out, out->data && out->data[out->size - 1] == '\n'
                            ? "        *) ;;\n    esac\n"
                            : ") command+=\" ${COMP_WORDS[2]}\" first=3 ;;\n        *) ;;\n    esac\n");
    rp_buffer_text(out, "    case $command in\n");
    rp_usages_visit(NULL, branch, out);
    rp_buffer_text(out,
                   "        *) return ;;\n    esac\n"
                   "    if [[ $cur == -* ]]; then\n        __reprise_words \"$options\"\n"
                   "    elif [[ $operands ]] && ((COMP_CWORD == first)); then\n        __reprise_words \"$operands\"\n"
                   "    else\n        __reprise_paths -f\n    fi\n}\n\ncomplete -F _");
    put_name(out);
    rp_buffer_printf(out, " %s\n", rp_command_name);
}
