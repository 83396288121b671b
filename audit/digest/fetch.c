/* SPDX-License-Identifier: Apache-2.0
 * Two windows, taken in turn. */
#include "audit/digest/fetch.h"

#include <string.h>

/* A thread of a GPU takes about as long for a message as this host for 64 of the same size, and all of them as long as
 * one; asking and being told takes as long as some 100 KB here (a model, docs/gpu.md). */
enum { LEAST_MESSAGES = 64, LEAST_BYTES = 1 << 18 };

/* Begins the copies of messages from `first` on, as many as fit; those that are neighbours are one piece. Returns the
 * first that is left. */
static size_t fill(const rp_fetch *f, int window, const rp_message *message, size_t count, size_t first, bool *ok)
{
    const size_t end = count - first < RP_FETCH_MESSAGES ? count : first + RP_FETCH_MESSAGES;
    size_t at = 0, i = first, pieces = 0;

    while (*ok && i < end && message[i].size <= f->size - at) {
        const char *from = message[i].bytes;
        size_t bytes = 0;

        do {
            rp_message *copy = &f->message[window][i - first];

            *copy = message[i];
            copy->bytes = f->window[window] + at + bytes;
            bytes += message[i++].size;
        } while (i < end && message[i].joined && message[i].size <= f->size - at - bytes &&
                 message[i].bytes == from + bytes);
        if (bytes > 0)
            f->piece[pieces++] = (rp_piece){from, (uint32_t)bytes, (uint32_t)at};
        at += (bytes + 63) / 64 * 64;
    }
    if (*ok && pieces > 0)
        *ok = f->begin(f->self, window, f->piece, pieces);
    return i;
}

bool rp_fetch_hashes(const rp_fetch *f, const rp_message *message, size_t count)
{
    size_t bytes = 0, longest = 0;

    for (size_t i = 0; f->hash != NULL && i < count; i++) {
        bytes += message[i].size;
        longest = message[i].size > longest ? message[i].size : longest;
    }
    return bytes >= LEAST_BYTES && bytes / LEAST_MESSAGES >= longest && longest <= f->size;
}

/* Begins to hash messages from `first` on, as many as have room for their digests. Returns the first that is left. */
static size_t ask(const rp_fetch *f, int window, const rp_message *message, size_t count, size_t first, bool *ok)
{
    const size_t room = f->size / RP_FETCH_HASHED, part = count - first < room ? count - first : room;

    if (*ok && part > 0)
        *ok = f->hash(f->self, window, message + first, part);
    return first + part;
}

static bool hash_there(const rp_message *message, size_t count, const rp_fetch *f)
{
    bool ok = true;
    size_t first = 0, end = ask(f, 0, message, count, 0, &ok);

    for (int window = 0; first < count && ok; window = 1 - window) {
        const size_t next = ask(f, 1 - window, message, count, end, &ok);

        ok = f->wait(f->self, window) && ok;
        for (size_t i = first; i < end && ok; i++)
            memcpy(message[i].digest->bytes, f->window[window] + (i - first) * RP_DIGEST_SIZE, RP_DIGEST_SIZE);
        first = end;
        end = next;
    }
    ok = f->wait(f->self, 0) && ok; /* whatever happened, nothing goes on */
    return f->wait(f->self, 1) && ok;
}

bool rp_sha256_many_fetched(const rp_message *message, size_t count, rp_pool *pool, const rp_fetch *f)
{
    bool ok = true;
    size_t first = 0, end;

    if (rp_fetch_hashes(f, message, count))
        return hash_there(message, count, f);
    end = fill(f, 0, message, count, 0, &ok);
    for (int window = 0; first < count && ok; window = 1 - window) {
        const size_t next = fill(f, 1 - window, message, count, end, &ok);

        ok =
            end > first && f->wait(f->self, window) && ok && rp_sha256_many_over(f->message[window], end - first, pool);
        first = end;
        end = next;
    }
    ok = f->wait(f->self, 0) && ok; /* whatever happened, no copy goes on */
    return f->wait(f->self, 1) && ok;
}
