/* SPDX-License-Identifier: Apache-2.0
 * Uniform and normal fills and dropout for one instruction set: whole blocks of Philox, several counters at a time,
 * into a buffer that stays in the first cache; then the formulas of ref/random_type.inc.h over the buffer, in vectors.
 */
#include "kernels/cpu/functions/inline_math.h"
#include "kernels/cpu/philox.h"
#include "kernels/cpu/stream.h"

extern const rp_kernel rp_kernel_uniform_ref, rp_kernel_normal_ref, rp_kernel_dropout_ref;

/* Elements of a piece of work: the words of a piece and its terms fit the first cache with room to spare. */
enum { PIECE = 512 };

typedef struct draw {
    philox_source source;
    double a, b;
    uint32_t kept; /* dropout keeps where the top 24 bits of the word are at least this */
} draw;

/* Exact for w < 2^32, and vectorises at every level, as a conversion from 64 bits does not. */
RP_INLINE double real_of_word(uint64_t w)
{
    return rp_from_bits_f64(0x4330000000000000u | w) - 0x1p52;
}

/* rp_uniform_f64: both products and, as the whole has 53 bits, the sum are exact. */
RP_INLINE double unit_of_pair(uint64_t high, uint64_t low)
{
    return real_of_word(high) * 0x1p-32 + real_of_word(low >> 11) * 0x1p-53;
}

/* Fills y[0 .. n), n <= PIECE, with the elements from position `first` on; x (dropout's input) is contiguous too. */
typedef void fill_piece(void *y, const void *x, uint64_t first, size_t n, const draw *d);

/* Standard normals of blocks first .. first + n, as rp_normal_f64. */
static void normals(double *z, uint64_t first, size_t n, const draw *d)
{
    _Alignas(64) uint64_t word[4][PIECE + PHILOX_WIDE];

    philox_columns(&d->source, first, n, word[0], word[1], word[2], word[3]);
    RP_EACH(i, n)
    {
        const double u1 = 1.0 - unit_of_pair(word[0][i], word[1][i]), u2 = unit_of_pair(word[2][i], word[3][i]);

        z[i] = __builtin_sqrt(-2.0 * rp_log_f64_inline(u1)) * rp_cospi_f64_inline(2.0 * u2);
    }
}

#include "kernels/type_f32.h"
#include "kernels/cpu/random_type.inc.h"
#include "kernels/type_f64.h"
#include "kernels/cpu/random_type.inc.h"

static void uniform_f32(void *out, const void *x, uint64_t first, size_t n, const draw *d)
{
    _Alignas(64) uint32_t buffer[PIECE + 4 * PHILOX_WIDE + 4];
    const uint32_t *word = philox_words(&d->source, first, n, buffer);
    float *y = out;

    (void)x;
    RP_EACH(i, n) y[i] = (float)(d->a + (d->b - d->a) * (double)((float)(int32_t)(word[i] >> 8) * 0x1p-24f));
}

static void uniform_f64(void *out, const void *x, uint64_t first, size_t n, const draw *d)
{
    _Alignas(64) uint32_t buffer[2 * PIECE + 4 * PHILOX_WIDE + 4];
    const uint32_t *word = philox_words(&d->source, 2 * first, 2 * n, buffer);
    double *y = out;

    (void)x;
    RP_EACH(i, n) y[i] = d->a + (d->b - d->a) * unit_of_pair(word[2 * i], word[2 * i + 1]);
}

static void run_pieces(rp_walk *walk, size_t n_in, size_t size, bool stream, fill_piece *fill, const draw *d)
{
    _Alignas(STREAM_LINE) char block[PIECE * sizeof(double)];
    char *y = walk->at[0];
    const char *x = n_in > 0 ? walk->at[1] : NULL;
    size_t count;

    for (size_t i = 0; i < walk->run; i += count) {
        const size_t head = stream_head(y, size);

        count = i == 0 && head < PIECE ? head : PIECE;
        count = walk->run - i < count ? walk->run - i : count;
        fill(stream ? block : y, x, walk->first + i, count, d);
        if (stream)
            stream_copy(y, block, count * size);
        y += count * size;
        x = x != NULL ? x + count * size : NULL;
    }
}

static void draw_items(const rp_kernel_args *args, size_t n_in, draw *d, const rp_attr *stream, size_t begin,
                       size_t end, fill_piece *const fill[2], const rp_kernel *ref)
{
    const rp_view *rng = &args->in[n_in];
    const int64_t *words = rng->data;
    const uint64_t offset = rng->shape[0] > 2 ? (uint64_t)words[2 * rng->stride[0]] : 0;
    const size_t size = rp_dtype_size(args->out[0].dtype);
    rp_walk walk;

    d->source =
        (philox_source){(uint64_t)words[0], (uint64_t)words[rng->stride[0]], (uint32_t)((uint64_t)stream->i + offset)};
    rp_walk_args(&walk, args, n_in, begin, end);
    while (rp_walk_next(&walk))
        if (walk.step[0] == 1 && (n_in == 0 || walk.step[1] == 1))
            run_pieces(&walk, n_in, size,
                       stream_pays_for(&args->out[0], begin, end) && (n_in == 0 || walk.at[0] != walk.at[1]),
                       fill[args->out[0].dtype != RP_F32], d);
        else
            ref->run(args, walk.first, walk.first + walk.run);
    stream_end();
}

static void uniform_run(const rp_kernel_args *args, size_t begin, size_t end)
{
    static fill_piece *const fill[2] = {uniform_f32, uniform_f64};
    draw d = {.a = RP_AT(args->attr, uniform, low).r, .b = RP_AT(args->attr, uniform, high).r};

    draw_items(args, 0, &d, &RP_AT(args->attr, uniform, stream), begin, end, fill, &rp_kernel_uniform_ref);
}

static void normal_run(const rp_kernel_args *args, size_t begin, size_t end)
{
    static fill_piece *const fill[2] = {normal_f32, normal_f64};
    draw d = {.a = RP_AT(args->attr, normal, mean).r, .b = RP_AT(args->attr, normal, deviation).r};

    draw_items(args, 0, &d, &RP_AT(args->attr, normal, stream), begin, end, fill, &rp_kernel_normal_ref);
}

/* u = k 2^-24 >= rate exactly when k >= rate 2^24, which is exact; k is an integer, so when k >= its ceiling. */
static void dropout_run(const rp_kernel_args *args, size_t begin, size_t end)
{
    static fill_piece *const fill[2] = {dropout_f32, dropout_f64};
    const double least = RP_AT(args->attr, dropout, rate).r * 0x1p24;
    draw d = {.a = 1.0 / (1.0 - RP_AT(args->attr, dropout, rate).r), .kept = (uint32_t)least};

    d.kept += (double)d.kept < least;
    draw_items(args, 1, &d, &RP_AT(args->attr, dropout, stream), begin, end, fill, &rp_kernel_dropout_ref);
}

static size_t random_cost(const rp_kernel_args *args)
{
    return rp_kernel_uniform_ref.cost(args);
}

RP_DEFINE_KERNEL(uniform, rp_items_elements, uniform_run, random_cost);
RP_DEFINE_KERNEL(normal, rp_items_elements, normal_run, random_cost);
RP_DEFINE_KERNEL(dropout, rp_items_elements, dropout_run, random_cost);
