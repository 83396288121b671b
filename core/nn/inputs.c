/* SPDX-License-Identifier: Apache-2.0
 * Inputs and outputs of the step that is being written, which is a symbolic graph or a run's eager step; and what a
 * model's function may ask of it. */
#include <string.h>

#include "core/nn/nn_private.h"

static bool is_eager(const rp_nn *nn)
{
    return nn->graph->device != NULL;
}

void rp_nn_add_feed(nn_step *step, const char *name, const rp_type *type, const void *bytes)
{
    nn_feed *f = &step->feed[step->feeds++];

    memcpy(f->name, name, strlen(name) + 1);
    f->type = *type;
    f->bytes = bytes;
}

rp_tensor rp_nn_state(rp_nn *nn, const char *name, const rp_type *type)
{
    return is_eager(nn) ? rp_state(nn->run, name) : rp_graph_declare(nn->graph, RP_INPUT_STATE, name, type);
}

rp_tensor rp_nn_data(rp_nn *nn, const char *name, const rp_type *type)
{
    return is_eager(nn) ? rp_data(nn->run, name) : rp_graph_declare(nn->graph, RP_INPUT_DATA, name, type);
}

rp_tensor rp_nn_feed_at(rp_nn *nn, const nn_feed *f)
{
    return is_eager(nn) ? rp_feed(nn->run, f->name, f->type.dtype, f->type.rank, f->type.shape, f->bytes)
                        : rp_graph_declare(nn->graph, RP_INPUT_FEED, f->name, &f->type);
}

rp_tensor rp_nn_feed(rp_nn *nn, const char *name)
{
    for (size_t i = 0; i < nn->step->feeds; i++)
        if (strcmp(nn->step->feed[i].name, name) == 0)
            return rp_nn_feed_at(nn, &nn->step->feed[i]);
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

bool rp_nn_peek(rp_nn *nn, rp_tensor x, void *bytes, size_t size)
{
    memset(bytes, 0, size);
    if (!nn || !nn->graph)
        return false;
    rp_graph_at_work(nn->graph);
    if (is_eager(nn))
        return rp_read(nn->run, x, bytes, size, NULL) == RP_OK;
    if (nn->step->mode != NN_DISCOVER)
        rp_nn_fail(nn, RP_EARG,
                   "rp_nn_peek: a compiled step has no values while it is written: set eager in the options");
    else if (rp_tensor_ok(x) && size != rp_type_bytes(rp_tensor_type(x)))
        rp_nn_fail(nn, RP_EARG, "rp_nn_peek: expected room for exactly %zu bytes, found %zu",
                   rp_type_bytes(rp_tensor_type(x)), size);
    return nn->graph->status == RP_OK;
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
