/* SPDX-License-Identifier: Apache-2.0
 * What the shape rules of several files share: refusing operands in one wording, and the limit on elements. */
#ifndef CORE_PROGRAM_INFER_CHECK_H
#define CORE_PROGRAM_INFER_CHECK_H

#include "core/program/infer.h"

/* Elements of one tensor are limited so that byte counts and strides never overflow. */
static const size_t count_max = (size_t)1 << 40;

static inline rp_status refuse(const rp_op *op, const rp_type *a, const rp_type *b, const char *expected, rp_error *err)
{
    char ta[192], tb[192] = "";

    rp_type_text(a, ta, sizeof ta);
    if (b)
        rp_type_text(b, tb, sizeof tb);
    return rp_fail(err, RP_ESHAPE, "%s: found %s%s%s, expected %s", op->name, ta, b ? " and " : "", tb, expected);
}

static inline rp_status bounded(const rp_op *op, const rp_type *t, rp_error *err)
{
    size_t count = 1;

    for (int i = 0; i < t->rank; i++) {
        if (t->shape[i] && count > count_max / t->shape[i])
            return refuse(op, t, NULL, "at most 2^40 elements", err);
        /* a zero axis makes the tensor empty, but the others must still be sane on their own */
        if (t->shape[i])
            count *= t->shape[i];
    }
    return RP_OK;
}

/* One value a channel: as long as the last axis of x. */
static inline bool is_row_of(const rp_type *row, const rp_type *x)
{
    return row->dtype == x->dtype && row->rank == 1 && row->shape[0] == x->shape[x->rank - 1];
}

#endif
