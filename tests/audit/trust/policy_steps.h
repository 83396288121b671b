/* SPDX-License-Identifier: Apache-2.0
 * What the tests of policies share: a verification that is made up, statement by statement, and what a policy says of
 * it. */
#ifndef TESTS_AUDIT_TRUST_POLICY_STEPS_H
#define TESTS_AUDIT_TRUST_POLICY_STEPS_H

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

static rp_json *parsed(const char *text)
{
    rp_json *json;

    assert_ok(rp_json_parse(&json, text, strlen(text), false, "facts", &err));
    return json;
}

#endif
