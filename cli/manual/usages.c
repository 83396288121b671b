/* SPDX-License-Identifier: Apache-2.0
 * Walks the tables of the commands: each command is called as if for its help and hands its table over. */
#include "cli/manual/manual.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

typedef struct walk {
    rp_usage_reader reader; /* first: the parser gives it back */
    rp_usage_visit *visit;
    void *self;
    const char *name, *summary;
} walk;

static void read_table(rp_usage_reader *reader, const rp_usage *usage)
{
    const walk *w = (const walk *)reader;
    const rp_usage_entry entry = {w->name, w->summary, usage, reader->action, reader->actions};

    w->visit(w->self, &entry);
}

/* word: the action, or NULL. A command that asks for its table does nothing else, so its errors cannot occur. */
static void read_one(walk *w, const rp_command *command, const char *word)
{
    rp_session session = {.reader = &w->reader};
    char name[64], action[64], full[128];
    char *argv[] = {name, word ? action : NULL, NULL};
    rp_error err;

    (void)snprintf(name, sizeof name, "%s", command->name);
    (void)snprintf(action, sizeof action, "%s", word ? word : "");
    (void)snprintf(full, sizeof full, "%s%s%s", name, word ? " " : "", action);
    w->name = full;
    w->summary = command->summary;
    w->reader.actions = 0;
    (void)command->main(&session, word ? 2 : 1, argv, &err);
    rp_buffer_free(&session.out);
    rp_buffer_free(&session.remark);
}

void rp_usages_visit(const rp_command *only, rp_usage_visit *visit, void *self)
{
    walk w = {.reader = {.read = read_table}, .visit = visit, .self = self};

    for (size_t i = 0; i < rp_commands_count; i++) {
        const char *actions[RP_ACTIONS_MAX];
        size_t n;

        if (only && only != &rp_commands[i])
            continue;
        read_one(&w, &rp_commands[i], NULL);
        n = w.reader.actions;
        memcpy(actions, w.reader.action, sizeof actions);
        for (size_t a = 0; a < n; a++)
            read_one(&w, &rp_commands[i], actions[a]);
    }
}

size_t rp_usage_options(const rp_usage_entry *entry)
{
    return entry->usage->options + rp_options_common_count;
}

const rp_option *rp_usage_option(const rp_usage_entry *entry, size_t index)
{
    const size_t own = entry->usage->options;

    return index < own ? &entry->usage->option[index] : &rp_options_common[index - own];
}

rp_value rp_value_of(const char *argument, const char **words)
{
    static const struct {
        const char *argument, *words;
    } literal[] = {{"LEVEL", "ref sse2 avx2 avx512 neon"},
                   {"DECISION", "approve reject abstain"},
                   {"SEVERITY", "low medium high critical"},
                   {"HASH", "sha256 sha384 sha512"},
                   {"ORDER", "annex-iv art31 sr26-2"},
                   {"SHELL", "bash zsh fish"},
                   {"REFERENCE", "all cutoff"},
                   {"DEVICE", "cpu"},
                   {"test", "test"},
                   {"ROWS", "test folds"},
                   {"PART", "validation test"}};
    static const char *const folders[] = {"DIR", "LOG"};
    static const char *const files[] = {"FILE", "CSV", "PROOF", "PARENT", "ARCHIVE"};

    *words = NULL;
    if (!argument)
        return RP_VALUE_NONE;
    for (size_t i = 0; i < RP_COUNT(literal); i++)
        if (strcmp(argument, literal[i].argument) == 0) {
            *words = literal[i].words;
            return RP_VALUE_WORDS;
        }
    for (size_t i = 0; i < RP_COUNT(folders); i++)
        if (strcmp(argument, folders[i]) == 0)
            return RP_VALUE_FOLDER;
    for (size_t i = 0; i < RP_COUNT(files); i++)
        if (strcmp(argument, files[i]) == 0)
            return RP_VALUE_FILE;
    /* KEY.pem, REQUEST.tsq: a name with a suffix; COL,... is none */
    return strchr(argument, '.') && !strstr(argument, "...") ? RP_VALUE_FILE : RP_VALUE_FREE;
}

const char *rp_operand_words(char text[64], const rp_usage *usage)
{
    const char *name = usage->operands ? usage->operand[0] : "";
    size_t n = 0;

    if (!islower((unsigned char)name[0]) || strlen(name) >= 64)
        return NULL;
    for (const char *at = name; *at; at++) {
        if (strncmp(at, " or ", 4) == 0)
            at += 3;
        text[n++] = *at;
    }
    text[n] = '\0';
    return text;
}
