/* SPDX-License-Identifier: Apache-2.0
 * reprise run: trains by a recipe, writes and signs the archive, and sums up. */
#include "base/json.h"
#include "cli/signing/defaults.h"
#include "cli/signing/key_files.h"
#include "cli/data/input.h"
#include "cli/print.h"
#include "cli/progress.h"
#include "cli/data/table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS_SHOWN = 40, SAVE_EVERY = 60, SAVE_EVERY_MAX = 1000000 };

typedef struct request {
    const char *recipe, *out, *key, *passphrase, *cert, *level, *device, *withhold, *save_every;
    double save_seconds;
    unsigned threads;
    bool force, no_record, resume, nonconforming;
} request;

/* "60", "0.5"; 0: never. */
static rp_status parse_seconds(const char *text, double *out, rp_error *err)
{
    char *end;

    *out = text ? strtod(text, &end) : SAVE_EVERY;
    if (text && (strspn(text, "0123456789.") != strlen(text) || end == text || *end || *out > SAVE_EVERY_MAX))
        return rp_fail(err, RP_EARG, "run: --save-every: expected seconds from 0 to %d, found %.40s", SAVE_EVERY_MAX,
                       text);
    return RP_OK;
}

static rp_status parse(rp_session *session, int argc, char **argv, request *r, rp_error *err)
{
    static const char *const names[] = {"RECIPE.yaml"};
    const rp_option options[] = {
        {'o', "out", RP_OPTION_TEXT, "FILE", "the archive to write (required unless --no-record)", &r->out, false},
        {0, "key", RP_OPTION_TEXT, "FILE",
         "sign with this private key (PEM; default: REPRISE_KEY); without one the archive is unsigned", &r->key, false},
        {0, "passphrase-file", RP_OPTION_TEXT, "FILE", "the key's passphrase is the first line of FILE", &r->passphrase,
         false},
        {0, "cert", RP_OPTION_TEXT, "CHAIN.pem", "the key's certificate, then its issuers': goes into the archive",
         &r->cert, false},
        RP_OPTION_THREADS(&r->threads),
        RP_OPTION_ISA(&r->level),
        RP_OPTION_DEVICE(&r->device),
        RP_OPTION_NONCONFORMING(&r->nonconforming),
        {0, "withhold", RP_OPTION_TEXT, "DIR",
         "leave the data out of the archive, bound by salted digests, into this folder", &r->withhold, false},
        {0, "force", RP_OPTION_FLAG, NULL,
         "replace the archive if it exists, and drop what an interrupted run left; never a file of --withhold",
         &r->force, false},
        {0, "resume", RP_OPTION_FLAG, NULL, "go on with an interrupted run, if there is one", &r->resume, false},
        {0, "save-every", RP_OPTION_TEXT, "SECONDS", "how often to make a point to resume from (default: 60; 0: never)",
         &r->save_every, false},
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
    rp_status status = rp_options_parse(session, &usage, argc, argv, &r->recipe, err);

    if (status != RP_OK || session->helped)
        return status;
    status = parse_seconds(r->save_every, &r->save_seconds, err);
    if (status != RP_OK)
        return status;
    if (r->no_record && (r->resume || r->save_every))
        return rp_fail(err, RP_EARG,
                       "run: --no-record leaves nothing to resume from: leave out --resume and --save-every");
    if (r->no_record && (r->out || r->key || r->withhold))
        return rp_fail(err, RP_EARG, "run: --no-record writes no archive: leave out --out, --key and --withhold");
    if (!r->no_record && !r->out)
        return rp_fail(err, RP_EARG, "run: --out FILE is missing; usage: reprise %s", usage.synopsis);
    status = rp_default_key(session, &r->key, !r->no_record, err);
    if (status != RP_OK)
        return status;
    if (r->passphrase && !r->key)
        return rp_fail(err, RP_EARG, "run: --passphrase-file belongs to a key: give --key FILE too");
    if (r->cert && !r->key)
        return rp_fail(err, RP_EARG, "run: --cert belongs to a key: give --key FILE too");
    return rp_device_option("run", r->device, err);
}

static void put_json(rp_session *session, const request *r, const rp_job *job, const rp_key *key,
                     const rp_json *metrics, const rp_json *table)
{
    rp_buffer *out = &session->out;

    rp_put_open(out, NULL, '{');
    rp_put_text(out, "archive_id", r->no_record ? NULL : job->archive_id);
    rp_put_text(out, "key_id", key ? rp_key_id(key) : NULL);
    rp_put_text(out, "level", job->level);
    rp_put_integer(out, "memory_bytes", job->memory);
    if (metrics)
        rp_put_metrics(out, "metrics", metrics);
    else
        rp_put_json(out, "metrics", NULL);
    rp_put_text(out, "path", r->out);
    rp_put_seconds(out, "recording_seconds", job->recording_seconds);
    rp_put_integer(out, "resumed_at", job->resumed_at);
    rp_put_integer(out, "resumes", job->resumes);
    rp_put_integer(out, "saved_points", job->saved_points);
    rp_put_seconds(out, "saving_seconds", job->saving_seconds);
    rp_put_seconds(out, "seconds", job->seconds);
    rp_put_bool(out, "signed", key != NULL);
    rp_put_integer(out, "steps", job->steps);
    rp_put_json(out, "table", table);
    rp_put_integer(out, "threads", job->threads);
    rp_put_integer(out, "trials", job->trials);
    rp_put_close(out, '}');
}

static void put_lines(rp_session *session, const request *r, const rp_job *job, const rp_key *key,
                      const rp_json *metrics, const rp_json *table)
{
    char seconds[RP_NUMBER_TEXT], recording[RP_NUMBER_TEXT], share[RP_NUMBER_TEXT], memory[RP_NUMBER_TEXT];

    if (!r->no_record)
        rp_put_verdict(session, true, "archive", "%s", job->archive_id);
    rp_put_metric_lines(session, metrics);
    rp_put_findings(session, table);
    rp_put_line(session, "steps", "%llu on %u %s, kernels %s", (unsigned long long)job->steps, job->threads,
                job->threads == 1 ? "thread" : "threads", job->level);
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
        rp_put_line(session, "left out",
                    "the data, and scores of single rows, to %s: keep it and its salt secret, and safe", r->withhold);
    if (key)
        rp_put_line(session, "signed", "by key %s (%s)%s", rp_key_id(key), rp_key_type(key),
                    strcmp(rp_key_type(key), "Ed25519") ? "" : ", no bundle: OpenSSF Model Signing has no such keys");
    else if (r->out)
        rp_put_line(session, "unsigned", "no --key was given: nobody vouches for this archive");
}

/* Above the bar of a terminal, before a long training: what it learns from. */
static void show_table(void *self, const char *json)
{
    const rp_meter *meter = self;
    rp_json *table = NULL;
    rp_buffer lines = {0};

    if (!meter->shown ||
        rp_json_parse_within(&table, json, strlen(json), RP_JSON_METRICS_MEMORY, true, "table", NULL) != RP_OK)
        return;
    if (rp_json_array_size(rp_json_object_get(table, "columns")) <= COLUMNS_SHOWN)
        rp_put_table(&lines, table);
    (void)fwrite(lines.data, 1, lines.size, stderr);
    rp_buffer_free(&lines);
    rp_json_free(table);
}

rp_status rp_command_run(rp_session *session, int argc, char **argv, rp_error *err)
{
    request r = {0};
    rp_key *key = NULL;
    rp_job *job = NULL;
    rp_json *metrics = NULL, *table = NULL;
    rp_meter meter;
    rp_status status = parse(session, argc, argv, &r, err);
    rp_job_options options = {.threads = r.threads,
                              .level = r.level,
                              .device = r.device,
                              .no_record = r.no_record,
                              .progress = rp_meter_update,
                              .outlook = rp_meter_outlook,
                              .table = show_table,
                              .read_table = rp_input_table,
                              .self = &meter,
                              .withhold = r.withhold,
                              .save_every = r.save_seconds,
                              .resume = r.resume};

    if (status != RP_OK || session->helped)
        return status;
    if (r.key)
        status = rp_conforming_option("run --key", r.level, r.nonconforming, err);
    if (status == RP_OK && r.key)
        status = rp_signing_key_load(&key, r.key, r.passphrase, err);
    if (status == RP_OK && r.cert)
        status = rp_key_load_certificates(key, r.cert, err);
    if (status == RP_OK) {
        rp_meter_begin(&meter, "training");
        status = rp_train_recipe(r.recipe, r.out, key, r.force, &options, &job, err);
        rp_meter_end(&meter);
    }
    if (status == RP_OK)
        metrics = rp_metrics_of(job);
    if (status == RP_OK)
        status =
            rp_json_parse_within(&table, job->table, strlen(job->table), RP_JSON_METRICS_MEMORY, true, "table", err);
    if (status == RP_OK && *job->save_note)
        rp_buffer_printf(&session->remark, "resume points: %s%c", job->save_note, 0);
    if (status == RP_OK)
        (session->json ? put_json : put_lines)(session, &r, job, key, metrics, table);
    rp_json_free(metrics);
    rp_json_free(table);
    rp_job_free(job);
    rp_key_free(key);
    return status;
}
