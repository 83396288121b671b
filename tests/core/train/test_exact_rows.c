/* SPDX-License-Identifier: Apache-2.0
 * What a row counts for in an exact fit: weights, and counts of trials. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/train/train.h"
#include "tests/core/train/exact_fits.h"
#include "tests/house/sanitized.h"

/* The same fit, by hand: rows of one table stand in the other as often as they weigh. */
static void a_weight_of_2_is_the_row_twice_and_0_none(void **state)
{
#define ON(keys) "reprise: 1\ndata: {csv: d.csv, target: y, train_on_all: true, standardize: false" keys "}\n"
    static const char weighed[] =
        "a,b,w,y\n1,5,2,n\n2,3,1,y\n3,4,1,n\n4,4,3,y\n9,9,0,y\n5,1,1,y\n6,2,2,u\n2,2,1,u\n5,5,1,n\n";
    static const char written[] =
        "a,b,y\n1,5,n\n1,5,n\n2,3,y\n3,4,n\n4,4,y\n4,4,y\n4,4,y\n5,1,y\n6,2,u\n6,2,u\n2,2,u\n5,5,n\n";
    static const char amounts[] = "a,w,y\n1,2,3\n2,1,5\n3,0,70\n4,3,2\n6,1,9\n",
                      counted[] = "a,y\n1,3\n1,3\n2,5\n4,2\n4,2\n4,2\n6,9\n";
    static const struct {
        const char *train;
        bool classes;
    } cases[] = {{"train: {l2: 0.5}\n", true},
                 {"train: {l2: 0.5, l1: 0.25}\n", true},
                 {"train: {task: regression, l2: 0}\n", false},
                 {"train: {task: regression, l1: 0.5, l2: 1}\n", false},
                 {"train: {task: regression, family: poisson, l2: 0}\n", false},
                 {"train: {task: regression, family: gamma, l2: 0}\n", false}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char yaml[512];
        fitted f, expected;

        (void)snprintf(yaml, sizeof yaml, ON(", weight: w") "%s", cases[i].train);
        fit(&f, yaml, cases[i].classes ? weighed : amounts, "", 2);
        (void)snprintf(yaml, sizeof yaml, ON("") "%s", cases[i].train);
        fit(&expected, yaml, cases[i].classes ? written : counted, "", 2);
        if (f.status != RP_OK || expected.status != RP_OK)
            fail_msg("%s%s%s", cases[i].train, f.error, expected.error);
        for (size_t k = 0; k < OUTPUTS * FEATURES; k++)
            assert_true(__builtin_fabs(f.weight[k] - expected.weight[k]) < 1e-9);
        for (size_t k = 0; k < OUTPUTS; k++)
            assert_true(__builtin_fabs(f.bias[k] - expected.bias[k]) < 1e-9);
        assert_true(f.weight[0] != 0);
    }
}

/* Half of the rows weigh 2, the others 1: the constant's variance is dispersion by the sum of weights, and the
 * dispersion is of rows, not of weights. */
static void errors_are_those_of_analytic_weights(void **state)
{
    rp_json *table =
        table_of(ON(", weight: w") "train: {task: regression, l2: 0}\n", "a,w,y\n0,2,1\n0,2,3\n1,1,4\n1,1,8\n1,0,99\n");

    (void)state; /* means 2 and 6; squares 2 + 2 + 4 + 4 of 4 rows and 2 coefficients */
    assert_near(real_of(term_of(table, 0, 0), "estimate"), 2);
    assert_near(real_of(term_of(table, 0, 1), "estimate"), 4);
    assert_near(real_of(table, "dispersion"), 6);
    assert_near(real_of(term_of(table, 0, 0), "error"), __builtin_sqrt(6.0 / 4));
    assert_near(real_of(term_of(table, 0, 1), "error"), __builtin_sqrt(6.0 / 4 + 6.0 / 2));
    assert_int_equal(rp_json_integer_value(rp_json_object_get(table, "rows")), 4);
    assert_near(real_of(table, "weights"), 6);
    /* -n/2 (log(2 pi 12/4) + 1) and half the logarithms of the weights */
    assert_near(real_of(table, "log_likelihood"),
                -2 * (__builtin_log(6 * 3.14159265358979323846) + 1) + __builtin_log(2));
    rp_json_free(table);
    table =
        table_of(ON("") "train: {l2: 0, class_weights: balanced}\n", "a,y\n0,n\n0,n\n0,n\n0,y\n1,n\n1,y\n1,n\n1,n\n");
    assert_near(real_of(term_of(table, 0, 0), "estimate"), 0); /* y weighs 2, n 2/3: 2 against 2, */
    assert_near(real_of(term_of(table, 0, 1), "estimate"), 0);
    assert_near(real_of(term_of(table, 0, 0), "error"), 1); /* 1/2 + 1/2 */
    rp_json_free(table);
}

/* Of a gamma regression w / dispersion is then 0. Together they are refused: sums of them have no digits. */
static void weights_as_small_as_numbers_get_leave_numbers(void **state)
{
    static const char *const families[] = {"gaussian", "poisson", "gamma"};
    char yaml[200];
    fitted f;

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        rp_json *table;

        (void)snprintf(yaml, sizeof yaml,
                       "reprise: 1\ndata: {csv: d.csv, target: y, train_on_all: true, weight: w}\n"
                       "train: {task: regression, family: %s, l2: 0}\n",
                       families[i]);
        table = table_of(yaml, "x,w,y\n1,1,1\n2,1,900\n3,1,2\n4,1,700\n5,5e-324,3\n6,1,3\n7,1e-310,4\n8,1,1\n");
        for (size_t k = 0; k < 4; k++) {
            const double figure =
                real_of(table, ((const char *[]){"log_likelihood", "aic", "deviance", "dispersion"})[k]);

            if (figure - figure != 0)
                fail_msg("%s: figure %zu is %g", families[i], k, figure);
        }
        assert_true(real_of(term_of(table, 0, 1), "error") > 0);
        assert_int_equal(rp_json_integer_value(rp_json_object_get(table, "rows")), 8);
        rp_json_free(table);
        fit(&f, yaml, "x,w,y\n1,1e-310,1\n2,1e-310,9\n3,1e-310,2\n4,1e-310,7\n", "", 1);
        assert_int_equal(f.status, RP_EDATA);
        assert_non_null(strstr(f.error, "multiply all of them by one number"));
    }
}

static void a_class_that_weighs_nothing_is_named(void **state)
{
    fitted f;

    (void)state;
    fit(&f, ON(", weight: w"), "a,w,y\n1,0,n\n2,1,y\n3,1,y\n", "", 1);
    assert_int_equal(f.status, RP_EDATA);
    assert_non_null(strstr(f.error, "class \"n\" has none"));
    fit(&f, ON(", weight: w") "train: {task: regression, family: poisson}\n", "a,w,y\n1,0,5\n2,1,0\n3,1,0\n", "", 1);
    assert_int_equal(f.status, RP_EDATA);
}

/* statsmodels 0.15: GLM([successes, failures], [1, x], Binomial, var_weights=w, offset=o) to tol 1e-15. */
static void counts_are_a_logistic_regression_of_their_trials(void **state)
{
    static const char csv[] = "x,n,y,w,o\n1,10,2,1,0.5\n2,8,3,2,-0.25\n3,12,5,0.5,0\n4,20,11,3,1\n5,15,7,1,-1\n"
                              "6,9,9,2,0.25\n7,40,36,1,0.5\n8,1,0,4,0\n";
    static const char *const of_term[] = {"estimate", "error"};
    static const char *const of_fit[] = {
        "log_likelihood", "null_log_likelihood", "deviance", "null_deviance", "pearson", "aic"};
    static const struct {
        const char *keys;
        double expected[10];
    } given[] = {{"columns: {w: ignore, o: ignore}",
                  {-1.9675077214706531, 0.5714520316027164, 0.5436997078522395, 0.1177734703482427, -15.318147467239886,
                   -28.751076420625232, 12.943616908946748, 39.80947481571745, 17.139328412946803, 34.63629493447977}},
                 {"weight: w, columns: {o: ignore}",
                  {-1.583136471025737, 0.4732610670667998, 0.45463944321388766, 0.10005036632624713, -28.64377434475245,
                   -40.88143849114087, 31.611139477103748, 56.08646776988063, 41.174487307630464, 61.2875486895049}},
                 {"weight: w, offset: o",
                  {-2.07682303311458, 0.5018152785505803, 0.47039704639323004, 0.10388354904969734, -31.096317876655466,
                   -43.57887744220399, 36.51622654090981, 61.481345672006846, 39.37631617084327, 66.19263575331092}}};

    (void)state;
    for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
        char yaml[300];
        rp_json *table;

        (void)snprintf(yaml, sizeof yaml,
                       "reprise: 1\ndata: {csv: d.csv, target: y, denominator: n, train_on_all: true, %s}\n"
                       "train: {task: regression, family: binomial, l2: 0}\n",
                       given[i].keys);
        table = table_of(yaml, csv);
        assert_fit(term_of(table, 0, 0), of_term, given[i].expected, 2);
        assert_fit(term_of(table, 0, 1), of_term, given[i].expected + 2, 2);
        assert_fit(table, of_fit, given[i].expected + 4, 6);
        assert_near(real_of(table, "pearson_dispersion"), real_of(table, "pearson") / 6);
        assert_near(real_of(table, "dispersion"), 1);
        assert_near(real_of(term_of(table, 0, 1), "odds"), __builtin_exp(real_of(term_of(table, 0, 1), "estimate")));
        assert_int_equal(rp_json_integer_value(rp_json_object_get(table, "rows")), 8);
        rp_json_free(table);
    }
}

/* Groups of trials are those trials one by one, penalties and all, but for what rows are counted by. */
static void counts_have_the_estimates_of_single_trials(void **state)
{
    static const char *const penalties[] = {"l2: 0", "l2: 2", "l2: 0.5, l1: 0.5"};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        char yaml[200];
        fitted many, one;

        (void)snprintf(yaml, sizeof yaml,
                       "reprise: 1\ndata: {csv: d.csv, target: y, denominator: n, train_on_all: true, standardize: "
                       "false}\ntrain: {task: regression, family: binomial, %s}\n",
                       penalties[i]);
        fit(&many, yaml, "x,n,y\n0,3,1\n1,2,1\n3,4,3\n", "", 2);
        (void)snprintf(yaml, sizeof yaml, HEAD "train: {%s}\n", penalties[i]);
        fit(&one, yaml, "x,y\n0,n\n0,y\n0,n\n1,y\n1,n\n3,y\n3,y\n3,n\n3,y\n", "", 2);
        if (many.status != RP_OK || one.status != RP_OK)
            fail_msg("%s%s", many.error, one.error);
        assert_true(__builtin_fabs(many.weight[0] - one.weight[0]) < 1e-10); /* of l1 the descent ends earlier */
        assert_true(__builtin_fabs(many.bias[0] - one.bias[0]) < 1e-10);
    }
}

static void counts_without_a_finite_estimate_are_told(void **state)
{
    static const struct {
        const char *csv, *words;
    } given[] = {{"x,n,y\n0,3,0\n1,2,0\n3,4,0\n", "all trials of the training part are failures"},
                 {"x,n,y\n0,3,3\n1,2,2\n3,4,4\n", "all trials of the training part are successes"},
                 {"c,n,y\nu,3,1\nv,2,2\nv,5,5\nw,4,1\n", "all trials of column \"c\" being \"v\" are successes"},
                 {"c,n,y\nu,3,1\nv,2,0\nv,5,0\nw,4,1\n", "all trials of column \"c\" being \"v\" are failures"},
                 {"x,n,y\n1,3,0\n2,2,0\n3,5,5\n4,4,4\n", "tell successes from failures"}};

    (void)state;
    for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
        fitted f;

        fit(&f,
            "reprise: 1\ndata: {csv: d.csv, target: y, denominator: n, train_on_all: true, standardize: false}\n"
            "train: {task: regression, family: binomial, l2: 0}\n",
            given[i].csv, "", 1);
        assert_int_equal(f.status, RP_EDATA);
        if (!strstr(f.error, given[i].words) && !(i == 4 && strstr(f.error, "no information left")))
            fail_msg("expected \"%s\" in: %s", given[i].words, f.error);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_weight_of_2_is_the_row_twice_and_0_none),
        cmocka_unit_test(errors_are_those_of_analytic_weights),
        cmocka_unit_test(weights_as_small_as_numbers_get_leave_numbers),
        cmocka_unit_test(a_class_that_weighs_nothing_is_named),
        cmocka_unit_test(counts_are_a_logistic_regression_of_their_trials),
        cmocka_unit_test(counts_have_the_estimates_of_single_trials),
        cmocka_unit_test(counts_without_a_finite_estimate_are_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
