/* SPDX-License-Identifier: Apache-2.0
 * Cells and columns as preparation and prediction share them. Private to core. */
#ifndef CORE_DATA_SCHEMA_H
#define CORE_DATA_SCHEMA_H

#include "core/data/dataset.h"
#include "core/data/number.h"

typedef struct rp_schema_column {
    rp_column_kind kind;  /* never auto */
    bool target;          /* kind is then RP_COL_IGNORE */
    const char *name;     /* NULL without a header; this and the categories live in the schema's json */
    double mean, divisor; /* numeric: encoded as (x - mean) / divisor, or as x when not standardize */
    bool standardize;
    const char **category; /* ascending bytes */
    size_t categories;     /* without the missing value's own */
    bool null_category;    /* the missing value has a category of its own, the last */
    size_t width;          /* features of the column */
} rp_schema_column;

/* Where cells are read from, and the rules for reading them. */
typedef struct rp_cells {
    const rp_recipe *recipe;
    const rp_table *table;
    const char *where;
    rp_error *err;
    bool recorded;         /* the rules are an archive's: no advice to change the recipe */
    rp_warnings *warnings; /* NULL: they are not wanted */
} rp_cells;

typedef struct rp_cell {
    bool missing;
    double number; /* numeric columns */
    const char *text;
} rp_cell;

/* The cell under its column's rules. Errors: RP_EDATA for text, NaN or infinity in a numeric column, or a missing value
 * where the recipe says error. */
rp_status rp_cell_read(const rp_cells *cells, size_t row, size_t col, rp_column_kind kind, rp_cell *out);
bool rp_cell_missing(const rp_recipe *recipe, const char *text);
/* "column \"age\"" or "column 3" (index from 0, as in the recipe). Returns out. */
char *rp_column_label(char *out, size_t size, const rp_table *table, size_t col);
enum { RP_LABEL_SIZE = 96 };

/* What a cell is, by its text alone, if it is not missing (CONTRACT 9.2). */
typedef enum rp_cell_class { RP_CELL_NUMBER, RP_CELL_NOT_FINITE, RP_CELL_TEXT } rp_cell_class;
rp_cell_class rp_cell_classify(const rp_reading *rules, const char *text, double *number, rp_dress *dress);

/* A column of texts that nobody declared: RP_EDATA where it seems to hold numbers or dates that a key would read, or
 * words for missing values with spaces around them; warnings where that is less sure. */
rp_status rp_inspect_texts(const rp_cells *cells, size_t col);
/* A column of numbers: RP_EDATA where two of them have different prefixes or suffixes; warnings on leading zeros, and
 * on numbers without the prefix or suffix that others have. */
rp_status rp_inspect_numbers(const rp_cells *cells, size_t col);
/* The table's column that key of the recipe means. Errors: RP_EARG. */
rp_status rp_column_find(const rp_cells *cells, const rp_column_ref *ref, const char *key, size_t *out);

/* The kind of each table column (CONTRACT 9.2), the target's being ignore; every numeric and categorical cell has been
 * read once without error. kind [cols]. */
rp_status rp_columns_resolve(const rp_cells *cells, rp_column_kind *kind, size_t *target);

/* The target column. Classification: names (pointing into the table) in order and one label a row; regression: one
 * value a row. Fields not used are NULL. */
typedef struct rp_target {
    size_t classes;
    const char **class_name;
    int64_t *label;
    float *value;
    double *wide; /* the value in binary64 */
} rp_target;

rp_status rp_target_read(const rp_cells *cells, size_t target, rp_target *out);
void rp_target_clear(rp_target *target);

/* CONTRACT 9.4: fold number of each of the table's rows. fold [rows]. */
rp_status rp_split_folds(const rp_cells *cells, const rp_target *target, int64_t *fold);

/* CONTRACT 9.5: learns from the training rows and writes the schema. */
rp_status rp_schema_fit(rp_json **out, const rp_cells *cells, const rp_column_kind *kind, size_t target_col,
                        const rp_target *target, const int64_t *train_row, size_t train_rows);

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

/* CONTRACT 9.6: one row to features. source[i] is the table's column for schema column i. unseen (may be NULL) counts
 * by schema column the cells whose category was not known. */
rp_status rp_schema_encode_row(const rp_schema *schema, const rp_cells *cells, const size_t *source, size_t row,
                               rp_features x, size_t *unseen);

#endif
