/* SPDX-License-Identifier: Apache-2.0
 * What it costs to keep the state of a run: a resume point (a file of its own, flushed) and a checkpoint in the
 * archive, for networks of several sizes, beside writing and flushing the same bytes with nothing else done.
 *
 *   build/release/bench/checkpoint [FOLDER]
 *
 * A point is made and a checkpoint kept after every step of a short training in FOLDER (default: $TMPDIR or /tmp); the
 * figure of each is its time over their number. The share is of a run that makes a point every 60 seconds, as the
 * command does. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "rp/rp.h"

enum { ROWS = 128, FEATURES = 784, ROUNDS = 3 };
static char folder[256];

static double now(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void stop(const char *what, const char *why)
{
    fprintf(stderr, "checkpoint: %s: %s\n", what, why);
    exit(1);
}

static const char *path_of(const char *name)
{
    static char path[4][320];
    static int next;

    next = (next + 1) % 4;
    (void)snprintf(path[next], sizeof path[next], "%s/%s", folder, name);
    return path[next];
}

static FILE *create(const char *name)
{
    FILE *file = fopen(path_of(name), "w");

    if (!file)
        stop(name, "cannot write");
    return file;
}

static void write_table(void)
{
    FILE *file = create("table.csv");

    for (int i = 0; i < FEATURES; i++)
        fprintf(file, "x%d,", i);
    fprintf(file, "y\n");
    for (int r = 0; r < ROWS; r++) {
        for (int i = 0; i < FEATURES; i++)
            fprintf(file, "%d,", (r * 31 + i * 17 + r * i) % 97);
        fprintf(file, "c%d\n", r % 10);
    }
    if (fclose(file) != 0)
        stop("table.csv", "cannot write");
}

/* The job's figures of one run of 6 training steps. */
static rp_job run(const char *hidden, int every, double save_every)
{
    rp_job_options options = {.threads = 1, .save_every = save_every};
    rp_job *job, copy;
    rp_error err;
    FILE *file = create("recipe.yaml");

    fprintf(file,
            "reprise: 1\ndata: {csv: table.csv, target: y, train_on_all: true}\nmodel: {hidden: [%s]}\n"
            "train: {epochs: 6, batch: %d}\nrecord: {state_period: 65536, checkpoint_every: %d}\n",
            hidden, ROWS, every);
    if (fclose(file) != 0)
        stop("recipe.yaml", "cannot write");
    if (rp_train_recipe(path_of("recipe.yaml"), path_of("out.reprise"), NULL, true, &options, &job, &err) != RP_OK)
        stop("run", err.text);
    copy = *job;
    rp_job_free(job);
    return copy;
}

static size_t state_bytes(void)
{
    rp_archive *archive;
    rp_error err;
    size_t size = 0;

    if (rp_archive_open(&archive, path_of("out.reprise"), &err) != RP_OK)
        stop("archive", err.text);
    for (size_t i = 0; i < rp_archive_member_count(archive); i++)
        if (strncmp(rp_archive_member(archive, i)->name, "checkpoints/", 12) == 0)
            size = (size_t)rp_archive_member(archive, i)->size;
    rp_archive_close(archive);
    return size;
}

/* Seconds to write and flush so many bytes to a new file. */
static double plain_write(size_t size)
{
    char *bytes = malloc(size);
    double start, took;
    int fd;

    if (!bytes)
        stop("plain write", "out of memory");
    memset(bytes, 0x5A, size);
    start = now();
    fd = open(path_of("plain"), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    for (size_t at = 0; fd >= 0 && at < size;) {
        ssize_t put = write(fd, bytes + at, size - at);

        if (put <= 0)
            stop("plain write", "cannot write");
        at += (size_t)put;
    }
    if (fd < 0 || fsync(fd) != 0 || close(fd) != 0)
        stop("plain write", "cannot write");
    took = now() - start;
    (void)unlink(path_of("plain"));
    free(bytes);
    return took;
}

static double least(double a, double b)
{
    return a < b ? a : b;
}

static void row(const char *hidden)
{
    double point = 1e9, checkpoint = 1e9, plain = 1e9, mb;
    size_t size = 0;

    for (int i = 0; i < ROUNDS; i++) {
        rp_job none = run(hidden, 0, 0), kept = run(hidden, 1, 0), saved;

        size = state_bytes();
        saved = run(hidden, 0, 1e-9);
        plain = least(plain, plain_write(size));
        checkpoint = least(checkpoint, (kept.recording_seconds - none.recording_seconds) / (double)(kept.steps - 1));
        point = least(point, saved.saving_seconds / (double)saved.saved_points);
    }
    mb = (double)size / 1e6;
    printf("%-12s %9.2f %12.2f %8.0f %12.2f %8.0f %12.2f %10.3f %%\n", hidden, mb, point * 1e3, mb / point,
           checkpoint * 1e3, mb / checkpoint, plain * 1e3, 100 * point / 60);
    (void)fflush(stdout);
}

int main(int argc, char **argv)
{
    const char *base = argc > 1 ? argv[1] : getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp";
    char command[300];

    (void)snprintf(folder, sizeof folder, "%.200s/rp-checkpoint-XXXXXX", base);
    if (!mkdtemp(folder))
        stop(base, "cannot make a folder");
    write_table();
    printf("%-12s %9s %12s %8s %12s %8s %12s %12s\n", "hidden", "state MB", "point ms", "MB/s", "archive ms", "MB/s",
           "plain ms", "a minute");
    row("64");
    row("1024, 1024");
    row("2048, 2048");
    (void)snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command) == 0 ? 0 : 1;
}
