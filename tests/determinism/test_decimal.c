/* SPDX-License-Identifier: Apache-2.0
 * Decimal parsing and printing against the C library in the C locale (random bit patterns, hard cases, very long
 * inputs), for shortness and nearness, and under a locale whose decimal point is a comma and a directed rounding mode.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <fenv.h>
#include <inttypes.h>
#include <locale.h>
#include <unistd.h>

#include "determinism/bits.h"
#include "base/text.h"
#include "determinism/decimal.h"
#include "determinism/philox.h"

enum { SAMPLES = 200000 };

static uint64_t random_u64(uint64_t i)
{
    return (uint64_t)rp_random_u32(2, 0, 9, 2 * i) << 32 | rp_random_u32(2, 0, 9, 2 * i + 1);
}

static void assert_parses_like_the_c_library(const char *text)
{
    double found64 = 0, expected64 = strtod(text, NULL);
    float found32 = 0, expected32 = strtof(text, NULL);

    if (!rp_parse_f64(&found64, text, strlen(text)) || rp_bits_f64(found64) != rp_bits_f64(expected64))
        fail_msg("%.100s: binary64 %a, expected %a", text, found64, expected64);
    if (!rp_parse_f32(&found32, text, strlen(text)) || rp_bits_f32(found32) != rp_bits_f32(expected32))
        fail_msg("%.100s: binary32 %a, expected %a", text, (double)found32, (double)expected32);
}

static void random_bit_patterns_parse_like_the_c_library(void **state)
{
    char text[64];

    (void)state;
    for (uint64_t i = 0; i < SAMPLES; i++) {
        uint64_t u = random_u64(i);
        double x = rp_from_bits_f64(u);
        float y = rp_from_bits_f32((uint32_t)u);

        if (x - x == 0) {
            snprintf(text, sizeof text, "%.*e", (int)(i % 21), x);
            assert_parses_like_the_c_library(text);
        }
        if (y - y == 0) {
            snprintf(text, sizeof text, "%.*e", (int)(i % 12), (double)y);
            assert_parses_like_the_c_library(text);
        }
    }
}

/* The kind of number tables hold: few digits, small exponents. Both integer paths and their seam. */
static void random_short_decimals_parse_like_the_c_library(void **state)
{
    char text[64];

    (void)state;
    for (uint64_t i = 0; i < SAMPLES; i++) {
        uint64_t u = random_u64(i);
        uint64_t digits = u >> (i % 64);
        int exponent = (int)(random_u64(i + SAMPLES) % 80) - 40;

        snprintf(text, sizeof text, "%" PRIu64 "e%d", digits, exponent);
        assert_parses_like_the_c_library(text);
        snprintf(text, sizeof text, "%" PRIu64 ".%06" PRIu64, digits % 100000, u % 1000000);
        assert_parses_like_the_c_library(text);
    }
}

/* Zeros in front make a text too long for the fast way, and change no value. Mantissas of all lengths, with all powers
 * of ten that the fast way knows and some beyond, and the odd multiples of half an ulp that are ties. */
static void the_fast_way_and_the_slow_way_agree(void **state)
{
    static const char zeros[] = "0000000000000000000000000000";
    char text[96];

    (void)state;
    for (uint64_t i = 0; i < 3 * SAMPLES; i++) {
        uint64_t u = random_u64(i), mantissa = u >> (i % 64);
        int power = (int)(random_u64(i + SAMPLES) % 160) - 80;
        double fast, slow;
        float fast32, slow32;

        if (i % 5 == 0) /* 54 and 25 bits: halfway between two of 53 and 24 */
            mantissa = (u >> (i % 2 ? 10 : 39)) | 1;
        if (mantissa > UINT64_C(9999999999999999999))
            mantissa /= 10;
        if (i % 5 == 0)
            power %= 11;
        snprintf(text, sizeof text, "%s%" PRIu64 "e%d", zeros, mantissa, power);
        assert_true(rp_parse_f64(&fast, text + strlen(zeros), strlen(text) - strlen(zeros)));
        assert_true(rp_parse_f64(&slow, text, strlen(text)));
        assert_true(rp_parse_f32(&fast32, text + strlen(zeros), strlen(text) - strlen(zeros)));
        assert_true(rp_parse_f32(&slow32, text, strlen(text)));
        if (rp_bits_f64(fast) != rp_bits_f64(slow) || rp_bits_f32(fast32) != rp_bits_f32(slow32))
            fail_msg("%s: binary64 %a and %a, binary32 %a and %a", text, fast, slow, (double)fast32, (double)slow32);
    }
}

static void places_are_counted_where_they_are_easily_said(void **state)
{
    static const struct {
        const char *text;
        int places;
    } example[] = {{"1", 0},     {"-1.50", 2},  {"5.", 0},  {".25", 2},
                   {"1.5e1", 0}, {"1.5e-3", 4}, {"1e3", 0}, {"0.000", 3}};
    double x;
    int places;

    (void)state;
    for (size_t i = 0; i < sizeof example / sizeof *example; i++) {
        assert_true(rp_parse_f64_places(&x, &places, example[i].text, strlen(example[i].text)));
        assert_true(places == example[i].places || places == -1);
    }
}

static void contract_examples_parse_to_their_bits(void **state)
{
    static const struct {
        const char *text;
        uint64_t bits64;
        uint32_t bits32;
    } example[] = {
        {"0.1", 0x3fb999999999999a, 0x3dcccccd},
        {"9007199254740993", 0x4340000000000000, 0x5a000000},
        {"9007199254740993.0000000001", 0x4340000000000001, 0x5a000000},
        {"2.2250738585072011e-308", 0x000fffffffffffff, 0},
        {"2.4703282292062327e-324", 0, 0},
        {"2.4703282292062328e-324", 1, 0},
        {"1.7976931348623158e308", 0x7fefffffffffffff, 0x7f800000},
        {"1.7976931348623159e308", 0x7ff0000000000000, 0x7f800000},
        {"7.006492321624086e-46", 0x3690000000000000, 1}, /* through binary64 it would be a tie, and zero */
        {"-0", 0x8000000000000000, 0x80000000},
    };

    (void)state;
    for (size_t i = 0; i < sizeof example / sizeof *example; i++) {
        double x = 3;
        float y = 3;

        assert_true(rp_parse_f64(&x, example[i].text, strlen(example[i].text)));
        assert_true(rp_parse_f32(&y, example[i].text, strlen(example[i].text)));
        assert_true(rp_bits_f64(x) == example[i].bits64);
        assert_int_equal(rp_bits_f32(y), example[i].bits32);
    }
}

/* Exactly between two neighbours, and one in the 40th digit to either side. */
static void halfway_values_round_to_even(void **state)
{
    char text[1300];

    (void)state;
    for (uint64_t i = 0; i < 3000; i++) {
        uint32_t u = (uint32_t)random_u64(i) & 0x7FFFFFFF;
        float y = rp_from_bits_f32(u % 0x7F7FFFFF), above = rp_from_bits_f32(u % 0x7F7FFFFF + 1);
        size_t length;

        snprintf(text, sizeof text, "%.160e", ((double)y + (double)above) / 2);
        assert_parses_like_the_c_library(text);
        length = (size_t)(strchr(text, 'e') - text);
        text[length - 40] = '1';
        assert_parses_like_the_c_library(text);
    }
}

static void hard_cases_parse_exactly(void **state)
{
    static const char *const text[] = {
        "0",
        "-0",
        "+0.0",
        "0e999999999999999999999",
        ".5",
        "5.",
        "1e+5",
        "1E-5",
        "00012",
        "0.000",
        "1e0",
        "9007199254740993",
        "9007199254740992.9999999999",
        "9007199254740993.0000000000000000000000001",
        "9007199254740991",
        "9007199254740995",
        "18446744073709551615",
        "18446744073709551616",
        "9999999999999999999",
        "99999999999999999999",
        "16777217",
        "16777219",
        "16777216.999999999",
        "33554435",
        "2.2250738585072011e-308",
        "2.2250738585072012e-308",
        "2.2250738585072014e-308",
        "4.9406564584124654e-324",
        "2.4703282292062327e-324",
        "2.4703282292062328e-324",
        "2.47032822920623272e-324",
        "1e-323",
        "1e-324",
        "1e-400",
        "2.470328229206232720882843964341106861825299013071623822127928412503377536351043e-324",
        "2.470328229206232720882843964341106861825299013071623822127928412503377536351044e-324",
        "1.7976931348623157e308",
        "1.7976931348623158e308",
        "1.7976931348623159e308",
        "1.8e308",
        "1e309",
        "1e400",
        "179769313486231580793728971405303415079934132710037826936173778980444968292764750946649017977587207096330286"
        "416692887910946555547851940402630657488671505820681908902000708383676273854845817711531764475730270069855571"
        "366959622842914819860834936475292719074168444365510704342711559699508093042880e0",
        "179769313486231580793728971405303415079934132710037826936173778980444968292764750946649017977587207096330286"
        "416692887910946555547851940402630657488671505820681908902000708383676273854845817711531764475730270069855571"
        "366959622842914819860834936475292719074168444365510704342711559699508093042879e0",
        "1.1754943508222875e-38",
        "1.1754942e-38",
        "1.17549431e-38",
        "1.4012984643248170e-45",
        "7.0064923216240853e-46",
        "7.0064923216240854e-46",
        "7.006492321624086e-46",
        "3.4028234663852886e38",
        "3.40282356779733661637e38",
        "3.40282356779733661638e38",
        "3.4028235677973367e38",
        "3.5e38",
        "1e-46",
        "8.41e21",
        "9.109e-31",
        "6.62607015e-34",
        "123456789012345678e-27",
        "123456789012345678e27",
        "1234567890123456789e-28",
        "1234567890123456789e28",
        "0.1",
        "0.2",
        "0.3",
        "1e22",
        "1e23",
        "-1e23",
        "3.14159265358979323846264338327950288",
        "-123.456",
        "10000000000000000000000000000000000000000e-40",
        "0.0000000000000000000000000000000000000001e40",
    };

    (void)state;
    for (size_t i = 0; i < sizeof text / sizeof *text; i++)
        assert_parses_like_the_c_library(text[i]);
}

/* odd * 2^-1075 written out in full: halfway between subnormals, with 767 digits in the last case, between the largest
 * subnormal and the smallest normal. One digit 3000 places on still decides. */
static void any_number_of_digits_is_rounded_correctly(void **state)
{
    static const double odd[] = {1, 3, 5, 0x1.fffffp20, 0x1.fffffffffffffp52};
    static char text[8192], tail[4096];

    (void)state;
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        int carry = 0;
        char *e;

        snprintf(text, sizeof text, "%.1074f", odd[i] * 0x1p-1074);
        e = text + strlen(text);
        /* Halving the decimal string is exact and needs one digit more. */
        for (char *p = text; p <= e; p++) {
            int d = (p == e ? 0 : *p - '0') + 10 * carry;

            if (*p == '.')
                continue;
            *p = (char)('0' + d / 2);
            carry = d % 2;
        }
        e[1] = '\0';
        assert_parses_like_the_c_library(text);
        memset(tail, '0', 3000);
        strcpy(tail + 3000, "1");
        memmove(e + 1, tail, 3002);
        assert_parses_like_the_c_library(text);
    }
    memset(text, '9', 5000);
    strcpy(text + 5000, "e-5000");
    assert_parses_like_the_c_library(text);
    memset(text, '0', 5000);
    memcpy(text, "1.", 2);
    strcpy(text + 5000, "e300");
    assert_parses_like_the_c_library(text);
    memset(text, '0', 5000);
    memcpy(text, "0.", 2);
    strcpy(text + 5000, "123e5000");
    assert_parses_like_the_c_library(text);
    memset(text, '0', 5000);
    text[0] = '7';
    strcpy(text + 5000, "e-5000");
    assert_parses_like_the_c_library(text);
}

static void what_is_not_a_number_is_refused(void **state)
{
    static const char *const text[] = {"",    " 1",       "1 ",    "+",    "-",     ".",   "e5",  ".e5",  "1e",
                                       "1e+", "--1",      "1.2.3", "0x10", "inf",   "nan", "1,5", "1e5.", "1e5x",
                                       "1f",  "INFINITY", "1_0",   "+-1",  "1e--5", "\t1", "1\n", "١"};
    double x = 3;
    float y = 3;
    int64_t n = 3;

    (void)state;
    for (size_t i = 0; i < sizeof text / sizeof *text; i++) {
        assert_false(rp_parse_f64(&x, text[i], strlen(text[i])));
        assert_false(rp_parse_f32(&y, text[i], strlen(text[i])));
        assert_false(rp_parse_i64(&n, text[i], strlen(text[i])));
    }
    assert_false(rp_parse_f64(&x, "1\0", 2));
    assert_true(x == 3 && y == 3 && n == 3);
    assert_true(rp_parse_f64(&x, "12345", 2));
    assert_true(x == 12);
}

static void integers_parse_to_their_limits(void **state)
{
    static const struct {
        const char *text;
        int64_t value;
        bool good;
    } example[] = {
        {"0", 0, true},
        {"-0", 0, true},
        {"+7", 7, true},
        {"9223372036854775807", INT64_MAX, true},
        {"-9223372036854775808", INT64_MIN, true},
        {"9223372036854775808", 0, false},
        {"-9223372036854775809", 0, false},
        {"99999999999999999999", 0, false},
        {"18446744073709551616", 0, false},
        {"000000000000000000000000012", 12, true},
        {"1.0", 0, false},
        {"1e3", 0, false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof example / sizeof *example; i++) {
        int64_t value = 0;

        assert_int_equal(rp_parse_i64(&value, example[i].text, strlen(example[i].text)), example[i].good);
        assert_true(value == example[i].value);
    }
}

/* Digits and decimal exponent of printed text or of printf's %e: value = 0.digits * 10^point. */
static int take_digits(char digits[64], const char *text)
{
    int count = 0, point = 0, dot = 0;

    for (; *text && *text != 'e'; text++) {
        if (*text == '-')
            continue;
        if (*text == '.') {
            dot = 1;
            continue;
        }
        if (count == 0 && *text == '0') {
            point -= dot;
            continue;
        }
        digits[count++] = *text;
        point += !dot;
    }
    if (*text == 'e')
        point += atoi(text + 1);
    while (count > 1 && digits[count - 1] == '0')
        count--;
    digits[count] = '\0';
    return point;
}

static bool reads_back(const char *text, double x, bool single)
{
    return single ? strtof(text, NULL) == (float)x : strtod(text, NULL) == x;
}

/* No decimal of one digit less reads back: those next to x are the nearest one and its two neighbours. */
static void assert_no_shorter_reads_back(double x, int count, bool single)
{
    char text[64], digits[64], other[64];
    int point;

    if (count < 2)
        return;
    snprintf(text, sizeof text, "%.*e", count - 2, x < 0 ? -x : x);
    point = take_digits(digits, text);
    while ((int)strlen(digits) < count - 1)
        strcat(digits, "0");
    for (int step = -1; step <= 1; step++) {
        snprintf(other, sizeof other, "%" PRIu64 "e%d", (uint64_t)strtoull(digits, NULL, 10) + (uint64_t)step,
                 point - (count - 1));
        if (reads_back(other, x < 0 ? -x : x, single))
            fail_msg("%a: %s is shorter", x, other);
    }
}

static void assert_prints_shortest(double x, bool single)
{
    char text[RP_DECIMAL_SIZE], nearest[64], digits[64], nearest_digits[64];
    size_t length = single ? rp_print_f32(text, (float)x) : rp_print_f64(text, x);
    int count;

    if (length != strlen(text) || length >= RP_DECIMAL_SIZE)
        fail_msg("%a: length %zu of \"%s\"", x, length, text);
    if (!reads_back(text, x, single))
        fail_msg("%a: %s does not read back", x, text);
    take_digits(digits, text);
    count = (int)strlen(digits);
    snprintf(nearest, sizeof nearest, "%.*e", count - 1, x);
    take_digits(nearest_digits, nearest);
    if (reads_back(nearest, x, single) && strcmp(digits, nearest_digits) != 0)
        fail_msg("%a: printed %s, but %s is nearer", x, text, nearest);
    assert_no_shorter_reads_back(x, count, single);
}

static void random_bit_patterns_print_shortest_and_nearest(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < SAMPLES / 4; i++) {
        uint64_t u = random_u64(i);
        double x = rp_from_bits_f64(u);
        float y = rp_from_bits_f32((uint32_t)u);

        if (x - x == 0 && x != 0)
            assert_prints_shortest(x, false);
        if (y - y == 0 && y != 0)
            assert_prints_shortest((double)y, true);
    }
}

/* The gap below a power of two is half the gap above it. */
static void powers_of_two_and_their_neighbours_print_shortest(void **state)
{
    (void)state;
    for (uint64_t biased = 1; biased < 0x7FF; biased++)
        for (int step = -1; step <= 1; step++)
            assert_prints_shortest(rp_from_bits_f64((biased << 52) + (uint64_t)step), false);
    for (uint32_t biased = 1; biased < 0xFF; biased++)
        for (int step = -1; step <= 1; step++)
            assert_prints_shortest((double)rp_from_bits_f32((biased << 23) + (uint32_t)step), true);
    for (uint64_t low = 1; low < 1000; low++) {
        assert_prints_shortest(rp_from_bits_f64(low), false);
        assert_prints_shortest((double)rp_from_bits_f32((uint32_t)low), true);
    }
}

static void assert_prints(double x, const char *expected)
{
    char text[RP_DECIMAL_SIZE];

    rp_print_f64(text, x);
    assert_string_equal(text, expected);
}

static void assert_prints32(uint32_t bits, const char *expected)
{
    char text[RP_DECIMAL_SIZE];

    rp_print_f32(text, rp_from_bits_f32(bits));
    assert_string_equal(text, expected);
}

static void numbers_are_written_like_ecmascript(void **state)
{
    (void)state;
    assert_prints(0.0, "0");
    assert_prints(-0.0, "-0");
    assert_prints(1, "1");
    assert_prints(-123, "-123");
    assert_prints(0.001, "0.001");
    assert_prints(0.000001, "0.000001");
    assert_prints(0.0000001, "1e-7");
    assert_prints(-1.5e-7, "-1.5e-7");
    assert_prints(123456.789, "123456.789");
    assert_prints(1e20, "100000000000000000000");
    assert_prints(123456789012345680000.0, "123456789012345680000");
    assert_prints(1e21, "1e+21");
    assert_prints(1.25e21, "1.25e+21");
    assert_prints(1e23, "1e+23");
    assert_prints(0x1p53, "9007199254740992");
    assert_prints(5e-324, "5e-324");
    assert_prints(0x1.fffffffffffffp1023, "1.7976931348623157e+308");
    assert_prints(2.2250738585072014e-308, "2.2250738585072014e-308");
    assert_prints(0x1p-44, "5.684341886080802e-14");
    assert_prints(0x1p-1017, "7.120236347223045e-307");
    assert_prints(0.1 + 0.2, "0.30000000000000004");
    assert_prints(rp_from_bits_f64(0x7FF0000000000000), "inf");
    assert_prints(rp_from_bits_f64(0xFFF0000000000000), "-inf");
    assert_prints(rp_from_bits_f64(0xFFF8000000000001), "nan");
    assert_prints32(0x3DCCCCCD, "0.1");
    assert_prints32(0x4B800000, "16777216");
    assert_prints32(0x7F7FFFFF, "3.4028235e+38");
    assert_prints32(0x00000001, "1e-45");
    assert_prints32(0x00800000, "1.1754944e-38");
    assert_prints32(0x80000000, "-0");
    assert_prints32(0xFF800000, "-inf");
    assert_prints32(0x7FC00000, "nan");
}

static bool use_comma_locale(void)
{
    static const char *const name[] = {"de_DE.UTF-8", "de_DE.utf8", "de_DE", "fr_FR.UTF-8", "nl_NL.UTF-8"};
    char directory[] = "/tmp/rp-locale-XXXXXX", command[128];
    bool set;

    for (size_t i = 0; i < sizeof name / sizeof *name; i++)
        if (setlocale(LC_ALL, name[i]) && localeconv()->decimal_point[0] == ',')
            return true;
    /* None installed: have one made where the system brings the sources. */
    if (!mkdtemp(directory))
        return false;
    snprintf(command, sizeof command, "localedef -i de_DE -f UTF-8 %s/de_DE.UTF-8 >/dev/null 2>&1", directory);
    set = system(command) != -1 && setenv("LOCPATH", directory, 1) == 0 && setlocale(LC_ALL, "de_DE.UTF-8") &&
          localeconv()->decimal_point[0] == ',';
    snprintf(command, sizeof command, "rm -rf %s", directory);
    return system(command) == 0 && set;
}

static void a_comma_locale_changes_nothing(void **state)
{
    char text[RP_DECIMAL_SIZE];
    double x = 0;
    float y = 0;

    (void)state;
    if (!use_comma_locale()) {
        print_message("SKIPPED: no locale with a decimal comma, and localedef could not make one\n");
        skip();
    }
    snprintf(text, sizeof text, "%.1f", 1.5);
    assert_string_equal(text, "1,5"); /* the locale is really in force */
    rp_print_f64(text, 1234.5);
    assert_string_equal(text, "1234.5");
    rp_print_f32(text, 1234.5f);
    assert_string_equal(text, "1234.5");
    assert_true(rp_parse_f64(&x, "1234.5", 6) && x == 1234.5);
    assert_true(rp_parse_f32(&y, "1234.5", 6) && y == 1234.5f);
    assert_false(rp_parse_f64(&x, "1234,5", 6));
}

static int back_to_c_locale(void **state)
{
    (void)state;
    setlocale(LC_ALL, "C");
    return 0;
}

static int round_to_nearest(void **state)
{
    (void)state;
    return fesetround(FE_TONEAREST);
}

static void a_directed_rounding_mode_changes_nothing(void **state)
{
    static const char *const text[] = {"0.1", "0.3", "123.456", "1e23", "3.3e-20"};
    double x = 0;

    (void)state;
    for (size_t i = 0; i < sizeof text / sizeof *text; i++) {
        char printed[RP_DECIMAL_SIZE];
        uint64_t expected = rp_bits_f64(strtod(text[i], NULL));

        fesetround(FE_UPWARD);
        assert_true(rp_parse_f64(&x, text[i], strlen(text[i])));
        rp_print_f64(printed, x);
        fesetround(FE_TONEAREST);
        assert_true(rp_bits_f64(x) == expected);
        assert_true(rp_bits_f64(strtod(printed, NULL)) == expected);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_bit_patterns_parse_like_the_c_library),
        cmocka_unit_test(random_short_decimals_parse_like_the_c_library),
        cmocka_unit_test(the_fast_way_and_the_slow_way_agree),
        cmocka_unit_test(places_are_counted_where_they_are_easily_said),
        cmocka_unit_test(contract_examples_parse_to_their_bits),
        cmocka_unit_test(halfway_values_round_to_even),
        cmocka_unit_test(hard_cases_parse_exactly),
        cmocka_unit_test(any_number_of_digits_is_rounded_correctly),
        cmocka_unit_test(what_is_not_a_number_is_refused),
        cmocka_unit_test(integers_parse_to_their_limits),
        cmocka_unit_test(random_bit_patterns_print_shortest_and_nearest),
        cmocka_unit_test(powers_of_two_and_their_neighbours_print_shortest),
        cmocka_unit_test(numbers_are_written_like_ecmascript),
        cmocka_unit_test_teardown(a_comma_locale_changes_nothing, back_to_c_locale),
        cmocka_unit_test_teardown(a_directed_rounding_mode_changes_nothing, round_to_nearest),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
