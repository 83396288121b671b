/* SPDX-License-Identifier: Apache-2.0
 * A program: typed inputs, a list of instructions in order, named outputs. Immutable once built; equal control flow
 * gives equal canonical bytes, which is how distinct programs are told apart. */
#ifndef CORE_PROGRAM_PROGRAM_H
#define CORE_PROGRAM_PROGRAM_H

#include "base/buffer.h"
#include "base/index.h"
#include "core/program/op.h"

typedef struct rp_region rp_region;

enum { RP_NAME_MAX = 96 }; /* names: [A-Za-z0-9._-], 1 to 95 bytes */
enum { RP_PROGRAM_MAX_VALUES = 1 << 24 };

typedef struct rp_input {
    rp_input_kind kind;
    char name[RP_NAME_MAX];
    uint32_t value;
} rp_input;

typedef struct rp_output {
    rp_output_kind kind;
    char name[RP_NAME_MAX];
    uint32_t value;
    uint32_t state; /* a new state's: the position of the state's input and 1; 0: it was not there yet */
} rp_output;

/* A line of the caller's; shared by the instructions that it appended, and by copies of them. */
typedef struct rp_mark rp_mark;

typedef struct rp_instr {
    const rp_op *op;
    const rp_attr *attr; /* those that the operation has */
    uint32_t *in, *out;  /* n_in and n_out value numbers, in one allocation with attr that the program owns */
    uint32_t n_in;
    int n_out;
    rp_region *region; /* call, scan, map, cond, while: the functions executed, owned; else NULL */
    rp_mark *mark;     /* where the caller stood; NULL: nobody knows. In no text */
} rp_instr;

/* Whether it is a transpose that exchanges the last two axes and no others. */
bool rp_instr_exchanges(const rp_instr *instr);

/* A value that is printed whenever it was computed (rp_print); in no text. */
typedef struct rp_print_request {
    uint32_t value;
    char name[RP_NAME_MAX];
} rp_print_request;

enum { RP_NO_INSTR = UINT32_MAX };

struct rp_program {
    rp_type *value;  /* type of each value; inputs and instruction outputs, in order of appearance */
    uint32_t *maker; /* the instruction that makes each value; RP_NO_INSTR: an input */
    size_t n_values, cap_values;
    rp_input *input;
    size_t n_inputs, cap_inputs;
    rp_instr *instr;
    size_t n_instrs, cap_instrs;
    unsigned roles;    /* a bit for each that an instruction plays, or one that was cut */
    uint64_t executed; /* X of the instructions so far */
    uint64_t compared; /* operands and values of regions, for each function beyond the first; of a program that is read,
                          those of the functions before it too */
    rp_output *output;
    size_t n_outputs, cap_outputs;
    rp_index input_index, output_index; /* by kind and name; a function's outputs by value */
    rp_print_request *print;
    size_t n_prints;
};

/* Whether looking for instructions of a role can find any. */
static inline bool rp_program_has(const rp_program *p, rp_op_role role)
{
    return p->roles >> role & 1;
}

bool rp_name_valid(const char *name);

rp_program *rp_program_new(void); /* NULL: out of memory */
/* An empty program with room for as much as `like` has: one that comes of it grows no further. NULL: out of memory. */
rp_program *rp_program_new_like(const rp_program *like);
rp_program *rp_program_copy(const rp_program *program);
/* Appending; each checks names, ranges and types. */
rp_status rp_program_add_input(rp_program *p, rp_input_kind kind, const char *name, const rp_type *type,
                               uint32_t *value, rp_error *err);
rp_status rp_program_add_instr(rp_program *p, const rp_op *op, const rp_attr *attr, const uint32_t *in, size_t n_in,
                               uint32_t *out, rp_error *err);
/* Appends an instruction of p to a program that has the same values so far. */
rp_status rp_program_copy_instr(rp_program *copy, const rp_program *p, const rp_instr *instr, rp_error *err);
/* The same of an input, and of an output. */
rp_status rp_program_copy_input(rp_program *copy, const rp_program *p, const rp_input *in, rp_error *err);
rp_status rp_program_copy_output(rp_program *copy, const rp_output *output, rp_error *err);
/* A second output of the same kind and name replaces the first. */
rp_status rp_program_add_output(rp_program *p, rp_output_kind kind, const char *name, uint32_t value, rp_error *err);
/* Whether every new state is that of a state which is an input, of the same type (CONTRACT 11.1). Errors: RP_EFORMAT.
 */
rp_status rp_program_check_states(const rp_program *p, rp_error *err);
void rp_program_clear(rp_program *p);
/* Takes the last instructions away, so that n_instrs are left. Their values must be the last ones, and in no output. */
void rp_program_cut(rp_program *p, size_t n_instrs);
/* NULL when there is none; valid until the next is added. */
const rp_input *rp_program_find_input(const rp_program *p, rp_input_kind kind, const char *name);
const rp_input *rp_program_input_of(const rp_program *p, uint32_t value); /* NULL: an instruction makes it */
const rp_output *rp_program_find_output(const rp_program *p, rp_output_kind kind, const char *name);
/* The state whose new value an output of p is; NULL: it is none, or no input is the state of its name. */
const rp_input *rp_program_state_of(const rp_program *p, const rp_output *output);

const char *rp_mark_file(const rp_mark *mark);
int rp_mark_line(const rp_mark *mark);
void rp_mark_release(rp_mark *mark); /* NULL is fine */
/* Instructions from `from` on that have no mark get this one, which may be NULL. */
void rp_program_mark_like(rp_program *to, size_t from, rp_mark *mark);
rp_status rp_program_add_print(rp_program *p, uint32_t value, const char *name, rp_error *err);
rp_status rp_program_copy_prints(rp_program *copy, const rp_program *p, rp_error *err);

/* Canonical JSON (audit/FORMAT.md, "programs") and back; the parser trusts nothing: it rebuilds through the calls above
 * and so re-derives every type. Errors: RP_EFORMAT, RP_EUNSUPPORTED for an unknown operation, RP_ENOMEM. */
rp_status rp_program_write(const rp_program *p, rp_buffer *out, rp_error *err);
rp_status rp_program_parse(rp_program **out, const void *bytes, size_t size, const char *where, rp_error *err);

#endif
