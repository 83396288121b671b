/* SPDX-License-Identifier: Apache-2.0
 * NumPy's file format of one array (NEP 1): magic, version, the length of a header, the header, which is a dictionary
 * as Python writes one, the elements. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "core/data/arrays/arrays.h"

enum { MAGIC = 6, HEADER_LIMIT = 65536 };

static const unsigned char magic[MAGIC] = {0x93, 'N', 'U', 'M', 'P', 'Y'};

typedef struct header {
    const char *at, *end;
    rp_array *out;
    bool has_type, has_order, has_shape;
    rp_error *err;
} header;

bool rp_array_is_npy(const void *bytes, size_t size)
{
    return size >= MAGIC && memcmp(bytes, magic, MAGIC) == 0;
}

size_t rp_array_type_size(rp_array_type type)
{
    static const unsigned char sizes[RP_ARRAY_TYPES] = {1, 1, 1, 2, 2, 4, 4, 8, 8, 4, 8, 2, 2};

    return sizes[type];
}

size_t rp_array_row(const rp_array *array)
{
    size_t n = 1;

    for (int i = 1; i < array->rank; i++)
        n *= array->shape[i];
    return n;
}

rp_status rp_array_check(const rp_array *array, size_t size, rp_error *err)
{
    size_t bytes = rp_array_type_size(array->type);

    if (array->rank == 0)
        return rp_fail(err, RP_EDATA, "%s: expected an array of rows, found a single number", array->where);
    for (int i = 0; i < array->rank; i++) {
        if (array->shape[i] == 0)
            return rp_fail(err, RP_EDATA, "%s: axis %d has no elements: there is nothing to learn from", array->where,
                           i);
        if (bytes > SIZE_MAX / 2 / array->shape[i])
            return rp_fail(err, RP_EDATA, "%s: its shape has more elements than a file can hold", array->where);
        bytes *= array->shape[i];
    }
    if (bytes != size)
        return rp_fail(err, RP_EDATA,
                       "%s: its shape and type take %zu bytes, found %zu: the file is cut off or damaged", array->where,
                       bytes, size);
    return RP_OK;
}

/* ---- the dictionary ---- */

static rp_status damaged(const header *h)
{
    return rp_fail(h->err, RP_EDATA,
                   "%s: expected the header of an .npy file, {'descr': .., 'fortran_order': .., 'shape': ..}: the file "
                   "is damaged, or has named fields; save it again with numpy.save",
                   h->out->where);
}

static bool take(header *h, char c)
{
    while (h->at < h->end && (*h->at == ' ' || *h->at == '\n'))
        h->at++;
    if (h->at == h->end || *h->at != c)
        return false;
    h->at++;
    return true;
}

/* A text in quotes, without escapes: keys and types have none. */
static bool take_text(header *h, char *out, size_t size)
{
    const char quote = take(h, '\'') ? '\'' : take(h, '"') ? '"' : 0;
    size_t n = 0;

    while (quote && h->at < h->end && *h->at != quote && n + 1 < size)
        out[n++] = *h->at++;
    out[n] = '\0';
    return quote && h->at < h->end && *h->at++ == quote;
}

static bool take_word(header *h, const char *word)
{
    const size_t n = strlen(word);

    while (h->at < h->end && *h->at == ' ')
        h->at++;
    if ((size_t)(h->end - h->at) < n || memcmp(h->at, word, n) != 0)
        return false;
    h->at += n;
    return true;
}

static bool take_size(header *h, size_t *out)
{
    bool any = false;

    while (h->at < h->end && *h->at == ' ')
        h->at++;
    for (*out = 0; h->at < h->end && *h->at >= '0' && *h->at <= '9'; h->at++, any = true) {
        if (*out > SIZE_MAX / 16)
            return false;
        *out = *out * 10 + (size_t)(*h->at - '0');
    }
    return any;
}

static rp_status read_type(header *h)
{
    static const char *const names[RP_ARRAY_TYPES] = {"b1", "u1", "i1", "u2", "i2", "u4",
                                                      "i4", "u8", "i8", "f4", "f8", "f2"}; /* of bf16 NumPy has none */
    char text[16], shown[40];

    if (!take_text(h, text, sizeof text))
        return damaged(h);
    for (int i = 0; i < RP_ARRAY_TYPES; i++) {
        const bool one = rp_array_type_size((rp_array_type)i) == 1;

        if (names[i] && text[0] != '\0' && strcmp(text + 1, names[i]) == 0 &&
            (text[0] == '<' || (one && strchr("|>=", text[0]) != NULL))) {
            h->out->type = (rp_array_type)i;
            h->has_type = true;
            return RP_OK;
        }
    }
    return rp_fail(
        h->err, RP_EDATA,
        "%s: expected elements of bool, an integer of 8 to 64 bits, f16, f32 or f64, low byte first, found \"%s\"; "
        "save it as one of these, as in x.astype(\"<f4\")",
        h->out->where, rp_printable(shown, sizeof shown, text, strlen(text)));
}

static rp_status read_order(header *h)
{
    if (take_word(h, "True"))
        return rp_fail(h->err, RP_EDATA,
                       "%s: expected rows in order, found columns (fortran_order); save numpy.ascontiguousarray(x)",
                       h->out->where);
    if (!take_word(h, "False"))
        return damaged(h);
    h->has_order = true;
    return RP_OK;
}

static rp_status read_shape(header *h)
{
    if (!take(h, '('))
        return damaged(h);
    h->out->rank = 0;
    while (!take(h, ')')) {
        if (h->out->rank == RP_ARRAY_RANK)
            return rp_fail(h->err, RP_EDATA, "%s: more than %d axes", h->out->where, (int)RP_ARRAY_RANK);
        if (!take_size(h, &h->out->shape[h->out->rank]))
            return damaged(h);
        h->out->rank++;
        if (!take(h, ',')) {
            if (!take(h, ')'))
                return damaged(h);
            break;
        }
    }
    h->has_shape = true;
    return RP_OK;
}

static rp_status read_entry(header *h)
{
    char key[32];

    if (!take_text(h, key, sizeof key) || !take(h, ':'))
        return damaged(h);
    if (strcmp(key, "descr") == 0 && !h->has_type)
        return read_type(h);
    if (strcmp(key, "fortran_order") == 0 && !h->has_order)
        return read_order(h);
    return strcmp(key, "shape") == 0 && !h->has_shape ? read_shape(h) : damaged(h);
}

static rp_status read_header(header *h)
{
    rp_status status = take(h, '{') ? RP_OK : damaged(h);

    while (status == RP_OK && !take(h, '}')) {
        status = read_entry(h);
        if (status == RP_OK && !take(h, ',')) {
            status = take(h, '}') ? RP_OK : damaged(h);
            break;
        }
    }
    while (h->at < h->end && (*h->at == ' ' || *h->at == '\n'))
        h->at++;
    if (status == RP_OK && (h->at != h->end || !h->has_type || !h->has_order || !h->has_shape))
        status = damaged(h);
    return status;
}

rp_status rp_array_from_npy(rp_array *out, const void *bytes, size_t size, const char *where, rp_error *err)
{
    const unsigned char *in = bytes;
    header h = {.out = out, .err = err};
    size_t begin, length;
    rp_status status;

    *out = (rp_array){.rank = 0};
    (void)snprintf(out->where, sizeof out->where, "%s", where);
    if (!rp_array_is_npy(bytes, size))
        return rp_fail(err, RP_EDATA, "%s: expected an .npy file, as numpy.save writes one", where);
    if (size < MAGIC + 6 || in[MAGIC] < 1 || in[MAGIC] > 3)
        return damaged(&h);
    begin = MAGIC + 2 + (in[MAGIC] == 1 ? 2 : 4);
    length = (size_t)in[MAGIC + 2] | (size_t)in[MAGIC + 3] << 8;
    if (in[MAGIC] > 1)
        length |= (size_t)in[MAGIC + 4] << 16 | (size_t)in[MAGIC + 5] << 24;
    if (length > HEADER_LIMIT || length > size - begin)
        return damaged(&h);
    h.at = (const char *)in + begin;
    h.end = h.at + length;
    status = read_header(&h);
    out->data = in + begin + length;
    out->size = size - begin - length;
    return status == RP_OK ? rp_array_check(out, out->size, err) : status;
}
