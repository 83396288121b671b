/* SPDX-License-Identifier: Apache-2.0
 * What readers give the values of JSON texts at most, where that is not RP_JSON_MEMORY: whoever writes such a text for
 * others keeps to it too, or nobody could read it. */
#ifndef BASE_JSON_MEMORY_H
#define BASE_JSON_MEMORY_H

#include <stddef.h>

enum {
    RP_JSON_METRICS_MEMORY = 256 << 20, /* outputs/metrics.json: two confusion matrices of 1,000 classes take 115 MiB */
    RP_JSON_PROGRAM_MEMORY = 1 << 30    /* run/programs/: some times what most programs take */
};

/* At most what parsing the text takes, as rp_json_parse_within counts it. */
size_t rp_json_memory(const void *text, size_t size);

#endif
