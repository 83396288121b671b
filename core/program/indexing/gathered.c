/* SPDX-License-Identifier: Apache-2.0
 * Gathering and reducing, piece by piece. */
#include "core/program/indexing/gathered.h"

#include "determinism/sum.h"
#include "kernels/bags.h"

/* Bytes: of a piece, which with what it is read of fits a second-level cache; from which on a whole does not. */
enum { PIECE = 1 << 18, LEAST = 1 << 20 };

static bool keeps_first_axis(const rp_attr *axes)
{
    bool kept = axes->n > 0;

    for (int i = 0; i < axes->n; i++)
        kept = kept && axes->list[i] != 0;
    return kept;
}

bool rp_gathered_fits(const rp_program *p, const rp_instr *gather, const rp_instr *reduce)
{
    const rp_type *type = &p->value[gather->out[0]];

    if (gather->op->role != RP_PLAYS_GATHER || !(reduce->op->flags & RP_OP_REDUCES))
        return false;
    return RP_AT(gather->attr, gather, axis).i == 0 && p->value[gather->in[1]].rank > 0 &&
           rp_type_bytes(type) >= LEAST && type->shape[0] > 1 && reduce->in[0] == gather->out[0] &&
           keeps_first_axis(&reduce->attr[0]);
}

static size_t rows_of_piece(const rp_type *gathered)
{
    const size_t row = rp_type_bytes(gathered) / gathered->shape[0], rows = row < PIECE ? PIECE / row : 1;

    return rows < gathered->shape[0] ? rows : gathered->shape[0];
}

size_t rp_gathered_bytes(const rp_type *gathered)
{
    return rp_type_bytes(gathered) / gathered->shape[0] * rows_of_piece(gathered);
}

static rp_view rows_of(const rp_view *view, size_t first, size_t n)
{
    rp_view part = *view;

    part.data = (char *)view->data + (ptrdiff_t)first * view->stride[0] * (ptrdiff_t)rp_dtype_size(view->dtype);
    part.shape[0] = n;
    return part;
}

/* Elements of `view` from axis `first` on, of each element before: in order. */
static bool rows_contiguous(const rp_view *view, int first)
{
    ptrdiff_t step = 1;

    for (int d = view->rank - 1; d >= first; d--) {
        if (view->shape[d] != 1 && view->stride[d] != step)
            return false;
        step *= (ptrdiff_t)view->shape[d];
    }
    return true;
}

/* Whether rows are added where they lie: bags of the second axis of the index, and of nothing else. */
static bool as_bags(const rp_instr *gather, const rp_instr *reduce, const rp_view *in, const rp_view *out,
                    rp_bags *bags)
{
    const bool mean = reduce->op->role == RP_PLAYS_MEAN;
    const rp_attr *axes = &reduce->attr[0];

    if ((!mean && reduce->op->role != RP_PLAYS_SUM) || RP_AT(gather->attr, gather, axis).i != 0 ||
        (in[0].dtype != RP_F32 && in[0].dtype != RP_F64) || in[0].rank < 2 || in[1].rank != 2 || axes->n != 1 ||
        axes->list[0] != 1 || in[1].shape[1] < 1 || in[1].shape[1] > (size_t)RP_CHUNK * RP_CHUNK)
        return false;
    *bags = (rp_bags){in[0], in[1], *out, mean};
    return rows_contiguous(&in[0], 1) && rows_contiguous(out, 1);
}

rp_status rp_gathered_launch(rp_device *device, const rp_instr *gather, const rp_instr *reduce, const rp_type *gathered,
                             const rp_view *in, const rp_view *out, void *piece, rp_error *err)
{
    const size_t rows = rows_of_piece(gathered);
    rp_type type = *gathered;
    rp_status status = RP_OK;
    rp_bags bags;

    if (as_bags(gather, reduce, in, out, &bags) && rp_device_launch_bags(device, &bags))
        return RP_OK;
    for (size_t i = 0, n; i < gathered->shape[0] && status == RP_OK; i += n) {
        const size_t left = gathered->shape[0] - i;
        rp_view from[2], made, to;

        n = type.shape[0] = left < rows ? left : rows;
        made = rp_view_of(&type, piece);
        from[0] = in[0];
        from[1] = rows_of(&in[1], i, n);
        to = rows_of(out, i, n);
        status =
            rp_device_launch(device, gather->op->kernel, &(rp_kernel_args){from, 2, &made, 1, gather->attr}, NULL, err);
        if (status == RP_OK)
            status = rp_device_launch(device, reduce->op->kernel, &(rp_kernel_args){&made, 1, &to, 1, reduce->attr},
                                      NULL, err);
    }
    return status;
}
