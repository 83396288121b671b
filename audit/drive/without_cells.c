/* SPDX-License-Identifier: Apache-2.0
 * Terms of an exact fit without the categories and edges that name them. */
#include "audit/drive/without_cells.h"

/* `times`, the other column of a product, is copied first: outputs/coefficients.json, which is left out whole and keeps
 * its names where it lies, holds the same object. The terms of these lists are their own. */
static int forget(rp_json *term)
{
    rp_json *times = rp_json_object_get(term, "times") ? rp_json_deep_copy(rp_json_object_get(term, "times")) : NULL;

    (void)rp_json_object_del(term, "category");
    (void)rp_json_object_del(term, "bin");
    if (!rp_json_object_get(term, "times"))
        return 0;
    (void)rp_json_object_del(times, "category");
    (void)rp_json_object_del(times, "bin");
    return rp_json_object_set_new(term, "times", times);
}

int rp_metrics_forget_cells(rp_json *metrics)
{
    static const char *const lists[] = {"left_out", "opposed"};
    const rp_json *fit = rp_json_object_get(metrics, "fit");
    rp_json *term;
    int failed = 0;
    size_t i;

    for (size_t k = 0; k < sizeof lists / sizeof *lists; k++)
        rp_json_array_foreach (rp_json_object_get(fit, lists[k]), i, term)
            failed |= forget(term);
    return failed;
}
