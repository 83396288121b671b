/* SPDX-License-Identifier: Apache-2.0
 * A model as an object: made, freed, its first error, and what is set before it is built. */
#include <stdio.h>
#include <string.h>

#include "base/handle.h"
#include "base/memory.h"
#include "core/nn/nn_private.h"

static rp_status check_options(const rp_nn_options *options, rp_error *err)
{
    if (!options || !options->model)
        return rp_fail(err, RP_EARG, "rp_nn_new: the options have no model: a function from a batch to its loss");
    return rp_nn_check_optimizer(&options->optimizer, "rp_nn_new", err);
}

static bool is_none(const rp_nn_optimizer *o)
{
    return o->rule == RP_NN_SGD && o->lr == 0;
}

rp_status rp_nn_new(rp_nn **out, const rp_nn_options *options, rp_error *err)
{
    rp_nn *nn;
    rp_status status = check_options(options, err);

    *out = NULL;
    if (status != RP_OK)
        return status;
    nn = rp_calloc(1, sizeof *nn);
    if (!nn)
        return rp_no_memory(err);
    nn->epoch = UINT64_MAX;
    nn->seed = options->seed;
    nn->eager = options->eager;
    nn->mixed = options->mixed;
    nn->forward = options->model;
    nn->self = options->self;
    nn->batches = options->batches;
    nn->optimizer = options->optimizer;
    if (is_none(&nn->optimizer)) {
        nn->optimizer = rp_nn_adam(1e-3);
        nn->optimizer.schedule = options->optimizer.schedule;
    }
    status = rp_run_new(&nn->run, &options->run, err);
    if (status != RP_OK)
        rp_nn_free(nn);
    else
        *out = nn;
    return status;
}

void rp_nn_free(rp_nn *nn)
{
    if (!nn)
        return;
    rp_nn_set_companion(nn, NULL, NULL);
    rp_nn_programs_free(nn);
    rp_nn_rows_free(nn);
    for (size_t i = 0; i < nn->parameters; i++)
        rp_free(nn->parameter[i].given);
    rp_free(nn->parameter);
    rp_free(nn->rule);
    rp_run_free(nn->run);
    rp_free(nn);
}

rp_run *rp_nn_run(rp_nn *nn)
{
    return nn ? nn->run : NULL;
}

/* Errors name the call that was made with it. */
static rp_status take_pattern(char out[RP_NAME_MAX], const char *pattern, const char *call, rp_error *err)
{
    int length = pattern ? snprintf(out, RP_NAME_MAX, "%s", pattern) : 0;

    return length > 0 && length < RP_NAME_MAX
               ? RP_OK
               : rp_fail(err, RP_EARG, "%s: a pattern has 1 to %d bytes, found %d", call, RP_NAME_MAX - 1, length);
}

static rp_status add_rule(rp_nn *nn, const char *pattern, rp_nn_init init, rp_error *err)
{
    nn_rule *bigger, rule = {.init = init};
    rp_status status = rp_nn_check_open(nn, "rp_nn_initialise", err);

    if (status == RP_OK)
        status = take_pattern(rule.pattern, pattern, "rp_nn_initialise", err);
    if (status != RP_OK)
        return status;
    bigger = rp_reallocarray(nn->rule, nn->rules + 1, sizeof *bigger);
    if (!bigger)
        return rp_no_memory(err);
    nn->rule = bigger;
    nn->rule[nn->rules++] = rule;
    return RP_OK;
}

rp_status rp_nn_initialise(rp_nn *nn, const char *pattern, rp_nn_init init, rp_error *err)
{
    if (!nn)
        return rp_no_handle(err, __func__, "nn");
    if (nn->status != RP_OK)
        return rp_nn_told(nn, err);
    return rp_nn_keep(nn, add_rule(nn, pattern, init, &nn->error), err);
}

static rp_status add_group(rp_nn *nn, const char *pattern, const rp_nn_optimizer *o, bool own, const char *call,
                           rp_error *err)
{
    nn_group *g = &nn->group[nn->groups];
    rp_status status = rp_nn_check_open(nn, call, err);

    if (status == RP_OK && nn->groups == NN_GROUPS)
        status = rp_fail(err, RP_EARG, "%s: at most %d groups", call, (int)NN_GROUPS);
    if (status == RP_OK)
        status = take_pattern(g->pattern, pattern, call, err);
    if (status == RP_OK) {
        g->optimizer = *o;
        g->own = own;
        nn->groups++;
    }
    return status;
}

static rp_status add_rates(rp_nn *nn, const char *pattern, double lr, double weight_decay, rp_error *err)
{
    rp_nn_optimizer o = nn->optimizer;

    if (!(lr >= 0) || !(weight_decay >= 0) || lr - lr != 0 || weight_decay - weight_decay != 0)
        return rp_fail(err, RP_EARG, "rp_nn_add_group: lr and weight_decay are finite and 0 or more");
    o.lr = lr;
    o.weight_decay = weight_decay;
    return add_group(nn, pattern, &o, false, "rp_nn_add_group", err);
}

rp_status rp_nn_add_group(rp_nn *nn, const char *pattern, double lr, double weight_decay, rp_error *err)
{
    if (!nn)
        return rp_no_handle(err, __func__, "nn");
    if (nn->status != RP_OK)
        return rp_nn_told(nn, err);
    return rp_nn_keep(nn, add_rates(nn, pattern, lr, weight_decay, &nn->error), err);
}

static rp_status add_optimizer(rp_nn *nn, const char *pattern, const rp_nn_optimizer *o, rp_error *err)
{
    rp_status status;

    if (!o)
        return rp_fail(err, RP_EARG, "rp_nn_add_optimizer: no optimizer");
    status = rp_nn_check_optimizer(o, "rp_nn_add_optimizer", err);
    if (status == RP_OK && (o->clip_value != 0 || o->clip_norm != 0))
        status = rp_fail(err, RP_EARG,
                         "rp_nn_add_optimizer: clipping is of all gradients together: set it in the model's optimizer");
    return status == RP_OK ? add_group(nn, pattern, o, true, "rp_nn_add_optimizer", err) : status;
}

rp_status rp_nn_add_optimizer(rp_nn *nn, const char *pattern, const rp_nn_optimizer *optimizer, rp_error *err)
{
    if (!nn)
        return rp_no_handle(err, __func__, "nn");
    if (nn->status != RP_OK)
        return rp_nn_told(nn, err);
    return rp_nn_keep(nn, add_optimizer(nn, pattern, optimizer, &nn->error), err);
}
