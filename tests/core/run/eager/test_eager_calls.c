/* SPDX-License-Identifier: Apache-2.0
 * Calls that are written in others, eagerly on tensors that are large enough for a chain: value and gradients have the
 * bits of their instructions one by one, which a run that somebody watches executes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/run/run_private.h"
#include "rp/rp.h"

enum { ROWS = 37, COLS = 128, COUNT = ROWS * COLS, VALUES = 4, BAGS = 64, BAG = 48 };

typedef struct operands {
    rp_tensor x, y, z, p, row, index; /* of any size and sign, two; above 1; between 0 and 1; a row; rows of x */
} operands;

/* ---- calls ---- */

static rp_tensor first_rows(rp_tensor bags)
{
    return rp_slice(bags, (const size_t[]){BAGS - ROWS, 0}, (const size_t[]){BAGS, COLS});
}

/* x without its first and last two rows and columns, padded to its shape again. */
static rp_tensor pad_inside(rp_tensor x, rp_pad_mode how)
{
    const size_t two[2] = {2, 2}, less[2] = {ROWS - 2, COLS - 2};

    return rp_pad_with(rp_slice(x, two, less), two, two, how, 0.5);
}

/* Three axes, of the middle one nothing in front, of the last one nothing behind. */
static rp_tensor pad_three(rp_tensor x)
{
    const size_t shape[3] = {ROWS, COLS / 4, 4}, begin[3] = {1, 0, 1}, end[3] = {ROWS - 1, COLS / 4 - 1, 4};

    return rp_pad_with(rp_slice(rp_reshape(x, 3, shape), begin, end), (const size_t[]){1, 0, 1},
                       (const size_t[]){1, 1, 0}, RP_PAD_REFLECT, 0);
}

#define CALL(name, ...) \
    static rp_tensor call_##name(const operands *o) \
    { \
        const rp_tensor x = o->x, y = o->y, z = o->z, p = o->p, row = o->row, index = o->index; \
\
        (void)x, (void)y, (void)z, (void)p, (void)row, (void)index; \
        return __VA_ARGS__; \
    }
#define CALLS(CALL) \
    CALL(clamp, rp_clamp(x, -0.5, 0.75)) \
    CALL(isfinite, rp_where(rp_isfinite(x), x, y)) \
    CALL(floor_divide, rp_floor_divide(x, z)) \
    CALL(trunc_divide, rp_trunc_divide(x, z)) \
    CALL(xlogy, rp_xlogy(x, p)) \
    CALL(asinh, rp_asinh(x)) \
    CALL(acosh, rp_acosh(z)) \
    CALL(atanh, rp_atanh(p)) \
    CALL(hardsigmoid, rp_hardsigmoid(x)) \
    CALL(hardswish, rp_hardswish(x)) \
    CALL(mish, rp_mish(x)) \
    CALL(selu, rp_selu(x)) \
    CALL(celu, rp_celu(x, 0.75)) \
    CALL(softsign, rp_softsign(x)) \
    CALL(logsigmoid, rp_logsigmoid(x)) \
    CALL(tanhshrink, rp_tanhshrink(x)) \
    CALL(softshrink, rp_softshrink(x, 0.5)) \
    CALL(hardshrink, rp_hardshrink(x, 0.5)) \
    CALL(threshold, rp_threshold(x, 0.25, -1)) \
    CALL(prelu, rp_prelu(x, row)) \
    CALL(gelu_tanh, rp_gelu_tanh(x)) \
    CALL(norm, rp_norm(x, 2, (const int[]){1}, 1, true)) \
    CALL(norm_of_all, rp_norm(x, 2, NULL, 0, false)) \
    CALL(norm_of_columns, rp_norm(x, 2, (const int[]){0}, 1, false)) \
    CALL(norm_of_turned, rp_norm(rp_transpose(x, NULL), 2, (const int[]){1}, 1, false)) \
    CALL(norm_of_made, rp_norm(rp_sub(x, y), 2, (const int[]){1}, 1, false)) \
    CALL(glu, rp_glu(rp_reshape(x, 2, (const size_t[]){ROWS * 2, COLS / 2}), 0)) \
    CALL(mse, rp_mse_loss(x, y, RP_REDUCE_MEAN)) \
    CALL(l1, rp_l1_loss(x, row, RP_REDUCE_NONE)) \
    CALL(huber, rp_huber_loss(x, y, 0.75, RP_REDUCE_MEAN)) \
    CALL(smooth_l1, rp_smooth_l1_loss(x, y, 0.75, RP_REDUCE_NONE)) \
    CALL(bce, rp_bce_loss(p, rp_square(p), RP_REDUCE_SUM)) \
    CALL(weighted, rp_bce_with_logits_loss(x, p, row, RP_REDUCE_MEAN)) \
    CALL(kl, rp_kl_div_loss(x, p, false, RP_REDUCE_BATCH)) \
    CALL(poisson, rp_poisson_nll_loss(x, z, true, true, 1e-8, RP_REDUCE_MEAN)) \
    CALL(gaussian, rp_gaussian_nll_loss(x, y, z, true, 1e-6, RP_REDUCE_MEAN)) \
    CALL(hinge, rp_hinge_loss(x, y, RP_REDUCE_MEAN)) \
    CALL(soft_margin, rp_soft_margin_loss(x, y, RP_REDUCE_MEAN)) \
    CALL(hinge_embedding, rp_hinge_embedding_loss(x, y, 1, RP_REDUCE_MEAN)) \
    CALL(margin_ranking, rp_margin_ranking_loss(x, y, row, 0.25, RP_REDUCE_MEAN)) \
    CALL(triplet, rp_triplet_margin_loss(x, y, z, 1, RP_REDUCE_MEAN)) \
    CALL(pad_constant, pad_inside(x, RP_PAD_CONSTANT)) \
    CALL(pad_reflect, pad_inside(x, RP_PAD_REFLECT)) \
    CALL(pad_edge, pad_inside(x, RP_PAD_EDGE)) \
    CALL(pad_circular, pad_inside(x, RP_PAD_CIRCULAR)) \
    CALL(pad_three, pad_three(x)) \
    CALL(pad_made, pad_inside(rp_sub(x, y), RP_PAD_REFLECT)) \
    CALL(pad_turned, pad_inside(rp_reshape(rp_transpose(x, NULL), 2, (const size_t[]){ROWS, COLS}), RP_PAD_EDGE)) \
    CALL(shared_gradient, rp_mul(rp_add(rp_relu(x), z), p)) \
    CALL(gradient_of_own, rp_mul(x, rp_add(rp_tanh(x), rp_gelu(x)))) \
    CALL(summed_gradients, rp_add(rp_mul(rp_sigmoid(x), rp_relu(x)), rp_relu(rp_mul(x, p)))) \
    CALL(bag_sum, first_rows(rp_embedding_bag(x, index, RP_BAG_SUM))) \
    CALL(bag_mean, first_rows(rp_embedding_bag(x, index, RP_BAG_MEAN))) \
    CALL(bag_max, first_rows(rp_embedding_bag(x, index, RP_BAG_MAX)))
CALLS(CALL)
#undef CALL

static const struct {
    const char *name;
    rp_tensor (*make)(const operands *o);
} calls[] = {
#define CALL(name, ...) {#name, call_##name},
    CALLS(CALL)
#undef CALL
};

/* ---- a step ---- */

static void none(void *self, const rp_graph *graph, const rp_instr *instr)
{
    (void)self, (void)graph, (void)instr;
}

/* Operands are data, or states, which gradients are expected of: what a call keeps hangs on it. */
static bool of_states;

static void add(rp_run *run, const char *name, uint32_t seed, size_t rows, double scale, double shift)
{
    static float x[COUNT];

    for (uint32_t i = 0; i < COUNT; i++)
        x[i] = (float)((double)((i * 2654435761u ^ seed * 40503u) >> 12 & 1023) / 1024 * scale + shift);
    assert_int_equal((of_states ? rp_run_add_state : rp_run_add_data)(
                         run, name, RP_F32, rows == 1 ? 1 : 2,
                         rows == 1 ? (const size_t[]){COLS} : (const size_t[]){rows, COLS}, x, NULL),
                     RP_OK);
}

static void add_index(rp_run *run)
{
    static int64_t index[BAGS * BAG];

    for (size_t i = 0; i < BAGS * BAG; i++)
        index[i] = (int64_t)(i * 2654435761u >> 7) % ROWS;
    assert_int_equal(rp_run_add_data(run, "index", RP_I64, 2, (const size_t[]){BAGS, BAG}, index, NULL), RP_OK);
}

static rp_run *new_run(void)
{
    rp_run *run;

    assert_int_equal(rp_run_new(&run, &(rp_run_options){.threads = 2}, NULL), RP_OK);
    add(run, "x", 1, ROWS, 5, -2.5);
    add(run, "y", 2, ROWS, 4, -2);
    add(run, "z", 3, ROWS, 3, 1);
    add(run, "p", 4, ROWS, 0.98, 0.01);
    add(run, "row", 5, 1, 2, -1);
    add_index(run);
    return run;
}

static rp_tensor take(rp_run *run, const char *name)
{
    return of_states ? rp_state(run, name) : rp_data(run, name);
}

/* The call's value, and the gradients of its sum for x, y and p where there are any. */
static void run_step(float *value, size_t c, bool watched)
{
    const rp_graph_watch watch = {NULL, none, none};
    rp_run *run = new_run();
    rp_tensor of[3], grad[3], made;
    rp_error err = {0};
    operands o;

    assert_int_equal(rp_step_begin(run, &err), RP_OK);
    run->graph->watch = watched ? &watch : NULL;
    o = (operands){take(run, "x"), take(run, "y"),   take(run, "z"),
                   take(run, "p"), take(run, "row"), rp_data(run, "index")};
    made = calls[c].make(&o);
    of[0] = o.x, of[1] = o.z, of[2] = o.p;
    rp_gradients_or_zeros(rp_sum(made, NULL, 0, false), of, 3, grad);
    memset(value, 0, VALUES * COUNT * sizeof *value);
    assert_int_equal(rp_read(run, made, value, rp_type_bytes(rp_tensor_type(made)), &err), RP_OK);
    for (int i = 0; i < 3; i++)
        assert_int_equal(rp_read(run, grad[i], value + (i + 1) * COUNT, COUNT * sizeof *value, &err), RP_OK);
    run->graph->watch = NULL;
    rp_run_free(run);
}

/* The same of a compiled program. */
static void run_compiled(float *value, size_t c)
{
    static const char *const name[] = {"made", "dx", "dz", "dp"};
    rp_run *run = new_run();
    rp_graph *g = rp_graph_new(NULL);
    rp_tensor of[3], grad[3], made;
    rp_compiled *compiled = NULL;
    rp_error err = {0};
    size_t bytes;
    rp_program *program;
    operands o;

    o = (operands){rp_graph_data(g, run, "x"), rp_graph_data(g, run, "y"),   rp_graph_data(g, run, "z"),
                   rp_graph_data(g, run, "p"), rp_graph_data(g, run, "row"), rp_graph_data(g, run, "index")};
    made = calls[c].make(&o);
    of[0] = o.x, of[1] = o.z, of[2] = o.p;
    rp_gradients_or_zeros(rp_sum(made, NULL, 0, false), of, 3, grad);
    bytes = rp_type_bytes(rp_tensor_type(made));
    rp_graph_set(g, RP_OUTPUT_RESULT, name[0], made);
    for (int i = 0; i < 3; i++)
        rp_graph_set(g, RP_OUTPUT_RESULT, name[i + 1], grad[i]);
    program = rp_graph_take_program(g, &err);
    assert_non_null(program);
    assert_int_equal(rp_run_compile(&compiled, run, program, &err), RP_OK);
    assert_int_equal(rp_compiled_step(compiled, &err), RP_OK);
    memset(value, 0, VALUES * COUNT * sizeof *value);
    for (size_t i = 0; i < VALUES; i++)
        assert_int_equal(
            rp_compiled_read(compiled, name[i], value + i * COUNT, i == 0 ? bytes : COUNT * sizeof *value, &err),
            RP_OK);
    rp_compiled_free(compiled);
    rp_run_free(run);
}

static void calls_have_the_bits_of_their_instructions(void **state)
{
    float *together = malloc(VALUES * COUNT * sizeof *together), *apart = malloc(VALUES * COUNT * sizeof *apart);

    (void)state;
    assert_non_null(together);
    assert_non_null(apart);
    for (size_t c = 0; c < sizeof calls / sizeof *calls; c++) {
        run_step(together, c, false);
        run_step(apart, c, true);
        if (memcmp(together, apart, VALUES * COUNT * sizeof *apart) != 0)
            fail_msg("%s: other bits than its instructions have", calls[c].name);
        of_states = true;
        run_step(together, c, false);
        of_states = false;
        if (memcmp(together, apart, VALUES * COUNT * sizeof *apart) != 0)
            fail_msg("%s of states: other bits than its instructions have", calls[c].name);
        run_compiled(together, c);
        if (memcmp(together, apart, VALUES * COUNT * sizeof *apart) != 0)
            fail_msg("%s, compiled: other bits than its instructions have", calls[c].name);
    }
    free(together);
    free(apart);
}

/* ---- an index out of range ---- */

static rp_run *run_with_bad_index(size_t at)
{
    static int64_t index[BAGS * BAG];
    rp_run *run = new_run();

    index[at] = ROWS;
    assert_int_equal(rp_run_add_data(run, "bad", RP_I64, 2, (const size_t[]){BAGS, BAG}, index, NULL), RP_OK);
    index[at] = 0;
    return run;
}

static void find_fault(rp_error *err, size_t at, bool watched)
{
    const rp_graph_watch watch = {NULL, none, none};
    rp_run *run = run_with_bad_index(at);

    assert_int_equal(rp_step_begin(run, err), RP_OK);
    run->graph->watch = watched ? &watch : NULL;
    rp_result(run, "y", rp_embedding_bag(rp_data(run, "x"), rp_data(run, "bad"), RP_BAG_SUM));
    assert_int_equal(rp_step_end(run, err), RP_EDATA);
    run->graph->watch = NULL;
    rp_run_free(run);
}

static void a_bad_index_is_told_of_as_ever(void **state)
{
    const size_t at[] = {0, 1500, BAGS * BAG - 1};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        rp_error together = {0}, apart = {0}, compiled = {0};
        rp_run *run = run_with_bad_index(at[i]);
        rp_graph *g = rp_graph_new(NULL);
        rp_tensor x = rp_graph_data(g, run, "x"), index = rp_graph_data(g, run, "bad");
        rp_compiled *c = NULL;

        find_fault(&together, at[i], false);
        find_fault(&apart, at[i], true);
        assert_non_null(strstr(apart.text, "(step 0"));
        assert_string_equal(strstr(together.text, "(step 0"), strstr(apart.text, "(step 0"));
        *strchr(together.text, '(') = *strchr(apart.text, '(') = 0; /* one who watches is told lines too */
        assert_string_equal(together.text, apart.text);
        rp_graph_set(g, RP_OUTPUT_RESULT, "y", rp_embedding_bag(x, index, RP_BAG_SUM));
        assert_int_equal(rp_run_compile(&c, run, rp_graph_take_program(g, NULL), NULL), RP_OK);
        assert_int_equal(rp_compiled_step(c, &compiled), RP_EDATA);
        *strchr(compiled.text, '(') = 0; /* where it stands, and how far the step came */
        assert_string_equal(strstr(compiled.text, "index "), strstr(apart.text, "index "));
        rp_compiled_free(c);
        rp_run_free(run);
    }
}

/* ---- pads ---- */

/* What the values of the step hold beside its inputs. */
static size_t bytes_held(const rp_graph *g)
{
    size_t bytes = 0;

    for (size_t v = 0; v < g->n_views; v++)
        bytes += g->memory[v].piece ? g->memory[v].piece->bytes : 0;
    return bytes;
}

/* Gradients are seldom asked for of what no state led to: a function's values are then made again where they are. */
static void a_call_on_data_alone_keeps_its_value_only(void **state)
{
    (void)state;
    for (int kind = 0; kind < 2; kind++) {
        rp_run *run;
        rp_tensor x, y;

        of_states = kind == 1;
        run = new_run();
        assert_int_equal(rp_step_begin(run, NULL), RP_OK);
        x = take(run, "x");
        y = rp_glu(x, 1);
        assert_int_equal(rp_graph_status(run->graph, NULL), RP_OK);
        assert_int_equal(bytes_held(run->graph) > rp_type_bytes(rp_tensor_type(y)) * 3 / 2, kind == 1);
        rp_run_free(run);
    }
    of_states = false;
}

static void a_pad_of_several_axes_is_made_where_it_lies(void **state)
{
    rp_tensor (*const pad[])(const operands *) = {call_pad_constant, call_pad_reflect, call_pad_edge, call_pad_circular,
                                                  call_pad_three};

    (void)state;
    for (size_t i = 0; i < sizeof pad / sizeof *pad; i++) {
        rp_run *run = new_run();
        rp_tensor y;

        assert_int_equal(rp_step_begin(run, NULL), RP_OK);
        y = pad[i](&(operands){.x = rp_data(run, "x")});
        assert_int_equal(rp_graph_status(run->graph, NULL), RP_OK);
        assert_true(bytes_held(run->graph) < rp_type_bytes(rp_tensor_type(y)) * 3 / 2);
        rp_run_free(run);
    }
}

/* What lay in a concat that is taken back goes with it, and is made again where it is read. */
static void a_part_of_what_is_taken_back_is_made_again(void **state)
{
    static float found[COUNT], wanted[COUNT];
    rp_run *run = new_run();
    rp_tensor x, part, whole;
    size_t bytes, length;
    rp_graph *g;

    (void)state;
    assert_int_equal(rp_step_begin(run, NULL), RP_OK);
    g = run->graph;
    x = rp_data(run, "x");
    (void)pad_inside(x, RP_PAD_REFLECT);
    for (length = 1; g->program->instr[length - 1].op->role != RP_PLAYS_CONCAT; length++)
        ;
    assert_int_equal(rp_graph_retract(g, length, NULL), RP_OK);
    part = rp_graph_tensor(g, g->program->instr[length - 1].out[0]);
    bytes = rp_type_bytes(rp_tensor_type(part));
    (void)rp_relu(x); /* takes what memory is free */
    whole = rp_pad_with(rp_slice(x, (const size_t[]){2, 2}, (const size_t[]){ROWS - 2, COLS - 2}),
                        (const size_t[]){0, 2}, (const size_t[]){0, 2}, RP_PAD_REFLECT, 0);
    assert_int_equal(rp_read(run, part, found, bytes, NULL), RP_OK);
    assert_int_equal(rp_read(run, whole, wanted, bytes, NULL), RP_OK);
    assert_memory_equal(found, wanted, bytes);
    rp_run_free(run);
}

/* ---- memory that runs out ---- */

enum { BEHIND = 8192 };
static size_t allowed = SIZE_MAX, blocks_written_behind;

/* What lies behind a block looks like a value that lies in another. */
static void *guarded(void *self, size_t bytes)
{
    unsigned char *block = allowed == 0 ? NULL : malloc(16 + bytes + BEHIND);

    (void)self;
    allowed -= allowed != SIZE_MAX && allowed != 0;
    if (!block)
        return NULL;
    memcpy(block, &bytes, sizeof bytes);
    memset(block + 16, 0x7F, bytes + BEHIND);
    return block + 16;
}

static void let_go(void *self, void *block)
{
    unsigned char *at = (unsigned char *)block - 16;
    size_t bytes;

    (void)self;
    if (!block)
        return;
    memcpy(&bytes, at, sizeof bytes);
    for (size_t i = 0; i < BEHIND; i++)
        if (at[16 + bytes + i] != 0x7F) {
            blocks_written_behind++;
            break;
        }
    free(at);
}

static void *grown(void *self, void *block, size_t bytes)
{
    unsigned char *larger = guarded(self, bytes);
    size_t before = 0;

    if (larger && block) {
        memcpy(&before, (unsigned char *)block - 16, sizeof before);
        memcpy(larger, block, before < bytes ? before : bytes);
        let_go(self, block);
    }
    return larger;
}

/* A graph whose last input has no memory for its view takes back nothing behind what it has. */
static void what_has_no_view_is_not_taken_back(void **state)
{
    static const rp_allocator with_guards = {guarded, grown, let_go, NULL};
    size_t failures = 0;

    (void)state;
    rp_set_allocator(&with_guards);
    for (size_t allocations = 0; allocations < 24; allocations++) {
        rp_run *run = new_run();
        float number = 1;

        assert_int_equal(rp_step_begin(run, NULL), RP_OK);
        allowed = allocations;
        for (int i = 0; i < 300 && rp_graph_status(run->graph, NULL) == RP_OK; i++) {
            char name[16];

            (void)snprintf(name, sizeof name, "n%d", i);
            (void)rp_graph_input(run->graph, RP_INPUT_DATA, name, &(rp_type){.dtype = RP_F32}, &number);
        }
        allowed = SIZE_MAX;
        failures += rp_graph_status(run->graph, NULL) == RP_ENOMEM;
        assert_int_equal(rp_graph_retract(run->graph, run->graph->program->n_instrs, NULL), RP_OK);
        rp_run_free(run);
    }
    rp_set_allocator(NULL);
    assert_true(failures > 4);
    assert_int_equal(blocks_written_behind, 0);
}

/* ---- gradients ---- */

/* All memory that the graph has had of the device at once. */
static size_t bytes_had(const rp_graph *g)
{
    size_t bytes = bytes_held(g);

    for (unsigned c = 0; c < g->cache->classes; c++)
        for (const rp_cached *piece = g->cache->free[c]; piece; piece = piece->next)
            bytes += piece->bytes;
    return bytes;
}

/* The values of four layers and the product are five pieces of this size, and all gradients take one. */
static void a_gradient_is_made_where_the_last_one_lies(void **state)
{
    rp_run *run = new_run();
    rp_tensor x, y, grad;

    (void)state;
    assert_int_equal(rp_step_begin(run, NULL), RP_OK);
    x = rp_data(run, "x");
    y = rp_relu(rp_tanh(rp_sigmoid(rp_gelu(x))));
    rp_gradients_or_zeros(rp_sum(rp_mul(y, rp_data(run, "p")), NULL, 0, false), &x, 1, &grad);
    assert_int_equal(rp_graph_status(run->graph, NULL), RP_OK);
    assert_int_equal(bytes_had(run->graph) / (COUNT * sizeof(float)), 6);
    rp_run_free(run);
}

/* And where several are summed, in the memory of the sum so far: six values, the product's gradient, the sum and what
 * is added next. */
static void summed_gradients_take_one_piece_and_the_next(void **state)
{
    rp_run *run = new_run();
    rp_tensor x, y, grad;

    (void)state;
    assert_int_equal(rp_step_begin(run, NULL), RP_OK);
    x = rp_data(run, "x");
    y = rp_add(rp_scale(x, 2), rp_add(rp_scale(x, 3), rp_scale(x, 5)));
    rp_gradients_or_zeros(rp_sum(rp_mul(y, rp_data(run, "p")), NULL, 0, false), &x, 1, &grad);
    assert_int_equal(rp_graph_status(run->graph, NULL), RP_OK);
    assert_int_equal(bytes_had(run->graph) / (COUNT * sizeof(float)), 9);
    rp_run_free(run);
}

/* A layer's sum of product and bias lies where the product lay, also where that has three axes. */
static void a_bias_is_added_where_the_product_lies(void **state)
{
    (void)state;
    for (int rank = 2; rank < 4; rank++) {
        const size_t shape[3] = {1, ROWS, COLS};
        float layer[ROWS * ROWS], apart[ROWS * ROWS];
        rp_run *run = new_run();
        rp_tensor x, w, b, y, z;

        assert_int_equal(rp_step_begin(run, NULL), RP_OK);
        x = rp_data(run, "x");
        x = rank == 3 ? rp_reshape(x, 3, shape) : x;
        w = rp_transpose(rp_data(run, "y"), NULL);
        b = rp_slice(rp_data(run, "row"), (const size_t[]){2}, (const size_t[]){2 + ROWS});
        y = rp_linear(x, w, b);
        assert_int_equal(rp_graph_status(run->graph, NULL), RP_OK);
        assert_int_equal(bytes_had(run->graph) / sizeof layer, 1);
        z = rp_add(rp_matmul(x, w), b);
        assert_int_equal(rp_read(run, y, layer, sizeof layer, NULL), RP_OK);
        assert_int_equal(rp_read(run, z, apart, sizeof apart, NULL), RP_OK);
        assert_memory_equal(layer, apart, sizeof apart);
        rp_run_free(run);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_bias_is_added_where_the_product_lies),
        cmocka_unit_test(calls_have_the_bits_of_their_instructions),
        cmocka_unit_test(a_bad_index_is_told_of_as_ever),
        cmocka_unit_test(a_call_on_data_alone_keeps_its_value_only),
        cmocka_unit_test(a_pad_of_several_axes_is_made_where_it_lies),
        cmocka_unit_test(a_gradient_is_made_where_the_last_one_lies),
        cmocka_unit_test(summed_gradients_take_one_piece_and_the_next),
        cmocka_unit_test(a_part_of_what_is_taken_back_is_made_again),
        cmocka_unit_test(what_has_no_view_is_not_taken_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
