/* SPDX-License-Identifier: Apache-2.0
 * Hashes of bytes that have to be fetched are those of the bytes, however they fall into the windows; where they are
 * hashed without being fetched, too. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "audit/digest/fetch.h"

enum { BYTES = 300000, MESSAGES = 3000, WINDOW = 4096, COPIES = RP_FETCH_MESSAGES };

/* Copies happen when they are waited for, and the memory that they are from is another. */
typedef struct source {
    const unsigned char *far; /* what `from` points into is not to be read */
    const unsigned char *near;
    unsigned char *window[2];
    struct copy {
        size_t at, from, bytes;
    } copy[2][COPIES];
    size_t n[2], copies, begun, fail_at; /* fail_at: this window and all later ones; 0: none */
    const rp_message *asked[2];
    size_t n_asked[2], hashes;
} source;

static bool begin(void *self, int window, const rp_piece *piece, size_t count)
{
    source *s = self;

    assert_true(count > 0 && count <= COPIES && s->n[window] == 0); /* a window is asked for once */
    for (size_t i = 0, end = 0; i < count; i++) {
        assert_true(piece[i].size > 0 && piece[i].at % 64 == 0 && piece[i].at >= end);
        end = (size_t)piece[i].at + piece[i].size;
        assert_true(end <= WINDOW);
        s->copy[window][i] =
            (struct copy){piece[i].at, (size_t)((const unsigned char *)piece[i].bytes - s->far), piece[i].size};
    }
    s->n[window] = count;
    s->copies += count;
    s->begun++;
    return s->fail_at == 0 || s->begun < s->fail_at;
}

static bool wait(void *self, int window)
{
    source *s = self;

    for (size_t i = 0; i < s->n[window]; i++)
        memcpy(s->window[window] + s->copy[window][i].at, s->near + s->copy[window][i].from, s->copy[window][i].bytes);
    s->n[window] = 0;
    for (size_t i = 0; i < s->n_asked[window]; i++) {
        rp_message m = s->asked[window][i];

        m.bytes = s->near + ((const unsigned char *)m.bytes - s->far);
        m.digest = (rp_digest *)(void *)(s->window[window] + i * RP_DIGEST_SIZE);
        assert_true(rp_sha256_many(&m, 1));
    }
    s->n_asked[window] = 0;
    return true;
}

static bool hash(void *self, int window, const rp_message *message, size_t count)
{
    source *s = self;

    assert_true(count > 0 && count * RP_FETCH_HASHED <= WINDOW && s->n_asked[window] == 0);
    s->asked[window] = message;
    s->n_asked[window] = count;
    s->hashes++;
    return s->fail_at == 0 || s->hashes < s->fail_at;
}

static unsigned char far[BYTES], near[BYTES];
static source s;
static rp_fetch fetch;

static int setup(void **state)
{
    (void)state;
    for (size_t i = 0; i < BYTES; i++)
        near[i] = (unsigned char)(i * 131 + (i >> 8));
    s = (source){.far = far, .near = near};
    fetch = (rp_fetch){.self = &s, .size = WINDOW, .begin = begin, .wait = wait};
    for (int w = 0; w < 2; w++) {
        s.window[w] = fetch.window[w] = aligned_alloc(64, WINDOW);
        fetch.message[w] = calloc(RP_FETCH_MESSAGES, sizeof *fetch.message[w]);
    }
    fetch.piece = calloc(RP_FETCH_MESSAGES, sizeof *fetch.piece);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    for (int w = 0; w < 2; w++) {
        free(s.window[w]);
        free(fetch.message[w]);
    }
    free(fetch.piece);
    return 0;
}

static uint64_t draw(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return *seed >> 33;
}

/* Neighbours and others, from none to a whole window each; elements with NaNs of all kinds among them. */
static size_t make(rp_message *message, const unsigned char *base, rp_digest *digest, uint64_t seed, size_t count)
{
    size_t at = 0, n = 0;

    while (n < count) {
        size_t size = draw(&seed) % 5 == 0 ? WINDOW : draw(&seed) % 8 * 4 * (draw(&seed) % 40);

        size = size > WINDOW ? WINDOW : size;
        at = draw(&seed) % 3 == 0 ? draw(&seed) % (BYTES / 4) * 4 : at;
        if (at + size > BYTES)
            at = 0;
        message[n] = (rp_message){base + at,  size,      (int)(draw(&seed) % 3) - 1, draw(&seed) % 2 == 0, RP_F32,
                                  &digest[n], n % 4 != 0};
        at += size;
        n++;
    }
    return n;
}

static void fetched_bytes_have_their_own_digests(void **state)
{
    static rp_message plain[MESSAGES], fetched[MESSAGES];
    static rp_digest expected[MESSAGES], found[MESSAGES];
    static const size_t counts[] = {0, 1, 2, 3, 1023, 1024, 1025, MESSAGES};

    (void)state;
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
        for (uint64_t seed = 1; seed <= 4; seed++) {
            make(plain, near, expected, seed, counts[c]);
            make(fetched, far, found, seed, counts[c]);
            memset(found, 0, sizeof found);
            assert_true(rp_sha256_many(plain, counts[c]));
            assert_true(rp_sha256_many_fetched(fetched, counts[c], NULL, &fetch));
            assert_memory_equal(found, expected, counts[c] * sizeof *found);
        }
}

/* A device refuses a copy from two allocations, also where they lie side by side. */
static void neighbours_are_copied_together_within_an_allocation_alone(void **state)
{
    static const bool joined[3][4] = {{false, true, true, true}, {false, true, false, true}, {false}};
    static const size_t copies[3] = {1, 2, 4};
    rp_digest found[4];

    (void)state;
    for (size_t k = 0; k < 3; k++) {
        rp_message message[4];

        for (size_t i = 0; i < 4; i++)
            message[i] = (rp_message){far + 512 * i, 512, 0, true, RP_F32, &found[i], joined[k][i]};
        s.copies = s.begun = 0;
        assert_true(rp_sha256_many_fetched(message, 4, NULL, &fetch));
        assert_int_equal(s.copies, copies[k]);
        assert_int_equal(s.begun, 1);
    }
}

static void failed_copies_are_told(void **state)
{
    static rp_message message[MESSAGES];
    static rp_digest digest[MESSAGES];

    (void)state;
    make(message, far, digest, 9, MESSAGES);
    for (size_t at = 1; at < 200; at += 7) {
        s.begun = 0;
        s.fail_at = at;
        assert_false(rp_sha256_many_fetched(message, MESSAGES, NULL, &fetch));
        assert_int_equal(s.n[0] + s.n[1], 0); /* nothing is on its way any more */
    }
    s.fail_at = 0;
    message[1].size = WINDOW + 1;
    assert_false(rp_sha256_many_fetched(message, MESSAGES, NULL, &fetch));
}

/* Whether so many messages of a size were hashed where they are; the digests are right either way. */
static bool hashed_there(size_t count, size_t size)
{
    static rp_message plain[MESSAGES], fetched[MESSAGES];
    static rp_digest expected[MESSAGES], found[MESSAGES];

    for (size_t i = 0; i < count; i++) {
        const size_t at = i * 92 % (BYTES - size) / 4 * 4;

        plain[i] = (rp_message){near + at, size, 0, i % 2 == 0, RP_F32, &expected[i], false};
        fetched[i] = (rp_message){far + at, size, 0, i % 2 == 0, RP_F32, &found[i], false};
    }
    memset(found, 0, sizeof found);
    s.begun = s.hashes = 0;
    assert_true(rp_sha256_many(plain, count));
    assert_true(rp_sha256_many_fetched(fetched, count, NULL, &fetch));
    assert_memory_equal(found, expected, count * sizeof *found);
    assert_int_equal(s.begun == 0, rp_fetch_hashes(&fetch, fetched, count));
    assert_int_equal(s.hashes, s.begun == 0 ? (count + WINDOW / RP_FETCH_HASHED - 1) / (WINDOW / RP_FETCH_HASHED) : 0);
    return s.begun == 0;
}

static void many_of_a_size_are_hashed_where_they_are(void **state)
{
    (void)state;
    assert_false(hashed_there(MESSAGES, 128));
    fetch.hash = hash;
    assert_true(hashed_there(MESSAGES, 128));
    assert_true(hashed_there(64, WINDOW));
    assert_true(hashed_there(2048, 128));
    assert_false(hashed_there(2047, 128));  /* few bytes */
    assert_false(hashed_there(63, WINDOW)); /* few messages */
    fetch.hash = NULL;
}

static void a_hash_that_fails_is_told(void **state)
{
    static rp_message message[MESSAGES];
    static rp_digest digest[MESSAGES];

    (void)state;
    for (size_t i = 0; i < MESSAGES; i++)
        message[i] = (rp_message){far + i, 128, 0, false, RP_F32, &digest[i], false};
    fetch.hash = hash;
    for (size_t at = 1; at <= MESSAGES / (WINDOW / RP_FETCH_HASHED) + 1; at++) {
        s.hashes = 0;
        s.fail_at = at;
        assert_false(rp_sha256_many_fetched(message, MESSAGES, NULL, &fetch));
        assert_int_equal(s.n_asked[0] + s.n_asked[1], 0);
    }
    s.fail_at = 0;
    fetch.hash = NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fetched_bytes_have_their_own_digests),
        cmocka_unit_test(neighbours_are_copied_together_within_an_allocation_alone),
        cmocka_unit_test(failed_copies_are_told),
        cmocka_unit_test(many_of_a_size_are_hashed_where_they_are),
        cmocka_unit_test(a_hash_that_fails_is_told),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
