/* SPDX-License-Identifier: Apache-2.0
 * What of a recipe's run holds cells of a table that is left out of the archive, and is said without them
 * (FORMAT.md 13). */
#ifndef AUDIT_DRIVE_WITHOUT_CELLS_H
#define AUDIT_DRIVE_WITHOUT_CELLS_H

#include "base/json.h"

/* The terms of metrics.json's fit without the categories and edges that name them (FORMAT.md 9.7); classes and slices
 * stay. 0, or -1 when memory runs out. */
int rp_metrics_forget_cells(rp_json *metrics);

#endif
