/* SPDX-License-Identifier: Apache-2.0
 * The step in which two runs part: both are computed up to it, from the nearest checkpoint, and that one step is then
 * executed instruction by instruction on both sides (diff_walk.c). */
#include <stdio.h>
#include <string.h>

#include "audit/record/recorder.h"
#include "audit/replay/diff_private.h"
#include "audit/replay/replay.h"
#include "base/memory.h"

static const size_t text_limit = (size_t)64 << 20; /* of a program */

static rp_device *device_of(const side *s)
{
    return rp_run_device(rp_driver_run(s->driver));
}

static void drop(const side *s, void **copies, size_t n)
{
    for (size_t i = 0; copies && i < n; i++)
        rp_device_release(device_of(s), copies[i]);
    rp_free(copies);
}

void rp_diff_side_free(side *s)
{
    rp_program_free(s->program);
    drop(s, s->input, s->n_inputs);
    drop(s, s->before, s->n_states);
    rp_recorder_free(s->recorder);
    rp_driver_free(s->driver);
    rp_windowed_free(s->journal);
}

/* *out, which may be NULL, becomes a copy of device memory. */
static rp_status copy_to(void **out, rp_device *device, const void *from, const rp_type *type, rp_error *err)
{
    const size_t bytes = rp_type_bytes(type);
    rp_status status = *out ? RP_OK : rp_device_allocate(device, out, bytes ? bytes : 1, err);

    return status == RP_OK ? rp_device_copy(device, *out, from, bytes, NULL, err) : status;
}

static rp_status keep_states(side *s, const rp_device_tensor *state, size_t n, rp_error *err)
{
    rp_status status = RP_OK;

    if (!s->before) {
        s->before = rp_calloc(n, sizeof *s->before);
        if (!s->before)
            return rp_no_memory(err);
        s->n_states = n;
    }
    for (size_t i = 0; i < n && status == RP_OK; i++)
        status = copy_to(&s->before[i], device_of(s), state[i].memory, &state[i].type, err);
    return status;
}

static const void *find(const rp_device_tensor *list, size_t n, void *const *memory, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(list[i].name, name) == 0)
            return memory ? memory[i] : list[i].memory;
    return NULL;
}

/* The step itself: its program and everything it reads, copied. */
static rp_status keep_inputs(side *s, const rp_step_event *event, rp_error *err)
{
    size_t n_data;
    const rp_device_tensor *data = rp_run_data(rp_driver_run(s->driver), &n_data);
    rp_status status = RP_OK;

    s->program = rp_program_copy(event->program);
    s->input = s->program ? rp_calloc(s->program->n_inputs, sizeof *s->input) : NULL;
    if (!s->input)
        return rp_no_memory(err);
    s->n_inputs = s->program->n_inputs;
    for (size_t i = 0; i < s->n_inputs && status == RP_OK; i++) {
        const rp_input *in = &s->program->input[i];
        const void *from = in->kind == RP_INPUT_STATE  ? find(event->state, event->n_states, s->before, in->name)
                           : in->kind == RP_INPUT_DATA ? find(data, n_data, NULL, in->name)
                                                       : find(event->feed, event->n_feeds, NULL, in->name);

        status = from ? copy_to(&s->input[i], device_of(s), from, &s->program->value[in->value], err)
                      : rp_fail(err, RP_EFORMAT, "program: input %s is not in the run", in->name);
    }
    if (status == RP_OK)
        status = rp_device_tensors_digest(&s->states, event->state, event->n_states, NULL, err);
    return status == RP_OK ? rp_device_tensors_digest(&s->results, event->result, event->n_results, NULL, err) : status;
}

static rp_status on_step(void *self, const rp_step_event *event, rp_error *err)
{
    side *s = self;

    if (event->step == s->step)
        return keep_inputs(s, event, err);
    return event->step + 1 == s->step ? keep_states(s, event->state, event->n_states, err) : RP_OK;
}

rp_status rp_diff_watch(side *s, rp_error *err)
{
    return rp_run_observe(rp_driver_run(s->driver), (rp_observer){on_step, s}, err);
}

rp_status rp_diff_go_to_step(side *s, rp_error *err)
{
    size_t n;
    const uint64_t from = rp_run_steps(rp_driver_run(s->driver));
    const rp_device_tensor *state = rp_run_states(rp_driver_run(s->driver), &n);
    rp_status status = RP_OK;

    if (s->step >= rp_driver_total(s->driver))
        return rp_fail(err, RP_EFORMAT, RP_JOURNAL_MEMBER ": has a record of step %llu, but the run ends before it",
                       (unsigned long long)s->step);
    if (s->step == from)
        status = keep_states(s, state, n, err);
    for (uint64_t i = from; i <= s->step && status == RP_OK; i++) {
        status = rp_driver_step(s->driver, err);
        s->steps_recomputed++;
    }
    return status;
}

static rp_status go_to_step(side *s, rp_error *err)
{
    rp_status status = rp_diff_watch(s, err);

    return status == RP_OK ? rp_diff_go_to_step(s, err) : status;
}

static rp_status compute(side *a, side *b, const findings *f, rp_error *err)
{
    side *const s[2] = {a, b};
    rp_budget budget = {.sides = 2};
    rp_status status = RP_OK;

    for (int i = 0; i < 2 && status == RP_OK; i++)
        status = rp_diff_failed(i, rp_diff_open(s[i], f->searched ? NULL : &budget, f->job, err), err);
    for (int i = 0; i < 2 && status == RP_OK; i++)
        status = rp_diff_failed(i, go_to_step(s[i], err), err);
    return status;
}

rp_status rp_diff_recorded_program(rp_program **out, const side *s, rp_error *err)
{
    char name[RP_MEMBER_NAME];
    rp_buffer text = {0};
    rp_record record;
    rp_status status;

    *out = NULL;
    if (rp_journal_record(s->journal, s->step, &record, NULL) != RP_OK)
        return rp_fail(err, RP_EFORMAT, RP_JOURNAL_MEMBER ": record %llu is malformed", (unsigned long long)s->step);
    (void)rp_program_name(name, record.program);
    status = rp_archive_read_member(s->archive, name, text_limit, &text, err);
    if (status == RP_OK)
        status = rp_program_parse(out, text.data, text.size, name, err);
    rp_buffer_free(&text);
    return status;
}

/* As recorded: programs that are not alike are told apart without computing anything. */
static rp_status compare_programs(const side *a, const side *b, findings *f, bool *alike, rp_error *err)
{
    rp_program *x = NULL, *y = NULL;
    rp_status status = rp_diff_failed(0, rp_diff_recorded_program(&x, a, err), err);

    if (status == RP_OK)
        status = rp_diff_recorded_program(&y, b, err);
    if (status == RP_OK)
        status = rp_diff_programs(x, y, &f->program, alike, err);
    rp_program_free(x);
    rp_program_free(y);
    if (status != RP_OK || f->program.size == 0)
        return status;
    rp_buffer_text(&f->text, "program   ");
    rp_buffer_append(&f->text, f->program.data, f->program.size);
    rp_buffer_u8(&f->text, '\n');
    return RP_OK;
}

static void note_reproduction(const side *s, rp_buffer *out)
{
    rp_record record;

    const bool whole = rp_driver_state_period(s->driver) == 1;

    if (rp_journal_record(s->journal, s->step, &record, NULL) == RP_OK &&
        !((!whole || rp_digest_equal(&record.states, &s->states)) && rp_digest_equal(&record.results, &s->results)))
        rp_buffer_printf(out, "replay    %s: this host computes other bits for step %llu than its journal records\n",
                         s->label, (unsigned long long)s->step);
}

/* A state that only s has: digests of states are over all of them. True when there is one, told. */
static bool state_of_one(const side *s, const side *other, rp_buffer *out)
{
    size_t n, m;
    const rp_device_tensor *state = rp_run_states(rp_driver_run(s->driver), &n),
                           *theirs = rp_run_states(rp_driver_run(other->driver), &m);

    for (size_t i = 0; i < n; i++)
        if (!find(theirs, m, NULL, state[i].name)) {
            char type[192];

            rp_type_text(&state[i].type, type, sizeof type);
            rp_buffer_printf(out, "state     %s %s is a state of %s only\n", state[i].name, type, s->label);
            return true;
        }
    return false;
}

static void nothing_differs(const side *a, const side *b, rp_buffer *out)
{
    bool told = state_of_one(a, b, out);

    told = state_of_one(b, a, out) || told;
    rp_buffer_printf(out, "value     both compute the same bits %s\n", told ? "in what they have in common" : "here");
}

/* What was recomputed need not be what the archive says. */
static rp_status compare_values(side *a, side *b, findings *f, rp_error *err)
{
    rp_program *const program[2] = {a->program, b->program};
    const rp_diff_side at[2] = {{device_of(a), a->program, a->input}, {device_of(b), b->program, b->input}};
    rp_diff_value value;
    rp_buffer differ = {0};
    bool alike;
    rp_status status = rp_diff_programs(a->program, b->program, &differ, &alike, err);

    if (status == RP_OK && !alike)
        rp_buffer_printf(&f->text, "program   what this host makes of the two is not alike: %.*s\n", (int)differ.size,
                         (const char *)differ.data);
    if (status == RP_OK && alike) {
        status = rp_diff_walk(&value, at, differ.size == 0, err);
        if (status == RP_OK && value.found)
            status = rp_diff_put_value(f, &value, program, err);
        if (status == RP_OK && value.found)
            status = rp_diff_put_cells(a, b, &value, f, err);
        if (status == RP_OK && !value.found)
            nothing_differs(a, b, &f->text);
    }
    rp_buffer_free(&differ);
    return status;
}

rp_status rp_diff_step(side *a, side *b, findings *f, rp_error *err)
{
    bool alike;
    rp_status status = compare_programs(a, b, f, &alike, err);

    if (status != RP_OK)
        return status;
    if (!alike) {
        rp_buffer_text(&f->text,
                       "value     not compared: from there on the two programs do not compute the same thing\n");
        return RP_OK;
    }
    status = compute(a, b, f, err);
    if (status == RP_OK)
        status = compare_values(a, b, f, err);
    if (status == RP_OK) {
        note_reproduction(a, &f->text);
        note_reproduction(b, &f->text);
    }
    return status;
}
