/* SPDX-License-Identifier: Apache-2.0
 * Values for specimens: element i of a block is a function of (seed, block, i, kind of data) alone. */
#include "kernels/conformance/specimen_data.h"

#include <string.h>

#include "base/memory.h"
#include "determinism/bits.h"
#include "determinism/philox.h"

/* Among normal values: zeros, infinities, NaN, the ends of the range and of exp's. */
static float special_f32(uint32_t pick)
{
    static const uint32_t bits[] = {0x00000000, 0x80000000, 0x7F800000, 0xFF800000, 0x7FC00000, 0x3F800000,
                                    0xBF800000, 0x7F7FFFFF, 0xFF7FFFFF, 0x00000001, 0x80000001, 0x00800000,
                                    0x42B17218, 0xC2CFF1B5, 0x3F000000, 0x4B000001};

    return rp_from_bits_f32(bits[pick % 16]);
}

static double special_f64(uint32_t pick)
{
    static const uint64_t bits[] = {0x0000000000000000, 0x8000000000000000, 0x7FF0000000000000, 0xFFF0000000000000,
                                    0x7FF8000000000000, 0x3FF0000000000000, 0xBFF0000000000000, 0x7FEFFFFFFFFFFFFF,
                                    0xFFEFFFFFFFFFFFFF, 0x0000000000000001, 0x8000000000000001, 0x0010000000000000,
                                    0x40862E42FEFA39EF, 0xC0874910D52D3051, 0x3FE0000000000000, 0x4330000000000001};

    return rp_from_bits_f64(bits[pick % 16]);
}

static float value_f32(rp_philox4 w, rp_specimen_data data)
{
    uint32_t bits = w.v[0];

    if (data == RP_DATA_SPECIAL && w.v[2] % 2 == 0)
        return special_f32(w.v[3]);
    if (data == RP_DATA_NORMAL || data == RP_DATA_SPECIAL)
        return (float)((int32_t)(bits >> 8) - 0x800000) * 0x1p-22f;
    if (data == RP_DATA_SUBNORMAL)
        return rp_from_bits_f32(bits & 0x81FFFFFFu);
    return rp_from_bits_f32((bits >> 23 & 0xFF) == 0xFF ? bits & ~0x40000000u : bits);
}

static double value_f64(rp_philox4 w, rp_specimen_data data)
{
    uint64_t bits = (uint64_t)w.v[1] << 32 | w.v[0];

    if (data == RP_DATA_SPECIAL && w.v[2] % 2 == 0)
        return special_f64(w.v[3]);
    if (data == RP_DATA_NORMAL || data == RP_DATA_SPECIAL)
        return (double)((int64_t)(bits >> 11) - ((int64_t)1 << 52)) * 0x1p-51;
    if (data == RP_DATA_SUBNORMAL)
        return rp_from_bits_f64(bits & 0x803FFFFFFFFFFFFFu);
    return rp_from_bits_f64((bits >> 52 & 0x7FF) == 0x7FF ? bits & ~0x4000000000000000u : bits);
}

static int64_t value_int(rp_philox4 w, rp_specimen_data data, rp_dtype dtype)
{
    uint64_t bits = (uint64_t)w.v[1] << 32 | w.v[0];
    const int64_t limits[] = {INT64_MAX, INT64_MIN, INT32_MAX, INT32_MIN, (int64_t)1 << 31, ((int64_t)1 << 53) + 1,
                              0,         -1};

    if (data == RP_DATA_SPECIAL && w.v[2] % 2 == 0)
        return dtype == RP_I64 ? limits[w.v[3] % 8] : w.v[3] % 2 ? INT32_MAX : INT32_MIN;
    if (data == RP_DATA_WIDE)
        return dtype == RP_I64 ? (int64_t)bits : (int64_t)(int32_t)w.v[0];
    return (int64_t)(w.v[0] % 201) - 100;
}

static uint16_t value_f16(rp_philox4 w, rp_specimen_data data)
{
    const uint32_t bits = w.v[0] & 0xFFFF;

    if (data == RP_DATA_SUBNORMAL)
        return (uint16_t)(bits & 0x87FF);
    if (data == RP_DATA_WIDE)
        return (uint16_t)((bits & 0x7C00) == 0x7C00 ? bits & ~0x4000u : bits);
    return rp_f16_of_f32(value_f32(w, data));
}

/* Elements from .. count - 1 from their random words. */
static void put(void *block, rp_dtype dtype, size_t from, size_t count, const rp_philox4 *word, rp_specimen_data data)
{
    switch (dtype) {
    case RP_F32:
        for (size_t i = from; i < count; i++)
            ((float *)block)[i] = value_f32(word[i - from], data);
        break;
    case RP_F64:
        for (size_t i = from; i < count; i++)
            ((double *)block)[i] = value_f64(word[i - from], data);
        break;
    case RP_BF16:
        for (size_t i = from; i < count; i++)
            ((uint16_t *)block)[i] = rp_bf16_of_f32(value_f32(word[i - from], data));
        break;
    case RP_F16:
        for (size_t i = from; i < count; i++)
            ((uint16_t *)block)[i] = value_f16(word[i - from], data);
        break;
    case RP_I32:
    case RP_U32:
        for (size_t i = from; i < count; i++)
            ((int32_t *)block)[i] = (int32_t)value_int(word[i - from], data, dtype);
        break;
    case RP_I16:
        for (size_t i = from; i < count; i++)
            ((int16_t *)block)[i] = (int16_t)value_int(word[i - from], data, dtype);
        break;
    case RP_I8:
    case RP_U8:
        for (size_t i = from; i < count; i++)
            ((uint8_t *)block)[i] = (uint8_t)value_int(word[i - from], data, dtype);
        break;
    case RP_I64:
        for (size_t i = from; i < count; i++)
            ((int64_t *)block)[i] = value_int(word[i - from], data, dtype);
        break;
    default:
        for (size_t i = from; i < count; i++)
            ((uint8_t *)block)[i] = word[i - from].v[0] & 1;
    }
}

/* The words of elements 0 .. count - 1 of a stream; NULL where they are not kept. */
static const rp_philox4 *words_of(rp_specimen_cache *cache, uint32_t stream, size_t count)
{
    size_t known;

    if (!cache || stream >= RP_CACHED_STREAMS)
        return NULL;
    known = cache->words[stream].count;
    if (cache->words[stream].room < count) {
        rp_philox4 *bigger = rp_reallocarray(cache->words[stream].word, count, sizeof *bigger);

        if (!bigger)
            return NULL;
        cache->words[stream].word = bigger;
        cache->words[stream].room = count;
    }
    if (known < count) {
        rp_random_blocks(cache->words[stream].word + known, cache->seed, (uint64_t)cache->data, stream, known,
                         count - known);
        cache->words[stream].count = count;
    }
    return cache->words[stream].word;
}

/* Elements from .. count - 1. A cache has this data and seed. */
static void fill(rp_specimen_cache *cache, void *block, rp_dtype dtype, size_t from, size_t count,
                 rp_specimen_data data, uint64_t seed, uint32_t stream)
{
    const rp_philox4 *word = words_of(cache, stream, count);

    if (word) {
        put(block, dtype, from, count, word + from, data);
        return;
    }
    while (from < count) {
        rp_philox4 few[64];
        const size_t n = count - from < 64 ? count - from : 64;

        rp_random_blocks(few, seed, (uint64_t)data, stream, from, n);
        put(block, dtype, from, from + n, few, data);
        from += n;
    }
}

void rp_specimen_cache_free(rp_specimen_cache *cache)
{
    for (size_t i = 0; i < cache->n; i++)
        rp_free(cache->entry[i].block);
    cache->n = 0;
    for (size_t i = 0; i < RP_CACHED_STREAMS; i++) {
        rp_free(cache->words[i].word);
        memset(&cache->words[i], 0, sizeof cache->words[i]);
    }
}

/* At least count elements of the block, kept from before or made now; NULL when there is no room. */
static const void *cached(rp_specimen_cache *cache, rp_dtype dtype, size_t count, uint32_t stream)
{
    size_t i = 0;

    while (i < cache->n && (cache->entry[i].dtype != dtype || cache->entry[i].stream != stream))
        i++;
    if (i == RP_CACHED_BLOCKS)
        return NULL;
    if (i == cache->n) {
        memset(&cache->entry[i], 0, sizeof cache->entry[i]);
        cache->entry[i].dtype = dtype;
        cache->entry[i].stream = stream;
        cache->n++;
    }
    if (cache->entry[i].room < count) {
        void *bigger = rp_reallocarray(cache->entry[i].block, count, rp_dtype_size(dtype));

        if (!bigger)
            return NULL;
        cache->entry[i].block = bigger;
        cache->entry[i].room = count;
    }
    if (cache->entry[i].count < count) {
        fill(cache, cache->entry[i].block, dtype, cache->entry[i].count, count, cache->data, cache->seed, stream);
        cache->entry[i].count = count;
    }
    return cache->entry[i].block;
}

void rp_specimen_fill(rp_specimen_cache *cache, void *block, rp_dtype dtype, size_t count, rp_specimen_data data,
                      uint64_t seed, uint32_t stream)
{
    const void *known;

    if (cache && (cache->data != data || cache->seed != seed)) {
        for (size_t i = 0; i < cache->n; i++)
            cache->entry[i].count = 0;
        for (size_t i = 0; i < RP_CACHED_STREAMS; i++)
            cache->words[i].count = 0;
        cache->data = data;
        cache->seed = seed;
    }
    known = cache ? cached(cache, dtype, count, stream) : NULL;
    if (known)
        memcpy(block, known, count * rp_dtype_size(dtype));
    else
        fill(cache, block, dtype, 0, count, data, seed, stream);
}

void rp_specimen_fill_indices(void *block, rp_dtype dtype, size_t count, size_t limit, uint64_t seed, uint32_t stream)
{
    for (size_t i = 0; i < count; i++) {
        const uint32_t word = rp_random_u32(seed, 0, stream, i);
        const int64_t index = limit > 0 ? (int64_t)(word % limit) : 0;

        if (dtype == RP_I32)
            ((int32_t *)block)[i] = (int32_t)index;
        else
            ((int64_t *)block)[i] = index;
    }
}
