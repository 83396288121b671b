/* SPDX-License-Identifier: Apache-2.0
 * A masked language model: a fifth of the letters, drawn in the step, is hidden, and blocks of attention that see both
 * sides guess them. Only what was hidden counts in the loss. */
#include "zoo.h"

enum { TEXT = 4096, LENGTH = 24, WIDTH = 32, MASK = ZOO_LETTERS, SYMBOLS = ZOO_LETTERS + 1 };

/* Minus the mean log probability of the letters that were hidden. */
static rp_tensor hidden_loss(rp_tensor logits, rp_tensor letter, rp_tensor hidden, size_t tokens)
{
    rp_tensor log_p = rp_log_softmax(rp_reshape(logits, 2, (size_t[]){tokens, SYMBOLS}));
    rp_tensor right = rp_one_hot(rp_reshape(letter, 1, &tokens), SYMBOLS, RP_F32);
    rp_tensor each = rp_sum(rp_mul(log_p, right), (int[]){1}, 1, false);
    rp_tensor counts = rp_reshape(rp_cast(hidden, RP_F32), 1, &tokens), n;

    each = rp_sum(rp_mul(each, counts), NULL, 0, false);
    n = rp_add_scalar(rp_sum(counts, NULL, 0, false), 1e-6);
    return rp_neg(rp_div(each, n));
}

static rp_tensor model(rp_nn *nn, const rp_tensor *batch, void *self)
{
    const size_t n = zoo_length(batch[0], 0);
    rp_tensor draw = rp_uniform(rp_nn_rng(nn), rp_nn_stream(nn), RP_F32, 2, (size_t[]){n, LENGTH}, 0, 1);
    rp_tensor hidden = rp_lt(draw, rp_fill(rp_nn_graph(nn), RP_F32, 0, NULL, 0.2));
    rp_tensor shown = rp_where(hidden, rp_fill(rp_nn_graph(nn), RP_I32, 0, NULL, MASK), batch[0]), x;

    (void)self;
    x = rp_nn_embedding(nn, "letters", shown, SYMBOLS, WIDTH);
    x = rp_add(x, rp_nn_parameter(nn, "places", 2, (size_t[]){LENGTH, WIDTH}, rp_nn_normal(0, 0.02)));
    x = rp_nn_transformer(nn, "block.0", x, 4, NULL);
    x = rp_nn_transformer(nn, "block.1", x, 4, NULL);
    x = rp_nn_linear(nn, "out", rp_nn_layer_norm(nn, "norm", x), SYMBOLS);
    return hidden_loss(x, batch[0], hidden, n * LENGTH);
}

static rp_status prepare(rp_nn *nn, rp_error *err)
{
    static unsigned char text[TEXT];

    zoo_text(text, TEXT);
    rp_nn_initialise(nn, "letters.weight", rp_nn_normal(0, 0.02), err);
    return rp_nn_text(nn, "text", &(rp_nn_tokens){.bytes = text, .size = TEXT, .length = LENGTH, .stride = 8}, err);
}

int main(int argc, char **argv)
{
    rp_nn_optimizer adamw = rp_nn_adamw(0.003);

    adamw.clip_norm = 1;
    adamw.schedule.warmup = 20;
    return zoo_main(&(zoo){.nn = {.model = model, .optimizer = adamw, .batches = {.batch = 16}, .seed = 10},
                           .prepare = prepare,
                           .steps = 240,
                           .save_every = 100,
                           .below = 2.35},
                    argc, argv);
}
