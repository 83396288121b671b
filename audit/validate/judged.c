/* SPDX-License-Identifier: Apache-2.0
 * Scoring, outcomes and the archive's reference together; figures of some of the rows. */
#include "audit/validate/judged.h"

#include <string.h>

#include "audit/archive/archive_private.h"
#include "audit/trust/figures/reference_counts.h"
#include "audit/validate/out_of_fold.h"
#include "base/memory.h"
#include "core/data/table.h"
#include "determinism/decimal.h"

void rp_judged_free(rp_judged *j)
{
    if (!j)
        return;
    rp_written_free(j->texts);
    rp_scoring_free(j->scoring);
    rp_json_free(j->reference);
    rp_json_free(j->metrics);
    rp_free(j->yardstick);
    rp_free(j->label);
    rp_free(j->value);
    rp_free(j->offset);
    rp_free(j->known);
    rp_free(j->row);
    rp_free(j->fold);
    rp_free(j);
}

static rp_status read_reference(rp_judged *j, const rp_archive *archive, rp_error *err)
{
    rp_status status;

    if (!rp_archive_find(archive, RP_REFERENCE_MEMBER))
        return rp_fail(err, RP_EUNSUPPORTED,
                       RP_REFERENCE_MEMBER ": is not in this archive: it was withheld (give --withheld DIR), or the "
                                           "run is older than that member; run its recipe again");
    status = rp_archive_read_json(archive, RP_REFERENCE_MEMBER, &j->reference, err);
    if (status == RP_OK)
        status = rp_reference_adds_up(j->reference, err);
    if (status == RP_OK && rp_archive_find(archive, RP_METRICS_MEMBER))
        status = rp_archive_read_json(archive, RP_METRICS_MEMBER, &j->metrics, err);
    if (status == RP_OK)
        status = rp_yardstick_read(&j->yardstick, j->reference, j->scoring->schema->classes, err);
    return status == RP_EFORMAT ? rp_fail_at(err, RP_EFORMAT, RP_REFERENCE_MEMBER) : status;
}

/* row: of which alone, NULL: of all. */
static rp_status read_outcomes(rp_judged *j, const int64_t *row, size_t rows, rp_error *err)
{
    rp_status status;

    j->rows = rp_rows_count(j->scoring->rows);
    j->known = rp_calloc(j->rows + 1, sizeof *j->known);
    if (j->scoring->schema->classes)
        j->label = rp_calloc(j->rows + 1, sizeof *j->label);
    else
        j->value = rp_calloc(j->rows + 1, sizeof *j->value);
    if (!j->known || (!j->label && !j->value))
        return rp_no_memory(err);
    status = rp_written_outcomes(j->texts, row, rows, j->label, j->value, j->known, err);
    if (status == RP_OK)
        status = rp_rows_offsets(&j->offset, j->scoring->rows, err);
    for (size_t i = 0; i < j->rows; i++)
        j->outcomes += j->known[i];
    return status;
}

/* Which rows are of the test part, before any outcome is looked at. */
static rp_status find_test(rp_judged *j, const void *csv, size_t size, size_t *rows, rp_error *err)
{
    rp_dataset *split = NULL;
    rp_status status = rp_dataset_split(&split, j->scoring->recipe, csv, size, RP_TABLE_MEMBER,
                                        &(rp_table_options){.pool = rp_scoring_pool(j->scoring)}, err);

    if (status == RP_OK && split->test_rows == 0)
        status =
            rp_fail(err, RP_EARG,
                    "part test: the run's recipe keeps no rows for it (data.test, data.test_csv, data.split): give "
                    "other rows with --csv");
    if (status == RP_OK) {
        j->row = split->test_row;
        *rows = split->test_rows;
        split->test_row = NULL;
    }
    rp_dataset_free(split);
    return status;
}

/* Which rows have a score of a trial that was not trained on them; they are among those that trained the model. */
static rp_status find_folds(rp_judged *j, rp_out_of_fold *kept, const rp_archive *archive, const void *csv, size_t size,
                            size_t *rows, rp_error *err)
{
    rp_dataset *d = NULL;
    size_t at = 0;
    rp_status status;

    if (j->scoring->recipe->data.fold != RP_ALL_FOLDS || !rp_archive_find(archive, RP_OUT_OF_FOLD_MEMBER))
        return rp_fail(err, RP_EARG,
                       "part folds: the archive has no scores out of fold (" RP_OUT_OF_FOLD_MEMBER
                       "): a recipe with data.fold: all makes them");
    status = rp_out_of_fold_read(kept, archive, j->scoring->schema, j->scoring->model.outputs,
                                 j->scoring->recipe->train.exact, err);
    if (status == RP_OK)
        status = rp_dataset_split(&d, j->scoring->recipe, csv, size, RP_TABLE_MEMBER,
                                  &(rp_table_options){.pool = rp_scoring_pool(j->scoring)}, err);
    for (size_t i = 0; i < kept->rows && status == RP_OK; i++) {
        while (at < d->train_rows && d->train_row[at] < kept->row[i])
            at++;
        if (at == d->train_rows || d->train_row[at] != kept->row[i])
            status = rp_fail(err, RP_EFORMAT, RP_OUT_OF_FOLD_MEMBER ": row %lld is none that trained the model",
                             (long long)kept->row[i]);
    }
    if (status == RP_OK)
        status = rp_out_of_fold_whole(kept, j->scoring->recipe, d->train_rows, err);
    if (status == RP_OK) {
        j->without_score = d->train_rows - kept->rows;
        j->row = kept->row;
        j->fold = kept->fold;
        *rows = kept->rows;
        kept->row = kept->fold = NULL;
    }
    rp_dataset_free(d);
    return status;
}

/* Rows are ascending, so that each moves to the front. */
static void keep(rp_judged *j, size_t rows)
{
    const size_t outputs = j->scoring->model.outputs;

    j->outcomes = 0;
    for (size_t i = 0; i < rows; i++) {
        const size_t from = (size_t)j->row[i];

        memmove(j->scoring->scores + i * outputs, j->scoring->scores + from * outputs,
                outputs * sizeof *j->scoring->scores);
        if (j->label)
            j->label[i] = j->label[from];
        if (j->value)
            j->value[i] = j->value[from];
        if (j->offset)
            j->offset[i] = j->offset[from];
        j->known[i] = j->known[from];
        j->outcomes += j->known[i];
    }
    j->rows = rows;
}

rp_status rp_judged_new(rp_judged **out, const rp_archive *archive, const rp_judged_table *given,
                        const rp_job_options *options, rp_status (*want)(void *self, rp_written *texts, rp_error *err),
                        void *self, rp_error *err)
{
    rp_judged *j = rp_calloc(1, sizeof *j);
    const bool own = given->of != RP_JUDGED_GIVEN;
    rp_judged_table seen = *given; /* rows that came as arrays are a table then */
    const rp_judged_table *table = &seen;
    rp_out_of_fold kept = {.rows = 0};
    size_t rows = table->rows;
    rp_status status = j ? rp_scoring_new(&j->scoring, archive, table->csv, table->size, table->where, own,
                                          table->filter, options, err)
                         : rp_no_memory(err);

    *out = NULL;
    if (status == RP_OK) {
        seen.csv = j->scoring->csv;
        seen.size = j->scoring->size;
        status = read_reference(j, archive, err);
    }
    if (status == RP_OK)
        status = rp_written_open(&j->texts, j->scoring->schema, j->scoring->recipe, table->csv, table->size,
                                 table->where, err);
    if (status == RP_OK && want)
        status = want(self, j->texts, err);
    if (status == RP_OK)
        status = rp_written_load(j->texts, rp_scoring_pool(j->scoring), err);
    if (status == RP_OK && table->of == RP_JUDGED_TESTED)
        status = find_test(j, table->csv, table->size, &rows, err);
    if (status == RP_OK && table->of == RP_JUDGED_FOLDS)
        status = find_folds(j, &kept, archive, table->csv, table->size, &rows, err);
    if (status == RP_OK)
        status = read_outcomes(j, j->row ? j->row : table->row, rows, err);
    if (status == RP_OK && j->row)
        keep(j, rows);
    if (status == RP_OK && j->fold)
        memcpy(j->scoring->scores, kept.score, kept.rows * kept.outputs * sizeof *kept.score);
    rp_out_of_fold_clear(&kept);
    if (status == RP_OK)
        status = rp_judged_count_unread(j, table, err);
    if (status != RP_OK)
        rp_judged_free(j);
    else
        *out = j;
    return status;
}

const char *rp_judged_test_member(const rp_archive *archive)
{
    if (rp_archive_find(archive, RP_TEST_TABLE_MEMBER))
        return RP_TEST_TABLE_MEMBER;
    for (size_t i = 0; i < rp_archive_withheld_count(archive); i++)
        if (strcmp(rp_archive_withheld(archive, i), RP_TEST_TABLE_MEMBER) == 0)
            return RP_TEST_TABLE_MEMBER;
    return RP_TABLE_MEMBER;
}

rp_status rp_judged_own(rp_buffer *bytes, rp_judged_of *of, const rp_archive *archive, const char *part,
                        const void **csv, size_t *size, const char **where, rp_error *err)
{
    const bool folds = part && strcmp(part, "folds") == 0;
    const char *member = folds ? RP_TABLE_MEMBER : rp_judged_test_member(archive);
    rp_status status;

    *of = RP_JUDGED_GIVEN;
    if (part && !folds && strcmp(part, "test") != 0)
        return rp_fail(err, RP_EARG, "part: expected test or folds, found \"%.40s\"", part);
    if (!part)
        return *csv ? RP_OK
                    : rp_fail(err, RP_EARG, "expected rows with outcomes, or a part of the archive's own: --part test");
    if (rp_archive_manifest(archive)->kind == RP_RUN_TEXT)
        return rp_fail(err, RP_EUNSUPPORTED,
                       "this archive is a run on a text, which has no rows and so no part of them");
    if (*csv)
        return rp_fail(err, RP_EARG, "part: is of the archive's own rows: give no others");
    if (!rp_archive_find(archive, member))
        return rp_fail(err, RP_EUNSUPPORTED, "%s: is not in this archive: its rows were withheld (give --withheld DIR)",
                       member);
    status = rp_archive_read_member(archive, member, SIZE_MAX / 2, bytes, err);
    *csv = bytes->data;
    *size = bytes->size;
    *where = member;
    if (strcmp(member, RP_TABLE_MEMBER) == 0)
        *of = folds ? RP_JUDGED_FOLDS : RP_JUDGED_TESTED;
    return status;
}

static rp_status allocate_part(rp_judged_part *out, const rp_judged *of, size_t rows, rp_error *err)
{
    const size_t outputs = of->scoring->model.outputs;

    out->scoring.scores = rp_reallocarray(NULL, rows * outputs + 1, sizeof *out->scoring.scores);
    out->row = rp_reallocarray(NULL, rows + 1, sizeof *out->row);
    out->judged.known = rp_calloc(rows + 1, sizeof *out->judged.known);
    out->judged.label = of->label ? rp_calloc(rows + 1, sizeof *out->judged.label) : NULL;
    out->judged.value = of->value ? rp_calloc(rows + 1, sizeof *out->judged.value) : NULL;
    out->judged.offset = of->offset ? rp_calloc(rows + 1, sizeof *out->judged.offset) : NULL;
    return out->scoring.scores && out->row && out->judged.known && (out->judged.label || !of->label) &&
                   (out->judged.value || !of->value) && (out->judged.offset || !of->offset)
               ? RP_OK
               : rp_no_memory(err);
}

rp_status rp_judged_part_open(rp_judged_part *out, const rp_judged *of, const int64_t *row, size_t rows, rp_error *err)
{
    const size_t outputs = of->scoring->model.outputs;
    rp_status status;

    *out = (rp_judged_part){.judged = *of, .scoring = *of->scoring};
    status = allocate_part(out, of, rows, err);
    out->judged.scoring = &out->scoring;
    out->judged.row = out->row;
    out->judged.rows = rows;
    out->judged.outcomes = 0;
    for (size_t i = 0; i < rows && status == RP_OK; i++) {
        const size_t from = (size_t)row[i];

        if (from >= of->rows)
            return rp_fail(err, RP_EDATA, "row %lld of a table is asked for, it has %zu", (long long)row[i], of->rows);
        out->row[i] = row[i];
        memcpy(out->scoring.scores + i * outputs, of->scoring->scores + from * outputs,
               outputs * sizeof *out->scoring.scores);
        if (of->label)
            out->judged.label[i] = of->label[from];
        if (of->value)
            out->judged.value[i] = of->value[from];
        if (of->offset)
            out->judged.offset[i] = of->offset[from];
        out->judged.known[i] = of->known[from];
        out->judged.outcomes += of->known[from];
    }
    return status;
}

void rp_judged_part_close(rp_judged_part *part)
{
    if (!part->judged.scoring)
        return;
    rp_free(part->scoring.scores);
    rp_free(part->row);
    rp_free(part->judged.known);
    rp_free(part->judged.label);
    rp_free(part->judged.value);
    rp_free(part->judged.offset);
    *part = (rp_judged_part){.row = NULL};
}

rp_slice_rows rp_judged_rows(const rp_judged *j)
{
    return (rp_slice_rows){.schema = j->scoring->schema,
                           .yardstick = j->yardstick,
                           .row = j->row,
                           .rows = j->rows,
                           .outputs = j->scoring->model.outputs,
                           .score = j->scoring->scores,
                           .label = j->label,
                           .value = j->value,
                           .known = j->known,
                           .offset = j->offset,
                           .family = j->scoring->recipe->train.family};
}

rp_status rp_judged_figures(rp_json **out, const rp_judged *j, double threshold, rp_error *err)
{
    const rp_slice_rows rows = rp_judged_rows(j);

    return rp_slice_figures(out, &rows, NULL, 0, &(rp_figure_options){.threshold = threshold, .family = rows.family},
                            err);
}

rp_json *rp_judged_classes(const rp_judged *j)
{
    const rp_schema *schema = j->scoring->schema;
    rp_json *list = schema->classes ? rp_json_array() : rp_json_null();

    for (size_t i = 0; i < schema->classes; i++)
        if (rp_json_array_append_new(list, rp_json_string(schema->class_name[i])) != 0) {
            rp_json_free(list);
            return NULL;
        }
    return list;
}

rp_status rp_judged_threshold(double *out, const char *text, rp_error *err)
{
    *out = 0.0 / 0.0;
    if (!text || (rp_parse_f64(out, text, strlen(text)) && *out >= 0 && *out <= 1))
        return RP_OK;
    return rp_fail(err, RP_EARG, "threshold: expected a score from 0 to 1, found \"%.40s\"", text);
}
