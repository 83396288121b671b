/* SPDX-License-Identifier: Apache-2.0
 * Runs a small job (tests/audit/record/small_job.h) with the n-th call failing, for n = 1, 2, ... until the job gets
 * through, or for those n alone that tests/house/call_stacks.h chooses. After each failure: a clear error, nothing
 * under the final name, no temporary, no descriptor and no block left. */
#ifndef TESTS_HOUSE_SWEEP_H
#define TESTS_HOUSE_SWEEP_H

#include "tests/house/call_stacks.h"
#include "tests/audit/record/small_job.h"

typedef struct sweep {
    void (*arm)(size_t n);       /* the n-th call from now on fails */
    bool (*disarm)(void);        /* whether it came to that */
    size_t (*calls)(void);       /* since arming */
    long (*live)(void);          /* blocks the library holds; NULL: not counted */
    bool (*expected)(rp_status); /* statuses that may come of it */
    size_t points;               /* at most so many, evenly spread; 0: all */
    bool may_be_none;            /* a job without such calls is fine */
    bool by_stack;               /* one of each kind: the calls come to stacks_note */
    bool may_refuse;             /* a job that judges certificates may refuse one: what fails does not always say so */
    bool learn;                  /* of by_stack: nothing fails, and these kinds of calls do not later either */
} sweep;

/* What is wrong after a pass, or NULL. */
static const char *sweep_fault(const sweep *s, const small_job *job, rp_status status, const rp_error *err, bool failed,
                               size_t entries, size_t descriptors, long live)
{
    if (status != RP_OK && !failed)
        return "an error without a reason";
    if (status == RP_ESIGN && s->may_refuse && job->judges)
        failed = true;
    else if (status != RP_OK && (err->status != status || !*err->text || !s->expected(status)))
        return "another error than expected";
    if (job_entries(job_folder) != entries)
        return "a file is left behind";
    if (job_entries("/proc/self/fd") != descriptors)
        return "a descriptor is left open";
    return s->live && s->live() != live ? "blocks leak" : NULL;
}

/* A pass in which nothing fails. */
static size_t sweep_count(const sweep *s, const small_job *job)
{
    rp_error err = {0};
    size_t calls;

    s->arm(SIZE_MAX);
    if (job->work(&err) != RP_OK)
        fail_msg("%s: %s", job->name, err.text);
    calls = s->calls();
    (void)s->disarm();
    (void)unlink(job_out);
    (void)unlink(job_out_public);
    return calls;
}

/* The calls to fail: all, or evenly spread, or by the chains of their callers. The caller frees them. */
static size_t *sweep_choose(const sweep *s, const small_job *job, size_t *count, size_t *calls)
{
    size_t step, *list;

    *calls = sweep_count(s, job); /* what libraries allocate once, they allocate here */
    if (s->by_stack) {
        stacks_begin();
        *calls = sweep_count(s, job);
        list = stacks_chosen(count);
        assert_non_null(list);
        return list;
    }
    step = s->points ? *calls / s->points + 1 : 1;
    list = malloc((*calls / step + 1) * sizeof *list);
    assert_non_null(list);
    *count = 0;
    for (size_t n = 1; n <= *calls; n += step)
        list[(*count)++] = n;
    return list;
}

/* Returns the number of points at which something failed. */
static inline size_t sweep_job(const sweep *s, const small_job *job)
{
    rp_error err = {0};
    size_t calls, chosen, *list = sweep_choose(s, job, &chosen, &calls), faults = 0, failures = 0, overcome = 0;
    const size_t count = s->learn ? 0 : chosen;
    const size_t entries = job_entries(job_folder), descriptors = job_entries("/proc/self/fd");

    if (s->learn)
        stacks_know();
    for (size_t i = 0; i < count && faults < 10; i++) {
        long live = s->live ? s->live() : 0;
        const char *fault;
        rp_status status;
        bool failed;

        err = (rp_error){0};
        s->arm(list[i]);
        status = job->work(&err);
        failed = s->disarm();
        if (status == RP_OK) {
            (void)unlink(job_out);
            (void)unlink(job_out_public);
            overcome += failed;
        }
        fault = sweep_fault(s, job, status, &err, failed, entries, descriptors, live);
        if (fault)
            print_error("%s: call %zu failing gives %s \"%s\": %s\n", job->name, list[i], rp_status_name(status),
                        err.text, fault);
        faults += fault != NULL;
        failures += failed;
    }
    free(list);
    if (faults)
        fail_msg("%s: %zu faults", job->name, faults);
    assert_true(failures > 0 || s->may_be_none || s->learn);
    print_message("%-12s %zu of %zu calls failed in turn, %zu of them made good\n", job->name, failures, calls,
                  overcome);
    return failures;
}

#endif
