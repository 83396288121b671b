/* SPDX-License-Identifier: Apache-2.0
 * From CSV bytes to tensors under the contract (CONTRACT 9): parse, infer column kinds, split, fit (categories, means,
 * deviations on the training part only), encode. A pure function of (recipe, bytes). */
#ifndef CORE_DATA_DATASET_H
#define CORE_DATA_DATASET_H

#include "base/buffer.h"
#include "core/data/table.h"
#include "core/data/warnings.h"

/* Limits: 1,000 classes, 4,096 categories a column, 65,536 features. */
enum { RP_CLASSES_MAX = 1000, RP_CATEGORIES_MAX = 4096, RP_FEATURES_MAX = 65536 };

/* What was learnt from the data and is needed to encode new rows; json is the archive's data/schema.json. */
typedef struct rp_schema {
    rp_json *json;
    size_t features;                  /* encoded width */
    size_t classes;                   /* 0 for regression */
    const char **class_name;          /* classes of them, in order; for two classes the positive one is last */
    struct rp_schema_column *columns; /* core/data/schema.h */
    size_t n_columns;
    size_t (*pair)[2]; /* [n_pairs]: columns whose features are multiplied */
    size_t n_pairs;
} rp_schema;

typedef struct rp_dataset {
    rp_schema *schema;
    rp_json *profile;              /* what the table holds, and what is to be said of it: core/data/profile/profile.h */
    size_t train_rows, valid_rows; /* valid_rows is 0 with train_on_all */
    float *train_x, *valid_x;      /* [rows, features] row-major */
    struct rp_device *device;      /* whose memory those of both parts are; NULL: the host's */
    bool train_given, valid_given; /* a run has taken them: they are read, not freed */
    double *train_wide, *valid_wide;    /* the same where the recipe fits exactly, else NULL; one of the two is there */
    int64_t *train_label, *valid_label; /* class indices; NULL for regression */
    /* 0/1 for two classes, the value for regression, a binary32 number unless the recipe fits exactly; NULL for more
     * classes */
    double *train_target, *valid_target;
    float *train_learnt,
        *valid_learnt; /* as they are learnt: standardised where that is asked for; NULL in an exact fit */
    float *train_weight, *valid_weight; /* [rows] of mean 1; NULL when all rows count alike, and in an exact fit: */
    double *train_wide_weight, *valid_wide_weight; /* [rows] the weights as they are given */
    double *train_trials;                          /* [rows] of counts, else NULL */
    double train_total, valid_total;               /* the sum of an exact fit's weights; the rows without */
    int64_t *train_row, *valid_row;                /* number of each row in the file, from 0; ascending */
    int64_t *test_row;                             /* [test_rows] likewise, of those that no step sees */
    size_t test_rows;
    rp_warnings warnings; /* what was read in one way where another was likely */
    rp_json *reference;   /* what the training rows were like: core/data/later/reference.h */
} rp_dataset;

/* Errors: RP_EDATA with line, column, found and expected: ragged, text in a numeric column, NaN or infinity, a target
 * with one class, empty...; RP_EARG where the recipe does not fit the data (no such column, more folds than rows);
 * RP_ENOMEM. */
rp_status rp_dataset_prepare(rp_dataset **out, const rp_recipe *recipe, const void *csv, size_t size, const char *where,
                             const rp_table_options *options, rp_error *err);
void rp_dataset_free(rp_dataset *dataset); /* and its schema */

/* The schema from data/schema.json (untrusted: RP_EFORMAT); takes a reference to json. */
rp_status rp_schema_from_json(rp_schema **out, rp_json *json, const char *where, rp_error *err);
enum { RP_CLASSES_SIZE = 240 };
/* The classes' names for an error, at most five of them, quoted: "no" or "yes". */
const char *rp_schema_classes(char out[RP_CLASSES_SIZE], const rp_schema *schema);
void rp_schema_free(rp_schema *schema);
/* Where a regression's target is standardised (CONTRACT 9.5), which no exact fit does: the values as they are learnt,
 * and what the model says of them in the target's own units again, a binary32 number; else nothing. Both in place. */
void rp_schema_scale_target(const rp_schema *schema, float *value, size_t n);
void rp_schema_give_back(const rp_schema *schema, double *score, size_t n);
/* New rows (predict). With a header, columns are found by name and further ones are passed over; without, they stand as
 * in training, with or without the target. */
typedef struct rp_rows rp_rows;

/* What is added to each row's predictor, [train_rows] or [valid_rows], to be freed; NULL where nothing is. Errors:
 * RP_ENOMEM. */
rp_status rp_dataset_offsets(double **out, const rp_dataset *dataset, bool validation, rp_error *err);
/* Of new rows, [rp_rows_count]. */
rp_status rp_rows_offsets(double **out, const rp_rows *rows, rp_error *err);

/* Borrows all that it is given, until it is freed. filter: NULL, or the recipe of the run that the table is of: rows
 * that it leaves out keep their places, and all their cells are as if missing. Errors: RP_EDATA (no such table, not
 * with these columns, or of other rows by that recipe than by this one), RP_ENOMEM. */
rp_status rp_rows_open(rp_rows **out, const rp_schema *schema, const rp_recipe *recipe, const void *csv, size_t size,
                       const char *where, const rp_recipe *filter, rp_error *err);
void rp_rows_free(rp_rows *rows); /* NULL is fine */
size_t rp_rows_count(const rp_rows *rows);
const rp_table *rp_rows_table(const rp_rows *rows); /* with the columns that the model does not know */
/* Rows first .. first + count - 1 to x [count, features], binary32, or binary64 where the recipe fits exactly; an
 * unknown category is all zeros. Errors: RP_EDATA as rp_dataset_prepare has them. */
rp_status rp_rows_encode(const rp_rows *rows, size_t first, size_t count, void *x, rp_error *err);

#endif
