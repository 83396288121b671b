/* SPDX-License-Identifier: Apache-2.0
 * What the files of a profile share: one column at a time as figures, groups of equal cells, and the target beside it.
 */
#ifndef CORE_DATA_PROFILE_PRIVATE_H
#define CORE_DATA_PROFILE_PRIVATE_H

#include "core/data/profile/profile.h"

enum { RP_EXAMPLES = 3 };

/* A column as it is looked at: a missing cell is NaN among the numbers. */
typedef struct rp_column_view {
    size_t col;
    bool numeric;                 /* no cell is text, and one at least a number */
    size_t missing, numbers, odd; /* odd: neither missing nor a finite number */
    size_t first_missing, first_number, first_odd;
    double *value;   /* [rows] */
    double *sorted;  /* [numbers], ascending; numeric */
    uint32_t *group; /* [rows]: equal cells have equal numbers below groups */
    size_t groups;   /* the missing cells are one too, the last */
    size_t distinct; /* without them */
    size_t *scratch; /* [rows], for whoever looks at the column */
    void *work;      /* where sorted and scratch lie */
} rp_column_view;

rp_status rp_view_new(rp_column_view *view, size_t rows, rp_error *err);
void rp_view_free(rp_column_view *view);
/* Errors: RP_ENOMEM. */
rp_status rp_view_read(rp_column_view *view, const rp_cells *cells, size_t col);
/* first[rows]: for each row the first row whose cells in the columns with use[col] are equal. */
rp_status rp_equal_rows(uint32_t *first, const rp_cells *cells, const bool *use);
enum { RP_TEXT_SHOWN = 256 }; /* bytes of a cell that is told */

/* A cell as JSON, cut at a character where it is long; NULL when out of memory. */
rp_json *rp_cell_json(const char *text);

/* A column beside the target. */
typedef struct rp_beside {
    const rp_cells *cells;
    const rp_column_view *view, *target; /* target NULL: none is known */
    rp_column_kind kind;                 /* RP_COL_AUTO: mixed */
    rp_json *profile;
} rp_beside;
rp_status rp_find_in_column(const rp_beside *beside);
/* Another character that seems to divide the cells of a table of one column. */
rp_status rp_find_delimiter(rp_json *profile, const rp_cells *cells);
/* A header line that looks like a row. */
rp_status rp_find_header(rp_json *profile, const rp_cells *cells);
/* A column that gives the target away. */
rp_status rp_find_leak(const rp_beside *beside);
/* Categories that differ from another in spelling alone. */
rp_status rp_find_spellings(const rp_beside *beside);
rp_status rp_find_in_target(const rp_beside *beside); /* view is the target */

/* All that goes wrong while JSON is built is memory, which is asked for at the end. */
typedef struct builder {
    rp_json *object;
    bool failed;
} builder;

static inline void put(builder *b, const char *key, rp_json *value)
{
    if (rp_json_object_set_new(b->object, key, value) != 0)
        b->failed = true;
}

static inline void append(builder *b, rp_json *array, rp_json *value)
{
    if (rp_json_array_append_new(array, value) != 0)
        b->failed = true;
}

#endif
