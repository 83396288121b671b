/* SPDX-License-Identifier: Apache-2.0
 * Groups of rows beside each other (CONTRACT 14.7): rates of selection with their ratio to the highest (29 CFR
 * 1607.4(D)), and differences of odds (Hardt, Price, Srebro 2016). A screening: counts and intervals stand beside every
 * ratio. Pure functions; NaN stands for what is not defined. */
#ifndef CORE_STATS_GROUPS_H
#define CORE_STATS_GROUPS_H

#include <stddef.h>
#include <stdint.h>

typedef struct rp_group {
    uint64_t rows, selected;                  /* given */
    uint64_t favourable, favourable_selected; /* given: rows whose outcome was the favourable one, and those selected */
    double rate, rate_low, rate_high;         /* of selection, with Jeffreys' interval of 95 % */
    double ratio, ratio_low, ratio_high, p;   /* to the reference's rate: Katz 1978; test of two shares */
    double true_positive_rate, false_positive_rate;
} rp_group;

/* Below so many rows a group is small: its own figures are taken, the summary is not of it, and it is no reference. */
enum { RP_GROUP_SMALL = 30 };

typedef struct rp_group_summary {
    size_t reference;         /* the first group of the highest rate among those that are not small, if there is one */
    double ratio, difference; /* of the lowest rate to the highest; not defined with less than two that are not small */
    double opportunity, odds; /* largest differences of the true positive rates; of those and the false ones */
} rp_group_summary;

/* group [n]: counts given, figures filled in. Groups without outcomes have favourable 0 and outcomes false. n is at
 * least 1. */
void rp_compare_groups(rp_group_summary *out, rp_group *group, size_t n, int outcomes);

#endif
