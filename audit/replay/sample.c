/* SPDX-License-Identifier: Apache-2.0
 * How many segments a share is, whether a seed is one, and what a sample can catch; the draw is
 * audit/statements/draw.c.
 */
#include "audit/replay/sample.h"

#include <string.h>

#include "audit/statements/draw.h"

size_t rp_sample_count(size_t segments, uint32_t share)
{
    const uint64_t whole = 1000000;

    /* segments is at most the 65,536 members of an archive */
    return (size_t)(((uint64_t)segments * share + whole - 1) / whole);
}

static bool seed_valid(const char *seed)
{
    size_t length = seed ? strlen(seed) : 0;

    for (size_t i = 0; i < length; i++)
        if (seed[i] < ' ' || seed[i] > '~')
            return false;
    return length >= 1 && length < RP_REPLAY_SEED && seed[0] != ' ' && seed[length - 1] != ' ';
}

rp_status rp_sample_draw(size_t *out, size_t count, size_t segments, const char *seed, const char *archive_id,
                         rp_error *err)
{
    if (!seed_valid(seed))
        return rp_fail(err, RP_EARG,
                       "the seed of a sample is 1 to %d printable ASCII characters, without a space at either "
                       "end",
                       RP_REPLAY_SEED - 1);
    if (count > segments)
        return rp_fail(err, RP_EARG, "%zu of %zu segments cannot be drawn", count, segments);
    return rp_draw_segments(out, count, segments, seed, archive_id, err);
}

double rp_sample_catches(uint64_t segments, uint64_t drawn, uint64_t forged)
{
    double missed = 1;

    if (forged == 0 || drawn == 0)
        return 0;
    if (forged > segments || drawn > segments || drawn + forged > segments)
        return 1;
    /* C(N - F, k) / C(N, k), factor by factor: the i-th segment drawn is an honest one */
    for (uint64_t i = 0; i < drawn; i++)
        missed *= (double)(segments - forged - i) / (double)(segments - i);
    return 1 - missed;
}
