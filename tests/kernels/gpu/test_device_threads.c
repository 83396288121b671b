/* SPDX-License-Identifier: Apache-2.0
 * Threads and a GPU's devices, over a driver that executes nothing (recording.h): what several threads may do at once
 * is done without a race, which the thread sanitizer sees, and what they may not is an error. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "kernels/device.h"
#include "kernels/gpu/images.h"
#include "kernels/walk.h"
#include "tests/kernels/gpu/recording.h"

enum { TURNS = 200, BYTES = 4096, MESSAGES = 100 };

/* In place of the library's, which a build without nvcc does not have. */
const rp_gpu_image rp_gpu_images[] = {{"recording", (const unsigned char *)"image", NULL}, {0}};

static void (*on_launch)(rp_recording_launch *launch, void *context);

static int find_driver(void **state)
{
    void *driver;

    (void)state;
    if (setenv("RP_EMULATED_LIBRARY", RECORDING_DRIVER, 1) != 0)
        return -1;
    driver = dlopen(RECORDING_DRIVER, RTLD_NOW | RTLD_LOCAL);
    if (driver == NULL)
        return -1;
    *(void **)&on_launch = dlsym(driver, "rp_recording_on_launch");
    return on_launch == NULL;
}

/* What one thread does on a device of its own: launches, chains of copies, a sequence; streams and events that come and
 * go. Ends with the first error. */
typedef struct user {
    const char *device;
    rp_error err;
} user;

static rp_status launch_negation(rp_device *device, void *memory, rp_stream *stream, rp_error *err)
{
    static const rp_attr none[RP_MAX_ATTR];
    rp_view view = {.dtype = RP_F32, .rank = 1, .shape = {BYTES / 4}, .stride = {1}, .data = memory};

    return rp_device_launch(device, RP_K_neg, &(rp_kernel_args){&view, 1, &view, 1, none}, stream, err);
}

static rp_status check_index(rp_device *device, void *memory, rp_error *err)
{
    const rp_index_check check = {.index = {.dtype = RP_I32, .rank = 1, .shape = {8}, .stride = {1}, .data = memory},
                                  .bound = 3};

    return rp_device_check(device, &check, NULL, err);
}

static rp_status repeat(rp_device *device, void *memory, rp_error *err)
{
    rp_sequence *sequence = NULL;
    rp_status status = rp_sequence_begin(device, NULL, err);

    if (status != RP_OK)
        return status;
    status = launch_negation(device, memory, NULL, err);
    if (status == RP_OK)
        status = rp_sequence_end(device, &sequence, NULL, err);
    if (status == RP_OK)
        status = rp_sequence_launch(device, sequence, NULL, err);
    if (sequence != NULL)
        rp_sequence_free(device, sequence);
    return status;
}

static rp_status turn(rp_device *device, rp_stream *stream, rp_event *event, rp_error *err)
{
    char host[BYTES] = {0};
    void *memory = NULL;
    rp_status status = rp_device_allocate(device, &memory, BYTES, err);

    if (status == RP_OK)
        status = rp_device_upload(device, memory, host, BYTES, NULL, err);
    if (status == RP_OK)
        status = check_index(device, memory, err);
    if (status == RP_OK)
        status = launch_negation(device, memory, NULL, err);
    if (status == RP_OK)
        status = repeat(device, memory, err);
    if (status == RP_OK)
        status = rp_event_record(device, event, NULL, err);
    if (status == RP_OK)
        status = rp_event_wait(device, event, stream, err);
    if (status == RP_OK)
        status = rp_device_download(device, host, memory, BYTES, stream, err);
    if (status == RP_OK)
        status = rp_device_synchronize(device, stream, err);
    if (status == RP_OK)
        status = rp_device_synchronize(device, NULL, err);
    rp_device_release(device, memory);
    return status;
}

static void *use_a_device(void *context)
{
    user *u = context;
    rp_device *device = NULL;
    rp_stream *stream = NULL;
    rp_event *event = NULL;
    rp_status status = rp_device_open(&device, u->device, "ref", 2, &u->err);

    if (status == RP_OK)
        status = rp_stream_new(device, &stream, &u->err);
    if (status == RP_OK)
        status = rp_event_new(device, &event, &u->err);
    for (int i = 0; i < TURNS && status == RP_OK; i++)
        status = turn(device, stream, event, &u->err);
    if (device != NULL) {
        rp_event_free(device, event);
        rp_stream_free(device, stream);
    }
    rp_device_free(device);
    u->err.status = status;
    return NULL;
}

/* Two devices, and one device opened twice. */
static void threads_with_devices_of_their_own_do_not_meet(void **state)
{
    static user users[] = {{.device = "emulated"}, {.device = "emulated:1"}, {.device = "emulated"}};
    enum { N = sizeof users / sizeof *users };
    pthread_t thread[N];

    (void)state;
    for (size_t i = 0; i < N; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, use_a_device, &users[i]), 0);
    for (size_t i = 0; i < N; i++)
        assert_int_equal(pthread_join(thread[i], NULL), 0);
    for (size_t i = 0; i < N; i++)
        if (users[i].err.status != RP_OK)
            fail_msg("%s: %s", users[i].device, users[i].err.text);
}

/* ---- copies and hashes on a stream of their own, beside the thread that launches ---- */

typedef struct copier {
    rp_device *device;
    rp_stream *stream;
    void *memory;
    atomic_bool enough;
    rp_error err;
} copier;

static rp_status hash_there(rp_device *device, void *memory, size_t count, rp_stream *stream, rp_error *err)
{
    unsigned char digest[MESSAGES * 32];
    rp_device_message message[MESSAGES];
    rp_status status;

    for (size_t i = 0; i < count; i++)
        message[i] = (rp_device_message){memory, BYTES, 0, RP_F32};
    status = rp_device_hash(device, digest, message, count, stream, err);
    return status == RP_OK ? rp_device_synchronize(device, stream, err) : status;
}

/* Of more messages each time, so that the hash's workspace has to grow. */
static void *copy_on(void *context)
{
    copier *c = context;
    char host[BYTES] = {0};
    rp_status status = RP_OK;

    for (size_t n = 1; !atomic_load(&c->enough) && status == RP_OK; n += n < MESSAGES) {
        status = rp_device_upload(c->device, c->memory, host, BYTES, c->stream, &c->err);
        if (status == RP_OK)
            status = rp_device_copy(c->device, c->memory, c->memory, BYTES, c->stream, &c->err);
        if (status == RP_OK)
            status = hash_there(c->device, c->memory, n, c->stream, &c->err);
        if (status == RP_OK)
            status = rp_device_read(c->device, host, c->memory, BYTES, c->stream, &c->err);
    }
    c->err.status = status;
    return NULL;
}

/* In the middle of a launch: time for the other thread to come between any two of its steps. */
static void wait_a_little(void *context, const rp_recorded *launch)
{
    const struct timespec time = {.tv_nsec = 50000};

    (void)context, (void)launch;
    (void)nanosleep(&time, NULL);
}

static void copies_and_hashes_of_another_thread_go_beside_launches(void **state)
{
    copier c = {0};
    rp_error err = {0};
    rp_event *event = NULL;
    rp_status status = rp_device_open(&c.device, "emulated", "ref", 1, &err);
    rp_stream *own = NULL;
    pthread_t thread;

    (void)state;
    if (status == RP_OK)
        status = rp_stream_new(c.device, &c.stream, &err);
    if (status == RP_OK)
        status = rp_stream_new(c.device, &own, &err);
    if (status == RP_OK)
        status = rp_event_new(c.device, &event, &err);
    if (status == RP_OK)
        status = rp_device_allocate(c.device, &c.memory, BYTES, &err);
    if (status != RP_OK)
        fail_msg("%s", err.text);
    on_launch(wait_a_little, NULL);
    assert_int_equal(pthread_create(&thread, NULL, copy_on, &c), 0);
    for (int i = 0; i < TURNS && status == RP_OK; i++)
        status = turn(c.device, own, event, &err);
    atomic_store(&c.enough, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
    on_launch(NULL, NULL);
    if (status != RP_OK || c.err.status != RP_OK)
        fail_msg("%s", status != RP_OK ? err.text : c.err.text);
    rp_device_release(c.device, c.memory);
    rp_event_free(c.device, event);
    rp_stream_free(c.device, own);
    rp_stream_free(c.device, c.stream);
    rp_device_free(c.device);
}

enum { HASHERS = 3, ROUNDS = 20 };
static pthread_barrier_t line;

static void *hash_at_once(void *context)
{
    copier *c = context;

    (void)pthread_barrier_wait(&line);
    c->err.status = hash_there(c->device, c->memory, 1, c->stream, &c->err);
    return NULL;
}

/* Of a device that has launched nothing yet: all look for the kernel. */
static void threads_hash_at_once(void **state)
{
    (void)state;
    assert_int_equal(pthread_barrier_init(&line, NULL, HASHERS), 0);
    for (int round = 0; round < ROUNDS; round++) {
        copier c[HASHERS] = {{0}};
        pthread_t thread[HASHERS];
        rp_error err = {0};
        rp_status status = rp_device_open(&c[0].device, "emulated", "ref", 1, &err);

        for (int i = 0; i < HASHERS && status == RP_OK; i++) {
            c[i].device = c[0].device;
            status = rp_stream_new(c[0].device, &c[i].stream, &err);
            if (status == RP_OK)
                status = rp_device_allocate(c[0].device, &c[i].memory, BYTES, &err);
        }
        if (status != RP_OK)
            fail_msg("%s", err.text);
        for (int i = 0; i < HASHERS; i++)
            assert_int_equal(pthread_create(&thread[i], NULL, hash_at_once, &c[i]), 0);
        for (int i = 0; i < HASHERS; i++) {
            assert_int_equal(pthread_join(thread[i], NULL), 0);
            if (c[i].err.status != RP_OK)
                fail_msg("%s", c[i].err.text);
        }
        for (int i = 0; i < HASHERS; i++) {
            rp_device_release(c[0].device, c[i].memory);
            rp_stream_free(c[0].device, c[i].stream);
        }
        rp_device_free(c[0].device);
    }
    (void)pthread_barrier_destroy(&line);
}

/* ---- two threads that launch on one device ---- */

enum { LAUNCHES = 4 };

typedef struct meeting {
    rp_device *device;
    rp_stream *stream;
    void *memory;
    /* Of a launch, a check, a hash on the same stream and a sequence while the other thread launches, */
    rp_status status[LAUNCHES];
    rp_error err[LAUNCHES];
    rp_status beside; /* and of a hash on a stream of its own */
    rp_error beside_err;
    pthread_t thread;
    bool met;
} meeting;

static void *launch_meanwhile(void *context)
{
    meeting *m = context;

    m->status[0] = launch_negation(m->device, m->memory, NULL, &m->err[0]);
    m->status[1] = check_index(m->device, m->memory, &m->err[1]);
    m->status[2] = hash_there(m->device, m->memory, 1, NULL, &m->err[2]);
    m->beside = hash_there(m->device, m->memory, 1, m->stream, &m->beside_err);
    m->status[3] = rp_sequence_begin(m->device, NULL, &m->err[3]);
    return NULL;
}

/* In the middle of the first launch the other thread comes, and is gone before it ends. */
static void let_another_come(void *context, const rp_recorded *launch)
{
    meeting *m = context;

    (void)launch;
    if (m->met)
        return;
    m->met = true;
    assert_int_equal(pthread_create(&m->thread, NULL, launch_meanwhile, m), 0);
    assert_int_equal(pthread_join(m->thread, NULL), 0);
}

static void a_second_thread_that_launches_meanwhile_has_an_error(void **state)
{
    meeting m = {0};
    rp_error err = {0};
    rp_status status = rp_device_open(&m.device, "emulated", "ref", 1, &err);

    (void)state;
    if (status == RP_OK)
        status = rp_stream_new(m.device, &m.stream, &err);
    if (status == RP_OK)
        status = rp_device_allocate(m.device, &m.memory, BYTES, &err);
    if (status != RP_OK)
        fail_msg("%s", err.text);
    on_launch(let_another_come, &m);
    status = launch_negation(m.device, m.memory, NULL, &err);
    on_launch(NULL, NULL);
    assert_true(m.met);
    assert_int_equal(status, RP_OK);
    if (m.beside != RP_OK)
        fail_msg("%s", m.beside_err.text);
    for (int i = 0; i < LAUNCHES; i++) {
        assert_int_equal(m.status[i], RP_EARG);
        assert_non_null(strstr(m.err[i].text, "two threads launch"));
    }
    (void)launch_meanwhile(&m); /* later it may: a device goes from thread to thread */
    for (int i = 0; i < LAUNCHES; i++)
        assert_int_equal(m.status[i], RP_OK);
    rp_sequence *sequence = NULL;
    assert_int_equal(rp_sequence_end(m.device, &sequence, NULL, &err), RP_OK);
    rp_sequence_free(m.device, sequence);
    rp_device_release(m.device, m.memory);
    rp_stream_free(m.device, m.stream);
    rp_device_free(m.device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_with_devices_of_their_own_do_not_meet),
        cmocka_unit_test(copies_and_hashes_of_another_thread_go_beside_launches),
        cmocka_unit_test(threads_hash_at_once),
        cmocka_unit_test(a_second_thread_that_launches_meanwhile_has_an_error),
    };

    return cmocka_run_group_tests(tests, find_driver, NULL);
}
