/* SPDX-License-Identifier: Apache-2.0
 * Packing for one type: operands laid out as the tile reads them, one k after the other. Where the source runs along k
 * this is a transposition, done in registers on squares of vectors.
 *
 * Parameters, from kernels/type_f32.h or type_f64.h: T the type of the elements, FN(name) the name of its variant.
 * For levels with vectors. Before it: nothing. Gives FN(pack), FN(pack_bf16), FN(transpose), FN(transpose_square). */
#if !defined(T) || !defined(FN)
#error "a template: include one of kernels/type_f32.h and kernels/type_f64.h before it"
#endif

#include "determinism/bits.h"
#include "kernels/cpu/matmul/matmul_sizes.h"
#include "kernels/level.h"

#define WIDTH (VEC_BYTES / sizeof(T))
#define PANEL (2 * WIDTH)

/* Transposes WIDTH vectors: log2(WIDTH) perfect shuffles, each interleaving the first half of the rows with the second.
 */
RP_INLINE void FN(transpose_square)(FN(vec) * rows)
{
    RP_UNROLL
    for (size_t stage = 1; stage < WIDTH; stage *= 2) {
        FN(vec) next[WIDTH];

        RP_UNROLL
        for (size_t i = 0; i < WIDTH / 2; i++) {
            next[2 * i] = FN(vec_zip_low)(rows[i], rows[i + WIDTH / 2]);
            next[2 * i + 1] = FN(vec_zip_high)(rows[i], rows[i + WIDTH / 2]);
        }
        RP_UNROLL
        for (size_t i = 0; i < WIDTH; i++)
            rows[i] = next[i];
    }
}

/* to[l * to_step + i] = from[i * from_row + l] for `rows` <= WIDTH rows and l < k <= WIDTH; each store writes WIDTH
 * lanes, those beyond `rows` with anything. What lies `ahead` elements further on is fetched. */
RP_INLINE void FN(transpose_part)(T *to, size_t to_step, const T *from, ptrdiff_t from_row, size_t rows, size_t k,
                                  ptrdiff_t ahead)
{
    FN(vec) square[WIDTH];

    if (k == WIDTH) {
        RP_UNROLL
        for (size_t i = 0; i < WIDTH; i++) {
            const T *at = from + (ptrdiff_t)(i < rows ? i : rows - 1) * from_row;

            square[i] = FN(vec_load)(at);
            __builtin_prefetch(at + ahead, 0, 2);
        }
    } else {
        T part[WIDTH][WIDTH] = {{0}}; /* nothing beyond the end of a row is read */

        for (size_t i = 0; i < rows; i++)
            memcpy(part[i], from + (ptrdiff_t)i * from_row, k * sizeof(T));
        RP_UNROLL
        for (size_t i = 0; i < WIDTH; i++)
            square[i] = FN(vec_load)(part[i]);
    }
    FN(transpose_square)(square);
    RP_UNROLL
    for (size_t l = 0; l < WIDTH; l++)
        if (l < k)
            FN(vec_store)(to + l * to_step, square[l]);
}

/* The same for any rows and k. A store may run over into the values of the next l: so the last rows go first, and `to`
 * has room for WIDTH values beyond its end. The next so many rows are fetched: they are packed next. */
static void FN(transpose)(T *to, size_t to_step, const T *from, ptrdiff_t from_row, size_t rows, size_t k)
{
    const ptrdiff_t ahead = (ptrdiff_t)rows * from_row;

    for (size_t group = (rows + WIDTH - 1) / WIDTH; group-- > 0;) {
        const size_t first = group * WIDTH, count = rows - first < WIDTH ? rows - first : WIDTH;
        const T *at = from + (ptrdiff_t)first * from_row;
        T *out = to + first;
        size_t l = 0;

        for (; l + WIDTH <= k; l += WIDTH, at += WIDTH, out += WIDTH * to_step)
            if (count == WIDTH)
                FN(transpose_part)(out, to_step, at, from_row, WIDTH, WIDTH, ahead);
            else
                FN(transpose_part)(out, to_step, at, from_row, count, WIDTH, ahead);
        if (l < k)
            FN(transpose_part)(out, to_step, at, from_row, count, k - l, ahead);
    }
}

/* to[l * to_step + i] = from[i * across + l * along] for i < count; the values up to `width` serve outputs that nobody
 * stores. */
static void FN(pack)(T *to, size_t to_step, size_t width, const T *from, ptrdiff_t across, ptrdiff_t along,
                     size_t count, size_t k)
{
    if (along == 1 && count > 1) {
        FN(transpose)(to, to_step, from, across, count, k);
        return;
    }
    for (size_t l = 0; l < k; l++, to += to_step, from += along) {
        if (across == 1 && count == PANEL)
            memcpy(to, from, PANEL * sizeof(T)); /* of a constant size: a few vectors */
        else if (across == 1)
            memcpy(to, from, count * sizeof(T));
        else
            for (size_t i = 0; i < count; i++)
                to[i] = from[(ptrdiff_t)i * across];
        for (size_t i = count; i < width; i++)
            to[i] = 0;
    }
}

/* The same from bf16: widened into rows of T beside, in whichever order they lie, and packed from there. The source has
 * half the bytes, so this costs less than reading it saves. */
static inline void FN(pack_bf16)(T *to, size_t to_step, size_t width, const uint16_t *from, ptrdiff_t across,
                                 ptrdiff_t along, size_t count, size_t k)
{
    T rows[PANEL][RP_MATMUL_CHUNK];

    if (along != 1 || count == 1) {
        for (size_t l = 0; l < k; l++, to += to_step, from += along) {
            __builtin_prefetch(from + (ptrdiff_t)count * across, 0, 2); /* the next panel, a short way into each row */
            if (across == 1 && count == PANEL)
                RP_EACH(i, PANEL) to[i] = rp_f32_of_bf16(from[i]);
            else if (across == 1)
                RP_EACH(i, count) to[i] = rp_f32_of_bf16(from[i]);
            else
                for (size_t i = 0; i < count; i++)
                    to[i] = rp_f32_of_bf16(from[(ptrdiff_t)i * across]);
            for (size_t i = count; i < width; i++)
                to[i] = 0;
        }
        return;
    }
    for (size_t i = 0; i < count; i++, from += across) {
        for (size_t l = 0; l < k; l += 64 / sizeof *from)
            __builtin_prefetch(from + (ptrdiff_t)count * across + l, 0, 2);
        RP_EACH(l, k) rows[i][l] = rp_f32_of_bf16(from[l]);
    }
    FN(transpose)(to, to_step, rows[0], RP_MATMUL_CHUNK, count, k);
}

#undef PANEL
#undef WIDTH
