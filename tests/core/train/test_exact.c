/* SPDX-License-Identifier: Apache-2.0
 * Exact fits: their coefficients against small problems solved by hand and against the condition of a minimum computed
 * here, the same bits at every level and number of threads, what cannot be estimated, and which recipes are exact. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "core/train/coefficients.h"
#include "core/train/exact.h"
#include "core/train/train.h"
#include "determinism/decimal.h"
#include "kernels/kernel.h"
#include "rp/program.h"
#include "tests/house/sanitized.h"

enum { OUTPUTS = 4, FEATURES = 8 };

static rp_recipe *recipe_of(const char *text)
{
    rp_recipe *recipe = NULL;
    rp_error err = {0};

    if (rp_recipe_from_yaml(&recipe, text, strlen(text), "r.yaml", &err) != RP_OK)
        fail_msg("%s", err.text);
    return recipe;
}

static void refused(const char *text, const char *words)
{
    rp_recipe *recipe = NULL;
    rp_error err = {0};

    assert_int_equal(rp_recipe_from_yaml(&recipe, text, strlen(text), "r.yaml", &err), RP_EARG);
    if (!strstr(err.text, words))
        fail_msg("expected \"%s\" in: %s", words, err.text);
}

#define HEAD "reprise: 1\ndata: {csv: d.csv, target: y, train_on_all: true, standardize: false}\n"

/* What a fit leaves: bias [outputs] behind weight [features, outputs]. */
typedef struct fitted {
    double weight[FEATURES * OUTPUTS], bias[OUTPUTS];
    rp_status status;
    char error[1024];
} fitted;

static void fit(fitted *out, const char *yaml, const char *csv, const char *level, unsigned threads)
{
    rp_recipe *recipe = recipe_of(yaml);
    rp_trainer *t = NULL;
    rp_error err = {0};
    const rp_device_tensor *state;
    size_t n;

    memset(out, 0, sizeof *out);
    out->status = rp_trainer_new(&t, recipe, &(rp_source_text){csv, strlen(csv), "d.csv", NULL, NULL},
                                 &(rp_run_options){.threads = threads, .level = level}, &err);
    while (out->status == RP_OK && !rp_trainer_done(t))
        out->status = rp_trainer_step(t, &err);
    if (out->status == RP_OK) {
        state = rp_run_states(rp_trainer_run(t), &n);
        assert_int_equal(n, 2);
        assert_int_equal(rp_device_tensor_read(&state[0], out->weight, &err), RP_OK);
        assert_int_equal(rp_device_tensor_read(&state[1], out->bias, &err), RP_OK);
    }
    (void)snprintf(out->error, sizeof out->error, "%s", err.text);
    rp_trainer_free(t);
    rp_recipe_free(recipe);
}

static void assert_near(double found, double expected)
{
    if (!(__builtin_fabs(found - expected) <= 1e-12 * (1 + __builtin_fabs(expected))))
        fail_msg("expected %.17g, found %.17g", expected, found);
}

/* y = 3 - 2 a + b / 4, and its errors are orthogonal to both. */
static void least_squares_are_those_by_hand(void **state)
{
    fitted f;

    (void)state;
    fit(&f, HEAD "train: {task: regression, l2: 0}\n", "a,b,y\n0,0,4\n0,4,3\n1,0,0\n1,4,3\n", "", 2);
    assert_int_equal(f.status, RP_OK); /* by hand: cells' means 3.5, 1.5 over a; 2, 3 over b */
    assert_near(f.weight[0], -2);
    assert_near(f.weight[1], 0.25);
    assert_near(f.bias[0], 3);
}

/* One centred column: slope S_xy / (S_xx + l2), whatever the intercept. */
static void ridge_shrinks_the_slope_and_not_the_intercept(void **state)
{
    fitted f;

    (void)state;
    fit(&f, HEAD "train: {task: regression, l2: 3}\n", "a,y\n-1,1001\n0,1002\n1,1006\n", "", 2);
    assert_int_equal(f.status, RP_OK);
    assert_near(f.weight[0], 5.0 / 5);
    assert_near(f.bias[0], 1003);
}

/* A table of counts: the odds of a 2 by 2 table are its logarithms. */
static void logistic_coefficients_are_the_logarithms_of_odds(void **state)
{
    static const char csv[] = "a,y\n0,n\n0,n\n0,n\n0,y\n1,n\n1,y\n1,y\n1,y\n1,y\n1,y\n";
    fitted f;

    (void)state;
    fit(&f, HEAD "train: {l2: 0}\n", csv, "", 2);
    assert_int_equal(f.status, RP_OK);
    assert_near(f.bias[0], -1.0986122886681098);                       /* log(1/3) */
    assert_near(f.weight[0], 1.6094379124341003 + 1.0986122886681098); /* log(5) - log(1/3) */
}

/* Three classes of rows, a category and a number. */
static void write_table(char *out, size_t size, int rows)
{
    size_t used = (size_t)snprintf(out, size, "a,b,c,y\n");

    for (int i = 0; i < rows; i++) {
        const int a = i * 7 % 13, b = i * 5 % 11, noise = i * 31 % 17;

        used += (size_t)snprintf(out + used, size - used, "%d.%d,%d,%s,%s\n", a, i % 10, b,
                                 i % 3 == 0   ? "u"
                                 : i % 3 == 1 ? "v"
                                              : "w",
                                 a + noise % 7 > 11          ? "high"
                                 : b + noise % 5 + i % 3 > 7 ? "mid"
                                                             : "low");
    }
    assert_true(used < size);
}

/* Successes b of n trials, some rows without any. */
static void write_counts(char *out, size_t size, int rows)
{
    size_t used = (size_t)snprintf(out, size, "a,b,c,n\n");

    for (int i = 0; i < rows; i++) {
        const int b = i * 5 % 11;

        used += (size_t)snprintf(out + used, size - used, "%d.%d,%d,%s,%d\n", i * 7 % 13, i % 10, b, i % 3 ? "u" : "v",
                                 b + i * 31 % 17);
    }
    assert_true(used < size);
}

static void every_level_and_number_of_threads_has_the_same_bits(void **state)
{
    static char csv[200000];
    static const char *const recipes[] = {HEAD, HEAD "train: {l2: 0}\n", HEAD "train: {l2: 0.5, l1: 2}\n",
                                          ("reprise: 1\ndata: {csv: d.csv, target: b, train_on_all: true, exposure: a, "
                                           "where: [{column: a, is: '>', value: 0}]}\n"
                                           "train: {task: regression, family: poisson}\n"),
                                          ("reprise: 1\ndata: {csv: d.csv, target: b, train_on_all: true, denominator: "
                                           "n, missing_target: drop}\n"
                                           "train: {task: regression, family: binomial, l2: 0}\n")};
    const char *const *levels;
    const size_t n = rp_kernel_levels(&levels);
    fitted first, f;

    (void)state;
    for (size_t r = 0; r < sizeof recipes / sizeof *recipes; r++) {
        (strstr(recipes[r], "denominator") ? write_counts : write_table)(csv, sizeof csv, SANITIZED ? 4200 : 9001);
        fit(&first, recipes[r], csv, "ref", 1); /* two blocks or three */
        if (first.status != RP_OK)
            fail_msg("%s", first.error);
        assert_true(first.weight[0] != 0 || first.weight[1] != 0);
        for (size_t l = 0; l < n; l++)
            for (unsigned threads = 1 + 2 * SANITIZED; threads <= 3; threads += 2) {
                fit(&f, recipes[r], csv, levels[l], threads);
                assert_memory_equal(&f, &first, sizeof f);
            }
    }
}

/* Without a penalty the first class and the first category are the reference. */
static void references_stay_zero_without_a_penalty(void **state)
{
    static char csv[200000];
    fitted f;

    (void)state;
    write_table(csv, sizeof csv, 500);
    fit(&f, HEAD "train: {l2: 0}\n", csv, "", 2);
    assert_int_equal(f.status, RP_OK);
    assert_true(f.bias[0] == 0 && f.bias[1] != 0 && f.bias[2] != 0);
    for (int feature = 0; feature < 5; feature++) /* a, b, c = u, v, w */
        for (int k = 0; k < 3; k++)
            assert_true((f.weight[feature * 3 + k] == 0) == (k == 0 || feature == 2));
}

/* The gradient of the penalised sum of losses is zero at what was fitted. */
static void the_gradient_is_zero_at_the_fit(void **state)
{
    static const char csv[] = "a,b,y\n1,5,n\n2,3,y\n3,4,n\n4,4,y\n5,1,y\n6,2,y\n2,2,n\n5,5,n\n";
    static const double a[] = {1, 2, 3, 4, 5, 6, 2, 5}, b[] = {5, 3, 4, 4, 1, 2, 2, 5}, y[] = {0, 1, 0, 1, 1, 1, 0, 0};
    double slope[3] = {0, 0, 0};
    fitted f;

    (void)state;
    fit(&f, HEAD "train: {l2: 0.75}\n", csv, "", 2);
    assert_int_equal(f.status, RP_OK);
    for (int i = 0; i < 8; i++) {
        const double z = f.bias[0] + a[i] * f.weight[0] + b[i] * f.weight[1], e = 1 / (1 + __builtin_exp(-z)) - y[i];

        slope[0] += e;
        slope[1] += e * a[i];
        slope[2] += e * b[i];
    }
    assert_true(__builtin_fabs(slope[0]) < 1e-12);
    assert_true(__builtin_fabs(slope[1] + 0.75 * f.weight[0]) < 1e-12);
    assert_true(__builtin_fabs(slope[2] + 0.75 * f.weight[1]) < 1e-12);
}

static void a_column_that_tells_classes_apart_is_named(void **state)
{
    fitted f;

    (void)state;
    fit(&f, HEAD "train: {l2: 0}\n", "a,b,y\n1,3,n\n2,1,n\n3,2,y\n4,3,y\n", "", 2);
    assert_int_equal(f.status, RP_EDATA);
    assert_non_null(strstr(f.error, "did not converge"));
    assert_non_null(strstr(f.error, "column \"a\" alone tells class \"n\" from the rest"));
    fit(&f, HEAD "train: {l2: 0}\n", "c,y\nu,n\nu,y\nu,n\nv,y\nv,y\nw,n\nw,y\n", "", 2);
    assert_int_equal(f.status, RP_EDATA); /* of v all are y */
    assert_non_null(strstr(f.error, "column \"c\" being \"v\""));
    fit(&f, HEAD, "a,b,y\n1,3,n\n2,1,n\n3,2,y\n4,3,y\n", "", 2); /* a penalty has a minimum, */
    assert_int_equal(f.status, RP_OK);
    fit(&f, HEAD "train: {l2: 1e-9}\n", "a,b,y\n1,3,n\n2,1,n\n3,2,y\n4,3,y\n", "", 2); /* a small one too */
    assert_int_equal(f.status, RP_OK);
    fit(&f, HEAD "train: {task: regression, family: poisson, l2: 0}\n", "c,y\nu,1\nu,2\nv,0\nv,0\nw,3\nw,1\n", "", 2);
    assert_int_equal(f.status, RP_EDATA);
    assert_non_null(strstr(f.error, "all targets of column \"c\" being \"v\" are 0"));
}

/* Rows with z = 1 are all n: they weigh less at every step, until z is a multiple of the intercept among the others. */
static void a_column_that_loses_its_information_is_not_taken_for_a_sum(void **state)
{
    fitted f;

    (void)state;
    fit(&f, HEAD "train: {l2: 0}\n",
        "z,a,y\n0,1,n\n0,4,y\n0,2,y\n0,3,n\n0,5,y\n0,2,n\n0,3,y\n0,4,n\n1,2,n\n1,4,n\n1,3,n\n", "", 2);
    assert_int_equal(f.status, RP_EDATA);
    assert_non_null(strstr(f.error, "column \"z\" alone tells class \"n\" from the rest but for ties"));
    fit(&f, HEAD "train: {l2: 0}\n", /* z above b is always n; neither says so alone */
        "z,b,a,y\n0,0,1,n\n0,0,4,y\n0,0,2,y\n0,0,3,n\n1,1,5,y\n1,1,2,n\n1,1,3,y\n1,1,4,n\n1,0,2,n\n1,0,4,n\n1,0,3,n\n",
        "", 2);
    assert_int_equal(f.status, RP_EDATA);
    assert_non_null(strstr(f.error, "column \"b\" has an estimate of "));
}

/* The second of two equal columns is left out: it stays 0, and the first has all of it. */
static void a_duplicate_column_is_left_out(void **state)
{
    fitted f;

    (void)state;
    fit(&f, HEAD "train: {task: regression, l2: 0}\n", "a,d,k,y\n0,0,7,1\n1,1,7,3\n2,2,7,5\n4,4,7,8\n", "", 2);
    assert_int_equal(f.status, RP_OK);
    assert_true(f.weight[1] == 0 && f.weight[2] == 0 && f.weight[0] > 1.5);
}

/* ---- the table ---- */

static rp_json *table_of(const char *yaml, const char *csv)
{
    rp_recipe *recipe = recipe_of(yaml);
    rp_trainer *t = NULL;
    rp_error err = {0};
    rp_json *table = NULL;
    rp_status status = rp_trainer_new(&t, recipe, &(rp_source_text){csv, strlen(csv), "d.csv", NULL, NULL},
                                      &(rp_run_options){.threads = 2}, &err);

    while (status == RP_OK && !rp_trainer_done(t))
        status = rp_trainer_step(t, &err);
    if (status == RP_OK)
        status = rp_trainer_coefficients(t, &table, &err);
    if (status != RP_OK)
        fail_msg("%s", err.text);
    rp_trainer_free(t);
    rp_recipe_free(recipe);
    return table;
}

static const rp_json *term_of(const rp_json *table, size_t output, size_t term)
{
    return rp_json_array_get(
        rp_json_object_get(rp_json_array_get(rp_json_object_get(table, "outputs"), output), "terms"), term);
}

static double real_of(const rp_json *object, const char *key)
{
    const char *text = rp_json_string_value(rp_json_object_get(object, key));
    double x = 0;

    if (!text || !rp_real_read(&x, text))
        fail_msg("%s is no real", key);
    return x;
}

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

/* ---- weights ---- */

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

/* FNV-1a of the encodings: what any build and host must give. */
static uint64_t digest_of(const fitted *f)
{
    uint64_t hash = 0xCBF29CE484222325u;

    for (size_t i = 0; i < sizeof f->weight + sizeof f->bias; i++) {
        const double x = i < sizeof f->weight ? f->weight[i / 8] : f->bias[(i - sizeof f->weight) / 8];
        uint64_t bits;

        memcpy(&bits, &x, sizeof bits);
        hash = (hash ^ (bits >> 8 * (i % 8) & 0xFF)) * 0x100000001B3u;
    }
    return hash;
}

static void fits_have_the_bits_of_all_builds(void **state)
{
    static char csv[200000], amounts[20000];
    static const struct {
        const char *train;
        bool classes;
        uint64_t digest;
    } cases[] = {{"", true, 0xc97617d7e6ec56f9u},
                 {"train: {l2: 0}\n", true, 0xfe7ab56a9b952f61u},
                 {"train: {l1: 2, l2: 0.5}\n", true, 0x972d33a082c9a245u},
                 {"train: {task: regression}\n", false, 0xa635af70e21ef4abu},
                 {"train: {task: regression, l1: 20}\n", false, 0xb21695a51e125e71u},
                 {"train: {task: regression, family: poisson, l2: 0}\n", false, 0x7217a6504e379c44u},
                 {"train: {task: regression, family: gamma, l2: 0.25}\n", false, 0xb5741dfed68fc705u},
                 {"train: {l2: 0.5, class_weights: {low: 3}}\n", true, 0x47c5391301ebbb8fu}};
    size_t used = (size_t)snprintf(amounts, sizeof amounts, "a,b,y\n");

    (void)state;
    write_table(csv, sizeof csv, 5000);
    for (int i = 0; i < 400; i++)
        used += (size_t)snprintf(amounts + used, sizeof amounts - used, "%d,%d.5,%d\n", i % 23, i * 7 % 11,
                                 1 + i % 23 + i * i % 19);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char yaml[512];
        fitted f;

        (void)snprintf(yaml, sizeof yaml, "reprise: 1\ndata: {csv: d.csv, target: y, train_on_all: true}\n%s",
                       cases[i].train);
        fit(&f, yaml, cases[i].classes ? csv : amounts, "", 2);
        if (f.status != RP_OK || digest_of(&f) != cases[i].digest)
            fail_msg("%s%s: %016llx", cases[i].train, f.error, (unsigned long long)digest_of(&f));
    }
}

/* What a trainer of this recipe says at its end: scores of the training rows, and the table of predictions. */
static void report(const char *yaml, const char *csv, double **score, rp_buffer *text)
{
    rp_recipe *recipe = recipe_of(yaml);
    rp_trainer *t = NULL;
    rp_error err = {0};
    float loss;

    assert_int_equal(rp_trainer_new(&t, recipe, &(rp_source_text){csv, strlen(csv), "d.csv", NULL, NULL},
                                    &(rp_run_options){.threads = 2}, &err),
                     RP_OK);
    while (!rp_trainer_done(t))
        assert_int_equal(rp_trainer_step(t, &err), RP_OK);
    assert_int_equal(rp_trainer_scores(t, false, &loss, score, &err), RP_OK);
    assert_int_equal(rp_trainer_predictions(t, text, NULL, &err), RP_OK);
    rp_buffer_u8(text, 0);
    assert_int_equal(rp_buffer_status(text, &err), RP_OK);
    rp_trainer_free(t);
    rp_recipe_free(recipe);
}

/* Binary32 has no number between 1 - 2^-24 and 1: rows of odds above that would be ties. */
static void nearly_certain_rows_have_scores_of_their_own(void **state)
{
    enum { ROWS = 20 };
    char csv[512], cell[64], shortest[RP_DECIMAL_SIZE];
    size_t at = (size_t)snprintf(csv, sizeof csv, "a,y\n"), ties = 0;
    rp_buffer text = {0};
    double *score;

    (void)state;
    for (int i = 0; i < ROWS; i++)
        at += (size_t)snprintf(csv + at, sizeof csv - at, "%d,%d\n", i, i > 9);
    report(HEAD "train: {l2: 0.05}\n", csv, &score, &text);
    for (size_t i = 1; i < ROWS; i++) {
        if (!(score[i - 1] < score[i] && score[i] < 1))
            fail_msg("row %zu: %.17g, %.17g", i, score[i - 1], score[i]);
        ties += (float)score[i - 1] == (float)score[i];
    }
    assert_true(ties >= 3);
    for (int i = 0; i < ROWS; i++) {
        (void)rp_print_f64(shortest, score[i]);
        (void)snprintf(cell, sizeof cell, "\n%d,%d,%d,%s\n", i, i > 9, i > 9, shortest);
        if (!strstr((const char *)text.data, cell))
            fail_msg("expected %s in %s", cell, (const char *)text.data);
    }
    rp_free(score);
    rp_buffer_free(&text);
}

/* 1234567.89 is 1234567.875 in binary32. */
static void values_are_judged_in_binary64(void **state)
{
    rp_buffer text = {0};
    double *score;

    (void)state;
    report(HEAD "train: {task: regression, l2: 0}\n", "a,y\n0,1234567.89\n1,1234567.91\n2,1234567.96\n", &score, &text);
    assert_true(__builtin_fabs(score[0] - 1234567.885) < 1e-7 && __builtin_fabs(score[2] - 1234567.955) < 1e-7);
    assert_non_null(strstr((const char *)text.data, "\n0,1234567.89,1234567.88"));
    rp_free(score);
    rp_buffer_free(&text);
}

static void keys_say_which_recipes_are_exact(void **state)
{
    static const struct {
        const char *text;
        bool exact;
    } cases[] = {{"", true},
                 {"train: {task: regression}\n", true},
                 {"train: {l2: 0}\n", true},
                 {"train: {class_weights: {a: 2}}\n", true},
                 {"train: {class_weights: balanced, epochs: 3}\n", false},
                 {"train: {solver: gradient}\n", false},
                 {"train: {epochs: 3}\n", false},
                 {"train: {optimizer: {lr: 0.1}}\n", false},
                 {"model: {hidden: [4]}\n", false},
                 {"record: {checkpoint_every: 5}\n", false},
                 {"record: {state_period: 5}\n", true}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[512];
        rp_recipe *recipe, *again = NULL;
        rp_error err = {0};

        (void)snprintf(text, sizeof text, "%s%s", HEAD, cases[i].text);
        recipe = recipe_of(text);
        assert_int_equal(recipe->train.exact, cases[i].exact);
        if (rp_recipe_from_json(&again, recipe->json, "recipe.json", &err) != RP_OK)
            fail_msg("%s: %s", text, err.text);
        assert_int_equal(again->train.exact, cases[i].exact);
        rp_recipe_free(again);
        rp_recipe_free(recipe);
    }
    refused(HEAD "train: {l2: 1, epochs: 3}\n", "train.epochs");
    refused(HEAD "train: {solver: gradient, l2: 1}\n", "train.l2");
    refused(HEAD "model: {hidden: [4]}\ntrain: {solver: exact}\n", "train.solver");
    refused(HEAD "model: {hidden: [4]}\ntrain: {l2: 1}\n", "train.l2");
    refused(HEAD "train: {l2: -1}\n", "train.l2");
    refused(HEAD "train: {family: gaussian}\n", "train.family");
    refused("reprise: 1\ndata: {csv: d, target: y, exposure: e}\ntrain: {task: regression}\n", "data.exposure");
    refused("reprise: 1\ndata: {csv: d, target: y, exposure: e}\n", "data.exposure");
    refused("reprise: 1\ndata: {csv: d, target: y, exposure: e, offset: o}\ntrain: {task: regression, family: "
            "poisson}\n",
            "without offset");
    refused("reprise: 1\ndata: {csv: d, target: y, denominator: n}\ntrain: {task: regression}\n", "family: binomial");
    refused("reprise: 1\ndata: {csv: d, target: y, denominator: n}\n", "data.denominator");
    refused("reprise: 1\ndata: {csv: d, target: y, denominator: n}\ntrain: {task: regression, epochs: 3}\n",
            "data.denominator");
    refused("reprise: 1\ndata: {csv: d, target: y}\ntrain: {task: regression, family: binomial}\n",
            "data.denominator: required");
    refused("reprise: 1\ndata: {csv: d, target: y, denominator: n, exposure: e}\ntrain: {task: regression, family: "
            "binomial}\n",
            "data.exposure");
    refused("reprise: 1\ndata: {csv: d, target: y, offset: o}\nmodel: {hidden: [4]}\n", "data.offset");
    refused("reprise: 1\ndata: {csv: d, target: y, offset: o}\ntrain: {epochs: 4}\n", "solver: exact");
    refused("reprise: 1\ndata: {csv: d, header: false, target: 0, offset: o}\n", "data.offset");
}

/* Rows of one term's figures and the fit's. */
static void assert_fit(const rp_json *table, const char *const *key, const double *expected, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!(__builtin_fabs(real_of(table, key[i]) - expected[i]) <= 1e-10 * (1 + __builtin_fabs(expected[i]))))
            fail_msg("%s: expected %.17g, found %.17g", key[i], expected[i], real_of(table, key[i]));
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
        cmocka_unit_test(coefficients_of_products_are_in_the_units_of_the_table),
        cmocka_unit_test(terms_in_the_units_of_the_table_sum_to_the_predictor),
        cmocka_unit_test(counts_are_a_logistic_regression_of_their_trials),
        cmocka_unit_test(counts_have_the_estimates_of_single_trials),
        cmocka_unit_test(counts_without_a_finite_estimate_are_told),
        cmocka_unit_test(least_squares_are_those_by_hand),
        cmocka_unit_test(ridge_shrinks_the_slope_and_not_the_intercept),
        cmocka_unit_test(logistic_coefficients_are_the_logarithms_of_odds),
        cmocka_unit_test(every_level_and_number_of_threads_has_the_same_bits),
        cmocka_unit_test(references_stay_zero_without_a_penalty),
        cmocka_unit_test(the_gradient_is_zero_at_the_fit),
        cmocka_unit_test(a_column_that_tells_classes_apart_is_named),
        cmocka_unit_test(a_column_that_loses_its_information_is_not_taken_for_a_sum),
        cmocka_unit_test(a_duplicate_column_is_left_out),
        cmocka_unit_test(errors_of_a_table_of_counts_are_those_of_woolf),
        cmocka_unit_test(errors_of_a_line_are_those_by_hand),
        cmocka_unit_test(the_table_says_what_has_no_estimate),
        cmocka_unit_test(poisson_coefficients_are_logarithms_of_means),
        cmocka_unit_test(gamma_errors_follow_from_pearsons_sum),
        cmocka_unit_test(offsets_are_added_to_the_predictor_and_not_estimated),
        cmocka_unit_test(a_constant_exposure_moves_the_intercept_alone),
        cmocka_unit_test(targets_that_a_family_has_not_are_refused),
        cmocka_unit_test(l1_moves_coefficients_to_zero_and_tells_so),
        cmocka_unit_test(a_weight_of_2_is_the_row_twice_and_0_none),
        cmocka_unit_test(errors_are_those_of_analytic_weights),
        cmocka_unit_test(weights_as_small_as_numbers_get_leave_numbers),
        cmocka_unit_test(a_class_that_weighs_nothing_is_named),
        cmocka_unit_test(fits_have_the_bits_of_all_builds),
        cmocka_unit_test(nearly_certain_rows_have_scores_of_their_own),
        cmocka_unit_test(values_are_judged_in_binary64),
        cmocka_unit_test(keys_say_which_recipes_are_exact),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
