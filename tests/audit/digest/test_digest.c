/* SPDX-License-Identifier: Apache-2.0
 * SHA-256 against published answers; Merkle roots against the recursive definition of RFC 6962; tensor and list digests
 * against the bytes FORMAT.md says they hash. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "audit/digest/digest.h"
#include "base/buffer.h"
#include "determinism/bits.h"

static rp_error err;

static void assert_digest(const rp_digest *found, const char *expected)
{
    char hex[RP_DIGEST_HEX];

    rp_digest_hex(hex, found);
    assert_string_equal(hex, expected);
}

static void assert_same(const rp_digest *a, const rp_digest *b)
{
    assert_memory_equal(a->bytes, b->bytes, RP_DIGEST_SIZE);
}

static void sha256_gives_the_published_answers(void **state)
{
    rp_digest digest;
    rp_sha256_stream *stream;

    (void)state;
    assert_int_equal(rp_sha256(&digest, "abc", 3, &err), RP_OK);
    assert_digest(&digest, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    assert_int_equal(rp_sha256(&digest, NULL, 0, &err), RP_OK);
    assert_digest(&digest, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    assert_int_equal(rp_sha256_stream_new(&stream, &err), RP_OK);
    for (int round = 0; round < 2; round++) { /* a stream can be used again */
        rp_sha256_stream_update(stream, "a", 1);
        rp_sha256_stream_update(stream, "", 0);
        rp_sha256_stream_update(stream, "bc", 2);
        assert_int_equal(rp_sha256_stream_finish(stream, &digest, &err), RP_OK);
        assert_digest(&digest, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }
    rp_sha256_stream_free(stream);
}

/* RFC 6962, 2.1: split at the largest power of two below n. */
static rp_digest recursive_root(const rp_digest *leaves, size_t n)
{
    unsigned char node[1 + 2 * RP_DIGEST_SIZE] = {1};
    size_t k = 1;
    rp_digest left, right, out;

    if (n == 1)
        return leaves[0];
    while (2 * k < n)
        k *= 2;
    left = recursive_root(leaves, k);
    right = recursive_root(leaves + k, n - k);
    memcpy(node + 1, left.bytes, RP_DIGEST_SIZE);
    memcpy(node + 1 + RP_DIGEST_SIZE, right.bytes, RP_DIGEST_SIZE);
    assert_int_equal(rp_sha256(&out, node, sizeof node, &err), RP_OK);
    return out;
}

static rp_digest leaf(const unsigned char *bytes, size_t size)
{
    unsigned char *text = malloc(size + 1);
    rp_digest out;

    assert_non_null(text);
    text[0] = 0;
    if (size > 0)
        memcpy(text + 1, bytes, size);
    assert_int_equal(rp_sha256(&out, text, size + 1, &err), RP_OK);
    free(text);
    return out;
}

static void records_root_is_the_recursive_tree_for_every_count(void **state)
{
    enum { SIZE = 5, MOST = 70 };
    unsigned char records[SIZE * MOST];
    rp_digest leaves[MOST], found, empty = leaf(NULL, 0);

    (void)state;
    for (size_t i = 0; i < sizeof records; i++)
        records[i] = (unsigned char)(i * 7);
    for (size_t i = 0; i < MOST; i++)
        leaves[i] = leaf(records + SIZE * i, SIZE);
    assert_int_equal(rp_merkle_records(&found, records, SIZE, 0, &err), RP_OK);
    assert_same(&found, &empty);
    for (size_t n = 1; n <= MOST; n++) {
        rp_digest expected = recursive_root(leaves, n);
        assert_int_equal(rp_merkle_records(&found, records, SIZE, n, &err), RP_OK);
        assert_same(&found, &expected);
    }
    assert_int_equal(rp_merkle_records(&found, records, 0, 1, &err), RP_EARG);
}

static void root_is_the_same_for_every_number_of_threads(void **state)
{
    enum { MOST = 131 * RP_TENSOR_LEAF };
    static const size_t sizes[] = {0,
                                   1,
                                   RP_TENSOR_LEAF - 1,
                                   RP_TENSOR_LEAF,
                                   RP_TENSOR_LEAF + 1,
                                   5 * RP_TENSOR_LEAF + 17,
                                   40 * RP_TENSOR_LEAF,
                                   63 * RP_TENSOR_LEAF + 17,
                                   64 * RP_TENSOR_LEAF + 1,
                                   100 * RP_TENSOR_LEAF,
                                   MOST};
    static const unsigned threads[] = {1, 2, 3, 7};
    unsigned char *bytes = malloc(MOST);

    (void)state;
    assert_non_null(bytes);
    for (size_t i = 0; i < MOST; i++)
        bytes[i] = (unsigned char)(i * i >> 3 ^ i / RP_TENSOR_LEAF);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        rp_digest leaves[MOST / RP_TENSOR_LEAF], expected, found;
        size_t count = 0;
        for (size_t at = 0; at < sizes[s] || count == 0; at += RP_TENSOR_LEAF)
            leaves[count++] = leaf(bytes + at, sizes[s] - at < RP_TENSOR_LEAF ? sizes[s] - at : RP_TENSOR_LEAF);
        expected = recursive_root(leaves, count);
        assert_int_equal(rp_merkle_root(&found, bytes, sizes[s], NULL, &err), RP_OK);
        assert_same(&found, &expected);
        for (size_t t = 0; t < sizeof threads / sizeof *threads; t++) {
            rp_pool *pool;
            assert_int_equal(rp_pool_new(&pool, threads[t], NULL, &err), RP_OK);
            assert_int_equal(rp_merkle_root(&found, bytes, sizes[s], pool, &err), RP_OK);
            assert_same(&found, &expected);
            rp_pool_free(pool);
        }
    }
    free(bytes);
}

static void tensor_digest_hashes_what_the_format_says(void **state)
{
    const size_t shape[] = {2, 3};
    const unsigned char stored[24] = {0, 0, 128, 63, 9};
    rp_buffer text = {0};
    rp_digest root = leaf(stored, sizeof stored), expected, found;

    (void)state;
    rp_buffer_u8(&text, 2);
    rp_buffer_u8(&text, RP_F32);
    rp_buffer_u8(&text, 2);
    rp_buffer_u64(&text, 2);
    rp_buffer_u64(&text, 3);
    rp_buffer_append(&text, root.bytes, RP_DIGEST_SIZE);
    assert_int_equal(rp_sha256(&expected, text.data, text.size, &err), RP_OK);
    assert_int_equal(rp_tensor_digest(&found, RP_F32, 2, shape, stored, NULL, &err), RP_OK);
    assert_same(&found, &expected);
    rp_buffer_free(&text);
}

static void tensor_digest_tells_dtype_and_shape_apart(void **state)
{
    const size_t shape[][2] = {{2, 3}, {3, 2}, {6, 1}};
    const unsigned char stored[48] = {1};
    rp_digest found[6];

    (void)state;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(rp_tensor_digest(&found[i], RP_F32, 2, shape[i], stored, NULL, &err), RP_OK);
        assert_int_equal(rp_tensor_digest(&found[3 + i], RP_I32, 2, shape[i], stored, NULL, &err), RP_OK);
    }
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < i; j++)
            assert_false(rp_digest_equal(&found[i], &found[j]));
}

static void host_digest_equals_stored_digest_for_every_dtype(void **state)
{
    enum { COUNT = 300000 }; /* more than one chunk of f32, so that chunks and blocks are crossed */
    const size_t shape[] = {COUNT};
    unsigned char *host = malloc(8 * COUNT), *stored = malloc(8 * COUNT);

    (void)state;
    assert_true(host != NULL && stored != NULL);
    for (int dtype = 0; dtype < RP_DTYPE_COUNT; dtype++) {
        for (int odd = 0; odd < 2; odd++) { /* odd: NaNs of all kinds, bools above 1 */
            rp_digest a, b;
            for (size_t i = 0; i < 8 * COUNT; i++)
                host[i] = odd ? (unsigned char)((i * 2654435761u >> 11) | (i % 8 > 1 && i / 8 % 5 == 0 ? 0x7f : 0))
                              : (unsigned char)(i * 31 % 2);
            rp_to_stored(stored, host, (rp_dtype)dtype, COUNT);
            assert_int_equal(rp_tensor_digest(&a, (rp_dtype)dtype, 1, shape, stored, NULL, &err), RP_OK);
            assert_int_equal(rp_tensor_digest_host(&b, (rp_dtype)dtype, 1, shape, host, NULL, &err), RP_OK);
            assert_same(&a, &b);
        }
    }
    free(host);
    free(stored);
}

static void one_nan_hashes_like_any_other(void **state)
{
    static const uint32_t nans[] = {0x7fc00000, 0xffc00000, 0x7f800001, 0xffffffff};
    rp_digest first, found;

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        float x;
        memcpy(&x, &nans[i], sizeof x);
        assert_int_equal(rp_tensor_digest_host(&found, RP_F32, 0, NULL, &x, NULL, &err), RP_OK);
        if (i == 0)
            first = found;
        assert_same(&found, &first);
    }
    for (uint32_t u = 0; u < 0x10000; u++) { /* every bf16 */
        const uint16_t x = (uint16_t)u;
        rp_digest canonical;
        unsigned char stored[2];

        rp_to_stored(stored, &x, RP_BF16, 1);
        assert_int_equal(rp_tensor_digest(&canonical, RP_BF16, 0, NULL, stored, NULL, &err), RP_OK);
        assert_int_equal(rp_tensor_digest_host(&found, RP_BF16, 0, NULL, &x, NULL, &err), RP_OK);
        assert_same(&found, &canonical);
    }
}

static void impossible_tensors_are_refused(void **state)
{
    const size_t huge[] = {SIZE_MAX / 2, 3}, empty[] = {0, 5};
    rp_digest found;

    (void)state;
    assert_int_equal(rp_tensor_digest(&found, RP_F32, 2, huge, "", NULL, &err), RP_ESHAPE);
    assert_int_equal(rp_tensor_digest(&found, RP_DTYPE_COUNT, 0, NULL, "", NULL, &err), RP_ESHAPE);
    assert_int_equal(rp_tensor_digest(&found, RP_F32, RP_MAX_RANK + 1, huge, "", NULL, &err), RP_ESHAPE);
    assert_int_equal(rp_tensor_digest(&found, RP_F32, 2, empty, NULL, NULL, &err), RP_OK);
}

static void named_list_is_sorted_and_exact(void **state)
{
    rp_named_digest list[3] = {{"b", {{1}}}, {"aa", {{2}}}, {"a", {{3}}}};
    rp_buffer text = {0};
    rp_digest expected, found;

    (void)state;
    rp_buffer_append(&text, "\3\3\0\0\0", 5);
    for (int i = 2; i >= 0; i--) {
        rp_buffer_u16(&text, (uint16_t)strlen(list[i].name));
        rp_buffer_text(&text, list[i].name);
        rp_buffer_append(&text, list[i].digest.bytes, RP_DIGEST_SIZE);
    }
    assert_int_equal(rp_sha256(&expected, text.data, text.size, &err), RP_OK);
    assert_int_equal(rp_named_list_digest(&found, list, 3, &err), RP_OK);
    assert_same(&found, &expected);
    list[1].name = "b";
    assert_int_equal(rp_named_list_digest(&found, list, 3, &err), RP_EARG);
    list[1].name = "";
    assert_int_equal(rp_named_list_digest(&found, list, 3, &err), RP_EARG);
    assert_int_equal(rp_named_list_digest(&found, NULL, 0, &err), RP_OK);
    rp_buffer_free(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sha256_gives_the_published_answers),
        cmocka_unit_test(records_root_is_the_recursive_tree_for_every_count),
        cmocka_unit_test(root_is_the_same_for_every_number_of_threads),
        cmocka_unit_test(tensor_digest_hashes_what_the_format_says),
        cmocka_unit_test(tensor_digest_tells_dtype_and_shape_apart),
        cmocka_unit_test(host_digest_equals_stored_digest_for_every_dtype),
        cmocka_unit_test(one_nan_hashes_like_any_other),
        cmocka_unit_test(impossible_tensors_are_refused),
        cmocka_unit_test(named_list_is_sorted_and_exact),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
