/* SPDX-License-Identifier: Apache-2.0
 * Dates of cells (CONTRACT 9.2a): the calendar against a count of all its days, texts that are dates and texts that are
 * none, and what a column of dates becomes in training and in new rows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/json.h"
#include "core/data/dataset.h"
#include "core/recipe/date.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static int days_of(int year, int month)
{
    const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

    return month == 2 ? 28 + leap : month == 4 || month == 6 || month == 9 || month == 11 ? 30 : 31;
}

/* Counted from 0001-01-01, a Monday, 719,162 days before 1970-01-01. */
static void every_day_of_9999_years_has_its_number(void **state)
{
    const rp_date_rule rule = {.since = 0};
    int64_t day = -719162;
    char text[RP_MOMENT_SIZE], expected[32];

    (void)state;
    for (int y = 1; y <= 9999; y++)
        for (int m = 1, of_year = 1; m <= 12; m++)
            for (int d = 1; d <= days_of(y, m); d++, day++, of_year++) {
                const rp_moment at = {.year = y, .month = m, .day = d};

                assert_int_equal(rp_date_days(y, m, d), day);
                assert_int_equal(rp_date_part_of(&rule, RP_DATE_WEEKDAY, &at), (day + 719162) % 7 + 1);
                assert_int_equal(rp_date_part_of(&rule, RP_DATE_DAY_OF_YEAR, &at), of_year);
                if (d != 1 && d < 28)
                    continue;
                snprintf(expected, sizeof expected, "%04d-%02d-%02d", y, m, d);
                assert_string_equal(rp_date_print(text, day * 86400), expected);
            }
    assert_int_equal(day, 2932897);
}

static void texts_are_dates_or_they_are_not(void **state)
{
    static const struct {
        const char *format, *text, *as; /* as NULL: none */
    } of[] = {
        {"iso", "2024-02-29", "2024-02-29"},
        {"iso", "2023-02-29", NULL},
        {"iso", "1900-02-29", NULL},
        {"iso", "2000-02-29", "2000-02-29"},
        {"iso", "2024-2-29", NULL},
        {"iso", "0000-01-01", NULL},
        {"iso", "0001-01-01", "0001-01-01"},
        {"iso", "2024-03-31T23:59:58", "2024-03-31T23:59:58"},
        {"iso", "2024-03-31 23:59", "2024-03-31T23:59:00"},
        {"iso", "2024-03-31T23:59:58.125Z", "2024-03-31T23:59:58"},
        {"iso", "2024-03-31T23:59:58+00:00", "2024-03-31T23:59:58"},
        {"iso", "2024-03-31T23:59:58+01:00", NULL},
        {"iso", "2024-03-31T24:00:00", NULL},
        {"iso", "2024-03-31T23:60", NULL},
        {"iso", "2024-03-31T23", NULL},
        {"iso", "2024-03-31T", NULL},
        {"iso", "2024-03-31 ", NULL},
        {"iso", "2024-03-31T10:00:00.", NULL},
        {"iso", "", NULL},
        {"%d.%m.%Y", "31.12.1969", "1969-12-31"},
        {"%d.%m.%Y", "1.2.2024", "2024-02-01"},
        {"%d.%m.%Y", "31.04.2024", NULL},
        {"%d.%m.%Y", "1.2.24", NULL},
        {"%m/%d/%Y", "12/31/2024", "2024-12-31"},
        {"%m/%d/%Y", "31/12/2024", NULL},
        {"%d/%m/%y", "31/12/68", "2068-12-31"},
        {"%d/%m/%y", "31/12/69", "1969-12-31"},
        {"%Y%m%d", "20240305", "2024-03-05"},
        {"%Y-%m", "2024-03", "2024-03-01"},
        {"%b %d %Y", "mAy 3 2001", "2001-05-03"},
        {"%B %d, %Y", "September 3, 2001", "2001-09-03"},
        {"%b %d %Y", "Mayo 3 2001", NULL},
        {"%Y%%%m", "2024%03", "2024-03-01"},
        {"%d.%m.%Y %H:%M", "1.2.2024 7:05", "2024-02-01T07:05:00"},
        {"%d.%m.%Y", "1.2.2024x", NULL},
    };
    char text[RP_MOMENT_SIZE];
    rp_moment at;

    (void)state;
    for (size_t i = 0; i < COUNT(of); i++) {
        const bool good = rp_date_read(of[i].format, 69, of[i].text, strlen(of[i].text), &at);

        if (good != (of[i].as != NULL))
            fail_msg("%s of \"%s\": %s", of[i].format, of[i].text, good ? "read" : "not read");
        if (good)
            assert_string_equal(rp_date_print(text, rp_date_seconds(&at)), of[i].as);
    }
}

static void a_format_names_each_unit_once_and_none_without_the_greater(void **state)
{
    static const char *const wrong[] = {"",      "%d.%m", "%Y %y",  "%m%b%Y", "%Y %d",   "%Y-%m-%d %M",
                                        "%Y-%q", "%Y%",   "%Y\t%m", "%H %Y",  "%Y-%m %H"};
    static const char *const right[] = {"iso", "%Y", "%y%m", "%d %B %Y", "%Y-%m-%d %H:%M:%S", "week of %Y-%m-%d"};
    const char *why;

    (void)state;
    for (size_t i = 0; i < COUNT(wrong); i++)
        if (rp_date_format_check(wrong[i], &why) || why == NULL)
            fail_msg("\"%s\" was taken", wrong[i]);
    for (size_t i = 0; i < COUNT(right); i++)
        if (!rp_date_format_check(right[i], &why))
            fail_msg("\"%s\": %s", right[i], why);
}

static void a_percent_sign_before_y_is_no_year(void **state)
{
    (void)state;
    assert_true(rp_date_format_short("%d%%%y%m"));
    assert_false(rp_date_format_short("%Y%%y"));
    assert_false(rp_date_format_short("iso"));
}

/* ---- columns ---- */

static rp_status prepare(const char *keys, const char *csv, rp_recipe **recipe, rp_dataset **out, rp_error *err)
{
    char yaml[700];

    *recipe = NULL;
    *out = NULL;
    snprintf(yaml, sizeof yaml,
             "reprise: 1\ndata: {csv: a, target: y, standardize: false, %s}\n"
             "train: {batch: 1, solver: gradient}\n",
             keys);
    if (rp_recipe_from_yaml(recipe, yaml, strlen(yaml), "r.yaml", err) != RP_OK)
        return RP_EARG;
    return rp_dataset_prepare(out, *recipe, csv, strlen(csv), "d.csv", &(rp_table_options){.pool = NULL}, err);
}

static void assert_encoded(const char *keys, const char *csv, size_t width, size_t rows, const float *expected,
                           const char *new_csv)
{
    rp_recipe *recipe;
    rp_dataset *d;
    rp_schema *schema = NULL;
    rp_rows *r = NULL;
    rp_error err = {0};
    float x[64];

    if (prepare(keys, csv, &recipe, &d, &err) != RP_OK)
        fail_msg("%s", err.text);
    assert_int_equal(d->schema->features, width);
    assert_int_equal(d->train_rows, rows);
    for (size_t i = 0; i < rows * width; i++)
        if (d->train_x[i] != expected[i])
            fail_msg("%s: feature %zu: expected %a, found %a", keys, i, (double)expected[i], (double)d->train_x[i]);
    /* the first row again, by the schema's text alone */
    if (rp_schema_from_json(&schema, d->schema->json, "schema", &err) != RP_OK ||
        rp_rows_open(&r, schema, recipe, new_csv, strlen(new_csv), "n.csv", NULL, &err) != RP_OK ||
        rp_rows_encode(r, 0, 1, x, &err) != RP_OK)
        fail_msg("%s", err.text);
    assert_memory_equal(x, d->train_x, width * sizeof *x);
    rp_rows_free(r);
    rp_schema_free(schema);
    rp_dataset_free(d);
    rp_recipe_free(recipe);
}

static const char four[] = "t,y\n31.01.2024,no\n,yes\n01.03.1969,no\n29.02.2024,yes\n";

static void parts_are_columns_behind_the_tables(void **state)
{
    static const float parts[] = {19753, 2024, 1, 1, 31, 3, 31, 0, 19753.f * 86400,
                                  /* the means of the three */
                                  13076.333333333334f, 2005.6666666666667f, 1, 2, 20.333333333333332f,
                                  4.333333333333333f, 50.333333333333336f, 0, 1129795200, -306, 1969, 1, 3, 1, 6, 60, 0,
                                  -306 * 86400, 19782, 2024, 1, 2, 29, 4, 60, 0, 19782.f * 86400};
    static const float weekdays[] = {1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0};

    (void)state;
    assert_encoded("train_on_all: true, columns: {t: {kind: date, format: '%d.%m.%Y', parts: [days, year, quarter, "
                   "month, day, weekday, day_of_year, hour, seconds]}}",
                   four, 9, 4, parts, "y,t\nno,31.01.2024\n");
    assert_encoded("train_on_all: true, columns: {t: {kind: date, format: '%d.%m.%Y', parts: [weekday]}, "
                   "t.weekday: categorical}",
                   four, 4, 4, weekdays, "t\n31.01.2024\n");
}

static void treatments_of_a_date_are_those_of_its_parts(void **state)
{
    static const float marked[] = {31, 0, 0, 1, -20028, 0, 60, 0};

    (void)state;
    assert_encoded("train_on_all: true, columns: {t: {kind: date, format: '%d.%m.%Y', since: 2023-12-31, missing: 0, "
                   "indicator: true}}",
                   four, 2, 4, marked, "t\n31.01.2024\n");
    assert_encoded("train_on_all: true, columns: {t: {kind: date, format: '%d.%m.%Y', since: 2023-12-31, missing: 0, "
                   "parts: [days, month]}, t.month: {bins: [3]}}",
                   four, 4, 4, (const float[]){31, 1, 0, 0, 0, 0, 0, 1, -20028, 0, 1, 0, 60, 1, 0, 0},
                   "t\n31.01.2024\n");
}

static void rows_are_chosen_and_divided_by_dates(void **state)
{
    static const char csv[] = "t,a,y\n2024-01-05,1,no\n2024-01-01,2,yes\n2023-12-31,3,no\n2024-01-03,4,no\n"
                              "2024-01-04 12:00,5,yes\n2024-01-04,6,no\n";
    /* 3 is left out; of five rows by time the last validates */
    static const float rest[] = {2, 4, 5, 6};

    (void)state;
    assert_encoded("columns: {t: {kind: date, parts: []}}, where: [{column: t, is: '>=', value: 2024-01-01}], time: t",
                   csv, 1, 4, rest, "a\n2\n");
    assert_encoded("columns: {t: {kind: date, parts: [year]}, t.year: ignore}, train_on_all: true, "
                   "where: [{column: t.year, is: '=', value: 2024}, {column: t, is: '<', value: '2024-01-04T12:00'}]",
                   csv, 1, 3, (const float[]){2, 4, 6}, "a\n2\n");
}

static void what_does_not_fit_is_told_with_its_place(void **state)
{
    static const struct {
        const char *keys, *csv, *words[3];
    } of[] = {
        {"columns: {t: date}", "t,y\n2024-01-31,no\n2024-02-30,yes\n", {"d.csv:3", "column \"t\"", "\"2024-02-30\""}},
        {"columns: {t: date, t.days: categorical}",
         "t,y\n2024-01-31,no\n2024-02-30,yes\n",
         {"d.csv:3", "format iso", "\"2024-02-30\""}},
        {"columns: {t: date}", "t,t.days,y\n2024-01-31,1,no\n", {"names \"t.days\" twice", "", ""}},
        {"columns: {t: {kind: date, missing: error}}",
         "t,y\n2024-01-31,no\n,yes\n",
         {"d.csv:3", "expected a value", ""}},
        {"columns: {t: {kind: date, format: '%Y %y'}}", "t,y\n", {"data.columns.format", "twice", ""}},
        {"columns: {t: {kind: date, since: 2024-02-30}}", "t,y\n", {"data.columns.since", "a day", ""}},
        {"columns: {t: {kind: date, parts: [week]}}", "t,y\n", {"data.columns.parts", "\"week\"", ""}},
        {"columns: {t: {kind: numeric, parts: [days]}}", "t,y\n", {"data.columns.parts", "kind: date", ""}},
        {"columns: {t: {kind: date, pivot: 30}}", "t,y\n", {"data.columns.pivot", "%y", ""}},
        {"columns: {t: date}, group: t", "t,y\n2024-01-31,no\n2024-02-01,yes\n", {"data.group", "a date", ""}},
        {"columns: {t: date}, where: [{column: t, is: '>', value: 5}]",
         "t,y\n2024-01-31,no\n2024-02-01,yes\n",
         {"data.where.value", "a date as 2024-03-31", "\"5\""}},
        {"columns: {t: date}, where: [{column: t, is: '>', value: 2024-01-01}]",
         "t,y\n2024-01-31,no\nsoon,yes\n",
         {"d.csv:3", "data.where", "\"soon\""}},
        {"where: [{column: t, is: '>', value: 2024-01-01}]", "t,y\n2024-01-31,no\n", {"d.csv:2", "kind: date", ""}},
        {"fold: 0", "t,y\n31.01.2024,no\n28.02.2024,yes\n", {"{\"t\": {kind: date, format: \"%d.%m.%Y\"}}", "", ""}},
        {"fold: 0", "t,y\n2024-01-31,no\n2024-02-28,yes\n", {"{\"t\": {kind: date}}", "", ""}},
        {"fold: 0", "t,y\n1/2/2024,no\n3/4/2024,yes\n", {"\"%m/%d/%Y\" or \"%d/%m/%Y\"", "", ""}},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(of); i++) {
        rp_recipe *recipe;
        rp_dataset *d;
        rp_error err = {0};

        if (prepare(of[i].keys, of[i].csv, &recipe, &d, &err) == RP_OK)
            fail_msg("%s: not refused", of[i].keys);
        for (int k = 0; k < 3; k++)
            if (strstr(err.text, of[i].words[k]) == NULL)
                fail_msg("%s: expected \"%s\" in: %s", of[i].keys, of[i].words[k], err.text);
        rp_recipe_free(recipe);
    }
}

static void a_damaged_part_is_refused(void **state)
{
    static const char *const wrong[] = {"[1,\"year\"]", "[0,\"week\"]", "[0]", "[-1,\"year\"]", "[2,\"year\"]", "3"};

    (void)state;
    for (size_t i = 0; i < COUNT(wrong); i++) {
        char text[300];
        rp_json *json;
        rp_schema *schema;
        rp_error err;

        snprintf(
            text, sizeof text,
            "{\"classes\":null,\"columns\":[{\"kind\":\"date\",\"name\":\"t\"},{\"kind\":\"target\",\"name\":\"y\"},"
            "{\"kind\":\"numeric\",\"mean\":\"0\",\"name\":\"t.year\",\"part\":%s}]}",
            wrong[i]);
        assert_int_equal(rp_json_parse(&json, text, strlen(text), false, "schema", &err), RP_OK);
        if (rp_schema_from_json(&schema, json, "schema", &err) != RP_EFORMAT)
            fail_msg("%s: not refused", text);
        rp_json_free(json);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_day_of_9999_years_has_its_number),
        cmocka_unit_test(texts_are_dates_or_they_are_not),
        cmocka_unit_test(a_format_names_each_unit_once_and_none_without_the_greater),
        cmocka_unit_test(a_percent_sign_before_y_is_no_year),
        cmocka_unit_test(parts_are_columns_behind_the_tables),
        cmocka_unit_test(treatments_of_a_date_are_those_of_its_parts),
        cmocka_unit_test(rows_are_chosen_and_divided_by_dates),
        cmocka_unit_test(what_does_not_fit_is_told_with_its_place),
        cmocka_unit_test(a_damaged_part_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
