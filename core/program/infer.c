/* SPDX-License-Identifier: Apache-2.0
 * Shape rules: from the inputs' types and the attributes to the outputs' types, refusing everything a kernel could not
 * take. A program from an untrusted archive passes through here instruction by instruction. */
#include "core/program/infer.h"

#include <string.h>

#include "core/program/infer_check.h"
#include "determinism/sum.h"
#include "kernels/fourier/factors.h"

static bool dtype_valid(int64_t dtype)
{
    return dtype >= 0 && dtype < RP_DTYPE_COUNT;
}

static rp_status shape_from(const rp_op *op, const rp_attr *attr, rp_type *out, rp_error *err)
{
    char shape[LIST_TEXT];

    out->rank = attr->n;
    for (int i = 0; i < attr->n; i++) {
        if (attr->list[i] < 0 || (uint64_t)attr->list[i] > rp_elements_max)
            return rp_fail(err, RP_ESHAPE, "%s: a length of %lld is not possible, found shape %s, expected 0 to 2^40",
                           op->name, (long long)attr->list[i], list_text(attr, shape));
        out->shape[i] = (size_t)attr->list[i];
    }
    return bounded(op, out, err);
}

/* NumPy broadcasting of shapes only. */
static bool broadcast(rp_type *out, const rp_type *a, const rp_type *b)
{
    int rank = a->rank > b->rank ? a->rank : b->rank;

    for (int i = 0; i < rank; i++) {
        size_t x = i < rank - a->rank ? 1 : a->shape[i - (rank - a->rank)];
        size_t y = i < rank - b->rank ? 1 : b->shape[i - (rank - b->rank)];

        if (x != y && x != 1 && y != 1)
            return false;
        out->shape[i] = x == 1 ? y : x;
    }
    out->rank = rank;
    return true;
}

rp_status infer_map(const rp_op *op, const rp_attr *attr, const rp_type *in, size_t n_in, rp_type *out, rp_error *err)
{
    (void)attr;
    out[0] = in[0];
    for (size_t i = 1; i < n_in; i++) {
        rp_type left = out[0];

        if (in[i].dtype != in[0].dtype)
            return refuse(op, &in[0], &in[i], "the same dtype (use rp_cast)", err);
        if (!broadcast(&out[0], &left, &in[i]))
            return refuse(op, &left, &in[i], "shapes that broadcast", err);
    }
    return bounded(op, out, err);
}

/* The attributes are real numbers, in the operand's type too. */
rp_status infer_map_with(const rp_op *op, const rp_attr *attr, const rp_type *in, size_t n_in, rp_type *out,
                         rp_error *err)
{
    for (int i = 0; i < RP_MAX_ATTR && op->attr[i].kind == RP_ATTR_REAL; i++) {
        const double r = in[0].dtype == RP_F32 ? (double)(float)attr[i].r : attr[i].r;

        if (!(r - r == 0))
            return rp_fail(err, RP_ESHAPE, "%s: found %s %g, expected a number that is finite in %s", op->name,
                           op->attr[i].name, attr[i].r, rp_dtype_name(in[0].dtype));
    }
    return infer_map(op, attr, in, n_in, out, err);
}

rp_status infer_compare(const rp_op *op, const rp_attr *attr, const rp_type *in, size_t n_in, rp_type *out,
                        rp_error *err)
{
    rp_status status = infer_map(op, attr, in, n_in, out, err);

    out[0].dtype = RP_BOOL;
    return status;
}

rp_status infer_where(const rp_op *op, const rp_attr *attr, const rp_type *in, size_t n_in, rp_type *out, rp_error *err)
{
    rp_type values;
    rp_status status = infer_map(op, attr, in + 1, n_in - 1, &values, err);

    /* The op's row speaks of the condition alone. */
    if (status == RP_OK && !(RP_D_STORED >> values.dtype & 1))
        return refuse(op, &in[1], NULL, "values of another dtype (use rp_cast)", err);
    if (status != RP_OK)
        return status;
    out[0] = values;
    if (!broadcast(&out[0], &values, &in[0]))
        return refuse(op, &in[0], &values, "a condition that broadcasts with the values", err);
    return bounded(op, out, err);
}

rp_status infer_cast(const rp_op *op, const rp_attr *attr, const rp_type *in, size_t n_in, rp_type *out, rp_error *err)
{
    (void)n_in;
    if (!dtype_valid(RP_AT(attr, cast, dtype).i))
        return rp_fail(err, RP_ESHAPE, "%s: unknown dtype %lld", op->name, (long long)RP_AT(attr, cast, dtype).i);
    out[0] = in[0];
    out[0].dtype = (rp_dtype)RP_AT(attr, cast, dtype).i;
    return RP_OK;
}

rp_status infer_bitcast(const rp_op *op, const rp_attr *attr, const rp_type *in, size_t n_in, rp_type *out,
                        rp_error *err)
{
    const int64_t to = RP_AT(attr, bitcast, dtype).i;
    char type[192];

    (void)n_in;
    rp_type_text(&in[0], type, sizeof type);
    if (!dtype_valid(to))
        return rp_fail(err, RP_ESHAPE, "%s: unknown dtype %lld", op->name, (long long)to);
    if (rp_dtype_size((rp_dtype)to) != rp_dtype_size(in[0].dtype) || to == RP_BOOL)
        return rp_fail(err, RP_ESHAPE,
                       "%s: found %s to %s, expected a type of as many bytes an element, and not bool, of which two "
                       "bits alone have a meaning (use rp_cast)",
                       op->name, type, rp_dtype_name((rp_dtype)to));
    out[0] = in[0];
    out[0].dtype = (rp_dtype)to;
    return RP_OK;
}

rp_status infer_grad_pair(const rp_op *op, const rp_attr *attr, const rp_type *in, size_t n_in, rp_type *out,
                          rp_error *err)
{
    (void)attr, (void)n_in;
    if (!rp_type_equal(&in[0], &in[1]))
        return refuse(op, &in[0], &in[1], "equal types", err);
    out[0] = in[0];
    return RP_OK;
}

rp_status infer_row_pair(const rp_op *op, const rp_attr *attr, const rp_type *in, size_t n_in, rp_type *out,
                         rp_error *err)
{
    rp_status status = infer_grad_pair(op, attr, in, n_in, out, err);

    if (status == RP_OK && in[0].rank == 0)
        return refuse(op, &in[0], NULL, "rank 1 or more", err);
    return status;
}

static bool is_rng(const rp_type *t)
{
    return t->dtype == RP_I64 && t->rank == 1 && (t->shape[0] == 2 || t->shape[0] == 3);
}

static bool stream_valid(int64_t stream)
{
    return stream >= 0 && stream <= 0xFFFFFFFFll;
}

rp_status infer_dropout(const rp_op *op, const rp_attr *attr, const rp_type *in, size_t n_in, rp_type *out,
                        rp_error *err)
{
    (void)n_in;
    if (!is_rng(&in[1]))
        return refuse(op, &in[1], NULL, "i64[2], {seed, step}, or i64[3] with an offset of the stream", err);
    if (!(RP_AT(attr, dropout, rate).r >= 0 && RP_AT(attr, dropout, rate).r < 1) ||
        !stream_valid(RP_AT(attr, dropout, stream).i))
        return rp_fail(err, RP_ESHAPE, "%s: expected 0 <= rate < 1 and a stream below 2^32", op->name);
    out[0] = in[0];
    return RP_OK;
}

rp_status infer_reshape(const rp_op *op, const rp_attr *attr, const rp_type *in, size_t n_in, rp_type *out,
                        rp_error *err)
{
    (void)n_in;
    out[0].dtype = in[0].dtype;
    if (shape_from(op, &RP_AT(attr, reshape, shape), &out[0], NULL) != RP_OK)
        return refuse_lists(op, attr, "is no shape for", &in[0], "lengths of 0 or more, at most 2^40 elements", err);
    if (rp_type_count(&in[0]) != rp_type_count(&out[0]))
        return refuse_lists(op, attr, "does not hold the elements of", &in[0], "the same number of elements", err);
    return RP_OK;
}

rp_status infer_broadcast_to(const rp_op *op, const rp_attr *attr, const rp_type *in, size_t n_in, rp_type *out,
                             rp_error *err)
{
    rp_type both;

    (void)n_in;
    out[0].dtype = in[0].dtype;
    if (shape_from(op, &RP_AT(attr, broadcast_to, shape), &out[0], NULL) != RP_OK)
        return refuse_lists(op, attr, "is no shape for", &in[0], "lengths of 0 or more, at most 2^40 elements", err);
    if (!broadcast(&both, &in[0], &out[0]) || both.rank != out[0].rank ||
        memcmp(both.shape, out[0].shape, (size_t)both.rank * sizeof *both.shape) != 0)
        return refuse_lists(op, attr, "is not what stretches from", &in[0],
                            "on each axis, counted from the last, the operand's length, or any where that is 1 or none",
                            err);
    return RP_OK;
}

rp_status infer_transpose(const rp_op *op, const rp_attr *attr, const rp_type *in, size_t n_in, rp_type *out,
                          rp_error *err)
{
    static const char expected[] = "each of its axes once";
    unsigned seen = 0;

    (void)n_in;
    out[0] = in[0];
    for (int i = 0; i < RP_AT(attr, transpose, permutation).n; i++) {
        if (!axis_valid(RP_AT(attr, transpose, permutation).list[i], &in[0]))
            return refuse_lists(op, attr, "does not permute the axes of", &in[0], expected, err);
        seen |= 1u << RP_AT(attr, transpose, permutation).list[i];
        out[0].shape[i] = in[0].shape[RP_AT(attr, transpose, permutation).list[i]];
    }
    if (RP_AT(attr, transpose, permutation).n != in[0].rank || seen != (1u << in[0].rank) - 1)
        return refuse_lists(op, attr, "does not permute the axes of", &in[0], expected, err);
    return RP_OK;
}

rp_status infer_slice(const rp_op *op, const rp_attr *attr, const rp_type *in, size_t n_in, rp_type *out, rp_error *err)
{
    (void)n_in;
    if (RP_AT(attr, slice, begin).n != in[0].rank || RP_AT(attr, slice, end).n != in[0].rank)
        return refuse_lists(op, attr, "are not as many as the axes of", &in[0], "one begin and one end an axis", err);
    out[0] = in[0];
    for (int i = 0; i < in[0].rank; i++) {
        int64_t begin = RP_AT(attr, slice, begin).list[i], end = RP_AT(attr, slice, end).list[i];

        if (begin < 0 || end < begin || (uint64_t)end > in[0].shape[i])
            return refuse_lists(op, attr, "do not lie in", &in[0], "0 <= begin <= end <= length on each axis", err);
        out[0].shape[i] = (size_t)(end - begin);
    }
    return RP_OK;
}

rp_status infer_constant(const rp_op *op, const rp_attr *attr, const rp_type *in, size_t n_in, rp_type *out,
                         rp_error *err)
{
    (void)in, (void)n_in;
    if (!dtype_valid(RP_AT(attr, fill, dtype).i))
        return rp_fail(err, RP_ESHAPE, "%s: unknown dtype %lld", op->name, (long long)RP_AT(attr, fill, dtype).i);
    out[0].dtype = (rp_dtype)RP_AT(attr, fill, dtype).i;
    return shape_from(op, &RP_AT(attr, fill, shape), &out[0], err);
}

rp_status infer_iota(const rp_op *op, const rp_attr *attr, const rp_type *in, size_t n_in, rp_type *out, rp_error *err)
{
    (void)in, (void)n_in;
    if (!dtype_valid(RP_AT(attr, iota, dtype).i) || !(op->dtypes >> RP_AT(attr, iota, dtype).i & 1) ||
        RP_AT(attr, iota, n).i < 0 || (uint64_t)RP_AT(attr, iota, n).i > rp_elements_max)
        return rp_fail(err, RP_ESHAPE, "%s: expected a length and a numeric dtype", op->name);
    out[0] =
        (rp_type){.dtype = (rp_dtype)RP_AT(attr, iota, dtype).i, .rank = 1, .shape = {(size_t)RP_AT(attr, iota, n).i}};
    return RP_OK;
}

static rp_status refuse_joined(const rp_op *op, int64_t axis, const rp_type *first, size_t i, const rp_type *other,
                               const char *expected, rp_error *err)
{
    char a[192], b[192];

    rp_type_text(first, a, sizeof a);
    rp_type_text(other, b, sizeof b);
    return rp_fail(err, RP_ESHAPE, "%s: operand %zu, %s, does not join operand 0, %s, at axis %lld, expected %s",
                   op->name, i, b, a, (long long)axis, expected);
}

rp_status infer_concat(const rp_op *op, const rp_attr *attr, const rp_type *in, size_t n_in, rp_type *out,
                       rp_error *err)
{
    int64_t axis = RP_AT(attr, concat, axis).i;

    if (!axis_valid(axis, &in[0]))
        return refuse_axis(op, axis, &in[0], err);
    out[0] = in[0];
    for (size_t i = 1; i < n_in; i++) {
        rp_type alike = in[i];

        if (alike.rank == in[0].rank)
            alike.shape[axis] = in[0].shape[axis];
        if (!rp_type_equal(&alike, &in[0]))
            return refuse_joined(op, axis, &in[0], i, &in[i], "types equal but for the joined axis", err);
        out[0].shape[axis] += in[i].shape[axis];
        if (out[0].shape[axis] > rp_elements_max)
            return refuse_joined(op, axis, &in[0], i, &in[i], "at most 2^40 elements", err);
    }
    return bounded(op, out, err);
}

rp_status infer_pad(const rp_op *op, const rp_attr *attr, const rp_type *in, size_t n_in, rp_type *out, rp_error *err)
{
    (void)n_in;
    if (RP_AT(attr, pad, before).n != in[0].rank || RP_AT(attr, pad, after).n != in[0].rank)
        return refuse_lists(op, attr, "are not as many as the axes of", &in[0], "one before and one after an axis",
                            err);
    out[0] = in[0];
    for (int i = 0; i < in[0].rank; i++) {
        int64_t before = RP_AT(attr, pad, before).list[i], after = RP_AT(attr, pad, after).list[i];

        if (before < 0 || after < 0 || (uint64_t)before > rp_elements_max || (uint64_t)after > rp_elements_max)
            return refuse_lists(op, attr, "do not pad", &in[0], "0 to 2^40 on each axis", err);
        out[0].shape[i] += (size_t)before + (size_t)after;
    }
    if (bounded(op, out, NULL) != RP_OK)
        return refuse_lists(op, attr, "pad too far", &in[0], "a result of at most 2^40 elements", err);
    return RP_OK;
}

static bool is_index(const rp_type *t)
{
    return t->dtype == RP_I32 || t->dtype == RP_I64;
}

rp_status infer_gather(const rp_op *op, const rp_attr *attr, const rp_type *in, size_t n_in, rp_type *out,
                       rp_error *err)
{
    int64_t axis = RP_AT(attr, gather, axis).i;

    (void)n_in;
    if (!axis_valid(axis, &in[0]))
        return refuse_axis(op, axis, &in[0], err);
    if (!is_index(&in[1]))
        return refuse(op, &in[0], &in[1], "i32 or i64 indices as the second (use rp_cast)", err);
    if (in[0].rank + in[1].rank - 1 > RP_MAX_RANK)
        return refuse(op, &in[0], &in[1], "a result of rank 8 or less: the first's without the axis, and the second's",
                      err);
    out[0] = (rp_type){.dtype = in[0].dtype, .rank = in[0].rank + in[1].rank - 1};
    for (int i = 0; i < out[0].rank; i++) {
        if (i < axis)
            out[0].shape[i] = in[0].shape[i];
        else if (i < axis + in[1].rank)
            out[0].shape[i] = in[1].shape[i - axis];
        else
            out[0].shape[i] = in[0].shape[i - in[1].rank + 1];
    }
    return bounded(op, out, err);
}

rp_status infer_scatter_add(const rp_op *op, const rp_attr *attr, const rp_type *in, size_t n_in, rp_type *out,
                            rp_error *err)
{
    int64_t axis = RP_AT(attr, scatter_add, axis).i, size = RP_AT(attr, scatter_add, size).i;
    int rank = in[0].rank - in[1].rank + 1;

    (void)n_in;
    if (!is_index(&in[1]) || rank < 1 || rank > RP_MAX_RANK || axis < 0 || axis >= rank || size < 0 ||
        (uint64_t)size > rp_elements_max)
        return refuse(op, &in[0], &in[1], "a gathered gradient and its i32 or i64 indices", err);
    out[0] = (rp_type){.dtype = in[0].dtype, .rank = rank};
    for (int i = 0; i < in[1].rank; i++)
        if (in[0].shape[axis + i] != in[1].shape[i])
            return refuse(op, &in[0], &in[1], "index axes equal to the gradient's at the scattered axis", err);
    for (int i = 0; i < rank; i++)
        out[0].shape[i] = i < axis ? in[0].shape[i] : i == axis ? (size_t)size : in[0].shape[i + in[1].rank - 1];
    return bounded(op, out, err);
}

rp_status infer_one_hot(const rp_op *op, const rp_attr *attr, const rp_type *in, size_t n_in, rp_type *out,
                        rp_error *err)
{
    (void)n_in;
    if (in[0].rank >= RP_MAX_RANK || RP_AT(attr, one_hot, depth).i < 0 ||
        (uint64_t)RP_AT(attr, one_hot, depth).i > rp_elements_max ||
        (RP_AT(attr, one_hot, dtype).i != RP_F32 && RP_AT(attr, one_hot, dtype).i != RP_F64))
        return refuse(op, &in[0], NULL, "rank under 8, a depth of 0 or more, dtype f32 or f64", err);
    out[0] = in[0];
    out[0].dtype = (rp_dtype)RP_AT(attr, one_hot, dtype).i;
    out[0].shape[out[0].rank++] = (size_t)RP_AT(attr, one_hot, depth).i;
    return bounded(op, out, err);
}

rp_status infer_reduce(const rp_op *op, const rp_attr *attr, const rp_type *in, size_t n_in, rp_type *out,
                       rp_error *err)
{
    int64_t last = -1;

    (void)n_in;
    out[0] = in[0];
    for (int i = 0; i < RP_AT(attr, sum, axes).n; i++) {
        if (!axis_valid(RP_AT(attr, sum, axes).list[i], &in[0]) || RP_AT(attr, sum, axes).list[i] <= last)
            return refuse_lists(op, attr, "are not axes of", &in[0], "ascending axes, each once", err);
        last = RP_AT(attr, sum, axes).list[i];
        out[0].shape[last] = 1;
    }
    return RP_OK;
}

/* A maximum of nothing does not exist; a sum of nothing is +0 and a mean of nothing is NaN. */
rp_status infer_reduce_some(const rp_op *op, const rp_attr *attr, const rp_type *in, size_t n_in, rp_type *out,
                            rp_error *err)
{
    rp_status status = infer_reduce(op, attr, in, n_in, out, err);

    if (status == RP_OK && rp_type_count(&in[0]) == 0 && rp_type_count(&out[0]) != 0)
        return refuse_lists(op, attr, "hold nothing in", &in[0], "at least one element to reduce", err);
    return status;
}

rp_status infer_argmax(const rp_op *op, const rp_attr *attr, const rp_type *in, size_t n_in, rp_type *out,
                       rp_error *err)
{
    const int64_t axis = RP_AT(attr, argmax, axis).i;

    (void)n_in;
    if (!axis_valid(axis, &in[0]))
        return refuse_axis(op, axis, &in[0], err);
    if (in[0].shape[axis] == 0)
        return refuse_empty_axis(op, axis, &in[0], err);
    out[0] = in[0];
    out[0].dtype = RP_I64;
    out[0].shape[axis] = 1;
    return RP_OK;
}

/* The number of elements less the correction stays in range. */
rp_status infer_var(const rp_op *op, const rp_attr *attr, const rp_type *in, size_t n_in, rp_type *out, rp_error *err)
{
    const int64_t correction = RP_AT(attr, var, correction).i;

    if (correction < 0 || (uint64_t)correction > rp_elements_max)
        return rp_fail(err, RP_ESHAPE, "%s: found correction %lld, expected 0 or more", op->name,
                       (long long)correction);
    return infer_reduce(op, attr, in, n_in, out, err);
}

rp_status infer_fft(const rp_op *op, const rp_attr *attr, const rp_type *in, size_t n_in, rp_type *out, rp_error *err)
{
    const size_t n = in[0].rank > 0 ? in[0].shape[in[0].rank - 1] : 0;
    rp_fourier_factors factors;

    (void)attr, (void)n_in;
    if (!rp_type_equal(&in[0], &in[1]) || !rp_fourier_factor(&factors, n))
        return refuse(op, &in[0], &in[1],
                      "both of one type, and a last axis whose length has no prime factor above 256", err);
    out[0] = out[1] = in[0];
    return RP_OK;
}

rp_status infer_cumsum(const rp_op *op, const rp_attr *attr, const rp_type *in, size_t n_in, rp_type *out,
                       rp_error *err)
{
    (void)n_in;
    if (!axis_valid(RP_AT(attr, cumsum, axis).i, &in[0]))
        return refuse_axis(op, RP_AT(attr, cumsum, axis).i, &in[0], err);
    out[0] = in[0];
    return RP_OK;
}

rp_status infer_rows(const rp_op *op, const rp_attr *attr, const rp_type *in, size_t n_in, rp_type *out, rp_error *err)
{
    (void)attr, (void)n_in;
    if (in[0].rank == 0 || in[0].shape[in[0].rank - 1] == 0)
        return refuse(op, &in[0], NULL, "rank 1 or more and a last axis of at least one element", err);
    out[0] = in[0];
    return RP_OK;
}

rp_status infer_layer_norm(const rp_op *op, const rp_attr *attr, const rp_type *in, size_t n_in, rp_type *out,
                           rp_error *err)
{
    rp_status status = infer_rows(op, attr, in, n_in, out, err);

    if (status == RP_OK && (!is_row_of(&in[1], &in[0]) || !is_row_of(&in[2], &in[0])))
        return refuse(op, &in[0], &in[1], "gamma and beta as long as the last axis", err);
    return status;
}

rp_status infer_layer_norm_grad(const rp_op *op, const rp_attr *attr, const rp_type *in, size_t n_in, rp_type *out,
                                rp_error *err)
{
    rp_status status = infer_rows(op, attr, in, n_in, out, err);

    if (status == RP_OK && (!rp_type_equal(&in[0], &in[1]) || !is_row_of(&in[2], &in[1])))
        return refuse(op, &in[0], &in[1], "a gradient like x, and gamma as long as its last axis", err);
    return status;
}

rp_status infer_rms_norm(const rp_op *op, const rp_attr *attr, const rp_type *in, size_t n_in, rp_type *out,
                         rp_error *err)
{
    rp_status status = infer_rows(op, attr, in, n_in, out, err);

    if (status == RP_OK && !is_row_of(&in[1], &in[0]))
        return refuse(op, &in[0], &in[1], "gamma as long as the last axis", err);
    return status;
}

/* dx and, for each vector that the rows share, the lanes of the sum over them: [chunks, lanes, n]. */
rp_status infer_norm_lanes(const rp_op *op, const rp_attr *attr, const rp_type *in, size_t n_in, rp_type *out,
                           rp_error *err)
{
    rp_status status = infer_layer_norm_grad(op, attr, in, n_in, out, err);
    const size_t n = in[1].rank > 0 ? in[1].shape[in[1].rank - 1] : 0, rows = n > 0 ? rp_type_count(&in[1]) / n : 0;

    for (int i = 1; i < op->n_out; i++)
        out[i] = (rp_type){
            .dtype = in[1].dtype,
            .rank = 3,
            .shape = {rows > RP_CHUNK ? (rows + RP_CHUNK - 1) / RP_CHUNK : 1, rows < RP_LANES ? rows : RP_LANES, n}};
    return status;
}

static bool labels_fit(const rp_type *logits, const rp_type *labels)
{
    return logits->rank == 2 && logits->shape[1] > 0 && is_index(labels) && labels->rank == 1 &&
           labels->shape[0] == logits->shape[0];
}

rp_status infer_cross_entropy(const rp_op *op, const rp_attr *attr, const rp_type *in, size_t n_in, rp_type *out,
                              rp_error *err)
{
    (void)attr, (void)n_in;
    if (!labels_fit(&in[0], &in[1]))
        return refuse(op, &in[0], &in[1], "logits [rows, classes] and i32 or i64 labels [rows]", err);
    out[0] = (rp_type){.dtype = in[0].dtype, .rank = 1, .shape = {in[0].shape[0]}};
    return RP_OK;
}

rp_status infer_cross_entropy_grad(const rp_op *op, const rp_attr *attr, const rp_type *in, size_t n_in, rp_type *out,
                                   rp_error *err)
{
    (void)attr, (void)n_in;
    if (!labels_fit(&in[1], &in[2]) || in[0].dtype != in[1].dtype || in[0].rank != 1 ||
        in[0].shape[0] != in[1].shape[0])
        return refuse(op, &in[0], &in[1], "a gradient [rows], logits [rows, classes] and labels [rows]", err);
    out[0] = in[1];
    return RP_OK;
}

/* bf16 is multiplied with bf16 and with f32. */
static bool are_factors(rp_dtype a, rp_dtype b)
{
    return a == b || (a == RP_BF16 && b == RP_F32) || (a == RP_F32 && b == RP_BF16);
}

rp_status infer_matmul(const rp_op *op, const rp_attr *attr, const rp_type *in, size_t n_in, rp_type *out,
                       rp_error *err)
{
    rp_type a = in[0], b = in[1];

    (void)attr, (void)n_in;
    if (!are_factors(a.dtype, b.dtype) || a.rank < 2 || b.rank < 2 || a.shape[a.rank - 1] != b.shape[b.rank - 2])
        return refuse(op, &a, &b, "[.., m, k] and [.., k, n] of one dtype, or f32 and bf16", err);
    a.rank -= 2;
    b.rank -= 2;
    if (!broadcast(&out[0], &a, &b))
        return refuse(op, &in[0], &in[1], "leading axes that broadcast", err);
    out[0].dtype = a.dtype == RP_F64 ? RP_F64 : RP_F32;
    out[0].shape[out[0].rank++] = in[0].shape[in[0].rank - 2];
    out[0].shape[out[0].rank++] = in[1].shape[in[1].rank - 1];
    return bounded(op, out, err);
}

static bool is_square(const rp_type *t)
{
    return t->rank == 2 && t->shape[0] == t->shape[1];
}

rp_status infer_cholesky(const rp_op *op, const rp_attr *attr, const rp_type *in, size_t n_in, rp_type *out,
                         rp_error *err)
{
    (void)attr, (void)n_in;
    if (!is_square(&in[0]))
        return refuse(op, &in[0], NULL, "a square matrix [n, n]", err);
    out[0] = in[0];
    return RP_OK;
}

rp_status infer_triangular_solve(const rp_op *op, const rp_attr *attr, const rp_type *in, size_t n_in, rp_type *out,
                                 rp_error *err)
{
    (void)attr, (void)n_in;
    if (!is_square(&in[0]) || in[1].dtype != in[0].dtype || in[1].rank != 2 || in[1].shape[0] != in[0].shape[0])
        return refuse(op, &in[0], &in[1], "a square matrix [n, n] and [n, m] of one dtype", err);
    out[0] = in[1];
    return RP_OK;
}

rp_status infer_random(const rp_op *op, const rp_attr *attr, const rp_type *in, size_t n_in, rp_type *out,
                       rp_error *err)
{
    (void)n_in;
    if (!is_rng(&in[0]))
        return refuse(op, &in[0], NULL, "i64[2], {seed, step}, or i64[3] with an offset of the stream", err);
    if ((RP_AT(attr, uniform, dtype).i != RP_F32 && RP_AT(attr, uniform, dtype).i != RP_F64) ||
        !stream_valid(RP_AT(attr, uniform, stream).i))
        return rp_fail(err, RP_ESHAPE, "%s: expected dtype f32 or f64 and a stream below 2^32", op->name);
    out[0].dtype = (rp_dtype)RP_AT(attr, uniform, dtype).i;
    return shape_from(op, &RP_AT(attr, uniform, shape), &out[0], err);
}

/* p, its moments, g; then scalars. Outputs: p and its moments. */
rp_status infer_optimizer(const rp_op *op, const rp_attr *attr, const rp_type *in, size_t n_in, rp_type *out,
                          rp_error *err)
{
    size_t tensors = (size_t)op->n_out + 1;

    (void)attr;
    for (size_t i = 1; i < n_in; i++) {
        const rp_type scalar = {.dtype = in[0].dtype};
        const rp_type *expected = i < tensors ? &in[0] : &scalar;

        if (!rp_type_equal(&in[i], expected))
            return refuse(op, &in[0], &in[i], "moments and gradient like the parameter, and rank-0 rates", err);
    }
    for (int i = 0; i < op->n_out; i++)
        out[i] = in[0];
    return RP_OK;
}

/* Contiguous input only: that is nearly always so, and a copy is always right. */
bool alias_reshape(const rp_attr *attr, const rp_view *in, const rp_type *out_type, rp_view *out)
{
    (void)attr;
    *out = rp_view_of(out_type, in->data);
    return rp_view_contiguous(in);
}

bool alias_whole(const rp_attr *attr, const rp_view *in, const rp_type *out_type, rp_view *out)
{
    (void)attr;
    (void)out_type;
    *out = *in;
    return true;
}

bool alias_transpose(const rp_attr *attr, const rp_view *in, const rp_type *out_type, rp_view *out)
{
    *out = rp_view_of(out_type, in->data);
    for (int i = 0; i < in->rank; i++)
        out->stride[i] = in->stride[RP_AT(attr, transpose, permutation).list[i]];
    return true;
}

bool alias_broadcast(const rp_attr *attr, const rp_view *in, const rp_type *out_type, rp_view *out)
{
    int lead = out_type->rank - in->rank;

    (void)attr;
    *out = rp_view_of(out_type, in->data);
    for (int i = 0; i < out->rank; i++)
        out->stride[i] = i < lead || in->shape[i - lead] != out->shape[i] ? 0 : in->stride[i - lead];
    return true;
}

bool alias_slice(const rp_attr *attr, const rp_view *in, const rp_type *out_type, rp_view *out)
{
    ptrdiff_t offset = 0;

    *out = rp_view_of(out_type, in->data);
    for (int i = 0; i < in->rank; i++) {
        out->stride[i] = in->stride[i];
        if (out->shape[i])
            offset += (ptrdiff_t)RP_AT(attr, slice, begin).list[i] * in->stride[i];
    }
    if (in->data) /* a plan asks for strides alone too, where there is no memory */
        out->data = (char *)in->data + offset * (ptrdiff_t)rp_dtype_size(in->dtype);
    return true;
}
