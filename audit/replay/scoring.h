/* SPDX-License-Identifier: Apache-2.0
 * Rows scored with what an archive holds. */
#ifndef AUDIT_REPLAY_SCORING_H
#define AUDIT_REPLAY_SCORING_H

#include "audit/archive/archive_private.h"
#include "audit/archive/tensor_set.h"
#include "core/data/dataset.h"
#include "core/train/model.h"
#include "rp/audit.h"

typedef struct rp_scoring {
    rp_recipe *recipe;
    rp_schema *schema;
    rp_model model;
    rp_tensor_set *weights;
    rp_run *run;
    rp_buffer written; /* rows that came as arrays, as a table; empty else */
    const void *csv;   /* the rows' table: what was given, or written */
    size_t size;
    rp_rows *rows;
    double *scores; /* [rows, outputs] */
} rp_scoring;

/* Borrows archive, where and csv while it lives; rows of a run on arrays may be an .npy or a .safetensors file. own: it
 * is the archive's table, and filter, as rp_rows_open has it, its recipe unless another is given. Errors:
 * RP_EUNSUPPORTED for a run of the C API and beyond what options allow; those of rp_rows_open and rp_rows_encode. */
rp_status rp_scoring_new(rp_scoring **out, const rp_archive *archive, const void *csv, size_t size, const char *where,
                         bool own, const rp_recipe *filter, const rp_job_options *options, rp_error *err);
/* The model and its weights alone: no rows, no scores. */
rp_status rp_scoring_open(rp_scoring **out, const rp_archive *archive, const rp_job_options *options, rp_error *err);
void rp_scoring_free(rp_scoring *scoring); /* NULL is fine */
/* The threads that it computes with, for tables that are read beside it; NULL: one. */
rp_pool *rp_scoring_pool(const rp_scoring *scoring);

#endif
