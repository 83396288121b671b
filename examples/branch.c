/* SPDX-License-Identifier: Apache-2.0
 * Training through the eager C API, with a branch that depends on the data: while the mean of the hidden activations is
 * above a threshold the step adds a penalty on them, so two different programs occur. The run is recorded; the command
 * line replays the archive without this program, taking at each step the branch that was taken here.
 *
 * Usage: branch OUT.reprise [KEY.pem] */
#include <stdio.h>
#include <string.h>

#include "rp/rp.h"

enum { ROWS = 64, FEATURES = 2, HIDDEN = 8, STEPS = 60 };

/* Points of the plane; the class tells whether they lie in the ring between two circles. Exact in binary32. */
static void make_points(float *x, int64_t *label)
{
    uint32_t seed = 12345;

    for (int i = 0; i < ROWS; i++) {
        float square = 0;

        for (int k = 0; k < FEATURES; k++) {
            seed = seed * 1664525u + 1013904223u;
            x[i * FEATURES + k] = (float)(int)(seed >> 24) / 64.0f - 2.0f;
            square += x[i * FEATURES + k] * x[i * FEATURES + k];
        }
        label[i] = square > 0.75f && square < 3.0f;
    }
}

static rp_status add_parameters(rp_run *run, rp_error *err)
{
    static const size_t w1[2] = {FEATURES, HIDDEN}, b1[1] = {HIDDEN}, w2[2] = {HIDDEN, 2}, b2[1] = {2};
    float first[FEATURES * HIDDEN], second[HIDDEN * 2];
    rp_status status;

    for (int i = 0; i < FEATURES * HIDDEN; i++)
        first[i] = (float)((i * 37) % 16 - 8) / 8.0f;
    for (int i = 0; i < HIDDEN * 2; i++)
        second[i] = (float)((i * 23) % 16 - 8) / 16.0f;
    status = rp_run_add_state(run, "w1", RP_F32, 2, w1, first, err);
    if (status == RP_OK)
        status = rp_run_add_state(run, "b1", RP_F32, 1, b1, NULL, err);
    if (status == RP_OK)
        status = rp_run_add_state(run, "w2", RP_F32, 2, w2, second, err);
    if (status == RP_OK)
        status = rp_run_add_state(run, "b2", RP_F32, 1, b2, NULL, err);
    return status;
}

static rp_status step(rp_run *run, const float *x, const int64_t *label, int *penalised, float *loss_value,
                      rp_error *err)
{
    static const char *const names[4] = {"w1", "b1", "w2", "b2"};
    static const size_t x_shape[2] = {ROWS, FEATURES}, label_shape[1] = {ROWS};
    rp_tensor weight[4], grad[4], points, classes, hidden, mean, loss, lr;
    float mean_value = 0;
    rp_status status = rp_step_begin(run, err);

    if (status != RP_OK)
        return status;
    for (int i = 0; i < 4; i++)
        weight[i] = rp_state(run, names[i]);
    points = rp_feed(run, "x", RP_F32, 2, x_shape, x);
    classes = rp_feed(run, "label", RP_I64, 1, label_shape, label);
    hidden = rp_relu(rp_linear(points, weight[0], weight[1]));
    loss = rp_cross_entropy(rp_linear(hidden, weight[2], weight[3]), classes);

    /* The branch: reading a value records it, so the decision can be checked. */
    mean = rp_mean(hidden, NULL, 0, false);
    (void)rp_read(run, mean, &mean_value, sizeof mean_value, err);
    *penalised = mean_value > 0.3f;
    if (*penalised)
        loss = rp_add(loss, rp_scale(mean, 0.5));

    rp_gradients(loss, weight, 4, grad);
    lr = rp_fill(rp_step_graph(run), RP_F32, 0, NULL, 0.25);
    for (int i = 0; i < 4; i++)
        rp_set_state(run, names[i], rp_sub(weight[i], rp_mul(lr, grad[i])));
    rp_result(run, "loss", loss);
    (void)rp_read(run, loss, loss_value, sizeof *loss_value, err);
    return rp_step_end(run, err); /* reports the first error of the step, whichever call it came from */
}

static rp_status train(rp_run *run, rp_recorder *recorder, const char *path, const rp_key *key, rp_error *err)
{
    float x[ROWS * FEATURES], loss = 0;
    int64_t label[ROWS];
    int penalised, with = 0;
    char id[RP_DIGEST_HEX];
    rp_status status = RP_OK;

    make_points(x, label);
    for (int i = 0; i < STEPS && status == RP_OK; i++) {
        status = step(run, x, label, &penalised, &loss, err);
        with += penalised;
    }
    if (status == RP_OK)
        status = rp_recorder_save(recorder, path, key, true, id, err);
    if (status == RP_OK)
        printf("archive %s\n%d steps, %d of them with the penalty; last loss %.6f\n", id, STEPS, with, (double)loss);
    return status;
}

int main(int argc, char **argv)
{
    rp_run *run = NULL;
    rp_recorder *recorder = NULL;
    rp_key *key = NULL;
    rp_error err = {0};
    rp_status status;

    if (argc < 2 || argc > 3) {
        fprintf(stderr, "usage: branch OUT.reprise [KEY.pem]\n");
        return 2;
    }
    status = argc == 3 ? rp_key_load_private(&key, argv[2], NULL, &err) : RP_OK;
    if (status == RP_OK)
        status = rp_run_new(&run, NULL, &err);
    if (status == RP_OK)
        status = add_parameters(run, &err);
    if (status == RP_OK)
        status = rp_recorder_new(&recorder, run, &err);
    if (status == RP_OK)
        status = train(run, recorder, argv[1], key, &err);
    if (status != RP_OK)
        fprintf(stderr, "branch: %s\n", err.text);
    rp_recorder_free(recorder);
    rp_run_free(run);
    rp_key_free(key);
    return rp_exit_code(status);
}
