/* SPDX-License-Identifier: Apache-2.0
 * What the files of the pass over scans share: core/run/scans/scans.c finds equal ones and writes the program that is
 * executed, core/run/scans/keep.c finds what a gradient need not compute again, core/run/scans/panels.c matrices that
 * frames read better in another order, core/run/scans/sums.c sums that get scans of their own. */
#ifndef CORE_RUN_SCANS_H
#define CORE_RUN_SCANS_H

#include "core/run/plan_private.h"

#define NO_SCAN UINT32_MAX
#define SEVERAL (UINT32_MAX - 1)

/* One scan of the program. */
typedef struct scan {
    uint32_t instr;
    uint32_t leader;  /* the first scan that is equal but for its history; itself */
    uint32_t history; /* of a leader: the first of its equals that gives it, an instruction; NO_SCAN */
    uint32_t forward; /* the scan whose function's instructions this one's begins with; NO_SCAN */
    uint32_t *kept;   /* of each value of its function: its place among those that it stores; NO_SCAN */
    uint32_t *stored; /* those, by their values in the program that is written */
    size_t n_stored;
    uint32_t partner; /* the other one of a pair that goes by segments; NO_SCAN */
    uint32_t *start;  /* of a forward that does: what it carried where segments begin, in the program that is written */
    rp_function *function;     /* what it executes instead of its own; NULL: its own */
    unsigned char *panels;     /* of each parameter of it: how it is a matrix in panels, 0: it is none; NULL: none is */
    struct rp_scan_sums *sums; /* that it leaves to scans of their own; NULL: none */
} scan;

typedef struct scans {
    const rp_program *p;
    scan *scan;
    size_t n;
    uint32_t *of;              /* of each instruction: its scan; NO_SCAN */
    uint32_t *same;            /* of each value: the first that is equal */
    uint32_t *sliced, *shared; /* of each value: which parameter it is of the scan that is looked at; NO_SCAN */
    uint32_t *reader;          /* of each value: the instruction that reads it; NO_SCAN: none; SEVERAL */
    uint64_t every;            /* rows of a segment; 0: none are made */
    size_t room;               /* bytes that may still be stored */
    bool changes;
    bool lays; /* a matrix is laid out in panels */
} scans;

/* Finds scans that begin with another's function, and gives both the functions that they execute. Errors: RP_ENOMEM. */
rp_status rp_scans_keep(scans *s, rp_error *err);

/* Finds matrices that are to be laid out in panels, and gives their scans functions that take them so. Errors:
 * RP_ENOMEM. */
rp_status rp_scans_panels(scans *s, rp_error *err);
/* Finds sums that are to have scans of their own, and makes their functions. Errors: RP_ENOMEM. */
rp_status rp_scans_sums(scans *s, rp_error *err);
/* Appends a scan without its sums, and those, to a program in which its operands are in[..]. r: the scan with all; out:
 * what its function's outputs are there. Errors: RP_ENOMEM; RP_EUNSUPPORTED, RP_ESHAPE: it has no such form. */
rp_status rp_scans_put_sums(const struct rp_scan_sums *sums, rp_program *to, const rp_region *r, const uint32_t *in,
                            size_t n_in, uint32_t *out, rp_error *err);
void rp_scan_sums_free(struct rp_scan_sums *sums); /* NULL is fine */
/* The matrix *value of a program becomes a view of its panels; how: as in `scan`. Errors: RP_ENOMEM. */
rp_status rp_scans_lay_panels(rp_program *to, unsigned char how, uint32_t *value, rp_error *err);

/* Appends an instruction to a program in which its operands are value[..], and notes what its values are there. */
rp_status rp_plan_copy_instr(rp_program *to, const rp_instr *instr, uint32_t *value, rp_error *err);
/* The scan f, and d that reads its history, by segments (core/run/scans/segments.c): appends them to a program in which
 * their operands are in[..], which change. out: the values that their functions give. start: twice what f carries, made
 * by the first and read by the second. Errors: RP_ENOMEM; RP_EUNSUPPORTED, RP_ESHAPE: it has no such form. */
rp_status rp_scans_forward(const scans *s, size_t f, size_t d, rp_program *to, uint32_t *in, uint32_t *out,
                           uint32_t *start, rp_error *err);
rp_status rp_scans_backward(const scans *s, size_t f, size_t d, rp_program *to, uint32_t *in, uint32_t *out,
                            const uint32_t *start, rp_error *err);

static inline const rp_instr *instr_of(const scans *s, size_t i)
{
    return &s->p->instr[s->scan[i].instr];
}

#endif
