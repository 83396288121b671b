/* SPDX-License-Identifier: Apache-2.0
 * Arrays as a table (CONTRACT 9.1a): every type, every rank, what a file may be written like, and one clear error for
 * what no table has. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "core/data/arrays/arrays.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* version 1, unless the text is to be of another. */
static size_t make_npy(unsigned char *out, int version, const char *dictionary, const void *data, size_t size)
{
    const size_t length = strlen(dictionary), wide = version == 1 ? 2 : 4;

    memcpy(out, "\x93NUMPY", 6);
    out[6] = (unsigned char)version;
    out[7] = 0;
    for (size_t i = 0; i < wide; i++)
        out[8 + i] = (unsigned char)(i < 2 ? length >> (8 * i) : 0);
    memcpy(out + 8 + wide, dictionary, length);
    memcpy(out + 8 + wide + length, data, size);
    return 8 + wide + length + size;
}

static size_t make_tensors(unsigned char *out, const char *header, const void *data, size_t size)
{
    const size_t length = strlen(header);

    for (size_t i = 0; i < 8; i++)
        out[i] = (unsigned char)((uint64_t)length >> (8 * i));
    memcpy(out + 8, header, length);
    memcpy(out + 8 + length, data, size);
    return 8 + length + size;
}

typedef struct reading {
    const char *dictionary, *data;
    size_t size;
    const char *table; /* NULL: */
    const char *error; /* a part of it */
} reading;

static const reading readings[] = {
    {"{'descr': '|u1', 'fortran_order': False, 'shape': (2, 2), }\n", "\0\1\2\xFF", 4, "x.0,x.1\n0,1\n2,255\n", NULL},
    {"{'descr': '|i1', 'fortran_order': False, 'shape': (2,)}", "\x80\x7F", 2, "x\n-128\n127\n", NULL},
    {"{\"shape\":(1,2,1),\"fortran_order\":False,\"descr\":\"<u2\"}", "\1\1\xFF\xFF", 4, "x.0.0,x.1.0\n257,65535\n",
     NULL},
    {"{'descr': '<i2', 'fortran_order': False, 'shape': (1, 1)}", "\0\x80", 2, "x.0\n-32768\n", NULL},
    {"{'descr': '<u4', 'fortran_order': False, 'shape': (1,)}", "\xFF\xFF\xFF\xFF", 4, "x\n4294967295\n", NULL},
    {"{'descr': '<i4', 'fortran_order': False, 'shape': (1,)}", "\xFE\xFF\xFF\xFF", 4, "x\n-2\n", NULL},
    {"{'descr': '<i8', 'fortran_order': False, 'shape': (1,)}", "\0\0\0\0\0\0\xE0\xFF", 8, "x\n-9007199254740992\n",
     NULL},
    {"{'descr': '<u8', 'fortran_order': False, 'shape': (1,)}", "\0\0\0\0\0\0\x20\0", 8, "x\n9007199254740992\n", NULL},
    {"{'descr': '|b1', 'fortran_order': False, 'shape': (2,)}", "\0\1", 2, "x\n0\n1\n", NULL},
    /* 0.1 of binary32 is written so that binary64 has it too; the zero keeps its sign */
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", "\xCD\xCC\xCC\x3D\0\0\0\x80", 8,
     "x\n0.10000000149011612\n-0\n", NULL},
    {"{'descr': '<f8', 'fortran_order': False, 'shape': (1,)}", "\x9A\x99\x99\x99\x99\x99\xB9\x3F", 8, "x\n0.1\n",
     NULL},
    /* 0.1 of binary16, its zero below 0, its least number, 2^-24 */
    {"{'descr': '<f2', 'fortran_order': False, 'shape': (3,)}", "\146\056\0\200\1\0", 6,
     "x\n0.0999755859375\n-0\n5.960464477539063e-8\n", NULL},

    {"{'descr': '|b1', 'fortran_order': False, 'shape': (2,)}", "\0\2", 2, NULL, "row 1, column x: expected 0 or 1"},
    {"{'descr': '<i8', 'fortran_order': False, 'shape': (1,)}", "\1\0\0\0\0\0\x20\0", 8, NULL, "at most 2^53"},
    {"{'descr': '<i8', 'fortran_order': False, 'shape': (1,)}", "\0\0\0\0\0\0\0\x80", 8, NULL, "at most 2^53"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2)}", "\0\0\0\0\0\0\xC0\x7F", 8, NULL,
     "row 0, column x.1: expected a finite number"},
    {"{'descr': '<f2', 'fortran_order': False, 'shape': (1,)}", "\0\374", 2, NULL, "expected a finite number"},
    {"{'descr': '<f2', 'fortran_order': False, 'shape': (1,)}", "\1\174", 2, NULL, "expected a finite number"},
    {"{'descr': '<c8', 'fortran_order': False, 'shape': (1,)}", "\0\0\0\0\0\0\0\0", 8, NULL, "found \"<c8\""},
    {"{'descr': '>f4', 'fortran_order': False, 'shape': (1,)}", "\0\0\0\0", 4, NULL, "low byte first, found \">f4\""},
    {"{'descr': '|O', 'fortran_order': False, 'shape': (1,)}", "\0\0\0\0", 4, NULL, "found \"|O\""},
    {"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}", "\0\0\0\0", 4, NULL, "named fields"},
    {"{'descr': '<f4', 'fortran_order': True, 'shape': (1, 1)}", "\0\0\0\0", 4, NULL, "numpy.ascontiguousarray"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': ()}", "\0\0\0\0", 4, NULL, "found a single number"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (0, 3)}", "", 0, NULL, "axis 0 has no elements"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (3,)}", "\0\0\0\0", 4, NULL, "take 12 bytes, found 4"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,)}", "\0\0\0\0\0", 5, NULL, "take 4 bytes, found 5"},
    {"{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 4294967296)}", "", 0, NULL, "more elements than"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}", "", 0, NULL,
     "the header of an .npy"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1)}", "\0\0\0\0", 4, NULL, "more than 8 axes"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}", "", 0, NULL, "the header of an .npy"},
    {"{'descr': '<f4', 'fortran_order': False}", "", 0, NULL, "the header of an .npy"},
    {"{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (1,)}", "\0\0\0\0", 4, NULL,
     "the header of an"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} x", "\0\0\0\0", 4, NULL, "the header of an .npy"},
    {"", "", 0, NULL, "the header of an .npy"},
};

static rp_status write_one(rp_buffer *out, const void *bytes, size_t size, rp_error *err)
{
    rp_array x;
    rp_status status = rp_array_from_npy(&x, bytes, size, "f", err);

    return status == RP_OK ? rp_array_write(&x, NULL, rp_buffer_take, out, err) : status;
}

static void expect(const reading *r, int version)
{
    unsigned char bytes[256], *exact;
    const size_t size = make_npy(bytes, version, r->dictionary, r->data, r->size);
    rp_buffer out = {0};
    rp_error err = {0};
    rp_status status;

    exact = malloc(size); /* so that a sanitizer sees what is read behind it */
    assert_non_null(exact);
    memcpy(exact, bytes, size);
    status = write_one(&out, exact, size, &err);
    if (r->table) {
        if (status != RP_OK)
            fail_msg("%s: %s", r->dictionary, err.text);
        assert_int_equal(out.size, strlen(r->table));
        assert_memory_equal(out.data, r->table, out.size);
    } else {
        assert_int_equal(status, RP_EDATA);
        if (!strstr(err.text, r->error))
            fail_msg("%s: expected \"%s\", found: %s", r->dictionary, r->error, err.text);
    }
    rp_buffer_free(&out);
    free(exact);
}

static void npy_files_are_tables_or_say_what_is_wrong(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(readings); i++)
        for (int version = 1; version <= 3; version++)
            expect(&readings[i], version);
}

static void a_file_cut_anywhere_is_refused(void **state)
{
    unsigned char bytes[256];
    const size_t size = make_npy(bytes, 1, readings[0].dictionary, readings[0].data, readings[0].size);

    (void)state;
    for (size_t n = 0; n < size; n++) {
        unsigned char *cut = malloc(n + 1);
        rp_buffer out = {0};

        assert_non_null(cut);
        memcpy(cut, bytes, n);
        assert_int_equal(write_one(&out, cut, n, NULL), RP_EDATA);
        rp_buffer_free(&out);
        free(cut);
    }
    bytes[6] = 4;
    assert_int_equal(write_one(&(rp_buffer){0}, bytes, size, NULL), RP_EDATA);
}

static rp_status write_pair(rp_buffer *out, const char *header, const char *data, size_t size, const char *x,
                            const char *y, rp_error *err)
{
    unsigned char bytes[512];
    const size_t n = make_tensors(bytes, header, data, size);
    unsigned char *exact = malloc(n);
    rp_array features, target;
    rp_status status;

    assert_non_null(exact);
    memcpy(exact, bytes, n);
    status = rp_array_from_tensors(&features, exact, n, x, "f", err);
    if (status == RP_OK)
        status = rp_array_from_tensors(&target, exact, n, y, "f", err);
    if (status == RP_OK)
        status = rp_array_write(&features, &target, rp_buffer_take, out, err);
    free(exact);
    return status;
}

static void tensors_are_found_by_name(void **state)
{
    static const char header[] = "{\"a\":{\"dtype\":\"U8\",\"shape\":[2,1],\"data_offsets\":[4,6]},\"b\":{\"dtype\":"
                                 "\"I16\",\"shape\":[2],\"data_offsets\":[0,4]},\"__metadata__\":{\"k\":\"v\"}}";
    rp_buffer out = {0};
    rp_error err = {0};

    (void)state;
    assert_int_equal(write_pair(&out, header, "\1\0\xFF\xFF\7\x9", 6, "a", "b", &err), RP_OK);
    assert_int_equal(out.size, strlen("x.0,y\n7,1\n9,-1\n"));
    assert_memory_equal(out.data, "x.0,y\n7,1\n9,-1\n", out.size);
    rp_buffer_free(&out);
    assert_int_equal(write_pair(&out, header, "\1\0\xFF\xFF\7\x9", 6, "a", "c", &err), RP_EDATA);
    assert_non_null(strstr(err.text, "f: has no tensor \"c\"; it has 2: \"a\", \"b\""));
    assert_int_equal(write_pair(&out, header, "\1\0\xFF\xFF\7", 5, "a", "b", &err), RP_EDATA);
    assert_non_null(strstr(err.text, "tensor a: its data_offsets are outside"));
    rp_buffer_free(&out);
}

static void halves_widen(void **state)
{
    static const char header[] = "{\"a\":{\"dtype\":\"BF16\",\"shape\":[2],\"data_offsets\":[0,4]},\"b\":{\"dtype\":"
                                 "\"F16\",\"shape\":[2],\"data_offsets\":[4,8]}}";
    rp_buffer out = {0};
    rp_error err = {0};

    (void)state;
    assert_int_equal(write_pair(&out, header, "\315\075\0\200\146\056\0\300", 8, "a", "b", &err), RP_OK);
    assert_int_equal(out.size, strlen("x,y\n0.10009765625,0.0999755859375\n-0,-2\n"));
    assert_memory_equal(out.data, "x,y\n0.10009765625,0.0999755859375\n-0,-2\n", out.size);
    rp_buffer_free(&out);
    assert_int_equal(write_pair(&out, header, "\200\177\0\200\0\0\0\0", 8, "a", "b", &err), RP_EDATA);
    rp_buffer_free(&out);
}

static void tensors_that_are_none_are_refused(void **state)
{
    static const char *const headers[] = {
        "{\"a\":{\"dtype\":\"F8_E4M3\",\"shape\":[1],\"data_offsets\":[0,1]}}",
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,3]}}",
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[-1],\"data_offsets\":[0,4]}}",
        "{\"a\":{\"dtype\":\"F32\",\"shape\":1,\"data_offsets\":[0,4]}}",
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,0]}}",
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0]}}",
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[1,1,1,1,1,1,1,1,1],\"data_offsets\":[0,4]}}",
        "{\"a\":{\"shape\":[1],\"data_offsets\":[0,4]}}",
        "{\"a\":7}",
        "{\"a\":{}",
    };
    rp_error err;

    (void)state;
    for (size_t i = 0; i < COUNT(headers); i++)
        assert_int_equal(write_pair(&(rp_buffer){0}, headers[i], "\0\0\0\0", 4, "a", "a", &err), RP_EDATA);
}

static void features_and_target_have_the_same_rows(void **state)
{
    static const char header[] = "{\"x\":{\"dtype\":\"U8\",\"shape\":[2,2],\"data_offsets\":[0,4]},"
                                 "\"y\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[4,7]}}";
    rp_buffer out = {0};
    rp_error err;

    (void)state;
    assert_int_equal(write_pair(&out, header, "\1\2\3\4\5\6\7", 7, "x", "y", &err), RP_EDATA);
    assert_non_null(strstr(err.text, "tensor y: 3 rows, but f, tensor x has 2"));
    assert_int_equal(write_pair(&out, header, "\1\2\3\4\5\6\7", 7, "y", "x", &err), RP_EDATA);
    assert_non_null(strstr(err.text, "expected one number a row as the target, found 2"));
    assert_int_equal(out.size, 0);
    rp_buffer_free(&out);
}

/* Rows are written in pieces: whatever the taker does, they are the same bytes. */
static void long_tables_are_whole(void **state)
{
    enum { ROWS = 9000, COLUMNS = 7 };
    unsigned char *data = malloc(ROWS * COLUMNS), *bytes = malloc(ROWS * COLUMNS + 256);
    const char *at;
    char dictionary[96];
    rp_buffer out = {0};

    (void)state;
    assert_true(data && bytes);
    for (size_t i = 0; i < (size_t)ROWS * COLUMNS; i++)
        data[i] = (unsigned char)(i * 2654435761u >> 11);
    (void)snprintf(dictionary, sizeof dictionary, "{'descr': '|u1', 'fortran_order': False, 'shape': (%d, %d)}", ROWS,
                   COLUMNS);
    assert_int_equal(write_one(&out, bytes, make_npy(bytes, 1, dictionary, data, (size_t)ROWS * COLUMNS), NULL), RP_OK);
    rp_buffer_u8(&out, 0);
    at = strchr((const char *)out.data, '\n') + 1;
    for (size_t i = 0; i < (size_t)ROWS * COLUMNS; i++) {
        char *end;

        assert_int_equal(strtol(at, &end, 10), data[i]);
        assert_int_equal(*end, (i + 1) % COLUMNS ? ',' : '\n');
        at = end + 1;
    }
    assert_int_equal(*at, 0);
    rp_buffer_free(&out);
    free(data);
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(npy_files_are_tables_or_say_what_is_wrong),
        cmocka_unit_test(a_file_cut_anywhere_is_refused),
        cmocka_unit_test(tensors_are_found_by_name),
        cmocka_unit_test(halves_widen),
        cmocka_unit_test(tensors_that_are_none_are_refused),
        cmocka_unit_test(features_and_target_have_the_same_rows),
        cmocka_unit_test(long_tables_are_whole),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
