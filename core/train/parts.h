/* SPDX-License-Identifier: Apache-2.0
 * Loss and gradients of a batch (CONTRACT 12.3): whole, or a map over the shards of each micro-batch. */
#ifndef CORE_TRAIN_PARTS_H
#define CORE_TRAIN_PARTS_H

#include "core/train/model.h"

enum { RP_PARTS_DATA = 3 };

struct rp_part_rows;

/* A batch of anything: `count` rows, what the run has that they are taken from, and their loss. */
typedef struct rp_parts {
    size_t n_parameters, count, shards, accumulate;
    bool mixed; /* gradients in mixed precision (CONTRACT 11.8) */
    const rp_run *run;
    const char *const *data; /* names of the run's data, at most RP_PARTS_DATA */
    size_t n_data;
    int64_t streams; /* of dropout, that each part has for itself */
    /* Of these rows, divided by the batch's count. */
    rp_tensor (*loss)(const struct rp_parts *parts, const rp_tensor *weight, const struct rp_part_rows *rows);
    const void *self;
} rp_parts;

/* Some rows of a batch. data: as named, NULL: to be taken of the run. rng without a graph: no dropout; part, its
 * number, without one: it is all of them. */
typedef struct rp_part_rows {
    rp_tensor rows, rng, part;
    const rp_tensor *data;
} rp_part_rows;

/* What dropout in these rows takes. */
rp_tensor rp_part_rng(const rp_parts *parts, const rp_part_rows *rows);

/* Appends loss and gradients to g. rows: [count, ...], of which each part gets some. total: the gradients of the
 * parameters, then the loss. Errors: RP_ENOMEM; others are the graph's. */
rp_status rp_parts_of(const rp_parts *parts, rp_graph *g, const rp_tensor *weight, rp_tensor rows, rp_tensor rng,
                      rp_tensor *total, rp_error *err);

/* The same of a table's rows: i64 [count] of train_x and train_y; rng: as rp_model_forward takes it. */
rp_status rp_parts_gradients(const rp_model *model, const rp_run *run, rp_graph *g, const rp_tensor *weight,
                             rp_tensor rows, rp_tensor rng, size_t count, rp_tensor *total, rp_error *err);

#endif
