/* SPDX-License-Identifier: Apache-2.0
 * Text and numbers as HTML. Everything an archive says is escaped here, and numbers are written with integers, so that
 * the bytes are a function of the values alone. */
#include <string.h>

#include "audit/report/report.h"
#include "base/text.h"
#include "determinism/decimal.h"

enum { TEXT_MAX = 200, LONG_MAX_TEXT = 2000 };
static const char replacement[] = "\xEF\xBF\xBD";

bool rp_report_fatal(rp_status status)
{
    return status == RP_ENOMEM || status == RP_EIO || status == RP_EHASH || status == RP_EFPENV;
}

/* The code point at text, its length in *length; U+FFFD and 1 for what is not UTF-8 (RFC 3629). */
static uint32_t decode(const unsigned char *text, size_t *length)
{
    size_t n = text[0] < 0x80 ? 1 : text[0] >= 0xF0 ? 4 : text[0] >= 0xE0 ? 3 : 2;
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    uint32_t code = n == 1 ? text[0] : text[0] & (0x7Fu >> n);

    *length = 1;
    if (text[0] >= 0xF8 || (text[0] >= 0x80 && text[0] < 0xC0))
        return 0xFFFD;
    for (size_t i = 1; i < n; i++) {
        if ((text[i] & 0xC0) != 0x80)
            return 0xFFFD;
        code = code << 6 | (text[i] & 0x3F);
    }
    if (code < least[n] || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000))
        return 0xFFFD;
    *length = n;
    return code;
}

/* What no terminal is shown either, and what is no character. */
static bool hidden(const char *text, uint32_t code)
{
    return rp_unseen((const unsigned char *)text) > 0 || (code & 0xFFFE) == 0xFFFE ||
           (code >= 0xFDD0 && code <= 0xFDEF);
}

static void escape(rp_buffer *out, const char *text, size_t most)
{
    size_t written = 0, length;

    for (; text && *text; text += length, written++) {
        uint32_t code = decode((const unsigned char *)text, &length);

        if (written == most) {
            rp_buffer_text(out, "\xE2\x80\xA6");
            return;
        }
        if (code == 0xFFFD || hidden(text, code))
            rp_buffer_text(out, replacement);
        else if (code == '&')
            rp_buffer_text(out, "&amp;");
        else if (code == '<')
            rp_buffer_text(out, "&lt;");
        else if (code == '>')
            rp_buffer_text(out, "&gt;");
        else if (code == '"')
            rp_buffer_text(out, "&quot;");
        else if (code == '\'')
            rp_buffer_text(out, "&#39;");
        else
            rp_buffer_append(out, text, length);
    }
}

void rp_html_text(rp_buffer *out, const char *text)
{
    escape(out, text, TEXT_MAX);
}

void rp_html_long(rp_buffer *out, const char *text)
{
    escape(out, text, LONG_MAX_TEXT);
}

void rp_html_name(rp_buffer *out, const char *text)
{
    rp_buffer_text(out, "<bdi>");
    rp_html_text(out, text);
    rp_buffer_text(out, "</bdi>");
}

void rp_html_count(rp_buffer *out, uint64_t n)
{
    char text[32];
    size_t at = sizeof text - 1, digits = 0;

    text[at] = '\0';
    do {
        if (digits && digits % 3 == 0)
            text[--at] = ',';
        text[--at] = (char)('0' + n % 10);
        n /= 10;
        digits++;
    } while (n);
    rp_buffer_text(out, text + at);
}

static const double ten[] = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9};

/* x >= 0 with that many decimals, rounded half up in binary64: one multiplication, so the same on every host. */
static void put_decimals(rp_buffer *out, double x, int decimals, bool grouped)
{
    uint64_t scale = (uint64_t)ten[decimals], all = (uint64_t)(x * ten[decimals] + 0.5);

    if (grouped)
        rp_html_count(out, all / scale);
    else
        rp_buffer_printf(out, "%llu", (unsigned long long)(all / scale));
    if (decimals)
        rp_buffer_printf(out, ".%0*llu", decimals, (unsigned long long)(all % scale));
}

void rp_html_fixed(rp_buffer *out, double x, int decimals)
{
    double size = x < 0 ? -x : x;

    if (!(size < 1e12))
        size = x = 0;
    if (x < 0 && (uint64_t)(size * ten[decimals] + 0.5) != 0)
        rp_buffer_u8(out, '-');
    put_decimals(out, size, decimals, false);
}

/* m x 10^e with characters that SVG has too. */
static void put_scientific(rp_buffer *out, double x)
{
    static const char *const raised[] = {"\xE2\x81\xB0", "\xC2\xB9",     "\xC2\xB2",     "\xC2\xB3",
                                         "\xE2\x81\xB4", "\xE2\x81\xB5", "\xE2\x81\xB6", "\xE2\x81\xB7",
                                         "\xE2\x81\xB8", "\xE2\x81\xB9"};
    int e = 0;

    for (; x >= 9.9995; e++)
        x /= 10;
    for (; x < 0.99995; e--)
        x *= 10;
    put_decimals(out, x, 3, false);
    rp_buffer_text(out, " \xC3\x97 10");
    if (e < 0)
        rp_buffer_text(out, "\xE2\x81\xBB");
    e = e < 0 ? -e : e;
    if (e >= 100)
        rp_buffer_text(out, raised[e / 100]);
    if (e >= 10)
        rp_buffer_text(out, raised[e / 10 % 10]);
    rp_buffer_text(out, raised[e % 10]);
}

void rp_html_number(rp_buffer *out, double x)
{
    double size = x < 0 ? -x : x;
    int decimals = 3;

    if (x != x) {
        rp_buffer_text(out, "not a number");
        return;
    }
    if (x < 0)
        rp_buffer_text(out, "\xE2\x88\x92");
    if (size - size != 0) {
        rp_buffer_text(out, "infinite");
    } else if (size == 0) {
        rp_buffer_u8(out, '0');
    } else if (size >= 1e12 || size < 0.99995e-4) {
        put_scientific(out, size);
    } else {
        for (double next = 9.9995; decimals > 0 && size >= next; next *= 10)
            decimals--;
        for (double next = 0.99995; size < next && decimals < 8; next /= 10)
            decimals++;
        put_decimals(out, size, decimals, true);
    }
}

bool rp_report_real(const rp_json *text, double *x)
{
    const char *digits = rp_json_string_value(text);

    return digits && rp_parse_f64(x, digits, strlen(digits));
}

void rp_html_real(rp_buffer *out, const rp_json *text)
{
    double x;

    if (rp_report_real(text, &x))
        rp_html_number(out, x);
    else
        rp_buffer_text(out, rp_json_is_string(text) ? "not a number" : "\xE2\x80\x93");
}

void rp_html_share(rp_buffer *out, uint64_t part, uint64_t whole)
{
    if (whole == 0) {
        rp_buffer_text(out, "\xE2\x80\x93");
        return;
    }
    put_decimals(out, 100.0 * ((double)part / (double)whole), 1, false);
    rp_buffer_text(out, "\xC2\xA0%");
}

void rp_html_section(rp_buffer *out, const char *id, const char *title)
{
    rp_buffer_printf(out, "</section>\n<section id=\"%s\" aria-labelledby=\"%s-h\">\n<h2 id=\"%s-h\">%s</h2>\n", id, id,
                     id, title);
}

void rp_html_heads(rp_buffer *out, const char *heads)
{
    while (*heads) {
        int length = (int)strcspn(heads, "|");

        if (length == 0)
            rp_buffer_text(out, "<td></td>");
        else if (*heads == '#')
            rp_buffer_printf(out, "<th scope=\"col\" class=\"n\">%.*s</th>", length - 1, heads + 1);
        else
            rp_buffer_printf(out, "<th scope=\"col\">%.*s</th>", length, heads);
        heads += length + (heads[length] == '|');
    }
}

void rp_html_table_begin(rp_buffer *out, const char *style, const char *caption)
{
    rp_buffer_text(out, "<table");
    if (style)
        rp_buffer_printf(out, " class=\"%s\"", style);
    rp_buffer_text(out, ">\n");
    if (caption)
        rp_buffer_printf(out, "<caption>%s</caption>\n", caption);
    rp_buffer_text(out, "<thead><tr>");
}

void rp_html_table(rp_buffer *out, const char *style, const char *caption, const char *heads)
{
    rp_html_table_begin(out, style, caption);
    rp_html_heads(out, heads);
    rp_buffer_text(out, "</tr></thead>\n<tbody>\n");
}

void rp_html_note_first(rp_buffer *out, size_t shown, size_t all, const char *what)
{
    if (all > shown)
        rp_buffer_printf(out, "<p class=\"note\">The first %zu of %zu %s.</p>\n", shown, all, what);
}

void rp_html_row_open(rp_buffer *out, const char *header)
{
    rp_buffer_printf(out, "<tr><th scope=\"row\">%s</th><td>", header);
}

void rp_html_row_close(rp_buffer *out)
{
    rp_buffer_text(out, "</td></tr>\n");
}

void rp_html_row(rp_buffer *out, const char *header, const char *text)
{
    rp_html_row_open(out, header);
    rp_html_name(out, text);
    rp_html_row_close(out);
}

void rp_html_row_count(rp_buffer *out, const char *header, uint64_t n)
{
    rp_html_row_open(out, header);
    rp_html_count(out, n);
    rp_html_row_close(out);
}

void rp_html_problem(rp_buffer *out, const char *what, const rp_error *problem)
{
    if (problem->status == RP_OK)
        return;
    rp_buffer_printf(out, "<p class=\"note\"><strong>%s cannot be shown:</strong> ", what);
    rp_html_name(out, problem->text);
    rp_buffer_text(out, "</p>\n");
}
