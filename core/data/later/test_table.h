/* SPDX-License-Identifier: Apache-2.0
 * The rows of data.test_csv: a table beside the run's own, which is read to be refused early and counted, and enters
 * nothing that is learnt, chosen or scored (CONTRACT 9.4). */
#ifndef CORE_DATA_LATER_TEST_TABLE_H
#define CORE_DATA_LATER_TEST_TABLE_H

#include "core/data/dataset.h"

typedef struct rp_table_bytes {
    const void *bytes;
    size_t size;
    const char *where;
} rp_table_bytes;

/* Whether the rows of test can be judged later by what was learnt of own: all columns, every cell as in training, the
 * target. Counts go to dataset->profile, into its quality as "test_table" and, where training rows are among them, as
 * the finding test_seen (CONTRACT 9.11). Errors: RP_EDATA with file, line and column; RP_ENOMEM. */
rp_status rp_test_table_check(const rp_dataset *dataset, const rp_recipe *recipe, const rp_table_bytes *own,
                              const rp_table_bytes *test, rp_error *err);

#endif
