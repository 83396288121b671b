/* SPDX-License-Identifier: Apache-2.0
 * Running rows of a norm, softmax or reduction with the chains around it on the CPU. */
#include "kernels/chain/rows.h"

#include "kernels/chain/job.h"

enum { BLOCK = 16384 /* bytes of rows at a time, if more than one fits */, OPERANDS = 3 };

/* ---- which rows ---- */

/* Rows along the last axis, of all operands but vectors. */
static bool rows_of(rp_rows *r, const rp_kernel_args *args)
{
    const rp_view *in = &args->in[0];
    const size_t n = in->rank > 1 ? in->shape[in->rank - 1] : 0, count = rp_view_count(in);

    if (n == 0 || args->n_in > OPERANDS)
        return false;
    *r = (rp_rows){count / n, n, n, true};
    for (size_t i = 0; i < args->n_in; i++)
        if (args->in[i].rank > 1 && !rp_chain_whole(&args->in[i], count))
            return false;
    return rp_chain_whole(&args->out[0], count);
}

/* Along the last axes, all of them from some on. */
static bool reduced_of(rp_rows *r, const rp_kernel_args *args, unsigned mask)
{
    const rp_view *in = &args->in[0];
    int first = in->rank;
    size_t n = 1;

    while (first > 0 && (mask >> (first - 1) & 1 || in->shape[first - 1] == 1))
        n *= in->shape[--first];
    if (n == 0 || mask & ((1u << first) - 1))
        return false;
    *r = (rp_rows){rp_view_count(in) / n, n, 1, false};
    return rp_chain_whole(in, r->items * n) && rp_chain_whole(&args->out[0], r->items);
}

static unsigned mask_of(const rp_attr *axes)
{
    unsigned mask = 0;

    for (int i = 0; i < axes->n; i++)
        mask |= 1u << axes->list[i];
    return mask;
}

bool rp_rows_of(rp_rows *r, rp_kernel_id kernel, const rp_kernel_args *args)
{
    switch (kernel) {
    case RP_K_softmax:
    case RP_K_softmax_grad:
    case RP_K_log_softmax:
    case RP_K_log_softmax_grad:
    case RP_K_layer_norm:
    case RP_K_layer_norm_grad:
    case RP_K_rms_norm:
        return rows_of(r, args);
    case RP_K_argmax:
    case RP_K_argmin:
        return reduced_of(r, args, 1u << RP_AT(args->attr, argmax, axis).i);
    default:
        return rp_kernel_flags(kernel) & RP_OP_REDUCES && reduced_of(r, args, mask_of(&args->attr[0]));
    }
}

/* ---- running them ---- */

typedef struct rows_job {
    const rp_rows_call *call;
    const rp_kernel *kernel;
    rp_rows rows;
    rp_chain_job before, behind;
    size_t most; /* rows at a time */
} rows_job;

/* Rows [first, first + n) of a view, that are as long as `each`; a vector is for all rows. */
static rp_view rows_of_view(const rp_view *view, size_t each, size_t first, size_t n, void *loose)
{
    rp_view to = *view;

    if (view->rank < 2)
        return to;
    to.data = view->data ? (char *)view->data + first * each * rp_dtype_size(view->dtype) : loose;
    to.rank = 2;
    to.shape[0] = n;
    to.shape[1] = each;
    to.stride[0] = (ptrdiff_t)each;
    to.stride[1] = 1;
    return to;
}

/* The kernel for rows [first, first + n), which find their operand in `loose` and come to `made`, where they have no
 * other place. As views of their own where they stay near: by the whole's size they would go past the caches. */
static void run_kernel(const rows_job *j, size_t first, size_t n, void *loose, void *made)
{
    const rp_kernel_args *args = j->call->args;
    rp_view in[OPERANDS], out;
    rp_kernel_args now = {in, args->n_in, args->out, args->n_out, args->attr};

    if (j->call->behind != NULL) {
        for (size_t i = 0; i < args->n_in; i++)
            in[i] = rows_of_view(&args->in[i], j->rows.in, first, n, loose);
        out = rows_of_view(&args->out[0], j->rows.out, first, n, made);
        now.out = &out;
        j->kernel->run(&now, 0, n);
        return;
    }
    for (size_t i = 0; i < args->n_in; i++)
        in[i] = args->in[i];
    in[j->call->operand].data =
        (void *)((uintptr_t)loose - first * j->rows.in * rp_dtype_size(in[j->call->operand].dtype));
    j->kernel->run(&now, first, first + n);
}

static void run_rows(void *arg, size_t begin, size_t end)
{
    const rows_job *j = arg;
    const size_t in = j->rows.in, out = j->rows.out;
    _Alignas(64) char loose[RP_ROWS_LOOSE], made[RP_ROWS_LOOSE];

    for (size_t first = begin, n; first < end; first += n) {
        n = end - first < j->most ? end - first : j->most;
        if (j->call->before != NULL)
            rp_chain_job_run_loose(&j->before, first * in, 1, 0, n * in, loose, 0);
        run_kernel(j, first, n, loose, made);
        if (j->call->behind != NULL)
            rp_chain_job_run_loose(&j->behind, first * out, 1, 0, n * out, made, 0);
    }
}

void rp_rows_run_call(const rp_rows_call *call, const rp_kernel_table *table, rp_pool *pool, size_t least)
{
    rows_job j = {.call = call, .kernel = table->kernel[call->kernel]};
    const size_t size = rp_dtype_size(call->args->in[call->operand].dtype);
    size_t cost;

    if (!rp_rows_of(&j.rows, call->kernel, call->args))
        return;
    j.most = j.rows.in * size < BLOCK ? BLOCK / (j.rows.in * size) : 1;
    if (call->before != NULL)
        rp_chain_job_make(&j.before, call->before, table);
    if (call->behind != NULL)
        rp_chain_job_make(&j.behind, call->behind, table);
    cost = pool != NULL ? j.kernel->cost(call->args) + j.rows.in : 1;
    if (pool == NULL || j.rows.items <= least / cost)
        run_rows(&j, 0, j.rows.items);
    else
        rp_pool_run(pool, j.rows.items, 1 + least / cost, run_rows, &j);
}
