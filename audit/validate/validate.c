/* SPDX-License-Identifier: Apache-2.0
 * Validation: figures of all rows with an outcome, by slice and by group, as one statement; and making it again. */
#include <string.h>

#include "audit/validate/judged.h"
#include "audit/validate/partition.h"
#include "audit/validate/seen.h"
#include "audit/validate/statement_text.h"
#include "base/handle.h"
#include "base/memory.h"
#include "base/text.h"
#include "core/stats/groups.h"
#include "determinism/decimal.h"
#include "determinism/fpenv.h"
#include "rp/validation.h"

enum { SMALL_GROUP = 30 };

typedef struct validation {
    int64_t seen; /* -1: the training rows are not at hand */
    const rp_judged *judged;
    const rp_validation_options *options;
    struct {
        size_t col, parts;
    } by[RP_VALIDATION_COLUMNS_MAX], groups[RP_VALIDATION_COLUMNS_MAX];
    rp_figure_options figures;
    int64_t favourable; /* class; of a regression -1 */
} validation;

/* ---- options ---- */

static rp_status want(void *self, rp_written *texts, rp_error *err)
{
    validation *v = self;
    rp_status status = RP_OK;

    if (v->options->n_by > RP_VALIDATION_COLUMNS_MAX || v->options->n_groups > RP_VALIDATION_COLUMNS_MAX)
        return rp_fail(err, RP_EARG, "expected at most %d columns for slices and for groups",
                       RP_VALIDATION_COLUMNS_MAX);
    for (size_t i = 0; i < v->options->n_by && status == RP_OK; i++)
        status = rp_partition_want(texts, v->options->by[i], &v->by[i].col, &v->by[i].parts, err);
    for (size_t i = 0; i < v->options->n_groups && status == RP_OK; i++)
        status = rp_partition_want(texts, v->options->groups[i], &v->groups[i].col, &v->groups[i].parts, err);
    return status;
}

static rp_status find_class(const rp_schema *schema, const char *name, int64_t *out, rp_error *err)
{
    char quoted[64];

    *out = (int64_t)schema->classes - 1;
    if (!name)
        return RP_OK;
    for (size_t k = 0; k < schema->classes; k++)
        if (strcmp(schema->class_name[k], name) == 0) {
            *out = (int64_t)k;
            return RP_OK;
        }
    return rp_fail(err, RP_EARG, "favourable: expected one of the model's %zu classes, found \"%s\"", schema->classes,
                   rp_printable(quoted, sizeof quoted, name, strlen(name)));
}

static rp_status read_options(validation *v, rp_error *err)
{
    const rp_schema *schema = v->judged->scoring->schema;
    const char *threshold = v->options->threshold;

    v->figures.threshold = 0.0 / 0.0;
    if (threshold && schema->classes != 2)
        return rp_fail(err, RP_EARG, "threshold: this model has not two classes");
    if (threshold && (!rp_parse_f64(&v->figures.threshold, threshold, strlen(threshold)) ||
                      v->figures.threshold - v->figures.threshold != 0))
        return rp_fail(err, RP_EARG, "threshold: expected a decimal, found \"%.40s\"", threshold);
    return find_class(schema, v->options->favourable, &v->favourable, err);
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
        (void)rp_print_f64(threshold, v->figures.threshold);
    return rp_json_pack("{s:o, s:s?, s:o, s:s?}", "by", texts(o->by, o->n_by), "favourable", o->favourable, "groups",
                        texts(o->groups, o->n_groups), "threshold", o->threshold ? threshold : NULL);
}

/* ---- slices and groups ---- */

static bool is_selected(const validation *v, size_t row)
{
    const rp_scoring *s = v->judged->scoring;
    const float *score = s->scores + row * s->model.outputs;
    const double threshold = v->figures.threshold == v->figures.threshold ? v->figures.threshold : 0.5;

    if (s->schema->classes == 2)
        return ((double)score[s->model.outputs - 1] >= threshold) == (v->favourable == 1);
    return rp_decide(score, s->model.outputs, true) == v->favourable;
}

static rp_json *selection_json(const rp_group *g)
{
    rp_json *out = rp_json_object();
    int failed = rp_json_object_set_new(out, "rows", rp_json_integer((int64_t)g->rows));

    failed |= rp_json_object_set_new(out, "selected", rp_json_integer((int64_t)g->selected));
    failed |= rp_json_object_set_new(out, "favourable", rp_json_integer((int64_t)g->favourable));
    failed |= rp_json_object_set_new(out, "favourable_selected", rp_json_integer((int64_t)g->favourable_selected));
    failed |= rp_json_object_set_new(out, "small", rp_json_boolean(g->rows < SMALL_GROUP));
    failed |= rp_put_figure(out, "rate", g->rate) | rp_put_figure(out, "rate_low", g->rate_low);
    failed |= rp_put_figure(out, "rate_high", g->rate_high) | rp_put_figure(out, "ratio", g->ratio);
    failed |= rp_put_figure(out, "ratio_low", g->ratio_low) | rp_put_figure(out, "ratio_high", g->ratio_high);
    failed |= rp_put_figure(out, "p", g->p) | rp_put_figure(out, "true_positive_rate", g->true_positive_rate);
    failed |= rp_put_figure(out, "false_positive_rate", g->false_positive_rate);
    if (!failed)
        return out;
    rp_json_free(out);
    return NULL;
}

static void count_groups(const validation *v, const rp_partition *p, rp_group *group)
{
    const rp_judged *j = v->judged;

    for (size_t i = 0; i < j->rows; i++) {
        rp_group *g = &group[p->part[i]];
        const bool selected = is_selected(v, i), favourable = j->known[i] && j->label[i] == v->favourable;

        if (!j->known[i])
            continue;
        g->rows++;
        g->selected += selected;
        g->favourable += favourable;
        g->favourable_selected += selected && favourable;
    }
}

/* Groups without rows are left out of the comparison, and have no selection. */
static rp_status add_selection(const validation *v, const rp_partition *p, rp_json *list, rp_json *out, rp_error *err)
{
    rp_group group[RP_PARTITION_MAX + 1] = {{.rows = 0}}, used[RP_PARTITION_MAX + 1];
    size_t place[RP_PARTITION_MAX + 1], n = 0;
    rp_group_summary s;
    rp_json *summary = rp_json_object();
    int failed;

    count_groups(v, p, group);
    for (size_t i = 0; i < p->parts; i++)
        if (group[i].rows) {
            place[n] = i;
            used[n++] = group[i];
        }
    rp_compare_groups(&s, used, n, true);
    failed = rp_json_object_set_new(summary, "reference", rp_json_integer((int64_t)place[s.reference]));
    failed |= rp_put_figure(summary, "ratio", s.ratio) | rp_put_figure(summary, "difference", s.difference);
    failed |= rp_put_figure(summary, "opportunity", s.opportunity) | rp_put_figure(summary, "odds", s.odds);
    failed |= rp_json_object_set_new(out, "summary", summary);
    failed |= rp_json_object_set_new(out, "favourable",
                                     rp_json_string(v->judged->scoring->schema->class_name[(size_t)v->favourable]));
    for (size_t i = 0; i < n; i++)
        failed |= rp_json_object_set_new(rp_json_array_get(list, place[i]), "selection", selection_json(&used[i]));
    return failed ? rp_no_memory(err) : RP_OK;
}

static rp_status add_slice(const validation *v, const rp_partition *p, size_t part, rp_json *list, rp_error *err)
{
    rp_json *slice = rp_json_object(), *figures = NULL;
    rp_status status = rp_judged_figures(&figures, v->judged, p->part, part,
                                         &(rp_figure_options){.brief = true, .threshold = v->figures.threshold}, err);
    int failed = rp_partition_name(slice, p, part);

    failed |= rp_json_object_set_new(slice, "figures", figures ? figures : rp_json_null());
    failed |= rp_json_array_append(list, slice);
    rp_json_free(slice);
    return status == RP_OK && failed ? rp_no_memory(err) : status;
}

static rp_status cut_by(const validation *v, size_t place, bool groups, rp_json *all, rp_error *err)
{
    const char *by = groups ? v->options->groups[place] : v->options->by[place];
    const size_t col = groups ? v->groups[place].col : v->by[place].col;
    const size_t parts = groups ? v->groups[place].parts : v->by[place].parts;
    rp_json *out = rp_json_pack("{s:s, s:[]}", "by", by, "parts"), *list = rp_json_object_get(out, "parts");
    rp_partition p;
    rp_status status;

    if (!out || rp_json_array_append(all, out) != 0) {
        rp_json_free(out);
        return rp_no_memory(err);
    }
    rp_json_free(out);
    status = rp_partition_make(&p, v->judged->texts, by, col, parts, err);
    for (size_t i = 0; status == RP_OK && i < p.parts; i++)
        status = add_slice(v, &p, i, list, err);
    if (status == RP_OK && groups && v->favourable >= 0)
        status = add_selection(v, &p, list, out, err);
    if (status == RP_OK)
        rp_partition_clear(&p);
    return status;
}

static rp_status cut_all(const validation *v, size_t n, bool groups, rp_json *predicate, rp_error *err)
{
    rp_json *list = rp_json_array();
    rp_status status =
        list && rp_json_object_set_new(predicate, groups ? "groups" : "slices", list) == 0 ? RP_OK : rp_no_memory(err);

    for (size_t i = 0; i < n && status == RP_OK; i++)
        status = cut_by(v, i, groups, list, err);
    return status;
}

/* ---- the statement ---- */

static rp_status fill(rp_json *out, const validation *v, const void *csv, size_t size, rp_error *err)
{
    const rp_judged *j = v->judged;
    rp_json *data = rp_text_digest(csv, size, err), *figures = NULL;
    rp_status status = rp_judged_figures(&figures, j, NULL, 0, &v->figures, err);
    int failed = rp_json_object_set_new(data, "rows", rp_json_integer((int64_t)j->rows));

    failed |= rp_json_object_set_new(data, "without_outcome", rp_json_integer((int64_t)(j->rows - j->outcomes)));
    failed |= rp_json_object_set_new(data, "seen", v->seen < 0 ? rp_json_null() : rp_json_integer(v->seen));
    failed |= rp_json_object_set_new(out, "data", data);
    failed |= rp_json_object_set_new(out, "classes", rp_judged_classes(j));
    failed |= rp_json_object_set_new(out, "development", rp_judged_development(j, figures));
    failed |= rp_json_object_set_new(out, "figures", figures);
    failed |= rp_json_object_set_new(out, "options", options_json(v));
    failed |= rp_json_object_set_new(out, "contract", rp_json_integer(1));
    if (status == RP_OK && failed)
        status = rp_no_memory(err);
    if (status == RP_OK)
        status = cut_all(v, v->options->n_by, false, out, err);
    return status == RP_OK ? cut_all(v, v->options->n_groups, true, out, err) : status;
}

static rp_status validate(rp_json **out, validation *v, const void *csv, size_t size, const char *where, rp_error *err)
{
    rp_status status = read_options(v, err);

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

rp_status rp_validate(const rp_archive *archive, const void *csv, size_t size, const char *where,
                      const rp_validation_options *options, const rp_job_options *job, char **statement, size_t *length,
                      rp_error *err)
{
    static const rp_validation_options none = {.n_by = 0};
    validation v = {.options = options ? options : &none};
    rp_judged *j = NULL;
    rp_json *predicate = NULL;
    rp_fpenv saved;
    rp_status status;

    *statement = NULL;
    *length = 0;
    if (!archive)
        return rp_no_handle(err, __func__, "archive");
    status = rp_judged_new(&j, archive, csv, size, where, job, want, &v, err);
    v.judged = j;
    if (status == RP_OK)
        status = rp_seen_count(&v.seen, archive, j, err);
    if (status == RP_OK && (status = rp_fpenv_enter(&saved, NULL, err)) == RP_OK) {
        status = validate(&predicate, &v, csv, size, where, err);
        rp_fpenv_leave(&saved);
    }
    rp_judged_free(j);
    if (status == RP_OK)
        status = rp_validation_text(statement, length, rp_archive_id(archive), RP_VALIDATION_TYPE, predicate, err);
    return status;
}
