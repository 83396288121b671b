/* SPDX-License-Identifier: Apache-2.0
 * Allocations of the library fail in turn on jobs of the pinned profile, over the stand-in library on the emulated
 * device: a run, one of the API, their replays and a prediction; of chains of callers that the same jobs have in the
 * portable profile none, since test_allocations has these. With the argument "all" every allocation, not some of each
 * chain. */
#include <dlfcn.h>

#include "tests/house/failing_allocations.h"

static bool all_of_them;
static unsigned long (*alive)(void); /* of the emulated driver */

static const char *compute; /* of the pinned profile; NULL: the portable one */

static rp_status job_own_eager(rp_error *err)
{
    const rp_run_options options = {.threads = 1, .level = "ref", .device = "emulated", .pinned = compute};
    const float initial[4] = {1, 2, 3, -1};
    rp_run *run = NULL;
    rp_recorder *recorder = NULL;
    rp_status status = rp_run_new(&run, &options, err);

    if (status == RP_OK)
        status = rp_run_add_state(run, "w", RP_F32, 2, (size_t[]){2, 2}, initial, err);
    if (status == RP_OK)
        status = rp_recorder_new(&recorder, run, err);
    if (status == RP_OK)
        status = job_api_steps(run, recorder, NULL, err);
    if (status == RP_OK)
        status = rp_recorder_save(recorder, job_out, NULL, false, NULL, err);
    rp_recorder_free(recorder);
    rp_run_free(run);
    return status;
}

static void write_recipe(const char *profile)
{
    char text[400];

    (void)snprintf(text, sizeof text,
                   "reprise: 1\nseed: 3\ndata: {csv: table.csv, target: y, folds: 2, fold: 1}\n"
                   "model: {hidden: [2]}\ntrain: {epochs: 1, batch: 8}\n%s",
                   profile);
    job_text(job_recipe, text);
}

/* The archives that are replayed, and the recipe, in a profile. */
static void put_profile(const char *kind, const char *profile)
{
    rp_error err;

    compute = kind;
    write_recipe(profile);
    if (unlink(job_signed) != 0 || unlink(job_api) != 0 || job_train_as(job_signed, job_private, &err) != RP_OK ||
        job_own_eager(&err) != RP_OK || rename(job_out, job_api) != 0)
        fail_msg("%s", err.text);
}

static int setup(void **state)
{
    void *driver;

    rp_set_allocator(&failing_allocator);
    if (job_setup(state) != 0)
        return -1;
    job_options.device = "emulated";
    driver = dlopen(getenv("RP_EMULATED_LIBRARY"), RTLD_NOW | RTLD_LOCAL);
    if (driver == NULL)
        return -1;
    *(void **)&alive = dlsym(driver, "rp_emulated_alive");
    (void)dlclose(driver); /* it stays */
    return alive == NULL;
}

static int teardown(void **state)
{
    const int result = job_teardown(state);

    rp_set_allocator(NULL);
    return result;
}

static void every_failed_allocation_of_a_pinned_job_is_an_error_and_leaks_nothing(void **state)
{
    static const small_job jobs[] = {{"run", job_run, false},
                                     {"eager run", job_own_eager, false},
                                     {"replay", job_replay, false},
                                     {"replay eager", job_replay_eager, false},
                                     {"predict", job_predict, false}};
    sweep each = {arm, disarm, counted, live, out_of_memory, 0, false, !all_of_them, false, false};

    (void)state;
    assert_int_equal(blocks, 0);
    for (int pinned = all_of_them; pinned < 2; pinned++) {
        put_profile(pinned ? "f32" : NULL, pinned ? "profile: pinned\npinned: {compute: f32}\n" : "");
        each.learn = !pinned;
        for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++) {
            assert_true(sweep_job(&each, &jobs[i]) > 0 || !pinned);
            assert_int_equal(alive(), 0); /* nothing of the device's either */
        }
    }
    assert_int_equal(blocks, 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_failed_allocation_of_a_pinned_job_is_an_error_and_leaks_nothing),
    };

    all_of_them = argc > 1 && strcmp(argv[1], "all") == 0;
    return cmocka_run_group_tests(tests, setup, teardown);
}
