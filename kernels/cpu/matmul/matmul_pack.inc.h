/* SPDX-License-Identifier: Apache-2.0
 * Packing for one type: operands laid out as the tile reads them, one k after the other. Where the source runs along k
 * this is a transposition, done in registers on squares of vectors.
 *
 * Parameters, from kernels/type_f32.h or type_f64.h: T the type of the elements, FN(name) the name of its variant.
 * For levels with vectors. Before it: nothing. Gives FN(pack), FN(pack_from), FN(transpose), FN(transpose_square). */
#if !defined(T) || !defined(FN)
#error "a template: include one of kernels/type_f32.h and kernels/type_f64.h before it"
#endif

#include "kernels/cpu/matmul/copy_few.h"
#include "kernels/cpu/matmul/matmul_operand.h"
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
RP_INLINE void FN(transpose_part)(T *to, size_t to_step, const void *from, bool half, ptrdiff_t from_row, size_t rows,
                                  size_t k, ptrdiff_t ahead)
{
    FN(vec) square[WIDTH];

    if (k == WIDTH) {
        RP_UNROLL
        for (size_t i = 0; i < WIDTH; i++) {
            const ptrdiff_t at = (ptrdiff_t)(i < rows ? i : rows - 1) * from_row;

            square[i] = FN(operand_vec)(from, at, half);
            __builtin_prefetch(FN(operand_from)(from, at + ahead, half), 0, 2);
        }
    } else {
        T part[WIDTH][WIDTH] = {{0}}; /* nothing beyond the end of a row is read */

        for (size_t i = 0; i < rows; i++)
            for (size_t l = 0; l < k; l++)
                part[i][l] = FN(operand_at)(from, (ptrdiff_t)i * from_row + (ptrdiff_t)l, half);
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
RP_INLINE void FN(transpose_from)(T *to, size_t to_step, const void *from, bool half, ptrdiff_t from_row, size_t rows,
                                  size_t k)
{
    const ptrdiff_t ahead = (ptrdiff_t)rows * from_row;

    for (size_t group = (rows + WIDTH - 1) / WIDTH; group-- > 0;) {
        const size_t first = group * WIDTH, count = rows - first < WIDTH ? rows - first : WIDTH;
        const void *at = FN(operand_from)(from, (ptrdiff_t)first * from_row, half);
        T *out = to + first;
        size_t l = 0;

        for (; l + WIDTH <= k; l += WIDTH, at = FN(operand_from)(at, WIDTH, half), out += WIDTH * to_step)
            if (count == WIDTH)
                FN(transpose_part)(out, to_step, at, half, from_row, WIDTH, WIDTH, ahead);
            else
                FN(transpose_part)(out, to_step, at, half, from_row, count, WIDTH, ahead);
        if (l < k)
            FN(transpose_part)(out, to_step, at, half, from_row, count, k - l, ahead);
    }
}

static void FN(transpose)(T *to, size_t to_step, const T *from, ptrdiff_t from_row, size_t rows, size_t k)
{
    FN(transpose_from)(to, to_step, from, false, from_row, rows, k);
}

static void FN(transpose_half)(T *to, size_t to_step, const void *from, ptrdiff_t from_row, size_t rows, size_t k)
{
    FN(transpose_from)(to, to_step, from, true, from_row, rows, k);
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
        else if (across == 1 && width == PANEL) {
            FN(vec_store)(to, FN(vec_all)(0)); /* a loop over what lacks took as long as all the rest */
            FN(vec_store)(to + WIDTH, FN(vec_all)(0));
            copy_few(to, from, count * sizeof(T));
            continue;
        } else if (across == 1)
            copy_few(to, from, count * sizeof(T));
        else
            for (size_t i = 0; i < count; i++)
                to[i] = from[(ptrdiff_t)i * across];
        for (size_t i = count; i < width; i++)
            to[i] = 0;
    }
}

/* The same from bf16, widened on the way: the source has half the bytes. */
static inline void FN(pack_half)(T *to, size_t to_step, size_t width, const void *from, ptrdiff_t across,
                                 ptrdiff_t along, size_t count, size_t k)
{
    if (along == 1 && count > 1) {
        FN(transpose_half)(to, to_step, from, across, count, k);
        return;
    }
    for (size_t l = 0; l < k; l++, to += to_step, from = FN(operand_from)(from, along, true)) {
        __builtin_prefetch(FN(operand_from)(from, (ptrdiff_t)count * across, true), 0, 2); /* of the next panel */
        if (across == 1 && count == PANEL) {
            FN(vec_store)(to, FN(operand_vec)(from, 0, true));
            FN(vec_store)(to + WIDTH, FN(operand_vec)(from, WIDTH, true));
        } else if (across == 1) {
            RP_EACH(i, count) to[i] = FN(operand_at)(from, (ptrdiff_t)i, true);
        } else {
            for (size_t i = 0; i < count; i++)
                to[i] = FN(operand_at)(from, (ptrdiff_t)i * across, true);
        }
        for (size_t i = count; i < width; i++)
            to[i] = 0;
    }
}

/* One of the two, from element `at` of an operand on. */
static inline void FN(pack_from)(T *to, size_t to_step, const void *operand, bool half, ptrdiff_t at, ptrdiff_t across,
                                 ptrdiff_t along, size_t count, size_t k)
{
    if (half)
        FN(pack_half)(to, to_step, to_step, FN(operand_from)(operand, at, true), across, along, count, k);
    else
        FN(pack)(to, to_step, to_step, (const T *)operand + at, across, along, count, k);
}

#undef PANEL
#undef WIDTH
