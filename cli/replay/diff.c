/* SPDX-License-Identifier: Apache-2.0
 * reprise diff: where two archives part. That they do is a result, not an error: exit 3, the text on stdout. */
#include "base/memory.h"
#include "cli/limits.h"
#include "cli/print.h"
#include "cli/signing/key_files.h"
#include "cli/progress.h"
#include "cli/retrain/side_by_side.h"
#include "rp/predict.h"

#include <string.h>

#define PREDICTIONS RP_PREDICTIONS_MEMBER

/* Runs of one recipe and one table have the same bits on every host and level: a step that differs is somebody's
 * fault. */
static bool blames_host(const rp_run_side side[2], const rp_comparison *found, const rp_json *difference)
{
    return !found->same && rp_json_is_integer(rp_json_object_get(difference, "step")) &&
           rp_run_side_same_inputs(&side[0], &side[1]);
}

/* ---- the metrics of both ---- */

/* Calls put for every figure that one of the two has, A's first. */
static void each_metric(rp_buffer *out, const rp_run_side side[2],
                        void (*put)(rp_buffer *, const char *, const rp_json *, const rp_json *))
{
    const char *key;
    rp_json *item;

    rp_json_object_foreach (side[0].metrics, key, item)
        put(out, key, item, rp_json_object_get(side[1].metrics, key));
    rp_json_object_foreach (side[1].metrics, key, item)
        if (!rp_json_object_get(side[0].metrics, key))
            put(out, key, NULL, item);
}

static void put_figure(rp_buffer *out, const rp_json *value)
{
    if (rp_json_is_string(value))
        rp_put_plain_line(out, rp_json_string_value(value));
    else if (value)
        rp_buffer_printf(out, "%lld", (long long)rp_json_integer_value(value));
    else
        rp_buffer_text(out, "(absent)");
}

static void put_metric(rp_buffer *out, const char *key, const rp_json *a, const rp_json *b)
{
    if (a && b && rp_json_equal(a, b))
        return;
    rp_buffer_text(out, "metric    ");
    rp_put_plain_line(out, key);
    rp_buffer_text(out, ": A ");
    put_figure(out, a);
    rp_buffer_text(out, ", B ");
    put_figure(out, b);
    rp_buffer_u8(out, '\n');
}

/* Those that differ. */
static void put_metrics(rp_buffer *out, const rp_run_side side[2])
{
    size_t before;

    if (!side[0].part && !side[1].part)
        return;
    for (int i = 0; i < 2; i++)
        if (side[i].part)
            rp_buffer_printf(out, "metrics   of %s: %s part, %lld %s\n", i ? "B" : "A", side[i].part,
                             (long long)side[i].rows, rp_rows_unit(&side[i]));
        else
            rp_buffer_printf(out, "metrics   of %s: none\n", i ? "B" : "A");
    if (rp_run_side_rows(&side[0], &side[1]) != RP_ROWS_SAME)
        rp_buffer_printf(out, "metrics   are %s of the same %s\n",
                         rp_run_side_rows(&side[0], &side[1]) == RP_ROWS_OTHER ? "not" : "perhaps not",
                         side[0].text || side[1].text ? "windows of one text"
                                                      : "rows: reprise validate scores both on one file");
    else if (side[0].text)
        rp_buffer_text(out, "metrics   are of the same windows of the same text\n");
    before = out->size;
    each_metric(out, side, put_metric);
    rp_buffer_text(out, out->size > before ? "metrics   all others are the same\n" : "metrics   all are the same\n");
}

static void put_metric_json(rp_buffer *out, const char *key, const rp_json *a, const rp_json *b)
{
    const rp_json *value[2] = {a, b};

    rp_put_open(out, NULL, '{');
    rp_put_text(out, "key", key);
    rp_put_open(out, "values", '[');
    for (int i = 0; i < 2; i++)
        if (value[i])
            rp_put_json(out, NULL, value[i]);
        else
            rp_put_text(out, NULL, NULL);
    rp_put_close(out, ']');
    rp_put_close(out, '}');
}

/* ---- the predictions of both ---- */

/* Of the rows that both have, by their numbers in the table: those of the validation part, or the training part's. */
typedef struct predictions {
    bool compared; /* false: one archive has none, or they are of unlike kinds */
    rp_prediction_diff found;
} predictions;

/* One kind of model, and the same classes. */
static bool same_header(const rp_buffer text[2])
{
    const unsigned char *end = text[0].size ? memchr(text[0].data, '\n', text[0].size) : NULL;
    const size_t length = end ? (size_t)(end - text[0].data) + 1 : 0;

    return length > 0 && text[1].size >= length && memcmp(text[0].data, text[1].data, length) == 0;
}

static rp_status compare_predictions(predictions *out, const rp_run_side side[2], rp_error *err)
{
    static const char *const id[] = {"row"};
    rp_buffer text[2] = {{0}, {0}};
    rp_error unlike = {0};
    rp_status status = RP_OK;
    bool both = true;

    *out = (predictions){.compared = false};
    for (int i = 0; i < 2 && status == RP_OK; i++) {
        const rp_member *member = rp_archive_find(side[i].archive, PREDICTIONS);

        both = both && member;
        if (member)
            status = rp_member_load(side[i].archive, member, &text[i], err);
    }
    if (status == RP_OK && both && same_header(text)) {
        status = rp_predictions_compare((const char *)text[0].data, text[0].size, text[1].data, text[1].size,
                                        PREDICTIONS, &(rp_compare_options){.id = id, .n_id = 1}, &out->found, &unlike);
        out->compared = status == RP_OK;
        status = status == RP_ENOMEM ? rp_no_memory(err) : RP_OK; /* else nothing can be said of them */
    }
    rp_buffer_free(&text[0]);
    rp_buffer_free(&text[1]);
    return status;
}

static void put_predictions(rp_buffer *out, const predictions *p)
{
    const rp_prediction_diff *d = &p->found;

    if (!p->compared)
        return;
    rp_buffer_printf(
        out, "scores    of %llu rows of A and %llu of them in B: %llu of %llu cells of " PREDICTIONS " differ\n",
        (unsigned long long)d->rows, (unsigned long long)d->rows_found, (unsigned long long)d->differing,
        (unsigned long long)d->cells);
    if (d->first_is_a_cell)
        rp_buffer_printf(out, "score     line %llu of B's, column %s: A %s, B %s; the largest of numbers: %s apart\n",
                         (unsigned long long)d->line, d->column, d->expected, d->found,
                         d->largest[0] ? d->largest : "0");
}

static void put_predictions_json(rp_buffer *out, const predictions *p)
{
    const rp_prediction_diff *d = &p->found;

    if (!p->compared) {
        rp_put_json(out, "predictions", NULL);
        return;
    }
    rp_put_open(out, "predictions", '{');
    rp_put_integer(out, "cells", d->cells);
    rp_put_integer(out, "cells_differing", d->differing);
    rp_put_text(out, "largest", d->largest[0] ? d->largest : NULL);
    rp_put_integer(out, "rows", d->rows);
    rp_put_integer(out, "rows_differing", d->rows_differing);
    rp_put_integer(out, "rows_found", d->rows_found);
    rp_put_close(out, '}');
}

/* ---- the whole ---- */

static void put_text(rp_session *session, const rp_run_side side[2], const rp_comparison *found,
                     const rp_json *difference, const predictions *scores)
{
    rp_put_plain(&session->out, found->text); /* keys and names come from the archives */
    if (!found->same) {
        put_metrics(&session->out, side);
        put_predictions(&session->out, scores);
    }
    if (blames_host(side, found, difference))
        rp_buffer_text(&session->out, "host      recipe and table are the same and bits are not: a host, or what was "
                                      "installed on it, may be at fault; see reprise doctor on each\n");
}

static void put_json(rp_session *session, const rp_run_side side[2], const rp_comparison *found, rp_json *difference,
                     const predictions *scores)
{
    rp_buffer *out = &session->out;

    rp_put_open(out, NULL, '{');
    for (int i = 0; i < 2; i++) {
        rp_put_open(out, i ? "b" : "a", '{');
        rp_put_text(out, "archive_id", rp_archive_id(side[i].archive));
        rp_put_text(out, "path", side[i].path);
        rp_put_close(out, '}');
    }
    rp_put_json(out, "difference", difference);
    rp_put_integer(out, "digests_compared", found->digests_compared);
    rp_put_bool(out, "host_suspected", blames_host(side, found, difference));
    rp_put_open(out, "metrics", '[');
    each_metric(out, side, put_metric_json);
    rp_put_close(out, ']');
    rp_put_text(out, "metrics_rows", rp_rows_word(rp_run_side_rows(&side[0], &side[1])));
    put_predictions_json(out, scores);
    rp_put_bool(out, "same", found->same);
    rp_put_integer(out, "steps_recomputed", found->steps_recomputed);
    rp_put_open(out, "text", '[');
    for (const char *text = found->text; *text;) {
        size_t length = strcspn(text, "\n");
        rp_json *line = rp_json_stringn(text, length);

        rp_put_json(out, NULL, line);
        rp_json_free(line);
        text += length + (text[length] == '\n');
    }
    rp_put_close(out, ']');
    rp_put_close(out, '}');
}

/* The sides own their archives from here on. */
static rp_status put_result(rp_session *session, rp_run_side side[2], const rp_comparison *found, rp_error *err)
{
    rp_json *difference = NULL;
    predictions scores;
    rp_status status = rp_json_parse(&difference, found->json, strlen(found->json), true, "difference", err);

    for (int i = 0; i < 2 && status == RP_OK; i++)
        status = rp_run_side_read(&side[i], side[i].path, side[i].archive, err);
    if (status == RP_OK)
        status = compare_predictions(&scores, side, err);
    if (status == RP_OK && session->json)
        put_json(session, side, found, difference, &scores);
    else if (status == RP_OK)
        put_text(session, side, found, difference, &scores);
    rp_json_free(difference);
    return status;
}

/* One folder serves both archives, two serve A and B. */
static rp_status disclose(rp_archive *const archive[2], const rp_text_list *folders, rp_error *err)
{
    rp_status status = RP_OK;

    for (size_t i = 0; i < 2 && folders->count > 0 && status == RP_OK; i++)
        if (rp_archive_withheld_count(archive[i]) > 0)
            status = rp_archive_disclose(archive[i], folders->item[folders->count == 1 ? 0 : i], err);
    return status;
}

/* Of the first of them that is not computed for its host; the error says it without the table too. */
static void put_host(rp_session *session, rp_archive *const archive[2], const rp_job_options *options)
{
    const char *const device[2] = {options->device, options->other_device ? options->other_device : options->device};

    for (int i = 0; i < 2 && session->host.count == 0; i++)
        if (archive[i])
            (void)rp_replay_host(archive[i], device[i], &session->host, NULL);
}

static rp_status compare(rp_session *session, const char *const path[2], const rp_text_list *folders,
                         const rp_job_options *options, rp_error *err)
{
    rp_archive *archive[2] = {NULL, NULL};
    rp_run_side side[2] = {{.path = path[0]}, {.path = path[1]}};
    rp_comparison *found = NULL;
    rp_status status = rp_archive_open_confirmed(&archive[0], path[0], err);

    if (status == RP_OK)
        status = rp_archive_open_confirmed(&archive[1], path[1], err);
    if (status == RP_OK)
        status = disclose(archive, folders, err);
    if (status == RP_OK)
        status = rp_compare(archive[0], archive[1], options, &found, err);
    if (status == RP_EUNSUPPORTED)
        put_host(session, archive, options);
    side[0].archive = archive[0];
    side[1].archive = archive[1];
    if (status == RP_OK)
        status = put_result(session, side, found, err);
    if (status == RP_OK && !found->same)
        session->exit = rp_exit_code(RP_EBITS);
    rp_comparison_free(found);
    rp_run_side_free(&side[0]);
    rp_run_side_free(&side[1]);
    return status;
}

/* Given once, it is both sides'; given twice, A's and B's. */
static rp_status of_sides(const rp_text_list *given, const char *option, const char **both, const char **of_b,
                          rp_error *err)
{
    if (given->count > 2)
        return rp_fail(err, RP_EARG, "diff: --%s: expected once or twice, found %zu times", option, given->count);
    *both = given->count ? given->item[0] : NULL;
    *of_b = given->count > 1 ? given->item[1] : NULL;
    return RP_OK;
}

rp_status rp_command_diff(rp_session *session, int argc, char **argv, rp_error *err)
{
    static const char *const names[] = {"A", "B"};
    const char *path[2] = {NULL, NULL};
    rp_job_options job = {0};
    rp_text_list folders = {.count = 0}, levels = {.count = 0}, devices = {.count = 0};
    rp_limits limits = {NULL, NULL};
    const rp_option options[] = {
        {0, "withheld", RP_OPTION_LIST, "DIR", "the folder with the data that was left out; given twice: of A, of B",
         &folders, false},
        RP_OPTION_LIMITS(&limits),
        RP_OPTION_THREADS(&job.threads),
        {0, "isa", RP_OPTION_LIST, "LEVEL",
         "kernels: ref, sse2, avx2, avx512, neon (default: the best); given twice: of A, of B", &levels, false},
        {0, "device", RP_OPTION_LIST, "DEVICE", "where kernels run (default: cpu); given twice: of A, of B", &devices,
         false},
    };
    const rp_usage usage = {
        "diff A B [options]",
        "Compares two archives: recipe keys and members that differ, then the first step, how its programs\n"
        "differ, and the first value and element whose bits differ, inside an iteration, shard or branch where\n"
        "it is there, with both values and their distance, and the metrics of both (docs/diff.md). With two\n"
        "levels one archive is computed at both and compared with itself.\n"
        "Exit 0 when they have the same id and nothing differs, 3 otherwise, 5 for what costs more than it may.\n"
        "Signatures are not looked at.",
        "  reprise diff monday.reprise tuesday.reprise\n"
        "  reprise diff loans.reprise loans.reprise --isa ref --isa avx2",
        names,
        2,
        options,
        RP_COUNT(options)};
    rp_status status = rp_options_parse(session, &usage, argc, argv, path, err);

    if (status != RP_OK || session->helped)
        return status;
    status = of_sides(&levels, "isa", &job.level, &job.other_level, err);
    if (status == RP_OK)
        status = of_sides(&devices, "device", &job.device, &job.other_device, err);
    for (size_t i = 0; i < devices.count && status == RP_OK; i++)
        status = rp_device_option("diff", devices.item[i], err);
    if (status == RP_OK)
        status = rp_limits_resolve(&limits, "diff", &job, err);
    return status == RP_OK ? compare(session, path, &folders, &job, err) : status;
}
