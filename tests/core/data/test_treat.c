/* SPDX-License-Identifier: Apache-2.0
 * Treatments of columns against values worked out by hand: what is learnt, what a cell becomes, in training and in new
 * rows, and one clear error where keys do not fit. */
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
#include "core/data/treat/feature.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static rp_recipe *parse(const char *keys, const char *train)
{
    char yaml[512];
    rp_recipe *recipe = NULL;
    rp_error err = {0};

    snprintf(yaml, sizeof yaml,
             "reprise: 1\ndata: {csv: a, target: y, train_on_all: true, standardize: false, %s}\ntrain: {batch: 1%s}\n",
             keys, train);
    if (rp_recipe_from_yaml(&recipe, yaml, strlen(yaml), "r.yaml", &err) != RP_OK)
        fail_msg("%s", err.text);
    return recipe;
}

static rp_dataset *prepare(const rp_recipe *recipe, const char *csv)
{
    rp_dataset *dataset = NULL;
    rp_error err = {0};

    if (rp_dataset_prepare(&dataset, recipe, csv, strlen(csv), "d.csv", &(rp_table_options){.pool = NULL}, &err) !=
        RP_OK)
        fail_msg("%s", err.text);
    return dataset;
}

static void assert_features(const float *found, const float *expected, size_t rows, size_t width, const char *what)
{
    for (size_t i = 0; i < rows * width; i++)
        if (found[i] != expected[i])
            fail_msg("%s: row %zu feature %zu: expected %a, found %a", what, i / width, i % width, (double)expected[i],
                     (double)found[i]);
}

/* Features of the training rows, and of new rows by the schema's text alone. */
static void assert_encoded(const char *keys, const char *csv, size_t width, size_t rows, const float *expected,
                           const char *new_csv, size_t new_rows, const float *new_expected)
{
    rp_recipe *recipe = parse(keys, "");
    rp_dataset *d = prepare(recipe, csv);
    rp_schema *schema = NULL;
    rp_rows *r = NULL;
    rp_error err = {0};
    float x[64];

    assert_int_equal(d->schema->features, width);
    assert_int_equal(d->train_rows, rows);
    assert_features(d->train_x, expected, rows, width, keys);
    if (new_csv != NULL) {
        if (rp_schema_from_json(&schema, d->schema->json, "schema", &err) != RP_OK ||
            rp_rows_open(&r, schema, recipe, new_csv, strlen(new_csv), "n.csv", NULL, &err) != RP_OK ||
            rp_rows_encode(r, 0, new_rows, x, &err) != RP_OK)
            fail_msg("%s", err.text);
        assert_features(x, new_expected, new_rows, width, keys);
        rp_rows_free(r);
        rp_schema_free(schema);
    }
    rp_dataset_free(d);
    rp_recipe_free(recipe);
}

static const char five[] = "a,y\n1,no\n2,yes\nNA,no\n4,yes\n100,yes\n";

static void missing_cells_become_what_the_recipe_says(void **state)
{
    static const float mean[] = {1, 2, 26.75f, 4, 100}, median[] = {1, 2, 3, 4, 100}, minus[] = {1, 2, -7.5f, 4, 100};
    static const float marked[] = {1, 0, 2, 0, 3, 1, 4, 0, 100, 0}, one[] = {26.75f};

    (void)state;
    assert_encoded("columns: {a: {missing: mean}}", five, 1, 5, mean, "a\nNA\n", 1, one);
    assert_encoded("missing_numeric: median", five, 1, 5, median, "a\nNA\n", 1, &median[2]);
    assert_encoded("columns: {a: {missing: median}}", five, 1, 5, median, "a\nNA\n", 1, &median[2]);
    assert_encoded("columns: {a: {missing: -7.5}}", five, 1, 5, minus, "a\nNA\n", 1, &minus[2]);
    assert_encoded("columns: {a: {missing: median, indicator: true}}", five, 2, 5, marked, "y,a\nno,NA\n", 1,
                   &marked[4]);
}

static void caps_and_logarithms_come_before_the_value_of_missing_cells(void **state)
{
    /* quantile 0.75 of 1 2 4 100: place 2.25, 4 + 0.25 * 96 */
    static const float capped[] = {1, 2, 3, 4, 28}, beyond[] = {28, 1};
    static const float logs[] = {0.69314718f, 1.09861229f, 0, 1.60943791f, 4.61512052f}, negative[] = {-0.69314718f};

    (void)state;
    assert_encoded("columns: {a: {cap: [0, 0.75], missing: median}}", five, 1, 5, capped, "a\n5000\n-9\n", 2, beyond);
    assert_encoded("columns: {a: {log: true, missing: 0}}", five, 1, 5, logs, "a\n-1\n", 1, negative);
}

static void bins_have_a_feature_each_and_missing_cells_their_own(void **state)
{
    static const float edges[] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 1, 0};
    static const float halves[] = {1, 0, 0, 1, 0, 0, 0, 0, 1, 0, 1, 0, 0, 1, 0}; /* the median is 3 */
    static const float full[] = {1, 0, 0, 1}, none[] = {0, 0};

    (void)state;
    assert_encoded("columns: {a: {bins: [2, 4]}}", five, 4, 5, edges, "a\n1.99\nnull\n", 2,
                   (const float[]){1, 0, 0, 0, 0, 0, 0, 1});
    assert_encoded("columns: {a: {bins: 2}}", five, 3, 5, halves, NULL, 0, NULL);
    assert_encoded("columns: {a: {bins: [2]}}", "a,y\n1,no\n2,yes\n", 2, 2, full, "a\nNA\n", 1, none);
}

static void a_number_in_an_edge_belongs_to_the_bin_above(void **state)
{
    static const float expected[] = {1, 0, 0, 1};

    (void)state;
    assert_encoded("columns: {a: {bins: [0.3]}}", "a,y\n0.29999999999999993,no\n0.3,yes\n", 2, 2, expected, NULL, 0,
                   NULL);
}

static void rare_categories_are_one_and_unknown_ones_join_them(void **state)
{
    static const char csv[] = "a,y\nu,no\nu,yes\nu,no\nv,yes\nv,yes\n,yes\nw,no\nx,yes\n";
    static const float expected[] = {1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0,
                                     0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 1};
    static const float unknown[] = {0, 0, 0, 1, 0, 0, 1, 0};

    (void)state;
    assert_encoded("columns: {a: {rare: 0.25}}", csv, 4, 8, expected, "a\nzz\nNA\n", 2, unknown);
}

/* The example of CONTRACT 9.5a. */
static const char eight[] = "a,y\n1,no\n2,no\n3,yes\n4,no\n5,yes\n6,yes\n7,no\n8,yes\n";

static char *column_of(const char *keys, const char *csv)
{
    rp_recipe *recipe = parse(keys, "");
    rp_dataset *d = prepare(recipe, csv);
    rp_buffer out = {0};

    assert_int_equal(rp_json_write(rp_json_array_get(rp_json_object_get(d->schema->json, "columns"), 0), &out, NULL),
                     RP_OK);
    rp_buffer_u8(&out, 0);
    rp_dataset_free(d);
    rp_recipe_free(recipe);
    return (char *)out.data;
}

static void monotonic_bins_and_their_evidence_are_the_contract_example(void **state)
{
    static const float expected[] = {-1.38629436f, -1.38629436f, 0,           0,
                                     0.69314718f,  0.69314718f,  0.69314718f, 0.69314718f};
    char *text = column_of("columns: {a: {bins: monotonic, woe: true}}", eight);

    (void)state;
    assert_string_equal(
        text,
        "{\"counts\":[[2,0],[1,1],[1,2],[0,1]],\"edges\":[\"2.75\",\"4.8500000000000005\",\"7.6499999999999995\"],"
        "\"iv\":\"0.7797905781299385\",\"kind\":\"numeric\",\"missing_bin\":false,\"name\":\"a\","
        "\"woe\":[\"-1.3862943611198906\",\"0\",\"0.6931471805599453\",\"0.6931471805599453\"]}");
    rp_free(text);
    assert_encoded("columns: {a: {bins: monotonic, woe: true}}", eight, 1, 8, expected, "a\n0\n3\n9\n", 3,
                   (const float[]){-1.38629436f, 0, 0.69314718f});
    /* the other way round the weights fall */
    text = column_of("positive: \"no\", columns: {a: {bins: monotonic, woe: true}}", eight);
    assert_non_null(strstr(text, "\"woe\":[\"1.3862943611198906\",\"0\",\"-0.693147180559945"));
    rp_free(text);
}

static void evidence_of_categories_has_missing_and_other_groups(void **state)
{
    static const char csv[] = "a,y\nu,no\nu,yes\nu,no\nv,yes\nv,yes\n,yes\nw,no\nx,yes\n";
    char *text = column_of("columns: {a: {rare: 0.25, woe: true}}", csv);
    /* 3 no, 5 yes: u ln((1/5)/(2/3)), v ln((2/5)/(0.5/3)), missing ln((1/5)/(0.5/3)), other ln((1/5)/(1/3)) */
    static const float expected[] = {-1.2039728f, -1.2039728f, -1.2039728f,  0.87546874f,
                                     0.87546874f, 0.18232156f, -0.51082562f, -0.51082562f};

    (void)state;
    assert_non_null(strstr(text, "\"counts\":[[2,1],[0,2],[0,1],[1,1]]"));
    rp_free(text);
    assert_encoded("columns: {a: {rare: 0.25, woe: true}}", csv, 1, 8, expected, "a\nnew\n", 1, &expected[6]);
    assert_encoded("columns: {a: {woe: true}}", "a,y\nu,no\nv,yes\n", 1, 2, (const float[]){-0.69314718f, 0.69314718f},
                   "a\nnew\nNA\n", 2, (const float[]){0, 0});
}

static void interactions_are_products_behind_the_columns(void **state)
{
    static const float expected[] = {2, 1, 0, 4, 2, 0, 3, 0, 1, 9, 0, 3};

    (void)state;
    assert_encoded("interactions: [[a, a], [a, c]]", "a,c,y\n2,u,no\n3,v,yes\n", 6, 2, expected, "c,a\nv,3\n", 1,
                   &expected[6]);
}

static void keys_that_do_not_fit_the_column_are_refused(void **state)
{
    static const char *const wrong[][2] = {
        {"columns: {c: {log: true}}", "\"c\": cap, log, bins and indicator expect a numeric column"},
        {"columns: {a: {rare: 0.1}}", "\"a\": rare expects a categorical column"},
        {"columns: {a: {woe: true}}", "\"a\": woe of numbers expects bins"},
        {"columns: {a: {missing: category}}", "\"a\": missing: category of numbers expects bins"},
        {"columns: {c: {missing: mean}}", "\"c\": a missing category is an error or a category"},
        {"columns: {a: {missing: error}}", "column \"a\": expected a value"},
        {"interactions: [[a, y]]", "\"y\" is the target"},
        {"interactions: [[a, b]]", "data.interactions: expected a name"},
        {"columns: {c: ignore}, interactions: [[a, c]]", "\"c\" is ignored"},
    };
    static const char csv[] = "a,c,y\n1,u,no\n2,v,yes\n,u,no\n";

    (void)state;
    for (size_t i = 0; i < COUNT(wrong); i++) {
        rp_recipe *recipe = parse(wrong[i][0], "");
        rp_dataset *d = NULL;
        rp_error err = {0};

        if (rp_dataset_prepare(&d, recipe, csv, strlen(csv), "d.csv", &(rp_table_options){.pool = NULL}, &err) == RP_OK)
            fail_msg("%s: not refused", wrong[i][0]);
        if (strstr(err.text, wrong[i][1]) == NULL)
            fail_msg("%s: expected \"%s\" in \"%s\"", wrong[i][0], wrong[i][1], err.text);
        rp_recipe_free(recipe);
    }
}

static void evidence_wants_two_classes(void **state)
{
    rp_recipe *recipe = parse("columns: {a: {bins: 2, woe: true}}", ", task: regression");
    rp_dataset *d = NULL;
    rp_error err = {0};

    (void)state;
    assert_int_equal(
        rp_dataset_prepare(&d, recipe, "a,y\n1,1\n2,2\n", 12, "d.csv", &(rp_table_options){.pool = NULL}, &err),
        RP_EARG);
    assert_non_null(strstr(err.text, "woe expects a target of two classes"));
    rp_recipe_free(recipe);
}

static void features_are_told_by_column_and_part(void **state)
{
    static const char *const texts[] = {"column \"a\" in bin 0",
                                        "column \"a\" in bin 1",
                                        "column \"a\" being missing",
                                        "column \"a\" lacking",
                                        "column \"c\" being \"u\"",
                                        "column \"c\" being rare",
                                        "column \"d\"",
                                        "column \"e\" as evidence",
                                        "column \"d\" times column \"c\" being \"u\"",
                                        "column \"d\" times column \"c\" being rare"};
    static const char csv[] = "a,c,d,e,y\n1,u,1,p,no\n3,u,2,q,yes\n,u,4,p,no\n4,v,7,q,yes\n";
    rp_recipe *recipe = parse("columns: {a: {bins: [2], indicator: true}, c: {rare: 0.5}, e: {woe: true}},"
                              " interactions: [[d, c]]",
                              "");
    rp_dataset *d = prepare(recipe, csv);

    (void)state;
    assert_int_equal(d->schema->features, COUNT(texts));
    for (size_t i = 0; i < COUNT(texts); i++) {
        char text[256];
        bool product;
        rp_feature second, f = rp_feature_of(d->schema, i, &product, &second);

        assert_string_equal(rp_feature_text(text, sizeof text, d->schema, i), texts[i]);
        assert_true(f.reference == (i == 0 || i == 4) && product == (i >= 8));
    }
    rp_dataset_free(d);
    rp_recipe_free(recipe);
}

/* A schema of an archive is untrusted. */
static void a_damaged_treatment_is_refused(void **state)
{
    static const char *const wrong[] = {
        "{\"edges\":[\"2\",\"1\"],\"kind\":\"numeric\",\"missing_bin\":false,\"name\":\"a\"}",
        "{\"edges\":[\"1\",\"inf\"],\"kind\":\"numeric\",\"missing_bin\":false,\"name\":\"a\"}",
        "{\"edges\":[\"1\"],\"kind\":\"numeric\",\"name\":\"a\"}",
        "{\"edges\":[\"1\"],\"kind\":\"numeric\",\"missing\":\"0\",\"missing_bin\":true,\"name\":\"a\"}",
        "{\"edges\":[\"1\"],\"kind\":\"numeric\",\"missing_bin\":true,\"name\":\"a\",\"woe\":[\"1\",\"2\"]}",
        "{\"kind\":\"numeric\",\"mean\":\"0\",\"name\":\"a\",\"woe\":[\"1\"]}",
        "{\"cap\":[\"2\",\"1\"],\"kind\":\"numeric\",\"mean\":\"0\",\"name\":\"a\"}",
        "{\"kind\":\"numeric\",\"mean\":\"0\",\"missing\":\"1.0\",\"name\":\"a\"}",
        "{\"categories\":[\"u\"],\"kind\":\"categorical\",\"name\":\"a\",\"other\":true,\"woe\":[\"0\"]}",
    };

    (void)state;
    for (size_t i = 0; i <= COUNT(wrong); i++) {
        char text[512];
        rp_json *json = NULL;
        rp_schema *schema = NULL;
        rp_error err = {0};

        snprintf(text, sizeof text, "{\"classes\":null,\"columns\":[%s,{\"kind\":\"target\",\"name\":\"y\"}]%s}",
                 i < COUNT(wrong) ? wrong[i] : "{\"kind\":\"numeric\",\"mean\":\"0\",\"name\":\"a\"}",
                 i < COUNT(wrong) ? "" : ",\"interactions\":[[0,1]]");
        assert_int_equal(rp_json_parse(&json, text, strlen(text), false, "schema", &err), RP_OK);
        if (rp_schema_from_json(&schema, json, "schema", &err) != RP_EFORMAT)
            fail_msg("%s: not refused", text);
        rp_json_free(json);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(missing_cells_become_what_the_recipe_says),
        cmocka_unit_test(caps_and_logarithms_come_before_the_value_of_missing_cells),
        cmocka_unit_test(bins_have_a_feature_each_and_missing_cells_their_own),
        cmocka_unit_test(a_number_in_an_edge_belongs_to_the_bin_above),
        cmocka_unit_test(rare_categories_are_one_and_unknown_ones_join_them),
        cmocka_unit_test(monotonic_bins_and_their_evidence_are_the_contract_example),
        cmocka_unit_test(evidence_of_categories_has_missing_and_other_groups),
        cmocka_unit_test(interactions_are_products_behind_the_columns),
        cmocka_unit_test(keys_that_do_not_fit_the_column_are_refused),
        cmocka_unit_test(evidence_wants_two_classes),
        cmocka_unit_test(features_are_told_by_column_and_part),
        cmocka_unit_test(a_damaged_treatment_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
