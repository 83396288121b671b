/* SPDX-License-Identifier: Apache-2.0
 * Windows of large tensors: fetched as they lie, computed by this CPU's kernels, compared bit for bit. */
#include "windows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/limits.h"
#include "kernels/walk.h"

enum { WINDOW = 4096, PATTERN = 0x5A };

bool large_begins(large *l, const char *name)
{
    if (!l->lost && rp_seconds_now() < l->ends)
        return true;
    fprintf(stderr, "large: %s: skipped: %s\n", name, l->lost ? "the device is lost" : "the time is up");
    printf("large\t%s (skipped)\t0\t0\tB/s\t-\t-\n", name);
    fflush(stdout);
    return false;
}

void large_print(large *l, const char *name, double seconds, double bytes, bool same)
{
    printf("large\t%s\t%.9g\t%.6g\tB/s\t-\t%s\n", name, seconds, seconds > 0 ? bytes / seconds : 0,
           same ? "equal" : "DIFFERENT");
    fflush(stdout);
    l->different = l->different || !same;
}

void large_failed(large *l, const char *name, rp_status status)
{
    const bool skipped = status == RP_ENOMEM;

    fprintf(stderr, "large: %s: %s: %s\n", name, skipped ? "skipped" : "FAILED", l->err.text);
    printf("large\t%s%s\t0\t0\tB/s\t-\t%s\n", name, skipped ? " (skipped)" : "", skipped ? "-" : "FAILED");
    fflush(stdout);
    l->different = l->different || !skipped;
    l->lost = rp_device_synchronize(l->device, NULL, NULL) != RP_OK;
}

rp_status large_poison(large *l, void *memory, size_t bytes)
{
    const rp_attr attr[RP_MAX_ATTR] = {{.i = 0x5A5A5A5A, .r = 0x5A5A5A5A}};
    const rp_view out = {memory, RP_I32, 1, {(bytes + 3) / 4}, {1}};
    const rp_kernel_args args = {NULL, 0, &out, 1, attr};

    const rp_status status = rp_device_launch(l->device, RP_K_fill, &args, NULL, &l->err);

    return status == RP_OK ? rp_device_synchronize(l->device, NULL, &l->err) : status;
}

rp_view large_slice(const rp_view *view, int axis, size_t first, size_t rows)
{
    rp_view part = *view;

    part.shape[axis] = rows;
    part.data = rp_view_at(view, (ptrdiff_t)first * view->stride[axis]);
    return part;
}

/* ---- fetching ---- */

/* The axes that have a step, the longest step first; returns how many. */
static int axes_in_memory(const rp_view *view, int axis[RP_MAX_RANK])
{
    int n = 0;

    for (int d = 0; d < view->rank; d++) {
        int at = n;

        if (view->stride[d] == 0)
            continue;
        for (; at > 0 && view->stride[axis[at - 1]] < view->stride[d]; at--)
            axis[at] = axis[at - 1];
        axis[at] = d;
        n++;
    }
    return n;
}

static rp_status fetch_axes(large *l, char *to, const char *from, const rp_view *here, const rp_view *there,
                            const int *axis, int n)
{
    const size_t size = rp_dtype_size(there->dtype);
    size_t count = 1;
    bool dense = true;
    rp_status status = RP_OK;

    for (int i = 0; i < n; i++) {
        dense = dense && here->stride[axis[i]] == there->stride[axis[i]];
        count *= here->shape[axis[i]];
    }
    if (dense)
        return rp_device_read(l->device, to, from, count * size, NULL, &l->err);
    for (size_t i = 0; i < there->shape[axis[0]] && status == RP_OK; i++)
        status = fetch_axes(l, to + i * (size_t)here->stride[axis[0]] * size,
                            from + i * (size_t)there->stride[axis[0]] * size, here, there, axis + 1, n - 1);
    return status;
}

/* A block of the host laid out as `there` is, but without gaps. */
static rp_status lay_out(large *l, rp_view *here, const rp_view *there, int axis[RP_MAX_RANK], int *n)
{
    size_t count = 1;

    *here = *there;
    *n = axes_in_memory(there, axis);
    for (int i = *n - 1; i >= 0; i--) {
        here->stride[axis[i]] = (ptrdiff_t)count;
        count *= there->shape[axis[i]];
    }
    here->data = malloc(count * rp_dtype_size(there->dtype) + 1);
    if (here->data == NULL)
        return rp_fail(&l->err, RP_ENOMEM, "no memory for a window of %zu elements", count);
    memset(here->data, PATTERN, count * rp_dtype_size(there->dtype));
    return RP_OK;
}

rp_status large_fetch(large *l, rp_view *here, const rp_view *there)
{
    int axis[RP_MAX_RANK], n;
    rp_status status = lay_out(l, here, there, axis, &n);

    return status == RP_OK ? fetch_axes(l, here->data, there->data, here, there, axis, n) : status;
}

/* ---- places ---- */

static void add_place(size_t *place, size_t *n, size_t at)
{
    for (size_t i = 0; i < *n; i++)
        if (place[i] == at)
            return;
    if (*n < LARGE_PLACES)
        place[(*n)++] = at;
}

size_t large_places(const large *l, size_t place[LARGE_PLACES], const large_case *c)
{
    const size_t rows = c->out[0].view.shape[c->axis];
    size_t n = 0;

    add_place(place, &n, 0);
    add_place(place, &n, rows / 7 * 3);
    add_place(place, &n, rows);
    for (size_t v = 0; v < c->n_in + c->n_out; v++) {
        const large_operand *o = v < c->n_out ? &c->out[v] : &c->in[v - c->n_out];
        const size_t stride = (size_t)o->view.stride[c->axis] * o->scale, size = rp_dtype_size(o->view.dtype);

        for (size_t times = 1; times <= 16 && stride > 0; times *= 2) {
            const size_t elements = l->half / 2 * times, bytes = l->half * times / size;

            if (times <= 4 && elements / stride < rows)
                add_place(place, &n, elements / stride);
            if (bytes / stride < rows)
                add_place(place, &n, bytes / stride);
        }
    }
    return n;
}

/* ---- a window ---- */

static size_t block_of(const rp_view *view)
{
    size_t count = 1;

    for (int d = 0; d < view->rank; d++)
        count *= view->stride[d] == 0 ? 1 : view->shape[d];
    return count * rp_dtype_size(view->dtype);
}

/* Elements [first, first + rows) of all, whose blocks here hold no others. */
static void run_items(large *l, const large_case *c, rp_view *in, rp_view *out, size_t first, size_t rows)
{
    const rp_kernel_args args = {in, c->n_in, out, c->n_out, c->attr};

    for (size_t v = 0; v < c->n_in + c->n_out; v++) {
        const large_operand *o = v < c->n_in ? &c->in[v] : &c->out[v - c->n_in];
        rp_view *view = v < c->n_in ? &in[v] : &out[v - c->n_in];

        if (o->scale == 0)
            continue;
        view->data = (void *)((uintptr_t)view->data - first * rp_dtype_size(view->dtype));
        view->shape[0] = o->view.shape[0];
    }
    l->table->kernel[c->kernel]->run(&args, first, first + rows);
}

static rp_status compute_here(large *l, const large_case *c, const rp_view *in, const rp_view *out, size_t first,
                              size_t rows)
{
    rp_view items_in[LARGE_VIEWS], items_out[LARGE_VIEWS];
    const rp_kernel_args args = {in, c->n_in, out, c->n_out, c->attr};

    if (!c->by_items)
        return rp_device_launch(l->cpu, c->kernel, &args, NULL, &l->err);
    memcpy(items_in, in, sizeof items_in);
    memcpy(items_out, out, sizeof items_out);
    run_items(l, c, items_in, items_out, first, rows);
    return RP_OK;
}

static rp_view part_of(const large_case *c, const large_operand *o, size_t first, size_t rows)
{
    return o->scale == 0 ? o->view : large_slice(&o->view, c->axis, first * o->scale, rows * o->scale + o->halo);
}

static rp_status same_window(large *l, const large_case *c, size_t first, size_t rows, bool *same)
{
    rp_view in[LARGE_VIEWS] = {{0}}, out[LARGE_VIEWS] = {{0}}, found[LARGE_VIEWS] = {{0}};
    rp_status status = RP_OK;
    int axis[RP_MAX_RANK], n;

    for (size_t i = 0; i < c->n_in && status == RP_OK; i++) {
        const rp_view part = part_of(c, &c->in[i], first, rows);

        status = large_fetch(l, &in[i], &part);
    }
    for (size_t i = 0; i < c->n_out && status == RP_OK; i++) {
        const rp_view part = part_of(c, &c->out[i], first, rows);

        status = large_fetch(l, &found[i], &part);
        if (status == RP_OK)
            status = lay_out(l, &out[i], &part, axis, &n);
    }
    if (status == RP_OK)
        status = compute_here(l, c, in, out, first, rows);
    for (size_t i = 0; i < c->n_out && status == RP_OK && *same; i++) {
        *same = memcmp(out[i].data, found[i].data, block_of(&found[i])) == 0;
        if (!*same)
            fprintf(stderr, "large: %s: output %zu differs in rows %zu to %zu of %zu\n", c->name, i, first,
                    first + rows, c->out[i].view.shape[c->axis]);
    }
    for (size_t i = 0; i < LARGE_VIEWS; i++) {
        free(in[i].data);
        free(out[i].data);
        free(found[i].data);
    }
    return status;
}

/* Of the operand that has most. */
static size_t elements_a_row(const large_case *c)
{
    size_t most = 1;

    for (size_t v = 0; v < c->n_in + c->n_out; v++) {
        const large_operand *o = v < c->n_in ? &c->in[v] : &c->out[v - c->n_in];
        const size_t all = block_of(&o->view) / rp_dtype_size(o->view.dtype);
        const size_t each = o->scale == 0 ? 0 : all / o->view.shape[c->axis] * o->scale;

        most = each > most ? each : most;
    }
    return most;
}

static rp_status same_windows(large *l, const large_case *c, bool *same)
{
    const size_t rows = c->out[0].view.shape[c->axis], most = WINDOW / elements_a_row(c);
    size_t place[LARGE_PLACES], n = large_places(l, place, c);
    rp_status status = RP_OK;

    for (size_t i = 0; i < n && status == RP_OK; i++) {
        const size_t around = most > 1 ? most / 2 : 1, from = place[i] > around ? place[i] - around : 0;
        const size_t to = place[i] + around < rows ? place[i] + around : rows;

        status = same_window(l, c, from, to - from, same);
    }
    return status;
}

/* ---- cases ---- */

static double bytes_of(const large_case *c)
{
    double bytes = 0;

    for (size_t i = 0; i < c->n_in; i++)
        bytes += (double)block_of(&c->in[i].view);
    for (size_t i = 0; i < c->n_out; i++)
        bytes += (double)block_of(&c->out[i].view);
    return bytes;
}

static rp_status launch(large *l, const large_case *c, double *seconds)
{
    rp_view in[LARGE_VIEWS], out[LARGE_VIEWS];
    const rp_kernel_args args = {in, c->n_in, out, c->n_out, c->attr};
    rp_status status = RP_OK;
    double begin;

    for (size_t i = 0; i < c->n_in; i++)
        in[i] = c->in[i].view;
    for (size_t i = 0; i < c->n_out && status == RP_OK; i++) {
        out[i] = c->out[i].view;
        status = large_poison(l, out[i].data, block_of(&out[i]));
    }
    begin = rp_seconds_now();
    if (status == RP_OK)
        status = rp_device_launch(l->device, c->kernel, &args, NULL, &l->err);
    if (status == RP_OK)
        status = rp_device_synchronize(l->device, NULL, &l->err);
    *seconds = rp_seconds_now() - begin;
    return status;
}

void large_run(large *l, const large_case *c)
{
    double seconds = 0;
    bool same = true;
    rp_status status;

    if (!large_begins(l, c->name))
        return;
    status = launch(l, c, &seconds);
    if (status == RP_OK)
        status = same_windows(l, c, &same);
    if (status == RP_OK)
        large_print(l, c->name, seconds, bytes_of(c), same);
    else
        large_failed(l, c->name, status);
}

static rp_status same_whole(large *l, const large_case *c, const void *there, const void *host, bool *same)
{
    rp_view in[LARGE_VIEWS], out = {0}, found = {0};
    const rp_kernel_args args = {in, c->n_in, &out, 1, c->attr};
    int axis[RP_MAX_RANK], n;
    rp_status status = large_fetch(l, &found, &c->out[0].view);

    for (size_t i = 0; i < c->n_in; i++) {
        in[i] = c->in[i].view;
        in[i].data = (char *)host + ((char *)in[i].data - (const char *)there);
    }
    if (status == RP_OK)
        status = lay_out(l, &out, &c->out[0].view, axis, &n);
    if (status == RP_OK)
        status = rp_device_launch(l->cpu, c->kernel, &args, NULL, &l->err);
    if (status == RP_OK)
        *same = memcmp(found.data, out.data, block_of(&found)) == 0;
    free(found.data);
    free(out.data);
    return status;
}

void large_run_whole(large *l, const large_case *c, const void *there, const void *host)
{
    double seconds = 0;
    bool same = false;
    rp_status status;

    if (!large_begins(l, c->name))
        return;
    status = launch(l, c, &seconds);
    if (status == RP_OK)
        status = same_whole(l, c, there, host, &same);
    if (status == RP_OK)
        large_print(l, c->name, seconds, bytes_of(c), same);
    else
        large_failed(l, c->name, status);
}

rp_status large_same_bytes(large *l, const void *there, const void *host, const void *other, size_t bytes, bool *same)
{
    const size_t size = bytes < 2 * WINDOW ? bytes : 2 * WINDOW;
    static char a[2 * WINDOW], b[2 * WINDOW];
    rp_status status = RP_OK;

    *same = true;
    for (size_t at = 0; status == RP_OK && *same;) {
        status = rp_device_read(l->device, a, (const char *)there + at, size, NULL, &l->err);
        if (status == RP_OK && host == NULL)
            status = rp_device_read(l->device, b, (const char *)other + at, size, NULL, &l->err);
        *same = memcmp(a, host ? (const char *)host + at : b, size) == 0;
        if (at + size >= bytes)
            break;
        at = at == 0 ? l->half - WINDOW : 2 * (at + WINDOW) - WINDOW; /* around 2^31, 2^32, ... */
        if (at + size > bytes)
            at = bytes - size;
    }
    return status;
}
