/* SPDX-License-Identifier: Apache-2.0
 * Rows of one table looked for among those of another: each read by its own recipe, and no row that a table has not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/data/later/seen.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* A table that is read, with what it is read by. */
typedef struct table {
    rp_recipe *recipe;
    rp_dataset *dataset;
    rp_rows *rows;
} table;

static table open_table(const char *data, const char *csv)
{
    char yaml[400];
    table t = {.recipe = NULL};
    rp_error err = {0};

    (void)snprintf(yaml, sizeof yaml,
                   "reprise: 1\ndata: {csv: a, target: y, train_on_all: true%s}\ntrain: {batch: 1}\n", data);
    if (rp_recipe_from_yaml(&t.recipe, yaml, strlen(yaml), "r.yaml", &err) != RP_OK ||
        rp_dataset_prepare(&t.dataset, t.recipe, csv, strlen(csv), "d.csv", &(rp_table_options){.pool = NULL}, &err) !=
            RP_OK ||
        rp_rows_open(&t.rows, t.dataset->schema, t.recipe, csv, strlen(csv), "d.csv", t.recipe, &err) != RP_OK)
        fail_msg("%s", err.text);
    return t;
}

static void close_table(table *t)
{
    rp_rows_free(t->rows);
    rp_dataset_free(t->dataset);
    rp_recipe_free(t->recipe);
}

static const char plain[] = "a,b,y\n1,u,0\n2,v,1\n3,u,0\n4,v,1\n";

static void a_table_is_read_by_its_own_recipe(void **state)
{
    /* the same rows as `plain` has, in other words and another order, and one of comment that trained */
    table own =
        open_table(", delimiter: \";\", decimal: \",\", suffix: [\"%\"]", "b;y;a\n#u;0;9%\nv;1;4,0%\nu;0;1,0%\n");
    table other = open_table(", comment: \"#\"", "a,b,y\n1,u,0\n#2,v,1\n4,v,1\n9,#u,0\n2,v,1\n");
    const int64_t trained[] = {0, 2};
    bool mark[4] = {false};
    const rp_own_rows list = {trained, COUNT(trained), mark};
    rp_error err = {0};

    (void)state;
    assert_false(rp_same_features(own.dataset->schema, other.dataset->schema)); /* b stands first */
    close_table(&own);
    own = open_table(", delimiter: \";\", decimal: \",\", suffix: [\"%\"]", "a;b;y\n9%;#u;0\n4,0%;v;1\n1,0%;u;0\n");
    assert_true(rp_same_features(own.dataset->schema, other.dataset->schema));
    assert_int_equal(rp_rows_count(other.rows), 4);
    assert_int_equal(rp_rows_like(&(rp_read_rows){other.dataset->schema, other.rows}, NULL, 4,
                                  &(rp_read_rows){own.dataset->schema, own.rows}, &list, 1, &err),
                     RP_OK);
    assert_true(mark[0] && !mark[1] && mark[2] && !mark[3]);
    close_table(&own);
    close_table(&other);
}

static void a_row_that_a_table_has_not_is_an_error(void **state)
{
    table t = open_table("", plain);
    const rp_schema *schema = t.dataset->schema;
    const rp_read_rows read = {schema, t.rows};
    const int64_t here[] = {0, 3}, beyond[] = {0, 4}, below[] = {-1, 2}, fold[] = {0, 1};
    const int64_t *const wrong[] = {beyond, below};
    const bool counted[] = {true, true};
    rp_tally seen;
    rp_error err = {0};

    (void)state;
    for (size_t i = 0; i < COUNT(wrong); i++) {
        bool mark[5] = {false};

        assert_int_equal(rp_rows_like(&read, here, 2, &read, &(rp_own_rows){wrong[i], 2, mark}, 1, &err), RP_EDATA);
        assert_non_null(strstr(err.text, "it has 4 rows"));
        assert_int_equal(rp_rows_like(&read, wrong[i], 2, &read, &(rp_own_rows){here, 2, mark}, 1, &err), RP_EDATA);
        assert_int_equal(rp_rows_like(&read, NULL, 5, &read, &(rp_own_rows){here, 2, mark}, 1, &err), RP_EDATA);
        assert_false(mark[0] || mark[1]);
        assert_int_equal(rp_rows_seen(&seen, schema, t.rows, t.rows, wrong[i], 2, &err), RP_EDATA);
        assert_int_equal(
            rp_rows_seen_apart(&seen, schema, t.rows, &(rp_folded_rows){here, fold, counted, 2}, wrong[i], 2, &err),
            RP_EDATA);
        assert_int_equal(
            rp_rows_seen_apart(&seen, schema, t.rows, &(rp_folded_rows){wrong[i], fold, counted, 2}, here, 2, &err),
            RP_EDATA);
    }
    assert_int_equal(rp_rows_seen(&seen, schema, t.rows, t.rows, here, 2, &err), RP_OK);
    assert_int_equal(seen.count, 2);
    close_table(&t);
}

static void features_are_the_same_by_name_kind_and_order(void **state)
{
    static const struct {
        const char *data, *csv;
        bool same;
    } cases[] = {
        {"", plain, true},
        {", columns: {z: ignore}", "z,a,y,b\n0,1,0,u\n0,2,1,v\n", true}, /* what is no feature stands anywhere */
        {"", "b,a,y\nu,1,0\nv,2,1\n", false},
        {"", "a,c,y\n1,u,0\n2,v,1\n", false},
        {", columns: {a: categorical}", plain, false},
        {", columns: {b: ignore}", plain, false},
        {"", "a,b,c,y\n1,u,1,0\n2,v,2,1\n", false},
        {", columns: {a: ignore, b: ignore}", "a,b,A,B,y\n1,u,1,u,0\n2,v,2,v,1\n", false},
    };
    table t = open_table("", plain);

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        table other = open_table(cases[i].data, cases[i].csv);

        if (rp_same_features(t.dataset->schema, other.dataset->schema) != cases[i].same ||
            rp_same_features(other.dataset->schema, t.dataset->schema) != cases[i].same)
            fail_msg("case %zu: %s", i, cases[i].csv);
        close_table(&other);
    }
    close_table(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_table_is_read_by_its_own_recipe),
        cmocka_unit_test(a_row_that_a_table_has_not_is_an_error),
        cmocka_unit_test(features_are_the_same_by_name_kind_and_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
