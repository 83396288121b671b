/* SPDX-License-Identifier: Apache-2.0
 * A U-Net that finds a filled rectangle in a noisy image: down by pooling, up by repeating pixels, what was before the
 * pooling put beside what comes back up. */
#include "zoo.h"

enum { IMAGES = 64, SIDE = 16 };

static rp_tensor twice(rp_nn *nn, const char *name, rp_tensor x, size_t filters)
{
    rp_nn_scope(nn, "%s", name);
    x = rp_relu(rp_nn_conv2d(nn, "0", x, filters, NULL));
    x = rp_relu(rp_nn_conv2d(nn, "1", x, filters, NULL));
    rp_nn_leave(nn);
    return x;
}

/* Each pixel becomes four. */
static rp_tensor up(rp_tensor x)
{
    const size_t n = zoo_length(x, 0), side = zoo_length(x, 1), c = zoo_length(x, 3);

    x = rp_reshape(x, 6, (size_t[]){n, side, 1, side, 1, c});
    x = rp_broadcast_to(x, 6, (size_t[]){n, side, 2, side, 2, c});
    return rp_reshape(x, 4, (size_t[]){n, 2 * side, 2 * side, c});
}

static rp_tensor model(rp_nn *nn, const rp_tensor *batch, void *self)
{
    rp_tensor fine = twice(nn, "down.0", batch[0], 8), middle, low, x;

    (void)self;
    middle = twice(nn, "down.1", rp_max_pool2d(fine, 2, 2, NULL), 16);
    low = twice(nn, "bottom", rp_max_pool2d(middle, 2, 2, NULL), 16);
    x = twice(nn, "up.1", rp_concat((rp_tensor[]){middle, up(low)}, 2, 3), 16);
    x = twice(nn, "up.0", rp_concat((rp_tensor[]){fine, up(x)}, 2, 3), 8);
    x = rp_nn_conv2d(nn, "out", x, 1, &(rp_nn_conv){.kernel = {1, 1}});
    return rp_bce_with_logits(x, batch[1]);
}

static rp_status prepare(rp_nn *nn, rp_error *err)
{
    static float image[IMAGES][SIDE][SIDE], inside[IMAGES][SIDE][SIDE];
    uint32_t seed = 8;

    for (int i = 0; i < IMAGES; i++) {
        const unsigned top = zoo_below(&seed, 8), left = zoo_below(&seed, 8);

        for (unsigned r = 0; r < SIDE; r++)
            for (unsigned c = 0; c < SIDE; c++) {
                inside[i][r][c] = r >= top && r < top + 6 && c >= left && c < left + 6;
                image[i][r][c] = inside[i][r][c] + zoo_number(&seed);
            }
    }
    rp_nn_initialise(nn, "*.weight", rp_nn_kaiming_uniform(1.4142135623730951), err);
    rp_nn_array(nn, "image", RP_F32, 4, (size_t[]){IMAGES, SIDE, SIDE, 1}, image, err);
    return rp_nn_array(nn, "inside", RP_F32, 4, (size_t[]){IMAGES, SIDE, SIDE, 1}, inside, err);
}

int main(int argc, char **argv)
{
    return zoo_main(&(zoo){.nn = {.model = model, .optimizer = rp_nn_adam(0.005), .batches = {.batch = 8}, .seed = 8},
                           .prepare = prepare,
                           .steps = 80,
                           .save_every = 30,
                           .below = 0.12},
                    argc, argv);
}
