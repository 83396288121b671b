/* SPDX-License-Identifier: Apache-2.0
 * reprise run: trains by a recipe, writes and signs the archive, and sums up. */
#include "base/json.h"
#include "cli/signing/defaults.h"
#include "cli/signing/key_files.h"
#include "cli/coefficients.h"
#include "cli/data/image.h"
#include "cli/data/input.h"
#include "cli/print.h"
#include "cli/progress.h"
#include "cli/run.h"
#include "cli/data/table.h"
#include "cli/validate/trivial.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS_SHOWN = 40, TERMS_SHOWN = 12, SAVE_EVERY = 60, SAVE_EVERY_MAX = 1000000 };

/* "60", "0.5"; 0: never. */
static rp_status parse_seconds(const char *command, const char *text, double *out, rp_error *err)
{
    char *end;

    *out = text ? strtod(text, &end) : SAVE_EVERY;
    if (text && (strspn(text, "0123456789.") != strlen(text) || end == text || *end || *out > SAVE_EVERY_MAX))
        return rp_fail(err, RP_EARG, "%s: --save-every: expected seconds from 0 to %d, found %.40s", command,
                       SAVE_EVERY_MAX, text);
    return RP_OK;
}

rp_status rp_run_request_check(rp_session *session, rp_run_request *r, const char *command, const char *synopsis,
                               rp_error *err)
{
    rp_status status = parse_seconds(command, r->save_every, &r->save_seconds, err);

    if (status == RP_OK)
        status = rp_memory_option(&r->memory_bytes, r->memory, command, err);
    if (status != RP_OK)
        return status;
    if (r->no_record && (r->resume || r->save_every))
        return rp_fail(err, RP_EARG,
                       "run: --no-record leaves nothing to resume from: leave out --resume and --save-every");
    if (r->no_record && (r->out || r->key || r->withhold))
        return rp_fail(err, RP_EARG, "run: --no-record writes no archive: leave out --out, --key and --withhold");
    if (!r->no_record && !r->out)
        return rp_fail(err, RP_EARG, "%s: --out FILE is missing; usage: reprise %s", command, synopsis);
    status = rp_default_key(session, &r->key, !r->no_record, err);
    if (status != RP_OK)
        return status;
    if (r->passphrase && !r->key)
        return rp_fail(err, RP_EARG, "%s: --passphrase-file belongs to a key: give --key FILE too", command);
    if (r->cert && !r->key)
        return rp_fail(err, RP_EARG, "%s: --cert belongs to a key: give --key FILE too", command);
    return rp_device_option(command, r->device, err);
}

static rp_status parse(rp_session *session, int argc, char **argv, rp_run_request *r, const char **recipe,
                       rp_error *err)
{
    static const char *const names[] = {"RECIPE.yaml"};
    const rp_option options[] = {
        {'o', "out", RP_OPTION_TEXT, "FILE", "the archive to write (required unless --no-record)", &r->out, false},
        RP_RUN_OPTIONS(r),
        {0, "no-record", RP_OPTION_FLAG, NULL, "only train, to measure what recording costs", &r->no_record, false},
    };
    const rp_usage usage = {
        "run RECIPE.yaml -o OUT.reprise [--key KEY.pem] [options]",
        "Trains by the recipe and writes one archive that holds everything needed to replay the run.\n"
        "The same recipe and data give the same archive id on every host. A run that is interrupted or killed\n"
        "leaves its points in OUT.reprise.resume: --resume goes on from the last one, and the archive is the same.",
        "  reprise run examples/loans.yaml -o loans.reprise --key me.pem",
        names,
        1,
        options,
        RP_COUNT(options)};
    rp_status status = rp_options_parse(session, &usage, argc, argv, recipe, err);

    return status == RP_OK && !session->helped ? rp_run_request_check(session, r, "run", usage.synopsis, err) : status;
}

void rp_run_put_json(rp_session *session, const rp_run_request *r, const rp_run_done *done)
{
    const rp_job *job = done->job;
    rp_buffer *out = &session->out;

    rp_put_text(out, "archive_id", r->no_record ? NULL : job->archive_id);
    rp_put_text(out, "device", *job->device ? job->device : NULL);
    rp_put_text(out, "key_id", done->key ? rp_key_id(done->key) : NULL);
    rp_put_text(out, "level", job->level);
    rp_put_integer(out, "memory_bytes", job->memory);
    if (done->metrics)
        rp_put_metrics(out, "metrics", done->metrics);
    else
        rp_put_json(out, "metrics", NULL);
    rp_put_text(out, "path", r->out);
    rp_put_bool(out, "perfect", rp_metrics_perfect(done->metrics));
    rp_put_text(out, "pinned_to", *job->pinned_to ? job->pinned_to : NULL);
    rp_put_seconds(out, "recording_seconds", job->recording_seconds);
    rp_put_integer(out, "resumed_at", job->resumed_at);
    rp_put_integer(out, "resumes", job->resumes);
    rp_put_integer(out, "saved_points", job->saved_points);
    rp_put_seconds(out, "saving_seconds", job->saving_seconds);
    rp_put_seconds(out, "seconds", job->seconds);
    rp_put_bool(out, "signed", done->key != NULL);
    rp_put_integer(out, "steps", job->steps);
    rp_put_json(out, "table", rp_json_object_get(done->table, "columns") ? done->table : NULL); /* a text has none */
    rp_put_integer(out, "threads", job->threads);
    rp_put_integer(out, "trials", job->trials);
    rp_put_trivial_json(out, "worse_than_trivial", done->metrics);
}

static void put_fit_figures(rp_session *session, const rp_json *table)
{
    rp_buffer figures = {0};

    rp_put_fit_figures(&figures, table);
    rp_buffer_u8(&figures, 0);
    if (!figures.failed && figures.size > 1)
        rp_put_line(session, "criteria", "%.*s", (int)figures.size - 2, (const char *)figures.data);
    rp_buffer_free(&figures);
}

/* The first terms of an exact fit; the rest where the archive is shown. */
static void put_first_terms(rp_session *session, const rp_run_request *r, const rp_json *table)
{
    const size_t left = rp_put_coefficients(&session->out, table, TERMS_SHOWN);

    if (left && r->no_record)
        rp_put_line(session, "terms", "%zu more: of a recorded run reprise inspect --coefficients shows all", left);
    else if (left)
        rp_put_line(session, "terms", "%zu more: reprise inspect %s --coefficients", left, r->out);
}

/* What is left out of the archive is not printed beside it either. */
static void put_coefficients(rp_session *session, const rp_run_request *r, const rp_job *job)
{
    rp_json *table = NULL;

    if (!job->coefficients || rp_json_parse(&table, job->coefficients, strlen(job->coefficients), true,
                                            RP_COEFFICIENTS_MEMBER, NULL) != RP_OK)
        return;
    if (r->withhold)
        rp_put_line(session, "terms",
                    "in %s/outputs/coefficients.json, since they name categories and edges of the data", r->withhold);
    else
        put_first_terms(session, r, table);
    put_fit_figures(session, table);
    rp_json_free(table);
}

void rp_run_put_lines(rp_session *session, const rp_run_request *r, const rp_run_done *done)
{
    const rp_job *job = done->job;
    const rp_key *key = done->key;
    char seconds[RP_NUMBER_TEXT], recording[RP_NUMBER_TEXT], share[RP_NUMBER_TEXT], memory[RP_NUMBER_TEXT];

    if (!r->no_record)
        rp_put_verdict(session, true, "archive", "%s", job->archive_id);
    rp_put_metric_lines(session, done->metrics);
    put_coefficients(session, r, job);
    rp_put_trivial_line(session, done->metrics);
    rp_put_perfect_line(session, done->metrics);
    rp_put_findings(session, done->table);
    rp_put_line(session, "steps", "%llu on %u %s, kernels %s", (unsigned long long)job->steps, job->threads,
                job->threads == 1 ? "thread" : "threads", *job->device ? job->device : job->level);
    rp_pinned_put_line(session, job->pinned_to);
    if (job->trials)
        rp_put_line(session, "trials", "%llu before the run, all in outputs/trials.json",
                    (unsigned long long)job->trials);
    rp_put_line(session, "memory", "%s for weights, table and steps", rp_memory_text(memory, job->memory));
    if (r->no_record)
        rp_put_line(session, "time", "%s s, nothing recorded", rp_fixed(seconds, job->seconds, 2));
    else
        rp_put_line(session, "time", "%s s, of which recording %s s (%s %%)", rp_fixed(seconds, job->seconds, 2),
                    rp_fixed(recording, job->recording_seconds, 2),
                    rp_fixed(share, job->seconds > 0 ? 100 * job->recording_seconds / job->seconds : 0, 1));
    if (job->resumes)
        rp_put_line(session, "resumed", "after step %llu; %llu %s in all", (unsigned long long)job->resumed_at,
                    (unsigned long long)job->resumes, job->resumes == 1 ? "time" : "times");
    if (job->saved_points)
        rp_put_line(session, "saved", "%llu resume %s in %s s, gone now", (unsigned long long)job->saved_points,
                    job->saved_points == 1 ? "point" : "points", rp_fixed(seconds, job->saving_seconds, 2));
    if (r->out)
        rp_put_line(session, "written", "%s", r->out);
    if (r->withhold)
        rp_put_line(
            session, "left out",
            "the data and what quotes it, and scores of single rows, to %s: keep it and its salt secret, and safe",
            r->withhold);
    if (key)
        rp_put_line(session, "signed", "by key %s (%s)%s", rp_key_id(key), rp_key_type(key),
                    strcmp(rp_key_type(key), "Ed25519") ? "" : ", no bundle: OpenSSF Model Signing has no such keys");
    else if (r->out)
        rp_put_line(session, "unsigned", "no --key was given: nobody vouches for this archive");
}

/* Above the bar of a terminal, before a long training: what it learns from. */
static void show_table(void *self, const char *json)
{
    rp_meter *meter = self;
    rp_json *table = NULL;
    rp_buffer lines = {0};

    if (!meter->shown ||
        rp_json_parse_within(&table, json, strlen(json), RP_JSON_METRICS_MEMORY, true, "table", NULL) != RP_OK)
        return;
    rp_meter_clear(meter);
    if (rp_json_array_size(rp_json_object_get(table, "columns")) <= COLUMNS_SHOWN)
        rp_put_table(&lines, table);
    (void)fwrite(lines.data, 1, lines.size, stderr);
    rp_buffer_free(&lines);
    rp_json_free(table);
}

rp_status rp_run_train(rp_run_done *out, rp_session *session, const rp_run_request *r, const char *command,
                       rp_status (*train)(const void *self, const rp_key *key, const rp_job_options *options,
                                          rp_job **job, rp_error *err),
                       const void *self, rp_error *err)
{
    rp_meter meter;
    const rp_job_options options = {.threads = r->threads,
                                    .level = r->level,
                                    .device = r->device,
                                    .memory = r->memory_bytes,
                                    .no_record = r->no_record,
                                    .progress = rp_meter_update,
                                    .outlook = rp_meter_outlook,
                                    .reading = rp_meter_reading,
                                    .table = show_table,
                                    .read_table = rp_input_table,
                                    .decode_image = rp_image_decode,
                                    .self = &meter,
                                    .withhold = r->withhold,
                                    .save_every = r->save_seconds,
                                    .save_if_can = !r->save_every, /* nobody asked for points, so none is missed */
                                    .resume = r->resume};
    char signing[32];
    rp_status status = RP_OK;

    (void)snprintf(signing, sizeof signing, "%s --key", command);
    if (r->key || r->device)
        status = rp_conforming_option(r->key ? signing : command, r->level, r->device, r->nonconforming, err);
    if (status == RP_OK && r->key)
        status = rp_signing_key_load(&out->key, r->key, r->passphrase, err);
    if (status == RP_OK && r->cert)
        status = rp_key_load_certificates(out->key, r->cert, err);
    if (status != RP_OK)
        return status;
    rp_meter_begin(&meter, "training");
    status = train(self, out->key, &options, &out->job, err);
    rp_meter_end(&meter);
    if (status != RP_OK)
        return status;
    out->metrics = rp_metrics_of(out->job);
    if (*out->job->save_note)
        rp_buffer_printf(&session->remark, "resume points: %s%c", out->job->save_note, 0);
    return rp_json_parse_within(&out->table, out->job->table, strlen(out->job->table), RP_JSON_METRICS_MEMORY, true,
                                "table", err);
}

void rp_run_done_clear(rp_run_done *done)
{
    rp_json_free(done->metrics);
    rp_json_free(done->table);
    rp_job_free(done->job);
    rp_key_free(done->key);
}

/* What is trained by a recipe. */
typedef struct by_recipe {
    const char *recipe;
    const rp_run_request *request;
} by_recipe;

static rp_status train_by_recipe(const void *self, const rp_key *key, const rp_job_options *options, rp_job **job,
                                 rp_error *err)
{
    const by_recipe *b = self;

    return rp_train_recipe(b->recipe, b->request->out, key, b->request->force, options, job, err);
}

rp_status rp_command_run(rp_session *session, int argc, char **argv, rp_error *err)
{
    rp_run_request r = {.out = NULL};
    by_recipe what = {NULL, &r};
    rp_run_done done = {.job = NULL};
    rp_status status = parse(session, argc, argv, &r, &what.recipe, err);

    if (status != RP_OK || session->helped)
        return status;
    status = rp_run_train(&done, session, &r, "run", train_by_recipe, &what, err);
    if (status == RP_OK && session->json) {
        rp_put_open(&session->out, NULL, '{');
        rp_run_put_json(session, &r, &done);
        rp_put_close(&session->out, '}');
    } else if (status == RP_OK) {
        rp_run_put_lines(session, &r, &done);
    }
    rp_run_done_clear(&done);
    return status;
}
