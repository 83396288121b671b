/* SPDX-License-Identifier: Apache-2.0
 * What preparation saw in a table and read in one way where another was likely: told to the user, never decided
 * silently, and of no influence on any bit. Private to core and audit. */
#ifndef CORE_DATA_WARNINGS_H
#define CORE_DATA_WARNINGS_H

#include <stdbool.h>
#include <stddef.h>

#include "rp/error.h"

typedef enum rp_warning_kind {
    RP_WARN_LEADING_ZEROS, /* 00012 read as the number 12 */
    RP_WARN_DRESSED,       /* some texts of a categorical column look like numbers or dates */
    RP_WARN_UNIT,          /* texts like 12 kg */
    RP_WARN_MISSING_WORD,  /* a word such as None taken for a missing value in a column of texts */
    RP_WARN_BARE,          /* a number without the prefix or suffix that the column's others have */
    RP_WARN_DROPPED,       /* rows that the recipe leaves out */
    RP_WARN_HIDDEN,        /* lines that look like rows, and are none since the recipe passes over them */
    RP_WARN_SPLIT,         /* a part far larger than was asked for, since equal times stay together */
    RP_WARN_WEIGHTS,       /* weights of an exact fit whose mean is far from 1 */
    RP_WARN_ROLE,          /* a column that data.time or data.group names, and so no feature */
    RP_WARN_FLAT,          /* a column that the recipe's cap or bins leave one value */
    RP_WARN_FAINT,         /* numbers that differ by less than their deviation, or binary32, can hold */
    RP_WARN_CUT,           /* where data.time divides the rows: a note */
    RP_WARN_POOLED,        /* which categories data.columns.rare makes one: a note */
    RP_WARNINGS            /* how many kinds there are */
} rp_warning_kind;

extern const char *const rp_warning_names[RP_WARNINGS]; /* leading_zeros, ... */

enum { RP_NO_COLUMN = -1 };

typedef struct rp_warning {
    rp_warning_kind kind;
    size_t column; /* of the table, from 0; (size_t)RP_NO_COLUMN for the whole table */
    size_t line;   /* of the first cell that it is about, in the file; 0: of none */
    size_t count;  /* cells that it is about */
    char *cell;    /* the first one's text; "" where there is none */
    char *text;    /* what was seen and which key settles it */
} rp_warning;

/* Zeroed to begin with. In the order of columns, and of kinds in a column. */
typedef struct rp_warnings {
    rp_warning *item;
    size_t count, capacity;
} rp_warnings;

/* cell is copied. Errors: RP_ENOMEM. */
rp_status rp_warnings_add(rp_warnings *list, const rp_warning *like, rp_error *err, const char *format, ...)
    RP_PRINTF(4, 5);
void rp_warnings_clear(rp_warnings *list);

#endif
