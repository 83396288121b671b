/* SPDX-License-Identifier: Apache-2.0
 * Options as tables: a command lists what it takes, parsing and --help follow from the list. Mistakes are usage errors
 * (RP_EARG) that suggest the nearest option. */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include "cli/cli.h"

typedef enum rp_option_kind {
    RP_OPTION_FLAG,  /* to: bool */
    RP_OPTION_TEXT,  /* to: const char *, borrowed from argv */
    RP_OPTION_COUNT, /* to: unsigned, 1 to 1024 */
    RP_OPTION_LIST   /* to: rp_text_list; the option may be repeated */
} rp_option_kind;

enum { RP_TEXT_LIST_MAX = 64 };

typedef struct rp_text_list {
    const char *item[RP_TEXT_LIST_MAX];
    size_t count;
} rp_text_list;

typedef struct rp_option {
    char letter;      /* 0: none */
    const char *name; /* without dashes */
    rp_option_kind kind;
    const char *argument; /* its name in the help; NULL for a flag */
    const char *help;
    void *to;
    bool required;
} rp_option;

typedef struct rp_usage {
    const char *synopsis; /* behind "reprise " */
    const char *about;
    const char *example;
    const char *const *operand; /* names of the operands, all of them required */
    size_t operands;
    const rp_option *option;
    size_t options;
} rp_usage;

/* Fills what the options point at and operand[usage->operands]. --json and --help are always there; after --help
 * session->helped is set and nothing is checked further. Errors: RP_EARG. */
rp_status rp_options_parse(rp_session *session, const rp_usage *usage, int argc, char **argv, const char **operand,
                           rp_error *err);

enum { RP_ACTIONS_MAX = 16 };

/* Takes a command's table instead of letting the command go on: manual pages and completion are made that way. The
 * parser hands the table over and says that the command helped. */
struct rp_usage_reader {
    void (*read)(rp_usage_reader *reader, const rp_usage *usage);
    const char *action[RP_ACTIONS_MAX]; /* names of the command's actions, each with a table of its own */
    size_t actions;
};
/* Before rp_options_parse of a command whose first word chooses an action: which there are. names must be static. */
void rp_options_actions(rp_session *session, const char *const *names, size_t count);
/* What every command takes: --json and --help. */
extern const rp_option rp_options_common[];
extern const size_t rp_options_common_count;

/* The three options of everything that computes. */
#define RP_OPTION_THREADS(where) \
    { \
        0, "threads", RP_OPTION_COUNT, "N", "use N threads (default: every CPU); never changes a bit", where, false \
    }
#define RP_OPTION_ISA(where) \
    { \
        0, "isa", RP_OPTION_TEXT, "LEVEL", \
            "kernels: ref, sse2, avx2, avx512, neon (default: the best); never changes a bit", where, false \
    }
#define RP_OPTION_DEVICE(where) \
    { \
        0, "device", RP_OPTION_TEXT, "DEVICE", \
            "where kernels run: cpu (the default), cuda or cuda:N, or one that reprise doctor lists; never changes a " \
            "bit", \
            where, false \
    }
#define RP_OPTION_MEMORY(where) \
    { \
        0, "memory", RP_OPTION_TEXT, "BYTES", \
            "what the run may take, such as 512MiB: values are computed again where a step would take more; never " \
            "changes a bit", \
            where, false \
    }
#define RP_OPTION_WITHHELD(where) \
    { \
        0, "withheld", RP_OPTION_TEXT, "DIR", \
            "the folder with the data that was left out of the archive, and its salt", where, false \
    }
#define RP_OPTION_NONCONFORMING(where) \
    { \
        0, "allow-nonconforming", RP_OPTION_FLAG, NULL, \
            "go on where the kernels fail their own conformance vectors; what is signed says so", where, false \
    }
/* That the kernels of the level, and of the device, conform here, unless told otherwise. Errors: RP_EUNSUPPORTED and
 * what to do. */
rp_status rp_conforming_option(const char *command, const char *level, const char *device, bool allowed, rp_error *err);
/* That this build has the device; NULL is fine. Errors: RP_EUNSUPPORTED, naming those that it has. */
rp_status rp_device_option(const char *command, const char *device, rp_error *err);

/* Bytes with a unit or none; *out stays when there is no text. Errors: RP_EARG, naming --memory. */
rp_status rp_memory_option(uint64_t *out, const char *text, const char *command, rp_error *err);

/* A whole number from least to most; *out stays when there is no text. Errors: RP_EARG, naming the option. */
rp_status rp_number_option(size_t *out, const char *text, const char *command, const char *option, size_t least,
                           size_t most, rp_error *err);

#define RP_COUNT(array) (sizeof(array) / sizeof *(array))

#endif
