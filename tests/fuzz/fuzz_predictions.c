/* SPDX-License-Identifier: Apache-2.0
 * libFuzzer entry: somebody's predictions beside some of ours, by order or by id. What is the same as itself has no
 * difference. */
#include <stdlib.h>
#include <string.h>

#include "rp/predict.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char ours[] = "row,id,predicted,p_a,p_b\n0,x,a,0.75,0.25\n1,y,b,0.125,0.875\n";
    static const char *const id[] = {"id"};
    rp_prediction_diff d;
    rp_error err;

    for (size_t n = 0; n < 2; n++)
        if (rp_predictions_compare(ours, strlen(ours), data, size, "fuzz",
                                   &(rp_compare_options){.id = id, .n_id = n, .tolerance = "0.001"}, &d,
                                   &err) == RP_OK &&
            d.differing > d.cells)
            abort();
    if (rp_predictions_compare(ours, strlen(ours), ours, strlen(ours), "ours",
                               &(rp_compare_options){.id = id, .n_id = size % 2}, &d, &err) != RP_OK ||
        d.any)
        abort();
    return 0;
}
