/* SPDX-License-Identifier: Apache-2.0
 * A growable byte buffer that remembers whether growing ever failed, so writers check once at the end,
 * and little-endian integers. */
#ifndef BASE_BUFFER_H
#define BASE_BUFFER_H

#include <stdbool.h>
#include <stdint.h>

#include "rp/error.h"

typedef struct rp_buffer {
    unsigned char *data;
    size_t size, capacity;
    bool failed; /* an append did not fit in memory; data is unchanged from then on */
} rp_buffer;

/* A zero-initialised rp_buffer is empty and valid. Appends are no-ops once failed is set. */
void rp_buffer_append(rp_buffer *buffer, const void *bytes, size_t size);
void rp_buffer_text(rp_buffer *buffer, const char *text);
void rp_buffer_printf(rp_buffer *buffer, const char *format, ...) RP_PRINTF(2, 3); /* never use for floating point */
void rp_buffer_u8(rp_buffer *buffer, uint8_t v);
void rp_buffer_u16(rp_buffer *buffer, uint16_t v); /* little-endian, as all below */
void rp_buffer_u32(rp_buffer *buffer, uint32_t v);
void rp_buffer_u64(rp_buffer *buffer, uint64_t v);
void rp_buffer_free(rp_buffer *buffer); /* back to empty and valid */
/* RP_OK, or RP_ENOMEM when an append failed. */
rp_status rp_buffer_status(const rp_buffer *buffer, rp_error *err);
/* What was written, as the caller's NUL-terminated text (rp_free), the buffer empty again. NULL where status, what came
 * before, is no RP_OK, and where an append failed; returns the status, or RP_ENOMEM. */
rp_status rp_buffer_finish(rp_buffer *buffer, rp_status status, char **text, rp_error *err);
/* Appends to self, a buffer, and says at once when that failed: for whoever hands bytes on piece by piece. */
rp_status rp_buffer_take(void *self, const void *bytes, size_t size, rp_error *err);

void rp_store_u32(unsigned char *at, uint32_t v);
void rp_store_u64(unsigned char *at, uint64_t v);
uint32_t rp_load_u32(const unsigned char *at);
uint64_t rp_load_u64(const unsigned char *at);

/* Lowercase hex of size bytes into out[2 * size + 1]. */
void rp_hex(char *out, const void *bytes, size_t size);
/* Exactly 2 * size lowercase hex digits and no more; false otherwise, out then undefined. */
bool rp_unhex(void *out, size_t size, const char *text);

#endif
