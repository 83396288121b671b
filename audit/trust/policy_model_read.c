/* SPDX-License-Identifier: Apache-2.0
 * Reading clauses on the run itself, which are held against it in policy_model.c. */
#include "audit/trust/policy_read.h"

#include <stdio.h>
#include <string.h>

int rp_policy_read_word(rp_policy_reader *in, const rp_node *node, const char *key, const char *const *names,
                        size_t count, const char *expected)
{
    for (size_t i = 0; node->kind == RP_NODE_SCALAR && i < count; i++)
        if (strcmp(node->text, names[i]) == 0)
            return (int)i;
    rp_node_wrong(&in->r, node, key, expected, NULL);
    return 0;
}

void rp_policy_read_parent(rp_policy_reader *in, const rp_node *node, rp_clause *clause)
{
    static const char *const names[] = {"checked", "none", "any", "met"};

    clause->parent = (rp_parent_rule)rp_policy_read_word(in, node, clause->name, names, 4, "none, checked, met or any");
}

void rp_policy_read_run_kind(rp_policy_reader *in, const rp_node *node, rp_clause *clause)
{
    static const char *const names[] = {"recipe", "api", "text"};
    int kind = rp_policy_read_word(in, node, clause->name, names, 3, "recipe, api or text");

    (void)snprintf(clause->run_kind, sizeof clause->run_kind, "%s", names[kind]);
}

void rp_policy_read_conformant(rp_policy_reader *in, const rp_node *node, rp_clause *clause)
{
    static const char *const names[] = {"true"};

    (void)rp_policy_read_word(in, node, clause->name, names, 1, "true; leave it out where it is not asked for");
}
