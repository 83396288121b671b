/* SPDX-License-Identifier: Apache-2.0
 * Judged rows beside the training rows of the archive. */
#include "audit/validate/seen.h"

#include "audit/archive/archive_private.h"
#include "core/data/later/seen.h"

rp_status rp_seen_count(int64_t *out, const rp_archive *archive, const rp_judged *j, rp_error *err)
{
    rp_buffer csv = {0};
    rp_rows *table = NULL;
    rp_dataset *trained = NULL;
    rp_tally seen;
    rp_status status;

    *out = -1;
    if (!rp_archive_find(archive, RP_TABLE_MEMBER))
        return RP_OK;
    status = rp_archive_read_member(archive, RP_TABLE_MEMBER, SIZE_MAX / 2, &csv, err);
    if (status == RP_OK)
        status = rp_rows_open(&table, j->scoring->schema, j->scoring->recipe, csv.data, csv.size, RP_TABLE_MEMBER,
                              j->scoring->recipe, err);
    if (status == RP_OK)
        status = rp_dataset_prepare(&trained, j->scoring->recipe, csv.data, csv.size, RP_TABLE_MEMBER,
                                    &(rp_table_options){.pool = rp_scoring_pool(j->scoring)}, err);
    if (status == RP_OK)
        status = rp_rows_seen(&seen, j->scoring->schema, j->scoring->rows, j->row, j->rows, table, trained->train_row,
                              trained->train_rows, err);
    if (status == RP_OK)
        *out = (int64_t)seen.count;
    rp_dataset_free(trained);
    rp_rows_free(table);
    rp_buffer_free(&csv);
    return status;
}
