/* SPDX-License-Identifier: Apache-2.0
 * CSV text to cells: what RFC 4180 allows, and one clear error for what it does not. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "core/data/dataset.h"
#include "determinism/bits.h"
#include "determinism/decimal.h"
#include "determinism/philox.h"

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

    return rp_table_read(out, text, size, &recipe, NULL, "t.csv", err);
}

static void assert_cells(const rp_table *table, const char *expected)
{
    size_t names = table->names != NULL ? table->cols : 0;
    char text[64];

    for (size_t i = 0; i < names + table->rows * table->cols; i++) {
        size_t at = i - names;
        const char *cell =
            i < names ? table->names[i] : rp_table_text(table, at / table->cols, at % table->cols, text, sizeof text);
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
        assert_int_equal(table->rows, r->rows);
        assert_int_equal(table->cols, r->cols);
        assert_cells(table, r->cells);
        assert_int_equal(rp_table_line(table, table->rows - 1), r->last_line);
        rp_table_free(table);
        free(exact);
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

/* ---- columns, however the rows are cut ---- */

static const rp_recipe plain = {.data = {.delimiter = ',', .header = true, .reading = {.decimal = '.'}}};

static rp_recipe with_missing(void)
{
    static char *words[] = {"", "NA", "None"};
    rp_recipe recipe = plain;

    recipe.data.missing = words;
    recipe.data.n_missing = COUNT(words);
    recipe.data.missing_first[0] = recipe.data.missing_first['N'] = true;
    return recipe;
}

enum { COLUMNS = 9, ROWS = 3000 };

/* One cell: small and large integers, decimals, binary64 that fits no integer, words, quoted words with line ends,
 * numbers and texts, a regression's target, and a column of missing cells. */
/* In a header of one name, the first text that the table keeps. */
static void names_of_any_length_are_kept(void **state)
{
    static char text[RP_CELL_MAX + 8];

    (void)state;
    for (size_t n = 1; n <= RP_CELL_MAX; n = n * 5 / 4 + 1) {
        rp_table *table;
        rp_error err;

        memset(text, 'x', n);
        memcpy(text + n, "\n1\n", 4);
        if (parse(&table, text, n + 3, ',', true, &err) != RP_OK)
            fail_msg("%zu bytes: %s", n, err.text);
        assert_int_equal(strlen(table->names[0]), n);
        rp_table_free(table);
    }
}

static void write_cell(char *out, size_t size, int col, int row)
{
    unsigned u = rp_random_u32(7, (uint64_t)col, 1, (uint64_t)row);

    switch (u % 29 == 0 && col != 7 ? -1 : col) {
    case -1:
        snprintf(out, size, "%s", u % 2 ? "NA" : "");
        break;
    case 0:
        snprintf(out, size, "%d", (int)(u % 250) - 125);
        break;
    case 1:
        snprintf(out, size, "%d.%02u", (int)(u % 200) - 100, u / 200 % 100);
        break;
    case 2:
        snprintf(out, size, "%s%u.%03u", u % 3 ? "" : "-", u % 2000000, u / 7 % 1000);
        break;
    case 3:
        snprintf(out, size, row % 1000 == 999 ? "-0" : "%u.%09ue-3", u % 10, u);
        break;
    case 4:
        snprintf(out, size, "w%u", row < 900 ? u % 3 : u % 700);
        break;
    case 5:
        snprintf(out, size, "\"%u,\n\"\"%u\"", u % 5, u % 3);
        break;
    case 6:
        snprintf(out, size, row % 700 == 650 ? "x%u" : "%u", u % 50);
        break;
    case 7:
        snprintf(out, size, "%u.%u", u % 100, u % 1000000007);
        break;
    default:
        snprintf(out, size, "None");
    }
}

/* As the cell is meant: without its quotes. */
static void unquote(char *text)
{
    char *to = text;

    if (*text != '"')
        return;
    for (char *at = text + 1; *at && !(*at == '"' && at[1] != '"'); at++) {
        *to++ = *at;
        at += *at == '"';
    }
    *to = '\0';
}

static char *write_table(size_t *size)
{
    size_t capacity = (size_t)ROWS * COLUMNS * 40, at;
    char *csv = malloc(capacity);

    assert_non_null(csv);
    at = (size_t)snprintf(csv, capacity, "a,b,c,d,e,f,g,h,i\n");
    for (int row = 0; row < ROWS; row++)
        for (int col = 0; col < COLUMNS; col++) {
            write_cell(csv + at, capacity - at, col, row);
            at += strlen(csv + at);
            csv[at++] = col + 1 < COLUMNS ? ',' : '\n';
        }
    *size = at;
    return csv;
}

static bool is_missing(const char *text)
{
    return text[0] == '\0' || strcmp(text, "NA") == 0 || strcmp(text, "None") == 0;
}

static void assert_number(const rp_table *table, size_t col, int row, const char *text)
{
    double expected = 0, found;
    float expected32 = 0, found32;

    rp_table_numbers(table, col, (size_t)row, 1, &found);
    if (is_missing(text)) {
        assert_true(found != found);
        return;
    }
    assert_true(rp_parse_f64(&expected, text, strlen(text)) && rp_parse_f32(&expected32, text, strlen(text)));
    if (rp_bits_f64(found) != rp_bits_f64(expected))
        fail_msg("row %d column %zu: %s: expected %a, found %a", row, col, text, expected, found);
    if (table->column[col].store != RP_STORE_TARGET)
        return;
    rp_table_floats(table, col, (size_t)row, 1, &found32);
    assert_true(rp_bits_f32(found32) == rp_bits_f32(expected32));
}

static void assert_word(const rp_table *table, size_t col, int row, const char *text, size_t *met)
{
    const rp_dictionary *words = &table->column[col].words;
    uint32_t code;

    rp_table_codes(table, col, (size_t)row, 1, &code);
    if (is_missing(text)) {
        assert_true(code == (uint32_t)RP_NO_CODE);
        return;
    }
    assert_true(code <= *met && code < words->count); /* numbered as they come */
    assert_string_equal(words->word[code].at, text);
    if (code == *met) {
        assert_int_equal(words->word[code].first, row);
        ++*met;
    }
}

static void assert_columns(const rp_table *table)
{
    size_t met[COLUMNS] = {0}, missing[COLUMNS] = {0}, cells[COLUMNS] = {0};
    char text[64], again[64];

    assert_int_equal(table->rows, ROWS);
    for (int row = 0; row < ROWS; row++)
        for (int col = 0; col < COLUMNS; col++) {
            write_cell(text, sizeof text, col, row);
            unquote(text);
            missing[col] += is_missing(text);
            if (table->column[col].texts)
                assert_word(table, (size_t)col, row, text, &met[col]);
            else
                assert_number(table, (size_t)col, row, text);
            if (row % 97 == 0)
                assert_string_equal(rp_table_text(table, (size_t)row, (size_t)col, again, sizeof again), text);
        }
    for (int col = 0; col < COLUMNS; col++) {
        const rp_column *c = &table->column[col];

        assert_int_equal(c->texts, col == 4 || col == 5 || col == 6);
        assert_int_equal(c->sort[RP_SORT_MISSING].count, missing[col]);
        assert_int_equal(c->words.count, met[col]);
        for (size_t i = 0; i < c->words.count; i++)
            cells[col] += c->words.word[i].count;
        if (c->texts)
            assert_int_equal(cells[col], ROWS - missing[col]);
    }
    assert_int_equal(table->column[6].sort[RP_SORT_TEXT].first, 650);
    assert_int_equal(table->column[8].sort[RP_SORT_WORD].count + table->column[8].sort[RP_SORT_MISSING].count,
                     ROWS + table->column[8].sort[RP_SORT_WORD].count);
}

/* Two threads meet, and then the one that is not the caller's is late: ranges are shorter in the next runs of the pool,
 * and there are more of them than threads. */
typedef struct meeting {
    pthread_t caller;
    atomic_int here;
} meeting;

static void meet(void *arg, size_t begin, size_t end)
{
    meeting *m = arg;

    (void)begin, (void)end;
    for (int tries = 0; tries < 2000 && (tries == 0 ? atomic_fetch_add(&m->here, 1) + 1 : atomic_load(&m->here)) < 2;
         tries++)
        (void)nanosleep(&(struct timespec){0, 50000}, NULL);
    if (!pthread_equal(pthread_self(), m->caller))
        (void)nanosleep(&(struct timespec){0, 400000000}, NULL);
}

static void shorten_ranges(rp_pool *pool)
{
    meeting m = {.caller = pthread_self()};

    rp_pool_run(pool, 2, 1, meet, &m);
}

static void columns_are_the_same_however_rows_are_cut(void **state)
{
    static const size_t chunk[] = {1, 100, 4096, 30000, 0};
    const rp_store store[COLUMNS] = {RP_STORE_AUTO,  RP_STORE_AUTO, RP_STORE_NUMBERS, RP_STORE_AUTO, RP_STORE_AUTO,
                                     RP_STORE_TEXTS, RP_STORE_AUTO, RP_STORE_TARGET,  RP_STORE_AUTO};
    const rp_recipe recipe = with_missing();
    size_t size;
    char *csv = write_table(&size);

    (void)state;
    for (unsigned threads = 1; threads <= 7; threads += 3)
        for (size_t i = 0; i < COUNT(chunk); i++) {
            rp_pool *pool = NULL;
            rp_table *table;
            rp_error err = {0};
            size_t lines = 0;

            assert_int_equal(rp_pool_new(&pool, threads, NULL, &err), RP_OK);
            if (threads > 1 && chunk[i] == 100)
                shorten_ranges(pool);
            assert_int_equal(rp_table_open(&table, csv, size, &recipe, "t.csv", &err), RP_OK);
            if (rp_table_load(table, store, &recipe, &(rp_table_options){.pool = pool, .chunk = chunk[i]}, &err) !=
                RP_OK)
                fail_msg("%s", err.text);
            assert_columns(table);
            for (const char *c = csv; c < csv + size; c++)
                lines += *c == '\n';
            assert_in_range(rp_table_line(table, ROWS - 1), lines - 1, lines);
            rp_table_free(table);
            rp_pool_free(pool);
        }
    free(csv);
}

/* The first mistake of the file, whichever chunk is read first. */
static void the_first_error_is_told_however_rows_are_cut(void **state)
{
    static const size_t chunk[] = {1, 50, 1000, 0};
    size_t size = 0;
    char *csv = malloc(100000), expected[RP_ERROR_TEXT] = "";

    (void)state;
    assert_non_null(csv);
    size += (size_t)snprintf(csv, 100000, "a,b\n");
    for (int row = 0; row < 2000; row++)
        size += (size_t)snprintf(csv + size, 100000 - size,
                                 row == 700    ? "1,\"never closed\n"
                                 : row == 1500 ? "1,2,3\n"
                                 : row == 1700 ? "1,\xFF\n"
                                               : "%d,\"x\"\"\n,y\"\n",
                                 row);
    for (unsigned threads = 1; threads <= 5; threads += 2)
        for (size_t i = 0; i < COUNT(chunk); i++) {
            const rp_store store[2] = {RP_STORE_AUTO, RP_STORE_AUTO};
            rp_pool *pool = NULL;
            rp_table *table;
            rp_error err = {0};

            assert_int_equal(rp_pool_new(&pool, threads, NULL, &err), RP_OK);
            assert_int_equal(rp_table_open(&table, csv, size, &plain, "t.csv", &err), RP_OK);
            assert_int_equal(
                rp_table_load(table, store, &plain, &(rp_table_options){.pool = pool, .chunk = chunk[i]}, &err),
                RP_EDATA);
            if (expected[0] == '\0')
                strcpy(expected, err.text);
            assert_string_equal(err.text, expected);
            rp_table_free(table);
            rp_pool_free(pool);
        }
    assert_non_null(strstr(expected, "t.csv:1403: cell 2: expected a delimiter"));
    free(csv);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cells_are_read_as_rfc_4180_writes_them),
        cmocka_unit_test(each_mistake_gets_one_clear_error),
        cmocka_unit_test(limits_on_columns_and_cells_are_kept),
        cmocka_unit_test(names_of_any_length_are_kept),
        cmocka_unit_test(columns_are_the_same_however_rows_are_cut),
        cmocka_unit_test(the_first_error_is_told_however_rows_are_cut),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
