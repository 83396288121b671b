/* SPDX-License-Identifier: Apache-2.0
 * The growable buffer, little-endian integers and hex. */
#include "base/buffer.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"

static bool reserve(rp_buffer *b, size_t more)
{
    if (b->failed)
        return false;
    if (more <= b->capacity - b->size)
        return true;

    size_t capacity = b->capacity ? b->capacity : 256;

    while (capacity - b->size < more) {
        if (capacity > SIZE_MAX / 2) {
            b->failed = true;
            return false;
        }
        capacity *= 2;
    }

    unsigned char *data = rp_realloc(b->data, capacity);

    if (!data) {
        b->failed = true;
        return false;
    }
    b->data = data;
    b->capacity = capacity;
    return true;
}

void rp_buffer_append(rp_buffer *b, const void *bytes, size_t size)
{
    if (size && reserve(b, size)) {
        memcpy(b->data + b->size, bytes, size);
        b->size += size;
    }
}

void rp_buffer_text(rp_buffer *b, const char *text)
{
    rp_buffer_append(b, text, strlen(text));
}

void rp_buffer_printf(rp_buffer *b, const char *format, ...)
{
    va_list args;
    int length;

    va_start(args, format);
    length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (length < 0 || !reserve(b, (size_t)length + 1)) {
        b->failed = true;
        return;
    }
    va_start(args, format);
    (void)vsnprintf((char *)b->data + b->size, (size_t)length + 1, format, args);
    va_end(args);
    b->size += (size_t)length;
}

static void append_le(rp_buffer *b, uint64_t v, size_t size)
{
    unsigned char bytes[8];

    rp_store_u64(bytes, v);
    rp_buffer_append(b, bytes, size);
}

void rp_buffer_u8(rp_buffer *b, uint8_t v)
{
    append_le(b, v, 1);
}

void rp_buffer_u16(rp_buffer *b, uint16_t v)
{
    append_le(b, v, 2);
}

void rp_buffer_u32(rp_buffer *b, uint32_t v)
{
    append_le(b, v, 4);
}

void rp_buffer_u64(rp_buffer *b, uint64_t v)
{
    append_le(b, v, 8);
}

void rp_buffer_free(rp_buffer *b)
{
    rp_free(b->data);
    *b = (rp_buffer){0};
}

rp_status rp_buffer_status(const rp_buffer *b, rp_error *err)
{
    return b->failed ? rp_no_memory(err) : RP_OK;
}

rp_status rp_buffer_finish(rp_buffer *b, rp_status status, char **text, rp_error *err)
{
    *text = NULL;
    rp_buffer_u8(b, 0);
    if (status == RP_OK)
        status = rp_buffer_status(b, err);
    if (status == RP_OK) {
        *text = (char *)b->data;
        *b = (rp_buffer){0};
    }
    rp_buffer_free(b);
    return status;
}

void rp_store_u32(unsigned char *at, uint32_t v)
{
    for (int i = 0; i < 4; i++)
        at[i] = (unsigned char)(v >> (8 * i));
}

void rp_store_u64(unsigned char *at, uint64_t v)
{
    for (int i = 0; i < 8; i++)
        at[i] = (unsigned char)(v >> (8 * i));
}

uint32_t rp_load_u32(const unsigned char *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

uint64_t rp_load_u64(const unsigned char *at)
{
    return (uint64_t)rp_load_u32(at) | (uint64_t)rp_load_u32(at + 4) << 32;
}

void rp_hex(char *out, const void *bytes, size_t size)
{
    static const char digit[] = "0123456789abcdef";
    const unsigned char *at = bytes;

    for (size_t i = 0; i < size; i++) {
        out[2 * i] = digit[at[i] >> 4];
        out[2 * i + 1] = digit[at[i] & 15];
    }
    out[2 * size] = '\0';
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool rp_unhex(void *out, size_t size, const char *text)
{
    unsigned char *at = out;

    for (size_t i = 0; i < size; i++) {
        int high = hex_digit(text[2 * i]);
        int low = high < 0 ? -1 : hex_digit(text[2 * i + 1]);

        if (low < 0)
            return false;
        at[i] = (unsigned char)(high << 4 | low);
    }
    return text[2 * size] == '\0';
}

rp_status rp_buffer_take(void *self, const void *bytes, size_t size, rp_error *err)
{
    rp_buffer_append(self, bytes, size);
    return rp_buffer_status(self, err);
}
