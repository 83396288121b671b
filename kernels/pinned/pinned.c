/* SPDX-License-Identifier: Apache-2.0
 * What all devices share of the pinned profile: the products by their shapes, in order. */
#include "kernels/pinned/pinned.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

static int order(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

int rp_pinned_compare(const void *a, const void *b)
{
    const rp_pinned_product *x = a, *y = b;
    int c = order(x->batch, y->batch);

    c = c ? c : order(x->k, y->k);
    c = c ? c : order(x->m, y->m);
    return c ? c : order(x->n, y->n);
}

rp_dtype rp_pinned_operands(rp_pinned_compute compute)
{
    return compute == RP_PINNED_F64 ? RP_F64 : compute == RP_PINNED_BF16 ? RP_BF16 : RP_F32;
}

const rp_pinned_product *rp_pinned_find(const rp_pinned_product *product, size_t count, const rp_pinned_product *shape)
{
    return count ? bsearch(shape, product, count, sizeof *product, rp_pinned_compare) : NULL;
}

rp_status rp_pinned_add(rp_pinned *pinned, const rp_pinned_product *product, rp_error *err)
{
    size_t at = pinned->products;
    rp_pinned_product *grown;

    if (at == RP_PINNED_PRODUCTS)
        return rp_fail(err, RP_EUNSUPPORTED, "profile pinned: more than %d shapes of matrix products in one run",
                       (int)RP_PINNED_PRODUCTS);
    grown = rp_reallocarray(pinned->product, at + 1, sizeof *grown);
    if (grown == NULL)
        return rp_no_memory(err);
    pinned->product = grown;
    while (at > 0 && rp_pinned_compare(&grown[at - 1], product) > 0)
        at--;
    memmove(&grown[at + 1], &grown[at], (pinned->products - at) * sizeof *grown);
    grown[at] = *product;
    pinned->products++;
    return RP_OK;
}

void rp_pinned_free(rp_pinned *pinned)
{
    if (pinned == NULL)
        return;
    rp_free(pinned->product);
    rp_free(pinned->expected);
    rp_free(pinned);
}
