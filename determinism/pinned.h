/* SPDX-License-Identifier: Apache-2.0
 * The words and bounds of the pinned profile (CONTRACT 15): what kernels, recipes and archives agree on. */
#ifndef DETERMINISM_PINNED_H
#define DETERMINISM_PINNED_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Which matrix products the library computes, and how; all others are the contract's. */
typedef enum rp_pinned_compute {
    RP_PINNED_F32,  /* "f32": of binary32 operands, in binary32 */
    RP_PINNED_F64,  /* "f64": of binary64 operands, in binary64 */
    RP_PINNED_TF32, /* "tf32": of binary32 operands, for which it may use TF32, sums in binary32 */
    RP_PINNED_BF16, /* "bf16": of bfloat16 operands, sums in binary32 */
    RP_PINNED_COMPUTES
} rp_pinned_compute;

enum {
    RP_PINNED_ATTRIBUTES = 9, /* of an algorithm, by which it is named (FORMAT.md 16) */
    RP_PINNED_ALGORITHM = 4 * RP_PINNED_ATTRIBUTES,
    RP_PINNED_PRODUCTS = 4096,     /* shapes of one run */
    RP_PINNED_TEXT = 256,          /* bytes of a chip's name or a variable, with a terminator */
    RP_PINNED_WORKSPACE = 1 << 25, /* where nothing is said */
    RP_PINNED_WORKSPACE_MOST = 1 << 30
};

static inline const char *const *rp_pinned_compute_names(void)
{
    static const char *const names[RP_PINNED_COMPUTES] = {"f32", "f64", "tf32", "bf16"};

    return names;
}

/* Whether it is one of them; NULL is none. */
static inline bool rp_pinned_compute_of(rp_pinned_compute *out, const char *name)
{
    for (int i = 0; i < RP_PINNED_COMPUTES; i++) {
        if (name == NULL || strcmp(name, rp_pinned_compute_names()[i]) != 0)
            continue;
        *out = (rp_pinned_compute)i;
        return true;
    }
    return false;
}

#endif
