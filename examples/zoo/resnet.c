/* SPDX-License-Identifier: Apache-2.0
 * A residual network for small images: blocks of two convolutions with batch norm, the second halves the image and has
 * a projection beside it. Trained with SGD, momentum and a cosine; evaluated on images that it has not seen. */
#include "zoo.h"

enum { IMAGES = 256, SEEN = 192, SIDE = 8, STEPS = 60 };

static rp_tensor conv_norm(rp_nn *nn, const char *name, rp_tensor x, size_t filters, size_t kernel, size_t stride)
{
    const rp_nn_conv options = {
        .kernel = {kernel, kernel}, .valid = kernel == 1, .no_bias = true, .place = {.stride = {stride, stride}}};

    rp_nn_scope(nn, "%s", name);
    x = rp_nn_conv2d(nn, "conv", x, filters, &options);
    x = rp_nn_batch_norm(nn, "norm", x);
    rp_nn_leave(nn);
    return x;
}

static rp_tensor block(rp_nn *nn, const char *name, rp_tensor x, size_t filters, size_t stride)
{
    rp_tensor beside = x, y;

    rp_nn_scope(nn, "%s", name);
    y = rp_relu(conv_norm(nn, "0", x, filters, 3, stride));
    y = conv_norm(nn, "1", y, filters, 3, 1);
    if (stride != 1 || zoo_length(x, 3) != filters)
        beside = conv_norm(nn, "beside", x, filters, 1, stride);
    rp_nn_leave(nn);
    return rp_relu(rp_add(y, beside));
}

static rp_tensor model(rp_nn *nn, const rp_tensor *batch, void *self)
{
    rp_tensor x = rp_relu(conv_norm(nn, "stem", batch[0], 8, 3, 1));

    (void)self;
    x = block(nn, "block.0", x, 8, 1);
    x = block(nn, "block.1", x, 16, 2);
    x = rp_mean(x, (int[]){1, 2}, 2, false);
    return rp_cross_entropy(rp_nn_linear(nn, "out", x, 2), batch[1]);
}

static rp_status prepare(rp_nn *nn, rp_error *err)
{
    static float image[IMAGES][SIDE * SIDE];
    static int label[IMAGES];

    zoo_bars(&image[0][0], label, IMAGES, SIDE);
    rp_nn_initialise(nn, "*conv.weight", rp_nn_kaiming_normal(1.4142135623730951), err);
    rp_nn_array(nn, "image", RP_F32, 4, (size_t[]){IMAGES, SIDE, SIDE, 1}, image, err);
    return rp_nn_array(nn, "label", RP_I32, 1, (size_t[]){IMAGES}, label, err);
}

static rp_status evaluate(rp_nn *nn, rp_error *err)
{
    double loss;
    rp_status status = rp_nn_evaluate(nn, NULL, NULL, SEEN, IMAGES - SEEN, &loss, err);

    if (status != RP_OK)
        return status;
    printf("loss on unseen images %.4f\n", loss);
    return loss < 0.3 ? RP_OK : rp_fail(err, RP_EDATA, "it has learnt its images by heart");
}

int main(int argc, char **argv)
{
    rp_nn_optimizer sgd = rp_nn_sgd(0.05, 0.9);

    sgd.weight_decay = 0.0001;
    sgd.schedule = (rp_nn_schedule){.curve = RP_NN_COSINE, .warmup = 5, .total = STEPS};
    return zoo_main(&(zoo){.nn = {.model = model,
                                  .optimizer = sgd,
                                  .batches = {.batch = 32, .rows = SEEN, .drop_last = true},
                                  .seed = 7},
                           .prepare = prepare,
                           .steps = STEPS,
                           .save_every = 25,
                           .below = 0.1,
                           .after = evaluate},
                    argc, argv);
}
