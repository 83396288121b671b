/* SPDX-License-Identifier: Apache-2.0
 * Moves: what the host can say of them by views is not for the device to find out. A concatenation is a copy for each
 * operand, or for several that lie at one distance from each other; padding is a constant and a copy; takes see table
 * and index as if each had the other's axes, with no step. */
#include <stdio.h>
#include <string.h>

#include "kernels/gpu/args.h"
#include "kernels/gpu/launch.h"
#include "kernels/gpu/move/launch_copy.h"
#include "kernels/walk.h"

enum { NAME = 64, WIDEST = 16 /* bytes that a copy moves at once, so long as all lies in multiples of them */ };

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

/* How many of the n views, of which the first goes to `part` and is not alone in being there, are one view with an axis
 * more: as long, of the same strides, at one distance from each other, which is *apart elements. Two that are as long
 * always are. One that lies where it goes ends them. */
static size_t evenly_apart(const rp_view *in, size_t n, size_t axis, const rp_view *part, ptrdiff_t *apart)
{
    const intptr_t size = (intptr_t)rp_dtype_size(in[0].dtype);
    size_t count = 1;
    intptr_t step;

    *apart = 0;
    while (count < n && in[count].shape[axis] == in[0].shape[axis] &&
           in[count].data != rp_view_at(part, (ptrdiff_t)(count * in[0].shape[axis]) * part->stride[axis]) &&
           memcmp(in[count].stride, in[0].stride, (size_t)in[0].rank * sizeof *in[0].stride) == 0) {
        step = (intptr_t)in[count].data - (intptr_t)in[count - 1].data;
        if (step % WIDEST != 0 || (count > 1 && step / size != *apart))
            break;
        *apart = step / size;
        count++;
    }
    return count;
}

/* view with `count` of itself in front, so many elements apart. */
static rp_view several(const rp_view *view, size_t count, ptrdiff_t apart)
{
    rp_view all = *view;

    all.rank++;
    memmove(all.shape + 1, view->shape, (size_t)view->rank * sizeof *view->shape);
    memmove(all.stride + 1, view->stride, (size_t)view->rank * sizeof *view->stride);
    all.shape[0] = count;
    all.stride[0] = apart;
    return all;
}

bool rp_gpu_launch_concat(rp_gpu_queue *queue, rp_kernel_id kernel, const rp_kernel_args *args)
{
    const size_t axis = (size_t)RP_AT(args->attr, concat, axis).i;
    rp_view part = args->out[0];

    (void)kernel;
    for (size_t i = 0, n; i < args->n_in; i += n) {
        const ptrdiff_t length = (ptrdiff_t)args->in[i].shape[axis];
        ptrdiff_t apart;

        part.shape[axis] = args->in[i].shape[axis];
        n = part.rank < RP_MAX_RANK ? evenly_apart(&args->in[i], args->n_in - i, axis, &part, &apart) : 1;
        if (part.data == args->in[i].data) {
            n = 1;
        } else if (n > 1) {
            const rp_view to = several(&part, n, length * part.stride[axis]), from = several(&args->in[i], n, apart);

            rp_gpu_copy_view(queue, &to, &from);
        } else {
            rp_gpu_copy_view(queue, &part, &args->in[i]);
        }
        part.data = rp_view_at(&part, (ptrdiff_t)n * length * part.stride[axis]);
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
