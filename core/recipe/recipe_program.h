/* SPDX-License-Identifier: Apache-2.0
 * A recipe's model as a saved program (CONTRACT 12.1a): what model.program, model.evaluate and model.initial hold. The
 * texts are a part of the resolved recipe, so that whoever has it has the model. */
#ifndef CORE_RECIPE_RECIPE_PROGRAM_H
#define CORE_RECIPE_RECIPE_PROGRAM_H

#include "base/json.h"
#include "core/program/function.h"

/* Forward in training, forward in evaluation (where it is another), and what makes the first states. */
typedef enum rp_role { RP_ROLE_FORWARD, RP_ROLE_EVALUATE, RP_ROLE_INITIAL, RP_ROLES } rp_role;
extern const char *const rp_role_names[RP_ROLES]; /* keys of model: */

enum { RP_PROGRAM_STREAMS = 4096, RP_PROGRAM_STATES = 512, RP_PROGRAM_BYTES = 4 << 20 };

typedef struct rp_program_state {
    char name[RP_NAME_MAX];
    rp_type type;
} rp_program_state;

/* Functions of the states in order, behind x [rows, ..] and, of a random one, rng i64 [3]; each gives logits
 * [rows, outputs]. That of the initial states is of rng i64 [2] alone, and gives them. */
typedef struct rp_model_program {
    rp_json *text[RP_ROLES]; /* NULL: not given */
    rp_function *function[RP_ROLES];
    rp_type x, logits;
    bool random, initial_random;
    bool on_text; /* x is tokens, i64 [windows, length], and logits are [windows, length, tokens] (CONTRACT 17.4a) */
    rp_program_state *state;
    size_t n_states;
} rp_model_program;

/* From texts as objects, of which the first and the last are needed: shared. where names the recipe in errors, which
 * say the key and the instruction. Errors: RP_EFORMAT, RP_EUNSUPPORTED, RP_ENOMEM. */
rp_status rp_model_program_new(rp_model_program **out, rp_json *const *text, bool on_text, const char *where,
                               rp_error *err);
void rp_model_program_free(rp_model_program *program); /* NULL is fine */

#endif
