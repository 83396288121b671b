/* SPDX-License-Identifier: Apache-2.0
 * Slices and groups: which rows are in which part, the figures of each, and of groups the rates of selection. */
#include "core/train/slices/slices.h"

#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "core/stats/groups.h"
#include "core/train/slices/partition.h"

typedef struct slicing {
    const rp_slice_plan *plan;
    const rp_slice_names *names;
    const rp_slice_rows *rows;
    const rp_written *texts;
    int64_t favourable; /* class; of a regression -1 */
} slicing;

/* ---- what was asked for ---- */

rp_status rp_slices_want(rp_slice_plan *out, rp_written *texts, const rp_slice_names *names, rp_error *err)
{
    rp_status status = RP_OK;

    if (names->n_by > RP_SLICES_MAX || names->n_groups > RP_SLICES_MAX)
        return rp_fail(err, RP_EARG, "expected at most %d columns for slices and for groups", RP_SLICES_MAX);
    for (size_t i = 0; i < names->n_by && status == RP_OK; i++)
        status = rp_partition_want(texts, names->by[i], &out->by[i].col, &out->by[i].parts, err);
    for (size_t i = 0; i < names->n_groups && status == RP_OK; i++)
        status = rp_partition_want(texts, names->groups[i], &out->groups[i].col, &out->groups[i].parts, err);
    return status;
}

rp_status rp_slices_look(int64_t *out, const rp_schema *schema, const rp_slice_names *names, rp_error *err)
{
    char classes[RP_CLASSES_SIZE], quoted[64];

    *out = (int64_t)schema->classes - 1;
    if (names->threshold == names->threshold && schema->classes != 2)
        return rp_fail(err, RP_EARG, "threshold: this model has not two classes");
    if (!names->favourable)
        return RP_OK;
    for (size_t k = 0; k < schema->classes; k++)
        if (strcmp(schema->class_name[k], names->favourable) == 0) {
            *out = (int64_t)k;
            return RP_OK;
        }
    return rp_fail(err, RP_EARG, "favourable: expected %s, found \"%s\"", rp_schema_classes(classes, schema),
                   rp_printable(quoted, sizeof quoted, names->favourable, strlen(names->favourable)));
}

/* ---- figures of some of the rows ---- */

typedef struct picked {
    double *score, *target, *offset;
    int64_t *label;
    size_t rows;
} picked;

static bool is_known(const rp_slice_rows *r, size_t i)
{
    return !r->known || r->known[i];
}

static rp_status pick(picked *p, const rp_slice_rows *r, const size_t *part, size_t which, rp_error *err)
{
    for (size_t i = 0; i < r->rows; i++)
        p->rows += is_known(r, i) && (!part || part[i] == which);
    p->score = rp_reallocarray(NULL, p->rows * r->outputs + 1, sizeof *p->score);
    p->target = rp_reallocarray(NULL, p->rows + 1, sizeof *p->target);
    p->label = rp_reallocarray(NULL, p->rows + 1, sizeof *p->label);
    p->offset = r->offset ? rp_reallocarray(NULL, p->rows + 1, sizeof *p->offset) : NULL;
    if (!p->score || !p->target || !p->label || (r->offset && !p->offset))
        return rp_no_memory(err);
    for (size_t i = 0, n = 0; i < r->rows; i++) {
        if (!is_known(r, i) || (part && part[i] != which))
            continue;
        memcpy(p->score + n * r->outputs, r->score + i * r->outputs, r->outputs * sizeof *p->score);
        if (r->offset)
            p->offset[n] = r->offset[i];
        p->label[n] = r->label ? r->label[i] : 0;
        p->target[n++] = r->value ? r->value[i] : 0;
    }
    return RP_OK;
}

rp_status rp_slice_figures(rp_json **out, const rp_slice_rows *r, const size_t *part, size_t which,
                           const rp_figure_options *options, rp_error *err)
{
    picked p = {.rows = 0};
    rp_status status = pick(&p, r, part, which, err);
    const rp_scored_rows rows = {.rows = p.rows,
                                 .classes = r->schema->classes,
                                 .outputs = r->outputs,
                                 .score = p.score,
                                 .label = p.label,
                                 .target = p.target,
                                 .offset = p.offset};

    *out = NULL;
    if (status == RP_OK && p.rows)
        status = rp_figures(out, &rows, r->yardstick, options, err);
    rp_free(p.score);
    rp_free(p.target);
    rp_free(p.label);
    rp_free(p.offset);
    return status;
}

/* ---- slices and groups ---- */

static bool is_selected(const slicing *v, size_t row)
{
    const rp_slice_rows *r = v->rows;
    const double *score = r->score + row * r->outputs;
    const double threshold = v->names->threshold == v->names->threshold ? v->names->threshold : 0.5;

    if (r->schema->classes == 2)
        return (score[r->outputs - 1] >= threshold) == (v->favourable == 1);
    return rp_decide(score, r->outputs, true) == v->favourable;
}

static rp_json *selection_json(const rp_group *g)
{
    rp_json *out = rp_json_object();
    int failed = rp_json_object_set_new(out, "rows", rp_json_integer((int64_t)g->rows));

    failed |= rp_json_object_set_new(out, "selected", rp_json_integer((int64_t)g->selected));
    failed |= rp_json_object_set_new(out, "favourable", rp_json_integer((int64_t)g->favourable));
    failed |= rp_json_object_set_new(out, "favourable_selected", rp_json_integer((int64_t)g->favourable_selected));
    failed |= rp_json_object_set_new(out, "small", rp_json_boolean(g->rows < RP_GROUP_SMALL));
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

static void count_groups(const slicing *v, const rp_partition *p, rp_group *group)
{
    const rp_slice_rows *r = v->rows;

    for (size_t i = 0; i < r->rows; i++) {
        rp_group *g = &group[p->part[i]];
        const bool selected = is_selected(v, i), favourable = is_known(r, i) && r->label[i] == v->favourable;

        if (!is_known(r, i))
            continue;
        g->rows++;
        g->selected += selected;
        g->favourable += favourable;
        g->favourable_selected += selected && favourable;
    }
}

/* Groups without rows are left out of the comparison, and have no selection. */
static rp_status add_selection(const slicing *v, const rp_partition *p, rp_json *list, rp_json *out, rp_error *err)
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
    failed |=
        rp_json_object_set_new(out, "favourable", rp_json_string(v->rows->schema->class_name[(size_t)v->favourable]));
    for (size_t i = 0; i < n; i++)
        failed |= rp_json_object_set_new(rp_json_array_get(list, place[i]), "selection", selection_json(&used[i]));
    return failed ? rp_no_memory(err) : RP_OK;
}

static rp_status add_slice(const slicing *v, const rp_partition *p, size_t part, rp_json *list, rp_error *err)
{
    rp_json *slice = rp_json_object(), *figures = NULL;
    const rp_figure_options options = {
        .brief = true, .threshold = v->names->threshold, .fitted = v->rows->fitted, .family = v->rows->family};
    rp_status status = rp_slice_figures(&figures, v->rows, p->part, part, &options, err);
    int failed = rp_partition_name(slice, p, part);

    failed |= rp_json_object_set_new(slice, "figures", figures ? figures : rp_json_null());
    failed |= rp_json_array_append(list, slice);
    rp_json_free(slice);
    return status == RP_OK && failed ? rp_no_memory(err) : status;
}

static rp_status cut_by(const slicing *v, size_t place, bool groups, rp_json *all, rp_error *err)
{
    const char *by = groups ? v->names->groups[place] : v->names->by[place];
    const rp_slice_place *at = groups ? &v->plan->groups[place] : &v->plan->by[place];
    rp_json *out = rp_json_pack("{s:s, s:[]}", "by", by, "parts"), *list = rp_json_object_get(out, "parts");
    rp_partition p;
    rp_status status;

    if (!out || rp_json_array_append(all, out) != 0) {
        rp_json_free(out);
        return rp_no_memory(err);
    }
    rp_json_free(out);
    status = rp_partition_make(&p, v->texts, by, at->col, at->parts, v->rows->row, v->rows->rows, err);
    for (size_t i = 0; status == RP_OK && i < p.parts; i++)
        status = add_slice(v, &p, i, list, err);
    if (status == RP_OK && groups && v->favourable >= 0)
        status = add_selection(v, &p, list, out, err);
    rp_partition_clear(&p);
    return status;
}

static rp_status cut_all(const slicing *v, size_t n, bool groups, rp_json *predicate, rp_error *err)
{
    rp_json *list = rp_json_array();
    rp_status status =
        list && rp_json_object_set_new(predicate, groups ? "groups" : "slices", list) == 0 ? RP_OK : rp_no_memory(err);

    for (size_t i = 0; i < n && status == RP_OK; i++)
        status = cut_by(v, i, groups, list, err);
    return status;
}

rp_status rp_slices_put(rp_json *out, const rp_slice_plan *plan, const rp_slice_names *names, const rp_slice_rows *rows,
                        const rp_written *texts, rp_error *err)
{
    slicing v = {.plan = plan, .names = names, .rows = rows, .texts = texts};
    rp_status status = rp_slices_look(&v.favourable, rows->schema, names, err);

    if (status == RP_OK)
        status = cut_all(&v, names->n_by, false, out, err);
    return status == RP_OK ? cut_all(&v, names->n_groups, true, out, err) : status;
}
