/* SPDX-License-Identifier: Apache-2.0
 * Predictions of new rows as CSV. */
#include "audit/replay/scoring.h"
#include "base/handle.h"
#include "core/train/train.h"

rp_status rp_predict(const rp_archive *archive, const void *csv, size_t size, const char *where,
                     const rp_job_options *options, char **out, size_t *length, rp_error *err)
{
    if (!archive) {
        *out = NULL;
        return rp_no_handle(err, __func__, "archive");
    }

    rp_scoring *s;
    rp_buffer text = {0};
    rp_status status;

    *out = NULL;
    *length = 0;
    status = rp_scoring_new(&s, archive, csv, size, where ? where : "table", false, NULL, options, err);
    if (status == RP_OK)
        status = rp_predictions_write(
            &text, &(rp_predicted_rows){&s->model, s->schema, s->scores, .rows = rp_rows_count(s->rows)}, err);
    rp_scoring_free(s);
    if (status != RP_OK) {
        rp_buffer_free(&text);
        return status;
    }
    *length = text.size;
    *out = (char *)text.data;
    return RP_OK;
}
