/* SPDX-License-Identifier: Apache-2.0
 * Digests as such. */
#include "audit/digest/digest.h"

#include <string.h>

#include "base/buffer.h"

bool rp_digest_equal(const rp_digest *a, const rp_digest *b)
{
    return memcmp(a->bytes, b->bytes, RP_DIGEST_SIZE) == 0;
}

void rp_digest_hex(char out[RP_DIGEST_HEX], const rp_digest *digest)
{
    rp_hex(out, digest->bytes, RP_DIGEST_SIZE);
}
