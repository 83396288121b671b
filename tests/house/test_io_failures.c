/* SPDX-License-Identifier: Apache-2.0
 * Every system call on a file fails in turn on each whole job: an error that says so, nothing under the final name, no
 * temporary and no descriptor left. Then the same in runs that make resume points and in resumed ones, after which the
 * run must go on to the same bytes. Then reads and writes that do less than asked, or are interrupted; then a full
 * disk. Linked with --wrap for each call below, so all of the library's own calls come through here. */
#include "tests/house/sweep.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/file.h"

/* Room is asked for before a run begins; here disks are to be full in the midst of it. */
rp_status __wrap_rp_space_check(const char *path, uint64_t size, rp_error *err);
rp_status __wrap_rp_space_check(const char *path, uint64_t size, rp_error *err)
{
    (void)path;
    (void)size;
    (void)err;
    return RP_OK;
}

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

#define WRAP_TRANSFER(name, number, parameters, arguments) \
    ssize_t __real_##name parameters; \
    ssize_t __wrap_##name parameters; \
    ssize_t __wrap_##name parameters \
    { \
        size_t part = part_of_it(size); \
        return fails_now(number) || (size && !part) ? -1 : __real_##name arguments; \
    }

#define WRAP(name, number, parameters, arguments) \
    int __real_##name parameters; \
    int __wrap_##name parameters; \
    int __wrap_##name parameters \
    { \
        return fails_now(number) ? -1 : __real_##name arguments; \
    }

WRAP_TRANSFER(read, EIO, (int fd, void *to, size_t size), (fd, to, part))
WRAP_TRANSFER(write, ENOSPC, (int fd, const void *from, size_t size), (fd, from, part))
WRAP_TRANSFER(pread64, EIO, (int fd, void *to, size_t size, off_t at), (fd, to, part, at))
WRAP_TRANSFER(pwrite64, ENOSPC, (int fd, const void *from, size_t size, off_t at), (fd, from, part, at))
int __wrap_fsync(int fd);
int __wrap_fsync(int fd) /* what it does shows only when the power goes, and it would take most of the time here */
{
    (void)fd;
    return fails_now(EIO) ? -1 : 0;
}

WRAP(mkdir, ENOSPC, (const char *path, mode_t mode), (path, mode))
WRAP(unlinkat, EIO, (int fd, const char *path, int flags), (fd, path, flags))
WRAP(ftruncate64, EIO, (int fd, off_t size), (fd, size))
WRAP(flock, ENOLCK, (int fd, int how), (fd, how))
WRAP(fchmod, EPERM, (int fd, mode_t mode), (fd, mode))
WRAP(fstat64, EIO, (int fd, struct stat *info), (fd, info))
WRAP(rename, EXDEV, (const char *from, const char *to), (from, to))
WRAP(link, ENOSPC, (const char *from, const char *to), (from, to))
WRAP(mkstemp64, ENOSPC, (char *path), (path))

int __real_open64(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...)
{
    mode_t mode = 0;
    va_list list;

    va_start(list, flags);
    if (flags & O_CREAT)
        mode = va_arg(list, mode_t);
    va_end(list);
    return fails_now(EMFILE) ? -1 : __real_open64(path, flags, mode);
}

DIR *__real_opendir(const char *path);
DIR *__wrap_opendir(const char *path);
DIR *__wrap_opendir(const char *path)
{
    return fails_now(EMFILE) ? NULL : __real_opendir(path);
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
    const sweep all = {arm, disarm, counted, NULL, io_error, 0, false, false, false, false};

    (void)state;
    for (size_t i = 0; i < SMALL_JOBS; i++)
        if (small_jobs[i].work != job_resume) /* has a test of its own below */
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

/* ---- resume points ---- */

static rp_buffer right; /* the archive of a run that nothing disturbed, unsigned */

/* Stops after `stop` steps (0: never); a point at every chance. */
static bool stop_here(void *self, const rp_progress *progress)
{
    return progress->step != *(const uint64_t *)self;
}

static rp_status run_with_points(const char *path, uint64_t stop, bool resume, rp_error *err)
{
    rp_job_options options = {
        .threads = 1, .level = "ref", .progress = stop_here, .self = &stop, .save_every = 1e-9, .resume = resume};
    rp_job *job;
    rp_status status = rp_train_recipe(job_recipe, path, NULL, false, &options, &job, err);

    rp_job_free(job);
    return status;
}

static bool is_right(const char *path)
{
    rp_buffer found = {0};
    bool same = rp_file_read(path, 1 << 24, &found, NULL) == RP_OK && found.size == right.size &&
                memcmp(found.data, right.data, right.size) == 0;

    rp_buffer_free(&found);
    return same;
}

static void shell(const char *command, const char *path)
{
    char line[400];

    (void)snprintf(line, sizeof line, "p='%s'; %s", path, command);
    assert_int_equal(system(line), 0);
}

static void make_right(void)
{
    rp_error err;
    rp_job *job;

    if (right.size)
        return;
    assert_int_equal(rp_train_recipe(job_recipe, job_out, NULL, false, &job_options, &job, &err), RP_OK);
    rp_job_free(job);
    assert_int_equal(rp_file_read(job_out, 1 << 24, &right, &err), RP_OK);
    assert_int_equal(unlink(job_out), 0);
}

/* Something failed, or was made good. Whatever has the final name is right, and the run goes on to the same bytes. */
static void goes_on(size_t n, rp_status status, const char *text)
{
    rp_error err = {0};

    if (status != RP_OK && (status != RP_EIO || !*text))
        fail_msg("call %zu failing gives %s \"%s\"", n, rp_status_name(status), text);
    if ((status == RP_OK || access(job_out, F_OK) == 0) && !is_right(job_out))
        fail_msg("call %zu failing: another file under the final name", n);
    status = run_with_points(job_out, 0, true, &err);
    if (status != RP_OK && status != RP_EEXIST)
        fail_msg("after call %zu failed: %s", n, err.text);
    if (!is_right(job_out))
        fail_msg("after call %zu failed: another archive", n);
    assert_int_equal(unlink(job_out), 0);
}

static void a_run_goes_on_after_any_failed_call_to_the_same_bytes(void **state)
{
    char points[120];
    size_t descriptors = job_entries("/proc/self/fd"), total[2];

    (void)state;
    make_right();
    (void)snprintf(points, sizeof points, "%s.resume", job_out);
    for (int resumed = 0; resumed <= 1; resumed++) {
        bool failed = true;
        rp_error err;

        for (size_t n = 1; failed; n++) {
            rp_status status;

            if (resumed)
                assert_int_equal(run_with_points(job_out, 2, false, &err), RP_ECANCELED);
            err = (rp_error){0};
            arm(n);
            status = run_with_points(job_out, 0, resumed, &err);
            failed = disarm();
            goes_on(n, status, err.text);
            assert_int_equal(job_entries("/proc/self/fd"), descriptors);
            if (access(points, F_OK) == 0) /* removing it failed: nothing that can be gone on from may be left */
                shell("! ls \"$p\" | grep -q '^point-[0-9]*$' && rm -rf \"$p\"", points);
            total[resumed] = n;
        }
    }
    print_message("%zu calls failed in turn in a run, %zu in a resumed one\n", total[0] - 1, total[1] - 1);
    assert_true(total[0] > 60 && total[1] > 60);
}

static bool small_disk(const char *how, int size, const char *disk)
{
    char command[200];

    (void)snprintf(command, sizeof command, "mount -t tmpfs -o %ssize=%dk none %s 2>/dev/null", how, size, disk);
    return geteuid() == 0 && system(command) == 0;
}

/* Disks too small at another place each time; given more room, the run goes on. */
static void a_run_goes_on_after_a_full_disk_to_the_same_bytes(void **state)
{
    char disk[80], path[120];
    rp_error err = {0};
    rp_status status = RP_EIO;
    size_t refused = 0, from_points = 0;

    (void)state;
    make_right();
    (void)snprintf(disk, sizeof disk, "%s/disk", job_folder);
    (void)snprintf(path, sizeof path, "%s/full.reprise", disk);
    assert_int_equal(mkdir(disk, 0755), 0);
    for (int size = 4; status != RP_OK && size < 4096; size += 4) {
        if (!small_disk("", size, disk)) {
            print_message("skipped: only root can mount a small disk here\n");
            (void)rmdir(disk);
            skip();
        }
        status = run_with_points(path, 0, false, &err);
        if (status != RP_OK) {
            assert_int_equal(status, RP_EIO);
            assert_non_null(strstr(err.text, "No space left on device"));
            assert_int_equal(access(path, F_OK), -1);
            from_points += strstr(err.text, "--resume") != NULL;
            refused++;
            assert_true(small_disk("remount,", 8192, disk));
            if (run_with_points(path, 0, true, &err) != RP_OK)
                fail_msg("%d KiB: %s", size, err.text);
        }
        assert_true(is_right(path));
        shell("umount \"$p\"", disk);
    }
    assert_int_equal(rmdir(disk), 0);
    assert_int_equal(status, RP_OK);
    print_message("%zu sizes of disk were too small, %zu of them for more than a resume point\n", refused, from_points);
    assert_true(refused > 5);
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

static int teardown(void **state)
{
    rp_buffer_free(&right);
    return job_teardown(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_failed_call_on_a_file_is_an_error_and_leaves_nothing),
        cmocka_unit_test(transfers_in_small_or_interrupted_parts_change_no_byte),
        cmocka_unit_test(a_full_disk_is_an_error_and_leaves_nothing),
        cmocka_unit_test(a_run_goes_on_after_any_failed_call_to_the_same_bytes),
        cmocka_unit_test(a_run_goes_on_after_a_full_disk_to_the_same_bytes),
    };

    return cmocka_run_group_tests(tests, job_setup, teardown);
}
