/* SPDX-License-Identifier: Apache-2.0
 * The pass of plans that finds attention written in products and softmax: the bits stay those of the eager tape, the
 * square of scores is gone where nothing else reads it, and what looks alike and is not stays as it is. */
#include <math.h>

#include "tests/core/run/plan_steps.h"
#include "rp/rp.h"

enum { HEADS = 2, ROWS = 400, KEYS = 390, WIDTH = 8 };

typedef struct form {
    const char *name;
    /* extra: the weights are a result; other: their gradient has another reader */
    bool scale, mask, both, extra, other, narrow; /* narrow: q and k in bf16 */
    int wrt;                                      /* with both: bits of q, k, v */
    bool found;
    int hides;      /* 1: where(mask, z, low), 2: where(mask, low, z) */
    int stretched;  /* the mask is 1: a number, 2: of keys, 3: of heads, 4: of queries */
    bool high;      /* low is -1e9, not -inf */
    double divisor; /* in the place of a scale */
    double rate;    /* of dropout */
    bool apart;     /* what dropout leaves has another reader */
    bool scanned;   /* a scan beside it, of many values, that reads the output */
} form;

static rp_tensor matrix(rp_graph *g, rp_input_kind kind, const char *name, int rank, size_t rows, size_t cols)
{
    rp_type type = {RP_F32, rank, {HEADS, rows, cols}};

    if (rank == 2)
        type = (rp_type){RP_F32, 2, {rows, cols}};
    return rp_graph_input(g, kind, name, &type, NULL);
}

static rp_tensor hidden(rp_graph *g, const form *f, rp_tensor z)
{
    static const rp_type types[] = {{RP_F32, 2, {ROWS, KEYS}},
                                    {RP_F32, 0, {0}},
                                    {RP_F32, 1, {KEYS}},
                                    {RP_F32, 3, {HEADS, 1, 1}},
                                    {RP_F32, 2, {ROWS, 1}}};
    rp_tensor mask = rp_graph_input(g, RP_INPUT_DATA, "mask", &types[f->stretched], NULL);
    rp_tensor low = rp_fill(g, RP_F32, 0, NULL, f->high ? -1e9 : -INFINITY);

    mask = rp_gt(mask, rp_fill(g, RP_F32, 0, NULL, 0.25));
    return f->hides == 1 ? rp_where(mask, z, low) : rp_where(mask, low, z);
}

/* Twelve sums that are carried, of a row after the other of y. */
static void scan_beside(rp_graph *g, rp_tensor y)
{
    enum { SUMS = 12 };
    const rp_type index = {.dtype = RP_I64}, row = {RP_F32, 1, {WIDTH}};
    rp_graph *inner = rp_graph_new(NULL);
    rp_tensor sum[SUMS], start[SUMS], rows = rp_reshape(y, 2, (size_t[]){HEADS * ROWS, WIDTH}), x;
    rp_function *f;
    char name[4];

    (void)rp_function_parameter(inner, &index);
    for (int i = 0; i < SUMS; i++)
        sum[i] = rp_function_parameter(inner, &row);
    x = rp_function_parameter(inner, &row);
    for (int i = 0; i < SUMS; i++) {
        rp_function_return(inner, rp_add(rp_scale(sum[i], 0.5), x));
        start[i] = rp_fill(g, RP_F32, 1, (size_t[]){WIDTH}, i);
    }
    assert_int_equal(rp_function_finish(inner, &f, NULL), RP_OK);
    rp_scan(
        g,
        &(rp_scan_options){
            .function = f, .carried = start, .n_carried = SUMS, .sliced = &rows, .n_sliced = 1, .times = HEADS * ROWS},
        sum);
    for (int i = 0; i < SUMS; i++) {
        snprintf(name, sizeof name, "s%d", i);
        rp_graph_set(g, RP_OUTPUT_RESULT, name, sum[i]);
    }
    rp_function_free(f);
}

static rp_program *program_of(const form *f)
{
    rp_graph *g = rp_graph_new(NULL);
    rp_tensor in[3], wrt[3], grad[3], z, y, rng = {0};
    size_t n = 0;
    char name[3] = "d0";
    rp_error err = {0};
    rp_program *p;

    in[0] = matrix(g, RP_INPUT_STATE, "q", 3, ROWS, WIDTH);
    in[1] = matrix(g, RP_INPUT_DATA, "k", 3, KEYS, WIDTH);
    in[2] = matrix(g, RP_INPUT_FEED, "v", 3, KEYS, WIDTH);
    if (f->rate > 0)
        rng = rp_graph_input(g, RP_INPUT_DATA, "rng", &(rp_type){RP_I64, 1, {2}}, NULL);
    if (f->narrow)
        z = rp_matmul(rp_cast(in[0], RP_BF16), rp_transpose(rp_cast(in[1], RP_BF16), NULL));
    else
        z = rp_matmul(in[0], rp_transpose(in[1], NULL));
    if (f->scale)
        z = rp_scale(z, 0.25);
    if (f->divisor != 0)
        z = rp_div(z, rp_fill(g, RP_F32, 0, NULL, f->divisor));
    if (f->hides)
        z = hidden(g, f, z);
    if (f->mask)
        z = rp_add(z, matrix(g, RP_INPUT_DATA, "mask", 2, ROWS, KEYS));
    z = rp_softmax(z);
    if (f->rate > 0)
        z = rp_dropout(z, f->rate, rng, 5);
    y = rp_matmul(z, in[2]);
    if (f->apart)
        rp_graph_set(g, RP_OUTPUT_RESULT, "left", rp_sum(z, (int[]){0, 1, 2}, 3, false));
    rp_graph_set(g, RP_OUTPUT_RESULT, "y", y);
    if (f->scanned)
        scan_beside(g, y);
    if (f->extra)
        rp_graph_set(g, RP_OUTPUT_RESULT, "weights", z);
    for (int i = 0; i < 3; i++)
        if (f->wrt >> i & 1)
            wrt[n++] = in[i];
    if (f->other)
        wrt[n++] = z;
    if (f->both) {
        rp_tensor seed = matrix(g, RP_INPUT_FEED, "g", 3, ROWS, WIDTH);

        rp_vjp(&y, &seed, 1, wrt, n, grad);
        for (size_t i = 0; i < n; i++, name[1]++)
            rp_graph_set(g, RP_OUTPUT_RESULT, name, grad[i]);
        rp_graph_set(g, RP_OUTPUT_STATE, "q", rp_add(in[0], grad[0]));
    }
    if (rp_graph_status(g, &err) != RP_OK)
        fail_msg("%s: %s", f->name, err.text);
    p = rp_graph_take_program(g, &err);
    assert_non_null(p);
    return p;
}

static size_t bytes_of(const rp_program *p, rp_device *device, unsigned passes)
{
    return of_plan(p, device, passes, rp_plan_arena_bytes);
}

static void attention_is_found_where_nothing_else_reads_its_square(void **state)
{
    static const form forms[] = {
        {.name = "forward", .scale = true, .found = true},
        {.name = "forward, mask, no scale", .mask = true, .found = true},
        {.name = "both", .scale = true, .mask = true, .both = true, .wrt = 7, .found = true},
        {.name = "both, no scale", .both = true, .wrt = 7, .found = true},
        {.name = "both, of q and v", .scale = true, .both = true, .wrt = 5, .found = true},
        {.name = "both, of q and k", .scale = true, .both = true, .wrt = 3, .found = true},
        {.name = "where, forward", .scale = true, .hides = 1, .found = true},
        {.name = "where, both", .scale = true, .hides = 1, .both = true, .wrt = 7, .found = true},
        {.name = "filled, both", .scale = true, .hides = 2, .both = true, .wrt = 7, .found = true},
        {.name = "filled, of q and v", .hides = 2, .both = true, .wrt = 5, .found = true},
        {.name = "where, a number", .scale = true, .hides = 1, .stretched = 1, .both = true, .wrt = 7, .found = true},
        {.name = "where, of keys", .scale = true, .hides = 1, .stretched = 2, .both = true, .wrt = 7, .found = true},
        {.name = "filled, of heads", .hides = 2, .stretched = 3, .both = true, .wrt = 7, .found = true},
        {.name = "filled, of queries", .hides = 2, .stretched = 4, .rate = 0.25, .both = true, .wrt = 7, .found = true},
        {.name = "filled with -1e9", .scale = true, .hides = 2, .both = true, .wrt = 7, .high = true},
        {.name = "divided, both", .divisor = 4, .both = true, .wrt = 7, .found = true},
        {.name = "divided, mask", .divisor = -0.5, .mask = true, .both = true, .wrt = 7, .found = true},
        {.name = "divided by 3", .divisor = 3, .both = true, .wrt = 7},
        {.name = "dropout, forward", .scale = true, .rate = 0.25, .found = true},
        {.name = "dropout, both", .scale = true, .rate = 0.25, .both = true, .wrt = 7, .found = true},
        {.name = "dropout of filled, both",
         .divisor = 8,
         .hides = 2,
         .rate = 0.1,
         .both = true,
         .wrt = 7,
         .found = true},
        {.name = "dropout, of q and k", .rate = 0.5, .mask = true, .both = true, .wrt = 3, .found = true},
        {.name = "dropout that is read", .scale = true, .rate = 0.25, .both = true, .wrt = 7, .apart = true},
        {.name = "dropout, the gradient of its result", .rate = 0.25, .both = true, .wrt = 1, .other = true},
        {.name = "a scan beside it", .scale = true, .both = true, .wrt = 7, .found = true, .scanned = true},
        {.name = "scores of bf16", .scale = true, .narrow = true},
        {.name = "the weights are a result", .scale = true, .extra = true},
        {.name = "both, the weights are a result", .scale = true, .both = true, .wrt = 7, .extra = true},
        {.name = "the weights' gradient is asked for", .scale = true, .both = true, .wrt = 1, .other = true}};
    const size_t square = HEADS * ROWS * KEYS * sizeof(float);
    rp_device *device;

    (void)state;
    assert_int_equal(rp_device_cpu_new(&device, NULL, 2, NULL), RP_OK);
    for (size_t i = 0; i < COUNT(forms); i++) {
        rp_program *p = program_of(&forms[i]);
        const size_t without = bytes_of(p, device, RP_PASSES & ~(unsigned)RP_PASS_ATTENTION);
        const size_t with = bytes_of(p, device, RP_PASSES);

        assert_plan_is_eager(p, device, device, forms[i].name);
        if (forms[i].found ? with + square > without : with != without)
            fail_msg("%s: %zu bytes with the pass, %zu without", forms[i].name, with, without);
        plan_passes = RP_PASS_ATTENTION; /* and where what is dead is executed */
        assert_plan_is_eager(p, device, device, forms[i].name);
        plan_passes = RP_PASSES;
        rp_program_free(p);
    }
    rp_device_free(device);
}

/* A gradient by hand: where's zeros have heads that the scores lack, and so has the gradient of the queries. */
static rp_program *with_zeros_of(size_t heads)
{
    const rp_type row = {RP_F32, 3, {1, 520, WIDTH}};
    const size_t zeros[] = {heads, 520, 520};
    rp_graph *g = rp_graph_new(NULL);
    rp_tensor q = rp_graph_input(g, RP_INPUT_DATA, "q", &row, NULL);
    rp_tensor k = rp_graph_input(g, RP_INPUT_DATA, "k", &row, NULL);
    rp_tensor v = rp_graph_input(g, RP_INPUT_DATA, "v", &row, NULL);
    rp_tensor seed = rp_graph_input(g, RP_INPUT_FEED, "g", &row, NULL);
    rp_tensor mask = rp_graph_input(g, RP_INPUT_DATA, "mask", &(rp_type){RP_BOOL, 2, {520, 520}}, NULL);
    rp_tensor t = rp_transpose(k, NULL), z = rp_matmul(q, t), p, ds;
    rp_program *program;

    p = rp_softmax(rp_where(mask, z, rp_fill(g, RP_F32, 0, NULL, -INFINITY)));
    rp_graph_set(g, RP_OUTPUT_RESULT, "y", rp_matmul(p, v));
    rp_emit(g, RP_OP_softmax_grad, NULL, (rp_tensor[]){rp_matmul(seed, rp_transpose(v, NULL)), p}, 2, &ds);
    ds = rp_where(mask, ds, rp_fill(g, RP_F32, 3, zeros, 0));
    rp_graph_set(g, RP_OUTPUT_RESULT, "dq", rp_matmul(ds, rp_transpose(t, NULL)));
    program = rp_graph_take_program(g, NULL);
    assert_non_null(program);
    return program;
}

static void a_gradient_that_zeros_stretch_is_none_of_attention(void **state)
{
    rp_device *device;

    (void)state;
    assert_int_equal(rp_device_cpu_new(&device, NULL, 2, NULL), RP_OK);
    for (size_t heads = 1; heads <= 3; heads++) {
        rp_program *p = with_zeros_of(heads);

        assert_plan_is_eager(p, device, device, heads == 1 ? "zeros like the scores" : "zeros of more heads");
        assert_true((bytes_of(p, device, RP_PASSES) < 520 * 520 * sizeof(float)) == (heads == 1));
        rp_program_free(p);
    }
    rp_device_free(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(attention_is_found_where_nothing_else_reads_its_square),
        cmocka_unit_test(a_gradient_that_zeros_stretch_is_none_of_attention),
    };

    rp_set_allocator(&poisoning);
    return cmocka_run_group_tests_name("attention in plans", tests, NULL, NULL);
}
