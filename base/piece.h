/* SPDX-License-Identifier: Apache-2.0
 * One of many places whose bytes go into one block. */
#ifndef BASE_PIECE_H
#define BASE_PIECE_H

#include <stdint.h>

typedef struct rp_piece {
    const void *bytes;
    uint32_t size;
    uint32_t at; /* in the block */
} rp_piece;

#endif
