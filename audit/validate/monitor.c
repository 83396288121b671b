/* SPDX-License-Identifier: Apache-2.0
 * Monitoring: new rows against the training rows, one period after another, each statement naming the one before. */
#include <string.h>

#include "audit/sign/signed_json.h"
#include "audit/statements/statement.h"
#include "audit/validate/drift.h"
#include "audit/validate/seen.h"
#include "audit/validate/statement_text.h"
#include "base/handle.h"
#include "base/memory.h"
#include "base/text.h"
#include "determinism/fpenv.h"
#include "rp/validation.h"

enum { PERIOD_LINE = 129 };

/* Two periods that follow each other have two names: else the second might be the first, made again. */
static rp_status check_name(const char *period, const rp_json *before, rp_error *err)
{
    const char *name = rp_json_string_value(rp_json_object_get(before, "period"));
    char quoted[64];

    if (!period || !name || strcmp(period, name) != 0)
        return RP_OK;
    return rp_fail(err, RP_EARG, "period: \"%s\" is what the previous statement calls its own: give another name",
                   rp_printable(quoted, sizeof quoted, name, strlen(name)));
}

/* {"number", "previous"}: 1 and null, or one more than the statement before and its digest. */
static rp_status chain(rp_json *out, const rp_archive *archive, const char *period, const void *previous, size_t size,
                       rp_error *err)
{
    const char *where = "the previous statement", *type, *id;
    rp_json *json = NULL, *digest = NULL;
    char *payload = NULL;
    size_t length = 0;
    int64_t number = 0;
    rp_status status = previous ? rp_validation_parse(&json, &type, &id, previous, size, where, NULL, 0, err) : RP_OK;

    if (status == RP_OK && previous && strcmp(type, RP_MONITORING_TYPE) != 0)
        status = rp_fail(err, RP_EFORMAT, "%s: expected one of monitoring, found %.100s", where, type);
    if (status == RP_OK && previous && strcmp(id, rp_archive_id(archive)) != 0)
        status = rp_fail(err, RP_EHASH, "%s is about archive %.64s, this is %s", where, id, rp_archive_id(archive));
    if (status == RP_OK && previous)
        status = check_name(period, rp_json_object_get(json, "predicate"), err);
    if (status == RP_OK && previous) {
        number = rp_json_integer_value(rp_json_object_get(rp_json_object_get(json, "predicate"), "number"));
        status = rp_validation_open(previous, size, where, NULL, 0, &payload, &length, err);
        if (status == RP_OK && (number < 1 || number >= RP_PERIODS_MAX))
            status = rp_fail(err, RP_ESIGN, "%s: number: expected 1 to %d, of a chain that can go on", where,
                             RP_PERIODS_MAX - 1);
        if (status == RP_OK && (digest = rp_text_digest(payload, length, err)) == NULL)
            status = rp_no_memory(err);
    }
    if (status == RP_OK && (rp_json_object_set_new(out, "number", rp_json_integer(number + 1)) != 0 ||
                            rp_json_object_set(out, "previous", digest ? digest : rp_json_null()) != 0))
        status = rp_no_memory(err);
    rp_text_free(payload);
    rp_json_free(digest);
    rp_json_free(json);
    return status;
}

static rp_status describe(rp_json *out, const rp_judged *j, const rp_training *t, const rp_archive *archive,
                          const char *period, const rp_judged_table *table, rp_error *err)
{
    rp_seen_rows seen;
    rp_status status = rp_seen_own(&seen, archive, j, err);
    rp_json *data = status == RP_OK ? rp_text_digest(table->csv, table->size, err) : NULL;
    int failed;

    if (!data)
        return status == RP_OK ? rp_no_memory(err) : status;
    failed = rp_json_object_set_new(data, "rows", rp_json_integer((int64_t)j->rows));
    failed |= rp_seen_put(data, &seen, "own");
    failed |= rp_json_object_set_new(data, "without_outcome", rp_json_integer((int64_t)(j->rows - j->outcomes)));
    failed |= rp_judged_put_rules(data, j, false);
    failed |= rp_json_object_set_new(out, "data", data);
    failed |= rp_json_object_set_new(out, "classes", rp_judged_classes(j));
    failed |= rp_json_object_set_new(out, "period", period ? rp_json_string(period) : rp_json_null());
    failed |= rp_json_object_set_new(out, "samples", rp_json_boolean(t->scoring != NULL));
    failed |= rp_json_object_set_new(out, "contract", rp_json_integer(1));
    return failed ? rp_no_memory(err) : RP_OK;
}

static rp_status compare(rp_json *out, const rp_archive *archive, const rp_judged *j, const rp_training *t,
                         rp_error *err)
{
    rp_json *scores = NULL, *columns = NULL, *figures = NULL, *development = NULL;
    rp_status status = rp_drift_of_scores(&scores, j, t, err);

    if (status == RP_OK)
        status = rp_drift_of_columns(&columns, j, t, err);
    if (status == RP_OK)
        status = rp_judged_figures(&figures, j, 0.0 / 0.0, err);
    if (status == RP_OK)
        status = rp_judged_development(&development, j, archive, figures, err);
    if (status == RP_OK &&
        (rp_json_object_set_new(out, "development", development) != 0 ||
         rp_json_object_set(out, "scores", scores) != 0 || rp_json_object_set(out, "columns", columns) != 0 ||
         rp_json_object_set(out, "figures", figures ? figures : rp_json_null()) != 0))
        status = rp_no_memory(err);
    rp_json_free(scores);
    rp_json_free(columns);
    rp_json_free(figures);
    return status;
}

rp_status rp_monitor(const rp_archive *archive, const void *csv, size_t size, const char *where,
                     const rp_monitor_options *options, const rp_job_options *job, char **statement, size_t *length,
                     rp_error *err)
{
    static const rp_monitor_options none = {.period = NULL};
    const rp_monitor_options *o = options ? options : &none;
    const char *period = o->period;
    rp_json *predicate = rp_json_object();
    const rp_judged_table table = {.csv = csv, .size = size, .where = where ? where : "table", .of = RP_JUDGED_GIVEN};
    rp_judged *j = NULL;
    rp_training t = {.scoring = NULL};
    rp_fpenv saved;
    rp_status status;

    *statement = NULL;
    *length = 0;
    if (!archive) {
        rp_json_free(predicate);
        return rp_no_handle(err, __func__, "archive");
    }
    if (period && (!rp_line_fits(period, PERIOD_LINE) || !rp_is_utf8(period, strlen(period)))) {
        rp_json_free(predicate);
        return rp_fail(err, RP_EARG, "period: expected a line of 1 to 128 bytes of UTF-8 without control characters");
    }
    status = predicate ? chain(predicate, archive, period, o->previous, o->previous_size, err) : rp_no_memory(err);
    if (status == RP_OK)
        status = rp_judged_new(&j, archive, &table, job, NULL, NULL, err);
    if (status == RP_OK)
        status = rp_training_open(&t, archive, j, job, err);
    if (status == RP_OK && (status = rp_fpenv_enter(&saved, NULL, err)) == RP_OK) {
        status = describe(predicate, j, &t, archive, period, &table, err);
        if (status == RP_OK)
            status = compare(predicate, archive, j, &t, err);
        rp_fpenv_leave(&saved);
    }
    rp_training_close(&t);
    rp_judged_free(j);
    if (status == RP_OK)
        return rp_validation_text(statement, length, rp_archive_id(archive), RP_MONITORING_TYPE, predicate,
                                  "the model has too many columns, or categories in them, for one statement", err);
    rp_json_free(predicate);
    return status;
}
