/* SPDX-License-Identifier: Apache-2.0
 * Elementwise kernels: views to one shape with as few axes as they allow, and the kernel of the row and type by its
 * name, rp_gpu_NAME_TYPE. */
#include <stdio.h>
#include <string.h>

#include "kernels/gpu/args.h"
#include "kernels/gpu/launch.h"
#include "kernels/walk.h"

enum { NAME = 96, BLOCKS_A_MULTIPROCESSOR = 32 };

void rp_gpu_map_of(rp_gpu_map *map, const rp_view *const *views, size_t n_views, const rp_attr *attr,
                   rp_kernel_id kernel)
{
    rp_walk walk;

    memset(map, 0, sizeof *map);
    map->count = rp_view_count(views[0]);
    if (attr != NULL)
        memcpy(map->attr, attr, rp_kernel_attributes(kernel) * sizeof *attr);
    if (map->count == 0)
        return;
    rp_walk_begin(&walk, views, n_views, 0, map->count); /* merges axes as the host's loops do */
    map->rank = walk.rank;
    for (int d = 0; d < walk.rank; d++)
        map->shape[d] = walk.shape[d];
    for (size_t v = 0; v < n_views; v++) {
        map->at[v] = views[v]->data;
        for (int d = 0; d < walk.rank; d++)
            map->bytes[v][d] = walk.bytes[v][d];
    }
}

const char *rp_gpu_carrier(rp_dtype dtype)
{
    switch ((int)dtype) {
    case RP_F16:
    case RP_I16:
        return "bf16";
    case RP_I8:
    case RP_U8:
        return "bool";
    case RP_U32:
        return "i32";
    default:
        return rp_dtype_name(dtype);
    }
}

void rp_gpu_run_map(rp_gpu_queue *queue, const char *name, rp_gpu_map *map)
{
    const u64 most = (u64)rp_gpu_multiprocessors(queue) * BLOCKS_A_MULTIPROCESSOR;
    rp_gpu_grid grid = {.threads = RP_GPU_BLOCK};
    u64 blocks;

    if (queue->end != 0) {
        map->first = queue->first;
        map->count = queue->end;
    }
    blocks = (map->count - map->first + RP_GPU_BLOCK - 1) / RP_GPU_BLOCK;
    grid.x = (uint32_t)(blocks < most ? blocks : most);
    if (map->count > 0)
        rp_gpu_run(queue, name, grid, map, sizeof *map);
}

/* Outputs, then the first n_in inputs. */
static void map_args(rp_gpu_map *map, const rp_kernel_args *args, size_t n_in, rp_kernel_id kernel)
{
    const rp_view *views[RP_GPU_MAP_VIEWS];
    size_t n = 0;

    for (size_t i = 0; i < args->n_out; i++)
        views[n++] = &args->out[i];
    for (size_t i = 0; i < n_in; i++)
        views[n++] = &args->in[i];
    rp_gpu_map_of(map, views, n, args->attr, kernel);
}

static void run_typed(rp_gpu_queue *queue, rp_kernel_id kernel, rp_dtype dtype, rp_gpu_map *map)
{
    char name[NAME];

    (void)snprintf(name, sizeof name, "rp_gpu_%s_%s", rp_kernel_name(kernel), rp_dtype_name(dtype));
    rp_gpu_run_map(queue, name, map);
}

bool rp_gpu_launch_map(rp_gpu_queue *queue, rp_kernel_id kernel, const rp_kernel_args *args)
{
    rp_gpu_map map;

    map_args(&map, args, args->n_in, kernel);
    run_typed(queue, kernel, args->in[0].dtype, &map);
    return true;
}

/* where: its operands' type is that of a and b. */
bool rp_gpu_launch_where(rp_gpu_queue *queue, rp_kernel_id kernel, const rp_kernel_args *args)
{
    char name[NAME];
    rp_gpu_map map;

    map_args(&map, args, 3, kernel);
    (void)snprintf(name, sizeof name, "rp_gpu_where_%s", rp_gpu_carrier(args->in[1].dtype));
    rp_gpu_run_map(queue, name, &map);
    return true;
}

bool rp_gpu_launch_cast(rp_gpu_queue *queue, rp_kernel_id kernel, const rp_kernel_args *args)
{
    char name[NAME];
    rp_gpu_map map;

    map_args(&map, args, 1, kernel);
    (void)snprintf(name, sizeof name, "rp_gpu_cast_%s_%s", rp_dtype_name(args->in[0].dtype),
                   rp_dtype_name(args->out[0].dtype));
    rp_gpu_run_map(queue, name, &map);
    return true;
}

/* Integers of one width are one type. */
bool rp_gpu_launch_bitcast(rp_gpu_queue *queue, rp_kernel_id kernel, const rp_kernel_args *args)
{
    const rp_dtype dtype = args->in[0].dtype;
    const char *type = dtype == RP_U8 ? "i8" : dtype == RP_U32 ? "i32" : rp_dtype_name(dtype);
    char name[NAME];
    rp_gpu_map map;

    map_args(&map, args, 1, kernel);
    (void)snprintf(name, sizeof name, "rp_gpu_cast_%s_bits", type);
    rp_gpu_run_map(queue, name, &map);
    return true;
}

/* The state is the last input: seed, step and maybe an offset. */
bool rp_gpu_launch_random(rp_gpu_queue *queue, rp_kernel_id kernel, const rp_kernel_args *args)
{
    const rp_view *state = &args->in[args->n_in - 1];
    rp_gpu_map map;

    map_args(&map, args, args->n_in - 1, kernel);
    map.extra[0] = state->data;
    map.own[0] = (i64)state->shape[0];
    map.own[1] = (i64)state->stride[0];
    run_typed(queue, kernel, args->out[0].dtype, &map);
    return true;
}

/* The inputs of the parameter's shape, which are what comes out and the gradient, come first; the rest are scalars. */
bool rp_gpu_launch_optimizer(rp_gpu_queue *queue, rp_kernel_id kernel, const rp_kernel_args *args)
{
    const size_t elementwise = args->n_out + 1;
    rp_gpu_map map;

    map_args(&map, args, elementwise, kernel);
    for (size_t i = elementwise; i < args->n_in; i++)
        map.extra[i - elementwise] = args->in[i].data;
    run_typed(queue, kernel, args->out[0].dtype, &map);
    return true;
}
