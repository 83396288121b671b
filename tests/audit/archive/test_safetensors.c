/* SPDX-License-Identifier: Apache-2.0
 * safetensors: exact bytes out, everything the specification forbids refused on the way in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "audit/archive/safetensors.h"
#include "determinism/bits.h"

static rp_error err;

static const float w[2] = {1.0f, -2.0f};
static const double d[1] = {0.5};
static const unsigned char flags[3] = {1, 0, 1};

static void written_bytes_are_exact_and_aligned(void **state)
{
    static const char header[] = "{\"__metadata__\":{\"format\":\"pt\"},"
                                 "\"a\":{\"data_offsets\":[16,19],\"dtype\":\"BOOL\",\"shape\":[3]},"
                                 "\"b\":{\"data_offsets\":[8,16],\"dtype\":\"F32\",\"shape\":[2,1]},"
                                 "\"c\":{\"data_offsets\":[0,8],\"dtype\":\"F64\",\"shape\":[]}}";
    rp_safetensor tensor[] = {
        {.name = "a", .dtype = RP_BOOL, .rank = 1, .shape = {3}, .data = flags},
        {.name = "b", .dtype = RP_F32, .rank = 2, .shape = {2, 1}, .data = w},
        {.name = "c", .dtype = RP_F64, .rank = 0, .data = d},
    };
    const rp_safetensors_pair pair = {"format", "pt"};
    rp_buffer out = {0}, again = {0};

    (void)state;
    assert_int_equal(rp_safetensors_write(&out, tensor, 3, &pair, 1, &err), RP_OK);
    size_t length = (size_t)rp_load_u64(out.data);
    assert_int_equal(length % 8, 0);
    assert_in_range(length, strlen(header), strlen(header) + 7);
    assert_memory_equal(out.data + 8, header, strlen(header));
    for (size_t i = strlen(header); i < length; i++)
        assert_int_equal(out.data[8 + i], ' ');
    assert_int_equal(out.size, 8 + length + 19);
    assert_memory_equal(out.data + 8 + length, "\0\0\0\0\0\0\xe0\x3f\0\0\x80\x3f\0\0\0\xc0\1\0\1", 19);

    rp_safetensor swap = tensor[0];
    tensor[0] = tensor[2];
    tensor[2] = swap;
    assert_int_equal(rp_safetensors_write(&again, tensor, 3, &pair, 1, &err), RP_OK);
    assert_int_equal(again.size, out.size);
    assert_memory_equal(again.data, out.data, out.size);
    rp_buffer_free(&out);
    rp_buffer_free(&again);
}

static void what_is_written_reads_back(void **state)
{
    static float big[10000];
    const rp_safetensor tensor[] = {
        {.name = "z", .dtype = RP_F32, .rank = 2, .shape = {100, 100}, .data = big},
        {.name = "none", .dtype = RP_I64, .rank = 2, .shape = {0, 4}, .data = NULL},
        {.name = "flags", .dtype = RP_BOOL, .rank = 1, .shape = {3}, .data = flags},
    };
    const rp_safetensors_pair pairs[] = {{"two", "2"}, {"one", "1"}};
    rp_buffer out = {0};
    rp_safetensors *file;
    float *back = malloc(sizeof big);

    (void)state;
    for (size_t i = 0; i < 10000; i++)
        big[i] = (float)i / 3;
    assert_int_equal(rp_safetensors_write(&out, tensor, 3, pairs, 2, &err), RP_OK);
    assert_int_equal(rp_safetensors_parse(&file, out.data, out.size, "x", &err), RP_OK);
    assert_int_equal(file->count, 3);
    assert_string_equal(file->tensor[0].name, "flags");
    assert_int_equal(file->pairs, 2);
    assert_string_equal(file->metadata[0].key, "one");
    assert_string_equal(file->metadata[0].value, "1");
    const rp_safetensor *z = rp_safetensors_find(file, "z");
    assert_non_null(z);
    assert_int_equal(z->size, sizeof big);
    rp_to_host(back, z->data, RP_F32, 10000);
    assert_memory_equal(back, big, sizeof big);
    assert_null(rp_safetensors_find(file, "y"));
    rp_safetensors_free(file);
    rp_buffer_free(&out);
    free(back);
}

static void bad_names_are_not_written(void **state)
{
    rp_safetensor tensor[] = {
        {.name = "a", .dtype = RP_F64, .rank = 0, .data = d},
        {.name = "a", .dtype = RP_F64, .rank = 0, .data = d},
    };
    rp_buffer out = {0};

    (void)state;
    assert_int_equal(rp_safetensors_write(&out, tensor, 2, NULL, 0, &err), RP_EARG);
    tensor[1].name = "__metadata__";
    assert_int_equal(rp_safetensors_write(&out, tensor, 2, NULL, 0, &err), RP_EARG);
    tensor[1].name = "\xff";
    assert_int_equal(rp_safetensors_write(&out, tensor, 2, NULL, 0, &err), RP_EARG);
    tensor[1].name = "b";
    tensor[1].rank = 9;
    assert_int_equal(rp_safetensors_write(&out, tensor, 2, NULL, 0, &err), RP_ESHAPE);
    rp_buffer_free(&out);
}

static rp_status parse(const char *header, uint64_t length, size_t data)
{
    rp_buffer bytes = {0};
    rp_safetensors *file;
    unsigned char *exact;
    rp_status status;

    rp_buffer_u64(&bytes, length);
    rp_buffer_text(&bytes, header);
    for (size_t i = 0; i < data; i++)
        rp_buffer_u8(&bytes, 0);
    exact = malloc(bytes.size); /* no slack, so that a sanitizer sees a read past the end */
    memcpy(exact, bytes.data, bytes.size);
    status = rp_safetensors_parse(&file, exact, bytes.size, "x", &err);
    if (status != RP_OK)
        assert_null(file);
    rp_safetensors_free(file);
    free(exact);
    rp_buffer_free(&bytes);
    return status;
}

#define T(name, dtype, shape, begin, end) \
    "\"" name "\":{\"dtype\":\"" dtype "\",\"shape\":[" shape "],\"data_offsets\":[" begin "," end "]}"

static void every_flaw_is_refused(void **state)
{
    static const struct {
        const char *header;
        size_t data;
        rp_status status;
    } flaw[] = {
        {"{" T("b", "F32", "2", "4", "12") "," T("a", "I32", "", "0", "4") "}  ", 12, RP_OK}, /* any order of keys */
        {"{}", 0, RP_OK},
        {"{\"__metadata__\":{}}", 0, RP_OK},
        {"{" T("a", "F32", "0", "0", "0") "," T("b", "F32", "1", "0", "4") "}", 4, RP_OK},
        {"{" T("a", "F32", "2", "0", "8") "}", 7, RP_EDATA},
        {"{" T("a", "F32", "2", "0", "8") "}", 9, RP_EDATA},
        {"{" T("a", "F32", "2", "0", "4") "}", 4, RP_EDATA},
        {"{" T("a", "F32", "2", "8", "0") "}", 8, RP_EDATA},
        {"{" T("a", "F32", "2", "-8", "0") "}", 8, RP_EDATA},
        {"{" T("a", "F32", "1", "4", "8") "}", 8, RP_EDATA},                                    /* gap */
        {"{" T("a", "F32", "1", "0", "4") "," T("b", "F32", "1", "8", "12") "}", 12, RP_EDATA}, /* gap */
        {"{" T("a", "F32", "2", "0", "8") "," T("b", "F32", "2", "4", "12") "}", 12, RP_EDATA}, /* overlap */
        {"{" T("a", "F32", "2", "0", "8") "," T("b", "F32", "2", "4", "12") "}", 16, RP_EDATA}, /* overlap and rest */
        {"{" T("a", "F32", "1", "0", "4") "," T("b", "F32", "1", "0", "4") "}", 4, RP_EDATA},   /* the same bytes */
        {"{" T("a", "F32", "1", "0", "4") "," T("a", "F32", "1", "4", "8") "}", 8, RP_EDATA},   /* the same name */
        {"{" T("a", "F32", "4611686018427387904", "0", "0") "}", 0, RP_EDATA},                  /* overflows to 0 */
        {"{" T("a", "F32", "4294967296,4294967296", "0", "0") "}", 0, RP_EDATA},
        {"{" T("a", "F32", "-1", "0", "0") "}", 0, RP_EDATA},
        {"{" T("a", "F32", "1.0", "0", "4") "}", 4, RP_EDATA},
        {"{" T("a", "F32", "1,1,1,1,1,1,1,1,1", "0", "4") "}", 4, RP_EUNSUPPORTED},
        {"{" T("a", "U16", "2", "0", "4") "}", 4, RP_EUNSUPPORTED},
        {"{" T("a", "F33", "2", "0", "4") "}", 4, RP_EDATA},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1]}}", 4, RP_EDATA},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4],\"more\":1}}", 4, RP_EDATA},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4,4]}}", 4, RP_EDATA},
        {"{\"a\":7}", 0, RP_EDATA},
        {"{\"__metadata__\":[]}", 0, RP_EDATA},
        {"{\"__metadata__\":{\"a\":1}}", 0, RP_EDATA},
        {" {}", 0, RP_EDATA},
        {"[]", 0, RP_EDATA},
        {"{", 0, RP_EDATA},
        {"{}{}", 0, RP_EDATA},
    };

    (void)state;
    for (size_t i = 0; i < sizeof flaw / sizeof *flaw; i++) {
        rp_status status = parse(flaw[i].header, strlen(flaw[i].header), flaw[i].data);
        if (status != flaw[i].status)
            fail_msg("%s + %zu bytes: %s, expected %s", flaw[i].header, flaw[i].data, rp_status_name(status),
                     rp_status_name(flaw[i].status));
    }
    assert_int_equal(parse("{}", 3, 0), RP_EDATA);
    assert_int_equal(parse("{}", UINT64_MAX, 0), RP_EDATA);
    assert_int_equal(parse("{}", 0, 0), RP_EDATA);
    rp_safetensors *file;
    assert_int_equal(rp_safetensors_parse(&file, "\0\0", 2, "x", &err), RP_EDATA);
}

static void header_over_the_limit_is_refused(void **state)
{
    size_t size = RP_SAFETENSORS_HEADER_LIMIT + 9;
    unsigned char *bytes = malloc(size);
    rp_safetensors *file;

    (void)state;
    assert_non_null(bytes);
    memset(bytes, ' ', size);
    memcpy(bytes + 8, "{}", 2);
    rp_store_u64(bytes, RP_SAFETENSORS_HEADER_LIMIT + 1);
    assert_int_equal(rp_safetensors_parse(&file, bytes, size, "x", &err), RP_EDATA);
    rp_store_u64(bytes, RP_SAFETENSORS_HEADER_LIMIT);
    assert_int_equal(rp_safetensors_parse(&file, bytes, size - 1, "x", &err), RP_OK);
    rp_safetensors_free(file);
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(written_bytes_are_exact_and_aligned), cmocka_unit_test(what_is_written_reads_back),
        cmocka_unit_test(bad_names_are_not_written),           cmocka_unit_test(every_flaw_is_refused),
        cmocka_unit_test(header_over_the_limit_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
