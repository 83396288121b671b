/* SPDX-License-Identifier: Apache-2.0
 * Journal records as bytes. */
#include "audit/archive/journal.h"

#include <string.h>

#include "base/buffer.h"

void rp_record_write(unsigned char out[RP_RECORD_SIZE], const rp_record *r)
{
    memset(out, 0, RP_RECORD_SIZE);
    rp_store_u64(out, r->step);
    rp_store_u32(out + 8, r->program);
    rp_store_u32(out + 12, (uint32_t)r->loss_dtype);
    memcpy(out + 16, r->feeds.bytes, RP_DIGEST_SIZE);
    memcpy(out + 48, r->results.bytes, RP_DIGEST_SIZE);
    memcpy(out + 80, r->states.bytes, RP_DIGEST_SIZE);
    rp_store_u64(out + 112, r->loss);
}

bool rp_record_read(rp_record *r, const unsigned char in[RP_RECORD_SIZE])
{
    r->step = rp_load_u64(in);
    r->program = rp_load_u32(in + 8);
    r->loss_dtype = (int32_t)rp_load_u32(in + 12);
    memcpy(r->feeds.bytes, in + 16, RP_DIGEST_SIZE);
    memcpy(r->results.bytes, in + 48, RP_DIGEST_SIZE);
    memcpy(r->states.bytes, in + 80, RP_DIGEST_SIZE);
    r->loss = rp_load_u64(in + 112);
    return rp_load_u64(in + 120) == 0 &&
           (r->loss_dtype == RP_LOSS_NONE || r->loss_dtype == RP_F32 || r->loss_dtype == RP_F64);
}
