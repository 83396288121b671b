/* SPDX-License-Identifier: Apache-2.0
 * What launches tell the kernels of attention.cu: plain data, passed by value, the same for host and device. */
#ifndef KERNELS_GPU_ATTENTION_ATTENTION_ARGS_H
#define KERNELS_GPU_ATTENTION_ATTENTION_ARGS_H

#include "kernels/gpu/gpu.h"

enum { RP_GPU_ATTENTION_AXES = 6, RP_GPU_ATTENTION_CHUNK = 4096, RP_GPU_ATTENTION_CHUNKS = 2048 };

/* Rows of scores of some heads in a row, those of some queries in a row of each: row r is query begin + r mod rows of
 * head first + r / rows, n values at r times pitch. */
typedef struct rp_gpu_attention {
    rp_gpu_head head;
    void *s, *d;      /* scores, weights then; the gradient of the weights, of the scores then, NULL if there is none */
    const void *mask; /* NULL: none */
    const i64 *rng;   /* NULL: nothing is dropped */
    i64 rng_step;     /* elements between seed, step and the stream's offset */
    u64 first, begin;
    u64 m, n, window;
    i64 mask_row, mask_col, mask_lead[RP_GPU_ATTENTION_AXES];
    u64 lead[RP_GPU_ATTENTION_AXES]; /* of all heads, axes that are not there of length 1 */
    u64 pitch, stream;
    u32 rows, count;
    u32 rng_offset, causal, chosen; /* rng has an offset; only keys up to the query's place; the mask is of bool */
    u32 block;                      /* a block takes a row; else each of its warps one */
    double scale, rate;
} rp_gpu_attention;

/* y [rows, columns] = the parts added left to right, to what y is if `onto`. */
typedef struct rp_gpu_attention_join {
    rp_gpu_head head;
    const void *parts; /* [chunks, rows, columns] */
    void *y;
    i64 y_row, y_col;
    u64 count, columns;
    u32 chunks, onto;
} rp_gpu_attention_join;

#endif
