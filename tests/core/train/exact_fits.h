/* SPDX-License-Identifier: Apache-2.0
 * A recipe of a small table, fitted exactly: what it leaves, and the table of its coefficients. */
#ifndef TESTS_CORE_TRAIN_EXACT_FITS_H
#define TESTS_CORE_TRAIN_EXACT_FITS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/train/coefficients.h"
#include "core/train/train.h"
#include "determinism/decimal.h"
#include "rp/program.h"

enum { OUTPUTS = 4, FEATURES = 8 };

static inline rp_recipe *recipe_of(const char *text)
{
    rp_recipe *recipe = NULL;
    rp_error err = {0};

    if (rp_recipe_from_yaml(&recipe, text, strlen(text), "r.yaml", &err) != RP_OK)
        fail_msg("%s", err.text);
    return recipe;
}

#define HEAD "reprise: 1\ndata: {csv: d.csv, target: y, train_on_all: true, standardize: false}\n"

/* What a fit leaves: bias [outputs] behind weight [features, outputs]. */
typedef struct fitted {
    double weight[FEATURES * OUTPUTS], bias[OUTPUTS];
    rp_status status;
    char error[1024];
} fitted;

static inline void fit(fitted *out, const char *yaml, const char *csv, const char *level, unsigned threads)
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

static inline void assert_near(double found, double expected)
{
    if (!(__builtin_fabs(found - expected) <= 1e-12 * (1 + __builtin_fabs(expected))))
        fail_msg("expected %.17g, found %.17g", expected, found);
}

static inline rp_json *table_of(const char *yaml, const char *csv)
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

static inline const rp_json *term_of(const rp_json *table, size_t output, size_t term)
{
    return rp_json_array_get(
        rp_json_object_get(rp_json_array_get(rp_json_object_get(table, "outputs"), output), "terms"), term);
}

static inline double real_of(const rp_json *object, const char *key)
{
    const char *text = rp_json_string_value(rp_json_object_get(object, key));
    double x = 0;

    if (!text || !rp_real_read(&x, text))
        fail_msg("%s is no real", key);
    return x;
}

/* Rows of one term's figures and the fit's. */
static inline void assert_fit(const rp_json *table, const char *const *key, const double *expected, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!(__builtin_fabs(real_of(table, key[i]) - expected[i]) <= 1e-10 * (1 + __builtin_fabs(expected[i]))))
            fail_msg("%s: expected %.17g, found %.17g", key[i], expected[i], real_of(table, key[i]));
}

#endif
