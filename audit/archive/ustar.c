/* SPDX-License-Identifier: Apache-2.0
 * One name and size give one header (FORMAT.md 2). Reading derives it again and compares every byte, so nothing in a
 * header is left to the taste of a tar reader. */
#include "audit/archive/ustar.h"

#include <string.h>

/* Offsets of POSIX.1-1988 ustar. */
enum {
    NAME = 0,
    MODE = 100,
    UID = 108,
    GID = 116,
    SIZE = 124,
    MTIME = 136,
    CHECKSUM = 148,
    TYPE = 156,
    MAGIC = 257,
    MAJOR = 329,
    MINOR = 337
};
enum { NAME_SIZE = 100, SIZE_DIGITS = 11, CHECKSUM_DIGITS = 6, SIZE_BINARY = 0x80 };
#define SIZE_OCTAL ((uint64_t)1 << (3 * SIZE_DIGITS))

static void put_octal(unsigned char *at, int digits, uint64_t v)
{
    for (int i = digits - 1; i >= 0; i--, v >>= 3)
        at[i] = (unsigned char)('0' + (v & 7));
}

/* Eleven octal digits, or where they do not suffice what GNU tar, libarchive and others read there: a byte 0x80 and the
 * number in eleven bytes, the highest first. A size has one form. */
static void put_size(unsigned char *at, uint64_t size)
{
    if (size < SIZE_OCTAL) {
        put_octal(at, SIZE_DIGITS, size);
        at[SIZE_DIGITS] = ' ';
        return;
    }
    at[0] = SIZE_BINARY;
    for (int i = SIZE_DIGITS; i > 0; i--, size >>= 8)
        at[i] = (unsigned char)size;
}

/* The sum of all bytes with the checksum field read as spaces. */
static uint32_t header_sum(const unsigned char *block)
{
    uint32_t sum = 8 * ' ';

    for (size_t i = 0; i < RP_BLOCK; i++)
        if (i < CHECKSUM || i >= CHECKSUM + 8)
            sum += block[i];
    return sum;
}

bool rp_ustar_header(unsigned char header[RP_BLOCK], const char *name, uint64_t size)
{
    if (!rp_member_name_valid(name) || size > RP_MEMBER_SIZE_MAX)
        return false;
    memset(header, 0, RP_BLOCK);
    memcpy(header + NAME, name, strlen(name));
    memcpy(header + MODE, "000644 ", 7);
    memcpy(header + UID, "000000 ", 7);
    memcpy(header + GID, "000000 ", 7);
    put_size(header + SIZE, size);
    memcpy(header + MTIME, "00000000000 ", 12);
    header[TYPE] = '0';
    memcpy(header + MAGIC,
           "ustar\0"
           "00",
           8);
    memcpy(header + MAJOR, "000000 ", 7);
    memcpy(header + MINOR, "000000 ", 7);
    put_octal(header + CHECKSUM, CHECKSUM_DIGITS, header_sum(header));
    header[CHECKSUM + 7] = ' ';
    return true;
}

static bool get_octal(const unsigned char *at, int digits, uint64_t *out)
{
    uint64_t v = 0;

    for (int i = 0; i < digits; i++) {
        if (at[i] < '0' || at[i] > '7')
            return false;
        v = v << 3 | (uint64_t)(at[i] - '0');
    }
    *out = v;
    return true;
}

bool rp_ustar_size(const unsigned char block[RP_BLOCK], uint64_t *size)
{
    uint64_t v = 0;

    if (block[SIZE] != SIZE_BINARY)
        return get_octal(block + SIZE, SIZE_DIGITS, size);
    for (int i = 1; i <= SIZE_DIGITS; i++) {
        if (v > RP_MEMBER_SIZE_MAX >> 8)
            return false;
        v = v << 8 | block[SIZE + i];
    }
    *size = v;
    return v >= SIZE_OCTAL;
}

bool rp_ustar_parse(const unsigned char block[RP_BLOCK], char name[RP_MEMBER_NAME], uint64_t *size, size_t *at)
{
    unsigned char derived[RP_BLOCK];

    memcpy(name, block + NAME, NAME_SIZE);
    name[NAME_SIZE] = '\0';
    *at = NAME;
    if (!rp_member_name_valid(name))
        return false;
    *at = SIZE;
    if (!rp_ustar_size(block, size) || !rp_ustar_header(derived, name, *size))
        return false;
    for (*at = 0; *at < RP_BLOCK && block[*at] == derived[*at]; ++*at)
        continue;
    return *at == RP_BLOCK;
}
