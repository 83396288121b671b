/* SPDX-License-Identifier: Apache-2.0
 * What the calls share that are written in other calls (CONTRACT 11.2). In all of them an argument list holds at most
 * one call that appends, and a tensor that is none makes one that is none. */
#ifndef CORE_PROGRAM_COMPOSED_COMPOSED_H
#define CORE_PROGRAM_COMPOSED_COMPOSED_H

#include <float.h>

#include "core/program/graph.h"
#include "rp/loss.h"

/* c as a rank-0 tensor of x's type. */
static inline rp_tensor composed_constant(rp_tensor x, double c)
{
    return rp_tensor_ok(x) ? rp_fill(x.graph, rp_tensor_type(x)->dtype, 0, NULL, c) : rp_no_tensor();
}

static inline rp_dtype composed_dtype(rp_tensor x)
{
    return rp_tensor_ok(x) ? rp_tensor_type(x)->dtype : RP_F32;
}

static inline bool composed_is_real(rp_tensor x)
{
    return composed_dtype(x) == RP_F32 || composed_dtype(x) == RP_F64;
}

/* The greatest finite number of x's type, which is f64 or else taken for f32. */
static inline double composed_greatest(rp_tensor x)
{
    return composed_dtype(x) == RP_F64 ? DBL_MAX : (double)FLT_MAX;
}

/* The losses of elements or rows as the caller wants them. */
rp_tensor composed_reduced(rp_tensor x, rp_reduction reduction);

/* rp_muon; turned: of a matrix that lies the other way round than its rows and columns are counted. */
rp_tensor composed_muon(rp_tensor p, rp_tensor *m, rp_tensor g, rp_tensor lr, double momentum, bool nesterov,
                        double weight_decay, bool turned);

#endif
