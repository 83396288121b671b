/* SPDX-License-Identifier: Apache-2.0
 * Convolution and its gradient by the input as products of tiles whose chains have gaps (CONTRACT 4.5), binary32. A
 * table in shared memory says for each tap and row where the pixel lies that they meet, if there is one. Where a tap
 * exists for all rows of a warp its terms are those of a matrix product; else each row's are predicated: what does not
 * exist is not multiplied. */
#include "kernels/gpu/conv/conv_tile_args.h"
#include "kernels/gpu/vectors.h"

#define ROWS RP_GPU_CONV_ROWS
#define BK RP_GPU_CONV_STEPS
#define STAGES RP_GPU_CONV_STAGES
#define THREADS 256
#define TM 8
#define SA (ROWS + 4)

/* A term's place, moved on by a stage at a time. */
typedef struct term {
    int index, tap, inner;
} term;

RP_GPU_FN term term_at(int index, int inner)
{
    term t = {index, index / inner, 0};

    t.inner = index - t.tap * inner;
    return t;
}

RP_GPU_FN void term_next(term *t, int inner)
{
    t->index += BK;
    t->inner += BK;
    while (t->inner >= inner) {
        t->inner -= inner;
        t->tap++;
    }
}

/* Where a row's pixel lies. */
typedef struct place {
    int n, i, j;
} place;

RP_GPU_FN place place_of(const rp_gpu_conv_tile &p, int row)
{
    const int pixels = p.high * p.across, band = row / (p.together * pixels), first = band * p.together;
    const int in = row - first * pixels, beside = p.images - first < p.together ? p.images - first : p.together;
    const int pixel = in / beside;
    place at;

    at.n = first + in - pixel * beside;
    at.i = pixel / p.across;
    at.j = pixel - at.i * p.across;
    return at;
}

/* table[tap][row]: where the pixel lies that they meet, or -1; words[tap][warp]: for which of its 32 rows there is one;
 * weights[tap]: where its weights begin. */
RP_GPU_FN void make_table(const rp_gpu_conv_tile &p, int row0, int *table, u32 *words, int *weights)
{
    const int t = (int)RP_GPU_THREAD, row = t % ROWS;
    const bool inside = row0 + row < p.rows;
    const place at_row = place_of(p, inside ? row0 + row : 0);

    for (int tap = t / ROWS; tap < p.taps; tap += THREADS / ROWS) {
        const int r = tap / p.w.taps, s = tap - r * p.w.taps;
        int h = 0, w = 0, at = -1;
        bool met;

        if (p.back)
            met = RP_GPU_CONV_OUTPUT(p.h, at_row.i, r, h) && RP_GPU_CONV_OUTPUT(p.w, at_row.j, s, w);
        else
            met = RP_GPU_CONV_INPUT(p.h, at_row.i, r, h) && RP_GPU_CONV_INPUT(p.w, at_row.j, s, w);
        if (met && inside)
            at = (int)(at_row.n * p.a_stride[0] + h * p.a_stride[1] + w * p.a_stride[2]);
        table[tap * ROWS + row] = at;
        if (row == 0)
            weights[tap] = (int)(r * p.tap_stride[0] + s * p.tap_stride[1]);
    }
    RP_GPU_BARRIER();
    for (int word = t; word < 4 * p.taps; word += THREADS) {
        u32 bits = 0;

        for (int b = 0; b < 32; b++)
            bits |= (u32)(table[word / 4 * ROWS + word % 4 * 32 + b] >= 0) << b;
        words[word] = bits;
    }
    RP_GPU_BARRIER();
}

#define TN 8
#define WIDTH 128
#define WIDE 0
#define TILE(name) name##_128_s
#include "kernels/gpu/conv/conv_tile.inc.h"
#define TN 8
#define WIDTH 128
#define WIDE 1
#define TILE(name) name##_128_w
#include "kernels/gpu/conv/conv_tile.inc.h"
#define TN 4
#define WIDTH 64
#define WIDE 0
#define TILE(name) name##_64_s
#include "kernels/gpu/conv/conv_tile.inc.h"
#define TN 4
#define WIDTH 64
#define WIDE 1
#define TILE(name) name##_64_w
#include "kernels/gpu/conv/conv_tile.inc.h"

#undef BK
#undef STAGES
#undef THREADS
#define ALONG 0
#define TILE(name) name##_64_e
#include "kernels/gpu/conv/conv_even.inc.h"
#define ALONG 1
#define TILE(name) name##_64_k
#include "kernels/gpu/conv/conv_even.inc.h"
