/* SPDX-License-Identifier: Apache-2.0
 * Fuzz target: statements of trusted keys and of strangers, predicates of every kind, and PEM texts as keys. The
 * trusted key is that of the example in audit/FORMAT.md. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "audit/digest/digest.h"
#include "audit/statements/statement.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What was read fits: written again from what was understood, an approval is read again as the same. */
static void read_predicates(const uint8_t *data, size_t size)
{
    rp_json *json, *again;
    rp_verdict verdict;
    rp_approval approval, back;
    rp_error err;

    if (rp_json_parse(&json, data, size, true, "input", &err) != RP_OK)
        return;
    if (rp_verdict_read(&verdict, json, "input", &err) == RP_OK &&
        (verdict.scope.steps > verdict.scope.steps_total || verdict.identical != (verdict.difference[0] == '\0')))
        abort();
    if (rp_approval_read(&approval, json, "input", &err) == RP_OK) {
        if (rp_approval_write(&again, &approval, 0, &err) != RP_OK ||
            rp_approval_read(&back, again, "again", &err) != RP_OK || strcmp(back.reason, approval.reason) != 0)
            abort();
        rp_json_free(again);
    }
    rp_json_free(json);
}

static void read_stranger(const uint8_t *data, size_t size)
{
    rp_member member = {.name = "signatures/review.dsse.json"};
    rp_statement statement;
    rp_verified_statement one;
    rp_error err;

    if (rp_statement_read(&statement, data, size, "input", NULL, 0, &err) != RP_OK)
        return;
    if (rp_statement_classify(&one, &statement, &member, &err) == RP_OK)
        rp_verified_statement_clear(&one);
    if (rp_sha256(&member.digest, data, size, &err) == RP_OK) {
        rp_statement_member(member.name, RP_STATEMENT_VERDICT, statement.key_id, &member.digest);
        if (rp_statement_classify(&one, &statement, &member, &err) == RP_OK)
            rp_verified_statement_clear(&one);
    }
    rp_statement_clear(&statement);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char pem[] = "-----BEGIN PUBLIC KEY-----\n"
                              "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEqXEAH7hm57TMFtK8bZuQ/nS9Og7j\n"
                              "UfFTmNvZkYLq3101bNlzfTFbW1iqn5WmnAlB+55BzkmzUl5KYOmZ5rdvlA==\n"
                              "-----END PUBLIC KEY-----\n";
    static rp_key *trusted;
    const rp_key *list[1];
    rp_statement statement;
    rp_key *key;
    rp_error err;

    if (trusted == NULL && rp_key_public_from_pem(&trusted, pem, strlen(pem), "pem", &err) != RP_OK)
        abort();
    list[0] = trusted;
    if (rp_statement_check(&statement, data, size, "input", list, 1, &err) == RP_OK)
        rp_statement_clear(&statement);
    read_predicates(data, size);
    read_stranger(data, size);
    if (rp_key_public_from_pem(&key, (const char *)data, size, "input", &err) == RP_OK)
        rp_key_free(key);
    if (rp_key_private_from_pem(&key, (const char *)data, size, "passphrase", "input", &err) == RP_OK)
        rp_key_free(key);
    return 0;
}
