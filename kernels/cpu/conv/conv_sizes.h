/* SPDX-License-Identifier: Apache-2.0
 * Sizes of the tiles and blocks of convolution at the level that is being compiled: of its registers, and of the caches
 * of the processors that have it. */
#ifndef KERNELS_CPU_CONV_CONV_SIZES_H
#define KERNELS_CPU_CONV_CONV_SIZES_H

#include "kernels/cpu/matmul/matmul_scratch.h"
#include "kernels/cpu/vec.h"
#include "kernels/ref/conv/conv.h"

/* Rows of a register tile. */
#if !defined(VEC_BYTES) || VEC_BYTES == 32
#define CONV_ROWS 6
#else
#define CONV_ROWS 12
#endif

/* Bytes of a vector; without any, of a line of neighbouring outputs. A panel of outputs is two of them wide. */
#ifdef VEC_BYTES
#define WIDEST VEC_BYTES
enum { TILES_IN_PLACE = true }; /* tiles can read rows that are not packed */
#else
#define WIDEST 64
enum { TILES_IN_PLACE = false };
#endif
#define PANEL_BYTES (2 * (size_t)WIDEST)

/* Packed rows stay in the second cache, 1 MiB or more with AVX-512, from 256 KiB elsewhere; a chunk of the weight lies
 * in the third, each panel fetched once for all of them. */
#define B_BYTES ((size_t)2048 * 1024)
#define A_BYTES ((size_t)(WIDEST == 64 ? 416 : 100) * 1024)
_Static_assert(A_BYTES + B_BYTES <= RP_SCRATCH_BYTES, "the borrowed block holds both");
enum {
    ROW_STEP = RP_CONV_CHUNK + 16, /* packed rows lie apart from each other in the cache */
    MOST_ROWS = 96,
    /* Up to so many pixels read a weight where it lies, and fetch it so many rows ahead. Not where a panel is a part of
     * a line, which would be read again for each. */
    FEW_PIXELS = PANEL_BYTES < 64 ? 0 : MOST_ROWS,
    LINES_AHEAD = 32,
    IN_PLACE_PANELS = 2, /* up to so many, rows are not worth packing; where they lie apart in the first cache: */
    APART_PANELS = WIDEST >= 32 ? 16 : 2,
    TURNED_PANELS = WIDEST == 64 ? 8 : 2, /* ... of a weight packed by turning */
    /* Of channels that do not mix: pixels and vectors of channels at a time, and what is packed of an image. */
    SHARED_PIXELS = WIDEST == 32 ? 4 : 8,
    BLOCK_VECTORS = 8,
    MANY_TAPS = 40,
    PACKED_PIXELS = 64, /* of a gradient with fewer columns than a panel, beside one another */
    MOST_WINDOWS = 32,  /* of 3 x 3 taps, at a time */
    CHANNEL_BYTES = 768 * 1024,
    /* Of finished outputs, which are in the second cache when a chain goes on with them: so many bytes at a time. */
    BEHIND_BYTES = 1 << 19,
    FEW_CHANNELS = 8,
    NARROW = 4,
    NARROW_SLOTS = 16,
    NARROW_VECTORS = WIDEST == 64 ? 4 : 2 /* outputs, rows and vectors of few channels */
};

/* Rows of `size` bytes an element that packed rows have room for, and columns of the weight. */
static inline size_t room_for_rows(size_t size)
{
    return A_BYTES / (ROW_STEP * size) < MOST_ROWS ? A_BYTES / (ROW_STEP * size) : (size_t)MOST_ROWS;
}

static inline size_t room_for_columns(size_t size)
{
    return B_BYTES / (RP_CONV_CHUNK * size) / (PANEL_BYTES / size) * (PANEL_BYTES / size);
}

#endif
