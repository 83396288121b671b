/* SPDX-License-Identifier: Apache-2.0
 * Calling one kernel on plain row-major arrays, for tests that compare with values of their own. */
#ifndef TESTS_KERNELS_KERNEL_CALL_H
#define TESTS_KERNELS_KERNEL_CALL_H

#include <stdarg.h>
#include <string.h>

#include "kernels/kernel.h"

/* A row-major view of data; the sizes end with -1. */
static inline rp_view view_of(void *data, rp_dtype dtype, ...)
{
    rp_view view = {.data = data, .dtype = dtype};
    ptrdiff_t step = 1;
    va_list sizes;

    va_start(sizes, dtype);
    for (int size = va_arg(sizes, int); size >= 0; size = va_arg(sizes, int))
        view.shape[view.rank++] = (size_t)size;
    va_end(sizes);
    for (int d = view.rank - 1; d >= 0; d--) {
        view.stride[d] = step;
        step *= (ptrdiff_t)view.shape[d];
    }
    return view;
}

/* Runs the kernel of a level over all its items. */
static inline void call_kernel(const char *level, rp_kernel_id id, const rp_view *out, size_t n_out, const rp_view *in,
                               size_t n_in, const rp_attr *attr)
{
    static const rp_attr none[RP_MAX_ATTR];
    const rp_kernel_args args = {in, n_in, out, n_out, attr != NULL ? attr : none};
    const rp_kernel_table *table;

    if (rp_kernel_table_get(&table, level, NULL) == RP_OK)
        table->kernel[id]->run(&args, 0, table->kernel[id]->items(&args));
}

#endif
