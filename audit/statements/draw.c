/* SPDX-License-Identifier: Apache-2.0
 * The draw of a sample, by the permutation of the numeric contract, so that anybody can repeat it and nobody can choose
 * it once the archive exists. */
#include "audit/statements/draw.h"

#include <stdlib.h>

#include "audit/digest/digest.h"
#include "base/buffer.h"
#include "base/memory.h"
#include "determinism/philox.h"

enum { STREAM = 0x53414D50 }; /* "SAMP" */

static int ascending(const void *a, const void *b)
{
    const size_t x = *(const size_t *)a, y = *(const size_t *)b;

    return (x > y) - (x < y);
}

rp_status rp_draw_segments(size_t *out, size_t count, size_t segments, const char *seed, const char *archive_id,
                           rp_error *err)
{
    rp_buffer text = {0};
    rp_digest digest;
    int64_t *order;
    rp_status status;

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
