/* SPDX-License-Identifier: Apache-2.0
 * Functions and the regions that execute them (CONTRACT 11.6). A function is a program whose inputs are parameters
 * without names, all before its first instruction, and whose outputs are values without names. It is immutable and
 * shared: regions hold references. What a function calls exists before it, so there is no recursion. */
#ifndef CORE_PROGRAM_FUNCTION_H
#define CORE_PROGRAM_FUNCTION_H

#include <stdatomic.h>

#include "core/program/program.h"

enum {
    RP_FUNCTIONS_MAX = 4096,       /* of one program */
    RP_CALL_DEPTH_MAX = 32,        /* functions that are executed within one another */
    RP_COMPARED_MAX = 1 << 24,     /* operands and values of regions, for each function beyond the first */
    RP_REGION_OPERANDS_MAX = 65536 /* and values and shards, of one region */
};
static const uint64_t rp_times_max = (uint64_t)1 << 40;       /* times, limit, and the first shard's number */
static const uint64_t rp_executed_max = (uint64_t)1 << 40;    /* X of a function or program */
static const uint64_t rp_price_saturated = (uint64_t)1 << 63; /* a price that is this or more */

struct rp_function {
    atomic_size_t users;
    rp_program *body;
    rp_price price;
    int depth;        /* 1: calls nothing */
    bool reads_first; /* some instruction reads the first parameter, which tells the frames of scan and map apart */
    uint32_t *number; /* what errors call each instruction, of a function that a plan made; NULL: its place */
};

/* Takes the body, also on failure. Errors: RP_ESHAPE when the body is no function: named inputs or outputs, no output,
 * an output that is a parameter or given twice, too deep; RP_ENOMEM. */
rp_status rp_function_new(rp_function **out, rp_program *body, rp_error *err);
rp_function *rp_function_hold(rp_function *function);
void rp_function_release(rp_function *function); /* NULL is fine */

/* Parameters are the body's first values. */
rp_status rp_program_add_parameter(rp_program *body, const rp_type *type, uint32_t *value, rp_error *err);
rp_status rp_program_add_return(rp_program *body, uint32_t value, rp_error *err);
bool rp_program_returns(const rp_program *body, uint32_t value); /* whether it is an output already */

static inline size_t rp_function_params(const rp_function *f)
{
    return f->body->n_inputs;
}
static inline const rp_type *rp_function_param(const rp_function *f, size_t i)
{
    return &f->body->value[i];
}
static inline size_t rp_function_outs(const rp_function *f)
{
    return f->body->n_outputs;
}
static inline const rp_type *rp_function_out(const rp_function *f, size_t i)
{
    return &f->body->value[f->body->output[i].value];
}

/* An instruction that executes functions. Operands are in this order: what is carried, what is sliced, what is shared
 * by all frames; a cond's selector comes first. */
struct rp_region {
    rp_region_kind kind;
    rp_function **function; /* call, scan: one; map: one a distinct length of a shard, ascending; cond: one a branch;
                               while: body, predicate */
    size_t n_functions;
    size_t carried;        /* scan, while */
    size_t sliced;         /* scan, map */
    uint64_t times;        /* scan; of a while the limit */
    bool history, reverse; /* scan */
    uint64_t first;        /* map: the number of shard 0 */
    uint64_t *cuts;        /* map: shard s is rows cuts[s] .. cuts[s + 1] */
    size_t n_cuts;
    unsigned char *combine; /* map: rp_combine of each output of the functions */
    size_t n_combine;
};

/* X of one instruction (audit/FORMAT.md 9): 1, and of a region what its frames execute, saturating. */
uint64_t rp_instr_executed(const rp_program *p, const rp_instr *instr);
/* Operations on elements of one that is no region. */
uint64_t rp_instr_work(const rp_program *p, const rp_instr *instr);

/* Operations on numbers of an instruction that is no region: of products, convolutions, windows and attention their
 * multiplications and additions, as W counts them; of others one for each element of the largest operand or value. */
uint64_t rp_instr_arithmetic(const rp_program *p, const rp_instr *instr);

/* A copy that holds its functions; NULL: out of memory. */
rp_region *rp_region_copy(const rp_region *region);
void rp_region_free(rp_region *region); /* NULL is fine */
/* The row that stands for the region as an instruction's operation: RP_OP_REGION, nothing but a name counts. */
const rp_op *rp_region_op(rp_region_kind kind);
/* RP_REGION_KINDS when no region has that name. */
rp_region_kind rp_region_find(const char *name);

/* How many values the instruction has; 0 when the region's functions are not as many as its kind needs. */
size_t rp_region_values(const rp_region *region);
/* Types of the values, or what does not fit. */
rp_status rp_region_infer(const rp_region *region, const rp_type *in, size_t n_in, rp_type *out, rp_error *err);
/* Appends the instruction; the region is copied. out: rp_region_values numbers. */
rp_status rp_program_add_region(rp_program *p, const rp_region *region, const uint32_t *in, size_t n_in, uint32_t *out,
                                rp_error *err);

/* An instruction like `instr`, a region or not, of other operands. */
rp_status rp_program_add_like(rp_program *p, const rp_instr *instr, const uint32_t *in, uint32_t *out, rp_error *err);

/* map: rows of shard s, how many shards are not empty, and the function for a shard of that length. */
static inline uint64_t rp_shard_rows(const rp_region *r, size_t s)
{
    return r->cuts[s + 1] - r->cuts[s];
}
size_t rp_region_shards(const rp_region *region);
size_t rp_region_function_of(const rp_region *region, uint64_t rows);

/* The functions that a program's instructions execute, directly or not, each of equal ones once, in the order of their
 * text: by completion of a walk. */
typedef struct rp_functions {
    const rp_function **function;
    rp_buffer *text; /* of each, canonical */
    size_t n;
    /* private */
    struct rp_function_seen *seen;
    rp_index by_address, by_text;
    size_t cap, n_seen, cap_seen, values;
    uint64_t compared;
} rp_functions;

/* Errors: RP_ESHAPE beyond the limits on functions and values; RP_ENOMEM. */
rp_status rp_functions_of(rp_functions *out, const rp_program *p, rp_error *err);
void rp_functions_free(rp_functions *functions);
/* The number of a function that was walked; SIZE_MAX of another. */
size_t rp_functions_index(const rp_functions *functions, const rp_function *function);

/* A copy of the program in which calls and maps are the instructions of their frames, for as long as no more than
 * `budget` are executed; cond, while and scan stay regions. Inputs and outputs keep their places, and number[k] is what
 * instruction k is in the text that it comes from: the program's (where `names`, if not NULL, has it) or a function's.
 * *out is NULL where there is nothing to write, or too much. Errors: RP_ENOMEM. */
rp_status rp_program_write_out(const rp_program *p, const uint32_t *names, size_t budget, rp_program **out,
                               uint32_t **number, rp_error *err);

/* How a text names a function: by its number, or as the caller of rp_function_text says. */
typedef struct rp_function_namer {
    void (*put)(rp_buffer *out, const void *self, const rp_function *function);
    const void *self;
} rp_function_namer;
/* Appends {"instructions":..,"outputs":..,"parameters":..}. */
void rp_function_text(rp_buffer *out, const rp_function *function, rp_function_namer namer);
/* Appends the attributes of a region, {..}. */
void rp_region_text(rp_buffer *out, const rp_region *region, rp_function_namer namer);

#endif
