/* SPDX-License-Identifier: Apache-2.0
 * Readers: an archive says the same whatever its bytes come from; a reader that fails or lies is told of, at every
 * read, and is closed once in any case. */
#include "tests/audit/archive/archive_sample.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "rp/verify.h"

static rp_error err;
static rp_key *key;
static rp_buffer sample;

/* Bytes somewhere else, for instance behind a network: one request at a time, and one of them may fail or lie. */
typedef struct remote {
    const rp_buffer *bytes;
    pthread_mutex_t lock;
    unsigned reads, closes;
    unsigned fails_at, lies_at; /* 0: never */
} remote;

static rp_status remote_read(void *self, uint64_t offset, void *out, size_t size, rp_error *error)
{
    remote *r = self;
    unsigned read;

    pthread_mutex_lock(&r->lock);
    read = ++r->reads;
    assert_true(offset <= r->bytes->size && size <= r->bytes->size - offset);
    memcpy(out, r->bytes->data + offset, size);
    pthread_mutex_unlock(&r->lock);
    if (read == r->lies_at && size > 0)
        *(unsigned char *)out ^= 1;
    return read == r->fails_at ? rp_fail(error, RP_EIO, "the line is dead") : RP_OK;
}

static void remote_close(void *self)
{
    ((remote *)self)->closes++;
}

static rp_reader reader_of(remote *r)
{
    return (rp_reader){.read = remote_read, .close = remote_close, .self = r, .size = r->bytes->size};
}

static rp_status ask(remote *r, rp_verification **result)
{
    rp_reader reader = reader_of(r);
    rp_archive *archive = NULL;
    rp_status status =
        rp_verify_reader(&reader, "remote", (const rp_key *const *)&key, 1, NULL, result, &archive, &err);

    rp_archive_close(archive);
    return status;
}

static void every_reader_gives_the_same_verdict(void **state)
{
    char path[] = "/tmp/reprise-test-XXXXXX";
    remote r = {.bytes = &sample, .lock = PTHREAD_MUTEX_INITIALIZER};
    rp_verification *of[3];
    int fd = mkstemp(path);

    (void)state;
    assert_true(fd >= 0 && write(fd, sample.data, sample.size) == (ssize_t)sample.size && close(fd) == 0);
    assert_ok(rp_verify(path, (const rp_key *const *)&key, 1, NULL, &of[0], NULL, &err));
    assert_ok(
        rp_verify_memory(sample.data, sample.size, path, (const rp_key *const *)&key, 1, NULL, &of[1], NULL, &err));
    assert_ok(ask(&r, &of[2]));
    assert_int_equal(r.closes, 1);
    for (int i = 0; i < 3; i++) {
        assert_string_equal(of[i]->archive_id, of[0]->archive_id);
        assert_int_equal(of[i]->members, of[0]->members);
        assert_int_equal(of[i]->bytes, sample.size);
        assert_int_equal(of[i]->statements, of[0]->statements);
    }
    for (int i = 0; i < 3; i++)
        rp_verification_free(of[i]);
    assert_int_equal(unlink(path), 0);
}

static void a_read_that_fails_is_told_of_wherever_it_is(void **state)
{
    remote whole = {.bytes = &sample, .lock = PTHREAD_MUTEX_INITIALIZER};

    (void)state;
    assert_ok(ask(&whole, NULL));
    for (unsigned at = 1; at <= whole.reads; at++) {
        remote r = {.bytes = &sample, .lock = PTHREAD_MUTEX_INITIALIZER, .fails_at = at};
        rp_verification *result = NULL;

        assert_int_equal(ask(&r, &result), RP_EIO);
        assert_non_null(strstr(err.text, "the line is dead"));
        assert_int_equal(strncmp(err.text, "remote: ", 8), 0);
        assert_null(result);
        assert_int_equal(r.closes, 1);
    }
}

/* What a reader says twice must be the same: whichever answer was the lie, verification does not succeed with it. */
static void a_lie_is_noticed_wherever_it_is(void **state)
{
    remote whole = {.bytes = &sample, .lock = PTHREAD_MUTEX_INITIALIZER};
    unsigned noticed = 0;

    (void)state;
    assert_ok(ask(&whole, NULL));
    for (unsigned at = 1; at <= whole.reads; at++) {
        remote r = {.bytes = &sample, .lock = PTHREAD_MUTEX_INITIALIZER, .lies_at = at};
        rp_status status = ask(&r, NULL);

        noticed += status == RP_EHASH || status == RP_ESIGN || status == RP_EFORMAT;
        assert_int_equal(r.closes, 1);
    }
    assert_int_equal(noticed, whole.reads);
}

static void raw_bytes_are_the_archives(void **state)
{
    rp_archive *archive;
    unsigned char block[512];
    uint64_t total;

    (void)state;
    assert_ok(rp_archive_open_memory(&archive, sample.data, sample.size, "memory", &err));
    assert_ok(rp_archive_read_raw(archive, 512, block, sizeof block, &total, &err));
    assert_int_equal(total, sample.size);
    assert_memory_equal(block, sample.data + 512, sizeof block);
    assert_ok(rp_archive_read_raw(archive, total, block, 0, NULL, &err));
    assert_int_equal(rp_archive_read_raw(archive, total - 1, block, 2, NULL, &err), RP_EARG);
    assert_int_equal(rp_archive_read_raw(archive, UINT64_MAX, block, 2, NULL, &err), RP_EARG);
    rp_archive_close(archive);
}

static int setup(void **state)
{
    (void)state;
    if (rp_key_generate(&key, &err) != RP_OK)
        return -1;
    sample_archive(&sample, key);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    rp_buffer_free(&sample);
    rp_key_free(key);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_reader_gives_the_same_verdict),
        cmocka_unit_test(a_read_that_fails_is_told_of_wherever_it_is),
        cmocka_unit_test(a_lie_is_noticed_wherever_it_is),
        cmocka_unit_test(raw_bytes_are_the_archives),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
