/* SPDX-License-Identifier: Apache-2.0
 * One column after another: the new rows' bins by the frozen edges, and where the training rows are at hand, the two
 * samples. */
#include "audit/validate/drift.h"

#include <string.h>

#include "audit/archive/archive_private.h"
#include "base/memory.h"
#include "core/data/later/reference.h"
#include "core/data/table.h"
#include "core/stats/drift.h"
#include "core/stats/ranking.h"
#include "determinism/sum.h"

enum { NEW_VALUES_SHOWN = 5 };

/* ---- training rows ---- */

void rp_training_close(rp_training *t)
{
    rp_dataset_free(t->dataset);
    rp_scoring_free(t->scoring);
    rp_buffer_free(&t->csv);
    *t = (rp_training){.scoring = NULL};
}

rp_status rp_training_open(rp_training *t, const rp_archive *archive, const rp_judged *j, const rp_job_options *options,
                           rp_error *err)
{
    rp_status status;

    *t = (rp_training){.scoring = NULL};
    /* rows are scored by the contract's products: the run's own are not, so nothing could tell a forged reference */
    if (rp_archive_manifest(archive)->pinned)
        return rp_fail(err, RP_EUNSUPPORTED,
                       "this run is pinned: scores here are not the library's, so its reference cannot be held against "
                       "its own training rows, and no drift is told from it (docs/pinned.md)");
    if (!rp_archive_find(archive, RP_TABLE_MEMBER))
        return RP_OK;
    status = rp_archive_read_member(archive, RP_TABLE_MEMBER, SIZE_MAX / 2, &t->csv, err);
    if (status == RP_OK)
        status =
            rp_scoring_new(&t->scoring, archive, t->csv.data, t->csv.size, RP_TABLE_MEMBER, true, NULL, options, err);
    if (status == RP_OK)
        status = rp_dataset_split(&t->dataset, j->scoring->recipe, t->csv.data, t->csv.size, RP_TABLE_MEMBER,
                                  &(rp_table_options){.pool = rp_scoring_pool(j->scoring)}, err);
    if (status != RP_OK)
        rp_training_close(t);
    return status;
}

/* ---- one column ---- */

/* What new rows have, and the training rows beside them. */
typedef struct samples {
    double *found, *trained; /* sorted; without the missing */
    size_t n_found, n_trained;
    uint64_t *count; /* of the new rows, [bins] */
} samples;

static void clear(samples *s)
{
    rp_free(s->found);
    rp_free(s->trained);
    rp_free(s->count);
}

static rp_status allocate(samples *s, size_t rows, size_t trained, size_t bins, rp_error *err)
{
    *s = (samples){.found = rp_reallocarray(NULL, rows + 1, sizeof *s->found),
                   .trained = rp_reallocarray(NULL, trained + 1, sizeof *s->trained),
                   .count = rp_calloc(bins + 1, sizeof *s->count)};
    return s->found && s->trained && s->count ? RP_OK : rp_no_memory(err);
}

static int put_bins(rp_json *out, const rp_reference_column *r, const samples *s)
{
    rp_binned_drift d;
    rp_json *test = rp_json_object();
    int failed;

    rp_drift_of_bins(&d, r->count, s->count, r->bins);
    failed =
        rp_json_object_set_new(out, "counts", rp_counts_json(s->count, r->bins)) | rp_put_figure(out, "psi", d.psi);
    failed |= rp_put_figure(out, "jensen_shannon", d.jensen_shannon) | rp_put_figure(out, "cramers_v", d.cramers_v);
    failed |= rp_put_figure(test, "statistic", d.chi_squared) | rp_put_figure(test, "p", d.p);
    failed |= rp_json_object_set_new(test, "freedom", rp_json_integer((int64_t)d.freedom));
    return failed | rp_json_object_set_new(out, "chi_squared", test);
}

static int put_samples(rp_json *out, const rp_reference_column *r, samples *s)
{
    int64_t below = 0, above = 0;
    rp_sample_drift d;

    for (size_t i = 0; i < s->n_found; i++) {
        s->found[i] = s->found[i] + 0.0;
        below += s->found[i] < r->minimum;
        above += s->found[i] > r->maximum;
    }
    for (size_t i = 0; i < s->n_trained; i++)
        s->trained[i] = s->trained[i] + 0.0;
    rp_sort_f64(s->found, s->n_found);
    rp_sort_f64(s->trained, s->n_trained);
    rp_drift_of_samples(&d, s->trained, s->n_trained, s->found, s->n_found);
    return rp_put_figure(out, "ks", d.ks) | rp_put_figure(out, "ks_p", d.p) |
           rp_put_figure(out, "wasserstein", d.wasserstein) |
           rp_put_figure(out, "mean", rp_sum_f64(s->found, s->n_found, 1) / (double)(int64_t)s->n_found) |
           rp_json_object_set_new(out, "below", rp_json_integer(below)) |
           rp_json_object_set_new(out, "above", rp_json_integer(above));
}

/* Where the training rows are at hand, nobody's word is taken for what they hold: edges, counts and range are made
 * again. trained: the rows' numbers, whose order changes. */
static rp_status check_numbers(const rp_json *said, double *trained, size_t n, const char *place, size_t at,
                               rp_error *err)
{
    static const char *const keys[] = {"counts", "edges", "maximum", "minimum"};
    rp_json *made = rp_reference_numbers(trained, n);
    rp_status status = made ? RP_OK : rp_no_memory(err);

    for (size_t i = 0; i < sizeof keys / sizeof *keys && status == RP_OK; i++)
        if (!rp_json_equal(rp_json_object_get(said, keys[i]), rp_json_object_get(made, keys[i])))
            status = rp_fail(err, RP_EFORMAT,
                             RP_REFERENCE_MEMBER ": %s[%zu].%s: the archive's own training rows have others: it was "
                                                 "forged, or made when the contract's 14.6 cut bins otherwise; replay "
                                                 "the archive, or train it again",
                             place, at, keys[i]);
    rp_json_free(made);
    return status;
}

/* ---- scores ---- */

static rp_status drift_of_score(rp_json *list, const rp_json *reference, const rp_judged *j, const rp_training *t,
                                size_t k, rp_error *err)
{
    const size_t outputs = j->scoring->model.outputs, trained = t->scoring ? t->dataset->train_rows : 0;
    rp_json *out = rp_json_object();
    rp_reference_column r;
    samples s = {.found = NULL};
    rp_status status = rp_reference_read_numbers(&r, reference, RP_REFERENCE_MEMBER ": scores", err);

    if (status == RP_OK)
        status = allocate(&s, j->rows, trained, r.bins, err);
    for (; status == RP_OK && s.n_found < j->rows; s.n_found++) {
        s.found[s.n_found] = j->scoring->scores[s.n_found * outputs + k];
        s.count[rp_bin_of(r.edge, r.edges, s.found[s.n_found])]++;
        if (s.found[s.n_found] - s.found[s.n_found] != 0)
            status = rp_fail(err, RP_EDATA, "score of row %zu: expected a finite number, found none", s.n_found);
    }
    for (; status == RP_OK && s.n_trained < trained; s.n_trained++) {
        s.trained[s.n_trained] = t->scoring->scores[(size_t)t->dataset->train_row[s.n_trained] * outputs + k];
        if (s.trained[s.n_trained] - s.trained[s.n_trained] != 0)
            status =
                rp_fail(err, RP_EDATA, "score of training row %zu: expected a finite number, found none", s.n_trained);
    }
    if (status == RP_OK && t->scoring)
        status = check_numbers(reference, s.trained, s.n_trained, "scores", k, err);
    if (status == RP_OK &&
        (put_bins(out, &r, &s) != 0 || put_samples(out, &r, &s) != 0 || rp_json_array_append(list, out) != 0))
        status = rp_no_memory(err);
    rp_json_free(out);
    clear(&s);
    rp_reference_clear(&r);
    return status;
}

rp_status rp_drift_of_scores(rp_json **out, const rp_judged *j, const rp_training *t, rp_error *err)
{
    const rp_json *scores = rp_json_object_get(j->reference, "scores");
    const size_t n = rp_json_array_size(scores);
    rp_json *list = rp_json_array();
    rp_status status = list ? RP_OK : rp_no_memory(err);

    if (n != 0 && n != j->scoring->model.outputs)
        status = rp_fail(err, RP_EFORMAT, RP_REFERENCE_MEMBER ": scores: expected %zu, found %zu",
                         j->scoring->model.outputs, n);
    for (size_t k = 0; k < n && status == RP_OK; k++)
        status = drift_of_score(list, rp_json_array_get(scores, k), j, t, k, err);
    if (status != RP_OK) {
        rp_json_free(list);
        list = NULL;
    }
    *out = list;
    return status;
}

/* ---- features ---- */

static int note_new(rp_json *examples, const char *text)
{
    for (size_t i = 0; i < rp_json_array_size(examples); i++)
        if (strcmp(rp_json_string_value(rp_json_array_get(examples, i)), text) == 0)
            return 0;
    return rp_json_array_size(examples) < NEW_VALUES_SHOWN ? rp_json_array_append_new(examples, rp_json_string(text))
                                                           : 0;
}

/* All rows of one column, numbers or texts. */
typedef struct cells {
    double *number;
    size_t *category;
    const char **text;
} cells;

static rp_status read_cells(cells *c, const rp_scoring *s, size_t column, rp_error *err)
{
    const size_t n = rp_rows_count(s->rows) + 1;

    *c = (cells){rp_reallocarray(NULL, n, sizeof *c->number), rp_reallocarray(NULL, n, sizeof *c->category),
                 rp_reallocarray(NULL, n, sizeof *c->text)};
    if (!c->number || !c->category || !c->text)
        return rp_no_memory(err);
    rp_rows_features(s->rows, column, c->number, c->category, c->text);
    return RP_OK;
}

static void clear_cells(cells *c)
{
    rp_free(c->number);
    rp_free(c->category);
    rp_free(c->text);
}

/* Where judged row i stands in the table. */
static size_t place_of(const rp_judged *j, size_t i)
{
    return j->row ? (size_t)j->row[i] : i;
}

static void count_numbers(samples *s, const cells *c, const rp_judged *j, const rp_reference_column *r)
{
    for (size_t i = 0; i < j->rows; i++) {
        const double number = c->number[place_of(j, i)];
        const bool missing = number != number;

        s->count[missing ? r->bins - 1 : rp_bin_of(r->edge, r->edges, number)]++;
        if (!missing)
            s->found[s->n_found++] = number;
    }
}

static int count_texts(samples *s, const cells *c, const rp_judged *j, const rp_reference_column *r, rp_json *examples)
{
    int failed = 0;

    for (size_t i = 0; i < j->rows; i++) {
        const size_t at = place_of(j, i);

        s->count[c->text[at] ? c->category[at] : r->bins - 1]++;
        if (c->text[at] && c->category[at] == r->bins - 2)
            failed |= note_new(examples, c->text[at]);
    }
    return failed;
}

static rp_status read_found(samples *s, const rp_judged *j, const rp_reference_column *r, bool numeric,
                            rp_json *examples, rp_error *err)
{
    cells c;
    rp_status status = read_cells(&c, j->scoring, r->column, err);

    if (status == RP_OK && numeric)
        count_numbers(s, &c, j, r);
    else if (status == RP_OK && count_texts(s, &c, j, r, examples) != 0)
        status = rp_no_memory(err);
    clear_cells(&c);
    return status;
}

/* Of categories the training rows' counts are made again, and held against the reference's. */
static rp_status check_texts(const rp_reference_column *r, const cells *c, const rp_training *t, size_t at,
                             rp_error *err)
{
    uint64_t *count = rp_calloc(r->bins + 1, sizeof *count);
    rp_status status = count ? RP_OK : rp_no_memory(err);

    for (size_t i = 0; i < t->dataset->train_rows && status == RP_OK; i++) {
        const size_t row = (size_t)t->dataset->train_row[i];

        count[c->text[row] ? c->category[row] : r->bins - 1]++;
    }
    if (status == RP_OK && memcmp(count, r->count, r->bins * sizeof *count) != 0)
        status = rp_fail(err, RP_EFORMAT,
                         RP_REFERENCE_MEMBER ": columns[%zu].counts: the archive's own training rows have others: it "
                                             "was forged; replay the archive",
                         at);
    rp_free(count);
    return status;
}

static rp_status check_trained(samples *s, const rp_training *t, const rp_reference_column *r, const rp_json *said,
                               bool numeric, size_t at, rp_error *err)
{
    const size_t column = r->column;
    cells c;
    rp_status status;

    if (!t->scoring)
        return RP_OK;
    status = read_cells(&c, t->scoring, column, err);
    if (status == RP_OK && !numeric)
        status = check_texts(r, &c, t, at, err);
    for (size_t i = 0; i < t->dataset->train_rows && numeric && status == RP_OK; i++) {
        const double number = c.number[t->dataset->train_row[i]];

        if (number == number)
            s->trained[s->n_trained++] = number;
    }
    clear_cells(&c);
    if (status == RP_OK && numeric && r->count[r->bins - 1] != t->dataset->train_rows - s->n_trained)
        status = rp_fail(err, RP_EFORMAT,
                         RP_REFERENCE_MEMBER ": columns[%zu].missing: the archive's own training rows have %zu: it was "
                                             "forged; replay the archive",
                         at, t->dataset->train_rows - s->n_trained);
    return status == RP_OK && numeric ? check_numbers(said, s->trained, s->n_trained, "columns", at, err) : status;
}

static rp_status drift_of_column(rp_json *out, const rp_reference_column *r, size_t at, const rp_judged *j,
                                 const rp_training *t, rp_error *err)
{
    const rp_schema_column *c = &j->scoring->schema->columns[r->column];
    const bool numeric = c->kind == RP_COL_NUMERIC;
    rp_json *examples = rp_json_array();
    samples s;
    rp_status status = allocate(&s, j->rows, t->scoring ? t->dataset->train_rows : 0, r->bins, err);
    int failed = rp_json_object_set_new(out, "column", rp_json_integer((int64_t)r->column));

    failed |= rp_json_object_set_new(out, "name", c->name ? rp_json_string(c->name) : rp_json_null());
    failed |= rp_json_object_set_new(out, "kind", rp_json_string(numeric ? "numeric" : "categorical"));
    if (status == RP_OK)
        status = read_found(&s, j, r, numeric, examples, err);
    if (status == RP_OK)
        status = check_trained(&s, t, r, rp_json_array_get(rp_json_object_get(j->reference, "columns"), at), numeric,
                               at, err);
    if (status == RP_OK) {
        failed |= put_bins(out, r, &s);
        if (numeric)
            failed |= put_samples(out, r, &s);
        else
            failed |= rp_json_object_set(out, "new_values", c->other ? rp_json_null() : examples);
    }
    clear(&s);
    rp_json_free(examples);
    return status == RP_OK && failed ? rp_no_memory(err) : status;
}

rp_status rp_drift_of_columns(rp_json **out, const rp_judged *j, const rp_training *t, rp_error *err)
{
    const rp_json *columns = rp_json_object_get(j->reference, "columns");
    rp_json *list = rp_json_array();
    rp_status status = list ? RP_OK : rp_no_memory(err);

    for (size_t i = 0; i < rp_json_array_size(columns) && status == RP_OK; i++) {
        rp_json *one = rp_json_object();
        rp_reference_column r;

        status = rp_reference_read(&r, rp_json_array_get(columns, i), j->scoring->schema,
                                   RP_REFERENCE_MEMBER ": columns", err);
        if (status == RP_OK)
            status = drift_of_column(one, &r, i, j, t, err);
        if (status == RP_OK && rp_json_array_append(list, one) != 0)
            status = rp_no_memory(err);
        rp_json_free(one);
        rp_reference_clear(&r);
    }
    if (status != RP_OK) {
        rp_json_free(list);
        list = NULL;
    }
    *out = list;
    return status;
}
