/* SPDX-License-Identifier: Apache-2.0
 * The table that arrays are (CONTRACT 9.1a): columns by their place in a row of the features, cells as decimals that
 * read back as the same numbers. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "core/data/arrays/arrays.h"
#include "core/data/text/csv.h"
#include "determinism/bits.h"
#include "determinism/decimal.h"

enum { NAME = 192 };

static rp_status flush(rp_array_writer *w)
{
    const size_t used = w->used;

    w->used = 0;
    return w->take(w->self, w->text, used, w->err);
}

static rp_status put(rp_array_writer *w, const char *text, size_t size)
{
    rp_status status = size > sizeof w->text - w->used ? flush(w) : RP_OK;

    memcpy(w->text + w->used, text, size);
    w->used += size;
    return status;
}

/* x.2.3: place 2 of the second axis, 3 of the third; x where a row is one number. */
static size_t column_name(char out[NAME], const rp_array *x, size_t column)
{
    size_t place[RP_ARRAY_RANK], used = (size_t)snprintf(out, NAME, "%s", RP_ARRAYS_FEATURE);

    for (int i = x->rank - 1; i > 0; i--) {
        place[i] = column % x->shape[i];
        column /= x->shape[i];
    }
    for (int i = 1; i < x->rank; i++)
        used += (size_t)snprintf(out + used, NAME - used, ".%zu", place[i]);
    return used;
}

static rp_status put_header(rp_array_writer *w, const rp_array *x, bool target)
{
    const size_t n = rp_array_row(x);
    char name[NAME];
    rp_status status = RP_OK;

    for (size_t i = 0; i < n && status == RP_OK; i++) {
        size_t size = column_name(name, x, i);

        name[size++] = i + 1 < n || target ? ',' : '\n';
        status = put(w, name, size);
    }
    return status == RP_OK && target ? put(w, RP_ARRAYS_TARGET "\n", 2) : status;
}

static uint64_t load(const unsigned char *at, size_t size)
{
    uint64_t bits = 0;

    for (size_t i = 0; i < size; i++)
        bits |= (uint64_t)at[i] << (8 * i);
    return bits;
}

/* Digits of an integer of either sign. */
static size_t print_integer(char *out, uint64_t magnitude, bool negative)
{
    char digit[24];
    size_t n = 0, used = 0;

    do
        digit[n++] = (char)('0' + magnitude % 10);
    while ((magnitude /= 10) > 0);
    if (negative)
        out[used++] = '-';
    while (n > 0)
        out[used++] = digit[--n];
    return used;
}

static bool is_real(rp_array_type type)
{
    return type >= RP_ARRAY_F32; /* the last of them */
}

static double real_of(rp_array_type type, uint64_t bits)
{
    switch (type) {
    case RP_ARRAY_F64:
        return rp_from_bits_f64(bits);
    case RP_ARRAY_F16:
        return (double)rp_f32_of_f16((uint16_t)bits);
    case RP_ARRAY_BF16:
        return (double)rp_f32_of_bf16((uint16_t)bits);
    default:
        return (double)rp_from_bits_f32((uint32_t)bits);
    }
}

/* The bits as a number, or as the digits of an integer: 0 where no cell is that number. */
static size_t print_cell(char out[RP_DECIMAL_SIZE], rp_array_type type, uint64_t bits)
{
    static const bool is_signed[RP_ARRAY_TYPES] = {
        [RP_ARRAY_I8] = true, [RP_ARRAY_I16] = true, [RP_ARRAY_I32] = true, [RP_ARRAY_I64] = true};
    const uint64_t sign = (uint64_t)1 << (8 * rp_array_type_size(type) - 1), exact = (uint64_t)1 << 53;

    if (is_real(type)) {
        const double x = real_of(type, bits);

        return isfinite(x) ? rp_print_f64(out, x) : 0;
    }
    if (is_signed[type] && (bits & sign)) {
        const uint64_t magnitude = (sign - (bits & (sign - 1)));

        return magnitude <= exact ? print_integer(out, magnitude, true) : 0;
    }
    return bits <= exact && (type != RP_ARRAY_BOOL || bits <= 1) ? print_integer(out, bits, false) : 0;
}

static rp_status fail_cell(const rp_array_writer *w, const rp_array *array, size_t row, const char *column)
{
    static const char *const expected[] = {"a finite number: cells that are missing, arrays have not",
                                           "an integer of at most 2^53 in magnitude", "0 or 1"};
    const bool real = is_real(array->type);

    return rp_fail(w->err, RP_EDATA, "%s: row %zu, column %s: expected %s", array->where, row, column,
                   expected[real                           ? 0
                            : array->type == RP_ARRAY_BOOL ? 2
                                                           : 1]);
}

static rp_status put_features(rp_array_writer *w, const rp_array *x, size_t row, size_t n, bool more)
{
    const size_t size = rp_array_type_size(x->type);
    const unsigned char *at = x->data + row * n * size;
    char cell[RP_DECIMAL_SIZE + 1], name[NAME];
    rp_status status = RP_OK;

    for (size_t i = 0; i < n && status == RP_OK; i++, at += size) {
        size_t length = print_cell(cell, x->type, load(at, size));

        if (length == 0) {
            (void)column_name(name, x, i);
            return fail_cell(w, x, row, name);
        }
        cell[length++] = i + 1 < n || more ? ',' : '\n';
        status = put(w, cell, length);
    }
    return status;
}

static rp_status put_row(rp_array_writer *w, const rp_array *x, const rp_array *y, size_t row, size_t n)
{
    char cell[RP_DECIMAL_SIZE + 1];
    rp_status status = put_features(w, x, row, n, y != NULL);
    size_t length;

    if (!y || status != RP_OK)
        return status;
    length = print_cell(cell, y->type, load(y->data + row * rp_array_type_size(y->type), rp_array_type_size(y->type)));
    if (length == 0)
        return fail_cell(w, y, row, RP_ARRAYS_TARGET);
    cell[length++] = '\n';
    return put(w, cell, length);
}

/* In quotes, which stand doubled inside (RFC 4180). */
static rp_status put_label(rp_array_writer *w, const char *label)
{
    rp_status status = put(w, "\"", 1);

    for (; *label && status == RP_OK; label++)
        status = put(w, *label == '"' ? "\"\"" : label, *label == '"' ? 2 : 1);
    return status == RP_OK ? put(w, "\"\n", 2) : status;
}

static rp_status check(const rp_array *x, const rp_array *y, rp_error *err)
{
    const size_t most = RP_COLUMNS_MAX - 1;

    if (rp_array_row(x) > most)
        return rp_fail(err, RP_EDATA, "%s: a row has %zu numbers, expected at most %zu", x->where, rp_array_row(x),
                       most);
    if (y && rp_array_row(y) != 1)
        return rp_fail(err, RP_EDATA, "%s: expected one number a row as the target, found %zu", y->where,
                       rp_array_row(y));
    if (y && y->shape[0] != x->shape[0])
        return rp_fail(err, RP_EDATA, "%s: %zu rows, but %s has %zu: features and target are of the same rows",
                       y->where, y->shape[0], x->where, x->shape[0]);
    return RP_OK;
}

void rp_array_begin(rp_array_writer *w, const rp_array *x, bool target, rp_file_taker take, void *self, rp_error *err)
{
    w->take = take;
    w->self = self;
    w->err = err;
    w->used = 0;
    w->status = check(x, NULL, err);
    if (w->status == RP_OK)
        w->status = put_header(w, x, target);
}

void rp_array_put(rp_array_writer *w, const rp_array *x, const char *label)
{
    if (w->status == RP_OK)
        w->status = put_features(w, x, 0, rp_array_row(x), label != NULL);
    if (w->status == RP_OK && label)
        w->status = put_label(w, label);
}

rp_status rp_array_end(rp_array_writer *w)
{
    if (w->status == RP_OK)
        w->status = flush(w);
    return w->status;
}

static void put_rows(rp_array_writer *w, const rp_array *x, const rp_array *y)
{
    const size_t n = rp_array_row(x);

    for (size_t row = 0; row < x->shape[0] && w->status == RP_OK; row++)
        w->status = put_row(w, x, y, row, n);
}

rp_status rp_array_write(const rp_array *x, const rp_array *y, rp_file_taker take, void *self, rp_error *err)
{
    rp_array_writer *w = rp_malloc(sizeof *w);
    rp_status status = w ? check(x, y, err) : rp_no_memory(err);

    if (status == RP_OK) {
        rp_array_begin(w, x, y != NULL, take, self, err);
        put_rows(w, x, y);
        status = rp_array_end(w);
    }
    rp_free(w);
    return status;
}
