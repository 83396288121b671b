/* SPDX-License-Identifier: Apache-2.0
 * The 512-byte ustar header as format 1 allows it (FORMAT.md 2): a function of name and size, nothing else. */
#ifndef AUDIT_ARCHIVE_USTAR_H
#define AUDIT_ARCHIVE_USTAR_H

#include "audit/archive/archive.h"

enum { RP_BLOCK = 512 };
#define RP_MEMBER_SIZE_MAX (((uint64_t)1 << 53) - 1) /* an integer of canonical JSON */

/* Reads a header block strictly: name and size out of it, the header derived from them, all 512 bytes compared. On
 * failure *at is the first byte that is not what it should be, and name what the block says, whatever that is. */
bool rp_ustar_parse(const unsigned char block[RP_BLOCK], char name[RP_MEMBER_NAME], uint64_t *size, size_t *at);
/* What the size field alone says; false when it is not written as format 1 has it. */
bool rp_ustar_size(const unsigned char block[RP_BLOCK], uint64_t *size);
/* Bytes of a body with its padding. */
static inline uint64_t rp_ustar_padded(uint64_t size)
{
    return (size + RP_BLOCK - 1) / RP_BLOCK * RP_BLOCK;
}

#endif
