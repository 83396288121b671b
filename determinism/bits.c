/* SPDX-License-Identifier: Apache-2.0
 * Stored form (little-endian, canonical NaN) on a host of any byte order, distances in ulps, elements as text. */
#include "determinism/bits.h"

#include <inttypes.h>
#include <stdio.h>

#include "determinism/decimal.h"

/* Inline and byte by byte: right on any host, and compilers make one load or store of it. */
static inline void put_u32(unsigned char *at, uint32_t v)
{
    at[0] = (unsigned char)v;
    at[1] = (unsigned char)(v >> 8);
    at[2] = (unsigned char)(v >> 16);
    at[3] = (unsigned char)(v >> 24);
}

static inline void put_u64(unsigned char *at, uint64_t v)
{
    put_u32(at, (uint32_t)v);
    put_u32(at + 4, (uint32_t)(v >> 32));
}

static inline void put_u16(unsigned char *at, uint16_t v)
{
    at[0] = (unsigned char)v;
    at[1] = (unsigned char)(v >> 8);
}

static inline uint32_t get_u32(const unsigned char *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static inline uint64_t get_u64(const unsigned char *at)
{
    return (uint64_t)get_u32(at) | (uint64_t)get_u32(at + 4) << 32;
}

/* NaN is told from the bits, so neither a signalling NaN nor the host's idea of quiet ones can matter. */
static inline uint32_t canonical_u32(uint32_t u)
{
    return (u & 0x7FFFFFFFu) > 0x7F800000u ? 0x7FC00000u : u;
}

static inline uint64_t canonical_u64(uint64_t u)
{
    return (u & INT64_MAX) > 0x7FF0000000000000u ? 0x7FF8000000000000u : u;
}

static inline uint16_t host_u16(const void *at)
{
    uint16_t u;

    memcpy(&u, at, sizeof u);
    return u;
}

static inline uint32_t host_u32(const void *at)
{
    uint32_t u;

    memcpy(&u, at, sizeof u);
    return u;
}

static inline uint64_t host_u64(const void *at)
{
    uint64_t u;

    memcpy(&u, at, sizeof u);
    return u;
}

void rp_to_stored(void *stored, const void *host, rp_dtype dtype, size_t count)
{
    unsigned char *to = stored;
    const unsigned char *from = host;

    switch (dtype) {
    case RP_F32:
        for (size_t i = 0; i < count; i++)
            put_u32(to + 4 * i, canonical_u32(host_u32(from + 4 * i)));
        break;
    case RP_F64:
        for (size_t i = 0; i < count; i++)
            put_u64(to + 8 * i, canonical_u64(host_u64(from + 8 * i)));
        break;
    case RP_I32:
    case RP_U32:
        for (size_t i = 0; i < count; i++)
            put_u32(to + 4 * i, host_u32(from + 4 * i));
        break;
    case RP_I64:
        for (size_t i = 0; i < count; i++)
            put_u64(to + 8 * i, host_u64(from + 8 * i));
        break;
    case RP_BOOL:
        for (size_t i = 0; i < count; i++)
            to[i] = from[i] != 0;
        break;
    case RP_BF16:
        for (size_t i = 0; i < count; i++)
            put_u16(to + 2 * i, rp_canonical_bf16(host_u16(from + 2 * i)));
        break;
    case RP_F16:
        for (size_t i = 0; i < count; i++)
            put_u16(to + 2 * i, rp_canonical_f16(host_u16(from + 2 * i)));
        break;
    case RP_I8:
    case RP_U8:
        if (count > 0)
            memcpy(to, from, count);
        break;
    case RP_I16:
        for (size_t i = 0; i < count; i++)
            put_u16(to + 2 * i, host_u16(from + 2 * i));
        break;
    case RP_DTYPE_COUNT:
        break;
    }
}

void rp_to_host(void *host, const void *stored, rp_dtype dtype, size_t count)
{
    unsigned char *to = host;
    const unsigned char *from = stored;

    switch (rp_dtype_size(dtype)) {
    case 1:
        for (size_t i = 0; i < count; i++)
            to[i] = dtype == RP_BOOL ? from[i] != 0 : from[i];
        break;
    case 2:
        for (size_t i = 0; i < count; i++) {
            uint16_t u = (uint16_t)(from[2 * i] | from[2 * i + 1] << 8);

            memcpy(to + 2 * i, &u, sizeof u);
        }
        break;
    case 4:
        for (size_t i = 0; i < count; i++) {
            uint32_t u = get_u32(from + 4 * i);

            memcpy(to + 4 * i, &u, sizeof u);
        }
        break;
    case 8:
        for (size_t i = 0; i < count; i++) {
            uint64_t u = get_u64(from + 8 * i);

            memcpy(to + 8 * i, &u, sizeof u);
        }
        break;
    default:
        break;
    }
}

static uint64_t distance(int64_t a, int64_t b)
{
    return a > b ? (uint64_t)a - (uint64_t)b : (uint64_t)b - (uint64_t)a;
}

/* Sign and magnitude to a place on one ordered line: -0 is -1, +0 is 0. */
static int64_t place_f32(uint32_t u)
{
    return u >> 31 ? -(int64_t)(u & 0x7FFFFFFFu) - 1 : (int64_t)u;
}

static int64_t place_f64(uint64_t u)
{
    return u >> 63 ? -(int64_t)(u & INT64_MAX) - 1 : (int64_t)u;
}

uint64_t rp_ulps(const void *a, const void *b, rp_dtype dtype)
{
    switch (dtype) {
    case RP_F32: {
        uint32_t u = host_u32(a), v = host_u32(b);
        int nans = ((u & 0x7FFFFFFFu) > 0x7F800000u) + ((v & 0x7FFFFFFFu) > 0x7F800000u);

        return nans == 2 ? 0 : nans == 1 ? UINT64_MAX : distance(place_f32(u), place_f32(v));
    }
    case RP_F64: {
        uint64_t u = host_u64(a), v = host_u64(b);
        int nans = ((u & INT64_MAX) > 0x7FF0000000000000u) + ((v & INT64_MAX) > 0x7FF0000000000000u);

        return nans == 2 ? 0 : nans == 1 ? UINT64_MAX : distance(place_f64(u), place_f64(v));
    }
    case RP_I32:
        return distance((int32_t)host_u32(a), (int32_t)host_u32(b));
    case RP_I64:
        return distance((int64_t)host_u64(a), (int64_t)host_u64(b));
    case RP_BOOL:
        return (*(const unsigned char *)a != 0) != (*(const unsigned char *)b != 0);
    case RP_BF16: {
        const uint16_t u = rp_canonical_bf16(host_u16(a)), v = rp_canonical_bf16(host_u16(b));
        const int nans = (u == 0x7FC0u) + (v == 0x7FC0u);

        return nans == 2   ? 0
               : nans == 1 ? UINT64_MAX
                           : distance(place_f32((uint32_t)u << 16) >> 16, place_f32((uint32_t)v << 16) >> 16);
    }
    case RP_F16: {
        const uint16_t u = rp_canonical_f16(host_u16(a)), v = rp_canonical_f16(host_u16(b));
        const int nans = (u == 0x7E00u) + (v == 0x7E00u);

        return nans == 2   ? 0
               : nans == 1 ? UINT64_MAX
                           : distance(place_f32((uint32_t)u << 16) >> 16, place_f32((uint32_t)v << 16) >> 16);
    }
    case RP_I8:
        return distance(*(const signed char *)a, *(const signed char *)b);
    case RP_U8:
        return distance(*(const unsigned char *)a, *(const unsigned char *)b);
    case RP_I16:
        return distance((int16_t)host_u16(a), (int16_t)host_u16(b));
    case RP_U32:
        return distance(host_u32(a), host_u32(b));
    case RP_DTYPE_COUNT:
        break;
    }
    return 0;
}

size_t rp_first_difference(const void *a, const void *b, rp_dtype dtype, size_t count)
{
    enum { BLOCK = 1024 };
    const unsigned char *p = a, *q = b;
    size_t size = rp_dtype_size(dtype);
    size_t i = 0;

    /* Equal blocks go at memcmp's speed; only the first unequal one is looked into. */
    while (count - i >= BLOCK && memcmp(p + i * size, q + i * size, BLOCK * size) == 0)
        i += BLOCK;
    while (i < count && memcmp(p + i * size, q + i * size, size) == 0)
        i++;
    return i;
}

void rp_describe_element(char *out, size_t size, const void *element, rp_dtype dtype)
{
    char value[RP_DECIMAL_SIZE];
    uint32_t u;
    uint64_t v;

    switch (dtype) {
    case RP_F32:
        u = canonical_u32(host_u32(element));
        rp_print_f32(value, rp_from_bits_f32(u));
        snprintf(out, size, "0x%08" PRIx32 " (%s)", u, value);
        break;
    case RP_F64:
        v = canonical_u64(host_u64(element));
        rp_print_f64(value, rp_from_bits_f64(v));
        snprintf(out, size, "0x%016" PRIx64 " (%s)", v, value);
        break;
    case RP_I32:
        u = host_u32(element);
        snprintf(out, size, "0x%08" PRIx32 " (%" PRId32 ")", u, (int32_t)u);
        break;
    case RP_I64:
        v = host_u64(element);
        snprintf(out, size, "0x%016" PRIx64 " (%" PRId64 ")", v, (int64_t)v);
        break;
    case RP_BOOL:
        snprintf(out, size, *(const unsigned char *)element ? "0x01 (true)" : "0x00 (false)");
        break;
    case RP_BF16:
        u = rp_canonical_bf16(host_u16(element));
        rp_print_f32(value, rp_f32_of_bf16((uint16_t)u));
        snprintf(out, size, "0x%04" PRIx32 " (%s)", u, value);
        break;
    case RP_F16:
        u = rp_canonical_f16(host_u16(element));
        rp_print_f32(value, rp_f32_of_f16((uint16_t)u));
        snprintf(out, size, "0x%04" PRIx32 " (%s)", u, value);
        break;
    case RP_I8:
        u = *(const unsigned char *)element;
        snprintf(out, size, "0x%02" PRIx32 " (%d)", u, (int8_t)u);
        break;
    case RP_U8:
        u = *(const unsigned char *)element;
        snprintf(out, size, "0x%02" PRIx32 " (%" PRIu32 ")", u, u);
        break;
    case RP_I16:
        u = host_u16(element);
        snprintf(out, size, "0x%04" PRIx32 " (%d)", u, (int16_t)u);
        break;
    case RP_U32:
        u = host_u32(element);
        snprintf(out, size, "0x%08" PRIx32 " (%" PRIu32 ")", u, u);
        break;
    case RP_DTYPE_COUNT:
        snprintf(out, size, "?");
        break;
    }
}

/* ---- what is stored as it is ---- */

static bool little_endian(void)
{
    const uint16_t one = 1;
    unsigned char first;

    memcpy(&first, &one, 1);
    return first == 1;
}

/* Infinity's bits less an element's, signs apart, go below zero for NaNs only: sums of bits, which every vector unit
 * has. */
#define ANY_NAN(name, T, infinity) \
    static bool any_nan_##name(const unsigned char *bytes, size_t size) \
    { \
        T below = 0; \
\
        for (size_t i = 0; i + sizeof(T) <= size; i += sizeof(T)) { \
            T u; \
\
            memcpy(&u, bytes + i, sizeof u); \
            below |= (T)((infinity) - (u & (T)((T)-1 >> 1))); \
        } \
        return below >> (8 * sizeof(T) - 1) != 0; \
    }

ANY_NAN(f32, uint32_t, 0x7f800000u)
ANY_NAN(f64, uint64_t, 0x7ff0000000000000u)
ANY_NAN(bf16, uint16_t, 0x7f80u)
ANY_NAN(f16, uint16_t, 0x7c00u)

bool rp_stored_already(const unsigned char *bytes, size_t size, rp_dtype dtype)
{
    unsigned char bits = 0;

    if (!little_endian())
        return false;
    switch (dtype) {
    case RP_F32:
        return !any_nan_f32(bytes, size);
    case RP_F64:
        return !any_nan_f64(bytes, size);
    case RP_BF16:
        return !any_nan_bf16(bytes, size);
    case RP_F16:
        return !any_nan_f16(bytes, size);
    case RP_BOOL:
        for (size_t i = 0; i < size; i++)
            bits |= bytes[i];
        return bits <= 1;
    default:
        return true;
    }
}
