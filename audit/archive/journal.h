/* SPDX-License-Identifier: Apache-2.0
 * run/journal.bin: one record of 128 bytes a step (FORMAT.md 4). */
#ifndef AUDIT_ARCHIVE_JOURNAL_H
#define AUDIT_ARCHIVE_JOURNAL_H

#include "audit/digest/digest.h"

enum { RP_RECORD_SIZE = 128, RP_LOSS_NONE = -1 };

typedef struct rp_record {
    uint64_t step;
    uint32_t program; /* run/programs/NNNN.json */
    rp_digest feeds, results, states;
    uint64_t loss;      /* bits of the result named "loss" with one element, else 0 */
    int32_t loss_dtype; /* RP_F32, RP_F64 or RP_LOSS_NONE */
} rp_record;

void rp_record_write(unsigned char out[RP_RECORD_SIZE], const rp_record *record);
/* False when a reserved field is not zero or the loss dtype is unknown. */
bool rp_record_read(rp_record *out, const unsigned char in[RP_RECORD_SIZE]);

#endif
