/* SPDX-License-Identifier: Apache-2.0
 * Allocations that OpenSSL, libyaml and the C library make on behalf of a whole job fail in turn, from every chain of
 * callers that allocates; with the argument "all", every one; with "trust", in the jobs of certificates and timestamps,
 * which are left out otherwise. The program's own malloc family takes the place of libc's for the whole process; the
 * library's hooks go round it, for those are swept by test_allocations.c. Sanitizers bring a malloc of their own: there
 * the test says that it is skipped.
 *
 * What other libraries leak or report when memory runs out inside them is theirs; that a job is then never taken for
 * done, accuses nobody, and leaves no file and no block of ours, is checked here. libarchive itself is left out: it
 * ends the process where it has no memory to copy a name (__archive_errx), whoever calls it. */
#undef _POSIX_C_SOURCE
#define _GNU_SOURCE /* dl_iterate_phdr */
#include <errno.h>
#include <link.h>

#include "tests/house/sweep.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__GLIBC__)
#define CANNOT_REPLACE 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define CANNOT_REPLACE 1
#endif
#endif

#ifdef CANNOT_REPLACE
int main(void)
{
    (void)small_jobs;
    (void)sweep_job;
    (void)job_setup;
    (void)job_teardown;
    puts("skipped: this build's malloc cannot be replaced");
    return 77;
}
#else

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *block, size_t bytes);
void __libc_free(void *block);

static size_t calls, failing_call; /* 0: none fails */
static long blocks;                /* of the library */
static bool all_of_them, trust;

static uintptr_t libarchive_begin, libarchive_end;

static int note_libarchive(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size;
    (void)arg;
    for (size_t i = 0; strstr(info->dlpi_name, "libarchive") && i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];

        if (part->p_type == PT_LOAD && part->p_flags & PF_X) {
            libarchive_begin = info->dlpi_addr + part->p_vaddr;
            libarchive_end = libarchive_begin + part->p_memsz;
        }
    }
    return 0;
}

/* RP_API below: visible to the other libraries, or they would not be given it. */
static bool fails_now(const void *caller)
{
    uintptr_t from = (uintptr_t)caller;

    if (!failing_call || stacks.inside || (from >= libarchive_begin && from < libarchive_end))
        return false;
    stacks_note(++calls);
    if (calls != failing_call)
        return false;
    errno = ENOMEM;
    return true;
}

RP_API void *malloc(size_t bytes)
{
    return fails_now(__builtin_return_address(0)) ? NULL : __libc_malloc(bytes);
}

RP_API void *calloc(size_t count, size_t bytes)
{
    return fails_now(__builtin_return_address(0)) ? NULL : __libc_calloc(count, bytes);
}

RP_API void *realloc(void *block, size_t bytes)
{
    return fails_now(__builtin_return_address(0)) ? NULL : __libc_realloc(block, bytes);
}

/* OpenSSL gets over many a failure, and the job then ends well: without waiting for the disk. */
RP_API int fsync(int fd)
{
    (void)fd;
    return 0;
}

RP_API void free(void *block)
{
    __libc_free(block);
}

static void *hook_allocate(void *self, size_t bytes)
{
    void *block = __libc_malloc(bytes);

    (void)self;
    blocks += block != NULL;
    return block;
}

static void *hook_resize(void *self, void *old, size_t bytes)
{
    (void)self;
    blocks += old == NULL;
    return __libc_realloc(old, bytes);
}

static void hook_release(void *self, void *block)
{
    (void)self;
    blocks--;
    __libc_free(block);
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

static long live(void)
{
    return blocks;
}

/* OpenSSL does not always say that it was memory: a key may then seem to be no key, or too weak a one for a
 * certificate, which is then refused. Never a wrong signature. */
static bool out_of_memory(rp_status status)
{
    return status == RP_ENOMEM || status == RP_EARG || status == RP_EIO;
}

static int setup(void **state)
{
    static const rp_allocator hooks = {hook_allocate, hook_resize, hook_release, NULL};

    (void)dl_iterate_phdr(note_libarchive, NULL);
    if (libarchive_end == 0)
        return -1;
    rp_set_allocator(&hooks);
    return job_setup(state);
}

static int teardown(void **state)
{
    int result = job_teardown(state);

    rp_set_allocator(NULL);
    return result;
}

static void every_failed_allocation_of_other_libraries_is_an_error_and_leaves_nothing(void **state)
{
    const sweep all = {arm, disarm, counted, live, out_of_memory, 0, true, !all_of_them, true, false};
    size_t failures = 0;

    (void)state;
    for (size_t i = trust ? SMALL_JOBS - TRUST_JOBS : 0; i < (trust ? SMALL_JOBS : SMALL_JOBS - TRUST_JOBS); i++)
        failures += sweep_job(&all, &small_jobs[i]);
    assert_true(trust || failures > 1000);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_failed_allocation_of_other_libraries_is_an_error_and_leaves_nothing),
    };

    all_of_them = argc > 1 && strcmp(argv[1], "all") == 0;
    trust = argc > 1 && strcmp(argv[1], "trust") == 0;
    return cmocka_run_group_tests(tests, setup, teardown);
}
#endif
