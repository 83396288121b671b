/* SPDX-License-Identifier: Apache-2.0
 * The profile of a table: figures against hand-computed ones, each finding on a table that has it and on one that has
 * not, equal rows against a naive count, and the same answer when hashes do not help. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/json.h"
#include "base/memory.h"
#include "core/data/profile/quality.h"
#include "core/data/profile/private.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* The profile of a CSV under the keys of data: beside csv and target, as canonical text. */
static char *profile(const char *keys, const char *train, const char *csv)
{
    char yaml[512];
    rp_recipe *recipe = NULL;
    rp_cells cells = {.where = "d.csv"};
    rp_table *table = NULL;
    rp_error err = {0};
    rp_buffer out = {0};
    rp_json *json = NULL;
    size_t target = SIZE_MAX;

    snprintf(yaml, sizeof yaml, "reprise: 1\ndata: {csv: a, target: y%s}\ntrain: {batch: 1%s}\n", keys, train);
    if (rp_recipe_from_yaml(&recipe, yaml, strlen(yaml), "r.yaml", &err) != RP_OK ||
        rp_table_open(&table, csv, strlen(csv), recipe, "d.csv", &err) != RP_OK)
        fail_msg("%s", err.text);
    cells.recipe = recipe;
    cells.table = table;
    cells.err = &err;
    (void)rp_column_find(&cells, &recipe->data.target, "target", &target);
    if (rp_profile_load(table, recipe, target, &err) != RP_OK)
        fail_msg("%s", err.text);
    if (rp_profile_table(&json, &cells, NULL, target) != RP_OK || rp_profile_tell(&out, json, &err) != RP_OK)
        fail_msg("%s", err.text);
    rp_buffer_u8(&out, 0);
    rp_json_free(json);
    rp_table_free(table);
    rp_recipe_free(recipe);
    return (char *)out.data;
}

static void assert_has(const char *text, const char *part)
{
    if (strstr(text, part) == NULL)
        fail_msg("expected \"%s\" in %s", part, text);
}

static void columns_have_their_figures(void **state)
{
    char *text = profile("", "", "a,c,y\n3,x,no\n-0,,yes\n0,x,no\nNA,z,no\n1,x,yes\n");

    (void)state;
    assert_has(text, "{\"distinct\":3,\"examples\":[\"3\",\"-0\",\"1\"],\"kind\":\"numeric\",\"missing\":1,"
                     "\"name\":\"a\",\"outliers\":0,"
                     "\"quantiles\":[\"0\",\"0\",\"0\",\"0.5\",\"1.5\",\"2.6999999999999993\",\"3\"],"
                     "\"skew\":\"0.8164965809277261\",\"why\":\"numbers\"}");
    assert_has(text, "{\"distinct\":2,\"examples\":[\"x\",\"z\"],\"kind\":\"categorical\",\"missing\":1,\"name\":\"c\","
                     "\"why\":\"text\"}");
    assert_has(text, "\"kind\":\"target\",\"missing\":0,\"name\":\"y\",\"why\":\"data.target\"");
    assert_has(text, "\"rows\":5");
    rp_free(text);
}

/* A table that has a finding, where it is told, and the same table with one cell changed, which has it no more. */
typedef struct finding_case {
    const char *code, *keys, *train;
    const char *column; /* each row's cell a, its number behind it if it is numbered */
    bool numbered;
    const char *target[2];
    size_t rows, odd_row;
    const char *odd; /* the line of one row that ends it */
} finding_case;

static char *table_of(const finding_case *f, bool odd)
{
    rp_buffer out = {0};

    rp_buffer_text(&out, "a,b,y\n");
    for (size_t row = 0; row < f->rows; row++) {
        if (odd && row == f->odd_row) {
            rp_buffer_printf(&out, "%s\n", f->odd);
            continue;
        }
        rp_buffer_text(&out, f->column);
        if (f->numbered)
            rp_buffer_printf(&out, "%d", (int)row);
        rp_buffer_printf(&out, ",%d,%s\n", (int)(row * 7 % 11), f->target[row % 2]);
    }
    rp_buffer_u8(&out, 0);
    return (char *)out.data;
}

static void each_finding_is_told_and_only_where_it_is(void **state)
{
    static const finding_case cases[] = {
        {"constant", "", "", "5", false, {"u", "v"}, 8, 3, "6,1,u"},
        {"empty", "", "", "", false, {"u", "v"}, 8, 3, "6,1,u"},
        {"identifier", "", "", "", true, {"u", "v"}, 30, 12, "3,1,u"},
        {"identifier", "", "", "", true, {"u", "v"}, 30, 12, "11.5,1,u"},
        {"near_unique", "", "", "n", true, {"u", "v"}, 20, 4, "7,1,u"},
        {"mixed", "", "", "1", true, {"u", "v"}, 8, 3, "x,1,u"},
        {"target_missing", "", "", "1", false, {"u", "v"}, 8, 3, "1,1,"},
        {"class_spelling", "", "", "1", false, {"1", "2"}, 8, 3, "1,1,1.0"},
        {"class_spelling", "", "", "1", false, {"yes", "no"}, 8, 3, "1,1, Yes"},
        {"class", "", ", task: regression", "1", false, {"1", "2"}, 8, 3, "1,1,3"},
        {"imbalance", "", "", "1", false, {"u", "u"}, 21, 3, "1,1,v"},
        {"many_missing", "", "", "NA", false, {"u", "v"}, 3, 1, "1,1,u"},
        {"duplicates", "", "", "", true, {"u", "v"}, 8, 7, "0,0,u"},
        {"conflicts", "", "", "", true, {"u", "v"}, 8, 7, "0,0,v"},
        {"determines_target", "", "", "", true, {"u", "u"}, 20, 19, "19,1,v"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        char quoted[64];
        int found[2];

        snprintf(quoted, sizeof quoted, "\"code\":\"%s\"", cases[i].code);
        for (int odd = 0; odd < 2; odd++) {
            char *csv = table_of(&cases[i], odd), *text = profile(cases[i].keys, cases[i].train, csv);

            found[odd] = strstr(text, quoted) != NULL;
            rp_free(text);
            rp_free(csv);
        }
        if (found[0] == found[1])
            fail_msg("case %zu: %s is %s in both tables", i, cases[i].code, found[0] ? "told" : "not told");
    }
}

static void a_column_that_gives_the_target_away_is_told(void **state)
{
    rp_buffer csv = {0};
    char *text;

    (void)state;
    rp_buffer_text(&csv, "copy,noise,y\n");
    for (int row = 0; row < 40; row++)
        rp_buffer_printf(&csv, "%d,%d,%s\n", 100 + row % 3, row * 17 % 23, row % 3 == 1 ? "bad" : "good");
    rp_buffer_u8(&csv, 0);
    text = profile("", "", (const char *)csv.data);
    assert_has(text,
               "{\"code\":\"determines_target\",\"column\":0,\"level\":\"warning\",\"words\":\"\\\"copy\\\" gives");
    assert_null(strstr(strstr(text, "determines_target") + 1, "determines_target"));
    rp_free(text);
    rp_buffer_free(&csv);

    csv = (rp_buffer){0};
    rp_buffer_text(&csv, "scaled,noise,y\n");
    for (int row = 0; row < 40; row++)
        rp_buffer_printf(&csv, "%d,%d,%d.5\n", 3 * (row * 29 % 37) - 20, row * 17 % 23, 1000 - (row * 29 % 37));
    rp_buffer_u8(&csv, 0);
    text = profile("", ", task: regression", (const char *)csv.data);
    assert_has(text, "{\"code\":\"determines_target\",\"column\":0");
    assert_null(strstr(strstr(text, "determines_target") + 1, "determines_target"));
    rp_free(text);
    rp_buffer_free(&csv);
}

/* 200 rows of a column a that is the target y but for so many rows; kind: of words, of numbers in two heaps, of such
 * with some missing, of numbers of a regression, of faint ones. */
static char *nearly(char kind, int wrong)
{
    rp_buffer csv = {0};
    char *text;

    rp_buffer_text(&csv, "a,y\n");
    for (int row = 0; row < 200; row++) {
        const int y = row * 7 % 5 < 2, a = row % 37 == 0 && row / 37 < wrong ? !y : y;

        if (kind == 'w')
            rp_buffer_printf(&csv, "%s,%s\n", a ? "yes" : "no", y ? "bad" : "good");
        else if (kind == 'm' && row % 50 == 0)
            rp_buffer_printf(&csv, ",%s\n", row == 50 && wrong ? "bad" : "good");
        else if (kind == 'n' || kind == 'm')
            rp_buffer_printf(&csv, "%d,%s\n", 1000 * a + row * 3 % 200, y ? "bad" : "good");
        else if (kind == 'f') /* but for one row, squares of the differences are 0 */
            rp_buffer_printf(&csv, "%de-162,%de-162\n", row == 50 ? 3 : row % 2 * 2 - 1,
                             row == 50 ? 3 : row / 2 % 2 * 2 - 1);
        else
            rp_buffer_printf(&csv, "%d,%d\n", row * 3 % 200 + (row % 5 - 2) * wrong, row * 3 % 200);
    }
    rp_buffer_u8(&csv, 0);
    text = profile("", kind == 'r' || kind == 'f' ? ", task: regression" : "", (const char *)csv.data);
    rp_buffer_free(&csv);
    return text;
}

static void a_column_that_is_nearly_the_target_is_told(void **state)
{
    static const struct {
        char kind;
        int wrong;
        bool told;
        const char *count;
    } cases[] = {{'w', 4, true, "\"column\":0,\"count\":4,"},
                 {'w', 5, false, NULL}, /* 80 of 200 are bad: a twentieth is 4 */
                 {'n', 3, true, "\"column\":0,\"count\":3,"},
                 {'n', 5, false, NULL},
                 {'r', 3, true, "\"column\":0,"},
                 {'r', 9, false, NULL},
                 {'f', 0, false, NULL}};

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        char *text = nearly(cases[i].kind, cases[i].wrong), *told = strstr(text, "{\"code\":\"nearly_determines\",");

        if ((told != NULL) != cases[i].told || (told != NULL && strstr(told, cases[i].count) == NULL))
            fail_msg("case %zu: %s", i, text);
        assert_null(strstr(text, "\"determines_target"));
        rp_free(text);
    }
}

static void numbers_with_missing_cells_that_leave_no_error_are_the_target(void **state)
{
    (void)state;
    for (int wrong = 0; wrong < 2; wrong++) {
        char *text = nearly('m', wrong);

        assert_int_equal(strstr(text, "\"determines_target\"") != NULL, wrong == 0);
        assert_int_equal(strstr(text, "\"nearly_determines\"") != NULL, wrong == 1);
        rp_free(text);
    }
}

static void findings_name_line_cell_and_key(void **state)
{
    char *text = profile("", "", "a,y\n1,u\n2,v\nx,u\n3,v\n");

    (void)state;
    assert_has(text, "{\"code\":\"mixed\",\"column\":0,\"count\":1,\"level\":\"warning\",\"line\":4,\"text\":\"x\"");
    assert_has(text, "first line 4: \\\"x\\\"");
    assert_has(text, "data.missing");
    rp_free(text);
    text = profile("", "",
                   "a,b,y\nNA,7,u\nk1,8,v\nk2,9,u\nk3,10,v\nk4,11,u\nk5,12,v\nk6,13,u\nk7,14,v\nk8,15,u\nk9,16,v\n"
                   "l0,17,u\nl1,18,v\nl2,19,u\nl3,20,v\nl4,21,u\nl5,22,v\nl6,23,u\nl7,24,v\nl8,25,u\nl9,26,v\n"
                   "m0,27,u\nm1,28,v\nm2,29,u\nm3,30,v\n");
    assert_has(text, "\\\"a\\\" (line 3: \\\"k1\\\") is text of 23 different values");
    assert_has(text, "\\\"b\\\" (line 2: \\\"7\\\") is a whole number of its own");
    rp_free(text);
}

static void a_header_that_looks_like_a_row_is_told(void **state)
{
    char *text = profile(", columns: {y: ignore}", "", "39,State-gov,y\n50,Private,u\n38,State-gov,v\n");

    (void)state;
    assert_null(strstr(text, "\"header\"")); /* y is no cell of the target */
    rp_free(text);
    text = profile("", "", "39,State-gov,y\n50,Private,u\n38,State-gov,y\n");
    assert_has(text, "{\"code\":\"header\",\"count\":3,\"level\":\"warning\",\"text\":\"39\"");
    assert_has(text, "data.header: false");
    rp_free(text);
    text = profile("", "", "39,Local-gov,y\n50,Private,u\n38,State-gov,y\n");
    assert_null(strstr(text, "\"header\""));
    rp_free(text);
    text = profile("", "", "year,state,y\n50,Private,u\n38,State-gov,y\n");
    assert_null(strstr(text, "\"header\""));
    rp_free(text);
}

static void words_with_a_month_are_no_dates_without_a_year(void **state)
{
    char *text = profile("", "", "a,y\nMark 2000,u\nJune 5,v\nMay 12345,u\nMay 1 2 2000,v\n");

    (void)state;
    assert_null(strstr(text, "a date"));
    rp_free(text);
    text = profile("", "", "a,y\n5-Jun-99,u\nx,u\ny,v\n");
    assert_has(text, "line 2: \\\"5-Jun-99\\\" looks like a date among texts");
    rp_free(text);
}

static void spellings_name_both_cells_and_what_settles_them(void **state)
{
    char *text = profile("", "", "a,y\nYes,u\nno,v\nYES,u\nno ,v\nno,u\n");

    (void)state;
    assert_has(text, "{\"code\":\"category_spelling\",\"column\":0,\"count\":2,\"level\":\"warning\",\"line\":4,"
                     "\"text\":\"YES\"");
    assert_has(text, "line 4: the category \\\"YES\\\" differs from \\\"Yes\\\" of line 2 only in spelling, as 2 of 4");
    assert_has(text, "correct the cells");
    rp_free(text);
    text = profile("", "", "a,y\nYes,u\nno,v\nYes ,u\n");
    assert_has(text, ": data.strip: true takes the spaces off\"");
    rp_free(text);
    text = profile(", strip: true", "", "a,y\nYes,u\nno,v\nYes ,u\n");
    assert_null(strstr(text, "category_spelling"));
    rp_free(text);
    text = profile(", columns: {a: ignore}", "", "a,y\nYes,u\nno,v\nyes,u\n");
    assert_null(strstr(text, "category_spelling"));
    rp_free(text);
}

static void another_delimiter_is_named(void **state)
{
    char *text = profile("", "", "a;b;y\n1;2;u\n2;3;v\n");

    (void)state;
    assert_has(text, "{\"code\":\"delimiter\",\"count\":2,\"level\":\"warning\",\"text\":\";\"");
    rp_free(text);
    text = profile("", "", "a b y\n1 2 u\n2 3 v\n");
    assert_has(text, "{\"code\":\"delimiter\",\"count\":2,\"level\":\"warning\",\"text\":\" \"");
    assert_has(text, "holds 2 times");
    rp_free(text);
    text = profile("", "", "a  b   y\n1  2   u\n");
    assert_has(text, "runs of blanks divide its lines");
    rp_free(text);
    text = profile("", "", "what they said\nyes\nnot now\n"); /* words, fewer in one line than in the other */
    assert_null(strstr(text, "delimiter"));
    rp_free(text);
}

/* ---- equal rows ---- */

static uint64_t draw(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

static void equal_rows_are_those_of_a_naive_count(void **state)
{
    enum { ROWS = 300 };
    uint64_t seed = 5;

    (void)state;
    for (int round = 0; round < 20; round++) {
        rp_buffer csv = {0};
        char *text, expected[64];
        int a[ROWS], b[ROWS], y[ROWS], duplicates = 0, conflicts = 0;

        rp_buffer_text(&csv, "a,b,y\n");
        for (int i = 0; i < ROWS; i++) {
            a[i] = (int)(draw(&seed) % 12);
            b[i] = (int)(draw(&seed) % (round + 1));
            y[i] = (int)(draw(&seed) % 2);
            if (a[i] == 0)
                rp_buffer_text(&csv, i % 2 ? "NA" : "?");
            else
                rp_buffer_printf(&csv, "%d", a[i]);
            rp_buffer_printf(&csv, ",w%d,%d\n", b[i], y[i]);
        }
        rp_buffer_u8(&csv, 0);
        for (int i = 0; i < ROWS; i++) {
            bool again = false, torn = false;

            for (int k = 0; k < ROWS; k++) {
                bool equal = a[k] == a[i] && b[k] == b[i];

                again = again || (k < i && equal && y[k] == y[i]);
                torn = torn || (equal && y[k] != y[i]);
            }
            duplicates += again;
            conflicts += torn;
        }
        text = profile("", "", (const char *)csv.data);
        snprintf(expected, sizeof expected, "\"duplicates\":%d", duplicates);
        assert_has(text, expected);
        snprintf(expected, sizeof expected, "\"conflicts\":%d,", conflicts);
        assert_has(text, expected);
        rp_free(text);
        rp_buffer_free(&csv);
    }
}

/* Each class but the first is another spelling of 1. */
static void spellings_are_told_ten_times_and_counted(void **state)
{
    char csv[4000], number[40];

    (void)state;
    for (int classes = 11; classes <= 12; classes++) {
        char *text;
        size_t told = 0;

        strcpy(csv, "a,y\n0,1\n");
        for (int i = 1; i < classes; i++) {
            snprintf(number, sizeof number, "%d,1.%0*d\n", i, i, 0);
            strcat(csv, number);
        }
        text = profile("", "", csv);
        for (const char *at = text; (at = strstr(at, "\"class_spelling\"")) != NULL; at++)
            told++;
        assert_int_equal(told, 10);
        if ((strstr(text, "\"class_spellings\"") != NULL) != (classes == 12))
            fail_msg("%s", text);
        if (classes == 12)
            assert_has(text, "11 classes differ from another one only in spelling");
        rp_free(text);
    }
}

static void outliers_and_skewness_are_those_of_the_hand(void **state)
{
    static const double far[] = {1, 2, 3, 4, 100}, edge[] = {-1, 2, 3, 4, 7}, one[] = {0, 0, 3}, flat[] = {2, 2};
    double scratch[5];

    (void)state;
    assert_int_equal(rp_quality_outliers(far, 5), 1);  /* quartiles 2 and 4: beyond -1 and 7 */
    assert_int_equal(rp_quality_outliers(edge, 5), 0); /* in them is not beyond */
    assert_int_equal(rp_quality_outliers(flat, 2), 0);
    /* mean 1, squares 1 1 4, cubes -1 -1 8: 2 / (2 sqrt 2) */
    assert_true(rp_quality_skew(one, scratch, 3) == 0x1.6a09e667f3bccp-1);
    assert_true(rp_quality_skew(flat, scratch, 2) != rp_quality_skew(flat, scratch, 2));
}

/* A copied target, a constant, an id, a date, rows left out, duplicates, conflicts, and a category only validation has.
 */
static void quality_is_counted_by_dimension(void **state)
{
    static const char yaml[] = "{reprise: 1, data: {csv: a, target: y, split: part, missing_target: drop, "
                               " columns: {t: {kind: date, parts: []}},"
                               " where: [{column: n, is: '>', value: 0}]}, train: {batch: 1, solver: gradient},"
                               " card: {data_source: 'the core system', data_period: '2024'}}";
    static const char expected[] =
        "\"quality\":{\"accuracy\":{\"leaks\":[],\"outliers\":1},"
        "\"availability\":{\"left_out\":1,\"missing_target\":1,\"rows\":9,\"used\":7},"
        "\"columns\":[{\"distinct\":5,\"kind\":\"numeric\",\"missing\":0,\"name\":\"n\",\"outliers\":1,\"skew\":\"2.0";
    static const char rest[] =
        "\"completeness\":{\"cells\":42,\"columns\":1,\"missing\":1},"
        "\"consistency\":{\"conflicts\":3,\"spellings\":1},"
        "\"timeliness\":{\"dates\":[{\"column\":2,\"first\":\"2024-01-01\","
        "\"last\":\"2024-01-07\"}],\"period\":\"2024\"},"
        "\"traceability\":{\"source\":\"the core system\"},"
        "\"uniqueness\":{\"constants\":[3],\"duplicates\":1,\"identifiers\":[]},\"validity\":{\"unseen\":1}}";
    static const char csv[] = "n,c,t,k,part,y\n1,a,2024-01-01,x,train,no\n1,a,2024-01-01,x,train,no\n"
                              "1,a,2024-01-01,x,train,yes\n2,b,,x,train,Yes\n0,b,2024-01-04,x,train,yes\n"
                              "3,b,2024-01-05,x,train,\n4,b,2024-01-06,x,train,no\n5,z,2024-01-07,x,valid,no\n"
                              "900,b,2024-01-07,x,valid,yes\n";
    rp_recipe *recipe;
    rp_dataset *d = NULL;
    rp_error err = {0};
    rp_buffer out = {0};

    (void)state;
    if (rp_recipe_from_yaml(&recipe, yaml, strlen(yaml), "r.yaml", &err) != RP_OK ||
        rp_dataset_prepare(&d, recipe, csv, strlen(csv), "d.csv", &(rp_table_options){.pool = NULL}, &err) != RP_OK ||
        rp_profile_tell(&out, d->profile, &err) != RP_OK)
        fail_msg("%s", err.text);
    rp_buffer_u8(&out, 0);
    assert_has((char *)out.data, expected);
    assert_has((char *)out.data, rest);
    rp_buffer_free(&out);
    rp_dataset_free(d);
    rp_recipe_free(recipe);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_have_their_figures),
        cmocka_unit_test(each_finding_is_told_and_only_where_it_is),
        cmocka_unit_test(a_column_that_gives_the_target_away_is_told),
        cmocka_unit_test(a_column_that_is_nearly_the_target_is_told),
        cmocka_unit_test(numbers_with_missing_cells_that_leave_no_error_are_the_target),
        cmocka_unit_test(findings_name_line_cell_and_key),
        cmocka_unit_test(another_delimiter_is_named),
        cmocka_unit_test(a_header_that_looks_like_a_row_is_told),
        cmocka_unit_test(words_with_a_month_are_no_dates_without_a_year),
        cmocka_unit_test(spellings_name_both_cells_and_what_settles_them),
        cmocka_unit_test(outliers_and_skewness_are_those_of_the_hand),
        cmocka_unit_test(quality_is_counted_by_dimension),
        cmocka_unit_test(spellings_are_told_ten_times_and_counted),
        cmocka_unit_test(equal_rows_are_those_of_a_naive_count),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
