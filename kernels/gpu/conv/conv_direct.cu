/* SPDX-License-Identifier: Apache-2.0
 * Convolution and pooling with a thread for each element that is made (CONTRACT 4.5): what has few channels or filters
 * a group, binary64, and all that the tiles of conv.cu do not take. Neighbours along the channels read neighbours. */
#include "kernels/gpu/conv/conv_args.h"

enum { THREADS = 256 };

#define EACH(i) \
    for (u64 i = (u64)RP_GPU_BLOCK_X * THREADS + RP_GPU_THREAD; i < p.count; i += (u64)RP_GPU_BLOCKS_X * THREADS)

/* Element i of a tensor [.., a, b, d]. */
typedef struct place {
    int n, h, w, c;
} place;

RP_GPU_FN place place_of(u64 i, int h, int w, int c)
{
    place at;
    u64 left = i / (u64)c;

    at.c = (int)(i - left * (u64)c);
    i = left / (u64)w;
    at.w = (int)(left - i * (u64)w);
    at.n = (int)(i / (u64)h);
    at.h = (int)(i - (u64)at.n * (u64)h);
    return at;
}

RP_GPU_FN i64 offset(const i64 *stride, int a, int b, int c, int d)
{
    return a * stride[0] + b * stride[1] + c * stride[2] + d * stride[3];
}

#define T float
#define PASTE(name) name##_f32
#define FMA RP_GPU_FMA_F32
#define LOWEST (-RP_GPU_FROM_BITS_F32(0x7F800000u))
#define SIGN_BIT(x) (RP_GPU_BITS_F32(x) >> 31)
#include "kernels/gpu/conv/conv_direct_type.inc.h"

#define T double
#define PASTE(name) name##_f64
#define FMA RP_GPU_FMA_F64
#define LOWEST (-RP_GPU_FROM_BITS_F64(UINT64_C(0x7FF0000000000000)))
#define SIGN_BIT(x) (RP_GPU_BITS_F64(x) >> 63)
#include "kernels/gpu/conv/conv_direct_type.inc.h"
