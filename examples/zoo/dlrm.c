/* SPDX-License-Identifier: Apache-2.0
 * A recommendation model: numbers through a bottom network, categories through embeddings, all pairs of their vectors
 * multiplied, and a top network over the products. */
#include "zoo.h"

enum { ROWS = 1024, DENSE = 4, TABLES = 3, ENTRIES = 20, WIDTH = 8, VECTORS = TABLES + 1 };

/* Products of all pairs of vectors [n, VECTORS, WIDTH], each once: those below the diagonal. */
static rp_tensor pairs(rp_tensor vectors, size_t n)
{
    static const int64_t below[] = {4, 8, 9, 12, 13, 14}; /* row VECTORS + column, column < row */
    rp_tensor all = rp_matmul(vectors, rp_transpose(vectors, NULL)), part[6];

    all = rp_reshape(all, 2, (size_t[]){n, VECTORS * VECTORS});
    for (size_t i = 0; i < 6; i++)
        part[i] = zoo_columns(all, (size_t)below[i], (size_t)below[i] + 1);
    return rp_concat(part, 6, 1);
}

static rp_tensor model(rp_nn *nn, const rp_tensor *batch, void *self)
{
    const size_t n = zoo_length(batch[0], 0);
    rp_tensor dense = rp_nn_mlp(nn, "bottom", batch[0], (size_t[]){16, WIDTH}, 2), vector[VECTORS], x[2];

    (void)self;
    vector[0] = rp_reshape(dense, 3, (size_t[]){n, 1, WIDTH});
    for (size_t i = 0; i < TABLES; i++) {
        char name[24];
        rp_tensor index = zoo_columns(batch[1], i, i + 1);

        (void)snprintf(name, sizeof name, "table.%zu", i);
        vector[1 + i] = rp_nn_embedding(nn, name, index, ENTRIES, WIDTH);
    }
    x[0] = dense;
    x[1] = pairs(rp_concat(vector, VECTORS, 1), n);
    dense = rp_nn_mlp(nn, "top", rp_concat(x, 2, 1), (size_t[]){32, 1}, 2);
    return rp_bce_with_logits(dense, batch[2]);
}

static rp_status prepare(rp_nn *nn, rp_error *err)
{
    static float dense[ROWS][DENSE], clicked[ROWS];
    static int index[ROWS][TABLES];
    uint32_t seed = 6;

    for (int i = 0; i < ROWS; i++) {
        for (int k = 0; k < DENSE; k++)
            dense[i][k] = zoo_number(&seed);
        for (int k = 0; k < TABLES; k++)
            index[i][k] = (int)zoo_below(&seed, ENTRIES);
        clicked[i] = (index[i][0] % 3 == index[i][1] % 3) != (dense[i][0] > 0.5f);
    }
    rp_nn_initialise(nn, "table.*", rp_nn_uniform(-0.5, 0.5), err);
    rp_nn_array(nn, "dense", RP_F32, 2, (size_t[]){ROWS, DENSE}, dense, err);
    rp_nn_array(nn, "index", RP_I32, 2, (size_t[]){ROWS, TABLES}, index, err);
    return rp_nn_array(nn, "clicked", RP_F32, 2, (size_t[]){ROWS, 1}, clicked, err);
}

int main(int argc, char **argv)
{
    return zoo_main(&(zoo){.nn = {.model = model, .optimizer = rp_nn_adam(0.01), .batches = {.batch = 64}, .seed = 6},
                           .prepare = prepare,
                           .steps = 320,
                           .save_every = 100,
                           .below = 0.2},
                    argc, argv);
}
