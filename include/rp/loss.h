/* SPDX-License-Identifier: Apache-2.0
 * Losses, written in operations of rp/tensor.h (CONTRACT 11.2 lists the instructions). A target has the prediction's
 * type and shape, or stretches to it, else RP_ESHAPE: of predictions [n, 1] and targets [n] one is reshaped first.
 * Labels are i32 or i64. They mean what PyTorch's of the same name mean: test_losses holds values and gradients against
 * its. Two gradients differ at a point: bce's is 0 where the logarithm is at its bound,
 * and a variance below eps has none. A number outside its range is RP_EARG.
 *
 * rp_mse, rp_bce_with_logits and rp_cross_entropy, all with the mean, are in rp/tensor.h. */
#ifndef RP_LOSS_H
#define RP_LOSS_H

#include "rp/tensor.h"

/* What becomes of the elements' (or rows') losses. */
typedef enum rp_reduction {
    RP_REDUCE_MEAN,
    RP_REDUCE_SUM,
    RP_REDUCE_NONE,
    RP_REDUCE_BATCH /* the sum over the length of axis 0 */
} rp_reduction;

/* {0} is a good start. */
typedef struct rp_class_options {
    rp_tensor weight; /* [classes], no other shape; weight.graph NULL: all 1. The mean is over the weights of the rows'
                         classes, and a NaN where they are 0 or no row counts */
    bool ignore;      /* rows whose label is ignore_index count for nothing */
    int64_t ignore_index;
    double smoothing; /* so much of a label is spread over all classes; 0 to 1; of cross entropy alone */
    rp_reduction reduction;
} rp_class_options;

/* logits [rows, classes], labels [rows]; log_p: log probabilities, as rp_log_softmax gives them. */
RP_API rp_tensor rp_cross_entropy_loss(rp_tensor logits, rp_tensor labels, const rp_class_options *options);
RP_API rp_tensor rp_nll_loss(rp_tensor log_p, rp_tensor labels, const rp_class_options *options);
/* Of logits; weight: what a positive counts, broadcasts; its graph NULL: 1. */
RP_API rp_tensor rp_bce_with_logits_loss(rp_tensor logits, rp_tensor target, rp_tensor positive_weight,
                                         rp_reduction reduction);
/* Of probabilities; logarithms are at least -100. */
RP_API rp_tensor rp_bce_loss(rp_tensor p, rp_tensor target, rp_reduction reduction);
/* target (log(target) - log_p), 0 where the target is 0; log_target: the target is a logarithm too. */
RP_API rp_tensor rp_kl_div_loss(rp_tensor log_p, rp_tensor target, bool log_target, rp_reduction reduction);

RP_API rp_tensor rp_mse_loss(rp_tensor x, rp_tensor target, rp_reduction reduction);
RP_API rp_tensor rp_l1_loss(rp_tensor x, rp_tensor target, rp_reduction reduction);
/* Squares up to a distance of delta, beta, and straight from there on: huber is smooth_l1 times delta. delta above 0,
 * both finite in the operands' type; beta 0 is l1. */
RP_API rp_tensor rp_huber_loss(rp_tensor x, rp_tensor target, double delta, rp_reduction reduction);
RP_API rp_tensor rp_smooth_l1_loss(rp_tensor x, rp_tensor target, double beta, rp_reduction reduction);
/* log_input: x is a log rate, exp(x) - target x; else x - target log(x + eps). full: with Stirling's term. */
RP_API rp_tensor rp_poisson_nll_loss(rp_tensor x, rp_tensor target, bool log_input, bool full, double eps,
                                     rp_reduction reduction);
/* (log(var) + (x - target)^2 / var) / 2, var at least eps; full: with log(2 pi) / 2. */
RP_API rp_tensor rp_gaussian_nll_loss(rp_tensor x, rp_tensor target, rp_tensor var, bool full, double eps,
                                      rp_reduction reduction);

/* Labels y of 1 and -1, in the type of x. max(0, 1 - y x); log(1 + exp(-y x)); x or max(0, margin - x). */
RP_API rp_tensor rp_hinge_loss(rp_tensor x, rp_tensor y, rp_reduction reduction);
RP_API rp_tensor rp_soft_margin_loss(rp_tensor x, rp_tensor y, rp_reduction reduction);
RP_API rp_tensor rp_hinge_embedding_loss(rp_tensor x, rp_tensor y, double margin, rp_reduction reduction);
/* max(0, margin - y (a - b)). */
RP_API rp_tensor rp_margin_ranking_loss(rp_tensor a, rp_tensor b, rp_tensor y, double margin, rp_reduction reduction);

/* Rows of embeddings [.., n]. 1 - cos, or max(0, cos - margin) where y is not above 0. */
RP_API rp_tensor rp_cosine_embedding_loss(rp_tensor a, rp_tensor b, rp_tensor y, double margin, rp_reduction reduction);
/* max(0, margin + distance to the positive - distance to the negative), Euclidean, with 1e-6 added to each difference.
 */
RP_API rp_tensor rp_triplet_margin_loss(rp_tensor anchor, rp_tensor positive, rp_tensor negative, double margin,
                                        rp_reduction reduction);
/* Contrastive: of query and key [rows, n], scaled to length 1, row i of the one belongs to row i of the other; the
 * cross entropy of their inner products over the temperature (van den Oord and others 2018). */
RP_API rp_tensor rp_info_nce_loss(rp_tensor query, rp_tensor key, double temperature, rp_reduction reduction);

/* {0} is a good start. */
typedef struct rp_ctc_options {
    int64_t blank;      /* the class that stands for no label; no label is it */
    bool zero_infinity; /* rows without an alignment have the loss 0, not infinity; their gradient is 0 in any case */
    rp_reduction reduction; /* the mean is that of the rows' losses over their lengths, of at least 1 */
} rp_ctc_options;

/* Connectionist temporal classification: -log of the sum, over all ways to write labels [n, s] into the times with
 * repeats and blanks, of their probability. log_p [times, n, classes], as rp_log_softmax gives them; input_length and
 * label_length [n]: how many times and labels of a row count, another number than 0 .. times, 0 .. s is an error of the
 * step. The gradient is the derivative by log_p; PyTorch's differs from it by what log_softmax's takes away. */
RP_API rp_tensor rp_ctc_loss(rp_tensor log_p, rp_tensor labels, rp_tensor input_length, rp_tensor label_length,
                             const rp_ctc_options *options);

/* Calls say where they stand: see rp_site. Written by scripts/sites.py. */
#if !defined(RP_BUILDING) && !defined(RP_NO_SITES)
#define rp_cross_entropy_loss(...) RP_SITED(rp_cross_entropy_loss, __VA_ARGS__)
#define rp_nll_loss(...) RP_SITED(rp_nll_loss, __VA_ARGS__)
#define rp_bce_with_logits_loss(...) RP_SITED(rp_bce_with_logits_loss, __VA_ARGS__)
#define rp_bce_loss(...) RP_SITED(rp_bce_loss, __VA_ARGS__)
#define rp_kl_div_loss(...) RP_SITED(rp_kl_div_loss, __VA_ARGS__)
#define rp_mse_loss(...) RP_SITED(rp_mse_loss, __VA_ARGS__)
#define rp_l1_loss(...) RP_SITED(rp_l1_loss, __VA_ARGS__)
#define rp_huber_loss(...) RP_SITED(rp_huber_loss, __VA_ARGS__)
#define rp_smooth_l1_loss(...) RP_SITED(rp_smooth_l1_loss, __VA_ARGS__)
#define rp_poisson_nll_loss(...) RP_SITED(rp_poisson_nll_loss, __VA_ARGS__)
#define rp_gaussian_nll_loss(...) RP_SITED(rp_gaussian_nll_loss, __VA_ARGS__)
#define rp_hinge_loss(...) RP_SITED(rp_hinge_loss, __VA_ARGS__)
#define rp_soft_margin_loss(...) RP_SITED(rp_soft_margin_loss, __VA_ARGS__)
#define rp_hinge_embedding_loss(...) RP_SITED(rp_hinge_embedding_loss, __VA_ARGS__)
#define rp_margin_ranking_loss(...) RP_SITED(rp_margin_ranking_loss, __VA_ARGS__)
#define rp_cosine_embedding_loss(...) RP_SITED(rp_cosine_embedding_loss, __VA_ARGS__)
#define rp_triplet_margin_loss(...) RP_SITED(rp_triplet_margin_loss, __VA_ARGS__)
#define rp_info_nce_loss(...) RP_SITED(rp_info_nce_loss, __VA_ARGS__)
#define rp_ctc_loss(...) RP_SITED(rp_ctc_loss, __VA_ARGS__)
#endif

#endif
