/* SPDX-License-Identifier: Apache-2.0
 * Fuzz target: policies, held against an archive in which somebody has signed everything. No folder: no file is opened.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "rp/policy.h"
#include "rp/statement.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static rp_verdict verdict = {
        .scope =
            {.mode = RP_REPLAY_SAMPLE, .steps = 3, .steps_total = 15, .segments = 1, .segments_total = 5, .seed = "s"},
        .identical = true,
        .level = "avx2",
        .conforms = true};
    static rp_approval approval = {.role = "risk", .decision = RP_APPROVE, .reason = "r"};
    static rp_verified_statement list[3] = {{.kind = RP_STATEMENT_PROVENANCE},
                                            {.kind = RP_STATEMENT_VERDICT, .verdict = &verdict},
                                            {.kind = RP_STATEMENT_APPROVAL, .approval = &approval}};
    static char subject[] = "CN=x", authority[] = "CN=tsa", why[] = "why";
    static rp_verified_standing standing[3] = {{.clause = "builder",
                                                .certified = true,
                                                .subject = subject,
                                                .dated = true,
                                                .seconds = 1,
                                                .time = "1970-01-01T00:00:01Z",
                                                .authority = authority},
                                               {.clause = "replay[0]", .certificate_note = why, .timestamp_note = why},
                                               {.clause = "approvals[0]",
                                                .certified = true,
                                                .subject = subject,
                                                .dated = true,
                                                .seconds = 1,
                                                .time = "1970-01-01T00:00:01Z",
                                                .authority = authority}};
    rp_verification verified = {.statements = 3, .statement = list, .standings = 3, .standing = standing};
    rp_policy_result *result;
    rp_policy *policy;
    rp_error err;

    if (rp_policy_from_text(&policy, (const char *)data, size, "input", NULL, &err) != RP_OK) {
        if (policy != NULL)
            abort();
        return 0;
    }
    memcpy(verified.judged_by, rp_policy_digest(policy), sizeof verified.judged_by);
    for (int i = 0; i < 3; i++) { /* the key of the corpus */
        memset(list[i].key_id, '0' + i, RP_DIGEST_HEX - 1);
        verified.statements = (size_t)i + 1;
        if (rp_policy_check(policy, &verified, &result, &err) != RP_OK)
            abort();
        rp_policy_result_free(result);
    }
    rp_policy_free(policy);
    return 0;
}
