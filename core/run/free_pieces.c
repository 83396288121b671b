/* SPDX-License-Identifier: Apache-2.0
 * Free pieces in classes of sixteen to a power of two, each class a list, a bit set telling which are not empty: a
 * piece is found in the smallest class whose every member is large enough, or among the first few of the class below it
 * (two levels of segregated lists: Masmano, Ripoll, Crespo, Real, "TLSF", 2004). Neighbours that are both free become
 * one. */
#include "core/run/free_pieces.h"

#include <string.h>

#include "base/memory.h"

enum { LOOK = 16 }; /* how many of a class are looked at for one that is large enough */

void rp_free_pieces_init(rp_free_pieces *pieces, size_t limit)
{
    *pieces = (rp_free_pieces){.unused = RP_FREE_PIECES_NONE, .last = RP_FREE_PIECES_NONE, .limit = limit};
    memset(pieces->first, 0xFF, sizeof pieces->first);
}

void rp_free_pieces_free(rp_free_pieces *pieces)
{
    rp_free(pieces->piece);
    pieces->piece = NULL;
}

/* Sizes are counted in units of the alignment. */
static unsigned class_of(size_t bytes)
{
    const size_t units = bytes / RP_FREE_PIECES_ALIGN;
    unsigned log = 0;

    while (units >> log > 1)
        log++;
    return log < 4 ? (unsigned)units : (log - 3) * 16 + (unsigned)(units >> (log - 4) & 15);
}

static void put(rp_free_pieces *pieces, uint32_t i)
{
    rp_free_piece *p = &pieces->piece[i];
    const unsigned c = class_of(p->bytes);

    p->free = true;
    p->above = RP_FREE_PIECES_NONE;
    p->below = pieces->first[c];
    if (p->below != RP_FREE_PIECES_NONE)
        pieces->piece[p->below].above = i;
    pieces->first[c] = i;
    pieces->present[c / 64] |= (uint64_t)1 << c % 64;
}

static void pull(rp_free_pieces *pieces, uint32_t i)
{
    rp_free_piece *p = &pieces->piece[i];
    const unsigned c = class_of(p->bytes);

    p->free = false;
    if (p->below != RP_FREE_PIECES_NONE)
        pieces->piece[p->below].above = p->above;
    if (p->above != RP_FREE_PIECES_NONE)
        pieces->piece[p->above].below = p->below;
    else
        pieces->first[c] = p->below;
    if (pieces->first[c] == RP_FREE_PIECES_NONE)
        pieces->present[c / 64] &= ~((uint64_t)1 << c % 64);
}

/* A free piece that is large enough, the best of a few; RP_FREE_PIECES_NONE when none is found. */
static uint32_t find(const rp_free_pieces *pieces, size_t bytes)
{
    const unsigned c = class_of(bytes);
    uint32_t best = RP_FREE_PIECES_NONE, i = pieces->first[c];

    for (int n = 0; i != RP_FREE_PIECES_NONE && n < LOOK; n++, i = pieces->piece[i].below)
        if (pieces->piece[i].bytes >= bytes &&
            (best == RP_FREE_PIECES_NONE || pieces->piece[i].bytes < pieces->piece[best].bytes))
            best = i;
    if (best != RP_FREE_PIECES_NONE)
        return best;
    for (unsigned k = c + 1; k < RP_FREE_PIECES_CLASSES; k = k / 64 * 64 + 64) {
        const uint64_t rest = pieces->present[k / 64] >> k % 64;

        if (rest) {
            unsigned skip = 0;

            while (!(rest >> skip & 1))
                skip++;
            return pieces->first[k + skip];
        }
    }
    return RP_FREE_PIECES_NONE;
}

static bool new_piece(rp_free_pieces *pieces, uint32_t *out)
{
    if (pieces->unused != RP_FREE_PIECES_NONE) {
        *out = pieces->unused;
        pieces->unused = pieces->piece[*out].after;
        return true;
    }
    if (pieces->n == pieces->capacity) {
        const uint32_t wanted = pieces->capacity ? 2 * pieces->capacity : 32;
        rp_free_piece *bigger = rp_reallocarray(pieces->piece, wanted, sizeof *bigger);

        if (!bigger)
            return false;
        pieces->piece = bigger;
        pieces->capacity = wanted;
    }
    *out = pieces->n++;
    return true;
}

/* Links piece i in behind another (RP_FREE_PIECES_NONE: the first of all). */
static void link_behind(rp_free_pieces *pieces, uint32_t i, uint32_t before)
{
    const uint32_t after = before == RP_FREE_PIECES_NONE ? RP_FREE_PIECES_NONE : pieces->piece[before].after;

    pieces->piece[i].before = before;
    pieces->piece[i].after = after;
    if (before != RP_FREE_PIECES_NONE)
        pieces->piece[before].after = i;
    if (after != RP_FREE_PIECES_NONE)
        pieces->piece[after].before = i;
    else
        pieces->last = i;
}

static void unlink_piece(rp_free_pieces *pieces, uint32_t i)
{
    const uint32_t before = pieces->piece[i].before, after = pieces->piece[i].after;

    if (before != RP_FREE_PIECES_NONE)
        pieces->piece[before].after = after;
    if (after != RP_FREE_PIECES_NONE)
        pieces->piece[after].before = before;
    else
        pieces->last = before;
    pieces->piece[i].after = pieces->unused;
    pieces->unused = i;
}

/* A piece at the end: the free one that is there grows, or a new one comes. */
static bool extend(rp_free_pieces *pieces, size_t bytes, uint32_t *piece)
{
    uint32_t i = pieces->last;
    const size_t begin = i == RP_FREE_PIECES_NONE ? 0
                         : pieces->piece[i].free  ? pieces->piece[i].offset
                                                  : pieces->piece[i].offset + pieces->piece[i].bytes;

    if (begin > pieces->limit || bytes > pieces->limit - begin)
        return false;
    if (i != RP_FREE_PIECES_NONE && pieces->piece[i].free) {
        pull(pieces, i);
        pieces->piece[i].bytes = bytes;
    } else {
        const uint32_t before = pieces->last;

        if (!new_piece(pieces, &i))
            return false;
        pieces->piece[i] = (rp_free_piece){.offset = begin, .bytes = bytes};
        link_behind(pieces, i, before);
    }
    if (begin + bytes > pieces->end)
        pieces->end = begin + bytes;
    *piece = i;
    return true;
}

bool rp_free_pieces_add(size_t *sum, size_t bytes)
{
    const size_t left = (rp_free_pieces_most - *sum) / RP_FREE_PIECES_ALIGN * RP_FREE_PIECES_ALIGN;

    if (bytes > left)
        return false;
    *sum += (bytes + RP_FREE_PIECES_ALIGN - 1) / RP_FREE_PIECES_ALIGN * RP_FREE_PIECES_ALIGN;
    return true;
}

bool rp_free_pieces_take(rp_free_pieces *pieces, size_t bytes, uint32_t *piece)
{
    uint32_t i, rest;

    if (bytes > SIZE_MAX / 2)
        return false;
    bytes =
        bytes ? (bytes + RP_FREE_PIECES_ALIGN - 1) / RP_FREE_PIECES_ALIGN * RP_FREE_PIECES_ALIGN : RP_FREE_PIECES_ALIGN;
    i = find(pieces, bytes);
    if (i == RP_FREE_PIECES_NONE)
        return extend(pieces, bytes, piece);
    if (pieces->piece[i].bytes > bytes) {
        if (!new_piece(pieces, &rest))
            return false;
        pull(pieces, i);
        pieces->piece[rest] =
            (rp_free_piece){.offset = pieces->piece[i].offset + bytes, .bytes = pieces->piece[i].bytes - bytes};
        pieces->piece[i].bytes = bytes;
        link_behind(pieces, rest, i);
        put(pieces, rest);
    } else {
        pull(pieces, i);
    }
    *piece = i;
    return true;
}

void rp_free_pieces_give(rp_free_pieces *pieces, uint32_t i)
{
    const uint32_t before = pieces->piece[i].before, after = pieces->piece[i].after;

    if (after != RP_FREE_PIECES_NONE && pieces->piece[after].free) {
        pull(pieces, after);
        pieces->piece[i].bytes += pieces->piece[after].bytes;
        unlink_piece(pieces, after);
    }
    if (before != RP_FREE_PIECES_NONE && pieces->piece[before].free) {
        pull(pieces, before);
        pieces->piece[before].bytes += pieces->piece[i].bytes;
        unlink_piece(pieces, i);
        i = before;
    }
    put(pieces, i);
}
