/* SPDX-License-Identifier: Apache-2.0
 * Networks that people train, each written once: the same function declares its parameters in a symbolic graph, whose
 * program is compiled, and makes an eager step's tensors. bench/peers/models_torch.py has each of them in PyTorch. */
#ifndef BENCH_MODELS_NETWORK_H
#define BENCH_MODELS_NETWORK_H

#include <stddef.h>

#include "rp/program.h"
#include "rp/rp.h"

enum { NET_TENSORS_MAX = 256, NET_NAME = 48 };

/* How a tensor begins. */
typedef enum net_fill {
    NET_ZERO,
    NET_ONE,
    NET_SPREAD, /* evenly over -bound .. bound */
    NET_INDEX   /* integers below bound */
} net_fill;

typedef struct net_tensor {
    char name[NET_NAME];
    rp_tensor value;
    rp_dtype dtype;
    int rank;
    size_t shape[RP_MAX_RANK];
    net_fill fill;
    double bound;
    bool trained;
} net_tensor;

/* A step that is being built. */
typedef struct net {
    rp_run *run; /* NULL: symbolic, the tensors are noted */
    rp_graph *graph;
    net_tensor tensor[NET_TENSORS_MAX];
    size_t n;
    size_t times;   /* a training batch is so many times as large; 0: once */
    bool forward;   /* a batch of 1 as a trained network answers it, instead of a training step */
    size_t taken;   /* steps before this one */
    bool mixed;     /* mixed precision: linear layers take bf16, gradients read it */
    char scope[12]; /* in front of names */
} net;

/* Builds the forward pass: the loss, or, of a net that goes forward, what the network says. */
typedef rp_tensor net_build(net *n);

typedef struct network {
    const char *name, *what;
    net_build *build;
} network;

/* Ends with a row whose name is NULL. */
extern const network networks[];

/* The whole training step: loss, gradients, AdamW of every parameter. A net that goes forward: its answer, as the
 * result "answer". */
void net_step(net *n, const network *of);
/* The step's feeds lr, c1 and c2. */
float net_rate(int which, size_t taken);
/* Adds all tensors that a symbolic build noted to a run. */
void net_add(const net *n, rp_run *run);
/* Writes their first values as safetensors. */
void net_write(const net *n, const char *path);

/* For the networks. A parameter [a, b, c, d], trailing zeros left out. */
rp_tensor net_parameter(net *n, const char *name, net_fill fill, double bound, const size_t *shape, int rank);
rp_tensor net_data(net *n, const char *name, rp_dtype dtype, net_fill fill, double bound, const size_t *shape,
                   int rank);
/* x [rows, in] w + b; weights spread as for a unit variance of what comes out. */
rp_tensor net_linear(net *n, const char *name, rp_tensor x, size_t in, size_t out);
rp_tensor net_norm(net *n, const char *name, rp_tensor x, size_t width);
/* Names of parameters begin with this until n->scope[0] is 0 again. */
void net_enter(net *n, const char *what, size_t number);
/* Rows of a batch: so many, times the net's `times`, and 1 of a net that goes forward. */
size_t net_batch(const net *n, size_t training);
/* Labels are data below `classes`. A net that goes forward: the logits. */
rp_tensor net_cross_entropy(net *n, rp_tensor logits, size_t rows, size_t classes);
rp_tensor net_table(net *n, const char *name, size_t rows, size_t width);

net_build build_mlp, build_dlrm, build_gpt, build_bert, build_vit, build_lstm, build_resnet, build_unet, build_unet_512;

void net_stop(const char *what, const rp_error *err);

#endif
