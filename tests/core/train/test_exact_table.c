/* SPDX-License-Identifier: Apache-2.0
 * The table of an exact fit: errors by hand and of other programs, what has no estimate, and coefficients in the units
 * of the table. */
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

/* Odds of 5 to 1 against 1 to 3: variances are sums of reciprocals of counts (Woolf, 1955). */
static void errors_of_a_table_of_counts_are_those_of_woolf(void **state)
{
    static const char csv[] = "a,y\n0,n\n0,n\n0,n\n0,y\n1,n\n1,y\n1,y\n1,y\n1,y\n1,y\n";
    rp_json *table = table_of("reprise: 1\ndata: {csv: d.csv, target: y, train_on_all: true}\ntrain: {l2: 0}\n", csv);
    const rp_json *constant = term_of(table, 0, 0), *slope = term_of(table, 0, 1);

    (void)state; /* the column is standardised, the estimates are not */
    assert_near(real_of(constant, "estimate"), -1.0986122886681098);
    assert_near(real_of(constant, "error"), __builtin_sqrt(1.0 + 1.0 / 3));
    assert_near(real_of(slope, "estimate"), 2.7080502011022101);
    assert_near(real_of(slope, "error"), __builtin_sqrt(1.0 + 1.0 / 3 + 1.0 + 1.0 / 5));
    assert_near(real_of(slope, "odds"), 15);
    assert_near(real_of(slope, "inflation"), 1);
    assert_near(real_of(table, "log_likelihood"),
                3 * __builtin_log(0.75) + __builtin_log(0.25) + __builtin_log(1.0 / 6) + 5 * __builtin_log(5.0 / 6));
    assert_near(real_of(table, "aic"), 4 - 2 * real_of(table, "log_likelihood"));
    rp_json_free(table);
}

/* y on x = 1 .. 4: slope 1.4, intercept 0.5, squares of residuals 1.2 less .. by hand. */
static void errors_of_a_line_are_those_by_hand(void **state)
{
    rp_json *table = table_of(HEAD "train: {task: regression, l2: 0}\n", "x,y\n1,2\n2,3\n3,5\n4,6\n");
    const rp_json *slope = term_of(table, 0, 1);

    (void)state; /* S_xx 5, S_xy 7, S_yy 10: residual 10 - 49/5 = 0.2, of 2 degrees */
    assert_near(real_of(slope, "estimate"), 1.4);
    assert_near(real_of(table, "deviance"), 0.2);
    assert_near(real_of(table, "dispersion"), 0.1);
    assert_near(real_of(slope, "error"), __builtin_sqrt(0.1 / 5));
    assert_near(real_of(term_of(table, 0, 0), "error"), __builtin_sqrt(0.1 * (0.25 + 6.25 / 5)));
    assert_near(real_of(slope, "statistic"), 1.4 / __builtin_sqrt(0.02));
    /* Student's t of 2 degrees: 1 - t / sqrt(2 + t^2), two-sided */
    assert_true(__builtin_fabs(real_of(slope, "p") - (1 - 9.8994949366116653 / 10)) < 1e-12);
    assert_near(real_of(table, "r2"), 0.98);
    rp_json_free(table);
}

static void the_table_says_what_has_no_estimate(void **state)
{
    rp_json *table = table_of(HEAD "train: {task: regression, l2: 0}\n",
                              "a,d,c,y\n0,0,u,1\n1,1,v,3\n2,2,u,5\n4,4,v,8\n5,5,w,2\n6,6,w,9\n");
    static const char *const expected[] = {"estimated", "estimated", "left_out", "reference", "estimated", "estimated"};

    (void)state;
    for (size_t i = 0; i < 6; i++) {
        const rp_json *term = term_of(table, 0, i);

        assert_string_equal(rp_json_string_value(rp_json_object_get(term, "standing")), expected[i]);
        assert_int_equal(rp_json_object_get(term, "error") != NULL, strcmp(expected[i], "estimated") == 0);
    }
    rp_json_free(table);
    table = table_of(HEAD "train: {task: regression}\n", "a,y\n0,1\n1,3\n2,4\n"); /* penalised: no tests */
    assert_null(rp_json_object_get(term_of(table, 0, 1), "error"));
    assert_null(rp_json_object_get(table, "aic"));
    rp_json_free(table);
}

/* A Poisson regression on one category is the logarithm of its means; its errors 1 / sqrt of the sums. */
static void poisson_coefficients_are_logarithms_of_means(void **state)
{
    rp_json *table = table_of(HEAD "train: {task: regression, family: poisson, l2: 0}\n",
                              "a,y\n0,1\n0,0\n0,2\n0,1\n1,7\n1,5\n1,3\n");
    const rp_json *slope = term_of(table, 0, 1);

    (void)state;
    assert_near(real_of(term_of(table, 0, 0), "estimate"), 0);
    assert_near(real_of(term_of(table, 0, 0), "error"), 0.5);
    assert_near(real_of(slope, "estimate"), __builtin_log(5));
    assert_near(real_of(slope, "error"), __builtin_sqrt(0.25 + 1.0 / 15));
    assert_near(real_of(slope, "ratio"), 5);
    assert_near(real_of(table, "pearson"), 2 + 8 / 5.0);
    assert_near(real_of(table, "dispersion"), 1);
    assert_near(real_of(table, "pearson_dispersion"), (2 + 8 / 5.0) / 5);
    rp_json_free(table);
}

/* A gamma regression likewise; its dispersion is Pearson's sum by degrees of freedom. */
static void gamma_errors_follow_from_pearsons_sum(void **state)
{
    rp_json *table =
        table_of(HEAD "train: {task: regression, family: gamma, l2: 0}\n", "a,y\n0,1\n0,3\n0,2\n1,10\n1,20\n1,30\n");
    const rp_json *slope = term_of(table, 0, 1);

    (void)state;
    assert_near(real_of(slope, "estimate"), __builtin_log(10));
    assert_near(real_of(table, "pearson"), 1);
    assert_near(real_of(table, "dispersion"), 0.25);
    assert_near(real_of(slope, "error"), __builtin_sqrt(0.25 * (1.0 / 3 + 1.0 / 3)));
    rp_json_free(table);
}

static void targets_that_a_family_has_not_are_refused(void **state)
{
    fitted f;

    (void)state;
    fit(&f, HEAD "train: {task: regression, family: poisson}\n", "a,y\n0,1\n1,-2\n2,3\n", "", 1);
    assert_int_equal(f.status, RP_EDATA);
    assert_non_null(strstr(f.error, "poisson takes targets from 0, found -2 in data row 1"));
    fit(&f, HEAD "train: {task: regression, family: gamma}\n", "a,y\n0,1\n1,0\n2,3\n", "", 1);
    assert_int_equal(f.status, RP_EDATA);
}

/* One centred column: soft threshold of S_xy, divided by S_xx + l2. */
static void l1_moves_coefficients_to_zero_and_tells_so(void **state)
{
    fitted f;
    rp_json *table;

    (void)state;
    fit(&f, HEAD "train: {task: regression, l1: 1, l2: 3}\n", "a,y\n-1,1001\n0,1002\n1,1006\n", "", 2);
    assert_int_equal(f.status, RP_OK);
    assert_near(f.weight[0], (5.0 - 1) / 5);
    assert_near(f.bias[0], 1003);
    table = table_of(HEAD "train: {task: regression, l1: 6, l2: 0}\n", "a,y\n-1,1001\n0,1002\n1,1006\n");
    assert_string_equal(rp_json_string_value(rp_json_object_get(term_of(table, 0, 1), "standing")), "zero");
    assert_true(real_of(term_of(table, 0, 1), "estimate") == 0);
    rp_json_free(table);
}

/* statsmodels 0.15: GLM(y, [1, x], Poisson or Gamma with the log link, exposure=e) and, of classes, offset=o, fitted to
 * tol 1e-15; of the linear regression OLS(y - o, [1, x]). The offset's column stands in front, between and behind. */
static void offsets_are_added_to_the_predictor_and_not_estimated(void **state)
{
    static const char *const of_term[] = {"estimate", "error"};
    static const char *const of_fit[] = {"log_likelihood", "deviance", "null_deviance"};
    static const struct {
        const char *keys, *csv;
        size_t offset; /* which term */
        double expected[7];
    } given[] = {
        {"exposure: e}\ntrain: {task: regression, family: poisson, l2: 0}\n",
         "e,x,y\n10,1,2\n20,2,3\n5,3,1\n40,4,9\n8,5,2\n16,6,6\n25,7,8\n50,8,21\n",
         1,
         {-2.0344763587047203, 0.4227722574983191, 0.14379414280795635, 0.06551369069063669, -13.65427657034037,
          0.5498187438953497, 5.742168364691301}},
        {"exposure: e}\ntrain: {task: regression, family: gamma, l2: 0}\n",
         "x,e,y\n1,10,2.5\n2,20,3.5\n3,5,1.5\n4,40,9.5\n5,8,2.5\n6,16,6.5\n7,25,8.5\n8,50,21.5\n",
         2,
         {-1.6377220560910044, 0.13874456209264002, 0.09567540860802462, 0.02747551745148044, -9.546153090780649,
          0.20015894796613573, 0.5895873352217693}},
        {"offset: o}\ntrain: {l2: 0}\n",
         "x,y,o\n1,0,-1\n2,1,0.5\n3,0,0.25\n4,1,2\n5,1,-2\n6,0,1\n7,1,0.5\n8,1,-0.5\n",
         2,
         {-1.2298573250449207, 1.903965500240483, 0.41011010768123723, 0.40821781685036185, -5.795059194793689,
          11.590118389587378, 12.822444279257928}},
        {"offset: o}\ntrain: {task: regression, l2: 0}\n",
         "o,x,y\n-1,1,2\n0.5,2,3\n0.25,3,1\n2,4,9\n-2,5,2\n1,6,6\n0.5,7,8\n-0.5,8,21\n",
         1,
         {-2.3928571428571406, 3.701627856533566, 1.9553571428571421, 0.7330315454321451, -22.666926113273455,
          135.4084821428571, 295.9921875}},
    };

    (void)state;
    for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
        char yaml[200];
        rp_json *table;
        const size_t x = 3 - given[i].offset;

        (void)snprintf(yaml, sizeof yaml, "reprise: 1\ndata: {csv: d.csv, target: y, train_on_all: true, %s",
                       given[i].keys);
        table = table_of(yaml, given[i].csv);
        assert_fit(term_of(table, 0, 0), of_term, given[i].expected, 2);
        assert_fit(term_of(table, 0, x), of_term, given[i].expected + 2, 2);
        assert_fit(table, of_fit, given[i].expected + 4, 3);
        assert_string_equal(rp_json_string_value(rp_json_object_get(term_of(table, 0, given[i].offset), "standing")),
                            "offset");
        assert_true(real_of(term_of(table, 0, given[i].offset), "encoded") == 1);
        assert_int_equal(rp_json_integer_value(rp_json_object_get(table, "estimated")), 2);
        rp_json_free(table);
    }
}

/* A constant exposure moves the intercept by its logarithm and nothing else, with penalties too: it has none. */
static void a_constant_exposure_moves_the_intercept_alone(void **state)
{
    static const char *const penalties[] = {"l2: 0", "l2: 1", "l2: 0.5, l1: 0.5"};
    static const char csv[] = "x,e,y\n1,7,2\n2,7,3\n3,7,1\n4,7,9\n5,7,2\n6,7,6\n7,7,8\n8,7,21\n";

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        char yaml[200];
        rp_json *with, *without;

        (void)snprintf(yaml, sizeof yaml,
                       "reprise: 1\ndata: {csv: d.csv, target: y, train_on_all: true, exposure: e}\n"
                       "train: {task: regression, family: poisson, %s}\n",
                       penalties[i]);
        with = table_of(yaml, csv);
        (void)snprintf(yaml, sizeof yaml,
                       "reprise: 1\ndata: {csv: d.csv, target: y, train_on_all: true, columns: {e: ignore}}\n"
                       "train: {task: regression, family: poisson, %s}\n",
                       penalties[i]);
        without = table_of(yaml, csv);
        assert_near(real_of(term_of(with, 0, 1), "estimate"), real_of(term_of(without, 0, 1), "estimate"));
        assert_near(real_of(term_of(with, 0, 0), "estimate"),
                    real_of(term_of(without, 0, 0), "estimate") - 1.9459101490553132); /* log(7) */
        assert_near(real_of(with, "deviance"), real_of(without, "deviance"));
        assert_near(real_of(with, "null_deviance"), real_of(without, "null_deviance"));
        rp_json_free(with);
        rp_json_free(without);
    }
}

/* statsmodels 0.15, formulas y ~ a * b (linear and Poisson) and y ~ a * g, of raw columns; ours are standardised. */
static void coefficients_of_products_are_in_the_units_of_the_table(void **state)
{
    static const char *const of_term[] = {"estimate", "error"};
    static const char csv[] =
        "a,b,y\n21,5,3\n24,-2,9\n30,1,4\n33,7,6\n35,0,2\n40,-4,8\n41,3,1\n46,6,5\n52,2,9\n58,-1,3\n";
    static const char groups[] =
        "a,g,y\n21,u,3\n24,v,9\n30,w,4\n33,u,6\n35,v,2\n40,w,8\n41,u,1\n46,v,5\n52,w,9\n58,u,3\n";
    static const struct {
        const char *pair, *family, *csv;
        size_t terms[4]; /* in the order of statsmodels; of the last those of a are left: our last group is what it is
                            of */
        double expected[4][2];
    } given[] = {{"[a, b]",
                  "gaussian",
                  csv,
                  {0, 1, 2, 3},
                  {{7.1896798505982, 4.0014229246867},
                   {-0.04619546293653426, 0.09912309872658749},
                   {-1.3179882703930368, 1.1863388505621628},
                   {0.029955684919705874, 0.03152665469698147}}},
                 {"[b, a]",
                  "poisson",
                  csv,
                  {0, 1, 2, 3},
                  {{1.9347398457852478, 0.5294972961806541},
                   {-0.007033287332868142, 0.013575795510392008},
                   {-0.28047832981832793, 0.1783035205154603},
                   {0.0064032781502792865, 0.004669290444941053}}},
                 {"[a, g]",
                  "gaussian",
                  groups,
                  {0, 3, 4, 4},
                  {{4.374610861293652, 4.183075330316211},
                   {7.322358835676083, 7.681723538519434},
                   {-6.424061410743894, 8.514485502151562},
                   {-6.424061410743894, 8.514485502151562}}}};

    (void)state;
    for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
        char yaml[200];
        rp_json *table;

        (void)snprintf(yaml, sizeof yaml,
                       "reprise: 1\ndata: {csv: d.csv, target: y, train_on_all: true, interactions: [%s]}\n"
                       "train: {task: regression, family: %s, l2: 0}\n",
                       given[i].pair, given[i].family);
        table = table_of(yaml, given[i].csv);
        for (size_t k = 0; k < 4; k++)
            assert_fit(term_of(table, 0, given[i].terms[k]), of_term, given[i].expected[k], 2);
        if (given[i].csv == groups) /* the first group stays the reference, though products hold it too */
            assert_true(real_of(term_of(table, 0, 2), "estimate") == 0);
        rp_json_free(table);
    }
}

/* With penalties too: the sum of the raw terms is the predictor of every row. */
static void terms_in_the_units_of_the_table_sum_to_the_predictor(void **state)
{
    static const char csv[] = "a,b,y\n21,5,3\n24,-2,9\n30,1,4\n33,7,6\n35,0,2\n40,-4,8\n41,3,1\n46,6,5\n";
    static const double a[] = {21, 24, 30, 33, 35, 40, 41, 46}, b[] = {5, -2, 1, 7, 0, -4, 3, 6};
    static const char yaml[] =
        "reprise: 1\ndata: {csv: d.csv, target: y, train_on_all: true, interactions: [[a, b], [a, a]]}\n"
        "train: {task: regression, l2: 0.5, l1: 0.25}\n";
    rp_json *table = table_of(yaml, csv);
    double e[5], mean[2] = {0, 0}, spread[2] = {0, 0};

    (void)state;
    for (int j = 0; j < 5; j++)
        e[j] = real_of(term_of(table, 0, (size_t)j), "estimate");
    for (int i = 0; i < 8; i++) {
        mean[0] += a[i] / 8;
        mean[1] += b[i] / 8;
    }
    for (int i = 0; i < 8; i++) {
        spread[0] += (a[i] - mean[0]) * (a[i] - mean[0]) / 8;
        spread[1] += (b[i] - mean[1]) * (b[i] - mean[1]) / 8;
    }
    for (int i = 0; i < 8; i++) {
        const double u = (a[i] - mean[0]) / __builtin_sqrt(spread[0]), v = (b[i] - mean[1]) / __builtin_sqrt(spread[1]);
        const double raw = e[1] * a[i] + e[2] * b[i] + e[3] * a[i] * b[i] + e[4] * a[i] * a[i];
        const double first = e[1] * a[0] + e[2] * b[0] + e[3] * a[0] * b[0] + e[4] * a[0] * a[0];
        const double us = (a[0] - mean[0]) / __builtin_sqrt(spread[0]),
                     vs = (b[0] - mean[1]) / __builtin_sqrt(spread[1]);
        double encoded[5], sum, start;

        for (int j = 1; j < 5; j++)
            encoded[j] = real_of(term_of(table, 0, (size_t)j), "encoded");
        sum = encoded[1] * u + encoded[2] * v + encoded[3] * u * v + encoded[4] * u * u;
        start = encoded[1] * us + encoded[2] * vs + encoded[3] * us * vs + encoded[4] * us * us;
        assert_true(__builtin_fabs((raw - first) - (sum - start)) < 1e-11);
    }
    rp_json_free(table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_of_a_table_of_counts_are_those_of_woolf),
        cmocka_unit_test(errors_of_a_line_are_those_by_hand),
        cmocka_unit_test(the_table_says_what_has_no_estimate),
        cmocka_unit_test(poisson_coefficients_are_logarithms_of_means),
        cmocka_unit_test(gamma_errors_follow_from_pearsons_sum),
        cmocka_unit_test(targets_that_a_family_has_not_are_refused),
        cmocka_unit_test(l1_moves_coefficients_to_zero_and_tells_so),
        cmocka_unit_test(offsets_are_added_to_the_predictor_and_not_estimated),
        cmocka_unit_test(a_constant_exposure_moves_the_intercept_alone),
        cmocka_unit_test(coefficients_of_products_are_in_the_units_of_the_table),
        cmocka_unit_test(terms_in_the_units_of_the_table_sum_to_the_predictor),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
