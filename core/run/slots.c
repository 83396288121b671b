/* SPDX-License-Identifier: Apache-2.0
 * Slots, and the two ways over which tensors come into a run's memory and out of it. */
#include "core/run/slots.h"

#include <string.h>

#include "base/memory.h"
#include "determinism/bits.h"

/* Bytes on their way to the device, whole elements; and those that are on both ways where nothing else is waited for:
 * the nearest cache has them between the copy and the look for a NaN. */
enum { WINDOW = 65536, NEAR = 4096 };

static size_t window_of(const rp_device *device)
{
    return rp_device_shares_memory(device) ? NEAR : WINDOW;
}

void rp_slots_clear(rp_slots *s, rp_device *device)
{
    for (size_t i = 0; i < s->n; i++) {
        rp_device_release(device, s->tensor[i].memory);
        rp_free((char *)s->tensor[i].name);
    }
    s->n = 0;
    rp_index_clear(&s->index);
}

void rp_slots_free(rp_slots *s, rp_device *device)
{
    rp_slots_clear(s, device);
    rp_free(s->tensor);
    rp_index_free(&s->index);
}

static uint64_t hash_of(const rp_slots *s, const char *name)
{
    return rp_index_hash(&s->index, name, strlen(name));
}

static const rp_device_tensor *slot_at(const rp_slots *s, uint64_t hash, const char *name)
{
    for (rp_index_walk w = rp_index_find(&s->index, hash); rp_index_next(&w);)
        if (strcmp(s->tensor[w.at].name, name) == 0)
            return &s->tensor[w.at];
    return NULL;
}

const rp_device_tensor *rp_slots_find(const rp_slots *s, const char *name)
{
    return slot_at(s, hash_of(s, name), name);
}

rp_status rp_type_make(rp_type *type, rp_dtype dtype, int rank, const size_t *shape, rp_error *err)
{
    *type = (rp_type){.dtype = dtype, .rank = rank};
    if (rp_dtype_size(dtype) == 0 || rank < 0 || rank > RP_MAX_RANK)
        return rp_fail(err, RP_EARG, "expected a dtype of rp/dtype.h and a rank of 0 to %d", RP_MAX_RANK);
    for (int i = 0; i < rank; i++)
        type->shape[i] = shape[i];
    return rp_type_valid(type)
               ? RP_OK
               : rp_fail(err, RP_EARG, "a tensor of more than 2^40 elements, lengths of 0 counted as 1");
}

/* Blocks without a NaN, nearly all of them, are only read, from the last to the first: of what was just made the caches
 * have the end, and of what is read next they then have the beginning; the block in front, which is next, is asked for,
 * as no processor's own fetching ahead goes there. By vectors of 16 bytes: compilers leave a loop
 * of "not equal to itself" as it stands. A caller's memory may begin anywhere. */
enum { SETTLED = 1024, QUADS = 4 };
#define SETTLE(T, mask_type, name) \
    typedef T vec_##name __attribute__((vector_size(16))); \
    typedef mask_type mask_##name __attribute__((vector_size(16))); \
    enum { BLOCK_##name = QUADS * 16 / sizeof(T) }; \
\
    static T load_##name(const char *x, size_t i) \
    { \
        T v; \
\
        memcpy(&v, x + i * sizeof v, sizeof v); \
        return v; \
    } \
\
    static bool nan_in_##name(const char *x, size_t count) \
    { \
        mask_##name found[QUADS] = {0}; \
        bool nan = false; \
        size_t i = 0; \
\
        for (; i + BLOCK_##name <= count; i += BLOCK_##name) \
            for (size_t k = 0; k < QUADS; k++) { \
                vec_##name v; \
\
                memcpy(&v, x + i * sizeof(T) + k * sizeof v, sizeof v); \
                found[k] |= v != v; \
                if (k == 0) \
                    __builtin_prefetch((const void *)((uintptr_t)(x + i * sizeof(T)) - SETTLED * sizeof(T)), 0, 3); \
            } \
        for (; i < count; i++) \
            nan = nan || load_##name(x, i) != load_##name(x, i); \
        found[0] |= found[1] | found[2] | found[3]; \
        for (size_t k = 0; k < sizeof(vec_##name) / sizeof(T); k++) \
            nan = nan || found[0][k] != 0; \
        return nan; \
    } \
\
    static void settle_##name(char *x, size_t count) \
    { \
        for (size_t left = count, n; left > 0; left -= n) { \
            n = left % SETTLED ? left % SETTLED : SETTLED; \
            if (nan_in_##name(x + (left - n) * sizeof(T), n)) \
                for (size_t i = left - n; i < left; i++) { \
                    const T v = rp_canonical_##name(load_##name(x, i)); \
\
                    memcpy(x + i * sizeof v, &v, sizeof v); \
                } \
        } \
    } \
\
    static bool settled_##name(const char *x, size_t count) \
    { \
        size_t left = count; \
\
        for (size_t n; left > 0; left -= n) { \
            n = left % SETTLED ? left % SETTLED : SETTLED; \
            if (nan_in_##name(x + (left - n) * sizeof(T), n)) \
                break; \
        } \
        return left == 0; \
    }
SETTLE(float, int32_t, f32)
SETTLE(double, int64_t, f64)

/* CONTRACT 2: what comes in and what is read out has canonical NaNs and bools of 0 or 1, as the archive has them. */
static void canonicalise(void *bytes, rp_dtype dtype, size_t count)
{
    if (dtype == RP_F32)
        settle_f32(bytes, count);
    else if (dtype == RP_F64)
        settle_f64(bytes, count);
    else if (dtype == RP_BF16 || dtype == RP_F16)
        for (size_t i = 0; i < count; i++) {
            uint16_t v;

            memcpy(&v, (char *)bytes + i * sizeof v, sizeof v);
            v = dtype == RP_BF16 ? rp_canonical_bf16(v) : rp_canonical_f16(v);
            memcpy((char *)bytes + i * sizeof v, &v, sizeof v);
        }
    else if (dtype == RP_BOOL)
        for (size_t i = 0; i < count; i++)
            ((unsigned char *)bytes)[i] = ((unsigned char *)bytes)[i] != 0;
}

bool rp_is_canonical(const void *bytes, const rp_type *type)
{
    const size_t count = rp_type_count(type);

    switch (type->dtype) {
    case RP_F32:
        return settled_f32(bytes, count);
    case RP_F64:
        return settled_f64(bytes, count);
    case RP_BOOL:
    case RP_BF16:
    case RP_F16:
        return false;
    default:
        return true;
    }
}

void rp_canonicalise(void *bytes, const rp_type *type)
{
    canonicalise(bytes, type->dtype, rp_type_count(type));
}

rp_status rp_read_out(rp_device *device, void *bytes, const void *memory, const rp_type *type, rp_error *err)
{
    const size_t size = rp_type_bytes(type), most = rp_device_shares_memory(device) ? NEAR : SIZE_MAX;
    rp_status status = RP_OK;

    for (size_t at = 0; at < size && status == RP_OK; at += most) {
        const size_t part = size - at < most ? size - at : most;

        status = rp_device_read(device, (char *)bytes + at, (const char *)memory + at, part, NULL, err);
        if (status == RP_OK)
            canonicalise((char *)bytes + at, type->dtype, part / rp_dtype_size(type->dtype));
        if (part == size - at)
            break;
    }
    return status;
}

rp_status rp_slot_read(const rp_device_tensor *slot, void *bytes, rp_error *err)
{
    return rp_read_out(slot->device, bytes, slot->memory, &slot->type, err);
}

/* bytes NULL: zeros. */
static rp_status write_window(const rp_device_tensor *slot, size_t at, const void *bytes, size_t size, rp_error *err)
{
    const rp_dtype dtype = slot->type.dtype;
    double settled[WINDOW / sizeof(double)];
    rp_status status;

    if (bytes)
        memcpy(settled, bytes, size);
    else
        memset(settled, 0, size);
    canonicalise(settled, dtype, size / rp_dtype_size(dtype));
    status = rp_device_upload(slot->device, (char *)slot->memory + at, settled, size, NULL, err);
    return status == RP_OK ? rp_device_synchronize(slot->device, NULL, err) : status;
}

rp_status rp_slot_write_part(const rp_device_tensor *slot, size_t first, const void *elements, size_t count,
                             rp_error *err)
{
    const size_t element = rp_dtype_size(slot->type.dtype), begin = first * element, size = count * element;
    const size_t most = window_of(slot->device);
    rp_status status = RP_OK;

    for (size_t at = 0; at < size && status == RP_OK; at += most)
        status = write_window(slot, begin + at, elements ? (const char *)elements + at : NULL,
                              size - at < most ? size - at : most, err);
    return status;
}

rp_status rp_slot_write(const rp_device_tensor *slot, const void *bytes, rp_error *err)
{
    return rp_slot_write_part(slot, 0, bytes, rp_type_count(&slot->type), err);
}

static rp_status hold_one_more(rp_slots *s, rp_error *err)
{
    if (s->n == s->capacity) {
        size_t wanted = s->capacity ? 2 * s->capacity : 8;
        rp_device_tensor *bigger = rp_reallocarray(s->tensor, wanted, sizeof *bigger);

        if (!bigger)
            return rp_no_memory(err);
        s->tensor = bigger;
        s->capacity = wanted;
    }
    return rp_index_reserve(&s->index) ? RP_OK : rp_no_memory(err);
}

rp_status rp_slots_take(rp_slots *s, rp_device *device, const char *name, const rp_type *type, void *memory,
                        rp_error *err)
{
    rp_device_tensor slot = {.type = *type, .device = device, .memory = memory};
    rp_status status;
    uint64_t hash;

    if (!rp_name_valid(name))
        return rp_fail(err, RP_EARG, "a name must be 1 to %d of [A-Za-z0-9._-]", RP_NAME_MAX - 1);
    status = hold_one_more(s, err);
    if (status != RP_OK)
        return status;
    hash = hash_of(s, name);
    if (slot_at(s, hash, name))
        return rp_fail(err, RP_EARG, "%s is given twice", name);
    slot.name = rp_strdup(name);
    if (!slot.name)
        return rp_no_memory(err);
    rp_index_add(&s->index, hash, (uint32_t)s->n);
    s->tensor[s->n++] = slot;
    return RP_OK;
}

rp_status rp_slots_add(rp_slots *s, rp_device *device, const char *name, const rp_type *type, const void *bytes,
                       rp_error *err)
{
    size_t size = rp_type_bytes(type);
    rp_device_tensor slot = {.type = *type, .device = device};
    void *memory = NULL;
    rp_status status = rp_device_allocate(device, &memory, size ? size : 1, err);

    slot.memory = memory;
    if (status == RP_OK)
        status = rp_slot_write(&slot, bytes, err);
    if (status == RP_OK)
        status = rp_slots_take(s, device, name, type, memory, err);
    if (status != RP_OK)
        rp_device_release(device, memory);
    return status;
}
