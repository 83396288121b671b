/* SPDX-License-Identifier: Apache-2.0
 * Loops that apply a scalar function along the runs of a walk, for the templates. Contiguous data and scalar
 * broadcasts get their own loop, which compilers vectorise; anything else goes by strides. */
#ifndef KERNELS_REF_FUNCTIONS_MAP_H
#define KERNELS_REF_FUNCTIONS_MAP_H

#include "kernels/level.h"
#include "kernels/walk.h"

typedef void rp_map(const rp_walk *walk);

/* What an element costs, which decides whether memory is asked for ahead where a level does so. */
enum { MAP_light, MAP_function };

static inline void map_items(const rp_kernel_args *args, size_t n_in, size_t begin, size_t end, rp_map *map, int cost)
{
    rp_walk walk;

    (void)cost;
    rp_walk_args(&walk, args, n_in, begin, end);
    while (rp_walk_next(&walk))
        map(&walk);
}

/* A loop around a call does not vectorise, and compilers stop inlining long functions into the loops of one map. */
#if defined(__GNUC__)
#define RP_FLAT __attribute__((flatten))
#else
#define RP_FLAT
#endif

/* FN(name_map): out OUT, in T, through FN(name). */
#define RP_MAP1(name, OUT) \
    RP_FLAT static void FN(name##_map)(const rp_walk *walk) \
    { \
        OUT *y = walk->at[0]; \
        const T *x = walk->at[1]; \
        const ptrdiff_t sy = walk->step[0], sx = walk->step[1]; \
\
        if (sy == 1 && sx == 1) \
            RP_EACH(i, walk->run) y[i] = FN(name)(x[i]); \
        else \
            RP_EACH(i, walk->run) y[i * sy] = FN(name)(x[i * sx]); \
    }

/* FN(name_map) where FN(name) has arguments after x: `let` makes them, from walk->attr, before the loop. */
#define RP_MAP1_WITH(name, let, ...) \
    RP_FLAT static void FN(name##_map)(const rp_walk *walk) \
    { \
        T *y = walk->at[0]; \
        const T *x = walk->at[1]; \
        const ptrdiff_t sy = walk->step[0], sx = walk->step[1]; \
        let \
\
            if (sy == 1 && sx == 1) RP_EACH(i, walk->run) y[i] = FN(name)(x[i], __VA_ARGS__); \
        else RP_EACH(i, walk->run) y[i * sy] = FN(name)(x[i * sx], __VA_ARGS__); \
    }

#define RP_MAP2(name, OUT) \
    RP_FLAT static void FN(name##_map)(const rp_walk *walk) \
    { \
        OUT *y = walk->at[0]; \
        const T *a = walk->at[1], *b = walk->at[2]; \
        const ptrdiff_t sy = walk->step[0], sa = walk->step[1], sb = walk->step[2]; \
        const T a0 = *a, b0 = *b; \
\
        if (sy == 1 && sa == 1 && sb == 1) \
            RP_EACH(i, walk->run) y[i] = FN(name)(a[i], b[i]); \
        else if (sy == 1 && sa == 1 && sb == 0) \
            RP_EACH(i, walk->run) y[i] = FN(name)(a[i], b0); \
        else if (sy == 1 && sa == 0 && sb == 1) \
            RP_EACH(i, walk->run) y[i] = FN(name)(a0, b[i]); \
        else \
            RP_EACH(i, walk->run) y[i * sy] = FN(name)(a[i * sa], b[i * sb]); \
    }

/* from_to_to: out TO, whose value is made of x in FROM. */
#define RP_CONVERSION(from, FROM, to, TO, value) \
    static void from##_to_##to(const rp_walk *walk) \
    { \
        TO *y = walk->at[0]; \
        const FROM *source = walk->at[1]; \
        const ptrdiff_t sy = walk->step[0], sx = walk->step[1]; \
\
        if (sy == 1 && sx == 1) \
            RP_EACH(i, walk->run) \
            { \
                const FROM x = source[i]; \
\
                y[i] = (TO)(value); \
            } \
        else \
            RP_EACH(i, walk->run) \
            { \
                const FROM x = source[i * sx]; \
\
                y[i * sy] = (TO)(value); \
            } \
    }

/* The kernel `name` over elements: runs the map of the dtype of input `by`; cost light or function. */
#define RP_ELEMENTWISE(name, n_in, by, cost, ...) \
    static void name##_run(const rp_kernel_args *args, size_t begin, size_t end) \
    { \
        static rp_map *const maps[RP_DTYPE_COUNT] = {__VA_ARGS__}; \
\
        map_items(args, n_in, begin, end, maps[args->in[by].dtype], MAP_##cost); \
    } \
    RP_DEFINE_KERNEL(name, rp_items_elements, name##_run, rp_cost_##cost)

#define RP_REALS(name) [RP_F32] = name##_map_f32, [RP_F64] = name##_map_f64
#define RP_INTEGERS(name) [RP_I32] = name##_map_i32, [RP_I64] = name##_map_i64
#define RP_NUMBERS(name) RP_REALS(name), RP_INTEGERS(name)
#define RP_BITS(name) RP_INTEGERS(name), [RP_U32] = name##_map_u32
#define RP_ALL(name) RP_NUMBERS(name), [RP_BOOL] = name##_map_bool
/* Elements whose bits are carried: by a map of their size. */
#define RP_MOVED(name) \
    RP_ALL(name), [RP_BF16] = name##_map_bf16, [RP_F16] = name##_map_bf16, [RP_I8] = name##_map_bool, \
                  [RP_U8] = name##_map_bool, [RP_I16] = name##_map_bf16, [RP_U32] = name##_map_i32

#endif
