/* SPDX-License-Identifier: Apache-2.0
 * The summation order of CONTRACT 4, in binary32 and binary64 from one text. */
#include "determinism/sum.h"

#define REAL float
#define FOLD_INLINE fold_f32
#define FOLD rp_fold_lanes_f32
#define SUM rp_sum_f32
#define LEAF leaf_f32
#define NODE node_f32
#include "determinism/fold.inc.h"
#include "determinism/sum.inc.h"
#undef REAL
#undef FOLD_INLINE
#undef FOLD
#undef SUM
#undef LEAF
#undef NODE

#define REAL double
#define FOLD_INLINE fold_f64
#define FOLD rp_fold_lanes_f64
#define SUM rp_sum_f64
#define LEAF leaf_f64
#define NODE node_f64
#include "determinism/fold.inc.h"
#include "determinism/sum.inc.h"
