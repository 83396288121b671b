/* SPDX-License-Identifier: Apache-2.0
 * Pieces of one stretch of memory, taken and given back in any order, each in constant time; it knows offsets alone. */
#ifndef CORE_RUN_FREE_PIECES_H
#define CORE_RUN_FREE_PIECES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RP_FREE_PIECES_ALIGN = 64, RP_FREE_PIECES_CLASSES = 1024 };

typedef struct rp_free_piece {
    size_t offset, bytes;
    uint32_t before, after; /* its neighbours in memory */
    uint32_t above, below;  /* in its class's list, where free */
    bool free;
} rp_free_piece;

typedef struct rp_free_pieces {
    rp_free_piece *piece;
    uint32_t n, capacity, unused; /* unused: a list of pieces that are none */
    uint32_t last;                /* the piece at the end */
    uint32_t first[RP_FREE_PIECES_CLASSES];
    uint64_t present[RP_FREE_PIECES_CLASSES / 64]; /* which classes have free pieces */
    size_t end;                                    /* bytes that were ever in use */
    size_t limit;                                  /* bytes there are; SIZE_MAX: no bound */
} rp_free_pieces;

enum { RP_FREE_PIECES_NONE = UINT32_MAX };
static const size_t rp_free_pieces_most =
    SIZE_MAX / 4; /* bytes of a plan's kind of memory: the sum of all kinds is a size */

void rp_free_pieces_init(rp_free_pieces *pieces, size_t limit);
void rp_free_pieces_free(rp_free_pieces *pieces);
/* A piece of so many bytes, aligned; false: out of memory for it, or none within the limit. */
bool rp_free_pieces_take(rp_free_pieces *pieces, size_t bytes, uint32_t *piece);
void rp_free_pieces_give(rp_free_pieces *pieces, uint32_t piece);
static inline size_t rp_free_pieces_offset(const rp_free_pieces *pieces, uint32_t piece)
{
    return pieces->piece[piece].offset;
}

/* Adds so many bytes, aligned, to a sum of such; false: that would be more than rp_free_pieces_most. */
bool rp_free_pieces_add(size_t *sum, size_t bytes);

#endif
