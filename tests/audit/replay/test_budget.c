/* SPDX-License-Identifier: Apache-2.0
 * What a replay, a comparison and predictions may cost: W added up, M of each program, before anything is executed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "audit/archive/archive.h"
#include "base/file.h"
#include "rp/rp.h"

static rp_error err;
static char folder[] = "/tmp/rp-budget-XXXXXX";
static unsigned begun; /* steps that were executed */

#define OK(call) need((call), #call)

static void need(rp_status status, const char *what)
{
    if (status != RP_OK)
        fail_msg("%s: %s", what, err.text);
}

static const char *path_of(const char *name)
{
    static char path[4][96];
    static int next;

    next = (next + 1) % 4;
    (void)snprintf(path[next], sizeof path[next], "%s/%s", folder, name);
    return path[next];
}

static void put_file(const char *name, const char *text)
{
    OK(rp_file_save(path_of(name), text, strlen(text), true, 0644, &err));
}

static int setup(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int teardown(void **state)
{
    char command[160];

    (void)state;
    (void)snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

static bool count(void *self, const rp_progress *progress)
{
    (void)self;
    (void)progress;
    begun++;
    return true;
}

static rp_status replay(const rp_archive *archive, const rp_replay_choice *choice, uint64_t work, uint64_t memory)
{
    const rp_job_options options = {
        .threads = 1, .progress = count, .choice = choice, .max_work = work, .max_memory = memory};
    rp_job *job;
    rp_status status;

    begun = 0;
    err.text[0] = '\0';
    status = rp_replay(archive, &options, &job, &err);
    rp_job_free(job);
    return status;
}

static void refused(const rp_archive *archive, const rp_replay_choice *choice, uint64_t work, uint64_t memory,
                    const char *member, const char *option)
{
    assert_int_equal(replay(archive, choice, work, memory), RP_EUNSUPPORTED);
    if (!strstr(err.text, member) || !strstr(err.text, option))
        fail_msg("expected %s and %s in: %s", member, option, err.text);
    assert_int_equal(begun, 0);
}

static rp_price price_of(const rp_archive *archive, size_t number)
{
    rp_program_listing *listing;
    rp_price price;

    OK(rp_program_list(&listing, archive, number, &err));
    price = listing->price;
    rp_program_listing_free(listing);
    return price;
}

/* ---- a run of the API: y = -w in a loop of three ---- */

enum { LENGTH = 1 << 20, STEPS = 4 };

static rp_function *negation(void)
{
    const rp_type index = {.dtype = RP_I64}, vector = {.dtype = RP_F32, .rank = 1, .shape = {LENGTH}};
    rp_graph *graph;
    rp_function *function;

    OK(rp_graph_symbolic(&graph, &err));
    (void)rp_function_parameter(graph, &index);
    rp_function_return(graph, rp_neg(rp_function_parameter(graph, &vector)));
    OK(rp_function_finish(graph, &function, &err));
    return function;
}

static void record(const char *name)
{
    const rp_run_options options = {.threads = 1};
    const size_t shape[] = {LENGTH};
    rp_function *function = negation();
    rp_recorder *recorder;
    rp_run *run;

    OK(rp_run_new(&run, &options, &err));
    OK(rp_run_add_state(run, "w", RP_F32, 1, shape, NULL, &err));
    OK(rp_recorder_new(&recorder, run, &err));
    for (int i = 0; i < STEPS; i++) {
        rp_tensor w, next;

        OK(rp_step_begin(run, &err));
        w = rp_state(run, "w");
        if (i == 2) /* a second program */
            w = rp_add_scalar(w, 1);
        rp_scan(w.graph, &(rp_scan_options){.function = function, .carried = &w, .n_carried = 1, .times = 3}, &next);
        rp_set_state(run, "w", next);
        OK(rp_step_end(run, &err));
    }
    OK(rp_recorder_save(recorder, path_of(name), NULL, true, NULL, &err));
    rp_recorder_free(recorder);
    rp_run_free(run);
    rp_function_free(function);
}

/* The archive again, with another count of iterations in the text of its programs; every hash is right. */
static rp_archive *with_times(const char *from, const char *times)
{
    static const char before[] = "\"times\":3}";
    rp_archive *honest, *made;
    rp_archive_writer *writer;
    rp_buffer member = {0}, bytes = {0};
    rp_json *manifest;

    OK(rp_archive_open(&honest, path_of(from), &err));
    OK(rp_archive_read_json(honest, "manifest.json", &manifest, &err));
    OK(rp_archive_writer_new(&writer, NULL, &err));
    for (size_t i = 1; i < rp_archive_member_count(honest); i++) {
        const char *name = rp_archive_member(honest, i)->name, *at;

        OK(rp_archive_read_member(honest, name, SIZE_MAX / 2, &member, &err));
        if (strncmp(name, RP_PROGRAMS, strlen(RP_PROGRAMS)) == 0) {
            rp_buffer text = {0};

            rp_buffer_u8(&member, 0);
            at = strstr((const char *)member.data, before);
            assert_non_null(at);
            rp_buffer_append(&text, member.data, (size_t)(at - (const char *)member.data));
            rp_buffer_printf(&text, "\"times\":%s}", times);
            rp_buffer_text(&text, at + sizeof before - 1);
            OK(rp_archive_writer_add(writer, name, text.data, text.size, &err));
            rp_buffer_free(&text);
        } else {
            OK(rp_archive_writer_add(writer, name, member.data, member.size, &err));
        }
    }
    OK(rp_archive_writer_finish(writer, RP_RUN_API, rp_json_object_get(manifest, "run"), &err));
    OK(rp_archive_writer_append(writer, &bytes, &err));
    OK(rp_file_save(path_of("made.reprise"), bytes.data, bytes.size, true, 0644, &err));
    rp_archive_writer_free(writer);
    rp_buffer_free(&bytes);
    rp_buffer_free(&member);
    rp_json_free(manifest);
    rp_archive_close(honest);
    OK(rp_archive_open(&made, path_of("made.reprise"), &err));
    return made;
}

static void work_is_added_up_over_the_journal(void **state)
{
    rp_archive *archive;
    uint64_t work;
    rp_price first, second;
    char whole[80];

    (void)state;
    record("api.reprise");
    OK(rp_archive_open(&archive, path_of("api.reprise"), &err));
    assert_int_equal(rp_archive_program_count(archive), 2);
    first = price_of(archive, 0);
    second = price_of(archive, 1);
    work = (STEPS - 1) * first.work + second.work;
    OK(replay(archive, NULL, work, 0));
    assert_int_equal(begun, STEPS);
    OK(replay(archive, NULL, 0, second.memory));
    refused(archive, NULL, work - 1, 0, "step 3: run/programs/0000.json", "--max-work");
    (void)snprintf(whole, sizeof whole, "; all %d steps take %llu", STEPS, (unsigned long long)work);
    assert_non_null(strstr(err.text, whole)); /* what would do */
    refused(archive, NULL, 2 * first.work, 0, "step 2: run/programs/0001.json", "--max-work");
    refused(archive, NULL, 0, second.memory - 1, "step 2: run/programs/0001.json", "--max-memory");
    rp_archive_close(archive);
}

/* 2^37 iterations over 2^20 elements are a line of text and years of work. */
static void what_is_cheap_to_write_and_dear_to_run_is_not_run(void **state)
{
    rp_archive *archive;

    (void)state;
    record("api.reprise");
    archive = with_times("api.reprise", "137438953472");
    (void)alarm(60); /* it would not end by itself */
    refused(archive, NULL, 0, 0, "step 0: run/programs/0000.json", "--max-work");
    refused(archive, &(rp_replay_choice){.mode = RP_REPLAY_RANGE, .first = 1, .last = 1}, 0, 0,
            "step 0: run/programs/0000.json", "--max-work");
    (void)alarm(0);
    rp_archive_close(archive);
    archive = with_times("api.reprise", "4"); /* what is affordable is run, and is not what was recorded */
    assert_int_equal(replay(archive, NULL, 0, 0), RP_EBITS);
    rp_archive_close(archive);
}

/* ---- what gradients of loops would store ---- */

enum { TERMS = 1024, TURNS = 64 };

/* The sum of squares of tanh(t + x) over t: a scalar is carried, thousands of elements are on the way. */
static rp_tensor squares(rp_graph *graph, rp_tensor x)
{
    const rp_tensor y = rp_tanh(rp_add(rp_cast(rp_iota(graph, RP_I64, TERMS), RP_F32), x));

    return rp_tanh(rp_sum(rp_mul(y, y), (int[]){0}, 1, false));
}

static rp_tensor loop(rp_graph *graph, const rp_function *function, rp_tensor x, rp_tensor *grad)
{
    rp_tensor last;

    rp_scan(graph, &(rp_scan_options){.function = function, .carried = &x, .n_carried = 1, .times = TURNS}, &last);
    rp_gradients(last, &x, 1, grad);
    return last;
}

/* inner NULL: squares alone; else they and the gradient of a loop of it. */
static rp_function *step_of(const rp_function *inner)
{
    const rp_type index = {.dtype = RP_I64}, scalar = {.dtype = RP_F32};
    rp_graph *graph;
    rp_function *function;
    rp_tensor x, grad;

    OK(rp_graph_symbolic(&graph, &err));
    (void)rp_function_parameter(graph, &index);
    x = rp_function_parameter(graph, &scalar);
    if (inner)
        (void)loop(graph, inner, x, &grad);
    rp_function_return(graph, squares(graph, inner ? rp_add(x, grad) : x));
    OK(rp_function_finish(graph, &function, &err));
    return function;
}

static void record_loops(const char *name)
{
    rp_function *inner = step_of(NULL), *outer = step_of(inner);
    rp_recorder *recorder;
    rp_run *run;
    rp_tensor w, grad;

    OK(rp_run_new(&run, &(rp_run_options){.threads = 1}, &err));
    OK(rp_run_add_state(run, "w", RP_F32, 0, NULL, NULL, &err));
    OK(rp_recorder_new(&recorder, run, &err));
    OK(rp_step_begin(run, &err));
    w = rp_state(run, "w");
    (void)loop(w.graph, outer, w, &grad);
    rp_set_state(run, "w", rp_sub(w, grad));
    OK(rp_step_end(run, &err));
    OK(rp_recorder_save(recorder, path_of(name), NULL, true, NULL, &err));
    rp_recorder_free(recorder);
    rp_run_free(run);
    rp_function_free(inner);
    rp_function_free(outer);
}

/* Plans may store more than M; with --max-memory what they store fits in what is left, that of bodies too. */
static void what_is_stored_stays_within_the_memory_that_is_allowed(void **state)
{
    const uint64_t more[] = {0, 100000, 600000};
    rp_archive *archive;
    uint64_t needed;
    rp_job *job;

    (void)state;
    record_loops("loops.reprise");
    OK(rp_archive_open(&archive, path_of("loops.reprise"), &err));
    needed = price_of(archive, 0).memory;
    OK(rp_replay(archive, &(rp_job_options){.threads = 1}, &job, &err));
    assert_true(job->memory > needed + more[2]);
    rp_job_free(job);
    for (size_t i = 0; i < 3; i++) {
        OK(rp_replay(archive, &(rp_job_options){.threads = 1, .max_memory = needed + more[i]}, &job, &err));
        if (job->memory > needed + more[i])
            fail_msg("%llu bytes held, %llu allowed", (unsigned long long)job->memory,
                     (unsigned long long)(needed + more[i]));
        rp_job_free(job);
    }
    rp_archive_close(archive);
}

/* ---- a recipe ---- */

static void a_recipes_programs_are_those_that_it_makes(void **state)
{
    rp_buffer csv = {0};
    rp_archive *archive;
    rp_job *job;
    uint64_t work;

    (void)state;
    rp_buffer_text(&csv, "x,y\n");
    for (int i = 0; i < 32; i++)
        rp_buffer_printf(&csv, "%d,%s\n", i % 11, i % 11 > 5 ? "yes" : "no");
    rp_buffer_u8(&csv, 0);
    put_file("table.csv", (const char *)csv.data);
    rp_buffer_free(&csv);
    /* 24 training and 8 validation rows in batches of 7: initialise, 3 and a short one for each of 2 epochs, evaluate
     * both */
    put_file("recipe.yaml", "reprise: 1\nseed: 3\ndata: {csv: table.csv, target: y, folds: 4}\nmodel: {hidden: [4]}\n"
                            "train: {epochs: 2, batch: 7}\nrecord: {checkpoint_every: 3}\n");
    OK(rp_train_recipe(path_of("recipe.yaml"), path_of("recipe.reprise"), NULL, true, NULL, &job, &err));
    assert_int_equal(job->steps, 11);
    rp_job_free(job);
    OK(rp_archive_open(&archive, path_of("recipe.reprise"), &err));
    assert_int_equal(rp_archive_program_count(archive), 5);
    work = price_of(archive, 0).work + 6 * price_of(archive, 1).work + 2 * price_of(archive, 2).work +
           price_of(archive, 3).work + price_of(archive, 4).work;
    OK(replay(archive, NULL, work, 0));
    refused(archive, NULL, work - 1, 0, "step 10: run/recipe.json", "--max-work");
    /* of steps 0 to 2 and the evaluations */
    work = price_of(archive, 0).work + 2 * price_of(archive, 1).work + price_of(archive, 3).work +
           price_of(archive, 4).work;
    OK(replay(archive, &(rp_replay_choice){.mode = RP_REPLAY_RANGE, .first = 1, .last = 2}, work, 0));
    refused(archive, &(rp_replay_choice){.mode = RP_REPLAY_RANGE, .first = 1, .last = 2}, work - 1, 0,
            "step 10: run/recipe.json", "--max-work");
    rp_archive_close(archive);
}

/* ---- comparing and predicting ---- */

static rp_status compare(const rp_archive *a, const rp_archive *b, uint64_t work, uint64_t memory)
{
    const rp_job_options options = {.threads = 1, .max_work = work, .max_memory = memory};
    rp_comparison *found;
    rp_status status;

    err.text[0] = '\0';
    status = rp_compare(a, b, &options, &found, &err);
    assert_int_equal(found != NULL, status == RP_OK);
    rp_comparison_free(found);
    return status;
}

static void compare_refused(const rp_archive *a, const rp_archive *b, uint64_t work, uint64_t memory,
                            const char *option)
{
    assert_int_equal(compare(a, b, work, memory), RP_EUNSUPPORTED);
    if (!strstr(err.text, option) || !strstr(err.text, "nothing was executed"))
        fail_msg("expected %s in: %s", option, err.text);
}

static void train(const char *name, const char *seed)
{
    char text[400];
    rp_buffer csv = {0};
    rp_job *job;

    rp_buffer_text(&csv, "x,y\n");
    for (int i = 0; i < 32; i++)
        rp_buffer_printf(&csv, "%d,%s\n", i % 11, i % 11 > 5 ? "yes" : "no");
    rp_buffer_u8(&csv, 0);
    put_file("table.csv", (const char *)csv.data);
    rp_buffer_free(&csv);
    (void)snprintf(text, sizeof text,
                   "reprise: 1\nseed: 3\ndata: {csv: table.csv, target: y, folds: 4}\nmodel: {hidden: [4]}\n"
                   "train: {epochs: 2, batch: 7, optimizer: {lr: %s}}\n",
                   seed);
    put_file("recipe.yaml", text);
    OK(rp_train_recipe(path_of("recipe.yaml"), path_of(name), NULL, true, NULL, &job, &err));
    rp_job_free(job);
}

/* The step that differs is step 1: each side computes two, and looks into the second, which counts twice more. */
static void comparisons_count_both_sides_and_the_look(void **state)
{
    rp_archive *a, *b;
    rp_price first, second;
    uint64_t work;

    (void)state;
    train("a.reprise", "0.1");
    train("b.reprise", "0.2");
    OK(rp_archive_open(&a, path_of("a.reprise"), &err));
    OK(rp_archive_open(&b, path_of("b.reprise"), &err));
    first = price_of(a, 0);
    second = price_of(a, 1);
    work = 2 * (first.work + 3 * second.work);
    OK(compare(a, b, work, 0));
    compare_refused(a, b, work - 1, 0, "--max-work");
    OK(compare(a, b, 0, 2 * second.memory));
    compare_refused(a, b, 0, 2 * second.memory - 1, "--max-memory");
    OK(compare(a, a, 1, 1)); /* nothing is computed */
    rp_archive_close(a);
    rp_archive_close(b);
}

/* A loop of years in one of the two. */
static void what_is_dear_is_not_compared(void **state)
{
    rp_archive *honest, *made;

    (void)state;
    record("api.reprise");
    OK(rp_archive_open(&honest, path_of("api.reprise"), &err));
    made = with_times("api.reprise", "137438953472");
    (void)alarm(60);                 /* it would not end by itself */
    OK(compare(honest, made, 0, 0)); /* records are equal, programs differ: nothing is computed */
    (void)alarm(0);
    rp_archive_close(made);
    rp_archive_close(honest);
}

static void two_ways_of_computing_are_paid_for_before(void **state)
{
    rp_job_options options = {.threads = 1, .level = "ref", .other_level = "ref"};
    rp_comparison *found;
    rp_archive *made;

    (void)state;
    record("api.reprise");
    made = with_times("api.reprise", "137438953472");
    (void)alarm(60);
    assert_int_equal(rp_compare(made, made, &options, &found, &err), RP_EUNSUPPORTED);
    assert_non_null(strstr(err.text, "--max-work"));
    (void)alarm(0);
    rp_archive_close(made);
}

static rp_status predict(const rp_archive *archive, size_t rows, uint64_t work, uint64_t memory)
{
    const rp_job_options options = {.threads = 1, .max_work = work, .max_memory = memory};
    rp_buffer csv = {0};
    char *text;
    size_t length;
    rp_status status;

    rp_buffer_text(&csv, "x\n");
    for (size_t i = 0; i < rows; i++)
        rp_buffer_printf(&csv, "%zu\n", i % 9);
    status = rp_predict(archive, csv.data, csv.size, "rows", &options, &text, &length, &err);
    rp_buffer_free(&csv);
    rp_text_free(text);
    return status;
}

/* Work grows with the rows, memory with those of a block. */
static void predictions_are_priced_by_their_rows(void **state)
{
    rp_archive *archive;
    uint64_t most = 1, least;

    (void)state;
    train("a.reprise", "0.1");
    OK(rp_archive_open(&archive, path_of("a.reprise"), &err));
    while (predict(archive, 1024, most, 0) != RP_OK)
        most *= 2;
    least = most / 2;
    assert_int_equal(predict(archive, 1024, least, 0), RP_EUNSUPPORTED);
    assert_non_null(strstr(err.text, "predictions in blocks of rows"));
    assert_non_null(strstr(err.text, "--max-work"));
    OK(predict(archive, 4096, 4 * most, 0));
    assert_int_equal(predict(archive, 4096, 4 * least, 0), RP_EUNSUPPORTED);
    for (most = 1; predict(archive, 1024, 0, most) != RP_OK;)
        most *= 2;
    assert_non_null(strstr(err.text, "--max-memory"));
    OK(predict(archive, 10000, 0, most));
    assert_int_equal(predict(archive, 10000, 0, most / 2), RP_EUNSUPPORTED);
    rp_archive_close(archive);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(work_is_added_up_over_the_journal),
        cmocka_unit_test(what_is_cheap_to_write_and_dear_to_run_is_not_run),
        cmocka_unit_test(what_is_stored_stays_within_the_memory_that_is_allowed),
        cmocka_unit_test(a_recipes_programs_are_those_that_it_makes),
        cmocka_unit_test(comparisons_count_both_sides_and_the_look),
        cmocka_unit_test(what_is_dear_is_not_compared),
        cmocka_unit_test(two_ways_of_computing_are_paid_for_before),
        cmocka_unit_test(predictions_are_priced_by_their_rows),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
