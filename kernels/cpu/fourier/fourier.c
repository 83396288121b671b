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
    ALONE_STAGES = 8,
    ASK_LEAST = 1024,
    FOURIER_KEPT = RP_SCRATCH_BYTES / 4 - 4096,
    APART = 1088
};

/* How a line's operands lie that its first stage reads: in two parts, the second of which may be one number, or as
 * pairs, which may have the imaginary part first. */
enum { IN_PARTS, ONE_NUMBER, IN_PAIRS, EXCHANGED };

/* What a last stage makes: parts, parts times a share, or such pairs, which may have the imaginary part first. */
enum { OUT_PARTS, OUT_SHARES, OUT_PAIRS, OUT_EXCHANGED };

extern const rp_kernel rp_kernel_fft_ref;

/* Stages in passes, two of 2 being one of 4. */
typedef struct fourier_passes {
    size_t rows; /* the product */
    int count;
    unsigned short radix[RP_FOURIER_STAGES];
} fourier_passes;

/* Of primes in ascending order; where their twos are odd, the single one goes first, or behind the fours. */
static fourier_passes fourier_passes_of(size_t rows, bool fours_first)
{
    const int twos = __builtin_ctzll(rows);
    fourier_passes list = {.rows = rows};
    rp_fourier_factors odd;

    if (twos % 2 != 0 && !fours_first)
        list.radix[list.count++] = 2;
    for (int i = 0; i < twos / 2; i++)
        list.radix[list.count++] = 4;
    if (twos % 2 != 0 && fours_first)
        list.radix[list.count++] = 2;
    if (rows >> twos > 1) {
        (void)rp_fourier_factor(&odd, rows >> twos);
        for (int i = 0; i < odd.count; i++)
            list.radix[list.count++] = odd.radix[i];
    }
    return list;
}

/* Where turns k n / r begin (turns.h). */
static size_t fourier_root(const rp_fourier_factors *f, size_t n, int r)
{
    size_t at = n;

    for (int k = 0; k < f->count && f->radix[k] < r; k++)
        if (f->radix[k] > 2 && (k == 0 || f->radix[k] != f->radix[k - 1]))
            at += f->radix[k];
    return at;
}

/* A line as the reference makes it. */
static void fourier_of_reference(const fourier_line *l, rp_dtype dtype)
{
    const size_t n[1] = {l->n};
    rp_view view[4];
    rp_attr attr[RP_MAX_ATTR] = {{0}};
    const rp_kernel_args args = {.in = view, .n_in = 2, .out = view + 2, .n_out = 2, .attr = attr};

    for (int i = 0; i < 4; i++) {
        view[i] = (rp_view){.dtype = dtype, .rank = 1, .shape = {n[0]}};
        view[i].data = (void *)(uintptr_t)(i == 0 ? l->x : i == 1 ? l->y : i == 2 ? l->u : l->v);
        view[i].stride[0] = i == 0 ? l->x_step : i == 1 ? l->y_step : i == 2 ? l->u_step : l->v_step;
    }
    RP_AT(attr, fft, inverse).i = l->inverse;
    RP_AT(attr, fft, transposed).i = l->transposed;
    rp_kernel_fft_ref.run(&args, 0, 1);
}

#if LANES_F32 == 8
#include "kernels/cpu/fourier/weave32.h"
#endif

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

/* Whether results lie as pairs, either part first, in lines that are made so. */
static bool in_pairs(const rp_kernel_args *args)
{
    const rp_view *u = &args->out[0], *v = &args->out[1];
    const size_t size = rp_dtype_size(u->dtype);

    for (int d = 0; d < u->rank; d++)
        if (u->stride[d] != v->stride[d])
            return false;
    return rp_view_last_stride(u) == 2 && (v->data == (char *)u->data + size || u->data == (char *)v->data + size) &&
           rp_view_last(u) <= RP_FOURIER_PAIRS;
}

static void fft_run(const rp_kernel_args *args, size_t begin, size_t end)
{
    const size_t n = rp_view_last(&args->in[0]), size = rp_dtype_size(args->in[0].dtype);
    const bool in_order =
        (rp_view_last_stride(&args->out[0]) == 1 && rp_view_last_stride(&args->out[1]) == 1) || in_pairs(args);
    const bool twos = (n & (n - 1)) == 0;
    const bool fits = n > 1 && n <= (twos ? RP_TURNS_LONGEST : RP_TURNS_OTHERS_LONGEST) &&
                      (RP_AT(args->attr, fft, transposed).i == 0 || n * size <= FOURIER_KEPT);
    void *scratch = in_order && fits ? rp_scratch_borrow() : NULL;
    rp_fourier_factors factors = {.count = 0};
    rp_turns turns;

    if (!scratch || !rp_turns_get(&turns, args->in[0].dtype, n))
        rp_kernel_fft_ref.run(args, begin, end);
    else {
        rp_walk walk;

        if (!twos)
            (void)rp_fourier_factor(&factors, n);
        fourier_walk(&walk, args, begin, end);
        while (rp_walk_next(&walk))
            (args->in[0].dtype == RP_F32 ? fourier_lines_f32 : fourier_lines_f64)(&walk, args, &turns, &factors,
                                                                                  scratch);
        rp_turns_return(&turns);
    }
    rp_scratch_return(scratch);
}

RP_DEFINE_KERNEL(fft, rp_items_rows, fft_run, fft_cost);
