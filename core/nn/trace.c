/* SPDX-License-Identifier: Apache-2.0
 * Writing a step's program: the model's function is called on a graph, symbolic or a run's eager step, between what the
 * step is fed and what it changes. Both ways append the same instructions. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/nn/nn_private.h"

static bool is_eager(const rp_nn *nn)
{
    return nn->graph->device != NULL;
}

void rp_nn_fail(rp_nn *nn, rp_status status, const char *format, ...)
{
    char text[RP_ERROR_TEXT];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (nn->graph)
        rp_graph_fail(nn->graph, status, "%s", text);
    else if (nn->status == RP_OK)
        nn->status = rp_fail(&nn->error, status, "%s", text);
}

rp_tensor rp_nn_state(rp_nn *nn, const char *name, const rp_type *type)
{
    return is_eager(nn) ? rp_state(nn->run, name) : rp_graph_declare(nn->graph, RP_INPUT_STATE, name, type);
}

rp_tensor rp_nn_data(rp_nn *nn, const char *name, const rp_type *type)
{
    return is_eager(nn) ? rp_data(nn->run, name) : rp_graph_declare(nn->graph, RP_INPUT_DATA, name, type);
}

static rp_tensor feed(rp_nn *nn, const nn_feed *f)
{
    return is_eager(nn) ? rp_feed(nn->run, f->name, f->type.dtype, f->type.rank, f->type.shape, f->bytes)
                        : rp_graph_declare(nn->graph, RP_INPUT_FEED, f->name, &f->type);
}

rp_tensor rp_nn_feed(rp_nn *nn, const char *name)
{
    for (size_t i = 0; i < nn->step->feeds; i++)
        if (strcmp(nn->step->feed[i].name, name) == 0)
            return feed(nn, &nn->step->feed[i]);
    rp_nn_fail(nn, RP_EARG, "the step has no feed %s", name);
    return rp_no_tensor();
}

void rp_nn_set_state(rp_nn *nn, const char *name, rp_tensor value)
{
    if (is_eager(nn))
        rp_set_state(nn->run, name, value);
    else
        rp_graph_update(nn->graph, name, value);
}

void rp_nn_result(rp_nn *nn, const char *name, rp_tensor value)
{
    if (is_eager(nn))
        rp_result(nn->run, name, value);
    else
        rp_graph_result(nn->graph, name, value);
}

rp_graph *rp_nn_graph(rp_nn *nn)
{
    return nn ? nn->graph : NULL;
}

bool rp_nn_training(const rp_nn *nn)
{
    return nn && nn->step && nn->step->mode <= NN_TRAIN;
}

/* {seed, training steps made}; in a training step itself {seed, its number}. */
static rp_tensor generator(rp_nn *nn)
{
    static const rp_type pair = {.dtype = RP_I64, .rank = 1, .shape = {2}};
    rp_tensor made = rp_nn_state(nn, NN_STEP_STATE, &pair);

    return nn->step->mode == NN_TRAIN ? rp_add(made, rp_iota(nn->graph, RP_I64, 2)) : made;
}

rp_tensor rp_nn_rng(rp_nn *nn)
{
    if (!nn || !nn->graph)
        return rp_no_tensor();
    rp_graph_at_work(nn->graph);
    if (!nn->rng.graph)
        nn->rng = generator(nn);
    return nn->rng;
}

int64_t rp_nn_stream(rp_nn *nn)
{
    return nn ? NN_STREAM_DRAWS + nn->stream++ : 0;
}

static void trace_initial(rp_nn *nn)
{
    rp_tensor rng = rp_nn_rng(nn);

    for (size_t i = 0; i < nn->parameters; i++) {
        const nn_parameter *p = &nn->parameter[i];

        if (!p->was_given)
            rp_nn_set_state(nn, p->name, rp_nn_initial(nn->graph, p, rng, (int64_t)i));
    }
}

/* A loss is one element; what has the form [1] is one, too. */
static rp_tensor scalar(rp_nn *nn, rp_tensor loss)
{
    if (!loss.graph && nn->graph->status == RP_OK)
        rp_nn_fail(nn, RP_EARG, "the model's function returned no tensor");
    if (!rp_tensor_ok(loss))
        return rp_no_tensor();
    if (rp_type_count(rp_tensor_type(loss)) != 1 || rp_tensor_type(loss)->dtype != RP_F32) {
        char found[192];

        rp_type_text(rp_tensor_type(loss), found, sizeof found);
        rp_nn_fail(nn, RP_ESHAPE, "the model's function returned %s, but a loss is one f32: a mean over the batch?",
                   found);
        return rp_no_tensor();
    }
    return rp_tensor_type(loss)->rank ? rp_reshape(loss, 0, NULL) : loss;
}

static rp_tensor call(rp_nn *nn)
{
    rp_tensor batch[NN_FEEDS] = {{0}}, out;

    if (nn->step->of_fields)
        rp_nn_rows_tensors(nn, batch);
    else
        for (size_t i = 0; i < nn->step->feeds; i++)
            batch[i] = feed(nn, &nn->step->feed[i]);
    out = nn->step->forward(nn, batch, nn->step->self);
    if (nn->scopes && nn->graph->status == RP_OK)
        rp_nn_fail(nn, RP_EARG, "scope %.60s is still open when the model's function returns: rp_nn_leave", nn->scope);
    return out;
}

static void trace_train(rp_nn *nn)
{
    rp_tensor next = rp_nn_rng(nn), loss = scalar(nn, call(nn));

    rp_nn_result(nn, "loss", loss);
    rp_nn_append_updates(nn, loss);
    rp_nn_set_state(nn, NN_STEP_STATE, next);
}

void rp_nn_trace(rp_nn *nn, rp_graph *graph, const nn_step *step)
{
    nn->graph = graph;
    nn->step = step;
    nn->scope[0] = '\0';
    nn->scopes = 0;
    nn->rng = rp_no_tensor();
    nn->stream = 0;
    nn->next = 0;
    for (size_t i = 0; i < nn->parameters; i++)
        nn->parameter[i].tensor = rp_no_tensor();
    if (step->mode == NN_INITIAL)
        trace_initial(nn);
    else if (step->mode == NN_TRAIN)
        trace_train(nn);
    else if (step->mode == NN_OUTPUT)
        rp_nn_result(nn, "output", call(nn));
    else
        rp_nn_result(nn, "loss", scalar(nn, call(nn)));
    nn->graph = NULL;
    nn->step = NULL;
}
