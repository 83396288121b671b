/* SPDX-License-Identifier: Apache-2.0
 * The emulated driver: work happens when it is waited for and no sooner, events and graphs keep its order and no more,
 * device memory is out of the host's reach, and every call fails when it is told to. */
#include "tests/emu/calls.h"

#include <signal.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N = 256, BYTES = N * 4 };

struct add_parameters {
    rp_cu_pointer a, b, y;
    uint64_t n;
};

static float ones[N], twos[N], found[N];

static int open_first(void **state)
{
    (void)state;
    for (size_t i = 0; i < N; i++)
        ones[i] = 1, twos[i] = 2;
    rp_emulated_order(0);
    open_device(0);
    return 0;
}

static int close_first(void **state)
{
    (void)state;
    close_device(0);
    return rp_emulated_alive() != 0; /* nothing is left */
}

static float *pinned_memory(size_t bytes)
{
    void *p;

    ok(cuMemHostAlloc(&p, bytes, RP_CU_HOST_PORTABLE));
    return p;
}

static void put_add(rp_cu_pointer a, rp_cu_pointer b, rp_cu_pointer y, rp_cu_stream s)
{
    struct add_parameters p = {a, b, y, N};

    ok(launch("emu_add", N / 128, 1, 128, &p, s));
}

static void expect_all(const float *x, float value)
{
    for (size_t i = 0; i < N; i++)
        assert_true(x[i] == value);
}

/* ---- streams ---- */

static void work_happens_when_it_is_waited_for(void **state)
{
    rp_cu_stream s = new_stream();
    float *in = pinned_memory(BYTES), *out = pinned_memory(BYTES);
    rp_cu_pointer p;

    (void)state;
    memcpy(in, ones, BYTES);
    memset(out, 0, BYTES);
    p = on_device(in, BYTES, s);
    put_add(p, p, p, s);
    ok(cuMemcpyDtoHAsync_v2(out, p, BYTES, s));
    expect_all(out, 0);      /* not yet */
    memcpy(in, twos, BYTES); /* pinned memory is read when the copy happens: too early a change is seen */
    ok(cuStreamSynchronize(s));
    expect_all(out, 4);
    ok(cuMemcpyHtoDAsync_v2(p, ones, BYTES, s)); /* other memory has been read when the call returns */
    ones[0] = 7;
    ok(cuMemcpyDtoHAsync_v2(found, p, BYTES, s)); /* and is written before this one does */
    ones[0] = 1;
    expect_all(found, 1);
    ok(cuMemFreeHost(in));
    ok(cuMemFreeHost(out));
    ok(cuMemFree_v2(p));
    ok(cuStreamDestroy_v2(s));
}

static void streams_know_nothing_of_each_other_but_by_events(void **state)
{
    rp_cu_stream s = new_stream(), t = new_stream();
    rp_cu_event e;
    float *out = pinned_memory(BYTES);
    rp_cu_pointer p = on_device(twos, BYTES, s);

    (void)state;
    ok(cuStreamSynchronize(s));
    ok(cuEventCreate(&e, RP_CU_EVENT_DISABLE_TIMING));
    put_add(p, p, p, s);
    ok(cuMemcpyDtoHAsync_v2(out, p, BYTES, t)); /* nobody said that it comes after */
    ok(cuStreamSynchronize(t));
    expect_all(out, 2);
    ok(cuEventRecord(e, s));
    put_add(p, p, p, s); /* behind the event: not waited for */
    ok(cuStreamWaitEvent(t, e, 0));
    ok(cuMemcpyDtoHAsync_v2(out, p, BYTES, t));
    ok(cuStreamSynchronize(t));
    expect_all(out, 4);
    ok(cuEventRecord(e, s));
    ok(cuEventSynchronize(e));
    ok(cuMemcpyDtoHAsync_v2(out, p, BYTES, t));
    ok(cuStreamSynchronize(t));
    expect_all(out, 8);
    ok(cuEventDestroy_v2(e));
    ok(cuMemFreeHost(out));
}

static void time_passes_between_events(void **state)
{
    rp_cu_stream s = new_stream();
    rp_cu_event e, f;
    float ms;
    rp_cu_pointer p = on_device(twos, BYTES, s);

    (void)state;
    ok(cuEventCreate(&e, 0));
    ok(cuEventCreate(&f, 0));
    ok(cuEventRecord(e, s));
    put_add(p, p, p, s);
    ok(cuEventRecord(f, s));
    assert_int_equal(cuEventElapsedTime(&ms, e, f), RP_CU_NOT_READY);
    ok(cuStreamSynchronize(s));
    ok(cuEventElapsedTime(&ms, e, f));
    assert_true(ms > 0 && ms < 1000);
    ok(cuEventDestroy_v2(e));
    ok(cuEventDestroy_v2(f));
}

static void the_legacy_stream_waits_for_those_that_do_not_refuse_it(void **state)
{
    rp_cu_stream blocking, free_of_it = new_stream();
    float *out = pinned_memory(BYTES);
    rp_cu_pointer p = on_device(ones, BYTES, NULL), q = on_device(ones, BYTES, NULL);

    (void)state;
    ok(cuStreamCreate(&blocking, 0));
    put_add(p, p, p, blocking);
    ok(cuMemcpyDtoHAsync_v2(out, p, BYTES, NULL));
    ok(cuStreamSynchronize(NULL));
    expect_all(out, 2);
    put_add(q, q, q, free_of_it);
    ok(cuMemcpyDtoHAsync_v2(out, q, BYTES, NULL));
    ok(cuStreamSynchronize(NULL));
    expect_all(out, 1);
    ok(cuMemFreeHost(out));
}

/* ---- graphs ---- */

/* p doubled twice on s, q made of ones on t beside; then p + q. */
static rp_cu_graph capture(rp_cu_pointer p, rp_cu_pointer q, rp_cu_pointer one, rp_cu_stream s, rp_cu_stream t)
{
    rp_cu_event fork, join;
    rp_cu_graph graph;

    ok(cuEventCreate(&fork, RP_CU_EVENT_DISABLE_TIMING));
    ok(cuEventCreate(&join, RP_CU_EVENT_DISABLE_TIMING));
    ok(cuStreamBeginCapture_v2(s, RP_CU_CAPTURE_THREAD_LOCAL));
    put_add(p, p, p, s);
    ok(cuEventRecord(fork, s));
    ok(cuStreamWaitEvent(t, fork, 0));
    put_add(one, one, q, t);
    put_add(p, p, p, s);
    ok(cuEventRecord(join, t));
    ok(cuStreamWaitEvent(s, join, 0));
    put_add(p, q, p, s);
    ok(cuStreamEndCapture(s, &graph));
    ok(cuEventDestroy_v2(fork));
    ok(cuEventDestroy_v2(join));
    return graph;
}

static void a_graph_runs_what_was_captured_each_time_it_is_launched(void **state)
{
    (void)state;
    for (int order = 0; order < 3; order++) {
        rp_cu_stream s = new_stream(), t = new_stream();
        rp_cu_pointer one = on_device(ones, BYTES, s), p = on_device(ones, BYTES, s), q = on_device(NULL, BYTES, s);
        rp_cu_graph graph;
        rp_cu_graph_exec exec;

        rp_emulated_order(order);
        graph = capture(p, q, one, s, t);
        ok(cuGraphInstantiateWithFlags(&exec, graph, 0));
        ok(cuGraphDestroy(graph));
        ok(cuMemcpyDtoHAsync_v2(found, p, BYTES, s));
        expect_all(found, 1); /* capturing did nothing */
        ok(cuGraphLaunch(exec, s));
        ok(cuGraphLaunch(exec, s));
        ok(cuGraphExecDestroy(exec)); /* it stays until it has run */
        ok(cuMemcpyDtoHAsync_v2(found, p, BYTES, s));
        expect_all(found, (1 * 4 + 2) * 4 + 2);
    }
}

static void a_stream_that_does_not_join_its_capture_again_is_an_error(void **state)
{
    rp_cu_stream s = new_stream(), t = new_stream();
    rp_cu_pointer p = on_device(ones, BYTES, s);
    rp_cu_event fork;
    rp_cu_graph graph;

    (void)state;
    ok(cuStreamSynchronize(s));
    ok(cuEventCreate(&fork, RP_CU_EVENT_DISABLE_TIMING));
    ok(cuStreamBeginCapture_v2(s, RP_CU_CAPTURE_THREAD_LOCAL));
    ok(cuEventRecord(fork, s));
    ok(cuStreamWaitEvent(t, fork, 0));
    put_add(p, p, p, t);
    assert_int_equal(cuStreamEndCapture(s, &graph), 904);
    assert_null(graph);
    ok(cuEventDestroy_v2(fork));
}

/* ---- memory ---- */

static void memory_of_a_device_is_its_own(void **state)
{
    size_t before, after, total;
    rp_cu_pointer p, q;
    rp_cu_stream s = new_stream();

    (void)state;
    ok(cuMemGetInfo_v2(&before, &total));
    assert_int_equal(cuMemAlloc_v2(&p, total + 1), RP_CU_OUT_OF_MEMORY);
    assert_int_equal(p, 0);
    assert_int_equal(cuMemAlloc_v2(&p, 0), RP_CU_INVALID_VALUE);
    ok(cuMemAlloc_v2(&p, 1000));
    ok(cuMemAlloc_v2(&q, 1000));
    assert_int_equal(p % 256, 0);
    ok(cuMemGetInfo_v2(&after, &total));
    assert_int_equal(before - after, 2000);
    assert_int_equal(cuMemcpyHtoDAsync_v2(p + 900, ones, 101, s), RP_CU_INVALID_VALUE);
    assert_int_equal(cuMemcpyDtoDAsync_v2(p, (rp_cu_pointer)(uintptr_t)ones, 8, s), RP_CU_INVALID_VALUE);
    ok(cuMemFree_v2(p));
    assert_int_equal(cuMemFree_v2(p), RP_CU_INVALID_VALUE);
    ok(cuMemFree_v2(q));
}

/* In a process of its own: whether it dies of the access. */
static bool dies(void (*act)(rp_cu_pointer), rp_cu_pointer p)
{
    int status;
    const pid_t child = fork();

    if (child == 0) {
        (void)signal(SIGSEGV, SIG_DFL);
        act(p);
        _exit(0);
    }
    assert_true(waitpid(child, &status, 0) == child);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV;
}

static void host_reads(rp_cu_pointer p)
{
    found[0] = *(volatile float *)(uintptr_t)p;
}

static void host_writes(rp_cu_pointer p)
{
    *(volatile float *)(uintptr_t)p = 1;
}

static void the_host_cannot_touch_it_and_kernels_cannot_touch_the_hosts(void **state)
{
    rp_cu_stream s = new_stream();
    rp_cu_pointer p = on_device(ones, BYTES, s);

    (void)state;
    assert_true(dies(host_reads, p));
    assert_true(dies(host_writes, p));
    put_add((rp_cu_pointer)(uintptr_t)ones, p, p, s);
    assert_int_equal(cuStreamSynchronize(s), RP_CU_ILLEGAL_ADDRESS);
}

static void devices_are_apart(void **state)
{
    rp_cu_context second;
    rp_cu_stream s = new_stream(), other;
    rp_cu_pointer p = on_device(ones, BYTES, s);
    int count;

    (void)state;
    ok(cuDeviceGetCount(&count));
    assert_int_equal(count, 2);
    ok(cuDevicePrimaryCtxRetain(&second, 1));
    ok(cuCtxSetCurrent(second));
    other = new_stream();
    assert_int_equal(cuMemcpyDtoHAsync_v2(found, p, BYTES, other), RP_CU_INVALID_VALUE);
    assert_int_equal(cuStreamSynchronize(s), 400);
    rp_emulated_fail("kernel", 1, RP_CU_LAUNCH_FAILED);
    {
        rp_cu_pointer q = on_device(ones, BYTES, other);
        rp_cu_module first = module;

        ok(cuModuleLoadData(&module, image));
        put_add(q, q, q, other);
        assert_int_equal(cuStreamSynchronize(other), RP_CU_LAUNCH_FAILED);
        (void)cuModuleUnload(module);
        module = first;
    }
    ok(cuDevicePrimaryCtxRelease_v2(1));
    rp_cu_context one;
    ok(cuDevicePrimaryCtxRetain(&one, 0));
    ok(cuCtxSetCurrent(one));
    ok(cuDevicePrimaryCtxRelease_v2(0));
    put_add(p, p, p, s); /* the first is as it was */
    ok(cuMemcpyDtoHAsync_v2(found, p, BYTES, s));
    expect_all(found, 2);
}

static void launches_are_looked_at(void **state)
{
    struct add_parameters p = {0, 0, 0, 0};
    void *given[] = {&p};
    rp_cu_stream s = new_stream();
    rp_cu_function f;

    (void)state;
    assert_int_equal(cuModuleGetFunction(&f, module, "emu_nothing"), RP_CU_NOT_FOUND);
    ok(cuModuleGetFunction(&f, module, "emu_add"));
    assert_int_equal(cuLaunchKernel(f, 0, 1, 1, 128, 1, 1, 0, s, given, NULL), RP_CU_INVALID_VALUE);
    assert_int_equal(cuLaunchKernel(f, 1, 1, 1, 129, 1, 1, 0, s, given, NULL), RP_CU_INVALID_VALUE);
    assert_int_equal(cuLaunchKernel(f, 1, 65536, 1, 128, 1, 1, 0, s, given, NULL), RP_CU_INVALID_VALUE);
    assert_int_equal(cuLaunchKernel(f, 1, 1, 1, 128, 1, 1, 50000, s, given, NULL), RP_CU_INVALID_VALUE);
    ok(cuFuncSetAttribute(f, RP_CU_FUNCTION_DYNAMIC_SHARED, 50000));
    ok(cuLaunchKernel(f, 1, 1, 1, 128, 1, 1, 50000, s, given, NULL));
    ok(cuStreamSynchronize(s));
}

/* ---- errors on request ---- */

/* A short life of a device, which stops at the first error and gives everything back. */
static int life(void)
{
    rp_cu_context context;
    rp_cu_module m = NULL;
    rp_cu_function f;
    rp_cu_stream s = NULL;
    rp_cu_event e = NULL;
    rp_cu_graph graph = NULL;
    rp_cu_graph_exec exec = NULL;
    rp_cu_pointer p = 0;
    void *host = NULL;
    struct add_parameters parameters = {0, 0, 0, N};
    void *given[] = {&parameters};
    int result = cuDevicePrimaryCtxRetain(&context, 0);

    if (result != 0)
        return result;
    (void)((result = cuCtxSetCurrent(context)) || (result = cuModuleLoadData(&m, image)) ||
           (result = cuModuleGetFunction(&f, m, "emu_add")) || (result = cuStreamCreate(&s, 1)) ||
           (result = cuEventCreate(&e, 0)) || (result = cuMemHostAlloc(&host, BYTES, 0)) ||
           (result = cuMemAlloc_v2(&p, BYTES)));
    parameters.a = parameters.b = parameters.y = p;
    if (result == 0)
        memcpy(host, ones, BYTES);
    (void)(result || (result = cuMemcpyHtoDAsync_v2(p, host, BYTES, s)) ||
           (result = cuStreamBeginCapture_v2(s, RP_CU_CAPTURE_THREAD_LOCAL)) ||
           (result = cuLaunchKernel(f, 2, 1, 1, 128, 1, 1, 0, s, given, NULL)) ||
           (result = cuStreamEndCapture(s, &graph)) || (result = cuGraphInstantiateWithFlags(&exec, graph, 0)) ||
           (result = cuGraphLaunch(exec, s)) || (result = cuEventRecord(e, s)) ||
           (result = cuMemcpyDtoHAsync_v2(host, p, BYTES, s)) || (result = cuEventSynchronize(e)) ||
           (result = cuStreamSynchronize(s)));
    if (result == 0)
        expect_all(host, 2);
    if (s && graph == NULL) /* a stream that may still capture is ended before anything is given back */
        (void)cuStreamEndCapture(s, &graph);
    (void)cuGraphExecDestroy(exec);
    (void)cuGraphDestroy(graph);
    (void)cuMemFree_v2(p);
    if (host)
        (void)cuMemFreeHost(host);
    if (e)
        (void)cuEventDestroy_v2(e);
    if (s)
        (void)cuStreamDestroy_v2(s);
    if (m)
        (void)cuModuleUnload(m);
    (void)cuDevicePrimaryCtxRelease_v2(0);
    return result;
}

static void every_call_fails_when_it_is_told_to(void **state)
{
    static const int codes[] = {RP_CU_OUT_OF_MEMORY, RP_CU_LAUNCH_FAILED, 46};
    const unsigned long before = rp_emulated_calls("any");
    unsigned long calls;

    (void)state;
    ok(cuInit(0));
    ok(life());
    calls = rp_emulated_calls("any") - before - 1;
    assert_true(calls > 20);
    for (size_t code = 0; code < sizeof codes / sizeof *codes; code++)
        for (unsigned nth = 1; nth <= calls; nth++) {
            int result;

            rp_emulated_fail("any", nth, codes[code]);
            result = life();
            rp_emulated_fail(NULL, 0, 0);
            if (result != 0)
                assert_int_equal(result, codes[code]);
            ok(life()); /* and all is well again */
        }
    rp_emulated_fail("kernel", 1, RP_CU_LAUNCH_FAILED);
    assert_int_equal(life(), RP_CU_LAUNCH_FAILED);
    rp_emulated_fail("copy", 2, 214);
    assert_int_equal(life(), 214);
    ok(life());
}

static void results_have_names(void **state)
{
    const char *text;

    (void)state;
    ok(cuGetErrorName(RP_CU_OUT_OF_MEMORY, &text));
    assert_string_equal(text, "CUDA_ERROR_OUT_OF_MEMORY");
    ok(cuGetErrorString(RP_CU_ILLEGAL_ADDRESS, &text));
    assert_non_null(strstr(text, "illegal"));
    assert_int_equal(cuGetErrorName(12345, &text), RP_CU_INVALID_VALUE);
    assert_null(text);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_first, close_first)
    const struct CMUnitTest tests[] = {
        TEST(work_happens_when_it_is_waited_for),
        TEST(streams_know_nothing_of_each_other_but_by_events),
        TEST(time_passes_between_events),
        TEST(the_legacy_stream_waits_for_those_that_do_not_refuse_it),
        TEST(a_graph_runs_what_was_captured_each_time_it_is_launched),
        TEST(a_stream_that_does_not_join_its_capture_again_is_an_error),
        TEST(memory_of_a_device_is_its_own),
        TEST(the_host_cannot_touch_it_and_kernels_cannot_touch_the_hosts),
        TEST(devices_are_apart),
        TEST(launches_are_looked_at),
        cmocka_unit_test(every_call_fails_when_it_is_told_to),
        cmocka_unit_test(results_have_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
