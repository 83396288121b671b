/* SPDX-License-Identifier: Apache-2.0
 * Seeded folds (CONTRACT 9.4): the rows of each class are permuted apart and dealt out like cards, the dealing going on
 * from class to class, so that folds differ by at most one row of a class and by at most one row in all. */
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "determinism/decimal.h"
#include "core/data/schema.h"
#include "determinism/philox.h"

static const uint32_t split_stream = 0x53504C54u; /* "SPLT": far from the streams of layers */

/* Rows of the group (label is group, or all rows when label is NULL), ascending. Returns how many. */
static size_t collect_group(int64_t *member, const int64_t *label, size_t rows, int64_t group)
{
    size_t n = 0;

    for (size_t row = 0; row < rows; row++)
        if (label == NULL || label[row] == group)
            member[n++] = (int64_t)row;
    return n;
}

/* More classes than names that people give, and all of them numbers: likely a quantity. */
static bool looks_like_quantity(const rp_target *target)
{
    double value;
    bool numbers = target->classes > 20;

    for (size_t i = 0; i < target->classes && numbers; i++)
        numbers = rp_parse_f64(&value, target->class_name[i], strlen(target->class_name[i]));
    return numbers;
}

static rp_status check_group(const rp_cells *cells, const rp_target *target, bool stratify, size_t group,
                             size_t members)
{
    long long folds = cells->recipe->data.folds;
    char quoted[64];

    if (members >= (size_t)folds)
        return RP_OK;
    if (!stratify)
        return rp_fail(cells->err, RP_EARG,
                       "%s: key data.folds: expected at most as many folds as rows, found %lld folds "
                       "for %zu rows",
                       cells->where, folds, members);
    return rp_fail(
        cells->err, RP_EARG, "%s: key data.folds: class \"%s\" has %zu rows, expected one for each of %lld folds; %s",
        cells->where, rp_printable(quoted, sizeof quoted, target->class_name[group], strlen(target->class_name[group])),
        members, folds,
        looks_like_quantity(target)
            ? "the classes are all numbers: if the target is a quantity, give train: {task: regression}"
            : "use fewer folds or stratify: false");
}

rp_status rp_split_folds(const rp_cells *cells, const rp_target *target, int64_t *fold)
{
    const rp_recipe *recipe = cells->recipe;
    size_t rows = cells->table->rows, dealt = 0;
    bool stratify = recipe->data.stratify && target->classes > 0;
    size_t groups = stratify ? target->classes : 1;
    int64_t *member = rp_reallocarray(NULL, rows, sizeof *member);
    int64_t *order = rp_reallocarray(NULL, rows, sizeof *order);
    rp_status status = member != NULL && order != NULL ? RP_OK : rp_no_memory(cells->err);

    for (size_t group = 0; group < groups && status == RP_OK; group++) {
        size_t n = collect_group(member, stratify ? target->label : NULL, rows, (int64_t)group);

        status = check_group(cells, target, stratify, group, n);
        if (status != RP_OK)
            break;
        rp_permutation(order, n, recipe->seed, group, split_stream);
        for (size_t j = 0; j < n; j++)
            fold[member[order[j]]] = (int64_t)((dealt + j) % (size_t)recipe->data.folds);
        dealt += n;
    }
    rp_free(member);
    rp_free(order);
    return status;
}
