/* SPDX-License-Identifier: Apache-2.0
 * A classifier in as few lines as rp/nn.h takes, recorded: docs/nn.md goes through it, classifier.py is the same in
 * PyTorch, and classifier_test.sh counts the lines of both. */
#include <stdio.h>

#include "rp/rp.h"

static rp_tensor model(rp_nn *nn, const rp_tensor *batch, void *self)
{
    rp_tensor x = rp_relu(rp_nn_linear(nn, "first", batch[0], 64));

    (void)self;
    return rp_cross_entropy(rp_nn_linear(nn, "last", rp_nn_dropout(nn, x, 0.1), 3), batch[1]);
}

int main(void)
{
    static float x[512][20], loss;
    static int y[512];
    rp_error err = {0};
    rp_nn *nn;

    for (unsigned i = 0, seed = 1; i < 512 * 20; i++)
        x[i / 20][i % 20] = (float)((seed = seed * 1664525u + 1013904223u) >> 24) / 64 - 2;
    for (int i = 0; i < 512; i++)
        y[i] = (x[i][0] * x[i][1] > 0) + (x[i][2] > 0.5f);
    if (rp_nn_new(&nn, &(rp_nn_options){.model = model, .optimizer = rp_nn_adamw(0.01), .seed = 1}, &err) ||
        rp_nn_array(nn, "x", RP_F32, 2, (size_t[]){512, 20}, x, &err) ||
        rp_nn_array(nn, "y", RP_I32, 1, (size_t[]){512}, y, &err) || rp_nn_record(nn, NULL, &err))
        return fprintf(stderr, "%s\n", err.text), 1;
    for (int epoch = 0; epoch < 20 && rp_nn_train_epoch(nn, &loss, &err) == RP_OK; epoch++)
        printf("%d %g\n", epoch, (double)loss);
    if (rp_nn_archive(nn, "classifier.reprise", NULL, NULL, &err) != RP_OK)
        fprintf(stderr, "%s\n", err.text);
    rp_nn_free(nn);
    return rp_exit_code(err.status);
}
