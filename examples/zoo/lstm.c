/* SPDX-License-Identifier: Apache-2.0
 * A language model of letters by two LSTM layers, RMSprop with gradients clipped element by element. */
#include "zoo.h"

enum { TEXT = 4096, LENGTH = 24, WIDTH = 16, HIDDEN = 48 };

static rp_tensor model(rp_nn *nn, const rp_tensor *batch, void *self)
{
    const size_t n = zoo_length(batch[0], 0);
    rp_tensor label = zoo_columns(batch[0], 1, LENGTH + 1), x = zoo_columns(batch[0], 0, LENGTH);

    (void)self;
    x = rp_nn_embedding(nn, "letters", x, ZOO_LETTERS, WIDTH);
    x = rp_nn_lstm(nn, "lstm.0", x, HIDDEN, NULL);
    x = rp_nn_lstm(nn, "lstm.1", rp_nn_dropout(nn, x, 0.1), HIDDEN, NULL);
    x = rp_nn_linear(nn, "out", x, ZOO_LETTERS);
    x = rp_reshape(x, 2, (size_t[]){n * LENGTH, ZOO_LETTERS});
    return rp_cross_entropy(x, rp_reshape(label, 1, (size_t[]){n * LENGTH}));
}

static rp_status prepare(rp_nn *nn, rp_error *err)
{
    static unsigned char text[TEXT];

    zoo_text(text, TEXT);
    rp_nn_initialise(nn, "*weight_hh*", rp_nn_orthogonal(1), err);
    return rp_nn_text(nn, "text", &(rp_nn_tokens){.bytes = text, .size = TEXT, .length = LENGTH + 1, .stride = 8}, err);
}

int main(int argc, char **argv)
{
    rp_nn_optimizer rmsprop = rp_nn_rmsprop(0.005);

    rmsprop.clip_value = 0.1;
    return zoo_main(&(zoo){.nn = {.model = model, .optimizer = rmsprop, .batches = {.batch = 16}, .seed = 3},
                           .prepare = prepare,
                           .steps = 80,
                           .save_every = 30,
                           .below = 1.5},
                    argc, argv);
}
