/* SPDX-License-Identifier: Apache-2.0
 * Whether an exact fit has converged, and why not. Estimates without a penalty are infinite where a combination of
 * columns tells the classes apart (Albert and Anderson, 1984); one column that does is looked for by name. */
#include "core/train/exact_check.h"

#include <stdio.h>

#include "base/text.h"
#include "core/data/treat/feature.h"

#include <string.h>

rp_status rp_exact_number(const rp_compiled *fit, const char *name, double *out, rp_error *err)
{
    rp_device_tensor result;
    int64_t count;
    rp_status status;

    if (!rp_compiled_result(fit, name, &result))
        return rp_fail(err, RP_EARG, "an exact fit has no result %s", name);
    if (result.type.dtype != RP_I64)
        return rp_device_tensor_read(&result, out, err);
    status = rp_device_tensor_read(&result, &count, err);
    *out = (double)count;
    return status;
}

static bool counts(const double *weight, size_t row)
{
    return !weight || weight[row] > 0;
}

static rp_status check_targets(const rp_model *model, const double *y, const double *weight, const int64_t *row,
                               size_t n, bool *positive, rp_error *err)
{
    const bool gamma = model->loss == RP_LOSS_GAMMA;

    for (size_t i = 0; i < n; i++) {
        if (gamma ? !(y[i] > 0) : !(y[i] >= 0))
            return rp_fail(err, RP_EDATA,
                           "train.family: %s takes targets %s 0, found %g in data row %lld (from 0); use gaussian",
                           gamma ? "gamma" : "poisson", gamma ? "above" : "from", y[i], (long long)row[i]);
        *positive = *positive || (y[i] > 0 && counts(weight, i));
    }
    return RP_OK;
}

/* A class whose rows all weigh nothing has no estimate. */
static rp_status check_classes(const rp_dataset *data, rp_error *err)
{
    char text[64];

    for (size_t k = 0; data->train_wide_weight && k < data->schema->classes; k++) {
        bool there = false;

        for (size_t i = 0; i < data->train_rows && !there; i++)
            there = data->train_label[i] == (int64_t)k && counts(data->train_wide_weight, i);
        if (!there)
            return rp_fail(
                err, RP_EDATA,
                "data.weight: an exact fit needs a training row with a weight above 0 of each class, class "
                "\"%s\" has none; leave out data.weight, or the class by data.where",
                rp_printable(text, sizeof text, data->schema->class_name[k], strlen(data->schema->class_name[k])));
    }
    return RP_OK;
}

/* Trials that all end alike have an infinite intercept. */
static rp_status check_proportions(const rp_dataset *data, rp_error *err)
{
    bool success = false, failure = false;

    for (size_t i = 0; i < data->train_rows; i++) {
        success = success || (data->train_target[i] > 0 && counts(data->train_wide_weight, i));
        failure = failure || (data->train_target[i] < 1 && counts(data->train_wide_weight, i));
    }
    if (success && failure)
        return RP_OK;
    return rp_fail(err, RP_EDATA, "train.family: binomial: all trials of the training part are %s",
                   success ? "successes" : "failures");
}

rp_status rp_exact_targets(const rp_model *model, const rp_dataset *data, rp_error *err)
{
    bool positive = false, unused = false;
    rp_status status;

    if (data->train_trials)
        return check_proportions(data, err);
    if (model->loss != RP_LOSS_POISSON && model->loss != RP_LOSS_GAMMA)
        return check_classes(data, err);
    status = check_targets(model, data->train_target, data->train_wide_weight, data->train_row, data->train_rows,
                           &positive, err);
    if (status == RP_OK)
        status = check_targets(model, data->valid_target, NULL, data->valid_row, data->valid_rows, &unused, err);
    if (status == RP_OK && !positive)
        return rp_fail(err, RP_EDATA, "train.family: poisson: all targets of the training part are 0");
    return status;
}

/* The least and greatest value of a feature in a class. */
typedef struct range {
    double low, high;
    bool any;
} range;

static void widen(range *r, double x)
{
    r->low = !r->any || x < r->low ? x : r->low;
    r->high = !r->any || x > r->high ? x : r->high;
    r->any = true;
}

/* Whether the values of one class are at or beyond all those of the others, and not all the same; ties: some are the
 * same. */
static bool separates(const rp_dataset *data, size_t feature, int64_t label, bool *ties)
{
    const size_t width = data->schema->features;
    range in = {0, 0, false}, out = {0, 0, false};

    for (size_t row = 0; row < data->train_rows; row++)
        if (counts(data->train_wide_weight, row))
            widen(data->train_label[row] == label ? &in : &out, data->train_wide[row * width + feature]);
    *ties = !(in.low > out.high || in.high < out.low);
    return in.any && out.any && (in.low >= out.high || in.high <= out.low) &&
           (in.low != in.high || out.low != out.high || in.low != out.low);
}

/* Whether the feature is only 0 or 1, and all targets where it is 1 are the extreme, 0 or of proportions also 1: the
 * estimate is infinite. */
static bool is_extreme_category(const rp_dataset *data, size_t feature, double extreme)
{
    const size_t width = data->schema->features;
    size_t rows = 0;

    for (size_t row = 0; row < data->train_rows; row++) {
        const double x = data->train_wide[row * width + feature];

        if (!counts(data->train_wide_weight, row))
            continue;
        if (x != 0 && (x != 1 || data->train_target[row] != extreme))
            return false;
        rows += x == 1;
    }
    return rows > 0;
}

/* lost: which unknown has no information left, from 1; 0: none. */
static rp_status not_converged(const rp_model *model, const rp_dataset *data, double iterations, size_t lost,
                               double estimate, rp_error *err)
{
    const size_t column = lost > 0 ? (lost - 1) % (data->schema->features + 1) : 0;
    const size_t offset = rp_schema_offset(data->schema);
    char text[192], class[64];
    bool ties;

    for (size_t i = 0; data->train_trials && i < data->schema->features; i++)
        for (int all = 0; all < 2; all++)
            if (i != offset && is_extreme_category(data, i, all))
                return rp_fail(err, RP_EDATA,
                               "the exact fit did not converge in %.0f iterations: all trials of %s are %s, so its "
                               "estimate is infinite; set train.l2 above 0, or the column to ignore under data.columns",
                               iterations, rp_feature_text(text, sizeof text, data->schema, i),
                               all ? "successes" : "failures");
    for (size_t i = 0; model->loss == RP_LOSS_POISSON && i < data->schema->features; i++)
        if (i != offset && is_extreme_category(data, i, 0))
            return rp_fail(
                err, RP_EDATA,
                "the exact fit did not converge in %.0f iterations: all targets of %s are 0, so its estimate is "
                "infinite; set train.l2 above 0, or the column to ignore under data.columns",
                iterations, rp_feature_text(text, sizeof text, data->schema, i));

    for (size_t i = 0; data->train_label && i < data->schema->features; i++)
        for (size_t k = 0; k < data->schema->classes; k++)
            if (i != offset && separates(data, i, (int64_t)k, &ties))
                return rp_fail(
                    err, RP_EDATA,
                    "the exact fit did not converge in %.0f iterations: %s alone tells class \"%s\" from the "
                    "rest%s, so its estimate is infinite; set train.l2 above 0, or the column to ignore under "
                    "data.columns",
                    iterations, rp_feature_text(text, sizeof text, data->schema, i),
                    rp_printable(class, sizeof class, data->schema->class_name[k], strlen(data->schema->class_name[k])),
                    ties ? " but for ties" : "");
    if (lost > 0 && column > 0)
        return rp_fail(err, RP_EDATA,
                       "the exact fit did not converge in %.0f iterations: %s has an estimate of %g and no information "
                       "left: it is infinite, or the column nearly a sum of multiples of others; set train.l2 above "
                       "%s, or the column to ignore under data.columns",
                       iterations, rp_feature_text(text, sizeof text, data->schema, column - 1), estimate,
                       model->recipe->train.l2 > 0 ? "what it is" : "0");
    if (data->train_trials)
        return rp_fail(err, RP_EDATA,
                       "the exact fit did not converge in %.0f iterations: columns together tell successes from "
                       "failures, so estimates are infinite, or numbers are too far apart; set train.l2 above %g",
                       iterations, model->recipe->train.l2);
    return rp_fail(
        err, RP_EDATA,
        "the exact fit did not converge in %.0f iterations%s; set train.l2 above %s, or train.solver: gradient",
        iterations,
        data->train_label ? ": columns together tell the classes apart, so estimates are infinite, or numbers are "
                            "too far apart"
                          : ": numbers are too far apart",
        data->train_label ? "0" : "what it is");
}

/* A column that takes no part from the first step on is 0. One that has an estimate and is left out by the last factor
 * has lost its information on the way: where classes are told apart, rows weigh less at every step. */
static rp_status find_lost(const rp_compiled *fit, size_t *lost, double *estimate, rp_error *err)
{
    rp_device_tensor tensor[2];
    rp_host_tensors host = {0};
    rp_status status;

    if (!rp_compiled_result(fit, "factor", &tensor[0]) || !rp_compiled_result(fit, "coefficients", &tensor[1]))
        return RP_OK;
    status = rp_host_tensors_map(&host, tensor, 2, err);
    if (status == RP_OK) {
        const double *factor = host.named[0].data, *beta = host.named[1].data;
        const size_t n = tensor[0].type.shape[0];

        for (size_t i = 0; i < n && *lost == 0; i++) {
            if (factor[i * n + i] - factor[i * n + i] == 0 || beta[i] == 0)
                continue;
            *lost = i + 1;
            *estimate = beta[i];
        }
    }
    rp_host_tensors_unmap(&host);
    return status;
}

rp_status rp_exact_converged(const rp_model *model, const rp_dataset *data, const rp_compiled *fit, rp_error *err)
{
    double decrement = 0, limit = 0, iterations = 0, estimate = 0;
    size_t lost = 0;
    rp_status status = rp_exact_number(fit, "decrement", &decrement, err);

    if (status == RP_OK)
        status = rp_exact_number(fit, "limit", &limit, err);
    if (status == RP_OK)
        status = rp_exact_number(fit, "iterations", &iterations, err);
    if (status == RP_OK)
        status = find_lost(fit, &lost, &estimate, err);
    if (status != RP_OK || (lost == 0 && decrement <= limit && limit - limit == 0)) /* an infinite one says nothing */
        return status;
    return not_converged(model, data, iterations, lost, estimate, err);
}
