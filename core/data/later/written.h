/* SPDX-License-Identifier: Apache-2.0
 * Columns of new rows as they are written, whether they are features or not: outcomes, slices, groups. */
#ifndef CORE_DATA_LATER_WRITTEN_H
#define CORE_DATA_LATER_WRITTEN_H

#include "core/data/dataset.h"

typedef struct rp_written rp_written;

/* Reads names alone; borrows all that it is given, until it is freed. Errors: those of rp_rows_open. */
rp_status rp_written_open(rp_written **out, const rp_schema *schema, const rp_recipe *recipe, const void *csv,
                          size_t size, const char *where, rp_error *err);
void rp_written_free(rp_written *texts); /* NULL is fine */
/* A column by its name, or without a header by its number from 0: it will be loaded. Errors: RP_EARG, naming the
 * columns that there are. */
rp_status rp_written_want(rp_written *texts, const char *name, size_t *col, rp_error *err);
/* Reads the rows, once: the columns that are wanted, and the target's if the table has it. pool may be NULL. */
rp_status rp_written_load(rp_written *texts, rp_pool *pool, rp_error *err);
/* The same, but that a row which the recipe's conditions (data.where) leave out has no cell: all are missing.
 * *left_out: how many are. Errors: also RP_EARG: a condition is on a column that is not there; RP_EDATA: a cell that it
 * cannot be held against. */
rp_status rp_written_load_kept(rp_written *texts, rp_pool *pool, size_t *left_out, rp_error *err);
/* How many rows have the cells that an outcome is made of, the target's and of counts the trials', in the table of all,
 * and in the other, which is the same file read with further words for a missing cell, not both. Both are loaded. */
size_t rp_written_called_missing(const rp_written *all, const rp_written *texts);
size_t rp_written_rows(const rp_written *texts);
/* The cells of a loaded column: out [rows], NULL where one is missing. They live as long as the object. */
void rp_written_column(const rp_written *texts, size_t col, const char **out);
/* Whether the text is a finite number under the recipe's rules. */
bool rp_written_number(const rp_written *texts, const char *text, double *out);
/* What the rows came to, as far as it is known: label [rows] of classes, or value [rows] of a regression, and known
 * [rows]; the other of the two is NULL. Nothing is known where the table has no target. row [n], ascending and
 * distinct: only of these is anything known; NULL: of all. Of counts the value is the proportion, known where there are
 * trials. Errors: RP_EDATA: a class that was none in training, no number, no count, no column of trials, a row that the
 * table has not. */
rp_status rp_written_outcomes(const rp_written *texts, const int64_t *row, size_t n, int64_t *label, double *value,
                              bool *known, rp_error *err);

#endif
