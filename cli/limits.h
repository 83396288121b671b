/* SPDX-License-Identifier: Apache-2.0
 * --max-work and --max-memory of the commands that compute what an archive says. */
#ifndef CLI_LIMITS_H
#define CLI_LIMITS_H

#include "cli/options.h"

typedef struct rp_limits {
    const char *work, *memory; /* as given */
} rp_limits;

#define RP_OPTION_LIMITS(l) \
    {0, \
     "max-work", \
     RP_OPTION_TEXT, \
     "N", \
     "refuse what takes more operations on elements than N (default: 2^56) before it starts", \
     &(l)->work, \
     false}, \
    { \
        0, "max-memory", RP_OPTION_TEXT, "BYTES", \
            "refuse a program that needs more memory before it starts (default: none is refused)", &(l)->memory, false \
    }

/* Into max_work and max_memory of the options. Errors: RP_EARG. */
rp_status rp_limits_resolve(const rp_limits *limits, const char *command, rp_job_options *options, rp_error *err);

#endif
