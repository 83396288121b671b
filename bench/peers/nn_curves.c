/* SPDX-License-Identifier: Apache-2.0
 * Trains a perceptron or a small GPT of rp/nn.h for PyTorch to do the same: weights before the first step into a file,
 * data into another, then one loss a line. bench/peers/nn_curves.py sets both side by side.
 * Usage: nn_curves mlp|gpt|lstm WEIGHTS.safetensors DATA.bin [eager] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "rp/rp.h"

enum { ROWS = 512, IN = 20, STEPS = 200, VOCABULARY = 28, LENGTH = 32, WIDTH = 64, TOKENS = 4096 };

static rp_tensor mlp(rp_nn *nn, const rp_tensor *batch, void *self)
{
    (void)self;
    return rp_cross_entropy(rp_nn_mlp(nn, "mlp", batch[0], (size_t[]){64, 64, 3}, 3), batch[1]);
}

static size_t rows_of(rp_tensor x)
{
    size_t shape[RP_MAX_RANK] = {0};
    rp_dtype dtype;
    int rank;

    (void)rp_shape_of(x, &dtype, &rank, shape);
    return shape[0];
}

static rp_tensor language(rp_nn *nn, const rp_tensor *batch, rp_tensor (*body)(rp_nn *nn, rp_tensor x))
{
    const size_t n = rows_of(batch[0]);
    rp_tensor token = rp_slice(batch[0], (size_t[]){0, 0}, (size_t[]){n, LENGTH});
    rp_tensor label = rp_slice(batch[0], (size_t[]){0, 1}, (size_t[]){n, LENGTH + 1});
    rp_tensor x = body(nn, rp_nn_embedding(nn, "tokens", token, VOCABULARY, WIDTH));

    x = rp_reshape(rp_nn_project(nn, "head", x, VOCABULARY), 2, (size_t[]){n * LENGTH, VOCABULARY});
    return rp_cross_entropy(x, rp_reshape(label, 1, (size_t[]){n * LENGTH}));
}

static rp_tensor blocks(rp_nn *nn, rp_tensor x)
{
    const rp_nn_attention causal = {.causal = true};

    x = rp_add(x, rp_nn_parameter(nn, "places", 2, (size_t[]){LENGTH, WIDTH}, rp_nn_normal(0, 1)));
    x = rp_nn_transformer(nn, "block.0", x, 4, &causal);
    x = rp_nn_transformer(nn, "block.1", x, 4, &causal);
    return rp_nn_layer_norm(nn, "norm", x);
}

static rp_tensor gpt(rp_nn *nn, const rp_tensor *batch, void *self)
{
    (void)self;
    return language(nn, batch, blocks);
}

static rp_tensor recurrent(rp_nn *nn, rp_tensor x)
{
    x = rp_nn_lstm(nn, "lstm", x, WIDTH, NULL);
    return rp_nn_gru(nn, "gru", x, WIDTH, NULL);
}

static rp_tensor lstm(rp_nn *nn, const rp_tensor *batch, void *self)
{
    (void)self;
    return language(nn, batch, recurrent);
}

static rp_status write_data(const char *path, const void *bytes, size_t size, rp_error *err)
{
    FILE *f = fopen(path, "wb");
    const size_t written = f ? fwrite(bytes, 1, size, f) : 0;

    if (f && fclose(f) == 0 && written == size)
        return RP_OK;
    return rp_fail(err, RP_EIO, "%s: cannot be written", path);
}

static rp_status table(rp_nn *nn, const char *path, rp_error *err)
{
    static float x[ROWS * IN + ROWS];
    static int y[ROWS];

    for (unsigned i = 0, seed = 1; i < ROWS * IN; i++)
        x[i] = (float)((seed = seed * 1664525u + 1013904223u) >> 24) / 64 - 2;
    for (int i = 0; i < ROWS; i++) {
        y[i] = (x[i * IN] * x[i * IN + 1] > 0) + (x[i * IN + 2] > 0.5f);
        x[ROWS * IN + i] = (float)y[i];
    }
    rp_nn_array(nn, "x", RP_F32, 2, (size_t[]){ROWS, IN}, x, err);
    rp_nn_array(nn, "y", RP_I32, 1, (size_t[]){ROWS}, y, err);
    return write_data(path, x, sizeof x, err);
}

/* Each token depends on the two before it, most of the time. */
static rp_status text(rp_nn *nn, const char *path, rp_error *err)
{
    static unsigned char token[TOKENS];
    unsigned seed = 1;

    for (int i = 2; i < TOKENS; i++) {
        seed = seed * 1664525u + 1013904223u;
        token[i] = (unsigned char)(seed >> 30 ? (token[i - 1] * 3u + token[i - 2] + 1u) % VOCABULARY
                                              : (seed >> 16) % VOCABULARY);
    }
    rp_nn_text(nn, "text", &(rp_nn_tokens){.bytes = token, .size = TOKENS, .length = LENGTH + 1, .stride = 16}, err);
    return write_data(path, token, sizeof token, err);
}

static rp_status train(rp_nn *nn, char **argv, rp_error *err)
{
    struct timespec a, b;
    float loss;
    rp_status status = argv[1][0] == 'm' ? table(nn, argv[3], err) : text(nn, argv[3], err);

    if (status == RP_OK)
        status = rp_nn_save(nn, argv[2], &(rp_nn_save_options){.force = true}, err);
    (void)clock_gettime(CLOCK_MONOTONIC, &a);
    for (int i = 0; i < STEPS && status == RP_OK; i++) {
        status = rp_nn_train_step(nn, &loss, err);
        printf("%.9g\n", (double)loss);
    }
    (void)clock_gettime(CLOCK_MONOTONIC, &b);
    fprintf(stderr, "%.1f us a step\n",
            ((double)(b.tv_sec - a.tv_sec) * 1e6 + (double)(b.tv_nsec - a.tv_nsec) / 1e3) / STEPS);
    return status;
}

int main(int argc, char **argv)
{
    rp_error err = {0};
    rp_nn *nn = NULL;
    rp_nn_options options = {.optimizer = rp_nn_adamw(0.003), .batches = {.batch = 16, .in_order = true}, .seed = 1};
    rp_status status = RP_OK;

    if (argc < 4) {
        fprintf(stderr, "usage: nn_curves mlp|gpt|lstm WEIGHTS.safetensors DATA.bin [eager]\n");
        return 2;
    }
    options.model = argv[1][0] == 'm' ? mlp : argv[1][0] == 'g' ? gpt : lstm;
    options.eager = argc > 4;
    options.run.threads = 1;
    status = rp_nn_new(&nn, &options, &err);
    if (status == RP_OK)
        status = train(nn, argv, &err);
    if (status != RP_OK)
        fprintf(stderr, "%s\n", err.text);
    rp_nn_free(nn);
    return rp_exit_code(status);
}
