/* SPDX-License-Identifier: Apache-2.0
 * Columns in few bytes. Decimals of a table are mostly an integer over a power of ten, both of which binary64 holds
 * exactly, so that their quotient, rounded once, is the number that the text means: four bytes a cell or fewer. Each
 * column is tried, and what does not come back bit for bit stays binary64. */
#include <math.h>
#include <string.h>

#include "core/data/chunk.h"
#include "determinism/bits.h"

enum { PLACES_MAX = 9 };

static const double power_of_ten[PLACES_MAX + 1] = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9};

/* The integers, or false. */
static bool to_integers(const double *value, size_t n, double power, int32_t *out, int32_t *low, int32_t *high)
{
    *low = 0;
    *high = 0;
    for (size_t i = 0; i < n; i++) {
        double scaled = value[i] * power;
        int32_t integer;

        if (value[i] != value[i]) {
            out[i] = INT32_MIN;
            continue;
        }
        if (!(scaled > -2147483000.0 && scaled < 2147483000.0))
            return false;
        integer = (int32_t)(scaled < 0 ? scaled - 0.5 : scaled + 0.5);
        if (rp_bits_f64((double)integer / power) != rp_bits_f64(value[i])) /* -0 as well */
            return false;
        out[i] = integer;
        *low = integer < *low ? integer : *low;
        *high = integer > *high ? integer : *high;
    }
    return true;
}

rp_form rp_pack_choose(const double *value, size_t n, int places, int32_t *scratch)
{
    int32_t low, high;

    if (places < 0 || places > PLACES_MAX || !to_integers(value, n, power_of_ten[places], scratch, &low, &high))
        return RP_FORM_F64;
    if (low > INT8_MIN && high <= INT8_MAX)
        return RP_FORM_I8;
    return low > INT16_MIN && high <= INT16_MAX ? RP_FORM_I16 : RP_FORM_I32;
}

size_t rp_form_bytes(rp_form form)
{
    static const size_t bytes[] = {0, 1, 2, 4, 8, 1, 2, 4};

    return bytes[form];
}

void rp_pack_numbers(void *out, rp_form form, const double *value, const int32_t *scratch, size_t n)
{
    if (form == RP_FORM_F64)
        memcpy(out, value, n * sizeof *value);
    if (form == RP_FORM_I32)
        memcpy(out, scratch, n * sizeof *scratch);
    for (size_t i = 0; form == RP_FORM_I16 && i < n; i++)
        ((int16_t *)out)[i] = scratch[i] == INT32_MIN ? INT16_MIN : (int16_t)scratch[i];
    for (size_t i = 0; form == RP_FORM_I8 && i < n; i++)
        ((int8_t *)out)[i] = scratch[i] == INT32_MIN ? INT8_MIN : (int8_t)scratch[i];
}

/* One loop a type, in which the division is the only work. */
#define UNPACK(TYPE, LEAST) \
    do { \
        const TYPE *cell = (const TYPE *)stretch->cells + first; \
        for (size_t i = 0; i < n; i++) \
            out[i] = cell[i] == (LEAST) ? (double)NAN : (double)cell[i] / power; \
    } while (0)

void rp_unpack_numbers(double *out, const rp_stretch *stretch, size_t first, size_t n)
{
    const double power = power_of_ten[stretch->places];

    switch ((rp_form)stretch->form) {
    case RP_FORM_I8:
        UNPACK(int8_t, INT8_MIN);
        break;
    case RP_FORM_I16:
        UNPACK(int16_t, INT16_MIN);
        break;
    case RP_FORM_I32:
        UNPACK(int32_t, INT32_MIN);
        break;
    case RP_FORM_F64:
        memcpy(out, (const double *)stretch->cells + first, n * sizeof *out);
        break;
    default: /* a column of numbers has no other cells than missing ones here */
        for (size_t i = 0; i < n; i++)
            out[i] = (double)NAN;
    }
}

/* ---- codes ---- */

rp_form rp_pack_codes_form(size_t words)
{
    return words <= UINT8_MAX ? RP_FORM_C8 : words <= UINT16_MAX ? RP_FORM_C16 : RP_FORM_C32;
}

void rp_pack_codes(void *out, rp_form form, const uint32_t *code, size_t n)
{
    if (form == RP_FORM_C32)
        memcpy(out, code, n * sizeof *code);
    for (size_t i = 0; form == RP_FORM_C16 && i < n; i++)
        ((uint16_t *)out)[i] = (uint16_t)code[i];
    for (size_t i = 0; form == RP_FORM_C8 && i < n; i++)
        ((uint8_t *)out)[i] = (uint8_t)code[i];
}

#define UNPACK_CODES(TYPE, GREATEST) \
    do { \
        const TYPE *cell = (const TYPE *)stretch->cells + first; \
        for (size_t i = 0; i < n; i++) \
            out[i] = cell[i] == (GREATEST) ? (uint32_t)RP_NO_CODE : stretch->code[cell[i]]; \
    } while (0)

void rp_unpack_codes(uint32_t *out, const rp_stretch *stretch, size_t first, size_t n)
{
    switch ((rp_form)stretch->form) {
    case RP_FORM_C8:
        UNPACK_CODES(uint8_t, UINT8_MAX);
        break;
    case RP_FORM_C16:
        UNPACK_CODES(uint16_t, UINT16_MAX);
        break;
    case RP_FORM_C32:
        UNPACK_CODES(uint32_t, UINT32_MAX);
        break;
    default:
        for (size_t i = 0; i < n; i++)
            out[i] = (uint32_t)RP_NO_CODE;
    }
}
