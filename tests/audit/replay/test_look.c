/* SPDX-License-Identifier: Apache-2.0
 * Looking inside: the value at a place is the one that the step computes there, in every kind of region; places that
 * are none, and frames that were not executed, are told; inputs are those before the step. */
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "audit/replay/look/walk.h"
#include "base/file.h"
#include "kernels/device.h"

#include "tests/audit/replay/nested_regions.h" /* has an err */

typedef struct seen {
    rp_type type;
    float value[TIMES * WIDTH];
    size_t taken;
} seen;

static rp_status take(void *self, rp_device *device, const rp_type *type, const rp_view *view, rp_error *error)
{
    seen *s = self;
    const size_t bytes = rp_type_bytes(type);

    s->taken++;
    s->type = *type;
    assert_true(bytes <= sizeof s->value);
    assert_true(rp_view_contiguous(view));
    return rp_device_read(device, s->value, view->data, bytes, NULL, error);
}

/* What is at the place of the graph's program, whose one input is x. */
static rp_status look(seen *s, rp_graph *g, const char *place, size_t output, const float *x, size_t count)
{
    const rp_look_taker to = {take, s};
    rp_program *program;
    rp_device *device;
    rp_place at;
    const rp_instr *instr;
    const rp_program *body;
    void *memory = NULL;
    rp_status status;

    *s = (seen){.taken = 0};
    OK(rp_graph_finish(g, &program, &err));
    OK(rp_device_cpu_new(&device, "ref", 1, &err));
    OK(rp_device_allocate(device, &memory, count * sizeof *x, &err));
    OK(rp_device_upload(device, memory, x, count * sizeof *x, NULL, &err));
    status = rp_place_read(&at, place, &err);
    if (status == RP_OK)
        status = rp_place_find(&instr, &body, &at, program, &err);
    if (status == RP_OK)
        status = rp_look_walk(device, program, &memory, &at, output, &to, &err);
    rp_device_release(device, memory);
    rp_device_free(device);
    rp_program_free(program);
    return status;
}

static void holds(const seen *s, const float expected[WIDTH])
{
    assert_int_equal(s->taken, 1);
    assert_memory_equal(s->value, expected, WIDTH * sizeof *expected);
}

static void refused(rp_status status, const char *words)
{
    assert_int_equal(status, RP_EARG);
    if (!strstr(err.text, words))
        fail_msg("expected \"%s\" in: %s", words, err.text);
}

static rp_tensor data(rp_graph *g, rp_type type)
{
    return rp_graph_declare(g, RP_INPUT_DATA, "x", &type);
}

/* ---- scans ---- */

/* The scan is instruction 1. */
static rp_graph *scan_graph(bool reverse)
{
    rp_graph *g = begin();
    rp_function *f = step_function(false);
    rp_tensor sliced = data(g, rows(2, TIMES, 0)), carried = rp_fill(g, RP_F32, 1, (size_t[]){WIDTH}, 0), out[1];

    rp_scan(g,
            &(rp_scan_options){.function = f,
                               .carried = &carried,
                               .n_carried = 1,
                               .sliced = &sliced,
                               .n_sliced = 1,
                               .times = TIMES,
                               .reverse = reverse},
            out);
    rp_graph_result(g, "y", out[0]);
    rp_function_free(f);
    return g;
}

static void running_sums(float sum[WIDTH], const float *row)
{
    float along = 0;

    for (size_t i = 0; i < WIDTH; i++) {
        along += row[i];
        sum[i] += along;
    }
}

static void iterations_are_those_of_the_step(void **state)
{
    const size_t shown[] = {0, 12, TIMES - 1};

    (void)state;
    for (int reverse = 0; reverse < 2; reverse++)
        for (size_t i = 0; i < 3; i++) {
            const float *x = unmarked();
            float expected[WIDTH] = {0};
            char place[32];
            seen s;

            for (size_t t = 0; t < TIMES; t++) {
                const size_t row = reverse ? TIMES - 1 - t : t;

                running_sums(expected, x + row * WIDTH);
                if (row == shown[i])
                    break;
            }
            (void)snprintf(place, sizeof place, "1/%zu/1", shown[i]);
            OK(look(&s, scan_graph(reverse), place, 0, x, TIMES * WIDTH));
            holds(&s, expected);
        }
}

static void places_that_are_none_are_told(void **state)
{
    const struct {
        const char *place, *words;
    } none[] = {{"", "expected the number of an instruction"},
                {"1/", "expected the number of an instruction"},
                {"1/0", "expected the number of an instruction"},
                {"x", "expected the number of an instruction"},
                {"1/0/1 ", "expected the number of an instruction"},
                {"99999999999999", "expected the number of an instruction"},
                {"3", "there is no instruction 3 in the step's program: expected 0 to 1"},
                {"1/0/2", "there is no instruction 2 in that frame: expected 0 to 1"},
                {"1/50/0", "instruction 1, scan: has no iteration 50, expected 0 to 49"},
                {"0/0/0", "instruction 0, fill: is no region, so it has no frames"},
                {"1/b0/0", "a frame of it is written as a number"},
                {"1/p0/0", "a frame of it is written as a number"}};
    char deep[4 * 64];

    (void)state;
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        seen s;

        refused(look(&s, scan_graph(false), none[i].place, 0, unmarked(), TIMES * WIDTH), none[i].words);
        assert_int_equal(s.taken, 0);
    }
    for (size_t i = 0; i < sizeof deep - 1; i++)
        deep[i] = i % 2 ? '/' : '0';
    deep[sizeof deep - 1] = '\0';
    refused(rp_place_read(&(rp_place){.depth = 0}, deep, &err), "expected the number of an instruction");
}

/* ---- maps ---- */

static void a_scan_in_a_shard_is_entered(void **state)
{
    const rp_combine combine[2] = {RP_COMBINE_TREE, RP_COMBINE_STACK};
    const float *x = unmarked();

    (void)state;
    for (int empty = 0; empty < 2; empty++) {
        rp_graph *g = begin();
        rp_tensor sliced = data(g, rows(3, SHARDS, TIMES)), out[2];
        float expected[WIDTH] = {0};
        rp_status status;
        seen s;

        map_of_scans(g, sliced, combine, 7, out);
        rp_graph_result(g, "y", out[0]);
        rp_graph_result(g, "z", out[1]);
        /* shard 3, which has the index 10, is row 2; shard 1 is empty */
        status = look(&s, g, empty ? "0/8/2/37/0" : "0/10/2/37/0", 0, x, SHARDS * TIMES * WIDTH);
        if (empty) {
            refused(status, "shard 8 is empty");
            continue;
        }
        OK(status);
        running_sums(expected, x + (2 * TIMES + 37) * WIDTH);
        holds(&s, expected);
    }
}

/* ---- conds, whiles ---- */

static rp_function *scaled(float by)
{
    rp_graph *g = begin();
    rp_tensor x = parameter(g, rows(1, 0, 0));

    rp_function_return(g, rp_mul(x, rp_fill(g, RP_F32, 0, NULL, (double)by)));
    return function(g);
}

static rp_graph *cond_graph(void)
{
    rp_graph *g = begin();
    rp_function *f[2] = {scaled(2), scaled(3)};
    rp_tensor x = data(g, rows(1, 0, 0)), out;
    rp_tensor limit = rp_fill(g, RP_F32, 1, (size_t[]){WIDTH}, -1);

    limit = rp_gt(rp_sum(x, (int[]){0}, 1, false), rp_sum(limit, (int[]){0}, 1, false));
    rp_cond(g, limit, (const rp_function *const *)f, 2, &x, 1, &out);
    rp_graph_result(g, "y", out);
    rp_function_free(f[0]);
    rp_function_free(f[1]);
    return g;
}

static void the_branch_that_was_taken_is_shown(void **state)
{
    const float x[WIDTH] = {1, 2, 3}, expected[WIDTH] = {3, 6, 9};
    seen s;

    (void)state;
    OK(look(&s, cond_graph(), "6/b1/1", 0, x, WIDTH));
    holds(&s, expected);
    refused(look(&s, cond_graph(), "6/b0/1", 0, x, WIDTH), "cond: branch 0 was not taken, 1 was");
    refused(look(&s, cond_graph(), "6/b2/1", 0, x, WIDTH), "has no branch 2, expected 0 to 1");
    refused(look(&s, cond_graph(), "6/1/1", 0, x, WIDTH), "written with b for the branch");
}

/* Doubles x until its first element is at least 10, at most 20 times. */
static rp_graph *while_graph(void)
{
    rp_graph *g = begin(), *h;
    rp_function *body, *predicate;
    rp_tensor x = data(g, rows(1, 0, 0)), out[2], c;

    h = begin();
    (void)parameter(h, index_type);
    c = parameter(h, rows(1, 0, 0));
    rp_function_return(h, rp_add(c, c));
    body = function(h);
    h = begin();
    (void)parameter(h, index_type);
    c = parameter(h, rows(1, 0, 0));
    c = rp_reshape(rp_slice(c, (size_t[]){0}, (size_t[]){1}), 0, NULL);
    rp_function_return(h, rp_lt(c, rp_fill(h, RP_F32, 0, NULL, 10)));
    predicate = function(h);
    rp_while(g, &(rp_while_options){.body = body, .predicate = predicate, .carried = &x, .n_carried = 1, .limit = 20},
             out);
    rp_graph_result(g, "y", out[1]);
    rp_function_free(body);
    rp_function_free(predicate);
    return g;
}

static void iterations_and_predicates_of_a_while_are_shown(void **state)
{
    const float x[WIDTH] = {1, 2, 3}, expected[WIDTH] = {8, 16, 24};
    seen s;

    (void)state;
    OK(look(&s, while_graph(), "0/2/0", 0, x, WIDTH));
    holds(&s, expected);
    OK(look(&s, while_graph(), "0/p4/3", 0, x, WIDTH));
    assert_int_equal(s.type.dtype, RP_BOOL);
    assert_int_equal(((unsigned char *)s.value)[0], 0); /* 16 < 10 */
    refused(look(&s, while_graph(), "0/4/0", 0, x, WIDTH), "iteration 4 was not executed: it ended after 4");
    refused(look(&s, while_graph(), "0/p5/3", 0, x, WIDTH), "iteration 5 was not executed: it ended after 4");
    refused(look(&s, while_graph(), "0/20/0", 0, x, WIDTH), "has no iteration 20, expected 0 to 19");
}

/* ---- archives ---- */

static char folder[] = "/tmp/reprise-look-XXXXXX";
static char path[64];

/* Five steps of w <- w * 0.5 + x with a state that has a NaN and a zero, and rolling digests or checkpoints. */
static void record(uint64_t state_period, uint64_t checkpoints)
{
    const size_t shape[] = {4};
    const float w[4] = {1, 0, NAN, 8}, x[4] = {1, 0, 1, -1};
    rp_recorder *recorder;
    rp_run *run;

    OK(rp_run_new(&run, NULL, &err));
    OK(rp_run_add_state(run, "w", RP_F32, 1, shape, w, &err));
    OK(rp_recorder_new(&recorder, run, &err));
    OK(rp_recorder_set_state_period(recorder, state_period, &err));
    OK(rp_recorder_set_checkpoint_period(recorder, checkpoints, &err));
    for (int i = 0; i < 5; i++) {
        rp_tensor half, fed;

        OK(rp_step_begin(run, &err));
        half = rp_mul(rp_state(run, "w"), rp_fill(rp_step_graph(run), RP_F32, 0, NULL, 0.5));
        fed = rp_feed(run, "x", RP_F32, 1, shape, x);
        half = rp_add(half, fed);
        rp_set_state(run, "w", half);
        rp_result(run, "loss", rp_sum(half, (int[]){0}, 1, false));
        OK(rp_step_end(run, &err));
    }
    OK(rp_recorder_save(recorder, path, NULL, true, NULL, &err));
    rp_recorder_free(recorder);
    rp_run_free(run);
}

static rp_looked *look_at(const rp_look *what)
{
    rp_archive *archive;
    rp_looked *looked;

    OK(rp_archive_open(&archive, path, &err));
    OK(rp_look_inside(archive, what, NULL, &looked, &err));
    rp_archive_close(archive);
    return looked;
}

static void has(const rp_looked *looked, const char *words)
{
    if (!strstr(looked->text, words))
        fail_msg("expected \"%s\" in:\n%s", words, looked->text);
}

static void a_tensor_of_an_archive_is_shown(void **state)
{
    const uint64_t periods[][3] = {{1, 0, 5}, {1, 2, 1}, {3, 0, 5}, {3, 2, 1}};

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        rp_looked *looked;

        record(periods[i][0], periods[i][1]);
        looked = look_at(&(rp_look){.step = 4, .op = "2", .npy = true});
        assert_true(looked->same);
        assert_int_equal(looked->steps_recomputed, periods[i][2]);
        has(looked, "value     2 add, output 0, f32[4]\n");
        has(looked, "elements  4: 1 NaN, 0 infinite, 1 zero\n");
        has(looked, "range     -1.6875 to 1.96875, mean 0.0937");
        has(looked, "first     0x3ffc0000 (1.96875)\n");
        has(looked, "journal   the same");
        assert_int_equal(looked->npy_size, 128 + 16);
        assert_memory_equal(looked->npy,
                            "\x93NUMPY\x01\x00\x76\x00{'descr': '<f4', 'fortran_order': False, "
                            "'shape': (4,), } ",
                            10 + 58);
        assert_memory_equal((char *)looked->npy + 128, "\x00\x00\xfc\x3f\x00\x00\x00\x00\x00\x00\xc0\x7f", 12);
        rp_looked_free(looked);
    }
}

static void inputs_are_those_before_the_step(void **state)
{
    rp_looked *looked;

    (void)state;
    record(1, 0);
    looked = look_at(&(rp_look){.step = 0, .input = "w"});
    has(looked, "value     input state w, f32[4]\n");
    has(looked, "range     0 to 8, mean 3");
    rp_looked_free(looked);
    looked = look_at(&(rp_look){.step = 3, .input = "x"});
    has(looked, "value     input feed x, f32[4]\n");
    rp_looked_free(looked);
    looked = look_at(&(rp_look){.step = 3});
    assert_int_equal(looked->steps_recomputed, 0);
    has(looked, "2  add                 f32[4] of 1, feed x -> state w\n");
    rp_looked_free(looked);
}

static void what_an_archive_does_not_have_is_told(void **state)
{
    const struct {
        rp_look look;
        const char *words;
    } wrong[] = {{{.step = 5}, "step 5: the run has the steps 0 to 4"},
                 {{.step = 1, .op = "9"}, "there is no instruction 9"},
                 {{.step = 1, .op = "2", .output = 1}, "has no output 1, expected 0 to 0"},
                 {{.step = 1, .input = "y"}, "has no input y"},
                 {{.step = 1, .input = "w", .op = "1"}, "exclude each other"}};

    (void)state;
    record(1, 0);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        rp_archive *archive;
        rp_looked *looked;
        rp_status status;

        OK(rp_archive_open(&archive, path, &err));
        status = rp_look_inside(archive, &wrong[i].look, NULL, &looked, &err);
        assert_null(looked);
        refused(status, wrong[i].words);
        rp_archive_close(archive);
    }
}

static int make_folder(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return 1;
    (void)snprintf(path, sizeof path, "%s/a.reprise", folder);
    return 0;
}

static int drop_folder(void **state)
{
    (void)state;
    (void)remove(path);
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(iterations_are_those_of_the_step),
        cmocka_unit_test(places_that_are_none_are_told),
        cmocka_unit_test(a_scan_in_a_shard_is_entered),
        cmocka_unit_test(the_branch_that_was_taken_is_shown),
        cmocka_unit_test(iterations_and_predicates_of_a_while_are_shown),
        cmocka_unit_test(a_tensor_of_an_archive_is_shown),
        cmocka_unit_test(inputs_are_those_before_the_step),
        cmocka_unit_test(what_an_archive_does_not_have_is_told),
    };

    return cmocka_run_group_tests(tests, make_folder, drop_folder);
}
