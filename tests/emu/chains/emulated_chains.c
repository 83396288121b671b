/* SPDX-License-Identifier: Apache-2.0
 * Chains on the emulated device: what they leave is what the ordinary kernels of their steps leave, byte for byte, and
 * as many kernels are launched for them as are meant. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <dlfcn.h>

#include <cmocka.h>

#include "determinism/fpenv.h"
#include "tests/emu/emulated.h"
#include "tests/emu/chains/random_steps.h"
#include "tests/house/sanitized.h"

/* FEW: elements, of which the wide kernel takes all chains on four multiprocessors; FEWEST: the one for single
 * elements, what it knows. */
enum { RANDOM = SANITIZED ? 60 : 300, KERNELS = 3, TEXT = 1200, FEW = 2048, FEWEST = 512 };

#define OK(call) \
    do { \
        if ((call) != RP_OK) \
            fail_msg("%s: %s", #call, w.err.text); \
    } while (0)

static world w;
static unsigned long (*calls)(const char *);
static void (*set_order)(int);
static const char *const names[KERNELS] = {"rp_gpu_chain_run_narrow", "rp_gpu_chain_run_wide",
                                           "rp_gpu_chain_run_single"};

/* Launches since the last call: of each kernel of chains, and of all. */
typedef struct launches {
    unsigned long of[KERNELS], all;
} launches;

static launches launched(void)
{
    static launches before;
    launches now = {.all = calls("cuLaunchKernel")}, since;

    for (int i = 0; i < KERNELS; i++) {
        now.of[i] = calls(names[i]);
        since.of[i] = now.of[i] - before.of[i];
    }
    since.all = now.all - before.all;
    before = now;
    return since;
}

/* The chain that was made is its steps, in so many launches: narrow and wide ones, and all. Narrow ones are wide ones
 * where these were asked for, or elements are few. */
static void expect(unsigned long narrow, unsigned long wide, unsigned long all)
{
    char text[TEXT];
    unsigned long single = 0;
    launches n;

    if (w.chain.way == 3 || (w.chain.way == 0 && w.chain.count <= FEWEST)) {
        single = narrow;
        narrow = 0;
    } else if (w.chain.way == 2 || (w.chain.way == 0 && w.chain.count <= FEW)) {
        wide += narrow;
        narrow = 0;
    }
    (void)launched();
    if (!chain_is_its_steps(&w, text, sizeof text))
        fail_msg("%s", text);
    n = launched();
    if (n.of[0] != narrow || n.of[1] != wide || n.of[2] != single || n.all != all)
        fail_msg(
            "seed %llu: expected %lu narrow, %lu wide and %lu single of %lu launches, found %lu, %lu and %lu of %lu",
            (unsigned long long)w.seed, narrow, wide, single, all, n.of[0], n.of[1], n.of[2], n.all);
}

/* ---- every step ---- */

enum { NO_COST, COST_light, COST_function };

/* What the row says of its kernel. */
static const struct {
    int cost;
    size_t n_in;
    bool to_bool;
    bool own; /* a function that has a file of its own */
} row[RP_K_COUNT] = {
#define WAY_LOOP false
#define WAY_BLOCK false
#define WAY_OWN true
#define MAP1(name, cost, ...) [RP_K_##name] = {COST_##cost, 1, false, false},
#define MAP1P MAP1
#define MAP1Q MAP1
#define NUM1 MAP1
#define MAP2(name, cost, way, ...) [RP_K_##name] = {COST_##cost, 2, false, WAY_##way},
#define NUM2(name, cost, ...) [RP_K_##name] = {COST_##cost, 2, false, false},
#define PAIR2 MAP2
#define COMPARE(name, ...) [RP_K_##name] = {COST_light, 2, true, false},
#define LOGIC1(name, ...) [RP_K_##name] = {COST_light, 1, false, false},
#define LOGIC2(name, ...) [RP_K_##name] = {COST_light, 2, false, false},
#include "kernels/operations.def"
    [RP_K_pow_int] = {COST_function, 1, false, false},
    [RP_K_cast] = {COST_light, 1, false, false},
    [RP_K_where] = {COST_light, 3, false, false},
};

/* The kernel with operands of a type, then one that reads its result from where it was made: in registers, in shared
 * memory (a step comes between) or where it was stored. */
static void check_step(rp_kernel_id kernel, rp_dtype dtype, rp_dtype to, uint64_t seed)
{
    const bool wide = rp_dtype_size(dtype) == 8 || rp_dtype_size(to) == 8;
    const bool alone = row[kernel].own || (int)dtype > RP_BF16 || (int)to > RP_BF16; /* chains know the first types */
    const size_t between = seed % 3, rows = 1 + seed % 7 * 61, cols = seed % 2 ? 13 : 37;
    made_value in[3], last;

    begin_chain(&w, seed, rows, cols);
    for (size_t k = 0; k < 3; k++) {
        draw_attributes(&w, w.attr[k]);
        w.attr[k][0].i = kernel == RP_K_cast ? (int64_t)to : w.attr[k][0].i;
    }
    for (size_t i = 0; i < row[kernel].n_in; i++)
        in[i] = given(&w, kernel == RP_K_where && i == 0 ? RP_BOOL : dtype, draw(&w, LAYOUTS));
    last = w.value[add_step(&w, kernel, in, row[kernel].n_in, to, 1, between == 2 ? STREAMED : IN_SCRATCH)];
    if (between == 1 && !wide && !alone) {
        in[0] = given(&w, RP_I32, WHOLE);
        (void)add_step(&w, RP_K_neg, in, 1, RP_I32, 1, IN_MEMORY);
    }
    w.attr[w.chain.n_steps][0].i = to == RP_BF16 ? RP_F32 : RP_BF16;
    (void)add_step(&w, RP_K_cast, &last, 1, (rp_dtype)w.attr[w.chain.n_steps][0].i, 1, IN_MEMORY);
    w.chain.way = 1 + (unsigned)seed % 3; /* every kernel sees every step */
    if (alone)
        expect(0, 0, 2);
    else
        expect(!wide, wide, 1);
}

static void every_step_has_the_bits_of_its_kernel(void **state)
{
    size_t checked = 0;

    (void)state;
    for (int kernel = 0; kernel < RP_K_COUNT; kernel++)
        for (int dtype = 0; dtype < RP_DTYPE_COUNT; dtype++)
            for (int to = 0; to < RP_DTYPE_COUNT; to++) {
                const int result = row[kernel].to_bool ? RP_BOOL : dtype;

                if (row[kernel].cost == NO_COST || !rp_specimen_fits((rp_kernel_id)kernel, (rp_dtype)dtype) ||
                    (kernel != RP_K_cast && to != result))
                    continue;
                for (uint64_t seed = 0; seed < RP_DATA_COUNT; seed++, checked++) {
                    set_order((int)(checked % 3));
                    check_step((rp_kernel_id)kernel, (rp_dtype)dtype, (rp_dtype)to, seed + (uint64_t)kernel);
                }
            }
    print_message("%zu steps\n", checked);
    assert_true(checked >= 4 * 176);
}

/* ---- random chains ---- */

static void random_chains_have_the_bits_of_their_steps(void **state)
{
    static const size_t shape[][2] = {{1, 1},   {1, 255},  {16, 64}, {41, 25}, {32, 32},
                                      {3, 700}, {1, 2049}, {67, 61}, {5, 1},   {2, 512}};
    size_t steps = 0, whole = 0, all = 0;

    (void)state;
    for (uint64_t seed = 0; seed < RANDOM; seed++) {
        const size_t *s = shape[seed % (sizeof shape / sizeof *shape)];
        const size_t wanted = 2 + (size_t)seed % 15;
        char text[TEXT];
        launches n;

        set_order((int)(seed / 10 % 3));
        begin_chain(&w, seed + 1000, s[0], s[1]);
        for (int tries = 0; tries < 200 && w.chain.n_steps < wanted; tries++)
            draw_step(&w);
        w.chain.way = (unsigned)seed / 3 % 4;
        (void)launched();
        if (!chain_is_its_steps(&w, text, sizeof text))
            fail_msg("%s", text);
        n = launched();
        assert_true(n.all <= w.chain.n_steps);
        steps += w.chain.n_steps;
        all += n.all;
        whole += n.all == 1 && n.of[0] + n.of[1] + n.of[2] == 1;
    }
    print_message("%d chains of %zu steps: %zu launches, %zu chains in one\n", RANDOM, steps, all, whole);
    assert_true(whole > RANDOM / 8);
    assert_true(all < steps * 2 / 3);
}

/* ---- what goes in one launch, and what does not ---- */

/* x, then kernels of one operand and of two (the second is x again), each on the result before. */
static void make_line(rp_dtype dtype, const rp_kernel_id *kernel, size_t n)
{
    made_value in[3] = {given(&w, dtype, WHOLE)};

    for (size_t k = 0; k < n; k++) {
        draw_attributes(&w, w.attr[w.chain.n_steps]);
        in[1] = kernel[k] == RP_K_dropout ? random_state(&w) : given(&w, dtype, ROW);
        in[0] = w.value[add_step(&w, kernel[k], in, kernel[k] == RP_K_dropout ? 2 : row[kernel[k]].n_in, dtype, 1,
                                 k + 1 == n ? IN_MEMORY : IN_SCRATCH)];
    }
}

#define LINE(dtype, ...) \
    (begin_chain(&w, __LINE__, 41, 57), make_line(dtype, (const rp_kernel_id[]){__VA_ARGS__}, \
                                                  sizeof((const rp_kernel_id[]){__VA_ARGS__}) / sizeof(rp_kernel_id)))

static void a_chain_is_one_launch_where_one_kernel_knows_its_steps(void **state)
{
    (void)state;
    LINE(RP_F32, RP_K_mul, RP_K_add, RP_K_relu, RP_K_sqrt, RP_K_leaky_relu);
    expect(1, 0, 1);
    LINE(RP_F32, RP_K_add, RP_K_gelu, RP_K_mul, RP_K_tanh);
    expect(1, 0, 1);
    LINE(RP_F32, RP_K_add, RP_K_dropout, RP_K_relu);
    expect(1, 0, 1);
    LINE(RP_F32, RP_K_dropout, RP_K_exp, RP_K_dropout);
    expect(1, 0, 1);
    LINE(RP_F64, RP_K_mul, RP_K_add, RP_K_div, RP_K_abs);
    expect(0, 1, 1);
    LINE(RP_F64, RP_K_mul, RP_K_exp, RP_K_dropout, RP_K_log1p, RP_K_abs);
    expect(0, 1, 1);
    LINE(RP_I32, RP_K_mul, RP_K_neg, RP_K_minimum);
    expect(1, 0, 1);
    LINE(RP_I64, RP_K_mul, RP_K_neg, RP_K_minimum);
    expect(0, 1, 1);
}

/* Rows that threads' elements end with, or run over, or that some thread has the last elements of. */
static void elements_beside_each_other_are_those_of_their_rows(void **state)
{
    static const size_t shapes[][2] = {{40, 64}, {33, 24},  {57, 36}, {1, 4099},
                                       {700, 5}, {9, 2048}, {64, 32}, {3, 683}};
    static const rp_kernel_id line[] = {RP_K_mul, RP_K_add, RP_K_relu, RP_K_dropout, RP_K_sub};

    (void)state;
    for (int i = 0; i < 2 * (int)(sizeof shapes / sizeof *shapes); i++) {
        begin_chain(&w, 100 + (uint64_t)i, shapes[i / 2][0], shapes[i / 2][1]);
        make_line(i % 2 ? RP_F64 : RP_F32, line, sizeof line / sizeof *line);
        expect(i % 2 == 0, i % 2, 1);
    }
}

static void what_no_kernel_knows_is_launched_by_itself(void **state)
{
    (void)state;
    LINE(RP_F64, RP_K_mul, RP_K_add, RP_K_pow, RP_K_abs, RP_K_add);
    expect(0, 2, 3);
    LINE(RP_F32, RP_K_mul, RP_K_add, RP_K_pow, RP_K_abs, RP_K_hypot);
    expect(1, 0, 4);
    LINE(RP_F64, RP_K_pow, RP_K_atan2, RP_K_hypot, RP_K_exp);
    expect(0, 0, 4);
    LINE(RP_F32, RP_K_mul, RP_K_add);
    {
        const made_value in[4] = {state_of_type(&w, RP_F32), given(&w, RP_F32, SHIFTED), w.value[1],
                                  given(&w, RP_F32, SCALAR)};

        draw_attributes(&w, w.attr[2]);
        (void)add_step(&w, RP_K_sgd, in, 4, RP_F32, 2, IN_PLACE);
    }
    expect(1, 0, 2);
}

/* Nine values, then products of two and two of them, the last made and the first made in the end. */
static void make_crowd(int how_last)
{
    made_value in[2], v[9];

    begin_chain(&w, 4, 33, 129);
    for (size_t i = 0; i < 9; i++) {
        in[0] = given(&w, RP_F32, i % LAYOUTS);
        v[i] = w.value[add_step(&w, RP_K_neg, in, 1, RP_F32, 1, i == 8 ? how_last : IN_SCRATCH)];
    }
    for (size_t i = 0; i < 9; i += 2) {
        in[0] = v[i];
        in[1] = v[(i + 1) % 9];
        (void)add_step(&w, RP_K_sub, in, 2, RP_F32, 1, IN_MEMORY);
    }
}

static void more_values_than_a_kernel_keeps_are_stored_or_end_it(void **state)
{
    (void)state;
    make_crowd(IN_SCRATCH);
    expect(1, 0, 2);
    make_crowd(IN_MEMORY);
    expect(1, 0, 1);
    make_crowd(STREAMED);
    expect(1, 0, 1);
}

static void more_axes_than_a_kernel_has_room_for_end_it(void **state)
{
    made_value in[2];

    (void)state;
    begin_chain(&w, 3, 32, 96);
    in[0] = given(&w, RP_F32, TURNED);
    in[1] = given(&w, RP_F32, ROW);
    for (size_t k = 0; k < RP_CHAIN_STEPS; k++) {
        in[0] = w.value[add_step(&w, RP_K_add, in, 2, RP_F32, 1, k + 1 == RP_CHAIN_STEPS ? IN_MEMORY : IN_SCRATCH)];
        in[1] = given(&w, RP_F32, k % 2 ? COLUMN : TURNED);
    }
    expect(1, 0, 2);
}

/* What lies between two launches is in scratch, piece by piece: 14 values of 8 bytes make a piece 147456 elements. */
static void a_chain_of_several_launches_goes_piece_by_piece(void **state)
{
    rp_kernel_id line[RP_CHAIN_STEPS] = {RP_K_mul, RP_K_add};

    (void)state;
    begin_chain(&w, 5, 150, 1000);
    for (size_t k = 2; k + 1 < RP_CHAIN_STEPS; k++)
        line[k] = k % 2 ? RP_K_atan2 : RP_K_hypot;
    line[RP_CHAIN_STEPS - 1] = RP_K_abs;
    make_line(RP_F64, line, RP_CHAIN_STEPS);
    expect(0, 2, 30);
}

/* The slot of a bool is used again for a real by the same program, of which one thread stores the real while another
 * has yet to read its bool. */
static void values_of_two_launches_do_not_meet_in_scratch(void **state)
{
    made_value in[3];
    size_t condition, chosen, turned;

    (void)state;
    begin_chain(&w, 6, 40, 40);
    in[0] = given(&w, RP_F32, WHOLE);
    in[1] = given(&w, RP_F32, SHIFTED);
    condition = add_step(&w, RP_K_lt, in, 2, RP_BOOL, 1, IN_SCRATCH);
    in[0] = in[1] = given(&w, RP_F64, WHOLE);
    (void)add_step(&w, RP_K_hypot, in, 2, RP_F64, 1, IN_MEMORY);
    in[0] = w.value[condition];
    in[1] = given(&w, RP_F32, SHIFTED);
    in[2] = given(&w, RP_F32, ROW);
    chosen = add_step(&w, RP_K_where, in, 3, RP_F32, 1, IN_SCRATCH);
    w.value[condition].gone = true;
    turned = add_step(&w, RP_K_neg, &w.value[chosen], 1, RP_F32, 1, IN_SCRATCH);
    assert_int_equal(w.value[turned].slot, w.value[condition].slot);
    in[0] = in[1] = given(&w, RP_F64, WHOLE);
    (void)add_step(&w, RP_K_hypot, in, 2, RP_F64, 1, IN_MEMORY);
    (void)add_step(&w, RP_K_abs, &w.value[turned], 1, RP_F32, 1, IN_MEMORY);
    expect(1, 0, 5);
}

/* ---- a wrong index ---- */

static void nothing_is_written_after_a_wrong_index(void **state)
{
    const rp_view index = {w.input[RP_I64], RP_I64, 1, {100}, {1}};
    const int64_t wrong = 7;
    rp_index_fault fault;
    char text[TEXT];

    (void)state;
    LINE(RP_F32, RP_K_mul, RP_K_add, RP_K_relu);
    memset(w.found, PATTERN, 3 * w.apart);
    OK(rp_device_upload(w.device, w.out, w.found, 3 * w.apart, NULL, &w.err));
    OK(rp_device_upload(w.device, w.input[RP_I64], &wrong, sizeof wrong, NULL, &w.err));
    OK(rp_device_check(w.device, &(rp_index_check){.index = index, .bound = 1}, NULL, &w.err));
    OK(rp_device_launch_chain(w.device, &w.chain, NULL, &w.err));
    OK(rp_device_synchronize(w.device, NULL, &w.err));
    OK(rp_device_read(w.device, w.found, w.out, 3 * w.apart, NULL, &w.err));
    assert_memory_equal(w.found, w.expected, 3 * w.apart); /* the pattern */
    assert_true(rp_device_fault(w.device, &fault));
    if (!chain_is_its_steps(&w, text, sizeof text)) /* and from then on it is */
        fail_msg("%s", text);
}

/* ---- */

static void find(void *library, const char *name, void *function)
{
    *(void **)function = dlsym(library, name);
    assert_non_null(*(void **)function);
}

static int enter(void **state)
{
    static rp_fpenv saved;
    void *library;

    (void)state;
    if (rp_fpenv_enter(&saved, NULL, &w.err) != RP_OK)
        return -1;
    world_new(&w, "emulated");
    library = dlopen(getenv("RP_EMULATED_LIBRARY"), RTLD_NOW | RTLD_NOLOAD);
    if (w.status != RP_OK || library == NULL)
        return -1;
    find(library, "rp_emulated_calls", &calls);
    find(library, "rp_emulated_order", &set_order);
    (void)dlclose(library); /* it stays */
    return 0;
}

static int leave(void **state)
{
    (void)state;
    world_free(&w);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_step_has_the_bits_of_its_kernel),
        cmocka_unit_test(random_chains_have_the_bits_of_their_steps),
        cmocka_unit_test(a_chain_is_one_launch_where_one_kernel_knows_its_steps),
        cmocka_unit_test(elements_beside_each_other_are_those_of_their_rows),
        cmocka_unit_test(what_no_kernel_knows_is_launched_by_itself),
        cmocka_unit_test(more_values_than_a_kernel_keeps_are_stored_or_end_it),
        cmocka_unit_test(more_axes_than_a_kernel_has_room_for_end_it),
        cmocka_unit_test(a_chain_of_several_launches_goes_piece_by_piece),
        cmocka_unit_test(values_of_two_launches_do_not_meet_in_scratch),
        cmocka_unit_test(nothing_is_written_after_a_wrong_index),
    };

    return cmocka_run_group_tests(tests, enter, leave);
}
