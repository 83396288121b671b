/* SPDX-License-Identifier: Apache-2.0
 * Walks rows along the last axis of several views at once. */
#include "kernels/ref/rows.h"

RP_KERNEL_FN RP_KERNEL_CALLER void rp_rows_run(const rp_kernel_args *args, size_t n_in, unsigned single,
                                               size_t length_of, size_t begin, size_t end, rp_row_work *work)
{
    rp_view rows[RP_WALK_VIEWS];
    const rp_view *views[RP_WALK_VIEWS];
    rp_row row = {.n = rp_view_last(&args->in[length_of]), .args = args};
    rp_walk walk;

    for (size_t v = 0; v <= n_in; v++) {
        const rp_view *view = v == 0 ? &args->out[0] : &args->in[v - 1];
        const bool one = (single >> v & 1) != 0;

        rows[v] = one ? *view : rp_view_rows(view);
        row.step[v] = one ? 0 : rp_view_last_stride(view);
        views[v] = &rows[v];
    }
    rp_walk_begin(&walk, views, n_in + 1, begin, end);
    while (rp_walk_next(&walk))
        for (size_t i = 0; i < walk.run; i++) {
            for (size_t v = 0; v <= n_in; v++)
                row.at[v] = (char *)walk.at[v] + (ptrdiff_t)i * walk.step[v] * (ptrdiff_t)rp_dtype_size(rows[v].dtype);
            work(&row);
        }
}
