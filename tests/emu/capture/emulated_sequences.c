/* SPDX-License-Identifier: Apache-2.0
 * Sequences of launches on the emulated device, whose driver refuses in the middle of a capture what a true one does:
 * nothing of that is asked for, memory that is short is no reason not to go on, and what fails is told. */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/run/repeat/repeat.h"
#include "kernels/device.h"
#include "kernels/gpu/driver_abi.h"
#include "kernels/walk.h"

static rp_error err;
static void (*fail_next)(const char *call, unsigned nth, int result);
static unsigned long (*calls)(const char *call);

#define OK(call) \
    do { \
        if ((call) != RP_OK) \
            fail_msg("%s: %s", #call, err.text); \
    } while (0)

static int find_driver(void **state)
{
    void *driver = dlopen(getenv("RP_EMULATED_LIBRARY"), RTLD_NOW | RTLD_LOCAL);

    (void)state;
    if (!driver)
        return -1;
    *(void **)&fail_next = dlsym(driver, "rp_emulated_fail");
    *(void **)&calls = dlsym(driver, "rp_emulated_calls");
    return !fail_next || !calls;
}

/* A wrong index that a check has found waits for who synchronizes; a capture that cannot begin does not lose it. */
static void a_capture_that_fails_to_begin_loses_no_fault(void **state)
{
    const int32_t index[2] = {0, 9};
    rp_index_check check = {.index = {.dtype = RP_I32, .rank = 1, .shape = {2}, .stride = {1}}, .bound = 3};
    rp_index_fault fault;
    rp_device *device;

    (void)state;
    OK(rp_device_open(&device, "emulated", NULL, 1, &err));
    OK(rp_device_allocate(device, &check.index.data, sizeof index, &err));
    OK(rp_device_upload(device, check.index.data, index, sizeof index, NULL, &err));
    OK(rp_device_check(device, &check, NULL, &err));
    fail_next("cuStreamBeginCapture_v2", 1, RP_CU_OUT_OF_MEMORY);
    assert_int_equal(rp_sequence_begin(device, NULL, &err), RP_ENOMEM);
    fail_next(NULL, 0, 0);
    OK(rp_device_synchronize(device, NULL, &err));
    assert_true(rp_device_fault(device, &fault));
    assert_int_equal(fault.value, 9);
    rp_device_release(device, check.index.data);
    rp_device_free(device);
}

/* The driver gives no memory while a stream is captured, and would be of no use after: nobody asks it. */
static void a_workspace_is_not_made_while_launches_are_captured(void **state)
{
    enum { LONG = 9000 };
    static float ones[LONG];
    const rp_attr attr[RP_MAX_ATTR] = {{.n = 1, .list = {0}}};
    rp_view in = {.dtype = RP_F32, .rank = 1, .shape = {LONG}, .stride = {1}};
    rp_view out = {.dtype = RP_F32, .rank = 1, .shape = {1}, .stride = {1}};
    const rp_kernel_args args = {&in, 1, &out, 1, attr};
    rp_sequence *sequence;
    rp_device *device;
    float sum = 0;

    (void)state;
    for (size_t i = 0; i < LONG; i++)
        ones[i] = 1;
    OK(rp_device_open(&device, "emulated", NULL, 1, &err));
    OK(rp_device_allocate(device, &in.data, sizeof ones, &err));
    OK(rp_device_allocate(device, &out.data, sizeof sum, &err));
    OK(rp_device_upload(device, in.data, ones, sizeof ones, NULL, &err));
    OK(rp_sequence_begin(device, NULL, &err));
    assert_int_equal(rp_device_launch(device, RP_K_sum, &args, NULL, &err), RP_ENOMEM);
    assert_non_null(strstr(err.text, "while it is captured"));
    OK(rp_sequence_end(device, &sequence, NULL, &err)); /* the capture is none the worse */
    rp_sequence_free(device, sequence);
    OK(rp_device_launch(device, RP_K_sum, &args, NULL, &err));
    OK(rp_sequence_begin(device, NULL, &err));
    OK(rp_device_launch(device, RP_K_sum, &args, NULL, &err));
    OK(rp_sequence_end(device, &sequence, NULL, &err));
    OK(rp_sequence_launch(device, sequence, NULL, &err));
    OK(rp_device_read(device, &sum, out.data, sizeof sum, NULL, &err));
    assert_true(sum == LONG);
    rp_sequence_free(device, sequence);
    rp_device_release(device, in.data);
    rp_device_release(device, out.data);
    rp_device_free(device);
}

/* A file of kernels is loaded when the first of them is launched, which a capture forbids; what fails is told by the
 * file's name. */
static void kernels_are_loaded_when_they_are_launched_and_not_in_a_capture(void **state)
{
    const rp_attr attr[RP_MAX_ATTR] = {{.n = 1, .list = {0}}};
    const unsigned long before = calls("cuModuleLoadData");
    rp_view in = {.dtype = RP_F32, .rank = 1, .shape = {1}, .stride = {1}}, out = in;
    const rp_kernel_args args = {&in, 1, &out, 1, attr};
    rp_sequence *sequence;
    rp_device *device;

    (void)state;
    OK(rp_device_open(&device, "emulated", NULL, 1, &err));
    OK(rp_device_allocate(device, &in.data, sizeof(float), &err));
    OK(rp_device_allocate(device, &out.data, sizeof(float), &err));
    OK(rp_sequence_begin(device, NULL, &err));
    assert_int_equal(rp_device_launch(device, RP_K_sum, &args, NULL, &err), RP_ENOMEM);
    assert_non_null(strstr(err.text, "the kernels of reduce are not loaded"));
    OK(rp_sequence_end(device, &sequence, NULL, &err));
    rp_sequence_free(device, sequence);
    assert_int_equal(calls("cuModuleLoadData"), before);
    fail_next("cuModuleLoadData", 1, RP_CU_OUT_OF_MEMORY);
    assert_int_equal(rp_device_launch(device, RP_K_sum, &args, NULL, &err), RP_ENOMEM);
    assert_non_null(strstr(err.text, "kernels of reduce: "));
    assert_non_null(strstr(err.text, "cuModuleLoadData"));
    fail_next(NULL, 0, 0);
    for (int i = 0; i < 2; i++)
        OK(rp_device_launch(device, RP_K_sum, &args, NULL, &err));
    assert_int_equal(calls("cuModuleLoadData"), before + 2);
    OK(rp_device_launch(device, RP_K_abs, &args, NULL, &err));
    assert_int_equal(calls("cuModuleLoadData"), before + 3);
    rp_device_release(device, in.data);
    rp_device_release(device, out.data);
    rp_device_free(device);
}

static void sum_of(rp_device *device, void *memory, size_t count)
{
    const rp_attr attr[RP_MAX_ATTR] = {{.n = 1, .list = {0}}};
    rp_view in = {.data = memory, .dtype = RP_F32, .rank = 1, .shape = {count}, .stride = {0}};
    rp_view out = {.data = memory, .dtype = RP_F32, .rank = 1, .shape = {1}, .stride = {1}};

    OK(rp_device_launch(device, RP_K_sum, &(rp_kernel_args){&in, 1, &out, 1, attr}, NULL, &err));
}

/* Hashes beside the steps have a workspace of their own stream's, which no sequence has the address of. */
static void a_workspace_that_moves_ends_its_own_streams_sequences(void **state)
{
    enum { MESSAGES = 100 };
    unsigned char digest[32 * MESSAGES];
    rp_device_message message[MESSAGES];
    rp_sequence *sequence;
    rp_device *device;
    rp_stream *beside;
    void *memory;

    (void)state;
    OK(rp_device_open(&device, "emulated", NULL, 1, &err));
    OK(rp_stream_new(device, &beside, &err));
    OK(rp_device_allocate(device, &memory, sizeof(float), &err));
    OK(rp_device_upload(device, memory, &(float){1}, sizeof(float), NULL, &err));
    for (size_t i = 0; i < MESSAGES; i++)
        message[i] = (rp_device_message){memory, sizeof(float), 0, RP_F32};
    sum_of(device, memory, 9000);
    OK(rp_device_hash(device, digest, message, 1, beside, &err));
    OK(rp_sequence_begin(device, NULL, &err));
    sum_of(device, memory, 9000);
    OK(rp_sequence_end(device, &sequence, NULL, &err));
    OK(rp_device_hash(device, digest, message, MESSAGES, beside, &err));
    assert_true(rp_sequence_current(device, sequence));
    sum_of(device, memory, 400000);
    assert_false(rp_sequence_current(device, sequence));
    OK(rp_device_synchronize(device, beside, &err));
    rp_sequence_free(device, sequence);
    rp_device_release(device, memory);
    rp_stream_free(device, beside);
    rp_device_free(device);
}

/* What the driver refuses in the middle of a capture is told, with the call, and no sequence is made. */
static void a_call_that_a_capture_forbids_is_an_error_that_names_it(void **state)
{
    static const char *const told[] = {"cuMemAlloc: CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
                                       "cuStreamSynchronize: CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
                                       "cuMemHostAlloc: CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"};

    (void)state;
    for (size_t way = 0; way < sizeof told / sizeof *told; way++) {
        rp_sequence *sequence = NULL;
        rp_device *device;
        void *memory = NULL;
        rp_status status;

        OK(rp_device_open(&device, "emulated", NULL, 1, &err));
        OK(rp_sequence_begin(device, NULL, &err));
        status = way == 0   ? rp_device_allocate(device, &memory, 64, &err)
                 : way == 1 ? rp_device_synchronize(device, NULL, &err)
                            : rp_device_pin(device, &memory, 64, &err);
        assert_int_equal(status, RP_EIO);
        if (!strstr(err.text, told[way]))
            fail_msg("expected %s, found %s", told[way], err.text);
        assert_int_equal(rp_sequence_end(device, &sequence, NULL, &err), RP_EIO);
        assert_null(sequence);
        assert_int_equal(rp_device_allocate(device, &memory, 64, &err), RP_EIO); /* what broke it is told on */
        assert_non_null(strstr(err.text, told[way]));
        rp_device_free(device);
    }
}

static unsigned long launches;

typedef struct one_call {
    rp_device *device;
    rp_view view;
} one_call;

static rp_status launch_one(void *plan, size_t *i, size_t end, rp_error *error)
{
    static const rp_attr none[RP_MAX_ATTR];
    one_call *c = plan;
    const rp_status status =
        rp_device_launch(c->device, RP_K_neg, &(rp_kernel_args){&c->view, 1, &c->view, 1, none}, NULL, error);

    launches++;
    if (status == RP_OK)
        *i = end;
    return status;
}

static void calls_that_failed_are_launched_again_before_they_are_captured(void **state)
{
    one_call c = {.view = {.dtype = RP_F32, .rank = 1, .shape = {1}, .stride = {1}}};
    rp_repeat *list = NULL;
    const unsigned long before = calls("cuStreamBeginCapture_v2");
    int arena;

    (void)state;
    OK(rp_device_open(&c.device, "emulated", NULL, 1, &err));
    OK(rp_device_allocate(c.device, &c.view.data, sizeof(float), &err));
    launches = 0;
    for (size_t run = 0; run < 4; run++) {
        size_t i = 0;
        rp_status status;

        fail_next(run == 0 ? "cuLaunchKernel" : NULL, run == 0, run == 0 ? RP_CU_OUT_OF_MEMORY : 0);
        status = rp_repeat_calls(&list, c.device, &arena, &i, 1, launch_one, &c, &err);
        fail_next(NULL, 0, 0);
        assert_int_equal(status, run == 0 ? RP_ENOMEM : RP_OK);
        assert_int_equal(calls("cuStreamBeginCapture_v2") - before, run >= 2);
    }
    assert_int_equal(launches, 3); /* failed, done, captured; the fourth run is the sequence alone */
    rp_repeat_free(list);
    rp_device_release(c.device, c.view.data);
    rp_device_free(c.device);
}

/* A kernel that wants more memory of the device's own than it did in the first run. */
static rp_status launch_growing(void *plan, size_t *i, size_t end, rp_error *error)
{
    const rp_attr attr[RP_MAX_ATTR] = {{.n = 1, .list = {0}}};
    one_call *c = plan;
    rp_view in = {.data = c->view.data, .dtype = RP_F32, .rank = 1, .shape = {9000}, .stride = {0}};
    rp_status status = RP_OK;

    if (launches++ > 0)
        status = rp_device_launch(c->device, RP_K_sum, &(rp_kernel_args){&in, 1, &c->view, 1, attr}, NULL, error);
    if (status == RP_OK)
        *i = end;
    return status;
}

static void calls_that_want_more_memory_when_they_are_captured_go_on_without(void **state)
{
    one_call c = {.view = {.dtype = RP_F32, .rank = 1, .shape = {1}, .stride = {1}}};
    rp_repeat *list = NULL;
    const float one = 1;
    float found_there = 0;
    int arena;

    (void)state;
    OK(rp_device_open(&c.device, "emulated", NULL, 1, &err));
    OK(rp_device_allocate(c.device, &c.view.data, sizeof(float), &err));
    launches = 0;
    for (size_t run = 0; run < 3; run++) {
        size_t i = 0;

        OK(rp_device_upload(c.device, c.view.data, &one, sizeof one, NULL, &err));
        OK(rp_repeat_calls(&list, c.device, &arena, &i, 1, launch_growing, &c, &err));
        assert_int_equal(i, 1);
    }
    OK(rp_device_read(c.device, &found_there, c.view.data, sizeof one, NULL, &err));
    assert_true(found_there == 9000);
    rp_repeat_free(list);
    rp_device_release(c.device, c.view.data);
    rp_device_free(c.device);
}

static void calls_go_on_where_there_is_no_memory_for_a_sequence(void **state)
{
    static const char *const calls_of_one[] = {"cuStreamBeginCapture_v2", "cuStreamEndCapture",
                                               "cuGraphInstantiateWithFlags"};

    (void)state;
    for (size_t k = 0; k < sizeof calls_of_one / sizeof *calls_of_one; k++) {
        one_call c = {.view = {.dtype = RP_F32, .rank = 1, .shape = {1}, .stride = {1}}};
        const float one = 1;
        float found_there = 0;
        rp_repeat *list = NULL;
        int arena;

        OK(rp_device_open(&c.device, "emulated", NULL, 1, &err));
        OK(rp_device_allocate(c.device, &c.view.data, sizeof one, &err));
        OK(rp_device_upload(c.device, c.view.data, &one, sizeof one, NULL, &err));
        for (size_t run = 0; run < 3; run++) {
            size_t i = 0;

            fail_next(run == 1 ? calls_of_one[k] : NULL, run == 1, run == 1 ? RP_CU_OUT_OF_MEMORY : 0);
            OK(rp_repeat_calls(&list, c.device, &arena, &i, 1, launch_one, &c, &err));
            fail_next(NULL, 0, 0);
            assert_int_equal(i, 1);
        }
        OK(rp_device_read(c.device, &found_there, c.view.data, sizeof one, NULL, &err));
        assert_true(found_there == -1); /* negated three times, each run once */
        rp_repeat_free(list);
        rp_device_release(c.device, c.view.data);
        rp_device_free(c.device);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_capture_that_fails_to_begin_loses_no_fault),
        cmocka_unit_test(a_workspace_is_not_made_while_launches_are_captured),
        cmocka_unit_test(kernels_are_loaded_when_they_are_launched_and_not_in_a_capture),
        cmocka_unit_test(a_workspace_that_moves_ends_its_own_streams_sequences),
        cmocka_unit_test(a_call_that_a_capture_forbids_is_an_error_that_names_it),
        cmocka_unit_test(calls_that_failed_are_launched_again_before_they_are_captured),
        cmocka_unit_test(calls_that_want_more_memory_when_they_are_captured_go_on_without),
        cmocka_unit_test(calls_go_on_where_there_is_no_memory_for_a_sequence),
    };

    return cmocka_run_group_tests(tests, find_driver, NULL);
}
