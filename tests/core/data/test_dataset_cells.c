/* SPDX-License-Identifier: Apache-2.0
 * How cells are read and which rows count: numbers in a dress, rules, weights, counts, comments, encodings; a warning
 * for what may be meant otherwise, one clear error a mistake, and schemas that are refused. */
#include "tests/core/data/dataset_steps.h"

static void assert_schema_has(const rp_dataset *dataset, const char *part)
{
    char *text = canonical(dataset->schema->json);

    if (strstr(text, part) == NULL)
        fail_msg("expected %s in %s", part, text);
    rp_free(text);
}

static void a_damaged_schema_is_refused(void **state)
{
    static const char *const damaged[] = {
        "{}",
        "[]",
        "{\"classes\":null,\"columns\":[]}",
        "{\"classes\":[\"a\"],\"columns\":[]}",
        "{\"classes\":[\"a\",\"a\"],\"columns\":[]}",
        "{\"classes\":null,\"columns\":[{\"kind\":\"target\",\"name\":null}]}",
        "{\"classes\":null,\"columns\":[{\"kind\":\"target\"}]}",
        "{\"classes\":null,\"columns\":[{\"kind\":\"odd\",\"name\":null}]}",
        "{\"classes\":null,\"columns\":[{\"kind\":\"numeric\",\"mean\":\"1\",\"name\":null}]}",
        "{\"classes\":null,\"columns\":[{\"kind\":\"numeric\",\"mean\":\"1.0\",\"name\":null},"
        "{\"kind\":\"target\",\"name\":null}]}",
        "{\"classes\":null,\"columns\":[{\"kind\":\"numeric\",\"mean\":\"nan\",\"name\":null},"
        "{\"kind\":\"target\",\"name\":null}]}",
        "{\"classes\":null,\"columns\":[{\"deviation\":\"-1\",\"kind\":\"numeric\",\"mean\":\"1\",\"name\":null},"
        "{\"kind\":\"target\",\"name\":null}]}",
        "{\"classes\":null,\"columns\":[{\"categories\":[\"b\",\"a\"],\"kind\":\"categorical\",\"name\":null},"
        "{\"kind\":\"target\",\"name\":null}]}",
        "{\"classes\":null,\"columns\":[{\"categories\":[null,\"a\"],\"kind\":\"categorical\",\"name\":null},"
        "{\"kind\":\"target\",\"name\":null}]}",
        "{\"classes\":null,\"columns\":[{\"categories\":[\"a\"],\"kind\":\"categorical\",\"name\":\"x\"},"
        "{\"kind\":\"target\",\"name\":null}]}",
        "{\"classes\":null,\"columns\":[{\"kind\":\"numeric\",\"mean\":\"1\",\"name\":null,\"offset\":\"ln\"},"
        "{\"kind\":\"target\",\"name\":null}]}",
        "{\"classes\":null,\"columns\":[{\"deviation\":\"1\",\"kind\":\"numeric\",\"mean\":\"1\",\"name\":null,"
        "\"offset\":\"log\"},{\"kind\":\"target\",\"name\":null}]}",
        "{\"classes\":null,\"columns\":[{\"kind\":\"numeric\",\"mean\":\"1\",\"name\":null,\"offset\":\"log\"},"
        "{\"kind\":\"numeric\",\"mean\":\"1\",\"name\":null,\"offset\":\"log\"},{\"kind\":\"target\",\"name\":null}]}",
    };

    (void)state;
    for (size_t i = 0; i < COUNT(damaged); i++) {
        rp_json *json = NULL;
        rp_schema *schema = NULL;
        rp_error err = {0};

        assert_int_equal(rp_json_parse(&json, damaged[i], strlen(damaged[i]), false, "s", &err), RP_OK);
        if (rp_schema_from_json(&schema, json, "schema.json", &err) != RP_EFORMAT)
            fail_msg("accepted: %s", damaged[i]);
        assert_null(schema);
        rp_json_free(json);
    }
}

typedef struct mistake {
    const char *data; /* further keys of data: */
    const char *csv;
    rp_status status;
    const char *fragments[4];
} mistake;

static const mistake mistakes[] = {
    {"", "", RP_EDATA, {"d.csv", "empty"}},
    {"weight: w", "a,w,y\n1,1,0\n2,x,1\n", RP_EDATA, {"d.csv:3", "weight column \"w\"", "\"x\"", "from 0"}},
    {"weight: w", "a,w,y\n1,1,0\n2,-1,1\n", RP_EDATA, {"d.csv:3", "weight column \"w\"", "\"-1\""}},
    {"weight: w", "a,w,y\n1,,0\n2,1,1\n", RP_EDATA, {"d.csv:2", "weight column \"w\"", "\"\""}},
    {"weight: w", "a,w,y\n1,0,0\n2,0,1\n", RP_EDATA, {"training part's 2 rows", "sum"}},
    {"weight: y", "a,w,y\n1,0,0\n2,0,1\n", RP_EARG, {"data.weight", "is the target"}},
    {"weight: v", "a,w,y\n1,0,0\n2,0,1\n", RP_EARG, {"data.weight", "\"v\""}},
    {"", "a,y\n1,0\n2\n", RP_EDATA, {"d.csv:3", "2 cells"}},
    {"", "a,y\n1,0\ntwo,1\n3,1\n", RP_EDATA, {"d.csv:3", "column \"a\"", "a number", "\"two\""}},
    {"", "a,y\nx,0\ny,1\n3,1\n", RP_EDATA, {"d.csv:4", "column \"a\"", "text", "\"3\""}},
    {"columns: {a: numeric}", "a,y\n1,0\ntwo,1\n3,1\n", RP_EDATA, {"d.csv:3", "column \"a\"", "a number", "\"two\""}},
    {"missing: []", "a,y\n1,0\nNaN,1\n3,1\n", RP_EDATA, {"d.csv:3", "column \"a\"", "finite", "\"NaN\""}},
    {"", "a,y\n1,0\n-Inf,1\n3,1\n", RP_EDATA, {"d.csv:3", "column \"a\"", "finite", "\"-Inf\""}},
    {"", "a,y\n1,0\n1e999,1\n3,1\n", RP_EDATA, {"d.csv:3", "column \"a\"", "finite", "\"1e999\""}},
    {"missing: [\"\"]", "a,y\n1,0\nNA,1\n3,1\n", RP_EDATA, {"d.csv:3", "\"NA\"", "data.missing"}},
    {"missing_numeric: error", "a,y\n1,0\nNA,1\n3,1\n", RP_EDATA, {"d.csv:3", "column \"a\"", "missing_numeric"}},
    {"missing_categorical: error", "a,y\nx,0\nNA,1\n", RP_EDATA, {"d.csv:3", "column \"a\"", "missing_categorical"}},
    {"columns: {a: numeric}", "a,y\n,0\n,1\n", RP_EDATA, {"column \"a\"", "missing"}},
    {"", "a,y\n1,0\n2,?\n", RP_EDATA, {"d.csv:3", "target column \"y\"", "a value"}},
    {"", "a,y\n1,0\n2,0\n", RP_EDATA, {"target column \"y\"", "two classes", "\"0\""}},
    {"positive: maybe", "a,y\n1,no\n2,yes\n", RP_EARG, {"data.positive", "\"yes\"", "\"maybe\""}},
    {"positive: a", "a,y\n1,a\n2,b\n3,c\n", RP_EARG, {"data.positive", "two classes", "3"}},
    {"", "a,yy\n1,0\n2,1\n", RP_EARG, {"data.target", "\"y\"", "\"yy\""}},
    {"", "a;y\n1;0\n2;1\n", RP_EARG, {"data.target", "it has \"a;y\" alone", "data.delimiter"}},
    {"columns: {ab: ignore}", "a,y\n1,0\n2,1\n", RP_EARG, {"data.columns", "\"ab\""}},
    {"columns: {7: ignore}", "a,y\n1,0\n2,1\n", RP_EARG, {"data.columns", "below 2", "7"}},
    {"columns: {y: ignore}", "a,y\n1,0\n2,1\n", RP_EARG, {"data.columns", "target"}},
    {"columns: {a: ignore, 0: ignore}", "a,y\n1,0\n2,1\n", RP_EARG, {"column \"a\"", "by name and by index"}},
    {"columns: {a: ignore}", "a,y\n1,0\n2,1\n", RP_EDATA, {"features", "found 0"}},
    {"", "a,y\n1e308,0\n-1e308,1\n1e308,1\n", RP_EDATA, {"column \"a\"", "too large"}},
    {"", "a,y\n\"1,5\",0\n\"2,25\",1\n", RP_EDATA, {"d.csv:2", "column \"a\"", "\"1,5\"", "data: {decimal: \",\"}"}},
    {"", "a,y\n\"1,5\",0\n2,1\n", RP_EDATA, {"d.csv:2", "\"1,5\"", "{decimal: \",\"}"}},
    {"", "a,y\n\"76,153.54\",0\n900.5,1\n", RP_EDATA, {"d.csv:2", "\"76,153.54\"", "{thousands: \",\"}"}},
    {"", "a,y\n\"1,234\",0\n\"5,678\",1\n", RP_EDATA, {"d.csv:2", "{thousands: \",\"}", "or decimal: \",\""}},
    {"", "a,y\n1.234.567,0\n2.000.000,1\n", RP_EDATA, {"d.csv:2", "{decimal: \",\", thousands: \".\"}"}},
    {"", "a,y\n1 234,0\n2 000,1\n", RP_EDATA, {"d.csv:2", "{thousands: \" \"}"}},
    {"", "a,y\n$12.00,0\n$3,1\n", RP_EDATA, {"d.csv:2", "\"$12.00\"", "{prefix: [\"$\"]}"}},
    {"", "a,y\n3.1%,0\n4%,1\n", RP_EDATA, {"d.csv:2", "\"3.1%\"", "{suffix: [\"%\"]}"}},
    {"", "a,y\n -$1,0\n 1.5,1\n", RP_EDATA, {"d.csv:2", "{strip: true, prefix: [\"$\"]}"}},
    {"", "a,y\n(3),0\n(4),1\n", RP_EDATA, {"d.csv:2", "\"(3)\"", "no key", "plain number"}},
    {"columns: {a: numeric}", "a,y\n1,0\n2%,1\n", RP_EDATA, {"d.csv:3", "\"2%\"", "{suffix: [\"%\"]}"}},
    {"",
     "\xFF\xFE"
     "a,y\n",
     RP_EDATA,
     {"d.csv", "UTF-16", "encoding: utf-16"}},
    {"", "a,y\n2024-01-31,0\n2024-02-01,1\n", RP_EDATA, {"d.csv:2", "a date", "\"2024-01-31\""}},
    {"", "a,y\n1/2/2024,0\n12/31/2024,1\n", RP_EDATA, {"d.csv:2", "a date", "\"1/2/2024\""}},
    {"", "a,y\nJan 1 2000,0\nMay 3 2001,1\n", RP_EDATA, {"d.csv:2", "a date", "\"Jan 1 2000\""}},
    {"", "a,y\n19-Sep-03,0\n1-Oct-03,1\n", RP_EDATA, {"d.csv:2", "a date", "format: \"%d-%b-%y\""}},
    {"", "a,y\nJan-1-1995,0\nFeb-1-1995,1\n", RP_EDATA, {"d.csv:2", "a date", "format: \"%b-%d-%Y\""}},
    {"", "a,y\nMay 2000,0\nSep 2001,1\n", RP_EDATA, {"d.csv:2", "a date", "format: \"%b %Y\""}},
    {"", "a,y\nMay-00,0\nSep-01,1\n", RP_EDATA, {"d.csv:2", "a date", "format: \"%b-%y\""}},
    {"", "a,y\n1st March 2000,0\n2nd May 2001,1\n", RP_EDATA, {"d.csv:2", "a date", "kind: date"}},
    {"", "a,y,z\nx,1,2\n1,2\n", RP_EDATA, {"d.csv:3", "found 2; check delimiters and quotes"}},
    {"", "PK\x03\x04\xFF,y\n", RP_EDATA, {"d.csv: expected text", "a spreadsheet (.xlsx, .ods) or a zip archive"}},
    {"",
     "\xFD"
     "7zXZ,y\n1,2\n",
     RP_EDATA,
     {"d.csv: expected text", "a file packed by xz"}},
    {"", "y\na,y\n1,2\n", RP_EDATA, {"d.csv:2", "found 2; check delimiters and quotes, or data.skip_lines"}},
    {"", "a,y\nx,0\n NA,1\n", RP_EDATA, {"d.csv:3", "\" NA\"", "missing value", "data.strip"}},
    {"decimal: ','", "a,y\n1.5,0\n\"2,5\",1\n", RP_EDATA, {"d.csv:2", "\"1.5\"", "plain number"}},
    {"thousands: ','", "a,y\n\"1,5\",0\n2,1\n", RP_EDATA, {"d.csv:2", "\"1,5\"", "decimal"}},
    {"prefix: [$, EUR]", "a,y\n$1,0\nEUR 2,1\n", RP_EDATA, {"d.csv:3", "\"EUR 2\"", "\"$\"", "two units"}},
    {"encoding: latin-1", "a,y\nx\x80,0\ny,1\n", RP_EDATA, {"d.csv:2", "0x80", "windows-1252"}},
    {"encoding: windows-1252", "a,y\nx,0\ny\x81,1\n", RP_EDATA, {"d.csv:3", "0x81"}},
    {"encoding: utf-16", "a,y", RP_EDATA, {"d.csv", "odd number of bytes"}},
    {"encoding: utf-16", "\xFE\xFF\xDC\x01", RP_EDATA, {"d.csv:1", "half a character"}},
    {"", "a,y\nx\xE9,0\n", RP_EDATA, {"d.csv:2", "0xe9", "data.encoding: latin-1"}},
    {"skip_lines: 3", "a,y\n1,0\n", RP_EDATA, {"d.csv", "data.skip_lines", "found 2"}},
    {"comment: '#'", "# a\n#", RP_EDATA, {"d.csv", "empty"}},
    {"where: [{column: b, value: 1}]", "a,y\n1,0\n2,1\n", RP_EARG, {"data.where", "\"b\""}},
    {"where: [{column: a, value: 9}]", "a,y\n1,0\n2,1\n", RP_EDATA, {"d.csv", "leaves out 2"}},
    {"where: [{column: a, is: '<', value: 9}]", "a,y\n1,0\nx,1\n", RP_EDATA, {"d.csv:3", "data.where", "\"x\""}},
    {"standardize: false", "a,y\n1e39,0\n2,1\n", RP_EDATA, {"d.csv:2", "column \"a\"", "binary32"}},
};

/* The first column of d, not standardised, under keys of data: beside a, y. */
static void assert_numbers(const char *keys, const char *csv, const float *expected, size_t n)
{
    char yaml[300];
    rp_dataset *d;

    snprintf(yaml, sizeof yaml, HEAD "data: {csv: a, target: y, train_on_all: true, standardize: false, %s}\n", keys);
    d = prepare(yaml, csv);
    assert_int_equal(d->schema->features, 1);
    assert_int_equal(d->train_rows, n);
    for (size_t i = 0; i < n; i++)
        if (d->train_x[i] != expected[i])
            fail_msg("%s: row %zu: expected %a, found %a", keys, i, expected[i], d->train_x[i]);
    rp_dataset_free(d);
}

static void numbers_are_read_in_the_dress_that_the_recipe_names(void **state)
{
    (void)state;
    assert_numbers("delimiter: ;, decimal: ','", "a;y\n1,5;0\n-2;1\n,25;0\n4e1;1\n", (float[]){1.5f, -2, 0.25f, 40}, 4);
    assert_numbers("thousands: ','", "a,y\n\"76,153.54\",0\n1234.5,1\n\"-1,234,567\",0\n",
                   (float[]){76153.54f, 1234.5f, -1234567}, 3);
    assert_numbers("decimal: ',', thousands: .", "a,y\n\"1.234,5\",0\n1.000.000,1\n", (float[]){1234.5f, 1e6f}, 2);
    assert_numbers("thousands: \"\\u00a0\"",
                   "a,y\n1\xC2\xA0"
                   "234.5,0\n7,1\n",
                   (float[]){1234.5f, 7}, 2);
    assert_numbers("prefix: $", "a,y\n$12.00,0\n-$3,1\n$-4,0\n$ 5,1\n", (float[]){12, -3, -4, 5}, 4);
    assert_numbers("prefix: [U, US], suffix: '%'", "a,y\nUS3.1%,0\nUS4 %,1\n", (float[]){3.1f, 4}, 2);
    assert_numbers("strip: true", " a ,y\n 1.5 ,0\n\t2\xC2\xA0,1\n NA,0\n\" 4 \",1\n", (float[]){1.5f, 2, 2.5f, 4}, 4);
}

/* As what stands in the rows' numbers, with another file's rows on top. */
static void rows_are_left_out_by_rules_and_keep_their_numbers(void **state)
{
    static const char csv[] = "a,k,y\n1,x,no\n2,,yes\n3,x,\n4,z,yes\n,x,no\n6,x,yes\n7,x,no\n";
    static const struct {
        const char *keys;
        int64_t row[7];
        size_t rows, where, target;
    } example[] = {
        {"missing_target: drop", {0, 1, 3, 4, 5, 6}, 6, 0, 1},
        {"missing_target: drop, where: [{column: a, is: '>', value: 1}]", {1, 3, 5, 6}, 4, 2, 1},
        {"where: [{column: y, is: present}]", {0, 1, 3, 4, 5, 6}, 6, 1, 0},
        {"where: [{column: k, value: x}, {column: y, is: present}, {column: a, is: '<=', value: 6.0}]",
         {0, 5},
         2,
         5,
         0},
        {"where: [{column: 1, is: '!=', value: x}]", {3}, 1, 6, 0},
        {"where: [{column: a, is: '=', value: 4.0}]", {3}, 1, 6, 0},
        {"where: [{column: a, is: '!=', value: 4.0}, {column: a, is: '<', value: 7}, {column: y, is: present}]",
         {0, 1, 5},
         3,
         4,
         0},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(example); i++) {
        char yaml[300];
        rp_recipe *recipe;
        rp_dataset *d = NULL;
        rp_error err = {0};
        rp_status status;

        snprintf(yaml, sizeof yaml, HEAD "data: {csv: a, target: y, train_on_all: true, %s}\n", example[i].keys);
        recipe = parse(yaml);
        status = rp_dataset_prepare(&d, recipe, csv, strlen(csv), "d.csv", &(rp_table_options){.chunk = 5}, &err);
        rp_recipe_free(recipe);
        if (example[i].rows < 2) { /* one class is left: what is told counts the rows */
            assert_int_equal(status, RP_EDATA);
            continue;
        }
        if (status != RP_OK)
            fail_msg("%s: %s", example[i].keys, err.text);
        assert_int_equal(d->train_rows, example[i].rows);
        assert_memory_equal(d->train_row, example[i].row, example[i].rows * sizeof(int64_t));
        assert_int_equal(d->warnings.count, (example[i].where > 0) + (example[i].target > 0));
        for (size_t k = 0; k < d->warnings.count; k++) {
            assert_true(d->warnings.item[k].kind == RP_WARN_DROPPED);
            assert_int_equal(d->warnings.item[k].count,
                             k == 0 && example[i].where > 0 ? example[i].where : example[i].target);
        }
        rp_dataset_free(d);
    }
}

/* Where it decides something: beside a penalty, or where the dispersion is 1. */
static void weights_far_from_1_are_told_of_exact_fits(void **state)
{
    static const char csv[] = "a,w,y\n1,20,1\n2,10,3\n3,30,2\n4,10,4\n";
    static const struct {
        const char *data, *train;
        size_t told;
    } given[] = {{"weight: w", "task: regression", 1},
                 {"weight: w", "task: regression, l2: 0", 0},
                 {"weight: w", "task: regression, family: poisson, l2: 0", 1},
                 {"weight: w", "task: regression, epochs: 2", 0},
                 {"weight: a", "task: regression", 0},
                 {"denominator: w", "task: regression, family: binomial", 0}};

    (void)state;
    for (size_t i = 0; i < COUNT(given); i++) {
        char yaml[300];
        rp_recipe *recipe;
        rp_dataset *d = NULL;
        rp_error err = {0};

        snprintf(yaml, sizeof yaml, "reprise: 1\ndata: {csv: a, target: y, train_on_all: true, %s}\ntrain: {%s}\n",
                 given[i].data, given[i].train);
        recipe = parse(yaml);
        if (rp_dataset_prepare(&d, recipe, csv, strlen(csv), "d.csv", &(rp_table_options){.pool = NULL}, &err) != RP_OK)
            fail_msg("%s", err.text);
        rp_recipe_free(recipe);
        assert_int_equal(d->warnings.count, given[i].told);
        if (given[i].told) {
            assert_true(d->warnings.item[0].kind == RP_WARN_WEIGHTS && d->warnings.item[0].column == 1);
            assert_non_null(strstr(d->warnings.item[0].text, "have the mean 17.5"));
        }
        rp_dataset_free(d);
    }
}

/* A row without trials has no target: it is left out with those that miss it. The others are proportions. */
static void counts_are_proportions_that_weigh_their_trials(void **state)
{
    static const char csv[] = "a,n,y,w\n1,4,1,1\n2,0,0,1\n3,NA,1,1\n4,8,8,0.5\n5,7,,1\n6,0.0,3,1\n7,3,0,2\n";
    static const char yaml[] = "reprise: 1\ndata: {csv: a, target: y, train_on_all: true, denominator: n, weight: w, "
                               "missing_target: drop}\ntrain: {task: regression, family: binomial}\n";
    rp_recipe *recipe = parse(yaml);
    rp_dataset *d = NULL;
    rp_error err = {0};

    (void)state;
    if (rp_dataset_prepare(&d, recipe, csv, strlen(csv), "d.csv", &(rp_table_options){.chunk = 5}, &err) != RP_OK)
        fail_msg("%s", err.text);
    rp_recipe_free(recipe);
    assert_int_equal(d->train_rows, 3);
    assert_int_equal(d->schema->features, 1);
    assert_memory_equal(d->train_row, ((int64_t[]){0, 3, 6}), 3 * sizeof(int64_t));
    assert_memory_equal(d->train_target, ((double[]){0.25, 1, 0}), 3 * sizeof(double));
    assert_memory_equal(d->train_wide_weight, ((double[]){4, 4, 6}), 3 * sizeof(double));
    assert_memory_equal(d->train_trials, ((double[]){4, 8, 3}), 3 * sizeof(double));
    assert_true(d->train_total == 14);
    assert_int_equal(d->warnings.count, 1);
    assert_int_equal(d->warnings.item[0].count, 4);
    rp_dataset_free(d);
}

static void comments_and_lines_in_front_are_passed_over(void **state)
{
    assert_numbers("skip_lines: 2", "made by\n\"hand\na,y\n1,0\n2,1\n", (float[]){1, 2}, 2);
    assert_numbers("comment: '#'", "# it's \"quoted\na,y\n#\n1,0\n# 3,4\n2,1\n#end", (float[]){1, 2}, 2);
    (void)state;
}

static void other_encodings_are_read_as_their_characters(void **state)
{
    static const char *const latin[] = {"encoding: latin-1", "encoding: windows-1252"};
    static const char wide[] = "\xFF\xFE\"\0\xE9\0\x3D\xD8\x00\xDE\"\0,\0y\0\n\0"
                               "1\0,\0"
                               "0\0\n\0"
                               "2\0,\0"
                               "1\0";
    rp_recipe *recipe = parse(HEAD "data: {csv: a, target: y, train_on_all: true, encoding: utf-16}\n");
    rp_dataset *d = NULL;
    rp_error err = {0};

    (void)state;
    for (size_t i = 0; i < COUNT(latin); i++) {
        char yaml[200];

        snprintf(yaml, sizeof yaml, HEAD "data: {csv: a, target: y, train_on_all: true, %s}\n", latin[i]);
        d = prepare(yaml, "\xE9t\xE9,y\n1,\xA3\n2,\xFF\n");
        assert_schema_has(d, "\"name\":\"\xC3\xA9t\xC3\xA9\"");
        assert_schema_has(d, "[\"\xC2\xA3\",\"\xC3\xBF\"]");
        rp_dataset_free(d);
    }
    if (rp_dataset_prepare(&d, recipe, wide, sizeof wide - 1, "d.csv", &(rp_table_options){.pool = NULL}, &err) !=
        RP_OK)
        fail_msg("%s", err.text);
    assert_schema_has(d, "\"name\":\"\xC3\xA9\xF0\x9F\x98\x80\"");
    rp_dataset_free(d);
    rp_recipe_free(recipe);
}

static void assert_warning(const char *keys, const char *csv, rp_warning_kind kind, size_t line, size_t count,
                           const char *cell)
{
    char yaml[300];
    rp_dataset *d;
    const rp_warning *w;

    snprintf(yaml, sizeof yaml, HEAD "data: {csv: a, target: y, train_on_all: true%s}\n", keys);
    d = prepare(yaml, csv);
    if (d->warnings.count != 1)
        fail_msg("%s: expected one warning, found %zu", csv, d->warnings.count);
    w = d->warnings.item;
    assert_string_equal(rp_warning_names[w->kind], rp_warning_names[kind]);
    assert_int_equal(w->column, 0);
    assert_int_equal(w->line, line);
    assert_int_equal(w->count, count);
    assert_string_equal(w->cell, cell);
    assert_non_null(strstr(w->text, kind == RP_WARN_BARE ? "prefix" : "data."));
    rp_dataset_free(d);
}

static void what_may_be_meant_otherwise_is_a_warning(void **state)
{
    rp_dataset *d = prepare(ALL, mixed);

    (void)state;
    assert_int_equal(d->warnings.count, 0);
    rp_dataset_free(d);
    assert_warning("", "a,y\n10,0\n00012,1\n007,0\n", RP_WARN_LEADING_ZEROS, 3, 2, "00012");
    assert_warning("", "a,y\nx,0\ny,1\n3%,0\n", RP_WARN_DRESSED, 4, 1, "3%");
    assert_warning("", "a,y\nx,0\ny,1\n2024-01-01,0\n", RP_WARN_DRESSED, 4, 1, "2024-01-01");
    assert_warning("", "a,y\n36 months,0\n60 months,1\n", RP_WARN_UNIT, 2, 2, "36 months");
    assert_warning("", "a,y\nx,0\nNone,1\nNone,1\n", RP_WARN_MISSING_WORD, 3, 2, "None");
    assert_warning(", suffix: '%'", "a,y\n3%,0\n4,1\n5%,1\n", RP_WARN_BARE, 3, 1, "4");
}

static const mistake split_mistakes[] = {
    {"split: s", "a,s,y\n1,train,0\n2,Test,1\n", RP_EDATA, {"d.csv:3", "data.split", "\"Test\"", "validation or test"}},
    {"split: s", "a,s,y\n1,train,0\n2,,1\n", RP_EDATA, {"d.csv:3", "data.split", "a value"}},
    {"split: s", "a,s,y\n1,test,0\n2,test,1\n", RP_EDATA, {"train on"}},
    {"time: t", "a,t,y\n1,31.12.2023,0\n2,01.01.2024,1\n", RP_EDATA, {"d.csv:2", "data.time", "2024-03-31"}},
    {"time: t", "a,t,y\n1,2,0\n2,2,1\n", RP_EDATA, {"data.time", "different times"}},
    {"group: g", "a,g,y\n1,2,0\n2,2,1\n", RP_EARG, {"data.folds", "groups"}},
    {"group: g, columns: {g: numeric}", "a,g,y\n1,2,0\n2,2,1\n", RP_EARG, {"data.group", "categorical"}},
};

static const mistake offset_mistakes[] = {
    {"offset: o", "a,o,y\n1,1,0\n2,x,1\n", RP_EDATA, {"d.csv:3", "column \"o\"", "offset", "\"x\""}},
    {"offset: o", "a,o,y\n1,,0\n2,1,1\n", RP_EDATA, {"d.csv:2", "column \"o\"", "finite", "\"\""}},
    {"offset: o", "a,o,y\n1,1,0\n2,inf,1\n", RP_EDATA, {"d.csv:3", "column \"o\"", "finite", "\"inf\""}},
    {"offset: y", "a,o,y\n1,1,0\n2,1,1\n", RP_EARG, {"data.offset", "is the target"}},
    {"offset: p", "a,o,y\n1,1,0\n2,1,1\n", RP_EARG, {"data.offset", "\"p\""}},
    {"offset: o, columns: {o: numeric}", "a,o,y\n1,1,0\n2,1,1\n", RP_EARG, {"data.offset", "data.columns", "\"o\""}},
    {"offset: o, interactions: [[a, o]]", "a,o,y\n1,1,0\n2,1,1\n", RP_EARG, {"data.interactions", "\"o\""}},
    {"exposure: o", "a,o,y\n1,1,0\n2,0,1\n", RP_EDATA, {"d.csv:3", "exposure", "above 0", "\"0\""}},
    {"exposure: o", "a,o,y\n1,1,0\n2,-3,1\n", RP_EDATA, {"d.csv:3", "exposure", "above 0", "\"-3\""}},
    {"exposure: o", "a,o,y\n1,NA,0\n2,-3,1\n", RP_EDATA, {"d.csv:2", "exposure", "\"NA\""}},
};

static const mistake count_mistakes[] = {
    {"denominator: n", "a,n,y\n1,3,2\n2,3,4\n", RP_EDATA, {"d.csv:3", "target column \"y\"", "3 trials", "\"4\""}},
    {"denominator: n", "a,n,y\n1,3,2\n2,3,0.5\n", RP_EDATA, {"d.csv:3", "target column \"y\"", "\"0.5\""}},
    {"denominator: n", "a,n,y\n1,3,-1\n2,3,1\n", RP_EDATA, {"d.csv:2", "target column \"y\"", "\"-1\""}},
    {"denominator: n", "a,n,y\n1,3,1\n2,3.5,1\n", RP_EDATA, {"d.csv:3", "denominator column \"n\"", "\"3.5\""}},
    {"denominator: n", "a,n,y\n1,-3,0\n2,3,1\n", RP_EDATA, {"d.csv:2", "denominator column \"n\"", "\"-3\""}},
    {"denominator: n", "a,n,y\n1,3,1\n2,1e13,1\n", RP_EDATA, {"d.csv:3", "2^40", "\"1e13\""}},
    {"denominator: n", "a,n,y\n1,3,1\n2,inf,1\n", RP_EDATA, {"d.csv:3", "denominator", "\"inf\""}},
    {"denominator: n", "a,n,y\n1,3,1\n2,x,1\n", RP_EDATA, {"d.csv:3", "denominator", "whole", "\"x\""}},
    {"denominator: n", "a,n,y\n1,3,1\n2,0,0\n", RP_EDATA, {"d.csv:3", "trials", "\"0\"", "missing_target: drop"}},
    {"denominator: n", "a,n,y\n1,3,1\n2,0,1\n", RP_EDATA, {"d.csv:3", "target column \"y\"", "0 trials", "\"1\""}},
    {"denominator: n", "a,n,y\n1,3,1\n2,NA,1\n", RP_EDATA, {"d.csv:3", "trials", "\"NA\"", "missing_target: drop"}},
    {"denominator: n, missing_target: drop", "a,n,y\n1,3,1\n2,x,1\n", RP_EDATA, {"d.csv:3", "whole", "\"x\""}},
    {"denominator: y", "a,n,y\n1,3,1\n2,3,1\n", RP_EARG, {"data.denominator", "is the target"}},
    {"denominator: m", "a,n,y\n1,3,1\n2,3,1\n", RP_EARG, {"data.denominator", "\"m\""}},
};

static const mistake offset_classes[] = {
    {"offset: o", "a,o,y\n1,1,0\n2,1,1\n3,1,2\n", RP_EARG, {"data.offset", "3 classes"}},
};

static void assert_mistakes(const char *head, const char *keys, const mistake *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const mistake *m = &list[i];
        char yaml[256];
        rp_recipe *recipe;
        rp_dataset *dataset = (rp_dataset *)&dataset;
        rp_error err = {0};
        rp_status status;

        snprintf(yaml, sizeof yaml, "%sdata: {csv: a, target: y%s%s%s}\n", head, keys, m->data[0] != '\0' ? ", " : "",
                 m->data);
        recipe = parse(yaml);
        status = rp_dataset_prepare(&dataset, recipe, m->csv, strlen(m->csv), "d.csv",
                                    &(rp_table_options){.pool = NULL}, &err);
        if (status != m->status)
            fail_msg("mistake %zu: expected %s, found %s (%s)", i, rp_status_name(m->status), rp_status_name(status),
                     err.text);
        assert_null(dataset);
        for (size_t k = 0; k < 4 && m->fragments[k] != NULL; k++)
            if (strstr(err.text, m->fragments[k]) == NULL)
                fail_msg("mistake %zu: expected \"%s\" in \"%s\"", i, m->fragments[k], err.text);
        rp_recipe_free(recipe);
    }
}

static void each_mistake_gets_one_clear_error(void **state)
{
    (void)state;
    assert_mistakes(HEAD, ", train_on_all: true", mistakes, COUNT(mistakes));
    assert_mistakes(HEAD, "", split_mistakes, COUNT(split_mistakes));
    assert_mistakes("reprise: 1\ntrain: {task: regression, family: poisson}\n", ", train_on_all: true", offset_mistakes,
                    COUNT(offset_mistakes));
    assert_mistakes("reprise: 1\n", ", train_on_all: true", offset_classes, COUNT(offset_classes));
    assert_mistakes("reprise: 1\ntrain: {task: regression, family: binomial}\n", ", train_on_all: true", count_mistakes,
                    COUNT(count_mistakes));
}

static void a_recipe_that_does_not_fit_the_rows_is_refused(void **state)
{
    static const char *const yaml[] = {
        HEAD "data: {csv: a, target: y, folds: 3}\n",
        HEAD "data: {csv: a, target: y, folds: 5, stratify: false}\n",
        "reprise: 1\ndata: {csv: a, target: x, train_on_all: true}\ntrain: {batch: 1, loss: bce}\n",
        "reprise: 1\ndata: {csv: a, target: y, folds: 5}\ntrain: {batch: 1, task: regression}\n",
    };
    static const char *const fragments[] = {"\"0\" has 2 rows", "5 folds", "train.loss", "5 folds"};
    static const char csv[] = "x,y\n1,0\n2,0\n3,1\n4,1\n";

    (void)state;
    for (size_t i = 0; i < COUNT(yaml); i++) {
        rp_recipe *recipe = parse(yaml[i]);
        rp_dataset *dataset = NULL;
        rp_error err = {0};

        if (rp_dataset_prepare(&dataset, recipe, csv, strlen(csv), "d.csv", &(rp_table_options){.pool = NULL}, &err) !=
            RP_EARG)
            fail_msg("recipe %zu: expected RP_EARG, found %s", i, err.text);
        if (strstr(err.text, fragments[i]) == NULL)
            fail_msg("expected \"%s\" in \"%s\"", fragments[i], err.text);
        rp_recipe_free(recipe);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_damaged_schema_is_refused),
        cmocka_unit_test(numbers_are_read_in_the_dress_that_the_recipe_names),
        cmocka_unit_test(what_may_be_meant_otherwise_is_a_warning),
        cmocka_unit_test(rows_are_left_out_by_rules_and_keep_their_numbers),
        cmocka_unit_test(weights_far_from_1_are_told_of_exact_fits),
        cmocka_unit_test(counts_are_proportions_that_weigh_their_trials),
        cmocka_unit_test(comments_and_lines_in_front_are_passed_over),
        cmocka_unit_test(other_encodings_are_read_as_their_characters),
        cmocka_unit_test(each_mistake_gets_one_clear_error),
        cmocka_unit_test(a_recipe_that_does_not_fit_the_rows_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
