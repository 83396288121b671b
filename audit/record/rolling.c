/* SPDX-License-Identifier: Apache-2.0
 * The text of a rolling digest is laid out once, with room for the leaves of a step; a step fills in leaf digests. */
#include "audit/record/rolling.h"

#include <stdlib.h>
#include <string.h>

#include "audit/digest/sha256.h"
#include "base/buffer.h"
#include "base/memory.h"

enum { LEAF = 0, ROLLING = 4, HEAD = 1 + 4 + 4 + 4, PHASE_AT = 1 + 4 };

typedef struct entry {
    size_t index;     /* of the state */
    const char *name; /* borrowed while the entries are made */
    size_t size, leaves;
    uint64_t first; /* number of its first leaf; a small state has none */
    bool small;
    size_t words, words_size; /* name and type, as bytes in the words buffer */
} entry;

struct rp_rolling {
    uint64_t period;
    size_t n;
    entry *entry; /* ascending by name */
    rp_buffer words;
    unsigned char *text;
    rp_message *message;
};

void rp_rolling_free(rp_rolling *r)
{
    if (!r)
        return;
    rp_buffer_free(&r->words);
    rp_free(r->message);
    rp_free(r->text);
    rp_free(r->entry);
    rp_free(r);
}

uint64_t rp_rolling_period(const rp_rolling *r)
{
    return r->period;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const entry *)a)->name, ((const entry *)b)->name);
}

static void put_words(rp_rolling *r, entry *e, const rp_type *type)
{
    e->words = r->words.size;
    rp_buffer_u16(&r->words, (uint16_t)strlen(e->name));
    rp_buffer_text(&r->words, e->name);
    rp_buffer_u8(&r->words, (unsigned char)type->dtype);
    rp_buffer_u8(&r->words, (unsigned char)type->rank);
    for (int i = 0; i < type->rank; i++)
        rp_buffer_u64(&r->words, type->shape[i]);
    e->words_size = r->words.size - e->words;
}

/* Numbers the leaves in order of the names. The most leaves that a step may commit to is returned. */
static size_t number_leaves(rp_rolling *r, const rp_device_tensor *state)
{
    uint64_t next = 0;
    size_t most = 0;

    for (size_t i = 0; i < r->n; i++) {
        entry *e = &r->entry[i];

        e->size = rp_type_bytes(&state[e->index].type);
        e->small = e->size <= RP_ROLLING_SMALL;
        e->leaves = e->small ? e->size > 0 : (e->size - 1) / RP_ROLLING_LEAF + 1;
        e->first = next;
        if (!e->small)
            next += e->leaves;
        most += e->small ? e->leaves : e->leaves / r->period + 1;
        put_words(r, e, &state[e->index].type);
    }
    return most;
}

static rp_status make(rp_rolling *r, const rp_device_tensor *state, size_t n, rp_error *err)
{
    rp_status status;
    size_t most;

    r->n = n;
    r->entry = rp_calloc(n ? n : 1, sizeof *r->entry);
    if (!r->entry)
        return rp_no_memory(err);
    for (size_t i = 0; i < n; i++) {
        if (strlen(state[i].name) == 0 || strlen(state[i].name) > UINT16_MAX)
            return rp_fail(err, RP_EARG, "rolling digest: a name of %zu bytes", strlen(state[i].name));
        r->entry[i] = (entry){.index = i, .name = state[i].name};
    }
    qsort(r->entry, n, sizeof *r->entry, by_name);
    most = number_leaves(r, state);
    status = rp_buffer_status(&r->words, err);
    if (status != RP_OK)
        return status;
    r->text = rp_malloc(HEAD + r->words.size + most * RP_DIGEST_SIZE);
    r->message = rp_reallocarray(NULL, most ? most : 1, sizeof *r->message);
    if (!r->text || !r->message)
        return rp_no_memory(err);
    r->text[0] = ROLLING;
    rp_store_u32(r->text + 1, (uint32_t)r->period);
    rp_store_u32(r->text + 9, (uint32_t)n);
    return RP_OK;
}

rp_status rp_rolling_new(rp_rolling **out, const rp_device_tensor *state, size_t n, uint64_t period, rp_error *err)
{
    rp_rolling *r;
    rp_status status;

    *out = NULL;
    if (period < 2 || period > RP_ROLLING_PERIOD_MAX)
        return rp_fail(err, RP_EARG, "state period: expected 2 to %d, found %llu", RP_ROLLING_PERIOD_MAX,
                       (unsigned long long)period);
    r = rp_calloc(1, sizeof *r);
    if (!r)
        return rp_no_memory(err);
    r->period = period;
    status = make(r, state, n, err);
    if (status != RP_OK)
        rp_rolling_free(r);
    else
        *out = r;
    return status;
}

/* The entry's leaves of this phase become messages whose digests go to their place in the text. */
static size_t put_leaves(rp_rolling *r, const entry *e, const rp_device_tensor *state, uint64_t phase, size_t messages,
                         size_t *length)
{
    const uint64_t step = e->small ? 1 : r->period;
    const size_t first = messages;
    uint64_t leaf = e->small ? 0 : (phase + r->period - e->first % r->period) % r->period;

    for (; leaf < e->leaves; leaf += step) {
        size_t at = (size_t)leaf * RP_ROLLING_LEAF, left = e->size - at;

        r->message[messages] = (rp_message){(const unsigned char *)state->memory + at,
                                            left < RP_ROLLING_LEAF ? left : RP_ROLLING_LEAF,
                                            LEAF,
                                            true,
                                            state->type.dtype,
                                            (rp_digest *)(void *)(r->text + *length),
                                            messages > first};
        messages++;
        *length += RP_DIGEST_SIZE;
    }
    return messages;
}

rp_status rp_rolling_digest(rp_digest *out, rp_rolling *r, const rp_device_tensor *state, uint64_t step, rp_pool *pool,
                            rp_staging *staging, rp_error *err)
{
    const rp_fetch *fetch = rp_staging_fetch(staging);
    const uint64_t phase = step % r->period;
    size_t length = HEAD, messages = 0;
    rp_status status;

    rp_store_u32(r->text + PHASE_AT, (uint32_t)phase);
    for (size_t i = 0; i < r->n; i++) {
        const entry *e = &r->entry[i];

        memcpy(r->text + length, r->words.data + e->words, e->words_size);
        length += e->words_size;
        messages = put_leaves(r, e, &state[e->index], phase, messages, &length);
    }
    status = rp_staging_begin(staging, err);
    if (status != RP_OK)
        return status;
    if (!(fetch ? rp_sha256_many_fetched(r->message, messages, pool, fetch)
                : rp_sha256_many_over(r->message, messages, pool)))
        return rp_staging_failed(staging, err);
    return rp_sha256(out, r->text, length, err);
}
