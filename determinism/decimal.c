/* SPDX-License-Identifier: Apache-2.0
 * Decimal to binary and back in integer arithmetic only: no locale, no libm, and no floating-point operation, so the
 * result does not depend on the floating-point environment either. Rules: CONTRACT 9, decimals.
 * Shortest digits after Steele and White, "How to print floating-point numbers accurately" (PLDI 1990). */
#include "determinism/decimal.h"

#include <string.h>

#include "determinism/bits.h"
#include "determinism/natural.h"
#include "determinism/tables/powers_of_five.h"

/* A halfway point between two binary64 values has at most 767 significant digits. Of a longer input only the first
 * DIGITS matter, and whether anything nonzero follows: that is kept as one further digit 1. */
enum { DIGITS = 800 };
/* A value 0.d1d2... * 10^point beyond these is infinity or zero in binary64, hence in binary32 too. */
enum { POINT_MAX = 310, POINT_MIN = -330 };

typedef struct format {
    int precision;    /* significand bits with the hidden one */
    int exponent_min; /* of the smallest normal 2^exponent_min */
    int exponent_max; /* of the largest finite, 1.x * 2^exponent_max */
} format;

static const format binary32 = {24, -126, 127};
static const format binary64 = {53, -1022, 1023};

/* ---- text to binary ---- */

typedef struct decimal {
    bool negative;
    int count;     /* significant digits kept: no leading zeros, at most DIGITS + 1 */
    int64_t point; /* value = 0.d1d2...dcount * 10^point */
    unsigned char digit[DIGITS + 1];
} decimal;

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Exponents saturate far beyond what any text that fits in memory could bring back into range. */
static bool scan_exponent(int64_t *out, const char *text, size_t length)
{
    const int64_t limit = 100000000000000000;
    size_t at = 0;
    bool negative = false;
    int64_t value = 0;

    if (at < length && (text[at] == '+' || text[at] == '-'))
        negative = text[at++] == '-';
    if (at == length)
        return false;
    for (; at < length; at++) {
        if (!is_digit(text[at]))
            return false;
        if (value < limit)
            value = value * 10 + (text[at] - '0');
    }
    *out = negative ? -value : value;
    return true;
}

static bool scan(decimal *d, const char *text, size_t length)
{
    size_t at = 0;
    bool any = false, dot = false, sticky = false;
    int64_t exponent = 0;

    d->negative = false;
    d->count = 0;
    d->point = 0;
    if (at < length && (text[at] == '+' || text[at] == '-'))
        d->negative = text[at++] == '-';
    for (; at < length; at++) {
        if (text[at] == '.' && !dot) {
            dot = true;
            continue;
        }
        if (!is_digit(text[at]))
            break;
        any = true;
        if (d->count == 0 && text[at] == '0') {
            d->point -= dot; /* a leading zero counts only behind the point */
            continue;
        }
        d->point += !dot;
        if (d->count < DIGITS)
            d->digit[d->count++] = (unsigned char)(text[at] - '0');
        else
            sticky |= text[at] != '0';
    }
    if (!any)
        return false;
    if (at < length && (text[at] == 'e' || text[at] == 'E')) {
        if (!scan_exponent(&exponent, text + at + 1, length - at - 1))
            return false;
        at = length;
    }
    d->point += exponent;
    while (d->count > 0 && !sticky && d->digit[d->count - 1] == 0)
        d->count--;
    if (sticky)
        d->digit[d->count++] = 1;
    return at == length;
}

/* Rounds significand * 2^exponent (bit 63 set, so the value is in [2^(exponent + 63), 2^(exponent + 64)), plus less
 * than one unit when sticky) to nearest even; returns the magnitude's encoding. */
static uint64_t round_to(const format *f, uint64_t significand, int exponent, bool sticky)
{
    int top = exponent + 63;
    int drop = 64 - f->precision;
    uint64_t infinity = (uint64_t)(f->exponent_max - f->exponent_min + 2) << (f->precision - 1);
    uint64_t kept, rest, half, biased;

    if (top > f->exponent_max)
        return infinity;
    if (top < f->exponent_min)
        drop += f->exponent_min - top;
    if (drop > 64)
        return 0; /* below half of the smallest subnormal */
    kept = drop == 64 ? 0 : significand >> drop;
    half = (uint64_t)1 << (drop - 1);
    rest = drop == 64 ? significand : significand & (2 * half - 1);
    if (rest > half || (rest == half && (sticky || (kept & 1))))
        kept++;
    if (top < f->exponent_min)
        return kept; /* a carry into the hidden bit is the smallest normal's encoding */
    /* The hidden bit adds one to the exponent field, and so does a carry out of the significand. */
    biased = (uint64_t)(top - f->exponent_min);
    return (biased << (f->precision - 1)) + kept;
}

#if defined(__SIZEOF_INT128__)
__extension__ typedef unsigned __int128 wide;

/* Up to 19 digits and |power| <= 27, where 5^|power| fits in 64 bits: one exact product or quotient. */
static bool parse_short(uint64_t *out, const decimal *d, int power, const format *f)
{
    uint64_t mantissa = 0, scale = 1;
    int exponent = power, shift;
    wide product;

    if (d->count > 19 || power < -27 || power > 27)
        return false;
    for (int i = 0; i < d->count; i++)
        mantissa = mantissa * 10 + d->digit[i];
    for (int i = power < 0 ? -power : power; i > 0; i--)
        scale *= 5;
    shift = __builtin_clzll(mantissa);
    mantissa <<= shift;
    exponent -= shift;
    if (power < 0) {
        uint64_t quotient;

        shift = __builtin_clzll(scale);
        scale <<= shift;
        exponent += shift - 63;
        product = (wide)mantissa << 63; /* the quotient is in (2^62, 2^64) */
        quotient = (uint64_t)(product / scale);
        shift = __builtin_clzll(quotient);
        /* A shifted-in zero bit hides nothing: it lies far below the rounding position, and sticky tells the rest. */
        *out = round_to(f, quotient << shift, exponent - shift, product % scale != 0);
        return true;
    }
    product = (wide)mantissa * scale;
    shift = product >> 64 ? __builtin_clzll((uint64_t)(product >> 64)) : 64 + __builtin_clzll((uint64_t)product);
    product <<= shift;
    *out = round_to(f, (uint64_t)(product >> 64), exponent - shift + 64, (uint64_t)product != 0);
    return true;
}
#else
static bool parse_short(uint64_t *out, const decimal *d, int power, const format *f)
{
    (void)out, (void)d, (void)power, (void)f;
    return false;
}
#endif

#if defined(__SIZEOF_INT128__)
/* Formats as decide_fast needs them. */
typedef struct fast_format {
    int bits;               /* of the significand, without the hidden one */
    int bias;               /* of the exponent */
    int even_min, even_max; /* powers of ten at which a value can lie exactly between two neighbours */
} fast_format;

static const fast_format fast32 = {23, 127, -17, 10};
static const fast_format fast64 = {52, 1023, -4, 23};

/* mantissa * 10^power, mantissa not 0, rounded to nearest even: one product of 64 by 128 bits decides it, or says
 * that it cannot. Eisel and Lemire; the paper named in powers_of_five.h, algorithm 1. */
static bool decide_fast(uint64_t *out, uint64_t mantissa, int power, const fast_format *f)
{
    int shift = __builtin_clzll(mantissa), upper, drop, exponent;
    const uint64_t *five, mask = ((uint64_t)1 << (61 - f->bits)) - 1;
    uint64_t high, low;
    wide product;

    if (power < POWERS_OF_FIVE_MIN || power > POWERS_OF_FIVE_MAX)
        return false;
    five = powers_of_five[power - POWERS_OF_FIVE_MIN];
    mantissa <<= shift;
    product = (wide)mantissa * five[0];
    high = (uint64_t)(product >> 64);
    low = (uint64_t)product;
    if ((high & mask) == mask) { /* the rest of the power might carry into what is kept */
        uint64_t more = (uint64_t)((wide)mantissa * five[1] >> 64);

        low += more;
        high += low < more;
    }
    if (low == UINT64_MAX && (power < -27 || power > 55))
        return false;
    upper = (int)(high >> 63);
    drop = upper + 61 - f->bits;
    exponent = ((217706 * power) >> 16) + 63 + upper - shift + f->bias;
    if (exponent <= 0) /* subnormal, or zero */
        return false;
    mantissa = high >> drop;
    if (low <= 1 && power >= f->even_min && power <= f->even_max && (mantissa & 3) == 1 && mantissa << drop == high)
        mantissa &= ~(uint64_t)1; /* exactly between two: the even one */
    mantissa = (mantissa + (mantissa & 1)) >> 1;
    /* The hidden bit adds one to the exponent, and so does a carry out of the significand. */
    *out = ((uint64_t)(exponent - 1) << f->bits) + mantissa;
    return *out >> f->bits < 2 * (uint64_t)f->bias + 1;
}

/* Texts of at most 19 digits with a small exponent, which nearly all are. False: look at it slowly. */
static bool parse_fast(uint64_t *out, bool *negative, int *power, const char *text, size_t length, const fast_format *f)
{
    const char *at = text, *end = text + length, *digits;
    uint64_t mantissa = 0;
    int exponent = 0, sign = 1, places = 0;

    *negative = length > 0 && *at == '-';
    at += length > 0 && (*at == '-' || *at == '+');
    if (end - at > 28)
        return false;
    digits = at;
    while (at < end && is_digit(*at))
        mantissa = mantissa * 10 + (uint64_t)(*at++ - '0');
    if (at < end && *at == '.') {
        const char *point = at++;

        while (at < end && is_digit(*at))
            mantissa = mantissa * 10 + (uint64_t)(*at++ - '0');
        places = (int)(at - point) - 1;
        digits++;
    }
    if (at - digits < 1 || at - digits > 19)
        return false;
    if (at < end && (*at == 'e' || *at == 'E')) {
        if (++at < end && (*at == '-' || *at == '+'))
            sign = *at++ == '-' ? -1 : 1;
        if (at == end || end - at > 3)
            return false;
        while (at < end && is_digit(*at))
            exponent = exponent * 10 + (*at++ - '0');
    }
    if (at != end)
        return false;
    *power = sign * exponent - places;
    *out = 0;
    return mantissa == 0 || decide_fast(out, mantissa, *power, f);
}
#else
typedef struct fast_format {
    int bits;
} fast_format;

static const fast_format fast32 = {23}, fast64 = {52};

static bool parse_fast(uint64_t *out, bool *negative, int *power, const char *text, size_t length, const fast_format *f)
{
    (void)out, (void)negative, (void)power, (void)text, (void)length, (void)f;
    return false;
}
#endif

/* digits * 10^power as a quotient of naturals, developed bit by bit: 64 bits and a remainder decide any rounding. */
static uint64_t parse_long(const decimal *d, int power, const format *f)
{
    natural above, below;
    uint64_t significand = 0;
    int exponent = power, shift;

    natural_set(&above, 0);
    natural_set(&below, 1);
    for (int i = 0; i < d->count; i++)
        natural_scale(&above, 10, d->digit[i]);
    if (power >= 0)
        natural_scale_pow5(&above, power);
    else
        natural_scale_pow5(&below, -power);
    shift = natural_bits(&above) - natural_bits(&below);
    natural_shift(shift > 0 ? &below : &above, shift > 0 ? shift : -shift);
    exponent += shift;
    if (natural_compare(&above, &below) < 0) {
        natural_shift(&above, 1);
        exponent--;
    }
    for (int bit = 0; bit < 64; bit++) {
        bool one = natural_compare(&above, &below) >= 0;

        significand = significand << 1 | one;
        if (one)
            natural_subtract(&above, &below);
        natural_shift(&above, 1);
    }
    return round_to(f, significand, exponent - 63, above.used != 0);
}

/* The magnitude's encoding; the sign is in d. */
static bool parse(uint64_t *out, decimal *d, const char *text, size_t length, const format *f)
{
    int power;

    if (!scan(d, text, length))
        return false;
    *out = 0;
    if (d->count == 0 || d->point < POINT_MIN)
        return true;
    if (d->point > POINT_MAX) {
        *out = (uint64_t)(f->exponent_max - f->exponent_min + 2) << (f->precision - 1);
        return true;
    }
    power = (int)d->point - d->count;
    if (!parse_short(out, d, power, f))
        *out = parse_long(d, power, f);
    return true;
}

bool rp_parse_f64(double *out, const char *text, size_t length)
{
    int places;

    return rp_parse_f64_places(out, &places, text, length);
}

bool rp_parse_f64_places(double *out, int *places, const char *text, size_t length)
{
    decimal d;
    uint64_t bits;
    bool negative;
    int power;

    *places = -1;
    if (parse_fast(&bits, &negative, &power, text, length, &fast64)) {
        *places = power < 0 ? -power : 0;
        *out = rp_from_bits_f64(bits | (uint64_t)negative << 63);
        return true;
    }
    if (!parse(&bits, &d, text, length, &binary64))
        return false;
    *out = rp_from_bits_f64(bits | (uint64_t)d.negative << 63);
    return true;
}

bool rp_parse_printed_f64(double *out, const char *text, size_t length)
{
    static const struct {
        const char *text;
        uint64_t bits;
    } others[] = {{"inf", 0x7ff0000000000000u}, {"-inf", 0xfff0000000000000u}, {"nan", 0x7ff8000000000000u}};

    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strlen(others[i].text) == length && memcmp(others[i].text, text, length) == 0) {
            memcpy(out, &others[i].bits, sizeof *out);
            return true;
        }
    return rp_parse_f64(out, text, length);
}

bool rp_parse_f32(float *out, const char *text, size_t length)
{
    decimal d;
    uint64_t bits;
    bool negative;
    int power;

    if (parse_fast(&bits, &negative, &power, text, length, &fast32)) {
        *out = rp_from_bits_f32((uint32_t)bits | (uint32_t)negative << 31);
        return true;
    }
    if (!parse(&bits, &d, text, length, &binary32))
        return false;
    *out = rp_from_bits_f32((uint32_t)bits | (uint32_t)d.negative << 31);
    return true;
}

/* ---- binary to text ---- */

/* A lower bound of floor(log10(2^exponent)), off by one at most: 0.30102 < log10(2) < 0.30103. */
static int log10_floor(int exponent)
{
    return exponent >= 0 ? exponent * 30102 / 100000 : -(-exponent * 30103 / 100000) - 1;
}

/* Shortest digits of significand * 2^exponent > 0, nearest of the shortest, a tie to the even digit. narrow: the gap
 * below is half the gap above (significand is a power of two above the smallest normal). Value = 0.d1d2... * 10^point.
 * rest / scale is what is still to print, below and above / scale the half-gaps: all over one denominator. */
static int shortest(unsigned char *digit, int *point, uint64_t significand, int exponent, bool narrow)
{
    natural rest, scale, below, above;
    /* A value halfway to a neighbour reads back as the even one of the two. */
    int inclusive = significand % 2 == 0;
    int count = 0;
    int bits = 64 - __builtin_clzll(significand);

    *point = log10_floor(exponent + bits - 1);
    natural_set(&rest, significand);
    natural_set(&scale, 1);
    natural_set(&below, 1);
    natural_shift(&rest, 1 + narrow + (exponent > 0 ? exponent : 0));
    natural_shift(&below, exponent > 0 ? exponent : 0);
    natural_shift(&scale, 1 + narrow + (exponent < 0 ? -exponent : 0));
    if (*point >= 0) {
        natural_scale_pow5(&scale, *point);
        natural_shift(&scale, *point);
    } else {
        natural_scale_pow5(&rest, -*point);
        natural_shift(&rest, -*point);
        natural_scale_pow5(&below, -*point);
        natural_shift(&below, -*point);
    }
    above = below;
    natural_shift(&above, narrow);
    while (natural_compare_sum(&rest, &above, &scale) >= 1 - inclusive) {
        natural_scale(&scale, 10, 0);
        ++*point;
    }
    for (;;) {
        unsigned d = 0;
        bool low, high;

        natural_scale(&rest, 10, 0);
        natural_scale(&below, 10, 0);
        natural_scale(&above, 10, 0);
        for (; natural_compare(&rest, &scale) >= 0; d++)
            natural_subtract(&rest, &scale);
        low = natural_compare(&rest, &below) < inclusive;
        high = natural_compare_sum(&rest, &above, &scale) >= 1 - inclusive;
        if (low && high) {
            int half = natural_compare_sum(&rest, &rest, &scale);

            d += half > 0 || (half == 0 && d % 2 == 1);
        } else if (high) {
            d++;
        }
        digit[count++] = (unsigned char)d;
        if (low || high)
            return count;
    }
}

static char *put_digits(char *at, const unsigned char *digit, int from, int to, int count)
{
    for (int i = from; i < to; i++)
        *at++ = (char)('0' + (i >= 0 && i < count ? digit[i] : 0));
    return at;
}

/* ECMAScript 2023, 6.1.6.1.20 Number::toString, radix 10. */
static char *put_decimal(char *at, const unsigned char *digit, int count, int point)
{
    int power = point - 1;

    if (point > 0 && point <= 21) {
        at = put_digits(at, digit, 0, point, count);
        if (count > point) {
            *at++ = '.';
            at = put_digits(at, digit, point, count, count);
        }
        return at;
    }
    if (point > -6 && point <= 0) {
        *at++ = '0';
        *at++ = '.';
        return put_digits(at, digit, point, count, count);
    }
    at = put_digits(at, digit, 0, 1, count);
    if (count > 1) {
        *at++ = '.';
        at = put_digits(at, digit, 1, count, count);
    }
    *at++ = 'e';
    *at++ = power < 0 ? '-' : '+';
    power = power < 0 ? -power : power;
    if (power >= 100)
        *at++ = (char)('0' + power / 100);
    if (power >= 10)
        *at++ = (char)('0' + power / 10 % 10);
    *at++ = (char)('0' + power % 10);
    return at;
}

static size_t print(char out[RP_DECIMAL_SIZE], uint64_t magnitude, bool negative, const format *f)
{
    int hidden = f->precision - 1;
    int biased = (int)(magnitude >> hidden);
    uint64_t significand = magnitude & (((uint64_t)1 << hidden) - 1);
    bool special = biased == f->exponent_max - f->exponent_min + 2;
    char *at = out;

    if (negative && !(special && significand))
        *at++ = '-';
    if (special) {
        memcpy(at, significand ? "nan" : "inf", 3);
        at += 3;
    } else if (magnitude == 0) {
        *at++ = '0';
    } else {
        unsigned char digit[24];
        bool narrow = significand == 0 && biased > 1;
        int exponent = f->exponent_min - hidden + (biased > 0 ? biased - 1 : 0);
        int point;
        int count;

        if (biased > 0)
            significand |= (uint64_t)1 << hidden;
        count = shortest(digit, &point, significand, exponent, narrow);
        at = put_decimal(at, digit, count, point);
    }
    *at = '\0';
    return (size_t)(at - out);
}

size_t rp_print_f64(char out[RP_DECIMAL_SIZE], double x)
{
    uint64_t u = rp_bits_f64(x);

    return print(out, u & INT64_MAX, u >> 63, &binary64);
}

size_t rp_print_f32(char out[RP_DECIMAL_SIZE], float x)
{
    uint32_t u = rp_bits_f32(x);

    return print(out, u & 0x7FFFFFFFu, u >> 31, &binary32);
}
