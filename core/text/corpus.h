/* SPDX-License-Identifier: Apache-2.0
 * A text as a recipe trains on it (CONTRACT 17.1 to 17.3): cut in two by position, its tokens, and the windows of them
 * that a step takes. */
#ifndef CORE_TEXT_CORPUS_H
#define CORE_TEXT_CORPUS_H

#include "core/recipe/recipe.h"
#include "core/text/vocabulary.h"

enum { RP_CORPUS_BYTES = 1 << 30 };

typedef struct rp_corpus_part {
    uint16_t *token;
    size_t n, bytes;
    size_t windows; /* of length + 1 tokens, each beginning `length` behind the one before */
} rp_corpus_part;

typedef struct rp_corpus {
    rp_vocabulary *vocabulary;
    rp_corpus_part train, valid; /* valid.n 0: there is none */
    size_t length;
    bool shuffle;
    uint64_t seed;
} rp_corpus;

/* By the recipe's sections data and train. where names the text in errors. Errors: RP_EDATA (too short), RP_ENOMEM. */
rp_status rp_corpus_prepare(rp_corpus **out, const rp_recipe *recipe, const void *bytes, size_t size, const char *where,
                            rp_error *err);
void rp_corpus_free(rp_corpus *text);
/* Windows of an epoch. */
size_t rp_corpus_per_epoch(const rp_corpus *text);
/* Their order: order[0 .. rp_corpus_per_epoch) becomes the first token of each, a pure function of (seed, epoch). */
void rp_corpus_order(const rp_corpus *text, uint64_t epoch, int64_t *order);
/* length + 1 tokens of a part, from token `first` on. */
void rp_corpus_window(const rp_corpus *text, const rp_corpus_part *part, size_t first, int64_t *out);

#endif
