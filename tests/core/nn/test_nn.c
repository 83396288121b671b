/* SPDX-License-Identifier: Apache-2.0
 * Models of rp/nn.h: initial values, which rows a step sees, eager and compiled steps, groups and schedules,
 * evaluation, mapped rows, and the words of mistakes. Layers are in test_nn_layers.c, files in test_nn_files.c. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/nn/nn.h"
#include "determinism/bits.h"
#include "determinism/philox.h"
#include "tests/core/nn/models.h"

static rp_nn *model_new(rp_nn_options options)
{
    rp_nn *nn = NULL;

    if (!options.model)
        options.model = model_of_times;
    if (!options.batches.batch)
        options.batches.batch = MODEL_BATCH;
    options.run.threads = 1;
    OK(rp_nn_new(&nn, &options, ERR));
    return nn;
}

/* ---- initial values ---- */

enum { ROWS_OF = 6, COLS_OF = 4, COUNT_OF = ROWS_OF * COLS_OF };

/* One parameter w [6, 4] behind one of another name, so that its stream is 1. */
static rp_tensor one_weight(rp_nn *nn, const rp_tensor *batch, void *self)
{
    rp_tensor b = rp_nn_parameter(nn, "b", 1, (size_t[]){COLS_OF}, rp_nn_constant(0.5));
    rp_tensor w = rp_nn_parameter(nn, "w", 2, (size_t[]){ROWS_OF, COLS_OF}, *(rp_nn_init *)self);

    (void)batch;
    return rp_mean(rp_mul(w, b), NULL, 0, false);
}

static void weight_of(rp_nn_init init, float w[COUNT_OF])
{
    rp_nn *nn = model_new((rp_nn_options){.model = one_weight, .self = &init, .seed = 42});
    float x = 0, b[COLS_OF];

    OK(rp_nn_array(nn, "x", RP_F32, 1, (size_t[]){1}, &x, ERR));
    OK(rp_nn_read(nn, "w", w, COUNT_OF * sizeof *w, ERR));
    OK(rp_nn_read(nn, "b", b, sizeof b, ERR));
    assert_true(b[3] == 0.5f);
    rp_nn_free(nn);
}

static void assert_bits(const char *what, const float *found, const float *expected, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (rp_bits_f32(found[i]) != rp_bits_f32(expected[i]))
            fail_msg("%s: element %zu: expected %a, found %a", what, i, (double)expected[i], (double)found[i]);
}

static void uniform_values_are_the_contracts(void **state)
{
    const struct {
        rp_nn_init init;
        double bound;
    } cases[] = {{rp_nn_uniform(-0.25, 0.25), 0.25},
                 {rp_nn_xavier_uniform(2), 2 * 0.7745966692414834}, /* sqrt(6 / 10) */
                 {rp_nn_kaiming_uniform(1), 0.7071067811865476}};   /* sqrt(3 / 6) */

    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        float found[COUNT_OF], expected[COUNT_OF];
        const double b = cases[c].bound;

        for (size_t i = 0; i < COUNT_OF; i++)
            expected[i] = (float)(-b + (b - -b) * (double)rp_uniform_f32(rp_random_u32(42, 0, 1, i)));
        weight_of(cases[c].init, found);
        assert_bits("uniform", found, expected, COUNT_OF);
    }
}

static void normal_values_are_the_contracts(void **state)
{
    const struct {
        rp_nn_init init;
        double mean, deviation;
    } cases[] = {{rp_nn_normal(1, 0.5), 1, 0.5},
                 {rp_nn_xavier_normal(1), 0, 0.4472135954999579},   /* sqrt(2 / 10) */
                 {rp_nn_kaiming_normal(1), 0, 0.4082482904638631}}; /* 1 / sqrt(6) */

    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        float found[COUNT_OF], expected[COUNT_OF];

        for (size_t i = 0; i < COUNT_OF; i++)
            expected[i] = (float)(cases[c].mean + cases[c].deviation * rp_normal_f64(rp_random_block(42, 0, 1, i)));
        weight_of(cases[c].init, found);
        assert_bits("normal", found, expected, COUNT_OF);
    }
}

/* Among many there is one that is drawn again. */
static rp_tensor many_weights(rp_nn *nn, const rp_tensor *batch, void *self)
{
    (void)batch;
    (void)self;
    return rp_mean(rp_nn_parameter(nn, "w", 1, (size_t[]){200}, rp_nn_truncated(1, 0.5)), NULL, 0, false);
}

static void truncated_values_are_drawn_again(void **state)
{
    rp_nn *nn = model_new((rp_nn_options){.model = many_weights, .seed = 42});
    float w[200], x = 0;
    int again = 0;

    (void)state;
    OK(rp_nn_array(nn, "x", RP_F32, 1, (size_t[]){1}, &x, ERR));
    OK(rp_nn_read(nn, "w", w, sizeof w, ERR));
    for (size_t i = 0; i < 200; i++) {
        float z = 0, expected;
        uint32_t k = 0;

        do
            z = (float)rp_normal_f64(rp_random_block(42, 0, k << 24, i));
        while ((z > 2 || z < -2) && ++k < 8);
        again += k > 0;
        expected = z * 0.5f;
        expected += 1;
        assert_bits("truncated", &w[i], &expected, 1);
    }
    assert_true(again > 2);
    rp_nn_free(nn);
}

static void orthogonal_columns_are_orthonormal(void **state)
{
    static const uint32_t first[] = {0xbe95b530, 0xbf10db89, 0x3f85fb88, 0x3fb00777};
    float w[COUNT_OF];

    (void)state;
    weight_of(rp_nn_orthogonal(2), w);
    for (int a = 0; a < COLS_OF; a++)
        for (int b = 0; b < COLS_OF; b++) {
            double dot = 0;

            for (int i = 0; i < ROWS_OF; i++)
                dot += (double)w[i * COLS_OF + a] * (double)w[i * COLS_OF + b];
            assert_true(dot - (a == b ? 4 : 0) < 1e-5 && dot - (a == b ? 4 : 0) > -1e-5);
        }
    for (size_t i = 0; i < sizeof first / sizeof *first; i++) /* CONTRACT 16.1 */
        assert_int_equal(rp_bits_f32(w[i]), first[i]);
}

/* ---- rows ---- */

typedef struct seen {
    int64_t row[256];
    size_t n;
} seen;

static rp_status see(void *self, const rp_step_event *event, rp_error *err)
{
    seen *s = self;

    (void)err;
    for (size_t i = 0; i < event->n_feeds; i++)
        if (strcmp(event->feed[i].name, "rows") == 0) {
            OK(rp_device_tensor_read(&event->feed[i], s->row + s->n, ERR));
            s->n += event->feed[i].type.shape[0];
        }
    return RP_OK;
}

static void assert_rows(rp_nn_batches batches, size_t steps, const int64_t *expected, size_t n)
{
    rp_nn *nn = model_new((rp_nn_options){.batches = batches, .seed = 9});
    seen s = {.n = 0};

    OK(model_rows(nn, ERR));
    OK(rp_nn_start(nn, ERR));
    OK(rp_run_observe(rp_nn_run(nn), (rp_observer){see, &s}, ERR));
    for (size_t i = 0; i < steps; i++)
        OK(rp_nn_train_step(nn, NULL, ERR));
    assert_int_equal(s.n, n);
    assert_memory_equal(s.row, expected, n * sizeof *expected);
    rp_nn_free(nn);
}

static void each_epoch_has_the_permutation_of_its_number(void **state)
{
    int64_t expected[2 * MODEL_ROWS];

    (void)state;
    rp_permutation(expected, MODEL_ROWS, 9, 0, 0x53000000);
    rp_permutation(expected + MODEL_ROWS, MODEL_ROWS, 9, 1, 0x53000000);
    assert_rows((rp_nn_batches){.batch = MODEL_BATCH}, 6, expected, 2 * MODEL_ROWS);
}

static void batches_can_be_in_order_of_a_part_and_whole(void **state)
{
    const int64_t expected[] = {2, 3, 4, 5, 6, 7, 8, 9, 2, 3, 4, 5};

    (void)state;
    assert_rows((rp_nn_batches){.batch = 4, .first = 2, .rows = 10, .in_order = true, .drop_last = true}, 3, expected,
                12);
}

/* ---- steps ---- */

static void train(rp_nn *nn, int steps, float *loss)
{
    OK(model_rows(nn, ERR));
    for (int i = 0; i < steps; i++)
        OK(rp_nn_train_step(nn, &loss[i], ERR));
}

/* All states, one behind another. */
static float *states_of(rp_nn *nn, size_t *bytes)
{
    size_t n;
    const rp_device_tensor *state;
    char *all;

    OK(rp_nn_build(nn, ERR));
    state = rp_run_states(rp_nn_run(nn), &n);
    *bytes = 0;
    for (size_t i = 0; i < n; i++)
        *bytes += rp_type_bytes(&state[i].type);
    all = malloc(*bytes);
    *bytes = 0;
    for (size_t i = 0; i < n; i++) {
        const size_t size = rp_type_bytes(&state[i].type);

        OK(rp_run_get_state(rp_nn_run(nn), state[i].name, all + *bytes, size, ERR));
        *bytes += size;
    }
    return (float *)all;
}

/* 22 rows in batches of 8 are two programs. */
static void eager_and_compiled_steps_have_the_same_bits(void **state)
{
    rp_nn_forward *const model[] = {model_of_times, model_of_images};

    (void)state;
    for (size_t m = 0; m < 2; m++) {
        float loss[2][7];
        void *all[2];
        size_t bytes[2];

        for (int eager = 0; eager < 2; eager++) {
            rp_nn *nn = model_new((rp_nn_options){.model = model[m], .eager = eager != 0, .seed = 3});

            train(nn, 7, loss[eager]);
            all[eager] = states_of(nn, &bytes[eager]);
            rp_nn_free(nn);
        }
        assert_bits("loss", loss[1], loss[0], 7);
        assert_int_equal(bytes[0], bytes[1]);
        assert_memory_equal(all[0], all[1], bytes[0]);
        free(all[0]);
        free(all[1]);
    }
}

static void groups_have_their_own_rate_and_rate_zero_freezes(void **state)
{
    rp_nn_optimizer sgd = rp_nn_sgd(0.5, 0);
    float before[3][3][5], after[3][3][5], loss[1];
    rp_nn_parameter_info info;

    (void)state;
    for (int g = 0; g < 3; g++) { /* all at 0.5; mlp.1.weight at 0.25; at 0 */
        rp_nn *nn = model_new((rp_nn_options){.model = model_of_images, .optimizer = sgd, .seed = 3});

        if (g)
            OK(rp_nn_add_group(nn, "mlp.*.weight", g == 1 ? 0.25 : 0, 0, ERR));
        OK(model_rows(nn, ERR));
        OK(rp_nn_read(nn, "mlp.1.weight", before[g], sizeof before[g], ERR));
        OK(rp_nn_train_step(nn, loss, ERR));
        OK(rp_nn_read(nn, "mlp.1.weight", after[g], sizeof after[g], ERR));
        for (size_t i = 0; rp_nn_parameter_at(nn, i, &info); i++)
            if (strcmp(info.name, "mlp.1.weight") == 0)
                assert_int_equal(info.trained, g < 2);
            else if (strncmp(info.name, "norm.running", 12) == 0)
                assert_false(info.trained);
        rp_nn_free(nn);
    }
    assert_memory_equal(before[2], after[2], sizeof before[2]);
    assert_memory_not_equal(before[0], after[0], sizeof before[0]);
    for (int i = 0; i < 15; i++) { /* twice the rate, twice the way, but for the last rounding */
        const float *p = &before[0][0][0] + i, *a = &after[0][0][0] + i, *b = &after[1][0][0] + i;
        const double way = (double)*a - (double)*p, half = (double)*b - (double)*p;

        assert_true(way - 2 * half < 1e-6 && way - 2 * half > -1e-6);
    }
}

/* One step of each rule from the same weights, beside its formula from the gradient that SGD shows. */
static double stepped_by(rp_nn_rule rule, double p, double g)
{
    switch (rule) {
    case RP_NN_LION: /* of moments at 0 the sign of the gradient */
        return p * (1 - 0.01 * 0.1) - 0.01 * (g > 0 ? 1 : g < 0 ? -1 : 0);
    case RP_NN_ADAGRAD:
        g += 0.1 * p;
        return p - 0.01 * g / (fabs(g) + 1e-10);
    default:
        return p - 0.01 * g;
    }
}

static void each_rule_is_its_formula(void **state)
{
    rp_nn_optimizer rule[] = {rp_nn_sgd(0.01, 0), rp_nn_lion(0.01), rp_nn_adagrad(0.01), rp_nn_lamb(0.01)};
    float p[15], after[4][15];
    double own = 0, length = 0, g[15];

    (void)state;
    for (int k = 0; k < 4; k++) {
        rp_nn *nn;

        rule[k].weight_decay = k ? 0.1 : 0;
        nn = model_new((rp_nn_options){.model = model_of_images, .optimizer = rule[k], .seed = 3});
        OK(model_rows(nn, ERR));
        OK(rp_nn_read(nn, "mlp.1.weight", p, sizeof p, ERR));
        OK(rp_nn_train_step(nn, NULL, ERR));
        OK(rp_nn_read(nn, "mlp.1.weight", after[k], sizeof after[k], ERR));
        rp_nn_free(nn);
    }
    for (int i = 0; i < 15; i++)
        g[i] = ((double)p[i] - (double)after[0][i]) / 0.01;
    for (int i = 0; i < 15; i++) { /* LAMB's step of its first moments: the sign of the gradient, and the decay */
        const double step = g[i] / (fabs(g[i]) + 1e-6) + 0.1 * (double)p[i];

        own += (double)p[i] * (double)p[i];
        length += step * step;
    }
    for (int i = 0; i < 15; i++) {
        const double step = g[i] / (fabs(g[i]) + 1e-6) + 0.1 * (double)p[i];

        if (fabs(g[i]) < 1e-4) /* its sign is that of a rounding */
            continue;
        assert_true(fabs((double)after[1][i] - stepped_by(RP_NN_LION, (double)p[i], g[i])) < 1e-6);
        assert_true(fabs((double)after[2][i] - stepped_by(RP_NN_ADAGRAD, (double)p[i], g[i])) < 1e-6);
        assert_true(fabs((double)after[3][i] - ((double)p[i] - 0.01 * sqrt(own / length) * step)) < 1e-4);
    }
}

static void evaluation_changes_nothing_and_draws_nothing(void **state)
{
    rp_nn *nn = model_new((rp_nn_options){.model = model_of_images, .seed = 3});
    float loss[3];
    void *before, *after;
    size_t bytes;
    double mean, again;

    (void)state;
    train(nn, 3, loss);
    before = states_of(nn, &bytes);
    OK(rp_nn_evaluate(nn, NULL, NULL, 0, MODEL_ROWS, &mean, ERR));
    OK(rp_nn_evaluate(nn, NULL, NULL, 0, MODEL_ROWS, &again, ERR));
    after = states_of(nn, &bytes);
    assert_true(mean == again && mean > 0 && mean < 5);
    assert_memory_equal(before, after, bytes);
    assert_int_equal(rp_nn_steps(nn), 3);
    assert_int_equal(rp_run_steps(rp_nn_run(nn)), 4 + 6);
    free(before);
    free(after);
    rp_nn_free(nn);
}

/* Dropout is off and batch norm uses its running values, whoever asks: the loss over all rows in one batch, and the
 * same function's output for these rows as inputs. */
static void evaluation_is_that_of_outputs(void **state)
{
    rp_nn_forward *const model[] = {model_of_times, model_of_images};

    (void)state;
    for (size_t m = 0; m < 2; m++) {
        rp_nn *nn = model_new((rp_nn_options){.model = model[m], .batches = {.batch = MODEL_ROWS}, .seed = 3});
        float x[MODEL_ROWS][MODEL_TIMES][5], loss, trained;
        int label[MODEL_ROWS];
        const rp_nn_input input[] = {{"x", RP_F32, 3, {MODEL_ROWS, MODEL_TIMES, 5}, x},
                                     {"label", RP_I32, 1, {MODEL_ROWS}, label}};
        uint32_t seed = 1;
        double mean;

        for (int i = 0; i < MODEL_ROWS * MODEL_TIMES * 5; i++)
            (&x[0][0][0])[i] = model_number(&seed);
        for (int i = 0; i < MODEL_ROWS; i++)
            label[i] = i % 3;
        train(nn, 1, &trained);
        OK(rp_nn_evaluate(nn, NULL, NULL, 0, MODEL_ROWS, &mean, ERR));
        OK(rp_nn_apply(nn, model[m], NULL, input, 2, &loss, sizeof loss, ERR));
        assert_true((float)mean == loss);
        OK(rp_nn_train_step(nn, &trained, ERR)); /* of the same weights, but in training */
        assert_true(trained != loss);
        assert_int_equal(
            rp_nn_apply(nn, model[m], NULL, (const rp_nn_input[]){input[0], input[0]}, 2, &loss, sizeof loss, NULL),
            RP_EARG); /* two of one name */
        rp_nn_free(nn);
    }
}

/* Where the mean of the hidden values is above a bound there is a penalty on it: the two programs of examples/branch.c.
 */
static rp_tensor branching(rp_nn *nn, const rp_tensor *batch, void *self)
{
    rp_tensor hidden = rp_relu(rp_nn_linear(nn, "in", batch[0], MODEL_WIDTH)), mean, loss;
    float value;

    mean = rp_mean(hidden, NULL, 0, false);
    loss = rp_mse(rp_nn_linear(nn, "out", hidden, 5), batch[0]);
    if (rp_nn_peek(nn, mean, &value, sizeof value) && value > 0.05f) {
        ++*(int *)self;
        loss = rp_add(loss, mean);
    }
    return loss;
}

static void eager_steps_may_branch_on_values_and_compiled_ones_say_so(void **state)
{
    int taken = 0;
    rp_error err = {0};

    (void)state;
    for (int eager = 1; eager >= 0; eager--) {
        rp_nn *nn = model_new((rp_nn_options){
            .model = branching, .self = &taken, .eager = eager != 0, .optimizer = rp_nn_adam(0.1), .seed = 1});

        OK(model_rows(nn, ERR));
        for (int i = 0; i < 12 && eager; i++)
            OK(rp_nn_train_step(nn, NULL, ERR));
        if (!eager) {
            assert_int_equal(rp_nn_train_step(nn, NULL, &err), RP_EARG);
            assert_non_null(strstr(err.text, "a compiled step has no values"));
        }
        rp_nn_free(nn);
    }
    assert_true(taken > 0 && taken < 12);
}

/* ---- rows in files ---- */

static void write_file(const char *path, const void *bytes, size_t size)
{
    FILE *f = fopen(path, "wb");

    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, size, f), size);
    assert_int_equal(fclose(f), 0);
}

static rp_tensor letters(rp_nn *nn, const rp_tensor *batch, void *self)
{
    rp_tensor x = rp_nn_embedding(nn, "letters", batch[0], 7, 4);

    (void)self;
    return rp_mean(rp_mul(x, rp_mean(batch[1], NULL, 0, false)), NULL, 0, false);
}

static void mapped_rows_give_the_bits_of_rows_in_memory(void **state)
{
    unsigned char token[2 * 41];
    float row[20][2], loss[2][8];
    uint32_t seed = 5;

    (void)state;
    for (size_t i = 0; i < sizeof token; i += 2) {
        token[i] = (unsigned char)(i % 7);
        token[i + 1] = 0;
    }
    for (int i = 0; i < 40; i++)
        row[i / 2][i % 2] = model_number(&seed);
    write_file("tokens.bin", token, sizeof token);
    write_file("rows.bin", row, sizeof row);
    for (int mapped = 0; mapped < 2; mapped++) {
        rp_nn *nn = model_new((rp_nn_options){.model = letters, .seed = 4});
        rp_nn_tokens t = {.width = 2, .length = 3, .stride = 2};

        t.path = mapped ? "tokens.bin" : NULL;
        t.bytes = mapped ? NULL : token;
        t.size = mapped ? 0 : sizeof token;
        OK(rp_nn_text(nn, "text", &t, ERR));
        if (mapped)
            OK(rp_nn_file(nn, "row", RP_F32, 1, (size_t[]){2}, "rows.bin", 0, ERR));
        else
            OK(rp_nn_array(nn, "row", RP_F32, 2, (size_t[]){20, 2}, row, ERR));
        for (int i = 0; i < 8; i++)
            OK(rp_nn_train_step(nn, &loss[mapped][i], ERR));
        rp_nn_free(nn);
    }
    assert_bits("loss", loss[1], loss[0], 8);
    (void)remove("tokens.bin");
    (void)remove("rows.bin");
}

/* ---- schedules ---- */

static void rates_are_pure_functions_of_the_step(void **state)
{
    const rp_nn_schedule steps = {.curve = RP_NN_STEPS, .warmup = 3, .every = 2, .gamma = 0.3};
    const rp_nn_schedule cosine = {.curve = RP_NN_COSINE, .warmup = 3, .total = 10, .low = 0.01};
    const rp_nn_schedule linear = {.curve = RP_NN_LINEAR, .warmup = 3, .total = 10, .low = 0.01};

    (void)state; /* CONTRACT 12.5 and 16.3 */
    assert_int_equal(rp_bits_f64(rp_nn_rate(&steps, 0.1, 2)), 0x3fb1111111111111);
    assert_int_equal(rp_bits_f64(rp_nn_rate(&steps, 0.1, 7)), 0x3f9eb851eb851eb8);
    assert_int_equal(rp_bits_f64(rp_nn_rate(&cosine, 0.1, 7)), 0x3fb0a4b88f4f9080);
    assert_int_equal(rp_bits_f64(rp_nn_rate(&linear, 0.1, 7)), 0x3faf7390d2a6c407);
    assert_true(rp_nn_rate(&cosine, 0.1, 11) == 0.01 && rp_nn_rate(&cosine, 0.1, 1000) == 0.01);
    assert_true(rp_nn_rate(&linear, 0.1, 4) == 0.1 && rp_nn_rate(&linear, 0.1, 11) == 0.01);
    assert_true(rp_nn_rate(&(rp_nn_schedule){.curve = RP_NN_FLAT}, 0.1, 5) == 0.1);
}

/* ---- mistakes ---- */

typedef enum mistake {
    ANOTHER_SHAPE,
    NO_SCALAR,
    SCOPE_LEFT_OPEN,
    LEFT_TWICE,
    BAD_NAME,
    NO_BUFFER,
    NO_TENSOR,
    HEADS_DO_NOT_DIVIDE,
    SHAPES_DO_NOT_FIT,
    KV_HEADS_DO_NOT_DIVIDE,
    OTHER_SEQUENCES,
    OTHER_LENGTHS,
    OTHER_START,
    FILTERS_DO_NOT_DIVIDE,
    NOTHING_TO_TRAIN,
    NOT_FINITE
} mistake;

static int line_of_mistake;

static rp_tensor mistaken(rp_nn *nn, const rp_tensor *batch, void *self)
{
    rp_tensor x = rp_nn_linear(nn, "in", batch[0], MODEL_WIDTH);

    line_of_mistake = __LINE__ + 3; /* the first case; each is two lines further */
    switch (*(mistake *)self) {
    case ANOTHER_SHAPE:
        return rp_nn_linear(nn, "in", batch[0], MODEL_WIDTH + 1);
    case NO_SCALAR:
        return x;
    case SCOPE_LEFT_OPEN:
        rp_nn_scope(nn, "open");
        break;
    case LEFT_TWICE:
        rp_nn_leave(nn);
        break;
    case BAD_NAME:
        return rp_nn_linear(nn, "a name", x, 2);
    case NO_BUFFER:
        rp_nn_update(nn, "in.bias", x);
        break;
    case NO_TENSOR:
        return rp_nn_layer_norm(nn, "norm", (rp_tensor){0});
    case HEADS_DO_NOT_DIVIDE:
        return rp_nn_self_attention(nn, "attention", x, 4, NULL);
    case SHAPES_DO_NOT_FIT:
        return rp_nn_lstm(nn, "lstm", rp_mean(x, NULL, 0, false), 4, NULL);
    case KV_HEADS_DO_NOT_DIVIDE:
        return rp_nn_self_attention(nn, "attention", x, 3, &(rp_nn_attention){.kv_heads = 2});
    case OTHER_SEQUENCES:
        return rp_nn_cross_attention(nn, "cross", x, rp_sum(x, (int[]){0}, 1, true), 2, NULL);
    case OTHER_LENGTHS:
        return rp_nn_recurrent(nn, "gru", x, 4, &(rp_nn_recurrence){.lengths = x});
    case OTHER_START:
        return rp_nn_recurrent(nn, "gru", x, 4, &(rp_nn_recurrence){.start = x});
    case FILTERS_DO_NOT_DIVIDE:
        return rp_nn_conv1d_transpose(nn, "up", x, 4, &(rp_nn_conv){.groups = 3, .no_bias = true});
    case NOTHING_TO_TRAIN:
        return rp_mean(batch[0], NULL, 0, false);
    case NOT_FINITE:
        return rp_mean(rp_exp(rp_scale(x, 1e4)), NULL, 0, false);
    }
    return rp_mean(x, NULL, 0, false);
}

static rp_tensor untrained(rp_nn *nn, const rp_tensor *batch, void *self)
{
    (void)nn;
    (void)self;
    return rp_mean(batch[0], NULL, 0, false);
}

static void mistakes_are_told_in_words_with_their_line(void **state)
{
    static const struct {
        mistake mistake;
        bool placed;
        const char *text;
    } cases[] = {
        {ANOTHER_SHAPE, true, "rp_nn_linear: in.weight is a parameter f32[5,6], and here a parameter f32[5,7]"},
        {NO_SCALAR, false, "returned f32[8,4,6], but a loss is one f32"},
        {SCOPE_LEFT_OPEN, false, "scope open. is still open"},
        {LEFT_TWICE, true, "rp_nn_leave: no scope is open"},
        {BAD_NAME, true, "rp_nn_linear: a name.weight is no name of a parameter"},
        {NO_BUFFER, true, "rp_nn_update: in.bias is no buffer of this model"},
        {NO_TENSOR, true, "rp_nn_layer_norm: norm: x is no tensor"},
        {HEADS_DO_NOT_DIVIDE, true, "whose width 4 heads divide, found f32[8,4,6]"},
        {SHAPES_DO_NOT_FIT, true, "rp_nn_lstm: lstm: expected x [n, times, in], found 0 axes"},
        {KV_HEADS_DO_NOT_DIVIDE, true, "attention: kv_heads, 2, do not divide the 3 heads"},
        {OTHER_SEQUENCES, true, "cross: 8 sequences ask, 1 are seen"},
        {OTHER_LENGTHS, true, "gru: lengths: expected i32 or i64 [8], one of each row"},
        {OTHER_START, true, "gru: states before the first time are [1, 8, 4]"},
        {FILTERS_DO_NOT_DIVIDE, true, "up: 3 groups do not divide 4 filters"},
        {NOT_FINITE, false, "training step 1: the loss is no longer finite"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        mistake m = cases[i].mistake;
        rp_nn *nn = model_new((rp_nn_options){.model = mistaken, .self = &m, .seed = 1});
        rp_error err = {0}, again = {0};
        char file[] = "test_nn.c:";

        OK(model_rows(nn, ERR));
        assert_int_not_equal(rp_nn_train_step(nn, NULL, &err), RP_OK);
        if (!strstr(err.text, cases[i].text) || (strstr(err.text, file) != NULL) != cases[i].placed)
            fail_msg("expected \"%s\", %s a line, found \"%s\"", cases[i].text, cases[i].placed ? "with" : "without",
                     err.text);
        if (m == ANOTHER_SHAPE) {
            char line[64];

            (void)snprintf(line, sizeof line, "%s%d: ", file, line_of_mistake);
            assert_non_null(strstr(err.text, line));
        }
        assert_int_equal(rp_nn_train_step(nn, NULL, &again), err.status); /* the first error stays */
        assert_string_equal(again.text, err.text);
        rp_nn_free(nn);
    }
}

static void assert_told(rp_status status, const rp_error *err, const char *text)
{
    if (status == RP_OK || !strstr(err->text, text))
        fail_msg("expected \"%s\", found %s \"%s\"", text, rp_status_name(status), err->text);
}

static rp_tensor forgetful(rp_nn *nn, const rp_tensor *batch, void *self)
{
    (void)self;
    (void)rp_nn_linear(nn, "forgotten", batch[0], 2);
    return rp_mean(rp_nn_linear(nn, "used", batch[0], 2), NULL, 0, false);
}

static rp_tensor nameless(rp_nn *nn, const rp_tensor *batch, void *self)
{
    (void)self;
    return rp_mean(rp_nn_linear(nn, "", batch[0], 2), NULL, 0, false);
}

/* Of rows of zeros. */
static rp_tensor infinite(rp_nn *nn, const rp_tensor *batch, void *self)
{
    (void)self;
    return rp_mean(rp_nn_linear(nn, "a", rp_log(batch[0]), 2), NULL, 0, false);
}

static void calls_that_do_not_fit_are_told(void **state)
{
    rp_error err = {0};
    float x[4] = {0};
    rp_nn *nn = NULL;
    mistake m = NOTHING_TO_TRAIN;
    rp_nn_optimizer cosine = rp_nn_adam(0.1);

    (void)state;
    assert_told(rp_nn_new(&nn, NULL, &err), &err, "no model");
    cosine.schedule.curve = RP_NN_COSINE;
    assert_told(rp_nn_new(&nn, &(rp_nn_options){.model = untrained, .optimizer = cosine}, &err), &err,
                "schedule ends after 0 steps");
    nn = model_new((rp_nn_options){.model = mistaken, .self = &m});
    assert_told(rp_nn_train_step(nn, NULL, &err), &err, "trained on fields");
    rp_nn_free(nn);
    nn = model_new((rp_nn_options){.model = untrained});
    OK(rp_nn_array(nn, "x", RP_F32, 2, (size_t[]){2, 2}, x, ERR));
    assert_told(rp_nn_array(nn, "y", RP_F32, 1, (size_t[]){4}, x, &err), &err, "y has 4 rows, and x 2");
    rp_nn_free(nn);
    nn = model_new((rp_nn_options){.model = untrained});
    OK(rp_nn_array(nn, "x", RP_F32, 2, (size_t[]){2, 2}, x, ERR));
    assert_told(rp_nn_train_step(nn, NULL, &err), &err, "no parameter to train");
    rp_nn_free(nn);
    nn = model_new((rp_nn_options){.model = forgetful});
    OK(rp_nn_array(nn, "x", RP_F32, 2, (size_t[]){2, 2}, x, ERR));
    assert_told(rp_nn_train_step(nn, NULL, &err), &err, "forgotten.weight f32[2,2], is unconnected");
    rp_nn_free(nn);
    nn = model_new((rp_nn_options){.model = nameless});
    OK(rp_nn_array(nn, "x", RP_F32, 2, (size_t[]){2, 2}, x, ERR));
    assert_told(rp_nn_train_step(nn, NULL, &err), &err, "a scope or layer without a name");
    rp_nn_free(nn);
    nn = model_new((rp_nn_options){.model = infinite});
    OK(rp_nn_array(nn, "x", RP_F32, 2, (size_t[]){2, 2}, x, ERR));
    assert_told(rp_nn_train_step(nn, NULL, &err), &err, "step 1: the loss is no longer finite: before any update");
    rp_nn_free(nn);
    nn = model_new((rp_nn_options){.seed = 1});
    OK(model_rows(nn, ERR));
    OK(rp_nn_initialise(nn, "*.wieght", rp_nn_constant(0), ERR));
    assert_told(rp_nn_build(nn, &err), &err, "no parameter is called *.wieght");
    rp_nn_free(nn);
    nn = model_new((rp_nn_options){.seed = 1});
    OK(model_rows(nn, ERR));
    OK(rp_nn_train_step(nn, NULL, ERR));
    assert_told(rp_nn_add_group(nn, "*", 1, 0, &err), &err, "built already");
    rp_nn_free(nn);
    nn = model_new((rp_nn_options){.seed = 1});
    assert_told(rp_nn_file(nn, "x", RP_F32, 0, NULL, "no-such-file", 0, &err), &err, "no-such-file");
    assert_int_equal(rp_nn_status(nn, NULL), RP_EIO);
    rp_nn_free(nn);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(uniform_values_are_the_contracts),
        cmocka_unit_test(normal_values_are_the_contracts),
        cmocka_unit_test(truncated_values_are_drawn_again),
        cmocka_unit_test(orthogonal_columns_are_orthonormal),
        cmocka_unit_test(each_epoch_has_the_permutation_of_its_number),
        cmocka_unit_test(batches_can_be_in_order_of_a_part_and_whole),
        cmocka_unit_test(eager_and_compiled_steps_have_the_same_bits),
        cmocka_unit_test(groups_have_their_own_rate_and_rate_zero_freezes),
        cmocka_unit_test(each_rule_is_its_formula),
        cmocka_unit_test(evaluation_changes_nothing_and_draws_nothing),
        cmocka_unit_test(evaluation_is_that_of_outputs),
        cmocka_unit_test(eager_steps_may_branch_on_values_and_compiled_ones_say_so),
        cmocka_unit_test(mapped_rows_give_the_bits_of_rows_in_memory),
        cmocka_unit_test(rates_are_pure_functions_of_the_step),
        cmocka_unit_test(mistakes_are_told_in_words_with_their_line),
        cmocka_unit_test(calls_that_do_not_fit_are_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
