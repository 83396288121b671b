/* SPDX-License-Identifier: Apache-2.0
 * Differences, bands and decisions of two models that scored the same rows (CONTRACT 14.12). */
#include "audit/retrain/two_models.h"

#include "base/memory.h"
#include "core/data/later/reference.h"
#include "core/stats/agreement.h"
#include "core/stats/distributions.h"
#include "core/stats/drift.h"

enum { CLASSES_SHOWN = 20 };

static size_t outputs_of(const rp_two_models *m)
{
    return m->child->scoring->model.outputs;
}

static double score_of(const rp_judged *j, size_t row, size_t k)
{
    return j->scoring->scores[row * j->scoring->model.outputs + k];
}

/* Of two classes the score of class 1, whether the model has one output or one for each; of a quantity the score. */
static double last_score(const rp_judged *j, size_t row)
{
    return score_of(j, row, j->scoring->model.outputs - 1);
}

static bool has_two_classes(const rp_judged *j)
{
    return j->scoring->schema->classes == 2;
}

static rp_json *counts_json(const int64_t *count, size_t n)
{
    rp_json *list = rp_json_array();

    for (size_t i = 0; i < n && list; i++)
        if (rp_json_array_append_new(list, rp_json_integer(count[i])) != 0) {
            rp_json_free(list);
            return NULL;
        }
    return list;
}

/* count [n, n]: a list of rows. */
static rp_json *square_json(const int64_t *count, size_t n)
{
    rp_json *list = rp_json_array();

    for (size_t i = 0; i < n && list; i++)
        if (rp_json_array_append_new(list, counts_json(count + i * n, n)) != 0) {
            rp_json_free(list);
            return NULL;
        }
    return list;
}

/* ---- differences of figures ---- */

static int put_paired(rp_json *out, const char *key, const rp_paired *p)
{
    rp_json *one = rp_json_object();

    return rp_put_figure(one, "difference", p->difference) | rp_put_figure(one, "error", p->error) |
           rp_put_figure(one, "low", p->low) | rp_put_figure(one, "high", p->high) |
           rp_put_figure(one, "statistic", p->statistic) | rp_put_figure(one, "p", p->p) |
           rp_json_object_set_new(out, key, one);
}

/* What a row's score is off its outcome, squared; of several classes summed over them. */
static double loss_of(const rp_judged *j, size_t row)
{
    const size_t outputs = j->scoring->model.outputs;
    double loss = 0;

    if (!j->label || has_two_classes(j)) {
        const double d = last_score(j, row) - (j->label ? (double)j->label[row] : j->value[row]);

        return d * d;
    }
    for (size_t k = 0; k < outputs; k++) {
        const double d = score_of(j, row, k) - ((size_t)j->label[row] == k ? 1.0 : 0.0);

        loss = loss + d * d;
    }
    return loss;
}

/* Rows with an outcome: their losses, and of two classes their scores and sides. */
typedef struct known_rows {
    double *parent, *child, *loss;
    bool *positive;
    size_t n;
} known_rows;

static void clear(known_rows *r)
{
    rp_free(r->parent);
    rp_free(r->child);
    rp_free(r->loss);
    rp_free(r->positive);
}

static rp_status take_known(known_rows *r, const rp_two_models *m, rp_error *err)
{
    const size_t rows = m->child->rows;

    *r = (known_rows){.parent = rp_reallocarray(NULL, rows + 1, sizeof(double)),
                      .child = rp_reallocarray(NULL, rows + 1, sizeof(double)),
                      .loss = rp_reallocarray(NULL, rows + 1, sizeof(double)),
                      .positive = rp_calloc(rows + 1, sizeof(bool))};
    if (!r->parent || !r->child || !r->loss || !r->positive)
        return rp_no_memory(err);
    for (size_t i = 0; i < rows; i++) {
        if (!m->child->known[i])
            continue;
        r->parent[r->n] = last_score(m->parent, i);
        r->child[r->n] = last_score(m->child, i);
        r->positive[r->n] = m->child->label && m->child->label[i] == 1;
        r->loss[r->n++] = loss_of(m->child, i) - loss_of(m->parent, i);
    }
    return RP_OK;
}

rp_status rp_two_models_difference(rp_json **out, const rp_two_models *m, rp_error *err)
{
    known_rows r;
    rp_paired auc, loss;
    rp_json *json = rp_json_object();
    rp_status status = take_known(&r, m, err);
    int failed = 0;

    if (status == RP_OK && has_two_classes(m->child)) {
        status = rp_paired_areas(&auc, r.parent, r.child, r.positive, r.n, err);
        if (status == RP_OK)
            failed |= put_paired(json, "auc", &auc);
    } else {
        failed |= rp_json_object_set(json, "auc", rp_json_null());
    }
    if (status == RP_OK) {
        rp_paired_means(&loss, r.loss, r.n);
        failed |= put_paired(json, "loss", &loss);
    }
    clear(&r);
    if (status == RP_OK && failed)
        status = rp_no_memory(err);
    *out = json;
    if (status != RP_OK) {
        rp_json_free(json);
        *out = NULL;
    }
    return status;
}

/* ---- one score of all rows ---- */

/* By the parent's bands, which were frozen when it was trained. */
static rp_status put_bands(rp_json *out, const rp_json *reference, const double *a, const double *b, size_t rows,
                           rp_error *err)
{
    rp_reference_column r;
    int64_t *count = NULL, moved[4] = {0, 0, 0, 0}; /* same, up, down, beyond the next */
    rp_status status = rp_reference_read_numbers(&r, reference, RP_REFERENCE_MEMBER ": scores", err);
    rp_json *edges = rp_json_array();
    int failed = 0;

    if (status == RP_OK && !(count = rp_calloc(r.bins * r.bins + 1, sizeof *count)))
        status = rp_no_memory(err);
    for (size_t i = 0; i < rows && status == RP_OK; i++) {
        const size_t from = rp_bin_of(r.edge, r.edges, a[i]), to = rp_bin_of(r.edge, r.edges, b[i]);

        count[from * r.bins + to]++;
        moved[to == from ? 0 : to > from ? 1 : 2]++;
        moved[3] += to > from + 1 || from > to + 1;
    }
    for (size_t i = 0; i < r.edges && status == RP_OK; i++)
        failed |= rp_append_figure(edges, r.edge[i]);
    if (status == RP_OK) {
        failed |= rp_json_object_set(out, "edges", edges);
        failed |= rp_json_object_set_new(out, "migration", square_json(count, r.bins));
        failed |= rp_json_object_set_new(out, "moved",
                                         rp_json_pack("{s:I, s:I, s:I, s:I}", "beyond_next", moved[3], "down", moved[2],
                                                      "same", moved[0], "up", moved[1]));
    }
    rp_json_free(edges);
    rp_free(count);
    rp_reference_clear(&r);
    return status == RP_OK && failed ? rp_no_memory(err) : status;
}

static int put_no_bands(rp_json *out)
{
    return rp_json_object_set(out, "edges", rp_json_null()) | rp_json_object_set(out, "migration", rp_json_null()) |
           rp_json_object_set(out, "moved", rp_json_null());
}

static rp_status put_agreement(rp_json *out, const double *a, const double *b, size_t rows, rp_error *err)
{
    rp_json *quantiles = rp_json_array();
    rp_agreement g;
    rp_status status = rp_agree(&g, a, b, rows, err);
    int failed = rp_put_figure(out, "spearman", g.spearman) | rp_put_figure(out, "kendall", g.kendall) |
                 rp_put_figure(out, "mean", g.mean) | rp_put_figure(out, "mean_absolute", g.mean_absolute);

    for (size_t i = 0; i < RP_AGREEMENT_QUANTILES; i++)
        failed |= rp_append_figure(quantiles, g.quantile[i]);
    failed |= rp_json_object_set_new(out, "quantiles", quantiles);
    return status == RP_OK && failed ? rp_no_memory(err) : status;
}

static rp_status add_score(rp_json *list, const rp_two_models *m, size_t k, rp_error *err)
{
    const size_t rows = m->child->rows;
    const rp_json *reference = rp_json_array_get(rp_json_object_get(m->parent->reference, "scores"), k);
    double *a = rp_reallocarray(NULL, rows + 1, sizeof *a), *b = rp_reallocarray(NULL, rows + 1, sizeof *b);
    rp_json *out = rp_json_object();
    rp_status status = a && b ? RP_OK : rp_no_memory(err);

    for (size_t i = 0; i < rows && status == RP_OK; i++) {
        a[i] = score_of(m->parent, i, k);
        b[i] = score_of(m->child, i, k);
    }
    if (status == RP_OK)
        status = put_agreement(out, a, b, rows, err);
    if (status == RP_OK && reference)
        status = put_bands(out, reference, a, b, rows, err);
    else if (status == RP_OK && put_no_bands(out) != 0)
        status = rp_no_memory(err);
    rp_free(a);
    rp_free(b);
    if (status == RP_OK && rp_json_array_append(list, out) != 0)
        status = rp_no_memory(err);
    rp_json_free(out);
    return status;
}

rp_status rp_two_models_scores(rp_json **out, const rp_two_models *m, rp_error *err)
{
    enum { SCORES_MOST = 64 };
    const size_t outputs = outputs_of(m);
    rp_json *list = rp_json_array();
    rp_status status = list ? RP_OK : rp_no_memory(err);

    for (size_t k = 0; k < outputs && outputs <= SCORES_MOST && status == RP_OK; k++)
        status = add_score(list, m, k, err);
    *out = list;
    if (status != RP_OK) {
        rp_json_free(list);
        *out = NULL;
    }
    return status;
}

/* ---- decisions ---- */

static size_t decide(const rp_two_models *m, const rp_judged *j, size_t row)
{
    const size_t outputs = outputs_of(m);

    if (has_two_classes(j))
        return last_score(j, row) >= (m->threshold == m->threshold ? m->threshold : 0.5);
    return (size_t)rp_decide(j->scoring->scores + row * outputs, outputs, true);
}

/* count [classes, classes]; right: neither, the parent alone, the child alone, both. Returns how many decisions differ.
 */
static int64_t count_decisions(const rp_two_models *m, size_t classes, int64_t *count, int64_t right[4])
{
    int64_t changed = 0;

    for (size_t i = 0; i < m->child->rows; i++) {
        const size_t was = decide(m, m->parent, i), is = decide(m, m->child, i);

        if (count)
            count[was * classes + is]++;
        changed += was != is;
        if (m->child->known[i])
            right[(size_t)m->child->label[i] == was ? ((size_t)m->child->label[i] == is ? 3 : 1)
                                                    : ((size_t)m->child->label[i] == is ? 2 : 0)]++;
    }
    return changed;
}

/* McNemar (1947), without a correction. */
static int put_test(rp_json *out, int64_t parent_alone, int64_t child_alone)
{
    const double none = 0.0 / 0.0, d = (double)(child_alone - parent_alone), n = (double)(child_alone + parent_alone);
    const double statistic = n > 0 ? (d * d) / n : none;

    return rp_put_figure(out, "statistic", statistic) |
           rp_put_figure(out, "p", n > 0 ? rp_chi_squared_upper(statistic, 1) : none);
}

rp_status rp_two_models_decisions(rp_json **out, const rp_two_models *m, rp_error *err)
{
    const size_t classes = m->child->scoring->schema->classes;
    const bool shown = classes <= CLASSES_SHOWN;
    int64_t right[4] = {0, 0, 0, 0}, changed, *count = NULL;
    rp_json *json;
    int failed = 0;

    *out = classes ? NULL : rp_json_null();
    if (classes == 0)
        return RP_OK;
    if (shown && !(count = rp_calloc(classes * classes, sizeof *count)))
        return rp_no_memory(err);
    changed = count_decisions(m, classes, count, right);
    json = rp_json_pack("{s:I, s:I, s:I, s:I, s:I}", "both_right", right[3], "changed", changed, "child_alone",
                        right[2], "neither_right", right[0], "parent_alone", right[1]);
    failed |= rp_json_object_set_new(json, "counts", shown ? square_json(count, classes) : rp_json_null());
    failed |= put_test(json, right[1], right[2]);
    rp_free(count);
    if (failed) {
        rp_json_free(json);
        return rp_no_memory(err);
    }
    *out = json;
    return RP_OK;
}
