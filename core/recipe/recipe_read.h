/* SPDX-License-Identifier: Apache-2.0
 * Typed reading of recipe keys. A reader remembers the first mistake and makes every later call a no-op, so that
 * recipe.c reads like the vocabulary. Paths are the dotted names of the documentation. audit/trust/policy.c reads with
 * it too. */
#ifndef CORE_RECIPE_RECIPE_READ_H
#define CORE_RECIPE_RECIPE_READ_H

#include <stdint.h>

#include "core/recipe/recipe.h"
#include "core/recipe/recipe_node.h"

enum { RP_RECIPE_TEXT = 255 }; /* bytes of a name, a cell or a class in a recipe */

typedef struct rp_recipe_reader {
    const char *where;
    bool json; /* resolved form: no lines, reals are strings, nothing is defaulted in silence */
    rp_status status;
    rp_error *err;
} rp_recipe_reader;

/* An interval of reals and its words for the error. */
typedef struct rp_range {
    double low, high;
    bool low_open, high_open;
    const char *text;
} rp_range;

/* "WHERE:LINE: key PATH: expected EXPECTED, found FOUND" plus advice (may be NULL); at may be NULL (no line). */
void rp_recipe_wrong(rp_recipe_reader *reader, const rp_node *at, const char *path, const char *expected,
                     const char *advice);
/* Like it, but free text after "WHERE:LINE: key PATH: ". */
void rp_recipe_refuse(rp_recipe_reader *reader, const rp_node *at, const char *path, const char *format, ...)
    RP_PRINTF(4, 5);

/* Refuses a key of the mapping that is not among keys[0..count), suggesting the nearest. section "" is the top. */
void rp_recipe_check_keys(rp_recipe_reader *reader, const rp_node *mapping, const char *section,
                          const char *const *keys, size_t count);
/* The section's mapping; an empty one when absent or null. NULL after a mistake. */
const rp_node *rp_recipe_section(rp_recipe_reader *reader, const rp_node *parent, const char *path);
/* Refuses the key when it is present though applies is false; when says when it would apply. Returns applies. */
bool rp_recipe_applies(rp_recipe_reader *reader, const rp_node *mapping, const char *path, bool applies,
                       const char *when);

/* Each writes *out: the default when the key is absent. The key is the path after its last dot. */
void rp_recipe_int(rp_recipe_reader *reader, const rp_node *mapping, const char *path, int64_t *out, int64_t otherwise,
                   int64_t low, int64_t high);
void rp_recipe_bool(rp_recipe_reader *reader, const rp_node *mapping, const char *path, bool *out, bool otherwise);
void rp_recipe_real(rp_recipe_reader *reader, const rp_node *mapping, const char *path, double *out, double otherwise,
                    const rp_range *range);
/* names[0..count); *out is the index. */
void rp_recipe_choice(rp_recipe_reader *reader, const rp_node *mapping, const char *path, int *out, int otherwise,
                      const char *const *names, int count);
/* A fresh copy, or of otherwise; NULL when otherwise is NULL and the key is absent or null. 1..limit bytes; an empty
 * text is accepted only where otherwise is "". */
void rp_recipe_text(rp_recipe_reader *reader, const rp_node *mapping, const char *path, char **out,
                    const char *otherwise, size_t limit);

/* The data: section; out->train.regression is already known. */
void rp_recipe_read_data(rp_recipe_reader *reader, const rp_node *top, rp_recipe *out);
/* The model: section. */
void rp_recipe_read_model(rp_recipe_reader *reader, const rp_node *top, rp_recipe *out);

bool rp_node_is_null(const rp_node *node);
bool rp_node_int(const rp_node *node, int64_t *out); /* a plain scalar that is an integer */
/* "null", "a list", "a mapping", or the text in quotes. Returns out. */
char *rp_node_describe(char *out, size_t size, const rp_node *node);

#endif
