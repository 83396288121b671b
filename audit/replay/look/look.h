/* SPDX-License-Identifier: Apache-2.0
 * Between look.c, which goes to the step, listing.c and shown.c, which tell what is there. */
#ifndef AUDIT_REPLAY_LOOK_LOOK_H
#define AUDIT_REPLAY_LOOK_LOOK_H

#include "audit/replay/function_names.h"
#include "audit/replay/look/place.h"
#include "base/json.h"
#include "rp/inspect.h"

/* A value that is shown, as its names in words and for programs. */
typedef struct rp_look_teller {
    rp_buffer *text;
    rp_json *json; /* the value's object, borrowed */
    const rp_program *program;
    const rp_function_names *names;
} rp_look_teller;

/* An operand or a value by name: "state w", "p0" of a function's parameter, "12" what instruction 12 makes, "12.1" its
 * second value. */
void rp_look_put_name(rp_buffer *out, const rp_program *body, uint32_t value);
/* The text as a string, and the buffer is freed; NULL when memory runs out, or had. */
rp_json *rp_look_words(rp_buffer *text);
/* A line an instruction: the step's program, then each of its functions; json may be NULL. */
rp_status rp_look_list(rp_buffer *text, rp_json **json, const rp_program *program, rp_error *err);
/* What is at the place: lines "value", "operands", "makes"; the same in json. */
rp_status rp_look_tell_place(const rp_look_teller *t, const rp_place *place, size_t output, rp_error *err);
/* The elements, in host memory: digest, statistics, histogram, the first of them. */
rp_status rp_look_tell_tensor(const rp_look_teller *t, const rp_type *type, const void *host, rp_error *err);
/* The tensor as a NumPy file (format 1.0), bf16 as f32, which holds it exactly. Errors: RP_ENOMEM. */
rp_status rp_look_npy(rp_looked *out, const rp_type *type, const void *host, rp_error *err);

#endif
