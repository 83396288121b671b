/* SPDX-License-Identifier: Apache-2.0
 * The op table: one row an operation, holding its name, kernel, attributes, shape rule and gradient rule. The tape, the
 * static graph and the audit trace all speak in these rows. */
#ifndef CORE_PROGRAM_OP_H
#define CORE_PROGRAM_OP_H

#include <stdbool.h>

#include "kernels/kernel.h"
#include "rp/program.h"

/* Elements of one tensor, lengths of 0 counted as 1, so that byte counts and strides never overflow. */
static const size_t rp_elements_max = (size_t)1 << 40;
/* Whether a type is one: a known dtype, 0 to RP_MAX_RANK axes, at most rp_elements_max elements. */
bool rp_type_valid(const rp_type *type);
size_t rp_type_count(const rp_type *type); /* elements; rank 0 has one */
size_t rp_type_bytes(const rp_type *type);
bool rp_type_equal(const rp_type *a, const rp_type *b);
void rp_type_text(const rp_type *type, char *out, size_t size); /* "f32[3,4]"; size >= 192 */
/* The contiguous row-major view of data. */
rp_view rp_view_of(const rp_type *type, void *data);
bool rp_view_contiguous(const rp_view *view);
/* Elements [first, first + n) along axis 0; element i along it, without that axis. */
rp_view rp_view_range(const rp_view *view, uint64_t first, uint64_t n);
rp_view rp_view_index(const rp_view *view, uint64_t i);

typedef struct rp_attr_spec {
    const char *name;
    rp_attr_kind kind;
} rp_attr_spec;

/* Which operand of an RP_OP_INDEXED row holds the indices, and what they must be under. */
typedef enum rp_bound { RP_BOUND_ATTR, RP_BOUND_AXIS, RP_BOUND_LAST } rp_bound;

typedef struct rp_indices {
    unsigned char operand;
    rp_bound bound;
    unsigned char of;   /* the operand whose axis is the bound */
    unsigned char attr; /* the attribute that is the bound, or the axis */
} rp_indices;

/* What a price counts (audit/FORMAT.md 9): elements read and made, and of products two for each multiplication. */
typedef enum rp_work {
    RP_WORK_ELEMENTS,
    RP_WORK_ELEMENTS_TWICE,      /* of operations that come to each element several times, or to each in its own way */
    RP_WORK_TAKEN,               /* of operand 0 only what is taken */
    RP_WORK_TRANSFORM,           /* as RP_WORK_ORDER, of an operation that reads lines as they lie */
    RP_WORK_ORDER,               /* two for each bit of the first operand's last length, for each element of the last */
    RP_WORK_KEPT,                /* sixteen for each of operand 1 beside each of a line of the output */
    RP_WORK_MATRIX,              /* the last axis of operand 0 for each element of the output */
    RP_WORK_TAPS,                /* operand 1, a weight [r, s, c / groups, k], for each element of the output */
    RP_WORK_TAPS_OF_INPUT,       /* its taps over k / groups, for each element of the output, the image's gradient */
    RP_WORK_TAPS_OF_WEIGHT,      /* the output is the weight's gradient: for each element of operand 1 */
    RP_WORK_WINDOWS,             /* the window for each element of the output */
    RP_WORK_WINDOWS_OF_GRADIENT, /* the window for each element of operand 0 */
    RP_WORK_ATTENTION,           /* of operands q, k, v: each score three times, and its product with v */
    RP_WORK_ATTENTION_GRADIENT   /* of operands g, q, k, v: the same with its gradients */
} rp_work;

/* What an operation is in a pattern of several instructions. Passes of plans and all others that look for patterns ask
 * for it, never which operation they have before them. Who plays a role has its attributes, in the same places. */
typedef enum rp_op_role {
    RP_PLAYS_NONE,
    RP_PLAYS_FILL, /* one value in every element: value, dtype */
    RP_PLAYS_CAST, /* x in another type */
    RP_PLAYS_ADD,  /* a + b, element by element */
    RP_PLAYS_MUL,
    RP_PLAYS_PRODUCT, /* of matrices */
    RP_PLAYS_SOFTMAX, /* of the last axis */
    RP_PLAYS_SOFTMAX_GRAD,
    RP_PLAYS_SUM, /* along axes */
    RP_PLAYS_MEAN,
    RP_PLAYS_RESHAPE,
    RP_PLAYS_TRANSPOSE,
    RP_PLAYS_PAD,    /* with zeros: before, after */
    RP_PLAYS_CONCAT, /* the operands one behind the other along an axis; of one operand a copy */
    RP_PLAYS_GATHER  /* the places along an axis that indices name */
} rp_op_role;

/* Which values that a gradient rule reads may wait for it as bf16 (CONTRACT 11.8): where rounding them is as small an
 * error in the gradient. */
typedef enum rp_halves {
    RP_HALVES_NONE,
    RP_HALVES_FIRST = 1, /* operand 0 */
    RP_HALVES_PAIR = 2,  /* operands 0 and 1, each for the gradient of the other */
    RP_HALVES_THREE = 3, /* operands 0, 1 and 2 */
    RP_HALVES_OPERANDS = 3,
    RP_HALVES_RESULT = 4,
    RP_HALVES_FIRST_AND_RESULT = 5
} rp_halves;

enum { RP_MAX_OUT = 3, RP_MANY = -1 };

typedef struct rp_op rp_op;

/* Fills out[0 .. n_out) from the inputs' types, or says what does not fit. */
typedef rp_status rp_infer_fn(const rp_op *op, const rp_attr *attr, const rp_type *in, size_t n_in, rp_type *out,
                              rp_error *err);
/* A view operation's output view on its input's memory; false when strides cannot say it and a copy is needed. */
typedef bool rp_alias_fn(const rp_attr *attr, const rp_view *in, const rp_type *out_type, rp_view *out);

/* What a gradient rule works on: appends instructions and fills grad_in[i] (a contribution for input i) where need[i].
 * A grad_in left without a graph means "no contribution". */
typedef struct rp_vjp_args {
    const rp_attr *attr;
    const rp_tensor *in, *out;
    size_t n_in;
    const rp_tensor *grad_out; /* of each output; without a graph where there is none, but never for all outputs */
    const bool *need;
    rp_tensor *grad_in;
    const bool *turned; /* of a product: whether nothing but the gradient of a transpose that exchanges the last two
                           axes is to read the gradient of operand 0, 1 */
} rp_vjp_args;
typedef void rp_vjp_fn(const rp_vjp_args *args);

struct rp_op {
    const char *name;
    rp_kernel_id kernel;
    int n_in; /* RP_MANY: one or more */
    int n_out;
    unsigned flags;  /* RP_OP_ of kernels/kernel.h */
    unsigned dtypes; /* RP_D_ mask of what input 0 (or, without inputs, the output) may be */
    rp_infer_fn *infer;
    rp_alias_fn *alias; /* view operations only */
    rp_vjp_fn *vjp;     /* NULL: not differentiable; a gradient stops here */
    rp_attr_spec attr[RP_MAX_ATTR];
    rp_indices indices;
    rp_work work;
    rp_op_role role;
    rp_halves halves;
    const rp_op *also;              /* whose result the kernel makes too, of the same operand; NULL: none */
    const char *operands, *results; /* names with commas between them; NULL: rp_op_operands and rp_op_results say */
    bool (*allows)(const rp_attr *attr, rp_dtype dtype); /* what real attributes may be; NULL: whatever infer takes */
    const char *allowed;                                 /* in words */
};

/* Names as audit/FORMAT.md 9.4 has them, "x, gamma, beta"; "" where there are none, "x, .." for one or more. */
const char *rp_op_operands(const rp_op *op);
const char *rp_op_results(const rp_op *op);

/* The outputs' types, after the number of operands and the first one's dtype were checked. Errors: RP_ESHAPE. */
rp_status rp_op_types(const rp_op *op, const rp_attr *attr, const rp_type *in, size_t n_in, rp_type *out,
                      rp_error *err);
/* For RP_OP_INDEXED rows: the exclusive bound of the indices, which are operand op->indices.operand. */
size_t rp_op_index_bound(const rp_op *op, const rp_attr *attr, const rp_type *in);

/* Operation identifiers, a row each in kernels/operations.def. */
typedef enum rp_op_id {
#define ROW(name) RP_OP_##name,
#define VIEW(name, ...) RP_OP_##name,
#include "kernels/operations.def"
    RP_OP_COUNT
} rp_op_id;

const rp_op *rp_op_get(rp_op_id id);
const rp_op *rp_op_find(const char *name); /* NULL when unknown */
rp_op_id rp_op_index(const rp_op *op);

/* Appends one instruction to the graph the inputs belong to; out gets op->n_out handles. With a graph in error, or a
 * foreign input, nothing happens and out is invalid (the graph keeps its first error). */
void rp_emit(rp_graph *graph, rp_op_id id, const rp_attr *attr, const rp_tensor *in, size_t n_in, rp_tensor *out);

#endif
