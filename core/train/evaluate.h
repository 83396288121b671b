/* SPDX-License-Identifier: Apache-2.0
 * Losses and scores without training (CONTRACT 12.6). Rows are independent, so they go through the model in blocks:
 * activations take the memory of one block, however many rows there are. */
#ifndef CORE_TRAIN_EVALUATE_H
#define CORE_TRAIN_EVALUATE_H

#include "core/train/model.h"

enum { RP_BLOCK_ROWS = 1024 };

/* Rows of the run's data, by name. */
typedef struct rp_part {
    const char *x, *y, *w; /* [rows, features] of the model's type; targets and, of a weighted model, weights as
                              rp_model_row_losses takes them */
    size_t rows;           /* at least 1 */
    double total;          /* what the sum of losses is divided by; 0: rows */
} rp_part;

/* Appends the evaluation of a part under these weights: its loss and, where scores is not NULL, [rows, outputs].
 * Errors: RP_ENOMEM; others are the graph's. */
rp_status rp_evaluate_part(const rp_model *model, const rp_run *run, rp_graph *graph, const rp_tensor *weight,
                           const rp_part *part, rp_tensor *loss, rp_tensor *scores, rp_error *err);

/* Appends the evaluation of a part under the run's weights, with the results "loss" and "scores" [rows, outputs].
 * Errors: RP_ENOMEM; others are the graph's. */
rp_status rp_evaluation(const rp_model *model, const rp_run *run, rp_graph *graph, const rp_part *part, rp_error *err);

/* Its result "scores" as it was last computed, widened where it is binary32. */
rp_status rp_evaluation_scores(const rp_compiled *compiled, double *scores, rp_error *err);

/* Scores rows that are no data of the run. */
typedef struct rp_scorer rp_scorer;

/* Borrows both: the run has the model's parameters as states. */
rp_status rp_scorer_new(rp_scorer **out, const rp_model *model, rp_run *run, rp_error *err);
void rp_scorer_free(rp_scorer *scorer); /* before the run; NULL is fine */
/* What that many rows would cost, at most RP_BLOCK_ROWS; the program is made, and not executed. */
rp_status rp_scorer_price(rp_scorer *scorer, size_t rows, rp_price *price, rp_error *err);
/* x [rows, features] of the model's type to scores [rows, outputs] as above, of at most RP_BLOCK_ROWS rows. */
rp_status rp_scorer_score(rp_scorer *scorer, const void *x, size_t rows, double *scores, rp_error *err);

#endif
