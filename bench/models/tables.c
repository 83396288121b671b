/* SPDX-License-Identifier: Apache-2.0
 * Networks on tables: a multi-layer perceptron and a recommender with embedded categories and dot products. */
#include <stdio.h>

#include "network.h"

rp_tensor build_mlp(net *n)
{
    const size_t batch = net_batch(n, 256);
    rp_tensor x = net_data(n, "data.x", RP_F32, NET_SPREAD, 1, (size_t[]){batch, 784}, 2);

    x = rp_relu(net_linear(n, "l0", x, 784, 1024));
    x = rp_relu(net_linear(n, "l1", x, 1024, 1024));
    x = net_linear(n, "l2", x, 1024, 10);
    return net_cross_entropy(n, x, batch, 10);
}

enum { TABLES = 8, EMBEDDED = 32, NUMBERS = 13, ROWS = 1000, FEATURES = TABLES + 1 };

/* Dot products of each two of the features, a row of them each: all [FEATURES, FEATURES] of them, which leaves nothing
 * to gather. */
static rp_tensor interactions(const rp_tensor *feature, size_t batch)
{
    rp_tensor row[FEATURES], all, products;

    for (size_t i = 0; i < FEATURES; i++)
        row[i] = rp_reshape(feature[i], 3, (size_t[]){batch, 1, EMBEDDED});
    all = rp_concat(row, FEATURES, 1);
    products = rp_matmul(all, rp_transpose(all, NULL));
    return rp_reshape(products, 2, (size_t[]){batch, (size_t)FEATURES * FEATURES});
}

rp_tensor build_dlrm(net *n)
{
    const size_t rows = net_batch(n, 512);
    rp_tensor feature[FEATURES], x = net_data(n, "data.x", RP_F32, NET_SPREAD, 1, (size_t[]){rows, NUMBERS}, 2);
    char name[NET_NAME];

    x = rp_relu(net_linear(n, "bottom0", x, NUMBERS, 128));
    feature[0] = rp_relu(net_linear(n, "bottom1", x, 128, EMBEDDED));
    for (size_t i = 0; i < TABLES; i++) {
        rp_tensor index, table;

        (void)snprintf(name, sizeof name, "data.index%zu", i);
        index = net_data(n, name, RP_I64, NET_INDEX, ROWS, &rows, 1);
        (void)snprintf(name, sizeof name, "table%zu", i);
        table = net_table(n, name, ROWS, EMBEDDED);
        feature[i + 1] = rp_gather(table, index, 0);
    }
    x = rp_concat((rp_tensor[]){interactions(feature, rows), feature[0]}, 2, 1);
    x = rp_relu(net_linear(n, "top0", x, (size_t)FEATURES * FEATURES + EMBEDDED, 256));
    x = rp_relu(net_linear(n, "top1", x, 256, 128));
    x = net_linear(n, "top2", x, 128, 1);
    if (n->forward)
        return x;
    return rp_bce_with_logits(x, net_data(n, "data.target", RP_F32, NET_ONE, 0, (size_t[]){rows, 1}, 2));
}
