/* SPDX-License-Identifier: Apache-2.0
 * A vision transformer: an image is cut into patches, each becomes a token by one linear layer, places are learnt, and
 * the mean of all tokens tells the class. */
#include "zoo.h"

enum { IMAGES = 256, SIDE = 8, PATCH = 2, ACROSS = SIDE / PATCH, TOKENS = ACROSS * ACROSS, WIDTH = 24 };

/* [n, SIDE, SIDE, 1] -> [n, TOKENS, PATCH * PATCH] */
static rp_tensor patches(rp_tensor image)
{
    const size_t n = zoo_length(image, 0);

    image = rp_reshape(image, 5, (size_t[]){n, ACROSS, PATCH, ACROSS, PATCH});
    image = rp_transpose(image, (int[]){0, 1, 3, 2, 4});
    return rp_reshape(image, 3, (size_t[]){n, TOKENS, PATCH * PATCH});
}

static rp_tensor model(rp_nn *nn, const rp_tensor *batch, void *self)
{
    rp_tensor x = rp_nn_linear(nn, "patch", patches(batch[0]), WIDTH);

    (void)self;
    x = rp_add(x, rp_nn_parameter(nn, "places", 2, (size_t[]){TOKENS, WIDTH}, rp_nn_truncated(0, 0.02)));
    x = rp_nn_transformer(nn, "block.0", x, 3, &(rp_nn_attention){.hidden = 2 * WIDTH});
    x = rp_nn_transformer(nn, "block.1", x, 3, &(rp_nn_attention){.hidden = 2 * WIDTH, .dropout = 0.1});
    x = rp_mean(rp_nn_layer_norm(nn, "norm", x), (int[]){1}, 1, false);
    return rp_cross_entropy(rp_nn_linear(nn, "out", x, 2), batch[1]);
}

static rp_status prepare(rp_nn *nn, rp_error *err)
{
    static float image[IMAGES][SIDE * SIDE];
    static int label[IMAGES];

    zoo_bars(&image[0][0], label, IMAGES, SIDE);
    rp_nn_array(nn, "image", RP_F32, 4, (size_t[]){IMAGES, SIDE, SIDE, 1}, image, err);
    return rp_nn_array(nn, "label", RP_I32, 1, (size_t[]){IMAGES}, label, err);
}

int main(int argc, char **argv)
{
    rp_nn_optimizer adamw = rp_nn_adamw(0.005);

    adamw.schedule = (rp_nn_schedule){.curve = RP_NN_LINEAR, .warmup = 10, .total = 80};
    return zoo_main(&(zoo){.nn = {.model = model, .optimizer = adamw, .seed = 9},
                           .prepare = prepare,
                           .steps = 80,
                           .save_every = 30,
                           .below = 0.1},
                    argc, argv);
}
