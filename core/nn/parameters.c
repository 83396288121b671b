/* SPDX-License-Identifier: Apache-2.0
 * Parameters and buffers by name: made by the first call that names one, known to all later ones; scopes; their values
 * for the caller. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/handle.h"
#include "base/memory.h"
#include "core/nn/nn_private.h"
#include "core/run/slots.h"

void rp_nn_scope(rp_nn *nn, const char *format, ...)
{
    va_list args;
    size_t used;
    int length;

    if (!nn || !nn->graph)
        return;
    rp_graph_at_work(nn->graph);
    if (nn->scopes == (int)(sizeof nn->scope_at / sizeof *nn->scope_at)) {
        rp_nn_fail(nn, RP_EARG, "more than %d scopes inside one another: is each left by rp_nn_leave?", nn->scopes);
        return;
    }
    used = strlen(nn->scope);
    nn->scope_at[nn->scopes++] = used;
    va_start(args, format);
    length = vsnprintf(nn->scope + used, sizeof nn->scope - used, format, args);
    va_end(args);
    if (length <= 0) {
        rp_nn_fail(nn, RP_EARG, "%s: a scope or layer without a name", nn->scope);
        return;
    }
    if ((size_t)length + 1 >= sizeof nn->scope - used) {
        rp_nn_fail(nn, RP_EARG, "scope %.60s: names have at most %d bytes in all", nn->scope, RP_NAME_MAX - 1);
        return;
    }
    (void)snprintf(nn->scope + used + length, sizeof nn->scope - used - (size_t)length, ".");
}

void rp_nn_leave(rp_nn *nn)
{
    if (!nn || !nn->graph)
        return;
    rp_graph_at_work(nn->graph);
    if (nn->scopes == 0)
        rp_nn_fail(nn, RP_EARG, "no scope is open");
    else
        nn->scope[nn->scope_at[--nn->scopes]] = '\0';
}

nn_parameter *rp_nn_find(const rp_nn *nn, const char *name)
{
    for (size_t i = 0; i < nn->parameters; i++)
        if (strcmp(nn->parameter[i].name, name) == 0)
            return &nn->parameter[i];
    return NULL;
}

/* Models name their parameters in the same order each time: the one after the last is looked at first. */
static nn_parameter *find_next(rp_nn *nn, const char *name)
{
    nn_parameter *p;

    if (nn->next < nn->parameters && strcmp(nn->parameter[nn->next].name, name) == 0)
        return &nn->parameter[nn->next++];
    p = rp_nn_find(nn, name);
    if (p)
        nn->next = (size_t)(p - nn->parameter) + 1;
    return p;
}

/* Prefixes are those of states that are ours. */
static bool name_ok(const char *name)
{
    if (name[0] == '\0' || strlen(name) > RP_NAME_MAX - 1 - sizeof "optim.m")
        return false;
    for (const char *c = name; *c; c++)
        if (!((*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') || *c == '.' ||
              *c == '_' || *c == '-'))
            return false;
    return strncmp(name, "nn.", 3) != 0 && strncmp(name, "optim.", 6) != 0;
}

/* The last rule and the last group that match. */
static void apply_patterns(rp_nn *nn, nn_parameter *p)
{
    for (size_t i = 0; i < nn->rules; i++)
        if (rp_nn_matches(nn->rule[i].pattern, p->name)) {
            p->init = nn->rule[i].init;
            nn->rule[i].used = true;
        }
    for (size_t i = 0; i < nn->groups && !p->buffer; i++)
        if (rp_nn_matches(nn->group[i].pattern, p->name)) {
            p->group = i + 1;
            p->frozen = nn->group[i].optimizer.lr == 0;
            nn->group[i].used = true;
        }
}

static nn_parameter *make(rp_nn *nn, const nn_parameter *what)
{
    if (nn->built) {
        rp_nn_fail(nn, RP_EARG, "there is no parameter %s: the model makes all of them when it is built", what->name);
        return NULL;
    }
    if (nn->parameters == nn->room) {
        size_t room = nn->room ? 2 * nn->room : 32;
        nn_parameter *bigger = rp_reallocarray(nn->parameter, room, sizeof *bigger);

        if (!bigger) {
            rp_nn_fail(nn, RP_ENOMEM, "out of memory");
            return NULL;
        }
        nn->parameter = bigger;
        nn->room = room;
    }
    nn->parameter[nn->parameters] = *what;
    apply_patterns(nn, &nn->parameter[nn->parameters]);
    nn->next = nn->parameters + 1;
    return &nn->parameter[nn->parameters++];
}

static bool same(rp_nn *nn, const nn_parameter *known, const nn_parameter *wanted)
{
    char before[192], now[192];

    if (known->buffer == wanted->buffer && rp_type_equal(&known->type, &wanted->type))
        return true;
    rp_type_text(&known->type, before, sizeof before);
    rp_type_text(&wanted->type, now, sizeof now);
    rp_nn_fail(nn, RP_ESHAPE, "%s is a %s %s, and here a %s %s", known->name, known->buffer ? "buffer" : "parameter",
               before, wanted->buffer ? "buffer" : "parameter", now);
    return false;
}

/* The whole name of what is called so in the present scope. */
static bool whole_name(rp_nn *nn, char out[RP_NAME_MAX], const char *name)
{
    if (!nn || !nn->graph)
        return false;
    rp_graph_at_work(nn->graph);
    if (nn->graph->status != RP_OK)
        return false;
    if (name && (size_t)snprintf(out, RP_NAME_MAX, "%s%s", nn->scope, name) < RP_NAME_MAX && name_ok(out))
        return true;
    rp_nn_fail(nn, RP_EARG,
               "%s%.60s is no name of a parameter: [A-Za-z0-9._-], at most %d bytes, not beginning with nn. or optim.",
               nn->scope, name ? name : "NULL", (int)(RP_NAME_MAX - 1 - sizeof "optim.m"));
    return false;
}

static rp_tensor parameter(rp_nn *nn, const char *name, int rank, const size_t *shape, nn_parameter wanted)
{
    nn_parameter *p;
    rp_error why = {0};

    if (!whole_name(nn, wanted.name, name))
        return rp_no_tensor();
    if (rp_type_make(&wanted.type, RP_F32, rank, shape, &why) != RP_OK) {
        rp_nn_fail(nn, why.status, "%s: %.200s", wanted.name, why.text);
        return rp_no_tensor();
    }
    p = find_next(nn, wanted.name);
    if (p ? !same(nn, p, &wanted) : !(p = make(nn, &wanted)))
        return rp_no_tensor();
    if (!p->tensor.graph)
        p->tensor = rp_nn_state(nn, p->name, &p->type);
    return p->tensor;
}

rp_tensor rp_nn_weight(rp_nn *nn, const char *name, int rank, const size_t *shape, rp_nn_init init, nn_layout layout)
{
    return parameter(nn, name, rank, shape, (nn_parameter){.init = init, .layout = layout});
}

rp_tensor rp_nn_parameter(rp_nn *nn, const char *name, int rank, const size_t *shape, rp_nn_init init)
{
    return rp_nn_weight(nn, name, rank, shape, init, NN_AS_HERE);
}

rp_tensor rp_nn_buffer(rp_nn *nn, const char *name, int rank, const size_t *shape, rp_nn_init init)
{
    return parameter(nn, name, rank, shape, (nn_parameter){.init = init, .buffer = true});
}

void rp_nn_update(rp_nn *nn, const char *name, rp_tensor value)
{
    char whole[RP_NAME_MAX];
    nn_parameter *p;

    if (!whole_name(nn, whole, name))
        return;
    p = rp_nn_find(nn, whole);
    if (!p || !p->buffer)
        rp_nn_fail(nn, RP_EARG, "%s is no buffer of this model: rp_nn_buffer makes it", whole);
    else if (rp_tensor_ok(value) && !rp_type_equal(rp_tensor_type(value), &p->type))
        rp_nn_fail(nn, RP_ESHAPE, "%s: the new value has another shape or type", whole);
    else if (nn->step->mode == NN_TRAIN) {
        rp_nn_set_state(nn, whole, value);
        if (value.graph == p->tensor.graph && rp_tensor_ok(value)) /* of a loop's function it would not outlive that */
            p->tensor = value;                                     /* a layer that is called again goes on from it */
    }
}

rp_status rp_nn_check_patterns(const rp_nn *nn, rp_error *err)
{
    for (size_t i = 0; i < nn->rules; i++)
        if (!nn->rule[i].used)
            return rp_fail(err, RP_EARG, "rp_nn_initialise: no parameter is called %s", nn->rule[i].pattern);
    for (size_t i = 0; i < nn->groups; i++)
        if (!nn->group[i].used)
            return rp_fail(err, RP_EARG, "%s: no parameter is called %s",
                           nn->group[i].own ? "rp_nn_add_optimizer" : "rp_nn_add_group", nn->group[i].pattern);
    return RP_OK;
}

size_t rp_nn_parameters(const rp_nn *nn)
{
    return nn && nn->built ? nn->parameters : 0;
}

bool rp_nn_parameter_at(const rp_nn *nn, size_t index, rp_nn_parameter_info *info)
{
    const nn_parameter *p;

    if (index >= rp_nn_parameters(nn))
        return false;
    p = &nn->parameter[index];
    *info = (rp_nn_parameter_info){.name = p->name, .rank = p->type.rank, .trained = !p->buffer && !p->frozen};
    memcpy(info->shape, p->type.shape, sizeof info->shape);
    return true;
}

static rp_status write(rp_nn *nn, const char *name, const void *bytes, size_t size, rp_error *err)
{
    nn_parameter *p = rp_nn_find(nn, name);

    if (!nn->built || nn->started)
        return rp_fail(err, RP_EARG,
                       "rp_nn_write: values are given after rp_nn_build, and before the recorder and the "
                       "first step");
    if (!p)
        return rp_fail(err, RP_EARG, "rp_nn_write: there is no parameter %.96s", name);
    if (size != rp_type_bytes(&p->type))
        return rp_fail(err, RP_EARG, "rp_nn_write: %s: expected exactly %zu bytes, found %zu", p->name,
                       rp_type_bytes(&p->type), size);
    if (!p->given)
        p->given = rp_malloc(size);
    if (!p->given)
        return rp_no_memory(err);
    memcpy(p->given, bytes, size);
    p->was_given = true;
    return RP_OK;
}

rp_status rp_nn_write(rp_nn *nn, const char *name, const void *bytes, size_t size, rp_error *err)
{
    if (!nn)
        return rp_no_handle(err, __func__, "nn");
    if (nn->status != RP_OK)
        return rp_nn_told(nn, err);
    return rp_nn_keep(nn, write(nn, name, bytes, size, &nn->error), err);
}

rp_type rp_nn_torch_type(const rp_nn *nn, size_t parameter)
{
    const nn_parameter *p = &nn->parameter[parameter];
    const size_t *s = p->type.shape;
    const int taps = p->type.rank - 2;
    rp_type there = p->type;

    if (p->layout == NN_AS_HERE)
        return there;
    there.shape[0] = s[taps + 1]; /* [taps.., in, out] is [out, in, taps..] there */
    there.shape[1] = s[taps];
    for (int i = 0; i < taps; i++)
        there.shape[2 + i] = s[i];
    return there;
}

/* Position in PyTorch's order of element i of ours. */
static size_t there_of(const nn_parameter *p, size_t i)
{
    const int rank = p->type.rank;
    size_t in, out, taps;

    if (p->layout == NN_AS_HERE)
        return i;
    in = p->type.shape[rank - 2];
    out = p->type.shape[rank - 1];
    taps = rp_type_count(&p->type) / (in * out);
    return (i % out * in + i / out % in) * taps + i / (in * out);
}

bool rp_nn_as_torch(const rp_nn *nn, size_t parameter)
{
    return nn->parameter[parameter].layout == NN_AS_HERE;
}

void rp_nn_from_torch(const rp_nn *nn, size_t parameter, float *here, const float *there)
{
    const nn_parameter *p = &nn->parameter[parameter];
    const size_t count = rp_type_count(&p->type);

    for (size_t i = 0; i < count; i++)
        here[i] = there[there_of(p, i)];
}

void rp_nn_to_torch(const rp_nn *nn, size_t parameter, float *there, const float *here)
{
    const nn_parameter *p = &nn->parameter[parameter];
    const size_t count = rp_type_count(&p->type);

    for (size_t i = 0; i < count; i++)
        there[there_of(p, i)] = here[i];
}
