/* SPDX-License-Identifier: Apache-2.0
 * ISO 8859-1, windows-1252 (as the WHATWG's Encoding Standard has its table, without its five holes) and UTF-16
 * (RFC 2781) to UTF-8. */
#include "core/data/text/encoding.h"

#include <string.h>

typedef struct decoder {
    const unsigned char *in;
    size_t size, line;
    rp_buffer *out;
    const char *where;
    rp_error *err;
} decoder;

static void put(decoder *d, uint32_t c)
{
    unsigned char utf8[4];
    size_t n = 0;

    if (c < 0x80) {
        utf8[n++] = (unsigned char)c;
    } else if (c < 0x800) {
        utf8[n++] = (unsigned char)(0xC0 | c >> 6);
    } else if (c < 0x10000) {
        utf8[n++] = (unsigned char)(0xE0 | c >> 12);
        utf8[n++] = (unsigned char)(0x80 | (c >> 6 & 0x3F));
    } else {
        utf8[n++] = (unsigned char)(0xF0 | c >> 18);
        utf8[n++] = (unsigned char)(0x80 | (c >> 12 & 0x3F));
        utf8[n++] = (unsigned char)(0x80 | (c >> 6 & 0x3F));
    }
    if (c >= 0x80)
        utf8[n++] = (unsigned char)(0x80 | (c & 0x3F));
    rp_buffer_append(d->out, utf8, n);
    d->line += c == '\n';
}

/* U+0000 of a byte without a character. */
static uint32_t of_windows(unsigned char byte)
{
    static const uint16_t high[32] = {0x20AC, 0,      0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021,
                                      0x02C6, 0x2030, 0x0160, 0x2039, 0x0152, 0,      0x017D, 0,
                                      0,      0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014,
                                      0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0,      0x017E, 0x0178};

    return byte >= 0x80 && byte < 0xA0 ? high[byte - 0x80] : byte;
}

/* Latin-1 has control characters where windows-1252 has quotes and the euro: nobody writes them. */
static rp_status decode_bytes(decoder *d, bool windows)
{
    for (size_t i = 0; i < d->size; i++) {
        const unsigned char byte = d->in[i];
        const uint32_t c = windows ? of_windows(byte) : byte;

        if (byte >= 0x80 && (windows ? c == 0 : byte < 0xA0))
            return rp_fail(d->err, RP_EDATA, "%s:%zu: expected %s, found byte 0x%02x; %s", d->where, d->line,
                           windows ? "windows-1252" : "latin-1", byte,
                           windows ? "is data.encoding the file's?" : "set data.encoding: windows-1252");
        put(d, c);
    }
    return RP_OK;
}

static rp_status decode_utf16(decoder *d)
{
    bool big = d->size >= 2 && d->in[0] == 0xFE && d->in[1] == 0xFF;
    size_t at = big || (d->size >= 2 && d->in[0] == 0xFF && d->in[1] == 0xFE) ? 2 : 0;

    for (; d->size - at >= 2; at += 2) {
        uint32_t c = (uint32_t)(d->in[at + !big] << 8 | d->in[at + big]), low = 0;

        if (c >= 0xD800 && c < 0xDC00 && d->size - at >= 4)
            low = (uint32_t)(d->in[at + 2 + !big] << 8 | d->in[at + 2 + big]);
        if (c >= 0xD800 && c < 0xE000) {
            if (low < 0xDC00 || low > 0xDFFF)
                return rp_fail(d->err, RP_EDATA, "%s:%zu: expected UTF-16, found half a character (0x%04x)", d->where,
                               d->line, (unsigned)c);
            c = 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00);
            at += 2;
        }
        put(d, c);
    }
    if (at < d->size)
        return rp_fail(d->err, RP_EDATA, "%s:%zu: expected UTF-16, found an odd number of bytes", d->where, d->line);
    return RP_OK;
}

rp_status rp_text_decode(rp_buffer *out, const void *bytes, size_t size, rp_encoding encoding, const char *where,
                         rp_error *err)
{
    decoder d = {bytes, size, 1, out, where, err};
    rp_status status = encoding == RP_ENC_UTF16 ? decode_utf16(&d) : decode_bytes(&d, encoding == RP_ENC_WINDOWS1252);

    return status == RP_OK ? rp_buffer_status(out, err) : status;
}
