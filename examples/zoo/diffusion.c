/* SPDX-License-Identifier: Apache-2.0
 * Diffusion in small: images are mixed with noise of a strength that is drawn for each, a network says which noise, and
 * afterwards an image is made from noise alone, in ten steps that only take away a part of what the network sees. */
#include "zoo.h"

enum { IMAGES = 256, SIDE = 6, PIXELS = SIDE * SIDE, WIDTH = 96, TIMES = 10 };

/* The noise that the network sees in x at times t, in (0, 1): x = sqrt(1 - t) image + sqrt(t) noise. */
static rp_tensor noise_in(rp_nn *nn, rp_tensor x, rp_tensor t)
{
    rp_tensor square = rp_mul(t, t), in[3] = {x, t, square}, y;

    x = rp_concat(in, 3, 1);
    y = rp_silu(rp_nn_linear(nn, "in", x, WIDTH));
    y = rp_add(y, rp_silu(rp_nn_linear(nn, "middle", y, WIDTH)));
    return rp_nn_linear(nn, "out", y, PIXELS);
}

static rp_tensor model(rp_nn *nn, const rp_tensor *batch, void *self)
{
    const size_t n = zoo_length(batch[0], 0);
    rp_tensor rng = rp_nn_rng(nn), image = rp_add_scalar(rp_scale(batch[0], 2), -1), noise, t, x, part;

    (void)self;
    noise = rp_normal(rng, rp_nn_stream(nn), RP_F32, 2, (size_t[]){n, PIXELS}, 0, 1);
    t = rp_uniform(rng, rp_nn_stream(nn), RP_F32, 2, (size_t[]){n, 1}, 0.02, 0.98);
    part = rp_mul(noise, rp_sqrt(t));
    x = rp_mul(image, rp_sqrt(rp_add_scalar(rp_neg(t), 1)));
    x = rp_add(x, part);
    return rp_mse(noise_in(nn, x, t), noise);
}

/* One step back: batch is x, t and the time before it. */
static rp_tensor back(rp_nn *nn, const rp_tensor *batch, void *self)
{
    rp_tensor noise = noise_in(nn, batch[0], batch[1]), image, rest;

    (void)self;
    image = rp_sub(batch[0], rp_mul(noise, rp_sqrt(batch[1])));
    image = rp_div(image, rp_sqrt(rp_add_scalar(rp_neg(batch[1]), 1)));
    rest = rp_mul(noise, rp_sqrt(batch[2]));
    return rp_add(rp_mul(image, rp_sqrt(rp_add_scalar(rp_neg(batch[2]), 1))), rest);
}

static rp_status paint(rp_nn *nn, rp_error *err)
{
    float x[PIXELS], t, before;
    uint32_t seed = 11;
    rp_status status = RP_OK;

    for (int i = 0; i < PIXELS; i++) /* about normal */
        x[i] = zoo_number(&seed) + zoo_number(&seed) + zoo_number(&seed);
    for (int i = TIMES; i > 0 && status == RP_OK; i--) {
        const rp_nn_input input[] = {
            {"x", RP_F32, 2, {1, PIXELS}, x}, {"t", RP_F32, 2, {1, 1}, &t}, {"before", RP_F32, 2, {1, 1}, &before}};

        t = i == TIMES ? 0.98f : (float)i / TIMES;
        before = (float)(i - 1) / TIMES;
        status = rp_nn_apply(nn, back, NULL, input, 3, x, sizeof x, err);
    }
    for (int i = 0; i < PIXELS && status == RP_OK; i++)
        printf("%c%s", x[i] > 0 ? '#' : '.', i % SIDE == SIDE - 1 ? "\n" : "");
    return status;
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
    return zoo_main(&(zoo){.nn = {.model = model, .optimizer = rp_nn_adam(0.005), .batches = {.batch = 64}, .seed = 11},
                           .prepare = prepare,
                           .steps = 400,
                           .save_every = 150,
                           .below = 0.35,
                           .after = paint},
                    argc, argv);
}
