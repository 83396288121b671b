/* SPDX-License-Identifier: Apache-2.0
 * The reference kernels on a GPU: arguments as they are, a thread an item. */
#include <stdio.h>
#include <string.h>

#include "kernels/gpu/args.h"
#include "kernels/gpu/launch.h"

enum { NAME = 96, THREADS = 64 };
static const u64 items_a_launch = (u64)THREADS << 30; /* blocks along x are below 2^31 */

/* How many items there are is a matter of shapes: who looks at values, which lie on the device, finds none. */
static u64 items_of(const rp_kernel *k, const rp_kernel_args *args)
{
    rp_view in[RP_GPU_IN], out[RP_GPU_OUT];
    rp_kernel_args shapes = *args;

    memcpy(in, args->in, args->n_in * sizeof *in);
    memcpy(out, args->out, args->n_out * sizeof *out);
    for (size_t i = 0; i < args->n_in; i++)
        in[i].data = NULL;
    for (size_t i = 0; i < args->n_out; i++)
        out[i].data = NULL;
    shapes.in = in;
    shapes.out = out;
    return k->items(&shapes);
}

bool rp_gpu_launch_reference(rp_gpu_queue *queue, rp_kernel_id kernel, const rp_kernel_args *args)
{
    const rp_kernel_table *table;
    rp_gpu_args p;
    char name[NAME];
    u64 items;

    if (args->n_in > RP_GPU_IN || args->n_out > RP_GPU_OUT || rp_kernel_table_get(&table, "ref", NULL) != RP_OK)
        return false;
    items = items_of(table->kernel[kernel], args);
    memset(&p, 0, sizeof p);
    p.n_in = (u32)args->n_in;
    p.n_out = (u32)args->n_out;
    memcpy(p.in, args->in, args->n_in * sizeof *p.in);
    memcpy(p.out, args->out, args->n_out * sizeof *p.out);
    if (args->attr != NULL)
        memcpy(p.attr, args->attr, rp_kernel_attributes(kernel) * sizeof *p.attr);
    (void)snprintf(name, sizeof name, "rp_gpu_ref_%s", rp_kernel_name(kernel));
    for (u64 first = 0; first < items; first = p.end) {
        rp_gpu_grid grid = {.threads = THREADS};

        p.begin = first;
        p.end = items - first < items_a_launch ? items : first + items_a_launch;
        grid.x = (uint32_t)((p.end - p.begin + THREADS - 1) / THREADS);
        rp_gpu_run(queue, name, grid, &p, sizeof p);
    }
    return true;
}
