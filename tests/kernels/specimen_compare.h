/* SPDX-License-Identifier: Apache-2.0
 * Keeping what a kernel wrote and comparing it, bit for bit, with what another variant writes. Whole memory blocks are
 * compared, so a stray write into a gap or past an end is seen. */
#ifndef TESTS_KERNELS_SPECIMEN_COMPARE_H
#define TESTS_KERNELS_SPECIMEN_COMPARE_H

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "determinism/bits.h"
#include "kernels/device.h"
#include "kernels/conformance/specimen.h"

/* Output blocks as they were after the reference ran. */
typedef struct outcome {
    void *block[4];
} outcome;

static inline outcome take_outcome(const rp_specimen *s)
{
    outcome o = {{NULL}};

    for (size_t i = 0; i < s->args.n_out; i++) {
        size_t count;
        const void *block = rp_specimen_output(s, i, &count);

        o.block[i] = rp_malloc(count * rp_dtype_size(s->out[i].dtype) + 1);
        if (o.block[i])
            memcpy(o.block[i], block, count * rp_dtype_size(s->out[i].dtype));
    }
    return o;
}

static inline void drop_outcome(outcome *o)
{
    for (size_t i = 0; i < 4; i++)
        rp_free(o->block[i]);
}

/* Outputs back to the pattern. */
static inline void erase(rp_specimen *s)
{
    for (size_t i = 0; i < s->args.n_out; i++) {
        size_t count;
        void *block = rp_specimen_output(s, i, &count);

        memset(block, 0xA5, count * rp_dtype_size(s->out[i].dtype));
    }
}

/* Runs the items in `parts` ranges, the last range first. */
static inline void run_cut(const rp_kernel *kernel, const rp_kernel_args *args, unsigned parts)
{
    const size_t items = kernel->items(args);

    for (unsigned i = parts; i-- > 0;)
        kernel->run(args, items * i / parts, items * (i + 1) / parts);
}

static inline void describe_plan(char *out, size_t size, const rp_specimen_plan *plan, const char *level,
                                 const char *how)
{
    static const char *const layouts[] = {"plain", "unaligned", "strided", "broadcast", "gaps"};
    static const char *const data[] = {"normal", "wide", "subnormal", "special"};

    snprintf(out, size, "kernel %s %s level %s, %s: shape [%zu, %zu, %zu], option %d, layout %s, data %s, seed %llu",
             rp_kernel_name(plan->kernel), rp_dtype_name(plan->dtype), level, how, plan->shape[0], plan->shape[1],
             plan->shape[2], plan->option, layouts[plan->layout], data[plan->data], (unsigned long long)plan->seed);
}

/* True when the outputs have the stored bits of `want`; else out says what differs first. */
static inline bool same_outputs(char *out, size_t size, const outcome *want, const rp_specimen *got,
                                const rp_specimen_plan *plan, const char *level, const char *how)
{
    for (size_t i = 0; i < got->args.n_out; i++) {
        const rp_dtype dtype = got->out[i].dtype;
        const size_t item = rp_dtype_size(dtype);
        size_t count, at;
        const unsigned char *b = rp_specimen_output(got, i, &count), *a = want->block[i];
        unsigned char *stored_a, *stored_b;
        char expected[64], found[64], where[300];
        bool same;

        if (memcmp(a, b, count * item) == 0)
            continue;
        stored_a = rp_malloc(count * item);
        stored_b = rp_malloc(count * item);
        if (!stored_a || !stored_b) {
            snprintf(out, size, "out of memory");
            return false;
        }
        rp_to_stored(stored_a, a, dtype, count);
        rp_to_stored(stored_b, b, dtype, count);
        same = memcmp(stored_a, stored_b, count * item) == 0;
        if (!same) {
            at = rp_first_difference(stored_a, stored_b, dtype, count);
            rp_describe_element(expected, sizeof expected, a + at * item, dtype);
            rp_describe_element(found, sizeof found, b + at * item, dtype);
            describe_plan(where, sizeof where, plan, level, how);
            snprintf(out, size, "%s: output %zu, block element %zu: expected %s, found %s, %llu ulps apart", where, i,
                     at, expected, found, (unsigned long long)rp_ulps(a + at * item, b + at * item, dtype));
        }
        rp_free(stored_a);
        rp_free(stored_b);
        if (!same)
            return false;
    }
    return true;
}

#endif
