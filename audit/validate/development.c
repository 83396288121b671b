/* SPDX-License-Identifier: Apache-2.0
 * The area under the ROC curve of the rows that the run itself was judged by, beside that of later ones (CONTRACT
 * 14.8): those of its validation part; with all folds each row by the trial that did not train on it; else, and so
 * named, those of its training part. */
#include <string.h>

#include "audit/archive/archive_private.h"
#include "audit/validate/judged.h"
#include "audit/validate/out_of_fold.h"
#include "base/memory.h"
#include "core/stats/discrimination.h"
#include "core/stats/distributions.h"
#include "determinism/decimal.h"

typedef struct area {
    const char *part; /* NULL: there is none */
    double auc, error;
    int64_t rows, without; /* without: rows that trained the model and have no score out of fold; -1: not of folds */
} area;

static bool real_at(const rp_json *discrimination, const char *key, double *out)
{
    const char *text = rp_json_string_value(rp_json_object_get(discrimination, key));

    return text && rp_parse_f64(out, text, strlen(text)) && *out - *out == 0;
}

static bool area_at(const rp_json *figures, area *out)
{
    const rp_json *d = rp_json_object_get(figures, "discrimination");

    return real_at(d, "auc", &out->auc) && real_at(d, "auc_error", &out->error);
}

static int64_t rows_of(const rp_json *part)
{
    return rp_json_integer_value(rp_json_object_get(part, "rows"));
}

/* What a part's own figures say of it. */
static void take_part(area *out, const char *name, const rp_json *part)
{
    if (area_at(rp_json_object_get(part, "figures"), out))
        *out = (area){name, out->auc, out->error, rows_of(part), -1};
}

static rp_status out_of_fold(area *out, const rp_judged *j, const rp_archive *archive, rp_error *err)
{
    const size_t outputs = j->scoring->model.outputs;
    const int64_t trained = rows_of(rp_json_object_get(j->metrics, "training"));
    rp_out_of_fold kept;
    rp_ranking *ranking = NULL;
    rp_discrimination d;
    rp_status status =
        rp_out_of_fold_read(&kept, archive, j->scoring->schema, outputs, j->scoring->recipe->train.exact, err);

    if (status == RP_OK && trained <= 0) /* without it nothing would tell of lines that were cut out */
        status =
            rp_fail(err, RP_EFORMAT, RP_METRICS_MEMBER ": training.rows: expected how many rows trained the model");
    if (status == RP_OK)
        status = rp_out_of_fold_whole(&kept, j->scoring->recipe, (size_t)trained, err);
    for (size_t i = 0; i < kept.rows; i++) /* that of the positive class, which is the last */
        kept.score[i] = kept.score[i * outputs + outputs - 1];
    if (status == RP_OK)
        status = rp_ranking_new(&ranking, kept.score, kept.last, kept.rows, err);
    if (status == RP_OK) {
        rp_discriminate(&d, ranking);
        if (d.auc - d.auc == 0 && d.error - d.error == 0)
            *out = (area){"folds", d.auc, d.error, (int64_t)kept.rows, trained - (int64_t)kept.rows};
    }
    rp_ranking_free(ranking);
    rp_out_of_fold_clear(&kept);
    return status == RP_EDATA ? rp_fail_at(err, RP_EFORMAT, RP_OUT_OF_FOLD_MEMBER) : status;
}

/* What trained the model flatters it, and stands for nothing else where there is something else. */
static rp_status run_area(area *out, const rp_judged *j, const rp_archive *archive, rp_error *err)
{
    const rp_json *validation = rp_json_object_get(j->metrics, "validation");
    const rp_json *training = rp_json_object_get(j->metrics, "training");

    *out = (area){.part = NULL};
    if (j->scoring->schema->classes != 2 || j->fold)
        return RP_OK;
    if (validation) {
        take_part(out, "validation", validation);
        return RP_OK;
    }
    if (j->scoring->recipe->data.fold == RP_ALL_FOLDS)
        return rp_archive_find(archive, RP_OUT_OF_FOLD_MEMBER) ? out_of_fold(out, j, archive, err) : RP_OK;
    take_part(out, "training", training);
    return RP_OK;
}

rp_status rp_judged_development(rp_json **out, const rp_judged *j, const rp_archive *archive, const rp_json *figures,
                                rp_error *err)
{
    area was, now;
    rp_status status = run_area(&was, j, archive, err);
    double statistic;

    *out = NULL;
    if (status != RP_OK)
        return status;
    if (!was.part || !area_at(figures, &now) || now.error == 0) {
        *out = rp_json_null();
        return RP_OK;
    }
    statistic = (was.auc - now.auc) / now.error;
    *out = rp_json_object();
    if ((rp_put_figure(*out, "auc", was.auc) | rp_put_figure(*out, "auc_error", was.error) |
         rp_put_figure(*out, "statistic", statistic) | rp_put_figure(*out, "p", rp_normal_upper(statistic)) |
         rp_json_object_set_new(*out, "part", rp_json_string(was.part)) |
         rp_json_object_set_new(*out, "rows", rp_json_integer(was.rows)) |
         (was.without >= 0 ? rp_json_object_set_new(*out, "without_score", rp_json_integer(was.without)) : 0)) == 0)
        return RP_OK;
    rp_json_free(*out);
    *out = NULL;
    return rp_no_memory(err);
}
