/* SPDX-License-Identifier: Apache-2.0
 * Cutting a text into pieces by the classes of its bytes. */
#include "core/text/pieces.h"

#include <string.h>

#include "base/memory.h"

typedef enum byte_class { SPACE, LETTER, DIGIT, OTHER } byte_class;

/* Every byte of a character beyond ASCII counts as a letter, so that none is cut. */
static byte_class class_of(unsigned char c)
{
    if (c == ' ' || (c >= '\t' && c <= '\r'))
        return SPACE;
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c >= 0x80)
        return LETTER;
    return c >= '0' && c <= '9' ? DIGIT : OTHER;
}

size_t rp_piece_length(const unsigned char *text, size_t size)
{
    const size_t limit = size < RP_PIECE_BYTES ? size : RP_PIECE_BYTES;
    const size_t first = text[0] == ' ' && limit > 1 && class_of(text[1]) != SPACE;
    const byte_class class = class_of(text[first]);
    size_t n = first + 1;

    while (n < limit && class_of(text[n]) == class)
        n++;
    /* the last of several spaces belongs to the word behind it */
    if (class == SPACE && n > 1 && n < size && text[n - 1] == ' ' && class_of(text[n]) != SPACE)
        n--;
    return n;
}

static uint64_t hash(const unsigned char *text, size_t length)
{
    uint64_t h = 0xcbf29ce484222325u;

    for (size_t i = 0; i < length; i++)
        h = (h ^ text[i]) * 0x100000001b3u;
    return h ^ (h >> 29);
}

/* Where the piece is, or the empty slot for it. */
static size_t find(const rp_pieces *p, const unsigned char *text, size_t length)
{
    size_t i = (size_t)hash(text, length) & (p->slots - 1);

    for (; p->slot[i]; i = (i + 1) & (p->slots - 1)) {
        const rp_piece *piece = &p->piece[p->slot[i] - 1];

        if (piece->length == length && memcmp(p->text + piece->at, text, length) == 0)
            break;
    }
    return i;
}

static rp_status grow(rp_pieces *p, rp_error *err)
{
    const size_t room = p->room ? 2 * p->room : 512;
    rp_piece *piece = rp_reallocarray(p->piece, room, sizeof *piece);
    uint32_t *slot;

    if (!piece)
        return rp_no_memory(err);
    p->piece = piece;
    slot = rp_calloc(2 * room, sizeof *slot);
    if (!slot)
        return rp_no_memory(err);
    rp_free(p->slot);
    p->slot = slot;
    p->slots = 2 * room;
    p->room = room;
    for (size_t i = 0; i < p->n; i++)
        slot[find(p, p->text + piece[i].at, piece[i].length)] = (uint32_t)(i + 1);
    return RP_OK;
}

rp_status rp_pieces_add(rp_pieces *p, size_t at, size_t length, size_t *number, rp_error *err)
{
    rp_status status = p->n == p->room ? grow(p, err) : RP_OK;
    size_t i;

    if (status != RP_OK)
        return status;
    i = find(p, p->text + at, length);
    if (!p->slot[i]) {
        if (p->n >= UINT32_MAX - 1)
            return rp_fail(err, RP_EDATA, "the text has more than 2^32 - 2 different pieces");
        p->piece[p->n] = (rp_piece){.at = at, .length = (uint32_t)length};
        p->slot[i] = (uint32_t)++p->n;
    }
    *number = p->slot[i] - 1;
    p->piece[*number].count++;
    return RP_OK;
}

void rp_pieces_clear(rp_pieces *p)
{
    rp_free(p->piece);
    rp_free(p->slot);
    *p = (rp_pieces){.text = NULL};
}
