/* SPDX-License-Identifier: Apache-2.0
 * Rows and cells of CSV bytes (RFC 4180, CONTRACT 9.1), one row after another and nothing held. Private to core. */
#ifndef CORE_DATA_TEXT_CSV_H
#define CORE_DATA_TEXT_CSV_H

#include <stdbool.h>
#include <stddef.h>

#include "core/recipe/recipe.h"
#include "rp/error.h"

enum { RP_COLUMNS_MAX = 4096, RP_CELL_MAX = 65535 };

/* A cell's bytes in the source, without quotes and, where spaces are taken off, without them. */
typedef struct rp_text {
    const char *at;
    size_t length; /* in the source; at most twice RP_CELL_MAX */
    bool escaped;  /* each quote inside stands twice */
} rp_text;

/* The text itself into out [RP_CELL_MAX + 1], with a NUL behind it. Returns its length. */
size_t rp_text_copy(char *out, const rp_text *text);

typedef struct rp_csv {
    const unsigned char *in; /* the whole table, for the line numbers of errors */
    size_t at, end;          /* in it: the next row, and where to stop */
    const char *where;
    rp_error *err;
    rp_text *cell; /* of the row that was read: as many as a row may have, and one */
    size_t cells;
    bool strip, quiet;       /* quiet: nobody reads its errors, which name no line */
    char delimiter, comment; /* comment 0: none */
    bool stop[256];          /* what ends a stretch of a cell */
} rp_csv;

/* bytes are UTF-8 and borrowed. A byte order mark and the recipe's lines are skipped. Errors: RP_EDATA (not so many
 * lines), RP_ENOMEM. */
rp_status rp_csv_open(rp_csv *csv, const void *bytes, size_t size, const rp_recipe *recipe, const char *where,
                      rp_error *err);
/* Another reader of the same bytes, from begin to end, with cells of its own and err for its errors. */
rp_status rp_csv_part(rp_csv *part, const rp_csv *of, size_t begin, size_t end, rp_error *err);
void rp_csv_close(rp_csv *csv);
/* Goes over lines of comment. Whether there is another row. */
bool rp_csv_more(rp_csv *csv);
/* The next row's cells, where there is one. Errors: RP_EDATA with line and cell. */
rp_status rp_csv_row(rp_csv *csv);
/* The first byte from begin to end that is not UTF-8, or end: rows are not asked for it. */
size_t rp_csv_bad_text(const rp_csv *csv, size_t begin, size_t end);
rp_status rp_csv_fail_text(const rp_csv *csv, size_t at);
/* Line, from 1, of the byte at `at`. */
size_t rp_csv_line(const rp_csv *csv, size_t at);

/* Cuts the rows from at to end in chunks of about target bytes at ends of lines that end rows, by counting quotes:
 * every chunk of a well-formed table begins with a row, and the first chunk that is not read without an error has the
 * first error. cut [most + 1] gets the borders, the first and the last too; returns the number of chunks, at most most.
 */
size_t rp_csv_cut(const rp_csv *csv, size_t target, size_t *cut, size_t most);
/* How many of the skipped lines in front, and of the lines of comment, have as many cells as a row, behind the sign of
 * a comment: they look like rows that somebody left out. None in a table of one column. Errors: RP_ENOMEM. */
rp_status rp_csv_hidden(size_t *out, const rp_csv *csv, int64_t skipped, size_t cells, rp_error *err);
/* How many lines may be rows that nobody reads: of those in front, of comment, and of those that begin within a quoted
 * cell the ones with delimiters enough for half as many cells as a row has, and for two. */
size_t rp_csv_maybe_rows(const rp_csv *csv, int64_t skipped, size_t cells);
/* Bytes of a kind. */
size_t rp_csv_count(const unsigned char *in, size_t size, unsigned char byte);

#endif
