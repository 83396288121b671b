/* SPDX-License-Identifier: Apache-2.0
 * Replaying a run of the API: at each step the journal says which program ran, data/feeds.bin which feeds it got; the
 * branch that the original program took is thereby given, and everything it computed is computed again. */
#include <stdio.h>
#include <string.h>

#include "audit/record/data_use.h"
#include "audit/drive/driver_private.h"
#include "audit/record/lineage.h"
#include "audit/archive/journal.h"
#include "base/memory.h"
#include "determinism/bits.h"

typedef struct tape_source {
    rp_run *run;
    rp_windowed *journal, *order;
    rp_tensor_set *feeds;
    rp_program **program;   /* by number, checked when the archive is opened */
    rp_price *price;        /* of each */
    rp_compiled **compiled; /* by number; made when first needed, and dropped together when they hold much memory */
    size_t n_programs, held;
    uint64_t at;     /* position in order */
    rp_json *parent; /* what the manifest says of one, checked; NULL: nothing */
} tape_source;

static const size_t held_max = (size_t)256 << 20;

static void drop_compiled(tape_source *tape)
{
    for (size_t i = 0; tape->compiled && i < tape->n_programs; i++) {
        rp_compiled_free(tape->compiled[i]);
        tape->compiled[i] = NULL;
    }
    tape->held = 0;
}

static void free_source(void *source)
{
    tape_source *tape = source;

    if (!tape)
        return;
    drop_compiled(tape);
    for (size_t i = 0; tape->program && i < tape->n_programs; i++)
        rp_program_free(tape->program[i]);
    rp_free(tape->program);
    rp_free(tape->price);
    rp_free(tape->compiled);
    rp_run_free(tape->run);
    rp_tensor_set_free(tape->feeds);
    rp_json_free(tape->parent);
    rp_windowed_free(tape->journal);
    rp_windowed_free(tape->order);
    rp_free(tape);
}

/* Every tensor of a set becomes a state or data of the run. */
static rp_status load(tape_source *tape, const rp_archive *archive, const char *name, bool states, rp_error *err)
{
    rp_tensor_set *set;
    rp_status status = rp_tensor_set_open(&set, archive, name, err);

    if (status == RP_OK) {
        status = rp_run_add_set(tape->run, set, states, err);
        status = status == RP_OK ? RP_OK : rp_fail_at(err, status, "%s", name);
    }
    rp_tensor_set_free(set);
    return status;
}

static rp_status load_programs(tape_source *tape, const rp_archive *archive, rp_error *err)
{
    char name[RP_MEMBER_NAME];
    rp_buffer bytes = {0};
    rp_status status = RP_OK;

    while (tape->n_programs < 10000) {
        (void)rp_program_name(name, tape->n_programs);
        if (!rp_archive_find(archive, name))
            break;
        tape->n_programs++;
    }
    tape->compiled = rp_calloc(tape->n_programs, sizeof *tape->compiled);
    tape->program = rp_calloc(tape->n_programs, sizeof *tape->program);
    tape->price = rp_calloc(tape->n_programs, sizeof *tape->price);
    if (!tape->compiled || !tape->program || !tape->price)
        return rp_no_memory(err);
    for (size_t i = 0; i < tape->n_programs && status == RP_OK; i++) {
        (void)rp_program_name(name, i);
        status = rp_archive_read_member(archive, name, (size_t)64 << 20, &bytes, err);
        if (status == RP_OK)
            status = rp_program_parse(&tape->program[i], bytes.data, bytes.size, name, err);
        if (status == RP_OK)
            tape->price[i] = rp_program_price(tape->program[i]);
        if (status == RP_OK)
            status = rp_run_look_at(tape->run, tape->program[i], err);
    }
    rp_buffer_free(&bytes);
    return status;
}

/* What no program takes in would look like what the run was trained on. */
static rp_status check_data(const tape_source *tape, rp_error *err)
{
    rp_data_use use;
    rp_status status = rp_data_use_begin(&use, tape->run, err);

    for (size_t i = 0; i < tape->n_programs && status == RP_OK; i++)
        rp_data_use_program(&use, tape->program[i]);
    for (size_t i = 0; i < use.n && status == RP_OK; i++)
        if (!use.used[i])
            status =
                rp_fail(err, RP_EFORMAT, RP_TENSORS_MEMBER ": %s: no program takes it in: it has no part in this run",
                        use.data[i].name);
    rp_data_use_free(&use);
    return status;
}

static rp_status open_tape(tape_source *tape, const rp_archive *archive, const rp_run_options *options, rp_error *err)
{
    rp_status status = rp_run_new(&tape->run, options, err);

    if (status == RP_OK)
        status = rp_journal_open(&tape->journal, archive, err);
    if (status == RP_OK && rp_journal_records(tape->journal) == 0)
        status = rp_fail(err, RP_EFORMAT, RP_JOURNAL_MEMBER ": no step is recorded");
    if (status == RP_OK)
        status = load(tape, archive, RP_INIT_MEMBER, true, err);
    if (status == RP_OK && rp_tensor_set_present(archive, RP_TENSORS_MEMBER))
        status = load(tape, archive, RP_TENSORS_MEMBER, false, err);
    if (status == RP_OK)
        status = rp_windowed_open(&tape->order, archive, RP_FEED_ORDER_MEMBER, err);
    if (status == RP_OK)
        status = rp_tensor_set_open(&tape->feeds, archive, RP_FEEDS_MEMBER, err);
    if (status == RP_OK)
        status = load_programs(tape, archive, err);
    if (status == RP_OK)
        status = check_data(tape, err);
    if (status == RP_OK) /* programs are compiled as steps come to them */
        status = rp_run_can_execute(tape->run, err);
    return status == RP_OK ? rp_api_parent_read(&tape->parent, archive, tape->run, err) : status;
}

static rp_status open_source(void **out, const rp_archive *archive, const rp_run_options *options, rp_error *err)
{
    tape_source *tape = rp_calloc(1, sizeof *tape);
    rp_status status = tape ? open_tape(tape, archive, options, err) : rp_no_memory(err);

    *out = tape;
    if (status != RP_OK) {
        free_source(tape);
        *out = NULL;
    }
    return status;
}

static rp_run *run_of(const void *source)
{
    return ((const tape_source *)source)->run;
}

static uint64_t total(const void *source)
{
    return rp_journal_records(((const tape_source *)source)->journal);
}

/* An honest run may have thousands of programs, each with its own memory: only some are held at once. */
static rp_status need_compiled(tape_source *tape, uint32_t number, rp_error *err)
{
    rp_program *copy;
    rp_status status;

    if (tape->compiled[number])
        return RP_OK;
    if (tape->held > held_max)
        drop_compiled(tape);
    copy = rp_program_copy(tape->program[number]);
    if (!copy)
        return rp_no_memory(err);
    status = rp_run_compile(&tape->compiled[number], tape->run, copy, err);
    if (status == RP_EFORMAT || status == RP_ESHAPE)
        return rp_fail_at(err, RP_EFORMAT, RP_PROGRAMS "%04u.json", number);
    if (status == RP_OK)
        tape->held += rp_compiled_own_bytes(tape->compiled[number]);
    return status;
}

static rp_status write_feed(const tape_source *tape, const rp_compiled *compiled, const char *name,
                            const rp_safetensor *from, rp_error *err)
{
    void *host = rp_malloc(from->size ? from->size : 1);
    rp_device_tensor feed;
    rp_status status = host ? rp_tensor_set_read_host(tape->feeds, from, host, err) : rp_no_memory(err);

    (void)rp_compiled_feed(compiled, name, &feed);
    if (status == RP_OK)
        status = rp_device_tensor_write(&feed, host, err);
    rp_free(host);
    return status;
}

static rp_status fill_feed(tape_source *tape, rp_compiled *compiled, const rp_input *in, rp_error *err)
{
    const rp_type *type = &rp_compiled_program(compiled)->value[in->value];
    char name[RP_DIGEST_HEX];
    const unsigned char *digest;
    const rp_safetensor *feed;
    rp_type found;
    rp_status status;

    if (rp_windowed_size(tape->order) - tape->at < RP_DIGEST_SIZE)
        return rp_fail(err, RP_EFORMAT, RP_FEED_ORDER_MEMBER ": too short: feed %s of step %llu is missing", in->name,
                       (unsigned long long)rp_run_steps(tape->run));
    status = rp_windowed_at(tape->order, tape->at, RP_DIGEST_SIZE, &digest, err);
    if (status != RP_OK)
        return status;
    rp_hex(name, digest, RP_DIGEST_SIZE);
    tape->at += RP_DIGEST_SIZE;
    feed = rp_tensor_set_find(tape->feeds, name);
    if (!feed)
        return rp_fail(err, RP_EFORMAT, RP_FEEDS_MEMBER ": feed %s of step %llu, digest %s, is missing", in->name,
                       (unsigned long long)rp_run_steps(tape->run), name);
    found = (rp_type){.dtype = feed->dtype, .rank = feed->rank};
    memcpy(found.shape, feed->shape, sizeof found.shape);
    if (!rp_type_equal(&found, type))
        return rp_fail(err, RP_EFORMAT, RP_FEEDS_MEMBER ": feed %s of step %llu has another shape or dtype", in->name,
                       (unsigned long long)rp_run_steps(tape->run));
    return write_feed(tape, compiled, in->name, feed, err);
}

/* The record of a step, as far as it says what is to be computed. */
static rp_status record_of(const tape_source *tape, uint64_t step, rp_record *record, rp_error *err)
{
    rp_status status = rp_journal_record(tape->journal, step, record, err);

    if (status == RP_OK && record->program >= tape->n_programs)
        status = rp_fail(err, RP_EFORMAT, RP_JOURNAL_MEMBER ": record %llu is malformed", (unsigned long long)step);
    return status;
}

static rp_status price_of(void *source, uint64_t step, rp_price *price, char member[RP_MEMBER_NAME], rp_error *err)
{
    const tape_source *tape = source;
    rp_record record;
    rp_status status = record_of(tape, step, &record, err);

    if (status == RP_OK) {
        *price = tape->price[record.program];
        (void)rp_program_name(member, record.program);
    }
    return status;
}

/* The feeds before a step are those of the programs before it. */
static rp_status restore(void *source, uint64_t step, const rp_value_source *from, rp_error *err)
{
    tape_source *tape = source;
    rp_status status = RP_OK;
    rp_record record;

    if (step > total(tape))
        return rp_fail(err, RP_EARG, "step %llu of a run of %llu", (unsigned long long)step,
                       (unsigned long long)total(tape));
    tape->at = 0;
    for (uint64_t i = 0; i < step && status == RP_OK; i++) {
        status = record_of(tape, i, &record, err);
        for (size_t k = 0; status == RP_OK && k < tape->program[record.program]->n_inputs; k++)
            tape->at += tape->program[record.program]->input[k].kind == RP_INPUT_FEED ? RP_DIGEST_SIZE : 0;
    }
    if (status == RP_OK && tape->at > rp_windowed_size(tape->order))
        status = rp_fail(err, RP_EFORMAT, RP_FEED_ORDER_MEMBER ": too short for %llu steps", (unsigned long long)step);
    return status == RP_OK ? rp_run_restore(tape->run, step, from, err) : status;
}

/* Feeds that no step takes would be in the archive for nobody: a run leaves none. */
static rp_status check_inputs(const void *source, rp_error *err)
{
    const tape_source *tape = source;
    const size_t feeds = rp_tensor_set_count(tape->feeds);
    bool *used = rp_calloc(feeds ? feeds : 1, sizeof *used);
    rp_status status = used ? RP_OK : rp_no_memory(err);
    uint64_t wanted = 0;
    rp_record record;

    for (uint64_t i = 0; i < total(tape) && status == RP_OK; i++) {
        status = record_of(tape, i, &record, err);
        for (size_t k = 0; status == RP_OK && k < tape->program[record.program]->n_inputs; k++)
            wanted += tape->program[record.program]->input[k].kind == RP_INPUT_FEED ? RP_DIGEST_SIZE : 0;
    }
    if (status == RP_OK && wanted != rp_windowed_size(tape->order))
        status = rp_fail(err, RP_EBITS, RP_FEED_ORDER_MEMBER ": %llu bytes, but the steps take %llu",
                         (unsigned long long)rp_windowed_size(tape->order), (unsigned long long)wanted);
    for (uint64_t at = 0; status == RP_OK && at < wanted; at += RP_DIGEST_SIZE) {
        char name[RP_DIGEST_HEX];
        const unsigned char *digest;
        const rp_safetensor *feed;

        status = rp_windowed_at(tape->order, at, RP_DIGEST_SIZE, &digest, err);
        if (status != RP_OK)
            break;
        rp_hex(name, digest, RP_DIGEST_SIZE);
        feed = rp_tensor_set_find(tape->feeds, name);
        if (feed)
            used[feed - rp_tensor_set_at(tape->feeds, 0)] = true;
    }
    for (size_t i = 0; i < feeds && status == RP_OK; i++)
        if (!used[i])
            status = rp_fail(err, RP_EBITS, RP_FEEDS_MEMBER ": tensor %.64s: in the archive, but no step takes it",
                             rp_tensor_set_at(tape->feeds, i)->name);
    rp_free(used);
    return status;
}

static rp_status run_step(void *source, rp_error *err)
{
    tape_source *tape = source;
    uint64_t step = rp_run_steps(tape->run);
    rp_record record;
    const rp_program *program;
    rp_compiled *compiled;
    rp_status status;

    if (step >= total(tape))
        return rp_fail(err, RP_EARG, "the run is complete");
    status = record_of(tape, step, &record, err);
    if (status == RP_OK)
        status = need_compiled(tape, record.program, err);
    if (status != RP_OK)
        return status;
    compiled = tape->compiled[record.program];
    program = rp_compiled_program(compiled);
    for (size_t i = 0; i < program->n_inputs && status == RP_OK; i++)
        if (program->input[i].kind == RP_INPUT_FEED)
            status = fill_feed(tape, compiled, &program->input[i], err);
    if (status != RP_OK)
        return status;
    return rp_compiled_step(compiled, err);
}

/* The first states are given. */
static rp_status add_init(const void *source, rp_archive_writer *writer, rp_error *err)
{
    return rp_run_steps(run_of(source)) == 0 ? rp_states_add(writer, RP_INIT_MEMBER, run_of(source), true, err) : RP_OK;
}

static rp_status add_members(const void *source, rp_archive_writer *writer, rp_json *run, rp_error *err)
{
    const tape_source *tape = source;
    rp_data_use use;
    rp_status status = rp_data_use_begin(&use, tape->run, err);

    for (size_t i = 0; i < tape->n_programs && status == RP_OK; i++)
        rp_data_use_program(&use, tape->program[i]);
    if (status == RP_OK)
        status = rp_data_add(writer, &use, err);
    rp_data_use_free(&use);
    if (status == RP_OK)
        status = rp_states_add(writer, RP_FINAL_MEMBER, tape->run, true, err);
    if (status == RP_OK && tape->parent && rp_json_object_set(run, "parent", tape->parent) != 0)
        status = rp_no_memory(err);
    return status;
}

static float loss(const void *source)
{
    (void)source;
    return 0;
}

static rp_status metrics(const void *source, rp_json **out, rp_error *err)
{
    (void)source;
    *out = rp_json_object();
    return *out ? RP_OK : rp_no_memory(err);
}

const rp_source_ops rp_tape_source = {
    .kind = RP_RUN_API,
    .open = open_source,
    .free = free_source,
    .run = run_of,
    .total = total,
    .step = run_step,
    .price = price_of,
    .restore = restore,
    .loss = loss,
    .add_init = add_init,
    .add_members = add_members,
    .metrics = metrics,
    .check_inputs = check_inputs,
};
