/* SPDX-License-Identifier: Apache-2.0
 * Jobs on the CPU device and on one whose memory the host cannot touch (tests/kernels/far_device.h; with RP_FAR_DEVICE
 * on another such device): no touch, and whatever is written has the bytes that the CPU device gives it. */
#ifndef TESTS_AUDIT_RECORD_FAR_JOBS_H
#define TESTS_AUDIT_RECORD_FAR_JOBS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "audit/record/recorder.h"
#include "base/file.h"
#include "rp/program.h"
#include "rp/rp.h"
#include "tests/kernels/far_device.h"

#define OK(call) \
    do { \
        if ((call) != RP_OK) \
            fail_msg("%s: %s", #call, err.text); \
    } while (0)

static const char *devices[] = {"cpu", "far"}; /* the second: far_device_name() */
static char folder[] = "/tmp/rp_far_XXXXXX";
static char path_text[8][200];
static rp_error err;

static inline const char *path_of(const char *name, const char *device)
{
    static unsigned next;
    char *out = path_text[next++ % 8];

    (void)snprintf(out, sizeof path_text[0], "%s/%s%s%s", folder, name, *device ? "." : "", device);
    return out;
}

static inline void put_file(const char *name, const char *text)
{
    OK(rp_file_save(path_of(name, ""), text, strlen(text), true, 0644, &err));
}

static inline void no_touch(const char *what)
{
    const size_t faults = far_device_faults();

    if (faults)
        far_device_places(stderr);
    if (faults || far_device_blocks())
        fail_msg("%s: the host touched device memory %zu times, and left %zu blocks", what, faults,
                 far_device_blocks());
}

static inline void same_text(const char *what, const void *a, size_t a_size, const void *b, size_t b_size)
{
    if (a_size != b_size || memcmp(a, b, a_size) != 0)
        fail_msg("%s differs between the devices: %zu and %zu bytes\n%.600s\n---\n%.600s", what, a_size, b_size,
                 a_size < 5000 ? (const char *)a : "", b_size < 5000 ? (const char *)b : "");
}

static inline void same_files(const char *name)
{
    rp_buffer a = {0}, b = {0};

    OK(rp_file_read(path_of(name, "cpu"), SIZE_MAX / 2, &a, &err));
    OK(rp_file_read(path_of(name, devices[1]), SIZE_MAX / 2, &b, &err));
    assert_true(a.size > 0);
    same_text(name, a.data, a.size, b.data, b.size);
    rp_buffer_free(&a);
    rp_buffer_free(&b);
}

/* The job's file `name` on both devices, and what it cost the far one. */
static inline void on_both(const char *name, void (*job)(const char *name, const char *device))
{
    const size_t before = far_device_launches();

    job(name, devices[0]);
    assert_int_equal(far_device_launches(), before);
    job(name, devices[1]);
    assert_true(far_device_launches() > before);
    no_touch(name);
    same_files(name);
}

static inline rp_job_options options_of(const char *device)
{
    return (rp_job_options){.threads = 2, .device = device};
}

static inline rp_archive *archive_of(const char *path)
{
    rp_archive *archive;

    OK(rp_archive_open(&archive, path, &err));
    return archive;
}

static inline void replay(const char *path, const rp_replay_choice *choice)
{
    rp_job_options options = options_of(devices[1]);
    rp_archive *archive = archive_of(path);
    rp_job *job;

    options.choice = choice;
    OK(rp_replay(archive, &options, &job, &err));
    rp_job_free(job);
    rp_archive_close(archive);
    no_touch(path);
}

static inline int far_setup(void)
{
    far_device_register();
    devices[1] = far_device_name();
    return mkdtemp(folder) ? 0 : -1;
}

static inline int far_teardown(void **state)
{
    char command[160];

    (void)state;
    (void)snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

#endif
