/* SPDX-License-Identifier: Apache-2.0
 * Moves: what the host can say of them by views is not for the device to find out. A concatenation is a copy for each
 * operand, padding a constant and a copy; takes see table and index as if each had the other's axes, with no step. */
#include <stdio.h>
#include <string.h>

#include "kernels/gpu/args.h"
#include "kernels/gpu/launch.h"
#include "kernels/gpu/move/launch_copy.h"
#include "kernels/walk.h"

enum { NAME = 64 };

/* attr NULL: zeros. */
static void fill_view(rp_gpu_queue *queue, const rp_view *to, const rp_attr *attr)
{
    char name[NAME];
    rp_gpu_map map;

    rp_gpu_map_of(&map, &to, 1, attr, RP_K_fill);
    (void)snprintf(name, sizeof name, "rp_gpu_fill_%s", rp_dtype_name(to->dtype));
    rp_gpu_run_map(queue, name, &map);
}

bool rp_gpu_launch_copy(rp_gpu_queue *queue, rp_kernel_id kernel, const rp_kernel_args *args)
{
    (void)kernel;
    rp_gpu_copy_view(queue, &args->out[0], &args->in[0]);
    return true;
}

bool rp_gpu_launch_fill(rp_gpu_queue *queue, rp_kernel_id kernel, const rp_kernel_args *args)
{
    (void)kernel;
    fill_view(queue, &args->out[0], args->attr);
    return true;
}

bool rp_gpu_launch_iota(rp_gpu_queue *queue, rp_kernel_id kernel, const rp_kernel_args *args)
{
    const rp_view *out = &args->out[0];
    char name[NAME];
    rp_gpu_map map;

    rp_gpu_map_of(&map, &out, 1, args->attr, kernel);
    (void)snprintf(name, sizeof name, "rp_gpu_iota_%s", rp_dtype_name(out->dtype));
    rp_gpu_run_map(queue, name, &map);
    return true;
}

bool rp_gpu_launch_concat(rp_gpu_queue *queue, rp_kernel_id kernel, const rp_kernel_args *args)
{
    const size_t axis = (size_t)RP_AT(args->attr, concat, axis).i;
    rp_view part = args->out[0];

    (void)kernel;
    for (size_t i = 0; i < args->n_in; i++) {
        part.shape[axis] = args->in[i].shape[axis];
        rp_gpu_copy_view(queue, &part, &args->in[i]);
        part.data = rp_view_at(&part, (ptrdiff_t)part.shape[axis] * part.stride[axis]);
    }
    return true;
}

bool rp_gpu_launch_pad(rp_gpu_queue *queue, rp_kernel_id kernel, const rp_kernel_args *args)
{
    const rp_view *in = &args->in[0];
    rp_view part = args->out[0];

    (void)kernel;
    fill_view(queue, &part, NULL);
    for (int d = 0; d < part.rank; d++) {
        part.data = rp_view_at(&part, (ptrdiff_t)RP_AT(args->attr, pad, before).list[d] * part.stride[d]);
        part.shape[d] = in->shape[d];
    }
    rp_gpu_copy_view(queue, &part, in);
    return true;
}

/* ---- takes ---- */

/* taken's shape, in which axes [axis, axis + index axes) are the index's: the table there has no step, the index none
 * elsewhere. */
static void spread(rp_view *table, rp_view *index, const rp_view *taken, size_t axis)
{
    const rp_view t = *table, k = *index;
    const size_t after = axis + (size_t)k.rank;

    table->rank = index->rank = taken->rank;
    for (size_t d = 0; d < (size_t)taken->rank; d++) {
        const bool inside = d >= axis && d < after;

        table->shape[d] = index->shape[d] = taken->shape[d];
        table->stride[d] = inside ? 0 : t.stride[d < axis ? d : d - after + axis + 1];
        index->stride[d] = inside ? k.stride[d - axis] : 0;
    }
}

static i64 axis_bytes(const rp_view *table, size_t axis)
{
    return (i64)table->stride[axis] * (i64)rp_dtype_size(table->dtype);
}

bool rp_gpu_launch_gather(rp_gpu_queue *queue, rp_kernel_id kernel, const rp_kernel_args *args)
{
    const size_t axis = (size_t)RP_AT(args->attr, gather, axis).i;
    rp_view table = args->in[0], index = args->in[1];
    const rp_view *const views[] = {&args->out[0], &table, &index};
    char name[NAME];
    rp_gpu_map map;

    spread(&table, &index, &args->out[0], axis);
    rp_gpu_map_of(&map, views, 3, NULL, kernel);
    map.wide = index.dtype == RP_I64;
    map.own[0] = axis_bytes(&args->in[0], axis);
    (void)snprintf(name, sizeof name, "rp_gpu_gather_%s", rp_gpu_carrier(table.dtype));
    rp_gpu_run_map(queue, name, &map);
    return true;
}

/* The kernel of gather: index and table lie as what is taken does. */
bool rp_gpu_launch_take_along(rp_gpu_queue *queue, rp_kernel_id kernel, const rp_kernel_args *args)
{
    const size_t axis = (size_t)RP_AT(args->attr, take_along, axis).i;
    rp_view table = args->in[0];
    const rp_view *const views[] = {&args->out[0], &table, &args->in[1]};
    char name[NAME];
    rp_gpu_map map;

    table.stride[axis] = 0;
    rp_gpu_map_of(&map, views, 3, NULL, kernel);
    map.wide = args->in[1].dtype == RP_I64;
    map.own[0] = axis_bytes(&args->in[0], axis);
    (void)snprintf(name, sizeof name, "rp_gpu_gather_%s", rp_gpu_carrier(table.dtype));
    rp_gpu_run_map(queue, name, &map);
    return true;
}

bool rp_gpu_launch_one_hot(rp_gpu_queue *queue, rp_kernel_id kernel, const rp_kernel_args *args)
{
    const rp_view *out = &args->out[0];
    rp_view index = args->in[0];
    const rp_view *const views[] = {out, &index};
    char name[NAME];
    rp_gpu_map map;

    index.shape[index.rank] = rp_view_last(out);
    index.stride[index.rank++] = 0;
    rp_gpu_map_of(&map, views, 2, NULL, kernel);
    map.wide = index.dtype == RP_I64;
    map.own[0] = (i64)rp_view_last(out);
    (void)snprintf(name, sizeof name, "rp_gpu_one_hot_%s", rp_dtype_name(out->dtype));
    rp_gpu_run_map(queue, name, &map);
    return true;
}
