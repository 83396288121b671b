/* SPDX-License-Identifier: Apache-2.0
 * Matrix factorisation: a rating is the product of a user's and an item's vector, plus what is usual for each. SGD with
 * Nesterov momentum; the vectors have a decay of their own. */
#include "zoo.h"

enum { USERS = 40, ITEMS = 30, RATINGS = 800, RANK = 4 };

static rp_tensor model(rp_nn *nn, const rp_tensor *batch, void *self)
{
    const size_t n = zoo_length(batch[0], 0);
    rp_tensor user = rp_nn_embedding(nn, "user", batch[0], USERS, RANK);
    rp_tensor item = rp_nn_embedding(nn, "item", batch[1], ITEMS, RANK);
    rp_tensor users = rp_nn_embedding(nn, "user_mean", batch[0], USERS, 1);
    rp_tensor items = rp_nn_embedding(nn, "item_mean", batch[1], ITEMS, 1);
    rp_tensor rating = rp_sum(rp_mul(user, item), (int[]){1}, 1, true);

    (void)self;
    rating = rp_add(rating, rp_add(users, items));
    return rp_mse(rp_reshape(rating, 1, &n), batch[2]);
}

/* Ratings of two tastes that users and items have, exact in binary32. */
static rp_status prepare(rp_nn *nn, rp_error *err)
{
    static int user[RATINGS], item[RATINGS];
    static float rating[RATINGS];
    float taste[USERS + ITEMS][2];
    uint32_t seed = 5;

    for (int i = 0; i < USERS + ITEMS; i++)
        for (int k = 0; k < 2; k++)
            taste[i][k] = zoo_number(&seed);
    for (int i = 0; i < RATINGS; i++) {
        const float *a, *b;

        user[i] = (int)zoo_below(&seed, USERS);
        item[i] = (int)zoo_below(&seed, ITEMS);
        a = taste[user[i]];
        b = taste[USERS + item[i]];
        rating[i] = 3 + a[0] * b[0] + a[1] * b[1];
    }
    rp_nn_initialise(nn, "*", rp_nn_normal(0, 0.1), err);
    rp_nn_add_group(nn, "user.weight", 0.5, 0.001, err);
    rp_nn_add_group(nn, "item.weight", 0.5, 0.001, err);
    rp_nn_array(nn, "user", RP_I32, 1, (size_t[]){RATINGS}, user, err);
    rp_nn_array(nn, "item", RP_I32, 1, (size_t[]){RATINGS}, item, err);
    return rp_nn_array(nn, "rating", RP_F32, 1, (size_t[]){RATINGS}, rating, err);
}

int main(int argc, char **argv)
{
    rp_nn_optimizer sgd = rp_nn_sgd(0.5, 0.9);

    sgd.nesterov = true;
    sgd.schedule = (rp_nn_schedule){.curve = RP_NN_STEPS, .every = 150, .gamma = 0.5};
    return zoo_main(&(zoo){.nn = {.model = model, .optimizer = sgd, .batches = {.batch = 100}, .seed = 5},
                           .prepare = prepare,
                           .steps = 320,
                           .save_every = 100,
                           .below = 0.05},
                    argc, argv);
}
