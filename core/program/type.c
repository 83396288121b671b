/* SPDX-License-Identifier: Apache-2.0
 * Types and views: counting, comparing, describing. Every shape reaching here has been overflow-checked by infer.c. */
#include <stdio.h>
#include <string.h>

#include "core/program/op.h"

bool rp_type_valid(const rp_type *type)
{
    size_t count = 1;

    if (rp_dtype_size(type->dtype) == 0 || type->rank < 0 || type->rank > RP_MAX_RANK)
        return false;
    for (int i = 0; i < type->rank; i++) {
        if (type->shape[i] > rp_elements_max / count)
            return false;
        count *= type->shape[i] ? type->shape[i] : 1;
    }
    return true;
}

size_t rp_type_count(const rp_type *type)
{
    size_t count = 1;

    for (int i = 0; i < type->rank; i++)
        count *= type->shape[i];
    return count;
}

size_t rp_type_bytes(const rp_type *type)
{
    return rp_type_count(type) * rp_dtype_size(type->dtype);
}

bool rp_type_equal(const rp_type *a, const rp_type *b)
{
    return a->dtype == b->dtype && a->rank == b->rank &&
           memcmp(a->shape, b->shape, (size_t)a->rank * sizeof *a->shape) == 0;
}

void rp_type_text(const rp_type *type, char *out, size_t size)
{
    size_t used = (size_t)snprintf(out, size, "%s[", rp_dtype_name(type->dtype));

    for (int i = 0; i < type->rank && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, "%s%zu", i ? "," : "", type->shape[i]);
    if (used < size)
        (void)snprintf(out + used, size - used, "]");
}

rp_view rp_view_of(const rp_type *type, void *data)
{
    rp_view view;
    ptrdiff_t stride = 1;

    /* in parts: the whole is so large that compilers clear it with a string instruction, which takes longer to begin */
    view.data = data;
    view.dtype = type->dtype;
    view.rank = type->rank;
    memcpy(view.shape, type->shape, sizeof view.shape);
    memset(view.stride, 0, sizeof view.stride);
    for (int i = type->rank - 1; i >= 0; i--) {
        view.stride[i] = stride;
        stride *= (ptrdiff_t)(type->shape[i] ? type->shape[i] : 1);
    }
    return view;
}

rp_view rp_view_range(const rp_view *view, uint64_t first, uint64_t n)
{
    rp_view rows = *view;

    rows.data = (char *)view->data + (ptrdiff_t)first * view->stride[0] * (ptrdiff_t)rp_dtype_size(view->dtype);
    rows.shape[0] = n;
    return rows;
}

rp_view rp_view_index(const rp_view *view, uint64_t i)
{
    rp_view one = rp_view_range(view, i, 1);

    one.rank--;
    memmove(one.shape, one.shape + 1, (size_t)one.rank * sizeof *one.shape);
    memmove(one.stride, one.stride + 1, (size_t)one.rank * sizeof *one.stride);
    return one;
}

bool rp_view_contiguous(const rp_view *view)
{
    ptrdiff_t stride = 1;

    for (int i = view->rank - 1; i >= 0; i--) {
        if (view->shape[i] == 0)
            return true;
        if (view->shape[i] != 1 && view->stride[i] != stride)
            return false;
        stride *= (ptrdiff_t)view->shape[i];
    }
    return true;
}
