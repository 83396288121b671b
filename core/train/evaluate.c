/* SPDX-License-Identifier: Apache-2.0
 * Evaluation by blocks of rows: of a run's data as a map over them, of other rows a block at a time. No row sees
 * another, and the loss is summed over all of them afterwards, so the blocks change no bit. */
#include "core/train/evaluate.h"

#include "base/memory.h"
#include "core/program/function.h"
#include "determinism/bits.h"
#include "determinism/fpenv.h"

/* ---- data of the run ---- */

/* Operands of the map: what is cut, then the weights. */
typedef struct operands {
    rp_tensor sliced[3], weight[RP_MAX_PARAMETERS];
    size_t n_sliced; /* 3 where rows have weights */
} operands;

enum { LOSSES, SCORES, VALUES };

static void evaluate_rows(const rp_model *m, const rp_tensor *weight, const rp_tensor *cut, rp_tensor *value)
{
    rp_tensor logits = rp_model_forward(m, weight, cut[0], rp_no_tensor(), 0);

    value[LOSSES] = rp_model_row_losses(m, logits, cut[1], cut[2]);
    value[SCORES] = rp_model_scores(m, logits);
}

/* The function of a block of `rows` rows; NULL: the graph that calls it has failed. */
static rp_function *block_function(const rp_model *m, const operands *o, size_t rows, rp_graph *outer)
{
    rp_graph *g = rp_graph_new(NULL);
    rp_tensor cut[3] = {rp_no_tensor(), rp_no_tensor(), rp_no_tensor()}, weight[RP_MAX_PARAMETERS], value[VALUES];
    rp_function *f = NULL;
    rp_error err = {0};
    rp_status status;

    if (!g) {
        rp_graph_fail(outer, RP_ENOMEM, "out of memory");
        return NULL;
    }
    (void)rp_function_parameter(g, &(rp_type){.dtype = RP_I64}); /* the block's number */
    for (size_t i = 0; i < o->n_sliced; i++) {
        rp_type type = *rp_tensor_type(o->sliced[i]);

        type.shape[0] = rows;
        cut[i] = rp_function_parameter(g, &type);
    }
    for (size_t i = 0; i < m->n_parameters; i++)
        weight[i] = rp_function_parameter(g, rp_tensor_type(o->weight[i]));
    evaluate_rows(m, weight, cut, value);
    for (size_t i = 0; i < VALUES; i++)
        rp_function_return(g, value[i]);
    status = rp_function_finish(g, &f, &err);
    if (status != RP_OK)
        rp_graph_fail(outer, status, "blocks of %zu rows: %s", rows, err.text);
    return f;
}

/* 1,024, or as many more as regions want that may not have more blocks (CONTRACT 12.7). */
static size_t rows_of_block(size_t rows)
{
    const size_t most = (size_t)RP_BLOCK_ROWS * RP_REGION_OPERANDS_MAX;

    return RP_BLOCK_ROWS * ((rows + most - 1) / most);
}

/* The last block may be shorter; there are two at least. */
static rp_status map_blocks(const rp_model *m, rp_graph *g, const operands *o, size_t rows, rp_tensor *value,
                            rp_error *err)
{
    static const rp_combine combine[VALUES] = {RP_COMBINE_CONCAT, RP_COMBINE_CONCAT};
    const size_t block = rows_of_block(rows), rest = rows % block, blocks = rows / block + (rest > 0);
    uint64_t *cuts = rp_reallocarray(NULL, blocks + 1, sizeof *cuts);
    rp_function *f[2] = {NULL, NULL};
    size_t n = 0;

    if (!cuts)
        return rp_no_memory(err);
    for (size_t i = 0; i < blocks; i++)
        cuts[i] = i * block;
    cuts[blocks] = rows;
    if (rest)
        f[n++] = block_function(m, o, rest, g);
    f[n++] = block_function(m, o, block, g);
    rp_map(g,
           &(rp_map_options){.function = (const rp_function *const[]){f[0], f[1]},
                             .n_function = n,
                             .sliced = o->sliced,
                             .n_sliced = o->n_sliced,
                             .shared = o->weight,
                             .n_shared = m->n_parameters,
                             .cuts = cuts,
                             .n_cuts = blocks + 1,
                             .combine = combine,
                             .n_combine = VALUES},
           value);
    rp_function_free(f[0]);
    rp_function_free(f[1]);
    rp_free(cuts);
    return RP_OK;
}

static double divisor(const rp_part *part)
{
    return part->total > 0 ? part->total : (double)part->rows;
}

static rp_status by_blocks(const rp_model *m, const rp_run *run, rp_graph *g, const rp_tensor *weight,
                           const rp_part *part, rp_tensor *loss, rp_tensor *scores, rp_error *err)
{
    operands o = {.n_sliced = 2};
    rp_tensor value[VALUES];
    rp_status status;

    o.sliced[0] = rp_graph_data(g, run, part->x);
    o.sliced[1] = rp_graph_data(g, run, part->y);
    if (m->weighted)
        o.sliced[o.n_sliced++] = rp_graph_data(g, run, part->w);
    for (size_t i = 0; i < m->n_parameters; i++) { /* their types are asked for */
        o.weight[i] = weight[i];
        if (!rp_tensor_ok(weight[i]))
            return RP_OK;
    }
    for (size_t i = 0; i < o.n_sliced; i++)
        if (!rp_tensor_ok(o.sliced[i]))
            return RP_OK;
    status = map_blocks(m, g, &o, part->rows, value, err);
    if (status != RP_OK)
        return status;
    *loss = rp_model_loss(value[LOSSES], divisor(part));
    if (scores)
        *scores = value[SCORES];
    return RP_OK;
}

static void whole(const rp_model *m, const rp_run *run, rp_graph *g, const rp_tensor *weight, const rp_part *part,
                  rp_tensor *loss, rp_tensor *scores)
{
    rp_tensor logits = rp_model_forward(m, weight, rp_graph_data(g, run, part->x), rp_no_tensor(), 0);
    rp_tensor y = rp_graph_data(g, run, part->y);
    rp_tensor w = m->weighted ? rp_graph_data(g, run, part->w) : rp_no_tensor();
    rp_tensor losses = rp_model_row_losses(m, logits, y, w);

    *loss = rp_model_loss(losses, divisor(part));
    if (scores)
        *scores = rp_model_scores(m, logits);
}

rp_status rp_evaluate_part(const rp_model *m, const rp_run *run, rp_graph *g, const rp_tensor *weight,
                           const rp_part *part, rp_tensor *loss, rp_tensor *scores, rp_error *err)
{
    *loss = rp_no_tensor();
    if (scores)
        *scores = rp_no_tensor();
    if (part->rows > RP_BLOCK_ROWS)
        return by_blocks(m, run, g, weight, part, loss, scores, err);
    whole(m, run, g, weight, part, loss, scores);
    return RP_OK;
}

rp_status rp_evaluation(const rp_model *m, const rp_run *run, rp_graph *g, const rp_part *part, rp_error *err)
{
    rp_tensor weight[RP_MAX_PARAMETERS], loss, scores;
    rp_status status;

    rp_model_weights(m, run, g, weight);
    status = rp_evaluate_part(m, run, g, weight, part, &loss, &scores, err);
    if (status != RP_OK)
        return status;
    rp_graph_set(g, RP_OUTPUT_RESULT, "loss", loss);
    rp_graph_set(g, RP_OUTPUT_RESULT, "scores", scores);
    return RP_OK;
}

rp_status rp_evaluation_scores(const rp_compiled *compiled, double *scores, rp_error *err)
{
    rp_device_tensor result;
    rp_status status;

    (void)rp_compiled_result(compiled, "scores", &result);
    status = rp_device_tensor_read(&result, scores, err);
    if (status == RP_OK && result.type.dtype == RP_F32)
        rp_widen(scores, rp_type_count(&result.type));
    return status;
}

/* ---- other rows ---- */

struct rp_scorer {
    const rp_model *model;
    rp_run *run;
    rp_compiled *full, *rest; /* blocks of RP_BLOCK_ROWS; of rest_rows, another number */
    size_t rest_rows;
};

rp_status rp_scorer_new(rp_scorer **out, const rp_model *model, rp_run *run, rp_error *err)
{
    rp_scorer *s = rp_calloc(1, sizeof *s);

    *out = s;
    if (!s)
        return rp_no_memory(err);
    s->model = model;
    s->run = run;
    return RP_OK;
}

void rp_scorer_free(rp_scorer *s)
{
    if (!s)
        return;
    rp_compiled_free(s->full);
    rp_compiled_free(s->rest);
    rp_free(s);
}

static rp_status compile_block(rp_compiled **out, const rp_scorer *s, size_t rows, rp_error *err)
{
    const rp_type type = {.dtype = s->model->dtype, .rank = 2, .shape = {rows, s->model->features}};
    rp_graph *g = rp_graph_new(NULL);
    rp_tensor weight[RP_MAX_PARAMETERS], x, logits;

    if (!g)
        return rp_no_memory(err);
    x = rp_graph_input(g, RP_INPUT_FEED, "x", &type, NULL);
    rp_model_weights(s->model, s->run, g, weight);
    logits = rp_model_forward(s->model, weight, x, rp_no_tensor(), 0);
    rp_graph_set(g, RP_OUTPUT_RESULT, "scores", rp_model_scores(s->model, logits));
    return rp_run_compile_graph(out, s->run, g, err);
}

static rp_status compiled_of(rp_scorer *s, size_t rows, rp_compiled **out, rp_error *err)
{
    rp_compiled **place = rows == RP_BLOCK_ROWS ? &s->full : &s->rest;
    rp_status status = RP_OK;

    if (place == &s->rest && s->rest_rows != rows) {
        rp_compiled_free(s->rest);
        s->rest = NULL;
        s->rest_rows = rows;
    }
    if (!*place)
        status = compile_block(place, s, rows, err);
    *out = *place;
    return status;
}

rp_status rp_scorer_price(rp_scorer *s, size_t rows, rp_price *price, rp_error *err)
{
    rp_compiled *c;
    rp_status status = compiled_of(s, rows, &c, err);

    if (status == RP_OK)
        *price = rp_program_price(rp_compiled_program(c));
    return status;
}

rp_status rp_scorer_score(rp_scorer *s, const void *x, size_t rows, double *scores, rp_error *err)
{
    rp_device_tensor feed;
    rp_compiled *c;
    rp_fpenv saved;
    rp_status status = rp_fpenv_enter(&saved, NULL, err);

    if (status != RP_OK)
        return status;
    status = compiled_of(s, rows, &c, err);
    if (status == RP_OK && rp_compiled_feed(c, "x", &feed))
        status = rp_device_tensor_write(&feed, x, err);
    if (status == RP_OK)
        status = rp_compiled_step(c, err);
    if (status == RP_OK)
        status = rp_evaluation_scores(c, scores, err);
    rp_fpenv_leave(&saved);
    return status;
}
