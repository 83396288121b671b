/* SPDX-License-Identifier: Apache-2.0
 * memcpy, of which a few elements are no call: of a tile's row or column, or of a tap's channels. The number of bytes
 * is a multiple of four. */
#ifndef KERNELS_CPU_MATMUL_COPY_FEW_H
#define KERNELS_CPU_MATMUL_COPY_FEW_H

#include <stddef.h>
#include <string.h>

/* The first and the last so many bytes, which may overlap. */
#define COPY_ENDS(part) \
    memcpy(to, from, part); \
    memcpy((char *)to + bytes - (part), (const char *)from + bytes - (part), part)

static inline void copy_few(void *to, const void *from, size_t bytes)
{
    if (bytes >= 64) {
        for (size_t at = 0; at + 64 < bytes; at += 64)
            memcpy((char *)to + at, (const char *)from + at, 64);
        memcpy((char *)to + bytes - 64, (const char *)from + bytes - 64, 64);
    } else if (bytes >= 32) {
        COPY_ENDS(32);
    } else if (bytes >= 16) {
        COPY_ENDS(16);
    } else if (bytes >= 8) {
        COPY_ENDS(8);
    } else if (bytes >= 4) {
        COPY_ENDS(4);
    }
}
#undef COPY_ENDS

#endif
