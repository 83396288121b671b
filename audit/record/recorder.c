/* SPDX-License-Identifier: Apache-2.0
 * Watching a run, step by step. */
#include "audit/pinned/host.h"
#include "audit/record/recorder_private.h"
#include "base/clock.h"
#include "base/handle.h"

#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "determinism/bits.h"

/* text is taken when added. */
static rp_status put_program(rp_recorder *r, rp_buffer *text, uint64_t compiled, rp_error *err)
{
    if (r->n_programs == r->cap_programs) {
        size_t wanted = r->cap_programs ? 2 * r->cap_programs : 8;
        recorded_program *bigger = rp_reallocarray(r->program, wanted, sizeof *bigger);

        if (!bigger)
            return rp_no_memory(err);
        r->program = bigger;
        r->cap_programs = wanted;
    }
    r->program[r->n_programs++] = (recorded_program){*text, compiled};
    *text = (rp_buffer){0};
    return RP_OK;
}

/* What no reader would parse is not recorded: the archive could never be replayed. */
static rp_status check_readable(const rp_recorder *r, const rp_step_event *event, rp_error *err)
{
    const size_t memory = rp_json_memory(r->scratch.data, r->scratch.size);

    if (memory <= r->program_memory)
        return RP_OK;
    return rp_fail(err, RP_EUNSUPPORTED,
                   "step %llu: its program is too large to be recorded: %zu bytes of JSON, whose values would take "
                   "%zu MiB of a reader's memory, at most %zu are allowed: make it several steps",
                   (unsigned long long)event->step, r->scratch.size, memory >> 20, r->program_memory >> 20);
}

/* Index of the event's program, added when it is new. */
static rp_status find_program(rp_recorder *r, const rp_step_event *event, uint32_t *index, rp_error *err)
{
    rp_status status;

    for (size_t i = 0; event->compiled && i < r->n_programs; i++)
        if (r->program[i].compiled == event->compiled) {
            *index = (uint32_t)i;
            return RP_OK;
        }
    r->scratch.size = 0;
    status = rp_program_write(event->program, &r->scratch, err);
    if (status != RP_OK)
        return status;
    for (size_t i = 0; i < r->n_programs; i++)
        if (r->program[i].text.size == r->scratch.size &&
            memcmp(r->program[i].text.data, r->scratch.data, r->scratch.size) == 0) {
            r->program[i].compiled = event->compiled;
            *index = (uint32_t)i;
            return RP_OK;
        }
    status = check_readable(r, event, err);
    if (status != RP_OK)
        return status;
    if (r->n_programs == 10000)
        return rp_fail(err, RP_EUNSUPPORTED, "step %llu: more than 10000 distinct programs in one run",
                       (unsigned long long)event->step);
    *index = (uint32_t)r->n_programs;
    return put_program(r, &r->scratch, event->compiled, err);
}

static rp_status note_loss(rp_record *record, const rp_step_event *event, rp_error *err)
{
    rp_status status = RP_OK;

    record->loss_dtype = RP_LOSS_NONE;
    for (size_t i = 0; i < event->n_results && status == RP_OK; i++) {
        const rp_device_tensor *result = &event->result[i];
        const rp_dtype dtype = result->type.dtype;
        float single = 0;
        double wide = 0;

        if (strcmp(result->name, "loss") != 0 || rp_type_count(&result->type) != 1 ||
            (dtype != RP_F32 && dtype != RP_F64))
            continue;
        status = rp_device_tensor_read(result, dtype == RP_F32 ? (void *)&single : &wide, err);
        record->loss = dtype == RP_F32 ? rp_bits_f32(rp_canonical_f32(single)) : rp_bits_f64(rp_canonical_f64(wide));
        record->loss_dtype = (int32_t)dtype;
    }
    return status;
}

static rp_status differs(uint64_t step, const char *what, const rp_digest *expected, const rp_digest *found,
                         rp_error *err)
{
    char e[RP_DIGEST_HEX], f[RP_DIGEST_HEX];

    rp_digest_hex(e, expected);
    rp_digest_hex(f, found);
    return rp_differs(err, (int64_t)step, NULL, what, e, f);
}

static rp_status no_record(uint64_t step, uint64_t records, rp_error *err)
{
    (void)rp_fail(err, RP_EBITS, "step %llu: the journal has only %llu records", (unsigned long long)step,
                  (unsigned long long)records);
    return rp_note_difference(err, (int64_t)step, RP_JOURNAL_MEMBER, "record", NULL, "present");
}

static rp_status compare(const rp_recorder *r, const rp_record *found, rp_error *err)
{
    rp_record expected;
    char e[32], f[32];

    if (found->step >= rp_journal_records(r->expected))
        return no_record(found->step, rp_journal_records(r->expected), err);

    rp_status status = rp_journal_record(r->expected, found->step, &expected, err);

    if (status != RP_OK)
        return status;
    if (expected.program != found->program) {
        (void)snprintf(e, sizeof e, "%04u", expected.program);
        (void)snprintf(f, sizeof f, "%04u", found->program);
        return rp_differs(err, (int64_t)found->step, NULL, "program", e, f);
    }
    if (!rp_digest_equal(&expected.feeds, &found->feeds))
        return differs(found->step, "digest of the feeds", &expected.feeds, &found->feeds, err);
    if (expected.loss_dtype != found->loss_dtype || expected.loss != found->loss) {
        (void)snprintf(e, sizeof e, "0x%llx", (unsigned long long)expected.loss);
        (void)snprintf(f, sizeof f, "0x%llx", (unsigned long long)found->loss);
        return rp_differs(err, (int64_t)found->step, NULL, "loss", e, f);
    }
    if (!rp_digest_equal(&expected.results, &found->results))
        return differs(found->step, "digest of the results", &expected.results, &found->results, err);
    if (!r->stateless && !rp_digest_equal(&expected.states, &found->states))
        return differs(found->step, "digest of the state", &expected.states, &found->states, err);
    return RP_OK;
}

static rp_status record_step(rp_recorder *r, const rp_step_event *event, rp_error *err)
{
    const bool beside = rp_recorder_goes_beside(r, event);
    rp_record record = {.step = event->step};
    rp_status status = find_program(r, event, &record.program, err);

    if (status == RP_OK)
        status = rp_recorder_digest_step(r, event, beside, &record, err);
    if (status == RP_OK)
        status = note_loss(&record, event, err);
    if (status == RP_OK && r->comparing)
        status = compare(r, &record, err);
    if (status != RP_OK)
        return status;
    status = beside ? rp_recorder_begin_beside(r, event, &record, err) : rp_recorder_append(r, &record, err);
    return status == RP_OK ? rp_recorder_checkpoint(r, event->step + 1, err) : status;
}

static rp_status on_step(void *self, const rp_step_event *event, rp_error *err)
{
    rp_recorder *r = self;
    rp_status status = rp_recorder_settle(r, err); /* of the step before */
    uint64_t start = rp_clock_nanoseconds();

    if (status == RP_OK)
        status = record_step(r, event, err);
    r->nanoseconds += rp_clock_nanoseconds() - start;
    r->failed = r->failed || status != RP_OK;
    return status;
}

static rp_status settle(void *self, size_t state, rp_error *err)
{
    return rp_recorder_release_state(self, state, err);
}

rp_status rp_recorder_attach(rp_recorder **out, rp_run *run, bool keep_feeds, rp_error *err)
{
    rp_recorder *r = rp_calloc(1, sizeof *r);
    rp_status status = RP_OK;

    *out = NULL;
    if (!r)
        return rp_no_memory(err);
    r->run = run;
    r->program_memory = RP_JSON_PROGRAM_MEMORY;
    r->started = time(NULL);
    r->beside_threads = rp_processors(2 * rp_run_threads(run)); /* those that the run leaves */
    r->beside_threads -= r->beside_threads < rp_run_threads(run) ? r->beside_threads : rp_run_threads(run);
    if (rp_run_steps(run))
        status = rp_fail(err, RP_EARG, "recording starts before the first step; %llu were made",
                         (unsigned long long)rp_run_steps(run));
    if (status == RP_OK)
        status = rp_pinned_describe(&r->pinned, rp_run_device(run), err);
    if (status == RP_OK)
        status = rp_staging_new(&r->staging, rp_run_device(run), err);
    if (status == RP_OK && keep_feeds)
        status = rp_feeds_new(&r->feeds, err);
    if (status == RP_OK)
        status = rp_run_observe_beside(run, (rp_observer){on_step, r}, settle, err);
    if (status != RP_OK)
        rp_recorder_free(r);
    else
        *out = r;
    return status;
}

rp_status rp_recorder_new(rp_recorder **out, rp_run *run, rp_error *err)
{
    if (!run) {
        *out = NULL;
        return rp_no_handle(err, __func__, "run");
    }

    rp_status status = rp_recorder_attach(out, run, true, err);

    if (status == RP_OK)
        status = rp_archive_writer_new(&(*out)->store, NULL, err);
    if (status == RP_OK)
        status = rp_states_add((*out)->store, RP_INIT_MEMBER, run, true, err);
    if (status != RP_OK) {
        rp_recorder_free(*out);
        *out = NULL;
    }
    return status;
}

rp_status rp_recorder_set_state_period(rp_recorder *r, uint64_t period, rp_error *err)
{
    if (!r)
        return rp_no_handle(err, __func__, "recorder");

    rp_rolling *rolling = NULL;
    rp_status status = RP_OK;
    size_t n;
    const rp_device_tensor *state = rp_run_states(r->run, &n);

    if (rp_recorder_steps(r) > 0 || r->failed)
        return rp_fail(err, RP_EARG, "the state period is set before the first step is recorded");
    if (period != 1)
        status = rp_rolling_new(&rolling, state, n, period, err);
    if (status != RP_OK)
        return status;
    rp_rolling_free(r->rolling);
    r->rolling = rolling;
    return RP_OK;
}

rp_status rp_recorder_set_salt(rp_recorder *r, const rp_salt *salt, rp_error *err)
{
    if (rp_recorder_steps(r) > 0 || r->failed)
        return rp_fail(err, RP_EARG, "inputs are withheld before the first step is recorded");
    r->salt = *salt;
    r->salted = true;
    return RP_OK;
}

rp_status rp_recorder_withhold(rp_recorder *r, const char *folder, rp_error *err)
{
    if (!r)
        return rp_no_handle(err, __func__, "recorder");

    rp_salt salt;
    char *copy;
    rp_status status = rp_salt_open(&salt, folder, err);

    if (status != RP_OK)
        return status;
    copy = rp_strdup(folder);
    status = copy ? rp_recorder_set_salt(r, &salt, err) : rp_no_memory(err);
    if (status != RP_OK) { /* salted without a folder, the inputs would be written nowhere */
        rp_free(copy);
        return status;
    }
    rp_free(r->withhold);
    r->withhold = copy;
    return RP_OK;
}

const rp_salt *rp_recorder_salt(const rp_recorder *r)
{
    return r->salted ? &r->salt : NULL;
}

const char *rp_recorder_folder(const rp_recorder *r)
{
    return r->withhold;
}

rp_status rp_recorder_add_program(rp_recorder *r, const void *text, size_t size, rp_error *err)
{
    rp_buffer copy = {0};
    rp_status status;

    rp_buffer_append(&copy, text, size);
    status = rp_buffer_status(&copy, err);
    if (status == RP_OK)
        status = put_program(r, &copy, 0, err);
    rp_buffer_free(&copy);
    return status;
}

rp_status rp_recorder_continue(rp_recorder *r, const rp_byte_source *records, rp_error *err)
{
    unsigned char block[64 * RP_RECORD_SIZE];
    rp_status status = RP_OK;

    if (rp_recorder_steps(r) > 0 || r->failed || records->size % RP_RECORD_SIZE != 0)
        return rp_fail(err, RP_EARG, "a recording goes on from whole records, before its first step");
    for (uint64_t at = 0; at < records->size && status == RP_OK; at += sizeof block) {
        const size_t part = records->size - at < sizeof block ? (size_t)(records->size - at) : sizeof block;

        status = records->read(records->self, at, block, part, err);
        if (status == RP_OK)
            status = rp_growing_append(&r->journal, block, part, err);
    }
    return status;
}

rp_byte_source rp_recorder_journal(rp_recorder *r)
{
    return rp_growing_source(&r->journal);
}

const rp_buffer *rp_recorder_program(const rp_recorder *r, size_t i, size_t *programs)
{
    *programs = r->n_programs;
    return i < r->n_programs ? &r->program[i].text : NULL;
}

void rp_recorder_free(rp_recorder *r)
{
    if (!r)
        return;
    rp_run_unobserve(r->run, r);
    rp_recorder_drop_beside(r);
    rp_staging_free(r->staging);
    for (size_t i = 0; i < r->n_programs; i++)
        rp_buffer_free(&r->program[i].text);
    rp_free(r->program);
    rp_feeds_free(r->feeds);
    rp_growing_free(&r->journal);
    rp_windowed_free(r->expected);
    rp_buffer_free(&r->scratch);
    rp_rolling_free(r->rolling);
    rp_free(r->withhold);
    rp_json_free(r->parent);
    rp_json_free(r->pinned);
    rp_archive_writer_free(r->store);
    rp_free(r);
}

rp_status rp_recorder_expect(rp_recorder *r, const rp_archive *archive, rp_error *err)
{
    rp_status status = rp_journal_open(&r->expected, archive, err);

    r->comparing = status == RP_OK;
    return status;
}

void rp_recorder_forget_states(rp_recorder *r)
{
    r->stateless = true;
}

uint64_t rp_recorder_resumes(const rp_recorder *r)
{
    return r->resumes;
}

double rp_recorder_age(const rp_recorder *r)
{
    return difftime(time(NULL), r->started);
}

uint64_t rp_recorder_nanoseconds(const rp_recorder *r)
{
    return r->nanoseconds;
}

const rp_run *rp_recorder_run(const rp_recorder *r)
{
    return r->run;
}
