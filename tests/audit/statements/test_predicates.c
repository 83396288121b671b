/* SPDX-License-Identifier: Apache-2.0
 * What verdicts and approvals say: read back as written, and refused with any one thing wrong. */
#include "tests/audit/archive/archive_sample.h"

#include <stdio.h>

#include "audit/record/provenance.h"
#include "tests/audit/statements/sample_outcome.h"

#define PARENT "91e31f5ee1647d803ed8a9b134cd2436c2d20ff0bafb631c7c99291d1054b7a5"
static rp_error err;

static rp_status write_verdict(rp_json **out, const rp_replay_outcome *found)
{
    rp_json *host;
    bool healthy;
    rp_status status = rp_host_describe(&host, found->begun.level, &healthy, &err);

    assert_ok(status);
    status = rp_verdict_write(out, found, host, healthy, &err);
    rp_json_free(host);
    return status;
}

/* The predicate with a value in place of another's, by a path such as "scope.steps"; NULL removes it. */
static rp_json *changed(const rp_json *good, const char *path, rp_json *value)
{
    rp_json *copy = rp_json_deep_copy(good), *at = copy;
    const char *dot;

    while ((dot = strchr(path, '.')) != NULL) {
        char key[32];

        (void)snprintf(key, sizeof key, "%.*s", (int)(dot - path), path);
        at = rp_json_object_get(at, key);
        path = dot + 1;
    }
    if (value)
        rp_json_object_set_new(at, path, value);
    else
        rp_json_object_del(at, path);
    return copy;
}

static void verdicts_are_refused_for_every_flaw(void **state)
{
    const rp_replay_outcome found = sample_outcome(NULL);
    const struct {
        const char *path;
        rp_json *value;
    } flaw[] = {
        {"doctor", NULL},
        {"finished", NULL},
        {"host", NULL},
        {"result", NULL},
        {"scope", NULL},
        {"started", NULL},
        {"tool", NULL},
        {"more", rp_json_boolean(true)},
        {"scope.more", rp_json_boolean(true)},
        {"host.more", rp_json_boolean(true)},
        {"doctor.more", rp_json_boolean(true)},
        {"result.more", rp_json_boolean(true)},
        {"tool.more", rp_json_boolean(true)},
        {"host", rp_json_array()},
        {"doctor", rp_json_null()},
        {"doctor.healthy", rp_json_integer(1)},
        {"doctor.conforms", rp_json_boolean(false)},
        {"doctor.conforms", NULL},
        {"doctor.conformance", rp_json_string("differs")},
        {"doctor.conformance", rp_json_string("")},
        {"doctor.conformance", rp_json_string("conforms ")},
        {"doctor.conformance", rp_json_string("conforms (0 vectors)")},
        {"doctor.conformance", rp_json_string("conforms (12 vectors), more or less")},
        {"finished", rp_json_string("2023-11-14T22:13:19Z")}, /* a second before it began */
        {"finished", rp_json_string("yesterday")},
        {"finished", rp_json_string("2023-02-29T00:00:00Z")},
        {"finished", rp_json_string("2023-11-14T24:00:00Z")},
        {"started", rp_json_string("2023-11-14T22:13:20+00:00")},
        {"started", rp_json_integer(1700000000)},
        {"started", rp_json_string("1969-12-31T23:59:59Z")},
        {"finished", rp_json_string("10000-01-01T00:00:00Z")},
        {"host.cpu", rp_json_string(" x")},
        {"host.cpu", rp_json_string("a\nb")},
        {"host.cpu", rp_json_string("\xC3\xB6")},
        {"host.level", rp_json_string("sixteen letters!")},
        {"host.threads", rp_json_integer(0)},
        {"host.threads", rp_json_integer(-1)},
        {"host.threads", rp_json_integer(1048577)},
        {"host.threads", rp_json_string("2")},
        {"result.verdict", rp_json_string("Identical")},
        {"result.verdict", rp_json_boolean(true)},
        {"result.verdict", rp_json_string("differs")},
        {"result.difference", rp_json_string("step 0")},
        {"result.members", rp_json_integer(-1)},
        {"result.members", rp_json_integer(65537)},
        {"scope.mode", rp_json_string("most")},
        {"scope.mode", rp_json_string("sample")},
        {"scope.seed", rp_json_string("x")},
        {"scope.seed", NULL},
        {"scope.steps", rp_json_integer(1)},
        {"scope.steps", rp_json_integer(3)},
        {"scope.steps", rp_json_integer(0)},
        {"scope.steps_total", rp_json_integer(3)},
        {"scope.steps_total", rp_json_integer(0)},
        {"scope.first", rp_json_integer(1)},
        {"scope.last", rp_json_integer(2)},
        {"scope.last", rp_json_integer(0)},
        {"scope.segments", rp_json_integer(0)},
        {"scope.segments", rp_json_integer(2)},
        {"scope.segments_total", rp_json_integer(2)},
        {"scope.segments_total", rp_json_integer(3)},
        {"scope.steps", rp_json_integer(INT64_MAX)},
        {"kind", NULL},
        {"kind", rp_json_string("recipes")},
        {"parent", NULL},
        {"parent", rp_json_string("no")},
        {"parent", rp_json_pack("{s:s}", "archive_id", PARENT)},
        {"parent", rp_json_pack("{s:s,s:b,s:b}", "archive_id", PARENT, "checked", 1, "more", 1)},
        {"parent", rp_json_pack("{s:s,s:s}", "archive_id", PARENT, "checked", "yes")},
        {"parent", rp_json_pack("{s:s,s:b}", "archive_id", PARENT "0", "checked", 1)},
        {"parent", rp_json_pack("{s:s,s:b}", "archive_id", "A" PARENT, "checked", 1)},
        {"tool.name", rp_json_null()},
        {"tool.contract", rp_json_integer(0)},
        {"tool.libraries", rp_json_array()},
        {"tool.libraries.x", rp_json_integer(3)},
        {"tool.version", rp_json_string("\x7F")},
    };
    rp_verdict out;
    rp_json *good, *libraries;

    (void)state;
    assert_ok(write_verdict(&good, &found));
    assert_ok(rp_verdict_read(&out, good, "x", &err));
    for (size_t i = 0; i < sizeof flaw / sizeof *flaw; i++) {
        rp_json *bad = changed(good, flaw[i].path, flaw[i].value);

        if (rp_verdict_read(&out, bad, "x", &err) != RP_ESIGN || strncmp(err.text, "x: ", 3) != 0)
            fail_msg("flaw %zu (%s) was not refused: %s", i, flaw[i].path, err.text);
        rp_json_free(bad);
    }
    libraries = changed(good, "parent", rp_json_pack("{s:s,s:b}", "archive_id", PARENT, "checked", 1));
    assert_ok(rp_verdict_read(&out, libraries, "x", &err));
    assert_string_equal(out.parent, PARENT);
    assert_true(out.parent_checked);
    rp_json_free(libraries);
    libraries = rp_json_object();
    for (int i = 0; i < 17; i++) {
        char name[8];

        (void)snprintf(name, sizeof name, "l%d", i);
        rp_json_object_set_new(libraries, name, rp_json_string("1"));
    }
    libraries = changed(good, "tool.libraries", libraries);
    assert_int_equal(rp_verdict_read(&out, libraries, "x", &err), RP_ESIGN);
    rp_json_free(libraries);
    rp_json_free(good);
    assert_int_equal(rp_verdict_read(&out, rp_json_boolean(true), "x", &err), RP_ESIGN);
}

static void a_difference_is_a_verdict_too(void **state)
{
    rp_replay_outcome found = sample_outcome("step 7: relu: element 3: 0x3f800000, 0x3f800001\n");
    rp_json *predicate;
    rp_verdict out;

    (void)state;
    found.members = 0;
    assert_ok(write_verdict(&predicate, &found));
    assert_ok(rp_verdict_read(&out, predicate, "x", &err));
    assert_false(out.identical);
    assert_string_equal(out.difference, "step 7: relu: element 3: 0x3f800000, 0x3f800001?");
    rp_json_free(predicate);
    found.begun.scope.steps = 1; /* full, and not all of it: nobody would read that */
    assert_int_equal(write_verdict(&predicate, &found), RP_EARG);
    assert_null(predicate);
}

static void approvals_are_refused_for_every_flaw(void **state)
{
    static const char *const flaw[] = {
        "{\"decision\":\"approve\",\"reason\":\"r\",\"role\":\"x\"}",
        "{\"decision\":\"approve\",\"reason\":\"r\",\"time\":\"2026-01-01T00:00:00Z\"}",
        "{\"decision\":\"approved\",\"reason\":\"r\",\"role\":\"x\",\"time\":\"2026-01-01T00:00:00Z\"}",
        "{\"decision\":0,\"reason\":\"r\",\"role\":\"x\",\"time\":\"2026-01-01T00:00:00Z\"}",
        "{\"decision\":\"approve\",\"reason\":\"\",\"role\":\"x\",\"time\":\"2026-01-01T00:00:00Z\"}",
        "{\"decision\":\"approve\",\"reason\":\"a\\nb\",\"role\":\"x\",\"time\":\"2026-01-01T00:00:00Z\"}",
        "{\"decision\":\"approve\",\"reason\":\"a\\u001b[2Jb\",\"role\":\"x\",\"time\":\"2026-01-01T00:00:00Z\"}",
        "{\"decision\":\"approve\",\"reason\":\"a\xC2\x9B\",\"role\":\"x\",\"time\":\"2026-01-01T00:00:00Z\"}",
        "{\"decision\":\"approve\",\"reason\":\"\xE2\x80\xAE\",\"role\":\"x\",\"time\":\"2026-01-01T00:00:00Z\"}",
        "{\"decision\":\"approve\",\"reason\":\"a\xE2\x81\xA6\",\"role\":\"x\",\"time\":\"2026-01-01T00:00:00Z\"}",
        "{\"decision\":\"approve\",\"reason\":\"a\xD8\x9C\",\"role\":\"x\",\"time\":\"2026-01-01T00:00:00Z\"}",
        "{\"decision\":\"approve\",\"reason\":\"a\xE2\x80\x8B\","
        "\"role\":\"x\",\"time\":\"2026-01-01T00:00:00Z\"}",
        "{\"decision\":\"approve\",\"reason\":\"a\xEF\xBB\xBF\","
        "\"role\":\"x\",\"time\":\"2026-01-01T00:00:00Z\"}",
        "{\"decision\":\"approve\",\"reason\":\"a\xC2\xAD\",\"role\":\"x\",\"time\":\"2026-01-01T00:00:00Z\"}",
        "{\"decision\":\"approve\",\"reason\":\"a\xE2\x81\xA5\","
        "\"role\":\"x\",\"time\":\"2026-01-01T00:00:00Z\"}",
        "{\"decision\":\"approve\",\"reason\":\"a\xF3\xA0\x81\xA1\",\"role\":\"x\",\"time\":\"2026-01-01T00:00:00Z\"}",
        "{\"decision\":\"approve\",\"reason\":\"a\xEF\xB8\x8F\","
        "\"role\":\"x\",\"time\":\"2026-01-01T00:00:00Z\"}",
        "{\"decision\":\"approve\",\"reason\":\"a\x7F\",\"role\":\"x\",\"time\":\"2026-01-01T00:00:00Z\"}",
        "{\"decision\":\"approve\",\"reason\":\"r\",\"role\":\"x\",\"time\":\"1969-12-31T23:59:59Z\"}",
        "{\"decision\":\"approve\",\"reason\":\"\xE2\x80\xA8\",\"role\":\"x\",\"time\":\"2026-01-01T00:00:00Z\"}",
        "{\"decision\":\"approve\",\"reason\":\"r\",\"role\":\"x \",\"time\":\"2026-01-01T00:00:00Z\"}",
        "{\"decision\":\"approve\",\"reason\":\"r\",\"role\":\"x\",\"time\":\"2026-13-01T00:00:00Z\"}",
        "{\"decision\":\"approve\",\"more\":1,\"reason\":\"r\",\"role\":\"x\",\"time\":\"2026-01-01T00:00:00Z\"}",
        "[]",
    };
    rp_approval approval = {.role = "x", .decision = RP_REJECT, .reason = "r"}, back;
    rp_json *json;

    (void)state;
    for (size_t i = 0; i < sizeof flaw / sizeof *flaw; i++) {
        assert_ok(rp_json_parse(&json, flaw[i], strlen(flaw[i]), true, "flaw", &err));
        if (rp_approval_read(&back, json, "x", &err) != RP_ESIGN)
            fail_msg("flaw %zu was not refused", i);
        rp_json_free(json);
    }
    assert_ok(rp_approval_write(&json, &approval, 1700000000, &err));
    assert_ok(rp_approval_read(&back, json, "x", &err));
    assert_int_equal(back.decision, RP_REJECT);
    rp_json_free(json);
    /* others that begin alike, and a character of four bytes */
    strcpy(approval.reason, "\xE2\x82\xAC \xE2\x80\x94 \xE2\x81\x82 \xC2\xA0 \xF0\x9F\x98\x80 \xD8\xA7");
    assert_ok(rp_approval_write(&json, &approval, 0, &err));
    rp_json_free(json);
    memset(approval.reason, 'r', 2000);
    assert_ok(rp_approval_write(&json, &approval, 0, &err));
    rp_json_free(json);
    strcpy(approval.reason, "a\tb");
    assert_int_equal(rp_approval_write(&json, &approval, 0, &err), RP_EARG);
    strcpy(approval.reason, "\xFF");
    assert_int_equal(rp_approval_write(&json, &approval, 0, &err), RP_EARG);
    strcpy(approval.reason, "r");
    strcpy(approval.role, "");
    assert_int_equal(rp_approval_write(&json, &approval, 0, &err), RP_EARG);
    strcpy(approval.role, "x");
    approval.decision = (rp_decision)3;
    assert_int_equal(rp_approval_write(&json, &approval, 0, &err), RP_EARG);
}

static void findings_are_refused_for_every_flaw(void **state)
{
    const rp_stated_finding finding = {.id = "MRM 17",
                                       .owner = "credit",
                                       .severity = RP_SEVERITY_HIGH,
                                       .due = "2027-03-31T00:00:00Z",
                                       .text = "no out-of-time test"};
    const struct {
        const char *path;
        rp_json *value;
    } flaw[] = {
        {"due", NULL},
        {"due", rp_json_string("2027-02-30T00:00:00Z")},
        {"id", NULL},
        {"id", rp_json_string(" x")},
        {"owner", rp_json_null()},
        {"owner", rp_json_string("\xC3\xB6")},
        {"severity", rp_json_string("High")},
        {"severity", rp_json_integer(2)},
        {"state", rp_json_string("settled")},
        {"text", rp_json_string("a\nb")},
        {"text", rp_json_string("a\xE2\x80\x8B")},
        {"time", rp_json_string("today")},
        {"more", rp_json_boolean(true)},
    };
    rp_stated_finding back, bad;
    rp_json *json;

    (void)state;
    assert_ok(rp_finding_write(&json, &finding, 1700000000, &err));
    assert_ok(rp_finding_read(&back, json, "x", &err));
    assert_string_equal(back.id, finding.id);
    assert_string_equal(back.due, finding.due);
    assert_int_equal(back.severity, RP_SEVERITY_HIGH);
    assert_false(back.closed);
    for (size_t i = 0; i < sizeof flaw / sizeof *flaw; i++) {
        rp_json *wrong = changed(json, flaw[i].path, flaw[i].value);

        if (rp_finding_read(&back, wrong, "x", &err) != RP_ESIGN)
            fail_msg("flaw %zu (%s) was not refused", i, flaw[i].path);
        rp_json_free(wrong);
    }
    rp_json_free(json);
    for (int i = 0; i < 4; i++) {
        bad = finding;
        strcpy(i == 0 ? bad.id : i == 1 ? bad.owner : i == 2 ? bad.text : bad.due, i == 3 ? "soon" : "");
        assert_int_equal(rp_finding_write(&json, &bad, 0, &err), RP_EARG);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(verdicts_are_refused_for_every_flaw),
        cmocka_unit_test(a_difference_is_a_verdict_too),
        cmocka_unit_test(approvals_are_refused_for_every_flaw),
        cmocka_unit_test(findings_are_refused_for_every_flaw),
    };

    return cmocka_run_group_tests_name("predicates", tests, NULL, NULL);
}
