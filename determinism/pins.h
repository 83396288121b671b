/* SPDX-License-Identifier: Apache-2.0
 * Version pins: what this library was built against and what is loaded now. */
#ifndef DETERMINISM_PINS_H
#define DETERMINISM_PINS_H

#include <stddef.h>

enum { RP_CONTRACT_VERSION = 1 };

typedef struct rp_pin {
    const char *name;   /* "OpenSSL", "libarchive", "libyaml", "compiler" */
    const char *built;  /* version at build time */
    const char *loaded; /* version of what is loaded; the compiler's is the same as built */
    int match;          /* 1 when they agree */
} rp_pin;

/* A static table; *count is its length. */
const rp_pin *rp_pins(size_t *count);

#endif
