/* SPDX-License-Identifier: Apache-2.0
 * An archive's scalars as a TensorBoard event file: TFRecords (length, its masked CRC-32C, bytes, theirs), each of them
 * one Event protobuf, written field by field. Wall times are 0, so that the bytes follow from the archive alone. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "audit/archive/journal.h"
#include "audit/archive/member.h"
#include "base/handle.h"
#include "base/json.h"
#include "base/memory.h"
#include "core/recipe/recipe.h"
#include "core/train/schedule.h"
#include "determinism/bits.h"
#include "determinism/decimal.h"
#include "rp/export.h"

/* ---- CRC-32C (Castagnoli): RFC 3720, appendix B.4, reflected, the polynomial 0x1EDC6F41 ---- */

static uint32_t crc32c(const unsigned char *bytes, size_t size)
{
    uint32_t crc = UINT32_MAX;

    for (size_t i = 0; i < size; i++) {
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0x82F63B78u : 0);
    }
    return ~crc;
}

/* A CRC of bytes that hold CRCs tells little: TFRecords store it turned by 15 bits and moved by a constant. */
static uint32_t masked(const unsigned char *bytes, size_t size)
{
    const uint32_t crc = crc32c(bytes, size);

    return (crc >> 15 | crc << 17) + 0xA282EAD8u;
}

static void put_record(rp_buffer *out, const rp_buffer *event)
{
    unsigned char length[8];

    rp_store_u64(length, event->size);
    rp_buffer_append(out, length, sizeof length);
    rp_buffer_u32(out, masked(length, sizeof length));
    rp_buffer_append(out, event->data, event->size);
    rp_buffer_u32(out, masked(event->data, event->size));
    out->failed = out->failed || event->failed;
}

/* ---- protobuf: a field is its number and wire type, then a varint, fixed bytes, or a length and bytes ---- */

enum { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 };

static void put_varint(rp_buffer *out, uint64_t v)
{
    for (; v >= 0x80; v >>= 7)
        rp_buffer_u8(out, (uint8_t)(v | 0x80));
    rp_buffer_u8(out, (uint8_t)v);
}

static void put_field(rp_buffer *out, unsigned number, unsigned type)
{
    put_varint(out, (uint64_t)number << 3 | type);
}

static void put_bytes(rp_buffer *out, unsigned number, const void *bytes, size_t size)
{
    put_field(out, number, BYTES);
    put_varint(out, size);
    rp_buffer_append(out, bytes, size);
}

/* Event: wall_time = 1, step = 2, file_version = 3, summary = 5. */
static void put_event(rp_buffer *out, uint64_t step, unsigned content, const void *bytes, size_t size)
{
    rp_buffer event = {0};

    put_field(&event, 1, FIXED64);
    rp_buffer_u64(&event, 0);
    if (step) {
        put_field(&event, 2, VARINT);
        put_varint(&event, step);
    }
    put_bytes(&event, content, bytes, size);
    put_record(out, &event);
    rp_buffer_free(&event);
}

/* Summary: value = 1; Value: tag = 1, simple_value = 2. */
static void put_scalar(rp_buffer *out, uint64_t step, const char *tag, double value)
{
    rp_buffer inner = {0}, summary = {0};

    put_bytes(&inner, 1, tag, strlen(tag));
    put_field(&inner, 2, FIXED32);
    rp_buffer_u32(&inner, rp_bits_f32(rp_canonical_f32((float)value)));
    put_bytes(&summary, 1, inner.data, inner.size);
    summary.failed = summary.failed || inner.failed;
    if (summary.failed)
        out->failed = true;
    else
        put_event(out, step, 5, summary.data, summary.size);
    rp_buffer_free(&inner);
    rp_buffer_free(&summary);
}

/* ---- what an archive holds ---- */

typedef struct source {
    const rp_archive *archive;
    const rp_json *run;
    rp_recipe *recipe;   /* NULL: a run of the C API */
    uint64_t steps;      /* records */
    uint64_t first, end; /* of training */
    uint64_t longest;    /* training steps without early stopping */
} source;

static rp_status open_source(source *s, const rp_archive *archive, rp_windowed *journal, rp_error *err)
{
    rp_json *json = NULL;
    rp_buffer text = {0};
    int64_t training, epochs;
    rp_status status = RP_OK;

    *s = (source){.archive = archive, .run = rp_archive_manifest(archive)->run, .steps = rp_journal_records(journal)};
    s->end = s->longest = s->steps;
    if (!rp_archive_find(archive, RP_RECIPE_MEMBER))
        return RP_OK;
    status = rp_archive_read_member(archive, RP_RECIPE_MEMBER, (size_t)64 << 20, &text, err);
    if (status == RP_OK)
        status = rp_json_parse(&json, text.data, text.size, true, RP_RECIPE_MEMBER, err);
    if (status == RP_OK)
        status = rp_recipe_from_json(&s->recipe, json, RP_RECIPE_MEMBER, err);
    rp_json_free(json);
    rp_buffer_free(&text);
    if (status != RP_OK)
        return status == RP_EARG ? rp_fail_at(err, RP_EFORMAT, RP_RECIPE_MEMBER) : status;
    training = rp_json_integer_value(rp_json_object_get(s->run, "training_steps"));
    epochs = rp_json_integer_value(rp_json_object_get(s->run, "epochs"));
    if (training < 0 || (uint64_t)training >= s->steps)
        return rp_fail(err, RP_EFORMAT, "manifest.json: run.training_steps is %" PRId64 ", of %" PRIu64 " steps",
                       training, s->steps);
    s->first = 1;
    s->end = 1 + (uint64_t)training;
    s->longest = epochs > 0 ? (uint64_t)(training / epochs * s->recipe->train.epochs) : (uint64_t)training;
    return RP_OK;
}

static bool loss_of(const rp_record *record, double *loss)
{
    if (record->loss_dtype == RP_F32)
        *loss = (double)rp_from_bits_f32((uint32_t)record->loss);
    else if (record->loss_dtype == RP_F64)
        *loss = rp_from_bits_f64(record->loss);
    return record->loss_dtype != RP_LOSS_NONE;
}

/* A recipe's step 0 draws weights; what stands behind its training evaluates. */
static rp_status put_steps(rp_buffer *out, const source *s, rp_windowed *journal, rp_error *err)
{
    rp_status status = RP_OK;

    for (uint64_t i = s->first; i < s->end && status == RP_OK && !out->failed; i++) {
        rp_record record;
        double loss = 0;

        status = rp_journal_record(journal, i, &record, err);
        if (status != RP_OK)
            break;
        if (loss_of(&record, &loss))
            put_scalar(out, i, "loss", loss);
        if (s->recipe && !s->recipe->train.exact)
            put_scalar(out, i, "lr", rp_learning_rate(s->recipe, (int64_t)i, (int64_t)s->longest));
    }
    return status;
}

/* Decimals and counts of "training", "validation" and the like: as they are once all training was done. */
static void put_part(rp_buffer *out, uint64_t step, const char *part, const rp_json *metrics)
{
    enum { LONGEST = 60 }; /* bytes of a name */
    const char *key;
    rp_json *value;

    rp_json_object_foreach (metrics, key, value) {
        const char *text = rp_json_string_value(value);
        char tag[128];
        double number = 0;

        if (strlen(key) > LONGEST || strlen(part) > LONGEST)
            continue;
        if (text ? !rp_parse_printed_f64(&number, text, strlen(text)) : !rp_json_is_integer(value))
            continue;
        if (!text)
            number = (double)rp_json_integer_value(value);
        (void)snprintf(tag, sizeof tag, "%s/%s", part, key);
        put_scalar(out, step, tag, number);
    }
}

static rp_status put_metrics(rp_buffer *out, const source *s, rp_error *err)
{
    static const char member[] = RP_METRICS_MEMBER;
    const char *key;
    rp_buffer text = {0};
    rp_json *json = NULL, *part;
    rp_status status;

    if (!rp_archive_find(s->archive, member))
        return RP_OK;
    status = rp_archive_read_member(s->archive, member, (size_t)256 << 20, &text, err);
    if (status == RP_OK)
        status = rp_json_parse_within(&json, text.data, text.size, RP_JSON_METRICS_MEMORY, true, member, err);
    rp_buffer_free(&text);
    if (status == RP_OK)
        rp_json_object_foreach (json, key, part)
            if (rp_json_is_object(part))
                put_part(out, s->end - 1, key, part);
    rp_json_free(json);
    return status;
}

rp_status rp_export_events(const rp_archive *archive, void **bytes, size_t *size, rp_error *err)
{
    static const char version[] = "brain.Event:2";
    source s = {.recipe = NULL};
    rp_windowed *journal = NULL;
    rp_buffer out = {0};
    rp_status status;

    *bytes = NULL;
    *size = 0;
    if (!archive)
        return rp_no_handle(err, __func__, "archive");
    status = rp_journal_open(&journal, archive, err);
    if (status == RP_OK)
        status = open_source(&s, archive, journal, err);
    if (status == RP_OK) {
        put_event(&out, 0, 3, version, sizeof version - 1);
        status = put_steps(&out, &s, journal, err);
    }
    if (status == RP_OK)
        status = put_metrics(&out, &s, err);
    rp_windowed_free(journal);
    rp_recipe_free(s.recipe);
    if (status == RP_OK)
        status = rp_buffer_status(&out, err);
    if (status != RP_OK) {
        rp_buffer_free(&out);
        return status;
    }
    *bytes = out.data;
    *size = out.size;
    return RP_OK;
}
