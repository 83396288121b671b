/* SPDX-License-Identifier: Apache-2.0
 * JSON: what the strict and the tolerant reader take, judged by a second reader (jansson, and writing again), with
 * every text of a few cut and changed everywhere; memory counted, bounded and failing; values built, shared and
 * written. */
#include "tests/base/json_tests.h"

#include <dirent.h>

#include <jansson.h>

#include "base/file.h"

static rp_error err;

/* ---- the second reader ---- */

static int by_utf16(const void *a, const void *b)
{
    const unsigned char *x = *(const unsigned char *const *)a, *y = *(const unsigned char *const *)b;

    while (*x && *x == *y)
        x++, y++;
    if (*x >= 0xEE && *y >= 0xEE && (*x >= 0xF0) != (*y >= 0xF0))
        return *x >= 0xF0 ? -1 : 1;
    return *x - *y;
}

static void again_string(const char *text, rp_buffer *out)
{
    rp_buffer_text(out, "\"");
    for (; *text; text++) {
        const char *known = strchr("\"\\\b\f\n\r\t", *text);

        if (known)
            rp_buffer_printf(out, "\\%c", "\"\\bfnrt"[known - strchr("\"\\\b\f\n\r\t", '"')]);
        else if ((unsigned char)*text < 0x20)
            rp_buffer_printf(out, "\\u%04x", (unsigned)*text);
        else
            rp_buffer_append(out, text, 1);
    }
    rp_buffer_text(out, "\"");
}

/* False: a real, a large integer, or too deep. */
static bool again(json_t *value, rp_buffer *out, int depth, bool *large)
{
    if ((json_is_object(value) || json_is_array(value)) && depth >= 64)
        return false;
    if (json_is_object(value)) {
        size_t count = json_object_size(value), n = 0;
        const char **keys = calloc(count + 1, sizeof *keys), *key;
        json_t *item;
        bool fine = true;

        json_object_foreach(value, key, item) keys[n++] = key;
        qsort(keys, n, sizeof *keys, by_utf16);
        rp_buffer_text(out, "{");
        for (size_t i = 0; i < n && fine; i++) {
            rp_buffer_text(out, i ? "," : "");
            again_string(keys[i], out);
            rp_buffer_text(out, ":");
            fine = again(json_object_get(value, keys[i]), out, depth + 1, large);
        }
        rp_buffer_text(out, "}");
        free(keys);
        return fine;
    }
    if (json_is_array(value)) {
        rp_buffer_text(out, "[");
        for (size_t i = 0; i < json_array_size(value); i++) {
            rp_buffer_text(out, i ? "," : "");
            if (!again(json_array_get(value, i), out, depth + 1, large))
                return false;
        }
        rp_buffer_text(out, "]");
        return true;
    }
    if (json_is_string(value)) {
        again_string(json_string_value(value), out);
        return true;
    }
    if (json_is_integer(value)) {
        const long long integer = json_integer_value(value);

        *large = *large || integer > 9007199254740991 || integer < -9007199254740991;
        rp_buffer_printf(out, "%lld", integer);
        return true;
    }
    rp_buffer_text(out, json_is_true(value) ? "true" : json_is_false(value) ? "false" : "null");
    return !json_is_real(value);
}

enum { REFUSED, TOLERATED, CANONICAL };

/* The verdict of the second reader; the canonical form of what it read into *form. */
static int second_reader(const void *text, size_t size, rp_buffer *form)
{
    json_t *value = json_loadb(text, size, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, NULL);
    bool large = false;
    int verdict = REFUSED;

    form->size = 0;
    /* jansson takes a NUL behind a token for the end of the text, whatever follows */
    if (value && size > 0 && memchr(text, 0, size) == NULL && again(value, form, 0, &large))
        verdict = !large && form->size == size && memcmp(form->data, text, size) == 0 ? CANONICAL : TOLERATED;
    if (large)
        form->size = 0;
    json_decref(value);
    return verdict;
}

/* Ours; and it must agree with the second about verdict and values. */
static int verdict_of(const void *text, size_t size)
{
    static rp_buffer form;
    rp_json *strict = NULL, *tolerant = NULL;
    /* exactly size bytes, so that a sanitizer sees reading beyond */
    char *copy = malloc(size ? size : 1);
    const int second = second_reader(text, size, &form);
    rp_status s, t;
    int verdict;

    if (size > 0)
        memcpy(copy, text, size);
    t = rp_json_parse(&tolerant, copy, size, false, "tolerant", &err);
    s = rp_json_parse(&strict, copy, size, true, "strict", &err);
    verdict = s == RP_OK ? CANONICAL : t == RP_OK ? TOLERATED : REFUSED;
    if (verdict != second || (s == RP_OK && !rp_json_equal(strict, tolerant)))
        fail_msg("verdict %d, the second reader's %d: %.*s (%s)", verdict, second, (int)size, (const char *)text,
                 err.text);
    assert_true((s == RP_OK) == (strict != NULL) && (t == RP_OK) == (tolerant != NULL));
    assert_true((s == RP_OK || s == RP_EFORMAT) && (t == RP_OK || t == RP_EFORMAT));
    if (t == RP_OK && form.size > 0) {
        rp_buffer out = {0};

        assert_int_equal(rp_json_write(tolerant, &out, &err), RP_OK);
        assert_int_equal(out.size, form.size);
        assert_memory_equal(out.data, form.data, out.size);
        rp_buffer_free(&out);
    }
    rp_json_free(strict);
    rp_json_free(tolerant);
    free(copy);
    return verdict;
}

/* ---- what is read ---- */

static const struct {
    const char *text;
    int verdict;
} reading[] = {
    {"{}", CANONICAL},
    {"[]", CANONICAL},
    {"0", CANONICAL},
    {"true", CANONICAL},
    {"false", CANONICAL},
    {"null", CANONICAL},
    {"\"\"", CANONICAL},
    {"{\"\":0,\"a\":1,\"b\":[true,false,null,-1]}", CANONICAL},
    {"9007199254740991", CANONICAL},
    {"-9007199254740991", CANONICAL},
    {"9007199254740992", TOLERATED},
    {"-9007199254740992", TOLERATED},
    {"9223372036854775807", TOLERATED},
    {"-9223372036854775808", TOLERATED},
    {"9223372036854775808", REFUSED},
    {"-9223372036854775809", REFUSED},
    {"92233720368547758070", REFUSED},
    {"-0", TOLERATED},
    {"00", REFUSED},
    {"01", REFUSED},
    {"-01", REFUSED},
    {"+1", REFUSED},
    {"-", REFUSED},
    {"1.0", REFUSED},
    {"1.", REFUSED},
    {"1e2", REFUSED},
    {"1E2", REFUSED},
    {".5", REFUSED},
    {"0x1", REFUSED},
    {"NaN", REFUSED},
    {"Infinity", REFUSED},
    {"tru", REFUSED},
    {"truex", REFUSED},
    {"True", REFUSED},
    {"nul", REFUSED},
    {"", REFUSED},
    {" ", REFUSED},
    {" 1", TOLERATED},
    {"1\n", TOLERATED},
    {"1\f", REFUSED},
    {"\xEF\xBB\xBF{}", REFUSED},
    {"[1, 2]", TOLERATED},
    {"[1 ,2]", TOLERATED},
    {"[ ]", TOLERATED},
    {"{ }", TOLERATED},
    {"{\"a\" :1}", TOLERATED},
    {"{\"a\":\t1}", TOLERATED},
    {"{\"a\":1 }", TOLERATED},
    {"{\"b\":1,\"a\":1}", TOLERATED},
    {"{\"a\":1,\"a\":1}", REFUSED},
    {"{\"a\":1,\"b\":2,\"a\":1}", REFUSED},
    {"{\"a\":1,\"\\u0061\":1}", REFUSED},
    {"{\"a\":1,}", REFUSED},
    {"{,}", REFUSED},
    {"{\"a\"}", REFUSED},
    {"{\"a\":}", REFUSED},
    {"{a:1}", REFUSED},
    {"{1:1}", REFUSED},
    {"[1,]", REFUSED},
    {"[,1]", REFUSED},
    {"[1 2]", REFUSED},
    {"[1]]", REFUSED},
    {"[1}", REFUSED},
    {"{\"a\":1]", REFUSED},
    {"[1]{}", REFUSED},
    {"[1],", REFUSED},
    {"// a\n1", REFUSED},
    {"'a'", REFUSED},
    {"\"a", REFUSED},
    {"\"\\\"", REFUSED},
    {"\"a\nb\"", REFUSED},
    {"\"\x01\"", REFUSED},
    {"\"\x1f\"", REFUSED},
    {"\"\x7f\"", CANONICAL},
    {"\"\\b\\f\\n\\r\\t\\\"\\\\\"", CANONICAL},
    {"\"\\u0000\"", REFUSED},
    {"{\"\\u0000\":1}", REFUSED},
    {"\"\\u0001\\u000b\\u001f\"", CANONICAL},
    {"\"\\u000B\"", TOLERATED},
    {"\"\\u000a\"", TOLERATED},
    {"\"\\u0041\"", TOLERATED},
    {"\"\\/\"", TOLERATED},
    {"\"/\"", CANONICAL},
    {"\"\\u007f\"", TOLERATED},
    {"\"\\u00e9\\u20AC\"", TOLERATED},
    {"\"\\ud83d\\ude00\"", TOLERATED},
    {"\"\\ud83d\"", REFUSED},
    {"\"\\ude00\"", REFUSED},
    {"\"\\ude00\\ude00\"", REFUSED},
    {"\"\\ud83d\\u0041\"", REFUSED},
    {"\"\\ud83dx\"", REFUSED},
    {"\"\\u12g4\"", REFUSED},
    {"\"\\u12\"", REFUSED},
    {"\"\\x41\"", REFUSED},
    {"\"\\a\"", REFUSED},
    {"\"\\U0041\"", REFUSED},
    {"\"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\"", CANONICAL},
    {"\"\xC3\"", REFUSED},
    {"\"\x80\"", REFUSED},
    {"\"\xC0\x80\"", REFUSED},
    {"\"\xC1\xBF\"", REFUSED},
    {"\"\xE0\x9F\xBF\"", REFUSED},
    {"\"\xE0\xA0\x80\"", CANONICAL},
    {"\"\xED\x9F\xBF\"", CANONICAL},
    {"\"\xED\xA0\x80\"", REFUSED},
    {"\"\xEF\xBF\xBF\"", CANONICAL},
    {"\"\xF0\x8F\xBF\xBF\"", REFUSED},
    {"\"\xF0\x90\x80\x80\"", CANONICAL},
    {"\"\xF4\x8F\xBF\xBF\"", CANONICAL},
    {"\"\xF4\x90\x80\x80\"", REFUSED},
    {"\"\xF5\x80\x80\x80\"", REFUSED},
    {"\"\xE2\x82\"", REFUSED},
    /* U+10000 comes before U+FFFD, as its first surrogate is D800; byte order says otherwise */
    {"{\"\xED\x9F\xBF\":0,\"\xF0\x90\x80\x80\":1,\"\xEF\xBF\xBD\":2}", CANONICAL},
    {"{\"\xEF\xBF\xBD\":2,\"\xF0\x90\x80\x80\":1}", TOLERATED},
    {"{\"a\":1,\"ab\":2,\"b\":0}", CANONICAL},
    {"{\"ab\":2,\"a\":1}", TOLERATED},
};

static void forms_are_taken_or_refused_as_the_format_says(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof reading / sizeof *reading; i++)
        if (verdict_of(reading[i].text, strlen(reading[i].text)) != reading[i].verdict)
            fail_msg("%s: not %d", reading[i].text, reading[i].verdict);
    assert_int_equal(verdict_of("[\0]", 3), REFUSED);
    assert_int_equal(verdict_of("\"a\0b\"", 5), REFUSED);
    assert_int_equal(verdict_of("1\0", 2), REFUSED);
}

static const char *const document[] = {
    "{\"contract\":11,\"format\":9,\"kind\":\"recipe\",\"members\":[{\"path\":\"data/raw.csv\",\"sha256\":\"00ff\","
    "\"size\":1024},{\"path\":\"run/journal.bin\",\"salted\":\"9a\"}],\"profile\":\"strict\",\"run\":{\"steps\":12}}",
    "{\"text\":\"a\\\"b\\\\c\\n\\u0001\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\",\"truth\":[true,false,null,[],{}],"
    "\"\xEE\x80\x80\":-7}",
    "[[\"w\",[2,3]],[0,-1,9007199254740991],{\"a\":{\"b\":{\"c\":\"0.001\"}}}]",
};

static void every_truncation_is_refused(void **state)
{
    (void)state;
    for (size_t d = 0; d < sizeof document / sizeof *document; d++) {
        assert_int_equal(verdict_of(document[d], strlen(document[d])), CANONICAL);
        for (size_t size = 0; size < strlen(document[d]); size++)
            assert_int_equal(verdict_of(document[d], size), REFUSED);
    }
}

static void every_changed_byte_gets_the_second_readers_verdict(void **state)
{
    size_t taken = 0;

    (void)state;
    for (size_t d = 0; d < sizeof document / sizeof *document; d++) {
        const size_t size = strlen(document[d]);
        char changed[512];

        assert_true(size < sizeof changed);
        for (size_t i = 0; i < size; i++)
            for (int byte = 0; byte < 256; byte++) {
                memcpy(changed, document[d], size);
                changed[i] = (char)byte;
                taken += verdict_of(changed, size) == CANONICAL;
            }
        for (size_t i = 0; i <= size; i++) { /* one byte more, one less */
            memcpy(changed, document[d], i);
            memcpy(changed + i + 1, document[d] + i, size - i);
            for (const char *c = " \n,:\"\\{}[]-0e.tu\x80\xC3"; *c; c++) {
                changed[i] = *c;
                taken += verdict_of(changed, size + 1) == CANONICAL;
            }
            memcpy(changed + i, document[d] + i + 1, size - i);
            taken += i < size && verdict_of(changed, size - 1) == CANONICAL;
        }
    }
    assert_true(taken > 1000); /* most changes inside strings and numbers leave the form right */
}

/* Whatever has been found for other readers. */
static void both_readers_agree_on_the_corpus(void **state)
{
    static const char *const folder[] = {"manifest", "dsse", "bundle", "program", "recipe", "safetensors"};
    size_t files = 0;

    (void)state;
    for (size_t i = 0; i < sizeof folder / sizeof *folder; i++) {
        char path[1200];
        struct dirent *entry;
        DIR *dir;

        (void)snprintf(path, sizeof path, RP_SOURCE_DIR "/tests/fuzz/corpus/%s", folder[i]);
        assert_non_null(dir = opendir(path));
        while ((entry = readdir(dir)) != NULL) {
            rp_buffer text = {0};

            if (entry->d_name[0] == '.')
                continue;
            (void)snprintf(path, sizeof path, RP_SOURCE_DIR "/tests/fuzz/corpus/%s/%s", folder[i], entry->d_name);
            assert_int_equal(rp_file_read(path, 1 << 24, &text, &err), RP_OK);
            (void)verdict_of(text.data, text.size);
            if (text.size > 8) /* a header of tensors, without its length */
                (void)verdict_of(text.data + 8, text.size - 8);
            rp_buffer_free(&text);
            files++;
        }
        closedir(dir);
    }
    assert_true(files > 500);
}

static void nesting_is_bounded(void **state)
{
    (void)state;
    for (int depth = 63; depth <= 66; depth++)
        for (int kind = 0; kind < 2; kind++) {
            rp_buffer text = {0};

            for (int i = 0; i < depth; i++)
                rp_buffer_text(&text, kind ? "{\"a\":" : "[");
            rp_buffer_text(&text, "1");
            for (int i = 0; i < depth; i++)
                rp_buffer_text(&text, kind ? "}" : "]");
            assert_int_equal(verdict_of(text.data, text.size), depth <= 64 ? CANONICAL : REFUSED);
            rp_buffer_free(&text);
        }
    /* and without the end of it */
    rp_buffer open = {0};

    for (int i = 0; i < 1000000; i++)
        rp_buffer_text(&open, "[");
    assert_int_equal(verdict_of(open.data, open.size), REFUSED);
    rp_buffer_free(&open);
}

static void errors_say_where_and_what(void **state)
{
    static const struct {
        const char *text, *says;
        bool canonical;
    } mistake[] = {
        {"{\"a\":1,\n \"b\":x}", "file: invalid JSON at line 2, column 6 (byte 13): expected a value, found 'x'",
         false},
        {"[1", "(byte 2): expected ',' or ']', found the end of the text", false},
        {"{\"a\" 1}", "(byte 5): expected ':', found '1'", false},
        {"[\"\xC3(\"]", "(byte 2): expected UTF-8, found byte 0xc3", false},
        {"[1] 2", "expected the end of the text, found '2'", false},
        {"[1.5]", "(byte 2): expected an integer, as reals are strings here, found '.'", false},
        {"{\"k\":1,\"a\":2,\"k\":3}", "the key \"k\" stands twice in one object", false},
        {"[1, 2]", "not in canonical form at byte 3: expected no white space, found byte 0x20", true},
        {"{\"b\":1,\"a\":2}", "not in canonical form at byte 7: the key \"a\" is out of order", true},
        {"[\"\\u0041\"]", "not in canonical form at byte 2", true},
        {"[9007199254740992]", "not in canonical form at byte 1: expected an integer of at most 2^53 - 1", true},
    };

    (void)state;
    for (size_t i = 0; i < sizeof mistake / sizeof *mistake; i++) {
        rp_json *value = (rp_json *)&err;

        assert_int_equal(
            rp_json_parse(&value, mistake[i].text, strlen(mistake[i].text), mistake[i].canonical, "file", &err),
            RP_EFORMAT);
        assert_null(value);
        if (!strstr(err.text, mistake[i].says))
            fail_msg("\"%s\" does not say \"%s\"", err.text, mistake[i].says);
    }
}

/* ---- memory ---- */

json_heap heap;

static void *heap_allocate(void *self, size_t bytes)
{
    size_t *block;

    (void)self;
    if (++heap.calls == heap.fail || (block = malloc(bytes + 16)) == NULL)
        return NULL;
    *block = bytes;
    heap.live += bytes;
    heap.peak = heap.live > heap.peak ? heap.live : heap.peak;
    return block + 2;
}

static void heap_release(void *self, void *block)
{
    size_t *at = block;

    (void)self;
    heap.live -= at[-2];
    free(at - 2);
}

static void *heap_resize(void *self, void *block, size_t bytes)
{
    void *larger = heap_allocate(self, bytes);

    if (larger && block) {
        memcpy(larger, block, ((size_t *)block)[-2] < bytes ? ((size_t *)block)[-2] : bytes);
        heap_release(self, block);
    }
    return larger;
}

const rp_allocator counting = {heap_allocate, heap_resize, heap_release, NULL};

static void a_budget_is_kept_to_the_byte(void **state)
{
    (void)state;
    for (size_t d = 0; d < sizeof document / sizeof *document + sizeof reading / sizeof *reading; d++) {
        const size_t documents = sizeof document / sizeof *document;
        const char *text = d < documents ? document[d] : reading[d - documents].text;
        const size_t size = strlen(text), price = rp_json_memory(text, size);
        rp_json *value;

        if (d >= documents && reading[d - documents].verdict != CANONICAL)
            continue;
        assert_int_equal(rp_json_parse_within(&value, text, size, price, true, "text", &err), RP_OK);
        rp_json_free(value);
        assert_int_equal(rp_json_parse_within(&value, text, size, price - 1, true, "text", &err), RP_EFORMAT);
        assert_non_null(strstr(err.text, "MiB of memory that are allowed"));
    }
    assert_int_equal(rp_json_memory("[1,\"ab\",{\"k\":null}]", 19), 5 * 48 + 16 + 3 + 2);
}

/* Texts made to take much: what is allocated stays within the stated bound, whatever is said. */
static void dense_texts_stay_within_their_budget(void **state)
{
    static const char *const dense[][3] = {
        {"[", "1,", "1]"},       {"[", "[],", "1]"},   {"[", "{},", "1]"},       {"[", "\"\",", "1]"},
        {"[", "[[[1]]],", "1]"}, {"[", "null,", "1]"}, {"[", "{\"\":0},", "1]"}, {"[", "\"0123456789abcdef\",", "1]"},
    };
    enum { LIMIT = 8 << 20 };

    (void)state;
    rp_set_allocator(&counting);
    for (size_t i = 0; i < sizeof dense / sizeof *dense; i++)
        for (size_t target = LIMIT / 64; target <= 4 * LIMIT; target *= 16) {
            char *text = malloc(target + 64), *at = text;
            rp_json *value;
            rp_status status;

            at += sprintf(at, "%s", dense[i][0]);
            while ((size_t)(at - text) < target)
                at += sprintf(at, "%s", dense[i][1]);
            at += sprintf(at, "%s", dense[i][2]);
            heap.peak = heap.live;
            const size_t before = heap.live;

            status = rp_json_parse_within(&value, text, (size_t)(at - text), LIMIT, false, "dense", &err);
            assert_int_equal(status, rp_json_memory(text, (size_t)(at - text)) <= LIMIT ? RP_OK : RP_EFORMAT);
            if (heap.peak - before > LIMIT + LIMIT / 4 + (1 << 20))
                fail_msg("%s: %zu bytes allocated", dense[i][1], heap.peak - before);
            rp_json_free(value);
            assert_int_equal(heap.live, before);
            free(text);
        }
    rp_set_allocator(NULL);
}

/* Strings of every size, so that the waste at the ends of blocks counts. */
static void large_strings_stay_within_their_budget(void **state)
{
    enum { SMALL = 100000 };

    (void)state;
    rp_set_allocator(&counting);
    for (size_t length = 1000; length < 1 << 20; length = length * 6 / 5) {
        const size_t strings = (16 << 20) / length;
        char *text = malloc(strings * (length + 3) + 2 * SMALL + 2), *at = text;
        const size_t before = heap.live;
        rp_json *value;

        *at++ = '[';
        for (size_t i = 0; i < SMALL; i++) /* blocks have grown to their last size then */
            at = (char *)memcpy(at, "1,", 2) + 2;
        for (size_t i = 0; i < strings; i++) {
            *at++ = '"';
            memset(at, 'a', length);
            at += length;
            *at++ = '"';
            *at++ = i + 1 < strings ? ',' : ']';
        }
        heap.peak = heap.live;
        assert_int_equal(rp_json_parse(&value, text, (size_t)(at - text), true, "strings", &err), RP_OK);
        const size_t price = rp_json_memory(text, (size_t)(at - text));

        if (heap.peak - before > price + price / 4 + (1 << 20))
            fail_msg("%zu: %zu bytes allocated for %zu", length, heap.peak - before, price);
        rp_json_free(value);
        assert_int_equal(heap.live, before);
        free(text);
    }
    rp_set_allocator(NULL);
}

/* Reads, builds, copies and writes. */
static rp_status work(rp_error *e)
{
    static const char text[] = "{\"b\":[1,\"x\\ny\",{\"z\":null}],\"a\":{}}";
    rp_json *value, *built = NULL, *copy = NULL;
    rp_buffer out = {0};
    rp_status status = rp_json_parse(&value, text, strlen(text), false, "text", e);

    if (status == RP_OK) {
        built = rp_json_pack("{s:O, s:i, s:[s, b, n, s?], s:o, s:{s:I}}", "whole", value, "one", 1, "list", "text", 1,
                             NULL, "taken", rp_json_string("taken"), "deep", "er", (int64_t)-5);
        copy = built ? rp_json_deep_copy(built) : NULL;
        for (int i = 0; copy && i < 100; i++) {
            char key[16];

            (void)snprintf(key, sizeof key, "k%02d", i * 37 % 100);
            if (rp_json_object_set_new(copy, key, rp_json_integer(i)) != 0) {
                rp_json_free(copy);
                copy = NULL;
            }
        }
        status = copy ? rp_json_write(copy, &out, e) : rp_no_memory(e);
    }
    rp_json_free(value);
    rp_json_free(built);
    rp_json_free(copy);
    rp_buffer_free(&out);
    return status;
}

static void every_failing_allocation_is_an_error_without_a_leak(void **state)
{
    (void)state;
    rp_set_allocator(&counting);
    heap.live = heap.calls = heap.fail = 0;
    assert_int_equal(work(&err), RP_OK);
    assert_int_equal(heap.live, 0);
    for (size_t n = 1, calls = heap.calls; n <= calls; n++) {
        rp_status status;

        heap.calls = 0;
        heap.fail = n;
        status = work(&err);
        heap.fail = 0;
        if (status != RP_ENOMEM || heap.live != 0)
            fail_msg("call %zu of %zu fails: status %d, %zu bytes live", n, calls, (int)status, heap.live);
    }
    rp_set_allocator(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forms_are_taken_or_refused_as_the_format_says),
        cmocka_unit_test(every_truncation_is_refused),
        cmocka_unit_test(every_changed_byte_gets_the_second_readers_verdict),
        cmocka_unit_test(both_readers_agree_on_the_corpus),
        cmocka_unit_test(nesting_is_bounded),
        cmocka_unit_test(errors_say_where_and_what),
        cmocka_unit_test(a_budget_is_kept_to_the_byte),
        cmocka_unit_test(dense_texts_stay_within_their_budget),
        cmocka_unit_test(large_strings_stay_within_their_budget),
        cmocka_unit_test(every_failing_allocation_is_an_error_without_a_leak),
        cmocka_unit_test(parts_outlive_their_whole),
        cmocka_unit_test(parts_are_handed_over_and_forgotten),
        cmocka_unit_test(parts_are_as_strict_as_their_whole),
        cmocka_unit_test(parts_take_the_memory_of_one),
        cmocka_unit_test(parsed_values_cannot_be_changed_and_their_copies_can),
        cmocka_unit_test(what_cannot_be_said_is_not_built),
        cmocka_unit_test(formats_are_packed),
        cmocka_unit_test(kinds_answer_only_for_themselves),
        cmocka_unit_test(large_objects_take_no_quadratic_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
