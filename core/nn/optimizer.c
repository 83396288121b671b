/* SPDX-License-Identifier: Apache-2.0
 * What a training step does with its gradients: clipping, the optimizer's instructions for each parameter with its own
 * moments (states optim.m.NAME and optim.v.NAME), and the rates that it is fed, of each group. */
#include <stdio.h>

#include "base/handle.h"
#include "base/memory.h"
#include "core/nn/nn_private.h"
#include "core/program/composed/composed.h"
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

rp_nn_optimizer rp_nn_muon(double lr)
{
    return (rp_nn_optimizer){.rule = RP_NN_MUON, .lr = lr, .momentum = 0.95, .nesterov = true, .weight_decay = 0.1};
}

static bool usable(double x)
{
    return x >= 0 && x - x == 0;
}

static bool ends(rp_nn_curve curve)
{
    return curve == RP_NN_COSINE || curve == RP_NN_LINEAR || curve == RP_NN_ONE_CYCLE;
}

static rp_status check_schedule(const rp_nn_schedule *s, const char *call, rp_error *err)
{
    if ((unsigned)s->curve > RP_NN_INVERSE_ROOT)
        return rp_fail(err, RP_EARG, "%s: optimizer: no such curve", call);
    if (ends(s->curve) && s->total <= s->warmup)
        return rp_fail(err, RP_EARG,
                       "%s: optimizer: the schedule ends after %llu steps, which its warm-up of "
                       "%llu fills: set schedule.total to the training steps in all",
                       call, (unsigned long long)s->total, (unsigned long long)s->warmup);
    if ((s->curve == RP_NN_STEPS || s->curve == RP_NN_RESTARTS) && s->every == 0)
        return rp_fail(err, RP_EARG,
                       "%s: optimizer: schedule.every is 0: after how many steps does the rate "
                       "change?",
                       call);
    if ((s->curve == RP_NN_STEPS || s->curve == RP_NN_EXPONENTIAL) && s->gamma == 0)
        return rp_fail(err, RP_EARG, "%s: optimizer: schedule.gamma is 0, and so were all rates but the first", call);
    return RP_OK;
}

rp_status rp_nn_check_optimizer(const rp_nn_optimizer *o, const char *call, rp_error *err)
{
    const rp_nn_schedule *s = &o->schedule;
    const double number[] = {o->lr,    o->weight_decay, o->momentum,  o->beta1, o->beta2, o->eps,
                             o->alpha, o->clip_value,   o->clip_norm, s->gamma, s->low,   s->start};

    for (size_t i = 0; i < sizeof number / sizeof *number; i++)
        if (!usable(number[i]))
            return rp_fail(err, RP_EARG,
                           "%s: optimizer: rates, decay, moments' coefficients, clipping and "
                           "schedule are finite and 0 or more",
                           call);
    if ((unsigned)o->rule > RP_NN_MUON)
        return rp_fail(err, RP_EARG, "%s: optimizer: no such rule", call);
    if (o->rule == RP_NN_SGD && o->lr == 0 &&
        (o->momentum != 0 || o->nesterov || o->weight_decay != 0 || o->clip_value != 0 || o->clip_norm != 0))
        return rp_fail(err, RP_EARG,
                       "%s: optimizer: its lr is 0: give a rate, or leave the whole optimizer out, which is "
                       "rp_nn_adam(0.001)",
                       call);
    if (o->beta1 >= 1 || o->beta2 >= 1)
        return rp_fail(err, RP_EARG, "%s: optimizer: beta1 and beta2 are below 1", call);
    return check_schedule(s, call, err);
}

/* What steps the parameters of a group, 0: of none. */
static const rp_nn_optimizer *optimizer_of(const rp_nn *nn, size_t group)
{
    return group ? &nn->group[group - 1].optimizer : &nn->optimizer;
}

/* Whose schedule and corrections are those of a group: its own, or the model's. */
static size_t clock_of(const rp_nn *nn, size_t group)
{
    return group && nn->group[group - 1].own ? group : 0;
}

/* Its moments begin at 0 and are divided by c1, c2 for that. */
static bool is_corrected(const rp_nn_optimizer *o)
{
    return o->rule == RP_NN_ADAM || o->rule == RP_NN_ADAMW || o->rule == RP_NN_LAMB;
}

/* SGD has one moment, which is there also when momentum is 0: the operation takes it. Adagrad's is its sum. */
static int moments_of(const rp_nn_optimizer *o)
{
    return is_corrected(o) || o->rule == RP_NN_RMSPROP ? 2 : 1;
}

static const char *moment_name(char out[RP_NAME_MAX], char which, const nn_parameter *p)
{
    (void)snprintf(out, RP_NAME_MAX, "optim.%c.%.*s", which, (int)(RP_NAME_MAX - 1 - sizeof "optim.m"), p->name);
    return out;
}

/* All first moments, then the second ones. */
rp_status rp_nn_add_moments(rp_nn *nn, rp_error *err)
{
    char name[RP_NAME_MAX];
    rp_status status = RP_OK;

    for (int k = 0; k < 2; k++)
        for (size_t i = 0; i < nn->parameters && status == RP_OK; i++) {
            const nn_parameter *p = &nn->parameter[i];

            if (!p->buffer && !p->frozen && k < moments_of(optimizer_of(nn, p->group)))
                status = rp_run_add_state(nn->run, moment_name(name, k ? 'v' : 'm', p), RP_F32, p->type.rank,
                                          p->type.shape, NULL, err);
        }
    return status;
}

/* lr, c1 or c2 of a group: with its number, of group 0 without. */
static void feed_name(char out[RP_NAME_MAX], const char *what, size_t group)
{
    if (group)
        (void)snprintf(out, RP_NAME_MAX, "%s.%zu", what, group);
    else
        (void)snprintf(out, RP_NAME_MAX, "%s", what);
}

static void feed(nn_step *step, const char *what, size_t group, float *room, double value)
{
    static const rp_type one = {.dtype = RP_F32};
    char name[RP_NAME_MAX];

    feed_name(name, what, group);
    *room = (float)value;
    rp_nn_add_feed(step, name, &one, room);
}

void rp_nn_feed_rates(const rp_nn *nn, nn_step *step, float *room)
{
    const uint64_t t = nn->trained + 1;

    for (size_t i = 0; i <= nn->groups; i++)
        feed(step, "lr", i, room++,
             rp_nn_rate(&optimizer_of(nn, clock_of(nn, i))->schedule, optimizer_of(nn, i)->lr, t));
    for (size_t i = 0; i <= nn->groups; i++) {
        const rp_nn_optimizer *o = optimizer_of(nn, i);

        if (clock_of(nn, i) != i || !is_corrected(o))
            continue;
        feed(step, "c1", i, room++, 1.0 - rp_powi_f64(o->beta1, (int64_t)t));
        feed(step, "c2", i, room++, 1.0 - rp_powi_f64(o->beta2, (int64_t)t));
    }
}

typedef struct updates {
    rp_tensor *value, *grad; /* of the parameters named by the step that are trained, in the order of their making */
    nn_parameter **parameter;
    size_t n;
    rp_tensor rate[NN_GROUPS + 1], c1[NN_GROUPS + 1], c2[NN_GROUPS + 1];
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

/* A feed of a group, asked for once. */
static rp_tensor fed(rp_nn *nn, rp_tensor *known, const char *what, size_t group)
{
    char name[RP_NAME_MAX];

    feed_name(name, what, group);
    if (!known[group].graph)
        known[group] = rp_nn_feed(nn, name);
    return known[group];
}

/* What a parameter's step is made of. */
typedef struct stepping {
    const rp_nn_optimizer *o;
    rp_tensor g, m, v, lr, c1, c2;
    bool turned; /* PyTorch has the matrix the other way round */
} stepping;

static rp_tensor stepped(stepping *s, rp_tensor p)
{
    const rp_nn_optimizer *o = s->o;
    const double decay = o->weight_decay;

    switch (o->rule) {
    case RP_NN_ADAM:
    case RP_NN_ADAMW:
        return rp_adam(p, &s->m, &s->v, s->g, s->lr, s->c1, s->c2,
                       &(rp_adam_options){o->beta1, o->beta2, o->eps, decay, o->rule == RP_NN_ADAMW});
    case RP_NN_RMSPROP:
        return rp_rmsprop(p, &s->v, &s->m, s->g, s->lr, o->alpha, o->eps, o->momentum, decay);
    case RP_NN_LION:
        return rp_lion(p, &s->m, s->g, s->lr, o->beta1, o->beta2, decay);
    case RP_NN_ADAGRAD:
        return rp_adagrad(p, &s->m, s->g, s->lr, o->eps, decay);
    case RP_NN_LAMB:
        return rp_lamb(p, &s->m, &s->v, s->g, s->lr, s->c1, s->c2,
                       &(rp_lamb_options){o->beta1, o->beta2, o->eps, decay});
    case RP_NN_MUON:
        return composed_muon(p, &s->m, s->g, s->lr, o->momentum, o->nesterov, decay, s->turned);
    default:
        return rp_sgd(p, &s->m, s->g, s->lr, o->momentum, o->nesterov, decay);
    }
}

static bool fits(rp_nn *nn, const rp_nn_optimizer *o, const nn_parameter *p)
{
    char found[192];

    if (o->rule != RP_NN_MUON || p->type.rank == 2)
        return true;
    rp_type_text(&p->type, found, sizeof found);
    rp_nn_fail(nn, RP_ESHAPE, "%s: Muon is for matrices, found %s: give it another optimizer by rp_nn_add_optimizer",
               p->name, found);
    return false;
}

static void update(rp_nn *nn, updates *u, size_t i)
{
    const nn_parameter *p = u->parameter[i];
    const size_t clock = clock_of(nn, p->group);
    stepping s = {.o = optimizer_of(nn, p->group), .g = u->grad[i], .turned = p->layout == NN_TURNED};
    const bool two = moments_of(s.o) == 2;
    char m_name[RP_NAME_MAX], v_name[RP_NAME_MAX];
    rp_tensor value;

    if (!fits(nn, s.o, p))
        return;
    if (is_corrected(s.o)) {
        s.c1 = fed(nn, u->c1, "c1", clock);
        s.c2 = fed(nn, u->c2, "c2", clock);
    }
    s.lr = fed(nn, u->rate, "lr", p->group);
    s.m = rp_nn_state(nn, moment_name(m_name, 'm', p), &p->type);
    if (two)
        s.v = rp_nn_state(nn, moment_name(v_name, 'v', p), &p->type);
    value = stepped(&s, u->value[i]);
    rp_nn_set_state(nn, p->name, value);
    rp_nn_set_state(nn, m_name, s.m);
    if (two)
        rp_nn_set_state(nn, v_name, s.v);
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
    if (is_corrected(&nn->optimizer)) {
        (void)fed(nn, u->c1, "c1", 0);
        (void)fed(nn, u->c2, "c2", 0);
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
