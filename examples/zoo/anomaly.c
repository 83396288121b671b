/* SPDX-License-Identifier: Apache-2.0
 * An autoencoder that finds anomalies: trained on rows of six sensors that depend on two causes, it gives back such
 * rows well and others badly. The error of giving back is the score. */
#include "zoo.h"

enum { NORMAL = 512, ODD = 32, ROWS = NORMAL + ODD, SENSORS = 6 };

static rp_tensor given_back(rp_nn *nn, rp_tensor x)
{
    rp_tensor code = rp_nn_linear(nn, "code", rp_tanh(rp_nn_linear(nn, "encoder", x, 16)), 2);

    return rp_nn_linear(nn, "out", rp_tanh(rp_nn_linear(nn, "decoder", code, 16)), SENSORS);
}

static rp_tensor model(rp_nn *nn, const rp_tensor *batch, void *self)
{
    (void)self;
    return rp_mse(given_back(nn, batch[0]), batch[0]);
}

static rp_tensor score(rp_nn *nn, const rp_tensor *batch, void *self)
{
    rp_tensor wrong = rp_sub(given_back(nn, batch[0]), batch[0]);

    (void)self;
    return rp_mean(rp_mul(wrong, wrong), (int[]){1}, 1, false);
}

/* The last rows have one sensor that does not follow the causes. */
static rp_status prepare(rp_nn *nn, rp_error *err)
{
    static float x[ROWS][SENSORS];
    uint32_t seed = 12;

    for (int i = 0; i < ROWS; i++) {
        const float a = zoo_number(&seed), b = zoo_number(&seed);
        const float row[SENSORS] = {a, b, a + b, a - b, a / 2 + b, a * b};

        for (int k = 0; k < SENSORS; k++)
            x[i][k] = row[k] + zoo_number(&seed) / 32;
        if (i >= NORMAL)
            x[i][zoo_below(&seed, SENSORS)] += zoo_number(&seed) > 0 ? 1.5f : -1.5f;
    }
    return rp_nn_array(nn, "sensors", RP_F32, 2, (size_t[]){ROWS, SENSORS}, x, err);
}

/* How many odd rows score higher than all but a hundredth of the normal ones. */
static rp_status find(rp_nn *nn, rp_error *err)
{
    static float scores[ROWS];
    int found = 0;
    rp_status status = rp_nn_predict(nn, score, NULL, 0, ROWS, scores, sizeof scores, err);

    for (int i = NORMAL; i < ROWS && status == RP_OK; i++) {
        int higher = 0;

        for (int k = 0; k < NORMAL; k++)
            higher += scores[k] >= scores[i];
        found += higher <= NORMAL / 100;
    }
    printf("%d of %d odd rows found\n", found, (int)ODD);
    return status != RP_OK || found >= ODD * 3 / 4 ? status : rp_fail(err, RP_EDATA, "too few odd rows were found");
}

int main(int argc, char **argv)
{
    return zoo_main(
        &(zoo){
            .nn = {.model = model, .optimizer = rp_nn_adam(0.01), .batches = {.batch = 64, .rows = NORMAL}, .seed = 12},
            .prepare = prepare,
            .steps = 400,
            .save_every = 150,
            .below = 0.01,
            .after = find},
        argc, argv);
}
