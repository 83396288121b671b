/* SPDX-License-Identifier: Apache-2.0
 * Which rows a step sees: a pure function of seed, epoch and position (CONTRACT 16.2), so that nothing has to be kept
 * to go on; and what the model's function gets of them. */
#include <string.h>

#include "base/handle.h"
#include "base/memory.h"
#include "core/nn/nn_private.h"
#include "determinism/philox.h"

uint64_t rp_nn_rows_count(const rp_nn *nn)
{
    return nn->fields ? nn->field[0].rows : 0;
}

rp_status rp_nn_rows_ready(rp_nn *nn, rp_error *err)
{
    const rp_nn_batches *b = &nn->batches;
    const uint64_t all = rp_nn_rows_count(nn), most = UINT64_C(1) << 32;

    if (all == 0)
        return rp_fail(err, RP_EARG, "a model is trained on fields: rp_nn_array, rp_nn_file or rp_nn_text before it");
    if (b->first >= all || b->rows > all - b->first)
        return rp_fail(err, RP_EARG, "rp_nn_new: batches: training rows from %zu on, %zu of them, but there are %llu",
                       b->first, b->rows, (unsigned long long)all);
    nn->training_rows = b->rows ? b->rows : all - b->first;
    if (nn->training_rows > most)
        return rp_fail(err, RP_EUNSUPPORTED, "at most 2^32 training rows, found %llu",
                       (unsigned long long)nn->training_rows);
    nn->batch = b->batch ? b->batch : 32;
    if (nn->batch > nn->training_rows)
        nn->batch = nn->training_rows;
    nn->per_epoch = nn->training_rows / nn->batch;
    if (!b->drop_last && nn->training_rows % nn->batch)
        nn->per_epoch++;
    nn->order = rp_reallocarray(nn->order, (size_t)nn->training_rows, sizeof *nn->order);
    return nn->order ? RP_OK : rp_no_memory(err);
}

static void make_order(rp_nn *nn, uint64_t epoch)
{
    const size_t n = (size_t)nn->training_rows;

    if (nn->epoch == epoch)
        return;
    if (nn->batches.in_order)
        for (size_t i = 0; i < n; i++)
            nn->order[i] = (int64_t)i;
    else
        rp_permutation(nn->order, n, nn->seed, epoch, NN_STREAM_ORDER);
    for (size_t i = 0; i < n; i++)
        nn->order[i] += (int64_t)nn->batches.first;
    nn->epoch = epoch;
}

rp_status rp_nn_rows_of_step(rp_nn *nn, uint64_t t, const int64_t **row, size_t *count, rp_error *err)
{
    const uint64_t epoch = (t - 1) / nn->per_epoch, begin = (t - 1) % nn->per_epoch * nn->batch;
    const uint64_t left = nn->training_rows - begin;

    if (epoch >> 48)
        return rp_fail(err, RP_EARG, "more than 2^48 epochs");
    make_order(nn, epoch);
    *row = nn->order + begin;
    *count = (size_t)(left < nn->batch ? left : nn->batch);
    return RP_OK;
}

rp_status rp_nn_rows_feed(rp_nn *nn, nn_step *step, const int64_t *row, size_t count, rp_error *err)
{
    const rp_type numbers = {.dtype = RP_I64, .rank = 1, .shape = {count}};
    rp_status status = RP_OK;
    bool bound = false;

    step->of_fields = true;
    for (size_t i = 0; i < nn->fields; i++)
        bound = bound || nn->field[i].bound;
    if (bound)
        rp_nn_add_feed(step, "rows", &numbers, row);
    for (size_t i = 0; i < nn->fields && status == RP_OK; i++)
        if (!nn->field[i].bound)
            status = rp_nn_field_feed(nn, &nn->field[i], step, row, count, err);
    return status;
}

/* Row r of tokens that are data: those at r * stride + 0, 1, ... */
static rp_tensor gather_tokens(rp_nn *nn, const nn_field *f, rp_tensor rows)
{
    const size_t count = rp_tensor_ok(rows) ? rp_tensor_type(rows)->shape[0] : 0;
    const rp_type type = {.dtype = RP_I32, .rank = 1, .shape = {f->held}};
    rp_tensor at = rp_scale(rp_reshape(rows, 2, (size_t[]){count, 1}), (double)f->stride);

    at = rp_add(at, rp_iota(nn->graph, RP_I64, f->row.shape[0]));
    return rp_gather(rp_nn_data(nn, f->name, &type), at, 0);
}

static rp_tensor gather_rows(rp_nn *nn, const nn_field *f, rp_tensor rows)
{
    rp_type type = {.dtype = f->row.dtype, .rank = f->row.rank + 1, .shape = {(size_t)f->rows}};

    memcpy(type.shape + 1, f->row.shape, (size_t)f->row.rank * sizeof *type.shape);
    return rp_gather(rp_nn_data(nn, f->name, &type), rows, 0);
}

void rp_nn_rows_tensors(rp_nn *nn, rp_tensor *batch)
{
    rp_tensor rows = rp_no_tensor();

    for (size_t i = 0; i < nn->fields; i++) {
        const nn_field *f = &nn->field[i];

        if (f->bound && !rows.graph)
            rows = rp_nn_feed(nn, "rows");
        if (!f->bound)
            batch[i] = rp_nn_feed(nn, f->name);
        else if (f->tokens)
            batch[i] = gather_tokens(nn, f, rows);
        else
            batch[i] = gather_rows(nn, f, rows);
    }
}

void rp_nn_rows_free(rp_nn *nn)
{
    for (size_t i = 0; i < nn->fields; i++)
        rp_nn_field_free(&nn->field[i]);
    rp_free(nn->order);
}
