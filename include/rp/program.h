/* SPDX-License-Identifier: Apache-2.0
 * The program as an interface: what a binding, an importer or a generator of models needs, and nothing else.
 *
 * The table of operations can be asked (names, attributes, types), an operation is appended by its name, a symbolic
 * graph becomes a program without computing anything, a program is text (audit/FORMAT.md 9) and back, and a program
 * bound to a run's states and data is stepped any number of times. Programs built here, by rp/tensor.h or by a recipe
 * are the same thing: equal instructions give equal bytes.
 *
 * A symbolic graph takes all operations of rp/tensor.h and rp/image.h, rp_gradients among them. Its errors are sticky,
 * as there: the first one is kept, and rp_graph_finish reports it. A graph, and what is compiled, belong to one thread
 * at a time. */
#ifndef RP_PROGRAM_H
#define RP_PROGRAM_H

#include "rp/run.h"

typedef struct rp_program rp_program;
typedef struct rp_compiled rp_compiled; /* a program bound to a run */

/* A tensor's static description. Lengths beyond the rank are not looked at. */
typedef struct rp_type {
    rp_dtype dtype;
    int rank;
    size_t shape[RP_MAX_RANK];
} rp_type;

/* ---- operations, by reflection ---- */

typedef enum rp_attr_kind {
    RP_ATTR_NONE,
    RP_ATTR_INT,
    RP_ATTR_BOOL,
    RP_ATTR_REAL,
    RP_ATTR_LIST, /* at most RP_MAX_RANK integers */
    RP_ATTR_DTYPE
} rp_attr_kind;

enum { RP_OP_ATTRIBUTES = 8, RP_OP_MANY = -1 };

/* A row of the table. Texts live as long as the library. */
typedef struct rp_op_info {
    const char *name;
    int inputs; /* RP_OP_MANY: one or more */
    int outputs;
    const char *operands,
        *results;        /* their names in order, ", " between them: "x, gamma, beta"; "x, ..": one or more */
    unsigned dtypes;     /* bit 1 << dtype: what operand 0 (or, without operands, the output) may be */
    bool elementwise;    /* element i of the outputs needs only element i of the operands */
    bool broadcasts;     /* operands stretch to a common shape */
    bool view;           /* computes nothing: other places of the same elements */
    bool differentiable; /* false: a gradient ends here, or asking for one is an error (CONTRACT 11.4) */
    int index_operand;   /* the operand that holds indices, whose range is checked when a step runs; -1: none */
    int attributes;
    struct {
        const char *name;
        rp_attr_kind kind;
    } attribute[RP_OP_ATTRIBUTES]; /* in the order of the contract's clause */
} rp_op_info;

RP_API size_t rp_op_count(void);
/* False when there is no such row; *info is then untouched. */
RP_API bool rp_op_at(size_t index, rp_op_info *info);
RP_API bool rp_op_named(const char *name, rp_op_info *info);

/* An attribute by name. Which member counts is told by kind; RP_ATTR_BOOL and RP_ATTR_DTYPE use `integer`. */
typedef struct rp_attribute {
    const char *name;
    rp_attr_kind kind;
    int64_t integer;
    double real;
    const int64_t *list; /* borrowed */
    size_t length;
} rp_attribute;

/* The types of an operation's outputs, without a graph. out has room for the row's outputs.
 * Errors: RP_EARG (no such operation; an attribute missing, unknown, given twice or of another kind), RP_ESHAPE. */
RP_API rp_status rp_op_infer(const char *op, const rp_attribute *attribute, size_t n_attribute, const rp_type *in,
                             size_t n_in, rp_type *out, rp_error *err);

/* ---- building ---- */

/* A graph that computes nothing. Freed by rp_graph_finish or rp_graph_discard. */
RP_API rp_status rp_graph_symbolic(rp_graph **out, rp_error *err);
RP_API void rp_graph_discard(rp_graph *graph); /* NULL is fine */

/* Instructions so far; 0 of no graph. */
RP_API size_t rp_graph_length(const rp_graph *graph);
/* Takes the instructions from the length-th on away, and the graph's error with them, as if the calls that appended
 * them had not been made: for bindings, whose callers catch errors and go on. Of a run's step too. Handles of what is
 * gone must not be used. Errors: RP_EARG where one of them is an output or is printed, an input was declared behind
 * them, or an instruction before them had a wrong index; the graph is then as it was. */
RP_API rp_status rp_graph_retract(rp_graph *graph, size_t length, rp_error *err);

/* The last of each are a function's: without names. */
typedef enum rp_input_kind { RP_INPUT_STATE, RP_INPUT_DATA, RP_INPUT_FEED, RP_INPUT_PARAMETER } rp_input_kind;
typedef enum rp_output_kind { RP_OUTPUT_STATE, RP_OUTPUT_RESULT, RP_OUTPUT_VALUE } rp_output_kind;

/* An input: a state of the run, data bound once, or a feed of each step. The same kind and name again, with the same
 * type, is the same input; with another type an error. */
RP_API rp_tensor rp_graph_declare(rp_graph *graph, rp_input_kind kind, const char *name, const rp_type *type);
/* Appends one instruction by the operation's name. Attributes in any order; every one of the row's must be there. out
 * has room for n_out, which is the row's number of outputs. */
RP_API void rp_append(rp_graph *graph, const char *op, const rp_attribute *attribute, size_t n_attribute,
                      const rp_tensor *in, size_t n_in, rp_tensor *out, size_t n_out);
/* The new value of a state (declared by this call when it was not; its type is then the value's), or a result of the
 * step. A value that is an input or a view is copied first; the same name again replaces the former value. */
RP_API void rp_graph_update(rp_graph *graph, const char *state, rp_tensor value);
RP_API void rp_graph_result(rp_graph *graph, const char *name, rp_tensor value);
/* The graph's program; the graph is freed, also on failure. Errors: the graph's first one. */
RP_API rp_status rp_graph_finish(rp_graph *graph, rp_program **out, rp_error *err);

/* ---- functions and regions (CONTRACT 11.6) ---- */

/* A function is built as a symbolic graph is (rp_graph_symbolic), from parameters instead of inputs; it sees nothing
 * else. It is immutable, may be used by any number of regions of any graphs, and lives as long as one of them or its
 * owner. */
typedef struct rp_function rp_function;

/* The next parameter; all come before the first operation. */
RP_API rp_tensor rp_function_parameter(rp_graph *graph, const rp_type *type);
/* The next output. A parameter, or a value that is an output already, is copied by a reshape to its own shape. */
RP_API void rp_function_return(rp_graph *graph, rp_tensor value);
/* Frees the graph, also on failure. Errors: the graph's first one; RP_ESHAPE when it is no function. */
RP_API rp_status rp_function_finish(rp_graph *graph, rp_function **out, rp_error *err);
RP_API void rp_function_free(rp_function *function); /* NULL is fine */

/* Each appends one region to the graph and fills its values; a graph with a run's step executes it at once. Types of
 * operands must be exactly those of the parameters. Where an array of operands is empty it may be NULL. */

/* out: the function's outputs. In all five: no tensors after an error; with a function that is NULL its outputs are not
 * known, and out is as it was, as it is with options or an array that are NULL or more operands than a region has. */
RP_API void rp_call(rp_graph *graph, const rp_function *function, const rp_tensor *args, size_t n, rp_tensor *out);

/* function(index i64 [], carried, rows, shared) -> carried, stacked; for index 0 .. times - 1, or downwards. */
typedef struct rp_scan_options {
    const rp_function *function;
    const rp_tensor *carried, *sliced, *shared; /* sliced: [times, ..] */
    size_t n_carried, n_sliced, n_shared;
    uint64_t times;
    bool reverse;
    bool history; /* also gives what each iteration got as carried */
} rp_scan_options;
/* out: the last carried, [times, ..] of each stacked output, and with history [times, ..] of each carried. */
RP_API void rp_scan(rp_graph *graph, const rp_scan_options *options, rp_tensor *out);

/* What becomes of an output of a map's shards: added by the tree of CONTRACT 12.3, [shards that are not empty, ..], or
 * rows one after another. */
typedef enum rp_combine { RP_COMBINE_TREE, RP_COMBINE_STACK, RP_COMBINE_CONCAT } rp_combine;

/* function(index, slices, shared): shard s is rows cuts[s] .. cuts[s + 1] of what is sliced, its index is first + s. */
typedef struct rp_map_options {
    const rp_function *const *function; /* one a distinct length of a shard that is not empty, ascending */
    size_t n_function;
    const rp_tensor *sliced, *shared;
    size_t n_sliced, n_shared;
    const uint64_t *cuts; /* never descending; without sliced operands 0, 1, .. */
    size_t n_cuts;        /* shards + 1 */
    uint64_t first;
    const rp_combine *combine; /* of each output */
    size_t n_combine;
} rp_map_options;
RP_API void rp_map(rp_graph *graph, const rp_map_options *options, rp_tensor *out);

/* function[selector](args): selector i64 [], or bool [] with two functions, the first for false. Only that one runs. */
RP_API void rp_cond(rp_graph *graph, rp_tensor selector, const rp_function *const *function, size_t n_function,
                    const rp_tensor *args, size_t n, rp_tensor *out);

/* While predicate(index, carried, shared) is true and fewer than limit bodies ran: carried = body(index, carried,
 * shared). out: the count i64 [], then the carried. A gradient through it is an error: a bounded loop that needs one is
 * a scan of a cond. */
typedef struct rp_while_options {
    const rp_function *body, *predicate;
    const rp_tensor *carried, *shared;
    size_t n_carried, n_shared;
    uint64_t limit;
} rp_while_options;
RP_API void rp_while(rp_graph *graph, const rp_while_options *options, rp_tensor *out);

/* ---- programs ---- */

RP_API void rp_program_free(rp_program *program); /* NULL is fine */
/* Reads the canonical text and nothing else; trusts nothing. where names it in errors.
 * Errors: RP_EFORMAT, RP_EUNSUPPORTED (an operation or contract this build does not know), RP_ENOMEM. */
RP_API rp_status rp_program_read(rp_program **out, const void *text, size_t size, const char *where, rp_error *err);
/* The canonical text: copies at most `room` bytes to text (which may be NULL when room is 0) and sets *size to the
 * whole length, without a terminator. */
RP_API rp_status rp_program_text(const rp_program *program, void *text, size_t room, size_t *size, rp_error *err);

/* A program in two, for steps that go on with the same weights: *first computes what the program makes of data and of
 * states that it does not update (their transposes, say) and gives it as results; *rest is the program with data of
 * those results' names and types in its place. Steps of rest, given them, have the bits of the program's. What could be
 * an error of a step, regions, and what is larger than all it is made of stay in rest. Both are the caller's; both are
 * NULL where there is nothing of the kind, or values are printed. Errors: RP_EARG, RP_ENOMEM. */
RP_API rp_status rp_program_split(const rp_program *program, rp_program **first, rp_program **rest, rp_error *err);

typedef struct rp_program_sizes {
    size_t values, inputs, instructions, outputs;
} rp_program_sizes;
RP_API rp_program_sizes rp_program_count(const rp_program *program);

/* What the text costs, known before anything is computed (audit/FORMAT.md 9); 2^63 where it is that or more. */
typedef struct rp_price {
    uint64_t executed; /* X: instructions executed */
    uint64_t work;     /* W: operations on elements, and 16 for each instruction, operand, value; bounds the time */
    uint64_t memory;   /* M: bytes of values, in which a frame by frame execution fits */
} rp_price;
RP_API rp_price rp_program_price(const rp_program *program);

/* Bytes of the device that steps of a program take, known before anything is allocated. */
typedef struct rp_memory_needed {
    uint64_t states, data; /* that it takes as inputs */
    uint64_t own;          /* feeds and results */
    uint64_t values;       /* all else that a step computes, where most of it is alive: programs of a run take turns */
    uint64_t total;
    uint64_t work_again; /* operations on elements, as W counts them, of what is computed again to fit into `memory` */
} rp_memory_needed;
/* Of options, which may be NULL, device, level and memory count. Errors: RP_ENOMEM, with the least that it could do
 * with, where it cannot do with options->memory; those of the device. */
RP_API rp_status rp_program_memory(const rp_program *program, const rp_run_options *options, rp_memory_needed *out,
                                   rp_error *err);

typedef struct rp_input_info {
    rp_input_kind kind;
    const char *name; /* borrowed from the program, as all texts and lists here */
    uint32_t value;   /* values are numbered from 0 in order of appearance */
    rp_type type;
} rp_input_info;
typedef struct rp_output_info {
    rp_output_kind kind;
    const char *name;
    uint32_t value;
    rp_type type;
} rp_output_info;
typedef struct rp_instruction_info {
    const char *op;
    rp_attribute attribute[RP_OP_ATTRIBUTES];
    size_t attributes;
    const uint32_t *in, *out;
    size_t n_in, n_out;
} rp_instruction_info;

/* An instruction that executes functions, as rp_call and its like made it; its operands and values are told by
 * rp_program_instruction. Lists are borrowed; what a kind does not have is 0. */
typedef enum rp_region_kind { RP_CALL, RP_SCAN, RP_MAP, RP_COND, RP_WHILE, RP_REGION_KINDS } rp_region_kind;
typedef struct rp_region_info {
    rp_region_kind kind;
    const rp_function *const *function; /* of a while the body, then the predicate */
    size_t n_functions;
    size_t carried, sliced; /* operands, in this order before those that are shared */
    uint64_t times;         /* of a while its limit */
    bool history, reverse;
    uint64_t first;
    const uint64_t *cuts;
    size_t n_cuts;
    const unsigned char *combine; /* an rp_combine for each output of the functions */
    size_t n_combine;
} rp_region_info;
/* False when the instruction is past the end or an operation. */
RP_API bool rp_program_region(const rp_program *program, size_t instruction, rp_region_info *info);
/* What a function executes, borrowed from it: its inputs are the parameters, its outputs what it returns, all without
 * names. */
RP_API const rp_program *rp_function_body(const rp_function *function);

/* False when the index is past the end. */
RP_API bool rp_program_value(const rp_program *program, size_t value, rp_type *type);
RP_API bool rp_program_input(const rp_program *program, size_t index, rp_input_info *info);
RP_API bool rp_program_output(const rp_program *program, size_t index, rp_output_info *info);
RP_API bool rp_program_instruction(const rp_program *program, size_t index, rp_instruction_info *info);

/* ---- running ---- */

/* Binds a program to the run's states and data by name. The program is copied.
 * Errors: RP_EARG (a state or data that the run lacks, or has with another type), RP_ENOMEM. */
RP_API rp_status rp_compile(rp_compiled **out, rp_run *run, const rp_program *program, rp_error *err);
RP_API void rp_compiled_free(rp_compiled *compiled); /* NULL is fine; before its run */
/* Bytes of memory that steps need beside states, data and program. */
RP_API size_t rp_compiled_memory(const rp_compiled *compiled);
/* Fills a feed for the steps to come, host order, row-major; size must be exact. A feed keeps its value until it is
 * written again; a step with a feed that was never written is an error. Errors: RP_EARG. */
RP_API rp_status rp_compiled_write(rp_compiled *compiled, const char *feed, const void *bytes, size_t size,
                                   rp_error *err);
/* One step, watched by the run's observers like any other. After an error the states are the old ones, or, where some
 * had their new values already (an index out of range is told when it is met), the run is given up: it makes no further
 * step. Errors: before the first step RP_EUNSUPPORTED where the device lacks kernels, with the names of all that the
 * programs compiled so far need. */
RP_API rp_status rp_compiled_step(rp_compiled *compiled, rp_error *err);
/* A result of the last completed step, copied out with canonical NaNs; size must be exact. Errors: RP_EARG, before the
 * first step too. */
RP_API rp_status rp_compiled_read(const rp_compiled *compiled, const char *result, void *bytes, size_t size,
                                  rp_error *err);

/* One step, its feeds and its results at once: rp_compiled_write of each feed, rp_compiled_step and rp_compiled_read of
 * each result, with the same bits. What is large is neither copied in nor out where kernels can read and write the
 * caller's memory, on a CPU and while nobody observes the run: feeds are read until this returns. So such a feed is to
 * be written before a step without it, and such a result is here alone. A result in memory that is a feed's or another
 * result's too, in part or as a whole, is copied there behind the step, in the order of the list. On an error, which is
 * one of theirs, the results' memory holds anything. */
typedef struct rp_lent {
    const char *name;
    void *bytes; /* a feed's are only read */
    size_t size; /* exactly */
} rp_lent;
RP_API rp_status rp_compiled_call(rp_compiled *compiled, const rp_lent *feed, size_t n_feeds, const rp_lent *result,
                                  size_t n_results, rp_error *err);

/* ---- reals as the texts write them ---- */

enum { RP_REAL_SIZE = 32 };
/* The shortest decimal that reads back as x ("-0", "inf", "-inf", "nan" too), terminated. Returns its length. */
RP_API size_t rp_real_text(char out[RP_REAL_SIZE], double x);
/* Reads exactly such a text, or any decimal, correctly rounded. False when it is none. */
RP_API bool rp_real_read(double *out, const char *text);

/* Calls say where they stand: see rp_site. Written by scripts/sites.py. */
#if !defined(RP_BUILDING) && !defined(RP_NO_SITES)
#define rp_graph_declare(...) RP_SITED(rp_graph_declare, __VA_ARGS__)
#define rp_append(...) RP_SITE(rp_append, __VA_ARGS__)
#define rp_graph_update(...) RP_SITE(rp_graph_update, __VA_ARGS__)
#define rp_graph_result(...) RP_SITE(rp_graph_result, __VA_ARGS__)
#define rp_function_parameter(...) RP_SITED(rp_function_parameter, __VA_ARGS__)
#define rp_function_return(...) RP_SITE(rp_function_return, __VA_ARGS__)
#define rp_call(...) RP_SITE(rp_call, __VA_ARGS__)
#define rp_scan(...) RP_SITE(rp_scan, __VA_ARGS__)
#define rp_map(...) RP_SITE(rp_map, __VA_ARGS__)
#define rp_cond(...) RP_SITE(rp_cond, __VA_ARGS__)
#define rp_while(...) RP_SITE(rp_while, __VA_ARGS__)
#endif

#endif
