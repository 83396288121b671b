/* SPDX-License-Identifier: Apache-2.0
 * The variables of the environment that the command reads, for its manual. */
#ifndef CLI_MANUAL_ENVIRONMENT_H
#define CLI_MANUAL_ENVIRONMENT_H

#include <stddef.h>

typedef struct rp_variable {
    const char *name, *help;
} rp_variable;

extern const rp_variable rp_environment[];
extern const size_t rp_environment_count;

#endif
