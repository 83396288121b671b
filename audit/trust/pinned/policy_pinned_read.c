/* SPDX-License-Identifier: Apache-2.0
 * Reading the clauses on what computed a run, which are held against it in policy_pinned.c. */
#include <stdio.h>
#include <string.h>

#include "audit/trust/policy_read.h"
#include "base/memory.h"
#include "base/text.h"

static const char *const rules[RP_LIBRARY_RULES] = {"name", "version", "sha256", "chip"};

void rp_policy_read_profile(rp_policy_reader *in, const rp_node *node, rp_clause *clause)
{
    static const char *const names[] = {"portable", "pinned"};

    clause->pinned =
        rp_policy_read_word(in, node, clause->name, names, 2, "portable, or pinned where that will do") == 1;
}

void rp_policy_read_emulated(rp_policy_reader *in, const rp_node *node, rp_clause *clause)
{
    static const char *const names[] = {"none"};

    (void)rp_policy_read_word(in, node, clause->name, names, 1, "none; leave it out where it is not asked for");
}

/* A slip of the pen in a digest or a number would be met by no library, which nobody means. */
static bool fits(rp_library_rule rule, const char *text)
{
    unsigned char bytes[RP_DIGEST_SIZE];

    if (rule == RP_LIBRARY_SHA256)
        return rp_unhex(bytes, sizeof bytes, text);
    return rule != RP_LIBRARY_VERSION || (*text > '0' && *text <= '9' && strspn(text, "0123456789") == strlen(text));
}

static size_t count_of(const rp_node *node)
{
    return node == NULL ? 0 : node->kind == RP_NODE_LIST ? node->count : 1;
}

static void read_rule(rp_policy_reader *in, const rp_node *node, rp_library_rule rule, rp_clause *clause)
{
    static const char *const expected[RP_LIBRARY_RULES] = {
        "a text such as cublasLt, or a list of them", "a number such as 130002, or a list of them",
        "64 lowercase hex digits, or a list of them", "a chip's name, or a list of them"};
    const size_t count = count_of(node);
    char path[RP_POLICY_PATH];

    (void)snprintf(path, sizeof path, "%s.%s", clause->name, rules[rule]);
    if (node && count == 0)
        rp_node_wrong(&in->r, node, path, expected[rule], NULL);
    for (size_t i = 0; i < count && in->r.status == RP_OK; i++) {
        const rp_node *one = node->kind == RP_NODE_LIST ? &node->child[i] : node;

        if (one->kind != RP_NODE_SCALAR || !fits(rule, one->text))
            rp_node_wrong(&in->r, one, path, expected[rule], NULL);
        else
            rp_policy_add_word(in, one, path, clause);
    }
    clause->library[rule] = count;
}

void rp_policy_read_library(rp_policy_reader *in, const rp_node *node, rp_clause *clause)
{
    const rp_node *found[RP_LIBRARY_RULES];
    size_t count = 0;

    rp_policy_check_keys(in, node, clause->name, rules, RP_LIBRARY_RULES);
    for (int k = 0; k < RP_LIBRARY_RULES && in->r.status == RP_OK; k++) {
        found[k] = rp_node_find(node, rules[k]);
        count += count_of(found[k]);
    }
    if (in->r.status == RP_OK && (count == 0 || count > RP_POLICY_WORDS))
        rp_node_refuse(&in->r, node, clause->name, "expected 1 to %d values of name, version, sha256 and chip",
                       RP_POLICY_WORDS);
    if (in->r.status != RP_OK)
        return;
    clause->word = rp_calloc(count, sizeof *clause->word);
    if (clause->word == NULL)
        in->r.status = rp_no_memory(in->r.err);
    for (int k = 0; k < RP_LIBRARY_RULES && in->r.status == RP_OK; k++)
        read_rule(in, found[k], (rp_library_rule)k, clause);
}
