/* SPDX-License-Identifier: Apache-2.0
 * The Fourier transform for one instruction set: all stages of a line while it is in the nearest caches. An element of
 * a stage's result needs two of the one before, so stages may be made in any order that keeps that, with the bits of
 * the clause: two at once in registers. Lines of some thousand elements fill vectors themselves (fourier_alone.inc.h);
 * of longer ones come first the stages of the columns, the line seen as a matrix, then those of its rows; lines that
 * are shorter than a few vectors, or lie side by side, go side by side. */
#include <string.h>

#include "kernels/cpu/fourier/lanes.h"
#include "kernels/cpu/fourier/turns.h"
#include "kernels/cpu/matmul/matmul_scratch.h"
#include "kernels/level.h"
#include "kernels/ref/fourier/fourier.h"

#if defined(__AVX512F__)
enum { VECTOR = 64 };
#define LANES_F32 16
#define LANES_F64 8
#elif defined(__AVX2__)
enum { VECTOR = 32 };
#define LANES_F32 8
#define LANES_F64 4
#else
enum { VECTOR = 16 };
#define LANES_F32 4
#define LANES_F64 2
#endif

/* Bytes of what goes to and fro between passes; lines that lie side by side go in vectors up to this length, and
 * lines alone, in so many passes, asking for the next line from so many bytes on; bytes of either part of a line that
 * is kept between the halves of its stages. */
enum {
    NEAR = 256 * 1024,
    SIDE_LONGEST = 4096,
    ALONE_LONGEST = 4096,
    ALONE_STAGES = 6,
    ASK_LEAST = 1024,
    FOURIER_KEPT = RP_SCRATCH_BYTES / 4 - 4096,
    APART = 1088
};

extern const rp_kernel rp_kernel_fft_ref;

typedef float quad __attribute__((vector_size(16)));
typedef double couple __attribute__((vector_size(16)));

/* Columns of a square of elements that fill a 16-byte vector become rows. */
RP_INLINE void turn_square_f32(float *y, ptrdiff_t ys, const float *x, ptrdiff_t xs)
{
    quad a[4], b[4];

    for (int i = 0; i < 4; i++)
        memcpy(&a[i], x + i * xs, sizeof a[i]);
    b[0] = __builtin_shufflevector(a[0], a[1], 0, 4, 1, 5);
    b[1] = __builtin_shufflevector(a[2], a[3], 0, 4, 1, 5);
    b[2] = __builtin_shufflevector(a[0], a[1], 2, 6, 3, 7);
    b[3] = __builtin_shufflevector(a[2], a[3], 2, 6, 3, 7);
    for (int i = 0; i < 4; i += 2) {
        a[i] = __builtin_shufflevector(b[i], b[i + 1], 0, 1, 4, 5);
        a[i + 1] = __builtin_shufflevector(b[i], b[i + 1], 2, 3, 6, 7);
    }
    for (int i = 0; i < 4; i++)
        memcpy(y + i * ys, &a[i], sizeof a[i]);
}

RP_INLINE void turn_square_f64(double *y, ptrdiff_t ys, const double *x, ptrdiff_t xs)
{
    couple a[2], b[2];

    for (int i = 0; i < 2; i++)
        memcpy(&a[i], x + i * xs, sizeof a[i]);
    b[0] = __builtin_shufflevector(a[0], a[1], 0, 2);
    b[1] = __builtin_shufflevector(a[0], a[1], 1, 3);
    for (int i = 0; i < 2; i++)
        memcpy(y + i * ys, &b[i], sizeof b[i]);
}

#include "kernels/type_f32.h"
#define LINE_LANES LANES_F32
#include "kernels/cpu/fourier/fourier_type.inc.h"
#include "kernels/type_f64.h"
#undef LINE_LANES
#define LINE_LANES LANES_F64
#include "kernels/cpu/fourier/fourier_type.inc.h"
#include "kernels/type_end.h"

static size_t fft_cost(const rp_kernel_args *args)
{
    return rp_kernel_fft_ref.cost(args);
}

static void fft_run(const rp_kernel_args *args, size_t begin, size_t end)
{
    const size_t n = rp_view_last(&args->in[0]), size = rp_dtype_size(args->in[0].dtype);
    const bool in_order = rp_view_last_stride(&args->out[0]) == 1 && rp_view_last_stride(&args->out[1]) == 1;
    const bool fits =
        n > 1 && n <= RP_TURNS_LONGEST && (RP_AT(args->attr, fft, transposed).i == 0 || n * size <= FOURIER_KEPT);
    void *scratch = in_order && fits ? rp_scratch_borrow() : NULL;
    rp_turns turns;

    if (!scratch || !rp_turns_get(&turns, args->in[0].dtype, n))
        rp_kernel_fft_ref.run(args, begin, end);
    else {
        rp_walk walk;

        fourier_walk(&walk, args, begin, end);
        while (rp_walk_next(&walk))
            (args->in[0].dtype == RP_F32 ? fourier_lines_f32 : fourier_lines_f64)(&walk, args, &turns, scratch);
    }
    rp_scratch_return(scratch);
}

RP_DEFINE_KERNEL(fft, rp_items_rows, fft_run, fft_cost);
