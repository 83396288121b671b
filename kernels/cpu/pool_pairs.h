/* SPDX-License-Identifier: Apache-2.0
 * The maxima and means of 2 x 2 windows side by side, in binary32, and their gradients: vectors over the channels of
 * several pixels, which a permutation takes apart into left and right halves of windows. Each element of the image is
 * in one window at most, so its gradient is one addition to +0 or none. */
#ifndef KERNELS_CPU_POOL_PAIRS_H
#define KERNELS_CPU_POOL_PAIRS_H

#include "kernels/cpu/vec.h"

enum { LANES = VEC_BYTES / 4 };

/* Lanes of two vectors, or those before `count`; wins holds the lanes where one is true. */
#if defined(__AVX512F__)
typedef __m512i pair_pick;
typedef __mmask16 pair_lanes, pair_wins;

RP_INLINE pair_pick pair_pick_of(const int32_t *lane)
{
    return _mm512_loadu_si512(lane);
}

RP_INLINE vec_f32 pair_take(vec_f32 a, vec_f32 b, pair_pick pick)
{
    return _mm512_permutex2var_ps(a, pick, b);
}

RP_INLINE vec_f32 pair_product(vec_f32 a, vec_f32 b)
{
    return _mm512_mul_ps(a, b);
}

RP_INLINE pair_lanes pair_first(size_t count)
{
    return (pair_lanes)((1u << count) - 1);
}

RP_INLINE vec_f32 pair_load(const float *at, pair_lanes lanes)
{
    return _mm512_maskz_loadu_ps(lanes, at);
}

RP_INLINE void pair_store(float *at, vec_f32 v, pair_lanes lanes, size_t count)
{
    (void)count;
    _mm512_mask_storeu_ps(at, lanes, v);
}

/* FN(maximum): the instruction gives b unless a > b; equal numbers have the same bits but for zeros of two signs. */
RP_INLINE vec_f32 pair_maximum(vec_f32 a, vec_f32 b)
{
    const vec_f32 most = _mm512_mask_and_ps(_mm512_max_ps(a, b), _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ), a, b);

    return _mm512_mask_mov_ps(most, _mm512_cmp_ps_mask(a, a, _CMP_UNORD_Q), a);
}

/* x > best, or x alone is a NaN; then it is the best. */
RP_INLINE pair_wins pair_win(vec_f32 x, vec_f32 *best)
{
    const pair_wins wins = _mm512_mask_cmp_ps_mask(_mm512_cmp_ps_mask(*best, *best, _CMP_ORD_Q), x, *best, _CMP_NLE_UQ);

    *best = _mm512_mask_mov_ps(*best, wins, x);
    return wins;
}

RP_INLINE vec_f32 pair_where(pair_wins wins, vec_f32 v)
{
    return _mm512_maskz_mov_ps(wins, v);
}

RP_INLINE vec_f32 pair_where_not(pair_wins wins, vec_f32 v)
{
    return _mm512_maskz_mov_ps((pair_wins)~wins, v);
}
#else
typedef __m256i pair_pick, pair_lanes;
typedef __m256 pair_wins;

RP_INLINE pair_pick pair_pick_of(const int32_t *lane)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)lane);
}

RP_INLINE vec_f32 pair_take(vec_f32 a, vec_f32 b, pair_pick pick)
{
    const __m256 from_b = _mm256_castsi256_ps(_mm256_slli_epi32(pick, 28)); /* bit 3 becomes the sign */

    return _mm256_blendv_ps(_mm256_permutevar8x32_ps(a, pick), _mm256_permutevar8x32_ps(b, pick), from_b);
}

RP_INLINE vec_f32 pair_product(vec_f32 a, vec_f32 b)
{
    return _mm256_mul_ps(a, b);
}

RP_INLINE pair_lanes pair_first(size_t count)
{
    static const int32_t ones[2 * LANES] = {-1, -1, -1, -1, -1, -1, -1, -1};

    return pair_pick_of(ones + LANES - count);
}

RP_INLINE vec_f32 pair_load(const float *at, pair_lanes lanes)
{
    return _mm256_maskload_ps(at, lanes);
}

/* A masked store takes many steps on some processors. */
RP_INLINE void pair_store(float *at, vec_f32 v, pair_lanes lanes, size_t count)
{
    __m128 part = _mm256_castps256_ps128(v);

    (void)lanes;
    if (count == LANES) {
        _mm256_storeu_ps(at, v);
        return;
    }
    if (count & 4) {
        _mm_storeu_ps(at, part);
        at += 4;
        part = _mm256_extractf128_ps(v, 1);
    }
    if (count & 2) {
        _mm_storel_pi((__m64 *)(void *)at, part);
        at += 2;
        part = _mm_movehl_ps(part, part);
    }
    if (count & 1)
        _mm_store_ss(at, part);
}

RP_INLINE vec_f32 pair_maximum(vec_f32 a, vec_f32 b)
{
    const __m256 equal = _mm256_cmp_ps(a, b, _CMP_EQ_OQ), nan = _mm256_cmp_ps(a, a, _CMP_UNORD_Q);

    return _mm256_blendv_ps(_mm256_blendv_ps(_mm256_max_ps(a, b), _mm256_and_ps(a, b), equal), a, nan);
}

RP_INLINE pair_wins pair_win(vec_f32 x, vec_f32 *best)
{
    const pair_wins wins = _mm256_and_ps(_mm256_cmp_ps(*best, *best, _CMP_ORD_Q), _mm256_cmp_ps(x, *best, _CMP_NLE_UQ));

    *best = _mm256_blendv_ps(*best, x, wins);
    return wins;
}

RP_INLINE vec_f32 pair_where(pair_wins wins, vec_f32 v)
{
    return _mm256_and_ps(wins, v);
}

RP_INLINE vec_f32 pair_where_not(pair_wins wins, vec_f32 v)
{
    return _mm256_andnot_ps(wins, v);
}
#endif

/* Blocks of `pixels` outputs with all their channels, where two or more fit a vector; else vectors along the channels
 * of one, and nothing is permuted. Input lanes are taken from two vectors, gradients put into two. */
typedef struct pairs {
    size_t channels, begin, end, pixels; /* of all channels, [begin, end) are computed */
    pair_pick left, right, low, high;
} pairs;

/* One block: where its lanes lie, and how many there are of outputs, and of inputs in the first and second vector. */
typedef struct pair_block {
    size_t out, first, second;
    pair_lanes out_lanes, first_lanes, second_lanes;
} pair_block;

static pairs pairs_of(size_t channels, size_t begin, size_t end)
{
    const bool several = end - begin == channels && channels > 0 && 2 * channels <= LANES;
    pairs s = {.channels = channels, .begin = begin, .end = end, .pixels = several ? LANES / channels : 1};
    int32_t left[LANES] = {0}, right[LANES] = {0}, merged[2 * LANES] = {0};

    for (size_t i = 0; several && i < s.pixels * channels; i++) {
        const size_t at = i + i / channels * channels;

        left[i] = (int32_t)at;
        right[i] = (int32_t)(at + channels);
        merged[at] = (int32_t)i;
        merged[at + channels] = (int32_t)(i + LANES);
    }
    s.left = pair_pick_of(left);
    s.right = pair_pick_of(right);
    s.low = pair_pick_of(merged);
    s.high = pair_pick_of(merged + LANES);
    return s;
}

/* Of several pixels' outputs, `count` lanes; of one pixel's, whose right half lies apart. */
RP_INLINE pair_block pair_block_of(size_t count, bool several)
{
    pair_block b = {.out = count, .first = count, .second = count};

    if (several) {
        b.first = 2 * count < LANES ? 2 * count : LANES;
        b.second = 2 * count - b.first;
    }
    b.out_lanes = pair_first(b.out);
    b.first_lanes = pair_first(b.first);
    b.second_lanes = pair_first(b.second);
    return b;
}

/* Row of windows' halves: left and right in window order. */
RP_INLINE void pair_read(const pairs *s, const pair_block *b, const float *x, bool several, vec_f32 half[2])
{
    const vec_f32 first = pair_load(x, b->first_lanes);
    const vec_f32 second = pair_load(x + (several ? LANES : s->channels), b->second_lanes);

    half[0] = several ? pair_take(first, second, s->left) : first;
    half[1] = several ? pair_take(first, second, s->right) : second;
}

RP_INLINE void pair_write(const pairs *s, const pair_block *b, float *dx, bool several, vec_f32 left, vec_f32 right)
{
    const vec_f32 first = several ? pair_take(left, right, s->low) : left;
    const vec_f32 second = several ? pair_take(left, right, s->high) : right;

    pair_store(dx, first, b->first_lanes, b->first);
    pair_store(dx + (several ? LANES : s->channels), second, b->second_lanes, b->second);
}

/* The rows of one output row's windows: x and dx the upper, x + x_row and dx + dx_row the lower. */
typedef struct pair_rows {
    const float *x, *g;
    float *y, *dx;
    ptrdiff_t x_row, dx_row;
} pair_rows;

typedef enum pair_work { PAIR_MAXIMA, PAIR_MEANS, PAIR_MAXIMA_BACK, PAIR_MEANS_BACK } pair_work;

/* A quarter is exact where it is not rounded, and rounded as the division by 4. */
RP_INLINE vec_f32 pair_quarter(vec_f32 v)
{
    return pair_product(v, vec_all_f32(0.25f));
}

RP_INLINE vec_f32 pair_result(const vec_f32 upper[2], const vec_f32 lower[2], bool mean)
{
    if (mean) {
        const vec_f32 row = vec_add_f32(vec_add_f32(vec_all_f32(0), upper[0]), upper[1]);

        return pair_quarter(vec_add_f32(vec_add_f32(row, lower[0]), lower[1]));
    }
    return pair_maximum(pair_maximum(pair_maximum(upper[0], upper[1]), lower[0]), lower[1]);
}

RP_INLINE void pair_maxima_back(const pairs *s, const pair_rows *r, const pair_block *b, size_t in, vec_f32 g,
                                bool several)
{
    vec_f32 upper[2], lower[2], best, until_2, until_3;
    pair_wins second, third, fourth;

    pair_read(s, b, r->x + in, several, upper);
    pair_read(s, b, r->x + r->x_row + in, several, lower);
    best = upper[0];
    second = pair_win(upper[1], &best);
    third = pair_win(lower[0], &best);
    fourth = pair_win(lower[1], &best);
    until_3 = pair_where_not(fourth, g);
    until_2 = pair_where_not(third, until_3);
    pair_write(s, b, r->dx + in, several, pair_where_not(second, until_2), pair_where(second, until_2));
    pair_write(s, b, r->dx + r->dx_row + in, several, pair_where(third, until_3), pair_where(fourth, g));
}

/* `in` and `out` are the block's first elements in x and y. */
RP_INLINE void pair_step(const pairs *s, const pair_rows *r, const pair_block *b, size_t in, size_t out, bool several,
                         pair_work work)
{
    const vec_f32 zero = vec_all_f32(0); /* added: -0 becomes +0 */

    if (work == PAIR_MAXIMA_BACK) {
        pair_maxima_back(s, r, b, in, vec_add_f32(zero, pair_load(r->g + out, b->out_lanes)), several);
    } else if (work == PAIR_MEANS_BACK) {
        const vec_f32 g = vec_add_f32(zero, pair_quarter(pair_load(r->g + out, b->out_lanes)));

        pair_write(s, b, r->dx + in, several, g, g);
        pair_write(s, b, r->dx + r->dx_row + in, several, g, g);
    } else {
        vec_f32 upper[2], lower[2];

        pair_read(s, b, r->x + in, several, upper);
        pair_read(s, b, r->x + r->x_row + in, several, lower);
        pair_store(r->y + out, pair_result(upper, lower, work == PAIR_MEANS), b->out_lanes, b->out);
    }
}

/* `count` outputs of a row. */
RP_INLINE void pair_row(const pairs *s, const pair_rows *r, size_t count, pair_work work)
{
    const size_t channels = s->channels, block = s->pixels * channels, elements = count * channels;

    if (s->pixels > 1) {
        const pair_block whole = pair_block_of(block, true), rest = pair_block_of(elements % block, true);
        size_t at = 0;

        for (; at + block <= elements; at += block)
            pair_step(s, r, &whole, 2 * at, at, true, work);
        if (at < elements)
            pair_step(s, r, &rest, 2 * at, at, true, work);
        return;
    }
    for (size_t c = s->begin; c < s->end; c += LANES) {
        const pair_block b = pair_block_of(s->end - c < LANES ? s->end - c : LANES, false);

        for (size_t at = c; at < elements; at += channels)
            pair_step(s, r, &b, 2 * at - c, at, false, work);
    }
}

#endif
