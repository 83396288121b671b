/* SPDX-License-Identifier: Apache-2.0
 * Sizes of the blocks of a matrix product at the level that is being compiled, which has vectors: of the caches of the
 * processors that have it. */
#ifndef KERNELS_CPU_MATMUL_MATMUL_SIZES_H
#define KERNELS_CPU_MATMUL_MATMUL_SIZES_H

#include <stdbool.h>
#include <string.h>

#include "kernels/cpu/matmul/matmul_plan.h"
#include "kernels/cpu/matmul/matmul_scratch.h"
#include "kernels/cpu/matmul/matmul_zip.h"
#include "kernels/cpu/vec.h"

#ifndef VEC_BYTES
#error "a level with vectors only; without, matmul_columns.inc.h"
#endif

/* Packed a stays in the second cache beside one panel of b: 1 MiB or more with AVX-512, from 256 KiB elsewhere. Packed
 * b lies in the third, each panel fetched once for all rows of packed a. Threads share the columns out in strips of
 * half of what a block of b has room for: together they would fill the third cache. */
#define B_BYTES ((size_t)4096 * 1024)
#define A_BYTES ((size_t)(VEC_BYTES == 64 ? 416 : 100) * 1024)
_Static_assert(A_BYTES + B_BYTES <= RP_SCRATCH_BYTES, "the borrowed block holds both");
enum {
    EPILOGUE_BYTES = 1 << 19, /* of finished outputs, on which an epilogue works while they are in the second cache; */
    LEAST_TILES = 8,          /* packing a is not worth it for fewer */
    LARGE_B = 1 << 19,        /* bytes from which packing b deserves large pages */
    FAR_B = 1 << 20,          /* bytes of b's rows from which a product of one tile's rows waits for memory, */
    PACKING_ROWS = 8,         /* and how many rows have time to pack it meanwhile */
    LYING_ROWS = 96,          /* up to here b is read in place, */
    LINES_AHEAD = 32,         /* and fetched so many of its rows ahead */
    THIN_ROWS = 4,            /* up to here b is not worth packing */
    THIRD = 1 << 25,          /* bytes of a b that is fetched ahead from the third cache */
    IN_PLACE_PANELS = 2,      /* up to here a is not; where its rows lie apart in the first cache: */
    APART_PANELS = VEC_BYTES == 64 ? 16 : 2,
    Y_AHEAD = 128 /* steps of k before its end at which a tile fetches its outputs */
};

/* Whether the processor itself fetches ahead along several rows of b at once, as Intel's do, a b of so many bytes that
 * its third cache may well hold: asking it for them, or reading a part of each row at a time, is then slower. Measured,
 * not told by any flag; only a question of speed. */
static inline bool fetches_ahead(size_t bytes)
{
#if defined(__x86_64__) || defined(__i386__)
    return bytes <= THIRD && __builtin_cpu_is("intel");
#else
    (void)bytes;
    return false;
#endif
}

/* CASE of every number of rows that a tile may have, but of the most: each is a function of its own, so that none is
 * wasted on padding. */
#if TILE_ROWS == 12
#define RP_EACH_TILE(CASE) CASE(1) CASE(2) CASE(3) CASE(4) CASE(5) CASE(6) CASE(7) CASE(8) CASE(9) CASE(10) CASE(11)
#else
#define RP_EACH_TILE(CASE) CASE(1) CASE(2) CASE(3) CASE(4) CASE(5)
#endif

#endif
