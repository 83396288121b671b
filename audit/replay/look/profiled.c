/* SPDX-License-Identifier: Apache-2.0
 * A profile of a recipe's run, or of an archive's replay: the job is the ordinary one, whose progress says when the
 * clock begins and ends. */
#include <inttypes.h>

#include "audit/archive/journal.h"
#include "base/handle.h"
#include "rp/inspect.h"

typedef struct timed {
    const rp_job_options *options;
    const rp_profile_options *profile;
    uint64_t first, steps; /* before the clock; by it, 0: all */
    uint64_t made;
    rp_run *run;
    rp_profile *out;
    rp_status status;
    rp_error error;
    bool done; /* as many as were asked for */
} timed;

static void begin(timed *t)
{
    t->status = rp_run_profile(&t->out, t->run, t->profile, &t->error);
}

static void opened(void *self, rp_run *run)
{
    timed *t = self;

    t->run = run;
    if (t->first == 0)
        begin(t);
}

/* Steps of trials are another run's. */
static bool progress(void *self, const rp_progress *p)
{
    timed *t = self;
    const rp_job_options *o = t->options;

    if (p->trial == 0 && t->run) {
        t->made++;
        if (t->made == t->first)
            begin(t);
        t->done = (t->steps && t->made == t->first + t->steps) || p->step == p->steps;
        if (t->done && t->out && t->status == RP_OK)
            t->status = rp_profile_end(t->out, &t->error);
    }
    if (t->status != RP_OK || t->done) /* the run behind it is not wanted */
        return false;
    return !o || !o->progress || o->progress(o->self, p);
}

static rp_job_options options_of(timed *t)
{
    rp_job_options o = {.progress = progress, .opened = opened, .self = t};

    if (!t->options)
        return o;
    o.threads = t->options->threads;
    o.level = t->options->level;
    o.device = t->options->device;
    o.max_work = t->options->max_work;
    o.max_memory = t->options->max_memory;
    o.memory = t->options->memory;
    o.read_table = t->options->read_table;
    return o;
}

/* A job that was stopped since all was timed has done what was asked of it. */
static rp_status ended(timed *t, rp_status status, rp_profile **out, rp_error *err)
{
    if (t->done && status == RP_ECANCELED)
        status = RP_OK;
    if (t->status != RP_OK) {
        if (err)
            *err = t->error;
        status = t->status;
    }
    if (status == RP_OK && !t->out)
        status = rp_fail(err, RP_EARG, "the run has %" PRIu64 " steps: there is none behind the first %" PRIu64,
                         t->made, t->first);
    if (status == RP_OK)
        *out = t->out;
    else
        rp_profile_free(t->out);
    return status;
}

rp_status rp_profile_recipe(const char *recipe_path, uint64_t first, uint64_t steps, const rp_profile_options *profile,
                            const rp_job_options *options, rp_profile **out, rp_error *err)
{
    timed t = {.options = options, .profile = profile, .first = first, .steps = steps};
    const rp_job_options job = options_of(&t);
    rp_job *made = NULL;
    rp_status status;

    *out = NULL;
    status = rp_train_recipe(recipe_path, NULL, NULL, false, &job, &made, err);
    rp_job_free(made);
    return ended(&t, status, out, err);
}

rp_status rp_profile_archive(const rp_archive *archive, uint64_t first, uint64_t steps,
                             const rp_profile_options *profile, const rp_job_options *options, rp_profile **out,
                             rp_error *err)
{
    timed t = {.options = options, .profile = profile, .first = first, .steps = steps};
    rp_job_options job = options_of(&t);
    rp_replay_choice choice = {.mode = RP_REPLAY_RANGE, .parallel = 1};
    rp_windowed *journal;
    rp_job *made = NULL;
    uint64_t records;
    rp_status status;

    *out = NULL;
    if (!archive)
        return rp_no_handle(err, __func__, "archive");
    status = rp_journal_open(&journal, archive, err);
    if (status != RP_OK)
        return status;
    records = rp_journal_records(journal);
    rp_windowed_free(journal);
    if (first >= records)
        return rp_fail(err, RP_EARG, "the run has %" PRIu64 " steps: there is none behind the first %" PRIu64, records,
                       first);
    /* a range, so that no trial is made again */
    choice.last = steps && steps < records - first ? first + steps - 1 : records - 1;
    job.choice = &choice;
    status = rp_replay(archive, &job, &made, err);
    rp_job_free(made);
    return ended(&t, status, out, err);
}
