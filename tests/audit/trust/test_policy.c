/* SPDX-License-Identifier: Apache-2.0
 * Policies: every key refused when wrong, and every clause met, and unmet for each of its reasons, alone and together.
 */
#include "tests/audit/archive/archive_sample.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "audit/trust/facts.h"
#include "audit/trust/policy.h"
#include "audit/trust/verify.h"
#include "base/memory.h"

#define ID(x) "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde" x
static rp_error err;

/* ---- reading ---- */

static rp_status read_text(const char *text)
{
    rp_policy *policy;
    rp_status status = rp_policy_from_text(&policy, text, strlen(text), "p", NULL, &err);

    assert_true((policy != NULL) == (status == RP_OK));
    rp_policy_free(policy);
    return status;
}

#define HEAD "policy: 1\ngroups:\n  a: [" ID("0") ", " ID("1") "]\n  b: [" ID("0") "]\n"
#define BUILDER HEAD "builder: {of: a}\n"

static void policies_are_refused_for_every_flaw(void **state)
{
    static const struct {
        const char *text, *says;
    } flaw[] = {
        {"", "empty"},
        {"policy: 2\n", "version 1"},
        {"a list\n", "version 1"},
        {"[policy]\n", "version 1"},
        {"policy: \"1\"\n", "version 1"},
        {"policy: 1\n", "groups"},
        {HEAD, "builder: is missing"},
        {"policy: 1\ngroups: {}\nbuilder: {of: a}\n", "groups"},
        {"policy: 1\ngroups: {a: []}\nbuilder: {of: a}\n", "list of 1 to 64"},
        {"policy: 1\ngroups: {a: [x.pem]}\nbuilder: {of: a}\n", "key id of 64"},
        {"policy: 1\ngroups: {a: [" ID("F") "]}\nbuilder: {of: a}\n", "key id of 64"},
        {"policy: 1\ngroups: {a: [" ID("0") ", " ID("0") "]}\nbuilder: {of: a}\n", "same key twice"},
        {"policy: 1\ngroups: {a: [[" ID("0") "]]}\nbuilder: {of: a}\n", "PEM file or a key id"},
        {"policy: 1\ngroups: {\"\": [" ID("0") "]}\nbuilder: {of: \"\"}\n", "group's name"},
        {BUILDER "more: 1\n", "unknown key"},
        {BUILDER "aprovals: {of: a}\n", "did you mean \"approvals\""},
        {HEAD "builder: {of: c}\n", "name of one of the groups"},
        {HEAD "builder: {}\n", "builder.of: is missing"},
        {HEAD "builder: a\n", "a mapping"},
        {HEAD "builder: [{of: a}]\n", "a mapping"},
        {HEAD "builder: {of: [a]}\n", "one of the groups"},
        {HEAD "builder: {of: a, endorsement: maybe}\n", "true or false"},
        {HEAD "builder: {of: a, count: 1}\n", "unknown key"},
        {BUILDER "replay: {by: a}\n", "either mode: full"},
        {BUILDER "replay: {mode: full, at_least: 0.1, by: a}\n", "either mode: full"},
        {BUILDER "replay: {mode: sample, by: a}\n", "one of full"},
        {BUILDER "replay: {mode: full}\n", "by: is missing"},
        {BUILDER "replay: []\n", "demands nothing"},
        {BUILDER "replay: [{mode: full, by: a}, 3]\n", "replay[1]"},
        {BUILDER "replay: {at_least: 0, by: a}\n", "share"},
        {BUILDER "replay: {at_least: 1.000001, by: a}\n", "share"},
        {BUILDER "replay: {at_least: 0.0000001, by: a}\n", "share"},
        {BUILDER "replay: {at_least: -0.2, by: a}\n", "share"},
        {BUILDER "replay: {at_least: .2, by: a}\n", "share"},
        {BUILDER "replay: {at_least: 1., by: a}\n", "share"},
        {BUILDER "replay: {at_least: 2e-1, by: a}\n", "share"},
        {BUILDER "replay: {at_least: \"0.2\", by: a}\n", "share"},
        {BUILDER "replay: {at_least: 20 %, by: a}\n", "share"},
        {BUILDER "replay: {at_least: 99999999999999999999, by: a}\n", "share"},
        {BUILDER "replay: {mode: full, by: a, count: 0}\n", "from 1 to 64"},
        {BUILDER "replay: {mode: full, by: a, count: 3}\n", "never be met"},
        {BUILDER "replay: {mode: full, by: a, isa: []}\n", "1 to 8"},
        {BUILDER "replay: {mode: full, by: a, isa: [1,2,3,4,5,6,7,8,9]}\n", "1 to 8"},
        {BUILDER "replay: {mode: full, by: a, isa: [[avx2]]}\n", "printable"},
        {BUILDER "replay: {mode: full, by: a, isa: [avx2, axv2]}\n", "one of ref, sse2"},
        {BUILDER "replay: {mode: full, by: a, differences: superseded}\n", "one of fail, ignore"},
        {BUILDER "replay: {mode: full, by: a, seed: \"\"}\n", "printable"},
        {BUILDER "approvals: {of: a, rejections: no}\n", "one of fail, superseded, ignore"},
        {BUILDER "approvals: {of: a, role: ''}\n", "printable"},
        {BUILDER "approvals: {of: b, count: 2}\n", "never be met"},
        {BUILDER "approvals: {of: a, of: b}\n", "given twice"},
        {BUILDER "parent: replayed\n", "none, checked, met or any"},
        {BUILDER "parent: [none]\n", "none, checked, met or any"},
        {BUILDER "conformant: false\n", "leave it out"},
        {BUILDER "profile: any\n", "portable, or pinned"},
        {BUILDER "profile: [pinned]\n", "portable, or pinned"},
        {BUILDER "library: cublasLt\n", "a mapping"},
        {BUILDER "library: {}\n", "expected 1 to 256 values"},
        {BUILDER "library: {nmae: cublasLt}\n", "did you mean \"name\""},
        {BUILDER "library: {name: []}\n", "expected 1 to 256 values"},
        {BUILDER "library: {name: cublasLt, chip: []}\n", "library.chip: expected a chip's name"},
        {BUILDER "library: {name: [[cublasLt]]}\n", "library.name: expected a text"},
        {BUILDER "library: {version: 13.0}\n", "library.version: expected a number"},
        {BUILDER "library: {version: 0130002}\n", "library.version: expected a number"},
        {BUILDER "library: {sha256: 0123}\n", "library.sha256: expected 64"},
        {BUILDER "library: {sha256: [" ID("0") ", " ID("F") "]}\n", "library.sha256: expected 64"},
        {BUILDER "emulated: false\n", "expected none"},
        {BUILDER "emulatd: none\n", "did you mean \"emulated\""},
        {BUILDER "metrics: {at_least: 1}\n", "metrics[0].of: is missing"},
        {BUILDER "metrics: {of: auc}\n", "demands nothing"},
        {BUILDER "metrics: {of: auc, at_least: high}\n", "a number"},
        {BUILDER "metrics: {of: auc, at_least: \"0.5\"}\n", "a number"},
        {BUILDER "metrics: {of: auc, at_most: 1e999}\n", "a number"},
        {BUILDER "metrics: {of: auc, gap: -1}\n", "0 or more"},
        {BUILDER "metrics: {of: auc, part: test, at_least: 0}\n", "validation"},
        {BUILDER "metrics: {of: auc, at_leats: 0}\n", "did you mean \"at_least\""},
        {BUILDER "metrics: []\n", "demands nothing"},
        {BUILDER "recipe: {equals: 1}\n", "key: is missing"},
        {BUILDER "recipe: {key: seed}\n", "expected one of equals"},
        {BUILDER "recipe: {key: data.wehre, absent: true}\n", "did you mean \"data.where\"?"},
        {BUILDER "recipe: {key: epochs, at_most: 5}\n", "did you mean \"train.epochs\"?"},
        {BUILDER "recipe: {key: search.over.lr.hihg, absent: true}\n", "no recipe has a key \"search.over.lr.hihg\""},
        {BUILDER "recipe: {key: data.columns.age, absent: true}\n", "no recipe has a key"},
        {BUILDER "recipe: {key: qqqq, equals: 1}\n", "FORMAT.md 9.1"},
        {BUILDER "card: [owner, purpos]\n", "did you mean \"card.purpose\"?"},
        {BUILDER "recipe: {key: seed, equals: 1, at_most: 2}\n", "expected one of equals"},
        {BUILDER "recipe: {key: seed, one_of: 1}\n", "a list of 1 to 256"},
        {BUILDER "recipe: {key: seed, one_of: []}\n", "a list of 1 to 256"},
        {BUILDER "recipe: {key: seed, equals: {a: 1}}\n", "one line of text"},
        {BUILDER "columns: [age]\n", "a mapping"},
        {BUILDER "columns: {}\n", "not_used"},
        {BUILDER "columns: {not_used: age}\n", "a list of 1 to 256"},
        {BUILDER "columns: {not_used: [age, [a]], more: 1}\n", "unknown key"},
        {BUILDER "findings: {open: none}\n", "of: is missing"},
        {BUILDER "findings: {of: a, open: some}\n", "one of none, low"},
        {BUILDER "findings: {of: a, closed: 1}\n", "unknown key"},
        {BUILDER "card: owner\n", "a list of 1 to 256"},
        {BUILDER "valid: 2027-12-31\n", "expected true"},
        {BUILDER "kind: csv\n", "recipe, api or text"},
        {BUILDER "kind: {recipe: true}\n", "recipe, api or text"},
        {BUILDER "log: {of: a, key: b}\n", "unknown key"},
        {BUILDER "name: [x]\n", "one line"},
        {BUILDER "name: \"a\\nb\"\n", "one line"},
        {BUILDER "name: &x y\n", "anchors"},
        {BUILDER "---\npolicy: 1\n", "second YAML document"},
    };

    (void)state;
    assert_int_equal(read_text(BUILDER), RP_OK);
    assert_int_equal(
        read_text(
            BUILDER
            "name: x\nreplay: [{at_least: 1, by: a, isa: avx2, seed: s, independent: true, differences: ignore}, "
            "{mode: full, by: a, count: 2}]\napprovals: {of: a, role: x, rejections: superseded}\nlog: {of: b}\n"),
        RP_OK);
    for (size_t i = 0; i < sizeof flaw / sizeof *flaw; i++)
        if (read_text(flaw[i].text) != RP_EARG || !strstr(err.text, flaw[i].says))
            fail_msg("flaw %zu: expected \"%s\", found: %s", i, flaw[i].says, err.text);
}

static void policies_are_bounded(void **state)
{
    rp_buffer text = {0};

    (void)state;
    rp_buffer_text(&text, HEAD "builder: {of: a}\nlog:\n");
    for (int i = 0; i < 64; i++)
        rp_buffer_text(&text, "  - {of: a}\n");
    rp_buffer_u8(&text, 0);
    assert_int_equal(read_text((char *)text.data), RP_EARG); /* with the builder 65 */
    assert_non_null(strstr(err.text, "more than 64 clauses"));
    text.size -= 1 + strlen("  - {of: a}\n");
    rp_buffer_u8(&text, 0);
    assert_int_equal(read_text((char *)text.data), RP_OK);
    text.size = 0;
    rp_buffer_text(&text, BUILDER);
    while (text.size <= RP_POLICY_LIMIT)
        rp_buffer_text(&text, "#");
    rp_buffer_u8(&text, 0);
    assert_int_equal(read_text((char *)text.data), RP_EARG);
    rp_buffer_free(&text);
}

/* ---- checking: what was verified is made up here ---- */

enum { STATEMENTS = 12 };
static rp_verified_statement list[STATEMENTS], other[STATEMENTS];
static rp_verdict verdict[STATEMENTS];
static rp_approval approval[STATEMENTS];
static rp_verified_proof proof[2];
static rp_verification v;

static char key_name[8][RP_DIGEST_HEX];

static const char *key(char which)
{
    char *id = key_name[which - '0'];

    (void)snprintf(id, RP_DIGEST_HEX, "%s%c", ID(""), which);
    return id;
}

static void begin(void)
{
    memset(list, 0, sizeof list);
    memset(other, 0, sizeof other);
    memset(verdict, 0, sizeof verdict);
    memset(approval, 0, sizeof approval);
    memset(proof, 0, sizeof proof);
    v = (rp_verification){.statement = list, .other = other, .proof = proof};
}

static rp_verified_statement *state_by(char by, rp_statement_kind kind)
{
    rp_verified_statement *one = &list[v.statements++];

    one->kind = kind;
    strcpy(one->key_id, key(by));
    return one;
}

static rp_verdict *replay_by(char by, rp_replay_mode mode, uint64_t steps, uint64_t total)
{
    rp_verdict *made = &verdict[v.statements];
    rp_verified_statement *one = state_by(by, RP_STATEMENT_VERDICT);

    one->verdict = made;
    *made = (rp_verdict){
        .scope = {.mode = mode, .steps = steps, .steps_total = total, .segments = steps, .segments_total = total},
        .identical = true,
        .conforms = true,
        .level = "avx2"};
    strcpy(made->scope.seed, mode == RP_REPLAY_SAMPLE ? "s" : "");
    return made;
}

static void decide(char by, rp_decision decision, const char *role, int hour)
{
    rp_approval *made = &approval[v.statements];
    rp_verified_statement *one = state_by(by, RP_STATEMENT_APPROVAL);

    one->approval = made;
    made->decision = decision;
    strcpy(made->role, role);
    (void)snprintf(one->time, sizeof one->time, "2026-01-01T%02u:00:00Z", (unsigned)hour % 24);
}

/* Groups: b has key 0, r keys 1 and 2, c keys 3, 4 and 5, l key 6. */
static void expect_of(const char *builder, const char *clauses, bool met, const char *says)
{
    char text[4096];
    rp_policy *policy;
    rp_policy_result *result;
    const rp_policy_clause *last;

    (void)snprintf(text, sizeof text,
                   "policy: 1\ngroups:\n  b: [%s]\n  r: [%s, %s]\n  c: [%s, %s, %s]\n  l: [%s]\n"
                   "builder: {%s}\n%s",
                   key('0'), key('1'), key('2'), key('3'), key('4'), key('5'), key('6'), builder, clauses);
    assert_ok(rp_policy_from_text(&policy, text, strlen(text), "p", NULL, &err));
    assert_ok(rp_policy_check(policy, &v, &result, &err));
    last = &result->clause[result->clauses - 1];
    if (last->met != met || !strstr(last->text, says))
        fail_msg("%s: expected %smet, \"%s\"; found %smet, %s", clauses, met ? "" : "un", says, last->met ? "" : "un",
                 last->text);
    assert_int_equal(result->unmet == 0, met);
    rp_policy_result_free(result);
    rp_policy_free(policy);
}

static void expect(const char *clauses, bool met, const char *says)
{
    expect_of("of: b", clauses, met, says);
}

static void builders_are_held_to_the_policy(void **state)
{
    (void)state;
    begin();
    expect("", false, "no provenance");
    state_by('1', RP_STATEMENT_PROVENANCE);
    expect("", false, "is not of that group");
    begin();
    state_by('0', RP_STATEMENT_ENDORSEMENT);
    expect("", false, "no provenance");
    begin();
    other[0].kind = RP_STATEMENT_PROVENANCE;
    strcpy(other[0].key_id, key('0'));
    v.others = 1;
    expect("", false, "public key was not given");
    strcpy(other[0].key_id, key('7'));
    expect("", false, "is not trusted");
    begin();
    state_by('0', RP_STATEMENT_PROVENANCE);
    expect("", true, "signed");
}

static void replays_are_held_to_the_policy(void **state)
{
    static const char sampled[] = "replay: {at_least: 0.2, by: r}\n", full[] = "replay: {mode: full, by: r}\n";

    (void)state;
    begin();
    state_by('0', RP_STATEMENT_PROVENANCE);
    expect(full, false, "no verdict");
    replay_by('3', RP_REPLAY_FULL, 15, 15);
    expect(full, false, "no verdict");
    replay_by('1', RP_REPLAY_SAMPLE, 2, 15);
    expect(sampled, false, "smaller sample");
    verdict[2].scope.segments = 3; /* exactly 0.2, whatever number of steps that is */
    expect(sampled, true, "every bit the same");
    expect(full, false, "only a part");
    expect("replay: {at_least: 0.200001, by: r}\n", false, "smaller sample");
    expect("replay: {at_least: 0.2, by: r, seed: t}\n", false, "another seed");
    expect("replay: {at_least: 0.2, by: r, seed: s}\n", true, "seed s");
    verdict[2].scope.mode = RP_REPLAY_RANGE;
    verdict[2].scope.steps = 14;
    expect(sampled, false, "own choice");
    verdict[2].scope.mode = RP_REPLAY_FULL;
    verdict[2].scope.steps = 15;
    expect(sampled, true, "");
    expect(full, true, "");
    expect("replay: {mode: full, by: r, isa: [ref, neon]}\n", false, "other kernels");
    expect("replay: {mode: full, by: r, isa: avx2}\n", true, "");
    verdict[2].conforms = false;
    expect(full, false, "do not conform");
    verdict[2].conforms = true; /* and libraries that were updated since: not healthy, and no fault of the bits */
    replay_by('1', RP_REPLAY_FULL, 15, 15); /* the same key again */
    expect("replay: {mode: full, by: r, count: 2}\n", false, "by 2 of r");
    replay_by('2', RP_REPLAY_FULL, 15, 15);
    expect("replay: {mode: full, by: r, count: 2}\n", true, "");
    verdict[4].identical = false;
    expect(full, false, "bits differ");
    expect("replay: {mode: full, by: r, differences: ignore}\n", true, "bits differ");
    expect("replay: {mode: full, by: r, count: 2, differences: ignore}\n", false, "bits differ");
}

static void a_verdict_by_who_made_the_run_may_not_count(void **state)
{
    (void)state;
    begin();
    state_by('0', RP_STATEMENT_PROVENANCE);
    replay_by('0', RP_REPLAY_FULL, 15, 15);
    decide('0', RP_APPROVE, "x", 1);
    expect("replay: {mode: full, by: b}\n", true, "");
    expect("replay: {mode: full, by: b, independent: true}\n", false, "made the run itself");
    expect("approvals: {of: b}\n", true, "");
    expect("approvals: {of: b, independent: true}\n", false, "made the run itself");
    other[0].kind = RP_STATEMENT_VERDICT;
    strcpy(other[0].key_id, key('1'));
    v.others = 1;
    expect("replay: {mode: full, by: r}\n", false, "public key was not given");
}

/* Leaving the provenance out, or putting another's in its place, makes nobody independent. */
static void who_may_have_made_the_run_is_not_independent(void **state)
{
    static const char builder[] = "of: b, endorsement: true",
                      replay[] = "replay: {mode: full, by: b, independent: true}\n";

    (void)state;
    begin();
    state_by('0', RP_STATEMENT_ENDORSEMENT);
    replay_by('0', RP_REPLAY_FULL, 15, 15);
    decide('0', RP_APPROVE, "x", 1);
    expect_of(builder, "replay: {mode: full, by: b}\n", true, "");
    expect_of(builder, replay, false, "no provenance of it that counts");
    expect_of(builder, "approvals: {of: b, independent: true}\n", false, "no provenance of it that counts");
    other[0].kind = RP_STATEMENT_PROVENANCE;
    strcpy(other[0].key_id, key('7'));
    v.others = 1;
    expect_of(builder, replay, false, "no provenance of it that counts");
    /* who made it may have endorsed it with one key and replayed it with another */
    replay_by('1', RP_REPLAY_FULL, 15, 15);
    expect_of(builder, "replay: {mode: full, by: r, independent: true}\n", false, "no provenance of it that counts");
    state_by('2', RP_STATEMENT_PROVENANCE);
    expect_of(builder, "replay: {mode: full, by: r, independent: true}\n", true, "every bit the same");
}

static rp_verified_statement *another(char by, rp_statement_kind kind)
{
    rp_verified_statement *one = &other[v.others++];

    one->kind = kind;
    strcpy(one->key_id, key(by));
    strcpy(one->time, "2026-01-01T01:00:00Z");
    return one;
}

/* Else a clause would be met by not giving a key. */
static void who_says_no_need_not_be_known(void **state)
{
    static rp_approval no = {.role = "risk", .decision = RP_REJECT};
    static rp_verdict differs = {.scope = {.mode = RP_REPLAY_FULL}};

    (void)state;
    begin();
    state_by('0', RP_STATEMENT_PROVENANCE);
    decide('3', RP_APPROVE, "risk", 2);
    replay_by('1', RP_REPLAY_FULL, 15, 15);
    expect("approvals: {of: c}\n", true, "");
    expect("replay: {mode: full, by: r}\n", true, "");
    another('4', RP_STATEMENT_APPROVAL)->approval = &no;
    another('2', RP_STATEMENT_VERDICT)->verdict = &differs;
    expect("approvals: {of: c}\n", false, "rejected");
    expect("approvals: {of: c}\n", false, "public key was not given");
    expect("approvals: {of: c, rejections: superseded}\n", false, "rejected");
    expect("approvals: {of: c, rejections: ignore}\n", true, "");
    expect("replay: {mode: full, by: r}\n", false, "found that bits differ");
    expect("replay: {mode: full, by: r, differences: ignore}\n", true, "");
    expect("replay: {mode: full, by: b}\n", false, "no verdict");
    decide('4', RP_APPROVE, "risk", 3); /* the same key took it back */
    expect("approvals: {of: c}\n", false, "rejected");
    expect("approvals: {of: c, rejections: superseded}\n", true, "");
    strcpy(other[0].key_id, key('7')); /* of no group */
    expect("approvals: {of: c}\n", true, "");
}

/* The verifier was shown that the two keys of a hand-over are one person's. */
static void a_key_and_its_successor_are_one_person(void **state)
{
    static rp_verified_certificate line[2];

    (void)state;
    memset(line, 0, sizeof line);
    begin();
    state_by('0', RP_STATEMENT_PROVENANCE);
    decide('3', RP_APPROVE, "risk", 1);
    decide('4', RP_APPROVE, "risk", 1);
    replay_by('1', RP_REPLAY_FULL, 15, 15);
    expect("approvals: {of: c, count: 2}\n", true, "");
    expect("replay: {mode: full, by: r, independent: true}\n", true, "");
    for (size_t i = 0; i < 2; i++) {
        line[i].rotation = line[i].accepted = true;
        strcpy(line[i].key_id, key(i ? '1' : '4'));
        strcpy(line[i].predecessor, key(i ? '0' : '3'));
    }
    v.certificate = line;
    v.certificates = 2;
    expect("approvals: {of: c, count: 2}\n", false, "");
    expect("replay: {mode: full, by: r, independent: true}\n", false, "made the run itself");
    strcpy(line[0].predecessor, key('4')); /* nonsense: itself */
    expect("approvals: {of: c, count: 2}\n", true, "");
}

static void decisions_of_a_time_to_come_supersede_nothing(void **state)
{
    (void)state;
    begin();
    state_by('0', RP_STATEMENT_PROVENANCE);
    decide('3', RP_APPROVE, "risk", 1);
    strcpy(list[1].time, "2999-01-01T00:00:00Z");
    expect("approvals: {of: c}\n", false, "a time that has not come");
    decide('3', RP_REJECT, "risk", 2);
    expect("approvals: {of: c, rejections: superseded}\n", false, "rejected");
    decide('3', RP_APPROVE, "risk", 3);
    expect("approvals: {of: c, rejections: superseded}\n", true, "");
}

static rp_json *parsed(const char *text)
{
    rp_json *json;

    assert_ok(rp_json_parse(&json, text, strlen(text), false, "facts", &err));
    return json;
}

/* By keys they are drawn; a program of the recipe can hold another run's. */
static void first_states_are_seen_in_the_recipe(const char *none)
{
    rp_run_facts facts = {0};

    expect(none, false, "there is no recipe that can be read"); /* nobody has looked */
    v.facts = &facts;
    expect(none, false, "there is no recipe that can be read");
    facts.recipe = parsed("{\"model\":{\"hidden\":[8]}}");
    strcpy(v.kind, "recipe");
    expect(none, true, "it names no parent");
    expect("kind: recipe\n", true, "it is of kind recipe");
    rp_json_free(facts.recipe);
    facts.recipe = parsed("{\"model\":{\"initial\":{},\"program\":{}}}");
    expect(none, false, "model.initial of its recipe");
    expect("kind: recipe\n", true, "its model is programs");
    rp_json_free(facts.recipe);
    v.facts = NULL;
}

/* Weights that started from a run which nobody has replayed say nothing of the rows that this one saw. */
static void parents_are_replayed_too(void **state)
{
    static const char replay[] = "replay: [{at_least: 0.2, by: r}, {mode: full, by: c}]\n",
                      any[] = "replay: {mode: full, by: c}\nparent: any\n",
                      none[] = "replay: {mode: full, by: c}\nparent: none\n";

    (void)state;
    begin();
    state_by('0', RP_STATEMENT_PROVENANCE);
    replay_by('1', RP_REPLAY_FULL, 15, 15);
    replay_by('3', RP_REPLAY_FULL, 15, 15);
    expect(replay, true, "every bit the same"); /* the last clause told is the one on replays */
    first_states_are_seen_in_the_recipe(none);
    strcpy(v.kind, "api");
    expect(none, false, "first states of a C API run are taken as given");
    strcpy(v.parent, ID("9"));
    expect(none, false, "it started from archive " ID("9"));
    expect(any, true, "it started from archive");
    expect("", false, "reprise replay ARCHIVE --parent PARENT --attest");
    expect(replay, false, "did not replay it");
    verdict[2].parent_checked = true;
    expect(replay, true, "replayed it too");
    /* the parent's own word, by this policy and of that archive */
    expect("replay: {mode: full, by: c}\nparent: met\n", false, "that archive was not given");
    v.parent_given = true;
    expect("replay: {mode: full, by: c}\nparent: met\n", false, "does not meet this policy");
    v.parent_met = true;
    expect("replay: {mode: full, by: c}\nparent: met\n", true, "that archive meets this policy");
    verdict[2].parent_checked = false;
    expect("replay: {mode: full, by: c}\nparent: met\n", false, "did not replay it");
    verdict[2].parent_checked = true;
    v.parent_given = v.parent_met = false;
    verdict[2].conforms = false; /* its verdict does not count for the clause on replays */
    expect("replay: {mode: full, by: c}\nparent: checked\n", false, "it started from");
    verdict[2].conforms = true;
    expect("replay: {mode: full, by: r}\n", false, "did not replay it");
    list[2].kind = RP_STATEMENT_OTHER; /* nor one by who is in no such clause */
    list[2].verdict = NULL;
    state_by('5', RP_STATEMENT_VERDICT)->verdict = &verdict[2];
    expect("replay: {mode: full, by: r}\n", false, "did not replay it");
}

static void a_provenance_says_whether_its_kernels_conform(void **state)
{
    (void)state;
    begin();
    expect("conformant: true\n", false, "no provenance that counts");
    state_by('0', RP_STATEMENT_PROVENANCE);
    expect("conformant: true\n", false, "does not say so");
    list[0].conforms = true;
    expect("conformant: true\n", true, "says so");
}

static void pinned_runs_are_taken_where_the_policy_says_so(void **state)
{
    (void)state;
    begin();
    state_by('0', RP_STATEMENT_PROVENANCE);
    expect("", true, "signed"); /* nobody asked, and there is nothing to tell */
    expect("profile: portable\n", true, "it is portable");
    expect("profile: pinned\n", true, "it is portable");
    strcpy(v.profile, "pinned");
    expect("", false, "it is pinned");
    expect("profile: portable\n", false, "it is pinned");
    expect("profile: pinned\n", true, "it is pinned");
    strcpy(v.pinned.run, "stand-in 1 on a chip"); /* which is for people, and for the clause library */
    expect("profile: pinned\n", true, "it is pinned to stand-in 1 on a chip");
    v.pinned.run[0] = '\0';
    strcpy(v.profile, "portable");
}

/* One epoch at a step of nothing behind a pinned run is a portable run of a pinned one's weights. */
static void a_portable_run_of_a_pinned_line_is_no_portable_one(void **state)
{
    (void)state;
    begin();
    state_by('0', RP_STATEMENT_PROVENANCE);
    memset(v.parent, '9', RP_DIGEST_HEX - 1);
    expect("profile: portable\nparent: any\n", true, "it is portable; it started from archive 9999");
    expect("profile: portable\nparent: any\n", true, "whose profile is unknown from this archive alone");
    v.parent_given = true;
    expect("profile: portable\nparent: any\n", true, "which is portable");
    strcpy(v.pinned.line, "stand-in 1 on a chip");
    memset(v.pinned.line_id, '9', RP_DIGEST_HEX - 1);
    expect("profile: portable\nparent: any\n", false, "99, which is pinned to stand-in 1 on a chip");
    expect("parent: any\n", false, "which is pinned to stand-in 1 on a chip");
    expect("profile: pinned\nparent: any\n", true, "which is pinned to stand-in 1 on a chip");
    memset(v.pinned.line_id, '8', RP_DIGEST_HEX - 1);
    expect("parent: any\n", false, "in whose line archive 8888");
    v.parent_given = false;
    memset(&v.pinned, 0, sizeof v.pinned);
    memset(v.parent, 0, sizeof v.parent);
}

#define IDENTITY(driver, library, version, digit) \
    "{\"chip\":{\"name\":\"A chip\"},\"driver\":{\"name\":\"" driver "\"},\"library\":{\"name\":\"" library \
    "\",\"sha256\":\"" ID(digit) "\",\"version\":" version "}}"

static void the_library_of_a_pinned_run_is_one_of_those_listed(void **state)
{
    rp_run_facts facts = {0};

    (void)state;
    begin();
    state_by('0', RP_STATEMENT_PROVENANCE);
    expect("library: {name: cublasLt}\n", false, "was not read");
    v.facts = &facts;
    expect("library: {name: cublasLt}\n", true, "it is portable: no library computed its products");
    facts.pinned = parsed(IDENTITY("cuda", "cublasLt", "130002", "7"));
    expect("library: {name: cublasLt}\n", true, "it is pinned to cublasLt 130002, SHA-256 " ID("7") ", on A chip");
    expect("library: {name: [stand-in, cublasLt], version: [130001, 130002], sha256: [" ID("6") ", " ID(
               "7") "], chip: A chip}\n",
           true, "the library stand-in or cublasLt version 130001 or 130002 SHA-256 " ID("6") " or " ID("7"));
    expect("library: {name: stand-in}\n", false, "on A chip: another name");
    expect("library: {name: cublasLt, version: 13000}\n", false, "another version");
    expect("library: {version: 130002, sha256: " ID("6") "}\n", false, "another sha256");
    expect("library: {sha256: " ID("7") ", chip: [B chip, C chip]}\n", false, "another chip");
    facts.line = facts.pinned; /* and what a portable run started from */
    facts.pinned = NULL;
    expect("library: {sha256: " ID("7") "}\n", true, "what it started from is pinned to cublasLt 130002");
    expect("library: {sha256: " ID("6") "}\n", false, "another sha256");
    rp_json_free(facts.line);
    v.facts = NULL;
}

static void nothing_emulated_is_taken_where_the_policy_says_so(void **state)
{
    rp_run_facts facts = {0};

    (void)state;
    begin();
    v.facts = &facts;
    expect("emulated: none\n", false, "no provenance that counts says what computed it");
    state_by('0', RP_STATEMENT_PROVENANCE);
    replay_by('1', RP_REPLAY_FULL, 15, 15);
    expect("emulated: none\n", true, "none of them says one");
    strcpy(verdict[1].device, "emulated-sm80 Emulated driver 13.0");
    expect("emulated: none\n", false, "replayed it on one");
    strcpy(verdict[1].device, "cuda-sm90 A chip driver 13.0");
    strcpy(list[0].device, "emulated-sm80 Emulated driver 13.0");
    expect("emulated: none\n", false, "made it on an emulated device");
    list[0].device[0] = '\0';
    facts.pinned = parsed(IDENTITY("cuda", "stand-in", "1", "7"));
    expect("emulated: none\n", false, "it is pinned to the driver cuda and the library stand-in");
    facts.line = parsed(IDENTITY("emulated", "cublasLt", "1", "7"));
    rp_json_free(facts.pinned);
    facts.pinned = NULL;
    expect("emulated: none\n", false, "what it started from is pinned to the driver emulated");
    rp_json_free(facts.line);
    facts.line = parsed(IDENTITY("cuda", "cublasLt", "1", "7"));
    expect("emulated: none\n", true, "none of them says one");
    rp_json_free(facts.line);
    v.facts = NULL;
}

/* What a run says of its model, by the names it has there. */
static void models_are_held_to_the_policy(void **state)
{
    rp_run_facts facts = {
        parsed("{\"data\":{\"denominator\":\"n\",\"train_on_all\":false,\"weight\":\"w\","
               "\"where\":[{\"column\":\"kept\"}]},"
               "\"model\":{\"hidden\":[8,4]},\"seed\":7,\"train\":{\"epochs\":20,"
               "\"optimizer\":{\"kind\":\"adamw\",\"lr\":\"0.01\"}},\"name\":null}"),
        parsed("{\"columns\":[{\"kind\":\"ignore\",\"name\":\"gender\"},{\"kind\":\"numeric\",\"name\":\"age\"},"
               "{\"kind\":\"target\",\"name\":\"bad\"}]}"),
        parsed(
            "{\"training\":{\"accuracy\":\"0.9\",\"rows\":80},\"validation\":{\"accuracy\":\"0.7\",\"figures\":{\"ks\":"
            "{\"value\":\"0.25\"}},\"loss\":\"nan\",\"rows\":20}}"),
        NULL,
        "",
        "",
        NULL,
        NULL};

    (void)state;
    begin();
    state_by('0', RP_STATEMENT_PROVENANCE);
    expect("metrics: {of: accuracy, at_least: 0.5}\n", false, "validation has no such figure"); /* nobody has looked */
    expect("recipe: {key: parent, absent: true}\n", false, "no recipe that can be read");
    expect("columns: {not_used: [gender]}\n", false, "no schema that can be read");
    v.facts = &facts;
    expect("metrics: {of: accuracy, at_least: 0.7}\n", true, "accuracy of validation at least 0.7: validation has 0.7");
    expect("metrics: {of: accuracy, at_least: 0.7000001}\n", false, "validation has 0.7");
    expect("metrics: {of: accuracy, part: training, at_least: 0.8, at_most: 0.95}\n", true, "training has 0.9");
    expect("metrics: {of: accuracy, part: training, at_most: 0.8}\n", false, "training has 0.9");
    expect("metrics: {of: accuracy, gap: 0.21}\n", true, "no further apart than 0.21: training has 0.9, validation");
    expect("metrics: {of: accuracy, gap: 0.1}\n", false, "no further apart than 0.1");
    expect("metrics: {of: accuracy, at_least: 0.8, gap: 1}\n", false, "no further apart than 1");
    expect("metrics: {of: rows, at_least: 20}\n", true, "validation has 20");
    expect("metrics: {of: rows, at_least: 21}\n", false, "validation has 20");
    expect("metrics: {of: figures.ks.value, at_least: 0.2}\n", true, "validation has 0.25");
    expect("metrics: {of: figures.ks, at_least: 0}\n", false, "no such figure");
    expect("metrics: {of: auc, gap: 1}\n", false, "training has no such figure");
    expect("metrics: {of: loss, at_most: 1}\n", false, "validation has nan");
    expect("metrics: {of: loss, at_least: -1}\n", false, "validation has nan");
    expect("recipe: {key: train.epochs, at_least: 1, at_most: 20}\n", true, "it is 20");
    expect("recipe: {key: train.epochs, at_most: 19}\n", false, "it is 20");
    expect("recipe: {key: train.optimizer.lr, equals: 0.010}\n", true, "it is 0.01");
    expect("recipe: {key: train.optimizer.kind, one_of: [sgd, adam]}\n", false, "it is adamw");
    expect("recipe: {key: train.optimizer.kind, one_of: [sgd, adamw]}\n", true, "one of sgd, adamw");
    expect("recipe: {key: train.optimizer, equals: adamw}\n", false, "it is a section");
    expect("recipe: {key: model.hidden, equals: [8, 4]}\n", true, "is [8, 4]");
    expect("recipe: {key: model.hidden, equals: [4, 8]}\n", false, "it is [8, 4]");
    expect("recipe: {key: data.train_on_all, equals: true}\n", false, "it is false");
    expect("recipe: {key: name, equals: null}\n", true, "it is null");
    expect("recipe: {key: data.split, absent: true}\n", true, "it is not there");
    expect("recipe: {key: seed, absent: true}\n", false, "it is 7");
    expect("recipe: {key: data.split, equals: x}\n", false, "it is not there");
    expect("columns: {not_used: [gender, bad]}\n", true, "it takes in age");
    expect("columns: {not_used: [gender, age]}\n", false, "it takes in age");
    expect("columns: {not_used: [gendr, gender, adress]}\n", true,
           "takes in age; its table has no column gendr, adress");
    expect("columns: {not_used: [gender, kept]}\n", false, "rows are chosen by kept");
    expect("recipe: {key: data.where, absent: true}\n", false, "it is [{\"column\":\"kept\"}]");
    expect("recipe: {key: data.where, equals: '[]'}\n", false, "it is [{\"column\":\"kept\"}]");
    expect("columns: {not_used: [w]}\n", false, "rows are weighed by w");
    expect("columns: {not_used: [n]}\n", false, "rows are weighed by n");
    v.facts = NULL;
    rp_json_free(facts.recipe);
    rp_json_free(facts.schema);
    rp_json_free(facts.metrics);
}

/* Without a header no name is a column's; with one a recipe may name columns by number all the same. */
static void columns_without_names_are_their_numbers(void **state)
{
    rp_run_facts facts = {
        parsed("{\"data\":{\"weight\":1,\"group\":0,\"where\":[{\"column\":2},{\"column\":7}]}}"),
        parsed("{\"columns\":[{\"kind\":\"ignore\",\"name\":null},{\"kind\":\"ignore\",\"name\":null},"
               "{\"kind\":\"ignore\",\"name\":null},{\"kind\":\"numeric\",\"name\":null},"
               "{\"kind\":\"target\",\"name\":null}]}"),
        NULL,
        NULL,
        "",
        "",
        NULL,
        NULL};

    (void)state;
    begin();
    state_by('0', RP_STATEMENT_PROVENANCE);
    v.facts = &facts;
    expect("columns: {not_used: [gender]}\n", false,
           "it takes in 3; its table has no header, so that nobody can tell "
           "whether one is \"gender\"");
    expect("columns: {not_used: ['3']}\n", false, "it takes in 3");
    expect("columns: {not_used: ['1']}\n", false, "rows are weighed by 1");
    expect("columns: {not_used: ['2']}\n", false, "rows are chosen by 2");
    expect("columns: {not_used: ['7']}\n", false, "rows are chosen by 7");
    expect("columns: {not_used: ['03']}\n", false, "nobody can tell whether one is \"03\": give their numbers");
    expect("columns: {not_used: ['00']}\n", false, "nobody can tell whether one is");
    expect("columns: {not_used: ['0', '4']}\n", true, "it takes in 3; which rows train goes by 0 (data.group)");
    rp_json_free(facts.recipe);
    rp_json_free(facts.schema);
    facts.recipe = parsed("{\"data\":{\"weight\":1,\"time\":\"born\",\"where\":[{\"column\":\"born.month\"}]}}");
    facts.schema = parsed("{\"columns\":[{\"kind\":\"date\",\"name\":\"born\"},{\"kind\":\"ignore\",\"name\":\"w\"},"
                          "{\"kind\":\"numeric\",\"name\":\"a\"},{\"kind\":\"numeric\",\"name\":\"a.b\"}]}");
    expect("columns: {not_used: [w]}\n", false, "rows are weighed by w");
    expect("columns: {not_used: [born]}\n", false, "rows are chosen by born; which rows train goes by born");
    expect("columns: {not_used: [a.c]}\n", true, "it takes in born, a, a.b");
    v.facts = NULL;
    rp_json_free(facts.recipe);
    rp_json_free(facts.schema);
}

/* A schema is as long as whoever wrote the archive likes: each word looks for its date once. */
static void columns_without_end_are_looked_at_once(void **state)
{
    enum { COLUMNS = 40000, SECONDS = 4 };
    rp_run_facts facts = {.recipe = NULL};
    rp_buffer text = {0};
    clock_t begun;

    (void)state;
    rp_buffer_text(&text, "{\"columns\":[");
    for (int i = 0; i < COLUMNS; i++)
        rp_buffer_printf(&text, "%s{\"kind\":\"numeric\",\"name\":\"a.%d\"}", i ? "," : "", i);
    rp_buffer_text(&text, "]}");
    assert_ok(rp_json_parse(&facts.schema, (const char *)text.data, text.size, false, "facts", &err));
    begin();
    state_by('0', RP_STATEMENT_PROVENANCE);
    v.facts = &facts;
    begun = clock();
    expect("columns: {not_used: [a]}\n", true, "it takes in a.0, a.1");
    assert_true((clock() - begun) / CLOCKS_PER_SEC < SECONDS);
    v.facts = NULL;
    rp_json_free(facts.schema);
    rp_buffer_free(&text);
}

/* A number that has no value left has no KS, wherever it stands among the columns: that is no small one. */
static void drift_without_a_figure_is_not_small(void **state)
{
    static rp_stated_figures figures = {.rows = 100, .number = 1};
    static const struct {
        const char *columns, *scores, *clause, *says;
        bool met;
    } cases[] = {
        {"{\"ks\":\"0.1\",\"name\":\"x\",\"psi\":\"0\"},{\"name\":\"c\",\"psi\":\"0\"}", "\"0.05\"", "ks: 0.2",
         "KS 0.1 of x, period 1", true},
        {"{\"ks\":\"0.1\",\"name\":\"x\",\"psi\":\"0\"}", "\"0.15\"", "ks: 0.2", "KS 0.15 of a score, period 1", true},
        {"{\"ks\":\"0.1\",\"name\":\"x\",\"psi\":\"0\"}", "\"0.3\"", "ks: 0.2", "KS 0.3 of a score, period 1", false},
        {"{\"ks\":null,\"name\":\"gone\",\"psi\":\"3\"},{\"ks\":\"1\",\"name\":\"x\",\"psi\":\"3\"}", "\"0.05\"",
         "ks: 0.2", "KS 1 of x, no KS of gone, period 1", false},
        {"{\"ks\":\"0.1\",\"name\":\"x\",\"psi\":\"0\"},{\"ks\":null,\"name\":\"gone\",\"psi\":\"3\"}", "\"0.05\"",
         "ks: 0.2", "KS 0.1 of x, no KS of gone, period 1", false},
        {"{\"ks\":null,\"name\":\"gone\",\"psi\":\"3\"}", "\"0.05\"", "ks: 0.2",
         "KS 0.05 of a score, no KS of gone, period 1", false},
        {"{\"ks\":\"0.1\",\"name\":\"x\",\"psi\":\"0\"}", "null", "ks: 0.2", "KS 0.1 of x, no KS of a score, period 1",
         false},
        {"{\"ks\":null,\"name\":\"gone\",\"psi\":\"0\"}", "null", "ks: 0.2",
         "no KS of gone: the training rows were not", false},
        {"{\"name\":\"c\",\"psi\":\"0\"}", "\"0.05\"", "ks: 0.2", "KS 0.05 of a score, period 1", true},
        {"{\"ks\":null,\"name\":\"gone\",\"psi\":null},{\"ks\":\"0\",\"name\":\"x\",\"psi\":\"0\"}", "\"0\"", "csi: 9",
         "no CSI of gone, KS 0 of x, no KS of gone, period 1", false},
    };
    char text[400];

    (void)state;
    begin();
    state_by('0', RP_STATEMENT_PROVENANCE);
    state_by('1', RP_STATEMENT_MONITORING)->figures = &figures;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        (void)snprintf(text, sizeof text, "{\"columns\":[%s],\"scores\":[{\"ks\":%s,\"psi\":\"0\"}]}", cases[i].columns,
                       cases[i].scores);
        figures.predicate = parsed(text);
        (void)snprintf(text, sizeof text, "drift: {by: r, %s, seen: 1}\n", cases[i].clause);
        expect(text, cases[i].met, cases[i].says);
        rp_json_free(figures.predicate);
    }
}

/* What would count them is another command for each kind of statement. */
static void rows_that_nobody_counted_are_told_by_what_counts_them(void **state)
{
    static rp_stated_figures figures = {.rows = 100, .number = 1, .seen = -1, .predecessor = ID("9")};
    rp_run_facts facts = {.recipe = parsed("{\"predecessor\":\"" ID("9") "\"}")};

    (void)state;
    begin();
    state_by('0', RP_STATEMENT_PROVENANCE);
    figures.predicate = parsed("{}");
    state_by('1', RP_STATEMENT_MONITORING)->figures = &figures;
    v.facts = &facts;
    expect("drift: {by: r, psi: 1}\n", false, "reprise monitor --withheld DIR counts them");
    list[1].kind = RP_STATEMENT_RETRAINING;
    expect("fall: {by: r, auc: 1}\n", false, "counts them with --withheld, --parent-withheld and --parent");
    list[1].kind = RP_STATEMENT_VALIDATION;
    expect("validation: {by: r}\n", false, "does not say how many of its rows were trained on");
    v.facts = NULL;
    rp_json_free(facts.recipe);
    rp_json_free(figures.predicate);
}

/* A figure out of bounds refutes, although a count is not known that would take the statement out of scope; one that
 * meets the clause beside it does not help. What is not said refutes nothing, and neither does what is out of scope. */
static void who_says_no_need_not_have_counted(void **state)
{
    static rp_stated_figures bad = {.rows = 100, .number = 1, .predecessor = ID("9")},
                             good = {.rows = 100, .number = 1, .predecessor = ID("9")};
    static const char cut[] =
        "{\"options\":{\"threshold\":null},\"figures\":{\"auc\":\"%s\",\"child\":{\"discrimination\":{\"auc\":\"%s\"}},"
        "\"parent\":{\"discrimination\":{\"auc\":\"0.8\"}}},\"scores\":[{\"psi\":\"%s\"}],"
        "\"slices\":[{\"by\":\"g\",\"parts\":[{\"figures\":{\"auc\":\"%s\",\"rows\":50},"
        "\"value\":\"a\"}]}],\"groups\":[{\"by\":\"h\",\"favourable\":\"no\",\"summary\":"
        "{\"difference\":\"0\",\"ratio\":\"%s\"}}]}";
    static const struct {
        rp_statement_kind kind;
        const char *clause, *says;
    } cases[] = {
        {RP_STATEMENT_VALIDATION, "validation: {by: r, of: auc, at_least: 0.7}\n",
         "not looked at: what chose that one is not counted; it does not say"},
        {RP_STATEMENT_VALIDATION, "slices: {column: g, of: auc, at_least: 0.7, by: r}\n", "a with 0.2; it does not"},
        {RP_STATEMENT_VALIDATION, "selection: {column: h, favourable: 'no', ratio: 0.8, by: r}\n", "ratio 0.2, "},
        {RP_STATEMENT_MONITORING, "drift: {by: r, psi: 0.7}\n", "PSI 0.9, period 1; it does not say"},
        {RP_STATEMENT_RETRAINING, "fall: {by: r, auc: 0.1}\n", "auc 0.2 after 0.8; it does not say"},
    };
    static const struct {
        int64_t seen, other, left_out;
        bool unknown;
    } counts[] = {{-1, -1, 0, true}, {0, -1, 0, true}, {0, 0, -1, true}, {90, -1, 0, false}, {-1, -1, 90, false}};
    rp_run_facts facts = {.recipe = parsed("{\"predecessor\":\"" ID("9") "\"}")};
    char text[900];

    (void)state;
    (void)snprintf(text, sizeof text, cut, "0.9", "0.9", "0.1", "0.9", "0.9");
    good.predicate = parsed(text);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
            const bool falls = cases[i].kind == RP_STATEMENT_RETRAINING;

            if (falls && k != 0 && k != 3) /* rows that chose, and those that are left out, are none of its matter */
                continue;
            begin();
            v.facts = &facts;
            state_by('0', RP_STATEMENT_PROVENANCE);
            state_by('1', cases[i].kind)->figures = &bad;
            state_by('2', cases[i].kind)->figures = &good;
            bad.seen = counts[k].seen;
            bad.other = counts[k].other;
            bad.left_out = counts[k].left_out;
            (void)snprintf(text, sizeof text, cut, "0.2", "0.2", "0.9", "0.2", "0.2");
            bad.predicate = parsed(text);
            expect(cases[i].clause, !counts[k].unknown, counts[k].unknown ? cases[i].says : "");
            rp_json_free(bad.predicate);
            bad.predicate = parsed("{}");
            expect(cases[i].clause, true, "");
            rp_json_free(bad.predicate);
        }
    (void)snprintf(text, sizeof text, cut, "0.2", "0.2", "0.9", "0.2", "0.2");
    bad.predicate = parsed(text);
    bad.seen = 0;
    expect("fall: {by: r, auc: 0.1, same_recipe: true}\n", false, "auc 0.2 after 0.8; it does not say that its recipe");
    bad.validation = true; /* of a table that the archive does not hold */
    expect("fall: {by: r, auc: 0.1}\n", false, "auc 0.2 after 0.8; it judged rows of the archive, which does not hold");
    bad.rows = 1;
    expect("fall: {by: r, auc: 0.1, rows: 100}\n", true, "judged too few rows");
    rp_json_free(bad.predicate);
    rp_json_free(good.predicate);
    rp_json_free(facts.recipe);
    v.facts = NULL;
}

static void trials_are_held_to_the_policy(void **state)
{
    static const char variants[] = "\"chosen\":1,\"folds\":2,\"number\":8,\"variants\":["
                                   "{\"kind\":\"search\",\"mean\":{\"auc\":\"0.6\"}},"
                                   "{\"kind\":\"search\",\"mean\":{\"auc\":\"0.8\"}},{\"kind\":\"linear\"},"
                                   "{\"kind\":\"seed\"}]}";
    char text[400];
    rp_run_facts none = {NULL, NULL, parsed("{\"validation\":{\"auc\":\"0.9\"}}"), NULL, "", "", NULL, NULL},
                 some = {0};

    (void)snprintf(text, sizeof text, "{\"trials\":{%s}", variants);
    some.metrics = parsed(text);
    (void)snprintf(text, sizeof text, "{%s", variants);
    some.trials = parsed(text);
    (void)state;
    begin();
    state_by('0', RP_STATEMENT_PROVENANCE);
    expect("trials: recorded\n", false, "no metrics");
    v.facts = &none;
    expect("trials: recorded\n", false, "it records 0 trials");
    expect("trials: {at_most: 8}\n", true, "it records 0 trials");
    v.facts = &some;
    expect("trials: recorded\n", true, "it records 8 trials");
    expect("trials: {at_most: 8}\n", true, "at most 8");
    expect("trials: {at_most: 7}\n", false, "it records 8 trials");
    expect("trials: {seeds: 1, linear: true}\n", true, "1 of them other seeds, one a linear challenger");
    expect("trials: {seeds: 2}\n", false, "1 of them other seeds");
    for (int i = 0; i < 3; i++) { /* gone, another number, one trial less */
        rp_json *whole = some.trials;

        (void)snprintf(text, sizeof text, "{%s", variants);
        if (i == 1)
            memcpy(strstr(text, "\"number\":8") + 9, "9", 1);
        if (i == 2)
            memcpy(strstr(text, ",{\"kind\":\"seed\"}]}"), "]}", 3);
        some.trials = i ? parsed(text) : NULL;
        expect("trials: recorded\n", false, "do not have the same trials");
        rp_json_free(some.trials);
        some.trials = whole;
    }
    expect("metrics: {of: auc, part: folds, at_least: 0.7}\n", true, "folds has 0.8");
    expect("metrics: {of: auc, part: folds, at_least: 0.81}\n", false, "folds has 0.8");
    v.facts = NULL;
    rp_json_free(some.trials);
    rp_json_free(none.metrics);
    rp_json_free(some.metrics);
}

static void find_by(char by, const char *id, rp_severity severity, bool closed, int hour)
{
    static rp_stated_finding finding[STATEMENTS];
    rp_stated_finding *made = &finding[v.statements];
    rp_verified_statement *one = state_by(by, RP_STATEMENT_FINDING);

    one->finding = made;
    *made = (rp_stated_finding){.severity = severity, .closed = closed, .owner = "credit"};
    strcpy(made->id, id);
    (void)snprintf(one->time, sizeof one->time, "2026-01-01T%02u:00:00Z", (unsigned)hour % 24);
}

static void findings_are_held_to_the_policy(void **state)
{
    static const char none[] = "findings: {of: r}\n", medium[] = "findings: {of: r, open: medium}\n";
    rp_stated_finding lost = {.severity = RP_SEVERITY_LOW};

    (void)state;
    begin();
    state_by('0', RP_STATEMENT_PROVENANCE);
    expect(none, true, "none is open here");
    find_by('3', "X", RP_SEVERITY_CRITICAL, false, 1); /* of no such group */
    expect(none, true, "none is open here");
    find_by('1', "A", RP_SEVERITY_MEDIUM, false, 1);
    expect(none, false, "medium A (credit) is open");
    expect(medium, true, "medium A (credit) is open");
    expect("findings: {of: r, open: low}\n", false, "medium A");
    find_by('2', "A", RP_SEVERITY_LOW, true, 2); /* another's does not close it */
    expect(none, false, "medium A (credit) is open");
    find_by('1', "B", RP_SEVERITY_LOW, true, 2); /* nor another id */
    expect(none, false, "medium A (credit) is open");
    find_by('1', "A", RP_SEVERITY_MEDIUM, true, 0); /* nor one from before */
    expect(none, false, "medium A (credit) is open");
    find_by('1', "A", RP_SEVERITY_MEDIUM, true, 1); /* in one second the open one stands */
    expect(none, false, "medium A (credit) is open");
    find_by('1', "A", RP_SEVERITY_MEDIUM, true, 3);
    expect(none, true, "none is open here");
    find_by('1', "A", RP_SEVERITY_LOW, false, 4); /* opened again, and due */
    expect(medium, true, "low A (credit) is open");
    strcpy(list[v.statements - 1].finding->due, "2026-01-02T00:00:00Z");
    expect(medium, false, "low A (credit, overdue) is open");
    strcpy(list[v.statements - 1].finding->due, "2999-01-02T00:00:00Z");
    expect(medium, true, "low A (credit) is open");
    find_by('1', "A", RP_SEVERITY_LOW, true, 5); /* of a time to come nothing is settled */
    strcpy(list[v.statements - 1].time, "2999-01-01T00:00:00Z");
    expect(none, false, "low A");
    begin();
    state_by('0', RP_STATEMENT_PROVENANCE);
    other[0].kind = RP_STATEMENT_FINDING; /* whose key was not given */
    other[0].finding = &lost;
    strcpy(other[0].key_id, key('2'));
    v.others = 1;
    expect(medium, false, "nobody can tell whether it is settled");
    strcpy(other[0].key_id, key('7'));
    expect(medium, true, "none is open here");
}

static void cards_are_held_to_the_policy(void **state)
{
    rp_run_facts facts = {parsed("{\"card\":{\"owner\":\"credit\",\"valid_until\":\"2999-12-31\"}}"),
                          NULL,
                          NULL,
                          NULL,
                          "",
                          "",
                          NULL,
                          NULL},
                 old = {parsed("{\"card\":{\"valid_until\":\"2020-12-31\"}}"), NULL, NULL, NULL, "", "", NULL, NULL},
                 none = {parsed("{\"name\":\"\"}"), NULL, NULL, NULL, "", "", NULL, NULL};

    (void)state;
    begin();
    state_by('0', RP_STATEMENT_PROVENANCE);
    expect("card: [owner]\n", false, "does not say owner");
    v.facts = &facts;
    expect("card: [owner, valid_until]\n", true, "it does");
    expect("card: [owner, purpose, tier]\n", false, "it does not say purpose, tier");
    expect("valid: true\n", true, "until 2999-12-31");
    v.facts = &old;
    expect("valid: true\n", false, "until 2020-12-31");
    v.facts = &none;
    expect("valid: true\n", false, "does not say valid_until");
    v.facts = NULL;
    rp_json_free(facts.recipe);
    rp_json_free(old.recipe);
    rp_json_free(none.recipe);
}

static void kinds_of_runs_are_held_to_the_policy(void **state)
{
    (void)state;
    begin();
    state_by('0', RP_STATEMENT_PROVENANCE);
    expect("kind: recipe\n", false, "unknown");
    strcpy(v.kind, "api");
    expect("kind: recipe\n", false, "is what its author wrote");
    expect("kind: api\n", true, "of kind api");
    strcpy(v.kind, "recipe");
    expect("kind: recipe\n", true, "it is of kind recipe");
    expect("kind: api\n", false, "it is of kind recipe");
}

static void approvals_are_held_to_the_policy(void **state)
{
    static const char two[] = "approvals: {of: c, count: 2}\n",
                      later[] = "approvals: {of: c, count: 2, rejections: superseded}\n",
                      ignore[] = "approvals: {of: c, count: 2, rejections: ignore}\n";

    (void)state;
    begin();
    state_by('0', RP_STATEMENT_PROVENANCE);
    decide('1', RP_APPROVE, "risk", 1);
    expect(two, false, "no decision");
    decide('3', RP_APPROVE, "risk", 1);
    decide('3', RP_APPROVE, "legal", 2);
    expect(two, false, "by 2 of c");
    decide('4', RP_ABSTAIN, "risk", 1);
    expect(two, false, "abstained");
    decide('4', RP_APPROVE, "risk", 2);
    expect(two, true, "approved");
    expect("approvals: {of: c, count: 2, role: risk}\n", true, "as risk");
    expect("approvals: {of: c, count: 1, role: board}\n", false, "another role");
    decide('4', RP_ABSTAIN, "risk", 3);
    expect(two, false, "decided otherwise later");
    decide('4', RP_REJECT, "risk", 4);
    expect(two, false, "rejected");
    expect(ignore, false, "rejected");
    decide('4', RP_APPROVE, "risk", 5);
    expect(two, false, "rejected");
    expect(later, true, "had rejected before");
    expect(ignore, true, "");
    decide('5', RP_REJECT, "legal", 9);
    expect(later, false, "rejected");
    expect(ignore, true, "");
    expect("approvals: {of: c, role: risk}\n", false, "rejected");
}

static void of_very_many_statements_the_first_are_told(void **state)
{
    static rp_verified_statement many[200];
    static rp_verdict same = {.scope = {.mode = RP_REPLAY_RANGE, .steps = 1, .steps_total = 2},
                              .identical = true,
                              .conforms = true,
                              .level = "ref"};

    (void)state;
    begin();
    v.statement = many;
    v.statements = 200;
    for (size_t i = 0; i < 200; i++) {
        many[i] = (rp_verified_statement){.kind = i ? RP_STATEMENT_VERDICT : RP_STATEMENT_PROVENANCE,
                                          .verdict = i ? &same : NULL};
        strcpy(many[i].key_id, key(i ? '1' : '0'));
    }
    expect("replay: {at_least: 0.1, by: r}\n", false, "own choice, and more");
}

static void at_equal_times_a_rejection_stands(void **state)
{
    (void)state;
    for (int order = 0; order < 2; order++) {
        begin();
        state_by('0', RP_STATEMENT_PROVENANCE);
        decide('3', order ? RP_REJECT : RP_APPROVE, "risk", 1);
        decide('3', order ? RP_APPROVE : RP_REJECT, "risk", 1);
        decide('4', RP_APPROVE, "risk", 1);
        expect("approvals: {of: c, rejections: superseded}\n", false, "rejected");
    }
}

static void logs_are_held_to_the_policy(void **state)
{
    (void)state;
    begin();
    state_by('0', RP_STATEMENT_PROVENANCE);
    expect("log: {of: l}\n", false, "no log's proof");
    v.proofs = 1;
    expect("log: {of: l}\n", false, "no proof by any");
    strcpy(proof[0].key_id, key('1'));
    expect("log: {of: l}\n", false, "no proof by any");
    strcpy(proof[0].key_id, key('6'));
    expect("log: {of: l}\n", true, "logged");
}

static void every_unmet_clause_is_told(void **state)
{
    static const char text[] = BUILDER "replay: {mode: full, by: a}\napprovals: [{of: a}, {of: b}]\nlog: {of: a}\n";
    rp_policy *policy;
    rp_policy_result *result;

    (void)state;
    begin();
    assert_ok(rp_policy_from_text(&policy, text, strlen(text), "p", NULL, &err));
    assert_ok(rp_policy_check(policy, &v, &result, &err));
    assert_int_equal(result->clauses, 5);
    assert_int_equal(result->unmet, 5);
    assert_string_equal(result->clause[3].clause, "approvals[1]");
    rp_policy_result_free(result);
    rp_policy_free(policy);
}

/* ---- through rp_verify ---- */

static void verification_fails_unless_the_policy_is_met(void **state)
{
    static const char format[] = "policy: 1\ngroups: {b: [%s]}\nbuilder: {of: b}\n%s";
    rp_key *builder, *stranger;
    rp_buffer bytes = {0};
    char text[512];

    (void)state;
    assert_ok(rp_key_generate(&builder, &err));
    assert_ok(rp_key_generate(&stranger, &err));
    sample_archive(&bytes, builder);
    for (int i = 0; i < 3; i++) {
        const rp_key *trusted = builder;
        rp_policy *policy;
        rp_verification *found = NULL;
        rp_verify_options options = {.tell_unmet = false};

        (void)snprintf(text, sizeof text, format, rp_key_id(i == 2 ? stranger : builder),
                       i == 1 ? "approvals: {of: b}\n" : "");
        assert_ok(rp_policy_from_text(&policy, text, strlen(text), "p", NULL, &err));
        options.policy = policy;
        assert_int_equal(rp_verify_memory(bytes.data, bytes.size, "copy", &trusted, 1, &options, &found, NULL, &err),
                         i == 0 ? RP_OK : RP_ESIGN);
        assert_true((found != NULL) == (i == 0));
        if (i > 0)
            assert_non_null(strstr(err.text, i == 1 ? "1 of 2 clauses of the policy p are not met: approvals[0]"
                                                    : "1 of 1 clauses of the policy p are not met: builder"));
        rp_verification_free(found);
        options.tell_unmet = true;
        assert_ok(rp_verify_memory(bytes.data, bytes.size, "copy", &trusted, 1, &options, &found, NULL, &err));
        assert_int_equal(found->policy->unmet, i > 0);
        rp_verification_free(found);
        /* its key not given: the policy names it by id alone */
        assert_ok(rp_verify_memory(bytes.data, bytes.size, "copy", NULL, 0, &options, &found, NULL, &err));
        assert_false(found->policy->clause[0].met);
        rp_verification_free(found);
        /* damage is damage, whatever a policy asks for */
        bytes.data[bytes.size / 2] ^= 1;
        assert_int_equal(
            rp_exit_code(rp_verify_memory(bytes.data, bytes.size, "copy", &trusted, 1, &options, &found, NULL, &err)),
            4);
        bytes.data[bytes.size / 2] ^= 1;
        rp_policy_free(policy);
    }
    rp_buffer_free(&bytes);
    rp_key_free(builder);
    rp_key_free(stranger);
}

static void keys_are_read_from_beside_the_policy(void **state)
{
    char folder[] = "/tmp/reprise-test-XXXXXX", path[64], pem[64], text[256];
    rp_policy *policy;
    rp_key *one;
    size_t count;

    (void)state;
    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "%s/p.yaml", folder);
    (void)snprintf(pem, sizeof pem, "%s/k.pub.pem", folder);
    assert_ok(rp_key_generate(&one, &err));
    assert_ok(rp_key_save_public(one, pem, false, &err));
    (void)snprintf(text, sizeof text,
                   "policy: 1\ngroups:\n  a: [k.pub.pem]\n  b: [%s]\nbuilder: {of: a}\nlog: {of: b}\n", pem);
    assert_ok(rp_file_save(path, text, strlen(text), true, 0644, &err));
    assert_ok(rp_policy_load(&policy, path, &err));
    assert_string_equal(rp_key_id(rp_policy_keys(policy, &count)[0]), rp_key_id(one));
    assert_int_equal(count, 1);
    assert_int_equal(policy->log_keys, 1);
    assert_string_equal(rp_policy_name(policy), path);
    assert_int_equal(strlen(rp_policy_digest(policy)), 64);
    rp_policy_free(policy);
    assert_int_equal(unlink(pem), 0);
    assert_int_equal(rp_policy_load(&policy, path, &err), RP_EIO);
    assert_non_null(strstr(err.text, "p.yaml:3: key groups.a: "));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rp_policy_load(&policy, path, &err), RP_EIO);
    assert_null(policy);
    rp_key_free(one);
    assert_int_equal(rmdir(folder), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(policies_are_refused_for_every_flaw),
        cmocka_unit_test(policies_are_bounded),
        cmocka_unit_test(builders_are_held_to_the_policy),
        cmocka_unit_test(replays_are_held_to_the_policy),
        cmocka_unit_test(a_verdict_by_who_made_the_run_may_not_count),
        cmocka_unit_test(who_may_have_made_the_run_is_not_independent),
        cmocka_unit_test(who_says_no_need_not_be_known),
        cmocka_unit_test(a_key_and_its_successor_are_one_person),
        cmocka_unit_test(decisions_of_a_time_to_come_supersede_nothing),
        cmocka_unit_test(parents_are_replayed_too),
        cmocka_unit_test(a_provenance_says_whether_its_kernels_conform),
        cmocka_unit_test(pinned_runs_are_taken_where_the_policy_says_so),
        cmocka_unit_test(a_portable_run_of_a_pinned_line_is_no_portable_one),
        cmocka_unit_test(the_library_of_a_pinned_run_is_one_of_those_listed),
        cmocka_unit_test(nothing_emulated_is_taken_where_the_policy_says_so),
        cmocka_unit_test(models_are_held_to_the_policy),
        cmocka_unit_test(findings_are_held_to_the_policy),
        cmocka_unit_test(cards_are_held_to_the_policy),
        cmocka_unit_test(columns_without_names_are_their_numbers),
        cmocka_unit_test(columns_without_end_are_looked_at_once),
        cmocka_unit_test(drift_without_a_figure_is_not_small),
        cmocka_unit_test(rows_that_nobody_counted_are_told_by_what_counts_them),
        cmocka_unit_test(who_says_no_need_not_have_counted),
        cmocka_unit_test(trials_are_held_to_the_policy),
        cmocka_unit_test(kinds_of_runs_are_held_to_the_policy),
        cmocka_unit_test(approvals_are_held_to_the_policy),
        cmocka_unit_test(of_very_many_statements_the_first_are_told),
        cmocka_unit_test(at_equal_times_a_rejection_stands),
        cmocka_unit_test(logs_are_held_to_the_policy),
        cmocka_unit_test(every_unmet_clause_is_told),
        cmocka_unit_test(verification_fails_unless_the_policy_is_met),
        cmocka_unit_test(keys_are_read_from_beside_the_policy),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
