/* SPDX-License-Identifier: Apache-2.0
 * rp_ctc_loss against all ways to write a text, one by one, its gradient against finite differences, and what it
 * refuses. */
#include "tests/core/program/eager_step.h"

#include <math.h>

enum { TIMES = 4, CLASSES = 3, BLANK = 1, ROWS = 3, LABELS = 2 };

static const int64_t text[ROWS][LABELS] = {{0, 2}, {2, 2}, {2, 77}}; /* behind a row's length stands anything */
static const uint32_t gradient_bits[4] = {0xBEAAAAAB, 0xBF2AAAAB, 0xBEAAAAAB, 0xBF2AAAAB};
static const int64_t times_of[ROWS] = {4, 4, 3}, length_of[ROWS] = {2, 2, 1};

/* Whether classes path[0 .. times), repeats joined and blanks left out, are the row's text. */
static bool reads_as(const int *path, int times, const int64_t *labels, int64_t n)
{
    int64_t at = 0;

    for (int t = 0; t < times; t++) {
        if (path[t] == BLANK || (t > 0 && path[t] == path[t - 1]))
            continue;
        if (at == n || labels[at] != path[t])
            return false;
        at++;
    }
    return at == n;
}

/* -log of the sum over all paths of the product of their probabilities. */
static double one_by_one(const double *log_p, int row)
{
    const int times = (int)times_of[row];
    double sum = 0;
    int paths = 1;

    for (int t = 0; t < times; t++)
        paths *= CLASSES;
    for (int p = 0; p < paths; p++) {
        int path[TIMES], rest = p;
        double log_of = 0;

        for (int t = 0; t < times; t++, rest /= CLASSES) {
            path[t] = rest % CLASSES;
            log_of += log_p[(t * ROWS + row) * CLASSES + path[t]];
        }
        sum += reads_as(path, times, text[row], length_of[row]) ? exp(log_of) : 0;
    }
    return -log(sum);
}

static void some_log_p(double *log_p)
{
    for (int i = 0; i < TIMES * ROWS * CLASSES; i++)
        log_p[i] = -0.2 - 0.37 * (i * 7 % 11) - 0.01 * i; /* of no distribution: the derivative is by each alone */
}

static rp_tensor loss_of(rp_run *run, rp_tensor log_p, rp_ctc_options options)
{
    rp_tensor labels = put(run, RP_I64, SHAPE(ROWS, LABELS), text), times = put(run, RP_I64, SHAPE(ROWS), times_of);

    return rp_ctc_loss(log_p, labels, times, put(run, RP_I64, SHAPE(ROWS), length_of), &options);
}

static void read_loss(const double *log_p, rp_reduction reduction, double *loss, double *gradient)
{
    rp_run *run = step_new();
    rp_tensor x = put(run, RP_F64, SHAPE(TIMES, ROWS, CLASSES), log_p), grad;
    rp_tensor y = loss_of(run, x, (rp_ctc_options){.blank = BLANK, .reduction = reduction});
    rp_error err = {0};

    if (rp_read(run, y, loss, (reduction == RP_REDUCE_NONE ? ROWS : 1) * sizeof *loss, &err) != RP_OK)
        fail_msg("%s", err.text);
    if (gradient) {
        rp_gradients(y, &x, 1, &grad);
        if (rp_read(run, grad, gradient, TIMES * ROWS * CLASSES * sizeof *gradient, &err) != RP_OK)
            fail_msg("%s", err.text);
    }
    rp_run_free(run);
}

static void losses_are_those_of_all_paths(void **state)
{
    double log_p[TIMES * ROWS * CLASSES], loss[ROWS], sum, mean, want_sum = 0, want_mean = 0;

    (void)state;
    some_log_p(log_p);
    read_loss(log_p, RP_REDUCE_NONE, loss, NULL);
    read_loss(log_p, RP_REDUCE_SUM, &sum, NULL);
    read_loss(log_p, RP_REDUCE_MEAN, &mean, NULL);
    for (int row = 0; row < ROWS; row++) {
        const double want = one_by_one(log_p, row);

        if (!(fabs(loss[row] - want) < 1e-12))
            fail_msg("row %d: expected %.17g, found %.17g", row, want, loss[row]);
        want_sum += want;
        want_mean += want / (double)length_of[row] / ROWS;
    }
    assert_true(fabs(sum - want_sum) < 1e-12 && fabs(mean - want_mean) < 1e-12);
}

static void gradients_are_the_derivatives(void **state)
{
    const double step = 1e-5;
    double log_p[TIMES * ROWS * CLASSES], gradient[TIMES * ROWS * CLASSES], loss, high, low;

    (void)state;
    some_log_p(log_p);
    read_loss(log_p, RP_REDUCE_MEAN, &loss, gradient);
    for (int i = 0; i < TIMES * ROWS * CLASSES; i++) {
        const double x = log_p[i];

        log_p[i] = x + step;
        read_loss(log_p, RP_REDUCE_MEAN, &high, NULL);
        log_p[i] = x - step;
        read_loss(log_p, RP_REDUCE_MEAN, &low, NULL);
        log_p[i] = x;
        if (!(fabs((high - low) / (2 * step) - gradient[i]) < 1e-9))
            fail_msg("element %d: differences give %.12g, found %.12g", i, (high - low) / (2 * step), gradient[i]);
    }
}

/* Two times are too few for a label twice; a class without any probability; nothing to write, without a label. */
static void rows_without_a_way_have_no_gradient(void **state)
{
    const float log_p[2][3][3] = {{{-1, -1, -1}, {-INFINITY, -0.5f, -1}, {-1, -0.25f, -2}},
                                  {{-1, -1, -1}, {-INFINITY, -0.5f, -1}, {-1, -0.25f, -2}}};
    const int64_t labels[3][2] = {{2, 2}, {0, 0}, {0, 0}}, times[3] = {2, 2, 2}, lengths[3] = {2, 1, 0};

    (void)state;
    for (int zero = 0; zero < 2; zero++) {
        rp_run *run = step_new();
        const float none = zero ? 0 : INFINITY, expected[3] = {none, none, 0.5f};
        rp_tensor x = put_f32(run, SHAPE(2, 3, 3), &log_p[0][0][0]), k = put(run, RP_I64, SHAPE(3, 2), labels), grad;
        rp_tensor t = put(run, RP_I64, SHAPE(3), times), n = put(run, RP_I64, SHAPE(3), lengths);
        rp_tensor y =
            rp_ctc_loss(x, k, t, n, &(rp_ctc_options){.blank = 1, .zero_infinity = zero, .reduction = RP_REDUCE_NONE});
        float gradient[2][3][3];

        assert_f32(run, y, SHAPE(3), expected);
        rp_gradients(rp_sum(y, NULL, 0, false), &x, 1, &grad);
        assert_int_equal(rp_read(run, grad, gradient, sizeof gradient, NULL), RP_OK);
        for (int i = 0; i < 2; i++)
            for (int row = 0; row < 3; row++)
                for (int c = 0; c < 3; c++)
                    assert_true(gradient[i][row][c] == (row == 2 && c == 1 ? -1 : 0));
        rp_run_free(run);
    }
}

/* By PyTorch 2.15 (torch.nn.functional.ctc_loss of the log_softmax in binary64, reduction mean, blank 1). */
static void values_are_those_of_pytorch(void **state)
{
    double x[TIMES * ROWS * CLASSES];
    float found;
    rp_run *run = step_new();
    rp_tensor z;

    (void)state;
    some_log_p(x);
    z = rp_log_softmax(put(run, RP_F64, SHAPE(TIMES, ROWS, CLASSES), x));
    z = rp_cast(loss_of(run, z, (rp_ctc_options){.blank = BLANK}), RP_F32);
    assert_int_equal(rp_read(run, z, &found, sizeof found, NULL), RP_OK);
    if (!(fabsf(found - 1.64908788f) < 1e-6f))
        fail_msg("expected %.9g, found %.9g", 1.64908788, (double)found);
    rp_run_free(run);
}

/* CONTRACT 11.2's example: of four paths over two classes three read as the label. */
static void the_example_has_the_bits_of_the_contract(void **state)
{
    rp_run *run = step_new();
    rp_tensor x = rp_log_softmax(rp_fill(rp_step_graph(run), RP_F32, SHAPE(2, 1, 2), 0)), k, t, n, y, grad;
    float gradient[4];
    uint32_t loss;

    (void)state;
    k = put(run, RP_I64, SHAPE(1, 1), (int64_t[]){1});
    t = put(run, RP_I64, SHAPE(1), (int64_t[]){2});
    n = put(run, RP_I64, SHAPE(1), (int64_t[]){1});
    y = rp_ctc_loss(x, k, t, n, NULL);
    rp_gradients(y, &x, 1, &grad);
    assert_int_equal(rp_read(run, y, &loss, sizeof loss, NULL), RP_OK);
    assert_int_equal(rp_read(run, grad, gradient, sizeof gradient, NULL), RP_OK);
    if (loss != 0x3E934B11 || memcmp(gradient, gradient_bits, sizeof gradient) != 0)
        fail_msg("found %08x, gradient %08x %08x %08x %08x", loss, rp_bits_f32(gradient[0]), rp_bits_f32(gradient[1]),
                 rp_bits_f32(gradient[2]), rp_bits_f32(gradient[3]));
    rp_run_free(run);
}

static void mistakes_are_told(void **state)
{
    static const struct {
        int64_t times, length, blank;
        rp_status status;
        const char *words;
    } mistakes[] = {
        {5, 1, 1, RP_EDATA, "index 5 at position 0 is out of range, expected 0 to 4"},
        {4, 3, 1, RP_EDATA, "index 3 at position 0 is out of range, expected 0 to 2"},
        {4, 2, 3, RP_ESHAPE, "ctc_loss: found f32[4,1,3], i64[1,2], i64[1] and i64[1], expected"},
        {4, 2, 1, RP_EDATA, "index 7 at position"}, /* a label that is no class */
    };

    (void)state;
    for (size_t i = 0; i < COUNT(mistakes); i++) {
        rp_run *run = step_new();
        rp_error err = {0};
        rp_tensor x = rp_fill(rp_step_graph(run), RP_F32, SHAPE(4, 1, 3), -1);
        rp_tensor k = put(run, RP_I64, SHAPE(1, 2), (int64_t[]){0, 7}), t, n;

        t = put(run, RP_I64, SHAPE(1), &mistakes[i].times);
        n = put(run, RP_I64, SHAPE(1), &mistakes[i].length);
        (void)rp_ctc_loss(x, k, t, n, &(rp_ctc_options){.blank = mistakes[i].blank});
        if (rp_step_end(run, &err) != mistakes[i].status || !strstr(err.text, mistakes[i].words))
            fail_msg("mistake %zu: found %s: %s", i, rp_status_name(err.status), err.text);
        rp_run_free(run);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(losses_are_those_of_all_paths),
        cmocka_unit_test(gradients_are_the_derivatives),
        cmocka_unit_test(rows_without_a_way_have_no_gradient),
        cmocka_unit_test(values_are_those_of_pytorch),
        cmocka_unit_test(the_example_has_the_bits_of_the_contract),
        cmocka_unit_test(mistakes_are_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
