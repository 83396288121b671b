/* SPDX-License-Identifier: Apache-2.0
 * Typed reading of keys. A reader remembers the first mistake and makes every later call a no-op, so that who reads a
 * recipe or a policy reads like its vocabulary. Paths are the dotted names of the documentation. */
#ifndef BASE_NODE_READ_H
#define BASE_NODE_READ_H

#include "base/node.h"

typedef struct rp_node_reader {
    const char *where;
    bool json; /* resolved form: no lines, reals are strings, nothing is defaulted in silence */
    rp_status status;
    rp_error *err;
} rp_node_reader;

/* "WHERE:LINE: key PATH: expected EXPECTED, found FOUND" plus advice (may be NULL); at may be NULL (no line). */
void rp_node_wrong(rp_node_reader *reader, const rp_node *at, const char *path, const char *expected,
                   const char *advice);
/* Like it, but free text after "WHERE:LINE: key PATH: ". */
void rp_node_refuse(rp_node_reader *reader, const rp_node *at, const char *path, const char *format, ...)
    RP_PRINTF(4, 5);

/* The key of the mapping that is path after its last dot; NULL when it is absent or after a mistake. */
const rp_node *rp_node_at(const rp_node_reader *reader, const rp_node *mapping, const char *path);
/* The section's mapping; an empty one when absent or null. NULL after a mistake. */
const rp_node *rp_node_section(rp_node_reader *reader, const rp_node *parent, const char *path);
/* Refuses the key when it is present though applies is false; when says when it would apply. Returns applies. */
bool rp_node_applies(rp_node_reader *reader, const rp_node *mapping, const char *path, bool applies, const char *when);

/* Each writes *out: the default when the key is absent. */
void rp_node_read_int(rp_node_reader *reader, const rp_node *mapping, const char *path, int64_t *out, int64_t otherwise,
                      int64_t low, int64_t high);
void rp_node_read_bool(rp_node_reader *reader, const rp_node *mapping, const char *path, bool *out, bool otherwise);
/* names[0..count); *out is the index. */
void rp_node_read_choice(rp_node_reader *reader, const rp_node *mapping, const char *path, int *out, int otherwise,
                         const char *const *names, int count);
/* A fresh copy, or of otherwise; NULL when otherwise is NULL and the key is absent or null. 1..limit bytes; an empty
 * text is accepted only where otherwise is "". */
void rp_node_read_text(rp_node_reader *reader, const rp_node *mapping, const char *path, char **out,
                       const char *otherwise, size_t limit);

#endif
