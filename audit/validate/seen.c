/* SPDX-License-Identifier: Apache-2.0
 * Judged rows beside the training rows of the archive. */
#include "audit/validate/seen.h"

#include "audit/archive/archive_private.h"
#include "base/memory.h"
#include "core/data/later/seen.h"

/* The numbers in the table of the rows that have an outcome. */
static rp_status rows_with_outcome(int64_t **out, size_t *n, const rp_judged *j, rp_error *err)
{
    *out = rp_reallocarray(NULL, j->rows + 1, sizeof **out);
    *n = 0;
    for (size_t i = 0; *out != NULL && i < j->rows; i++)
        if (j->known[i])
            (*out)[(*n)++] = j->row ? j->row[i] : (int64_t)i;
    return *out != NULL ? RP_OK : rp_no_memory(err);
}

rp_status rp_seen_count(int64_t *out, const rp_archive *archive, const rp_judged *j, bool outcomes, rp_error *err)
{
    int64_t *chosen = NULL;
    const int64_t *row = j->row;
    size_t rows = j->rows;
    rp_buffer csv = {0};
    rp_rows *table = NULL;
    rp_dataset *trained = NULL;
    rp_tally seen;
    rp_status status;

    *out = -1;
    if (!rp_archive_find(archive, RP_TABLE_MEMBER))
        return RP_OK;
    status = outcomes ? rows_with_outcome(&chosen, &rows, j, err) : RP_OK;
    row = outcomes ? chosen : row;
    if (status == RP_OK)
        status = rp_archive_read_member(archive, RP_TABLE_MEMBER, SIZE_MAX / 2, &csv, err);
    if (status == RP_OK)
        status = rp_rows_open(&table, j->scoring->schema, j->scoring->recipe, csv.data, csv.size, RP_TABLE_MEMBER,
                              j->scoring->recipe, err);
    if (status == RP_OK)
        status = rp_dataset_prepare(&trained, j->scoring->recipe, csv.data, csv.size, RP_TABLE_MEMBER,
                                    &(rp_table_options){.pool = rp_scoring_pool(j->scoring)}, err);
    if (status == RP_OK && j->fold)
        status =
            rp_rows_seen_apart(&seen, j->scoring->schema, table, &(rp_folded_rows){j->row, j->fold, j->known, j->rows},
                               trained->train_row, trained->train_rows, err);
    else if (status == RP_OK)
        status = rp_rows_seen(&seen, j->scoring->schema, j->scoring->rows, row, rows, table, trained->train_row,
                              trained->train_rows, err);
    if (status == RP_OK)
        *out = (int64_t)seen.count;
    rp_free(chosen);
    rp_dataset_free(trained);
    rp_rows_free(table);
    rp_buffer_free(&csv);
    return status;
}
