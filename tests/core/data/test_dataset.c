/* SPDX-License-Identifier: Apache-2.0
 * Preparation: kinds, classes, folds, statistics, encoding, the schema's round trip, and examples to the bit. How cells
 * are read, and mistakes: test_dataset_cells.c. */
#include "tests/core/data/dataset_steps.h"

static void assert_schema(const rp_dataset *dataset, const char *expected)
{
    char *text = canonical(dataset->schema->json);

    assert_string_equal(text, expected);
    rp_free(text);
}

static void columns_are_fitted_and_encoded_in_file_order(void **state)
{
    /* a: 1 2 6, mean 3, population deviation sqrt(14/3); e: constant */
    static const float expected[4][5] = {
        {-0.92582010f, 1, 0, 0, 0}, {-0.46291005f, 0, 0, 1, 0}, {0, 0, 1, 0, 0}, {1.38873015f, 1, 0, 0, 0}};
    rp_dataset *d = prepare(ALL, mixed);

    (void)state;
    assert_int_equal(d->train_rows, 4);
    assert_int_equal(d->valid_rows, 0);
    assert_int_equal(d->schema->features, 5);
    for (size_t i = 0; i < 20; i++)
        if (d->train_x[i] != expected[i / 5][i % 5])
            fail_msg("row %zu feature %zu: expected %a, found %a", i / 5, i % 5, expected[i / 5][i % 5], d->train_x[i]);
    assert_int_equal(d->schema->classes, 2);
    assert_string_equal(d->schema->class_name[0], "no");
    assert_string_equal(d->schema->class_name[1], "yes");
    assert_true(d->train_label[1] == 1 && d->train_target[1] == 1 && d->train_target[2] == 0);
    assert_schema(d, "{\"classes\":[\"no\",\"yes\"],\"columns\":["
                     "{\"deviation\":\"2.160246899469287\",\"kind\":\"numeric\",\"mean\":\"3\",\"name\":\"a\"},"
                     "{\"categories\":[\"x\",\"z\",null],\"kind\":\"categorical\",\"name\":\"c\",\"unseen\":0},"
                     "{\"deviation\":\"0\",\"kind\":\"numeric\",\"mean\":\"0.5\",\"name\":\"e\"},"
                     "{\"kind\":\"target\",\"name\":\"y\"}],\"features\":5,"
                     "\"split\":{\"rows\":4,\"train_on_all\":true,\"train_rows\":4,\"valid_rows\":0}}");
    rp_dataset_free(d);
}

static void a_constant_column_is_zero_even_where_its_average_would_round(void **state)
{
    rp_dataset *d = prepare(ALL, "a,y\n0.1,0\n0.1,1\n0.1,1\n0.1,0\n0.1,0\n0.1,1\n");

    (void)state;
    for (size_t i = 0; i < d->train_rows; i++)
        assert_true(rp_bits_f32(d->train_x[i]) == 0);
    rp_dataset_free(d);
}

static void without_standardising_numbers_are_rounded_once(void **state)
{
    rp_dataset *d =
        prepare(HEAD "data: {csv: a, target: y, train_on_all: true, standardize: false}\n", "a,y\n0.1,0\n,1\n0.4,1\n");

    (void)state;
    assert_true(d->train_x[0] == 0.1f && d->train_x[1] == 0.25f && d->train_x[2] == 0.4f);
    rp_dataset_free(d);
}

static void classes_are_ordered_as_numbers_or_as_bytes_and_positive_is_last(void **state)
{
    rp_dataset *d = prepare(ALL, "a,y\n1,10\n2,9\n3,1e1\n4,-2\n");

    (void)state;
    assert_int_equal(d->schema->classes, 4);
    assert_string_equal(d->schema->class_name[0], "-2");
    assert_string_equal(d->schema->class_name[1], "9");
    assert_string_equal(d->schema->class_name[2], "10");
    assert_string_equal(d->schema->class_name[3], "1e1");
    assert_null(d->train_target);
    assert_int_equal(d->train_label[0], 2);
    rp_dataset_free(d);
    d = prepare(ALL, "a,y\n1,10\n2,2\n3,100\n");
    assert_string_equal(d->schema->class_name[0], "2");
    assert_string_equal(d->schema->class_name[2], "100");
    rp_dataset_free(d);
    d = prepare(ALL, "a,y\n1,2\n2,10\n3,1e999\n"); /* not a finite binary64: no number, and so all are texts */
    assert_string_equal(d->schema->class_name[0], "10");
    assert_string_equal(d->schema->class_name[1], "1e999");
    assert_string_equal(d->schema->class_name[2], "2");
    rp_dataset_free(d);
    d = prepare(ALL, "a,y\n1,b\n2,B\n3,a\n");
    assert_string_equal(d->schema->class_name[0], "B");
    assert_string_equal(d->schema->class_name[2], "b");
    rp_dataset_free(d);
    d = prepare(HEAD "data: {csv: a, target: y, train_on_all: true, positive: 1}\n", "a,y\n1,1\n2,2\n3,2\n");
    assert_string_equal(d->schema->class_name[1], "1");
    assert_true(d->train_label[0] == 1 && d->train_target[1] == 0);
    rp_dataset_free(d);
}

static void a_regression_keeps_its_values(void **state)
{
    rp_dataset *d = prepare("reprise: 1\ndata: {csv: a, target: 1, header: false, folds: 2}\n"
                            "train: {batch: 1, task: regression}\n",
                            "1,0.1\n2,0.2\n3,0.3\n4,-4e-1\n");
    static const float value[4] = {0.1f, 0.2f, 0.3f, -0.4f};

    (void)state;
    assert_int_equal(d->schema->classes, 0);
    assert_null(d->train_label);
    assert_int_equal(d->train_rows, 2);
    assert_int_equal(d->valid_rows, 2);
    for (size_t i = 0; i < 2; i++)
        assert_true(d->train_target[i] == (double)value[d->train_row[i]] &&
                    d->valid_target[i] == (double)value[d->valid_row[i]]);
    rp_dataset_free(d);
}

/* 97 rows, class c in about one row of four; "a" is the row number. */
static void write_rows(char *csv, size_t size)
{
    size_t at = (size_t)snprintf(csv, size, "a,y\n");

    for (int i = 0; i < 97; i++)
        at += (size_t)snprintf(csv + at, size - at, "%d,%s\n", i, i * 37 % 101 < 24 ? "c" : "d");
}

/* 1001 1002 1006: mean 1003, deviation sqrt(14/3) */
static void a_target_is_learnt_standardised_and_given_back(void **state)
{
    static const char csv[] = "a,y\n1,1001\n2,1002\n3,1006\n";
    static const float scaled[] = {-0.92582010f, -0.46291005f, 1.38873015f};
    rp_dataset *d = prepare("reprise: 1\ndata: {csv: a, target: y, train_on_all: true}\n"
                            "train: {task: regression, batch: 1}\n",
                            csv);
    double score[] = {0, 1, (double)-0.46291005f};

    (void)state;
    assert_memory_equal(d->train_learnt, scaled, sizeof scaled);
    assert_true(d->train_target[2] == 1006);
    assert_int_equal(d->schema->features, 1);
    rp_schema_give_back(d->schema, score, 3);
    assert_true(score[0] == 1003 && score[1] == (double)1005.1602469f && score[2] == 1002);
    rp_dataset_free(d);
    d = prepare("reprise: 1\ndata: {csv: a, target: y, train_on_all: true, standardize_target: false}\n"
                "train: {task: regression, batch: 1}\n",
                csv);
    assert_true(d->train_learnt[2] == 1006);
    rp_schema_give_back(d->schema, score, 1);
    assert_true(score[0] == 1003);
    rp_dataset_free(d);
}

static void folds_part_the_rows_and_keep_class_shares(void **state)
{
    char csv[2048], yaml[256];
    int seen[97] = {0};
    size_t c_total = 0;

    (void)state;
    write_rows(csv, sizeof csv);
    for (int fold = 0; fold < 5; fold++) {
        size_t c = 0;
        rp_dataset *d;

        snprintf(yaml, sizeof yaml, HEAD "seed: 3\ndata: {csv: a, target: y, fold: %d}\n", fold);
        d = prepare(yaml, csv);
        assert_int_equal(d->train_rows + d->valid_rows, 97);
        assert_in_range(d->valid_rows, 19, 20);
        for (size_t i = 0; i < d->valid_rows; i++) {
            seen[d->valid_row[i]]++;
            c += d->valid_label[i] == 0;
            assert_true(i == 0 || d->valid_row[i] > d->valid_row[i - 1]);
        }
        for (size_t i = 1; i < d->train_rows; i++)
            assert_true(d->train_row[i] > d->train_row[i - 1]);
        assert_in_range(c, 4, 5);
        c_total += c;
        rp_dataset_free(d);
    }
    for (size_t i = 0; i < 97; i++)
        assert_int_equal(seen[i], 1);
    assert_int_equal(c_total, 24);
}

static void the_split_depends_on_the_seed_alone(void **state)
{
    char csv[2048];
    rp_dataset *a, *b, *c;

    (void)state;
    write_rows(csv, sizeof csv);
    a = prepare(HEAD "seed: 3\ndata: {csv: a, target: y}\n", csv);
    b = prepare(HEAD "seed: 3\ndata: {csv: b, target: y}\nname: other\n", csv);
    c = prepare(HEAD "seed: 4\ndata: {csv: a, target: y}\n", csv);
    assert_memory_equal(a->valid_row, b->valid_row, a->valid_rows * sizeof *a->valid_row);
    assert_memory_not_equal(a->valid_row, c->valid_row, a->valid_rows * sizeof *a->valid_row);
    rp_dataset_free(a);
    rp_dataset_free(b);
    rp_dataset_free(c);
}

static void the_split_is_that_of_the_contract_example(void **state)
{
    static const char csv[] = "a,y\n0,n\n1,p\n2,n\n3,n\n4,p\n5,n\n6,p\n7,p\n8,n\n9,n\n";
    static const int64_t expected[3][4] = {{0, 1, 7, 8}, {4, 5, 9}, {2, 3, 6}};

    (void)state;
    for (int fold = 0; fold < 3; fold++) {
        char yaml[256];
        rp_dataset *d;

        snprintf(yaml, sizeof yaml, HEAD "seed: 42\ndata: {csv: a, target: y, folds: 3, fold: %d}\n", fold);
        d = prepare(yaml, csv);
        assert_int_equal(d->valid_rows, fold == 0 ? 4 : 3);
        assert_memory_equal(d->valid_row, expected[fold], d->valid_rows * sizeof *d->valid_row);
        rp_dataset_free(d);
    }
}

/* A validation row with a value of its own, wherever the split puts it: no row may see more than training does. */
static void statistics_and_categories_come_from_training_rows_only(void **state)
{
    char csv[2048], yaml[256];
    size_t unseen = 0;

    (void)state;
    strcpy(csv, "a,c,y\n");
    for (int i = 0; i < 20; i++)
        snprintf(csv + strlen(csv), sizeof csv - strlen(csv), "%d,k%02d,%d\n", i, i, i % 2);
    for (int fold = 0; fold < 2; fold++) {
        rp_dataset *d;
        double sum = 0;
        const rp_json *columns;

        snprintf(yaml, sizeof yaml, HEAD "data: {csv: a, target: y, folds: 2, fold: %d}\n", fold);
        d = prepare(yaml, csv);
        assert_int_equal(d->schema->features, 11);
        for (size_t i = 0; i < d->train_rows; i++)
            sum += d->train_x[i * 11];
        assert_true(fabs(sum) < 1e-5);
        for (size_t i = 0; i < d->valid_rows; i++)
            for (size_t k = 1; k < 11; k++)
                assert_true(d->valid_x[i * 11 + k] == 0);
        columns = rp_json_object_get(d->schema->json, "columns");
        unseen += (size_t)rp_json_integer_value(rp_json_object_get(rp_json_array_get(columns, 1), "unseen"));
        rp_dataset_free(d);
    }
    assert_int_equal(unseen, 20);
}

/* All new rows of a table; x is NULL on failure. */
static rp_status encode(const rp_schema *schema, const rp_recipe *recipe, const char *csv, float **x, size_t *rows,
                        rp_error *err)
{
    rp_rows *r;
    rp_status status = rp_rows_open(&r, schema, recipe, csv, strlen(csv), "n.csv", NULL, err);

    *x = NULL;
    if (status != RP_OK)
        return status;
    *rows = rp_rows_count(r);
    *x = rp_reallocarray(NULL, *rows, schema->features * sizeof **x);
    assert_non_null(*x);
    for (size_t i = 0; i < *rows && status == RP_OK; i++) /* one at a time, the last first */
        status = rp_rows_encode(r, *rows - 1 - i, 1, *x + (*rows - 1 - i) * schema->features, err);
    if (status != RP_OK) {
        rp_free(*x);
        *x = NULL;
    }
    rp_rows_free(r);
    return status;
}

static void a_schema_from_json_encodes_the_same_features(void **state)
{
    rp_recipe *recipe = parse(ALL);
    rp_dataset *d = prepare(ALL, mixed);
    char *text = canonical(d->schema->json);
    rp_json *json = NULL;
    rp_schema *schema = NULL;
    float *x = NULL;
    size_t rows = 0;
    rp_error err = {0};

    (void)state;
    assert_int_equal(rp_json_parse(&json, text, strlen(text), true, "schema.json", &err), RP_OK);
    assert_int_equal(rp_schema_from_json(&schema, json, "schema.json", &err), RP_OK);
    rp_json_free(json);
    assert_int_equal(schema->features, d->schema->features);
    assert_string_equal(schema->class_name[1], "yes");
    assert_int_equal(encode(schema, recipe, mixed, &x, &rows, &err), RP_OK);
    assert_int_equal(rows, 4);
    assert_memory_equal(x, d->train_x, 20 * sizeof *x);
    rp_free(x);
    rp_free(text);
    rp_schema_free(schema);
    rp_dataset_free(d);
    rp_recipe_free(recipe);
}

static void new_rows_may_lack_the_target_and_reorder_named_columns(void **state)
{
    static const char csv[] = "extra,e,c,a\nx,0.5,new,1\nx,1.5,NA,\n";
    static const char *const wrong[] = {"a,c\n1,x\n", "a,c,e\nx,x,1\n", "a,c,e\n1,x,inf\n", "a,c,e\n1,x,1e300\n"};
    rp_recipe *recipe = parse(ALL);
    rp_dataset *d = prepare(ALL, mixed);
    float *x = NULL;
    size_t rows = 0;
    rp_error err = {0};

    (void)state;
    assert_int_equal(encode(d->schema, recipe, csv, &x, &rows, &err), RP_OK);
    assert_int_equal(rows, 2);
    assert_true(x[0] == -0.92582010f && x[1] == 0 && x[2] == 0 && x[3] == 0 && x[4] == 0);
    assert_true(x[5] == 0 && x[6] == 0 && x[7] == 0 && x[8] == 1 && x[9] == 1);
    rp_free(x);
    for (size_t i = 0; i < COUNT(wrong); i++) {
        assert_int_equal(encode(d->schema, recipe, wrong[i], &x, &rows, &err), RP_EDATA);
        assert_null(x);
    }
    rp_dataset_free(d);
    rp_recipe_free(recipe);
}

static void rows_without_header_may_lack_the_target(void **state)
{
    static const char yaml[] = HEAD "data: {csv: a, target: 1, header: false, train_on_all: true}\n";
    rp_recipe *recipe = parse(yaml);
    rp_dataset *d = prepare(yaml, "1,no,5\n3,yes,7\n");
    float *x = NULL;
    size_t rows = 0;
    rp_error err = {0};

    (void)state;
    assert_int_equal(encode(d->schema, recipe, "3,5\n", &x, &rows, &err), RP_OK);
    assert_true(rows == 1 && x[0] == 1 && x[1] == -1);
    rp_free(x);
    assert_int_equal(encode(d->schema, recipe, "3,?,5\n", &x, &rows, &err), RP_OK);
    assert_true(rows == 1 && x[0] == 1 && x[1] == -1);
    rp_free(x);
    assert_int_equal(encode(d->schema, recipe, "3\n", &x, &rows, &err), RP_EDATA);
    rp_dataset_free(d);
    rp_recipe_free(recipe);
}

static void assert_weights(const char *yaml, const char *csv, const float *expected, size_t n)
{
    rp_dataset *d = prepare(yaml, csv);

    assert_int_equal(d->train_rows, n);
    for (size_t i = 0; i < n; i++)
        if (d->train_weight[i] != expected[i])
            fail_msg("%s: row %zu: expected %a, found %a", yaml, i, (double)expected[i], (double)d->train_weight[i]);
    rp_dataset_free(d);
}

#define PLAIN "reprise: 1\ndata: {csv: a, target: y, train_on_all: true}\n"
#define WEIGHED "reprise: 1\ndata: {csv: a, target: y, train_on_all: true, weight: w}\n"

static void weights_of_rows_have_mean_1_and_are_no_features(void **state)
{
    static const char csv[] = "a,w,y\n1,4,no\n2,0,yes\n3,1,no\n4,1,no\n5,4,yes\n";
    static const float by_column[] = {2, 0, 0.5f, 0.5f, 2};
    static const float balanced[] = {5.0f / 6, 5.0f / 4, 5.0f / 6, 5.0f / 6, 5.0f / 4};
    /* yes weighs 3: 1 3 1 1 3 of mean 9/5, and with the column 4 0 1 1 12 of mean 18/5 */
    static const float given[] = {(float)(1 / 1.8), (float)(3 / 1.8), (float)(1 / 1.8), (float)(1 / 1.8),
                                  (float)(3 / 1.8)};
    static const float both[] = {(float)(4 / 3.6), 0, (float)(1 / 3.6), (float)(1 / 3.6), (float)(12 / 3.6)};
    rp_dataset *d = prepare(HEAD "data: {csv: a, target: y, train_on_all: true, weight: w}\n", csv);

    (void)state;
    assert_int_equal(d->schema->features, 1);
    rp_dataset_free(d);
    d = prepare(HEAD "data: {csv: a, target: y, train_on_all: true, weight: w, columns: {w: numeric}}\n", csv);
    assert_int_equal(d->schema->features, 2);
    rp_dataset_free(d);
    d = prepare(HEAD "data: {csv: a, target: y, train_on_all: true}\n", csv);
    assert_null(d->train_weight);
    rp_dataset_free(d);
    assert_weights(HEAD "data: {csv: a, target: y, train_on_all: true, weight: 1}\n", csv, by_column, 5);
    assert_weights(PLAIN "train: {solver: gradient, class_weights: balanced}\n", csv, balanced, 5);
    assert_weights(PLAIN "train: {solver: gradient, class_weights: {\"yes\": 3}}\n", csv, given, 5);
    assert_weights(WEIGHED "train: {solver: gradient, class_weights: {\"yes\": 3}}\n", csv, both, 5);
}

/* ---- splits by columns ---- */

/* "tttvvx": the part of each row of the table, x: tested. */
static void assert_parts(const char *data, const char *csv, const char *expected)
{
    char yaml[256], found[64];
    rp_dataset *d;

    snprintf(yaml, sizeof yaml, HEAD "data: {csv: a, target: y, %s}\n", data);
    d = prepare(yaml, csv);
    assert_true(strlen(expected) < sizeof found);
    memset(found, 'x', strlen(expected));
    found[strlen(expected)] = 0;
    for (size_t i = 0; i < d->train_rows; i++)
        found[d->train_row[i]] = 't';
    for (size_t i = 0; i < d->valid_rows; i++)
        found[d->valid_row[i]] = 'v';
    if (strcmp(found, expected) != 0)
        fail_msg("%s: expected %s, found %s", data, expected, found);
    for (size_t i = 0; i < d->train_rows; i++) /* the only feature is the row's number */
        assert_true(d->train_x[i] == (float)d->train_row[i]);
    for (size_t i = 0; i < d->valid_rows; i++)
        assert_true(d->valid_x[i] == (float)d->valid_row[i]);
    rp_dataset_free(d);
}

static void a_column_can_name_the_parts(void **state)
{
    (void)state;
    assert_parts("split: s, standardize: false",
                 "a,s,y\n0,train,0\n1,test,1\n2,validation,1\n3,train,1\n4,valid,0\n5,test,0\n", "txvtvx");
    assert_parts("split: 1, standardize: false", "a,s,y\n0,train,0\n1,train,1\n", "tt");
}

/* More features than there may be, of few bytes: who asks for the rows alone gets them, and pays for none of these. */
static void a_split_fits_and_encodes_nothing(void **state)
{
    enum { ROWS = 4096, COLS = 25 };
    rp_recipe *recipe = parse(HEAD "data: {csv: a, target: y, test: 0.2}\n");
    rp_dataset *d = NULL;
    rp_buffer csv = {0};
    rp_error err = {0};

    (void)state;
    for (size_t k = 0; k < COLS; k++)
        rp_buffer_printf(&csv, "c%zu,", k);
    rp_buffer_text(&csv, "y\n");
    for (size_t i = 0; i < ROWS; i++) {
        for (size_t k = 0; k < COLS; k++)
            rp_buffer_printf(&csv, "x%zu,", i * (2 * k + 1) % ROWS);
        rp_buffer_text(&csv, i % 2 ? "no\n" : "yes\n");
    }
    assert_false(csv.failed);
    assert_int_equal(
        rp_dataset_prepare(&d, recipe, csv.data, csv.size, "d.csv", &(rp_table_options){.pool = NULL}, &err), RP_EDATA);
    assert_int_equal(rp_dataset_split(&d, recipe, csv.data, csv.size, "d.csv", &(rp_table_options){.pool = NULL}, &err),
                     RP_OK);
    assert_int_equal(d->train_rows + d->valid_rows + d->test_rows, ROWS);
    assert_true(d->schema == NULL && d->train_x == NULL && d->valid_x == NULL);
    rp_dataset_free(d);
    rp_buffer_free(&csv);
    rp_recipe_free(recipe);
}

static void a_split_has_the_rows_of_the_prepared_table(void **state)
{
    const char yaml[] = HEAD "data: {csv: a, target: y, test: 0.2, where: [{column: b, value: 1}]}\n";
    rp_recipe *recipe = parse(yaml);
    rp_dataset *whole, *split = NULL;
    rp_buffer csv = {0};
    rp_error err = {0};

    (void)state;
    rp_buffer_text(&csv, "a,b,y\n");
    for (int i = 0; i < 200; i++)
        rp_buffer_printf(&csv, "%d,%d,%d\n", i, i % 3 > 0, i * 7 % 5 > 2);
    rp_buffer_u8(&csv, 0);
    assert_false(csv.failed);
    whole = prepare(yaml, (const char *)csv.data);
    assert_int_equal(
        rp_dataset_split(&split, recipe, csv.data, csv.size - 1, "d.csv", &(rp_table_options){.pool = NULL}, &err),
        RP_OK);
    assert_true(split->train_rows == whole->train_rows && split->valid_rows == whole->valid_rows &&
                split->test_rows == whole->test_rows && split->test_rows > 0);
    assert_memory_equal(split->train_row, whole->train_row, whole->train_rows * sizeof *whole->train_row);
    assert_memory_equal(split->valid_row, whole->valid_row, whole->valid_rows * sizeof *whole->valid_row);
    assert_memory_equal(split->test_row, whole->test_row, whole->test_rows * sizeof *whole->test_row);
    rp_dataset_free(split);
    rp_dataset_free(whole);
    rp_buffer_free(&csv);
    rp_recipe_free(recipe);
}

/* Of ten rows two were asked for; the last time has five. */
/* What looks like a date is no contract: an archive's table was taken as it is by whoever made it. */
static void a_resolved_recipe_takes_dates_as_the_texts_they_were(void **state)
{
    static const char csv[] = "a,y\nMay-00,0\nSep-01,1\nMay-00,1\nSep-01,0\nMay-00,0\n";
    rp_recipe *written = NULL, *resolved = NULL;
    rp_dataset *d = NULL;
    rp_error err = {0};
    const char yaml[] = HEAD "data: {csv: a, target: y, train_on_all: true}\n";

    (void)state;
    assert_int_equal(rp_recipe_from_yaml(&written, yaml, strlen(yaml), "r.yaml", &err), RP_OK);
    assert_int_equal(rp_recipe_from_json(&resolved, written->json, "r.json", &err), RP_OK);
    assert_int_equal(
        rp_dataset_prepare(&d, written, csv, strlen(csv), "d.csv", &(rp_table_options){.pool = NULL}, &err), RP_EDATA);
    assert_int_equal(
        rp_dataset_prepare(&d, resolved, csv, strlen(csv), "d.csv", &(rp_table_options){.pool = NULL}, &err), RP_OK);
    assert_int_equal(d->schema->features, 2);
    assert_int_equal(d->warnings.count, 1);
    assert_non_null(strstr(d->warnings.item[0].text, "looks like a date"));
    rp_dataset_free(d);
    rp_recipe_free(written);
    rp_recipe_free(resolved);
}

static void a_part_that_equal_times_make_large_is_told(void **state)
{
    static const char csv[] = "a,t,y\n1,1,0\n2,1,1\n3,2,0\n4,2,1\n5,2,0\n6,3,1\n7,3,0\n8,3,1\n9,3,0\n1,3,1\n";
    rp_dataset *d = prepare(HEAD "data: {csv: a, target: y, time: t}\n", csv);

    (void)state;
    assert_int_equal(d->valid_rows, 5);
    assert_int_equal(d->warnings.count, 3);
    assert_true(d->warnings.item[0].kind == RP_WARN_ROLE && d->warnings.item[0].column == 1); /* t is no feature */
    assert_true(d->warnings.item[1].kind == RP_WARN_SPLIT && d->warnings.item[1].count == 5);
    assert_non_null(strstr(d->warnings.item[1].text, "validation part has 5 of 10 rows, 2 were asked for"));
    assert_int_equal(d->warnings.item[2].kind, RP_WARN_CUT); /* always: where it divides */
    assert_non_null(strstr(d->warnings.item[2].text, "5 training rows to \"2\", 5 validation rows from \"3\" on"));
    rp_dataset_free(d);
    d = prepare(HEAD "data: {csv: a, target: y, time: t, folds: 3}\n", csv); /* 5 for 3: half again and more */
    assert_int_equal(d->warnings.count, 3);
    rp_dataset_free(d);
    d = prepare(HEAD "data: {csv: a, target: y, time: t, folds: 2}\n", csv);
    assert_int_equal(d->warnings.count, 2);
    assert_int_equal(d->warnings.item[0].kind, RP_WARN_ROLE);
    assert_int_equal(d->warnings.item[1].kind, RP_WARN_CUT);
    rp_dataset_free(d);
}

/* Equal times stay together, in the later part; the file's order does not matter. */
static void the_latest_rows_validate_and_those_behind_are_tested(void **state)
{
    static const char numbers[] = "a,t,y\n0,7,0\n1,3,1\n2,1,1\n3,10,1\n4,2,0\n5,9,0\n6,9,1\n7,4,0\n8,5,1\n9,6,0\n";
    static const char dates[] = "a,t,y\n0,2024-02-01,0\n1,2023-12-31,1\n2,2024-01-05 10:00,1\n3,2024-01-05 09:59,0\n";

    (void)state;
    /* in order of time: rows 2 4 1 7 8 9 0 5 6 3 */
    assert_parts("time: t, standardize: false", numbers, "tttvtvvttt");
    assert_parts("time: t, standardize: false, folds: 4", numbers, "tttvtvvttt");
    assert_parts("time: t, standardize: false, folds: 4, test: 0.25", numbers, "vttxtxxttt");
    assert_parts("time: t, standardize: false, folds: 2", dates, "vtvt");
}

static void groups_stay_together(void **state)
{
    static const char *const names[] = {"u", "v", "w", "z"};
    char csv[1024] = "a,g,y\n";

    (void)state;
    for (int i = 0; i < 60; i++) /* groups of 1, 2, 3 .. rows, scattered */
        sprintf(csv + strlen(csv), "%d,%s%d,%d\n", i, names[i % 4], i * 7 % 3, i % 2);
    for (int fold = 0; fold < 3; fold++)
        for (int test = 0; test < 2; test++) {
            char yaml[256];
            int part[12] = {0};
            rp_dataset *d;

            snprintf(yaml, sizeof yaml, HEAD "data: {csv: a, target: y, group: g, folds: 3, fold: %d%s}\n", fold,
                     test ? ", test: 0.3" : "");
            d = prepare(yaml, csv);
            for (size_t i = 0; i < d->train_rows; i++)
                part[d->train_row[i] % 4 * 3 + d->train_row[i] * 7 % 3] |= 1;
            for (size_t i = 0; i < d->valid_rows; i++)
                part[d->valid_row[i] % 4 * 3 + d->valid_row[i] * 7 % 3] |= 2;
            for (size_t i = 0; i < 12; i++)
                assert_true(part[i] != 3);
            assert_in_range(60 - d->train_rows - d->valid_rows, test ? 18 : 0, test ? 23 : 0);
            assert_in_range(d->valid_rows, 10, 25);
            rp_dataset_free(d);
        }
}

/* What is tested is in no fold, and the folds of the others are as even as without it. */
static void tested_rows_are_in_no_fold(void **state)
{
    char csv[1024] = "a,y\n";
    bool seen[50] = {false};
    size_t tested = 0;

    (void)state;
    for (int i = 0; i < 50; i++)
        sprintf(csv + strlen(csv), "%d,%d\n", i, i % 5 == 0);
    for (int fold = 0; fold < 4; fold++) {
        char yaml[256], *text;
        rp_dataset *d;

        snprintf(yaml, sizeof yaml, HEAD "data: {csv: a, target: y, folds: 4, fold: %d, test: 0.25}\n", fold);
        d = prepare(yaml, csv);
        assert_int_equal(d->train_rows + d->valid_rows, 50 - 12); /* 2 of 10 and 10 of 40 */
        assert_in_range(d->valid_rows, 9, 10);
        for (size_t i = 0; i < d->valid_rows; i++) {
            assert_false(seen[d->valid_row[i]]);
            seen[d->valid_row[i]] = true;
        }
        text = canonical(d->schema->json);
        assert_non_null(strstr(text, "\"test_rows\":12"));
        rp_free(text);
        rp_dataset_free(d);
    }
    for (size_t i = 0; i < 50; i++)
        tested += !seen[i];
    assert_int_equal(tested, 12);
}

/* An example recipe with its data; false where the optional data folder is absent. */
static bool load_example(const char *name, rp_dataset **out)
{
    char path[1024];
    rp_buffer yaml = {0}, csv = {0};
    rp_recipe *recipe = NULL;
    rp_error err = {0};
    bool present;

    snprintf(path, sizeof path, "%s/examples/%s.yaml", RP_SOURCE_DIR, name);
    assert_int_equal(rp_file_read(path, 1 << 20, &yaml, &err), RP_OK);
    assert_int_equal(rp_recipe_from_yaml(&recipe, (const char *)yaml.data, yaml.size, path, &err), RP_OK);
    snprintf(path, sizeof path, "%s/examples/%s", RP_SOURCE_DIR, recipe->data.csv);
    present = rp_file_exists(path);
    if (present) {
        assert_int_equal(rp_file_read(path, 1 << 24, &csv, &err), RP_OK);
        if (rp_dataset_prepare(out, recipe, csv.data, csv.size, path, &(rp_table_options){.pool = NULL}, &err) != RP_OK)
            fail_msg("%s", err.text);
    }
    rp_buffer_free(&yaml);
    rp_buffer_free(&csv);
    rp_recipe_free(recipe);
    return present;
}

static uint64_t fnv1a_of_stored(const float *x, size_t count)
{
    unsigned char *bytes = malloc(count * sizeof *x);
    uint64_t h = 0xCBF29CE484222325u;

    assert_non_null(bytes);
    rp_to_stored(bytes, x, RP_F32, count);
    for (size_t i = 0; i < count * sizeof *x; i++)
        h = (h ^ bytes[i]) * 0x100000001B3u;
    free(bytes);
    return h;
}

/* The digests are those of tests/kernels/oracle_data.py, a second implementation of the contract. */
static void features_of_the_loans_have_the_bits_of_a_second_implementation(void **state)
{
    rp_dataset *d = NULL;

    (void)state;
    assert_true(load_example("loans", &d));
    assert_true(fnv1a_of_stored(d->train_x, d->train_rows * d->schema->features) == 0xfda95f1da0df7f2du);
    assert_true(fnv1a_of_stored(d->valid_x, d->valid_rows * d->schema->features) == 0x0665c91816ceaa79u);
    rp_dataset_free(d);
}

static void the_loans_are_prepared(void **state)
{
    rp_dataset *d = NULL;
    size_t yes = 0;

    (void)state;
    assert_true(load_example("loans", &d));
    assert_true(d->train_rows == 4000 && d->valid_rows == 1000);
    assert_int_equal(d->schema->features, 8 + 4 + 6 + 4); /* 3 homes and the missing one */
    assert_string_equal(d->schema->class_name[1], "yes");
    for (size_t i = 0; i < d->valid_rows; i++)
        yes += d->valid_label[i] == 1;
    assert_in_range(yes, 200, 300);
    rp_dataset_free(d);
}

static void german_credit_and_digits_are_prepared(void **state)
{
    rp_dataset *d = NULL;

    (void)state;
    if (!load_example("german_credit", &d))
        skip();
    assert_true(d->train_rows == 800 && d->valid_rows == 200 && d->schema->features == 61);
    assert_string_equal(d->schema->class_name[1], "2");
    rp_dataset_free(d);
    if (!load_example("digits", &d))
        skip();
    assert_true(d->train_rows + d->valid_rows == 1797 && d->schema->features == 64 && d->schema->classes == 10);
    assert_string_equal(d->schema->class_name[9], "9");
    rp_dataset_free(d);
}

static size_t left;

static void *counted_allocate(void *self, size_t bytes)
{
    (void)self;
    return left == 0 ? NULL : (left--, malloc(bytes));
}

static void *counted_resize(void *self, void *block, size_t bytes)
{
    (void)self;
    return left == 0 ? NULL : (left--, realloc(block, bytes));
}

static void counted_release(void *self, void *block)
{
    (void)self;
    free(block);
}

static void every_failed_allocation_is_reported(void **state)
{
    static const rp_allocator counted = {counted_allocate, counted_resize, counted_release, NULL};
    static const char yaml[] = HEAD "data: {csv: a, target: y, folds: 2}\n";
    rp_recipe *recipe;
    rp_dataset *dataset = NULL;
    rp_status status = RP_ENOMEM;
    size_t n;

    (void)state;
    rp_set_allocator(&counted);
    left = 1000;
    recipe = parse(yaml);
    for (n = 0; n < 1000 && status == RP_ENOMEM; n++) {
        rp_error err = {0};

        left = n;
        status = rp_dataset_prepare(&dataset, recipe, mixed, strlen(mixed), "d.csv", &(rp_table_options){.pool = NULL},
                                    &err);
        if (status != RP_OK && (status != RP_ENOMEM || dataset != NULL))
            fail_msg("allocation %zu: %s", n, err.text);
    }
    assert_int_equal(status, RP_OK);
    assert_true(n > 30);
    rp_dataset_free(dataset);
    rp_recipe_free(recipe);
    rp_set_allocator(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_resolved_recipe_takes_dates_as_the_texts_they_were),
        cmocka_unit_test(a_part_that_equal_times_make_large_is_told),
        cmocka_unit_test(columns_are_fitted_and_encoded_in_file_order),
        cmocka_unit_test(a_constant_column_is_zero_even_where_its_average_would_round),
        cmocka_unit_test(without_standardising_numbers_are_rounded_once),
        cmocka_unit_test(classes_are_ordered_as_numbers_or_as_bytes_and_positive_is_last),
        cmocka_unit_test(a_regression_keeps_its_values),
        cmocka_unit_test(a_target_is_learnt_standardised_and_given_back),
        cmocka_unit_test(folds_part_the_rows_and_keep_class_shares),
        cmocka_unit_test(the_split_depends_on_the_seed_alone),
        cmocka_unit_test(the_split_is_that_of_the_contract_example),
        cmocka_unit_test(statistics_and_categories_come_from_training_rows_only),
        cmocka_unit_test(a_schema_from_json_encodes_the_same_features),
        cmocka_unit_test(new_rows_may_lack_the_target_and_reorder_named_columns),
        cmocka_unit_test(rows_without_header_may_lack_the_target),
        cmocka_unit_test(weights_of_rows_have_mean_1_and_are_no_features),
        cmocka_unit_test(a_column_can_name_the_parts),
        cmocka_unit_test(a_split_fits_and_encodes_nothing),
        cmocka_unit_test(a_split_has_the_rows_of_the_prepared_table),
        cmocka_unit_test(the_latest_rows_validate_and_those_behind_are_tested),
        cmocka_unit_test(groups_stay_together),
        cmocka_unit_test(tested_rows_are_in_no_fold),
        cmocka_unit_test(the_loans_are_prepared),
        cmocka_unit_test(features_of_the_loans_have_the_bits_of_a_second_implementation),
        cmocka_unit_test(german_credit_and_digits_are_prepared),
        cmocka_unit_test(every_failed_allocation_is_reported),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
