/* SPDX-License-Identifier: Apache-2.0
 * reprise bench: how fast this host runs the kernels, beside what it can do at most. */
#include <math.h>

#include "cli/options.h"
#include "cli/print.h"
#include "cli/progress.h"

typedef struct request {
    unsigned threads;
    const char *level, *device, *only;
    rp_session *session;
    rp_meter meter;
} request;

static const char *rate_unit(const rp_bench_row *row, double *scale)
{
    *scale = 1e-9;
    if (row->unit[0] == 'f')
        return "GFLOP/s";
    if (row->unit[0] == 'b')
        return "GB/s";
    *scale = 1e9; /* seconds to nanoseconds */
    return "ns each";
}

static void put_row(request *r, const rp_bench_row *row)
{
    rp_buffer *out = &r->session->out;
    char time[RP_NUMBER_TEXT], rate[RP_NUMBER_TEXT], part[RP_NUMBER_TEXT];
    double scale, per_second = row->amount / row->seconds;
    const char *unit = rate_unit(row, &scale);

    rp_buffer_printf(out, "%-32s %12s us %10s %-8s", row->work, rp_fixed(time, row->seconds * 1e6, 2),
                     rp_fixed(rate, row->unit[0] == 'e' ? scale / per_second : scale * per_second, 2), unit);
    if (row->limit)
        rp_buffer_printf(out, "%7s of %s%s", rp_fixed(part, row->fraction, 2), row->device ? "this CPU's " : "",
                         row->limit);
    rp_buffer_text(out, "\n");
}

static void put_json_row(request *r, const rp_bench_row *row)
{
    rp_buffer *out = &r->session->out;

    rp_put_open(out, NULL, '{');
    rp_put_seconds(out, "amount", row->amount);
    if (row->limit)
        rp_put_seconds(out, "fraction", row->fraction);
    rp_put_text(out, "limit", row->limit);
    rp_put_seconds(out, "nanoseconds", row->seconds * 1e9);
    rp_put_text(out, "unit", row->unit);
    rp_put_text(out, "work", row->work);
    rp_put_close(out, '}');
}

/* What computes is known with the first row. */
static void put_head(request *r, const rp_bench_row *row)
{
    rp_put_line(r->session, "kernels", "%s", row->device ? row->device : row->level);
}

static void put_json_head(request *r, const rp_bench_row *row)
{
    rp_buffer *out = &r->session->out;

    rp_put_open(out, NULL, '{');
    rp_put_text(out, "device", row->device);
    rp_put_text(out, "level", row->level);
    rp_put_open(out, "works", '[');
}

static bool each_row(void *self, const rp_bench_row *row)
{
    request *r = self;

    if (row->index == 0)
        (r->session->json ? put_json_head : put_head)(r, row);

    const rp_progress progress = {.step = row->index + 1, .steps = row->count, .loss = INFINITY};

    (r->session->json ? put_json_row : put_row)(r, row);
    return rp_meter_update(&r->meter, &progress);
}

rp_status rp_command_bench(rp_session *session, int argc, char **argv, rp_error *err)
{
    request r = {.session = session};
    const rp_option options[] = {
        {0, "only", RP_OPTION_TEXT, "TEXT", "only works with TEXT in their name, e.g. matmul", &r.only, false},
        RP_OPTION_THREADS(&r.threads),
        RP_OPTION_ISA(&r.level),
        RP_OPTION_DEVICE(&r.device),
    };
    const rp_usage usage = {
        "bench [options]",
        "Times the kernels and measures in the same minute what this host can do at most: fused multiply-adds in\n"
        "registers (fma) and bytes read and copied outside the caches (memory). Times are medians of at least 7.",
        "  reprise bench --threads 1 --only matmul",
        NULL,
        0,
        options,
        RP_COUNT(options)};
    rp_status status = rp_options_parse(session, &usage, argc, argv, NULL, err);
    rp_bench_options bench;

    if (status == RP_OK)
        status = rp_device_option("bench", r.device, err);
    if (status != RP_OK || session->helped)
        return status;
    bench = (rp_bench_options){r.threads, r.level, r.only, r.device};
    rp_meter_begin(&r.meter, "measuring");
    status = rp_bench(&bench, each_row, &r, err);
    rp_meter_end(&r.meter);
    if (session->json) {
        rp_put_close(&session->out, ']');
        rp_put_close(&session->out, '}');
    }
    return status;
}
