/* SPDX-License-Identifier: Apache-2.0
 * What every device promises (kernels/device.h), on the CPU and on one whose memory is far: names, copies in order on
 * streams, events, mappings, and the first wrong index, which stops all that follows it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "kernels/conformance/conformance.h"
#include "kernels/device_ops.h"
#include "kernels/walk.h"
#include "tests/kernels/far_device.h"

static const char *names[] = {"cpu", "far"}; /* the second: far_device_name() */
enum { DEVICES = 2 };

static rp_device *device_of(const char *name, unsigned threads)
{
    rp_device *device;
    rp_error err;

    if (rp_device_open(&device, name, "ref", threads, &err) != RP_OK)
        fail_msg("%s", err.text);
    return device;
}

static void *memory_of(rp_device *device, const void *bytes, size_t size)
{
    void *memory;

    assert_int_equal(rp_device_allocate(device, &memory, size, NULL), RP_OK);
    assert_int_equal((uintptr_t)memory % 64, 0);
    assert_int_equal(rp_device_upload(device, memory, bytes, size, NULL, NULL), RP_OK);
    return memory;
}

static rp_status open_nothing(rp_device **out, const char *level, unsigned threads, rp_error *err)
{
    (void)level, (void)threads;
    *out = NULL;
    return rp_fail(err, RP_EUNSUPPORTED, "nothing");
}

static void devices_have_names(void **state)
{
    rp_device *device;
    rp_error err;

    (void)state;
    assert_int_equal(rp_device_open(&device, "gpu", NULL, 1, &err), RP_EUNSUPPORTED);
    assert_null(device);
    assert_string_equal(err.text, "device: expected one of this build's (cpu, cuda, emulated, far), found gpu");
    assert_string_equal(rp_device_name(0), "cpu");
    assert_string_equal(rp_device_name(1), "cuda");
    assert_string_equal(rp_device_name(2), "emulated");
    assert_string_equal(rp_device_name(3), "far");
    assert_null(rp_device_name(4));
    assert_true(rp_device_known("cuda:12") && rp_device_known("emulated:0") && rp_device_known("far"));
    assert_false(rp_device_known("cuda:") || rp_device_known("cuda:x") || rp_device_known("cuda:1000") ||
                 rp_device_known("cudas") || rp_device_known("cpu:0"));
    assert_int_equal(rp_device_register("cpu", open_nothing, &err), RP_EARG);
    assert_int_equal(rp_device_register("cuda", open_nothing, &err), RP_EARG);
    assert_int_equal(rp_device_register("far", open_nothing, &err), RP_EARG);
    assert_string_equal(err.text, "device far: the name is taken");
    device = device_of("", 1);
    assert_string_equal(rp_device_kind(device), "cpu");
    assert_string_equal(rp_device_identity(device), "cpu-ref");
    rp_device_free(device);
    assert_int_equal(rp_device_register("none", open_nothing, &err), RP_OK);
    assert_int_equal(rp_device_open(&device, "none", NULL, 1, &err), RP_EUNSUPPORTED);
}

/* Through three memories on two streams, the second of which waits for a place in the first. */
static void copies_follow_one_another_across_streams(void **state)
{
    (void)state;
    for (int i = 0; i < DEVICES; i++) {
        rp_device *device = device_of(names[i], 2);
        char text[] = "along the way", back[sizeof text] = "";
        void *a = memory_of(device, "unseen bytes.", sizeof text), *b = memory_of(device, "nor these one", sizeof text);
        rp_stream *first, *second;
        rp_event *event;

        assert_int_equal(rp_stream_new(device, &first, NULL), RP_OK);
        assert_int_equal(rp_stream_new(device, &second, NULL), RP_OK);
        assert_int_equal(rp_event_new(device, &event, NULL), RP_OK);
        assert_int_equal(rp_device_synchronize(device, NULL, NULL), RP_OK);
        assert_int_equal(rp_device_upload(device, a, text, sizeof text, first, NULL), RP_OK);
        memset(text, 'x', sizeof text); /* an upload has read when it returns */
        assert_int_equal(rp_event_record(device, event, first, NULL), RP_OK);
        assert_int_equal(rp_event_wait(device, event, second, NULL), RP_OK);
        assert_int_equal(rp_device_copy(device, b, a, sizeof text, second, NULL), RP_OK);
        assert_int_equal(rp_device_read(device, back, b, sizeof text, second, NULL), RP_OK);
        assert_string_equal(back, "along the way");
        rp_event_free(device, event);
        rp_stream_free(device, first);
        rp_stream_free(device, second);
        rp_device_release(device, a);
        rp_device_release(device, b);
        rp_device_free(device);
    }
    assert_int_equal(far_device_faults(), 0);
}

static void mappings_hold_what_is_there(void **state)
{
    static const float x[3] = {1, 2, 3};

    (void)state;
    for (int i = 0; i < DEVICES; i++) {
        rp_device *device = device_of(names[i], 1);
        void *memory = memory_of(device, x, sizeof x);
        rp_mapping mapping;

        assert_int_equal(rp_device_map(device, &mapping, memory, sizeof x, NULL), RP_OK);
        assert_memory_equal(mapping.bytes, x, sizeof x);
        assert_int_equal(mapping.bytes == memory, rp_device_shares_memory(device));
        assert_int_equal(rp_device_shares_memory(device), i == 0);
        rp_device_unmap(device, &mapping);
        rp_device_unmap(device, &mapping);
        rp_device_release(device, memory);
        rp_device_free(device);
    }
    assert_int_equal(far_device_faults(), 0);
}

/* ---- indices ---- */

enum { WIDE = 300, HIGH = 700, COUNT = WIDE * HIGH };

/* Columns read as rows: element k of the view is at (k mod HIGH) * WIDE + k / HIGH. */
static rp_view turned(void *memory, rp_dtype dtype)
{
    return (rp_view){memory, dtype, 2, {WIDE, HIGH}, {1, WIDE}};
}

static void put_index(void *memory, rp_dtype dtype, size_t element, int64_t value)
{
    const size_t at = element % HIGH * WIDE + element / HIGH;

    if (dtype == RP_I32)
        ((int32_t *)memory)[at] = (int32_t)value;
    else
        ((int64_t *)memory)[at] = value;
}

/* Zero, as long as nothing runs; else one. */
static float after_a_launch(rp_device *device)
{
    const float nothing = 0;
    float seen;
    void *memory = memory_of(device, &nothing, sizeof nothing);
    rp_view out = {.data = memory, .dtype = RP_F32};
    const rp_attr one = {.r = 1};
    const rp_kernel_args args = {NULL, 0, &out, 1, (const rp_attr[]){one, one, one, one, one}};

    assert_int_equal(rp_device_launch(device, RP_K_fill, &args, NULL, NULL), RP_OK);
    assert_int_equal(rp_device_read(device, &seen, memory, sizeof seen, NULL, NULL), RP_OK);
    rp_device_release(device, memory);
    return seen;
}

static void check_with(rp_device *device, rp_dtype dtype, const size_t *element, const int64_t *value, size_t n)
{
    const size_t size = COUNT * rp_dtype_size(dtype);
    void *host = calloc(COUNT, rp_dtype_size(dtype)), *memory;
    rp_index_check check = {.bound = 1000, .where = 7};
    rp_index_fault fault = {0};

    for (size_t i = 0; i < COUNT; i++)
        put_index(host, dtype, i, (int64_t)(i % 1000));
    for (size_t i = 0; i < n; i++)
        put_index(host, dtype, element[i], value[i]);
    memory = memory_of(device, host, size);
    check.index = turned(memory, dtype);
    assert_int_equal(rp_device_check(device, &check, NULL, NULL), RP_OK);
    check.where = 8;
    check.bound = 1; /* wrong everywhere, but later */
    if (n > 0) {
        assert_int_equal(rp_device_check(device, &check, NULL, NULL), RP_OK);
        assert_true(after_a_launch(device) == 0);
    }
    assert_int_equal(rp_device_synchronize(device, NULL, NULL), RP_OK);
    assert_int_equal(rp_device_fault(device, &fault), n > 0);
    if (n > 0) {
        assert_int_equal(fault.where, 7);
        assert_int_equal(fault.element, element[0]);
        assert_int_equal(fault.value, value[0]);
        assert_int_equal(fault.bound, 1000);
    }
    assert_false(rp_device_fault(device, &fault));
    assert_true(after_a_launch(device) == 1);
    rp_device_release(device, memory);
    free(host);
}

static void the_first_wrong_index_is_told_and_stops_what_follows(void **state)
{
    static const unsigned threads[] = {1, 2, 3, 7};
    static const size_t at[][3] = {{0, 1, 2}, {COUNT - 1}, {30000, 30001, COUNT - 1}, {149999, 150000, 200000}};
    static const size_t n[] = {3, 1, 3, 3};
    static const int64_t value[3] = {1000, -1, 77777};

    (void)state;
    for (int d = 0; d < DEVICES; d++)
        for (size_t t = 0; t < sizeof threads / sizeof *threads; t++) {
            rp_device *device = device_of(names[d], threads[t]);

            for (int wide = 0; wide < 2; wide++) {
                check_with(device, wide ? RP_I64 : RP_I32, NULL, NULL, 0);
                for (size_t i = 0; i < sizeof n / sizeof *n; i++)
                    check_with(device, wide ? RP_I64 : RP_I32, at[i], value, n[i]);
            }
            rp_device_free(device);
        }
    assert_int_equal(far_device_faults(), 0);
}

static void empty_indices_are_right(void **state)
{
    (void)state;
    for (int d = 0; d < DEVICES; d++) {
        rp_device *device = device_of(names[d], 2);
        const rp_index_check check = {.index = {.dtype = RP_I32, .rank = 2, .shape = {3, 0}, .stride = {0, 1}}};
        rp_index_fault fault;

        assert_int_equal(rp_device_check(device, &check, NULL, NULL), RP_OK);
        assert_int_equal(rp_device_synchronize(device, NULL, NULL), RP_OK);
        assert_false(rp_device_fault(device, &fault));
        rp_device_free(device);
    }
}

/* The device for tests sees what it is there to see. */
static void touches_are_seen(void **state)
{
    rp_device *device = device_of("far", 1);
    float x = 1, y = 2;
    float *memory = memory_of(device, &x, sizeof x);
    rp_view in = {.data = &y, .dtype = RP_F32}, out = {.data = memory, .dtype = RP_F32};
    const rp_kernel_args args = {&in, 1, &out, 1, NULL};

    (void)state;
    assert_int_equal(rp_device_synchronize(device, NULL, NULL), RP_OK);
    assert_true(*(volatile float *)memory == 1); /* a touch, which is let through */
    assert_int_equal(far_device_faults(), 1);
    assert_int_equal(rp_device_synchronize(device, NULL, NULL), RP_OK);
    *(volatile float *)memory = 3;
    assert_int_equal(far_device_faults(), 1);
    assert_int_equal(rp_device_launch(device, RP_K_copy, &args, NULL, NULL), RP_OK); /* from memory of the host */
    assert_int_equal(rp_device_synchronize(device, NULL, NULL), RP_OK);
    assert_int_equal(far_device_faults(), 1);
    rp_device_release(device, memory);
    (void)*(volatile float *)memory; /* after the release */
    assert_int_equal(far_device_faults(), 1);
    rp_device_free(device);
    assert_int_equal(far_device_blocks(), 0);
}

static int setup(void **state)
{
    (void)state;
    far_device_register();
    names[1] = far_device_name();
    return 0;
}

/* A device of which one launch leaves another bit: the n-th that computes something. */
static rp_device_ops right, wrong;
static size_t launches_left;

static rp_status launch_wrongly(rp_device *device, rp_kernel_id kernel, const rp_kernel_args *args, rp_stream *stream,
                                rp_error *err)
{
    rp_status status = right.launch(device, kernel, args, stream, err);
    const rp_view *out = args->out;
    unsigned char *last = (unsigned char *)out->data + rp_dtype_size(out->dtype) - 1;

    if (status == RP_OK && rp_view_count(out) > 0 && launches_left > 0 && --launches_left == 0)
        *last = !*last; /* of a NaN too, it makes another value */
    return status;
}

static void one_wrong_value_is_no_conforming_device(void **state)
{
    static const size_t nth[] = {1, 2, 40, 63, 64, 65, 500, 0}; /* the last: none */
    rp_device *device = device_of("cpu", 1);
    size_t checked;
    rp_error err;

    (void)state;
    right = wrong = *device->ops;
    wrong.launch = launch_wrongly;
    device->ops = &wrong;
    for (size_t i = 0; i < sizeof nth / sizeof *nth; i++) {
        launches_left = nth[i];
        assert_int_equal(rp_conformance_device(device, false, &checked, &err), nth[i] > 0 ? RP_EBITS : RP_OK);
        assert_int_equal(rp_device_conforming(device), nth[i] > 0 ? 0 : checked);
        if (nth[i] > 0)
            assert_non_null(strstr(err.text, "other bits than the reference"));
    }
    assert_true(checked > 100);
    rp_device_free(device);
}

/* Whether the mapping that has this address is advised to be of large pages ("hg" of its VmFlags, proc(5)). */
static bool advised(const void *address)
{
    FILE *maps = fopen("/proc/self/smaps", "re");
    char line[512];
    unsigned long long begin, end;
    bool here = false, found = false;

    while (maps && fgets(line, sizeof line, maps)) {
        if (sscanf(line, "%llx-%llx ", &begin, &end) == 2)
            here = (uintptr_t)address >= begin && (uintptr_t)address < end;
        else if (here && strncmp(line, "VmFlags:", 8) == 0)
            found = strstr(line, " hg") != NULL;
    }
    if (maps)
        (void)fclose(maps);
    return found;
}

static void whole_large_pages_of_the_processor_s_memory_are_advised(void **state)
{
    enum { PAGE = 2 << 20 };
    static const size_t sizes[] = {PAGE - 1, PAGE, PAGE + PAGE / 2, 2 * PAGE - 1, 2 * PAGE, 5 * PAGE + 12345};
    const bool has = access("/sys/kernel/mm/transparent_hugepage/enabled", F_OK) == 0;
    rp_device *device = device_of("cpu", 1);
    size_t seen = 0;

    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        void *there;
        char *memory;

        assert_int_equal(rp_device_allocate(device, &there, sizes[i], NULL), RP_OK);
        memory = there;
        memory[0] = memory[sizes[i] - 1] = 1;
        /* that which begins a page's length behind the beginning, at the latest: it may share the last with others */
        for (char *page = memory + (PAGE - (uintptr_t)memory % PAGE); has && page + PAGE < memory + sizes[i];
             page += PAGE) {
            assert_true(advised(page));
            seen++;
        }
        rp_device_release(device, memory);
    }
    assert_true(!has || seen >= 4);
    rp_device_free(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(devices_have_names),
        cmocka_unit_test(copies_follow_one_another_across_streams),
        cmocka_unit_test(mappings_hold_what_is_there),
        cmocka_unit_test(the_first_wrong_index_is_told_and_stops_what_follows),
        cmocka_unit_test(empty_indices_are_right),
        cmocka_unit_test(touches_are_seen),
        cmocka_unit_test(one_wrong_value_is_no_conforming_device),
        cmocka_unit_test(whole_large_pages_of_the_processor_s_memory_are_advised),
    };

    return cmocka_run_group_tests(tests, setup, NULL);
}
