/* SPDX-License-Identifier: Apache-2.0
 * Arrays as a table (CONTRACT 9.1a): a file of one array (npy) or of several by name (safetensors), and the CSV that
 * features and target are written as. Files are untrusted: nothing is allocated by what they say of themselves. */
#ifndef CORE_DATA_ARRAYS_ARRAYS_H
#define CORE_DATA_ARRAYS_ARRAYS_H

#include <stdbool.h>

#include "base/file.h"
#include "core/recipe/recipe.h"

/* Elements in row-major order, little-endian, of any alignment: borrowed from the file's bytes. */
typedef struct rp_array {
    rp_array_type type;
    int rank; /* at least 1; no axis is 0 */
    size_t shape[RP_ARRAY_RANK];
    const unsigned char *data;
    size_t size;     /* bytes of all elements */
    char where[160]; /* names it in errors */
} rp_array;

size_t rp_array_type_size(rp_array_type type);
/* Elements of a row: the product of the axes but the first. */
size_t rp_array_row(const rp_array *array);

/* What the bytes begin with; none of it can begin a CSV file, which has no NUL. */
bool rp_array_is_npy(const void *bytes, size_t size);
bool rp_array_is_tensors(const void *bytes, size_t size);

/* A whole npy file, version 1 to 3. Errors: RP_EDATA: it is none, is cut off, has elements of another type, in another
 * order of bytes or axes; says what to do. */
rp_status rp_array_from_npy(rp_array *out, const void *bytes, size_t size, const char *where, rp_error *err);
/* A tensor of a safetensors file. Errors: RP_EDATA, with the names that there are; RP_ENOMEM. */
rp_status rp_array_from_tensors(rp_array *out, const void *bytes, size_t size, const char *name, const char *where,
                                rp_error *err);
/* Whether the file has a tensor of that name; false where it cannot be read. */
bool rp_array_in_tensors(const void *bytes, size_t size, const char *name);
/* Shared by the two: the shape is sound, and size bytes at data are its elements. */
rp_status rp_array_check(const rp_array *array, size_t size, rp_error *err);

/* The table, in order, piece by piece: header, then a row for each of the features. y: of as many rows, one element
 * each; NULL: rows without a target. Errors: RP_EDATA (a value that no cell has: NaN, an infinity, an integer beyond
 * 2^53; rows that do not fit; too many columns); the taker's. */
rp_status rp_array_write(const rp_array *x, const rp_array *y, rp_file_taker take, void *self, rp_error *err);

/* The same row by row, for what is not there at once. x: its axes but the first say the columns, and its type what rows
 * are; target: a column of texts behind them. The writer must be ended; the first error stays. */
enum { RP_ARRAY_ROOM = 65536 };
typedef struct rp_array_writer {
    rp_file_taker take;
    void *self;
    rp_error *err;
    rp_status status;
    size_t used;
    char text[RP_ARRAY_ROOM];
} rp_array_writer;

void rp_array_begin(rp_array_writer *w, const rp_array *x, bool target, rp_file_taker take, void *self, rp_error *err);
/* x: one row of that type and those axes; label: in any words, quoted; NULL: without a target. */
void rp_array_put(rp_array_writer *w, const rp_array *x, const char *label);
rp_status rp_array_end(rp_array_writer *w);

#endif
