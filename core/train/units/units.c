/* SPDX-License-Identifier: Apache-2.0
 * Coefficients in the table's units as sums of multiples of those of the features: a product of standardised columns is
 * multiplied out. */
#include "core/train/units/units.h"

#include "base/memory.h"
#include "core/data/treat/feature.h"

void rp_units_clear(rp_units *u)
{
    rp_free(u->shift);
    rp_free(u->scale);
    rp_free(u->factor);
    rp_free(u->reference);
    *u = (rp_units){0};
}

static bool is_group(const rp_feature *f)
{
    return f->part == RP_FEATURE_CATEGORY || f->part == RP_FEATURE_MISSING || f->part == RP_FEATURE_OTHER ||
           f->part == RP_FEATURE_BIN;
}

static void describe(rp_units *u, const rp_schema *schema, size_t i, bool references)
{
    bool product;
    rp_feature second, f = rp_feature_of(schema, i - 1, &product, &second);
    const rp_schema_column *column = &schema->columns[f.column];

    u->scale[i] = 1;
    if (product) {
        u->factor[i][0] = 1 + column->at + f.group;
        u->factor[i][1] = 1 + schema->columns[second.column].at + second.group;
        u->scale[i] = u->scale[u->factor[i][0]] * u->scale[u->factor[i][1]];
        return;
    }
    if (f.part == RP_FEATURE_NUMBER && column->standardize) {
        u->shift[i] = column->mean;
        u->scale[i] = column->divisor;
    }
    if (references && is_group(&f))
        u->reference[i] = 1 + column->at;
}

rp_status rp_units_of(rp_units *out, const rp_schema *schema, bool references, rp_error *err)
{
    const size_t width = 1 + schema->features;

    *out = (rp_units){.width = width,
                      .shift = rp_calloc(width, sizeof *out->shift),
                      .scale = rp_calloc(width, sizeof *out->scale),
                      .factor = rp_calloc(width, sizeof *out->factor),
                      .reference = rp_calloc(width, sizeof *out->reference)};
    if (!out->shift || !out->scale || !out->factor || !out->reference) {
        rp_units_clear(out);
        return rp_no_memory(err);
    }
    out->scale[0] = 1;
    for (size_t i = 1; i < width; i++) /* products stand behind their factors */
        describe(out, schema, i, references);
    return RP_OK;
}

static double shift_of(const rp_units *u, size_t feature)
{
    return u->shift[feature] / u->scale[feature];
}

/* What products take away from the coefficient of one of their factors: of (a - s)(b - t) that of a is -t. */
static void add_products(const rp_units *u, size_t feature, double times, double *by)
{
    for (size_t p = feature + 1; p < u->width; p++)
        for (int k = 0; k < 2; k++)
            if (u->factor[p][k] == feature)
                by[p] = by[p] - times * (shift_of(u, u->factor[p][!k]) / u->scale[feature]);
}

/* The reference's coefficient, which products give it, is taken from all of its column and given to the intercept: in
 * each row one of them is 1. */
static void constant(const rp_units *u, double *by)
{
    for (size_t i = 1; i < u->width; i++)
        if (u->factor[i][0] == 0)
            by[i] = -shift_of(u, i);
        else
            by[i] = shift_of(u, u->factor[i][0]) * shift_of(u, u->factor[i][1]);
    for (size_t i = 1; i < u->width; i++)
        if (u->reference[i] == i)
            add_products(u, i, 1, by);
}

void rp_units_row(const rp_units *u, size_t feature, double *by)
{
    for (size_t i = 0; i < u->width; i++)
        by[i] = 0;
    by[feature] = 1 / u->scale[feature];
    if (feature == 0) {
        constant(u, by);
        return;
    }
    if (u->factor[feature][0] > 0)
        return;
    add_products(u, feature, 1, by);
    if (u->reference[feature] > 0)
        add_products(u, u->reference[feature], -1, by);
}
