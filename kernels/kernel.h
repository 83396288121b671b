/* SPDX-License-Identifier: Apache-2.0
 * What a kernel is: a function over strided views that computes items [begin, end) of an operation's independent
 * work items. Any cut of [0, items) gives the same bits, so threads (and later devices) are circumstance.
 * Kernels cannot fail: core has validated shapes, dtypes and index ranges before the call. */
#ifndef KERNELS_KERNEL_H
#define KERNELS_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rp/dtype.h"

/* How functions are qualified that several files of kernels use. Where a GPU's compiler reads them (kernels/gpu/) each
 * file has its own. */
#ifndef RP_KERNEL_FN
#define RP_KERNEL_FN
#endif
/* And those that call a function that they are given: there they are put in place, so that all calls are direct. */
#ifndef RP_KERNEL_CALLER
#define RP_KERNEL_CALLER
#endif
/* And long ones that many kernels use: there they stay apart, so that the kernels are short. */
#ifndef RP_KERNEL_APART
#define RP_KERNEL_APART
#endif

typedef struct rp_view {
    void *data; /* element 0, on the device the kernel runs on */
    rp_dtype dtype;
    int rank;
    size_t shape[RP_MAX_RANK];
    ptrdiff_t stride[RP_MAX_RANK]; /* in elements; 0 along a broadcast axis */
} rp_view;

/* One attribute of an instruction. Which members count is fixed by the operation's rows in kernels/operations.def. */
typedef struct rp_attr {
    int64_t i;                 /* integer, boolean, dtype or axis */
    double r;                  /* real */
    int n;                     /* length of list */
    int64_t list[RP_MAX_RANK]; /* axes, shape, begin, end, permutation */
} rp_attr;

enum { RP_MAX_ATTR = 5 };

typedef struct rp_kernel_args {
    const rp_view *in;
    size_t n_in;
    const rp_view *out; /* never overlaps an input, except that elementwise kernels may run in place */
    size_t n_out;
    const rp_attr *attr; /* those that the operation has */
} rp_kernel_args;

typedef struct rp_kernel {
    /* The number of independent items, e.g. output elements or rows. */
    size_t (*items)(const rp_kernel_args *args);
    /* Computes items [begin, end). */
    void (*run)(const rp_kernel_args *args, size_t begin, size_t end);
    /* Rough cost of one item in elementary operations: decides only whether threads are worth waking. */
    size_t (*cost)(const rp_kernel_args *args);
} rp_kernel;

/* Kernel identifiers. */
typedef enum rp_kernel_id {
#define ROW(name) RP_K_##name,
#define KERNEL(name, ...) RP_K_##name,
#include "kernels/operations.def"
    RP_K_COUNT
} rp_kernel_id;

/* Places of the attributes: each operation counts its own from 0. RP_AT(attr, gather, axis) is the attribute axis of
 * gather; of operations that share a kernel with attributes in the same places, any may be named. */
enum {
#define ROW(name) RP_AT_BEFORE_##name = -1,
#define VIEW(name, ...) ROW(name)
#define MAP1P(name, cost, way, domain, p, ...) RP_AT_##name##_##p = 0,
#define MAP1Q(name, cost, way, domain, p, p0, q, ...) RP_AT_##name##_##p = 0, RP_AT_##name##_##q,
#define ATTR(op, name, kind) RP_AT_##op##_##name,
#include "kernels/operations.def"
    RP_AT_END
};
#define RP_AT(attr, op, name) ((attr)[RP_AT_##op##_##name])

/* Sets of element types. */
enum {
    RP_D_FLOAT = 1 << RP_F32 | 1 << RP_F64,
    RP_D_INT = 1 << RP_I32 | 1 << RP_I64,
    RP_D_BOOL = 1 << RP_BOOL,
    RP_D_NUMBER = RP_D_FLOAT | RP_D_INT,
    RP_D_ANY = RP_D_NUMBER | RP_D_BOOL,
    RP_D_U32 = 1 << RP_U32, /* bits, and elementwise arithmetic: named where an operation takes it */
    RP_D_BITS = RP_D_INT | RP_D_U32,
    RP_D_ORDERED = RP_D_NUMBER | RP_D_U32,
    RP_D_COMPARED = RP_D_ORDERED | RP_D_BOOL,
    RP_D_BF16 = 1 << RP_BF16, /* storage: in RP_D_ANY nowhere, named where an operation takes it */
    RP_D_FACTOR = RP_D_FLOAT | RP_D_BF16,
    RP_D_REAL = RP_D_FACTOR | 1 << RP_F16, /* what gradients reach through */
    RP_D_STORED = RP_D_ANY | RP_D_REAL | RP_D_U32 | 1 << RP_I8 | 1 << RP_U8 | 1 << RP_I16
};

/* What a row says beside its types. */
enum {
    RP_OP_BROADCAST = 1,   /* inputs are broadcast to the output's shape by strides before the kernel runs */
    RP_OP_INPLACE = 2,     /* output i may share input i's memory when types and layout agree */
    RP_OP_INDEXED = 4,     /* an input holds indices: the executor checks their range before the kernel runs */
    RP_OP_ELEMENTWISE = 8, /* element i of the outputs needs only element i of the operands of their shape */
    RP_OP_BATCHED = 16,    /* as BROADCAST, but for the last two axes */
    RP_OP_ALONG = 32,      /* a result runs over an axis of any length */
    RP_OP_CONSTANT = 64,   /* the real attribute value is kept as an integer too where the output is not real */
    RP_OP_PART = 128,      /* a view that begins inside its operand */
    RP_OP_REGION = 256,    /* executes functions (core/program/function.h); no row of the table */
    RP_OP_IN_ORDER = 512,  /* a view of all elements of its operand, in their order */
    RP_OP_REDUCES = 1024,  /* along the axes that its first attribute lists, of one operand */
    /* and of the elementwise kinds of rows */
    RP_OP_OF_ONE = RP_OP_ELEMENTWISE | RP_OP_INPLACE,
    RP_OP_OF_TWO = RP_OP_OF_ONE | RP_OP_BROADCAST,
    RP_OP_OF_COMPARE = RP_OP_ELEMENTWISE | RP_OP_BROADCAST
};

unsigned rp_kernel_flags(rp_kernel_id kernel);   /* its row's */
const char *rp_kernel_name(rp_kernel_id kernel); /* e.g. "add"; NULL outside the enumeration */
size_t rp_kernel_attributes(rp_kernel_id kernel);

typedef struct rp_fused rp_fused;
typedef void rp_fused_run(const rp_fused *fused, size_t begin, size_t end); /* kernels/fused.h */

/* One kernel an identifier; a level without its own variant points at the reference, visibly. */
typedef struct rp_kernel_table {
    const char *level; /* "ref", "sse2", "avx2", "avx512", "neon" */
    const rp_kernel *kernel[RP_K_COUNT];
    rp_fused_run *fused; /* steps of a chain in registers; NULL at "ref" */
} rp_kernel_table;

/* The table for a level: NULL or "" asks RP_ISA in the environment, else the best the host has.
 * Errors: RP_EARG for an unknown level, RP_EUNSUPPORTED when this host or build lacks it. Never a silent fallback. */
rp_status rp_kernel_table_get(const rp_kernel_table **out, const char *level, rp_error *err);
/* The levels this host can run, best last; returns how many. "ref" is always the first. */
size_t rp_kernel_levels(const char *const **names);

#endif
