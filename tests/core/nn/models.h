/* SPDX-License-Identifier: Apache-2.0
 * Small models and rows for the tests of rp/nn.h. */
#ifndef TESTS_CORE_NN_MODELS_H
#define TESTS_CORE_NN_MODELS_H

#include <string.h>

#include "rp/rp.h"

/* The call's own error is ERR. */
#define OK(call) \
    do { \
        static rp_error ok_error; \
        rp_error *const ERR = &ok_error; \
        if ((call) != RP_OK) \
            fail_msg("%s: %s", #call, ERR->text); \
    } while (0)

enum { MODEL_ROWS = 22, MODEL_BATCH = 8, MODEL_TIMES = 4, MODEL_WIDTH = 6 };

static inline float model_number(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (float)(int)(*seed >> 23) / 256.0f - 1.0f;
}

/* Every layer that takes times, one behind another. */
static inline rp_tensor model_of_times(rp_nn *nn, const rp_tensor *batch, void *self)
{
    rp_tensor x = rp_nn_linear(nn, "in", batch[0], MODEL_WIDTH), last;

    (void)self;
    rp_nn_scope(nn, "layers.%d", 0);
    x = rp_nn_lstm(nn, "lstm", x, MODEL_WIDTH, NULL);
    x = rp_nn_gru(nn, "gru", rp_nn_dropout(nn, x, 0.25), MODEL_WIDTH, NULL);
    rp_nn_leave(nn);
    x = rp_nn_transformer(nn, "block", x, 2, &(rp_nn_attention){.causal = true, .dropout = 0.1});
    (void)rp_nn_rnn(nn, "rnn", x, 3, &last);
    return rp_cross_entropy(rp_nn_project(nn, "out", last, 3), batch[1]);
}

/* Convolutions, batch norm, pooling. */
static inline rp_tensor model_of_images(rp_nn *nn, const rp_tensor *batch, void *self)
{
    rp_tensor x = rp_nn_conv1d(nn, "conv1", batch[0], 4, &(rp_nn_conv){.no_bias = true});
    size_t n, shape[RP_MAX_RANK] = {0};
    rp_dtype dtype;
    int rank;

    (void)self;
    (void)rp_shape_of(batch[0], &dtype, &rank, shape);
    n = shape[0];
    x = rp_reshape(rp_relu(x), 4, (size_t[]){n, 4, 4, 1});
    x = rp_nn_conv2d(nn, "conv2", x, 4, &(rp_nn_conv){.place = {.stride = {2, 2}}});
    x = rp_nn_batch_norm(nn, "norm", x);
    x = rp_reshape(x, 2, (size_t[]){n, 2 * 2 * 4});
    x = rp_nn_mlp(nn, "mlp", rp_nn_layer_norm(nn, "last", x), (size_t[]){5, 3}, 2);
    return rp_cross_entropy(x, batch[1]);
}

static inline rp_status model_rows(rp_nn *nn, rp_error *err)
{
    static float x[MODEL_ROWS][MODEL_TIMES][5];
    int label[MODEL_ROWS];
    uint32_t seed = 1;

    for (int i = 0; i < MODEL_ROWS; i++) {
        label[i] = i % 3;
        for (int k = 0; k < MODEL_TIMES * 5; k++)
            x[i][k / 5][k % 5] = model_number(&seed);
    }
    (void)rp_nn_array(nn, "x", RP_F32, 3, (size_t[]){MODEL_ROWS, MODEL_TIMES, 5}, x, err);
    return rp_nn_array(nn, "label", RP_I32, 1, (size_t[]){MODEL_ROWS}, label, err);
}

#endif
