/* SPDX-License-Identifier: Apache-2.0
 * Indices below a bound. */
#include "kernels/index_check.h"

static int64_t value_at(const rp_view *index, const void *at)
{
    return index->dtype == RP_I32 ? *(const int32_t *)at : *(const int64_t *)at;
}

size_t rp_index_check_range(const rp_index_check *check, size_t begin, size_t end)
{
    const rp_view *const views[] = {&check->index};
    const ptrdiff_t size = (ptrdiff_t)rp_dtype_size(check->index.dtype);
    rp_walk walk;

    rp_walk_begin(&walk, views, 1, begin, end);
    while (rp_walk_next(&walk)) {
        const char *at = walk.at[0];

        for (size_t i = 0; i < walk.run; i++, at += walk.step[0] * size)
            /* a negative one is a large one */
            if ((uint64_t)value_at(&check->index, at) >= check->bound)
                return walk.first + i;
    }
    return end;
}

int64_t rp_index_check_value(const rp_view *index, size_t at)
{
    const rp_view *const views[] = {index};
    rp_walk walk;

    rp_walk_begin(&walk, views, 1, at, at + 1);
    (void)rp_walk_next(&walk);
    return value_at(index, walk.at[0]);
}
