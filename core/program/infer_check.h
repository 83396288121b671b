/* SPDX-License-Identifier: Apache-2.0
 * What the shape rules of several files share: refusing operands in one wording, and the limit on elements. */
#ifndef CORE_PROGRAM_INFER_CHECK_H
#define CORE_PROGRAM_INFER_CHECK_H

#include <stdio.h>

#include "core/program/infer.h"

static inline rp_status refuse(const rp_op *op, const rp_type *a, const rp_type *b, const char *expected, rp_error *err)
{
    char ta[192], tb[192] = "";

    rp_type_text(a, ta, sizeof ta);
    if (b)
        rp_type_text(b, tb, sizeof tb);
    return rp_fail(err, RP_ESHAPE, "%s: found %s%s%s, expected %s", op->name, ta, b ? " and " : "", tb, expected);
}

enum { LIST_TEXT = RP_MAX_RANK * 21 + 3 };

/* A list of integers as it was given: "[0,5]". */
static inline const char *list_text(const rp_attr *attr, char out[LIST_TEXT])
{
    size_t used = (size_t)snprintf(out, LIST_TEXT, "[");

    for (int i = 0; i < attr->n; i++)
        used += (size_t)snprintf(out + used, LIST_TEXT - used, "%s%lld", i ? "," : "", (long long)attr->list[i]);
    (void)snprintf(out + used, LIST_TEXT - used, "]");
    return out;
}

/* The operation's lists, which come first among its attributes, do not go with the operand: named as they were given,
 * "begin [0,5], end [4,9] do not lie in f32[4,8]". */
static inline rp_status refuse_lists(const rp_op *op, const rp_attr *attr, const char *problem, const rp_type *in,
                                     const char *expected, rp_error *err)
{
    const bool two = op->attr[1].kind == RP_ATTR_LIST;
    char first[LIST_TEXT], second[LIST_TEXT], type[192];

    rp_type_text(in, type, sizeof type);
    return rp_fail(err, RP_ESHAPE, "%s: %s %s%s%s%s%s %s %s, expected %s", op->name, op->attr[0].name,
                   list_text(&attr[0], first), two ? ", " : "", two ? op->attr[1].name : "", two ? " " : "",
                   two ? list_text(&attr[1], second) : "", problem, type, expected);
}

/* The operation's axis is none of the operand's. */
static inline rp_status refuse_axis(const rp_op *op, int64_t axis, const rp_type *in, rp_error *err)
{
    char type[192];

    rp_type_text(in, type, sizeof type);
    return rp_fail(err, RP_ESHAPE, "%s: axis %lld is not an axis of %s, expected 0 <= axis < %d", op->name,
                   (long long)axis, type, in->rank);
}

static inline rp_status refuse_empty_axis(const rp_op *op, int64_t axis, const rp_type *in, rp_error *err)
{
    char type[192];

    rp_type_text(in, type, sizeof type);
    return rp_fail(err, RP_ESHAPE, "%s: axis %lld has length 0 in %s, expected at least one element", op->name,
                   (long long)axis, type);
}

static inline bool axis_valid(int64_t axis, const rp_type *t)
{
    return axis >= 0 && axis < t->rank;
}

static inline rp_status bounded(const rp_op *op, const rp_type *t, rp_error *err)
{
    return rp_type_valid(t) ? RP_OK : refuse(op, t, NULL, "at most 2^40 elements, lengths of 0 counted as 1", err);
}

/* One value a channel: as long as the last axis of x. */
static inline bool is_row_of(const rp_type *row, const rp_type *x)
{
    return row->dtype == x->dtype && row->rank == 1 && row->shape[0] == x->shape[x->rank - 1];
}

#endif
