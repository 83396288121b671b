/* SPDX-License-Identifier: Apache-2.0
 * What a training step does with its gradients: clipping, the optimizer's instruction for each parameter with its own
 * moments (states optim.m.NAME and optim.v.NAME), and the rates that it is fed. */
#include <stdio.h>

#include "base/handle.h"
#include "base/memory.h"
#include "core/nn/nn_private.h"
#include "determinism/math.h"
#include "rp/optimizer.h"

rp_nn_optimizer rp_nn_sgd(double lr, double momentum)
{
    return (rp_nn_optimizer){.rule = RP_NN_SGD, .lr = lr, .momentum = momentum};
}

rp_nn_optimizer rp_nn_adam(double lr)
{
    return (rp_nn_optimizer){.rule = RP_NN_ADAM, .lr = lr, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8};
}

rp_nn_optimizer rp_nn_adamw(double lr)
{
    rp_nn_optimizer o = rp_nn_adam(lr);

    o.rule = RP_NN_ADAMW;
    o.weight_decay = 0.01;
    return o;
}

rp_nn_optimizer rp_nn_rmsprop(double lr)
{
    return (rp_nn_optimizer){.rule = RP_NN_RMSPROP, .lr = lr, .alpha = 0.99, .eps = 1e-8};
}

rp_nn_optimizer rp_nn_adagrad(double lr)
{
    return (rp_nn_optimizer){.rule = RP_NN_ADAGRAD, .lr = lr, .eps = 1e-10};
}

rp_nn_optimizer rp_nn_lion(double lr)
{
    return (rp_nn_optimizer){.rule = RP_NN_LION, .lr = lr, .beta1 = 0.9, .beta2 = 0.99};
}

rp_nn_optimizer rp_nn_lamb(double lr)
{
    return (rp_nn_optimizer){
        .rule = RP_NN_LAMB, .lr = lr, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-6, .weight_decay = 0.01};
}

static bool usable(double x)
{
    return x >= 0 && x - x == 0;
}

rp_status rp_nn_check_optimizer(const rp_nn_optimizer *o, rp_error *err)
{
    const double number[] = {o->lr,    o->weight_decay, o->momentum,  o->beta1,          o->beta2,       o->eps,
                             o->alpha, o->clip_value,   o->clip_norm, o->schedule.gamma, o->schedule.low};
    const rp_nn_schedule *s = &o->schedule;

    for (size_t i = 0; i < sizeof number / sizeof *number; i++)
        if (!usable(number[i]))
            return rp_fail(err, RP_EARG,
                           "rp_nn_new: optimizer: rates, decay, moments' coefficients, clipping and "
                           "schedule are finite and 0 or more");
    if ((unsigned)o->rule > RP_NN_LAMB || (unsigned)s->curve > RP_NN_LINEAR)
        return rp_fail(err, RP_EARG, "rp_nn_new: optimizer: no such rule or curve");
    if (o->rule == RP_NN_SGD && o->lr == 0 &&
        (o->momentum != 0 || o->nesterov || o->weight_decay != 0 || o->clip_value != 0 || o->clip_norm != 0))
        return rp_fail(err, RP_EARG,
                       "rp_nn_new: optimizer: its lr is 0: give a rate, or leave the whole optimizer out, which is "
                       "rp_nn_adam(0.001)");
    if (o->beta1 >= 1 || o->beta2 >= 1)
        return rp_fail(err, RP_EARG, "rp_nn_new: optimizer: beta1 and beta2 are below 1");
    if ((s->curve == RP_NN_COSINE || s->curve == RP_NN_LINEAR) && s->total <= s->warmup)
        return rp_fail(err, RP_EARG,
                       "rp_nn_new: optimizer: the schedule ends after %llu steps, which its warm-up of "
                       "%llu fills: set schedule.total to the training steps in all",
                       (unsigned long long)s->total, (unsigned long long)s->warmup);
    if (s->curve == RP_NN_STEPS && s->every == 0)
        return rp_fail(err, RP_EARG,
                       "rp_nn_new: optimizer: schedule.every is 0: after how many steps does the rate "
                       "change?");
    return RP_OK;
}

/* Its moments begin at 0 and are divided by c1, c2 for that. */
static bool is_corrected(const rp_nn *nn)
{
    const rp_nn_rule rule = nn->optimizer.rule;

    return rule == RP_NN_ADAM || rule == RP_NN_ADAMW || rule == RP_NN_LAMB;
}

/* SGD has one moment, which is there also when momentum is 0: the operation takes it. Adagrad's is its sum. */
static int moments_of(const rp_nn *nn)
{
    const rp_nn_rule rule = nn->optimizer.rule;

    return rule == RP_NN_SGD || rule == RP_NN_LION || rule == RP_NN_ADAGRAD ? 1 : 2;
}

static const char *moment_name(char out[RP_NAME_MAX], char which, const nn_parameter *p)
{
    (void)snprintf(out, RP_NAME_MAX, "optim.%c.%.*s", which, (int)(RP_NAME_MAX - 1 - sizeof "optim.m"), p->name);
    return out;
}

rp_status rp_nn_add_moments(rp_nn *nn, rp_error *err)
{
    char name[RP_NAME_MAX];
    rp_status status = RP_OK;

    for (int k = 0; k < moments_of(nn); k++)
        for (size_t i = 0; i < nn->parameters && status == RP_OK; i++) {
            const nn_parameter *p = &nn->parameter[i];

            if (!p->buffer && !p->frozen)
                status = rp_run_add_state(nn->run, moment_name(name, k ? 'v' : 'm', p), RP_F32, p->type.rank,
                                          p->type.shape, NULL, err);
        }
    return status;
}

static void rate_name(char out[RP_NAME_MAX], size_t group)
{
    if (group)
        (void)snprintf(out, RP_NAME_MAX, "lr.%zu", group);
    else
        (void)snprintf(out, RP_NAME_MAX, "lr");
}

void rp_nn_feed_rates(const rp_nn *nn, nn_step *step, float *room)
{
    static const rp_type one = {.dtype = RP_F32};
    const rp_nn_optimizer *o = &nn->optimizer;
    const uint64_t t = nn->trained + 1;
    char name[RP_NAME_MAX];

    for (size_t i = 0; i <= nn->groups; i++) {
        rate_name(name, i);
        room[i] = (float)rp_nn_rate(&o->schedule, i ? nn->group[i - 1].lr : o->lr, t);
        rp_nn_add_feed(step, name, &one, &room[i]);
    }
    if (!is_corrected(nn))
        return;
    room[NN_GROUPS + 1] = (float)(1.0 - rp_powi_f64(o->beta1, (int64_t)t));
    room[NN_GROUPS + 2] = (float)(1.0 - rp_powi_f64(o->beta2, (int64_t)t));
    rp_nn_add_feed(step, "c1", &one, &room[NN_GROUPS + 1]);
    rp_nn_add_feed(step, "c2", &one, &room[NN_GROUPS + 2]);
}

typedef struct updates {
    rp_tensor *value, *grad; /* of the parameters named by the step that are trained, in the order of their making */
    nn_parameter **parameter;
    size_t n;
    rp_tensor rate[NN_GROUPS + 1], c1, c2;
} updates;

static void collect(rp_nn *nn, updates *u)
{
    for (size_t i = 0; i < nn->parameters; i++) {
        nn_parameter *p = &nn->parameter[i];

        if (!p->tensor.graph || p->buffer || p->frozen)
            continue;
        u->value[u->n] = p->tensor;
        u->parameter[u->n++] = p;
    }
}

static void clip(rp_nn *nn, updates *u)
{
    const rp_nn_optimizer *o = &nn->optimizer;

    if (o->clip_value > 0)
        for (size_t i = 0; i < u->n; i++)
            u->grad[i] = rp_hardtanh(u->grad[i], -o->clip_value, o->clip_value);
    if (o->clip_norm > 0)
        rp_nn_result(nn, "grad_norm", rp_clip_by_norm(u->grad, u->n, o->clip_norm));
}

static rp_tensor rate_of(rp_nn *nn, updates *u, size_t group)
{
    char name[RP_NAME_MAX];

    rate_name(name, group);
    if (!u->rate[group].graph)
        u->rate[group] = rp_nn_feed(nn, name);
    return u->rate[group];
}

/* The new value of a parameter p with the gradient g. */
static rp_tensor stepped(const rp_nn_optimizer *o, const updates *u, rp_tensor p, rp_tensor g, rp_tensor *m,
                         rp_tensor *v, rp_tensor lr, double decay)
{
    switch (o->rule) {
    case RP_NN_ADAM:
    case RP_NN_ADAMW:
        return rp_adam(p, m, v, g, lr, u->c1, u->c2, o->beta1, o->beta2, o->eps, decay, o->rule == RP_NN_ADAMW);
    case RP_NN_RMSPROP:
        return rp_rmsprop(p, v, m, g, lr, o->alpha, o->eps, o->momentum, decay);
    case RP_NN_LION:
        return rp_lion(p, m, g, lr, o->beta1, o->beta2, decay);
    case RP_NN_ADAGRAD:
        return rp_adagrad(p, m, g, lr, o->eps, decay);
    case RP_NN_LAMB:
        return rp_lamb(p, m, v, g, lr, u->c1, u->c2, o->beta1, o->beta2, o->eps, decay);
    default:
        return rp_sgd(p, m, g, lr, o->momentum, o->nesterov, decay);
    }
}

static void update(rp_nn *nn, updates *u, size_t i)
{
    const nn_parameter *p = u->parameter[i];
    const double decay = p->group ? nn->group[p->group - 1].weight_decay : nn->optimizer.weight_decay;
    rp_tensor m, v = rp_no_tensor(), lr = rate_of(nn, u, p->group), value;
    char m_name[RP_NAME_MAX], v_name[RP_NAME_MAX];

    m = rp_nn_state(nn, moment_name(m_name, 'm', p), &p->type);
    if (moments_of(nn) == 2)
        v = rp_nn_state(nn, moment_name(v_name, 'v', p), &p->type);
    value = stepped(&nn->optimizer, u, u->value[i], u->grad[i], &m, &v, lr, decay);
    rp_nn_set_state(nn, p->name, value);
    rp_nn_set_state(nn, m_name, m);
    if (moments_of(nn) == 2)
        rp_nn_set_state(nn, v_name, v);
}

static void append(rp_nn *nn, updates *u, rp_tensor loss)
{
    collect(nn, u);
    if (u->n == 0) {
        rp_nn_fail(nn, RP_EARG, "the model has no parameter to train");
        return;
    }
    (nn->mixed ? rp_gradients_mixed : rp_gradients)(loss, u->value, u->n, u->grad);
    clip(nn, u);
    if (is_corrected(nn)) {
        u->c1 = rp_nn_feed(nn, "c1");
        u->c2 = rp_nn_feed(nn, "c2");
    }
    for (size_t i = 0; i < u->n && nn->graph->status == RP_OK; i++)
        update(nn, u, i);
}

void rp_nn_append_updates(rp_nn *nn, rp_tensor loss)
{
    const size_t room = nn->parameters ? nn->parameters : 1;
    updates u = {.value = rp_calloc(room, sizeof *u.value),
                 .grad = rp_calloc(room, sizeof *u.grad),
                 .parameter = rp_calloc(room, sizeof *u.parameter)};

    if (nn->graph->status != RP_OK)
        ;
    else if (u.value && u.grad && u.parameter)
        append(nn, &u, loss);
    else
        rp_nn_fail(nn, RP_ENOMEM, "out of memory");
    rp_free(u.value);
    rp_free(u.grad);
    rp_free(u.parameter);
}
