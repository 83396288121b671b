/* SPDX-License-Identifier: Apache-2.0
 * Stored form, canonical NaN, distances and descriptions of elements; and the version pins. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "determinism/bits.h"
#include "determinism/pins.h"

static void stored_bytes_are_little_endian_for_every_dtype(void **state)
{
    const float f32 = rp_from_bits_f32(0x3F810203);
    const double f64 = rp_from_bits_f64(0x3FF1020304050607);
    const int32_t i32 = -0x01020304;
    const int64_t i64 = 0x0102030405060708;
    const uint16_t bf16 = 0x3F81;
    const unsigned char truth[3] = {0, 1, 7};
    unsigned char stored[8];

    (void)state;
    rp_to_stored(stored, &f32, RP_F32, 1);
    assert_memory_equal(stored, "\x03\x02\x81\x3F", 4);
    rp_to_stored(stored, &f64, RP_F64, 1);
    assert_memory_equal(stored, "\x07\x06\x05\x04\x03\x02\xF1\x3F", 8);
    rp_to_stored(stored, &i32, RP_I32, 1);
    assert_memory_equal(stored, "\xFC\xFC\xFD\xFE", 4);
    rp_to_stored(stored, &i64, RP_I64, 1);
    assert_memory_equal(stored, "\x08\x07\x06\x05\x04\x03\x02\x01", 8);
    rp_to_stored(stored, truth, RP_BOOL, 3);
    assert_memory_equal(stored, "\0\1\1", 3);
    rp_to_stored(stored, &bf16, RP_BF16, 1);
    assert_memory_equal(stored, "\x81\x3F", 2);
}

static void every_nan_is_stored_as_the_canonical_one(void **state)
{
    static const uint32_t nan32[] = {0x7FC00000, 0xFFC00000, 0x7F800001, 0xFF800001, 0x7FFFFFFF, 0xFFFFFFFF};
    static const uint64_t nan64[] = {0x7FF8000000000000, 0xFFF8000000000000, 0x7FF0000000000001, UINT64_MAX};
    static const uint32_t other32[] = {0x7F800000, 0xFF800000, 0x80000000, 0, 0x7F7FFFFF, 1};
    unsigned char stored[8];

    (void)state;
    for (size_t i = 0; i < sizeof nan32 / sizeof *nan32; i++) {
        rp_to_stored(stored, &nan32[i], RP_F32, 1);
        assert_memory_equal(stored, "\0\0\xC0\x7F", 4);
        assert_int_equal(rp_bits_f32(rp_canonical_f32(rp_from_bits_f32(nan32[i]))), 0x7FC00000);
    }
    for (size_t i = 0; i < sizeof nan64 / sizeof *nan64; i++) {
        rp_to_stored(stored, &nan64[i], RP_F64, 1);
        assert_memory_equal(stored, "\0\0\0\0\0\0\xF8\x7F", 8);
    }
    for (uint32_t i = 0; i < 0x10000; i++) {
        const uint16_t host = (uint16_t)i, want = (i & 0x7FFF) > 0x7F80 ? 0x7FC0 : host;
        uint16_t back;

        rp_to_stored(stored, &host, RP_BF16, 1);
        rp_to_host(&back, stored, RP_BF16, 1);
        assert_int_equal(back, want);
    }
    for (size_t i = 0; i < sizeof other32 / sizeof *other32; i++) {
        uint32_t back;

        rp_to_stored(stored, &other32[i], RP_F32, 1);
        rp_to_host(&back, stored, RP_F32, 1);
        assert_int_equal(back, other32[i]);
    }
}

static void stored_form_reads_back_at_any_alignment(void **state)
{
    static const int64_t host[3] = {INT64_MIN, -1, INT64_MAX};
    unsigned char stored[3 * 8 + 1];
    int64_t back[3];

    (void)state;
    rp_to_stored(stored + 1, host, RP_I64, 3);
    rp_to_host(back, stored + 1, RP_I64, 3);
    assert_memory_equal(back, host, sizeof host);
    rp_to_host(back, "\0\1\xFF", RP_BOOL, 3);
    assert_memory_equal(back, "\0\1\1", 3);
}

static uint64_t ulps32(uint32_t a, uint32_t b)
{
    uint64_t there = rp_ulps(&a, &b, RP_F32);

    assert_true(there == rp_ulps(&b, &a, RP_F32));
    return there;
}

static uint64_t ulps64(uint64_t a, uint64_t b)
{
    uint64_t there = rp_ulps(&a, &b, RP_F64);

    assert_true(there == rp_ulps(&b, &a, RP_F64));
    return there;
}

static void ulps_count_steps_on_the_ordered_line(void **state)
{
    const int32_t least = INT32_MIN, most = INT32_MAX;
    const int64_t least64 = INT64_MIN, most64 = INT64_MAX;

    (void)state;
    assert_int_equal(ulps32(0x3F800000, 0x3F800000), 0);
    assert_int_equal(ulps32(0x3F800000, 0x3F7FFFFF), 1);
    assert_int_equal(ulps32(0x00000000, 0x80000000), 1);
    assert_int_equal(ulps32(0x00000001, 0x80000001), 3);
    assert_int_equal(ulps32(0x7F800000, 0x7F7FFFFF), 1);
    assert_true(ulps32(0x7F800000, 0xFF800000) == 0xFF000001);
    assert_true(ulps32(0x7FC00000, 0x3F800000) == UINT64_MAX);
    assert_int_equal(ulps32(0x7FC00000, 0xFFC12345), 0);
    assert_int_equal(ulps64(0x3FF0000000000000, 0x3FF0000000000005), 5);
    assert_true(ulps64(0x7FF0000000000000, 0xFFF0000000000000) == 0xFFE0000000000001);
    assert_true(ulps64(0x7FF8000000000000, 0) == UINT64_MAX);
    assert_true(rp_ulps(&least, &most, RP_I32) == UINT32_MAX);
    assert_true(rp_ulps(&least64, &most64, RP_I64) == UINT64_MAX);
    assert_int_equal(rp_ulps("\0", "\1", RP_BOOL), 1);
}

static void first_difference_is_found_at_every_place(void **state)
{
    enum { N = 2600 };
    static float a[N], b[N];

    (void)state;
    assert_int_equal(rp_first_difference(a, b, RP_F32, N), N);
    assert_int_equal(rp_first_difference(a, b, RP_F32, 0), 0);
    for (size_t at = 0; at < N; at += 13) {
        b[at] = -0.0f;
        b[N - 1] = 1;
        assert_int_equal(rp_first_difference(a, b, RP_F32, N), at);
        assert_int_equal(rp_first_difference(a, b, RP_F32, at), at);
        b[at] = b[N - 1] = 0;
    }
}

static void elements_are_described_in_hex_and_shortest_decimal(void **state)
{
    static const struct {
        rp_dtype dtype;
        uint64_t bits;
        const char *text;
    } example[] = {
        {RP_F32, 0x3F800000, "0x3f800000 (1)"},
        {RP_F32, 0x3DCCCCCD, "0x3dcccccd (0.1)"},
        {RP_F32, 0x80000000, "0x80000000 (-0)"},
        {RP_F32, 0xFFC00001, "0x7fc00000 (nan)"},
        {RP_F64, 0xFFEFFFFFFFFFFFFF, "0xffefffffffffffff (-1.7976931348623157e+308)"},
        {RP_F64, 0x8010000000000000, "0x8010000000000000 (-2.2250738585072014e-308)"},
        {RP_I32, 0x80000000, "0x80000000 (-2147483648)"},
        {RP_I64, 0x8000000000000000, "0x8000000000000000 (-9223372036854775808)"},
        {RP_BOOL, 1, "0x01 (true)"},
        {RP_BOOL, 0, "0x00 (false)"},
    };
    char text[64];

    (void)state;
    for (size_t i = 0; i < sizeof example / sizeof *example; i++) {
        unsigned char host[8], stored[8];

        for (int byte = 0; byte < 8; byte++)
            stored[byte] = (unsigned char)(example[i].bits >> 8 * byte);
        rp_to_host(host, stored, example[i].dtype, 1);
        rp_describe_element(text, sizeof text, host, example[i].dtype);
        assert_string_equal(text, example[i].text);
    }
}

static void pins_name_every_library_and_they_match_the_build(void **state)
{
    static const char *const name[] = {"OpenSSL", "libarchive", "libyaml", "compiler"};
    size_t count;
    const rp_pin *pin = rp_pins(&count);

    (void)state;
    assert_int_equal(count, sizeof name / sizeof *name);
    for (size_t i = 0; i < count; i++) {
        assert_string_equal(pin[i].name, name[i]);
        assert_true(pin[i].built[0] && pin[i].loaded[0]);
        assert_int_equal(pin[i].match, strcmp(pin[i].built, pin[i].loaded) == 0);
        if (!pin[i].match)
            print_message("%s: built against %s, loaded %s\n", pin[i].name, pin[i].built, pin[i].loaded);
        assert_string_not_equal(pin[i].built, "unknown");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stored_bytes_are_little_endian_for_every_dtype),
        cmocka_unit_test(every_nan_is_stored_as_the_canonical_one),
        cmocka_unit_test(stored_form_reads_back_at_any_alignment),
        cmocka_unit_test(ulps_count_steps_on_the_ordered_line),
        cmocka_unit_test(first_difference_is_found_at_every_place),
        cmocka_unit_test(elements_are_described_in_hex_and_shortest_decimal),
        cmocka_unit_test(pins_name_every_library_and_they_match_the_build),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
