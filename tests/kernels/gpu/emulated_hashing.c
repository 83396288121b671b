/* SPDX-License-Identifier: Apache-2.0
 * Digests that a GPU makes of its own memory are those of the host, whatever lies there; recordings are hashed there,
 * so that the states do not cross, and have the archives of the processor; what fails is told. */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "audit/digest/sha256.h"
#include "base/file.h"
#include "kernels/conformance/conformance.h"
#include "kernels/device.h"
#include "kernels/gpu/driver_abi.h"
#include "rp/rp.h"
#include "tests/kernels/gpu/error_tells.h"

enum { LEAF = 16384, ROOM = 1 << 20, MANY = 5000, MEMORY = 1 << 28, EDGES = 16 * LEAF };

static rp_error err;
static rp_device *device;
static unsigned char *here; /* ROOM bytes, */
static unsigned char *there;
static rp_message message[MANY];
static rp_digest expected[MANY];
static char folder[] = "/tmp/rp_hashing_XXXXXX";

static void (*fail_next)(const char *call, unsigned nth, int result);
static unsigned long (*calls)(const char *call);
static unsigned long (*to_host)(void);
static void (*order)(int which);

#define OK(call) \
    do { \
        if ((call) != RP_OK) \
            fail_msg("%s: %s", #call, err.text); \
    } while (0)

static void *driver_function(const char *name)
{
    void *driver = dlopen(getenv("RP_EMULATED_LIBRARY"), RTLD_NOW | RTLD_NOLOAD);

    return driver ? dlsym(driver, name) : NULL;
}

/* From EDGES on: all values of 16 bits, so that every bool and bf16 is there; then what lies on either side of
 * infinity, and differs from it by one bit of the fraction, in binary32 and binary64. */
static void put_edges(unsigned char *at)
{
    for (uint32_t i = 0; i < 65536; i++, at += 2)
        memcpy(at, &(uint16_t){(uint16_t)i}, 2);
    for (uint32_t sign = 0; sign < 2; sign++) {
        for (int bit = -2; bit < 23; bit++, at += 4) {
            const uint32_t least = bit < -1 ? UINT32_MAX : bit < 0 ? 0 : 1u << bit;

            memcpy(at, &(uint32_t){(sign << 31 | 0x7F800000) + least}, 4);
        }
        at += 4; /* 25 values of four bytes, to a multiple of eight */
        for (int bit = -2; bit < 52; bit++, at += 8) {
            const uint64_t least = bit < -1 ? UINT64_MAX : bit < 0 ? 0 : UINT64_C(1) << bit;

            memcpy(at, &(uint64_t){((uint64_t)sign << 63 | UINT64_C(0x7FF0000000000000)) + least}, 8);
        }
    }
}

static int open_device(void **state)
{
    uint64_t seed = 7;

    (void)state;
    here = malloc(ROOM);
    if (!mkdtemp(folder) || !here || setenv("RP_EMULATED_MEMORY", "268435456", 1) != 0)
        return -1;
    OK(rp_device_open(&device, "emulated", NULL, 1, &err));
    *(void **)&fail_next = driver_function("rp_emulated_fail");
    *(void **)&calls = driver_function("rp_emulated_calls");
    *(void **)&to_host = driver_function("rp_emulated_to_host");
    *(void **)&order = driver_function("rp_emulated_order");
    for (size_t i = 0; i < ROOM; i++) { /* half of all bytes are ones, so that there are NaNs of every type */
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        here[i] = seed >> 40 & 1 ? (unsigned char)(seed >> 48) : 0xFF;
    }
    put_edges(here + EDGES);
    OK(rp_device_allocate(device, (void **)&there, ROOM, &err));
    OK(rp_device_upload(device, there, here, ROOM, NULL, &err));
    return fail_next && calls && to_host && order ? 0 : -1;
}

static int close_device(void **state)
{
    char command[96];

    (void)state;
    rp_device_release(device, there);
    rp_device_free(device);
    free(here);
    (void)snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

/* The first count messages, which lie in `here`, by OpenSSL and by the device. */
static void same_digests(size_t count)
{
    static rp_device_message far[MANY];
    static rp_digest found[MANY];

    for (size_t i = 0; i < count; i++) {
        const rp_message *m = &message[i];

        message[i].digest = &expected[i];
        far[i] = (rp_device_message){there + ((const unsigned char *)m->bytes - here), (uint32_t)m->size,
                                     (int16_t)m->prefix, (uint16_t)(m->host ? m->dtype : RP_I32)};
    }
    memset(found, 0, sizeof found);
    assert_true(rp_sha256_many_openssl(message, count));
    OK(rp_device_hash(device, found[0].bytes, far, count, NULL, &err));
    OK(rp_device_synchronize(device, NULL, &err));
    for (size_t i = 0; i < count; i++)
        if (memcmp(found[i].bytes, expected[i].bytes, RP_DIGEST_SIZE) != 0)
            fail_msg("message %zu of %zu: %zu bytes at %zu, prefix %d, %s", i, count, message[i].size,
                     (size_t)((const unsigned char *)message[i].bytes - here), message[i].prefix,
                     message[i].host ? rp_dtype_name(message[i].dtype) : "bytes");
}

static void bytes_of_every_length_and_place(void **state)
{
    static const size_t sizes[] = {0,    1,        3,    54,       55,       56,          57,      62,
                                   63,   64,       65,   118,      119,      120,         127,     128,
                                   1000, LEAF - 1, LEAF, LEAF + 1, 3 * LEAF, 65 * 64 + 8, ROOM / 4};
    static const size_t places[] = {0, 1, 2, 4, 8, 12, 16, 4096, LEAF, LEAF + 8};
    static const int prefixes[] = {-1, 0, 1, 255};
    size_t n = 0;

    (void)state;
    for (size_t p = 0; p < sizeof places / sizeof *places; p++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
            for (size_t k = 0; k < 4; k++)
                message[n++] = (rp_message){here + places[p], sizes[s], prefixes[k], false, RP_F32, NULL, false};
    for (int o = 0; o < 3; o++) {
        order(o);
        same_digests(n);
    }
    order(0);
}

static void elements_are_hashed_as_they_are_stored(void **state)
{
    static const size_t sizes[] = {8, 56, 64, 72, 4096, LEAF - 8, LEAF};
    size_t n = 0;

    (void)state;
    for (int dtype = 0; dtype < RP_DTYPE_COUNT; dtype++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
            for (size_t place = 0; place < 5 * LEAF; place += LEAF + 8)
                message[n++] = (rp_message){here + place, sizes[s], 0, true, (rp_dtype)dtype, NULL, false};
    for (int dtype = 0; dtype < RP_DTYPE_COUNT; dtype++)
        for (size_t leaf = 0; leaf < 9; leaf++)
            message[n++] = (rp_message){here + EDGES + leaf * LEAF, LEAF, 0, true, (rp_dtype)dtype, NULL, false};
    for (size_t size = 0; size < 130; size++) /* ends within a word */
        message[n++] = (rp_message){here + size, size, 0, true, RP_BOOL, NULL, false};
    for (size_t size = 0; size < 130; size += 2)
        message[n++] = (rp_message){here + size, size, -1, true, RP_BF16, NULL, false};
    same_digests(n);
}

/* Leaves of a tensor beside each other, fewer and more than threads of a block, and other sizes among them. */
static void as_many_as_there_are(void **state)
{
    static const size_t counts[] = {1, 2, 31, 32, 33, 64, 65, 1000, MANY};

    (void)state;
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
        for (size_t i = 0; i < counts[c]; i++)
            message[i] = (rp_message){here + i * 208, i % 7 == 3 ? i % 200 : 208, 0, i % 2 == 0, RP_F32, NULL, false};
        for (size_t i = 0; i < counts[c]; i++)
            message[i].size -= message[i].host ? message[i].size % 4 : 0;
        same_digests(counts[c]);
    }
    OK(rp_device_hash(device, NULL, NULL, 0, NULL, &err));
}

static void the_published_vectors_are_part_of_the_conformance_test(void **state)
{
    const unsigned long before = calls("rp_gpu_sha256");

    (void)state;
    OK(rp_conformance_hash(device, &err));
    assert_int_equal(calls("rp_gpu_sha256") - before, 1);
}

/* What was computed before a wrong index is still hashed. */
static void a_wrong_index_does_not_stop_it(void **state)
{
    const int32_t index[2] = {0, 9};
    rp_index_check check = {.index = {.dtype = RP_I32, .rank = 1, .shape = {2}, .stride = {1}}, .bound = 3};
    rp_index_fault fault;

    (void)state;
    OK(rp_device_allocate(device, &check.index.data, sizeof index, &err));
    OK(rp_device_upload(device, check.index.data, index, sizeof index, NULL, &err));
    OK(rp_device_check(device, &check, NULL, &err));
    message[0] = (rp_message){here, LEAF, 0, true, RP_F32, NULL, false};
    same_digests(1);
    assert_true(rp_device_fault(device, &fault));
    assert_int_equal(fault.value, 9);
    rp_device_release(device, check.index.data);
}

/* ---- what is not hashed there comes at once ---- */

/* From places of every alignment, of every length and of none, in more launches than one; nothing else of the block's
 * end is written. */
static void pieces_come_together(void **state)
{
    enum { PIECES = 1000, BLOCK = 4 << 20, LAUNCH = 240, BEHIND = 256 };
    static const size_t counts[] = {1, 2, LAUNCH, LAUNCH + 1, PIECES};
    static rp_piece piece[PIECES];
    unsigned char *host = NULL;

    (void)state;
    OK(rp_device_pin(device, (void **)&host, BLOCK + BEHIND, &err));
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
        const unsigned long launches = calls("rp_gpu_pack"), copies = calls("cuMemcpyDtoHAsync_v2");
        size_t at = 0, end = 0;

        for (size_t i = 0; i < counts[c]; i++) {
            const size_t size = i % 97 == 1 ? 70000 + i : i % 5 == 0 ? i % 3 * LEAF : i * 7 % 131;

            piece[i] = (rp_piece){there + i * 929 % (ROOM / 2) / (i % 2 ? 1 : 16) * (i % 2 ? 1 : 16), (uint32_t)size,
                                  (uint32_t)at};
            end = size > 0 ? at + size : end;
            at += (size + 15) / 16 * 16 + i % 3 * 16;
        }
        assert_true(at <= BLOCK);
        memset(host, 0x5A, BLOCK + BEHIND);
        OK(rp_device_download_many(device, host, piece, counts[c], NULL, &err));
        OK(rp_device_synchronize(device, NULL, &err));
        for (size_t i = 0; i < counts[c]; i++)
            if (memcmp(host + piece[i].at, here + ((const unsigned char *)piece[i].bytes - there), piece[i].size) != 0)
                fail_msg("piece %zu of %zu, %u bytes", i, counts[c], piece[i].size);
        for (size_t i = end; i < end + BEHIND / 2; i++)
            assert_true(host[i] == 0x5A || i < at);
        assert_int_equal(calls("rp_gpu_pack") - launches, counts[c] > 1 ? (counts[c] + LAUNCH - 1) / LAUNCH : 0);
        assert_true(calls("cuMemcpyDtoHAsync_v2") - copies <= 2); /* the pieces, and the fault word */
    }
    OK(rp_device_download_many(device, NULL, NULL, 0, NULL, &err));
    rp_device_unpin(device, host);
}

/* ---- recordings ---- */

enum { STATES = 1100000 }; /* bytes, about: 67 leaves and more, of a model of these layers */
static const char *const large = "300, 300", *const deep = "6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6";

static const char *path_of(const char *name)
{
    static char text[4][96];
    static unsigned next;
    char *out = text[next++ % 4];

    (void)snprintf(out, sizeof text[0], "%s/%s", folder, name);
    return out;
}

static void put_recipe(const char *hidden, const char *record, int epochs)
{
    char text[512], table[2048];
    size_t at = (size_t)snprintf(table, sizeof table, "x,colour,y\n");

    for (int i = 0; i < 48; i++)
        at += (size_t)snprintf(table + at, sizeof table - at, "%d.%d,%s,%s\n", i % 11, i % 5, i % 3 ? "red" : "blue",
                               (i % 11) * 2 + i % 3 > 11 ? "yes" : "no");
    OK(rp_file_save(path_of("table.csv"), table, at, true, 0644, &err));
    at = (size_t)snprintf(text, sizeof text,
                          "reprise: 1\nseed: 3\ndata: {csv: table.csv, target: y, folds: 4, fold: 1}\n"
                          "model: {hidden: [%s]}\ntrain: {epochs: %d, batch: 12, optimizer: {kind: adam}}\n%s",
                          hidden, epochs, record);
    OK(rp_file_save(path_of("r.yaml"), text, at, true, 0644, &err));
}

static void train(const char *on, const char *archive)
{
    const rp_job_options options = {.threads = 1, .device = on};
    rp_job *job = NULL;

    OK(rp_train_recipe(path_of("r.yaml"), path_of(archive), NULL, true, &options, &job, &err));
    rp_job_free(job);
}

static void replay(const char *name)
{
    const rp_job_options options = {.threads = 1, .device = "emulated"};
    rp_archive *archive;
    rp_job *job;

    OK(rp_archive_open(&archive, path_of(name), &err));
    OK(rp_replay(archive, &options, &job, &err));
    rp_job_free(job);
    rp_archive_close(archive);
}

static void same_archives(size_t least)
{
    rp_buffer a = {0}, b = {0};

    OK(rp_file_read(path_of("cpu.reprise"), SIZE_MAX / 2, &a, &err));
    OK(rp_file_read(path_of("emulated.reprise"), SIZE_MAX / 2, &b, &err));
    assert_true(a.size > least && a.size == b.size);
    assert_memory_equal(a.data, b.data, a.size);
    rp_buffer_free(&a);
    rp_buffer_free(&b);
}

/* What so many epochs took: launches of the hash, copies to the host and their bytes. */
typedef struct taken {
    unsigned long hashes, copies, bytes;
} taken;

static taken taken_so_far(void)
{
    return (taken){calls("rp_gpu_sha256"), calls("cuMemcpyDtoHAsync_v2"), to_host()};
}

static taken record(const char *hidden, const char *with, int epochs)
{
    taken before, t;

    put_recipe(hidden, with, epochs);
    train("cpu", "cpu.reprise");
    before = taken_so_far();
    train("emulated", "emulated.reprise");
    t = taken_so_far();
    same_archives(hidden == large ? STATES / 3 : 0);
    return (taken){t.hashes - before.hashes, t.copies - before.copies, t.bytes - before.bytes};
}

/* From the difference of a long and a short run: each step hashes its states there, once, and they stay there. */
static void states_stay_and_archives_are_the_processors(void **state)
{
    static const char *const kinds[] = {"", "record: {state_period: 3}\n"};

    (void)state;
    for (size_t k = 0; k < 2; k++) {
        const taken few = record(large, kinds[k], 1), many = record(large, kinds[k], 3);
        const unsigned long steps = 2 * 3, before = calls("rp_gpu_sha256");

        if (many.hashes - few.hashes != steps || many.bytes - few.bytes > steps * STATES / 20)
            fail_msg("%s: %lu steps more took %lu hashes and brought %lu bytes to the host", kinds[k], steps,
                     many.hashes - few.hashes, many.bytes - few.bytes);
        replay("cpu.reprise");
        assert_true(calls("rp_gpu_sha256") - before >= 3 * 3);
    }
}

/* However many states there are, here some 90: they come as one copy a step. The others are losses, which the trainer
 * and the recorder read, and the word of a wrong index whenever the default stream is waited for. */
static void small_states_are_one_copy_a_step(void **state)
{
    static const char *const kinds[] = {"", "record: {state_period: 3}\n"};

    (void)state;
    for (size_t k = 0; k < 2; k++) {
        const taken few = record(deep, kinds[k], 1), many = record(deep, kinds[k], 3);
        const unsigned long steps = 2 * 3;

        if (many.hashes != few.hashes || many.copies - few.copies > 7 * steps)
            fail_msg("%s: %lu steps more took %lu hashes and %lu copies to the host", kinds[k], steps,
                     many.hashes - few.hashes, many.copies - few.copies);
        replay("cpu.reprise");
    }
}

/* ---- what fails ---- */

/* Another device, since what fails there stays failed until it is closed, hashes a message of a leaf. */
static rp_status hash_one(rp_digest *out)
{
    rp_device *d = NULL;
    void *memory = NULL;
    rp_status status = rp_device_open(&d, "emulated:1", NULL, 1, &err);

    memset(out, 0, sizeof *out);
    if (status == RP_OK)
        status = rp_device_allocate(d, &memory, LEAF, &err);
    if (status == RP_OK)
        status = rp_device_upload(d, memory, here, LEAF, NULL, &err);
    if (status == RP_OK)
        status = rp_device_hash(d, out->bytes, &(rp_device_message){memory, LEAF, 0, RP_F32}, 1, NULL, &err);
    if (status == RP_OK)
        status = rp_device_synchronize(d, NULL, &err);
    if (d)
        rp_device_release(d, memory);
    rp_device_free(d);
    return status;
}

static void every_call_that_fails_is_told(void **state)
{
    static const int ways[] = {RP_CU_OUT_OF_MEMORY, RP_CU_LAUNCH_FAILED, 46};
    static const char *const names[] = {"CUDA_ERROR_OUT_OF_MEMORY", "CUDA_ERROR_LAUNCH_FAILED",
                                        "CUDA_ERROR_DEVICE_UNAVAILABLE"};
#define CALL(name, parameters) #name,
    static const char *const all[] = {RP_DRIVER_CALLS(CALL) "kernel", "copy"};
#undef CALL
    const rp_message leaf = {here, LEAF, 0, true, RP_F32, &expected[0], false};
    unsigned told = 0;
    rp_digest found;

    (void)state;
    assert_true(rp_sha256_many_openssl(&leaf, 1));
    for (size_t c = 0; c < sizeof all / sizeof *all; c++) {
        const unsigned long before = calls(all[c]);
        unsigned times;

        OK(hash_one(&found));
        assert_memory_equal(found.bytes, expected[0].bytes, RP_DIGEST_SIZE);
        times = (unsigned)(calls(all[c]) - before);
        for (unsigned nth = 1; nth <= times; nth++)
            for (size_t way = 0; way < 3; way++) {
                rp_status status;

                fail_next(all[c], nth, ways[way]);
                status = hash_one(&found);
                fail_next(NULL, 0, 0);
                if (status == RP_OK) /* a release, of which nothing is lost */
                    assert_memory_equal(found.bytes, expected[0].bytes, RP_DIGEST_SIZE);
                else if (!error_tells(err.text, all[c], names[way]))
                    fail_msg("%s, time %u, %s: the error does not say so: %s", all[c], nth, names[way], err.text);
                told += status != RP_OK;
            }
    }
    assert_true(told > 40);
}

static void no_memory_for_digests_is_told_and_survived(void **state)
{
    rp_device *d;
    void *memory, *block[128];
    size_t blocks = 0;
    rp_device_message same[100]; /* of which the digests take more than what is left of the last block */
    const rp_message leaf = {here, LEAF, 0, true, RP_F32, &expected[0], false};
    rp_digest found[100] = {{{0}}};

    (void)state;
    OK(rp_device_open(&d, "emulated:1", NULL, 1, &err));
    OK(rp_device_allocate(d, &memory, LEAF, &err));
    OK(rp_device_upload(d, memory, here, LEAF, NULL, &err));
    for (size_t i = 0; i < 100; i++)
        same[i] = (rp_device_message){memory, LEAF, 0, RP_F32};
    for (size_t size = MEMORY / 4; size >= 256 && blocks < 128;) /* all of it */
        if (rp_device_allocate(d, &block[blocks], size, NULL) == RP_OK)
            blocks++;
        else
            size /= 2;
    assert_int_equal(rp_device_hash(d, found[0].bytes, same, 100, NULL, &err), RP_ENOMEM);
    if (!strstr(err.text, "SHA-256 of 100 messages on device emulated") || !strstr(err.text, "OUT_OF_MEMORY"))
        fail_msg("the error says: %s", err.text);
    while (blocks > 0)
        rp_device_release(d, block[--blocks]);
    OK(rp_device_hash(d, found[0].bytes, same, 100, NULL, &err));
    OK(rp_device_synchronize(d, NULL, &err));
    assert_true(rp_sha256_many_openssl(&leaf, 1));
    assert_memory_equal(found[0].bytes, expected[0].bytes, RP_DIGEST_SIZE);
    assert_memory_equal(found[99].bytes, expected[0].bytes, RP_DIGEST_SIZE);
    rp_device_release(d, memory);
    rp_device_free(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_of_every_length_and_place),
        cmocka_unit_test(elements_are_hashed_as_they_are_stored),
        cmocka_unit_test(as_many_as_there_are),
        cmocka_unit_test(the_published_vectors_are_part_of_the_conformance_test),
        cmocka_unit_test(a_wrong_index_does_not_stop_it),
        cmocka_unit_test(pieces_come_together),
        cmocka_unit_test(small_states_are_one_copy_a_step),
        cmocka_unit_test(states_stay_and_archives_are_the_processors),
        cmocka_unit_test(no_memory_for_digests_is_told_and_survived),
        cmocka_unit_test(every_call_that_fails_is_told),
    };

    return cmocka_run_group_tests(tests, open_device, close_device);
}
