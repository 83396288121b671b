/* SPDX-License-Identifier: Apache-2.0
 * Replaying a run of the API: at each step the journal says which program ran, data/feeds.bin which feeds it got; the
 * branch that the original program took is thereby given, and everything it computed is computed again. */
#include <stdio.h>
#include <string.h>

#include "audit/record/driver.h"
#include "audit/archive/journal.h"
#include "audit/archive/safetensors.h"
#include "base/memory.h"
#include "determinism/bits.h"

struct rp_tape {
    rp_run *run;
    rp_buffer journal, order, feed_bytes;
    rp_safetensors *feeds;
    rp_program **program;   /* by number, checked when the archive is opened */
    rp_compiled **compiled; /* by number; made when first needed, and dropped together when they hold much memory */
    size_t n_programs, held;
    size_t at; /* position in order */
};

static const size_t held_max = (size_t)256 << 20;

static void drop_compiled(rp_tape *tape)
{
    for (size_t i = 0; tape->compiled && i < tape->n_programs; i++) {
        rp_compiled_free(tape->compiled[i]);
        tape->compiled[i] = NULL;
    }
    tape->held = 0;
}

void rp_tape_free(rp_tape *tape)
{
    if (!tape)
        return;
    drop_compiled(tape);
    for (size_t i = 0; tape->program && i < tape->n_programs; i++)
        rp_program_free(tape->program[i]);
    rp_free(tape->program);
    rp_free(tape->compiled);
    rp_run_free(tape->run);
    rp_safetensors_free(tape->feeds);
    rp_buffer_free(&tape->feed_bytes);
    rp_buffer_free(&tape->journal);
    rp_buffer_free(&tape->order);
    rp_free(tape);
}

/* Every tensor of a safetensors member becomes a state or data of the run. */
static rp_status load(rp_tape *tape, const rp_archive *archive, const char *member, bool state, rp_error *err)
{
    rp_buffer bytes = {0};
    rp_safetensors *file = NULL;
    rp_status status = rp_archive_read_member(archive, member, SIZE_MAX / 2, &bytes, err);

    if (status == RP_OK)
        status = rp_safetensors_parse(&file, bytes.data, bytes.size, member, err);
    for (size_t i = 0; status == RP_OK && i < file->count; i++) {
        const rp_safetensor *t = &file->tensor[i];
        void *host = rp_malloc(t->size);

        if (!host) {
            status = rp_no_memory(err);
            break;
        }
        rp_to_host(host, t->data, t->dtype, t->size / rp_dtype_size(t->dtype));
        status =
            (state ? rp_run_add_state : rp_run_add_data)(tape->run, t->name, t->dtype, t->rank, t->shape, host, err);
        if (status == RP_EARG)
            status = rp_fail_at(err, RP_EFORMAT, "%s", member);
        rp_free(host);
    }
    rp_safetensors_free(file);
    rp_buffer_free(&bytes);
    return status;
}

static rp_status load_programs(rp_tape *tape, const rp_archive *archive, rp_error *err)
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
    if (!tape->compiled || !tape->program)
        return rp_no_memory(err);
    for (size_t i = 0; i < tape->n_programs && status == RP_OK; i++) {
        (void)rp_program_name(name, i);
        status = rp_archive_read_member(archive, name, (size_t)64 << 20, &bytes, err);
        if (status == RP_OK)
            status = rp_program_parse(&tape->program[i], bytes.data, bytes.size, name, err);
    }
    rp_buffer_free(&bytes);
    return status;
}

rp_status rp_tape_open(rp_tape **out, const rp_archive *archive, const rp_run_options *options, rp_error *err)
{
    rp_tape *tape = rp_calloc(1, sizeof *tape);
    rp_status status;

    *out = NULL;
    if (!tape)
        return rp_no_memory(err);
    status = rp_run_new(&tape->run, options, err);
    if (status == RP_OK)
        status = rp_archive_read_member(archive, RP_JOURNAL_MEMBER, SIZE_MAX / 2, &tape->journal, err);
    if (status == RP_OK && tape->journal.size % RP_RECORD_SIZE != 0)
        status = rp_fail(err, RP_EFORMAT, RP_JOURNAL_MEMBER ": expected whole records of %d bytes", RP_RECORD_SIZE);
    if (status == RP_OK && tape->journal.size == 0)
        status = rp_fail(err, RP_EFORMAT, RP_JOURNAL_MEMBER ": no step is recorded");
    if (status == RP_OK)
        status = load(tape, archive, RP_INIT_MEMBER, true, err);
    if (status == RP_OK && rp_archive_find(archive, RP_TENSORS_MEMBER))
        status = load(tape, archive, RP_TENSORS_MEMBER, false, err);
    if (status == RP_OK)
        status = rp_archive_read_member(archive, RP_FEED_ORDER_MEMBER, SIZE_MAX / 2, &tape->order, err);
    if (status == RP_OK)
        status = rp_archive_read_member(archive, RP_FEEDS_MEMBER, SIZE_MAX / 2, &tape->feed_bytes, err);
    if (status == RP_OK)
        status = rp_safetensors_parse(&tape->feeds, tape->feed_bytes.data, tape->feed_bytes.size, RP_FEEDS_MEMBER, err);
    if (status == RP_OK)
        status = load_programs(tape, archive, err);
    if (status != RP_OK)
        rp_tape_free(tape);
    else
        *out = tape;
    return status;
}

rp_run *rp_tape_run(const rp_tape *tape)
{
    return tape->run;
}

uint64_t rp_tape_total(const rp_tape *tape)
{
    return tape->journal.size / RP_RECORD_SIZE;
}

/* An honest run may have thousands of programs, each with its own memory: only some are held at once. */
static rp_status need_compiled(rp_tape *tape, uint32_t number, rp_error *err)
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

static rp_status write_feed(const rp_compiled *compiled, const char *name, const rp_safetensor *from, rp_error *err)
{
    void *host = rp_malloc(from->size ? from->size : 1);
    rp_device_tensor feed;
    rp_status status;

    if (!host)
        return rp_no_memory(err);
    (void)rp_compiled_feed(compiled, name, &feed);
    rp_to_host(host, from->data, from->dtype, from->size / rp_dtype_size(from->dtype));
    status = rp_device_tensor_write(&feed, host, err);
    rp_free(host);
    return status;
}

static rp_status fill_feed(rp_tape *tape, rp_compiled *compiled, const rp_input *in, rp_error *err)
{
    const rp_type *type = &rp_compiled_program(compiled)->value[in->value];
    char name[RP_DIGEST_HEX];
    const rp_safetensor *feed;
    rp_type found;

    if (tape->order.size - tape->at < RP_DIGEST_SIZE)
        return rp_fail(err, RP_EFORMAT, RP_FEED_ORDER_MEMBER ": too short: feed %s of step %llu is missing", in->name,
                       (unsigned long long)rp_run_steps(tape->run));
    rp_hex(name, tape->order.data + tape->at, RP_DIGEST_SIZE);
    tape->at += RP_DIGEST_SIZE;
    feed = rp_safetensors_find(tape->feeds, name);
    if (!feed)
        return rp_fail(err, RP_EFORMAT, RP_FEEDS_MEMBER ": feed %s of step %llu, digest %s, is missing", in->name,
                       (unsigned long long)rp_run_steps(tape->run), name);
    found = (rp_type){.dtype = feed->dtype, .rank = feed->rank};
    memcpy(found.shape, feed->shape, sizeof found.shape);
    if (!rp_type_equal(&found, type))
        return rp_fail(err, RP_EFORMAT, RP_FEEDS_MEMBER ": feed %s of step %llu has another shape or dtype", in->name,
                       (unsigned long long)rp_run_steps(tape->run));
    return write_feed(compiled, in->name, feed, err);
}

/* The record of a step, as far as it says what is to be computed. */
static rp_status record_of(const rp_tape *tape, uint64_t step, rp_record *record, rp_error *err)
{
    if (!rp_record_read(record, tape->journal.data + step * RP_RECORD_SIZE) || record->step != step ||
        record->program >= tape->n_programs)
        return rp_fail(err, RP_EFORMAT, RP_JOURNAL_MEMBER ": record %llu is malformed", (unsigned long long)step);
    return RP_OK;
}

/* The feeds before a step are those of the programs before it. */
rp_status rp_tape_restore(rp_tape *tape, uint64_t step, const rp_named *state, size_t n, rp_error *err)
{
    rp_status status = RP_OK;
    rp_record record;

    if (step > rp_tape_total(tape))
        return rp_fail(err, RP_EARG, "step %llu of a run of %llu", (unsigned long long)step,
                       (unsigned long long)rp_tape_total(tape));
    tape->at = 0;
    for (uint64_t i = 0; i < step && status == RP_OK; i++) {
        status = record_of(tape, i, &record, err);
        for (size_t k = 0; status == RP_OK && k < tape->program[record.program]->n_inputs; k++)
            tape->at += tape->program[record.program]->input[k].kind == RP_INPUT_FEED ? RP_DIGEST_SIZE : 0;
    }
    if (status == RP_OK && tape->at > tape->order.size)
        status = rp_fail(err, RP_EFORMAT, RP_FEED_ORDER_MEMBER ": too short for %llu steps", (unsigned long long)step);
    return status == RP_OK ? rp_run_restore(tape->run, step, state, n, err) : status;
}

/* Feeds that no step takes would be in the archive for nobody: a run leaves none. */
rp_status rp_tape_check_feeds(const rp_tape *tape, rp_error *err)
{
    bool *used = rp_calloc(tape->feeds->count ? tape->feeds->count : 1, sizeof *used);
    rp_status status = used ? RP_OK : rp_no_memory(err);
    size_t wanted = 0;
    rp_record record;

    for (uint64_t i = 0; i < rp_tape_total(tape) && status == RP_OK; i++) {
        status = record_of(tape, i, &record, err);
        for (size_t k = 0; status == RP_OK && k < tape->program[record.program]->n_inputs; k++)
            wanted += tape->program[record.program]->input[k].kind == RP_INPUT_FEED ? RP_DIGEST_SIZE : 0;
    }
    if (status == RP_OK && wanted != tape->order.size)
        status = rp_fail(err, RP_EBITS, RP_FEED_ORDER_MEMBER ": %zu bytes, but the steps take %zu", tape->order.size,
                         wanted);
    for (size_t at = 0; status == RP_OK && at + RP_DIGEST_SIZE <= tape->order.size; at += RP_DIGEST_SIZE) {
        char name[RP_DIGEST_HEX];
        const rp_safetensor *feed;

        rp_hex(name, tape->order.data + at, RP_DIGEST_SIZE);
        feed = rp_safetensors_find(tape->feeds, name);
        if (feed)
            used[feed - tape->feeds->tensor] = true;
    }
    for (size_t i = 0; i < tape->feeds->count && status == RP_OK; i++)
        if (!used[i])
            status = rp_fail(err, RP_EBITS, RP_FEEDS_MEMBER ": tensor %.64s: in the archive, but no step takes it",
                             tape->feeds->tensor[i].name);
    rp_free(used);
    return status;
}

rp_status rp_tape_step(rp_tape *tape, rp_error *err)
{
    uint64_t step = rp_run_steps(tape->run);
    rp_record record;
    const rp_program *program;
    rp_compiled *compiled;
    rp_status status;

    if (step >= rp_tape_total(tape))
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

rp_status rp_add_data_tensors(rp_archive_writer *writer, const rp_run *run, rp_error *err)
{
    size_t n;
    const rp_device_tensor *present = rp_run_data(run, &n);
    rp_safetensor *tensor = rp_calloc(n, sizeof *tensor);
    const rp_named *data;
    rp_host_tensors host;
    rp_buffer file = {0};
    rp_status status = tensor ? rp_host_tensors_map(&host, present, n, err) : rp_no_memory(err);

    if (status != RP_OK) {
        rp_free(tensor);
        return status;
    }
    data = host.named;
    for (size_t i = 0; i < n; i++) {
        tensor[i] = (rp_safetensor){
            .name = data[i].name, .dtype = data[i].type.dtype, .rank = data[i].type.rank, .data = data[i].data};
        memcpy(tensor[i].shape, data[i].type.shape, sizeof tensor->shape);
    }
    if (n)
        status = rp_safetensors_write(&file, tensor, n, NULL, 0, err);
    if (n && status == RP_OK)
        status = rp_archive_writer_add(writer, RP_TENSORS_MEMBER, file.data, file.size, err);
    rp_host_tensors_unmap(&host);
    rp_buffer_free(&file);
    rp_free(tensor);
    return status;
}
