/* SPDX-License-Identifier: Apache-2.0
 * The draw is a pure function of (seed, archive id, number of segments), by the permutation of the numeric contract, so
 * that anybody can repeat it and nobody can choose it once the archive exists. */
#include "audit/replay/sample.h"

#include <stdlib.h>
#include <string.h>

#include "audit/digest/digest.h"
#include "base/buffer.h"
#include "base/memory.h"
#include "determinism/philox.h"

enum { STREAM = 0x53414D50 }; /* "SAMP" */

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

static int ascending(const void *a, const void *b)
{
    const size_t x = *(const size_t *)a, y = *(const size_t *)b;

    return (x > y) - (x < y);
}

rp_status rp_sample_draw(size_t *out, size_t count, size_t segments, const char *seed, const char *archive_id,
                         rp_error *err)
{
    rp_buffer text = {0};
    rp_digest digest;
    int64_t *order;
    rp_status status;

    if (!seed_valid(seed))
        return rp_fail(err, RP_EARG,
                       "the seed of a sample is 1 to %d printable ASCII characters, without a space at either "
                       "end",
                       RP_REPLAY_SEED - 1);
    if (count > segments)
        return rp_fail(err, RP_EARG, "%zu of %zu segments cannot be drawn", count, segments);
    rp_buffer_text(&text, seed);
    rp_buffer_text(&text, archive_id);
    status = rp_buffer_status(&text, err);
    if (status == RP_OK)
        status = rp_sha256(&digest, text.data, text.size, err);
    rp_buffer_free(&text);
    if (status != RP_OK)
        return status;
    order = rp_reallocarray(NULL, segments, sizeof *order);
    if (!order)
        return rp_no_memory(err);
    rp_permutation(order, segments, rp_load_u64(digest.bytes),
                   rp_load_u64(digest.bytes + 8) & (((uint64_t)1 << 48) - 1), STREAM);
    for (size_t i = 0; i < count; i++)
        out[i] = (size_t)order[i];
    qsort(out, count, sizeof *out, ascending);
    rp_free(order);
    return RP_OK;
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
