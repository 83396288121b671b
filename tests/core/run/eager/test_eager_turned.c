/* SPDX-License-Identifier: Apache-2.0
 * Gradients that nothing but a transpose reads are made turned by eager steps (core/program/autograd.c): each has the
 * bits of the compiled step, whoever else reads them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/run/run_private.h"
#include "rp/rp.h"

enum { BATCH = 3, M = 21, K = 134, N = 39, WRT = 3, ROOM = BATCH * M * K * sizeof(float) };

static const char *const name[WRT] = {"g0", "g1", "g2"};

typedef struct operands {
    rp_tensor x, w, v, b, c; /* [M, K]; [N, K]; [N, M]; [BATCH, M, K]; [1, N, K] */
} operands;

typedef struct made {
    rp_tensor y, of[WRT]; /* what is summed, and what gradients are asked for; of those without a graph none */
} made;

static const struct {
    const char *name;
    size_t shape[3];
    int rank;
} inputs[] = {
    {"x", {M, K}, 2}, {"w", {N, K}, 2}, {"v", {N, M}, 2}, {"b", {BATCH, M, K}, 3}, {"c", {1, N, K}, 3},
};

/* ---- what is differentiated ---- */

static rp_tensor turn(rp_tensor x)
{
    return rp_transpose(x, NULL);
}

/* Whose gradient is another one at each element. */
static rp_tensor uneven(rp_tensor y)
{
    return rp_mul(y, rp_tanh(y));
}

static made read_once(const operands *o)
{
    return (made){uneven(rp_matmul(o->x, turn(o->w))), {o->x, o->w}};
}

static made turned_first(const operands *o)
{
    return (made){uneven(rp_matmul(turn(o->v), o->w)), {o->v, o->w}};
}

static made both_turned(const operands *o)
{
    return (made){uneven(rp_matmul(turn(o->x), turn(o->v))), {o->x, o->v}};
}

/* Two products of one transpose: the second gradient is added to the first, in its memory. */
static made read_by_two_products(const operands *o)
{
    const rp_tensor t = turn(o->w);

    return (made){rp_add(uneven(rp_matmul(o->x, t)), uneven(rp_matmul(rp_scale(o->x, 0.5), t))), {o->x, o->w}};
}

static made read_by_a_product_and_a_map(const operands *o)
{
    const rp_tensor t = turn(o->w);

    return (made){rp_add(rp_sum(uneven(rp_matmul(o->x, t)), NULL, 0, false), rp_sum(uneven(t), NULL, 0, false)),
                  {o->x, o->w}};
}

/* The gradient of the transpose itself is the caller's: it lies in its own order. */
static made asked_for_itself(const operands *o)
{
    const rp_tensor t = turn(o->w);

    return (made){uneven(rp_matmul(o->x, t)), {t, o->w, o->x}};
}

static made batches(const operands *o)
{
    return (made){uneven(rp_matmul(o->b, turn(o->b))), {o->b}};
}

static made one_for_all_batches(const operands *o)
{
    return (made){uneven(rp_matmul(o->b, turn(o->c))), {o->b, o->c}};
}

static made a_matrix_for_all_batches(const operands *o)
{
    return (made){uneven(rp_matmul(o->b, turn(o->w))), {o->b, o->w}};
}

/* The gradient of a gradient passes through what lies turned. */
static made differentiated_again(const operands *o)
{
    const rp_tensor wrt = o->w;
    rp_tensor first;

    rp_gradients_or_zeros(rp_sum(uneven(rp_matmul(o->x, turn(o->w))), NULL, 0, false), &wrt, 1, &first);
    return (made){uneven(first), {o->x, o->w}};
}

static const struct {
    const char *name;
    made (*make)(const operands *o);
} cases[] = {
#define CASE(name) \
    { \
#name, name \
    }
    CASE(read_once),
    CASE(turned_first),
    CASE(both_turned),
    CASE(batches),
    CASE(asked_for_itself),
    CASE(read_by_two_products),
    CASE(one_for_all_batches),
    CASE(a_matrix_for_all_batches),
    CASE(read_by_a_product_and_a_map),
    CASE(differentiated_again),
};

/* ---- both ways ---- */

static rp_run *new_run(unsigned threads)
{
    static float x[BATCH * M * K];
    rp_run *run;

    assert_int_equal(rp_run_new(&run, &(rp_run_options){.threads = threads}, NULL), RP_OK);
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) {
        for (size_t k = 0; k < sizeof x / sizeof *x; k++)
            x[k] = (float)((double)((k + 5) * (i + 3) * 2654435761u % 1009) / 504 - 1);
        assert_int_equal(rp_run_add_data(run, inputs[i].name, RP_F32, inputs[i].rank, inputs[i].shape, x, NULL), RP_OK);
    }
    return run;
}

/* Appends the case to the graph, with its gradients as results; how many they are. */
static size_t append(rp_graph *g, rp_run *run, size_t at, rp_tensor grad[WRT])
{
    const operands o = {rp_graph_data(g, run, "x"), rp_graph_data(g, run, "w"), rp_graph_data(g, run, "v"),
                        rp_graph_data(g, run, "b"), rp_graph_data(g, run, "c")};
    const made m = cases[at].make(&o);
    size_t n = 0;

    while (n < WRT && m.of[n].graph)
        n++;
    rp_gradients_or_zeros(rp_sum(m.y, NULL, 0, false), m.of, n, grad);
    for (size_t i = 0; i < n; i++)
        rp_graph_set(g, RP_OUTPUT_RESULT, name[i], grad[i]);
    return n;
}

static size_t bytes_of(rp_tensor x)
{
    return rp_type_bytes(rp_tensor_type(x));
}

static void gradients_have_the_bits_of_the_compiled_step(void **state)
{
    static char eager[WRT * ROOM], read[ROOM], compiled[ROOM];
    size_t bytes[WRT];
    rp_tensor grad[WRT], kept[WRT];
    rp_compiled *step;
    rp_error err = {0};

    (void)state;
    for (size_t at = 0; at < sizeof cases / sizeof *cases; at++)
        for (unsigned threads = 1; threads < 4; threads++) {
            rp_run *run = new_run(threads), *other = new_run(threads);
            rp_graph *g = rp_graph_new(NULL);
            const size_t n = append(g, other, at, kept);
            rp_program *program = rp_graph_take_program(g, &err);

            assert_non_null(program);
            assert_int_equal(rp_run_compile(&step, other, program, &err), RP_OK);
            assert_int_equal(rp_compiled_step(step, &err), RP_OK);
            assert_int_equal(rp_step_begin(run, &err), RP_OK);
            assert_int_equal(append(run->graph, run, at, grad), n);
            for (size_t i = 0; i < n; i++)
                assert_int_equal(rp_read(run, grad[i], eager + i * ROOM, bytes_of(grad[i]), &err), RP_OK);
            for (size_t i = 0; i < n; i++)
                bytes[i] = bytes_of(grad[i]);
            assert_int_equal(rp_step_end(run, &err), RP_OK);
            for (size_t i = 0; i < n; i++) {
                assert_true(bytes[i] <= ROOM);
                assert_int_equal(rp_step_read_result(run, name[i], read, bytes[i], &err), RP_OK);
                assert_int_equal(rp_compiled_read(step, name[i], compiled, bytes[i], &err), RP_OK);
                if (memcmp(eager + i * ROOM, compiled, bytes[i]) != 0 || memcmp(read, compiled, bytes[i]) != 0)
                    fail_msg("%s, %u threads: gradient %zu has other bits than the compiled step's", cases[at].name,
                             threads, i);
            }
            rp_compiled_free(step);
            rp_run_free(run);
            rp_run_free(other);
        }
}

/* ---- how they lie ---- */

static size_t n_turned, n_in_the_way;

static void look(void *self, const rp_graph *g, const rp_instr *instr)
{
    (void)self;
    for (size_t i = 0; i < instr->n_in; i++) {
        const uint32_t maker = g->program->maker[instr->in[i]];

        if (maker == RP_NO_INSTR || g->program->instr[maker].op->role != RP_PLAYS_PRODUCT ||
            rp_view_contiguous(&g->view[instr->in[i]]))
            continue;
        n_turned++;
        n_in_the_way += !rp_instr_exchanges(instr);
    }
}

static void pass(void *self, const rp_graph *g, const rp_instr *instr)
{
    (void)self, (void)g, (void)instr;
}

/* What is summed, over batches or over readers, costs several times as much where it lies turned. */
static void what_anything_but_a_transpose_reads_lies_in_order(void **state)
{
    const rp_graph_watch watch = {NULL, look, pass};
    rp_tensor grad[WRT];

    (void)state;
    n_turned = n_in_the_way = 0;
    for (size_t at = 0; at < sizeof cases / sizeof *cases; at++) {
        rp_run *run = new_run(1);

        assert_int_equal(rp_step_begin(run, NULL), RP_OK);
        run->graph->watch = &watch;
        (void)append(run->graph, run, at, grad);
        assert_int_equal(rp_graph_status(run->graph, NULL), RP_OK);
        run->graph->watch = NULL;
        if (n_in_the_way > 0)
            fail_msg("%s: what lies turned is read as it is", cases[at].name);
        rp_run_free(run);
    }
    assert_true(n_turned >= 5);
}

/* A seed that has gone is made again where a product that lies turned reads it: it lies in its own order. */
static void what_is_made_again_on_the_way_is_not_turned(void **state)
{
    static float read[M * N], wanted[M * N];
    rp_error err = {0};

    (void)state;
    for (int released = 0; released < 2; released++) {
        rp_run *run = new_run(1);
        rp_tensor x, w, y, seed, grad;

        assert_int_equal(rp_step_begin(run, &err), RP_OK);
        x = rp_data(run, "x");
        w = rp_data(run, "w");
        y = rp_matmul(x, turn(w));
        seed = rp_matmul(rp_tanh(x), turn(w));
        rp_gradients_or_zeros(rp_sum(y, NULL, 0, false), &w, 1, &grad);
        if (released)
            rp_tensor_release(seed);
        rp_vjp(&y, &seed, 1, &w, 1, &grad);
        assert_int_equal(rp_read(run, seed, released ? read : wanted, sizeof read, &err), RP_OK);
        rp_run_free(run);
    }
    assert_memory_equal(read, wanted, sizeof read);
}

/* What lies turned has gone, but a view of it has not: made again it lies as the view reads it. */
static void what_is_made_again_under_a_view_lies_as_before(void **state)
{
    static float read[N * K], view[N * K], wanted[N * K];
    rp_error err = {0};

    (void)state;
    for (int released = 0; released < 2; released++) {
        rp_run *run = new_run(1);
        rp_tensor x, w, t, grad;

        assert_int_equal(rp_step_begin(run, &err), RP_OK);
        x = rp_data(run, "x");
        w = rp_data(run, "w");
        rp_gradients_or_zeros(rp_sum(uneven(rp_matmul(x, turn(w))), NULL, 0, false), &w, 1, &grad);
        t = turn(grad);
        if (released)
            rp_tensor_release(grad);
        assert_int_equal(rp_read(run, grad, released ? read : wanted, sizeof read, &err), RP_OK);
        assert_int_equal(rp_read(run, turn(t), view, sizeof view, &err), RP_OK);
        assert_memory_equal(view, wanted, sizeof view);
        rp_run_free(run);
    }
    assert_memory_equal(read, wanted, sizeof read);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_made_again_under_a_view_lies_as_before),
        cmocka_unit_test(gradients_have_the_bits_of_the_compiled_step),
        cmocka_unit_test(what_anything_but_a_transpose_reads_lies_in_order),
        cmocka_unit_test(what_is_made_again_on_the_way_is_not_turned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
