/* SPDX-License-Identifier: Apache-2.0
 * What the files that read a policy share. */
#include "audit/trust/policy_read.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

void rp_policy_check_keys(rp_policy_reader *in, const rp_node *mapping, const char *path, const char *const *keys,
                          size_t count)
{
    for (size_t i = 0; i < mapping->count && in->r.status == RP_OK; i++) {
        const rp_node *child = &mapping->child[i];
        const char *nearest;
        char quoted[64], full[RP_POLICY_PATH + 80];
        size_t k = 0;

        while (k < count && strcmp(keys[k], child->key) != 0)
            k++;
        if (k < count)
            continue;
        (void)snprintf(full, sizeof full, "%s%s%s", path, *path ? "." : "",
                       rp_printable(quoted, sizeof quoted, child->key, strlen(child->key)));
        nearest = rp_nearest(child->key, keys, count);
        rp_node_refuse(&in->r, child, full, "unknown key%s%s%s", nearest ? "; did you mean \"" : "; see docs/policy.md",
                       nearest ? nearest : "", nearest ? "\"?" : "");
    }
}
