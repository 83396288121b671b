/* SPDX-License-Identifier: Apache-2.0
 * The tokens of a text (CONTRACT 17.2): the 256 bytes, and pairs of earlier tokens that are joined in their order, as
 * they were learnt from a training text. */
#ifndef CORE_TEXT_VOCABULARY_H
#define CORE_TEXT_VOCABULARY_H

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/json.h"

enum { RP_TOKENS_BYTES = 256, RP_TOKENS_MOST = 65536 };

typedef struct rp_merge {
    uint16_t left, right;
} rp_merge;

typedef struct rp_vocabulary {
    size_t size;     /* tokens: 256 + merges */
    rp_merge *merge; /* merge[i] makes token 256 + i */
    size_t merges;
    uint32_t *length; /* [size] bytes of a token */
    uint32_t *slot;   /* open addressing over the merges: number + 1, 0: none */
    size_t slots;
} rp_vocabulary;

/* Of at most `wanted` tokens (256 .. RP_TOKENS_MOST), learnt from the text; fewer where no further pair comes twice.
 * Errors: RP_ENOMEM, RP_EDATA. */
rp_status rp_vocabulary_learn(rp_vocabulary **out, const unsigned char *text, size_t size, size_t wanted,
                              rp_error *err);
/* data/vocabulary.json, and back: untrusted. Errors: RP_EFORMAT. */
rp_status rp_vocabulary_write(rp_json **out, const rp_vocabulary *vocabulary, rp_error *err);
rp_status rp_vocabulary_read(rp_vocabulary **out, const rp_json *json, rp_error *err);
void rp_vocabulary_free(rp_vocabulary *vocabulary);

/* The text's tokens, to be freed; *n may be 0. Errors: RP_ENOMEM. */
rp_status rp_vocabulary_encode(const rp_vocabulary *vocabulary, const unsigned char *text, size_t size, uint16_t **out,
                               size_t *n, rp_error *err);
/* Appends the token's bytes; token is below size. */
void rp_vocabulary_decode(const rp_vocabulary *vocabulary, uint16_t token, rp_buffer *out);

#endif
