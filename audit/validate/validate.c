/* SPDX-License-Identifier: Apache-2.0
 * Validation: figures of all rows with an outcome, by slice and by group, as one statement. */
#include <string.h>

#include "audit/validate/judged.h"
#include "audit/validate/seen.h"
#include "audit/validate/statement_text.h"
#include "base/handle.h"
#include "base/memory.h"
#include "determinism/decimal.h"
#include "determinism/fpenv.h"
#include "rp/validation.h"

typedef struct validation {
    rp_seen_rows seen;
    const rp_archive *archive;
    const rp_judged *judged;
    const rp_validation_options *options;
    rp_slice_names names;
    rp_slice_plan plan;
} validation;

/* ---- options ---- */

static rp_status want(void *self, rp_written *texts, rp_error *err)
{
    validation *v = self;

    return rp_slices_want(&v->plan, texts, &v->names, err);
}

static rp_status read_names(validation *v, rp_error *err)
{
    const rp_validation_options *o = v->options;

    v->names = (rp_slice_names){.by = o->by,
                                .groups = o->groups,
                                .n_by = o->n_by,
                                .n_groups = o->n_groups,
                                .favourable = o->favourable,
                                .threshold = 0.0 / 0.0};
    return rp_judged_threshold(&v->names.threshold, o->threshold, err);
}

static rp_json *texts(const char *const *text, size_t n)
{
    rp_json *list = rp_json_array();

    for (size_t i = 0; i < n; i++)
        if (rp_json_array_append_new(list, rp_json_string(text[i])) != 0) {
            rp_json_free(list);
            return NULL;
        }
    return list;
}

/* As they were given, but for the threshold, whose text is the shortest of its value. */
static rp_json *options_json(const validation *v)
{
    const rp_validation_options *o = v->options;
    char threshold[RP_DECIMAL_SIZE];

    if (o->threshold)
        (void)rp_print_f64(threshold, v->names.threshold);
    return rp_json_pack("{s:o, s:s?, s:o, s:s?, s:s?}", "by", texts(o->by, o->n_by), "favourable", o->favourable,
                        "groups", texts(o->groups, o->n_groups), "part", o->part, "threshold",
                        o->threshold ? threshold : NULL);
}

/* ---- the statement ---- */

static rp_status fill(rp_json *out, const validation *v, const void *csv, size_t size, rp_error *err)
{
    const rp_judged *j = v->judged;
    const rp_slice_rows rows = rp_judged_rows(j);
    rp_json *data = rp_text_digest(csv, size, err), *figures = NULL, *development = NULL;
    rp_status status = rp_judged_figures(&figures, j, v->names.threshold, err);
    int failed = rp_json_object_set_new(data, "rows", rp_json_integer((int64_t)j->rows));

    failed |= rp_json_object_set_new(data, "without_outcome", rp_json_integer((int64_t)(j->rows - j->outcomes)));
    failed |= rp_judged_put_rules(data, j, true);
    if (j->fold)
        failed |= rp_json_object_set_new(data, "without_score", rp_json_integer((int64_t)j->without_score));
    failed |= rp_seen_put_count(data, &v->seen);
    failed |= rp_json_object_set_new(out, "data", data);
    failed |= rp_json_object_set_new(out, "classes", rp_judged_classes(j));
    if (status == RP_OK)
        status = rp_judged_development(&development, j, v->archive, figures, err);
    failed |= status == RP_OK && rp_json_object_set_new(out, "development", development) != 0;
    failed |= rp_json_object_set_new(out, "figures", figures);
    failed |= rp_json_object_set_new(out, "options", options_json(v));
    failed |= rp_json_object_set_new(out, "contract", rp_json_integer(1));
    if (status == RP_OK && failed)
        status = rp_no_memory(err);
    return status == RP_OK ? rp_slices_put(out, &v->plan, &v->names, &rows, j->texts, err) : status;
}

static rp_status validate(rp_json **out, validation *v, const void *csv, size_t size, const char *where, rp_error *err)
{
    int64_t favourable;
    rp_status status = rp_slices_look(&favourable, v->judged->scoring->schema, &v->names, err);

    *out = NULL;
    if (status == RP_OK && v->judged->outcomes == 0)
        status = rp_fail(err, RP_EDATA,
                         "%s: expected rows with an outcome, found none: the target's column is not there or empty; "
                         "reprise monitor looks at rows without",
                         where);
    if (status != RP_OK)
        return status;
    *out = rp_json_object();
    status = *out ? fill(*out, v, csv, size, err) : rp_no_memory(err);
    if (status != RP_OK) {
        rp_json_free(*out);
        *out = NULL;
    }
    return status;
}

/* Everything between the rows' bytes and the predicate. */
static rp_status judge(rp_json **predicate, validation *v, const rp_archive *archive, const void *csv, size_t size,
                       const char *where, rp_judged_of of, const rp_job_options *job, rp_error *err)
{
    rp_judged *j = NULL;
    rp_fpenv saved;
    const rp_judged_table table = {.csv = csv, .size = size, .where = where ? where : "table", .of = of};
    rp_status status = rp_judged_new(&j, archive, &table, job, want, v, err);

    v->judged = j;
    if (status == RP_OK)
        status = rp_seen_count(&v->seen, archive, j, job ? job->parents : NULL, job ? job->n_parents : 0, err);
    if (status == RP_OK && (status = rp_fpenv_enter(&saved, NULL, err)) == RP_OK) {
        status = validate(predicate, v, csv, size, table.where, err);
        rp_fpenv_leave(&saved);
    }
    rp_judged_free(j);
    return status;
}

rp_status rp_validate(const rp_archive *archive, const void *csv, size_t size, const char *where,
                      const rp_validation_options *options, const rp_job_options *job, char **statement, size_t *length,
                      rp_error *err)
{
    static const rp_validation_options none = {.n_by = 0};
    validation v = {.archive = archive, .options = options ? options : &none};
    rp_buffer bytes = {0};
    rp_judged_of of = RP_JUDGED_GIVEN;
    rp_json *predicate = NULL;
    rp_status status;

    *statement = NULL;
    *length = 0;
    if (!archive)
        return rp_no_handle(err, __func__, "archive");
    status = read_names(&v, err);
    if (status == RP_OK)
        status = rp_judged_own(&bytes, &of, archive, v.options->part, &csv, &size, &where, err);
    if (status == RP_OK)
        status = judge(&predicate, &v, archive, csv, size, where, of, job, err);
    rp_buffer_free(&bytes);
    if (status == RP_OK)
        status = rp_validation_text(statement, length, rp_archive_id(archive), RP_VALIDATION_TYPE, predicate,
                                    "ask for fewer slices and groups (--by, --groups), or fewer parts of them", err);
    return status;
}
