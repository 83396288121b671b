/* SPDX-License-Identifier: Apache-2.0
 * Sums that a scan carries, as the gradient of a recurrent network's matrix: a frame adds to what it got and gives that
 * back, so it is made where it lies, and does not go to and fro between two buffers. A matrix product that is added to
 * one is made by the sum's call, in registers (kernels/onto.h); where frames do nothing else, those of all in one
 * launch, which goes through memory once and not once a frame. */
#include "core/run/plan_private.h"
#include "kernels/onto.h"

enum { MOST = 64 };

/* Whether nothing of the function reads the parameter but the instruction that makes the value, element by element. */
static bool only_its_maker_reads(const rp_plan *body, uint32_t param, uint32_t value)
{
    const rp_program *p = body->program;
    size_t readers = 0;

    for (size_t o = 0; o < p->n_outputs; o++)
        if (body->root[p->output[o].value] == param)
            return false;
    for (size_t k = 0; k < body->order.n; k++) {
        const rp_instr *instr = rp_plan_at(body, k);

        for (size_t i = 0; i < instr->n_in; i++) {
            if (body->root[instr->in[i]] != param)
                continue;
            if (i != 0 || instr->out[0] != value || instr->region || !(instr->op->flags & RP_OP_INPLACE) ||
                !rp_view_is_whole(&body->view[instr->in[i]], &p->value[value]))
                return false;
            readers++;
        }
    }
    return readers == 1;
}

static bool may_lie_over(const rp_plan *body, size_t o)
{
    const rp_program *p = body->program;
    const uint32_t param = p->input[1 + o].value, value = p->output[o].value;
    const block *b = &body->block[value];

    return body->root[value] == value && b->made && b->place == PLACE_GIVEN &&
           b->shared == BASE_PARAMETERS + p->n_inputs + o && rp_type_equal(&p->value[param], &p->value[value]) &&
           only_its_maker_reads(body, param, value);
}

uint64_t rp_plan_over(const rp_plan *body)
{
    const rp_program *p = body->program;
    uint64_t over = 0;

    for (size_t o = 0; body->passes & RP_PASS_INPLACE && o < p->n_outputs && 1 + o < p->n_inputs && o < MOST; o++)
        over |= (uint64_t)may_lie_over(body, o) << o;
    return over;
}

/* Whether the product is of one chain an element, of two matrices, and what the sum takes. */
static bool is_short_product(const rp_plan *body, const rp_instr *product, const rp_instr *sum)
{
    const rp_program *p = body->program;
    const rp_type *a = &p->value[product->in[0]], *y = &p->value[product->out[0]];

    return product->op->role == RP_PLAYS_PRODUCT && y->rank == 2 && a->rank == 2 && a->shape[1] > 0 &&
           a->shape[1] <= RP_ONTO_LONGEST && rp_type_equal(y, &p->value[sum->out[0]]);
}

/* Nothing stands between the two, so what the product reads is there still. */
bool rp_plan_adds_onto(const rp_plan *body, size_t k)
{
    const rp_instr *sum = rp_plan_at(body, k), *product = k > 0 ? rp_plan_at(body, k - 1) : NULL;
    size_t o = 0, readers = 0;

    if (!product || !body->over || sum->region || product->region || sum->op->role != RP_PLAYS_ADD ||
        sum->in[1] != product->out[0] || !(body->passes & RP_PASS_FUSE) || !rp_device_has_onto(body->device) ||
        k - 1 < body->constants || body->mark[body->order.instr[k - 1]] & MARK_LED ||
        rp_plan_chain_end(body, k) != k + 1 || rp_plan_chain_end(body, k - 1) != k ||
        !is_short_product(body, product, sum))
        return false;
    while (o < MOST && o < body->program->n_outputs && body->program->output[o].value != sum->out[0])
        o++;
    if (o == MOST || !(body->over >> o & 1))
        return false; /* before all are counted: a body may have very many sums, and MOST of these */
    for (size_t q = 0; q < body->order.n; q++)
        for (size_t i = 0; i < rp_plan_at(body, q)->n_in; i++)
            readers += body->root[rp_plan_at(body, q)->in[i]] == body->root[product->out[0]];
    for (size_t q = 0; q < body->program->n_outputs; q++)
        readers += body->root[body->program->output[q].value] == body->root[product->out[0]];
    return readers == 1;
}

/* ---- all frames at once ---- */

/* The parameter of the body whose elements a value's are. */
static size_t parameter_of(const rp_plan *body, uint32_t value)
{
    const uint32_t root = body->root[value];

    return root < body->program->n_inputs ? root : 0;
}

bool rp_plan_only_adds(const rp_plan *body, const rp_region *r, size_t *rows)
{
    const call *last = body && body->n_calls ? &body->call[body->n_calls - 1] : NULL;
    const rp_instr *product;

    if (!last || !last->onto || r->kind != RP_SCAN || r->carried != 1 || r->history || body->program->n_outputs != 1)
        return false;
    for (const call *c = body->call; c < last; c++)
        if (c->op || c->chain || c->region || c->in[0].data || c->out[0].data) /* any but the product's own */
            return false;
    product = &body->program->instr[body->program->maker[rp_plan_at(body, body->order.n - 1)->in[1]]];
    for (size_t i = 0; i < 2; i++) {
        rows[i] = parameter_of(body, product->in[i]);
        if (rows[i] < 2 || rows[i] >= 2 + r->sliced)
            return false;
    }
    rows[0]--; /* behind the number of the frame */
    rows[1]--;
    return true;
}

/* A frame's view, and those of all frames in their order, so many elements apart. */
static rp_view all_frames(const rp_view *one, size_t frames, ptrdiff_t apart)
{
    rp_view all = *one;

    all.rank = 3;
    all.shape[0] = frames;
    all.stride[0] = apart;
    for (int d = 0; d < 2; d++) {
        all.shape[1 + d] = one->shape[d];
        all.stride[1 + d] = one->stride[d];
    }
    return all;
}

rp_status rp_plan_add_all(region_call *c, const rp_view *in, const rp_view *out, rp_error *err)
{
    rp_plan *body = c->body[0];
    const rp_region *r = c->region;
    const call *onto = &body->call[body->n_calls - 1];
    const uint64_t first = r->reverse ? r->times - 1 : 0;
    rp_view all[2], y;
    rp_status status = RP_OK;

    for (size_t i = 0; i < 2; i++) {
        const rp_view row = rp_view_index(&in[c->rows[i]], first);
        const ptrdiff_t apart = (ptrdiff_t)rp_type_count(rp_function_param(r->function[0], 1 + c->rows[i]));

        rp_plan_move(body, BASE_PARAMETERS + 1 + c->rows[i], row.data);
        all[i] = all_frames(&onto->in[i], (size_t)r->times, r->reverse ? -apart : apart);
    }
    y = all_frames(&out[0], (size_t)r->times, 0);
    if (in[0].data != out[0].data)
        status = rp_execute_copy(body->device, &in[0], &out[0], err);
    if (status != RP_OK || rp_device_launch_onto(body->device, &(rp_kernel_args){all, 2, &y, 1, onto->attr}))
        return status;
    return rp_fail(err, RP_EUNSUPPORTED, "products, planned to be added where they go, on a device that cannot");
}
