/* SPDX-License-Identifier: Apache-2.0
 * Whether scores are the probabilities they say (CONTRACT 14.3): Brier, log loss, bands of scores with the Jeffreys
 * test (ECB, Instructions for reporting the validation results of internal models, 2.5.3.1), Hosmer-Lemeshow,
 * Spiegelhalter (1986). And counts at a threshold (14.4). Pure functions; NaN stands for what is not defined. */
#ifndef CORE_STATS_CALIBRATION_H
#define CORE_STATS_CALIBRATION_H

#include "core/stats/ranking.h"

enum { RP_BANDS = 10 };

/* Rows whose score is in one band, or all rows. */
typedef struct rp_band {
    uint64_t rows, positives;
    double lowest, highest, mean; /* of the scores */
    double rate;                  /* of the positives */
    double low, high;             /* the Jeffreys interval of 95 % of the rate */
    double p;                     /* Jeffreys: that the rate is no higher than the mean score */
} rp_band;

typedef struct rp_calibration {
    rp_band all, band[RP_BANDS];
    size_t bands; /* that have rows; equal scores are in one band */
    double brier, log_loss, error;
    double hosmer_lemeshow, hosmer_lemeshow_p;
    uint64_t freedom;
    double spiegelhalter, spiegelhalter_p;
} rp_calibration;

/* fitted: the model was fitted to these rows, which takes two degrees of freedom of Hosmer-Lemeshow. */
void rp_calibrate(rp_calibration *out, const rp_ranking *ranking, bool fitted);
/* A model that gives every row the score rate: its Brier score and log loss. */
double rp_trivial_brier(const rp_ranking *ranking, double rate);
double rp_trivial_log_loss(const rp_ranking *ranking, double rate);

/* Positive from the threshold up. */
typedef struct rp_confusion {
    uint64_t true_positives, false_positives, true_negatives, false_negatives;
    double accuracy, accuracy_low, accuracy_high; /* Jeffreys interval of 95 % */
    double precision, recall, specificity, f1, balanced_accuracy, mcc;
} rp_confusion;

void rp_confuse(rp_confusion *out, const rp_ranking *ranking, double threshold);

/* Interval of 95 % for a share of k in n: quantiles of Beta(k + 1/2, n - k + 1/2), 0 for k = 0 and 1 for k = n. */
void rp_jeffreys(uint64_t k, uint64_t n, double *low, double *high);
/* clipped to 2^-52 .. 1 - 2^-52: what the log loss takes of a probability */
double rp_clip_probability(double p);

#endif
