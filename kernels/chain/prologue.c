/* SPDX-License-Identifier: Apache-2.0
 * Running a product with a chain in front of its right operand on the CPU. */
#include "kernels/chain/prologue.h"

#include "kernels/chain/job.h"
#include "kernels/cpu/matmul/matmul_scratch.h"
#include "kernels/onto.h"

enum { CHUNK = 512 /* of k, the contract's */, LONGEST = 4 * CHUNK /* of rows that lie along k */ };
enum { PAD = 16 /* elements between such rows: no two in one cache set */ };
enum { PANEL = 32 /* columns, of which threads take some */, BLOCK = 1 << 20 /* bytes */, ON_STACK = 32 };

/* Of the merged product: a [m, k], b [k, n], y [m, n]. */
typedef struct prologue {
    const rp_kernel_table *table;
    rp_view a, y;
    rp_dtype type; /* of b */
    size_t m, k, n;
    bool turned;          /* the chain makes [n, k] */
    size_t deep, columns; /* of a block, at most */
    rp_chain_job before, behind;
    bool goes_on;
} prologue;

/* Rows of a view, all axes but the last together, if they are at one step; *step is in elements. An axis of one row may
 * have any stride. */
static bool rows_at_one_step(const rp_view *view, ptrdiff_t *step)
{
    size_t rows = 1;

    *step = view->stride[view->rank - 2];
    for (int d = view->rank - 2; d >= 0; d--) {
        if (view->shape[d] == 1)
            continue;
        if (rows == 1)
            *step = view->stride[d];
        else if (view->stride[d] != *step * (ptrdiff_t)rows)
            return false;
        rows *= view->shape[d];
    }
    return true;
}

static bool is_one_for_all(const rp_view *b)
{
    for (int d = 0; d < b->rank - 2; d++)
        if (b->shape[d] != 1 && b->stride[d] != 0)
            return false;
    return true;
}

static bool lies(const rp_view *b)
{
    const int r = b->rank - 2;

    return b->stride[r + 1] == 1 && b->stride[r] == (ptrdiff_t)b->shape[r + 1];
}

static bool lies_turned(const rp_view *b)
{
    const int r = b->rank - 2;

    return b->stride[r] == 1 && b->stride[r + 1] == (ptrdiff_t)b->shape[r];
}

bool rp_prologue_fits(const rp_view *in, const rp_view *out)
{
    ptrdiff_t step;

    return in[0].rank >= 2 && in[1].rank >= 2 && is_one_for_all(&in[1]) && (lies(&in[1]) || lies_turned(&in[1])) &&
           rows_at_one_step(&in[0], &step) && rp_chain_whole(out, rp_view_count(out));
}

static rp_view matrix(void *data, rp_dtype type, size_t rows, size_t columns, ptrdiff_t row, ptrdiff_t column)
{
    return (rp_view){.data = data, .dtype = type, .rank = 2, .shape = {rows, columns}, .stride = {row, column}};
}

/* Columns [column, column + columns) of rows [start, start + k) of b, made in the block. */
static rp_view make_block(const prologue *p, size_t start, size_t k, size_t column, size_t columns, void *block)
{
    if (p->turned) {
        rp_chain_job_run_loose(&p->before, column * p->k + start, columns, p->k, k, block, k + PAD);
        return matrix(block, p->type, k, columns, 1, (ptrdiff_t)(k + PAD));
    }
    rp_chain_job_run_loose(&p->before, start * p->n + column, k, p->n, columns, block, columns);
    return matrix(block, p->type, k, columns, (ptrdiff_t)columns, 1);
}

/* All rows of these columns, which fit into the block. */
static void run_strip(const prologue *p, size_t column, size_t columns, void *block)
{
    const rp_kernel *kernel = p->table->kernel[RP_K_matmul];
    const size_t size = rp_dtype_size(p->y.dtype);
    rp_view y = p->y;
    size_t start = 0;

    y.data = (char *)p->y.data + column * size;
    y.shape[1] = columns;
    do {
        const size_t k = p->k - start < p->deep ? p->k - start : p->deep;
        rp_view in[2] = {p->a, make_block(p, start, k, column, columns, block)};
        const rp_kernel_args args = {in, 2, &y, 1, NULL};

        in[0].data = (char *)p->a.data + (ptrdiff_t)start * p->a.stride[1] * (ptrdiff_t)rp_dtype_size(p->a.dtype);
        in[0].shape[1] = k;
        kernel->run(&args, 0, kernel->items(&args));
        kernel = rp_onto_of(p->table);
        start += p->deep;
    } while (start < p->k);
    if (p->goes_on)
        rp_chain_job_run(&p->behind, column, p->m, p->n, columns);
}

/* Panels [begin, end). */
static void run_panels(void *arg, size_t begin, size_t end)
{
    prologue p = *(const prologue *)arg;
    const size_t last = end * PANEL < p.n ? end * PANEL : p.n;
    _Alignas(64) char stack[ON_STACK * (CHUNK + PAD) * sizeof(double)];
    void *borrowed = rp_scratch_borrow();

    if (borrowed == NULL) {
        p.deep = CHUNK;
        p.columns = ON_STACK;
    }
    for (size_t column = begin * PANEL, columns; column < last; column += columns) {
        columns = last - column < p.columns ? last - column : p.columns;
        run_strip(&p, column, columns, borrowed != NULL ? borrowed : stack);
    }
    rp_scratch_return(borrowed);
}

void rp_prologue_run(const rp_prologue_call *call, const rp_kernel_table *table, rp_pool *pool, size_t least)
{
    const rp_view *a = &call->args->in[0], *b = &call->args->in[1], *y = &call->args->out[0];
    prologue p = {.table = table, .type = b->dtype, .turned = !lies(b), .goes_on = call->behind != NULL};
    size_t panels, work;
    ptrdiff_t step;

    (void)rows_at_one_step(a, &step);
    p.k = b->shape[b->rank - 2];
    p.n = b->shape[b->rank - 1];
    p.m = p.n > 0 ? rp_view_count(y) / p.n : 0;
    p.deep = p.turned ? LONGEST : CHUNK;
    p.columns =
        BLOCK / (rp_dtype_size(y->dtype) * (p.turned && p.k < LONGEST && p.k > CHUNK ? p.k : p.deep)) / PANEL * PANEL;
    p.a = matrix(a->data, a->dtype, p.m, p.k, step, a->stride[a->rank - 1]);
    p.y = matrix(y->data, y->dtype, p.m, p.n, (ptrdiff_t)p.n, 1);
    rp_chain_job_make(&p.before, call->before, table);
    if (p.goes_on)
        rp_chain_job_make(&p.behind, call->behind, table);
    panels = (p.n + PANEL - 1) / PANEL;
    work = p.k * PANEL / 16 * (p.m + 4 * call->before->n_steps);
    if (pool == NULL)
        run_panels(&p, 0, panels);
    else
        rp_pool_run(pool, panels, 1 + least / (work + 1), run_panels, &p);
}
