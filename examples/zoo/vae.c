/* SPDX-License-Identifier: Apache-2.0
 * A variational autoencoder of small images with one bar: mean and log variance of the code, a draw of it, and back.
 * The loss is what an image costs: its pixels' cross-entropy and the code's divergence from a standard normal. */
#include "zoo.h"

enum { IMAGES = 256, SIDE = 8, PIXELS = SIDE * SIDE, CODE = 4 };

static rp_tensor total(rp_tensor x, double rows)
{
    return rp_scale(rp_sum(x, NULL, 0, false), 1 / rows);
}

/* 1/2 (mean^2 + variance - 1 - log variance), over the code */
static rp_tensor divergence(rp_tensor mean, rp_tensor log_var, double rows)
{
    rp_tensor square = rp_mul(mean, mean), var = rp_exp(log_var), sum = rp_add(square, var);

    return rp_scale(total(rp_sub(rp_add_scalar(sum, -1), log_var), rows), 0.5);
}

static rp_tensor model(rp_nn *nn, const rp_tensor *batch, void *self)
{
    const size_t n = zoo_length(batch[0], 0);
    rp_tensor hidden, mean, log_var, noise, code, pixels;

    (void)self;
    hidden = rp_relu(rp_nn_linear(nn, "encoder", batch[0], 64));
    mean = rp_nn_linear(nn, "mean", hidden, CODE);
    log_var = rp_nn_linear(nn, "log_var", hidden, CODE);
    noise = rp_normal(rp_nn_rng(nn), rp_nn_stream(nn), RP_F32, 2, (size_t[]){n, CODE}, 0, 1);
    code = rp_add(mean, rp_mul(noise, rp_exp(rp_scale(log_var, 0.5))));
    pixels = rp_nn_mlp(nn, "decoder", code, (size_t[]){64, PIXELS}, 2);
    pixels = total(rp_bce_logits(pixels, batch[0]), (double)n);
    return rp_add(pixels, divergence(mean, log_var, (double)n));
}

static rp_status prepare(rp_nn *nn, rp_error *err)
{
    static float image[IMAGES][PIXELS];
    static int label[IMAGES];

    zoo_bars(&image[0][0], label, IMAGES, SIDE);
    return rp_nn_array(nn, "image", RP_F32, 2, (size_t[]){IMAGES, PIXELS}, image, err);
}

int main(int argc, char **argv)
{
    return zoo_main(&(zoo){.nn = {.model = model, .optimizer = rp_nn_adam(0.005), .seed = 4},
                           .prepare = prepare,
                           .steps = 320,
                           .save_every = 100,
                           .below = 16},
                    argc, argv);
}
