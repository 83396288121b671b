/* SPDX-License-Identifier: Apache-2.0
 * A multi-layer perceptron that tells whether points of the plane lie in a ring. Three layers, dropout, AdamW. */
#include "zoo.h"

enum { ROWS = 512 };

static rp_tensor model(rp_nn *nn, const rp_tensor *batch, void *self)
{
    rp_tensor x = rp_nn_mlp(nn, "hidden", batch[0], (size_t[]){32, 32}, 2);

    (void)self;
    x = rp_nn_dropout(nn, rp_relu(x), 0.1);
    return rp_cross_entropy(rp_nn_linear(nn, "out", x, 2), batch[1]);
}

static rp_status prepare(rp_nn *nn, rp_error *err)
{
    static float x[ROWS][2];
    static int label[ROWS];
    uint32_t seed = 1;

    for (int i = 0; i < ROWS; i++) {
        float square;

        x[i][0] = zoo_number(&seed) * 2;
        x[i][1] = zoo_number(&seed) * 2;
        square = x[i][0] * x[i][0] + x[i][1] * x[i][1];
        label[i] = square > 0.75f && square < 3.0f;
    }
    rp_nn_array(nn, "x", RP_F32, 2, (size_t[]){ROWS, 2}, x, err);
    return rp_nn_array(nn, "label", RP_I32, 1, (size_t[]){ROWS}, label, err);
}

int main(int argc, char **argv)
{
    return zoo_main(&(zoo){.nn = {.model = model, .optimizer = rp_nn_adamw(0.01), .seed = 1},
                           .prepare = prepare,
                           .steps = 320,
                           .save_every = 100,
                           .below = 0.25},
                    argc, argv);
}
