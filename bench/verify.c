/* SPDX-License-Identifier: Apache-2.0
 * How fast an archive is verified, against the rate at which this machine hashes: an unsigned archive of some members
 * is made in the page cache, and rounds of rp_verify are interleaved with SHA-256 of a megabyte in the cache, over and
 * over, by OpenSSL and by our two-stream code, on as many threads as verification takes. Memory is that of a process of
 * its own. Usage: verify [MIB] [MEMBERS] [ROUNDS]: 2048, 16 and 9. */
#define _DEFAULT_SOURCE /* wait4 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "audit/archive/archive.h"
#include "audit/digest/sha256.h"
#include "base/pool.h"

enum { MIB = 1 << 20, ROUNDS_MAX = 99, THREADS = 2, LANES = 4, BATCH = 64 };

static char path[] = "/tmp/rp-bench-verify-XXXXXX";

static void must(bool fine, const char *what)
{
    if (fine)
        return;
    (void)fprintf(stderr, "bench verify: %s\n", what);
    (void)unlink(path);
    exit(1);
}

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* The archive: bodies of different, incompressible-looking bytes. */
static void make(size_t mib, size_t members)
{
    size_t size = mib * MIB / members;
    uint64_t *body = malloc(size + 8), x = 1;
    rp_archive_writer *writer;
    rp_file_writer *file;
    rp_json *run = rp_json_object();
    rp_error err = {0};

    must(body && rp_archive_writer_new(&writer, "/tmp", &err) == RP_OK, "out of memory");
    for (size_t i = 0; i < size / 8; i++)
        body[i] = x = x * 6364136223846793005u + 1442695040888963407u;
    for (size_t i = 0; i < members; i++) {
        char name[64];

        (void)snprintf(name, sizeof name, "weights/part-%04zu.safetensors", i);
        body[0] = i;
        must(rp_archive_writer_add(writer, name, body, size, &err) == RP_OK, err.text);
    }
    must(rp_archive_writer_finish(writer, RP_RUN_API, run, &err) == RP_OK, err.text);
    must(rp_file_create(&file, path, true, 0600, &err) == RP_OK, err.text);
    must(rp_archive_writer_save(writer, file, &err) == RP_OK && rp_file_commit(file, &err) == RP_OK, err.text);
    rp_archive_writer_free(writer);
    rp_json_free(run);
    free(body);
}

static uint64_t verify(void)
{
    const rp_verify_options options = {.allow_unsigned = true};
    rp_verification *result;
    rp_error err = {0};
    uint64_t bytes;

    must(rp_verify(path, NULL, 0, &options, &result, NULL, &err) == RP_OK, err.text);
    bytes = result->bytes;
    rp_verification_free(result);
    return bytes;
}

static unsigned char cached[LANES * MIB];

static void *openssl_main(void *arg)
{
    const size_t *times = arg;
    rp_digest digest;
    const rp_message message = {.bytes = cached, .size = MIB, .prefix = -1, .digest = &digest};

    for (size_t i = 0; i < *times; i++)
        must(rp_sha256_many_openssl(&message, 1), "OpenSSL's SHA-256 failed");
    return NULL;
}

/* Bytes a second of OpenSSL's SHA-256, one stream a thread. */
static double openssl_rate(size_t mib)
{
    pthread_t thread;
    size_t times = mib / THREADS;
    double start = now();

    must(pthread_create(&thread, NULL, openssl_main, &times) == 0, "cannot start a thread");
    (void)openssl_main(&times);
    (void)pthread_join(thread, NULL);
    return (double)(times * THREADS) * MIB / (now() - start);
}

/* The same by our code, two streams a thread where the processor has the instructions. */
static double own_rate(size_t mib, rp_pool *pool)
{
    rp_digest digest[BATCH];
    rp_message message[BATCH];
    size_t batches = mib / BATCH + 1;
    double start;

    for (size_t i = 0; i < BATCH; i++)
        message[i] = (rp_message){.bytes = cached + i % LANES * MIB, .size = MIB, .prefix = -1, .digest = &digest[i]};
    start = now();
    for (size_t i = 0; i < batches; i++)
        must(rp_sha256_many_over(message, BATCH, pool), "SHA-256 failed");
    return (double)(batches * BATCH) * MIB / (now() - start);
}

static int ascending(const void *a, const void *b)
{
    return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b);
}

static double median(double *v, size_t n)
{
    qsort(v, n, sizeof *v, ascending);
    return v[n / 2];
}

/* Peak memory of a process that verifies and does nothing else, and of one that only starts. */
static long peak(const char *self, const char *archive)
{
    struct rusage usage;
    int status;
    pid_t child = fork();

    if (child == 0) {
        (void)execl(self, self, "--child", archive, (char *)NULL);
        _exit(127);
    }
    must(child > 0 && wait4(child, &status, 0, &usage) == child && status == 0, "the child failed");
    return usage.ru_maxrss;
}

int main(int argc, char **argv)
{
    size_t mib = argc > 1 ? strtoul(argv[1], NULL, 10) : 2048, members = argc > 2 ? strtoul(argv[2], NULL, 10) : 16;
    size_t rounds = argc > 3 ? strtoul(argv[3], NULL, 10) : 9;
    double rate[3][ROUNDS_MAX], ratio[2][ROUNDS_MAX];
    long used, empty;
    rp_pool *pool;
    rp_error err;

    if (argc == 3 && strcmp(argv[1], "--child") == 0) {
        if (*argv[2]) {
            (void)snprintf(path, sizeof path, "%s", argv[2]);
            (void)verify();
        }
        return 0;
    }
    must(mib > 0 && members > 0 && rounds > 0 && rounds <= ROUNDS_MAX, "usage: verify [MIB] [MEMBERS] [ROUNDS]");
    {
        int fd = mkstemp(path), status;
        pid_t child;

        must(fd >= 0 && close(fd) == 0, "cannot make a temporary file");
        child = fork(); /* its memory is not ours */
        if (child == 0) {
            make(mib, members);
            _exit(0);
        }
        must(child > 0 && waitpid(child, &status, 0) == child && status == 0, "the archive was not made");
    }
    empty = peak(argv[0], "");
    used = peak(argv[0], path);
    must(rp_pool_new(&pool, THREADS, NULL, &err) == RP_OK, "cannot start threads");
    for (size_t i = 0; i < rounds; i++) {
        double start = now();

        rate[0][i] = (double)verify() / (now() - start);
        rate[1][i] = openssl_rate(mib / 4);
        rate[2][i] = own_rate(mib / 4, pool);
        ratio[0][i] = rate[0][i] / rate[1][i];
        ratio[1][i] = rate[0][i] / rate[2][i];
    }
    (void)unlink(path);
    printf("%zu MiB in %zu members: verify %.2f GB/s; SHA-256 on %d threads: OpenSSL's %.2f, ours %.2f\n", mib, members,
           median(rate[0], rounds) * 1e-9, THREADS, median(rate[1], rounds) * 1e-9, median(rate[2], rounds) * 1e-9);
    printf("ratio of verify to OpenSSL %.2f, to ours %.2f (medians of %zu rounds); peak memory %ld KiB, of which %ld "
           "before it "
           "begins\n",
           median(ratio[0], rounds), median(ratio[1], rounds), rounds, used, empty);
    rp_pool_free(pool);
    return 0;
}
