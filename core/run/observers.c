/* SPDX-License-Identifier: Apache-2.0
 * Observers of a run: who they are, and what they are told of a completed step. */
#include "base/memory.h"
#include "core/run/run_private.h"

rp_status rp_run_observe(rp_run *run, rp_observer observer, rp_error *err)
{
    return rp_run_observe_beside(run, observer, NULL, err);
}

rp_status rp_run_observe_beside(rp_run *run, rp_observer observer, rp_settle *settle, rp_error *err)
{
    if (run->n_observers == OBSERVERS_MAX)
        return rp_fail(err, RP_EARG, "a run has at most %d observers", OBSERVERS_MAX);
    run->settle[run->n_observers] = settle;
    run->observer[run->n_observers++] = observer;
    return RP_OK;
}

void rp_run_unobserve(rp_run *run, const void *self)
{
    size_t kept = 0;

    for (size_t i = 0; i < run->n_observers; i++)
        if (run->observer[i].self != self) {
            run->settle[kept] = run->settle[i];
            run->observer[kept++] = run->observer[i];
        }
    run->n_observers = kept;
}

void rp_run_set_quiet(rp_run *run, bool quiet)
{
    run->quiet = quiet;
}

rp_status rp_run_given_up(rp_error *err)
{
    return rp_fail(err, RP_EARG,
                   "the run was given up: an earlier step failed (an observer, or half-way through its states)");
}

rp_status rp_run_tell(rp_run *run, const rp_step_event *step, rp_memory_at *at, const void *arg, rp_error *err)
{
    const rp_program *p = step->program;
    rp_device_tensor *named;
    rp_step_event event = *step;
    rp_status status = RP_OK;
    size_t n = 0;

    event.step = run->steps;
    event.state = run->states.tensor;
    event.n_states = run->states.n;

    if (run->n_observers == 0 || run->quiet)
        return RP_OK;
    named = rp_malloc((p->n_inputs + p->n_outputs) * sizeof *named);
    if (!named) { /* the states are new, and no record will lead to them */
        run->given_up = true;
        return rp_no_memory(err);
    }
    event.feed = named;
    for (size_t i = 0; i < p->n_inputs; i++)
        if (p->input[i].kind == RP_INPUT_FEED)
            named[n++] =
                (rp_device_tensor){p->input[i].name, p->value[p->input[i].value], run->device, at(arg, i, false)};
    event.n_feeds = n;
    event.result = named + n;
    for (size_t i = 0; i < p->n_outputs; i++)
        if (p->output[i].kind == RP_OUTPUT_RESULT)
            named[n++] =
                (rp_device_tensor){p->output[i].name, p->value[p->output[i].value], run->device, at(arg, i, true)};
    event.n_results = n - event.n_feeds;
    rp_profile_recording_begins(run->profile);
    for (size_t i = 0; i < run->n_observers && status == RP_OK; i++)
        status = run->observer[i].step(run->observer[i].self, &event, err);
    rp_profile_recording_ends(run->profile);
    run->given_up = run->given_up || status != RP_OK;
    rp_free(named);
    return status;
}

rp_status rp_run_settle(rp_run *run, size_t state, rp_error *err)
{
    rp_status status = RP_OK;

    run->writes++;
    rp_profile_recording_begins(run->profile);
    for (size_t i = 0; i < run->n_observers && status == RP_OK; i++)
        if (run->settle[i])
            status = run->settle[i](run->observer[i].self, state, err);
    rp_profile_recording_ends(run->profile);
    run->given_up = run->given_up || status != RP_OK;
    return status;
}
