/* SPDX-License-Identifier: Apache-2.0
 * A small GPT on letters: token and position tables, causal transformer blocks, the head shares the token table.
 * Warm-up and cosine, no decay of biases and norms, gradients clipped. Afterwards it goes on with a text, letter by
 * letter. */
#include "zoo.h"

enum { TEXT = 4096, LENGTH = 32, WIDTH = 32, HEADS = 4, LAYERS = 2, STEPS = 120, MORE = 24 };

/* tokens [n, times] -> logits [n, times, letters] */
static rp_tensor logits(rp_nn *nn, rp_tensor token)
{
    const rp_nn_attention options = {.causal = true, .residual_dropout = 0.1};
    const size_t times = zoo_length(token, 1), n = zoo_length(token, 0);
    rp_tensor table = rp_nn_parameter(nn, "tokens", 2, (size_t[]){ZOO_LETTERS, WIDTH}, rp_nn_normal(0, 0.02));
    rp_tensor place = rp_nn_parameter(nn, "places", 2, (size_t[]){LENGTH, WIDTH}, rp_nn_normal(0, 0.02));
    rp_tensor x = rp_embedding(table, token);

    x = rp_add(x, rp_slice(place, (size_t[]){0, 0}, (size_t[]){times, WIDTH}));
    for (int i = 0; i < LAYERS; i++) {
        char name[24];

        (void)snprintf(name, sizeof name, "block.%d", i);
        x = rp_nn_transformer(nn, name, x, HEADS, &options);
    }
    x = rp_reshape(rp_nn_layer_norm(nn, "norm", x), 2, (size_t[]){n * times, WIDTH});
    x = rp_matmul(x, rp_transpose(table, NULL));
    return rp_reshape(x, 3, (size_t[]){n, times, ZOO_LETTERS});
}

static rp_tensor model(rp_nn *nn, const rp_tensor *batch, void *self)
{
    const size_t n = zoo_length(batch[0], 0);
    rp_tensor label = zoo_columns(batch[0], 1, LENGTH + 1), x = logits(nn, zoo_columns(batch[0], 0, LENGTH));

    (void)self;
    x = rp_reshape(x, 2, (size_t[]){n * LENGTH, ZOO_LETTERS});
    return rp_cross_entropy(x, rp_reshape(label, 1, (size_t[]){n * LENGTH}));
}

/* The likeliest letter behind each. */
static rp_tensor next_letter(rp_nn *nn, const rp_tensor *batch, void *self)
{
    (void)self;
    return rp_argmax(logits(nn, batch[0]), -1, false);
}

static rp_status go_on(rp_nn *nn, rp_error *err)
{
    int letter[LENGTH] = {21, 9, 6}; /* "the" */
    int64_t next[LENGTH];
    rp_status status = RP_OK;

    for (int at = 3; at < 3 + MORE && status == RP_OK; at++) {
        const rp_nn_input input = {"letters", RP_I32, 2, {1, LENGTH}, letter};

        status = rp_nn_apply(nn, next_letter, NULL, &input, 1, next, sizeof next, err);
        letter[at] = (int)next[at - 1];
    }
    for (int at = 0; at < 3 + MORE; at++)
        (void)putchar(letter[at] == 0 ? ' ' : letter[at] == 1 ? '.' : letter[at] - 2 + 'a');
    (void)putchar('\n');
    return status;
}

static rp_status prepare(rp_nn *nn, rp_error *err)
{
    static unsigned char text[TEXT];

    zoo_text(text, TEXT);
    rp_nn_initialise(nn, "*.weight", rp_nn_normal(0, 0.02), err);
    rp_nn_initialise(nn, "*norm*.weight", rp_nn_constant(1), err);
    rp_nn_add_group(nn, "*bias", 0.006, 0, err);
    rp_nn_add_group(nn, "*norm*", 0.006, 0, err);
    return rp_nn_text(nn, "text", &(rp_nn_tokens){.bytes = text, .size = TEXT, .length = LENGTH + 1, .stride = 8}, err);
}

int main(int argc, char **argv)
{
    rp_nn_optimizer adamw = rp_nn_adamw(0.006);

    adamw.beta2 = 0.95;
    adamw.weight_decay = 0.1;
    adamw.clip_norm = 1;
    adamw.schedule = (rp_nn_schedule){.curve = RP_NN_COSINE, .warmup = 10, .total = STEPS, .low = 0.0006};
    return zoo_main(&(zoo){.nn = {.model = model, .optimizer = adamw, .batches = {.batch = 8}, .seed = 2},
                           .prepare = prepare,
                           .steps = STEPS,
                           .save_every = 50,
                           .below = 1.9,
                           .after = go_on},
                    argc, argv);
}
