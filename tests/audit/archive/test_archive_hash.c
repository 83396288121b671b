/* SPDX-License-Identifier: Apache-2.0
 * Archives large enough to be hashed on several threads: the same digests and the same errors as of small ones, from a
 * file and from memory. And lanes, the hashing in pieces behind it. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "audit/digest/sha256.h"
#include "tests/audit/archive/archive_sample.h"

enum { MEMBERS = 7 };
static const size_t sizes[MEMBERS] = {3 << 20, 1, (1 << 20) + 63, 0, 5 << 20, (1 << 18) + 64, 2 << 20};

static rp_buffer archive;
static char path[] = "/tmp/rp-test-hash-XXXXXX";

static void put_file(void)
{
    rp_error err;

    assert_ok(rp_file_save(path, archive.data, archive.size, true, 0600, &err));
}

static int make(void **state)
{
    rp_archive_writer *writer;
    rp_json *run = rp_json_object();
    unsigned char *body = malloc(5 << 20);
    rp_error err;
    int fd = mkstemp(path);

    (void)state;
    assert_true(fd >= 0 && close(fd) == 0 && body != NULL);
    for (size_t i = 0; i < 5 << 20; i++)
        body[i] = (unsigned char)(i * 2654435761u >> 13);
    assert_ok(rp_archive_writer_new(&writer, NULL, &err));
    for (size_t i = 0; i < MEMBERS; i++) {
        char name[40];

        (void)snprintf(name, sizeof name, "outputs/%zu.bin", i);
        assert_ok(rp_archive_writer_add(writer, name, body, sizes[i], &err));
    }
    assert_ok(rp_archive_writer_finish(writer, RP_RUN_API, run, &err));
    assert_ok(rp_archive_writer_append(writer, &archive, &err));
    rp_archive_writer_free(writer);
    rp_json_free(run);
    free(body);
    put_file();
    return 0;
}

static int drop(void **state)
{
    (void)state;
    rp_buffer_free(&archive);
    return unlink(path);
}

static void digests_are_those_of_the_bodies(void **state)
{
    rp_archive *from[2];
    rp_error err;

    (void)state;
    assert_ok(rp_archive_open(&from[0], path, &err));
    assert_ok(rp_archive_open_memory(&from[1], archive.data, archive.size, "memory", &err));
    for (int k = 0; k < 2; k++) {
        assert_int_equal(rp_archive_member_count(from[k]), MEMBERS + 1);
        for (size_t i = 1; i <= MEMBERS; i++) {
            const rp_member *member = rp_archive_member(from[k], i);
            rp_buffer body = {0};
            rp_digest digest;

            assert_int_equal(member->size, sizes[i - 1]);
            assert_ok(rp_sha256(&digest, archive.data + member->offset, sizes[i - 1], &err));
            assert_true(rp_digest_equal(&digest, &member->digest));
            assert_ok(rp_archive_read_member(from[k], member->name, sizes[i - 1], &body, &err));
            assert_memory_equal(body.data, archive.data + member->offset, sizes[i - 1]);
            rp_buffer_free(&body);
        }
        rp_archive_close(from[k]);
    }
}

static void of_several_damaged_members_the_first_is_named(void **state)
{
    rp_archive *whole, *opened;
    size_t offset[MEMBERS];
    rp_error err;

    (void)state;
    assert_ok(rp_archive_open_memory(&whole, archive.data, archive.size, "memory", &err));
    for (size_t i = 0; i < MEMBERS; i++)
        offset[i] = (size_t)rp_archive_member(whole, i + 1)->offset;
    rp_archive_close(whole);
    for (size_t first = 0; first < MEMBERS; first++) {
        char name[40];

        if (sizes[first] == 0)
            continue;
        for (size_t i = first; i < MEMBERS; i++)
            archive.data[offset[i]] ^= sizes[i] > 0;
        put_file();
        (void)snprintf(name, sizeof name, "outputs/%zu.bin: SHA-256 differs", first);
        assert_int_equal(rp_archive_open(&opened, path, &err), RP_EHASH);
        assert_non_null(strstr(err.text, name));
        assert_int_equal(rp_archive_open_memory(&opened, archive.data, archive.size, "memory", &err), RP_EHASH);
        assert_non_null(strstr(err.text, name));
        for (size_t i = first; i < MEMBERS; i++)
            archive.data[offset[i]] ^= sizes[i] > 0;
    }
    put_file();
}

static void lanes_give_the_digest_of_the_whole(void **state)
{
    rp_error err;

    (void)state;
    for (size_t size = 0; size < 700; size++) {
        for (int by_openssl = 0; by_openssl < 2; by_openssl++) {
            rp_sha256_lane a, b;
            rp_digest expected, first, second;
            size_t blocks = size / RP_SHA_BLOCK, half = blocks / 2;
            const unsigned char *at = archive.data, *bt = archive.data + 4096;

            assert_ok(rp_sha256_lane_start(&a, &err));
            assert_ok(rp_sha256_lane_start(&b, &err));
            if (by_openssl && a.stream == NULL) {
                assert_ok(rp_sha256_stream_new(&a.stream, &err));
                assert_ok(rp_sha256_stream_new(&b.stream, &err));
            }
            rp_sha256_lane_blocks(&a, at, &b, bt, half);
            rp_sha256_lane_blocks(&a, at + half * RP_SHA_BLOCK, NULL, NULL, blocks - half);
            rp_sha256_lane_blocks(&b, bt + half * RP_SHA_BLOCK, NULL, NULL, blocks - half);
            assert_ok(rp_sha256_lane_finish(&a, at + blocks * RP_SHA_BLOCK, size % RP_SHA_BLOCK, &first, &err));
            assert_ok(rp_sha256_lane_finish(&b, bt + blocks * RP_SHA_BLOCK, size % RP_SHA_BLOCK, &second, &err));
            assert_ok(rp_sha256(&expected, at, size, &err));
            assert_true(rp_digest_equal(&expected, &first));
            assert_ok(rp_sha256(&expected, bt, size, &err));
            assert_true(rp_digest_equal(&expected, &second));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(digests_are_those_of_the_bodies),
        cmocka_unit_test(of_several_damaged_members_the_first_is_named),
        cmocka_unit_test(lanes_give_the_digest_of_the_whole),
    };

    return cmocka_run_group_tests(tests, make, drop);
}
