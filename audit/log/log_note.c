/* SPDX-License-Identifier: Apache-2.0
 * Checkpoints and proofs as text: C2SP signed-note, tlog-checkpoint and tlog-proof, and for consistency the request of
 * tlog-witness. Base64 is decoded, encoded again and compared, as in statements. */
#include "audit/log/log_note.h"

#include <openssl/evp.h>
#include <string.h>

#include "base/text.h"

static const char dash[] = RP_LOG_DASH, proof_line[] = RP_LOG_PROOF_LINE;
enum { DASH = sizeof dash - 1, HASH64 = 44, SIGNATURE_MAX = 6144 }; /* post-quantum cosignatures take nearly 5 kB */

/* ---- lines ---- */

typedef struct reader {
    const char *at, *end, *where;
    size_t line;
    rp_error *err;
} reader;

/* An empty file may have no text at all, and NULL takes no offset. */
static reader reader_of(const char *text, size_t size, const char *where, rp_error *err)
{
    const char *begin = size ? text : "";

    return (reader){begin, begin + size, where, 0, err};
}

typedef struct span {
    const char *text;
    size_t size;
} span;

static rp_status malformed(const reader *r, const char *expected)
{
    return rp_fail(r->err, RP_EFORMAT, "%s: line %zu: expected %s", r->where, r->line, expected);
}

/* The next line without its newline. */
static rp_status next(reader *r, span *out, const char *expected)
{
    const char *newline = r->at < r->end ? memchr(r->at, '\n', (size_t)(r->end - r->at)) : NULL;

    r->line++;
    *out = (span){0};
    if (newline == NULL)
        return malformed(r, expected);
    *out = (span){r->at, (size_t)(newline - r->at)};
    r->at = newline + 1;
    return RP_OK;
}

/* Decimal without leading zeros, below 2^63. */
static bool number(uint64_t *out, const char *text, size_t size)
{
    uint64_t value = 0;

    if (size == 0 || size > 19 || (text[0] == '0' && size > 1))
        return false;
    for (size_t i = 0; i < size; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        value = value * 10 + (uint64_t)(text[i] - '0');
    }
    *out = value;
    return value <= INT64_MAX;
}

/* ---- base64 ---- */

/* Strict: one text for the bytes. out has room for size / 4 * 3. */
static bool get64(unsigned char *out, size_t *length, const char *text, size_t size)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    uint32_t four = 0;
    size_t pads = size >= 2 && text[size - 1] == '=' ? 1 + (text[size - 2] == '=') : 0, n = 0;

    if (size == 0 || size % 4 != 0)
        return false;
    for (size_t i = 0; i < size; i++) {
        const char *digit = i < size - pads ? memchr(digits, text[i], 64) : digits;
        if (digit == NULL)
            return false;
        four = four << 6 | (uint32_t)(digit - digits);
        if (i % 4 == 3) {
            out[n++] = (unsigned char)(four >> 16);
            out[n++] = (unsigned char)(four >> 8);
            out[n++] = (unsigned char)four;
        }
    }
    *length = n - pads; /* what the padding stands for must have been zero */
    return (four & (pads == 2 ? 0xffff : pads == 1 ? 0xff : 0)) == 0;
}

static bool get_digest(rp_digest *out, const span *line)
{
    unsigned char bytes[HASH64 / 4 * 3];
    size_t length;

    if (line->size != HASH64 || !get64(bytes, &length, line->text, line->size) || length != RP_DIGEST_SIZE)
        return false;
    memcpy(out->bytes, bytes, RP_DIGEST_SIZE);
    return true;
}

/* ---- checkpoints ---- */

/* Names of keys and origins: no spaces, no plus (signed-note); ours are ASCII. */
static bool name_valid(const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (text[i] <= ' ' || text[i] > '~' || text[i] == '+')
            return false;
    return size > 0 && size < RP_LOG_ORIGIN;
}

rp_status rp_log_origin_check(const char *origin, rp_error *err)
{
    char shown[80];

    if (name_valid(origin, strlen(origin)))
        return RP_OK;
    return rp_fail(err, RP_EARG,
                   "\"%s\" is not an origin: expected 1 to %d printable ASCII characters without spaces and "
                   "'+', such as example.com/models",
                   rp_printable(shown, sizeof shown, origin, strlen(origin)), RP_LOG_ORIGIN - 1);
}

/* One signature line: its key's name, and key id and signature as bytes[SIGNATURE_MAX]. */
static rp_status next_signature(reader *r, span *name, unsigned char *bytes, size_t *length)
{
    static const char expected[] = "a signature: an em dash, the key's name, base64 of key id and signature";
    span line;
    const char *space;
    rp_status status = next(r, &line, expected);

    *name = (span){0};
    *length = 0;
    if (status != RP_OK)
        return status;
    if (line.size <= DASH || memcmp(line.text, dash, DASH) != 0)
        return malformed(r, expected);
    space = memchr(line.text + DASH, ' ', line.size - DASH);
    if (space == NULL)
        return malformed(r, expected);
    *name = (span){line.text + DASH, (size_t)(space - line.text) - DASH};
    line.size -= (size_t)(space + 1 - line.text);
    if (!name_valid(name->text, name->size) || line.size > SIGNATURE_MAX / 3 * 4 ||
        !get64(bytes, length, space + 1, line.size) || *length <= 4)
        return malformed(r, expected);
    return RP_OK;
}

static rp_status parse_head(reader *r, rp_log_head *head)
{
    span line;
    rp_status status = next(r, &line, "the log's origin");

    if (status == RP_OK && !name_valid(line.text, line.size))
        status = malformed(r, "the log's origin: printable ASCII without spaces and '+'");
    if (status != RP_OK)
        return status;
    memcpy(head->origin, line.text, line.size);
    head->origin[line.size] = '\0';
    status = next(r, &line, "the size of the tree");
    if (status == RP_OK && !number(&head->size, line.text, line.size))
        status = malformed(r, "the size of the tree: a decimal below 2^63 without leading zeros");
    if (status == RP_OK)
        status = next(r, &line, "the root of the tree");
    if (status == RP_OK && !get_digest(&head->root, &line))
        status = malformed(r, "the root of the tree: base64 of 32 bytes");
    return status;
}

rp_status rp_log_note_parse(rp_log_note *out, const char *text, size_t size, const char *where, rp_error *err)
{
    reader r = reader_of(text, size, where, err);
    unsigned char bytes[SIGNATURE_MAX];
    span line, name;
    size_t length = 0, signatures = 0;
    rp_status status;

    if (size > RP_LOG_NOTE_LIMIT)
        return rp_fail(err, RP_EFORMAT, "%s: a checkpoint of %zu bytes, at most %d are allowed", where, size,
                       (int)RP_LOG_NOTE_LIMIT);
    status = parse_head(&r, &out->head);
    out->text = text;
    out->size = size;
    out->signed_size = (size_t)(r.at - text);
    if (status == RP_OK)
        status = next(&r, &line, "an empty line");
    out->head.predictions = status == RP_OK && line.size == strlen(RP_LOG_OF_PREDICTIONS) &&
                            memcmp(line.text, RP_LOG_OF_PREDICTIONS, line.size) == 0;
    if (out->head.predictions) {
        out->signed_size = (size_t)(r.at - text);
        status = next(&r, &line, "an empty line");
    }
    if (status == RP_OK && line.size != 0)
        status = malformed(&r, "an empty line: no other extension lines are supported");
    while (status == RP_OK && (signatures == 0 || r.at < r.end)) {
        if (++signatures > RP_LOG_SIGNATURES_MAX)
            return malformed(&r, "at most 64 signatures");
        status = next_signature(&r, &name, bytes, &length);
    }
    return status;
}

/* Whether key made the signature of a line that bears the origin's name: *by is then key. */
static rp_status try_key(const rp_log_note *note, const rp_key *key, const unsigned char *bytes, size_t length,
                         const rp_key **by, rp_error *err)
{
    unsigned char id[4];
    rp_status status = rp_key_note_id(key, note->head.origin, id, err);

    if (status != RP_OK || memcmp(id, bytes, sizeof id) != 0)
        return status;
    status = rp_key_check(key, note->text, note->signed_size, bytes + 4, length - 4, err);
    if (status == RP_OK)
        *by = key;
    return status;
}

rp_status rp_log_note_find(const rp_log_note *note, const rp_key *const *trusted, size_t n_trusted, const rp_key **by,
                           const char *where, rp_error *err)
{
    reader r = {note->text + note->signed_size + 1, note->text + note->size, where, 0, err};
    unsigned char bytes[SIGNATURE_MAX];
    span name;
    size_t length;
    rp_status status = RP_OK;

    *by = NULL;
    while (status == RP_OK && r.at < r.end) {
        status = next_signature(&r, &name, bytes, &length);
        if (status != RP_OK || name.size != strlen(note->head.origin) ||
            memcmp(name.text, note->head.origin, name.size) != 0)
            continue;
        for (size_t i = 0; i < n_trusted && status == RP_OK; i++)
            if ((status = try_key(note, trusted[i], bytes, length, by, err)) != RP_OK)
                status = rp_fail_at(err, status, "%s", where);
    }
    return status;
}

rp_status rp_log_note_check(const rp_log_note *note, const rp_key *const *trusted, size_t n_trusted, const rp_key **by,
                            const char *where, rp_error *err)
{
    rp_status status = rp_log_note_find(note, trusted, n_trusted, by, where, err);

    if (status == RP_OK && *by == NULL)
        status = rp_fail(err, RP_ESIGN, "%s: no trusted key signed this checkpoint of %s", where, note->head.origin);
    return status;
}

/* ---- proofs ---- */

/* "word NUMBER", hashes, an empty line, a checkpoint. */
static rp_status parse_proof(reader *r, rp_log_proof *out, const char *word, const char *expected)
{
    size_t skip = strlen(word);
    span line;
    rp_status status = next(r, &line, expected);

    if (status == RP_OK && (line.size <= skip || memcmp(line.text, word, skip) != 0 ||
                            !number(&out->number, line.text + skip, line.size - skip)))
        status = malformed(r, expected);
    for (out->length = 0; status == RP_OK; out->length++) {
        status = next(r, &line, "a hash or an empty line");
        if (status != RP_OK || line.size == 0)
            break;
        if (out->length == RP_LOG_PATH_MAX)
            return malformed(r, "an empty line: no proof has more than 64 hashes");
        if (!get_digest(&out->path[out->length], &line))
            return malformed(r, "a hash: base64 of 32 bytes");
    }
    if (status != RP_OK)
        return status;
    return rp_log_note_parse(&out->note, r->at, (size_t)(r->end - r->at), r->where, r->err);
}

static rp_status parse_extra(reader *r, rp_log_extra *extra)
{
    static const char expected[] = "\"extra\" and base64 of a record of a prediction", word[] = "extra ";
    const size_t skip = sizeof word - 1;
    span line;
    rp_status status = next(r, &line, expected);

    if (status == RP_OK &&
        (line.size <= skip || memcmp(line.text, word, skip) != 0 || line.size - skip > RP_LOG_EXTRA_MAX / 3 * 4 ||
         !get64(extra->bytes, &extra->size, line.text + skip, line.size - skip)))
        status = malformed(r, expected);
    return status;
}

rp_status rp_log_inclusion_parse(rp_log_proof *out, const char *text, size_t size, const char *where, rp_error *err)
{
    return rp_log_inclusion_parse_extra(out, NULL, text, size, where, err);
}

rp_status rp_log_inclusion_parse_extra(rp_log_proof *out, rp_log_extra *extra, const char *text, size_t size,
                                       const char *where, rp_error *err)
{
    reader r = reader_of(text, size, where, err);
    span line;
    rp_status status = next(&r, &line, proof_line);

    if (status == RP_OK && (line.size != sizeof proof_line - 1 || memcmp(line.text, proof_line, line.size) != 0))
        status = malformed(&r, proof_line);
    if (status == RP_OK && extra)
        status = parse_extra(&r, extra);
    return status == RP_OK
               ? parse_proof(&r, out, "index ", "\"index\" and a number (extra data is of predictions only)")
               : status;
}

rp_status rp_log_consistency_parse(rp_log_proof *out, const char *text, size_t size, const char *where, rp_error *err)
{
    reader r = reader_of(text, size, where, err);

    return parse_proof(&r, out, "old ", "\"old\" and the size of the older tree");
}
