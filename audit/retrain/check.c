/* SPDX-License-Identifier: Apache-2.0
 * Making a statement of a retraining again, from what it says was asked for. */
#include <string.h>

#include "audit/validate/statement_text.h"
#include "base/handle.h"
#include "base/memory.h"
#include "rp/retraining.h"

static const char *text_at(const rp_json *object, const char *key)
{
    return rp_json_string_value(rp_json_object_get(object, key));
}

static rp_status same_archives(const rp_json *predicate, const char *type, const char *id, const rp_archive *parent,
                               const rp_archive *child, rp_error *err)
{
    const char *said = text_at(rp_json_object_get(predicate, "predecessor"), "archive_id");

    if (strcmp(type, RP_RETRAINING_TYPE) != 0)
        return rp_fail(err, RP_ESIGN, "the statement: expected one of a retraining, found %.100s", type);
    if (strcmp(id, rp_archive_id(child)) != 0)
        return rp_fail(err, RP_EHASH, "the statement is about child %.64s, this is %s", id, rp_archive_id(child));
    if (!said || strcmp(said, rp_archive_id(parent)) != 0)
        return rp_fail(err, RP_EHASH, "the statement is about parent %.64s, this is %s", said ? said : "none",
                       rp_archive_id(parent));
    return RP_OK;
}

rp_status rp_retraining_check(const rp_archive *parent, const rp_archive *child, const void *csv, size_t size,
                              const char *where, const char *statement, size_t length, const rp_job_options *job,
                              rp_error *err)
{
    const char *type, *id;
    const rp_json *predicate, *said;
    rp_retraining_options options = {.csv = csv, .size = size, .where = where};
    rp_job_options with_parents;
    rp_json *json = NULL;
    char *made = NULL;
    size_t made_length = 0;
    rp_status status;

    if (!parent || !child || !statement)
        return rp_no_handle(err, __func__, !parent ? "parent" : !child ? "child" : "statement");
    status = rp_validation_parse(&json, &type, &id, statement, length, "the statement", NULL, 0, err);
    if (status != RP_OK)
        return status;
    predicate = rp_json_object_get(json, "predicate");
    said = rp_json_object_get(predicate, "options");
    options.part = text_at(said, "part");
    options.threshold = text_at(said, "threshold");
    status = same_archives(predicate, type, id, parent, child, err);
    if (status == RP_OK)
        status = rp_validation_same_rows(predicate, csv, size, where, err);
    if (status == RP_OK)
        status = rp_validation_parents(
            &with_parents, parent, job,
            rp_json_is_integer(rp_json_object_get(rp_json_object_get(predicate, "data"), "seen_by_parent")), err);
    if (status == RP_OK)
        status = rp_retraining_compare(parent, child, &options, &with_parents, &made, &made_length, err);
    if (status == RP_OK)
        status = rp_validation_is_again(made, made_length, statement, length, json, err);
    rp_text_free(made);
    rp_json_free(json);
    return status;
}
