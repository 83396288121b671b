/* SPDX-License-Identifier: Apache-2.0
 * Scores of new rows with what belongs beside them: the ids that rows came with, what in a row training had not seen.
 * And whether somebody else's predictions are the model's. docs/predict.md has examples. */
#ifndef RP_PREDICT_H
#define RP_PREDICT_H

#include <stdbool.h>

#include "rp/audit.h"

enum { RP_ID_COLUMNS_MAX = 16, RP_REASONS_MAX = 64, RP_STEPS_MAX = 4096 };

typedef struct rp_predict_options {
    /* Columns of the CSV that stand behind the row's number, as they are: by name, or by index from 0 where the table
     * has no header. At most RP_ID_COLUMNS_MAX; they need not be features. */
    const char *const *id;
    size_t n_id;
    /* a last column "warnings": unseen:COLUMN, rare_or_new:COLUMN, outside:COLUMN, missing:COLUMN, with ";" between */
    bool flags;
    /* Reasons (CONTRACT 14.9): what columns add to the margin of what is favourable, beside reference rows. */
    size_t reasons;         /* columns reason_1, contribution_1, ..: the most adverse; then margin and gap; 0: none */
    bool contributions;     /* a column c_NAME for each feature column, and margin and gap */
    bool cutoff_reference;  /* relative to the training rows at and just above the cut-off; else to all of them */
    const char *cutoff;     /* with that: a decimal; NULL: 0.5 of a classification */
    const char *favourable; /* a class, NULL: the last; of a regression "high" (NULL) or "low" */
    const char *points;     /* a scale of rp_scorecard_options: a column "points", the row's by that card; NULL: none */
    size_t steps;           /* of a network's integrated gradients; 0: 64 */
} rp_predict_options;

/* Cells of features that training had nothing like. */
typedef struct rp_prediction {
    char *text; /* CSV */
    size_t length;
    uint64_t rows;
    uint64_t hidden;       /* lines of the CSV that look like rows and are none by data.comment or data.skip_lines */
    bool checked;          /* the archive says what the training rows were like; else the counts are 0 */
    uint64_t unseen;       /* categories that no training row had */
    uint64_t rare_or_new;  /* where rare ones are pooled: one of those, or one that no training row had */
    uint64_t outside;      /* numbers below or above all of training's */
    uint64_t missing;      /* missing cells of columns that missed none in training */
    uint64_t flagged_rows; /* rows with any of them */
    /* With reasons or contributions; else NULL, 0 and empty. */
    const char *method;        /* "shapley" of linear models, "integrated gradients" of networks */
    uint64_t reference_rows;   /* training rows that the reasons are relative to */
    uint64_t steps;            /* of integrated gradients */
    char favourable[64];       /* the class, high or low */
    char reference_margin[32]; /* decimals: the margin of the reference */
    char reference_to[32];     /* of a cut-off: the score farthest from it among the reference rows */
    char largest_gap[32];      /* the largest difference between a margin and what its columns add up to */
} rp_prediction;

/* rp_predict with options, which may be NULL. Errors: those of rp_predict; RP_EARG for an id that is no column, or
 * that has the name of a column of predictions; with flags RP_EUNSUPPORTED where the archive holds no reference, with
 * reasons where it does not hold the training rows. */
RP_API rp_status rp_predict_rows(const rp_archive *archive, const void *csv, size_t size, const char *where,
                                 const rp_predict_options *options, const rp_job_options *job, rp_prediction **out,
                                 rp_error *err);
RP_API void rp_prediction_free(rp_prediction *prediction); /* NULL is fine */

/* ---- of a run on a text (docs/text.md) ---- */

/* What to go on with, and how: the likeliest token each time, or one drawn by Philox (CONTRACT 17.7). */
typedef struct rp_continue_options {
    const void *prompt; /* 1 to 2^20 bytes */
    size_t prompt_bytes;
    uint64_t tokens; /* 1 to 1,000,000 more */
    bool drawn;
    uint64_t seed;           /* with drawn, as the next */
    const char *temperature; /* a decimal, 1e-6 to 1e6; NULL: 1; smaller: nearer to the likeliest */
} rp_continue_options;

typedef struct rp_continuation {
    char *text; /* what comes behind the prompt; the vocabulary's bytes, whatever they are */
    size_t length;
    uint64_t prompt_tokens, tokens;
} rp_continuation;

/* The same on every host and number of threads. Errors: RP_EUNSUPPORTED for an archive of another kind and for what
 * costs more than the job's options allow; RP_EARG, RP_EFORMAT. */
RP_API rp_status rp_continue_text(const rp_archive *archive, const rp_continue_options *options,
                                  const rp_job_options *job, rp_continuation **out, rp_error *err);
RP_API void rp_continuation_free(rp_continuation *continuation); /* NULL is fine */

enum { RP_QUOTED_TEXT = 96, RP_NAME_LIST = 256 };

/* The first difference in the order of rows, and in a row of columns; how many there are. */
typedef struct rp_prediction_diff {
    uint64_t rows, rows_found; /* of ours and of theirs; they may differ */
    uint64_t columns;          /* that both have and that were compared */
    uint64_t lacking;          /* columns of ours that theirs has not */
    uint64_t passed_over;      /* columns of theirs that ours has not: nothing is said of them */
    uint64_t rows_passed_over; /* and rows, where ids say which belong together */
    char lacking_names[RP_NAME_LIST], passed_over_names[RP_NAME_LIST]; /* the first of both, as errors quote text */
    uint64_t cells, differing, rows_differing;
    bool any;             /* some cell, or the number of rows, differs */
    bool first_is_a_cell; /* then: */
    uint64_t row, line;   /* ours, from 0; theirs, in their file */
    char column[RP_QUOTED_TEXT], expected[RP_QUOTED_TEXT], found[RP_QUOTED_TEXT]; /* as errors quote text */
    char largest_column[RP_QUOTED_TEXT],
        largest[RP_QUOTED_TEXT]; /* of numbers that are not the same: the largest |theirs - ours|; "" for none */
    uint64_t largest_row;
} rp_prediction_diff;

typedef struct rp_compare_options {
    const char *const *id; /* columns by which rows belong together, which both must have; at most RP_ID_COLUMNS_MAX */
    size_t n_id;           /* 0: by their order */
    const char *tolerance; /* a decimal; NULL: 0 */
} rp_compare_options;

/* Compares theirs, a CSV with a header, with a text of rp_predict_rows: every column of ours behind the ids (predicted,
 * probabilities, and warnings, points, reasons and contributions where ours has them) with theirs of the same name;
 * columns that one of both lacks are counted and named. Classes, warnings and reasons are texts. Rows belong together
 * by the columns `id`, or else by their order; a column "row" of theirs must then count from 0.
 * Numbers are the same when both, rounded to binary32, are one; with a tolerance above 0 when
 * |theirs - ours| in binary64 is no more than it. Rows that ours has not are passed over with ids, and counted. options
 * and where may be NULL. Errors: RP_EDATA with the line: no CSV, no column to compare, an id twice; RP_EARG for the
 * tolerance or an id without a name. */
RP_API rp_status rp_predictions_compare(const char *ours, size_t length, const void *theirs, size_t size,
                                        const char *where, const rp_compare_options *options, rp_prediction_diff *out,
                                        rp_error *err);

#endif
