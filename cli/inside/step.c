/* SPDX-License-Identifier: Apache-2.0
 * reprise inspect --step: the listing of a step's program, or one of its tensors. */
#include "cli/inside/step.h"

#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "cli/archive_files.h"
#include "cli/print.h"
#include "cli/progress.h"

const bool rp_program_computes = true;

static rp_status without_step(const rp_inspect_step *s, rp_error *err)
{
    const struct {
        const char *name;
        bool given;
    } of[] = {{"op", s->op},
              {"output", s->output},
              {"input", s->input},
              {"npy", s->npy},
              {"withheld", s->withheld},
              {"max-work", s->limits.work},
              {"isa", s->level},
              {"max-memory", s->limits.memory},
              {"threads", s->threads},
              {"device", s->device}};

    for (size_t i = 0; i < RP_COUNT(of); i++)
        if (of[i].given)
            return rp_fail(err, RP_EARG, "inspect: --%s belongs to --step N; see reprise inspect --help", of[i].name);
    return RP_OK;
}

static rp_status number(uint64_t *out, const char *text, rp_error *err)
{
    enum { DIGITS = 18 };
    size_t digits = strspn(text, "0123456789");

    if (digits == 0 || digits > DIGITS || text[digits])
        return rp_fail(err, RP_EARG, "inspect: --step: expected the number of a step, from 0, found %.60s", text);
    for (*out = 0; *text; text++)
        *out = *out * 10 + (uint64_t)(*text - '0');
    return RP_OK;
}

rp_status rp_inspect_step_resolve(rp_inspect_step *s, rp_error *err)
{
    rp_status status;

    if (!s->step)
        return without_step(s, err);
    if (s->op && s->input)
        return rp_fail(err, RP_EARG, "inspect: --op and --input exclude each other; see reprise inspect --help");
    if (!s->op && s->output)
        return rp_fail(err, RP_EARG, "inspect: --output belongs to --op PLACE; see reprise inspect --help");
    if (s->npy && !s->op && !s->input)
        return rp_fail(err, RP_EARG,
                       "inspect: --npy belongs to --op PLACE or --input NAME; see reprise inspect --help");
    status = number(&s->number, s->step, err);
    if (status == RP_OK)
        status = rp_number_option(&s->output_number, s->output, "inspect", "output", 0, 1 << 24, err);
    return status == RP_OK ? rp_device_option("inspect", s->device, err) : status;
}

static rp_status put_json(rp_session *session, const rp_inspect_step *s, const rp_archive *archive, const char *path,
                          const rp_looked *looked, rp_error *err)
{
    rp_buffer *out = &session->out;
    rp_json *json;
    rp_status status =
        rp_json_parse_within(&json, looked->json, strlen(looked->json), RP_JSON_PROGRAM_MEMORY, true, "step", err);

    if (status != RP_OK)
        return status;
    rp_put_open(out, NULL, '{');
    rp_put_text(out, "archive_id", rp_archive_id(archive));
    rp_put_json(out, "difference", rp_json_object_get(json, "difference"));
    rp_put_json(out, "listing", rp_json_object_get(json, "listing"));
    rp_put_text(out, "npy", s->npy);
    rp_put_text(out, "path", path);
    rp_put_json(out, "program", rp_json_object_get(json, "program"));
    rp_put_bool(out, "same", looked->same);
    rp_put_integer(out, "step", s->number);
    rp_put_integer(out, "steps_recomputed", looked->steps_recomputed);
    rp_put_json(out, "value", rp_json_object_get(json, "value"));
    rp_put_close(out, '}');
    rp_json_free(json);
    return RP_OK;
}

static rp_status put(rp_session *session, const rp_inspect_step *s, const rp_archive *archive, const char *path,
                     bool force, const rp_looked *looked, rp_error *err)
{
    rp_status status = s->npy ? rp_file_save(s->npy, looked->npy, looked->npy_size, force, 0644, err) : RP_OK;

    if (status == RP_OK && session->json)
        status = put_json(session, s, archive, path, looked, err);
    else if (status == RP_OK)
        rp_put_plain(&session->out, looked->text); /* names come from the archive */
    if (status == RP_OK && !session->json && s->npy)
        rp_put_line(session, "written", "%s: %zu bytes", s->npy, looked->npy_size);
    if (status == RP_OK && !looked->same)
        session->exit = rp_exit_code(RP_EBITS);
    return status;
}

rp_status rp_inspect_step_put(rp_session *session, const rp_inspect_step *s, rp_archive *archive, const char *path,
                              bool force, rp_error *err)
{
    const rp_look look = {.step = s->number,
                          .op = s->op,
                          .output = s->output_number,
                          .input = s->input,
                          .npy = s->npy,
                          .json = session->json};
    rp_meter meter;
    rp_job_options options = {
        .threads = s->threads, .level = s->level, .device = s->device, .progress = rp_meter_update, .self = &meter};
    rp_looked *looked = NULL;
    rp_status status = rp_limits_resolve(&s->limits, "inspect", &options, err);

    if (status == RP_OK && s->npy)
        status = rp_file_keep(s->npy, path, "the archive", err);
    if (status == RP_OK && s->npy && !force && rp_file_exists(s->npy))
        status =
            rp_fail(err, RP_EEXIST, "%s: already exists: choose another name, or give --force to replace it", s->npy);
    if (status == RP_OK && s->withheld)
        status = rp_archive_disclose(archive, s->withheld, err);
    if (status == RP_OK) {
        rp_meter_begin(&meter, "computing");
        status = rp_look_inside(archive, &look, &options, &looked, err);
        rp_meter_end(&meter);
    }
    if (status == RP_OK)
        status = put(session, s, archive, path, force, looked, err);
    rp_looked_free(looked);
    return status;
}
