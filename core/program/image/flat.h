/* SPDX-License-Identifier: Apache-2.0
 * What calls on rows, images and volumes share: the same elements with an axis more or less. */
#ifndef CORE_PROGRAM_IMAGE_FLAT_H
#define CORE_PROGRAM_IMAGE_FLAT_H

#include "core/program/graph.h"

/* With an axis of length 1 put in at `at`, or, of length 1, taken away there. */
static inline rp_tensor flat(rp_tensor x, int at, bool put)
{
    size_t shape[RP_MAX_RANK];
    int rank = 0;

    if (!rp_tensor_ok(x))
        return rp_no_tensor();
    for (int i = 0; i < rp_tensor_type(x)->rank; i++) {
        if (put && i == at)
            shape[rank++] = 1;
        if (put || i != at)
            shape[rank++] = rp_tensor_type(x)->shape[i];
    }
    return rp_reshape(x, rank, shape);
}

#endif
