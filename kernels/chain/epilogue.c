/* SPDX-License-Identifier: Apache-2.0
 * Running a product with a chain behind it on the CPU. */
#include "kernels/chain/epilogue.h"

#include "kernels/chain/job.h"

typedef struct behind {
    rp_epilogue_run *run;
    const rp_kernel_args *args;
    rp_epilogue epilogue;
} behind;

static void go_on(void *self, size_t first, size_t rows, size_t step, size_t columns)
{
    rp_chain_job_run(self, first, rows, step, columns);
}

static void run_behind(void *arg, size_t begin, size_t end)
{
    const behind *b = arg;

    b->run(b->args, begin, end, &b->epilogue);
}

void rp_chain_run_behind(const rp_chain *chain, rp_kernel_id kernel, const rp_kernel_args *args,
                         const rp_kernel_table *table, rp_pool *pool, size_t least)
{
    const rp_kernel *product = table->kernel[kernel];
    const size_t items = product->items(args), cost = pool ? product->cost(args) : 0;
    const size_t grain = least / (cost > 0 ? cost : 1);
    rp_chain_job job;
    behind b = {rp_epilogue_of(table, kernel), args, {go_on, &job, args->out[0].data}};

    rp_chain_job_make(&job, chain, table);
    if (pool == NULL || items <= grain)
        run_behind(&b, 0, items);
    else
        rp_pool_run(pool, items, 1 + grain, run_behind, &b);
}
