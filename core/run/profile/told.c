/* SPDX-License-Identifier: Apache-2.0
 * A profile in words, as JSON and as a trace. Numbers are written here without printf's reals, so neither the locale
 * nor the C library decides how they look. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/handle.h"
#include "base/memory.h"
#include "core/run/profile/profile.h"

static const char *const beside_names[] = {[RP_BESIDE_BETWEEN] = "between operations",
                                           [RP_BESIDE_RECORDING] = "recording",
                                           [RP_BESIDE_OUTSIDE] = "outside steps"};

/* Rows of one kind together, or one row. */
typedef struct sum {
    const char *name;
    const rp_profile_row *row; /* NULL: of several */
    uint64_t calls, nanoseconds;
    double bytes, arithmetic;
    double moving, computing; /* seconds, at the host's limits */
} sum;

typedef struct sums {
    sum *of;
    size_t n;
} sums;

/* ---- numbers ---- */

static void put_seconds(rp_buffer *out, uint64_t nanoseconds)
{
    rp_buffer_printf(out, "%" PRIu64 ".%09" PRIu64, nanoseconds / 1000000000u, nanoseconds % 1000000000u);
}

/* At least 0, rounded to nearest; what is no such number is 0. */
static void put_real(rp_buffer *out, double x, int decimals)
{
    uint64_t scale = 1, whole;

    for (int i = 0; i < decimals; i++)
        scale *= 10;
    whole = x > 0 && x < 1e12 ? (uint64_t)(x * (double)scale + 0.5) : 0;
    rp_buffer_printf(out, "%" PRIu64, whole / scale);
    if (decimals)
        rp_buffer_printf(out, ".%0*" PRIu64, decimals, whole % scale);
}

/* The same in a column. */
static void put_column(rp_buffer *out, double x, int decimals, int width)
{
    rp_buffer text = {0};

    put_real(&text, x, decimals);
    rp_buffer_printf(out, "%*.*s", width, (int)text.size, text.data ? (const char *)text.data : "");
    out->failed = out->failed || text.failed;
    rp_buffer_free(&text);
}

static uint64_t wall(const rp_profile *p)
{
    return p->ended - p->began;
}

static double share(const rp_profile *p, uint64_t nanoseconds)
{
    return wall(p) ? (double)nanoseconds / (double)wall(p) : 0;
}

/* ---- sums ---- */

static void add_row(sum *s, const rp_profile *p, const rp_profile_row *row)
{
    const double fma = row->wide ? p->fma64 : p->fma, times = row->eager ? 1 : (double)row->calls;
    /* a copy writes one byte for each it reads; what goes beyond that is reading alone */
    const double copied = 2 * row->written < row->bytes ? 2 * row->written : row->bytes;

    s->calls += row->calls;
    s->nanoseconds += row->nanoseconds;
    s->bytes += times * row->bytes;
    s->arithmetic += times * row->arithmetic;
    s->computing += fma > 0 ? times * row->arithmetic / fma : 0;
    s->moving += p->copy > 0 && p->read > 0 ? times * (copied / p->copy + (row->bytes - copied) / p->read) : 0;
}

/* What it takes at the host's limits, as a part of what it took. */
static double fraction(const sum *s)
{
    const double least = s->computing > s->moving ? s->computing : s->moving;

    return s->nanoseconds ? least / ((double)s->nanoseconds * 1e-9) : 0;
}

static const char *limit(const sum *s)
{
    return s->computing + s->moving == 0 ? NULL : s->computing > s->moving ? "fma" : "memory";
}

static int longest_first(const void *a, const void *b)
{
    const sum *x = a, *y = b;

    if (x->nanoseconds != y->nanoseconds)
        return x->nanoseconds < y->nanoseconds ? 1 : -1;
    return strcmp(x->name, y->name);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const sum *)a)->name, ((const sum *)b)->name);
}

/* A sum for each row that was executed. */
static rp_status each_row(sums *out, const rp_profile *p, rp_error *err)
{
    size_t rows = 0;

    for (size_t i = 0; i < p->n_entries; i++)
        rows += p->entry[i].n;
    *out = (sums){rp_calloc(rows ? rows : 1, sizeof *out->of), 0};
    if (!out->of)
        return rp_no_memory(err);
    for (size_t i = 0; i < p->n_entries; i++)
        for (size_t k = 0; k < p->entry[i].n; k++) {
            const rp_profile_row *row = &p->entry[i].row[k];

            if (row->calls == 0)
                continue;
            out->of[out->n] = (sum){.name = row->operations, .row = row};
            add_row(&out->of[out->n++], p, row);
        }
    qsort(out->of, out->n, sizeof *out->of, longest_first);
    return RP_OK;
}

/* Rows of the same operations together. */
static rp_status by_operation(sums *out, const sums *rows, rp_error *err)
{
    *out = (sums){rp_calloc(rows->n ? rows->n : 1, sizeof *out->of), 0};
    if (!out->of)
        return rp_no_memory(err);
    if (rows->n)
        memcpy(out->of, rows->of, rows->n * sizeof *out->of);
    qsort(out->of, rows->n, sizeof *out->of, by_name);
    for (size_t i = 0; i < rows->n; i++) {
        const sum s = out->of[i];
        sum *last = out->n ? &out->of[out->n - 1] : NULL;

        if (!last || strcmp(last->name, s.name) != 0) {
            out->of[out->n] = s;
            out->of[out->n++].row = NULL;
            continue;
        }
        last->calls += s.calls;
        last->nanoseconds += s.nanoseconds;
        last->bytes += s.bytes;
        last->arithmetic += s.arithmetic;
        last->computing += s.computing;
        last->moving += s.moving;
    }
    qsort(out->of, out->n, sizeof *out->of, longest_first);
    return RP_OK;
}

static rp_status sum_up(sums *rows, sums *operations, const rp_profile *p, rp_error *err)
{
    rp_status status;

    *rows = *operations = (sums){NULL, 0};
    if (p->run)
        return rp_fail(err, RP_EARG, "the profile goes on: rp_profile_end ends it");
    if (p->ended == 0)
        return rp_fail(err, RP_EARG, "the run was freed before its profile ended");
    if (p->failed)
        return rp_no_memory(err);
    status = each_row(rows, p, err);
    return status == RP_OK ? by_operation(operations, rows, err) : status;
}

/* ---- words ---- */

static void put_line(rp_buffer *out, const rp_profile *p, const sum *s)
{
    const double seconds = (double)s->nanoseconds * 1e-9;

    put_column(out, 100 * share(p, s->nanoseconds), 2, 7);
    rp_buffer_text(out, " %");
    put_column(out, seconds, 6, 12);
    rp_buffer_printf(out, "%9" PRIu64, s->calls);
    put_column(out, s->calls ? 1e6 * seconds / (double)s->calls : 0, 2, 12);
    put_column(out, seconds > 0 ? 1e-9 * s->arithmetic / seconds : 0, 2, 10);
    put_column(out, seconds > 0 ? 1e-9 * s->bytes / seconds : 0, 2, 9);
    if (limit(s)) {
        put_column(out, fraction(s), 2, 7);
        rp_buffer_printf(out, " %-6s", limit(s));
    } else {
        rp_buffer_text(out, "              ");
    }
    if (s->row) {
        put_column(out, (double)s->row->memory / 1024, 0, 11);
        rp_buffer_printf(out, "  %s %s %s%s%s", s->row->place, s->name, s->row->type, *s->row->source ? " of " : "",
                         s->row->source);
    } else {
        rp_buffer_printf(out, "  %s", s->name);
    }
    rp_buffer_u8(out, '\n');
}

static void put_beside(rp_buffer *out, const rp_profile *p, const char *name, uint64_t nanoseconds)
{
    put_column(out, 100 * share(p, nanoseconds), 2, 7);
    rp_buffer_text(out, " %");
    put_column(out, (double)nanoseconds * 1e-9, 6, 12);
    rp_buffer_printf(out, "%56s%s\n", "", name);
}

static void put_rows(rp_buffer *out, const rp_profile *p, const sums *of, size_t rows)
{
    const size_t shown = rows && rows < of->n ? rows : of->n;
    uint64_t rest = 0;

    for (size_t i = 0; i < shown; i++)
        put_line(out, p, &of->of[i]);
    for (size_t i = shown; i < of->n; i++)
        rest += of->of[i].nanoseconds;
    if (shown < of->n)
        put_beside(out, p, "(all others)", rest);
}

static void put_head(rp_buffer *out, const rp_profile *p)
{
    rp_buffer_printf(out, "profile   %" PRIu64 " %s in ", p->steps, p->steps == 1 ? "step" : "steps");
    put_real(out, (double)wall(p) * 1e-9, 6);
    rp_buffer_printf(out, " s on %u %s, kernels %s\n", p->threads, p->threads == 1 ? "thread" : "threads",
                     *p->device ? p->device : p->level);
    if (p->fma > 0) {
        rp_buffer_text(out, "limits    fma ");
        put_real(out, 1e-9 * p->fma, 1);
        rp_buffer_text(out, " GFLOP/s, memory ");
        put_real(out, 1e-9 * p->read, 1);
        rp_buffer_text(out, " GB/s read, ");
        put_real(out, 1e-9 * p->copy, 1);
        rp_buffer_text(out, " GB/s copied\n");
    }
    rp_buffer_printf(out, "memory    arena %" PRIu64 " KiB, states, data, feeds and results %" PRIu64 " KiB\n\n",
                     (p->arena + 1023) / 1024, (p->held + 1023) / 1024);
}

rp_status rp_profile_text(const rp_profile *p, size_t rows, char **text, rp_error *err)
{
    sums each, operations;
    rp_buffer out = {0};
    rp_status status;

    *text = NULL;
    if (!p)
        return rp_no_handle(err, __func__, "profile");
    status = sum_up(&each, &operations, p, err);
    if (status == RP_OK) {
        put_head(&out, p);
        rp_buffer_text(&out,
                       "    share     seconds    calls     us each   GFLOP/s     GB/s of limit       operation\n");
        put_rows(&out, p, &operations, rows);
        for (size_t i = 0; i < RP_BESIDES; i++)
            put_beside(&out, p, beside_names[i], p->beside[i]);
        rp_buffer_text(&out, "\n    share     seconds    calls     us each   GFLOP/s     GB/s of limit    "
                             "KiB alive  instruction\n");
        put_rows(&out, p, &each, rows);
    }
    rp_free(each.of);
    rp_free(operations.of);
    return rp_buffer_finish(&out, status, text, err);
}

/* ---- JSON ---- */

/* Names have no characters that JSON escapes; paths of sources may. */
static void put_string(rp_buffer *out, const char *text)
{
    rp_buffer_u8(out, '"');
    for (const unsigned char *at = (const unsigned char *)text; *at; at++)
        if (*at == '"' || *at == '\\')
            rp_buffer_printf(out, "\\%c", *at);
        else
            rp_buffer_u8(out, *at < 0x20 || *at > 0x7e ? '?' : *at);
    rp_buffer_u8(out, '"');
}

static void put_sum(rp_buffer *out, const rp_profile *p, const sum *s)
{
    rp_buffer_printf(out, "{\"arithmetic\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"calls\":%" PRIu64 ",\"fraction\":",
                     (uint64_t)s->arithmetic, (uint64_t)s->bytes, s->calls);
    if (limit(s))
        put_real(out, fraction(s), 6);
    else
        rp_buffer_text(out, "null");
    rp_buffer_printf(out, limit(s) ? ",\"limit\":\"%s\"" : ",\"limit\":%s", limit(s) ? limit(s) : "null");
    if (s->row)
        rp_buffer_printf(out, ",\"memory\":%" PRIu64 ",\"operation\":", s->row->memory);
    else
        rp_buffer_text(out, ",\"operation\":");
    put_string(out, s->name);
    if (s->row) {
        rp_buffer_text(out, ",\"place\":");
        put_string(out, s->row->place);
    }
    rp_buffer_text(out, ",\"seconds\":");
    put_seconds(out, s->nanoseconds);
    rp_buffer_text(out, ",\"share\":");
    put_real(out, share(p, s->nanoseconds), 6);
    if (s->row) {
        rp_buffer_text(out, ",\"source\":");
        put_string(out, s->row->source);
        rp_buffer_text(out, ",\"type\":");
        put_string(out, s->row->type);
    }
    rp_buffer_u8(out, '}');
}

static void put_sums(rp_buffer *out, const rp_profile *p, const char *key, const sums *of)
{
    rp_buffer_printf(out, ",\"%s\":[", key);
    for (size_t i = 0; i < of->n; i++) {
        rp_buffer_text(out, i ? "," : "");
        put_sum(out, p, &of->of[i]);
    }
    rp_buffer_u8(out, ']');
}

static void put_limits(rp_buffer *out, const rp_profile *p)
{
    if (!(p->fma > 0)) {
        rp_buffer_text(out, ",\"limits\":null");
        return;
    }
    rp_buffer_printf(
        out, ",\"limits\":{\"copy\":%" PRIu64 ",\"fma\":%" PRIu64 ",\"fma64\":%" PRIu64 ",\"read\":%" PRIu64 "}",
        (uint64_t)p->copy, (uint64_t)p->fma, (uint64_t)p->fma64, (uint64_t)p->read);
}

static void put_all(rp_buffer *out, const rp_profile *p, const sums *each, const sums *operations)
{
    rp_buffer_printf(out, "{\"arena_bytes\":%" PRIu64 ",\"beside\":[", p->arena);
    for (size_t i = 0; i < RP_BESIDES; i++) {
        rp_buffer_printf(out, "%s{\"seconds\":", i ? "," : "");
        put_seconds(out, p->beside[i]);
        rp_buffer_text(out, ",\"share\":");
        put_real(out, share(p, p->beside[i]), 6);
        rp_buffer_printf(out, ",\"what\":\"%s\"}", beside_names[i]);
    }
    rp_buffer_text(out, "],\"device\":");
    if (*p->device)
        put_string(out, p->device);
    else
        rp_buffer_text(out, "null");
    rp_buffer_printf(out, ",\"held_bytes\":%" PRIu64, p->held);
    put_sums(out, p, "instructions", each);
    rp_buffer_printf(out, ",\"level\":\"%s\"", p->level);
    put_limits(out, p);
    put_sums(out, p, "operations", operations);
    rp_buffer_text(out, ",\"seconds\":");
    put_seconds(out, wall(p));
    rp_buffer_printf(out, ",\"steps\":%" PRIu64 ",\"threads\":%u}", p->steps, p->threads);
}

rp_status rp_profile_json(const rp_profile *p, char **json, rp_error *err)
{
    sums each, operations;
    rp_buffer out = {0};
    rp_status status;

    *json = NULL;
    if (!p)
        return rp_no_handle(err, __func__, "profile");
    status = sum_up(&each, &operations, p, err);
    if (status == RP_OK)
        put_all(&out, p, &each, &operations);
    rp_free(each.of);
    rp_free(operations.of);
    return rp_buffer_finish(&out, status, json, err);
}

/* ---- the trace ---- */

enum { TID_STEPS = 1, TID_OPERATIONS = 2 };

static void put_microseconds(rp_buffer *out, uint64_t nanoseconds)
{
    rp_buffer_printf(out, "%" PRIu64 ".%03" PRIu64, nanoseconds / 1000, nanoseconds % 1000);
}

static void put_span(rp_buffer *out, const rp_profile_event *e, int tid)
{
    rp_buffer_printf(out, "{\"ph\":\"X\",\"pid\":1,\"tid\":%d,\"ts\":", tid);
    put_microseconds(out, e->begin);
    rp_buffer_text(out, ",\"dur\":");
    put_microseconds(out, e->end - e->begin);
}

/* Of an instruction of eager steps what a call has in the mean. */
static void put_operation(rp_buffer *out, const rp_profile_event *e, const rp_profile_row *row)
{
    const double calls = row->eager && row->calls ? (double)row->calls : 1;

    put_span(out, e, TID_OPERATIONS);
    rp_buffer_text(out, ",\"cat\":\"operation\",\"name\":");
    put_string(out, row->operations);
    rp_buffer_printf(out, ",\"args\":{\"arithmetic\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"place\":",
                     (uint64_t)(row->arithmetic / calls), (uint64_t)(row->bytes / calls));
    put_string(out, row->place);
    rp_buffer_text(out, ",\"source\":");
    put_string(out, row->source);
    rp_buffer_text(out, ",\"type\":");
    put_string(out, row->type);
    rp_buffer_text(out, "}},\n{\"ph\":\"C\",\"pid\":1,\"name\":\"arena\",\"ts\":");
    put_microseconds(out, e->begin);
    rp_buffer_printf(out, ",\"args\":{\"bytes\":%" PRIu64 "}}", row->memory);
}

static void put_event(rp_buffer *out, const rp_profile *p, const rp_profile_event *e)
{
    rp_buffer_text(out, ",\n");
    if (e->entry == RP_PROFILE_STEP) {
        put_span(out, e, TID_STEPS);
        rp_buffer_printf(out, ",\"cat\":\"step\",\"name\":\"step %" PRIu32 "\",\"args\":{}}", e->row);
    } else if (e->entry == RP_PROFILE_RECORDING) {
        put_span(out, e, TID_STEPS);
        rp_buffer_text(out, ",\"cat\":\"recording\",\"name\":\"recording\",\"args\":{}}");
    } else {
        put_operation(out, e, &p->entry[e->entry].row[e->row]);
    }
}

rp_status rp_profile_trace(const rp_profile *p, char **json, rp_error *err)
{
    rp_buffer out = {0};

    *json = NULL;
    if (!p)
        return rp_no_handle(err, __func__, "profile");
    if (p->ended == 0 || !p->options.trace)
        return rp_fail(err, RP_EARG, p->ended == 0 ? "the profile has not ended" : "no trace was asked for");
    if (p->failed)
        return rp_no_memory(err);
    rp_buffer_printf(&out,
                     "{\"displayTimeUnit\":\"ms\",\"otherData\":{\"events_left_out\":\"%" PRIu64
                     "\"},\"traceEvents\":[\n"
                     "{\"ph\":\"M\",\"pid\":1,\"name\":\"process_name\",\"args\":{\"name\":\"reprise\"}},\n"
                     "{\"ph\":\"M\",\"pid\":1,\"tid\":%d,\"name\":\"thread_name\",\"args\":{\"name\":\"steps\"}},\n"
                     "{\"ph\":\"M\",\"pid\":1,\"tid\":%d,\"name\":\"thread_name\",\"args\":{\"name\":\"operations\"}}",
                     p->dropped, TID_STEPS, TID_OPERATIONS);
    for (size_t i = 0; i < p->n_events; i++)
        put_event(&out, p, &p->event[i]);
    rp_buffer_text(&out, "\n]}\n");
    return rp_buffer_finish(&out, RP_OK, json, err);
}
