/* SPDX-License-Identifier: Apache-2.0
 * The points of rows, one after the other, by the rule that makes the card's table. */
#include "audit/explain/points.h"

#include "audit/explain/card.h"
#include "base/memory.h"
#include "determinism/fpenv.h"

struct rp_points {
    rp_card card;
    void *encoded; /* [features] of the model's type */
    double *x;     /* the same, widened */
};

rp_status rp_points_new(rp_points **out, const rp_scoring *s, const rp_predict_options *options, rp_error *err)
{
    rp_points *p = rp_calloc(1, sizeof *p);
    rp_status status = p ? rp_card_new(&p->card, s, options->points, options->favourable, err) : rp_no_memory(err);

    *out = NULL;
    if (status == RP_OK) {
        p->encoded = rp_reallocarray(NULL, s->model.features, rp_dtype_size(s->model.dtype));
        p->x = rp_reallocarray(NULL, s->model.features, sizeof *p->x);
        status = p->encoded && p->x ? RP_OK : rp_no_memory(err);
    }
    if (status != RP_OK)
        rp_points_free(p);
    else
        *out = p;
    return status;
}

void rp_points_free(rp_points *p)
{
    if (!p)
        return;
    rp_card_clear(&p->card);
    rp_free(p->encoded);
    rp_free(p->x);
    rp_free(p);
}

rp_status rp_points_put(rp_points *p, size_t row, rp_buffer *out, rp_error *err)
{
    const rp_scoring *s = p->card.scoring;
    rp_status status = rp_rows_encode(s->rows, row, 1, p->encoded, err);
    int64_t points;
    rp_fpenv saved;

    if (status == RP_OK)
        status = rp_fpenv_enter(&saved, NULL, err);
    if (status != RP_OK)
        return status;
    for (size_t j = 0; j < s->model.features; j++)
        p->x[j] = s->model.dtype == RP_F64 ? ((const double *)p->encoded)[j] : (double)((const float *)p->encoded)[j];
    if (rp_card_row(&p->card, p->x, &points))
        rp_buffer_printf(out, ",%lld", (long long)points);
    else
        status = rp_fail(err, RP_EDATA,
                         "predict: data row %zu: a number so far out that it has no points; correct the cell, or train "
                         "with data.columns: {..: {cap: ..}} or bins",
                         row);
    rp_fpenv_leave(&saved);
    return status;
}
