/* SPDX-License-Identifier: Apache-2.0
 * Writing a step's program: the model's function is called on a graph, symbolic or a run's eager step, between what the
 * step is fed and what it changes. Both ways append the same instructions. */
#include "core/nn/nn_private.h"
#include "determinism/fpenv.h"

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
            batch[i] = rp_nn_feed_at(nn, &nn->step->feed[i]);
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

/* In the contract's environment: attributes are computed on the way. */
void rp_nn_trace(rp_nn *nn, rp_graph *graph, const nn_step *step)
{
    rp_fpenv saved;
    rp_error why = {0};
    const rp_status status = rp_fpenv_enter(&saved, NULL, &why);

    nn->graph = graph;
    if (status != RP_OK)
        rp_nn_fail(nn, status, "%s", why.text);
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
    if (status == RP_OK)
        rp_fpenv_leave(&saved);
    nn->graph = NULL;
    nn->step = NULL;
}
