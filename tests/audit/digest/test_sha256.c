/* SPDX-License-Identifier: Apache-2.0
 * SHA-256 by the processor's instructions against the published vectors (FIPS 180-4 examples, NIST CAVP short messages)
 * and against OpenSSL: every length around the block and check limits, random lengths, prefixes, alignments, counts,
 * and host elements with NaNs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <openssl/evp.h>

#include "audit/digest/digest.h"
#include "audit/digest/sha256.h"
#include "determinism/bits.h"

enum { ROOM = 1 << 18, MANY = 64 };

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

static void check(const rp_message *message, size_t count)
{
    bool odd[MANY];

    rp_sha256_many_native(message, count, odd);
    for (size_t i = 0; i < count; i++) {
        rp_digest expected;

        assert_false(odd[i]);
        oracle(&expected, &message[i]);
        if (memcmp(expected.bytes, message[i].digest->bytes, RP_DIGEST_SIZE) != 0)
            fail_msg("message %zu of %zu: %zu bytes at %zu, prefix %d", i, count, message[i].size,
                     (size_t)((const unsigned char *)message[i].bytes - memory), message[i].prefix);
    }
    assert_true(rp_sha256_many_openssl(message, count));
    assert_true(rp_sha256_many(message, count));
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(native_gives_the_published_answers),
        cmocka_unit_test(native_is_openssl_for_every_short_length_prefix_and_neighbour),
        cmocka_unit_test(native_is_openssl_for_random_lengths_and_counts),
        cmocka_unit_test(host_elements_give_the_digest_of_their_stored_form),
    };

    return cmocka_run_group_tests(tests, fill, NULL);
}
