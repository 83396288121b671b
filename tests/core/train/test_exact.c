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
#include "core/train/exact.h"
#include "core/train/train.h"
#include "kernels/kernel.h"
#include "tests/core/train/exact_fits.h"
#include "tests/house/sanitized.h"

static void refused(const char *text, const char *words)
{
    rp_recipe *recipe = NULL;
    rp_error err = {0};

    assert_int_equal(rp_recipe_from_yaml(&recipe, text, strlen(text), "r.yaml", &err), RP_EARG);
    if (!strstr(err.text, words))
        fail_msg("expected \"%s\" in: %s", words, err.text);
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
        for (size_t l = SANITIZED ? r % n : 0; l < (SANITIZED ? r % n + 1 : n); l++) /* one by turns */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(least_squares_are_those_by_hand),
        cmocka_unit_test(ridge_shrinks_the_slope_and_not_the_intercept),
        cmocka_unit_test(logistic_coefficients_are_the_logarithms_of_odds),
        cmocka_unit_test(every_level_and_number_of_threads_has_the_same_bits),
        cmocka_unit_test(references_stay_zero_without_a_penalty),
        cmocka_unit_test(the_gradient_is_zero_at_the_fit),
        cmocka_unit_test(a_column_that_tells_classes_apart_is_named),
        cmocka_unit_test(a_column_that_loses_its_information_is_not_taken_for_a_sum),
        cmocka_unit_test(a_duplicate_column_is_left_out),
        cmocka_unit_test(fits_have_the_bits_of_all_builds),
        cmocka_unit_test(nearly_certain_rows_have_scores_of_their_own),
        cmocka_unit_test(values_are_judged_in_binary64),
        cmocka_unit_test(keys_say_which_recipes_are_exact),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
