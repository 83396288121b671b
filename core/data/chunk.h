/* SPDX-License-Identifier: Apache-2.0
 * A chunk of a table's rows: how it is read and how it is kept. Private to core/data. */
#ifndef CORE_DATA_CHUNK_H
#define CORE_DATA_CHUNK_H

#include "core/data/table.h"

/* How a column's cells lie in a chunk. */
typedef enum rp_form {
    RP_FORM_EMPTY, /* all are missing */
    RP_FORM_I8,    /* numbers times 10^places, the least one missing */
    RP_FORM_I16,
    RP_FORM_I32,
    RP_FORM_F64, /* binary64, NaN missing */
    RP_FORM_C8,  /* numbers of words, the greatest one missing */
    RP_FORM_C16,
    RP_FORM_C32
} rp_form;

typedef struct rp_stretch {
    unsigned char form, places;
    const void *cells;
    const float *floats; /* RP_STORE_TARGET */
    uint32_t *code;      /* of the chunk's words, in the column's dictionary */
} rp_stretch;

/* What a chunk gives to the columns once, in the order of the chunks. */
typedef struct rp_harvest {
    rp_tally sort[RP_SORTS];
    rp_dress dress;
    bool texts;
    rp_word *word;
    size_t words;
    rp_strings arena;
} rp_harvest;

typedef struct rp_table_chunk {
    size_t begin, end; /* in the source */
    size_t first_row, rows;
    size_t first_number, numbers; /* the same of all rows, kept or not */
    size_t dropped[2];
    uint32_t *number; /* [rows]: of each row among the chunk's; NULL: all are kept */
    size_t first_line, lines;
    rp_stretch *stretch; /* [cols], and behind it the cells */
    rp_harvest *harvest; /* [cols], until it is taken */
    rp_status status;
    rp_error *error; /* of this chunk, if it has one */
} rp_table_chunk;

/* What a thread needs to read chunks, one after another. */
typedef struct rp_chunk_reader rp_chunk_reader;

rp_status rp_chunk_reader_new(rp_chunk_reader **out, const rp_table *table, const rp_recipe *recipe,
                              const rp_filter *filter, uint64_t seed, rp_error *err);
void rp_chunk_reader_free(rp_chunk_reader *reader);
/* Reads the chunk's rows; what goes wrong is in the chunk. */
void rp_chunk_read(rp_chunk_reader *reader, rp_table_chunk *chunk);
void rp_chunk_free(rp_table_chunk *chunk, size_t cols);

/* ---- packing (core/data/pack.c) ---- */

/* The form in which value[0..n) can be given back bit for bit: all NaN mean missing, places is the most that any text
 * had or -1. scratch [n]; holds what is to be written in an integer form. */
rp_form rp_pack_choose(const double *value, size_t n, int places, int32_t *scratch);
size_t rp_form_bytes(rp_form form);
void rp_pack_numbers(void *out, rp_form form, const double *value, const int32_t *scratch, size_t n);
void rp_unpack_numbers(double *out, const rp_stretch *stretch, size_t first, size_t n);
rp_form rp_pack_codes_form(size_t words);
void rp_pack_codes(void *out, rp_form form, const uint32_t *code, size_t n);
void rp_unpack_codes(uint32_t *out, const rp_stretch *stretch, size_t first, size_t n);

#endif
