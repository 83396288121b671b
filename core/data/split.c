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

/* Of each class, or of all rows, the first of the permutation are tested; the others are dealt. */
static rp_status deal(const rp_cells *cells, const rp_target *target, unsigned char *part)
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
        size_t tested = (size_t)(recipe->data.test * (double)n);

        status = check_group(cells, target, stratify, group, n - tested);
        if (status != RP_OK)
            break;
        rp_permutation(order, n, recipe->seed, group, split_stream);
        for (size_t j = 0; j < tested; j++)
            part[member[order[j]]] = RP_TESTS;
        for (size_t j = tested; j < n; j++)
            if ((int64_t)((dealt + j - tested) % (size_t)recipe->data.folds) == recipe->data.fold)
                part[member[order[j]]] = RP_VALIDATES;
        dealt += n - tested;
    }
    rp_free(member);
    rp_free(order);
    return status;
}

rp_status rp_split_rows(const rp_cells *cells, const rp_target *target, unsigned char *part)
{
    const rp_recipe *recipe = cells->recipe;

    memset(part, RP_TRAINS, cells->table->rows);
    if (recipe->data.train_on_all)
        return RP_OK;
    if (recipe->data.split.given)
        return rp_split_column(cells, part);
    if (recipe->data.time.given)
        return rp_split_time(cells, part);
    return recipe->data.group.given ? rp_split_groups(cells, part) : deal(cells, target, part);
}
