/* SPDX-License-Identifier: Apache-2.0
 * Layers of rp/nn.h beside PyTorch's: for the same numbers what they give, and the gradients of sum(y sin(i)) by x and
 * by each parameter, as products that torch_values.py has written down. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/nn/nn.h"
#include "tests/core/nn/models.h"
#include "tests/core/nn/torch_numbers.h"

enum { N = 2, T = 5, C = 4, VALUES_MAX = 512, PARTS_MAX = 24 };

typedef struct torch_row {
    const char *layer;
    size_t shape[RP_MAX_RANK];
    torch_part part[PARTS_MAX];
} torch_row;

#include "tests/core/nn/torch_values.h"

typedef rp_tensor layer(rp_nn *nn, rp_tensor x);

/* i64 [N]: T, T - 2 */
static rp_tensor lengths(rp_nn *nn)
{
    rp_tensor all = rp_fill(rp_nn_graph(nn), RP_I64, 1, (size_t[]){N}, T), i = rp_iota(rp_nn_graph(nn), RP_I64, N);

    all = rp_sub(all, i);
    return rp_sub(all, i);
}

/* bool [N, T]: time t of row i is there where t < lengths[i]. */
static rp_tensor there(rp_nn *nn)
{
    rp_tensor t = rp_reshape(rp_iota(rp_nn_graph(nn), RP_I64, T), 2, (size_t[]){1, T});

    return rp_lt(t, rp_reshape(lengths(nn), 2, (size_t[]){N, 1}));
}

static rp_tensor conv1d(rp_nn *nn, rp_tensor x)
{
    return rp_nn_conv1d(nn, "l", x, 6, &(rp_nn_conv){.groups = 2, .place = {.dilation = {0, 2}}});
}

static rp_tensor conv3d(rp_nn *nn, rp_tensor x)
{
    return rp_nn_conv3d(
        nn, "l", x, 2,
        &(rp_nn_conv3){.kernel = {2, 3, 3}, .place = {.padding = {1, 1, 1, 1, 1, 1}, .stride = {1, 2, 1}}});
}

static rp_tensor conv1d_transpose(rp_nn *nn, rp_tensor x)
{
    return rp_nn_conv1d_transpose(nn, "l", x, 6,
                                  &(rp_nn_conv){.groups = 2, .place = {.stride = {0, 2}}, .extra = {0, 1}});
}

static rp_tensor conv2d_transpose(rp_nn *nn, rp_tensor x)
{
    return rp_nn_conv2d_transpose(nn, "l", x, 6,
                                  &(rp_nn_conv){.kernel = {4, 4}, .groups = 2, .place = {.stride = {2, 2}}});
}

static rp_tensor conv3d_transpose(rp_nn *nn, rp_tensor x)
{
    return rp_nn_conv3d_transpose(nn, "l", x, 2,
                                  &(rp_nn_conv3){.no_bias = true, .place = {.stride = {2, 2, 2}}, .extra = {1, 0, 1}});
}

static rp_tensor group_norm(rp_nn *nn, rp_tensor x)
{
    return rp_nn_group_norm(nn, "l", x, 2);
}

static rp_tensor instance_norm(rp_nn *nn, rp_tensor x)
{
    return rp_nn_instance_norm(nn, "l", x);
}

static rp_tensor rms_norm(rp_nn *nn, rp_tensor x)
{
    return rp_nn_rms_norm(nn, "l", x, 1e-6);
}

/* Rows 0, 5, 3, .. of seven, three a bag. */
static rp_tensor embedding_bag(rp_nn *nn, rp_tensor x)
{
    rp_tensor i = rp_iota(rp_nn_graph(nn), RP_I64, N * 3), seven;

    i = rp_scale(i, 5);
    seven = rp_fill(rp_nn_graph(nn), RP_I64, 0, NULL, 7);
    i = rp_reshape(rp_remainder(i, seven), 2, (size_t[]){N, 3});
    i = rp_nn_embedding_bag(nn, "l", i, 7, C, RP_BAG_MEAN);
    x = rp_slice(x, (size_t[]){0, 0, 0}, (size_t[]){N, 1, C});
    return rp_add(i, rp_reshape(x, 2, (size_t[]){N, C}));
}

static rp_tensor self_attention(rp_nn *nn, rp_tensor x)
{
    return rp_nn_self_attention(nn, "l", x, 2, &(rp_nn_attention){.keys = there(nn)});
}

static rp_tensor grouped_attention(rp_nn *nn, rp_tensor x)
{
    return rp_nn_self_attention(nn, "l", x, 2, &(rp_nn_attention){.causal = true, .kv_heads = 1});
}

/* What is seen: x turned in time, its first channels. */
static rp_tensor seen(rp_tensor x, size_t width)
{
    return rp_slice(rp_flip(x, (int[]){1}, 1), (size_t[]){0, 0, 0}, (size_t[]){N, T, width});
}

static rp_tensor cross_attention(rp_nn *nn, rp_tensor x)
{
    return rp_nn_cross_attention(nn, "l", x, seen(x, C), 2, &(rp_nn_attention){.causal = true});
}

static rp_tensor cross_attention_apart(rp_nn *nn, rp_tensor x)
{
    const rp_nn_attention o = {.keys = there(nn)};

    return rp_nn_cross_attention(nn, "l", x, seen(x, 3), 2, &o);
}

static rp_tensor transformer(rp_nn *nn, rp_tensor x)
{
    return rp_nn_transformer(nn, "l", x, 2,
                             &(rp_nn_attention){.causal = true, .hidden = 6, .norm_last = true, .relu = true});
}

static rp_tensor decoder(rp_nn *nn, rp_tensor x)
{
    return rp_nn_decoder(nn, "l", x, seen(x, C), 2, &(rp_nn_attention){.causal = true, .hidden = 6}, NULL);
}

/* The result and the last states, one behind the other. */
static rp_tensor behind(const rp_tensor *x, size_t n)
{
    rp_tensor flat[3];

    for (size_t i = 0; i < n; i++) {
        size_t shape[RP_MAX_RANK], count = 1;
        rp_dtype dtype;
        int rank = 0;

        (void)rp_shape_of(x[i], &dtype, &rank, shape);
        for (int k = 0; k < rank; k++)
            count *= shape[k];
        flat[i] = rp_reshape(x[i], 1, &count);
    }
    return rp_concat(flat, n, 0);
}

static rp_tensor lstm(rp_nn *nn, rp_tensor x)
{
    rp_tensor y[3];

    y[0] = rp_nn_recurrent(
        nn, "l", x, 3,
        &(rp_nn_recurrence){.layers = 2, .both = true, .lengths = lengths(nn), .last = &y[1], .last_memory = &y[2]});
    return behind(y, 3);
}

static rp_tensor gru(rp_nn *nn, rp_tensor x)
{
    rp_tensor y[2];

    y[0] = rp_nn_recurrent(
        nn, "l", x, 3,
        &(rp_nn_recurrence){.cell = RP_NN_GRU, .both = true, .no_bias = true, .lengths = lengths(nn), .last = &y[1]});
    return behind(y, 2);
}

static rp_tensor states(rp_nn *nn, size_t n, double value)
{
    return rp_fill(rp_nn_graph(nn), RP_F32, 3, (size_t[]){n, N, 3}, value);
}

static rp_tensor relu(rp_nn *nn, rp_tensor x)
{
    rp_tensor y[2], start = states(nn, 2, 0.25);

    y[0] = rp_nn_recurrent(nn, "l", x, 3,
                           &(rp_nn_recurrence){.cell = RP_NN_RELU, .layers = 2, .start = start, .last = &y[1]});
    return behind(y, 2);
}

static rp_tensor lstm_from(rp_nn *nn, rp_tensor x)
{
    rp_tensor y[3], start = states(nn, 1, 0.25), memory = states(nn, 1, -0.5);

    y[0] = rp_nn_recurrent(
        nn, "l", x, 3,
        &(rp_nn_recurrence){.start = start, .start_memory = memory, .last = &y[1], .last_memory = &y[2]});
    return behind(y, 3);
}

#define LAYER(name) \
    { \
#name, name \
    }
static const struct {
    const char *name;
    layer *make;
} layers[] = {
    LAYER(conv1d),
    LAYER(conv3d),
    LAYER(conv1d_transpose),
    LAYER(conv2d_transpose),
    LAYER(conv3d_transpose),
    LAYER(group_norm),
    LAYER(instance_norm),
    LAYER(rms_norm),
    LAYER(embedding_bag),
    LAYER(self_attention),
    LAYER(grouped_attention),
    LAYER(cross_attention),
    LAYER(cross_attention_apart),
    LAYER(transformer),
    LAYER(decoder),
    LAYER(lstm),
    LAYER(gru),
    LAYER(relu),
    LAYER(lstm_from),
};

typedef struct subject {
    const torch_row *row;
    layer *make;
    int rank;
    size_t count; /* elements of the result */
} subject;

static rp_tensor output(rp_nn *nn, const rp_tensor *batch, void *self)
{
    const subject *s = self;
    rp_tensor x = rp_nn_parameter(nn, "x", s->rank, s->row->shape, rp_nn_constant(0));

    (void)batch;
    return s->make(nn, x);
}

static rp_tensor loss(rp_nn *nn, const rp_tensor *batch, void *self)
{
    subject *s = self;
    rp_tensor y = output(nn, batch, self), weight;
    size_t shape[RP_MAX_RANK], count = 1;
    rp_dtype dtype;
    int rank = 0;

    (void)rp_shape_of(y, &dtype, &rank, shape);
    for (int i = 0; i < rank; i++)
        count *= shape[i];
    s->count = count;
    weight = rp_sin(rp_cast(rp_iota(rp_nn_graph(nn), RP_I64, count), RP_F32));
    return rp_sum(rp_mul(rp_reshape(y, 1, &count), weight), NULL, 0, false);
}

static const char *bare(const char *name)
{
    return strncmp(name, "l.", 2) == 0 ? name + 2 : name;
}

static size_t parameter_count(const rp_nn_parameter_info *info)
{
    size_t count = 1;

    for (int i = 0; i < info->rank; i++)
        count *= info->shape[i];
    assert_true(count <= VALUES_MAX);
    return count;
}

static void give_numbers(rp_nn *nn)
{
    rp_nn_parameter_info info;

    for (size_t i = 0; rp_nn_parameter_at(nn, i, &info); i++) {
        float there_[VALUES_MAX], here[VALUES_MAX];
        const size_t count = parameter_count(&info);

        torch_numbers(bare(info.name), there_, count);
        rp_nn_from_torch(nn, i, here, there_);
        OK(rp_nn_write(nn, info.name, here, count * sizeof *here, ERR));
    }
}

static void near(const subject *s, const char *part, const double *value, size_t count)
{
    torch_near(s->row->layer, part, s->row->part, PARTS_MAX, value, count, 3e-5);
}

/* The gradient is what a step of rate 1 takes off. */
static void gradients_are_near(rp_nn *nn, const subject *s)
{
    rp_nn_parameter_info info;
    size_t n = 0;

    OK(rp_nn_train_step(nn, NULL, ERR));
    for (; rp_nn_parameter_at(nn, n, &info); n++) {
        float before[VALUES_MAX], here[VALUES_MAX], after[VALUES_MAX];
        double grad[VALUES_MAX];
        const size_t count = parameter_count(&info);

        torch_numbers(bare(info.name), before, count);
        OK(rp_nn_read(nn, info.name, here, count * sizeof *here, ERR));
        rp_nn_to_torch(nn, n, after, here);
        for (size_t i = 0; i < count; i++)
            grad[i] = (double)before[i] - (double)after[i];
        near(s, bare(info.name), grad, count);
    }
    while (s->row->part[n + 1].name)
        n++;
    assert_int_equal(n, rp_nn_parameters(nn)); /* and no part of PyTorch's is left out: y is one more */
}

static void compare(const torch_row *row, layer *make, bool eager)
{
    static const int one[1];
    const rp_nn_input nothing = {"nothing", RP_I32, 1, {1}, one};
    subject s = {.row = row, .make = make};
    float y[VALUES_MAX];
    double wide[VALUES_MAX];
    rp_nn *nn = NULL;

    while (s.rank < RP_MAX_RANK && row->shape[s.rank])
        s.rank++;
    OK(rp_nn_new(&nn,
                 &(rp_nn_options){.model = loss,
                                  .self = &s,
                                  .optimizer = rp_nn_sgd(1, 0),
                                  .batches = {.batch = 1},
                                  .eager = eager,
                                  .run = {.threads = 1}},
                 ERR));
    OK(rp_nn_array(nn, "nothing", RP_I32, 1, (size_t[]){1}, one, ERR));
    OK(rp_nn_build(nn, ERR));
    give_numbers(nn);
    OK(rp_nn_apply(nn, output, &s, &nothing, 1, y, s.count * sizeof *y, ERR));
    for (size_t i = 0; i < s.count; i++)
        wide[i] = (double)y[i];
    near(&s, "y", wide, s.count);
    gradients_are_near(nn, &s);
    rp_nn_free(nn);
}

static void layers_and_their_gradients_are_as_in_torch(void **state)
{
    const size_t n = sizeof torch_rows / sizeof *torch_rows;

    (void)state;
    assert_int_equal(n, sizeof layers / sizeof *layers);
    for (size_t i = 0; i < n; i++) {
        assert_string_equal(torch_rows[i].layer, layers[i].name);
        compare(&torch_rows[i], layers[i].make, false);
        compare(&torch_rows[i], layers[i].make, true);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layers_and_their_gradients_are_as_in_torch),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
