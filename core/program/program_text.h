/* SPDX-License-Identifier: Apache-2.0
 * What the text of programs and that of functions share. */
#ifndef CORE_PROGRAM_PROGRAM_TEXT_H
#define CORE_PROGRAM_PROGRAM_TEXT_H

#include "base/json.h"
#include "core/program/function.h"

void rp_put_int(rp_buffer *out, int64_t v);
/* "f32",[2,3] */
void rp_put_type(rp_buffer *out, const rp_type *type);
/* {"axis":0}: those of a row's operation, as the program's text has them; a region's are not among them. */
void rp_put_attributes(rp_buffer *out, const rp_instr *instr);
void rp_put_instruction(rp_buffer *out, const rp_instr *instr, rp_function_namer namer);
/* All of them, separated by commas. */
void rp_put_instructions(rp_buffer *out, const rp_program *p, rp_function_namer namer);

/* "tree", "stack", "concat" */
const char *rp_combine_name(rp_combine combine);

/* Functions that were parsed so far, by their number. */
typedef struct rp_parsed_functions {
    rp_function **function;
    size_t n, values;
    uint64_t compared;
} rp_parsed_functions;

/* "f32",[2,3] at items 0 and 1 after `at` of an array; false when that is no type. */
bool rp_parse_type(const rp_json *row, size_t at, rp_type *type);
/* An instruction of a program or a function's body; where names the text, index the instruction. */
rp_status rp_parse_instruction(rp_program *p, const rp_json *row, size_t index, const rp_parsed_functions *known,
                               const char *where, rp_error *err);
/* The attributes of a region; *out (free it) holds its functions. Errors: RP_EFORMAT, RP_ENOMEM. */
rp_status rp_parse_region(rp_region **out, rp_region_kind kind, const rp_json *attributes,
                          const rp_parsed_functions *known, const char *where, size_t index, rp_error *err);
/* The list of functions; known is to be freed in any case. */
rp_status rp_parse_functions(rp_parsed_functions *known, const rp_json *list, const char *where, rp_error *err);
void rp_parsed_functions_free(rp_parsed_functions *known);
/* Whether the text's functions are those that p's instructions execute, in the order of the walk. */
rp_status rp_parsed_functions_check(const rp_parsed_functions *known, const rp_program *p, const char *where,
                                    rp_error *err);

#endif
