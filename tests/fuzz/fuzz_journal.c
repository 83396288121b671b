/* SPDX-License-Identifier: Apache-2.0
 * Fuzz target: two archives of one small run whose journals were edited and hashed anew, compared, and the first
 * replayed. The input is a list of edits of four bytes: what to do (its lowest bit: to A or B), a position (u16), a
 * value. Comparing never fails for another reason than a malformed archive, and only the journal that was recorded can
 * be replayed. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "audit/archive/archive.h"
#include "audit/archive/journal.h"
#include "base/buffer.h"
#include "rp/rp.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { STEPS = 5, RECORDS_MAX = 12, EDIT = 4 };

typedef struct version {
    rp_buffer journal;
    int period; /* run.state_period of the manifest; 0: the recorded one */
    rp_buffer bytes;
    rp_archive *archive;
} version;

static rp_archive *original;
static rp_buffer journal; /* of the original */
static rp_buffer kept;    /* the original's bytes */

static void expect(bool fine)
{
    if (!fine)
        abort();
}

/* A branch taken by the data, so that there are two programs. */
static void step(rp_run *run, float x)
{
    const size_t two[] = {2};
    rp_tensor w, y, loss, grad;
    float value = 0;

    expect(rp_step_begin(run, NULL) == RP_OK);
    w = rp_state(run, "w");
    y = rp_mul(rp_feed(run, "x", RP_F32, 1, two, (float[]){x, 1}), w);
    loss = rp_mean(y, NULL, 0, false);
    expect(rp_read(run, loss, &value, sizeof value, NULL) == RP_OK);
    if (value > 0)
        loss = rp_mean(rp_tanh(y), NULL, 0, false);
    rp_gradients(loss, &w, 1, &grad);
    rp_set_state(run, "w", rp_sub(w, grad));
    rp_result(run, "loss", loss);
    expect(rp_step_end(run, NULL) == RP_OK);
}

static void prepare(void)
{
    static char path[] = "/tmp/rp-fuzz-journal-XXXXXX";
    const size_t two[] = {2};
    rp_recorder *recorder;
    rp_run *run;
    int fd = mkstemp(path);

    expect(fd >= 0);
    (void)close(fd);
    expect(rp_run_new(&run, &(rp_run_options){.threads = 1, .level = "ref"}, NULL) == RP_OK);
    expect(rp_run_add_state(run, "w", RP_F32, 1, two, (float[]){1, -0.5f}, NULL) == RP_OK);
    expect(rp_recorder_new(&recorder, run, NULL) == RP_OK);
    for (int i = 0; i < STEPS; i++)
        step(run, i % 2 ? -3.0f : 2.0f + (float)i);
    expect(rp_recorder_save(recorder, path, NULL, true, NULL, NULL) == RP_OK);
    rp_recorder_free(recorder);
    rp_run_free(run);
    expect(rp_file_read(path, (size_t)1 << 20, &kept, NULL) == RP_OK);
    (void)unlink(path);
    expect(rp_archive_open_memory(&original, kept.data, kept.size, "original", NULL) == RP_OK);
    expect(rp_archive_read_member(original, "run/journal.bin", 1 << 20, &journal, NULL) == RP_OK);
}

static void edit(version *v, unsigned what, size_t position, unsigned value)
{
    rp_buffer *to = &v->journal;

    switch (what % 4) {
    case 0: /* one byte */
        if (to->size > 0)
            to->data[position % to->size] = (unsigned char)value;
        break;
    case 1: /* cut, mostly at a record */
        position %= to->size + 1;
        to->size = value ? position / RP_RECORD_SIZE * RP_RECORD_SIZE : position;
        break;
    case 2: /* a record of the original once more */
        if (to->size < (size_t)RECORDS_MAX * RP_RECORD_SIZE)
            rp_buffer_append(to, journal.data + value % STEPS * RP_RECORD_SIZE, RP_RECORD_SIZE);
        break;
    default:
        v->period = (int)value;
    }
}

/* All members of the original but the journal, which is the version's. */
static void build(version *v)
{
    rp_json *run = rp_json_deep_copy(rp_archive_manifest(original)->run);
    rp_archive_writer *writer;

    expect(run != NULL && rp_archive_writer_new(&writer, NULL, NULL) == RP_OK);
    if (v->period)
        expect(rp_json_object_set_new(run, "state_period", rp_json_integer(v->period)) == 0);
    for (size_t i = 1; i < rp_archive_member_count(original); i++) {
        const rp_member *member = rp_archive_member(original, i);
        bool is_journal = strcmp(member->name, "run/journal.bin") == 0;

        expect(rp_archive_writer_add(writer, member->name, is_journal ? v->journal.data : kept.data + member->offset,
                                     is_journal ? v->journal.size : (size_t)member->size, NULL) == RP_OK);
    }
    expect(rp_archive_writer_finish(writer, RP_RUN_API, run, NULL) == RP_OK);
    expect(rp_archive_writer_append(writer, &v->bytes, NULL) == RP_OK);
    expect(rp_archive_open_memory(&v->archive, v->bytes.data, v->bytes.size, "version", NULL) == RP_OK);
    rp_archive_writer_free(writer);
    rp_json_free(run);
}

static void compare(const version *v, const rp_job_options *options)
{
    rp_error err;
    char *text;
    bool same;
    rp_status status = rp_diff(v[0].archive, v[1].archive, options, &same, &text, &err);

    if (status != RP_OK) {
        expect(status == RP_EFORMAT && text == NULL && err.text[0] != '\0');
        return;
    }
    expect(same == (strcmp(rp_archive_id(v[0].archive), rp_archive_id(v[1].archive)) == 0));
    expect(text[0] != '\0' && text[strlen(text) - 1] == '\n');
    rp_text_free(text);
}

static void replay(const version *v, const rp_job_options *options)
{
    rp_error err;
    rp_job *job;
    rp_status status = rp_replay(v->archive, options, &job, &err);

    if (status == RP_OK)
        expect(v->journal.size == journal.size && memcmp(v->journal.data, journal.data, journal.size) == 0);
    else
        expect(status == RP_EBITS || status == RP_EFORMAT);
    rp_job_free(job);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const rp_job_options options = {.threads = 1, .level = "ref"};
    version v[2] = {{.period = 0}, {.period = 0}};

    if (original == NULL)
        prepare();
    for (int i = 0; i < 2; i++)
        rp_buffer_append(&v[i].journal, journal.data, journal.size);
    for (; size >= EDIT && size <= 64 * EDIT; data += EDIT, size -= EDIT)
        edit(&v[data[0] & 1], data[0] >> 1, (size_t)(data[1] | data[2] << 8), data[3]);
    for (int i = 0; i < 2; i++)
        build(&v[i]);
    compare(v, &options);
    replay(&v[0], &options);
    for (int i = 0; i < 2; i++) {
        rp_archive_close(v[i].archive);
        rp_buffer_free(&v[i].bytes);
        rp_buffer_free(&v[i].journal);
    }
    return 0;
}
