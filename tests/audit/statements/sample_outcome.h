/* SPDX-License-Identifier: Apache-2.0
 * What a replay of the sample archive found, for statements about it. */
#ifndef TESTS_AUDIT_STATEMENTS_SAMPLE_OUTCOME_H
#define TESTS_AUDIT_STATEMENTS_SAMPLE_OUTCOME_H

#include "audit/statements/statement.h"

static inline rp_replay_outcome sample_outcome(const char *difference)
{
    return (rp_replay_outcome){
        .begun = {{.mode = RP_REPLAY_FULL, .last = 1, .steps = 2, .steps_total = 2, .segments = 1, .segments_total = 1},
                  "ref",
                  "",
                  1,
                  "api",
                  ""},
        .difference = difference,
        .members = 2,
        .started = 1700000000,
        .finished = 1700000009};
}

#endif
