/* SPDX-License-Identifier: Apache-2.0
 * The groups of a policy: whose signatures a clause is about. */
#include "audit/trust/policy_read.h"

#include <stdio.h>
#include <string.h>

#include "audit/digest/digest.h"
#include "audit/sign/signed_json.h"
#include "audit/sign/key.h"
#include "base/file.h"
#include "base/memory.h"
#include "rp/trust.h"

/* The key is kept once, whatever the number of groups it is in. Takes it. */
static rp_status keep_key(rp_policy *policy, rp_key *key, rp_error *err)
{
    rp_key **grown;

    for (size_t i = 0; i < policy->keys; i++) {
        if (strcmp(rp_key_id(policy->key[i]), rp_key_id(key)) == 0) {
            rp_key_free(key);
            return RP_OK;
        }
    }
    grown = rp_reallocarray(policy->key, policy->keys + 1, sizeof(rp_key *));
    if (grown == NULL) {
        rp_key_free(key);
        return rp_no_memory(err);
    }
    policy->key = grown;
    grown[policy->keys++] = key;
    return RP_OK;
}

static void read_key(rp_policy_reader *in, const rp_node *node, const char *path, char id[RP_DIGEST_HEX])
{
    unsigned char bytes[RP_DIGEST_SIZE];
    rp_key *key = NULL;
    char *file;

    if (node->kind != RP_NODE_SCALAR || rp_node_is_null(node)) {
        rp_node_wrong(&in->r, node, path, "a public key's PEM file or a key id", NULL);
        return;
    }
    if (rp_unhex(bytes, sizeof bytes, node->text)) {
        memcpy(id, node->text, RP_DIGEST_HEX);
        return;
    }
    if (in->folder == NULL) {
        rp_node_wrong(&in->r, node, path, "a key id of 64 hex digits", "a text without a folder has no files");
        return;
    }
    file = rp_path_in(in->folder, node->text);
    in->r.status = file ? rp_key_load_public(&key, file, in->r.err) : rp_no_memory(in->r.err);
    if (in->r.status == RP_EARG || in->r.status == RP_EIO)
        (void)rp_fail_at(in->r.err, in->r.status, "%s:%zu: key %s", in->r.where, node->line, path);
    rp_free(file);
    if (in->r.status != RP_OK)
        return;
    memcpy(id, rp_key_id(key), RP_DIGEST_HEX);
    in->r.status = keep_key(in->policy, key, in->r.err);
}

static void read_keys(rp_policy_reader *in, const rp_node *node, const char *path, rp_group *group)
{
    if (node->kind != RP_NODE_LIST || node->count == 0 || node->count > RP_POLICY_GROUP_KEYS) {
        rp_node_wrong(&in->r, node, path,
                      "a list of 1 to 64 public keys (PEM files or key ids), or a mapping with ca or tsa", NULL);
        return;
    }
    group->id = rp_calloc(node->count, sizeof *group->id);
    if (group->id == NULL)
        in->r.status = rp_no_memory(in->r.err);
    for (size_t i = 0; i < node->count && in->r.status == RP_OK; i++) {
        read_key(in, &node->child[i], path, group->id[i]);
        for (size_t j = 0; j < i && in->r.status == RP_OK; j++)
            if (strcmp(group->id[i], group->id[j]) == 0)
                rp_node_refuse(&in->r, &node->child[i], path, "the same key twice: a person counts once");
        group->keys += in->r.status == RP_OK;
    }
}

static void read_group(rp_policy_reader *in, const rp_node *node)
{
    rp_group *group = &in->policy->group[in->policy->groups];
    char path[RP_POLICY_PATH];

    if (!rp_text_fits(node->key, sizeof group->name)) {
        rp_node_refuse(&in->r, node, "groups", "a group's name is 1 to %d printable ASCII characters", RP_ROLE - 1);
        return;
    }
    (void)snprintf(path, sizeof path, "groups.%s", node->key);
    in->policy->groups++;
    strcpy(group->name, node->key);
    if (node->kind == RP_NODE_MAPPING)
        rp_policy_read_authorities(in, node, path, group);
    else
        read_keys(in, node, path, group);
}

void rp_policy_read_groups(rp_policy_reader *in, const rp_node *top)
{
    const rp_node *groups = rp_node_find(top, "groups");

    if (groups == NULL || groups->kind != RP_NODE_MAPPING || groups->count == 0 || groups->count > RP_POLICY_GROUPS) {
        rp_node_refuse(&in->r, groups, "groups",
                       "expected a mapping of 1 to %d groups, each a list of public keys or a mapping",
                       RP_POLICY_GROUPS);
        return;
    }
    for (size_t i = 0; i < groups->count && in->r.status == RP_OK; i++)
        read_group(in, &groups->child[i]);
}

void rp_policy_clear_group(rp_group *group)
{
    rp_free(group->id);
    rp_trust_store_free(group->store);
    for (size_t i = 0; i < group->rules; i++)
        rp_free(group->rule[i].text);
    memset(group, 0, sizeof *group);
}
