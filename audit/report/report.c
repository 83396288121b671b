/* SPDX-License-Identifier: Apache-2.0
 * rp_report: reads what an archive has, then writes the sections in order. An archive whose members make no sense still
 * has a report: the part in question says why it is not shown. */
#include "audit/report/report.h"

#include <string.h>

#include "audit/archive/journal.h"
#include "base/handle.h"
#include "base/memory.h"
#include "determinism/bits.h"
#include "determinism/fpenv.h"

/* Keeps what does not end the report as a problem to be shown. */
static rp_status settle(rp_status status, rp_error *problem, rp_error *err)
{
    if (!rp_report_fatal(status))
        return RP_OK;
    if (err)
        *err = *problem;
    return status;
}

static rp_status read_recipe(rp_report_view *r, rp_error *err)
{
    rp_json *json = NULL;
    rp_error *problem = &r->problem.recipe;
    rp_status status;

    if (!rp_archive_find(r->archive, RP_RECIPE_MEMBER))
        return RP_OK;
    status = rp_archive_read_json(r->archive, RP_RECIPE_MEMBER, &json, problem);
    if (status == RP_OK)
        status = rp_recipe_from_json(&r->recipe, json, RP_RECIPE_MEMBER, problem);
    rp_json_free(json);
    return settle(status, problem, err);
}

static rp_status read_schema(rp_report_view *r, rp_error *err)
{
    rp_json *json = NULL;
    rp_error *problem = &r->problem.schema;
    rp_status status;

    if (!rp_archive_find(r->archive, RP_SCHEMA_MEMBER))
        return RP_OK;
    status = rp_archive_read_json(r->archive, RP_SCHEMA_MEMBER, &json, problem);
    if (status == RP_OK)
        status = rp_schema_from_json(&r->schema, json, RP_SCHEMA_MEMBER, problem);
    rp_json_free(json);
    return settle(status, problem, err);
}

static rp_status read_model(rp_report_view *r, rp_error *err)
{
    rp_status status;

    if (!r->recipe || !r->schema)
        return RP_OK;
    r->model = rp_malloc(sizeof *r->model);
    if (!r->model)
        return rp_no_memory(err);
    status = rp_model_init(r->model, r->recipe, r->schema->features, r->schema->classes, &r->problem.model);
    if (status != RP_OK) {
        rp_free(r->model);
        r->model = NULL;
    }
    return settle(status, &r->problem.model, err);
}

/* archive NULL: there is nothing to read. */
static rp_status read_json(const rp_archive *archive, const char *member, rp_json **out, rp_error *problem,
                           rp_error *err)
{
    if (!archive || !rp_archive_find(archive, member))
        return RP_OK;
    return settle(rp_archive_read_json(archive, member, out, problem), problem, err);
}

/* What metrics are held against; without them the page says less and nothing wrong. */
static rp_status read_beside(rp_report_view *r, rp_error *err)
{
    rp_error problem = {0};
    rp_status status = read_json(r->archive, RP_REFERENCE_MEMBER, &r->reference, &problem, err);

    if (status == RP_OK)
        status = read_json(r->parent, RP_METRICS_MEMBER, &r->parent_metrics, &problem, err);
    if (status == RP_OK)
        status = settle(rp_report_read_scores(r, &r->problem.scores), &r->problem.scores, err);
    return status;
}

static double loss_of(const rp_record *record)
{
    if (record->loss_dtype == RP_F32)
        return (double)rp_from_bits_f32((uint32_t)record->loss);
    return record->loss_dtype == RP_F64 ? rp_from_bits_f64(record->loss) : rp_from_bits_f64(0x7FF8000000000000u);
}

static rp_status take_records(rp_report_view *r, rp_windowed *journal)
{
    const uint64_t n = rp_journal_records(journal);
    rp_status status = RP_OK;

    if (n == 0)
        return rp_fail(&r->problem.journal, RP_EFORMAT, RP_JOURNAL_MEMBER ": no records");
    r->loss = rp_reallocarray(NULL, (size_t)n, sizeof *r->loss);
    r->program = rp_reallocarray(NULL, (size_t)n, sizeof *r->program);
    if (!r->loss || !r->program)
        return rp_no_memory(&r->problem.journal);
    for (uint64_t i = 0; i < n && status == RP_OK; i++) {
        rp_record record;

        status = rp_journal_record(journal, i, &record, &r->problem.journal);
        if (status != RP_OK)
            return status;
        r->loss[i] = loss_of(&record);
        r->program[i] = record.program;
    }
    r->steps = (size_t)n;
    return RP_OK;
}

/* The recipe's, or as many as early stopping left of them. */
static size_t epochs_of(const rp_report_view *r)
{
    const int64_t made = rp_json_integer_value(rp_json_object_get(rp_archive_manifest(r->archive)->run, "epochs"));

    if (r->recipe->train.steps > 0)
        return 0; /* it counts in steps */
    return made > 0 && made < r->recipe->train.epochs ? (size_t)made : (size_t)r->recipe->train.epochs;
}

static rp_status read_journal(rp_report_view *r, rp_error *err)
{
    rp_windowed *journal;
    int64_t training =
        rp_json_integer_value(rp_json_object_get(rp_archive_manifest(r->archive)->run, "training_steps"));
    rp_status status;

    if (!rp_archive_find(r->archive, RP_JOURNAL_MEMBER))
        return RP_OK;
    status = rp_journal_open(&journal, r->archive, &r->problem.journal);
    if (status == RP_OK)
        status = take_records(r, journal);
    rp_windowed_free(journal);
    if (status == RP_OK && r->recipe && training > 0 && (uint64_t)training < r->steps)
        r->training_steps = (size_t)training;
    if (r->training_steps)
        r->epochs = epochs_of(r);
    return settle(status, &r->problem.journal, err);
}

static rp_status read_all(rp_report_view *r, rp_error *err)
{
    rp_status status = rp_archive_door(r->archive, &r->door, err);

    if (status == RP_OK)
        status = read_recipe(r, err);
    if (status == RP_OK)
        status = read_schema(r, err);
    if (status == RP_OK)
        status = read_model(r, err);
    if (status == RP_OK)
        status = read_json(r->archive, RP_METRICS_MEMBER, &r->metrics, &r->problem.metrics, err);
    if (status == RP_OK)
        status = read_json(r->archive, RP_COEFFICIENTS_MEMBER, &r->coefficients, &r->problem.coefficients, err);
    if (status == RP_OK)
        status = read_beside(r, err);
    if (status == RP_OK)
        status = read_journal(r, err);
    if (status == RP_OK)
        status = settle(rp_report_read_data(r, &r->problem.data), &r->problem.data, err);
    return status;
}

static rp_status write_all(rp_report_view *r, rp_error *err)
{
    rp_status status;

    rp_report_head(r);
    rp_report_verdict(r);
    if (r->dossier != RP_DOSSIER_NONE)
        rp_report_dossier(r);
    rp_report_metrics_section(r);
    rp_report_explained_section(r);
    rp_report_data_section(r);
    status = rp_report_model_section(r, err);
    if (status == RP_OK) {
        rp_report_trials_section(r);
        rp_report_training_section(r);
        rp_report_coefficients_section(r);
        status = rp_report_statements(r, err);
    }
    if (status == RP_OK)
        status = rp_report_environment(r, err);
    if (status != RP_OK)
        return status;
    rp_report_how_to_verify(r);
    rp_report_digests(r);
    rp_report_columns_appendix(r);
    rp_report_foot(r);
    rp_buffer_u8(r->out, 0);
    return rp_buffer_status(r->out, err);
}

static void clear(rp_report_view *r)
{
    rp_report_data_clear(&r->data);
    rp_recipe_free(r->recipe);
    rp_schema_free(r->schema);
    rp_free(r->model);
    rp_json_free(r->metrics);
    rp_json_free(r->coefficients);
    rp_json_free(r->reference);
    rp_json_free(r->parent_metrics);
    rp_report_scores_clear(&r->scores);
    rp_free(r->loss);
    rp_free(r->program);
    rp_free(r);
}

rp_status rp_report(const rp_archive *archive, const rp_verification *verified, const rp_report_options *options,
                    char **out, size_t *length, rp_error *err)
{
    if (!archive) {
        *out = NULL;
        return rp_no_handle(err, __func__, "archive");
    }

    rp_report_view *r;
    rp_buffer html = {0};
    rp_fpenv saved;
    rp_status status = rp_fpenv_enter(&saved, NULL, err);

    *out = NULL;
    *length = 0;
    if (status == RP_OK && options && (unsigned)options->dossier > RP_DOSSIER_SR26_2) {
        rp_fpenv_leave(&saved);
        return rp_fail(err, RP_EARG, "rp_report: dossier %d: there is none", (int)options->dossier);
    }
    if (status != RP_OK)
        return status;
    r = rp_calloc(1, sizeof *r);
    if (!r) {
        rp_fpenv_leave(&saved);
        return rp_no_memory(err);
    }
    r->archive = archive;
    r->verified = verified;
    r->out = &html;
    r->parent = options ? options->parent : NULL;
    r->dossier = options ? options->dossier : RP_DOSSIER_NONE;
    status = read_all(r, err);
    if (status == RP_OK)
        status = write_all(r, err);
    clear(r);
    rp_fpenv_leave(&saved);
    if (status != RP_OK) {
        rp_buffer_free(&html);
        return status;
    }
    *length = html.size - 1;
    *out = (char *)html.data;
    return RP_OK;
}
