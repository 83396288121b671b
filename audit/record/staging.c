/* SPDX-License-Identifier: Apache-2.0
 * Windows on device memory. */
#include "audit/record/staging.h"

#include "base/memory.h"

/* Of each of the two: large enough for copies at full speed, small beside any model worth hashing so. */
enum { WINDOW = 4 << 20 };

struct rp_staging {
    rp_fetch fetch;
    rp_device *device;
    rp_stream *stream[2];
    rp_event *computed;
    rp_error failed; /* of the first copy that failed */
};

static bool begin(void *self, int window, const rp_piece *piece, size_t count)
{
    rp_staging *s = self;

    return rp_device_download_many(s->device, s->fetch.window[window], piece, count, s->stream[window], &s->failed) ==
           RP_OK;
}

static bool wait(void *self, int window)
{
    rp_staging *s = self;

    return rp_device_synchronize(s->device, s->stream[window], &s->failed) == RP_OK;
}

/* The digests come to where the window begins; the table that says where the messages are stands behind them, and is
 * read before rp_device_hash returns. */
static bool hash(void *self, int window, const rp_message *message, size_t count)
{
    rp_staging *s = self;
    unsigned char *digest = s->fetch.window[window];
    rp_device_message *there = (rp_device_message *)(void *)(digest + count * RP_DIGEST_SIZE);

    _Static_assert(RP_DIGEST_SIZE + sizeof *there <= RP_FETCH_HASHED, "both have room in a window");
    for (size_t i = 0; i < count; i++)
        there[i] = (rp_device_message){.bytes = message[i].bytes,
                                       .size = (uint32_t)message[i].size,
                                       .prefix = (int16_t)message[i].prefix,
                                       .dtype = (uint16_t)(message[i].host ? message[i].dtype : RP_I32)};
    return rp_device_hash(s->device, digest, there, count, s->stream[window], &s->failed) == RP_OK;
}

void rp_staging_free(rp_staging *s)
{
    if (!s)
        return;
    for (int i = 0; i < 2; i++) {
        rp_stream_free(s->device, s->stream[i]);
        rp_device_unpin(s->device, s->fetch.window[i]);
        rp_free(s->fetch.message[i]);
    }
    rp_event_free(s->device, s->computed);
    rp_free(s->fetch.piece);
    rp_free(s);
}

static rp_status make(rp_staging *s, rp_error *err)
{
    rp_status status = rp_event_new(s->device, &s->computed, err);

    s->fetch.piece = rp_reallocarray(NULL, RP_FETCH_MESSAGES, sizeof *s->fetch.piece);
    if (status == RP_OK && !s->fetch.piece)
        status = rp_no_memory(err);
    for (int i = 0; i < 2 && status == RP_OK; i++) {
        void *window = NULL;

        status = rp_stream_new(s->device, &s->stream[i], err);
        if (status == RP_OK)
            status = rp_device_pin(s->device, &window, WINDOW, err);
        s->fetch.window[i] = window;
        s->fetch.message[i] = rp_reallocarray(NULL, RP_FETCH_MESSAGES, sizeof *s->fetch.message[i]);
        if (status == RP_OK && !s->fetch.message[i])
            status = rp_no_memory(err);
    }
    return status;
}

rp_status rp_staging_new(rp_staging **out, rp_device *device, rp_error *err)
{
    rp_staging *s;
    rp_status status;

    *out = NULL;
    if (rp_device_shares_memory(device))
        return RP_OK;
    s = rp_calloc(1, sizeof *s);
    if (!s)
        return rp_no_memory(err);
    s->device = device;
    s->fetch = (rp_fetch){.self = s, .size = WINDOW, .begin = begin, .wait = wait};
    if (rp_device_hashes(device))
        s->fetch.hash = hash;
    status = make(s, err);
    if (status != RP_OK)
        rp_staging_free(s);
    else
        *out = s;
    return status;
}

rp_status rp_staging_begin(rp_staging *s, rp_error *err)
{
    rp_status status;

    if (!s)
        return RP_OK;
    s->failed = (rp_error){.status = RP_OK};
    status = rp_event_record(s->device, s->computed, NULL, err);
    for (int i = 0; i < 2 && status == RP_OK; i++)
        status = rp_event_wait(s->device, s->computed, s->stream[i], err);
    return status;
}

const rp_fetch *rp_staging_fetch(const rp_staging *s)
{
    return s ? &s->fetch : NULL;
}

rp_status rp_staging_failed(const rp_staging *s, rp_error *err)
{
    if (!s || s->failed.status == RP_OK)
        return rp_sha256_failed(err);
    if (err)
        *err = s->failed;
    return s->failed.status;
}
