/* SPDX-License-Identifier: Apache-2.0
 * A table as columns: numbers in the fewest bytes that give them back exactly, texts as numbers into a dictionary. It
 * is read in chunks of rows, on several threads; how it is cut decides nothing that can be seen. */
#ifndef CORE_DATA_TABLE_H
#define CORE_DATA_TABLE_H

#include "base/buffer.h"
#include "base/pool.h"
#include "core/data/text/csv.h"
#include "core/data/dictionary.h"
#include "core/data/text/number.h"

/* What is kept of a column. */
typedef enum rp_store {
    RP_STORE_NONE,    /* missing cells are counted */
    RP_STORE_AUTO,    /* numbers where all cells are finite numbers, else texts */
    RP_STORE_NUMBERS, /* a cell that is none is kept as a missing one, and counted */
    RP_STORE_TEXTS,
    RP_STORE_TARGET /* numbers, and beside them the binary32 of each text */
} rp_store;

/* Cells of one sort: how many, and the first one's row. */
typedef struct rp_tally {
    size_t count, first;
} rp_tally;

/* Sorts of cells. The first four are all cells; in a column of texts numbers are not looked for, and all are texts. */
typedef enum rp_cell_sort {
    RP_SORT_MISSING,
    RP_SORT_NUMBER,
    RP_SORT_NOT_FINITE, /* in a column of dates: a cell that is none */
    RP_SORT_TEXT,
    RP_SORT_ZEROS,     /* numbers that begin with zeros, 00012 */
    RP_SORT_DRESSED,   /* numbers with a prefix or a suffix */
    RP_SORT_BARE,      /* numbers without, where the recipe has any */
    RP_SORT_OTHERWISE, /* numbers with other ones than the first */
    RP_SORT_WORD,      /* missing cells with a word that may be a name */
    RP_SORTS
} rp_cell_sort;

typedef struct rp_column {
    rp_store store;
    const rp_date_rule *date; /* its cells are dates: numbers are seconds from 1970-01-01, or the part of those in the
                                 column source; NULL: they are not */
    rp_date_part part;        /* RP_DATE_PARTS: the date itself */
    size_t source;            /* where the cells stand in the source's rows */
    bool texts;               /* dictionary and codes are there; else numbers, or nothing but missing cells */
    rp_tally sort[RP_SORTS];
    rp_dress dress;      /* of the first dressed number */
    rp_dictionary words; /* in the order of the rows; each with its cells and its first row */
    uint32_t *code;      /* [rows], of numbers and texts in one column; else NULL */
} rp_column;

typedef struct rp_table {
    size_t rows, cols;
    size_t own_cols;              /* of the source; behind them stand the parts of dates */
    const char **names;           /* cols of them; NULL when there is no header */
    rp_column *column;            /* cols */
    struct rp_table_chunk *chunk; /* core/data/chunk.h */
    size_t chunks;
    rp_csv csv;        /* the source, from the first data row on */
    rp_buffer decoded; /* the source, where it is not UTF-8 */
    size_t dropped[2]; /* rows that the filter left out: by a condition; for a missing target */
    size_t hidden;     /* lines that the recipe passes over as comments, or in front, and that look like rows */
    rp_strings arena;  /* of the names */
    const char *where; /* names the source in errors */
} rp_table;

/* Reads names and number of columns. The bytes and where are borrowed until the table is freed. RFC 4180: quoted cells,
 * CRLF or LF, no ragged rows, no NUL bytes, UTF-8; a byte order mark is skipped; nothing behind the last line end is no
 * row. Limits: 2^31 cells, 4,096 columns, 65,535 bytes a cell. Errors: RP_EDATA with line and cell, RP_ENOMEM. */
rp_status rp_table_open(rp_table **out, const void *bytes, size_t size, const rp_recipe *recipe, const char *where,
                        rp_error *err);
/* The column's cells are dates, and behind the table's columns come n_parts more, NAME.part: before the rows are
 * loaded. rule is borrowed. Errors: RP_EDATA (such a name is there, too many columns), RP_ENOMEM. */
rp_status rp_table_derive(rp_table *table, size_t col, const rp_date_rule *rule, rp_error *err);
/* Which rows are kept (CONTRACT 9.1). */
typedef struct rp_filter {
    const rp_recipe *recipe;  /* that filters: its words for a missing cell and its way to write a number */
    const rp_row_rule *where; /* its conditions */
    const rp_table *table;    /* whose columns they are, with the dates of the recipe that filters */
    size_t *col;              /* [n]: the column of each */
    size_t n;
    size_t target; /* its missing cells drop the row; SIZE_MAX: they do not */
    size_t trials; /* likewise, and so does a 0: without trials there is no target */
    bool blank;    /* a row that is not kept has its place nevertheless, with no cell looked at: all read as missing */
} rp_filter;

typedef struct rp_table_options {
    rp_pool *pool;           /* NULL: the calling thread alone */
    size_t chunk;            /* about so many bytes at a time; 0: as suits the table */
    const rp_filter *filter; /* NULL: all rows are kept */
    /* Called when `done` of the text's `size` bytes have been read, and what is behind and before what is read next is
     * not looked at for a while; NULL: not. The bytes stay readable, and what they are. */
    void (*leave)(void *self, size_t done, size_t size);
    void *self;
    struct rp_device *device; /* whose memory features are made in, where the host shares it; NULL: the host's */
} rp_table_options;
/* Reads the rows, once; store [cols]. Memory: at most half of the text and 13 bytes a cell of the shortest ones, beside
 * texts, each distinct one once. Errors: as above. */
rp_status rp_table_load(rp_table *table, const rp_store *store, const rp_recipe *recipe,
                        const rp_table_options *options, rp_error *err);
/* Both, with one thread; store NULL: auto for all columns. */
rp_status rp_table_read(rp_table **out, const void *bytes, size_t size, const rp_recipe *recipe, const rp_store *store,
                        const char *where, rp_error *err);
void rp_table_free(rp_table *table); /* NULL is fine */

enum { RP_BLOCK = 1024 }; /* rows that are well looked at together */

/* Rows first .. first + n - 1 of a column. */
void rp_table_numbers(const rp_table *table, size_t col, size_t first, size_t n, double *out); /* NaN: missing */
void rp_table_codes(const rp_table *table, size_t col, size_t first, size_t n, uint32_t *out); /* or RP_NO_CODE */
void rp_table_floats(const rp_table *table, size_t col, size_t first, size_t n, float *out);   /* RP_STORE_TARGET */
/* Rows row[0..n), which ascend. */
void rp_table_numbers_of(const rp_table *table, size_t col, const int64_t *row, size_t n, double *out);
void rp_table_codes_of(const rp_table *table, size_t col, const int64_t *row, size_t n, uint32_t *out);
/* The memory of rows below row is no longer needed: what can be freed of it is. */
void rp_table_release(rp_table *table, size_t row);

/* The number of a row among all of the source's, from 0: rows that are left out count. */
size_t rp_table_number(const rp_table *table, size_t row);

/* For messages: read in the source again. */
size_t rp_table_line(const rp_table *table, size_t row);
/* The cell's text into out, cut to size - 1 bytes. Returns out. */
char *rp_table_text(const rp_table *table, size_t row, size_t col, char *out, size_t size);
/* A reader of all rows of the source, those left out too; closed by the caller. Errors: RP_ENOMEM. */
rp_status rp_table_rows(rp_csv *out, const rp_table *table, rp_error *err);

#endif
