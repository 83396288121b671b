/* SPDX-License-Identifier: Apache-2.0
 * Making a statement again from the archive, the rows and what the statement itself says was asked for. */
#include <stdio.h>
#include <string.h>

#include "audit/validate/statement_text.h"
#include "base/handle.h"
#include "base/memory.h"
#include "rp/validation.h"

/* The texts of a list, borrowed. */
static size_t take_texts(const rp_json *list, const char **out)
{
    size_t n = 0;

    for (size_t i = 0; i < rp_json_array_size(list) && n < RP_VALIDATION_COLUMNS_MAX + 1; i++) {
        out[n] = rp_json_string_value(rp_json_array_get(list, i));
        n += out[n] != NULL;
    }
    return n;
}

/* The path of the first value, in the order of keys, that is not the same. */
static bool first_difference(const rp_json *a, const rp_json *b, char *path, size_t size)
{
    const size_t used = strlen(path);
    const char *key;
    rp_json *value;

    if (rp_json_equal(a, b))
        return false;
    if (rp_json_is_object(a) && rp_json_is_object(b)) {
        rp_json_object_foreach (a, key, value) {
            (void)snprintf(path + used, size - used, "%s%s", used ? "." : "", key);
            if (first_difference(value, rp_json_object_get(b, key), path, size))
                return true;
        }
    } else if (rp_json_is_array(a) && rp_json_array_size(a) == rp_json_array_size(b)) {
        for (size_t i = 0; i < rp_json_array_size(a); i++) {
            (void)snprintf(path + used, size - used, "[%zu]", i);
            if (first_difference(rp_json_array_get(a, i), rp_json_array_get(b, i), path, size))
                return true;
        }
    }
    path[used] = '\0';
    return true;
}

rp_status rp_validation_compare(const char *made, size_t made_length, const char *statement, size_t length,
                                const rp_json *expected, rp_error *err)
{
    char path[200] = "";
    rp_json *found;
    rp_status status;

    if (made_length == length && memcmp(made, statement, length) == 0)
        return RP_OK;
    status = rp_json_parse(&found, made, made_length, true, "the statement made again", err);
    if (status != RP_OK)
        return status;
    (void)first_difference(rp_json_object_get(expected, "predicate"), rp_json_object_get(found, "predicate"), path,
                           sizeof path);
    rp_json_free(found);
    return rp_fail(err, RP_EBITS, "the statement made again differs in %s", *path ? path : "its text");
}

static rp_status same_rows(const rp_json *predicate, const void *csv, size_t size, const char *where, rp_error *err)
{
    const rp_json *said = rp_json_object_get(rp_json_object_get(predicate, "data"), "sha256");
    rp_json *found = rp_text_digest(csv, size, err);
    const char *hex = rp_json_string_value(rp_json_object_get(found, "sha256"));
    rp_status status = hex ? RP_OK : rp_no_memory(err);

    if (hex && !rp_json_equal(said, rp_json_object_get(found, "sha256")))
        status = rp_fail(err, RP_EHASH, "%s: SHA-256 differs: the statement is about rows with %.64s, these have %s",
                         where, rp_json_is_string(said) ? rp_json_string_value(said) : "none", hex);
    rp_json_free(found);
    return status;
}

rp_status rp_validation_same_rows(const rp_json *predicate, const void *csv, size_t size, const char *where,
                                  rp_error *err)
{
    const rp_json *part = rp_json_object_get(rp_json_object_get(predicate, "options"), "part");

    if (rp_json_is_string(part))
        return csv ? rp_fail(err, RP_EARG,
                             "the statement is about part %.40s of the archive's own rows: leave out --csv (--rows)",
                             rp_json_string_value(part))
                   : RP_OK;
    return csv ? same_rows(predicate, csv, size, where ? where : "table", err)
               : rp_fail(err, RP_EARG, "the statement is about rows of a file: give them with --csv (--rows)");
}

static rp_status undated(rp_buffer *out, const rp_json *json, const char *statement, size_t length, rp_error *err)
{
    rp_json *copy;
    rp_status status;

    if (!rp_json_object_get(rp_json_object_get(json, "predicate"), "time")) {
        rp_buffer_append(out, statement, length);
        return rp_buffer_status(out, err);
    }
    copy = rp_json_deep_copy(json);
    (void)rp_json_object_del(rp_json_object_get(copy, "predicate"), "time");
    status = copy ? rp_json_write(copy, out, err) : rp_no_memory(err);
    rp_json_free(copy);
    return status;
}

rp_status rp_validation_is_again(const char *made, size_t made_length, const char *statement, size_t length,
                                 const rp_json *json, rp_error *err)
{
    rp_buffer text = {0};
    rp_status status = undated(&text, json, statement, length, err);

    if (status == RP_OK)
        status = rp_validation_compare(made, made_length, (const char *)text.data, text.size, json, err);
    rp_buffer_free(&text);
    return status;
}

/* What is checked, and against what. */
typedef struct check {
    const rp_archive *archive;
    rp_validation_inputs inputs;
    const rp_job_options *job;
} check;

/* The archive that the run, or one that it started from, started from and that is not among the parents; NULL: none. */
static const char *missing_parent(const rp_archive *archive, const rp_job_options *job)
{
    const char *id = rp_parent_id(archive);

    for (size_t steps = 0; id != NULL && steps <= job->n_parents; steps++) {
        const rp_archive *found = NULL;

        for (size_t i = 0; i < job->n_parents && found == NULL; i++)
            if (strcmp(rp_archive_id(job->parents[i]), id) == 0)
                found = job->parents[i];
        if (found == NULL)
            return id;
        id = rp_parent_id(found);
    }
    return NULL;
}

rp_status rp_validation_parents(rp_job_options *out, const rp_archive *archive, const rp_job_options *job, bool counted,
                                rp_error *err)
{
    const char *missing;

    *out = job ? *job : (rp_job_options){.threads = 0};
    missing = counted ? missing_parent(archive, out) : NULL;
    if (missing)
        return rp_fail(err, RP_EARG,
                       "the statement counts rows that trained the run which this one started from, and that one's own "
                       "parents: archive %.64s is not among those given; give that too (--parent PARENT.reprise)",
                       missing);
    if (!counted)
        out->n_parents = 0;
    return RP_OK;
}

static rp_status validate_again(char **made, size_t *made_length, const check *c, const rp_json *predicate,
                                rp_error *err)
{
    const rp_json *said = rp_json_object_get(predicate, "options");
    const char *by[RP_VALIDATION_COLUMNS_MAX + 1], *groups[RP_VALIDATION_COLUMNS_MAX + 1];
    const rp_validation_options options = {.by = by,
                                           .groups = groups,
                                           .n_by = take_texts(rp_json_object_get(said, "by"), by),
                                           .n_groups = take_texts(rp_json_object_get(said, "groups"), groups),
                                           .favourable = rp_json_string_value(rp_json_object_get(said, "favourable")),
                                           .threshold = rp_json_string_value(rp_json_object_get(said, "threshold")),
                                           .part = rp_json_string_value(rp_json_object_get(said, "part"))};
    rp_job_options job;
    const rp_json *seen = rp_json_object_get(rp_json_object_get(predicate, "data"), "seen");
    rp_status status = rp_validation_parents(&job, c->archive, c->job, rp_json_is_integer(seen), err);

    return status == RP_OK ? rp_validate(c->archive, c->inputs.csv, c->inputs.size, c->inputs.where, &options, &job,
                                         made, made_length, err)
                           : status;
}

static rp_status make_again(char **made, size_t *made_length, const check *c, const rp_json *json, const char *type,
                            rp_error *err)
{
    const rp_json *predicate = rp_json_object_get(json, "predicate");
    const char *period = rp_json_string_value(rp_json_object_get(predicate, "period"));
    const rp_monitor_options options = {
        .period = period, .previous = c->inputs.previous, .previous_size = c->inputs.previous_size};

    if (strcmp(type, RP_VALIDATION_TYPE) == 0)
        return validate_again(made, made_length, c, predicate, err);
    if (!c->inputs.previous && !rp_json_is_null(rp_json_object_get(predicate, "previous")))
        return rp_fail(err, RP_EARG, "the statement names a previous one: give that too (--previous FILE)");
    return rp_monitor(c->archive, c->inputs.csv, c->inputs.size, c->inputs.where, &options, c->job, made, made_length,
                      err);
}

static rp_status run_check(const check *c, const char *statement, size_t length, rp_error *err)
{
    const char *type, *id;
    rp_json *json = NULL;
    char *made = NULL;
    size_t made_length = 0;
    rp_status status = rp_validation_parse(&json, &type, &id, statement, length, "the statement", NULL, 0, err);

    if (status == RP_OK && strcmp(type, RP_VALIDATION_TYPE) != 0 && strcmp(type, RP_MONITORING_TYPE) != 0)
        status = rp_fail(err, RP_ESIGN, "the statement: expected one of validation or monitoring, found %.100s", type);
    if (status == RP_OK && strcmp(id, rp_archive_id(c->archive)) != 0)
        status =
            rp_fail(err, RP_EHASH, "the statement is about archive %.64s, this is %s", id, rp_archive_id(c->archive));
    if (status == RP_OK)
        status = rp_validation_same_rows(rp_json_object_get(json, "predicate"), c->inputs.csv, c->inputs.size,
                                         c->inputs.where, err);
    if (status == RP_OK)
        status = make_again(&made, &made_length, c, json, type, err);
    if (status == RP_OK)
        status = rp_validation_is_again(made, made_length, statement, length, json, err);
    rp_text_free(made);
    rp_json_free(json);
    return status;
}

rp_status rp_validation_check(const rp_archive *archive, const char *statement, size_t length,
                              const rp_validation_inputs *inputs, const rp_job_options *job, rp_error *err)
{
    const rp_validation_inputs none = {.csv = NULL};
    const check c = {.archive = archive, .inputs = inputs ? *inputs : none, .job = job};

    if (!archive || !statement)
        return rp_no_handle(err, __func__, archive ? "statement" : "archive");
    return run_check(&c, statement, length, err);
}
