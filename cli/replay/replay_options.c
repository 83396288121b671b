/* SPDX-License-Identifier: Apache-2.0
 * --steps, --sample, --seed and --parallel of reprise replay. */
#include "cli/replay/replay_options.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/memory.h"
#include "cli/print.h"

enum { WHOLE = 1000000, LISTED = 40 };

/* Digits up to `end` or the end of the text; false without any, or when they are too many. */
static bool parse_number(const char **at, uint64_t *out)
{
    uint64_t value = 0;
    int digits = 0;

    for (; **at >= '0' && **at <= '9'; ++*at, digits++)
        value = value * 10 + (uint64_t)(**at - '0');
    *out = value;
    return digits >= 1 && digits <= 18;
}

static bool parse_range(const char *text, rp_replay_choice *out)
{
    if (!parse_number(&text, &out->first) || *text++ != ':')
        return false;
    return parse_number(&text, &out->last) && *text == '\0' && out->first <= out->last;
}

/* A decimal, or one with a % behind it, in millionths: 1 to 1000000. Digits are counted, so no rounding decides. */
static bool parse_share(const char *text, uint32_t *out)
{
    size_t length = strlen(text);
    const bool percent = length > 0 && text[length - 1] == '%';
    uint64_t value = 0, unit = percent ? WHOLE / 100 : WHOLE;
    bool digits = false;

    length -= percent;
    for (size_t i = 0, point = 0; i < length; i++) {
        if (text[i] == '.' && !point++)
            continue;
        if (text[i] < '0' || text[i] > '9' || length > 12)
            return false;
        digits = true;
        if (point && text[i] != '0' && unit < 10)
            return false;
        unit /= point ? 10 : 1;
        value = (point ? value : value * 10) + (uint64_t)(text[i] - '0') * unit;
    }
    *out = (uint32_t)(value <= WHOLE ? value : 0);
    return digits && value >= 1 && value <= WHOLE;
}

/* 128 bits that nobody knew before: whoever can guess a seed can make archives until the sample misses what was forged,
 * and whoever can choose it looks for a convenient one. */
static bool draw_seed(char out[33])
{
    unsigned char bytes[16];

    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return false;
    for (size_t i = 0; i < sizeof bytes; i++)
        (void)snprintf(out + 2 * i, 3, "%02x", bytes[i]);
    return true;
}

rp_status rp_choice_resolve(rp_choice *c, rp_error *err)
{
    c->choice = (rp_replay_choice){.mode = RP_REPLAY_FULL, .parallel = c->parallel};
    if (c->steps && c->sample)
        return rp_fail(err, RP_EARG, "replay: --steps and --sample exclude each other; see reprise replay --help");
    if (!c->sample && c->seed)
        return rp_fail(err, RP_EARG, "replay: --seed is of use only with --sample; see reprise replay --help");
    if (c->sample && !c->seed && draw_seed(c->drawn))
        c->seed = c->drawn;
    if (c->sample && !c->seed)
        return rp_fail(err, RP_EARG,
                       "replay: --sample needs --seed TEXT here, as this host gives no random bytes: something that "
                       "nobody could know before the archive was there");
    if (c->steps) {
        c->choice.mode = RP_REPLAY_RANGE;
        if (!parse_range(c->steps, &c->choice))
            return rp_fail(err, RP_EARG, "replay: --steps: expected FIRST:LAST, two step numbers, found %.60s",
                           c->steps);
    }
    if (c->sample) {
        c->choice.mode = RP_REPLAY_SAMPLE;
        c->choice.seed = c->seed;
        if (!parse_share(c->sample, &c->choice.share))
            return rp_fail(err, RP_EARG,
                           "replay: --sample: expected a share above 0 and at most 1 (or 100%%), to six "
                           "decimals, found %.60s",
                           c->sample);
    }
    return RP_OK;
}

/* The segments of a sample, drawn again. */
static rp_status drawn(size_t **out, const rp_job *job, rp_error *err)
{
    size_t count = (size_t)job->scope.segments;
    rp_status status;

    *out = rp_reallocarray(NULL, count, sizeof **out);
    if (!*out)
        return rp_no_memory(err);
    status = rp_sample_draw(*out, count, (size_t)job->scope.segments_total, job->scope.seed, job->archive_id, err);
    if (status != RP_OK) {
        rp_free(*out);
        *out = NULL;
    }
    return status;
}

/* A forger's share of the segments, at least one. */
static uint64_t forged(uint64_t segments, unsigned percent)
{
    uint64_t count = (segments * percent + 99) / 100;

    return count ? count : 1;
}

static const unsigned shares[] = {1, 5, 10, 50};

static const char *chance(char out[RP_NUMBER_TEXT], const rp_replay_scope *scope, uint64_t count)
{
    return rp_fixed(out, 100 * rp_sample_catches(scope->segments_total, scope->segments, count), 2);
}

static void put_sample(rp_session *session, const rp_replay_scope *scope, const size_t *list)
{
    char text[RP_NUMBER_TEXT], line[512] = "";
    size_t used = 0;

    rp_put_line(session, "sample", "%llu of %llu segments, drawn by the seed \"%s\"",
                (unsigned long long)scope->segments, (unsigned long long)scope->segments_total, scope->seed);
    for (uint64_t i = 0; i < scope->segments && i < LISTED; i++)
        used += (size_t)snprintf(line + used, sizeof line - used, "%s%zu", i ? " " : "", list[i]);
    rp_put_line(session, "segments", "%s%s", line, scope->segments > LISTED ? " ... (all of them: --json)" : "");
    used = 0;
    for (size_t i = 0; i < RP_COUNT(shares); i++)
        used += (size_t)snprintf(line + used, sizeof line - used, "%s%u %% of them: %s %%", i ? ", " : "", shares[i],
                                 chance(text, scope, forged(scope->segments_total, shares[i])));
    rp_put_line(session, "catches", "one forged segment with a probability of %s %%; %s", chance(text, scope, 1), line);
}

rp_status rp_choice_put_lines(rp_session *session, const rp_job *job, rp_error *err)
{
    const rp_replay_scope *scope = &job->scope;
    size_t *list = NULL;
    rp_status status = RP_OK;

    if (scope->trials)
        rp_put_line(session, "trials", "%llu of %llu made again, and as recorded", (unsigned long long)scope->trials,
                    (unsigned long long)scope->trials_total);
    else if (scope->trials_total)
        rp_put_line(session, "trials", "none of %llu made again: what they came to is the archive's word",
                    (unsigned long long)scope->trials_total);
    if (scope->mode == RP_REPLAY_FULL)
        return RP_OK;
    if (scope->mode == RP_REPLAY_SAMPLE)
        status = drawn(&list, job, err);
    if (status == RP_OK && list)
        put_sample(session, scope, list);
    else if (status == RP_OK)
        rp_put_line(session, "range", "steps %llu to %llu; %llu of %llu segments from end to end",
                    (unsigned long long)scope->first, (unsigned long long)scope->last,
                    (unsigned long long)scope->segments, (unsigned long long)scope->segments_total);
    if (status == RP_OK)
        rp_put_line(session, "proves",
                    "the replayed steps, given the states recorded where they begin (docs/replay.md)");
    rp_free(list);
    return status;
}

static void put_chances(rp_buffer *out, const rp_replay_scope *scope)
{
    char key[16];

    rp_put_open(out, "catches", '{');
    rp_put_seconds(out, "one", rp_sample_catches(scope->segments_total, scope->segments, 1));
    for (size_t i = 0; i < RP_COUNT(shares); i++) {
        (void)snprintf(key, sizeof key, "%u%%", shares[i]);
        rp_put_seconds(
            out, key,
            rp_sample_catches(scope->segments_total, scope->segments, forged(scope->segments_total, shares[i])));
    }
    rp_put_close(out, '}');
}

rp_status rp_choice_put_json(rp_session *session, const rp_job *job, rp_error *err)
{
    static const char *const modes[] = {"full", "range", "sample"};
    const rp_replay_scope *scope = &job->scope;
    rp_buffer *out = &session->out;
    size_t *list = NULL;
    rp_status status = scope->mode == RP_REPLAY_SAMPLE ? drawn(&list, job, err) : RP_OK;

    if (status != RP_OK)
        return status;
    rp_put_open(out, "scope", '{');
    if (list) {
        put_chances(out, scope);
        rp_put_open(out, "drawn", '[');
        for (uint64_t i = 0; i < scope->segments; i++)
            rp_put_integer(out, NULL, list[i]);
        rp_put_close(out, ']');
    }
    rp_put_integer(out, "first", scope->first);
    rp_put_integer(out, "last", scope->last);
    rp_put_text(out, "mode", modes[scope->mode]);
    rp_put_text(out, "seed", list ? scope->seed : NULL);
    rp_put_scope_counts(out, scope);
    rp_put_close(out, '}');
    rp_free(list);
    return RP_OK;
}
