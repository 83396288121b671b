/* SPDX-License-Identifier: Apache-2.0
 * What `reprise compare` and `reprise diff` lay side by side: of each run flat lists of key and value, and whether two
 * runs are judged on the same rows. */
#ifndef CLI_RETRAIN_SIDE_BY_SIDE_H
#define CLI_RETRAIN_SIDE_BY_SIDE_H

#include "base/json.h"
#include "cli/archive_files.h"

typedef enum rp_rows {
    RP_ROWS_SAME,
    RP_ROWS_OTHER,  /* other tables, rows, outcomes, classes or another part */
    RP_ROWS_UNKNOWN /* an archive does not hold what would say it */
} rp_rows;

/* One run. Objects are flat, their values strings, integers, truths, nulls or arrays. */
typedef struct rp_run_side {
    const char *path; /* borrowed */
    rp_archive *archive;
    char *name;            /* of the recipe; NULL: none */
    rp_json *recipe;       /* dotted keys of run/recipe.json */
    rp_json *metrics;      /* figures of the part that is judged, of folds KEY.deviation behind KEY; then training.* */
    rp_json *coefficients; /* term to estimate; NULL: no exact fit */
    rp_json *trials;       /* trials to their number, what decided; NULL: none */
    const char *part;      /* "validation", "folds" (means of all), "training"; NULL: no metrics */
    int64_t rows;          /* of that part; of a text its tokens */
    bool text;             /* the run is of a text */
    char table[RP_DIGEST_HEX]; /* SHA-256 of data/raw.csv or data/raw.txt; empty: it is not in the archive */
    char *judged;              /* header of the predictions, then row and truth of each line; NULL: none */
    size_t judged_size;
} rp_run_side;

/* Opens and reads one run. Errors: those of opening and reading; side is then to be freed too. */
rp_status rp_run_side_load(rp_run_side *side, const char *path, rp_error *err);
/* The same of an archive that is open, which is the side's from then on, also with an error. */
rp_status rp_run_side_read(rp_run_side *side, const char *path, rp_archive *archive, rp_error *err);
void rp_run_side_free(rp_run_side *side);
/* Figures can be held against each other only where both runs give them for the same rows with the same outcomes. */
rp_rows rp_run_side_rows(const rp_run_side *a, const rp_run_side *b);
const char *rp_rows_unit(const rp_run_side *side); /* "rows", "tokens" */
const char *rp_rows_word(rp_rows rows);            /* "same", "other", "unknown" */
/* One recipe, the same tables and one parent by its id: such runs have the same bits. False where a table is not there.
 */
bool rp_run_side_same_inputs(const rp_run_side *a, const rp_run_side *b);

#endif
