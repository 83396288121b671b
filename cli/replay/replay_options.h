/* SPDX-License-Identifier: Apache-2.0
 * Which part of a run reprise replay repeats: its options, and what can be said afterwards. */
#ifndef CLI_REPLAY_REPLAY_OPTIONS_H
#define CLI_REPLAY_REPLAY_OPTIONS_H

#include "cli/options.h"

typedef struct rp_choice {
    const char *steps, *sample, *seed; /* as given */
    char drawn[33];                    /* the seed, where none was given */
    unsigned parallel;
    rp_replay_choice choice;
} rp_choice;

#define RP_OPTION_CHOICE(c) \
    {0, "steps", RP_OPTION_TEXT, "A:B", "replay only steps A to B, from the checkpoint before A", &(c)->steps, false}, \
        {0, \
         "sample", \
         RP_OPTION_TEXT, \
         "SHARE", \
         "replay a share of the segments between checkpoints: 0.05 or 5%", \
         &(c)->sample, \
         false}, \
        {0, \
         "seed", \
         RP_OPTION_TEXT, \
         "TEXT", \
         "with --sample: the auditor's words that draw them (default: from this host's random source)", \
         &(c)->seed, \
         false}, \
    { \
        0, "parallel", RP_OPTION_COUNT, "P", "replay P segments at a time, each on --threads of its own", \
            &(c)->parallel, false \
    }

/* Understands what was given. Errors: RP_EARG. */
rp_status rp_choice_resolve(rp_choice *choice, rp_error *err);
/* Of a replay that found no difference: the segments and what such a sample catches. Nothing for a full one. */
rp_status rp_choice_put_lines(rp_session *session, const rp_job *job, rp_error *err);
/* "scope": {...} */
rp_status rp_choice_put_json(rp_session *session, const rp_job *job, rp_error *err);

#endif
