/* SPDX-License-Identifier: Apache-2.0
 * Parameters, data and the optimizer of the networks, their first values and the file that another's software reads
 * them from. */
#include "network.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const network networks[] = {{"mlp", "784-1024-1024-10, batch 256", build_mlp},
                            {"resnet", "ResNet-18, 4 images of 112 x 112", build_resnet},
                            {"gpt", "GPT, 4 layers, 256 wide, 4 x 256 tokens", build_gpt},
                            {"lstm", "LSTM, 2 layers, 256 wide, 32 x 64 steps", build_lstm},
                            {"unet", "U-Net with group norm, 4 images of 64 x 64", build_unet},
                            {"bert", "BERT-like, 4 layers, 256 wide, 8 x 128 tokens", build_bert},
                            {"vit", "ViT-like, 4 layers, 192 wide, 16 x 65 tokens", build_vit},
                            {"dlrm", "DLRM-like, 8 tables, batch 512", build_dlrm},
                            {NULL, NULL, NULL}};

void net_stop(const char *what, const rp_error *err)
{
    fprintf(stderr, "models: %s: %s\n", what, err ? err->text : "out of memory");
    exit(1);
}

static size_t count_of(const net_tensor *t)
{
    size_t count = 1;

    for (int d = 0; d < t->rank; d++)
        count *= t->shape[d];
    return count;
}

static rp_tensor note(net *n, const net_tensor *t, rp_input_kind kind)
{
    rp_type type = {.dtype = t->dtype, .rank = t->rank};

    memcpy(type.shape, t->shape, sizeof t->shape);
    if (n->n == NET_TENSORS_MAX)
        net_stop("more tensors than NET_TENSORS_MAX", NULL);
    n->tensor[n->n] = *t;
    if (n->run)
        n->tensor[n->n].value = kind == RP_INPUT_STATE ? rp_state(n->run, t->name) : rp_data(n->run, t->name);
    else
        n->tensor[n->n].value = rp_graph_declare(n->graph, kind, t->name, &type);
    return n->tensor[n->n++].value;
}

static net_tensor described(const char *scope, const char *name, net_fill fill, double bound, const size_t *shape,
                            int rank)
{
    net_tensor t = {.dtype = RP_F32, .rank = rank, .fill = fill, .bound = bound};

    (void)snprintf(t.name, sizeof t.name, "%.12s%s%.30s", scope, scope[0] ? "." : "", name);
    memcpy(t.shape, shape, (size_t)rank * sizeof *shape);
    return t;
}

rp_tensor net_parameter(net *n, const char *name, net_fill fill, double bound, const size_t *shape, int rank)
{
    net_tensor t = described(n->scope, name, fill, bound, shape, rank);

    t.trained = true;
    return note(n, &t, RP_INPUT_STATE);
}

rp_tensor net_data(net *n, const char *name, rp_dtype dtype, net_fill fill, double bound, const size_t *shape, int rank)
{
    net_tensor t = described("", name, fill, bound, shape, rank);

    t.dtype = dtype;
    return note(n, &t, RP_INPUT_DATA);
}

/* In mixed precision products take what the step made as bf16; data stay as they are. */
static bool takes_half(const net *n, rp_tensor x)
{
    for (size_t i = 0; i < n->n; i++)
        if (n->tensor[i].value.value == x.value)
            return false;
    return n->mixed;
}

rp_tensor net_linear(net *n, const char *name, rp_tensor x, size_t in, size_t out)
{
    char weight[NET_NAME], bias[NET_NAME];
    rp_tensor w, b;

    (void)snprintf(weight, sizeof weight, "%.30s.weight", name);
    (void)snprintf(bias, sizeof bias, "%.30s.bias", name);
    w = net_parameter(n, weight, NET_SPREAD, sqrt(3.0 / (double)in), (size_t[]){in, out}, 2);
    b = net_parameter(n, bias, NET_ZERO, 0, &out, 1);
    return rp_linear(takes_half(n, x) ? rp_cast(x, RP_BF16) : x, w, b);
}

rp_tensor net_norm(net *n, const char *name, rp_tensor x, size_t width)
{
    char weight[NET_NAME], bias[NET_NAME];
    rp_tensor gamma, beta;

    (void)snprintf(weight, sizeof weight, "%.30s.weight", name);
    (void)snprintf(bias, sizeof bias, "%.30s.bias", name);
    gamma = net_parameter(n, weight, NET_ONE, 0, &width, 1);
    beta = net_parameter(n, bias, NET_ZERO, 0, &width, 1);
    return rp_layer_norm(x, gamma, beta, 1e-5);
}

size_t net_batch(const net *n, size_t training)
{
    return n->forward ? 1 : training * (n->times ? n->times : 1);
}

rp_tensor net_cross_entropy(net *n, rp_tensor logits, size_t rows, size_t classes)
{
    if (n->forward)
        return logits;
    return rp_cross_entropy(logits, net_data(n, "data.labels", RP_I64, NET_INDEX, (double)classes, &rows, 1));
}

void net_enter(net *n, const char *what, size_t number)
{
    (void)snprintf(n->scope, sizeof n->scope, "%.8s%u", what, (unsigned)number % 100);
}

rp_tensor net_table(net *n, const char *name, size_t rows, size_t width)
{
    return net_parameter(n, name, NET_SPREAD, 0.1, (size_t[]){rows, width}, 2);
}

/* ---- the step ---- */

static rp_tensor moment(net *n, const net_tensor *of, char which)
{
    net_tensor t = *of;

    (void)snprintf(t.name, sizeof t.name, "%c.%.40s", which, of->name);
    t.fill = NET_ZERO;
    t.trained = false;
    return note(n, &t, RP_INPUT_STATE);
}

static void set(net *n, const char *name, rp_tensor value)
{
    if (n->run)
        rp_set_state(n->run, name, value);
    else
        rp_graph_update(n->graph, name, value);
}

static rp_tensor rate(net *n, const char *name, float value)
{
    const rp_type type = {.dtype = RP_F32};

    return n->run ? rp_feed(n->run, name, RP_F32, 0, NULL, &value)
                  : rp_graph_declare(n->graph, RP_INPUT_FEED, name, &type);
}

float net_rate(int which, size_t taken)
{
    return which == 0 ? 0.001f : (float)(1 - pow(which == 1 ? 0.9 : 0.999, (double)taken + 1));
}

static void result(net *n, const char *name, rp_tensor value)
{
    if (n->run)
        rp_result(n->run, name, value);
    else
        rp_graph_result(n->graph, name, value);
}

static void train(net *n, const network *of)
{
    rp_tensor p[NET_TENSORS_MAX], grad[NET_TENSORS_MAX], loss, lr, c1, c2, m, v, next;
    size_t at[NET_TENSORS_MAX], trained = 0;

    lr = rate(n, "lr", net_rate(0, n->taken));
    c1 = rate(n, "c1", net_rate(1, n->taken));
    c2 = rate(n, "c2", net_rate(2, n->taken));
    loss = of->build(n);
    for (size_t i = 0; i < n->n; i++)
        if (n->tensor[i].trained) {
            at[trained] = i;
            p[trained++] = n->tensor[i].value;
        }
    (n->mixed ? rp_gradients_mixed : rp_gradients)(loss, p, trained, grad);
    for (size_t i = 0; i < trained; i++) {
        const net_tensor t = n->tensor[at[i]];

        m = moment(n, &t, 'm');
        v = moment(n, &t, 'v');
        next = rp_adam(t.value, &m, &v, grad[i], lr, c1, c2, &(rp_adam_options){0.9, 0.999, 1e-8, 0.01, true});
        set(n, t.name, next);
        set(n, n->tensor[n->n - 2].name, m);
        set(n, n->tensor[n->n - 1].name, v);
    }
    result(n, "loss", loss);
}

void net_step(net *n, const network *of)
{
    n->n = 0;
    n->scope[0] = 0;
    if (n->forward)
        result(n, "answer", of->build(n));
    else
        train(n, of);
}

/* ---- first values ---- */

static void *first_values(const net_tensor *t, size_t number)
{
    const size_t count = count_of(t);
    float *x = malloc(count * rp_dtype_size(t->dtype) + 1);
    int64_t *index = (void *)x;
    uint64_t state = 0x9e3779b97f4a7c15u * (number + 1);

    if (!x)
        net_stop(t->name, NULL);
    for (size_t i = 0; i < count; i++) {
        double unit;

        state = state * 6364136223846793005u + 1442695040888963407u;
        unit = (double)(state >> 40) / (double)(1 << 24);
        if (t->fill == NET_INDEX)
            index[i] = (int64_t)(unit * t->bound);
        else
            x[i] = t->fill == NET_SPREAD ? (float)((2 * unit - 1) * t->bound) : t->fill == NET_ONE ? 1.0f : 0.0f;
    }
    return x;
}

/* Whether a run has it before its first step. */
static bool is_data(const net_tensor *t)
{
    return t->fill == NET_INDEX || strncmp(t->name, "data.", 5) == 0;
}

void net_add(const net *n, rp_run *run)
{
    rp_error err = {0};

    for (size_t i = 0; i < n->n; i++) {
        const net_tensor *t = &n->tensor[i];
        void *x = first_values(t, i);

        if ((is_data(t) ? rp_run_add_data : rp_run_add_state)(run, t->name, t->dtype, t->rank, t->shape, x, &err) !=
            RP_OK)
            net_stop(t->name, &err);
        free(x);
    }
}

/* The header's entry of one tensor: its type, shape and place. */
static size_t write_entry(char *to, size_t room, const net_tensor *t, size_t begin, size_t end)
{
    size_t used = (size_t)snprintf(to, room, ",\"%s\":{\"dtype\":\"%s\",\"shape\":[", t->name,
                                   t->dtype == RP_I64 ? "I64" : "F32");

    for (int d = 0; d < t->rank; d++)
        used += (size_t)snprintf(to + used, room - used, "%s%zu", d ? "," : "", t->shape[d]);
    return used + (size_t)snprintf(to + used, room - used, "],\"data_offsets\":[%zu,%zu]}", begin, end);
}

void net_write(const net *n, const char *path)
{
    enum { ENTRY = 256 };
    const size_t room = (size_t)ENTRY * NET_TENSORS_MAX;
    char *header = calloc(1, room);
    size_t used = 0, at = 0;
    FILE *file = fopen(path, "wb");
    uint64_t length;

    if (!file || !header)
        net_stop(path, NULL);
    for (size_t i = 0; i < n->n; i++) {
        const size_t bytes = count_of(&n->tensor[i]) * rp_dtype_size(n->tensor[i].dtype);

        used += write_entry(header + used, room - used, &n->tensor[i], at, at + bytes);
        at += bytes;
    }
    header[0] = '{';
    header[used++] = '}';
    length = used;
    (void)fwrite(&length, 8, 1, file);
    (void)fwrite(header, 1, used, file);
    for (size_t i = 0; i < n->n; i++) {
        void *x = first_values(&n->tensor[i], i);

        (void)fwrite(x, rp_dtype_size(n->tensor[i].dtype), count_of(&n->tensor[i]), file);
        free(x);
    }
    free(header);
    if (fclose(file) != 0)
        net_stop(path, NULL);
}
