/* SPDX-License-Identifier: Apache-2.0
 * Reason codes: the columns with the lowest contributions, their names and what they take away. */
#include "audit/explain/reasons.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "core/data/schema.h"
#include "core/train/train.h"
#include "determinism/decimal.h"

struct rp_reasons {
    const rp_schema *schema;
    const rp_predict_options *options;
    rp_margin margin;
    rp_background background;
    rp_attribution *attribution;
    size_t *order, columns; /* the schema's columns that are features */
    double largest;         /* gap so far */
};

static rp_status read_cutoff(double *out, const rp_scoring *s, const rp_predict_options *o, rp_error *err)
{
    const char *text = o->cutoff;

    *out = 0.5;
    if (!text && s->schema->classes == 0)
        return rp_fail(err, RP_EARG, "predict: a regression has no cut-off of its own: give one (--cutoff VALUE)");
    if (text && (!rp_parse_f64(out, text, strlen(text)) || *out - *out != 0))
        return rp_fail(err, RP_EARG, "predict: the cut-off: expected a decimal, found \"%.40s\"", text);
    return RP_OK;
}

static rp_status look(const rp_predict_options *o, rp_error *err)
{
    if (o->cutoff && !o->cutoff_reference)
        return rp_fail(err, RP_EARG, "predict: a cut-off belongs to the reference cutoff (--reference cutoff)");
    if (o->steps > RP_STEPS_MAX)
        return rp_fail(err, RP_EARG, "predict: steps: expected 1 to %d, found %zu", RP_STEPS_MAX, o->steps);
    if (o->reasons > RP_REASONS_MAX)
        return rp_fail(err, RP_EARG, "predict: reasons: expected 1 to %d, found %zu", RP_REASONS_MAX, o->reasons);
    return RP_OK;
}

static rp_status list_columns(rp_reasons *r, rp_error *err)
{
    r->order = rp_reallocarray(NULL, r->schema->n_columns + 1, sizeof *r->order);
    if (!r->order)
        return rp_no_memory(err);
    for (size_t i = 0; i < r->schema->n_columns; i++)
        if (r->schema->columns[i].kind != RP_COL_IGNORE)
            r->order[r->columns++] = i;
    return RP_OK;
}

static rp_status open(rp_reasons *r, const rp_archive *archive, const rp_scoring *s, const rp_job_options *job,
                      rp_error *err)
{
    const rp_predict_options *o = r->options;
    double cutoff = 0;
    rp_status status = look(o, err);

    if (status == RP_OK && o->cutoff_reference)
        status = read_cutoff(&cutoff, s, o, err);
    if (status == RP_OK)
        status = list_columns(r, err);
    if (status == RP_OK)
        status = rp_margin_new(&r->margin, s, o->favourable, err);
    if (status == RP_OK)
        status =
            rp_background_new(&r->background, archive, s, &r->margin, o->cutoff_reference ? &cutoff : NULL, job, err);
    return status == RP_OK ? rp_attribution_new(&r->attribution, s, &r->margin, &r->background,
                                                o->steps ? o->steps : RP_STEPS_DEFAULT, job, err)
                           : status;
}

rp_status rp_reasons_new(rp_reasons **out, const rp_archive *archive, const rp_scoring *s,
                         const rp_predict_options *options, const rp_job_options *job, rp_prediction *p, rp_error *err)
{
    rp_reasons *r = rp_calloc(1, sizeof *r);
    const char *favourable;
    rp_status status;

    *out = NULL;
    if (!r)
        return rp_no_memory(err);
    r->schema = s->schema;
    r->options = options;
    status = open(r, archive, s, job, err);
    if (status != RP_OK) {
        rp_reasons_free(r);
        return status;
    }
    p->method = r->margin.linear ? "shapley" : "integrated gradients";
    p->reference_rows = r->background.rows;
    p->steps = r->margin.linear ? 0 : options->steps ? options->steps : RP_STEPS_DEFAULT;
    favourable = s->schema->classes     ? s->schema->class_name[r->margin.favourable]
                 : r->margin.favourable ? "high"
                                        : "low";
    (void)snprintf(p->favourable, sizeof p->favourable, "%.*s", rp_fits(favourable, sizeof p->favourable - 1),
                   favourable);
    (void)rp_print_f64(p->reference_margin, rp_attribution_start(r->attribution));
    if (options->cutoff_reference)
        (void)rp_print_f64(p->reference_to, r->background.highest);
    *out = r;
    return RP_OK;
}

void rp_reasons_free(rp_reasons *r)
{
    if (!r)
        return;
    rp_attribution_free(r->attribution);
    rp_background_clear(&r->background);
    rp_margin_clear(&r->margin);
    rp_free(r->order);
    rp_free(r);
}

/* ---- cells ---- */

static const char *name_of(const rp_reasons *r, size_t column, char number[24])
{
    if (r->schema->columns[column].name)
        return r->schema->columns[column].name;
    (void)snprintf(number, 24, "%zu", column);
    return number;
}

bool rp_reasons_named(const rp_predict_options *o, const char *name)
{
    char own[32];

    for (size_t k = 1; k <= o->reasons; k++) {
        (void)snprintf(own, sizeof own, "reason_%zu", k);
        if (strcmp(name, own) == 0)
            return true;
        (void)snprintf(own, sizeof own, "contribution_%zu", k);
        if (strcmp(name, own) == 0)
            return true;
    }
    return strcmp(name, "margin") == 0 || strcmp(name, "gap") == 0 || (o->contributions && strncmp(name, "c_", 2) == 0);
}

static void put_header_of(const rp_reasons *r, size_t column, rp_buffer *out, rp_buffer *text)
{
    char number[24];

    text->size = 0;
    rp_buffer_text(text, "c_");
    rp_buffer_text(text, name_of(r, column, number));
    rp_buffer_u8(text, 0);
    if (!text->failed)
        rp_predictions_cell(out, (const char *)text->data);
    out->failed |= text->failed;
}

void rp_reasons_header(const rp_reasons *r, rp_buffer *out)
{
    rp_buffer text = {0};

    for (size_t k = 1; k <= r->options->reasons; k++)
        rp_buffer_printf(out, ",reason_%zu,contribution_%zu", k, k);
    for (size_t i = 0; r->options->contributions && i < r->columns; i++)
        put_header_of(r, r->order[i], out, &text);
    rp_buffer_text(out, ",margin,gap");
    rp_buffer_free(&text);
}

static void put_number(rp_buffer *out, double x)
{
    char text[RP_DECIMAL_SIZE];

    (void)rp_print_f64(text, x);
    rp_predictions_cell(out, text);
}

/* Contributions nearer to 0 are rounding: a column that is as the reference's would else be given as a reason. */
static double noise(const rp_reasons *r, const double *value)
{
    double largest = 0;

    for (size_t i = 0; i < r->columns; i++) {
        const double size = value[r->order[i]] < 0 ? -value[r->order[i]] : value[r->order[i]];

        largest = size > largest ? size : largest;
    }
    return largest * 0x1p-20;
}

/* The k-th lowest contribution below -least that is none of those marked; the columns' number when there is none. */
static size_t next_reason(const rp_reasons *r, const double *value, double least, const size_t *taken, size_t k)
{
    size_t best = r->columns;

    for (size_t i = 0; i < r->columns; i++) {
        bool used = !(value[r->order[i]] < -least);

        for (size_t j = 0; j < k && !used; j++)
            used = taken[j] == i;
        if (!used && (best == r->columns || value[r->order[i]] < value[r->order[best]]))
            best = i;
    }
    return best;
}

static void put_reasons(const rp_reasons *r, const double *value, rp_buffer *out)
{
    const double least = noise(r, value);
    size_t taken[RP_REASONS_MAX];

    for (size_t k = 0; k < r->options->reasons; k++) {
        char number[24];

        taken[k] = next_reason(r, value, least, taken, k);
        if (taken[k] == r->columns) {
            rp_buffer_text(out, ",,");
            continue;
        }
        rp_predictions_cell(out, name_of(r, r->order[taken[k]], number));
        put_number(out, value[r->order[taken[k]]]);
    }
}

rp_status rp_reasons_put(rp_reasons *r, size_t row, rp_buffer *out, rp_prediction *p, rp_error *err)
{
    const double *value;
    double margin, gap, size;
    rp_status status = rp_attribution_row(r->attribution, row, &value, &margin, &gap, err);

    if (status != RP_OK)
        return status;
    put_reasons(r, value, out);
    for (size_t i = 0; r->options->contributions && i < r->columns; i++)
        put_number(out, value[r->order[i]]);
    put_number(out, margin);
    put_number(out, gap);
    size = gap < 0 ? -gap : gap;
    if (row == 0 || size > r->largest) {
        r->largest = size;
        (void)rp_print_f64(p->largest_gap, size);
    }
    return RP_OK;
}
