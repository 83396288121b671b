/* SPDX-License-Identifier: Apache-2.0
 * What a finished training reports: metrics as canonical JSON, predictions as CSV. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "core/data/later/reference.h"
#include "core/data/schema.h"
#include "core/stats/ranking.h"
#include "core/stats/discrimination.h"
#include "core/train/coefficients.h"
#include "core/train/figures.h"
#include "core/train/metrics.h"
#include "core/train/train.h"
#include "determinism/bits.h"
#include "core/recipe/decimal_json.h"
#include "determinism/math.h"
#include "determinism/sum.h"

static int64_t decide(const rp_model *model, const double *score)
{
    return rp_decide(score, model->outputs, model->loss == RP_LOSS_BCE);
}

static int put_real(rp_json *object, const char *key, double value)
{
    return rp_json_object_set_new(object, key, rp_json_decimal(value));
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

static rp_status classification(rp_json *out, const rp_model *model, const double *score, const int64_t *label,
                                size_t rows, size_t classes, rp_error *err)
{
    int64_t *predicted = rp_malloc(rows * sizeof *predicted), *matrix = rp_calloc(classes * classes, sizeof *matrix);
    double *positive = rp_malloc(rows * sizeof *positive);
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
static rp_status regression(rp_json *out, const double *score, const double *target, size_t rows, rp_error *err)
{
    double *work = rp_malloc(rows * sizeof *work), mean, squares, absolute, total;
    int failed = 0;

    if (!work)
        return rp_no_memory(err);
    for (size_t i = 0; i < rows; i++)
        work[i] = target[i];
    mean = rp_sum_f64(work, rows, 1) / (double)rows;
    for (size_t i = 0; i < rows; i++)
        work[i] = (target[i] - mean) * (target[i] - mean);
    total = rp_sum_f64(work, rows, 1);
    for (size_t i = 0; i < rows; i++)
        work[i] = (score[i] - target[i]) * (score[i] - target[i]);
    squares = rp_sum_f64(work, rows, 1);
    for (size_t i = 0; i < rows; i++)
        work[i] = score[i] < target[i] ? target[i] - score[i] : score[i] - target[i];
    absolute = rp_sum_f64(work, rows, 1);
    rp_free(work);
    failed |= put_real(out, "mse", squares / (double)rows);
    failed |= put_real(out, "mae", absolute / (double)rows);
    failed |= put_real(out, "r2", 1.0 - squares / total);
    return failed ? rp_no_memory(err) : RP_OK;
}

/* ---- what later figures are held against ---- */

enum { SCORES_KEPT = 64 }; /* of more classes no scores are kept */

/* Youden's threshold on the training rows; their scores are what the model was fitted to, so no later row chose it. */
static rp_status find_threshold(double *out, const double *score, const int64_t *label, size_t rows, rp_error *err)
{
    bool *positive = rp_reallocarray(NULL, rows, sizeof *positive);
    rp_ranking *ranking = NULL;
    rp_status status = positive ? RP_OK : rp_no_memory(err);

    for (size_t i = 0; i < rows && status == RP_OK; i++)
        positive[i] = label[i] == 1;
    if (status == RP_OK)
        status = rp_ranking_new(&ranking, score, positive, rows, err);
    if (status == RP_OK)
        *out = rp_youden(ranking);
    rp_ranking_free(ranking);
    rp_free(positive);
    return status;
}

static rp_json *scores_reference(const double *score, size_t rows, size_t outputs)
{
    double *real = rp_reallocarray(NULL, rows, sizeof *real);
    rp_json *list = rp_json_array();
    int failed = !real || !list;

    for (size_t k = 0; k < outputs && outputs <= SCORES_KEPT && !failed; k++) {
        for (size_t i = 0; i < rows; i++)
            real[i] = score[i * outputs + k];
        failed |= rp_json_array_append_new(list, rp_reference_numbers(real, rows));
    }
    rp_free(real);
    if (!failed)
        return list;
    rp_json_free(list);
    return NULL;
}

static rp_json *class_counts(const int64_t *label, size_t rows, size_t classes)
{
    rp_json *list = rp_json_array();
    int64_t *count = rp_calloc(classes, sizeof *count);

    for (size_t i = 0; i < rows && count; i++)
        count[label[i]]++;
    for (size_t k = 0; k < classes && count; k++)
        (void)rp_json_array_append_new(list, rp_json_integer(count[k]));
    rp_free(count);
    if (rp_json_array_size(list) == classes)
        return list;
    rp_json_free(list);
    return NULL;
}

/* What the trivial model is beside an offset: one rate, or what targets are above it on average. */
static rp_status put_beside_offset(rp_json *out, const rp_trainer *t, double mean, rp_error *err)
{
    const rp_dataset *d = rp_trainer_dataset(t);
    const bool log_link = rp_trainer_model(t)->loss != RP_LOSS_MSE;
    const double n = (double)d->train_rows;
    double *offset;
    rp_status status = RP_OK;

    if (rp_trainer_model(t)->loss == RP_LOSS_BCE) /* of proportions it is their mean */
        return RP_OK;
    status = rp_dataset_offsets(&offset, d, false, err);
    if (status != RP_OK || !offset)
        return status;
    for (size_t i = 0; i < d->train_rows; i++)
        offset[i] = log_link ? rp_exp_f64(offset[i]) : offset[i];
    mean = log_link ? mean * n / rp_sum_f64(offset, d->train_rows, 1) : mean - rp_sum_f64(offset, d->train_rows, 1) / n;
    rp_free(offset);
    return rp_put_figure(out, log_link ? "rate" : "above_offset", mean) ? rp_no_memory(err) : RP_OK;
}

static rp_status reference(rp_json *out, const rp_trainer *t, const double *score, rp_error *err)
{
    const rp_dataset *d = rp_trainer_dataset(t);
    const size_t classes = d->schema->classes, outputs = rp_trainer_model(t)->outputs;
    double value = rp_from_bits_f64(0x7FF8000000000000u);
    rp_status status = RP_OK;
    int failed = rp_json_object_set_new(out, "columns", rp_json_share(d->reference));

    if (classes == 2)
        status = find_threshold(&value, score + (outputs - 1), d->train_label, d->train_rows, err);
    else if (classes == 0)
        value = rp_sum_f64(d->train_target, d->train_rows, 1) / (double)d->train_rows;
    if (status != RP_OK)
        return status;
    failed |= rp_put_figure(out, classes ? "threshold" : "mean", value);
    if (classes)
        failed |= rp_json_object_set_new(out, "classes", class_counts(d->train_label, d->train_rows, classes));
    if (!classes && rp_schema_offset(d->schema) != SIZE_MAX)
        status = put_beside_offset(out, t, value, err);
    failed |= rp_json_object_set_new(out, "rows", rp_json_integer((int64_t)d->train_rows));
    failed |= rp_json_object_set_new(out, "scores", scores_reference(score, d->train_rows, outputs));
    return status == RP_OK && failed ? rp_no_memory(err) : status;
}

rp_status rp_trainer_reference(const rp_trainer *t, rp_json **out, rp_error *err)
{
    rp_json *json = rp_json_object();
    float loss;
    double *score = NULL;
    rp_status status = rp_trainer_scores(t, false, &loss, &score, err);

    *out = NULL;
    if (status == RP_OK)
        status = json ? reference(json, t, score, err) : rp_no_memory(err);
    rp_free(score);
    if (status != RP_OK)
        rp_json_free(json);
    else
        *out = json;
    return status;
}

/* ---- metrics ---- */

static rp_status figures(rp_json *out, const rp_trainer *t, const rp_yardstick *yardstick, const double *score,
                         bool validation, rp_error *err)
{
    const rp_dataset *d = rp_trainer_dataset(t);
    rp_scored_rows rows = {.rows = validation ? d->valid_rows : d->train_rows,
                           .classes = d->schema->classes,
                           .outputs = rp_trainer_model(t)->outputs,
                           .score = score,
                           .label = validation ? d->valid_label : d->train_label,
                           .target = validation ? d->valid_target : d->train_target};
    const rp_figure_options options = {.fitted = !validation, .threshold = rp_from_bits_f64(0x7FF8000000000000u)};
    rp_json *json;
    double *offset;
    rp_status status = rp_dataset_offsets(&offset, d, validation, err);

    rows.offset = offset;
    if (status == RP_OK)
        status = rp_figures(&json, &rows, yardstick, &options, err);
    rp_free(offset);
    if (status == RP_OK && rp_json_object_set_new(out, "figures", json) != 0)
        status = rp_no_memory(err);
    return status;
}

/* Loss and rows, and what a model of this task is asked first. */
static rp_status basic(rp_json *out, const rp_trainer *t, bool validation, const double *score, float loss,
                       rp_error *err)
{
    const rp_dataset *d = rp_trainer_dataset(t);
    const size_t rows = validation ? d->valid_rows : d->train_rows;

    if (!out || put_real(out, "loss", (double)loss) ||
        rp_json_object_set_new(out, "rows", rp_json_integer((int64_t)rows)))
        return rp_no_memory(err);
    if (d->schema->classes)
        return classification(out, rp_trainer_model(t), score, validation ? d->valid_label : d->train_label, rows,
                              d->schema->classes, err);
    return regression(out, score, validation ? d->valid_target : d->train_target, rows, err);
}

rp_status rp_trainer_brief(const rp_trainer *t, rp_json **out, rp_error *err)
{
    rp_json *json = rp_json_object();
    float loss;
    double *score;
    rp_status status = rp_trainer_scores(t, true, &loss, &score, err);

    *out = NULL;
    if (status == RP_OK)
        status = basic(json, t, true, score, loss, err);
    rp_free(score);
    if (status != RP_OK) {
        rp_json_free(json);
        return status;
    }
    (void)rp_json_object_del(json, "confusion");
    *out = json;
    return RP_OK;
}

static rp_status part(rp_json *out, const char *key, const rp_trainer *t, const rp_yardstick *yardstick,
                      bool validation, rp_error *err)
{
    rp_json *json = rp_json_object();
    float loss;
    double *score;
    rp_status status = rp_trainer_scores(t, validation, &loss, &score, err);

    if (status == RP_OK)
        status = basic(json, t, validation, score, loss, err);
    if (status == RP_OK && validation == (rp_trainer_dataset(t)->valid_rows > 0))
        status = figures(json, t, yardstick, score, validation, err);
    rp_free(score);
    if (status == RP_OK && rp_json_object_set(out, key, json) != 0)
        status = rp_no_memory(err);
    rp_json_free(json);
    return status;
}

static int copy_of(rp_json *to, const char *key, const rp_json *from)
{
    return rp_json_object_set_new(to, key, rp_json_share(rp_json_object_get(from, key)));
}

static bool is_left_out(const rp_json *term)
{
    return strcmp(rp_json_string_value(rp_json_object_get(term, "standing")), "left_out") == 0;
}

/* Weights of evidence grow with the positive class's share: beside the other columns the fit turns them round. */
static bool is_opposed(const rp_json *term)
{
    const char *coefficient = rp_json_string_value(rp_json_object_get(term, "encoded"));

    return rp_json_object_get(term, "woe") && !rp_json_object_get(term, "times") && coefficient != NULL &&
           coefficient[0] == '-' && strcmp(coefficient, "-0") != 0;
}

/* Terms without their numbers, those of that kind; no key where it is optional and there is none. */
static int put_terms(rp_json *fit, const char *key, bool optional, const rp_json *table,
                     bool (*is)(const rp_json *term))
{
    static const char *const keys[] = {"column", "category", "other", "bin", "indicator", "woe", "times"};
    const rp_json *outputs = rp_json_object_get(table, "outputs");
    rp_json *list = rp_json_array();
    int failed = list == NULL;

    for (size_t k = 0; k < rp_json_array_size(outputs) && !failed; k++) {
        const rp_json *terms = rp_json_object_get(rp_json_array_get(outputs, k), "terms");

        for (size_t j = 0; j < rp_json_array_size(terms) && !failed; j++) {
            const rp_json *term = rp_json_array_get(terms, j);
            rp_json *name;

            if (!is(term))
                continue;
            name = rp_json_object();
            failed |= rp_json_array_append_new(list, name);
            for (size_t i = 0; i < sizeof keys / sizeof *keys && !failed; i++)
                if (rp_json_object_get(term, keys[i]))
                    failed |= copy_of(name, keys[i], term);
        }
    }
    if (optional && rp_json_array_size(list) == 0) {
        rp_json_free(list);
        return failed;
    }
    return failed | rp_json_object_set_new(fit, key, list);
}

/* What everybody is told of an exact fit. */
static rp_status put_fit(rp_json *out, const rp_trainer *t, rp_error *err)
{
    static const char *const keys[] = {"family", "iterations", "sweeps", "estimated", "l1", "l2", "weights"};
    rp_json *table, *fit;
    rp_status status = rp_trainer_coefficients(t, &table, err);
    int failed;

    if (status != RP_OK || !table)
        return status;
    fit = rp_json_object();
    failed = rp_json_object_set_new(out, "fit", fit);
    for (size_t i = 0; i < sizeof keys / sizeof *keys && !failed; i++)
        if (rp_json_object_get(table, keys[i]))
            failed |= copy_of(fit, keys[i], table);
    if (!failed)
        failed |= put_terms(fit, "left_out", false, table, is_left_out);
    if (!failed)
        failed |= put_terms(fit, "opposed", true, table, is_opposed);
    rp_json_free(table);
    return failed ? rp_no_memory(err) : RP_OK;
}

rp_status rp_trainer_metrics(const rp_trainer *t, const rp_json *reference, rp_json **out, rp_error *err)
{
    const rp_schema *schema = rp_trainer_dataset(t)->schema;
    rp_json *json = rp_json_object(), *classes = rp_json_array();
    rp_yardstick *yardstick = NULL;
    rp_status status = json && classes ? RP_OK : rp_no_memory(err);

    *out = NULL;
    if (status == RP_OK)
        status = rp_yardstick_read(&yardstick, reference, schema->classes, err);
    for (size_t i = 0; i < schema->classes && status == RP_OK; i++)
        if (rp_json_array_append_new(classes, rp_json_string(schema->class_name[i])) != 0)
            status = rp_no_memory(err);
    if (status == RP_OK && schema->classes && rp_json_object_set(json, "classes", classes) != 0)
        status = rp_no_memory(err);
    rp_json_free(classes);
    if (status == RP_OK)
        status = put_fit(json, t, err);
    if (status == RP_OK)
        status = part(json, "training", t, yardstick, false, err);
    if (status == RP_OK && rp_trainer_dataset(t)->valid_rows)
        status = part(json, "validation", t, yardstick, true, err);
    rp_free(yardstick);
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

void rp_predictions_cell(rp_buffer *out, const char *text)
{
    put_prefixed(out, "", text);
}

/* In the model's format, which is that of the target too. */
static void put_number(rp_buffer *out, const rp_model *model, double value)
{
    char text[RP_DECIMAL_SIZE];

    (void)(model->dtype == RP_F64 ? rp_print_f64(text, value) : rp_print_f32(text, (float)value));
    rp_predictions_cell(out, text);
}

static rp_status put_beside(const rp_predictions_beside *beside, rp_buffer *out, int64_t row, bool at_end,
                            rp_error *err)
{
    return beside ? beside->put(beside->self, out, row, at_end, err) : RP_OK;
}

static void put_names(rp_buffer *out, const rp_model *model, const rp_schema *schema, bool truth)
{
    rp_buffer_text(out, truth ? ",truth,predicted" : ",predicted");
    for (size_t i = 0; i < schema->classes; i++) {
        if (model->loss == RP_LOSS_BCE && i == 0)
            continue;
        put_prefixed(out, "p_", schema->class_name[i]);
    }
}

typedef struct prediction {
    const double *score;
    const int64_t *truth; /* NULL: not known */
    const double *target;
} prediction;

static void put_prediction(rp_buffer *out, const rp_model *model, const rp_schema *schema, const prediction *p)
{
    if (schema->classes == 0) {
        if (p->target)
            put_number(out, model, *p->target);
        put_number(out, model, p->score[0]);
        return;
    }
    if (p->truth)
        rp_predictions_cell(out, schema->class_name[*p->truth]);
    rp_predictions_cell(out, schema->class_name[decide(model, p->score)]);
    for (size_t k = 0; k < model->outputs; k++)
        put_number(out, model, p->score[k]);
}

static rp_status put_head(rp_buffer *out, const rp_predicted_rows *p, rp_error *err)
{
    rp_status status;

    rp_buffer_text(out, "row");
    status = put_beside(p->beside, out, RP_HEADER, false, err);
    put_names(out, p->model, p->schema, p->truth || p->target);
    if (status == RP_OK)
        status = put_beside(p->beside, out, RP_HEADER, true, err);
    rp_buffer_u8(out, '\n');
    return status;
}

static rp_status put_rows(rp_buffer *out, const rp_predicted_rows *p, size_t begin, size_t end, rp_error *err)
{
    rp_status status = RP_OK;

    for (size_t i = begin; i < end && status == RP_OK; i++) {
        const prediction one = {p->scores + i * p->model->outputs, p->truth ? &p->truth[i] : NULL,
                                p->target ? &p->target[i] : NULL};

        rp_buffer_printf(out, "%lld", (long long)(p->row ? p->row[i] : (int64_t)i));
        status = put_beside(p->beside, out, (int64_t)i, false, err);
        put_prediction(out, p->model, p->schema, &one);
        if (status == RP_OK)
            status = put_beside(p->beside, out, (int64_t)i, true, err);
        rp_buffer_u8(out, '\n');
    }
    return status == RP_OK ? rp_buffer_status(out, err) : status;
}

rp_status rp_predictions_write(rp_buffer *out, const rp_predicted_rows *rows, rp_error *err)
{
    rp_status status = put_head(out, rows, err);

    return status == RP_OK ? put_rows(out, rows, 0, rows->rows, err) : status;
}

rp_status rp_trainer_predictions(const rp_trainer *t, rp_buffer *out, const rp_text_drain *drain, rp_error *err)
{
    enum { PIECE = 1024 };
    const rp_dataset *d = rp_trainer_dataset(t);
    const bool validation = d->valid_rows > 0;
    const size_t rows = validation ? d->valid_rows : d->train_rows;
    rp_predicted_rows p = {.model = rp_trainer_model(t), .schema = d->schema, .rows = rows};
    float loss;
    double *score;
    rp_status status = rp_trainer_scores(t, validation, &loss, &score, err);

    if (status != RP_OK)
        return status;
    p.scores = score;
    p.row = validation ? d->valid_row : d->train_row;
    p.truth = validation ? d->valid_label : d->train_label;
    if (d->schema->classes == 0)
        p.target = validation ? d->valid_target : d->train_target;
    status = put_head(out, &p, err);
    for (size_t at = 0; at < rows && status == RP_OK; at += PIECE) {
        status = put_rows(out, &p, at, rows - at < PIECE ? rows : at + PIECE, err);
        if (status == RP_OK && drain)
            status = drain->take(drain->self, out, err);
    }
    rp_free(score);
    return status == RP_OK ? rp_buffer_status(out, err) : status;
}
