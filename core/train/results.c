/* SPDX-License-Identifier: Apache-2.0
 * What a finished training reports: metrics as canonical JSON, predictions as CSV. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "core/train/metrics.h"
#include "core/train/train.h"
#include "determinism/decimal.h"
#include "determinism/sum.h"

/* The predicted class: the first largest score; for one probability, the positive class from 0.5 up. */
static int64_t decide(const rp_model *model, const float *score)
{
    int64_t best = 0;

    if (model->loss == RP_LOSS_BCE)
        return score[0] >= 0.5f;
    for (size_t i = 1; i < model->outputs; i++)
        if (score[i] > score[best])
            best = (int64_t)i;
    return best;
}

static int put_real(rp_json *object, const char *key, double value)
{
    char text[RP_DECIMAL_SIZE];

    (void)rp_print_f64(text, value);
    return rp_json_object_set_new(object, key, rp_json_string(text));
}

static rp_json *confusion_json(const int64_t *matrix, size_t classes)
{
    rp_json *rows = rp_json_array();

    for (size_t i = 0; i < classes; i++) {
        rp_json *row = rp_json_array();

        for (size_t j = 0; j < classes; j++)
            if (rp_json_array_append_new(row, rp_json_integer(matrix[i * classes + j])) != 0) {
                rp_json_free(row);
                rp_json_free(rows);
                return NULL;
            }
        if (rp_json_array_append_new(rows, row) != 0) {
            rp_json_free(rows);
            return NULL;
        }
    }
    return rows;
}

static rp_status classification(rp_json *out, const rp_model *model, const float *score, const int64_t *label,
                                size_t rows, size_t classes, rp_error *err)
{
    int64_t *predicted = rp_malloc(rows * sizeof *predicted), *matrix = rp_calloc(classes * classes, sizeof *matrix);
    float *positive = rp_malloc(rows * sizeof *positive);
    rp_status status = predicted && matrix && positive ? RP_OK : rp_no_memory(err);
    int failed = 0;

    if (status == RP_OK) {
        for (size_t i = 0; i < rows; i++) {
            predicted[i] = decide(model, score + i * model->outputs);
            positive[i] = score[(i + 1) * model->outputs - 1];
        }
        rp_metric_confusion(matrix, label, predicted, rows, classes);
        failed |= put_real(out, "accuracy", rp_metric_accuracy(label, predicted, rows));
        failed |= rp_json_object_set_new(out, "confusion", confusion_json(matrix, classes));
    }
    if (status == RP_OK && classes == 2) {
        double auc;

        status = rp_metric_auc(&auc, positive, label, rows, err);
        if (status == RP_OK)
            failed |= put_real(out, "auc", auc);
    }
    rp_free(predicted);
    rp_free(matrix);
    rp_free(positive);
    return status == RP_OK && failed ? rp_no_memory(err) : status;
}

/* Mean squared and absolute error and R squared, in binary64 by CONTRACT 4's sums. */
static rp_status regression(rp_json *out, const float *score, const float *target, size_t rows, rp_error *err)
{
    double *work = rp_malloc(rows * sizeof *work), mean, squares, absolute, total;
    int failed = 0;

    if (!work)
        return rp_no_memory(err);
    for (size_t i = 0; i < rows; i++)
        work[i] = (double)target[i];
    mean = rp_sum_f64(work, rows, 1) / (double)rows;
    for (size_t i = 0; i < rows; i++)
        work[i] = ((double)target[i] - mean) * ((double)target[i] - mean);
    total = rp_sum_f64(work, rows, 1);
    for (size_t i = 0; i < rows; i++)
        work[i] = ((double)score[i] - (double)target[i]) * ((double)score[i] - (double)target[i]);
    squares = rp_sum_f64(work, rows, 1);
    for (size_t i = 0; i < rows; i++)
        work[i] = score[i] < target[i] ? (double)target[i] - (double)score[i] : (double)score[i] - (double)target[i];
    absolute = rp_sum_f64(work, rows, 1);
    rp_free(work);
    failed |= put_real(out, "mse", squares / (double)rows);
    failed |= put_real(out, "mae", absolute / (double)rows);
    failed |= put_real(out, "r2", 1.0 - squares / total);
    return failed ? rp_no_memory(err) : RP_OK;
}

static rp_status part(rp_json *out, const char *key, const rp_trainer *t, bool validation, rp_error *err)
{
    const rp_dataset *d = rp_trainer_dataset(t);
    size_t rows = validation ? d->valid_rows : d->train_rows;
    const int64_t *label = validation ? d->valid_label : d->train_label;
    const float *target = validation ? d->valid_target : d->train_target;
    rp_json *json = rp_json_object();
    float loss, *score;
    rp_status status = rp_trainer_scores(t, validation, &loss, &score, err);

    if (status != RP_OK) {
        rp_json_free(json);
        return status;
    }
    if (!json || put_real(json, "loss", (double)loss) ||
        rp_json_object_set_new(json, "rows", rp_json_integer((int64_t)rows)))
        status = rp_no_memory(err);
    else if (d->schema->classes)
        status = classification(json, rp_trainer_model(t), score, label, rows, d->schema->classes, err);
    else
        status = regression(json, score, target, rows, err);
    rp_free(score);
    if (status == RP_OK && rp_json_object_set(out, key, json) != 0)
        status = rp_no_memory(err);
    rp_json_free(json);
    return status;
}

rp_status rp_trainer_metrics(const rp_trainer *t, rp_json **out, rp_error *err)
{
    const rp_schema *schema = rp_trainer_dataset(t)->schema;
    rp_json *json = rp_json_object(), *classes = rp_json_array();
    rp_status status = json && classes ? RP_OK : rp_no_memory(err);

    *out = NULL;
    for (size_t i = 0; i < schema->classes && status == RP_OK; i++)
        if (rp_json_array_append_new(classes, rp_json_string(schema->class_name[i])) != 0)
            status = rp_no_memory(err);
    if (status == RP_OK && schema->classes && rp_json_object_set(json, "classes", classes) != 0)
        status = rp_no_memory(err);
    rp_json_free(classes);
    if (status == RP_OK)
        status = part(json, "training", t, false, err);
    if (status == RP_OK && rp_trainer_dataset(t)->valid_rows)
        status = part(json, "validation", t, true, err);
    if (status != RP_OK)
        rp_json_free(json);
    else
        *out = json;
    return status;
}

static void put_prefixed(rp_buffer *out, const char *prefix, const char *text)
{
    bool quote = strpbrk(text, ",\"\r\n") != NULL;

    rp_buffer_u8(out, ',');
    if (quote)
        rp_buffer_u8(out, '"');
    rp_buffer_text(out, prefix);
    for (; *text; text++) {
        if (*text == '"')
            rp_buffer_u8(out, '"');
        rp_buffer_u8(out, (uint8_t)*text);
    }
    if (quote)
        rp_buffer_u8(out, '"');
}

static void put_cell(rp_buffer *out, const char *text)
{
    put_prefixed(out, "", text);
}

static void put_number(rp_buffer *out, float value)
{
    char text[RP_DECIMAL_SIZE];

    (void)rp_print_f32(text, value);
    put_cell(out, text);
}

static void put_header(rp_buffer *out, const rp_model *model, const rp_schema *schema, bool truth)
{
    rp_buffer_text(out, truth ? "row,truth,predicted" : "row,predicted");
    for (size_t i = 0; i < schema->classes; i++) {
        if (model->loss == RP_LOSS_BCE && i == 0)
            continue;
        put_prefixed(out, "p_", schema->class_name[i]);
    }
    rp_buffer_u8(out, '\n');
}

rp_status rp_predictions_write(rp_buffer *out, const rp_model *model, const rp_schema *schema, const float *scores,
                               size_t rows, const int64_t *row, const int64_t *truth, const float *target,
                               rp_error *err)
{
    put_header(out, model, schema, truth || target);
    for (size_t i = 0; i < rows; i++) {
        const float *score = scores + i * model->outputs;

        rp_buffer_printf(out, "%lld", (long long)(row ? row[i] : (int64_t)i));
        if (schema->classes == 0) {
            if (target)
                put_number(out, target[i]);
            put_number(out, score[0]);
        } else {
            if (truth)
                put_cell(out, schema->class_name[truth[i]]);
            put_cell(out, schema->class_name[decide(model, score)]);
            for (size_t k = 0; k < model->outputs; k++)
                put_number(out, score[k]);
        }
        rp_buffer_u8(out, '\n');
    }
    return rp_buffer_status(out, err);
}

rp_status rp_trainer_predictions(const rp_trainer *t, rp_buffer *out, rp_error *err)
{
    const rp_dataset *d = rp_trainer_dataset(t);
    bool validation = d->valid_rows > 0;
    float loss, *score;
    rp_status status = rp_trainer_scores(t, validation, &loss, &score, err);

    if (status != RP_OK)
        return status;
    status =
        rp_predictions_write(out, rp_trainer_model(t), d->schema, score, validation ? d->valid_rows : d->train_rows,
                             validation ? d->valid_row : d->train_row, validation ? d->valid_label : d->train_label,
                             d->schema->classes ? NULL
                             : validation       ? d->valid_target
                                                : d->train_target,
                             err);
    rp_free(score);
    return status;
}
