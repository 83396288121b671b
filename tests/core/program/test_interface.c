/* SPDX-License-Identifier: Apache-2.0
 * rp/program.h as a binding uses it: nothing here includes a private header but the samples of every operation. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rp/program.h"
#include "rp/rp.h"
#include "tests/core/program/op_samples.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static char *text_of(const rp_program *p, size_t *size)
{
    char *text;
    rp_error err = {0};

    assert_int_equal(rp_program_text(p, NULL, 0, size, &err), RP_OK);
    text = malloc(*size + 1);
    assert_non_null(text);
    text[*size] = '#'; /* no terminator is written */
    assert_int_equal(rp_program_text(p, text, *size, size, &err), RP_OK);
    assert_int_equal(text[*size], '#');
    text[*size] = '\0';
    return text;
}

static rp_attribute integer(const char *name, int64_t value)
{
    return (rp_attribute){.name = name, .kind = RP_ATTR_INT, .integer = value};
}

static rp_attribute list(const char *name, const int64_t *value, size_t n)
{
    return (rp_attribute){.name = name, .kind = RP_ATTR_LIST, .list = value, .length = n};
}

/* The attributes of a sample, by name and backwards: their order must not matter. */
static size_t attributes_of(const op_sample *sample, const rp_op_info *info, rp_attribute out[RP_OP_ATTRIBUTES])
{
    for (int i = 0; i < info->attributes; i++) {
        const rp_attr *attr = &sample->attr[i];

        out[info->attributes - 1 - i] = (rp_attribute){
            info->attribute[i].name, info->attribute[i].kind, attr->i, attr->r, attr->list, (size_t)attr->n};
    }
    return (size_t)info->attributes;
}

/* Each row of the table, appended by its name and by the C call that the library itself uses: one text. */
static void every_operation_by_name_has_the_text_of_its_call(void **state)
{
    (void)state;
    for (size_t s = 0; s < OP_SAMPLES; s++) {
        const op_sample *sample = &op_samples[s];
        rp_op_info info;
        rp_attribute attr[RP_OP_ATTRIBUTES];
        rp_program *program[2];
        char *text[2];
        rp_type inferred[8];
        rp_error err = {0};

        assert_true(rp_op_at((size_t)sample->op, &info));
        assert_true(info.inputs == RP_OP_MANY || info.inputs == sample->n_in);
        for (int side = 0; side < 2; side++) {
            rp_graph *graph;
            rp_tensor in[7], out[8];
            size_t size;

            assert_int_equal(rp_graph_symbolic(&graph, &err), RP_OK);
            for (int i = 0; i < sample->n_in; i++) {
                char name[8];

                (void)snprintf(name, sizeof name, "x%d", i);
                in[i] = rp_graph_declare(graph, RP_INPUT_FEED, name, &sample->in[i]);
            }
            if (side)
                rp_emit(graph, sample->op, sample->attr, in, (size_t)sample->n_in, out);
            else
                rp_append(graph, info.name, attr, attributes_of(sample, &info, attr), in, (size_t)sample->n_in, out,
                          (size_t)info.outputs);
            rp_graph_result(graph, "y", out[0]);
            if (rp_graph_finish(graph, &program[side], &err) != RP_OK)
                fail_msg("%s: %s", info.name, err.text);
            text[side] = text_of(program[side], &size);
        }
        assert_string_equal(text[0], text[1]);
        /* the shape rule alone gives the types that appending gave */
        if (rp_op_infer(info.name, attr, attributes_of(sample, &info, attr), sample->in, (size_t)sample->n_in, inferred,
                        &err))
            fail_msg("%s: %s", info.name, err.text);
        for (int i = 0; i < info.outputs; i++) {
            rp_type made;

            assert_true(rp_program_value(program[0], (size_t)(sample->n_in + i), &made));
            assert_int_equal(made.dtype, inferred[i].dtype);
            assert_int_equal(made.rank, inferred[i].rank);
            assert_memory_equal(made.shape, inferred[i].shape, (size_t)made.rank * sizeof *made.shape);
        }
        for (int side = 0; side < 2; side++) {
            rp_program_free(program[side]);
            free(text[side]);
        }
    }
}

/* What a reader of programs does: everything that the interface tells is enough to write the same program again. */
static void a_program_taken_apart_and_put_together_is_the_same(void **state)
{
    const rp_type x_type = {RP_F32, 2, {4, 3}}, w_type = {RP_F32, 2, {3, 2}}, y_type = {RP_I64, 1, {4}};
    rp_graph *graph;
    rp_program *program, *again, *read;
    rp_tensor w, loss, grad, *value;
    rp_program_sizes sizes;
    size_t size, inputs = 0, at = 0;
    char *text[3];
    rp_error err = {0};

    (void)state;
    assert_int_equal(rp_graph_symbolic(&graph, &err), RP_OK);
    w = rp_graph_declare(graph, RP_INPUT_STATE, "w", &w_type);
    loss = rp_matmul(rp_graph_declare(graph, RP_INPUT_FEED, "x", &x_type), w);
    loss = rp_cross_entropy(loss, rp_graph_declare(graph, RP_INPUT_FEED, "y", &y_type));
    rp_gradients(loss, &w, 1, &grad);
    rp_graph_update(graph, "w", rp_sub(w, rp_scale(grad, 0.1)));
    rp_graph_result(graph, "loss", loss);
    rp_graph_result(graph, "same", w); /* an input: copied */
    assert_int_equal(rp_graph_finish(graph, &program, &err), RP_OK);

    sizes = rp_program_count(program);
    value = calloc(sizes.values, sizeof *value);
    assert_non_null(value);
    assert_int_equal(rp_graph_symbolic(&graph, &err), RP_OK);
    for (size_t k = 0; inputs < sizes.inputs || k < sizes.instructions;) {
        rp_input_info in;
        rp_instruction_info instr;
        rp_tensor operand[8], out[8];

        if (rp_program_input(program, inputs, &in) && in.value == at) {
            value[at++] = rp_graph_declare(graph, in.kind, in.name, &in.type);
            inputs++;
            continue;
        }
        assert_true(rp_program_instruction(program, k++, &instr));
        for (size_t i = 0; i < instr.n_in; i++)
            operand[i] = value[instr.in[i]];
        rp_append(graph, instr.op, instr.attribute, instr.attributes, operand, instr.n_in, out, instr.n_out);
        for (size_t i = 0; i < instr.n_out; i++) {
            assert_int_equal(instr.out[i], at);
            value[at++] = out[i];
        }
    }
    for (size_t i = 0; i < sizes.outputs; i++) {
        rp_output_info out;

        assert_true(rp_program_output(program, i, &out));
        if (out.kind == RP_OUTPUT_STATE)
            rp_graph_update(graph, out.name, value[out.value]);
        else
            rp_graph_result(graph, out.name, value[out.value]);
    }
    assert_int_equal(rp_graph_finish(graph, &again, &err), RP_OK);
    text[0] = text_of(program, &size);
    text[1] = text_of(again, &size);
    if (rp_program_read(&read, text[0], size, "mine", &err) != RP_OK)
        fail_msg("%s\n%s", err.text, text[0]);
    text[2] = text_of(read, &size);
    assert_string_equal(text[0], text[1]);
    assert_string_equal(text[0], text[2]);
    assert_false(rp_program_value(program, sizes.values, &(rp_type){0}));
    assert_false(rp_program_input(program, sizes.inputs, &(rp_input_info){0}));
    assert_false(rp_program_output(program, sizes.outputs, &(rp_output_info){0}));
    assert_false(rp_program_instruction(program, sizes.instructions, &(rp_instruction_info){0}));
    rp_program_free(read);
    assert_int_equal(rp_program_read(&read, text[0], size - 1, "mine", &err), RP_EFORMAT);
    assert_null(read);
    for (int i = 0; i < 3; i++)
        free(text[i]);
    free(value);
    rp_program_free(program);
    rp_program_free(again);
    rp_program_free(NULL);
}

/* What a door that reads programs needs of a region: all that the builder was given. */
static void a_region_tells_what_made_it(void **state)
{
    const rp_type index = {RP_I64, 0, {0}}, row = {RP_F32, 1, {4}}, rows = {RP_F32, 2, {5, 4}};
    rp_graph *graph;
    rp_function *step;
    rp_program *program;
    rp_program_sizes body;
    rp_region_info region;
    rp_instruction_info instr;
    rp_input_info in;
    rp_tensor carried, sliced, out[2];
    rp_error err = {0};

    (void)state;
    assert_int_equal(rp_graph_symbolic(&graph, &err), RP_OK);
    (void)rp_function_parameter(graph, &index);
    carried = rp_function_parameter(graph, &row);
    sliced = rp_function_parameter(graph, &row);
    rp_function_return(graph, rp_add(carried, sliced));
    assert_int_equal(rp_function_finish(graph, &step, &err), RP_OK);
    assert_int_equal(rp_graph_symbolic(&graph, &err), RP_OK);
    carried = rp_graph_declare(graph, RP_INPUT_STATE, "h", &row);
    sliced = rp_graph_declare(graph, RP_INPUT_FEED, "x", &rows);
    rp_scan(graph,
            &(rp_scan_options){.function = step,
                               .carried = &carried,
                               .n_carried = 1,
                               .sliced = &sliced,
                               .n_sliced = 1,
                               .times = 5,
                               .reverse = true,
                               .history = true},
            out);
    rp_graph_update(graph, "h", out[0]);
    assert_int_equal(rp_graph_finish(graph, &program, &err), RP_OK);
    rp_function_free(step);

    assert_true(rp_program_region(program, 0, &region));
    assert_true(region.kind == RP_SCAN && region.n_functions == 1 && region.carried == 1 && region.sliced == 1);
    assert_true(region.times == 5 && region.reverse && region.history && !region.cuts && !region.combine);
    assert_true(rp_program_instruction(program, 0, &instr));
    assert_string_equal(instr.op, "scan");
    assert_true(instr.attributes == 0 && instr.n_in == 2 && instr.n_out == 2);
    body = rp_program_count(rp_function_body(region.function[0]));
    assert_true(body.inputs == 3 && body.instructions == 1 && body.outputs == 1);
    assert_true(rp_program_input(rp_function_body(region.function[0]), 1, &in) && in.type.shape[0] == 4);
    assert_string_equal(in.name, "");
    assert_false(rp_program_region(rp_function_body(region.function[0]), 0, &region)); /* an add */
    assert_false(rp_program_region(program, 1, &region));
    assert_null(rp_function_body(NULL));
    rp_program_free(program);
}

typedef struct mistake {
    const char *op;
    rp_attribute attr[3];
    size_t n_attr, n_in, n_out;
    rp_status status;
    const char *says;
} mistake;

static void mistakes_are_named(void **state)
{
    static const int64_t long_list[9] = {0}, first[] = {0};
    const rp_type type = {RP_F32, 2, {4, 3}};
    const mistake mistakes[] = {
        {"no_such", {{0}}, 0, 1, 1, RP_EARG, "there is no operation 'no_such'"},
        {"matmull", {{0}}, 0, 1, 1, RP_EARG, "there is no operation 'matmull'; did you mean 'matmul'?"},
        {NULL, {{0}}, 0, 1, 1, RP_EARG, "there is no operation ''"},
        {"scan", {{0}}, 0, 1, 1, RP_EARG, "scan executes functions and is no operation: use rp_scan"},
        {"sum", {{0}}, 0, 1, 1, RP_EARG, "sum: attribute axes (a list of integers) is missing"},
        {"sum",
         {integer("axes", 0)},
         1,
         1,
         1,
         RP_EARG,
         "sum: attribute axes: found an integer, expected a list of integers"},
        {"sum", {list("axis", first, 1)}, 1, 1, 1, RP_EARG, "sum: no attribute axis"},
        {"sum",
         {list("axes", first, 1), list("axes", first, 1)},
         2,
         1,
         1,
         RP_EARG,
         "sum: attribute axes is given twice"},
        {"sum", {list("axes", long_list, 9)}, 1, 1, 1, RP_EARG, "found 9 integers, expected a list of at most 8"},
        {"sum", {list("axes", NULL, 1)}, 1, 1, 1, RP_EARG, "found 1 integers"},
        {"sum", {list(NULL, first, 1)}, 1, 1, 1, RP_EARG, "sum: attribute 0 has no name"},
        {"cast", {{.name = "dtype", .kind = RP_ATTR_DTYPE, .integer = 77}}, 1, 1, 1, RP_EARG, "77 is no dtype"},
        {"add", {{0}}, 0, 1, 1, RP_ESHAPE, "add: found 1 operands, expected 2"},
        {"exp", {{0}}, 0, 1, 2, RP_EARG, "exp: room for 2 outputs, expected 1"},
        {"logical_not", {{0}}, 0, 1, 1, RP_ESHAPE, "logical_not: not defined for f32[4,3]"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(mistakes); i++) {
        const mistake *m = &mistakes[i];
        rp_graph *graph;
        rp_tensor x, out[2] = {{(rp_graph *)&graph, 1, 1}, {(rp_graph *)&graph, 1, 1}};
        rp_program *program = (rp_program *)&graph;
        rp_error err = {0};

        assert_int_equal(rp_graph_symbolic(&graph, &err), RP_OK);
        x = rp_graph_declare(graph, RP_INPUT_FEED, "x", &type);
        rp_append(graph, m->op, m->attr, m->n_attr, &x, m->n_in, out, m->n_out);
        for (size_t k = 0; k < m->n_out; k++)
            assert_null(out[k].graph);
        assert_int_equal(rp_graph_finish(graph, &program, &err), m->status);
        assert_null(program);
        if (!strstr(err.text, m->says))
            fail_msg("mistake %zu: '%s' does not say '%s'", i, err.text, m->says);
        if (m->n_out == 1) {
            rp_type made;

            assert_int_equal(rp_op_infer(m->op, m->attr, m->n_attr, &type, m->n_in, &made, &err), m->status);
            assert_non_null(strstr(err.text, m->says));
        }
    }
}

static void arrays_that_are_not_there_are_errors(void **state)
{
    const rp_type type = {RP_F32, 1, {4}};
    static const char *const says[] = {"attribute is NULL", "in is NULL", "out is NULL"};

    (void)state;
    for (int i = 0; i < 3; i++) {
        const rp_type pair[] = {type, type};
        rp_graph *graph;
        rp_program *program;
        rp_tensor in[2], out[1];
        rp_type made[1];
        rp_error err = {0};

        assert_int_equal(rp_graph_symbolic(&graph, &err), RP_OK);
        in[0] = in[1] = rp_graph_declare(graph, RP_INPUT_FEED, "x", &type);
        rp_append(graph, "add", NULL, i == 0, i == 1 ? NULL : in, 2, i == 2 ? NULL : out, 1);
        assert_int_equal(rp_graph_finish(graph, &program, &err), RP_EARG);
        assert_non_null(strstr(err.text, says[i]));
        assert_int_equal(rp_op_infer("add", NULL, i == 0, i == 1 ? NULL : pair, 2, i == 2 ? NULL : made, &err),
                         RP_EARG);
        assert_non_null(strstr(err.text, says[i]));
    }
}

static void inputs_and_outputs_are_checked(void **state)
{
    const rp_type type = {RP_F32, 1, {4}}, other = {RP_F32, 1, {5}},
                  bad[] = {
                      {RP_DTYPE_COUNT, 0, {0}}, {RP_F32, 9, {1}}, {RP_F32, -1, {1}}, {RP_F32, 2, {(size_t)1 << 40, 4}}};
    const char *const said[] = {"a: was declared as f32[4], and now as f32[5]",
                                "names that begin with \"read.\"",
                                "a name must be",
                                "needs a kind and a name",
                                "belongs to another graph or is no tensor",
                                "was declared as f32[4], and now as f32[]"};
    rp_graph *graph;
    rp_program *program;
    rp_tensor x;
    rp_error err = {0};

    (void)state;
    for (size_t i = 0; i < COUNT(bad); i++) {
        assert_int_equal(rp_graph_symbolic(&graph, &err), RP_OK);
        assert_null(rp_graph_declare(graph, RP_INPUT_STATE, "a", &bad[i]).graph);
        assert_int_equal(rp_graph_finish(graph, &program, &err), RP_EARG);
    }
    for (int i = 0; i < (int)COUNT(said); i++) {
        assert_int_equal(rp_graph_symbolic(&graph, &err), RP_OK);
        x = rp_graph_declare(graph, RP_INPUT_STATE, "a", &type);
        assert_int_equal(rp_graph_declare(graph, RP_INPUT_STATE, "a", &type).value, x.value); /* the same input */
        if (i == 0)
            (void)rp_graph_declare(graph, RP_INPUT_STATE, "a", &other);
        else if (i == 1)
            rp_graph_result(graph, "read.0", x);
        else if (i == 2)
            rp_graph_result(graph, "a b", x);
        else if (i == 3)
            (void)rp_graph_declare(graph, (rp_input_kind)7, "a", &type);
        else if (i == 4)
            rp_graph_result(graph, "y", (rp_tensor){0});
        else
            rp_graph_update(graph, "a", rp_sum(x, NULL, 0, false));
        assert_int_equal(rp_graph_finish(graph, &program, &err), RP_EARG);
        if (!strstr(err.text, said[i]) && !(i == 0 && strstr(err.text, said[i] + 3)))
            fail_msg("%d: %s", i, err.text);
    }
    /* without a graph nothing happens */
    assert_null(rp_graph_declare(NULL, RP_INPUT_STATE, "a", &type).graph);
    rp_append(NULL, "exp", NULL, 0, NULL, 0, NULL, 0);
    rp_graph_result(NULL, "y", (rp_tensor){0});
    rp_graph_update(NULL, "y", (rp_tensor){0});
    rp_graph_discard(NULL);
    assert_int_equal(rp_graph_symbolic(&graph, &err), RP_OK);
    rp_graph_discard(graph);
}

/* The graph of a run's eager step is not the caller's to give away. */
static void a_step_is_not_a_symbolic_graph(void **state)
{
    const rp_type type = {RP_F32, 0, {0}};
    rp_run *run;
    rp_program *program;
    rp_error err = {0};

    (void)state;
    assert_int_equal(rp_run_new(&run, NULL, &err), RP_OK);
    assert_int_equal(rp_step_begin(run, &err), RP_OK);
    assert_int_equal(rp_graph_finish(rp_step_graph(run), &program, &err), RP_EARG);
    assert_null(program);
    (void)rp_graph_declare(rp_step_graph(run), RP_INPUT_FEED, "x", &type);
    assert_int_equal(rp_step_end(run, &err), RP_EARG);
    assert_non_null(strstr(err.text, "rp_feed"));
    rp_run_free(run);
}

/* What would be text that no reader takes, or memory that is not the caller's. */
static void half_built_functions_and_graphs_of_others_are_refused(void **state)
{
    const rp_type type = {RP_F32, 1, {4}}, index = {RP_I64, 0, {0}};
    const uint64_t cuts[] = {0, 2, 4};
    rp_combine combine = (rp_combine)7;
    rp_graph *graph;
    rp_function *f = NULL, *none = (rp_function *)&type;
    rp_program *program = (rp_program *)&type;
    rp_run *run;
    rp_tensor x, out[2];
    rp_error err = {0};

    (void)state;
    assert_int_equal(rp_graph_symbolic(&graph, &err), RP_OK);
    (void)rp_function_parameter(graph, &type);
    assert_int_equal(rp_graph_finish(graph, &program, &err), RP_EARG);
    assert_null(program);
    assert_non_null(strstr(err.text, "rp_function_finish"));
    assert_int_equal(rp_graph_symbolic(&graph, &err), RP_OK);
    x = rp_graph_declare(graph, RP_INPUT_FEED, "x", &type);
    rp_function_return(graph, rp_neg(x));
    assert_int_equal(rp_graph_finish(graph, &program, &err), RP_EARG);

    assert_int_equal(rp_graph_symbolic(&graph, &err), RP_OK);
    (void)rp_function_parameter(graph, &index);
    x = rp_function_parameter(graph, &(rp_type){RP_F32, 1, {2}});
    rp_function_return(graph, rp_neg(x));
    assert_int_equal(rp_function_finish(graph, &f, &err), RP_OK);
    for (int i = 0; i < 2; i++) {
        rp_map_options m = {.function = (const rp_function *const *)&f,
                            .n_function = 1,
                            .sliced = &x,
                            .n_sliced = 1,
                            .cuts = i ? NULL : cuts,
                            .n_cuts = 3,
                            .combine = &combine,
                            .n_combine = 1};

        assert_int_equal(rp_graph_symbolic(&graph, &err), RP_OK);
        x = rp_graph_declare(graph, RP_INPUT_FEED, "x", &type);
        memset(out, 0xff, sizeof out);
        rp_map(graph, &m, out);
        assert_null(out[0].graph); /* and not what was in it: later calls look into it */
        rp_graph_result(graph, "y", rp_relu(out[0]));
        assert_int_equal(rp_graph_finish(graph, &program, &err), RP_EARG);
        assert_non_null(strstr(err.text, i ? "cuts are NULL" : "7 is no way to combine"));
    }
    assert_int_equal(rp_graph_symbolic(&graph, &err), RP_OK);
    (void)rp_exp((rp_tensor){graph, 99, 0}); /* the graph is in error: a call clears its values all the same */
    memset(out, 0xff, sizeof out);
    rp_call(graph, f, &x, 1, out);
    assert_null(out[0].graph);
    rp_graph_discard(graph);
    rp_function_free(f);

    assert_int_equal(rp_run_new(&run, NULL, &err), RP_OK);
    assert_int_equal(rp_step_begin(run, &err), RP_OK);
    rp_graph_discard(rp_step_graph(run)); /* the run's own */
    assert_int_equal(rp_function_finish(rp_step_graph(run), &none, &err), RP_EARG);
    assert_null(none);
    x = rp_feed(run, "x", RP_F32, 1, type.shape, (const float[]){1, 2, 3, 4});
    rp_function_return(rp_step_graph(run), x);
    assert_int_equal(rp_graph_finish(rp_step_graph(run), &program, &err), RP_EARG); /* in error, and still not ours */
    assert_int_equal(rp_step_end(run, &err), RP_EARG);
    assert_non_null(strstr(err.text, "a run's step returns nothing"));
    rp_run_free(run);
}

static void the_table_tells_what_it_holds(void **state)
{
    rp_op_info info, found;

    (void)state;
    for (size_t i = 0; i < rp_op_count(); i++) {
        assert_true(rp_op_at(i, &info));
        assert_true(rp_op_named(info.name, &found));
        assert_string_equal(info.name, found.name);
        assert_int_equal(info.attributes, found.attributes);
        assert_true(info.dtypes != 0 && info.outputs >= 1);
    }
    assert_false(rp_op_at(rp_op_count(), &info));
    assert_false(rp_op_named("no_such", &info));
    assert_false(rp_op_named(NULL, &info));
    assert_true(rp_op_named("gather", &info));
    assert_int_equal(info.index_operand, 1);
    assert_true(info.differentiable && !info.elementwise && !info.view);
    assert_string_equal(info.attribute[0].name, "axis");
    assert_int_equal(info.attribute[0].kind, RP_ATTR_INT);
    assert_true(rp_op_named("reshape", &info) && info.view && info.index_operand == -1);
    assert_true(rp_op_named("concat", &info) && info.inputs == RP_OP_MANY);
}

static void reals_are_read_as_they_are_written(void **state)
{
    static const char *const texts[] = {"0", "-0", "1e-7", "0.1", "123", "1e+21", "5e-324", "inf", "-inf", "nan"};

    (void)state;
    for (size_t i = 0; i < COUNT(texts); i++) {
        char again[RP_REAL_SIZE];
        double x;

        assert_true(rp_real_read(&x, texts[i]));
        assert_int_equal(rp_real_text(again, x), strlen(texts[i]));
        assert_string_equal(again, texts[i]);
    }
    for (const char *const *bad = (const char *const[]){"", "infinity", " 1", "0x1", "1,5", NULL}; *bad; bad++) {
        double x;

        assert_false(rp_real_read(&x, *bad));
    }
}

/* What is wrong with the arguments of a region is an error of its graph, and nothing is read or written. */
static void regions_refuse_options_that_cannot_be_looked_at(void **state)
{
    static const char *const said[] = {"scan: the options are NULL",
                                       "map: the options are NULL",
                                       "while: the options are NULL",
                                       "scan: found 1 operands at NULL",
                                       "scan: found 18446744073709551615 operands",
                                       "map: the functions are NULL",
                                       "map: the cuts are NULL",
                                       "map: the ways to combine are NULL",
                                       "cond: the functions are NULL",
                                       "call: found 3 operands at NULL"};
    const rp_function *const none[1] = {NULL};
    const uint64_t cuts[2] = {0, 1};
    rp_tensor x[1], out[1];

    (void)state;
    for (int k = 0; k < 10; k++) {
        rp_graph *g;
        rp_error err = {0};

        assert_int_equal(rp_graph_symbolic(&g, NULL), RP_OK);
        x[0] = rp_fill(g, RP_F32, 0, NULL, 1);
        switch (k) {
        case 0:
            rp_scan(g, NULL, out);
            break;
        case 1:
            rp_map(g, NULL, out);
            break;
        case 2:
            rp_while(g, NULL, out);
            break;
        case 3:
            rp_scan(g, &(rp_scan_options){.n_sliced = 1}, out);
            break;
        case 4:
            rp_scan(g, &(rp_scan_options){.shared = x, .n_shared = SIZE_MAX, .carried = x, .n_carried = 1}, out);
            break;
        case 5:
            rp_map(g, &(rp_map_options){.n_function = 1}, out);
            break;
        case 6:
            rp_map(g, &(rp_map_options){.function = none, .n_function = 1, .n_cuts = 2}, out);
            break;
        case 7:
            rp_map(g, &(rp_map_options){.function = none, .n_function = 1, .cuts = cuts, .n_cuts = 2, .n_combine = 1},
                   out);
            break;
        case 8:
            rp_cond(g, x[0], NULL, 2, x, 1, out);
            break;
        default:
            rp_call(g, NULL, NULL, 3, out);
        }
        assert_int_equal(rp_graph_status(g, &err), RP_EARG);
        if (!strstr(err.text, said[k]))
            fail_msg("expected \"%s\", found %s", said[k], err.text);
        rp_graph_discard(g);
    }
    rp_scan(NULL, NULL, out); /* no graph, no error */
}

/* Numbers with which an operation means nothing are refused where it is appended, in the type in which it computes. */
static void real_attributes_that_mean_nothing_are_refused(void **state)
{
    static const struct {
        const char *op, *name[4];
        double value[4];
        bool f32, f64;
    } tried[] = {
        {"softplus", {"beta", "threshold"}, {-1, 20}, true, true},
        {"softplus", {"beta", "threshold"}, {0, 20}, false, false},
        {"softplus", {"beta", "threshold"}, {1e-60, 20}, false, true},
        {"softplus", {"beta", "threshold"}, {1, INFINITY}, false, false},
        {"hardtanh", {"min_val", "max_val"}, {1, 1}, true, true},
        {"hardtanh", {"min_val", "max_val"}, {1, -1}, false, false},
        {"hardtanh", {"min_val", "max_val"}, {NAN, 1}, false, false},
        {"leaky_relu", {"negative_slope"}, {1e300}, false, true},
        {"elu", {"alpha"}, {NAN}, false, false},
        {"layer_norm_grad", {"eps"}, {-1e-5}, false, false},
        {"layer_norm_grad", {"eps"}, {1e30}, false, false},
        {"layer_norm_backward", {"eps"}, {-1e-5}, false, false},
        {"rms_norm", {"eps"}, {-1e-5}, false, false},
        {"rms_norm", {"eps"}, {0}, true, true},
        {"rms_norm_grad", {"eps"}, {1e30}, false, false},
        {"layer_norm", {"eps"}, {NAN}, false, false},
        {"layer_norm", {"eps"}, {0}, true, true},
        {"batch_norm_grad", {"eps"}, {-1}, false, false},
        {"sgd", {"momentum", "weight_decay"}, {0.9, 0}, true, true},
        {"sgd", {"momentum", "weight_decay"}, {-0.9, 0}, false, false},
        {"sgd", {"momentum", "weight_decay"}, {0.9, NAN}, false, false},
        {"adam", {"beta1", "beta2", "eps", "weight_decay"}, {1.5, 0.9, 0, 0}, false, false},
        {"adamw", {"beta1", "beta2", "eps", "weight_decay"}, {0.9, 0.9, -1, 0}, false, false},
        {"rmsprop", {"alpha", "eps", "momentum", "weight_decay"}, {0.9, 0, INFINITY, 0}, false, false},
        {"uniform", {"low", "high"}, {1, 0}, false, false},
        {"uniform", {"low", "high"}, {-1e308, 1e308}, false, false},
        {"normal", {"mean", "deviation"}, {0, -1}, false, false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof tried / sizeof *tried; i++)
        for (int wide = 0; wide < 2; wide++) {
            const rp_op *op = rp_op_find(tried[i].op);
            const rp_dtype dtype = wide ? RP_F64 : RP_F32;
            const rp_type two = {dtype, 2, {3, 2}}, row = {dtype, 1, {2}}, one = {.dtype = dtype},
                          rng = {RP_I64, 1, {2}};
            rp_attr attr[RP_MAX_ATTR] = {{0}};
            rp_type in[8], out[RP_MAX_OUT];
            rp_error err = {0};
            rp_status status;

            for (int a = 0; a < RP_MAX_ATTR && op->attr[a].kind != RP_ATTR_NONE; a++) {
                if (op->attr[a].kind == RP_ATTR_DTYPE)
                    attr[a].i = dtype;
                for (int n = 0; n < 4 && tried[i].name[n]; n++)
                    if (strcmp(tried[i].name[n], op->attr[a].name) == 0)
                        attr[a].r = tried[i].value[n];
            }
            for (int k = 0; k < op->n_in; k++)
                in[k] = two;
            if (op->n_in == 1 && (strcmp(op->name, "uniform") == 0 || strcmp(op->name, "normal") == 0))
                in[0] = rng;
            if (strncmp(op->name, "layer_norm", 10) == 0)
                in[2] = row, in[1] = op->name[10] ? two : row;
            if (strncmp(op->name, "rms_norm", 8) == 0)
                in[2] = row, in[1] = op->name[8] ? two : row;
            if (strcmp(op->name, "batch_norm_grad") == 0)
                in[2] = in[3] = in[4] = row;
            for (int k = op->n_out + 1; k < op->n_in && (op->n_out > 1 && op->flags & RP_OP_INPLACE); k++)
                in[k] = one;
            status = rp_op_types(op, attr, in, (size_t)op->n_in, out, &err);
            if ((status == RP_OK) != (wide ? tried[i].f64 : tried[i].f32))
                fail_msg("%s %g %g, %s: %s", op->name, tried[i].value[0], tried[i].value[1], rp_dtype_name(dtype),
                         status == RP_OK ? "accepted" : err.text);
            if (status != RP_OK && !strstr(err.text, "expected"))
                fail_msg("%s", err.text);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(real_attributes_that_mean_nothing_are_refused),
        cmocka_unit_test(regions_refuse_options_that_cannot_be_looked_at),
        cmocka_unit_test(every_operation_by_name_has_the_text_of_its_call),
        cmocka_unit_test(a_program_taken_apart_and_put_together_is_the_same),
        cmocka_unit_test(a_region_tells_what_made_it),
        cmocka_unit_test(mistakes_are_named),
        cmocka_unit_test(arrays_that_are_not_there_are_errors),
        cmocka_unit_test(inputs_and_outputs_are_checked),
        cmocka_unit_test(a_step_is_not_a_symbolic_graph),
        cmocka_unit_test(half_built_functions_and_graphs_of_others_are_refused),
        cmocka_unit_test(the_table_tells_what_it_holds),
        cmocka_unit_test(reals_are_read_as_they_are_written),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
