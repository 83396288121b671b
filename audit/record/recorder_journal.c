/* SPDX-License-Identifier: Apache-2.0
 * The recorder's journal, which its other files share. */
#include "audit/record/recorder_private.h"

rp_status rp_recorder_append(rp_recorder *r, const rp_record *record, rp_error *err)
{
    unsigned char bytes[RP_RECORD_SIZE];

    rp_record_write(bytes, record);
    return rp_growing_append(&r->journal, bytes, sizeof bytes, err);
}

uint64_t rp_recorder_steps(const rp_recorder *r)
{
    return rp_growing_size(&r->journal) / RP_RECORD_SIZE + (r->pending.work != NULL);
}
