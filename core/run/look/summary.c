/* SPDX-License-Identifier: Apache-2.0
 * A tensor's figures in passes: how large it is, moments by Welford's recurrence (1962), which neither overflows nor
 * cancels where sums would, then the histogram. */
#include "core/run/look/summary.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "determinism/bits.h"
#include "determinism/decimal.h"

/* Types that have no case of their own are read by the text that names their elements. */
static double element(const void *host, rp_dtype dtype, size_t i)
{
    const char *at = (const char *)host + i * rp_dtype_size(dtype);
    char text[64], *value;
    double x = 0;
    float narrow;
    uint16_t half;
    int32_t small;
    int64_t large;

    switch ((int)dtype) {
    case RP_F32:
        memcpy(&narrow, at, sizeof narrow);
        return (double)narrow;
    case RP_F64:
        memcpy(&x, at, sizeof x);
        return x;
    case RP_BF16:
        memcpy(&half, at, sizeof half);
        return (double)rp_f32_of_bf16(half);
    case RP_F16:
        memcpy(&half, at, sizeof half);
        return (double)rp_f32_of_f16(half);
    case RP_I32:
        memcpy(&small, at, sizeof small);
        return (double)small;
    case RP_I64:
        memcpy(&large, at, sizeof large);
        return (double)large;
    case RP_BOOL:
        return *at != 0;
    default:
        rp_describe_element(text, sizeof text, at, dtype);
        value = strchr(text, '(');
        if (value && strchr(value, ')'))
            (void)rp_parse_printed_f64(&x, value + 1, strcspn(value + 1, ")"));
        return x;
    }
}

/* A power of two that keeps squares of the elements, and their sum, finite. Elements that it makes 0 are 10^300 times
 * smaller than the greatest. */
static double scale_of(const rp_summary *s)
{
    double most = 0;

    for (uint64_t i = 0; i < s->count; i++) {
        const double size = fabs(element(s->host, s->type.dtype, i));

        most = size < (double)INFINITY && size > most ? size : most;
    }
    return most > 0x1p+480 ? 0x1p-544 : 1;
}

static void moments(rp_summary *s)
{
    const double scale = scale_of(s);
    double squares = 0;

    for (uint64_t i = 0; i < s->count; i++) {
        const double x = element(s->host, s->type.dtype, i);
        double away;

        s->nans += x != x;
        s->infinite += x == x && fabs(x) == (double)INFINITY;
        if (x != x || fabs(x) == (double)INFINITY)
            continue;
        s->zeros += x == 0;
        s->least = s->finite == 0 || x < s->least ? x : s->least;
        s->most = s->finite == 0 || x > s->most ? x : s->most;
        s->finite++;
        away = x * scale - s->mean;
        s->mean += away / (double)s->finite;
        squares += away * (x * scale - s->mean);
    }
    s->mean /= scale;
    s->deviation = s->finite ? sqrt(squares / (double)s->finite) / scale : 0;
}

/* Halves, as the distance of two binary64 numbers may be none. */
static void histogram(rp_summary *s)
{
    const double width = s->most / 2 - s->least / 2;

    s->bins = s->finite == 0 ? 0 : width > 0 ? RP_SUMMARY_BINS : 1;
    for (uint64_t i = 0; i < s->count && s->bins; i++) {
        const double x = element(s->host, s->type.dtype, i);
        size_t bin;

        if (x != x || fabs(x) == (double)INFINITY)
            continue;
        bin = s->bins == 1 ? 0 : (size_t)((x / 2 - s->least / 2) / width * RP_SUMMARY_BINS);
        s->bin[bin < s->bins ? bin : s->bins - 1]++;
    }
}

void rp_summary_of(rp_summary *out, const rp_type *type, const void *host)
{
    *out = (rp_summary){.type = *type, .host = host, .count = rp_type_count(type)};
    moments(out);
    histogram(out);
}

double rp_summary_edge(const rp_summary *s, size_t i)
{
    if (i >= s->bins)
        return s->most;
    return s->least + (s->most / 2 - s->least / 2) * ((double)i / RP_SUMMARY_BINS) * 2;
}

/* ---- lines ---- */

/* Six digits are enough for who looks; zeros at the end are no digits. */
static const char *rounded(char out[RP_DECIMAL_SIZE], double x)
{
    double scale = 1, near;

    if (fabs(x) > 1e38 || (x != 0 && fabs(x) < 1e-37)) {
        (void)rp_print_f64(out, x);
        return out;
    }
    if (x == 0 || fabs(x) > 1e15 || fabs(x) < 1e-5) {
        (void)rp_print_f32(out, (float)x);
        return out;
    }
    while (fabs(x) * scale < 1e5)
        scale *= 10;
    near = rint(x * scale) / scale;
    (void)rp_print_f64(out, near);
    return out;
}

static void put_bins(rp_buffer *out, const rp_summary *s, const char *indent)
{
    enum { WIDEST = 40 };
    uint64_t most = 1;
    char edge[RP_DECIMAL_SIZE];

    for (size_t i = 0; i < s->bins; i++)
        most = s->bin[i] > most ? s->bin[i] : most;
    for (size_t i = 0; i < s->bins && s->bins > 1; i++) {
        const int length = (int)((double)s->bin[i] / (double)most * WIDEST);

        rp_buffer_printf(out, "%shistogram %13s %10" PRIu64 "%s%.*s\n", indent, rounded(edge, rp_summary_edge(s, i)),
                         s->bin[i], s->bin[i] ? "  " : "", s->bin[i] && length < 1 ? 1 : length,
                         "########################################");
    }
}

static void put_first(rp_buffer *out, const rp_summary *s, const char *indent)
{
    const uint64_t n = s->count < RP_SUMMARY_FIRST ? s->count : RP_SUMMARY_FIRST;
    const size_t size = rp_dtype_size(s->type.dtype);
    char text[64];

    for (uint64_t i = 0; i < n; i++) {
        rp_describe_element(text, sizeof text, (const char *)s->host + i * size, s->type.dtype);
        rp_buffer_printf(out, "%s%s %s\n", indent, i ? "         " : "first    ", text);
    }
}

void rp_summary_put(rp_buffer *out, const rp_summary *s, const char *indent, bool bins)
{
    char a[RP_DECIMAL_SIZE], b[RP_DECIMAL_SIZE], c[RP_DECIMAL_SIZE], d[RP_DECIMAL_SIZE];

    rp_buffer_printf(out, "%selements  %" PRIu64 ": %" PRIu64 " NaN, %" PRIu64 " infinite, %" PRIu64 " zero\n", indent,
                     s->count, s->nans, s->infinite, s->zeros);
    if (s->finite)
        rp_buffer_printf(out, "%srange     %s to %s, mean %s, deviation %s\n", indent, rounded(a, s->least),
                         rounded(b, s->most), rounded(c, s->mean), rounded(d, s->deviation));
    if (bins)
        put_bins(out, s, indent);
    put_first(out, s, indent);
}
