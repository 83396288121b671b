/* SPDX-License-Identifier: Apache-2.0
 * Hostile archives: how each is made from an honest one, what must be said of it. Made by hostile_headers.c and
 * its neighbours, a group each, given to every command by hostile.c. */
#ifndef TESTS_CLI_HOSTILE_H
#define TESTS_CLI_HOSTILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* What commands do with it. */
typedef enum hostile_kind {
    HOSTILE_REFUSED, /* every command ends with 4 (5: of another format) and names the member */
    HOSTILE_CONTENT, /* right in structure and hashes: replay's error names the member, no command crashes */
    HOSTILE_RECIPE   /* the same, and verification, which holds the recipe against the manifest, ends with 4 too */
} hostile_kind;

typedef struct hostile_case {
    const char *name;
    hostile_kind kind;
    const char *member; /* that messages must name */
    bool slow;          /* only in the long run */
    void (*make)(FILE *out);
} hostile_case;

typedef struct hostile_group {
    const hostile_case *cases;
    size_t count;
} hostile_group;

extern const hostile_group hostile_headers, hostile_members, hostile_manifests, hostile_contents;

/* Reads the honest archive that the others are made from. */
void hostile_begin(const char *path);

#endif
