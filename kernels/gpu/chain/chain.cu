/* SPDX-License-Identifier: Apache-2.0
 * Chains of elementwise steps as one kernel each: interpreters of program.h, by the functions of which the elementwise
 * kernels are made. */
#include "kernels/gpu/device_map.h"

#include "kernels/gpu/chain/program.h"

/* Of the templates the functions alone: elementwise.cu and moving.cu have the kernels. */
#undef RP_MAP1
#undef RP_MAP1_WITH
#undef RP_MAP2
#define RP_MAP1(name, OUT)
#define RP_MAP1_WITH(name, let, ...)
#define RP_MAP2(name, OUT)

#include "kernels/gpu/device_begin.h"

#include "kernels/ref/functions/elementwise.inc.h"
#include "kernels/ref/compare.inc.h"
#include "kernels/walk.c" /* random.c has loops of its own besides */
#include "kernels/ref/random.c"

#undef RP_CONVERSION
#define RP_CONVERSION(from, FROM, to, TO, value) \
    RP_GPU_FN TO convert_##from##_##to(FROM x) \
    { \
        return (TO)(value); \
    }
#include "kernels/ref/casts/casts.inc.h"
#undef RP_CONVERSION

#include "kernels/type_end.h"

/* Values in registers, whatever their type: their bits, and zeros above. */
#define rp_gpu_get_f32(u) RP_GPU_FROM_BITS_F32((u32)(u))
#define rp_gpu_get_f64(u) RP_GPU_FROM_BITS_F64((u64)(u))
#define rp_gpu_get_i32(u) ((int32_t)(u32)(u))
#define rp_gpu_get_i64(u) ((i64)(u))
#define rp_gpu_get_bool(u) ((uint8_t)(u))
#define rp_gpu_get_bf16(u) ((uint16_t)(u))
#define rp_gpu_put_f32(x) RP_GPU_BITS_F32(x)
#define rp_gpu_put_f64(x) RP_GPU_BITS_F64(x)
#define rp_gpu_put_i32(x) ((u32)(x))
#define rp_gpu_put_i64(x) ((u64)(x))
#define rp_gpu_put_bool(x) ((u32)(uint8_t)(x))
#define rp_gpu_put_bf16(x) ((u32)(uint16_t)(x))

/* Dropout of the element: the text of kernels/ref/random.c, for a walk of one element. */
#define DROPPED(type, T) \
    RP_GPU_FN T rp_gpu_dropped_##type(const rp_gpu_chain *p, const rp_gpu_step *s, T x, u64 element) \
    { \
        const rp_gpu_step_view *const state = &p->view[s->at[1]]; \
        T y; \
        rp_walk walk; \
        rp_view rng; \
        draw d; \
\
        rng.data = state->at; \
        rng.shape[0] = p->axis[state->axis].length; \
        rng.stride[0] = p->axis[state->axis].bytes / (i64)sizeof(i64); \
        walk.run = 1; \
        walk.first = element; \
        walk.at[0] = &y; \
        walk.at[1] = &x; \
        walk.step[0] = walk.step[1] = 1; \
        d = draw_of(&rng, s->whole, s->real[0], 0); \
        dropout_map_##type(&walk, &d); \
        return y; \
    }
DROPPED(f32, float)
DROPPED(f64, double)

/* 16 bytes of registers, from and to element e of what lies there. */
RP_GPU_FN void rp_gpu_chain_take16_narrow(u32 *x, const void *at, int e)
{
    const rp_gpu_u32x4 v = RP_GPU_LOAD16(rp_gpu_u32x4, (const u32 *)at + e);

    x[0] = v.x, x[1] = v.y, x[2] = v.z, x[3] = v.w;
}

RP_GPU_FN void rp_gpu_chain_put16_narrow(const u32 *y, void *at, int e)
{
    rp_gpu_u32x4 v;

    v.x = y[0], v.y = y[1], v.z = y[2], v.w = y[3];
    RP_GPU_STORE16(rp_gpu_u32x4, (u32 *)at + e, v);
}

RP_GPU_FN void rp_gpu_chain_take16_wide(u64 *x, const void *at, int e)
{
    u32 v[4];

    rp_gpu_chain_take16_narrow(v, at, 2 * e);
    x[0] = (u64)v[1] << 32 | v[0], x[1] = (u64)v[3] << 32 | v[2];
}

RP_GPU_FN void rp_gpu_chain_put16_wide(const u64 *y, void *at, int e)
{
    const u32 v[4] = {(u32)y[0], (u32)(y[0] >> 32), (u32)y[1], (u32)(y[1] >> 32)};

    rp_gpu_chain_put16_narrow(v, at, 2 * e);
}

#define CHAIN(name) rp_gpu_chain_##name##_narrow
#define REG u32
#define ELEMENTS RP_GPU_NARROW
#define RESIDENT 3
#include "kernels/gpu/chain/interpreter.inc.h"

/* Never called: so few elements are no 16 bytes. */
#define rp_gpu_chain_take16_single rp_gpu_chain_take16_narrow
#define rp_gpu_chain_put16_single rp_gpu_chain_put16_narrow
#define CHAIN(name) rp_gpu_chain_##name##_single
#define REG u32
#define ELEMENTS RP_GPU_SINGLE
#define RESIDENT 4
#include "kernels/gpu/chain/interpreter.inc.h"

#define CHAIN(name) rp_gpu_chain_##name##_wide
#define REG u64
#define ELEMENTS RP_GPU_WIDE
#define RESIDENT 4
#define WITH_WIDE
#include "kernels/gpu/chain/interpreter.inc.h"

#include "kernels/gpu/device_end.h"
