/* SPDX-License-Identifier: Apache-2.0
 * What an archive may hold (FORMAT.md 2, 5, 9): one table that says of every name of rp/archive.h where it stands, how
 * large it may be, which kind of run has it, and whether it is an input. No other file knows that. */
#ifndef AUDIT_ARCHIVE_MEMBER_H
#define AUDIT_ARCHIVE_MEMBER_H

#include <stdbool.h>

#include "audit/sign/dsse.h"

/* Folders: what a name in them begins with. Whole names are in rp/archive.h. */
#define RP_PROGRAMS "run/programs/"
#define RP_DATA "data/"
#define RP_WEIGHTS "weights/"
#define RP_CHECKPOINTS "checkpoints/"
#define RP_OUTPUTS "outputs/"

/* The order of an archive: by rank, then by bytes of the name. */
typedef enum rp_member_rank {
    RP_RANK_NONE = -1, /* a name that format 1 does not have */
    RP_RANK_MANIFEST,
    RP_RANK_RECIPE,
    RP_RANK_PROGRAM,
    RP_RANK_JOURNAL,
    RP_RANK_DATA,
    RP_RANK_WEIGHTS,
    RP_RANK_CHECKPOINT,
    RP_RANK_OUTPUT,
    RP_RANK_SIGNATURE
} rp_member_rank;

/* A recipe on a table, a program of the API, a recipe on a text. */
typedef enum rp_run_kind { RP_RUN_RECIPE, RP_RUN_API, RP_RUN_TEXT, RP_RUN_KINDS } rp_run_kind;
enum {
    RP_IN_RECIPE = 1 << RP_RUN_RECIPE,
    RP_IN_API = 1 << RP_RUN_API,
    RP_IN_TEXT = 1 << RP_RUN_TEXT,
    RP_IN_ALL = RP_IN_RECIPE | RP_IN_API | RP_IN_TEXT
};

typedef struct rp_member_kind {
    const char *name; /* whole, or what names begin with when it ends in '/' */
    rp_member_rank rank;
    unsigned in;     /* RP_IN_*: kinds of run that may have it */
    unsigned needed; /* RP_IN_*: kinds of run that cannot be repeated without it where it was left out */
    bool input;      /* what the run read or quotes, or scores of single rows: left out by a run that withholds */
    uint64_t limit;  /* largest body in an archive; UINT64_MAX: the archive's own */
    uint64_t held;   /* largest body that is read into memory and parsed; not above SIZE_MAX / 2 */
} rp_member_kind;

/* The row of a name, NULL for one that format 1 does not have. Names are not checked otherwise. */
const rp_member_kind *rp_member_kind_of(const char *name);

rp_member_rank rp_member_rank_of(const char *name);
int rp_member_compare(const rp_member *a, const rp_member *b);
/* Components of [A-Za-z0-9._-], none of them empty, "." or "..", 1 to 100 bytes in all. */
bool rp_member_name_valid(const char *name);
/* Whether a member holds inputs, quotes them, or has scores of single rows: what a withholding run leaves out. */
bool rp_member_is_input(const char *name);

/* A set of tensors (FORMAT.md 7.1) lies in one safetensors member, or in several parts of it: of
 * weights/final.safetensors these are weights/final-00001-of-00003.safetensors and so on. A set is called by the name
 * of its one member. */
enum { RP_PARTS_MAX = 99999 };
typedef struct rp_member_part {
    char set[RP_MEMBER_NAME];
    size_t part, parts; /* from 1 */
} rp_member_part;
/* False for a name that is not that of a part; *out is then the name itself as part 1 of 1. */
bool rp_member_part_of(rp_member_part *out, const char *name);
const char *rp_part_name(char out[RP_MEMBER_NAME], const char *set, size_t part, size_t parts); /* returns out */

/* run/programs/0007.json, checkpoints/000000000100.safetensors (after 100 steps). Both return out. */
const char *rp_program_name(char out[RP_MEMBER_NAME], size_t index);
const char *rp_checkpoint_name(char out[RP_MEMBER_NAME], uint64_t steps);

/* ---- signatures/: rp_certificate_member, rp_timestamp_member and rp_log_member, which make names, are public ---- */

bool rp_statement_name_valid(const char *member);     /* signatures/NAME.dsse.json, NAME without a further slash */
bool rp_certificate_member_valid(const char *member); /* signatures/HHHHHHHHHHHHHHHH.x509.pem */
bool rp_timestamp_member_valid(const char *member);   /* signatures/NAME.dsse.tsr */
bool rp_log_member_valid(const char *member);         /* signatures/log-HHHHHHHHHHHHHHHH.tlog-proof */
/* FORMAT.md 5: whether a member of signatures/ is of a kind that format 1 has. */
bool rp_signature_kind_known(const char *member);
/* The statement that a timestamp's member dates; member is a valid one of timestamps. */
void rp_timestamp_statement(char out[RP_MEMBER_NAME], const char *member);

#endif
