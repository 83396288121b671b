/* SPDX-License-Identifier: Apache-2.0
 * Verdicts that are well-formed and signed by a key that counts, and cannot be true: each is refused, or does not count
 * for a policy, where every other number of it is right. */
#include "tests/audit/archive/archive_sample.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "audit/statements/draw.h"
#include "audit/record/provenance.h"
#include "audit/trust/verify.h"
#include "rp/policy.h"

enum { STEPS = 79, EVERY = 4, SEGMENTS = 20, MEMBERS = SEGMENTS - 1 + 2 };
static const char seed[] = "drawn by lot";
static rp_key *builder, *validator;
static char folder[] = "/tmp/reprise-test-XXXXXX", path[128], id[RP_DIGEST_HEX];
static const char *child_of; /* the run's parent, or NULL */
static rp_json *host;        /* described once: the conformance vectors take a while */
static rp_error err;

static int setup(void **state)
{
    bool healthy;

    (void)state;
    return mkdtemp(folder) == NULL || rp_key_generate(&builder, NULL) != RP_OK ||
           rp_key_generate(&validator, NULL) != RP_OK || rp_host_describe(&host, "ref", &healthy, NULL) != RP_OK;
}

static int teardown(void **state)
{
    (void)state;
    rp_json_free(host);
    rp_key_free(builder);
    rp_key_free(validator);
    (void)unlink(path);
    return rmdir(folder);
}

/* A run of 79 steps with a checkpoint after every four: 20 segments, the last one shorter. */
static void write_run(void)
{
    rp_archive_writer *writer;
    rp_buffer bytes = {0};
    rp_json *run = rp_json_pack("{s:i,s:i}", "checkpoint_every", EVERY, "steps", STEPS),
            *predicate = rp_json_pack("{s:s}", "host", "sample");
    rp_archive *archive;

    if (child_of)
        rp_json_object_set_new(run, "parent", rp_json_pack("{s:s}", "archive_id", child_of));
    (void)snprintf(path, sizeof path, "%s/run.reprise", folder);
    assert_ok(rp_archive_writer_new(&writer, NULL, &err));
    assert_ok(rp_archive_writer_add(writer, "data/x", "a", 1, &err));
    for (int i = 1; i < SEGMENTS; i++) {
        char name[RP_MEMBER_NAME];

        (void)snprintf(name, sizeof name, "checkpoints/%012d.safetensors", i * EVERY);
        assert_ok(rp_archive_writer_add(writer, name, "", 0, &err));
    }
    assert_ok(rp_archive_writer_finish(writer, RP_RUN_API, run, &err));
    assert_ok(rp_archive_writer_sign(writer, RP_RUN_STATEMENT, builder, RP_PROVENANCE_TYPE, predicate, &err));
    assert_ok(rp_archive_writer_append(writer, &bytes, &err));
    assert_ok(rp_file_save(path, bytes.data, bytes.size, true, 0644, &err));
    rp_archive_writer_free(writer);
    rp_buffer_free(&bytes);
    rp_json_free(run);
    rp_json_free(predicate);
    assert_ok(rp_archive_open(&archive, path, &err));
    memcpy(id, rp_archive_id(archive), RP_DIGEST_HEX);
    rp_archive_close(archive);
}

static rp_replay_outcome full(void)
{
    return (rp_replay_outcome){.begun = {.scope = {.mode = RP_REPLAY_FULL,
                                                   .last = STEPS - 1,
                                                   .steps = STEPS,
                                                   .steps_total = STEPS,
                                                   .segments = SEGMENTS,
                                                   .segments_total = SEGMENTS},
                                         .level = "ref",
                                         .threads = 1,
                                         .kind = "api"},
                               .members = MEMBERS,
                               .started = 1700000000,
                               .finished = 1700000009};
}

/* What a replay of three segments would say. */
static rp_replay_outcome sample(void)
{
    rp_replay_outcome out = full();
    rp_replay_scope *scope = &out.begun.scope;
    size_t drawn[3];

    scope->mode = RP_REPLAY_SAMPLE;
    strcpy(scope->seed, seed);
    scope->segments = 3;
    assert_ok(rp_draw_segments(drawn, 3, SEGMENTS, seed, id, &err));
    scope->first = drawn[0] * EVERY;
    scope->last = drawn[2] == SEGMENTS - 1 ? STEPS - 1 : drawn[2] * EVERY + EVERY - 1;
    scope->steps = drawn[2] == SEGMENTS - 1 ? 3 * EVERY - 1 : 3 * EVERY;
    out.members = 2;
    return out;
}

static rp_status verify(const rp_policy *policy, rp_verification **result)
{
    const rp_key *trusted[] = {builder, validator};
    const rp_verify_options options = {.policy = policy, .tell_unmet = true};

    return rp_verify(path, trusted, 2, &options, result, NULL, &err);
}

/* Signed with one value of it changed, as a tool of somebody's own could; key NULL: none. */
static void attest(const rp_replay_outcome *found, const char *section, const char *key, rp_json *value)
{
    rp_json *predicate;

    write_run();
    assert_ok(rp_verdict_write(&predicate, found, host, false, &err));
    if (key)
        rp_json_object_set_new(section ? rp_json_object_get(predicate, section) : predicate, key, value);
    assert_ok(rp_statement_add(path, RP_STATEMENT_VERDICT, id, validator, predicate, NULL, &err));
    rp_json_free(predicate);
}

/* The validator signs it; says: "" where it is taken. */
static void signs(const rp_replay_outcome *found, const char *says)
{
    rp_status status;

    attest(found, NULL, NULL, NULL);
    status = verify(NULL, NULL);
    if (*says == '\0')
        assert_ok(status);
    else if (status != RP_ESIGN || !strstr(err.text, says) || !strstr(err.text, "signatures/verdict-"))
        fail_msg("expected \"%s\", found %s: %s", says, rp_status_name(status), status ? err.text : "");
}

static void what_a_full_replay_says_is_what_there_is(void **state)
{
    rp_replay_outcome found;

    (void)state;
    write_run();
    found = full();
    signs(&found, "");
    found.members = 0;
    signs(&found, "0 members compared in a replay of all, this archive has 21");
    found.members = MEMBERS + 1;
    signs(&found, "22 members compared");
    found = full();
    found.difference = "step 7";
    found.members = 0;
    signs(&found, "");
}

static void what_a_sample_says_is_what_its_seed_draws(void **state)
{
    rp_replay_outcome found;

    (void)state;
    write_run();
    found = sample();
    signs(&found, "");
    found.begun.scope.steps--;
    signs(&found, "contradicts itself: 3 segments with");
    found = sample();
    found.begun.scope.first++;
    found.begun.scope.last++;
    signs(&found, "contradicts itself");
    found = sample();
    strcpy(found.begun.scope.seed, "drawn by hand");
    signs(&found, "contradicts itself");
    found = sample();
    found.begun.scope.segments = SEGMENTS; /* all of them, and steps of three */
    found.begun.scope.steps = SEGMENTS;
    found.begun.scope.first = 0;
    found.begun.scope.last = STEPS - 1;
    signs(&found, "20 segments with 20 of the steps 0 to 78, but what it names of this run are 20 segments with 79");
    found = sample();
    found.members = MEMBERS + 1;
    signs(&found, "22 members compared, this archive has 21");
}

static void what_a_range_says_is_what_lies_in_it(void **state)
{
    rp_replay_outcome found;

    (void)state;
    write_run();
    found = full();
    found.begun.scope = (rp_replay_scope){.mode = RP_REPLAY_RANGE,
                                          .first = 8,
                                          .last = 17,
                                          .steps = 10,
                                          .steps_total = STEPS,
                                          .segments = 2,
                                          .segments_total = SEGMENTS};
    signs(&found, "");
    found.begun.scope.segments = 3;
    signs(&found, "contradicts itself: 3 segments");
    found.begun.scope.segments = 2;
    found.begun.scope.first = 9;
    found.begun.scope.steps = 9;
    signs(&found, "contradicts itself");
    found.begun.scope.first = 72;
    found.begun.scope.last = STEPS - 1;
    found.begun.scope.steps = STEPS - 72;
    signs(&found, "");
}

/* ---- what is no contradiction, and does not count ---- */

static void attest_changed(const char *section, const char *key, rp_json *value)
{
    const rp_replay_outcome found = full();

    attest(&found, section, key, value);
}

static void counts(bool met, const char *says)
{
    char text[512];
    rp_policy *policy;
    rp_verification *result;

    (void)snprintf(text, sizeof text,
                   "policy: 1\ngroups: {b: [%s], r: [%s]}\nbuilder: {of: b}\nreplay: {mode: full, by: r}\n",
                   rp_key_id(builder), rp_key_id(validator));
    assert_ok(rp_policy_from_text(&policy, text, strlen(text), "p", NULL, &err));
    assert_ok(verify(policy, &result));
    if ((result->policy->unmet == 0) != met || !strstr(result->policy->clause[1].text, says))
        fail_msg("expected %smet, \"%s\", found: %s", met ? "" : "un", says, result->policy->clause[1].text);
    rp_verification_free(result);
    rp_policy_free(policy);
}

static void it_says_what_run_it_was(void **state)
{
    static const char parent[] = "91e31f5ee1647d803ed8a9b134cd2436c2d20ff0bafb631c7c99291d1054b7a5";
    rp_replay_outcome found;

    (void)state;
    write_run();
    found = full();
    strcpy(found.begun.kind, "recipe");
    signs(&found, "is about a run of kind recipe, this one is of kind api");
    found = full();
    strcpy(found.begun.parent, parent);
    signs(&found, "is about a run that started from 91e3");
    child_of = parent;
    write_run();
    signs(&found, "");
    found.begun.parent[0] = 'a';
    signs(&found, "is about a run that started from a1e3");
    found.begun.parent[0] = '\0';
    signs(&found, "is about a run that started from no other, this one from 91e3");
    child_of = NULL;
}

static void what_cannot_have_happened_does_not_count(void **state)
{
    char later[RP_TIME_TEXT];

    (void)state;
    attest_changed("tool", "version", rp_json_string("0.1.0"));
    counts(true, "every bit the same");
    attest_changed("tool", "contract", rp_json_integer(9));
    counts(false, "contract or a format that is not known here");
    attest_changed("tool", "format", rp_json_integer(2));
    counts(false, "contract or a format that is not known here");
    attest_changed("host", "level", rp_json_string("avx1024"));
    counts(false, "kernels that are not known here");
    rp_time_write(later, (int64_t)time(NULL) + 86400);
    attest_changed(NULL, "finished", rp_json_string(later));
    counts(false, "says a time that has not come");
    attest_changed(NULL, "finished", rp_json_string("2023-11-14T22:13:19Z")); /* started a second later */
    assert_int_equal(verify(NULL, NULL), RP_ESIGN);
    assert_non_null(strstr(err.text, "finished"));
    attest_changed("doctor", "conformance", rp_json_string("conforms (0 vectors)"));
    assert_int_equal(verify(NULL, NULL), RP_ESIGN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_full_replay_says_is_what_there_is),
        cmocka_unit_test(what_a_sample_says_is_what_its_seed_draws),
        cmocka_unit_test(what_a_range_says_is_what_lies_in_it),
        cmocka_unit_test(it_says_what_run_it_was),
        cmocka_unit_test(what_cannot_have_happened_does_not_count),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
