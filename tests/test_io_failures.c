/* SPDX-License-Identifier: Apache-2.0
 * Every system call on a file fails in turn on each whole job: an error that says so, nothing under the final name, no
 * temporary and no descriptor left. Then reads and writes that do less than asked, or are interrupted; then a full disk.
 * Linked with --wrap for each call below, so all of the library's own calls come through here. */
#include "tests/small_job.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/types.h>

static size_t calls, failing_call; /* 0: none fails */
static enum { WHOLE, SHORT, INTERRUPTED } manner;
static size_t interruptions;

/* errno is then that of the failure. */
static bool fails_now(int number)
{
    if (!failing_call || ++calls != failing_call)
        return false;
    errno = number;
    return true;
}

/* How much of a transfer to do; 0: interrupt it. */
static size_t part_of_it(size_t size)
{
    if (manner == INTERRUPTED && ++interruptions % 2) {
        errno = EINTR;
        return 0;
    }
    return manner == SHORT && size > 7 ? 7 : size;
}

#define WRAP_TRANSFER(name, number, parameters, arguments)                          \
    ssize_t __real_##name parameters;                                               \
    ssize_t __wrap_##name parameters;                                               \
    ssize_t __wrap_##name parameters                                                \
    {                                                                               \
        size_t part = part_of_it(size);                                             \
        return fails_now(number) || (size && !part) ? -1 : __real_##name arguments; \
    }

#define WRAP(name, number, parameters, arguments)                       \
    int __real_##name parameters;                                       \
    int __wrap_##name parameters;                                       \
    int __wrap_##name parameters                                        \
    {                                                                   \
        return fails_now(number) ? -1 : __real_##name arguments;        \
    }

WRAP_TRANSFER(read, EIO, (int fd, void *to, size_t size), (fd, to, part))
WRAP_TRANSFER(write, ENOSPC, (int fd, const void *from, size_t size), (fd, from, part))
WRAP_TRANSFER(pread64, EIO, (int fd, void *to, size_t size, off_t at), (fd, to, part, at))
WRAP_TRANSFER(pwrite64, ENOSPC, (int fd, const void *from, size_t size, off_t at), (fd, from, part, at))
WRAP(fsync, EIO, (int fd), (fd))
WRAP(fchmod, EPERM, (int fd, mode_t mode), (fd, mode))
WRAP(fstat64, EIO, (int fd, struct stat *info), (fd, info))
WRAP(rename, EXDEV, (const char *from, const char *to), (from, to))
WRAP(link, ENOSPC, (const char *from, const char *to), (from, to))
WRAP(mkstemp64, ENOSPC, (char *path), (path))

int __real_open64(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...) /* the library only opens what exists: no mode */
{
    return fails_now(EMFILE) ? -1 : __real_open64(path, flags);
}

int __real_close(int fd);
int __wrap_close(int fd);
int __wrap_close(int fd) /* a failed close has closed */
{
    int result = __real_close(fd);

    return fails_now(EIO) ? -1 : result;
}

FILE *__real_fopen64(const char *path, const char *mode);
FILE *__wrap_fopen64(const char *path, const char *mode);
FILE *__wrap_fopen64(const char *path, const char *mode)
{
    return fails_now(EMFILE) ? NULL : __real_fopen64(path, mode);
}

static void arm(size_t n)
{
    calls = 0;
    failing_call = n;
}

static bool disarm(void)
{
    bool failed = calls >= failing_call;

    failing_call = 0;
    return failed;
}

static size_t counted(void)
{
    return calls;
}

static bool io_error(rp_status status)
{
    return status == RP_EIO;
}

static void every_failed_call_on_a_file_is_an_error_and_leaves_nothing(void **state)
{
    const sweep all = {arm, disarm, counted, NULL, io_error, 0};

    (void)state;
    for (size_t i = 0; i < SMALL_JOBS; i++)
        (void)sweep_job(&all, &small_jobs[i]);
}

static void transfers_in_small_or_interrupted_parts_change_no_byte(void **state)
{
    rp_error err = {0};
    rp_archive *whole = NULL, *parts = NULL;

    (void)state;
    assert_int_equal(rp_archive_open(&whole, job_signed, &err), RP_OK);
    for (manner = SHORT; manner <= INTERRUPTED; manner++) {
        for (size_t i = 1; i < SMALL_JOBS; i++) {
            if (small_jobs[i].work(&err) != RP_OK)
                fail_msg("%s: %s", small_jobs[i].name, err.text);
            (void)unlink(job_out);
            (void)unlink(job_out_public);
        }
        assert_int_equal(job_run(&err), RP_OK);
        assert_int_equal(rp_archive_open(&parts, job_out, &err), RP_OK);
        assert_string_equal(rp_archive_id(parts), rp_archive_id(whole));
        rp_archive_close(parts);
        assert_int_equal(unlink(job_out), 0);
    }
    manner = WHOLE;
    rp_archive_close(whole);
}

/* Disks of 4 KiB, 8 KiB, ... until the archive fits, each really full at another place. */
static void a_full_disk_is_an_error_and_leaves_nothing(void **state)
{
    char disk[80], command[200], path[120];
    rp_error err = {0};
    rp_status status = RP_EIO;
    size_t refused = 0;

    (void)state;
    (void)snprintf(disk, sizeof disk, "%s/disk", job_folder);
    (void)snprintf(path, sizeof path, "%s/full.reprise", disk);
    assert_int_equal(mkdir(disk, 0755), 0);
    for (int size = 4; status != RP_OK && size < 4096; size += 4) {
        size_t empty;

        (void)snprintf(command, sizeof command, "mount -t tmpfs -o size=%dk none %s 2>/dev/null", size, disk);
        if (geteuid() != 0 || system(command) != 0) {
            print_message("skipped: only root can mount a small disk here\n");
            (void)rmdir(disk);
            skip();
        }
        empty = job_entries(disk);
        status = job_train_as(path, job_private, &err);
        if (status != RP_OK) {
            assert_int_equal(status, RP_EIO);
            assert_non_null(strstr(err.text, "No space left on device"));
            assert_int_equal(job_entries(disk), empty);
            refused++;
        }
        (void)snprintf(command, sizeof command, "umount %s", disk);
        assert_int_equal(system(command), 0);
    }
    assert_int_equal(rmdir(disk), 0);
    assert_int_equal(status, RP_OK);
    print_message("%zu sizes of disk were too small\n", refused);
    assert_true(refused > 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_failed_call_on_a_file_is_an_error_and_leaves_nothing),
        cmocka_unit_test(transfers_in_small_or_interrupted_parts_change_no_byte),
        cmocka_unit_test(a_full_disk_is_an_error_and_leaves_nothing),
    };

    return cmocka_run_group_tests(tests, job_setup, job_teardown);
}
