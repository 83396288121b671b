/* SPDX-License-Identifier: Apache-2.0
 * Learning byte pairs (CONTRACT 17.2): the pair that stands most often side by side in the pieces becomes a token,
 * again and again. Counts are kept up to date piece by piece, so that a step looks only at pieces that have the pair.
 * A pair that is new has the new token in it, so a piece is linked to a pair once: links are at most 3 a byte.
 */
#include <string.h>

#include "base/memory.h"
#include "core/text/pieces.h"
#include "core/text/vocabulary_private.h"

/* A pair, how often it stands in the text, and a chain of the pieces that have, or had, it. */
typedef struct pair {
    rp_merge tokens;
    uint32_t link;          /* number + 1 of the last link, 0: none */
    uint64_t count, queued; /* queued: the count when the queue was last told of it */
} pair;

typedef struct link {
    uint32_t piece, before;
} link;

typedef struct learner {
    rp_pieces pieces;
    uint16_t *token;  /* of all distinct pieces, each where its bytes would be in turn */
    uint32_t *length; /* [pieces] tokens left of each */
    pair *pair;
    size_t pairs, room;
    uint32_t *slot; /* open addressing: number of a pair + 1 */
    size_t slots;
    link *link;
    size_t links, link_room;
    uint32_t *queue; /* a heap of numbers of pairs, the most frequent first; with room for all */
    size_t queued;
} learner;

static void clear(learner *l)
{
    rp_pieces_clear(&l->pieces);
    rp_free(l->token);
    rp_free(l->length);
    rp_free(l->pair);
    rp_free(l->slot);
    rp_free(l->link);
    rp_free(l->queue);
}

static size_t slot_of(const learner *l, rp_merge m)
{
    size_t i = ((size_t)m.left * 0x9e3779b1u ^ (size_t)m.right * 0x85ebca6bu) & (l->slots - 1);

    while (l->slot[i] &&
           (l->pair[l->slot[i] - 1].tokens.left != m.left || l->pair[l->slot[i] - 1].tokens.right != m.right))
        i = (i + 1) & (l->slots - 1);
    return i;
}

static rp_status more_pairs(learner *l, rp_error *err)
{
    const size_t room = l->room ? 2 * l->room : 4096;
    pair *more = rp_reallocarray(l->pair, room, sizeof *more);
    uint32_t *slot, *queue;

    if (!more)
        return rp_no_memory(err);
    l->pair = more;
    queue = rp_reallocarray(l->queue, room, sizeof *queue);
    if (!queue)
        return rp_no_memory(err);
    l->queue = queue;
    slot = rp_calloc(2 * room, sizeof *slot);
    if (!slot)
        return rp_no_memory(err);
    rp_free(l->slot);
    l->slot = slot;
    l->slots = 2 * room;
    l->room = room;
    for (size_t i = 0; i < l->pairs; i++)
        slot[slot_of(l, more[i].tokens)] = (uint32_t)(i + 1);
    return RP_OK;
}

static rp_status pair_of(learner *l, rp_merge m, pair **out, rp_error *err)
{
    rp_status status = l->pairs == l->room ? more_pairs(l, err) : RP_OK;
    size_t i;

    if (status != RP_OK)
        return status;
    i = slot_of(l, m);
    if (!l->slot[i]) {
        l->pair[l->pairs] = (pair){.tokens = m};
        l->slot[i] = (uint32_t)++l->pairs;
    }
    *out = &l->pair[l->slot[i] - 1];
    return RP_OK;
}

static rp_status put_link(learner *l, pair *p, uint32_t piece, rp_error *err)
{
    if (p->link && l->link[p->link - 1].piece == piece)
        return RP_OK;
    if (l->links == l->link_room) {
        const size_t room = l->link_room ? 2 * l->link_room : 4096;
        link *more = room < UINT32_MAX ? rp_reallocarray(l->link, room, sizeof *more) : NULL;

        if (!more)
            return rp_no_memory(err);
        l->link = more;
        l->link_room = room;
    }
    l->link[l->links] = (link){.piece = piece, .before = p->link};
    p->link = (uint32_t)++l->links;
    return RP_OK;
}

/* The piece's pairs count so often more, or less. Of what is more those with the token `joined` are linked, the others
 * being so already; all, where it is 0. */
static rp_status count_piece(learner *l, uint32_t number, bool more, uint16_t joined, rp_error *err)
{
    const rp_piece *piece = &l->pieces.piece[number];
    const uint16_t *token = l->token + piece->tokens;

    for (size_t i = 0; i + 1 < l->length[number]; i++) {
        pair *p = NULL;
        rp_status status = pair_of(l, (rp_merge){token[i], token[i + 1]}, &p, err);

        if (status == RP_OK && more && (!joined || token[i] == joined || token[i + 1] == joined))
            status = put_link(l, p, number, err);
        if (status != RP_OK)
            return status;
        p->count += more ? piece->count : 0 - piece->count;
    }
    return RP_OK;
}

/* Ties go to the smaller left token, then to the smaller right one. */
static bool goes_before(const learner *l, uint32_t a, uint32_t b)
{
    const pair *p = &l->pair[a], *q = &l->pair[b];

    if (p->queued != q->queued)
        return p->queued > q->queued;
    return p->tokens.left != q->tokens.left ? p->tokens.left < q->tokens.left : p->tokens.right < q->tokens.right;
}

/* Puts a pair where it belongs from place i on. */
static void sink(learner *l, size_t i, uint32_t number)
{
    for (size_t child = 2 * i + 1; child < l->queued; i = child, child = 2 * i + 1) {
        child += child + 1 < l->queued && goes_before(l, l->queue[child + 1], l->queue[child]);
        if (!goes_before(l, l->queue[child], number))
            break;
        l->queue[i] = l->queue[child];
    }
    l->queue[i] = number;
}

/* The pairs from number `first` on, which are new; one that is there once is never joined. */
static void queue_pairs(learner *l, size_t first)
{
    for (size_t number = first; number < l->pairs; number++) {
        size_t i = l->queued;

        l->pair[number].queued = l->pair[number].count;
        if (l->pair[number].count < 2)
            continue;
        for (l->queued++; i > 0 && goes_before(l, (uint32_t)number, l->queue[(i - 1) / 2]); i = (i - 1) / 2)
            l->queue[i] = l->queue[(i - 1) / 2];
        l->queue[i] = (uint32_t)number;
    }
}

static rp_status cut(learner *l, const unsigned char *text, size_t size, rp_error *err)
{
    size_t bytes = 0;
    rp_status status = RP_OK;

    for (size_t at = 0, length, number; at < size && status == RP_OK; at += length) {
        length = rp_piece_length(text + at, size - at);
        status = rp_pieces_add(&l->pieces, at, length, &number, err);
    }
    if (status != RP_OK)
        return status;
    for (size_t i = 0; i < l->pieces.n; i++) {
        l->pieces.piece[i].tokens = bytes;
        bytes += l->pieces.piece[i].length;
    }
    l->token = rp_reallocarray(NULL, bytes ? bytes : 1, sizeof *l->token);
    l->length = rp_reallocarray(NULL, l->pieces.n ? l->pieces.n : 1, sizeof *l->length);
    if (!l->token || !l->length)
        return rp_no_memory(err);
    for (size_t i = 0; i < l->pieces.n && status == RP_OK; i++) {
        const rp_piece *piece = &l->pieces.piece[i];

        for (size_t k = 0; k < piece->length; k++)
            l->token[piece->tokens + k] = text[piece->at + k];
        l->length[i] = piece->length;
        status = count_piece(l, (uint32_t)i, true, 0, err);
    }
    queue_pairs(l, 0);
    return status;
}

/* Counts of pairs in the queue only fall, and are looked at when they come to its front. */
static const pair *most_frequent(learner *l)
{
    while (l->queued) {
        const uint32_t number = l->queue[0];
        pair *p = &l->pair[number];

        if (p->count == p->queued && p->count >= 2)
            return p;
        p->queued = p->count;
        sink(l, 0, p->count >= 2 ? number : l->queue[--l->queued]);
    }
    return NULL;
}

static bool has(const learner *l, uint32_t number, rp_merge m)
{
    const uint16_t *token = l->token + l->pieces.piece[number].tokens;

    for (size_t i = 0; i + 1 < l->length[number]; i++)
        if (token[i] == m.left && token[i + 1] == m.right)
            return true;
    return false;
}

static void join_in(uint16_t *token, uint32_t *length, rp_merge m, uint16_t joined)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < *length; i++) {
        const bool joins = i + 1 < *length && token[i] == m.left && token[i + 1] == m.right;

        token[kept++] = joins ? joined : token[i];
        i += joins;
    }
    *length = kept;
}

static rp_status join_everywhere(learner *l, const pair *best, uint16_t joined, rp_error *err)
{
    const rp_merge m = best->tokens; /* pairs may move when more come */
    const size_t known = l->pairs;
    uint32_t at = best->link;
    rp_status status = RP_OK;

    while (at && status == RP_OK) {
        const uint32_t number = l->link[at - 1].piece;

        at = l->link[at - 1].before;
        if (!has(l, number, m)) /* an earlier merge took it */
            continue;
        status = count_piece(l, number, false, 0, err);
        join_in(l->token + l->pieces.piece[number].tokens, &l->length[number], m, joined);
        if (status == RP_OK)
            status = count_piece(l, number, true, joined, err);
    }
    queue_pairs(l, known);
    return status;
}

rp_status rp_vocabulary_learn(rp_vocabulary **out, const unsigned char *text, size_t size, size_t wanted, rp_error *err)
{
    learner l = {.pieces = {.text = text}};
    rp_vocabulary *v = NULL;
    rp_status status = rp_vocabulary_new(&v, wanted, err);

    *out = NULL;
    if (status == RP_OK && wanted > RP_TOKENS_BYTES)
        status = cut(&l, text, size, err);
    while (status == RP_OK && v->size < wanted) {
        const pair *best = most_frequent(&l);

        /* a pair is in pieces, and was not joined before: else it would not stand there */
        if (!best || !rp_vocabulary_join(v, best->tokens))
            break;
        status = join_everywhere(&l, best, (uint16_t)(v->size - 1), err);
    }
    clear(&l);
    if (status == RP_OK)
        *out = v;
    else
        rp_vocabulary_free(v);
    return status;
}
