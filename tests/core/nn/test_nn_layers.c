/* SPDX-License-Identifier: Apache-2.0
 * What layers of rp/nn.h compute, beside the same formulas in binary64, written out here from their papers: recurrent
 * cells, attention, batch norm, and where convolutions pad. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/core/nn/models.h"

enum { N = 3, TIMES = 5, IN = 4, HIDDEN = 6, GATES_MAX = 4 * HIDDEN };

typedef rp_tensor layer(rp_nn *nn, rp_tensor x);

static rp_tensor lstm(rp_nn *nn, rp_tensor x)
{
    return rp_nn_lstm(nn, "cell", x, HIDDEN, NULL);
}

static rp_tensor gru(rp_nn *nn, rp_tensor x)
{
    return rp_nn_gru(nn, "cell", x, HIDDEN, NULL);
}

static rp_tensor rnn(rp_nn *nn, rp_tensor x)
{
    return rp_nn_rnn(nn, "cell", x, HIDDEN, NULL);
}

static rp_tensor attention(rp_nn *nn, rp_tensor x)
{
    return rp_nn_self_attention(nn, "attention", x, 2, &(rp_nn_attention){.causal = true});
}

static rp_tensor apply_layer(rp_nn *nn, const rp_tensor *batch, void *self)
{
    return (*(layer **)self)(nn, batch[0]);
}

static rp_tensor mean_of_layer(rp_nn *nn, const rp_tensor *batch, void *self)
{
    return rp_mean(apply_layer(nn, batch, self), NULL, 0, false);
}

static float input[N][TIMES][IN];

/* A model of the layer alone; y is what it gives for `input`. */
static rp_nn *apply(layer **what, float *y, size_t size)
{
    rp_nn *nn = NULL;
    uint32_t seed = 11;
    const rp_nn_input x = {"input", RP_F32, 3, {N, TIMES, IN}, input};

    for (int i = 0; i < N * TIMES * IN; i++)
        input[i / (TIMES * IN)][i / IN % TIMES][i % IN] = model_number(&seed);
    OK(rp_nn_new(&nn, &(rp_nn_options){.model = mean_of_layer, .self = what, .seed = 5, .run = {.threads = 1}}, ERR));
    OK(rp_nn_array(nn, "x", RP_F32, 3, (size_t[]){N, TIMES, IN}, input, ERR));
    OK(rp_nn_apply(nn, apply_layer, what, &x, 1, y, size, ERR));
    return nn;
}

static void near(const char *what, size_t at, double expected, double found)
{
    if (!(fabs(expected - found) < 2e-6))
        fail_msg("%s: element %zu: expected %.9g, found %.9g", what, at, expected, found);
}

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static float w_ih[IN * GATES_MAX], w_hh[HIDDEN * GATES_MAX], b_ih[GATES_MAX], b_hh[GATES_MAX];

static void read_cell(rp_nn *nn, size_t gates)
{
    const size_t width = gates * HIDDEN * sizeof(float);

    OK(rp_nn_read(nn, "cell.weight_ih_l0", w_ih, IN * width, ERR));
    OK(rp_nn_read(nn, "cell.weight_hh_l0", w_hh, HIDDEN * width, ERR));
    OK(rp_nn_read(nn, "cell.bias_ih_l0", b_ih, width, ERR));
    OK(rp_nn_read(nn, "cell.bias_hh_l0", b_hh, width, ERR));
}

/* What gate g's unit k gets from x, and from h. */
static double from_x(const float *x, size_t gates, size_t g, size_t k)
{
    double sum = (double)b_ih[g * HIDDEN + k];

    for (size_t i = 0; i < IN; i++)
        sum += (double)x[i] * (double)w_ih[i * gates * HIDDEN + g * HIDDEN + k];
    return sum;
}

static double from_h(const double *h, size_t gates, size_t g, size_t k)
{
    double sum = (double)b_hh[g * HIDDEN + k];

    for (size_t i = 0; i < HIDDEN; i++)
        sum += h[i] * (double)w_hh[i * gates * HIDDEN + g * HIDDEN + k];
    return sum;
}

/* One time of one row: h and, of an LSTM, c become the next ones. */
static void cell_step(size_t gates, const float *x, double *h, double *c)
{
    double next[HIDDEN];

    for (size_t k = 0; k < HIDDEN; k++) {
        double in[4], back[4];

        for (size_t g = 0; g < gates; g++) {
            in[g] = from_x(x, gates, g, k);
            back[g] = from_h(h, gates, g, k);
        }
        if (gates == 1) {
            next[k] = tanh(in[0] + back[0]);
        } else if (gates == 3) {
            const double r = sigmoid(in[0] + back[0]), z = sigmoid(in[1] + back[1]), n = tanh(in[2] + r * back[2]);

            next[k] = (1 - z) * n + z * h[k];
        } else {
            c[k] = sigmoid(in[1] + back[1]) * c[k] + sigmoid(in[0] + back[0]) * tanh(in[2] + back[2]);
            next[k] = sigmoid(in[3] + back[3]) * tanh(c[k]);
        }
    }
    memcpy(h, next, sizeof next);
}

static void recurrent_layers_are_their_formulas(void **state)
{
    layer *what[] = {rnn, gru, lstm};
    static const size_t gates[] = {1, 3, 4};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        float y[N][TIMES][HIDDEN];
        rp_nn *nn = apply(&what[i], &y[0][0][0], sizeof y);

        read_cell(nn, gates[i]);
        for (size_t n = 0; n < N; n++) {
            double h[HIDDEN] = {0}, c[HIDDEN] = {0};

            for (size_t t = 0; t < TIMES; t++) {
                cell_step(gates[i], input[n][t], h, c);
                for (size_t k = 0; k < HIDDEN; k++)
                    near("cell", (n * TIMES + t) * HIDDEN + k, h[k], (double)y[n][t][k]);
            }
        }
        rp_nn_free(nn);
    }
}

/* q, k or v (part) of row n, time t, unit u. */
static double projected(const float *w, const float *b, size_t n, size_t t, size_t part, size_t u)
{
    double sum = (double)b[part * IN + u];

    for (size_t i = 0; i < IN; i++)
        sum += (double)input[n][t][i] * (double)w[i * 3 * IN + part * IN + u];
    return sum;
}

static void attention_sees_what_was_before(void **state)
{
    layer *what = attention;
    float y[N][TIMES][IN], w[IN * 3 * IN], b[3 * IN], w_out[IN * IN], b_out[IN];
    rp_nn *nn = apply(&what, &y[0][0][0], sizeof y);
    enum { EACH = IN / 2 };

    (void)state;
    OK(rp_nn_read(nn, "attention.in_proj_weight", w, sizeof w, ERR));
    OK(rp_nn_read(nn, "attention.in_proj_bias", b, sizeof b, ERR));
    OK(rp_nn_read(nn, "attention.out_proj.weight", w_out, sizeof w_out, ERR));
    OK(rp_nn_read(nn, "attention.out_proj.bias", b_out, sizeof b_out, ERR));
    for (size_t n = 0; n < N; n++)
        for (size_t t = 0; t < TIMES; t++) {
            double seen[IN] = {0};

            for (size_t head = 0; head < 2; head++) {
                double weight[TIMES], total = 0;

                for (size_t s = 0; s <= t; s++) {
                    double score = 0;

                    for (size_t u = head * EACH; u < (head + 1) * EACH; u++)
                        score += projected(w, b, n, t, 0, u) * projected(w, b, n, s, 1, u);
                    total += weight[s] = exp(score / sqrt(EACH));
                }
                for (size_t s = 0; s <= t; s++)
                    for (size_t u = head * EACH; u < (head + 1) * EACH; u++)
                        seen[u] += weight[s] / total * projected(w, b, n, s, 2, u);
            }
            for (size_t k = 0; k < IN; k++) {
                double sum = (double)b_out[k];

                for (size_t u = 0; u < IN; u++)
                    sum += seen[u] * (double)w_out[u * IN + k];
                near("attention", (n * TIMES + t) * IN + k, sum, (double)y[n][t][k]);
            }
        }
    rp_nn_free(nn);
}

static rp_tensor normed(rp_nn *nn, rp_tensor x)
{
    return rp_nn_batch_norm(nn, "norm", x);
}

static void batch_norm_follows_its_batches_and_uses_that_later(void **state)
{
    layer *what = normed;
    float y[N][TIMES][IN], mean[IN], var[IN];
    const rp_nn_input x = {"input", RP_F32, 3, {N, TIMES, IN}, input};
    rp_nn *nn = apply(&what, &y[0][0][0], sizeof y);
    enum { COUNT = N * TIMES };

    (void)state;
    for (size_t i = 0; i < COUNT * IN; i++) /* mean 0 and variance 1 to begin with */
        near("fresh", i, (double)(&input[0][0][0])[i] / sqrt(1 + 1e-5), (double)(&y[0][0][0])[i]);
    OK(rp_nn_train_step(nn, NULL, ERR));
    OK(rp_nn_read(nn, "norm.running_mean", mean, sizeof mean, ERR));
    OK(rp_nn_read(nn, "norm.running_var", var, sizeof var, ERR));
    for (size_t c = 0; c < IN; c++) {
        double m = 0, v = 0;

        for (size_t i = 0; i < COUNT; i++)
            m += (double)(&input[0][0][0])[i * IN + c] / COUNT;
        for (size_t i = 0; i < COUNT; i++)
            v += ((double)(&input[0][0][0])[i * IN + c] - m) * ((double)(&input[0][0][0])[i * IN + c] - m);
        near("mean", c, 0.1 * m, (double)mean[c]);
        near("var", c, 0.9 + 0.1 * v / (COUNT - 1), (double)var[c]);
    }
    OK(rp_nn_apply(nn, apply_layer, &what, &x, 1, y, sizeof y, ERR));
    for (size_t i = 0; i < COUNT * IN; i++) { /* Adam's first step moved weight and bias by 0.001 at most */
        const double z = ((double)(&input[0][0][0])[i] - (double)mean[i % IN]) / sqrt((double)var[i % IN] + 1e-5);

        assert_true(fabs(z - (double)(&y[0][0][0])[i]) < 0.004);
    }
    rp_nn_free(nn);
}

/* What was 100 higher is 10 more than the first call left, as one call after the other of torch.nn has it. */
static rp_tensor normed_twice(rp_nn *nn, const rp_tensor *batch, void *user)
{
    rp_tensor first = rp_nn_batch_norm(nn, "norm", batch[0]);

    (void)user;
    return rp_mean(rp_mul(first, rp_nn_batch_norm(nn, "norm", rp_add_scalar(batch[0], 100))), NULL, 0, false);
}

static void a_batch_norm_that_is_called_twice_follows_both(void **state)
{
    const float x[4] = {10, 10, 30, 30};

    (void)state;
    for (int eager = 0; eager < 2; eager++) {
        rp_nn *nn;
        float mean, var;

        OK(rp_nn_new(
            &nn,
            &(rp_nn_options){.model = normed_twice, .batches = {.batch = 4}, .run = {.threads = 1}, .eager = eager},
            ERR));
        OK(rp_nn_array(nn, "x", RP_F32, 2, (size_t[]){4, 1}, x, ERR));
        OK(rp_nn_train_step(nn, NULL, ERR));
        OK(rp_nn_read(nn, "norm.running_mean", &mean, sizeof mean, ERR));
        OK(rp_nn_read(nn, "norm.running_var", &var, sizeof var, ERR));
        near("mean", (size_t)eager, 0.9 * 2 + 0.1 * 120, (double)mean);
        near("var", (size_t)eager, 0.81 + 0.19 * 400 / 3, (double)var);
        rp_nn_free(nn);
    }
}

static size_t padded[4];

static rp_tensor convolved(rp_nn *nn, rp_tensor x)
{
    rp_tensor image = rp_reshape(x, 4, (size_t[]){N, TIMES, IN, 1});
    const rp_nn_conv tall = {.kernel = {3, 1}}, wide = {.kernel = {1, 5}, .place = {.dilation = {1, 2}}};
    rp_tensor a = rp_nn_conv2d(nn, "tall", image, 2, &tall), b = rp_nn_conv2d(nn, "wide", a, 2, &wide), c;
    size_t shape[RP_MAX_RANK] = {0};
    rp_dtype dtype;
    int rank;

    (void)rp_shape_of(b, &dtype, &rank, shape);
    memcpy(padded, shape, sizeof padded);
    c = rp_nn_conv2d(nn, "valid", b, 1, &(rp_nn_conv){.valid = true});
    return rp_reshape(c, 2, (size_t[]){N, (TIMES - 2) * (IN - 2)});
}

static void convolutions_keep_the_size_unless_valid(void **state)
{
    layer *what = convolved;
    float y[N][(TIMES - 2) * (IN - 2)];

    (void)state;
    rp_nn_free(apply(&what, &y[0][0], sizeof y));
    assert_memory_equal(padded, ((size_t[]){N, TIMES, IN, 2}), sizeof padded);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recurrent_layers_are_their_formulas),
        cmocka_unit_test(attention_sees_what_was_before),
        cmocka_unit_test(batch_norm_follows_its_batches_and_uses_that_later),
        cmocka_unit_test(a_batch_norm_that_is_called_twice_follows_both),
        cmocka_unit_test(convolutions_keep_the_size_unless_valid),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
