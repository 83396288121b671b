/* SPDX-License-Identifier: Apache-2.0
 * What the emulated driver refuses while a stream captures: each call with its code; and the capture is given up with
 * it, until it is ended and the stream is a stream again. */
#include "tests/emu/calls.h"

#include <pthread.h>
#include <stdbool.h>

enum { N = 256, BYTES = N * 4 };

struct add_parameters {
    rp_cu_pointer a, b, y;
    uint64_t n;
};

static float ones[N], found[N];
/* What calls are made with: streams, of which s captures and t does not refuse the legacy one; events, recorded outside
 * before, in the capture, and never; memory. */
static rp_cu_stream s, t, other;
static rp_cu_event outside, inside, never, fresh;
static rp_cu_pointer p, spare;
static void *pinned;
static rp_cu_graph_exec exec;

static int add(rp_cu_stream stream)
{
    struct add_parameters parameters = {p, p, p, N};

    return launch("emu_add", N / 128, 1, 128, &parameters, stream);
}

static rp_cu_graph_exec graph_of_one(void)
{
    rp_cu_graph graph;
    rp_cu_graph_exec made;

    ok(cuStreamBeginCapture_v2(other, RP_CU_CAPTURE_THREAD_LOCAL));
    ok(add(other));
    ok(cuStreamEndCapture(other, &graph));
    ok(cuGraphInstantiateWithFlags(&made, graph, 0));
    ok(cuGraphDestroy(graph));
    return made;
}

static int open_first(void **state)
{
    rp_cu_event *const events[] = {&outside, &inside, &never, &fresh};

    (void)state;
    for (size_t i = 0; i < N; i++)
        ones[i] = 1;
    rp_emulated_order(0);
    open_device(0);
    s = new_stream();
    other = new_stream();
    ok(cuStreamCreate(&t, 0));
    for (size_t i = 0; i < sizeof events / sizeof *events; i++)
        ok(cuEventCreate(events[i], RP_CU_EVENT_DISABLE_TIMING));
    p = on_device(ones, BYTES, s);
    spare = on_device(NULL, BYTES, s);
    ok(cuMemHostAlloc(&pinned, BYTES, 0));
    ok(cuEventRecord(outside, other));
    exec = graph_of_one();
    ok(cuStreamSynchronize(s));
    ok(cuStreamSynchronize(other));
    return 0;
}

static int close_first(void **state)
{
    rp_cu_event const events[] = {outside, inside, never, fresh};

    (void)state;
    for (size_t i = 0; i < sizeof events / sizeof *events; i++)
        ok(cuEventDestroy_v2(events[i]));
    ok(cuGraphExecDestroy(exec));
    ok(cuMemFreeHost(pinned));
    close_device(0);
    return rp_emulated_alive() != 0;
}

/* ---- each call ---- */

static int allocate(void)
{
    rp_cu_pointer q;

    return cuMemAlloc_v2(&q, BYTES);
}

static int release(void)
{
    return cuMemFree_v2(spare);
}

static int host_allocate(void)
{
    void *q;

    return cuMemHostAlloc(&q, BYTES, 0);
}

static int host_release(void)
{
    return cuMemFreeHost(pinned);
}

static int load_module(void)
{
    rp_cu_module m;

    return cuModuleLoadData(&m, image);
}

static int unload_module(void)
{
    return cuModuleUnload(module);
}

static int wait_for_it(void)
{
    return cuStreamSynchronize(s);
}

static int wait_for_another(void)
{
    return cuStreamSynchronize(other);
}

static int wait_for_an_event(void)
{
    return cuEventSynchronize(outside);
}

static int wait_for_its_event(void)
{
    return cuEventSynchronize(inside);
}

static int wait_for_what_is_outside(void)
{
    return cuStreamWaitEvent(s, outside, 0);
}

static int upload_pageable(void)
{
    return cuMemcpyHtoDAsync_v2(p, ones, BYTES, s);
}

static int download_pageable(void)
{
    return cuMemcpyDtoHAsync_v2(found, p, BYTES, s);
}

static int begin_again(void)
{
    return cuStreamBeginCapture_v2(s, RP_CU_CAPTURE_THREAD_LOCAL);
}

static int launch_a_graph(void)
{
    return cuGraphLaunch(exec, s);
}

static const struct {
    const char *name;
    int (*call)(void);
    int result;
} refused[] = {
    {"cuMemAlloc", allocate, 900},
    {"cuMemFree", release, 900},
    {"cuMemHostAlloc", host_allocate, 900},
    {"cuMemFreeHost", host_release, 900},
    {"cuModuleLoadData", load_module, 900},
    {"cuModuleUnload", unload_module, 900},
    {"cuStreamSynchronize of the stream", wait_for_it, 900},
    {"cuStreamSynchronize of another", wait_for_another, 900},
    {"cuEventSynchronize", wait_for_an_event, 900},
    {"cuEventSynchronize of an event that is captured", wait_for_its_event, 907},
    {"cuStreamWaitEvent of an event from outside", wait_for_what_is_outside, 905},
    {"cuMemcpyHtoDAsync of pageable memory", upload_pageable, 900},
    {"cuMemcpyDtoHAsync to pageable memory", download_pageable, 900},
    {"cuStreamBeginCapture", begin_again, 900},
    {"cuGraphLaunch", launch_a_graph, 900},
};

static void begin(int mode)
{
    ok(cuStreamBeginCapture_v2(s, mode));
    ok(add(s));
    ok(cuEventRecord(inside, s));
}

/* The stream's work is done again. */
static void expect_a_stream(rp_cu_stream stream)
{
    ok(cuMemcpyHtoDAsync_v2(p, ones, BYTES, stream));
    ok(add(stream));
    ok(cuMemcpyDtoHAsync_v2(found, p, BYTES, stream));
    ok(cuStreamSynchronize(stream));
    for (size_t i = 0; i < N; i++)
        assert_true(found[i] == 2);
}

static void expect_given_up(const char *what)
{
    rp_cu_graph graph;

    if (add(s) != 901 || cuEventRecord(fresh, s) != 901 || cuStreamWaitEvent(other, inside, 0) != 901)
        fail_msg("%s: the capture goes on", what);
    assert_int_equal(cuStreamEndCapture(s, &graph), 901);
    assert_null(graph);
    expect_a_stream(s);
    assert_int_equal(cuEventSynchronize(inside), 907); /* it stays what it was */
    assert_int_equal(cuStreamWaitEvent(other, inside, 0), 907);
    ok(cuEventRecord(inside, s));
    ok(cuEventSynchronize(inside));
}

static void each_call_that_is_forbidden_ends_in_its_error(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        int result;

        begin(RP_CU_CAPTURE_THREAD_LOCAL);
        result = refused[i].call();
        if (result != refused[i].result)
            fail_msg("%s: expected %d, found %d", refused[i].name, refused[i].result, result);
        expect_given_up(refused[i].name);
    }
}

static void what_is_allowed_is_no_error(void **state)
{
    rp_cu_graph graph;
    rp_cu_graph_exec made;
    rp_cu_context context;
    rp_cu_function f;
    size_t free_bytes, total;

    (void)state;
    begin(RP_CU_CAPTURE_THREAD_LOCAL);
    ok(cuStreamWaitEvent(s, never, 0)); /* nothing was recorded */
    ok(cuMemsetD8Async(p, 0, BYTES, s));
    ok(cuMemcpyHtoDAsync_v2(p, pinned, BYTES, s));
    ok(cuMemcpyDtoDAsync_v2(spare, p, BYTES, s));
    ok(cuMemcpyDtoHAsync_v2(pinned, spare, BYTES, s));
    ok(add(other)); /* at once, and no part of it */
    ok(cuEventRecord(fresh, other));
    ok(cuMemcpyHtoDAsync_v2(spare, pinned, BYTES, NULL)); /* s refuses the legacy stream */
    ok(cuModuleGetFunction(&f, module, "emu_add"));
    ok(cuFuncSetAttribute(f, RP_CU_FUNCTION_DYNAMIC_SHARED, 1024));
    ok(cuMemGetInfo_v2(&free_bytes, &total));
    ok(cuDevicePrimaryCtxRetain(&context, 0));
    ok(cuCtxSetCurrent(context));
    ok(cuDevicePrimaryCtxRelease_v2(0));
    ok(cuStreamEndCapture(s, &graph));
    ok(cuGraphInstantiateWithFlags(&made, graph, 0));
    ok(cuGraphDestroy(graph));
    ok(cuGraphLaunch(made, s));
    ok(cuGraphExecDestroy(made));
    ok(cuStreamSynchronize(s));
    ok(cuStreamSynchronize(other));
}

static void the_legacy_stream_is_not_used_beside_a_capture_that_it_would_wait_for(void **state)
{
    rp_cu_graph graph;

    (void)state;
    for (int way = 0; way < 4; way++) {
        int result;

        ok(cuStreamBeginCapture_v2(t, RP_CU_CAPTURE_THREAD_LOCAL));
        ok(add(t));
        result = way == 0   ? add(NULL)
                 : way == 1 ? cuStreamSynchronize(NULL)
                 : way == 2 ? cuEventRecord(fresh, NULL)
                            : cuStreamWaitEvent(NULL, outside, 0);
        assert_int_equal(result, 906);
        assert_int_equal(add(t), 901);
        assert_int_equal(cuStreamEndCapture(t, &graph), 901);
        expect_a_stream(t);
    }
    assert_int_equal(cuStreamBeginCapture_v2(NULL, RP_CU_CAPTURE_THREAD_LOCAL), 900);
    assert_int_equal(cuStreamBeginCapture_v2(s, 3), RP_CU_INVALID_VALUE);
}

static void two_captures_do_not_become_one(void **state)
{
    rp_cu_graph graph;

    (void)state;
    begin(RP_CU_CAPTURE_THREAD_LOCAL);
    ok(cuStreamBeginCapture_v2(other, RP_CU_CAPTURE_THREAD_LOCAL));
    assert_int_equal(cuStreamWaitEvent(other, inside, 0), 902);
    assert_int_equal(cuStreamEndCapture(s, &graph), 901);
    assert_int_equal(cuStreamEndCapture(other, &graph), 901);
    expect_a_stream(other);
}

static void a_capture_ends_where_it_began(void **state)
{
    rp_cu_graph graph;

    (void)state;
    assert_int_equal(cuStreamEndCapture(s, &graph), RP_CU_INVALID_VALUE);
    begin(RP_CU_CAPTURE_THREAD_LOCAL);
    ok(cuStreamWaitEvent(other, inside, 0)); /* it has joined */
    assert_int_equal(cuStreamEndCapture(other, &graph), 903);
    assert_int_equal(cuStreamEndCapture(s, &graph), 901);
    expect_a_stream(other);
}

/* A stream that has joined and then lets another wait hands on all that it follows, with nothing of its own between. */
static void an_event_stands_for_all_that_its_stream_follows(void **state)
{
    rp_cu_graph graph;

    (void)state;
    begin(RP_CU_CAPTURE_THREAD_LOCAL);
    ok(cuStreamWaitEvent(other, inside, 0));
    ok(add(other));
    ok(cuEventRecord(fresh, other));
    ok(cuStreamWaitEvent(t, inside, 0));
    ok(cuStreamWaitEvent(t, fresh, 0));
    ok(cuEventRecord(never, t));
    ok(cuStreamWaitEvent(s, never, 0));
    ok(cuStreamEndCapture(s, &graph));
    ok(cuGraphDestroy(graph));
}

static void a_stream_that_is_destroyed_ends_its_capture(void **state)
{
    rp_cu_stream gone = new_stream();
    rp_cu_graph graph;

    (void)state;
    ok(cuStreamBeginCapture_v2(gone, RP_CU_CAPTURE_THREAD_LOCAL));
    ok(add(gone));
    ok(cuStreamDestroy_v2(gone));
    ok(cuStreamSynchronize(s)); /* nothing captures */
    gone = new_stream();
    begin(RP_CU_CAPTURE_THREAD_LOCAL);
    ok(cuStreamWaitEvent(gone, inside, 0));
    ok(cuStreamDestroy_v2(gone));
    assert_int_equal(cuStreamEndCapture(s, &graph), 901);
}

/* ---- other threads ---- */

static int elsewhere[2];

static void *waits_and_ends(void *context)
{
    rp_cu_graph graph = NULL;

    ok(cuDevicePrimaryCtxRetain((rp_cu_context *)context, 0));
    ok(cuCtxSetCurrent(*(rp_cu_context *)context));
    elsewhere[0] = cuStreamSynchronize(other);
    elsewhere[1] = cuStreamEndCapture(s, &graph);
    if (graph)
        ok(cuGraphDestroy(graph));
    ok(cuDevicePrimaryCtxRelease_v2(0));
    return NULL;
}

static void in_another_thread(void)
{
    rp_cu_context context;
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, waits_and_ends, &context), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

static void a_capture_is_its_threads_or_forbids_all(void **state)
{
    rp_cu_graph graph;

    (void)state;
    begin(RP_CU_CAPTURE_THREAD_LOCAL);
    in_another_thread();
    assert_int_equal(elsewhere[0], RP_CU_SUCCESS);
    assert_int_equal(elsewhere[1], 908);
    assert_int_equal(cuStreamEndCapture(s, &graph), 901);
    begin(0); /* of all threads */
    in_another_thread();
    assert_int_equal(elsewhere[0], 900);
    assert_int_equal(cuStreamEndCapture(s, &graph), 901);
    begin(2); /* relaxed */
    ok(cuStreamSynchronize(other));
    in_another_thread();
    ok(elsewhere[0]);
    ok(elsewhere[1]);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_first, close_first)
    const struct CMUnitTest tests[] = {
        TEST(each_call_that_is_forbidden_ends_in_its_error),
        TEST(what_is_allowed_is_no_error),
        TEST(the_legacy_stream_is_not_used_beside_a_capture_that_it_would_wait_for),
        TEST(two_captures_do_not_become_one),
        TEST(a_capture_ends_where_it_began),
        TEST(an_event_stands_for_all_that_its_stream_follows),
        TEST(a_stream_that_is_destroyed_ends_its_capture),
        TEST(a_capture_is_its_threads_or_forbids_all),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
