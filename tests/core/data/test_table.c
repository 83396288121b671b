/* SPDX-License-Identifier: Apache-2.0
 * CSV text to cells: what RFC 4180 allows, and one clear error for what it does not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/data/dataset.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

typedef struct reading {
    const char *text;
    char delimiter;
    bool header;
    size_t rows, cols;
    const char *cells; /* names, then cells, each behind a '|' */
    size_t last_line;
} reading;

static const reading readings[] = {
    {"a,b\n1,2\n", ',', true, 1, 2, "|a|b|1|2", 2},
    {"a,b\n1,2", ',', true, 1, 2, "|a|b|1|2", 2},
    {"a,b\r\n1,2\r\n", ',', true, 1, 2, "|a|b|1|2", 2},
    {"1,2\n3,4\n", ',', false, 2, 2, "|1|2|3|4", 2},
    {"\xEF\xBB\xBF"
     "a\n1\n",
     ',', true, 1, 1, "|a|1", 2},
    {",\n,\n", ',', false, 2, 2, "||||", 2},
    {"1,", ',', false, 1, 2, "|1|", 1},
    {"\n\n", ',', false, 2, 1, "||", 2},
    {" 1 ; x y\n", ';', false, 1, 2, "| 1 | x y", 1},
    {"a\tb\n", '\t', false, 1, 2, "|a|b", 1},
    {"\"a,b\",\"c\"\"d\"\n", ',', false, 1, 2, "|a,b|c\"d", 1},
    {"\"\",\"\"\"\"\n", ',', false, 1, 2, "||\"", 1},
    {"\"two\nlines\",x\n1,2\n", ',', false, 2, 2, "|two\nlines|x|1|2", 3},
    {"\"two\r\nlines\",x\r\n", ',', false, 1, 2, "|two\r\nlines|x", 1},
    {"\"end\"", ',', false, 1, 1, "|end", 1},
    {"caf\xC3\xA9,\xF0\x9F\x98\x80\n", ',', false, 1, 2, "|caf\xC3\xA9|\xF0\x9F\x98\x80", 1},
};

static rp_status parse(rp_table **out, const void *text, size_t size, char delimiter, bool header, rp_error *err)
{
    const rp_recipe recipe = {.data = {.delimiter = delimiter, .header = header, .reading = {.decimal = '.'}}};

    return rp_table_parse(out, text, size, &recipe, "t.csv", err);
}

static void assert_cells(const rp_table *table, const char *expected)
{
    size_t names = table->names != NULL ? table->cols : 0;

    for (size_t i = 0; i < names + table->rows * table->cols; i++) {
        const char *cell = i < names ? table->names[i] : table->cell[i - names];
        size_t n = strlen(cell);

        assert_int_equal(*expected, '|');
        if (strncmp(expected + 1, cell, n) != 0)
            fail_msg("cell %zu: expected \"%s\", found \"%s\"", i, expected + 1, cell);
        expected += 1 + n;
    }
    assert_string_equal(expected, "");
}

static void cells_are_read_as_rfc_4180_writes_them(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(readings); i++) {
        const reading *r = &readings[i];
        size_t size = strlen(r->text);
        char *exact = malloc(size); /* so that a sanitizer sees a read beyond the end */
        rp_table *table = NULL;
        rp_error err = {0};

        assert_non_null(exact);
        memcpy(exact, r->text, size);
        if (parse(&table, exact, size, r->delimiter, r->header, &err) != RP_OK)
            fail_msg("reading %zu refused: %s", i, err.text);
        free(exact);
        assert_int_equal(table->rows, r->rows);
        assert_int_equal(table->cols, r->cols);
        assert_cells(table, r->cells);
        assert_int_equal(table->line[table->rows - 1], r->last_line);
        rp_table_free(table);
    }
}

typedef struct mistake {
    const char *text;
    size_t size; /* 0: up to the NUL */
    const char *fragments[3];
} mistake;

static const mistake mistakes[] = {
    {"", 0, {"t.csv", "empty"}},
    {"\xEF\xBB\xBF", 0, {"empty"}},
    {"a,b\n", 0, {"header"}},
    {"a,b\n1,2\n3\n", 0, {"t.csv:3", "expected 2 cells", "found 1"}},
    {"a,b\n1,2,3\n", 0, {"t.csv:2", "expected 2 cells", "found 3"}},
    {"a,b\n1,2\n\n", 0, {"t.csv:3", "found 1"}},
    {"a,b\n\"x\ny\",1\n1\n", 0, {"t.csv:4", "found 1"}},
    {"a,b\n1,x\0y\n", 10, {"t.csv:2", "NUL"}},
    {"a,b\n1,\xFF\n", 0, {"t.csv:2", "UTF-8", "0xff"}},
    {"a,b\n1,\xC0\x80\n", 0, {"UTF-8"}},
    {"a,b\n1,\xED\xA0\x80\n", 0, {"UTF-8"}},
    {"a,b\n1,\xE2\x82", 0, {"UTF-8"}},
    {"a,b\n1,\"x\n", 0, {"t.csv:2", "cell 2", "never closed"}},
    {"a,b\n1,\"x\"y\n", 0, {"t.csv:2", "cell 2", "closing"}},
    {"a,b\n1,x\"y\n", 0, {"t.csv:2", "cell 2", "quote inside"}},
    {"a,b\r1,2\r", 0, {"t.csv:1", "carriage return"}},
    {"a,a\n1,2\n", 0, {"t.csv:1", "\"a\" twice"}},
};

static void each_mistake_gets_one_clear_error(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(mistakes); i++) {
        const mistake *m = &mistakes[i];
        rp_table *table = (rp_table *)&table;
        rp_error err = {0};
        rp_status status = parse(&table, m->text, m->size != 0 ? m->size : strlen(m->text), ',', true, &err);

        if (status != RP_EDATA)
            fail_msg("mistake %zu: expected RP_EDATA, found %s (%s)", i, rp_status_name(status), err.text);
        assert_null(table);
        for (size_t k = 0; k < 3 && m->fragments[k] != NULL; k++)
            if (strstr(err.text, m->fragments[k]) == NULL)
                fail_msg("mistake %zu: expected \"%s\" in \"%s\"", i, m->fragments[k], err.text);
    }
}

static void limits_on_columns_and_cells_are_kept(void **state)
{
    static char text[70000];
    rp_table *table;
    rp_error err;

    (void)state;
    memset(text, ',', 4096);
    assert_int_equal(parse(&table, text, 4095, ',', false, &err), RP_OK);
    assert_int_equal(table->cols, 4096);
    rp_table_free(table);
    assert_int_equal(parse(&table, text, 4096, ',', false, &err), RP_EDATA);
    memset(text, 'x', sizeof text);
    assert_int_equal(parse(&table, text, 65535, ',', false, &err), RP_OK);
    rp_table_free(table);
    assert_int_equal(parse(&table, text, 65536, ',', false, &err), RP_EDATA);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cells_are_read_as_rfc_4180_writes_them),
        cmocka_unit_test(each_mistake_gets_one_clear_error),
        cmocka_unit_test(limits_on_columns_and_cells_are_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
