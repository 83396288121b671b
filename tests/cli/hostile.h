/* SPDX-License-Identifier: Apache-2.0
 * Hostile archives: how each is made from an honest one, what must be said of it. Made by hostile_archives.c, given to
 * every command by hostile.c. */
#ifndef TESTS_CLI_HOSTILE_H
#define TESTS_CLI_HOSTILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* What commands do with it. */
typedef enum hostile_kind {
    HOSTILE_REFUSED, /* every command ends with 4 (5: of another format) and names the member */
    HOSTILE_CONTENT /* structure and hashes are right; replay ends in an error that names the member, no command crashes
                     */
} hostile_kind;

typedef struct hostile_case {
    const char *name;
    hostile_kind kind;
    const char *member; /* that messages must name */
    bool slow;          /* only in the long run */
    void (*make)(FILE *out);
} hostile_case;

extern const hostile_case hostile_cases[];
extern const size_t hostile_count;

/* Reads the honest archive that the others are made from. */
void hostile_begin(const char *path);

#endif
