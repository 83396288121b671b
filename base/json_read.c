/* SPDX-License-Identifier: Apache-2.0
 * The JSON reader: one pass over the text, values and their strings into one arena, each counted before it is made.
 * While an object or array is read its values form a list; at its end the list becomes a table. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_private.h"
#include "base/memory.h"
#include "base/text.h"

/* audit/FORMAT.md 4: what values are counted as. */
enum { VALUE_PRICE = 48, MEMBER_PRICE = 16 };

static const int64_t integer_max = ((int64_t)1 << 53) - 1;

/* ---- the arena ---- */

enum { FIRST_BLOCK = 64 << 10, BLOCK = 1 << 20 };

static char *new_block(rp_json_arena *arena, size_t size)
{
    rp_json_block *b = rp_malloc(sizeof *b + size);

    if (b == NULL)
        return NULL;
    b->next = arena->blocks;
    arena->blocks = b;
    return (char *)b->data;
}

/* Size bytes, aligned for values unless they are text. What is large gets a block of its own, so that less than a
 * quarter of a common block stays unused when the next is begun. */
static void *take(rp_json_arena *arena, size_t size, bool text)
{
    size = text ? size : (size + 7) & ~(size_t)7;
    if (size > (size_t)(arena->end - arena->at)) {
        if (size > arena->next / 4)
            return new_block(arena, size);

        char *data = new_block(arena, arena->next);

        if (data == NULL)
            return NULL;
        arena->at = data;
        arena->end = data + arena->next;
        arena->next = arena->next < BLOCK ? 2 * arena->next : BLOCK;
    }
    if (text)
        return arena->end -= size;
    arena->at += size;
    return arena->at - size;
}

/* The first block is as large as a text of that size is likely to need. */
static rp_json_arena *new_arena(size_t text)
{
    rp_json_arena *arena = rp_calloc(1, sizeof *arena);

    if (arena == NULL)
        return NULL;
    atomic_init(&arena->owners, 1);
    arena->next = 256;
    while (arena->next < FIRST_BLOCK && arena->next / 4 < text)
        arena->next *= 2;
    return arena;
}

/* ---- the reader ---- */

typedef struct reader {
    const unsigned char *begin, *at, *end;
    rp_json_arena *arena;
    size_t limit, left; /* what values may be counted as, and what of it is left */
    bool canonical;
    const rp_json_taker *to; /* NULL: all is held */
    const char *where;
    rp_error *err;
} reader;

/* What stands at `at`, for errors. */
static const char *found(char out[16], const reader *r, const unsigned char *at)
{
    if (at >= r->end)
        return "the end of the text";
    (void)snprintf(out, 16, *at > 0x20 && *at < 0x7F ? "'%c'" : "byte 0x%02x", *at);
    return out;
}

static rp_status refuse(const reader *r, const unsigned char *at, const char *expected)
{
    const unsigned char *line = r->begin;
    size_t lines = 1;
    char quoted[16];

    for (const unsigned char *c = r->begin; c < at; c++)
        if (*c == '\n') {
            lines++;
            line = c + 1;
        }
    return rp_fail(r->err, RP_EFORMAT, "%s: invalid JSON at line %zu, column %zu (byte %zu): expected %s, found %s",
                   r->where, lines, (size_t)(at - line) + 1, (size_t)(at - r->begin), expected, found(quoted, r, at));
}

/* JSON, but not as it would be written. */
static rp_status refuse_form(const reader *r, const unsigned char *at, const char *expected)
{
    char quoted[16];

    return rp_fail(r->err, RP_EFORMAT, "%s: JSON is not in canonical form at byte %zu: expected %s, found %s", r->where,
                   (size_t)(at - r->begin), expected, found(quoted, r, at));
}

static rp_status count(reader *r, size_t price)
{
    if (price > r->left)
        return rp_fail(
            r->err, RP_EFORMAT,
            "%s: JSON of %zu bytes whose values up to byte %zu take more than the %zu MiB of memory that are allowed",
            r->where, (size_t)(r->end - r->begin), (size_t)(r->at - r->begin), r->limit >> 20);
    r->left -= price;
    return RP_OK;
}

static rp_status skip_space(reader *r)
{
    const unsigned char *const from = r->at;

    while (r->at < r->end && (*r->at == ' ' || *r->at == '\t' || *r->at == '\n' || *r->at == '\r'))
        r->at++;
    return r->at > from && r->canonical ? refuse_form(r, from, "no white space") : RP_OK;
}

/* ---- strings ---- */

/* Value of four hexadecimal digits at `at`, or -1. */
static int32_t four_digits(const unsigned char *at, const unsigned char *end)
{
    int32_t value = 0;

    if (end - at < 4)
        return -1;
    for (int i = 0; i < 4; i++) {
        const unsigned char c = at[i], letter = c | 0x20;

        if (c >= '0' && c <= '9')
            value = value * 16 + (c - '0');
        else if (letter >= 'a' && letter <= 'f')
            value = value * 16 + (letter - 'a' + 10);
        else
            return -1;
    }
    return value;
}

/* The character behind the backslash at `at` and, in *size, the bytes of all; -1 where the escape is none. */
static int32_t unescape(const unsigned char *at, const unsigned char *end, size_t *size)
{
    static const char letter[] = "\"\\/bfnrt", character[] = "\"\\/\b\f\n\r\t";
    const char *known = end - at >= 2 && at[1] != 0 ? strchr(letter, at[1]) : NULL;
    int32_t high, low;

    *size = 2;
    if (known != NULL)
        return character[known - letter];
    if (end - at < 6 || at[1] != 'u' || (high = four_digits(at + 2, end)) < 0)
        return -1;
    *size = 6;
    if (high < 0xD800 || high > 0xDFFF)
        return high;
    *size = 12; /* a pair of surrogates */
    if (high > 0xDBFF || end - at < 12 || at[6] != '\\' || at[7] != 'u' || (low = four_digits(at + 8, end)) < 0xDC00 ||
        low > 0xDFFF)
        return -1;
    return 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
}

static size_t utf8_size(int32_t character)
{
    return character < 0x80 ? 1 : character < 0x800 ? 2 : character < 0x10000 ? 3 : 4;
}

static void put_utf8(char *out, int32_t character)
{
    const size_t size = utf8_size(character);
    static const unsigned char lead[] = {0, 0, 0xC0, 0xE0, 0xF0};

    for (size_t i = size; i > 1; i--, character >>= 6)
        out[i - 1] = (char)(0x80 | (character & 0x3F));
    out[0] = (char)(lead[size] | character);
}

/* The escape at `at`: whether it may stand there, its size in the text and that of its character. */
static rp_status check_escape(reader *r, const unsigned char *at, size_t *size, size_t *bytes)
{
    const int32_t character = unescape(at, r->end, size);
    char written[8];

    if (character < 0)
        return refuse(r, at, "an escape of JSON");
    if (character == 0)
        return refuse(r, at, "a character other than U+0000");
    if (r->canonical && (rp_json_escape(written, (uint32_t)character) != *size || memcmp(written, at, *size) != 0))
        return refuse_form(r, at, "the character as the canonical form writes it");
    *bytes = utf8_size(character);
    return RP_OK;
}

/* Past a string's opening quote: checks it up to the closing one, where it leaves *stop; the length of what it says. */
static rp_status scan_string(reader *r, const unsigned char **stop, size_t *length, bool *escaped)
{
    const unsigned char *at = r->at;

    *length = 0;
    *escaped = false;
    for (;;) {
        const unsigned char *const plain = at;
        size_t size, bytes = 0;

        while (at < r->end && *at >= 0x20 && *at < 0x80 && *at != '"' && *at != '\\')
            at++;
        *length += (size_t)(at - plain);
        if (at == r->end)
            return refuse(r, at, "the quote that ends a string");
        if (*at == '"')
            break;
        if (*at == '\\') {
            rp_status status = check_escape(r, at, &size, &bytes);

            if (status != RP_OK)
                return status;
            *escaped = true;
        } else if (*at < 0x20)
            return refuse(r, at, "control characters as escapes");
        else if ((size = bytes = rp_utf8(at, r->end)) == 0)
            return refuse(r, at, "UTF-8");
        at += size;
        *length += bytes;
    }
    *stop = at;
    return RP_OK;
}

static void copy_unescaped(char *out, const unsigned char *at, const unsigned char *stop)
{
    while (at < stop) {
        if (*at != '\\') {
            *out++ = (char)*at++;
            continue;
        }

        size_t size;
        const int32_t character = unescape(at, stop, &size);

        put_utf8(out, character);
        out += utf8_size(character);
        at += size;
    }
}

/* The string whose opening quote is at r->at. */
static rp_status read_string(reader *r, const char **out, uint32_t *length)
{
    const unsigned char *stop = r->at;
    size_t size;
    bool escaped;
    char *text;
    rp_status status;

    if (r->at == r->end || *r->at != '"')
        return refuse(r, r->at, "the quote that begins a string");
    r->at++;
    if ((status = scan_string(r, &stop, &size, &escaped)) != RP_OK || (status = count(r, size + 1)) != RP_OK)
        return status;
    if ((text = take(r->arena, size + 1, true)) == NULL)
        return rp_no_memory(r->err);
    if (escaped)
        copy_unescaped(text, r->at, stop);
    else
        memcpy(text, r->at, size);
    text[size] = '\0';
    r->at = stop + 1;
    *out = text;
    *length = (uint32_t)size;
    return RP_OK;
}

/* ---- numbers and words ---- */

static rp_status read_number(reader *r, rp_json *out)
{
    const unsigned char *const from = r->at;
    const bool negative = *from == '-';
    uint64_t value = 0, limit = (uint64_t)INT64_MAX + negative;

    r->at += negative;
    if (r->at == r->end || *r->at < '0' || *r->at > '9')
        return refuse(r, r->at, "a digit");
    if (*r->at == '0' && r->end - r->at > 1 && r->at[1] >= '0' && r->at[1] <= '9')
        return refuse(r, r->at, "a number without leading zeros");
    for (; r->at < r->end && *r->at >= '0' && *r->at <= '9'; r->at++) {
        const unsigned digit = *r->at - '0';

        if (value > (limit - digit) / 10)
            return refuse(r, from, "an integer of 64 bits");
        value = value * 10 + digit;
    }
    if (r->at < r->end && (*r->at == '.' || *r->at == 'e' || *r->at == 'E'))
        return refuse(r, r->at, "an integer, as reals are strings here");
    out->kind = JSON_INTEGER;
    out->integer = negative ? (int64_t)(0 - value) : (int64_t)value;
    if (r->canonical && (value > (uint64_t)integer_max || (negative && value == 0)))
        return refuse_form(r, from, value == 0 ? "0 without a sign" : "an integer of at most 2^53 - 1 in magnitude");
    return RP_OK;
}

static rp_status read_word(reader *r, rp_json *out)
{
    static const struct {
        const char *text;
        size_t size;
        rp_json_kind kind;
    } word[] = {{"true", 4, JSON_TRUE}, {"false", 5, JSON_FALSE}, {"null", 4, JSON_NULL}};

    for (size_t i = 0; i < sizeof word / sizeof *word; i++)
        if ((size_t)(r->end - r->at) >= word[i].size && memcmp(r->at, word[i].text, word[i].size) == 0) {
            r->at += word[i].size;
            out->kind = word[i].kind;
            return RP_OK;
        }
    return refuse(r, r->at, "a value");
}

/* ---- arrays and objects ---- */

static rp_status read_value(reader *r, rp_json *out, int depth);

/* A value as it stands in a list, with its key where the list is an object's. */
typedef struct keyed {
    rp_json value;
    const char *key;
} keyed;

_Static_assert(sizeof(rp_json) + sizeof(rp_json *) <= VALUE_PRICE, "an element takes at most its price");
_Static_assert(sizeof(keyed) + sizeof(rp_json_member) <= VALUE_PRICE + MEMBER_PRICE,
               "a member takes at most its price");

typedef struct list {
    rp_json *first, *last;
    uint32_t count;
} list;

static rp_status new_value(reader *r, size_t size, size_t price, rp_json **out)
{
    rp_status status = count(r, price);

    if (status != RP_OK)
        return status;
    if ((*out = take(r->arena, size, false)) == NULL)
        return rp_no_memory(r->err);
    (*out)->arena = r->arena;
    (*out)->next = NULL;
    (*out)->count = 0;
    return RP_OK;
}

static void append(list *l, rp_json *value)
{
    if (l->first == NULL)
        l->first = value;
    else
        l->last->next = value;
    l->last = value;
    l->count++;
}

/* Behind a value in a list: the comma before the next, or the bracket that ends the list. */
static rp_status read_separator(reader *r, char closing, bool *more)
{
    rp_status status = skip_space(r);

    if (status != RP_OK)
        return status;
    *more = r->at < r->end && *r->at == ',';
    if (!*more && (r->at == r->end || *r->at != (unsigned char)closing))
        return refuse(r, r->at, closing == ']' ? "',' or ']'" : "',' or '}'");
    r->at++;
    return *more ? skip_space(r) : RP_OK;
}

/* Past the opening bracket: whether the list is empty, and then past the closing one. */
static rp_status read_opening(reader *r, char closing, bool *more)
{
    rp_status status;

    r->at++;
    if ((status = skip_space(r)) != RP_OK)
        return status;
    *more = r->at == r->end || *r->at != (unsigned char)closing;
    r->at += !*more;
    return RP_OK;
}

static rp_status make_array(reader *r, rp_json *out, list l)
{
    out->kind = JSON_ARRAY;
    out->count = l.count;
    out->element = take(r->arena, l.count * sizeof *out->element, false);
    if (out->element == NULL)
        return rp_no_memory(r->err);
    for (uint32_t i = 0; l.first != NULL; l.first = l.first->next)
        out->element[i++] = l.first;
    return RP_OK;
}

static rp_status read_array(reader *r, rp_json *out, int depth)
{
    list l = {0};
    bool more;
    rp_status status = read_opening(r, ']', &more);

    while (status == RP_OK && more) {
        rp_json *value;

        status = new_value(r, sizeof *value, VALUE_PRICE, &value);
        if (status == RP_OK)
            status = read_value(r, value, depth + 1);
        if (status != RP_OK)
            return status;
        append(&l, value);
        status = read_separator(r, ']', &more);
    }
    return status == RP_OK ? make_array(r, out, l) : status;
}

static rp_status refuse_key(const reader *r, const unsigned char *at, bool twice, const char *key)
{
    char quoted[96];

    return rp_fail(r->err, RP_EFORMAT, "%s: %s at byte %zu: the key \"%s\" %s", r->where,
                   twice ? "invalid JSON" : "JSON is not in canonical form", (size_t)(at - r->begin),
                   rp_printable(quoted, sizeof quoted, key, strlen(key)),
                   twice ? "stands twice in one object" : "is out of order");
}

/* The key at r->at and its colon. Keys of the canonical form ascend; others are sorted when all are known. */
static rp_status read_key(reader *r, keyed *member, const keyed *before, bool *sorted)
{
    const unsigned char *const from = r->at;
    uint32_t length;
    rp_status status = read_string(r, &member->key, &length);

    if (status != RP_OK)
        return status;
    if (before != NULL) {
        const int step = rp_json_key_compare(before->key, member->key);

        if (step == 0)
            return refuse_key(r, from, true, member->key);
        if (step > 0 && r->canonical)
            return refuse_key(r, from, false, member->key);
        *sorted = *sorted && step < 0;
    }
    if ((status = skip_space(r)) != RP_OK)
        return status;
    if (r->at == r->end || *r->at != ':')
        return refuse(r, r->at, "':'");
    r->at++;
    return skip_space(r);
}

static int by_key(const void *a, const void *b)
{
    return rp_json_key_compare(((const rp_json_member *)a)->key, ((const rp_json_member *)b)->key);
}

static rp_status make_object(reader *r, rp_json *out, list l, bool sorted)
{
    out->kind = JSON_OBJECT;
    out->count = l.count;
    out->member = take(r->arena, l.count * sizeof *out->member, false);
    if (out->member == NULL)
        return rp_no_memory(r->err);
    for (uint32_t i = 0; l.first != NULL; l.first = l.first->next)
        out->member[i++] = (rp_json_member){((keyed *)l.first)->key, l.first};
    if (sorted)
        return RP_OK;
    qsort(out->member, l.count, sizeof *out->member, by_key);
    for (uint32_t i = 1; i < l.count; i++)
        if (strcmp(out->member[i - 1].key, out->member[i].key) == 0)
            return refuse_key(r, r->at - 1, true, out->member[i].key);
    return RP_OK;
}

/* One part for the taker, of the list of that key or, without one, a member with its own. It has an arena of its own;
 * a count that went on would bound the number of parts. */
static rp_status hand_over(reader *r, const char *of, int depth)
{
    enum { USUAL_PART = 256 };
    rp_json_arena *const whole = r->arena;
    const size_t left = r->left;
    rp_json *value = NULL;
    bool sorted;
    rp_status status;

    if ((r->arena = new_arena(USUAL_PART)) == NULL) {
        r->arena = whole;
        return rp_no_memory(r->err);
    }
    status = new_value(r, sizeof(keyed), of != NULL ? VALUE_PRICE : VALUE_PRICE + MEMBER_PRICE, &value);
    if (status == RP_OK && of == NULL)
        status = read_key(r, (keyed *)value, NULL, &sorted);
    if (status == RP_OK)
        status = read_value(r, value, depth + 1);
    if (status == RP_OK)
        status = r->to->take(r->to->self, of != NULL ? of : ((keyed *)value)->key, value, r->err);
    rp_json_arena_free(r->arena);
    r->arena = whole;
    r->left = left;
    return status;
}

/* The array of that key or, without one, the object at r->at. */
static rp_status hand_parts_over(reader *r, rp_json *out, const char *of, int depth)
{
    const char closing = of != NULL ? ']' : '}';
    bool more = false;
    rp_status status = read_opening(r, closing, &more);

    while (status == RP_OK && more) {
        status = hand_over(r, of, depth);
        if (status == RP_OK)
            status = read_separator(r, closing, &more);
    }
    if (status != RP_OK)
        return status;
    return of != NULL ? make_array(r, out, (list){0}) : make_object(r, out, (list){0}, true);
}

/* The value of a member: whether it goes to the taker. */
static bool is_taken(const reader *r, const char *key, int depth)
{
    if (r->to == NULL || depth > 0 || r->at == r->end || *r->at != '[')
        return false;
    for (size_t i = 0; i < r->to->lists; i++)
        if (strcmp(r->to->list[i], key) == 0)
            return true;
    return false;
}

static rp_status read_member(reader *r, rp_json *value, const char *key, int depth)
{
    return is_taken(r, key, depth) ? hand_parts_over(r, value, key, depth + 1) : read_value(r, value, depth + 1);
}

static rp_status read_object(reader *r, rp_json *out, int depth)
{
    list l = {0};
    bool more, sorted = true;
    rp_status status = read_opening(r, '}', &more);

    while (status == RP_OK && more) {
        rp_json *value;

        status = new_value(r, sizeof(keyed), VALUE_PRICE + MEMBER_PRICE, &value);
        if (status == RP_OK)
            status = read_key(r, (keyed *)value, (const keyed *)l.last, &sorted);
        if (status == RP_OK)
            status = read_member(r, value, ((keyed *)value)->key, depth);
        if (status != RP_OK)
            return status;
        append(&l, value);
        status = read_separator(r, '}', &more);
    }
    return status == RP_OK ? make_object(r, out, l, sorted) : status;
}

/* Recurses as deep as the text nests. */
static rp_status read_value(reader *r, rp_json *out, int depth)
{
    if (r->at == r->end)
        return refuse(r, r->at, "a value");
    switch (*r->at) {
    case '{':
    case '[':
        if (depth == RP_JSON_DEPTH)
            return rp_fail(r->err, RP_EFORMAT, "%s: JSON nested deeper than %d at byte %zu", r->where, RP_JSON_DEPTH,
                           (size_t)(r->at - r->begin));
        return *r->at == '{' ? read_object(r, out, depth) : read_array(r, out, depth);
    case '"':
        out->kind = JSON_STRING;
        return read_string(r, &out->text, &out->count);
    case '-':
    case '0':
    case '1':
    case '2':
    case '3':
    case '4':
    case '5':
    case '6':
    case '7':
    case '8':
    case '9':
        return read_number(r, out);
    default:
        return read_word(r, out);
    }
}

static rp_status read_text(reader *r, rp_json **out)
{
    rp_json *value = NULL;
    rp_status status = skip_space(r);

    if (status == RP_OK)
        status = new_value(r, sizeof *value, VALUE_PRICE, &value);
    if (status == RP_OK && (r->to == NULL || r->to->lists > 0))
        status = read_value(r, value, 0);
    else if (status == RP_OK)
        status = r->at < r->end && *r->at == '{' ? hand_parts_over(r, value, NULL, 0) : refuse(r, r->at, "an object");
    if (status == RP_OK)
        status = skip_space(r);
    if (status != RP_OK)
        return status;
    if (r->at != r->end)
        return refuse(r, r->at, "the end of the text");
    *out = value;
    return RP_OK;
}

rp_status rp_json_parse_parts(rp_json **out, const void *text, size_t size, size_t limit, bool canonical,
                              const rp_json_taker *to, const char *where, rp_error *err)
{
    reader r = {.begin = text,
                .at = text,
                .limit = limit,
                .left = limit,
                .canonical = canonical,
                .to = to,
                .where = where,
                .err = err};
    rp_status status;

    *out = NULL;
    if (to != NULL && to->lists == 0 && canonical)
        return rp_fail(err, RP_EARG, "%s: members that are handed over have no order that is looked at", where);
    if (size >= UINT32_MAX)
        return rp_fail(err, RP_EFORMAT, "%s: JSON of %zu bytes, at most 4 GiB are read", where, size);
    if (size == 0) /* text may be NULL then */
        r.begin = r.at = (const unsigned char *)"";
    r.end = r.begin + size;
    if ((r.arena = new_arena(size)) == NULL)
        return rp_no_memory(err);
    if ((status = read_text(&r, out)) != RP_OK)
        rp_json_arena_free(r.arena);
    return status;
}

rp_status rp_json_parse_within(rp_json **out, const void *text, size_t size, size_t limit, bool canonical,
                               const char *where, rp_error *err)
{
    return rp_json_parse_parts(out, text, size, limit, canonical, NULL, where, err);
}

rp_status rp_json_parse(rp_json **out, const void *text, size_t size, bool canonical, const char *where, rp_error *err)
{
    return rp_json_parse_within(out, text, size, RP_JSON_MEMORY, canonical, where, err);
}

/* Behind the string that begins at `at`; *bytes grows by what it says and its end. */
static const unsigned char *pass_string(const unsigned char *at, const unsigned char *end, size_t *bytes)
{
    for (at++; at < end && *at != '"'; ++*bytes) {
        const bool coded = *at == '\\' && end - at > 5 && at[1] == 'u';

        at += coded ? 6 : *at == '\\' ? 2 : 1;
    }
    ++*bytes;
    return at < end ? at + 1 : end;
}

static bool is_scalar(unsigned char c)
{
    return c == '-' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z');
}

size_t rp_json_memory(const void *text, size_t size)
{
    const unsigned char *at = text, *const end = at + size;
    size_t price = 0;

    while (at < end)
        switch (*at) {
        case '"':
            price += VALUE_PRICE;
            at = pass_string(at, end, &price);
            break;
        case ':': /* behind a key, which is no value */
            price -= VALUE_PRICE - MEMBER_PRICE;
            at++;
            break;
        case '{':
        case '[':
            price += VALUE_PRICE;
            at++;
            break;
        default:
            price += is_scalar(*at) ? VALUE_PRICE : 0;
            do
                at++;
            while (at < end && is_scalar(at[-1]) && is_scalar(*at));
        }
    return price;
}
