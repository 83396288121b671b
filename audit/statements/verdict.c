/* SPDX-License-Identifier: Apache-2.0
 * Predicates of statements that are added later: a replay's verdict and a person's approval (FORMAT.md 5.2, 5.3).
 * Reading is as strict as writing: exact keys, bounded values, and numbers that agree with each other. */
#include <stdio.h>
#include <string.h>

#include "audit/statements/statement.h"
#include "base/memory.h"
#include "base/text.h"

#ifndef RP_VERSION
#define RP_VERSION "unknown"
#endif

enum { LIBRARIES = 16, THREADS_MAX = 1 << 20, TRIALS_MAX = 1000 };
static const uint64_t steps_max = ((uint64_t)1 << 53) - 1;
static const char *const kinds[] = {"recipe", "api", "text"};
static const char *const modes[] = {"full", "range", "sample"};
static const char *const decisions[] = {"approve", "reject", "abstain"};

const char *rp_decision_name(rp_decision decision)
{
    return (size_t)decision < sizeof decisions / sizeof *decisions ? decisions[decision] : "unknown";
}

/* ---- verdict ---- */

static rp_json *write_scope(const rp_replay_scope *scope)
{
    rp_json *seed = scope->seed[0] ? rp_json_string(scope->seed) : rp_json_null();
    rp_json *out = rp_json_pack("{s:I, s:I, s:s, s:o, s:I, s:I, s:I, s:I}", "first", (int64_t)scope->first, "last",
                                (int64_t)scope->last, "mode", modes[scope->mode], "seed", seed, "segments",
                                (int64_t)scope->segments, "segments_total", (int64_t)scope->segments_total, "steps",
                                (int64_t)scope->steps, "steps_total", (int64_t)scope->steps_total);

    if (scope->trials_total == 0)
        return out;
    if (rp_json_object_set_new(out, "trials", rp_json_integer((int64_t)scope->trials)) == 0 &&
        rp_json_object_set_new(out, "trials_total", rp_json_integer((int64_t)scope->trials_total)) == 0)
        return out;
    rp_json_free(out);
    return NULL;
}

/* Host texts come from the system and from compilers, which end some with a space: what does not fit is made to. */
static rp_json *host_text(const rp_json *host, const char *key)
{
    const char *text = rp_json_string_value(rp_json_object_get(host, key));
    char fitted[RP_HOST_TEXT];

    rp_printable(fitted, sizeof fitted, text ? text : "", text ? strlen(text) : 0);
    for (size_t length = strlen(fitted); length > 0 && fitted[length - 1] == ' '; length--)
        fitted[length - 1] = '\0';
    text = fitted + strspn(fitted, " ");
    return rp_json_string(*text ? text : "unknown");
}

/* The versions that were loaded; doctor compares them with those built against. */
static rp_json *write_libraries(const rp_json *host)
{
    rp_json *out = rp_json_object();
    const char *name;
    rp_json *row;

    rp_json_object_foreach (rp_json_object_get(host, "libraries"), name, row)
        if (out != NULL && rp_json_object_set_new(out, name, host_text(row, "loaded")) != 0) {
            rp_json_free(out);
            out = NULL;
        }
    return out;
}

bool rp_level_known(const char *level)
{
    static const char *const names[] = {"ref", "sse2", "avx2", "avx512", "neon"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(level, names[i]) == 0)
            return true;
    return false;
}

/* As doctor says it of a level: "conforms (204 vectors)". */
static bool conforms(const char *text)
{
    static const char before[] = "conforms (", behind[] = " vectors)";
    size_t digits;

    if (text == NULL || strncmp(text, before, sizeof before - 1) != 0)
        return false;
    text += sizeof before - 1;
    digits = strspn(text, "0123456789");
    return digits > 0 && *text != '0' && strcmp(text + digits, behind) == 0;
}

/* Provenance has the form of SLSA, which leaves most to whoever writes it: what is not as ours says nothing. */
bool rp_provenance_conforms(const rp_json *predicate)
{
    const rp_json *details = rp_json_object_get(predicate, "runDetails");
    const rp_json *host =
        rp_json_object_get(rp_json_array_get(rp_json_object_get(details, "byproducts"), 0), "annotations");
    const rp_json *build = rp_json_object_get(predicate, "buildDefinition");
    const rp_json *how = rp_json_object_get(build, "internalParameters"), *device = rp_json_object_get(how, "device");
    const char *level = rp_json_string_value(rp_json_object_get(how, "level"));

    return level != NULL &&
           conforms(rp_json_string_value(rp_json_object_get(rp_json_object_get(host, "levels"), level))) &&
           (device == NULL || conforms(rp_json_string_value(rp_json_object_get(device, "conformance"))));
}

void rp_provenance_device(const rp_json *predicate, char *out, size_t size)
{
    const rp_json *how = rp_json_object_get(rp_json_object_get(predicate, "buildDefinition"), "internalParameters");
    const rp_json *device = rp_json_object_get(how, "device");
    const char *identity = rp_json_string_value(rp_json_object_get(device, "identity"));

    (void)snprintf(out, size, "%s", device == NULL ? "" : identity == NULL ? "unknown" : identity);
}

static rp_json *write_host(const rp_json *host, const rp_replay_begun *begun)
{
    rp_json *out =
        rp_json_pack("{s:o, s:o, s:s, s:o, s:o, s:i}", "cpu", host_text(host, "cpu"), "floating_point",
                     host_text(host, "floating_point"), "level", begun->level, "machine", host_text(host, "machine"),
                     "system", host_text(host, "system"), "threads", (int)begun->threads);

    if (begun->device[0] == '\0' || rp_json_object_set_new(out, "device", rp_json_string(begun->device)) == 0)
        return out;
    rp_json_free(out);
    return NULL;
}

static rp_json *write_result(const rp_replay_outcome *outcome)
{
    char text[RP_ERROR_TEXT];
    const char *difference = outcome->difference;

    if (difference == NULL)
        return rp_json_pack("{s:n, s:I, s:s}", "difference", "members", (int64_t)outcome->members, "verdict",
                            "identical");
    difference = rp_printable(text, sizeof text, difference, strlen(difference));
    for (size_t length = strlen(text); length > 0 && text[length - 1] == ' '; length--)
        text[length - 1] = '\0';
    difference += strspn(difference, " ");
    return rp_json_pack("{s:s, s:I, s:s}", "difference", *difference ? difference : "bits differ", "members",
                        (int64_t)outcome->members, "verdict", "differs");
}

static rp_json *write_parent(const rp_replay_outcome *outcome)
{
    const char *id = outcome->begun.parent;

    return *id ? rp_json_pack("{s:s, s:b}", "archive_id", id, "checked", (int)outcome->parent_checked) : rp_json_null();
}

rp_status rp_verdict_write(rp_json **out, const rp_replay_outcome *outcome, const rp_json *host, bool healthy,
                           rp_error *err)
{
    const rp_replay_begun *begun = &outcome->begun;
    char started[RP_TIME_TEXT], finished[RP_TIME_TEXT];
    rp_json *conformance;
    rp_verdict check;
    rp_status status;

    *out = NULL;
    conformance = host_text(rp_json_object_get(host, "levels"), begun->level);
    rp_time_write(started, outcome->started);
    /* a clock that was set back in between tells no time at all */
    rp_time_write(finished, outcome->finished < outcome->started ? outcome->started : outcome->finished);
    *out = rp_json_pack(
        "{s:{s:o, s:b, s:b}, s:s, s:o, s:s, s:o, s:o, s:o, s:s, s:{s:i, s:i, s:o, s:s, s:s}}", "doctor", "conformance",
        conformance, "conforms", (int)conforms(rp_json_string_value(conformance)), "healthy", (int)healthy, "finished",
        finished, "host", write_host(host, begun), "kind", begun->kind, "parent", write_parent(outcome), "result",
        write_result(outcome), "scope", write_scope(&begun->scope), "started", started, "tool", "contract",
        (int)rp_json_integer_value(rp_json_object_get(host, "contract")), "format", (int)RP_ARCHIVE_FORMAT, "libraries",
        write_libraries(host), "name", "reprise", "version", RP_VERSION);
    if (*out == NULL)
        return rp_no_memory(err);
    /* What a reader would refuse must not be signed. */
    status = rp_verdict_read(&check, *out, "verdict", err);
    if (status != RP_OK) {
        rp_json_free(*out);
        *out = NULL;
        return status == RP_ESIGN ? rp_fail_at(err, RP_EARG, "cannot attest") : status;
    }
    return RP_OK;
}

/* Of a run whose recipe tries something. */
static void read_trials(rp_fields *f, rp_replay_scope *scope)
{
    if (rp_json_object_get(f->object, "trials_total") == NULL)
        return;
    rp_fields_count(f, "trials_total", &scope->trials_total, 1, TRIALS_MAX);
    rp_fields_count(f, "trials", &scope->trials, 0, scope->trials_total);
    if (scope->mode == RP_REPLAY_FULL && scope->trials != scope->trials_total)
        rp_fields_refuse(f, "trials", "all of them in a full replay");
}

static void read_scope(rp_fields *parent, rp_replay_scope *scope)
{
    rp_fields f = rp_fields_object(parent, "scope");
    int mode = 0;

    rp_fields_count(&f, "steps_total", &scope->steps_total, 1, steps_max);
    rp_fields_count(&f, "steps", &scope->steps, 1, scope->steps_total);
    rp_fields_count(&f, "last", &scope->last, 0, scope->steps_total - (scope->steps_total > 0));
    rp_fields_count(&f, "first", &scope->first, 0, scope->last);
    rp_fields_count(&f, "segments_total", &scope->segments_total, 1, scope->steps_total);
    rp_fields_count(&f, "segments", &scope->segments, 0, scope->segments_total);
    rp_fields_choice(&f, "mode", &mode, modes, sizeof modes / sizeof *modes);
    rp_fields_text_or_null(&f, "seed", scope->seed, sizeof scope->seed);
    scope->mode = (rp_replay_mode)mode;
    read_trials(&f, scope);
    if (scope->steps > scope->last - scope->first + 1)
        rp_fields_refuse(&f, "steps", "no more than lie between first and last");
    if (mode == RP_REPLAY_FULL && (scope->steps != scope->steps_total || scope->segments != scope->segments_total))
        rp_fields_refuse(&f, "mode", "another than full where not every step was repeated");
    if (scope->steps < scope->segments)
        rp_fields_refuse(&f, "steps", "at least one for each segment");
    if (mode != RP_REPLAY_RANGE && scope->segments == 0) /* a range may lie inside one */
        rp_fields_refuse(&f, "segments", "at least 1 but for a range");
    if (mode == RP_REPLAY_RANGE && scope->steps != scope->last - scope->first + 1)
        rp_fields_refuse(&f, "steps", "every one from first to last in a range");
    if ((mode == RP_REPLAY_SAMPLE) != (scope->seed[0] != '\0'))
        rp_fields_refuse(&f, "seed", "a text for a sample, and null for anything else");
    (void)rp_fields_end(&f);
    rp_fields_join(parent, &f);
}

static void read_host(rp_fields *parent, rp_verdict *out)
{
    rp_fields f = rp_fields_object(parent, "host");
    char floating_point[RP_HOST_TEXT];
    uint64_t threads = 0;

    rp_fields_text(&f, "cpu", out->cpu, sizeof out->cpu);
    if (rp_json_object_get(f.object, "device") != NULL)
        rp_fields_text(&f, "device", out->device, sizeof out->device);
    rp_fields_text(&f, "floating_point", floating_point, sizeof floating_point);
    rp_fields_text(&f, "level", out->level, sizeof out->level);
    rp_fields_text(&f, "machine", out->machine, sizeof out->machine);
    rp_fields_text(&f, "system", out->system, sizeof out->system);
    rp_fields_count(&f, "threads", &threads, 1, THREADS_MAX);
    out->threads = (unsigned)threads;
    (void)rp_fields_end(&f);
    rp_fields_join(parent, &f);
}

static void read_result(rp_fields *parent, rp_verdict *out)
{
    static const char *const verdicts[] = {"differs", "identical"};
    rp_fields f = rp_fields_object(parent, "result");
    int verdict = 0;

    rp_fields_text_or_null(&f, "difference", out->difference, sizeof out->difference);
    rp_fields_count(&f, "members", &out->members, 0, 1 << 16);
    rp_fields_choice(&f, "verdict", &verdict, verdicts, 2);
    out->identical = verdict == 1;
    if (out->identical != (out->difference[0] == '\0'))
        rp_fields_refuse(&f, "difference", "a text where bits differ, and null where they do not");
    (void)rp_fields_end(&f);
    rp_fields_join(parent, &f);
}

/* Null where the run has none. */
static void read_parent(rp_fields *parent, rp_verdict *out)
{
    unsigned char bytes[RP_DIGEST_SIZE];
    rp_fields f;

    if (rp_fields_null(parent, "parent"))
        return;
    f = rp_fields_object(parent, "parent");
    rp_fields_text(&f, "archive_id", out->parent, sizeof out->parent);
    rp_fields_bool(&f, "checked", &out->parent_checked);
    if (f.status == RP_OK && !rp_unhex(bytes, sizeof bytes, out->parent))
        rp_fields_refuse(&f, "archive_id", "64 lowercase hex digits");
    (void)rp_fields_end(&f);
    rp_fields_join(parent, &f);
}

static void read_libraries(rp_fields *parent)
{
    rp_fields f = rp_fields_object(parent, "libraries");
    char version[RP_HOST_TEXT];
    const char *name;
    rp_json *value;

    if (f.status == RP_OK && rp_json_object_size(f.object) > LIBRARIES)
        rp_fields_refuse(parent, "libraries", "at most 16 of them");
    rp_json_object_foreach ((rp_json *)f.object, name, value) {
        (void)value;
        rp_fields_text(&f, name, version, sizeof version);
    }
    (void)rp_fields_end(&f);
    rp_fields_join(parent, &f);
}

static void read_tool(rp_fields *parent, rp_verdict *out)
{
    rp_fields f = rp_fields_object(parent, "tool");
    char name[RP_HOST_TEXT];

    rp_fields_count(&f, "contract", &out->contract, 1, steps_max);
    rp_fields_count(&f, "format", &out->format, 1, steps_max);
    read_libraries(&f);
    rp_fields_text(&f, "name", name, sizeof name);
    rp_fields_text(&f, "version", out->version, sizeof out->version);
    (void)rp_fields_end(&f);
    rp_fields_join(parent, &f);
}

rp_status rp_verdict_read(rp_verdict *out, const rp_json *predicate, const char *where, rp_error *err)
{
    rp_fields f = rp_fields_begin(predicate, "predicate", where, err), doctor;
    int kind = 0;

    memset(out, 0, sizeof *out);
    doctor = rp_fields_object(&f, "doctor");
    rp_fields_text(&doctor, "conformance", out->conformance, sizeof out->conformance);
    rp_fields_bool(&doctor, "conforms", &out->conforms);
    rp_fields_bool(&doctor, "healthy", &out->healthy);
    if (out->conforms != conforms(out->conformance) || (out->healthy && !out->conforms))
        rp_fields_refuse(&doctor, "conforms", "what conformance says, and true where healthy is");
    (void)rp_fields_end(&doctor);
    rp_fields_join(&f, &doctor);
    rp_fields_time(&f, "finished", out->finished);
    read_host(&f, out);
    rp_fields_choice(&f, "kind", &kind, kinds, sizeof kinds / sizeof *kinds);
    (void)snprintf(out->kind, sizeof out->kind, "%s", kinds[kind]);
    read_parent(&f, out);
    read_result(&f, out);
    read_scope(&f, &out->scope);
    rp_fields_time(&f, "started", out->started);
    if (strcmp(out->finished, out->started) < 0)
        rp_fields_refuse(&f, "finished", "no earlier than started");
    read_tool(&f, out);
    return rp_fields_end(&f);
}

/* ---- approval ---- */

rp_status rp_approval_write(rp_json **out, const rp_approval *approval, int64_t now, rp_error *err)
{
    char time[RP_TIME_TEXT];

    *out = NULL;
    if (!rp_text_fits(approval->role, RP_ROLE))
        return rp_fail(err, RP_EARG,
                       "the role of an approval is 1 to %d printable ASCII characters, without a space at "
                       "either end",
                       RP_ROLE - 1);
    if (!rp_line_fits(approval->reason, RP_REASON))
        return rp_fail(err, RP_EARG, "the reason of an approval is one line of 1 to %d bytes", RP_REASON - 1);
    if ((size_t)approval->decision >= sizeof decisions / sizeof *decisions)
        return rp_fail(err, RP_EARG, "a decision is approve, reject or abstain");
    if (!rp_is_utf8(approval->reason, strlen(approval->reason)))
        return rp_fail(err, RP_EARG, "the reason of an approval must be UTF-8");
    rp_time_write(time, now);
    *out = rp_json_pack("{s:s, s:s, s:s, s:s}", "decision", decisions[approval->decision], "reason", approval->reason,
                        "role", approval->role, "time", time);
    return *out ? RP_OK : rp_no_memory(err);
}

rp_status rp_approval_read(rp_approval *out, const rp_json *predicate, const char *where, rp_error *err)
{
    rp_fields f = rp_fields_begin(predicate, "predicate", where, err);
    int decision = 0;

    memset(out, 0, sizeof *out);
    rp_fields_choice(&f, "decision", &decision, decisions, sizeof decisions / sizeof *decisions);
    rp_fields_line(&f, "reason", out->reason, sizeof out->reason);
    rp_fields_text(&f, "role", out->role, sizeof out->role);
    rp_fields_time(&f, "time", out->time);
    out->decision = (rp_decision)decision;
    return rp_fields_end(&f);
}
