/* SPDX-License-Identifier: Apache-2.0
 * Cells and columns as preparation and prediction share them. Private to core. */
#ifndef CORE_DATA_SCHEMA_H
#define CORE_DATA_SCHEMA_H

#include <stdatomic.h>

#include "core/data/dataset.h"

/* What a column adds to the predictor of an exact fit: its number, or the number's logarithm. */
typedef enum rp_offset { RP_OFFSET_NONE, RP_OFFSET_NUMBER, RP_OFFSET_LOG } rp_offset;

typedef struct rp_schema_column {
    rp_column_kind kind; /* never auto */
    bool target;         /* kind is then RP_COL_IGNORE */
    bool date;           /* a date itself, with no features: kind is then RP_COL_IGNORE */
    bool derived;        /* the part of the date in column `source` of the schema */
    rp_date_part part;
    size_t source;
    const char *name;     /* NULL without a header; this and the categories live in the schema's json */
    double mean, divisor; /* numeric: encoded as (x - mean) / divisor, or as x when not standardize */
    bool standardize;
    const char **category; /* ascending bytes */
    size_t categories;     /* without the missing value's own */
    bool null_category;    /* the missing value has a category of its own, the last */
    bool other;            /* pooled and unknown categories have one of their own, the last */
    bool capped, log, indicator, imputes, binned, missing_bin; /* core/data/treat/treat.h */
    rp_offset offset;       /* its one feature has the coefficient 1 and is not learnt */
    double cap[2], missing; /* missing: the treated value of a missing cell, where imputes */
    double *edge, *woe;     /* [edges]; [groups], NULL: a feature a group */
    size_t edges;
    size_t width, at; /* features of the column, and where they begin */
} rp_schema_column;

/* Where cells are read from, and the rules for reading them. */
typedef struct rp_cells {
    const rp_recipe *recipe;
    const rp_table *table;
    const char *where;
    const rp_treatment *const *treatment; /* [the table's columns]; NULL: none has any */
    rp_error *err;
    bool recorded;         /* the rules are an archive's: no advice to change the recipe */
    rp_warnings *warnings; /* NULL: they are not wanted */
    rp_pool *pool;         /* NULL: the calling thread alone */
} rp_cells;

/* "column \"age\"" or "column 3" (index from 0, as in the recipe). Returns out. */
char *rp_column_label(char *out, size_t size, const rp_table *table, size_t col);
/* The cell's text as errors quote it. Returns out. */
char *rp_cell_quoted(char *out, size_t size, const rp_table *table, size_t row, size_t col);
enum { RP_LABEL_SIZE = 96, RP_QUOTED_SIZE = 64 };

/* A column of texts, or of texts and numbers, that nobody declared: RP_EDATA where it seems to hold numbers or dates
 * that a key would read, or words for missing values with spaces around them; warnings where that is less sure. */
rp_status rp_inspect_texts(const rp_cells *cells, size_t col);
/* A column of numbers: RP_EDATA where two of them have different prefixes or suffixes; warnings on leading zeros, and
 * on numbers without the prefix or suffix that others have. */
rp_status rp_inspect_numbers(const rp_cells *cells, size_t col);
/* The table's column that key of the recipe means. Errors: RP_EARG. */
rp_status rp_column_find(const rp_cells *cells, const rp_column_ref *ref, const char *key, size_t *out);
/* The dates that the recipe declares, on an open table: their parts are columns then. Errors: RP_EARG, RP_EDATA. */
rp_status rp_dates_declare(const rp_cells *cells, rp_table *table);
/* Those of a schema, on an open table of new rows, whose column of the schema's column i is source[i]: the places of
 * the parts are added to source. Errors: RP_EFORMAT (the recipe has no such date), RP_EDATA. */
rp_status rp_dates_follow(const rp_schema *schema, const rp_cells *cells, rp_table *table, size_t *source);
/* What the recipe says of each column: of a part of a date without a rule of its own, what it says of the date; NULL:
 * nothing. treatment [the table's columns]. Errors: RP_EARG. */
rp_status rp_treatments_find(const rp_treatment **treatment, const rp_cells *cells);
/* What the recipe says of column i of the schema; NULL: nothing. */
const rp_column_rule *rp_schema_rule(const rp_recipe *recipe, const rp_schema *schema, size_t i);
/* Columns of the schema that a table holds: the parts of dates stand behind them. */
size_t rp_schema_own(const rp_schema *schema);
/* The recipe's filter of rows on an open table; NULL where it has none. Errors: RP_EARG. */
rp_status rp_filter_resolve(rp_filter **out, const rp_cells *cells, size_t target);
/* The same of the table that a run was made of, read as later rows are: rows that are not kept have their places. */
rp_status rp_filter_own(rp_filter **out, const rp_cells *cells);
/* Its conditions alone, of whatever rows: likewise. */
rp_status rp_filter_conditions(rp_filter **out, const rp_cells *cells);
void rp_filter_free(rp_filter *filter); /* NULL is fine */
/* Warns of the rows that were left out. */
rp_status rp_filter_tell(const rp_cells *cells);
/* The key of data that gives a column another part than that of a feature (weight, time, group, ...): key [cols], which
 * is left as it is for other columns. Errors: RP_EARG: there is no such column. */
rp_status rp_columns_roles(const rp_cells *cells, const char **key);
/* The kind that the recipe gives each column of an open table, the target's being ignore. kind [cols]. */
rp_status rp_columns_declare(const rp_cells *cells, rp_column_kind *kind, size_t *target);
/* What is to be kept of each column. store [cols]. */
void rp_columns_store(const rp_recipe *recipe, const rp_column_kind *kind, size_t cols, size_t target, rp_store *store);
/* The column that data.offset or data.exposure names, which is then numeric; SIZE_MAX: none. Errors: RP_EARG (the
 * target, one that is declared otherwise). */
rp_status rp_offset_find(const rp_cells *cells, size_t *out);
/* That its cells, on a loaded table, are what can be added to a predictor. Errors: RP_EDATA. */
rp_status rp_offset_check(const rp_cells *cells, size_t col, rp_offset offset);
/* The feature, from 0, whose coefficient is 1; SIZE_MAX: none. */
size_t rp_schema_offset(const rp_schema *schema);
/* The columns that rows are divided by, which are compared as texts. Errors: RP_EARG. */
rp_status rp_columns_store_roles(const rp_cells *cells, rp_store *store);
/* Of a table that is loaded: the kind of each column without auto (CONTRACT 9.2). No numeric or categorical cell breaks
 * a rule. */
rp_status rp_columns_settle(const rp_cells *cells, rp_column_kind *kind);
/* Whether the column's cells fit its kind: numbers are numbers, nothing is missing where the recipe says error. */
rp_status rp_column_check(const rp_cells *cells, size_t col, rp_column_kind kind);

/* The target column. Classification: names (pointing into the table) in order and one label a row; regression: one
 * value a row. Fields not used are NULL. */
typedef struct rp_target {
    size_t classes;
    const char **class_name;
    int64_t *label;
    float *value;
    double *wide;   /* the value in binary64 */
    double *trials; /* of counts, whose values are proportions: of how many */
} rp_target;

rp_status rp_target_read(const rp_cells *cells, size_t target, rp_target *out);
void rp_target_clear(rp_target *target);
/* CONTRACT 9.13: values, the numbers of the target's cells, become proportions of the trials in data.denominator's
 * column. Errors: RP_EARG (no such column), RP_EDATA (a cell that is no whole number within its bounds, no trials). */
rp_status rp_counts_read(const rp_cells *cells, size_t target, rp_target *out);
/* The greatest number of trials. */
#define RP_TRIALS_MAX 0x1p40

/* CONTRACT 9.4: which part each of the table's rows is in. part [rows]. Errors: RP_EARG, RP_EDATA. */
typedef enum rp_row_part { RP_TRAINS, RP_VALIDATES, RP_TESTS } rp_row_part;
rp_status rp_split_rows(const rp_cells *cells, const rp_target *target, unsigned char *part);
/* By groups, by time, or as a column says (core/data/split_columns.c). */
rp_status rp_split_groups(const rp_cells *cells, unsigned char *part);
rp_status rp_split_time(const rp_cells *cells, unsigned char *part);
rp_status rp_split_column(const rp_cells *cells, unsigned char *part);

/* CONTRACT 9.10: what each row of the parts counts; nothing when the recipe has no weights. Errors: RP_EDATA (a weight
 * that is missing, negative or no number; a part without any), RP_EARG (no such class). */
rp_status rp_weights_read(const rp_cells *cells, const rp_target *target, rp_dataset *out);

/* CONTRACT 9.5: learns from the training rows and writes the schema. */
rp_status rp_schema_fit(rp_json **out, const rp_cells *cells, const rp_column_kind *kind, size_t target_col,
                        const rp_target *target, const int64_t *train_row, size_t train_rows, size_t valid_rows);

/* Where a row's features go: binary32, or binary64 for what is fitted exactly. */
typedef struct rp_features {
    float *narrow; /* or */
    double *wide;
} rp_features;

/* The features from number `first` of `of` on. */
static inline rp_features rp_features_at(rp_features of, size_t first)
{
    return of.wide ? (rp_features){.wide = of.wide + first} : (rp_features){.narrow = of.narrow + first};
}

/* CONTRACT 9.6. An encoder makes features of the rows of a loaded table; source[i] is its column for column i of the
 * schema. It borrows all of them. */
typedef struct rp_encoder rp_encoder;
rp_status rp_encoder_new(rp_encoder **out, const rp_schema *schema, const rp_cells *cells, const size_t *source);
void rp_encoder_free(rp_encoder *encoder);
enum { RP_ENCODED_ROWS = 256 };
/* Rows first .. first + n - 1, n at most RP_ENCODED_ROWS, to x[i] [features], which are zeros before; nowhere: not
 * wanted. unseen (may be NULL) [columns] counts the cells of rows with counted[i] whose category was not learnt. Safe
 * on several threads. Returns n, or the first of the rows in which a feature is not finite. */
size_t rp_encoder_rows(const rp_encoder *encoder, size_t first, size_t n, const rp_features *x, const bool *counted,
                       atomic_size_t *unseen);
/* One column's features of a cell, which are zeros before, from feature `place` on: of a number, NaN for a missing one
 * (false: it is not finite there); of a group. */
bool rp_encode_number(const rp_schema_column *column, size_t place, double number, rp_features x);
void rp_encode_group(rp_features x, const rp_schema_column *column, size_t place, size_t group);
/* The error of the row that rp_encoder_rows stopped at. */
rp_status rp_encoder_fail(const rp_encoder *encoder, size_t row, bool wide, rp_error *err);

/* The features of both parts of a dataset that has its rows and schema, and what the schema says of them; options: pool
 * and device. The table's cells are gone then. */
rp_status rp_dataset_encode(rp_dataset *out, const rp_cells *cells, rp_table *table, const size_t *source,
                            const rp_table_options *options);

#endif
