/* SPDX-License-Identifier: Apache-2.0
 * What is asked of a model: values of parameters; and by steps that train nothing the mean loss of rows, what a
 * function of it gives for them, or for tensors of the caller's. */
#include <stdio.h>
#include <string.h>

#include "base/handle.h"
#include "base/memory.h"
#include "core/nn/nn_private.h"
#include "core/run/slots.h"
#include "determinism/fpenv.h"

static rp_status read(rp_nn *nn, const char *name, void *bytes, size_t size, rp_error *err)
{
    rp_status status = rp_nn_begin(nn, err);

    if (status == RP_OK && !rp_nn_find(nn, name))
        status = rp_fail(err, RP_EARG, "rp_nn_read: there is no parameter %.96s", name);
    return status == RP_OK ? rp_run_get_state(nn->run, name, bytes, size, err) : status;
}

rp_status rp_nn_read(rp_nn *nn, const char *name, void *bytes, size_t size, rp_error *err)
{
    if (!nn)
        return rp_no_handle(err, __func__, "nn");
    if (nn->status != RP_OK)
        return rp_nn_told(nn, err);
    return rp_nn_keep(nn, read(nn, name, bytes, size, &nn->error), err);
}

typedef struct task {
    nn_mode mode;
    rp_nn_forward *forward;
    void *self;
    size_t first, rows;
    double sum;         /* of losses, each times its rows */
    unsigned char *out; /* of outputs */
    size_t size;        /* bytes of a row's */
} task;

static rp_status one_batch(rp_nn *nn, task *t, int64_t *row, size_t begin, size_t count, rp_error *err)
{
    nn_step step = {.mode = t->mode, .forward = t->forward, .self = t->self};
    float loss = 0;
    rp_status status;

    for (size_t i = 0; i < count; i++)
        row[i] = (int64_t)(t->first + begin + i);
    status = rp_nn_rows_feed(nn, &step, row, count, err);
    if (status != RP_OK)
        return status;
    if (t->mode == NN_OUTPUT)
        return rp_nn_execute(nn, &step, "output", t->out + begin * t->size, count * t->size, err);
    status = rp_nn_execute(nn, &step, "loss", &loss, sizeof loss, err);
    t->sum += (double)loss * (double)count;
    return status;
}

static rp_status batches(rp_nn *nn, task *t, rp_error *err)
{
    const size_t batch = (size_t)nn->batch;
    int64_t *row = rp_reallocarray(NULL, batch, sizeof *row);
    rp_status status = row ? RP_OK : rp_no_memory(err);

    for (size_t begin = 0; begin < t->rows && status == RP_OK; begin += batch) {
        const size_t left = t->rows - begin;

        status = one_batch(nn, t, row, begin, left < batch ? left : batch, err);
    }
    rp_free(row);
    return status;
}

static rp_status over_rows(rp_nn *nn, task *t, const char *call, rp_error *err)
{
    rp_fpenv saved;
    rp_status status = rp_nn_begin(nn, err);

    if (status == RP_OK &&
        (t->rows == 0 || t->first >= rp_nn_rows_count(nn) || t->rows > rp_nn_rows_count(nn) - t->first))
        status = rp_fail(err, RP_EARG, "%s: rows from %zu on, %zu of them, but there are %llu", call, t->first, t->rows,
                         (unsigned long long)rp_nn_rows_count(nn));
    if (status == RP_OK)
        status = rp_fpenv_enter(&saved, NULL, err);
    if (status != RP_OK)
        return status;
    status = batches(nn, t, err);
    t->sum /= (double)t->rows;
    rp_fpenv_leave(&saved);
    return status;
}

static rp_status evaluate(rp_nn *nn, task *t, double *mean, rp_error *err)
{
    rp_status status = over_rows(nn, t, "rp_nn_evaluate", err);

    if (status == RP_OK && mean)
        *mean = t->sum;
    return status;
}

rp_status rp_nn_evaluate(rp_nn *nn, rp_nn_forward *forward, void *self, size_t first, size_t rows, double *mean,
                         rp_error *err)
{
    if (!nn)
        return rp_no_handle(err, __func__, "nn");
    if (nn->status != RP_OK)
        return rp_nn_told(nn, err);
    return rp_nn_keep(nn,
                      evaluate(nn,
                               &(task){.mode = NN_LOSS,
                                       .forward = forward ? forward : nn->forward,
                                       .self = forward ? self : nn->self,
                                       .first = first,
                                       .rows = rows},
                               mean, &nn->error),
                      err);
}

static rp_status predict(rp_nn *nn, task *t, size_t size, rp_error *err)
{
    if (!t->forward || !t->out || t->rows == 0 || size % t->rows)
        return rp_fail(err, RP_EARG,
                       "rp_nn_predict: expected a function, and room for rows of the same size; found "
                       "%zu bytes for %zu rows",
                       size, t->rows);
    t->size = size / t->rows;
    return over_rows(nn, t, "rp_nn_predict", err);
}

rp_status rp_nn_predict(rp_nn *nn, rp_nn_forward *forward, void *self, size_t first, size_t rows, void *out,
                        size_t size, rp_error *err)
{
    if (!nn)
        return rp_no_handle(err, __func__, "nn");
    if (nn->status != RP_OK)
        return rp_nn_told(nn, err);
    return rp_nn_keep(
        nn,
        predict(nn,
                &(task){.mode = NN_OUTPUT, .forward = forward, .self = self, .first = first, .rows = rows, .out = out},
                size, &nn->error),
        err);
}

static rp_status take_inputs(nn_step *step, const rp_nn_input *input, size_t n, rp_error *err)
{
    if (n > NN_FIELDS)
        return rp_fail(err, RP_EARG, "rp_nn_apply: at most %d inputs, found %zu", (int)NN_FIELDS, n);
    for (size_t i = 0; i < n; i++) {
        rp_type type;
        rp_status status = rp_type_make(&type, input[i].dtype, input[i].rank, input[i].shape, err);

        if (status != RP_OK)
            return status;
        if (!input[i].name || !*input[i].name || strlen(input[i].name) >= RP_NAME_MAX || !input[i].bytes)
            return rp_fail(err, RP_EARG, "rp_nn_apply: input %zu: a name of 1 to %d bytes, and elements", i,
                           RP_NAME_MAX - 1);
        for (size_t k = 0; k < i; k++)
            if (strcmp(input[k].name, input[i].name) == 0)
                return rp_fail(err, RP_EARG,
                               "rp_nn_apply: inputs %zu and %zu are both called %s: give each its own name", k, i,
                               input[i].name);
        rp_nn_add_feed(step, input[i].name, &type, input[i].bytes);
    }
    return RP_OK;
}

static rp_status apply(rp_nn *nn, nn_step *step, const rp_nn_input *input, size_t n, void *out, size_t size,
                       rp_error *err)
{
    rp_fpenv saved;
    rp_status status = step->forward ? rp_nn_begin(nn, err) : rp_fail(err, RP_EARG, "rp_nn_apply: forward is NULL");

    if (status == RP_OK)
        status = take_inputs(step, input, n, err);
    if (status == RP_OK)
        status = rp_fpenv_enter(&saved, NULL, err);
    if (status != RP_OK)
        return status;
    status = rp_nn_execute(nn, step, "output", out, size, err);
    rp_fpenv_leave(&saved);
    return status;
}

rp_status rp_nn_apply(rp_nn *nn, rp_nn_forward *forward, void *self, const rp_nn_input *input, size_t n, void *out,
                      size_t size, rp_error *err)
{
    nn_step step = {.mode = NN_OUTPUT, .forward = forward, .self = self};

    if (!nn)
        return rp_no_handle(err, __func__, "nn");
    if (nn->status != RP_OK)
        return rp_nn_told(nn, err);
    return rp_nn_keep(nn, apply(nn, &step, input, n, out, size, &nn->error), err);
}
