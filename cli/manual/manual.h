/* SPDX-License-Identifier: Apache-2.0
 * Everything that is told about the command line besides --help: manual pages, completion for three shells, and the
 * tables as JSON. All of it is made from the tables that the commands parse by, so nothing can be left out or differ.
 */
#ifndef CLI_MANUAL_MANUAL_H
#define CLI_MANUAL_MANUAL_H

#include "cli/options.h"

/* A command, or an action of one: "log", then "log init". Valid during the visit. */
typedef struct rp_usage_entry {
    const char *name, *summary; /* summary: of the command, also for its actions */
    const rp_usage *usage;
    const char *const *action; /* of a command that has them; their entries come next */
    size_t actions;
} rp_usage_entry;

typedef void rp_usage_visit(void *self, const rp_usage_entry *entry);
/* Every command of the program in the order of its help, or one of them and its actions. */
void rp_usages_visit(const rp_command *only, rp_usage_visit *visit, void *self);
/* Every option of the entry, those of every command included: index below rp_usage_options. */
size_t rp_usage_options(const rp_usage_entry *entry);
const rp_option *rp_usage_option(const rp_usage_entry *entry, size_t index);

/* What can stand behind an option or as an operand, told from its name in the help. */
typedef enum rp_value { RP_VALUE_NONE, RP_VALUE_FREE, RP_VALUE_FILE, RP_VALUE_FOLDER, RP_VALUE_WORDS } rp_value;
/* words: to be set to words with spaces between, for RP_VALUE_WORDS only. argument NULL: a flag. */
rp_value rp_value_of(const char *argument, const char **words);
/* The words of "record or check"; NULL where the operand is not literal. text is the result's memory. */
const char *rp_operand_words(char text[64], const rp_usage *usage);

/* The page of a command (and its actions), in the man macros; NULL: the page of the program. */
void rp_manual_page(rp_buffer *out, const rp_command *command);
void rp_complete_bash(rp_buffer *out);
void rp_complete_zsh(rp_buffer *out);
void rp_complete_fish(rp_buffer *out);
/* {"commands": [...], "environment": [...]} of all, or of one command. */
void rp_usages_put_json(rp_buffer *out, const rp_command *only);

#endif
