/* SPDX-License-Identifier: Apache-2.0
 * Optimizer steps that are written in operations of rp/tensor.h (CONTRACT 11.2); those of one operation are declared
 * there. As they do, each returns the new parameter and replaces the moments; lr, c1 and c2 are rank-0 tensors of its
 * type. */
#ifndef RP_OPTIMIZER_H
#define RP_OPTIMIZER_H

#include "rp/tensor.h"

/* Each is what it says: a beta of 0 is 0. */
typedef struct rp_lamb_options {
    double beta1, beta2, eps, weight_decay;
} rp_lamb_options;
/* Adam's step and decay scaled by the parameter's norm over the step's, where both are above 0 (You and others 2020).
 * options NULL: 0.9, 0.999, 1e-6 and no decay. */
RP_API rp_tensor rp_lamb(rp_tensor p, rp_tensor *m, rp_tensor *v, rp_tensor g, rp_tensor lr, rp_tensor c1, rp_tensor c2,
                         const rp_lamb_options *options);
/* Of a matrix: the momentum made nearly orthogonal by five steps of Newton and Schulz in the parameter's type (Jordan
 * and others 2024), times sqrt(max(1, rows / columns)); the decay is decoupled. Other parameters take another
 * optimizer: RP_ESHAPE. */
RP_API rp_tensor rp_muon(rp_tensor p, rp_tensor *m, rp_tensor g, rp_tensor lr, double momentum, bool nesterov,
                         double weight_decay);

/* Calls say where they stand: see rp_site. Written by scripts/sites.py. */
#if !defined(RP_BUILDING) && !defined(RP_NO_SITES)
#define rp_lamb(...) RP_SITED(rp_lamb, __VA_ARGS__)
#define rp_muon(...) RP_SITED(rp_muon, __VA_ARGS__)
#endif

#endif
