/* SPDX-License-Identifier: Apache-2.0
 * Shape rules of order and of places along an axis, and the view of a slice with steps. */
#include <string.h>

#include "core/program/infer_check.h"

static bool is_index(const rp_type *t)
{
    return t->dtype == RP_I32 || t->dtype == RP_I64;
}

static rp_status refuse_rank(const rp_op *op, const rp_type *in, rp_error *err)
{
    return refuse(op, in, NULL, "rank 1 or more", err);
}

rp_status infer_sort(const rp_op *op, const rp_attr *attr, const rp_type *in, size_t n_in, rp_type *out, rp_error *err)
{
    (void)attr, (void)n_in;
    if (in[0].rank == 0)
        return refuse_rank(op, in, err);
    out[0] = out[1] = in[0];
    out[1].dtype = RP_I64;
    return RP_OK;
}

rp_status infer_topk(const rp_op *op, const rp_attr *attr, const rp_type *in, size_t n_in, rp_type *out, rp_error *err)
{
    const int64_t k = RP_AT(attr, topk, k).i;
    char type[192];

    (void)n_in;
    if (in[0].rank == 0)
        return refuse_rank(op, in, err);
    rp_type_text(&in[0], type, sizeof type);
    if (k < 0 || (uint64_t)k > in[0].shape[in[0].rank - 1])
        return rp_fail(err, RP_ESHAPE, "%s: found k %lld for %s, expected 0 to the length of the last axis", op->name,
                       (long long)k, type);
    out[0] = in[0];
    out[0].shape[in[0].rank - 1] = (size_t)k;
    out[1] = out[0];
    out[1].dtype = RP_I64;
    return RP_OK;
}

rp_status infer_searchsorted(const rp_op *op, const rp_attr *attr, const rp_type *in, size_t n_in, rp_type *out,
                             rp_error *err)
{
    bool fits = in[0].rank == 1 || in[0].rank == in[1].rank;

    (void)attr, (void)n_in;
    if (in[0].rank == 0)
        return refuse_rank(op, in, err);
    for (int i = 0; i + 1 < in[0].rank && fits; i++)
        fits = in[0].shape[i] == in[1].shape[i];
    if (in[0].dtype != in[1].dtype || !fits)
        return refuse(op, &in[0], &in[1],
                      "one dtype (use rp_cast), and a line in order for all, or lines with the same axes in front",
                      err);
    out[0] = in[1];
    out[0].dtype = RP_I64;
    return RP_OK;
}

rp_status infer_non_max(const rp_op *op, const rp_attr *attr, const rp_type *in, size_t n_in, rp_type *out,
                        rp_error *err)
{
    const rp_type *boxes = &in[0], *scores = &in[1], *order = &in[2];
    const int64_t k = RP_AT(attr, non_max, k).i;

    (void)n_in;
    if (boxes->rank != 3 || boxes->shape[2] != 4)
        return refuse(op, boxes, NULL, "boxes [n, m, 4]", err);
    if (scores->rank != 3 || scores->dtype != boxes->dtype || scores->shape[0] != boxes->shape[0] ||
        scores->shape[2] != boxes->shape[1])
        return refuse(op, boxes, scores, "boxes [n, m, 4] and scores [n, classes, m] of one dtype", err);
    if (!is_index(order) || order->rank != 3 || memcmp(order->shape, scores->shape, 3 * sizeof *order->shape) != 0)
        return refuse(op, scores, order, "the places of scores in order, i32 or i64 of their shape", err);
    if (k < 0 || (uint64_t)k > (uint64_t)1 << 40)
        return rp_fail(err, RP_ESHAPE,
                       "%s: found k %lld, expected how many boxes of a class are kept at most, 0 to 2^40", op->name,
                       (long long)k);
    out[0] = *scores;
    out[0].dtype = RP_I64;
    out[0].shape[2] = (size_t)k;
    return bounded(op, &out[0], err);
}

/* Whether index lies as x does but for the axis. */
static bool lies_along(const rp_type *x, const rp_type *index, int64_t axis)
{
    if (!is_index(index) || index->rank != x->rank)
        return false;
    for (int i = 0; i < x->rank; i++)
        if (i != axis && index->shape[i] != x->shape[i])
            return false;
    return true;
}

static rp_status check_along(const rp_op *op, int64_t axis, const rp_type *in, rp_error *err)
{
    if (axis < 0 || axis >= in[0].rank)
        return refuse_axis(op, axis, &in[0], err);
    if (!lies_along(&in[0], &in[1], axis))
        return refuse(op, &in[0], &in[1], "i32 or i64 indices with the first's lengths on all axes but the operation's",
                      err);
    return RP_OK;
}

rp_status infer_take_along(const rp_op *op, const rp_attr *attr, const rp_type *in, size_t n_in, rp_type *out,
                           rp_error *err)
{
    rp_status status = check_along(op, RP_AT(attr, take_along, axis).i, in, err);

    (void)n_in;
    if (status != RP_OK)
        return status;
    out[0] = in[1];
    out[0].dtype = in[0].dtype;
    return RP_OK;
}

rp_status infer_scatter_along(const rp_op *op, const rp_attr *attr, const rp_type *in, size_t n_in, rp_type *out,
                              rp_error *err)
{
    const int64_t mode = RP_AT(attr, scatter_along, mode).i;
    rp_status status = check_along(op, RP_AT(attr, scatter_along, axis).i, in, err);
    rp_type source = in[1];

    (void)n_in;
    if (status != RP_OK)
        return status;
    source.dtype = in[0].dtype;
    if (!rp_type_equal(&in[2], &source))
        return refuse(op, &in[1], &in[2], "a source of the index's shape and the first operand's dtype", err);
    if (mode < 0 || mode > 4)
        return rp_fail(err, RP_ESHAPE,
                       "%s: found mode %lld, expected 0 (set), 1 (add), 2 (multiply), 3 (maximum) or 4 (minimum)",
                       op->name, (long long)mode);
    if (mode > 0 && !(RP_D_NUMBER >> in[0].dtype & 1))
        return refuse(op, &in[0], NULL, "numbers, or mode 0, which sets", err);
    out[0] = in[0];
    return RP_OK;
}

/* Whether size elements from begin on, step apart, lie in 0 .. length - 1. */
static bool steps_fit(int64_t begin, int64_t size, int64_t step, size_t length)
{
    const int64_t most = (int64_t)length - 1;

    if (size < 0 || step == 0 || (uint64_t)size > length)
        return false;
    if (size == 0)
        return true;
    if (begin < 0 || begin > most)
        return false;
    /* without a product that could overflow */
    return step > 0 ? (most - begin) / step >= size - 1 : begin / (step == INT64_MIN ? INT64_MAX : -step) >= size - 1;
}

static rp_status refuse_steps(const rp_op *op, const rp_attr *attr, const rp_type *in, rp_error *err)
{
    char begin[LIST_TEXT], size[LIST_TEXT], step[LIST_TEXT], type[192];

    rp_type_text(in, type, sizeof type);
    return rp_fail(
        err, RP_ESHAPE,
        "%s: begin %s, size %s, step %s do not lie in %s, expected one of each an axis, a step other than 0, "
        "and every element of the size inside",
        op->name, list_text(&RP_AT(attr, slice_step, begin), begin), list_text(&RP_AT(attr, slice_step, size), size),
        list_text(&RP_AT(attr, slice_step, step), step), type);
}

rp_status infer_slice_step(const rp_op *op, const rp_attr *attr, const rp_type *in, size_t n_in, rp_type *out,
                           rp_error *err)
{
    const rp_attr *begin = &RP_AT(attr, slice_step, begin), *size = &RP_AT(attr, slice_step, size);
    const rp_attr *step = &RP_AT(attr, slice_step, step);

    (void)n_in;
    if (begin->n != in[0].rank || size->n != in[0].rank || step->n != in[0].rank)
        return refuse_steps(op, attr, in, err);
    out[0] = in[0];
    for (int i = 0; i < in[0].rank; i++) {
        if (!steps_fit(begin->list[i], size->list[i], step->list[i], in[0].shape[i]))
            return refuse_steps(op, attr, in, err);
        out[0].shape[i] = (size_t)size->list[i];
    }
    return RP_OK;
}

/* A step that no two elements are apart would only overflow. */
bool alias_slice_step(const rp_attr *attr, const rp_view *in, const rp_type *out_type, rp_view *out)
{
    ptrdiff_t offset = 0;

    *out = rp_view_of(out_type, in->data);
    for (int i = 0; i < in->rank; i++) {
        out->stride[i] = in->stride[i] * (out->shape[i] > 1 ? (ptrdiff_t)RP_AT(attr, slice_step, step).list[i] : 1);
        if (out->shape[i] > 0)
            offset += (ptrdiff_t)RP_AT(attr, slice_step, begin).list[i] * in->stride[i];
    }
    if (in->data) /* a plan asks for strides alone too, where there is no memory */
        out->data = (char *)in->data + offset * (ptrdiff_t)rp_dtype_size(in->dtype);
    return true;
}
