/* SPDX-License-Identifier: Apache-2.0
 * Rows with scores and outcomes, and what they are held against. Private to audit/validate. */
#ifndef AUDIT_VALIDATE_JUDGED_H
#define AUDIT_VALIDATE_JUDGED_H

#include "audit/replay/scoring.h"
#include "core/data/later/written.h"
#include "core/train/slices/slices.h"

typedef struct rp_judged {
    rp_scoring *scoring;
    rp_written *texts;  /* outcomes, and columns that were wanted */
    rp_json *reference; /* outputs/reference.json */
    rp_json *metrics;   /* outputs/metrics.json; NULL where there is none */
    rp_yardstick *yardstick;
    int64_t *label; /* [rows] of classes, else NULL */
    double *value;  /* [rows] of a regression, else NULL */
    double *offset; /* [rows] what is added to each one's predictor; NULL: nothing */
    bool *known;    /* [rows] */
    int64_t *row;   /* [rows]: numbers in the table; NULL: all of it */
    int64_t *fold;  /* [rows]: whose trial scored it, in the place of the model; NULL: the model scored all */
    size_t rows, outcomes;
    size_t without_score;  /* with fold: rows that trained the model and have no score out of fold */
    bool unfiltered;       /* the recipe has conditions on rows, and these were judged whether they meet them or not */
    int64_t left_out[2];   /* unfiltered: rows that they leave out, those of them with an outcome; -1: not known */
    size_t called_missing; /* rows without an outcome, as data.missing has a word of its own for what stands there */
    size_t hidden;         /* lines of the table that may be rows and are read as none (rp_csv_maybe_rows) */
} rp_judged;

/* Which rows are judged, and whether a recipe's filter leaves some of them out. */
typedef enum rp_judged_of {
    RP_JUDGED_GIVEN,  /* all, as they are */
    RP_JUDGED_TABLE,  /* a run's own table: what its recipe leaves out keeps its place, without an outcome */
    RP_JUDGED_TESTED, /* the run's own table, of which only the test part is kept (RP_EARG: there is none) */
    RP_JUDGED_FOLDS   /* the run's own table: the rows that have a score out of fold, by that (RP_EARG: none have) */
} rp_judged_of;

typedef struct rp_judged_table {
    const void *csv;
    size_t size;
    const char *where;
    rp_judged_of of;
    const int64_t *row; /* [rows] of RP_JUDGED_TABLE: whose outcomes are read */
    size_t rows;
    const rp_recipe *filter; /* of RP_JUDGED_TABLE: the recipe of the run that the table is of */
} rp_judged_table;

/* Borrows what the table has. want: may be NULL; wants further columns before texts are loaded. */
rp_status rp_judged_new(rp_judged **out, const rp_archive *archive, const rp_judged_table *table,
                        const rp_job_options *options, rp_status (*want)(void *self, rp_written *texts, rp_error *err),
                        void *self, rp_error *err);
void rp_judged_free(rp_judged *judged); /* NULL is fine */
/* Whose rows are judged: those given, or, with a part ("test", "folds"), the archive's own, which go to bytes and are
 * then *csv: nobody else's can be in their place. *of: which of them. Errors: RP_EARG: both, neither, another part;
 * RP_EUNSUPPORTED: the table was withheld. */
rp_status rp_judged_own(rp_buffer *bytes, rp_judged_of *of, const rp_archive *archive, const char *part,
                        const void **csv, size_t *size, const char **where, rp_error *err);
/* The member that holds the rows of the test part: that of a test file where there is one, left out or not. */
const char *rp_judged_test_member(const rp_archive *archive);
/* Some of the rows, in the order given: what takes a judgement takes this one of them. */
typedef struct rp_judged_part {
    rp_judged judged; /* its arrays are its own, all else is borrowed */
    rp_scoring scoring;
    int64_t *row;
} rp_judged_part;
/* row [rows]: numbers in the table, copied; of must outlive the part. Errors: RP_EDATA: one that it has not; RP_ENOMEM.
 */
rp_status rp_judged_part_open(rp_judged_part *out, const rp_judged *of, const int64_t *row, size_t rows, rp_error *err);
void rp_judged_part_close(rp_judged_part *part);
/* The rows as slices take them. */
rp_slice_rows rp_judged_rows(const rp_judged *judged);
/* These figures' area beside that of the rows that the run was judged by: {"auc", "auc_error", "p", "part", "rows",
 * "statistic"}, of folds "without_score" too, null where one of the two has none (CONTRACT 14.8). Errors: RP_EFORMAT:
 * the scores out of fold. */
rp_status rp_judged_development(rp_json **out, const rp_judged *judged, const rp_archive *archive,
                                const rp_json *figures, rp_error *err);
/* unfiltered, left_out, called_missing and hidden; after the outcomes are read. Errors: RP_ENOMEM, those of reading the
 * table. */
rp_status rp_judged_count_unread(rp_judged *judged, const rp_judged_table *table, rp_error *err);
/* What a statement says of rows that are judged although the recipe leaves them out, and of lines that look like rows:
 * "hidden", "left_out" and "unfiltered"; known: of the rows with an outcome alone, and "called_missing" too. Not 0: out
 * of memory. */
int rp_judged_put_rules(rp_json *data, const rp_judged *judged, bool known);
/* The names of the model's classes in their order, null of a regression; NULL when memory runs out. */
rp_json *rp_judged_classes(const rp_judged *judged);
/* A threshold of scores: text is a decimal from 0 to 1, or NULL: NaN then. Errors: RP_EARG. */
rp_status rp_judged_threshold(double *out, const char *text, rp_error *err);
/* Figures of all rows with an outcome; *out is NULL where there is none. threshold: one more; NaN: none. */
rp_status rp_judged_figures(rp_json **out, const rp_judged *judged, double threshold, rp_error *err);

#endif
