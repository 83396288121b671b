/* SPDX-License-Identifier: Apache-2.0
 * The pieces that a text is cut into before byte pairs are joined, and a table of the distinct ones (CONTRACT 17.2). No
 * token reaches over the end of a piece. */
#ifndef CORE_TEXT_PIECES_H
#define CORE_TEXT_PIECES_H

#include <stddef.h>
#include <stdint.h>

#include "rp/error.h"

enum { RP_PIECE_BYTES = 256 };

/* Length of the piece at the text's beginning, 1 to RP_PIECE_BYTES; size is at least 1. */
size_t rp_piece_length(const unsigned char *text, size_t size);

typedef struct rp_piece {
    size_t at; /* where the text has it first */
    uint32_t length;
    uint64_t count;
    size_t tokens; /* the caller's */
} rp_piece;

/* Zeroed, a table is empty; the text is borrowed. */
typedef struct rp_pieces {
    const unsigned char *text;
    rp_piece *piece; /* in the order of first sight */
    size_t n, room;
    uint32_t *slot; /* open addressing: number of a piece + 1, 0: none */
    size_t slots;
} rp_pieces;

/* The piece's number, which is new where it equals the n of before. Errors: RP_ENOMEM, RP_EDATA (over 2^32 - 2 pieces).
 */
rp_status rp_pieces_add(rp_pieces *pieces, size_t at, size_t length, size_t *number, rp_error *err);
void rp_pieces_clear(rp_pieces *pieces);

#endif
