/* SPDX-License-Identifier: Apache-2.0
 * The kernels of a device beside the reference on the host: the same specimens, and every byte of their outputs'
 * memory, the gaps between elements too, with NaNs as they are stored. What may be a step of a chain is one, too. */
#include <stdint.h>
#include <string.h>

#include "base/memory.h"
#include "determinism/bits.h"
#include "kernels/chain_plan.h"
#include "kernels/conformance/conformance.h"
#include "kernels/conformance/specimen_data.h"

enum { ROUND_STEP = 9 }; /* of the short form: every kind of data, other options and layouts with each */

/* An output's memory, as it comes from the device. */
typedef struct result {
    rp_specimen_plan plan;
    rp_dtype dtype;
    size_t at, count;
} result;

/* Results on their way, beside what the reference left there, and the device's memory that they come from. They are
 * waited for together: to wait for each takes longer than to compute it. */
enum { RESULTS = 64, RESULTS_BYTES = 4 << 20 /* the largest specimen leaves half a MiB */ };
typedef struct results {
    rp_device *device;
    const rp_kernel_table *reference;
    void *found; /* pinned */
    unsigned char *want, *stored;
    result result[RESULTS];
    void *block[RESULTS * RP_SPECIMEN_VIEWS];
    size_t n, n_blocks, used; /* bytes */
    unsigned steps;           /* launched as chains so far */
} results;

/* A specimen's memory on the device, and its views there. */
typedef struct copy {
    rp_device *device;
    void *block[RP_SPECIMEN_VIEWS];
    rp_view in[8], out[4];
    rp_kernel_args args;
} copy;

static const rp_view *view_of(const rp_specimen *s, size_t n)
{
    return n < s->args.n_in ? &s->in[n] : &s->out[n - s->args.n_in];
}

static size_t block_bytes(const rp_specimen *s, size_t n)
{
    return s->count[n] * rp_dtype_size(view_of(s, n)->dtype);
}

static rp_status move_there(copy *c, const rp_specimen *s, rp_error *err)
{
    const size_t n_in = s->args.n_in, blocks = n_in + s->args.n_out;
    rp_status status = RP_OK;

    memcpy(c->in, s->in, sizeof c->in);
    memcpy(c->out, s->out, sizeof c->out);
    c->args = (rp_kernel_args){c->in, n_in, c->out, s->args.n_out, s->args.attr};
    for (size_t n = 0; n < blocks && status == RP_OK; n++) {
        rp_view *view = n < n_in ? &c->in[n] : &c->out[n - n_in];
        const uintptr_t offset = (uintptr_t)view->data - (uintptr_t)s->block[n];

        status = rp_device_allocate(c->device, &c->block[n], block_bytes(s, n), err);
        if (status == RP_OK)
            status = rp_device_upload(c->device, c->block[n], s->block[n], block_bytes(s, n), NULL, err);
        view->data = (void *)((uintptr_t)c->block[n] + offset); /* of no block, where that failed */
    }
    return status;
}

static size_t output_bytes(const rp_specimen *s)
{
    size_t bytes = 0;

    for (size_t n = s->args.n_in; n < s->args.n_in + s->args.n_out; n++)
        bytes += block_bytes(s, n);
    return bytes;
}

static rp_status compare(results *r, const result *found, rp_error *err)
{
    const rp_specimen_plan *plan = &found->plan;

    rp_to_stored(r->stored, (unsigned char *)r->found + found->at, found->dtype, found->count);
    return memcmp(r->stored, r->want + found->at, found->count * rp_dtype_size(found->dtype)) == 0
               ? RP_OK
               : rp_fail(err, RP_EBITS,
                         "kernel %s %s, device %s: other bits than the reference (option %d, "
                         "layout %d, data %d): this device does not keep the numeric contract",
                         rp_kernel_name(plan->kernel), rp_dtype_name(plan->dtype), rp_device_identity(r->device),
                         plan->option, (int)plan->layout, (int)plan->data);
}

/* All are here, looked at and forgotten. */
static rp_status settle(results *r, rp_error *err)
{
    rp_status status = rp_device_synchronize(r->device, NULL, err);

    for (size_t i = 0; i < r->n && status == RP_OK; i++)
        status = compare(r, &r->result[i], err);
    for (size_t i = 0; i < r->n_blocks; i++)
        rp_device_release(r->device, r->block[i]);
    r->n = r->n_blocks = r->used = 0;
    return status;
}

/* Room for a specimen's outputs, twice. */
static rp_status make_room(results *r, const rp_specimen *s, rp_error *err)
{
    const size_t bytes = 2 * output_bytes(s);

    if (bytes > RESULTS_BYTES)
        return rp_fail(err, RP_EARG, "a specimen of %zu bytes: expected at most %d", bytes, (int)RESULTS_BYTES);
    return r->n + 2 * s->args.n_out > RESULTS || r->used + bytes > RESULTS_BYTES ? settle(r, err) : RP_OK;
}

/* The outputs' memory as it is stored. */
static void store_outputs(const rp_specimen *s, unsigned char *to)
{
    for (size_t n = s->args.n_in; n < s->args.n_in + s->args.n_out; n++) {
        rp_to_stored(to, s->block[n], view_of(s, n)->dtype, s->count[n]);
        to += block_bytes(s, n);
    }
}

static rp_status move_back(results *r, const copy *c, const rp_specimen_plan *plan, const rp_specimen *s, rp_error *err)
{
    rp_status status = RP_OK;

    for (size_t n = s->args.n_in; n < s->args.n_in + s->args.n_out && status == RP_OK; n++) {
        r->result[r->n++] = (result){*plan, view_of(s, n)->dtype, r->used, s->count[n]};
        status = rp_device_download(c->device, (unsigned char *)r->found + r->used, c->block[n], block_bytes(s, n),
                                    NULL, err);
        r->used += block_bytes(s, n);
    }
    return status;
}

/* Whether the kernel may be a step of a chain, for which a device may have kernels of its own. */
static bool may_be_a_step(const rp_specimen *s, rp_kernel_id kernel)
{
    const size_t count = rp_view_count(&s->out[0]);

    return rp_kernel_flags(kernel) & RP_OP_ELEMENTWISE && s->args.n_out == 1 && count > 0 &&
           rp_chain_whole(&s->out[0], count);
}

static rp_status launch_step(copy *c, rp_kernel_id kernel, unsigned way, rp_error *err)
{
    const rp_kernel_args *args = &c->args;
    rp_chain chain = {.count = rp_view_count(args->out),
                      .step = {{kernel, 0, args->n_in, args->n_in, 1, args->attr}},
                      .n_steps = 1,
                      .n_views = args->n_in + 1,
                      .way = way};

    memcpy(chain.view, args->in, args->n_in * sizeof *chain.view);
    chain.view[args->n_in] = args->out[0];
    return rp_device_launch_chain(c->device, &chain, NULL, err);
}

/* The three kernels that a GPU has for chains take turns, and not always the same for every eighth. */
static unsigned next_way(results *r)
{
    const unsigned n = r->steps++;

    return 1 + (n ^ n >> 3) % 3;
}

/* way: 0, by the kernel; else as a chain of one step. */
static rp_status launch(results *r, const rp_specimen_plan *plan, rp_specimen *s, unsigned way, rp_error *err)
{
    copy c = {.device = r->device};
    rp_status status;

    rp_specimen_reset(s);
    status = move_there(&c, s, err);
    if (status == RP_OK)
        status = way > 0 ? launch_step(&c, plan->kernel, way, err)
                         : rp_device_launch(c.device, plan->kernel, &c.args, NULL, err);
    if (status == RP_OK)
        status = move_back(r, &c, plan, s, err);
    for (size_t n = 0; n < RP_SPECIMEN_VIEWS; n++)
        if (c.block[n] != NULL)
            r->block[r->n_blocks++] = c.block[n];
    return status;
}

static rp_status check(results *r, const rp_specimen_plan *plan, rp_error *err)
{
    const rp_kernel *kernel = r->reference->kernel[plan->kernel];
    rp_specimen s;
    const unsigned char *want;
    rp_status status = rp_specimen_make(&s, plan, err);

    if (status != RP_OK)
        return status;
    status = make_room(r, &s, err);
    want = r->want + r->used;
    if (status == RP_OK) {
        kernel->run(&s.args, 0, kernel->items(&s.args));
        store_outputs(&s, r->want + r->used);
        status = launch(r, plan, &s, 0, err);
    }
    if (status == RP_OK && may_be_a_step(&s, plan->kernel)) {
        memcpy(r->want + r->used, want, output_bytes(&s));
        status = launch(r, plan, &s, next_way(r), err);
    }
    rp_specimen_free(&s);
    return status;
}

static rp_status begin(results *r, rp_device *device, rp_error *err)
{
    rp_status status = rp_kernel_table_get(&r->reference, "ref", err);

    r->device = device;
    r->want = rp_malloc(RESULTS_BYTES);
    r->stored = rp_malloc(RESULTS_BYTES);
    if (status == RP_OK && (r->want == NULL || r->stored == NULL))
        status = rp_no_memory(err);
    return status == RP_OK ? rp_device_pin(device, &r->found, RESULTS_BYTES, err) : status;
}

static rp_status end(results *r, rp_status status, rp_error *err)
{
    const rp_status settled = settle(r, status == RP_OK ? err : NULL); /* memory goes back either way */

    rp_device_unpin(r->device, r->found);
    rp_free(r->stored);
    rp_free(r->want);
    return status == RP_OK ? settled : status;
}

rp_status rp_conformance_device(rp_device *device, bool all, size_t *checked, rp_error *err)
{
    results r = {0};
    rp_specimen_cache cache = {0};
    rp_pinned *const library = rp_device_exchange_pinned(device, NULL); /* the kernels of the contract, not it */
    rp_status status = begin(&r, device, err);

    *checked = 0;
    rp_device_set_conforming(device, 0);
    for (size_t i = 0; i < rp_conformance_vectors() && status == RP_OK; i++) {
        bool tried = false;

        for (int round = 0; round < rp_conformance_rounds() && status == RP_OK; round += all ? 1 : ROUND_STEP) {
            rp_specimen_plan plan = rp_conformance_plan(i, round);

            plan.cache = &cache;
            if (!rp_device_has(device, plan.kernel, plan.dtype)) /* a run that needs it is refused */
                break;
            status = check(&r, &plan, err);
            tried = true;
        }
        *checked += status == RP_OK && tried;
    }
    status = end(&r, status, err);
    if (status == RP_OK)
        status = rp_conformance_hash(device, err);
    if (status == RP_OK)
        status = rp_device_synchronize(device, NULL, err); /* a release that failed has broken it */
    if (status == RP_OK)
        rp_device_set_conforming(device, *checked);
    rp_specimen_cache_free(&cache);
    (void)rp_device_exchange_pinned(device, library);
    return status;
}
