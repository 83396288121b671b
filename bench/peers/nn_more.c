/* SPDX-License-Identifier: Apache-2.0
 * A residual network as torchvision's, an encoder and decoder as T5's, a tagger with an LSTM in both directions: models
 * of rp/nn.h that PyTorch trains from the same weights (bench/peers/nn_more.py). Weights before the first step go into
 * a file, data into another, then one loss a line. Usage: nn_more resnet|t5|tagger WEIGHTS.safetensors DATA.bin */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "rp/rp.h"

enum { ROWS = 256, STEPS = 100, SIDE = 16, WORDS = 24, TIMES = 12, WIDTH = 32, HEADS = 4, TAGS = 5, BATCH = 16 };

static size_t length_of(rp_tensor x, int axis)
{
    size_t shape[RP_MAX_RANK] = {0};
    rp_dtype dtype;
    int rank;

    (void)rp_shape_of(x, &dtype, &rank, shape);
    return shape[axis];
}

/* ---- the residual network ---- */

static rp_tensor conv_norm(rp_nn *nn, const char *conv, const char *norm, rp_tensor x, size_t filters, rp_nn_conv o)
{
    o.no_bias = true;
    return rp_nn_batch_norm(nn, norm, rp_nn_conv2d(nn, conv, x, filters, &o));
}

static rp_tensor basic(rp_nn *nn, rp_tensor x, size_t filters, size_t stride)
{
    const rp_nn_conv first = {.place = {.stride = {stride, stride}}};
    rp_nn_conv beside = first;
    rp_tensor y = rp_relu(conv_norm(nn, "conv1", "bn1", x, filters, first));

    y = conv_norm(nn, "conv2", "bn2", y, filters, (rp_nn_conv){0});
    beside.kernel[0] = beside.kernel[1] = 1;
    beside.valid = true;
    if (stride != 1)
        x = conv_norm(nn, "downsample.0", "downsample.1", x, filters, beside);
    return rp_relu(rp_add(y, x));
}

static rp_tensor resnet(rp_nn *nn, const rp_tensor *batch, void *self)
{
    rp_tensor x = rp_relu(conv_norm(nn, "conv1", "bn1", batch[0], 8, (rp_nn_conv){.kernel = {5, 5}}));

    (void)self;
    x = rp_max_pool2d(x, 3, 3, &(rp_placement){.stride = {2, 2}, .padding = {1, 1, 1, 1}});
    for (size_t layer = 1; layer <= 2; layer++)
        for (size_t i = 0; i < 2; i++) {
            rp_nn_scope(nn, "layer%zu.%zu", layer, i);
            x = basic(nn, x, 8 * layer, layer == 2 && i == 0 ? 2 : 1);
            rp_nn_leave(nn);
        }
    x = rp_mean(x, (int[]){1, 2}, 2, false);
    return rp_cross_entropy(rp_nn_linear(nn, "fc", x, 3), batch[1]);
}

/* ---- the encoder and decoder ---- */

/* A number for each distance of two places, held to 8, and head: added to the scores of all blocks. */
static rp_tensor distances(rp_nn *nn, const char *name, size_t times)
{
    rp_tensor i = rp_iota(rp_nn_graph(nn), RP_I64, times), to = rp_reshape(i, 2, (size_t[]){times, 1}), x;

    x = rp_add_scalar(rp_clamp(rp_sub(rp_reshape(i, 2, (size_t[]){1, times}), to), -8, 8), 8);
    x = rp_transpose(rp_nn_embedding(nn, name, x, 17, HEADS), (int[]){2, 0, 1});
    return rp_reshape(x, 4, (size_t[]){1, HEADS, times, times});
}

static rp_tensor t5(rp_nn *nn, const rp_tensor *batch, void *self)
{
    const size_t n = length_of(batch[0], 0);
    rp_nn_attention o = {.no_bias = true, .scale = 1, .rms = 1e-6, .relu = true, .mask = distances(nn, "near", TIMES)};
    const rp_nn_attention cross = {.no_bias = true, .scale = 1};
    rp_tensor from = rp_slice(batch[1], (size_t[]){0, 0}, (size_t[]){n, TIMES});
    rp_tensor to = rp_slice(batch[1], (size_t[]){0, 1}, (size_t[]){n, TIMES + 1});
    rp_tensor x = rp_nn_embedding(nn, "shared", batch[0], WORDS, WIDTH), y;

    (void)self;
    for (int i = 0; i < 2; i++)
        x = rp_nn_transformer(nn, i ? "encoder1" : "encoder0", x, HEADS, &o);
    x = rp_nn_rms_norm(nn, "encoder_norm", x, 1e-6);
    o.mask = distances(nn, "before", TIMES);
    o.causal = true;
    y = rp_nn_embedding(nn, "shared", from, WORDS, WIDTH);
    for (int i = 0; i < 2; i++)
        y = rp_nn_decoder(nn, i ? "decoder1" : "decoder0", y, x, HEADS, &o, &cross);
    y = rp_nn_project(nn, "head", rp_nn_rms_norm(nn, "decoder_norm", y, 1e-6), WORDS);
    return rp_cross_entropy(rp_reshape(y, 2, (size_t[]){n * TIMES, WORDS}), rp_reshape(to, 1, (size_t[]){n * TIMES}));
}

/* ---- the tagger ---- */

static rp_tensor tagger(rp_nn *nn, const rp_tensor *batch, void *self)
{
    const size_t rows = length_of(batch[0], 0) * TIMES;
    rp_tensor x = rp_nn_embedding(nn, "words", batch[0], WORDS, WIDTH);

    (void)self;
    x = rp_nn_recurrent(nn, "lstm", x, WIDTH, &(rp_nn_recurrence){.layers = 2, .both = true, .lengths = batch[2]});
    x = rp_reshape(rp_nn_linear(nn, "tag", x, TAGS), 2, (size_t[]){rows, TAGS});
    return rp_cross_entropy_loss(x, rp_reshape(batch[1], 1, &rows),
                                 &(rp_class_options){.ignore = true, .ignore_index = -1});
}

/* ---- data ---- */

static unsigned drawn(void)
{
    static unsigned seed = 1;

    seed = seed * 1664525u + 1013904223u;
    return seed >> 16;
}

static rp_status write_data(const char *path, const void *bytes, size_t size, rp_error *err)
{
    FILE *f = fopen(path, "ab");
    const size_t written = f ? fwrite(bytes, 1, size, f) : 0;

    if (f && fclose(f) == 0 && written == size)
        return RP_OK;
    return rp_fail(err, RP_EIO, "%s: cannot be written", path);
}

/* A bright square in one of three corners. */
static rp_status images(rp_nn *nn, const char *path, rp_error *err)
{
    static float image[ROWS][SIDE][SIDE][3];
    static int label[ROWS];

    for (int r = 0; r < ROWS; r++) {
        label[r] = (int)(drawn() % 3);
        for (int i = 0; i < SIDE * SIDE * 3; i++) {
            const int y = i / (SIDE * 3), x = i / 3 % SIDE;
            const bool in = (label[r] == 1 ? x >= 8 : x < 8) && (label[r] == 2 ? y >= 8 : y < 8);

            image[r][y][x][i % 3] = (float)(drawn() % 256) / 128 - 1 + (in ? 0.5f : 0);
        }
    }
    rp_nn_array(nn, "image", RP_F32, 4, (size_t[]){ROWS, SIDE, SIDE, 3}, image, err);
    rp_nn_array(nn, "label", RP_I32, 1, (size_t[]){ROWS}, label, err);
    rp_status status = write_data(path, image, sizeof image, err);
    return status == RP_OK ? write_data(path, label, sizeof label, err) : status;
}

/* What is to be written is what was read, from the end. */
static rp_status pairs(rp_nn *nn, const char *path, rp_error *err)
{
    static int source[ROWS][TIMES], target[ROWS][TIMES + 1];

    for (int r = 0; r < ROWS; r++)
        for (int t = 0; t < TIMES; t++)
            target[r][TIMES - t] = source[r][t] = 1 + (int)(drawn() % (WORDS - 1));
    rp_nn_array(nn, "source", RP_I32, 2, (size_t[]){ROWS, TIMES}, source, err);
    rp_nn_array(nn, "target", RP_I32, 2, (size_t[]){ROWS, TIMES + 1}, target, err);
    rp_status status = write_data(path, source, sizeof source, err);
    return status == RP_OK ? write_data(path, target, sizeof target, err) : status;
}

/* A tag depends on the words on both sides. */
static rp_status sentences(rp_nn *nn, const char *path, rp_error *err)
{
    static int word[ROWS][TIMES], tag[ROWS][TIMES], length[ROWS];

    for (int r = 0; r < ROWS; r++) {
        length[r] = 4 + (int)(drawn() % (TIMES - 3));
        for (int t = 0; t < length[r]; t++)
            word[r][t] = 1 + (int)(drawn() % (WORDS - 1));
        for (int t = 0; t < TIMES; t++)
            tag[r][t] =
                t < length[r] ? (word[r][t ? t - 1 : 0] + 2 * word[r][t + 1 < length[r] ? t + 1 : t]) % TAGS : -1;
    }
    rp_nn_array(nn, "word", RP_I32, 2, (size_t[]){ROWS, TIMES}, word, err);
    rp_nn_array(nn, "tag", RP_I32, 2, (size_t[]){ROWS, TIMES}, tag, err);
    rp_nn_array(nn, "length", RP_I32, 1, (size_t[]){ROWS}, length, err);
    rp_status status = write_data(path, word, sizeof word, err);
    if (status == RP_OK)
        status = write_data(path, tag, sizeof tag, err);
    return status == RP_OK ? write_data(path, length, sizeof length, err) : status;
}

static rp_status train(rp_nn *nn, char **argv, rp_error *err)
{
    struct timespec a, b;
    float loss;
    rp_status status = argv[1][0] == 'r'   ? images(nn, argv[3], err)
                       : argv[1][1] == '5' ? pairs(nn, argv[3], err)
                                           : sentences(nn, argv[3], err);

    if (status == RP_OK)
        status = rp_nn_save(nn, argv[2], &(rp_nn_save_options){.force = true, .torch = true}, err);
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
    rp_nn_options options = {.optimizer = rp_nn_adamw(0.003),
                             .batches = {.batch = BATCH, .in_order = true},
                             .seed = 1,
                             .run = {.threads = 1}};
    rp_status status = RP_OK;

    if (argc < 4) {
        fprintf(stderr, "usage: nn_more resnet|t5|tagger WEIGHTS.safetensors DATA.bin\n");
        return 2;
    }
    options.model = argv[1][0] == 'r' ? resnet : argv[1][1] == '5' ? t5 : tagger;
    status = rp_nn_new(&nn, &options, &err);
    if (status == RP_OK)
        status = train(nn, argv, &err);
    if (status != RP_OK)
        fprintf(stderr, "%s\n", err.text);
    rp_nn_free(nn);
    return rp_exit_code(status);
}
