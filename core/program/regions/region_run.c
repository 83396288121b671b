/* SPDX-License-Identifier: Apache-2.0
 * Frames in order. Carried values, but for those that are made where they lie, change between two sets of buffers, of
 * which the region's own values are one, rows are views, and a tree over shards keeps one partial sum a level, so that
 * memory does not grow with the number of frames.
 */
#include "core/program/regions/region_run.h"

#include <string.h>

#include "base/memory.h"
#include "core/program/execute.h"

/* What one region needs while it runs. */
typedef struct drive {
    const rp_frames *frames;
    const rp_region *region;
    const rp_view *in, *given; /* operands, and where the region's values go */
    size_t n_in;
    rp_view *param, *out; /* of the next frame */
    char *scratch;        /* what is left of it */
} drive;

static rp_status drive_new(drive *d, rp_error *err)
{
    d->param = rp_reallocarray(NULL, d->n_in + 1, sizeof *d->param);
    d->out = rp_reallocarray(NULL, rp_function_outs(d->region->function[0]), sizeof *d->out);
    return d->param && d->out ? RP_OK : rp_no_memory(err);
}

static void drive_free(drive *d)
{
    rp_free(d->param);
    rp_free(d->out);
}

/* ---- scratch: what `hold` gives out is what rp_region_scratch counts ---- */

/* Bytes in multiples of 64, as prices count them. */
static size_t room(const rp_type *type)
{
    return (rp_type_bytes(type) + 63) / 64 * 64;
}

static const rp_type index_type = {.dtype = RP_I64}, flag_type = {.dtype = RP_BOOL};

/* Partial sums of a tree over so many shards: one a level, and one to come in. */
static size_t tree_levels(size_t shards)
{
    size_t levels = 1;

    for (size_t covered = 1; covered < shards; covered *= 2)
        levels++;
    return levels;
}

size_t rp_region_scratch(const rp_region *r)
{
    const size_t shards = r->kind == RP_MAP ? rp_region_shards(r) : 0;
    size_t bytes = r->kind == RP_WHILE ? room(&flag_type) : 0;

    if (r->kind == RP_SCAN || r->kind == RP_MAP)
        bytes += room(&index_type);
    for (size_t i = 0; (r->kind == RP_WHILE || (r->times > 1 && !r->history)) && i < r->carried; i++)
        bytes += room(rp_function_param(r->function[0], 1 + i));
    for (size_t i = 0; i < r->n_combine; i++)
        if (r->combine[i] == RP_COMBINE_TREE)
            bytes += tree_levels(shards) * room(rp_function_out(r->function[0], i));
    return bytes;
}

static rp_view hold(drive *d, const rp_type *type)
{
    const rp_view view = rp_view_of(type, d->scratch);

    d->scratch += room(type);
    return view;
}

static rp_status frame(drive *d, size_t k, rp_error *err)
{
    return d->frames->run(d->frames->self, d->region, k, d->param, d->out, err);
}

static rp_status copy(drive *d, const rp_view *from, const rp_view *to, rp_error *err)
{
    return rp_execute_copy(d->frames->device, from, to, err);
}

static rp_status put_number(drive *d, const rp_view *to, uint64_t value, rp_error *err)
{
    const int64_t number = (int64_t)value;

    return rp_device_upload(d->frames->device, to->data, &number, sizeof number, NULL, err);
}

/* The index of the frame of function k that comes next. One that nobody reads is not put there: the host would wait for
 * the device, whose uploads are few at a time. */
static rp_status put_index(drive *d, size_t k, uint64_t index, rp_error *err)
{
    const bool read = d->frames->told || d->region->function[k]->reads_first;

    return read ? put_number(d, &d->param[0], index, err) : RP_OK;
}

/* A scalar that decides what comes next: the host waits for it, and for what was wrong before it, as then it is none.
 */
static rp_status read_scalar(drive *d, const rp_view *from, void *to, rp_error *err)
{
    rp_status status = rp_device_download(d->frames->device, to, from->data, rp_dtype_size(from->dtype), NULL, err);

    return status == RP_OK ? d->frames->settle(d->frames->self, err) : status;
}

static rp_status run_call(drive *d, rp_error *err)
{
    memcpy(d->param, d->in, d->n_in * sizeof *d->param);
    memcpy(d->out, d->given, rp_function_outs(d->region->function[0]) * sizeof *d->out);
    return frame(d, 0, err);
}

/* ---- carried values ---- */

/* The second set of buffers for what is carried, where no history has it; NULL: out of memory. The first is where the
 * region's values go: a frame reads one set and writes the other, and the first frame reads the operands. */
static rp_view *hold_carried(drive *d)
{
    rp_view *set = rp_reallocarray(NULL, d->region->carried, sizeof *set);

    for (size_t i = 0; set && i < d->region->carried; i++)
        set[i] = hold(d, rp_function_param(d->region->function[0], 1 + i));
    return set;
}

static rp_status copy_carried(drive *d, const rp_view *from, const rp_view *to, rp_error *err)
{
    rp_status status = RP_OK;

    for (size_t i = 0; i < d->region->carried && status == RP_OK; i++)
        status = copy(d, &from[i], &to[i], err);
    return status;
}

static uint64_t index_of(const rp_region *r, uint64_t t)
{
    return r->reverse ? r->times - 1 - t : t;
}

/* Where carried value k lies before iteration t, 0 < t <= times: the last one where it goes, and those of a history in
 * their rows, so that what an iteration makes is no other's copy. */
static rp_view carried_at(const drive *d, const rp_view *second, size_t k, uint64_t t)
{
    const rp_region *r = d->region;

    if (r->history && t < r->times)
        return rp_view_index(&d->given[rp_function_outs(r->function[0]) + k], index_of(r, t));
    return (r->times - t) % 2 && !(k < 64 && d->frames->over >> k & 1) ? second[k] : d->given[k];
}

/* Iteration t. */
static rp_status run_iteration(drive *d, uint64_t t, const rp_view *second, rp_error *err)
{
    const rp_region *r = d->region;
    const size_t outs = rp_function_outs(r->function[0]);
    const uint64_t i = index_of(r, t);
    rp_status status = put_index(d, 0, i, err);

    for (size_t k = 0; k < r->carried; k++) {
        d->param[1 + k] = t ? carried_at(d, second, k, t) : d->in[k];
        d->out[k] = carried_at(d, second, k, t + 1);
    }
    for (size_t k = 0; k < r->sliced; k++)
        d->param[1 + r->carried + k] = rp_view_index(&d->in[r->carried + k], i);
    for (size_t k = r->carried; k < outs; k++)
        d->out[k] = rp_view_index(&d->given[k], i);
    return status == RP_OK ? frame(d, 0, err) : status;
}

/* The operands are the history's first rows. */
static rp_status begin_history(drive *d, rp_error *err)
{
    const rp_region *r = d->region;
    const size_t outs = rp_function_outs(r->function[0]);
    rp_status status = RP_OK;

    for (size_t k = 0; k < r->carried && status == RP_OK; k++) {
        const rp_view row = rp_view_index(&d->given[outs + k], index_of(r, 0));

        status = copy(d, &d->in[k], &row, err);
    }
    return status;
}

static rp_status run_scan(drive *d, rp_error *err)
{
    const rp_region *r = d->region;
    const size_t shared = r->carried + r->sliced;
    rp_view *second = NULL;
    rp_status status = RP_OK;

    d->param[0] = hold(d, &index_type);
    memcpy(d->param + 1 + shared, d->in + shared, (d->n_in - shared) * sizeof *d->in);
    if (r->times > 1 && r->carried && !r->history && !(second = hold_carried(d)))
        return rp_no_memory(err);
    if (r->history && r->times)
        status = begin_history(d, err);
    for (uint64_t t = 0; t < r->times && status == RP_OK; t++)
        status = run_iteration(d, t, second, err);
    if (status == RP_OK && r->times == 0)
        status = copy_carried(d, d->in, d->given, err);
    rp_free(second);
    return status;
}

/* The predicate of iteration i on what is carried. */
static rp_status goes_on(drive *d, const rp_view *from, const rp_view *flag, unsigned char *go, rp_error *err)
{
    rp_status status;

    memcpy(d->param + 1, from, d->region->carried * sizeof *from);
    d->out[0] = *flag;
    status = frame(d, 1, err);
    return status == RP_OK ? read_scalar(d, flag, go, err) : status;
}

/* The count is the index of the iteration that comes next, so it lies where the count goes. */
static rp_status run_while(drive *d, rp_error *err)
{
    const rp_region *r = d->region;
    const rp_view flag = hold(d, &flag_type), *from = d->in;
    rp_view *second = hold_carried(d);
    unsigned char go = 1;
    uint64_t count = 0;
    rp_status status = second ? RP_OK : rp_no_memory(err);

    d->param[0] = d->given[0];
    memcpy(d->param + 1 + r->carried, d->in + r->carried, (d->n_in - r->carried) * sizeof *d->in);
    while (status == RP_OK) {
        const rp_view *to = count % 2 ? second : d->given + 1;

        status = put_number(d, &d->param[0], count, err);
        if (status == RP_OK && count < r->times)
            status = goes_on(d, from, &flag, &go, err);
        if (status != RP_OK || !go || count == r->times)
            break;
        memcpy(d->out, to, r->carried * sizeof *to);
        status = frame(d, 0, err);
        from = to;
        count++;
    }
    if (status == RP_OK && from != d->given + 1)
        status = copy_carried(d, from, d->given + 1, err);
    rp_free(second);
    return status;
}

/* ---- cond ---- */

static rp_status run_cond(drive *d, rp_error *err)
{
    const rp_region *r = d->region;
    unsigned char flag = 0;
    int64_t branch = 0;
    rp_status status = read_scalar(d, &d->in[0], d->in[0].dtype == RP_BOOL ? (void *)&flag : (void *)&branch, err);

    if (status != RP_OK)
        return status;
    if (d->in[0].dtype == RP_BOOL)
        branch = flag != 0;
    if (branch < 0 || (uint64_t)branch >= r->n_functions)
        return rp_fail(err, RP_EDATA, "instruction %zu, cond: selector %lld is out of range, expected 0 to %zu",
                       d->frames->number, (long long)branch, r->n_functions - 1);
    memcpy(d->param, d->in + 1, (d->n_in - 1) * sizeof *d->in);
    memcpy(d->out, d->given, rp_function_outs(r->function[0]) * sizeof *d->out);
    return frame(d, (size_t)branch, err);
}

/* ---- map ---- */

/* Partial sums of one output: a shard's value comes in at level 0; two of one level become one of the next. This adds
 * neighbours exactly as the tree over all shards does (CONTRACT 12.3). */
typedef struct tree {
    rp_view *sum; /* one a level, and one to come in */
    unsigned char *level;
    size_t n;
} tree;

static rp_status tree_new(drive *d, tree *t, const rp_type *type, size_t levels, rp_error *err)
{
    t->n = 0;
    t->sum = rp_reallocarray(NULL, levels, sizeof *t->sum);
    t->level = rp_malloc(levels);
    for (size_t i = 0; t->sum && i < levels; i++)
        t->sum[i] = hold(d, type);
    return t->sum && t->level ? RP_OK : rp_no_memory(err);
}

/* The last but one becomes the sum of the last two. */
static rp_status add_last(drive *d, tree *t, rp_error *err)
{
    const rp_view in[2] = {t->sum[t->n - 2], t->sum[t->n - 1]};
    const rp_kernel_args args = {in, 2, &t->sum[t->n - 2], 1, NULL};

    t->n--;
    return rp_device_launch(d->frames->device, RP_K_add, &args, NULL, err);
}

static rp_status tree_grow(drive *d, tree *t, rp_error *err)
{
    rp_status status = RP_OK;

    t->level[t->n++] = 0;
    while (status == RP_OK && t->n > 1 && t->level[t->n - 1] == t->level[t->n - 2]) {
        status = add_last(d, t, err);
        t->level[t->n - 1]++;
    }
    return status;
}

/* What is left has falling levels: the odd ones that were carried over meet from the right. */
static rp_status tree_end(drive *d, tree *t, const rp_view *to, rp_error *err)
{
    rp_status status = RP_OK;

    while (status == RP_OK && t->n > 1)
        status = add_last(d, t, err);
    return status == RP_OK ? copy(d, &t->sum[0], to, err) : status;
}

/* Shard s, the j-th that is not empty. */
static rp_status run_shard(drive *d, tree *trees, size_t s, size_t j, rp_error *err)
{
    const rp_region *r = d->region;
    const uint64_t rows = rp_shard_rows(r, s);
    const size_t k = rp_region_function_of(r, rows);
    rp_status status = put_index(d, k, r->first + s, err);

    for (size_t i = 0; i < r->sliced; i++)
        d->param[1 + i] = rp_view_range(&d->in[i], r->cuts[s], rows);
    for (size_t i = 0; i < r->n_combine; i++)
        d->out[i] = r->combine[i] == RP_COMBINE_TREE    ? trees[i].sum[trees[i].n]
                    : r->combine[i] == RP_COMBINE_STACK ? rp_view_index(&d->given[i], j)
                                                        : rp_view_range(&d->given[i], r->cuts[s] - r->cuts[0], rows);
    if (status == RP_OK)
        status = frame(d, k, err);
    for (size_t i = 0; i < r->n_combine && status == RP_OK; i++)
        if (r->combine[i] == RP_COMBINE_TREE)
            status = tree_grow(d, &trees[i], err);
    return status;
}

static rp_status run_shards(drive *d, tree *trees, rp_error *err)
{
    const rp_region *r = d->region;
    const size_t levels = tree_levels(rp_region_shards(r));
    rp_status status = RP_OK;

    d->param[0] = hold(d, &index_type);
    memcpy(d->param + 1 + r->sliced, d->in + r->sliced, (d->n_in - r->sliced) * sizeof *d->in);
    for (size_t i = 0; i < r->n_combine && status == RP_OK; i++)
        if (r->combine[i] == RP_COMBINE_TREE)
            status = tree_new(d, &trees[i], rp_function_out(r->function[0], i), levels, err);
    for (size_t s = 0, j = 0; s + 1 < r->n_cuts && status == RP_OK; s++)
        if (rp_shard_rows(r, s))
            status = run_shard(d, trees, s, j++, err);
    for (size_t i = 0; i < r->n_combine && status == RP_OK; i++)
        if (r->combine[i] == RP_COMBINE_TREE)
            status = tree_end(d, &trees[i], &d->given[i], err);
    return status;
}

static rp_status run_map(drive *d, rp_error *err)
{
    tree *trees = rp_calloc(d->region->n_combine, sizeof *trees);
    rp_status status = trees ? run_shards(d, trees, err) : rp_no_memory(err);

    for (size_t i = 0; trees && i < d->region->n_combine; i++) {
        rp_free(trees[i].sum);
        rp_free(trees[i].level);
    }
    rp_free(trees);
    return status;
}

rp_status rp_region_run(const rp_frames *frames, const rp_region *region, const rp_view *in, size_t n_in,
                        const rp_view *out, void *scratch, rp_error *err)
{
    static rp_status (*const run[])(drive *, rp_error *) = {
        [RP_CALL] = run_call, [RP_SCAN] = run_scan, [RP_MAP] = run_map, [RP_COND] = run_cond, [RP_WHILE] = run_while};
    drive d = {.frames = frames, .region = region, .in = in, .given = out, .n_in = n_in, .scratch = scratch};
    rp_status status = drive_new(&d, err);

    if (status == RP_OK)
        status = run[region->kind](&d, err);
    drive_free(&d);
    return status;
}
