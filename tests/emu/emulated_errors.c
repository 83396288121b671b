/* SPDX-License-Identifier: Apache-2.0
 * Every call of the driver, in turn, fails in a run that trains and records, in three ways: out of memory, a failed
 * launch, a lost device. Each time there is an error that names the call or what the driver said, no archive and no
 * half of one, nothing left on the device; and the run that was saved before goes on to the archive that the processor
 * makes. */
#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "kernels/device.h"
#include "kernels/gpu/driver_abi.h"
#include "kernels/walk.h"
#include "rp/rp.h"
#include "tests/house/sanitized.h"
#include "tests/kernels/gpu/error_tells.h"

static rp_error err;
static char folder[] = "/tmp/rp_emulated_XXXXXX";
static char recipe[64], expected[64], found[64];

static void (*fail_next)(const char *call, unsigned nth, int result);
static unsigned long (*calls)(const char *call);
static unsigned long (*alive)(void);

static const struct {
    int result;
    const char *name;
} ways[] = {{2, "CUDA_ERROR_OUT_OF_MEMORY"}, {719, "CUDA_ERROR_LAUNCH_FAILED"}, {46, "CUDA_ERROR_DEVICE_UNAVAILABLE"}};

#define OK(call) \
    do { \
        if ((call) != RP_OK) \
            fail_msg("%s: %s", #call, err.text); \
    } while (0)

static rp_status train(const char *device, const char *archive, bool resume)
{
    const rp_job_options options = {.threads = 1, .device = device, .resume = resume, .save_every = 1e-9};
    rp_job *job = NULL;
    const rp_status status = rp_train_recipe(recipe, archive, NULL, true, &options, &job, &err);

    rp_job_free(job);
    return status;
}

#define DATA "reprise: 1\nseed: 3\ndata: {csv: table.csv, target: y, folds: 4, fold: 1}\n"
static const char small[] = DATA "model: {hidden: [5], dropout: 0.2}\ntrain: {epochs: 1, batch: 16}\n"
                                 "record: {checkpoint_every: 2}\n";
/* 1.1 MB of states: they are hashed where they are. */
static const char large[] =
    DATA "model: {hidden: [300, 300]}\ntrain: {epochs: 1, batch: 16, optimizer: {kind: adam}}\n";

static void put_recipe(const char *text)
{
    char path[64], table[2048];
    size_t at = 0;

    at += (size_t)snprintf(table, sizeof table, "x,colour,y\n");
    for (int i = 0; i < 48; i++)
        at += (size_t)snprintf(table + at, sizeof table - at, "%d.%d,%s,%s\n", i % 11, i % 5, i % 3 ? "red" : "blue",
                               (i % 11) * 2 + i % 3 > 11 ? "yes" : "no");
    (void)snprintf(path, sizeof path, "%s/table.csv", folder);
    OK(rp_file_save(path, table, at, true, 0644, &err));
    (void)snprintf(recipe, sizeof recipe, "%s/r.yaml", folder);
    (void)snprintf(expected, sizeof expected, "%s/cpu.reprise", folder);
    (void)snprintf(found, sizeof found, "%s/emulated.reprise", folder);
    OK(rp_file_save(recipe, text, strlen(text), true, 0644, &err));
}

static void *driver_function(const char *name)
{
    void *driver = dlopen(getenv("RP_EMULATED_LIBRARY"), RTLD_NOW | RTLD_NOLOAD), *function = NULL;

    if (driver)
        function = dlsym(driver, name);
    return function;
}

static int prepare(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    put_recipe(small);
    OK(train("cpu", expected, false));
    OK(train("emulated", found, false));
    *(void **)&fail_next = driver_function("rp_emulated_fail");
    *(void **)&calls = driver_function("rp_emulated_calls");
    *(void **)&alive = driver_function("rp_emulated_alive");
    return fail_next && calls && alive ? 0 : -1;
}

static void same_archive(void)
{
    rp_buffer a = {0}, b = {0};

    OK(rp_file_read(expected, SIZE_MAX / 2, &a, &err));
    OK(rp_file_read(found, SIZE_MAX / 2, &b, &err));
    assert_true(a.size > 0 && a.size == b.size);
    assert_memory_equal(a.data, b.data, a.size);
    rp_buffer_free(&a);
    rp_buffer_free(&b);
}

/* Files of the folder beside the recipe, the table, the processor's archive and what a run saves to go on from. */
static void no_half_archive(const char *what)
{
    DIR *d = opendir(folder);

    assert_non_null(d);
    for (struct dirent *e = readdir(d); e; e = readdir(d))
        if (e->d_name[0] != '.' && strcmp(e->d_name, "r.yaml") != 0 && strcmp(e->d_name, "table.csv") != 0 &&
            strcmp(e->d_name, "cpu.reprise") != 0 && !strstr(e->d_name, "resume") && !strstr(e->d_name, "partial"))
            fail_msg("%s: left %s", what, e->d_name);
    (void)closedir(d);
}

static void an_archive_of_the_device_is_the_processors(void **state)
{
    (void)state;
    same_archive();
    assert_int_equal(alive(), 0);
    assert_true(calls("cuLaunchKernel") > 10);
}

/* Calls whose result is nobody's, since what they release is not used again. One that loses the device is told by the
 * next. */
static bool is_nobodys(const char *call)
{
    static const char *const those[] = {"cuEventDestroy_v2", "cuGraphDestroy", "cuMemFreeHost", "cuStreamDestroy_v2"};

    for (size_t i = 0; i < sizeof those / sizeof *those; i++)
        if (strcmp(call, those[i]) == 0)
            return true;
    return false;
}

static bool names_it(const char *call, size_t way)
{
    return error_tells(err.text, is_nobodys(call) ? "any" : call, ways[way].name);
}

/* `call` fails the n-th time. Whether it was called so often. */
static bool fail_once(const char *call, unsigned nth, size_t way)
{
    char what[128];
    rp_status status;

    (void)snprintf(what, sizeof what, "%s, time %u, %s", call, nth, ways[way].name);
    (void)unlink(found);
    fail_next(call, nth, ways[way].result);
    status = train("emulated", found, false);
    fail_next(NULL, 0, 0);
    if (alive() != 0)
        fail_msg("%s: %lu things are left on the device", what, alive());
    if (status == RP_OK) { /* never reached, or a call whose failure loses nothing: what it releases is gone */
        same_archive();
        return false;
    }
    if (!names_it(call, way))
        fail_msg("%s: the error does not name it: %s", what, err.text);
    no_half_archive(what);
    if (train("emulated", found, true) != RP_OK) /* and it goes on */
        fail_msg("%s: does not go on: %s", what, err.text);
    same_archive();
    return true;
}

static void every_call_that_fails_is_an_error_that_names_it(void **state)
{
#define CALL(name, parameters) #name,
    static const char *const names[] = {RP_DRIVER_CALLS(CALL)};
#undef CALL
    unsigned failed = 0, used = 0;

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        unsigned long before = calls(names[i]), times;

        OK(train("emulated", found, false));
        times = calls(names[i]) - before;
        used += times > 0;
        for (size_t way = 0; way < 3 && times > 0; way++) {
            const unsigned at[] = {1, (unsigned)(times + 1) / 2, (unsigned)times};

            for (size_t k = 0; k < 3; k++) /* under sanitizers, where a run takes long, one place a way */
                if (SANITIZED ? k == way : k == 0 || at[k] != at[k - 1])
                    failed += fail_once(names[i], at[k], way);
        }
    }
    print_message("%u of the driver's calls are used; %u failures told\n", used, failed);
    assert_true(used > 20 && failed > 60);
}

static void work_that_fails_on_the_device_is_told_by_who_waits(void **state)
{
    (void)state;
    for (unsigned nth = 1; nth < 40; nth += 13)
        for (size_t way = 1; way < 3; way++) {
            assert_true(fail_once("kernel", nth, way));
            (void)fail_once("copy", nth, way);
        }
}

/* Every launch that hashes: all are a step's. */
static void a_hash_that_fails_is_an_error_like_any_other(void **state)
{
    unsigned long before = calls("rp_gpu_sha256");
    unsigned times;

    (void)state;
    put_recipe(large);
    OK(train("cpu", expected, false));
    OK(train("emulated", found, false));
    times = (unsigned)(calls("rp_gpu_sha256") - before);
    assert_true(times >= 4);
    for (unsigned nth = 1; nth <= times; nth++)
        for (size_t way = 0; way < 3; way++)
            if (!SANITIZED || nth % 3 == way) /* under sanitizers one way a launch */
                assert_true(fail_once("rp_gpu_sha256", nth, way));
    put_recipe(small);
    OK(train("cpu", expected, false));
}

/* Of states that are too small to be hashed there, the first launch, and a later one. */
static void states_that_do_not_come_are_an_error_like_any_other(void **state)
{
    (void)state;
    for (unsigned nth = 1; nth < 4; nth += 2)
        for (size_t way = 0; way < 3; way++)
            assert_true(fail_once("rp_gpu_pack", nth, way));
}

/* Sums of several levels work in memory of the device's own. Where there is too little for that, what was given back
 * and is kept makes room; where nothing is kept, less is asked for. */
static void a_workspace_is_found_where_memory_is_short(void **state)
{
    enum { LONG = 9000 };
    static float zeros[LONG];
    float sum = 1;
    const rp_attr attr[RP_MAX_ATTR] = {{.n = 1, .list = {0}}};
    rp_view in = {.dtype = RP_F32, .rank = 1, .shape = {LONG}, .stride = {1}}, out = {.dtype = RP_F32, .rank = 1};

    (void)state;
    out.shape[0] = 1, out.stride[0] = 1;
    for (int kept = 0; kept < 2; kept++) {
        rp_device *device;
        void *block;

        OK(rp_device_open(&device, "emulated", NULL, 1, &err));
        OK(rp_device_allocate(device, &in.data, sizeof zeros, &err));
        OK(rp_device_allocate(device, &out.data, sizeof sum, &err));
        OK(rp_device_upload(device, in.data, zeros, sizeof zeros, NULL, &err));
        OK(rp_device_allocate(device, &block, 1 << 20, &err));
        if (kept)
            rp_device_release(device, block);
        fail_next("cuMemAlloc_v2", 1, RP_CU_OUT_OF_MEMORY);
        OK(rp_device_launch(device, RP_K_sum, &(rp_kernel_args){&in, 1, &out, 1, attr}, NULL, &err));
        fail_next(NULL, 0, 0);
        OK(rp_device_read(device, &sum, out.data, sizeof sum, NULL, &err));
        assert_true(sum == 0);
        if (!kept)
            rp_device_release(device, block);
        rp_device_release(device, in.data);
        rp_device_release(device, out.data);
        rp_device_free(device);
    }
}

static size_t conforming_on(const char *name)
{
    rp_device *device;
    size_t vectors;

    OK(rp_device_open(&device, name, NULL, 2, &err));
    vectors = rp_device_conforming(device);
    rp_device_free(device);
    return vectors;
}

/* One context and one test a process: freed, a device that has passed is the next that is opened, but none beside it,
 * no other, and none that broke. */
static void a_device_that_passed_is_handed_on_and_no_other_is(void **state)
{
    const unsigned long opened = calls("cuDevicePrimaryCtxRetain");
    unsigned long launched;
    size_t vectors, again;
    rp_device *tested, *beside;

    (void)state;
    assert_int_equal(conforming_on("emulated"), 0);
    OK(rp_device_conforms("emulated", false, NULL, &vectors, &err));
    launched = calls("cuLaunchKernel");
    OK(rp_device_conforms("emulated", false, NULL, &again, &err));
    assert_true(vectors > 100 && again == vectors);
    OK(train("emulated", found, false));
    same_archive();
    assert_int_equal(calls("cuDevicePrimaryCtxRetain") - opened, 2);
    assert_true(calls("cuLaunchKernel") - launched < 1000);

    OK(rp_device_open(&tested, "emulated", NULL, 1, &err));
    assert_int_equal(rp_device_conforming(tested), vectors);
    OK(rp_device_open(&beside, "emulated", NULL, 1, &err));
    assert_int_equal(rp_device_conforming(beside), 0);
    rp_device_free(beside);
    rp_device_free(tested);
    assert_int_equal(conforming_on("emulated:1"), 0);
    assert_int_equal(conforming_on("emulated"), vectors);
}

static void a_device_that_passed_and_broke_is_opened_anew(void **state)
{
    rp_device *device;
    size_t vectors;

    (void)state;
    for (int broken_when_freed = 0; broken_when_freed < 2; broken_when_freed++) {
        OK(rp_device_conforms("emulated", false, NULL, &vectors, &err));
        OK(rp_device_open(&device, "emulated", NULL, 1, &err));
        assert_int_equal(rp_device_conforming(device), vectors);
        fail_next(broken_when_freed ? "cuMemsetD8Async" : "cuStreamSynchronize", 1, RP_CU_LAUNCH_FAILED);
        assert_int_equal(rp_device_synchronize(device, NULL, &err), broken_when_freed ? RP_OK : RP_EIO);
        rp_device_free(device);
        fail_next(NULL, 0, 0);
        assert_int_equal(alive(), 0);
        assert_int_equal(conforming_on("emulated"), 0);
    }
}

/* Nobody was there to see it: the next who opens it finds a new context, which has to be tested. */
static void a_device_that_broke_while_it_was_idle_is_opened_anew(void **state)
{
    static const char *const asked[] = {"cuCtxSetCurrent", "cuMemsetD8Async", "cuStreamSynchronize"};
    rp_device *device;
    size_t vectors;

    (void)state;
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        OK(rp_device_conforms("emulated", false, NULL, &vectors, &err));
        fail_next(asked[i], 1, RP_CU_LAUNCH_FAILED);
        OK(rp_device_open(&device, "emulated", NULL, 1, &err));
        assert_int_equal(rp_device_conforming(device), 0);
        fail_next(NULL, 0, 0);
        OK(rp_device_synchronize(device, NULL, &err));
        rp_device_free(device);
        assert_int_equal(alive(), 0);
    }
}

static void memory_that_nobody_released_goes_with_its_device(void **state)
{
    rp_device *device;
    void *lost;
    size_t vectors;

    (void)state;
    OK(rp_device_conforms("emulated", false, NULL, &vectors, &err));
    OK(rp_device_open(&device, "emulated", NULL, 1, &err));
    assert_int_equal(rp_device_conforming(device), vectors);
    OK(rp_device_allocate(device, &lost, 1 << 20, &err));
    rp_device_free(device);
    assert_int_equal(alive(), 0);
    assert_int_equal(conforming_on("emulated"), 0);
}

typedef struct trainee {
    const char *device;
    char path[64];
    rp_status status;
    rp_error err;
} trainee;

static void *train_beside(void *context)
{
    trainee *t = context;
    const rp_job_options options = {.threads = 1, .device = t->device};
    rp_job *job = NULL;

    t->status = rp_train_recipe(recipe, t->path, NULL, true, &options, &job, &t->err);
    rp_job_free(job);
    return NULL;
}

/* Two devices, and one that two runs have. */
static void threads_train_beside_each_other(void **state)
{
    trainee t[] = {{.device = "emulated"}, {.device = "emulated:1"}, {.device = "emulated"}};
    enum { N = sizeof t / sizeof *t };
    pthread_t thread[N];
    char kept[64];

    (void)state;
    for (size_t i = 0; i < N; i++) {
        (void)snprintf(t[i].path, sizeof t[i].path, "%s/beside-%zu.reprise", folder, i);
        assert_int_equal(pthread_create(&thread[i], NULL, train_beside, &t[i]), 0);
    }
    for (size_t i = 0; i < N; i++)
        assert_int_equal(pthread_join(thread[i], NULL), 0);
    strcpy(kept, found);
    for (size_t i = 0; i < N; i++) {
        if (t[i].status != RP_OK)
            fail_msg("%s: %s", t[i].device, t[i].err.text);
        strcpy(found, t[i].path);
        same_archive();
        assert_int_equal(unlink(found), 0);
    }
    strcpy(found, kept);
    assert_int_equal(alive(), 0);
}

static int leave(void **state)
{
    char command[96];

    (void)state;
    (void)snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_archive_of_the_device_is_the_processors),
        cmocka_unit_test(threads_train_beside_each_other),
        cmocka_unit_test(a_device_that_passed_is_handed_on_and_no_other_is),
        cmocka_unit_test(a_device_that_passed_and_broke_is_opened_anew),
        cmocka_unit_test(a_device_that_broke_while_it_was_idle_is_opened_anew),
        cmocka_unit_test(memory_that_nobody_released_goes_with_its_device),
        cmocka_unit_test(a_workspace_is_found_where_memory_is_short),
        cmocka_unit_test(every_call_that_fails_is_an_error_that_names_it),
        cmocka_unit_test(work_that_fails_on_the_device_is_told_by_who_waits),
        cmocka_unit_test(states_that_do_not_come_are_an_error_like_any_other),
        cmocka_unit_test(a_hash_that_fails_is_an_error_like_any_other),
    };

    return cmocka_run_group_tests(tests, prepare, leave);
}
