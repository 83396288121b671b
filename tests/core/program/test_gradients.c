/* SPDX-License-Identifier: Apache-2.0
 * Gradients: every differentiable row of the op table against central finite differences in binary64, once and twice,
 * at the shapes of tests/core/program/op_samples.h; then the rules of the sweep itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/run/run.h"
#include "tests/core/program/op_samples.h"
#include "tests/core/run/cpu_memory.h"

enum { OPERANDS = 7, ELEMENTS = 64 };

/* FNV-1a over the gradient programs of an operation's samples, of order 1 and 2. */
static const uint64_t pins[RP_OP_COUNT] = {
#define PIN(name, digest) [RP_OP_##name] = digest,
#include "tests/core/program/op_facts.def"
};

static rp_run *run_new(void)
{
    rp_run *run = NULL;
    rp_error err = {0};

    if (rp_run_new(&run, &(rp_run_options){.threads = 1}, &err) != RP_OK)
        fail_msg("%s", err.text);
    return run;
}

static rp_tensor feed(rp_graph *g, const char *prefix, size_t i, const rp_type *type)
{
    char name[24];

    snprintf(name, sizeof name, "%s%zu", prefix, i);
    return rp_graph_input(g, RP_INPUT_FEED, name, type, NULL);
}

static rp_type type_of(rp_tensor x)
{
    rp_type type = {0};

    assert_true(rp_shape_of(x, &type.dtype, &type.rank, type.shape));
    return type;
}

/* Index of the first element where the gradient is not the difference quotient, or n. A NaN never agrees. */
static size_t first_disagreement(const double *gradient, const double *quotient, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!(__builtin_fabs(gradient[i] - quotient[i]) <= 3e-7 * (1 + __builtin_fabs(quotient[i]))))
            return i;
    return n;
}

/* ---- the scalar function under test ---- */

/* sum(weight * value) with weights of its own in a feed, so that no symmetry hides an error. */
static rp_tensor weighted(rp_graph *g, size_t i, rp_tensor value)
{
    rp_type type = type_of(value);

    return rp_sum(rp_mul(value, feed(g, "w", i, &type)), NULL, 0, false);
}

/* order 1: weighted(op(x)); order 2: the sum of weighted(gradient of that). wrt: the real operands, of which the second
 * may be the first again (twice). Returns how many different ones. */
static rp_compiled *build(const op_sample *s, rp_run *run, int order, bool twice)
{
    rp_graph *g = rp_graph_new(NULL);
    rp_tensor in[OPERANDS], wrt[OPERANDS], grad[OPERANDS], out[RP_MAX_OUT], value;
    rp_compiled *compiled = NULL;
    rp_program *program;
    rp_error err = {0};
    size_t n = 0;

    assert_non_null(g);
    for (int i = 0; i < s->n_in; i++) {
        in[i] = twice && i == 1 ? in[0] : feed(g, "x", (size_t)i, &s->in[i]);
        if (s->in[i].dtype == RP_F64 && !(twice && i == 1))
            wrt[n++] = in[i];
    }
    rp_emit(g, s->op, s->attr, in, (size_t)s->n_in, out);
    value = weighted(g, 0, out[0]);
    for (int i = 1; i < rp_op_get(s->op)->n_out && type_of(out[i]).dtype == RP_F64; i++)
        value = rp_add(value, weighted(g, OPERANDS + (size_t)i, out[i]));
    for (int k = 0; k < order; k++) {
        rp_gradients_or_zeros(value, wrt, n, grad);
        if (k + 1 < order) {
            value = weighted(g, 1, grad[0]);
            for (size_t i = 1; i < n; i++)
                value = rp_add(value, weighted(g, i + 1, grad[i]));
        }
    }
    rp_graph_set(g, RP_OUTPUT_RESULT, "value", value);
    for (size_t i = 0, k = 0; i < (size_t)s->n_in; i++)
        if (s->in[i].dtype == RP_F64 && !(twice && i == 1)) {
            char name[24];

            snprintf(name, sizeof name, "g%zu", i);
            rp_graph_set(g, RP_OUTPUT_RESULT, name, grad[k++]);
        }
    program = rp_graph_take_program(g, &err);
    if (!program || rp_run_compile(&compiled, run, program, &err) != RP_OK)
        fail_msg("%s: %s", rp_op_get(s->op)->name, err.text);
    return compiled;
}

static void fill_feeds(const op_sample *s, rp_compiled *c)
{
    const rp_program *p = rp_compiled_program(c);

    for (size_t f = 0; f < p->n_inputs; f++) {
        void *data = feed_memory(c, p->input[f].name);
        size_t operand = (size_t)(p->input[f].name[1] - '0');

        if (p->input[f].name[0] == 'x')
            sample_fill(s, operand, data);
        else
            for (size_t i = 0; i < rp_type_count(&p->value[p->input[f].value]); i++)
                ((double *)data)[i] = 0.5 + rp_uniform_f64(rp_random_u32(3, operand, 0, 2 * i), 0);
    }
}

static double value_at(rp_compiled *c)
{
    rp_error err = {0};

    if (rp_compiled_step(c, &err) != RP_OK)
        fail_msg("%s", err.text);
    return *(const double *)result_memory(c, "value");
}

/* Central differences of the function along every element of operand i. */
static size_t quotients(rp_compiled *c, const op_sample *s, size_t i, double *out)
{
    static const double h = 0x1p-17;
    char name[24];
    double *x;
    size_t n = rp_type_count(&s->in[i]);

    snprintf(name, sizeof name, "x%zu", i);
    x = feed_memory(c, name);
    assert_true(n <= ELEMENTS);
    for (size_t k = 0; k < n; k++) {
        double keep = x[k], up;

        x[k] = keep + h;
        up = value_at(c);
        x[k] = keep - h;
        out[k] = (up - value_at(c)) / (2 * h);
        x[k] = keep;
    }
    return n;
}

static void describe(const op_sample *s, int order, size_t i, size_t k, double gradient, double quotient)
{
    char shapes[2][192] = {"", ""};

    for (int j = 0; j < 2 && j < s->n_in; j++)
        rp_type_text(&s->in[j], shapes[j], sizeof shapes[j]);
    fail_msg("%s %s %s: gradient of order %d, operand %zu, element %zu: found %.17g, difference quotient %.17g",
             rp_op_get(s->op)->name, shapes[0], shapes[1], order, i, k, gradient, quotient);
}

static void check(rp_run *run, const op_sample *s, int order, bool twice)
{
    rp_compiled *c = build(s, run, order, twice);
    double quotient[ELEMENTS];

    fill_feeds(s, c);
    for (size_t i = 0; i < (size_t)s->n_in; i++)
        if (s->in[i].dtype == RP_F64 && !(twice && i == 1)) {
            size_t n = quotients(c, s, i, quotient), at;
            char name[24];
            const double *gradient;

            snprintf(name, sizeof name, "g%zu", i);
            (void)value_at(c);
            gradient = result_memory(c, name);
            at = first_disagreement(gradient, quotient, n);
            if (at < n)
                describe(s, order, i, at, gradient[at], quotient[at]);
        }
    rp_compiled_free(c);
}

/* Planted faults seen here: without the rp_neg of vjp_sub, "sub f64[3,2] f64[3,2]: gradient of order 1, operand 1,
 * element 0: found 1.31.., difference quotient -1.31.."; with rp_add for rp_sub in vjp_softmax_grad, "softmax_grad
 * f64[3,4] f64[3,4]: gradient of order 1, operand 1", and "softmax f64[3,4]: gradient of order 2" in the next test. Of
 * 103 such edits of core/program/grads.c (signs, products for quotients, swapped operands) this program refuses all but
 * one, which changes nothing: relu_grad by y instead of x. */
static void every_differentiable_row_agrees_with_finite_differences(void **state)
{
    rp_run *run = run_new();

    (void)state;
    for (int id = 0; id < RP_OP_COUNT; id++)
        if (rp_op_get((rp_op_id)id)->vjp && !op_has_sample((rp_op_id)id))
            fail_msg("%s has a gradient and no sample", rp_op_get((rp_op_id)id)->name);
    for (size_t i = 0; i < OP_SAMPLES; i++)
        if (rp_op_get(op_samples[i].op)->vjp)
            check(run, &op_samples[i], 1, false);
    rp_run_free(run);
}

static void every_second_derivative_agrees_with_finite_differences(void **state)
{
    rp_run *run = run_new();

    (void)state;
    for (size_t i = 0; i < OP_SAMPLES; i++)
        if (rp_op_get(op_samples[i].op)->vjp)
            check(run, &op_samples[i], 2, false);
    rp_run_free(run);
}

/* The same value as first and second operand; not maximum and minimum, where that is a tie. */
static void a_value_used_as_two_operands_gets_both_contributions(void **state)
{
    rp_run *run = run_new();
    size_t checked = 0;

    (void)state;
    for (size_t i = 0; i < OP_SAMPLES; i++) {
        const op_sample *s = &op_samples[i];

        if (!rp_op_get(s->op)->vjp || s->n_in < 2 || s->in[0].dtype != RP_F64 || !rp_type_equal(&s->in[0], &s->in[1]) ||
            s->op == RP_OP_maximum || s->op == RP_OP_minimum)
            continue;
        check(run, s, 1, true);
        check(run, s, 2, true);
        checked++;
    }
    assert_true(checked >= 10);
    rp_run_free(run);
}

/* The comparison itself: what it accepts, it refuses with the sign turned, with a factor, with a NaN. */
static void a_wrong_gradient_is_refused(void **state)
{
    const op_sample *s = NULL;
    rp_run *run = run_new();
    rp_compiled *c;
    double quotient[ELEMENTS], wrong[ELEMENTS];
    size_t n;

    (void)state;
    for (size_t i = 0; i < OP_SAMPLES && !s; i++)
        if (op_samples[i].op == RP_OP_gelu)
            s = &op_samples[i];
    assert_non_null(s);
    c = build(s, run, 1, false);
    fill_feeds(s, c);
    n = quotients(c, s, 0, quotient);
    (void)value_at(c);
    memcpy(wrong, result_memory(c, "g0"), n * sizeof *wrong);
    assert_int_equal(first_disagreement(wrong, quotient, n), n);
    for (size_t i = 0; i < n; i++)
        wrong[i] = -wrong[i];
    assert_int_equal(first_disagreement(wrong, quotient, n), 0);
    for (size_t i = 0; i < n; i++)
        wrong[i] *= -1.00001;
    assert_true(first_disagreement(wrong, quotient, n) < n);
    memcpy(wrong, quotient, n * sizeof *wrong);
    wrong[n - 1] = wrong[0] / 0.0 - wrong[0] / 0.0;
    assert_int_equal(first_disagreement(wrong, quotient, n), n - 1);
    rp_compiled_free(c);
    rp_run_free(run);
}

/* The programs themselves, not only their values: CONTRACT 11 fixes every instruction's place, so two compilers must
 * number them alike (nested calls whose arguments both append would not). A pin changes only with the contract or with
 * the samples of its operation. */
static void gradient_programs_are_the_same_from_every_compiler(void **state)
{
    rp_run *run = run_new();
    uint64_t digest[RP_OP_COUNT];
    bool differ = false;

    (void)state;
    for (int id = 0; id < RP_OP_COUNT; id++)
        digest[id] = 0xcbf29ce484222325u;
    for (size_t i = 0; i < OP_SAMPLES; i++)
        for (int order = 1; order <= 2 && rp_op_get(op_samples[i].op)->vjp; order++) {
            rp_compiled *c = build(&op_samples[i], run, order, false);
            uint64_t *hash = &digest[op_samples[i].op];
            rp_buffer text = {0};

            assert_int_equal(rp_program_write(rp_compiled_program(c), &text, NULL), RP_OK);
            for (size_t k = 0; k < text.size; k++)
                *hash = (*hash ^ text.data[k]) * 0x100000001b3u;
            rp_buffer_free(&text);
            rp_compiled_free(c);
        }
    for (int id = 0; id < RP_OP_COUNT; id++)
        if (rp_op_get((rp_op_id)id)->vjp && digest[id] != pins[id]) {
            print_error("PIN(%s, 0x%016llxu), where op_facts.def has 0x%016llx\n", rp_op_get((rp_op_id)id)->name,
                        (unsigned long long)digest[id], (unsigned long long)pins[id]);
            differ = true;
        }
    assert_false(differ);
    rp_run_free(run);
}

/* ---- the sweep, eagerly ---- */

static rp_tensor feed_f64(rp_run *run, const char *name, size_t n, const double *x)
{
    return rp_feed(run, name, RP_F64, 1, &n, x);
}

static void assert_reads(rp_run *run, rp_tensor x, const double *expected, size_t n)
{
    double found[8];
    rp_error err = {0};

    if (rp_read(run, x, found, n * sizeof *found, &err) != RP_OK)
        fail_msg("%s", err.text);
    for (size_t i = 0; i < n; i++)
        if (memcmp(&found[i], &expected[i], sizeof *found) != 0)
            fail_msg("element %zu: expected %a, found %a", i, expected[i], found[i]);
}

static rp_run *step_new(void)
{
    rp_run *run = run_new();

    assert_int_equal(rp_step_begin(run, NULL), RP_OK);
    return run;
}

static void unrelated_tensors_get_zeros_if_asked_for_and_the_output_gets_ones(void **state)
{
    rp_run *run = step_new();
    rp_tensor x = feed_f64(run, "x", 2, (double[]){3, -4}), other = feed_f64(run, "other", 2, (double[]){1, 2});
    rp_tensor y = rp_sum(rp_mul(x, x), NULL, 0, false), grad[3];

    (void)state;
    rp_gradients_or_zeros(y, (rp_tensor[]){x, other, y}, 3, grad);
    assert_reads(run, grad[0], (double[]){6, -8}, 2);
    assert_reads(run, grad[1], (double[]){0, 0}, 2);
    assert_reads(run, grad[2], (double[]){1}, 1);
    rp_run_free(run);
}

/* d/dh of h^2 at h = 2x, and nothing is appended for the way from h back to x. */
static void the_gradient_of_an_intermediate_value_stops_there(void **state)
{
    rp_run *run = step_new();
    rp_tensor x = feed_f64(run, "x", 1, (double[]){3}), h = rp_neg(x), y = rp_sum(rp_mul(h, h), NULL, 0, false), grad;
    const rp_program *p = rp_step_graph(run)->program;

    (void)state;
    rp_gradients(y, &h, 1, &grad);
    assert_reads(run, grad, (double[]){-6}, 1);
    for (size_t k = 1; k < p->n_instrs; k++) /* instruction 0 is the only neg */
        assert_true(rp_op_index(p->instr[k].op) != RP_OP_neg);
    rp_run_free(run);
}

/* x * stop(x): the gradient is stop(x) alone, of x + stop(x)^2 it is 1; through the transpose of a stopped value
 * nothing comes. */
static void a_stopped_gradient_passes_nothing_and_changes_no_value(void **state)
{
    static const double values[] = {3, -2, 0.5, 7};
    rp_run *run = step_new();
    rp_tensor x, stopped, loss, grad;
    rp_error err = {0};

    (void)state;
    x = rp_feed(run, "x", RP_F64, 2, (size_t[]){2, 2}, values);
    stopped = rp_stop_gradient(x);
    assert_reads(run, stopped, values, 4);
    loss = rp_sum(rp_mul(x, stopped), NULL, 0, false);
    rp_gradients(loss, &x, 1, &grad);
    assert_reads(run, grad, values, 4);
    stopped = rp_mul(stopped, stopped);
    loss = rp_sum(rp_add(x, stopped), NULL, 0, false);
    rp_gradients(loss, &x, 1, &grad);
    assert_reads(run, grad, (const double[]){1, 1, 1, 1}, 4);
    stopped = rp_transpose(rp_stop_gradient(rp_transpose(x, NULL)), NULL); /* a view of a view */
    assert_reads(run, stopped, values, 4);
    loss = rp_sum(rp_mul(rp_transpose(stopped, NULL), x), NULL, 0, false);
    rp_gradients(loss, &x, 1, &grad);
    assert_reads(run, grad, (const double[]){3, 0.5, -2, 7}, 4);
    assert_int_equal(rp_step_end(run, &err), RP_OK);
    rp_run_free(run);
}

static void several_outputs_and_seeds_add_up(void **state)
{
    rp_run *run = step_new();
    rp_tensor x = feed_f64(run, "x", 2, (double[]){2, 3}), y[3] = {rp_mul(x, x), rp_neg(x), x};
    rp_tensor seed[3] = {feed_f64(run, "a", 2, (double[]){1, 10}), feed_f64(run, "b", 2, (double[]){100, 1000}),
                         feed_f64(run, "c", 2, (double[]){0.5, 0.25})};
    rp_tensor grad;

    (void)state;
    rp_vjp(y, seed, 3, &x, 1, &grad);
    assert_reads(run, grad, (double[]){4 - 100 + 0.5, 60 - 1000 + 0.25}, 2);
    rp_run_free(run);
}

/* Seeding with an operand makes it both operands of the gradient operation, whose rule differentiates an expansion. */
static void a_seed_that_is_the_operand_is_differentiated_once(void **state)
{
    rp_run *run = step_new();
    rp_tensor x = feed_f64(run, "x", 3, (double[]){1, 2, 4}), one = rp_fill(x.graph, RP_F64, 1, (size_t[]){3}, 1);
    rp_tensor w = feed_f64(run, "w", 3, (double[]){1, 0, -2}), g, again, copy = rp_scale(x, 1), grad[2];
    double whole[3], parts[2][3];

    (void)state;
    rp_emit(x.graph, RP_OP_layer_norm_grad, &(rp_attr[RP_MAX_ATTR]){{.r = 0.1}}[0], (rp_tensor[]){x, x, one}, 3, &g);
    rp_vjp(&g, &w, 1, &x, 1, &again);
    assert_int_equal(rp_read(run, again, whole, sizeof whole, NULL), RP_OK);
    /* apart: the two partial derivatives */
    rp_emit(x.graph, RP_OP_layer_norm_grad, &(rp_attr[RP_MAX_ATTR]){{.r = 0.1}}[0], (rp_tensor[]){copy, x, one}, 3, &g);
    rp_vjp(&g, &w, 1, (rp_tensor[]){copy}, 1, grad);
    assert_int_equal(rp_read(run, grad[0], parts[0], sizeof parts[0], NULL), RP_OK);
    rp_emit(x.graph, RP_OP_layer_norm_grad, &(rp_attr[RP_MAX_ATTR]){{.r = 0.1}}[0], (rp_tensor[]){x, copy, one}, 3, &g);
    rp_vjp(&g, &w, 1, (rp_tensor[]){copy}, 1, grad);
    assert_int_equal(rp_read(run, grad[0], parts[1], sizeof parts[1], NULL), RP_OK);
    for (int i = 0; i < 3; i++)
        if (!(__builtin_fabs(whole[i] - parts[0][i] - parts[1][i]) < 1e-12))
            fail_msg("element %d: %.17g is not %.17g + %.17g", i, whole[i], parts[0][i], parts[1][i]);
    rp_run_free(run);
}

/* 70 rows are more than the 64 lanes of a sum: the gradient of a lane reaches each row that joins it. */
static void lanes_pass_their_gradients_to_all_rows(void **state)
{
    enum { ROWS = 70, N = 3 };
    rp_run *run = step_new();
    double values[ROWS * N], found[ROWS * N], z[ROWS * N];
    rp_tensor x, g, one, zero, seed, d[RP_MAX_OUT], grad;

    (void)state;
    for (int i = 0; i < ROWS * N; i++)
        values[i] = i * 37 % 101 / 50.0;
    x = rp_reshape(feed_f64(run, "x", ROWS * N, values), 2, (size_t[]){ROWS, N});
    g = rp_reshape(feed_f64(run, "g", ROWS * N, values), 2, (size_t[]){ROWS, N});
    one = rp_fill(x.graph, RP_F64, 1, (size_t[]){N}, 1);
    zero = rp_fill(x.graph, RP_F64, 1, (size_t[]){N}, 0);
    seed = rp_fill(x.graph, RP_F64, 3, (size_t[]){1, 64, N}, 1);
    rp_emit(x.graph, RP_OP_layer_norm_backward, &(rp_attr[RP_MAX_ATTR]){{.r = 0.1}}[0], (rp_tensor[]){g, x, one}, 3, d);
    rp_vjp(&d[1], &seed, 1, &g, 1, &grad);
    assert_int_equal(rp_read(run, grad, found, sizeof found, NULL), RP_OK);
    assert_int_equal(rp_read(run, rp_layer_norm(x, one, zero, 0.1), z, sizeof z, NULL), RP_OK);
    for (int i = 0; i < ROWS * N; i++)
        if (!(__builtin_fabs(found[i] - z[i]) < 1e-12))
            fail_msg("element %d: %.17g is not %.17g", i, found[i], z[i]);
    rp_run_free(run);
}

/* relu and abs at 0, equal operands of maximum, equal maxima, x^0 at 0: where calculus has no answer the contract has.
 */
static void kinks_and_ties_have_written_gradients(void **state)
{
    rp_run *run = step_new();
    rp_tensor x = feed_f64(run, "x", 3, (double[]){0, -1, 1}), z = feed_f64(run, "z", 3, (double[]){0, -1, 1}), grad[2];
    rp_tensor seed = feed_f64(run, "s", 3, (double[]){3, 5, 7}), y, one = feed_f64(run, "o", 1, (double[]){6});
    rp_tensor flat = feed_f64(run, "f", 3, (double[]){2, 1, 2});

    (void)state;
    y = rp_relu(x);
    rp_vjp(&y, &seed, 1, &x, 1, grad);
    assert_reads(run, grad[0], (double[]){0, 0, 7}, 3);
    y = rp_abs(x);
    rp_vjp(&y, &seed, 1, &x, 1, grad);
    assert_reads(run, grad[0], (double[]){0, -5, 7}, 3);
    y = rp_maximum(x, z);
    rp_vjp(&y, &seed, 1, (rp_tensor[]){x, z}, 2, grad);
    assert_reads(run, grad[0], (double[]){3, 5, 7}, 3);
    assert_reads(run, grad[1], (double[]){0, 0, 0}, 3);
    y = rp_minimum(x, z);
    rp_vjp(&y, &seed, 1, (rp_tensor[]){x, z}, 2, grad);
    assert_reads(run, grad[0], (double[]){3, 5, 7}, 3);
    assert_reads(run, grad[1], (double[]){0, 0, 0}, 3);
    y = rp_max(flat, (int[]){0}, 1, true);
    rp_vjp(&y, &one, 1, &flat, 1, grad);
    assert_reads(run, grad[0], (double[]){3, 0, 3}, 3);
    y = rp_pow_int(x, 0);
    rp_vjp_or_zeros(&y, &seed, 1, &x, 1, grad);
    assert_reads(run, grad[0], (double[]){0, 0, 0}, 3);
    rp_run_free(run);
}

static void a_gradient_passes_casts_between_reals_only(void **state)
{
    rp_run *run = step_new();
    rp_tensor x = feed_f64(run, "x", 2, (double[]){1.5, 2.5}), seed = rp_fill(x.graph, RP_F32, 1, (size_t[]){2}, 0.1);
    rp_tensor y = rp_cast(x, RP_F32), whole = rp_cast(rp_cast(x, RP_I64), RP_F32), grad;
    double tenth = (double)0.1f;

    (void)state;
    rp_vjp(&y, &seed, 1, &x, 1, &grad);
    assert_reads(run, grad, (double[]){tenth, tenth}, 2);
    rp_vjp_or_zeros(&whole, &seed, 1, &x, 1, &grad);
    assert_reads(run, grad, (double[]){0, 0}, 2);
    rp_run_free(run);
}

static void assert_step_fails(rp_run *run, rp_status expected, const char *fragment)
{
    rp_error err = {0};
    rp_status status = rp_step_end(run, &err);

    if (status != expected || !strstr(err.text, fragment))
        fail_msg("expected %s and \"%s\", found %s and \"%s\"", rp_status_name(expected), fragment,
                 rp_status_name(status), err.text);
    rp_run_free(run);
}

static void what_has_no_gradient_is_refused(void **state)
{
    rp_run *run = step_new(), *other = step_new();
    rp_tensor x = feed_f64(run, "x", 2, (double[]){1, 2}), grad = x, whole;

    (void)state;
    rp_gradients(x, &x, 1, &grad);
    assert_null(grad.graph);
    assert_step_fails(run, RP_ESHAPE, "found f64[2], expected f32 or f64 of one element");

    run = step_new();
    x = feed_f64(run, "x", 1, (double[]){1});
    whole = rp_cast(x, RP_I64);
    rp_gradients(x, &whole, 1, &grad);
    assert_step_fails(run, RP_ESHAPE, "only f32 and f64");

    run = step_new();
    x = feed_f64(run, "x", 2, (double[]){1, 2});
    whole = feed_f64(run, "s", 1, (double[]){1});
    rp_vjp(&x, &whole, 1, &x, 1, &grad);
    assert_step_fails(run, RP_ESHAPE, "seed");

    run = step_new();
    x = feed_f64(run, "x", 1, (double[]){1});
    whole = feed_f64(other, "x", 1, (double[]){1});
    rp_gradients(x, &whole, 1, &grad);
    assert_step_fails(run, RP_EARG, "different graphs");
    rp_run_free(other);
}

/* Neither of these y has a gradient by wrt[1], f64[2]. */
static rp_tensor unrelated(rp_tensor x, rp_tensor other)
{
    (void)other;
    return x;
}
static rp_tensor stopped(rp_tensor x, rp_tensor other)
{
    return rp_add(x, rp_mul(rp_stop_gradient(other), rp_neg(rp_stop_gradient(other))));
}
static rp_tensor through_integers(rp_tensor x, rp_tensor other)
{
    return rp_add(x, rp_cast(rp_cast(other, RP_I64), RP_F64));
}
static rp_tensor compared(rp_tensor x, rp_tensor other)
{
    return rp_where(rp_gt(other, x), x, rp_neg(x));
}
static rp_tensor to_the_power_of_0(rp_tensor x, rp_tensor other)
{
    return rp_mul(x, rp_pow_int(other, 0));
}

static void an_unconnected_tensor_is_refused_and_named(void **state)
{
    rp_tensor (*const way[])(rp_tensor, rp_tensor) = {unrelated, stopped, through_integers, compared,
                                                      to_the_power_of_0};

    (void)state;
    for (size_t k = 0; k < 2 * sizeof way / sizeof *way; k++) {
        rp_run *run = step_new();
        rp_tensor x = feed_f64(run, "x", 2, (double[]){1, 2}), other = feed_f64(run, "other", 2, (double[]){3, 4});
        rp_tensor y = way[k / 2](x, other), seed = feed_f64(run, "seed", 2, (double[]){5, 6}), grad[3] = {x, x, x};

        if (k % 2)
            rp_vjp(&y, &seed, 1, (rp_tensor[]){x, other, x}, 3, grad);
        else
            rp_gradients(rp_sum(y, NULL, 0, false), (rp_tensor[]){x, other, x}, 3, grad);
        assert_true(!grad[0].graph && !grad[1].graph && !grad[2].graph);
        assert_step_fails(run, RP_EARG,
                          k % 2 ? "leave it out, or ask for zeros with rp_vjp_or_zeros"
                                : "rp_gradients: gradients: wrt[1], other f64[2], is unconnected: found no way");
    }
}

/* What is connected has the same program by either call; what is not gets its fills in the order of wrt, at the end. */
static void asking_for_zeros_changes_nothing_of_what_is_connected(void **state)
{
    (void)state;
    for (int unconnected = 0; unconnected < 2; unconnected++) {
        rp_run *run[2] = {step_new(), step_new()};
        const rp_program *p[2];

        for (int k = 0; k < 2; k++) {
            rp_tensor x = feed_f64(run[k], "x", 2, (double[]){1, 2}), z = feed_f64(run[k], "z", 2, (double[]){3, 4});
            rp_tensor y = rp_sum(rp_mul(x, unconnected ? rp_stop_gradient(z) : z), NULL, 0, false), grad[3];

            if (k == 0)
                rp_gradients(y, (rp_tensor[]){x, unconnected ? x : z}, 2, grad);
            else
                rp_gradients_or_zeros(y, (rp_tensor[]){x, z, z}, 2 + (size_t)unconnected, grad);
            p[k] = rp_step_graph(run[k])->program;
            if (k == 1 && unconnected) {
                assert_reads(run[k], grad[1], (double[]){0, 0}, 2);
                assert_true(grad[1].value + 1 == grad[2].value && grad[2].value + 1 == p[k]->n_values);
            }
        }
        assert_int_equal(p[0]->n_instrs + (unconnected ? 2 : 0), p[1]->n_instrs);
        for (size_t i = 0; i < p[0]->n_instrs; i++) {
            const rp_instr *a = &p[0]->instr[i], *b = &p[1]->instr[i];

            assert_ptr_equal(a->op, b->op);
            assert_int_equal(a->n_in, b->n_in);
            if (a->n_in)
                assert_memory_equal(a->in, b->in, a->n_in * sizeof *a->in);
            assert_memory_equal(a->attr, b->attr, sizeof a->attr);
        }
        rp_run_free(run[0]);
        rp_run_free(run[1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_differentiable_row_agrees_with_finite_differences),
        cmocka_unit_test(every_second_derivative_agrees_with_finite_differences),
        cmocka_unit_test(a_value_used_as_two_operands_gets_both_contributions),
        cmocka_unit_test(a_wrong_gradient_is_refused),
        cmocka_unit_test(gradient_programs_are_the_same_from_every_compiler),
        cmocka_unit_test(unrelated_tensors_get_zeros_if_asked_for_and_the_output_gets_ones),
        cmocka_unit_test(the_gradient_of_an_intermediate_value_stops_there),
        cmocka_unit_test(several_outputs_and_seeds_add_up),
        cmocka_unit_test(a_seed_that_is_the_operand_is_differentiated_once),
        cmocka_unit_test(lanes_pass_their_gradients_to_all_rows),
        cmocka_unit_test(kinks_and_ties_have_written_gradients),
        cmocka_unit_test(a_gradient_passes_casts_between_reals_only),
        cmocka_unit_test(a_stopped_gradient_passes_nothing_and_changes_no_value),
        cmocka_unit_test(what_has_no_gradient_is_refused),
        cmocka_unit_test(an_unconnected_tensor_is_refused_and_named),
        cmocka_unit_test(asking_for_zeros_changes_nothing_of_what_is_connected),
    };

    return cmocka_run_group_tests_name("gradients", tests, NULL, NULL);
}
