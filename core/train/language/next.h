/* SPDX-License-Identifier: Apache-2.0
 * What a trained language model says comes next (CONTRACT 17.7). */
#ifndef CORE_TRAIN_LANGUAGE_NEXT_H
#define CORE_TRAIN_LANGUAGE_NEXT_H

#include "core/train/model.h"

typedef struct rp_next rp_next;

/* Borrows both: the run has the model's parameters as states. */
rp_status rp_next_new(rp_next **out, const rp_model *model, rp_run *run, rp_error *err);
void rp_next_free(rp_next *next); /* before the run; NULL is fine */
/* What one token costs; nothing is executed. */
rp_price rp_next_price(const rp_next *next);
/* How a token is chosen: the likeliest, or drawn by token number `index` of a seed at a temperature above 0. */
typedef struct rp_choice {
    bool drawn;
    uint64_t seed, index;
    float temperature;
} rp_choice;
/* The token behind n (at least 1) others, of which the last as many as the model's context has are looked at. */
rp_status rp_next_token(rp_next *next, const uint16_t *token, size_t n, const rp_choice *choice, uint16_t *out,
                        rp_error *err);

#endif
