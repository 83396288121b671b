/* SPDX-License-Identifier: Apache-2.0
 * Policies that ask for certificates and timestamps: every key refused when wrong, who counts and when, by standings
 * that are made up here; and as verification judges them, on an archive that is in the corpus. tests/cli/cli_policy.sh
 * has authorities of its own. */
#include "tests/audit/archive/archive_sample.h"

#include <stdio.h>

#include "audit/trust/policy.h"
#include "base/file.h"
#include "base/memory.h"
#include "rp/trust.h"

#define ID(x) "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde" x
static rp_error err;

static void load(rp_buffer *out, const char *name)
{
    char path[512];

    (void)snprintf(path, sizeof path, "%s/tests/fuzz/corpus/%s", RP_SOURCE_DIR, name);
    assert_ok(rp_file_read(path, 1 << 20, out, &err));
}

/* A root of the corpus as one line of YAML. */
static const char *root(void)
{
    static char text[4096];
    rp_buffer pem = {0};
    size_t n = 0;

    load(&pem, "x509/root.pem");
    for (size_t i = 0; i < pem.size && n + 3 < sizeof text; i++) {
        if (pem.data[i] == '\n')
            n += (size_t)snprintf(text + n, 3, "\\n");
        else
            text[n++] = (char)pem.data[i];
    }
    text[n] = '\0';
    rp_buffer_free(&pem);
    return text;
}

static rp_status read_text(const char *groups, const char *clauses)
{
    rp_buffer text = {0};
    rp_policy *policy;
    rp_status status;

    rp_buffer_text(&text, "policy: 1\ngroups:\n  k: [" ID("0") "]\n");
    for (const char *c = groups; *c; c++) {
        if (*c == '@')
            rp_buffer_printf(&text, "\"%s\"", root());
        else
            rp_buffer_append(&text, c, 1);
    }
    rp_buffer_text(&text, clauses);
    status = rp_policy_from_text(&policy, (char *)text.data, text.size, "p", NULL, &err);
    assert_true((policy != NULL) == (status == RP_OK));
    rp_policy_free(policy);
    rp_buffer_free(&text);
    return status;
}

#define GROUPS "  c: {ca: @}\n  t: {tsa: @}\n"

static void groups_and_dates_are_refused_for_every_flaw(void **state)
{
    static const struct {
        const char *groups, *clauses, *says;
    } flaw[] = {
        {"  c: {}\n", "", "either ca: "},
        {"  c: {ca: @, tsa: @}\n", "", "either ca: "},
        {"  c: {subject: {OU: x}}\n", "", "either ca: "},
        {"  c: {ca: root.pem}\n", "", "without a folder"},
        {"  c: {ca: []}\n", "", "1 to 16"},
        {"  c: {ca: null}\n", "", "PEM file"},
        {"  c: {ca: ''}\n", "", "PEM file"},
        {"  c: {ca: [[@]]}\n", "", "PEM file"},
        {"  c: {ca: '-----BEGIN CERTIFICATE-----'}\n", "", "key groups.c.ca: PEM text"},
        {"  c: {ca: @, crl: @}\n", "", "expected X509 CRL"},
        {"  c: {ca: @, rsa: true}\n", "", "groups.c.rsa: unknown key"},
        {"  c: {tsa: @, subject: {OU: x}}\n", "", "unknown key"},
        {"  c: {tsa: @, rsa: yes}\n", "", "true or false"},
        {"  c: {ca: @, revocation: no}\n", "", "one of required, optional"},
        {"  c: {ca: @, subject: {}}\n", "", "such as {OU: Validation}"},
        {"  c: {ca: @, subject: x}\n", "", "such as {OU: Validation}"},
        {"  c: {ca: @, subject: {ou: x}}\n", "", "groups.c.subject.ou: unknown key"},
        {"  c: {ca: @, subject: {OU: []}}\n", "", "never be met"},
        {"  c: {ca: @, subject: {OU: ''}}\n", "", "one line of text"},
        {"  c: {ca: @, subject: {OU: [[x]]}}\n", "", "one line of text"},
        {"  c: {ca: @, subject: {OU: {x: y}}}\n", "", "one line of text"},
        {GROUPS, "builder: {of: t}\n", "t is not a group of signers"},
        {GROUPS, "builder: {of: k, timestamp: c}\n", "c is not a group of timestamp"},
        {GROUPS, "builder: {of: k, timestamp: x}\n", "name of one of the groups"},
        {GROUPS, "builder: {of: k, not_before: 2026-01-01T00:00:00Z}\n", "only with timestamp"},
        {GROUPS, "builder: {of: k, timestamp: t, not_before: 2026-01-01}\n", "a time in UTC"},
        {GROUPS, "builder: {of: k, timestamp: t, not_before: 2026-01-02T00:00:00Z, not_after: 2026-01-01T00:00:00Z}\n",
         "is before not_before"},
        {GROUPS, "builder: {of: k}\nlog: {of: c}\n", "c is not a group of keys"},
        {GROUPS, "builder: {of: k}\nlog: {of: k, timestamp: t}\n", "unknown key"},
        {GROUPS, "builder: {of: k}\napprovals: {of: c, count: 65}\n", "from 1 to 64"},
    };

    (void)state;
    assert_int_equal(
        read_text(
            GROUPS "  d: {ca: [@, @], subject: {OU: [x, y], CN: z}, revocation: optional}\n",
            "builder: {of: c, timestamp: t, not_after: 2026-01-01T00:00:00Z}\nreplay: {mode: full, by: d, count: 64, "
            "timestamp: t}\napprovals: {of: d, timestamp: t, not_before: 1970-01-01T00:00:00Z}\n"),
        RP_OK);
    for (size_t i = 0; i < sizeof flaw / sizeof *flaw; i++)
        if (read_text(flaw[i].groups, *flaw[i].clauses ? flaw[i].clauses : "builder: {of: c}\n") != RP_EARG ||
            !strstr(err.text, flaw[i].says))
            fail_msg("flaw %zu: expected \"%s\", found: %s", i, flaw[i].says, err.text);
}

/* ---- checking ---- */

enum { STATEMENTS = 12 };
static rp_verified_statement list[STATEMENTS], other[STATEMENTS];
static rp_verified_standing standing[STATEMENTS];
static rp_approval approval[STATEMENTS];
static rp_verified_certificate certificate[1];
static rp_verification v;
static char subject[STATEMENTS][32];

static void begin(void)
{
    memset(list, 0, sizeof list);
    memset(other, 0, sizeof other);
    memset(standing, 0, sizeof standing);
    memset(approval, 0, sizeof approval);
    v = (rp_verification){.statement = list, .other = other, .standing = standing, .certificate = certificate};
    list[0].kind = RP_STATEMENT_PROVENANCE;
    strcpy(list[0].member, "run");
    strcpy(list[0].key_id, ID("0"));
    v.statements = 1;
}

/* Key k (a digit) decides at an hour, under a certificate of that subject, dated at another hour; 0: not. */
static rp_verified_standing *decide(char k, const char *name, rp_decision decision, int hour, int dated)
{
    rp_verified_statement *one = &list[v.statements];
    rp_verified_standing *made = &standing[v.standings];

    one->kind = RP_STATEMENT_APPROVAL;
    one->approval = &approval[v.statements];
    one->approval->decision = decision;
    strcpy(one->approval->role, "risk");
    (void)snprintf(one->member, sizeof one->member, "a%zu", v.statements++);
    (void)snprintf(one->key_id, sizeof one->key_id, "%s%c", ID(""), k);
    (void)snprintf(one->time, sizeof one->time, "2026-01-01T%02u:00:00Z", (unsigned)hour % 24);
    strcpy(made->clause, "approvals[0]");
    strcpy(made->statement, one->member);
    strcpy(made->key_id, one->key_id);
    made->subject = strcpy(subject[v.standings++], name);
    made->certified = true;
    made->dated = dated > 0;
    made->seconds = INT64_C(1767225600) + 3600 * dated; /* 2026-01-01 */
    (void)snprintf(made->time, sizeof made->time, "2026-01-01T%02u:00:00Z", (unsigned)dated % 24);
    made->authority = dated ? (char *)(uintptr_t) "CN=tsa" : NULL;
    made->timestamp_note = dated ? NULL : (char *)(uintptr_t) "no timestamp";
    return made;
}

static void expect(const char *clause, bool met, const char *says)
{
    rp_buffer text = {0};
    rp_policy *policy;
    rp_policy_result *result;

    rp_buffer_printf(&text,
                     "policy: 1\ngroups:\n  k: [" ID(
                         "0") "]\n  c: {ca: \"%s\"}\n  t: {tsa: \"%s\"}\nbuilder: {of: k}\napprovals: {of: c%s}\n",
                     root(), root(), clause);
    assert_ok(rp_policy_from_text(&policy, (char *)text.data, text.size, "p", NULL, &err));
    memcpy(v.judged_by, policy->digest, sizeof v.judged_by);
    assert_ok(rp_policy_check(policy, &v, &result, &err));
    if (result->clause[1].met != met || !strstr(result->clause[1].text, says))
        fail_msg("%s: expected %smet, \"%s\"; found %smet, %s", clause, met ? "" : "un", says,
                 result->clause[1].met ? "" : "un", result->clause[1].text);
    rp_policy_result_free(result);
    v.judged_by[0] ^= 1; /* what was judged for another policy is no evidence */
    assert_ok(rp_policy_check(policy, &v, &result, &err));
    assert_false(result->clause[1].met);
    rp_policy_result_free(result);
    rp_policy_free(policy);
    rp_buffer_free(&text);
}

static void a_person_counts_once_by_key_and_by_subject(void **state)
{
    (void)state;
    begin();
    expect("", false, "no decision by any of them");
    decide('1', "CN=vera", RP_APPROVE, 1, 0);
    expect("", true, "(CN=vera) approved");
    expect(", count: 2", false, "approved");
    decide('1', "CN=vera", RP_APPROVE, 2, 0);
    expect(", count: 2", false, "approved");
    decide('2', "cn=Vera", RP_APPROVE, 2, 0); /* another key, the same name in other letters */
    expect(", count: 2", false, "has the subject of one who counts already");
    decide('3', "CN=victor", RP_APPROVE, 2, 0)->certified = false;
    standing[3].certificate_note = (char *)(uintptr_t) "revoked";
    expect(", count: 2", false, "(CN=victor) does not count: revoked");
    standing[3].certified = true;
    expect(", count: 2", true, "(CN=victor) approved (revoked)");
    expect(", count: 3", false, "");
    v.standings = 0;
    expect("", false, "no certificate of it in the archive");
}

static void who_made_the_run_is_known_by_subject_too(void **state)
{
    (void)state;
    begin();
    decide('1', "CN=alice", RP_APPROVE, 1, 0);
    expect(", independent: true", true, "");
    standing[v.standings] = (rp_verified_standing){.clause = "builder", .statement = "run", .subject = subject[5]};
    strcpy(subject[5], "CN=Alice");
    v.standings++;
    expect(", independent: true", false, "(CN=alice) made the run itself");
    v.standings--;
    certificate[0] = (rp_verified_certificate){.statement = "run", .subject = subject[5]};
    v.certificates = 1;
    expect(", independent: true", false, "made the run itself");
    begin();
    decide('0', "CN=bob", RP_APPROVE, 1, 0); /* by key */
    expect(", independent: true", false, "made the run itself");
}

static void only_what_is_dated_as_asked_counts(void **state)
{
    (void)state;
    begin();
    decide('1', "CN=vera", RP_APPROVE, 5, 0);
    expect("", true, "");
    expect(", timestamp: t", false, "is not dated as asked: no timestamp");
    begin();
    decide('1', "CN=vera", RP_APPROVE, 5, 6);
    expect(", timestamp: t", true, "approved (dated 2026-01-01T06:00:00Z by CN=tsa)");
    expect(", timestamp: t, not_after: 2026-01-01T06:00:00Z", true, "");
    expect(", timestamp: t, not_after: 2026-01-01T05:59:59Z", false,
           "is dated 2026-01-01T06:00:00Z, after 2026-01-01T05:59:59Z");
    expect(", timestamp: t, not_before: 2026-01-01T05:00:00Z", true, "not before 2026-01-01T05:00:00Z");
    expect(", timestamp: t, not_before: 2026-01-01T06:00:01Z", false, "is dated 2026-01-01T06:00:00Z, before");
    /* made before and dated anew */
    expect(", timestamp: t, not_before: 2026-01-01T05:30:00Z", false,
           "but says of itself 2026-01-01T05:00:00Z, before");
}

static void a_rejection_needs_no_date(void **state)
{
    (void)state;
    begin();
    decide('1', "CN=vera", RP_APPROVE, 1, 1);
    decide('2', "CN=victor", RP_REJECT, 1, 0);
    expect(", timestamp: t", false, "(CN=victor) rejected");
    expect(", timestamp: t, rejections: ignore", true, "");
}

/* hour and date of a rejection and of an approval by the same key: which of them stands. */
static void of_two_decisions_the_later_one_by_both_clocks_stands(void **state)
{
    static const struct {
        int rejected, rejection_dated, approved, approval_dated;
        bool met;
    } row[] = {
        {1, 1, 2, 2, true},  {2, 2, 1, 1, false}, {2, 2, 1, 3, false}, /* an old approval dated anew */
        {1, 3, 2, 2, false}, {1, 0, 2, 2, false},                      /* a rejection whose timestamp was taken away */
        {1, 1, 2, 0, false}, {1, 1, 1, 2, false}, {1, 2, 2, 2, false},
    };

    (void)state;
    for (size_t i = 0; i < 2 * sizeof row / sizeof *row; i++) {
        begin();
        if (i % 2)
            decide('1', "CN=vera", RP_APPROVE, row[i / 2].approved, row[i / 2].approval_dated);
        decide('1', "CN=vera", RP_REJECT, row[i / 2].rejected, row[i / 2].rejection_dated);
        if (i % 2 == 0)
            decide('1', "CN=vera", RP_APPROVE, row[i / 2].approved, row[i / 2].approval_dated);
        expect(", timestamp: t, rejections: superseded", row[i / 2].met, "");
    }
    /* what one takes back by one key is not approved by one's other key; a rejection only its own key takes back */
    begin();
    decide('1', "CN=vera", RP_APPROVE, 1, 1);
    decide('2', "CN=vera", RP_ABSTAIN, 2, 2);
    expect(", rejections: ignore", false, "decided otherwise later");
    begin();
    decide('1', "CN=vera", RP_REJECT, 1, 1);
    decide('2', "CN=vera", RP_APPROVE, 2, 2);
    expect(", rejections: superseded", false, "rejected");
}

/* ---- as verification judges ---- */

/* certified.reprise: made by alice, approved by vera under two keys, all dated. from and to: a change of the policy. */
static void judged(const char *from, const char *to, const char *time, size_t unmet, const char *says)
{
    rp_buffer archive = {0}, text = {0};
    rp_policy *policy;
    rp_trust_store *store;
    rp_verification *found = NULL;
    rp_verify_options options = {.tell_unmet = true};
    int64_t seconds;
    char *at, *changed;

    load(&archive, "x509/certified.reprise");
    load(&text, "policy/good-certified.yaml");
    rp_buffer_u8(&text, 0);
    at = strstr((char *)text.data, from);
    assert_non_null(at);
    changed = rp_calloc(text.size + strlen(to) + 1, 1);
    memcpy(changed, text.data, (size_t)(at - (char *)text.data));
    strcat(strcat(changed, to), at + strlen(from));
    assert_ok(rp_policy_from_text(&policy, changed, strlen(changed), "p", NULL, &err));
    assert_ok(rp_trust_store_new(&store, &err));
    assert_ok(rp_trust_time(&seconds, time, &err));
    rp_trust_store_set_time(store, seconds);
    options.policy = policy;
    options.trust = store;
    assert_ok(rp_verify_memory(archive.data, archive.size, "archive", NULL, 0, &options, &found, NULL, &err));
    if (found->policy->unmet != unmet)
        fail_msg("%s: expected %zu unmet, found %zu: %s; %s", to, unmet, found->policy->unmet,
                 found->policy->clause[0].text, found->policy->clause[1].text);
    for (size_t i = 0; unmet && i < found->policy->clauses; i++) {
        if (found->policy->clause[i].met)
            continue;
        if (!strstr(found->policy->clause[i].text, says))
            fail_msg("%s: expected \"%s\", found %s", to, says, found->policy->clause[i].text);
        says = "no provenance of it that counts"; /* without a builder nobody is independent either */
    }
    rp_verification_free(found);
    options.trust = NULL; /* and without any store, now */
    options.tell_unmet = false;
    assert_int_equal(rp_verify_memory(archive.data, archive.size, "archive", NULL, 0, &options, &found, NULL, &err) ==
                         RP_OK,
                     unmet == 0);
    rp_verification_free(found);
    rp_trust_store_free(store);
    rp_policy_free(policy);
    rp_free(changed);
    rp_buffer_free(&text);
    rp_buffer_free(&archive);
}

static void verification_judges_for_each_clause_apart(void **state)
{
    static const char now[] = "2026-12-01T00:00:00Z", later[] = "2060-01-01T00:00:00Z";

    (void)state;
    judged("policy", "policy", now, 0, "");
    judged("policy", "policy", later, 0, ""); /* certificates and lists have expired; what was dated before counts */
    judged("timestamp: authorities, independent", "count: 2, timestamp: authorities, independent", now, 1,
           "has the subject of one");
    judged("OU: Development", "OU: Develop", now, 2, "has not the OU");
    judged("OU: Development", "OU: Validation", now, 2,
           "(CN=alice,OU=Development,O=Tests) does not count: its subject");
    judged("[Audit, Validation]", "Audit", now, 1, "(CN=vera,OU=Validation,O=Tests) does not count: its subject");
    judged("{of: developers,", "{of: validators,", now, 2,
           "(CN=alice,OU=Development,O=Tests) does not count: its subject");
    judged("    crl: |\n", "    revocation: optional\n    crl: |\n", now, 0, "");
    judged("not_after: 2040", "not_after: 2026", now, 1, "is dated 2026-11");
}

static void a_policys_roots_count_for_its_clauses_alone(void **state)
{
    rp_buffer archive = {0}, text = {0};
    rp_policy *policy;
    rp_verification *found;
    rp_verify_options options = {.tell_unmet = true};

    (void)state;
    load(&archive, "x509/certified.reprise");
    load(&text, "policy/good-certified.yaml");
    assert_ok(rp_policy_from_text(&policy, (char *)text.data, text.size, "p", NULL, &err));
    options.policy = policy;
    assert_ok(rp_verify_memory(archive.data, archive.size, "archive", NULL, 0, &options, &found, NULL, &err));
    assert_int_equal(found->standings, 3);
    assert_int_equal(found->certificates, 0); /* of the verifier's own authorities, of which there are none */
    for (size_t i = 0; i < found->timestamps; i++)
        assert_null(found->timestamp[i].anchor);
    rp_verification_free(found);
    rp_policy_free(policy);
    assert_int_equal(rp_verify_memory(archive.data, archive.size, "archive", NULL, 0, NULL, &found, NULL, &err),
                     RP_ESIGN);
    rp_buffer_free(&text);
    rp_buffer_free(&archive);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_and_dates_are_refused_for_every_flaw),
        cmocka_unit_test(a_person_counts_once_by_key_and_by_subject),
        cmocka_unit_test(who_made_the_run_is_known_by_subject_too),
        cmocka_unit_test(only_what_is_dated_as_asked_counts),
        cmocka_unit_test(a_rejection_needs_no_date),
        cmocka_unit_test(of_two_decisions_the_later_one_by_both_clocks_stands),
        cmocka_unit_test(verification_judges_for_each_clause_apart),
        cmocka_unit_test(a_policys_roots_count_for_its_clauses_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
