/* SPDX-License-Identifier: Apache-2.0
 * SHA-256 by the processor's instructions and in lanes against the published vectors (FIPS 180-4 examples, NIST CAVP
 * short messages) and against OpenSSL: every length around the block and check limits, random lengths, prefixes,
 * alignments, counts, host elements with NaNs, and pages that may not be read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>
#include <openssl/evp.h>

#include "audit/digest/digest.h"
#include "audit/digest/sha256.h"
#include "determinism/bits.h"

enum { ROOM = 1 << 18, MANY = 80 };

static unsigned char memory[ROOM];
static uint64_t seed = 20260101;

static uint64_t chance(uint64_t below)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (seed >> 33) % below;
}

static int fill(void **state)
{
    (void)state;
    for (size_t i = 0; i < ROOM; i++)
        memory[i] = (unsigned char)chance(256);
    return 0;
}

/* Straight from OpenSSL, past our own code. */
static void oracle(rp_digest *out, const rp_message *m)
{
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    unsigned char prefix = (unsigned char)m->prefix;

    assert_int_equal(EVP_DigestInit_ex(context, EVP_sha256(), NULL), 1);
    if (m->prefix >= 0)
        assert_int_equal(EVP_DigestUpdate(context, &prefix, 1), 1);
    if (m->size > 0)
        assert_int_equal(EVP_DigestUpdate(context, m->bytes, m->size), 1);
    assert_int_equal(EVP_DigestFinal_ex(context, out->bytes, NULL), 1);
    EVP_MD_CTX_free(context);
}

/* Digests are the oracle's; they are forgotten, for the next way. */
static void expect_digests(const rp_message *message, size_t count, const char *way)
{
    for (size_t i = 0; i < count; i++) {
        rp_digest expected;

        oracle(&expected, &message[i]);
        if (memcmp(expected.bytes, message[i].digest->bytes, RP_DIGEST_SIZE) != 0)
            fail_msg("%s, message %zu of %zu: %zu bytes at %zu, prefix %d", way, i, count, message[i].size,
                     (size_t)((const unsigned char *)message[i].bytes - memory), message[i].prefix);
        memset(message[i].digest, 0, RP_DIGEST_SIZE);
    }
}

static void check(const rp_message *message, size_t count)
{
    bool odd[MANY];

    rp_sha256_many_native(message, count, odd);
    for (size_t i = 0; i < count; i++)
        assert_false(odd[i]);
    expect_digests(message, count, "native");
    assert_true(rp_sha256_many_openssl(message, count));
    expect_digests(message, count, "OpenSSL");
    assert_true(rp_sha256_many(message, count));
    expect_digests(message, count, "many");
}

static void needs_the_instructions(void)
{
    if (!rp_sha256_native())
        skip();
}

static void native_gives_the_published_answers(void **state)
{
    static const struct {
        const char *text;
        size_t repeat;
        const char *digest;
    } known[] = {
        {"", 1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"\xd3", 1, "28969cdfa74a12c82f3bad960b0b000aca2ac329deea5c2328ebc6f2ba9802c1"},
        {"\x11\xaf", 1, "5ca7133fa735326081558ac312c620eeca9970d1e70a4b95533d956f072d1f98"},
        {"abc", 1, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1,
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
        {"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqr"
         "stu",
         1, "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"},
        {"a", 1000000, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"},
    };
    char hex[RP_DIGEST_HEX];

    (void)state;
    needs_the_instructions();
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        size_t length = strlen(known[k].text);
        char *text = malloc(length * known[k].repeat + 1);
        rp_digest digest[2];
        bool odd[2];
        rp_message m[2];

        for (size_t i = 0; i < known[k].repeat; i++)
            memcpy(text + i * length, known[k].text, length);
        for (int i = 0; i < 2; i++)
            m[i] = (rp_message){text, length * known[k].repeat, -1, false, RP_F32, &digest[i], false};
        for (size_t count = 1; count <= 2; count++) {
            memset(digest, 0, sizeof digest);
            rp_sha256_many_native(m, count, odd);
            rp_digest_hex(hex, &digest[count - 1]);
            assert_string_equal(hex, known[k].digest);
        }
        free(text);
    }
}

static void native_is_openssl_for_every_short_length_prefix_and_neighbour(void **state)
{
    (void)state;
    needs_the_instructions();
    for (size_t size = 0; size < 300; size++)
        for (int prefix = -1; prefix < 2; prefix++) {
            rp_digest digest[3];
            const rp_message m[] = {{memory + size % 7, size, prefix, false, RP_F32, &digest[0], false},
                                    {memory + 1000, chance(700), (int)chance(3) - 1, false, RP_F32, &digest[1], false},
                                    {memory + 2000, chance(70), (int)chance(3) - 1, false, RP_F32, &digest[2], false}};

            for (size_t count = 1; count <= 3; count++)
                check(m, count);
        }
}

static void native_is_openssl_for_random_lengths_and_counts(void **state)
{
    (void)state;
    needs_the_instructions();
    for (int round = 0; round < 200; round++) {
        rp_digest digest[MANY];
        rp_message m[MANY];
        size_t count = chance(MANY) + 1;

        for (size_t i = 0; i < count; i++) {
            size_t at = chance(ROOM / 2), most = (size_t)1 << chance(17);

            m[i] = (rp_message){memory + at, chance(most + 1), (int)chance(5) - 1, false, RP_F32, &digest[i], false};
        }
        check(m, count);
    }
}

/* A NaN of another kind anywhere, also across the limits at which host bytes are looked at, gives the canonical one's
 * digest; other messages beside it are not disturbed. */
static void host_elements_give_the_digest_of_their_stored_form(void **state)
{
    enum { ELEMENTS = 9000 };
    static float host[ELEMENTS], stored[ELEMENTS];
    static const size_t places[] = {0, 15, 16, 4095, 4096, 8191, 8192, ELEMENTS - 1};

    (void)state;
    for (size_t k = 0; k < sizeof places / sizeof *places; k++)
        for (int other = 0; other < 2; other++) {
            rp_digest found[3], expected[3];
            rp_message m[3];

            for (size_t i = 0; i < ELEMENTS; i++)
                host[i] = (float)i;
            host[places[k]] = rp_from_bits_f32(other ? 0xffc12345u : 0x7fc00000u);
            rp_to_stored((unsigned char *)stored, host, RP_F32, ELEMENTS);
            for (int i = 0; i < 3; i++)
                m[i] = (rp_message){host, i == 1 ? sizeof host : 64 * (size_t)i, 0, true, RP_F32, &found[i], false};
            assert_true(rp_sha256_many(m, 3));
            for (int i = 0; i < 3; i++) {
                m[i].bytes = stored;
                oracle(&expected[i], &m[i]);
                assert_memory_equal(&found[i], &expected[i], RP_DIGEST_SIZE);
            }
        }
}

/* ---- messages of one size, which go side by side in lanes ---- */

static const size_t sizes[] = {1,   31,  32,  54,  55,  56,  57,   62,   63,    64,    65,
                               118, 119, 120, 127, 128, 129, 1000, 4096, 16383, 16384, 16385};
enum { SIZES = sizeof sizes / sizeof *sizes };

/* Anywhere in memory, on any address. */
static void place(rp_message *m, rp_digest *digest, size_t count, size_t size, int prefix)
{
    for (size_t i = 0; i < count; i++)
        m[i] = (rp_message){memory + chance(ROOM - size), size, prefix, false, RP_F32, &digest[i], false};
}

static void lanes_are_openssl_for_every_count_size_and_prefix(void **state)
{
    static const int prefixes[] = {-1, 0, 1, 255};
    rp_digest digest[RP_SHA_LANES] = {{{0}}};
    const rp_message *lane[RP_SHA_LANES];
    rp_message m[RP_SHA_LANES];

    (void)state;
    if (!rp_sha256_has_lanes())
        skip();
    for (int i = 0; i < RP_SHA_LANES; i++)
        lane[i] = &m[i];
    for (size_t k = 0; k < SIZES; k++)
        for (int p = 0; p < 4; p++)
            for (size_t count = 1; count <= RP_SHA_LANES; count++) {
                static const rp_digest none;

                place(m, digest, RP_SHA_LANES, sizes[k], prefixes[p]);
                assert_true(rp_sha256_lanes(lane, count));
                expect_digests(m, count, "lanes");
                for (size_t i = count; i < RP_SHA_LANES; i++)
                    assert_memory_equal(&digest[i], &none, sizeof none);
            }
}

static void many_is_openssl_for_every_count_of_one_size(void **state)
{
    rp_digest digest[70] = {{{0}}};
    rp_message m[70];

    (void)state;
    for (size_t count = 0; count <= 70; count++)
        for (int prefix = -1; prefix < 2; prefix++) {
            size_t size = sizes[chance(SIZES)];

            place(m, digest, 70, size, prefix);
            assert_true(rp_sha256_many(m, count));
            expect_digests(m, count, "many");
        }
}

/* Some of most counts are of another size or prefix, or none of two are of one. */
static void many_is_openssl_among_messages_of_other_sizes(void **state)
{
    static rp_digest digest[2000];
    static rp_message m[2000];

    (void)state;
    for (size_t round = 0; round < 60; round++) {
        size_t count = round < 50 ? chance(200) : 2000, others = 1 + chance(20), size = sizes[chance(SIZES - 4)];

        place(m, digest, count, size, 0);
        for (size_t i = 0; i < count; i++)
            if (chance(others) == 0)
                place(&m[i], &digest[i], 1, chance(300), (int)chance(3) - 1);
        assert_true(rp_sha256_many(m, count));
        expect_digests(m, count, "many");
    }
}

/* In lanes, too, a NaN of another kind, anywhere or last, gives the canonical one's digest and leaves its neighbours
 * alone; infinity is stored as it is. */
static void lanes_hash_host_elements_in_their_stored_form(void **state)
{
    enum { COUNT = 20, LEAF = ROOM / COUNT / 8 * 8 };
    static const struct {
        rp_dtype dtype;
        size_t size;
        unsigned char nan[8], infinity[8];
    } kinds[] = {{RP_F32, 4, {0x45, 0x23, 0xc1, 0xff}, {0, 0, 0x80, 0xff}},
                 {RP_F64, 8, {1, 0, 0, 0, 0, 0, 0xf0, 0x7f}, {0, 0, 0, 0, 0, 0, 0xf0, 0x7f}},
                 {RP_BF16, 2, {0x81, 0xff}, {0x80, 0xff}},
                 {RP_F16, 2, {1, 0x7c}, {0, 0x7c}},
                 {RP_BOOL, 1, {2}, {1}}};
    static unsigned char stored[ROOM];

    (void)state;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        for (size_t odd = 0; odd < COUNT; odd++) {
            const size_t at = odd * LEAF + (odd % 2 ? LEAF - kinds[k].size : chance(LEAF / 8) * 8);
            const rp_message *lane[RP_SHA_LANES];
            rp_digest digest[COUNT] = {{{0}}};
            rp_message m[COUNT];

            memset(memory, k < 4 ? 0x3b : 1, ROOM);
            for (size_t i = 0; i < COUNT; i++)
                m[i] = (rp_message){memory + i * LEAF, LEAF, 0, true, kinds[k].dtype, &digest[i], false};
            for (size_t i = 0; i < RP_SHA_LANES; i++)
                lane[i] = &m[i];
            memcpy(memory + at, kinds[k].infinity, kinds[k].size);
            assert_true(!rp_sha256_has_lanes() || rp_sha256_lanes(lane, RP_SHA_LANES));
            memcpy(memory + at, kinds[k].nan, kinds[k].size);
            if (rp_sha256_has_lanes() && kinds[k].dtype != RP_BOOL)
                assert_int_equal(rp_sha256_lanes(lane, RP_SHA_LANES), odd >= RP_SHA_LANES);
            rp_to_stored(stored, memory, kinds[k].dtype, ROOM / kinds[k].size);
            assert_memory_not_equal(stored, memory, ROOM);
            assert_true(rp_sha256_many(m, COUNT));
            for (size_t i = 0; i < COUNT; i++)
                m[i].bytes = stored + i * LEAF;
            expect_digests(m, COUNT, "many");
        }
    (void)fill(NULL);
}

/* Bytes that are a NaN of another kind to some messages and as they should be to others of their size. */
static void messages_of_one_size_may_be_of_any_types(void **state)
{
    enum { COUNT = 60, SIZE = 256 };
    static unsigned char stored[SIZE];
    rp_digest digest[COUNT] = {{{0}}};
    rp_message m[COUNT];

    (void)state;
    memset(memory, 0xff, SIZE);
    rp_to_stored(stored, memory, RP_F32, SIZE / 4);
    for (size_t i = 0; i < COUNT; i++)
        m[i] = (rp_message){memory, SIZE, 0, i % 3 != 0, i % 3 == 1 ? RP_F32 : RP_I32, &digest[i], false};
    assert_true(rp_sha256_many(m, COUNT));
    for (size_t i = 0; i < COUNT; i++)
        m[i].bytes = i % 3 == 1 ? stored : memory;
    expect_digests(m, COUNT, "many");
    (void)fill(NULL);
}

/* Pages before and behind the messages may not be read: each way stays inside, whatever the sizes and prefixes. */
static void no_way_reads_outside_of_a_message(void **state)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    unsigned char *before = aligned_alloc(page, 3 * page), *inside = before + page, *behind = inside + page;
    rp_digest digest[20];
    rp_message m[20];

    (void)state;
    needs_the_instructions();
    assert_non_null(before);
    memcpy(inside, memory, page);
    assert_int_equal(mprotect(before, page, PROT_NONE) | mprotect(behind, page, PROT_NONE), 0);
    for (size_t size = 1; size <= 300; size++)
        for (int prefix = -1; prefix < 2; prefix++) {
            for (size_t i = 0; i < 20; i++)
                m[i] = (rp_message){i % 2 ? inside : behind - size, size, prefix, false, RP_F32, &digest[i], false};
            check(m, 20);
        }
    assert_int_equal(mprotect(before, 3 * page, PROT_READ | PROT_WRITE), 0);
    free(before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(native_gives_the_published_answers),
        cmocka_unit_test(native_is_openssl_for_every_short_length_prefix_and_neighbour),
        cmocka_unit_test(native_is_openssl_for_random_lengths_and_counts),
        cmocka_unit_test(host_elements_give_the_digest_of_their_stored_form),
        cmocka_unit_test(lanes_are_openssl_for_every_count_size_and_prefix),
        cmocka_unit_test(many_is_openssl_for_every_count_of_one_size),
        cmocka_unit_test(many_is_openssl_among_messages_of_other_sizes),
        cmocka_unit_test(lanes_hash_host_elements_in_their_stored_form),
        cmocka_unit_test(messages_of_one_size_may_be_of_any_types),
        cmocka_unit_test(no_way_reads_outside_of_a_message),
    };

    return cmocka_run_group_tests(tests, fill, NULL);
}
