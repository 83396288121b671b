/* SPDX-License-Identifier: Apache-2.0
 * Reshapes of what does not lie in order, for those who take matrices at any strides: the bits of the eager tape, which
 * copies, and no call where strides can say them and nobody else reads them. */
#include "tests/core/run/plan_steps.h"

#include "core/run/plan_private.h" /* behind: its names are as short as theirs */

typedef enum reading {
    HEADS,        /* of a part of a joint projection */
    HEADS_OF_ONE, /* with axes of length 1 in between */
    ROWS,         /* of heads that come last: a product along them */
    ATTENDED,     /* heads that attention reads */
    NO_STRIDES,
    OF_A_FUNCTION,  /* that reads it too */
    TWIN_BEHIND,    /* an equal one that is a result */
    TWIN_IN_FRONT,  /* the same, written first */
    TWIN_OF_A_VIEW, /* a view of an equal one is a result */
    RETURNED,       /* by a function of frames */
    READINGS
} reading;

static rp_tensor input(rp_graph *g, const char *name, const rp_type *type)
{
    return rp_graph_input(g, RP_INPUT_FEED, name, type, NULL);
}

static rp_tensor heads(rp_tensor x, size_t part)
{
    x = rp_slice(x, (size_t[]){0, 8 * part}, (size_t[]){5, 8 * part + 8});
    return rp_transpose(rp_reshape(x, 3, (size_t[]){5, 2, 4}), (int[]){1, 0, 2});
}

static rp_tensor square(rp_tensor x)
{
    return rp_matmul(x, rp_transpose(x, (int[]){0, 2, 1}));
}

/* [4, 5, 3] to rows of the four. */
static rp_tensor rows(rp_tensor x)
{
    return rp_reshape(rp_transpose(x, (int[]){1, 2, 0}), 2, (size_t[]){15, 4});
}

/* The rows of each of three. */
static rp_tensor rows_by_frames(rp_graph *g)
{
    rp_tensor x = input(g, "frames", &(rp_type){RP_F32, 4, {3, 4, 5, 3}}), y = {0};
    rp_function *f = NULL;
    rp_graph *body;

    assert_int_equal(rp_graph_symbolic(&body, NULL), RP_OK);
    (void)rp_function_parameter(body, &(rp_type){.dtype = RP_I64});
    rp_function_return(body, rows(rp_function_parameter(body, &(rp_type){RP_F32, 3, {4, 5, 3}})));
    assert_int_equal(rp_function_finish(body, &f, NULL), RP_OK);
    rp_scan(g, &(rp_scan_options){.function = f, .sliced = &x, .n_sliced = 1, .times = 3}, &y);
    rp_function_free(f);
    return y;
}

static rp_program *program_of(reading how)
{
    rp_graph *g = rp_graph_new(NULL);
    rp_tensor x = input(g, "x", &(rp_type){RP_F32, 2, {5, 24}}), y = input(g, "y", &(rp_type){RP_F32, 3, {4, 5, 3}});
    rp_tensor w = input(g, "w", &(rp_type){RP_F32, 2, {4, 4}}), made, twin = {0};

    if (how == TWIN_IN_FRONT || how == TWIN_OF_A_VIEW)
        twin = rows(y);
    if (how == HEADS) {
        made = rp_matmul(heads(x, 0), rp_transpose(heads(x, 2), (int[]){0, 2, 1}));
    } else if (how == HEADS_OF_ONE) {
        x = rp_reshape(x, 4, (size_t[]){1, 5, 1, 24});
        x = rp_slice(x, (size_t[]){0, 0, 0, 8}, (size_t[]){1, 5, 1, 16});
        made = square(rp_reshape(x, 3, (size_t[]){5, 2, 4}));
    } else if (how == ATTENDED) {
        made = rp_attention(heads(x, 0), heads(x, 1), heads(x, 2), NULL);
    } else if (how == NO_STRIDES) {
        made = rp_matmul(rp_reshape(rp_transpose(y, (int[]){2, 1, 0}), 2, (size_t[]){15, 4}), w);
    } else {
        made = rp_matmul(rows(y), w);
    }
    if (how == OF_A_FUNCTION)
        made = rp_matmul(rp_relu(rows(y)), rp_transpose(rows(y), (int[]){1, 0}));
    if (how == RETURNED)
        made = rows_by_frames(g);
    if (how == TWIN_BEHIND)
        twin = rows(y);
    if (how == TWIN_OF_A_VIEW)
        twin = rp_transpose(twin, (int[]){1, 0});
    rp_graph_set(g, RP_OUTPUT_RESULT, "made", made);
    if (twin.graph)
        rp_graph_set(g, RP_OUTPUT_RESULT, "twin", twin);
    return rp_graph_take_program(g, NULL);
}

static size_t launches(const rp_program *p, rp_device *device)
{
    store s = store_new(p);
    rp_plan *plan = plan_new(p, device, &s);
    const size_t n = rp_plan_launches(plan);

    rp_plan_free(plan);
    store_free(&s);
    return n;
}

static void reshapes_for_matrices_have_the_bits_of_copies(void **state)
{
    rp_device *device;

    (void)state;
    assert_int_equal(rp_device_cpu_new(&device, NULL, 1, NULL), RP_OK);
    for (int how = 0; how < READINGS; how++)
        for (uint32_t i = 0; i < 8; i++) {
            rp_program *p = program_of((reading)how);
            char what[32];

            assert_non_null(p);
            snprintf(what, sizeof what, "case %d, passes %u", how, i);
            plan_passes = i ? rp_random_u32(5, (uint32_t)how, 6, i) & RP_PASSES : RP_PASSES;
            assert_plan_is_eager(p, device, device, what);
            plan_passes = RP_PASSES;
            rp_program_free(p);
        }
    rp_device_free(device);
}

static void reshapes_for_matrices_are_no_calls(void **state)
{
    static const size_t calls[READINGS] = {
        [HEADS] = 1,         [HEADS_OF_ONE] = 1, [ROWS] = 1,          [ATTENDED] = 1,       [NO_STRIDES] = 2,
        [OF_A_FUNCTION] = 3, [TWIN_BEHIND] = 2,  [TWIN_IN_FRONT] = 2, [TWIN_OF_A_VIEW] = 3, [RETURNED] = 1};
    rp_device *device;

    (void)state;
    assert_int_equal(rp_device_cpu_new(&device, NULL, 1, NULL), RP_OK);
    for (int how = 0; how < READINGS; how++) {
        rp_program *p = program_of((reading)how);
        const size_t found = launches(p, device);

        if (found != calls[how])
            print_error("case %d: %zu calls, expected %zu\n", how, found, calls[how]);
        assert_int_equal(found, calls[how]);
        rp_program_free(p);
    }
    rp_device_free(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reshapes_for_matrices_have_the_bits_of_copies),
        cmocka_unit_test(reshapes_for_matrices_are_no_calls),
    };

    rp_set_allocator(&poisoning);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
