/* SPDX-License-Identifier: Apache-2.0
 * The scale of a scorecard, and points by it. */
#include "audit/explain/card.h"

#include <string.h>

#include "determinism/decimal.h"
#include "determinism/fpenv.h"
#include "determinism/math.h"
#include "rp/explain.h"

static rp_status read_scale(rp_card *card, const char *scale, rp_error *err)
{
    double *const part[] = {&card->points, &card->odds, &card->twice};
    const char *at = scale;

    for (size_t i = 0; i < 3; i++) {
        const size_t length = strcspn(at, ":");

        if ((at[length] == ':') != (i < 2) || !rp_parse_f64(part[i], at, length) || !(*part[i] > 0) || *part[i] > 1e6)
            return rp_fail(err, RP_EARG,
                           "scale: expected POINTS:ODDS:DOUBLE, decimals above 0 and at most 1e6, as 600:19:50, found "
                           "\"%.40s\"",
                           scale);
        at += length + 1;
    }
    card->factor = card->twice / rp_log_f64(2);
    card->offset = card->points - card->factor * rp_log_f64(card->odds);
    return RP_OK;
}

static rp_status look(const rp_scoring *s, rp_error *err)
{
    if (s->schema->classes == 0)
        return rp_fail(err, RP_EUNSUPPORTED, "scorecard: expected a model of two classes, found a regression");
    if (s->schema->classes != 2 || s->model.outputs != 1)
        return rp_fail(err, RP_EUNSUPPORTED, "scorecard: expected a model of two classes with one score, found %zu",
                       s->schema->classes);
    if (s->recipe->model.n_hidden || s->recipe->model.n_conv)
        return rp_fail(err, RP_EUNSUPPORTED,
                       "scorecard: this model has hidden layers, whose columns have no points of their own; train a "
                       "recipe without model.hidden and model.conv");
    if (s->recipe->program.named)
        return rp_fail(err, RP_EUNSUPPORTED,
                       "scorecard: this model is a saved program, whose columns have no points of their own");
    if (s->schema->n_pairs)
        return rp_fail(err, RP_EUNSUPPORTED,
                       "scorecard: this model has products of columns (data.interactions), which have no place in a "
                       "table of one column's points");
    return RP_OK;
}

/* What is rounded must be a whole number afterwards. */
static rp_status look_at_size(const rp_card *card, rp_error *err)
{
    double most = rp_card_base(card);

    most = most < 0 ? -most : most;
    for (size_t j = 0; j < card->scoring->model.features; j++) {
        const double w = rp_card_exact(card, card->margin.weight[j]);

        most = w < 0 ? most - w : most + w;
    }
    return most < RP_CARD_MOST
               ? RP_OK
               : rp_fail(err, RP_EUNSUPPORTED,
                         "scorecard: weights of this size have no points: the classes are told apart without "
                         "a penalty? Give train.l2");
}

rp_status rp_card_new(rp_card *out, const rp_scoring *scoring, const char *scale, const char *favourable, rp_error *err)
{
    rp_status status = look(scoring, err);
    rp_fpenv saved;

    *out = (rp_card){.scoring = scoring};
    if (status == RP_OK)
        status = rp_fpenv_enter(&saved, NULL, err);
    if (status != RP_OK)
        return status;
    status = read_scale(out, scale ? scale : "600:19:50", err);
    if (status == RP_OK)
        status = rp_margin_new(&out->margin, scoring, favourable, err);
    if (status == RP_OK)
        status = look_at_size(out, err);
    if (status != RP_OK)
        rp_card_clear(out);
    rp_fpenv_leave(&saved);
    return status;
}

void rp_card_clear(rp_card *card)
{
    rp_margin_clear(&card->margin);
}

double rp_card_exact(const rp_card *card, double contribution)
{
    return card->factor * contribution;
}

double rp_card_base(const rp_card *card)
{
    return card->offset + card->factor * card->margin.bias;
}

/* Beyond 2^52 a binary64 is whole, so the sum is rounded by the rule of its arithmetic. */
int64_t rp_card_round(double exact)
{
    const volatile double shifted = exact + 0x1.8p52;

    return (int64_t)(shifted - 0x1.8p52);
}

double rp_card_column(const rp_card *card, const rp_schema_column *column, const double *x)
{
    double sum = 0;

    for (size_t j = column->at; j < column->at + column->width; j++)
        sum = sum + card->margin.weight[j] * x[j];
    return sum;
}

bool rp_card_fits(double exact)
{
    return exact > -RP_CARD_MOST && exact < RP_CARD_MOST;
}

bool rp_card_row(const rp_card *card, const double *x, int64_t *out)
{
    const rp_schema *schema = card->scoring->schema;

    *out = rp_card_round(rp_card_base(card));
    for (size_t c = 0; c < schema->n_columns; c++) {
        const bool feature = schema->columns[c].kind != RP_COL_IGNORE;
        const double exact = feature ? rp_card_exact(card, rp_card_column(card, &schema->columns[c], x)) : 0;

        if (!rp_card_fits(exact))
            return false;
        *out += rp_card_round(exact);
    }
    return true;
}
