/* SPDX-License-Identifier: Apache-2.0
 * The memory that archives of large states take beyond the states themselves: a run of the C API with MIB of states and
 * a checkpoint is recorded, verified and replayed, whole and in part, each in a process of its own, whose peak resident
 * size less the states is told. Fails when one is over LIMIT MiB. Usage: large_states [MIB] [LIMIT] [FOLDER] [once]:
 * 400, 64, .; once: without the checkpoint and without going on, for disks that hold no more than four times the states
 * (in FOLDER the archive, in TMPDIR its parts). */
#define _DEFAULT_SOURCE /* wait4 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "rp/rp.h"

enum { MIB = 1 << 20, STATE_MIB = 40, STEPS = 3, MORE = 2 };

static char path[4096];
static size_t mib;
static bool once;
static rp_error err;

static void must(rp_status status, const char *what)
{
    if (status == RP_OK)
        return;
    (void)fprintf(stderr, "large_states: %s: %s\n", what, err.text);
    _exit(1);
}

/* States of 40 MiB each, filled and added one at a time. */
static void add_states(rp_run *run)
{
    const size_t count = (size_t)STATE_MIB * MIB / sizeof(float), whole = mib / STATE_MIB;
    float *values = malloc(count * sizeof *values);

    if (!values)
        _exit(1);
    for (size_t i = 0; i < whole; i++) {
        char name[32];

        for (size_t k = 0; k < count; k++)
            values[k] = (float)(i + k % 1000);
        (void)snprintf(name, sizeof name, "w%05zu", i);
        must(rp_run_add_state(run, name, RP_F32, 1, &count, values, &err), "a state");
    }
    must(rp_run_add_state(run, "small", RP_F32, 0, NULL, values, &err), "a state");
    free(values);
}

static void step(rp_run *run)
{
    rp_tensor small, next;

    must(rp_step_begin(run, &err), "a step");
    small = rp_state(run, "small");
    next = rp_add(small, small);
    rp_set_state(run, "small", next);
    must(rp_step_end(run, &err), "a step");
}

static void record(void)
{
    const rp_run_options options = {.threads = 2};
    rp_run *run;
    rp_recorder *recorder;

    must(rp_run_new(&run, &options, &err), "a run");
    add_states(run);
    must(rp_recorder_new(&recorder, run, &err), "a recorder");
    must(rp_recorder_set_checkpoint_period(recorder, once ? 0 : 2, &err), "checkpoints");
    for (int i = 0; i < STEPS; i++)
        step(run);
    must(rp_recorder_save(recorder, path, NULL, true, NULL, &err), "saving");
    rp_recorder_free(recorder);
    rp_run_free(run);
}

/* The run goes on from the archive. */
static void resume(void)
{
    const rp_run_options options = {.threads = 2};
    rp_run *run;
    rp_recorder *recorder;
    rp_archive *archive;

    must(rp_run_new(&run, &options, &err), "a run");
    add_states(run);
    must(rp_recorder_new(&recorder, run, &err), "a recorder");
    must(rp_recorder_set_checkpoint_period(recorder, once ? 0 : 2, &err), "checkpoints");
    must(rp_archive_open(&archive, path, &err), "opening");
    must(rp_recorder_resume(recorder, archive, &err), "going on");
    rp_archive_close(archive);
    for (int i = 0; i < MORE; i++)
        step(run);
    must(rp_recorder_save(recorder, path, NULL, true, NULL, &err), "saving");
    rp_recorder_free(recorder);
    rp_run_free(run);
}

static void verify(void)
{
    const rp_verify_options options = {.allow_unsigned = true};
    rp_verification *result;

    must(rp_verify(path, NULL, 0, &options, &result, NULL, &err), "verifying");
    rp_verification_free(result);
}

static void replay_with(const rp_replay_choice *choice)
{
    const rp_job_options options = {.threads = 2, .choice = choice};
    rp_archive *archive;
    rp_job *job;

    must(rp_archive_open(&archive, path, &err), "opening");
    must(rp_replay(archive, &options, &job, &err), "replaying");
    rp_job_free(job);
    rp_archive_close(archive);
}

static void replay(void)
{
    replay_with(NULL);
}

static void replay_end(void)
{
    replay_with(&(rp_replay_choice){.mode = RP_REPLAY_RANGE, .first = 2, .last = 2, .parallel = 1});
}

static void report(void)
{
    rp_archive *archive;
    char *text;
    size_t length;

    must(rp_archive_open(&archive, path, &err), "opening");
    must(rp_report(archive, NULL, NULL, &text, &length, &err), "a report");
    rp_text_free(text);
    rp_archive_close(archive);
}

/* Peak in MiB beyond the states that the work holds. */
static long beyond(void (*work)(void), bool states)
{
    struct rusage used;
    int status;
    pid_t child = fork();

    if (child == 0) {
        work();
        _exit(0);
    }
    if (child < 0 || wait4(child, &status, 0, &used) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
        exit(1);
    return used.ru_maxrss / 1024 - (states ? (long)mib : 0);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*work)(void);
        bool states, always;
    } part[] = {{"record", record, true, true},       {"verify", verify, false, true},
                {"replay", replay, true, true},       {"replay one segment", replay_end, true, false},
                {"report", report, false, true},      {"go on", resume, true, false},
                {"replay again", replay, true, false}};
    const long limit = argc > 2 ? strtol(argv[2], NULL, 10) : 64;
    bool fine = true;

    once = argc > 4;
    mib = argc > 1 ? strtoul(argv[1], NULL, 10) / STATE_MIB * STATE_MIB : 400;
    (void)snprintf(path, sizeof path, "%s/large-states-%ld.reprise", argc > 3 ? argv[3] : ".", (long)getpid());
    for (size_t i = 0; i < sizeof part / sizeof *part; i++) {
        struct timespec begun, ended;
        long more;

        if (once && !part[i].always)
            continue;
        clock_gettime(CLOCK_MONOTONIC, &begun);
        more = beyond(part[i].work, part[i].states);
        clock_gettime(CLOCK_MONOTONIC, &ended);
        fine = fine && more <= limit;
        printf("%-20s %5ld MiB beyond %zu MiB of states, %.1f s%s\n", part[i].name, more, part[i].states ? mib : 0,
               (double)(ended.tv_sec - begun.tv_sec) + (double)(ended.tv_nsec - begun.tv_nsec) * 1e-9,
               more > limit ? ": too much" : "");
        (void)fflush(stdout);
    }
    (void)unlink(path);
    return fine ? 0 : 1;
}
