/* SPDX-License-Identifier: Apache-2.0
 * Tokens to bytes and back, and the vocabulary's file. Learning one is core/text/learn.c. */
#include "core/text/vocabulary.h"

#include <string.h>

#include "base/memory.h"
#include "core/text/pieces.h"
#include "core/text/vocabulary_private.h"

void rp_vocabulary_free(rp_vocabulary *v)
{
    if (!v)
        return;
    rp_free(v->merge);
    rp_free(v->length);
    rp_free(v->slot);
    rp_free(v);
}

static size_t slot_of(const rp_vocabulary *v, rp_merge m)
{
    size_t i = ((size_t)m.left * 0x9e3779b1u ^ (size_t)m.right * 0x85ebca6bu) & (v->slots - 1);

    while (v->slot[i] && (v->merge[v->slot[i] - 1].left != m.left || v->merge[v->slot[i] - 1].right != m.right))
        i = (i + 1) & (v->slots - 1);
    return i;
}

rp_status rp_vocabulary_new(rp_vocabulary **out, size_t most, rp_error *err)
{
    rp_vocabulary *v = rp_calloc(1, sizeof *v);
    size_t slots = 16;

    *out = NULL;
    if (!v)
        return rp_no_memory(err);
    while (slots < 2 * most)
        slots *= 2;
    v->slots = slots;
    v->size = RP_TOKENS_BYTES;
    v->merge = rp_calloc(most, sizeof *v->merge);
    v->length = rp_calloc(most, sizeof *v->length);
    v->slot = rp_calloc(slots, sizeof *v->slot);
    if (!v->merge || !v->length || !v->slot) {
        rp_vocabulary_free(v);
        return rp_no_memory(err);
    }
    for (size_t i = 0; i < RP_TOKENS_BYTES; i++)
        v->length[i] = 1;
    *out = v;
    return RP_OK;
}

bool rp_vocabulary_join(rp_vocabulary *v, rp_merge m)
{
    const size_t i = slot_of(v, m), length = (size_t)v->length[m.left] + v->length[m.right];

    if (v->slot[i] || length > RP_PIECE_BYTES)
        return false;
    v->merge[v->merges] = m;
    v->slot[i] = (uint32_t)++v->merges;
    v->length[v->size++] = (uint32_t)length;
    return true;
}

/* ---- data/vocabulary.json ---- */

rp_status rp_vocabulary_write(rp_json **out, const rp_vocabulary *v, rp_error *err)
{
    rp_json *merges = rp_json_array();
    int failed = merges == NULL;

    for (size_t i = 0; i < v->merges && !failed; i++)
        failed = rp_json_array_append_new(merges, rp_json_pack("[i,i]", (int)v->merge[i].left, (int)v->merge[i].right));
    *out = failed ? NULL : rp_json_pack("{s:O,s:i}", "merges", merges, "tokens", (int)v->size);
    rp_json_free(merges);
    return *out ? RP_OK : rp_no_memory(err);
}

static rp_status read_merge(rp_vocabulary *v, const rp_json *pair, rp_error *err)
{
    const rp_json *token[] = {rp_json_array_get(pair, 0), rp_json_array_get(pair, 1)};
    const int64_t left = rp_json_integer_value(token[0]), right = rp_json_integer_value(token[1]);

    if (rp_json_array_size(pair) != 2 || !rp_json_is_integer(token[0]) || !rp_json_is_integer(token[1]) || left < 0 ||
        right < 0 || left >= (int64_t)v->size || right >= (int64_t)v->size ||
        !rp_vocabulary_join(v, (rp_merge){(uint16_t)left, (uint16_t)right}))
        return rp_fail(err, RP_EFORMAT,
                       "merges[%zu]: expected two tokens from before it, which no earlier one joins and of at most %d "
                       "bytes together",
                       v->merges, (int)RP_PIECE_BYTES);
    return RP_OK;
}

rp_status rp_vocabulary_read(rp_vocabulary **out, const rp_json *json, rp_error *err)
{
    const rp_json *merges = rp_json_object_get(json, "merges"), *tokens = rp_json_object_get(json, "tokens");
    const size_t n = rp_json_array_size(merges);
    rp_vocabulary *v;
    rp_status status;

    *out = NULL;
    if (!rp_json_is_array(merges) || n > RP_TOKENS_MOST - RP_TOKENS_BYTES || !rp_json_is_integer(tokens) ||
        rp_json_integer_value(tokens) != (int64_t)(RP_TOKENS_BYTES + n))
        return rp_fail(err, RP_EFORMAT,
                       "expected a list \"merges\" of at most %d pairs, and their number and 256 as "
                       "\"tokens\"",
                       (int)(RP_TOKENS_MOST - RP_TOKENS_BYTES));
    status = rp_vocabulary_new(&v, RP_TOKENS_BYTES + n, err);
    for (size_t i = 0; i < n && status == RP_OK; i++)
        status = read_merge(v, rp_json_array_get(merges, i), err);
    if (status == RP_OK)
        *out = v;
    else
        rp_vocabulary_free(v);
    return status;
}

/* ---- tokens ---- */

/* The tokens of one piece in place: the pair that was learnt first is joined wherever it stands, until none is left. */
static size_t encode_piece(const rp_vocabulary *v, uint16_t *token, size_t n)
{
    for (;;) {
        uint32_t first = UINT32_MAX;
        size_t kept = 0;

        for (size_t i = 0; i + 1 < n; i++) {
            const uint32_t found = v->slot[slot_of(v, (rp_merge){token[i], token[i + 1]})];

            if (found && found - 1 < first)
                first = found - 1;
        }
        if (first == UINT32_MAX)
            return n;
        for (size_t i = 0; i < n; i++) {
            const bool joins = i + 1 < n && token[i] == v->merge[first].left && token[i + 1] == v->merge[first].right;

            token[kept++] = joins ? (uint16_t)(RP_TOKENS_BYTES + first) : token[i];
            i += joins;
        }
        n = kept;
    }
}

/* Each distinct piece is encoded once: its tokens lie in a pool, from piece.tokens on, behind their number. */
typedef struct encoder {
    const rp_vocabulary *v;
    rp_pieces pieces;
    rp_buffer pool;
} encoder;

static rp_status new_piece(encoder *e, rp_piece *piece, const unsigned char *text, rp_error *err)
{
    uint16_t token[RP_PIECE_BYTES + 1];

    for (size_t i = 0; i < piece->length; i++)
        token[1 + i] = text[piece->at + i];
    token[0] = (uint16_t)encode_piece(e->v, token + 1, piece->length);
    piece->tokens = e->pool.size;
    rp_buffer_append(&e->pool, token, (1u + token[0]) * sizeof *token);
    return rp_buffer_status(&e->pool, err);
}

static rp_status encode(encoder *e, const unsigned char *text, size_t size, uint16_t *out, size_t *n, rp_error *err)
{
    rp_status status = RP_OK;

    for (size_t at = 0, length; at < size && status == RP_OK; at += length) {
        const size_t known = e->pieces.n;
        uint16_t count;
        size_t number;

        length = rp_piece_length(text + at, size - at);
        status = rp_pieces_add(&e->pieces, at, length, &number, err);
        if (status == RP_OK && number == known)
            status = new_piece(e, &e->pieces.piece[number], text, err);
        if (status != RP_OK)
            return status;
        memcpy(&count, e->pool.data + e->pieces.piece[number].tokens, sizeof count);
        memcpy(out + *n, e->pool.data + e->pieces.piece[number].tokens + sizeof count, count * sizeof *out);
        *n += count;
    }
    return status;
}

rp_status rp_vocabulary_encode(const rp_vocabulary *v, const unsigned char *text, size_t size, uint16_t **out,
                               size_t *n, rp_error *err)
{
    encoder e = {.v = v, .pieces = {.text = text}};
    uint16_t *token = rp_reallocarray(NULL, size ? size : 1, sizeof *token);
    rp_status status = token ? RP_OK : rp_no_memory(err);

    *out = NULL;
    *n = 0;
    if (status == RP_OK && v->merges == 0)
        for (; *n < size; ++*n)
            token[*n] = text[*n];
    else if (status == RP_OK)
        status = encode(&e, text, size, token, n, err);
    rp_pieces_clear(&e.pieces);
    rp_buffer_free(&e.pool);
    if (status != RP_OK)
        rp_free(token);
    else
        *out = token;
    return status;
}

/* A token is at most a piece long, so its halves' halves are on a stack of that length. */
void rp_vocabulary_decode(const rp_vocabulary *v, uint16_t token, rp_buffer *out)
{
    uint16_t stack[RP_PIECE_BYTES + 1];
    size_t n = 0;

    stack[n++] = token;
    while (n) {
        const uint16_t top = stack[--n];

        if (top < RP_TOKENS_BYTES) {
            rp_buffer_u8(out, (uint8_t)top);
        } else {
            stack[n++] = v->merge[top - RP_TOKENS_BYTES].right;
            stack[n++] = v->merge[top - RP_TOKENS_BYTES].left;
        }
    }
}
