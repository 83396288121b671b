/* SPDX-License-Identifier: Apache-2.0
 * What people ask of a tensor: how many elements are what, where they lie, and the first of them. Nothing here is part
 * of a run: figures are of binary64, in the order of the elements, the same on every host. */
#ifndef CORE_RUN_LOOK_SUMMARY_H
#define CORE_RUN_LOOK_SUMMARY_H

#include "base/buffer.h"
#include "core/program/op.h"

enum { RP_SUMMARY_BINS = 16, RP_SUMMARY_FIRST = 8 };

typedef struct rp_summary {
    rp_type type;
    const void *host;                              /* the elements, contiguous; borrowed */
    uint64_t count, nans, infinite, zeros, finite; /* zeros are finite */
    double least, most, mean, deviation; /* of the finite ones, dividing by how many they are; 0 without any */
    uint64_t bin[RP_SUMMARY_BINS];       /* of equal width from least to most, which is in the last */
    size_t bins;                         /* 0: nothing is finite; 1: all finite ones are equal */
} rp_summary;

void rp_summary_of(rp_summary *out, const rp_type *type, const void *host);
/* Where bin i begins; i = bins: where the last one ends. */
double rp_summary_edge(const rp_summary *summary, size_t i);
/* Lines, each beginning with `indent`: how many are what, the range, with `bins` the histogram, the first elements. */
void rp_summary_put(rp_buffer *out, const rp_summary *summary, const char *indent, bool bins);

#endif
