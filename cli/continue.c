/* SPDX-License-Identifier: Apache-2.0
 * reprise continue: goes on with a text by the language model of an archive. */
#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "cli/limits.h"
#include "cli/print.h"
#include "cli/signing/defaults.h"
#include "cli/signing/key_files.h"
#include "rp/predict.h"

enum { PROMPT_LIMIT = 1 << 20, TOKENS_MOST = 1000000 };

typedef struct request {
    const char *archive, *prompt, *file, *out, *level, *device, *withheld, *tokens, *seed, *temperature;
    rp_text_list trust;
    rp_limits limits;
    unsigned threads;
    bool force;
} request;

static rp_status check(const rp_session *session, const request *r, rp_error *err)
{
    if (!r->prompt == !r->file)
        return rp_fail(err, RP_EARG, "continue: give the text to go on with: --prompt TEXT or --prompt-file FILE");
    if (r->temperature && !r->seed)
        return rp_fail(err, RP_EARG, "continue: --temperature is of drawn tokens: give --seed N too");
    if (session->json && !r->out)
        return rp_fail(err, RP_EARG, "continue: --json and the text both want stdout: name a file by --out");
    if (rp_file_keep(r->out, r->archive, "the archive", err) != RP_OK ||
        rp_file_keep(r->out, r->file, "--prompt-file", err) != RP_OK)
        return RP_EARG;
    if (r->out && !r->force && rp_file_exists(r->out))
        return rp_fail(err, RP_EEXIST, "%s: already exists: choose another name, or give --force to replace it",
                       r->out);
    return rp_device_option("continue", r->device, err);
}

static rp_status parse(rp_session *session, int argc, char **argv, request *r, rp_error *err)
{
    static const char *const names[] = {"ARCHIVE"};
    const rp_option options[] = {
        {0, "prompt", RP_OPTION_TEXT, "TEXT", "what to go on with", &r->prompt, false},
        {0, "prompt-file", RP_OPTION_TEXT, "FILE", "the same from a file", &r->file, false},
        {'o', "out", RP_OPTION_TEXT, "FILE", "the file to write instead of stdout", &r->out, false},
        {0, "tokens", RP_OPTION_TEXT, "N", "how many tokens more (default: 200)", &r->tokens, false},
        {0, "seed", RP_OPTION_TEXT, "N", "draw each token, by this seed (default: the likeliest is taken)", &r->seed,
         false},
        {0, "temperature", RP_OPTION_TEXT, "T", "with --seed: below 1 nearer to the likeliest (default: 1)",
         &r->temperature, false},
        {0, "trust", RP_OPTION_LIST, "PUB.pem",
         "verify the signature with this public key first (default: REPRISE_TRUST)", &r->trust, false},
        {0, "force", RP_OPTION_FLAG, NULL, "replace the file if it exists", &r->force, false},
        RP_OPTION_WITHHELD(&r->withheld),
        RP_OPTION_LIMITS(&r->limits),
        RP_OPTION_THREADS(&r->threads),
        RP_OPTION_ISA(&r->level),
        RP_OPTION_DEVICE(&r->device),
    };
    const rp_usage usage = {
        "continue ARCHIVE --prompt TEXT [--tokens N] [--seed N [--temperature T]] [options]",
        "Goes on with a text by the model of a run on a text (data.text of its recipe), and writes the text and what\n"
        "comes behind it. The same archive, text and options give the same bytes on every host.",
        "  reprise continue shakespeare.reprise --prompt 'ROMEO:' --tokens 400 --seed 1",
        names,
        1,
        options,
        RP_COUNT(options)};
    rp_status status = rp_options_parse(session, &usage, argc, argv, &r->archive, err);

    if (status != RP_OK || session->helped)
        return status;
    status = check(session, r, err);
    return status == RP_OK ? rp_default_trust(session, &r->trust, true, err) : status;
}

static rp_status read_numbers(rp_continue_options *o, const request *r, rp_error *err)
{
    size_t tokens, seed;
    rp_status status =
        rp_number_option(&tokens, r->tokens ? r->tokens : "200", "continue", "--tokens", 1, TOKENS_MOST, err);

    if (status == RP_OK)
        status = rp_number_option(&seed, r->seed ? r->seed : "0", "continue", "--seed", 0, ((size_t)1 << 53) - 1, err);
    if (status != RP_OK)
        return status;
    o->tokens = tokens;
    o->seed = seed;
    o->drawn = r->seed != NULL;
    o->temperature = r->temperature;
    return RP_OK;
}

static rp_status deliver(rp_session *session, const request *r, const rp_archive *archive, bool verified,
                         const rp_continue_options *o, const rp_continuation *c, rp_error *err)
{
    rp_buffer text = {0};
    rp_buffer *to = r->out ? &text : &session->out;
    rp_status status;

    rp_buffer_append(to, o->prompt, o->prompt_bytes);
    rp_buffer_append(to, c->text, c->length);
    if (!r->out) {
        rp_buffer_u8(to, '\n');
        return rp_buffer_status(to, err);
    }
    status = rp_buffer_status(&text, err);
    if (status == RP_OK)
        status = rp_file_save(r->out, text.data, text.size, r->force, 0644, err);
    rp_buffer_free(&text);
    if (status != RP_OK || session->json) {
        if (status == RP_OK) {
            rp_put_open(&session->out, NULL, '{');
            rp_put_text(&session->out, "archive_id", rp_archive_id(archive));
            rp_put_integer(&session->out, "bytes", c->length);
            rp_put_text(&session->out, "path", r->out);
            rp_put_integer(&session->out, "prompt_tokens", c->prompt_tokens);
            rp_put_integer(&session->out, "tokens", c->tokens);
            rp_put_bool(&session->out, "verified", verified);
            rp_put_close(&session->out, '}');
        }
        return status;
    }
    rp_put_line(session, "model", "%s", rp_archive_id(archive));
    rp_put_line(session, "written", "%s: %llu tokens behind the %llu given", r->out, (unsigned long long)c->tokens,
                (unsigned long long)c->prompt_tokens);
    return RP_OK;
}

static rp_status go_on(rp_session *session, const request *r, rp_error *err)
{
    rp_job_options job = {.threads = r->threads, .level = r->level, .device = r->device};
    rp_continue_options o = {.prompt = r->prompt, .prompt_bytes = r->prompt ? strlen(r->prompt) : 0};
    rp_archive *archive = NULL;
    rp_verification *verified = NULL;
    rp_continuation *c = NULL;
    rp_buffer prompt = {0};
    rp_status status = read_numbers(&o, r, err);

    if (status == RP_OK)
        status = rp_limits_resolve(&r->limits, "continue", &job, err);
    if (status == RP_OK && r->file) {
        status = rp_file_read(r->file, PROMPT_LIMIT, &prompt, err);
        o.prompt = prompt.data;
        o.prompt_bytes = prompt.size;
    }
    if (status == RP_OK)
        status = rp_archive_open_trusted(&archive, &verified, r->archive, &r->trust, err);
    if (status == RP_OK && r->withheld)
        status = rp_archive_disclose(archive, r->withheld, err);
    if (status == RP_OK)
        status = rp_continue_text(archive, &o, &job, &c, err);
    if (status == RP_OK)
        status = deliver(session, r, archive, verified != NULL, &o, c, err);
    if (status == RP_OK && r->out && !session->json) {
        if (verified)
            rp_put_signers(session, verified);
        else
            rp_put_line(session, "signature", "not checked: give --trust PUB.pem");
    }
    rp_continuation_free(c);
    rp_verification_free(verified);
    rp_archive_close(archive);
    rp_buffer_free(&prompt);
    return status;
}

rp_status rp_command_continue(rp_session *session, int argc, char **argv, rp_error *err)
{
    request r = {0};
    rp_status status = parse(session, argc, argv, &r, err);

    return status == RP_OK && !session->helped ? go_on(session, &r, err) : status;
}
