/* SPDX-License-Identifier: Apache-2.0
 * Which sums are of products, and their rows. */
#include "core/program/composed/dots.h"

#include "core/program/execute.h"
#include "kernels/chain.h"
#include "kernels/walk.h"

/* Whether the axes are the last ones of so many. */
static bool are_last(const rp_attr *axes, int rank)
{
    unsigned mask = 0;

    for (int i = 0; i < axes->n; i++)
        mask |= 1u << axes->list[i];
    return axes->n > 0 && mask == (1u << rank) - (1u << (rank - axes->n));
}

bool rp_dots_fit(const rp_program *p, const rp_instr *product, const rp_instr *sum)
{
    const rp_type *type;

    if (sum->op->role != RP_PLAYS_SUM || product->op->role != RP_PLAYS_MUL || sum->in[0] != product->out[0])
        return false;
    type = &p->value[product->out[0]];
    for (size_t i = 0; i < product->n_in; i++)
        if (!rp_type_equal(&p->value[product->in[i]], type))
            return false;
    return (type->dtype == RP_F32 || type->dtype == RP_F64) && rp_type_count(type) > RP_CHAIN_BLOCK &&
           are_last(&RP_AT(sum->attr, sum, axes), type->rank);
}

bool rp_dots_of_views(rp_dots *dots, const rp_view *x, const rp_view *y, const rp_view *out)
{
    const size_t rows = rp_view_count(out);

    *dots = (rp_dots){x->data, y->data, out->data, x->dtype, rows, rp_view_count(x) / rows};
    return rp_view_contiguous(x) && rp_view_contiguous(y) && rp_view_contiguous(out);
}
