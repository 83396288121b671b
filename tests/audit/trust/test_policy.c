/* SPDX-License-Identifier: Apache-2.0
 * Policies: every key refused when wrong, and every clause met, and unmet for each of its reasons, alone and together;
 * clauses about the model: test_policy_model.c. */
#include "tests/audit/trust/policy_steps.h"

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

/* ---- clauses ---- */

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

static rp_verified_statement *another(char by, rp_statement_kind kind)
{
    rp_verified_statement *one = &other[v.others++];

    one->kind = kind;
    strcpy(one->key_id, key(by));
    strcpy(one->time, "2026-01-01T01:00:00Z");
    return one;
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
