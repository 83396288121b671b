/* SPDX-License-Identifier: Apache-2.0
 * Uniform and normal fills and dropout (CONTRACT 6 and 7): pure functions of (seed, step, stream, element). */
#include "determinism/philox.h"
#include "kernels/ref/functions/map.h"

/* Where draws come from, and the two reals that shape them. */
typedef struct draw {
    uint64_t seed, step;
    uint32_t stream;
    double a, b;
} draw;

static float unit_f32(const draw *d, uint64_t i)
{
    return rp_uniform_f32(rp_random_u32(d->seed, d->step, d->stream, i));
}

/* Words 2i and 2i + 1 always lie in one block. */
static double unit_f64(const draw *d, uint64_t i)
{
    const rp_philox4 block = rp_random_block(d->seed, d->step, d->stream, i / 2);

    return rp_uniform_f64(block.v[i % 2 * 2], block.v[i % 2 * 2 + 1]);
}

#include "kernels/type_f32.h"
#include "kernels/ref/random_type.inc.h"
#include "kernels/type_f64.h"
#include "kernels/ref/random_type.inc.h"

/* rng: seed, step and, if there are three, an offset of the stream (CONTRACT 6.3). */
static draw draw_of(const rp_view *rng, int64_t stream, double a, double b)
{
    const int64_t *words = (const int64_t *)rng->data;
    const uint64_t offset = rng->shape[0] > 2 ? (uint64_t)words[2 * rng->stride[0]] : 0;

    return (draw){(uint64_t)words[0], (uint64_t)words[rng->stride[0]], (uint32_t)((uint64_t)stream + offset), a, b};
}

static void draw_items(const rp_kernel_args *args, size_t n_in, const draw *d, size_t begin, size_t end,
                       void (*f32)(const rp_walk *, const draw *), void (*f64)(const rp_walk *, const draw *))
{
    rp_walk walk;

    rp_walk_args(&walk, args, n_in, begin, end);
    while (rp_walk_next(&walk))
        (args->out[0].dtype == RP_F32 ? f32 : f64)(&walk, d);
}

static void uniform_run(const rp_kernel_args *args, size_t begin, size_t end)
{
    const draw d = draw_of(&args->in[0], RP_AT(args->attr, uniform, stream).i, RP_AT(args->attr, uniform, low).r,
                           RP_AT(args->attr, uniform, high).r);

    draw_items(args, 0, &d, begin, end, uniform_map_f32, uniform_map_f64);
}

static void normal_run(const rp_kernel_args *args, size_t begin, size_t end)
{
    const draw d = draw_of(&args->in[0], RP_AT(args->attr, normal, stream).i, RP_AT(args->attr, normal, mean).r,
                           RP_AT(args->attr, normal, deviation).r);

    draw_items(args, 0, &d, begin, end, normal_map_f32, normal_map_f64);
}

static void dropout_run(const rp_kernel_args *args, size_t begin, size_t end)
{
    const draw d = draw_of(&args->in[1], RP_AT(args->attr, dropout, stream).i, RP_AT(args->attr, dropout, rate).r, 0);

    draw_items(args, 1, &d, begin, end, dropout_map_f32, dropout_map_f64);
}

static size_t random_cost(const rp_kernel_args *args)
{
    (void)args;
    return 40; /* ten rounds of two wide multiplications */
}

RP_DEFINE_KERNEL(uniform, rp_items_elements, uniform_run, random_cost);
RP_DEFINE_KERNEL(normal, rp_items_elements, normal_run, random_cost);
RP_DEFINE_KERNEL(dropout, rp_items_elements, dropout_run, random_cost);
