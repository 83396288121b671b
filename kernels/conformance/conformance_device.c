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

static rp_status move_back(copy *c, rp_specimen *s, rp_error *err)
{
    rp_status status = RP_OK;

    for (size_t n = s->args.n_in; n < s->args.n_in + s->args.n_out && status == RP_OK; n++)
        status = rp_device_download(c->device, s->block[n], c->block[n], block_bytes(s, n), NULL, err);
    return status == RP_OK ? rp_device_synchronize(c->device, NULL, err) : status;
}

/* The outputs' memory as it is stored, in one piece. */
static unsigned char *stored_outputs(const rp_specimen *s, size_t *size)
{
    unsigned char *bytes;
    size_t at = 0;

    for (size_t n = s->args.n_in; n < s->args.n_in + s->args.n_out; n++)
        at += block_bytes(s, n);
    bytes = rp_malloc(at);
    *size = at;
    at = 0;
    for (size_t n = s->args.n_in; bytes != NULL && n < s->args.n_in + s->args.n_out; n++) {
        rp_to_stored(bytes + at, s->block[n], view_of(s, n)->dtype, s->count[n]);
        at += block_bytes(s, n);
    }
    return bytes;
}

static rp_status compare(rp_device *device, const rp_specimen_plan *plan, const rp_specimen *s,
                         const unsigned char *want, size_t size, rp_error *err)
{
    unsigned char *found = stored_outputs(s, &size);
    const bool equal = found != NULL && memcmp(found, want, size) == 0;
    const rp_status status =
        found == NULL ? rp_no_memory(err)
        : equal       ? RP_OK
                      : rp_fail(err, RP_EBITS,
                                "kernel %s %s, device %s: other bits than the reference (option %d, "
                                      "layout %d, data %d): this device does not keep the numeric contract",
                                rp_kernel_name(plan->kernel), rp_dtype_name(plan->dtype), rp_device_identity(device),
                                plan->option, (int)plan->layout, (int)plan->data);

    rp_free(found);
    return status;
}

/* Whether the kernel may be a step of a chain, for which a device may have kernels of its own. */
static bool may_be_a_step(const rp_specimen *s, rp_kernel_id kernel)
{
    const size_t count = rp_view_count(&s->out[0]);

    return rp_kernel_flags(kernel) & RP_OP_ELEMENTWISE && s->args.n_out == 1 && count > 0 &&
           rp_chain_whole(&s->out[0], count);
}

static rp_status launch_step(copy *c, rp_kernel_id kernel, rp_error *err)
{
    const rp_kernel_args *args = &c->args;
    rp_chain chain = {.count = rp_view_count(args->out),
                      .step = {{kernel, 0, args->n_in, args->n_in, 1, args->attr}},
                      .n_steps = 1,
                      .n_views = args->n_in + 1};

    memcpy(chain.view, args->in, args->n_in * sizeof *chain.view);
    chain.view[args->n_in] = args->out[0];
    return rp_device_launch_chain(c->device, &chain, NULL, err);
}

/* By the kernel, or as a chain of one step. */
static rp_status check_launch(rp_device *device, const rp_specimen_plan *plan, rp_specimen *s,
                              const unsigned char *want, size_t size, bool step, rp_error *err)
{
    copy c = {.device = device};
    rp_status status;

    rp_specimen_reset(s);
    status = move_there(&c, s, err);
    if (status == RP_OK)
        status = step ? launch_step(&c, plan->kernel, err) : rp_device_launch(device, plan->kernel, &c.args, NULL, err);
    if (status == RP_OK)
        status = move_back(&c, s, err);
    if (status == RP_OK)
        status = compare(device, plan, s, want, size, err);
    for (size_t n = 0; n < RP_SPECIMEN_VIEWS; n++)
        rp_device_release(device, c.block[n]);
    return status;
}

static rp_status check(rp_device *device, const rp_kernel_table *reference, const rp_specimen_plan *plan, rp_error *err)
{
    const rp_kernel *kernel = reference->kernel[plan->kernel];
    rp_specimen s;
    unsigned char *want;
    size_t size;
    rp_status status = rp_specimen_make(&s, plan, err);

    if (status != RP_OK)
        return status;
    kernel->run(&s.args, 0, kernel->items(&s.args));
    want = stored_outputs(&s, &size);
    status = want != NULL ? check_launch(device, plan, &s, want, size, false, err) : rp_no_memory(err);
    if (status == RP_OK && may_be_a_step(&s, plan->kernel))
        status = check_launch(device, plan, &s, want, size, true, err);
    rp_free(want);
    rp_specimen_free(&s);
    return status;
}

rp_status rp_conformance_device(rp_device *device, bool all, size_t *checked, rp_error *err)
{
    const rp_kernel_table *reference;
    rp_specimen_cache cache = {0};
    rp_pinned *const library = rp_device_exchange_pinned(device, NULL); /* the kernels of the contract, not it */
    rp_status status = rp_kernel_table_get(&reference, "ref", err);

    *checked = 0;
    rp_device_set_conforming(device, 0);
    for (size_t i = 0; i < rp_conformance_vectors() && status == RP_OK; i++) {
        bool tried = false;

        for (int round = 0; round < rp_conformance_rounds() && status == RP_OK; round += all ? 1 : ROUND_STEP) {
            rp_specimen_plan plan = rp_conformance_plan(i, round);

            plan.cache = &cache;
            if (!rp_device_has(device, plan.kernel, plan.dtype)) /* a run that needs it is refused */
                break;
            status = check(device, reference, &plan, err);
            tried = true;
        }
        *checked += status == RP_OK && tried;
    }
    if (status == RP_OK)
        status = rp_conformance_hash(device, err);
    if (status == RP_OK)
        rp_device_set_conforming(device, *checked);
    rp_specimen_cache_free(&cache);
    (void)rp_device_exchange_pinned(device, library);
    return status;
}
