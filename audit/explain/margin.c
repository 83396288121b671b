/* SPDX-License-Identifier: Apache-2.0
 * The margin: log odds of a class, a logit less the others' mean, a predictor, or a value in the target's units. */
#include "audit/explain/margin.h"

#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "core/data/schema.h"
#include "determinism/bits.h"
#include "determinism/fpenv.h"

static rp_status find_favourable(rp_margin *m, const rp_schema *schema, const char *name, rp_error *err)
{
    char classes[RP_CLASSES_SIZE], quoted[64];

    m->favourable = schema->classes ? schema->classes - 1 : 1;
    if (!name)
        return RP_OK;
    (void)rp_printable(quoted, sizeof quoted, name, strlen(name));
    if (!schema->classes) {
        m->favourable = strcmp(name, "high") == 0;
        return m->favourable || strcmp(name, "low") == 0
                   ? RP_OK
                   : rp_fail(err, RP_EARG, "favourable: expected high or low of a regression, found \"%s\"", quoted);
    }
    for (size_t k = 0; k < schema->classes; k++)
        if (strcmp(schema->class_name[k], name) == 0) {
            m->favourable = k;
            return RP_OK;
        }
    return rp_fail(err, RP_EARG, "favourable: expected %s, found \"%s\"", rp_schema_classes(classes, schema), quoted);
}

static void find_unit(rp_margin *m, const rp_schema *schema)
{
    m->unit = 1;
    for (size_t i = 0; i < schema->n_columns; i++)
        if (schema->columns[i].target && schema->columns[i].standardize) {
            m->unit = schema->columns[i].divisor;
            m->start = schema->columns[i].mean;
        }
}

static void find_direction(rp_margin *m, size_t outputs)
{
    if (outputs == 1)
        m->direction[0] = m->favourable ? 1 : -1;
    else
        for (size_t k = 0; k < outputs; k++)
            m->direction[k] = k == m->favourable ? 1 : -1 / (double)(outputs - 1);
}

/* All elements of a parameter as binary64, to be freed. */
static rp_status read_parameter(double **out, const rp_scoring *s, const rp_parameter *p, rp_error *err)
{
    size_t n = 1;
    rp_status status;

    for (int i = 0; i < p->rank; i++)
        n *= p->shape[i];
    *out = rp_reallocarray(NULL, n, sizeof **out);
    status = *out ? rp_tensor_set_read_host(s->weights, rp_tensor_set_find(s->weights, p->name), *out, err)
                  : rp_no_memory(err);
    if (status == RP_OK && s->model.dtype == RP_F32)
        rp_widen(*out, n);
    return status;
}

/* The sum over the outputs, left to right, of what each counts. */
static double along(const rp_margin *m, const double *logit, size_t outputs)
{
    double sum = m->direction[0] * logit[0];

    for (size_t k = 1; k < outputs; k++)
        sum = sum + m->direction[k] * logit[k];
    return sum;
}

static rp_status read_linear(rp_margin *m, const rp_scoring *s, rp_error *err)
{
    const size_t outputs = s->model.outputs;
    double *weight = NULL, *bias = NULL;
    rp_status status = read_parameter(&weight, s, &s->model.parameter[0], err);

    if (status == RP_OK)
        status = read_parameter(&bias, s, &s->model.parameter[1], err);
    m->weight = rp_reallocarray(NULL, s->model.features, sizeof *m->weight);
    if (status == RP_OK && !m->weight)
        status = rp_no_memory(err);
    for (size_t j = 0; status == RP_OK && j < s->model.features; j++)
        m->weight[j] = along(m, weight + j * outputs, outputs) * m->unit;
    if (status == RP_OK)
        m->bias = along(m, bias, outputs) * m->unit + m->direction[0] * m->start;
    rp_free(weight);
    rp_free(bias);
    return status;
}

rp_status rp_margin_new(rp_margin *out, const rp_scoring *s, const char *favourable, rp_error *err)
{
    rp_fpenv saved;
    rp_status status;

    *out = (rp_margin){.linear =
                           s->recipe->model.n_hidden == 0 && s->recipe->model.n_conv == 0 && !s->recipe->program.named};
    status = rp_fpenv_enter(&saved, NULL, err);
    if (status != RP_OK)
        return status;
    status = find_favourable(out, s->schema, favourable, err);
    find_unit(out, s->schema);
    if (status == RP_OK && !(out->direction = rp_reallocarray(NULL, s->model.outputs, sizeof *out->direction)))
        status = rp_no_memory(err);
    if (status == RP_OK)
        find_direction(out, s->model.outputs);
    if (status == RP_OK && out->linear)
        status = read_linear(out, s, err);
    rp_fpenv_leave(&saved);
    if (status != RP_OK)
        rp_margin_clear(out);
    return status;
}

void rp_margin_clear(rp_margin *m)
{
    rp_free(m->direction);
    rp_free(m->weight);
    m->direction = m->weight = NULL;
}

double rp_margin_of(const rp_margin *m, const float *logits, size_t outputs)
{
    double sum = m->direction[0] * (double)logits[0];

    for (size_t k = 1; k < outputs; k++)
        sum = sum + m->direction[k] * (double)logits[k];
    return sum * m->unit + m->direction[0] * m->start;
}

double rp_margin_score(const rp_margin *m, const rp_scoring *s, const double *scores)
{
    if (s->schema->classes && s->model.outputs == 1)
        return m->favourable ? scores[0] : 1 - scores[0];
    return s->schema->classes ? scores[m->favourable] : scores[0];
}

bool rp_margin_passes(const rp_margin *m, const rp_scoring *s, double score, double cutoff)
{
    return !s->schema->classes && !m->favourable ? score <= cutoff : score >= cutoff;
}
